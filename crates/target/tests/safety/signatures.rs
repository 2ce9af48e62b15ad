//! What cannot be made on every machine, as bytes where each format puts them: in a file of iodyno's own and on a loop
//! device.

use crate::{Flag, open_for, own_sectors, refused};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use target::TargetAccess;
use testkit::{LoopDevice, ScratchPlace, require_root_or_skip, scratch_dir};

const SIZE: u64 = (80 << 20) + 3 * 512;

/// What the message says, where the bytes stand, the bytes.
fn fixtures() -> Vec<(&'static str, u64, Vec<u8>)> {
    let md = 0xa92b_4efc_u32.to_le_bytes().to_vec();
    let zfs = 0x00ba_b10c_u64;
    let zfs_end = SIZE / (256 << 10) * (256 << 10);
    let mut nvlist = vec![1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x24, 0, 0, 0, 0x20, 0, 0, 0, 7];
    nvlist.extend(b"version");
    let mut lvm = b"LABELONE".to_vec();
    lvm.extend([1, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0]);
    lvm.extend(b"LVM2 001");
    let mut mbr = vec![0; 66];
    mbr[4] = 0x83;
    mbr[12] = 1;
    mbr[64..].copy_from_slice(&[0x55, 0xaa]);
    vec![
        ("md RAID member (superblock 0.90)", (SIZE & !0xffff) - 0x1_0000, md.clone()),
        ("md RAID member (superblock 0.90)", (SIZE & !0xffff) - 0x1_0000, md.iter().rev().copied().collect()),
        ("md RAID member (superblock 1.0)", ((SIZE / 512 - 16) & !7) * 512, md.clone()),
        ("md RAID member (superblock 1.1)", 0, md.clone()),
        ("md RAID member (superblock 1.2)", 4096, md),
        ("LVM2 physical volume", 0, lvm.clone()),
        ("LVM2 physical volume", 512, lvm.clone()),
        ("LVM2 physical volume", 1536, lvm),
        ("ZFS pool member", 128 << 10, zfs.to_le_bytes().to_vec()),
        ("ZFS pool member", (256 << 10) + (130 << 10), zfs.to_be_bytes().to_vec()),
        ("ZFS pool member", zfs_end - (512 << 10) + (255 << 10), zfs.to_le_bytes().to_vec()),
        ("ZFS pool member", zfs_end - (256 << 10) + (128 << 10), zfs.to_le_bytes().to_vec()),
        ("ZFS pool member", zfs_end - (256 << 10) + (16 << 10), nvlist),
        ("Oracle ASM disk", 32, b"ORCLDISKVOL1".to_vec()),
        ("Oracle ASM disk header", 0, vec![1, 0x82, 1, 1]),
        ("LUKS encrypted volume", 0, b"LUKS\xba\xbe\0\x01".to_vec()),
        ("LUKS encrypted volume", 0, b"LUKS\xba\xbe\0\x02".to_vec()),
        ("LUKS2 backup header", 0x4000, b"SKUL\xba\xbe\0\x02".to_vec()),
        ("Ceph BlueStore", 0, b"bluestore block device\n".to_vec()),
        ("bcache device", 4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81".to_vec()),
        ("VMFS volume", 1 << 20, b"\x0d\xd0\x01\xc0".to_vec()),
        ("VMFS file system", 2 << 20, b"\x5e\xf1\xab\x2f".to_vec()),
        ("DRBD device", SIZE - 4096 + 60, b"\x83\x74\x02\x6b".to_vec()),
        ("DRBD device", SIZE - 4096 + 60, b"\x83\x74\x02\x6d".to_vec()),
        ("swap space", 4086, b"SWAPSPACE2".to_vec()),
        ("F2FS", 1024, b"\x10\x20\xf5\xf2".to_vec()),
        ("NTFS", 3, b"NTFS    ".to_vec()),
        ("exFAT", 3, b"EXFAT   ".to_vec()),
        ("FAT file system", 0x52, b"FAT32   ".to_vec()),
        ("ISO 9660", 32769, b"CD001".to_vec()),
        ("EROFS", 1024, b"\xe2\xe1\xf5\xe0".to_vec()),
        ("SquashFS", 0, b"hsqs".to_vec()),
        ("XFS", 0, b"XFSB".to_vec()),
        ("ext2/ext3/ext4", 1080, b"\x53\xef".to_vec()),
        ("btrfs file system", 65600, b"_BHRfS_M".to_vec()),
        ("btrfs file system (backup superblock)", (64 << 20) + 64, b"_BHRfS_M".to_vec()),
        ("backup GPT", SIZE - 512, b"EFI PART".to_vec()),
        ("MBR partition table", 446, mbr),
        ("boot sector", 510, vec![0x55, 0xaa]),
    ]
}

#[test]
fn in_own_files() {
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let path = scratch.path().join("file");
    drop(open_for(&path, Some(SIZE), TargetAccess::Write).unwrap());
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    for (words, offset, bytes) in fixtures() {
        file.write_all_at(&bytes, offset).unwrap();
        refused(&path, None, &[words, "at byte"], Flag::Destroy);
        file.write_all_at(&vec![0; bytes.len()], offset).unwrap();
        assert!(open_for(&path, None, TargetAccess::Write).is_ok(), "{words} is gone");
    }
}

#[test]
fn on_devices() {
    if !require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(SIZE).unwrap();
    let file = OpenOptions::new().write(true).open(device.path()).unwrap();
    for (index, (words, offset, bytes)) in fixtures().into_iter().enumerate() {
        file.write_all_at(&bytes, offset).unwrap();
        // Hashing 80 MB each time would take long and prove the same.
        let content = (index % 8 == 0).then_some(device.path());
        refused(device.path(), content, &[words, "at byte"], Flag::Destroy);
        file.write_all_at(&vec![0; bytes.len()], offset).unwrap();
    }
    assert!(open_for(device.path(), None, TargetAccess::Write).is_ok());
}

/// Our own data is random: each of these signatures stands in it sooner or later, and must not be taken for one.
#[test]
fn inside_our_own_sectors_they_mean_nothing() {
    if !require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(SIZE).unwrap();
    let file = OpenOptions::new().write(true).open(device.path()).unwrap();
    for edge in [0, SIZE - (2 << 20) - 512] {
        file.write_all_at(&own_sectors((2 << 20) + 512), edge).unwrap();
    }
    file.write_all_at(&own_sectors(512), 64 << 20).unwrap();
    for (words, offset, bytes) in fixtures() {
        // One that covers the first 8 bytes of a sector replaces our magic and is rightly refused.
        let covers_magic = (offset..offset + bytes.len() as u64).any(|byte| byte % 512 < 8);
        // All of a partition table is no accident: tools that write one keep what is before it in the sector.
        let is_table = offset == 446 && bytes.len() == 66;
        let mut before = vec![0; bytes.len()];
        let reader = std::fs::File::open(device.path()).unwrap();
        reader.read_exact_at(&mut before, offset).unwrap();
        file.write_all_at(&bytes, offset).unwrap();
        let result = open_for(device.path(), None, TargetAccess::Write);
        assert_eq!(
            result.is_err(),
            covers_magic || is_table,
            "{words} at {offset}: {:?}",
            result.err().map(|error| error.to_string())
        );
        file.write_all_at(&before, offset).unwrap();
    }
}
