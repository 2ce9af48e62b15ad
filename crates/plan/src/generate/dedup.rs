//! Which blocks of the data are copies of others, and of which.

use super::GenerateError;
use super::rng::{GOLDEN, derive, scatter, threshold};
use super::volume::{SECTOR_BYTES, WriteVolume};
use crate::floor::floor_u64;
use crate::spec::{DedupContent, DedupSets, copied_share};

/// Gives every block of equal size a seed; blocks with equal seeds are copies of each other.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    pub(crate) unit_sectors: u64,
    /// Seed of blocks that are alone, of this writer's.
    own: u64,
    /// Decides which blocks are copies: random numbers below `copied`.
    choice: u64,
    copied: u64,
    source: Source,
    /// See [`WriteVolume::splits_blocks`].
    pub(crate) splits_blocks: bool,
}

#[derive(Clone, Debug)]
enum Source {
    /// One of so many sets, whose data follows from this seed.
    Sets {
        count: u64,
        seed: u64,
    },
    /// What the last block that was none had.
    Previous(Option<u64>),
    WorkingSet(WorkingSet),
}

fn wrong(what: &'static str, value: f64, allowed: &'static str) -> GenerateError {
    GenerateError::Value { of: "content".to_string(), what, value, allowed }
}

fn check(dedup: &DedupContent) -> Result<(), GenerateError> {
    if !(dedup.ratio.is_finite() && dedup.ratio >= 1.0) {
        return Err(wrong("the ratio of duplication", dedup.ratio, "1 or more"));
    }
    if dedup.unit_bytes == 0 || !dedup.unit_bytes.is_multiple_of(SECTOR_BYTES as u64) {
        let what = "the size of duplicate blocks in bytes";
        return Err(wrong(what, dedup.unit_bytes as f64, "a multiple of 512"));
    }
    Ok(())
}

/// How many sets of copies there are, and the share of all blocks that are copies of one of them. What is no set is made of as many as
/// the ratio allows, at most one in [`UNITS_PER_SET`] blocks.
pub(crate) fn sets_of(dedup: &DedupContent, volume: &WriteVolume) -> Result<(u64, f64), GenerateError> {
    check(dedup)?;
    let bytes = if dedup.across { volume.all_bytes } else { volume.bytes };
    let units = (bytes / dedup.unit_bytes).max(1);
    let count = match dedup.sets {
        DedupSets::Count(count) => count,
        DedupSets::Fraction(fraction) => floor_u64((units as f64 * fraction).round()),
        DedupSets::Previous => floor_u64(units as f64 / UNITS_PER_SET.max(2.0 * dedup.ratio)),
        DedupSets::WorkingSet { pages, .. } => pages.min(floor_u64(units as f64 / dedup.ratio / 2.0)),
    };
    let count = count.max(1);
    let copied = copied_share(dedup.ratio, count as f64 / units as f64).ok_or_else(|| {
        let allowed = "fewer for this ratio: they are unique blocks too (all blocks ÷ ratio is how many there are)";
        wrong("the number of sets of duplicate blocks", count as f64, allowed)
    })?;
    Ok((count, copied))
}

/// See [`sets_of`].
const UNITS_PER_SET: f64 = 20.0;

/// Blocks of which others are copies: page after page of each writer's, in the order in which it writes them.
#[derive(Clone, Debug)]
struct WorkingSet {
    pages: u64,
    /// Pages of one writer.
    each: u64,
    job: u64,
    jobs: u64,
    seed: u64,
    /// Blocks of the writer's that were none.
    made: u64,
}

impl WorkingSet {
    /// The seed of page number `page` of a writer.
    fn page(&self, job: u64, page: u64) -> u64 {
        scatter(derive(self.seed, job + 1) ^ page.wrapping_mul(GOLDEN))
    }

    /// A block that is none's copy.
    fn next(&mut self) -> u64 {
        self.made += 1;
        self.page(self.job, self.made - 1)
    }

