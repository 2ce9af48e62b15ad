//! Discards of devices that are not for io_uring ([`cannot_discard`](crate::choose::cannot_discard)): threads that issue them
//! and wait.
//!
//! The replay thread never waits for them; each end comes with the time at which a worker saw it.

use crate::discard;
use crate::error::EngineError;
use plan::generate::Operation;
use quantity::clock;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Discards that are under way at the same time.
const THREADS: usize = 8;

struct Wanted {
    slot: u32,
    fd: Arc<OwnedFd>,
    operation: Operation,
}

/// A discard that came back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) slot: u32,
    /// 0, or a negative errno.
    pub(super) result: i32,
    /// By the clock.
    pub(super) t_ns: u64,
}

#[derive(Default)]
struct Done {
    ended: Mutex<Vec<Ended>>,
    is_any: AtomicBool,
}

/// The threads; they end when this is dropped.
pub(super) struct Discards {
    send: Sender<Wanted>,
    done: Arc<Done>,
    open: u32,
    taken: Vec<Ended>,
}

impl Discards {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system has no threads left.
    pub(super) fn start() -> Result<Self, EngineError> {
        let (send, wanted) = channel();
        let wanted = Arc::new(Mutex::new(wanted));
        let done = Arc::new(Done::default());
        for _ in 0..THREADS {
            let (wanted, done) = (Arc::clone(&wanted), Arc::clone(&done));
            let builder = std::thread::Builder::new().name("iodyno-discard".to_string()).stack_size(128 << 10);
            let started = builder.spawn(move || work(&wanted, &done));
            started.map_err(EngineError::system("start a thread for discards"))?;
        }
        Ok(Self { send, done, open: 0, taken: Vec::new() })
    }

    /// Has one issued.
    pub(super) fn push(&mut self, slot: u32, fd: &Arc<OwnedFd>, operation: Operation) {
        let sent = self.send.send(Wanted { slot, fd: Arc::clone(fd), operation });
        debug_assert!(sent.is_ok(), "the threads live as long as we do");
        self.open += 1;
    }

    /// Is any under way?
    pub(super) fn is_busy(&self) -> bool {
        self.open > 0
    }

    /// Those that came back since the last time.
    pub(super) fn take(&mut self) -> &[Ended] {
        self.taken.clear();
        if self.open > 0 && self.done.is_any.load(Ordering::Acquire) {
            let mut ended = self.done.ended.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut self.taken, &mut ended);
            self.done.is_any.store(false, Ordering::Release);
            self.open -= u32::try_from(self.taken.len()).unwrap_or(self.open);
        }
        &self.taken
    }
}

fn work(wanted: &Mutex<Receiver<Wanted>>, done: &Done) {
    loop {
        // The worker that waits for the next one holds the lock; the other workers wait for the lock.
        let next = wanted.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Wanted { slot, fd, operation }) = next else { return };
        let result = discard::wait(fd.as_fd(), true, operation).map_or_else(|error| -error.raw_os_error(), |()| 0);
        let ended = Ended { slot, result, t_ns: clock::now_ns() };
        done.ended.lock().unwrap_or_else(PoisonError::into_inner).push(ended);
        done.is_any.store(true, Ordering::Release);
    }
}
