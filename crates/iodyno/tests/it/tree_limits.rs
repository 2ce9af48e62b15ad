//! Limits of file systems under a file-system workload: quotas, loops of links, long names, and file systems that stop.

use crate::support::{Scratch, sum};
use rustix::process::Signal;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{FileSystem, LoopDevice, MountedFileSystem, TestCommand};

fn tool(program: &str, arguments: &[&str]) -> bool {
    TestCommand::new(program).args(arguments).run().is_ok_and(|output| output.code == Some(0))
}

/// A parameter file of one run on a tree.
fn text(anchor: &Path, (shape, work, run): (&str, &str, &str)) -> String {
    format!(
        "data_errors=1000000\nfsd=fsd1,anchor={},{shape}\nfwd=fwd1,fsd=fsd1,{work}\nrd=rd1,fwd=fwd1,{run},interval=1\n",
        anchor.display()
    )
}

/// The only quota of a kernel without the others'.
#[test]
fn a_quota_that_is_full_is_said_and_counted() {
    if !testkit::require_root_or_skip() {
        return;
    }
    if !FileSystem::Btrfs.is_available() || !tool("btrfs", &["--version"]) {
        testkit::lacks("btrfs, for its quotas");
        return;
    }
    let (scratch, device) = (Scratch::new(), LoopDevice::new(256 << 20).unwrap());
    let mount = MountedFileSystem::make(FileSystem::Btrfs, device.path()).unwrap();
    let (top, part) = (mount.path().to_str().unwrap().to_string(), mount.path().join("part"));
    let part_text = part.to_str().unwrap();
    let is_limited = tool("btrfs", &["quota", "enable", &top])
        && tool("btrfs", &["subvolume", "create", part_text])
        && tool("btrfs", &["qgroup", "limit", "4m", part_text]);
    if !is_limited {
        testkit::lacks("quotas of btrfs");
        return;
    }
    let load = ("depth=1,width=1,files=40,size=256k", "operation=read", "fwdrate=50,format=yes,elapsed=2");
    let output = scratch.run("out", &text(&part.join("tree"), load), &[]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(output.stderr.to_lowercase().contains("quota exceeded"), "{}", output.stderr);
    let totals = scratch.table("out", "run_total");
    assert!(sum(&totals, "errors", |row| row["phase"] == "format") > 0, "{totals:?}");
    assert!(sum(&totals, "ops", |row| row["phase"] == "format" && row["op"] == "write") > 0, "{totals:?}");
}

/// Links that lead to themselves, in place of a directory and of a file: what goes there fails, all else goes on until its time.
#[test]
fn a_loop_of_links_in_place_of_a_directory_or_file_is_counted_and_the_rest_goes_on() {
    let scratch = Scratch::new();
    let anchor = scratch.path("tree");
    let load = (
        "depth=1,width=3,files=10,size=4k",
        "xfersize=4k,fileselect=random,threads=3",
        "fwdrate=400,operations=(read,write,getattr,access,open),format=yes,elapsed=8",
    );
    let file = scratch.write("a.vdb", &text(&anchor, load));
    let mut child = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "out", "--json"]).spawn().unwrap();
    assert!(child.wait_until(Duration::from_secs(120), |out| out.contains("\"run\":\"rd1\"")));
    let directory = anchor.join("vdb.1_1.dir");
    std::fs::rename(&directory, scratch.path("moved")).unwrap();
    symlink("vdb.1_1.dir", &directory).unwrap();
    let one = anchor.join("vdb.1_2.dir/vdb_f0001.file");
    std::fs::remove_file(&one).unwrap();
    symlink("vdb_f0001.file", &one).unwrap();
    let output = child.wait().unwrap();
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(output.stderr.contains("levels of symbolic links"), "{}", output.stderr);
    let totals = scratch.table("out", "run_total");
    for op in ["read", "write", "open"] {
        assert!(sum(&totals, "errors", |row| row["op"] == op && row["run"] == "rd1") > 0, "{op}: {totals:?}");
        assert!(sum(&totals, "ops", |row| row["op"] == op && row["run"] == "rd1") > 0, "{op}: {totals:?}");
    }
    assert!(directory.is_symlink() && one.is_symlink(), "nothing took the links away");
}

