//! The synchronous engine: threads that wait in their calls, for targets where io_uring would only hand every request to a
//! worker thread of the kernel, for systems without io_uring, and for work that is no entry of a queue.
//!
//! A group has as many threads as its pools have slots. They share one scheduler; one of the idle ones waits for the
//! next due time, the others for a signal, so that a due time wakes one thread and not all.

use crate::budget::Budget;
use crate::failure::RawFailure;
use crate::issue::{Issue, Next};
use crate::job_status::Failed;
use crate::pending::PendingOp;
use crate::scheduler::Scheduler;
use crate::shared::{Control, Status};
use crate::stats::{Alike, RawIo, Slot};
use crate::work::Group;
use crate::work::{Hold, Lanes, Outcome, Work};
use plan::generate::Operation;
use quantity::clock;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest sleep: how late a thread may notice that it is to stop.
const NAP_NS: u64 = 20_000_000;

/// What the threads of a group share.
pub(crate) struct SyncWorkers<W: Work> {
    state: Mutex<State<W::Lanes>>,
    changed: Condvar,
    work: W,
    stats: Arc<Slot>,
    control: Arc<Control>,
    status: Arc<Status>,
    started_ns: std::sync::OnceLock<u64>,
    transfer_max: usize,
    align: usize,
}

struct State<L> {
    scheduler: Scheduler,
    lanes: L,
    /// Is a thread waiting for the next due time?
    has_timer: bool,
    threads: u32,
    /// Threads that have begun: each has a slot of its own.
    begun: usize,
    failures_in_a_row: u32,
}

impl<W: Work> SyncWorkers<W> {
    pub(crate) fn new(
        group: Group<W>,
        budget: Arc<Budget>,
        (stats, control, status): (Arc<Slot>, Arc<Control>, Arc<Status>),
    ) -> Arc<Self> {
        let Group { spec: mut group, lanes, work } = group;
        let threads = group.depth().max(1);
        let (transfer_max, align) = (group.transfer_max as usize, group.memory_align as usize);
        let scheduler = Scheduler::new(&mut group, budget);
        Arc::new(Self {
            state: Mutex::new(State { scheduler, lanes, has_timer: false, threads, begun: 0, failures_in_a_row: 0 }),
            changed: Condvar::new(),
            work,
            stats,
            control,
            status,
            started_ns: std::sync::OnceLock::new(),
            transfer_max,
            align: align.max(4096),
        })
    }

    /// Number of threads that the group wants.
    pub(crate) fn threads(&self) -> u32 {
        self.lock().threads
    }

