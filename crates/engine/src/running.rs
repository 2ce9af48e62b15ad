//! A run under way: the coordinator's side.

use crate::arrivals::{Arrived, is_predictable};
use crate::blocks::Blocks;
use crate::budget::Budget;
use crate::choose::Chosen;
use crate::commands::{CommandSet, ExecutionLog, command_group};
use crate::cpu::CostClock;
use crate::failure::{RawFailure, describe};
use crate::group::divide;
use crate::group_spec::LaneSpec;
use crate::harvest::{
    BUSY_SHARE, FailedOperation, FinishedRun, IntervalHarvest, JobInterval, KeptIo, LaneEnd, LaneEnds, LaneInterval,
    LaneMap, StepMap, WorkerInterval,
};
use crate::job_status::JobStatuses;
use crate::pool::used_targets;
use crate::replay_progress::Played;
use crate::shared::{Control, Done, Gate};
use crate::stats::RawIo;
use crate::sync::SyncWorkers;
use crate::teams::{IO_URING, SYNC, WorkerSet};
use crate::tree_crew::TreeCrew;
use crate::uring_worker::Worker;
use crate::work::Group;
use crate::work::{RingWork, Work};
use crate::{EngineError, EngineOptions, ResolvedRate, RunInput, choose, placement, validated_lanes, validating};
use quantity::clock;
use quantity::histogram::Histogram;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use validation::TargetValidation;

/// How long workers have to end after the order to stop; those that hang in the kernel are left behind.
const GIVE_UP_NS: u64 = 50_000_000;

/// The same of commands, which are killed then: what came from them ends before this process does.
const COMMANDS_GIVE_UP_NS: u64 = 5_000_000_000;

/// The crew of a run's commands. What it does is in no figure of I/O, so it stands beside the other teams.
#[derive(Default)]
pub(crate) struct CommandCrew {
    team: Option<WorkerSet>,
    log: Arc<ExecutionLog>,
    set: Option<Arc<CommandSet>>,
}

impl CommandCrew {
    /// A thread for each workload of commands, which waits at the gate.
    fn start(
        input: &RunInput<'_>,
        number: usize,
        control: &Arc<Control>,
        gate: &Arc<Gate>,
    ) -> Result<Self, EngineError> {
        let log = Arc::default();
        let budget = Arc::new(Budget::of_time(input));
        let group = command_group(input, control, &log);
        let set = group.as_ref().map(|group| group.work.set());
        let team = group.map(|group| crew_team(number, group, (&budget, control), gate)).transpose()?;
        Ok(Self { team, log, set })
    }

    /// Number of commands.
    fn len(&self) -> usize {
        self.team.as_ref().map_or(0, |team| team.lanes.len())
    }

    /// Is every execution over?
    fn finished(&self) -> bool {
        self.team.as_ref().is_none_or(WorkerSet::is_done)
    }
}

/// Who counts what became due.
pub(crate) enum Offered {
    /// By schedules.
    Scheduled(Arrived),
    /// By what is played.
    Played(Played),
}

/// What a run that has been started consists of.
pub(crate) struct Parts {
    pub(crate) teams: Vec<WorkerSet>,
    pub(crate) trees: TreeCrew,
    pub(crate) commands: CommandCrew,
    pub(crate) validated: Vec<Arc<TargetValidation>>,
    pub(crate) control: Arc<Control>,
    pub(crate) statuses: Arc<JobStatuses>,
    pub(crate) started_ns: u64,
    /// When nothing is issued any more, by the plan.
    pub(crate) ends_ns: Option<u64>,
    pub(crate) offered: Offered,
    /// By workload: does it follow a schedule?
    pub(crate) is_open: Vec<bool>,
    pub(crate) description: String,
}

/// An interval that ends later than it should by more than this part of it is one that is longer.
const LATE_PART: u64 = 500;

