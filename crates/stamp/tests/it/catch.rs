//! The catch table, block by block in memory.

use crate::support::{DEVICE, OLD_RUN, OTHER_DEVICE, Random, Written};
use stamp::{
    BlockFinding, DamageClass as Class, Expected, Reading, SECTOR_BYTES, SectorFault, VIEW_LINES, Version, examine,
    hex_view, is_right, poison,
};

const LENGTHS: [usize; 5] = [512, 1024, 4096, 8192, 65_536];

/// What is found in `first`, which must not pass.
fn found(first: &[u8], again: Option<&[u8]>, expected: &Expected<'_>) -> BlockFinding {
    assert!(!is_right(first, expected), "it passed");
    let finding = examine(&Reading { first, again }, expected);
    let view = hex_view(if finding.is_of_again { again.unwrap() } else { first }, &finding);
    assert!(view.lines().count() <= VIEW_LINES, "{view}");
    assert!(finding.class == Class::ShortRead || finding.first_wrong().is_some());
    finding
}

fn class(first: &[u8], again: Option<&[u8]>, expected: &Expected<'_>) -> Class {
    found(first, again, expected).class
}

fn flip(block: &mut [u8], bit: usize) {
    block[bit / 8] ^= 1 << (bit % 8);
}

/// Calls `check` with writes to blocks of all lengths and ratios.
fn each_write(mut check: impl FnMut(Written, usize, &mut Random)) {
    let mut random = Random(25);
    for length in LENGTHS {
        for ratio in [1.0, 2.0, 4.0, 1000.0] {
            for _ in 0..if length > 10_000 { 1 } else { 6 } {
                let address = random.below(1 << 30) * length as u64;
                let version = 5 + random.below(16_000) as u16;
                let sequence = 1000 + random.below(1 << 40);
                check(Written { version, sequence, ratio, ..Written::at(address) }, length, &mut random);
            }
        }
    }
}

#[test]
fn every_single_bit_of_a_sector_is_named() {
    for ratio in [1.0, 3.0] {
        let write = Written { ratio, ..Written::at(512 * 77) };
        let mut block = write.bytes(512);
        for bit in 0..4096 {
            flip(&mut block, bit);
            let finding = found(&block, None, &write.expected());
            assert_eq!((finding.class, &finding.sectors[0].bits), (Class::BitRot, &vec![bit as u16]), "bit {bit}");
            assert_eq!(finding.sectors[0].origin.map(|stamp| stamp.sequence), Some(4711), "bit {bit}");
            flip(&mut block, bit);
        }
        assert!(is_right(&block, &write.expected()));
    }
}

#[test]
fn bits_are_named_wherever_they_are_and_as_many_as_there_are() {
    each_write(|write, length, random| {
        // Up to two anywhere, more where the head or its neighbours still tell whose data it was.
        let count = 1 + random.below(60) as usize;
        let mut block = write.bytes(length);
        let sector = random.below((length / 512) as u64) as usize;
        let from = if count > 2 && length == 512 { 64 * 8 } else { 0 };
        let mut bits: Vec<u16> = Vec::new();
        while bits.len() < count {
            let bit = from + random.below(4096 - from as u64) as usize;
            if !bits.contains(&(bit as u16)) {
                bits.push(bit as u16);
                flip(&mut block, sector * 4096 + bit);
            }
        }
        bits.sort_unstable();
        let finding = found(&block, None, &write.expected());
        assert_eq!(finding.class, Class::BitRot, "{count} bits of {length}");
        assert_eq!(finding.sectors[sector].bits, bits, "of {length}, ratio {}", write.ratio);
    });
}

#[test]
fn what_cannot_be_named_bit_by_bit_is_corrupt() {
    each_write(|write, length, random| {
        if write.ratio > 1.0 {
            return;
        }
        let mut block = write.bytes(length);
        random.fill(&mut block[300..412]);
        let finding = found(&block, None, &write.expected());
        assert_eq!(finding.class, Class::Corrupt, "{length}");
        assert_eq!(finding.sectors[0].bits.len(), 64);
        assert!(finding.sectors[0].bit_count > 64);
    });
}

#[test]
fn old_and_torn_blocks() {
    each_write(|write, length, random| {
        let (expected, new, old) = (write.expected(), write.bytes(length), write.before().bytes(length));
        assert_eq!(class(&old, None, &expected), Class::LostWrite);
        assert_eq!(class(&old, Some(&old), &expected), Class::LostWrite);
        assert_eq!(class(&old, Some(&new), &expected), Class::StaleRead);
        let of_old_run = Written { run: OLD_RUN, ..write.before() }.bytes(length);
        assert_eq!(class(&of_old_run, None, &expected), Class::OlderRun);
        assert_eq!(class(&of_old_run, Some(&new), &expected), Class::StaleRead);
        let foreign = {
            let mut bytes = vec![0; length];
            random.fill(&mut bytes);
            bytes
        };
        assert_eq!(class(&foreign, None, &expected), Class::Foreign);
        let zeroes = vec![0; length];
        assert_eq!(class(&zeroes, None, &expected), Class::Zeroes);
        if length == 512 {
            return;
        }
        let cut = (1 + random.below(length as u64 / 512 - 1) as usize) * 512;
        for (begin, end) in [(&new, &old), (&old, &new), (&new, &of_old_run), (&new, &zeroes)] {
            let torn = [&begin[..cut], &end[cut..]].concat();
            let finding = found(&torn, None, &expected);
            assert_eq!(finding.class, Class::TornWrite, "at {cut} of {length}");
            assert!(finding.sectors.iter().filter(|sector| !sector.is_right).all(|sector| sector.must.is_some()));
        }
    });
}

