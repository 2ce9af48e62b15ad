//! Recordings through crashes, damage and versions.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use proptest::prelude::*;
use quantity::histogram::Histogram;
use recording::rows::{Event, OpInterval};
use recording::{Batch, ExportFormat, Manifest, Reader, RecordingError, Sink, State, Writer, export};
use std::path::{Path, PathBuf};

fn interval(n: i64, values: &[u64]) -> OpInterval {
    let mut response = Histogram::new(5);
    values.iter().for_each(|value| response.record(*value));
    OpInterval {
        t_ns: n * 1_000_000_000,
        t_s: n as f64,
        interval_ns: 1_000_000_000,
        run: "rd1".into(),
        run_index: 0,
        phase: "measure".into(),
        workload: "wd1".into(),
        target: format!("sd{}", n % 7),
        op: "read".into(),
        arrivals: n,
        ops: n,
        bytes: n * 4096,
        errors: 0,
        service: response.clone(),
        response,
        in_flight_mean: 1.5,
        backlog: 0,
    }
}

fn event(n: i64) -> Event {
    Event {
        t_ns: n,
        t_s: 0.0,
        severity: "info".into(),
        kind: "test".into(),
        run: None,
        target: Some("sd1".into()),
        message: format!("number {n}"),
        count: 1,
    }
}

/// A writer with `commits` commits of one interval and one event each.
fn written(directory: &Path, commits: i64) -> Writer {
    let mut writer = Writer::create(directory, Manifest::new(&["test".into()])).unwrap();
    for n in 1..=commits {
        writer.accept(&Batch::from_rows(&[interval(n, &[100, 2000, 30_000_000])]).unwrap()).unwrap();
        writer.accept(&Batch::from_rows(&[event(n)]).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    writer
}

fn fresh() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("r");
    (folder, directory)
}

fn numbers(reader: &Reader) -> Vec<i64> {
    reader.table::<OpInterval>().unwrap().iter().map(|row| row.ops).collect()
}

#[test]
fn open_cut_short_and_sealed_hold_the_same_rows() {
    let (_folder, directory) = fresh();
    let writer = written(&directory, 20);
    let open = Reader::open(&directory).unwrap();
    assert_eq!((open.state(), numbers(&open)), (State::Open, (1..=20).collect()));
    let rows = open.table::<OpInterval>().unwrap();
    drop(writer);
    let cut = Reader::open(&directory).unwrap();
    assert_eq!(cut.state(), State::CutShort);
    assert_eq!(cut.table::<OpInterval>().unwrap(), rows);
    assert_eq!(cut.tables().unwrap(), ["event", "op_interval"]);

    let (_folder, directory) = fresh();
    written(&directory, 20).seal().unwrap();
    let sealed = Reader::open(&directory).unwrap();
    assert_eq!(sealed.state(), State::Sealed);
    assert_eq!(sealed.table::<OpInterval>().unwrap(), rows);
    assert_eq!(sealed.table::<Event>().unwrap().len(), 20);
    assert!(!directory.join("journal").exists());
}

#[test]
fn an_existing_directory_and_a_newer_format_are_refused() {
    let (folder, directory) = fresh();
    assert!(matches!(Writer::create(folder.path(), Manifest::new(&[])), Err(RecordingError::Exists(_))));
    written(&directory, 1).seal().unwrap();
    let path = directory.join("manifest.json");
    let text = std::fs::read_to_string(&path).unwrap().replace("\"format_version\": 1", "\"format_version\": 99");
    std::fs::write(&path, text).unwrap();
    let error = Reader::open(&directory).unwrap_err();
    assert!(matches!(error, RecordingError::Newer { found: 99, .. }), "{error}");
    assert!(matches!(Reader::open(folder.path()), Err(RecordingError::NotARecording { .. })));
}

#[test]
fn a_journal_cut_at_any_byte_holds_every_whole_frame() {
    let (_folder, directory) = fresh();
    drop(written(&directory, 3));
    let journal = directory.join("journal");
    let whole = std::fs::read(&journal).unwrap();
    let mut last = 0;
    for length in 0..whole.len() {
        std::fs::write(&journal, &whole[..length]).unwrap();
        let rows = numbers(&Reader::open(&directory).unwrap());
        assert!(
            rows.len() >= last && rows == (1..=i64::try_from(rows.len()).unwrap()).collect::<Vec<_>>(),
            "cut at {length}: {rows:?}"
        );
        last = rows.len();
    }
    assert_eq!(last, 3, "the last interval is whole before the last event is");
}

#[test]
fn damage_in_the_middle_costs_only_the_damaged_frame() {
    let (_folder, directory) = fresh();
    drop(written(&directory, 5));
    let journal = directory.join("journal");
    let mut bytes = std::fs::read(&journal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&journal, &bytes).unwrap();
    let reader = Reader::open(&directory).unwrap();
    let (intervals, events) = (reader.table::<OpInterval>().unwrap().len(), reader.table::<Event>().unwrap().len());
    assert_eq!(intervals + events, 9, "{intervals} intervals and {events} events of 10 rows");
}

#[test]
fn a_full_disk_ends_the_journal_with_its_last_whole_commit() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: needs root to mount a small tmpfs");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"])
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(mount.success());
    let directory = folder.path().join("r");
    let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
    let mut committed = Vec::new();
    let error = (1..10_000)
        .find_map(|n| {
            writer.accept(&Batch::from_rows(&[interval(n, &[5])]).unwrap()).unwrap();
            writer.commit().map(|()| committed.push(n)).err()
        })
        .expect("128 KiB are full at some time");
    assert!(error.to_string().contains("No space left"), "{error}");
    drop(writer);
    let rows = numbers(&Reader::open(&directory).unwrap());
    std::process::Command::new("umount").arg(folder.path()).status().unwrap();
    assert_eq!(rows, committed);
}

