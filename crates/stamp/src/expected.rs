//! What may be read.

use crate::head::SECTOR_BYTES;
use crate::wanted::WantedHeads;
use crate::way::Way;

pub use crate::wanted::{Expected, Version};

/// May this block be there? True of whole sectors only.
#[inline]
#[must_use]
pub fn is_right(block: &[u8], expected: &Expected<'_>) -> bool {
    is_right_by(Way::best(), block, expected)
}

/// As [`is_right`], in a certain way.
#[must_use]
pub fn is_right_by(way: Way, block: &[u8], expected: &Expected<'_>) -> bool {
    if expected.version == Version::Zeroes {
        return is_zero(block);
    }
    way.is_right(block, &WantedHeads::new(expected))
}

/// Nothing but zeroes?
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (sectors, rest) = bytes.as_chunks::<SECTOR_BYTES>();
    let are_zero = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all | byte) == 0;
    sectors.iter().all(|sector| are_zero(sector)) && are_zero(rest)
}