#[test]
fn sectors_torn_in_their_midst() {
    each_write(|write, length, random| {
        if write.ratio > 1.0 {
            return;
        }
        let (new, old) = (write.bytes(length), write.before().bytes(length));
        let zeroes = vec![0; length];
        let cut = random.below(length as u64 / 512) as usize * 512 + 80 + random.below(400) as usize;
        for end in [&old, &zeroes] {
            let torn = [&new[..cut], &end[cut..]].concat();
            assert_eq!(class(&torn, None, &write.expected()), Class::TornWrite, "at {cut} of {length}");
        }
    });
}

#[test]
fn data_of_other_places() {
    each_write(|write, length, random| {
        let (expected, new) = (write.expected(), write.bytes(length));
        let address = write.address + (1 + random.below(1000)) * length as u64;
        let other = Written { address, sequence: write.sequence + 9, ..write }.bytes(length);
        assert_eq!(class(&other, None, &expected), Class::MisdirectedWrite);
        assert_eq!(class(&other, Some(&other), &expected), Class::MisdirectedWrite);
        assert_eq!(class(&other, Some(&new), &expected), Class::MisdirectedRead);
        let of_old_run = Written { address, run: OLD_RUN, ..write }.bytes(length);
        assert_eq!(class(&of_old_run, Some(&new), &expected), Class::MisdirectedRead);
        let of_device = Written { device: OTHER_DEVICE, ..write }.bytes(length);
        assert_eq!(class(&of_device, None, &expected), Class::OtherDevice);
        // Both ways to be wrong: what lasts is told.
        let finding = found(&other, Some(&write.before().bytes(length)), &expected);
        assert_eq!((finding.class, finding.is_of_again), (Class::LostWrite, true));
    });
}

#[test]
fn swapped_and_shifted_data() {
    each_write(|write, length, random| {
        let expected = write.expected();
        let sectors = length / 512;
        let address = write.address + length as u64;
        let wide = [write.bytes(length), Written { address, ..write }.bytes(length)].concat();
        let bytes = 1 + random.below(511) as usize;
        let far = i64::try_from(bytes).unwrap();
        if write.ratio == 1.0 && bytes < 400 {
            let finding = found(&wide[bytes..][..length], None, &expected);
            if sectors > 1 {
                assert_eq!((finding.class, finding.shift), (Class::MisdirectedWrite, Some(-far)), "{length}");
            }
            let behind = [vec![0; bytes], wide[..length - bytes].to_vec()].concat();
            let finding = found(&behind, None, &expected);
            assert_eq!((finding.class, finding.shift), (Class::MisdirectedWrite, Some(far)), "{length}");
        }
        if sectors < 2 {
            return;
        }
        let mut swapped = write.bytes(length);
        let one = random.below(sectors as u64) as usize;
        let other = (one + 1 + random.below(sectors as u64 - 1) as usize) % sectors;
        let (first, second) = (one.min(other) * 512, one.max(other) * 512);
        let (begin, end) = swapped.split_at_mut(second);
        begin[first..first + 512].swap_with_slice(&mut end[..512]);
        let finding = found(&swapped, None, &expected);
        assert_eq!((finding.class, finding.wrong_sectors()), (Class::SwappedSectors, 2), "{length}");
        // By whole sectors: the data of another place.
        assert_eq!(class(&wide[512..][..length], None, &expected), Class::MisdirectedWrite);
    });
}

#[test]
fn short_reads_and_trimmed_blocks() {
    each_write(|write, length, random| {
        let new = write.bytes(length);
        let transferred = random.below(length as u64) as usize;
        let mut short = vec![0x5a; length];
        poison(&mut short);
        short[..transferred].copy_from_slice(&new[..transferred]);
        // The end of a transfer within a sector shows by its bytes, and by the sectors behind it.
        let within = transferred % 512;
        if within == 0 || within > 80 && write.ratio == 1.0 && length - transferred > 512 {
            assert_eq!(class(&short, Some(&new), &write.expected()), Class::ShortRead, "{transferred} of {length}");
        }
        let trimmed = Expected { version: Version::Zeroes, ..write.expected() };
        assert_eq!(class(&new, None, &trimmed), Class::TrimmedData);
        let mut zeroes = vec![0; length];
        assert!(is_right(&zeroes, &trimmed));
        let bit = random.below(length as u64 * 8) as usize;
        flip(&mut zeroes, bit);
        let finding = found(&zeroes, None, &trimmed);
        assert_eq!(
            (finding.class, finding.sectors[bit / 4096].bits.as_slice()),
            (Class::BitRot, &[(bit % 4096) as u16][..])
        );
        let other = Written { address: write.address + length as u64, ..write }.bytes(length);
        assert_eq!(class(&other, None, &trimmed), Class::MisdirectedWrite);
    });
}

