//! Entries with numbers in a directory that may hold anything else (fio's engines for names): what is there of them, and what is made
//! before a load and removed behind it.
//!
//! Ours is what has exactly the name, is of the right kind, on the directory's own file system, and has a single link if it is a file. Links
//! are never followed. All else in the directory is never touched.

use crate::{FileState, Tree, TreeError};
use plan::{EntryJob, LayoutKind};
use rustix::fs::{AtFlags, FallocateFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// So much is written at a time.
const WRITE_BYTES: usize = 1 << 17;

/// Entries that are named before it is said how many more there are.
const FOREIGN_SHOWN: usize = 5;

/// What [`Tree::make_numbered`] made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MadeEntries {
    /// How many were missing, or too short.
    pub count: u64,
    /// Was it stopped before the end?
    pub is_stopped: bool,
}

/// What the numbered entries of a tree lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LackingEntries {
    /// So many are missing.
    pub count: u64,
    /// Bytes of blocks that [`Tree::make_numbered`] has allocated for those that are missing or too short.
    pub bytes: u64,
}

/// What is there now of numbered entries and was not there before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewEntries {
    /// How many.
    pub count: u64,
    /// The smallest number of one.
    pub first: u32,
    /// The greatest.
    pub last: u32,
    /// Entries between these two that were there before.
    pub older: u64,
}

impl Tree {
    /// Looks at each of its numbered entries: the state says from here on which exist. Says what they lack.
    ///
    /// # Errors
    /// One of the names is in use for something else, or cannot be looked at.
    pub fn look_at_numbered(&self, job: &EntryJob) -> Result<LackingEntries, TreeError> {
        let own = rustix::fs::fstat(self.anchor()).map_err(TreeError::system("look at", self.path()))?;
        let block = rustix::fs::fstatvfs(self.anchor()).map_or(0, |found| found.f_frsize).max(1);
        let has_blocks = matches!(job.made, Some(LayoutKind::Filled | LayoutKind::Allocated | LayoutKind::Kept));
        let mut lacking = LackingEntries::default();
        let (mut path, mut foreign, mut more) = (Vec::new(), Vec::new(), 0_u64);
        for number in 0..self.layout().files() {
            self.layout().file_path(number, &mut path);
            let mut allocated = 0;
            let state = match rustix::fs::statat(self.anchor(), &*path, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => {
                    allocated = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
                    if let Some(why) = why_foreign(&stat, &own, job.are_directories) {
                        if foreign.len() < FOREIGN_SHOWN {
                            foreign.push(format!("{} ({why})", String::from_utf8_lossy(&path)));
                        } else {
                            more += 1;
                        }
                    }
                    FileState { exists: true, bytes: u64::try_from(stat.st_size).unwrap_or(0) }
                }
                Err(Errno::NOENT) => FileState { exists: false, bytes: 0 },
                Err(error) => return Err(TreeError::system("look at", &self.whole(&path))(error)),
            };
            self.state().set_file(self.layout(), number, state);
            lacking.count += u64::from(!state.exists);
            let asked = self.layout().asked_bytes(number);
            if has_blocks && !job.are_directories && (!state.exists || state.bytes < asked) {
                let whole = asked.div_ceil(block).saturating_mul(block);
                lacking.bytes = lacking.bytes.saturating_add(whole.saturating_sub(allocated));
            }
        }
        if foreign.is_empty() {
            return Ok(lacking);
        }
        if more > 0 {
            foreign.push(format!("and {more} more"));
        }
        Err(TreeError::ForeignEntry { path: self.path().to_owned(), entries: foreign.join(", ") })
    }

