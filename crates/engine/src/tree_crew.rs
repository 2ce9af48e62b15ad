//! Threads that work in trees: `tree_load` says what they do; here they are started, counted and ended.

use crate::budget::Budget;
use crate::cpu::CostClock;
use crate::failure::{FailedAt, RawFailure};
use crate::group::pattern_of;
use crate::job_status::Failed as After;
use crate::placement;
use crate::shared::{Control, Done as EndOfThread, Gate, LAST_CALL_NS};
use crate::stats::Slot;
use crate::teams::{IO_URING, SYNC, WorkerSet};
use crate::tree_ring::TreeRing;
use crate::{EngineError, EngineOptions, ResolvedRate, RunInput, tree_trial};
use plan::generate::{ArrivalSchedule, ContentGenerator, Operation, WriteVolume, writer_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use tree_load::{
    Begun, Failed, ThreadPlace, TreeArrivals, TreeInput, TreeLane, TreeLanes, TreeLoadError, TreeRun, TreeStats,
};

/// The crew of a run's trees.
#[derive(Debug, Default)]
pub(crate) struct TreeCrew {
    lanes: Option<Arc<TreeLanes>>,
    /// Threads with a ring.
    rings: usize,
}

/// How much of the run is left.
#[derive(Debug)]
struct Limits {
    budget: Arc<Budget>,
    control: Arc<Control>,
}

impl TreeRun for Limits {
    #[inline]
    fn take(&self, operation: &Operation, due_ns: u64) -> bool {
        self.budget.take(operation, due_ns)
    }

    fn end_ns(&self) -> Option<u64> {
        self.budget.end_ns()
    }

    #[inline]
    fn is_ending(&self) -> &AtomicBool {
        self.control.ending()
    }

    fn is_limited(&self) -> bool {
        self.budget.is_limited()
    }

    #[inline]
    fn is_stopped(&self) -> bool {
        self.control.is_stopped()
    }

    #[inline]
    fn is_aborted(&self) -> bool {
        self.control.is_aborted()
    }

    #[inline]
    fn stopped_at_ns(&self) -> Option<u64> {
        self.control.stopped_at_ns()
    }

    fn damaged(&self, count: u64) {
        self.control.damaged(count);
    }

    fn last_call_ns(&self) -> u64 {
        LAST_CALL_NS
    }
}

impl TreeStats for Slot {
    #[cold]
    fn take(&self, slot: usize) {
        let mut stats = self.lock();
        if let Some(log) = self.logs().get(slot) {
            stats.note_log(log);
        }
    }

    #[cold]
    fn failed(&self, slot: usize, failed: Failed) {
        let Failed { begun: Begun { lane, op, .. }, t_ns, offset, asked: bytes, result, path, step } = failed;
        let at = Some(Box::new(FailedAt { path, step }));
        let mut stats = self.lock();
        if let Some(log) = self.logs().get(slot) {
            stats.note_log(log);
            log.failed();
        }
        stats.returned_failed(RawFailure { t_ns, lane, op, offset, bytes, result, at }, After::GoesOn);
    }
}

impl From<TreeLoadError> for EngineError {
    fn from(error: TreeLoadError) -> Self {
        match error {
            TreeLoadError::Generate(error) => Self::Generate(error),
            TreeLoadError::NotOpen(place) => Self::NotOpen(place),
        }
    }
}

fn tree_input<'a>(input: &RunInput<'a>) -> TreeInput<'a> {
    let rate = match input.rate {
        ResolvedRate::PerSecond(rate) => Some(rate),
        ResolvedRate::Max => None,
    };
    TreeInput {
        plan: input.plan,
        run: input.run,
        rate,
        trees: input.trees,
        seed: input.seed,
        validation: input.validation,
        sweeps: input.sweeps,
    }
}

/// What the threads of a run's trees have in common.
struct Common<'a> {
    input: &'a RunInput<'a>,
    lanes: &'a Arc<TreeLanes>,
    gate: &'a Arc<Gate>,
    /// Of all lanes, in the run's terms.
    places: Vec<(usize, usize)>,
}

