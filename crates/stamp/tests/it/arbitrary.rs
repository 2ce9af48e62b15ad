//! Arbitrary bytes with arbitrary expectations.

use crate::support::{Random, Written};
use proptest::prelude::*;
use stamp::{Expected, Reading, SECTOR_MAGIC, STAMP_MARK, Version, examine, hex_view, is_right};

fn version(random: &mut Random) -> Version {
    let number = random.next() as u16;
    match random.below(4) {
        0 => Version::Is(number),
        1 => Version::AtLeast(number),
        2 => Version::Any,
        _ => Version::Zeroes,
    }
}

proptest! {
    #[test]
    fn nothing_panics(mut bytes in proptest::collection::vec(any::<u8>(), 0..2000), again in proptest::collection::vec(any::<u8>(), 0..1100), seed: u64, address: u64) {
        let mut random = Random(seed);
        // Often a stamp stands somewhere, or a whole block.
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() as u64 / 8 + 1) as usize * [1, 8][random.below(2) as usize];
            let piece: &[u8] = match random.below(3) {
                0 => &SECTOR_MAGIC,
                1 => &[SECTOR_MAGIC.as_slice(), STAMP_MARK.as_slice()].concat(),
                _ => &Written::at(address).bytes(1024),
            };
            bytes.iter_mut().skip(at).zip(piece).for_each(|(byte, new)| *byte = *new);
        }
        let runs = [random.next(), crate::support::RUN, 3, 4, 5, 6];
        let runs = &runs[..random.below(7) as usize];
        let expected = Expected { device: crate::support::DEVICE, runs, address, version: version(&mut random) };
        let again = (random.below(2) == 0).then_some(again.as_slice());
        let finding = examine(&Reading { first: &bytes, again }, &expected);
        let view = hex_view(&bytes, &finding);
        prop_assert!(view.lines().count() <= stamp::VIEW_LINES);
        if !is_right(&bytes, &expected) && bytes.len() >= 512 && again.is_none() {
            prop_assert!(finding.first_wrong().is_some() || bytes.len() % 512 != 0);
        }
    }
}
