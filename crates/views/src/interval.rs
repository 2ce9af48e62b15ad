//! One interval of a run while it lasts: what terminal and JSON lines show.

use crate::{HistogramSummary, RunFacts};
use quantity::histogram::Histogram;
use rates::CpuPoint;
use rates::{KnownSum, OpCount, OpCounts, op_place};
use recording::rows::{Cpu, EngineInterval, OpInterval, Phase, StepInterval};
use recording::{LoadPhase, RecordingError, RowBatch};
use std::collections::BTreeMap;

/// One interval, all workloads and targets together.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalLine {
    /// End, `CLOCK_MONOTONIC`, ns.
    pub t_ns: i64,
    /// End, seconds since the recording's start.
    pub t_s: f64,
    /// Length, s.
    pub interval_s: f64,
    /// Title of the run.
    pub run: String,
    /// Position of the run.
    pub run_index: i32,
    /// Phase.
    pub phase: LoadPhase,
    /// Arrivals.
    pub arrivals: KnownSum<i64>,
    /// Completions.
    pub ops: i64,
    /// Bytes moved.
    pub bytes: i64,
    /// Failures.
    pub errors: KnownSum<i64>,
    /// By operation.
    pub by_op: OpCounts,
    /// What operations in trees needed besides, by kind: counts, without arrivals, and service times. In none of the others.
    pub steps: Vec<(String, OpCount, HistogramSummary)>,
    /// Response times.
    pub response: HistogramSummary,
    /// Service times.
    pub service: HistogramSummary,
    /// Submission lags.
    pub wait: HistogramSummary,
    /// Mean number in flight.
    pub in_flight: KnownSum<f64>,
    /// Arrived, not submitted, at the end.
    pub backlog: KnownSum<i64>,
    /// Use of the host's CPUs; `None` for the first interval.
    pub cpu: Option<CpuPoint>,
    /// Was the load generator itself the limit?
    pub limited: bool,
}

impl IntervalLine {
    fn per_second(&self, value: i64) -> Option<f64> {
        (self.interval_s > 0.0).then(|| value as f64 / self.interval_s)
    }

    /// Arrivals per second.
    pub fn offered(&self) -> Option<f64> {
        self.per_second(self.arrivals.known()?)
    }

    /// Completions per second.
    pub fn achieved(&self) -> Option<f64> {
        self.per_second(self.ops)
    }

    /// Bytes per second.
    pub fn bytes_per_s(&self) -> Option<f64> {
        self.per_second(self.bytes)
    }

    /// Nothing came back, well or failed, although something was waiting all the time.
    pub fn is_stalled(&self) -> bool {
        let count = OpCount { arrivals: self.arrivals, ops: self.ops, bytes: self.bytes, errors: self.errors };
        self.phase != LoadPhase::Paused && rates::is_stalled(&count, self.in_flight, self.backlog)
    }

    /// Operations that read data ÷ those that read or write data, per cent; `None` when neither completed.
    pub fn read_percent(&self) -> Option<f64> {
        self.by_op.data().read_percent()
    }
}

/// Folds the batches of an interval into its line; also used for averages over a run.
#[derive(Debug, Default)]
pub struct LineFold {
    lines: BTreeMap<i32, Open>,
    /// The phases of each run so far: an interval in which nothing happened has no row that names its own.
    runs: BTreeMap<i32, RunFacts>,
    last_cpu: Option<Cpu>,
    cpu: Option<CpuPoint>,
}

#[derive(Debug, Default)]
struct Open {
    line: Option<IntervalLine>,
    response: Histogram,
    service: Histogram,
    wait: Histogram,
    steps: BTreeMap<String, (OpCount, Histogram)>,
}

