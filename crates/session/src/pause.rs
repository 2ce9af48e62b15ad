//! Times in which this process itself did not run: stopped by a signal, a paused guest, a suspended machine, a machine so busy
//! that a thread that only sleeps was not woken. What was due or in flight then waited for iodyno and not for its target.
//!
//! A thread of its own looks at the clock and does nothing else, so that a gap between two looks is such a time and never
//! a system call that hangs.

use quantity::clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A gap between two looks that is longer than this is a pause, ns. Shorter ones are the scheduler's.
pub(crate) const LIMIT_NS: u64 = 500_000_000;

/// Time between two looks.
const BEAT: Duration = Duration::from_millis(50);

/// How long the coordinator waits for the other thread to be woken as well.
const PATIENCE_NS: u64 = 200_000_000;

/// A time in which the process did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    /// Last and first look, `CLOCK_MONOTONIC`, ns.
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// Its length, time in which the machine was suspended included, ns.
    pub(crate) length_ns: u64,
}

/// Watches for pauses until it is dropped.
#[derive(Debug)]
pub(crate) struct Heartbeat(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    ended: AtomicBool,
    beat_ns: AtomicU64,
    pauses: Mutex<Vec<Pause>>,
}

impl Heartbeat {
    /// Begins to watch. Where no thread can be had nothing is noticed.
    pub(crate) fn start() -> Self {
        let shared = Arc::new(Shared::default());
        shared.beat_ns.store(clock::now_ns(), Ordering::Release);
        let own = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("heartbeat".to_string()).stack_size(64 << 10);
        let _ = builder.spawn(move || own.watch());
        Self(shared)
    }

    /// The pauses since the last call. `looked_ns` is when the caller was last known to run: when that is long ago, the
    /// other thread gets a moment to say why.
    pub(crate) fn take(&self, looked_ns: u64) -> Vec<Pause> {
        let now_ns = clock::now_ns();
        if now_ns.saturating_sub(looked_ns) > LIMIT_NS {
            let until_ns = now_ns + PATIENCE_NS;
            while self.0.beat_ns.load(Ordering::Acquire) < now_ns && clock::now_ns() < until_ns {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        std::mem::take(&mut *self.0.pauses.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
    }
}

impl Shared {
    fn watch(&self) {
        let mut before = (clock::now_ns(), clock::boot_ns());
        while !self.ended.load(Ordering::Acquire) {
            std::thread::sleep(BEAT);
            let now = (clock::now_ns(), clock::boot_ns());
            if let Some(pause) = pause(before, now) {
                self.pauses.lock().unwrap_or_else(PoisonError::into_inner).push(pause);
            }
            self.beat_ns.store(now.0, Ordering::Release);
            before = now;
        }
    }
}

/// What lies between two looks, each by the monotonic clock and by the one that also counts while the machine is suspended.
fn pause(before: (u64, u64), now: (u64, u64)) -> Option<Pause> {
    let length_ns = now.1.saturating_sub(before.1);
    (length_ns > LIMIT_NS).then_some(Pause { from_ns: before.0, to_ns: now.0, length_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_and_a_suspended_machine_are_pauses_and_a_late_wake_up_is_none() {
        let s = 1_000_000_000;
        assert_eq!(pause((s, 5 * s), (s + s / 2, 5 * s + s / 2)), None);
        let gap = pause((s, 5 * s), (3 * s, 7 * s));
        assert_eq!(gap, Some(Pause { from_ns: s, to_ns: 3 * s, length_ns: 2 * s }));
        let suspended = pause((s, 5 * s), (s + 50_000_000, 65 * s));
        assert_eq!(suspended.map(|pause| pause.length_ns), Some(60 * s));
    }

    #[test]
    fn a_process_that_runs_has_no_pause() {
        // On a busy machine it may not run, which is a pause.
        let has_none = (0..20).any(|_| {
            let heartbeat = Heartbeat::start();
            std::thread::sleep(BEAT * 3);
            heartbeat.take(clock::now_ns()).is_empty()
        });
        assert!(has_none, "a pause each time");
    }
}
