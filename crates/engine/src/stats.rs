//! What a worker records, and how the coordinator takes it away.
//!
//! Each worker fills one [`Buffer`]. At a harvest the coordinator puts an empty one in its place; the lock around it is
//! taken once per batch and held by the coordinator for the length of a swap, so it never waits for I/O on either side.

use crate::failure::RawFailure;
use crate::job_counts::JobStat;
use crate::job_status::Failed;
use crate::pending::{Pending, PendingOp};
use crate::shared::Control;
use plan::generate::OperationKind;
use quantity::histogram::HistogramRecorder;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tree_load::{Begun, Done, Logged, ThreadLog};

/// Failed operations kept with their place, per worker and interval; the others are only counted.
const FAILURES_KEPT: usize = 16;

/// What one kind of operation of one lane did.
#[derive(Debug, Default)]
pub(crate) struct OpStat {
    pub(crate) response: HistogramRecorder,
    pub(crate) service: HistogramRecorder,
    /// Submission − due, of what was submitted.
    pub(crate) wait: HistogramRecorder,
    pub(crate) bytes: u64,
    pub(crate) errors: u64,
    /// Of them, transfers that moved less than was asked.
    pub(crate) short: u64,
    /// Its time is that of the run.
    pub(crate) first_error: Option<FirstError>,
    /// Came back without having been done, as they should: a device that was to be filled is full.
    pub(crate) unfit: u64,
    /// Submitted, and the sum of their times since the run's start: with the same of completions, the integral of the
    /// number in flight is exact without looking at a clock in between.
    pub(crate) submitted: u64,
    pub(crate) submitted_at: u128,
    pub(crate) returned: u64,
    pub(crate) returned_at: u128,
}

/// The first operation of a kind, workload and target that failed in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FirstError {
    /// When it came back, `CLOCK_MONOTONIC`, ns.
    pub t_ns: u64,
    /// What the kernel said: an errno; `EIO` for a transfer that was too short.
    pub errno: i32,
}

/// Operations that are kept one by one, per worker and harvest; what is above is counted as lost.
const IOS_KEPT: usize = 1 << 18;

/// One operation that succeeded, where each is asked for; times of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawIo {
    pub(crate) t_ns: u64,
    pub(crate) due_ns: u64,
    pub(crate) submitted_ns: u64,
    pub(crate) offset: u64,
    pub(crate) lane: usize,
    pub(crate) bytes: u32,
    pub(crate) op: OperationKind,
    /// Where it is not the job's.
    pub(crate) priority: Option<u16>,
}

/// Operations of one batch that were due, submitted and completed at the same times: one clock read serves a batch, so
/// most of a batch can be recorded at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alike {
    pub(crate) lane: usize,
    pub(crate) op: OperationKind,
    pub(crate) due_ns: u64,
    pub(crate) submitted_ns: u64,
    pub(crate) count: u32,
    pub(crate) bytes: u64,
}

impl Alike {
    /// Adds one operation of `other`, if it is like these.
    #[inline]
    pub(crate) fn absorb(&mut self, other: &Self) -> bool {
        let same = (self.due_ns, self.submitted_ns, self.lane, self.op)
            == (other.due_ns, other.submitted_ns, other.lane, other.op);
        if same {
            self.count += other.count;
            self.bytes += other.bytes;
        }
        same
    }
}

/// Steps of one kind of one lane.
#[derive(Debug, Default)]
pub(crate) struct StepStat {
    pub(crate) ops: u64,
    pub(crate) bytes: u64,
    pub(crate) errors: u64,
    pub(crate) service: HistogramRecorder,
}

impl StepStat {
    /// One more: what it moved, or that it failed, and how long it took, ns.
    pub(crate) fn note(&mut self, moved: Result<u64, ()>, service_ns: u64) {
        match moved {
            Ok(bytes) => {
                self.ops += 1;
                self.bytes += bytes;
                self.service.record_n(service_ns, 1);
            }
            Err(()) => self.errors += 1,
        }
    }
}