impl TreeCrew {
    /// Threads for all lanes of the run, which wait at the gate, and the teams that they form.
    pub(crate) fn start(
        (input, options): (&RunInput<'_>, &EngineOptions),
        first: usize,
        (budget, control): (&Arc<Budget>, &Arc<Control>),
        gate: &Arc<Gate>,
    ) -> Result<(Self, Vec<WorkerSet>), EngineError> {
        let limits = Limits { budget: Arc::clone(budget), control: Arc::clone(control) };
        let lanes = Arc::new(TreeLanes::new(&tree_input(input), Arc::new(limits))?);
        let ways = tree_trial::ways_of(lanes.lanes(), options.choice);
        for (at, (lane, way)) in lanes.lanes().iter().zip(&ways).enumerate() {
            // Of lanes that are alike, once.
            let is_new = !ways[..at].iter().any(|before| before.note == way.note);
            way.note.iter().filter(|_| is_new).for_each(|note| lane.note(note.clone()));
        }
        let (queued, waiting): (Vec<_>, Vec<_>) =
            lanes.threads().into_iter().enumerate().partition(|(_, lane)| ways[*lane].is_ring);
        if queued.is_empty() && waiting.is_empty() {
            return Ok((Self::default(), Vec::new()));
        }
        let places = lanes.lanes().iter().map(TreeLane::place).collect();
        let common = Common { input, lanes: &lanes, gate, places };
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut teams = common.waiting_teams(&waiting, cpus, first)?;
        let mut rings = 0;
        for threads in queued.chunk_by(|a, b| a.1 == b.1) {
            let count = tree_trial::rings_of(threads.len());
            for ring in 0..count {
                let own = threads.iter().skip(ring).step_by(count).copied().collect();
                teams.push(common.ring_team(own, first + teams.len())?);
            }
            rings += count;
        }
        Ok((Self { lanes: Some(lanes), rings }, teams))
    }

    /// What becomes due in each lane, and when; of a flow each kind by itself.
    pub(crate) fn arrivals(
        &self,
        input: &RunInput<'_>,
    ) -> Result<Vec<Vec<(TreeArrivals, ArrivalSchedule)>>, EngineError> {
        let Some(lanes) = &self.lanes else { return Ok(Vec::new()) };
        Ok(lanes.arrivals(&tree_input(input))?)
    }

    /// Number of lanes and threads.
    pub(crate) fn size(&self) -> (usize, u64) {
        self.lanes.as_ref().map_or((0, 0), |lanes| (lanes.lanes().len(), lanes.threads().len() as u64))
    }

    /// Number of threads with a ring.
    pub(crate) fn rings(&self) -> usize {
        self.rings
    }

    /// What the lanes have to say, once.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.lanes.iter().flat_map(|lanes| lanes.lanes()).flat_map(TreeLane::take_notes).collect()
    }
}

