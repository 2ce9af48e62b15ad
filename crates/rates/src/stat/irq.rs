//! Interrupts by vector, the most frequent first, each with the CPU that takes most of it; or one row for each CPU.
//!
//! A row of a recording comes when a vector grew by a hundred on a CPU: its rate is over the time since its own row before.

use super::FigureDigits::{Fixed, Percent, Scaled};
use super::{CounterSubject, StatBlock, StatColumn, StatRow, Stream, TextColumn, columns};
use crate::counter::delta;
use crate::irq_time::IrqDelta;
use recording::rows::{Interrupt, IrqTime};
use recording::{Label, RecordingError, RowBatch};
use std::collections::{BTreeMap, HashMap};

pub(super) const VECTORS: &[StatColumn] = columns! {
    "per_s" "intr/s" Scaled, "how often per second, all CPUs together";
    "most_cpu" "CPU" Fixed(0), "the CPU that took most of them; ? when none came";
    "most_percent" "%there" Percent, "its share of them";
    "cpus" "CPUs" Fixed(0), "CPUs that took some";
    "ms_per_s" "ms/s" Scaled, "ms per second in its handlers, all CPUs together (--clock both, or a recording with the table irq_time)";
    "us_each" "us each" Scaled, "mean time of one, µs, by the same probe";
};

pub(super) const CPUS: &[StatColumn] = columns! {
    "cpu" "CPU" Fixed(0), "the CPU";
    "per_s" "intr/s" Scaled, "how often per second on it";
    "share_percent" "%share" Percent, "its share of the vector's interrupts";
    "ms_per_s" "ms/s" Scaled, "ms per second in its handlers on it (--clock both, or a recording with the table irq_time)";
    "us_each" "us each" Scaled, "mean time of one, µs, by the same probe";
};

pub(super) const TEXTS: &[TextColumn] = &[TextColumn {
    key: "kind",
    title: "kind",
    help: "`irq`: of a device or the processor; `softirq`: put off by the kernel",
}];

/// Kind, vector, CPU.
type Key = (Label, Label, i32);

/// What is known of one vector on one CPU.
struct OnCpu {
    cpu: i32,
    per_s: Option<f64>,
    ms_per_s: Option<f64>,
    us_each: Option<f64>,
}

/// Samples of vectors.
pub(super) struct Vectors {
    by_cpu: bool,
    since_boot: bool,
    before: HashMap<Key, (i64, i64)>,
    now: Vec<Interrupt>,
    before_ns: Option<i64>,
    times_before: HashMap<Key, (i64, i64, i64)>,
    times: Vec<IrqTime>,
    /// The reader joined a running recording: a vector without a row may have been counted for long.
    joins: bool,
}

impl Vectors {
    /// One row of each vector, or `by_cpu` one of each vector and CPU.
    pub(super) fn new(by_cpu: bool, since_boot: bool, joins: bool) -> Self {
        Self {
            by_cpu,
            since_boot,
            before: HashMap::new(),
            now: Vec::new(),
            before_ns: None,
            times_before: HashMap::new(),
            times: Vec::new(),
            joins,
        }
    }

    /// ms per second and µs each, of the vectors with a row in this sample. The probe writes rows of a vector from its
    /// first interrupt on: a vector that is new had no interrupt up to the sample before, at `since_ns`.
    fn times(&mut self, since_ns: Option<i64>) -> HashMap<Key, (f64, Option<f64>)> {
        let mut known = HashMap::new();
        for row in self.times.drain(..) {
            let key = (row.kind, row.vector, row.cpu);
            let before = self.times_before.insert(key.clone(), (row.t_ns, row.count, row.ns));
            let new = since_ns.filter(|_| !self.joins).map(|since_ns| (since_ns, 0, 0));
            if let Some((t_ns, count, ns)) = before.or(new)
                && row.t_ns > t_ns
                && let Some(delta) = IrqDelta::of((row.count, row.ns), (count, ns))
            {
                let ms_per_s = delta.time_ns as f64 * 1e3 / (row.t_ns - t_ns) as f64;
                known.insert(key, (ms_per_s, delta.mean_ns().map(|ns| ns / 1e3)));
            }
        }
        known
    }
}

