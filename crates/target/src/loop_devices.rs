//! What loop devices stand on.
//!
//! A path says little: the backing file may lie in another mount namespace, have other names, or be reached through an
//! overlay. So the kernel is asked for its file system and inode. Where it cannot be asked (no node in a container's `/dev`,
//! no permission), the path decides when it leads to a file that fits, and otherwise the size: a file that may stand behind
//! a loop device counts as if it did.

use crate::mounts;
use crate::sysfs::{Number, entries, in_use_path, node_name, number_of, value};
use rustix::fs::{CWD, Mode, OFlags, major, minor, openat};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Overlays show the inode of the file below under a number of their own for the file system.
const OVERLAYFS_MAGIC: u64 = 0x794c_7630;
/// An overlay over several file systems puts the layer's number into the upper bits of the inode.
const INODE_MASK: u64 = (1 << 48) - 1;
/// Sizes in sysfs are in sectors of this.
const SECTOR: u64 = 512;

/// What a loop device stands on.
#[derive(Clone, Debug)]
pub(crate) struct Backing {
    /// The loop device.
    pub(crate) owner: Number,
    /// Its node.
    pub(crate) name: String,
    /// The backing file as the kernel names it, in whatever namespace.
    path: PathBuf,
    /// The block device that it stands on.
    pub(crate) device: Option<Number>,
    /// The file that it stands on: its file system and inode.
    pub(crate) file: Option<(u64, u64)>,
    /// Where in the backing file it begins.
    pub(crate) offset_bytes: u64,
    /// Could not be asked: what it stands on is only concluded.
    is_guess: bool,
    /// All files that its path leads to, from one namespace or another, when it could not be asked.
    others: Vec<(u64, u64)>,
    /// Its size in bytes, and the most that it was to have.
    size_bytes: Option<u64>,
    limit_bytes: u64,
}

/// What a loop device has to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bond {
    /// It stands on it.
    Stands,
    /// It may: it cannot be asked, and nothing speaks against it.
    MayStand,
}

/// What identifies a regular file, as far as that is possible.
#[derive(Clone, Debug)]
pub(crate) struct FileIdentity {
    /// Its file system and inode.
    pub(crate) identity: (u64, u64),
    /// Its name.
    pub(crate) name: std::ffi::OsString,
    /// Its size.
    pub(crate) size_bytes: u64,
    /// It lies on an overlay: the file below has the same inode and another file system.
    pub(crate) is_overlaid: bool,
}

/// All loop devices that stand on something.
pub(crate) fn all(root: &Path) -> Vec<Backing> {
    entries(&root.join("sys/block")).iter().filter_map(|directory| of(root, directory)).collect()
}

/// What the loop device with this directory in sysfs stands on.
pub(crate) fn of(root: &Path, directory: &Path) -> Option<Backing> {
    let mut path = std::fs::read(directory.join("loop/backing_file")).ok()?;
    path.truncate(path.strip_suffix(b"\n").unwrap_or(&path).len());
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    let (owner, name) = (number_of(directory)?, node_name(directory));
    let number = |name| value(directory, name);
    let mut backing = Backing {
        owner,
        name,
        path,
        device: None,
        file: None,
        offset_bytes: number("loop/offset").unwrap_or(0),
        is_guess: false,
        others: Vec::new(),
        size_bytes: number("size").map(|sectors| sectors.saturating_mul(SECTOR)),
        limit_bytes: number("loop/sizelimit").unwrap_or(0),
    };
    match status(root, &backing) {
        Some(status) if status.block_device != 0 => {
            backing.device = Some((major(status.block_device), minor(status.block_device)));
        }
        Some(status) => backing.file = Some((status.device, status.inode)),
        // Not permitted, or no node here.
        None => backing.guess(root),
    }
    Some(backing)
}

fn status(root: &Path, backing: &Backing) -> Option<backing::LoopBacking> {
    use rustix::fd::AsFd;
    let node = mounts::seen_from(root, Path::new(&backing.name));
    if in_use_path(&node).device != Some(backing.owner) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = openat(CWD, &node, flags, Mode::empty()).ok()?;
    backing::loop_status(fd.as_fd()).ok()
}

impl Backing {
    /// Follows the path, from any namespace, to what may be meant by it.
    fn guess(&mut self, root: &Path) {
        self.is_guess = true;
        for view in mounts::views(root) {
            let path = mounts::seen_from(&view, &self.path);
            let found = in_use_path(&path);
            // Another file may have the name here.
            let size_bytes = path.metadata().map_or(0, |metadata| metadata.len());
            let file = found.file.filter(|_| self.fits(size_bytes));
            self.others.extend(found.file);
            if self.device.is_none() && self.file.is_none() {
                (self.device, self.file) = (found.device, file);
            }
        }
        let name = self.path.strip_prefix("/dev").ok().filter(|_| self.device.is_none() && self.file.is_none());
        if let Some(name) = name {
            // A device without a node here.
            let name = name.to_string_lossy().replace('/', "!");
            self.device = number_of(&root.join("sys/class/block").join(name));
        }
    }

    /// Does the loop device have the size that it would have over a file of this size? One that was extended since then is
    /// not known.
    fn fits(&self, file_bytes: u64) -> bool {
        let rest = file_bytes.saturating_sub(self.offset_bytes);
        let used = if self.limit_bytes == 0 { rest } else { rest.min(self.limit_bytes) };
        self.size_bytes.is_none_or(|bytes| bytes == used / SECTOR * SECTOR)
    }

    /// What the loop device has to do with this file. When that is unknown, it may stand on it.
    pub(crate) fn bond(&self, root: &Path, file: &FileIdentity) -> Option<Bond> {
        let is_it = |own: (u64, u64)| {
            // The same inode under another file system's number: an overlay shows one file so, and there is nothing
            // to compare but this.
            own == file.identity
                || own.1 & INODE_MASK == file.identity.1 & INODE_MASK
                    && own.0 != file.identity.0
                    && (file.is_overlaid || !self.is_plain(root, own))
        };
        if self.file.into_iter().chain(self.others.iter().copied()).any(is_it) {
            return Some(Bond::Stands);
        }
        let is_unknown = self.is_guess && self.file.is_none() && self.device.is_none();
        // A path that leads nowhere says no more than its last name.
        let may_be = || self.fits(file.size_bytes) || self.path.file_name() == Some(&file.name);
        (is_unknown && may_be()).then_some(Bond::MayStand)
    }

    /// The backing file as the kernel names it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Does the backing file surely not lie on an overlay?
    fn is_plain(&self, root: &Path, own: (u64, u64)) -> bool {
        let overlaid = |path: &Path| rustix::fs::statfs(path).map_or(true, |state| is_overlay(state.f_type));
        let mut seen = mounts::views(root).map(|view| mounts::seen_from(&view, &self.path));
        if let Some(path) = seen.find(|path| in_use_path(path).file == Some(own)) {
            return !overlaid(&path);
        }
        let number = (major(own.0), minor(own.0));
        let mut mounted = mounts::own(root).unwrap_or_default();
        mounted.extend(mounts::elsewhere(root));
        let mut kinds = mounted.iter().filter(|mount| mount.number == number).map(|mount| mount.file_system.as_str());
        kinds.next().is_some_and(|first| first != "overlay" && kinds.all(|kind| kind != "overlay"))
    }
}

/// Is this the type of an overlay, as statfs(2) gives it?
pub(crate) fn is_overlay(kind: rustix::fs::FsWord) -> bool {
    u64::try_from(kind) == Ok(OVERLAYFS_MAGIC)
}
