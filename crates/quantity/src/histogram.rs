//! Base-2 log-linear histograms of nanoseconds, which merge exactly.
//!
//! Every octave `[2^e, 2^(e+1))` is cut into `2^sub_bits` equal buckets, and everything below `2^sub_bits` has a bucket
//! per nanosecond. With 7 bits (memory, totals) a bucket is at most 0.8 % wide, with 5 bits (stored intervals) 3.1 %.
//! Buckets nest: collapsing 7 bits to 5 gives exactly what recording with 5 bits would have given.
//! Count, sum, minimum and maximum stand beside the buckets and are exact.

mod codec;
mod merger;
mod percentile;
mod recorder;

pub use codec::DecodeError;
pub use merger::HistogramMerger;
pub use percentile::Quantile;
pub use recorder::HistogramRecorder;

/// Sub-buckets per octave, as a power of two, of recorders and totals.
pub const FINE_SUB_BITS: u32 = 7;
/// The same of histograms stored per interval.
pub const STORED_SUB_BITS: u32 = 5;
/// Values above this (one hour) are counted in the last bucket and as clipped.
pub const CLIP_NS: u64 = 3_600_000_000_000;

/// Index of the bucket of `value`.
#[inline]
pub(crate) fn bucket_of(value: u64, sub_bits: u32) -> u32 {
    let linear = 1_u64 << sub_bits;
    if value < linear {
        return low_half(value);
    }
    let octave = 63 - value.leading_zeros();
    let shift = octave - sub_bits;
    ((shift + 1) << sub_bits) + (low_half(value >> shift) & (low_half(linear) - 1))
}

/// `[low, high)` of a bucket, in nanoseconds.
#[inline]
pub(crate) fn bounds_of(bucket: u32, sub_bits: u32) -> (u64, u64) {
    let linear = 1_u32 << sub_bits;
    if bucket < linear {
        return (u64::from(bucket), u64::from(bucket) + 1);
    }
    let shift = (bucket >> sub_bits) - 1;
    let mantissa = u64::from((bucket & (linear - 1)) | linear);
    (mantissa << shift, (mantissa + 1) << shift)
}

/// The lower 32 bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "callers pass values below 2^32")]
fn low_half(value: u64) -> u32 {
    value as u32
}

/// A sparse histogram: the value that is stored, merged and asked for percentiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    sub_bits: u32,
    /// Bucket and count, ascending by bucket, counts above zero.
    buckets: Vec<(u32, u64)>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    clipped: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new(FINE_SUB_BITS)
    }
}

impl Histogram {
    /// An empty histogram with `2^sub_bits` buckets per octave.
    #[must_use]
    pub fn new(sub_bits: u32) -> Self {
        Self { sub_bits, buckets: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0, clipped: 0 }
    }

    /// What is known of `count` values without their distribution: their sum and, if known, their extremes. Such a
    /// histogram has a mean and no percentiles, and so has every one that it is merged into.
    #[must_use]
    pub fn of_summary(count: u64, sum: u128, min: Option<u64>, max: Option<u64>) -> Self {
        if count == 0 {
            return Self::default();
        }
        let (min, max) = (min.filter(|min| max.is_some_and(|max| *min <= max)).unwrap_or(0), max.unwrap_or(0));
        Self { count, sum, min, max, ..Self::default() }
    }

    /// `buckets` values as `(value, count)` with sum and extremes as they were measured: what an importer makes of
    /// another tool's histogram. `None` when nothing was counted.
    #[must_use]
    pub fn of_buckets(buckets: &[(u64, u64)], sum: u128, min: u64, max: u64) -> Option<Self> {
        let mut histogram = Self::default();
        for (value, count) in buckets.iter().filter(|bucket| bucket.1 > 0) {
            let index = bucket_of((*value).clamp(min, max.max(min)).min(CLIP_NS), histogram.sub_bits);
            histogram.merge_buckets(&[(index, *count)]);
            histogram.count = histogram.count.saturating_add(*count);
            histogram.clipped = histogram.clipped.saturating_add(if *value > CLIP_NS { *count } else { 0 });
        }
        let total = histogram.buckets.iter().try_fold(0_u64, |sum, bucket| sum.checked_add(bucket.1));
        (histogram.count > 0 && total == Some(histogram.count)).then(|| {
            (histogram.sum, histogram.min, histogram.max) = (sum, min, max.max(min));
            histogram
        })
    }

