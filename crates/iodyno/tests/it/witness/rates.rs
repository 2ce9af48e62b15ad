//! `iorate=`: what a disk was asked is what was asked for, however many targets it is divided over.

use super::witness;
use crate::support::Scratch;
use faultfs::DiskOperation;

#[test]
fn a_thousand_targets_have_together_the_rate_that_was_asked() {
    let Some(place) = witness() else { return };
    let scratch = Scratch::new();
    // A thousand windows of one disk.
    let path = place.device.path().display();
    let targets: String = (0..1000)
        .map(|n| format!("sd=sd{n},lun={path},openflags=o_direct,range=({}k,{}k)\n", 64 + 64 * n, 128 + 64 * n))
        .collect();
    for (gaps, spread) in [("exponential", 2.0), ("deterministic", 2.0)] {
        let _ = std::fs::remove_dir_all(scratch.path("out"));
        drop(place.disk.take_log());
        let text = format!(
            "{targets}wd=wd1,sd=sd*,xfersize=8k,rdpct=100\n\
             rd=rd1,wd=wd1,iorate=1500,elapsed=2,interval=1,distribution={gaps}\n"
        );
        scratch.run("out", &text, &["--no-report"]).expect_code(0);
        let log = place.disk.take_log();
        let ours: Vec<_> = log.iter().filter(|entry| (entry.op, entry.bytes) == (DiskOperation::Read, 8192)).collect();
        let off = (ours.len() as f64 - 3000.0).abs();
        assert!(off <= spread, "{gaps}: {} reads in 2 s at 1,500/s", ours.len());
        let mut windows = vec![0; 1024];
        ours.iter().for_each(|entry| windows[usize::try_from(entry.offset >> 16).unwrap()] += 1);
        // Three each; Poisson's tail above 16 is 1 in 10^8.
        let most = windows.iter().max().unwrap();
        assert!(*most <= 16 && windows[0] == 0, "{gaps}: {most} reads of one target");
    }
}