    /// Page number `number` of the whole set, `init_dedupe_working_set_seeds()` of fio 3.33.
    fn at(&self, number: u64) -> u64 {
        self.page((self.job + number / self.each) % self.jobs, number % self.each)
    }
}

impl Copies {
    pub(crate) fn new(dedup: &DedupContent, volume: &WriteVolume) -> Result<Self, GenerateError> {
        check(dedup)?;
        let own = derive(derive(volume.seed, 0x6f77_6e00), volume.writer);
        let choice = derive(volume.seed, 0x6368_6f69);
        let splits_blocks = volume.splits_blocks;
        let unit_sectors = dedup.unit_bytes / SECTOR_BYTES as u64;
        let by_share = |source| {
            let copied = threshold(1.0 - 1.0 / dedup.ratio);
            Ok(Self { unit_sectors, own, choice, copied, source, splits_blocks })
        };
        match dedup.sets {
            DedupSets::Previous => return by_share(Source::Previous(None)),
            DedupSets::WorkingSet { pages, job, jobs } => {
                let (pages, jobs) = (pages.max(1), u64::from(jobs.max(1)));
                let (each, seed) =
                    if jobs > 1 { ((pages / jobs).max(1), derive(volume.all_seed, 0x7061_6765)) } else { (pages, own) };
                return by_share(Source::WorkingSet(WorkingSet {
                    pages,
                    each,
                    job: u64::from(job),
                    jobs,
                    seed,
                    made: 0,
                }));
            }
            DedupSets::Count(_) | DedupSets::Fraction(_) => {}
        }
        let (count, copied) = sets_of(dedup, volume)?;
        let seed = derive(if dedup.across { volume.all_seed } else { volume.seed }, 0x7365_7473);
        Ok(Self {
            unit_sectors,
            own,
            choice,
            copied: threshold(copied),
            source: Source::Sets { count, seed },
            splits_blocks,
        })
    }

