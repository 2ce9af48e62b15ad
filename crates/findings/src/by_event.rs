//! From rows of the event clock to what rules look at.

use super::interval_sample::{CpuEventUse, IntervalSample, PreemptedUse, RunUse, StolenUse};
use super::samples::{FORGET_NS, KNOWN, Samples, Sparse};
use rates::counter::CounterStep;
use rates::cpu_time::CpuEventDelta;
use rates::irq_time::IrqDelta;
use recording::rows::{CpuEvent, PreemptedBy, ProcessEvent, Stolen};
use recording::{Label, RecordingError, RowBatch};

/// Rows since the last moment, and those before.
#[derive(Debug)]
pub(super) struct ByEvent {
    cpus: Samples<String, CpuEvent>,
    runs: Sparse<(i64, i64), ProcessEvent>,
    preempted: Sparse<(i64, i64), PreemptedBy>,
    stolen: Sparse<(i64, Label, Label), Stolen>,
}

impl Default for ByEvent {
    fn default() -> Self {
        Self {
            cpus: Samples::default(),
            runs: Sparse::of_beginners(|row| (row.start_ns, row.t_ns)),
            preempted: Sparse::default(),
            stolen: Sparse::default(),
        }
    }
}

impl ByEvent {
    /// What comes is not the beginning of a recording.
    pub(super) fn join(&mut self) {
        (self.runs.joins, self.preempted.joins, self.stolen.joins) = (true, true, true);
    }

    /// Takes a batch of any table.
    pub(super) fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        match batch.table.name {
            CpuEvent::NAME => self.cpus.accept(batch),
            ProcessEvent::NAME => self.runs.accept(batch),
            PreemptedBy::NAME => self.preempted.accept(batch),
            Stolen::NAME => self.stolen.accept(batch),
            _ => Ok(()),
        }
    }

    /// Puts into the moment what came since the last one; nothing where there is no event clock.
    pub(super) fn fill(&mut self, moment: &mut IntervalSample) {
        let (is_here, has_irq) = (!self.cpus.now.is_empty(), self.cpus.now.iter().any(|row| row.stolen_ns.is_some()));
        moment.cpu_events = self.cpus.pairs(|row| row.cpu.clone(), cpu_use);
        moment.cpu_events.retain(|one| one.cpu != "all");
        let (runs, _) = self.runs.with_previous(
            |row| (row.pid, row.start_ns),
            |row, was| {
                let step = CounterStep { now: row, before: was, seconds: 0.0 };
                Some(RunUse {
                    pid: row.pid,
                    comm: row.comm.to_string(),
                    is_kernel: is_kernel(row),
                    run_s: step.delta(|row| row.run_ns)? / 1e9,
                    wait_s: step.delta(|row| row.wait_ns)? / 1e9,
                    switches: step.delta(|row| row.switches)?,
                    preemptions: step.delta(|row| row.preemptions)?,
                })
            },
        );
        moment.runs = is_here.then_some(runs);
        let named = |name: &Option<Label>| name.as_deref().unwrap_or("?").to_string();
        moment.preempted = self
            .preempted
            .with_previous(
                |row| (row.pid, row.by_pid),
                |row, was| {
                    let step = CounterStep { now: row, before: was, seconds: 0.0 };
                    Some(PreemptedUse {
                        pid: row.pid,
                        by_pid: row.by_pid,
                        by_comm: named(&row.by_comm),
                        count: step.delta(|row| row.count)?,
                        wait_s: step.delta(|row| row.wait_ns)? / 1e9,
                        // Recordings from before they were counted have none.
                        behind: step.delta(|row| row.behind.unwrap_or(0))?,
                        behind_s: step.delta(|row| row.behind_ns.unwrap_or(0))? / 1e9,
                    })
                },
            )
            .0;
        let (stolen, _) = self.stolen.with_previous(
            |row| (row.pid, row.kind.clone(), row.vector.clone()),
            |row, was| {
                let before = was.map_or((0, 0), |was| (was.count, was.ns));
                let stolen_s = IrqDelta::or_restart((row.count, row.ns), before).time_ns as f64 / 1e9;
                let vector = format!("{} {}", &*row.kind, &*row.vector);
                Some(StolenUse { pid: row.pid, comm: row.comm.to_string(), vector, stolen_s })
            },
        );
        moment.stolen = has_irq.then_some(stolen);
        self.forget(moment.t_ns);
    }

    fn forget(&mut self, t_ns: i64) {
        if self.runs.before.len() > KNOWN {
            self.runs.forget(|row| t_ns - row.t_ns < FORGET_NS);
        }
        if self.preempted.before.len() > KNOWN {
            self.preempted.forget(|row| t_ns - row.t_ns < FORGET_NS);
        }
        if self.stolen.before.len() > KNOWN {
            self.stolen.forget(|row| t_ns - row.t_ns < FORGET_NS);
        }
    }
}

/// `None` where interrupts are not timed: those while no task ran would be missing.
fn cpu_use(row: &CpuEvent, was: &CpuEvent) -> Option<CpuEventUse> {
    let delta = CpuEventDelta::of(row, was);
    let (busy, run) = (delta.busy()?, delta.run?);
    // A stretch that had begun before is in the row of its end, whole.
    let long = delta.long.unwrap_or(0.0).min(run);
    Some(CpuEventUse {
        cpu: row.cpu.clone(),
        busy: delta.percent(Some(busy))?,
        brief: delta.percent(Some(busy - long))?,
        irq: delta.percent(Some(delta.irq? + delta.softirq?))?,
        switches_per_s: delta.per_s(delta.switches),
    })
}

/// All threads of the kernel come from `kthreadd`, which is process 2; what the idle task (0) is made of is the kernel's too.
fn is_kernel(row: &ProcessEvent) -> bool {
    const KTHREADD: i64 = 2;
    // In a container, PID 2 may be any process; the kernel's own has no parent.
    row.parent == KTHREADD || row.pid == 0 || (row.pid == KTHREADD && row.parent == 0)
}
