//! What writes carry: other data every time, unless the seed or duplicates are asked for.

use super::witness_of_content;
use crate::support::{FaultyDisk, Scratch};
use faultfs::{DiskOperation, LogEntry};
use std::collections::HashSet;

const MIB: usize = 1 << 20;

/// The writes of a run with `general` and `wd` in its file, in the order of the answers.
fn writes(place: &FaultyDisk, general: &str, wd: &str, options: &[&str]) -> Vec<LogEntry> {
    let scratch = Scratch::new();
    drop(place.disk.take_log());
    let text = format!(
        "{general}sd=sd1,lun={},size=8m,openflags=o_direct,threads=4\nwd=wd1,sd=sd1,rdpct=0,xfersize=4k{wd}\n",
        place.device.path().display()
    );
    let options: Vec<&str> = options.iter().copied().chain(["--no-report"]).collect();
    scratch.run("out", &text, &options).expect_code(0);
    place.disk.take_log().into_iter().filter(|entry| entry.op == DiskOperation::Write).collect()
}

fn different(writes: &[LogEntry]) -> usize {
    writes.iter().map(|write| write.hash).collect::<HashSet<_>>().len()
}

#[test]
fn overwriting_and_running_again_writes_other_data_and_a_seed_the_same() {
    let Some(place) = witness_of_content() else { return };
    let random = "\nrd=rd1,wd=wd1,iorate=max,elapsed=600,interval=1,maxops=6128";
    let mut all = writes(&place, "", random, &[]);
    let before = std::fs::read(place.disk.disk()).unwrap();
    let again = writes(&place, "", random, &[]);
    let after = std::fs::read(place.disk.disk()).unwrap();
    assert_eq!((all.len(), again.len()), (6128, 6128));
    // Read back: every block that the second execution wrote is another one now.
    let touched: HashSet<usize> = again.iter().map(|write| usize::try_from(write.offset).unwrap()).collect();
    assert!(touched.len() > 1500, "{}", touched.len());
    let same = touched.iter().filter(|at| before[**at..**at + 4096] == after[**at..**at + 4096]).count();
    assert_eq!(same, 0, "of {} blocks that were written again, so many are as before", touched.len());
    all.extend(again);
    assert_eq!(different(&all), all.len(), "no two writes of two executions carry the same");
    let hashes = |seed: &str| {
        let writes = writes(&place, "", random, &["--seed", seed, "--engine", "sync", "--workers", "1"]);
        assert_eq!(different(&writes), 6128);
        let mut hashes: Vec<(u64, u64)> = writes.iter().map(|write| (write.offset, write.hash)).collect();
        hashes.sort_unstable();
        hashes
    };
    let (first, second, other) = (hashes("5"), hashes("5"), hashes("6"));
    assert!(first == second, "one seed, the same bytes");
    let first: HashSet<u64> = first.iter().map(|(_, hash)| *hash).collect();
    assert!(other.iter().all(|(_, hash)| !first.contains(hash)), "another seed, other bytes");
}

#[test]
fn overwriting_keeps_the_ratio_of_duplicates() {
    let Some(place) = witness_of_content() else { return };
    let twice = ",seekpct=eof\nrd=rd1,wd=wd1,iorate=max,elapsed=600,interval=1\nrd=rd2,wd=wd1,iorate=max,elapsed=600,interval=1";
    let all = writes(&place, "dedupratio=2\ndedupunit=4k\n", twice, &[]);
    let blocks = 8 * MIB / 4096;
    assert!(all.len().abs_diff(2 * blocks) <= 2, "{} writes, two passes over {blocks} blocks", all.len());
    let (first, second) = all.split_at(all.len() / 2);
    for pass in [first, second] {
        // σ = √(2048 × ½ × ½) = 23.
        let unique = different(pass);
        assert!(unique.abs_diff(blocks / 2) < 5 * 23 + 4, "{unique} of {blocks} blocks are unique");
    }
    let before: HashSet<(u64, u64)> = first.iter().map(|write| (write.offset, write.hash)).collect();
    let same = second.iter().filter(|write| before.contains(&(write.offset, write.hash))).count();
    // By chance a copy meets its own set: 2048 × ½ × ½ ÷ 102 sets = 5.
    assert!(same < 25, "{same} of {blocks} blocks were written as they were");
}
