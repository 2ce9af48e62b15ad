//! A run's lanes in trees, made of its plan, and their threads.

use super::format;
use super::lane::{Need, SharedFiles, TreeLane, TreeLanes};
use super::phases::Phases;
use super::thread::TreeThread;
use super::tickets::{Kinds, Tickets, Turns, chance};
use crate::budget::Budget;
use crate::cpu::CostClock;
use crate::group::pattern_of;
use crate::shared::{Control, Gate};
use crate::stats::Slot;
use crate::teams::{SYNC, WorkerSet};
use crate::{EngineError, ResolvedRate, RunInput};
use plan::generate::{ArrivalSchedule, ContentGenerator, GeneratorPart, OperationKind, WriteVolume, writer_of};
use plan::{FileOrder, TreeLoad, TreeTask, TreeUse, Workload};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tree::Tree;

/// Direct transfers are aligned to this in memory.
const MEMORY_ALIGN: usize = 4096;

/// The crew of a run's trees.
#[derive(Debug, Default)]
pub(crate) struct TreeCrew {
    lanes: Option<Arc<TreeLanes>>,
}

/// The arrivals of a lane, for the coordinator: which kind each is of.
#[derive(Clone, Debug)]
pub(crate) struct TreeArrivals {
    lanes: Arc<TreeLanes>,
    at: usize,
    number: u64,
}

impl TreeArrivals {
    /// Workload and place.
    pub(crate) fn lane(&self) -> (usize, usize) {
        let lane = &self.lanes.lanes[self.at];
        (lane.workload, lane.place)
    }

    /// The kind of the next one, and what it is taken to move.
    pub(crate) fn next(&mut self) -> plan::generate::Operation {
        let lane = &self.lanes.lanes[self.at];
        let op = lane.kinds.of(self.number);
        self.number += 1;
        // How much it will move depends on the file: a limit in bytes ends the lane, which says when.
        plan::generate::Operation { op, offset: 0, bytes: 0 }
    }

    /// When the lane ended of its own accord, time of the run, ns.
    pub(crate) fn ended_ns(&self) -> Option<u64> {
        Some(self.lanes.lanes[self.at].ends_ns.load(Ordering::Acquire)).filter(|end_ns| *end_ns != u64::MAX)
    }
}

impl TreeCrew {
    /// Threads for all lanes of the run, which wait at the gate, and the teams that they form.
    pub(crate) fn start(
        input: &RunInput<'_>,
        first: usize,
        (budget, control): (&Arc<Budget>, &Arc<Control>),
        gate: &Arc<Gate>,
    ) -> Result<(Self, Vec<WorkerSet>), EngineError> {
        let lanes = make_lanes(input, budget, control)?;
        if lanes.lanes.is_empty() {
            return Ok((Self::default(), Vec::new()));
        }
        let lanes = Arc::new(lanes);
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads: Vec<usize> = lanes
            .lanes
            .iter()
            .flat_map(|lane| std::iter::repeat_n(lane.number, lane.load.threads.max(1) as usize))
            .collect();
        let places: Vec<(usize, usize)> = lanes.lanes.iter().map(|lane| (lane.workload, lane.place)).collect();
        let cost = |at: usize| CostClock::new(false, first + at == 0);
        let count = cpus.min(threads.len());
        let mut teams: Vec<WorkerSet> =
            (0..count).map(|at| WorkerSet::of_trees(places.clone(), SYNC, cost(at))).collect();
        let left: Vec<Arc<AtomicU32>> = (0..count)
            .map(|at| Arc::new(AtomicU32::new(u32::try_from((at..threads.len()).step_by(count).count()).unwrap_or(1))))
            .collect();
        for (thread, number) in threads.into_iter().enumerate() {
            let (team, slot) = (thread % count, thread / count);
            let content = content_of(input, &lanes.lanes[number], thread)?;
            let shared = (
                Arc::clone(&lanes),
                Arc::clone(&teams[team].stats),
                Arc::clone(&teams[team].status),
                Arc::clone(&left[team]),
            );
            let gate = Arc::clone(gate);
            let body = move || {
                let (lanes, stats, status, left) = shared;
                if let Some(started_ns) = gate.wait() {
                    status.begin();
                    run_thread(&lanes, number, (&stats, slot, started_ns), content, thread as u64);
                }
                let lane = &lanes.lanes[number];
                if lane.leave() {
                    format::note_missing(&lanes, lane);
                }
                if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    status.done.store(true, Ordering::Release);
                }
                Ok(())
            };
            teams[team].spawn(format!("iodyno-t{thread}"), Box::new(body))?;
        }
        Ok((Self { lanes: Some(lanes) }, teams))
    }

    /// Of each lane with a schedule: a copy of it, with its arrivals; in the order of lanes.
    pub(crate) fn arrivals(
        &self,
        input: &RunInput<'_>,
    ) -> Result<Vec<Option<(TreeArrivals, ArrivalSchedule)>>, EngineError> {
        let Some(lanes) = &self.lanes else { return Ok(Vec::new()) };
        let each = lanes.lanes.iter().map(|lane| {
            let schedule = schedule_of(input, lane.workload, part_of(input, lane))?;
            let arrivals = TreeArrivals { lanes: Arc::clone(lanes), at: lane.number, number: 0 };
            Ok(schedule.map(|schedule| (arrivals, schedule)))
        });
        each.collect()
    }

    /// Number of lanes and threads.
    pub(crate) fn size(&self) -> (usize, u64) {
        let lanes = self.lanes.iter().flat_map(|lanes| &lanes.lanes);
        lanes.fold((0, 0), |(count, threads), lane| (count + 1, threads + u64::from(lane.load.threads.max(1))))
    }

    /// What the lanes have to say, once.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        let lanes = self.lanes.iter().flat_map(|lanes| &lanes.lanes);
        let notes = |lane: &TreeLane| std::mem::take(&mut *lane.notes.lock().unwrap_or_else(PoisonError::into_inner));
        lanes.flat_map(notes).collect()
    }
}

