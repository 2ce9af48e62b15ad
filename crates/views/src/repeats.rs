//! The same run several times: means, and how sure they are.

use crate::student::student_95;
use crate::{RunFacts, RunSummary};

/// The repetitions of one run.
#[derive(Clone, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) runs: Vec<(&'a RunFacts, RunSummary)>,
}

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

    /// A figure of each of the repetitions; `None` when one of them lacks it.
    pub(crate) fn values(&self, of: impl Fn(&RunSummary) -> Option<f64>) -> Option<Vec<f64>> {
        self.runs.iter().map(|(_, summary)| of(summary)).collect()
    }

    /// A figure over the repetitions; `None` when one of them lacks it.
    pub(crate) fn estimate(&self, of: impl Fn(&RunSummary) -> Option<f64>) -> Option<RepeatEstimate> {
        RepeatEstimate::of(&self.values(of)?)
    }
}

impl RepeatEstimate {
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
        Some(Self { mean, half, count })
    }

    /// Smallest and greatest value of the confidence interval.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        self.half.map(|half| (self.mean - half, self.mean + half))
    }

    /// Half of the confidence interval as a part of the mean.
    pub fn relative(&self) -> Option<f64> {
        self.half.filter(|_| self.mean != 0.0).map(|half| half / self.mean.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::RepeatEstimate;

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
}
