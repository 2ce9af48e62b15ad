//! How the jobs of a run end: the thread that sees it writes it here; the workers of all groups read it, and so does the
//! coordinator. Looked at once per batch; written when a job begins or ends, or when an operation fails.

use crate::RunInput;
use crate::failure::RawFailure;
use plan::generate::OperationKind;
use plan::{EIO, ETIMEDOUT, EndScope, JobEnd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use target::TargetKind;

/// How a job ended, or stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobStatus {
    /// The operation that ended it.
    pub fault: Option<JobFault>,
    /// Failed operations that it went on after.
    pub passed_over: u64,
    /// Error number of the first of them.
    pub first_passed_over: Option<i32>,
    /// The device that it was to fill is full.
    pub is_full: bool,
    /// It was ended by the end of this workload.
    pub taken_along_by: Option<usize>,
    /// Its last operation was a flush: nothing is left to make durable.
    pub is_flushed: bool,
    /// Its time had come.
    pub has_begun: bool,
}

/// An operation that ended its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFault {
    /// Error number; [`ETIMEDOUT`](plan::ETIMEDOUT) with `service_ns` when the operation was too slow.
    pub errno: i32,
    /// When it came back, ns of the run.
    pub t_ns: u64,
    /// Index into the plan's targets.
    pub target: usize,
    /// Kind of operation.
    pub op: OperationKind,
    /// Where, bytes.
    pub offset: u64,
    /// How much was asked, bytes.
    pub bytes: u32,
    /// How long it took, when that was too long.
    pub service_ns: Option<u64>,
}

/// One job.
#[derive(Debug, Default)]
struct Fate {
    end: Option<JobEnd>,
    /// Others see its end only when its files have been made durable, which is the coordinator's part.
    waits_for_sync: bool,
    begun: AtomicBool,
    /// It has done its last operation.
    drained: AtomicBool,
    ended: AtomicBool,
    /// It is being said.
    ending: AtomicBool,
    /// Another one's end ends it.
    must_end: AtomicBool,
    /// When it stopped before its own limits, ns of the run; 0: it did not.
    stopped_ns: AtomicU64,
    state: Mutex<JobStatus>,
}

impl Fate {
    fn state(&self) -> MutexGuard<'_, JobStatus> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The statuses of a run's jobs, by workload.
#[derive(Debug, Default)]
pub struct JobStatuses {
    jobs: Vec<Fate>,
    /// Counts how often a job got the order to end.
    changes: AtomicU32,
    ends_all: AtomicBool,
}

impl JobStatuses {
    /// Of a run.
    pub(crate) fn new(input: &RunInput<'_>) -> Self {
        let status = |workload: &plan::Workload| {
            let wishes = |target: &usize| {
                let opened = input.targets.get(*target).and_then(Option::as_ref);
                let flags = workload.open.unwrap_or(input.plan.targets[*target].open);
                flags.fsync_at_end && opened.is_some_and(|opened| opened.writable && opened.kind != TargetKind::Nothing)
            };
            let is_job = workload.job.is_some() && workload.mix.write > 0.0;
            Fate {
                end: workload.job.as_ref().and_then(|job| job.end.clone()),
                waits_for_sync: is_job && workload.targets.iter().any(wishes),
                ..Fate::default()
            }
        };
        Self { jobs: input.run.workloads.iter().map(status).collect(), ..Self::default() }
    }

    /// Without rules; for tests.
    #[cfg(test)]
    pub(crate) fn plain(jobs: usize) -> Self {
        Self { jobs: (0..jobs).map(|_| Fate::default()).collect(), ..Self::default() }
    }

    /// Can the end of one job be the end of others?
    pub(crate) fn takes_along(&self) -> bool {
        self.jobs.iter().any(|status| status.end.as_ref().is_some_and(|end| end.takes_along.is_some()))
    }

    /// How often a job got the order to end.
    #[inline]
    pub(crate) fn changes(&self) -> u32 {
        self.changes.load(Ordering::Acquire)
    }

    /// Is the job to end because another one has?
    pub(crate) fn must_end(&self, job: usize) -> bool {
        self.jobs.get(job).is_some_and(|status| status.must_end.load(Ordering::Acquire))
    }

    /// Has it ended, its files made durable if that belongs to its end?
    pub(crate) fn has_ended(&self, job: usize) -> bool {
        self.jobs.get(job).is_none_or(|status| status.ended.load(Ordering::Acquire))
    }

    /// When it stopped before its own limits, ns of the run.
    pub(crate) fn stopped_ns(&self, job: usize) -> Option<u64> {
        self.jobs.get(job).map(|status| status.stopped_ns.load(Ordering::Acquire)).filter(|at_ns| *at_ns > 0)
    }

