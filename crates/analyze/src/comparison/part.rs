//! Sums over some slices of a load.

use super::Slice;
use crate::{Bounds, Times};
use quantity::histogram::Histogram;

/// A part of a load: sums over some of its slices.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) seconds: f64,
    pub(crate) ops: f64,
    pub(crate) reads: f64,
    pub(crate) bytes: f64,
    /// Mean number in flight × seconds; `None` where it is not known.
    pub(crate) in_flight_s: Option<f64>,
    pub(crate) response: Times,
    pub(crate) service: Times,
}

impl Part {
    /// The sum of slices, whose service times are not looked at.
    pub(crate) fn of(slices: &[Slice]) -> Self {
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
    pub(crate) fn per_second(&self, value: f64) -> Option<Bounds> {
        (self.seconds > 0.0).then(|| Bounds::exact(value / self.seconds))
    }
}
