//! Journals that are torn or damaged: everything up to the damage is used, and what was lost is said.

use crate::{Random, States, files, session};
use data_journal::{Crash, Journal, JournalOptions, Recovered, recover};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// Blocks with the last write to each, and what a flush made durable.
#[derive(Debug, Default)]
struct Written {
    done: BTreeMap<u64, u64>,
    flushed: BTreeMap<u64, u64>,
}

/// A journal of one session in two segments.
fn written(directory: &Path) -> Written {
    let mut random = Random::new(1);
    let journal = Journal::create(directory, session(5), JournalOptions::default()).unwrap();
    let mut written = Written::default();
    let mut states = States { target: 0, sequence: 0, states: vec![0; 1000] };
    for sequence in 0..400 {
        let block = random.below(100);
        states.states[usize::try_from(block).unwrap()] = 4 + u16::try_from(sequence).unwrap();
        journal.done(0, (block, 1), sequence, |_| Some(4 + u16::try_from(sequence).unwrap()));
        written.done.insert(block, sequence);
        if sequence % 50 == 49 {
            let epoch = u32::try_from(sequence).unwrap();
            journal.flush_begun(0, epoch);
            journal.flush_ended(0, epoch, true);
            written.flushed = written.done.clone();
        }
        if sequence == 220 {
            states.sequence = 221;
            journal.checkpoint(&[&states]).unwrap();
        }
    }
    drop(journal);
    written
}

/// No block must be newer than what was written there.
fn is_sound(recovered: &Recovered, written: &Written) {
    for (crash, all) in [(Crash::ProcessDied, &written.done), (Crash::PowerCut, &written.flushed)] {
        for (block, floor, version) in recovered.target(7).into_iter().flat_map(|target| target.floors(crash)) {
            let last = all.get(&block).copied();
            let is_version = last.is_some_and(|last| u64::from(version) == last + 4);
            assert!(last.is_some_and(|last| floor.allows_write(last, is_version)), "block {block}: {floor:?}");
        }
    }
}

#[test]
fn a_torn_end_is_recognised_at_every_byte() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    let written = written(&directory);
    let whole = recover(&directory).unwrap();
    assert!(whole.damage.is_empty());
    let last = files(&directory).pop().unwrap();
    let bytes = std::fs::read(&last).unwrap();
    let mut records = whole.records;
    for length in (bytes.len() - 3000..bytes.len()).rev() {
        std::fs::write(&last, &bytes[..length]).unwrap();
        let recovered = recover(&directory).unwrap();
        is_sound(&recovered, &written);
        let (torn, lost) = (length % 32, (bytes.len() - length).div_ceil(32) as u64);
        assert!(recovered.records <= records && recovered.records + lost >= whole.records.saturating_sub(lost));
        records = recovered.records;
        match recovered.damage.as_slice() {
            [] => assert_eq!(torn, 0),
            [damage] => {
                let end = damage.from + damage.bytes;
                assert!(end == length as u64 && damage.segment == 2 && damage.intact_records == 0, "{damage}");
                assert!(damage.reason.starts_with("ends within"), "{damage}");
            }
            many => panic!("{many:?}"),
        }
    }
    // Zeroes, as a file system may leave them behind a power cut.
    for zeroes in [32, 500, 4096] {
        std::fs::write(&last, [&bytes[..], &vec![0; zeroes]].concat()).unwrap();
        let recovered = recover(&directory).unwrap();
        assert_eq!((recovered.records, recovered.damage.len()), (whole.records, 1));
        assert!(recovered.sentences()[1].contains("has zeroes") || recovered.sentences()[1].contains("ends within"));
        is_sound(&recovered, &written);
    }
}