impl LineFold {
    /// Adds a batch; tables that say nothing about the interval are passed over.
    ///
    /// # Errors
    /// A batch whose columns are not those of its table.
    pub fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        match batch.table.name {
            Phase::NAME => batch.to_rows::<Phase>()?.into_iter().for_each(|row| {
                self.runs.entry(row.run_index).or_default().follow(row.phase, &row.event, row.t_ns);
            }),
            OpInterval::NAME => batch.to_rows::<OpInterval>()?.iter().for_each(|row| self.operation(row)),
            StepInterval::NAME => batch.to_rows::<StepInterval>()?.iter().for_each(|row| self.step(row)),
            EngineInterval::NAME => batch.to_rows::<EngineInterval>()?.iter().for_each(|row| self.engine(row)),
            Cpu::NAME => {
                for row in batch.to_rows::<Cpu>()?.into_iter().filter(|row| row.cpu == "all") {
                    self.cpu = self.last_cpu.as_ref().and_then(|before| rates::cpu_shares(&row, before));
                    self.last_cpu = Some(row);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn open(
        &mut self,
        run_index: i32,
        run: &str,
        phase: &LoadPhase,
        (t_ns, t_s, interval_ns): (i64, f64, i64),
    ) -> &mut Open {
        let open = self.lines.entry(run_index).or_default();
        open.line.get_or_insert_with(|| IntervalLine {
            t_ns,
            t_s,
            interval_s: interval_ns as f64 / 1e9,
            run: run.to_string(),
            run_index,
            phase: phase.clone(),
            arrivals: KnownSum::default(),
            ops: 0,
            bytes: 0,
            errors: KnownSum::default(),
            by_op: OpCounts::default(),
            steps: Vec::new(),
            response: HistogramSummary::default(),
            service: HistogramSummary::default(),
            wait: HistogramSummary::default(),
            in_flight: KnownSum::default(),
            backlog: KnownSum::default(),
            cpu: None,
            limited: false,
        });
        open
    }

    fn operation(&mut self, row: &OpInterval) {
        let open = self.open(row.run_index, &row.run, &row.phase, (row.t_ns, row.t_s, row.interval_ns));
        open.response.merge(&row.response);
        open.service.merge(&row.service);
        let Some(line) = &mut open.line else { return };
        line.phase.clone_from(&row.phase);
        line.arrivals += row.arrivals;
        line.ops += row.ops;
        line.bytes += row.bytes;
        line.errors += row.errors;
        line.in_flight += row.in_flight_mean;
        line.backlog += row.backlog;
        let count =
            OpCount { arrivals: row.arrivals.into(), ops: row.ops, bytes: row.bytes, errors: row.errors.into() };
        line.by_op.add(op_place(&row.op), count);
    }

    fn step(&mut self, row: &StepInterval) {
        let open = self.open(row.run_index, &row.run, &row.phase, (row.t_ns, row.t_s, row.interval_ns));
        let (count, service) = open.steps.entry(row.op.clone()).or_default();
        *count += OpCount { ops: row.ops, bytes: row.bytes, errors: KnownSum::of(row.errors), ..OpCount::default() };
        service.merge(&row.service);
    }

    fn engine(&mut self, row: &EngineInterval) {
        let run = self.runs.get(&row.run_index);
        let phase = run.map_or_else(LoadPhase::default, |run| run.idle_interval(row.t_ns, row.interval_ns).phase);
        let open = self.open(row.run_index, &row.run, &phase, (row.t_ns, row.t_s, row.interval_ns));
        open.wait.merge(&row.wait);
        if let Some(line) = &mut open.line {
            line.limited |= row.limited;
        }
    }

    /// Ends the interval: the line of each run that was seen in it, hardly ever more than one.
    pub fn commit(&mut self) -> Vec<IntervalLine> {
        let cpu = self.cpu.take();
        std::mem::take(&mut self.lines)
            .into_values()
            .filter_map(|open| {
                let mut line = open.line?;
                line.response = HistogramSummary::of(&open.response);
                line.service = HistogramSummary::of(&open.service);
                line.wait = HistogramSummary::of(&open.wait);
                line.cpu = cpu;
                let steps = open.steps.into_iter();
                line.steps = steps.map(|(op, (count, all))| (op, count, HistogramSummary::of(&all))).collect();
                Some(line)
            })
            .collect()
    }
}
