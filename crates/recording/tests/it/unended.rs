//! I/Os of a trace without an end: found wherever they stand, and no hindrance to finding the others by their times.

use recording::rows::Io;
use recording::{
    IoNames, IoRecord, Label, Manifest, RawIo, Reader, RecordingFollower, Row as _, RowBatch, Sink, Writer,
};
use std::path::Path;

const SECOND_NS: i64 = 1_000_000_000;
/// Frames of the journal, a second each.
const FRAMES: i64 = 2000;
/// I/Os of a frame that end.
const ENDED: i64 = 40;

/// One that was queued so many seconds after the start, and ended at once or not at all.
fn record(queue_ns: i64, ended: bool) -> RawIo {
    let queue_ns = queue_ns.unsigned_abs();
    let io = IoRecord {
        queue_ns,
        complete_ns: if ended { queue_ns + 500 } else { 0 },
        issue_ns: 0,
        sector: 8,
        bytes: 4096,
        dev: 8 << 20,
        issuer: 0,
        owner: 0,
        file: 0,
        flags: 0,
        op: 0,
        bios: 1,
        requeues: 0,
        status: 0,
    };
    io.to_raw()
}

/// A trace whose every frame begins with an I/O that was queued long before, and the last frame is of such only.
fn write(directory: &Path, as_rows: bool) -> Writer {
    let mut writer = Writer::create(directory, Manifest::new(&[])).unwrap();
    let names = IoNames::default();
    let mut add = |records: &[RawIo]| {
        if as_rows {
            let rows = Io::from_batch(&recording::io_rows(&names, records).unwrap()).unwrap();
            writer.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        } else {
            writer.accept_ios(&names, records).unwrap();
        }
        writer.commit().unwrap();
    };
    for frame in 1..FRAMES {
        let open = record(frame, false);
        let ended = (0..ENDED).map(|at| record(frame * SECOND_NS + at, true));
        add(&std::iter::once(open).chain(ended).collect::<Vec<_>>());
    }
    add(&[record(77, false), record(78, false)]);
    writer
}

fn check(directory: &Path) {
    let reader = Reader::open(directory).unwrap();
    assert_eq!(reader.span("io").unwrap(), Some((SECOND_NS + 500, (FRAMES - 1) * SECOND_NS + ENDED - 1 + 500)));
    for second in [1, 2, 700, 1500, FRAMES - 2, FRAMES - 1] {
        let found = reader.between(&["io"], second * SECOND_NS..(second + 1) * SECOND_NS).unwrap();
        let rows: Vec<Io> = found.iter().flat_map(|batch| batch.to_rows::<Io>().unwrap()).collect();
        assert_eq!(
            rows.iter().filter(|io| io.complete_ns.is_some()).count(),
            usize::try_from(ENDED).unwrap(),
            "{second}"
        );
        assert!(rows.iter().all(|io| io.complete_ns.is_none_or(|ns| ns / SECOND_NS == second)), "{second}");
    }
    let open = reader.unended(1 << 17).unwrap().unwrap();
    let rows: Vec<Io> = open.iter().flat_map(|batch| Io::from_batch(batch).unwrap()).collect();
    let times: Vec<i64> = rows.iter().map(|io| io.queue_ns).collect();
    assert_eq!(times, (1..FRAMES).chain([77, 78]).collect::<Vec<_>>());
    assert!(rows.iter().all(|io| io.complete_ns.is_none() && io.dev == Label::from("8:0")));
    assert!(reader.unended(1999).unwrap().is_none(), "one too many");
}

#[test]
fn a_journal_whose_frames_begin_with_what_has_no_end() {
    for as_rows in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("r");
        let writer = write(&directory, as_rows);
        check(&directory);
        let mut follower = RecordingFollower::open(&directory, (FRAMES - 1) * SECOND_NS).unwrap();
        let rows: usize = follower.fresh().unwrap().iter().map(|batch| batch.rows.num_rows()).sum();
        assert_eq!(rows, usize::try_from(ENDED).unwrap() + 1 + 2, "the last second and what came behind it");
        writer.seal().unwrap();
        check(&directory);
    }
}

#[test]
fn without_any_end_there_is_nothing_to_find_by_time_and_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("r");
    let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
    writer.accept_ios(&IoNames::default(), &[record(5, false), record(6, false)]).unwrap();
    writer.commit().unwrap();
    let check = || {
        let reader = Reader::open(&directory).unwrap();
        assert_eq!(reader.span("io").unwrap(), None);
        assert!(reader.between(&["io"], 0..SECOND_NS).unwrap().is_empty());
        assert_eq!(
            reader.unended(10).unwrap().unwrap().iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(),
            2
        );
    };
    check();
    writer.seal().unwrap();
    check();
}
