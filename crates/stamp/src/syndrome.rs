//! Flipped bits, by the checksum alone: any two differ from any other two in what they do to it, over the length of a sector.

use crate::sector::{SECTOR_BYTES, SectorStamp};
use crc_fast::{CrcAlgorithm, checksum};
use std::sync::LazyLock;

/// Where the checksum stands.
const FIELD: std::ops::Range<usize> = 60..64;
/// Bits of a sector.
const BITS: u16 = 4096;
const _: () = assert!(BITS as usize == SECTOR_BYTES * 8);

/// What a flip of each bit changes in the checksum, with the bit's number, in order.
static FLIPS: LazyLock<Vec<(u32, u16)>> = LazyLock::new(|| {
    let mut sector = [0; SECTOR_BYTES];
    let zero = crc_of(&sector);
    let mut flips = Vec::with_capacity(usize::from(BITS));
    for bit in 0..BITS {
        let byte = usize::from(bit / 8);
        if FIELD.contains(&byte) {
            flips.push((1 << (usize::from(bit) - FIELD.start * 8), bit));
            continue;
        }
        flip(&mut sector, bit);
        flips.push((crc_of(&sector) ^ zero, bit));
        flip(&mut sector, bit);
    }
    flips.sort_unstable();
    flips
});

fn crc_of(sector: &[u8; SECTOR_BYTES]) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "a checksum of 32 bits")]
    let crc = checksum(CrcAlgorithm::Crc32Iscsi, sector) as u32;
    crc
}

fn flip(sector: &mut [u8; SECTOR_BYTES], bit: u16) {
    if let Some(byte) = sector.get_mut(usize::from(bit / 8)) {
        *byte ^= 1 << (bit % 8);
    }
}

/// How the checksum differs from the one that a sector says.
fn syndrome(sector: &[u8; SECTOR_BYTES]) -> u32 {
    let mut bytes = *sector;
    bytes[FIELD].fill(0);
    let said = u32::from_le_bytes([sector[60], sector[61], sector[62], sector[63]]);
    crc_of(&bytes) ^ said
}

/// The bit whose flip does that to a checksum.
fn bit_of(change: u32) -> Option<u16> {
    let flips = &*FLIPS;
    let at = flips.binary_search_by_key(&change, |(change, _)| *change).ok()?;
    flips.get(at).map(|(_, bit)| *bit)
}

/// What was written, where one bit is wrong.
pub(crate) fn without_one(sector: &[u8; SECTOR_BYTES]) -> Option<SectorStamp> {
    written(sector, &[bit_of(syndrome(sector))?])
}

/// … where two are.
pub(crate) fn without_two(sector: &[u8; SECTOR_BYTES]) -> Option<SectorStamp> {
    let all = syndrome(sector);
    FLIPS.iter().find_map(|(change, first)| {
        let second = bit_of(all ^ change).filter(|second| second > first)?;
        written(sector, &[*first, second])
    })
}

/// The stamp of a sector whose bytes are what it says once these bits are as they were.
fn written(sector: &[u8; SECTOR_BYTES], bits: &[u16]) -> Option<SectorStamp> {
    let mut was = *sector;
    bits.iter().for_each(|bit| flip(&mut was, *bit));
    let stamp = SectorStamp::read(&was)?;
    let mut again = [0; SECTOR_BYTES];
    stamp.write(&mut again);
    (again == was).then_some(stamp)
}
