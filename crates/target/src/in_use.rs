//! Is a device or file in use by the running system? What is found here no flag overrides.
//!
//! These checks exist for a good message. The proof for devices is `O_EXCL` (see [`crate::device`]): mounts, swap, md,
//! dm, bcache and ZFS hold exclusive claims in the kernel, whatever mount namespace they belong to. For files and for
//! what a loop device stands on there is no such claim, and these checks are all there is.

use crate::ErrorKind;
use crate::node::{Node, Number};
use rustix::fs::{FileType, major, minor};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Refuses a block device that shares blocks with anything in use.
pub(crate) fn check_device(root: &Path, number: Number) -> Result<(), ErrorKind> {
    let relatives = relatives(root, number);
    check_mounts(root, &relatives)?;
    check_swaps(root, |swap| swap.device.is_some_and(|device| relatives.contains_key(&device)))?;
    check_holders(root, &relatives)?;
    check_loops(root, |backing| {
        // The loop devices that the target itself is a part of are among the relatives; they are not the users here.
        let used = backing.device.and_then(|device| relatives.get(&device));
        used.filter(|_| !relatives.contains_key(&backing.owner)).cloned()
    })
}

/// Is the device set to read-only?
pub(crate) fn is_read_only(root: &Path, number: Number) -> bool {
    sys_directory(root, number)
        .and_then(|directory| std::fs::read_to_string(directory.join("ro")).ok())
        .is_some_and(|text| text.trim() == "1")
}

/// Refuses a file that is swapped to or stands behind a loop device.
pub(crate) fn check_file(root: &Path, node: &Node) -> Result<(), ErrorKind> {
    let same = |file: &InUse| file.file == Some(node.identity());
    check_swaps(root, same)?;
    check_loops(root, |file| same(file).then(|| node.path.display().to_string()))
}

/// Devices that share blocks with this one, with their names: itself, its partitions, the disk that it is a partition
/// of, and, for a loop device over another device, those below.
fn relatives(root: &Path, number: Number) -> BTreeMap<Number, String> {
    let mut found = BTreeMap::new();
    let mut queue = vec![number];
    while let Some(number) = queue.pop() {
        if found.contains_key(&number) {
            continue;
        }
        let Some(directory) = sys_directory(root, number) else {
            found.insert(number, format!("device {}:{}", number.0, number.1));
            continue;
        };
        found.insert(number, node_name(&directory));
        for (number, directory) in partitions(&directory) {
            found.insert(number, node_name(&directory));
        }
        if directory.join("partition").exists()
            && let Some(disk) = directory.parent()
            && let Some(number) = number_of(disk)
        {
            // Not through the queue: the disk's other partitions are no relatives of this one.
            found.insert(number, node_name(disk));
            queue.extend(below_loop(disk));
        }
        queue.extend(below_loop(&directory));
    }
    found
}

/// The block device that a loop device stands on, if it is one.
fn below_loop(directory: &Path) -> Option<Number> {
    let backing = std::fs::read_to_string(directory.join("loop/backing_file")).ok()?;
    in_use_path(Path::new(backing.trim_end_matches('\n')), (0, 0)).device
}

/// `/sys/devices/…/sda` for a device number.
fn sys_directory(root: &Path, number: Number) -> Option<PathBuf> {
    std::fs::canonicalize(root.join(format!("sys/dev/block/{}:{}", number.0, number.1))).ok()
}

fn partitions(directory: &Path) -> Vec<(Number, PathBuf)> {
    entries(directory)
        .into_iter()
        .filter(|path| path.join("partition").exists())
        .filter_map(|path| Some((number_of(&path)?, path)))
        .collect()
}

/// `/dev/` with the kernel's name of a device.
fn node_name(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().replace('!', "/");
    format!("/dev/{name}")
}

