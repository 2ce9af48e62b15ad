//! What loop devices stand on.
//!
//! A path says little: the backing file may lie in another mount namespace, have other names, or be reached through an
//! overlay. So the kernel is asked for its file system and inode.

use crate::mounts;
use crate::node::Number;
use crate::sysfs::{entries, in_use_path, node_name, number_of, value};
use rustix::fs::{CWD, Mode, OFlags, major, minor, openat};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Overlays show the inode of the file below under a number of their own for the file system.
const OVERLAYFS_MAGIC: u64 = 0x794c_7630;
/// An overlay over several file systems puts the layer's number into the upper bits of the inode.
const INODE_MASK: u64 = (1 << 48) - 1;

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
}

/// A regular file, as far as it can be told from others.
#[derive(Clone, Debug)]
pub(crate) struct FileIdentity {
    /// Its file system and inode.
    pub(crate) identity: (u64, u64),
    /// Its name.
    pub(crate) name: std::ffi::OsString,
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
    let offset_bytes = value(directory, "loop/offset").unwrap_or(0);
    let mut backing = Backing { owner, name, path, device: None, file: None, offset_bytes };
    match status(root, &backing) {
        Some(status) if status.block_device != 0 => {
            backing.device = Some((major(status.block_device), minor(status.block_device)));
        }
        Some(status) => backing.file = Some((status.device, status.inode)),
        // Not permitted, or no node here: what the path leads to, from any namespace.
        None => {
            let mut found = mounts::views(root).map(|view| in_use_path(&mounts::seen_from(&view, &backing.path)));
            if let Some(found) = found.find(|found| found.device.is_some() || found.file.is_some()) {
                (backing.device, backing.file) = (found.device, found.file);
            }
        }
    }
    Some(backing)
}

fn status(root: &Path, backing: &Backing) -> Option<backing::Loop> {
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
    /// May it be this file that the loop device stands on? When that cannot be told, it may.
    pub(crate) fn may_be(&self, root: &Path, file: &FileIdentity) -> bool {
        match self.file {
            Some(own) if own == file.identity => true,
            Some(own) => {
                // The same inode under another file system's number: an overlay shows one file so, and there is nothing
                // to compare but this.
                own.1 & INODE_MASK == file.identity.1 & INODE_MASK
                    && own.0 != file.identity.0
                    && (file.is_overlaid || !self.is_plain(root, own))
            }
            None if self.device.is_some() => false,
            // Neither may the loop device be asked nor is its path seen from here: the name is all there is.
            None => self.path.file_name() == Some(&file.name),
        }
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
