//! What a run did in trees of files, as Vdbench counts it: all operations of a kind, whether they were asked for or needed by
//! others (a step).

use super::figures::{is_measured, known};
use crate::ToolOutputError;
use quantity::histogram::Histogram;
use recording::rows::{OpInterval, RunEnd, RunTotal, StepInterval, StepTotal};
use recording::{LoadPhase, Reader};
use std::collections::BTreeMap;

/// Kinds of operations, in the order of Vdbench's columns.
pub(super) const KINDS: [&str; 13] = [
    "read", "write", "mkdir", "rmdir", "create", "open", "close", "delete", "getattr", "setattr", "access", "copy",
    "move",
];

/// How the runs are called that make trees: only their writes are operations that were asked for.
pub(super) const FORMAT_RUN: &str = "format_for_";

/// Operations of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    ops: i64,
    bytes: i64,
    /// Sum and count of their times, ns.
    sum_ns: f64,
    times: u64,
}

impl Counted {
    fn add(&mut self, ops: i64, bytes: i64, times: &Histogram) {
        self.ops += ops;
        self.bytes += bytes;
        self.add_times(times);
    }

    fn add_times(&mut self, times: &Histogram) {
        self.sum_ns += times.sum() as f64;
        self.times += times.count();
    }

    fn merge(&mut self, more: &Self) {
        self.ops += more.ops;
        self.bytes += more.bytes;
        self.sum_ns += more.sum_ns;
        self.times += more.times;
    }

    /// 0 without operations, as Vdbench prints it.
    fn mean_ms(&self) -> f64 {
        if self.times == 0 { 0.0 } else { self.sum_ns / self.times as f64 / 1e6 }
    }
}

/// What was done in one interval, or in a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FileFigures {
    kinds: [Counted; KINDS.len()],
    asked: Counted,
}

impl FileFigures {
    /// The column that an operation counts in: all that read data are reads, and all that write data writes.
    fn kind_mut(&mut self, op: &str) -> Option<&mut Counted> {
        let op = match op {
            _ if rates::reads_data(op) => "read",
            _ if rates::writes_data(op) => "write",
            _ => op,
        };
        KINDS.iter().zip(&mut self.kinds).find(|(kind, _)| **kind == op).map(|(_, counted)| counted)
    }

    fn kind(&self, op: &str) -> Counted {
        KINDS.iter().zip(&self.kinds).find(|(kind, _)| **kind == op).map_or(Counted::default(), |(_, counted)| *counted)
    }

    fn merge(&mut self, more: &Self) {
        self.asked.merge(&more.asked);
        self.kinds.iter_mut().zip(&more.kinds).for_each(|(kind, more)| kind.merge(more));
    }

    /// Operations of this kind.
    pub(super) fn ops(&self, op: &str) -> f64 {
        self.kind(op).ops as f64
    }

    /// Mean time of this kind, ms.
    pub(super) fn mean_ms(&self, op: &str) -> f64 {
        self.kind(op).mean_ms()
    }

    /// Operations that were asked for.
    pub(super) fn asked_ops(&self) -> f64 {
        self.asked.ops as f64
    }

    /// Their mean response time, ms.
    pub(super) fn asked_mean_ms(&self) -> f64 {
        self.asked.mean_ms()
    }

    /// MiB that operations of this kind moved.
    pub(super) fn mib(&self, op: &str) -> f64 {
        self.kind(op).bytes as f64 / 1_048_576.0
    }

    /// Mean bytes of a read or write, cut to whole ones as Vdbench does.
    pub(super) fn transfer_bytes(&self) -> f64 {
        let (read, write) = (self.kind("read"), self.kind("write"));
        let ops = read.ops + write.ops;
        if ops > 0 { ((read.bytes + write.bytes) / ops) as f64 } else { 0.0 }
    }

    /// Reads among reads and writes, per cent.
    pub(super) fn read_percent(&self) -> f64 {
        let (read, write) = (self.ops("read"), self.ops("write"));
        if read + write > 0.0 { 100.0 * read / (read + write) } else { 0.0 }
    }
}

/// One run.
#[derive(Debug, Default)]
pub(super) struct FileRun {
    /// By end of the interval, ns.
    lines: BTreeMap<i64, FileFigures>,
    measured: FileFigures,
    /// Exact totals of the measured phase; `None` when the recording was cut short.
    exact: Option<FileFigures>,
    /// Response times of all that was asked for, in the measured phase.
    pub(super) responses: Histogram,
}

impl FileRun {
    /// The interval that ends here.
    pub(super) fn line(&self, t_ns: i64) -> FileFigures {
        self.lines.get(&t_ns).copied().unwrap_or_default()
    }

    /// The measured intervals together.
    pub(super) fn average(&self) -> FileFigures {
        self.exact.unwrap_or(self.measured)
    }
}

/// The runs of a recording, when one of them works in trees.
pub(super) type FileRuns = BTreeMap<i32, FileRun>;

