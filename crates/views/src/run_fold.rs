//! The summary of a run while the command lasts: the same figures as in the report, from the same batches.

use crate::RunSummary;
use crate::facts::{RecordingFacts, RunFacts};
use crate::run_summary::run_summary;
use quantity::histogram::Histogram;
use rates::{CpuPoint, OperationTimes};
use rates::{IntervalFacts, OpCount, TotalFacts, op_place};
use recording::rows::{Cpu, EngineInterval, OpInterval, Phase, RunEnd, RunTotal};
use recording::{Manifest, RecordingError, RecordingState, RowBatch};
use std::collections::{BTreeMap, BTreeSet};

/// Folds the batches of a run into its summary.
#[derive(Debug, Default)]
pub struct RunFold {
    run: RunFacts,
    /// End and length of every interval, also of those in which nothing happened.
    all: BTreeSet<(i64, i64)>,
    cpu: Vec<CpuPoint>,
    last_cpu: Option<Cpu>,
}

impl RunFold {
    /// Adds a batch; tables that the summary does not need are passed over.
    ///
    /// # Errors
    /// A batch whose columns are not those of its table.
    pub fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        match batch.table.name {
            OpInterval::NAME => batch.to_rows::<OpInterval>()?.iter().for_each(|row| self.operation(row)),
            EngineInterval::NAME => {
                self.all.extend(batch.to_rows::<EngineInterval>()?.iter().map(|row| (row.t_ns, row.interval_ns)));
            }
            Phase::NAME => {
                batch.to_rows::<Phase>()?.into_iter().for_each(|row| self.run.follow(row.phase, &row.event, row.t_ns));
            }
            RunTotal::NAME => batch.to_rows::<RunTotal>()?.into_iter().for_each(|row| self.total(row)),
            RunEnd::NAME => self.run.ends.extend(batch.to_rows::<RunEnd>()?),
            Cpu::NAME => {
                for row in batch.to_rows::<Cpu>()?.into_iter().filter(|row| row.cpu == "all") {
                    self.cpu.extend(self.last_cpu.as_ref().and_then(|before| rates::cpu_shares(&row, before)));
                    self.last_cpu = Some(row);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn operation(&mut self, row: &OpInterval) {
        if self.run.intervals.last().is_none_or(|interval| interval.t_ns != row.t_ns) {
            self.run.intervals.push(IntervalFacts {
                t_ns: row.t_ns,
                interval_ns: row.interval_ns,
                phase: row.phase.clone(),
                ..IntervalFacts::default()
            });
        }
        let Some(interval) = self.run.intervals.last_mut() else { return };
        interval.in_flight += row.in_flight_mean;
        interval.backlog += row.backlog;
        let count = OpCount { arrivals: row.arrivals.into(), ops: row.ops, ..OpCount::default() };
        interval.ops.add(op_place(&row.op), count);
    }

    fn total(&mut self, row: RunTotal) {
        self.run.title = row.run;
        self.run.index = row.run_index;
        self.run.complete = true;
        self.run.totals.push(TotalFacts {
            phase: row.phase,
            workload: row.workload,
            target: row.target,
            op: row.op,
            count: OpCount { arrivals: row.arrivals.into(), ops: row.ops, bytes: row.bytes, errors: row.errors.into() },
            response: OperationTimes::ended(row.response),
            service: OperationTimes::ended(row.service),
        });
    }

    /// The run's summary, once its totals were accepted; the next run begins with nothing.
    pub fn end(&mut self) -> RunSummary {
        let mut run = std::mem::take(&mut self.run);
        let busy: BTreeSet<i64> = run.intervals.iter().map(|interval| interval.t_ns).collect();
        for (t_ns, interval_ns) in std::mem::take(&mut self.all) {
            if !busy.contains(&t_ns) {
                run.intervals.push(run.idle_interval(t_ns, interval_ns));
            }
        }
        run.finish();
        let facts = RecordingFacts {
            manifest: Manifest::new(&[]),
            state: RecordingState::Open,
            damage: Vec::new(),
            runs: Vec::new(),
            cpu: std::mem::take(&mut self.cpu),
            disks: BTreeMap::new(),
            nets: BTreeMap::new(),
            pools: BTreeMap::new(),
            memory: Vec::new(),
            tasks: Vec::new(),
            waits: Vec::new(),
            pressure: BTreeMap::new(),
            events: Vec::new(),
            commands: Vec::new(),
            objectives: Vec::new(),
            data: workload::validated::ValidatedData::default(),
            controllers: None,
            is_without_runs: false,
        };
        debug_assert!(run.intervals.iter().all(|interval| interval.response == Histogram::default()));
        run_summary(&facts, &run)
    }
}
