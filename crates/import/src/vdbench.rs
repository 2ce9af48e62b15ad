//! A Vdbench output folder: `flatfile.html` of any version, by the names in its header; `histogram.html` and `summary.html` if they are there.
//!
//! Vdbench times from submission, so its response times are service times here.

mod flat;
mod histogram;
mod loop_elements;

use crate::ImportError;
use crate::printed::{seconds, sum_of, summary, whole};
use crate::results::{Results, phase_rows};
use flat::{Flat, Line};
use histogram::Distributions;
use quantity::histogram::Histogram;
use recording::rows::{Cpu, OpInterval, RunTotal};
use recording::{LoadPhase, PhaseEdge};
use std::path::Path;

/// Vdbench's request for full speed begins here (9,999,988; older versions 999,988).
const FULL_SPEED: f64 = 999_988.0;

/// A header with the first columns' names.
pub(super) fn sniff(text: &str) -> bool {
    text.lines().any(flat::is_header)
}

/// Reads `flatfile.html`, and `histogram.html` and `summary.html` beside it.
pub(super) fn read(path: &Path, text: &str) -> Result<Results, ImportError> {
    let mut flat = Flat::read(path, text)?;
    let beside = path.with_file_name("histogram.html");
    let distributions = match std::fs::read_to_string(&beside) {
        Ok(text) => histogram::read(&text, &mut flat.notes),
        Err(_) => Vec::new(),
    };
    let mut results = Results {
        program: "Vdbench".to_string(),
        started_wall_ns: flat.start_ns(),
        is_local: flat.is_local,
        notes: std::mem::take(&mut flat.notes),
        ..Results::default()
    };
    let start = results.started_wall_ns;
    let runs: Vec<Run<'_>> =
        flat.runs().into_iter().enumerate().map(|(index, lines)| Run::new(index, lines, start)).collect();
    let details = loop_elements::read(path, &runs, &mut results.notes);
    for (run, detail) in runs.iter().zip(&details) {
        let distribution = distributions.iter().filter(|found| found.run == run.name).nth(run.same_name(&results));
        run.rows(&mut results, detail, distribution);
    }
    say_what_is_missing(&flat, &mut results, !distributions.is_empty());
    Ok(results)
}

fn say_what_is_missing(flat: &Flat, results: &mut Results, has_distributions: bool) {
    let mut say = |note: &str| results.notes.push(note.to_string());
    say("Vdbench times from submission: its response times are service times here, response times are not recorded");
    say("Vdbench does not keep arrivals and failed operations: both are null, and so is what waited");
    if has_distributions {
        say("percentiles are upper ends of Vdbench's histogram buckets: up to twice the true value, never below it");
    } else {
        say("there are only averages in flatfile.html: percentiles are not recorded");
    }
    let other = flat
        .columns
        .iter()
        .filter(|name| name.ends_with("_rate") && !matches!(name.as_str(), "read_rate" | "write_rate"));
    let other: Vec<&str> = other.map(|name| name.trim_end_matches("_rate")).filter(|name| flat.ever(name)).collect();
    if !other.is_empty() {
        say(&format!("file system operations other than reads and writes were left out: {}", other.join(", ")));
    }
}

/// One run of the file.
struct Run<'a> {
    name: String,
    index: i32,
    lines: Vec<&'a Line>,
    average: Option<&'a Line>,
    /// Nominal length of an interval: Vdbench reports rates per nominal interval.
    interval_ns: i64,
    /// UTC of the recording's start.
    origin_ns: i64,
}

/// Reads or writes of one line.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    ops: i64,
    bytes: i64,
    mean_ns: Option<f64>,
    max_ns: Option<f64>,
}

impl<'a> Run<'a> {
    fn new(index: usize, lines: Vec<&'a Line>, origin_ns: i64) -> Self {
        let average = lines.iter().copied().find(|line| line.average.is_some());
        let name = lines.first().map_or(String::new(), |line| line.run.clone());
        let lines: Vec<&Line> = lines.into_iter().filter(|line| line.average.is_none()).collect();
        let mut gaps: Vec<i64> = lines.windows(2).map(|pair| (pair[1].wall_ns - pair[0].wall_ns).max(0)).collect();
        gaps.sort_unstable();
        // Vdbench's intervals are whole seconds; its lines come some ms late.
        let gap = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
        let interval_ns = ((gap + 500_000_000) / 1_000_000_000).max(1) * 1_000_000_000;
        Self { name, index: i32::try_from(index).unwrap_or(i32::MAX), lines, average, interval_ns, origin_ns }
    }

    /// How many runs before this one had its name.
    fn same_name(&self, results: &Results) -> usize {
        let starts = results.phases.iter().filter(|row| row.run == self.name && row.event == PhaseEdge::Start);
        let mut indices: Vec<i32> = starts.map(|row| row.run_index).collect();
        indices.dedup();
        indices.len()
    }

