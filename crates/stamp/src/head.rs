//! The words of heads, and sectors without checksum.

use crate::lanes::{fill_rows, scatter};

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
pub(crate) const SEQUENCES: u64 = 0xffff_ffff_ffff;

/// Words of 8 bytes behind the head.
pub(crate) const PAYLOAD_WORDS: u8 = 56;
const _: () = assert!(PAYLOAD_WORDS as usize * 8 + HEAD_BYTES == SECTOR_BYTES);

/// What kind of data a sector is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampFlags(pub u8);

impl StampFlags {
    /// One of a set of equal blocks: the head has the set in place of address, version and write.
    pub const COPY: Self = Self(1);
    /// In a file: the device is a hash of the file's name, and the address is the one in the file.
    pub const FILE: Self = Self(2);
    /// Written by a replay.
    pub const REPLAY: Self = Self(4);

    /// Does it have all of these?
    #[must_use]
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
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
        Self { words, device, seed: scatter(run ^ sequence.rotate_left(16)) }
    }

    /// The head of one of its sectors.
    #[inline(always)]
    pub(crate) fn of(&self, kept_words: u8, version: u16, address: u64, place: u16, write_sectors: u32) -> Head {
        let mut words = self.words;
        words[1] |= u64::from(kept_words) << 40 | u64::from(version) << 48;
        words[4] = address;
        // 65,536 is stored as 0.
        words[6] |= u64::from(place) << 32 | u64::from(write_sectors) << 48;
        let seed = scatter(self.seed ^ address.rotate_left(23) ^ self.device);
        Head { words, seed, kept_words: u32::from(kept_words.min(PAYLOAD_WORDS)) }
    }
}

/// The checksum that it says.
#[inline]
pub(crate) fn crc_field(sector: &[u8; SECTOR_BYTES]) -> u32 {
    u32::from_le_bytes([sector[60], sector[61], sector[62], sector[63]])
}

/// The head without checksum, the payload, and the zeroes behind it, in whatever instructions the caller is compiled to.
#[inline(always)]
pub(crate) fn lay_out(sector: &mut [u8; SECTOR_BYTES], head: &Head) {
    let (front, rest) = sector.split_at_mut(HEAD_BYTES);
    let (front, _) = front.as_chunks_mut::<8>();
    for (bytes, word) in front.iter_mut().zip(head.words) {
        *bytes = word.to_le_bytes();
    }
    if (head.kept_words as usize) > 0 {
        fill_rows(rest, head.seed);
    }
    if (head.kept_words as usize) < usize::from(PAYLOAD_WORDS) {
        rest[(head.kept_words as usize) * 8..].fill(0);
    }
}

/// Bytes that a compressor sees as one.
pub(crate) const UNIT_BYTES: u32 = 4096;

/// Words behind the head of the sector at this address that are not zero.
#[inline(always)]
pub(crate) fn kept_words(kept_bytes: u32, address: u64) -> u8 {
    let sectors = UNIT_BYTES / 512;
    // Heads take their part of what is kept; the rest stands in the first sectors of a unit.
    let rest = kept_bytes.saturating_sub(sectors * 64);
    #[expect(clippy::cast_possible_truncation, reason = "below 8")]
    let before = (address / 512 % u64::from(sectors)) as u32 * 448;
    (rest.saturating_sub(before).min(448) / 8) as u8
}

/// The heads of a write, one sector after the other.
pub(crate) struct WriteHeads<'a> {
    pub(crate) kept_bytes: u32,
    pub(crate) common: HeadCommon,
    pub(crate) address: u64,
    pub(crate) place: u16,
    pub(crate) write_sectors: u32,
    pub(crate) block_bytes: u64,
    pub(crate) next_block: u64,
    pub(crate) of_block: u16,
    pub(crate) version: &'a mut dyn FnMut(u64) -> u16,
}

impl WriteHeads<'_> {
    /// What they have in common.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn common(&self) -> &HeadCommon {
        &self.common
    }

    /// Of the next sector.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Head {
        let address = self.address;
        if address >= self.next_block {
            self.of_block = (self.version)(address);
            self.next_block = (address - address % self.block_bytes).saturating_add(self.block_bytes);
        }
        let kept = kept_words(self.kept_bytes, address);
        let head = self.common.of(kept, self.of_block, address, self.place, self.write_sectors);
        self.address = address.wrapping_add(SECTOR_BYTES as u64);
        // A longer write begins to count anew.
        self.place = self.place.wrapping_add(1);
        head
    }
}
