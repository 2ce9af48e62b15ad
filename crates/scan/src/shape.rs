//! The choice of depth, width and files: the tree of one `fsd=` that is most alike.

use crate::Measured;
use plan::FilePlace;

/// The most files in one directory that Vdbench takes.
const FILES_MAX: u64 = 10_000_000;
/// The most directories, and the most files, that a tree may have.
const MOST: u64 = u32::MAX as u64;
/// Deeper trees than this are not tried.
const DEPTH_MAX: u32 = 128;
/// How much a level counts that files are too high or too low: as much as so much error in the number of files.
const LEVEL_WEIGHT: f64 = 0.05;
/// Widths that are tried on each side of the one with the right number of directories.
const WIDTHS: u64 = 100;

/// Depth, width, files and distribution of an `fsd=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeChoice {
    /// Levels of directories, at least 1.
    pub depth: u32,
    /// Directories in each directory above the last level, at least 1.
    pub width: u32,
    /// Files in each directory that has files, at least 1.
    pub files: u64,
    /// Which directories have files.
    pub place: FilePlace,
}

/// Directories in all levels, in the last one, and the mean level; `None` where there are too many.
fn directories(depth: u32, width: u64) -> Option<(u64, u64, f64)> {
    let (mut all, mut last, mut levels) = (0_u64, 1_u64, 0.0);
    for level in 1..=depth {
        last = last.checked_mul(width)?;
        all = all.checked_add(last).filter(|all| *all <= MOST)?;
        levels += f64::from(level) * last as f64;
    }
    Some((all, last, levels / all as f64))
}

/// The greatest width with at most so many directories.
fn width_for(depth: u32, wanted: u64) -> u64 {
    let (mut low, mut high) = (1, wanted.max(1));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match directories(depth, middle) {
            Some((all, ..)) if all <= wanted => low = middle,
            _ => high = middle - 1,
        }
    }
    low
}

impl TreeChoice {
    /// The choice for what was measured: the numbers of directories and files count most, then how deep the files are.
    #[must_use]
    pub fn of(measured: &Measured) -> Self {
        Self::nearest(measured.directories, measured.files, measured.mean_level(), measured.depth())
    }

    /// The choice for so many directories and files, the files in directories of this mean level, at most `deepest` levels.
    #[must_use]
    pub fn nearest(directories_wanted: u64, files_wanted: u64, level: f64, deepest: usize) -> Self {
        let mut best = (f64::INFINITY, Self { depth: 1, width: 1, files: 1, place: FilePlace::Bottom });
        let deepest = u32::try_from(deepest).unwrap_or(u32::MAX).clamp(1, DEPTH_MAX);
        let wanted = directories_wanted.clamp(1, MOST);
        for depth in 1..=deepest {
            let width = width_for(depth, wanted);
            let (step, reach) = ((width / 300).max(1), WIDTHS.min(width));
            for width in (width.saturating_sub(reach * step).max(1)..=width + reach * step).step_by(step_of(step)) {
                try_width((depth, width), (wanted, files_wanted, level), &mut best);
            }
            for width in [width, width + 1] {
                try_width((depth, width), (wanted, files_wanted, level), &mut best);
            }
        }
        best.1
    }

    /// Its directories, its files and the mean level of the directories that have files.
    #[must_use]
    pub fn counts(&self) -> (u64, u64, f64) {
        let (all, last, mean) = directories(self.depth, u64::from(self.width)).unwrap_or((MOST, MOST, 0.0));
        match self.place {
            FilePlace::Bottom => (all, last.saturating_mul(self.files), f64::from(self.depth)),
            FilePlace::All => (all, all.saturating_mul(self.files), mean),
        }
    }
}

fn step_of(step: u64) -> usize {
    usize::try_from(step).unwrap_or(usize::MAX)
}

/// Tries both distributions of files, and the numbers of files next to the right one.
fn try_width((depth, width): (u32, u64), wanted: (u64, u64, f64), best: &mut (f64, TreeChoice)) {
    let (directories_wanted, files_wanted, level) = wanted;
    let Some((all, last, _)) = directories(depth, width) else { return };
    let Ok(width) = u32::try_from(width) else { return };
    for (place, holders) in [(FilePlace::Bottom, last), (FilePlace::All, all)] {
        let each = files_wanted / holders.max(1);
        let most = FILES_MAX.min(MOST / holders.max(1)).max(1);
        for files in [each, each.saturating_add(1)] {
            let choice = TreeChoice { depth, width, files: files.clamp(1, most), place };
            let (_, made, mean) = choice.counts();
            if made > MOST {
                continue;
            }
            let error = |made: u64, wanted: u64| (made as f64 / wanted.max(1) as f64).ln().abs();
            let of_files = if files_wanted == 0 { 0.0 } else { error(made, files_wanted) };
            let score = error(all, directories_wanted) + of_files + LEVEL_WEIGHT * (mean - level).abs();
            if score + 1e-12 < best.0 {
                *best = (score, choice);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tree_of_vdbench_is_found_again(depth in 1_u32..6, width in 1_u32..12, files in 1_u64..200, all in any::<bool>()) {
            let place = if all { FilePlace::All } else { FilePlace::Bottom };
            let asked = TreeChoice { depth, width, files, place };
            let (directories, made, level) = asked.counts();
            let found = TreeChoice::nearest(directories, made, level, depth as usize);
            prop_assert_eq!(found.counts(), asked.counts());
            // One level: both distributions are the same.
            prop_assert!(found == asked || depth == 1 && (found.width, found.files) == (width, files), "{:?}", found);
        }

        #[test]
        fn any_tree_has_a_choice_that_is_near(directories in 1_u64..1_000_000, each in 1_u64..100, level in 0.0_f64..12.0) {
            let files = directories * each;
            let choice = TreeChoice::nearest(directories, files, level, 12);
            let (made_directories, made_files, _) = choice.counts();
            // One level of as many directories is exact in both, and a level counts 0.05.
            let error = |made: u64, asked: u64| (made as f64 / asked as f64).ln().abs();
            let errors = error(made_directories, directories) + error(made_files, files);
            prop_assert!(errors <= LEVEL_WEIGHT * (level - 1.0).abs() + 1e-9, "{:?}: {}", choice, errors);
        }
    }

    #[test]
    fn what_no_tree_has_is_as_near_as_there_is() {
        let none = TreeChoice::nearest(0, 0, 0.0, 0);
        assert_eq!(none, TreeChoice { depth: 1, width: 1, files: 1, place: FilePlace::Bottom });
        let huge = TreeChoice::nearest(u64::MAX, u64::MAX, 3.0, usize::MAX);
        assert!(huge.counts().0 <= MOST && huge.counts().1 <= MOST, "{huge:?}");
        let chain = TreeChoice::nearest(100, 100, 100.0, 100);
        assert_eq!((chain.depth, chain.width, chain.files), (100, 1, 100));
    }
}