impl Stream for Vectors {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.extend(batch.to_rows::<Interrupt>()?);
        self.times.extend(batch.to_rows::<IrqTime>()?);
        Ok(())
    }

    fn commit(&mut self) -> Option<StatBlock> {
        let t_ns = self.now.iter().map(|row| row.t_ns).max()?;
        let since_ns = self.before_ns.replace(t_ns);
        let since_boot = since_ns.is_none();
        let times = self.times(since_ns);
        let mut vectors: BTreeMap<(Label, Label), Vec<OnCpu>> = BTreeMap::new();
        for row in std::mem::take(&mut self.now) {
            let key = (row.kind, row.vector, row.cpu);
            let before = self.before.insert(key.clone(), (row.t_ns, row.count));
            // The clock began at boot, and so did the counters. A vector without an earlier row has no interval yet.
            let Some((from_ns, from)) = before.or((since_boot && self.since_boot).then_some((0, 0))) else { continue };
            let time = times.get(&key);
            let grown = delta(row.count, from).filter(|_| row.t_ns > from_ns);
            vectors.entry((key.0, key.1)).or_default().push(OnCpu {
                cpu: row.cpu,
                per_s: grown.map(|grown| grown * 1e9 / (row.t_ns - from_ns) as f64),
                ms_per_s: time.map(|time| time.0),
                us_each: time.and_then(|time| time.1),
            });
        }
        let rows = vectors.into_iter().flat_map(|((kind, vector), on)| {
            let row = |values| StatRow { name: vector.to_string(), values, texts: vec![Some(kind.to_string())] };
            if self.by_cpu { each(&on).into_iter().map(row).collect() } else { vec![row(together(&on))] }
        });
        let mut rows: Vec<StatRow> = rows.collect();
        let rate = |row: &StatRow| row.values[usize::from(self.by_cpu)].unwrap_or(0.0);
        rows.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        let subject = if self.by_cpu { CounterSubject::IrqCpu } else { CounterSubject::Irq };
        let seconds = (t_ns - since_ns.unwrap_or(0)) as f64 / 1e9;
        (!rows.is_empty()).then_some(StatBlock { subject, t_ns, seconds, since_boot, rows })
    }
}

/// The sum where all are known.
fn sum(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.sum()
}

/// Figures of a vector.
fn together(on: &[OnCpu]) -> Vec<Option<f64>> {
    let per_s = sum(on.iter().map(|one| one.per_s));
    let took: Vec<(i32, f64)> =
        on.iter().filter_map(|one| Some((one.cpu, one.per_s.filter(|rate| *rate > 0.0)?))).collect();
    let most = took.iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| per_s.is_some());
    // A CPU without a row of times took less than a millisecond; without any such row, the time is not known.
    let timed = on.iter().any(|one| one.ms_per_s.is_some());
    let ms_per_s = timed.then(|| on.iter().filter_map(|one| one.ms_per_s).sum::<f64>());
    let count = |one: &OnCpu| Some(one.ms_per_s? * 1e3 / one.us_each.filter(|us| *us > 0.0)?);
    let handled: f64 = on.iter().filter_map(count).sum();
    vec![
        per_s,
        most.map(|(cpu, _)| f64::from(*cpu)),
        most.zip(per_s).map(|((_, rate), all)| 100.0 * rate / all),
        per_s.map(|_| took.len() as f64),
        ms_per_s,
        ms_per_s.filter(|_| handled > 0.0).map(|ms| ms * 1e3 / handled),
    ]
}

/// Figures of a vector on each CPU.
fn each(on: &[OnCpu]) -> Vec<Vec<Option<f64>>> {
    let all = sum(on.iter().map(|one| one.per_s));
    let figures = |one: &OnCpu| {
        let share = super::percent(one.per_s, all);
        vec![Some(f64::from(one.cpu)), one.per_s, share, one.ms_per_s, one.us_each]
    };
    on.iter().map(figures).collect()
}