/// Reads the `dev` file of a device's directory.
fn number_of(directory: &Path) -> Option<Number> {
    let text = std::fs::read_to_string(directory.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A line of mountinfo.
struct Mount {
    number: Number,
    mount_point: String,
    file_system: String,
    sources: Vec<Number>,
}

fn check_mounts(root: &Path, relatives: &BTreeMap<Number, String>) -> Result<(), ErrorKind> {
    let mounts = mounts(root)?;
    for mount in &mounts {
        // By the device number of the file system, and by the device that was named when it was mounted: file systems
        // over several devices have a number that belongs to none of them.
        let hit = relatives.iter().find(|(number, _)| mount.number == **number || mount.sources.contains(number));
        if let Some((_, what)) = hit {
            let (mount_point, file_system) = (mount.mount_point.clone(), mount.file_system.clone());
            return Err(ErrorKind::Mounted { what: what.clone(), mount_point, file_system });
        }
    }
    // Further members of a mounted btrfs stand in no mount table, only here, and only while it is mounted.
    for file_system in entries(&root.join("sys/fs/btrfs")) {
        let members: Vec<Number> =
            entries(&file_system.join("devices")).iter().filter_map(|member| number_of(member)).collect();
        if let Some((_, what)) = relatives.iter().find(|(number, _)| members.contains(number)) {
            let mount_point = mounts
                .iter()
                .find(|mount| mount.sources.iter().any(|source| members.contains(source)))
                .map_or_else(|| "a place that cannot be seen from here".to_string(), |mount| mount.mount_point.clone());
            let what = format!("the file system that {what} is a member of");
            return Err(ErrorKind::Mounted { what, mount_point, file_system: "btrfs".to_string() });
        }
    }
    Ok(())
}

fn mounts(root: &Path) -> Result<Vec<Mount>, ErrorKind> {
    let table = root.join("proc/self/mountinfo");
    let text = std::fs::read(&table).map_err(|error| ErrorKind::from_io("read", &table, error))?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(parse_mount).collect())
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` (proc(5)).
fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ');
    let (major, minor) = left.nth(2)?.split_once(':')?;
    let mount_point = unescape(left.nth(1)?).display().to_string();
    let mut right = right.split(' ');
    let file_system = right.next()?.to_string();
    // bcachefs names all its devices, separated by colons.
    let sources = right
        .next()
        .unwrap_or_default()
        .split(':')
        .filter_map(|source| in_use_path(&unescape(source), (0, 0)).device)
        .collect();
    Some(Mount { number: (major.parse().ok()?, minor.parse().ok()?), mount_point, file_system, sources })
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

/// Something that the kernel uses, by device number if it is a device, else by device and inode.
struct InUse {
    /// The device that uses it (loop devices).
    owner: Number,
    device: Option<Number>,
    file: Option<(u64, u64)>,
}

fn in_use_path(path: &Path, owner: Number) -> InUse {
    let metadata = path.metadata().ok();
    let is_device = |mode| FileType::from_raw_mode(mode) == FileType::BlockDevice;
    let device = metadata
        .as_ref()
        .filter(|metadata| is_device(metadata.mode()))
        .map(|metadata| (major(metadata.rdev()), minor(metadata.rdev())));
    let file = metadata.filter(|metadata| metadata.is_file()).map(|metadata| (metadata.dev(), metadata.ino()));
    InUse { owner, device, file }
}

fn check_swaps(root: &Path, is_ours: impl Fn(&InUse) -> bool) -> Result<(), ErrorKind> {
    let text = std::fs::read_to_string(root.join("proc/swaps")).unwrap_or_default();
    for line in text.lines().skip(1) {
        let path = unescape(line.split_ascii_whitespace().next().unwrap_or_default());
        if is_ours(&in_use_path(&path, (0, 0))) {
            return Err(ErrorKind::Swap { what: path.display().to_string() });
        }
    }
    Ok(())
}

fn check_holders(root: &Path, relatives: &BTreeMap<Number, String>) -> Result<(), ErrorKind> {
    for (number, what) in relatives {
        let Some(directory) = sys_directory(root, *number) else { continue };
        let holders: Vec<String> = entries(&directory.join("holders")).iter().map(|holder| describe(holder)).collect();
        if !holders.is_empty() {
            return Err(ErrorKind::Held { what: what.clone(), holders });
        }
    }
    Ok(())
}

/// `dm-0 (vg-root)` or `md127`.
fn describe(holder: &Path) -> String {
    let name = holder.file_name().unwrap_or_default().to_string_lossy();
    match std::fs::read_to_string(holder.join("dm/name")) {
        Ok(mapped) => format!("{name} ({})", mapped.trim()),
        Err(_) => name.into_owned(),
    }
}

/// Refuses when `ours` names what stands behind a loop device.
fn check_loops(root: &Path, ours: impl Fn(&InUse) -> Option<String>) -> Result<(), ErrorKind> {
    for directory in entries(&root.join("sys/block")) {
        let Ok(backing) = std::fs::read_to_string(directory.join("loop/backing_file")) else { continue };
        let owner = number_of(&directory).unwrap_or_default();
        if let Some(what) = ours(&in_use_path(Path::new(backing.trim_end_matches('\n')), owner)) {
            return Err(ErrorKind::BacksLoop { what, device: node_name(&directory) });
        }
    }
    Ok(())
}

/// Processes that have a device open, as `name (pid)`, at most three; for the message only.
pub(crate) fn openers(number: Number) -> Option<String> {
    let mut found = Vec::new();
    for process in entries(Path::new("/proc")) {
        let pid = process.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !pid.bytes().all(|byte| byte.is_ascii_digit()) || pid == std::process::id().to_string() {
            continue;
        }
        if entries(&process.join("fd")).iter().any(|fd| in_use_path(fd, (0, 0)).device == Some(number)) {
            let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
            found.push(format!("{} ({pid})", name.trim()));
        }
        if found.len() == 3 {
            break;
        }
    }
    (!found.is_empty()).then(|| found.join(", "))
}

/// Paths in a directory, sorted; none when it cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine whose disk sda (8:0) has the partitions sda1 (8:1) and sda2 (8:2), of which sda2 is a member of `above`.
    fn machine(above: &str, mapped: Option<&str>) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("sys/devices/sda");
        std::fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        std::fs::write(root.path().join("proc/self/mountinfo"), "").unwrap();
        for (directory, minor) in [(disk.clone(), 0), (disk.join("sda1"), 1), (disk.join("sda2"), 2)] {
            std::fs::create_dir_all(directory.join("holders")).unwrap();
            std::fs::write(directory.join("dev"), format!("8:{minor}\n")).unwrap();
            std::fs::write(directory.join("ro"), "0\n").unwrap();
            if minor > 0 {
                std::fs::write(directory.join("partition"), format!("{minor}\n")).unwrap();
            }
            symlink(&directory, root.path().join(format!("sys/dev/block/8:{minor}"))).unwrap();
        }
        let holder = root.path().join("sys/devices").join(above);
        std::fs::create_dir_all(&holder).unwrap();
        if let Some(mapped) = mapped {
            std::fs::create_dir(holder.join("dm")).unwrap();
            std::fs::write(holder.join("dm/name"), format!("{mapped}\n")).unwrap();
        }
        symlink(&holder, disk.join("sda2/holders").join(above)).unwrap();
        root
    }

    #[test]
    fn members_of_dm_and_md() {
        for (above, mapped, words) in [
            ("dm-0", Some("vg-root"), "/dev/sda2 is a member of dm-0 (vg-root)"),
            ("md127", None, "/dev/sda2 is a member of md127"),
        ] {
            let root = machine(above, mapped);
            for minor in [0, 2] {
                let text = check_device(root.path(), (8, minor)).unwrap_err().to_string();
                assert!(text.contains(words) && text.contains("no flag overrides this"), "{text}");
            }
            // The other partition is free.
            check_device(root.path(), (8, 1)).unwrap();
        }
    }

    #[test]
    fn mounted_by_number() {
        let root = machine("md0", None);
        let line = "36 35 8:1 / /mnt/my\\040data rw,noatime master:1 - ext4 /dev/root rw\n";
        std::fs::write(root.path().join("proc/self/mountinfo"), line).unwrap();
        for minor in [0, 1] {
            let text = check_device(root.path(), (8, minor)).unwrap_err().to_string();
            assert!(text.contains("/dev/sda1 is mounted at /mnt/my data (ext4)"), "{text}");
        }
    }

    #[test]
    fn member_of_btrfs_mounted_elsewhere() {
        let root = machine("md0", None);
        let members = root.path().join("sys/fs/btrfs/f00d/devices");
        std::fs::create_dir_all(&members).unwrap();
        symlink(root.path().join("sys/devices/sda/sda1"), members.join("sda1")).unwrap();
        let text = check_device(root.path(), (8, 1)).unwrap_err().to_string();
        assert!(text.contains("the file system that /dev/sda1 is a member of is mounted"), "{text}");
    }

    #[test]
    fn without_a_mount_table_nothing_is_proved() {
        let root = machine("md0", None);
        std::fs::remove_file(root.path().join("proc/self/mountinfo")).unwrap();
        assert!(check_device(root.path(), (8, 1)).is_err());
    }
}
