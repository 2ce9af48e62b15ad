//! Turns the plan's relative rates into numbers, from what earlier runs achieved.

use crate::SessionError;
use plan::{OfferedRate, Run, Workload};

/// What earlier runs achieved at full speed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Achieved {
    /// Operations per second of the last run at full speed.
    last_max: Option<f64>,
    /// Operations per second of the last run that a curve refers to.
    curve_max: Option<f64>,
    /// The curve's points are skipped from here on: its response time was above the limit.
    curve_stopped: bool,
    /// By name, the part of all operations that each workload did in the run that a curve refers to; empty where shares were asked for.
    curve_shares: Vec<(String, f64)>,
}

/// Finds the run that asks for a share of the greatest rate with none at full speed before it, which would end a night of runs.
///
/// # Errors
/// There is one.
pub(crate) fn check(runs: &[Run]) -> Result<(), SessionError> {
    let mut achieved = Achieved::default();
    for run in runs {
        achieved.decide(run)?;
        if !run.format && run.paced_workloads().next().is_some() {
            achieved.learn(run, 1.0, None);
        }
    }
    Ok(())
}

/// What to do with a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decision {
    /// As fast as it goes.
    Max,
    /// At this many arrivals per second.
    PerSecond(f64),
    /// Not at all: the curve has ended.
    Skip,
}

impl Achieved {
    /// Resolves the rate of `run`.
    ///
    /// # Errors
    /// A relative rate without a run at full speed before it.
    pub(crate) fn decide(&self, run: &Run) -> Result<Decision, SessionError> {
        let missing = || SessionError::NoMaximum { run: run.title.clone() };
        Ok(match run.rate {
            OfferedRate::Max | OfferedRate::CurveMax => Decision::Max,
            OfferedRate::PerSecond(rate) => Decision::PerSecond(rate),
            OfferedRate::CurvePoint { .. } if self.curve_stopped => Decision::Skip,
            OfferedRate::CurvePoint { fraction, .. } => {
                Decision::PerSecond(part_of(self.curve_max.ok_or_else(missing)?, fraction))
            }
            OfferedRate::FractionOfLastMax(fraction) => {
                Decision::PerSecond(part_of(self.last_max.ok_or_else(missing)?, fraction))
            }
        })
    }

    /// Remembers what `run` achieved: operations per second and mean response time of its measured phase.
    pub(crate) fn learn(&mut self, run: &Run, rate: f64, mean_response_ns: Option<f64>) {
        match run.rate {
            OfferedRate::Max => self.last_max = Some(rate),
            OfferedRate::CurveMax => {
                *self = Self { last_max: Some(rate), curve_max: Some(rate), ..Self::default() };
            }
            OfferedRate::CurvePoint { stop_response_ns: Some(limit), .. } => {
                self.curve_stopped |= mean_response_ns.is_some_and(|mean| mean > limit as f64);
            }
            _ => {}
        }
    }
}

impl Achieved {
    /// Remembers how the workloads of a run at full speed shared it, for the points of its curve.
    pub(crate) fn learn_shares(&mut self, run: &Run, ops: &[u64]) {
        if run.rate != OfferedRate::CurveMax || run.is_controlled() || run.workloads.len() < 2 {
            return;
        }
        let total: u64 = ops.iter().sum();
        // One that did nothing at all would do nothing at any point.
        if ops.len() == run.workloads.len() && ops.iter().all(|ops| *ops > 0) {
            let share = |(workload, ops): (&Workload, &u64)| (workload.name.clone(), *ops as f64 / total as f64);
            self.curve_shares = run.workloads.iter().zip(ops).map(share).collect();
        }
    }

    /// A point of a curve with the shares that its workloads had in the run at full speed, as in Vdbench; `None` where these are not known.
    pub(crate) fn shared(&self, run: &Run) -> Option<Run> {
        let is_point = matches!(run.rate, OfferedRate::CurvePoint { .. });
        let names = |run: &Run| run.workloads.iter().map(|workload| workload.name.clone()).collect::<Vec<String>>();
        let known: Vec<String> = self.curve_shares.iter().map(|(name, _)| name.clone()).collect();
        if !is_point || known.is_empty() || names(run) != known {
            return None;
        }
        let mut shared = run.clone();
        shared.workloads.iter_mut().zip(&self.curve_shares).for_each(|(workload, (_, share))| workload.share = *share);
        Some(shared)
    }
}

/// A part of a maximum, rounded as Vdbench does it for points of a curve and for percentages: up to the next 100, below 1,000 to the next 10, never below 10.
fn part_of(max: f64, fraction: f64) -> f64 {
    let rate = fraction * max;
    let step = if rate < 1000.0 { 10.0 } else { 100.0 };
    ((rate / step).ceil() * step).max(10.0)
}

#[cfg(test)]
mod tests {
    use super::part_of;

    #[test]
    fn parts_of_a_maximum_round_up_as_in_vdbench() {
        for (rate, expect) in
            [(3.0, 10.0), (10.0, 10.0), (11.0, 20.0), (995.0, 1000.0), (1001.0, 1100.0), (5000.0, 5000.0)]
        {
            assert!((part_of(rate, 1.0) - expect).abs() < 1e-9, "{rate}");
            assert!((part_of(rate * 2.0, 0.5) - expect).abs() < 1e-9, "half of {}", rate * 2.0);
        }
    }
}
