//! A name of a device for the registry, that stays when the machine starts again and the kernel numbers it anew.

use crate::sysfs::Number;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The name; `None` when nothing tells the device from others.
///
/// It is what the device calls itself (`wwid`, serial number, UUID of a volume), the file behind a loop device, or, where
/// none of these is to be had, its number since the machine was started. A partition adds its place. The size belongs to
/// it.
pub(crate) fn find(root: &Path, number: Number) -> Option<String> {
    let directory = std::fs::canonicalize(root.join(format!("sys/dev/block/{}:{}", number.0, number.1))).ok()?;
    let size = read(&directory.join("size"))?;
    let key = match read(&directory.join("partition")) {
        Some(part) => {
            let start = read(&directory.join("start"))?;
            format!("{} part={part} start={start}", of_disk(root, directory.parent()?)?)
        }
        None => of_disk(root, &directory)?,
    };
    Some(format!("device {key} sectors={size}"))
}

fn of_disk(root: &Path, directory: &Path) -> Option<String> {
    if let Some(backing) = std::fs::read_to_string(directory.join("loop/backing_file")).ok().and_then(|path| {
        let metadata = Path::new(path.trim_end_matches('\n')).metadata().ok()?;
        Some(format!("{}:{}", metadata.dev(), metadata.ino()))
    }) {
        let offset = read(&directory.join("loop/offset")).unwrap_or_default();
        return Some(format!("loop={backing} offset={offset}"));
    }
    for (name, file) in [
        ("dm", "dm/uuid"),
        ("md", "md/uuid"),
        ("wwid", "wwid"),
        ("wwid", "device/wwid"),
        ("serial", "serial"),
        ("serial", "device/serial"),
    ] {
        if let Some(text) = read(&directory.join(file)).filter(|text| !text.is_empty()) {
            return Some(format!("{name}={text}"));
        }
    }
    let boot = read(&root.join("proc/sys/kernel/random/boot_id"))?;
    Some(format!("boot={boot} seq={}", read(&directory.join("diskseq"))?))
}

/// A file of one line, in which nothing can be taken for the end of a name.
fn read(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let clean = |letter: char| if letter.is_ascii_alphanumeric() || "-.:_".contains(letter) { letter } else { '_' };
    Some(text.trim().chars().take(200).map(clean).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk 8:0 with a partition 8:1, and these files in the directory of the disk.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("sys/devices/sda");
        let write = |path: &Path, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(&disk.join("size"), "2048\n");
        write(&disk.join("sda1/size"), "1024\n");
        write(&disk.join("sda1/partition"), "1\n");
        write(&disk.join("sda1/start"), "63\n");
        write(&root.path().join("proc/sys/kernel/random/boot_id"), "b007\n");
        for (name, text) in files {
            write(&disk.join(name), text);
        }
        std::fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
        std::os::unix::fs::symlink(&disk, root.path().join("sys/dev/block/8:0")).unwrap();
        std::os::unix::fs::symlink(disk.join("sda1"), root.path().join("sys/dev/block/8:1")).unwrap();
        root
    }

    #[test]
    fn what_the_device_calls_itself_comes_before_what_the_kernel_does() {
        for (files, key) in [
            (&[("device/wwid", "t10.ATA | x\n"), ("diskseq", "4\n")][..], "wwid=t10.ATA___x"),
            (&[("serial", "S1\n"), ("wwid", "nvme.1\n")], "wwid=nvme.1"),
            (&[("serial", "S1\n")], "serial=S1"),
            (&[("dm/uuid", "LVM-1\n")], "dm=LVM-1"),
            (&[("serial", "\n"), ("diskseq", "4\n")], "boot=b007 seq=4"),
        ] {
            let root = machine(files);
            assert_eq!(find(root.path(), (8, 0)).unwrap(), format!("device {key} sectors=2048"));
            let part = format!("device {key} part=1 start=63 sectors=1024");
            assert_eq!(find(root.path(), (8, 1)).unwrap(), part);
        }
        assert_eq!(find(machine(&[]).path(), (8, 0)), None);
        assert_eq!(find(machine(&[]).path(), (9, 0)), None);
    }

    #[test]
    fn a_loop_device_is_the_file_behind_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = format!("{}\n", file.path().display());
        let root = machine(&[("loop/backing_file", &path), ("loop/offset", "0\n"), ("diskseq", "9\n")]);
        let metadata = file.path().metadata().unwrap();
        let key = format!("device loop={}:{} offset=0 sectors=2048", metadata.dev(), metadata.ino());
        assert_eq!(find(root.path(), (8, 0)).unwrap(), key);
    }
}
