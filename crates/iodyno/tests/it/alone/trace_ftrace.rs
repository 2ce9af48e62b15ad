//! `iodyno trace --through ftrace` on real devices: the same rows as by way of BPF, where BPF is not to be had.

use crate::support::{Scratch, done, fio_log};
use recording::Reader;
use recording::rows::Io;
use std::path::Path;
use std::time::Duration;
use testkit::{Child, CommandOutput, LoopDevice, TestCommand, Zram};

const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// A loop device that merges nothing, where there is a tracefs.
fn device() -> Option<LoopDevice> {
    if !testkit::require_root_or_skip() {
        return None;
    }
    if !Path::new(INSTANCES).is_dir() {
        testkit::lacks("tracefs at /sys/kernel/tracing");
        return None;
    }
    let device = LoopDevice::new(128 << 20).unwrap();
    std::fs::write(device.sysfs().join("queue/nomerges"), "2").unwrap();
    Some(device)
}

fn start(scratch: &Scratch, name: &str, way: &str, device: &str, more: &[&str]) -> Child {
    let arguments = [&["trace", "-o", name, "-d", device, "--comm", "fio", "--through", way], more].concat();
    let mut child = scratch.iodyno(&arguments).spawn().unwrap();
    if !child.wait_for_stdout("tracing", Duration::from_secs(60)) {
        panic!("no trace: {:?}", child.wait());
    }
    child
}

/// Ends it by Ctrl-C; rows in the order of queueing.
fn stop(child: Child, scratch: &Scratch, name: &str) -> (CommandOutput, Vec<Io>) {
    child.signal(rustix::process::Signal::INT);
    let output = child.wait().unwrap();
    let mut rows = Reader::open(scratch.path(name)).unwrap().table::<Io>().unwrap();
    rows.sort_by_key(|io| io.queue_ns);
    (output, rows)
}

/// Instances of `iodyno trace` that there are.
fn instances() -> Vec<String> {
    let entries = std::fs::read_dir(INSTANCES).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    // Tests have some of their own.
    names.filter(|name| name.starts_with("iodyno-") && !name.starts_with("iodyno-test-")).collect()
}

#[test]
fn every_io_is_one_row_equal_to_fios_own_log_and_the_instance_goes() {
    let _alone = testkit::alone();
    let Some(device) = device() else { return };
    let scratch = Scratch::new();
    let tracing = start(&scratch, "known", "ftrace", &device.name(), &[]);
    let own = instances().len();
    let options = ["--rw=randrw", "--bsrange=4k-128k", "--iodepth=8", "--size=64m", "--number_ios=3000"];
    let log = fio_log(&scratch, device.path(), &options);
    let (output, rows) = stop(tracing, &scratch, "known");
    let output = output.expect_code(0);
    assert_eq!(own, 1);
    assert_eq!(instances(), Vec::<String>::new(), "gone after Ctrl-C");
    assert!(log.len() > 1000 && output.stdout.contains("none lost"), "{}", output.stdout);
    assert!(output.stderr.contains("traced through ftrace"), "{}", output.stderr);
    assert_eq!(done(&rows), log);
    for io in &rows {
        let issue_ns = io.issue_ns.expect("a request is issued");
        assert!(io.queue_ns <= issue_ns && Some(issue_ns) < io.complete_ns, "{io:?}");
        assert!(io.comm.as_deref() == Some("fio") && io.pid.is_some() && io.tid.is_some(), "{io:?}");
        assert!(io.error.is_none() && io.bios == Some(1) && io.requeues == Some(0), "{io:?}");
    }
    let reader = Reader::open(scratch.path("known")).unwrap();
    assert!(reader.manifest().extra["trace_verdicts"].to_string().contains("traced through ftrace"));
}

#[test]
#[ignore = "times: make exam"]
fn both_ways_at_once_give_the_same_rows_at_the_same_times() {
    testkit::while_cpus_are_ours(once_both_ways_give_the_same_rows_at_the_same_times);
}

fn once_both_ways_give_the_same_rows_at_the_same_times() {
    let _alone = testkit::alone();
    let Some(device) = device() else { return };
    let scratch = Scratch::new();
    let one = start(&scratch, "ftrace", "ftrace", &device.name(), &[]);
    let other = start(&scratch, "bpf", "bpf", &device.name(), &[]);
    fio_log(&scratch, device.path(), &["--rw=randrw", "--bs=8k", "--iodepth=4", "--size=32m", "--number_ios=3000"]);
    let (_, theirs) = stop(other, &scratch, "bpf");
    let (output, ours) = stop(one, &scratch, "ftrace");
    output.expect_code(0);
    // The kernel leaves a BPF program out now and then (docs/trace.md), which is not what this is about.
    let mut apart: Vec<i64> = Vec::new();
    let mut at = 0;
    for io in &theirs {
        let Some(found) =
            (at..ours.len().min(at + 32)).find(|at| done(&ours[*at..=*at]) == done(std::slice::from_ref(io)))
        else {
            panic!("only BPF has {io:?}")
        };
        at = found.saturating_sub(16);
        for (mine, yours) in [(ours[found].issue_ns, io.issue_ns), (ours[found].complete_ns, io.complete_ns)] {
            apart.extend(mine.zip(yours).map(|(mine, yours)| (mine - yours).abs()));
        }
    }
    assert!(theirs.len().abs_diff(ours.len()) * 1000 <= ours.len(), "{} and {}", theirs.len(), ours.len());
    apart.sort_unstable();
    let percentile = |p: usize| apart[apart.len() * p / 100];
    assert!(percentile(50) < 5_000 && percentile(90) < 50_000, "{} {}", percentile(50), percentile(90));
}

