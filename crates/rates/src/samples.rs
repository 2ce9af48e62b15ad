//! Samples of a figure: their mean and how sure it is, and how two of them differ (Student's t).

use crate::student::{student, student_95};

/// A mean over repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatEstimate {
    /// Mean.
    pub mean: f64,
    /// Half of the 95 % confidence interval (Student's t over the repetitions); `None` for a single one.
    pub half: Option<f64>,
    /// Repetitions.
    pub count: usize,
}

impl RepeatEstimate {
    /// Of values; `None` when there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        let half = (count > 1).then(|| student_95((count - 1) as f64) * deviation / (count as f64).sqrt());
        Some(Self { mean, half, count })
    }

    /// Smallest and greatest value of the confidence interval.
    #[must_use]
    pub fn bounds(&self) -> Option<(f64, f64)> {
        self.half.map(|half| (self.mean - half, self.mean + half))
    }

    /// Half of the confidence interval as a part of the mean.
    #[must_use]
    pub fn relative(&self) -> Option<f64> {
        self.half.filter(|_| self.mean != 0.0).map(|half| half / self.mean.abs())
    }
}

/// An interval of a difference of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl LogInterval {
    /// Half of its length.
    #[must_use]
    pub fn half(self) -> f64 {
        0.5 * (self.high - self.low)
    }

    /// Is 0 outside of it?
    #[must_use]
    pub fn excludes_zero(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// How much two samples differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifferenceEstimate {
    /// Difference of the means of the logarithms.
    pub d: f64,
    /// Its 95 % interval.
    pub interval: LogInterval,
}

/// Mean of values, and the variance of that mean.
fn mean_of(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (count - 1.0) / count)
}

/// Welch's interval of the difference of two samples' means, two or more values each; it ends at the quantile `level` of Student's
/// t: 0.975 for 95 %.
#[must_use]
pub fn welch(a: &[f64], b: &[f64], level: f64) -> DifferenceEstimate {
    let ((mean_a, part_a), (mean_b, part_b)) = (mean_of(a), mean_of(b));
    let (d, both) = (mean_b - mean_a, part_a + part_b);
    let less_one = |values: &[f64]| values.len() as f64 - 1.0;
    // Welch–Satterthwaite. Below rounding there is no spread.
    let half = if both < 1e-24 {
        0.0
    } else {
        let freedom = both.powi(2) / (part_a.powi(2) / less_one(a) + part_b.powi(2) / less_one(b));
        student(level, freedom) * both.sqrt()
    };
    DifferenceEstimate { d, interval: LogInterval { low: d - half, high: d + half } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_sample() {
        let estimate = RepeatEstimate::of(&[10.0, 12.0, 14.0]).unwrap();
        assert_eq!((estimate.mean, estimate.count), (12.0, 3));
        assert!((estimate.half.unwrap() - 4.302_652_73 * 2.0 / 3.0_f64.sqrt()).abs() < 1e-6, "{estimate:?}");
        assert_eq!(RepeatEstimate::of(&[5.0]).unwrap().half, None);
        assert_eq!(RepeatEstimate::of(&[]), None);
    }

    /// Sums of uniform numbers: nearly normal, mean 6, deviation 1.
    fn draw(state: &mut u64) -> f64 {
        (0..12)
            .map(|_| {
                *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (*state >> 11) as f64 / (1_u64 << 53) as f64
            })
            .sum()
    }

    #[test]
    fn nineteen_of_twenty_intervals_hold_the_truth() {
        let mut state = 7;
        let mut inside = 0;
        const ROUNDS: i32 = 4000;
        for _ in 0..ROUNDS {
            let sample: Vec<f64> = (0..5).map(|_| draw(&mut state)).collect();
            let (low, high) = RepeatEstimate::of(&sample).unwrap().bounds().unwrap();
            inside += i32::from(low <= 6.0 && 6.0 <= high);
        }
        let share = |count: i32| f64::from(count) / f64::from(ROUNDS);
        assert!((0.935..0.965).contains(&share(inside)), "{}", share(inside));
    }

    #[test]
    fn welch_of_known_samples() {
        // Means 2 and 5, variances 1 and 4, five values each: se² = 1, Welch's df = 25·4/(1+16) … = 5.882.
        let a = [1.0, 1.0, 2.0, 3.0, 3.0];
        let b = [3.0, 3.0, 5.0, 7.0, 7.0];
        let found = welch(&a, &b, 0.975);
        let half = student(0.975, 1.0 / (0.04 / 4.0 + 0.64 / 4.0));
        assert!((found.d - 3.0).abs() < 1e-12 && (found.interval.high - 3.0 - half).abs() < 1e-12, "{found:?}");
        let equal = welch(&[2.0; 4], &[2.0; 4], 0.975);
        assert_eq!((equal.d, equal.interval), (0.0, LogInterval { low: 0.0, high: 0.0 }));
    }
}
