//! Is a device or file in use by the running system? What is found here no flag overrides.
//!
//! These checks exist for a good message. The proof for devices is `O_EXCL` (see `device.rs`): mounts, swap, md,
//! dm, bcache and ZFS hold exclusive claims in the kernel, whatever mount namespace they belong to. For what covers the
//! same bytes ([`beside`]) the same claim is tried. For files and for what a loop device stands on there is no such
//! claim, and these checks are all there is.

use crate::ErrorKind;
use crate::exports;
use crate::footprint::{self, Sibling};
use crate::loop_devices::{self, Bond, FileIdentity};
use crate::mounts::{self, Mount};
use crate::node::Node;
use crate::sysfs::{InUse, Number, directory, entries, in_use_path, node_name, number_of, partitions, unescape};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Refuses a block device that shares blocks with anything in use.
pub(crate) fn check_device(root: &Path, number: Number) -> Result<(), ErrorKind> {
    let relatives = relatives(root, number);
    let mounts = mounts::own(root)?;
    check_mounts(root, &mounts, &relatives)?;
    check_swaps(root, |swap| swap.device.is_some_and(|device| relatives.contains_key(&device)))?;
    check_holders(root, &relatives)?;
    for backing in loop_devices::all(root) {
        // The loop devices that the target itself is a part of are among the relatives; they are not the users here.
        let used = backing.device.and_then(|device| relatives.get(&device));
        if let Some(what) = used.filter(|_| !relatives.contains_key(&backing.owner)) {
            return Err(ErrorKind::BacksLoop { what: what.clone(), device: backing.name });
        }
    }
    exports::check(root, |exported| relatives.get(&exported.device?).cloned())?;
    for sibling in footprint::siblings(root, number, &relatives, &footprint::kernel_tables(root)) {
        let own = BTreeMap::from([(sibling.number, as_sibling(&sibling))]);
        check_mounts(root, &mounts, &own)?;
        check_swaps(root, |swap| swap.device == Some(sibling.number))?;
        check_holders(root, &own)?;
    }
    Ok(())
}

fn as_sibling(sibling: &Sibling) -> String {
    format!("{}, which covers the same bytes,", sibling.node.display())
}

/// Devices that have to be claimed together with this one: others over the same bytes, and those that a loop device
/// stands on, which the kernel does not claim for it.
pub(crate) fn beside(root: &Path, number: Number) -> Vec<Sibling> {
    let relatives = relatives(root, number);
    let mut found = footprint::siblings(root, number, &relatives, &footprint::kernel_tables(root));
    for relative in relatives.keys() {
        let Some(below) = directory(root, *relative).and_then(|directory| below_loop(root, &directory)) else {
            continue;
        };
        if let Some(directory) = directory(root, below) {
            found.push(Sibling { number: below, node: PathBuf::from(node_name(&directory)) });
        }
    }
    found
}

/// Why a device that could not be claimed is in use: a mount in another namespace, or the process that has it open.
pub(crate) fn exclusive(root: &Path, number: Number) -> ErrorKind {
    match check_mounts(root, &mounts::elsewhere(root), &relatives(root, number)) {
        Err(found) => found,
        Ok(()) => ErrorKind::Exclusive { by: exports::openers(root, |open| open.device == Some(number)) },
    }
}

/// The same for a device over the same bytes.
pub(crate) fn exclusive_beside(root: &Path, sibling: &Sibling) -> ErrorKind {
    let own = BTreeMap::from([(sibling.number, as_sibling(sibling))]);
    match check_mounts(root, &mounts::elsewhere(root), &own) {
        Err(found) => found,
        Ok(()) => ErrorKind::ExclusiveBeside {
            what: sibling.node.display().to_string(),
            by: exports::openers(root, |open| open.device == Some(sibling.number)),
        },
    }
}

/// Refuses a file that is swapped to, mounted, exported, or stands behind a loop device; by file system and inode, under
/// whatever name and from whatever mount namespace it is used.
pub(crate) fn check_file(root: &Path, node: &Node) -> Result<(), ErrorKind> {
    let file = FileIdentity {
        identity: node.identity(),
        name: node.path.file_name().unwrap_or_default().to_owned(),
        size_bytes: u64::try_from(node.stat.st_size).unwrap_or(0),
        is_overlaid: node.is_overlaid(),
    };
    check_identity(root, &file, &node.path.display().to_string())
}

/// Refuses a file of others where loop devices cannot be seen: any of them may stand on it.
pub(crate) fn check_foreign_file(root: &Path) -> Result<(), ErrorKind> {
    std::fs::read_dir(root.join("sys/block")).map(|_| ()).map_err(|source| ErrorKind::NoSysfs { source })
}

