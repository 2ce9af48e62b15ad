//! What became due: counted by the coordinator, from copies of the schedules.

use crate::blocks::{BlockLane, Blocks};
use crate::budget::Budget;
use crate::due_times::DueTimes;
use crate::job_status::JobStatuses;
use crate::tree::TreeArrivals;
use crate::waiting::{Arrival, Source, Waiting};
use crate::work::Group;
use plan::generate::{ArrivalSchedule, HeldKinds, Operation, OperationKind, Operations, TargetTurns};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Counts arrivals from copies of the schedules, so that the offered load is known however stuck the workers are.
#[derive(Debug)]
pub(crate) struct Arrived {
    counters: Vec<Counter>,
    /// By group and lane: its counters, several where each is of a kind of its own.
    counter_of: Vec<Vec<Range<usize>>>,
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
    due: Due,
    waiting: Waiting<Due>,
}

/// A copy of a schedule with its operations.
#[derive(Clone, Debug)]
struct Due {
    stream: Stream,
    dues: DueTimes,
    /// When the schedule's time begins, and when it ends.
    start_ns: u64,
    end_ns: u64,
    /// The next due time, not yet counted; `None` when the operations have ended.
    next_ns: Option<u64>,
}

/// The operations that become due.
#[derive(Clone, Debug)]
enum Stream {
    /// Of one workload on one target.
    Lane((usize, usize), Box<Operations>),
    /// Of one workload in one tree.
    Tree(TreeArrivals),
    /// Of a job, by target.
    Job(Box<TargetTurns>, Vec<((usize, usize), Operations)>),
}

impl Stream {
    /// The next one, of none of the kinds that are held back.
    fn next(&mut self, held: HeldKinds) -> Option<((usize, usize), Operation)> {
        match self {
            Self::Lane(lane, operations) => operations.next().map(|operation| (*lane, operation)),
            Self::Tree(arrivals) => Some((arrivals.lane(), arrivals.next())),
            Self::Job(turns, lanes) => {
                let (at, operation) = turns.next(|at, anew| {
                    let (_, operations) = lanes.get_mut(at)?;
                    if anew {
                        operations.begin_anew();
                    }
                    operations.next_but(held)
                })?;
                Some((lanes.get(at)?.0, operation))
            }
        }
    }
}

impl Due {
    /// The job, where it is one.
    fn workload(&self) -> Option<usize> {
        match &self.stream {
            Stream::Lane(..) | Stream::Tree(_) => None,
            Stream::Job(_, lanes) => lanes.first().map(|((workload, _), _)| *workload),
        }
    }

    /// The only kind of its arrivals, where other counters have the others of the same lane.
    fn only(&self) -> Option<OperationKind> {
        match &self.stream {
            Stream::Tree(arrivals) => arrivals.only(),
            _ => None,
        }
    }

    /// When it ended before its limits.
    fn stopped_ns(&self, statuses: &JobStatuses) -> Option<u64> {
        match &self.stream {
            Stream::Tree(arrivals) => arrivals.ended_ns(),
            _ => self.workload().and_then(|job| statuses.stopped_ns(job)),
        }
    }

    /// The arrival that is next, where `grant` lets it be.
    fn step(&mut self, grant: impl FnOnce(&Operation, u64) -> bool) -> Option<Arrival> {
        let due_ns = self.next_ns.take().unwrap_or(0);
        let next = self.stream.next(self.dues.held());
        let (lane, operation) = next.filter(|(_, operation)| grant(operation, due_ns))?;
        self.dues.pass(operation.op);
        let next_ns = self.start_ns + self.dues.next_ns();
        self.next_ns = (next_ns < self.end_ns).then_some(next_ns);
        Some(Arrival { lane, op: operation.op, due_ns })
    }
}

impl Source for Due {
    fn next(&mut self) -> Option<Arrival> {
        self.next_ns?;
        // What is made again was granted before.
        self.step(|_, _| true)
    }
}

impl Counter {
    fn new(stream: Stream, dues: DueTimes, start_ns: u64, end_ns: u64) -> Self {
        let next_ns = Some(start_ns + dues.next_ns());
        Self { due: Due { stream, dues, start_ns, end_ns, next_ns }, waiting: Waiting::default() }
    }

    /// Counts the arrival that is next.
    fn step(&mut self, budget: &Budget, each: &mut impl FnMut((usize, usize), OperationKind)) {
        let is_kept = self.waiting.keeps_all();
        let before = (!is_kept).then(|| self.due.clone());
        if let Some(arrival) = self.due.step(|operation, due_ns| budget.take(operation, due_ns)) {
            each(arrival.lane, arrival.op);
            self.waiting.arrived(arrival, before);
        }
    }
}

