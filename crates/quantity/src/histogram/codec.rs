//! The binary form of a histogram, version 1 (docs/histogram-v1.md).
//!
//! `version: u8 = 1, sub_bits: u8`, then LEB128 varints: `count, sum, min, max, clipped, buckets`, then per bucket the
//! distance of its index from the one before (the first from 0) and its count. Nothing after `count` when that is 0.

use super::{CLIP_NS, Histogram, bucket_of};

/// Version of the layout.
pub(super) const VERSION: u8 = 1;

/// Why bytes are no histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end too early, or go on too long.
    #[error("histogram of {0} bytes is cut short or has bytes left over")]
    Length(usize),
    /// Written by a version that this one does not know.
    #[error("histogram has layout version {0}, this program reads version 1")]
    Version(u8),
    /// The parts contradict each other.
    #[error("histogram contradicts itself: {0}")]
    Inconsistent(&'static str),
}

impl Histogram {
    /// The binary form.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + self.buckets.len() * 3);
        out.push(VERSION);
        out.push(u8::try_from(self.sub_bits).unwrap_or(u8::MAX));
        put(&mut out, u128::from(self.count));
        if self.count == 0 {
            return out;
        }
        put(&mut out, self.sum);
        put(&mut out, u128::from(self.min));
        put(&mut out, u128::from(self.max));
        put(&mut out, u128::from(self.clipped));
        put(&mut out, self.buckets.len() as u128);
        let mut last = 0;
        for (bucket, count) in &self.buckets {
            put(&mut out, u128::from(bucket - last));
            put(&mut out, u128::from(*count));
            last = *bucket;
        }
        out
    }

    /// Reads the binary form.
    ///
    /// # Errors
    /// Bytes that `encode` cannot have written.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut input = Input { bytes, at: 2 };
        let [version, sub_bits, ..] = *bytes else { return Err(DecodeError::Length(bytes.len())) };
        if version != VERSION {
            return Err(DecodeError::Version(version));
        }
        if !(1..=10).contains(&sub_bits) {
            return Err(DecodeError::Inconsistent("resolution out of range"));
        }
        let mut histogram = Self::new(u32::from(sub_bits));
        histogram.count = input.word()?;
        if histogram.count > 0 {
            histogram.sum = input.varint()?;
            histogram.min = input.word()?;
            histogram.max = input.word()?;
            histogram.clipped = input.word()?;
            histogram.buckets = input.buckets(histogram.sub_bits)?;
            let total = histogram.buckets.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count));
            // No bucket at all: the distribution was not recorded.
            if total != Some(histogram.count) && !histogram.buckets.is_empty() {
                return Err(DecodeError::Inconsistent("counts do not add up"));
            }
            if histogram.min > histogram.max || histogram.clipped > histogram.count {
                return Err(DecodeError::Inconsistent("minimum above maximum"));
            }
        }
        if input.at == bytes.len() { Ok(histogram) } else { Err(DecodeError::Length(bytes.len())) }
    }
}

/// Appends a LEB128 varint.
#[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
pub(super) fn put(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) struct Input<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl Input<'_> {
    pub(super) fn varint(&mut self) -> Result<u128, DecodeError> {
        let mut value = 0_u128;
        for shift in (0..128).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(DecodeError::Length(self.bytes.len()))?;
            self.at += 1;
            value |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::Inconsistent("number too long"))
    }

    /// A number of 64 bits; nearly all of them are one or two bytes long.
    #[inline]
    pub(super) fn word(&mut self) -> Result<u64, DecodeError> {
        match self.bytes.get(self.at..) {
            Some([byte, ..]) if *byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(*byte))
            }
            Some([low, high, ..]) if *high < 0x80 => {
                self.at += 2;
                Ok(u64::from(low & 0x7f) | u64::from(*high) << 7)
            }
            _ => self.long_word(),
        }
    }

    fn long_word(&mut self) -> Result<u64, DecodeError> {
        u64::try_from(self.varint()?).map_err(|_| DecodeError::Inconsistent("number too large"))
    }

    fn buckets(&mut self, sub_bits: u32) -> Result<Vec<(u32, u64)>, DecodeError> {
        let length = self.word()?;
        let last_allowed = bucket_of(CLIP_NS, sub_bits);
        if length > u64::from(last_allowed) + 1 {
            return Err(DecodeError::Inconsistent("more buckets than there are"));
        }
        let mut buckets = Vec::new();
        let mut last = 0_u32;
        for index in 0..length {
            let distance = u32::try_from(self.word()?).map_err(|_| DecodeError::Inconsistent("bucket out of range"))?;
            let bucket = last.checked_add(distance).filter(|bucket| *bucket <= last_allowed);
            let bucket = bucket.ok_or(DecodeError::Inconsistent("bucket out of range"))?;
            let count = self.word()?;
            if (index > 0 && distance == 0) || count == 0 {
                return Err(DecodeError::Inconsistent("bucket twice or empty"));
            }
            buckets.push((bucket, count));
            last = bucket;
        }
        Ok(buckets)
    }
}
