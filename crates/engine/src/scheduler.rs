//! Decides what a group issues next: due times, queue depths, shares. No I/O and no clock in here.
//!
//! Open-loop lanes lie in a heap by their next due time; a lane whose target or own depth is full is parked there until
//! something comes back. In a closed loop every free slot is an arrival at the moment it became free.

use crate::budget::Budget;
use crate::group::{GroupSpec, LaneSpec};
use crate::jobs::Jobs;
use plan::generate::{Op, Operation};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Issue this.
    Issue(Issue),
    /// Nothing before this time of the run.
    At(u64),
    /// Nothing before something comes back.
    Blocked,
    /// Nothing ever more.
    Ended,
}

/// An operation with its lane and due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) lane: u32,
    pub(crate) operation: Operation,
    pub(crate) due_ns: u64,
}

#[derive(Debug)]
struct Lane {
    in_flight: u32,
    credit: f64,
    ended: bool,
    /// Open loop: the due time that is in the heap or parked.
    next_due_ns: u64,
}

#[derive(Debug, Default)]
struct Target {
    in_flight: u32,
    /// Closed loop: due times of free slots that wait to be used, earliest first.
    free: VecDeque<u64>,
    /// Closed-loop lanes of this target.
    closed: Vec<u32>,
    /// Open-loop lanes that are due and found it full.
    parked: Vec<u32>,
    /// Is it in the list of targets with free slots?
    listed: bool,
}

/// The state of a group's load.
#[derive(Debug)]
pub(crate) struct Scheduler {
    specs: Vec<LaneSpec>,
    /// In place of everything below, when the group's workloads are jobs.
    jobs: Option<Jobs>,
    lanes: Vec<Lane>,
    targets: Vec<Target>,
    depths: Vec<u32>,
    shares_fixed: bool,
    /// Open-loop lanes by their next due time.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Open-loop lanes whose time has come, by priority, then due time.
    runnable: BinaryHeap<Reverse<(u32, u64, u32)>>,
    /// Targets with free slots, closed loop.
    ready: VecDeque<u32>,
    /// Free slots that think: (time, target).
    thinking: BinaryHeap<Reverse<(u64, u32)>>,
    budget: Arc<Budget>,
    exhausted: bool,
    in_flight: u32,
    /// Open-loop lanes that can still produce something.
    open_left: usize,
    closed_left: usize,
}

impl Scheduler {
    /// The load of a group; all closed-loop slots are free at time 0.
    pub(crate) fn new(spec: &mut GroupSpec, budget: Arc<Budget>) -> Self {
        let specs = std::mem::take(&mut spec.lanes);
        let jobs = std::mem::take(&mut spec.jobs);
        let jobs = (!jobs.is_empty()).then(|| Jobs::new(jobs, specs.len()));
        let depths: Vec<u32> = spec.targets.iter().map(|target| target.depth).collect();
        let mut targets: Vec<Target> = depths.iter().map(|_| Target::default()).collect();
        let mut this = Self {
            lanes: specs.iter().map(|_| Lane { in_flight: 0, credit: 0.0, ended: false, next_due_ns: 0 }).collect(),
            specs,
            jobs,
            targets: Vec::new(),
            shares_fixed: spec.shares_fixed,
            due: BinaryHeap::new(),
            runnable: BinaryHeap::new(),
            ready: VecDeque::new(),
            thinking: BinaryHeap::new(),
            budget,
            exhausted: false,
            in_flight: 0,
            open_left: 0,
            closed_left: 0,
            depths,
        };
        if this.jobs.is_some() {
            return this;
        }
        for at in 0..this.specs.len() {
            let lane = u32::try_from(at).unwrap_or(u32::MAX);
            if this.specs[at].schedule.is_some() {
                this.open_left += 1;
                this.push_due(lane);
            } else {
                this.closed_left += 1;
                targets[this.specs[at].target].closed.push(lane);
            }
        }
        for (at, target) in targets.iter_mut().enumerate() {
            if !target.closed.is_empty() {
                target.free = std::iter::repeat_n(0, this.depths[at] as usize).collect();
                target.listed = true;
                this.ready.push_back(u32::try_from(at).unwrap_or(u32::MAX));
            }
        }
        this.targets = targets;
        this
    }

    /// The lane's workload-independent facts, for the worker.
    pub(crate) fn spec(&self, lane: u32) -> &LaneSpec {
        &self.specs[lane as usize]
    }

    /// Operations that were issued and have not come back.
    pub(crate) fn in_flight(&self) -> u32 {
        self.jobs.as_ref().map_or(self.in_flight, Jobs::in_flight)
    }

