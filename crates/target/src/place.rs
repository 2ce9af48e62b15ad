//! Directories in which no file is written, whoever made it.

use crate::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Directories of the operating system. Block devices are reached through `/dev` all the same: this list is about
/// files. `/dev/shm` is a memory file system for users and is not meant.
const SYSTEM: [&str; 13] = [
    "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/libexec", "/usr", "/boot", "/dev", "/proc",
    "/sys",
];

/// Refuses a file below a directory of the operating system. `path` has no symbolic links.
///
/// Directories are compared by device and inode as well as by name, so that a bind mount of `/etc` is still `/etc`.
pub(crate) fn check(path: &Path) -> Result<(), ErrorKind> {
    if path.starts_with("/dev/shm") {
        return Ok(());
    }
    for directory in SYSTEM {
        let identity = identity(Path::new(directory));
        let inside = path.ancestors().skip(1).any(|ancestor| {
            ancestor == Path::new(directory) || (identity.is_some() && self::identity(ancestor) == identity)
        });
        if inside {
            return Err(ErrorKind::SystemPath { directory });
        }
    }
    Ok(())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
