//! `--engine` left out: what is chosen does as much at once as was asked, or as much as can be had.

use crate::support::Scratch;
use faultfs::{DiskConfig, Faultfs};
use std::path::{Path, PathBuf};
use testkit::{FileSystem, LoopDevice, MountedFileSystem};

/// A file whose I/Os take a while, in a file system.
struct Place {
    name: &'static str,
    file: PathBuf,
    _mounted: Option<MountedFileSystem>,
    _device: Option<LoopDevice>,
    disk: faultfs::DiskHandle,
    _folder: tempfile::TempDir,
}

impl Place {
    fn new(file_system: Option<FileSystem>) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let bytes = file_system.map_or(64 << 20, |one| one.min_bytes() + (64 << 20));
        let disk = Faultfs::mount(folder.path(), DiskConfig::new(bytes)).unwrap();
        let Some(file_system) = file_system else {
            return Some(Self {
                name: "fuse",
                file: disk.disk(),
                _mounted: None,
                _device: None,
                disk,
                _folder: folder,
            });
        };
        if !file_system.is_available() {
            testkit::lacks(file_system.name());
            return None;
        }
        let device = LoopDevice::over(disk.disk()).unwrap();
        let mounted = MountedFileSystem::make(file_system, device.path()).unwrap();
        let file = mounted.path().join("data");
        Some(Self {
            name: file_system.name(),
            file,
            _mounted: Some(mounted),
            _device: Some(device),
            disk,
            _folder: folder,
        })
    }
}

/// Operations per second, and why the engine was chosen.
fn rate(scratch: &Scratch, file: &Path, (flags, load, depth): (&str, &str, u32), engine: &str) -> (f64, String) {
    let _ = std::fs::remove_dir_all(scratch.path("out"));
    let flags = if flags.is_empty() { String::new() } else { format!(",openflags={flags}") };
    let path = file.display();
    let text = format!(
        "sd=sd1,lun={path},size=32m,threads={depth}{flags}\nwd=wd1,sd=sd1,xfersize=8k,{load}\nrd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n"
    );
    let target = path.to_string();
    scratch.run("out", &text, &["--no-report", "--engine", engine, "--destroy", &target]).expect_code(0);
    let ops: f64 = scratch.table("out", "run_total").iter().map(|row| row["ops"].as_f64().unwrap()).sum();
    let said = scratch.table("out", "event").into_iter().find(|row| row["kind"] == "engine");
    (ops / 2.0, said.and_then(|row| row["message"].as_str().map(str::to_string)).unwrap_or_default())
}

/// Flags, load and depth on a file system, where operations per second are those in flight by the disk's delay: what each
/// file system makes of `fsync` is another matter.
const CASES: [(&str, &str, u32); 5] = [
    ("o_dsync", "rdpct=0", 8),
    ("o_sync", "rdpct=50", 32),
    ("o_direct", "rdpct=0", 8),
    ("o_direct", "rdpct=50", 32),
    ("o_direct", "rdpct=100", 32),
];

#[test]
#[ignore = "times: make exam"]
fn the_automatic_engine_does_as_much_as_the_better_one() {
    testkit::while_cpus_are_ours(once_the_automatic_engine_does_as_much_as_the_better_one);
}

fn once_the_automatic_engine_does_as_much_as_the_better_one() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    for file_system in [Some(FileSystem::Ext4), Some(FileSystem::Xfs), Some(FileSystem::Btrfs), None] {
        let Some(place) = Place::new(file_system) else { continue };
        let _ = rate(&scratch, &place.file, ("", "rdpct=0", 8), "sync");
        place.disk.control("delay 10ms").unwrap();
        for case in CASES {
            let [uring, sync, auto] =
                ["io_uring", "sync", "auto"].map(|engine| rate(&scratch, &place.file, case, engine));
            println!(
                "{} {case:?}: {:.0}/s io_uring, {:.0} sync, {:.0} {}",
                place.name, uring.0, sync.0, auto.0, auto.1
            );
            let best = uring.0.max(sync.0);
            assert!(auto.0 >= 0.85 * best, "{} {case:?}: {:.0}/s of {best:.0}", place.name, auto.0);
        }
        place.disk.control("delay 0ms").unwrap();
    }
}