    pub(crate) fn begin(&self, job: usize) {
        if let Some(status) = self.jobs.get(job) {
            status.begun.store(true, Ordering::Release);
        }
    }

    /// It stopped at `now_ns` of the run, before its own limits.
    pub(crate) fn stop(&self, job: usize, now_ns: u64) {
        if let Some(status) = self.jobs.get(job) {
            let _ = status.stopped_ns.compare_exchange(0, now_ns.max(1), Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// All of its operations have come back, and there will be no more. `is_flushed`: the last one was a flush.
    pub(crate) fn drained(&self, job: usize, is_flushed: bool) {
        let Some(status) = self.jobs.get(job) else { return };
        if status.drained.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut state = status.state();
        state.is_flushed = is_flushed;
        let is_done = is_flushed || state.fault.is_some() || !status.begun.load(Ordering::Acquire);
        drop(state);
        if is_done || !status.waits_for_sync {
            self.end(job);
        }
    }

    /// Notes the last kind of operation of a job that the run's end stops.
    pub(crate) fn leave(&self, job: usize, is_flushed: bool) {
        if let Some(status) = self.jobs.get(job).filter(|status| !status.drained.load(Ordering::Acquire)) {
            status.state().is_flushed = is_flushed;
        }
    }

    /// An operation failed on plan's target `target`: is the job to go on after it?
    #[cold]
    pub(crate) fn failed(&self, job: usize, target: usize, failure: &RawFailure) -> Failed {
        let Some((status, end)) = self.jobs.get(job).and_then(|status| Some((status, status.end.as_ref()?))) else {
            return Failed::GoesOn;
        };
        let errno = match failure.result {
            result if result < 0 => -result,
            0 => EIO,
            // The rest of it is what comes next, and fails then.
            _ if end.fills_device && failure.op == OperationKind::Write => return Failed::IsFull { stops: false },
            _ => return Failed::GoesOn,
        };
        let mut state = status.state();
        if end.passes_over(failure.op == OperationKind::Read, errno) {
            state.passed_over += 1;
            state.first_passed_over.get_or_insert(errno);
            return Failed::GoesOn;
        }
        if end.is_full(errno) {
            state.is_full = true;
            return Failed::IsFull { stops: true };
        }
        let RawFailure { t_ns, op, offset, bytes, .. } = *failure;
        state.fault.get_or_insert(JobFault { errno, t_ns, target, op, offset, bytes, service_ns: None });
        Failed::Stops
    }

    /// An operation took longer than the job allows.
    #[cold]
    pub(crate) fn too_slow(&self, job: usize, fault: JobFault) {
        if let Some(status) = self.jobs.get(job) {
            status.state().fault.get_or_insert(JobFault { errno: ETIMEDOUT, ..fault });
        }
    }

    /// The job has ended, and with it those that it takes along.
    fn end(&self, job: usize) {
        let Some(status) = self.jobs.get(job) else { return };
        if status.ending.swap(true, Ordering::AcqRel) {
            return;
        }
        self.take_along(job, status);
        // Those that wait for it see it only now: one that is to end with it must not begin before.
        status.ended.store(true, Ordering::Release);
    }

    fn take_along(&self, job: usize, status: &Fate) {
        let Some(end) = status.end.as_ref().filter(|_| status.begun.load(Ordering::Acquire)) else { return };
        let has_failed = status.state().fault.is_some();
        let Some(along) = end.takes_along.filter(|along| !along.only_failed || has_failed) else { return };
        for (_, status) in self.jobs.iter().enumerate().filter(|(other, _)| *other != job) {
            let is_meant = match along.reach {
                EndScope::Group => status.end.as_ref().is_some_and(|of_other| of_other.group == end.group),
                EndScope::Running => status.begun.load(Ordering::Acquire),
                EndScope::All => true,
            };
            if is_meant && !status.drained.load(Ordering::Acquire) && !status.must_end.swap(true, Ordering::AcqRel) {
                status.state().taken_along_by = Some(job);
            }
        }
        if along.reach == EndScope::All {
            self.ends_all.store(true, Ordering::Release);
        }
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Jobs whose files are to be made durable before others see that they have ended: [`JobStatuses::synced`] says that they are.
    #[must_use]
    pub fn unsynced(&self) -> Vec<usize> {
        let waits = |status: &Fate| {
            status.waits_for_sync && status.drained.load(Ordering::Acquire) && !status.ended.load(Ordering::Acquire)
        };
        self.jobs.iter().enumerate().filter(|(_, status)| waits(status)).map(|(job, _)| job).collect()
    }

    /// The files of a job are durable, or cannot be made so.
    pub fn synced(&self, job: usize) {
        self.end(job);
    }

    /// The run is over, and so are all of its jobs that began.
    pub fn close(&self) {
        let begun = |job: &usize| self.jobs[*job].begun.load(Ordering::Acquire);
        (0..self.jobs.len()).filter(begun).for_each(|job| self.end(job));
    }

    /// Did a job end that takes along all runs behind its own?
    #[must_use]
    pub fn ends_all(&self) -> bool {
        self.ends_all.load(Ordering::Acquire)
    }

    /// How a workload's job ended.
    #[must_use]
    pub fn of(&self, job: usize) -> JobStatus {
        let of =
            |status: &Fate| JobStatus { has_begun: status.begun.load(Ordering::Acquire), ..status.state().clone() };
        self.jobs.get(job).map(of).unwrap_or_default()
    }
}

/// What becomes of a job after a failed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// Nothing.
    GoesOn,
    /// It ends.
    Stops,
    /// The device that it fills has no more room, which is no failure.
    IsFull {
        /// Nothing more will fit.
        stops: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{ENOSPC, TakesAlong};

    fn statuses(ends: Vec<JobEnd>) -> JobStatuses {
        let jobs = ends.into_iter().map(|end| Fate { end: Some(end), ..Fate::default() }).collect();
        JobStatuses { jobs, ..JobStatuses::default() }
    }

    fn failure(op: OperationKind, result: i32) -> RawFailure {
        RawFailure { t_ns: 7, lane: 0, op, offset: 4096, bytes: 4096, result, at: None }
    }

    #[test]
    fn the_end_of_a_job_reaches_its_group_those_that_run_or_all() {
        let along = |reach, only_failed| Some(TakesAlong { reach, only_failed });
        for (takes_along, expected) in [
            (None, [false; 3]),
            (along(EndScope::Group, false), [true, false, false]),
            (along(EndScope::Running, false), [false, true, false]),
            (along(EndScope::All, false), [true; 3]),
            (along(EndScope::All, true), [false; 3]),
        ] {
            let end = |group| JobEnd { group, ..JobEnd::default() };
            let statuses = statuses(vec![JobEnd { takes_along, ..end(0) }, end(0), end(1), end(1)]);
            statuses.begin(0);
            statuses.begin(2);
            statuses.drained(0, false);
            assert_eq!([1, 2, 3].map(|job| statuses.must_end(job)), expected, "{takes_along:?}");
            assert_eq!(statuses.ends_all(), expected == [true; 3]);
            assert_eq!(statuses.changes() > 0, expected != [false; 3]);
        }
    }

    #[test]
    fn a_job_with_an_error_takes_along_where_only_errors_do() {
        let takes_along = Some(TakesAlong { reach: EndScope::Group, only_failed: true });
        let statuses = statuses(vec![JobEnd { takes_along, ..JobEnd::default() }, JobEnd::default()]);
        statuses.begin(0);
        assert_eq!(statuses.failed(0, 3, &failure(OperationKind::Write, -5)), Failed::Stops);
        statuses.drained(0, false);
        assert!(statuses.must_end(1) && statuses.of(1).taken_along_by == Some(0));
        assert_eq!(statuses.of(0).fault.map(|fault| (fault.errno, fault.target)), Some((EIO, 3)));
    }

    #[test]
    fn what_is_passed_over_is_counted_and_a_full_device_is_no_error() {
        let passed_over = [vec![EIO], vec![], vec![]];
        let statuses = statuses(vec![JobEnd { passed_over, fills_device: true, ..JobEnd::default() }]);
        assert_eq!(statuses.failed(0, 0, &failure(OperationKind::Read, -5)), Failed::GoesOn);
        // A read of nothing is EIO, as in fio.
        assert_eq!(statuses.failed(0, 0, &failure(OperationKind::Read, 0)), Failed::GoesOn);
        assert_eq!(statuses.failed(0, 0, &failure(OperationKind::Write, 512)), Failed::IsFull { stops: false });
        assert_eq!(statuses.failed(0, 0, &failure(OperationKind::Write, -ENOSPC)), Failed::IsFull { stops: true });
        let found = statuses.of(0);
        assert_eq!((found.passed_over, found.first_passed_over, found.fault), (2, Some(EIO), None));
        assert!(found.is_full);
        assert_eq!(statuses.failed(0, 0, &failure(OperationKind::Write, -5)), Failed::Stops);
    }

    #[test]
    fn others_see_the_end_of_a_job_when_its_files_are_durable() {
        let mut statuses = statuses(vec![JobEnd::default(), JobEnd::default()]);
        statuses.jobs.iter_mut().for_each(|status| status.waits_for_sync = true);
        (0..2).for_each(|job| statuses.begin(job));
        statuses.drained(0, false);
        assert!(!statuses.has_ended(0) && statuses.unsynced() == [0]);
        statuses.synced(0);
        assert!(statuses.has_ended(0) && statuses.unsynced().is_empty());
        statuses.drained(1, true);
        assert!(statuses.has_ended(1), "its last operation was a flush");
    }
}
