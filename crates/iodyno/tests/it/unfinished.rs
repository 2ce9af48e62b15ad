//! A disk that does not answer any more: the I/Os that wait for it when a trace ends are rows without an end, both ways of
//! tracing, in what a flight recorder writes as well, and the report says so.

use crate::support::{FaultyDisk, Scratch};
use recording::Reader;
use recording::rows::Io;
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;
use testkit::{Child, CommandOutput, TestCommand};

/// Reads that hang, and writes.
const READS: usize = 2;
const WRITES: usize = 1;

struct Bench {
    scratch: Scratch,
    faulty: FaultyDisk,
}

impl Bench {
    fn new() -> Option<Self> {
        let faulty = FaultyDisk::new()?;
        Some(Self { scratch: Scratch::new(), faulty })
    }

    fn traced(&self, ready: &str, more: &[&str]) -> Child {
        let name = self.faulty.device.name();
        let arguments = [&["trace", "-d", &name, "--comm", "dd", "-o", "hang.iodyno"], more].concat();
        let mut child = self.scratch.iodyno(&arguments).spawn().unwrap();
        if !child.wait_for_stdout(ready, Duration::from_secs(60)) {
            panic!("no trace: {:?}", child.wait());
        }
        child
    }

    /// One I/O of 8 KiB past the page cache, at this multiple of it.
    fn io(&self, write: bool, at: usize) -> Child {
        let (zero, device) = ("/dev/zero".to_string(), self.faulty.device.path().display().to_string());
        let (from, to, flag, place) = match write {
            true => (zero, device, "oflag=direct", "seek"),
            false => (device, "/dev/null".to_string(), "iflag=direct", "skip"),
        };
        let words = [format!("if={from}"), format!("of={to}"), format!("{place}={at}")];
        TestCommand::new("dd").args(words).args(["bs=8k", "count=1", flag]).dir(self.scratch.path("")).spawn().unwrap()
    }

    /// Ten I/Os that end, then three that do not; gives these.
    fn load(&self) -> Vec<Child> {
        for at in 0..10 {
            self.io(at % 2 == 0, at).wait().unwrap().expect_code(0);
        }
        self.faulty.disk.control("stall 300s").unwrap();
        let hanging = [(false, 100), (false, 200), (true, 300)].map(|(write, at)| self.io(write, at));
        for child in &hanging {
            wait_until_hanging(child.id());
        }
        // They are to be more than a second old when the trace ends.
        std::thread::sleep(Duration::from_millis(1500));
        hanging.into()
    }

    fn release(&self, hanging: Vec<Child>) {
        self.faulty.disk.control("reset").unwrap();
        for child in hanging {
            child.wait().unwrap().expect_code(0);
        }
    }

    fn rows(&self) -> Vec<Io> {
        Reader::open(self.scratch.path("hang.iodyno")).unwrap().table::<Io>().unwrap()
    }
}

