//! One run: starts the engine, ends an interval at each tick, passes rows on, and knows when it is over.

use crate::SessionError;
use crate::batch_sink::Spine;
use crate::executions::{self, ExecutionTally};
use crate::logs::Logs;
use crate::pause::{Heartbeat, LIMIT_NS, Pause};
use crate::replay::{self, Playback};
use crate::rows::{RowSpan, Sum, Totals};
use crate::run_context::RunContext;
use crate::steady::Watch;
use crate::sync;
use crate::sync::Syncing;
use crate::validation::DataTally;
use engine::{IntervalHarvest, JobStatus, JobStatuses, LaneEnd, RunInput, RunningRun};
use monitor::CounterReaders;
use objectives::RunHalt;
use plan::Plan;
use quantity::clock;
use quantity::histogram::Histogram;
use quantity::text::format_ns;
use recording::{EventKind, EventSeverity, LoadPhase, PhaseEdge, RowBatch};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;
use tool_output::fio_out::SteadyState;

/// How long the coordinator sleeps at most before it looks at signals and at the engine.
const NAP: Duration = Duration::from_millis(20);

/// How long operations in flight may take after the end of a run before they are given up and counted as lost.
const DRAIN: Duration = Duration::from_secs(30);

/// Who interrupts a run is told what it waits for after this time, ns.
const TOLD_NS: u64 = 1_000_000_000;

/// What comes back after the end is taken so often, ns: what had come back before a pause is known exactly.
const DRAIN_INTERVAL_NS: u64 = 200_000_000;

/// The same after a second interrupt.
const DRAIN_URGENT: Duration = Duration::from_millis(500);

/// What ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Its time, its data or its last operation.
    Done,
    /// The user.
    Interrupted,
    /// More failed operations than the plan allows.
    Errors,
    /// More failed operations and damaged blocks than the plan allows.
    Damage,
    /// The journal of what is written cannot go on.
    Journal,
    /// The `monitor=` file asked for it.
    Monitor,
}

impl Cause {
    /// Why the run did not come to its end; `None`: it did.
    fn halt(self) -> Option<RunHalt> {
        match self {
            Self::Interrupted => Some(RunHalt::Interrupted),
            Self::Errors | Self::Damage | Self::Journal => Some(RunHalt::Errors),
            Self::Done | Self::Monitor => None,
        }
    }
}

/// What a run did.
#[derive(Debug)]
pub(crate) struct RunResult {
    pub(crate) cause: Cause,
    /// Sums over the measured phase (for a format run: all of it).
    pub(crate) measured: Sum,
    /// Sums over everything, drain and warm-up included.
    pub(crate) all: Sum,
    /// Length of the measured phase.
    pub(crate) measured_ns: u64,
    /// Length of what was left out of it, because iodyno itself did not run.
    pub(crate) paused_ns: u64,
    /// Operations of each workload in the measured phase.
    pub(crate) ops_by_workload: Vec<u64>,
    /// Arrivals that were never submitted because the run had ended.
    pub(crate) waiting: u64,
    /// It ended in a time that is left out of the figures, because iodyno itself had not run.
    pub(crate) ends_in_a_pause: bool,
    /// How long the oldest operation without an end had been due; `None` when everything ended.
    pub(crate) oldest_ns: Option<u64>,
    /// Operations that had not come back when the engine gave up waiting.
    pub(crate) unfinished: u64,
    /// How the job of each workload ended.
    pub(crate) statuses: Vec<JobStatus>,
    /// A job ended that takes along all runs behind this one.
    pub(crate) ends_all: bool,
    /// All was read before that was to be.
    pub(crate) is_read_before: bool,
    /// What became of its `steadystate`.
    pub(crate) steady: Option<SteadyState>,
    /// What became of executions of commands.
    pub(crate) executions: ExecutionTally,
    /// The first failure that is known with its place.
    pub(crate) first_failure: Option<String>,
}

/// Why the coordinator goes on.
enum Wake {
    /// It is time.
    Due,
    /// The run is over.
    Stopped(Cause),
    /// This process did not run for a while.
    Paused,
}

