//! What the coordinator takes home from an interval.

use crate::budget::Budget;
use crate::group::GroupSpec;
use crate::stats::OpStat;
use plan::generate::{Op, Operation, Operations, Schedule, Turns};
use quantity::histogram::Histogram;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// One interval.
#[derive(Clone, Debug)]
pub struct Harvest {
    /// Its end, `CLOCK_MONOTONIC`, ns.
    pub t_ns: u64,
    /// Its length, ns.
    pub interval_ns: u64,
    /// What was done, in the order of workload, target, operation.
    pub lanes: Vec<LaneInterval>,
    /// What the workers cost.
    pub workers: Vec<WorkerInterval>,
    /// The first failures with their places; the others are only counted.
    pub failures: Vec<Failure>,
}

/// One kind of operation of one workload on one target.
#[derive(Clone, Debug)]
pub struct LaneInterval {
    /// Index into the run's workloads.
    pub workload: usize,
    /// Index into the plan's targets.
    pub target: usize,
    /// Kind of operation.
    pub op: Op,
    /// Operations that became due.
    pub arrivals: u64,
    /// Operations completed.
    pub ops: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Completion − arrival, ns.
    pub response: Histogram,
    /// Completion − submission, ns.
    pub service: Histogram,
    /// Mean number in flight, the integral over the interval.
    pub in_flight_mean: f64,
    /// Arrived and not submitted at the interval's end.
    pub backlog: u64,
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
    /// Submission − arrival, ns.
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

/// A failed operation.
#[derive(Clone, Debug)]
pub struct Failure {
    /// When it came back, `CLOCK_MONOTONIC`, ns.
    pub t_ns: u64,
    /// Index into the run's workloads.
    pub workload: usize,
    /// Index into the plan's targets.
    pub target: usize,
    /// Kind of operation.
    pub op: Op,
    /// Where, bytes.
    pub offset: u64,
    /// How much was asked, bytes.
    pub bytes: u32,
    /// What the kernel said.
    pub kind: String,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Finished {
    /// Operations that never came back.
    pub unfinished: u64,
}

/// Sums of one lane and operation over all workers.
#[derive(Debug, Default)]
struct LaneSum {
    arrivals: u64,
    submitted: u64,
    returned: u64,
    bytes: u64,
    errors: u64,
    response: Histogram,
    service: Histogram,
    /// In flight at the interval's start.
    in_flight: u64,
    /// Σ (end − submitted) − Σ (end − returned) of this interval, ns.
    integral_ns: i128,
    /// Arrived and not submitted at the interval's start.
    backlog: u64,
}

/// All lanes that ever did anything.
#[derive(Debug, Default)]
pub(crate) struct LaneMap(BTreeMap<(usize, usize, Op), LaneSum>);

impl LaneMap {
    /// Adds what a worker recorded; `run_ns` is the interval's end.
    pub(crate) fn add(&mut self, (workload, target): (usize, usize), op: Op, stat: &OpStat, run_ns: u64) {
        let sum = self.0.entry((workload, target, op)).or_default();
        sum.submitted += stat.submitted;
        sum.returned += stat.returned;
        sum.bytes += stat.bytes;
        sum.errors += stat.errors;
        stat.response.merge_into(&mut sum.response);
        stat.service.merge_into(&mut sum.service);
        let time_left =
            |count: u64, at: u128| (u128::from(count) * u128::from(run_ns)).cast_signed() - at.cast_signed();
        sum.integral_ns += time_left(stat.submitted, stat.submitted_at) - time_left(stat.returned, stat.returned_at);
    }

    /// One more operation of an open loop became due.
    #[inline]
    pub(crate) fn arrived(&mut self, (workload, target): (usize, usize), op: Op) {
        self.0.entry((workload, target, op)).or_default().arrivals += 1;
    }

