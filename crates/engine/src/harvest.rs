//! What the coordinator takes home from an interval.

use crate::commands::ExecutionRecord;
use crate::stats::{FirstError, OpStat, StepStat};
use crate::waiting::Arrival;
use plan::generate::OperationKind;
use quantity::histogram::Histogram;
use std::collections::BTreeMap;

/// One interval.
#[derive(Clone, Debug)]
pub struct IntervalHarvest {
    /// Its end, `CLOCK_MONOTONIC`, ns.
    pub t_ns: u64,
    /// Its length, ns.
    pub interval_ns: u64,
    /// What was done, in the order of workload, target, operation.
    pub lanes: Vec<LaneInterval>,
    /// What the workers cost.
    pub workers: Vec<WorkerInterval>,
    /// Jobs that issued something or had something come back, began or ended.
    pub jobs: Vec<JobInterval>,
    /// The first failures with their places; the others are only counted.
    pub failures: Vec<FailedOperation>,
    /// Every operation that succeeded, of the workloads of which each is asked for, in the order of their completion.
    pub ios: Vec<KeptIo>,
    /// How many of those had no room.
    pub ios_lost: u64,
    /// Executions of commands that ended, or that the end of the run left without a beginning; they are in none of `lanes`.
    pub executions: Vec<ExecutionRecord>,
    /// What operations in trees needed besides, in the order of workload, place, operation; in none of `lanes`.
    pub steps: Vec<StepInterval>,
    /// Sentences about workloads in trees: why one ended before the run, what a format did not make.
    pub notes: Vec<String>,
}

/// Steps of one kind of one workload in one place: the opens and closes around reads and writes, what a copy is made of, …
/// They have a service time only, and count as no operation that was asked for.
#[derive(Clone, Debug)]
pub struct StepInterval {
    /// Index into the run's workloads.
    pub workload: usize,
    /// Number of the place, as in [`LaneInterval::target`].
    pub target: usize,
    /// Kind of operation.
    pub op: OperationKind,
    /// Steps completed.
    pub ops: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Steps that failed.
    pub errors: u64,
    /// Completion − submission, ns.
    pub service: Histogram,
}

/// One operation that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptIo {
    /// When it came back, `CLOCK_MONOTONIC`, ns.
    pub t_ns: u64,
    /// Index into the run's workloads.
    pub workload: usize,
    /// Index into the plan's targets.
    pub target: usize,
    /// Kind of operation.
    pub op: OperationKind,
    /// Where, bytes.
    pub offset: u64,
    /// How much, bytes.
    pub bytes: u32,
    /// Completion − arrival, ns.
    pub response_ns: u64,
    /// Completion − submission, ns.
    pub service_ns: u64,
    /// Its priority, where that is not its job's, as in `ioprio_set(2)`.
    pub priority: Option<u16>,
}

impl IntervalHarvest {
    /// What this one and the one behind it are together.
    #[must_use]
    pub fn followed_by(mut self, mut next: Self) -> Self {
        let (before_ns, after_ns) = (self.interval_ns as f64, next.interval_ns as f64);
        let whole_ns = (before_ns + after_ns).max(1.0);
        for lane in &mut next.lanes {
            let key = (lane.workload, lane.target, lane.op);
            let before = self.lanes.iter().position(|lane| (lane.workload, lane.target, lane.op) == key);
            let Some(before) = before.map(|at| self.lanes.swap_remove(at)) else {
                lane.in_flight_mean *= after_ns / whole_ns;
                continue;
            };
            lane.arrivals += before.arrivals;
            lane.ops += before.ops;
            lane.bytes += before.bytes;
            lane.errors += before.errors;
            lane.short += before.short;
            lane.first_error = before.first_error.or(lane.first_error);
            lane.wait.merge(&before.wait);
            lane.response.merge(&before.response);
            lane.service.merge(&before.service);
            lane.in_flight_mean = (before.in_flight_mean * before_ns + lane.in_flight_mean * after_ns) / whole_ns;
        }
        next.lanes.append(&mut self.lanes);
        next.workers.iter_mut().for_each(|worker| worker.follows(&self.workers, whole_ns));
        for job in &mut next.jobs {
            let before = self.jobs.iter().position(|before| before.workload == job.workload);
            let Some(before) = before.map(|at| self.jobs.swap_remove(at)) else { continue };
            job.began_ns = before.began_ns.or(job.began_ns);
            job.depth.merge(&before.depth);
            job.submitted.merge(&before.submitted);
            job.completed.merge(&before.completed);
        }
        next.jobs.append(&mut self.jobs);
        join_steps(self.steps, &mut next.steps);
        self.failures.append(&mut next.failures);
        self.ios.append(&mut next.ios);
        self.executions.append(&mut next.executions);
        self.notes.append(&mut next.notes);
        Self {
            t_ns: next.t_ns,
            interval_ns: self.interval_ns + next.interval_ns,
            lanes: next.lanes,
            workers: next.workers,
            jobs: next.jobs,
            failures: self.failures,
            ios: self.ios,
            ios_lost: self.ios_lost + next.ios_lost,
            executions: self.executions,
            steps: next.steps,
            notes: self.notes,
        }
    }
}

