//! Plays operations at given times: one thread, one ring, whatever the number of targets.
//!
//! The thread asks for real-time priority, sleeps until shortly before an operation is due, prepares it, and looks at
//! the clock for the rest; absolute times, so that no error adds up. What it reads comes in chunks from another thread,
//! so that reading and decoding a trace never makes an operation late.

mod checked;
mod discards;
mod sequence;
mod share;
mod worker;

use crate::choose::cannot_discard;
use crate::opening::{descriptor, flags_of, holder};
use crate::placement;
use crate::replay_progress::{Played, ReplayChunk};
use crate::running::{CommandCrew, Offered, Parts, RunningRun};
use crate::shared::{Control, Done, Gate, Status};
use crate::stats::{Buffer, Slot};
use crate::teams::{WorkerSet, WorkerThread};
use crate::tree_crew::TreeCrew;
use crate::validating::Checked;
use crate::{EngineError, RunInput, discard, group, validating};
use checked::PlayedChecks;
use discards::Discards;
use plan::JobPlacement;
use plan::generate::{ContentGenerator, GeneratorPart, OperationKind};
use plan::replay::ReplayPacing;
use quantity::clock;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use target::TargetKind;
use validation::FoundBy;
use worker::Player;

/// Most operations in flight.
const DEPTH_MAX: u32 = 16_384;

/// What a replay plays.
#[derive(Debug)]
pub struct ReplayFeed {
    /// Chunks of at least one operation, until the sender is gone.
    pub chunks: Receiver<ReplayChunk>,
    /// When operations are due.
    pub pacing: ReplayPacing,
    /// Most in flight.
    pub depth: u32,
    /// CPUs that the thread may run on; empty: any.
    pub cpus: Vec<u32>,
}

/// What a replay could not do as asked, counted while it runs.
#[derive(Debug, Default)]
pub struct ReplayHindrances {
    capped: AtomicU64,
    starved: AtomicU64,
    ordinary: AtomicU64,
    handed_over: AtomicU64,
    deferred: AtomicU64,
}

impl ReplayHindrances {
    /// Operations that were due and had to wait because as many as allowed were in flight.
    #[must_use]
    pub fn capped(&self) -> u64 {
        self.capped.load(Ordering::Relaxed)
    }

    /// Times that the trace could not be read fast enough.
    #[must_use]
    pub fn starved(&self) -> u64 {
        self.starved.load(Ordering::Relaxed)
    }

    /// Operations that were handed over so far; at traced times and at once, these are the first ones.
    #[must_use]
    pub fn handed_over(&self) -> u64 {
        self.handed_over.load(Ordering::Relaxed)
    }

    /// Operations that were due and had to wait because another one had some of their blocks, where data is proved.
    #[must_use]
    pub fn deferred(&self) -> u64 {
        self.deferred.load(Ordering::Relaxed)
    }

    /// Did the system refuse real-time priority?
    #[must_use]
    pub fn is_ordinary(&self) -> bool {
        self.ordinary.load(Ordering::Relaxed) > 0
    }
}

/// A target of a replay.
pub(crate) struct Stage {
    pub(crate) plan_index: usize,
    pub(crate) fd: Option<Arc<OwnedFd>>,
    /// Of a device: by which threads discard.
    pub(crate) holder: Option<Arc<OwnedFd>>,
    pub(crate) content: Option<ContentGenerator>,
    pub(crate) discards: bool,
    pub(crate) nothing: bool,
    /// Where its data is proved.
    pub(crate) checked: Option<Checked>,
}

