//! From the names that the probe walked to a path of this mount namespace.

use crate::device::device_name;
use std::collections::HashMap;
use std::path::Path;

/// A file as the probe saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    /// Device number of its file system: major << 20 | minor.
    pub(crate) dev: u32,
    pub(crate) inode: u64,
    /// From the file up.
    pub(crate) names: Vec<String>,
    /// Did the walk reach the file system's root?
    pub(crate) whole: bool,
    pub(crate) deleted: bool,
    /// Not a file: the block device whose number its inode is.
    pub(crate) device: bool,
}

/// One mount: the part of the file system that is seen, and where.
#[derive(Clone, Debug)]
struct Mount {
    root: String,
    point: String,
}

/// The mounts of this namespace by device number; read again when a file system is not known.
#[derive(Debug, Default)]
pub(crate) struct Mounts(HashMap<u32, Vec<Mount>>);

impl Mounts {
    /// Where a file system is seen: the mount that shows most of it.
    pub(crate) fn point(&mut self, dev: u32) -> Option<&str> {
        self.know(dev);
        let mounts = self.0.get(&dev)?;
        mounts.iter().min_by_key(|mount| mount.root.len()).map(|mount| mount.point.as_str())
    }

    /// The path of a file; `None` when the kernel had no name of it in memory.
    pub(crate) fn path(&mut self, file: &File) -> Option<String> {
        if file.device {
            return Some(format!("/dev/{}", device_name(u32::try_from(file.inode).ok()?)));
        }
        if file.names.is_empty() {
            return None;
        }
        self.know(file.dev);
        Some(join(file, self.0.get(&file.dev).map_or(&[], Vec::as_slice)))
    }

    fn know(&mut self, dev: u32) {
        if !self.0.contains_key(&dev) {
            // Names of mount points may be any bytes.
            let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
            self.0 = read(&String::from_utf8_lossy(&table));
        }
    }
}

fn join(file: &File, mounts: &[Mount]) -> String {
    let below: String = file.names.iter().rev().map(|name| format!("/{name}")).collect();
    let end = if file.deleted { " (deleted)" } else { "" };
    if !file.whole {
        return format!("…{below}{end}");
    }
    // The mount that shows most of the way.
    let seen =
        mounts.iter().filter_map(|mount| Path::new(&below).strip_prefix(&mount.root).ok().map(|rest| (mount, rest)));
    match seen.max_by_key(|(mount, _)| mount.root.len()) {
        Some((mount, rest)) => format!("{}{end}", Path::new(&mount.point).join(rest).display()),
        None => format!("{below}{end}"),
    }
}

/// Parses `/proc/PID/mountinfo` (proc(5)).
fn read(text: &str) -> HashMap<u32, Vec<Mount>> {
    let mut mounts: HashMap<u32, Vec<Mount>> = HashMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, _, numbers, root, point, ..] = words.as_slice() else { continue };
        let Some((major, minor)) = numbers.split_once(':') else { continue };
        let (Ok(major), Ok(minor)) = (major.parse::<u32>(), minor.parse::<u32>()) else { continue };
        let mount = Mount { root: unescape(root), point: unescape(point) };
        mounts.entry(major.wrapping_shl(20) | minor).or_default().push(mount);
    }
    mounts
}

/// `\040` and its like are blanks, tabs, newlines and backslashes.
fn unescape(text: &str) -> String {
    let mut out = text.to_string();
    for (code, plain) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        out = out.replace(code, plain);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
        40 22 7:1 / /mnt/with\\040blank rw - xfs /dev/loop1 rw\n\
        41 22 0:44 /@home /home rw - btrfs /dev/vdb rw\n\
        42 22 0:44 / /all rw - btrfs /dev/vdb rw\n\
        nonsense\n";

    fn check(dev: (u32, u32), names: &[&str], whole: bool, deleted: bool, expected: &str) {
        let file = File {
            dev: dev.0 << 20 | dev.1,
            inode: 1,
            names: names.iter().map(|name| (*name).to_string()).collect(),
            whole,
            deleted,
            device: false,
        };
        let mounts = read(TEXT);
        assert_eq!(join(&file, mounts.get(&file.dev).map_or(&[], Vec::as_slice)), expected);
    }

    #[test]
    fn names_become_paths_of_this_namespace() {
        check((254, 0), &["b", "a"], true, false, "/a/b");
        check((7, 1), &["f"], true, true, "/mnt/with blank/f (deleted)");
        check((0, 44), &["x", "@home"], true, false, "/home/x");
        check((0, 44), &["x", "other"], true, false, "/all/other/x");
        check((9, 9), &["y", "z"], true, false, "/z/y");
        check((254, 0), &["b", "a"], false, false, "…/a/b");
    }
}
