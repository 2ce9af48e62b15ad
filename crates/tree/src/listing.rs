//! What exists of a tree, by listing its directories: no link is followed, and nothing but directories and regular files counts.

use crate::names::{directory_numbers, file_number};
use crate::{FileState, TreeError, TreeLayout, TreeState};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A directory that is being listed.
struct Level {
    /// Its number; `None`: the anchor.
    directory: Option<u32>,
    fd: OwnedFd,
    entries: Dir,
    path: PathBuf,
}

impl Level {
    fn new(directory: Option<u32>, fd: OwnedFd, path: PathBuf) -> Result<Self, TreeError> {
        let entries = Dir::read_from(&fd).map_err(TreeError::system("list", &path))?;
        Ok(Self { directory, fd, entries, path })
    }
}

/// Marks in `state` what exists of the tree below `anchor`.
pub(crate) fn fill(
    anchor: BorrowedFd<'_>,
    path: &Path,
    layout: &TreeLayout,
    state: &TreeState,
) -> Result<(), TreeError> {
    let fd = rustix::io::fcntl_dupfd_cloexec(anchor, 0).map_err(TreeError::system("list", path))?;
    let mut levels = vec![Level::new(None, fd, path.to_owned())?];
    while let Some(level) = levels.last_mut() {
        let Some(entry) = level.entries.next() else {
            levels.pop();
            continue;
        };
        let entry = entry.map_err(TreeError::system("list", &level.path))?;
        if let Some(below) = look_at(level, entry.file_name(), layout, state)? {
            levels.push(below);
        }
    }
    Ok(())
}

/// Marks an entry of a directory; gives a directory back that is to be listed.
fn look_at(level: &Level, name: &CStr, layout: &TreeLayout, state: &TreeState) -> Result<Option<Level>, TreeError> {
    let bytes = name.to_bytes();
    if let Some(at) = level.directory.and_then(|directory| layout.file_at(directory, file_number(bytes)?)) {
        let stat = match rustix::fs::statat(&level.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            other => other.map_err(TreeError::system("look at", &below(level, name)))?,
        };
        if FileType::from_raw_mode(stat.st_mode).is_file() {
            let bytes = u64::try_from(stat.st_size).unwrap_or(0);
            state.set_file(layout, at, FileState { exists: true, bytes });
        }
        return Ok(None);
    }
    let numbers = directory_numbers(bytes).and_then(|(at, number)| layout.child(level.directory, at, number));
    let Some(directory) = numbers else { return Ok(None) };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = match rustix::fs::openat(level.fd.as_fd(), name, flags, Mode::empty()) {
        // A link or a file with the name of a directory is not of the tree.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        other => other.map_err(TreeError::system("open", &below(level, name)))?,
    };
    state.set_directory(layout, directory, true);
    Level::new(Some(directory), fd, below(level, name)).map(Some)
}

fn below(level: &Level, name: &CStr) -> PathBuf {
    level.path.join(OsStr::from_bytes(name.to_bytes()))
}
