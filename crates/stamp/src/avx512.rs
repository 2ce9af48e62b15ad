//! Sectors with vectors of 512 bits, which multiply without carries: a sector is eight of them, and the bytes behind its head are summed
//! while they are made.
//!
//! CRC-32C is linear: each word of 8 bytes is multiplied with its own power of x and so moved to the last 16 bytes of the sector
//! ([`MOVES`]), the products are added, and only the sum goes through the instruction for CRC-32C. No product waits for another.
#![expect(unsafe_code, reason = "functions for some processors only are called from ones for all")]

use crate::head::{Head, PAYLOAD_WORDS, SECTOR_BYTES, WriteHeads, crc_field};
use crate::lanes::{LANE_FACTOR, LANE_SEEDS, ROW_BYTES};
use crate::moves::MOVES;
use crate::wanted::WantedHeads;
use std::arch::x86_64::{
    __m512i, _mm_crc32_u64, _mm_cvtsi128_si64, _mm_extract_epi64, _mm_xor_si128, _mm256_castsi256_si128,
    _mm256_extracti128_si256, _mm256_xor_si256, _mm512_add_epi64, _mm512_and_si512, _mm512_castsi512_si256,
    _mm512_clmulepi64_epi128, _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_mask_set1_epi64,
    _mm512_maskz_mov_epi64, _mm512_mullo_epi64, _mm512_or_si512, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_slli_epi64, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_test_epi64_mask, _mm512_xor_si512,
};

/// Who has one has found that this processor has the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(());

impl Token {
    pub(crate) fn new() -> Option<Self> {
        // The last three are implied by the others; a virtual machine may hide them all the same.
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("vpclmulqdq")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("sse4.2");
        has.then_some(Self(()))
    }

    pub(crate) fn fill(self, bytes: &mut [u8], seed: u64) {
        // SAFETY: the processor has the instructions, or there would be no token.
        unsafe { fill(bytes, seed) }
    }

    pub(crate) fn stamp(self, sector: &mut [u8; SECTOR_BYTES], head: &Head) {
        // SAFETY: as above.
        unsafe { stamp_one(sector, head) }
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

#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn load(words: &[u64; 8]) -> __m512i {
    // SAFETY: as many bytes as a vector has, at any address.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Row `at`.
#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn row(sector: &[u8; SECTOR_BYTES], at: usize) -> __m512i {
    let row = &sector[ROW_BYTES * at..ROW_BYTES * (at + 1)];
    // SAFETY: as many bytes as a vector has, at any address.
    unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }
}

/// Stores row `at`.
#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn store(sector: &mut [u8; SECTOR_BYTES], at: usize, x: __m512i) {
    let row = &mut sector[ROW_BYTES * at..ROW_BYTES * (at + 1)];
    // SAFETY: as many bytes as a vector has, at any address.
    unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), x) }
}

/// The generators before the first row.
#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn begin(seed: u64) -> __m512i {
    let own = _mm512_xor_si512(_mm512_set1_epi64(seed.cast_signed()), load(&LANE_SEEDS));
    let x = _mm512_mullo_epi64(own, _mm512_set1_epi64(LANE_FACTOR.cast_signed()));
    _mm512_or_si512(_mm512_xor_si512(x, _mm512_srli_epi64::<32>(x)), _mm512_set1_epi64(1))
}

/// The next row.
#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn next(x: __m512i) -> __m512i {
    let x = _mm512_xor_si512(x, _mm512_slli_epi64::<13>(x));
    let x = _mm512_xor_si512(x, _mm512_srli_epi64::<7>(x));
    _mm512_xor_si512(x, _mm512_slli_epi64::<17>(x))
}

#[target_feature(enable = "avx512dq,vpclmulqdq")]
fn fill(bytes: &mut [u8], seed: u64) {
    let mut x = begin(seed);
    let (sectors, rest) = bytes.as_chunks_mut::<SECTOR_BYTES>();
    for sector in sectors {
        for at in 0..8 {
            x = next(x);
            store(sector, at, x);
        }
    }
    let (rows, _) = rest.as_chunks_mut::<ROW_BYTES>();
    for row in rows {
        x = next(x);
        // SAFETY: as many bytes as a vector has, at any address.
        unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), x) }
    }
}

#[target_feature(enable = "avx512dq,vpclmulqdq")]
fn stamp_all(sectors: &mut [[u8; SECTOR_BYTES]], mut heads: WriteHeads<'_>) {
    let common = load(&heads.common().words);
    let (groups, rest) = sectors.as_chunks_mut::<ABREAST>();
    for group in groups {
        let of_group: [Head; ABREAST] = std::array::from_fn(|_| heads.next());
        let mut firsts = [common; ABREAST];
        for (first, head) in firsts.iter_mut().zip(&of_group) {
            *first = first_row(common, head);
        }
        stamp(group, &of_group, firsts);
    }
    for sector in rest {
        let head = heads.next();
        stamp(std::array::from_mut(sector), &[head], [first_row(common, &head)]);
    }
}

#[target_feature(enable = "avx512dq,vpclmulqdq")]
fn stamp_one(sector: &mut [u8; SECTOR_BYTES], head: &Head) {
    stamp(std::array::from_mut(sector), &[*head], [load(&head.words)]);
}