/// State of a run under way.
struct Under<'a, 'b> {
    context: &'a RunContext<'a>,
    spine: &'a mut Spine<'b>,
    counters: &'a mut CounterReaders,
    totals: Totals,
    phase: LoadPhase,
    measured_ns: u64,
    paused_ns: u64,
    steady: Option<Watch>,
    /// The monitor file as it was when the run began: a request to an earlier run does not end this one.
    monitor_before: Option<(u64, i64, i64)>,
    playback: Option<Playback>,
    logs: Option<Logs>,
    /// I/Os for which the logs had no room.
    unlogged: u64,
    heartbeat: Heartbeat,
    /// When this thread was last known to run.
    looked_ns: u64,
    /// End of the last interval.
    harvested_ns: u64,
    paused: Option<Paused>,
    statuses: Arc<JobStatuses>,
    syncing: Syncing,
    executions: ExecutionTally,
    first_failure: Option<String>,
    data: DataTally,
}

/// A stretch that counts in no figure, because iodyno itself did not run.
#[derive(Clone, Copy, Debug)]
struct Paused {
    pause: Pause,
    /// What was due in the pause is believed to be over then.
    until_ns: u64,
    /// Operations that came back in it.
    operations: u64,
}

impl Paused {
    /// It takes as long again until what had become due in the meantime is served by a target with as much room.
    fn of(pause: Pause) -> Self {
        Self { pause, until_ns: pause.to_ns + pause.length_ns.max(LIMIT_NS), operations: 0 }
    }
}

/// Takes what came back in a time in which this process did not run, `length_ns` long, out of a harvest: each of these was due
/// at least its response less that time before.
fn lower_bounds(harvest: &mut IntervalHarvest, length_ns: u64) -> Vec<LaneEnd> {
    let mut bounds = Vec::new();
    for lane in harvest.lanes.iter_mut().filter(|lane| lane.ops > 0) {
        let (response, service) = (std::mem::take(&mut lane.response), std::mem::take(&mut lane.service));
        (lane.ops, lane.bytes) = (0, 0);
        bounds.push(LaneEnd {
            workload: lane.workload,
            target: lane.target,
            op: lane.op,
            in_flight_age: response.less(length_ns),
            in_flight_service_age: service.less(length_ns),
            waiting_age: Histogram::default(),
        });
    }
    bounds
}

/// Says to who interrupted a run that operations hang in the system.
fn say_what_hangs(title: &str, harvest: &IntervalHarvest) {
    let in_flight: f64 = harvest.lanes.iter().map(|lane| lane.in_flight_mean).sum();
    let what = match in_flight.round() {
        0.0 => "calls of the system that cannot be interrupted".to_string(),
        1.0 => "1 operation that the system has and that cannot be interrupted".to_string(),
        count => format!("{count} operations that the system has and that cannot be interrupted"),
    };
    let seconds = DRAIN.as_secs();
    quantity::output::say(format_args!(
        "iodyno: {title}: waits for {what}, {seconds} s at most; a second Ctrl-C gives them up at once. Then the results are \
         written, but the process can only end when the system has given the calls back"
    ));
}

/// Length and time of the last change of the monitor file; `None` when there is none.
fn monitor_state(plan: &Plan) -> Option<(u64, i64, i64)> {
    let file = std::fs::metadata(plan.settings.monitor.as_ref()?).ok()?;
    Some((file.size(), file.mtime(), file.mtime_nsec()))
}

/// The phase with which a run begins.
fn first_phase(context: &RunContext<'_>) -> LoadPhase {
    match context.run {
        _ if context.sweeps => LoadPhase::Verify,
        run if run.format => LoadPhase::Format,
        run if run.warmup_ns > 0 => LoadPhase::Warmup,
        _ => LoadPhase::Measure,
    }
}

