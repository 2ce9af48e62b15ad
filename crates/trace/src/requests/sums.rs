//! What probe.bpf.c sums: the same layouts, read without trust.

use crate::buckets;
use crate::names::Cursor;
use quantity::histogram::{Histogram, STORED_SUB_BITS};

/// Buckets of a histogram, 32 to an octave.
pub(super) const BUCKETS: usize = 1216;

/// Port, program, and whether the thread had waited for a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) port: u16,
    pub(super) comm: String,
    /// `None` when that is not known.
    pub(super) waited: Option<bool>,
}

impl Key {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut at = Cursor::new(bytes);
        let (port, waited) = (at.u32(), at.u32());
        let waited = [Some(false), Some(true)].get(waited as usize).copied().flatten();
        Self { port: u16::try_from(port).unwrap_or(u16::MAX), comm: at.text(16), waited }
    }
}

/// Answers since the probe began, and the extremes of two intervals of the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sums {
    sum_ns: u64,
    /// Number of the interval, shortest, longest.
    extremes: [(u64, u64, u64); 2],
    buckets: Vec<u64>,
}

impl Default for Sums {
    fn default() -> Self {
        Self { sum_ns: 0, extremes: [(0, 0, 0); 2], buckets: vec![0; BUCKETS] }
    }
}

impl Sums {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut at = Cursor::new(bytes);
        // The buckets have the count as well.
        let _ = at.u64();
        let sum_ns = at.u64();
        let (intervals, least, most) = ([at.u64(), at.u64()], [at.u64(), at.u64()], [at.u64(), at.u64()]);
        let extremes = std::array::from_fn(|half| (intervals[half], least[half], most[half]));
        Self { sum_ns, extremes, buckets: (0..BUCKETS).map(|_| at.u64()).collect() }
    }

    /// Answers since `before`, which were given in the interval of this number; `None` when there are none. Extremes are
    /// exact but where two CPUs met or the interval ended at that moment: there they are those of their buckets.
    pub(super) fn since(&self, before: &Self, interval: u64) -> Option<Histogram> {
        let grown = self.buckets.iter().zip(&before.buckets).map(|(now, before)| now.saturating_sub(*before));
        let counts: Vec<(u64, u64)> = (0..).map(low_of).zip(grown).filter(|(_, count)| *count > 0).collect();
        let (first_ns, last_ns) = (counts.first()?.0, counts.last()?.0);
        let known = self.extremes.iter().find(|(number, _, _)| *number == interval);
        let (min_ns, max_ns) = known.map_or((first_ns, last_ns), |(_, min_ns, max_ns)| {
            (
                within(*min_ns, first_ns),
                if is_longest(last_ns) { (*max_ns).max(last_ns) } else { within(*max_ns, last_ns) },
            )
        });
        let sum_ns = u128::from(self.sum_ns.saturating_sub(before.sum_ns));
        let histogram = Histogram::of_buckets(&counts, sum_ns, min_ns, max_ns.max(min_ns))?;
        Some(histogram.collapse(STORED_SUB_BITS))
    }
}

/// Is it the bucket of everything that takes an hour and more?
fn is_longest(low_ns: u64) -> bool {
    low_ns >= low_of(1204)
}

/// Held within the bucket that begins at `low_ns`.
fn within(ns: u64, low_ns: u64) -> u64 {
    let width_ns =
        low_ns.checked_ilog2().and_then(|octave| octave.checked_sub(STORED_SUB_BITS)).map_or(1, |shift| 1 << shift);
    ns.clamp(low_ns, low_ns + width_ns - 1)
}

/// Where a bucket begins, ns.
fn low_of(bucket: u32) -> u64 {
    buckets::low_of(bucket, STORED_SUB_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel holds it: extremes of intervals 3 and 4.
    fn raw(sum_ns: u64, min: [u64; 2], max: [u64; 2], buckets: &[(usize, u64)]) -> Vec<u8> {
        let mut words = vec![0, sum_ns, 4, 3, min[0], min[1], max[0], max[1]];
        words.resize(8 + BUCKETS, 0);
        for (bucket, count) in buckets {
            words[8 + bucket] = *count;
        }
        words.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_key_as_the_kernel_holds_it() {
        let key = |waited: u32| {
            let mut bytes = [5432_u32.to_ne_bytes(), waited.to_ne_bytes()].concat();
            bytes.extend_from_slice(b"postgres\0.......");
            Key::of(&bytes)
        };
        assert_eq!(key(0), Key { port: 5432, comm: "postgres".to_string(), waited: Some(false) });
        assert_eq!((key(1).waited, key(2).waited, key(9).waited), (Some(true), None, None));
    }

    #[test]
    fn buckets_begin_where_those_of_the_recording_do() {
        let mut histogram = Histogram::new(STORED_SUB_BITS);
        let lows: Vec<u64> = (0..1205).map(low_of).collect();
        lows.iter().for_each(|low| histogram.record(*low));
        assert_eq!(
            histogram.buckets().map(|(low, _, count)| (low, count)).collect::<Vec<_>>(),
            lows.iter().map(|low| (*low, 1)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn an_interval_has_its_own_answers_and_extremes() {
        // Bucket 200: 32 buckets to an octave, 40 << 5.
        let low_ns = low_of(200);
        let before = Sums::of(&raw(1_000, [0, 7], [0, 7], &[(7, 1)]));
        let now = Sums::of(&raw(1_000 + 2 * low_ns + 10, [low_ns + 1, 7], [low_ns + 9, 7], &[(7, 1), (200, 2)]));
        let of_4 = now.since(&before, 4).unwrap();
        assert_eq!((of_4.count(), of_4.min(), of_4.max()), (2, Some(low_ns + 1), Some(low_ns + 9)));
        assert_eq!(of_4.sum(), u128::from(2 * low_ns + 10));
        assert_eq!(of_4.sub_bits(), STORED_SUB_BITS);
        // What came in the instant in which the interval ended counts here, and its extremes there.
        let of_3 = now.since(&before, 3).unwrap();
        assert_eq!((of_3.count(), of_3.min(), of_3.max()), (2, Some(low_ns), Some(low_ns)));
        assert_eq!(now.since(&now, 4), None, "nothing was answered");
        assert_eq!(now.since(&before, 9).unwrap().count(), 2, "extremes of neither");
    }

    #[test]
    fn damage_does_no_harm() {
        assert_eq!(Sums::of(&[]), Sums::default());
        assert_eq!(Sums::of(&[0xff; 100]).since(&Sums::default(), 1), None);
        assert!(
            Sums::of(&vec![0xff; 8 * (8 + BUCKETS)]).since(&Sums::default(), u64::MAX).is_none(),
            "counts beyond any"
        );
    }
}
