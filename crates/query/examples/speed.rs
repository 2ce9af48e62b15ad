//! How fast SQL is: 20 million rows grouped by second and device, with p99.
//!
//! `speed [ROWS] [VALUES]` writes ten recordings with ROWS rows of `op_interval` in all, VALUES response times in each row's
//! histogram, and prints the best of five answers to each of three questions, by the clock and in CPU time.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench: it prints, and what fails ends it")]

use quantity::clock;
use quantity::histogram::{Histogram, STORED_SUB_BITS};
use query::{AnswerFormat, Database, QuerySources, write};
use recording::rows::OpInterval;
use recording::{ExportFormat, LoadPhase, Manifest, RowBatch, Sink as _, Writer};
use std::path::{Path, PathBuf};

const ROUNDS: usize = 5;
const RECORDINGS: i64 = 10;
const DEVICES: i64 = 16;
/// Rows of one device in a second.
const ROWS_PER_SECOND: i64 = 1000;

const QUESTIONS: [(&str, &str); 3] = [
    (
        "histogram of each row merged",
        "select floor(t_s) as second, target, percentile(response, 0.99) as p99 from op_interval group by 1, 2",
    ),
    (
        "plain column, a value per row (as one row per I/O)",
        "select floor(t_s) as second, target, percentile(response_ns_max, 0.99) as p99 from op_interval group by 1, 2",
    ),
    (
        "stored percentile column, its maximum",
        "select floor(t_s) as second, target, max(response_ns_p99) as worst_p99 from op_interval group by 1, 2",
    ),
];

fn main() {
    let number = |at, default| std::env::args().nth(at).map_or(default, |text| text.parse::<i64>().unwrap());
    let (rows, values) = (number(1, 20_000_000), number(2, 20));
    let folder = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
    let paths: Vec<PathBuf> = (0..RECORDINGS).map(|at| folder.path().join(format!("r{at}"))).collect();
    let started = clock::now_ns();
    let histograms = histograms(values);
    for (at, path) in (0..).zip(&paths) {
        record(path, at, rows / RECORDINGS, &histograms);
    }
    let bytes: u64 = paths.iter().map(|path| size_of_table(path)).sum();
    let seconds = (clock::now_ns() - started) as f64 / 1e9;
    println!(
        "{rows} rows with {values} values each, {:.1} bytes per row in Parquet, written in {seconds:.0} s",
        bytes as f64 / rows as f64
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let database = Database::new(QuerySources::open(&paths).unwrap()).unwrap();
    for (what, sql) in QUESTIONS {
        let (mut best, mut cpu) = (f64::INFINITY, f64::INFINITY);
        let mut groups = 0;
        for _ in 0..ROUNDS {
            let (started, before) = (clock::now_ns(), cpu_seconds());
            let mut out = std::io::sink();
            let answer = async {
                write(database.ask(sql).await.unwrap(), AnswerFormat::Export(ExportFormat::Csv), &mut out).await
            };
            groups = runtime.block_on(answer).unwrap();
            best = best.min((clock::now_ns() - started) as f64 / 1e9);
            cpu = cpu.min(cpu_seconds() - before);
        }
        println!(
            "{best:6.2} s  {cpu:6.2} s of CPU  {:5.1} M rows/s  {groups} groups  {what}",
            rows as f64 / best / 1e6
        );
    }
}

/// CPU time of this process, user and system, in hundredths; what other programs take does not lengthen it much.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let ticks = after_name.split_whitespace().skip(11).take(2).map(|word| word.parse::<f64>().unwrap());
    ticks.sum::<f64>() / 100.0
}

fn size_of_table(path: &Path) -> u64 {
    let files = recording::Reader::open(path).unwrap().sealed_files("op_interval").unwrap();
    files.iter().map(|file| std::fs::metadata(file).unwrap().len()).sum()
}

/// Response times with a long tail around 200 µs.
fn histograms(values: i64) -> Vec<Histogram> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let one = |next: &mut dyn FnMut() -> u64| {
        let mut histogram = Histogram::new(STORED_SUB_BITS);
        for _ in 0..values {
            let random = next();
            let octave = (random >> 40).trailing_ones() / 2;
            histogram.record((120_000 + random % 160_000) << octave);
        }
        histogram
    };
    (0..5000).map(|_| one(&mut next)).collect()
}

fn record(path: &Path, at: i64, rows: i64, histograms: &[Histogram]) {
    let mut writer = Writer::create(path, Manifest::new(&["speed".to_string()])).unwrap();
    let per_second = DEVICES * ROWS_PER_SECOND;
    for first in (0..rows).step_by(usize::try_from(per_second).unwrap()) {
        let batch: Vec<OpInterval> = (first..rows.min(first + per_second))
            .map(|row| {
                let t_ns = (at * rows + row) * 1_000_000_000 / per_second;
                let response = &histograms[usize::try_from(row * 31 % 4999).unwrap()];
                OpInterval {
                    t_ns,
                    t_s: t_ns as f64 / 1e9,
                    interval_ns: 1_000_000,
                    run: "rd1".to_string(),
                    run_index: 0,
                    phase: LoadPhase::Measure,
                    workload: "oltp".to_string(),
                    target: format!("sd{}", row % DEVICES),
                    op: "read".to_string(),
                    arrivals: Some(20),
                    ops: 20,
                    bytes: 163_840,
                    errors: Some(0),
                    response: response.clone(),
                    service: Histogram::new(STORED_SUB_BITS),
                    wait: None,
                    in_flight_mean: Some(1.0),
                    backlog: Some(0),
                }
            })
            .collect();
        writer.accept(&RowBatch::from_rows(&batch).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    writer.seal().unwrap();
}
