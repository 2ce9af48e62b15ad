//! Decides what the jobs of a group issue next: workloads with slots, start, pace and end of their own.
//!
//! Each job is looked at as a whole: has it begun, may it go on, is a slot free, is something due? What one job waits
//! for does not hold up another. No I/O and no clock in here.

use crate::budget::Budget;
use crate::cache::Cached;
use crate::fates::{Failed, Fates, JobFault};
use crate::group::{JobSpec, LaneSpec};
use crate::scheduler::{Issue, Next};
use crate::stats::RawFailure;
use plan::generate::{Op, Operation};
use plan::{Flow, LatencyGoal, Think};
use std::collections::VecDeque;
use std::sync::Arc;

/// How long a job that waits for others sleeps before it looks again, ns.
const LOOK_NS: u64 = 1_000_000;
/// Operations of a job before another one gets a look in the same batch.
const IN_A_ROW: u32 = 8;

/// What a job may do now.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ready {
    /// Issue an operation that was due then.
    Due(u64),
    At(u64),
    Blocked,
    Ended,
}

/// A job under way.
#[derive(Debug)]
struct Job {
    spec: JobSpec,
    in_flight: u32,
    /// Closed loop: due times of free slots, earliest first.
    free: VecDeque<u64>,
    /// Open loop: when the next operation is due.
    next_due_ns: u64,
    /// When the next one of each kind that has a rate of its own is due.
    kind_due_ns: [u64; 4],
    began_ns: Option<u64>,
    ended: bool,
    /// All slots were in use and too few are free to begin again.
    draining: bool,
    pause: Pause,
    /// Operations since the last pause.
    since_pause: u32,
    /// When the last pause ended.
    paused_ns: u64,
    issued: u64,
    /// Of `issued`, those that were handed over, and those that had come back when it was last looked.
    handed_over: u64,
    came_back: u64,
    /// When the last one came back.
    returned_ns: u64,
    /// When nothing more was to be issued.
    end_ns: u64,
    /// It had something due, and others of its flow came first: when the last of theirs was due, 0 when none came yet.
    held_ns: Option<u64>,
    search: Option<Search>,
    /// Was its last operation a flush?
    is_flushed: bool,
    /// Where no operation begins while one in flight overlaps it.
    apart: Option<Box<Apart>>,
}

/// Keeps operations apart that overlap.
#[derive(Debug, Default)]
struct Apart {
    /// In flight: lane, first byte, and the first behind.
    flying: Vec<(u32, u64, u64)>,
    /// The next operation, which overlaps one of them.
    held: Option<Issue>,
    /// When one of them came back last, ns of the run.
    freed_ns: u64,
}

impl Apart {
    fn overlaps(&self, issue: &Issue) -> bool {
        let Operation { offset, bytes, .. } = issue.operation;
        let end = offset + u64::from(bytes);
        self.flying.iter().any(|(lane, from, to)| *lane == issue.lane && *from < end && offset < *to)
    }

    /// Does the next operation wait?
    fn is_held(&self) -> bool {
        self.held.as_ref().is_some_and(|held| self.overlaps(held))
    }

    /// Lets an operation go, or keeps it until it may.
    fn pass(&mut self, issue: Issue) -> Option<Issue> {
        if self.overlaps(&issue) {
            self.held = Some(issue);
            return None;
        }
        let Operation { offset, bytes, .. } = issue.operation;
        // A flush has no place: it is none that a write at the beginning could be taken for.
        if bytes > 0 {
            self.flying.push((issue.lane, offset, offset + u64::from(bytes)));
        }
        Some(issue)
    }

    fn came_back(&mut self, lane: u32, offset: u64, now_ns: u64) {
        if let Some(at) = self.flying.iter().position(|(own, from, _)| (*own, *from) == (lane, offset)) {
            self.flying.swap_remove(at);
            self.freed_ns = now_ns;
        }
    }
}

/// Where a job is with its pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pause {
    No,
    /// Waits for what is in flight.
    Draining,
    Until(u64),
}

