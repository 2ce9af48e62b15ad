//! A job under way: may it begin, may it go on, is a slot free, is something due?

use super::overlap::OverlapSerializer;
use super::search::Search;
use crate::budget::Budget;
use crate::group_spec::JobSpec;
use crate::issue::Issue;
use crate::job_status::JobFault;
use crate::work::Lanes;
use plan::ThinkTime;
use plan::generate::{BLOCK_KINDS, OperationKind};
use std::collections::VecDeque;

/// How long a job that waits for others sleeps before it looks again, ns.
const LOOK_NS: u64 = 1_000_000;

/// What a job may do now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ready {
    /// Issue an operation that was due then.
    Due(u64),
    At(u64),
    Blocked,
    Ended,
}

/// A job under way.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) spec: JobSpec,
    pub(super) in_flight: u32,
    /// Closed loop: due times of free slots, earliest first.
    pub(super) free: VecDeque<u64>,
    /// Open loop: when the next operation is due.
    pub(super) next_due_ns: u64,
    /// When the next one of each kind that has a rate of its own is due.
    pub(super) kind_due_ns: [u64; BLOCK_KINDS],
    pub(super) began_ns: Option<u64>,
    pub(super) ended: bool,
    /// All slots were in use and too few are free to begin again.
    pub(super) draining: bool,
    pub(super) pause: Pause,
    /// Operations since the last pause.
    pub(super) since_pause: u32,
    /// When the last pause ended.
    pub(super) paused_ns: u64,
    pub(super) issued: u64,
    /// Of `issued`, those that were handed over, and those that had come back when it was last looked.
    pub(super) handed_over: u64,
    pub(super) came_back: u64,
    /// When the last one came back.
    pub(super) returned_ns: u64,
    /// When nothing more was to be issued.
    pub(super) end_ns: u64,
    /// It had something due, and others of its flow came first: when the last of theirs was due, 0 when none came yet.
    pub(super) held_ns: Option<u64>,
    pub(super) search: Option<Search>,
    /// Was its last operation a flush?
    pub(super) is_flushed: bool,
    /// Where no operation begins while one in flight overlaps it.
    pub(super) apart: Option<Box<OverlapSerializer>>,
}

/// Where a job is with its pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pause {
    No,
    /// Waits for what is in flight.
    Draining,
    Until(u64),
}

impl Job {
    pub(super) fn new(spec: JobSpec) -> Self {
        let search = spec.job.latency.map(|goal| Search::new(goal, spec.job.depth));
        let apart = spec.job.keeps_apart.then(Box::default);
        Self {
            spec,
            in_flight: 0,
            free: VecDeque::new(),
            next_due_ns: 0,
            kind_due_ns: [0; BLOCK_KINDS],
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
    pub(super) fn end(&mut self, end_ns: u64) -> Ready {
        self.ended = true;
        self.end_ns = end_ns;
        if self.in_flight == 0 {
            self.tell_end();
        }
        Ready::Ended
    }

    /// Ends before its own limits.
    pub(super) fn stop(&mut self, now_ns: u64) {
        if !self.ended {
            self.spec.statuses.stop(self.spec.workload, now_ns);
            self.end(now_ns);
        }
    }

    /// Others wait for this job's last completion.
    pub(super) fn tell_end(&self) {
        self.spec.span.end(self.end_ns.max(self.returned_ns).max(self.began_ns.unwrap_or(0)));
        self.spec.statuses.drained(self.spec.workload, self.is_flushed);
    }

    /// Time to begin?
    pub(super) fn begin(&mut self, now_ns: u64) -> Option<Ready> {
        if self.began_ns.is_some() {
            return None;
        }
        let waits = |at: &usize| !self.spec.statuses.has_ended(*at);
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
        self.spec.statuses.begin(self.spec.workload);
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
    pub(super) fn depth(&self) -> u32 {
        self.search.as_ref().map_or(self.spec.job.depth, |search| search.depth)
    }

    /// What it may do at `now_ns`, other jobs aside.
    pub(super) fn ready(&mut self, now_ns: u64) -> Ready {
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
    pub(super) fn take(
        &mut self,
        lanes: &mut impl Lanes,
        budget: &Budget,
        (now_ns, mut due_ns): (u64, u64),
    ) -> Option<Issue> {
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
        let next = self.spec.turns.next(|at, anew| lanes.choose_for_job(first + at, held, anew));
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
            lanes.refused(first + at);
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
    pub(super) fn issue(&mut self, issue: Issue) -> Issue {
        self.in_flight += 1;
        self.issued += 1;
        self.is_flushed = issue.operation.op == OperationKind::Flush;
        issue
    }

    /// An operation came back, whatever came of it.
    pub(super) fn came_back(&mut self, lane: u32, offset: u64, now_ns: u64) {
        if let Some(apart) = &mut self.apart {
            apart.came_back(lane, offset, now_ns);
        }
    }

    /// Counts towards the next pause.
    pub(super) fn count(&mut self, now_ns: u64) {
        let Some(ThinkTime { every, busy_ns, .. }) = self.spec.job.think else { return };
        self.since_pause += 1;
        let since_ns = now_ns.saturating_sub(self.paused_ns.max(self.began_ns.unwrap_or(0)));
        if every.is_some_and(|every| self.since_pause >= every) || busy_ns.is_some_and(|busy_ns| since_ns >= busy_ns) {
            self.since_pause = 0;
            self.pause = Pause::Draining;
        }
    }

    /// The plan's number of a lane's target.
    pub(super) fn target_of(&self, lane: usize) -> usize {
        self.spec.targets.get(lane.saturating_sub(self.spec.lanes.start)).copied().unwrap_or(0)
    }

    pub(super) fn served(&mut self, issue: &Issue, now_ns: u64, service_ns: u64) {
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
        self.spec.statuses.too_slow(self.spec.workload, fault);
        self.stop(now_ns);
    }

    pub(super) fn returned(&mut self, now_ns: u64, service_ns: u64) {
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