    /// Are there values whose distribution was not recorded? Then there are no percentiles.
    #[must_use]
    pub fn is_summary(&self) -> bool {
        self.count > 0 && self.buckets.is_empty()
    }

    /// Records one value; for tests and importers, hot paths use [`HistogramRecorder`].
    pub fn record(&mut self, value_ns: u64) {
        if self.is_summary() {
            let mut one = Self::new(self.sub_bits);
            one.record(value_ns);
            return self.merge(&one);
        }
        let bucket = bucket_of(value_ns.min(CLIP_NS), self.sub_bits);
        match self.buckets.binary_search_by_key(&bucket, |entry| entry.0) {
            Ok(at) => self.buckets[at].1 = self.buckets[at].1.saturating_add(1),
            Err(at) => self.buckets.insert(at, (bucket, 1)),
        }
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(u128::from(value_ns));
        self.min = self.min.min(value_ns);
        self.max = self.max.max(value_ns);
        self.clipped = self.clipped.saturating_add(u64::from(value_ns > CLIP_NS));
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all values, ns.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Smallest value, exact; `None` when empty or not recorded.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.count > 0 && !(self.is_summary() && self.min == 0)).then_some(self.min)
    }

    /// Largest value, exact, also when it was clipped; `None` when empty or not recorded.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count > 0 && !(self.is_summary() && self.max == 0)).then_some(self.max)
    }

    /// Mean, exact; `None` when empty.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Values above [`CLIP_NS`].
    #[must_use]
    pub fn clipped(&self) -> u64 {
        self.clipped
    }

    /// Sub-buckets per octave as a power of two.
    #[must_use]
    pub fn sub_bits(&self) -> u32 {
        self.sub_bits
    }

    /// Adds `other`; the coarser of the two resolutions remains.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            let sub_bits = self.sub_bits.min(other.sub_bits);
            *self = other.collapse(sub_bits);
            return;
        }
        if self.sub_bits != other.sub_bits {
            let sub_bits = self.sub_bits.min(other.sub_bits);
            if self.sub_bits != sub_bits {
                *self = self.collapse(sub_bits);
            } else {
                let other = other.collapse(sub_bits);
                return self.merge(&other);
            }
        }
        if self.is_summary() || other.is_summary() {
            let (min, max) = (self.min().zip(other.min()), self.max().zip(other.max()));
            self.buckets.clear();
            self.count = self.count.saturating_add(other.count);
            self.sum = self.sum.saturating_add(other.sum);
            self.min = min.map_or(0, |(a, b)| a.min(b));
            self.max = max.map_or(0, |(a, b)| a.max(b));
            self.min = self.min.min(self.max);
            self.clipped = self.clipped.saturating_add(other.clipped);
            return;
        }
        self.merge_buckets(&other.buckets);
        // Only damaged input comes near the end of these ranges; no measurement does.
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.clipped = self.clipped.saturating_add(other.clipped);
    }

    fn merge_buckets(&mut self, other: &[(u32, u64)]) {
        let mut merged = Vec::with_capacity(self.buckets.len().max(other.len()) + 8);
        let (mut left, mut right) = (self.buckets.iter().copied().peekable(), other.iter().copied().peekable());
        loop {
            match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    merged.push((a.0, a.1.saturating_add(b.1)));
                    left.next();
                    right.next();
                }
                (Some(a), Some(b)) => merged.extend(if a.0 < b.0 { left.next() } else { right.next() }),
                (Some(_), None) => merged.extend(left.by_ref()),
                (None, Some(_)) => merged.extend(right.by_ref()),
                (None, None) => break,
            }
        }
        self.buckets = merged;
    }

    /// The same values at a coarser resolution (exact: buckets nest). A finer one than there is changes nothing.
    #[must_use]
    pub fn collapse(&self, sub_bits: u32) -> Self {
        if sub_bits >= self.sub_bits {
            return self.clone();
        }
        let mut buckets: Vec<(u32, u64)> = Vec::with_capacity(self.buckets.len());
        for (bucket, count) in &self.buckets {
            let coarse = bucket_of(bounds_of(*bucket, self.sub_bits).0, sub_bits);
            match buckets.last_mut() {
                Some(last) if last.0 == coarse => last.1 = last.1.saturating_add(*count),
                _ => buckets.push((coarse, *count)),
            }
        }
        Self { sub_bits, buckets, ..*self }
    }

    /// All values made smaller by `by_ns` (0 at the least): lower bounds of times that contain a wait of at most `by_ns`. A
    /// value stands at the low edge of its bucket, so no bound is too great.
    #[must_use]
    pub fn less(&self, by_ns: u64) -> Self {
        let mut less = Self::new(self.sub_bits);
        for (low_ns, _, count) in self.buckets() {
            let value_ns = low_ns.max(self.min).saturating_sub(by_ns);
            let mut one = Self::new(self.sub_bits);
            one.record(value_ns);
            (one.count, one.buckets[0].1, one.sum) = (count, count, u128::from(value_ns) * u128::from(count));
            less.merge(&one);
        }
        less
    }

    /// What was added since `before`, an earlier state of this histogram; `None` when it is none. The extremes are exact where they are
    /// new ones; else those of the buckets, within the extremes of all.
    #[must_use]
    pub fn since(&self, before: &Self) -> Option<Self> {
        if before.count == 0 {
            return Some(self.clone());
        }
        let (count, sum) = (self.count.checked_sub(before.count)?, self.sum.checked_sub(before.sum)?);
        let is_known = !self.is_summary() && !before.is_summary();
        if !is_known || count == 0 {
            let max = self.max().filter(|max| before.max().is_some_and(|before| before < *max));
            return Some(Self::of_summary(count, sum, None, max));
        }
        let sub_bits = self.sub_bits.min(before.sub_bits);
        let (all, old) = (self.collapse(sub_bits), before.collapse(sub_bits));
        let mut left = old.buckets.iter().peekable();
        let mut buckets = Vec::with_capacity(all.buckets.len());
        for (bucket, count) in &all.buckets {
            let known = left.next_if(|entry| entry.0 == *bucket).map_or(0, |entry| entry.1);
            let more = count.checked_sub(known)?;
            buckets.extend((more > 0).then_some((*bucket, more)));
        }
        if left.next().is_some() {
            return None;
        }
        let edge = |entry: Option<&(u32, u64)>| entry.map(|entry| bounds_of(entry.0, sub_bits));
        let low = edge(buckets.first()).map_or(0, |(low, _)| low).max(self.min);
        let high = edge(buckets.last()).map_or(0, |(_, high)| high.saturating_sub(1)).min(self.max);
        let min = if self.min < before.min { self.min } else { low };
        let max = if self.max > before.max { self.max } else { high };
        Some(Self {
            sub_bits,
            buckets,
            count,
            sum,
            min,
            max: max.max(min),
            clipped: self.clipped.saturating_sub(before.clipped),
        })
    }

    /// `(low_ns, high_ns exclusive, count)` of each bucket that is not empty, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.buckets.iter().map(|(bucket, count)| {
            let (low, high) = bounds_of(*bucket, self.sub_bits);
            (low, high, *count)
        })
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "test arithmetic")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64], sub_bits: u32) -> Histogram {
        let mut histogram = Histogram::new(sub_bits);
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn what_was_added_since_is_the_difference() {
        let mut before = Histogram::default();
        [10, 500, 70_000].iter().for_each(|value| before.record(*value));
        let (mut all, mut added) = (before.clone(), Histogram::default());
        for value in [500, 900, 1_000_000] {
            all.record(value);
            added.record(value);
        }
        let since = all.since(&before).expect("an earlier state");
        assert_eq!((since.count(), since.sum(), since.max()), (3, 1_001_400, Some(1_000_000)));
        assert!(since.buckets().eq(added.buckets()));
        assert!(since.min().is_some_and(|min| (496..=500).contains(&min)), "{since:?}");
        assert_eq!(before.since(&all), None);
        assert_eq!(all.since(&Histogram::default()), Some(all.clone()));
        let empty = all.since(&all).expect("the same state");
        assert_eq!((empty.count(), empty.sum()), (0, 0));
        let summary = Histogram::of_summary(5, 500, Some(10), Some(200));
        let later = Histogram::of_summary(9, 1_500, Some(10), Some(400));
        let since = later.since(&summary).expect("an earlier state");
        assert_eq!((since.count(), since.sum(), since.max(), since.is_summary()), (4, 1_000, Some(400), true));
    }

    #[test]
    fn lower_bounds_are_less_by_the_wait_and_never_too_great() {
        let values = [100, 5_000, 5_000_000, 3_000_000_000];
        let less = of(&values, STORED_SUB_BITS).less(4_000);
        assert_eq!((less.count(), less.min()), (4, Some(0)));
        let max = less.max().unwrap();
        assert!((2_900_000_000..=3_000_000_000 - 4_000).contains(&max), "{max}");
        assert!(less.sum() <= values.iter().map(|value| u128::from(value.saturating_sub(4_000))).sum());
        assert_eq!(Histogram::default().less(7).count(), 0);
    }

    /// Values spread over all octaves.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(
            (0_u32..45, any::<u64>()).prop_map(|(octave, low)| (1_u64 << octave) | (low & ((1 << octave) - 1))),
            1..400,
        )
    }

    proptest! {
        #[test]
        fn buckets_hold_their_values(value in 0_u64..=CLIP_NS, sub_bits in 1_u32..10) {
            let (low, high) = bounds_of(bucket_of(value, sub_bits), sub_bits);
            prop_assert!(low <= value && value < high);
            prop_assert!((high - low) as f64 <= (low as f64 / f64::from(1 << sub_bits)).max(1.0));
        }

        #[test]
        fn merging_is_recording_together(a in values(), b in values()) {
            let mut merged = of(&a, 7);
            merged.merge(&of(&b, 7));
            prop_assert_eq!(&merged, &of(&[a.clone(), b.clone()].concat(), 7));
            prop_assert_eq!(merged.collapse(5), of(&[a, b].concat(), 5));
        }

        #[test]
        fn percentiles_are_within_their_bounds(mut values in values(), quantile in 0.0_f64..=1.0) {
            values.iter_mut().for_each(|value| *value = (*value).min(CLIP_NS));
            for (sub_bits, bound) in [(7, 0.008), (5, 0.0313)] {
                let found = of(&values, sub_bits).percentile(quantile).unwrap() as f64;
                let mut sorted = values.clone();
                sorted.sort_unstable();
                let rank = ((quantile * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
                let exact = sorted[rank - 1] as f64;
                prop_assert!(found >= exact && found <= exact * (1.0 + bound) + 1.0, "{found} for {exact}");
            }
        }

        #[test]
        fn a_recorder_records_the_same(values in values()) {
            let mut recorder = HistogramRecorder::new();
            values.iter().for_each(|value| recorder.record(*value));
            prop_assert_eq!(recorder.snapshot(), of(&values, 7));
            recorder.clear();
            prop_assert!(recorder.is_empty() && recorder.snapshot() == Histogram::default());
        }

        #[test]
        fn encoding_round_trips(values in values(), sub_bits in 5_u32..=7) {
            let histogram = of(&values, sub_bits);
            prop_assert_eq!(Histogram::decode(&histogram.encode()).unwrap(), histogram);
        }

        #[test]
        fn decoding_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Histogram::decode(&bytes);
            let mut plausible = of(&[5, 500, 50_000], 5).encode();
            for (at, byte) in bytes.iter().enumerate() {
                let length = plausible.len();
                plausible[at % length] ^= byte;
            }
            let _ = Histogram::decode(&plausible);
        }
    }

    #[test]
    fn what_has_no_distribution_has_a_mean_and_no_percentiles_and_hands_that_on() {
        let summary = Histogram::of_summary(4, 400, None, Some(150));
        assert_eq!((summary.mean(), summary.min(), summary.max()), (Some(100.0), None, Some(150)));
        assert!(summary.is_summary() && summary.percentile(0.5).is_none() && summary.buckets().count() == 0);
        assert_eq!(Histogram::decode(&summary.encode()).as_ref(), Ok(&summary));
        let known = of(&[100, 300], 7);
        let (mut one, mut other) = (known.clone(), summary.clone());
        one.merge(&summary);
        other.merge(&known);
        assert_eq!(one, other);
        assert_eq!((one.count(), one.sum(), one.max(), one.percentile(0.5)), (6, 800, Some(300), None));
        let mut merger = HistogramMerger::new();
        merger.add(&known.collapse(5).encode()).unwrap();
        merger.add(&summary.encode()).unwrap();
        let merged = merger.take();
        assert_eq!((merged.count(), merged.sum(), merged.percentile(0.5)), (6, 800, None));
        merger.add(&known.collapse(5).encode()).unwrap();
        assert_eq!(merger.take(), known.collapse(5), "the next sum has its percentiles again");
        assert_eq!(Histogram::of_summary(0, 7, None, None), Histogram::default());
        let unknown = Histogram::of_summary(2, 10, Some(3), None);
        assert_eq!((unknown.min(), unknown.max(), unknown.mean()), (None, None, Some(5.0)));
    }

    #[test]
    fn what_is_longer_than_an_hour_is_clipped_counted_and_kept_as_maximum() {
        let histogram = of(&[1, CLIP_NS + 1, u64::MAX], 7);
        assert_eq!((histogram.count(), histogram.clipped(), histogram.max()), (3, 2, Some(u64::MAX)));
        assert_eq!(histogram.percentile(1.0), Some(u64::MAX));
    }

    #[test]
    fn a_rank_is_not_one_too_high_for_a_product_that_was_rounded_up() {
        // 0.07 × 100 is 7.000000000000001 in floating point; the seventh of a hundred values is meant.
        for (percent, count) in (1..100_u64).flat_map(|percent| (1..400_u64).map(move |count| (percent, count))) {
            let histogram = of(&(1..=count).collect::<Vec<_>>(), 9);
            let rank = (percent * count).div_ceil(100);
            assert_eq!(histogram.percentile(percent as f64 / 100.0), Some(rank), "p{percent} of {count}");
        }
    }

    #[test]
    fn a_quantile_is_interpolated_in_its_bucket_and_as_many_are_above_it_as_it_says() {
        // At 5 bits, [1024, 1056) and [2048, 2112) are buckets.
        let histogram = of(&[1024, 1030, 1040, 1050, 2050, 2060], 5);
        let half = histogram.quantile_within(0.5).unwrap();
        assert_eq!((half.low, half.high, half.value), (1024.0, 1056.0, 1024.0 + 32.0 * 0.75));
        assert!((half.share - 4.0 / 6.0).abs() < 1e-12, "{half:?}");
        assert!((histogram.above(half.value) - 3.0).abs() < 1e-9);
        assert_eq!((histogram.above(1500.0), histogram.above(0.0), histogram.above(4e9)), (2.0, 6.0, 0.0));
        assert_eq!(histogram.quantile_within(1.0).unwrap().value, 2112.0);
        assert_eq!(Histogram::default().quantile_within(0.5), None);
        assert_eq!(Histogram::of_summary(4, 400, None, Some(150)).quantile_within(0.5), None);
    }

    #[test]
    fn more_values_than_a_slot_holds_are_still_all_there() {
        let mut recorder = HistogramRecorder::new();
        (0..3).for_each(|_| recorder.record_n(500, u32::MAX));
        recorder.record(70);
        let histogram = recorder.snapshot();
        assert_eq!(histogram.count(), 3 * u64::from(u32::MAX) + 1);
        assert_eq!(histogram.buckets().map(|bucket| bucket.2).sum::<u64>(), histogram.count());
        assert_eq!(Histogram::decode(&histogram.encode()).as_ref(), Ok(&histogram));
        recorder.clear();
        assert_eq!(recorder.snapshot(), Histogram::default());
    }

    #[test]
    fn counts_beyond_any_reason_are_held_at_their_end() {
        let mut bytes = vec![1, 5];
        for value in [u128::from(u64::MAX), u128::MAX, 8, 8, 0, 1, 8, u128::from(u64::MAX)] {
            codec::put(&mut bytes, value);
        }
        let mut sum = Histogram::decode(&bytes).unwrap();
        sum.merge(&sum.clone());
        sum.record(9);
        assert_eq!((sum.count(), sum.sum()), (u64::MAX, u128::MAX));
        assert!(sum.percentile(1.0).is_some());
    }
}
