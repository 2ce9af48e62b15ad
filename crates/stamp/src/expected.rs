//! What may be read.

use crate::sector::{SECTOR_BYTES, SectorStamp, is_intact};

/// Which writes of a block may be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// This one.
    Is(u16),
    /// This one or any behind it, also sectors of several of them: a write failed, or its machine.
    AtLeast(u16),
    /// Any write: the block only has to be what it says.
    Any,
    /// Nothing: it was trimmed, and reads as zeroes.
    Zeroes,
}

/// What a block may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected<'a> {
    /// Hash of the target's name.
    pub device: u64,
    /// The executions whose data may be there, this one first; none: those of any.
    pub runs: &'a [u64],
    /// Of its first byte on the target.
    pub address: u64,
    /// Which of its writes.
    pub version: Version,
}

/// Versions wrap: below this they have other meanings (`validation::BlockStates`), …
const FIRST: u16 = 4;
/// … and from here on they begin anew.
const END: u16 = 1 << 14;

impl Version {
    /// May a sector of this version be there?
    #[inline]
    #[must_use]
    pub fn allows(self, version: u16) -> bool {
        match self {
            Self::Is(only) => version == only,
            Self::AtLeast(least) => is_same_or_newer(version, least),
            Self::Any => true,
            Self::Zeroes => false,
        }
    }
}

/// Is `version` the same as `than`, or fewer than half of all versions behind it?
fn is_same_or_newer(version: u16, than: u16) -> bool {
    let all = END - FIRST;
    let known = FIRST..END;
    known.contains(&version) && known.contains(&than) && (version + all - than) % all < all / 2
}

/// May this block be there? True of whole sectors only.
#[inline]
#[must_use]
pub fn is_right(block: &[u8], expected: &Expected<'_>) -> bool {
    let (sectors, rest) = block.as_chunks::<SECTOR_BYTES>();
    if expected.version == Version::Zeroes {
        return is_zero(block);
    }
    let mut address = expected.address;
    for sector in sectors {
        let Some(stamp) = SectorStamp::read(sector) else { return false };
        let is_ours = stamp.device == expected.device
            && stamp.address == address
            && expected.version.allows(stamp.version)
            && (expected.runs.is_empty() || expected.runs.contains(&stamp.run));
        if !is_ours || !is_intact(sector) {
            return false;
        }
        address = address.wrapping_add(SECTOR_BYTES as u64);
    }
    rest.is_empty()
}

/// Nothing but zeroes?
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<64>();
    words.iter().all(|word| *word == [0; 64]) && rest.iter().all(|byte| *byte == 0)
}
