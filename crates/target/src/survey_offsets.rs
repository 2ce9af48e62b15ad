//! Which parts of a device are read before anything on it is written.
//!
//! A device may have lost its partition table, or its first MiB, and still hold file systems. So the survey reads where
//! partitions begin and end by the habits of partitioning tools, where formats keep second copies of what describes
//! them, and samples over the whole device. What it reads must be zero or iodyno's own, each byte.

use crate::magics::{At, MAGICS};
use std::ops::Range;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Up to this size, all of a device is read.
pub(crate) const WHOLE_BYTES: u64 = 16 * MIB;
/// What the first partition of most disks begins with lies within.
const HEAD_BYTES: u64 = MIB + 512 * KIB;
/// Backup tables and superblocks of the whole device and of a partition up to its end.
const TAIL_BYTES: u64 = MIB;
/// The largest read.
pub(crate) const READ_BYTES: u64 = 256 * KIB;
/// Parts closer to each other than this are read at once.
const GAP_BYTES: u64 = 16 * KIB;
/// Size of a sample.
const SAMPLE_BYTES: u64 = 8 * KIB;
/// Places at which something foreign was found that are remembered of a device.
pub(crate) const MAX_REMEMBERED: usize = 16;
/// Where the samples' fixed places come from: any number will do, as long as it stays.
const FIXED_SEED: u64 = 0x10d1_4000_0000_0001;

/// What a read costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Where it lies does not matter.
    Solid,
    /// A seek each.
    Rotational,
}

impl Medium {
    /// Samples over the whole device: in so many equal parts, one each.
    fn samples(self) -> u64 {
        match self {
            Self::Solid => 512,
            Self::Rotational => 256,
        }
    }
}

/// A partition may begin at each of so many MiB.
const NEAR_MIB: u64 = 64;
/// Where partitions begin that are the first on their disk, in sectors: DOS, GPT's first usable one, Apple.
const SECTORS: [u64; 4] = [63, 34, 40, 409_640];
/// Sizes of EFI, boot, recovery and swap partitions in MiB, alone and one after the other, as installers make them.
const FIRST_SIZES_MIB: [u64; 45] = [
    99, 100, 116, 117, 128, 200, 250, 256, 260, 276, 300, 316, 350, 384, 400, 450, 488, 500, 512, 513, 514, 528, 550,
    600, 700, 750, 768, 800, 954, 1000, 1001, 1012, 1074, 1100, 1200, 1500, 1536, 1624, 2000, 2098, 2560, 3584, 4608,
    8704, 16_896,
];
/// Sizes that people choose, in GiB.
const ROUND_SIZES_GIB: [u64; 30] = [
    1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 16, 20, 24, 25, 30, 32, 40, 50, 60, 64, 80, 100, 128, 200, 256, 500, 512, 1000,
    1024,
];
/// ext2/3/4 keep copies of the superblock in these groups; a group of 4 KiB blocks is 128 MiB.
const EXT_GROUPS: [u64; 8] = [1, 3, 5, 7, 9, 25, 27, 49];
const EXT_GROUP_BYTES: u64 = 128 * MIB;
/// Parts of a disk that are split evenly.
const FRACTIONS: [(u64, u64); 9] = [(1, 2), (1, 3), (2, 3), (1, 4), (3, 4), (1, 5), (1, 10), (9, 10), (1, 8)];

/// Where partitions, and file systems without one, may begin on a device of `size_bytes`; the first is 0.
pub(crate) fn starts(size_bytes: u64) -> Vec<u64> {
    let mut found = vec![0];
    found.extend(SECTORS.map(|sector| sector * 512));
    // The metadata of md 1.2, bcache, LVM, LUKS before the data.
    found.extend((12..20).map(|power| 1 << power));
    found.extend((1..=NEAR_MIB).map(|mib| mib * MIB));
    found.extend(FIRST_SIZES_MIB.iter().flat_map(|mib| [mib * MIB, (mib + 1) * MIB]));
    found.extend(ROUND_SIZES_GIB.iter().flat_map(|gib| [gib * GIB, gib * GIB + MIB]));
    found.extend(FRACTIONS.iter().flat_map(|(part, of)| {
        let start = size_bytes / of * part / MIB * MIB;
        [start, start + MIB]
    }));
    found.retain(|start| *start < size_bytes);
    found.sort_unstable();
    found.dedup();
    found
}

