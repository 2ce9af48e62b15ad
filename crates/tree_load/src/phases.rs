//! What the threads of a format do one part after the other, all of them together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Longest wait: how late a thread may notice that it is to stop.
const NAP: Duration = Duration::from_millis(20);

/// Parts of a piece of work, each begun by all threads when the last one has ended the part before.
#[derive(Debug)]
pub(crate) struct Phases {
    threads: u32,
    /// Number of the part, and threads that are through with it.
    state: Mutex<(u64, u32)>,
    changed: Condvar,
    next: AtomicU64,
    /// What the part before found for the next one, in pieces.
    pub(crate) found: Mutex<Arc<Vec<Vec<u8>>>>,
}

impl Phases {
    pub(crate) fn new(threads: u32) -> Self {
        let (state, changed, next, found) = Default::default();
        Self { threads, state, changed, next, found }
    }

    /// The next piece of this part; each is one thread's.
    pub(crate) fn piece(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for the other threads at the end of a part; false: the run ends.
    pub(crate) fn pass(&self, goes_on: impl Fn() -> bool) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let part = state.0;
        state.1 += 1;
        if state.1 == self.threads {
            self.next.store(0, Ordering::Relaxed);
            *state = (part + 1, 0);
            drop(state);
            self.changed.notify_all();
            return goes_on();
        }
        while state.0 == part && goes_on() {
            state = self.changed.wait_timeout(state, NAP).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.0 != part && goes_on()
    }
}
