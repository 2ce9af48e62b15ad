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
use crate::way::Way;

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

/// Numbers of writes end here.
const SEQUENCES: u64 = 0xffff_ffff_ffff;

/// Words of 8 bytes behind the head.
pub(crate) const PAYLOAD_WORDS: u8 = 56;
const _: () = assert!(PAYLOAD_WORDS as usize * 8 + HEAD_BYTES == SECTOR_BYTES);

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

/// Words of a head, and what the bytes behind it follow from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The checksum, in the upper half of the last one, is zero.
    pub(crate) words: [u64; HEAD_BYTES / 8],
    /// Of the payload.
    pub(crate) seed: u64,
    /// Words behind the head that are not zero, at most 56.
    pub(crate) kept_words: u32,
}

/// What the heads of all sectors of a write have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadCommon {
    /// All but the second, fifth and seventh are as in every head.
    pub(crate) words: [u64; HEAD_BYTES / 8],
    device: u64,
    /// Of run and number of the write.
    seed: u64,
}

/// Of the first word.
pub(crate) const MAGIC_WORD: u64 = u64::from_le_bytes(SECTOR_MAGIC);
/// Of the lower half of the second word.
pub(crate) const MARK_WORD: u64 = u32::from_le_bytes(STAMP_MARK) as u64;

impl HeadCommon {
    pub(crate) fn new(
        flags: StampFlags,
        run: u64,
        device: u64,
        (sequence, writer): (u64, u16),
        epoch: u32,
        written_s: u32,
    ) -> Self {
        let second = MARK_WORD | u64::from(flags.0) << 32;
        let write = sequence & SEQUENCES | u64::from(writer) << 48;
        let words = [MAGIC_WORD, second, run, device, 0, write, u64::from(epoch), u64::from(written_s)];
        Self { words, device, seed: payload::scatter(run ^ sequence.rotate_left(16)) }
    }

    /// The head of one of its sectors.
    #[inline(always)]
    pub(crate) fn of(&self, kept_words: u8, version: u16, address: u64, place: u16, write_sectors: u32) -> Head {
        let mut words = self.words;
        words[1] |= u64::from(kept_words) << 40 | u64::from(version) << 48;
        words[4] = address;
        // 65,536 is stored as 0.
        words[6] |= u64::from(place) << 32 | u64::from(write_sectors) << 48;
        let seed = payload::scatter(self.seed ^ address.rotate_left(23) ^ self.device);
        Head { words, seed, kept_words: u32::from(kept_words.min(PAYLOAD_WORDS)) }
    }
}

/// Does a sector have the checksum that it says?
#[must_use]
pub fn is_intact(sector: &[u8; SECTOR_BYTES]) -> bool {
    Way::best().crc(sector) == crc_field(sector)
}

/// The checksum that it says.
#[inline]
pub(crate) fn crc_field(sector: &[u8; SECTOR_BYTES]) -> u32 {
    u32::from_le_bytes([sector[60], sector[61], sector[62], sector[63]])
}

/// Marks each sector of a buffer as not read.
#[inline]
pub fn poison(buffer: &mut [u8]) {
    for sector in buffer.chunks_mut(SECTOR_BYTES) {
        let length = POISON.len().min(sector.len());
        sector[..length].copy_from_slice(&POISON[..length]);
    }
}
