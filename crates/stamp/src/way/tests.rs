//! All ways against plain ones, which are written down once more, one bit and one word after the other.

use super::Way;
use crate::{
    BlockWriter, Expected, SECTOR_BYTES, SectorStamp, StampFlags, Version, WriteStamp, is_intact, is_right_by, payload,
};
use proptest::prelude::*;

type Sector = [u8; SECTOR_BYTES];

fn plain_crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

fn plain_crc_of(sector: &Sector) -> u32 {
    let mut bytes = *sector;
    bytes[60..64].fill(0);
    plain_crc(&bytes)
}

fn plain_payload(bytes: &mut [u8], seed: u64) {
    for lane in 0..8 {
        let own = (lane as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (seed ^ own).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let mut x = (x ^ (x >> 32)) | 1;
        for row in bytes.chunks_exact_mut(64) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            row[lane * 8..lane * 8 + 8].copy_from_slice(&x.to_le_bytes());
        }
    }
}

fn plain_sector(stamp: &SectorStamp) -> Sector {
    let mut sector = [0; SECTOR_BYTES];
    let place = stamp.address.rotate_left(23) ^ stamp.device;
    let of_write = payload::scatter(stamp.run ^ stamp.sequence.rotate_left(16));
    plain_payload(&mut sector[64..], payload::scatter(of_write ^ place));
    sector[64 + usize::from(stamp.kept_words.min(56)) * 8..].fill(0);
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        sector[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(b"iodyno\0\x01dv\0\x01");
    put(&[stamp.flags.0, stamp.kept_words]);
    put(&stamp.version.to_le_bytes());
    put(&stamp.run.to_le_bytes());
    put(&stamp.device.to_le_bytes());
    put(&stamp.address.to_le_bytes());
    put(&stamp.sequence.to_le_bytes()[..6]);
    put(&stamp.writer.to_le_bytes());
    put(&stamp.epoch.to_le_bytes());
    put(&stamp.place.to_le_bytes());
    put(&stamp.write_sectors.to_le_bytes()[..2]);
    put(&stamp.written_s.to_le_bytes());
    let crc = plain_crc_of(&sector);
    sector[60..64].copy_from_slice(&crc.to_le_bytes());
    sector
}

/// Is a block right, by what its sectors say one by one?
fn plain_is_right(block: &[u8], expected: &Expected<'_>) -> bool {
    let (sectors, rest) = block.as_chunks::<SECTOR_BYTES>();
    let is_right = |(place, sector): (usize, &Sector)| {
        SectorStamp::read(sector).is_some_and(|stamp| {
            stamp.device == expected.device
                && stamp.address == expected.address.wrapping_add((place * SECTOR_BYTES) as u64)
                && expected.version.allows(stamp.version)
                && (expected.runs.is_empty() || expected.runs.contains(&stamp.run))
                && sector[60..64] == plain_crc_of(sector).to_le_bytes()
        })
    };
    if expected.version == Version::Zeroes {
        return block.iter().all(|byte| *byte == 0);
    }
    rest.is_empty() && sectors.iter().enumerate().all(is_right)
}

fn stamps() -> impl Strategy<Value = SectorStamp> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), 0..1_u64 << 48, any::<u32>(), any::<u32>());
    let others = (any::<u8>(), prop_oneof![0..=56_u8, Just(0), Just(56)], any::<u16>(), any::<u16>(), 1..=1_u32 << 16);
    (numbers, others, any::<u16>()).prop_map(|(numbers, others, place)| {
        let (run, device, address, sequence, epoch, written_s) = numbers;
        let (flags, kept_words, version, writer, write_sectors) = others;
        let place = u16::try_from(u32::from(place) % write_sectors).unwrap();
        let flags = StampFlags(flags);
        SectorStamp {
            flags,
            kept_words,
            version,
            run,
            device,
            address,
            sequence,
            writer,
            epoch,
            place,
            write_sectors,
            written_s,
        }
    })
}

fn write() -> impl Strategy<Value = WriteStamp> {
    stamps().prop_map(|stamp| WriteStamp {
        flags: stamp.flags,
        run: stamp.run,
        device: stamp.device,
        sequence: stamp.sequence,
        writer: stamp.writer,
        epoch: stamp.epoch,
        written_s: stamp.written_s,
    })
}

