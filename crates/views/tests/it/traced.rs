//! Views of traces whose figures are known, because the rows were made by hand.

use recording::rows::Io;
use recording::{Label, Manifest, Reader, RowBatch, Sink, Writer};
use view::{Body, Cells, Selection, ViewData, ViewTable};
use views::{compute, report_model};

/// A write of 4 KiB by `db` on `sda`, 10 µs in the scheduler and 90 µs at the device, queued at `ms`.
fn io(ms: i64, sector: i64) -> Io {
    let queue_ns = ms * 1_000_000;
    Io {
        queue_ns,
        issue_ns: Some(queue_ns + 10_000),
        complete_ns: Some(queue_ns + 100_000),
        dev: Label::from("sda"),
        op: Label::from("write"),
        flags: Some(Label::from("sync+direct")),
        sector,
        bytes: 4096,
        pid: Some(7),
        tid: Some(7),
        comm: Some(Label::from("db")),
        cgroup: Some(Label::from("/db")),
        inode: None,
        file: None,
        owner_pid: None,
        owner_comm: None,
        error: None,
        bios: Some(1),
        requeues: Some(0),
    }
}

/// A sealed recording of these rows, in the order of completion as the tracer writes them.
fn recorded(mut rows: Vec<Io>) -> (tempfile::TempDir, Reader) {
    let folder = tempfile::tempdir().unwrap();
    rows.sort_by_key(|io| io.complete_ns);
    let path = folder.path().join("t.iodyno");
    let mut writer = Writer::create(&path, Manifest::new(&[])).unwrap();
    for rows in rows.chunks(1000) {
        writer.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
    }
    writer.commit().unwrap();
    writer.seal().unwrap();
    let reader = Reader::open(&path).unwrap();
    (folder, reader)
}

fn view(reader: &Reader, id: &str) -> ViewData {
    compute(reader, id, &Selection::default()).unwrap_or_else(|error| panic!("{id}: {error}"))
}

fn table(reader: &Reader, id: &str) -> ViewTable {
    match view(reader, id).body {
        Body::Table(table) => table,
        other => panic!("{id} is no table: {other:?}"),
    }
}

fn number(table: &ViewTable, column: &str, row: usize) -> f64 {
    let found = table.columns.iter().find(|known| known.name == column).unwrap_or_else(|| panic!("no {column}"));
    match &found.cells {
        Cells::Numbers(numbers) => numbers[row],
        Cells::Text(texts) => texts[row].parse().unwrap(),
    }
}

/// Names and values of a view's lines.
fn lines(view: &ViewData) -> Vec<(String, Vec<f64>)> {
    match &view.body {
        Body::Lines { lines, .. } | Body::Histogram { lines, .. } => {
            lines.iter().map(|line| (line.name.clone(), line.values.to_vec())).collect()
        }
        other => panic!("no lines: {other:?}"),
    }
}

#[test]
fn two_copies_side_by_side_are_sequential_as_streams_and_by_process_only() {
    let mut rows = Vec::new();
    for at in 0..500_i64 {
        rows.push(io(2 * at, 8 * at));
        rows.push(Io { pid: Some(8), comm: Some(Label::from("cp")), ..io(2 * at + 1, 1_000_000 + 8 * at) });
    }
    let (_folder, reader) = recorded(rows);
    let shares = lines(&view(&reader, "trace.sequential"));
    // Both streams start once: in the first stretch.
    let last = |name: &str| *shares.iter().find(|line| line.0 == name).unwrap().1.last().unwrap();
    assert_eq!((last("of a stream"), last("of the device"), last("of the process")), (100.0, 0.0, 100.0));
    let processes = table(&reader, "trace.processes");
    assert_eq!(processes.rows(), 2);
    assert_eq!(number(&processes, "I/Os", 0), 500.0);
    assert_eq!(number(&processes, "sequential", 0), 99.8, "the first of 500 continues nothing");
}