/// Adds the steps of an interval to those of the one behind it.
fn join_steps(mut before: Vec<StepInterval>, next: &mut Vec<StepInterval>) {
    for step in next.iter_mut() {
        let key = (step.workload, step.target, step.op);
        let earlier = before.iter().position(|step| (step.workload, step.target, step.op) == key);
        let Some(earlier) = earlier.map(|at| before.swap_remove(at)) else { continue };
        step.ops += earlier.ops;
        step.bytes += earlier.bytes;
        step.errors += earlier.errors;
        step.service.merge(&earlier.service);
    }
    next.append(&mut before);
}

/// A worker that used more of a core than this was busy.
pub(crate) const BUSY_SHARE: f64 = 0.95;

/// One kind of operation of one workload on one target.
#[derive(Clone, Debug)]
pub struct LaneInterval {
    /// Index into the run's workloads.
    pub workload: usize,
    /// Index into the plan's targets.
    pub target: usize,
    /// Kind of operation.
    pub op: OperationKind,
    /// Operations that became due.
    pub arrivals: u64,
    /// Operations completed.
    pub ops: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Of them, transfers that moved less than was asked.
    pub short: u64,
    /// The first of them.
    pub first_error: Option<FirstError>,
    /// Completion − arrival, ns.
    pub response: Histogram,
    /// Completion − submission, ns.
    pub service: Histogram,
    /// Submission − arrival of what was submitted in the interval, ns.
    pub wait: Histogram,
    /// Mean number in flight, the integral over the interval.
    pub in_flight_mean: f64,
    /// Arrived and not submitted at the interval's end.
    pub backlog: u64,
}

/// What one job (a workload with slots of its own) did in an interval, beside its operations.
#[derive(Clone, Debug)]
pub struct JobInterval {
    /// Index into the run's workloads.
    pub workload: usize,
    /// When it began, `CLOCK_MONOTONIC`, ns; `None` until then.
    pub began_ns: Option<u64>,
    /// When it was over and all that it had issued had come back; `None` until then, and when only the run's end ended it.
    pub ended_ns: Option<u64>,
    /// Operations in flight when one was issued, itself included; a value for each that was issued.
    pub depth: Histogram,
    /// Operations handed over together; a value for each time.
    pub submitted: Histogram,
    /// Operations that were found to have come back together; a value for each time.
    pub completed: Histogram,
}

/// What one worker did in an interval.
#[derive(Clone, Debug)]
pub struct WorkerInterval {
    /// Its number.
    pub worker: usize,
    /// `io_uring` or `sync`.
    pub engine: &'static str,
    /// CPU time in user mode, ns.
    pub cpu_user_ns: u64,
    /// CPU time in the kernel, ns.
    pub cpu_sys_ns: u64,
    /// Context switches; `None` of a synchronous crew.
    pub context_switches: Option<u64>,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Submission − arrival of what all its lanes submitted, ns.
    pub wait: Histogram,
    /// Greatest age of a time stamp that served a batch, ns.
    pub timestamp_age_ns_max: u64,
    /// System calls that submitted.
    pub submit_calls: u64,
    /// Times that it slept in the kernel.
    pub wakeups: u64,
    /// Was the generator itself the limit: all of a core used, and more to do?
    pub limited: bool,
}

