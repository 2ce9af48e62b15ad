//! From a path to the devices under it: partitions, loop devices, dm, md, members of a btrfs, NFS mounts.

use crate::text::small;
use rustix::fs::{FileType, major, minor};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Major and minor number of a device.
pub type DeviceNumber = (u32, u32);

/// Loop devices on files on loop devices on …: no deeper than this.
const DEPTH_MAX: usize = 8;

/// A block device under a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackingDevice {
    /// Major and minor number.
    pub number: DeviceNumber,
    /// The kernel's name, like `sda1`.
    pub name: String,
    /// How it was reached, like `/data/file → loop0 → /images/disk → sda1 → sda`.
    pub chain: String,
}

/// The mount that a path lies on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountPoint {
    /// Its number in the mount table, and that of the one that it is mounted on.
    pub(crate) ids: (u32, u32),
    /// Number that its files' `st_dev` has; major 0: not a block device's.
    pub number: DeviceNumber,
    /// Where it is mounted.
    pub mount_point: String,
    /// Type of the file system.
    pub file_system: String,
    /// What was mounted.
    pub source: String,
    /// Options of the mount and of the file system.
    pub options: String,
}

/// What lies under a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Block devices, from the top to the bottom; each once.
    pub devices: Vec<BackingDevice>,
    /// The mount that the path lies on; `None` for a device.
    pub mount: Option<MountPoint>,
    /// Mount points of NFS under the path (its own, or that of a file behind a loop device).
    pub nfs_mounts: Vec<String>,
    /// Why there are no (further) devices.
    pub reasons: Vec<String>,
}

/// The state of the machine that paths are resolved against, read once.
#[derive(Debug)]
pub struct DeviceResolver {
    root: PathBuf,
    mounts: Vec<MountPoint>,
}

impl DeviceResolver {
    /// Reads the mount table under `root` (`/` on a live system).
    #[must_use]
    pub fn new(root: &Path) -> Self {
        let text = std::fs::read(root.join("proc/self/mountinfo")).unwrap_or_default();
        let mounts = String::from_utf8_lossy(&text).lines().filter_map(parse_mount).collect();
        Self { root: root.to_owned(), mounts }
    }

    /// Finds what lies under a device or file; a file that is not there yet counts as its directory.
    #[must_use]
    pub fn resolve(&self, path: &Path) -> ResolvedPath {
        let mut found = ResolvedPath::default();
        self.path(path, &path.display().to_string(), 0, &mut found);
        found
    }

    /// Everything that is mounted, in the order of mounting.
    pub(crate) fn mounts(&self) -> &[MountPoint] {
        &self.mounts
    }

    /// The kernel's name of a device.
    pub(crate) fn name(&self, number: DeviceNumber) -> Option<String> {
        self.directory(number).map(|directory| kernel_name(&directory))
    }

    /// `/sys/devices/…/sda` of a device.
    pub(crate) fn directory(&self, number: DeviceNumber) -> Option<PathBuf> {
        std::fs::canonicalize(self.root.join(format!("sys/dev/block/{}:{}", number.0, number.1))).ok()
    }

    fn path(&self, path: &Path, chain: &str, depth: usize, found: &mut ResolvedPath) {
        if depth > DEPTH_MAX {
            found.reasons.push(format!("{chain}: stacked more than {DEPTH_MAX} deep"));
            return;
        }
        if let Some(number) = block_device(path) {
            return self.device(number, chain, depth, found);
        }
        let Some(mount) = self.mount_of(path) else {
            found.reasons.push(format!("{chain}: no mount found in the mount table"));
            return;
        };
        if found.mount.is_none() && depth == 0 {
            found.mount = Some(mount.clone());
        }
        let reason = match mount.file_system.as_str() {
            "nfs" | "nfs4" => {
                if !found.nfs_mounts.contains(&mount.mount_point) {
                    found.nfs_mounts.push(mount.mount_point.clone());
                }
                return;
            }
            "btrfs" => return self.btrfs(mount, chain, depth, found),
            "tmpfs" | "ramfs" | "devtmpfs" => "lives in memory".to_string(),
            other if mount.number.0 == 0 => format!("{other} does not tell its devices"),
            _ => return self.device(mount.number, chain, depth, found),
        };
        found.reasons.push(format!("{chain}: the file system at {} {reason}", mount.mount_point));
    }

    /// A device and everything below it.
    fn device(&self, number: DeviceNumber, chain: &str, depth: usize, found: &mut ResolvedPath) {
        if depth > DEPTH_MAX || found.devices.iter().any(|device| device.number == number) {
            return;
        }
        let Some(directory) = self.directory(number) else {
            found.reasons.push(format!("{chain}: sysfs does not show device {}:{}", number.0, number.1));
            return;
        };
        let name = kernel_name(&directory);
        let chain = if chain == format!("/dev/{name}") { chain.to_string() } else { format!("{chain} → {name}") };
        found.devices.push(BackingDevice { number, name, chain: chain.clone() });
        if directory.join("partition").exists()
            && let Some(disk) = directory.parent().and_then(number_of)
        {
            self.device(disk, &chain, depth + 1, found);
        }
        if let Some(backing) = small(&directory.join("loop/backing_file")) {
            self.path(Path::new(&backing), &format!("{chain} → {backing}"), depth + 1, found);
        }
        for slave in entries(&directory.join("slaves")) {
            if let Some(number) = number_of(&slave) {
                self.device(number, &chain, depth + 1, found);
            }
        }
    }