    /// Makes the entries that are missing, and makes files longer that are too short, as fio does before its first job.
    ///
    /// # Errors
    /// One cannot be made.
    pub fn make_numbered(&self, job: &EntryJob, goes_on: &dyn Fn() -> bool) -> Result<MadeEntries, TreeError> {
        let Some(how) = job.made else { return Ok(MadeEntries::default()) };
        let (mut path, mut made, mut data) = (Vec::new(), MadeEntries::default(), Vec::new());
        for number in 0..self.layout().files() {
            if !goes_on() {
                made.is_stopped = true;
                return Ok(made);
            }
            self.layout().file_path(number, &mut path);
            let known = rustix::fs::statat(self.anchor(), &*path, AtFlags::SYMLINK_NOFOLLOW);
            let there = match known {
                Ok(stat) => Some(u64::try_from(stat.st_size).unwrap_or(0)),
                Err(Errno::NOENT) => None,
                Err(error) => return Err(TreeError::system("look at", &self.whole(&path))(error)),
            };
            let asked = self.layout().asked_bytes(number);
            let done = match there {
                Some(_) if job.are_directories => continue,
                Some(bytes) if bytes >= asked => continue,
                _ if job.are_directories => rustix::fs::mkdirat(self.anchor(), &*path, Mode::from_raw_mode(0o700)),
                Some(bytes) => open(self.anchor(), &path, OFlags::WRONLY)
                    .and_then(|file| lay_out(&file, (bytes, asked), how, &mut data)),
                None => open(self.anchor(), &path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
                    .and_then(|file| lay_out(&file, (0, asked), how, &mut data)),
            };
            done.map_err(|error| TreeError::system("make", &self.whole(&path))(error))?;
            made.count += 1;
        }
        Ok(made)
    }

    /// Removes the entries that were not there when [`Tree::look_at_numbered`] looked.
    ///
    /// # Errors
    /// One is there that is not ours by now, or cannot be removed.
    pub fn remove_numbered(&self, job: &EntryJob) -> Result<u64, TreeError> {
        let own = rustix::fs::fstat(self.anchor()).map_err(TreeError::system("look at", self.path()))?;
        let (mut path, mut removed) = (Vec::new(), 0);
        for number in (0..self.layout().files()).filter(|number| !self.state().file(*number).exists) {
            self.layout().file_path(number, &mut path);
            let failed = |action, error: Errno| TreeError::system(action, &self.whole(&path))(error);
            let stat = match rustix::fs::statat(self.anchor(), &*path, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(failed("look at", error)),
            };
            if let Some(why) = why_foreign(&stat, &own, job.are_directories) {
                let entries = format!("{} ({why})", String::from_utf8_lossy(&path));
                return Err(TreeError::ForeignEntry { path: self.path().to_owned(), entries });
            }
            let flags = if job.are_directories { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            rustix::fs::unlinkat(self.anchor(), &*path, flags).map_err(|error| failed("remove", error))?;
            removed += 1;
        }
        Ok(removed)
    }

    /// What is there now of its entries and was not when [`Tree::look_at_numbered`] looked.
    ///
    /// # Errors
    /// One cannot be looked at.
    pub fn new_numbered(&self) -> Result<NewEntries, TreeError> {
        let (mut path, mut new, mut older) = (Vec::new(), NewEntries::default(), 0);
        for number in 0..self.layout().files() {
            if self.state().file(number).exists {
                older += u64::from(new.count > 0);
                continue;
            }
            self.layout().file_path(number, &mut path);
            match rustix::fs::statat(self.anchor(), &*path, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) if new.count == 0 => new = NewEntries { count: 1, first: number, last: number, older: 0 },
                Ok(_) => new = NewEntries { count: new.count + 1, last: number, older, ..new },
                Err(Errno::NOENT) => {}
                Err(error) => return Err(TreeError::system("look at", &self.whole(&path))(error)),
            }
        }
        Ok(new)
    }

    fn whole(&self, path: &[u8]) -> PathBuf {
        self.path().join(&*String::from_utf8_lossy(path))
    }
}

/// Why something is not an entry of a job; `None`: it is one.
fn why_foreign(stat: &Stat, own: &Stat, are_directories: bool) -> Option<&'static str> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    match kind {
        _ if stat.st_dev != own.st_dev => Some("of another file system"),
        FileType::Directory if are_directories => None,
        _ if are_directories => Some("no directory"),
        FileType::RegularFile if stat.st_nlink == 1 => None,
        FileType::RegularFile => Some("a file with several links"),
        _ => Some("no regular file"),
    }
}