    /// The seed of a block of a write.
    ///
    /// Every write of a whole block chooses anew whether it is a copy and of which set, so that what was there before is
    /// not written again; what writes only a part of a block must choose as the others of its parts do: by the place.
    #[inline]
    pub(crate) fn seed_of(&mut self, unit: u64, of_write: u64, is_whole: bool) -> u64 {
        let place = unit.wrapping_mul(GOLDEN);
        let own = scatter(self.own ^ place ^ of_write);
        let by_write = if is_whole { of_write } else { 0 };
        let chance = scatter(self.choice ^ place ^ by_write);
        if chance >= self.copied {
            return match &mut self.source {
                Source::Previous(last) => *last.insert(own),
                Source::WorkingSet(set) => set.next(),
                Source::Sets { .. } => own,
            };
        }
        match &self.source {
            Source::Previous(last) => last.unwrap_or(own),
            Source::WorkingSet(set) => {
                let number = (u128::from(derive(self.choice, chance)) * u128::from(set.pages)) >> 64;
                set.at(number as u64)
            }
            Source::Sets { count, seed } => {
                let set = (u128::from(derive(self.choice, chance)) * u128::from(*count)) >> 64;
                scatter(seed ^ (set as u64).wrapping_mul(GOLDEN))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ContentGenerator;
    use super::*;
    use crate::spec;
    use std::collections::HashSet;

    fn content(dedup: DedupContent, compress_ratio: f64, bytes: u64) -> ContentGenerator {
        let spec = spec::WriteContent { compress_ratio, dedup: Some(dedup), ..spec::WriteContent::default() };
        ContentGenerator::new(
            &spec,
            &[],
            &WriteVolume { seed: 3, bytes, all_seed: 4, all_bytes: bytes, writer: 0, splits_blocks: false },
        )
        .unwrap()
    }

    /// All blocks ÷ unique blocks of data that is written from the beginning in transfers of 64 KiB.
    fn ratio_of(mut content: ContentGenerator, unit: usize, bytes: usize) -> f64 {
        let mut data = vec![0; bytes];
        for (at, piece) in data.chunks_mut(65_536).enumerate() {
            content.fill(piece, at as u64 * 65_536);
        }
        let units: HashSet<&[u8]> = data.chunks_exact(unit).collect();
        (bytes / unit) as f64 / units.len() as f64
    }

    #[test]
    fn unique_blocks_are_as_many_as_the_ratio_says() {
        let bytes = 32 << 20;
        for (ratio, unit) in [(1.2, 4096), (2.0, 4096), (5.0, 4096), (12.0, 4096), (2.0, 8192), (3.0, 512), (2.0, 6144)]
        {
            for sets in [DedupSets::Fraction(0.05), DedupSets::Count(100), DedupSets::Previous] {
                for compress in [1.0, 2.0] {
                    let dedup = DedupContent { ratio, unit_bytes: unit as u64, sets, across: false };
                    let blocks = (bytes / unit) as f64;
                    let found = ratio_of(content(dedup, compress, bytes as u64), unit, bytes);
                    // The number of copies is binomial; five standard deviations of the unique share.
                    let share = 1.0 / ratio;
                    let bound = 5.0 * (share * (1.0 - share) / blocks).sqrt() + 2.0 / blocks;
                    let off = (1.0 / found - share).abs();
                    assert!(
                        off < bound,
                        "{ratio} of {unit} bytes, {sets:?}, {compress}: {found}, off by {off} > {bound}"
                    );
                }
            }
        }
    }

    #[test]
    fn overwriting_keeps_the_ratio_and_writes_other_data() {
        let dedup = DedupContent { ratio: 2.0, unit_bytes: 4096, sets: DedupSets::Fraction(0.05), across: false };
        let mut content = content(dedup, 1.0, 32 << 20);
        let mut disk = vec![0; 32 << 20];
        for pass in 0..4 {
            let mut equal = 0;
            let order = super::super::permutation::Permutation::new(8192, pass);
            for at in 0..8192 {
                let from = usize::try_from(order.apply(at)).unwrap() * 4096;
                let before = disk[from..from + 4096].to_vec();
                content.fill(&mut disk[from..from + 4096], from as u64);
                equal += usize::from(before == disk[from..from + 4096]);
            }
            let unique = disk.chunks_exact(4096).collect::<HashSet<_>>().len();
            // σ = √(8192 × ½ × ½) = 45.
            assert!((4096 - 230..4096 + 230).contains(&unique), "pass {pass}: {unique} of 8192");
            // By chance a copy meets its own set: 8192 × ½ × ½ ÷ 410 sets = 5.
            assert!(equal < 25, "pass {pass}: {equal} writes changed nothing");
        }
    }

    #[test]
    fn parts_of_a_block_are_copies_as_the_whole_is() {
        let dedup = DedupContent { ratio: 2.0, unit_bytes: 65_536, sets: DedupSets::Count(8), across: false };
        let mut content = content(dedup, 1.0, 64 << 20);
        let mut disk = vec![0; 64 << 20];
        for (at, piece) in disk.chunks_mut(4096).enumerate() {
            content.fill(piece, at as u64 * 4096);
        }
        let unique = disk.chunks_exact(65_536).collect::<HashSet<_>>().len();
        // 1024 blocks, σ = 16.
        assert!((512 - 80..512 + 80).contains(&unique), "{unique} of 1024");
    }

    #[test]
    fn previous_copies_are_made_in_any_order_of_writes() {
        let dedup = DedupContent { ratio: 4.0, unit_bytes: 4096, sets: DedupSets::Previous, across: false };
        let mut content = content(dedup, 1.0, 64 << 20);
        let mut disk = vec![0_u8; 64 << 20];
        let order = super::super::permutation::Permutation::new(16384, 9);
        for at in 0..16384 {
            let from = usize::try_from(order.apply(at)).unwrap() * 4096;
            content.fill(&mut disk[from..from + 4096], from as u64);
        }
        let unique = disk.chunks_exact(4096).collect::<HashSet<_>>().len();
        assert!((4096 - 280..4096 + 280).contains(&unique), "{unique} of 16384 at ratio 4 (σ = 55)");
    }

    #[test]
    fn copies_of_a_working_set_are_of_its_pages_and_jobs_may_have_them_in_common() {
        let write = |job, jobs, writer, blocks: usize| {
            let sets = DedupSets::WorkingSet { pages: 64, job, jobs };
            let dedup = DedupContent { ratio: 2.0, unit_bytes: 4096, sets, across: false };
            let spec = spec::WriteContent { dedup: Some(dedup), ..spec::WriteContent::default() };
            let volume = WriteVolume { writer, ..WriteVolume::alone(3, 1 << 30) };
            let mut data = vec![0; blocks * 4096];
            ContentGenerator::new(&spec, &[], &volume).unwrap().fill(&mut data, 0);
            data.chunks_exact(4096).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let unique = |blocks: &[Vec<u8>]| blocks.iter().collect::<HashSet<_>>().len();
        let alone = write(0, 1, 7, 4096);
        // σ = √(4096 × ½ × ½) = 32; the pages are written by themselves as well.
        assert!((2048 - 160..2048 + 160).contains(&unique(&alone)), "{}", unique(&alone));
        let mut counts = std::collections::HashMap::new();
        alone.iter().for_each(|block| *counts.entry(block).or_insert(0) += 1);
        assert_eq!(counts.values().filter(|count| **count > 1).count(), 64, "blocks that come again");
        // Two jobs: each copies the first 32 pages of both.
        let (first, second) = (write(0, 2, 7, 4096), write(1, 2, 8, 4096));
        let both: HashSet<_> = first.iter().collect();
        let common = second.iter().collect::<HashSet<_>>().intersection(&both).count();
        assert_eq!(common, 64);
        assert_eq!(alone.iter().filter(|block| both.contains(block)).count(), 0);
    }

    #[test]
    fn sets_are_shared_between_targets_when_asked() {
        let bytes = 8 << 20;
        let unique = |across: bool| {
            let dedup = DedupContent { ratio: 2.0, unit_bytes: 4096, sets: DedupSets::Count(64), across };
            let spec = spec::WriteContent { dedup: Some(dedup), ..spec::WriteContent::default() };
            let mut all = HashSet::new();
            for target in 0..4 {
                let volume = WriteVolume {
                    seed: target,
                    bytes,
                    all_seed: 99,
                    all_bytes: 4 * bytes,
                    writer: target,
                    splits_blocks: false,
                };
                let mut data = vec![0; usize::try_from(bytes).unwrap()];
                ContentGenerator::new(&spec, &[], &volume).unwrap().fill(&mut data, 0);
                all.extend(data.chunks_exact(4096).map(<[u8]>::to_vec));
            }
            all.len()
        };
        for across in [true, false] {
            let found = unique(across);
            // σ = √(8192 × ½ × ½) = 45.
            assert!((4096 - 230..4096 + 230).contains(&found), "across {across}: {found} of 8192");
        }
    }

    #[test]
    fn data_is_known_again_and_too_many_sets_are_refused() {
        let dedup = DedupContent { ratio: 3.0, unit_bytes: 4096, sets: DedupSets::Fraction(0.1), across: true };
        let mut data = vec![0; 1 << 20];
        content(dedup, 2.0, 1 << 20).fill(&mut data, 0);
        assert!(data.chunks(SECTOR_BYTES).all(|sector| sector.starts_with(&super::super::SECTOR_MAGIC)));
        let refuse = |dedup: DedupContent, literal: &[u8]| {
            let spec = spec::WriteContent { dedup: Some(dedup), ..spec::WriteContent::default() };
            ContentGenerator::new(&spec, literal, &WriteVolume::alone(1, 1 << 20)).map(drop).unwrap_err().to_string()
        };
        assert!(refuse(DedupContent { sets: DedupSets::Count(200), ..dedup }, &[]).contains("fewer for this ratio"));
        assert!(refuse(DedupContent { unit_bytes: 1000, ..dedup }, &[]).contains("a multiple of 512"));
        assert!(refuse(dedup, b"abc").contains("pattern"));
    }
}