#[test]
fn losses_are_counted_and_end_with_exit_code_6() {
    let _alone = testkit::alone();
    let Some(device) = device() else { return };
    let scratch = Scratch::new();
    let tracing = start(&scratch, "lost", "ftrace", &device.name(), &["--buffer", "64k"]);
    // The trace does not empty the buffers while the load runs.
    tracing.signal(rustix::process::Signal::STOP);
    let log = fio_log(
        &scratch,
        device.path(),
        &["--rw=randread", "--bs=4k", "--iodepth=4", "--size=64m", "--number_ios=3000"],
    );
    tracing.signal(rustix::process::Signal::CONT);
    let (output, rows) = stop(tracing, &scratch, "lost");
    let output = output.expect_code(6);
    let lost = Reader::open(scratch.path("lost")).unwrap().manifest().losses["trace_buffer_full"];
    assert!(!rows.is_empty() && rows.len() < log.len());
    assert!(rows.len() as u64 + lost >= log.len() as u64, "{} rows, {lost} lost of {}", rows.len(), log.len());
    assert!(output.stdout.contains("LOST") && output.stderr.contains("--buffer"), "{}", output.stderr);
}

#[test]
fn what_a_killed_trace_leaves_is_removed_by_the_next() {
    let _alone = testkit::alone();
    let Some(device) = device() else { return };
    let scratch = Scratch::new();
    let tracing = start(&scratch, "killed", "ftrace", &device.name(), &[]);
    tracing.signal(rustix::process::Signal::KILL);
    let _ = tracing.wait();
    assert_eq!(instances().len(), 1, "the killed trace could not remove it");
    let tracing = start(&scratch, "next", "ftrace", &device.name(), &[]);
    assert_eq!(instances().len(), 1);
    stop(tracing, &scratch, "next").0.expect_code(0);
    assert_eq!(instances(), Vec::<String>::new());
}

#[test]
fn a_trace_that_looks_dead_to_another_goes_on() {
    let _alone = testkit::alone();
    let Some(device) = device() else { return };
    let scratch = Scratch::new();
    // Under another name, it is no process of ours.
    let other = scratch.path("otherwise");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_iodyno"), &other).unwrap();
    let name = device.name();
    let arguments = ["trace", "-o", "first", "-d", &name, "--comm", "fio", "--through", "ftrace"];
    let mut first = TestCommand::new(&other).args(arguments).dir(scratch.path("")).spawn().unwrap();
    assert!(first.wait_for_stdout("tracing", Duration::from_secs(60)));
    let second = start(&scratch, "second", "ftrace", &name, &[]);
    let log = fio_log(&scratch, device.path(), &["--rw=randread", "--bs=4k", "--size=16m", "--number_ios=500"]);
    for (trace, name) in [(second, "second"), (first, "first")] {
        let (output, rows) = stop(trace, &scratch, name);
        output.expect_code(0);
        assert_eq!(done(&rows), log, "{name}");
    }
}

#[test]
fn a_driver_without_requests_is_traced_by_its_bios() {
    let _alone = testkit::alone();
    if device().is_none() {
        return;
    }
    let zram = match Zram::new(64 << 20) {
        Ok(zram) => zram,
        Err(error) => {
            testkit::lacks(&format!("zram: {error}"));
            return;
        }
    };
    let name = zram.name();
    let scratch = Scratch::new();
    let tracing = start(&scratch, "bios", "ftrace", &name, &[]);
    let options = ["--rw=randrw", "--bs=4k", "--iodepth=4", "--size=32m", "--number_ios=2000"];
    let log = fio_log(&scratch, &zram.path(), &options);
    let (output, rows) = stop(tracing, &scratch, "bios");
    output.expect_code(0);
    assert!(log.len() > 500);
    assert_eq!(done(&rows), log);
    assert!(rows.iter().all(|io| *io.dev == *name && Some(io.queue_ns) < io.complete_ns && io.pid.is_some()));
}

#[test]
fn what_ftrace_does_not_know_is_refused() {
    let scratch = Scratch::new();
    let check = |arguments: &[&str], expected: &str| {
        let arguments = [&["trace", "--all", "--through", "ftrace", "-o", "x"], arguments].concat();
        let output = scratch.iodyno(&arguments).run().unwrap().expect_code(2);
        assert!(output.stderr.contains(expected), "{}", output.stderr);
    };
    check(&["--files"], "--files");
    if Path::new("/sys/fs/cgroup/cgroup.procs").exists() {
        check(&["--cgroup", "/"], "control group");
    }
}
