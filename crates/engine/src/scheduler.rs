//! Decides what a group issues next: due times, queue depths, shares. No I/O and no clock in here.
//!
//! Open-loop lanes lie in a heap by their next due time; a lane whose target or own depth is full is parked there until
//! something comes back. In a closed loop every free slot is an arrival at the moment it became free. Closed-loop lanes
//! share by strides: each operation moves its lane on by 1 ÷ share, and the one that is furthest back is next.

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

/// Strides are this ÷ share: whole numbers, precise to a millionth of a share.
const STRIDE: f64 = 1_048_576.0;

#[derive(Debug)]
struct Lane {
    in_flight: u32,
    /// Closed loop: how far it has come.
    pass: u64,
    stride: u64,
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
    /// Where the lane was that came last.
    pass: u64,
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
    /// With fixed shares: all closed-loop lanes by how far they have come.
    shared: BinaryHeap<Reverse<(u64, u32)>>,
    /// Free slots that think: (time, target).
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
        Self { in_flight: 0, pass: stride, stride, ended: false, next_due_ns: 0 }
    }
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
            lanes: specs.iter().map(Lane::new).collect(),
            specs,
            jobs,
            targets: Vec::new(),
            shares_fixed: spec.shares_fixed,
            due: BinaryHeap::new(),
            runnable: BinaryHeap::new(),
            ready: VecDeque::new(),
            shared: BinaryHeap::new(),
            thinking: BinaryHeap::new(),
            last_due_ns: budget.end_ns().map_or(u64::MAX, |end_ns| end_ns.saturating_sub(1)),
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
                if this.shares_fixed {
                    this.shared.push(Reverse((this.lanes[at].pass, lane)));
                }
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

    /// Nothing is issued that becomes due later than `stopped_ns` of the run; free slots of a closed loop are not used again.
    pub(crate) fn end_at(&mut self, stopped_ns: u64) {
        self.last_due_ns = self.last_due_ns.min(stopped_ns);
    }

    /// What to do at `now_ns` of the run.
    pub(crate) fn next(&mut self, now_ns: u64) -> Next {
        if now_ns > self.last_due_ns {
            return self.last();
        }
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

    /// The time is over: only what an open loop had due before is still issued.
    fn last(&mut self) -> Next {
        let next = match &mut self.jobs {
            Some(jobs) => jobs.last(self.last_due_ns, &mut self.specs, &self.budget),
            None if self.open_left > 0 && !self.exhausted => self.next_open(self.last_due_ns),
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
                    let lane_state = &mut self.lanes[lane as usize];
                    self.targets[at].pass = lane_state.pass;
                    lane_state.pass += lane_state.stride;
                    return Some(self.issue(lane, operation, due_ns));
                }
                None if self.exhausted => return None,
                None => self.closed_left -= 1,
            }
        }
        None
    }

    /// The lane of a target that is furthest behind its share and has room.
    fn neediest_of(&self, target: usize) -> Option<u32> {
        let has_room = |lane: &&u32| {
            let at = **lane as usize;
            !self.lanes[at].ended && self.lanes[at].in_flight < self.specs[at].depth
        };
        let lanes = self.targets[target].closed.iter().filter(has_room);
        lanes.min_by_key(|lane| self.lanes[**lane as usize].pass).copied()
    }

    /// The lane of the whole group that is furthest behind; when it or its target is full, nothing is issued.
    fn next_shared(&mut self, now_ns: u64) -> Option<Next> {
        while let Some(Reverse((_, lane))) = self.shared.peek().copied() {
            let (at, target) = (lane as usize, self.specs[lane as usize].target);
            let has_room =
                self.lanes[at].in_flight < self.specs[at].depth && self.targets[target].in_flight < self.depths[target];
            let due_ns = self.targets[target].free.front().copied().filter(|_| has_room)?;
            let taken = self.take(lane, due_ns);
            if taken.is_none() && self.exhausted {
                return None;
            }
            self.shared.pop();
            match taken {
                Some(operation) => {
                    self.targets[target].free.pop_front();
                    self.lanes[at].pass += self.lanes[at].stride;
                    self.shared.push(Reverse((self.lanes[at].pass, lane)));
                    // A slot that waited for its share's turn was not late: it was not due before.
                    return Some(self.issue(lane, operation, due_ns.max(now_ns)));
                }
                None => self.closed_left -= 1,
            }
        }
        None
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
        if self.lanes[at].in_flight == self.specs[at].depth && !self.shares_fixed {
            // It could not have used what it missed while its own depth held it back.
            self.lanes[at].pass = self.lanes[at].pass.max(self.targets[target].pass);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost;
    use crate::group::TargetSlot;
    use plan::generate::{Geometry, Operations, Part, Schedule};

    /// Lanes with these shares and depths on one target.
    fn scheduler(lanes: Vec<LaneSpec>, depth: u32, shares_fixed: bool) -> Scheduler {
        let targets = vec![TargetSlot { plan_index: 0, fd: None, depth }];
        let mut group = GroupSpec { lanes, targets, shares_fixed, ..GroupSpec::empty() };
        Scheduler::new(&mut group, Arc::default())
    }

    fn lane(share: f64, depth: u32) -> LaneSpec {
        let geometry = Geometry { size_bytes: 1 << 30, block_bytes: 512 };
        let operations = Operations::new(&cost::workload(), &cost::target(), geometry, 1, Part::WHOLE).unwrap();
        LaneSpec { share, depth, ..cost::lane(operations) }
    }

    fn issue(scheduler: &mut Scheduler, now_ns: u64) -> Option<u32> {
        match scheduler.next(now_ns) {
            Next::Issue(issue) => Some(issue.lane),
            _ => None,
        }
    }

    #[test]
    fn fixed_shares_leave_the_depth_to_the_target() {
        let mut paced = lane(0.0, u32::MAX);
        paced.schedule = Some(Schedule::new(1e6, &plan::Arrivals::default(), 1, Part::WHOLE).unwrap());
        let mut scheduler = scheduler(vec![paced, lane(0.5, u32::MAX), lane(0.5, u32::MAX)], 6, true);
        let mut in_flight: VecDeque<u32> = std::iter::from_fn(|| issue(&mut scheduler, 3000)).collect();
        for now_ns in 3001..5000 {
            assert_eq!(in_flight.len(), 6, "the target's depth");
            scheduler.returned(in_flight.pop_front().unwrap(), now_ns, 1);
            in_flight.extend(std::iter::from_fn(|| issue(&mut scheduler, now_ns)));
        }
    }

    #[test]
    fn at_the_end_what_was_due_is_still_issued_and_nothing_else() {
        let mut paced = lane(0.0, u32::MAX);
        // One every microsecond.
        let arrivals = plan::Arrivals { gaps: plan::Gaps::Deterministic, ..plan::Arrivals::default() };
        paced.schedule = Some(Schedule::new(1e6, &arrivals, 1, Part::WHOLE).unwrap());
        let mut scheduler = scheduler(vec![paced, lane(1.0, u32::MAX)], 8, false);
        let began: Vec<u32> = std::iter::from_fn(|| issue(&mut scheduler, 10)).collect();
        assert_eq!(began.len(), 8, "full");
        began.iter().for_each(|lane| scheduler.returned(*lane, 5_000, 1));
        scheduler.end_at(5_000);
        let last: Vec<u32> = std::iter::from_fn(|| issue(&mut scheduler, 9_000)).collect();
        assert!(last.iter().all(|lane| *lane == 0) && (4..=6).contains(&last.len()), "{last:?}");
        assert_eq!(scheduler.next(9_000), Next::Blocked);
        last.iter().for_each(|lane| scheduler.returned(*lane, 9_500, 1));
        assert_eq!(scheduler.next(9_500), Next::Ended);
    }

    #[test]
    fn shares_are_exact_at_any_moment() {
        for shares_fixed in [false, true] {
            let shares = [0.5, 0.3, 0.15, 0.05];
            let mut scheduler = scheduler(shares.map(|share| lane(share, u32::MAX)).into(), 4, shares_fixed);
            let mut counts = [0.0; 4];
            for n in 1..20_000 {
                let lane = issue(&mut scheduler, n).unwrap();
                counts[lane as usize] += 1.0;
                scheduler.returned(lane, n, 1);
                for (count, share) in counts.iter().zip(shares) {
                    assert!((count - n as f64 * share).abs() < 2.0, "{counts:?} after {n}");
                }
            }
        }
    }

    #[test]
    fn a_lane_that_was_held_back_by_its_own_depth_does_not_starve_the_others() {
        let mut scheduler = scheduler(vec![lane(0.8, 2), lane(0.2, u32::MAX)], 16, false);
        let mut held = 0;
        // Operations of the first do not come back for a while.
        for n in 0..1000 {
            match issue(&mut scheduler, n) {
                Some(1) => scheduler.returned(1, n, 1),
                Some(_) => held += 1,
                None => panic!("the target has room"),
            }
        }
        assert_eq!(held, 2, "the lane's own depth");
        (0..held).for_each(|_| scheduler.returned(0, 1000, 1));
        let others = (1000..1100).filter(|n| {
            let lane = issue(&mut scheduler, *n).unwrap();
            scheduler.returned(lane, *n, 1);
            lane == 1
        });
        let others = others.count();
        assert!((18..=22).contains(&others), "{others} of 100, a share of 0.2");
    }
}
