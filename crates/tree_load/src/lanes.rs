//! A run's lanes in trees, made of its plan, and their threads.

use super::checks::TreeChecks;
use super::flow_kinds::{self, FlowMemory};
use super::format;
use super::lane::{SharedFiles, TreeLane, TreeLanes};
use super::need::Need;
use super::phases::Phases;
use super::thread::TreeThread;
use super::tickets::{Kinds, Tickets, Turns, chance};
use crate::arrivals::TreeArrivals;
use crate::error::TreeLoadError;
use crate::run::TreeRun;
use crate::thread::ThreadPlace;
use plan::generate::{ArrivalSchedule, ContentGenerator, GeneratorPart, OperationKind};
use plan::{FileOrder, Plan, Run, TreeLoad, TreeTask, TreeUse, Workload};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tree::Tree;
use validation::Validation;

/// What a run's lanes in trees are made of.
#[derive(Clone, Copy, Debug)]
pub struct TreeInput<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// One of its runs.
    pub run: &'a Run,
    /// Operations per second of all workloads together; `None`: as fast as it goes.
    pub rate: Option<f64>,
    /// Open trees by their index in the plan.
    pub trees: &'a [Option<Arc<Tree>>],
    /// Seed of its random choices.
    pub seed: u64,
    /// What is proved of the data; `None`: nothing.
    pub validation: Option<&'a Validation>,
    /// All that must be there is read, in place of what the workloads do.
    pub sweeps: bool,
}

impl TreeLanes {
    /// The lanes of a run: one for each of its workloads in each of their trees.
    ///
    /// # Errors
    /// When a tree is not open, or a rate is out of bounds.
    pub fn new(input: &TreeInput<'_>, run: Arc<dyn TreeRun>) -> Result<Self, TreeLoadError> {
        make_lanes(input, run)
    }

    /// Each lane.
    #[must_use]
    pub fn lanes(&self) -> &[TreeLane] {
        &self.lanes
    }

    /// Of each thread that the run has, the number of its lane.
    #[must_use]
    pub fn threads(&self) -> Vec<usize> {
        let of = |lane: &TreeLane| std::iter::repeat_n(lane.number, lane.load.threads.max(1) as usize);
        self.lanes.iter().flat_map(of).collect()
    }

    /// What becomes due in each lane, and when: nothing in those that go as fast as they can, and of a flow each kind by itself.
    ///
    /// # Errors
    /// When a rate is out of bounds.
    pub fn arrivals(
        self: &Arc<Self>,
        input: &TreeInput<'_>,
    ) -> Result<Vec<Vec<(TreeArrivals, ArrivalSchedule)>>, TreeLoadError> {
        let each = self.lanes.iter().map(|lane| {
            let Some(schedule) = schedule_of(input, lane.workload, part_of(input, lane))? else {
                return Ok(Vec::new());
            };
            let of = |only| TreeArrivals::new(self, lane.number, only);
            let TreeTask::Flow(steps) = &lane.load.task else { return Ok(vec![(of(None), schedule)]) };
            let mut kinds: BTreeMap<OperationKind, u32> = BTreeMap::new();
            steps.iter().for_each(|step| *kinds.entry(step.op).or_default() += 1);
            let each = kinds.into_iter().map(|(kind, count)| (of(Some(kind)), schedule.clone().in_groups_of(count)));
            Ok(each.collect())
        });
        each.collect()
    }

    /// Does one thread's part of a lane, until the lane or the run is over. `place` is `None` where the run does not take place.
    pub fn run(&self, lane: usize, place: Option<ThreadPlace<'_>>, content: Option<ContentGenerator>) {
        if let Some(place) = place {
            run_thread(self, lane, place, content);
        }
        self.left(lane);
    }

    /// One of a lane's threads has ended.
    pub(crate) fn left(&self, lane: usize) {
        let lane = &self.lanes[lane];
        if lane.leave() {
            if lane.is_buffered.load(Ordering::Relaxed) {
                let anchor = lane.tree.path().display();
                lane.note(format!(
                    "o_direct in {anchor}: some transfers were no multiple of the device's block, and went through the page cache"
                ));
            }
            format::note_missing(self, lane);
        }
    }
}

fn run_thread(all: &TreeLanes, number: usize, place: ThreadPlace<'_>, content: Option<ContentGenerator>) {
    let lane = &all.lanes[number];
    let mut this = TreeThread::new(all, lane, place, content);
    if let (TreeTask::One(kind), Some(job)) = (&lane.load.task, &lane.load.entries) {
        return this.run_numbered(*kind, job);
    }
    if let Some(checks) = lane.sweep() {
        return this.run_sweep(checks);
    }
    match &lane.load.task {
        TreeTask::Format(task) => this.run_format(*task),
        TreeTask::Flow(steps) => this.run_flow(steps),
        TreeTask::Mixed { .. } | TreeTask::One(OperationKind::Read | OperationKind::Write) => this.run_transfers(),
        TreeTask::One(OperationKind::Close) => this.run_closes(),
        TreeTask::One(kind) => this.run_entries(*kind),
    }
}

/// The tree of a use.
fn tree_of(input: &TreeInput<'_>, used: &TreeUse) -> Result<Arc<Tree>, TreeLoadError> {
    let place = input.plan.place_of_tree(used.tree);
    input.trees.get(used.tree).and_then(Option::as_ref).map(Arc::clone).ok_or(TreeLoadError::NotOpen(place))
}

/// Which part of its workload's arrivals a lane has.
fn part_of(input: &TreeInput<'_>, lane: &TreeLane) -> GeneratorPart {
    let uses = input.run.workloads[lane.workload].load.tree().map_or(&[][..], |load| &load.uses);
    let index = uses.iter().position(|used| input.plan.place_of_tree(used.tree) == lane.place).unwrap_or(0);
    GeneratorPart { index: u32::try_from(index).unwrap_or(0), count: u32::try_from(uses.len()).unwrap_or(1).max(1) }
}

