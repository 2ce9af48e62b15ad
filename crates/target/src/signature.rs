//! Signatures of partition tables, file systems, and members of volume managers, for a message that helps.
//!
//! Nothing depends on this list being complete: whatever it does not know is still refused for its non-zero bytes.

use crate::ErrorKind;
use crate::foreign::{Foreign, ScannedBlocks};
use crate::magics::{
    At::{End, Start},
    HINTS, MAGICS, MD_MAGIC, Magic,
};
use crate::pattern::is_partition;
use crate::survey_offsets;

/// The same, big-endian (only superblock 0.90 is written in the machine's own order).
const MD_MAGIC_SWAPPED: [u8; 4] = [0xa9, 0x2b, 0x4e, 0xfc];
/// ZFS: four labels of 256 KiB, two at each end.
const ZFS_LABEL_BYTES: u64 = 256 << 10;
/// ZFS: magic of an uberblock, little-endian.
const ZFS_UBERBLOCK: [u8; 8] = [0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0];

/// Where most first partitions begin: there, two bytes are enough for a name.
const LIKELY_STARTS: [u64; 2] = [63 * 512, 2048 * 512];

/// The first known signature on a target.
pub(crate) fn find(view: &ScannedBlocks<'_>) -> Result<Option<Foreign>, ErrorKind> {
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
    for (what, offset) in md_at_the_end(view.size_bytes) {
        if stands(view, offset, &MD_MAGIC)? || stands(view, offset, &MD_MAGIC_SWAPPED)? {
            return Ok(Some(foreign(what, offset)));
        }
    }
    if let Some(found) = zfs(view)? {
        return Ok(Some(found));
    }
    // Last, since many file systems' boot sectors look like one.
    mbr(view)
}

/// The first known signature, among what was read, of something that begins or ends where a partition may. For what
/// [`find`] has no name for.
pub(crate) fn find_in_partitions(view: &ScannedBlocks<'_>) -> Option<Foreign> {
    let named = |what: &str, offset: u64, sector: u64| {
        foreign(&format!("{what} (of a partition that begins at sector {sector})"), offset)
    };
    for start in survey_offsets::starts(view.size_bytes) {
        let (sector, likely) = (start / 512, start == 0 || LIKELY_STARTS.contains(&start));
        let hints = HINTS.iter().filter(|_| likely);
        let strong = MAGICS.iter().filter(|(.., bytes)| start > 0 && (bytes.len() > 2 || likely));
        if let Some((what, offset)) = strong.chain(hints).find_map(|magic| at_partition(view, start, magic)) {
            return Some(if start == 0 { foreign(what, offset) } else { named(what, offset, sector) });
        }
        if start > 0 && is_ext(view, start + 1024) {
            return Some(named("an ext2/ext3/ext4 file system", start + 1024 + EXT_MAGIC, sector));
        }
        let is_md = |offset: u64| view.peek(offset, 4).is_some_and(|bytes| bytes == MD_MAGIC);
        if let Some((what, offset)) = md_at_the_end(start).find(|(_, offset)| is_md(*offset)) {
            return Some(foreign(&format!("{what} (of a partition that ends at sector {sector})"), offset));
        }
    }
    let copy = survey_offsets::copies(view.size_bytes).into_iter().find(|copy| is_ext(view, *copy));
    copy.map(|copy| foreign("an ext2/ext3/ext4 file system (backup superblock)", copy + EXT_MAGIC))
}

/// A magic that stands where a partition from `start` would have it, or one that ends there (at 0: the device itself).
fn at_partition(view: &ScannedBlocks<'_>, start: u64, (what, at, magic): &Magic) -> Option<(&'static str, u64)> {
    let end = if start == 0 { view.size_bytes } else { start };
    let offset = match at {
        Start(offset) => start.checked_add(*offset)?,
        End(bytes) => end.checked_sub(*bytes)?,
    };
    (view.peek(offset, magic.len() as u64).as_deref() == Some(magic)).then_some((*what, offset))
}

/// Offset of the magic number in ext's superblock.
const EXT_MAGIC: u64 = 0x38;

/// Is a superblock of ext2/3/4 here? Its magic number has two bytes only, so other fields must make sense as well.
fn is_ext(view: &ScannedBlocks<'_>, superblock: u64) -> bool {
    let Some(bytes) = view.peek(superblock, 0x50) else { return false };
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    // Numbers of inodes and blocks, logarithm of the block size, revision.
    bytes[0x38..].starts_with(b"\x53\xef") && word(0) > 0 && word(4) > 0 && word(0x18) <= 6 && word(0x4c) <= 1
}

fn foreign(what: &str, offset: u64) -> Foreign {
    Foreign { what: what.to_string(), offset }
}

fn stands(view: &ScannedBlocks<'_>, offset: u64, magic: &[u8]) -> Result<bool, ErrorKind> {
    Ok(view.at(offset, magic.len() as u64)?.as_deref() == Some(magic))
}

/// md 0.90 stands in the last whole 64 KiB block but one, md 1.0 in the 8 KiB before the end, aligned down to 4 KiB.
fn md_at_the_end(end: u64) -> impl Iterator<Item = (&'static str, u64)> {
    let old = (end & !0xffff).checked_sub(0x1_0000);
    let new = (end / 512).checked_sub(16).map(|sector| (sector & !7) * 512);
    let both = [("a Linux md RAID member (superblock 0.90)", old), ("a Linux md RAID member (superblock 1.0)", new)];
    both.into_iter().filter_map(|(what, offset)| Some((what, offset?)))
}

/// Each label is 16 KiB of other things, 112 KiB of configuration (an XDR list of names and values), and 128 KiB of
/// uberblocks, 1 KiB or more each. Labels begin at multiples of 256 KiB.
fn zfs(view: &ScannedBlocks<'_>) -> Result<Option<Foreign>, ErrorKind> {
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
fn mbr(view: &ScannedBlocks<'_>) -> Result<Option<Foreign>, ErrorKind> {
    let Some(sector) = view.at(0, 512)?.filter(|sector| sector.ends_with(&[0x55, 0xaa])) else { return Ok(None) };
    let table = sector[446..510].chunks_exact(16).any(is_partition);
    Ok(Some(foreign(if table { "an MBR partition table" } else { "a boot sector" }, 510)))
}