/// Executes one run from start to drained end.
pub(crate) fn execute(
    context: &RunContext<'_>,
    spine: &mut Spine<'_>,
    counters: &mut CounterReaders,
) -> Result<RunResult, SessionError> {
    let first = first_phase(context);
    let input = RunInput {
        plan: context.plan,
        run: context.run,
        rate: context.pace,
        targets: context.targets,
        trees: context.trees,
        seed: context.seed,
        varying_seed: context.varying_seed,
        data_seed: context.data_seed,
        validation: context.validation,
        sweeps: context.sweeps,
    };
    let logs = Logs::of(context.logs.0, context.logs.1, context.run);
    let each = logs.as_ref().map(Logs::each).unwrap_or_default();
    let mut executions = ExecutionTally::default();
    executions::baseline(context, spine, &mut executions)?;
    let mut is_read_before = true;
    // Where the counters stand before the first interval: before the first I/O of the load.
    let baseline;
    let (mut running, playback) = match replay::start(context, input, spine, counters)? {
        Some((running, playback, counted)) => {
            baseline = counted;
            (running, Some(playback))
        }
        None => {
            is_read_before = pre_read(context, &input, spine)?;
            baseline = counters.baseline(clock::now_ns(), spine.origin_ns());
            (engine::start_keeping(input, &context.engine_options(), &each)?, None)
        }
    };
    spine.run_started(context, &running.describe(), clock::now_ns())?;
    let mut under = Under {
        context,
        spine,
        counters,
        totals: Totals::default(),
        phase: first.clone(),
        measured_ns: 0,
        paused_ns: 0,
        steady: context.run.stop.steady.map(Watch::new),
        monitor_before: monitor_state(context.plan),
        playback,
        logs,
        unlogged: 0,
        heartbeat: Heartbeat::start(),
        looked_ns: clock::now_ns(),
        harvested_ns: running.started_ns(),
        paused: None,
        statuses: running.statuses(),
        syncing: Syncing::new(),
        executions,
        first_failure: None,
        data: DataTally::begin(context.validation),
    };
    // What is due counts from here.
    under.spine.phase(context, first, PhaseEdge::Start, running.started_ns())?;
    let cause = under.spine.counters(&baseline).and_then(|()| under.intervals(&mut running));
    running.stop();
    let cause = match cause {
        Ok(cause) => cause,
        Err(error) => {
            // The recording broke: the load must end all the same, and nothing more can be written.
            let _ = running.finish(DRAIN_URGENT);
            return Err(error);
        }
    };
    let result = under.end(running, cause)?;
    Ok(RunResult { is_read_before, ..result })
}

/// Drops what the page cache holds of the files of the run's jobs, or reads them before, as each of them wants; false when
/// they could not be read.
fn pre_read(context: &RunContext<'_>, input: &RunInput<'_>, spine: &mut Spine<'_>) -> Result<bool, SessionError> {
    let RunContext { plan, title, stop, .. } = *context;
    engine::prepare(input);
    let began_ns = clock::now_ns();
    let (bytes, failed) = engine::pre_read(input, &|| stop.is_requested());
    if bytes > 0 {
        let took = format_ns(clock::now_ns() - began_ns);
        spine.note(EventKind::PreRead, &format!("{title}: {bytes} bytes were read before in {took} (pre_read)"))?;
    }
    let is_done = failed.is_empty();
    for (target, error) in failed {
        let spec = &plan.targets[target];
        let sentence = format!("{title}: {} could not be read before (pre_read): {error}", spec.path.display());
        spine.event(EventSeverity::Error, EventKind::PreRead, Some(title), Some(&spec.name), &sentence)?;
        spine.messages.push(sentence);
    }
    Ok(is_done)
}

