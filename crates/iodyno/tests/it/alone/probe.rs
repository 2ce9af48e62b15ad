//! `iodyno probe` on real devices and file systems: what programs did is counted to the byte.

use crate::support::Scratch;
use recording::Reader;
use recording::rows::{FileInterval, Io};
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;
use testkit::{Child, CommandOutput, FileSystem, LoopDevice, MountedFileSystem, TestCommand};

struct Probing<'a> {
    _alone: testkit::Alone,
    scratch: &'a Scratch,
    child: Child,
}

impl<'a> Probing<'a> {
    /// `iodyno probe MORE -o probed`; returns once everything is attached.
    fn start(scratch: &'a Scratch, more: &[&str]) -> Self {
        let alone = testkit::alone();
        let mut arguments = vec!["probe"];
        arguments.extend_from_slice(more);
        arguments.extend_from_slice(&["-o", "probed"]);
        let _ = std::fs::remove_dir_all(scratch.path("probed"));
        let mut child = scratch.iodyno(&arguments).spawn().unwrap();
        if !child.wait_for_stdout("probing", Duration::from_secs(60)) {
            panic!("no probe: {:?}", child.wait());
        }
        Self { _alone: alone, scratch, child }
    }

    fn stop(self) -> CommandOutput {
        // What was done is seen before the interrupt is.
        std::thread::sleep(Duration::from_millis(100));
        self.child.signal(Signal::INT);
        self.child.wait().unwrap()
    }

    /// The sums of one file over all processes.
    fn of(self, file: &Path) -> (CommandOutput, FileInterval) {
        let scratch = self.scratch;
        let output = self.stop().expect_code(0);
        let rows = Reader::open(scratch.path("probed")).unwrap().table::<FileInterval>().unwrap();
        let name = file.to_str().unwrap();
        let rows = rows.into_iter().filter(|row| row.file.as_deref() == Some(name));
        let sum = rows.reduce(|mut sum, row| {
            for (sum, part) in [
                (&mut sum.reads, row.reads),
                (&mut sum.read_bytes, row.read_bytes),
                (&mut sum.touched_bytes, row.touched_bytes),
                (&mut sum.mapped_bytes, row.mapped_bytes),
                (&mut sum.filled_bytes, row.filled_bytes),
                (&mut sum.direct_reads, row.direct_reads),
                (&mut sum.direct_read_bytes, row.direct_read_bytes),
                (&mut sum.writes, row.writes),
                (&mut sum.write_bytes, row.write_bytes),
                (&mut sum.made_bytes, row.made_bytes),
                (&mut sum.direct_writes, row.direct_writes),
                (&mut sum.direct_write_bytes, row.direct_write_bytes),
            ] {
                *sum += part;
            }
            sum
        });
        (output, sum.unwrap_or_else(|| panic!("nothing of {name}")))
    }
}

fn dd(arguments: &[String]) {
    TestCommand::new("dd").args(arguments).run().unwrap().expect_code(0);
}

fn read(file: &Path, size: &str, more: &[&str]) {
    let mut arguments = vec![format!("if={}", file.display()), "of=/dev/null".to_string(), format!("bs={size}")];
    arguments.extend(more.iter().map(|word| (*word).to_string()));
    dd(&arguments);
}

fn write(file: &Path, size: &str, count: u32, more: &[&str]) {
    let mut arguments = vec![
        "if=/dev/zero".to_string(),
        format!("of={}", file.display()),
        format!("bs={size}"),
        format!("count={count}"),
    ];
    arguments.extend(more.iter().map(|word| (*word).to_string()));
    dd(&arguments);
}

