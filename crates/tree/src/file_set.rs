//! Subsets of the files of a tree, chosen as Vdbench chooses them: a tree that one has made is used by the other.

use crate::{JavaRandom, TreeLayout};

/// So many draws of files that are in already, one behind the other, and Vdbench gives up; here the next file that is not in follows.
const MOST_REPEATS: u32 = 100_000;

/// Some files of a tree, in ascending order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSet {
    /// All: so many.
    All(u32),
    /// These.
    Some(Vec<u32>),
}

impl FileSet {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        match self {
            Self::All(count) => *count,
            Self::Some(files) => u32::try_from(files.len()).unwrap_or(u32::MAX),
        }
    }

    /// Are there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number in the tree of the file at this position, from 0; the last one's for positions behind the end.
    #[must_use]
    pub fn get(&self, at: u32) -> u32 {
        match self {
            Self::All(count) => at.min(count.saturating_sub(1)),
            Self::Some(files) => files.get(at as usize).or(files.last()).copied().unwrap_or(0),
        }
    }

    /// Is the file with this number among them?
    #[must_use]
    pub fn contains(&self, file: u32) -> bool {
        match self {
            Self::All(count) => file < *count,
            Self::Some(files) => files.binary_search(&file).is_ok(),
        }
    }

    /// Their numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).map(|at| self.get(at))
    }

    /// How large they are to be together.
    #[must_use]
    pub fn asked_bytes(&self, layout: &TreeLayout) -> u64 {
        match self {
            Self::All(count) if *count == layout.files() => layout.total_bytes(),
            _ => self.iter().map(|file| layout.asked_bytes(file)).fold(0, u64::saturating_add),
        }
    }

    /// As many of these by chance, with Vdbench's seed, as have `bytes` together, or all when they have fewer.
    pub(crate) fn subset(&self, layout: &TreeLayout, bytes: u64) -> Self {
        let (mut random, mut sum, mut repeats, mut left) = (JavaRandom::new(0), 0_u64, 0, self.len());
        let mut is_in = vec![false; self.len() as usize];
        while sum < bytes && left > 0 {
            let mut at = position(random.unit(), self.len());
            if is_in[at as usize] {
                repeats += 1;
                if repeats <= MOST_REPEATS {
                    continue;
                }
                let next = is_in.iter().enumerate().cycle().skip(at as usize).find(|(_, is_in)| !**is_in);
                at = next.map_or(at, |(at, _)| u32::try_from(at).unwrap_or(0));
            }
            is_in[at as usize] = true;
            (repeats, left) = (0, left - 1);
            sum = sum.saturating_add(layout.asked_bytes(self.get(at)));
        }
        if left == 0 {
            return self.clone();
        }
        let chosen = (0..self.len()).zip(is_in).filter(|(_, is_in)| *is_in);
        Self::Some(chosen.map(|(at, _)| self.get(at)).collect())
    }
}

/// `(int) (unit * count)`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to below `count`")]
fn position(unit: f64, count: u32) -> u32 {
    ((unit * f64::from(count)) as u32).min(count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::TreeShape;

    fn layout(files: u64) -> TreeLayout {
        TreeLayout::new(&TreeShape::regular(1, 1, files, 1000)).unwrap()
    }

    #[test]
    fn a_subset_has_the_files_that_java_draws_in_ascending_order() {
        // `new Random(0)`.nextDouble(): 0.730967787376657, 0.24053641567148587, 0.6374174253501083, 0.5504370051176339.
        let (layout, all) = (layout(100), FileSet::All(100));
        assert_eq!(all.subset(&layout, 4000), FileSet::Some(vec![24, 55, 63, 73]));
        assert_eq!(all.subset(&layout, 3001), FileSet::Some(vec![24, 55, 63, 73]));
        assert_eq!(all.subset(&layout, 1), FileSet::Some(vec![73]));
        // Of a subset, positions in it are drawn.
        let part = FileSet::Some((50..100).collect());
        assert_eq!(part.subset(&layout, 2000), FileSet::Some(vec![62, 86]));
    }

    #[test]
    fn a_subset_of_all_bytes_is_the_whole_and_ends() {
        let (layout, all) = (layout(30_000), FileSet::All(30_000));
        assert_eq!(all.subset(&layout, u64::MAX), all);
        let most = all.subset(&layout, 29_999_000);
        assert_eq!(most.len(), 29_999);
        assert_eq!(most.asked_bytes(&layout), 29_999_000);
        assert_eq!(FileSet::Some(vec![3, 5]).get(1), 5);
        assert!(FileSet::Some(vec![3, 5]).contains(5) && !FileSet::Some(vec![3, 5]).contains(4));
        assert!(all.contains(29_999) && !all.contains(30_000));
    }
}
