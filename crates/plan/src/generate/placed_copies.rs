//! Copies of which every block can say by its place and its version whether it is one, and of what.

use super::dedup::sets_of;
use super::rng::{GOLDEN, derive, scatter, threshold};
use super::{GenerateError, WriteVolume};
use crate::spec::DedupContent;

/// Which blocks of validated data are copies. Unlike the content of other loads, which is chosen write by write, this follows from
/// where a block is and which of its writes it is, so that a reader knows what must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedCopies {
    unit_bytes: u64,
    /// Copies are blocks whose chance is below this.
    copied: u64,
    count: u64,
    choice: u64,
}

impl PlacedCopies {
    /// The copies of a target. Copies of what was written before them (`DedupSets::Previous`) become copies of sets, as many as
    /// the ratio allows and at most one in twenty units: what a copy is of must not depend on the order of writes.
    ///
    /// # Errors
    /// As for [`ContentGenerator`](super::ContentGenerator::new).
    pub fn new(dedup: &DedupContent, volume: &WriteVolume) -> Result<Self, GenerateError> {
        let (count, copied) = sets_of(dedup, volume)?;
        let choice = derive(volume.seed, 0x706c_6163);
        Ok(Self { unit_bytes: dedup.unit_bytes, copied: threshold(copied), count, choice })
    }

    /// Bytes of what is equal.
    #[must_use]
    pub fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    /// How many different copies there are.
    #[must_use]
    pub fn sets(&self) -> u64 {
        self.count
    }

    /// Of which set the block at `address` is a copy, as its write number `version`; `None`: it is alone. Blocks that are smaller than
    /// a unit are what all of their unit is, whatever their version.
    #[inline]
    #[must_use]
    pub fn set_of(&self, address: u64, block_bytes: u64, version: u16) -> Option<u64> {
        let version = if block_bytes < self.unit_bytes { 0 } else { u64::from(version) };
        let unit = address / self.unit_bytes;
        let chance = scatter(self.choice ^ unit.wrapping_mul(GOLDEN) ^ version.rotate_left(40));
        if chance >= self.copied {
            return None;
        }
        let set = (u128::from(derive(self.choice, chance)) * u128::from(self.count)) >> 64;
        u64::try_from(set).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::DedupSets;
    use std::collections::BTreeSet;

    fn copies(ratio: f64, sets: DedupSets) -> PlacedCopies {
        let dedup = DedupContent { ratio, unit_bytes: 4096, sets, across: false };
        PlacedCopies::new(&dedup, &WriteVolume::alone(7, 4096 * 100_000)).unwrap()
    }

    #[test]
    fn the_ratio_is_kept_and_every_version_chooses_anew() {
        let working = DedupSets::WorkingSet { pages: 500, job: 0, jobs: 1 };
        for (ratio, sets) in [
            (2.0, DedupSets::Fraction(0.05)),
            (1.3, DedupSets::Count(10)),
            (5.0, DedupSets::Previous),
            (40.0, DedupSets::Previous),
            (3.0, working),
        ] {
            let copies = copies(ratio, sets);
            for version in [4, 5, 900] {
                let sets: Vec<Option<u64>> =
                    (0..100_000).map(|unit| copies.set_of(unit * 4096, 4096, version)).collect();
                let alone = sets.iter().filter(|set| set.is_none()).count();
                let used: BTreeSet<u64> = sets.iter().flatten().copied().collect();
                assert!(used.iter().all(|set| *set < copies.sets()));
                let found = 100_000.0 / (alone + used.len()) as f64;
                // Five standard deviations of the unique share are below 1 % of all blocks.
                assert!((1.0 / found - 1.0 / ratio).abs() < 0.01, "{ratio} {version}: {found}");
            }
            let moved =
                (0..1000).filter(|unit| copies.set_of(unit * 4096, 4096, 4) != copies.set_of(unit * 4096, 4096, 5));
            assert!(moved.count() > 100);
        }
    }

    #[test]
    fn parts_of_a_unit_belong_together() {
        let dedup = DedupContent { ratio: 2.0, unit_bytes: 65_536, sets: DedupSets::Count(8), across: false };
        let copies = PlacedCopies::new(&dedup, &WriteVolume::alone(7, 1 << 30)).unwrap();
        for unit in 0..1000_u64 {
            let first = copies.set_of(unit * 65_536, 4096, 4);
            assert!((1..16).all(|part| copies.set_of(unit * 65_536 + part * 4096, 4096, 9) == first));
        }
    }
}
