//! What ends fio's jobs: errors, slow operations, the ends of others. The same file by fio and by us on a disk that logs
//! every request.

use crate::support::Scratch;
use faultfs::{DiskOperation, LogEntry};
use std::time::Duration;
use tempfile::TempDir;
use testkit::TestCommand;

/// Each job has a part of the disk of its own, so that its requests are known by their place.
const PART: u64 = 1 << 20;

struct Bench {
    disk: faultfs::DiskHandle,
    path: String,
    scratch: Scratch,
    _mountpoint: TempDir,
}

/// What a program did.
struct Seen {
    code: Option<i32>,
    log: Vec<LogEntry>,
    stderr: String,
}

/// A request: operation, place within the job's part, and whether it failed.
type Request = (DiskOperation, u64, bool);

impl Seen {
    /// What the job in part number `part` did, flushes aside.
    fn job(&self, part: u64) -> Vec<Request> {
        let place = part * PART..(part + 1) * PART;
        let of = self.log.iter().filter(|entry| entry.op != DiskOperation::Flush && place.contains(&entry.offset));
        of.map(|entry| (entry.op, entry.offset - place.start, entry.result < 0)).collect()
    }

    fn flushes(&self) -> Vec<&LogEntry> {
        self.log.iter().filter(|entry| entry.op == DiskOperation::Flush).collect()
    }
}

impl Bench {
    fn new() -> Option<Self> {
        if !testkit::require_root_or_skip() || !testkit::has_fio() {
            return None;
        }
        let mountpoint = tempfile::tempdir().unwrap();
        let disk = faultfs::Faultfs::mount(mountpoint.path(), faultfs::DiskConfig::new(8 << 20)).unwrap();
        let path = disk.disk().to_str().unwrap().to_string();
        Some(Self { disk, path, scratch: Scratch::new(), _mountpoint: mountpoint })
    }

    /// What fio and we do with the jobs, each in the part of its number, while the disk has this fault.
    fn both(&self, name: &str, fault: &str, jobs: &[&str]) -> [Seen; 2] {
        let mut text =
            format!("[global]\nfilename={}\ndirect=1\nioengine=psync\nbs=8k\nrw=write\nsize=512k\n", self.path);
        for (number, job) in jobs.iter().enumerate() {
            text += &format!("[job{number}]\noffset={number}m\n{job}\n");
        }
        let file = self.scratch.write(&format!("{name}.fio"), &text).to_str().unwrap().to_string();
        let fio = self.watch(fault, || {
            let fio = TestCommand::new("fio").args(["--output=/dev/null", &file]).dir(self.scratch.path(""));
            fio.limit(Duration::from_secs(60)).run().unwrap()
        });
        let ours = self.watch(fault, || {
            let args = ["run", &file, "-o", name, "--json", "--no-report", "--destroy", &self.path];
            self.scratch.iodyno(&args).run().unwrap()
        });
        [fio, ours]
    }

    fn watch(&self, fault: &str, work: impl FnOnce() -> testkit::CommandOutput) -> Seen {
        self.disk.control("reset").unwrap();
        self.disk.control(fault).unwrap();
        drop(self.disk.take_log());
        let output = work();
        // Whose data is there is looked at by reads of other sizes.
        let of_jobs = |entry: &LogEntry| entry.op == DiskOperation::Flush || entry.bytes == 8192;
        let log = self.disk.take_log().into_iter().filter(of_jobs).collect();
        self.disk.control("reset").unwrap();
        Seen { code: output.code, log, stderr: output.stderr }
    }
}

#[test]
fn a_job_stops_at_its_first_error_and_the_others_go_on() {
    let Some(bench) = Bench::new() else { return };
    // What the first job says, which of its requests fails, and our exit code; 64 requests are all.
    let fault = "eio write range 64k-72k";
    let twice = "eio write count 2 skip 3 range 0-512k";
    let full = "enospc after 40k";
    for (number, (options, fault, requests, code)) in [
        ("", fault, 9, 3),
        ("continue_on_error=none", fault, 9, 3),
        ("continue_on_error=write", fault, 64, 0),
        ("continue_on_error=io", twice, 64, 0),
        ("continue_on_error=all", fault, 64, 0),
        ("continue_on_error=read", fault, 9, 3),
        ("continue_on_error=verify", fault, 9, 3),
        ("ignore_error=,EIO", twice, 64, 0),
        ("ignore_error=EIO", fault, 9, 3),
        ("ignore_error=,ENOSPC:ENODEV", fault, 9, 3),
        ("ignore_error=,ENOSPC:5", fault, 64, 0),
        ("continue_on_error=io", full, 6, 3),
        ("end_fsync=1", fault, 9, 3),
        ("continue_on_error=write\nend_fsync=1", fault, 64, 0),
        ("rw=read", "eio read range 64k-72k", 9, 3),
        ("rw=read\ncontinue_on_error=read", "eio read range 64k-72k", 64, 0),
        ("rw=read\ncontinue_on_error=write", "eio read range 64k-72k", 9, 3),
    ]
    .into_iter()
    .enumerate()
    {
        // After ENOSPC no write fits any more, from any job.
        let others = if fault == full { "rw=read" } else { "" };
        let jobs = [options, others, &format!("stonewall\n{others}")];
        let [fio, ours] = bench.both(&format!("errors{number}"), fault, &jobs);
        for part in 0..3 {
            let context = || format!("{options} with `{fault}`: job {part}; {:?} {}", ours.code, ours.stderr);
            assert_eq!(fio.job(part), ours.job(part), "{}", context());
        }
        assert_eq!(ours.job(0).len(), requests, "{options} with `{fault}`");
        assert_eq!([ours.job(1).len(), ours.job(2).len()], [64, 64], "{options}: the others go on");
        assert_eq!(fio.code == Some(0), code == 0, "{options} with `{fault}`: fio");
        assert_eq!(ours.code, Some(code), "{options} with `{fault}`: {}", ours.stderr);
        // One behind the last write, none behind an error; fio begins another, empty pass where bytes are missing.
        let flushes = usize::from(options.contains("end_fsync") && code == 0);
        assert_eq!(ours.flushes().len(), flushes, "{options} with `{fault}`: flushes");
        assert_eq!(fio.flushes().is_empty(), flushes == 0, "{options} with `{fault}`: flushes of fio");
        let said = if code == 3 { "job job0 ended" } else { "job job0 went on" };
        assert!(ours.stderr.contains(said), "{options}: {}", ours.stderr);
    }
}

