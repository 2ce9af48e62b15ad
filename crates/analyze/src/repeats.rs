//! The same run several times: means, how sure they are, and whether two of them differ.

use crate::{RunFacts, RunSummary};

/// The repetitions of one run.
#[derive(Clone, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) runs: Vec<(&'a RunFacts, RunSummary)>,
}

/// A mean over repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean.
    pub mean: f64,
    /// Half of the 95 % confidence interval (Student's t over the repetitions); `None` for a single one.
    pub half: Option<f64>,
    /// Standard deviation; 0 for a single one.
    deviation: f64,
    /// Repetitions.
    pub count: usize,
}

/// Runs that measured something, the repetitions of each together, in the order of the first.
pub(crate) fn groups<'a>(all: Vec<(&'a RunFacts, RunSummary)>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut places: std::collections::HashMap<(String, String), usize> = std::collections::HashMap::new();
    for (run, summary) in all {
        let place = *places.entry((run.base_title().to_string(), run.detail.clone())).or_insert_with(|| {
            groups.push(Group { runs: Vec::new() });
            groups.len() - 1
        });
        groups[place].runs.push((run, summary));
    }
    groups
}

impl Group<'_> {
    /// The first of the repetitions.
    pub(crate) fn first(&self) -> &RunFacts {
        self.runs[0].0
    }

    /// Title and loop variables.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.first().base_title(), self.first().detail).trim_end().to_string()
    }

    /// A figure over the repetitions; `None` when one of them lacks it.
    pub(crate) fn estimate(&self, of: impl Fn(&RunSummary) -> Option<f64>) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self.runs.iter().map(|(_, summary)| of(summary)).collect();
        Estimate::of(&values?)
    }
}

impl Estimate {
    /// Of values; `None` when there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        let half = (count > 1).then(|| student_95((count - 1) as f64) * deviation / (count as f64).sqrt());
        Some(Self { mean, half, deviation, count })
    }

    /// Smallest and greatest value of the confidence interval.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        self.half.map(|half| (self.mean - half, self.mean + half))
    }

    /// Half of the confidence interval as a part of the mean.
    pub fn relative(&self) -> Option<f64> {
        self.half.filter(|_| self.mean != 0.0).map(|half| half / self.mean.abs())
    }

    /// Do two means differ, at 95 % confidence (Welch's t-test)? `None` when one is a single value.
    pub fn differs_from(&self, other: &Self) -> Option<bool> {
        if self.count < 2 || other.count < 2 {
            return None;
        }
        let part = |of: &Self| of.deviation.powi(2) / of.count as f64;
        let (a, b) = (part(self), part(other));
        let difference = (self.mean - other.mean).abs();
        if a + b == 0.0 {
            return Some(difference > 0.0);
        }
        // Welch–Satterthwaite.
        let freedom = (a + b).powi(2) / (a.powi(2) / (self.count - 1) as f64 + b.powi(2) / (other.count - 1) as f64);
        Some(difference > student_95(freedom) * (a + b).sqrt())
    }
}

/// The two-sided 95 % quantile of Student's t with so many degrees of freedom (rounded down, which errs towards noise).
pub(crate) fn student_95(freedom: f64) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ];
    let whole = freedom.floor().max(1.0);
    let place = (0..TABLE.len()).find(|place| (*place + 1) as f64 >= whole);
    // Cornish–Fisher expansion around the normal quantile.
    place.map_or_else(|| 1.96 + 2.372 / whole + 2.82 / whole.powi(2), |place| TABLE[place])
}

#[cfg(test)]
mod tests {
    use super::{Estimate, student_95};

    #[test]
    fn a_known_sample() {
        let estimate = Estimate::of(&[10.0, 12.0, 14.0]).unwrap();
        assert_eq!((estimate.mean, estimate.count), (12.0, 3));
        assert!((estimate.half.unwrap() - 4.303 * 2.0 / 3.0_f64.sqrt()).abs() < 1e-9, "{estimate:?}");
        assert_eq!(Estimate::of(&[5.0]).unwrap().half, None);
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn quantiles_fall_to_the_normal_one_without_a_step() {
        for freedom in 1..200 {
            let (here, next) = (student_95(f64::from(freedom)), student_95(f64::from(freedom + 1)));
            assert!(here > next && next > 1.96, "{freedom}: {here} {next}");
        }
        assert!((student_95(40.0) - 2.021).abs() < 0.001 && (student_95(120.0) - 1.980).abs() < 0.001);
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
    fn nineteen_of_twenty_intervals_hold_the_truth_and_noise_is_called_noise() {
        let mut state = 7;
        let (mut inside, mut alike, mut told_apart) = (0, 0, 0);
        const ROUNDS: i32 = 4000;
        for _ in 0..ROUNDS {
            let sample: Vec<f64> = (0..5).map(|_| draw(&mut state)).collect();
            let other: Vec<f64> = (0..5).map(|_| draw(&mut state)).collect();
            let far: Vec<f64> = other.iter().map(|value| value + 4.0).collect();
            let of = |values: &[f64]| Estimate::of(values).unwrap();
            let (low, high) = of(&sample).bounds().unwrap();
            inside += i32::from(low <= 6.0 && 6.0 <= high);
            alike += i32::from(of(&sample).differs_from(&of(&other)) == Some(false));
            told_apart += i32::from(of(&sample).differs_from(&of(&far)) == Some(true));
        }
        let share = |count: i32| f64::from(count) / f64::from(ROUNDS);
        assert!((0.935..0.965).contains(&share(inside)), "{}", share(inside));
        assert!((0.935..0.985).contains(&share(alike)), "{}", share(alike));
        assert!(share(told_apart) > 0.98, "{}", share(told_apart));
    }
}
