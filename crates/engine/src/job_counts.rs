//! What is counted of a job beside its operations: how many were in flight, how many went and came together, and when it
//! began and ended.

use quantity::histogram::Histogram;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often each of the numbers up to a job's depth came up.
#[derive(Debug, Default)]
pub(crate) struct DepthCounts(Vec<u64>);

impl DepthCounts {
    /// Counts a number.
    #[inline]
    pub(crate) fn add(&mut self, number: u32) {
        match self.0.get_mut(number as usize) {
            Some(count) => *count += 1,
            None => self.grow(number, number),
        }
    }

    /// Counts each number from `low` to `high` once.
    #[inline]
    pub(crate) fn add_each(&mut self, low: u32, high: u32) {
        match self.0.get_mut(low as usize..=high as usize) {
            Some(counts) => counts.iter_mut().for_each(|count| *count += 1),
            None => self.grow(low, high),
        }
    }

    #[cold]
    fn grow(&mut self, low: u32, high: u32) {
        self.0.resize((high as usize + 1).next_power_of_two().max(64), 0);
        self.0.iter_mut().take(high as usize + 1).skip(low as usize).for_each(|count| *count += 1);
    }

    /// The numbers as a histogram (exact up to 255), and none of them any more.
    pub(crate) fn take(&mut self) -> Histogram {
        let used: Vec<(u64, u64)> = (0..).zip(self.0.iter().copied()).filter(|(_, count)| *count > 0).collect();
        let (Some((min, _)), Some((max, _))) = (used.first(), used.last()) else { return Histogram::default() };
        self.0.fill(0);
        let sum = used.iter().map(|(number, count)| u128::from(*number) * u128::from(*count)).sum();
        Histogram::of_buckets(&used, sum, *min, *max).unwrap_or_default()
    }
}

/// What one job did in an interval.
#[derive(Debug, Default)]
pub(crate) struct JobStat {
    /// In flight when an operation was issued, itself included.
    pub(crate) depth: DepthCounts,
    /// Operations handed over together.
    pub(crate) submitted: DepthCounts,
    /// Operations that were found to have come back together.
    pub(crate) completed: DepthCounts,
}

impl JobStat {
    /// `count` operations were handed over, with which `in_flight` are under way: each had one more before it than the last.
    #[inline]
    pub(crate) fn handed_over(&mut self, count: u32, in_flight: u32) {
        if count == 1 {
            self.depth.add(in_flight);
        } else {
            self.depth.add_each((in_flight + 1).saturating_sub(count), in_flight);
        }
        self.submitted.add(count);
    }

    /// `count` operations came back.
    #[inline]
    pub(crate) fn came_back(&mut self, count: u32) {
        self.completed.add(count);
    }
}

/// No time of a run.
const NEVER: u64 = u64::MAX;

/// When a job began and ended, as its worker says.
#[derive(Debug)]
pub(crate) struct JobSpan {
    began_ns: AtomicU64,
    ended_ns: AtomicU64,
}

impl Default for JobSpan {
    fn default() -> Self {
        Self { began_ns: AtomicU64::new(NEVER), ended_ns: AtomicU64::new(NEVER) }
    }
}

impl JobSpan {
    /// It began at this time of the run.
    pub(crate) fn begin(&self, t_ns: u64) {
        self.began_ns.store(t_ns, Ordering::Relaxed);
    }

    /// It is over since this time of the run, all that it had issued came back.
    pub(crate) fn end(&self, t_ns: u64) {
        self.ended_ns.store(t_ns, Ordering::Relaxed);
    }

    /// When it began and ended, times of the run.
    pub(crate) fn get(&self) -> (Option<u64>, Option<u64>) {
        let [began, ended] = [&self.began_ns, &self.ended_ns]
            .map(|t_ns| Some(t_ns.load(Ordering::Relaxed)).filter(|t_ns| *t_ns != NEVER));
        (began, ended)
    }
}

#[cfg(test)]
mod tests {
    use super::{DepthCounts, JobStat};

    fn counts(tally: &mut DepthCounts) -> Vec<(u64, u64)> {
        tally.take().buckets().map(|(low, high, count)| (if high > low + 1 { high } else { low }, count)).collect()
    }

    #[test]
    fn each_of_a_batch_is_in_flight_with_those_before_it() {
        let mut stat = JobStat::default();
        stat.handed_over(3, 3);
        stat.came_back(2);
        stat.handed_over(2, 3);
        stat.handed_over(1, 4);
        assert_eq!(counts(&mut stat.depth), [(1, 1), (2, 2), (3, 2), (4, 1)]);
        assert_eq!(
            (counts(&mut stat.submitted), counts(&mut stat.completed)),
            (vec![(1, 1), (2, 1), (3, 1)], vec![(2, 1)])
        );
        assert!(counts(&mut stat.depth).is_empty(), "an interval has its own");
    }

    #[test]
    fn numbers_are_exact_up_to_255_and_their_sum_beyond() {
        let mut tally = DepthCounts::default();
        tally.add_each(1, 255);
        tally.add_each(4096, 4096);
        let all = tally.take();
        assert_eq!(all.buckets().filter(|(low, high, count)| high - low == 1 && *count == 1).count(), 255);
        assert_eq!((all.count(), all.sum(), all.max()), (256, 255 * 128 + 4096, Some(4096)));
    }
}
