//! Every operation of the catalogue, and one that is in no catalogue, in charts, tables, shares and words: by counts.

use quantity::histogram::Histogram;
use recording::rows::{OpInterval, Phase, RunTotal};
use recording::{LoadPhase, Manifest, PhaseEdge, Reader, Row, RowBatch, Sink, Writer};
use std::collections::BTreeMap;
use view::{Body, Line, Selection};
use views::{Comparison, LineFold, compute, report_model};

const SECOND: i64 = 1_000_000_000;

/// One of these operations: its name, operations a second, bytes of each.
type Done<'a> = (&'a str, i64, i64);

fn times(ops: i64) -> Histogram {
    let mut times = Histogram::default();
    (0..ops).for_each(|at| times.record(1_000_000 + u64::try_from(at).unwrap()));
    times
}

fn interval(second: i64, (op, ops, bytes): Done<'_>) -> OpInterval {
    OpInterval {
        t_ns: (1 + second) * SECOND,
        t_s: second as f64,
        interval_ns: SECOND,
        run: "rd1".to_string(),
        run_index: 0,
        phase: LoadPhase::Measure,
        workload: "fwd1".to_string(),
        target: "fsd1".to_string(),
        op: op.to_string(),
        arrivals: Some(ops),
        ops,
        bytes: ops * bytes,
        errors: Some(0),
        response: times(ops),
        service: times(ops),
        wait: None,
        in_flight_mean: Some(1.0),
        backlog: Some(0),
    }
}

fn put<R: Row>(writer: &mut Writer, rows: &[R]) {
    writer.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
}

/// Four seconds of these.
fn recorded(done: &[Done<'_>]) -> (tempfile::TempDir, Reader) {
    const SECONDS: i64 = 4;
    let span = |event, s: i64| Phase {
        t_ns: s * SECOND,
        t_s: s as f64,
        run: "rd1".to_string(),
        run_index: 0,
        phase: LoadPhase::Measure,
        event,
        offered_rate: None,
        detail: String::new(),
    };
    let rows: Vec<OpInterval> =
        (1..=SECONDS).flat_map(|second| done.iter().map(move |one| interval(second, *one))).collect();
    let total = |(op, ops, bytes): &Done<'_>| RunTotal {
        t_ns: (1 + SECONDS) * SECOND,
        t_s: SECONDS as f64,
        start_t_ns: SECOND,
        short: None,
        run: "rd1".to_string(),
        run_index: 0,
        phase: LoadPhase::Measure,
        workload: "fwd1".to_string(),
        target: "fsd1".to_string(),
        op: (*op).to_string(),
        arrivals: Some(SECONDS * ops),
        ops: SECONDS * ops,
        bytes: SECONDS * ops * bytes,
        errors: Some(0),
        response: times(SECONDS * ops),
        service: times(SECONDS * ops),
        first_error: None,
        first_error_t_ns: None,
        wait: None,
    };
    let totals: Vec<RunTotal> = done.iter().map(total).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.iodyno");
    let mut manifest = Manifest::new(&[]);
    manifest.started_t_ns = SECOND;
    let mut writer = Writer::create(&path, manifest).unwrap();
    put(&mut writer, &[span(PhaseEdge::Start, 1), span(PhaseEdge::End, 1 + SECONDS)]);
    put(&mut writer, &rows);
    put(&mut writer, &totals);
    writer.commit().unwrap();
    writer.seal().unwrap();
    let reader = Reader::open(&path).unwrap();
    (folder, reader)
}

fn lines(reader: &Reader, id: &str) -> Vec<Line> {
    match compute(reader, id, &Selection::default()).unwrap().body {
        Body::Lines { lines, .. } | Body::Histogram { lines, .. } => lines,
        other => panic!("{id} has no lines: {other:?}"),
    }
}

/// The greatest value of each line, by name.
fn highest(reader: &Reader, id: &str) -> BTreeMap<String, f64> {
    lines(reader, id).iter().map(|line| (line.name.clone(), line.values.range().unwrap().1)).collect()
}

