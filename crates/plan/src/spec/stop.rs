//! What ends a run before its time.

use serde::{Deserialize, Serialize};

/// What ends a run before its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StopCondition {
    /// Bytes read and written together.
    pub total: Option<DataLimit>,
    /// Bytes read.
    pub read: Option<DataLimit>,
    /// Bytes written.
    pub written: Option<DataLimit>,
    /// Operations, over all workloads; exact.
    pub operations: Option<u64>,
    /// What was measured has become steady.
    pub steady: Option<SteadyRule>,
    /// Which failed operation ends it; `None`: the one behind [`PlanSettings::errors_max`](crate::PlanSettings::errors_max), over all runs.
    #[serde(default)]
    pub errors: Option<ErrorRule>,
}

/// Which failed operation ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorRule {
    /// The first.
    First,
    /// None: they end their jobs ([`crate::JobEnd`]), or nothing.
    Never,
}

/// When a run is steady: the seconds of the last `window_ns` are alike.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyRule {
    /// What is looked at.
    pub measure: SteadyMeasure,
    /// Least-squares slope per second instead of the greatest deviation from the mean.
    pub slope: bool,
    /// Greatest slope or deviation that is steady, as a fraction of the mean.
    pub fraction: Option<f64>,
    /// The same in the measure's own unit (op/s, bytes/s, ns).
    pub absolute: Option<f64>,
    /// Length of the stretch that is looked at.
    pub window_ns: u64,
    /// Left out at the beginning.
    pub ramp_ns: u64,
}

/// What must be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SteadyMeasure {
    /// Operations per second.
    Operations,
    /// Bytes per second.
    Bytes,
    /// Mean service time.
    Service,
}

/// An amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum DataLimit {
    /// Bytes.
    Bytes(u64),
    /// Multiples of the size of all targets of the run together.
    TargetSizes(f64),
}