fn check_identity(root: &Path, file: &FileIdentity, what: &str) -> Result<(), ErrorKind> {
    check_swaps(root, |swap| swap.file == Some(file.identity))?;
    if let Some(mount) = mounts::own(root)?.iter().find(|mount| mount.image == Some(file.identity)) {
        let (mount_point, file_system) = (mount.mount_point.clone(), mount.file_system.clone());
        return Err(ErrorKind::Mounted { what: what.to_string(), mount_point, file_system });
    }
    for backing in loop_devices::all(root) {
        match backing.bond(root, file) {
            Some(Bond::Stands) => {
                return Err(ErrorKind::BacksLoop { what: what.to_string(), device: backing.name.clone() });
            }
            Some(Bond::MayStand) => {
                let backing_file = backing.path().to_owned();
                return Err(ErrorKind::MayBackLoop { device: backing.name, backing_file });
            }
            None => {}
        }
    }
    exports::check(root, |exported| (exported.file == Some(file.identity)).then(|| what.to_string()))?;
    exports::check_servers(root, file.identity, what)
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
        let Some(directory) = directory(root, number) else {
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
            queue.extend(below_loop(root, disk));
        }
        queue.extend(below_loop(root, &directory));
    }
    found
}

/// The block device that a loop device stands on, if it is one.
fn below_loop(root: &Path, directory: &Path) -> Option<Number> {
    loop_devices::of(root, directory)?.device
}

fn check_mounts(root: &Path, mounts: &[Mount], relatives: &BTreeMap<Number, String>) -> Result<(), ErrorKind> {
    for mount in mounts {
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
            let is_it = |mount: &&Mount| mount.sources.iter().any(|source| members.contains(source));
            let seen = mounts.iter().find(is_it).map(|mount| mount.mount_point.clone());
            let mount_point = seen
                .or_else(|| mounts::elsewhere(root).iter().find(is_it).map(|mount| mount.mount_point.clone()))
                .unwrap_or_else(|| "a place that cannot be seen from here".to_string());
            let what = format!("the file system that {what} is a member of");
            return Err(ErrorKind::Mounted { what, mount_point, file_system: "btrfs".to_string() });
        }
    }
    Ok(())
}

fn check_swaps(root: &Path, is_ours: impl Fn(&InUse) -> bool) -> Result<(), ErrorKind> {
    let text = std::fs::read_to_string(root.join("proc/swaps")).unwrap_or_default();
    for line in text.lines().skip(1) {
        let path = unescape(line.split_ascii_whitespace().next().unwrap_or_default());
        // The name is that of the namespace in which it was turned on.
        let mut seen = mounts::views(root).map(|view| in_use_path(&mounts::seen_from(&view, &path)));
        if seen.find(|seen| seen.device.is_some() || seen.file.is_some()).is_some_and(|seen| is_ours(&seen)) {
            return Err(ErrorKind::Swap { what: path.display().to_string() });
        }
    }
    Ok(())
}