    /// First measured interval's number: what comes before it is warm-up.
    fn first_measured(&self) -> u64 {
        self.average.and_then(|line| line.average).map_or(1, |(first, _)| first)
    }

    fn rows(&self, results: &mut Results, detail: &str, distribution: Option<&Distributions>) {
        let Some(first) = self.lines.first() else { return };
        let start = (first.wall_ns - self.origin_ns - self.interval_ns).max(0);
        let first_measured = self.first_measured();
        let rate = self.lines.iter().find_map(|line| line.get("reqrate")).filter(|rate| *rate < FULL_SPEED);
        let mut measured: [Side; 2] = Default::default();
        let mut sums = [Histogram::default(), Histogram::default()];
        let (mut warm_end, mut end, mut last_ns) = (start, start, start);
        for line in &self.lines {
            // Late lines are put where their interval ended, so that intervals touch; a real gap stays one.
            let nominal = last_ns + self.interval_ns;
            let printed_ns = line.wall_ns - self.origin_ns;
            let t_ns = if (printed_ns - nominal).abs() < self.interval_ns { nominal } else { printed_ns.max(nominal) };
            last_ns = t_ns;
            let is_warm = line.interval < first_measured;
            let phase = if is_warm { LoadPhase::Warmup } else { LoadPhase::Measure };
            let sides = self.sides(line);
            for (op, side) in [("read", 0), ("write", 1)] {
                results.intervals.extend(self.interval(line, t_ns, &phase, op, &sides, side));
                if !is_warm {
                    measured[side].ops = measured[side].ops.saturating_add(sides[side].ops);
                    measured[side].bytes = measured[side].bytes.saturating_add(sides[side].bytes);
                    sums[side].merge(&summary(sides[side].ops, sides[side].mean_ns, sides[side].max_ns));
                }
            }
            if is_warm {
                warm_end = t_ns;
            }
            end = t_ns;
            self.cpu(line, t_ns, &mut results.cpu);
        }
        if warm_end > start {
            results.phases.extend(phase_rows(
                (&self.name, self.index, detail),
                &LoadPhase::Warmup,
                (start, warm_end),
                rate,
            ));
        }
        if end > warm_end {
            results.phases.extend(phase_rows(
                (&self.name, self.index, detail),
                &LoadPhase::Measure,
                (warm_end, end),
                rate,
            ));
        }
        for (side, op) in ["read", "write"].into_iter().enumerate() {
            let service =
                distribution.and_then(|found| found.histogram(op, &sums[side])).unwrap_or_else(|| sums[side].clone());
            if measured[side].ops > 0 {
                results.totals.push(self.total((warm_end, end), op, measured[side], service));
            }
        }
    }

    /// Reads and writes of a line, in whole operations of its interval.
    fn sides(&self, line: &Line) -> [Side; 2] {
        let length_s = self.interval_ns as f64 / 1e9;
        let ns = |name: &str| line.get(name).map(|ms| ms * 1e6);
        // File system workloads have rates of their own for reads and writes.
        if let (Some(reads), Some(writes)) = (line.get("read_rate"), line.get("write_rate")) {
            let side = |rate: f64, mib: &str, mean: &str, max: &str| Side {
                ops: whole(rate * length_s),
                bytes: whole(line.get(mib).unwrap_or(0.0) * length_s * 1_048_576.0),
                mean_ns: ns(mean),
                max_ns: ns(max),
            };
            return [
                side(reads, "mb_read", "read_resp", "read_resp_max"),
                side(writes, "mb_write", "write_resp", "write_resp_max"),
            ];
        }
        let ops = whole(line.get("rate").unwrap_or(0.0) * length_s);
        let reads = whole(ops as f64 * line.get("read%").unwrap_or(0.0) / 100.0).min(ops);
        let per_op = line.get("bytes/io").unwrap_or(0.0);
        let printed_bytes = line.get("mb/sec").unwrap_or(0.0) * length_s * 1_048_576.0;
        // bytes/io is exact when all operations are of one size; then MB/sec agrees with it.
        let exact = per_op * ops as f64;
        let bytes = if printed_bytes == 0.0 || (printed_bytes - exact).abs() <= 0.001 * printed_bytes + 104.9 * length_s
        {
            exact
        } else {
            printed_bytes
        };
        let share = |part: i64| if ops > 0 { whole(bytes * part as f64 / ops as f64) } else { 0 };
        let only = |part: i64| part == ops;
        let side = |part: i64, mean: &str, max: &str| Side {
            ops: part,
            bytes: share(part),
            mean_ns: ns(mean).or_else(|| ns("resp")),
            max_ns: ns(max).or_else(|| ns("resp_max").filter(|_| only(part))),
        };
        [side(reads, "read_resp", "read_max"), side(ops - reads, "write_resp", "write_max")]
    }

