//! The data of writes.

use crate::sector::{SECTOR_BYTES, SectorStamp, StampFlags};

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
    pub fn fill(
        &self,
        buffer: &mut [u8],
        (address, block_bytes): (u64, u64),
        write: &WriteStamp,
        mut version: impl FnMut(u64) -> u16,
    ) {
        let write_sectors = u32::try_from(buffer.len() / SECTOR_BYTES).unwrap_or(u32::MAX).clamp(1, 1 << 16);
        let (sectors, _) = buffer.as_chunks_mut::<SECTOR_BYTES>();
        let (mut of_block, mut next_block) = (0, address);
        let mut address = address;
        for (place, sector) in sectors.iter_mut().enumerate() {
            if address >= next_block {
                of_block = version(address);
                next_block = address - address % block_bytes.max(1) + block_bytes.max(1);
            }
            #[expect(clippy::cast_possible_truncation, reason = "a longer write begins to count anew")]
            let place = place as u16;
            let stamp = SectorStamp {
                flags: write.flags,
                kept_words: self.kept_words(address),
                version: of_block,
                run: write.run,
                device: write.device,
                address,
                sequence: write.sequence,
                writer: write.writer,
                epoch: write.epoch,
                place,
                write_sectors,
                written_s: write.written_s,
            };
            stamp.write(sector);
            address = address.wrapping_add(SECTOR_BYTES as u64);
        }
    }

    /// Of the sector at this address.
    #[inline]
    fn kept_words(&self, address: u64) -> u8 {
        let sectors = UNIT_BYTES / 512;
        // Heads take their part of what is kept; the rest stands in the first sectors of a unit.
        let rest = self.kept_bytes.saturating_sub(sectors * 64);
        #[expect(clippy::cast_possible_truncation, reason = "below 8")]
        let before = (address / 512 % u64::from(sectors)) as u32 * 448;
        let here = rest.saturating_sub(before).min(448);
        #[expect(clippy::cast_possible_truncation, reason = "at most 56")]
        let words = (here / 8) as u8;
        words
    }
}
