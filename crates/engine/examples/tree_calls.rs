//! A loop of plain system calls over a tree of files: what the machine itself allows to a load of such operations.
//!
//! `tree_calls DIR OPERATION FILES SECONDS [RATE]` prints the operations, the CPU time and the wall time as JSON. DIR is an empty directory of
//! this program's own; what it makes there it removes. OPERATION: getattr, access, open, setattr, getxattr, create, delete, rename.
//! With a rate, each call sleeps until it is due, so many of them per second.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench that is read by people")]

use plan::TreeShape;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::os::fd::{AsFd as _, BorrowedFd};
use tree::TreeLayout;

/// CPU time of this process, ns.
fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}

const READ_ONLY: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// One operation; `whole` is its path from the root, for calls that know no directory.
fn call(operation: &str, whole: &[u8], at: BorrowedFd<'_>, name: &[u8], other: &mut Vec<u8>) {
    match operation {
        "getattr" => drop(rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW).unwrap()),
        "access" => rustix::fs::accessat(at, name, rustix::fs::Access::READ_OK, AtFlags::empty()).unwrap(),
        "open" => drop(rustix::fs::openat(at, name, READ_ONLY, Mode::empty()).unwrap()),
        "setattr" => {
            let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
            let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
            rustix::fs::utimensat(at, name, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        }
        "getxattr" => drop(rustix::fs::lgetxattr(whole, "user.iodyno", &mut [0_u8; 64]).unwrap()),
        "create" => drop(rustix::fs::openat(at, name, NEW, Mode::from_raw_mode(0o644)).unwrap()),
        "delete" => rustix::fs::unlinkat(at, name, AtFlags::empty()).unwrap(),
        "rename" => {
            other.clear();
            other.extend_from_slice(name);
            other.push(b'x');
            rustix::fs::renameat(at, name, at, other.as_slice()).unwrap();
            rustix::fs::renameat(at, other.as_slice(), at, name).unwrap();
        }
        unknown => panic!("unknown operation {unknown}"),
    }
}

/// Due times of calls.
struct Pace {
    gap_ns: f64,
    began_ns: u64,
    calls: u64,
}

impl Pace {
    fn new(rate: f64) -> Self {
        // As the workers of the engine: a sleep ends when it should.
        rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)).unwrap();
        Self { gap_ns: 1e9 / rate, began_ns: 0, calls: 0 }
    }

    /// Sleeps until the next call is due; false: that is behind the end.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time of some seconds")]
    fn wait(&mut self, end_ns: u64) -> bool {
        if self.calls == 0 {
            self.began_ns = quantity::clock::now_ns();
        }
        let due_ns = self.began_ns + (self.calls as f64 * self.gap_ns) as u64;
        self.calls += 1;
        quantity::clock::sleep_until(due_ns.min(end_ns)) && due_ns < end_ns
    }
}

/// Gives each file the attribute that is asked for.
fn mark(layout: &TreeLayout, directory: &[u8]) {
    let mut path = Vec::new();
    for file in 0..layout.files() {
        layout.file_path(file, &mut path);
        let name = [directory, &path].concat();
        rustix::fs::lsetxattr(name, "user.iodyno", &[7; 32], rustix::fs::XattrFlags::empty()).unwrap();
    }
}

/// Makes all files, or removes them.
fn everything(at: BorrowedFd<'_>, layout: &TreeLayout, path: &mut Vec<u8>, makes: bool) {
    for file in 0..layout.files() {
        layout.file_path(file, path);
        if makes {
            let file = rustix::fs::openat(at, path.as_slice(), NEW, Mode::from_raw_mode(0o644)).unwrap();
            // As large as those of the others: a file with data is dearer to delete.
            rustix::io::write(&file, &[7; 512]).unwrap();
        } else {
            rustix::fs::unlinkat(at, path.as_slice(), AtFlags::empty()).unwrap();
        }
    }
}

/// Removes the directories.
fn unmake(at: BorrowedFd<'_>, layout: &TreeLayout) {
    let mut path = Vec::new();
    for number in 0..layout.directories() {
        layout.directory_path(number, &mut path);
        rustix::fs::unlinkat(at, path.as_slice(), AtFlags::REMOVEDIR).unwrap();
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of seconds")]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [directory, operation, files, seconds, rate @ ..] = words.as_slice() else {
        panic!("tree_calls DIR OPERATION FILES SECONDS [RATE]");
    };
    let mut pace = rate.first().map(|rate| Pace::new(rate.parse().unwrap()));
    let (files, seconds): (u64, f64) = (files.parse().unwrap(), seconds.parse().unwrap());
    let shape = TreeShape::regular(1, 100, files / 100, 0);
    let layout = TreeLayout::new(&shape).unwrap();
    let anchor =
        rustix::fs::openat(CWD, directory.as_str(), OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
    let (at, mut path) = (anchor.as_fd(), Vec::new());
    for number in 0..layout.directories() {
        layout.directory_path(number, &mut path);
        rustix::fs::mkdirat(at, path.as_slice(), Mode::from_raw_mode(0o755)).unwrap();
    }
    let (mut done, mut cpu, mut wall) = (0_u64, 0, 0);
    let is_of_existing = !["create", "delete"].contains(&operation.as_str());
    if is_of_existing {
        everything(at, &layout, &mut path, true);
    }
    let is_by_path = operation == "getxattr";
    let (mut other, mut whole) = (Vec::new(), format!("{directory}/").into_bytes());
    if is_by_path {
        mark(&layout, &whole);
    }
    while (wall as f64) < seconds * 1e9 {
        if operation == "delete" {
            everything(at, &layout, &mut path, true);
        }
        let before = (cpu_ns(), quantity::clock::now_ns());
        let end_ns = before.1 + ((seconds * 1e9) as u64).saturating_sub(wall);
        let mut calls = 0_u64;
        for file in 0..layout.files() {
            if pace.as_mut().is_some_and(|pace| !pace.wait(end_ns)) {
                break;
            }
            calls += 1;
            layout.file_path(file, &mut path);
            whole.truncate(directory.len() + 1);
            if is_by_path {
                whole.extend_from_slice(&path);
            }
            call(operation, &whole, at, &path, &mut other);
        }
        // A rename goes there and back.
        done += calls * if operation == "rename" { 2 } else { 1 };
        (cpu, wall) = (cpu + cpu_ns() - before.0, wall + quantity::clock::now_ns() - before.1);
        if operation == "create" {
            everything(at, &layout, &mut path, false);
        }
    }
    if is_of_existing {
        everything(at, &layout, &mut path, false);
    }
    unmake(at, &layout);
    println!("{{\"op\":\"{operation}\",\"ops\":{done},\"cpu_ns\":{cpu},\"wall_ns\":{wall}}}");
}
