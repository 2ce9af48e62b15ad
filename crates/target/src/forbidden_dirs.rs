//! Directories in which iodyno writes no file, even one of its own.

use crate::ErrorKind;
use crate::sysfs::unescape;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Directories of the operating system. Block devices are reached through `/dev` all the same: this list is about
/// files. `/dev/shm` is a memory file system for users and is not meant.
const SYSTEM: [&str; 13] = [
    "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/libexec", "/usr", "/boot", "/dev", "/proc",
    "/sys",
];

/// Refuses a file below a directory of the operating system. `path` has no symbolic links.
///
/// Directories are compared by device and inode as well as by name, and by their place in their file system, so that a
/// bind mount of `/etc` or of `/etc/apt` is still `/etc`.
pub(crate) fn check(path: &Path) -> Result<(), ErrorKind> {
    let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mounts = String::from_utf8_lossy(&mounts);
    let inner = path.parent().and_then(|parent| place_in_file_system(parent, &mounts));
    // What is mounted below /dev/shm may still be a directory of the operating system.
    for directory in SYSTEM.into_iter().filter(|directory| *directory != "/dev" || !path.starts_with("/dev/shm")) {
        let directory_path = Path::new(directory);
        let identity = identity(directory_path);
        let named = path
            .ancestors()
            .skip(1)
            .any(|ancestor| ancestor == directory_path || (identity.is_some() && self::identity(ancestor) == identity));
        let inside = || {
            let system = place_in_file_system(&std::fs::canonicalize(directory_path).ok()?, &mounts)?;
            let inner = inner.as_ref()?;
            Some(inner.device == system.device && inner.path.starts_with(&system.path))
        };
        if named || inside() == Some(true) {
            return Err(ErrorKind::SystemPath { directory });
        }
    }
    Ok(())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Where a directory lies in its file system, wherever that, or a part of it, is mounted.
#[derive(Debug, PartialEq, Eq)]
struct Inner {
    /// `major:minor` of the file system.
    device: String,
    /// Path from its root.
    path: PathBuf,
}

/// `path` has no symbolic links; `mounts` is mountinfo.
fn place_in_file_system(path: &Path, mounts: &str) -> Option<Inner> {
    let id = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID).ok()?.stx_mnt_id;
    inner(path, id, mounts)
}

fn inner(path: &Path, id: u64, mounts: &str) -> Option<Inner> {
    // `36 35 98:0 /mnt1 /mnt2 rw,noatime …`: id, parent, device, root of the mount in its file system, mount point.
    let prefix = format!("{id} ");
    let mut words = mounts.lines().find(|line| line.starts_with(&prefix))?.split(' ').skip(2);
    let (device, root, point) = (words.next()?, words.next()?, words.next()?);
    let below = path.strip_prefix(unescape(point)).ok()?;
    Some(Inner { device: device.to_string(), path: unescape(root).join(below) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_mounted_elsewhere_keeps_its_place() {
        let mounts = "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
                      30 22 254:0 /etc/apt /mnt/my\\040apt rw - ext4 /dev/vda rw\n\
                      31 22 254:0 / /mnt/whole rw - ext4 /dev/vda rw\n\
                      32 22 0:40 / /mnt/other rw - tmpfs tmpfs rw\n";
        let place = |path: &str, id| inner(Path::new(path), id, mounts).map(|inner| (inner.device, inner.path));
        let on_disk = |path: &str| Some(("254:0".to_string(), PathBuf::from(path)));
        assert_eq!(place("/etc/apt", 22), on_disk("/etc/apt"));
        assert_eq!(place("/mnt/my apt/a/b", 30), on_disk("/etc/apt/a/b"));
        assert_eq!(place("/mnt/whole/etc", 31), on_disk("/etc"));
        assert_eq!(place("/mnt/other/etc", 32), Some(("0:40".to_string(), PathBuf::from("/etc"))));
        assert_eq!(place("/elsewhere", 30), None);
        assert_eq!(place("/etc", 2), None);
    }
}