/// A run that has been started.
pub struct RunningRun {
    teams: Vec<WorkerSet>,
    trees: TreeCrew,
    commands: CommandCrew,
    validated: Vec<Arc<TargetValidation>>,
    control: Arc<Control>,
    statuses: Arc<JobStatuses>,
    started_ns: u64,
    /// When nothing is issued any more, by the plan.
    ends_ns: Option<u64>,
    harvested_ns: u64,
    lanes: LaneMap,
    offered: Offered,
    /// By workload: does it follow a schedule?
    is_open: Vec<bool>,
    /// Is any workload in a closed loop?
    is_closed: bool,
    description: String,
}

impl std::fmt::Debug for RunningRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("description", &self.description).finish_non_exhaustive()
    }
}

/// Starts the run's workers.
///
/// # Errors
/// What the plan asks cannot be generated on these targets, io_uring was demanded and is not there, or the system has no
/// memory or threads left. Nothing was issued then.
pub fn start(input: RunInput<'_>, options: &EngineOptions) -> Result<RunningRun, EngineError> {
    start_keeping(input, options, &[])
}

/// The same, and keeps every operation of the workloads that `each` says true of, by their index ([`IntervalHarvest::ios`]).
///
/// # Errors
/// See [`start`].
pub fn start_keeping(input: RunInput<'_>, options: &EngineOptions, each: &[bool]) -> Result<RunningRun, EngineError> {
    validating::refuse(&input)?;
    let chosen = choose::choose(&input, options)?;
    let statuses = Arc::new(JobStatuses::new(&input));
    let mut groups: Vec<Group<Blocks>> = divide(&input, chosen.groups, chosen.is_uring, &statuses)?;
    let mut arrived = Arrived::new(&groups, Budget::new(&input));
    let control = Arc::new(Control::new(options.errors_max, options.damage_max));
    let validated = validated_lanes::attach(&input, &mut groups, &control);
    let budget = Arc::new(Budget::new(&input));
    let gate = Arc::new(Gate::default());
    let mut teams = Vec::with_capacity(groups.len());
    for (number, mut group) in groups.drain(..).enumerate() {
        group.spec.punts = chosen.punts;
        let is_kept = |lane: &LaneSpec| each.get(lane.workload).copied().unwrap_or(false);
        let kept: Vec<bool> = group.spec.lanes.iter().map(is_kept).collect();
        let team = match chosen.is_uring {
            true => ring_team(number, group, (&budget, &control), &gate),
            false => crew_team(number, group, (&budget, &control), &gate),
        };
        let team = team.map(|mut team| {
            team.stats.lock().keep_each(&kept);
            team.spare.keep_each(&kept);
            team
        });
        match team {
            Ok(team) => teams.push(team),
            Err(error) => {
                control.abort();
                gate.open(None);
                return Err(error);
            }
        }
    }
    let workers = teams.len();
    let crews =
        TreeCrew::start((&input, options), workers, (&budget, &control), &gate).and_then(|(trees, tree_teams)| {
            arrived.add_trees(trees.arrivals(&input)?, tree_teams.len());
            teams.extend(tree_teams);
            Ok((trees, CommandCrew::start(&input, teams.len(), &control, &gate)?))
        });
    let (trees, commands) = crews.inspect_err(|_| {
        control.abort();
        gate.open(None);
    })?;
    teams.iter_mut().for_each(|team| team.tell(&control));
    // Everything is set up; time begins when all have had a moment to come to the gate.
    let started_ns = clock::now_ns() + 1_000_000;
    commands.log.begin(started_ns);
    control.begin(started_ns);
    gate.open(Some(started_ns));
    let is_open = is_open(&input);
    let description = describe_run(&input, &chosen, &is_open, (workers, commands.len()), &trees);
    let offered = Offered::Scheduled(arrived);
    let ends_ns = budget.end_ns().map(|end_ns| started_ns + end_ns);
    Ok(RunningRun::of(Parts {
        teams,
        trees,
        commands,
        validated,
        control,
        statuses,
        started_ns,
        ends_ns,
        offered,
        is_open,
        description,
    }))
}