fn run_thread(
    all: &TreeLanes,
    number: usize,
    (stats, slot, started_ns): (&Slot, usize, u64),
    content: Option<ContentGenerator>,
    thread: u64,
) {
    let lane = &all.lanes[number];
    let is_transfer = lane.load.task != TreeTask::One(OperationKind::Create) && moves_data(&lane.load.task);
    let most = if is_transfer { usize::try_from(lane.load.transfer.max_bytes()).unwrap_or(0) } else { 0 };
    let memory = if most > 0 { vec![0; most + MEMORY_ALIGN] } else { Vec::new() };
    let shift = if most > 0 { memory.as_ptr().align_offset(MEMORY_ALIGN) } else { 0 };
    let (path, seed) = (Vec::with_capacity(256), chance(lane.seed ^ 0x7468_7264, thread));
    let (free_ns, failures_in_a_row, transfers) = (0, 0, 0);
    let mut this = TreeThread {
        all,
        lane,
        stats,
        slot,
        started_ns,
        free_ns,
        memory,
        shift,
        content,
        path,
        failures_in_a_row,
        transfers,
        seed,
        kept: None,
    };
    if let (TreeTask::One(kind), Some(job)) = (&lane.load.task, &lane.load.entries) {
        return this.run_numbered(*kind, job);
    }
    match &lane.load.task {
        TreeTask::Format(task) => this.run_format(*task),
        TreeTask::Flow(steps) => this.run_flow(steps),
        TreeTask::Mixed { .. } | TreeTask::One(OperationKind::Read | OperationKind::Write) => this.run_transfers(),
        TreeTask::One(OperationKind::Close) => this.run_closes(),
        TreeTask::One(kind) => this.run_entries(*kind),
    }
}

fn moves_data(task: &TreeTask) -> bool {
    match task {
        TreeTask::One(kind) => kind.moves_data(),
        TreeTask::Mixed { .. } | TreeTask::Format(_) => true,
        TreeTask::Flow(steps) => steps.iter().any(|step| step.op.moves_data()),
    }
}

/// The tree of a use.
fn tree_of(input: &RunInput<'_>, used: &TreeUse) -> Result<Arc<Tree>, EngineError> {
    let place = input.plan.place_of_tree(used.tree);
    input.trees.get(used.tree).and_then(Option::as_ref).map(Arc::clone).ok_or(EngineError::NotOpen(place))
}

/// Which part of its workload's arrivals a lane has.
fn part_of(input: &RunInput<'_>, lane: &TreeLane) -> GeneratorPart {
    let uses = input.run.workloads[lane.workload].load.tree().map_or(&[][..], |load| &load.uses);
    let index = uses.iter().position(|used| input.plan.place_of_tree(used.tree) == lane.place).unwrap_or(0);
    GeneratorPart { index: u32::try_from(index).unwrap_or(0), count: u32::try_from(uses.len()).unwrap_or(1).max(1) }
}

