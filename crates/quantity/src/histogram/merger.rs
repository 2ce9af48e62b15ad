//! Adds up very many encoded histograms: the way to fold millions of stored rows without an allocation for each.

use super::codec::{Input, VERSION};
use super::{CLIP_NS, DecodeError, Histogram, STORED_SUB_BITS, bounds_of, bucket_of};

/// An accumulator of histograms and values: dense between the smallest and the largest bucket that it has seen.
#[derive(Clone, Debug)]
pub struct HistogramMerger {
    sub_bits: u32,
    /// Takes over the resolution of the first histogram.
    is_adaptive: bool,
    /// Counts of the buckets from `first` on.
    counts: Vec<u64>,
    first: usize,
    /// Buckets in use, `[low, high)`.
    low: usize,
    high: usize,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    clipped: u64,
    /// What has another resolution than this accumulator; hardly ever there.
    other: Histogram,
}

impl Default for HistogramMerger {
    fn default() -> Self {
        Self::new()
    }
}

/// The window of counts grows by so many buckets at least, on either side.
const GROWTH: usize = 32;

impl HistogramMerger {
    /// An empty accumulator at the resolution of stored intervals.
    #[must_use]
    pub fn new() -> Self {
        Self::with_sub_bits(STORED_SUB_BITS)
    }

    /// An empty accumulator with `2^sub_bits` buckets per octave.
    #[must_use]
    pub fn with_sub_bits(sub_bits: u32) -> Self {
        Self {
            sub_bits,
            is_adaptive: false,
            counts: Vec::new(),
            first: 0,
            low: usize::MAX,
            high: 0,
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            clipped: 0,
            other: Histogram::new(sub_bits),
        }
    }

    /// An empty accumulator with the resolution of the first histogram that it is given.
    #[must_use]
    pub fn adaptive() -> Self {
        Self { is_adaptive: true, ..Self::new() }
    }

    /// Number of values added since the last [`Self::take`].
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.saturating_add(self.other.count)
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<u64>() + self.other.buckets.capacity() * size_of::<(u32, u64)>()
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Adds `n` equal values.
    #[inline]
    pub fn record_n(&mut self, value_ns: u64, n: u64) {
        if n == 0 {
            return;
        }
        let bucket = to_index(bucket_of(value_ns.min(CLIP_NS), self.sub_bits));
        // The bucket of a clipped value exists.
        if let Some(slot) = self.slot(bucket) {
            *slot = slot.saturating_add(n);
        }
        (self.low, self.high) = (self.low.min(bucket), self.high.max(bucket + 1));
        self.count = self.count.saturating_add(n);
        self.sum = self.sum.saturating_add(u128::from(value_ns) * u128::from(n));
        self.min = self.min.min(value_ns);
        self.max = self.max.max(value_ns);
        if value_ns > CLIP_NS {
            self.clipped = self.clipped.saturating_add(n);
        }
    }

