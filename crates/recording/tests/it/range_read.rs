//! Stretches of time out of sealed and open recordings, and a recording that grows.

use recording::rows::Event;
use recording::{EventSeverity, Manifest, Reader, RecordingFollower, RowBatch, Sink, Writer};
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

const SECOND_NS: i64 = 1_000_000_000;
/// Long enough for several row groups, and for a journal to be halved.
const COMMITS: i64 = 30_000;

fn event(n: i64, at: i64) -> Event {
    Event {
        t_ns: n * SECOND_NS + at,
        t_s: n as f64,
        severity: EventSeverity::Info,
        kind: "test".into(),
        message: format!("number {n}"),
        count: n,
        ..Event::default()
    }
}

fn write(writer: &mut Writer, commits: Range<i64>) {
    for n in commits {
        let rows = [event(n, 0), event(n, 1), event(n, 2)];
        writer.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        writer.commit().unwrap();
    }
}

fn seconds(batches: &[RowBatch]) -> Vec<i64> {
    let rows = batches.iter().flat_map(|batch| batch.to_rows::<Event>().unwrap());
    rows.map(|row| row.count).collect()
}

fn check(reader: &Reader, range: Range<i64>) {
    let asked = range.start * SECOND_NS..range.end * SECOND_NS;
    let found = seconds(&reader.between(&["event"], asked).unwrap());
    let wanted: Vec<i64> = (range.start.max(1)..range.end.min(COMMITS)).flat_map(|n| [n; 3]).collect();
    assert_eq!(found, wanted, "{range:?} of {:?}", reader.state());
}

#[test]
fn a_stretch_of_time_is_whole_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("r");
    let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
    write(&mut writer, 1..COMMITS);
    let ranges = [0..5, 100..101, 15_000..15_240, COMMITS - 3..COMMITS + 10, COMMITS + 5..COMMITS + 9, 21_840..21_860];
    let open = Reader::open(&directory).unwrap();
    let span = Some((SECOND_NS, (COMMITS - 1) * SECOND_NS + 2));
    assert_eq!(open.span("event").unwrap(), span);
    assert_eq!(open.span("cpu").unwrap(), None);
    ranges.iter().for_each(|range| check(&open, range.clone()));
    writer.seal().unwrap();
    let sealed = Reader::open(&directory).unwrap();
    assert_eq!(sealed.span("event").unwrap(), span);
    ranges.iter().for_each(|range| check(&sealed, range.clone()));
    let some = sealed.columns("event", &["t_ns", "count"]).unwrap().next().unwrap().unwrap();
    assert_eq!(some.num_columns(), 2);
}

fn open(directory: &Path, from: i64) -> RecordingFollower {
    RecordingFollower::open(directory, from * SECOND_NS).unwrap()
}

#[test]
fn what_grows_is_followed_frame_by_frame() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("r");
    let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
    write(&mut writer, 1..5000);
    let mut follower = open(&directory, 4990);
    assert_eq!(seconds(&follower.fresh().unwrap()), (4990..5000).flat_map(|n| [n; 3]).collect::<Vec<_>>());
    assert!(follower.fresh().unwrap().is_empty());
    write(&mut writer, 5000..5003);
    assert_eq!(seconds(&follower.fresh().unwrap()), (5000..5003).flat_map(|n| [n; 3]).collect::<Vec<_>>());
    assert!(!follower.is_over());
    // The writer's last commits are read after it has sealed.
    write(&mut writer, 5003..5004);
    writer.seal().unwrap();
    assert_eq!(seconds(&follower.fresh().unwrap()), [5003; 3]);
    assert!(follower.is_over());
}

#[test]
fn half_a_frame_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("r");
    let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
    write(&mut writer, 1..4);
    drop(writer);
    let path = directory.join("journal");
    let whole = std::fs::read(&path).unwrap();
    // Byte by byte, as a slow disk may show it: no frame comes early, and none is lost.
    // A follower that begins may find the first frame half written, or the second.
    for begun in [whole.len() / 3 - 20, whole.len() / 3 + 20, 3, 0] {
        std::fs::write(&path, &whole[..begun]).unwrap();
        let mut follower = open(&directory, 0);
        let mut seen = seconds(&follower.fresh().unwrap());
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        for part in whole[begun..].chunks(7) {
            file.write_all(part).unwrap();
            seen.extend(seconds(&follower.fresh().unwrap()));
        }
        assert_eq!(seen, [1, 1, 1, 2, 2, 2, 3, 3, 3], "from byte {begun}");
    }
}
