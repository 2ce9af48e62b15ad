//! How long a device takes without a queue, as far as its counters can tell.
//!
//! Times are counted in whole milliseconds, so that the mean of a few fast requests can read as 0; and the least of many noisy
//! means is too low. So intervals are put together until there are enough requests, and enough time against the steps in which
//! it is counted; a mean that is known no better than that is a bound.

use crate::interval_sample::{DiskUse, IntervalSample};
use rates::counter::ratio;
use std::collections::BTreeMap;

/// A window is full with so many requests,
const OPS: f64 = 200.0;
/// that took so many steps of the counter,
const STEPS: f64 = 20.0;
/// or of so many intervals: such a device is faster than its counter can tell.
const INTERVALS: usize = 60;
/// So many of the lowest windows are kept. The highest of them counts: one or two may be chance, such as reads that a cache answered.
pub(crate) const LOWEST: usize = 3;
/// A time is resolved when it is so many times what it may be off by.
const RESOLVED: f64 = 5.0;
/// Moments that are so near follow one another: their lengths are rounded.
const JOINS_NS: i64 = 1_000_000;

/// Intervals of a device without a queue.
#[derive(Default)]
pub(crate) struct Baseline {
    /// By power of two of the mean size of a request: what is no window yet.
    pools: BTreeMap<i32, Pool>,
    /// The lowest windows, lowest first.
    lowest: Vec<Pool>,
    windows: usize,
}

/// Intervals put together.
#[derive(Clone, Copy, Debug, Default)]
struct Pool {
    ops: f64,
    ticks_ms: f64,
    /// `None`: of one interval it is not known.
    bytes: Option<f64>,
    /// By so much the time may be off.
    off_ms: f64,
    intervals: usize,
    until_ns: i64,
}

/// How long a device takes without a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unloaded {
    pub(crate) response_ns: f64,
    /// By so much that may be off.
    pub(crate) resolution_ns: f64,
    /// Mean size of those requests.
    pub(crate) bytes: Option<f64>,
    /// Windows that it was chosen of; 0: none is full yet.
    pub(crate) windows: usize,
}

/// How many times as long requests take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slower {
    pub(crate) times: f64,
    /// At least so many: the time without a queue is too short to be known.
    pub(crate) is_bound: bool,
}

impl Slower {
    pub(crate) fn words(&self) -> String {
        if self.is_bound { format!("at least {:.0}×", self.times) } else { format!("{:.1}×", self.times) }
    }
}

impl Pool {
    /// `None`: the interval does not tell how long its requests took.
    fn add(&mut self, disk: &DiskUse, now: &IntervalSample) -> Option<()> {
        let (ops, ticks_ms) = (disk.delta.ops()?, disk.delta.total_latency_ms()?);
        let bytes = disk.delta.bytes();
        self.bytes = if self.intervals == 0 { bytes } else { self.bytes.zip(bytes).map(|(all, more)| all + more) };
        // Of intervals that follow one another, what one counts too little is in the next.
        let joins = self.intervals > 0 && (now.start_ns() - self.until_ns).abs() < JOINS_NS;
        self.off_ms += disk.delta.rounding_error_ms() + if joins { 0.0 } else { disk.delta.tick_error_ms() };
        self.ops += ops;
        self.ticks_ms += ticks_ms;
        self.intervals += 1;
        self.until_ns = now.t_ns;
        Some(())
    }

    fn is_full(&self) -> bool {
        self.ops >= OPS && (self.ticks_ms >= STEPS * self.off_ms || self.intervals >= INTERVALS)
    }

    fn response_ns(&self) -> f64 {
        ratio(self.ticks_ms * 1e6, self.ops).unwrap_or(0.0)
    }
}

impl Baseline {
    /// Takes in an interval without a queue.
    pub(crate) fn learn(&mut self, disk: &DiskUse, now: &IntervalSample) {
        let octave = disk.delta.mean_bytes().filter(|bytes| *bytes >= 1.0).map_or(0.0, f64::log2);
        #[expect(clippy::cast_possible_truncation, reason = "a logarithm of a size")]
        let pool = self.pools.entry(octave.round() as i32).or_default();
        if pool.add(disk, now).is_none() || !pool.is_full() {
            return;
        }
        let full = std::mem::take(pool);
        self.windows += 1;
        let at = self.lowest.partition_point(|window| window.response_ns() <= full.response_ns());
        self.lowest.insert(at, full);
        self.lowest.truncate(LOWEST);
    }

    /// What is known yet.
    pub(crate) fn known(&self) -> Option<Unloaded> {
        let yet = || self.pools.values().filter(|pool| pool.ops > 0.0).max_by(|a, b| a.ops.total_cmp(&b.ops));
        let of = self.lowest.last().or_else(yet)?;
        Some(Unloaded {
            response_ns: of.response_ns(),
            resolution_ns: ratio(of.off_ms * 1e6, of.ops)?,
            bytes: of.bytes.and_then(|bytes| ratio(bytes, of.ops)),
            windows: self.windows,
        })
    }
}

impl Unloaded {
    /// Is the time long against what it may be off by?
    fn is_resolved(&self) -> bool {
        self.response_ns > RESOLVED * self.resolution_ns
    }

    /// Are there enough windows, of times that are long enough?
    pub(crate) fn is_certain(&self) -> bool {
        self.windows >= LOWEST && self.is_resolved()
    }

    /// How many times as long requests take that take `response_ns` now, give or take `resolution_ns`.
    pub(crate) fn slower(&self, response_ns: f64, resolution_ns: f64) -> Option<Slower> {
        let times = if self.is_resolved() {
            ratio(response_ns, self.response_ns)?
        } else {
            ratio((response_ns - resolution_ns).max(0.0), self.response_ns + self.resolution_ns)?
        };
        Some(Slower { times, is_bound: !self.is_resolved() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_as_no_time_is_a_bound() {
        let unloaded = Unloaded { response_ns: 0.0, resolution_ns: 40_000.0, bytes: None, windows: 5 };
        let slower = unloaded.slower(4_040_000.0, 40_000.0).unwrap();
        assert_eq!((slower.words().as_str(), unloaded.is_certain()), ("at least 100×", false));
        let known = Unloaded { response_ns: 1e6, resolution_ns: 1e5, bytes: None, windows: 3 };
        assert_eq!(known.slower(4.45e6, 1e6).unwrap().words(), "4.5×");
        assert!(known.is_certain() && !Unloaded { windows: 2, ..known }.is_certain());
        assert_eq!(Unloaded { resolution_ns: 0.0, ..unloaded }.slower(1.0, 0.0), None, "never infinitely slower");
    }
}