impl Job {
    fn new(spec: JobSpec) -> Self {
        let search = spec.job.latency.map(|goal| Search::new(goal, spec.job.depth));
        let apart = spec.job.keeps_apart.then(Box::default);
        Self {
            spec,
            in_flight: 0,
            free: VecDeque::new(),
            next_due_ns: 0,
            kind_due_ns: [0; 4],
            began_ns: None,
            ended: false,
            draining: false,
            pause: Pause::No,
            since_pause: 0,
            paused_ns: 0,
            issued: 0,
            handed_over: 0,
            came_back: 0,
            returned_ns: 0,
            end_ns: 0,
            held_ns: None,
            search,
            is_flushed: false,
            apart,
        }
    }

    /// Nothing more is to be issued since `end_ns` of the run.
    fn end(&mut self, end_ns: u64) -> Ready {
        self.ended = true;
        self.end_ns = end_ns;
        if self.in_flight == 0 {
            self.tell_end();
        }
        Ready::Ended
    }

    /// Ends before its own limits.
    fn stop(&mut self, now_ns: u64) {
        if !self.ended {
            self.spec.fates.stop(self.spec.workload, now_ns);
            self.end(now_ns);
        }
    }

    /// Others wait for this job's last completion.
    fn tell_end(&self) {
        self.spec.span.end(self.end_ns.max(self.returned_ns).max(self.began_ns.unwrap_or(0)));
        self.spec.fates.drained(self.spec.workload, self.is_flushed);
    }

    /// Time to begin?
    fn begin(&mut self, now_ns: u64) -> Option<Ready> {
        if self.began_ns.is_some() {
            return None;
        }
        let waits = |at: &usize| !self.spec.fates.has_ended(*at);
        if self.spec.job.after.iter().any(waits) {
            return Some(Ready::At(now_ns + LOOK_NS));
        }
        // A delay counts from the start of the run; what waits for others begins when they have ended.
        let start_ns = if self.spec.job.after.is_empty() { self.spec.job.start_ns } else { now_ns };
        if start_ns > now_ns {
            return Some(Ready::At(start_ns));
        }
        self.began_ns = Some(start_ns);
        self.spec.span.begin(start_ns);
        self.spec.fates.begin(self.spec.workload);
        for (due_ns, schedule) in self.kind_due_ns.iter_mut().zip(&mut self.spec.paced) {
            *due_ns = schedule.as_mut().map_or(0, |schedule| start_ns + schedule.next_ns());
        }
        match &self.spec.schedule {
            Some(dues) => self.next_due_ns = start_ns + dues.next_ns(),
            None => self.free = std::iter::repeat_n(start_ns, self.depth() as usize).collect(),
        }
        None
    }

    /// Slots that it may use now.
    fn depth(&self) -> u32 {
        self.search.as_ref().map_or(self.spec.job.depth, |search| search.depth)
    }

    /// What it may do at `now_ns`, other jobs aside.
    fn ready(&mut self, now_ns: u64) -> Ready {
        if self.ended {
            return Ready::Ended;
        }
        if let Some(not_yet) = self.begin(now_ns) {
            return not_yet;
        }
        let ends_ns = self.spec.job.elapsed_ns.map(|elapsed| self.began_ns.unwrap_or(0).saturating_add(elapsed));
        if let Some(ends_ns) = ends_ns.filter(|ends_ns| now_ns >= *ends_ns) {
            return self.end(ends_ns);
        }
        if self.search.as_ref().is_some_and(Search::is_over) {
            return self.end(now_ns);
        }
        let until = |at_ns: u64| Ready::At(ends_ns.map_or(at_ns, |ends_ns| at_ns.min(ends_ns)));
        // Whatever a job waits for: it must look at its own end.
        let blocked = || ends_ns.map_or(Ready::Blocked, Ready::At);
        match self.pause {
            Pause::No => {}
            Pause::Draining if self.in_flight > 0 => return blocked(),
            Pause::Draining => {
                let at_ns = now_ns + self.spec.job.think.map_or(0, |think| think.ns);
                self.pause = Pause::Until(at_ns);
                return until(at_ns);
            }
            Pause::Until(at_ns) if at_ns > now_ns => return until(at_ns),
            Pause::Until(at_ns) => {
                self.pause = Pause::No;
                self.paused_ns = at_ns;
                self.free.iter_mut().for_each(|due_ns| *due_ns = (*due_ns).max(at_ns));
            }
        }
        if self.apart.as_ref().is_some_and(|apart| apart.is_held()) {
            return blocked();
        }
        if self.in_flight >= self.depth() || (self.draining && self.in_flight > self.spec.job.depth_low) {
            self.draining = true;
            return blocked();
        }
        if self.draining && self.spec.job.depth_low + 1 < self.spec.job.depth {
            // Slots that were held back on purpose were not due before.
            self.free.iter_mut().for_each(|due_ns| *due_ns = (*due_ns).max(now_ns));
        }
        self.draining = false;
        if self.spec.schedule.is_some() {
            // What waited for one that it overlaps was due already.
            let held = self.apart.as_ref().and_then(|apart| apart.held.as_ref());
            let due_ns = held.map_or(self.next_due_ns, |held| held.due_ns);
            return if due_ns > now_ns { until(due_ns) } else { Ready::Due(due_ns) };
        }
        self.free.front().map_or_else(blocked, |due_ns| Ready::Due(*due_ns))
    }