impl Arrived {
    /// Counters of all lanes that follow a schedule, within the run's budget.
    pub(crate) fn new(groups: &[Group<Blocks>], budget: Budget) -> Self {
        let (mut counters, mut counter_of) = (Vec::new(), Vec::new());
        for Group { spec: group, lanes: streams, .. } in groups {
            let mut own = vec![0..0; group.lanes.len()];
            for (at, (lane, BlockLane { operations, .. })) in group.lanes.iter().zip(streams).enumerate() {
                if let Some(schedule) = &lane.schedule {
                    let stream = Stream::Lane((lane.workload, lane.target), Box::new(operations.clone()));
                    own[at] = counters.len()..counters.len() + 1;
                    counters.push(Counter::new(stream, DueTimes::mixed(schedule.clone()), 0, u64::MAX));
                }
            }
            for job in group.jobs.iter().filter(|job| is_predictable(&job.job)) {
                let Some(dues) = job.schedule.clone() else { continue };
                let start_ns = job.job.start_ns;
                let lanes = group.lanes[job.lanes.clone()].iter().zip(&streams[job.lanes.clone()]);
                let lanes = lanes.map(|(lane, stream)| ((lane.workload, lane.target), stream.operations.clone()));
                let stream = Stream::Job(Box::new(job.turns.clone()), lanes.collect());
                let end_ns = job.job.elapsed_ns.map_or(u64::MAX, |elapsed| start_ns.saturating_add(elapsed));
                own[job.lanes.clone()].fill(counters.len()..counters.len() + 1);
                counters.push(Counter::new(stream, dues, start_ns, end_ns));
            }
            counter_of.push(own);
        }
        let first = |(at, counter): (usize, &Counter)| Some(Reverse((counter.due.next_ns?, at)));
        let order = counters.iter().enumerate().filter_map(first).collect();
        Self { counters, counter_of, budget, order }
    }

    /// Adds the lanes of trees, which each of so many teams serves; they stand behind the groups.
    pub(crate) fn add_trees(&mut self, lanes: Vec<Vec<(TreeArrivals, ArrivalSchedule)>>, teams: usize) {
        let mut own = Vec::with_capacity(lanes.len());
        for lane in lanes {
            own.push(self.counters.len()..self.counters.len() + lane.len());
            for (arrivals, schedule) in lane {
                let counter = Counter::new(Stream::Tree(arrivals), DueTimes::mixed(schedule), 0, u64::MAX);
                self.order.extend(counter.due.next_ns.map(|next_ns| Reverse((next_ns, self.counters.len()))));
                self.counters.push(counter);
            }
        }
        self.counter_of.extend(std::iter::repeat_n(own, teams));
    }

    /// A lane of a group submitted so many operations of a kind.
    pub(crate) fn submitted(&mut self, group: usize, (lane, op): (usize, OperationKind), count: u64) {
        let counters = self.counter_of.get(group).and_then(|lanes| lanes.get(lane).cloned()).unwrap_or_default();
        let mut counters = self.counters.get_mut(counters).into_iter().flatten();
        if let Some(counter) = counters.find(|counter| counter.due.only().is_none_or(|only| only == op)) {
            counter.waiting.submitted(count);
        }
    }

    /// Nothing more arrives of jobs and trees that stopped before their limits.
    pub(crate) fn stop_jobs(&mut self, statuses: &JobStatuses) {
        for counter in &mut self.counters {
            let Some(stopped_ns) = counter.due.stopped_ns(statuses) else { continue };
            counter.due.end_ns = counter.due.end_ns.min(stopped_ns);
            counter.due.next_ns = counter.due.next_ns.filter(|next_ns| *next_ns < stopped_ns);
        }
    }

    /// Gives everything that arrived and was not submitted, with the end of its job, and forgets it. Where the last
    /// operations of a budget went to another lane than was counted here, as many of this one do not wait.
    pub(crate) fn take_waiting(&mut self, mut each: impl FnMut(Arrival, u64)) {
        let mut elsewhere: u64 = self.counters.iter().map(|counter| counter.waiting.owed()).sum();
        for counter in &mut self.counters {
            let end_ns = counter.due.end_ns;
            counter.waiting.take(|arrival| match elsewhere {
                // What was counted before the end of its job was known did not arrive.
                0 if arrival.due_ns >= end_ns => {}
                0 => each(arrival, end_ns),
                _ => elsewhere -= 1,
            });
        }
    }

    /// Counts everything that was due before `until_ns` of the run.
    pub(crate) fn advance(&mut self, until_ns: u64, mut each: impl FnMut((usize, usize), OperationKind)) {
        if !self.budget.is_limited() {
            for counter in &mut self.counters {
                while counter.due.next_ns.is_some_and(|due_ns| due_ns < until_ns) {
                    counter.step(&self.budget, &mut each);
                }
            }
            return;
        }
        while let Some(Reverse((due_ns, at))) = self.order.peek().copied() {
            if due_ns >= until_ns || self.budget.is_spent() {
                break;
            }
            self.order.pop();
            if self.counters[at].due.next_ns.is_none() {
                continue;
            }
            self.counters[at].step(&self.budget, &mut each);
            self.order.extend(self.counters[at].due.next_ns.map(|next_ns| Reverse((next_ns, at))));
        }
    }
}
