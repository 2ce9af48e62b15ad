//! Proves that an anchor holds nothing but a tree, of whatever shape, before anything in it is written or deleted.
//!
//! Only names that [`name_kind`](crate::name_kind) knows, at the level that they say, of the right kind, on the same mount as the
//! anchor, and files without a second name but those of flows, are of a tree. No link is followed; what is foreign is not looked into.

use crate::names::{CONTROL_FILE, directory_numbers, file_number};
use crate::tree::open_anchor;
use crate::{NameKind, TreeError, is_link_name, name_kind, own_names};
use output::EntryKind;
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, Statx, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::fmt::Write as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// No tree is deeper: Vdbench's paths would be longer than the kernel takes.
const LEVELS_MAX: usize = 300;
/// So many foreign entries are named.
const NAMED: usize = 3;
/// What a file system makes at its own top.
const LOST_FOUND: &[u8] = b"lost+found";
/// Vdbench leaves it in every anchor that it has used; it stays there.
const NO_DISMOUNT: &[u8] = b"no_dismount.txt";

/// An anchor that is held open, so that it stays the same directory when its path comes to mean another.
#[derive(Debug)]
pub struct Anchor {
    path: PathBuf,
    fd: OwnedFd,
}

/// What an anchor holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Directories of a tree.
    pub directories: u64,
    /// Files of a tree.
    pub files: u64,
    /// Their size together.
    pub bytes: u64,
    /// What their blocks take; of a file with holes less than its size.
    pub allocated_bytes: u64,
    /// What flows that were killed have left.
    pub leftovers: u64,
    /// Is there a control file?
    pub has_control_file: bool,
    /// Entries that are not of a tree.
    pub foreign: u64,
    /// The first of them, by path relative to the anchor, and why each is foreign.
    pub first_foreign: BTreeMap<PathBuf, String>,
}