    /// Adds a histogram in its binary form.
    ///
    /// # Errors
    /// Bytes that `encode` cannot have written, or more values than 64 bits count; nothing of them was added.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let [version, sub_bits, ..] = *bytes else { return Err(DecodeError::Length(bytes.len())) };
        if u32::from(sub_bits) != self.sub_bits && self.is_adaptive && self.count() == 0 {
            let checked = Histogram::decode(bytes)?;
            if checked.count == 0 {
                return Ok(());
            }
            *self = Self { is_adaptive: true, ..Self::with_sub_bits(checked.sub_bits) };
        }
        if version != VERSION || u32::from(sub_bits) != self.sub_bits {
            let other = Histogram::decode(bytes)?;
            self.other.merge(&other);
            return Ok(());
        }
        let mut added = 0;
        if self.add_stored(bytes, &mut added).is_some() {
            return Ok(());
        }
        self.take_back(bytes, added);
        // The slow way knows what is wrong with them, or that there is no distribution in them.
        match Histogram::decode(bytes) {
            Ok(other) if other.is_summary() => {
                self.other.merge(&other);
                Ok(())
            }
            Ok(_) => Err(DecodeError::Inconsistent("more values than can be counted")),
            Err(error) => Err(error),
        }
    }

    /// The count of a bucket; `None` when there is no such bucket.
    #[inline]
    fn slot(&mut self, bucket: usize) -> Option<&mut u64> {
        if bucket.wrapping_sub(self.first) >= self.counts.len() {
            self.grow(bucket)?;
        }
        self.counts.get_mut(bucket - self.first)
    }

    /// Makes room for a bucket.
    #[cold]
    fn grow(&mut self, bucket: usize) -> Option<()> {
        let end = to_index(bucket_of(CLIP_NS, self.sub_bits)) + 1;
        if bucket >= end {
            return None;
        }
        let first = bucket - bucket % GROWTH;
        let last = (first + GROWTH).min(end);
        if self.counts.is_empty() {
            self.first = first;
            self.counts = vec![0; last - first];
        } else if bucket < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - first));
            self.first = first;
        } else {
            self.counts.resize(last - self.first, 0);
        }
        Some(())
    }

    /// Adds bytes of this accumulator's resolution; `None` when they are no histogram, with `added` buckets to be
    /// taken back.
    fn add_stored(&mut self, bytes: &[u8], added: &mut u64) -> Option<()> {
        let mut input = Input { bytes, at: 2 };
        let count = input.word().ok()?;
        if count == 0 {
            return (input.at == bytes.len()).then_some(());
        }
        let sum = input.varint().ok()?;
        let [min, max, clipped, length] =
            [input.word().ok()?, input.word().ok()?, input.word().ok()?, input.word().ok()?];
        let (mut bucket, mut low, mut total) = (0_usize, 0, 0_u64);
        while *added < length {
            let distance = usize::try_from(input.word().ok()?).ok()?;
            bucket = bucket.checked_add(distance)?;
            let here = input.word().ok()?;
            if here == 0 || (distance == 0 && *added > 0) {
                return None;
            }
            let slot = self.slot(bucket)?;
            *slot = slot.checked_add(here)?;
            if *added == 0 {
                low = bucket;
            }
            *added += 1;
            total = total.checked_add(here)?;
        }
        let is_whole = total == count && min <= max && clipped <= count && input.at == bytes.len();
        self.count = self.count.checked_add(count).filter(|_| is_whole)?;
        (self.low, self.high) = (self.low.min(low), self.high.max(bucket + 1));
        self.sum = self.sum.saturating_add(sum);
        (self.min, self.max) = (self.min.min(min), self.max.max(max));
        self.clipped = self.clipped.saturating_add(clipped);
        Some(())
    }

    /// Takes the first `added` buckets of damaged bytes back.
    #[cold]
    fn take_back(&mut self, bytes: &[u8], added: u64) {
        let mut input = Input { bytes, at: 2 };
        let header_is_whole = input.word().is_ok() && input.varint().is_ok() && (0..4).all(|_| input.word().is_ok());
        if !header_is_whole {
            return;
        }
        let mut bucket = 0_usize;
        for _ in 0..added {
            let (Ok(distance), Ok(here)) = (input.word(), input.word()) else { return };
            bucket = bucket.saturating_add(usize::try_from(distance).unwrap_or(usize::MAX));
            if let Some(slot) = bucket.checked_sub(self.first).and_then(|at| self.counts.get_mut(at)) {
                *slot -= here;
            }
        }
    }

    /// The sum of what was added since the last call; the accumulator is empty afterwards.
    pub fn take(&mut self) -> Histogram {
        let mut sum = Histogram::new(self.sub_bits);
        if self.count > 0 {
            let (low, first) = (self.low, self.first);
            let used = self.counts[low - first..self.high - first].iter_mut().enumerate();
            for (index, count) in used.filter(|(_, count)| **count > 0) {
                sum.buckets.push((u32::try_from(low + index).unwrap_or(u32::MAX), std::mem::take(count)));
            }
            (sum.count, sum.sum, sum.min, sum.max, sum.clipped) =
                (self.count, self.sum, self.min, self.max, self.clipped);
        }
        (self.low, self.high, self.count, self.sum) = (usize::MAX, 0, 0, 0);
        (self.min, self.max, self.clipped) = (u64::MAX, 0, 0);
        if self.other.count > 0 {
            sum.merge(&std::mem::replace(&mut self.other, Histogram::new(self.sub_bits)));
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
            let mut merger = HistogramMerger::new();
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
        fn an_adaptive_accumulator_keeps_the_resolution_of_what_it_is_given(
            values in prop::collection::vec(0_u64..10_000_000_000_000, 1..80), cut in 0_usize..80, sub_bits in 4_u32..=8
        ) {
            let mut whole = Histogram::new(sub_bits);
            values.iter().for_each(|value| whole.record(*value));
            let (mut merger, mut recorded) = (HistogramMerger::adaptive(), HistogramMerger::with_sub_bits(sub_bits));
            merger.add(&Histogram::new(3).encode()).unwrap();
            for part in [&values[..cut.min(values.len())], &values[cut.min(values.len())..]] {
                let mut histogram = Histogram::new(sub_bits);
                part.iter().for_each(|value| histogram.record(*value));
                merger.add(&histogram.encode()).unwrap();
                part.iter().for_each(|value| recorded.record(*value));
            }
            prop_assert_eq!(merger.count(), whole.count());
            prop_assert_eq!(merger.take(), whole.clone());
            prop_assert_eq!(recorded.take(), whole);
            prop_assert!(merger.take().count() == 0 && recorded.take().count() == 0);
        }

        #[test]
        fn merging_damaged_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut merger = HistogramMerger::new();
            let _ = merger.add(&bytes);
            let _ = merger.add(&[&[1, 5][..], &bytes].concat());
            let _ = merger.take();
        }
    }

    #[test]
    fn damaged_bytes_leave_no_trace() {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::new(STORED_SUB_BITS);
            values.iter().for_each(|value| histogram.record(*value));
            histogram
        };
        let good = of(&[5, 900, 80_000]);
        let whole = of(&[7, 1_000, 70_000, 9_000_000]).encode();
        let mut merger = HistogramMerger::new();
        // Every damage by one byte, and every cut.
        for at in 0..whole.len() {
            let damaged = (0..=255).map(|byte| {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                damaged
            });
            for damaged in damaged.chain([whole[..at].to_vec()]) {
                let expect = match Histogram::decode(&damaged) {
                    Ok(histogram) => {
                        merger.add(&damaged).unwrap();
                        Some(histogram)
                    }
                    Err(error) => {
                        assert_eq!(merger.add(&damaged), Err(error), "{damaged:?}");
                        None
                    }
                };
                merger.add(&good.encode()).unwrap();
                let mut sum = good.clone();
                expect.iter().for_each(|histogram| sum.merge(histogram));
                let taken = merger.take();
                assert_eq!((taken.count(), taken.sum()), (sum.count(), sum.sum()), "{damaged:?}");
                assert_eq!(taken.collapse(4), sum.collapse(4), "{damaged:?}");
                assert_eq!(taken.percentile(0.5).is_some(), taken.count() > 0);
            }
        }
    }
}