fn open(anchor: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::openat(anchor, path, flags, Mode::from_raw_mode(0o644))
}

/// Gives a file its size; what was in it stays as it is.
fn lay_out(file: &OwnedFd, (from, to): (u64, u64), how: LayoutKind, data: &mut Vec<u8>) -> Result<(), Errno> {
    let allocate = |flags| match rustix::fs::fallocate(file, flags, 0, to) {
        // Not every file system can.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        other => other.map(|()| true),
    };
    match how {
        _ if to == 0 => {}
        LayoutKind::Untouched | LayoutKind::Unbounded => {}
        LayoutKind::Sparse => rustix::fs::ftruncate(file, to)?,
        LayoutKind::Kept => drop(allocate(FallocateFlags::KEEP_SIZE)?),
        LayoutKind::Allocated => {
            allocate(FallocateFlags::empty())?;
            rustix::fs::ftruncate(file, to)?;
        }
        LayoutKind::Filled => {
            allocate(FallocateFlags::empty())?;
            rustix::fs::ftruncate(file, to)?;
            write(file, from, to, data)?;
        }
    }
    rustix::fs::fsync(file)
}

/// Writes what no file system finds alike or empty.
fn write(file: &OwnedFd, from: u64, to: u64, data: &mut Vec<u8>) -> Result<(), Errno> {
    let mut at = from;
    while at < to {
        let length = usize::try_from(to - at).unwrap_or(WRITE_BYTES).min(WRITE_BYTES);
        fill(data, length, at);
        let written = rustix::io::pwrite(file.as_fd(), &data[..length], at)?;
        if written == 0 {
            return Err(Errno::NOSPC);
        }
        at += written as u64;
    }
    Ok(())
}