/// Throws this file out of the page cache.
fn forget(file: &Path) {
    TestCommand::new("sync").arg(file).run().unwrap().expect_code(0);
    let file = std::fs::File::open(file).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

fn mounted(kind: FileSystem) -> Option<(LoopDevice, MountedFileSystem)> {
    if !testkit::require_root_or_skip() {
        return None;
    }
    if !kind.is_available() {
        testkit::lacks(kind.name());
        return None;
    }
    let device = LoopDevice::new(kind.min_bytes()).unwrap();
    let mounted = MountedFileSystem::make(kind, device.path()).unwrap();
    Some((device, mounted))
}

const MIB: i64 = 1 << 20;

#[test]
fn a_cold_and_a_warm_read_miss_half_of_the_pages() {
    for kind in FileSystem::ALL {
        let Some((_device, mounted)) = mounted(kind) else { continue };
        let scratch = Scratch::new();
        let file = mounted.path().join("data");
        write(&file, "1M", 8, &[]);
        forget(&file);
        let probing = Probing::start(&scratch, &["files", "--comm", "dd"]);
        read(&file, "64k", &[]);
        read(&file, "64k", &[]);
        let (output, sum) = probing.of(&file);
        assert_eq!((sum.reads, sum.read_bytes), (2 * 128, 16 * MIB), "{kind:?}");
        assert_eq!((sum.touched_bytes, sum.filled_bytes), (16 * MIB, 8 * MIB), "{kind:?}: half of them missed");
        assert_eq!((sum.direct_reads, sum.writes, sum.made_bytes), (0, 0, 0), "{kind:?}");
        assert_eq!(sum.mount.as_deref(), mounted.path().to_str(), "{kind:?}");
        // Wide tables go on below, with the name again.
        let mut lines = output.stdout.lines().filter(|line| line.starts_with(file.to_str().unwrap()));
        assert!(lines.any(|line| line.split_whitespace().any(|word| word == "50.0")), "{}", output.stdout);
    }
}

#[test]
fn pages_that_writes_make_are_not_misses() {
    for kind in FileSystem::ALL {
        let Some((_device, mounted)) = mounted(kind) else { continue };
        let scratch = Scratch::new();
        let file = mounted.path().join("data");
        let probing = Probing::start(&scratch, &["files", "--comm", "dd"]);
        write(&file, "64k", 64, &[]);
        read(&file, "4k", &[]);
        let (_, sum) = probing.of(&file);
        assert_eq!((sum.writes, sum.write_bytes, sum.made_bytes), (64, 4 * MIB, 4 * MIB), "{kind:?}");
        assert_eq!((sum.reads, sum.touched_bytes, sum.filled_bytes), (1024, 4 * MIB, 0), "{kind:?}: all were there");
    }
}

#[test]
fn random_reads_of_every_kind_are_counted() {
    let Some((_device, mounted)) = mounted(FileSystem::Xfs) else { return };
    let scratch = Scratch::new();
    let file = mounted.path().join("data");
    write(&file, "1M", 16, &[]);
    for (engine, direct, more) in [
        ("psync", false, "--thread"),
        ("pvsync", false, "--thread"),
        ("io_uring", false, "--iodepth=4"),
        ("io_uring", true, "--iodepth=4"),
        ("libaio", true, "--iodepth=4"),
        ("mmap", false, "--thread"),
    ] {
        forget(&file);
        let probing = Probing::start(&scratch, &["files", "--comm", "fio"]);
        TestCommand::new("fio")
            .args([
                "--name=r",
                "--rw=randread",
                "--bs=4k",
                "--size=16m",
                "--number_ios=500",
                "--fadvise_hint=1",
                "--invalidate=0",
            ])
            .args([&format!("--filename={}", file.display()), &format!("--ioengine={engine}"), more])
            .arg(format!("--direct={}", u8::from(direct)))
            .dir(scratch.path(""))
            .run()
            .unwrap()
            .expect_code(0);
        let (_, sum) = probing.of(&file);
        let expected = 500 * 4096;
        match (direct, engine) {
            (true, _) => {
                assert_eq!((sum.direct_reads, sum.direct_read_bytes, sum.reads), (500, expected, 0), "{engine}")
            }
            // Every place once, and fio advised the kernel that they are random: none is read ahead.
            (false, "mmap") => assert!(sum.mapped_bytes >= expected && sum.filled_bytes >= expected, "{sum:?}"),
            (false, _) => {
                assert_eq!((sum.reads, sum.read_bytes, sum.touched_bytes), (500, expected, expected), "{engine}");
                assert_eq!(sum.filled_bytes, expected, "{engine}: each page missed once");
            }
        }
    }
}

#[test]
fn sizes_places_and_counts_of_direct_writes_are_exact() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(64 << 20).unwrap();
    let scratch = Scratch::new();
    let name = device.name();
    let probing = Probing::start(&scratch, &["io", "-d", &name, "--comm", "dd"]);
    write(device.path(), "64k", 200, &["oflag=direct", "seek=512", "conv=notrunc"]);
    let output = probing.stop().expect_code(0);
    let tail = output.stdout.split("all of").nth(1).unwrap();
    let has = |words: &[&str]| {
        tail.lines().any(|line| {
            let line: Vec<&str> = line.split_whitespace().collect();
            line.windows(words.len()).any(|window| window == words)
        })
    };
    assert!(has(&["64", "KiB", "200"]), "one size and its count: {tail}");
    assert!(has(&["32", "MiB", "–", "64", "MiB", "200"]), "all between 32 and 44.5 MiB: {tail}");
    let rows = Reader::open(scratch.path("probed")).unwrap().table::<Io>().unwrap();
    let writes: Vec<&Io> = rows.iter().filter(|io| &*io.op == "write").collect();
    assert_eq!(writes.len(), 200);
    assert_eq!(writes.iter().map(|io| io.sector * 512).min(), Some(32 * MIB));
    assert_eq!(writes.iter().map(|io| io.sector * 512 + io.bytes).max(), Some(32 * MIB + 200 * 65536));
}

