//! The one control word between signals and a running command.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Counts the requests to stop: one ends the run cleanly, a second one gives up waiting for the target as well.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<Requests>);

#[derive(Debug, Default)]
struct Requests {
    count: AtomicU32,
    /// The signal of the last one; 0 for none.
    signal: AtomicI32,
}

impl StopFlag {
    /// One more request.
    pub fn request(&self) {
        self.0.count.fetch_add(1, Ordering::Relaxed);
    }

    /// One more request, by a signal.
    pub fn request_by(&self, signal: i32) {
        self.0.signal.store(signal, Ordering::Relaxed);
        self.request();
    }

    /// The signal that asked last; `None` where none did.
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.signal.load(Ordering::Relaxed)).filter(|signal| *signal > 0)
    }

    /// Was a stop requested?
    pub fn is_requested(&self) -> bool {
        self.0.count.load(Ordering::Relaxed) > 0
    }

    /// Was a stop requested twice?
    pub fn is_urgent(&self) -> bool {
        self.0.count.load(Ordering::Relaxed) > 1
    }
}
