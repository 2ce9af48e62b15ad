//! What a group consists of, whatever kind of work it does: lanes, jobs, slots.

use crate::due_times::DueTimes;
use crate::job_counts::JobSpan;
use crate::job_status::JobStatuses;
use plan::generate::{ArrivalSchedule, BLOCK_KINDS, TargetTurns};
use plan::{Job, JobPlacement};
use std::sync::Arc;

/// One workload on one target, or one part of it: when it does something. What, its work knows.
#[derive(Debug)]
pub(crate) struct LaneSpec {
    pub(crate) workload: usize,
    /// Index into the plan's targets.
    pub(crate) target: usize,
    /// Index into [`GroupSpec::pools`]; jobs have slots of their own.
    pub(crate) pool: usize,
    /// Due times; `None` in a closed loop.
    pub(crate) schedule: Option<ArrivalSchedule>,
    /// Part of all operations of the group, closed loop.
    pub(crate) share: f64,
    /// 0 is served first.
    pub(crate) priority: u32,
    pub(crate) think_ns: u64,
}

/// A workload with slots of its own.
#[derive(Debug)]
pub(crate) struct JobSpec {
    pub(crate) workload: usize,
    /// Its lanes in the group, one per target.
    pub(crate) lanes: std::ops::Range<usize>,
    pub(crate) job: Job,
    /// Due times counted from its start; `None` in a closed loop.
    pub(crate) schedule: Option<DueTimes>,
    pub(crate) turns: TargetTurns,
    /// Due times of those kinds of operation that alone have a rate.
    pub(crate) paced: [Option<ArrivalSchedule>; BLOCK_KINDS],
    /// Where it says when it began and ended.
    pub(crate) span: Arc<JobSpan>,
    /// The plan's number of each lane's target.
    pub(crate) targets: Vec<usize>,
    /// When the warm-up of the run ends, ns.
    pub(crate) warm_ns: u64,
    /// How it ends is said there, and how others do.
    pub(crate) statuses: Arc<JobStatuses>,
}

/// When one worker (or one set of threads) does something, whatever it is.
#[derive(Debug)]
pub(crate) struct GroupSpec {
    pub(crate) lanes: Vec<LaneSpec>,
    /// When the run's workloads are jobs: all of this group's.
    pub(crate) jobs: Vec<JobSpec>,
    /// Slots, that is, most operations in flight, of each pool.
    pub(crate) pools: Vec<u32>,
    /// Where its threads run.
    pub(crate) placement: JobPlacement,
    /// Shares hold over the whole group, even when that holds targets back.
    pub(crate) shares_fixed: bool,
    pub(crate) transfer_max: u32,
    pub(crate) memory_align: u32,
    /// Operations that io_uring hands to threads of the kernel are a part of the load.
    pub(crate) punts: bool,
}

impl GroupSpec {
    /// Nothing to do yet.
    pub(crate) fn empty() -> Self {
        Self {
            lanes: Vec::new(),
            jobs: Vec::new(),
            pools: Vec::new(),
            placement: JobPlacement::default(),
            shares_fixed: false,
            transfer_max: 512,
            memory_align: 512,
            punts: false,
        }
    }

    /// Most operations in flight.
    pub(crate) fn depth(&self) -> u32 {
        if self.jobs.is_empty() {
            return self.pools.iter().fold(0, |sum, depth| sum.saturating_add(*depth));
        }
        self.jobs.iter().map(|job| job.job.depth).fold(0, u32::saturating_add)
    }
}