#[test]
fn the_end_of_one_job_is_that_of_those_that_exit_what_says() {
    let Some(bench) = Bench::new() else { return };
    // The first job is short, the third comes behind both. Which of these two do all they were to do? The second takes 2 s
    // where it does, and 60 s where its end comes before: no busy machine makes the first take as long.
    let fault = "eio write range 64k-72k";
    // Fails half a second later: fio drops the job behind the stonewall when the first fails before the second has begun.
    let late = "exitall_on_error\nrate_iops=18";
    for (number, (options, of_second, fault, whole, code)) in [
        ("exitall", "", "quiet", [false, true], 0),
        ("exitall=1\nexit_what=group", "new_group", "quiet", [true, true], 0),
        ("exitall\nexit_what=stonewall", "new_group", "quiet", [false, true], 0),
        ("exitall\nexit_what=all", "new_group", "quiet", [false, false], 0),
        (late, "", fault, [false, true], 3),
        ("exitall_on_error\nexit_what=all", "", "quiet", [true, true], 0),
    ]
    .into_iter()
    .enumerate()
    {
        let rate = if whole[0] { 30 } else { 1 };
        let slow = format!("number_ios=60\nrate_iops={rate}\n{of_second}");
        let jobs = [options, &slow, "stonewall\nnumber_ios=10"];
        let mut seen = (0..3).map(|again| bench.both(&format!("exit{number}-{again}"), fault, &jobs));
        let judged = |seen: &[Seen; 2]| !whole[1] || !seen[0].job(2).is_empty();
        let [fio, ours] = seen.find(judged).expect("fio began the third job once in three runs");
        for (program, seen) in [("fio", &fio), ("ours", &ours)] {
            let done = [seen.job(1).len() == 60, seen.job(2).len() == 10];
            assert_eq!(done, whole, "{options}, {program}: {} and {}", seen.job(1).len(), seen.job(2).len());
            assert!(whole[1] || seen.job(2).is_empty(), "{options}, {program}");
        }
        assert_eq!(fio.code == Some(0), code == 0, "{options}: fio");
        assert_eq!(ours.code, Some(code), "{options}: {}", ours.stderr);
    }
}

#[test]
fn an_operation_that_is_slower_than_max_latency_ends_its_job() {
    let Some(bench) = Bench::new() else { return };
    let slow = "delay 300ms write";
    let reads = "rw=read\nmax_latency=0,1ms";
    for (number, (options, requests, code)) in [
        ("max_latency=100ms", 1, 5),
        ("max_latency=1us,0\nnumber_ios=3", 3, 0),
        ("max_latency=10s\nnumber_ios=3", 3, 0),
    ]
    .into_iter()
    .enumerate()
    {
        let [fio, ours] = bench.both(&format!("slow{number}"), slow, &[options, reads]);
        for (program, seen) in [("fio", &fio), ("ours", &ours)] {
            assert_eq!(seen.job(0).len(), requests, "{options}, {program}");
            assert_eq!(seen.job(1).len(), 64, "{options}, {program}: a limit for writes ends no reads");
        }
        assert_eq!(fio.code == Some(0), code == 0, "{options}: fio");
        assert_eq!(ours.code, Some(code), "{options}: {}", ours.stderr);
    }
}

#[test]
fn end_fsync_comes_when_its_own_job_ends() {
    let Some(bench) = Bench::new() else { return };
    let jobs = ["end_fsync=1", "number_ios=40\nrate_iops=40", "wait_for=job0\nnumber_ios=5\nfsync_on_close=1"];
    let [fio, ours] = bench.both("fsync", "quiet", &jobs);
    for (program, seen) in [("fio", &fio), ("ours", &ours)] {
        let times = |part: u64| {
            let place = part * PART..(part + 1) * PART;
            let of =
                seen.log.iter().filter(move |entry| entry.op != DiskOperation::Flush && place.contains(&entry.offset));
            of.map(|entry| (entry.arrival_ns, entry.reply_ns)).collect::<Vec<_>>()
        };
        let flushes = seen.flushes();
        assert_eq!(flushes.len(), 2, "{program}");
        let first = flushes[0];
        assert!(first.arrival_ns >= times(0).last().unwrap().1, "{program}: behind its own writes");
        assert!(first.arrival_ns < times(1).last().unwrap().0, "{program}: the second job goes on");
        assert!(first.reply_ns <= times(2)[0].0, "{program}: who waits for a job waits for its fsync");
        assert_eq!(seen.code, Some(0), "{program}");
    }
    // Ours is counted: in the phase that no figure of the load has.
    let totals = bench.scratch.table("fsync", "run_total");
    let of_end = totals.iter().filter(|row| row["op"] == "flush" && row["phase"] == "drain").count();
    assert_eq!(of_end, 2, "{totals:?}");
}
