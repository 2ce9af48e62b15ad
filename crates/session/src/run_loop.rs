//! One run: starts the engine, ends an interval at each tick, passes rows on, and knows when it is over.

use crate::SessionError;
use crate::counters::Counters;
use crate::replay::{self, Playback};
use crate::rows::{Stretch, Sum, Totals};
use crate::spine::Spine;
use crate::steady::Watch;
use crate::stop::StopFlag;
use engine::{Harvest, Input, Options, Pace, Running};
use plan::{Plan, Run};
use quantity::clock;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use target::Opened;

/// How long the coordinator sleeps at most before it looks at signals and at the engine.
const NAP: Duration = Duration::from_millis(20);

/// How long operations in flight may take after the end of a run before they are given up and counted as lost.
const DRAIN: Duration = Duration::from_secs(30);

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
    /// The `monitor=` file asked for it.
    Monitor,
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
    /// Operations of each workload in the measured phase.
    pub(crate) ops_by_workload: Vec<u64>,
    /// Arrivals that were never submitted because the run had ended.
    pub(crate) dropped: u64,
    /// Operations that had not come back when the engine gave up waiting.
    pub(crate) unfinished: u64,
}

/// What a run needs.
pub(crate) struct RunContext<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) run: &'a Run,
    pub(crate) title: &'a str,
    pub(crate) run_index: i32,
    pub(crate) pace: Pace,
    pub(crate) targets: &'a [Option<Opened>],
    pub(crate) options: &'a Options,
    pub(crate) seed: u64,
    pub(crate) stop: &'a StopFlag,
    pub(crate) errors_before: u64,
}

/// State of a run under way.
struct Under<'a, 'b> {
    context: &'a RunContext<'a>,
    spine: &'a mut Spine<'b>,
    counters: &'a mut Counters,
    totals: Totals,
    phase: &'static str,
    measured_ns: u64,
    last_backlog: u64,
    steady: Option<Watch>,
    /// The monitor file as it was when the run began: what an earlier run was told is not said again.
    monitor_before: Option<(u64, i64, i64)>,
    playback: Option<Playback>,
}

/// Length and time of the last change of the monitor file; `None` when there is none.
fn monitor_state(plan: &Plan) -> Option<(u64, i64, i64)> {
    let file = std::fs::metadata(plan.settings.monitor.as_ref()?).ok()?;
    Some((file.size(), file.mtime(), file.mtime_nsec()))
}

/// Executes one run from start to drained end.
pub(crate) fn execute(
    context: &RunContext<'_>,
    spine: &mut Spine<'_>,
    counters: &mut Counters,
) -> Result<RunResult, SessionError> {
    let first = if context.run.format {
        "format"
    } else if context.run.warmup_ns > 0 {
        "warmup"
    } else {
        "measure"
    };
    let input = Input {
        plan: context.plan,
        run: context.run,
        rate: context.pace,
        targets: context.targets,
        seed: context.seed,
    };
    let (mut running, playback) = match replay::start(context, input, spine)? {
        Some((running, playback)) => (running, Some(playback)),
        None => (engine::start(input, context.options)?, None),
    };
    spine.run_started(context, &running.describe(), clock::now_ns())?;
    let mut under = Under {
        context,
        spine,
        counters,
        totals: Totals::default(),
        phase: first,
        measured_ns: 0,
        last_backlog: 0,
        steady: context.run.stop.steady.map(Watch::new),
        monitor_before: monitor_state(context.plan),
        playback,
    };
    under.spine.phase(context, first, "start", clock::now_ns())?;
    // Where the counters stand before the first interval.
    let baseline = under.counters.baseline(clock::now_ns(), under.spine.origin_ns());
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
    under.end(running, cause)
}