/// When a lane's operations are due; `None` at full speed.
fn schedule_of(
    input: &TreeInput<'_>,
    workload: usize,
    part: GeneratorPart,
) -> Result<Option<ArrivalSchedule>, TreeLoadError> {
    let one = &input.run.workloads[workload];
    let each = one.load.tree().map_or(1, |load| u32::try_from(load.group()).unwrap_or(1));
    let rate = match (one.rate, input.rate) {
        (Some(rate), _) => rate,
        (None, Some(rate)) => input.run.shared_rate(rate) * one.share,
        (None, None) => return Ok(None),
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

fn make_lanes(input: &TreeInput<'_>, run: Arc<dyn TreeRun>) -> Result<TreeLanes, TreeLoadError> {
    let mut lanes: Vec<TreeLane> = Vec::new();
    let mut shared: BTreeMap<usize, SharedFiles> = BTreeMap::new();
    let mut shares = Vec::new();
    for (at, workload) in input.run.workloads.iter().enumerate() {
        let Some(load) = workload.load.tree() else { continue };
        for used in &load.uses {
            let lane = make_lane(input, (at, workload, load), used, lanes.len(), &mut shared)?;
            shares.push((workload.share / load.uses.len() as f64, load.group() as u64));
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
    if let [lane] = lanes.as_mut_slice() {
        lane.is_alone = lane.load.threads <= 1 && lane.destination.is_none();
    }
    let last_ns = run.end_ns().map_or(u64::MAX, |end_ns| end_ns.saturating_sub(1));
    Ok(TreeLanes { lanes, run, last_ns, changes: AtomicU64::new(0) })
}

fn make_lane(
    input: &TreeInput<'_>,
    (workload, of, load): (usize, &Workload, &TreeLoad),
    used: &TreeUse,
    number: usize,
    shared: &mut BTreeMap<usize, SharedFiles>,
) -> Result<TreeLane, TreeLoadError> {
    let tree = tree_of(input, used)?;
    let place = input.plan.place_of_tree(used.tree);
    let threads = load.threads.max(1);
    let seed = chance(input.seed ^ (place as u64) << 32, workload as u64);
    let is_sequential = matches!(load.access, FileOrder::Sequential | FileOrder::SequentialDelete);
    let keeps_places = is_sequential
        && match &load.task {
            TreeTask::Format(_) => false,
            TreeTask::Flow(steps) => steps.iter().any(|step| flow_kinds::is_at_next_place(step.op)),
            _ => load.stop_after.is_some(),
        };
    let left_at = keeps_places.then(|| (0..tree.layout().files()).map(|_| AtomicU64::new(0)).collect());
    let layout = tree.layout();
    let largest = (0..layout.files()).map(|file| layout.asked_bytes(file)).max().unwrap_or(0);
    let mut lane = TreeLane {
        workload,
        place,
        number,
        destination: load.destination.as_ref().map(|used| tree_of(input, used)).transpose()?,
        load: load.clone(),
        need: need_of(load),
        kinds: Kinds::new(&load.task, seed ^ 0x6b69_6e64),
        tickets: None,
        turns: None,
        seed,
        looked: AtomicU64::new(0),
        begun: AtomicU64::new(0),
        left: AtomicU32::new(threads),
        stuck: AtomicU32::new(0),
        helps_itself: matches!(&load.task, TreeTask::Flow(steps) if steps.iter().any(|step| step.is_next)),
        is_over: AtomicBool::new(false),
        is_used_up: AtomicBool::new(false),
        ends_ns: AtomicU64::new(u64::MAX),
        stuck_at: AtomicU64::new(0),
        helpers: Vec::new(),
        left_at,
        flow: FlowMemory::new(load, layout.files()),
        shared: (load.access == FileOrder::RandomShared && flow_kinds::may_share(&load.task))
            .then(|| Arc::clone(shared.entry(used.tree).or_default())),
        checks: input.validation.and_then(|validation| {
            let destination = load.destination.as_ref().map(|used| input.plan.place_of_tree(used.tree));
            TreeChecks::new(validation, (place, destination), workload, input.sweeps)
        }),
        guards: [false; 2],
        is_alone: false,
        phases: Phases::new(threads),
        file_stride: stride_of(largest, &of.content),
        is_buffered: AtomicBool::new(false),
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
    match &lane.load.task {
        TreeTask::Flow(steps) => steps.iter().any(|step| step.op == kind),
        task => *task == TreeTask::One(kind),
    }
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
        let makes_files = makes_files || flow_kinds::makes_files(&other.load.task);
        let removes_files = does(other, OperationKind::Delete) || does(other, OperationKind::Move);
        let helps_with = |need: &Need| match need {
            Need::Existing | Need::Writing => makes_files,
            Need::Filled => makes_files || flow_kinds::writes(&other.load.task),
            Need::Missing => removes_files || makes_directories,
            Need::Writable | Need::Makeable => makes_directories,
            Need::NewDirectory => does(other, OperationKind::Rmdir),
            Need::EmptyDirectory => removes_files || makes_directories,
        };
        let helps_here = flow_kinds::needs_of(&lane.load.task, lane.need).iter().any(helps_with);
        let helps_by_bringing = matches!(lane.need, Need::Existing | Need::Writing | Need::Filled);
        (is_here && helps_here) || (brings && helps_by_bringing) || (is_there && makes_directories)
    };
    lanes.iter().filter(|other| other.number != lane.number && helps(other)).map(|other| other.number).collect()
}
