//! What stands on the terminal, as snapshots.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use quantity::histogram::Histogram;
use quantity::output::VisibleOutput;
use rates::{CpuPoint, KnownSum, OpCount, OpCounts};
use recording::rows::{OpInterval, RunTotal, StepInterval};
use recording::{LoadPhase, RowBatch, Sink};
use tui::{JsonLines, RunHeader, RunProgress, Terminal, TerminalLook, interval_line, json_line, progress_line};
use views::{AtLeast, HistogramSummary, IntervalLine};

fn fold(scale: f64) -> HistogramSummary {
    let at = |value: f64| Some(value * scale);
    HistogramSummary {
        mean: at(130.5),
        min: at(40.0),
        p50: at(120.0),
        p90: at(260.0),
        p99: at(700.0),
        p999: at(5_600.0),
        max: at(31_000.0),
        at_least: AtLeast::default(),
    }
}

fn line(phase: &str, ops: i64) -> IntervalLine {
    let count = |ops: i64| OpCount { arrivals: KnownSum::of(ops), ops, bytes: ops * 8192, errors: KnownSum::default() };
    let none = HistogramSummary::default();
    let mut by_op = OpCounts::default();
    by_op.add(0, count(ops * 7 / 10));
    by_op.add(1, count(ops * 3 / 10));
    IntervalLine {
        t_ns: 42_000_000_000,
        t_s: 12.5,
        interval_s: 1.0,
        run: "rd1".to_string(),
        run_index: 0,
        phase: phase.into(),
        arrivals: KnownSum::of(20_000),
        ops,
        bytes: ops * 8192,
        errors: KnownSum::default(),
        by_op,
        steps: Vec::new(),
        response: if ops > 0 { fold(1000.0) } else { none },
        service: if ops > 0 { fold(900.0) } else { none },
        wait: if ops > 0 { fold(20.0) } else { none },
        in_flight: KnownSum::of(2.44),
        backlog: KnownSum::of(if ops > 0 { 0 } else { 20_000 }),
        cpu: Some(CpuPoint { user: 3.2, system: 12.6, ..CpuPoint::default() }),
        limited: false,
    }
}

#[test]
fn interval_lines_fit_their_width() {
    let mut text = String::new();
    for width in [40, 60, 80, 120, 160] {
        for line in tui::header_lines(width).into_iter().chain([
            interval_line(&line("warmup", 19_876), 0.5, width),
            interval_line(&line("measure", 20_100), 0.5, width),
            interval_line(&line("measure", 0), 0.5, width),
        ]) {
            assert!(line.chars().count() <= width, "{width}: {line}");
            text.push_str(&line);
            text.push('\n');
        }
        text.push('\n');
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_stall_is_an_interval_in_which_something_waited_all_the_time() {
    for (in_flight, backlog, stalls) in [
        (Some(0.02), 0, false),
        (Some(0.0), 0, false),
        (Some(1.0), 0, true),
        (Some(0.0), 20_001, true),
        (None, 0, true),
    ] {
        let silent = IntervalLine { in_flight: in_flight.into(), backlog: KnownSum::of(backlog), ..line("measure", 0) };
        let text = interval_line(&silent, 0.5, 120);
        assert_eq!(text.ends_with("STALL"), stalls, "{in_flight:?} in flight, {backlog} waiting: {text}");
    }
}

#[test]
fn progress_fits_its_width() {
    let mut text = String::new();
    for (elapsed_s, left_s, width) in [
        (0.0, Some(600.0), 80),
        (150.0, Some(450.0), 120),
        (600.0, Some(0.0), 80),
        (7.0, None, 80),
        (9.0, Some(3.0), 40),
    ] {
        let progress = RunProgress { run: "rd1_(50%)".to_string(), index: 2, count: 12, elapsed_s, left_s };
        let line = progress_line(&progress, width);
        assert!(line.chars().count() <= width);
        text.push_str(&line);
        text.push('\n');
    }
    insta::assert_snapshot!(text);
}

#[test]
fn json_objects_carry_units_and_null_for_what_is_missing() {
    insta::assert_snapshot!(format!(
        "{}\n{}",
        json_line(&line("measure", 20_100), Some("0123456789abcdef"), Some(3)),
        json_line(&line("measure", 0), None, None)
    ));
}

fn batches() -> [RowBatch; 2] {
    let mut histogram = Histogram::default();
    (1..=100).for_each(|at| histogram.record(at * 10_000));
    let row = OpInterval {
        t_ns: 3_000_000_000,
        t_s: 2.0,
        interval_ns: 1_000_000_000,
        run: "rd1".to_string(),
        run_index: 0,
        phase: LoadPhase::Measure,
        workload: "wd1".to_string(),
        target: "sd1".to_string(),
        op: "read".to_string(),
        arrivals: Some(101),
        ops: 100,
        bytes: 409_600,
        errors: Some(1),
        response: histogram.collapse(5),
        service: histogram.collapse(5),
        wait: None,
        in_flight_mean: Some(0.05),
        backlog: Some(0),
    };
    let total = RunTotal {
        t_ns: row.t_ns,
        t_s: row.t_s,
        start_t_ns: 2_000_000_000,
        run: row.run.clone(),
        run_index: 0,
        phase: row.phase.clone(),
        workload: row.workload.clone(),
        target: row.target.clone(),
        op: row.op.clone(),
        arrivals: Some(101),
        ops: 100,
        bytes: 409_600,
        errors: Some(1),
        response: histogram.clone(),
        service: histogram,
        short: None,
        first_error: None,
        first_error_t_ns: None,
        wait: None,
    };
    [RowBatch::from_rows(&[row]).unwrap(), RowBatch::from_rows(&[total]).unwrap()]
}

#[test]
fn a_run_without_a_terminal_prints_plain_lines() {
    let mut out = Vec::new();
    let mut terminal =
        Terminal::new(VisibleOutput::new(&mut out), TerminalLook { width: 120, live: false, colour: false });
    let header = RunHeader {
        is_replay: false,
        title: "rd1".to_string(),
        count: 1,
        duration_s: Some(60.0),
        engine: "io_uring".to_string(),
        start_s: 1.0,
        ..RunHeader::default()
    };
    terminal.run_started(header).unwrap();
    let [interval, total] = batches();
    terminal.accept(&interval).unwrap();
    terminal.commit().unwrap();
    terminal.accept(&total).unwrap();
    terminal.commit().unwrap();
    terminal.run_ended().unwrap();
    terminal.finish(&["done".to_string()]).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains('\x1b') && !text.contains('\r'));
    insta::assert_snapshot!(text);
}

#[test]
fn json_lines_are_one_object_per_interval_and_nothing_else() {
    let mut out = Vec::new();
    let mut lines = JsonLines::new(VisibleOutput::new(&mut out));
    let [interval, total] = batches();
    for _ in 0..3 {
        lines.accept(&interval).unwrap();
        lines.commit().unwrap();
    }
    lines.accept(&total).unwrap();
    lines.commit().unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), 3);
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (value["schema"].as_str(), value["ops"].as_i64(), value["errors"].as_i64()),
            (Some("iodyno.interval/1"), Some(100), Some(1))
        );
    }
}

