//! Devices that lost their partition table, or the beginning of a file system: what is still there is found.

use crate::{Flag, destroy, open_for, own_sectors, refused, spec};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use target::{TargetAccess, WritePolicy, inspect};
use testkit::{FileSystem, LoopDevice, ScratchPlace, lacks, require_root_or_skip, scratch_dir};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Makes a file system from `start` on a device without a partition table.
fn make_at(file_system: FileSystem, disk: &Path, start: u64, bytes: u64) {
    let (offset, size) = (format!("--offset={start}"), format!("--sizelimit={bytes}"));
    let part = LoopDevice::with_options(disk, &[&offset, &size]).unwrap();
    file_system.make(part.path()).unwrap();
    let synced = File::open(part.path()).unwrap().sync_all();
    synced.unwrap();
}

/// The case of the issue: the table is gone, the file system is there from sector 2048 on.
#[test]
fn file_systems_without_their_partition_table_are_found() {
    if !require_root_or_skip() {
        return;
    }
    for file_system in FileSystem::ALL {
        if !file_system.is_available() && lacks(file_system.name()) {
            continue;
        }
        let bytes = file_system.min_bytes();
        for sector in [63_u64, 2048] {
            let disk = LoopDevice::new(bytes + 100 * MIB).unwrap();
            make_at(file_system, disk.path(), sector * 512, bytes);
            let name = match file_system {
                FileSystem::Ext4 => "ext2/ext3/ext4 file system",
                FileSystem::Xfs => "XFS file system",
                FileSystem::Btrfs => "btrfs file system",
            };
            let place = format!("(of a partition that begins at sector {sector})");
            refused(disk.path(), None, &[name, &place], Flag::Destroy);
            let finding = inspect(&spec(disk.path(), None), TargetAccess::Write, &destroy(disk.path())).unwrap();
            assert!(finding.to_string().contains("DESTROYS"), "{finding}");
        }
    }
}

