//! Files and devices that are served to others as block devices, by the kernel or by programs.

use crate::ErrorKind;
use crate::mounts::seen_from;
use crate::sysfs::{InUse, entries, in_use_path};
use std::path::{Path, PathBuf};

/// Where the kernel's servers have the path of what they serve: SCSI targets, NVMe targets, USB storage.
const EXPORTS: [(&str, &str); 3] = [
    ("sys/kernel/config/target/core/*/*", "udev_path"),
    ("sys/kernel/config/nvmet/subsystems/*/namespaces/*", "device_path"),
    ("sys/kernel/config/usb_gadget/*/functions/*/*", "file"),
];

/// Refuses when `ours` names what the kernel serves.
pub(crate) fn check(root: &Path, ours: impl Fn(&InUse) -> Option<String>) -> Result<(), ErrorKind> {
    for (pattern, name) in EXPORTS {
        for place in matching(root, pattern) {
            let Ok(text) = std::fs::read_to_string(place.join(name)) else { continue };
            let path = Path::new(text.trim());
            if path.is_absolute()
                && let Some(what) = ours(&in_use_path(&seen_from(root, path)))
            {
                return Err(ErrorKind::Exported { what, by: format!("the kernel ({})", place.display()) });
            }
        }
    }
    Ok(())
}

/// Directories that a pattern of whole names names.
fn matching(root: &Path, pattern: &str) -> Vec<PathBuf> {
    pattern.split('/').fold(vec![root.to_owned()], |found, word| match word {
        "*" => found.iter().flat_map(|directory| entries(directory)).collect(),
        word => found.into_iter().map(|directory| directory.join(word)).collect(),
    })
}

/// Refuses a file that a program has open for writing while devices exist whose content a program serves (nbd, ublk):
/// which program serves which, the kernel does not tell.
pub(crate) fn check_servers(root: &Path, file: (u64, u64), what: &str) -> Result<(), ErrorKind> {
    let is_served = |disk: &PathBuf| {
        let name = disk.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name.starts_with("nbd") && disk.join("pid").exists()) || name.starts_with("ublkb")
    };
    let Some(disk) = entries(&root.join("sys/block")).into_iter().find(is_served) else { return Ok(()) };
    let Some(by) = writers(root, file) else { return Ok(()) };
    let name = disk.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Err(ErrorKind::Exported { what: what.to_string(), by: format!("{by}, as it seems (the device {name} is active)") })
}

fn writers(root: &Path, file: (u64, u64)) -> Option<String> {
    find_openers(root, |process, fd| {
        let name = fd.file_name().unwrap_or_default();
        let info = std::fs::read_to_string(process.join("fdinfo").join(name)).unwrap_or_default();
        let flags = info.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
        flags.is_some_and(|flags| flags & 3 != 0) && in_use_path(fd).file == Some(file)
    })
}

/// Processes that have something open, as `name (pid)`, at most three; for the message only.
pub(crate) fn openers(root: &Path, is_it: impl Fn(&InUse) -> bool) -> Option<String> {
    find_openers(root, |_, fd| is_it(&in_use_path(fd)))
}

fn find_openers(root: &Path, is_it: impl Fn(&Path, &Path) -> bool) -> Option<String> {
    let mut found = Vec::new();
    for process in entries(&root.join("proc")) {
        let pid = process.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !pid.bytes().all(|byte| byte.is_ascii_digit()) || pid == std::process::id().to_string() {
            continue;
        }
        if entries(&process.join("fd")).iter().any(|fd| is_it(&process, fd)) {
            let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
            found.push(format!("{} ({pid})", name.trim()));
        }
        if found.len() == 3 {
            break;
        }
    }
    (!found.is_empty()).then(|| found.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn write(path: PathBuf, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn identity(path: &Path) -> (u64, u64) {
        let metadata = path.metadata().unwrap();
        (metadata.dev(), metadata.ino())
    }

    #[test]
    fn what_the_kernel_serves_is_known_by_identity() {
        for place in [
            "sys/kernel/config/target/core/fileio_0/disk/udev_path",
            "sys/kernel/config/nvmet/subsystems/nqn.test/namespaces/1/device_path",
            "sys/kernel/config/usb_gadget/g1/functions/mass_storage.0/lun.0/file",
        ] {
            let root = tempfile::tempdir().unwrap();
            let disk = root.path().join("srv/disk");
            write(disk.clone(), "x");
            let (link, other) = (root.path().join("srv/hard"), root.path().join("srv/other"));
            std::fs::hard_link(&disk, &link).unwrap();
            write(other.clone(), "x");
            write(root.path().join(place), "/srv/disk\n");
            let found = |path: &Path| {
                let wanted = identity(path);
                check(root.path(), |export| (export.file == Some(wanted)).then(|| "it".to_string()))
            };
            let text = found(&link).unwrap_err().to_string();
            assert!(
                text.contains("it is served as a block device by the kernel") && text.contains("no flag"),
                "{text}"
            );
            found(&other).unwrap();
        }
    }

    #[test]
    fn a_file_that_a_program_writes_is_not_touched_while_programs_serve_disks() {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("srv/disk");
        write(disk.clone(), "x");
        let process = root.path().join("proc/4194305");
        write(process.join("comm"), "qemu-nbd\n");
        write(process.join("fdinfo/7"), "pos:\t0\nflags:\t02100002\n");
        std::fs::create_dir_all(process.join("fd")).unwrap();
        symlink(&disk, process.join("fd/7")).unwrap();
        let check = || check_servers(root.path(), identity(&disk), "the file");
        check().unwrap();
        write(root.path().join("sys/block/nbd0/pid"), "77\n");
        let text = check().unwrap_err().to_string();
        assert!(text.contains("qemu-nbd (4194305)") && text.contains("nbd0 is active"), "{text}");
        // Who only reads serves nothing that could be harmed by it.
        write(process.join("fdinfo/7"), "pos:\t0\nflags:\t02100000\n");
        check().unwrap();
    }
}
