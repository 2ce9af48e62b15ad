//! Small recordings with known contents, and the program under test.

use quantity::histogram::{Histogram, STORED_SUB_BITS};
use recording::rows::{Disk, EngineInterval, Event, Io, OpInterval, RunTotal, TraceInterval};
use recording::{EventSeverity, LoadPhase, Manifest, RowBatch, Sink as _, Writer};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Seconds that a recording covers.
pub(crate) const SECONDS: i64 = 150;
/// Its start on the monotonic clock.
const START_NS: i64 = 1_000_000_000_000;

/// Response times of one interval, ns: a hundred of them, slower on the second target and as time goes on.
pub(crate) fn responses(second: i64, workload: usize, target: usize) -> Vec<u64> {
    let base = 50_000 * (1 + u64::try_from(target).unwrap()) + 1_000 * u64::try_from(second).unwrap();
    (0..100).map(|i| base + i * i * 37 * (1 + u64::try_from(workload).unwrap())).collect()
}

fn histogram(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new(STORED_SUB_BITS);
    values.iter().for_each(|value| histogram.record(*value));
    histogram
}

fn op_interval(second: i64, workload: usize, target: usize) -> OpInterval {
    let values = responses(second, workload, target);
    let response = histogram(&values);
    OpInterval {
        t_ns: START_NS + second * 1_000_000_000,
        t_s: second as f64,
        interval_ns: 1_000_000_000,
        run: "rd1".to_string(),
        run_index: 0,
        phase: if second <= 10 { LoadPhase::Warmup } else { LoadPhase::Measure },
        workload: ["oltp", "scan"][workload].to_string(),
        target: ["sd1", "sd2"][target].to_string(),
        op: "read".to_string(),
        arrivals: Some(100),
        ops: 100,
        bytes: 819_200,
        errors: Some(0),
        service: response.clone(),
        wait: None,
        response,
        in_flight_mean: Some(1.5),
        backlog: Some(second),
    }
}

fn t_ns(second: i64) -> i64 {
    START_NS + second * 1_000_000_000
}

fn disk(second: i64) -> Disk {
    Disk {
        t_ns: t_ns(second),
        t_s: second as f64,
        device: "loop0".to_string(),
        target: "sd1".to_string(),
        read_ios: Some(200 * second),
        read_merges: Some(0),
        read_sectors: Some(3_200 * second),
        read_ticks_ms: Some(50 * second),
        write_ios: Some(0),
        write_merges: Some(0),
        write_sectors: Some(0),
        write_ticks_ms: Some(0),
        in_flight: Some(1),
        io_ticks_ms: Some(40 * second),
        weighted_ticks_ms: Some(50 * second),
        ..Disk::default()
    }
}

fn engine(second: i64) -> EngineInterval {
    EngineInterval {
        t_ns: t_ns(second),
        t_s: second as f64,
        interval_ns: 1_000_000_000,
        run: "rd1".to_string(),
        run_index: 0,
        worker: 0,
        engine: "io_uring".to_string(),
        cpu_user_ns: 1_000_000,
        cpu_sys_ns: 2_000_000,
        wait: histogram(&[1_000, 2_000]),
        timestamp_age_ns_max: 500,
        submit_calls: 10,
        wakeups: 10,
        limited: second % 50 == 0,
        ..EngineInterval::default()
    }
}

/// Traced I/Os of one second, in the order of completion: a read, a write and a flush without a file.
pub(crate) fn ios(second: i64) -> Vec<Io> {
    let rows = [("read", Some("/data/table"), 100), ("write", Some("/data/log"), 200), ("flush", None, 300)];
    let rows = (1..).zip(rows).map(|(at, (op, file, us))| {
        let complete_ns = t_ns(second) + at * 1_000_000;
        Io {
            queue_ns: complete_ns - us * 1000 - second * 10,
            issue_ns: (op != "flush").then_some(complete_ns - us * 1000),
            complete_ns: Some(complete_ns),
            dev: "loop0".into(),
            op: op.into(),
            flags: Some("sync+direct".into()),
            sector: second * 8,
            bytes: if op == "flush" { 0 } else { 4096 * at },
            pid: Some(42),
            tid: Some(43),
            comm: Some(if op == "read" { "reader" } else { "writer" }.into()),
            inode: file.map(|_| 7),
            file: file.map(Into::into),
            bios: Some(1),
            requeues: Some(0),
            ..Io::default()
        }
    });
    rows.collect()
}