/// Everything of one interval of one worker.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    /// The kinds of operation that its lanes do, neighbours in the catalogue.
    kinds: &'static [OperationKind],
    /// By lane, then by its kinds; made at first use.
    stats: Vec<Option<Box<OpStat>>>,
    /// Which of them were touched since the last clear.
    touched: Vec<usize>,
    /// The same of what operations need besides; made at first use.
    steps: Vec<Option<Box<StepStat>>>,
    /// By the group's number of the job; made at first use.
    pub(crate) jobs: Vec<JobStat>,
    pub(crate) failures: Vec<RawFailure>,
    /// Of which lanes every operation is kept; empty where of none.
    each: Vec<bool>,
    /// Who ends the run when too many operations fail.
    control: Option<Arc<Control>>,
    /// Those, and how many had no room.
    pub(crate) ios: Vec<RawIo>,
    pub(crate) ios_lost: u64,
    /// Belongs to the worker and not to an interval: it stays when buffers are exchanged.
    pub(crate) pending: Pending,
    pub(crate) timestamp_age_ns_max: u64,
    pub(crate) submit_calls: u64,
    pub(crate) wakeups: u64,
}

impl Buffer {
    /// For so many lanes that do these kinds of operation.
    pub(crate) fn new(lanes: usize, kinds: &'static [OperationKind]) -> Self {
        let count = lanes * kinds.len();
        let mut buffer = Self { kinds, touched: Vec::with_capacity(count), ..Self::default() };
        buffer.stats.resize_with(count, Default::default);
        buffer.failures.reserve(FAILURES_KEPT);
        buffer
    }

    /// Keeps every operation of these lanes from now on.
    pub(crate) fn keep_each(&mut self, lanes: &[bool]) {
        if lanes.contains(&true) {
            self.each = lanes.to_vec();
            self.ios.reserve_exact(IOS_KEPT);
        }
    }

    /// Tells of each failure from now on.
    pub(crate) fn tell(&mut self, control: &Arc<Control>) {
        self.control = Some(Arc::clone(control));
    }

    /// Notes one operation that succeeded, if each of its lane is asked for.
    #[inline]
    pub(crate) fn each(&mut self, io: RawIo) {
        if !self.each.is_empty() {
            self.keep(io);
        }
    }

    fn keep(&mut self, io: RawIo) {
        if !self.each.get(io.lane).copied().unwrap_or(false) || io.op == OperationKind::Flush {
            return;
        }
        if self.ios.len() < IOS_KEPT {
            self.ios.push(io);
        } else {
            self.ios_lost += 1;
        }
    }

    /// The statistics of one kind of operation of a lane.
    #[inline]
    pub(crate) fn stat(&mut self, lane: usize, op: OperationKind) -> &mut OpStat {
        let place = lane * self.kinds.len() + op.index() - self.kinds.first().map_or(0, |first| first.index());
        let slot = &mut self.stats[place];
        if slot.is_none() {
            *slot = Some(Box::default());
        }
        let stat = slot.get_or_insert_with(Box::default);
        if stat.submitted == 0 && stat.returned == 0 {
            self.touched.push(place);
        }
        stat
    }

    /// The steps of one kind of a lane.
    pub(crate) fn step(&mut self, lane: usize, op: OperationKind) -> &mut StepStat {
        let place = lane * self.kinds.len() + op.index() - self.kinds.first().map_or(0, |first| first.index());
        if self.steps.is_empty() {
            self.steps.resize_with(self.stats.len(), Default::default);
        }
        self.steps[place].get_or_insert_with(Box::default)
    }

    /// Visits all steps, then forgets their values but keeps the memory.
    pub(crate) fn drain_steps(&mut self, mut visit: impl FnMut(usize, OperationKind, &StepStat)) {
        for (place, step) in self.steps.iter_mut().enumerate() {
            let Some(step) = step.as_mut().filter(|step| step.ops + step.errors > 0) else { continue };
            visit(place / self.kinds.len(), self.kinds[place % self.kinds.len()], step);
            step.service.clear();
            (step.ops, step.bytes, step.errors) = (0, 0, 0);
        }
    }

