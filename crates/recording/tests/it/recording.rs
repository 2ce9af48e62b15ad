//! Recordings through crashes, damage and versions.

use parquet::basic::{Compression, Encoding};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;
use quantity::histogram::Histogram;
use recording::rows::{Event, Io, OpInterval, RunQueue};
use recording::{
    ClockAnchor, EventSeverity, ExportFormat, IO_RECORD_BYTES, IoNames, IoTask, LoadPhase, Manifest, RawIo, Reader,
    RecordingError, RecordingState, Recordings, RowBatch, Sink, Writer, export,
};
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
        phase: LoadPhase::Measure,
        workload: "wd1".into(),
        target: format!("sd{}", n % 7),
        op: "read".into(),
        arrivals: Some(n),
        ops: n,
        bytes: n * 4096,
        errors: Some(0),
        service: response.clone(),
        wait: None,
        response,
        in_flight_mean: Some(1.5),
        backlog: Some(0),
    }
}

fn event(n: i64) -> Event {
    Event {
        t_ns: n,
        t_s: 0.0,
        severity: EventSeverity::Info,
        kind: "test".into(),
        target: Some("sd1".into()),
        message: format!("number {n}"),
        count: 1,
        ..Event::default()
    }
}

/// A writer with `commits` commits of one interval and one event each.
fn written(directory: &Path, commits: i64) -> Writer {
    let mut writer = Writer::create(directory, Manifest::new(&["test".into()])).unwrap();
    for n in 1..=commits {
        writer.accept(&RowBatch::from_rows(&[interval(n, &[100, 2000, 30_000_000])]).unwrap()).unwrap();
        writer.accept(&RowBatch::from_rows(&[event(n)]).unwrap()).unwrap();
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
    assert_eq!((open.state(), numbers(&open)), (RecordingState::Open, (1..=20).collect()));
    let rows = open.table::<OpInterval>().unwrap();
    drop(writer);
    let cut = Reader::open(&directory).unwrap();
    assert_eq!(cut.state(), RecordingState::CutShort);
    assert_eq!(cut.table::<OpInterval>().unwrap(), rows);
    assert_eq!(cut.tables().unwrap(), ["event", "op_interval"]);

    let (_folder, directory) = fresh();
    written(&directory, 20).seal().unwrap();
    let sealed = Reader::open(&directory).unwrap();
    assert_eq!(sealed.state(), RecordingState::Sealed);
    assert_eq!(sealed.table::<OpInterval>().unwrap(), rows);
    assert_eq!(sealed.rows::<OpInterval>().unwrap().collect::<Result<Vec<_>, _>>().unwrap(), rows);
    assert_eq!(sealed.table::<Event>().unwrap().len(), 20);
    assert!(!directory.join("journal").exists());
}

#[test]
fn an_existing_directory_and_a_newer_format_are_refused() {
    let (folder, directory) = fresh();
    assert!(matches!(Writer::create(folder.path(), Manifest::new(&[])), Err(RecordingError::Exists(_))));
    written(&directory, 1).seal().unwrap();
    let path = directory.join("manifest.json");
    let text = std::fs::read_to_string(&path).unwrap().replace("\"format_version\": 2", "\"format_version\": 99");
    // What a newer format ends with is not known.
    let text = text.replace("\"checksum\": \"xxh64:", "\"seal\": \"");
    std::fs::write(&path, text).unwrap();
    let error = Reader::open(&directory).unwrap_err();
    assert!(matches!(error, RecordingError::Newer { found: 99, .. }), "{error}");
    assert!(matches!(Reader::open(folder.path()), Err(RecordingError::NotARecording { .. })));
}

/// Ends of the frames of a journal: magic (8), length (4), the rest of the header (24), payload. The first one has the manifest.
fn frame_ends(journal: &[u8]) -> Vec<usize> {
    let mut ends = vec![];
    let mut at = 0;
    while at < journal.len() {
        let length = u32::from_le_bytes(journal[at + 8..at + 12].try_into().unwrap());
        at += 36 + usize::try_from(length).unwrap();
        ends.push(at);
    }
    ends
}

#[test]
fn a_journal_cut_at_any_byte_holds_every_whole_frame() {
    let (_folder, directory) = fresh();
    drop(written(&directory, 3));
    // A program that another test starts has our lock too, until it is itself.
    for _ in 0..10_000 {
        if Reader::open(&directory).unwrap().state() != RecordingState::Open {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let journal = directory.join("journal");
    let whole = std::fs::read(&journal).unwrap();
    let ends = frame_ends(&whole);
    assert_eq!((ends.len(), ends.last()), (7, Some(&whole.len())));
    // The manifest came after the first frame: nothing at all is a journal that was emptied.
    std::fs::write(&journal, "").unwrap();
    assert!(Reader::open(&directory).unwrap_err().to_string().contains("its journal is gone"));
    for length in 1..=whole.len() {
        std::fs::write(&journal, &whole[..length]).unwrap();
        let reader = Reader::open(&directory).unwrap();
        assert_eq!(reader.state(), RecordingState::CutShort);
        let frames = ends.iter().filter(|end| **end <= length).count().saturating_sub(1);
        // Intervals and events take turns.
        assert_eq!(numbers(&reader), (1..=3).take(frames.div_ceil(2)).collect::<Vec<_>>(), "cut at {length}");
        assert_eq!(reader.table::<Event>().unwrap().len(), frames / 2, "cut at {length}");
        let torn = length - ends.iter().rev().find(|end| **end <= length).copied().unwrap_or(0);
        assert_eq!(reader.unreadable_bytes().unwrap(), torn as u64, "cut at {length}");
        assert!(!reader.damage().unwrap().is_some(), "a killed writer damages nothing: cut at {length}");
    }
}

#[test]
fn any_damaged_byte_costs_its_frame_and_no_other() {
    let (_folder, directory) = fresh();
    drop(written(&directory, 2));
    let journal = directory.join("journal");
    let whole = std::fs::read(&journal).unwrap();
    let ends = frame_ends(&whole);
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&journal, &damaged).unwrap();
        let reader = Reader::open(&directory).unwrap();
        let frame = ends.iter().position(|end| at < *end).unwrap();
        let (intervals, events) = (numbers(&reader), reader.table::<Event>().unwrap());
        // The first has the manifest; intervals and events take turns.
        let number = i64::try_from(frame.div_ceil(2)).unwrap();
        let (lost_interval, lost_event) = if frame % 2 == 1 { (number, 0) } else { (0, number) };
        assert_eq!(intervals, [1, 2].into_iter().filter(|n| *n != lost_interval).collect::<Vec<_>>(), "byte {at}");
        let events: Vec<i64> = events.iter().map(|event| event.t_ns).collect();
        assert_eq!(events, [1, 2].into_iter().filter(|n| *n != lost_event).collect::<Vec<_>>(), "byte {at}");
        let start = if frame == 0 { 0 } else { ends[frame - 1] };
        assert_eq!(reader.unreadable_bytes().unwrap(), (ends[frame] - start) as u64, "byte {at}");
        let damage = reader.damage().unwrap();
        assert!(damage.costs_rows(), "byte {at}");
        // Of the last frame only a whole header tells that it is there.
        let is_counted = frame + 1 < ends.len() || at - start >= 36;
        assert_eq!((damage.frames_lost, damage.frames), if is_counted { (1, 5) } else { (0, 4) }, "byte {at}");
    }
}

/// A small file system in memory; `None`, and a word about it, without the right to mount.
fn small_disk(size: u64) -> Option<testkit::MountedFileSystem> {
    if !testkit::require_root_or_skip() {
        return None;
    }
    let mounted = testkit::MountedFileSystem::tmpfs(size);
    if let Err(error) = &mounted {
        testkit::lacks(&format!("the right to mount a small tmpfs: {error}"));
    }
    mounted.ok()
}

/// Commits one interval after the other; the numbers that were committed, and the error that ended it.
fn fill(writer: &mut Writer, from: i64) -> (Vec<i64>, RecordingError) {
    let mut committed = Vec::new();
    let error = (from..from + 10_000)
        .find_map(|n| {
            writer.accept(&RowBatch::from_rows(&[interval(n, &[5])]).unwrap()).unwrap();
            writer.commit().map(|()| committed.push(n)).err()
        })
        .expect("a small disk is full at some time");
    (committed, error)
}

#[test]
fn a_full_disk_ends_the_journal_with_its_last_whole_commit_and_later_ones_stand_behind_it() {
    let Some(disk) = small_disk(256 << 10) else { return };
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![0; 100_000]).unwrap();
    let directory = disk.path().join("r");
    let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
    let (mut committed, error) = fill(&mut writer, 1);
    assert!(error.to_string().contains("No space left") && error.to_string().contains("r/journal"), "{error}");
    assert_eq!(numbers(&Reader::open(&directory).unwrap()), committed);
    std::fs::remove_file(&ballast).unwrap();
    let (more, _) = fill(&mut writer, 5_000);
    assert!(!more.is_empty());
    committed.extend(more);
    drop(writer);
    let reader = Reader::open(&directory).unwrap();
    assert_eq!((numbers(&reader), reader.unreadable_bytes().unwrap()), (committed, 0));
}

