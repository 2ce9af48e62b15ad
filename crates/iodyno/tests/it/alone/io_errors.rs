//! Disks on which I/Os fail: live, recorded, traced, and on the page. The witness is the disk, which logs each request.

use crate::support::{FaultyDisk, Scratch};
use serde_json::Value;
use std::time::Duration;
use testkit::{Command, direct};

const BLOCK: usize = 4096;

/// Something done with a disk, and how many requests it logged as failed with EIO.
struct Case {
    fault: &'static str,
    reads: u64,
    writes: u64,
}

const CASES: [Case; 4] = [
    Case { fault: "eio read", reads: 150, writes: 50 },
    Case { fault: "eio read rate 0.001", reads: 6000, writes: 0 },
    Case { fault: "eio write", reads: 50, writes: 150 },
    Case { fault: "", reads: 100, writes: 100 },
];

/// Reads and writes past the page cache, one at a time, so that a request is one at every level; how many of each failed.
fn work(disk: &FaultyDisk, case: &Case) -> (u64, u64) {
    let device = direct::open(disk.device.path()).unwrap();
    let at = |number: u64| (number % 4096) * BLOCK as u64;
    let data = vec![7; BLOCK];
    let read = (0..case.reads).filter(|number| direct::read(&device, at(*number), BLOCK).is_err()).count();
    let written = (0..case.writes).filter(|number| direct::write(&device, at(*number), &data).is_err()).count();
    (read as u64, written as u64)
}

/// Requests that the disk itself says to have failed: the second witness.
fn logged(disk: &FaultyDisk) -> u64 {
    disk.disk.log().iter().filter(|entry| entry.result < 0).count() as u64
}

fn finding<'a>(judged: &'a Value, device: &str) -> Option<&'a Value> {
    judged["findings"].as_array().unwrap().iter().find(|one| one["rule"] == "R13" && one["subject"] == device)
}

fn figure(finding: &Value, name: &str) -> Option<f64> {
    finding["evidence"].as_array().unwrap().iter().find(|one| one["name"] == name)?["value"].as_f64()
}

/// What `diagnose` says, which ends with 9: at least these disks have a finding.
fn judged(scratch: &Scratch, recording: &str) -> Value {
    let output = scratch.iodyno(&["diagnose", recording, "--json"]).run().unwrap().expect_code(9);
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn a_disk_on_which_io_fails_is_never_called_healthy() {
    let _alone = testkit::alone();
    let disks: Vec<FaultyDisk> = CASES.iter().filter_map(|_| FaultyDisk::new()).collect();
    if disks.len() < CASES.len() {
        return;
    }
    for (disk, case) in disks.iter().zip(&CASES) {
        // A loop device may write its own file through the page cache, where a write never fails.
        let _ = Command::new("losetup").args(["--direct-io=on"]).arg(disk.device.path()).run();
        if !case.fault.is_empty() {
            disk.disk.control(case.fault).unwrap();
        }
        let _ = disk.disk.take_log();
    }
    let scratch = Scratch::new();
    let trace = |out: &str, way: &str| {
        let trace = scratch.iodyno(&["trace", "-o", out, "--through", way]);
        disks.iter().fold(trace, |trace, disk| trace.args(["-d", &disk.device.name()])).spawn().unwrap()
    };
    let (mut tracing, mut by_ftrace) = (trace("traced", "bpf"), trace("by-ftrace", "ftrace"));
    let record = scratch.iodyno(&["record", "-o", "recorded", "--for", "12s"]).spawn().unwrap();
    let live = scratch.iodyno(&["diagnose", "--live", "12s", "--json"]).spawn().unwrap();
    for tracing in [&mut tracing, &mut by_ftrace] {
        assert!(tracing.wait_for_stdout("tracing", Duration::from_secs(20)), "{}", tracing.stderr());
    }
    // The probes are there when the recording is.
    for _ in 0..200 {
        if scratch.path("recorded/manifest.json").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(1500));
    // The live one began behind it, and says nothing of it: what is read before its first sample is in no share.
    std::thread::sleep(Duration::from_millis(1500));
    let failed: Vec<(u64, u64)> = disks.iter().zip(&CASES).map(|(disk, case)| work(disk, case)).collect();
    // It ends well after what it saw was written.
    std::thread::sleep(Duration::from_millis(300));
    let [traced, by_ftrace] = [tracing, by_ftrace].map(|tracing| {
        tracing.signal(rustix::process::Signal::INT);
        tracing.wait().unwrap()
    });
    assert!(by_ftrace.stderr.contains("traced through ftrace"), "{}", by_ftrace.stderr);
    record.wait().unwrap().expect_code(0);
    let live = live.wait().unwrap().expect_code(9);
    let live: Value = serde_json::from_str(&live.stdout).unwrap();
    let faces = [
        ("live", live),
        ("recorded", judged(&scratch, "recorded")),
        ("traced", judged(&scratch, "traced")),
        ("traced through ftrace", judged(&scratch, "by-ftrace")),
    ];
    for ((disk, case), (reads, writes)) in disks.iter().zip(&CASES).zip(&failed) {
        let name = disk.device.name();
        for (face, judged) in &faces {
            let found = finding(judged, &name);
            if case.fault.is_empty() {
                assert!(found.is_none() && logged(disk) == 0, "{face}: a healthy disk: {found:?}");
                continue;
            }
            let found = found.unwrap_or_else(|| panic!("{face}: {} is not found on {name}: {judged}", case.fault));
            assert!(reads + writes > 0 && logged(disk) >= reads + writes, "{reads} {writes} {}", logged(disk));
            for (op, count, all) in [("reads", *reads, case.reads), ("writes", *writes, case.writes)] {
                let counted = figure(found, &format!("failed {op}"));
                // A loop device without direct I/O answers writes before they are written.
                assert_eq!(counted.unwrap_or(0.0), count as f64, "{face}, {}: {found}", case.fault);
                if count > 0 {
                    let share = figure(found, &format!("of all {op}")).unwrap();
                    let expected = 100.0 * count as f64 / all as f64;
                    assert!(
                        (share - expected).abs() <= 0.05 * expected,
                        "{face}, {}: {share} %, not {expected}",
                        case.fault
                    );
                }
            }
            assert_eq!((&found["severity"], &found["confidence"]), (&"finding".into(), &"certain".into()), "{found}");
            assert!(found["sentence"].as_str().unwrap().contains("EIO"), "{found}");
        }
    }
    assert!(traced.stderr.contains("finding   R13"), "{}", traced.stderr);
    let page = scratch.iodyno(&["top", "recorded", "--once", "--size", "200x60"]).run().unwrap().stdout;
    assert!(page.contains("R13"), "{page}");
    // A page has room for one of the disks, the one of the most trouble.
    let is_told = disks.iter().zip(&failed).any(|(disk, (reads, writes))| {
        let row = page.lines().find(|line| line.contains(&format!("disk {}", disk.device.name())));
        row.is_some_and(|row| reads + writes > 0 && row.contains(&format!(" {}/min", reads + writes)))
    });
    assert!(is_told, "{failed:?}:\n{page}");
}
