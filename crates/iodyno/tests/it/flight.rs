//! The flight recorder: a disk that stops for 300 ms makes one dump with the seconds before and after; a quiet one none.

use crate::support::{FaultyDisk, Scratch};
use recording::rows::{Event, Io, TraceInterval};
use recording::{EventKind, Reader};
use rustix::process::Signal;
use std::time::Duration;
use testkit::{Child, TestCommand};

struct Bench {
    scratch: Scratch,
    faulty: FaultyDisk,
}

impl Bench {
    fn new() -> Option<Self> {
        let faulty = FaultyDisk::new()?;
        Some(Self { scratch: Scratch::new(), faulty })
    }

    /// The recorder; returns once it is armed.
    fn watch(&self, more: &[&str]) -> Child {
        let name = self.faulty.device.name();
        let mut arguments = vec!["trace", "-d", &name, "--comm", "fio", "-o", "night.iodyno"];
        arguments.extend_from_slice(more);
        let mut child = self.scratch.iodyno(&arguments).spawn().unwrap();
        if !child.wait_for_stdout("watching", Duration::from_secs(60)) {
            panic!("not armed: {:?}", child.wait());
        }
        child
    }

    /// 200 reads per second.
    fn load(&self, seconds: u32) -> Child {
        TestCommand::new("fio")
            .args([
                "--name=l",
                // One process: what kills it kills all of it.
                "--thread",
                "--rw=randread",
                "--bs=4k",
                "--direct=1",
                "--ioengine=libaio",
                "--iodepth=4",
                "--rate_iops=200",
            ])
            .args([format!("--filename={}", self.faulty.device.path().display()), format!("--runtime={seconds}")])
            .arg("--time_based")
            .dir(self.scratch.path(""))
            .spawn()
            .unwrap()
    }

    fn dumps(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.scratch.path("")).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name.starts_with("night"));
        names.sort();
        names
    }
}

#[test]
#[ignore = "times: make exam"]
fn a_stall_makes_one_dump_with_the_seconds_around_it() {
    testkit::while_cpus_are_ours(once_a_stall_makes_one_dump_with_the_seconds_around_it);
}

fn once_a_stall_makes_one_dump_with_the_seconds_around_it() {
    let Some(bench) = Bench::new() else { return };
    let watch = bench.watch(&["--until", "response > 100ms", "--before", "3s", "--after", "1s", "--repeat", "5"]);
    let load = bench.load(10);
    std::thread::sleep(Duration::from_secs(5));
    let stalled_ns = i64::try_from(testkit::now_ns()).unwrap();
    bench.faulty.disk.control("stall 300ms").unwrap();
    load.wait().unwrap().expect_code(0);
    watch.signal(Signal::INT);
    let output = watch.wait().unwrap().expect_code(130);
    assert_eq!(bench.dumps(), ["night.iodyno"], "{}", output.stdout);
    assert!(output.stdout.contains("trouble: response was"), "{}", output.stdout);

    let reader = Reader::open(bench.scratch.path("night.iodyno")).unwrap();
    let rows = reader.table::<Io>().unwrap();
    let first_ns = rows.iter().map(|io| io.queue_ns).min().unwrap();
    let last_ns = rows.iter().filter_map(|io| io.complete_ns).max().unwrap();
    // Ends that the kernel let no probe see (docs/trace.md) are few, and have no length.
    let is_open = |io: &&Io| io.flags.as_deref().is_some_and(|flags| flags.contains("unfinished"));
    let open = rows.iter().filter(is_open).count();
    let few = 1 + rows.len() / 200;
    assert!(open <= 4 + few, "no more than fio keeps in flight: {open}");
    let unseen = rows.iter().filter(|io| io.complete_ns.is_none()).count() - open;
    assert!(unseen <= few, "{unseen} of {} ends were not seen", rows.len());
    let slow = rows.iter().filter(|io| io.complete_ns.is_some_and(|end_ns| end_ns - io.queue_ns > 100_000_000));
    let slow: Vec<i64> = slow.map(|io| io.queue_ns).collect();
    assert!(!slow.is_empty() && slow.iter().all(|t_ns| (t_ns - stalled_ns).abs() < 2_000_000_000), "{slow:?}");
    let (second, margin) = (1_000_000_000, 50_000_000);
    assert!(first_ns <= stalled_ns - 3 * second + margin, "{} s before", (stalled_ns - first_ns) as f64 / 1e9);
    assert!(first_ns >= stalled_ns - 5 * second, "and not much more: {} s", (stalled_ns - first_ns) as f64 / 1e9);
    assert!(last_ns >= stalled_ns + second, "{} s after", (last_ns - stalled_ns) as f64 / 1e9);
    assert!(rows.iter().all(|io| io.comm.as_deref() == Some("fio")), "names from before the dump are known");
    assert!(rows.len() > 600, "200 per second: {}", rows.len());
    let intervals = reader.table::<TraceInterval>().unwrap();
    assert!(intervals.len() >= 4 && intervals.iter().all(|row| row.t_s >= 0.0), "{intervals:?}");
    let events = reader.table::<Event>().unwrap();
    assert_eq!(events.iter().filter(|event| event.kind == EventKind::Trouble).count(), 1);
    // A trace like any other.
    bench.scratch.iodyno(&["report", "night.iodyno"]).run().unwrap().expect_code(0);
}

