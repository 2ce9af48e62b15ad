//! `coverage=exact`: every block once in every pass, with any number of workers.

use super::witness;
use crate::support::Scratch;
use faultfs::DiskOperation;
use std::collections::{BTreeMap, HashSet};

const BLOCK: u64 = 64 << 10;
const PASSES: usize = 3;

#[test]
fn exact_coverage_reads_every_block_once_in_each_pass_with_any_number_of_workers() {
    let Some(place) = witness() else { return };
    let scratch = Scratch::new();
    // The first block of a device is left alone.
    let blocks = usize::try_from((64 << 20) / BLOCK).unwrap() - 1;
    for (engine, workers, threads) in
        [("io_uring", "1", 8), ("io_uring", "2", 8), ("io_uring", "4", 32), ("sync", "2", 8)]
    {
        let _ = std::fs::remove_dir_all(scratch.path("out"));
        drop(place.disk.take_log());
        let text = format!(
            "sd=sd1,lun={},openflags=o_direct,threads={threads}\nwd=wd1,sd=sd1,xfersize=64k,rdpct=100,coverage=exact\n\
             rd=rd1,wd=wd1,iorate=max,elapsed=600,interval=1,maxops={}\n",
            place.device.path().display(),
            PASSES * blocks
        );
        let options = ["--no-report", "--engine", engine, "--workers", workers];
        scratch.run("out", &text, &options).expect_code(0);
        let log = place.disk.take_log();
        let ours: Vec<u64> = log
            .iter()
            .filter(|entry| (entry.op, entry.bytes) == (DiskOperation::Read, BLOCK))
            .map(|entry| entry.offset)
            .collect();
        let mut times: BTreeMap<u64, usize> = BTreeMap::new();
        ours.iter().for_each(|offset| *times.entry(*offset).or_default() += 1);
        assert_eq!(times.len(), blocks, "{engine}, {workers} workers: blocks that were read");
        let off: Vec<_> = times.iter().filter(|(_, times)| **times != PASSES).collect();
        assert!(off.is_empty(), "{engine}, {workers} workers: not {PASSES} times: {off:?}");
        // In the order of answers a pass and the next one may overlap by what is in flight.
        let first: HashSet<u64> = ours[..blocks - threads].iter().copied().collect();
        assert_eq!(first.len(), blocks - threads, "{engine}, {workers} workers: twice in the first pass");
    }
}
