//! The exact shape of a tree: every directory in its place, and every file with its size.

use crate::links::HardLinks;
use crate::walk::{facts, facts_of, is_elsewhere, open_directory, stat};
use crate::{ScanError, ScanRequest};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, FileType, StatxAttributes, StatxFlags, statx};
use rustix::io::Errno;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use tree::{CONTROL_FILE, Holds, ListedTree};

/// No tree that can be made is deeper.
const LEVELS_MAX: usize = 256;

/// A tree as it is, and what of it is not in there.
#[derive(Debug)]
pub struct ExactShape {
    /// The tree. Where the directory that was measured has files itself, or no directories, it is the only one in the anchor.
    pub tree: ListedTree,
    /// Entries that could not be read, or that changed meanwhile.
    pub missing: u64,
}

/// A directory whose subdirectories are entered one behind the other.
struct Frame {
    /// Where it is among those that were found.
    at: usize,
    fd: OwnedFd,
    /// Names that are left, the next one at the end.
    names: Vec<CString>,
}

/// A directory that was read, in the order in which they were entered.
struct Found {
    level: u32,
    directories: u32,
    files: u32,
}

#[derive(Default)]
struct Walk {
    found: Vec<Found>,
    sizes: Vec<u64>,
    links: HardLinks,
    missing: u64,
}

/// Reads the exact shape of a tree, in the order of the names: shorter ones first, then by their bytes, so that a tree that was made of
/// it has the same one. Memory: about 50 bytes for a directory and 16 for a file. Links, pipes and further names of a file are left
/// out, and what a file system or a load keeps at the top (`lost+found`, control files).
///
/// # Errors
/// When the directory itself cannot be opened, or when it has more levels or larger files than a tree can have.
pub fn exact(request: &ScanRequest<'_>) -> Result<ExactShape, ScanError> {
    let failed = |error: Errno| ScanError::Open { path: request.path.display().to_string(), error: error.into() };
    let top = open_directory(CWD, request.path.as_os_str().as_bytes(), &mut 0).map_err(failed)?;
    let mut walk = Walk::default();
    let names = walk.read(&top, 0);
    let mut frames = vec![Frame { at: 0, fd: top, names }];
    while let Some(frame) = frames.last_mut() {
        let Some(name) = frame.names.pop() else {
            frames.pop();
            continue;
        };
        let level = frames.len();
        let Some(fd) = frames.last().and_then(|frame| walk.enter(frame, &name, request)) else { continue };
        if level >= LEVELS_MAX {
            return Err(ScanError::Shape(format!("it has more than {LEVELS_MAX} levels of directories")));
        }
        if let Some(above) = frames.last().and_then(|frame| walk.found.get_mut(frame.at)) {
            above.directories += 1;
        }
        let at = walk.found.len();
        let names = walk.read(&fd, level);
        frames.push(Frame { at, fd, names });
    }
    walk.shape()
}

/// What is at the top of an anchor and no part of its tree.
fn is_of_top(name: &[u8], is_mount_root: bool) -> bool {
    name == CONTROL_FILE.as_bytes() || name == b"no_dismount.txt" || (is_mount_root && name == b"lost+found")
}

