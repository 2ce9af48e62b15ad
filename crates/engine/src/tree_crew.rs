//! Threads that work in trees: `tree_load` says what they do; here they are started, counted and ended.

use crate::budget::Budget;
use crate::cpu::CostClock;
use crate::failure::{FailedAt, RawFailure};
use crate::group::pattern_of;
use crate::job_status::Failed as After;
use crate::placement;
use crate::shared::{Control, Gate, LAST_CALL_NS};
use crate::stats::Slot;
use crate::teams::{SYNC, WorkerSet};
use crate::{EngineError, ResolvedRate, RunInput};
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
    TreeInput { plan: input.plan, run: input.run, rate, trees: input.trees, seed: input.seed }
}

impl TreeCrew {
    /// Threads for all lanes of the run, which wait at the gate, and the teams that they form.
    pub(crate) fn start(
        input: &RunInput<'_>,
        first: usize,
        (budget, control): (&Arc<Budget>, &Arc<Control>),
        gate: &Arc<Gate>,
    ) -> Result<(Self, Vec<WorkerSet>), EngineError> {
        let limits = Limits { budget: Arc::clone(budget), control: Arc::clone(control) };
        let lanes = Arc::new(TreeLanes::new(&tree_input(input), Arc::new(limits))?);
        let threads = lanes.threads();
        if threads.is_empty() {
            return Ok((Self::default(), Vec::new()));
        }
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let places: Vec<(usize, usize)> = lanes.lanes().iter().map(TreeLane::place).collect();
        let cost = |at: usize| CostClock::new(false, first + at == 0);
        let count = cpus.min(threads.len());
        let of_team = |at: usize| (at..threads.len()).step_by(count).count();
        let mut teams: Vec<WorkerSet> =
            (0..count).map(|at| WorkerSet::of_trees(places.clone(), of_team(at), SYNC, cost(at))).collect();
        let left: Vec<Arc<AtomicU32>> =
            (0..count).map(|at| Arc::new(AtomicU32::new(u32::try_from(of_team(at)).unwrap_or(1)))).collect();
        for (thread, lane) in threads.into_iter().enumerate() {
            let (team, slot) = (thread % count, thread / count);
            let content = content_of(input, &lanes.lanes()[lane], thread)?;
            let lanes = Arc::clone(&lanes);
            let (stats, status) = (Arc::clone(&teams[team].stats), Arc::clone(&teams[team].status));
            let (left, gate) = (Arc::clone(&left[team]), Arc::clone(gate));
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
        Ok((Self { lanes: Some(lanes) }, teams))
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

    /// What the lanes have to say, once.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.lanes.iter().flat_map(|lanes| lanes.lanes()).flat_map(TreeLane::take_notes).collect()
    }
}

/// What a thread writes; `None` where it writes nothing of ours. What a format writes depends on the file and the place in it alone.
fn content_of(input: &RunInput<'_>, lane: &TreeLane, thread: usize) -> Result<Option<ContentGenerator>, EngineError> {
    if !lane.writes_data() {
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
