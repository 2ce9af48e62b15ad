//! What a workload adds that keeps to itself: its own slots, start, pace and end within the run (fio's job).

use super::files::FilePasses;
use super::job_end::JobEnd;
use super::rate::GapDistribution;
use serde::{Deserialize, Serialize};

/// A workload with slots of its own over all its targets, instead of a share of what its targets allow.
///
/// All workloads of a run are jobs, or none is. A job's [`rate`](crate::Workload::rate) is its own; without one it
/// has its share of the run's rate, and goes as fast as its slots allow when that is the maximum. It ends at the first of its limits, or with the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Most operations in flight, over all targets together.
    pub depth: u32,
    /// Once all slots were in use, none is filled before no more than this many are; `depth − 1` refills at once.
    pub depth_low: u32,
    /// How arrivals are spread in time when the workload has a rate. At even gaps, reads and writes by fio's rules each have their
    /// part of it to themselves.
    pub gaps: GapDistribution,
    /// Begins this long after the run's start, warm-up included.
    pub start_ns: u64,
    /// Begins after these workloads of the run (by index) have ended.
    pub after: Vec<usize>,
    /// Ends this long after it began.
    pub elapsed_ns: Option<u64>,
    /// Ends when operations over this many bytes have been issued.
    pub bytes: Option<u64>,
    /// Ends when so many times the bytes of its ranges have been issued.
    pub passes: Option<f64>,
    /// Goes through its files by fio's rules, and ends with them. Its workload then has [`AddressPattern::files`](crate::AddressPattern::files).
    #[serde(default)]
    pub files: Option<FilePasses>,
    /// Ends when this many operations have been issued.
    pub operations: Option<u64>,
    /// Operations per second of some kinds of operation only (reads, writes, trims), the others go as fast as slots are
    /// free: a kind whose next one is not due yet gives way to the others.
    #[serde(default)]
    pub rates: Option<[Option<f64>; 3]>,
    /// Pauses.
    pub think: Option<ThinkTime>,
    /// Which target is next when there are several.
    pub turn: TargetOrder,
    /// Keeps the operations of several jobs in proportion.
    pub flow: Option<JobFlow>,
    /// Looks for the greatest depth that keeps a service time.
    pub latency: Option<LatencyGoal>,
    /// Where it runs.
    pub placement: JobPlacement,
    /// Its files are memory: what is read and written is copied, and `fsync` is `msync` (fio's `ioengine=mmap`). One
    /// operation at a time, by threads.
    #[serde(default)]
    pub mapped: bool,
    /// Some of its requests have an I/O priority of their own.
    #[serde(default)]
    pub priorities: Option<RequestPriorities>,
    /// No operation begins while one in flight overlaps it.
    #[serde(default)]
    pub keeps_apart: bool,
    /// With data validation: what it reads was written by an earlier execution where this one has not written it, and must be what
    /// its stamps say (fio's jobs that only read, with `verify=`).
    #[serde(default)]
    pub checks_unknown: bool,
    /// What ends it besides, by fio's rules; `None`: only the limits of the run and the plan do.
    #[serde(default)]
    pub end: Option<JobEnd>,
}

/// I/O priorities of single requests (fio's `cmdprio_percentage` and `cmdprio_bssplit`); io_uring only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPriorities {
    /// Of reads.
    pub reads: Vec<PriorityShare>,
    /// Of writes.
    pub writes: Vec<PriorityShare>,
}

/// A part of the requests that has a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityShare {
    /// Requests of this size only; `None`: of any.
    pub bytes: Option<u64>,
    /// How many of these, in percent; those of one size sum to 100 at most, the rest has the job's own priority.
    pub percent: u32,
    /// As in `ioprio_set(2)`: class << 13 | level.
    pub io_priority: u16,
}

impl Job {
    /// A job without limits and pauses.
    pub fn new(depth: u32) -> Self {
        Self {
            depth,
            depth_low: depth.saturating_sub(1),
            gaps: GapDistribution::Deterministic,
            start_ns: 0,
            after: Vec::new(),
            elapsed_ns: None,
            bytes: None,
            passes: None,
            files: None,
            operations: None,
            rates: None,
            think: None,
            turn: TargetOrder::RoundRobin { each: 1 },
            flow: None,
            latency: None,
            placement: JobPlacement::default(),
            mapped: false,
            priorities: None,
            keeps_apart: false,
            checks_unknown: false,
            end: None,
        }
    }
}

/// A pause of a whole job: nothing is issued until all operations have come back and the time has passed. What is paced
/// by a rate becomes due during the pause all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinkTime {
    /// Length of a pause.
    pub ns: u64,
    /// A pause comes after so many operations.
    pub every: Option<u32>,
    /// A pause comes after so much time without one.
    pub busy_ns: Option<u64>,
}

/// Which target of a job is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetOrder {
    /// One after the other.
    RoundRobin {
        /// Operations on a target before the next one's turn.
        each: u32,
    },
    /// Any, by chance.
    Random {
        /// Operations on a target before the next choice.
        each: u32,
    },
    /// The first until it is through (each byte of its range once; by fio's rules: until it ends), then the second.
    Sequential,
    /// All are one address space, one behind the other (Vdbench's `concatenatesds=`).
    Joined,
}

/// Jobs of one group issue operations in proportion to their weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobFlow {
    /// Group.
    pub id: u32,
    /// Weight, above 0.
    pub weight: f64,
}

/// The greatest depth at which a share of the operations keeps a service time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyGoal {
    /// The service time.
    pub target_ns: u64,
    /// How long a depth is tried.
    pub window_ns: u64,
    /// Fraction of operations that must keep it.
    pub fraction: f64,
    /// Go on at the depth that was found; otherwise the job ends there.
    pub run_on: bool,
}

/// Where and how important a job's threads and requests are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobPlacement {
    /// CPUs that its thread may use; empty: all.
    pub cpus: Vec<u32>,
    /// NUMA nodes whose CPUs its thread may use.
    pub nodes: Vec<u32>,
    /// Niceness of its thread, −20 to 19.
    pub nice: i32,
    /// I/O priority as in `ioprio_set(2)`: class << 13 | level; 0: of the thread.
    pub io_priority: u16,
}
