//! What a recording costs: bytes per row, time per commit, time to seal, memory.
//!
//! `cargo test --release -p recording --test it -- --ignored cost::soak --nocapture` records 1,000 targets for three hours
//! at one-second intervals under a fake clock; `IODYNO_SOAK_SECONDS` and `IODYNO_SOAK_TARGETS` shorten it.

use quantity::clock::now_ns;
use quantity::histogram::{Histogram, HistogramRecorder, STORED_SUB_BITS};
use recording::rows::OpInterval;
use recording::{LoadPhase, Manifest, Reader, RowBatch, Sink, Writer};
use std::path::Path;

/// A small generator; the same numbers in every execution.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// In `[0, 1)`.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A service time as flash storage has it: log-normal around `median_ns` (σ 0.25), one in a hundred ten times longer.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few milliseconds")]
    fn service_ns(&mut self, median_ns: f64) -> u64 {
        let normal = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        let tail = if self.next().is_multiple_of(100) { 10.0 } else { 1.0 };
        (median_ns * (0.25 * normal).exp() * tail) as u64
    }
}

/// Response, service and waiting times of one interval of one target, all different, so that nothing compresses better than it
/// would in earnest.
#[derive(Default)]
struct Samples {
    response: HistogramRecorder,
    service: HistogramRecorder,
    wait: HistogramRecorder,
}

impl Samples {
    fn draw(&mut self, random: &mut Random, ops: u64) -> [Histogram; 3] {
        self.response.clear();
        self.service.clear();
        self.wait.clear();
        let median_ns = 80_000.0 + 60_000.0 * random.unit();
        for _ in 0..ops {
            let service_ns = random.service_ns(median_ns);
            self.service.record(service_ns);
            let wait_ns = 2_000 + random.next() % 8_000;
            self.wait.record(wait_ns);
            self.response.record(service_ns + wait_ns);
        }
        [&self.response, &self.service, &self.wait].map(|times| times.snapshot().collapse(STORED_SUB_BITS))
    }
}

struct Cost {
    rows: u64,
    journal_bytes: u64,
    sealed_bytes: u64,
    convert_ns: u64,
    commit_ns: Vec<u64>,
    seal_ns: u64,
    read_ns: u64,
    /// KiB after writing, after sealing.
    peaks: [u64; 2],
}

/// Records `seconds` intervals of `targets` targets, each with 50 reads and 50 writes.
fn record(directory: &Path, targets: usize, seconds: i64) -> Cost {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut samples = Samples::default();
    let names: Vec<String> = (0..targets).map(|target| format!("sd{target}")).collect();
    let mut writer = Writer::create(directory, Manifest::new(&[])).unwrap();
    let origin = i64::try_from(writer.started_t_ns()).unwrap();
    let mut cost = Cost {
        rows: 0,
        journal_bytes: 0,
        sealed_bytes: 0,
        convert_ns: 0,
        commit_ns: Vec::new(),
        seal_ns: 0,
        read_ns: 0,
        peaks: [0; 2],
    };
    for second in 1..=seconds {
        // A tick is never exact.
        let t_ns = origin + second * 1_000_000_000 + i64::try_from(random.next() % 60_000).unwrap();
        let mut rows = Vec::with_capacity(targets * 2);
        for name in &names {
            for op in ["read", "write"] {
                let [response, service, wait] = samples.draw(&mut random, 50);
                let ops = i64::try_from(response.count()).unwrap();
                rows.push(OpInterval {
                    t_ns,
                    t_s: (t_ns - origin) as f64 / 1e9,
                    interval_ns: 1_000_000_000,
                    run: "rd1".into(),
                    run_index: 0,
                    phase: LoadPhase::Measure,
                    workload: "wd1".into(),
                    target: name.clone(),
                    op: op.into(),
                    arrivals: Some(ops + i64::try_from(random.next() % 3).unwrap() - 1),
                    ops,
                    bytes: ops * 4096,
                    errors: Some(0),
                    in_flight_mean: Some(service.sum() as f64 / 1e9),
                    response,
                    service,
                    wait: Some(wait),
                    backlog: Some(i64::try_from(random.next() % 2).unwrap()),
                });
            }
        }
        let start = now_ns();
        let batch = RowBatch::from_rows(&rows).unwrap();
        let converted = now_ns();
        writer.accept(&batch).unwrap();
        writer.commit().unwrap();
        cost.convert_ns += converted - start;
        cost.commit_ns.push(now_ns() - converted);
        cost.rows += rows.len() as u64;
    }
    cost.journal_bytes = bytes_below(directory);
    cost.peaks[0] = peak_kib();
    let start = now_ns();
    writer.seal().unwrap();
    cost.seal_ns = now_ns() - start;
    cost.sealed_bytes = bytes_below(directory);
    cost.peaks[1] = peak_kib();
    let start = now_ns();
    let read: usize =
        Reader::open(directory).unwrap().batches("op_interval").unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    cost.read_ns = now_ns() - start;
    assert_eq!(read as u64, cost.rows);
    cost
}

fn bytes_below(path: &Path) -> u64 {
    if path.is_file() {
        return path.metadata().unwrap().len();
    }
    std::fs::read_dir(path).unwrap().map(|entry| bytes_below(&entry.unwrap().path())).sum()
}

/// The most memory that this process ever held, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn print(cost: &Cost) {
    let mut commits = cost.commit_ns.clone();
    commits.sort_unstable();
    let commit = |share: usize| commits[(commits.len() - 1) * share / 100] as f64 / 1e6;
    let per_row = |bytes: u64| bytes as f64 / cost.rows as f64;
    println!(
        "{} rows: journal {:.0} B/row, sealed {:.0} B/row; rows to batch {:.2} ms, commit p50 {:.2} p99 {:.2} max {:.2} ms; \
         sealed in {:.1} s ({:.2} µs/row), read in {:.1} s; peak memory {} MB written, {} sealed, {} read",
        cost.rows,
        per_row(cost.journal_bytes),
        per_row(cost.sealed_bytes),
        cost.convert_ns as f64 / cost.commit_ns.len() as f64 / 1e6,
        commit(50),
        commit(99),
        commit(100),
        cost.seal_ns as f64 / 1e9,
        cost.seal_ns as f64 / 1e3 / cost.rows as f64,
        cost.read_ns as f64 / 1e9,
        cost.peaks[0] / 1024,
        cost.peaks[1] / 1024,
        peak_kib() / 1024,
    );
}

#[test]
fn a_row_of_op_interval_takes_at_most_250_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let cost = record(&folder.path().join("r"), 1_000, 60);
    print(&cost);
    assert!(cost.sealed_bytes <= 250 * cost.rows, "{} bytes for {} rows", cost.sealed_bytes, cost.rows);
}

#[test]
#[ignore = "soak: writes gigabytes"]
fn soak_memory_stays_flat_over_three_hours_of_a_thousand_targets() {
    let number = |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let folder = tempfile::tempdir().unwrap();
    let targets = usize::try_from(number("IODYNO_SOAK_TARGETS", 1_000_i64)).unwrap();
    let cost = record(&folder.path().join("r"), targets, number("IODYNO_SOAK_SECONDS", 10_800));
    print(&cost);
    assert!(peak_kib() <= 200 * 1024, "{} MB", peak_kib() / 1024);
    assert!(cost.sealed_bytes <= 250 * cost.rows, "{} bytes for {} rows", cost.sealed_bytes, cost.rows);
}
