//! Intervals of a run and its totals.

use crate::op_count::{OpCount, OpCounts};
use crate::stall::is_stalled;
use crate::{KnownSum, OperationTimes};
use quantity::histogram::Histogram;
use recording::LoadPhase;

/// A phase of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseSpan {
    /// Which one.
    pub phase: LoadPhase,
    /// Start, ns.
    pub from_ns: i64,
    /// End, ns.
    pub to_ns: i64,
}

/// One interval of one run, all selected lanes together.
#[derive(Clone, Debug, Default)]
pub struct IntervalFacts {
    /// End, ns.
    pub t_ns: i64,
    /// Length, ns.
    pub interval_ns: i64,
    /// Phase.
    pub phase: LoadPhase,
    /// By operation.
    pub ops: OpCounts,
    /// Mean number in flight.
    pub in_flight: KnownSum<f64>,
    /// Arrived, not submitted, at the end.
    pub backlog: KnownSum<i64>,
    /// Response times.
    pub response: Histogram,
    /// Service times.
    pub service: Histogram,
    /// Submission lags of the engine.
    pub wait: Histogram,
    /// CPU of the engine's workers, user, ns.
    pub engine_user_ns: i64,
    /// The same, system.
    pub engine_system_ns: i64,
    /// CPU of the busiest worker, ns.
    pub engine_busiest_ns: i64,
    /// Workers.
    pub workers: usize,
    /// Was the generator itself the limit?
    pub limited: bool,
    /// Greatest age of a timestamp, ns.
    pub timestamp_age_ns_max: Option<i64>,
}

impl IntervalFacts {
    /// Completions of all operations.
    pub fn completed(&self) -> i64 {
        self.ops.iter().map(|count| count.ops).sum()
    }

    /// Nothing came back, well or failed, although something was waiting all the time.
    pub fn is_stalled(&self) -> bool {
        self.phase != LoadPhase::Paused && is_stalled(&self.ops.sum(), self.in_flight, self.backlog)
    }

    /// `value` per second.
    pub fn per_second(&self, value: i64) -> f64 {
        if self.interval_ns > 0 { value as f64 * 1e9 / self.interval_ns as f64 } else { f64::NAN }
    }
}

/// Exact totals of one lane in one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct TotalFacts {
    /// Phase.
    pub phase: LoadPhase,
    /// Workload.
    pub workload: String,
    /// Target.
    pub target: String,
    /// Operation.
    pub op: String,
    /// Counts.
    pub count: OpCount,
    /// Response times; in the phase in which the load ended with those that came back later or not at all.
    pub response: OperationTimes,
    /// Service times, the same.
    pub service: OperationTimes,
}

/// Exact totals of one kind of steps in one phase: what operations in a tree needed besides.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFacts {
    /// Phase.
    pub phase: LoadPhase,
    /// Kind of step.
    pub op: String,
    /// Completions, bytes, failures; steps have no arrivals.
    pub count: OpCount,
    /// Service times.
    pub service: Histogram,
}

/// The title of a run without the number of its repetition.
pub fn base_title(title: &str) -> &str {
    split_round(title).0
}

/// The title of a run without the number of its repetition, and that number counted from 0.
pub fn split_round(title: &str) -> (&str, u64) {
    let round = title.strip_suffix(')').and_then(|text| text.rsplit_once(" (round "));
    match round.and_then(|(base, number)| Some((base, number.parse::<u64>().ok()?.checked_sub(1)?))) {
        Some(parts) => parts,
        None => (title, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::{base_title, split_round};

    #[test]
    fn a_title_ends_with_the_number_of_its_round() {
        for (title, parts) in [
            ("rd1", ("rd1", 0)),
            ("rd1 (round 2)", ("rd1", 1)),
            ("rd1 (round 2) (round 13)", ("rd1 (round 2)", 12)),
            // A name that only looks so.
            ("rd1 (round trip)", ("rd1 (round trip)", 0)),
            ("rd1 (round 0)", ("rd1 (round 0)", 0)),
            ("rd1 (round 2) b", ("rd1 (round 2) b", 0)),
        ] {
            assert_eq!((split_round(title), base_title(title)), (parts, parts.0), "{title}");
        }
    }
}