    /// Takes the next operation for the slot that is ready; `None` ends the job, or the run when its budget is spent.
    fn take(&mut self, lanes: &mut [LaneSpec], budget: &Budget, (now_ns, mut due_ns): (u64, u64)) -> Option<Issue> {
        if let Some(apart) = &mut self.apart
            && let Some(held) = apart.held.take()
        {
            // Its slot was not due before it could be used; what has a rate was.
            let freed_ns = if self.spec.schedule.is_none() { apart.freed_ns } else { 0 };
            let issue = apart.pass(Issue { due_ns: held.due_ns.max(freed_ns), ..held })?;
            return Some(self.issue(issue));
        }
        let first = self.spec.lanes.start;
        let held = match &self.spec.schedule {
            Some(dues) => dues.held(),
            None => self.kind_due_ns.map(|due_ns| due_ns > now_ns),
        };
        let next = self.spec.turns.next(|at, anew| {
            let lane = lanes.get_mut(first + at)?;
            if anew {
                lane.operations.begin_anew();
                lane.cached.iter().for_each(Cached::begin_pass);
            }
            let operation = lane.operations.next_but(held);
            if lane.operations.has_rewound() {
                lane.cached.iter().for_each(Cached::rewind);
            }
            operation
        });
        let Some((at, operation)) = next else {
            // That there is no other is only seen when its time has come: the last one was the end.
            self.end(0);
            return None;
        };
        let kind = operation.op.index();
        if let Some(schedule) = &mut self.spec.paced[kind] {
            due_ns = std::mem::replace(&mut self.kind_due_ns[kind], self.began_ns.unwrap_or(0) + schedule.next_ns());
        }
        if !budget.take(&operation, due_ns) {
            return None;
        }
        match &mut self.spec.schedule {
            Some(dues) => {
                dues.pass(operation.op);
                self.next_due_ns = self.began_ns.unwrap_or(0) + dues.next_ns();
            }
            None => {
                self.free.pop_front();
            }
        }
        let issue = Issue { lane: u32::try_from(first + at).unwrap_or(u32::MAX), operation, due_ns };
        let issue = match &mut self.apart {
            None => issue,
            Some(apart) => apart.pass(issue)?,
        };
        Some(self.issue(issue))
    }

    /// Counts an operation that is issued.
    #[inline]
    fn issue(&mut self, issue: Issue) -> Issue {
        self.in_flight += 1;
        self.issued += 1;
        self.is_flushed = issue.operation.op == Op::Flush;
        issue
    }

    /// An operation came back, whatever came of it.
    fn came_back(&mut self, lane: u32, offset: u64, now_ns: u64) {
        if let Some(apart) = &mut self.apart {
            apart.came_back(lane, offset, now_ns);
        }
    }

