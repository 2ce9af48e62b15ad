//! Powers of x modulo the polynomial of CRC-32C, by which parts of a sector are moved to its end.

use crate::head::SECTOR_BYTES;

/// The polynomial, its highest power in the lowest bit, as all values here.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Words of 8 bytes of a sector.
const WORDS: usize = SECTOR_BYTES / 8;

/// What a word of 8 bytes of a sector is multiplied with (without carries) so that the product, 16 bytes, can stand for it in the last 16
/// bytes of the sector: `x^(64 · words behind it − 32)` modulo the polynomial, one bit further up because products have 127 bits.
pub(crate) const MOVES: [u64; WORDS] = moves();

const fn times_x(value: u32) -> u32 {
    (value >> 1) ^ if value & 1 == 1 { POLYNOMIAL } else { 0 }
}

const fn divided_by_x(value: u32) -> u32 {
    if value >> 31 == 1 { ((value ^ POLYNOMIAL) << 1) | 1 } else { value << 1 }
}

const fn moves() -> [u64; WORDS] {
    let mut power = 1 << 31;
    let mut step = 0;
    while step < 32 {
        power = divided_by_x(power);
        step += 1;
    }
    let mut moves = [0; WORDS];
    let mut word = WORDS;
    while word > 0 {
        word -= 1;
        moves[word] = (power as u64) << 1;
        step = 0;
        while step < 64 {
            power = times_x(power);
            step += 1;
        }
    }
    moves
}