#[test]
fn a_seal_that_does_not_fit_leaves_the_journal_and_nothing_else() {
    let Some(disk) = small_disk(256 << 10) else { return };
    let directory = disk.path().join("r");
    let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
    let (committed, _) = fill(&mut writer, 1);
    std::fs::write(disk.path().join("ballast"), vec![0; 256 << 10]).unwrap_err();
    let error = writer.seal().unwrap_err().to_string();
    assert!(error.contains("No space left") && error.contains("r/"), "{error}");
    let mut names: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["journal", "manifest.json"]);
    let reader = Reader::open(&directory).unwrap();
    assert_eq!((reader.state(), numbers(&reader)), (RecordingState::CutShort, committed));
}

#[test]
fn a_reader_from_before_the_seal_reads_on_after_it() {
    let (_folder, directory) = fresh();
    let writer = written(&directory, 5);
    let reader = Reader::open(&directory).unwrap();
    assert_eq!(reader.state(), RecordingState::Open);
    writer.seal().unwrap();
    assert_eq!(numbers(&reader), [1, 2, 3, 4, 5]);
    assert_eq!(reader.tables().unwrap(), ["event", "op_interval"]);
}

#[test]
fn the_writer_follows_a_wall_clock_that_is_set_and_reports_the_step() {
    let (_folder, directory) = fresh();
    let mut writer = Writer::create(&directory, Manifest::new(&["test".into()])).unwrap();
    let start = ClockAnchor::now();
    let second = 1_000_000_000;
    let at = |passed_s: i64, step_s: i64| ClockAnchor {
        t_ns: start.t_ns + passed_s * second,
        wall_ns: start.wall_ns + (passed_s + step_s) * second,
    };
    assert_eq!(writer.follow_clock(at(1, 0)).unwrap(), None);
    let hour = writer.follow_clock(at(2, -3600)).unwrap().unwrap();
    assert!((hour + 3600 * second).abs() < second / 10, "an hour back, not {hour} ns");
    assert_eq!(writer.follow_clock(at(3, -3600)).unwrap(), None, "the writer reports the step once");
    assert_eq!(writer.follow_clock(at(90, -3600)).unwrap(), None, "a minute's anchor is no step");
    let reader = Reader::open(&directory).unwrap();
    let manifest = reader.manifest();
    assert_eq!(manifest.clock_anchors.len(), 3, "{:?}", manifest.clock_anchors);
    let off =
        |passed_s: i64, step_s: i64| (manifest.wall_ns_at(at(passed_s, 0).t_ns) - at(passed_s, step_s).wall_ns).abs();
    assert!(off(1, 0) < second / 10, "before the step by the old clock");
    assert!(off(2, -3600) == 0 && off(50, -3600) == 0, "and after it by the new one");
}