    /// Counts towards the next pause.
    fn count(&mut self, now_ns: u64) {
        let Some(Think { every, busy_ns, .. }) = self.spec.job.think else { return };
        self.since_pause += 1;
        let since_ns = now_ns.saturating_sub(self.paused_ns.max(self.began_ns.unwrap_or(0)));
        if every.is_some_and(|every| self.since_pause >= every) || busy_ns.is_some_and(|busy_ns| since_ns >= busy_ns) {
            self.since_pause = 0;
            self.pause = Pause::Draining;
        }
    }

    /// The plan's number of a lane's target.
    fn target_of(&self, lane: usize) -> usize {
        self.spec.targets.get(lane.saturating_sub(self.spec.lanes.start)).copied().unwrap_or(0)
    }

    fn served(&mut self, issue: &Issue, now_ns: u64, service_ns: u64) {
        let op = issue.operation.op;
        let limits = self.spec.job.end.as_ref().map(|end| end.slowest_ns).unwrap_or_default();
        let Some(Some(limit_ns)) = limits.get(op.index()) else { return };
        if service_ns <= *limit_ns || now_ns < self.spec.warm_ns {
            return;
        }
        let fault = JobFault {
            errno: plan::ETIMEDOUT,
            t_ns: now_ns,
            target: self.target_of(issue.lane as usize),
            op,
            offset: issue.operation.offset,
            bytes: issue.operation.bytes,
            service_ns: Some(service_ns),
        };
        self.spec.fates.too_slow(self.spec.workload, fault);
        self.stop(now_ns);
    }

    fn returned(&mut self, now_ns: u64, service_ns: u64) {
        self.in_flight -= 1;
        self.returned_ns = now_ns;
        if let Some(search) = &mut self.search {
            search.completed(now_ns, service_ns);
        }
        if self.spec.schedule.is_none() {
            // As many slots as there may be: what is more than before is there from now on.
            let held = u32::from(self.apart.as_ref().is_some_and(|apart| apart.held.is_some()));
            let unused = (self.depth().saturating_sub(self.in_flight + held)) as usize;
            self.free.resize(unused, now_ns);
        }
        if self.ended && self.in_flight == 0 {
            self.tell_end();
        }
    }
}

/// The jobs of a group.
#[derive(Debug)]
pub(crate) struct Jobs {
    /// Where jobs may end with others, and how many changes of that have been seen.
    others: Option<(Arc<Fates>, u32)>,
    /// Does any job look at what comes back?
    has_watch: bool,
    jobs: Vec<Job>,
    /// By lane.
    job_of: Vec<usize>,
    /// Whose turn it is, and for how many more operations.
    turn: usize,
    in_a_row: u32,
    in_flight: u32,
    has_flows: bool,
    /// Jobs that issued something since the last hand-over, and that had something come back since the last look; one may stand
    /// there several times.
    busy: Vec<usize>,
    back: Vec<usize>,
}

impl Jobs {
    pub(crate) fn new(specs: Vec<JobSpec>, lanes: usize) -> Self {
        let mut job_of = vec![0; lanes];
        for (number, spec) in specs.iter().enumerate() {
            job_of[spec.lanes.clone()].fill(number);
        }
        let has_flows = specs.iter().any(|spec| spec.job.flow.is_some());
        let fates = specs.first().map(|spec| Arc::clone(&spec.fates)).filter(|fates| fates.takes_along());
        let limits = |spec: &JobSpec| spec.job.end.as_ref().is_some_and(|end| end.slowest_ns != [None; 3]);
        let has_watch = specs.iter().any(|spec| spec.job.keeps_apart || limits(spec));
        let jobs = specs.into_iter().map(Job::new).collect();
        let (busy, back) = (Vec::new(), Vec::new());
        let others = fates.map(|fates| (fates, 0));
        Self { others, has_watch, jobs, job_of, turn: 0, in_a_row: IN_A_ROW, in_flight: 0, has_flows, busy, back }
    }

    /// Ends those that end with others; once per batch.
    #[inline]
    pub(crate) fn look(&mut self, now_ns: u64) {
        let Some((fates, seen)) = &mut self.others else { return };
        let changes = fates.changes();
        if *seen == changes {
            return;
        }
        *seen = changes;
        for job in self.jobs.iter_mut().filter(|job| job.spec.fates.is_told(job.spec.workload)) {
            job.stop(now_ns);
        }
    }