fn bytes(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length.next_multiple_of(64)];
    plain_payload(&mut bytes, length as u64);
    bytes.truncate(length);
    bytes
}

#[test]
fn the_plain_checksum_is_crc_32c() {
    assert_eq!(plain_crc(b"123456789"), 0xe306_9283);
}

#[test]
fn every_processor_has_a_way_and_the_best_is_the_last() {
    let all = Way::all();
    assert_eq!((all.first(), all.last()), (Some(&Way::PORTABLE), Some(&Way::best())));
    let names: std::collections::BTreeSet<_> = all.iter().map(|way| way.name()).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn payloads_of_any_length_are_the_same_in_every_way() {
    for length in (0..1200).step_by(7).chain([64, 448, 512, 1024, 4096, 4160]) {
        let mut plain = bytes(length);
        plain_payload(&mut plain, 12_345 + length as u64);
        for way in Way::all() {
            let mut made = bytes(length);
            way.fill(&mut made, 12_345 + length as u64);
            assert_eq!(made, plain, "{}: {length} bytes", way.name());
        }
    }
}

#[test]
fn each_bit_of_a_sector_counts_but_those_of_the_checksum() {
    let sector = plain_sector(&SectorStamp {
        flags: StampFlags::default(),
        kept_words: 56,
        version: 9,
        run: 1,
        device: 2,
        address: 3 << 9,
        sequence: 4,
        writer: 5,
        epoch: 6,
        place: 0,
        write_sectors: 1,
        written_s: 7,
    });
    assert!(is_intact(&sector));
    for bit in 0..8 * SECTOR_BYTES {
        let mut other = sector;
        other[bit / 8] ^= 1 << (bit % 8);
        assert!(!is_intact(&other), "bit {bit}");
        let (is_field, crc) = ((60..64).contains(&(bit / 8)), plain_crc_of(&other));
        assert_eq!(is_field, crc == plain_crc_of(&sector), "bit {bit}");
        for way in Way::all() {
            assert_eq!(way.crc(&other), crc, "{}: bit {bit}", way.name());
        }
    }
}

proptest! {
    #[test]
    fn sectors_are_the_same_in_every_way(stamp in stamps(), before: u8) {
        let plain = plain_sector(&stamp);
        for way in Way::all() {
            let mut sector = [before; SECTOR_BYTES];
            way.stamp(&mut sector, &stamp.head());
            prop_assert_eq!(sector, plain, "{}", way.name());
            prop_assert_eq!(way.crc(&sector), plain_crc_of(&plain));
        }
        prop_assert_eq!(SectorStamp::read(&plain), Some(stamp));
        prop_assert!(is_intact(&plain));
    }

    #[test]
    fn checksums_of_arbitrary_bytes_are_the_same_in_every_way(bytes in proptest::collection::vec(any::<u8>(), SECTOR_BYTES)) {
        let sector: Sector = bytes.try_into().unwrap();
        for way in Way::all() {
            prop_assert_eq!(way.crc(&sector), plain_crc_of(&sector), "{}", way.name());
        }
    }

    #[test]
    fn writes_are_the_same_in_every_way(
        write in write(),
        (first, sectors, rest) in (prop_oneof![0..1_u64 << 40, Just((u64::MAX >> 9) - 20)], 0..20_usize, 0..512_usize),
        (block_sectors, ratio) in (1..9_u64, prop_oneof![Just(1.0), Just(1.3), Just(2.0), Just(4.0), Just(100.0)]),
    ) {
        let (address, block_bytes) = (first * 512, block_sectors * 512);
        let version = |address: u64| u16::try_from(address / block_bytes % 60_000).unwrap();
        let writer = BlockWriter::new(ratio);
        let mut plain = bytes(sectors * SECTOR_BYTES + rest);
        for (place, sector) in plain.as_chunks_mut::<SECTOR_BYTES>().0.iter_mut().enumerate() {
            let address = address + (place * SECTOR_BYTES) as u64;
            *sector = plain_sector(&SectorStamp {
                flags: write.flags,
                kept_words: writer.kept_words(address),
                version: version(address),
                run: write.run,
                device: write.device,
                address,
                sequence: write.sequence,
                writer: write.writer,
                epoch: write.epoch,
                place: u16::try_from(place).unwrap(),
                write_sectors: u32::try_from(sectors).unwrap(),
                written_s: write.written_s,
            });
        }
        for way in Way::all() {
            let mut made = bytes(sectors * SECTOR_BYTES + rest);
            writer.fill_by(way, &mut made, (address, block_bytes), &write, &mut |address| version(address));
            prop_assert!(made == plain, "{}", way.name());
            let expected = Expected { device: write.device, runs: &[1, write.run], address, version: Version::Any };
            prop_assert_eq!(is_right_by(way, &made, &expected), rest == 0);
        }
    }

    #[test]
    fn every_way_finds_the_same_blocks_right(
        (write, first, sectors) in (write(), 0..1_u64 << 40, 0..10_usize),
        (own, other) in (4..1_u16 << 14, 4..1_u16 << 14),
        changes in proptest::collection::vec((any::<usize>(), any::<u8>(), any::<bool>()), 0..3),
        (wrong, cut) in (0..8_u8, 0..3_usize),
    ) {
        let mut block = vec![0; sectors * SECTOR_BYTES];
        BlockWriter::new(1.0).fill(&mut block, (first * 512, 4096), &write, |_| own);
        for (at, bits, in_head) in changes {
            let at = if in_head { at % SECTOR_BYTES / 8 } else { at };
            if let Some(byte) = block.len().checked_sub(1).map(|last| &mut block[at.min(last)]) {
                *byte ^= bits;
            }
            // What was changed on purpose, with a right checksum.
            for sector in block.as_chunks_mut::<SECTOR_BYTES>().0.iter_mut().filter(|_| bits & 1 == 1) {
                let crc = plain_crc_of(sector);
                sector[60..64].copy_from_slice(&crc.to_le_bytes());
            }
        }
        block.truncate(block.len().saturating_sub(cut / 2));
        let address = first * 512 + u64::from(wrong == 1) * 512;
        let device = write.device ^ u64::from(wrong == 2);
        let runs = [&[][..], &[write.run], &[write.run ^ 1], &[3, write.run], &[3, 4]];
        let versions = [Version::Is(own), Version::Is(other), Version::AtLeast(own), Version::AtLeast(other), Version::Any, Version::Zeroes];
        for (runs, version) in runs.iter().flat_map(|runs| versions.map(|version| (*runs, version))) {
            let expected = Expected { device, runs, address, version };
            let plain = plain_is_right(&block, &expected);
            for way in Way::all() {
                prop_assert_eq!(is_right_by(way, &block, &expected), plain, "{}: {:?}", way.name(), expected);
            }
        }
    }
}

#[test]
fn zeroes_are_right_only_all_of_them() {
    let expected = Expected { device: 1, runs: &[], address: 0, version: Version::Zeroes };
    for length in [0, 1, 64, 512, 600, 4096] {
        let mut block = vec![0; length];
        assert!(is_right_by(Way::best(), &block, &expected));
        for at in 0..length {
            block[at] = 0x80;
            assert!(!is_right_by(Way::best(), &block, &expected), "{at} of {length}");
            block[at] = 0;
        }
    }
}

#[test]
fn a_write_of_more_sectors_than_are_counted_begins_anew() {
    let write =
        WriteStamp { flags: StampFlags::default(), run: 1, device: 2, sequence: 3, writer: 4, epoch: 5, written_s: 6 };
    let mut buffer = vec![0; ((1 << 16) + 9) * SECTOR_BYTES];
    BlockWriter::new(1.0).fill(&mut buffer, (0, 4096), &write, |_| 7);
    let (sectors, _) = buffer.as_chunks::<SECTOR_BYTES>();
    for (at, place) in [(0, 0), (65_535, 65_535), (65_536, 0), (65_544, 8)] {
        let stamp = SectorStamp::read(&sectors[at]).unwrap();
        assert_eq!((stamp.place, stamp.write_sectors, stamp.address), (place, 1 << 16, at as u64 * 512));
        assert_eq!(sectors[at], plain_sector(&stamp));
    }
}
