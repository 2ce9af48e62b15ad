//! Which heads may be read.

use crate::head::{HEAD_BYTES, MAGIC_WORD, MARK_WORD, PAYLOAD_WORDS, SECTOR_BYTES, crc_field};

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

/// The heads that the sectors of a block may have.
pub(crate) struct WantedHeads<'a> {
    /// Of the first sector …
    pub(crate) words: [u64; HEAD_BYTES / 8],
    /// … where these bits are set.
    pub(crate) mask: [u64; HEAD_BYTES / 8],
    /// Any of these executions; none: see the words.
    runs: &'a [u64],
    /// Several of them may be there; `None`: see the words.
    version: Option<Version>,
}

impl<'a> WantedHeads<'a> {
    pub(crate) fn new(expected: &Expected<'a>) -> Self {
        const ALL: u64 = u64::MAX;
        let mut words = [MAGIC_WORD, MARK_WORD, 0, expected.device, expected.address, 0, 0, 0];
        let mut mask = [ALL, ALL >> 32, 0, ALL, ALL, 0, 0, 0];
        let mut version = Some(expected.version);
        if let Version::Is(only) = expected.version {
            words[1] |= u64::from(only) << 48;
            mask[1] |= u64::from(u16::MAX) << 48;
            version = None;
        }
        let mut runs = expected.runs;
        if let [only] = runs {
            (words[2], mask[2]) = (*only, ALL);
            runs = &[];
        }
        Self { words, mask, runs, version }
    }

    /// Is a head right where several values of a field are? The other fields are seen by the words.
    #[inline(always)]
    pub(crate) fn others_hold(&self, sector: &[u8; SECTOR_BYTES]) -> bool {
        let two = |at: usize| u16::from_le_bytes([sector[at], sector[at + 1]]);
        // 65,536 sectors are stored as 0.
        sector[13] <= PAYLOAD_WORDS
            && two(52) <= two(54).wrapping_sub(1)
            && self.version.is_none_or(|version| version.allows(two(14)))
            && (self.runs.is_empty() || {
                let (words, _) = sector.as_chunks::<8>();
                self.runs.contains(&u64::from_le_bytes(words[2]))
            })
    }

    /// Do all sectors of `block` have a right head, and the checksum that `crc` finds?
    #[inline(always)]
    pub(crate) fn hold(&self, block: &[u8], mut crc: impl FnMut(&[u8; SECTOR_BYTES]) -> u32) -> bool {
        let (sectors, rest) = block.as_chunks::<SECTOR_BYTES>();
        let mut address = self.words[4];
        for sector in sectors {
            let (words, _) = sector.as_chunks::<8>();
            let word = |at: usize| u64::from_le_bytes(words[at]);
            let differs = |at: usize| (word(at) ^ self.words[at]) & self.mask[at];
            let wrong = differs(0) | differs(1) | differs(2) | differs(3) | (word(4) ^ address);
            if wrong != 0 || !self.others_hold(sector) || crc(sector) != crc_field(sector) {
                return false;
            }
            address = address.wrapping_add(SECTOR_BYTES as u64);
        }
        rest.is_empty()
    }
}