/// By workload: does it follow a schedule?
fn is_open(input: &RunInput<'_>) -> Vec<bool> {
    let each = input.run.workloads.iter().map(|workload| match &workload.job {
        _ if !workload.load.is_paced() => true,
        Some(job) => (workload.rate.is_some() || input.rate != ResolvedRate::Max) && is_predictable(job),
        None => workload.rate.is_some() || input.rate != ResolvedRate::Max,
    });
    each.collect()
}

/// How a run is carried out by so many workers and threads of commands, and why so.
fn describe_run(
    input: &RunInput<'_>,
    chosen: &Chosen,
    is_open: &[bool],
    (workers, commands): (usize, usize),
    trees: &TreeCrew,
) -> String {
    let used = used_targets(input).len();
    let is_loop = |open: bool| {
        let mut loops = input.run.workloads.iter().zip(is_open);
        loops.any(|(workload, is_open)| workload.load.is_blocks() && *is_open == open)
    };
    let blocks = format!(
        "{}, {} worker(s), {used} target(s), {}: {}",
        chosen.name,
        workers,
        match (is_loop(true), is_loop(false)) {
            (true, true) => "open and closed loops",
            (true, false) => "open loop",
            (false, _) => "closed loop",
        },
        chosen.reason
    );
    let blocks = match trees.size() {
        (0, _) => blocks,
        (_, threads) => {
            let several = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            let in_trees = format!(
                "{} in {}",
                several(usize::try_from(threads).unwrap_or(usize::MAX), "thread"),
                several(input.run.tree_uses().len(), "tree")
            );
            let in_trees = match trees.rings() {
                0 => in_trees,
                rings => format!("{in_trees}, {}", several(rings, "io_uring worker")),
            };
            if workers == 0 { in_trees } else { format!("{blocks}; {in_trees}") }
        }
    };
    match (workers + trees.size().0, commands) {
        (_, 0) => blocks,
        (0, 1) => "1 command".to_string(),
        (0, count) => format!("{count} commands"),
        (_, 1) => format!("{blocks}; 1 command"),
        (_, count) => format!("{blocks}; {count} commands"),
    }
}

/// A thread with a ring for a group.
fn ring_team<W: RingWork>(
    number: usize,
    group: Group<W>,
    (budget, control): (&Arc<Budget>, &Arc<Control>),
    gate: &Arc<Gate>,
) -> Result<WorkerSet, EngineError> {
    let mut team = WorkerSet::of::<W>(&group.spec, IO_URING, CostClock::new(true, number == 0));
    let shared = (Arc::clone(budget), Arc::clone(&team.stats), Arc::clone(control), Arc::clone(&team.status));
    let (placement, gate) = (group.spec.placement.clone(), Arc::clone(gate));
    // A ring belongs to the thread that made it (SINGLE_ISSUER), so it is made there; errors come back by channel.
    let (ready_sender, ready) = std::sync::mpsc::channel();
    let body = move || {
        let (budget, stats, control, status) = shared;
        let _done = Done(Arc::clone(&status));
        if let Err(error) = placement::apply(&placement) {
            let _ = ready_sender.send(Some(error));
            return Ok(());
        }
        let worker = match Worker::new(group, budget, stats, control, status) {
            Ok(worker) => worker,
            Err(error) => {
                let _ = ready_sender.send(Some(error));
                return Ok(());
            }
        };
        let _ = ready_sender.send(None);
        gate.wait().map_or(Ok(()), |started_ns| worker.run(started_ns))
    };
    team.spawn(format!("iodyno-{number}"), Box::new(body))?;
    if let Ok(Some(error)) = ready.recv() {
        return Err(error);
    }
    Ok(team)
}