fn is_mount_root(directory: &OwnedFd) -> bool {
    statx(directory, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Shorter names first: numbers in names that differ in nothing else are then in order.
fn by_length(one: &CString, other: &CString) -> std::cmp::Ordering {
    let key = |name: &CString| name.as_bytes().len();
    key(one).cmp(&key(other)).then_with(|| one.cmp(other))
}

impl Walk {
    /// Notes a directory and its files; gives the names of its subdirectories back, the last one first.
    fn read(&mut self, fd: &OwnedFd, level: usize) -> Vec<CString> {
        let mut place = Found { level: u32::try_from(level).unwrap_or(u32::MAX), directories: 0, files: 0 };
        let (mut directories, mut files) = (Vec::new(), Vec::new());
        let is_root = level == 0 && is_mount_root(fd);
        match Dir::read_from(fd) {
            Ok(entries) => {
                for entry in entries {
                    let Ok(entry) = entry else {
                        self.missing += 1;
                        break;
                    };
                    let name = entry.file_name();
                    let bytes = name.to_bytes();
                    if matches!(bytes, b"." | b"..") || (level == 0 && is_of_top(bytes, is_root)) {
                        continue;
                    }
                    let kind = match entry.file_type() {
                        FileType::Unknown => stat(fd, name)
                            .map_or(FileType::Unknown, |found| FileType::from_raw_mode(u32::from(found.stx_mode))),
                        kind => kind,
                    };
                    match kind {
                        FileType::Directory => directories.push(name.to_owned()),
                        FileType::RegularFile => files.push(name.to_owned()),
                        FileType::Unknown => self.missing += 1,
                        _ => {}
                    }
                }
            }
            Err(_) => self.missing += 1,
        }
        files.sort_unstable_by(by_length);
        for name in files {
            match stat(fd, &name) {
                Ok(found) if FileType::from_raw_mode(u32::from(found.stx_mode)) == FileType::RegularFile => {
                    let links = found.stx_nlink;
                    if links < 2 || self.links.is_first(facts_of(&found).device, found.stx_ino, links) {
                        self.sizes.push(found.stx_size);
                        place.files += 1;
                    }
                }
                _ => self.missing += 1,
            }
        }
        directories.sort_unstable_by(|one, other| by_length(other, one));
        // Directories are counted when they are entered: those that cannot be are missing.
        self.found.push(place);
        directories
    }

    /// Opens a subdirectory; `None` where it is on another file system, or cannot be read.
    fn enter(&mut self, frame: &Frame, name: &CString, request: &ScanRequest<'_>) -> Option<OwnedFd> {
        let opened = (|| {
            // Looked at before it is opened: that could mount something.
            let (above, before) = (facts(&frame.fd)?, facts_of(&stat(&frame.fd, name)?));
            if is_elsewhere(&before, &above) && !request.cross_mounts {
                return Ok(None);
            }
            let fd = open_directory(&frame.fd, name.as_bytes(), &mut 0)?;
            let now = facts(&fd)?;
            let is_other = (now.device, now.number) != (before.device, before.number);
            if is_other && is_elsewhere(&now, &above) && !request.cross_mounts {
                return Ok(None);
            }
            Ok::<_, Errno>(Some(fd))
        })();
        match opened {
            Ok(opened) => opened,
            Err(_) => {
                self.missing += 1;
                None
            }
        }
    }

    /// By level, and in a level by parents: that is the order in which they were entered, level by level.
    fn shape(self) -> Result<ExactShape, ScanError> {
        let Self { found, sizes, missing, .. } = self;
        let wraps = found.first().is_some_and(|top| top.files > 0) || found.len() < 2;
        let mut order: Vec<u32> = (0..u32::try_from(found.len()).unwrap_or(u32::MAX)).collect();
        order.sort_by_key(|at| found.get(*at as usize).map_or(0, |one| one.level));
        let mut starts = Vec::with_capacity(found.len());
        let mut start = 0_usize;
        for one in &found {
            starts.push(start);
            start += one.files as usize;
        }
        let mut holds = Vec::with_capacity(found.len() + 1);
        if wraps {
            holds.push(Holds { directories: 1, files: 0 });
        }
        let mut sorted = Vec::with_capacity(sizes.len());
        for at in order {
            let at = at as usize;
            let (Some(one), Some(start)) = (found.get(at), starts.get(at)) else { continue };
            sorted.extend_from_slice(sizes.get(*start..start + one.files as usize).unwrap_or_default());
            holds.push(Holds { directories: one.directories, files: one.files });
        }
        let tree = ListedTree::new(&holds, sorted).map_err(ScanError::Shape)?;
        Ok(ExactShape { tree, missing })
    }
}

#[cfg(test)]
mod tests;
