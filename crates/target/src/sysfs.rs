//! What sysfs and procfs say about block devices. Every function takes the root of a tree, so that tests can make one.

use crate::survey_offsets::Medium;
use rustix::fs::{FileType, major, minor};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Major and minor number of a device.
pub(crate) type Number = (u32, u32);

/// `/sys/devices/…/sda` for a device number.
pub(crate) fn directory(root: &Path, number: Number) -> Option<PathBuf> {
    std::fs::canonicalize(root.join(format!("sys/dev/block/{}:{}", number.0, number.1))).ok()
}

/// Partitions of a disk, with their directories.
pub(crate) fn partitions(directory: &Path) -> Vec<(Number, PathBuf)> {
    entries(directory)
        .into_iter()
        .filter(|path| path.join("partition").exists())
        .filter_map(|path| Some((number_of(&path)?, path)))
        .collect()
}

/// `/dev/` with the kernel's name of a device.
pub(crate) fn node_name(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().replace('!', "/");
    format!("/dev/{name}")
}

/// Reads the `dev` file of a device's directory.
pub(crate) fn number_of(directory: &Path) -> Option<Number> {
    let text = std::fs::read_to_string(directory.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A number in a file of a device's directory.
pub(crate) fn value(directory: &Path, name: &str) -> Option<u64> {
    std::fs::read_to_string(directory.join(name)).ok()?.trim().parse().ok()
}

/// Is the device set to read-only?
pub(crate) fn is_read_only(root: &Path, number: Number) -> bool {
    directory(root, number).and_then(|directory| value(&directory, "ro")) == Some(1)
}

/// Does a device have to seek? A partition has no queue of its own.
pub(crate) fn medium(root: &Path, number: Number) -> Medium {
    let rotational = directory(root, number).and_then(|directory| {
        ["queue/rotational", "../queue/rotational"].iter().find_map(|name| value(&directory, name))
    });
    if rotational == Some(1) { Medium::Rotational } else { Medium::Solid }
}

/// What a path leads to: a block device by number, a file by the number of its file system and its inode.
#[derive(Debug, Default)]
pub(crate) struct InUse {
    pub(crate) device: Option<Number>,
    pub(crate) file: Option<(u64, u64)>,
}

/// Looks up what a path leads to; nothing when it cannot be seen.
pub(crate) fn in_use_path(path: &Path) -> InUse {
    let Ok(metadata) = path.metadata() else { return InUse::default() };
    let is_device = FileType::from_raw_mode(metadata.mode()) == FileType::BlockDevice;
    InUse {
        device: is_device.then(|| (major(metadata.rdev()), minor(metadata.rdev()))),
        file: metadata.is_file().then(|| (metadata.dev(), metadata.ino())),
    }
}

/// Undoes `\040` and its like.
pub(crate) fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let digits = bytes.get(index + 1..index + 4).filter(|_| bytes[index] == b'\\');
        let code = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        out.push(code.unwrap_or(bytes[index]));
        index += if code.is_some() { 4 } else { 1 };
    }
    PathBuf::from(std::ffi::OsString::from_vec(out))
}

/// Paths in a directory, sorted; none when it cannot be read.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}