/// A crew of threads for a group.
fn crew_team<W: Work>(
    number: usize,
    group: Group<W>,
    (budget, control): (&Arc<Budget>, &Arc<Control>),
    gate: &Arc<Gate>,
) -> Result<WorkerSet, EngineError> {
    let mut team = WorkerSet::of::<W>(&group.spec, SYNC, CostClock::new(false, number == 0));
    let placement = group.spec.placement.clone();
    let shared = (Arc::clone(&team.stats), Arc::clone(control), Arc::clone(&team.status));
    let crew = SyncWorkers::new(group, Arc::clone(budget), shared);
    for thread in 0..crew.threads() {
        let (crew, gate, placement) = (Arc::clone(&crew), Arc::clone(gate), placement.clone());
        let body = move || {
            let placed = placement::apply(&placement);
            if let (Some(started_ns), Ok(())) = (gate.wait(), &placed) {
                crew.run(started_ns);
            }
            placed
        };
        team.spawn(format!("iodyno-{number}.{thread}"), Box::new(body))?;
    }
    Ok(team)
}

impl RunningRun {
    /// Has begun at `parts.started_ns`.
    pub(crate) fn of(parts: Parts) -> Self {
        let Parts { teams, trees, commands, validated, control, statuses, .. } = parts;
        let Parts { started_ns, ends_ns, offered, is_open, description, .. } = parts;
        let is_closed = is_open.contains(&false);
        let lanes = LaneMap::default();
        Self {
            teams,
            trees,
            commands,
            validated,
            control,
            statuses,
            started_ns,
            ends_ns,
            harvested_ns: started_ns,
            lanes,
            offered,
            is_open,
            is_closed,
            description,
        }
    }

    /// How I/O is issued, and why so.
    #[must_use]
    pub fn describe(&self) -> String {
        self.description.clone()
    }

    /// How the run's jobs end. Who starts a run in which jobs end with an `fsync` has to carry it out:
    /// [`JobStatuses::unsynced`] tells when, [`JobStatuses::synced`] that it is done.
    #[must_use]
    pub fn statuses(&self) -> Arc<JobStatuses> {
        Arc::clone(&self.statuses)
    }

    /// `CLOCK_MONOTONIC` of the run's time zero, ns.
    #[must_use]
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    /// Has every worker come to its end?
    #[must_use]
    pub fn finished(&self) -> bool {
        self.teams.iter().all(WorkerSet::is_done) && self.commands.finished()
    }

    /// Did more operations fail than the run goes on with? Then nothing is issued any more.
    #[must_use]
    pub fn has_too_many_errors(&self) -> bool {
        self.control.has_too_many_errors()
    }

    /// No more submissions; what is in flight comes back.
    pub fn stop(&self) {
        self.control.stop(clock::now_ns().saturating_sub(self.started_ns));
    }

    /// Ends the interval now and takes what was recorded in it. Never waits for I/O.
    pub fn harvest(&mut self) -> IntervalHarvest {
        self.harvest_due(u64::MAX)
    }

