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

use crate::payload;
use crc_fast::{CrcAlgorithm, checksum};

/// First bytes of every sector that iodyno writes (except with a user's pattern), so that a target is known again.
pub const SECTOR_MAGIC: [u8; 8] = *b"iodyno\0\x01";

/// Bytes of a sector.
pub const SECTOR_BYTES: usize = 512;

/// Behind the magic: this sector has a stamp.
pub const STAMP_MARK: [u8; 4] = *b"dv\0\x01";

/// Bytes of a head.
pub const HEAD_BYTES: usize = 64;

/// What stands at the beginning of each sector of a buffer before a read: a sector that still has it was not transferred.
pub const POISON: [u8; 16] = *b"iodyno: not read";

/// Words of 8 bytes behind the head.
const PAYLOAD_WORDS: u8 = ((SECTOR_BYTES - HEAD_BYTES) / 8) as u8;

/// What kind of data a sector is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampFlags(pub u8);

impl StampFlags {
    /// One of a set of equal blocks: the head has the set in place of address, version and write.
    pub const COPY: Self = Self(1);
    /// In a file of a tree: the device is a hash of the file's name.
    pub const FILE: Self = Self(2);
    /// Written by a replay.
    pub const REPLAY: Self = Self(4);

    /// Does it have all of these?
    #[must_use]
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

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
            sequence: eight(40) & 0xffff_ffff_ffff,
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
        let (head, rest) = sector.split_at_mut(HEAD_BYTES);
        let kept = usize::from(self.kept_words.min(PAYLOAD_WORDS)) * 8;
        if kept > 0 {
            payload::fill(rest, self.seed());
        }
        rest[kept..].fill(0);
        head[..8].copy_from_slice(&SECTOR_MAGIC);
        head[8..12].copy_from_slice(&STAMP_MARK);
        head[12] = self.flags.0;
        head[13] = self.kept_words;
        head[14..16].copy_from_slice(&self.version.to_le_bytes());
        head[16..24].copy_from_slice(&self.run.to_le_bytes());
        head[24..32].copy_from_slice(&self.device.to_le_bytes());
        head[32..40].copy_from_slice(&self.address.to_le_bytes());
        head[40..48].copy_from_slice(&(self.sequence & 0xffff_ffff_ffff | u64::from(self.writer) << 48).to_le_bytes());
        head[48..52].copy_from_slice(&self.epoch.to_le_bytes());
        head[52..54].copy_from_slice(&self.place.to_le_bytes());
        #[expect(clippy::cast_possible_truncation, reason = "65,536 is stored as 0")]
        head[54..56].copy_from_slice(&(self.write_sectors as u16).to_le_bytes());
        head[56..60].copy_from_slice(&self.written_s.to_le_bytes());
        head[60..64].fill(0);
        let crc = crc_of(sector);
        sector[60..64].copy_from_slice(&crc.to_le_bytes());
    }

    /// What the bytes behind the head follow from.
    #[inline]
    fn seed(&self) -> u64 {
        let place = self.address.rotate_left(23) ^ self.device;
        payload::scatter(payload::scatter(self.run ^ self.sequence.rotate_left(16)) ^ place)
    }
}

/// Does a sector have the checksum that it says?
#[must_use]
pub fn is_intact(sector: &[u8; SECTOR_BYTES]) -> bool {
    let mut bytes = *sector;
    bytes[60..64].fill(0);
    sector[60..64] == crc_of(&bytes).to_le_bytes()
}

#[inline]
fn crc_of(sector: &[u8; SECTOR_BYTES]) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "a checksum of 32 bits")]
    let crc = checksum(CrcAlgorithm::Crc32Iscsi, sector) as u32;
    crc
}

/// Marks each sector of a buffer as not read.
#[inline]
pub fn poison(buffer: &mut [u8]) {
    for sector in buffer.chunks_mut(SECTOR_BYTES) {
        let length = POISON.len().min(sector.len());
        sector[..length].copy_from_slice(&POISON[..length]);
    }
}
