//! Generators side by side, of bytes that look random and follow from a seed.

/// Generators side by side, a word of 8 bytes each.
pub(crate) const LANES: usize = 8;
pub(crate) const ROW_BYTES: usize = LANES * 8;
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What the seed of each generator differs by …
pub(crate) const LANE_SEEDS: [u64; LANES] = lane_seeds();
/// … before it is multiplied with this.
pub(crate) const LANE_FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

const fn lane_seeds() -> [u64; LANES] {
    let mut seeds = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        seeds[lane] = (lane as u64 + 1).wrapping_mul(GOLDEN);
        lane += 1;
    }
    seeds
}

/// Scatters all bits of `x` (the output function of SplitMix64 by Blackman and Vigna, public domain).
#[inline]
#[must_use]
pub fn scatter(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// See [`crate::payload::fill`]; in whatever instructions the caller is compiled to: the compiler makes vectors of it.
#[inline(always)]
pub(crate) fn fill_rows(bytes: &mut [u8], seed: u64) {
    let mut lanes = LANE_SEEDS.map(|own| {
        let x = (seed ^ own).wrapping_mul(LANE_FACTOR);
        (x ^ (x >> 32)) | 1
    });
    let (rows, _) = bytes.as_chunks_mut::<ROW_BYTES>();
    for row in rows {
        for x in &mut lanes {
            *x ^= *x << 13;
            *x ^= *x >> 7;
            *x ^= *x << 17;
        }
        let (words, _) = row.as_chunks_mut::<8>();
        for (word, x) in words.iter_mut().zip(&lanes) {
            *word = x.to_le_bytes();
        }
    }
}
