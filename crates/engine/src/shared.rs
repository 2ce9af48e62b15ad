//! The control word, and what workers publish beside their statistics.

use crate::cpu::EndedCost;
use quantity::clock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What was due before the stop and found no free slot may still be submitted for so long: the end of a run that keeps up
/// leaves nothing behind, and one that does not keep up ends soon.
pub(crate) const LAST_CALL_NS: u64 = 100_000_000;

/// What the coordinator tells all workers.
#[derive(Debug, Default)]
pub(crate) struct Control {
    stop: AtomicBool,
    abort: AtomicBool,
    /// One of both was said.
    ending: AtomicBool,
    /// When the run began, of the clock.
    started_ns: AtomicU64,
    /// When `stop` was said, ns of the run; arrivals end there.
    stopped_at_ns: AtomicU64,
    /// Operations that failed.
    errors: AtomicU64,
    /// Most of them before the run ends; `None`: it does not end by them.
    errors_max: Option<u64>,
    /// Blocks that were not what they must be.
    damaged: AtomicU64,
    /// Most of them; as above.
    damage_max: Option<u64>,
}

impl Control {
    /// Of a run that ends with the first error, or the first damaged block, behind so many.
    pub(crate) fn new(errors_max: Option<u64>, damage_max: Option<u64>) -> Self {
        Self { errors_max, damage_max, ..Self::default() }
    }

    /// An operation failed at this time of the run: nothing is issued any more where it was one too many. What is in flight
    /// may still fail.
    #[cold]
    pub(crate) fn failed(&self, now_ns: u64) {
        self.errors.fetch_add(1, Ordering::AcqRel);
        if self.has_too_many_errors() {
            self.stop(now_ns);
        }
    }

    /// The run begins at this time of the clock.
    pub(crate) fn begin(&self, started_ns: u64) {
        self.started_ns.store(started_ns, Ordering::Release);
    }

    /// So many blocks were not what they must be: each is one more error.
    #[cold]
    pub(crate) fn damaged(&self, blocks: u64) {
        let now_ns = clock::now_ns().saturating_sub(self.started_ns.load(Ordering::Acquire));
        self.damaged.fetch_add(blocks, Ordering::AcqRel);
        (0..blocks).for_each(|_| self.failed(now_ns));
    }

    pub(crate) fn has_too_many_errors(&self) -> bool {
        let is_above = |most: Option<u64>, count: u64| most.is_some_and(|most| count > most);
        let errors = self.errors.load(Ordering::Acquire);
        // Behind the errors, of which it is a part that is counted here first.
        let damaged = self.damaged.load(Ordering::Acquire);
        // Where more damage is borne than errors, each has its own limit.
        let is_apart = self.damage_max > self.errors_max && self.errors_max.is_some();
        let apart = if is_apart { damaged } else { 0 };
        is_above(self.damage_max, damaged) || is_above(self.errors_max, errors.saturating_sub(apart))
    }

    /// Is nothing submitted any more at this time of the run, not even what was due before the stop?
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        let is_late = |stopped_ns: u64| now_ns > stopped_ns.saturating_add(LAST_CALL_NS);
        self.has_too_many_errors() || self.stopped_at_ns().is_some_and(is_late)
    }

    pub(crate) fn stop(&self, now_ns: u64) {
        // The time first: who sees that it is over must know since when.
        let _ = self.stopped_at_ns.compare_exchange(0, now_ns.max(1), Ordering::AcqRel, Ordering::Acquire);
        self.stop.store(true, Ordering::Release);
        self.ending.store(true, Ordering::Release);
    }

    pub(crate) fn abort(&self) {
        self.abort.store(true, Ordering::Release);
        self.ending.store(true, Ordering::Release);
    }

    /// Was it said to stop, or to abort?
    #[inline]
    pub(crate) fn ending(&self) -> &AtomicBool {
        &self.ending
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }

    pub(crate) fn stopped_at_ns(&self) -> Option<u64> {
        Some(self.stopped_at_ns.load(Ordering::Acquire)).filter(|at_ns| *at_ns > 0)
    }
}

/// What a worker tells the coordinator.
#[derive(Debug, Default)]
pub(crate) struct Status {
    pub(crate) done: AtomicBool,
    /// Thread identity in the kernel, 0 before it started.
    pub(crate) tid: AtomicU32,
    /// What it had cost when it ended.
    pub(crate) ended: EndedCost,
}

impl Status {
    /// For the thread that it describes.
    pub(crate) fn begin(&self) {
        self.tid.store(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs(), Ordering::Release);
        // Sleeps end when they should, not up to 50 µs later.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }
}

/// Says that a thread is done when it ends, however it ends.
pub(crate) struct Done(pub(crate) Arc<Status>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.ended.note(self.0.tid.load(Ordering::Acquire));
        self.0.done.store(true, Ordering::Release);
    }
}

/// Holds all threads back until every one of them is ready, so that nothing of the set-up is measured.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// `Some(None)`: the run does not take place.
    start: Mutex<Option<Option<u64>>>,
    opened: Condvar,
}

impl Gate {
    /// Lets the threads go at this time of the clock, or home.
    pub(crate) fn open(&self, started_ns: Option<u64>) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = Some(started_ns);
        self.opened.notify_all();
    }

    /// Waits for the start and returns its time.
    pub(crate) fn wait(&self) -> Option<u64> {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        let started_ns = loop {
            match *start {
                Some(known) => break known,
                None => start = self.opened.wait(start).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(start);
        if let Some(started_ns) = started_ns {
            std::thread::sleep(Duration::from_nanos(started_ns.saturating_sub(clock::now_ns())));
        }
        started_ns
    }
}