#[test]
fn times_depth_and_rates_are_exact() {
    let (_folder, reader) = recorded((0..1000).map(|at| io(at, 8 * ((at * 7919) % 1000))).collect());
    let devices = table(&reader, "trace.devices");
    assert_eq!(number(&devices, "I/Os", 0), 1000.0);
    assert_eq!(number(&devices, "bytes", 0), 4_096_000.0);
    assert_eq!(number(&devices, "reads", 0), 0.0);
    assert_eq!(number(&devices, "mean", 0), 100_000.0);
    assert_eq!(number(&devices, "mean wait", 0), 10_000.0);
    assert_eq!(number(&devices, "mean device", 0), 90_000.0);
    // 1000 I/Os of 0.1 ms within 999.1 ms.
    assert!((number(&devices, "in flight", 0) - 0.1 / 0.9991).abs() < 1e-9);
    let flying = lines(&view(&reader, "trace.queue_depth"));
    assert!(flying[0].1.iter().take(10).all(|depth| (depth - 0.1).abs() < 1e-9), "{flying:?}");
    assert!(flying[1].1.iter().take(10).all(|depth| (depth - 0.09).abs() < 1e-9), "{flying:?}");
    let rates = lines(&view(&reader, "trace.iops"));
    assert_eq!(rates[0].0, "write");
    assert!(rates[0].1.iter().take(10).all(|rate| (rate - 1000.0).abs() < 1e-6), "{rates:?}");
    // Arrivals by a clock.
    let bursts = table(&reader, "trace.bursts");
    assert!(number(&bursts, "dispersion", 0) < 0.01, "{}", number(&bursts, "dispersion", 0));
    assert_eq!(number(&bursts, "greatest rate", 0), 1000.0);
}

#[test]
fn a_block_used_every_tenth_time_is_seen_as_such() {
    // Ten blocks in turn, one a millisecond: each is used again after 10 ms.
    let (_folder, reader) = recorded((0..1000).map(|at| io(at, 8 * (at % 10))).collect());
    let again = view(&reader, "trace.rereference");
    let Body::Histogram { edges, lines: bars } = &again.body else { panic!() };
    let full: Vec<usize> = (0..bars[0].values.len()).filter(|at| bars[0].values[*at] > 0.0).collect();
    assert_eq!(full.len(), 1, "all in one octave");
    assert!(edges[full[0]] <= 10e6 && 10e6 < edges[full[0] + 1]);
    assert_eq!(bars[0].values[full[0]], 990.0);
    let set = view(&reader, "trace.working_set");
    let Body::Lines { x, lines: curve, .. } = &set.body else { panic!() };
    let at = |ns: f64| curve[0].values[x.iter().position(|window| *window >= ns).unwrap()];
    // Within a window shorter than 1 ms at most one block; from 10 ms on all ten, but for the trace's start.
    assert!(at(500_000.0) < 4096.0 && (at(100e6) / 40960.0 - 1.0).abs() < 0.02, "{} {}", at(500_000.0), at(100e6));
}

#[test]
fn the_slowest_tell_what_went_on_around_them() {
    let mut rows: Vec<Io> = (0..2000).map(|at| io(at, 8 * at)).collect();
    // One that takes 50.5 ms: 50 others are queued meanwhile and done before it, one of them a flush.
    rows[1000].complete_ns = Some(rows[1000].queue_ns + 50_500_000);
    rows[1010] = Io { op: Label::from("flush"), bytes: 0, sector: 0, ..io(1010, 0) };
    // On another device nothing of this matters.
    rows.push(Io { dev: Label::from("sdb"), ..io(1020, 5) });
    let (_folder, reader) = recorded(rows);
    let slowest = table(&reader, "trace.slowest");
    assert_eq!(slowest.rows(), 100);
    assert_eq!(number(&slowest, "response", 0), 50_500_000.0);
    assert_eq!(number(&slowest, "in flight before", 0), 0.0);
    assert_eq!(number(&slowest, "queued meanwhile", 0), 50.0);
    assert_eq!(number(&slowest, "of them faster", 0), 50.0);
    assert_eq!(number(&slowest, "flushes etc.", 0), 1.0);
    assert_eq!(number(&slowest, "bytes", 0), 49.0 * 4096.0);
}

