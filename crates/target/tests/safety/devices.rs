//! Block devices: loop devices of this machine.

use crate::{Flag, destroy, open_for, own_sectors, refused, spec};
use plan::OpenFlags;
use rustix::fs::{Mode, OFlags};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use target::{ErrorKind, TargetAccess, TargetKind, WritePolicy, inspect, open};
use testkit::{FileSystem, LoopDevice, MountedFileSystem, Swap, require_root_or_skip};

const MIB: u64 = 1 << 20;

fn ready(file_system: FileSystem) -> bool {
    require_root_or_skip() && (file_system.is_available() || !testkit::lacks(file_system.name()))
}

#[track_caller]
fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn mounted() {
    for file_system in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs] {
        if !ready(file_system) {
            continue;
        }
        let device = LoopDevice::new(file_system.min_bytes()).unwrap();
        // A file system that is mounted for writing changes by itself, so hashes are compared on one that is not.
        drop(MountedFileSystem::make(file_system, device.path()).unwrap());
        for (option, content) in [("rw", None), ("ro", Some(device.path()))] {
            let mounted = MountedFileSystem::mount(&["-o", option, &device.path().display().to_string()]).unwrap();
            let place = mounted.path().display().to_string();
            refused(device.path(), content, &["mounted at", &place, file_system.name(), "unmount"], Flag::None);
        }
        let _mounted = MountedFileSystem::device(device.path()).unwrap();
        // Reads need nothing of this.
        let opened = open_for(device.path(), None, TargetAccess::Read).unwrap();
        assert!(!opened.writable);
    }
}

#[test]
fn file_system_unmounted() {
    let words = |file_system| match file_system {
        FileSystem::Ext4 => ("ext2/ext3/ext4 file system", "at byte 1080"),
        FileSystem::Xfs => ("XFS file system", "at byte 0"),
        FileSystem::Btrfs => ("btrfs file system", "at byte 65600"),
    };
    for file_system in FileSystem::ALL {
        if !ready(file_system) {
            continue;
        }
        let device = LoopDevice::new(file_system.min_bytes()).unwrap();
        file_system.make(device.path()).unwrap();
        let (what, offset) = words(file_system);
        refused(device.path(), Some(device.path()), &[what, offset], Flag::Destroy);
        let finding = inspect(&spec(device.path(), None), TargetAccess::Write, &destroy(device.path())).unwrap();
        assert!(finding.to_string().contains("DESTROYS") && finding.to_string().contains(what), "{finding}");
        let opened =
            open(&spec(device.path(), None), OpenFlags::default(), TargetAccess::Write, &destroy(device.path()))
                .unwrap();
        assert!(opened.writable && opened.notes[0].contains(what), "{:?}", opened.notes);
    }
}

#[test]
fn swap() {
    if !require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(16 * MIB).unwrap();
    {
        let _swap = Swap::on(device.path()).unwrap();
        refused(device.path(), Some(device.path()), &["in use as swap", "swapoff"], Flag::None);
    }
    refused(device.path(), Some(device.path()), &["swap space at byte 4086"], Flag::Destroy);
}

#[test]
fn second_member_of_a_mounted_btrfs() {
    if !ready(FileSystem::Btrfs) {
        return;
    }
    let (first, second) = (LoopDevice::new(256 * MIB).unwrap(), LoopDevice::new(256 * MIB).unwrap());
    let names = [first.path(), second.path()].map(|path| path.display().to_string());
    testkit::mkfs_btrfs(&["-q", "-f", "-d", "raid1", "-m", "raid1", &names[0], &names[1]]).unwrap();
    run("btrfs", &["device", "scan", &names[0], &names[1]]);
    let mounted = MountedFileSystem::mount(&["-o", "ro", &names[0]]).unwrap();
    let place = mounted.path().display().to_string();
    for device in [&first, &second] {
        refused(device.path(), Some(device.path()), &["mounted at", &place, "btrfs"], Flag::None);
    }
    drop(mounted);
    for device in [&first, &second] {
        refused(device.path(), Some(device.path()), &["btrfs file system at byte 65600"], Flag::Destroy);
    }
    run("btrfs", &["device", "scan", "--forget"]);
}

/// Partition nodes of a device; made by hand, since not every kernel reads partition tables itself.
struct Partitions(String);

impl Partitions {
    fn of(device: &LoopDevice) -> Option<Self> {
        let name = device.path().display().to_string();
        let output = Command::new("partx").args(["-a", &name]).output().ok()?;
        let first = PathBuf::from(format!("{name}p1"));
        (output.status.success() || first.exists()).then_some(Self(name))
    }

    fn path(&self, number: u32) -> PathBuf {
        PathBuf::from(format!("{}p{number}", self.0))
    }
}

impl Drop for Partitions {
    fn drop(&mut self) {
        let _ = Command::new("partx").args(["-d", &self.0]).output();
    }
}

