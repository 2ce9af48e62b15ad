//! The choice of sizes: at most 16, with whole percents that sum to 100.

use crate::Distribution;
use plan::{FilePlace, FileSizes, TreeShape};
use tree::TreeLayout;

/// The most sizes in a line.
pub(crate) const SIZES_MAX: usize = 16;
/// The parts of a whole, each of a percent.
const PARTS: usize = 100;
/// A further size must be worth so much, in squares of powers of two over all percents.
const SIZE_COST: f64 = 1e-6;
/// Above so many files the numbers of each size are what the percents say.
const COUNTED_MAX: u64 = 20_000_000;
/// The most that the greatest size is changed so that the bytes are right, as a factor.
const CHANGE_MAX: f64 = 2.0;

/// Sizes of files with their percents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeMix {
    /// `(bytes, percent)`, the smallest first; the percents sum to 100.
    pub parts: Vec<(u64, u32)>,
    /// Percent of the files that have a size within a factor of two.
    pub within_two: u32,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; sizes are no negative numbers")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

/// Cost of one size for the parts from one to another: squares of how many powers of two they are away from their mean.
fn cost(parts: &[f64]) -> f64 {
    let power = |bytes: f64| (bytes + 1.0).log2();
    let mean = power(parts.iter().sum::<f64>() / parts.len().max(1) as f64);
    parts.iter().map(|part| (power(*part) - mean).powi(2)).sum()
}

/// Ends of the groups of neighbours that cost least together.
fn groups(parts: &[f64]) -> Vec<usize> {
    let count = parts.len();
    let costs: Vec<Vec<f64>> =
        (0..count).map(|from| (from + 1..=count).map(|to| cost(&parts[from..to])).collect()).collect();
    // The least cost of the parts before `to` in so many groups, and where the last of these begins.
    let mut least = vec![vec![(f64::INFINITY, 0); count + 1]; SIZES_MAX + 1];
    least[0][0] = (0.0, 0);
    for used in 1..=SIZES_MAX {
        for to in 1..=count {
            let of = |from: usize| least[used - 1][from].0 + costs[from][to - from - 1] + SIZE_COST;
            let begin = (0..to).min_by(|one, other| of(*one).total_cmp(&of(*other))).unwrap_or(0);
            least[used][to] = (of(begin), begin);
        }
    }
    let cheapest = (1..=SIZES_MAX).min_by(|one, other| least[*one][count].0.total_cmp(&least[*other][count].0));
    let (mut used, mut to, mut ends) = (cheapest.unwrap_or(1), count, Vec::new());
    while used > 0 && to > 0 {
        ends.push(to);
        to = least[used][to].1;
        used -= 1;
    }
    ends.reverse();
    ends
}

impl SizeMix {
    /// Of these sizes: each percent of the files, by size, has the mean of its group, so that the bytes stay.
    #[must_use]
    pub fn of(sizes: &Distribution) -> Self {
        let percents = sizes.parts(PARTS);
        if percents.len() < PARTS {
            return Self { parts: vec![(0, 100)], within_two: 100 };
        }
        let (mut parts, mut from, mut near) = (Vec::<(u64, u32)>::new(), 0, 0);
        for to in groups(&percents) {
            let group = &percents[from..to];
            let size = whole(group.iter().sum::<f64>() / group.len() as f64);
            let is_near = |part: &&f64| **part <= 2.0 * size as f64 + 0.5 && size as f64 <= 2.0 * **part + 0.5;
            near += group.iter().filter(is_near).count();
            let percent = u32::try_from(group.len()).unwrap_or(0);
            match parts.last_mut() {
                Some((last, of_last)) if *last == size => *of_last += percent,
                _ => parts.push((size, percent)),
            }
            from = to;
        }
        Self { parts, within_two: u32::try_from(near).unwrap_or(0) }
    }

    /// As a plan has it.
    #[must_use]
    pub fn file_sizes(&self) -> FileSizes {
        match self.parts.as_slice() {
            [(size, _)] => FileSizes::Fixed(*size),
            parts => FileSizes::Mix(parts.iter().map(|(size, percent)| (*size, f64::from(*percent))).collect()),
        }
    }

    /// How many of so many files get each size: Vdbench chooses by chance, but always alike.
    fn numbers(&self, files: u64) -> Vec<u64> {
        let expected = || self.parts.iter().map(|(_, percent)| files * u64::from(*percent) / 100).collect();
        if files > COUNTED_MAX || self.parts.len() < 2 {
            return expected();
        }
        let marks = self.parts.iter().zip(0..).map(|((_, percent), mark)| (mark, f64::from(*percent))).collect();
        let shape = TreeShape {
            depth: 1,
            width: 1,
            files,
            place: FilePlace::Bottom,
            sizes: FileSizes::Mix(marks),
            total_bytes: None,
            working_set_bytes: None,
            shared: false,
        };
        let Ok(layout) = TreeLayout::new(&shape) else { return expected() };
        let mut numbers = vec![0; self.parts.len()];
        for file in 0..layout.files() {
            let mark = usize::try_from(layout.asked_bytes(file)).unwrap_or(0);
            numbers.get_mut(mark).into_iter().for_each(|number| *number += 1);
        }
        numbers
    }

