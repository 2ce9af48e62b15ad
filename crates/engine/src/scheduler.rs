//! Decides what a group issues next: due times, queue depths, shares. No I/O and no clock in here.
//!
//! What limits the operations in flight are pools of slots: those of a target that its lanes share, or a lane's own.
//! Open-loop lanes lie in a heap by their next due time; a lane whose pool is full is parked there until something comes
//! back. In a closed loop every free slot is an arrival at the moment it became free, or, where open-loop lanes had taken
//! the room, at the moment there was room again. Closed-loop lanes share by strides: each operation moves its lane on by
//! 1 ÷ share, and the one that is furthest back is next.

use crate::budget::Budget;
use crate::failure::RawFailure;
use crate::group_spec::{GroupSpec, LaneSpec};
use crate::issue::{Issue, Next};
use crate::job_scheduler::JobScheduler;
use crate::job_status::Failed;
use crate::work::Lanes;
use plan::generate::{ArrivalSchedule, Operation};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// Strides are this ÷ share: whole numbers, precise to a millionth of a share.
const STRIDE: f64 = 1_048_576.0;

#[derive(Debug)]
struct Lane {
    /// Closed loop: how far it has come.
    pass: u64,
    stride: u64,
    /// Open loop: the due time that is in the heap or parked.
    next_due_ns: u64,
}

/// Slots, and what waits for one.
#[derive(Debug)]
struct Pool {
    depth: u32,
    in_flight: u32,
    /// Closed loop: due times of free slots that wait to be used, earliest first.
    free: VecDeque<u64>,
    /// When it was last full, and something came back.
    room_ns: u64,
    /// Closed-loop lanes that use it and have not ended.
    closed: Vec<u32>,
    /// Open-loop lanes that are due and found it full.
    parked: Vec<u32>,
    /// Is it in the list of pools with free slots?
    listed: bool,
}

impl Pool {
    fn new(depth: u32) -> Self {
        let (free, closed, parked) = (VecDeque::new(), Vec::new(), Vec::new());
        Self { depth, in_flight: 0, free, room_ns: 0, closed, parked, listed: false }
    }

    /// When the slot became due that is next; `None` when there is none, or no room.
    fn due_ns(&self) -> Option<u64> {
        let free_ns = self.free.front().copied().filter(|_| self.in_flight < self.depth)?;
        Some(free_ns.max(self.room_ns))
    }
}

/// The state of a group's load.
#[derive(Debug)]
pub(crate) struct Scheduler {
    specs: Vec<LaneSpec>,
    /// In place of everything below, when the group's workloads are jobs.
    jobs: Option<JobScheduler>,
    lanes: Vec<Lane>,
    pools: Vec<Pool>,
    shares_fixed: bool,
    /// Open-loop lanes by their next due time.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Open-loop lanes whose time has come, by priority, then due time.
    runnable: BinaryHeap<Reverse<(u32, u64, u32)>>,
    /// Pools with free slots, closed loop.
    ready: VecDeque<u32>,
    /// With fixed shares: all closed-loop lanes by how far they have come.
    shared: BinaryHeap<Reverse<(u64, u32)>>,
    /// With fixed shares: when the last operation was due; those that come after it were not due before.
    turn_ns: u64,
    /// Free slots that think: (time, pool).
    thinking: BinaryHeap<Reverse<(u64, u32)>>,
    budget: Arc<Budget>,
    exhausted: bool,
    /// What is due later than this, ns of the run, is not issued.
    last_due_ns: u64,
    in_flight: u32,
    /// Open-loop lanes that can still produce something.
    open_left: usize,
    closed_left: usize,
}

impl Lane {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number; saturates")]
    fn new(spec: &LaneSpec) -> Self {
        let stride = (STRIDE / spec.share.max(1e-9)) as u64;
        Self { pass: stride, stride, next_due_ns: 0 }
    }
}