    fn lock(&self) -> MutexGuard<'_, State<W::Lanes>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        clock::now_ns().saturating_sub(self.started_ns.get().copied().unwrap_or(0))
    }

    /// What each thread does.
    pub(crate) fn run(&self, started_ns: u64) {
        let _ = self.started_ns.set(started_ns);
        self.status.begin();
        let mut memory = vec![0_u8; self.transfer_max + self.align];
        let shift = memory.as_ptr().align_offset(self.align);
        let buffer = memory.get_mut(shift..shift + self.transfer_max).unwrap_or_default();
        let mut state = self.lock();
        let slot = state.begun;
        state.begun += 1;
        loop {
            let now_ns = self.now_ns();
            let stopped_ns = self.control.stopped_at_ns();
            if self.control.is_aborted() || self.control.is_over(now_ns) {
                break;
            }
            stopped_ns.into_iter().for_each(|stopped_ns| state.scheduler.end_at(stopped_ns));
            state.scheduler.look(now_ns);
            let State { scheduler, lanes, .. } = &mut *state;
            match scheduler.next(now_ns, lanes) {
                Next::Issue(issue) => state = self.issue(state, &issue, (slot, buffer)),
                Next::Ended => break,
                Next::At(at_ns) if !state.has_timer => {
                    state.has_timer = true;
                    let nap = Duration::from_nanos(at_ns.saturating_sub(now_ns).min(NAP_NS));
                    state = self.changed.wait_timeout(state, nap).unwrap_or_else(PoisonError::into_inner).0;
                    state.has_timer = false;
                }
                Next::At(_) | Next::Blocked => {
                    let nap = Duration::from_nanos(if stopped_ns.is_some() { NAP_NS } else { NAP_NS * 5 });
                    state = self.changed.wait_timeout(state, nap).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        state.threads -= 1;
        if state.threads == 0 {
            state.scheduler.leave();
            self.status.done.store(true, Ordering::Release);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// The steps of an operation before its own time: what is not over is in flight.
    fn ready(&self, issue: &Issue, (slot, buffer): (usize, &mut [u8]), is_held: bool) -> Result<Hold, i32> {
        let (lane, op, due_ns, submitted_ns) = (issue.lane as usize, issue.operation.op, issue.due_ns, self.now_ns());
        self.stats.lock().pending.begin(slot, PendingOp { lane, op, due_ns, submitted_ns });
        self.work.ready(issue, buffer, is_held)
    }

    /// Carries an operation out whose steps before are done, and what comes behind it; what that takes moves its submission, so
    /// that it is no service.
    #[inline]
    fn carry_out(
        &self,
        issue: &Issue,
        buffer: &mut [u8],
        ready: Result<Hold, i32>,
        submitted_ns: &mut u64,
    ) -> (Outcome, u64) {
        let hold = match ready {
            Ok(hold) => hold,
            Err(result) => return (Outcome::Failed(result), self.now_ns()),
        };
        let outcome = self.work.call(issue, buffer);
        let now_ns = self.now_ns();
        let (outcome, is_more) = self.work.settle(issue, buffer, hold, outcome);
        if !is_more {
            return (outcome, now_ns);
        }
        let end_ns = self.now_ns();
        *submitted_ns += end_ns.saturating_sub(now_ns);
        (outcome, end_ns)
    }

    /// Does one operation without the lock, and records it.
    fn issue<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<W::Lanes>>,
        issue: &Issue,
        (slot, buffer): (usize, &mut [u8]),
    ) -> MutexGuard<'a, State<W::Lanes>> {
        let Operation { op, offset, bytes } = issue.operation;
        let buffer = buffer.get_mut(..bytes as usize).unwrap_or_default();
        let is_held = state.lanes.holds(issue);
        state.lanes.prepare(issue, buffer);
        let wants_timer = !state.has_timer && state.threads > 1;
        let pause = state.failures_in_a_row > 64;
        let mut handed_over = None;
        state.scheduler.handed_over(|job, count, in_flight| handed_over = Some((job, count, in_flight)));
        drop(state);
        if wants_timer {
            // Another thread must watch the next due time while this one is busy.
            self.changed.notify_one();
        }
        if pause {
            std::thread::sleep(Duration::from_millis(1));
        }
        let lane = issue.lane as usize;
        let ready =
            if self.work.has_steps(issue) { self.ready(issue, (slot, buffer), is_held) } else { Ok(Hold::Nothing) };
        let mut submitted_ns = self.now_ns();
        {
            let mut stats = self.stats.lock();
            stats.submitted(lane, op, issue.due_ns, submitted_ns);
            stats.pending.begin(slot, PendingOp { lane, op, due_ns: issue.due_ns, submitted_ns });
            stats.submit_calls += 1;
            if let Some((job, count, in_flight)) = handed_over {
                stats.job(job).handed_over(count, in_flight);
            }
        }
        let (outcome, now_ns) = self.carry_out(issue, buffer, ready, &mut submitted_ns);
        let failure = |result| RawFailure { t_ns: now_ns, lane, op, offset, bytes, result, at: None };
        let failed = match outcome {
            Outcome::Failed(result) => Some(self.lock().scheduler.failed(&failure(result))),
            Outcome::Done(_) => None,
        };
        {
            let mut stats = self.stats.lock();
            stats.pending.end(slot);
            if let Some((job, ..)) = handed_over {
                stats.job(job).came_back(1);
            }
            match outcome {
                Outcome::Failed(result) => {
                    stats.returned_failed(failure(result), failed.unwrap_or(Failed::GoesOn));
                }
                Outcome::Done(moved) => {
                    let due_ns = issue.due_ns;
                    let one = Alike { lane, op, due_ns, submitted_ns, count: 1, bytes: moved };
                    stats.completed_alike(&one, now_ns);
                    stats.each(RawIo { t_ns: now_ns, due_ns, submitted_ns, offset, lane, bytes, op, priority: None });
                }
            }
        }
        let mut state = self.lock();
        let is_right = failed.is_none();
        if is_right {
            state.scheduler.served(issue, now_ns, now_ns.saturating_sub(submitted_ns));
        }
        state.failures_in_a_row = if is_right { 0 } else { state.failures_in_a_row.saturating_add(1) };
        state.scheduler.returned(issue.lane, now_ns, now_ns.saturating_sub(submitted_ns));
        // Each comes back by itself, and was counted above.
        state.scheduler.came_back(|_, _| {});
        state
    }
}
