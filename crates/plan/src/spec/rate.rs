//! How fast, and how arrivals are spread in time.

use serde::{Deserialize, Serialize};

/// The offered rate of a run, in operations per second over all its workloads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum OfferedRate {
    /// Open loop at this many arrivals per second.
    PerSecond(f64),
    /// Closed loop: the next operation starts when one has completed.
    Max,
    /// As `Max`, and its result is what later `CurvePoint`s refer to. A plan's curve is this run followed by its points.
    CurveMax,
    /// A point of a curve: a fraction of what the nearest `CurveMax` before it achieved, rounded up to 100/s
    /// (to 10/s below 1,000/s, at least 10/s), as Vdbench does.
    CurvePoint {
        /// Fraction of the maximum.
        fraction: f64,
        /// The curve ends when the mean response time of a point was above this.
        stop_response_ns: Option<u64>,
    },
    /// A fraction of what the last `Max` or `CurveMax` run achieved (a negative or `%` rate in Vdbench), rounded up as a
    /// `CurvePoint` is.
    FractionOfLastMax(f64),
}

impl OfferedRate {
    /// As fast as it goes?
    pub fn is_max(self) -> bool {
        matches!(self, Self::Max | Self::CurveMax)
    }
}

/// How arrivals are spread in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Distribution of the gaps.
    pub gaps: GapDistribution,
    /// The rate changes in the course of the run.
    pub burst: Option<BurstPattern>,
}

/// Distribution of the gaps between arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GapDistribution {
    /// Poisson process: exponential gaps.
    #[default]
    Exponential,
    /// Gaps uniform in `[0, 2 × mean]`.
    Uniform,
    /// Equal gaps.
    Deterministic,
}

/// Rates that change while a run lasts (`distribution=(…,variable|spike)`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BurstPattern {
    /// `(rate per second, nanoseconds)`, repeated from the start when it ends.
    pub steps: Vec<(f64, u64)>,
    /// All arrivals of a second come at its beginning.
    pub spike: bool,
}