/// The classic script, which asked at the completion, lost them.
#[test]
fn asynchronous_writes_have_their_device_and_file() {
    let Some((device, mounted)) = mounted(FileSystem::Ext4) else { return };
    let scratch = Scratch::new();
    let file = mounted.path().join("written");
    let name = device.name();
    let probing = Probing::start(&scratch, &["io", "-d", &name, "--by", "file"]);
    write(&file, "1M", 4, &[]);
    // Write-back of the whole file system, not of a file that a process waits for.
    TestCommand::new("sync").arg("-f").arg(mounted.path()).run().unwrap().expect_code(0);
    let output = probing.stop().expect_code(0);
    let rows = Reader::open(scratch.path("probed")).unwrap().table::<Io>().unwrap();
    let ours: Vec<&Io> = rows.iter().filter(|io| io.file.as_deref() == file.to_str() && &*io.op == "write").collect();
    assert_eq!(ours.iter().map(|io| io.bytes).sum::<i64>(), 4 * MIB);
    assert!(ours.iter().all(|io| *io.dev == *name && io.owner_comm.as_deref() == Some("dd")));
    assert!(output.stdout.contains(file.to_str().unwrap()), "{}", output.stdout);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let scratch = Scratch::new();
    for (arguments, sentence) in [
        (&["probe", "files", "-d", "vda"][..], "-d belongs to `iodyno probe io`"),
        (&["probe", "io", "--by", "fs"], "--by fs belongs to `iodyno probe files`"),
        (&["probe", "files", "--by", "op"], "--by op belongs to `iodyno probe io`"),
        (&["probe", "io", "1ms"], "interval 1ms is too short"),
        (&["probe", "io", "-d", "nonesuch"], "nonesuch"),
    ] {
        let output = scratch.iodyno(arguments).run().unwrap();
        assert_ne!(output.code, Some(0));
        assert!(output.stderr.contains(sentence), "{}", output.stderr);
    }
}
