//! How targets are opened, and what runs end with.

use crate::support::{Scratch, sum};
use faultfs::{DiskOperation, LogEntry};
use tempfile::TempDir;

// Numbers, not names of a library that the program uses as well: that has one of them wrong.
const O_DIRECT: i32 = 0o40000;
const O_DSYNC: i32 = 0o10000;
const O_SYNC: i32 = 0o4_010_000;

/// A disk that is used as a file, so that its log tells how it was opened.
struct Place {
    disk: faultfs::DiskHandle,
    path: String,
    scratch: Scratch,
    _mountpoint: TempDir,
}

fn place() -> Option<Place> {
    if !testkit::require_root_or_skip() {
        return None;
    }
    let mountpoint = tempfile::tempdir().unwrap();
    let disk = faultfs::Faultfs::mount(mountpoint.path(), faultfs::DiskConfig::new(8 << 20)).unwrap();
    let path = disk.disk().to_str().unwrap().to_string();
    Some(Place { disk, path, scratch: Scratch::new(), _mountpoint: mountpoint })
}

impl Place {
    /// Runs a file of Vdbench's or fio's; its exit code, and what the disk saw of writes and flushes.
    fn run(&self, file: &str, text: &str) -> (Option<i32>, Vec<LogEntry>) {
        self.run_with(file, text, &[])
    }

    fn run_with(&self, file: &str, text: &str, more: &[&str]) -> (Option<i32>, Vec<LogEntry>) {
        drop(self.disk.take_log());
        let _ = std::fs::remove_dir_all(self.scratch.path("out"));
        let file = self.scratch.write(file, &text.replace("DISK", &self.path));
        let arguments = ["run", file.to_str().unwrap(), "-o", "out", "--no-report", "--destroy", &self.path];
        let arguments: Vec<&str> = arguments.iter().chain(more).copied().collect();
        let output = self.scratch.iodyno(&arguments).run().unwrap();
        println!("{}{}", output.stdout, output.stderr);
        let log = self.disk.take_log();
        let changes = |entry: &LogEntry| matches!(entry.op, DiskOperation::Write | DiskOperation::Flush);
        (output.code, log.into_iter().filter(changes).collect())
    }
}

#[test]
fn openflags_are_those_of_each_run_and_workload() {
    let Some(place) = place() else { return };
    // Transfer sizes tell the runs and workloads apart.
    let rd = |name: &str, kilobytes: u64, flags: &str| {
        format!("rd={name},wd=wd1,xfersize={kilobytes}k,iorate=max,elapsed=600,interval=1,maxops=30{flags}\n")
    };
    let runs = [
        (rd("buffered", 4, ""), 4, 0),
        (rd("direct", 8, ",openflags=o_direct"), 8, O_DIRECT),
        (rd("dsync", 16, ",openflags=o_dsync"), 16, O_DSYNC),
        (rd("sync", 32, ",openflags=o_sync"), 32, O_SYNC),
        (rd("both", 64, ",openflags=(o_direct,o_dsync)"), 64, O_DIRECT | O_DSYNC),
    ];
    let wds = "sd=sd1,lun=DISK,size=8m,threads=2\nwd=wd1,sd=sd1,rdpct=0\n\
               wd=wd2,sd=sd1,rdpct=0,xfersize=1k,openflags=o_direct\nwd=wd3,sd=sd1,rdpct=0,xfersize=2k\n";
    let two = "rd=two,wd=(wd2,wd3),iorate=max,elapsed=600,interval=1,maxops=600\n";
    for is_turned in [false, true] {
        let mut lines: Vec<&str> = runs.iter().map(|(line, ..)| line.as_str()).chain([two]).collect();
        if is_turned {
            lines.reverse();
        }
        for engine in ["io_uring", "sync"] {
            let (code, log) = place.run_with("open.vdb", &format!("{wds}{}", lines.concat()), &["--engine", engine]);
            assert_eq!(code, Some(0));
            let sizes = runs.iter().map(|(_, kilobytes, flags)| (*kilobytes, *flags)).chain([(1, O_DIRECT), (2, 0)]);
            for (kilobytes, flags) in sizes {
                let bytes = kilobytes << 10;
                let of_it: Vec<&LogEntry> =
                    log.iter().filter(|entry| (entry.op, entry.bytes) == (DiskOperation::Write, bytes)).collect();
                assert!(of_it.len() >= 10, "turned {is_turned}: {} writes of {kilobytes} KiB", of_it.len());
                let as_asked = of_it.iter().filter(|entry| entry.flags & (O_DIRECT | O_SYNC) == flags).count();
                assert_eq!(as_asked, of_it.len(), "turned {is_turned}: {kilobytes} KiB must be opened {flags:#o}");
            }
        }
    }
}