fn trace_interval(second: i64) -> TraceInterval {
    TraceInterval {
        t_ns: t_ns(second),
        t_s: second as f64,
        interval_ns: 1_000_000_000,
        ios: 3,
        reads: 1,
        bytes: 12_288,
        errors: 0,
        started: 3,
        lost_buffer: i64::from(second == 70),
        lost_table: 0,
        lost_end: 0,
        lost_start: 0,
        lost_names: 0,
        merges: 0,
        splits: 0,
        response: histogram(&[100_000, 200_000, 300_000]),
        consumer_cpu_ns: 1_000_000,
    }
}

/// How a recording was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Sealed,
    /// By a writer that was killed.
    Killed,
}

/// Writes a recording of [`SECONDS`] intervals; a killed one ends with half a frame.
pub(crate) fn record(directory: &Path, left: Left) {
    let mut writer = write_open(directory);
    writer.update_manifest(|manifest| manifest.exit = Some("complete".to_string())).unwrap();
    match left {
        Left::Sealed => drop(writer.seal().unwrap()),
        Left::Killed => {
            drop(writer);
            let journal = directory.join("journal");
            let mut bytes = std::fs::read(&journal).unwrap();
            let torn = bytes[..200].to_vec();
            bytes.extend(torn);
            std::fs::write(&journal, bytes).unwrap();
        }
    }
}

/// The same, still open.
pub(crate) fn write_open(directory: &Path) -> Writer {
    let mut manifest = Manifest::new(&["iodyno".to_string(), "run".to_string(), "test.vdb".to_string()]);
    manifest.started_t_ns = START_NS;
    manifest.clock_anchors = vec![recording::ClockAnchor { t_ns: START_NS, wall_ns: 1_700_000_000_000_000_000 }];
    let mut writer = Writer::create(directory, manifest).unwrap();
    for second in 1..=SECONDS {
        let rows: Vec<OpInterval> = (0..4).map(|at| op_interval(second, at / 2, at % 2)).collect();
        writer.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        writer.accept(&RowBatch::from_rows(&[disk(second)]).unwrap()).unwrap();
        writer.accept(&RowBatch::from_rows(&[engine(second)]).unwrap()).unwrap();
        writer.accept(&RowBatch::from_rows(&ios(second)).unwrap()).unwrap();
        writer.accept(&RowBatch::from_rows(&[trace_interval(second)]).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    let event = Event {
        t_ns: t_ns(75),
        t_s: 75.0,
        severity: EventSeverity::Warning,
        kind: "stall".into(),
        run: Some("rd1".to_string()),
        message: "sd1 did not answer for 2 s".to_string(),
        count: 1,
        ..Event::default()
    };
    writer.accept(&RowBatch::from_rows(&[event]).unwrap()).unwrap();
    let values: Vec<u64> = (11..=SECONDS).flat_map(|second| responses(second, 0, 0)).collect();
    let mut response = Histogram::default();
    values.iter().for_each(|value| response.record(*value));
    let total = RunTotal {
        t_ns: t_ns(SECONDS),
        t_s: SECONDS as f64,
        start_t_ns: t_ns(10),
        run: "rd1".to_string(),
        run_index: 0,
        phase: LoadPhase::Measure,
        workload: "oltp".to_string(),
        target: "sd1".to_string(),
        op: "read".to_string(),
        arrivals: Some(14_000),
        ops: 14_000,
        bytes: 114_688_000,
        errors: Some(0),
        service: response.clone(),
        response,
        ..RunTotal::default()
    };
    writer.accept(&RowBatch::from_rows(&[total]).unwrap()).unwrap();
    writer.commit().unwrap();
    writer
}

/// The exact percentile of values (999 for p99.9), as SQL should find it within a bucket.
pub(crate) fn exact(mut values: Vec<u64>, thousandths: usize) -> f64 {
    values.sort_unstable();
    let rank = (thousandths * values.len()).div_ceil(1000).max(1);
    values[rank - 1] as f64
}

/// `iodyno-query` with these arguments.
pub(crate) fn query<A: AsRef<std::ffi::OsStr>>(directory: &Path, arguments: &[A]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iodyno-query")).args(arguments).current_dir(directory).output().unwrap()
}

/// What it prints; it must succeed.
pub(crate) fn answer<A: AsRef<std::ffi::OsStr>>(directory: &Path, arguments: &[A]) -> String {
    let output = query(directory, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A directory with the recordings `results/monday` (sealed) and `results/tuesday` (killed).
pub(crate) fn results() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    record(&directory.path().join("results/monday"), Left::Sealed);
    record(&directory.path().join("results/tuesday"), Left::Killed);
    let path = directory.path().to_path_buf();
    (directory, path)
}
