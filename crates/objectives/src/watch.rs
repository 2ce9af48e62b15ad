//! A condition over what goes on now: true or false at the end of each interval.

use super::Condition;
use super::samples::Sample;
use super::sentence::{ConditionSpan, TOLERANCE, World, both, holds};
use super::syntax::{Measured, Truth};
use quantity::histogram::Histogram;
use rates::FigureBounds;
use rates::{KnownSum, OpCount};

/// What one kind of operation did on one device in an interval.
#[derive(Clone, Debug, Default)]
pub struct IntervalStream {
    /// Device.
    pub target: String,
    /// Operation, with the tracer's name.
    pub op: String,
    /// Operations completed.
    pub ops: i64,
    /// Bytes moved by them.
    pub bytes: i64,
    /// Those that failed.
    pub errors: i64,
    /// Completion − queueing.
    pub response: Histogram,
    /// Completion − issue.
    pub service: Histogram,
    /// Issue − queueing.
    pub wait: Histogram,
    /// Mean number in flight.
    pub in_flight: f64,
    /// How long the oldest I/O that is in flight at the interval's end has been so, ns.
    pub oldest_ns: u64,
}

/// A condition that is followed from interval to interval.
#[derive(Debug)]
pub struct ConditionWatch {
    condition: Condition,
    /// Since when the inside of each `for` has held, in the order of the text.
    since: Vec<Option<i64>>,
    /// Of the last interval, by selector.
    samples: Vec<Sample>,
    start_ns: i64,
    to_ns: i64,
}

/// The insides of a tree's `for`s, in the order of the text.
fn lasting<'a>(truth: &'a Truth, out: &mut Vec<(&'a Truth, u64)>) {
    match truth {
        Truth::Compare(..) => {}
        Truth::And(a, b) | Truth::Or(a, b) => {
            lasting(a, out);
            lasting(b, out);
        }
        Truth::Not(inner) => lasting(inner, out),
        Truth::For(inner, ns, _) => out.push((inner, *ns)),
    }
}

/// Truth of a tree whose `for`s were judged before.
fn truth(
    of: &Truth,
    whole: &dyn Fn(&Measured) -> Option<FigureBounds>,
    lasted: &dyn Fn(&Truth) -> bool,
) -> Option<bool> {
    match of {
        Truth::Compare(..) => holds(of, whole),
        Truth::And(a, b) => both(truth(a, whole, lasted), truth(b, whole, lasted)),
        Truth::Or(a, b) => {
            let neither = both(truth(a, whole, lasted).map(|a| !a), truth(b, whole, lasted).map(|b| !b));
            neither.map(|neither| !neither)
        }
        Truth::Not(inner) => truth(inner, whole, lasted).map(|held| !held),
        Truth::For(inner, ..) => Some(lasted(inner)),
    }
}

impl ConditionWatch {
    /// Follows a condition that was read with [`Condition::parse_traced`], from `start_ns` on (`CLOCK_MONOTONIC`).
    #[must_use]
    pub fn new(condition: Condition, start_ns: i64) -> Self {
        let mut insides = Vec::new();
        lasting(&condition.truth, &mut insides);
        let since = vec![None; insides.len()];
        Self { condition, since, samples: Vec::new(), start_ns, to_ns: start_ns }
    }

    /// The condition.
    #[must_use]
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Adds the interval `[from_ns, to_ns)`; does the condition hold at its end?
    ///
    /// Counts of what no lane tells of are 0. Times that nothing tells of are unknown, and a comparison with one does not
    /// hold; while something is in flight and nothing completes, a `for` goes on with what held before.
    pub fn accept(&mut self, from_ns: i64, to_ns: i64, lanes: &[IntervalStream]) -> bool {
        let seconds = (to_ns - from_ns) as f64 / 1e9;
        let fresh = || Sample { present: true, seconds, in_flight: Some(0.0), ..Sample::default() };
        self.samples = self.condition.selectors.iter().map(|_| fresh()).collect();
        let mut all = fresh();
        for lane in lanes {
            let chosen = self.samples.iter_mut().zip(&self.condition.selectors);
            let chosen = chosen.filter(|(_, selector)| selector.admits("", &lane.target, &lane.op));
            chosen.map(|(sample, _)| sample).chain(std::iter::once(&mut all)).for_each(|sample| add(sample, lane));
        }
        self.to_ns = to_ns;
        let mut insides = Vec::new();
        lasting(&self.condition.truth, &mut insides);
        let figure = |measured: &Measured| self.samples.get(measured.selector)?.value(measured.quantity);
        for ((inner, _), since) in insides.iter().zip(&mut self.since) {
            *since = match holds(inner, &figure) {
                Some(true) => since.or(Some(from_ns)),
                None if all.is_silent() => *since,
                _ => None,
            };
        }
        truth(&self.condition.truth, &figure, &|inner| self.stretch(inner).is_some_and(|lasted| lasted.1)) == Some(true)
    }

    /// Since when the inside of a `for` has held, and whether that is long enough.
    fn stretch(&self, inner: &Truth) -> Option<(ConditionSpan, bool)> {
        let mut insides = Vec::new();
        lasting(&self.condition.truth, &mut insides);
        let found = insides.iter().zip(&self.since).find(|((known, _), _)| *known == inner);
        let ((_, ns), since) = found?;
        let stretch = ConditionSpan { from_ns: (*since)?, to_ns: self.to_ns, worst: None };
        Some((stretch, stretch.length_ns() as f64 >= *ns as f64 * (1.0 - TOLERANCE)))
    }