    /// What becomes of the job whose operation failed; [`Jobs::returned`] comes behind.
    #[cold]
    pub(crate) fn failed(&mut self, failure: &RawFailure) -> Failed {
        let at = self.job_of.get(failure.lane).copied();
        let Some(job) = at.and_then(|at| self.jobs.get_mut(at)) else { return Failed::GoesOn };
        if failure.bytes > 0 {
            job.came_back(u32::try_from(failure.lane).unwrap_or(u32::MAX), failure.offset, failure.t_ns);
        }
        let target = job.target_of(failure.lane);
        let failed = job.spec.fates.failed(job.spec.workload, target, failure);
        if matches!(failed, Failed::Stops | Failed::IsFull { stops: true }) {
            job.stop(failure.t_ns);
        }
        failed
    }

    /// An operation came back that did what it should: ends its job when it took too long, and lets others go.
    #[inline]
    pub(crate) fn served(&mut self, issue: &Issue, now_ns: u64, service_ns: u64) {
        if self.has_watch
            && let Some(job) = self.job_of.get(issue.lane as usize).and_then(|at| self.jobs.get_mut(*at))
        {
            if issue.operation.bytes > 0 {
                job.came_back(issue.lane, issue.operation.offset, now_ns);
            }
            job.served(issue, now_ns, service_ns);
        }
    }

