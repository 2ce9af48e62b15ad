//! Of blocks that are right nothing is reported, however many they are.

use crate::{ReadOutcome, Reports, TargetCopies, TargetRules, TargetValidation};
use plan::generate::{PlacedCopies, WriteVolume};
use plan::{DedupContent, DedupSets};
use stamp::StampFlags;
use std::sync::Arc;

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        stamp::payload::scatter(self.0) % end
    }
}

fn copies(bytes: u64, block_bytes: u64) -> TargetCopies {
    let dedup = DedupContent { ratio: 2.0, unit_bytes: block_bytes * 2, sets: DedupSets::Count(3), across: false };
    TargetCopies { placed: PlacedCopies::new(&dedup, &WriteVolume::alone(1, bytes)).unwrap(), domain: 9 }
}

/// Checks so many blocks of `block_bytes` of a target that is kept in memory, small enough for a cache, and where everything is done to
/// everything. Gives how many were really compared.
fn checked(blocks: u64, block_bytes: u64, seed: u64) -> u64 {
    let reports = Arc::new(Reports::default());
    let mut numbers = Numbers(seed);
    let size_bytes = block_bytes * 64;
    let rules = TargetRules {
        target: 0,
        device: numbers.below(u64::MAX),
        runs: vec![numbers.below(u64::MAX), 5],
        size_bytes,
        block_bytes,
        compress_ratio: [1.0, 1.0, 2.0, 4.0][usize::try_from(seed % 4).unwrap()],
        copies: seed.is_multiple_of(3).then(|| copies(size_bytes, block_bytes)),
        flags: StampFlags::default(),
        trims_read_zero: true,
        checks_unknown: false,
    };
    let target = TargetValidation::new(rules, Arc::clone(&reports));
    let mut disk = vec![0xee; usize::try_from(size_bytes).unwrap()];
    let mut seen = 0;
    while seen < blocks {
        let first = numbers.below(64);
        let count = 1 + numbers.below(16.min(64 - first));
        let (offset, bytes) = (first * block_bytes, count * block_bytes);
        let place = usize::try_from(offset).unwrap()..usize::try_from(offset + bytes).unwrap();
        assert!(target.take(offset, bytes));
        match numbers.below(64) {
            0 => {
                disk[place].fill(0);
                target.trimmed(offset, bytes, true);
            }
            1 => {
                // It fails, and a part of it is there all the same.
                let mut data = vec![0; place.len()];
                let hold = target.stamp(offset, &mut data, 1);
                let done = usize::try_from(numbers.below(bytes / 512 + 1)).unwrap() * 512;
                disk[place.start..place.start + done].copy_from_slice(&data[..done]);
                target.written(offset, bytes, hold, false);
            }
            2..24 => {
                let hold = target.stamp(offset, &mut disk[place], 1);
                target.written(offset, bytes, hold, true);
            }
            kind => {
                if kind == 63 {
                    target.flushing();
                }
                assert_eq!(target.check(offset, &disk[place]), ReadOutcome::Right, "{count} blocks from {first} on");
                target.release(offset, bytes);
                seen += count;
            }
        }
    }
    assert_eq!(reports.count(), 0);
    target.counts().checked_bytes.load(std::sync::atomic::Ordering::Relaxed) / block_bytes
}

/// `IODYNO_RIGHT_BLOCKS` says how many; 10^9 take 90 s of processor time in the profile `release`.
#[test]
fn of_many_right_blocks_nothing_is_reported() {
    let all = std::env::var("IODYNO_RIGHT_BLOCKS").ok().map_or(1_000_000, |text| text.parse().expect("a number"));
    let shapes = [(512, 6), (1024, 1), (4096, 2), (4096, 1)];
    let compared: u64 =
        shapes.iter().zip(0..).map(|((bytes, tenths), seed)| checked(all / 10 * tenths, *bytes, seed)).sum();
    assert!(compared > all * 8 / 10, "{compared} of {all}");
}
