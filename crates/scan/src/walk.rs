//! Reads a tree of directories: depth first, bounded memory and files open, whatever the tree.

use crate::links::HardLinks;
use crate::measured::keep;
use crate::pool::{DirectoryFacts, OpenDirectory, Pool};
use crate::{Measured, ScanError};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Statx, StatxFlags, openat, statx};
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use tree::CONTROL_FILE;

/// Directories above the one that is read that stay open, for each thread. Further ones are read to their end and closed, and
/// opened again as `..` of the one below.
const OPEN_MAX: usize = 64;
/// Names of subdirectories that are kept before they are entered, bytes.
const NAMES_MAX: usize = 64 << 10;
/// More threads wait for each other.
const THREADS_MAX: usize = 8;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct ScanRequest<'a> {
    /// The directory.
    pub path: &'a Path,
    /// Enter file systems that are mounted below it.
    pub cross_mounts: bool,
    /// Keep the names of the few entries that are shown.
    pub names: bool,
    /// Threads, at least 1; `None`: one for each processor, at most 8.
    pub threads: Option<usize>,
}

/// Measures a directory tree. Nothing is changed, no link is followed, no file is opened.
///
/// # Errors
/// When the directory itself cannot be opened. What cannot be read below it is counted.
pub fn scan(request: &ScanRequest<'_>) -> Result<Measured, ScanError> {
    let failed = |error: Errno| ScanError::Open { path: request.path.display().to_string(), error: error.into() };
    let mut first = Measured::default();
    let opened = open_directory(CWD, request.path.as_os_str().as_bytes(), &mut first.access_times);
    let fd = opened.map_err(|error| match request.path.symlink_metadata() {
        Ok(found) if found.is_symlink() => ScanError::Link(request.path.display().to_string()),
        _ => failed(error),
    })?;
    let facts = facts(&fd).map_err(failed)?;
    if let Some(level) = first.level(0) {
        level.directories = 1;
    }
    let pool = Pool::new(OpenDirectory { fd, facts, level: 0, path: Vec::new() });
    let links = HardLinks::default();
    let default = || std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let threads = request.threads.unwrap_or_else(default).max(1);
    let work = || {
        let mut walker = Walker { request, pool: &pool, links: &links, found: Measured::default() };
        while let Some(directory) = pool.take() {
            walker.walk(directory);
            pool.done();
        }
        walker.found
    };
    std::thread::scope(|scope| {
        let builder = |_| std::thread::Builder::new().name("scan".to_string()).spawn_scoped(scope, work);
        let others: Vec<_> = (1..threads).map(builder).collect::<Result<_, _>>().map_err(ScanError::Thread)?;
        first.merge(work());
        for other in others {
            match other.join() {
                Ok(found) => first.merge(found),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(first)
    })
}

/// Opens a directory, never through a link, so that reading it leaves its access time where that is permitted.
pub(crate) fn open_directory(above: impl AsFd, name: &[u8], access_times: &mut u64) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match openat(&above, name, flags | OFlags::NOATIME, Mode::empty()) {
        // Only the owner may.
        Err(Errno::PERM) => {
            let fd = openat(&above, name, flags, Mode::empty())?;
            *access_times += 1;
            Ok(fd)
        }
        other => other,
    }
}

pub(crate) fn facts_of(found: &Statx) -> DirectoryFacts {
    let has_mount = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
    DirectoryFacts {
        device: u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor),
        number: found.stx_ino,
        mount: has_mount.then_some(found.stx_mnt_id),
        changed: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
    }
}

pub(crate) fn facts(directory: impl AsFd) -> Result<DirectoryFacts, Errno> {
    let found = statx(directory, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)?;
    Ok(facts_of(&found))
}

/// Is it on another mount, or, where the kernel does not tell mounts, on another device?
pub(crate) fn is_elsewhere(one: &DirectoryFacts, other: &DirectoryFacts) -> bool {
    match (one.mount, other.mount) {
        (Some(one), Some(other)) => one != other,
        _ => one.device != other.device,
    }
}

/// A directory between its first and its last entry.
struct Frame {
    /// `None`: closed, because too many are open.
    directory: Option<Dir>,
    is_at_end: bool,
    facts: DirectoryFacts,
    level: usize,
    path: Vec<u8>,
    /// Names of subdirectories that are to be entered, each with a NUL behind it.
    names: Vec<u8>,
    /// Where the next of these begins.
    next: usize,
    subdirectories: u64,
    files: u64,
    entries: u64,
}

impl Frame {
    /// The next subdirectory that is known.
    fn next_name(&mut self) -> Option<Box<CStr>> {
        let name = CStr::from_bytes_until_nul(self.names.get(self.next..)?).ok()?;
        self.next += name.count_bytes() + 1;
        Some(name.into())
    }

