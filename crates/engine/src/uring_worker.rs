//! The io_uring worker: one thread, one ring, one group.
//!
//! Each turn submits what is due in one batch, waits in the kernel for a completion or for the next due time, and reaps
//! everything that is there. The clock is read once per submitted and once per reaped batch; the greatest age that a
//! time stamp had when it was used is recorded.

use crate::EngineError;
use crate::budget::Budget;
use crate::failure::RawFailure;
use crate::io_buffers::IoBuffers;
use crate::issue::{Issue, Next};
use crate::pending::PendingOp;
use crate::scheduler::Scheduler;
use crate::shared::{Control, Status};
use crate::stats::{Alike, RawIo, Slot};
use crate::uring_queue::{Entry, Ring};
use crate::work::Group;
use crate::work::{Outcome, RingWork, Timing};
use plan::generate::Operation;
use quantity::clock;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Requests handed over with one system call.
const BATCH: u32 = 32;
/// Longest sleep: how late a worker may notice that it is to stop.
const NAP_NS: u64 = 20_000_000;
/// With nothing in flight, the last so many nanoseconds before a due time are spent looking at the clock: falling asleep
/// and waking up costs more CPU than that (12 µs on a virtual machine), and comes late.
const SPIN_NS: u64 = 10_000;
/// How much earlier than that a worker asks to be woken: the usual delay of a wake-up on an idle core.
const EARLY_NS: u64 = 5_000;
/// After so many failures in a row a worker pauses between batches: a target that is gone must not cost a core.
const FAILURES_IN_A_ROW: u32 = 64;

/// An operation in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    issue: Issue,
    submitted_ns: u64,
    /// When its own time was over, of one that went on behind it; 0: it did not.
    over_ns: u64,
}

impl InFlight {
    /// It goes on with an entry to which its own time stands so; true: that begins with it.
    #[cold]
    fn goes_on(&mut self, timing: Timing, now_ns: u64) -> bool {
        if timing == Timing::IsOver {
            self.over_ns = now_ns;
        }
        timing == Timing::Begins
    }

    /// It ends. Gives when it was submitted, later by what came behind its own time, which is no service.
    #[inline]
    fn ends(&mut self, now_ns: u64) -> u64 {
        match std::mem::take(&mut self.over_ns) {
            0 => self.submitted_ns,
            over_ns => self.submitted_ns + now_ns.saturating_sub(over_ns),
        }
    }
}

/// What a worker thread owns.
pub(crate) struct Worker<W: RingWork> {
    ring: Ring,
    memory: IoBuffers,
    scheduler: Scheduler,
    lanes: W::Lanes,
    work: W,
    slots: Vec<InFlight>,
    free: Vec<u32>,
    stats: Arc<Slot>,
    control: Arc<Control>,
    status: Arc<Status>,
    started_ns: u64,
    failures_in_a_row: u32,
    /// Slots of the batch under way.
    batch: Vec<u32>,
    /// Slots whose operations go on, with their next entries.
    going_on: Vec<(u32, Entry)>,
    /// Those of them whose own time begins when they are handed over.
    beginning: Vec<u32>,
    handed_over: Handed,
}

/// The last batch that was handed over.
#[derive(Clone, Copy, Debug, Default)]
struct Handed {
    stamp_ns: u64,
    requests: usize,
    waited: bool,
}

impl<W: RingWork> Worker<W> {
    /// Prepares everything that may fail; the thread then only runs.
    pub(crate) fn new(
        group: Group<W>,
        budget: Arc<Budget>,
        stats: Arc<Slot>,
        control: Arc<Control>,
        status: Arc<Status>,
    ) -> Result<Self, EngineError> {
        let Group { spec: mut group, lanes, mut work } = group;
        let depth = group.depth().max(1);
        let mut ring = Ring::new(depth).map_err(EngineError::system("set up io_uring"))?;
        let mut memory = IoBuffers::new(depth as usize, group.transfer_max as usize)?;
        let files = work.files(&group);
        ring.register(&files, &mut memory)?;
        ring.register_self();
        if group.punts {
            // What the kernel refuses is done without; the choice of the engine knows it.
            let _ = ring.widen(depth);
        }
        let scheduler = Scheduler::new(&mut group, budget);
        let idle = InFlight { issue: Issue::IDLE, submitted_ns: 0, over_ns: 0 };
        Ok(Self {
            ring,
            memory,
            scheduler,
            lanes,
            work,
            slots: vec![idle; depth as usize],
            free: (0..depth).rev().collect(),
            stats,
            control,
            status,
            started_ns: 0,
            failures_in_a_row: 0,
            batch: Vec::with_capacity(BATCH as usize),
            going_on: Vec::new(),
            beginning: Vec::new(),
            handed_over: Handed::default(),
        })
    }

