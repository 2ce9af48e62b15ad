//! A sector's head: 64 bytes, little endian.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 … 8 | [`SECTOR_MAGIC`], by which all that iodyno writes is known |
//! | 8 … 12 | [`STAMP_MARK`]: a stamp follows; its last byte is the version of this layout |
//! | 12 | [`StampFlags`] |
//! | 13 | how many words of 8 bytes behind the head are not zero, at most 56 |
//! | 14 … 16 | version of the block: which of the writes to it (it wraps: `validation::BlockStates`) |
//! | 16 … 24 | run: a random number of each execution |
//! | 24 … 32 | device: a hash of the target's name |
//! | 32 … 40 | address on the target, bytes |
//! | 40 … 46 | number of the write among all of the execution to this target |
//! | 46 … 48 | writer |
//! | 48 … 52 | flush epoch: flushes that had been submitted when the write was |
//! | 52 … 54 | this sector's place within its write |
//! | 54 … 56 | sectors of the write; 0 means 65,536 |
//! | 56 … 60 | when, seconds since 1970 |
//! | 60 … 64 | CRC-32C of the whole sector with these four bytes zero |

use crate::head::{Head, HeadCommon, SEQUENCES, crc_field};
use crate::way::Way;

pub(crate) use crate::head::PAYLOAD_WORDS;
pub use crate::head::{HEAD_BYTES, POISON, SECTOR_BYTES, SECTOR_MAGIC, STAMP_MARK, StampFlags};

/// What a sector says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorStamp {
    /// What kind of data it is.
    pub flags: StampFlags,
    /// Words of 8 bytes behind the head that are not zero, at most 56.
    pub kept_words: u8,
    /// Which of the writes to its block.
    pub version: u16,
    /// The execution that wrote it.
    pub run: u64,
    /// The target that it was written to.
    pub device: u64,
    /// Where on the target, bytes.
    pub address: u64,
    /// Number of the write, below 2^48.
    pub sequence: u64,
    /// Who wrote it.
    pub writer: u16,
    /// Flushes that had been submitted to the target when it was written.
    pub epoch: u32,
    /// Its place in its write, sectors.
    pub place: u16,
    /// Sectors of the write, at least 1.
    pub write_sectors: u32,
    /// When it was written, seconds since 1970.
    pub written_s: u32,
}

impl SectorStamp {
    /// What a sector says of itself; `None` without mark, or with fields that no write has. The checksum is not looked at ([`is_intact`]).
    #[must_use]
    pub fn read(sector: &[u8; SECTOR_BYTES]) -> Option<Self> {
        if sector[..8] != SECTOR_MAGIC || sector[8..12] != STAMP_MARK {
            return None;
        }
        let two = |at: usize| u16::from_le_bytes([sector[at], sector[at + 1]]);
        let four = |at: usize| u32::from(two(at)) | u32::from(two(at + 2)) << 16;
        let eight = |at: usize| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        let write_sectors = if two(54) == 0 { 1 << 16 } else { u32::from(two(54)) };
        let stamp = Self {
            flags: StampFlags(sector[12]),
            kept_words: sector[13],
            version: two(14),
            run: eight(16),
            device: eight(24),
            address: eight(32),
            sequence: eight(40) & SEQUENCES,
            writer: two(46),
            epoch: four(48),
            place: two(52),
            write_sectors,
            written_s: four(56),
        };
        (stamp.kept_words <= PAYLOAD_WORDS && u32::from(stamp.place) < write_sectors).then_some(stamp)
    }

    /// The whole sector.
    #[inline]
    pub fn write(&self, sector: &mut [u8; SECTOR_BYTES]) {
        Way::best().stamp(sector, &self.head());
    }

    /// The head as words.
    pub(crate) fn head(&self) -> Head {
        let common = HeadCommon::new(
            self.flags,
            self.run,
            self.device,
            (self.sequence, self.writer),
            self.epoch,
            self.written_s,
        );
        common.of(self.kept_words, self.version, self.address, self.place, self.write_sectors)
    }
}

/// Does a sector have the checksum that it says?
#[must_use]
pub fn is_intact(sector: &[u8; SECTOR_BYTES]) -> bool {
    Way::best().crc(sector) == crc_field(sector)
}

/// Marks each sector of a buffer as not read.
#[inline]
pub fn poison(buffer: &mut [u8]) {
    for sector in buffer.chunks_mut(SECTOR_BYTES) {
        let length = POISON.len().min(sector.len());
        sector[..length].copy_from_slice(&POISON[..length]);
    }
}
