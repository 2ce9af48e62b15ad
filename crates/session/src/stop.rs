//! The one control word between signals and a running command.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Counts the requests to stop: one ends the run cleanly, a second one gives up waiting for the target as well.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicU32>);

impl StopFlag {
    /// One more request.
    pub fn request(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Has anybody asked to stop?
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Has anybody asked twice?
    pub fn is_urgent(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}
