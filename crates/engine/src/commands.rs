//! Work on commands: a lane for each workload of commands, which executes them at their moments or one behind the other.
//!
//! An execution of a minute is no I/O of a minute: executions are handed over one by one
//! ([`IntervalHarvest::executions`](crate::IntervalHarvest::executions)) and counted in no lane.

use crate::RunInput;
use crate::group_spec::{GroupSpec, LaneSpec};
use crate::issue::Issue;
use crate::shared::Control;
use crate::work::{Group, Lanes, Outcome, Work};
use command::{CommandEnd, CommandExecutor, ExecutedCommand, StopOrder};
use plan::CommandLoad;
use plan::generate::{ArrivalSchedule, Operation, OperationKind};
use quantity::clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
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

/// What all of a run's commands and its coordinator share.
#[derive(Debug, Default)]
pub(crate) struct ExecutionLog {
    /// `CLOCK_MONOTONIC` of the run's time zero, ns; set before the first execution.
    started_ns: OnceLock<u64>,
    records: Mutex<Vec<ExecutionRecord>>,
}

impl ExecutionLog {
    /// The run begins.
    pub(crate) fn begin(&self, started_ns: u64) {
        let _ = self.started_ns.set(started_ns);
    }

    /// What has ended since the last call.
    pub(crate) fn take(&self) -> Vec<ExecutionRecord> {
        std::mem::take(&mut *self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn keep(&self, record: ExecutionRecord) {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }

    /// A time of the run on the clock.
    fn on_clock(&self, run_ns: u64) -> u64 {
        self.started_ns.get().copied().unwrap_or(0).saturating_add(run_ns)
    }
}

/// The commands of one workload.
#[derive(Debug)]
struct CommandLane {
    workload: usize,
    load: CommandLoad,
    /// When the measured time begins, ns of the run.
    warm_ns: u64,
    /// A program that cannot be started now cannot be started a thousand times a second either.
    is_given_up: AtomicBool,
    executor: Mutex<CommandExecutor>,
    /// Executions that were handed out.
    next: AtomicU64,
}

impl CommandLane {
    /// Executions in all, warm-ups included.
    fn count(&self) -> u64 {
        let counted = match self.load.at_ns.len() {
            0 => self.load.executions.unwrap_or(u64::MAX),
            moments => moments as u64,
        };
        counted.saturating_add(u64::from(self.load.warmups))
    }

    /// When each execution is due, ns of the run; warm-ups at once. `None`: one behind the other.
    fn schedule(&self) -> Option<ArrivalSchedule> {
        let moments = self.load.at_ns.iter().map(|at_ns| self.warm_ns.saturating_add(*at_ns));
        let warmups = std::iter::repeat_n(0, self.load.warmups as usize);
        (!self.load.at_ns.is_empty()).then(|| ArrivalSchedule::at(warmups.chain(moments).collect()))
    }

    /// Of the execution with this number, from 0: is it a warm-up, and its number among its kind, from 1.
    fn number_of(&self, number: u64) -> (bool, u64) {
        let warmups = u64::from(self.load.warmups);
        if number < warmups { (true, number + 1) } else { (false, (number - warmups).saturating_add(1)) }
    }

    /// When the execution with this number, from 0, is due, ns of the run; `None`: when the one before is over.
    fn due_ns(&self, number: u64) -> Option<u64> {
        let (is_warmup, number) = self.number_of(number);
        let moment = usize::try_from(number - 1).ok().and_then(|at| self.load.at_ns.get(at)).filter(|_| !is_warmup)?;
        Some(self.warm_ns.saturating_add(*moment))
    }
}

/// Which execution of each lane is next.
#[derive(Debug)]
pub(crate) struct CommandLanes {
    commands: Arc<CommandSet>,
}

/// How the commands of a run are executed.
#[derive(Debug)]
pub(crate) struct Commands(Arc<CommandSet>);

/// All commands of a run.
#[derive(Debug)]
pub(crate) struct CommandSet {
    lanes: Vec<CommandLane>,
    control: Arc<Control>,
    log: Arc<ExecutionLog>,
}

/// The group of a run's commands, which tells `log` of every execution; `None` where the run has none.
pub(crate) fn command_group(
    input: &RunInput<'_>,
    control: &Arc<Control>,
    log: &Arc<ExecutionLog>,
) -> Option<Group<Commands>> {
    let warm_ns = if input.run.format { 0 } else { input.run.warmup_ns };
    let lane = |(workload, load): (usize, &CommandLoad)| CommandLane {
        workload,
        load: load.clone(),
        warm_ns,
        is_given_up: AtomicBool::new(false),
        executor: Mutex::new(CommandExecutor::start()),
        next: AtomicU64::new(0),
    };
    let workloads = input.run.workloads.iter().enumerate();
    let lanes: Vec<CommandLane> =
        workloads.filter_map(|(at, workload)| Some((at, workload.load.command()?))).map(lane).collect();
    if lanes.is_empty() {
        return None;
    }
    // A slot each: executions of one workload never overlap.
    let spec = |(pool, lane): (usize, &CommandLane)| LaneSpec {
        workload: lane.workload,
        // It has none.
        target: usize::MAX,
        pool,
        schedule: lane.schedule(),
        share: 1.0,
        priority: 0,
        think_ns: 0,
    };
    let spec = GroupSpec {
        lanes: lanes.iter().enumerate().map(spec).collect(),
        pools: vec![1; lanes.len()],
        ..GroupSpec::empty()
    };
    let commands = Arc::new(CommandSet { lanes, control: Arc::clone(control), log: Arc::clone(log) });
    Some(Group { spec, lanes: CommandLanes { commands: Arc::clone(&commands) }, work: Commands(commands) })
}

impl Lanes for CommandLanes {
    fn choose(&mut self, lane: usize) -> Option<Operation> {
        let own = &self.commands.lanes[lane];
        if own.next.load(Ordering::Relaxed) >= own.count() || own.is_given_up.load(Ordering::Relaxed) {
            return None;
        }
        // What was due before the end does not start any more.
        if self.commands.order() != StopOrder::GoOn {
            return None;
        }
        let offset = own.next.fetch_add(1, Ordering::Relaxed);
        Some(Operation { op: OperationKind::Command, offset, bytes: 0 })
    }

    fn prepare(&mut self, _: &Issue, _: &mut [u8]) {}
}

impl Commands {
    /// All of them.
    pub(crate) fn set(&self) -> Arc<CommandSet> {
        Arc::clone(&self.0)
    }
}

impl Work for Commands {
    type Lanes = CommandLanes;

    const KINDS: &'static [OperationKind] = &OperationKind::COMMANDS;

    fn call(&self, issue: &Issue, _: &mut [u8]) -> Outcome {
        let set = &*self.0;
        let (lane, number) = (&set.lanes[issue.lane as usize], issue.operation.offset);
        if lane.load.at_ns.is_empty() && lane.number_of(number) == (false, 1) {
            // Those that count begin with the measured time.
            set.sleep_until(set.log.on_clock(lane.warm_ns));
            if set.order() != StopOrder::GoOn {
                return Outcome::Failed(-libc::ECANCELED);
            }
        }
        let mut executor = lane.executor.lock().unwrap_or_else(PoisonError::into_inner);
        let executed = executor.execute(&lane.load.line, lane.load.prepare.as_ref(), &|| set.order());
        drop(executor);
        if executed.end == CommandEnd::NotStarted && lane.load.executions.is_none() && lane.load.at_ns.is_empty() {
            lane.is_given_up.store(true, Ordering::Relaxed);
        }
        let outcome = if executed.end.is_success() { Outcome::Done(0) } else { Outcome::Failed(-libc::ECHILD) };
        // One that was to follow another and did not begin has no time at which it was due.
        if executed.end != CommandEnd::Waiting || lane.due_ns(number).is_some() {
            set.keep(lane, number, lane.due_ns(number), executed);
        }
        outcome
    }
}

impl CommandSet {
    /// The run is over and its threads have ended, or are left behind: notes executions that were due before the end and
    /// did not start, each once, however late the last one of their command came to its end.
    pub(crate) fn note_waiting(&self) {
        let stopped_ns = self.control.stopped_at_ns().unwrap_or(u64::MAX);
        for lane in &self.lanes {
            // Warm-ups have no moments.
            let handed_out = lane.next.swap(u64::MAX, Ordering::Relaxed);
            let mut number = handed_out.max(u64::from(lane.load.warmups));
            while let Some(due_ns) = lane.due_ns(number).filter(|due_ns| *due_ns <= stopped_ns) {
                self.keep(lane, number, Some(due_ns), ExecutedCommand::waiting());
                number += 1;
            }
        }
    }

    fn order(&self) -> StopOrder {
        match (self.control.is_aborted(), self.control.is_stopped()) {
            (true, _) => StopOrder::StopNow,
            (false, true) => StopOrder::Stop,
            (false, false) => StopOrder::GoOn,
        }
    }

    /// Notes an execution; without a time of the run, it was due when it could start.
    fn keep(&self, lane: &CommandLane, number: u64, due_ns: Option<u64>, executed: ExecutedCommand) {
        let (is_warmup, number) = lane.number_of(number);
        let began_ns = executed.start_ns.unwrap_or(executed.end_ns);
        let due_ns = due_ns.map_or(began_ns, |due_ns| self.log.on_clock(due_ns));
        self.log.keep(ExecutionRecord { workload: lane.workload, is_warmup, number, due_ns, executed });
    }

    /// Until this time of the clock, unless the run is over before.
    fn sleep_until(&self, until_ns: u64) {
        while self.order() == StopOrder::GoOn {
            let left_ns = until_ns.saturating_sub(clock::now_ns());
            if left_ns == 0 {
                return;
            }
            std::thread::sleep(Duration::from_nanos(left_ns.min(NAP_NS)));
        }
    }
}
