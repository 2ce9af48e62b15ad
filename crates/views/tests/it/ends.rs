//! A trace that ended while I/Os were on their way: where they count, where they do not, and where they stand.

use recording::rows::Io;
use recording::{Label, Manifest, Reader, RowBatch, Sink, Writer};
use view::{Body, Cells, Selection, ViewTable};
use views::{compute, report_model};
use workload::traced::{
    ends::{TRACE_BEGAN, TRACE_ENDED},
    rows::each_traced,
};

/// A read of 4 KiB by `db` on `sda` that took 100 µs, queued at `ms`.
fn io(ms: i64, sector: i64) -> Io {
    let queue_ns = ms * 1_000_000;
    Io {
        queue_ns,
        issue_ns: Some(queue_ns + 10_000),
        complete_ns: Some(queue_ns + 100_000),
        dev: Label::from("sda"),
        op: Label::from("read"),
        flags: Some(Label::from("sync")),
        sector,
        bytes: 4096,
        pid: Some(7),
        tid: Some(7),
        comm: Some(Label::from("db")),
        cgroup: None,
        inode: None,
        file: None,
        owner_pid: None,
        owner_comm: None,
        error: None,
        bios: Some(1),
        requeues: Some(0),
    }
}

/// The same, of which no end was seen until the trace ended.
fn open(ms: i64, sector: i64) -> Io {
    Io { complete_ns: None, flags: Some(Label::from("sync+unfinished")), ..io(ms, sector) }
}

/// A trace that ended at `ended_ms`; the rows stand in it as they are given.
fn recorded(rows: &[Io], ended_ms: i64, seal: bool) -> (tempfile::TempDir, Reader) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.iodyno");
    let mut manifest = Manifest::new(&[]);
    let open = rows.iter().filter(|io| io.complete_ns.is_none()).count();
    manifest.extra.insert("trace_unfinished".to_string(), open.into());
    manifest.extra.insert(TRACE_ENDED.to_string(), (ended_ms * 1_000_000).into());
    let mut writer = Writer::create(&path, manifest).unwrap();
    for rows in rows.chunks(1000) {
        writer.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    if seal {
        writer.seal().unwrap();
    }
    let reader = Reader::open(&path).unwrap();
    (folder, reader)
}

fn table(reader: &Reader, id: &str) -> ViewTable {
    match compute(reader, id, &Selection::default()).unwrap().body {
        Body::Table(table) => table,
        other => panic!("{id} is no table: {other:?}"),
    }
}

fn number(table: &ViewTable, column: &str, row: usize) -> Option<f64> {
    let found = table.columns.iter().find(|known| known.name == column).unwrap();
    match &found.cells {
        Cells::Numbers(values) => values.get_some(row),
        Cells::Text(_) => panic!("{column} is text"),
    }
}

fn text(table: &ViewTable, column: &str) -> Vec<String> {
    let found = table.columns.iter().find(|known| known.name == column).unwrap();
    match &found.cells {
        Cells::Text(cells) => cells.clone(),
        Cells::Numbers(_) => panic!("{column} is numbers"),
    }
}

/// 70,000 that end, more than are sorted at a time, and three that do not, which the table has at its end.
fn rows() -> Vec<Io> {
    (0..70_000).map(|at| io(at, 8 * (at % 1000))).chain([open(2, 0), open(500, 8), open(60_000, 16)]).collect()
}

#[test]
fn they_come_when_they_were_queued_sealed_or_not() {
    for seal in [true, false] {
        let (_folder, reader) = recorded(&rows(), 75_000, seal);
        let (mut times, mut open) = (Vec::new(), Vec::new());
        each_traced(&reader, |io| {
            times.push(io.queue_ns);
            open.extend(io.complete_ns.is_none().then_some(io.queue_ns / 1_000_000));
        })
        .unwrap();
        assert_eq!((times.len(), open), (70_003, vec![2, 500, 60_000]), "sealed: {seal}");
        assert!(times.is_sorted(), "sealed: {seal}");
    }
}

#[test]
fn they_count_as_ios_and_in_no_response_time() {
    let (_folder, reader) = recorded(&rows(), 75_000, true);
    let devices = table(&reader, "trace.devices");
    assert_eq!(number(&devices, "I/Os", 0), Some(70_003.0));
    assert_eq!((number(&devices, "mean", 0), number(&devices, "max", 0)), (Some(100_000.0), Some(100_000.0)));
    let model = report_model(&reader).unwrap();
    assert!(model.sentence.starts_with("70,003 I/Os traced in 1 min 15 s"), "{}", model.sentence);
    assert!(model.sentence.contains("without 3 whose end is not known"), "{}", model.sentence);
    let words = "3 I/Os had not ended when the trace ended; no response time counts them.";
    assert!(model.warnings.iter().any(|warning| warning.text == words), "{:?}", model.warnings);
    // The third is there from 60 s to 75 s, the others nearly all the time.
    let Body::Lines { lines, .. } = compute(&reader, "trace.queue_depth", &Selection::default()).unwrap().body else {
        panic!()
    };
    let depth = &lines[0].values;
    let at = |tenths: usize| depth.get_some(depth.len() * tenths / 10).unwrap();
    assert!((at(5) - 2.1).abs() < 0.01 && (at(9) - 3.1).abs() < 0.01, "{} {}", at(5), at(9));
    let gaps = compute(&reader, "trace.inter_arrival", &Selection::default()).unwrap().body;
    let Body::Histogram { edges, .. } = gaps else { panic!() };
    assert!(edges[edges.len() - 1] < 1.2e6, "nothing came more than 1 ms after another: {edges:?}");
}