    /// The path of an entry.
    fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let separator: &[u8] = if self.path.is_empty() { b"" } else { b"/" };
        [&self.path, separator, name].concat()
    }
}

/// One thread.
struct Walker<'a> {
    request: &'a ScanRequest<'a>,
    pool: &'a Pool,
    links: &'a HardLinks,
    found: Measured,
}

impl Walker<'_> {
    /// Reads a directory and all below it, but what other threads take.
    fn walk(&mut self, first: OpenDirectory) {
        let mut frames: Vec<Frame> = self.frame(first).into_iter().collect();
        while let Some(at) = frames.len().checked_sub(1) {
            let Some(frame) = frames.last_mut() else { return };
            let Some(name) = self.next_subdirectory(frame, at >= OPEN_MAX) else {
                self.leave(&mut frames);
                continue;
            };
            let Some(below) = self.enter(frame, &name) else { continue };
            if self.pool.wants_more() {
                self.pool.offer(below);
                continue;
            }
            let below = self.frame(below);
            if below.is_some() && at >= OPEN_MAX {
                frame.directory = None;
            }
            frames.extend(below);
        }
    }

    fn frame(&mut self, directory: OpenDirectory) -> Option<Frame> {
        let OpenDirectory { fd, facts, level, path } = directory;
        let directory = Dir::new(fd).map_err(|error| self.unread(level, error, || path.clone())).ok()?;
        let (names, next) = (Vec::new(), 0);
        let (subdirectories, files, entries, is_at_end) = (0, 0, 0, false);
        let directory = Some(directory);
        Some(Frame { directory, is_at_end, facts, level, path, names, next, subdirectories, files, entries })
    }

    /// Something could not be read; what is gone has changed.
    fn unread(&mut self, level: usize, error: Errno, path: impl FnOnce() -> Vec<u8>) {
        if matches!(error, Errno::NOENT | Errno::STALE) {
            self.found.changed += 1;
            return;
        }
        let name = self.request.names.then(path);
        self.found.add_unread(level, output::system_words(&error.into()), name);
    }

    /// The next subdirectory to enter; reads on where none is known. `None`: all are read, or the directory is lost.
    fn next_subdirectory(&mut self, frame: &mut Frame, whole: bool) -> Option<Box<CStr>> {
        loop {
            let name = frame.next_name();
            if name.is_some() && frame.directory.is_some() {
                return name;
            }
            if name.is_some() {
                // It was moved away from where it was while what is below it was read.
                self.found.changed += 1;
                continue;
            }
            if frame.is_at_end || frame.directory.is_none() {
                return None;
            }
            self.read_on(frame, if whole { usize::MAX } else { NAMES_MAX });
        }
    }

    /// Reads entries until so many bytes of names of subdirectories are kept, or the end.
    fn read_on(&mut self, frame: &mut Frame, names_max: usize) {
        frame.names.clear();
        frame.next = 0;
        while frame.names.len() < names_max {
            let Some(entry) = frame.directory.as_mut().and_then(Dir::read) else {
                frame.is_at_end = true;
                return;
            };
            match entry {
                Ok(entry) => self.entry(frame, entry.file_name(), entry.file_type()),
                Err(error) => {
                    self.unread(frame.level, error, || frame.path.clone());
                    frame.is_at_end = true;
                    return;
                }
            }
        }
    }

    /// Counts an entry.
    fn entry(&mut self, frame: &mut Frame, name: &CStr, kind: FileType) {
        let bytes = name.to_bytes();
        if matches!(bytes, b"." | b"..") || is_control_file(frame, name, kind) {
            return;
        }
        frame.entries += 1;
        self.found.name_lengths.add(bytes.len() as u64);
        match kind {
            FileType::Symlink => self.found.symbolic_links += 1,
            FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice => {
                self.found.others += 1;
            }
            FileType::Directory => self.subdirectory(frame, name),
            FileType::RegularFile | FileType::Unknown => self.look_at(frame, name),
        }
    }

    fn subdirectory(&mut self, frame: &mut Frame, name: &CStr) {
        frame.subdirectories += 1;
        frame.names.extend_from_slice(name.to_bytes_with_nul());
        self.found.directories += 1;
        if let Some(level) = self.found.level(frame.level + 1) {
            level.directories += 1;
        }
    }

    /// Counts a file, or what the directory does not tell the kind of.
    fn look_at(&mut self, frame: &mut Frame, name: &CStr) {
        let looked = frame.directory.as_ref().map_or(Err(Errno::BADF), |directory| stat(directory.fd()?, name));
        let found = match looked {
            Ok(found) => found,
            Err(error) => return self.unread(frame.level + 1, error, || frame.path_of(name.to_bytes())),
        };
        match FileType::from_raw_mode(u32::from(found.stx_mode)) {
            FileType::RegularFile => self.file(frame, name, &found),
            FileType::Directory => self.subdirectory(frame, name),
            FileType::Symlink => self.found.symbolic_links += 1,
            _ => self.found.others += 1,
        }
    }

    fn file(&mut self, frame: &mut Frame, name: &CStr, facts: &Statx) {
        frame.files += 1;
        if let Some(level) = self.found.level(frame.level + 1) {
            level.files += 1;
        }
        if facts.stx_nlink > 1 {
            if !self.links.is_first(facts_of(facts).device, facts.stx_ino, facts.stx_nlink) {
                self.found.further_names += 1;
                return;
            }
            self.found.hard_linked += 1;
        }
        let allocated = u128::from(facts.stx_blocks) * 512;
        self.found.files += 1;
        self.found.sizes.add(facts.stx_size);
        self.found.allocated += allocated;
        if allocated < u128::from(facts.stx_size) {
            self.found.sparse += 1;
            self.found.sparse_bytes += u128::from(facts.stx_size);
            self.found.sparse_allocated += allocated;
        }
        if self.request.names {
            keep(&mut self.found.largest, facts.stx_size, &frame.path_of(name.to_bytes()));
        }
    }

    /// Opens a subdirectory; `None` where it is on another file system, or cannot be read.
    fn enter(&mut self, frame: &Frame, name: &CStr) -> Option<OpenDirectory> {
        let level = frame.level + 1;
        let path = || frame.path_of(name.to_bytes());
        let directory = frame.directory.as_ref()?;
        // Looked at before it is opened: that could mount something.
        let before = match directory.fd().and_then(|fd| stat(fd, name)) {
            Ok(found) => facts_of(&found),
            Err(error) => {
                self.unread(level, error, path);
                return None;
            }
        };
        if is_elsewhere(&before, &frame.facts) && !self.request.cross_mounts {
            self.found.mounts += 1;
            return None;
        }
        let fd = directory.fd();
        let opened = fd.and_then(|fd| open_directory(fd, name.to_bytes(), &mut self.found.access_times));
        let (fd, facts) = match opened.and_then(|fd| facts(&fd).map(|facts| (fd, facts))) {
            Ok(opened) => opened,
            // No directory any more.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                self.found.changed += 1;
                return None;
            }
            Err(error) => {
                self.unread(level, error, path);
                return None;
            }
        };
        if (facts.device, facts.number) != (before.device, before.number) {
            self.found.changed += 1;
            // Another one has its name now; where it is of another file system, it was mounted just now.
            if is_elsewhere(&facts, &frame.facts) && !self.request.cross_mounts {
                return None;
            }
        }
        let path = if self.request.names { path() } else { Vec::new() };
        Some(OpenDirectory { fd, facts, level, path })
    }

    /// A directory is read: its figures count, and the one above is open again.
    fn leave(&mut self, frames: &mut Vec<Frame>) {
        let Some(frame) = frames.pop() else { return };
        self.found.subdirectories.add(frame.subdirectories);
        self.found.directory_files.add(frame.files);
        if self.request.names {
            keep(&mut self.found.fullest, frame.entries, &frame.path);
        }
        let Some(directory) = frame.directory else { return };
        let Ok(fd) = directory.fd() else { return };
        if facts(fd).is_ok_and(|now| now.changed != frame.facts.changed) {
            self.found.changed += 1;
        }
        let Some(above) = frames.last_mut().filter(|above| above.directory.is_none()) else { return };
        // Counted when it was opened first.
        let opened = open_directory(fd, b"..", &mut 0);
        let is_same = |fd: &OwnedFd| {
            facts(fd).is_ok_and(|now| (now.device, now.number) == (above.facts.device, above.facts.number))
        };
        above.directory = opened.ok().filter(is_same).and_then(|fd| Dir::new(fd).ok());
    }
}

/// Is it what a load keeps about its tree at the top of it, and so no file of the tree?
fn is_control_file(frame: &Frame, name: &CStr, kind: FileType) -> bool {
    let is_regular = || match kind {
        FileType::Unknown => frame
            .directory
            .as_ref()
            .and_then(|directory| stat(directory.fd().ok()?, name).ok())
            .is_some_and(|found| FileType::from_raw_mode(u32::from(found.stx_mode)) == FileType::RegularFile),
        kind => kind == FileType::RegularFile,
    };
    frame.level == 0 && name.to_bytes() == CONTROL_FILE.as_bytes() && is_regular()
}

pub(crate) fn stat(directory: impl AsFd, name: &CStr) -> Result<Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    statx(directory, name, flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)
}
