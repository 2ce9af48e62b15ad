//! Figures of ZFS between two samples.

use crate::counter::{CounterStep, ratio};
use recording::rows::{ZfsArc, ZfsPool};

/// Reads that found their block in the cache, of all, per cent; `None` where there were none, or it is not known.
pub fn arc_hit_percent(step: &CounterStep<'_, ZfsArc>) -> Option<f64> {
    let (hits, misses) = (step.delta_opt(|row| row.hits)?, step.delta_opt(|row| row.misses)?);
    ratio(100.0 * hits, hits + misses)
}

/// A pool between two samples, per second. What its version of ZFS does not count is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoolRates {
    /// Reads.
    pub reads: Option<f64>,
    /// Writes.
    pub writes: Option<f64>,
    /// Bytes read.
    pub read_bytes: Option<f64>,
    /// Bytes written.
    pub write_bytes: Option<f64>,
}

impl PoolRates {
    /// Of a step; without an earlier sample, since boot.
    pub fn of_step(step: &CounterStep<'_, ZfsPool>) -> Self {
        type Of = fn(&ZfsPool) -> Option<i64>;
        // Older versions count a pool's own I/Os, newer ones those of the cache and those that passed it; none counts in both
        // ways.
        let either = |own: Of, cached: Of, direct: Of| {
            step.rate_opt(|row| own(row).or_else(|| Some(cached(row)? + direct(row).unwrap_or(0))))
        };
        Self {
            reads: either(|row| row.read_ios, |row| row.arc_read_ios, |row| row.direct_read_ios),
            writes: either(|row| row.write_ios, |row| row.arc_write_ios, |row| row.direct_write_ios),
            read_bytes: either(|row| row.read_bytes, |row| row.arc_read_bytes, |row| row.direct_read_bytes),
            write_bytes: either(|row| row.write_bytes, |row| row.arc_write_bytes, |row| row.direct_write_bytes),
        }
    }
}