impl Anchor {
    /// Opens a directory that is there; a link to it is followed. `None`: there is nothing of that name.
    ///
    /// # Errors
    /// When it is no directory or may not be read.
    pub fn open(path: &Path) -> Result<Option<Self>, TreeError> {
        match open_anchor(path) {
            Ok(fd) => Ok(Some(Self { path: path.to_owned(), fd })),
            Err(TreeError::System { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Its path, for sentences.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A handle of the directory.
    ///
    /// # Errors
    /// There are too many descriptors.
    pub fn descriptor(&self) -> Result<OwnedFd, TreeError> {
        rustix::io::fcntl_dupfd_cloexec(&self.fd, 0).map_err(TreeError::system("open", &self.path))
    }

    /// Takes the anchor, alone or with others that only read or share it, until this is dropped.
    ///
    /// # Errors
    /// Another process has it.
    pub fn take(&self, is_alone: bool) -> Result<(), TreeError> {
        let how =
            if is_alone { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::NonBlockingLockShared };
        match rustix::fs::flock(&self.fd, how) {
            Err(Errno::WOULDBLOCK) => Err(TreeError::InUse { path: self.path.clone() }),
            // Some network file systems have no locks of directories.
            Ok(()) | Err(Errno::NOLCK | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::BADF) => Ok(()),
            Err(error) => Err(TreeError::system("lock", &self.path)(error)),
        }
    }

    /// Walks all that is in it.
    ///
    /// # Errors
    /// When a directory or file cannot be looked at: nothing is proved then.
    pub fn inspect(&self) -> Result<Inspection, TreeError> {
        let top = Walked::new(self.descriptor()?, PathBuf::new()).map_err(TreeError::system("list", &self.path))?;
        let mut walk = Walk { anchor: self, found: Inspection::default(), place: top.place };
        let mut levels = vec![top];
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.entries.next() else {
                levels.pop();
                continue;
            };
            let entry = entry.map_err(TreeError::system("list", &self.path.join(&level.path)))?;
            let depth = levels.len();
            let Some(level) = levels.last() else { break };
            if let Some(below) = walk.look_at(level, depth, entry.file_name())? {
                levels.push(below);
            }
        }
        Ok(walk.found)
    }

    /// The same; anything foreign is an error that names it.
    ///
    /// # Errors
    /// As [`Anchor::inspect`], and [`TreeError::Foreign`].
    pub fn require_own(&self) -> Result<Inspection, TreeError> {
        let found = self.inspect()?;
        if found.foreign == 0 {
            return Ok(found);
        }
        let mut entries = String::new();
        for (path, why) in &found.first_foreign {
            // Writing to a text never fails.
            let _ = write!(entries, "{}{} ({why})", if entries.is_empty() { "" } else { ", " }, path.display());
        }
        let more = found.foreign - found.first_foreign.len() as u64;
        if more > 0 {
            let _ = write!(entries, " and {more} more");
        }
        Err(TreeError::Foreign { path: self.path.clone(), entries })
    }
}

/// Which mount and file system something is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MountPlace {
    /// `None`: the kernel does not say (before 5.8).
    mount: Option<u64>,
    device: (u32, u32),
}

/// A directory that is being walked.
struct Walked {
    entries: Dir,
    fd: OwnedFd,
    /// Relative to the anchor.
    path: PathBuf,
    place: MountPlace,
    is_mount_root: bool,
}

impl Walked {
    fn new(fd: OwnedFd, path: PathBuf) -> Result<Self, Errno> {
        let found = status(fd.as_fd(), c"", AtFlags::EMPTY_PATH)?;
        let is_mount_root = found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
        Ok(Self { entries: Dir::read_from(&fd)?, fd, path, place: place_of(&found), is_mount_root })
    }
}

fn status(at: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<Statx, Errno> {
    let flags = flags | AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(at, name, flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)
}

fn place_of(found: &Statx) -> MountPlace {
    let mount = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID).then_some(found.stx_mnt_id);
    MountPlace { mount, device: (found.stx_dev_major, found.stx_dev_minor) }
}

struct Walk<'a> {
    anchor: &'a Anchor,
    found: Inspection,
    place: MountPlace,
}

impl Walk<'_> {
    /// Looks at an entry of a directory at this level (the anchor's own entries: 1); gives a directory back that is to be walked.
    fn look_at(&mut self, level: &Walked, depth: usize, name: &CStr) -> Result<Option<Walked>, TreeError> {
        let bytes = name.to_bytes();
        if matches!(bytes, b"." | b"..") {
            return Ok(None);
        }
        let path = level.path.join(OsStr::from_bytes(bytes));
        let found = match status(level.fd.as_fd(), name, AtFlags::empty()) {
            // Another process has just removed it.
            Err(Errno::NOENT) => return Ok(None),
            other => other.map_err(TreeError::system("look at", &self.anchor.path.join(&path)))?,
        };
        let kind = EntryKind::of_mode(u32::from(found.stx_mode));
        match self.foreign(level, depth, bytes, kind, &found) {
            Some(why) => {
                self.foreign_entry(path, why);
                Ok(None)
            }
            None if kind == EntryKind::Directory && name_kind(bytes) == Some(NameKind::Directory) => {
                self.open(level, name, path)
            }
            None => {
                match name_kind(bytes) {
                    Some(NameKind::File) => {
                        self.found.files += 1;
                        self.found.bytes = self.found.bytes.saturating_add(found.stx_size);
                        let has_blocks = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BLOCKS);
                        let allocated = if has_blocks { found.stx_blocks.saturating_mul(512) } else { found.stx_size };
                        self.found.allocated_bytes = self.found.allocated_bytes.saturating_add(allocated);
                    }
                    Some(NameKind::Leftover) => self.found.leftovers += 1,
                    Some(NameKind::Control) => self.found.has_control_file = true,
                    _ => {}
                }
                Ok(None)
            }
        }
    }

    fn open(&mut self, level: &Walked, name: &CStr, path: PathBuf) -> Result<Option<Walked>, TreeError> {
        let failed = |error: Errno| TreeError::system("open", &self.anchor.path.join(&path))(error);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&level.fd, name, flags, Mode::empty()).map_err(failed)?;
        let below = Walked::new(fd, path.clone()).map_err(failed)?;
        // What is open counts, and not what was there a moment before.
        if below.place != self.place {
            self.foreign_entry(path, "something is mounted there".to_string());
            return Ok(None);
        }
        self.found.directories += 1;
        Ok(Some(below))
    }

    fn foreign_entry(&mut self, path: PathBuf, why: String) {
        self.found.foreign += 1;
        let first = &mut self.found.first_foreign;
        first.insert(path, why);
        if first.len() > NAMED {
            first.pop_last();
        }
    }

    /// Why an entry is foreign; `None`: it is not.
    fn foreign(&self, level: &Walked, depth: usize, name: &[u8], kind: EntryKind, found: &Statx) -> Option<String> {
        let is_top = depth == 1;
        let (expected, is_placed) = match name_kind(name) {
            Some(NameKind::Directory) => {
                let is_level = directory_numbers(name).is_some_and(|(at, _)| at == depth as u64);
                (EntryKind::Directory, is_level && depth <= LEVELS_MAX)
            }
            Some(NameKind::File) => (EntryKind::File, !is_top && file_number(name).is_some()),
            Some(NameKind::Leftover) if is_link_name(name) => (EntryKind::Link, !is_top),
            Some(NameKind::Leftover) => (EntryKind::File, !is_top),
            Some(NameKind::Control) => (EntryKind::File, is_top),
            None if is_top && (is_unfinished(name) || name == NO_DISMOUNT) => (EntryKind::File, true),
            None if is_top && level.is_mount_root && name == LOST_FOUND => (EntryKind::Directory, true),
            None => return Some("its name is not one of a tree".to_string()),
        };
        if kind != expected {
            return Some(format!("it is {kind} with a name of a tree"));
        }
        if !is_placed {
            return Some("no tree has that name in that place".to_string());
        }
        let place = place_of(found);
        let is_elsewhere = match (place.mount, self.place.mount) {
            (Some(mount), Some(own)) => mount != own,
            _ => place.device != self.place.device,
        };
        if is_elsewhere {
            return Some("something is mounted there".to_string());
        }
        let names = found.stx_nlink;
        let is_shared = kind == EntryKind::File && names > 1 && own_names(level.fd.as_fd(), name) < u64::from(names);
        is_shared.then(|| format!("it is one of {names} names of the same file"))
    }
}

/// What a write of the control file leaves behind when it is killed: `.vdb_control.file.0123456789abcdef.new`.
fn is_unfinished(name: &[u8]) -> bool {
    let inner =
        || name.strip_prefix(b".")?.strip_prefix(CONTROL_FILE.as_bytes())?.strip_prefix(b".")?.strip_suffix(b".new");
    inner().is_some_and(|digits| digits.len() == 16 && digits.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests;
