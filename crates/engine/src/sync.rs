//! The synchronous engine: threads with pread and pwrite, for targets where io_uring would only hand every request to a
//! worker thread of the kernel, and for systems without io_uring.
//!
//! A group has as many threads as its pools have slots. They share one scheduler; one of the idle ones waits for the
//! next due time, the others for a signal, so that a due time wakes one thread and not all.

use crate::budget::Budget;
use crate::discard;
use crate::failure::RawFailure;
use crate::group::GroupSpec;
use crate::issue::{Issue, Next};
use crate::mapping::Mapping;
use crate::pending::PendingOp;
use crate::scheduler::Scheduler;
use crate::shared::{Control, LAST_CALL_NS, Status};
use crate::stats::{Alike, RawIo, Slot};
use plan::generate::{Operation, OperationKind};
use quantity::clock;
use rustix::fs::{fdatasync, fsync};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest sleep: how late a thread may notice that it is to stop.
const NAP_NS: u64 = 20_000_000;

/// What the threads of a group share.
pub(crate) struct SyncWorkers {
    state: Mutex<State>,
    changed: Condvar,
    /// By target; none for `/dev/null`.
    files: Vec<Option<Arc<OwnedFd>>>,
    /// By lane: targets as memory.
    mappings: Vec<Option<Arc<Mapping>>>,
    stats: Arc<Slot>,
    control: Arc<Control>,
    status: Arc<Status>,
    started_ns: std::sync::OnceLock<u64>,
    transfer_max: usize,
    align: usize,
}

struct State {
    scheduler: Scheduler,
    /// Is a thread waiting for the next due time?
    has_timer: bool,
    threads: u32,
    /// Threads that have begun: each has a slot of its own.
    begun: usize,
    failures_in_a_row: u32,
}

impl SyncWorkers {
    pub(crate) fn new(
        mut group: GroupSpec,
        budget: Arc<Budget>,
        stats: Arc<Slot>,
        control: Arc<Control>,
        status: Arc<Status>,
    ) -> Arc<Self> {
        let threads = group.depth().max(1);
        let files = group.files.iter().map(|file| file.fd.clone()).collect();
        let mappings = group.lanes.iter().map(|lane| lane.mapping.clone()).collect();
        let (transfer_max, align) = (group.transfer_max as usize, group.memory_align as usize);
        let scheduler = Scheduler::new(&mut group, budget);
        Arc::new(Self {
            state: Mutex::new(State { scheduler, has_timer: false, threads, begun: 0, failures_in_a_row: 0 }),
            changed: Condvar::new(),
            files,
            mappings,
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

    fn lock(&self) -> MutexGuard<'_, State> {
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
            if self.control.is_aborted() || stopped_ns.is_some_and(|stopped_ns| now_ns > stopped_ns + LAST_CALL_NS) {
                break;
            }
            stopped_ns.into_iter().for_each(|stopped_ns| state.scheduler.end_at(stopped_ns));
            state.scheduler.look(now_ns);
            match state.scheduler.next(now_ns) {
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

    /// Does one operation without the lock, and records it.
    fn issue<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        issue: &Issue,
        (slot, buffer): (usize, &mut [u8]),
    ) -> MutexGuard<'a, State> {
        let Operation { op, offset, bytes } = issue.operation;
        let buffer = buffer.get_mut(..bytes as usize).unwrap_or_default();
        state.scheduler.fill(issue, buffer);
        let spec = state.scheduler.spec(issue.lane);
        let (file, datasync, discards) = (spec.file, spec.datasync, spec.discards);
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
        let submitted_ns = self.now_ns();
        {
            let mut stats = self.stats.lock();
            stats.submitted(lane, op, issue.due_ns, submitted_ns);
            stats.pending.begin(slot, PendingOp { lane, op, due_ns: issue.due_ns, submitted_ns });
            stats.submit_calls += 1;
            if let Some((job, count, in_flight)) = handed_over {
                stats.job(job).handed_over(count, in_flight);
            }
        }
        let result = match &self.files[file] {
            Some(file) => match (self.mappings.get(lane), op) {
                (Some(Some(mapping)), OperationKind::Read) => mapping.read(offset, buffer),
                (Some(Some(mapping)), OperationKind::Write) => mapping.write(offset, buffer),
                (Some(Some(mapping)), OperationKind::Flush) => mapping.sync(),
                _ => perform(file.as_fd(), issue.operation, buffer, (datasync, discards)),
            },
            None => i32::try_from(bytes).unwrap_or(i32::MAX),
        };
        let now_ns = self.now_ns();
        let is_right = result >= 0
            && (!matches!(op, OperationKind::Read | OperationKind::Write) || result.unsigned_abs() == bytes);
        let failure = RawFailure { t_ns: now_ns, lane, op, offset, bytes, result };
        let failed = (!is_right).then(|| self.lock().scheduler.failed(&failure));
        {
            let mut stats = self.stats.lock();
            stats.pending.end(slot);
            if let Some((job, ..)) = handed_over {
                stats.job(job).came_back(1);
            }
            if let Some(failed) = failed {
                stats.returned_failed(failure, failed);
            } else {
                let due_ns = issue.due_ns;
                let one = Alike { lane, op, due_ns, submitted_ns, count: 1, bytes: u64::from(bytes) };
                stats.completed_alike(&one, now_ns);
                stats.each(RawIo { t_ns: now_ns, due_ns, submitted_ns, offset, lane, bytes, op, priority: None });
            }
        }
        let mut state = self.lock();
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

/// The system call; as io_uring has it: bytes moved, or a negative errno.
fn perform(file: BorrowedFd<'_>, operation: Operation, buffer: &mut [u8], (datasync, discards): (bool, bool)) -> i32 {
    let Operation { op, offset, .. } = operation;
    let moved = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let result = match op {
        OperationKind::Read => rustix::io::pread(file, buffer, offset).map(moved),
        OperationKind::Write => rustix::io::pwrite(file, buffer, offset).map(moved),
        OperationKind::Trim => discard::wait(file, discards, operation).map(|()| 0),
        OperationKind::Flush if datasync => fdatasync(file).map(|()| 0),
        OperationKind::Flush => fsync(file).map(|()| 0),
    };
    result.unwrap_or_else(|error| -error.raw_os_error())
}