#[test]
fn flipped_bits_are_recognised_anywhere() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    let written = written(&directory);
    let whole = recover(&directory).unwrap();
    let mut random = Random::new(2);
    for at in 0..800 {
        let segments = files(&directory);
        let file = &segments[at % 2];
        let mut bytes = std::fs::read(file).unwrap();
        let good = bytes.clone();
        let bit = usize::try_from(random.below(bytes.len() as u64 * 8)).unwrap();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(file, &bytes).unwrap();
        let recovered = recover(&directory).unwrap();
        is_sound(&recovered, &written);
        let is_padding = good[bit / 8] == 0 && bit / 8 < 8192;
        let is_said = !recovered.damage.is_empty() || !recovered.notes.is_empty();
        assert!(is_said || is_padding, "bit {bit} of {}", file.display());
        assert!(recovered.records <= whole.records);
        if let [damage] = recovered.damage.as_slice() {
            assert!(damage.from <= bit as u64 / 8 && damage.bytes > 0, "{damage}");
        }
        std::fs::write(file, &good).unwrap();
    }
}

#[test]
fn one_copy_of_a_header_is_enough_and_none_is_said() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    let written = written(&directory);
    let first = files(&directory).remove(0);
    let good = std::fs::read(&first).unwrap();
    for copy in [0, 4096] {
        let mut bytes = good.clone();
        bytes[copy..copy + 4096].fill(0xff);
        std::fs::write(&first, &bytes).unwrap();
        let recovered = recover(&directory).unwrap();
        assert!(recovered.notes[0].contains("one of two copies of the header of segment 1"), "{:?}", recovered.notes);
        assert_eq!(recovered.target(7).unwrap().floors(Crash::ProcessDied).count(), written.done.len());
    }
    let mut bytes = good;
    bytes[..8192].fill(0);
    std::fs::write(&first, &bytes).unwrap();
    let recovered = recover(&directory).unwrap();
    assert!(recovered.damage[0].reason.contains("no intact header"));
    is_sound(&recovered, &written);
    // Without any, nothing is known, and that is said too.
    files(&directory).iter().for_each(|file| std::fs::write(file, [7; 100]).unwrap());
    let recovered = recover(&directory).unwrap();
    assert_eq!((recovered.sessions.len(), recovered.targets.len(), recovered.damage.len()), (0, 0, 2));
}

#[test]
fn a_segment_that_is_gone_is_said() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    let written = written(&directory);
    let segments = files(&directory);
    let bytes = std::fs::read(&segments[0]).unwrap();
    std::fs::remove_file(&segments[0]).unwrap();
    let recovered = recover(&directory).unwrap();
    assert!(recovered.notes.is_empty(), "the checkpoint in the second says all: {:?}", recovered.notes);
    assert_eq!(recovered.target(7).unwrap().floors(Crash::ProcessDied).count(), written.done.len());
    is_sound(&recovered, &written);
    std::fs::write(&segments[0], &bytes[..8192]).unwrap();
    let recovered = recover(&directory).unwrap();
    is_sound(&recovered, &written);
}

#[test]
fn a_journal_whose_disk_is_full_stops_and_says_why() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mounted = testkit::TestCommand::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]);
    mounted.arg(place.path()).run().unwrap().expect_code(0);
    let directory = place.path().join("j");
    let journal = Journal::create(&directory, session(5), JournalOptions::default()).unwrap();
    for sequence in 0..10_000 {
        journal.done(0, (sequence % 100, 1), sequence, |_| Some(5));
    }
    let said = journal.failure().unwrap().to_string();
    let failed = journal.end().unwrap_err().to_string();
    drop(journal);
    let recovered = recover(&directory).unwrap();
    testkit::TestCommand::new("umount").arg(place.path()).run().unwrap().expect_code(0);
    assert!(said.contains("j/00000001.journal: ") && said == failed, "{said}");
    assert!(recovered.records > 1000 && !recovered.is_clean);
    assert_eq!(recovered.target(7).unwrap().floors(Crash::ProcessDied).count(), 100);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..5000), at in 0usize..20_000, is_inserted: bool) {
        let place = tempfile::tempdir_in("/dev/shm").unwrap();
        let directory = place.path().join("j");
        let written = written(&directory);
        let file = files(&directory).pop().unwrap();
        let mut good = std::fs::read(&file).unwrap();
        let at = at.min(good.len());
        if is_inserted {
            good.splice(at..at, bytes);
        } else {
            good.splice(at..(at + bytes.len()).min(good.len()), bytes);
        }
        std::fs::write(&file, &good).unwrap();
        let recovered = recover(&directory).unwrap();
        is_sound(&recovered, &written);
    }
}