    /// The run's end stops all that have not ended.
    pub(crate) fn leave(&self) {
        for job in &self.jobs {
            job.spec.fates.leave(job.spec.workload, job.is_flushed);
        }
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Is a job of the same flow further behind?
    fn is_ahead(&self, at: usize) -> bool {
        let Some(Flow { id, weight }) = self.jobs[at].spec.job.flow.filter(|_| self.has_flows) else { return false };
        let own = self.jobs[at].issued as f64 / weight;
        self.jobs.iter().any(|other| {
            let others = other.spec.job.flow.filter(|flow| flow.id == id && !other.ended && other.began_ns.is_some());
            others.is_some_and(|flow| (other.issued as f64 / flow.weight) < own)
        })
    }

    /// When a job's next operation was due, given the others of its flow; `None` while they come first. A slot that waited
    /// for them was not late.
    fn turn_of(&mut self, at: usize, due_ns: u64, now_ns: u64) -> Option<u64> {
        if !self.has_flows {
            return Some(due_ns);
        }
        let is_ahead = self.is_ahead(at);
        let job = &mut self.jobs[at];
        if is_ahead {
            job.held_ns.get_or_insert(0);
            return None;
        }
        let turn_ns = job.held_ns.take().map(|turn_ns| if turn_ns == 0 { now_ns } else { turn_ns });
        Some(turn_ns.filter(|_| job.spec.schedule.is_none()).map_or(due_ns, |turn_ns| turn_ns.max(due_ns)))
    }

    /// An operation of a job was due: those that it held back come after it.
    fn pass_turn(&mut self, at: usize, due_ns: u64) {
        let Some(own) = self.jobs[at].spec.job.flow.filter(|_| self.has_flows) else { return };
        let is_of_it = |job: &&mut Job| job.spec.job.flow.is_some_and(|flow| flow.id == own.id);
        for job in self.jobs.iter_mut().filter(is_of_it) {
            job.held_ns = job.held_ns.map(|_| due_ns);
        }
    }

    /// What to do at `now_ns` of the run.
    pub(crate) fn next(&mut self, now_ns: u64, lanes: &mut [LaneSpec], budget: &Budget) -> Next {
        if budget.is_spent() {
            return if self.in_flight > 0 { Next::Blocked } else { Next::Ended };
        }
        let (mut soonest, mut alive) = (None::<u64>, false);
        // One more than there are: the first may have used up its row.
        for _ in 0..=self.jobs.len() {
            let at = self.turn;
            let ready = self.jobs.get_mut(at).map_or(Ready::Ended, |job| job.ready(now_ns));
            if let Ready::Due(due_ns) = ready
                && self.in_a_row > 0
                && let Some(due_ns) = self.turn_of(at, due_ns, now_ns)
                && let Some(issue) = self.take(at, now_ns, due_ns, (lanes, budget))
            {
                self.in_a_row -= 1;
                return Next::Issue(issue);
            }
            alive |= self.jobs.get(at).is_some_and(|job| !job.ended);
            if let Ready::At(at_ns) = ready {
                soonest = Some(soonest.map_or(at_ns, |soonest| soonest.min(at_ns)));
            }
            self.turn = if at + 1 >= self.jobs.len() { 0 } else { at + 1 };
            self.in_a_row = if self.has_flows { 1 } else { IN_A_ROW };
        }
        match soonest {
            Some(at_ns) => Next::At(at_ns),
            None if self.in_flight > 0 => Next::Blocked,
            None if alive => Next::At(now_ns),
            None => Next::Ended,
        }
    }

    /// Takes the next operation of a job that has one due.
    fn take(
        &mut self,
        at: usize,
        now_ns: u64,
        due_ns: u64,
        (lanes, budget): (&mut [LaneSpec], &Budget),
    ) -> Option<Issue> {
        let issue = self.jobs[at].take(lanes, budget, (now_ns, due_ns))?;
        self.jobs[at].count(now_ns);
        if self.busy.last() != Some(&at) {
            self.busy.push(at);
        }
        self.pass_turn(at, due_ns);
        self.in_flight += 1;
        Some(issue)
    }

    /// The time is over: the next operation of a job with a rate that was due at `last_due_ns` of the run, if a slot is free.
    pub(crate) fn last(&mut self, last_due_ns: u64, lanes: &mut [LaneSpec], budget: &Budget) -> Option<Next> {
        if budget.is_spent() {
            return None;
        }
        for at in 0..self.jobs.len() {
            if self.jobs[at].spec.schedule.is_some()
                && let Ready::Due(due_ns) = self.jobs[at].ready(last_due_ns)
                && let Some(issue) = self.take(at, last_due_ns, due_ns, (&mut *lanes, budget))
            {
                return Some(Next::Issue(issue));
            }
        }
        None
    }

    /// An operation of `lane` came back at `now_ns`, `service_ns` after its submission.
    pub(crate) fn returned(&mut self, lane: u32, now_ns: u64, service_ns: u64) {
        self.in_flight -= 1;
        let Some(at) = self.job_of.get(lane as usize).copied() else { return };
        if let Some(job) = self.jobs.get_mut(at) {
            job.returned(now_ns, service_ns);
        }
        if self.back.last() != Some(&at) {
            self.back.push(at);
        }
    }

    /// All that was taken is handed over now: tells of each job how many operations that are, and how many it then has in flight.
    #[inline]
    pub(crate) fn handed_over(&mut self, mut each: impl FnMut(usize, u32, u32)) {
        for at in &self.busy {
            let job = &mut self.jobs[*at];
            let count = job.issued - std::mem::replace(&mut job.handed_over, job.issued);
            if count > 0 {
                each(*at, narrow(count), job.in_flight);
            }
        }
        self.busy.clear();
    }

    /// All that was there has been taken back: tells of each job how many operations that were.
    #[inline]
    pub(crate) fn came_back(&mut self, mut each: impl FnMut(usize, u32)) {
        for at in &self.back {
            let job = &mut self.jobs[*at];
            let all = job.issued - u64::from(job.in_flight);
            let count = all - std::mem::replace(&mut job.came_back, all);
            if count > 0 {
                each(*at, narrow(count));
            }
        }
        self.back.clear();
    }
}

/// A number of operations of one batch.
#[inline]
fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Looks for the greatest depth that keeps a service time: doubles until it is too much, then halves the interval.
#[derive(Debug)]
struct Search {
    goal: LatencyGoal,
    depth: u32,
    depth_max: u32,
    /// The greatest depth known to be good, 0: none.
    good: u32,
    /// The smallest known to be too much.
    bad: u32,
    settled: bool,
    window_end_ns: Option<u64>,
    operations: u64,
    slow: u64,
}

impl Search {
    fn new(goal: LatencyGoal, depth_max: u32) -> Self {
        let bad = depth_max.saturating_add(1);
        Self { goal, depth: 1, depth_max, good: 0, bad, settled: false, window_end_ns: None, operations: 0, slow: 0 }
    }

