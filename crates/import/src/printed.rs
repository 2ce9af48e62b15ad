//! Figures as other tools print them, as what tables hold.

use quantity::histogram::Histogram;

/// Seconds of ns.
pub(crate) fn seconds(t_ns: i64) -> f64 {
    t_ns as f64 / 1e9
}

/// A whole number out of a figure that was printed with digits: never negative, never beyond what a table holds. Above 2^53
/// it has a step of up to 1,024: of 9 EB, that is nothing.
#[expect(clippy::cast_possible_truncation, reason = "held within 2^63 just before")]
pub(crate) fn whole(value: f64) -> i64 {
    if value.is_finite() { value.round().clamp(0.0, 9.0e18) as i64 } else { 0 }
}

/// The same without a sign.
pub(crate) fn count(value: f64) -> u64 {
    whole(value).unsigned_abs()
}

/// The sum of `n` values with this mean. A product would be cut where it is beyond 2^63 ns, which a depth of 256 has after
/// a year; and a mean has fractions, which are many ns of many operations.
pub(crate) fn sum_of(mean: f64, n: u64) -> u128 {
    u128::from(count(mean.floor())) * u128::from(n) + u128::from(count((mean - mean.floor()) * n as f64))
}

/// A mean over `ops` operations and, if known, their maximum, ns; no distribution.
pub(crate) fn summary(ops: i64, mean_ns: Option<f64>, max_ns: Option<f64>) -> Histogram {
    match mean_ns.filter(|mean| mean.is_finite() && *mean >= 0.0) {
        Some(mean) if ops > 0 => {
            let sum = sum_of(mean, ops.unsigned_abs());
            Histogram::of_summary(ops.unsigned_abs(), sum, None, max_ns.map(count))
        }
        _ => Histogram::default(),
    }
}