/// Where second copies lie of file systems that begin at 0 or at 1 MiB: superblocks of ext and btrfs, XFS' allocation
/// groups.
pub(crate) fn copies(size_bytes: u64) -> Vec<u64> {
    let mut found: Vec<u64> =
        EXT_GROUPS.iter().flat_map(|group| [group * EXT_GROUP_BYTES, group * EXT_GROUP_BYTES + MIB]).collect();
    found.extend([64 * MIB, 65 * MIB, 256 * GIB, 256 * GIB + MIB]);
    // mkfs.xfs makes four groups up to 4 TiB, in whole blocks.
    for (start, end) in [(0, size_bytes), (MIB, size_bytes / MIB * MIB), (MIB, size_bytes.saturating_sub(MIB))] {
        let blocks = end.saturating_sub(start) / (4 * KIB);
        found.extend((1..4).map(|group| start + blocks.div_ceil(4) * group * 4 * KIB));
    }
    found.retain(|copy| *copy < size_bytes);
    found.sort_unstable();
    found.dedup();
    found
}

/// What is read of a device of `size_bytes`, in order, without overlaps, in reads of at most 256 KiB (a whole number of
/// 4 KiB or `block_bytes`, whichever is larger, except at the end). `remembered` are places that are looked at as well;
/// `random` chooses those of half of the samples.
pub(crate) fn parts(
    size_bytes: u64,
    block_bytes: u64,
    medium: Medium,
    remembered: &[u64],
    mut random: impl FnMut() -> u64,
) -> Vec<Range<u64>> {
    let mut wanted = Vec::new();
    let places = remembered.iter().filter(|place| **place < size_bytes).take(MAX_REMEMBERED);
    wanted.extend(places.map(|place| *place..(place + 1).next_multiple_of(512)));
    if size_bytes <= WHOLE_BYTES {
        wanted.push(0..size_bytes);
    } else {
        wanted.push(0..HEAD_BYTES);
        wanted.push(size_bytes - TAIL_BYTES..size_bytes);
        for (_, at, magic) in MAGICS {
            let start = match at {
                At::Start(offset) => *offset,
                At::End(bytes) => size_bytes - bytes,
            };
            wanted.push(start..start + magic.len() as u64);
        }
        for start in starts(size_bytes) {
            wanted.extend(around(start, medium));
        }
        wanted.extend(copies(size_bytes).into_iter().map(|copy| copy.saturating_sub(4 * KIB)..copy + 4 * KIB));
        wanted.extend(samples(size_bytes, block_bytes.max(4 * KIB), medium, &mut random));
    }
    merge(wanted, size_bytes, block_bytes.max(4 * KIB))
}

/// What a partition that begins at `start`, and one that ends there, have at that edge: md 1.0, DRBD, backups of NTFS
/// before it; boot sectors, superblocks, labels of volume managers, ZFS' configuration behind; btrfs, ReiserFS and GFS2
/// after 64 KiB.
fn around(start: u64, medium: Medium) -> impl Iterator<Item = Range<u64>> {
    let far = (medium == Medium::Solid).then(|| start + 60 * KIB..start + 68 * KIB);
    std::iter::once(start.saturating_sub(12 * KIB)..start + 20 * KIB).chain(far)
}

/// A sample in each of many equal parts of the device: three of four at a whole MiB, where partitions like to begin, the
/// others anywhere. Half of each kind are always in the same places, so that an inspection that is repeated does not find
/// less than the one before; the others are elsewhere each time.
fn samples(size_bytes: u64, block_bytes: u64, medium: Medium, random: &mut impl FnMut() -> u64) -> Vec<Range<u64>> {
    let (count, bytes) = (medium.samples(), SAMPLE_BYTES.max(block_bytes));
    let length = size_bytes / count;
    let mut state = FIXED_SEED;
    let mut fixed = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        state >> 20
    };
    let mut place = |index: u64| {
        let first = (index * length).next_multiple_of(block_bytes);
        let choice = ((index + 1) * length).saturating_sub(bytes).saturating_sub(first) / block_bytes;
        let number = if index.is_multiple_of(2) { fixed() } else { random() };
        let anywhere = first + number % (choice + 1) * block_bytes;
        let aligned = if index % 8 < 6 { anywhere / MIB * MIB } else { anywhere };
        let start = if aligned >= first { aligned } else { anywhere };
        start..start + bytes
    };
    (0..count).map(&mut place).collect()
}

