//! How long tasks were ready before they ran: the same layout as in probe.bpf.c, read without trust.

use crate::buckets::low_of;
use crate::names::Cursor;
use quantity::histogram::Histogram;

/// Buckets to an octave: 2^2. A recording has one histogram for each second, and what it says is an order of magnitude.
const SUB_BITS: u32 = 2;
const BUCKETS: usize = 144;

/// Waits since the probe began, of all CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waits {
    sum_ns: u64,
    buckets: [u64; BUCKETS],
}

impl Default for Waits {
    fn default() -> Self {
        Self { sum_ns: 0, buckets: [0; BUCKETS] }
    }
}

impl Waits {
    /// The sum over what each CPU has.
    pub(super) fn of(cpus: &[Vec<u8>]) -> Self {
        let mut sum = Self::default();
        for cpu in cpus {
            let mut at = Cursor::new(cpu);
            sum.sum_ns = sum.sum_ns.wrapping_add(at.u64());
            sum.buckets.iter_mut().for_each(|count| *count = count.saturating_add(at.u64()));
        }
        sum
    }

    /// What came since `before`; the shortest and the longest are the bounds of their buckets. `None`: no task waited.
    pub(super) fn since(&self, before: &Self) -> Option<Histogram> {
        let grown = self.buckets.iter().zip(&before.buckets).map(|(now, before)| now.saturating_sub(*before));
        let counts: Vec<(u32, u64)> = (0..).zip(grown).filter(|(_, count)| *count > 0).collect();
        let (first, last) = (counts.first()?.0, counts.last()?.0);
        let lows: Vec<(u64, u64)> = counts.iter().map(|(bucket, count)| (low_of(*bucket, SUB_BITS), *count)).collect();
        let sum_ns = u128::from(self.sum_ns.wrapping_sub(before.sum_ns));
        let (least_ns, most_ns) = (low_of(first, SUB_BITS), low_of(last + 1, SUB_BITS) - 1);
        Some(Histogram::of_buckets(&lows, sum_ns, least_ns, most_ns)?.collapse(SUB_BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(sum_ns: u64, counts: &[(usize, u64)]) -> Vec<u8> {
        let mut words = vec![0; 1 + BUCKETS];
        words[0] = sum_ns;
        counts.iter().for_each(|(bucket, count)| words[1 + bucket] = *count);
        words.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect()
    }

    #[test]
    fn waits_of_all_cpus_since_the_last_time() {
        let before = Waits::of(&[raw(10, &[(8, 1)])]);
        let now = Waits::of(&[raw(10_010, &[(8, 1), (44, 2)]), raw(30_000, &[(44, 1), (60, 1)])]);
        let waits = now.since(&before).unwrap();
        assert_eq!((waits.count(), waits.sum(), waits.sub_bits()), (4, 40_000, SUB_BITS));
        // Bucket 44: 4 buckets to an octave from 4 on, 4 << 10.
        assert_eq!((waits.min(), waits.max()), (Some(4096), Some(low_of(61, SUB_BITS) - 1)));
        assert_eq!(now.since(&now), None);
        assert_eq!(Waits::of(&[]).since(&now), None);
        assert_eq!(Waits::of(&[vec![1, 2]]).since(&Waits::default()), None);
    }

    #[test]
    fn the_last_bucket_is_the_longest_wait() {
        let all = Waits::of(&[raw(1, &[(BUCKETS - 1, 1)])]);
        assert_eq!(all.since(&Waits::default()).unwrap().max(), Some((1 << 37) - 1));
    }
}
