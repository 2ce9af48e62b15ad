//! What is recovered is what a model says that was promised.

use crate::{Random, States, files, session, target};
use data_journal::{Crash, Floor, Journal, JournalError, JournalOptions, Recovered, SessionHeader, recover};
use std::collections::BTreeMap;

/// The last operation on a block: a write with its number and version, or a trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Write { session: usize, sequence: u64, version: u16 },
    Trim { session: usize },
}

#[derive(Clone, Debug, Default)]
struct Model {
    done: BTreeMap<(u16, u64), Last>,
    flushed: BTreeMap<(u16, u64), Last>,
    sequence: [u64; 2],
    epoch: [u32; 2],
    acknowledged: [u32; 2],
}

/// A flush under way: its target, epoch, and what it will have made durable.
type Flush = (u16, u32, BTreeMap<(u16, u64), Last>);

fn act(journal: &Journal, model: &mut Model, under_way: &mut Vec<Flush>, random: &mut Random, session: usize) {
    let target = u16::try_from(random.below(2)).unwrap();
    let at = usize::from(target);
    let (first, count) = (random.below(990), 1 + random.below(10));
    match random.below(100) {
        0..80 => {
            let sequence = model.sequence[at];
            model.sequence[at] += 1;
            let base = 4 + random.below(3);
            let version = move |block: u64| u16::try_from(base + block % 2).unwrap();
            journal.done(target, (first, count), sequence, |block| Some(version(block)));
            for block in first..first + count {
                model.done.insert((target, block), Last::Write { session, sequence, version: version(block) });
            }
        }
        80..84 => {
            journal.trim_begun(target, (first, count), model.sequence[at]);
            journal.trimmed(target, (first, count), model.sequence[at], true);
            for block in first..first + count {
                model.done.insert((target, block), Last::Trim { session });
            }
        }
        84..92 if under_way.len() < 3 => {
            journal.flush_begun(target, model.epoch[at]);
            let of_target = model.done.iter().filter(|((of, _), _)| *of == target);
            under_way.push((target, model.epoch[at], of_target.map(|(block, last)| (*block, *last)).collect()));
            model.epoch[at] += 1;
        }
        _ if !under_way.is_empty() => {
            let ended = usize::try_from(random.below(under_way.len() as u64)).unwrap();
            let (target, epoch, durable) = under_way.remove(ended);
            journal.flush_ended(target, epoch, true);
            // A flush that was submitted before another one may come back behind it.
            if model.acknowledged[usize::from(target)] <= epoch {
                model.acknowledged[usize::from(target)] = epoch;
                model.flushed.extend(durable);
            }
        }
        _ => {}
    }
}

fn floors(recovered: &Recovered, crash: Crash) -> BTreeMap<(u16, u64), (Floor, u16)> {
    let of = |target: u16| {
        let floors = recovered.target(u64::from(target) + 7).unwrap().floors(crash);
        floors.map(move |(block, floor, version)| ((target, block), (floor, version)))
    };
    of(0).chain(of(1)).collect()
}

fn compare(expected: &BTreeMap<(u16, u64), Last>, recovered: &Recovered, crash: Crash, seed: u64) {
    let found = floors(recovered, crash);
    let blocks = |map: Vec<&(u16, u64)>| map.into_iter().copied().collect::<Vec<_>>();
    assert_eq!(blocks(found.keys().collect()), blocks(expected.keys().collect()), "seed {seed}");
    for (block, last) in expected {
        let (floor, version) = found[block];
        match *last {
            Last::Trim { session } => assert_eq!((floor.is_trim(), floor.session()), (true, session), "seed {seed}"),
            Last::Write { session, sequence, version: of_model } => {
                let is_it = floor.session() == session && version == of_model && floor.allows_write(sequence, true);
                let is_least = sequence == 0 || floor.is_of_checkpoint() || !floor.allows_write(sequence - 1, false);
                assert!(is_it && is_least, "seed {seed}: block {block:?}: {floor:?}, version {version}, not {last:?}");
            }
        }
    }
}

