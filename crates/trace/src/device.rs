//! Block devices by name and number.

use crate::TraceError;
use rustix::fs::{FileType, major, minor, stat};
use std::path::{Path, PathBuf};

/// A block device, or a partition of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    /// The kernel's name, like `nvme0n1`.
    pub name: String,
    /// The kernel's number: major << 20 | minor.
    pub number: u32,
}

impl BlockDevice {
    /// Finds `name`: a path (`/dev/nvme0n1`, a link to it) or the kernel's name (`nvme0n1`).
    ///
    /// # Errors
    /// No such block device.
    pub fn find(name: &str) -> Result<Self, TraceError> {
        let path = if name.contains('/') { PathBuf::from(name) } else { Path::new("/dev").join(name) };
        let found = stat(&path).ok().filter(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice);
        let (major, minor) = match found {
            Some(stat) => (major(stat.st_rdev), minor(stat.st_rdev)),
            None => sysfs_number(name)
                .ok_or_else(|| TraceError::UnknownDevice { name: name.to_string(), known: known() })?,
        };
        let number = major << 20 | minor;
        Ok(Self { name: device_name(number), number })
    }
}

impl BlockDevice {
    /// Is it a disk that turns, as far as the kernel knows?
    pub(crate) fn is_rotating(&self) -> bool {
        let at = format!("/sys/dev/block/{}:{}", self.number >> 20, self.number & 0xf_ffff);
        // A partition has no queue of its own.
        let flag = ["queue", "../queue"]
            .iter()
            .find_map(|queue| std::fs::read_to_string(format!("{at}/{queue}/rotational")).ok());
        flag.is_some_and(|flag| flag.trim() == "1")
    }
}

/// Disks of this machine that have a size.
pub(crate) fn all() -> Vec<BlockDevice> {
    known().iter().filter_map(|name| BlockDevice::find(name).ok()).collect()
}

/// Where control groups (version 2) are mounted.
#[must_use]
pub fn cgroup_root() -> PathBuf {
    // Names of mount points may be any bytes.
    let table = std::fs::read("/proc/self/mounts").unwrap_or_default();
    let mounts = String::from_utf8_lossy(&table);
    let found = mounts.lines().find_map(|line| match line.split(' ').collect::<Vec<_>>().as_slice() {
        [_, point, "cgroup2", ..] => Some(PathBuf::from(point)),
        _ => None,
    });
    found.unwrap_or_else(|| PathBuf::from("/sys/fs/cgroup"))
}

/// The number that sysfs has for a kernel's name: devices without a node in this `/dev`.
fn sysfs_number(name: &str) -> Option<(u32, u32)> {
    if name.contains('/') || name.is_empty() {
        return None;
    }
    let text = std::fs::read_to_string(Path::new("/sys/class/block").join(name).join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Disks of this machine, without those of size 0.
fn known() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| std::fs::read_to_string(entry.path().join("size")).is_ok_and(|size| size.trim() != "0"))
        .map(|entry| entry.file_name().to_string_lossy().replace('!', "/"))
        .collect();
    names.sort();
    names
}

/// The kernel's name of a device number; `major:minor` when it has gone.
#[must_use]
pub fn device_name(number: u32) -> String {
    let (major, minor) = (number >> 20, number & 0xf_ffff);
    std::fs::read_link(format!("/sys/dev/block/{major}:{minor}"))
        .ok()
        .and_then(|link| link.file_name().map(|name| name.to_string_lossy().replace('!', "/")))
        .unwrap_or_else(|| format!("{major}:{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_device_is_refused_with_the_known_ones() {
        for name in ["", "nonsense", "/etc/passwd", "/dev/null", "../block", "a/b"] {
            let error = BlockDevice::find(name).expect_err(name);
            assert!(error.is_parameter() && error.to_string().contains("no block device"), "{error}");
        }
    }

    #[test]
    fn a_number_without_a_device_stays_a_number() {
        assert_eq!(device_name(4000 << 20 | 7), "4000:7");
    }
}