    fn push_due(&mut self, lane: u32) {
        let spec = &mut self.specs[lane as usize];
        if let Some(schedule) = &mut spec.schedule {
            let due_ns = schedule.next_ns();
            self.lanes[lane as usize].next_due_ns = due_ns;
            self.due.push(Reverse((due_ns, lane)));
        }
    }

    /// What to do at `now_ns` of the run.
    pub(crate) fn next(&mut self, now_ns: u64) -> Next {
        if let Some(jobs) = &mut self.jobs {
            return jobs.next(now_ns, &mut self.specs, &self.budget);
        }
        self.exhausted |= self.budget.is_spent();
        if self.exhausted {
            return self.rest();
        }
        if self.open_left > 0
            && let Some(issue) = self.next_open(now_ns)
        {
            return issue;
        }
        if self.closed_left > 0 {
            while let Some(Reverse((at_ns, target))) = self.thinking.peek().copied() {
                if at_ns > now_ns {
                    break;
                }
                self.thinking.pop();
                self.free_slot(target, at_ns);
            }
            if let Some(issue) = self.next_closed(now_ns) {
                return issue;
            }
        }
        self.rest()
    }

    /// Nothing can be issued now: when can something?
    fn rest(&self) -> Next {
        if self.exhausted || (self.open_left == 0 && self.closed_left == 0) {
            return if self.in_flight > 0 { Next::Blocked } else { Next::Ended };
        }
        let due = self.due.peek().map(|Reverse((at_ns, _))| *at_ns);
        let thought = self.thinking.peek().map(|Reverse((at_ns, _))| *at_ns);
        match due.into_iter().chain(thought).min() {
            Some(at_ns) => Next::At(at_ns),
            None if self.in_flight > 0 => Next::Blocked,
            None => Next::Ended,
        }
    }

    /// The most important lane that is due and has room.
    fn next_open(&mut self, now_ns: u64) -> Option<Next> {
        while let Some(Reverse((due_ns, lane))) = self.due.peek().copied() {
            if due_ns > now_ns {
                break;
            }
            self.due.pop();
            self.runnable.push(Reverse((self.specs[lane as usize].priority, due_ns, lane)));
        }
        while let Some(Reverse((_, due_ns, lane))) = self.runnable.pop() {
            let (at, target) = (lane as usize, self.specs[lane as usize].target);
            let full = self.targets[target].in_flight >= self.depths[target]
                || self.lanes[at].in_flight >= self.specs[at].depth;
            if full {
                self.targets[target].parked.push(lane);
                continue;
            }
            match self.take(lane, due_ns) {
                Some(operation) => {
                    self.push_due(lane);
                    return Some(self.issue(lane, operation, due_ns));
                }
                None if self.exhausted => return None,
                None => self.open_left -= 1,
            }
        }
        None
    }

    /// A free slot of a target with the lane that is furthest behind its share.
    fn next_closed(&mut self, now_ns: u64) -> Option<Next> {
        if self.shares_fixed {
            return self.next_shared(now_ns);
        }
        while let Some(target) = self.ready.front().copied() {
            let at = target as usize;
            let lane = if self.targets[at].in_flight < self.depths[at] { self.neediest_of(at) } else { None };
            let (Some(lane), Some(due_ns)) = (lane, self.targets[at].free.front().copied()) else {
                self.ready.pop_front();
                self.targets[at].listed = false;
                continue;
            };
            match self.take(lane, due_ns) {
                Some(operation) => {
                    self.targets[at].free.pop_front();
                    return Some(self.issue(lane, operation, due_ns));
                }
                None if self.exhausted => return None,
                None => self.closed_left -= 1,
            }
        }
        None
    }

    /// The lane of a target that is furthest behind its share and has room; its credit is charged.
    fn neediest_of(&mut self, target: usize) -> Option<u32> {
        let closed = &self.targets[target].closed;
        if let [only] = closed[..] {
            let at = only as usize;
            return (!self.lanes[at].ended && self.lanes[at].in_flight < self.specs[at].depth).then_some(only);
        }
        let mut best: Option<u32> = None;
        let mut total = 0.0;
        for lane in closed {
            let at = *lane as usize;
            if self.lanes[at].ended {
                continue;
            }
            self.lanes[at].credit += self.specs[at].share;
            total += self.specs[at].share;
            let roomy = self.lanes[at].in_flight < self.specs[at].depth;
            if roomy && best.is_none_or(|best| self.lanes[at].credit > self.lanes[best as usize].credit) {
                best = Some(*lane);
            }
        }
        if let Some(lane) = best {
            self.lanes[lane as usize].credit -= total;
        }
        best
    }