#[test]
fn a_write_that_may_be_newer() {
    let write = Written::at(4096);
    let least = Expected { version: Version::AtLeast(17), ..write.expected() };
    let newer = Written { version: 20, sequence: 9000, ..write };
    assert!(is_right(&newer.bytes(4096), &least));
    let mixed = [&write.bytes(4096)[..2048], &newer.bytes(4096)[2048..]].concat();
    assert!(is_right(&mixed, &least), "parts of several");
    assert_eq!(class(&write.before().bytes(4096), None, &least), Class::LostWrite);
    let any = Expected { version: Version::Any, runs: &[], ..write.expected() };
    assert!(is_right(&write.bytes(4096), &any));
    assert_eq!(class(&vec![0; 4096], None, &any), Class::Zeroes);
    let mut rotten = write.bytes(4096);
    flip(&mut rotten, 9999);
    assert_eq!(class(&rotten, None, &any), Class::BitRot);
}

#[test]
fn several_damages_at_once_have_a_class() {
    let write = Written::at(1 << 20);
    let (new, old, expected) = (write.bytes(4096), write.before().bytes(4096), write.expected());
    let mut block = new.clone();
    block[..512].fill(0);
    flip(&mut block, 3 * 4096 + 9);
    let finding = found(&block, None, &expected);
    assert_eq!(finding.class, Class::Zeroes);
    assert_eq!(finding.sectors[3].fault, Some(SectorFault::Bits));
    // Zeroes, rotten.
    let mut block = vec![0; 4096];
    flip(&mut block, 5000);
    let finding = found(&block, None, &expected);
    assert_eq!((finding.class, finding.sectors[1].bits.as_slice()), (Class::Zeroes, &[904][..]));
    // An old write of which two sectors have changed places.
    let mut block = old.clone();
    block.copy_within(512..1024, 2048);
    block[512..1024].copy_from_slice(&old[2048..2560]);
    assert_eq!(class(&block, None, &expected), Class::LostWrite);
    // A second reading that is cut short.
    let mut short = vec![0; 4096];
    poison(&mut short);
    let finding = found(&old, Some(&short), &expected);
    assert_eq!((finding.class, finding.is_of_again), (Class::LostWrite, false));
    // An old write, rotten.
    let mut block = old.clone();
    flip(&mut block, 2000);
    assert_eq!(class(&block, None, &expected), Class::LostWrite);
    // A hole in the midst of a write.
    let mut block = new.clone();
    block[1024..2048].fill(0);
    assert_eq!(class(&block, None, &expected), Class::Zeroes);
    // Something foreign over its end.
    let mut block = new.clone();
    Random(1).fill(&mut block[3584..]);
    assert_eq!(class(&block, None, &expected), Class::Foreign);
    // Its head only.
    let mut block = new.clone();
    Random(1).fill(&mut block[512..576]);
    let finding = found(&block, None, &expected);
    assert_eq!((finding.class, finding.sectors[1].origin.map(|stamp| stamp.sequence)), (Class::Corrupt, Some(4711)));
    // Not a whole number of sectors.
    assert_eq!(class(&new[..4095], None, &expected), Class::ShortRead);
    assert_eq!(class(&new[..100], None, &expected), Class::ShortRead);
    assert_eq!(finding.must.device, DEVICE);
}

#[test]
fn the_view_marks_what_differs() {
    let write = Written::at(0x1565_0000);
    let mut block = write.bytes(4096);
    flip(&mut block, 100 * 8 + 3);
    let finding = found(&block, None, &write.expected());
    let view = hex_view(&block, &finding);
    let lines: Vec<&str> = view.lines().collect();
    assert_eq!(lines.len(), 2, "{view}");
    assert!(lines[0].starts_with("0x000015650060  "), "{view}");
    let must = format!("{:02x}", block[100] ^ 8);
    assert!(lines[1].trim_start().starts_with("must be") && lines[1].ends_with(&must), "{view}");
    assert_eq!(lines[0].find(&format!("{:02x}", block[100])), Some(lines[1].len() - 2), "{view}");
    let zeroes = vec![0; SECTOR_BYTES * 8];
    let view = hex_view(&zeroes, &found(&zeroes, None, &write.expected()));
    assert_eq!(view.lines().count(), VIEW_LINES - 1, "{view}");
    assert!(view.ends_with("more rows of 16 bytes\n"), "{view}");
}

#[test]
fn many_right_blocks_pass() {
    let mut random = Random(7);
    for count in 0..3_000_u64 {
        let length = LENGTHS[random.below(4) as usize];
        let ratio = [1.0, 1.5, 2.0, 5.0][random.below(4) as usize];
        let version = 4 + random.below(16_380) as u16;
        let address = random.below(1 << 40) * length as u64;
        let write = Written { version, ratio, sequence: random.below(1 << 48), ..Written::at(address) };
        assert!(is_right(&write.bytes(length), &write.expected()), "{count}: {write:?} {length}");
    }
}