#[test]
fn exports_have_the_percentiles_and_the_time() {
    let (_folder, directory) = fresh();
    written(&directory, 4).seal().unwrap();
    let reader = Reader::open(&directory).unwrap();
    let text = |format| {
        let mut out = Vec::new();
        export(&reader, "op_interval", format, &mut out).unwrap();
        out
    };
    let csv = String::from_utf8(text(ExportFormat::Csv)).unwrap();
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(csv.lines().count(), 5);
    for column in ["t_ns", "response_ns_p99", "service_ns_p999", "backlog", "time"] {
        assert!(header.contains(&column), "{header:?}");
    }
    let json = String::from_utf8(text(ExportFormat::Json)).unwrap();
    let row: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((row["ops"].as_i64(), row["response_ns_max"].as_i64()), (Some(1), Some(30_000_000)));
    assert_eq!(&text(ExportFormat::Parquet)[..4], b"PAR1");
    let mut out = Vec::new();
    assert!(matches!(
        export(&reader, "nonsense", ExportFormat::Csv, &mut out),
        Err(RecordingError::UnknownTable { .. })
    ));
}

#[test]
fn the_documentation_of_the_tables_is_not_stale() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md");
    assert_eq!(std::fs::read_to_string(page).unwrap_or_default(), recording::catalogue_markdown(), "run `make docs`");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn rows_round_trip(ops in any::<i64>(), values in prop::collection::vec(0_u64..10_000_000_000, 0..50), text in ".*") {
        let mut row = interval(1, &values);
        row.ops = ops;
        row.run = text;
        let batch = Batch::from_rows(std::slice::from_ref(&row)).unwrap();
        prop_assert_eq!(batch.to_rows::<OpInterval>().unwrap(), vec![row]);
    }

    #[test]
    fn any_bytes_as_a_journal_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let (_folder, directory) = fresh();
        drop(written(&directory, 1));
        let journal = directory.join("journal");
        let mut all = std::fs::read(&journal).unwrap();
        all.extend_from_slice(&bytes);
        std::fs::write(&journal, &all).unwrap();
        prop_assert_eq!(numbers(&Reader::open(&directory).unwrap()), vec![1]);
    }
}
