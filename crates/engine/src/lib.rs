//! Executes a plan against targets and times every operation. Owns io_uring.
//!
//! [`start`] divides a run into groups that share nothing (`group`), gives each a worker (`uring_worker`, or a crew of
//! threads in `sync`) with a `scheduler` that decides when something is issued and on which lane, and returns a
//! [`RunningRun`] whose [`harvest`](RunningRun::harvest) ends an interval. What is issued, and how, a group's kind of work
//! decides (`work`; `blocks`), for which its worker is compiled. Where the data of blocks is proved, blocks have one operation at a
//! time, and operations have steps before and behind their own (`validating`). Trees have threads of their own beside the groups (`tree_crew`). What a worker records lies in a buffer that the harvest
//! exchanges for an empty one (`stats`), so neither waits for the other.
//!
//! *Due* is the schedule's time in an open loop, the time when the slot became free in a closed one; response time is
//! completion − due, service time completion − submission.

mod arrivals;
mod block_request;
mod blocks;
mod budget;
mod cache;
mod check;
mod choose;
mod commands;
mod cpu;
mod cpu_reservation;
mod discard;
mod due_times;
mod engine_overhead;
mod error;
mod failure;
mod group;
mod group_spec;
mod harvest;
mod io_buffers;
mod issue;
mod job_counts;
mod job_scheduler;
mod job_status;
mod opening;
mod pending;
mod placement;
mod pool;
mod priorities;
mod replay;
mod replay_progress;
mod running;
mod scheduler;
mod shared;
mod stats;
mod sync;
mod teams;
mod tree_crew;
mod tree_ring;
mod tree_trial;
mod uring_memory;
mod uring_queue;
mod uring_worker;
mod validated_lanes;
mod validating;
mod waiting;
mod work;

pub use cache::{pre_read, prepare};
pub use check::check;
pub use commands::ExecutionRecord;
pub use cpu_reservation::CpuReservation;
pub use engine_overhead::{EngineOverhead, own_cost};
pub use error::EngineError;
pub use group::pattern_of;
pub use harvest::{
    FailedOperation, FinishedRun, IntervalHarvest, JobInterval, KeptIo, LaneEnd, LaneInterval, StepInterval,
    WorkerInterval,
};
pub use job_status::{JobFault, JobStatus, JobStatuses};
pub use placement::check_placement;
pub use replay::{ReplayFeed, ReplayHindrances, replay};
pub use replay_progress::ReplayChunk;
pub use running::{RunningRun, start, start_keeping};
pub use stats::FirstError;

use plan::{Plan, Run};
use std::sync::Arc;
use target::OpenTarget;
use tree::Tree;
use validation::Validation;

/// How I/O is issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring where kernel and target support it well, threads otherwise.
    #[default]
    Auto,
    /// io_uring or nothing.
    Uring,
    /// A thread per queue slot.
    Sync,
}

/// Settings of the engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct EngineOptions {
    /// How I/O is issued.
    pub choice: EngineChoice,
    /// Workers; `None`: one per core, fewer at low rates.
    pub workers: Option<usize>,
    /// The run ends with the first operation that fails behind so many; what is in flight then may still fail. `None`: it
    /// does not end by itself.
    pub errors_max: Option<u64>,
    /// The same of damaged blocks alone (`validation`), whatever is done about operations that fail; a read in flight may find more.
    pub damage_max: Option<u64>,
}

/// The resolved rate of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResolvedRate {
    /// Open loop: arrivals per second over all workloads.
    PerSecond(f64),
    /// Closed loop, as fast as it goes.
    Max,
}

/// What a run needs.
#[derive(Clone, Copy, Debug)]
pub struct RunInput<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// One of its runs, or one made for it.
    pub run: &'a Run,
    /// Its rate.
    pub rate: ResolvedRate,
    /// Open targets by their index in the plan; those that the run does not use may be missing.
    pub targets: &'a [Option<OpenTarget>],
    /// Open trees by their index in the plan; those that the run does not use may be missing.
    pub trees: &'a [Option<Arc<Tree>>],
    /// Seed of its random choices.
    pub seed: u64,
    /// The same for workloads whose choices vary from pass to pass ([`plan::FileUse::varies`]).
    pub varying_seed: u64,
    /// Seed of the data that is written, the same for all runs of an execution and another one for the next, unless that
    /// is to write the same.
    pub data_seed: u64,
    /// What is proved of the data; `None`: nothing.
    pub validation: Option<&'a Validation>,
    /// Its reads are those of everything that was written ([`plan::ValidationSettings::sweeps`]), in the order of the addresses.
    pub sweeps: bool,
}