#[test]
fn partition_mounted() {
    if !ready(FileSystem::Ext4) {
        return;
    }
    let device = LoopDevice::new(64 * MIB).unwrap();
    run("sgdisk", &["-n", "1:2048:+40M", "-n", "2:0:0", &device.path().display().to_string()]);
    let Some(partitions) = Partitions::of(&device) else {
        testkit::lacks("partition nodes");
        return;
    };
    let (partition, sibling) = (partitions.path(1), partitions.path(2));
    FileSystem::Ext4.make(&partition).unwrap();
    let mounted = MountedFileSystem::mount(&["-o", "ro", &partition.display().to_string()]).unwrap();
    let place = mounted.path().display().to_string();
    refused(&partition, Some(&partition), &["mounted at", &place], Flag::None);
    let part = partition.display().to_string();
    refused(device.path(), Some(device.path()), &[&part, "mounted at", &place], Flag::None);
    // The other partition has nothing to do with it.
    assert!(open_for(&sibling, None, TargetAccess::Write).unwrap().writable);
    drop(mounted);
    refused(&partition, Some(&partition), &["ext2/ext3/ext4"], Flag::Destroy);
    {
        let _swap = Swap::on(&sibling).unwrap();
        refused(device.path(), Some(device.path()), &["in use as swap"], Flag::None);
    }
    // A partition in exclusive use makes the whole disk so.
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let _held = rustix::fs::open(&partition, flags, Mode::empty()).unwrap();
    refused(device.path(), Some(device.path()), &["opened exclusively"], Flag::None);
}

#[test]
fn partition_tables() {
    if !require_root_or_skip() {
        return;
    }
    let scratch = testkit::scratch_dir(testkit::ScratchPlace::Disk).unwrap();
    let image = scratch.path().join("disk");
    let file = std::fs::File::create(&image).unwrap();
    file.set_len(64 * MIB).unwrap();
    let name = image.display().to_string();
    run("sgdisk", &["-n", "1:2048:+40M", &name]);
    let device = LoopDevice::over(&image).unwrap();
    refused(device.path(), Some(device.path()), &["GPT partition table at byte 512"], Flag::Destroy);
    drop(device);
    // Only the backup is left.
    file.write_all_at(&vec![0; 3 << 20], 0).unwrap();
    let device = LoopDevice::over(&image).unwrap();
    refused(device.path(), Some(device.path()), &["backup GPT partition table at byte 67108352"], Flag::Destroy);
    drop(device);
    file.write_all_at(&vec![0; 1 << 20], 63 * MIB).unwrap();
    run("sh", &["-c", &format!("echo 2048,,L | sfdisk -q --label dos {name}")]);
    let device = LoopDevice::over(&image).unwrap();
    refused(device.path(), Some(device.path()), &["MBR partition table at byte 510"], Flag::Destroy);
}

#[test]
fn gpt_with_sectors_of_4096() {
    if !require_root_or_skip() {
        return;
    }
    let scratch = testkit::scratch_dir(testkit::ScratchPlace::Disk).unwrap();
    let image = scratch.path().join("disk");
    std::fs::File::create(&image).unwrap().set_len(64 * MIB).unwrap();
    let device = LoopDevice::with_options(&image, &["--sector-size=4096"]).unwrap();
    assert_eq!(open_for(device.path(), None, TargetAccess::Write).unwrap().logical_block_bytes, 4096);
    run("sgdisk", &["-n", "1:0:0", &device.path().display().to_string()]);
    refused(device.path(), Some(device.path()), &["GPT partition table at byte 4096"], Flag::Destroy);
}