impl Scheduler {
    /// The load of a group; all closed-loop slots are free at time 0.
    pub(crate) fn new(spec: &mut GroupSpec, budget: Arc<Budget>) -> Self {
        let specs = std::mem::take(&mut spec.lanes);
        let jobs = std::mem::take(&mut spec.jobs);
        let jobs = (!jobs.is_empty()).then(|| JobScheduler::new(jobs, specs.len()));
        let mut this = Self {
            lanes: specs.iter().map(Lane::new).collect(),
            specs,
            jobs,
            pools: spec.pools.iter().map(|depth| Pool::new(*depth)).collect(),
            shares_fixed: spec.shares_fixed,
            due: BinaryHeap::new(),
            runnable: BinaryHeap::new(),
            ready: VecDeque::new(),
            shared: BinaryHeap::new(),
            turn_ns: 0,
            thinking: BinaryHeap::new(),
            last_due_ns: budget.end_ns().map_or(u64::MAX, |end_ns| end_ns.saturating_sub(1)),
            budget,
            exhausted: false,
            in_flight: 0,
            open_left: 0,
            closed_left: 0,
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
                this.pools[this.specs[at].pool].closed.push(lane);
                if this.shares_fixed {
                    this.shared.push(Reverse((this.lanes[at].pass, lane)));
                }
            }
        }
        for (at, pool) in this.pools.iter_mut().enumerate().filter(|(_, pool)| !pool.closed.is_empty()) {
            pool.free = std::iter::repeat_n(0, pool.depth as usize).collect();
            pool.listed = true;
            this.ready.push_back(u32::try_from(at).unwrap_or(u32::MAX));
        }
        this
    }

    /// Operations that were issued and have not come back.
    pub(crate) fn in_flight(&self) -> u32 {
        self.jobs.as_ref().map_or(self.in_flight, JobScheduler::in_flight)
    }

    fn push_due(&mut self, lane: u32) {
        let spec = &mut self.specs[lane as usize];
        if let Some(schedule) = &mut spec.schedule {
            let due_ns = schedule.next_ns();
            self.lanes[lane as usize].next_due_ns = due_ns;
            self.due.push(Reverse((due_ns, lane)));
        }
    }

    /// Nothing is issued that becomes due later than `stopped_ns` of the run; free slots of a closed loop are not used again.
    pub(crate) fn end_at(&mut self, stopped_ns: u64) {
        self.last_due_ns = self.last_due_ns.min(stopped_ns);
    }

    /// What to do at `now_ns` of the run; `lanes` has what its lanes do.
    pub(crate) fn next(&mut self, now_ns: u64, lanes: &mut impl Lanes) -> Next {
        if now_ns > self.last_due_ns {
            return self.last(lanes);
        }
        if let Some(jobs) = &mut self.jobs {
            return jobs.next(now_ns, lanes, &self.budget);
        }
        self.exhausted |= self.budget.is_spent();
        if self.exhausted {
            return self.rest();
        }
        if self.open_left > 0
            && let Some(issue) = self.next_open(now_ns, lanes)
        {
            return issue;
        }
        if self.closed_left > 0 {
            while let Some(Reverse((at_ns, pool))) = self.thinking.peek().copied() {
                if at_ns > now_ns {
                    break;
                }
                self.thinking.pop();
                self.free_slot(pool, at_ns);
            }
            if let Some(issue) = self.next_closed(lanes) {
                return issue;
            }
        }
        self.rest()
    }

    /// The time is over: only what an open loop had due before is still issued.
    fn last(&mut self, lanes: &mut impl Lanes) -> Next {
        let next = match &mut self.jobs {
            Some(jobs) => jobs.last(self.last_due_ns, lanes, &self.budget),
            None if self.open_left > 0 && !self.exhausted => self.next_open(self.last_due_ns, lanes),
            None => None,
        };
        next.unwrap_or(if self.in_flight() > 0 { Next::Blocked } else { Next::Ended })
    }

    /// Nothing can be issued now: when can something?
    fn rest(&self) -> Next {
        if self.exhausted || (self.open_left == 0 && self.closed_left == 0) {
            return if self.in_flight > 0 { Next::Blocked } else { Next::Ended };
        }
        let due = self.due.peek().map(|Reverse((at_ns, _))| *at_ns);
        let thought = self.thinking.peek().map(|Reverse((at_ns, _))| *at_ns);
        match due.into_iter().chain(thought).min() {
            // Lanes that had their last.
            Some(at_ns) if at_ns >= ArrivalSchedule::ENDED_NS && self.in_flight == 0 => Next::Ended,
            Some(at_ns) => Next::At(at_ns),
            None if self.in_flight > 0 => Next::Blocked,
            None => Next::Ended,
        }
    }

    /// The most important lane that is due and has room.
    fn next_open(&mut self, now_ns: u64, lanes: &mut impl Lanes) -> Option<Next> {
        while let Some(Reverse((due_ns, lane))) = self.due.peek().copied() {
            if due_ns > now_ns {
                break;
            }
            self.due.pop();
            self.runnable.push(Reverse((self.specs[lane as usize].priority, due_ns, lane)));
        }
        while let Some(Reverse((_, due_ns, lane))) = self.runnable.pop() {
            let pool = &mut self.pools[self.specs[lane as usize].pool];
            if pool.in_flight >= pool.depth {
                pool.parked.push(lane);
                continue;
            }
            match self.take(lane, due_ns, lanes) {
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

    /// A free slot of a pool with the lane that is furthest behind its share.
    fn next_closed(&mut self, lanes: &mut impl Lanes) -> Option<Next> {
        if self.shares_fixed {
            return self.next_shared(lanes);
        }
        while let Some(at) = self.ready.front().map(|pool| *pool as usize) {
            let pool = &self.pools[at];
            let neediest = pool.closed.iter().min_by_key(|lane| self.lanes[**lane as usize].pass).copied();
            let (Some(due_ns), Some(lane)) = (pool.due_ns(), neediest) else {
                self.ready.pop_front();
                self.pools[at].listed = false;
                continue;
            };
            match self.take(lane, due_ns, lanes) {
                Some(operation) => {
                    self.pools[at].free.pop_front();
                    let lane_state = &mut self.lanes[lane as usize];
                    lane_state.pass += lane_state.stride;
                    return Some(self.issue(lane, operation, due_ns));
                }
                None if self.exhausted => return None,
                None => self.end_closed(lane),
            }
        }
        None
    }

    /// The lane of the whole group that is furthest behind; when its pool is full, nothing is issued.
    fn next_shared(&mut self, lanes: &mut impl Lanes) -> Option<Next> {
        while let Some(Reverse((_, lane))) = self.shared.peek().copied() {
            let (at, pool) = (lane as usize, self.specs[lane as usize].pool);
            // A slot that waited for its share's turn was not late: it was not due before.
            let due_ns = self.pools[pool].due_ns()?.max(self.turn_ns);
            let taken = self.take(lane, due_ns, lanes);
            if taken.is_none() && self.exhausted {
                return None;
            }
            self.shared.pop();
            match taken {
                Some(operation) => {
                    self.pools[pool].free.pop_front();
                    self.turn_ns = due_ns;
                    self.lanes[at].pass += self.lanes[at].stride;
                    self.shared.push(Reverse((self.lanes[at].pass, lane)));
                    return Some(self.issue(lane, operation, due_ns));
                }
                None => self.end_closed(lane),
            }
        }
        None
    }

    /// A lane of a closed loop has no more operations.
    fn end_closed(&mut self, lane: u32) {
        self.closed_left -= 1;
        self.pools[self.specs[lane as usize].pool].closed.retain(|other| *other != lane);
    }

    /// The lane's next operation, within the budget. The operation comes first: a lane that has ended must not hold a
    /// part of the budget for a moment, in which another worker would find none left and give up.
    #[inline]
    fn take(&mut self, lane: u32, due_ns: u64, lanes: &mut impl Lanes) -> Option<Operation> {
        let operation = lanes.choose(lane as usize)?;
        if self.budget.take(&operation, due_ns) {
            return Some(operation);
        }
        self.exhausted = true;
        lanes.refused(lane as usize);
        None
    }

    #[inline]
    fn issue(&mut self, lane: u32, operation: Operation, due_ns: u64) -> Next {
        self.pools[self.specs[lane as usize].pool].in_flight += 1;
        self.in_flight += 1;
        Next::Issue(Issue { lane, operation, due_ns })
    }

    /// Sees what has changed since the last batch.
    #[inline]
    pub(crate) fn look(&mut self, now_ns: u64) {
        if let Some(jobs) = &mut self.jobs {
            jobs.look(now_ns);
        }
    }

    /// An operation failed; [`Scheduler::returned`] comes behind.
    #[cold]
    pub(crate) fn failed(&mut self, failure: &RawFailure) -> Failed {
        self.jobs.as_mut().map_or(Failed::GoesOn, |jobs| jobs.failed(failure))
    }

    /// An operation did what it should; [`Scheduler::returned`] comes behind.
    #[inline]
    pub(crate) fn served(&mut self, issue: &Issue, now_ns: u64, service_ns: u64) {
        if let Some(jobs) = &mut self.jobs {
            jobs.served(issue, now_ns, service_ns);
        }
    }

    /// Nothing more is issued.
    pub(crate) fn leave(&self) {
        if let Some(jobs) = &self.jobs {
            jobs.leave();
        }
    }

    /// An operation of `lane` came back at `now_ns`, `service_ns` after its submission.
    #[inline]
    pub(crate) fn returned(&mut self, lane: u32, now_ns: u64, service_ns: u64) {
        if let Some(jobs) = &mut self.jobs {
            return jobs.returned(lane, now_ns, service_ns);
        }
        let LaneSpec { pool: at, think_ns, .. } = self.specs[lane as usize];
        let is_closed = self.specs[lane as usize].schedule.is_none();
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        let pool = &mut self.pools[at];
        if pool.in_flight == pool.depth {
            pool.room_ns = now_ns;
        }
        pool.in_flight -= 1;
        self.in_flight -= 1;
        if is_closed && think_ns > 0 {
            self.thinking.push(Reverse((now_ns + think_ns, number)));
        } else if is_closed {
            pool.free.push_back(now_ns);
        }
        // A slot that an open-loop lane held is room for closed-loop lanes again.
        if !pool.listed && !pool.free.is_empty() {
            pool.listed = true;
            self.ready.push_back(number);
        }
        if !self.pools[at].parked.is_empty() {
            self.unpark(at);
        }
    }

    /// All that was given by [`Scheduler::next`] is handed over now: tells of each job, by its number in the group, how many operations
    /// that are and how many it then has in flight.
    #[inline]
    pub(crate) fn handed_over(&mut self, each: impl FnMut(usize, u32, u32)) {
        if let Some(jobs) = &mut self.jobs {
            jobs.handed_over(each);
        }
    }

    /// After [`Scheduler::returned`] has taken all that came back: gives each job the number of its own operations.
    #[inline]
    pub(crate) fn came_back(&mut self, each: impl FnMut(usize, u32)) {
        if let Some(jobs) = &mut self.jobs {
            jobs.came_back(each);
        }
    }

    /// A slot has thought.
    fn free_slot(&mut self, number: u32, at_ns: u64) {
        let pool = &mut self.pools[number as usize];
        pool.free.push_back(at_ns);
        if !pool.listed {
            pool.listed = true;
            self.ready.push_back(number);
        }
    }

    /// Gives the due lanes of a pool another chance.
    fn unpark(&mut self, pool: usize) {
        for lane in std::mem::take(&mut self.pools[pool].parked) {
            let at = lane as usize;
            self.runnable.push(Reverse((self.specs[at].priority, self.lanes[at].next_due_ns, lane)));
        }
    }
}

#[cfg(test)]
mod tests;
