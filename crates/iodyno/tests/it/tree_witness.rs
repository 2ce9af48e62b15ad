//! What is counted as done is what the kernel was asked for: strace as a witness, on every file system that is here.

use crate::support::{Scratch, sum};
use std::path::Path;
use testkit::{FileSystem, LoopDevice, MountedFileSystem, TestCommand};

/// Runs: how the tree is made, the operations, all at a time.
const RUNS: [(&str, &[&str]); 2] =
    [("only", &["getattr", "setattr", "access", "read", "write"]), ("(directories,only)", &["create", "delete"])];

/// An operation, the system calls that do it, what a line of strace has besides, and what it may not have.
const KINDS: [(&str, &[&str], &str, &str); 7] = [
    // Whose file it is that was opened for writing, `statx` asks.
    ("getattr", &["newfstatat("], "\"vdb_f", "+++"),
    ("setattr", &["utimensat("], "vdb_f", "+++"),
    ("access", &["faccessat(", "faccessat2("], "\"vdb_f", "+++"),
    ("create", &["openat(", "openat2("], "\"vdb_f", "+++"),
    ("delete", &["unlinkat("], "vdb_f", "AT_REMOVEDIR"),
    ("read", &["pread64("], ".file>, ", "+++"),
    ("write", &["pwrite64("], ".file>, ", "+++"),
];

#[test]
fn operations_are_those_that_the_kernel_was_asked_for() {
    if TestCommand::new("strace").arg("--version").run().is_err() {
        testkit::lacks("strace");
        return;
    }
    let scratch = Scratch::new();
    let mut mounts = Vec::new();
    if testkit::require_root_or_skip() {
        mounts.push(("tmpfs", MountedFileSystem::tmpfs(64 << 20).unwrap(), None));
        for kind in FileSystem::ALL.into_iter().filter(|kind| kind.is_available()) {
            let device = LoopDevice::new(kind.min_bytes()).unwrap();
            mounts.push((kind.name(), MountedFileSystem::make(kind, device.path()).unwrap(), Some(device)));
        }
    }
    // A file system of a program, which sees more calls than it is asked for: those of the load are looked at.
    let below = scratch.path("below");
    std::fs::create_dir_all(&below).unwrap();
    match MountedFileSystem::mount(&["-t", "fuse.bindfs", below.to_str().unwrap()]) {
        Ok(mount) => mounts.push(("fuse", mount, None)),
        Err(_) => drop(testkit::lacks("bindfs and FUSE")),
    }
    count_on(&scratch, "scratch", &scratch.path("here"));
    for (name, mount, _) in &mounts {
        count_on(&scratch, name, &mount.path().join("here"));
    }
}

/// Operations in a tree below `place`: of each kind as many calls as operations were counted, failures included.
fn count_on(scratch: &Scratch, file_system: &str, place: &Path) {
    std::fs::create_dir_all(place).unwrap();
    for (format, ops) in RUNS {
        let name = format!("{file_system}-{}", ops[0]);
        let anchor = place.join(ops[0]);
        let text = |format: &str| {
            format!(
                "fsd=fsd1,anchor={},depth=1,width=2,files=150,size=4k\nfwd=fwd1,fsd=fsd1,xfersize=4k,threads=8\n\
                 rd=rd1,fwd=fwd1,fwdrate={},operations=({}),format={format},elapsed=10,maxops={},interval=1\n",
                anchor.display(),
                50 * ops.len(),
                ops.join(","),
                80 * ops.len()
            )
        };
        scratch.run(&format!("{name}-made"), &text(format), &[]).expect_code(0);
        let log = scratch.path(&format!("{name}.strace"));
        let parameters = scratch.write(&format!("{name}.vdb"), &text("no"));
        let calls: Vec<String> = KINDS.iter().flat_map(|kind| kind.1).map(|call| call.replace('(', "")).collect();
        let traced = TestCommand::new("strace").args(["-f", "-qq", "-y", "-e", &format!("trace={}", calls.join(","))]);
        let command = traced.args(["-e", "signal=none", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_iodyno"));
        let command = command.args(["run", parameters.to_str().unwrap(), "-o", &name, "--json"]).dir(scratch.path(""));
        command.run().unwrap().expect_code(0);
        let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
        let totals = scratch.table(&name, "run_total");
        for (op, calls, has, lacks) in KINDS.into_iter().filter(|kind| ops.contains(&kind.0)) {
            let counted = sum(&totals, "ops", |row| row["op"] == op) + sum(&totals, "errors", |row| row["op"] == op);
            assert!(counted >= 30, "{file_system}: {op}: {counted}");
            let seen = seen_in(&text, calls, (has, lacks));
            assert_eq!(seen, counted, "{file_system}: {op}: calls that strace saw, and operations counted");
        }
    }
}

/// Calls in a log of strace but for those of the first thread, which looks at the tree before the load; those that were interrupted by
/// another thread's stand in two lines.
fn seen_in(text: &str, calls: &[&str], (has, lacks): (&str, &str)) -> i64 {
    let mut unfinished = std::collections::BTreeMap::new();
    let mut seen = 0;
    let first = text.split(' ').next().unwrap_or_default();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ').filter(|(thread, _)| *thread != first) else { continue };
        let whole = match call.trim().split_once("<unfinished ...>") {
            Some((begin, _)) => {
                unfinished.insert(thread.to_string(), begin.to_string());
                continue;
            }
            None => match call.split_once("resumed>") {
                Some((_, end)) => unfinished.remove(thread).unwrap_or_default() + end,
                None => call.to_string(),
            },
        };
        let is_one = calls.iter().any(|call| whole.trim_start().starts_with(call));
        seen += i64::from(is_one && whole.contains(has) && !whole.contains(lacks));
    }
    seen
}
