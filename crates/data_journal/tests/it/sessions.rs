//! Sessions that have less than those before them, and journals that tell of too much.

use crate::{session, target};
use data_journal::{Crash, Journal, JournalError, JournalOptions, JournalTarget, SessionHeader, StateSource, recover};
use std::path::Path;

/// Blocks that have all the same version.
struct Same(u16, u64);

impl StateSource for Same {
    fn target(&self) -> u16 {
        self.0
    }

    fn sequence(&self) -> u64 {
        100
    }

    fn blocks(&self) -> u64 {
        self.1
    }

    fn states(&self, _first: u64, count: usize, states: &mut Vec<u16>) {
        states.resize(states.len() + count, 9);
    }
}

/// How many blocks of each target something is known of.
fn known(directory: &Path) -> Vec<(u64, usize)> {
    let recovered = recover(directory).unwrap();
    recovered.targets.iter().map(|target| (target.device, target.floors(Crash::ProcessDied).count())).collect()
}

/// A session with these targets makes a checkpoint, which all flushes acknowledge, and ends.
fn goes_on(directory: &Path, targets: Vec<JournalTarget>) -> usize {
    let recovered = recover(directory).unwrap();
    let sources: Vec<Same> =
        (0..).zip(&targets).map(|(at, target)| Same(at, target.size_bytes / target.block_bytes)).collect();
    let header = SessionHeader::new(6, targets);
    let journal =
        Journal::resume(&recovered, Crash::ProcessDied, header, JournalOptions { checkpoint_bytes: 1 }).unwrap();
    journal.done(0, (0, 1), 0, |_| Some(9));
    journal.checkpoint(&sources.iter().map(|source| source as &dyn StateSource).collect::<Vec<_>>()).unwrap();
    for source in &sources {
        journal.flush_begun(source.0, 3);
        journal.flush_ended(source.0, 3, true);
    }
    journal.end().unwrap();
    drop(journal);
    std::fs::read_dir(directory).unwrap().count()
}

#[test]
fn a_checkpoint_forgets_nothing_that_its_session_does_not_have() {
    let shorter = JournalTarget { size_bytes: 500 * 4096, ..target(8) };
    for (targets, expected) in [
        (vec![target(7)], [(7, 1000), (8, 1000)]),
        (vec![target(7), shorter], [(7, 1000), (8, 1000)]),
        (vec![target(7), target(8)], [(7, 1000), (8, 1000)]),
    ] {
        let place = tempfile::tempdir_in("/dev/shm").unwrap();
        let directory = place.path().join("j");
        let journal = Journal::create(&directory, session(5), JournalOptions::default()).unwrap();
        for of in [0, 1] {
            journal.done(of, (0, 1000), 0, |_| Some(4));
        }
        journal.end().unwrap();
        drop(journal);
        let is_less = targets.len() < 2 || targets.iter().any(|target| target.size_bytes < 1000 * 4096);
        let segments = goes_on(&directory, targets);
        assert_eq!(known(&directory), expected);
        assert_eq!(segments, if is_less { 2 } else { 1 }, "old segments go where nothing is lost with them");
    }
}

#[test]
fn a_journal_that_tells_of_more_than_fits_into_memory_is_refused() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    let large = JournalTarget { size_bytes: 1 << 58, ..target(7) };
    let journal = Journal::create(&directory, SessionHeader::new(5, vec![large]), JournalOptions::default()).unwrap();
    journal.trim_begun(0, (0, 1 << 40), 0);
    journal.trimmed(0, (0, 1 << 40), 0, true);
    journal.end().unwrap();
    drop(journal);
    let refused = recover(&directory).unwrap_err();
    assert!(matches!(refused, JournalError::Limit(_)) && refused.to_string().contains("memory"), "{refused}");
}

#[test]
fn a_record_of_very_many_blocks_takes_little_memory_and_time() {
    const BLOCKS: u64 = 1 << 24;
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    let large = JournalTarget { size_bytes: BLOCKS * 4096, ..target(7) };
    let journal = Journal::create(&directory, SessionHeader::new(5, vec![large]), JournalOptions::default()).unwrap();
    // All but the first and the last ones, so that chunks at both ends are not whole.
    journal.done(0, (3, BLOCKS - 5), 0, |_| Some(9));
    journal.done(0, (1000, 1), 1, |_| Some(10));
    journal.failed(0, (2000, 1));
    journal.trim_begun(0, (BLOCKS - 1000, 1000), 2);
    journal.end().unwrap();
    drop(journal);
    let recovered = recover(&directory).unwrap();
    let known = recovered.target(7).unwrap();
    let different: Vec<(u64, bool, bool, u16)> = known
        .floors(Crash::ProcessDied)
        .filter(|(_, floor, version)| *version != 9 || floor.may_be_newer() || floor.allows_zeroes())
        .map(|(block, floor, version)| (block, floor.may_be_newer(), floor.allows_zeroes(), version))
        .collect();
    assert_eq!(different[..2], [(1000, false, false, 10), (2000, true, false, 9)]);
    let trimmed: Vec<u64> = different[2..].iter().map(|(block, ..)| *block).collect();
    assert_eq!(trimmed, (BLOCKS - 1000..BLOCKS - 2).collect::<Vec<_>>());
    assert_eq!(known.floors(Crash::ProcessDied).next().unwrap().0, 3);
}