/// Starts a replay of the run's only workload. It ends with the first failed operation, and with the first damaged block, behind so many.
///
/// # Errors
/// io_uring is not there, a target is not open, or the system has no memory or threads left.
/// Nothing was issued then.
pub fn replay(
    input: RunInput<'_>,
    feed: ReplayFeed,
    (errors_max, damage_max): (Option<u64>, Option<u64>),
) -> Result<(RunningRun, Arc<ReplayHindrances>), EngineError> {
    let stages = stages(&input)?;
    // Before the thread that plays has its priority and its CPU: those it starts would have them too.
    let discards = if needs_threads(&input) { Some(Discards::start()?) } else { None };
    let lanes: Vec<(usize, usize)> = stages.iter().map(|stage| (0, stage.plan_index)).collect();
    let hindrances = Arc::new(ReplayHindrances::default());
    let (control, gate, status) =
        (Arc::new(Control::new(errors_max, damage_max)), Arc::new(Gate::default()), Arc::new(Status::default()));
    let stats = Arc::new(Slot::new(stages.len(), &OperationKind::BLOCKS));
    let feed = ReplayFeed { depth: feed.depth.clamp(1, DEPTH_MAX), ..feed };
    let (tell_chunks, chunks) = channel();
    let (ready_sender, ready) = channel();
    let is_open = feed.pacing == ReplayPacing::OnTime;
    let how = match feed.pacing {
        ReplayPacing::OnTime => "at traced times",
        ReplayPacing::Closed => "after traced think times",
        ReplayPacing::Asap => "as fast as it goes",
        ReplayPacing::Dependencies => "at traced times, in the order of each thread",
    };
    let validated = stages.iter().filter_map(|stage| Some(Arc::clone(&stage.checked.as_ref()?.target))).collect();
    let checks = PlayedChecks::of(stages.iter().map(|stage| stage.checked.clone()).collect(), feed.depth, &control);
    let shared = (Arc::clone(&stats), Arc::clone(&control), Arc::clone(&status), Arc::clone(&hindrances));
    let place = place_of(&feed.cpus);
    let waiting = Arc::clone(&gate);
    let work = move || {
        let (stats, control, status, hindrances) = shared;
        let _done = Done(Arc::clone(&status));
        // A ring belongs to the thread that made it.
        let placement = JobPlacement { cpus: feed.cpus.clone(), ..JobPlacement::default() };
        let placed = placement::apply(&placement);
        let player = match placed.and_then(|()| {
            Player::new((stages, discards, checks), feed, tell_chunks, (stats, control, status, hindrances))
        }) {
            Ok(player) => player,
            Err(error) => {
                let _ = ready_sender.send(Err(error));
                return Ok(());
            }
        };
        let _ = ready_sender.send(Ok(player.is_real_time()));
        waiting.wait().map_or(Ok(()), |started_ns| player.run(started_ns))
    };
    let thread = WorkerThread::spawn("iodyno-replay".to_string(), Box::new(work))?;
    let is_real_time = match ready.recv() {
        Ok(Err(error)) => return Err(error),
        Ok(Ok(is_real_time)) => is_real_time,
        Err(_) => false,
    };
    let spare = Buffer::new(lanes.len(), &OperationKind::BLOCKS);
    let mut team = WorkerSet::new(stats, spare, status, vec![thread], lanes);
    team.tell(&control);
    let started_ns = clock::now_ns() + 2_000_000;
    control.begin(started_ns);
    gate.open(Some(started_ns));
    let priority = if is_real_time { "real-time priority" } else { "ordinary priority: times are less exact" };
    let description = format!("io_uring, {} target(s), {how}, {priority}{place}", team.lanes.len());
    let offered = Offered::Played(Played::new(chunks));
    let is_open = vec![is_open];
    let (statuses, commands) = (Arc::default(), CommandCrew::default());
    let parts = Parts {
        teams: vec![team],
        trees: TreeCrew::default(),
        validated,
        commands,
        control,
        statuses,
        started_ns,
        ends_ns: None,
        offered,
        is_open,
        description,
    };
    Ok((RunningRun::of(parts), hindrances))
}

/// Where it plays, in words.
fn place_of(cpus: &[u32]) -> String {
    match cpus {
        [] => String::new(),
        [cpu] => format!(", on CPU {cpu}"),
        cpus => format!(", on CPUs {}", cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
    }
}

/// The targets of the run's workload.
fn stages(input: &RunInput<'_>) -> Result<Vec<Stage>, EngineError> {
    validating::refuse_replay(input)?;
    let workload = input.run.workloads.first().ok_or(EngineError::NotOpen(0))?;
    let stage = |plan_index: &usize| {
        let opened = input.targets.get(*plan_index).and_then(Option::as_ref);
        let opened = opened.ok_or(EngineError::NotOpen(*plan_index))?;
        let discards = discard::is_device(opened);
        let flags = flags_of(input, 0, *plan_index);
        let checked = input.validation.and_then(|validation| Some((validation, validation.target(*plan_index)?)));
        let checked = checked.map(|(validation, target)| Checked {
            target: Arc::clone(target),
            writer: 0,
            reads: FoundBy::Read,
            before: validation.settings.reads_before_write,
            after: validation.settings.reads_after_write,
            is_buffered: !flags.direct,
            expects_unknown: workload.job.as_ref().is_none_or(|job| job.checks_unknown),
        });
        let content = match checked {
            Some(_) => None,
            None => group::content(input, *plan_index, opened, 0, GeneratorPart::WHOLE)?,
        };
        let nothing = opened.kind == TargetKind::Nothing;
        let (plan_index, fd, holder) = (*plan_index, descriptor(opened, flags)?, holder(opened)?);
        Ok(Stage { plan_index, fd, holder, content, discards, nothing, checked })
    };
    workload.targets.iter().map(stage).collect()
}

/// May there be discards for which io_uring does not do here?
fn needs_threads(input: &RunInput<'_>) -> bool {
    let Some(workload) = input.run.workloads.first() else { return false };
    let trims = workload.replay.as_ref().is_some_and(|replay| replay.filter.takes_op(OperationKind::Trim));
    trims && workload.targets.iter().any(|at| cannot_discard(input, *at).is_some())
}