#[test]
fn what_was_promised_is_recovered_over_sessions_and_crashes() {
    for seed in 0..50 {
        let place = tempfile::tempdir_in("/dev/shm").unwrap();
        let directory = place.path().join("j");
        let mut random = Random::new(seed);
        let mut model = Model::default();
        let mut last: Option<Recovered> = None;
        for at in 0..1 + usize::try_from(random.below(4)).unwrap() {
            let header = session(100 + at as u64);
            let crash = if random.below(2) == 0 { Crash::PowerCut } else { Crash::ProcessDied };
            let journal = match &last {
                None => Journal::create(&directory, header, JournalOptions::default()).unwrap(),
                Some(recovered) => {
                    compare(&model.done, recovered, Crash::ProcessDied, seed);
                    compare(&model.flushed, recovered, Crash::PowerCut, seed);
                    if crash == Crash::PowerCut {
                        model.done = model.flushed.clone();
                    }
                    Journal::resume(recovered, crash, header, JournalOptions::default()).unwrap()
                }
            };
            (model.sequence, model.epoch, model.acknowledged) = ([0; 2], [0; 2], [0; 2]);
            let mut under_way = Vec::new();
            for _ in 0..random.below(300) {
                act(&journal, &mut model, &mut under_way, &mut random, at);
            }
            // It takes a while to be sure.
            assert!(seed > 0 || matches!(recover(&directory), Err(JournalError::InUse { .. })));
            drop(journal);
            last = Some(recover(&directory).unwrap());
        }
        let recovered = last.unwrap();
        compare(&model.done, &recovered, Crash::ProcessDied, seed);
        compare(&model.flushed, &recovered, Crash::PowerCut, seed);
        assert!(
            recovered.damage.is_empty() && recovered.notes.is_empty() && recovered.is_same_boot && !recovered.is_clean
        );
        assert_eq!(recovered.crash(), Crash::ProcessDied);
    }
}

#[test]
fn a_clean_end_says_exactly_what_is_there() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    let journal = Journal::create(&directory, session(5), JournalOptions::default()).unwrap();
    journal.done(0, (3, 2), 0, |_| Some(9));
    journal.flush_begun(0, 0);
    journal.done(0, (4, 1), 1, |_| Some(10));
    journal.flush_ended(0, 0, true);
    journal.done(0, (8, 1), 2, |_| Some(11));
    journal.failed(0, (8, 1));
    journal.end().unwrap();
    journal.done(0, (9, 1), 3, |_| Some(12));
    drop(journal);
    let recovered = recover(&directory).unwrap();
    assert!(recovered.is_clean);
    let target = recovered.target(7).unwrap();
    let exact = |crash| -> Vec<(u64, u16, bool)> {
        target.floors(crash).map(|(block, floor, version)| (block, version, target.is_exact(floor))).collect()
    };
    assert_eq!(exact(Crash::ProcessDied), [(3, 9, true), (4, 10, true), (8, 11, false)]);
    assert_eq!(exact(Crash::PowerCut), [(3, 9, true), (4, 9, false)]);
    assert_eq!((&*target.runs, target.acknowledged_epoch), (&[5, 1][..], Some(0)));
}

#[test]
fn a_failed_flush_takes_back_what_no_later_one_can_promise() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    let journal = Journal::create(&directory, session(5), JournalOptions::default()).unwrap();
    for (epoch, is_done) in [(0, true), (1, false), (2, true)] {
        journal.done(0, (10 + u64::from(epoch), 1), u64::from(epoch), |_| Some(5));
        journal.flush_begun(0, epoch);
        journal.flush_ended(0, epoch, is_done);
    }
    drop(journal);
    let recovered = recover(&directory).unwrap();
    let blocks: Vec<u64> = recovered.target(7).unwrap().floors(Crash::PowerCut).map(|(block, ..)| block).collect();
    assert_eq!(blocks, [10, 12], "block 11 may have been thrown away by the flush that failed");
}

#[test]
fn synchronous_targets_need_no_flush() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    let mut header = session(5);
    header.targets[0].is_synchronous = true;
    let journal = Journal::create(&directory, header, JournalOptions::default()).unwrap();
    (0..2).for_each(|target| journal.done(target, (1, 1), 0, |_| Some(5)));
    drop(journal);
    let recovered = recover(&directory).unwrap();
    let count = |device| recovered.target(device).unwrap().floors(Crash::PowerCut).count();
    assert_eq!((count(7), count(8)), (1, 0));
}

