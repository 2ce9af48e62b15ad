//! Intervals of a run and its totals: what is counted by operation, and when nothing came back.

use crate::KnownSum;
use crate::OperationTimes;
use quantity::histogram::Histogram;
use recording::LoadPhase;
use std::ops::AddAssign;

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

/// Counts of one operation in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OpCount {
    /// Arrivals.
    pub arrivals: KnownSum<i64>,
    /// Completions.
    pub ops: i64,
    /// Bytes moved.
    pub bytes: i64,
    /// Failures.
    pub errors: KnownSum<i64>,
}

impl AddAssign for OpCount {
    fn add_assign(&mut self, more: Self) {
        self.arrivals += more.arrivals;
        self.ops += more.ops;
        self.bytes += more.bytes;
        self.errors += more.errors;
    }
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
    /// By operation: read, write, trim, flush.
    pub ops: [OpCount; 4],
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

/// Did nothing come back in an interval, well or failed, although something was waiting all the time?
///
/// What became due only late in a silent interval has not waited for the whole of it. Nothing leaves in a silent interval, so
/// what was in flight at its start is in the mean with 1 at least: in flight for a part of it are fewer than 1, or several. The
/// rest of the backlog that did not arrive in the interval was there before. Where the mean is not known, anything at all counts.
pub fn is_stalled(count: &OpCount, in_flight: KnownSum<f64>, backlog: KnownSum<i64>) -> bool {
    if count.ops > 0 || count.errors.is_positive() {
        return false;
    }
    let arrivals = count.arrivals.known();
    match in_flight.known() {
        Some(mean) => mean >= WHOLE || backlog.known().zip(arrivals).is_some_and(|(end, arrivals)| end > arrivals),
        None => backlog.is_positive() || count.arrivals.is_positive(),
    }
}

/// One operation in flight throughout, but for rounding.
const WHOLE: f64 = 0.99;

/// All operations together.
pub fn sum_of(ops: &[OpCount]) -> OpCount {
    ops.iter().fold(OpCount::default(), |mut sum, count| {
        sum += *count;
        sum
    })
}

impl IntervalFacts {
    /// Completions of all operations.
    pub fn completed(&self) -> i64 {
        self.ops.iter().map(|count| count.ops).sum()
    }

    /// Nothing came back, well or failed, although something was waiting all the time.
    pub fn is_stalled(&self) -> bool {
        self.phase != LoadPhase::Paused && is_stalled(&sum_of(&self.ops), self.in_flight, self.backlog)
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

/// A time without a completion although something was waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Start, ns.
    pub from_ns: i64,
    /// End, ns.
    pub to_ns: i64,
}

impl Stall {
    /// Length, ns.
    pub fn length_ns(&self) -> i64 {
        self.to_ns - self.from_ns
    }
}

/// The four operations in the order of [`IntervalFacts::ops`].
pub const OPS: [&str; 4] = ["read", "write", "trim", "flush"];

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