/// All kinds of operations, where the anchor's own name is as long as a name can be, where the paths of files are longer than a path can
/// be, and where the tree itself is as deep as the language permits.
#[test]
fn names_of_255_bytes_and_paths_longer_than_a_path_work() {
    let scratch = Scratch::new();
    let small = "depth=2,width=2,files=3,size=4k";
    let long = scratch.path(&"n".repeat(255));
    let mut deep = scratch.path("deep");
    while deep.as_os_str().len() + 256 < 4060 {
        deep.push("d".repeat(200));
    }
    deep.push("e".repeat(4060 - deep.as_os_str().len() - 1));
    for (name, anchor, shape) in [
        ("long", long, small),
        ("deep", deep, small),
        ("levels", scratch.path("levels"), "depth=298,width=1,files=3,size=4k"),
    ] {
        std::fs::create_dir_all(&anchor).unwrap();
        for (part, operations) in [("all", "(read,write,getattr,setattr,access,open)"), ("gone", "(delete,create)")] {
            let run = format!("fwdrate=300,operations={operations},format=yes,elapsed=600,maxops=300");
            let load = (shape, "xfersize=4k,threads=2", run.as_str());
            let name = format!("{name}-{part}");
            scratch.run(&name, &text(&anchor, load), &[]).expect_code(0);
            let totals = scratch.table(&name, "run_total");
            assert_eq!(sum(&totals, "errors", |_| true), 0, "{name}: {totals:?}");
            let done = sum(&totals, "ops", |row| row["run"] == "rd1");
            assert_eq!(done, 300, "{name}");
        }
    }
    let too_deep = ("depth=300,width=1,files=3,size=4k", "operation=read", "fwdrate=9,format=yes,elapsed=2");
    let output = scratch.run("too-deep", &text(&scratch.path("too-deep"), too_deep), &[]);
    assert!(output.code == Some(2) && output.stderr.contains("4095 bytes"), "{}", output.stderr);
    let far = PathBuf::from("/").join("x/".repeat(2500));
    let output = scratch.run("far", &text(&far, (small, "operation=read", "fwdrate=9,format=yes,elapsed=2")), &[]);
    assert!(output.code == Some(2) && output.stderr.contains("bytes"), "{}", output.stderr);
    let name = scratch.path(&"n".repeat(256));
    let output = scratch.run("name", &text(&name, (small, "operation=read", "fwdrate=9,format=yes,elapsed=2")), &[]);
    assert!(output.code != Some(0) && output.stderr.contains("File name too long"), "{}", output.stderr);
}

/// As a disk with errors does it: the kernel makes the file system read-only under the load.
#[test]
fn a_file_system_that_becomes_read_only_counts_failures_and_ends() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let (scratch, device) = (Scratch::new(), LoopDevice::new(64 << 20).unwrap());
    if !FileSystem::Ext4.is_available() {
        testkit::lacks("ext4");
        return;
    }
    FileSystem::Ext4.make(device.path()).unwrap();
    let mount = MountedFileSystem::mount(&["-o", "errors=remount-ro", device.path().to_str().unwrap()]).unwrap();
    let trigger = Path::new("/sys/fs/ext4").join(device.name()).join("trigger_fs_error");
    if !trigger.exists() {
        testkit::lacks("the trigger of errors of ext4");
        return;
    }
    let shape = "depth=1,width=2,files=10,size=16k";
    let load = (shape, "operation=write,xfersize=4k,threads=2", "fwdrate=300,format=yes,elapsed=60");
    let text = text(&mount.path().join("tree"), load).replace("data_errors=1000000", "data_errors=20");
    let file = scratch.write("a.vdb", &text);
    let mut child = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "out", "--json"]).spawn().unwrap();
    assert!(child.wait_until(Duration::from_secs(120), |out| out.contains("\"run\":\"rd1\"")));
    std::fs::write(trigger, "iodyno's test").unwrap();
    let output = child.wait().unwrap();
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(output.stderr.contains("Read-only file system"), "{}", output.stderr);
    let totals = scratch.table("out", "run_total");
    assert!(sum(&totals, "errors", |row| row["run"] == "rd1") > 20, "{totals:?}");
}

