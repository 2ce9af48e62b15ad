//! Who does what: a run's workloads and targets divided into groups that share nothing.

use crate::{EngineError, Input, Pace};
use plan::Workload;
use plan::generate::{Content, Geometry, Operations, Part, Schedule};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use target::Opened;

/// One workload on one target, or one part of it.
#[derive(Debug)]
pub(crate) struct LaneSpec {
    pub(crate) workload: usize,
    /// Index into [`GroupSpec::targets`].
    pub(crate) target: usize,
    pub(crate) operations: Operations,
    /// Due times; `None` in a closed loop.
    pub(crate) schedule: Option<Schedule>,
    pub(crate) content: Option<Content>,
    /// Most in flight of this lane.
    pub(crate) depth: u32,
    /// Part of all operations of the group, closed loop.
    pub(crate) share: f64,
    /// 0 is served first.
    pub(crate) priority: u32,
    pub(crate) think_ns: u64,
    pub(crate) datasync: bool,
}

/// A target as a group sees it.
#[derive(Debug)]
pub(crate) struct TargetSlot {
    /// Index in the plan.
    pub(crate) plan_index: usize,
    pub(crate) fd: Option<Arc<OwnedFd>>,
    pub(crate) depth: u32,
}

/// What one worker (or one set of threads) does.
#[derive(Debug)]
pub(crate) struct GroupSpec {
    pub(crate) lanes: Vec<LaneSpec>,
    pub(crate) targets: Vec<TargetSlot>,
    /// Shares hold over the whole group, even when that holds targets back.
    pub(crate) shares_fixed: bool,
    pub(crate) transfer_max: u32,
    pub(crate) memory_align: u32,
}

impl GroupSpec {
    /// Most operations in flight.
    pub(crate) fn depth(&self) -> u32 {
        self.targets.iter().map(|target| target.depth).sum()
    }
}

/// May this workload be divided over several workers?
fn is_divisible(workload: &Workload) -> bool {
    Operations::parts_max(workload) == u32::MAX
}

/// Targets that the run uses, ascending.
pub(crate) fn used_targets(input: &Input<'_>) -> Vec<usize> {
    let mut used: Vec<usize> =
        input.run.workloads.iter().flat_map(|workload| workload.targets.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    used
}

/// Divides the run over `workers` groups.
pub(crate) fn divide(input: &Input<'_>, workers: usize) -> Result<Vec<GroupSpec>, EngineError> {
    let used = used_targets(input);
    let shares_fixed = input.rate == Pace::Max && input.run.workloads.iter().any(|workload| workload.share_fixed);
    let divisible = input.run.workloads.iter().all(is_divisible);
    let depth_min = used.iter().map(|index| input.plan.targets[*index].depth).min().unwrap_or(1).max(1);
    let workers = match (shares_fixed, divisible) {
        // Shares hold within a group; every group runs the whole mix.
        (true, false) => 1,
        (true, true) => workers.min(depth_min as usize),
        _ => workers,
    }
    .max(1);
    let mut groups: Vec<GroupSpec> = (0..workers)
        .map(|_| GroupSpec {
            lanes: Vec::new(),
            targets: Vec::new(),
            shares_fixed,
            transfer_max: 512,
            memory_align: 512,
        })
        .collect();
    for target in &used {
        let workloads: Vec<usize> =
            (0..input.run.workloads.len()).filter(|at| input.run.workloads[*at].targets.contains(target)).collect();
        let depth = input.plan.targets[*target].depth.max(1);
        let can_divide = workloads.iter().all(|at| is_divisible(&input.run.workloads[*at]));
        let parts = if can_divide { u32::try_from(workers).unwrap_or(1).min(depth) } else { 1 };
        // The groups with the least to do; a divided target goes to all of them in turn.
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|at| (groups[*at].depth(), *at));
        for index in 0..parts {
            let share = depth / parts + u32::from(index < depth % parts);
            let group = &mut groups[order[index as usize]];
            add_target(input, group, *target, share, &workloads, Part { index, count: parts })?;
        }
    }
    groups.retain(|group| !group.lanes.is_empty());
    Ok(groups)
}

/// Adds a target with its part of the depth, and its lanes, to a group.
fn add_target(
    input: &Input<'_>,
    group: &mut GroupSpec,
    target: usize,
    depth: u32,
    workloads: &[usize],
    part: Part,
) -> Result<(), EngineError> {
    let opened = input.targets.get(target).and_then(Option::as_ref).ok_or(EngineError::NotOpen(target))?;
    let fd = opened.as_fd().try_clone_to_owned().map_err(EngineError::system("duplicate a file descriptor"))?;
    group.targets.push(TargetSlot { plan_index: target, fd: Some(Arc::new(fd)), depth });
    let slot = group.targets.len() - 1;
    group.memory_align = group.memory_align.max(opened.memory_align);
    for at in workloads {
        let lane = lane(input, opened, target, slot, *at, part)?;
        let transfer = input.run.workloads[*at].transfer.max_bytes();
        group.transfer_max = group.transfer_max.max(u32::try_from(transfer).unwrap_or(u32::MAX));
        group.lanes.push(LaneSpec { depth: lane.depth.min(depth), ..lane });
    }
    Ok(())
}

/// One lane.
fn lane(
    input: &Input<'_>,
    opened: &Opened,
    target: usize,
    slot: usize,
    at: usize,
    part: Part,
) -> Result<LaneSpec, EngineError> {
    let workload = &input.run.workloads[at];
    let spec = &input.plan.targets[target];
    let geometry = Geometry { size_bytes: opened.size_bytes, block_bytes: opened.logical_block_bytes };
    let operations = Operations::new(workload, spec, geometry, input.seed, part)?;
    let share = workload.share / workload.targets.len() as f64;
    let rate = match (workload.rate, input.rate) {
        (Some(rate), _) => Some(rate / workload.targets.len() as f64),
        (None, Pace::PerSecond(rate)) => Some(rate * share),
        (None, Pace::Max) => None,
    };
    let mixed = input.seed
        ^ (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (target as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    let schedule = match rate {
        Some(rate) if rate > 0.0 => Some(Schedule::new(rate, &input.run.arrivals, mixed, part)?),
        _ => None,
    };
    let content = if workload.mix.changes_data() {
        let pattern = match &workload.content.pattern {
            Some(path) => std::fs::read(path).map_err(|source| EngineError::Pattern { path: path.clone(), source })?,
            None => Vec::new(),
        };
        let seed = input.plan.settings.seed ^ (target as u64 + 1).wrapping_mul(0xff51_afd7_ed55_8ccd);
        Some(Content::new(&workload.content, &pattern, seed)?)
    } else {
        None
    };
    Ok(LaneSpec {
        workload: at,
        target: slot,
        operations,
        schedule,
        content,
        depth: workload.depth.unwrap_or(u32::MAX).max(1),
        share: share / f64::from(part.count),
        priority: workload.priority.unwrap_or(u32::MAX),
        think_ns: workload.think_ns,
        datasync: workload.mix.fdatasync_every.is_some(),
    })
}