#[test]
fn several_recordings_are_read_as_one() {
    let (_first_folder, first) = fresh();
    let (_second_folder, second) = fresh();
    written(&first, 3).seal().unwrap();
    drop(written(&second, 2));
    let both = Recordings::open([&first, &second]).unwrap();
    let rows = both.rows::<OpInterval>().map(|row| row.map(|(index, row)| (index, row.ops)));
    assert_eq!(rows.collect::<Result<Vec<_>, _>>().unwrap(), [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2)]);
    for batch in both.batches("op_interval") {
        let (_, batch) = batch.unwrap();
        assert!(batch.column_by_name("time").is_some());
    }
    assert_eq!(both.tables().unwrap(), ["event", "op_interval"]);
    assert!(Recordings::open([&first, &first.join("nowhere")]).is_err());
}

#[test]
fn rows_of_an_older_version_have_null_or_the_default_where_a_column_is_missing() {
    let whole = RowBatch::from_rows(&[interval(7, &[100]), interval(8, &[200])]).unwrap();
    let schema = whole.rows.schema();
    let without = |gone: &[&str]| {
        let keep: Vec<usize> =
            (0..schema.fields().len()).filter(|at| !gone.contains(&schema.field(*at).name().as_str())).collect();
        RowBatch { table: whole.table, rows: whole.rows.project(&keep).unwrap() }
    };
    let rows = without(&["backlog", "service", "workload"]).to_rows::<OpInterval>().unwrap();
    assert_eq!((rows[0].ops, rows[0].backlog, rows[0].workload.as_str()), (7, None, ""));
    assert_eq!((rows[1].response.max(), rows[1].service.count()), (Some(200), 0));
    let events = RowBatch::from_rows(&[event(1)]).unwrap();
    let keep: Vec<usize> =
        (0..events.rows.num_columns()).filter(|at| events.rows.schema().field(*at).name() != "target").collect();
    let events = RowBatch { table: events.table, rows: events.rows.project(&keep).unwrap() };
    assert_eq!(events.to_rows::<Event>().unwrap()[0].target, None);
}