impl WorkerInterval {
    /// Adds what it did before, in the same stretch of so many ns.
    fn follows(&mut self, all: &[Self], whole_ns: f64) {
        let Some(before) = all.iter().find(|before| before.worker == self.worker) else { return };
        self.cpu_user_ns += before.cpu_user_ns;
        self.cpu_sys_ns += before.cpu_sys_ns;
        let switches = self.context_switches.zip(before.context_switches);
        self.context_switches = switches.map(|(after, before)| after + before);
        self.minor_faults += before.minor_faults;
        self.major_faults += before.major_faults;
        self.wait.merge(&before.wait);
        self.timestamp_age_ns_max = self.timestamp_age_ns_max.max(before.timestamp_age_ns_max);
        self.submit_calls += before.submit_calls;
        self.wakeups += before.wakeups;
        let busy_ns = (self.cpu_user_ns + self.cpu_sys_ns) as f64;
        self.limited = (self.limited || before.limited) && busy_ns > BUSY_SHARE * whole_ns;
    }
}

/// A failed operation.
#[derive(Clone, Debug)]
pub struct FailedOperation {
    /// When it came back, `CLOCK_MONOTONIC`, ns.
    pub t_ns: u64,
    /// Index into the run's workloads.
    pub workload: usize,
    /// Index into the plan's targets.
    pub target: usize,
    /// Kind of operation.
    pub op: OperationKind,
    /// Where, bytes.
    pub offset: u64,
    /// How much was asked, bytes.
    pub bytes: u32,
    /// Path of the file or directory, of an operation in a tree; `None` for a target, whose path is the plan's.
    pub path: Option<String>,
    /// What the kernel said.
    pub kind: String,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    /// What came back since the last harvest.
    pub harvest: IntervalHarvest,
    /// What has no end, in the order of workload, target, operation; lanes without such operations are left out.
    pub open: Vec<LaneEnd>,
}

impl FinishedRun {
    /// Operations that never came back.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.open.iter().map(|lane| lane.in_flight_age.count()).sum()
    }

    /// Operations that were due and never submitted.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.open.iter().map(|lane| lane.waiting_age.count()).sum()
    }

    /// How long the oldest of both had been due, ns.
    #[must_use]
    pub fn oldest_ns(&self) -> Option<u64> {
        self.open.iter().filter_map(|lane| lane.in_flight_age.max().max(lane.waiting_age.max())).max()
    }
}

/// Operations of one kind, workload and target that had no end when the run was given up. All ages are lower bounds of
/// the times that they would have had.
#[derive(Clone, Debug)]
pub struct LaneEnd {
    /// Index into the run's workloads.
    pub workload: usize,
    /// Index into the plan's targets.
    pub target: usize,
    /// Kind of operation.
    pub op: OperationKind,
    /// Of those in flight, when waiting for them ended: time since they were due, ns.
    pub in_flight_age: Histogram,
    /// The same since their submission, ns.
    pub in_flight_service_age: Histogram,
    /// Of those that were due and never submitted: time from due to the end of the load, ns.
    pub waiting_age: Histogram,
}

/// All lanes with operations that have no end.
#[derive(Debug, Default)]
pub(crate) struct LaneEnds(BTreeMap<(usize, usize, OperationKind), LaneEnd>);

impl LaneEnds {
    fn of(&mut self, (workload, target): (usize, usize), op: OperationKind) -> &mut LaneEnd {
        self.0.entry((workload, target, op)).or_insert_with(|| LaneEnd {
            workload,
            target,
            op,
            in_flight_age: Histogram::default(),
            in_flight_service_age: Histogram::default(),
            waiting_age: Histogram::default(),
        })
    }

    /// One in flight; ages in ns.
    pub(crate) fn in_flight(&mut self, lane: (usize, usize), op: OperationKind, (age_ns, service_age_ns): (u64, u64)) {
        let end = self.of(lane, op);
        end.in_flight_age.record(age_ns);
        end.in_flight_service_age.record(service_age_ns);
    }

    /// One that waits at `end_ns` of the run.
    pub(crate) fn waiting(&mut self, arrival: Arrival, end_ns: u64) {
        self.of(arrival.lane, arrival.op).waiting_age.record(end_ns.saturating_sub(arrival.due_ns));
    }

    /// In order.
    pub(crate) fn into_vec(self) -> Vec<LaneEnd> {
        self.0.into_values().collect()
    }
}

/// Sums of one lane and operation over all workers.
#[derive(Debug, Default)]
struct LaneSum {
    arrivals: u64,
    submitted: u64,
    returned: u64,
    bytes: u64,
    errors: u64,
    short: u64,
    /// In time of the run.
    first_error: Option<FirstError>,
    unfit: u64,
    response: Histogram,
    service: Histogram,
    wait: Histogram,
    /// In flight at the interval's start.
    in_flight: u64,
    /// Σ (end − submitted) − Σ (end − returned) of this interval, ns.
    integral_ns: i128,
    /// Arrived and not submitted at the interval's start; below 0 where something was submitted whose arrival is of this interval.
    backlog: i128,
}

