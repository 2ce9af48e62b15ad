//! Adds up very many encoded histograms: the way to fold millions of stored rows without an allocation for each.

use super::codec::{Input, VERSION};
use super::{CLIP_NS, DecodeError, Histogram, STORED_SUB_BITS, bounds_of, bucket_of};

/// A dense accumulator of stored histograms (2^5 sub-buckets per octave).
#[derive(Clone, Debug)]
pub struct Merger {
    counts: Vec<u64>,
    /// Buckets in use, `[low, high)`.
    low: usize,
    high: usize,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    clipped: u64,
    /// What is coarser than this accumulator; hardly ever there.
    coarse: Histogram,
}

impl Default for Merger {
    fn default() -> Self {
        Self::new()
    }
}

impl Merger {
    /// An empty accumulator; about 10 KiB.
    #[must_use]
    pub fn new() -> Self {
        let buckets = to_index(bucket_of(CLIP_NS, STORED_SUB_BITS)) + 1;
        Self {
            counts: vec![0; buckets],
            low: buckets,
            high: 0,
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            clipped: 0,
            coarse: Histogram::new(STORED_SUB_BITS),
        }
    }

    /// Adds a histogram in its binary form.
    ///
    /// # Errors
    /// Bytes that `encode` cannot have written; what was added before them remains, of them a part may.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let [version, sub_bits, ..] = *bytes else { return Err(DecodeError::Length(bytes.len())) };
        if version != VERSION || u32::from(sub_bits) != STORED_SUB_BITS {
            let other = Histogram::decode(bytes)?;
            self.coarse.merge(&other);
            return Ok(());
        }
        let mut input = Input { bytes, at: 2 };
        let count = input.word()?;
        if count > 0 {
            self.sum = self.sum.saturating_add(input.varint()?);
            self.min = self.min.min(input.word()?);
            self.max = self.max.max(input.word()?);
            self.clipped = self.clipped.saturating_add(input.word()?);
            let length = input.word()?;
            let mut bucket = 0;
            let mut total = 0_u64;
            for index in 0..length {
                bucket += usize::try_from(input.word()?).unwrap_or(usize::MAX / 4);
                let slot = self.counts.get_mut(bucket).ok_or(DecodeError::Inconsistent("bucket out of range"))?;
                let here = input.word()?;
                *slot = slot.saturating_add(here);
                total = total.saturating_add(here);
                if index == 0 {
                    self.low = self.low.min(bucket);
                }
            }
            self.high = self.high.max(bucket + 1);
            if total != count {
                return Err(DecodeError::Inconsistent("counts do not add up"));
            }
            self.count = self.count.saturating_add(count);
        }
        if input.at == bytes.len() { Ok(()) } else { Err(DecodeError::Length(bytes.len())) }
    }

    /// The sum of what was added since the last call; the accumulator is empty afterwards.
    pub fn take(&mut self) -> Histogram {
        let mut sum = Histogram::new(STORED_SUB_BITS);
        if self.count > 0 {
            for (index, count) in
                self.counts[self.low..self.high].iter_mut().enumerate().filter(|(_, count)| **count > 0)
            {
                sum.buckets.push((u32::try_from(self.low + index).unwrap_or(u32::MAX), std::mem::take(count)));
            }
            (sum.count, sum.sum, sum.min, sum.max, sum.clipped) =
                (self.count, self.sum, self.min, self.max, self.clipped);
        }
        (self.low, self.high, self.count, self.sum) = (self.counts.len(), 0, 0, 0);
        (self.min, self.max, self.clipped) = (u64::MAX, 0, 0);
        if self.coarse.count > 0 {
            sum.merge(&std::mem::replace(&mut self.coarse, Histogram::new(STORED_SUB_BITS)));
        }
        debug_assert!(sum.buckets.iter().all(|(bucket, _)| bounds_of(*bucket, sum.sub_bits).0 <= CLIP_NS));
        sum
    }
}

fn to_index(bucket: u32) -> usize {
    usize::try_from(bucket).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merging_encoded_is_merging(parts in prop::collection::vec((prop::collection::vec(0_u64..10_000_000_000_000, 0..50), 4_u32..=7), 0..12)) {
            let mut merger = Merger::new();
            for _ in 0..2 {
                let mut expect = Histogram::new(STORED_SUB_BITS);
                for (values, sub_bits) in &parts {
                    let mut histogram = Histogram::new(*sub_bits);
                    values.iter().for_each(|value| histogram.record(*value));
                    merger.add(&histogram.encode()).unwrap();
                    expect.merge(&histogram);
                }
                let sum = merger.take();
                prop_assert_eq!((sum.count(), sum.sum(), sum.min(), sum.max(), sum.clipped()),
                    (expect.count(), expect.sum(), expect.min(), expect.max(), expect.clipped()));
                prop_assert_eq!(sum.collapse(4), expect.collapse(4));
            }
        }

        #[test]
        fn merging_damaged_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut merger = Merger::new();
            let _ = merger.add(&bytes);
            let _ = merger.add(&[&[1, 5][..], &bytes].concat());
            let _ = merger.take();
        }
    }
}