#[test]
fn sealed_tables_keep_the_portable_profile() {
    let (_folder, directory) = fresh();
    written(&directory, 50).seal().unwrap();
    let tables = [("op_interval", 50), ("event", 50)];
    for (table, rows) in tables {
        let mut hosts = std::fs::read_dir(directory.join(table)).unwrap();
        let host = hosts.next().unwrap().unwrap();
        assert!(host.file_name().to_str().unwrap().starts_with("host=") && hosts.next().is_none());
        let file = std::fs::File::open(host.path().join("000001.parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), rows);
        for column in reader.metadata().row_groups().iter().flat_map(|group| group.columns()) {
            let name = column.column_path().string();
            assert!(matches!(column.compression(), Compression::ZSTD(_)), "{name}");
            let kind = format!("{:?}", column.column_descr().logical_type_ref());
            assert!(!kind.contains("is_signed: false"), "{name}: {kind}");
            let encodings: Vec<Encoding> = column.encodings().collect();
            assert!(!encodings.contains(&Encoding::BYTE_STREAM_SPLIT), "{name}: {encodings:?}");
            let is_time = ["t_ns", "time"].contains(&name.as_str());
            assert_eq!(encodings.contains(&Encoding::DELTA_BINARY_PACKED), is_time, "{name}: {encodings:?}");
            let is_text = column.column_type() == parquet::basic::Type::BYTE_ARRAY && kind.contains("String");
            assert!(!is_text || encodings.contains(&Encoding::RLE_DICTIONARY), "{name}: {encodings:?}");
        }
    }
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
        let batch = RowBatch::from_rows(std::slice::from_ref(&row)).unwrap();
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

/// A traced I/O; every third has a file.
fn io(n: i64) -> Io {
    Io {
        queue_ns: n * 1000,
        issue_ns: (n % 5 > 0).then_some(n * 1000 + 10),
        complete_ns: Some(n * 1000 + 500),
        dev: "loop0".into(),
        op: if n % 2 == 0 { "read" } else { "write" }.into(),
        flags: Some("".into()),
        sector: n * 8 % 977,
        bytes: 4096,
        pid: Some(7),
        tid: Some(8),
        comm: Some("fio".into()),
        file: (n % 3 == 0).then(|| "/data/a".into()),
        bios: Some(1),
        requeues: Some(0),
        ..Io::default()
    }
}

#[test]
fn names_that_repeat_come_back_from_journal_and_parquet() {
    let scratch = tempfile::tempdir().unwrap();
    let check = |name: &str, change: fn(&mut Io)| {
        let directory = scratch.path().join(name);
        let mut rows: Vec<Io> = (0..5000).map(io).collect();
        rows.iter_mut().for_each(change);
        let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
        for part in rows.chunks(700) {
            writer.accept(&RowBatch::from_rows(part).unwrap()).unwrap();
        }
        writer.commit().unwrap();
        assert!(Reader::open(&directory).unwrap().table::<Io>().unwrap() == rows, "{name}: journal");
        writer.seal().unwrap();
        assert!(Reader::open(&directory).unwrap().table::<Io>().unwrap() == rows, "{name}: sealed");
    };
    check("some", |_| ());
    check("all", |io| io.file = Some("/x".into()));
    check("none", |io| io.file = None);
    check("bare", |io| (io.comm, io.file, io.pid, io.issue_ns) = (None, None, None, None));
    check("imported", |io| (io.complete_ns, io.flags, io.bios, io.requeues) = (None, None, None, None));
}

#[test]
fn waits_for_a_cpu_add_up_when_a_recording_is_made_coarser() {
    let (folder, directory) = fresh();
    let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
    let row = |second: i64| {
        let mut wait = Histogram::new(2);
        (0..=second).for_each(|_| wait.record(1000));
        wait.record(1_000_000 * u64::try_from(second).unwrap());
        RunQueue { t_ns: second * 1_000_000_000, t_s: second as f64, interval_ns: 1_000_000_000, wait }
    };
    writer.accept(&RowBatch::from_rows(&(1..=30).map(row).collect::<Vec<_>>()).unwrap()).unwrap();
    writer.commit().unwrap();
    let whole = Reader::open(writer.seal().unwrap()).unwrap();
    let coarse = folder.path().join("coarse");
    recording::thin(&whole, &coarse, 10_000_000_000).unwrap();
    let rows = Reader::open(&coarse).unwrap().table::<RunQueue>().unwrap();
    let seconds: Vec<i64> = rows.iter().map(|row| row.interval_ns / 1_000_000_000).collect();
    assert_eq!(seconds, [10, 10, 10]);
    assert_eq!(rows.iter().map(|row| row.wait.count()).sum::<u64>(), (1..=30).map(|second| second + 2).sum::<u64>());
    assert_eq!(
        rows.iter().map(|row| row.wait.max().unwrap()).collect::<Vec<_>>(),
        [10_000_000, 20_000_000, 30_000_000]
    );
}

/// The record of an I/O that was queued at `n`, by task 5.
fn raw_io(n: u64) -> RawIo {
    let mut raw = [0; IO_RECORD_BYTES];
    raw[..8].copy_from_slice(&n.to_ne_bytes());
    raw[8..16].copy_from_slice(&(n + 500).to_ne_bytes());
    raw[40..44].copy_from_slice(&5_u32.to_ne_bytes());
    raw
}

/// Few, which wait for the commit, and many, which do not, between rows of other tables.
#[test]
fn packed_ios_are_rows_in_their_order_whatever_is_around_them() {
    let (_folder, directory) = fresh();
    let task = IoTask { pid: 50, tid: 51, comm: "fio \"x\"".into(), cgroup: None };
    let names = IoNames { devices: vec![(0, "sda".into())], tasks: vec![(5, task)], files: Vec::new() };
    let all: Vec<RawIo> = (0..30_000).map(raw_io).collect();
    let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
    let mut ends = vec![0];
    for part in [0..3, 3..6003, 6003..6004, 6004..22_004, 22_004..30_000] {
        writer.accept(&RowBatch::from_rows(&[event(i64::try_from(part.start).unwrap())]).unwrap()).unwrap();
        writer.accept_ios(&names, &all[part]).unwrap();
        writer.commit().unwrap();
        ends.push(std::fs::metadata(directory.join("journal")).unwrap().len());
    }
    let queued = |reader: &Reader| -> Vec<i64> {
        let rows = reader.table::<Io>().unwrap();
        assert!(rows.iter().all(|row| row.pid == Some(50) && row.comm.as_deref() == Some("fio \"x\"")));
        assert!(rows.iter().all(|row| &*row.dev == "sda" && row.complete_ns == Some(row.queue_ns + 500)));
        rows.iter().map(|row| row.queue_ns).collect()
    };
    let open = Reader::open(&directory).unwrap();
    assert_eq!((open.tables().unwrap(), open.unreadable_bytes().unwrap()), (vec!["event".into(), "io".into()], 0));
    assert_eq!(queued(&open), (0..30_000).collect::<Vec<_>>());
    assert_eq!(open.table::<Event>().unwrap().len(), 5);

    // A byte within the second part, a journal cut within the fourth.
    let journal = std::fs::read(directory.join("journal")).unwrap();
    let (_folder, damaged) = fresh();
    std::fs::create_dir(&damaged).unwrap();
    std::fs::copy(directory.join("manifest.json"), damaged.join("manifest.json")).unwrap();
    let end = |at: usize| usize::try_from(ends[at]).unwrap();
    let mut bytes = journal[..end(4) - 100].to_vec();
    bytes[end(2) - 1000] ^= 1;
    std::fs::write(damaged.join("journal"), bytes).unwrap();
    let damaged = Reader::open(&damaged).unwrap();
    assert_eq!(queued(&damaged), [0, 1, 2, 6003]);
    assert_eq!(damaged.table::<Event>().unwrap().len(), 4);
    // Both parts but for the events before them, which take no more than the third part.
    let lost = (ends[2] - ends[1]) + (ends[4] - 100 - ends[3]);
    let unreadable = damaged.unreadable_bytes().unwrap();
    assert!((lost - 2 * (ends[3] - ends[2])..lost).contains(&unreadable), "{unreadable} of {lost}");

    writer.seal().unwrap();
    assert_eq!(queued(&Reader::open(&directory).unwrap()), (0..30_000).collect::<Vec<_>>());
}