    /// Works until the load has ended or the run stops it.
    pub(crate) fn run(mut self, started_ns: u64) -> Result<(), EngineError> {
        self.started_ns = started_ns;
        self.status.begin();
        let result = self.turns();
        let in_flight = self.scheduler.in_flight();
        self.scheduler.leave();
        self.status.done.store(true, Ordering::Release);
        if in_flight > 0 {
            self.memory.leak();
        }
        result
    }

    /// Time of the run.
    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns().saturating_sub(self.started_ns)
    }

    fn turns(&mut self) -> Result<(), EngineError> {
        // One time stamp serves as the end of a reap and as the start of the next batch.
        let mut now_ns = self.now_ns();
        loop {
            let next = self.submit(now_ns);
            let ended = next == Next::Ended || (self.control.is_stopped() && self.scheduler.in_flight() == 0);
            if self.control.is_aborted() || (ended && self.ring.queued() == 0 && self.scheduler.in_flight() == 0) {
                return Ok(());
            }
            let waits = self.wait(next, now_ns)?;
            now_ns = self.now_ns();
            let reaped = self.reap(now_ns);
            if waits && reaped == 0 {
                now_ns = self.now_ns();
            }
            if self.failures_in_a_row > FAILURES_IN_A_ROW {
                std::thread::sleep(std::time::Duration::from_millis(1));
                now_ns = self.now_ns();
            }
        }
    }

    /// Queues what is due, at most a batch; says what comes next.
    fn submit(&mut self, now_ns: u64) -> Next {
        self.batch.clear();
        self.scheduler.look(now_ns);
        if self.control.is_over(now_ns) {
            return Next::Blocked;
        }
        if let Some(stopped_ns) = self.control.stopped_at_ns() {
            self.scheduler.end_at(stopped_ns);
        }
        let mut queued = self.ring.queued();
        while queued < BATCH && !self.free.is_empty() {
            let issue = match self.scheduler.next(now_ns, &mut self.lanes) {
                Next::Issue(issue) => issue,
                other => return other,
            };
            let Some(slot) = self.free.pop() else { return Next::Blocked };
            self.slots[slot as usize].issue = issue;
            let entry = self.work.begin(&mut self.lanes, slot, &issue, &mut self.memory);
            self.ring.push(u64::from(slot), &entry);
            self.batch.push(slot);
            queued += 1;
        }
        // A full batch: there may be more that is due, so do not sleep.
        if queued >= BATCH { Next::At(0) } else { Next::Blocked }
    }

    /// Stamps the batch just before it is handed over: choosing and filling are not service time.
    fn stamp(&mut self) -> u64 {
        let stamp_ns = self.now_ns();
        let mut buffer = self.stats.lock();
        buffer.submit_calls += 1;
        let mut run: Option<Alike> = None;
        for slot in &self.batch {
            let InFlight { issue, submitted_ns, .. } = &mut self.slots[*slot as usize];
            *submitted_ns = stamp_ns;
            buffer.pending.begin(*slot as usize, pending(issue, stamp_ns));
            let one = alike(issue, stamp_ns, 0);
            if !run.as_mut().is_some_and(|run| run.absorb(&one))
                && let Some(whole) = run.replace(one)
            {
                buffer.submitted_alike(&whole);
            }
        }
        if let Some(whole) = run {
            buffer.submitted_alike(&whole);
        }
        self.scheduler.handed_over(|job, count, in_flight| buffer.job(job).handed_over(count, in_flight));
        stamp_ns
    }

    /// Stamps those whose own time begins with an entry that is not their first.
    #[cold]
    fn stamp_again(&mut self) {
        let stamp_ns = self.now_ns();
        for slot in self.beginning.drain(..) {
            self.slots[slot as usize].submitted_ns = stamp_ns;
        }
    }

    /// Hands over the batch and sleeps as long as nothing is due; true when it slept.
    fn wait(&mut self, next: Next, now_ns: u64) -> Result<bool, EngineError> {
        let in_flight = self.scheduler.in_flight();
        let (want, timeout_ns) = match next {
            // More may be due at once: only hand over and look.
            Next::At(at_ns) if at_ns <= now_ns => (0, None),
            Next::At(at_ns) if in_flight == 0 && at_ns - now_ns <= SPIN_NS => {
                while self.now_ns() < at_ns {
                    std::hint::spin_loop();
                }
                return Ok(true);
            }
            Next::At(at_ns) if in_flight == 0 => (1, Some((at_ns - now_ns - EARLY_NS).min(NAP_NS))),
            Next::At(at_ns) => (1, Some((at_ns - now_ns).min(NAP_NS))),
            _ if in_flight > 0 => (1, Some(NAP_NS)),
            _ => (1, Some(NAP_NS / 20)),
        };
        let stamp_ns = if self.batch.is_empty() { now_ns } else { self.stamp() };
        if !self.beginning.is_empty() {
            self.stamp_again();
        }
        self.ring.enter(want, timeout_ns).map_err(EngineError::system("submit to io_uring"))?;
        self.handed_over = Handed { stamp_ns, requests: self.batch.len(), waited: want > 0 };
        Ok(want > 0)
    }

    /// Records everything that came back.
    fn reap(&mut self, now_ns: u64) -> u32 {
        let Self {
            ring,
            memory,
            scheduler,
            work,
            slots,
            free,
            stats,
            failures_in_a_row,
            going_on,
            handed_over,
            beginning,
            ..
        } = self;
        let mut buffer = stats.lock();
        buffer.wakeups += u64::from(handed_over.waited);
        let mut is_first = true;
        let mut run: Option<Alike> = None;
        let reaped = ring.reap(|tag, result| {
            #[expect(clippy::cast_possible_truncation, reason = "tags are slot numbers")]
            let slot = tag as u32;
            let in_flight = &mut slots[slot as usize];
            let issue = in_flight.issue;
            let outcome = match work.completed(slot, &issue, result, memory) {
                ControlFlow::Break(outcome) => outcome,
                ControlFlow::Continue(entry) => {
                    beginning.extend(in_flight.goes_on(work.timing(slot), now_ns).then_some(slot));
                    return going_on.push((slot, entry));
                }
            };
            let submitted_ns = in_flight.ends(now_ns);
            buffer.pending.end(slot as usize);
            let Operation { op, offset, bytes } = issue.operation;
            if is_first && handed_over.requests > 1 && submitted_ns == handed_over.stamp_ns {
                // It came back from the call that submitted it: any time between the two stamps may be its own.
                is_first = false;
                buffer.timestamp_age_ns_max = buffer.timestamp_age_ns_max.max(now_ns.saturating_sub(submitted_ns));
            }
            if let Outcome::Failed(result) = outcome {
                *failures_in_a_row += 1;
                let lane = issue.lane as usize;
                let failure = RawFailure { t_ns: now_ns, lane, op, offset, bytes, result, at: None };
                let failed = scheduler.failed(&failure);
                buffer.returned_failed(failure, failed);
            } else if let Outcome::Done(moved) = outcome {
                *failures_in_a_row = 0;
                scheduler.served(&issue, now_ns, now_ns.saturating_sub(submitted_ns));
                let (due_ns, lane) = (issue.due_ns, issue.lane as usize);
                let priority = work.priority(slot);
                buffer.each(RawIo { t_ns: now_ns, due_ns, submitted_ns, offset, lane, bytes, op, priority });
                let one = alike(&issue, submitted_ns, moved);
                if !run.as_mut().is_some_and(|run| run.absorb(&one))
                    && let Some(whole) = run.replace(one)
                {
                    buffer.completed_alike(&whole, now_ns);
                }
            }
            scheduler.returned(issue.lane, now_ns, now_ns.saturating_sub(submitted_ns));
            free.push(slot);
        });
        if let Some(whole) = run {
            buffer.completed_alike(&whole, now_ns);
        }
        scheduler.came_back(|job, count| buffer.job(job).came_back(count));
        drop(buffer);
        if !going_on.is_empty() {
            going_on.drain(..).for_each(|(slot, entry)| ring.push(u64::from(slot), &entry));
        }
        reaped
    }
}

/// One operation, as it is known while it is in flight.
#[inline]
fn pending(issue: &Issue, submitted_ns: u64) -> PendingOp {
    PendingOp { lane: issue.lane as usize, op: issue.operation.op, due_ns: issue.due_ns, submitted_ns }
}

/// One operation that moved so many bytes, to be recorded together with those like it.
#[inline]
fn alike(issue: &Issue, submitted_ns: u64, bytes: u64) -> Alike {
    Alike { lane: issue.lane as usize, op: issue.operation.op, due_ns: issue.due_ns, submitted_ns, count: 1, bytes }
}