    /// What is counted of a job beside its operations.
    #[inline]
    pub(crate) fn job(&mut self, job: usize) -> &mut JobStat {
        if job >= self.jobs.len() {
            self.jobs.resize_with(job + 1, JobStat::default);
        }
        &mut self.jobs[job]
    }

    /// Notes one submission; the worker's own form of [`Buffer::submitted_alike`].
    #[inline]
    pub(crate) fn submitted(&mut self, lane: usize, op: OperationKind, due_ns: u64, at_ns: u64) {
        self.submitted_alike(&Alike { lane, op, due_ns, submitted_ns: at_ns, count: 1, bytes: 0 });
    }

    /// Notes submissions that were due at the same time and share a stamp.
    #[inline]
    pub(crate) fn submitted_alike(&mut self, alike: &Alike) {
        let stat = self.stat(alike.lane, alike.op);
        stat.submitted += u64::from(alike.count);
        stat.submitted_at += u128::from(alike.submitted_ns) * u128::from(alike.count);
        stat.wait.record_n(alike.submitted_ns.saturating_sub(alike.due_ns), alike.count);
    }

    /// Notes completions at `now_ns` that share due time and stamp of submission: their times are the same.
    #[inline]
    pub(crate) fn completed_alike(&mut self, alike: &Alike, now_ns: u64) {
        let stat = self.stat(alike.lane, alike.op);
        stat.returned += u64::from(alike.count);
        stat.returned_at += u128::from(now_ns) * u128::from(alike.count);
        stat.bytes += alike.bytes;
        stat.response.record_n(now_ns.saturating_sub(alike.due_ns), alike.count);
        stat.service.record_n(now_ns.saturating_sub(alike.submitted_ns), alike.count);
    }

    /// Notes one operation that was submitted and has completed at `now_ns`: as [`Buffer::submitted`] and [`Buffer::completed_alike`].
    #[inline]
    pub(crate) fn done_alone(&mut self, one: &Alike, now_ns: u64) {
        let stat = self.stat(one.lane, one.op);
        stat.submitted += 1;
        stat.submitted_at += u128::from(one.submitted_ns);
        stat.returned += 1;
        stat.returned_at += u128::from(now_ns);
        stat.bytes += one.bytes;
        stat.wait.record(one.submitted_ns.saturating_sub(one.due_ns));
        stat.response.record(now_ns.saturating_sub(one.due_ns));
        stat.service.record(now_ns.saturating_sub(one.submitted_ns));
    }

    /// Adds what a thread in trees did since this was done last.
    pub(crate) fn note_log(&mut self, log: &ThreadLog) {
        log.take(|logged| match logged {
            Logged::Done(done) => {
                self.done_alone(&alone(&done), done.t_ns);
                self.submit_calls += 1;
                self.each_of_tree(&done);
            }
            Logged::Begun(Begun { lane, op, due_ns, submitted_ns }) => {
                self.submitted(lane, op, due_ns, submitted_ns);
                self.submit_calls += 1;
            }
            Logged::Ended(done) => {
                self.completed_alike(&alone(&done), done.t_ns);
                self.each_of_tree(&done);
            }
            Logged::Step { lane, op, moved, service_ns } => self.step(lane, op).note(moved, service_ns),
        });
    }

    #[inline]
    fn each_of_tree(&mut self, done: &Done) {
        let Done { begun: Begun { lane, op, due_ns, submitted_ns }, t_ns, offset, asked: bytes, .. } = *done;
        self.each(RawIo { t_ns, due_ns, submitted_ns, offset, lane, bytes, op, priority: None });
    }

