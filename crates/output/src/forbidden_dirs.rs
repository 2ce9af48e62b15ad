//! Places where nothing new is made: directories in which a name stands for a device, a process or a setting.

use crate::OutputError;
use rustix::fs::statfs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Directories of the system, wherever links lead there from.
const SYSTEM: [&str; 3] = ["/dev", "/proc", "/sys"];
/// What of them is for files.
const FOR_FILES: &str = "/dev/shm";
/// File systems without a disk's or a user's data, by their magic (`statfs(2)`, linux/magic.h): proc, sysfs, cgroup (1 and 2),
/// configfs, debugfs, tracefs, bpf, securityfs, efivarfs, selinuxfs, devpts, binfmt_misc, mqueue.
const MAGIC: [u64; 14] = [
    0x9fa0,
    0x6265_6572,
    0x0027_e0eb,
    0x6367_7270,
    0x6265_6570,
    0x6462_6720,
    0x7472_6163,
    0xcafe_4a11,
    0x7363_6673,
    0xde5e_81e4,
    0xf97c_ff8c,
    0x1cd1,
    0x4249_4e4d,
    0x1980_0202,
];

/// Refuses a directory of the system as the place of something new. A directory that is not there yet is judged by the
/// nearest one above it.
pub(crate) fn refuse_system(parent: &Path, path: &Path) -> Result<(), OutputError> {
    if is_of_the_system(parent) { Err(OutputError::AmongDevices(path.to_path_buf())) } else { Ok(()) }
}

/// Refuses `path` as a new directory when it lies in one of the system, where nothing new is made.
///
/// # Errors
/// [`OutputError::AmongDevices`].
pub fn check_place(path: &Path) -> Result<(), OutputError> {
    refuse_system(path.parent().unwrap_or(Path::new("")), path)
}

fn is_of_the_system(directory: &Path) -> bool {
    let Some(real) = directory.ancestors().find_map(real) else { return false };
    if real.starts_with(FOR_FILES) {
        return false;
    }
    SYSTEM.iter().any(|place| real.starts_with(place)) || has_magic(&real) || is_on_dev(&real)
}

/// Without links and `..`; `None` where it is not there.
fn real(path: &Path) -> Option<PathBuf> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    path.canonicalize().ok()
}

fn has_magic(directory: &Path) -> bool {
    statfs(directory).is_ok_and(|found| u64::try_from(found.f_type).is_ok_and(|magic| MAGIC.contains(&magic)))
}

/// Is it on the file system of `/dev`, mounted somewhere else?
fn is_on_dev(directory: &Path) -> bool {
    let device = |path: &Path| std::fs::metadata(path).ok().map(|found| found.dev());
    let dev = device(Path::new("/dev"));
    dev.is_some() && device(directory) == dev && dev != device(Path::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_new_is_made_among_devices_and_settings() {
        for place in ["/dev", "/dev/a/b", "/proc/self", "/sys/fs/cgroup", "/sys/kernel", "/dev/../dev", "/dev/fd/../no"]
        {
            assert!(is_of_the_system(Path::new(place)), "{place}");
        }
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev", place.path().join("link")).unwrap();
        assert!(is_of_the_system(&place.path().join("link/new")));
        for place in ["/dev/shm", "/dev/shm/a/b", "/tmp", "", ".", "/device/x", "/"] {
            assert!(!is_of_the_system(Path::new(place)), "{place}");
        }
        assert!(!is_of_the_system(place.path()));
    }
}