    /// The interval's figures; what is in flight and in the backlog is carried over.
    /// `is_open` tells which workloads follow a schedule.
    pub(crate) fn take(&mut self, interval_ns: u64, is_open: &[bool]) -> Vec<LaneInterval> {
        let mut lanes = Vec::with_capacity(self.0.len());
        for ((workload, target, op), sum) in &mut self.0 {
            let integral_ns = i128::from(sum.in_flight) * i128::from(interval_ns) + sum.integral_ns;
            // A closed loop's arrivals are its submissions.
            let follows = is_open.get(*workload).copied().unwrap_or(false);
            let arrivals = if follows { sum.arrivals } else { sum.submitted };
            sum.in_flight = (sum.in_flight + sum.submitted).saturating_sub(sum.returned);
            sum.backlog = (sum.backlog + arrivals).saturating_sub(sum.submitted);
            lanes.push(LaneInterval {
                workload: *workload,
                target: *target,
                op: *op,
                arrivals,
                ops: sum.returned - sum.errors.min(sum.returned),
                bytes: sum.bytes,
                errors: sum.errors,
                response: std::mem::take(&mut sum.response),
                service: std::mem::take(&mut sum.service),
                in_flight_mean: integral_ns.max(0) as f64 / interval_ns as f64,
                backlog: sum.backlog,
            });
            (sum.arrivals, sum.submitted, sum.returned, sum.bytes, sum.errors, sum.integral_ns) = (0, 0, 0, 0, 0, 0);
        }
        lanes
    }
}

/// Counts arrivals from copies of the schedules, so that the offered load is known however stuck the workers are.
#[derive(Debug)]
pub(crate) struct Arrived {
    counters: Vec<Counter>,
    /// What the run may still ask for.
    budget: Budget,
    /// With a budget, the counters by their next due time: which operation is the last depends on the order.
    order: BinaryHeap<Reverse<(u64, usize)>>,
}

/// Do the arrivals of a job with a rate follow from its schedule alone? Not when it waits for others or makes pauses.
pub(crate) fn is_predictable(job: &plan::Job) -> bool {
    job.after.is_empty() && job.think.is_none()
}

#[derive(Debug)]
struct Counter {
    stream: Stream,
    schedule: Schedule,
    /// When the schedule's time begins, and when it ends.
    start_ns: u64,
    end_ns: u64,
    /// The next due time, not yet counted; `None` when the operations have ended.
    next_ns: Option<u64>,
}

/// The operations that become due.
#[derive(Debug)]
enum Stream {
    /// Of one workload on one target.
    Lane((usize, usize), Box<Operations>),
    /// Of a job, by target.
    Job(Box<Turns>, Vec<((usize, usize), Operations)>),
}

impl Stream {
    fn next(&mut self) -> Option<((usize, usize), Operation)> {
        match self {
            Self::Lane(lane, operations) => operations.next().map(|operation| (*lane, operation)),
            Self::Job(turns, lanes) => {
                let (at, operation) = turns.next(|at| lanes.get_mut(at).and_then(|(_, one)| one.next()))?;
                Some((lanes.get(at)?.0, operation))
            }
        }
    }
}

impl Counter {
    /// Counts the arrival that is next.
    fn step(&mut self, budget: &Budget, each: &mut impl FnMut((usize, usize), Op)) {
        let due_ns = self.next_ns.unwrap_or(0);
        self.next_ns =
            self.stream.next().filter(|(_, operation)| budget.take(operation, due_ns)).and_then(|(lane, operation)| {
                each(lane, operation.op);
                let next_ns = self.start_ns + self.schedule.next_ns();
                (next_ns < self.end_ns).then_some(next_ns)
            });
    }
}

impl Arrived {
    /// Counters of all lanes that follow a schedule, within the run's budget.
    pub(crate) fn new(groups: &[GroupSpec], budget: Budget) -> Self {
        let mut counters = Vec::new();
        for group in groups {
            for lane in &group.lanes {
                if let Some(schedule) = &lane.schedule {
                    let mut schedule = schedule.clone();
                    let next_ns = Some(schedule.next_ns());
                    let lane_of = (lane.workload, group.targets[lane.target].plan_index);
                    let stream = Stream::Lane(lane_of, Box::new(lane.operations.clone()));
                    counters.push(Counter { stream, schedule, start_ns: 0, end_ns: u64::MAX, next_ns });
                }
            }
            for job in group.jobs.iter().filter(|job| is_predictable(&job.job)) {
                let Some(mut schedule) = job.schedule.clone() else { continue };
                let start_ns = job.job.start_ns;
                let lanes = group.lanes[job.lanes.clone()]
                    .iter()
                    .map(|lane| ((lane.workload, group.targets[lane.target].plan_index), lane.operations.clone()));
                counters.push(Counter {
                    stream: Stream::Job(Box::new(job.turns.clone()), lanes.collect()),
                    next_ns: Some(start_ns + schedule.next_ns()),
                    schedule,
                    start_ns,
                    end_ns: job.job.elapsed_ns.map_or(u64::MAX, |elapsed| start_ns.saturating_add(elapsed)),
                });
            }
        }
        let first = |(at, counter): (usize, &Counter)| Some(Reverse((counter.next_ns?, at)));
        let order = counters.iter().enumerate().filter_map(first).collect();
        Self { counters, budget, order }
    }

    /// Counts everything that was due up to `until_ns` of the run.
    pub(crate) fn advance(&mut self, until_ns: u64, mut each: impl FnMut((usize, usize), Op)) {
        if !self.budget.is_limited() {
            for counter in &mut self.counters {
                while counter.next_ns.is_some_and(|due_ns| due_ns <= until_ns) {
                    counter.step(&self.budget, &mut each);
                }
            }
            return;
        }
        while let Some(Reverse((due_ns, at))) = self.order.peek().copied() {
            if due_ns > until_ns || self.budget.is_spent() {
                break;
            }
            self.order.pop();
            self.counters[at].step(&self.budget, &mut each);
            self.order.extend(self.counters[at].next_ns.map(|next_ns| Reverse((next_ns, at))));
        }
    }
}
