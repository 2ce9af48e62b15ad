//! What the statistics see of a load: rounds, each of them second by second.

use quantity::histogram::Histogram;
use rates::OperationTimes;
use rates::measure::TimeKind;

/// Most steps of a round: longer ones have longer steps, which bounds the memory and changes nothing of four slow cosines.
pub(crate) const MOST_STEPS: f64 = 3600.0;

/// What happened in a second, or in an interval that is longer.
#[derive(Clone, Debug, Default)]
pub struct RoundStep {
    /// Length, s; time in which nothing was recorded is no part of it.
    pub length_s: f64,
    /// Operations completed.
    pub ops: f64,
    /// Bytes moved.
    pub bytes: f64,
    /// Response times.
    pub response: Histogram,
    /// Service times.
    pub service: Histogram,
}

/// One execution of a run: a sample where there are four or more.
#[derive(Clone, Debug, Default)]
pub struct LoadRound {
    /// In order, what was recorded; a second without an operation is a step with 0, a second without a row is none.
    pub steps: Vec<RoundStep>,
    /// How much between the first step and the last was not recorded, s.
    pub missing_s: f64,
    /// What a counter grew by in that time: part of its rate, and no step, because how it moved there is not known.
    pub over_gaps: RoundStep,
    /// Response times at full resolution, with what had no end.
    pub response: OperationTimes,
    /// Service times, the same.
    pub service: OperationTimes,
    /// When it began, ns of the wall clock; only the order of rounds is taken from it.
    pub began_ns: i64,
    /// Why it is not worth a comparison: failed operations, a pause, an end before its time.
    pub fault: Option<String>,
}

impl RoundStep {
    /// Adds what happened next.
    fn add(&mut self, more: &Self) {
        self.length_s += more.length_s;
        self.ops += more.ops;
        self.bytes += more.bytes;
        self.response.merge(&more.response);
        self.service.merge(&more.service);
    }

    /// Times by this clock.
    pub(super) fn times(&self, clock: TimeKind) -> &Histogram {
        match clock {
            TimeKind::Response => &self.response,
            TimeKind::Service => &self.service,
        }
    }
}

impl LoadRound {
    /// Times by this clock over all of it.
    pub(super) fn times(&self, clock: TimeKind) -> &OperationTimes {
        match clock {
            TimeKind::Response => &self.response,
            TimeKind::Service => &self.service,
        }
    }

    /// How much was recorded, s.
    #[must_use]
    pub fn measured_s(&self) -> f64 {
        self.steps.iter().map(|step| step.length_s).sum()
    }

    /// Rounds one after the other as one.
    pub(super) fn joined(rounds: &[&Self]) -> Self {
        let mut all = Self::default();
        for round in rounds {
            all.steps.extend(round.steps.iter().cloned());
            all.missing_s += round.missing_s;
            all.over_gaps.add(&round.over_gaps);
            all.response.merge(&round.response);
            all.service.merge(&round.service);
        }
        all
    }
}

/// Intervals of whatever length as steps of at least a second, about `most` of them at most: as many of the usual length together as
/// make one.
pub(crate) fn steps(intervals: &[RoundStep], most: f64) -> Vec<RoundStep> {
    let total_s: f64 = intervals.iter().map(|interval| interval.length_s).sum();
    let mut lengths: Vec<f64> = intervals.iter().map(|interval| interval.length_s).collect();
    lengths.sort_by(f64::total_cmp);
    let usual_s = lengths.get(lengths.len() / 2).copied().unwrap_or(1.0).max(1e-6);
    let wanted_s = (total_s / most).ceil().max(1.0);
    // A clock's slip of a thousandth is no reason to take one interval more.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
    let together = ((wanted_s / usual_s - 1e-3).ceil().max(1.0)) as usize;
    let of = |part: &[RoundStep]| {
        let mut step = RoundStep::default();
        part.iter().for_each(|interval| step.add(interval));
        step
    };
    intervals.chunks(together).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST_STEPS, RoundStep, steps};

    fn every(length_s: f64, count: usize) -> Vec<RoundStep> {
        (0..count).map(|_| RoundStep { length_s, ops: 1.0, ..RoundStep::default() }).collect()
    }

    #[test]
    fn intervals_become_seconds_and_longer_ones_stay() {
        let check = |intervals: Vec<RoundStep>, count: usize, length_s: f64| {
            let steps = steps(&intervals, MOST_STEPS);
            assert_eq!(steps.len(), count);
            assert!((steps[0].length_s - length_s).abs() < 1e-9, "{}", steps[0].length_s);
            assert_eq!(steps.iter().map(|step| step.ops).sum::<f64>(), intervals.len() as f64);
        };
        check(every(1.0, 60), 60, 1.0);
        check(every(0.1, 605), 61, 1.0);
        check(every(0.7, 10), 5, 1.4);
        check(every(10.0, 30), 30, 10.0);
        check(every(0.9999, 20), 20, 0.9999);
        check(every(1.0, 36_000), 3600, 10.0);
        assert!(steps(&[], 10.0).is_empty());
    }
}