fn check_holders(root: &Path, relatives: &BTreeMap<Number, String>) -> Result<(), ErrorKind> {
    for (number, what) in relatives {
        let Some(directory) = directory(root, *number) else { continue };
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

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

    /// Two device-mapper devices over one disk, as sysfs shows them; their tables cannot be read.
    #[test]
    fn mapped_devices_over_the_disk_of_a_mounted_one_are_refused() {
        let root = machine("md0", None);
        for minor in [0, 1] {
            let mapped = root.path().join(format!("sys/devices/dm-{minor}"));
            std::fs::create_dir_all(mapped.join("slaves")).unwrap();
            std::fs::create_dir_all(root.path().join("sys/block")).unwrap();
            std::fs::write(mapped.join("dev"), format!("254:{minor}\n")).unwrap();
            symlink(root.path().join("sys/devices/sda"), mapped.join("slaves/sda")).unwrap();
            symlink(&mapped, root.path().join(format!("sys/dev/block/254:{minor}"))).unwrap();
            symlink(&mapped, root.path().join(format!("sys/block/dm-{minor}"))).unwrap();
        }
        check_device(root.path(), (254, 1)).unwrap();
        let node = |sibling: &Sibling| sibling.node.display().to_string();
        assert_eq!(beside(root.path(), (254, 1)).iter().map(node).collect::<Vec<_>>(), ["/dev/dm-0"]);
        let line = "36 35 254:0 / /data rw - ext4 /dev/mapper/one rw\n";
        std::fs::write(root.path().join("proc/self/mountinfo"), line).unwrap();
        let text = check_device(root.path(), (254, 1)).unwrap_err().to_string();
        assert!(text.contains("/dev/dm-0, which covers the same bytes, is mounted at /data (ext4)"), "{text}");
    }

    #[test]
    fn a_mount_of_another_namespace_names_a_process() {
        let root = machine("md0", None);
        for (pid, namespace) in [("self", 1), ("300", 2), ("301", 2), ("302", 1)] {
            let process = root.path().join("proc").join(pid);
            std::fs::create_dir_all(process.join("ns")).unwrap();
            symlink(format!("mnt:[{namespace}]"), process.join("ns/mnt")).unwrap();
            std::fs::write(process.join("comm"), "postgres\n").unwrap();
            let line = format!("36 35 8:{namespace} / /srv rw - xfs /dev/x rw\n");
            std::fs::write(process.join("mountinfo"), if pid == "self" { String::new() } else { line }).unwrap();
        }
        let text = exclusive(root.path(), (8, 2)).to_string();
        assert!(text.contains("/dev/sda2 is mounted at /srv in the mount namespace of postgres (300) (xfs)"), "{text}");
        // A table of our own namespace was read already; 302 is of it.
        let text = exclusive(root.path(), (8, 1)).to_string();
        assert!(text.contains("opened exclusively"), "{text}");
    }

    /// Loop devices that cannot be asked: no node in `/dev`, as in a container.
    #[test]
    fn a_loop_device_that_cannot_be_asked_is_judged_by_its_path_and_by_its_size() {
        let root = machine("md0", None);
        let attach = |minor: u32, path: &str, size_bytes: u64, offset: u64, limit: u64| {
            let device = root.path().join(format!("sys/block/loop{minor}"));
            std::fs::create_dir_all(device.join("loop")).unwrap();
            for (name, text) in [
                ("dev", format!("7:{minor}")),
                ("size", (size_bytes / 512).to_string()),
                ("loop/backing_file", path.to_string()),
                ("loop/offset", offset.to_string()),
                ("loop/sizelimit", limit.to_string()),
            ] {
                std::fs::write(device.join(name), text + "\n").unwrap();
            }
        };
        let make = |name: &str, bytes: u64| {
            let path = root.path().join("srv").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
            let metadata = path.metadata().unwrap();
            FileIdentity {
                identity: (metadata.dev(), metadata.ino()),
                name: name.into(),
                size_bytes: bytes,
                is_overlaid: false,
            }
        };
        let verdict = |file: &FileIdentity| match check_identity(root.path(), file, "it") {
            Ok(()) => "free",
            Err(ErrorKind::BacksLoop { .. }) => "stands",
            Err(ErrorKind::MayBackLoop { .. }) => "may stand",
            Err(other) => panic!("{other}"),
        };
        let mib = 1 << 20;
        // Those of snaps on the host, and one of a file that is seen from here.
        for minor in 0..40 {
            let path = format!("/var/lib/snapd/snaps/some_{minor}.snap");
            attach(minor, &path, 61 * mib + u64::from(minor) * 4096, 0, 0);
        }
        let (seen, like_it) = (make("seen", 40 * mib), make("like-it", 40 * mib));
        attach(50, "/srv/seen", 40 * mib, 0, 0);
        assert_eq!((verdict(&seen), verdict(&like_it), verdict(&make("new", 64 * mib))), ("stands", "free", "free"));
        // Its name is gone, or it lies elsewhere: one of this size may be it, also in part.
        attach(50, "/srv/seen (deleted)", 40 * mib, 0, 0);
        assert_eq!(
            (verdict(&seen), verdict(&like_it), verdict(&make("other", 41 * mib))),
            ("may stand", "may stand", "free")
        );
        attach(50, "/elsewhere/image", 39 * mib, mib, 0);
        assert_eq!((verdict(&like_it), verdict(&make("image", 8 * mib))), ("may stand", "may stand"));
        attach(50, "/elsewhere/image", 10 * mib, mib, 10 * mib);
        assert_eq!((verdict(&like_it), verdict(&make("small", 10 * mib))), ("may stand", "free"));
        // Another file has its name here.
        make("impostor", 3 * mib);
        attach(50, "/srv/impostor", 40 * mib, 0, 0);
        assert_eq!((verdict(&like_it), verdict(&make("impostor", 3 * mib))), ("may stand", "stands"));
        // A device without a node here.
        let disk = root.path().join("sys/class/block/sda1");
        std::fs::create_dir_all(&disk).unwrap();
        std::fs::write(disk.join("dev"), "8:1\n").unwrap();
        attach(50, "/dev/sda1", 40 * mib, 0, 0);
        assert_eq!(verdict(&like_it), "free");
        let text = check_device(root.path(), (8, 1)).unwrap_err().to_string();
        assert!(text.contains("/dev/loop50"), "{text}");
    }

    #[test]
    fn without_sysfs_no_file_of_others_is_written() {
        let root = machine("md0", None);
        let text = check_foreign_file(root.path()).unwrap_err().to_string();
        assert!(text.contains("mount sysfs"), "{text}");
        std::fs::create_dir_all(root.path().join("sys/block")).unwrap();
        check_foreign_file(root.path()).unwrap();
    }

    #[test]
    fn without_a_mount_table_nothing_is_proved() {
        let root = machine("md0", None);
        std::fs::remove_file(root.path().join("proc/self/mountinfo")).unwrap();
        assert!(check_device(root.path(), (8, 1)).is_err());
    }
}