    fn interval(
        &self,
        line: &Line,
        t_ns: i64,
        phase: &LoadPhase,
        op: &str,
        sides: &[Side; 2],
        at: usize,
    ) -> Option<OpInterval> {
        let side = sides[at];
        // An interval without anything is a line of reads with nothing in it.
        if side.ops == 0 && (at == 1 || sides[1].ops > 0) {
            return None;
        }
        // By Little's law each kind has its rate × response time of the queue.
        let weight = |side: &Side| side.ops as f64 * side.mean_ns.unwrap_or(0.0);
        let all = weight(&sides[0]) + weight(&sides[1]);
        let known = sides.iter().all(|side| side.ops == 0 || side.mean_ns.is_some());
        let depth = line.get("queue_depth").or_else(|| known.then(|| all / self.interval_ns as f64));
        Some(OpInterval {
            t_ns,
            t_s: seconds(t_ns),
            interval_ns: self.interval_ns,
            run: self.name.clone(),
            run_index: self.index,
            phase: phase.clone(),
            workload: "all".to_string(),
            target: "all".to_string(),
            op: op.to_string(),
            arrivals: None,
            ops: side.ops,
            bytes: side.bytes,
            errors: None,
            response: Histogram::default(),
            service: summary(side.ops, side.mean_ns, side.max_ns),
            wait: None,
            in_flight_mean: depth.map(|depth| if all > 0.0 { depth * weight(&side) / all } else { 0.0 }),
            backlog: None,
        })
    }

    fn total(&self, (from_ns, to_ns): (i64, i64), op: &str, side: Side, service: Histogram) -> RunTotal {
        RunTotal {
            t_ns: to_ns,
            t_s: seconds(to_ns),
            start_t_ns: from_ns,
            run: self.name.clone(),
            run_index: self.index,
            phase: LoadPhase::Measure,
            workload: "all".to_string(),
            target: "all".to_string(),
            op: op.to_string(),
            arrivals: None,
            ops: side.ops,
            bytes: side.bytes,
            errors: None,
            response: Histogram::default(),
            service,
            short: None,
            first_error: None,
            first_error_t_ns: None,
            wait: None,
        }
    }

    /// Shares of an interval as counters that go on from the last sample.
    fn cpu(&self, line: &Line, t_ns: i64, samples: &mut Vec<Cpu>) {
        let (Some(user), Some(kernel)) = (line.get("cpu_user"), line.get("cpu_kernel")) else { return };
        let (wait, idle) = (line.get("cpu_wait").unwrap_or(0.0), line.get("cpu_idle").unwrap_or(0.0));
        // On Linux Vdbench prints 0 for both; what is not user or kernel is then idle.
        let idle = if wait + idle == 0.0 { (100.0 - user - kernel).max(0.0) } else { idle };
        let ns = |percent: f64| whole(percent / 100.0 * self.interval_ns as f64);
        let zero = Cpu {
            t_ns: t_ns - self.interval_ns,
            t_s: seconds(t_ns - self.interval_ns),
            cpu: "all".to_string(),
            user_ns: 0,
            nice_ns: None,
            system_ns: 0,
            idle_ns: 0,
            iowait_ns: Some(0),
            irq_ns: None,
            softirq_ns: None,
            steal_ns: None,
            clock: "vdbench".to_string(),
        };
        let before = samples.last().cloned().unwrap_or(zero);
        if samples.is_empty() {
            samples.push(before.clone());
        }
        samples.push(Cpu {
            t_ns,
            t_s: seconds(t_ns),
            user_ns: before.user_ns.saturating_add(ns(user)),
            system_ns: before.system_ns.saturating_add(ns(kernel)),
            iowait_ns: before.iowait_ns.map(|waited| waited.saturating_add(ns(wait))),
            idle_ns: before.idle_ns.saturating_add(ns(idle)),
            ..before
        });
    }
}

impl Distributions {
    /// Vdbench's counts with the sum and maximum that the flatfile gives; `None` when they are of other operations.
    fn histogram(&self, op: &str, known: &Histogram) -> Option<Histogram> {
        let buckets = &self.sides.iter().find(|(name, _)| *name == op)?.1;
        let total: u64 = buckets.iter().map(|bucket| bucket.count).sum();
        // Rates are rounded when they are printed; more than that is another run.
        if total.abs_diff(known.count()) as f64 > known.count() as f64 * 0.01 + 2.0 {
            return None;
        }
        let first = buckets.iter().find(|bucket| bucket.count > 0)?;
        let last = buckets.iter().rfind(|bucket| bucket.count > 0)?;
        let max = known.max().or(last.high_ns).unwrap_or(last.low_ns);
        let placed: Vec<(u64, u64)> = buckets
            .iter()
            .map(|bucket| (bucket.high_ns.map_or(max, |high| high.saturating_sub(1)), bucket.count))
            .collect();
        let mean = known.mean()?;
        Histogram::of_buckets(&placed, sum_of(mean, total), first.low_ns.min(max), max)
    }
}
