//! The data of writes.

use crate::sector::{Head, HeadCommon, SECTOR_BYTES, StampFlags};
use crate::way::Way;

/// What all sectors of a write have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteStamp {
    /// See [`SectorStamp`].
    pub flags: StampFlags,
    /// The execution.
    pub run: u64,
    /// The target.
    pub device: u64,
    /// Number of the write, below 2^48.
    pub sequence: u64,
    /// Who writes.
    pub writer: u16,
    /// Flushes that were submitted before.
    pub epoch: u32,
    /// Seconds since 1970.
    pub written_s: u32,
}

/// Fills the buffers of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockWriter {
    /// Leading bytes of each 4 KiB, heads included, that do not compress.
    kept_bytes: u32,
}

/// Bytes that a compressor sees as one.
const UNIT_BYTES: u32 = 4096;

impl BlockWriter {
    /// Data that compresses by `ratio`, as nearly as the heads allow (they do not compress: at most by about 5).
    #[must_use]
    pub fn new(ratio: f64) -> Self {
        let kept = f64::from(UNIT_BYTES) / ratio.max(1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "1 … 4096, or 4096 of what is no number"
        )]
        let kept_bytes = if kept.is_finite() { kept.round() as u32 } else { UNIT_BYTES };
        Self { kept_bytes: kept_bytes.min(UNIT_BYTES) }
    }

    /// Fills `buffer` with what a write carries to `address`, both in whole sectors. Blocks of `block_bytes` have the version that
    /// `version` gives for the address of each.
    #[inline]
    pub fn fill(&self, buffer: &mut [u8], place: (u64, u64), write: &WriteStamp, mut version: impl FnMut(u64) -> u16) {
        self.fill_by(Way::best(), buffer, place, write, &mut version);
    }

    /// As [`fill`](Self::fill), in a certain way.
    pub fn fill_by(
        &self,
        way: Way,
        buffer: &mut [u8],
        (address, block_bytes): (u64, u64),
        write: &WriteStamp,
        version: &mut dyn FnMut(u64) -> u16,
    ) {
        let own = (write.sequence, write.writer);
        let common = HeadCommon::new(write.flags, write.run, write.device, own, write.epoch, write.written_s);
        let (sectors, _) = buffer.as_chunks_mut();
        let write_sectors = u32::try_from(sectors.len()).unwrap_or(u32::MAX).clamp(1, 1 << 16);
        let heads = WriteHeads {
            writer: *self,
            common,
            address,
            place: 0,
            write_sectors,
            block_bytes: block_bytes.max(1),
            next_block: address,
            of_block: 0,
            version,
        };
        way.stamp_all(sectors, heads);
    }

    /// Of the sector at this address.
    #[inline(always)]
    pub(crate) fn kept_words(&self, address: u64) -> u8 {
        let sectors = UNIT_BYTES / 512;
        // Heads take their part of what is kept; the rest stands in the first sectors of a unit.
        let rest = self.kept_bytes.saturating_sub(sectors * 64);
        #[expect(clippy::cast_possible_truncation, reason = "below 8")]
        let before = (address / 512 % u64::from(sectors)) as u32 * 448;
        (rest.saturating_sub(before).min(448) / 8) as u8
    }
}

/// The heads of a write, one sector after the other.
pub(crate) struct WriteHeads<'a> {
    writer: BlockWriter,
    common: HeadCommon,
    address: u64,
    place: u16,
    write_sectors: u32,
    block_bytes: u64,
    next_block: u64,
    of_block: u16,
    version: &'a mut dyn FnMut(u64) -> u16,
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
        let kept = self.writer.kept_words(address);
        let head = self.common.of(kept, self.of_block, address, self.place, self.write_sectors);
        self.address = address.wrapping_add(SECTOR_BYTES as u64);
        // A longer write begins to count anew.
        self.place = self.place.wrapping_add(1);
        head
    }
}