impl Common<'_> {
    /// Threads that wait in their calls; a few of them have their statistics in common. Of each its number, and that of its lane.
    fn waiting_teams(
        &self,
        threads: &[(usize, usize)],
        cpus: usize,
        first: usize,
    ) -> Result<Vec<WorkerSet>, EngineError> {
        let count = cpus.min(threads.len());
        let of_team = |at: usize| (at..threads.len()).step_by(count).count();
        let cost = |at: usize| CostClock::new(false, first + at == 0);
        let mut teams: Vec<WorkerSet> =
            (0..count).map(|at| WorkerSet::of_trees(self.places.clone(), of_team(at), SYNC, cost(at))).collect();
        let left: Vec<Arc<AtomicU32>> =
            (0..count).map(|at| Arc::new(AtomicU32::new(u32::try_from(of_team(at)).unwrap_or(1)))).collect();
        for (at, (thread, lane)) in threads.iter().copied().enumerate() {
            let (team, slot) = (at % count, at / count);
            let content = content_of(self.input, &self.lanes.lanes()[lane], thread)?;
            let lanes = Arc::clone(self.lanes);
            let (stats, status) = (Arc::clone(&teams[team].stats), Arc::clone(&teams[team].status));
            let (left, gate) = (Arc::clone(&left[team]), Arc::clone(self.gate));
            let body = move || {
                let started_ns = gate.wait();
                let has_own_directory = started_ns.is_some() && placement::own_directory();
                if started_ns.is_some() {
                    status.begin();
                }
                let log = stats.logs().get(slot);
                let place = started_ns.zip(log).map(|(started_ns, log)| ThreadPlace {
                    stats: &*stats,
                    log,
                    slot,
                    started_ns,
                    thread: thread as u64,
                    has_own_directory,
                });
                lanes.run(lane, place, content);
                if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    status.done.store(true, Ordering::Release);
                }
                Ok(())
            };
            teams[team].spawn(format!("iodyno-t{thread}"), Box::new(body))?;
        }
        Ok(teams)
    }

    /// Threads of one lane, by one thread with a ring.
    fn ring_team(&self, threads: Vec<(usize, usize)>, number: usize) -> Result<WorkerSet, EngineError> {
        let mut team =
            WorkerSet::of_trees(self.places.clone(), threads.len(), IO_URING, CostClock::new(false, number == 0));
        let Some((first, at)) = threads.first().copied() else { return Ok(team) };
        let lane = &self.lanes.lanes()[at];
        let own: Result<Vec<_>, EngineError> =
            threads.iter().map(|(thread, _)| Ok((*thread as u64, content_of(self.input, lane, *thread)?))).collect();
        let own = own?;
        let transfer_max = usize::try_from(lane.load().transfer.max_bytes()).unwrap_or(usize::MAX);
        let (lanes, gate) = (Arc::clone(self.lanes), Arc::clone(self.gate));
        let (stats, status) = (Arc::clone(&team.stats), Arc::clone(&team.status));
        // A ring belongs to the thread that made it; errors come back by channel.
        let (ready_sender, ready) = std::sync::mpsc::channel();
        let body = move || {
            let _done = EndOfThread(Arc::clone(&status));
            let mut ring = match TreeRing::new(own.len(), transfer_max) {
                Ok(ring) => ring,
                Err(error) => {
                    let _ = ready_sender.send(Some(error));
                    return Ok(());
                }
            };
            let _ = ready_sender.send(None);
            let Some(started_ns) = gate.wait() else {
                own.iter().for_each(|_| lanes.run(at, None, None));
                return Ok(());
            };
            status.begin();
            // They share a thread of the system, and so its working directory.
            let has_own_directory = false;
            let of = |((slot, (thread, content)), log): ((usize, (u64, Option<ContentGenerator>)), _)| {
                (ThreadPlace { stats: &*stats, log, slot, started_ns, thread, has_own_directory }, content)
            };
            lanes
                .run_queued(at, own.into_iter().enumerate().zip(stats.logs()).map(of).collect(), &mut ring)
                .map_err(EngineError::system("submit to io_uring"))
        };
        team.spawn(format!("iodyno-t{first}"), Box::new(body))?;
        match ready.recv() {
            Ok(Some(error)) => Err(error),
            _ => Ok(team),
        }
    }
}

/// What a thread writes; `None` where it writes nothing of ours. What a format writes depends on the file and the place in it alone.
fn content_of(input: &RunInput<'_>, lane: &TreeLane, thread: usize) -> Result<Option<ContentGenerator>, EngineError> {
    if !lane.writes_data() || lane.is_proved() {
        return Ok(None);
    }
    let (workload, place) = lane.place();
    let content = &input.run.workloads[workload].content;
    let part = u32::try_from(thread).unwrap_or(u32::MAX);
    let writer = if input.run.format { 0 } else { writer_of(input.seed, workload, place, part).max(1) };
    let pattern = pattern_of(content)?.unwrap_or_default();
    let seed = input.data_seed ^ (place as u64 + 1).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let bytes = lane.tree().layout().total_bytes();
    let transfers_split = content.dedup.is_some_and(|dedup| !lane.load().transfer.is_in_steps_of(dedup.unit_bytes));
    let (all_seed, all_bytes) = (input.data_seed, bytes);
    let volume = WriteVolume { seed, bytes, all_seed, all_bytes, writer, splits_blocks: transfers_split };
    Ok(Some(ContentGenerator::new(content, &pattern, &volume)?))
}