impl Under<'_, '_> {
    /// The stretch that rows of this moment belong to.
    fn stretch(&self) -> RowSpan<'_> {
        self.spine.stretch(self.context, self.phase.clone())
    }

    /// From tick to tick until something ends the run.
    fn intervals(&mut self, running: &mut RunningRun) -> Result<Cause, SessionError> {
        let run = self.context.run;
        let started_ns = running.started_ns();
        let warm_ns = if run.format { 0 } else { run.warmup_ns };
        let end_ns = run.elapsed_ns.map(|elapsed| started_ns + warm_ns + elapsed);
        let mut phase_end_ns = if self.phase == LoadPhase::Warmup { Some(started_ns + warm_ns) } else { end_ns };
        let mut tick_ns = started_ns + run.interval_ns;
        loop {
            let next_ns = self.paused.map_or(tick_ns, |paused| paused.until_ns);
            let until_ns = phase_end_ns.map_or(next_ns, |end| end.min(next_ns));
            let stopped = match self.wait_in_parts(running, until_ns, started_ns + warm_ns)? {
                Wake::Due => None,
                Wake::Stopped(cause) => Some(cause),
                Wake::Paused => continue,
            };
            let harvest = self.harvest_due(running, until_ns)?;
            self.interval(&harvest)?;
            if let Some(cause) = stopped {
                return Ok(cause);
            }
            if let Some(cause) = self.should_end() {
                return Ok(cause);
            }
            if let Some(watch) = self.steady.as_mut().filter(|_| self.phase == LoadPhase::Measure) {
                watch.add(&harvest);
                if let Some(sentence) = watch.attained() {
                    self.spine.note(EventKind::Steady, &format!("{}: {sentence}", self.context.title))?;
                    return Ok(Cause::Done);
                }
            }
            if phase_end_ns.is_some_and(|end| until_ns >= end) {
                if self.phase != LoadPhase::Warmup {
                    return Ok(Cause::Done);
                }
                let next = if self.paused.is_some() { LoadPhase::Paused } else { LoadPhase::Measure };
                self.enter(next, harvest.t_ns)?;
                phase_end_ns = end_ns;
                tick_ns = started_ns + warm_ns;
            } else if self.paused.is_some_and(|paused| until_ns >= paused.until_ns) {
                self.resume(started_ns, Some(harvest.t_ns))?;
            }
            while tick_ns <= until_ns {
                tick_ns += run.interval_ns;
            }
        }
    }

    /// Ends the phase and begins another.
    fn enter(&mut self, phase: LoadPhase, t_ns: u64) -> Result<(), SessionError> {
        self.spine.phase(self.context, self.phase.clone(), PhaseEdge::End, t_ns)?;
        self.phase = phase.clone();
        self.spine.phase(self.context, phase, PhaseEdge::Start, t_ns)
    }

    /// Did this process not run since the last look? Then the interval under way is no part of the measured phase.
    fn looks_paused(&mut self, started_ns: u64) -> Result<bool, SessionError> {
        let mut pauses = self.heartbeat.take(self.looked_ns).into_iter();
        self.looked_ns = clock::now_ns();
        let Some(first) = pauses.next() else { return Ok(false) };
        let pause = pauses.fold(first, |sum, more| Pause {
            to_ns: more.to_ns,
            length_ns: sum.length_ns + more.length_ns,
            ..sum
        });
        // One that follows before the other is over goes on with it, for as long as the other would have lasted at least.
        let lasts_until_ns = self.paused.map_or(0, |before| before.until_ns);
        self.resume(started_ns, None)?;
        let paused = Paused::of(pause);
        self.paused = Some(Paused { until_ns: paused.until_ns.max(lasts_until_ns), ..paused });
        self.executions.paused(pause.from_ns, pause.to_ns);
        if self.phase == LoadPhase::Measure {
            self.enter(LoadPhase::Paused, self.harvested_ns)?;
        }
        Ok(true)
    }

    /// The pause is over at `t_ns` (`None`: it has no end of its own): says what it cost, and measures again.
    fn resume(&mut self, started_ns: u64, t_ns: Option<u64>) -> Result<(), SessionError> {
        let Some(Paused { pause, operations, .. }) = self.paused.take() else { return Ok(()) };
        let title = self.context.title;
        let at = format_ns(pause.from_ns.saturating_sub(started_ns));
        let counted = match (&self.phase, operations) {
            (LoadPhase::Paused, 1) => "1 operation that was in flight or due then is in no figure".to_string(),
            (LoadPhase::Paused, count) => {
                format!("{count} operations that were in flight or due then are in no figure")
            }
            (LoadPhase::Drain, _) => "what came back in that time counts with the age that it had before".to_string(),
            _ => "what was in flight or due then waited for it and not for the target".to_string(),
        };
        let sentence = format!(
            "{title}: iodyno itself did not run for {} at {at} of the run (stopped, or its machine was); {counted}",
            format_ns(pause.length_ns)
        );
        self.spine.event(EventSeverity::Warning, EventKind::Paused, Some(title), None, &sentence)?;
        self.spine.messages.push(sentence);
        match t_ns {
            Some(t_ns) if self.phase == LoadPhase::Paused => self.enter(LoadPhase::Measure, t_ns),
            _ => Ok(()),
        }
    }

    /// Sleeps until `until_ns`, unless the run is over before.
    fn wait(&mut self, running: &RunningRun, until_ns: u64) -> Result<Wake, SessionError> {
        loop {
            if self.looks_paused(running.started_ns())? {
                return Ok(Wake::Paused);
            }
            if self.context.stop.is_requested() {
                return Ok(Wake::Stopped(Cause::Interrupted));
            }
            self.sync_jobs()?;
            self.data.take(self.spine, self.context)?;
            if self.has_too_much_damage() {
                return Ok(Wake::Stopped(Cause::Damage));
            }
            if crate::validation::keep_journal(self.context.validation, self.context.targets).is_err() {
                return Ok(Wake::Stopped(Cause::Journal));
            }
            if running.has_too_many_errors() {
                let is_damage = self.data.found(self.context.validation) > 0;
                return Ok(Wake::Stopped(if is_damage { Cause::Damage } else { Cause::Errors }));
            }
            if running.finished() {
                return Ok(Wake::Stopped(Cause::Done));
            }
            let left = Duration::from_nanos(until_ns.saturating_sub(self.looked_ns));
            if left.is_zero() {
                return Ok(Wake::Due);
            }
            match &mut self.playback {
                Some(playback) => playback.nap(left.min(NAP), self.spine)?,
                None => std::thread::sleep(left.min(NAP)),
            }
        }
    }

    /// The same; meanwhile what the logs of jobs need is taken at the ends of their intervals, which count from `origin_ns`.
    fn wait_in_parts(&mut self, running: &mut RunningRun, until_ns: u64, origin_ns: u64) -> Result<Wake, SessionError> {
        loop {
            let now_ns = clock::now_ns();
            let part_ns = self.logs.as_ref().map_or(until_ns, |logs| {
                now_ns
                    .checked_sub(origin_ns)
                    .map_or(origin_ns, |since_ns| origin_ns.saturating_add(logs.next_ns(since_ns)))
            });
            match self.wait(running, part_ns.min(until_ns))? {
                Wake::Due if part_ns < until_ns => {
                    let harvest = self.harvest_due(running, part_ns)?;
                    if let Some(logs) = &mut self.logs {
                        logs.put_aside(harvest);
                    }
                }
                other => return Ok(other),
            }
        }
    }

    /// Takes what came back; of the jobs with logs, it is recorded as they need it. Gives all since the last interval.
    fn harvest(&mut self, running: &mut RunningRun) -> Result<IntervalHarvest, SessionError> {
        self.harvest_due(running, u64::MAX)
    }

    /// The same of an interval that was to end at `due_ns`.
    fn harvest_due(&mut self, running: &mut RunningRun, due_ns: u64) -> Result<IntervalHarvest, SessionError> {
        let harvest = running.harvest_due(due_ns);
        self.logged(harvest)
    }

    fn logged(&mut self, mut harvest: IntervalHarvest) -> Result<IntervalHarvest, SessionError> {
        let Some(mut logs) = self.logs.take() else { return Ok(harvest) };
        let (intervals, ios) = logs.rows(&self.stretch(), &mut harvest);
        if !intervals.is_empty() {
            self.spine.rows(&intervals)?;
        }
        if !ios.is_empty() {
            self.spine.traced(&RowBatch::from_rows(&ios)?)?;
        }
        let lost = std::mem::take(&mut harvest.ios_lost);
        if lost > 0 {
            let title = self.context.title;
            let sentence = format!("{title}: {lost} I/Os found no room in the logs of each I/O and are not in them");
            self.spine.event(EventSeverity::Warning, EventKind::LogLost, Some(title), None, &sentence)?;
            self.unlogged += lost;
        }
        let whole = logs.whole(harvest);
        self.logs = Some(logs);
        Ok(whole)
    }

    /// Passes one interval on to the recording and the faces, counters of the machine with it.
    fn interval(&mut self, harvest: &IntervalHarvest) -> Result<(), SessionError> {
        self.totals.add(&self.phase, harvest);
        self.harvested_ns = harvest.t_ns;
        if let Some(paused) = &mut self.paused {
            paused.operations += harvest.lanes.iter().map(|lane| lane.ops + lane.errors).sum::<u64>();
        }
        if matches!(self.phase, LoadPhase::Measure | LoadPhase::Format | LoadPhase::Verify) {
            self.measured_ns += harvest.interval_ns;
        } else if self.phase == LoadPhase::Paused {
            self.paused_ns += harvest.interval_ns;
        }
        self.executions.take(self.spine, self.context, &harvest.executions)?;
        self.tell(&harvest.notes)?;
        let stretch = self.stretch();
        let mut load = Vec::new();
        if self.is_paced() {
            load.push(RowBatch::from_rows(&stretch.op_intervals(harvest))?);
            load.push(RowBatch::from_rows(&stretch.engine_intervals(harvest))?);
        }
        // Most runs have none of these.
        let (jobs, failures) = (stretch.job_intervals(harvest), stretch.failures(harvest));
        let first_failure = failures.first().map(|failure| failure.message.clone());
        let steps = stretch.step_intervals(harvest);
        if !steps.is_empty() {
            load.push(RowBatch::from_rows(&steps)?);
        }
        if !jobs.is_empty() {
            load.push(RowBatch::from_rows(&jobs)?);
        }
        if !failures.is_empty() {
            load.push(RowBatch::from_rows(&failures)?);
        }
        if self.first_failure.is_none() {
            self.first_failure = first_failure;
        }
        let counters = self.counters.sample(harvest.t_ns, self.spine.origin_ns());
        load.extend(counters);
        self.spine.interval(&load)?;
        match &mut self.playback {
            Some(playback) => playback.interval(self.spine, harvest.lanes.iter().map(|lane| lane.errors).sum()),
            None => Ok(()),
        }
    }

    /// Says what the engine had to say of workloads in trees.
    fn tell(&mut self, notes: &[String]) -> Result<(), SessionError> {
        let title = self.context.title;
        notes.iter().try_for_each(|note| self.spine.note(EventKind::Target, &format!("{title}: {note}")))
    }

    /// Is there any load but commands?
    fn is_paced(&self) -> bool {
        self.context.run.paced_workloads().next().is_some()
    }

    /// More blocks are damaged than the plan allows, what failed before counted in. A sweep changes nothing, and goes on.
    fn has_too_much_damage(&self) -> bool {
        let found = self.data.found(self.context.validation);
        found > 0 && self.context.damage_max().is_some_and(|most| found > most)
    }

    /// Errors and the monitor file, looked at once per interval.
    fn should_end(&self) -> Option<Cause> {
        let sum = self.totals.sum(&[
            LoadPhase::Format,
            LoadPhase::Warmup,
            LoadPhase::Measure,
            LoadPhase::Verify,
            LoadPhase::Paused,
        ]);
        if self.context.errors_max().is_some_and(|most| sum.errors > most) {
            return Some(Cause::Errors);
        }
        let monitor = self.context.plan.settings.monitor.as_ref()?;
        if monitor_state(self.context.plan) == self.monitor_before {
            return None;
        }
        let text = std::fs::read_to_string(monitor).ok()?;
        match text.lines().next()?.trim() {
            "shutdown" | "end_rd" => Some(Cause::Monitor),
            "terminate" | "end_vdbench" => {
                self.context.stop.request();
                Some(Cause::Interrupted)
            }
            _ => None,
        }
    }

    /// Waits until everything is back, for a limited time, and records what came back as `drain`. Gives what came back while
    /// this process did not run: when it did is not known, so it counts with a lower bound, as what never came back.
    fn drain(&mut self, running: &mut RunningRun) -> Result<Vec<LaneEnd>, SessionError> {
        let mut until_ns = clock::now_ns() + u64::try_from(DRAIN.as_nanos()).unwrap_or(u64::MAX);
        let mut bounds = Vec::new();
        let mut told_ns = Some(clock::now_ns() + TOLD_NS);
        while !running.finished() && clock::now_ns() < until_ns && !self.context.stop.is_urgent() {
            std::thread::sleep(Duration::from_millis(1));
            if self.looks_paused(running.started_ns())? {
                let length_ns = self.paused.map_or(0, |paused| paused.pause.length_ns);
                until_ns += length_ns;
                let mut harvest = self.harvest(running)?;
                bounds.extend(lower_bounds(&mut harvest, length_ns));
                self.drained(&harvest)?;
            } else if clock::now_ns() >= self.harvested_ns + DRAIN_INTERVAL_NS {
                let harvest = self.harvest(running)?;
                self.drained(&harvest)?;
                if self.context.stop.is_requested() && told_ns.is_some_and(|told_ns| clock::now_ns() >= told_ns) {
                    told_ns = None;
                    say_what_hangs(self.context.title, &harvest);
                }
            }
        }
        self.resume(running.started_ns(), None)?;
        Ok(bounds)
    }

    /// Records what came back after the end; the measured time is over.
    fn drained(&mut self, harvest: &IntervalHarvest) -> Result<(), SessionError> {
        self.harvested_ns = harvest.t_ns;
        let is_idle = harvest.jobs.is_empty() && harvest.steps.is_empty();
        if is_idle && harvest.lanes.iter().all(|lane| lane.ops == 0 && lane.errors == 0) {
            self.tell(&harvest.notes)?;
            return self.executions.take(self.spine, self.context, &harvest.executions);
        }
        let lengths = (self.measured_ns, self.paused_ns);
        self.interval(harvest)?;
        (self.measured_ns, self.paused_ns) = lengths;
        Ok(())
    }

    /// What is to be made durable of the workloads that are meant.
    fn wishes(&self, is_meant: impl Fn(usize) -> bool) -> Result<Vec<sync::Wish>, SessionError> {
        let RunContext { plan, run, targets, .. } = *self.context;
        let action = "duplicate a file descriptor";
        let wishes = sync::wishes(plan, run, targets, is_meant);
        Ok(wishes.map_err(|source| engine::EngineError::System { action, source })?)
    }

    /// Makes durable what jobs wrote that have ended, where their end is not complete without that; others go on meanwhile.
    fn sync_jobs(&mut self) -> Result<(), SessionError> {
        let begins: Vec<usize> = self.statuses.unsynced().into_iter().filter(|job| !self.syncing.has(*job)).collect();
        if !begins.is_empty() {
            let wishes = self.wishes(|job| begins.contains(&job))?;
            let has_wish = |job: &&usize| wishes.iter().any(|wish| wish.workload() == **job);
            begins.iter().filter(|job| !has_wish(job)).for_each(|job| self.statuses.synced(*job));
            self.syncing.begin(wishes);
        }
        if self.syncing.is_empty() {
            return Ok(());
        }
        for (job, harvest) in self.syncing.take() {
            let RunContext { run, title, .. } = *self.context;
            let took = format_ns(harvest.interval_ns);
            let name = run.workloads.get(job).map_or("", |workload| &workload.name);
            let count = harvest.lanes.len();
            let sentence = format!("{title}: {count} fsync at the end of {name} took {took}");
            self.spine.event(EventSeverity::Info, EventKind::Fsync, Some(title), None, &sentence)?;
            self.totals.add(&LoadPhase::Drain, &harvest);
            let stretch = self.spine.stretch(self.context, LoadPhase::Drain);
            let (rows, failures) = (stretch.op_intervals(&harvest), stretch.failures(&harvest));
            self.spine.rows(&rows)?;
            self.spine.rows(&failures)?;
            self.statuses.synced(job);
        }
        Ok(())
    }

    /// Makes durable what was written, where the run ends with that; gives what did not come back. `hangs`: something of the load did not.
    fn sync(&mut self, hangs: bool) -> Result<Vec<LaneEnd>, SessionError> {
        let RunContext { run, title, stop, .. } = *self.context;
        let is_left = |job: usize| {
            let status = self.statuses.of(job);
            status.has_begun && status.fault.is_none() && !status.is_flushed && !self.syncing.has(job)
        };
        // Behind what hangs, or when there is no time, only those that are under way count.
        let begins = !hangs && !stop.is_urgent();
        let wishes = if begins { self.wishes(is_left)? } else { Vec::new() };
        if wishes.is_empty() && self.syncing.is_empty() {
            return Ok(Vec::new());
        }
        let mut syncing = std::mem::replace(&mut self.syncing, Syncing::new());
        syncing.begin(wishes);
        let synced = syncing.finish(if begins { DRAIN } else { Duration::ZERO }, stop);
        let took = format_ns(synced.harvest.interval_ns);
        let count = |count: usize| if count == 1 { "1 fsync".to_string() } else { format!("{count} fsyncs") };
        let sentence = match synced.open.len() {
            0 => format!("{title}: {} at its end took {took}", count(synced.harvest.lanes.len())),
            open => format!("{title}: {} at its end did not come back in {took}", count(open)),
        };
        self.spine.event(EventSeverity::Info, EventKind::Fsync, Some(title), None, &sentence)?;
        // A fill's is none of the operations that were asked for.
        let is_asked = !run.format;
        if is_asked {
            self.spine.messages.push(sentence);
        }
        if is_asked || !synced.harvest.failures.is_empty() {
            self.drained(&synced.harvest)?;
        }
        Ok(synced.open)
    }

    /// Waits for what is in flight, records it as `drain`, and writes the totals.
    fn end(mut self, mut running: RunningRun, cause: Cause) -> Result<RunResult, SessionError> {
        let started_ns = running.started_ns();
        self.resume(started_ns, None)?;
        let last_phase = self.phase.clone();
        let ends_in_a_pause = last_phase == LoadPhase::Paused;
        let now_ns = clock::now_ns();
        self.spine.phase(self.context, last_phase.clone(), PhaseEdge::End, now_ns)?;
        // All that was issued in its time and came back in its time has been harvested.
        self.phase = LoadPhase::Drain;
        let bounds = self.drain(&mut running)?;
        let mut finished = running.finish(Duration::ZERO)?;
        finished.harvest = self.logged(finished.harvest)?;
        self.drained(&finished.harvest)?;
        if self.unlogged > 0 {
            let (title, lost) = (self.context.title, self.unlogged);
            self.spine
                .messages
                .push(format!("{title}: {lost} I/Os found no room in the logs of each I/O and are not in them"));
        }
        let hangs = finished.unfinished() > 0;
        finished.open.extend(self.sync(hangs)?);
        // What came back while iodyno did not run has only a bound, and is not unfinished.
        let unfinished = finished.unfinished();
        finished.open.extend(bounds);
        let statuses = (0..self.context.run.workloads.len()).map(|job| self.statuses.of(job)).collect();
        if cause == Cause::Done {
            self.statuses.close();
        }
        let measured = self.totals.sum(&[LoadPhase::Measure, LoadPhase::Format, LoadPhase::Verify]);
        let all = self.totals.sum(LoadPhase::ALL);
        let phase = match (self.context.sweeps, self.context.run.format) {
            (true, _) => LoadPhase::Verify,
            (false, true) => LoadPhase::Format,
            (false, false) => LoadPhase::Measure,
        };
        let ops_by_workload = self.totals.ops_by_workload(&phase, self.context.run.workloads.len());
        let stretch = self.spine.stretch(self.context, last_phase);
        let ends = self.totals.ends(&stretch, &finished, now_ns);
        let totals = std::mem::take(&mut self.totals);
        let steps = totals.step_rows(&stretch);
        let rows = totals.rows(&stretch);
        if let Some(halt) = cause.halt() {
            // Before the totals, by which a run without this word is whole.
            self.spine.cut_short(self.context.run_index, halt)?;
        }
        self.data.conclude(self.spine, self.context)?;
        self.spine.run_ended(&steps, &rows, &ends)?;
        if let Some(playback) = self.playback.take() {
            playback.finish(self.context, self.spine, cause != Cause::Done)?;
        }
        Ok(RunResult {
            cause,
            measured,
            all,
            measured_ns: self.measured_ns,
            paused_ns: self.paused_ns,
            ops_by_workload,
            waiting: finished.waiting(),
            ends_in_a_pause,
            oldest_ns: finished.oldest_ns(),
            unfinished,
            statuses,
            ends_all: self.statuses.ends_all(),
            is_read_before: true,
            steady: self.steady.as_ref().map(|watch| watch.state(self.context.run_index)),
            executions: self.executions,
            first_failure: self.first_failure,
        })
    }
}