    /// Why it holds, in a sentence without a full stop.
    #[must_use]
    pub fn reason(&self) -> String {
        let whole = |measured: &Measured| self.samples.get(measured.selector)?.value(measured.quantity);
        let longest = |inner: &Truth| self.stretch(inner).map(|found| found.0);
        let world = World { whole: &whole, longest: &longest, start_ns: self.start_ns };
        let mut reasons = Vec::new();
        world.reasons(&self.condition.truth, true, &mut reasons);
        reasons.join("; ")
    }
}

fn add(sample: &mut Sample, lane: &IntervalStream) {
    let count = OpCount { ops: lane.ops, bytes: lane.bytes, errors: KnownSum::of(lane.errors), ..OpCount::default() };
    sample.add(&lane.op, count, &lane.response, &lane.service);
    sample.wait.ended.merge(&lane.wait);
    sample.in_flight = Some(sample.in_flight.unwrap_or(0.0) + lane.in_flight);
    sample.oldest_ns = sample.oldest_ns.max(lane.oldest_ns);
}

#[cfg(test)]
mod tests {
    use super::{ConditionWatch, IntervalStream};
    use crate::Condition;
    use quantity::histogram::HistogramRecorder;

    const S: i64 = 1_000_000_000;

    fn lane(target: &str, op: &str, ops: i64, response_ns: u64) -> IntervalStream {
        let mut response = HistogramRecorder::default();
        (0..ops).for_each(|_| response.record(response_ns));
        let response = response.snapshot();
        let in_flight = ops as f64 * response_ns as f64 / 1e9;
        IntervalStream {
            target: target.into(),
            op: op.into(),
            ops,
            bytes: ops * 4096,
            response,
            in_flight,
            ..IntervalStream::default()
        }
    }

    /// What the condition says second by second.
    fn check(text: &str, seconds: &[Vec<IntervalStream>]) -> Vec<bool> {
        let mut watch = ConditionWatch::new(Condition::parse_traced(text).unwrap(), 0);
        (0_i64..).zip(seconds).map(|(second, lanes)| watch.accept(second * S, (second + 1) * S, lanes)).collect()
    }

    fn quiet() -> Vec<IntervalStream> {
        vec![lane("sda", "read", 100, 1_000_000)]
    }

    #[test]
    fn one_slow_io_makes_response_true_in_its_second() {
        let mut slow = quiet();
        slow.push(lane("sda", "write", 1, 312_000_000));
        for text in ["response > 100ms", "response_ns_max{op=write} > 100ms", "response{target=sd*} > 100 ms"] {
            assert_eq!(check(text, &[quiet(), slow.clone(), quiet()]), [false, true, false], "{text}");
        }
        assert_eq!(check("response{target=sdb} > 100ms", &[slow.clone()]), [false]);
        assert_eq!(check("response{op=read} > 100ms", &[slow]), [false]);
    }

    #[test]
    fn what_is_in_flight_counts_with_its_age() {
        let stuck = IntervalStream { oldest_ns: 5_000_000_000, in_flight: 1.0, ..lane("sda", "write", 0, 0) };
        assert_eq!(check("response > 4s", &[vec![stuck.clone()]]), [true]);
        assert_eq!(check("response_ns_p99 > 4s", &[vec![stuck]]), [false], "nothing has completed");
    }

    #[test]
    fn idle_devices_have_a_rate_of_0() {
        assert_eq!(check("rate < 10", &[vec![], quiet()]), [true, false]);
        assert_eq!(check("errors > 0 or queue_depth > 4", &[vec![], quiet()]), [false, false]);
    }

    #[test]
    fn a_time_must_last() {
        let busy = || vec![lane("sda", "read", 100, 50_000_000)];
        let stuck = || vec![IntervalStream { in_flight: 8.0, ..lane("sda", "read", 0, 0) }];
        let text = "response_ns_p50 > 20ms for 3s";
        assert_eq!(
            check(text, &[busy(), busy(), quiet(), busy(), busy(), busy(), busy()]),
            [false, false, false, false, false, true, true]
        );
        assert_eq!(check(text, &[busy(), stuck(), busy()]), [false, false, true], "a stall goes on with what held");
        assert_eq!(check(text, &[busy(), vec![], busy()]), [false; 3], "silence does not");
    }

    #[test]
    fn the_reason_has_the_figure() {
        let mut watch = ConditionWatch::new(Condition::parse_traced("response > 100ms").unwrap(), 0);
        assert!(watch.accept(0, S, &[lane("sda", "read", 1, 312_000_000)]));
        assert_eq!(watch.reason(), "response was 312 ms, more than 100ms");
    }

    #[test]
    fn what_a_trace_does_not_know_is_a_mistake() {
        for (text, expect) in [
            ("backlog > 3", "`backlog` is not known of a trace"),
            ("offered > 3", "`offered` is not known of a trace"),
            ("response{workload=x} > 3ms", "there is no label `workload`"),
            ("response{op=trim} > 3ms", "there is no operation `trim`"),
            ("response > 3", "`3` needs a unit here"),
            ("respons > 3ms", "there is no measure `respons`"),
        ] {
            assert_eq!(Condition::parse_traced(text).unwrap_err().message, expect, "{text}");
        }
        assert!(Condition::parse("response > 3ms").is_err(), "a run's time has a statistic");
    }
}
