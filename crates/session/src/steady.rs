//! When a run has become steady (fio's `steadystate`).

use engine::IntervalHarvest;
use plan::{SteadyMeasure, SteadyRule};
use rates::steady::slope;
use std::collections::VecDeque;
use tool_output::fio_out::SteadyState;

/// Length of what is compared, ns.
const SLICE_NS: u64 = 1_000_000_000;

/// Watches the intervals of a run.
#[derive(Debug)]
pub(crate) struct Watch {
    steady: SteadyRule,
    /// Time of the run so far.
    passed_ns: u64,
    /// The slice under way: length, and what was done.
    slice: Slice,
    /// The last slices, oldest first.
    values: VecDeque<f64>,
    /// Their operations and bytes per second.
    rates: VecDeque<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    ns: u64,
    operations: u64,
    bytes: u64,
    service_ns: u128,
}

impl Watch {
    pub(crate) fn new(steady: SteadyRule) -> Self {
        Self { steady, passed_ns: 0, slice: Slice::default(), values: VecDeque::new(), rates: VecDeque::new() }
    }

    /// Takes one interval in.
    pub(crate) fn add(&mut self, harvest: &IntervalHarvest) {
        let began_ns = self.passed_ns;
        self.passed_ns += harvest.interval_ns;
        // What is counted begins when the time that is left out is over: an interval that ends a little later has most of it.
        if began_ns < self.steady.ramp_ns {
            return;
        }
        self.slice.ns += harvest.interval_ns;
        for lane in &harvest.lanes {
            self.slice.operations += lane.ops;
            self.slice.bytes += lane.bytes;
            self.slice.service_ns += lane.service.sum();
        }
        // Intervals may be shorter than a second; a timer may wake up a little early.
        if self.slice.ns + SLICE_NS / 100 >= SLICE_NS {
            let Slice { ns, operations, bytes, service_ns } = std::mem::take(&mut self.slice);
            let per_second = |count: u64| u128::from(count) * u128::from(SLICE_NS) / u128::from(ns.max(1));
            let rate = |count: u64| u64::try_from(per_second(count)).unwrap_or(u64::MAX);
            self.rates.push_back((rate(operations), rate(bytes)));
            while self.rates.len() as u64 > self.wanted() {
                self.rates.pop_front();
            }
            self.push(match self.steady.measure {
                SteadyMeasure::Operations => operations as f64 / ns as f64 * 1e9,
                SteadyMeasure::Bytes => bytes as f64 / ns as f64 * 1e9,
                SteadyMeasure::Service => service_ns as f64 / operations.max(1) as f64,
            });
        }
    }

    fn push(&mut self, value: f64) {
        self.values.push_back(value);
        while self.values.len() as u64 > self.wanted() {
            self.values.pop_front();
        }
    }

    /// Number of slices that are looked at.
    fn wanted(&self) -> u64 {
        (self.steady.window_ns / SLICE_NS).max(2)
    }

    /// Mean of what is looked at, and its slope or greatest deviation.
    fn found(&self) -> (f64, f64) {
        let mean = self.values.iter().sum::<f64>() / self.values.len().max(1) as f64;
        (mean, if self.steady.slope { slope(self.values.iter().copied()) } else { deviation(&self.values, mean) })
    }

    /// What became of it, for fio's outputs.
    pub(crate) fn state(&self, run_index: i32) -> SteadyState {
        let SteadyRule { measure, slope, fraction, absolute, .. } = self.steady;
        let is_full = self.values.len() as u64 >= self.wanted();
        let (mean, found) = if is_full { self.found() } else { (0.0, 0.0) };
        let share = if mean == 0.0 { 0.0 } else { found / mean };
        SteadyState {
            run_index,
            measure: match measure {
                SteadyMeasure::Operations => "iops",
                SteadyMeasure::Bytes => "bw",
                SteadyMeasure::Service => "lat",
            }
            .to_string(),
            slope,
            percent: fraction.is_some(),
            limit: fraction.map_or(absolute.unwrap_or(0.0), |fraction| fraction * 100.0),
            criterion: if fraction.is_some() { share * 100.0 } else { found },
            found,
            seconds: self.wanted(),
            attained: self.attained().is_some(),
            rates: self.rates.iter().copied().collect(),
        }
    }

    /// A sentence when it is steady.
    pub(crate) fn attained(&self) -> Option<String> {
        let count = self.values.len();
        if (count as u64) < self.wanted() {
            return None;
        }
        let (mean, found) = self.found();
        let found = found.abs();
        let (limit, text) = match (self.steady.fraction, self.steady.absolute) {
            (Some(fraction), _) => (fraction * mean, format!("{} % of the mean", fraction * 100.0)),
            (None, absolute) => (absolute.unwrap_or(0.0), format!("{}", absolute.unwrap_or(0.0))),
        };
        let (what, unit) = match self.steady.measure {
            SteadyMeasure::Operations => ("the rate", "op/s"),
            SteadyMeasure::Bytes => ("the throughput", "B/s"),
            SteadyMeasure::Service => ("the mean service time", "ns"),
        };
        let how = if self.steady.slope { "slope per second" } else { "greatest deviation" };
        (found <= limit).then(|| {
            format!("{what} was steady for {count} s: mean {mean:.1} {unit}, {how} {found:.1}, allowed {text}")
        })
    }
}

/// Greatest distance from the mean.
fn deviation(values: &VecDeque<f64>, mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(slope: bool, limit: f64) -> Watch {
        Watch::new(SteadyRule {
            measure: SteadyMeasure::Operations,
            slope,
            fraction: Some(limit),
            absolute: None,
            window_ns: 5 * SLICE_NS,
            ramp_ns: 0,
        })
    }

    #[test]
    fn the_first_second_that_counts_begins_when_those_left_out_are_over() {
        let interval = |ns| IntervalHarvest {
            t_ns: 0,
            interval_ns: ns,
            lanes: vec![],
            workers: vec![],
            jobs: vec![],
            failures: vec![],
            ios: vec![],
            ios_lost: 0,
            executions: vec![],
            steps: vec![],
            notes: vec![],
        };
        for late_ns in [0, 30_000, 300_000] {
            let steady = SteadyRule { ramp_ns: 10 * SLICE_NS, ..watch(false, 0.05).steady };
            let mut watch = Watch::new(steady);
            for second in 0..12 {
                assert_eq!(watch.values.len(), second.max(10) - 10, "before second {second}, {late_ns} ns late");
                watch.add(&interval(SLICE_NS + late_ns));
            }
        }
    }

    #[test]
    fn it_is_steady_when_the_last_seconds_are_alike() {
        let mut by_deviation = watch(false, 0.05);
        for value in [100.0, 200.0, 300.0, 290.0, 305.0, 300.0] {
            by_deviation.push(value);
            assert_eq!(by_deviation.attained(), None);
        }
        by_deviation.push(301.0);
        assert!(by_deviation.attained().is_some_and(|reason| reason.contains("steady for 5 s")));

        let mut by_slope = watch(true, 0.01);
        for at in 0..10 {
            by_slope.push(1000.0 + 20.0 * f64::from(at));
            assert_eq!(by_slope.attained(), None, "it rises by 2 % per second");
        }
        for at in 0..5 {
            by_slope.push(1000.0 + 50.0 * f64::from(at % 2));
        }
        assert!(by_slope.attained().is_some(), "it swings, and does not rise");
    }
}
