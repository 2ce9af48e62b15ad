//! Commands as work: one thread per workload of commands, which executes them at their moments or one behind the other.
//!
//! An execution of a minute is no I/O of a minute: executions are handed over one by one
//! ([`IntervalHarvest::executions`](crate::IntervalHarvest::executions)) and counted in no lane.

use crate::shared::{Control, Done, Gate, Status};
use crate::{EngineError, RunInput};
use command::{CommandEnd, ExecutedCommand, StopOrder};
use plan::CommandLoad;
use quantity::clock;
use std::num::NonZeroU64;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest sleep: how late a thread may notice that it is to stop.
const NAP_NS: u64 = 20_000_000;

/// An execution of a command, over or never begun.
#[derive(Clone, Debug)]
pub struct ExecutionRecord {
    /// Index into the run's workloads.
    pub workload: usize,
    /// Does no figure count it?
    pub is_warmup: bool,
    /// Its number among those of its kind, from 1.
    pub number: u64,
    /// When it was due, `CLOCK_MONOTONIC`, ns.
    pub due_ns: u64,
    /// How it went.
    pub executed: ExecutedCommand,
}

/// The threads of a run's commands.
#[derive(Debug, Default)]
pub(crate) struct CommandCrew {
    threads: Vec<(Arc<Status>, JoinHandle<()>)>,
    records: Arc<Mutex<Vec<ExecutionRecord>>>,
}

impl CommandCrew {
    /// A thread for each workload of commands, which waits at the gate.
    pub(crate) fn start(input: &RunInput<'_>, control: &Arc<Control>, gate: &Arc<Gate>) -> Result<Self, EngineError> {
        let mut crew = Self::default();
        for (workload, spec) in input.run.workloads.iter().enumerate() {
            let Some(load) = spec.load.command() else { continue };
            let status = Arc::new(Status::default());
            let executor = CommandExecutor {
                workload,
                load: load.clone(),
                warm_ns: if input.run.format { 0 } else { input.run.warmup_ns },
                control: Arc::clone(control),
                records: Arc::clone(&crew.records),
            };
            let (own, gate) = (Arc::clone(&status), Arc::clone(gate));
            let work = move || {
                let _done = Done(own);
                if let Some(started_ns) = gate.wait() {
                    executor.run(started_ns);
                }
            };
            let builder = std::thread::Builder::new().name(format!("command-{workload}")).stack_size(256 << 10);
            let thread = builder.spawn(work).map_err(EngineError::system("start a thread for a command"))?;
            crew.threads.push((status, thread));
        }
        Ok(crew)
    }

    /// Number of commands.
    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }

    /// Is every execution over?
    pub(crate) fn finished(&self) -> bool {
        self.threads.iter().all(|(status, _)| status.done.load(Ordering::Acquire))
    }

    /// What has ended since the last call.
    pub(crate) fn take(&self) -> Vec<ExecutionRecord> {
        std::mem::take(&mut *self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for the threads, all of which are done.
    pub(crate) fn join(&mut self) {
        for (status, thread) in self.threads.drain(..) {
            if status.done.load(Ordering::Acquire) {
                let _ = thread.join();
            }
        }
    }
}

/// Executes the commands of one workload.
struct CommandExecutor {
    workload: usize,
    load: CommandLoad,
    warm_ns: u64,
    control: Arc<Control>,
    records: Arc<Mutex<Vec<ExecutionRecord>>>,
}

impl CommandExecutor {
    fn order(&self) -> StopOrder {
        match (self.control.is_aborted(), self.control.is_stopped()) {
            (true, _) => StopOrder::StopNow,
            (false, true) => StopOrder::Stop,
            (false, false) => StopOrder::GoOn,
        }
    }

    fn is_over(&self) -> bool {
        self.order() != StopOrder::GoOn
    }

    fn run(&self, started_ns: u64) {
        for number in 1..=u64::from(self.load.warmups) {
            if self.is_over() {
                return;
            }
            self.execute(true, number, None);
        }
        let measured_ns = started_ns + self.warm_ns;
        if self.load.at_ns.is_empty() {
            self.sleep(measured_ns);
            self.in_a_row();
        } else {
            self.at_moments(started_ns, measured_ns);
        }
    }

    /// One behind the other.
    fn in_a_row(&self) {
        for number in 1..=self.load.executions.unwrap_or(u64::MAX) {
            if self.is_over() {
                return;
            }
            let end = self.execute(false, number, None);
            // What cannot be started now cannot be started a thousand times a second either.
            if self.load.executions.is_none() && end == CommandEnd::NotStarted {
                return;
            }
        }
    }

    fn at_moments(&self, started_ns: u64, measured_ns: u64) {
        for (number, at_ns) in (1..).zip(&self.load.at_ns) {
            let due_ns = measured_ns.saturating_add(*at_ns);
            self.sleep(due_ns);
            if self.is_over() {
                let stopped_ns = self.control.stopped_at_ns().map_or_else(clock::now_ns, |at_ns| started_ns + at_ns);
                if due_ns > stopped_ns {
                    return;
                }
                self.keep(false, number, due_ns, ExecutedCommand::waiting());
                continue;
            }
            self.execute(false, number, Some(due_ns));
        }
    }

    /// Executes it once; without a moment, it is due when it can start.
    fn execute(&self, is_warmup: bool, number: u64, due_ns: Option<u64>) -> CommandEnd {
        // A program inherits it.
        let _ = rustix::thread::set_current_timer_slack(None);
        let executed = command::execute(&self.load.line, self.load.prepare.as_ref(), &|| self.order());
        let end = executed.end;
        let due_ns = due_ns.or(executed.start_ns).unwrap_or(executed.end_ns);
        self.keep(is_warmup, number, due_ns, executed);
        end
    }

    fn keep(&self, is_warmup: bool, number: u64, due_ns: u64, executed: ExecutedCommand) {
        let record = ExecutionRecord { workload: self.workload, is_warmup, number, due_ns, executed };
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }

    /// Until this time of the clock, unless the run is over before.
    fn sleep(&self, until_ns: u64) {
        // Sleeps end when they should, not up to 50 µs later.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        while !self.is_over() {
            let left_ns = until_ns.saturating_sub(clock::now_ns());
            if left_ns == 0 {
                return;
            }
            std::thread::sleep(Duration::from_nanos(left_ns.min(NAP_NS)));
        }
    }
}
