//! What iodyno made it may write again; what another program has written into it since, or a pattern does not explain, is
//! refused, and stays as it is.

use crate::support::Scratch;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{CommandOutput, FileSystem, LoopDevice, MountedFileSystem, TestCommand, require_root_or_skip};

const MIB: u64 = 1 << 20;
const REFUSED: i32 = 7;

/// A folder with a registry of its own, and the runs that were made in it.
struct Bench {
    scratch: Scratch,
    runs: std::cell::Cell<u32>,
}

impl Bench {
    fn new() -> Self {
        Self { scratch: Scratch::new(), runs: std::cell::Cell::new(0) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    fn iodyno(&self, arguments: &[&str]) -> TestCommand {
        self.runs.set(self.runs.get() + 1);
        let recording = format!("run-{}", self.runs.get());
        self.scratch
            .iodyno(arguments)
            .args(["-o", &recording, "--no-report", "--no-counters"])
            .env("IODYNO_STATE_DIR", self.path("state"))
    }

    /// Writes all of 4 MiB in fio's words.
    fn command(&self, path: &Path, more: &[&str]) -> TestCommand {
        let name = path.to_str().unwrap();
        self.iodyno(&["run", "--name", "a", "--filename", name, "--size", "4m", "--rw", "write", "--bs", "64k"])
            .args(more)
    }

    fn fio(&self, path: &Path, more: &[&str]) -> CommandOutput {
        self.command(path, more).run().unwrap()
    }

    /// Writes all of 4 MiB, with `pattern=` when there is a file of that name, in Vdbench's words.
    fn vdbench(&self, path: &Path, pattern: Option<&str>) -> CommandOutput {
        let pattern = pattern.map(|name| format!("pattern={}\n", self.path(name).display())).unwrap_or_default();
        let text = format!(
            "{pattern}sd=sd1,lun={},size=4m\nwd=wd1,sd=sd1,xfersize=64k,seekpct=eof,rdpct=0\n\
             rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=0.5\n",
            path.display()
        );
        let file = self.scratch.write("run.vdb", &text);
        self.iodyno(&["run", file.to_str().unwrap()]).run().unwrap()
    }

    /// Refused, and what it would have written to is as it was.
    #[track_caller]
    fn is_refused(&self, path: &Path, why: &str, run: impl Fn() -> CommandOutput) {
        let before = std::fs::read(path).unwrap();
        let output = run().expect_code(REFUSED);
        // No comparison that would print them.
        assert!(std::fs::read(path).unwrap() == before, "{why}: it was written");
        let text = format!("{}{}", output.stdout, output.stderr);
        assert!(text.contains("--destroy"), "{why}: {text}");
    }
}

#[track_caller]
fn tool(program: &str, arguments: &[&str]) {
    let output = TestCommand::new(program).args(arguments).run().unwrap();
    assert_eq!(output.code, Some(0), "{program} {arguments:?}: {}", output.stderr);
}

const PATTERN: [&str; 2] = ["--buffer-pattern", "0xdeadbeef"];

#[test]
fn the_same_command_with_a_pattern_works_again_on_a_file() {
    let bench = Bench::new();
    std::fs::write(bench.path("words"), "the quick brown fox jumps over the lazy dog").unwrap();
    let path = bench.path("file");
    for _ in 0..3 {
        bench.fio(&path, &PATTERN).expect_code(0);
    }
    let mut head = [0; 4];
    File::open(&path).unwrap().read_exact_at(&mut head, 64 << 10).unwrap();
    assert_eq!(head, [0xde, 0xad, 0xbe, 0xef]);
    // Another pattern over it in part, one of Vdbench's, and iodyno's own data.
    bench.fio(&path, &["--buffer-pattern", "0x616263", "--io-size", "1m", "--direct", "1"]).expect_code(0);
    for _ in 0..2 {
        bench.vdbench(&path, Some("words")).expect_code(0);
    }
    bench.fio(&path, &[]).expect_code(0);
    bench.fio(&path, &["--zero-buffers", "1"]).expect_code(0);
    bench.fio(&path, &PATTERN).expect_code(0);
}

#[test]
fn the_same_command_with_a_pattern_works_again_on_a_device() {
    if !require_root_or_skip() {
        return;
    }
    let bench = Bench::new();
    std::fs::write(bench.path("words"), "the quick brown fox jumps over the lazy dog").unwrap();
    let scratch = testkit::scratch_dir(testkit::ScratchPlace::Disk).unwrap();
    let backing = scratch.path().join("disk");
    File::create(&backing).unwrap().set_len(16 * MIB).unwrap();
    let device = LoopDevice::over(&backing).unwrap();
    for _ in 0..3 {
        bench.fio(device.path(), &PATTERN).expect_code(0);
    }
    for _ in 0..2 {
        bench.vdbench(device.path(), Some("words")).expect_code(0);
    }
    drop(device);
    // The next device over the same file is the same; one over another file with this content is not.
    let device = LoopDevice::over(&backing).unwrap();
    bench.fio(device.path(), &PATTERN).expect_code(0);
    let other = scratch.path().join("other");
    std::fs::copy(&backing, &other).unwrap();
    let stranger = LoopDevice::over(&other).unwrap();
    bench.is_refused(stranger.path(), "another device", || bench.fio(stranger.path(), &PATTERN));
    // What others write is seen at once: a file system, and a sector.
    OpenOptions::new().write(true).open(device.path()).unwrap().write_all_at(&[b'x'; 512], 4096).unwrap();
    bench.is_refused(device.path(), "a sector", || bench.fio(device.path(), &PATTERN));
    bench.fio(device.path(), &["--destroy", device.path().to_str().unwrap()]).expect_code(0);
    if FileSystem::Ext4.is_available() || !testkit::lacks("ext4") {
        FileSystem::Ext4.make(device.path()).unwrap();
        bench.is_refused(device.path(), "a file system", || bench.fio(device.path(), &PATTERN));
    }
}

/// A way to write into a file that is not ours: its name, and what it does.
type Foreign = (&'static str, fn(&Bench, &Path));

const FOREIGN: [Foreign; 7] = [
    ("mkfs", |_, path| {
        if FileSystem::Ext4.is_available() {
            tool("mkfs.ext4", &["-q", "-F", path.to_str().unwrap()]);
        } else {
            write_at(path, &[b'x'; 2048], 0);
        }
    }),
    ("cp in place", |bench, path| {
        std::fs::write(bench.path("other"), vec![b'o'; 4 << 20]).unwrap();
        tool("cp", &[bench.path("other").to_str().unwrap(), path.to_str().unwrap()]);
    }),
    ("dd of a part in the middle", |_, path| write_at(path, &[b'x'; 4096], 2 * MIB - 4096)),
    ("dd of a part of a sector", |_, path| write_at(path, b"precious", 2 * MIB + 100)),
    ("append", |_, path| write_at(path, b"one more line\n", 4 * MIB)),
    ("truncate and rewrite", |_, path| std::fs::write(path, "a new file\n").unwrap()),
    ("zeroes in the middle", |_, path| write_at(path, &[0; 4096], 3 * MIB - 4096)),
];

fn write_at(path: &Path, bytes: &[u8], offset: u64) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, offset).unwrap();
}

#[test]
fn what_others_wrote_into_our_file_is_refused_and_stays() {
    let bench = Bench::new();
    for (index, (name, change)) in FOREIGN.into_iter().enumerate() {
        // Each of them over a pattern and over iodyno's own data, in turns.
        let more: &[&str] = if index % 2 == 0 { &PATTERN } else { &[] };
        let path = bench.path(&format!("file{index}"));
        bench.fio(&path, more).expect_code(0);
        change(&bench, &path);
        bench.is_refused(&path, name, || bench.fio(&path, more));
        bench.is_refused(&path, name, || bench.fio(&path, &["--dry-run"]));
        bench.fio(&path, &["--destroy", path.to_str().unwrap()]).expect_code(0);
        if name == "append" {
            // The run did not overwrite the line, so it is not iodyno's.
            bench.is_refused(&path, "what is behind the run's part", || bench.fio(&path, &[]));
        } else {
            bench.fio(&path, &[]).expect_code(0);
        }
    }
}

#[test]
fn what_a_flag_gave_up_and_the_run_did_not_overwrite_is_still_refused() {
    let bench = Bench::new();
    for (index, bytes) in [8 * MIB, 40 * MIB].into_iter().enumerate() {
        let path = bench.path(&format!("text{index}"));
        let name = path.to_str().unwrap();
        std::fs::write(&path, "a line of another's text!\n".repeat(usize::try_from(bytes / 26).unwrap())).unwrap();
        let run = |more: &[&str]| {
            let arguments = ["run", "--name", "a", "--filename", name, "--rw", "write", "--bs", "64k"];
            bench.iodyno(&arguments).args(more).run().unwrap()
        };
        for more in [&["--bs", "4k", "--io-size", "4k"][..], &["--bs", "1000", "--io-size", "4000", "--direct", "0"]] {
            run(&[more, &["--destroy", name]].concat()).expect_code(0);
            bench.is_refused(&path, "one block of it was overwritten", || run(&[]));
            bench.is_refused(&path, "one block of it was overwritten", || run(&["--dry-run"]));
        }
        // Under two names of one plan.
        let two = [":", name].concat();
        run(&["--filename", &[name, &two].concat(), "--io-size", "64k", "--destroy", name]).expect_code(0);
        bench.is_refused(&path, "two names", || run(&[]));
    }
}

#[test]
fn what_a_flag_gave_up_is_ours_once_all_of_it_was_overwritten() {
    let bench = Bench::new();
    for more in [&[][..], &PATTERN, &["--rw", "trimwrite"], &["--buffer-pattern", "0x616263", "--direct", "0"]] {
        let path = bench.path("file");
        std::fs::write(&path, vec![b'x'; 4 << 20]).unwrap();
        bench.fio(&path, &[more, &["--destroy", path.to_str().unwrap()]].concat()).expect_code(0);
        for _ in 0..2 {
            bench.fio(&path, more).expect_code(0);
        }
        // The flag given once more, when nothing is to be given up, takes nothing away.
        bench.fio(&path, &["--io-size", "64k", "--destroy", path.to_str().unwrap()]).expect_code(0);
        bench.fio(&path, more).expect_code(0);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_others_write_during_a_run_is_not_taken_for_ours() {
    let bench = Bench::new();
    for (bytes, at) in [(8 * MIB, 4 * MIB), (40 * MIB, 40 * MIB - 4096)] {
        let path = bench.path("file");
        let (name, size) = (path.to_str().unwrap(), bytes.to_string());
        let arguments = ["run", "--name", "a", "--filename", name, "--rw", "write"];
        let whole =
            |more: &[&str]| bench.iodyno(&arguments).args(["--bs", "1m", "--size", &size]).args(more).run().unwrap();
        whole(&[]).expect_code(0);
        let part = ["--size", "1m", "--bs", "64k", "--rate-iops", "50", "--time-based", "--runtime", "2s", "--json"];
        let mut running = bench.iodyno(&arguments).args(part).spawn().unwrap();
        assert!(running.wait_for_stdout("\"phase\":\"measure\"", Duration::from_secs(60)), "it never wrote");
        write_at(&path, &[b'x'; 4096], at);
        running.wait().unwrap().expect_code(0);
        bench.is_refused(&path, "written during a run", || whole(&[]));
        bench.is_refused(&path, "written during a run", || whole(&["--dry-run"]));
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn parts_of_sectors_are_ours_as_long_as_only_we_write() {
    let bench = Bench::new();
    let path = bench.path("file");
    let odd = ["--rw", "randwrite", "--bsrange", "1-9000", "--bs-unaligned", "1", "--blockalign", "7", "--direct", "0"];
    for more in [&odd[..], &odd, &["--io-size", "64k"], &PATTERN, &odd, &["--io-size", "4k", "--direct", "1"]] {
        bench.fio(&path, more).expect_code(0);
        bench.fio(&path, &["--dry-run"]).expect_code(0);
    }
    write_at(&path, b"precious", 2 * MIB + 100);
    bench.is_refused(&path, "a later write", || bench.fio(&path, &odd));
}

#[test]
fn where_times_are_whole_seconds_a_write_of_the_same_second_is_seen() {
    if !require_root_or_skip() {
        return;
    }
    if !FileSystem::Ext4.is_available() {
        testkit::lacks("ext4");
        return;
    }
    let bench = Bench::new();
    let device = LoopDevice::new(32 * MIB).unwrap();
    tool("mkfs.ext4", &["-q", "-F", "-I", "128", device.path().to_str().unwrap()]);
    let mounted = MountedFileSystem::device(device.path()).unwrap();
    let odd = ["--rw", "randwrite", "--bsrange", "1-9000", "--bs-unaligned", "1", "--blockalign", "7", "--direct", "0"];
    let loads: [&[&str]; 5] = [&[], &PATTERN, &odd, &["--rw", "trimwrite"], &["--rw", "randtrim"]];
    for (index, more) in loads.into_iter().enumerate() {
        let path = mounted.path().join(format!("file{index}"));
        for _ in 0..3 {
            bench.fio(&path, more).expect_code(0);
        }
        write_at(&path, b"precious", 2 * MIB + 100);
        bench.is_refused(&path, "in the same second", || bench.fio(&path, more));
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_copy_is_judged_by_its_content() {
    let bench = Bench::new();
    let (path, copy) = (bench.path("file"), bench.path("copy"));
    let (from, to) = (path.to_str().unwrap(), copy.to_str().unwrap());
    bench.fio(&path, &PATTERN).expect_code(0);
    tool("cp", &["-a", from, to]);
    bench.fio(&copy, &PATTERN).expect_code(0);
    // With foreign bytes in it: recognised by its time, and without that by its content.
    for keeps_time in [false, true] {
        tool("cp", &["-a", from, to]);
        write_at(&copy, b"precious", 2 * MIB);
        if keeps_time {
            tool("touch", &["-r", from, to]);
        }
        bench.is_refused(&copy, "a copy that was written to", || bench.fio(&copy, &PATTERN));
    }
    // A copy without the attribute is just a file.
    tool("rm", &[to]);
    tool("cp", &["--no-preserve=xattr", from, to]);
    bench.is_refused(&copy, "a copy without the mark", || bench.fio(&copy, &PATTERN));
}

#[test]
fn a_run_that_was_killed_is_repeated_and_what_came_after_it_is_not_lost() {
    let bench = Bench::new();
    let path = bench.path("file");
    let slow = ["--rate-iops", "200", "--time-based", "--runtime", "60s", "--buffer-pattern", "0xdeadbeef"];
    for _ in 0..2 {
        let running = bench.command(&path, &slow).arg("--json").spawn();
        let mut running = running.unwrap();
        assert!(running.wait_for_stdout("\"phase\":\"measure\"", Duration::from_secs(60)), "it never wrote");
        running.signal(rustix::process::Signal::KILL);
        running.wait().unwrap();
        // The file has sectors of both kinds, and the next run knows them.
        bench.fio(&path, &["--io-size", "64k", "--buffer-pattern", "0xdeadbeef"]).expect_code(0);
    }
    let mut running = bench.command(&path, &slow).arg("--json").spawn().unwrap();
    assert!(running.wait_for_stdout("\"phase\":\"measure\"", Duration::from_secs(60)));
    running.signal(rustix::process::Signal::KILL);
    running.wait().unwrap();
    write_at(&path, &[b'x'; 512], 2 * MIB);
    bench.is_refused(&path, "a sector in the middle", || bench.fio(&path, &PATTERN));
}

/// How many sectors of a file iodyno has written.
fn own_sectors(path: &Path) -> usize {
    let data = std::fs::read(path).unwrap();
    data.chunks(512).filter(|sector| sector.starts_with(b"iodyno\0\x01")).count()
}

/// For the file system a part that was allocated and read is written; the mark says how far a fill came.
#[test]
fn a_fill_that_was_interrupted_or_killed_is_finished_by_the_next_run() {
    use rustix::process::Signal;
    let bench = Bench::new();
    let read = ["run", "--name", "a", "--size", "512m", "--rw", "randread", "--bs", "64k", "--number-ios", "9"];
    for (name, signal) in [("interrupted", Signal::INT), ("killed", Signal::KILL)] {
        let path = bench.path(name);
        let run = || bench.iodyno(&read).args(["--filename", path.to_str().unwrap()]);
        let running = run().spawn().unwrap();
        let begins = || std::fs::metadata(&path).is_ok_and(|metadata| metadata.blocks() > 0);
        assert!(
            (0..30_000).any(|_| begins() || {
                std::thread::sleep(Duration::from_millis(2));
                false
            }),
            "{name}"
        );
        running.signal(signal);
        running.wait().unwrap();
        let before = own_sectors(&path);
        assert!(before < 1 << 20, "{name}: it was too fast");
        let output = run().run().unwrap().expect_code(0);
        assert!(output.stdout.contains("format"), "{name}: {}", output.stdout);
        assert_eq!(own_sectors(&path), 1 << 20, "{name}");
        let output = run().run().unwrap().expect_code(0);
        assert!(!output.stdout.contains("format"), "{name}: {}", output.stdout);
    }
}

/// Holes that a load of ours trimmed are read as they are.
#[test]
fn what_a_run_trims_is_not_filled_again() {
    let bench = Bench::new();
    let path = bench.path("file");
    bench.fio(&path, &[]).expect_code(0);
    let name = path.to_str().unwrap();
    let job = ["run", "--name", "a", "--filename", name, "--size", "4m", "--bs", "64k", "--number-ios", "32"];
    bench.iodyno(&job).args(["--rw", "trim"]).run().unwrap().expect_code(0);
    let left = own_sectors(&path);
    assert!(left < 8192, "nothing was trimmed");
    let output = bench.iodyno(&job).args(["--rw", "randread"]).run().unwrap().expect_code(0);
    assert!(!output.stdout.contains("format"), "{}", output.stdout);
    assert_eq!(own_sectors(&path), left);
}

/// `offset=` and `range=` say where the load goes; what is made is filled from one end to the other.
#[test]
fn a_file_with_an_offset_or_a_range_is_filled_whole() {
    let bench = Bench::new();
    for (index, (size, how)) in [
        ("4m", "offset=64k"),
        ("6m", "offset=64k"),
        ("6m", "range=(10,50)"),
        ("6m", "offset=64k"),
        ("7m", "range=(0,1m)"),
    ]
    .into_iter()
    .enumerate()
    {
        for (format, rdpct) in [("", 100), ("", 0), ("yes", 0)] {
            let path = bench.path(if index < 3 { "first" } else { "second" });
            let settings = if format.is_empty() { String::new() } else { format!("formatsds={format}\n") };
            let text = format!(
                "{settings}sd=sd1,lun={},size={size},{how}\nwd=wd1,sd=sd1,xfersize=4k,rdpct={rdpct}\n\
                 rd=rd1,wd=wd1,iorate=500,elapsed=1,interval=0.5\n",
                path.display()
            );
            let file = bench.scratch.write("offset.vdb", &text);
            bench.iodyno(&["run", file.to_str().unwrap()]).run().unwrap().expect_code(0);
            assert_eq!(own_sectors(&path) as u64, path.metadata().unwrap().len() / 512, "{text}");
        }
    }
}

#[test]
fn a_run_that_is_killed_while_it_makes_its_file_leaves_none_that_the_next_refuses() {
    let bench = Bench::new();
    // A file limit ends it where the file gets its size.
    let path = bench.path("limited");
    let iodyno = env!("CARGO_BIN_EXE_iodyno");
    let arguments =
        ["--name", "a", "--filename", path.to_str().unwrap(), "--size", "4m", "--rw", "write", "--bs", "64k"];
    let output = TestCommand::new("prlimit")
        .args(["--fsize=1048576", "--core=0", iodyno, "run"])
        .args(arguments)
        .args(["-o", "limited.iodyno", "--no-report"])
        .dir(bench.path(""))
        .run()
        .unwrap();
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(output.stderr.contains("File too large"), "{}", output.stderr);
    bench.fio(&path, &[]).expect_code(0);
    // At each system call that makes it.
    if TestCommand::new("strace").arg("--version").run().is_err() {
        testkit::lacks("strace");
        return;
    }
    for call in ["fsetxattr", "fallocate", "linkat", "fstatfs,statfs"] {
        let path = bench.path(&format!("killed-{call}"));
        let inject = format!("inject={call}:signal=KILL:when=1");
        TestCommand::new("strace")
            .args(["-f", "-qq", "-o", "/dev/null", "-e", &inject, iodyno, "run", "--name", "a"])
            .args(["--filename", path.to_str().unwrap(), "--size", "4m", "--rw", "write", "--bs", "64k"])
            .args(["-o", &format!("{call}.iodyno"), "--no-report"])
            .dir(bench.path(""))
            .env("IODYNO_STATE_DIR", bench.path("state"))
            .run()
            .unwrap();
        bench.fio(&path, &[]).expect_code(0);
    }
}

#[test]
fn a_pattern_that_cannot_be_remembered_wants_destroy() {
    let bench = Bench::new();
    let path = bench.path("file");
    let nowhere = |more: &[&str]| bench.command(&path, more).env("IODYNO_STATE_DIR", "/proc/nowhere").run().unwrap();
    let output = nowhere(&PATTERN).expect_code(0);
    let text = format!("{}{}", output.stdout, output.stderr);
    assert!(text.contains("not remembered") && text.contains("--destroy"), "{text}");
    bench.is_refused(&path, "an unknown pattern", || nowhere(&PATTERN));
    bench.fio(&path, &["--destroy", path.to_str().unwrap(), PATTERN[0], PATTERN[1]]).expect_code(0);
    bench.fio(&path, &PATTERN).expect_code(0);
}

#[test]
fn one_file_under_two_names_in_a_plan() {
    let bench = Bench::new();
    let path = bench.path("file");
    let job = format!(
        "[global]\nfilename={}\nsize=4m\nbs=64k\n[a]\nrw=write\nbuffer_pattern=0xdeadbeef\n[b]\nstonewall\nrw=randwrite\n",
        path.display()
    );
    let file = bench.scratch.write("two.fio", &job);
    let text = format!(
        "sd=sd1,lun={0},size=4m\nsd=sd2,lun={0},size=4m\nwd=wd1,sd=sd*,xfersize=64k,seekpct=eof,rdpct=0\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=0.5\n",
        path.display()
    );
    let vdbench = bench.scratch.write("two.vdb", &text);
    for _ in 0..2 {
        for file in [&file, &vdbench] {
            bench.iodyno(&["run", file.to_str().unwrap()]).run().unwrap().expect_code(0);
        }
    }
    write_at(&path, b"precious", 2 * MIB);
    bench.is_refused(&path, "two names", || bench.iodyno(&["run", vdbench.to_str().unwrap()]).run().unwrap());
}

#[test]
fn on_every_file_system() {
    if !require_root_or_skip() {
        return;
    }
    let bench = Bench::new();
    let mut mounts: Vec<(String, Option<LoopDevice>, MountedFileSystem)> = Vec::new();
    for file_system in FileSystem::ALL {
        if file_system.is_available() || !testkit::lacks(file_system.name()) {
            let device = LoopDevice::new(file_system.min_bytes()).unwrap();
            let mounted = MountedFileSystem::make(file_system, device.path()).unwrap();
            mounts.push((file_system.name().to_string(), Some(device), mounted));
        }
    }
    mounts.push(("tmpfs".to_string(), None, MountedFileSystem::tmpfs(16 * MIB).unwrap()));
    // ext3's inodes have whole seconds and no time of birth.
    if FileSystem::Ext4.is_available() {
        let device = LoopDevice::new(16 * MIB).unwrap();
        tool("mkfs.ext4", &["-q", "-F", "-I", "128", device.path().to_str().unwrap()]);
        let mounted = MountedFileSystem::device(device.path()).unwrap();
        mounts.push(("small inodes".to_string(), Some(device), mounted));
    }
    for (name, device, mounted) in mounts {
        let path = mounted.path().join("file");
        for _ in 0..2 {
            bench.fio(&path, &PATTERN).expect_code(0);
        }
        if let Some(device) = device {
            drop(mounted);
            let mounted = MountedFileSystem::device(device.path()).unwrap();
            let path = mounted.path().join("file");
            bench.fio(&path, &PATTERN).expect_code(0);
            write_at(&path, b"precious", 4 * MIB);
            bench.is_refused(&path, &name, || bench.fio(&path, &PATTERN));
        } else {
            write_at(&path, b"precious", 4 * MIB);
            bench.is_refused(&path, &name, || bench.fio(&path, &PATTERN));
        }
    }
}

#[test]
fn a_lease_of_another_program_is_reported_and_not_waited_out() {
    let bench = Bench::new();
    let path = bench.path("file");
    bench.fio(&path, &[]).expect_code(0);
    // It holds on to its lease when it is asked to give it back.
    let script = "import fcntl,signal,sys,time\nsignal.signal(signal.SIGIO, signal.SIG_IGN)\n\
                  file = open(sys.argv[1], 'r+b')\nfcntl.fcntl(file, 1024, fcntl.F_WRLCK)\nprint('held', flush=True)\n\
                  time.sleep(60)\n";
    let Ok(mut holder) = TestCommand::new("python3").args(["-c", script, path.to_str().unwrap()]).spawn() else {
        testkit::lacks("python3");
        return;
    };
    assert!(holder.wait_for_stdout("held", Duration::from_secs(60)), "{}", holder.stderr());
    let output = bench.command(&path, &[]).limit(Duration::from_secs(120)).run().unwrap().expect_code(REFUSED);
    assert!(output.stderr.contains("lease") && output.stderr.contains("pid "), "{}", output.stderr);
    holder.signal(rustix::process::Signal::KILL);
    holder.wait().unwrap();
    bench.fio(&path, &[]).expect_code(0);
}