    /// Found, and not to go on?
    fn is_over(&self) -> bool {
        self.settled && !self.goal.run_on
    }

    fn completed(&mut self, now_ns: u64, service_ns: u64) {
        let end_ns = *self.window_end_ns.get_or_insert(now_ns + self.goal.window_ns);
        self.operations += 1;
        self.slow += u64::from(service_ns > self.goal.target_ns);
        if now_ns < end_ns || self.settled {
            return;
        }
        let kept = 1.0 - self.slow as f64 / self.operations as f64;
        if kept >= self.goal.fraction {
            self.good = self.depth;
        } else {
            self.bad = self.depth;
        }
        self.settled = self.good + 1 >= self.bad;
        self.depth = if self.settled {
            self.good.max(1)
        } else if self.bad > self.depth_max {
            self.good.saturating_mul(2).clamp(1, self.depth_max)
        } else {
            u32::midpoint(self.good, self.bad).max(1)
        };
        (self.window_end_ns, self.operations, self.slow) = (None, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::generate::{Geometry, Operations, Part, Turns};
    /// Jobs with a lane each; everything that can be issued at a time, as (lane, due).
    struct Bench(Jobs, Vec<LaneSpec>);

    impl Bench {
        fn new(jobs: Vec<plan::Job>) -> Self {
            let geometry = Geometry { size_bytes: 1 << 30, block_bytes: 512 };
            let (workload, target) = (crate::cost::workload(), crate::cost::target());
            let lane = || crate::cost::lane(Operations::new(&workload, &target, geometry, 1, Part::WHOLE).unwrap());
            let lanes: Vec<LaneSpec> = jobs.iter().map(|_| lane()).collect();
            let fates = Arc::new(Fates::plain(jobs.len()));
            let spec = |(at, job): (usize, plan::Job)| {
                let turns = Turns::new(&job, vec![1 << 30], 1);
                JobSpec {
                    workload: at,
                    lanes: at..at + 1,
                    job,
                    schedule: None,
                    turns,
                    paced: [const { None }; 4],
                    span: Arc::default(),
                    targets: vec![0],
                    warm_ns: 0,
                    fates: Arc::clone(&fates),
                }
            };
            Self(Jobs::new(jobs.into_iter().enumerate().map(spec).collect(), lanes.len()), lanes)
        }

        fn issues(&mut self, now_ns: u64) -> Vec<(u32, u64)> {
            let next = || match self.0.next(now_ns, &mut self.1, &Budget::default()) {
                Next::Issue(issue) => Some((issue.lane, issue.due_ns)),
                _ => None,
            };
            std::iter::from_fn(next).collect()
        }
    }

    #[test]
    fn slots_that_a_search_does_not_use_do_not_age() {
        let goal = LatencyGoal { target_ns: 1_000, window_ns: 100, fraction: 0.9, run_on: true };
        let mut bench = Bench::new(vec![plan::Job { latency: Some(goal), ..plan::Job::new(64) }]);
        assert_eq!(bench.issues(5), [(0, 0)], "it begins with one");
        // The first 100 ns are a window at depth 1, the next at 2, and so on.
        let (mut now_ns, mut most) = (0, 1);
        while most < 16 {
            now_ns += 200;
            bench.0.returned(0, now_ns, 10);
            let issued = bench.issues(now_ns + 3);
            most = most.max(issued.len());
            assert!(issued.iter().all(|(_, due_ns)| *due_ns == now_ns), "at {now_ns}: {issued:?}");
            for _ in 1..issued.len() {
                bench.0.returned(0, now_ns, 10);
            }
            let rest = bench.issues(now_ns);
            assert!(rest.iter().all(|(_, due_ns)| *due_ns == now_ns), "at {now_ns}: {rest:?}");
        }
    }

    #[test]
    fn an_operation_waits_while_one_in_flight_overlaps_it() {
        let mut apart = Apart::default();
        let issue = |lane, offset, bytes| {
            let operation = Operation { op: Op::Write, offset, bytes };
            Issue { lane, operation, due_ns: 1 }
        };
        assert!(apart.pass(issue(0, 4096, 8192)).is_some());
        assert!(apart.pass(issue(0, 12_288, 4096)).is_some(), "beside it");
        assert!(apart.pass(issue(1, 4096, 4096)).is_some(), "another file");
        assert!(apart.pass(issue(0, 8192, 8192)).is_none() && apart.is_held());
        apart.came_back(0, 12_288, 5);
        assert!(apart.is_held(), "the first still overlaps it");
        apart.came_back(0, 4096, 7);
        assert!(!apart.is_held() && apart.freed_ns == 7);
        let held = apart.held.take().unwrap();
        assert!(apart.pass(held).is_some());
        assert!(apart.pass(issue(0, 12_288, 512)).is_none());
    }

    #[test]
    fn a_job_that_waits_for_another_of_its_flow_is_not_late() {
        let job = || plan::Job { flow: Some(Flow { id: 1, weight: 1.0 }), ..plan::Job::new(1) };
        let mut bench = Bench::new(vec![job(), job()]);
        let mut first = bench.issues(0);
        first.sort_unstable();
        assert_eq!(first, [(0, 0), (1, 0)]);
        bench.0.returned(0, 1_000, 1_000);
        assert_eq!(bench.issues(1_100), [(0, 1_000)], "both have had one");
        bench.0.returned(0, 2_000, 1_000);
        assert_eq!(bench.issues(2_100), [], "the other is behind");
        bench.0.returned(1, 9_000, 9_000);
        assert_eq!(bench.issues(9_100), [(1, 9_000), (0, 9_000)]);
    }

    #[test]
    fn a_low_water_mark_refills_all_slots_at_once() {
        let geometry = Geometry { size_bytes: 1 << 30, block_bytes: 512 };
        let (workload, target) = (crate::cost::workload(), crate::cost::target());
        let operations = Operations::new(&workload, &target, geometry, 1, Part::WHOLE).unwrap();
        let mut lanes = vec![crate::cost::lane(operations)];
        let job = plan::Job { depth_low: 1, ..plan::Job::new(4) };
        let fates = Arc::new(Fates::plain(1));
        let turns = Turns::new(&job, vec![1 << 30], 1);
        let spec = JobSpec {
            workload: 0,
            lanes: 0..1,
            job,
            schedule: None,
            turns,
            paced: [const { None }; 4],
            span: Arc::default(),
            targets: vec![0],
            warm_ns: 0,
            fates,
        };
        let mut jobs = Jobs::new(vec![spec], 1);
        let mut issued = |jobs: &mut Jobs, now_ns| {
            std::iter::from_fn(|| match jobs.next(now_ns, &mut lanes, &Budget::default()) {
                Next::Issue(issue) => Some(issue.due_ns),
                _ => None,
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(issued(&mut jobs, 5), [0; 4]);
        for (now_ns, due_ns) in [(10, vec![]), (20, vec![]), (30, vec![31; 3])] {
            jobs.returned(0, now_ns, 1);
            assert_eq!(issued(&mut jobs, now_ns + 1), due_ns);
        }
    }

    #[test]
    fn the_search_finds_the_greatest_depth_that_keeps_the_goal() {
        let goal = LatencyGoal { target_ns: 1000, window_ns: 100, fraction: 0.9, run_on: false };
        for (limit, depth_max) in [(1, 64), (7, 64), (8, 64), (37, 64), (64, 64), (90, 64), (3, 3), (2, 3)] {
            let mut search = Search::new(goal, depth_max);
            let mut now_ns = 0;
            for _ in 0..10_000 {
                now_ns += 7;
                // A device whose service time grows with the depth.
                search.completed(now_ns, 1000 * u64::from(search.depth) / limit);
            }
            assert!(search.is_over(), "{limit} of {depth_max}");
            assert_eq!(u64::from(search.depth), limit.min(u64::from(depth_max)), "of {depth_max}");
        }
    }
}
