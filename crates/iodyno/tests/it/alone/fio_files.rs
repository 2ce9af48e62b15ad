//! Job files on files of a real file system, run by fio and by us: what the disk below sees of the page cache, of the
//! files' layout and of the journal.

use crate::support::Scratch;
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use testkit::{BlockOp, BlockRecord, FileSystem, Layer, LoopDevice, MountedFileSystem, TestCommand, TracepointCapture};

struct Bench {
    mounted: MountedFileSystem,
    device: LoopDevice,
    scratch: Scratch,
}

/// What the disk saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    reads: u64,
    read_bytes: u64,
    writes: u64,
    write_bytes: u64,
    /// Flushes and writes that had to reach the medium.
    durable: u64,
}

impl Bench {
    fn new() -> Option<Self> {
        if !testkit::require_root_or_skip() || !testkit::has_fio() {
            return None;
        }
        if !FileSystem::Ext4.is_available() {
            testkit::lacks("mkfs.ext4");
            return None;
        }
        let device = LoopDevice::new(256 << 20).unwrap();
        if let Err(error) = TracepointCapture::start(device.path(), Layer::Bios) {
            testkit::lacks(&format!("tracefs: {error}"));
            return None;
        }
        let mounted = MountedFileSystem::make(FileSystem::Ext4, device.path()).unwrap();
        Some(Self { mounted, device, scratch: Scratch::new() })
    }

    fn path(&self, name: &str) -> String {
        self.mounted.path().join(name).to_str().unwrap().to_string()
    }

    fn watch(&self, work: impl FnOnce()) -> Seen {
        rustix::fs::sync();
        let bios = TracepointCapture::start(self.device.path(), Layer::Bios).unwrap();
        work();
        let capture = bios.stop();
        assert_eq!(capture.lost, 0, "the tracepoint lost events");
        let mut seen = Seen::default();
        for record in &capture.records {
            count(&mut seen, record);
        }
        seen
    }

    fn by_fio(&self, flags: &[&str]) -> Seen {
        self.watch(|| {
            let fio = TestCommand::new("fio").args(["--output=/dev/null", "--name=job"]).args(flags);
            fio.dir(self.scratch.path("")).limit(Duration::from_secs(60)).run().unwrap().expect_code(0);
        })
    }

    fn by_us(&self, out: &str, flags: &[&str]) -> Seen {
        self.watch(|| {
            let args = [&["run", "--name=job"][..], flags, &["-o", out, "--json", "--no-report"]].concat();
            self.scratch.iodyno(&args).run().unwrap().expect_code(0);
        })
    }
}

fn count(seen: &mut Seen, record: &BlockRecord) {
    match record.op {
        BlockOp::Read => (seen.reads, seen.read_bytes) = (seen.reads + 1, seen.read_bytes + record.bytes),
        BlockOp::Write => (seen.writes, seen.write_bytes) = (seen.writes + 1, seen.write_bytes + record.bytes),
        _ => {}
    }
    seen.durable += u64::from(record.is_fua || record.op == BlockOp::Flush);
}

fn is_near(a: u64, b: u64, part: f64, few: u64) -> bool {
    a.abs_diff(b) as f64 <= part * a.max(b) as f64 + few as f64
}

/// A file that others made, written to the disk and then read: all of it is in memory.
fn cached(path: &str, bytes: usize) {
    std::fs::write(path, vec![0xa5_u8; bytes]).unwrap();
    std::fs::File::open(path).unwrap().sync_all().unwrap();
    warm(path);
}

fn warm(path: impl AsRef<Path>) {
    let mut all = Vec::new();
    std::fs::File::open(path).unwrap().read_to_end(&mut all).unwrap();
}