    /// The same of an interval that was to end at `due_ns` of the clock: what became due from then on, in the moment until
    /// it was harvested, belongs to the next one. Where that took longer, it belongs to the longer interval.
    pub fn harvest_due(&mut self, due_ns: u64) -> IntervalHarvest {
        let mut workers = Vec::with_capacity(self.teams.len());
        let (mut failures, mut jobs) = (Vec::new(), Vec::new());
        let (mut ios, mut ios_lost) = (Vec::new(), 0);
        let mut steps = StepMap::default();
        for team in &mut self.teams {
            team.stats.exchange(&mut team.spare);
        }
        // The last interval ends with the load, however late the harvest comes.
        let ends_ns = self.ends_ns.filter(|ends_ns| self.harvested_ns < *ends_ns).unwrap_or(u64::MAX);
        let t_ns = clock::now_ns().min(ends_ns).max(self.harvested_ns + 1);
        let interval_ns = t_ns - self.harvested_ns;
        let run_ns = t_ns.saturating_sub(self.started_ns);
        for (number, team) in self.teams.iter_mut().enumerate() {
            let (lanes, map, spare) = (&team.lanes, &mut self.lanes, &mut team.spare);
            failures.extend(spare.failures.iter().map(|raw| failure_of(raw, lanes[raw.lane], self.started_ns)));
            let of_team = team.jobs.iter_mut().enumerate();
            jobs.extend(of_team.filter_map(|(at, job)| job.interval(spare.jobs.get_mut(at), self.started_ns)));
            ios.extend(spare.ios.iter().map(|raw| kept_io_of(raw, lanes[raw.lane], self.started_ns)));
            ios_lost += spare.ios_lost;
            let cost = team.cost.since_last(team.status.tid.load(Ordering::Acquire), &team.status.ended);
            let mut worker = WorkerInterval {
                worker: number,
                engine: team.engine,
                cpu_user_ns: cost.user_ns,
                cpu_sys_ns: cost.system_ns,
                context_switches: cost.switches,
                minor_faults: cost.minor_faults,
                major_faults: cost.major_faults,
                wait: Histogram::default(),
                timestamp_age_ns_max: spare.timestamp_age_ns_max,
                submit_calls: spare.submit_calls,
                wakeups: spare.wakeups,
                limited: false,
            };
            spare.drain_steps(|lane, op, stat| steps.add(lanes[lane], op, stat));
            let offered = &mut self.offered;
            spare.drain(|lane, op, stat| {
                worker.wait.merge(&map.add(lanes[lane], op, stat, run_ns));
                match offered {
                    Offered::Scheduled(arrived) => arrived.submitted(number, (lane, op), stat.submitted),
                    Offered::Played(played) => played.submitted(stat.submitted),
                }
            });
            workers.push(worker);
        }
        let is_in_time = due_ns <= t_ns && t_ns - due_ns <= interval_ns / LATE_PART;
        let end_ns = if is_in_time { due_ns.saturating_sub(self.started_ns) } else { run_ns };
        // What is due in the very moment of the stop is still sent.
        let until_ns = self.control.stopped_at_ns().map_or(end_ns, |stopped| end_ns.min(stopped + 1));
        match &mut self.offered {
            Offered::Scheduled(arrived) => {
                arrived.stop_jobs(&self.statuses);
                arrived.advance(until_ns, |lane, op| self.lanes.arrived(lane, op));
            }
            Offered::Played(played) => played.advance(until_ns, |lane, op| self.lanes.arrived(lane, op)),
        }
        let lanes = self.lanes.take(interval_ns, &self.is_open, self.started_ns);
        self.harvested_ns = t_ns;
        // What waits of a job that was stopped is not waited for any more.
        let is_wanted = |lane: &&LaneInterval| self.statuses.stopped_ns(lane.workload).is_none();
        let has_backlog = lanes.iter().filter(is_wanted).any(|lane| lane.backlog > 0);
        workers.iter_mut().for_each(|worker| self.judge(worker, interval_ns, has_backlog));
        jobs.sort_by_key(|job: &JobInterval| job.workload);
        ios.sort_by_key(|io: &KeptIo| io.t_ns);
        let executions = self.commands.log.take();
        let (steps, notes) = (steps.into_vec(), self.trees.take_notes());
        IntervalHarvest { t_ns, interval_ns, lanes, workers, jobs, failures, ios, ios_lost, executions, steps, notes }
    }

    /// Was it the worker that limited the load in this interval?
    fn judge(&self, worker: &mut WorkerInterval, interval_ns: u64, has_backlog: bool) {
        let is_busy = (worker.cpu_user_ns + worker.cpu_sys_ns) as f64 > BUSY_SHARE * interval_ns as f64;
        // At full speed a core that is busy in the kernel is busy with the I/O itself.
        let is_own = has_backlog || (self.is_closed && worker.cpu_user_ns > worker.cpu_sys_ns);
        worker.limited = is_busy && is_own;
    }