#[test]
#[ignore = "times: make exam"]
fn no_trouble_no_dump_and_flat_memory() {
    testkit::while_cpus_are_ours(once_no_trouble_no_dump_and_flat_memory);
}

fn once_no_trouble_no_dump_and_flat_memory() {
    let Some(bench) = Bench::new() else { return };
    let watch =
        bench.watch(&["--until", "response > 2s or errors > 0", "--before", "1s", "--memory", "1m", "--for", "7s"]);
    let memory = |id: u32| {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap().to_string();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let load = bench.load(6);
    std::thread::sleep(Duration::from_secs(3));
    let early = memory(watch.id());
    std::thread::sleep(Duration::from_secs(3));
    let late = memory(watch.id());
    let output = watch.wait().unwrap().expect_code(0);
    load.wait().unwrap().expect_code(0);
    assert!(output.stdout.contains("no trouble was seen; nothing was written"), "{}", output.stdout);
    assert!(bench.dumps().is_empty());
    assert!(late <= early + 1024, "{early} kB, then {late} kB");
}

#[test]
fn a_condition_that_cannot_be_read_is_shown_with_its_place() {
    let scratch = Scratch::new();
    let output = scratch.iodyno(&["trace", "--all", "--until", "respons > 100ms"]).run().unwrap().expect_code(2);
    assert!(output.stderr.contains("there is no measure `respons`"), "{}", output.stderr);
    let output = scratch.iodyno(&["trace", "--all", "--before", "3s"]).run().unwrap().expect_code(2);
    assert!(output.stderr.contains("--until"), "{}", output.stderr);
}

#[test]
#[ignore = "times: make exam"]
fn a_finding_of_the_collector_writes_the_ios_around_it_and_is_linked_with_them() {
    testkit::while_cpus_are_ours(once_a_finding_of_the_collector_writes_the_ios_around_it);
}

fn once_a_finding_of_the_collector_writes_the_ios_around_it() {
    let Some(bench) = Bench::new() else { return };
    std::fs::write(bench.faulty.device.sysfs().join("queue/rotational"), "0").unwrap();
    let arguments = ["record", "-o", "night.iodyno", "--for", "16s", "--flight", "--before", "8s", "--after", "4s"];
    let watch = bench.scratch.iodyno(&arguments).spawn().unwrap();
    let load = bench.load(14);
    std::thread::sleep(Duration::from_secs(6));
    let stalled_ns = i64::try_from(testkit::now_ns()).unwrap();
    bench.faulty.disk.control("stall 4s").unwrap();
    load.wait().unwrap().expect_code(0);
    let output = watch.wait().unwrap().expect_code(0);
    assert!(output.stderr.contains("those around a finding are written"), "{}", output.stderr);

    let device = bench.faulty.device.name();
    let subject = format!("R7 {device}");
    // A busy machine may suffer from something else, too, and have dumps of that.
    let dumps: Vec<String> = bench.dumps().into_iter().filter(|name| name.starts_with("night-flight-")).collect();
    let events = Reader::open(bench.scratch.path("night.iodyno")).unwrap().table::<Event>().unwrap();
    let linked =
        events.iter().filter(|event| event.kind == EventKind::Flight && event.target.as_deref() == Some(&*subject));
    let linked: Vec<&str> = linked.map(|event| event.message.as_str()).collect();
    let [linked] = linked[..] else { panic!("{linked:?} of {events:?}") };
    let ours: Vec<&String> = dumps.iter().filter(|name| linked.contains(name.as_str())).collect();
    assert_eq!(ours.len(), 1, "{dumps:?} {linked} {}", output.stderr);
    let dump = Reader::open(bench.scratch.path(ours[0])).unwrap();
    let reason = dump.manifest().extra["flight_reason"].as_str().unwrap();
    assert!(reason.contains(&format!("R7 {device} ")), "{reason}");
    let rows = dump.table::<Io>().unwrap();
    let of_device: Vec<&Io> = rows.iter().filter(|io| *io.dev == *device).collect();
    let slow = of_device.iter().filter(|io| io.complete_ns.is_some_and(|ns| ns - io.queue_ns > 3_000_000_000)).count();
    assert!(slow > 0, "{} I/Os, none of which met the stall", of_device.len());
    let first_ns = of_device.iter().map(|io| io.queue_ns).min().unwrap();
    assert!(first_ns < stalled_ns - 2_000_000_000, "{} s before", (stalled_ns - first_ns) as f64 / 1e9);

    let stdout = bench.scratch.iodyno(&["diagnose", "night.iodyno"]).run().unwrap().expect_code(9).stdout;
    assert!(stdout.contains(&format!("the I/Os around it are in {}", ours[0])), "{stdout}");
    let judged = bench.scratch.iodyno(&["diagnose", "night.iodyno", "--json"]).run().unwrap().stdout;
    let judged: serde_json::Value = serde_json::from_str(&judged).unwrap();
    let findings = judged["findings"].as_array().unwrap();
    let stall = findings.iter().find(|one| one["rule"] == "R7" && one["subject"] == *device).unwrap();
    assert!(stall["ios"].as_str().is_some_and(|ios| ios.starts_with(ours[0])), "{stall}");
}

/// A small file system in memory.
struct Small(std::path::PathBuf);

impl Small {
    fn new(path: std::path::PathBuf) -> Self {
        std::fs::create_dir(&path).unwrap();
        let small = Self(path);
        small.mount("size=64k");
        small
    }

    fn mount(&self, options: &str) {
        let place = self.0.display().to_string();
        TestCommand::new("mount").args(["-t", "tmpfs", "-o", options, "none", &place]).run().unwrap().expect_code(0);
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = TestCommand::new("umount").arg(&self.0).run();
    }
}

#[test]
fn a_full_disk_costs_the_dump_and_not_the_watch() {
    fill_the_disk(10);
}

#[test]
#[ignore = "times: make exam"]
fn the_first_stall_on_a_full_disk_is_reported() {
    testkit::while_cpus_are_ours(|| fill_the_disk(1));
}

/// The dump cannot be written of one of at most so many stalls.
fn fill_the_disk(most: u32) {
    let Some(bench) = Bench::new() else { return };
    let small = Small::new(bench.scratch.path("small"));
    // To the last byte: what fails is the first write.
    let _ = std::fs::write(small.0.join("filler"), vec![1_u8; 1 << 20]);
    let name = bench.faulty.device.name();
    let until = ["--until", "response > 400ms", "--before", "1s", "--after", "1s", "-o", "small/night.iodyno"];
    let mut watch =
        bench.scratch.iodyno(&[&["trace", "-d", &name, "--comm", "fio"][..], &until].concat()).spawn().unwrap();
    assert!(watch.wait_for_stdout("watching", Duration::from_secs(60)), "{:?}", watch.wait());
    let load = bench.load(120);
    // A busy machine may be in trouble of its own, and is waited for until it is not: each is written once.
    let stall = || {
        bench.faulty.disk.control("stall 800ms").unwrap();
        std::thread::sleep(Duration::from_secs(4));
    };
    for _ in 0..most {
        stall();
        if watch.stderr().contains("not written") {
            break;
        }
    }
    small.mount("remount,size=64m");
    let written = || {
        let dumps = std::fs::read_dir(&small.0).unwrap().flatten().map(|entry| entry.path());
        dumps.filter_map(|path| Reader::open(path).ok()?.table::<Io>().ok()).filter(|rows| rows.len() > 100).count()
    };
    for _ in 0..10 {
        if written() > 0 {
            break;
        }
        stall();
    }
    load.signal(Signal::KILL);
    let _ = load.wait();
    let ended = watch.wait().unwrap().expect_code(6);
    assert!(ended.stderr.contains("not written: small/night"), "{}", ended.stderr);
    assert!(ended.stdout.contains("written: small/night"), "{}", ended.stdout);
    // The host may have stalled as well: then there is another.
    assert!(written() >= 1, "no dump has its I/Os");
}