#[test]
fn a_cached_file_is_read_from_the_disk() {
    let Some(bench) = Bench::new() else { return };
    let file = bench.path("cached");
    cached(&file, 16 << 20);
    let name = format!("--filename={file}");
    for (number, options) in [
        &["--rw=randread", "--bs=4k", "--number_ios=1500"][..],
        &["--rw=read", "--bs=64k"],
        &["--rw=read", "--bs=64k", "--fadvise_hint=random"],
        &["--rw=read", "--bs=64k", "--loops=2", "--size=8m"],
        // Whatever was asked for: what is not dropped is not read.
        &["--rw=randread", "--bs=4k", "--number_ios=500", "--invalidate=0"],
    ]
    .into_iter()
    .enumerate()
    {
        let flags = [&[name.as_str(), "--ioengine=psync"], options].concat();
        warm(&file);
        let fio = bench.by_fio(&flags);
        warm(&file);
        let ours = bench.by_us(&format!("cached{number}.iodyno"), &flags);
        assert!(
            is_near(fio.reads, ours.reads, 0.03, 8) && is_near(fio.read_bytes, ours.read_bytes, 0.03, 64 << 10),
            "{options:?}: fio {fio:?}, ours {ours:?}"
        );
        assert_eq!(ours.read_bytes < 1 << 20, options.contains(&"--invalidate=0"), "{options:?}: {ours:?}");
    }
}

#[test]
fn the_etcd_check_pays_for_extension_and_journal() {
    etcd_check(false);
}

#[test]
#[ignore = "times: make exam"]
fn the_etcd_check_pays_as_much_for_extension_and_journal_as_fio() {
    etcd_check(true);
}

/// How many flushes the journal adds depends on when it writes what: only on a quiet machine is that the same for both.
fn etcd_check(quiet: bool) {
    let Some(bench) = Bench::new() else { return };
    for (number, layout) in [
        "--fallocate=native",
        "--fallocate=none",
        "--fallocate=keep",
        "--fallocate=truncate",
        "--create_on_open=1",
        "--overwrite=1",
    ]
    .into_iter()
    .enumerate()
    {
        let options = ["--rw=write", "--fdatasync=1", "--bs=2300", "--size=500k", "--ioengine=sync", layout];
        let run = |program: &str| {
            let file = format!("--filename={}", bench.path(&format!("{program}{number}")));
            let flags = [&[file.as_str()], &options[..]].concat();
            if program == "fio" { bench.by_fio(&flags) } else { bench.by_us(&format!("etcd{number}.iodyno"), &flags) }
        };
        let (fio, ours) = (run("fio"), run("ours"));
        // Where the file system puts a file decides how much of its own it writes: fio beside itself is as far apart here.
        let slack = if quiet { 0.1 } else { 0.5 };
        let is_placed = layout == "--create_on_open=1" || is_near(fio.writes, ours.writes, slack, 30);
        let is_durable = !quiet || is_near(fio.durable, ours.durable, 0.03, 12);
        assert!(is_durable && is_placed, "{layout}: fio {fio:?}, ours {ours:?}");
        // One for each of its writes at least.
        assert!(
            fio.durable >= 220 && (220..2 * fio.durable).contains(&ours.durable),
            "{layout}: fio {fio:?}, ours {ours:?}"
        );
    }
}

#[test]
fn a_file_that_is_only_written_is_not_filled_before() {
    let scratch = Scratch::new();
    for (layout, size) in [("native", 1 << 20), ("none", 256 << 10), ("truncate", 1 << 20)] {
        let path = scratch.path(layout).to_str().unwrap().to_string();
        let (file, layout) = (format!("--filename={path}"), format!("--fallocate={layout}"));
        let out = format!("{}.iodyno", &layout[2..]);
        let flags = ["--rw=write", "--bs=64k", "--size=1m", "--number_ios=4", &layout, &file];
        let args = [&["run", "--name=job"][..], &flags, &["-o", &out, "--json", "--no-report"]].concat();
        scratch.iodyno(&args).run().unwrap().expect_code(0);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), size, "{layout}");
        let totals = scratch.table(&out, "run_total");
        assert!(totals.iter().all(|row| row["phase"] != "format"), "{layout}: {totals:?}");
        // What was read later was never written: now it is.
        let read = [&["run", "--name=read", "--rw=read", "--bs=64k"][..], &[&file, "-o"]].concat();
        let again = format!("read-{out}");
        scratch
            .iodyno(&[&read[..], &[&again, "--size=1m", "--json", "--no-report"]].concat())
            .run()
            .unwrap()
            .expect_code(0);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20);
    }
}