#[test]
fn addresses_fall_into_their_rows_however_the_map_grows() {
    // A stream over 64 GiB in 100 s, which makes both axes grow many times.
    let rows: Vec<Io> = (0..10_000).map(|at| io(10 * at, at * 13_107)).collect();
    let (_folder, reader) = recorded(rows);
    let map = view(&reader, "trace.addresses");
    let Body::Heat { x_edges, y_edges, counts, .. } = &map.body else { panic!() };
    assert_eq!(counts.iter().sum::<f64>(), 10_000.0);
    let rows = y_edges.len() - 1;
    for (column, cells) in counts.chunks(rows).enumerate() {
        for (row, _) in cells.iter().enumerate().filter(|cell| *cell.1 > 0.0) {
            // Byte = 13107 × 512 / 10 ms × time.
            let bytes = |s: f64| s * 100.0 * 13_107.0 * 512.0;
            assert!(bytes(x_edges[column + 1]) >= y_edges[row] && bytes(x_edges[column]) <= y_edges[row + 1] * 1.001);
        }
    }
}

#[test]
fn the_views_separate_hot_spots_from_even_use() {
    // Half of the I/Os in one MiB of a hundred.
    let rows = (0..2000).map(|at| io(at, 2048 * if at % 2 == 0 { 3 } else { at / 2 % 100 })).collect();
    let (_folder, reader) = recorded(rows);
    let regions = table(&reader, "trace.hot_regions");
    assert_eq!(number(&regions, "share", 0), 50.5);
    let curve = lines(&view(&reader, "trace.hot_spots"));
    assert_eq!((curve[0].1[1], curve[1].1[1]), (50.5, 1.0), "one per cent of the regions has half of the I/Os");
}

#[test]
fn the_report_of_a_trace_is_about_the_trace_and_one_without_has_no_views_of_it() {
    let (_folder, reader) = recorded((0..100).map(|at| io(at, 8 * at)).collect());
    let model = report_model(&reader).unwrap();
    assert!(model.sentence.starts_with("100 I/Os traced"), "{}", model.sentence);
    assert!(model.figures.iter().any(|figure| figure.label == "IOPS"));
    let traced = model.overview.iter().filter(|view| view.id.starts_with("trace.")).count();
    assert!(traced >= 22, "{traced}");
    let (_folder, reader) = recorded(Vec::new());
    assert!(report_model(&reader).unwrap().overview.is_empty());
    let error = compute(&reader, "trace.iops", &Selection::default()).unwrap_err().to_string();
    assert!(error.contains("no traced I/O"), "{error}");
}

#[test]
fn ios_without_times_are_in_no_figure_of_times() {
    let all = || (0..1000).map(|at| io(at, 8 * ((at * 7919) % 1000)));
    let half = all().enumerate().map(|(at, row)| match at % 2 {
        0 => row,
        _ => Io { complete_ns: None, issue_ns: None, flags: None, bios: None, requeues: None, ..row },
    });
    let (_folder, reader) = recorded(half.collect());
    let devices = table(&reader, "trace.devices");
    assert_eq!(number(&devices, "I/Os", 0), 1000.0);
    assert_eq!(number(&devices, "bytes", 0), 4_096_000.0);
    for (name, ns) in [("mean", 100_000.0), ("max", 100_000.0), ("mean wait", 10_000.0), ("mean device", 90_000.0)] {
        assert_eq!(number(&devices, name, 0), ns, "{name}");
    }
    assert_eq!(table(&reader, "trace.slowest").rows(), 100);
    let none = all().map(|row| Io { complete_ns: None, issue_ns: None, ..row });
    let (_folder, reader) = recorded(none.collect());
    assert_eq!(number(&table(&reader, "trace.devices"), "I/Os", 0), 1000.0);
    for view in [
        "trace.response",
        "trace.histogram",
        "trace.percentiles",
        "trace.response_heatmap",
        "trace.queue_depth",
        "trace.slowest",
        "trace.wait",
    ] {
        let drawn = compute(&reader, view, &Selection::default());
        assert!(drawn.is_err(), "{view} shows times that are unknown");
    }
    for view in ["trace.iops", "trace.addresses", "trace.inter_arrival", "trace.working_set", "trace.sizes"] {
        let drawn = compute(&reader, view, &Selection::default());
        assert!(drawn.is_ok(), "{view}: {:?}", drawn.err());
    }
}
