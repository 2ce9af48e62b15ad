//! Percentiles of a histogram: the value of a rank, and the rank of a value.

use super::{Histogram, bounds_of};

/// A quantile with the bucket that holds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// The quantile, interpolated in its bucket as if the values were spread evenly over it, ns.
    pub value: f64,
    /// Begin of the bucket, ns.
    pub low: f64,
    /// End of the bucket, exclusive, ns.
    pub high: f64,
    /// Which part of all values the bucket holds, above 0 to 1.
    pub share: f64,
}

impl Histogram {
    /// The smallest value with at least `quantile` (0 to 1) of all values at or below it, to bucket precision: the
    /// bucket's upper end, within `[min, max]`. `None` when empty, or when the distribution was not recorded.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank between 1 and the count")]
    pub fn percentile(&self, quantile: f64) -> Option<u64> {
        if self.buckets.is_empty() {
            return None;
        }
        // 0.07 × 100 is a little more than 7: what rounding added must not make the rank one higher.
        let share = quantile.clamp(0.0, 1.0) * self.count as f64 * (1.0 - 4.0 * f64::EPSILON);
        let rank = (share.ceil() as u64).clamp(1, self.count);
        let mut seen = 0_u64;
        for (bucket, count) in &self.buckets {
            seen = seen.saturating_add(*count);
            if seen >= rank {
                let upper = bounds_of(*bucket, self.sub_bits).1 - 1;
                // The last bucket may hold clipped values, whose exact maximum is known.
                let upper = if seen == self.count { self.max } else { upper };
                return Some(upper.clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// The value below which `quantile` (0 to 1) of all values lie, interpolated in its bucket: what statistics of small
    /// differences need, where [`percentile`](Self::percentile) only has the steps of the buckets. `None` when empty, or when
    /// the distribution was not recorded.
    #[must_use]
    pub fn quantile_within(&self, quantile: f64) -> Option<Quantile> {
        let wanted = quantile.clamp(0.0, 1.0) * self.count as f64;
        let (mut below, last) = (0.0, self.buckets.last()?.0);
        let (bucket, count) = self.buckets.iter().copied().find(|(bucket, count)| {
            let is_here = below + *count as f64 >= wanted || *bucket == last;
            if !is_here {
                below += *count as f64;
            }
            is_here
        })?;
        let (low, high) = bounds_of(bucket, self.sub_bits);
        let (low, high, count) = (low as f64, high as f64, count as f64);
        let value = low + (high - low) * ((wanted - below) / count).clamp(0.0, 1.0);
        Some(Quantile { value, low, high, share: count / self.count as f64 })
    }

    /// How many values lie above `value` ns; those of the bucket that holds it in proportion. 0 when the distribution was not recorded.
    #[must_use]
    pub fn above(&self, value: f64) -> f64 {
        let above = self.buckets.iter().rev().map_while(|(bucket, count)| {
            let (low, high) = bounds_of(*bucket, self.sub_bits);
            let part = (high as f64 - value) / (high - low) as f64;
            (part > 0.0).then(|| part.min(1.0) * *count as f64)
        });
        above.sum()
    }
}