    /// Names of the devices below that of a folder of sysfs, all the way down, partitions' disks included.
    pub(crate) fn below(&self, directory: &Path) -> Vec<String> {
        let mut found = ResolvedPath::default();
        if let Some(number) = number_of(directory) {
            self.device(number, "", 0, &mut found);
        }
        found.devices.into_iter().skip(1).map(|device| device.name).collect()
    }

    /// The folder of a btrfs in sysfs, and its members: its `st_dev` is a number of no device, but sysfs lists the members
    /// while it is mounted.
    pub(crate) fn btrfs_members(&self, mount: &MountPoint) -> Option<(PathBuf, Vec<DeviceNumber>)> {
        let source = block_device(Path::new(&mount.source));
        let members = |file_system: &PathBuf| -> Vec<DeviceNumber> {
            entries(&file_system.join("devices")).iter().filter_map(|member| number_of(member)).collect()
        };
        let name = Path::new(&mount.source).file_name().map(|name| name.to_owned());
        let belongs = |file_system: &PathBuf| {
            members(file_system).iter().any(|number| Some(*number) == source)
                || name.as_ref().is_some_and(|name| file_system.join("devices").join(name).exists())
        };
        let folder = entries(&self.root.join("sys/fs/btrfs")).into_iter().find(belongs)?;
        let members = members(&folder);
        Some((folder, members))
    }

    /// All members of a btrfs.
    fn btrfs(&self, mount: &MountPoint, chain: &str, depth: usize, found: &mut ResolvedPath) {
        match self.btrfs_members(mount) {
            Some((_, members)) => members.into_iter().for_each(|number| self.device(number, chain, depth, found)),
            None => match block_device(Path::new(&mount.source)) {
                Some(number) => self.device(number, chain, depth, found),
                None => found.reasons.push(format!("{chain}: sysfs does not list the members of the btrfs")),
            },
        }
    }

    /// The mount that a path lies on: the longest mount point above it, the last one if several are stacked.
    fn mount_of(&self, path: &Path) -> Option<&MountPoint> {
        let resolved = resolved(path);
        self.mounts
            .iter()
            .filter(|mount| resolved.starts_with(&mount.mount_point))
            // `max_by_key` returns the last of equals, and later mounts stand later in the table.
            .max_by_key(|mount| Path::new(&mount.mount_point).components().count())
    }
}

/// The devices under all targets: number → kernel name and the targets above, with commas between.
pub(crate) fn watched(resolutions: &[(String, ResolvedPath)]) -> BTreeMap<DeviceNumber, (String, String)> {
    let mut watched: BTreeMap<DeviceNumber, (String, String)> = BTreeMap::new();
    for (target, resolution) in resolutions {
        for device in &resolution.devices {
            let entry = watched.entry(device.number).or_insert_with(|| (device.name.clone(), String::new()));
            append(&mut entry.1, target);
        }
    }
    watched
}

/// The NFS mounts under all targets: mount point → the targets above, with commas between.
pub(crate) fn watched_mounts(resolutions: &[(String, ResolvedPath)]) -> BTreeMap<String, String> {
    let mut watched: BTreeMap<String, String> = BTreeMap::new();
    for (target, resolution) in resolutions {
        for mount in &resolution.nfs_mounts {
            append(watched.entry(mount.clone()).or_default(), target);
        }
    }
    watched
}

fn append(list: &mut String, name: &str) {
    if !list.is_empty() {
        list.push(',');
    }
    list.push_str(name);
}

/// Without symbolic links; for a file that is not there, its nearest directory that is.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute
        .ancestors()
        .find_map(|ancestor| {
            let real = std::fs::canonicalize(ancestor).ok()?;
            Some(real.join(absolute.strip_prefix(ancestor).ok()?))
        })
        .unwrap_or(absolute)
}

fn block_device(path: &Path) -> Option<DeviceNumber> {
    let metadata = path.metadata().ok()?;
    let is_block = FileType::from_raw_mode(metadata.mode()) == FileType::BlockDevice;
    is_block.then(|| (major(metadata.rdev()), minor(metadata.rdev())))
}

/// The kernel's name of the device whose directory this is.
pub(crate) fn kernel_name(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().replace('!', "/")
}

fn number_of(directory: &Path) -> Option<DeviceNumber> {
    let text = small(&directory.join("dev"))?;
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` (proc(5)).
fn parse_mount(line: &str) -> Option<MountPoint> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let mut right = right.splitn(3, ' ');
    let (major, minor) = left.get(2)?.split_once(':')?;
    let file_system = right.next()?.to_string();
    let source = unescape(right.next()?);
    let options = format!("{};{}", left.get(5)?, right.next().unwrap_or_default());
    let number = (major.parse().ok()?, minor.parse().ok()?);
    let ids = (left.first()?.parse().ok()?, left.get(1)?.parse().ok()?);
    Some(MountPoint { ids, number, mount_point: unescape(left.get(4)?), file_system, source, options })
}

/// Undoes `\040` and its like.
pub(crate) fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let digits = bytes.get(index + 1..index + 4).filter(|_| bytes[index] == b'\\');
        let code = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        out.push(code.unwrap_or(bytes[index]));
        index += if code.is_some() { 4 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Paths in a directory, sorted; none when it cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(directory);
    let mut paths: Vec<PathBuf> =
        read.map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
    paths.sort();
    paths
}
