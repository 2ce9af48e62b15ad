//! The choice of sizes: at most 16, with whole percents that sum to 100.

use crate::Distribution;
use plan::{FileSizes, TreeShape};
use tree::TreeLayout;

/// The most sizes in a line.
const SIZES_MAX: usize = 16;
/// The parts of a whole, each of a percent.
const PARTS: usize = 100;
/// A further size must be worth so much, in squares of powers of two over all percents.
const SIZE_COST: f64 = 1e-6;
/// The least size that the language has: empty files get it.
const SIZE_MIN: u64 = 1;
/// Above so many files the numbers of each size are what the percents say.
const COUNTED_MAX: u64 = 20_000_000;

/// Sizes of files with their percents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeMix {
    /// `(bytes, percent)`, the smallest first; the percents sum to 100.
    pub parts: Vec<(u64, u32)>,
    /// How many files get each of these.
    numbers: Vec<u64>,
}

/// How many of so many files stand in each percent: Vdbench chooses by chance, but always alike. `None`: too many to count, or none.
fn numbers(files: u64) -> Option<Vec<u64>> {
    if !(1..=COUNTED_MAX).contains(&files) {
        return None;
    }
    let sizes = FileSizes::Mix((0..PARTS as u64).map(|percent| (percent, 1.0)).collect());
    let shape = TreeShape { sizes, ..TreeShape::regular(1, 1, files, 0) };
    let layout = TreeLayout::new(&shape).ok()?;
    let mut numbers = vec![0; PARTS];
    for file in 0..layout.files() {
        let percent = usize::try_from(layout.asked_bytes(file)).unwrap_or(0);
        numbers.get_mut(percent).into_iter().for_each(|number| *number += 1);
    }
    Some(numbers)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; sizes are no negative numbers")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

/// Some of the files: how many, and their mean size.
type Part = (f64, f64);

/// All of them together.
fn together(parts: &[Part]) -> Part {
    let count: f64 = parts.iter().map(|(count, _)| count).sum();
    let bytes: f64 = parts.iter().map(|(count, mean)| count * mean).sum();
    // All of one size have exactly that.
    match parts.iter().find(|(count, _)| *count > 0.0) {
        Some((_, first)) if parts.iter().all(|(count, mean)| *count == 0.0 || mean == first) => (count, *first),
        Some(_) => (count, bytes / count),
        None => (0.0, 0.0),
    }
}

/// Cost of one size for these: squares of how many powers of two they are away from their mean.
fn cost(parts: &[Part]) -> f64 {
    let power = |bytes: f64| (bytes + 1.0).log2();
    let (_, mean) = together(parts);
    parts.iter().map(|(count, part)| count * (power(*part) - power(mean)).powi(2)).sum()
}

/// Ends of the groups of neighbours that cost least together.
fn groups(parts: &[Part]) -> Vec<usize> {
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
    /// Of these sizes for so many files, which need not be as many: the smallest of them get the smallest sizes, each group the mean
    /// of its own, so that the mean of all stays.
    #[must_use]
    pub fn of(sizes: &Distribution, files: u64) -> Self {
        if sizes.count() == 0 {
            return Self { parts: vec![(SIZE_MIN, 100)], numbers: vec![files] };
        }
        let counted = numbers(files);
        let weights: Vec<f64> = match &counted {
            Some(numbers) => numbers.iter().map(|number| *number as f64 * PARTS as f64 / files as f64).collect(),
            None => vec![1.0; PARTS],
        };
        let percents: Vec<Part> = weights.iter().copied().zip(sizes.parts(&weights)).collect();
        let (mut parts, mut of_parts, mut from) = (Vec::<(u64, u32)>::new(), Vec::<u64>::new(), 0);
        for to in groups(&percents) {
            let size = whole(together(&percents[from..to]).1).max(SIZE_MIN);
            let percent = u32::try_from(to - from).unwrap_or(0);
            let number = match &counted {
                Some(numbers) => numbers[from..to].iter().sum(),
                None => files / PARTS as u64 * u64::from(percent),
            };
            from = to;
            match (parts.last_mut(), of_parts.last_mut()) {
                (Some((last, of_last)), Some(number_of_last)) if *last == size => {
                    *of_last += percent;
                    *number_of_last += number;
                }
                _ => {
                    parts.push((size, percent));
                    of_parts.push(number);
                }
            }
        }
        Self { parts, numbers: of_parts }
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u128 {
        let numbers = self.numbers.iter().copied().map(u128::from);
        self.parts.iter().zip(numbers).map(|((size, _), number)| u128::from(*size) * number).sum()
    }

    /// Percent of the files that get a size within a factor of two of their own, when the smallest get the smallest; `None`
    /// without files.
    #[must_use]
    pub fn within_two(&self, sizes: &Distribution) -> Option<f64> {
        let all = sizes.count() as f64;
        let (mut from, mut end, mut near) = (0.0, 0.0, 0.0);
        let made = self.numbers.iter().sum::<u64>().max(1) as f64;
        let mut parts = self.parts.iter().zip(&self.numbers);
        let mut size = 0.0;
        for (count, mean) in sizes.steps() {
            let mut left = count;
            while left > 0.0 {
                if end - from <= 1e-9 * all {
                    // What rounding left is nothing.
                    let Some(((next, _), number)) = parts.next() else { break };
                    size = *next as f64;
                    end += *number as f64 / made * all;
                    continue;
                }
                let take = f64::min(left, end - from);
                let is_near = mean <= 2.0 * size + 0.5 && size <= 2.0 * mean + 0.5;
                near += if is_near { take } else { 0.0 };
                from += take;
                left -= take;
            }
        }
        (all > 0.0).then(|| 100.0 * near / all)
    }

    /// As a plan has it.
    #[must_use]
    pub fn file_sizes(&self) -> FileSizes {
        match self.parts.as_slice() {
            [(size, _)] => FileSizes::Fixed(*size),
            parts => FileSizes::Mix(parts.iter().map(|(size, percent)| (*size, f64::from(*percent))).collect()),
        }
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
        fn percents_sum_to_100_and_the_bytes_are_there(sizes in prop::collection::vec(size(), 1..400), files in 1_u64..20_000) {
            let found = distribution(&sizes);
            let mix = SizeMix::of(&found, files);
            prop_assert!((1..=SIZES_MAX).contains(&mix.parts.len()));
            prop_assert_eq!(mix.parts.iter().map(|(_, percent)| percent).sum::<u32>(), 100);
            prop_assert!(mix.parts.iter().all(|(size, percent)| *size > 0 && *percent > 0));
            prop_assert!(mix.parts.is_sorted_by(|one, next| one.0 < next.0), "{:?}", mix);
            // However few files: half a byte of rounding for each, a whole one where they are empty.
            let (made, asked) = (mix.bytes() as f64, found.mean().unwrap() * files as f64);
            let rounding = if sizes.contains(&0) { 1.0 } else { 0.5 };
            prop_assert!((made - asked).abs() <= rounding * files as f64 + asked * 1e-6, "{} {}", made, asked);
            let layout = TreeLayout::new(&TreeShape {
                sizes: mix.file_sizes(), ..TreeShape::regular(1, 1, files, 0)
            }).unwrap();
            prop_assert_eq!(u128::from(layout.total_bytes()), mix.bytes(), "as the load will make them");
            let near = mix.within_two(&found).unwrap();
            prop_assert!((0.0..=100.000_001).contains(&near), "{}", near);
        }
    }

    #[test]
    fn sizes_that_are_few_stay_exact() {
        let sizes: Vec<u64> = (0..200).map(|at| if at < 120 { 4096 } else { 1_000_003 }).collect();
        let found = distribution(&sizes);
        let mix = SizeMix::of(&found, 1_000_000);
        let of = |size: u64| mix.parts.iter().find(|part| part.0 == size).map_or(0, |part| part.1);
        // Where the percent with the border is is chance: files of two sizes are in it, or all are of one.
        assert!((59..=61).contains(&of(4096)) && (39..=41).contains(&of(1_000_003)), "{mix:?}");
        assert!(mix.within_two(&found).unwrap() > 98.0, "{mix:?}");
        assert_eq!(SizeMix::of(&distribution(&[4096, 4096]), 7).parts, [(4096, 100)]);
        let one = SizeMix { parts: vec![(4000, 100)], numbers: vec![10] };
        assert_eq!(one.within_two(&found).map(f64::round), Some(60.0));
        assert_eq!(one.within_two(&distribution(&[])), None);
        assert_eq!(SizeMix::of(&distribution(&[]), 1).parts, [(1, 100)]);
        assert_eq!(SizeMix::of(&distribution(&[0, 0]), 1).parts, [(1, 100)]);
        let many = SizeMix::of(&found, u64::from(u32::MAX));
        assert_eq!(many.parts, [(4096, 60), (1_000_003, 40)]);
    }
}