#[test]
fn json_lines_have_every_operation_that_occurred() {
    let [interval, _] = batches();
    let row = interval.to_rows::<OpInterval>().unwrap().remove(0);
    let named = (1..).zip(rates::OPS.into_iter().chain(["of_a_later_version"]));
    let rows: Vec<OpInterval> =
        named.map(|(ops, op)| OpInterval { op: op.to_string(), ops, bytes: ops * 512, ..row.clone() }).collect();
    let mut out = Vec::new();
    let mut lines = JsonLines::new(VisibleOutput::new(&mut out));
    lines.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
    lines.commit().unwrap();
    let object: serde_json::Value = serde_json::from_str(String::from_utf8(out).unwrap().trim()).unwrap();
    assert_eq!(object["by_op"].as_object().unwrap().len(), rows.len());
    for row in &rows {
        let name = if rates::OPS.contains(&row.op.as_str()) { row.op.as_str() } else { "other" };
        let of = &object["by_op"][name];
        assert_eq!((of["ops"].as_i64(), of["bytes"].as_i64()), (Some(row.ops), Some(row.bytes)), "{name}");
    }
}

#[test]
fn json_lines_of_trees_have_their_operations_and_steps() {
    let [mut interval, _] = batches();
    let mut row = interval.to_rows::<OpInterval>().unwrap().remove(0);
    row.op = "create".to_string();
    interval = RowBatch::from_rows(&[row.clone()]).unwrap();
    let step = |target: &str, ops| StepInterval {
        t_ns: row.t_ns,
        t_s: row.t_s,
        interval_ns: row.interval_ns,
        run: row.run.clone(),
        phase: row.phase.clone(),
        workload: "fwd1".to_string(),
        target: target.to_string(),
        op: "open".to_string(),
        ops,
        bytes: 0,
        errors: 2,
        service: row.service.clone(),
        ..StepInterval::default()
    };
    let mut out = Vec::new();
    let mut lines = JsonLines::new(VisibleOutput::new(&mut out));
    lines.accept(&interval).unwrap();
    lines.accept(&RowBatch::from_rows(&[step("fsd1", 30), step("fsd2", 12)]).unwrap()).unwrap();
    lines.commit().unwrap();
    lines.accept(&interval).unwrap();
    lines.commit().unwrap();
    let text = String::from_utf8(out).unwrap();
    let objects: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 2);
    assert_eq!((&objects[0]["ops"], &objects[0]["by_op"]["create"]["ops"]), (&100.into(), &100.into()));
    let open = &objects[0]["steps"]["open"];
    assert_eq!((&open["ops"], &open["bytes"], &open["errors"]), (&42.into(), &0.into(), &4.into()));
    assert_eq!(open["service_ns"]["max"].as_u64(), row.service.max());
    assert_eq!(objects[0]["bytes"], row.bytes);
    // An interval without steps says nothing of them.
    assert!(objects[1].get("steps").is_none());
}

/// A pipe whose reader is gone.
struct Closed;

impl std::io::Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_output_is_its_own_error() {
    let mut lines = JsonLines::new(VisibleOutput::new(Closed));
    lines.accept(&batches()[0]).unwrap();
    assert!(tui::is_closed(&lines.commit().unwrap_err()));
    assert!(tui::is_closed(
        &Terminal::new(VisibleOutput::new(Closed), TerminalLook { width: 80, live: true, colour: true })
            .note("x")
            .unwrap_err()
    ));
}
