//! How many times as much, and how sure that is: batch means.
//!
//! Neighbouring intervals resemble each other, so they are not counted as independent: the measured time is cut into
//! [`BATCHES`] stretches, and each gives one value of the figure. Stretches of the same place are held against each other
//! (paired t of the logarithms): loads that change by time, as a trace and its replay do, change together. Where the
//! numbers of stretches differ, they are not paired (Welch's t).

use super::{Load, Slice};
use crate::repeats::student_95;
use crate::{Bounds, Times};
use quantity::histogram::Histogram;

/// Most stretches into which a load is cut.
const BATCHES: usize = 10;
/// Fewer than these tell nothing of the spread.
const FEWEST: usize = 4;

/// A part of a load: sums over some of its slices.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) seconds: f64,
    pub(crate) ops: f64,
    pub(crate) reads: f64,
    pub(crate) bytes: f64,
    /// Mean number in flight × seconds; `None` where it is not known.
    pub(crate) in_flight_s: Option<f64>,
    pub(crate) response: Times,
}

impl Part {
    /// The sum of slices.
    pub(crate) fn of(slices: &[Slice]) -> Self {
        let sum = |of: fn(&Slice) -> f64| slices.iter().map(of).sum::<f64>();
        let mut response = Histogram::default();
        slices.iter().for_each(|slice| response.merge(&slice.response));
        Self {
            seconds: sum(|slice| slice.length_s),
            ops: sum(|slice| slice.ops),
            reads: sum(|slice| slice.reads),
            bytes: sum(|slice| slice.bytes),
            in_flight_s: slices.iter().map(|slice| Some(slice.in_flight? * slice.length_s)).sum(),
            response: Times::ended(response),
        }
    }
}

/// How many times as much, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Second ÷ first.
    pub ratio: f64,
    /// Ends of the 95 % interval; `None` when there were too few stretches.
    pub within: Option<(f64, f64)>,
}

impl Ratio {
    /// Is it certain that the two differ? `None` when that cannot be told.
    #[must_use]
    pub fn differs(&self) -> Option<bool> {
        self.within.map(|(low, high)| low > 1.0 || high < 1.0)
    }
}

/// The stretches of a load: equal numbers of slices.
pub(crate) fn batches(load: &Load) -> Vec<Part> {
    let slices = &load.slices;
    let count = slices.len().min(BATCHES);
    (0..count).map(|at| Part::of(&slices[at * slices.len() / count..(at + 1) * slices.len() / count])).collect()
}

/// Variance of values, divided by their number: the squared standard error of their mean.
fn squared_error(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0) / count
}

/// The ratio of two figures that are known; of lower bounds it is not.
pub(crate) fn exact_ratio(totals: (Bounds, Bounds), first: &[f64], second: &[f64]) -> Option<Ratio> {
    let is_known = totals.0.is_exact() && totals.1.is_exact();
    is_known.then(|| ratio((totals.0.low, totals.1.low), first, second)).flatten()
}

fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let usable = values.len() >= FEWEST && values.iter().all(|value| *value > 0.0);
    usable.then(|| values.iter().map(|value| value.ln()).collect())
}

/// The ratio of two totals whose stretches had these values. `None` unless both totals are positive.
pub(crate) fn ratio(totals: (f64, f64), first: &[f64], second: &[f64]) -> Option<Ratio> {
    let (was, is) = totals;
    if !(was > 0.0 && is > 0.0 && was.is_finite() && is.is_finite()) {
        return None;
    }
    let within = logs(first).zip(logs(second)).map(|(first, second)| {
        let (n, m) = (first.len() as f64, second.len() as f64);
        let (error, freedom) = if first.len() == second.len() {
            let differences: Vec<f64> = first.iter().zip(&second).map(|(was, is)| is - was).collect();
            (squared_error(&differences).sqrt(), n - 1.0)
        } else {
            let (a, b) = (squared_error(&first), squared_error(&second));
            let freedom =
                if a + b == 0.0 { n + m - 2.0 } else { (a + b).powi(2) / (a * a / (n - 1.0) + b * b / (m - 1.0)) };
            ((a + b).sqrt(), freedom)
        };
        let factor = (student_95(freedom) * error).exp();
        (is / was / factor, is / was * factor)
    });
    Some(Ratio { ratio: is / was, within })
}

#[cfg(test)]
mod tests {
    use super::{Ratio, ratio};

    #[test]
    fn a_known_ratio() {
        let steady = [10.0, 10.0, 10.0, 10.0];
        let twice = ratio((40.0, 80.0), &steady, &[20.0; 4]).unwrap();
        assert_eq!(twice, Ratio { ratio: 2.0, within: Some((2.0, 2.0)) });
        assert_eq!(twice.differs(), Some(true));
        // What changes by time in both is no spread of the ratio.
        let bursts = [1.0, 100.0, 5.0, 40.0];
        let paired = ratio((146.0, 292.0), &bursts, &bursts.map(|value| 2.0 * value)).unwrap().within.unwrap();
        assert!((paired.0 - 2.0).abs() < 1e-9 && (paired.1 - 2.0).abs() < 1e-9, "{paired:?}");
        let apart = ratio((146.0, 292.0), &bursts, &[50.0; 5]).unwrap().within.unwrap();
        assert!(apart.0 < 0.2 && apart.1 > 10.0, "{apart:?}");
        let few = ratio((30.0, 31.0), &[10.0; 3], &[10.0, 10.0, 11.0]).unwrap();
        assert_eq!(few.differs(), None, "three stretches tell nothing of the spread");
        assert_eq!(ratio((0.0, 5.0), &steady, &steady), None);
    }

    #[test]
    fn noise_is_called_noise_in_nineteen_of_twenty_cases() {
        let mut state = 11_u64;
        let mut draw = || {
            let mut sum = 0.0;
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sum += (state >> 11) as f64 / (1_u64 << 53) as f64;
            }
            100.0 + 5.0 * (sum - 6.0)
        };
        let (mut alike, mut apart) = (0, 0);
        for _ in 0..2000 {
            let a: Vec<f64> = (0..10).map(|_| draw()).collect();
            let b: Vec<f64> = (0..10).map(|_| draw()).collect();
            let more: Vec<f64> = b.iter().map(|value| value * 1.1).collect();
            let total = |values: &[f64]| values.iter().sum::<f64>();
            let of = |other: &[f64]| ratio((total(&a), total(other)), &a, other).and_then(|ratio| ratio.differs());
            alike += i32::from(of(&b) == Some(false));
            apart += i32::from(of(&more) == Some(true));
        }
        assert!((0.93..0.97).contains(&(f64::from(alike) / 2000.0)), "{alike}");
        assert!(f64::from(apart) / 2000.0 > 0.95, "{apart}");
    }
}
