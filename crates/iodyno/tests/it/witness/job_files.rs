//! What comes before a fio job, and when its device is full or its operations overlap: the same file by fio and by us.

use crate::support::Scratch;
use faultfs::{DiskOperation, LogEntry};
use std::time::Duration;
use testkit::{FileSystem, LoopDevice, MountedFileSystem, TestCommand};

fn fio(scratch: &Scratch, text: &str) -> Option<i32> {
    let file = scratch.write("fio.fio", text).to_str().unwrap().to_string();
    let fio = TestCommand::new("fio").args(["--output=/dev/null", &file]).dir(scratch.path(""));
    fio.limit(Duration::from_secs(60)).run().unwrap().code
}

fn ours(scratch: &Scratch, text: &str, more: &[&str]) -> testkit::CommandOutput {
    let file = scratch.write("ours.fio", text).to_str().unwrap().to_string();
    let _ = std::fs::remove_dir_all(scratch.path("out"));
    let args = ["run", &file, "-o", "out", "--json", "--no-report"];
    let args: Vec<&str> = args.iter().chain(more).copied().collect();
    scratch.iodyno(&args).run().unwrap()
}

/// The disk's log of the jobs' requests, 8 KiB each, done by fio and by us.
fn on_disk(text: &str, fault: &str) -> Option<[Vec<LogEntry>; 2]> {
    if !testkit::require_root_or_skip() || !testkit::has_fio() {
        return None;
    }
    let mountpoint = tempfile::tempdir().unwrap();
    let disk = faultfs::Faultfs::mount(mountpoint.path(), faultfs::DiskConfig::new(8 << 20)).unwrap();
    let path = disk.disk().to_str().unwrap().to_string();
    let scratch = Scratch::new();
    let text = format!("[job]\nfilename={path}\ndirect=1\nbs=8k\n{text}");
    disk.control(fault).unwrap();
    let log = |code: Option<i32>| {
        assert_eq!(code, Some(0));
        disk.take_log().into_iter().filter(|entry| entry.op != DiskOperation::Flush && entry.bytes == 8192).collect()
    };
    drop(disk.take_log());
    Some([log(fio(&scratch, &text)), log(ours(&scratch, &text, &["--destroy", &path]).code)])
}

/// Pairs that were on the disk at the same time and touch the same bytes.
fn overlaps(log: &[LogEntry]) -> usize {
    let meet = |a: &LogEntry, b: &LogEntry| {
        let in_time = a.arrival_ns < b.reply_ns && b.arrival_ns < a.reply_ns;
        in_time && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes
    };
    log.iter().enumerate().map(|(at, a)| log[at + 1..].iter().filter(|b| meet(a, b)).count()).sum()
}

#[test]
fn operations_that_overlap_wait_for_each_other_where_that_is_asked() {
    let jobs = "ioengine=io_uring\niodepth=8\nrw=randwrite\nnorandommap\nsize=128k\nio_size=1m\n";
    for (option, is_apart) in [("", false), ("serialize_overlap=1\n", true)] {
        let Some([fio, ours]) = on_disk(&format!("{jobs}{option}"), "delay 3ms write") else { return };
        assert_eq!([fio.len(), ours.len()], [128; 2], "{option}");
        for (program, log) in [("fio", &fio), ("ours", &ours)] {
            assert_eq!(overlaps(log) == 0, is_apart, "{option}, {program}: {} overlaps", overlaps(log));
        }
        // Others go on meanwhile.
        let meets = |log: &[LogEntry]| log.windows(2).filter(|pair| pair[1].arrival_ns < pair[0].reply_ns).count();
        assert!(meets(&fio) > 30 && meets(&ours) > 30, "{option}: {} and {}", meets(&fio), meets(&ours));
    }
}

#[test]
fn a_job_that_wants_it_reads_its_part_before() {
    let jobs = "ioengine=psync\nrw=randread\noffset=1m\nsize=512k\n";
    for (option, reads) in [("", 64), ("pre_read=1\n", 128)] {
        let Some([fio, ours]) = on_disk(&format!("{jobs}{option}"), "quiet") else { return };
        let of_part = |log: &[LogEntry]| {
            log.iter().filter(|entry| (1 << 20..3 << 19).contains(&entry.offset)).map(|entry| entry.offset).collect()
        };
        let (theirs, own): (Vec<u64>, Vec<u64>) = (of_part(&fio), of_part(&ours));
        assert_eq!([theirs.len(), own.len()], [reads; 2], "{option}");
        if reads > 64 {
            assert_eq!(theirs[..64], own[..64], "in order");
        }
    }
}

#[test]
fn files_are_made_and_nothing_is_done_with_create_only() {
    if !testkit::has_fio() {
        return;
    }
    let text =
        "[global]\nsize=1m\nbs=4k\ncreate_only=1\nioengine=psync\n[read]\nrw=read\n[write]\nstonewall\nrw=write\n";
    let (theirs, own) = (Scratch::new(), Scratch::new());
    assert_eq!(fio(&theirs, text), Some(0));
    ours(&own, text, &[]).expect_code(0);
    for name in ["read.0.0", "write.0.0"] {
        let size = |scratch: &Scratch| std::fs::metadata(scratch.path(name)).unwrap().len();
        assert_eq!([size(&theirs), size(&own)], [1 << 20; 2], "{name}");
    }
    let totals = own.table("out", "run_total");
    assert!(totals.iter().all(|row| row["phase"] == "format" || row["ops"] == 0), "{totals:?}");
}

#[test]
fn a_device_that_is_full_ends_the_job_that_fills_it() {
    if !testkit::require_root_or_skip() || !testkit::has_fio() {
        return;
    }
    let device = LoopDevice::new(24 << 20).unwrap();
    if !FileSystem::Ext4.is_available() {
        testkit::lacks("mkfs.ext4");
        return;
    }
    let mounted = MountedFileSystem::make(FileSystem::Ext4, device.path()).unwrap();
    let file = mounted.path().join("fill");
    let scratch = Scratch::new();
    for (options, code) in [("fill_device=1", 0), ("fill_device=1\nsize=1m", 0), ("size=1g\nfallocate=none", 1)] {
        let text = format!(
            "[job]\nfilename={}\nioengine=psync\nrw=write\nbs=64k\ndirect=1\n{options}\n\
             [next]\nstonewall\nfilename={}\nioengine=psync\nrw=read\nbs=64k\nsize=1m\n",
            file.display(),
            scratch.path("other").display(),
        );
        let size = || std::fs::metadata(&file).map_or(0, |found| found.len());
        let theirs = (fio(&scratch, &text) == Some(0), size());
        let _ = std::fs::remove_file(&file);
        let output = ours(&scratch, &text, &[]);
        let own = (output.code == Some(0), size());
        let _ = std::fs::remove_file(&file);
        assert_eq!((theirs.0, own.0), (code == 0, code == 0), "{options}: {}", output.stderr);
        if code == 0 {
            assert!(theirs.1.abs_diff(own.1) <= 2 << 20, "{options}: {} and {} bytes", theirs.1, own.1);
            assert!(own.1 > 15 << 20 || own.1 == 1 << 20, "{options}: {} bytes", own.1);
            let next = scratch.table("out", "run_total");
            assert!(next.iter().any(|row| row["workload"] == "next" && row["ops"] == 16), "{options}: {next:?}");
        }
    }
}
