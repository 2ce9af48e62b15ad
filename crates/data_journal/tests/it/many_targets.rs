//! Journals of thousands of targets, session after session: a header names each target once, and earlier executions once for all.

use crate::{files, target};
use data_journal::{Crash, Journal, JournalError, JournalOptions, JournalTarget, Recovered, SessionHeader, recover};
use std::path::{Path, PathBuf};

/// Names as long as those of real paths.
fn targets(count: u64) -> Vec<JournalTarget> {
    let of = |device: u64| {
        let name =
            format!("sd{device} (/mnt/array-of-the-laboratory/volume-{device:05}/file-of-the-load-{device:05}.data)");
        JournalTarget { name, runs: [].into(), ..target(device) }
    };
    (0..count).map(of).collect()
}

/// The next session, whose targets accept what all before have written, as loads do.
fn next(recovered: &Recovered, run: u64, count: u64) -> SessionHeader {
    let runs = |target: &JournalTarget| recovered.target(target.device).map(|known| known.runs.clone());
    let of = |target| JournalTarget { runs: runs(&target).unwrap_or_default(), ..target };
    SessionHeader::new(run, targets(count).into_iter().map(of).collect())
}

fn magic(file: &Path) -> u8 {
    std::fs::read(file).unwrap()[7]
}

fn sizes(directory: &Path) -> Vec<u64> {
    files(directory).iter().map(|file| std::fs::metadata(file).unwrap().len()).collect()
}

fn begin(place: &Path, count: u64) -> PathBuf {
    let directory = place.join("j");
    let journal =
        Journal::create(&directory, SessionHeader::new(1, targets(count)), JournalOptions::default()).unwrap();
    journal.done(0, (3, 1), 0, |_| Some(7));
    journal.end().unwrap();
    directory
}

#[test]
fn a_journal_of_thousands_of_targets_goes_on_for_many_sessions() {
    const TARGETS: u64 = 4000;
    const SESSIONS: u64 = 12;
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = begin(place.path(), TARGETS);
    for run in 2..=SESSIONS {
        let recovered = recover(&directory).unwrap();
        let header = next(&recovered, run, TARGETS);
        let journal = Journal::resume(&recovered, Crash::ProcessDied, header, JournalOptions::default()).unwrap();
        let last = u16::try_from(TARGETS - 1).unwrap();
        journal.done(last, (run, 1), 0, |_| Some(7));
        journal.end().unwrap();
    }
    let recovered = recover(&directory).unwrap();
    assert!(recovered.damage.is_empty() && recovered.notes.is_empty(), "{:?}", recovered.damage);
    assert_eq!(recovered.targets.len() as u64, TARGETS);
    let all: Vec<u64> = (1..=SESSIONS).rev().collect();
    assert!(recovered.targets.iter().all(|target| *target.runs == *all));
    let known = |device: u64| recovered.target(device).unwrap().floors(Crash::ProcessDied).count() as u64;
    assert_eq!((known(0), known(1), known(TARGETS - 1)), (1, 0, SESSIONS - 1));
    let (sizes, magics) = (sizes(&directory), files(&directory).iter().map(|file| magic(file)).collect::<Vec<_>>());
    assert_eq!(magics, [&[1][..], &[3; 11]].concat(), "one session has no earlier ones, and is written as before");
    // The name of a target is a hundred bytes: what a session adds to the header is less than two pages.
    assert!(sizes[1..].iter().all(|size| size.abs_diff(sizes[1]) <= 2 * 2 * 4096), "{sizes:?}");
}