/// Reads what was done in trees; `is_in_trees`: an operation that only trees have was seen already.
pub(super) fn read(reader: &Reader, is_in_trees: bool) -> Result<Option<FileRuns>, ToolOutputError> {
    let has_steps = reader.rows::<StepInterval>()?.next().is_some() || reader.rows::<StepTotal>()?.next().is_some();
    if !is_in_trees && !has_steps {
        return Ok(None);
    }
    let mut runs = FileRuns::new();
    let mut at = |index: i32, t_ns: i64, phase: &LoadPhase, figures: &FileFigures| {
        let run = runs.entry(index).or_default();
        run.lines.entry(t_ns).or_default().merge(figures);
        if is_measured(phase) {
            run.measured.merge(figures);
        }
    };
    for row in reader.rows::<OpInterval>()? {
        let row = row?;
        if row.phase != LoadPhase::Drain {
            let times = known(&row.response, &row.service);
            at(row.run_index, row.t_ns, &row.phase, &asked(&row.run, &row.op, (row.ops, row.bytes), times));
        }
    }
    for row in reader.rows::<StepInterval>()? {
        let row = row?;
        if row.phase != LoadPhase::Drain {
            at(row.run_index, row.t_ns, &row.phase, &step(&row.op, (row.ops, row.bytes), &row.service));
        }
    }
    exact(reader, &mut runs)?;
    Ok(Some(runs))
}

/// Operations that were asked for.
fn asked(run: &str, op: &str, (ops, bytes): (i64, i64), times: &Histogram) -> FileFigures {
    let mut figures = FileFigures::default();
    if let Some(kind) = figures.kind_mut(op) {
        kind.add(ops, bytes, times);
    }
    if is_asked(run, op) {
        figures.asked.add(ops, bytes, times);
    }
    figures
}

fn is_asked(run: &str, op: &str) -> bool {
    op == "write" || !run.starts_with(FORMAT_RUN)
}

/// Steps.
fn step(op: &str, (ops, bytes): (i64, i64), service: &Histogram) -> FileFigures {
    let mut figures = FileFigures::default();
    if let Some(kind) = figures.kind_mut(op) {
        kind.add(ops, bytes, service);
    }
    figures
}

/// Totals at full resolution, with the times of what was due in the measured phase and came back later, or had no end.
fn exact(reader: &Reader, runs: &mut FileRuns) -> Result<(), ToolOutputError> {
    let ends: Vec<RunEnd> = reader.table::<RunEnd>()?.into_iter().filter(|row| is_measured(&row.phase)).collect();
    for row in reader.rows::<RunTotal>()? {
        let row = row?;
        let is_late = row.phase == LoadPhase::Drain && ends.iter().any(|end| end.run_index == row.run_index);
        if !is_late && !is_measured(&row.phase) {
            continue;
        }
        let times = known(&row.response, &row.service);
        let counts = if is_late { (0, 0) } else { (row.ops, row.bytes) };
        add_exact(runs, row.run_index, &asked(&row.run, &row.op, counts, times));
        if is_asked(&row.run, &row.op) {
            runs.entry(row.run_index).or_default().responses.merge(times);
        }
    }
    for row in ends {
        for ages in [&row.in_flight_age, &row.waiting_age].into_iter().filter(|ages| ages.count() > 0) {
            add_exact(runs, row.run_index, &asked(&row.run, &row.op, (0, 0), ages));
            if is_asked(&row.run, &row.op) {
                runs.entry(row.run_index).or_default().responses.merge(ages);
            }
        }
    }
    for row in reader.rows::<StepTotal>()? {
        let row = row?;
        if is_measured(&row.phase) {
            add_exact(runs, row.run_index, &step(&row.op, (row.ops, row.bytes), &row.service));
        }
    }
    Ok(())
}

fn add_exact(runs: &mut FileRuns, index: i32, figures: &FileFigures) {
    runs.entry(index).or_default().exact.get_or_insert_default().merge(figures);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_moves_data_counts_as_reads_and_writes() {
        let mut times = Histogram::default();
        times.record(1_000_000);
        let mut sum = FileFigures::default();
        for (op, ops, mib) in [
            ("readfile", 2, 8),
            ("mmapread", 1, 1),
            ("read", 3, 3),
            ("append", 4, 2),
            ("writefile", 5, 6),
            ("mmapwrite", 8, 3),
            ("write", 1, 1),
            ("copyrange", 7, 70),
            ("fsync", 9, 0),
        ] {
            sum.merge(&asked("rd1", op, (ops, mib << 20), &times));
        }
        assert_eq!((sum.ops("read"), sum.mib("read"), sum.ops("write"), sum.mib("write")), (6.0, 12.0, 18.0, 12.0));
        assert_eq!((sum.read_percent(), sum.transfer_bytes(), sum.asked_ops()), (25.0, 1_048_576.0, 40.0));
    }

    #[test]
    fn of_a_format_only_writes_are_asked_for() {
        let mut times = Histogram::default();
        times.record(2_000_000);
        let mut sum = asked("format_for_rd1", "mkdir", (1, 0), &times);
        sum.merge(&asked("format_for_rd1", "write", (1, 4096), &times));
        sum.merge(&step("open", (1, 0), &times));
        assert_eq!((sum.asked.ops, sum.ops("mkdir"), sum.ops("open"), sum.transfer_bytes()), (1, 1.0, 1.0, 4096.0));
        assert_eq!((sum.asked_mean_ms(), sum.mean_ms("open"), sum.mean_ms("close")), (2.0, 2.0, 0.0));
        assert_eq!(asked("rd1", "mkdir", (3, 0), &times).asked.ops, 3);
    }
}
