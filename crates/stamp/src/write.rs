//! The data of writes.

#[cfg(test)]
use crate::head::kept_words;
use crate::head::{HeadCommon, StampFlags, UNIT_BYTES, WriteHeads};
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
            kept_bytes: self.kept_bytes,
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
    #[cfg(test)]
    pub(crate) fn kept_words(&self, address: u64) -> u8 {
        kept_words(self.kept_bytes, address)
    }
}
