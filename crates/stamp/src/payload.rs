//! Bytes that look random and follow from a seed.

use crate::way::Way;

pub use crate::lanes::scatter;

/// Fills whole rows of 64 bytes, by eight xorshift64 generators side by side. What is left of the last row stays as it is.
#[inline]
pub fn fill(bytes: &mut [u8], seed: u64) {
    Way::best().fill(bytes, seed);
}
