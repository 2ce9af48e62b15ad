//! What the runs of a plan do with each tree, known before anything is looked at.

use plan::generate::OperationKind;
use plan::{FileOrder, FlowStep, FormatTask, Plan, Run, TreeLoad, TreeShape, TreeTask};

/// What all runs together do with a tree.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    /// Does any of them make, change or delete something in it?
    pub(super) changes: bool,
    /// Do other processes use it at the same time?
    pub(super) is_shared: bool,
    /// The first run that uses it.
    pub(super) first_run: usize,
}

/// By tree; `None`: no run uses it.
pub(super) fn usages(plan: &Plan) -> Vec<Option<Usage>> {
    let mut found: Vec<Option<Usage>> = vec![None; plan.trees.len()];
    for (at, run) in plan.runs.iter().enumerate() {
        for one in run.tree_uses() {
            let Some(slot) = found.get_mut(one.tree) else { continue };
            let usage = slot.get_or_insert(Usage { changes: false, is_shared: false, first_run: at });
            usage.changes |= changes(run, one.tree);
            usage.is_shared |= one.shape.shared;
        }
    }
    found
}

/// Does a run make, change or delete something in a tree?
pub(super) fn changes(run: &Run, tree: usize) -> bool {
    let is_changed = |load: &TreeLoad| {
        let is_target = load.destination.as_ref().is_some_and(|one| one.tree == tree);
        let is_source = load.uses.iter().any(|one| one.tree == tree);
        // What is copied stays as it is.
        is_target || (is_source && load.changes() && load.task != TreeTask::One(OperationKind::Copy))
    };
    run.workloads.iter().filter_map(|workload| workload.load.tree()).any(is_changed)
}

/// Does a run use a tree for nothing but to copy or move files to it?
pub(super) fn is_only_target(run: &Run, tree: usize) -> bool {
    let loads = || run.workloads.iter().filter_map(|workload| workload.load.tree());
    let is_used = loads().any(|load| load.uses.iter().any(|one| one.tree == tree));
    !is_used && loads().any(|load| load.destination.as_ref().is_some_and(|one| one.tree == tree))
}

/// How a run formats a tree, where it does.
pub(super) fn format_of(run: &Run, tree: usize) -> Option<FormatTask> {
    run.workloads.iter().filter_map(|workload| workload.load.tree()).find_map(|load| match load.task {
        TreeTask::Format(task) if load.uses.iter().any(|one| one.tree == tree) => Some(task),
        _ => None,
    })
}

/// Does a format begin with nothing?
pub(super) fn begins_empty(task: &FormatTask) -> bool {
    task.deletes || task.only_deletes
}

/// Does a run need files of a tree to be there when it begins?
pub(super) fn needs_files(run: &Run, tree: usize) -> bool {
    let is_random = |load: &TreeLoad| matches!(load.access, FileOrder::Random | FileOrder::RandomShared);
    let makes = |load: &TreeLoad| match &load.task {
        TreeTask::One(OperationKind::Create) => true,
        TreeTask::One(OperationKind::Write) => !is_random(load),
        TreeTask::Flow(steps) => first_use(steps) == Some(FirstUse::Makes),
        _ => false,
    };
    if loads(run, tree).any(makes) {
        return false;
    }
    let needs = |load: &TreeLoad| match &load.task {
        TreeTask::Format(_) => false,
        TreeTask::Mixed { .. } => true,
        TreeTask::One(kind) => !matches!(kind, OperationKind::Mkdir | OperationKind::Rmdir | OperationKind::Create),
        TreeTask::Flow(steps) => first_use(steps) == Some(FirstUse::Needs),
    };
    loads(run, tree).any(needs)
}

/// Does a run have flows that need directories of a tree, and does it make none?
pub(super) fn needs_directories(run: &Run, tree: usize) -> bool {
    let needs = |load: &TreeLoad| match &load.task {
        TreeTask::Flow(steps) => steps.iter().any(|step| step.op != OperationKind::Statfs),
        _ => false,
    };
    let makes = format_of(run, tree).is_some() || makes_directories(run, tree);
    loads(run, tree).any(needs) && !makes
}

/// Does a run make directories of a tree as its load? It can begin in an empty anchor.
pub(super) fn makes_directories(run: &Run, tree: usize) -> bool {
    loads(run, tree).any(|load| matches!(load.task, TreeTask::One(OperationKind::Mkdir)))
}

/// Its loads in a tree, copies to it aside.
fn loads(run: &Run, tree: usize) -> impl Iterator<Item = &TreeLoad> {
    let loads = run.workloads.iter().filter_map(|workload| workload.load.tree());
    loads.filter(move |load| load.uses.iter().any(|one| one.tree == tree))
}

/// What a flow does first where there are no files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstUse {
    /// It makes one.
    Makes,
    /// It waits for one.
    Needs,
}

/// `None`: it neither makes files that stay nor needs any.
fn first_use(steps: &[FlowStep]) -> Option<FirstUse> {
    use OperationKind::{CopyRange, Create, Link, Reflink, Rename, Statfs, Temp, Tmpfile, WriteFile};
    // The operations on one file each.
    steps.chunk_by(|_, step| !step.is_next).find_map(|part| {
        let has = |kind| part.iter().any(|step| step.op == kind);
        let first = part.iter().map(|step| step.op).find(|op| *op != Statfs)?;
        let begins_new = match first {
            Create | Tmpfile | WriteFile => true,
            Temp => !has(CopyRange) && !has(Reflink),
            _ => false,
        };
        // A tmpfile alone is linked as a step.
        let is_left = match first {
            Tmpfile => has(Link) || steps.len() == 1,
            Temp => has(Rename),
            _ => true,
        };
        match (begins_new, is_left) {
            (true, true) => Some(FirstUse::Makes),
            (true, false) => None,
            (false, _) => Some(FirstUse::Needs),
        }
    })
}

/// Does a run take directories or files away, so that a tree of another shape may follow?
pub(super) fn takes_away(run: &Run) -> bool {
    let kinds = [OperationKind::Delete, OperationKind::Rmdir, OperationKind::Move];
    let is_one = |load: &TreeLoad| match &load.task {
        TreeTask::One(kind) => kinds.contains(kind),
        TreeTask::Flow(steps) => steps.iter().any(|step| kinds.contains(&step.op)),
        TreeTask::Mixed { .. } | TreeTask::Format(_) => false,
    };
    run.workloads.iter().filter_map(|workload| workload.load.tree()).any(is_one)
}

/// The same of one tree.
pub(super) fn takes_away_of(run: &Run, tree: usize) -> bool {
    let uses = |workload: &&plan::Workload| {
        workload.load.tree().is_some_and(|load| load.uses.iter().any(|one| one.tree == tree))
    };
    takes_away(&Run { workloads: run.workloads.iter().filter(uses).cloned().collect(), ..run.clone() })
}

/// Do two shapes have the same directories and files, of the same sizes?
pub(crate) fn is_same_tree(one: &TreeShape, other: &TreeShape) -> bool {
    (one.depth, one.width, one.files, one.place, &one.sizes)
        == (other.depth, other.width, other.files, other.place, &other.sizes)
}
