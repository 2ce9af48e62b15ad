//! The asked sizes of files, chosen as Vdbench chooses them, from the first file to the last.

use crate::JavaRandom;
use plan::FileSizes;

/// The asked size of every file by its number; one or four bytes for a file where sizes differ.
#[derive(Debug)]
pub(crate) enum AskedSizes {
    Fixed(u64),
    /// Sizes, and which of them each file has.
    Mix(Vec<u64>, Vec<u8>),
    /// In units of KiB, which Vdbench rounds to.
    KiB(Vec<u32>),
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

impl AskedSizes {
    pub(crate) fn new(sizes: &FileSizes, files: u32) -> Self {
        // Vdbench's seed.
        let mut random = JavaRandom::new(0);
        match sizes {
            FileSizes::Fixed(bytes) => Self::Fixed(*bytes),
            FileSizes::Mix(mix) => {
                let which = (0..files).map(|_| choose(mix, random.below(100))).collect();
                Self::Mix(mix.iter().map(|(bytes, _)| *bytes).collect(), which)
            }
            // Those of a listed tree are in its layout.
            FileSizes::Listed(_) => Self::Fixed(0),
            FileSizes::Around(mean) => Self::KiB((0..files).map(|_| around(*mean, &mut random)).collect()),
        }
    }

    pub(crate) fn of(&self, file: u32) -> u64 {
        let at = file as usize;
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Mix(sizes, which) => which.get(at).and_then(|which| sizes.get(*which as usize)).copied().unwrap_or(0),
            Self::KiB(sizes) => u64::from(sizes.get(at).copied().unwrap_or(0)) * KIB,
        }
    }
}

/// Which size a number from 0 to 99 stands for; Vdbench cuts each sum of percentages to a whole number.
fn choose(mix: &[(u64, f64)], percent: u32) -> u8 {
    let mut sum = 0_i64;
    let is_met = |(_, share): &(u64, f64)| {
        sum = whole(sum as f64 + share);
        i64::from(percent) < sum
    };
    let at = mix.iter().position(is_met).unwrap_or(mix.len().saturating_sub(1));
    u8::try_from(at).unwrap_or(u8::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "a sum of percentages")]
fn whole(number: f64) -> i64 {
    number as i64
}

/// A size in KiB by Vdbench's rule: half up to one and a half of `mean`, rounded to a unit that depends on it.
fn around(mean: u64, random: &mut JavaRandom) -> u32 {
    let wanted = mean.clamp(1, (1 << 31) - 1);
    let result = u64::from(random.below(u32::try_from(wanted).unwrap_or(1))) + wanted / 2;
    let unit = if result >= 10 * MIB {
        MIB
    } else if wanted >= MIB {
        100 * KIB
    } else if wanted >= 100 * KIB {
        10 * KIB
    } else {
        KIB
    };
    // Java divides in single precision and rounds half up.
    u32::try_from(rounded(result as f32 / unit as f32) * (unit / KIB)).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, below 2³¹")]
fn rounded(number: f32) -> u64 {
    (f64::from(number) + 0.5).floor() as u64
}