/// Thaws a file system, also when a test fails: nothing else could be ended.
struct Frozen(PathBuf);

impl Drop for Frozen {
    fn drop(&mut self) {
        tool("fsfreeze", &["-u", self.0.to_str().unwrap()]);
    }
}

#[test]
fn ctrl_c_on_a_frozen_file_system_says_what_it_waits_for() {
    for way in ["sync", "io_uring"] {
        // The process ends a second behind the second Ctrl-C, which without a processor is too short to seal a recording.
        let is_sealed = (0..6).any(|_| interrupt_on_a_frozen_file_system(way));
        assert!(is_sealed, "{way}: never sealed");
    }
}

/// Was the recording sealed? If not, it was said that the command ended at once, and what was recorded can be read.
fn interrupt_on_a_frozen_file_system(way: &str) -> bool {
    if !testkit::require_root_or_skip() {
        return true;
    }
    if !FileSystem::Ext4.is_available() || TestCommand::new("fsfreeze").arg("--version").run().is_err() {
        testkit::lacks("ext4 or fsfreeze");
        return true;
    }
    let (scratch, device) = (Scratch::new(), LoopDevice::new(64 << 20).unwrap());
    let mount = MountedFileSystem::make(FileSystem::Ext4, device.path()).unwrap();
    let shape = "depth=1,width=2,files=10,size=16k";
    let load = (shape, "operation=write,xfersize=4k,threads=2", "fwdrate=300,format=yes,elapsed=100");
    let file = scratch.write("a.vdb", &text(&mount.path().join("tree"), load));
    let arguments = ["run", file.to_str().unwrap(), "-o", "out", "--json", "--engine", way];
    let mut child = scratch.iodyno(&arguments).spawn().unwrap();
    assert!(child.wait_until(Duration::from_secs(120), |out| out.contains("\"run\":\"rd1\"")));
    let place = mount.path().to_path_buf();
    if !tool("fsfreeze", &["-f", place.to_str().unwrap()]) {
        child.signal(Signal::INT);
        child.wait().unwrap();
        testkit::lacks("a file system that can be frozen");
        return true;
    }
    let frozen = Frozen(place);
    // Both threads are in a write by then.
    std::thread::sleep(Duration::from_millis(500));
    child.signal(Signal::INT);
    let until_ns = testkit::now_ns() + 120_000_000_000;
    while !child.stderr().contains("cannot be interrupted") && testkit::now_ns() < until_ns {
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = child.stderr();
    // A second one gives up what hangs, and the recording is sealed although its threads cannot be ended.
    child.signal(Signal::INT);
    let journal = scratch.path("out/journal");
    let mut is_over = || child.stderr().contains("asked twice to stop: ended at once");
    while journal.exists() && !is_over() && testkit::now_ns() < until_ns {
        std::thread::sleep(Duration::from_millis(20));
    }
    let is_sealed = !journal.exists();
    drop(frozen);
    let output = child.wait().unwrap();
    assert!(said.contains("waits for") && said.contains("cannot be interrupted"), "{said}");
    assert_eq!(output.code, Some(130), "{}", output.stderr);
    if !is_sealed {
        assert!(output.stderr.contains("what was recorded so far is kept and can be read"), "{way}: {}", output.stderr);
        let rows = scratch.iodyno(&["export", "out", "op_interval", "--json"]).run().unwrap().expect_code(0);
        assert!(rows.stdout.contains("rd1"), "{way}: {}", rows.stdout);
    }
    is_sealed
}
