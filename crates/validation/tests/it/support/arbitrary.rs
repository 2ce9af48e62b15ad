//! Arbitrary bytes, examined and told of; nothing may panic. Also what `fuzz/fuzz_targets/stamp.rs` runs.

use stamp::{BlockWriter, Expected, Reading, StampFlags, Version, WriteStamp, examine, hex_view, is_right};
use validation::{Damage, FoundBy, Reports};

/// A source of chance that is the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        stamp::payload::scatter(self.0)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

/// A block of which parts were written, and parts are `bytes`; the rest follows from `choice`.
pub fn check(bytes: &[u8], choice: u64) {
    let mut random = Random(choice);
    let address = [0, 4096, u64::MAX, u64::MAX - 511, random.next()][random.below(5) as usize];
    let write = WriteStamp {
        flags: StampFlags(random.next() as u8),
        run: random.below(3),
        device: random.below(3),
        sequence: random.next(),
        writer: random.next() as u16,
        epoch: random.next() as u32,
        written_s: random.next() as u32,
    };
    let number = random.next() as u16;
    let mut block = vec![0; bytes.len()];
    // Nothing is written behind the end of all addresses.
    let place = address.min(1 << 62) + random.below(3) * 512;
    BlockWriter::new(1.0 + random.below(5) as f64).fill(&mut block, (place, 4096), &write, |_| number);
    let count = random.below(5);
    for _ in 0..count {
        let from = random.below(bytes.len() as u64 + 1) as usize;
        let to = from + random.below((bytes.len() - from) as u64 + 1) as usize;
        let shift = random.below(from as u64 + 1) as usize * usize::from(random.below(4) == 0);
        block[from - shift..to - shift].copy_from_slice(&bytes[from..to]);
    }
    if count == 4 {
        block = bytes.to_vec();
    }
    let near = number.wrapping_add(random.below(3) as u16);
    let version = [Version::Is(near), Version::AtLeast(near), Version::Any, Version::Zeroes][random.below(4) as usize];
    let runs: Vec<u64> = (0..random.below(4)).collect();
    let expected = Expected { device: random.below(3), runs: &runs, address, version };
    let again = [None, Some(bytes), Some(&bytes[..bytes.len() / 2])][random.below(3) as usize];
    let is_right = is_right(&block, &expected);
    let finding = examine(&Reading { first: &block, again }, &expected);
    assert!(is_right || !block.len().is_multiple_of(512) || finding.is_of_again || finding.first_wrong().is_some());
    assert!(hex_view(&block, &finding).lines().count() <= stamp::VIEW_LINES);
    assert!(hex_view(bytes, &finding).lines().count() <= stamp::VIEW_LINES);
    let reports = Reports::default();
    let (t_ns, target, found_by) = (0, 0, FoundBy::Read);
    let damage = Damage {
        t_ns,
        target,
        file: None,
        address,
        found_by,
        expected: version,
        finding,
        read: block,
        words: None,
        known: validation::KnownTimes::default(),
    };
    assert!(damage.expected_words().len() < 1000 && damage.found_words().len() < 2000);
    for address in [address, address.wrapping_add(4096), random.next()] {
        let mut elsewhere = damage.clone();
        (elsewhere.address, elsewhere.finding.must.address) = (address, address);
        reports.add(elsewhere);
    }
    let version = random.next() as u16;
    let judgement = reports.judge(|_, _| [None, Some(number), Some(version)][(version % 3) as usize]);
    assert_eq!(judgement.damages.len(), 3);
}