#[test]
fn among_the_slowest_they_stand_by_how_long_they_were_on_their_way() {
    let mut rows = rows();
    rows[1000].complete_ns = Some(rows[1000].queue_ns + 50_500_000);
    rows[..70_000].sort_by_key(|io| io.complete_ns);
    // Not as long as the one that took 50 ms.
    rows.push(open(74_990, 0));
    let (_folder, reader) = recorded(&rows, 75_000, true);
    let slowest = table(&reader, "trace.slowest");
    assert_eq!(slowest.rows(), 100);
    let ends = text(&slowest, "end");
    assert!(ends[4].starts_with("no end seen, at least 10.0 ms"), "{}", ends[4]);
    assert_eq!(
        ends[..4],
        ["no end seen, at least 75.0 s", "no end seen, at least 74.5 s", "no end seen, at least 15.0 s", ""]
    );
    assert_eq!((number(&slowest, "response", 0), number(&slowest, "response", 3)), (None, Some(50_500_000.0)));
    assert_eq!(number(&slowest, "queued meanwhile", 2), Some(10_001.0));
    // Without any, there is no column for it.
    let (_folder, reader) = recorded(&rows[..70_000], 75_000, true);
    assert!(table(&reader, "trace.slowest").columns.iter().all(|column| column.name != "end"));
}

#[test]
fn an_end_that_was_missed_is_no_io_that_hangs() {
    let mut rows = rows();
    rows[10].complete_ns = None;
    let (_folder, reader) = recorded(&rows[..70_000], 75_000, true);
    let slowest = table(&reader, "trace.slowest");
    assert!((0..100).all(|row| number(&slowest, "response", row) == Some(100_000.0)));
}

/// As in a log of another tool that has neither times nor ends.
#[test]
fn those_of_the_same_moment_stand_in_the_order_of_the_table() {
    let rows: Vec<Io> = (0..300).map(|at| Io { flags: None, ..open(at / 100, at * 8) }).collect();
    let (_folder, reader) = recorded(&rows, 10, true);
    let mut sectors = Vec::new();
    each_traced(&reader, |io| sectors.push(io.sector)).unwrap();
    assert_eq!(sectors, (0..300).map(|at| at * 8).collect::<Vec<_>>());
}

#[test]
fn no_address_and_no_time_keeps_the_analysis_from_ending() {
    let odd = |sector: i64, bytes: i64| Io { bytes, ..io(5, sector) };
    let mut rows: Vec<Io> = (0..10).map(|at| io(at, 8 * at)).collect();
    rows.extend([
        odd(i64::MAX, 4096),
        odd(i64::MAX / 512, i64::MAX),
        odd(-1, 4096),
        odd(i64::MIN, 0),
        odd(8, i64::MIN),
    ]);
    rows.push(Io { dev: Label::from("sdb"), ..odd(i64::MAX / 513, 512) });
    rows.push(Io { queue_ns: i64::MAX - 5, complete_ns: Some(i64::MAX), ..io(5, 8) });
    rows.push(Io { queue_ns: i64::MIN, complete_ns: Some(i64::MIN), ..io(5, 8) });
    let (_folder, reader) = recorded(&rows, 20, true);
    let model = report_model(&reader).unwrap();
    assert!(model.sentence.starts_with("18 I/Os traced"), "{}", model.sentence);
}

/// 600 I/Os in the second second of a trace of four, or two within a millisecond.
#[test]
fn rates_are_over_the_time_traced_however_few_ios_came() {
    let traced = |rows: &[Io], has_span: bool| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.iodyno");
        let mut manifest = Manifest::new(&[]);
        for (name, ms) in [(TRACE_BEGAN, 10_000_i64), (TRACE_ENDED, 14_000)].into_iter().filter(|_| has_span) {
            manifest.extra.insert(name.to_string(), (ms * 1_000_000).into());
        }
        let mut writer = Writer::create(&path, manifest).unwrap();
        writer.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
        writer.seal().unwrap();
        let reader = Reader::open(&path).unwrap();
        (folder, reader)
    };
    let two = [io(11_000, 0), io(11_001, 8)];
    let (_folder, reader) = traced(&two, true);
    let said = report_model(&reader).unwrap().sentence;
    assert!(said.starts_with("2 I/Os traced in 4.00 s on sda"), "{said}");
    assert_eq!(number(&table(&reader, "trace.devices"), "rate", 0), Some(0.5));
    assert_eq!(text(&table(&reader, "trace.slowest"), "queued at")[0], "1.000000 s");
    let bursts = table(&reader, "trace.bursts");
    assert_eq!((0..3).map(|row| number(&bursts, "mean rate", row)).collect::<Vec<_>>(), [Some(0.5); 3]);
    // What is imported tells of nothing but its I/Os.
    let (_folder, reader) = traced(&two, false);
    assert_eq!(number(&table(&reader, "trace.devices"), "rate", 0), Some(2.0 / 0.0011));

    let many: Vec<Io> = (0..600).map(|at| io(11_000 + at, 8 * at)).collect();
    let (_folder, reader) = traced(&many, true);
    assert_eq!(number(&table(&reader, "trace.devices"), "rate", 0), Some(150.0));
    let Body::Lines { x, lines, .. } = compute(&reader, "trace.iops", &Selection::default()).unwrap().body else {
        panic!()
    };
    let last = x.len() - 1;
    assert!((x.get_some(last).unwrap() - 3.975).abs() < 1e-9, "the chart goes on to the end");
    assert_eq!((lines[0].values.get_some(0), lines[0].values.get_some(last)), (Some(0.0), Some(0.0)));
}
