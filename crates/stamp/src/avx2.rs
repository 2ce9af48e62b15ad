//! Sectors with what nearly every x86-64 processor since 2013 has: vectors of 256 bits, and an instruction for CRC-32C.
//!
//! The instruction takes 8 bytes per cycle, but its result only comes three cycles later. So four quarters of a sector go side by side, and
//! the sums of the first three are moved to the end of the sector by a multiplication each.
#![expect(unsafe_code, reason = "functions for some processors only are called from ones for all")]

use crate::head::{Head, SECTOR_BYTES, WriteHeads, lay_out};
use crate::lanes::fill_rows;
use crate::moves::MOVES;
use crate::wanted::WantedHeads;
use std::arch::x86_64::{_mm_clmulepi64_si128, _mm_crc32_u64, _mm_cvtsi128_si64, _mm_set_epi64x};
use std::hint::black_box;

/// Who has one has found that this processor has the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(());

impl Token {
    pub(crate) fn new() -> Option<Self> {
        // The last is implied by the first; a virtual machine may hide it all the same.
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("sse4.2");
        has.then_some(Self(()))
    }

    pub(crate) fn fill(self, bytes: &mut [u8], seed: u64) {
        // SAFETY: the processor has the instructions, or there would be no token.
        unsafe { fill(bytes, seed) }
    }

    pub(crate) fn stamp(self, sector: &mut [u8; SECTOR_BYTES], head: &Head) {
        // SAFETY: as above.
        unsafe { stamp(sector, head) }
    }

    pub(crate) fn stamp_all(self, sectors: &mut [[u8; SECTOR_BYTES]], heads: WriteHeads<'_>) {
        // SAFETY: as above.
        unsafe { stamp_all(sectors, heads) }
    }

    pub(crate) fn crc(self, sector: &[u8; SECTOR_BYTES]) -> u32 {
        // SAFETY: as above.
        unsafe { crc(sector) }
    }

    pub(crate) fn is_right(self, block: &[u8], wanted: &WantedHeads<'_>) -> bool {
        // SAFETY: as above.
        unsafe { is_right(block, wanted) }
    }
}

#[target_feature(enable = "avx2,pclmulqdq")]
fn fill(bytes: &mut [u8], seed: u64) {
    fill_rows(bytes, seed);
}

#[target_feature(enable = "avx2,pclmulqdq")]
fn stamp_all(sectors: &mut [[u8; SECTOR_BYTES]], mut heads: WriteHeads<'_>) {
    let Some((mut before, others)) = sectors.split_first_mut() else { return };
    lay_out(before, &heads.next());
    for sector in others {
        lay_out(sector, &heads.next());
        seal(before);
        before = sector;
    }
    seal(before);
}

#[target_feature(enable = "avx2,pclmulqdq")]
fn is_right(block: &[u8], wanted: &WantedHeads<'_>) -> bool {
    wanted.hold(block, |sector| crc(sector))
}

#[target_feature(enable = "avx2,pclmulqdq")]
#[inline]
fn stamp(sector: &mut [u8; SECTOR_BYTES], head: &Head) {
    lay_out(sector, head);
    seal(sector);
}

#[target_feature(enable = "avx2,pclmulqdq")]
#[inline]
fn seal(sector: &mut [u8; SECTOR_BYTES]) {
    let crc = crc(sector);
    sector[60..64].copy_from_slice(&crc.to_le_bytes());
}

/// Words of 8 bytes of a quarter.
const QUARTER: usize = SECTOR_BYTES / 8 / 4;

/// Of a sector, whatever its bytes 60 … 64: they count as zero.
#[target_feature(enable = "avx2,pclmulqdq")]
#[inline]
fn crc(sector: &[u8; SECTOR_BYTES]) -> u32 {
    let (words, _) = sector.as_chunks::<8>();
    let mut sums = [u64::from(u32::MAX), 0, 0, 0];
    // The compiler must not know how often: it would bring the quarters one behind the other.
    for at in 0..black_box(QUARTER).min(QUARTER) {
        for (quarter, sum) in sums.iter_mut().enumerate() {
            let word = u64::from_le_bytes(words[quarter * QUARTER + at]);
            let is_checksum = quarter == 0 && at == 7;
            *sum = _mm_crc32_u64(*sum, if is_checksum { word & u64::from(u32::MAX) } else { word });
        }
    }
    // A sum as the last word of the sector stands for what is before it.
    let mut moved = 0;
    for quarter in 0..3 {
        let by = MOVES[(quarter + 1) * QUARTER - 1];
        let pair = _mm_set_epi64x(by.cast_signed(), sums[quarter].cast_signed());
        moved ^= _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0x10>(pair, pair)).cast_unsigned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "the upper half is zero")]
    let crc = (_mm_crc32_u64(0, moved) ^ sums[3]) as u32;
    !crc
}
