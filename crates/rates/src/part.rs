//! Sums over some slices of a load.

use crate::{DataOps, FigureBounds, OperationTimes};
use quantity::histogram::Histogram;

/// What happened in a stretch of time.
#[derive(Clone, Debug)]
pub struct LoadSlice {
    /// Since the load's start.
    pub from_s: f64,
    /// Its length, s.
    pub length_s: f64,
    /// Completions.
    pub ops: f64,
    /// Completed operations that read and that wrote data.
    pub data: DataOps,
    /// Bytes moved.
    pub bytes: f64,
    /// Mean number in flight.
    pub in_flight: Option<f64>,
    /// Response times, ns.
    pub response: Histogram,
}

/// A part of a load: sums over some of its slices.
#[derive(Clone, Debug)]
pub struct LoadPart {
    /// Their lengths together, s.
    pub seconds: f64,
    /// Completions.
    pub ops: f64,
    /// Completed operations that read and that wrote data.
    pub data: DataOps,
    /// Bytes moved.
    pub bytes: f64,
    /// Mean number in flight × seconds; `None` where it is not known.
    pub in_flight_s: Option<f64>,
    /// Response times.
    pub response: OperationTimes,
    /// Service times.
    pub service: OperationTimes,
}

impl LoadPart {
    /// The sum of slices, whose service times are not looked at.
    pub fn of(slices: &[LoadSlice]) -> Self {
        let sum = |of: fn(&LoadSlice) -> f64| slices.iter().map(of).sum::<f64>();
        let mut data = DataOps::default();
        slices.iter().for_each(|slice| data += slice.data);
        let mut response = Histogram::default();
        slices.iter().for_each(|slice| response.merge(&slice.response));
        Self {
            seconds: sum(|slice| slice.length_s),
            ops: sum(|slice| slice.ops),
            data,
            bytes: sum(|slice| slice.bytes),
            in_flight_s: slices.iter().map(|slice| Some(slice.in_flight? * slice.length_s)).sum(),
            response: OperationTimes::ended(response),
            service: OperationTimes::default(),
        }
    }

    /// So much per second of it; `None` when it has no length.
    pub fn per_second(&self, value: f64) -> Option<FigureBounds> {
        (self.seconds > 0.0).then(|| FigureBounds::exact(value / self.seconds))
    }
}