/// The states that a session has of its blocks, from the model.
fn states_of(model: &Model, target: u16) -> States {
    let mut states = vec![0; 1000];
    for ((_, block), last) in model.done.iter().filter(|((of, _), _)| *of == target) {
        states[usize::try_from(*block).unwrap()] = match last {
            Last::Write { version, .. } => *version,
            Last::Trim { .. } => 1,
        };
    }
    States { target, sequence: model.sequence[usize::from(target)], states }
}

#[test]
fn a_checkpoint_takes_the_place_of_all_before_once_it_is_flushed() {
    for seed in 0..40 {
        let place = tempfile::tempdir_in("/dev/shm").unwrap();
        let directory = place.path().join("j");
        let mut random = Random::new(seed);
        let journal = Journal::create(&directory, session(5), JournalOptions { checkpoint_bytes: 4096 }).unwrap();
        let (mut model, mut under_way) = (Model::default(), Vec::new());
        let steps = |model: &mut Model, under_way: &mut Vec<Flush>, random: &mut Random| {
            (0..250).for_each(|_| act(&journal, model, under_way, random, 0));
        };
        steps(&mut model, &mut under_way, &mut random);
        journal.sync().unwrap();
        assert!(journal.wants_checkpoint() && !journal.awaits_flush());
        let dumped = [states_of(&model, 0), states_of(&model, 1)];
        journal.checkpoint(&[&dumped[0], &dumped[1]]).unwrap();
        assert!(journal.awaits_flush() && !journal.wants_checkpoint());
        assert_eq!(files(&directory).len(), 2, "the first segment stays until the targets are flushed");
        // Flushes that were submitted before the checkpoint do not count.
        for (target, epoch, durable) in under_way.drain(..) {
            journal.flush_ended(target, epoch, true);
            model.flushed.extend(durable);
        }
        assert!(journal.awaits_flush());
        steps(&mut model, &mut under_way, &mut random);
        let was_whole = random.below(2) == 0;
        if was_whole {
            for target in 0..2 {
                let epoch = model.epoch[usize::from(target)];
                model.epoch[usize::from(target)] += 1;
                journal.flush_begun(target, epoch);
                journal.flush_ended(target, epoch, true);
            }
            model.flushed = model.done.clone();
            journal.sync().unwrap();
            journal.sync().unwrap();
        }
        drop(journal);
        if was_whole {
            assert_eq!(files(&directory).len(), 1, "seed {seed}");
        }
        let recovered = recover(&directory).unwrap();
        assert!(recovered.damage.is_empty() && recovered.notes.is_empty(), "{:?}", recovered.sentences());
        compare(&model.done, &recovered, Crash::ProcessDied, seed);
        if was_whole {
            compare(&model.flushed, &recovered, Crash::PowerCut, seed);
        }
    }
}

#[test]
fn there_is_one_journal_in_a_directory_and_other_blocks_are_another_journal() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    assert!(matches!(recover(place.path()), Err(JournalError::Missing(_))));
    let journal = Journal::create(&directory, session(5), JournalOptions::default()).unwrap();
    journal.done(0, (3, 2), 0, |_| Some(9));
    drop(journal);
    let again = Journal::create(&directory, session(6), JournalOptions::default());
    assert!(matches!(again, Err(JournalError::Exists(_))));
    let recovered = recover(&directory).unwrap();
    let mut other = target(7);
    other.block_bytes = 512;
    let header = SessionHeader::new(6, vec![other]);
    let journal = Journal::resume(&recovered, Crash::ProcessDied, header, JournalOptions::default()).unwrap();
    let too_late = Journal::resume(&recovered, Crash::ProcessDied, session(7), JournalOptions::default());
    assert!(matches!(too_late, Err(JournalError::Exists(_))), "another program has gone on with it");
    drop(journal);
    let recovered = recover(&directory).unwrap();
    assert_eq!(recovered.target(7).unwrap().floors(Crash::ProcessDied).count(), 0);
    assert!(recovered.notes[0].contains("sd7 had 4096 bytes"), "{:?}", recovered.notes);
}