/// Empty file systems, where partitioning tools and installers put partitions on a disk of 3 TiB.
#[test]
fn partitions_anywhere_a_tool_puts_them_are_found() {
    if !require_root_or_skip() {
        return;
    }
    let size = 3 << 40;
    let device = LoopDevice::new(size).unwrap();
    // The fewest reads.
    std::fs::write(device.sysfs().join("queue/rotational"), "1").unwrap();
    let file = OpenOptions::new().write(true).open(device.path()).unwrap();
    let superblock = |at: u64| {
        let mut bytes = vec![0; 1024];
        for (offset, word) in [(0, 64_u32), (4, 1024), (0x18, 2), (0x4c, 1)] {
            bytes[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
        }
        bytes[0x38..0x3a].copy_from_slice(b"\x53\xef");
        (at, bytes, "ext2/ext3/ext4")
    };
    let magic = |at: u64, bytes: &[u8], words: &'static str| (at, bytes.to_vec(), words);
    let mut cases = vec![
        magic(63 * 512 + 3, b"NTFS    ", "an NTFS file system (of a partition that begins at sector 63)"),
        magic(MIB, b"XFSB", "an XFS file system (of a partition that begins at sector 2048)"),
        magic(MIB, b"LUKS\xba\xbe", "LUKS"),
        magic(MIB + 64 * KIB + 64, b"_BHRfS_M", "btrfs"),
        magic(MIB + 4086, b"SWAPSPACE2", "swap"),
        magic(MIB + 512, b"LABELONE", "LVM2"),
        magic(MIB + 4096, b"\xfc\x4e\x2b\xa9", "md RAID member (superblock 1.2)"),
        magic(MIB + 32, b"NXSB", "APFS"),
        magic(513 * MIB, b"XFSB", "XFS"),
        magic(117 * MIB + 3, b"NTFS    ", "NTFS"),
        magic(409_640 * 512 + 1024, b"H+", "at byte"),
        magic(100 * GIB + MIB, b"XFSB", "XFS"),
        // What a partition has at its end: md 1.0 twelve to eight KiB before, NTFS in the last sector.
        magic(513 * MIB - 8 * KIB, b"\xfc\x4e\x2b\xa9", "superblock 1.0"),
        magic(100 * GIB - 512 + 3, b"NTFS    ", "data that iodyno did not write"),
        // Second copies of what lost its first MiB.
        magic(64 * MIB + 64, b"_BHRfS_M", "btrfs file system (backup superblock)"),
        magic(
            65 * MIB + 64,
            b"_BHRfS_M",
            "btrfs file system (backup superblock) (of a partition that begins at sector 2048)",
        ),
        magic(size / 4, b"XFSB", "XFS"),
        magic(size / 4 * 3 + 8192, &[1; 16], "data that iodyno did not write (01"),
        magic(4 * MIB, b"SKUL\xba\xbe", "LUKS2 backup"),
    ];
    for start in [4 * KIB, 64 * KIB, 3 * MIB, 37 * MIB, 257 * MIB, GIB, 2 * GIB + MIB, 32 * GIB, size / 2] {
        cases.push(superblock(start + 1024));
    }
    for group in [1, 3, 5, 7, 9] {
        cases.push(superblock(group * 128 * MIB));
        cases.push(superblock(group * 128 * MIB + MIB));
    }
    for (offset, bytes, words) in cases {
        file.write_all_at(&bytes, offset).unwrap();
        let Err(error) = open_for(device.path(), None, TargetAccess::Write) else {
            panic!("{words} at {offset} is not seen")
        };
        let text = error.to_string();
        assert!(error.is_refusal() && text.contains(words), "{words} at {offset}: {text}");
        file.write_all_at(&vec![0; bytes.len()], offset).unwrap();
    }
    assert!(open_for(device.path(), None, TargetAccess::Write).is_ok());
    std::fs::write(device.sysfs().join("queue/rotational"), "0").unwrap();
}

/// Whatever fills two neighbouring parts of the 256 of which each has a sample is met, wherever it lies.
#[test]
fn foreign_data_in_the_middle_of_a_device_is_found() {
    if !require_root_or_skip() {
        return;
    }
    let size = GIB;
    let device = LoopDevice::new_in(size, ScratchPlace::Memory).unwrap();
    let file = OpenOptions::new().write(true).open(device.path()).unwrap();
    let foreign = vec![0x5a; usize::try_from(size / 128).unwrap()];
    for start in [70 * MIB + 12_345 * 512, size - 10 * MIB] {
        file.write_all_at(&foreign, start).unwrap();
        refused(device.path(), None, &["data that iodyno did not write (5a 5a"], Flag::Destroy);
        file.write_all_at(&vec![0; foreign.len()], start).unwrap();
        // The same bytes are fine when they are ours.
        file.write_all_at(&own_sectors(foreign.len()), start).unwrap();
        assert!(open_for(device.path(), None, TargetAccess::Write).is_ok());
        file.write_all_at(&vec![0; foreign.len()], start).unwrap();
    }
}

/// Number of reads and of sectors read that a device has completed.
fn reads(device: &LoopDevice) -> (u64, u64) {
    let text = std::fs::read_to_string(device.sysfs().join("stat")).unwrap();
    let numbers: Vec<u64> = text.split_ascii_whitespace().map(|word| word.parse().unwrap()).collect();
    (numbers[0], numbers[2])
}

/// docs/safety.md promises these bounds, from which follows how long an inspection takes.
#[test]
fn an_inspection_costs_a_bounded_number_of_reads() {
    if !require_root_or_skip() {
        return;
    }
    for (rotational, most_reads) in [("0", 1000), ("1", 640)] {
        let device = LoopDevice::new(4 << 40).unwrap();
        std::fs::write(device.sysfs().join("queue/rotational"), rotational).unwrap();
        let before = reads(&device);
        inspect(&spec(device.path(), None), TargetAccess::Write, &WritePolicy::default()).unwrap();
        let after = reads(&device);
        let (count, sectors) = (after.0 - before.0, after.1 - before.1);
        println!("rotational {rotational}: {count} reads of {sectors} sectors");
        std::fs::write(device.sysfs().join("queue/rotational"), "0").unwrap();
        assert!((256..=most_reads).contains(&count), "{count} reads");
        assert!(sectors <= 20 * 2048, "{sectors} sectors");
    }
}

/// A device that another program keeps open has a page cache of its own, which does not see what is written through a
/// partition.
#[test]
fn what_the_page_cache_remembers_of_an_earlier_content_is_not_believed() {
    if !require_root_or_skip() {
        return;
    }
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let image = scratch.path().join("disk");
    File::create(&image).unwrap().set_len(64 * MIB).unwrap();
    let device = LoopDevice::over(&image).unwrap();
    let kept_open = File::open(device.path()).unwrap();
    kept_open.read_exact_at(&mut vec![0; 4 << 20], 0).unwrap();
    // Below the cache, as a partition's writes are.
    let offset = format!("seek={}", 2048);
    let image = format!("of={}", image.display());
    let made = Command::new("dd")
        .args(["if=/dev/urandom", &image, "bs=512", "count=8", &offset, "conv=notrunc,fsync", "status=none"])
        .status()
        .unwrap();
    assert!(made.success());
    refused(device.path(), None, &["data that iodyno did not write"], Flag::Destroy);
    drop(kept_open);
}

/// sfdisk keeps the boot code of the first sector, and with it iodyno's mark.
#[test]
fn a_partition_table_that_was_written_behind_our_mark_is_found() {
    if !require_root_or_skip() {
        return;
    }
    if Command::new("sfdisk").arg("--version").output().is_err() {
        lacks("sfdisk");
        return;
    }
    for bytes in [8 * MIB, 64 * MIB] {
        let device = LoopDevice::new(bytes).unwrap();
        let file = OpenOptions::new().write(true).open(device.path()).unwrap();
        let size = usize::try_from(bytes).unwrap();
        file.write_all_at(&own_sectors(size), 0).unwrap();
        file.sync_all().unwrap();
        drop(file);
        open_for(device.path(), None, TargetAccess::Write).unwrap();
        let script = format!("echo ',,L' | sfdisk -q {}", device.path().display());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        let mut head = [0; 8];
        File::open(device.path()).unwrap().read_exact_at(&mut head, 0).unwrap();
        assert_eq!(head, plan::generate::SECTOR_MAGIC, "sfdisk wrote over the mark: this tests nothing");
        refused(device.path(), Some(device.backing()), &["MBR partition table"], Flag::Destroy);
    }
}