    /// Notes a failed operation at `failure.t_ns`, and that it was none where a device is full that was to be filled.
    #[cold]
    pub(crate) fn returned_failed(&mut self, failure: RawFailure, failed: Failed) {
        let stat = self.stat(failure.lane, failure.op);
        stat.returned += 1;
        stat.returned_at += u128::from(failure.t_ns);
        if matches!(failed, Failed::IsFull { .. }) {
            stat.unfit += 1;
            stat.bytes += u64::try_from(failure.result).unwrap_or(0);
            return;
        }
        stat.errors += 1;
        stat.short += u64::from(failure.result >= 0);
        let errno = if failure.result < 0 { -failure.result } else { libc::EIO };
        stat.first_error.get_or_insert(FirstError { t_ns: failure.t_ns, errno });
        if let Some(control) = &self.control {
            control.failed(failure.t_ns);
        }
        self.failed(failure);
    }

    /// Keeps a failure's place, if there is room.
    fn failed(&mut self, failure: RawFailure) {
        if self.failures.len() < FAILURES_KEPT {
            self.failures.push(failure);
        }
    }

    /// Visits every statistic that was touched, then forgets all values but keeps the memory.
    pub(crate) fn drain(&mut self, mut visit: impl FnMut(usize, OperationKind, &OpStat)) {
        for place in std::mem::take(&mut self.touched) {
            let (lane, op) = (place / self.kinds.len(), self.kinds[place % self.kinds.len()]);
            let Some(stat) = &mut self.stats[place] else { continue };
            if stat.submitted == 0 && stat.returned == 0 {
                continue;
            }
            visit(lane, op, stat);
            stat.response.clear();
            stat.service.clear();
            stat.wait.clear();
            (stat.bytes, stat.errors, stat.unfit, stat.submitted, stat.returned) = (0, 0, 0, 0, 0);
            (stat.submitted_at, stat.returned_at) = (0, 0);
            (stat.short, stat.first_error) = (0, None);
        }
        self.touched.clear();
        self.failures.clear();
        self.ios.clear();
        self.ios_lost = 0;
        (self.timestamp_age_ns_max, self.submit_calls, self.wakeups) = (0, 0, 0);
    }
}

/// The place where a worker's buffer lies.
#[derive(Debug)]
pub(crate) struct Slot {
    buffer: Mutex<Buffer>,
    /// Of threads in trees, what they have not put into the buffer yet.
    logs: Box<[ThreadLog]>,
}

impl Slot {
    /// An empty one, for so many lanes that do these kinds of operation.
    pub(crate) fn new(lanes: usize, kinds: &'static [OperationKind]) -> Self {
        Self::of_trees(lanes, kinds, 0)
    }

    /// The same, for so many threads that have a log each.
    pub(crate) fn of_trees(lanes: usize, kinds: &'static [OperationKind], threads: usize) -> Self {
        let logs = (0..threads).map(|_| ThreadLog::default()).collect();
        Self { buffer: Mutex::new(Buffer::new(lanes, kinds)), logs }
    }

    /// The logs of its threads, by their slots.
    pub(crate) fn logs(&self) -> &[ThreadLog] {
        &self.logs
    }

    /// Visits everything that is under way.
    pub(crate) fn under_way(&self, mut visit: impl FnMut(&PendingOp)) {
        let buffer = self.lock();
        buffer.pending.iter().for_each(&mut visit);
        for Begun { lane, op, due_ns, submitted_ns } in self.logs.iter().filter_map(ThreadLog::under_way) {
            visit(&PendingOp { lane, op, due_ns, submitted_ns });
        }
    }

    /// For the worker, once per batch.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the coordinator: exchanges the buffer for `spare`.
    pub(crate) fn exchange(&self, spare: &mut Buffer) {
        let mut buffer = self.lock();
        self.logs.iter().for_each(|log| buffer.note_log(log));
        std::mem::swap(&mut *buffer, spare);
        std::mem::swap(&mut buffer.pending, &mut spare.pending);
    }
}

#[inline]
fn alone(done: &Done) -> Alike {
    let Begun { lane, op, due_ns, submitted_ns } = done.begun;
    Alike { lane, op, due_ns, submitted_ns, count: 1, bytes: done.moved }
}