    /// Ages of everything that has no end. What is in flight is looked at before what came back is taken: what comes back
    /// in between is rather in both than in neither.
    fn open_ends(&mut self) -> (IntervalHarvest, Vec<LaneEnd>) {
        let mut ends = LaneEnds::default();
        let run_ns = clock::now_ns().saturating_sub(self.started_ns);
        for team in &self.teams {
            team.stats.under_way(|one| {
                let ages = (run_ns.saturating_sub(one.due_ns), run_ns.saturating_sub(one.submitted_ns));
                ends.in_flight(team.lanes[one.lane], one.op, ages);
            });
        }
        let harvest = self.harvest();
        let end_ns = self.control.stopped_at_ns().unwrap_or(run_ns);
        match &mut self.offered {
            Offered::Scheduled(arrived) => {
                arrived.take_waiting(|arrival, job_end_ns| ends.waiting(arrival, end_ns.min(job_end_ns)));
            }
            Offered::Played(played) => played.take_waiting(|arrival| ends.waiting(arrival, end_ns)),
        }
        (harvest, ends.into_vec())
    }

    /// Ends the run: waits up to `patience` for what is in flight, then gives it up; tells what came back in the meantime
    /// and what has no end.
    ///
    /// # Errors
    /// A worker broke down.
    pub fn finish(mut self, patience: Duration) -> Result<FinishedRun, EngineError> {
        self.stop();
        let give_up_ns = clock::now_ns() + u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX / 2);
        while !self.finished() && clock::now_ns() < give_up_ns {
            std::thread::sleep(Duration::from_millis(1));
        }
        if !self.finished() {
            self.control.abort();
            let now_ns = clock::now_ns();
            let has_time = |running: &Self| {
                let is_patient = !running.commands.finished();
                clock::now_ns() < now_ns + if is_patient { COMMANDS_GIVE_UP_NS } else { GIVE_UP_NS }
            };
            while !self.finished() && has_time(&self) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.commands.set.iter().for_each(|set| set.note_waiting());
        let (harvest, open) = self.open_ends();
        let is_given_up = self.control.is_aborted();
        if is_given_up {
            self.validated.iter().for_each(|target| target.give_up());
        }
        for team in self.teams.drain(..).chain(self.commands.team.take()) {
            let is_done = team.is_done();
            // Threads that hang in a system call are left behind; they hold nothing that other threads need.
            for thread in team.threads.into_iter().filter(|_| is_done) {
                thread.outcome(is_given_up)?;
            }
        }
        Ok(FinishedRun { harvest, open })
    }
}

/// A failure of a lane, in times of the clock.
fn failure_of(raw: &RawFailure, (workload, target): (usize, usize), started_ns: u64) -> FailedOperation {
    let RawFailure { t_ns, op, offset, bytes, result, ref at, .. } = *raw;
    let step = at.as_ref().and_then(|at| at.step).filter(|step| *step != op);
    let kind = step.map_or(String::new(), |step| format!("{} failed: ", step.name())) + &describe(result);
    let path = at.as_ref().map(|at| at.path.clone());
    FailedOperation { t_ns: started_ns + t_ns, workload, target, op, offset, bytes, kind, path }
}

/// An operation of a lane that is kept by itself, in times of the clock.
fn kept_io_of(raw: &RawIo, (workload, target): (usize, usize), started_ns: u64) -> KeptIo {
    let RawIo { t_ns, due_ns, submitted_ns, op, offset, bytes, priority, .. } = *raw;
    let (response_ns, service_ns) = (t_ns.saturating_sub(due_ns), t_ns.saturating_sub(submitted_ns));
    KeptIo { t_ns: started_ns + t_ns, workload, target, op, offset, bytes, response_ns, service_ns, priority }
}