/// Rounds to whole blocks, joins what touches or nearly does, and cuts into reads.
fn merge(mut wanted: Vec<Range<u64>>, size_bytes: u64, block_bytes: u64) -> Vec<Range<u64>> {
    for part in &mut wanted {
        part.start = part.start / block_bytes * block_bytes;
        part.end = part.end.next_multiple_of(block_bytes).min(size_bytes);
    }
    wanted.retain(|part| part.start < part.end);
    wanted.sort_unstable_by_key(|part| part.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for part in wanted {
        match joined.last_mut() {
            Some(last) if part.start <= last.end + GAP_BYTES => last.end = last.end.max(part.end),
            _ => joined.push(part),
        }
    }
    let step = READ_BYTES.next_multiple_of(block_bytes);
    let cut = |part: Range<u64>| {
        let count = (part.end - part.start).div_ceil(step);
        (0..count).map(move |index| part.start + index * step..(part.start + (index + 1) * step).min(part.end))
    };
    joined.into_iter().flat_map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds that docs/safety.md names.
    const MOST_READS: [(Medium, usize); 2] = [(Medium::Solid, 1000), (Medium::Rotational, 640)];
    const MOST_BYTES: u64 = 20 * MIB;

    fn counter() -> impl FnMut() -> u64 {
        let mut state = 7_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 20
        }
    }

    fn covers(parts: &[Range<u64>], range: Range<u64>) -> bool {
        let mut at = range.start;
        for part in parts {
            if part.start <= at && at < part.end {
                at = part.end;
            }
        }
        at >= range.end
    }

    #[test]
    fn reads_are_few_in_order_and_whole_blocks() {
        let sizes = [512, 8 * MIB, WHOLE_BYTES, WHOLE_BYTES + 512, 80 * MIB + 1536, GIB, 100 * GIB, 1 << 42, 1 << 55];
        for (medium, most) in MOST_READS {
            for size in sizes {
                for block in [512, 4096, 16_384_u64] {
                    let size = size.next_multiple_of(block);
                    let parts = parts(size, block, medium, &[], counter());
                    let bytes: u64 = parts.iter().map(|part| part.end - part.start).sum();
                    assert!(parts.len() <= most, "{medium:?} {size}: {} reads", parts.len());
                    // Blocks of 16 KiB are read whole, whatever is wanted of them.
                    let most = if block <= 4096 { MOST_BYTES } else { 2 * MOST_BYTES };
                    assert!(bytes <= most, "{medium:?} {size}: {bytes} bytes");
                    assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start));
                    for part in parts {
                        assert!(part.start.is_multiple_of(block) && part.end.is_multiple_of(block), "{part:?}");
                        assert!(part.end <= size && part.end - part.start <= READ_BYTES);
                    }
                }
            }
        }
    }

    #[test]
    fn where_file_systems_describe_themselves_is_read_whole() {
        for (medium, size) in [(Medium::Solid, 1 << 40), (Medium::Rotational, 1 << 40), (Medium::Rotational, GIB)] {
            let parts = parts(size, 512, medium, &[], counter());
            assert!(covers(&parts, 0..MIB) && covers(&parts, size - MIB..size));
            let beginnings = [63 * 512, MIB, 2 * MIB, 37 * MIB, 64 * MIB, 101 * MIB, 117 * MIB, 513 * MIB, size / 2];
            for start in beginnings.into_iter().filter(|start| *start < size) {
                assert!(covers(&parts, start..start + 8192), "from {start}");
                assert!(covers(&parts, start - 12 * KIB..start), "before {start}");
            }
            // btrfs from sector 2048; ext's first copies; btrfs' second ones; LUKS2's last.
            for place in [MIB + 64 * KIB, 128 * MIB, 129 * MIB, 64 * MIB, 65 * MIB, 4 * MIB] {
                assert!(covers(&parts, place..place + 4096), "at {place}");
            }
            let samples = samples(size, 4 * KIB, medium, &mut counter());
            assert!(samples.len() as u64 >= 256 && samples.iter().all(|sample| covers(&parts, sample.clone())));
        }
    }

    #[test]
    fn samples_reach_every_part_of_the_device() {
        let size = 1 << 40;
        let parts = parts(size, 512, Medium::Rotational, &[], counter());
        for slice in 0..256_u64 {
            let slice = slice * (size / 256)..(slice + 1) * (size / 256);
            assert!(parts.iter().any(|part| slice.contains(&part.start)), "{slice:?}");
        }
    }

    #[test]
    fn remembered_places_are_read_and_half_of_the_samples_stay_where_they_are() {
        let size = 20 * GIB;
        let places = [777 * MIB + 1080, 9 * GIB + 12_345_678, size - 1, size + 4096];
        for medium in [Medium::Solid, Medium::Rotational] {
            let parts = parts(size, 512, medium, &places, counter());
            for place in places.into_iter().filter(|place| *place < size) {
                let sector = place / 512 * 512;
                assert!(covers(&parts, sector..sector + 512), "{place}");
            }
            let mut other = 0;
            let mut others = || {
                other += 99_991;
                other
            };
            let (one, two) = (samples(size, 4096, medium, &mut counter()), samples(size, 4096, medium, &mut others));
            let same = one.iter().zip(&two).filter(|(one, two)| one == two).count();
            assert!((one.len() / 2..one.len() * 3 / 4).contains(&same), "{same} of {}", one.len());
            let whole = one.iter().filter(|sample| sample.start.is_multiple_of(MIB)).count();
            assert!(whole >= one.len() * 5 / 8, "{whole} of {}", one.len());
        }
    }
}
