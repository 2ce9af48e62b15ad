//! Distributions of whole numbers in bounded memory: exact below 256, in 128 steps for each power of two above.

/// Values below this have a step of their own.
const EXACT: usize = 256;
/// Steps for each power of two above.
const STEPS: usize = 128;
/// Powers of two that have values: zero, and one for each bit.
const POWERS: usize = 65;

/// How many values, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Step {
    count: u64,
    sum: u128,
}

/// A distribution of whole numbers: count, sum, least and greatest are exact, percentiles within 0.8 %.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    count: u64,
    sum: u128,
    min: Option<u64>,
    max: u64,
    steps: Vec<Step>,
}

/// Which step a value belongs to.
fn step_of(value: u64) -> usize {
    if value < EXACT as u64 {
        return usize::try_from(value).unwrap_or(0);
    }
    let power = value.ilog2();
    let within = (value >> (power - 7)) & (STEPS as u64 - 1);
    EXACT + (power as usize - 8) * STEPS + usize::try_from(within).unwrap_or(0)
}

impl Distribution {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        let at = step_of(value);
        if self.steps.len() <= at {
            self.steps.resize(at + 1, Step::default());
        }
        if let Some(step) = self.steps.get_mut(at) {
            step.count += 1;
            step.sum += u128::from(value);
        }
        self.count += 1;
        self.sum += u128::from(value);
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = self.max.max(value);
    }

    /// Adds all values of another one.
    pub fn merge(&mut self, other: &Self) {
        if self.steps.len() < other.steps.len() {
            self.steps.resize(other.steps.len(), Step::default());
        }
        for (own, step) in self.steps.iter_mut().zip(&other.steps) {
            own.count += step.count;
            own.sum += step.sum;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.into_iter().chain(other.min).min();
        self.max = self.max.max(other.max);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the values.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The least value, if there is any.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.min
    }

    /// The greatest value, if there is any.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.min.map(|_| self.max)
    }

    /// The mean, if there are values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The value that `share` (0 to 1) of the values do not exceed, within 0.8 %; exact below 256.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<u64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the count")]
        let rank = ((share.clamp(0.0, 1.0) * self.count as f64 - 1e-6).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let step = self.steps.iter().find(|step| {
            seen += step.count;
            seen >= rank
        })?;
        u64::try_from(step.sum / u128::from(step.count.max(1))).ok()
    }

    /// Steps with values, the least first: how many, and their mean.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let steps = self.steps.iter().filter(|step| step.count > 0);
        steps.map(|step| (step.count as f64, step.sum as f64 / step.count as f64))
    }

    /// By power of two: the first value of each (0, 1, 2, 4, …), how many values, and their sum; powers without values left out.
    #[must_use]
    pub fn by_power(&self) -> Vec<(u64, u64, u128)> {
        let mut powers = [(0_u64, 0_u128); POWERS];
        for (at, step) in self.steps.iter().enumerate() {
            let first = if at < EXACT { at as u64 } else { (EXACT as u64) << ((at - EXACT) / STEPS) };
            let power = first.checked_ilog2().map_or(0, |power| power as usize + 1);
            if let Some((count, sum)) = powers.get_mut(power) {
                *count += step.count;
                *sum += step.sum;
            }
        }
        let first = |power: usize| if power == 0 { 0 } else { 1 << (power - 1) };
        let all = powers.into_iter().enumerate().filter(|(_, (count, _))| *count > 0);
        all.map(|(power, (count, sum))| (first(power), count, sum)).collect()
    }

    /// Means of parts of the values with these weights, the least values first; 0 for a part without weight. The mean of all parts
    /// is that of all values.
    #[must_use]
    pub fn parts(&self, weights: &[f64]) -> Vec<f64> {
        let all: f64 = weights.iter().sum();
        let mut steps = self.steps();
        let (mut left, mut mean) = (0.0, 0.0);
        let mut part = |weight: &f64| {
            let wanted = weight * self.count as f64 / all;
            let (mut missing, mut sum) = (wanted, 0.0);
            while missing > 0.0 {
                if left <= 0.0 {
                    // The last value stands for what rounding left.
                    (left, mean) = steps.next().unwrap_or((f64::INFINITY, mean));
                }
                let take = f64::min(missing, left);
                if take >= wanted {
                    // All of one step have exactly its mean.
                    left -= take;
                    return mean;
                }
                left -= take;
                missing -= take;
                sum += take * mean;
            }
            if wanted > 0.0 { sum / wanted } else { 0.0 }
        };
        weights.iter().map(&mut part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn figures_are_those_of_the_sorted_values(mut values in prop::collection::vec(prop_oneof![0_u64..300, any::<u64>()], 1..300)) {
            let (mut whole, mut half) = (Distribution::default(), Distribution::default());
            for (at, value) in values.iter().enumerate() {
                if at % 2 == 0 { whole.add(*value) } else { half.add(*value) }
            }
            whole.merge(&half);
            values.sort_unstable();
            let count = values.len();
            prop_assert_eq!(whole.count(), count as u64);
            prop_assert_eq!(whole.sum(), values.iter().map(|value| u128::from(*value)).sum::<u128>());
            prop_assert_eq!((whole.min(), whole.max()), (values.first().copied(), values.last().copied()));
            for percent in [50_usize, 90, 99, 100] {
                let share = percent as f64 / 100.0;
                let rank = (percent * count).div_ceil(100).max(1);
                let (found, exact) = (whole.percentile(share).unwrap() as f64, values[rank - 1] as f64);
                prop_assert!((found - exact).abs() <= exact / 128.0 && (exact >= 256.0 || found == exact), "{} {}", found, exact);
            }
            for (first, of_power, sum) in whole.by_power() {
                let end = if first == 0 { 1 } else { u128::from(first) * 2 };
                let of = values.iter().filter(|value| (u128::from(first)..end).contains(&u128::from(**value)));
                prop_assert_eq!((of.clone().count() as u64, of.map(|value| u128::from(*value)).sum::<u128>()), (of_power, sum));
            }
            let parts = whole.parts(&[1.0; 100]);
            prop_assert_eq!(parts.len(), 100);
            prop_assert!(parts.is_sorted_by(|one, next| *one <= next * (1.0 + 1e-9)));
            let (mean, exact) = (parts.iter().sum::<f64>() / 100.0, whole.mean().unwrap());
            prop_assert!((mean - exact).abs() <= exact * 1e-6, "{} {}", mean, exact);
        }
    }

    #[test]
    fn without_values_there_are_no_figures() {
        let none = Distribution::default();
        assert_eq!((none.min(), none.max(), none.mean(), none.percentile(0.5)), (None, None, None, None));
        assert!(none.by_power().is_empty());
    }
}
