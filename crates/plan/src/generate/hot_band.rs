//! Vdbench's hot band: where random operations go so that caches are hit as often as their size would have it.

use super::rng::Rng;
use super::{GenerateError, OperationKind};
use crate::floor::floor_u64;

/// Unit of a band: what is left over of it at its end is not used.
const UNIT_BYTES: u64 = 1_000_000;

/// A step of the curve is in kB (1,000 bytes), although its inventors count it in MB: the unit is lost on the way.
const STEP_BYTES: u64 = 1000;

/// Probabilities of an address below 16, 32, 64 … 4096 steps. Facts about Vdbench 5.04.
const FIRST: [f64; 9] =
    [0.087_217, 0.101_01, 0.132_206, 0.159_946, 0.201_713, 0.262_602, 0.326_45, 0.366_902, 0.386_175];

/// Above, at 4096 × 2^k steps, `LAST + RISE × (1 − 0.9^k)`, k = 1…18: within 3 × 10⁻⁶ of Vdbench's table.
const RISE: f64 = 0.507_66;
const DOUBLINGS: i32 = 18;

/// Behind the last point of the table addresses are alike, up to this many steps for each probability of 1.
const TAIL_SLOPE: f64 = 1_313_220_630.0;

/// Chooses places in a band: the curve is one over absolute bytes, from the band's beginning; what lies behind its end comes
/// round to its beginning again, so that the shares depend on the band's size (39, 57 and 80 % in the first 1, 10 and 50 %
/// of 400 MB; 74, 80 and 99 % of 1 TB). Writes are shifted by a hundredth of the band, away from the hottest reads.
#[derive(Clone, Debug)]
pub(crate) struct HotBand {
    /// Bytes of whole units.
    bytes: u64,
    /// Probability, steps and steps per probability of each point of the curve, ascending.
    points: Vec<(f64, f64, f64)>,
}

impl HotBand {
    /// A band of so many bytes, at least 1,000,000.
    pub(crate) fn new(workload: &str, bytes: u64) -> Result<Self, GenerateError> {
        if bytes < UNIT_BYTES {
            let (what, value) = ("the size of the hot band in bytes", bytes as f64);
            let (of, allowed) = (format!("workload {workload}"), "1000000 or more");
            return Err(GenerateError::Value { of, what, value, allowed });
        }
        let last = FIRST[FIRST.len() - 1];
        let rises = (1..=DOUBLINGS).map(|k| last + RISE * (1.0 - 0.9_f64.powi(k)));
        let probabilities = std::iter::once(0.0).chain(FIRST).chain(rises);
        let steps = std::iter::once(0.0).chain((0..).map(|k| 16.0 * 2_f64.powi(k)));
        let mut points: Vec<_> = probabilities.zip(steps).map(|(p, x)| (p, x, TAIL_SLOPE)).collect();
        for at in 0..points.len() - 1 {
            let (from, to) = (points[at], points[at + 1]);
            points[at].2 = (to.1 - from.1) / (to.0 - from.0);
        }
        Ok(Self { bytes: bytes - bytes % UNIT_BYTES, points })
    }

    /// The number of the transfer of `bytes` in the band, counted from 0.
    #[inline]
    pub(crate) fn next(&self, rng: &mut Rng, op: OperationKind, bytes: u64) -> u64 {
        let transfers = (self.bytes / bytes).max(1);
        let place = self.steps(rng.unit()) * STEP_BYTES / bytes;
        let shift = if op == OperationKind::Read { 0 } else { transfers / 100 };
        (place + shift) % transfers
    }

    /// The curve, inverted: steps below which an address lies with this probability.
    #[inline]
    fn steps(&self, probability: f64) -> u64 {
        let at = self.points.partition_point(|point| point.0 <= probability).max(1) - 1;
        let (from, steps, slope) = self.points[at];
        floor_u64(steps + (probability - from) * slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By Vdbench's own table, for transfers of 4 KiB.
    #[test]
    fn shares_of_a_band_are_those_of_vdbench() {
        for (bytes, shares) in [
            (100_000_000, [0.3285, 0.4922, 0.7622]),
            (400_000_000, [0.3891, 0.5705, 0.7972]),
            (1_000_000_000, [0.4507, 0.6138, 0.8144]),
            (100_000_000_000, [0.6758, 0.7648, 0.8773]),
            (1_000_000_000_000, [0.7377, 0.8045, 0.9914]),
        ] {
            let band = HotBand::new("wd1", bytes).unwrap();
            // All probabilities in turn instead of random ones.
            let count = 100_000_u32;
            let (mut found, transfers) = ([0_u32; 3], band.bytes / 4096);
            for i in 0..count {
                let place = band.steps((f64::from(i) + 0.5) / f64::from(count)) * STEP_BYTES / 4096 % transfers;
                for (found, part) in found.iter_mut().zip([0.01, 0.1, 0.5]) {
                    *found += u32::from((place as f64) < part * transfers as f64);
                }
            }
            for (found, expected) in found.iter().zip(shares) {
                let found = f64::from(*found) / f64::from(count);
                assert!((found - expected).abs() < 0.0005, "{found} of {bytes}, not {expected}");
            }
        }
    }

    #[test]
    fn a_band_below_a_million_bytes_is_refused() {
        assert!(HotBand::new("wd1", 999_999).is_err());
        assert!(HotBand::new("wd1", 1_000_000).is_ok());
    }
}