fn fill(data: &mut Vec<u8>, length: usize, salt: u64) {
    if data.len() < length {
        let mut x = salt ^ 0x9e37_79b9_7f4a_7c15 ^ (data.len() as u64) << 32 | 1;
        while data.len() < length {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            data.extend_from_slice(&x.to_le_bytes());
        }
    }
    // Each call its own beginning.
    for byte in data.iter_mut().take(8) {
        *byte = byte.wrapping_mul(167).wrapping_add(13);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Opening;
    use plan::generate::OperationKind;
    use plan::{CountedAs, StatCall, TreeNames, TreeShape};
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn tree(anchor: &Path, files: u64, bytes: u64) -> Tree {
        let names = TreeNames::Numbered { before: "j.0.".into(), after: String::new() };
        let shape = TreeShape { names, ..TreeShape::regular(1, 1, files, bytes) };
        Tree::at(anchor, &shape, Opening::Empty).unwrap()
    }

    fn job(are_directories: bool, made: Option<LayoutKind>) -> EntryJob {
        EntryJob {
            are_directories,
            operations: Some(1),
            elapsed_ns: None,
            is_random: false,
            stat: StatCall::Stat,
            made,
            unlinks: true,
            counted: CountedAs { op: OperationKind::Read, ios: 1, bytes: 4096 },
        }
    }

    #[test]
    fn only_what_is_missing_is_made_and_only_what_was_made_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (name, text) in [("j.0.1", "mine"), ("other", "x"), ("j.0.01", "y"), ("j.0.5", "z")] {
            std::fs::write(path(name), text).unwrap();
        }
        let (tree, job) = (tree(folder.path(), 4, 300_000), job(false, Some(LayoutKind::Filled)));
        tree.look_at_numbered(&job).unwrap();
        let exist: Vec<bool> = (0..4).map(|at| tree.state().file(at).exists).collect();
        assert_eq!(exist, [false, true, false, false]);
        let made = tree.make_numbered(&job, &|| true).unwrap();
        assert_eq!(made, MadeEntries { count: 4, is_stopped: false });
        let bytes = std::fs::read(path("j.0.1")).unwrap();
        assert!(bytes.len() == 300_000 && bytes.starts_with(b"mine"));
        assert!(std::fs::read(path("j.0.3")).unwrap().iter().filter(|byte| **byte == 0).count() < 6000);
        assert_eq!(tree.make_numbered(&job, &|| true).unwrap().count, 0);
        assert!(tree.make_numbered(&job, &|| false).unwrap().is_stopped);
        assert_eq!(tree.remove_numbered(&job).unwrap(), 3);
        let mut left: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["j.0.01", "j.0.1", "j.0.5", "other"]);
    }

    #[test]
    fn a_name_that_is_in_use_for_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("foreign"), "x").unwrap();
        std::fs::hard_link(path("foreign"), path("j.0.0")).unwrap();
        symlink("foreign", path("j.0.1")).unwrap();
        std::fs::create_dir(path("j.0.2")).unwrap();
        let tree = tree(folder.path(), 4, 10);
        let refused = |are_directories| {
            let error = tree.look_at_numbered(&job(are_directories, None)).unwrap_err();
            assert!(error.is_refusal());
            error.to_string()
        };
        let said = refused(false);
        assert!(
            said.contains("j.0.0 (a file with several links), j.0.1 (no regular file), j.0.2 (no regular file)"),
            "{said}"
        );
        assert!(refused(true).contains("j.0.0 (no directory), j.0.1 (no directory);"), "{}", refused(true));
    }

    #[test]
    fn what_is_lacking_is_told_by_blocks_and_what_is_new_by_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // A hole, which has no blocks; and a file that is long enough.
        std::fs::File::create(path("j.0.1")).unwrap().set_len(200_000).unwrap();
        std::fs::File::create(path("j.0.3")).unwrap().set_len(300_000).unwrap();
        let tree = tree(folder.path(), 5, 300_000);
        let block = rustix::fs::statvfs(folder.path()).unwrap().f_frsize;
        let each = 300_000_u64.div_ceil(block) * block;
        for (how, files) in [(LayoutKind::Filled, 4), (LayoutKind::Kept, 4), (LayoutKind::Sparse, 0)] {
            let lacking = tree.look_at_numbered(&job(false, Some(how))).unwrap();
            assert_eq!(lacking, LackingEntries { count: 3, bytes: files * each }, "{how:?}");
        }
        assert_eq!(tree.new_numbered().unwrap(), NewEntries::default());
        for name in ["j.0.0", "j.0.2", "j.0.7"] {
            std::fs::write(path(name), "x").unwrap();
        }
        assert_eq!(tree.new_numbered().unwrap(), NewEntries { count: 2, first: 0, last: 2, older: 1 });
        std::fs::remove_file(path("j.0.0")).unwrap();
        assert_eq!(tree.new_numbered().unwrap(), NewEntries { count: 1, first: 2, last: 2, older: 0 });
    }

    #[test]
    fn every_way_to_make_a_file_gives_it_the_size_that_fio_gives_it() {
        let sizes = [
            (LayoutKind::Filled, 5000),
            (LayoutKind::Allocated, 5000),
            (LayoutKind::Kept, 0),
            (LayoutKind::Sparse, 5000),
            (LayoutKind::Untouched, 0),
        ];
        for (how, bytes) in sizes {
            let folder = tempfile::tempdir().unwrap();
            let tree = tree(folder.path(), 1, 5000);
            tree.make_numbered(&job(false, Some(how)), &|| true).unwrap();
            assert_eq!(folder.path().join("j.0.0").metadata().unwrap().len(), bytes, "{how:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        tree(folder.path(), 2, 5000).make_numbered(&job(true, Some(LayoutKind::Filled)), &|| true).unwrap();
        assert!(folder.path().join("j.0.1").is_dir());
    }
}
