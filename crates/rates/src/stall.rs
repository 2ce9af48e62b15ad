//! When a load stalled: nothing came back although something was waiting.

use crate::KnownSum;
use crate::op_count::OpCount;

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