/// When a lane's operations are due; `None` at full speed.
fn schedule_of(
    input: &RunInput<'_>,
    workload: usize,
    part: GeneratorPart,
) -> Result<Option<ArrivalSchedule>, EngineError> {
    let one = &input.run.workloads[workload];
    let each = one.load.tree().map_or(1, |load| u32::try_from(load.group()).unwrap_or(1));
    let rate = match (one.rate, input.rate) {
        (Some(rate), _) => rate,
        (None, ResolvedRate::PerSecond(rate)) => input.run.shared_rate(rate) * one.share,
        (None, ResolvedRate::Max) => return Ok(None),
    };
    if rate <= 0.0 {
        return Ok(Some(ArrivalSchedule::never()));
    }
    let seed = input.seed ^ (workload as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let schedule = ArrivalSchedule::new(rate / f64::from(each), &input.run.arrivals, seed, part)?;
    Ok(Some(schedule.in_groups_of(each)))
}

fn need_of(load: &TreeLoad) -> Need {
    let is_sequential = matches!(load.access, FileOrder::Sequential | FileOrder::SequentialDelete);
    match &load.task {
        TreeTask::Format(_) => Need::Writable,
        TreeTask::Mixed { .. } => Need::Filled,
        // Of the first; each part of a flow has its own.
        TreeTask::Flow(_) => Need::Existing,
        TreeTask::One(kind) => match kind {
            OperationKind::Read | OperationKind::Copy | OperationKind::Move => Need::Filled,
            OperationKind::Write if is_sequential => Need::Writable,
            OperationKind::Write => Need::Writing,
            OperationKind::Create => Need::Missing,
            OperationKind::Mkdir => Need::NewDirectory,
            OperationKind::Rmdir => Need::EmptyDirectory,
            _ => Need::Existing,
        },
    }
}

fn make_lanes(input: &RunInput<'_>, budget: &Arc<Budget>, control: &Arc<Control>) -> Result<TreeLanes, EngineError> {
    let mut lanes: Vec<TreeLane> = Vec::new();
    let mut shared: BTreeMap<usize, SharedFiles> = BTreeMap::new();
    let mut shares = Vec::new();
    for (at, workload) in input.run.workloads.iter().enumerate() {
        let Some(load) = workload.load.tree() else { continue };
        for used in &load.uses {
            let lane = make_lane(input, (at, workload, load), used, lanes.len(), &mut shared)?;
            shares.push(workload.share / load.uses.len() as f64);
            lanes.push(lane);
        }
    }
    let is_fixed = input.run.workloads.iter().any(|one| one.load.tree().is_some() && one.share_fixed);
    if is_fixed && lanes.iter().all(TreeLane::is_closed) && !input.run.format {
        let turns = Arc::new(Turns::new(&shares));
        lanes.iter_mut().for_each(|lane| lane.turns = Some(Arc::clone(&turns)));
    }
    let helpers = with_their_helpers(lanes.iter().map(|lane| helpers_of(lane, &lanes)).collect());
    let removes =
        |tree: &Arc<Tree>| lanes.iter().any(|lane| does(lane, OperationKind::Rmdir) && Arc::ptr_eq(&lane.tree, tree));
    let guards: Vec<[bool; 2]> =
        lanes.iter().map(|lane| [removes(&lane.tree), lane.destination.as_ref().is_some_and(removes)]).collect();
    for ((lane, helpers), guards) in lanes.iter_mut().zip(helpers).zip(guards) {
        (lane.helpers, lane.guards) = (helpers, guards);
    }
    let last_ns = budget.end_ns().map_or(u64::MAX, |end_ns| end_ns.saturating_sub(1));
    let (control, budget) = (Arc::clone(control), Arc::clone(budget));
    Ok(TreeLanes { lanes, control, budget, last_ns, changes: AtomicU64::new(0) })
}

fn make_lane(
    input: &RunInput<'_>,
    (workload, of, load): (usize, &Workload, &TreeLoad),
    used: &TreeUse,
    number: usize,
    shared: &mut BTreeMap<usize, SharedFiles>,
) -> Result<TreeLane, EngineError> {
    let tree = tree_of(input, used)?;
    let place = input.plan.place_of_tree(used.tree);
    let threads = load.threads.max(1);
    let seed = chance(input.seed ^ (place as u64) << 32, workload as u64);
    let is_sequential = matches!(load.access, FileOrder::Sequential | FileOrder::SequentialDelete);
    let keeps_places = load.stop_after.is_some() && is_sequential && !matches!(load.task, TreeTask::Format(_));
    let left_at = keeps_places.then(|| (0..tree.layout().files()).map(|_| AtomicU64::new(0)).collect());
    let layout = tree.layout();
    let largest = (0..layout.files()).map(|file| layout.asked_bytes(file)).max().unwrap_or(0);
    let mut lane = TreeLane {
        workload,
        place,
        number,
        destination: load.destination.as_ref().map(|used| tree_of(input, used)).transpose()?,
        load: load.clone(),
        content: of.content.clone(),
        need: need_of(load),
        kinds: Kinds::new(&load.task, seed ^ 0x6b69_6e64),
        tickets: None,
        turns: None,
        seed,
        looked: AtomicU64::new(0),
        begun: AtomicU64::new(0),
        left: AtomicU32::new(threads),
        is_over: AtomicBool::new(false),
        is_used_up: AtomicBool::new(false),
        ends_ns: AtomicU64::new(u64::MAX),
        stuck_at: AtomicU64::new(0),
        helpers: Vec::new(),
        left_at,
        shared: (load.access == FileOrder::RandomShared).then(|| Arc::clone(shared.entry(used.tree).or_default())),
        guards: [false; 2],
        phases: Phases::new(threads),
        file_stride: stride_of(largest, &of.content),
        notes: Mutex::default(),
        tree,
    };
    if !input.run.format {
        let schedule = schedule_of(input, workload, part_of(input, &lane))?;
        lane.tickets = schedule.map(|schedule| Mutex::new(Tickets::new(schedule)));
    }
    Ok(lane)
}

/// Addresses of files' data are multiples of this: of whole sectors, and of whole blocks of duplicates.
fn stride_of(largest: u64, content: &plan::WriteContent) -> u64 {
    let unit = content.dedup.map_or(512, |dedup| dedup.unit_bytes.max(512));
    largest.div_ceil(unit).max(1) * unit
}

fn does(lane: &TreeLane, kind: OperationKind) -> bool {
    lane.load.task == TreeTask::One(kind)
}

/// Of each lane, its helpers and the helpers of these: a delete waits for a create, and that for a mkdir.
fn with_their_helpers(mut helpers: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    for _ in 0..helpers.len() {
        for at in 0..helpers.len() {
            let more: Vec<usize> = helpers[at].iter().flat_map(|one| helpers[*one].clone()).collect();
            let new = more.into_iter().filter(|one| *one != at);
            helpers[at].extend(new);
            helpers[at].sort_unstable();
            helpers[at].dedup();
        }
    }
    helpers
}

/// The lanes that may make what this one needs, or remove what stands in its way.
fn helpers_of(lane: &TreeLane, lanes: &[TreeLane]) -> Vec<usize> {
    let helps = |other: &TreeLane| {
        let is_here = Arc::ptr_eq(&other.tree, &lane.tree);
        let brings = other.destination.as_ref().is_some_and(|tree| Arc::ptr_eq(tree, &lane.tree));
        let is_there = lane.destination.as_ref().is_some_and(|tree| Arc::ptr_eq(tree, &other.tree));
        let makes_directories = does(other, OperationKind::Mkdir);
        let makes_files =
            does(other, OperationKind::Create) || (does(other, OperationKind::Write) && other.is_sequential());
        let removes_files = does(other, OperationKind::Delete) || does(other, OperationKind::Move);
        let helps_here = match lane.need {
            Need::Existing | Need::Writing => makes_files,
            Need::Filled => makes_files || does(other, OperationKind::Write),
            Need::Missing => removes_files || makes_directories,
            Need::Writable => makes_directories,
            Need::NewDirectory => does(other, OperationKind::Rmdir),
            Need::EmptyDirectory => removes_files || makes_directories,
        };
        let helps_by_bringing = matches!(lane.need, Need::Existing | Need::Writing | Need::Filled);
        (is_here && helps_here) || (brings && helps_by_bringing) || (is_there && makes_directories)
    };
    lanes.iter().filter(|other| other.number != lane.number && helps(other)).map(|other| other.number).collect()
}

/// What a thread writes; `None` where it writes nothing of ours. What a format writes depends on the file and the place in it alone.
fn content_of(input: &RunInput<'_>, lane: &TreeLane, thread: usize) -> Result<Option<ContentGenerator>, EngineError> {
    let writes = match &lane.load.task {
        TreeTask::Format(_) => true,
        TreeTask::Mixed { read } => *read < 1.0,
        TreeTask::One(kind) => *kind == OperationKind::Write,
        TreeTask::Flow(steps) => steps.iter().any(|step| step.op.moves_data() && step.op.changes_data()),
    };
    if !writes {
        return Ok(None);
    }
    let part = u32::try_from(thread).unwrap_or(u32::MAX);
    let writer = if input.run.format { 0 } else { writer_of(input.seed, lane.workload, lane.place, part).max(1) };
    let pattern = pattern_of(&lane.content)?.unwrap_or_default();
    let seed = input.data_seed ^ (lane.place as u64 + 1).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let bytes = lane.tree.layout().total_bytes();
    let transfers_split = lane.content.dedup.is_some_and(|dedup| !lane.load.transfer.is_in_steps_of(dedup.unit_bytes));
    let (all_seed, all_bytes) = (input.data_seed, bytes);
    let volume = WriteVolume { seed, bytes, all_seed, all_bytes, writer, splits_blocks: transfers_split };
    Ok(Some(ContentGenerator::new(&lane.content, &pattern, &volume)?))
}
