//! Signatures of partition tables, file systems, and members of volume managers, for a message that helps.
//!
//! Nothing depends on this list being complete: whatever it does not know is still refused for its non-zero bytes.
//! Offsets are those of util-linux' libblkid and of each format's own documentation.

use crate::ErrorKind;
use crate::content::{Foreign, View};

/// Where a signature stands.
#[derive(Clone, Copy, Debug)]
enum At {
    /// Bytes from the start.
    Start(u64),
    /// Bytes before the end.
    End(u64),
}
use At::{End, Start};

/// What, where, which bytes.
type Magic = (&'static str, At, &'static [u8]);

/// The more telling first: a GPT disk also has an MBR, a LUKS2 header may stand on a disk with old ext4 remains.
const MAGICS: &[Magic] = &[
    ("a GPT partition table", Start(512), b"EFI PART"),
    ("a GPT partition table", Start(4096), b"EFI PART"),
    ("a backup GPT partition table", End(512), b"EFI PART"),
    ("a backup GPT partition table", End(4096), b"EFI PART"),
    ("a LUKS encrypted volume", Start(0), b"LUKS\xba\xbe"),
    ("a LUKS2 backup header", Start(0x4000), b"SKUL\xba\xbe"),
    ("a BitLocker volume", Start(3), b"-FVE-FS-"),
    ("an LVM2 physical volume", Start(0), b"LABELONE"),
    ("an LVM2 physical volume", Start(512), b"LABELONE"),
    ("an LVM2 physical volume", Start(1024), b"LABELONE"),
    ("an LVM2 physical volume", Start(1536), b"LABELONE"),
    ("a Linux md RAID member (superblock 1.1)", Start(0), &MD_MAGIC),
    ("a Linux md RAID member (superblock 1.2)", Start(4096), &MD_MAGIC),
    ("an Oracle ASM disk", Start(32), b"ORCLDISK"),
    ("an Oracle ASM disk header", Start(0), b"\x01\x82\x01\x01"),
    ("a Ceph BlueStore device", Start(0), b"bluestore block device"),
    ("a bcache device", Start(4096 + 24), b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    ("a bcachefs file system", Start(4096 + 24), b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    ("a Stratis device", Start(512 + 4), b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("a VDO volume", Start(0), b"dmvdo001"),
    ("a VMFS volume", Start(0x10_0000), b"\x0d\xd0\x01\xc0"),
    ("a VMFS file system", Start(0x20_0000), b"\x5e\xf1\xab\x2f"),
    ("a DRBD device", End(4096 - 60), b"\x83\x74\x02\x6b"),
    ("a DRBD device", End(4096 - 60), b"\x83\x74\x02\x6c"),
    ("a DRBD device", End(4096 - 60), b"\x83\x74\x02\x6d"),
    ("an Intel RAID member", End(1024), b"Intel Raid ISM Cfg Sig. "),
    ("a DDF RAID member", End(512), b"\xde\x11\xde\x11"),
    ("a btrfs file system", Start(0x1_0040), b"_BHRfS_M"),
    ("a btrfs file system (backup superblock)", Start(0x400_0040), b"_BHRfS_M"),
    ("an XFS file system", Start(0), b"XFSB"),
    ("an XFS external log", Start(0), b"\xfe\xed\xba\xbe"),
    ("swap space", Start(4096 - 10), b"SWAPSPACE2"),
    ("swap space", Start(8192 - 10), b"SWAPSPACE2"),
    ("swap space", Start(16384 - 10), b"SWAPSPACE2"),
    ("swap space", Start(65536 - 10), b"SWAPSPACE2"),
    ("swap space", Start(4096 - 10), b"SWAP-SPACE"),
    ("a hibernation image", Start(4096 - 10), b"S1SUSPEND"),
    ("a hibernation image", Start(4096 - 10), b"LINHIB0001"),
    ("an F2FS file system", Start(1024), b"\x10\x20\xf5\xf2"),
    ("an EROFS file system", Start(1024), b"\xe2\xe1\xf5\xe0"),
    ("a SquashFS file system", Start(0), b"hsqs"),
    ("an NTFS file system", Start(3), b"NTFS    "),
    ("a ReFS file system", Start(3), b"ReFS\0\0\0\0"),
    ("an exFAT file system", Start(3), b"EXFAT   "),
    ("a FAT file system", Start(0x52), b"FAT32   "),
    ("a FAT file system", Start(0x36), b"FAT16   "),
    ("a FAT file system", Start(0x36), b"FAT12   "),
    ("an ISO 9660 file system", Start(32769), b"CD001"),
    ("a UDF file system", Start(32769), b"BEA01"),
    ("a JFS file system", Start(32768), b"JFS1"),
    ("a ReiserFS file system", Start(65536 + 52), b"ReIsEr"),
    ("a GFS2 file system", Start(65536), b"\x01\x16\x19\x70"),
    ("an OCFS2 file system", Start(1024), b"OCFSV2"),
    ("an OCFS2 file system", Start(2048), b"OCFSV2"),
    ("an OCFS2 file system", Start(4096), b"OCFSV2"),
    ("an OCFS2 file system", Start(8192), b"OCFSV2"),
    ("an APFS container", Start(32), b"NXSB"),
    ("a QCOW2 disk image", Start(0), b"QFI\xfb"),
    ("a Sun disk label", Start(508), b"\xda\xbe"),
    ("an Apple partition map", Start(512), b"PM\0\0"),
    ("a BSD disk label", Start(512), b"\x57\x45\x56\x82"),
    ("a NILFS2 file system", Start(1024 + 6), b"\x34\x34"),
    ("an ext2/ext3/ext4 file system", Start(1024 + 0x38), b"\x53\xef"),
    ("an HFS+ file system", Start(1024), b"H+"),
    ("an HFS file system", Start(1024), b"BD"),
];

/// md's magic number, little-endian.
const MD_MAGIC: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];
/// The same, big-endian (only superblock 0.90 is written in the machine's own order).
const MD_MAGIC_SWAPPED: [u8; 4] = [0xa9, 0x2b, 0x4e, 0xfc];
/// ZFS: four labels of 256 KiB, two at each end.
const ZFS_LABEL_BYTES: u64 = 256 << 10;
/// ZFS: magic of an uberblock, little-endian.
const ZFS_UBERBLOCK: [u8; 8] = [0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0];

/// The first known signature on a target.
pub(crate) fn find(view: &View<'_>) -> Result<Option<Foreign>, ErrorKind> {
    for (what, at, magic) in MAGICS {
        let offset = match at {
            Start(offset) => Some(*offset),
            End(bytes) => view.size_bytes.checked_sub(*bytes),
        };
        if let Some(offset) = offset
            && stands(view, offset, magic)?
        {
            return Ok(Some(foreign(what, offset)));
        }
    }
    if let Some(found) = md_at_the_end(view)? {
        return Ok(Some(found));
    }
    if let Some(found) = zfs(view)? {
        return Ok(Some(found));
    }
    // Last, since many file systems' boot sectors look like one.
    mbr(view)
}

fn foreign(what: &str, offset: u64) -> Foreign {
    Foreign { what: what.to_string(), offset }
}

fn stands(view: &View<'_>, offset: u64, magic: &[u8]) -> Result<bool, ErrorKind> {
    Ok(view.at(offset, magic.len() as u64)?.as_deref() == Some(magic))
}

/// md 0.90 stands in the last whole 64 KiB block but one, md 1.0 in the 8 KiB before the end, aligned down to 4 KiB.
fn md_at_the_end(view: &View<'_>) -> Result<Option<Foreign>, ErrorKind> {
    let old = (view.size_bytes & !0xffff).checked_sub(0x1_0000);
    let new = (view.size_bytes / 512).checked_sub(16).map(|sector| (sector & !7) * 512);
    for (what, offset) in
        [("a Linux md RAID member (superblock 0.90)", old), ("a Linux md RAID member (superblock 1.0)", new)]
    {
        let Some(offset) = offset else { continue };
        if stands(view, offset, &MD_MAGIC)? || stands(view, offset, &MD_MAGIC_SWAPPED)? {
            return Ok(Some(foreign(what, offset)));
        }
    }
    Ok(None)
}

/// Each label is 16 KiB of other things, 112 KiB of configuration (an XDR list of names and values), and 128 KiB of
/// uberblocks, 1 KiB or more each. Labels begin at multiples of 256 KiB.
fn zfs(view: &View<'_>) -> Result<Option<Foreign>, ErrorKind> {
    let end = view.size_bytes / ZFS_LABEL_BYTES * ZFS_LABEL_BYTES;
    let labels =
        [Some(0), Some(ZFS_LABEL_BYTES), end.checked_sub(2 * ZFS_LABEL_BYTES), end.checked_sub(ZFS_LABEL_BYTES)];
    for label in labels.into_iter().flatten() {
        let uberblocks = label + ZFS_LABEL_BYTES / 2;
        let Some(ring) = view.at(uberblocks, ZFS_LABEL_BYTES / 2)? else { continue };
        for (index, slot) in ring.chunks_exact(1024).enumerate() {
            let mut swapped = ZFS_UBERBLOCK;
            swapped.reverse();
            if slot.starts_with(&ZFS_UBERBLOCK) || slot.starts_with(&swapped) {
                return Ok(Some(foreign("a ZFS pool member", uberblocks + index as u64 * 1024)));
            }
        }
        let pairs = label + (16 << 10);
        let config = view.at(pairs, 256)?.unwrap_or_default();
        // Encoding XDR (1), then the name of the first pair, "version".
        if config.first() == Some(&1) && config.windows(7).any(|name| name == b"version") {
            return Ok(Some(foreign("a ZFS pool member", pairs)));
        }
    }
    Ok(None)
}

/// `55 AA` at the end of the first sector: a partition table when an entry makes sense, otherwise a boot sector.
fn mbr(view: &View<'_>) -> Result<Option<Foreign>, ErrorKind> {
    let Some(sector) = view.at(0, 512)?.filter(|sector| sector.ends_with(&[0x55, 0xaa])) else { return Ok(None) };
    // Entry: status (0x00 or 0x80), 3 bytes, type, 3 bytes, first sector, number of sectors.
    let plausible = |entry: &[u8]| entry[0] & 0x7f == 0 && entry[4] != 0 && entry[12..16] != [0; 4];
    let table = sector[446..510].chunks_exact(16).any(plausible);
    Ok(Some(foreign(if table { "an MBR partition table" } else { "a boot sector" }, 510)))
}
