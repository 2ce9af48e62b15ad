//! Decides what the jobs of a group issue next: workloads with slots, start, pace and end of their own.
//!
//! Each job is looked at as a whole: has it begun, may it go on, is a slot free, is something due? What one job waits
//! for does not hold up another. No I/O and no clock in here.

mod job;
mod overlap;
mod search;

use crate::budget::Budget;
use crate::failure::RawFailure;
use crate::group_spec::JobSpec;
use crate::issue::{Issue, Next};
use crate::job_status::{Failed, JobStatuses};
use crate::work::Lanes;
use job::{Job, Ready};
use plan::JobFlow;
use std::sync::Arc;

/// Operations of a job before another one gets a look in the same batch.
const IN_A_ROW: u32 = 8;

/// The jobs of a group.
#[derive(Debug)]
pub(crate) struct JobScheduler {
    /// Where jobs may end with others, and how many changes of that have been seen.
    others: Option<(Arc<JobStatuses>, u32)>,
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

impl JobScheduler {
    pub(crate) fn new(specs: Vec<JobSpec>, lanes: usize) -> Self {
        let mut job_of = vec![0; lanes];
        for (number, spec) in specs.iter().enumerate() {
            job_of[spec.lanes.clone()].fill(number);
        }
        let has_flows = specs.iter().any(|spec| spec.job.flow.is_some());
        let statuses = specs.first().map(|spec| Arc::clone(&spec.statuses)).filter(|statuses| statuses.takes_along());
        let limits = |spec: &JobSpec| spec.job.end.as_ref().is_some_and(|end| end.slowest_ns != [None; 3]);
        let has_watch = specs.iter().any(|spec| spec.job.keeps_apart || limits(spec));
        let jobs = specs.into_iter().map(Job::new).collect();
        let (busy, back) = (Vec::new(), Vec::new());
        let others = statuses.map(|statuses| (statuses, 0));
        Self { others, has_watch, jobs, job_of, turn: 0, in_a_row: IN_A_ROW, in_flight: 0, has_flows, busy, back }
    }

    /// Ends those that end with others; once per batch.
    #[inline]
    pub(crate) fn look(&mut self, now_ns: u64) {
        let Some((statuses, seen)) = &mut self.others else { return };
        let changes = statuses.changes();
        if *seen == changes {
            return;
        }
        *seen = changes;
        for job in self.jobs.iter_mut().filter(|job| job.spec.statuses.must_end(job.spec.workload)) {
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
        let failed = job.spec.statuses.failed(job.spec.workload, target, failure);
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
            job.spec.statuses.leave(job.spec.workload, job.is_flushed);
        }
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Is a job of the same flow further behind?
    fn is_ahead(&self, at: usize) -> bool {
        let Some(JobFlow { id, weight }) = self.jobs[at].spec.job.flow.filter(|_| self.has_flows) else { return false };
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
    pub(crate) fn next(&mut self, now_ns: u64, lanes: &mut impl Lanes, budget: &Budget) -> Next {
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
        (lanes, budget): (&mut impl Lanes, &Budget),
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
    pub(crate) fn last(&mut self, last_due_ns: u64, lanes: &mut impl Lanes, budget: &Budget) -> Option<Next> {
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

#[cfg(test)]
mod tests;