    /// The lane of the whole group that is furthest behind; when its target is full, nothing is issued.
    fn next_shared(&mut self, now_ns: u64) -> Option<Next> {
        loop {
            let mut best: Option<usize> = None;
            for (at, lane) in self.lanes.iter().enumerate() {
                let is_closed = self.specs[at].schedule.is_none() && !lane.ended;
                let need = |at: usize| self.lanes[at].credit + self.specs[at].share;
                if is_closed && best.is_none_or(|best| need(at) > need(best)) {
                    best = Some(at);
                }
            }
            let at = best?;
            let target = self.specs[at].target;
            let has_room = self.lanes[at].in_flight < self.specs[at].depth;
            let due_ns = self.targets[target].free.front().copied().filter(|_| has_room)?;
            let lane = u32::try_from(at).unwrap_or(u32::MAX);
            match self.take(lane, due_ns) {
                Some(operation) => {
                    self.targets[target].free.pop_front();
                    let total: f64 = self
                        .specs
                        .iter()
                        .zip(&self.lanes)
                        .filter(|(spec, lane)| spec.schedule.is_none() && !lane.ended)
                        .map(|(spec, _)| spec.share)
                        .sum();
                    for (spec, lane) in self.specs.iter().zip(&mut self.lanes) {
                        if spec.schedule.is_none() && !lane.ended {
                            lane.credit += spec.share;
                        }
                    }
                    self.lanes[at].credit -= total;
                    // A slot that waited for its share's turn was not late: it was not due before.
                    return Some(self.issue(lane, operation, due_ns.max(now_ns)));
                }
                None if self.exhausted => return None,
                None => self.closed_left -= 1,
            }
        }
    }

    /// The lane's next operation, within the budget. The operation comes first: a lane that has ended must not hold a
    /// part of the budget for a moment, in which another worker would find none left and give up.
    #[inline]
    fn take(&mut self, lane: u32, due_ns: u64) -> Option<Operation> {
        let Some(operation) = self.specs[lane as usize].operations.next() else {
            self.lanes[lane as usize].ended = true;
            return None;
        };
        if self.budget.take(&operation, due_ns) {
            return Some(operation);
        }
        self.exhausted = true;
        None
    }

    #[inline]
    fn issue(&mut self, lane: u32, operation: Operation, due_ns: u64) -> Next {
        let target = self.specs[lane as usize].target;
        self.targets[target].in_flight += 1;
        self.lanes[lane as usize].in_flight += 1;
        self.in_flight += 1;
        Next::Issue(Issue { lane, operation, due_ns })
    }

    /// An operation of `lane` came back at `now_ns`, `service_ns` after its submission.
    #[inline]
    pub(crate) fn returned(&mut self, lane: u32, now_ns: u64, service_ns: u64) {
        if let Some(jobs) = &mut self.jobs {
            return jobs.returned(lane, now_ns, service_ns);
        }
        let at = lane as usize;
        let target = self.specs[at].target;
        self.lanes[at].in_flight -= 1;
        self.targets[target].in_flight -= 1;
        self.in_flight -= 1;
        if self.specs[at].schedule.is_none() {
            let slot = u32::try_from(target).unwrap_or(u32::MAX);
            let think_ns = self.specs[at].think_ns;
            if think_ns > 0 {
                self.thinking.push(Reverse((now_ns + think_ns, slot)));
            } else {
                self.free_slot(slot, now_ns);
            }
        }
        // A slot that an open-loop lane held is room for closed-loop lanes again.
        let place = &mut self.targets[target];
        if !place.listed && !place.free.is_empty() {
            place.listed = true;
            self.ready.push_back(u32::try_from(target).unwrap_or(u32::MAX));
        }
        if !self.targets[target].parked.is_empty() {
            self.unpark(target);
        }
    }

    fn free_slot(&mut self, target: u32, at_ns: u64) {
        let slot = &mut self.targets[target as usize];
        slot.free.push_back(at_ns);
        if !slot.listed {
            slot.listed = true;
            self.ready.push_back(target);
        }
    }

    /// Gives the due lanes of a target another chance.
    fn unpark(&mut self, target: usize) {
        for lane in std::mem::take(&mut self.targets[target].parked) {
            let at = lane as usize;
            self.runnable.push(Reverse((self.specs[at].priority, self.lanes[at].next_due_ns, lane)));
        }
    }

    /// Writes the data of a write into `buffer`.
    #[inline]
    pub(crate) fn fill(&mut self, issue: &Issue, buffer: &mut [u8]) {
        if issue.operation.op == Op::Write
            && let Some(content) = &mut self.specs[issue.lane as usize].content
        {
            content.fill(buffer, issue.operation.offset);
        }
    }
}
