//! Disks on which I/Os fail: live, recorded, traced, and on the page. The witness is the disk, which logs each request.

use crate::support::{FaultyDisk, Scratch};
use serde_json::Value;
use std::time::Duration;
use testkit::{TestCommand, direct};

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

/// The operations of one kind that failed.
#[derive(Clone, Copy, Debug, Default)]
struct Failed {
    count: u64,
    /// Operations from the first of them to the last.
    span: u64,
}

impl Failed {
    fn of(all: u64, is_failed: impl FnMut(&u64) -> bool) -> Self {
        let numbers: Vec<u64> = (0..all).filter(is_failed).collect();
        let span = numbers.first().zip(numbers.last()).map_or(0, |(first, last)| last - first + 1);
        Self { count: numbers.len() as u64, span }
    }
}

/// Reads and writes past the page cache, one at a time, so that a request is one at every level; which of each failed.
fn work(disk: &FaultyDisk, case: &Case) -> [Failed; 2] {
    let device = direct::open(disk.device.path()).unwrap();
    let at = |number: u64| (number % 4096) * BLOCK as u64;
    let data = vec![7; BLOCK];
    let read = Failed::of(case.reads, |number| direct::read(&device, at(*number), BLOCK).is_err());
    let written = Failed::of(case.writes, |number| direct::write(&device, at(*number), &data).is_err());
    [read, written]
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

/// Does this face count what failed, and say of how many it is a part?
fn is_counted(face: &str, found: &Value, case: &Case, [reads, writes]: [Failed; 2]) {
    for (op, Failed { count, span }, all) in [("reads", reads, case.reads), ("writes", writes, case.writes)] {
        let counted = figure(found, &format!("failed {op}"));
        // A loop device without direct I/O answers writes before they are written.
        assert_eq!(counted.unwrap_or(0.0), count as f64, "{face}, {}: {found}", case.fault);
        if count > 0 {
            let share =
                figure(found, &format!("of all {op}")).unwrap_or_else(|| panic!("{face}: no share of {op}: {found}"));
            // It is a part of what completed in the intervals from the first failure to the last.
            let [least, most] = [all, span].map(|of| 100.0 * count as f64 / of as f64);
            let is_right = share >= 0.95 * least && share <= 1.05 * most;
            assert!(is_right, "{face}, {}: {share} %, not {least} to {most}", case.fault);
        }
    }
    assert_eq!((&found["severity"], &found["confidence"]), (&"finding".into(), &"certain".into()), "{found}");
    assert!(found["sentence"].as_str().unwrap().contains("EIO"), "{found}");
}

/// Waits until a process has programs in the kernel.
fn has_probes(pid: u32) {
    let is_bpf = |fd: std::io::Result<std::fs::DirEntry>| {
        fd.is_ok_and(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().contains("bpf")))
    };
    for _ in 0..1200 {
        if std::fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|mut all| all.any(is_bpf)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("process {pid} has loaded no probes in 60 s");
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
        let _ = TestCommand::new("losetup").args(["--direct-io=on"]).arg(disk.device.path()).run();
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
    let mut record = scratch.iodyno(&["record", "-o", "recorded", "--for", "25s"]).spawn().unwrap();
    let live = scratch.iodyno(&["diagnose", "--live", "25s", "--json"]).spawn().unwrap();
    for tracing in [&mut tracing, &mut by_ftrace] {
        assert!(tracing.wait_for_stdout("tracing", Duration::from_secs(60)), "{}", tracing.stderr());
    }
    [record.id(), live.id()].into_iter().for_each(has_probes);
    // What is read before a first sample is in no share. It is taken behind the probes: `record` says when.
    let has_begun = (0..1200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        record.stderr().contains("recording to")
    });
    assert!(has_begun, "{}", record.stderr());
    std::thread::sleep(Duration::from_millis(2500));
    let failed: Vec<[Failed; 2]> = disks.iter().zip(&CASES).map(|(disk, case)| work(disk, case)).collect();
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
    for ((disk, case), failed) in disks.iter().zip(&CASES).zip(&failed) {
        let name = disk.device.name();
        for (face, judged) in &faces {
            let found = finding(judged, &name);
            if case.fault.is_empty() {
                assert!(found.is_none() && logged(disk) == 0, "{face}: a healthy disk: {found:?}");
                continue;
            }
            let found = found.unwrap_or_else(|| panic!("{face}: {} is not found on {name}: {judged}", case.fault));
            let all: u64 = failed.iter().map(|failed| failed.count).sum();
            assert!(all > 0 && logged(disk) >= all, "{failed:?} {}", logged(disk));
            is_counted(face, found, case, *failed);
        }
    }
    assert!(traced.stderr.contains("finding   R13"), "{}", traced.stderr);
    let page = scratch.iodyno(&["top", "recorded", "--once", "--size", "200x60"]).run().unwrap().stdout;
    assert!(page.contains("R13"), "{page}");
}

