//! Sums over some slices of a load.

use crate::{Bounds, Times};
use quantity::histogram::Histogram;

/// What happened in a stretch of time.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Since the load's start.
    pub from_s: f64,
    /// Its length, s.
    pub length_s: f64,
    /// Completions.
    pub ops: f64,
    /// Completed reads.
    pub reads: f64,
    /// Bytes moved.
    pub bytes: f64,
    /// Mean number in flight.
    pub in_flight: Option<f64>,
    /// Response times, ns.
    pub response: Histogram,
}

/// A part of a load: sums over some of its slices.
#[derive(Clone, Debug)]
pub struct Part {
    /// Their lengths together, s.
    pub seconds: f64,
    /// Completions.
    pub ops: f64,
    /// Completed reads.
    pub reads: f64,
    /// Bytes moved.
    pub bytes: f64,
    /// Mean number in flight × seconds; `None` where it is not known.
    pub in_flight_s: Option<f64>,
    /// Response times.
    pub response: Times,
    /// Service times.
    pub service: Times,
}

impl Part {
    /// The sum of slices, whose service times are not looked at.
    pub fn of(slices: &[Slice]) -> Self {
        let sum = |of: fn(&Slice) -> f64| slices.iter().map(of).sum::<f64>();
        let mut response = Histogram::default();
        slices.iter().for_each(|slice| response.merge(&slice.response));
        Self {
            seconds: sum(|slice| slice.length_s),
            ops: sum(|slice| slice.ops),
            reads: sum(|slice| slice.reads),
            bytes: sum(|slice| slice.bytes),
            in_flight_s: slices.iter().map(|slice| Some(slice.in_flight? * slice.length_s)).sum(),
            response: Times::ended(response),
            service: Times::default(),
        }
    }

    /// So much per second of it; `None` when it has no length.
    pub fn per_second(&self, value: f64) -> Option<Bounds> {
        (self.seconds > 0.0).then(|| Bounds::exact(value / self.seconds))
    }
}