/// Waits until this process waits for a device, and goes on doing so: what it is loaded from may make it wait as well.
fn wait_until_hanging(pid: u32) {
    let until_ns = testkit::now_ns() + 60_000_000_000;
    let mut looks = 0;
    while looks < 3 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        looks = if stat.contains("(dd) D ") { looks + 1 } else { 0 };
        assert!(testkit::now_ns() < until_ns, "it does not hang: {stat}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Exactly those that hung have no end, and everything else of them is known.
fn check_open(rows: &[Io]) {
    let open: Vec<&Io> = rows.iter().filter(|io| io.complete_ns.is_none()).collect();
    let mut found: Vec<(&str, i64, i64)> = open.iter().map(|io| (&*io.op, io.sector / 16, io.bytes)).collect();
    found.sort_unstable();
    assert_eq!(found, [("read", 100, 8192), ("read", 200, 8192), ("write", 300, 8192)]);
    for io in open {
        assert!(io.issue_ns >= Some(io.queue_ns) && io.comm.as_deref() == Some("dd") && io.pid.is_some(), "{io:?}");
        assert!(io.flags.as_deref().unwrap().contains("unfinished") && io.error.is_none(), "{io:?}");
    }
    assert!(rows.iter().filter(|io| io.complete_ns.is_some()).all(|io| !io.flags.as_deref().unwrap().contains("unf")));
}

fn check_words(bench: &Bench, output: &CommandOutput) {
    let words = format!("{} I/Os had not ended when the trace ended", READS + WRITES);
    assert!(output.stdout.contains(&words), "{}", output.stdout);
    check_report(bench, &words);
}

fn check_report(bench: &Bench, words: &str) {
    let reader = Reader::open(bench.scratch.path("hang.iodyno")).unwrap();
    let ended_ns = reader.manifest().extra["trace_ended_t_ns"].as_i64().unwrap();
    let is_old = |io: &Io| io.complete_ns.is_some() || ended_ns - io.queue_ns >= 1_000_000_000;
    assert!(bench.rows().iter().all(is_old), "the trace ended at {ended_ns}: {:?}", bench.rows());
    let model = views::report_model(&reader).unwrap();
    assert!(model.warnings.iter().any(|warning| warning.text.contains(words)), "{:?}", model.warnings);
    assert!(model.sentence.contains("without 3 whose end is not known"), "{}", model.sentence);
    bench.scratch.iodyno(&["report", "hang.iodyno"]).run().unwrap().expect_code(0);
    let slowest = bench.scratch.iodyno(&["export", "hang.iodyno", "trace.slowest", "--csv"]).run().unwrap();
    let lines: Vec<&str> = slowest.stdout.lines().collect();
    assert_eq!(lines.iter().filter(|line| line.contains("no end seen, at least ")).count(), 3, "{}", slowest.stdout);
    assert!(lines[1..4].iter().all(|line| line.contains("no end seen")), "they come first: {}", slowest.stdout);
}

fn hangs(way: &str) {
    let Some(bench) = Bench::new() else { return };
    let trace = bench.traced("tracing", &["--through", way]);
    let hanging = bench.load();
    trace.signal(Signal::INT);
    let output = trace.wait().unwrap();
    bench.release(hanging);
    assert!(output.code == Some(0), "{output:?}");
    let rows = bench.rows();
    assert_eq!(rows.len(), 10 + READS + WRITES, "{rows:?}");
    check_open(&rows);
    let reader = Reader::open(bench.scratch.path("hang.iodyno")).unwrap();
    assert_eq!(reader.manifest().extra["trace_unfinished"], serde_json::json!(READS + WRITES));
    assert!(reader.manifest().losses.is_empty(), "they are no losses: {:?}", reader.manifest().losses);
    check_words(&bench, &output);
}

#[test]
fn what_hangs_when_a_trace_ends_is_a_row_without_an_end() {
    hangs("bpf");
}

#[test]
fn and_through_ftrace() {
    if Path::new("/sys/kernel/tracing/instances").is_dir() {
        hangs("ftrace");
    } else {
        testkit::lacks("tracefs at /sys/kernel/tracing");
    }
}

#[test]
fn unfinished_ios_of_unwanted_sizes_are_left_out() {
    let Some(bench) = Bench::new() else { return };
    let trace = bench.traced("tracing", &["--size", "16k-"]);
    let hanging = bench.load();
    trace.signal(Signal::INT);
    let output = trace.wait().unwrap();
    bench.release(hanging);
    assert!(output.stdout.contains("none lost") && !output.stdout.contains("had not ended"), "{}", output.stdout);
    assert!(bench.rows().is_empty());
}

#[test]
fn a_flight_recorder_writes_what_hangs() {
    let Some(bench) = Bench::new() else { return };
    let more = ["--until", "response > 3s", "--before", "60s", "--after", "1s"];
    let trace = bench.traced("watching", &more);
    let hanging = bench.load();
    let output = trace.wait().unwrap();
    bench.release(hanging);
    let rows = bench.rows();
    assert_eq!(rows.len(), 10 + READS + WRITES, "{} {rows:?}", output.stdout);
    check_open(&rows);
    let slowest = bench.scratch.iodyno(&["export", "hang.iodyno", "trace.slowest", "--csv"]).run().unwrap();
    assert_eq!(slowest.stdout.matches("no end seen, at least").count(), 3, "{}", slowest.stdout);
}