/// The rows of `io_error` of a device.
fn failures(scratch: &Scratch, recording: &str, device: &str) -> Vec<Value> {
    let rows = scratch.table(recording, "io_error");
    rows.into_iter().filter(|row| row["dev"] == device).collect()
}

#[test]
fn what_a_recorded_command_fails_at_first_is_found() {
    let _alone = testkit::alone();
    let Some(disk) = FaultyDisk::new() else { return };
    disk.disk.control("eio read").unwrap();
    let scratch = Scratch::new();
    let script = format!(
        "dd if={} of=/dev/null bs=4k count=1 iflag=direct; echo $? > code; sleep 1.2",
        disk.device.path().display()
    );
    scratch.iodyno(&["record", "-o", "r", "--", "sh", "-c", &script]).run().unwrap().expect_code(0);
    assert_eq!(std::fs::read_to_string(scratch.path("code")).unwrap(), "1\n", "dd read what cannot be read");
    let name = disk.device.name();
    let counted = failures(&scratch, "r", &name);
    assert!(counted.iter().any(|row| row["op"] == "read" && row["error"] == 5), "{counted:?}");
    let judged = judged(&scratch, "r");
    let found = finding(&judged, &name).unwrap_or_else(|| panic!("{judged}"));
    assert!(figure(found, "failed reads") >= Some(1.0), "{found}");
    let check = |text: &str, code| scratch.iodyno(&["check", "r", "--fail-if", text]).run().unwrap().expect_code(code);
    let stderr = check(&format!("errors{{target={name}, op=read}} > 0"), 5).stderr;
    assert!(
        stderr.contains(&format!("objective missed in the machine: errors{{target={name}, op=read}} was ")),
        "{stderr}"
    );
    check(&format!("errors{{target={name}, op=write}} > 0"), 0);
}

#[test]
fn a_file_whose_pages_a_direct_read_was_to_fill_is_not_accused() {
    let _alone = testkit::alone();
    let Some(disk) = FaultyDisk::new() else { return };
    disk.disk.control("eio read").unwrap();
    let scratch = Scratch::new();
    // A buffer of a file's pages, and one that processes could share.
    let script = "import mmap, os, sys
device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
file = open('innocent', 'w+b')
file.truncate(65536)
for memory in [mmap.mmap(file.fileno(), 65536), mmap.mmap(-1, 65536)]:
    memory[:] = bytes(65536)
    try:
        os.readv(device, [memory])
    except OSError as error:
        print(error.errno)
";
    let record = ["record", "-o", "r", "--", "python3", "-c", script, disk.device.path().to_str().unwrap()];
    let ran = scratch.iodyno(&record).run().unwrap();
    if ran.code == Some(3) {
        testkit::lacks("python3");
        return;
    }
    assert_eq!(ran.stdout, "5\n5\n", "{}", ran.stderr);
    let counted = failures(&scratch, "r", &disk.device.name());
    assert!(counted.iter().any(|row| row["op"] == "read" && row["error"] == 5), "{counted:?}");
    let files: Vec<&Value> = counted.iter().filter(|row| !row["file"].is_null()).collect();
    assert!(files.is_empty(), "{files:?}");
}