#[test]
fn opened_exclusively() {
    if !require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(8 * MIB).unwrap();
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let other = rustix::fs::open(device.path(), flags, Mode::empty()).unwrap();
    refused(device.path(), Some(device.path()), &["opened exclusively by another program"], Flag::None);
    drop(other);
    // And while it is ours, no other program gets it, but one plan may name it twice.
    let opened = open_for(device.path(), None, TargetAccess::Write).unwrap();
    assert!(rustix::fs::open(device.path(), flags, Mode::empty()).is_err());
    assert!(open_for(device.path(), None, TargetAccess::Write).unwrap().writable);
    assert!(inspect(&spec(device.path(), None), TargetAccess::Write, &WritePolicy::default()).is_ok());
    assert!(rustix::fs::open(device.path(), flags, Mode::empty()).is_err());
    drop(opened);
    // A program that another test starts in this moment has it as well, until it is another program.
    let is_free = || rustix::fs::open(device.path(), flags, Mode::empty()).is_ok();
    for _ in 0..100 {
        if is_free() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{} stays taken", device.path().display());
}

#[test]
fn behind_a_loop_device() {
    if !require_root_or_skip() {
        return;
    }
    let below = LoopDevice::new(8 * MIB).unwrap();
    let above = LoopDevice::over(below.path()).unwrap();
    let name = above.path().display().to_string();
    refused(below.path(), Some(below.path()), &["behind the active loop device", &name], Flag::None);
    // The upper one itself is free to use.
    assert!(open_for(above.path(), None, TargetAccess::Write).unwrap().writable);
    if ready(FileSystem::Ext4) {
        let _mounted = MountedFileSystem::make(FileSystem::Ext4, above.path()).unwrap();
        refused(above.path(), None, &["mounted at"], Flag::None);
    }
}

#[test]
fn zeroes_and_own_data_are_free() {
    if !require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(8 * MIB).unwrap();
    let finding = inspect(&spec(device.path(), None), TargetAccess::Write, &WritePolicy::default()).unwrap();
    assert_eq!(finding.size_bytes(), 8 * MIB);
    let opened = open_for(device.path(), None, TargetAccess::Write).unwrap();
    assert_eq!((opened.size_bytes, opened.logical_block_bytes), (8 * MIB, 512));
    assert!(matches!(opened.kind, TargetKind::BlockDevice { major: 7, .. }) && opened.fill.is_none());
    let data = own_sectors(8 << 20);
    assert_eq!(rustix::io::pwrite(&opened, &data, 0).unwrap(), data.len());
    drop(opened);
    assert!(open_for(device.path(), None, TargetAccess::Write).unwrap().writable);
    // One foreign byte at either edge, also in the last sector but one, is enough.
    let file = OpenOptions::new().write(true).open(device.path()).unwrap();
    for offset in [0, 700_000, MIB - 1, 7 * MIB, 8 * MIB - 1] {
        let sector = offset / 512 * 512;
        file.write_all_at(&[0; 512], sector).unwrap();
        file.write_all_at(&[7], offset).unwrap();
        let place = format!("at byte {offset}");
        refused(device.path(), Some(device.path()), &["data that iodyno did not write (07", &place], Flag::Destroy);
        file.write_all_at(&data[..512], sector).unwrap();
        assert!(open_for(device.path(), None, TargetAccess::Write).is_ok());
    }
}

/// What the engine really writes, whole and in part, is known again.
#[test]
fn generated_content_is_ours() {
    if !require_root_or_skip() {
        return;
    }
    for compress_ratio in [1.0, 3.7, 1000.0] {
        let device = LoopDevice::new(3 * MIB).unwrap();
        let asked = plan::WriteContent { compress_ratio, ..plan::WriteContent::default() };
        let mut content =
            plan::generate::ContentGenerator::new(&asked, &[], &plan::generate::WriteVolume::alone(7, 3 * MIB))
                .unwrap();
        // A few blocks only, then everything.
        for (offset, bytes) in [(MIB - 8192, 16384), (0, 512), (3 * MIB - 4096, 4096), (0, 3 << 20)] {
            let opened = open_for(device.path(), None, TargetAccess::Write).unwrap();
            let mut data = vec![0; bytes];
            content.fill(&mut data, offset);
            assert_eq!(rustix::io::pwrite(&opened, &data, offset).unwrap(), bytes);
        }
        assert!(open_for(device.path(), None, TargetAccess::Write).is_ok(), "ratio {compress_ratio}");
    }
}

#[test]
fn read_only_and_direct() {
    if !require_root_or_skip() {
        return;
    }
    let scratch = testkit::scratch_dir(testkit::ScratchPlace::Disk).unwrap();
    let image = scratch.path().join("disk");
    std::fs::File::create(&image).unwrap().set_len(8 * MIB).unwrap();
    let device = LoopDevice::with_options(&image, &["--read-only"]).unwrap();
    let error = open_for(device.path(), None, TargetAccess::Write).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::ReadOnly), "{error}");
    assert!(inspect(&spec(device.path(), None), TargetAccess::Write, &WritePolicy::default()).is_err());
    let direct = OpenFlags { direct: true, ..OpenFlags::default() };
    let opened = open(&spec(device.path(), None), direct, TargetAccess::Read, &WritePolicy::default()).unwrap();
    assert!(opened.direct && opened.memory_align >= 1);
    // O_TRUNC, O_CREAT and their like are never let through.
    let extra = OpenFlags { extra: OFlags::TRUNC.bits(), ..OpenFlags::default() };
    let error = open(&spec(device.path(), None), extra, TargetAccess::Read, &WritePolicy::default()).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Flags { .. }), "{error}");
    let error = open_for(device.path(), Some(9 * MIB), TargetAccess::Read).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::TooSmall { .. }), "{error}");
}

#[test]
fn symbolic_links_to_devices() {
    if !require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(8 * MIB).unwrap();
    let scratch = testkit::scratch_dir(testkit::ScratchPlace::Disk).unwrap();
    let link = scratch.path().join("by-id");
    std::os::unix::fs::symlink(device.path(), &link).unwrap();
    assert!(open_for(&link, None, TargetAccess::Write).unwrap().writable);
    std::fs::write(device.path(), b"something").unwrap();
    refused(&link, Some(device.path()), &["data that iodyno did not write"], Flag::Destroy);
    // The flag may name the link or the device: both are exactly this device.
    for named in [link.as_path(), device.path()] {
        assert!(inspect(&spec(&link, None), TargetAccess::Write, &destroy(named)).is_ok());
    }
}