    /// Bytes of so many files.
    #[must_use]
    pub fn bytes(&self, files: u64) -> u128 {
        let numbers = self.numbers(files).into_iter().map(u128::from);
        self.parts.iter().zip(numbers).map(|((size, _), number)| u128::from(*size) * number).sum()
    }

    /// Changes the greatest size so that so many files have so many bytes, as far as that is no more than twice or half.
    #[must_use]
    pub fn adjusted(mut self, files: u64, bytes: f64) -> Self {
        let numbers = self.numbers(files);
        let of_others = self.parts.iter().zip(&numbers).rev().skip(1);
        let others: f64 = of_others.map(|((size, _), number)| *size as f64 * *number as f64).sum();
        let below = self.parts.iter().rev().nth(1).map_or(0, |(size, _)| size + 1);
        let (Some((greatest, _)), Some(number)) = (self.parts.last_mut(), numbers.last().filter(|number| **number > 0))
        else {
            return self;
        };
        let is = *greatest as f64;
        let wanted = ((bytes - others) / *number as f64).clamp(is / CHANGE_MAX, is * CHANGE_MAX);
        *greatest = whole(wanted).max(below);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distribution(sizes: &[u64]) -> Distribution {
        let mut distribution = Distribution::default();
        sizes.iter().for_each(|size| distribution.add(*size));
        distribution
    }

    fn size() -> impl Strategy<Value = u64> {
        (0_u32..44, any::<u64>()).prop_map(|(power, bits)| (1 << power) - 1 + (bits & ((1 << power) - 1)))
    }

    proptest! {
        #[test]
        fn percents_sum_to_100_and_the_bytes_are_there(sizes in prop::collection::vec(size(), 1..400)) {
            let found = distribution(&sizes);
            let mix = SizeMix::of(&found);
            prop_assert!((1..=SIZES_MAX).contains(&mix.parts.len()));
            prop_assert_eq!(mix.parts.iter().map(|(_, percent)| percent).sum::<u32>(), 100);
            prop_assert!(mix.parts.iter().all(|(_, percent)| *percent > 0));
            prop_assert!(mix.parts.is_sorted_by(|one, next| one.0 < next.0), "{:?}", mix);
            // The mean size is that of the files, but for half a byte of rounding.
            let mean: f64 = mix.parts.iter().map(|(size, percent)| *size as f64 * f64::from(*percent) / 100.0).sum();
            let exact = found.mean().unwrap();
            prop_assert!((mean - exact).abs() <= 0.5 + exact * 1e-6, "{} {}", mean, exact);
        }

        #[test]
        fn the_bytes_of_many_files_are_met(sizes in prop::collection::vec(size(), 1..400), files in 2_000_u64..50_000) {
            let found = distribution(&sizes);
            let bytes = found.mean().unwrap() * files as f64;
            let mix = SizeMix::of(&found).adjusted(files, bytes);
            prop_assert!(mix.parts.is_sorted_by(|one, next| one.0 < next.0), "{:?}", mix);
            let made = mix.bytes(files) as f64;
            // Half a byte for each file, and what changing one size cannot make good: chance in the other sizes.
            prop_assert!((made - bytes).abs() <= files as f64 + bytes * 0.6, "{} {}", made, bytes);
            let layout = TreeLayout::new(&TreeShape {
                depth: 1, width: 1, files, place: FilePlace::Bottom, sizes: mix.file_sizes(),
                total_bytes: None, working_set_bytes: None, shared: false,
            }).unwrap();
            prop_assert_eq!(u128::from(layout.total_bytes()), mix.bytes(files), "as the load will make them");
        }
    }

    #[test]
    fn sizes_that_are_few_stay_exact() {
        let sizes: Vec<u64> = (0..200).map(|at| if at < 120 { 4096 } else { 1_000_003 }).collect();
        let mix = SizeMix::of(&distribution(&sizes));
        assert_eq!((mix.parts, mix.within_two), (vec![(4096, 60), (1_000_003, 40)], 100));
        assert_eq!(SizeMix::of(&distribution(&[])).parts, [(0, 100)]);
        assert_eq!(SizeMix::of(&distribution(&[0, 0])).parts, [(0, 100)]);
    }

    #[test]
    fn the_bytes_of_a_heavy_tail_are_met_within_a_percent() {
        // Most files small, most bytes in a few: the usual.
        let sizes: Vec<u64> = (0..20_000_u64).map(|at| 1000 + 40_000_000 / (at + 1)).collect();
        let found = distribution(&sizes);
        let mix = SizeMix::of(&found).adjusted(20_000, found.sum() as f64);
        let ratio = mix.bytes(20_000) as f64 / found.sum() as f64;
        assert!((0.99..1.01).contains(&ratio), "{ratio}: {mix:?}");
    }
}