#[test]
fn a_run_ends_with_fsync_where_that_is_asked() {
    let Some(place) = place() else { return };
    let sd = "sd=sd1,lun=DISK,size=8m,threads=2\n";
    let rd = "iorate=max,elapsed=600,interval=1,maxops=30";
    let fio = |more: &str| format!("[one]\nfilename=DISK\nsize=1m\nbs=64k\nrw=write\n{more}");
    let of_vdbench = |wd: &str, more: &str| format!("{sd}{wd}rd=rd1,wd=*,{rd}{more}\n");
    let (wd, reads) = ("wd=wd1,sd=sd1,rdpct=0,xfersize=4k\n", "wd=wd1,sd=sd1,rdpct=100,xfersize=4k\n");
    let two = "wd=wd1,sd=sd1,rdpct=0,xfersize=4k\nwd=wd2,sd=sd1,rdpct=0,xfersize=8k\n";
    let cases = [
        ("none.vdb", of_vdbench(wd, ""), 0),
        ("fsync.vdb", of_vdbench(wd, ",openflags=fsync"), 1),
        ("direct.vdb", of_vdbench(wd, ",openflags=(o_direct,fsync)"), 1),
        ("two.vdb", of_vdbench(two, ",openflags=fsync"), 1),
        ("reads.vdb", of_vdbench(reads, ",openflags=fsync"), 0),
        ("none.fio", fio(""), 0),
        ("end.fio", fio("end_fsync=1\n"), 1),
        ("close.fio", fio("fsync_on_close=1\n"), 1),
        ("jobs.fio", fio("end_fsync=1\nnumjobs=3\n"), 3),
        ("reads.fio", fio("end_fsync=1\n").replace("rw=write", "rw=read"), 0),
    ];
    for (file, text, expected) in cases {
        let (code, log) = place.run(file, &text);
        assert_eq!(code, Some(0), "{file}");
        let flushes: Vec<&LogEntry> = log.iter().filter(|entry| entry.op == DiskOperation::Flush).collect();
        assert_eq!(flushes.len(), expected, "{file}");
        assert!(flushes.iter().all(|flush| !flush.is_datasync), "{file}: fsync, not fdatasync");
        // Jobs end one after the other, each with as many writes: before the third flush, those of three are over.
        let writes: Vec<u64> =
            log.iter().filter(|entry| entry.op == DiskOperation::Write).map(|entry| entry.reply_ns).collect();
        for (flush, jobs) in flushes.iter().zip(1..) {
            let before = writes.iter().filter(|reply_ns| **reply_ns <= flush.arrival_ns).count();
            assert!(
                before * expected >= jobs * writes.len(),
                "{file}: flush {jobs} after {before} of {}",
                writes.len()
            );
        }
        let totals = place.scratch.table("out", "run_total");
        let of_end = sum(&totals, "ops", |row| row["op"] == "flush" && row["phase"] == "drain");
        assert_eq!(of_end, i64::try_from(expected).unwrap(), "{file}: counted");
    }
}

#[test]
fn a_failed_fsync_is_recorded_and_fails_the_run() {
    let Some(place) = place() else { return };
    place.disk.control("eio flush").unwrap();
    let text = "sd=sd1,lun=DISK,size=8m\nwd=wd1,sd=sd1,rdpct=0,xfersize=4k\n\
                rd=rd1,wd=wd1,iorate=max,elapsed=600,interval=1,maxops=30,openflags=fsync\n";
    let (code, log) = place.run("fails.vdb", text);
    place.disk.control("reset").unwrap();
    assert_eq!(code, Some(3));
    assert_eq!(log.iter().filter(|entry| entry.op == DiskOperation::Flush && entry.result < 0).count(), 1);
    let events = place.scratch.table("out", "event");
    let is_recorded =
        events.iter().any(|event| event["kind"] == "io_error" && event["message"].to_string().contains("flush"));
    assert!(is_recorded, "{events:?}");
}

#[test]
fn a_fill_through_the_page_cache_ends_with_it_written() {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=8m\nwd=wd1,sd=sd1,rdpct=100,xfersize=4k\nrd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1\n",
        scratch.path("file").display()
    );
    scratch.run("out", &text, &["--no-report"]).expect_code(0);
    let events = scratch.table("out", "event");
    let of_fill = events.iter().filter(|event| event["kind"] == "fsync" && event["run"] == "format").count();
    assert_eq!(of_fill, 1, "one fdatasync behind the fill: {events:?}");
}