#[test]
fn every_operation_has_its_own_line_and_an_unknown_one_is_no_read() {
    let named = rates::OPS.into_iter().chain(["of_a_later_version"]);
    let done: Vec<Done<'_>> =
        (1..).zip(named).map(|(at, op)| (op, at, if rates::moves_data(op) { 4096 } else { 0 })).collect();
    let (_folder, reader) = recorded(&done);
    let (iops, bytes) = (highest(&reader, "run.iops"), highest(&reader, "run.throughput"));
    let shown = |op: &str| if rates::OPS.contains(&op) { op.to_string() } else { "other".to_string() };
    let all: i64 = done.iter().map(|(_, ops, _)| ops).sum();
    let mut expected: BTreeMap<String, f64> = done.iter().map(|(op, ops, _)| (shown(op), *ops as f64)).collect();
    expected.insert("all".to_string(), all as f64);
    assert_eq!(iops, expected);
    let moving = done.iter().filter(|(_, _, bytes)| *bytes > 0);
    let mut expected: BTreeMap<String, f64> =
        moving.map(|(op, ops, bytes)| (shown(op), (ops * bytes) as f64)).collect();
    assert_eq!(expected.len(), 9, "read, write, copy and six more: {expected:?}");
    expected.insert("all".to_string(), expected.values().sum());
    assert_eq!(bytes, expected);
    let names: Vec<String> = lines(&reader, "run.histogram").iter().map(|line| line.name.clone()).collect();
    assert_eq!(names, done.iter().map(|(op, _, _)| shown(op)).collect::<Vec<String>>());
    let facts = report_model(&reader).unwrap();
    let of = |wanted: fn(&str) -> bool| done.iter().filter(|one| wanted(one.0)).map(|one| one.1).sum::<i64>() as f64;
    let (reads, writes) = (of(rates::reads_data), of(rates::writes_data));
    assert_eq!(facts.runs[0].summary.read_percent, Some(100.0 * (reads / (reads + writes))));
}

#[test]
fn the_share_of_reads_is_the_same_in_every_face() {
    let cases: [(&[Done<'_>], Option<f64>); 5] = [
        (&[("readfile", 9, 8192), ("mmapread", 3, 4096), ("open", 9, 0), ("close", 9, 0)], Some(100.0)),
        (&[("append", 9, 8192), ("fsync", 9, 0)], Some(0.0)),
        (&[("read", 1, 4096), ("mmapread", 2, 4096), ("writefile", 4, 4096), ("mmapwrite", 5, 4096)], Some(25.0)),
        (&[("getattr", 9, 0), ("copyrange", 3, 4096)], None),
        (&[("later", 9, 4096)], None),
    ];
    for (done, expected) in cases {
        let (_one, reader) = recorded(done);
        let (_two, other) = recorded(done);
        let model = report_model(&reader).unwrap();
        assert_eq!(model.runs[0].summary.read_percent, expected, "{done:?}");
        let rows: Vec<OpInterval> = done.iter().map(|one| interval(1, *one)).collect();
        let mut fold = LineFold::default();
        fold.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        let line = fold.commit().remove(0);
        assert_eq!(line.read_percent(), expected, "{done:?}");
        assert_eq!((line.ops, line.by_op.sum().ops), (rows.iter().map(|row| row.ops).sum(), line.ops), "{done:?}");
        let sides = [("one".to_string(), reader), ("two".to_string(), other)];
        let comparison = Comparison::read(&sides, None).unwrap();
        let Body::Table(table) = comparison.draw("compare.figures").unwrap().remove(0).body else { panic!("no table") };
        let at = (0..table.rows()).find(|row| table.columns[0].cell(*row).starts_with("share of reads"));
        let cell = at.map(|row| table.columns[1].cell(row));
        let value = cell.as_deref().and_then(|cell| cell.split(' ').next()).and_then(|cell| cell.parse::<f64>().ok());
        assert_eq!(value, expected, "{done:?}: {cell:?}");
    }
}

#[test]
fn the_words_of_a_run_name_what_it_did_most() {
    let cases: [(&[Done<'_>], &str); 4] = [
        (&[("create", 5, 0), ("append", 9, 4096)], "append and create operations"),
        (
            &[
                ("read", 2, 512),
                ("open", 9, 0),
                ("readfile", 5, 1 << 20),
                ("fsync", 6, 0),
                ("close", 9, 0),
                ("rename", 1, 0),
            ],
            "readfile, open, close and other operations",
        ),
        (&[("trim", 9, 0)], "trim operations"),
        (&[("read", 9, 4096), ("write", 9, 4096), ("flush", 1, 0)], "50 % reads"),
    ];
    for (done, words) in cases {
        let (_folder, reader) = recorded(done);
        let sentence = report_model(&reader).unwrap().sentence;
        assert!(sentence.to_lowercase().contains(words), "{done:?}: {sentence}");
    }
}
