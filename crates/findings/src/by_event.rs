//! From rows of the event clock to what rules look at.

use super::interval_sample::{CpuEventUse, IntervalSample, PreemptedUse, RunUse, StolenUse};
use super::samples::{FORGET_NS, KNOWN, Samples, Sparse};
use rates::counter::delta;
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
        let since = |now: i64, was: Option<i64>| delta(now, was.unwrap_or(0));
        let (runs, _) = self.runs.with_previous(
            |row| (row.pid, row.start_ns),
            |row, was| {
                Some(RunUse {
                    pid: row.pid,
                    comm: row.comm.to_string(),
                    is_kernel: is_kernel(row),
                    run_s: since(row.run_ns, was.map(|was| was.run_ns))? / 1e9,
                    wait_s: since(row.wait_ns, was.map(|was| was.wait_ns))? / 1e9,
                    switches: since(row.switches, was.map(|was| was.switches))?,
                    preemptions: since(row.preemptions, was.map(|was| was.preemptions))?,
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
                    // Recordings from before they were counted have none.
                    let some = |now: Option<i64>, was: Option<i64>| since(now.unwrap_or(0), was);
                    Some(PreemptedUse {
                        pid: row.pid,
                        by_pid: row.by_pid,
                        by_comm: named(&row.by_comm),
                        count: since(row.count, was.map(|was| was.count))?,
                        wait_s: since(row.wait_ns, was.map(|was| was.wait_ns))? / 1e9,
                        behind: some(row.behind, was.and_then(|was| was.behind))?,
                        behind_s: some(row.behind_ns, was.and_then(|was| was.behind_ns))? / 1e9,
                    })
                },
            )
            .0;
        let (stolen, _) = self.stolen.with_previous(
            |row| (row.pid, row.kind.clone(), row.vector.clone()),
            |row, was| {
                let stolen_s = since(row.ns, was.map(|was| was.ns))? / 1e9;
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
    let (run, idle) = (delta(row.run_ns, was.run_ns)?, delta(row.idle_ns, was.idle_ns)?);
    let some = |now: Option<i64>, was: Option<i64>| delta(now?, was?);
    let irq = some(row.irq_ns, was.irq_ns)? + some(row.softirq_ns, was.softirq_ns)?;
    let busy = run + some(row.idle_irq_ns, was.idle_irq_ns)?;
    // A stretch that had begun before is in the row of its end, whole.
    let long = some(row.long_ns, was.long_ns).unwrap_or(0.0).min(run);
    let percent = |part: f64| (run + idle > 0.0).then(|| 100.0 * part / (run + idle));
    let seconds = (row.t_ns - was.t_ns) as f64 / 1e9;
    let switches = delta(row.switches, was.switches).filter(|_| seconds > 0.0);
    Some(CpuEventUse {
        cpu: row.cpu.clone(),
        busy: percent(busy)?,
        brief: percent(busy - long)?,
        irq: percent(irq)?,
        switches_per_s: switches.map(|switches| switches / seconds),
    })
}

/// All threads of the kernel come from `kthreadd`, which is process 2; what the idle task (0) is made of is the kernel's too.
fn is_kernel(row: &ProcessEvent) -> bool {
    const KTHREADD: i64 = 2;
    // In a container, PID 2 may be any process; the kernel's own has no parent.
    row.parent == KTHREADD || row.pid == 0 || (row.pid == KTHREADD && row.parent == 0)
}