impl Under<'_, '_> {
    /// The stretch that rows of this moment belong to.
    fn stretch(&self) -> Stretch<'_> {
        self.spine.stretch(self.context, self.phase)
    }

    /// From tick to tick until something ends the run.
    fn intervals(&mut self, running: &mut Running) -> Result<Cause, SessionError> {
        let run = self.context.run;
        let started_ns = running.started_ns();
        let warm_ns = if run.format { 0 } else { run.warmup_ns };
        let end_ns = run.elapsed_ns.map(|elapsed| started_ns + warm_ns + elapsed);
        let mut phase_end_ns = if self.phase == "warmup" { Some(started_ns + warm_ns) } else { end_ns };
        let mut tick_ns = started_ns + run.interval_ns;
        loop {
            let until_ns = phase_end_ns.map_or(tick_ns, |end| end.min(tick_ns));
            let stopped = self.wait(running, until_ns)?;
            let harvest = running.harvest();
            self.interval(&harvest)?;
            if let Some(cause) = stopped {
                return Ok(cause);
            }
            if let Some(cause) = self.should_end() {
                return Ok(cause);
            }
            if let Some(watch) = self.steady.as_mut().filter(|_| self.phase == "measure") {
                watch.add(&harvest);
                if let Some(sentence) = watch.attained() {
                    self.spine.note("steady", &format!("{}: {sentence}", self.context.title))?;
                    return Ok(Cause::Done);
                }
            }
            if phase_end_ns.is_some_and(|end| until_ns >= end) {
                if self.phase != "warmup" {
                    return Ok(Cause::Done);
                }
                self.spine.phase(self.context, "warmup", "end", harvest.t_ns)?;
                self.phase = "measure";
                self.spine.phase(self.context, "measure", "start", harvest.t_ns)?;
                phase_end_ns = end_ns;
                tick_ns = started_ns + warm_ns;
            }
            while tick_ns <= until_ns {
                tick_ns += run.interval_ns;
            }
        }
    }

    /// Sleeps until `until_ns`, unless the run is over before.
    fn wait(&mut self, running: &Running, until_ns: u64) -> Result<Option<Cause>, SessionError> {
        loop {
            if self.context.stop.is_requested() {
                return Ok(Some(Cause::Interrupted));
            }
            if running.finished() {
                return Ok(Some(Cause::Done));
            }
            let left = Duration::from_nanos(until_ns.saturating_sub(clock::now_ns()));
            if left.is_zero() {
                return Ok(None);
            }
            match &mut self.playback {
                Some(playback) => playback.nap(left.min(NAP), self.spine)?,
                None => std::thread::sleep(left.min(NAP)),
            }
        }
    }

    /// Passes one interval on to the recording and the faces, counters of the machine with it.
    fn interval(&mut self, harvest: &Harvest) -> Result<(), SessionError> {
        self.totals.add(self.phase, harvest);
        self.last_backlog = harvest.lanes.iter().map(|lane| lane.backlog).sum();
        if self.phase == "measure" || self.phase == "format" {
            self.measured_ns += harvest.interval_ns;
        }
        let stretch = self.stretch();
        let (ops, workers, failures) =
            (stretch.op_intervals(harvest), stretch.engine_intervals(harvest), stretch.failures(harvest));
        let counters = self.counters.sample(harvest.t_ns, self.spine.origin_ns());
        self.spine.interval((ops, workers, failures), counters)?;
        match &mut self.playback {
            Some(playback) => playback.interval(self.spine, harvest.lanes.iter().map(|lane| lane.errors).sum()),
            None => Ok(()),
        }
    }

    /// Errors and the monitor file, looked at once per interval.
    fn should_end(&self) -> Option<Cause> {
        let sum = self.totals.sum(&["format", "warmup", "measure"]);
        if self.context.errors_before + sum.errors > self.context.plan.settings.errors_max {
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

    /// Waits for what is in flight, records it as `drain`, and writes the totals.
    fn end(mut self, mut running: Running, cause: Cause) -> Result<RunResult, SessionError> {
        let last_phase = self.phase;
        let now_ns = clock::now_ns();
        self.spine.phase(self.context, last_phase, "end", now_ns)?;
        // All that was issued in its time and came back in its time has been harvested.
        self.phase = "drain";
        let deadline = if self.context.stop.is_urgent() { DRAIN_URGENT } else { DRAIN };
        let drained_by_ns = clock::now_ns() + u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX);
        while !running.finished() && clock::now_ns() < drained_by_ns && !self.context.stop.is_urgent() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let harvest = running.harvest();
        if harvest.lanes.iter().any(|lane| lane.ops > 0 || lane.errors > 0) {
            let measured_ns = self.measured_ns;
            self.interval(&harvest)?;
            self.measured_ns = measured_ns;
        }
        let finished = running.finish(DRAIN_URGENT)?;
        let measured = self.totals.sum(&["measure", "format"]);
        let all = self.totals.sum(&["format", "warmup", "measure", "drain"]);
        let phase = if self.context.run.format { "format" } else { "measure" };
        let ops_by_workload = self.totals.ops_by_workload(phase, self.context.run.workloads.len());
        let stretch = self.spine.stretch(self.context, last_phase);
        let rows = std::mem::take(&mut self.totals).rows(&stretch);
        self.spine.run_ended(&rows)?;
        if let Some(playback) = self.playback.take() {
            playback.finish(self.context, self.spine, cause != Cause::Done)?;
        }
        Ok(RunResult {
            cause,
            measured,
            all,
            measured_ns: self.measured_ns,
            ops_by_workload,
            dropped: self.last_backlog,
            unfinished: finished.unfinished,
        })
    }
}
