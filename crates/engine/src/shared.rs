//! The control word, and what workers publish beside their statistics.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// What the coordinator tells all workers.
#[derive(Debug, Default)]
pub(crate) struct Control {
    stop: AtomicBool,
    abort: AtomicBool,
    /// When `stop` was said, ns of the run; arrivals end there.
    stopped_at_ns: AtomicU64,
}

impl Control {
    pub(crate) fn stop(&self, now_ns: u64) {
        if !self.stop.swap(true, Ordering::AcqRel) {
            self.stopped_at_ns.store(now_ns.max(1), Ordering::Release);
        }
    }

    pub(crate) fn abort(&self) {
        self.abort.store(true, Ordering::Release);
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
    pub(crate) in_flight: AtomicU32,
    /// Thread identity in the kernel, 0 before it started.
    pub(crate) tid: AtomicU32,
}

impl Status {
    /// For the thread that it describes.
    pub(crate) fn begin(&self) {
        self.tid.store(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs(), Ordering::Release);
        // Sleeps end when they should, not up to 50 µs later.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }
}