#[test]
fn what_could_be_begun_can_be_gone_on_with() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    // As long a text as there may be.
    let of = |length: usize| vec![JournalTarget { name: "n".repeat(length), ..targets(1).remove(0) }];
    let (mut fits, mut not) = (1 << 20, 1 << 22);
    while not - fits > 1000 {
        let length = (fits + not) / 2;
        let directory = place.path().join(length.to_string());
        match Journal::create(&directory, SessionHeader::new(1, of(length)), JournalOptions::default()) {
            Ok(_) => fits = length,
            Err(JournalError::Limit(said)) => {
                assert!(said.ends_with("targets are too many for a journal; validate fewer"), "{said}");
                not = length;
            }
            Err(other) => panic!("{other}"),
        }
    }
    let directory = place.path().join(fits.to_string());
    let recovered = recover(&directory).unwrap();
    // More earlier executions than a journal can have sessions.
    let runs = (0..2000u64).map(|run| u64::MAX - run).collect();
    let mut header = SessionHeader::new(2, of(fits));
    header.targets.iter_mut().for_each(|target| target.runs = std::sync::Arc::clone(&runs));
    Journal::resume(&recovered, Crash::ProcessDied, header, JournalOptions::default()).unwrap().end().unwrap();
    let recovered = recover(&directory).unwrap();
    assert!(recovered.damage.is_empty() && recovered.sessions.len() == 2);
    assert_eq!(recovered.targets[0].runs.len(), 2002);
    // The second header has layout 3; a damaged first copy is no loss there either.
    let file = files(&directory).pop().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[..100].fill(0);
    std::fs::write(&file, bytes).unwrap();
    let recovered = recover(&directory).unwrap();
    assert!(recovered.damage.is_empty() && recovered.notes.len() == 1, "{:?}", recovered.notes);
}

#[test]
fn targets_with_other_earlier_executions_keep_their_own() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    let with = |device, runs: &[u64]| JournalTarget { runs: runs.into(), ..target(device) };
    let all = vec![with(1, &[]), with(2, &[20]), with(3, &[30, 31]), with(4, &[20])];
    let journal = Journal::create(&directory, SessionHeader::new(9, all.clone()), JournalOptions::default()).unwrap();
    journal.end().unwrap();
    drop(journal);
    let recovered = recover(&directory).unwrap();
    assert_eq!(recovered.sessions[0].targets, all);
    let runs: Vec<&[u64]> = recovered.targets.iter().map(|target| &*target.runs).collect();
    assert_eq!(runs, [&[9][..], &[9, 20], &[9, 30, 31], &[9, 20]]);
}

/// A journal whose only header has this text.
fn with_text(directory: &Path, layout: u8, text: &str) {
    let mut copy = [b"iodynoj".as_slice(), &[layout]].concat();
    copy.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
    copy.extend(crc32c(text.as_bytes()).to_le_bytes());
    copy.resize(32, 0);
    copy.extend(text.as_bytes());
    copy.resize(copy.len().next_multiple_of(4096), 0);
    std::fs::create_dir_all(directory).unwrap();
    std::fs::write(directory.join("00000001.journal"), copy.repeat(2)).unwrap();
}

fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _: u32| if crc & 1 == 0 { crc >> 1 } else { (crc >> 1) ^ 0x82f6_3b78 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// As programs before layout 3 wrote it.
const OLD: &str = r#"{"journal":77,"segment":1,"previous":null,"of_session":0,"session":{"run":5,"boot":"b","pid":9,"wall_ns":1,"targets":[{"name":"sd1","device":7,"size_bytes":4096000,"block_bytes":4096,"runs":[3,2],"is_synchronous":false,"is_trimmed":true}],"after":"ProcessDied"}}"#;

#[test]
fn what_earlier_programs_wrote_is_read_and_what_later_ones_write_is_said() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    with_text(&directory, 1, OLD);
    let recovered = recover(&directory).unwrap();
    assert_eq!((recovered.damage.len(), &*recovered.targets[0].runs), (0, &[5, 3, 2][..]));
    for (layout, text, said) in [
        (4, OLD.to_string(), "was written by a newer iodyno"),
        (1, OLD.replace("4096,", "1,"), "has a header of a target that cannot be"),
        (1, OLD.replace("4096,", "0,"), "has a header of a target that cannot be"),
        (1, OLD.replace("4096,", "3,"), "has a header of a target that cannot be"),
        (1, OLD.replace("4096,", "2097152,"), "has a header of a target that cannot be"),
        (1, OLD.replace("4096000", "18446744073709551615"), "has a header of a target that cannot be"),
        (3, OLD.replace(r#""runs":[3,2]"#, r#""earlier":0"#), "has no intact header"),
    ] {
        with_text(&directory, layout, &text);
        let recovered = recover(&directory).unwrap();
        assert!(recovered.targets.is_empty() && recovered.damage[0].reason.contains(said), "{:?}", recovered.damage);
    }
}
