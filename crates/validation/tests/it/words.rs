//! What a user reads of damages.

use stamp::{BlockWriter, Expected, Reading, StampFlags, Version, WriteStamp, examine};
use validation::{expected_words, found_words};

fn block(sequence: u64, version: u16, address: u64) -> Vec<u8> {
    let write = WriteStamp {
        flags: StampFlags::default(),
        run: 0x3f0c_8a1b_5d6e_7f01,
        device: 5,
        sequence,
        writer: 0,
        epoch: 0,
        written_s: 1_795_171_447,
    };
    let mut block = vec![0; 4096];
    BlockWriter::new(1.0).fill(&mut block, (address, 4096), &write, |_| version);
    block
}

#[test]
fn each_damage_has_two_sentences() {
    let runs = [0x3f0c_8a1b_5d6e_7f01];
    let expected = Expected { device: 5, runs: &runs, address: 0x1565_0000, version: Version::Is(17) };
    let told = |first: &[u8], again: Option<&[u8]>| {
        let finding = examine(&Reading { first, again }, &expected);
        (expected_words(&finding), found_words(&finding))
    };
    let new = block(4711, 17, 0x1565_0000);
    let last = "write 4711 of run 3f0c8a1b5d6e7f01, version 17, written 2026-11-20 10:44:07 UTC";
    let mut rotten = new.clone();
    rotten[100] ^= 0b1000_1000;
    let found = format!("sector 0: {last}; bits 3,7 of the byte at 0x15650064 differ; sectors 1–7: right, {last}");
    assert_eq!(told(&rotten, None), (last.to_owned(), found));
    let old = block(40, 16, 0x1565_0000);
    let before = "write 40 of run 3f0c8a1b5d6e7f01, version 16, written 2026-11-20 10:44:07 UTC";
    assert_eq!(told(&old, None), ("version 17 of 0x15650000".to_owned(), before.to_owned()));
    assert_eq!(told(&old, Some(&new)).1, format!("{before}; right when it was read again"));
    let torn = [&new[..2048], &old[2048..]].concat();
    let found = format!("sectors 0–3: right, {last}; sectors 4–7: {before}");
    assert_eq!(told(&torn, None), (last.to_owned(), found));
    let other = block(12, 9, 0x2000);
    let found = "data for 0x2000: write 12 of run 3f0c8a1b5d6e7f01, version 9, written 2026-11-20 10:44:07 UTC";
    assert_eq!(told(&other, None).1, found);
    assert_eq!(told(&[0; 4096], None).1, "zeroes");
    assert_eq!(told(&[7; 4096], None).1, "nothing that iodyno has stamped");
    let mut short = vec![0; 4096];
    stamp::poison(&mut short);
    short[..512].copy_from_slice(&new[..512]);
    assert_eq!(
        told(&short, Some(&new)).1,
        format!("sector 0: right, {last}; sectors 1–7: not read; right when it was read again")
    );
}
