//! Bytes that look random and follow from a seed.

const LANES: usize = 8;
const ROW_BYTES: usize = LANES * 8;
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scatters all bits of `x` (the output function of SplitMix64 by Blackman and Vigna, public domain).
#[inline]
#[must_use]
pub fn scatter(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Fills whole rows of 64 bytes, by eight xorshift64 generators side by side, which the compiler turns into vector instructions. What
/// is left of the last row stays as it is.
#[inline]
pub fn fill(bytes: &mut [u8], seed: u64) {
    let mut lanes: [u64; LANES] = std::array::from_fn(|lane| {
        let x = (seed ^ (lane as u64 + 1).wrapping_mul(GOLDEN)).wrapping_mul(0xd6e8_feb8_6659_fd93);
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