/// A head of a write: its own words put between those that all have. A vector that is read from words just written waits until
/// all before it is done.
#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn first_row(common: __m512i, head: &Head) -> __m512i {
    let row = _mm512_mask_set1_epi64(common, 1 << 1, head.words[1].cast_signed());
    let row = _mm512_mask_set1_epi64(row, 1 << 4, head.words[4].cast_signed());
    _mm512_mask_set1_epi64(row, 1 << 6, head.words[6].cast_signed())
}

/// Sectors that are made at the same time: within one, each row waits for the one before it.
const ABREAST: usize = 4;

#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn stamp<const N: usize>(sectors: &mut [[u8; SECTOR_BYTES]; N], heads: &[Head; N], firsts: [__m512i; N]) {
    let mut sums = [_mm512_setzero_si512(); N];
    for n in 0..N {
        store(&mut sectors[n], 0, firsts[n]);
        sums[n] = moved(first_for_crc(firsts[n]), 0);
    }
    if heads.iter().all(|head| head.kept_words == u32::from(PAYLOAD_WORDS)) {
        payload::<N, true>(sectors, heads, &mut sums);
    } else if heads.iter().any(|head| head.kept_words > 0) {
        payload::<N, false>(sectors, heads, &mut sums);
    } else {
        for sector in sectors.iter_mut() {
            (1..8).for_each(|at| store(sector, at, _mm512_setzero_si512()));
        }
    }
    for n in 0..N {
        sectors[n][60..64].copy_from_slice(&reduce(sums[n]).to_le_bytes());
    }
}

/// All behind the heads, and its part of the checksums; `IS_WHOLE`: nothing of it is zero.
#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn payload<const N: usize, const IS_WHOLE: bool>(
    sectors: &mut [[u8; SECTOR_BYTES]; N],
    heads: &[Head; N],
    sums: &mut [__m512i; N],
) {
    let mut lanes = [_mm512_setzero_si512(); N];
    let mut kept = [u64::MAX; N];
    for n in 0..N {
        lanes[n] = begin(heads[n].seed);
        if !IS_WHOLE {
            kept[n] = u64::MAX.checked_shr(64 - heads[n].kept_words).unwrap_or(0);
        }
    }
    for at in 1..8 {
        for n in 0..N {
            lanes[n] = next(lanes[n]);
            #[expect(clippy::cast_possible_truncation, reason = "a bit for each word of the row")]
            let mask = (kept[n] >> (8 * (at - 1))) as u8;
            let row = if IS_WHOLE { lanes[n] } else { _mm512_maskz_mov_epi64(mask, lanes[n]) };
            store(&mut sectors[n], at, row);
            sums[n] = _mm512_xor_si512(sums[n], moved(row, at));
        }
    }
}

/// The first row as the checksum takes it: without itself, and with the ones before the sector.
#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn first_for_crc(row: __m512i) -> __m512i {
    const ALL: u64 = u64::MAX;
    const OWN: [u64; 8] = [ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL >> 32];
    const ONES: [u64; 8] = [ALL >> 32, 0, 0, 0, 0, 0, 0, 0];
    _mm512_xor_si512(_mm512_and_si512(row, load(&OWN)), load(&ONES))
}

/// Row `at` moved to the end of the sector, in four parts.
#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn moved(row: __m512i, at: usize) -> __m512i {
    let by = load(&MOVES.as_chunks::<8>().0[at]);
    _mm512_xor_si512(_mm512_clmulepi64_epi128::<0x00>(row, by), _mm512_clmulepi64_epi128::<0x11>(row, by))
}

/// The checksum of the sum of all rows.
#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn reduce(sum: __m512i) -> u32 {
    let half = _mm256_xor_si256(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum));
    let end = _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
    let crc = _mm_crc32_u64(0, _mm_cvtsi128_si64(end).cast_unsigned());
    #[expect(clippy::cast_possible_truncation, reason = "the upper half is zero")]
    let crc = _mm_crc32_u64(crc, _mm_extract_epi64::<1>(end).cast_unsigned()) as u32;
    !crc
}

#[target_feature(enable = "avx512dq,vpclmulqdq")]
#[inline]
fn crc(sector: &[u8; SECTOR_BYTES]) -> u32 {
    let mut sum = moved(first_for_crc(row(sector, 0)), 0);
    for at in 1..8 {
        sum = _mm512_xor_si512(sum, moved(row(sector, at), at));
    }
    reduce(sum)
}

#[target_feature(enable = "avx512dq,vpclmulqdq")]
fn is_right(block: &[u8], wanted: &WantedHeads<'_>) -> bool {
    const STEP: [u64; 8] = [0, 0, 0, 0, SECTOR_BYTES as u64, 0, 0, 0];
    let (sectors, rest) = block.as_chunks::<SECTOR_BYTES>();
    let (mut head, mask, step) = (load(&wanted.words), load(&wanted.mask), load(&STEP));
    for sector in sectors {
        let differs = _mm512_test_epi64_mask(_mm512_xor_si512(row(sector, 0), head), mask);
        if differs != 0 || !wanted.others_hold(sector) || crc(sector) != crc_field(sector) {
            return false;
        }
        head = _mm512_add_epi64(head, step);
    }
    rest.is_empty()
}