/// Sums of steps over all workers.
#[derive(Debug, Default)]
pub(crate) struct StepMap(BTreeMap<(usize, usize, OperationKind), StepInterval>);

impl StepMap {
    /// Adds what a worker recorded.
    pub(crate) fn add(&mut self, (workload, target): (usize, usize), op: OperationKind, stat: &StepStat) {
        let (ops, bytes, errors, service) = (0, 0, 0, Histogram::default());
        let none = StepInterval { workload, target, op, ops, bytes, errors, service };
        let sum = self.0.entry((workload, target, op)).or_insert(none);
        sum.ops += stat.ops;
        sum.bytes += stat.bytes;
        sum.errors += stat.errors;
        stat.service.merge_into(&mut sum.service);
    }

    /// In order.
    pub(crate) fn into_vec(self) -> Vec<StepInterval> {
        self.0.into_values().collect()
    }
}

/// All lanes that ever did anything.
#[derive(Debug, Default)]
pub(crate) struct LaneMap(BTreeMap<(usize, usize, OperationKind), LaneSum>);

impl LaneMap {
    /// Adds what a worker recorded; `run_ns` is the interval's end. Gives the times from due to submission, which are the worker's as well.
    pub(crate) fn add(
        &mut self,
        (workload, target): (usize, usize),
        op: OperationKind,
        stat: &OpStat,
        run_ns: u64,
    ) -> Histogram {
        let sum = self.0.entry((workload, target, op)).or_default();
        sum.submitted += stat.submitted;
        sum.returned += stat.returned;
        sum.bytes += stat.bytes;
        sum.errors += stat.errors;
        sum.short += stat.short;
        sum.first_error = sum.first_error.into_iter().chain(stat.first_error).min();
        sum.unfit += stat.unfit;
        stat.response.merge_into(&mut sum.response);
        stat.service.merge_into(&mut sum.service);
        let time_left =
            |count: u64, at: u128| (u128::from(count) * u128::from(run_ns)).cast_signed() - at.cast_signed();
        sum.integral_ns += time_left(stat.submitted, stat.submitted_at) - time_left(stat.returned, stat.returned_at);
        let wait = stat.wait.snapshot();
        sum.wait.merge(&wait);
        wait
    }

    /// One more operation of an open loop became due.
    #[inline]
    pub(crate) fn arrived(&mut self, (workload, target): (usize, usize), op: OperationKind) {
        self.0.entry((workload, target, op)).or_default().arrivals += 1;
    }

    /// The interval's figures; what is in flight and in the backlog is carried over.
    /// `is_open` tells which workloads follow a schedule; the run began at `started_ns` of the clock.
    pub(crate) fn take(&mut self, interval_ns: u64, is_open: &[bool], started_ns: u64) -> Vec<LaneInterval> {
        let mut lanes = Vec::with_capacity(self.0.len());
        for ((workload, target, op), sum) in &mut self.0 {
            let integral_ns = i128::from(sum.in_flight) * i128::from(interval_ns) + sum.integral_ns;
            // A closed loop's arrivals are its submissions.
            let follows = is_open.get(*workload).copied().unwrap_or(false);
            let arrivals = if follows { sum.arrivals } else { sum.submitted };
            sum.in_flight = (sum.in_flight + sum.submitted).saturating_sub(sum.returned);
            sum.backlog += i128::from(arrivals) - i128::from(sum.submitted);
            lanes.push(LaneInterval {
                workload: *workload,
                target: *target,
                op: *op,
                arrivals,
                ops: sum.returned.saturating_sub(sum.errors + sum.unfit),
                bytes: sum.bytes,
                errors: sum.errors,
                short: std::mem::take(&mut sum.short),
                first_error: sum.first_error.take().map(|first| FirstError { t_ns: started_ns + first.t_ns, ..first }),
                response: std::mem::take(&mut sum.response),
                service: std::mem::take(&mut sum.service),
                wait: std::mem::take(&mut sum.wait),
                in_flight_mean: integral_ns.max(0) as f64 / interval_ns as f64,
                backlog: u64::try_from(sum.backlog).unwrap_or(0),
            });
            (sum.arrivals, sum.submitted, sum.returned, sum.bytes) = (0, 0, 0, 0);
            (sum.errors, sum.unfit, sum.integral_ns) = (0, 0, 0);
        }
        lanes
    }
}
