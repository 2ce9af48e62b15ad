//! Directories that are handed to threads without work.

use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What tells a directory from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryFacts {
    pub(crate) device: u64,
    pub(crate) number: u64,
    /// `None` before Linux 5.8.
    pub(crate) mount: Option<u64>,
    /// When its entries last changed, s and ns.
    pub(crate) changed: (i64, u32),
}

/// A directory that is open and not read.
#[derive(Debug)]
pub(crate) struct OpenDirectory {
    pub(crate) fd: OwnedFd,
    pub(crate) facts: DirectoryFacts,
    pub(crate) level: usize,
    /// Path below the directory that was asked for; empty where no names are kept.
    pub(crate) path: Vec<u8>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<OpenDirectory>,
    /// Threads that read.
    busy: usize,
    /// Threads that wait.
    idle: usize,
}

/// Directories that no thread has taken yet: never more than threads that wait for one.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    wake: Condvar,
    wants: AtomicBool,
}

impl Pool {
    /// With the first directory.
    pub(crate) fn new(first: OpenDirectory) -> Self {
        let state = State { waiting: vec![first], ..State::default() };
        Self { state: Mutex::new(state), ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, state: &State) {
        self.wants.store(state.idle > state.waiting.len(), Ordering::Relaxed);
    }

    /// Does a thread wait for a directory?
    pub(crate) fn wants_more(&self) -> bool {
        self.wants.load(Ordering::Relaxed)
    }

    /// Hands a directory to a thread that waits.
    pub(crate) fn offer(&self, directory: OpenDirectory) {
        let mut state = self.lock();
        state.waiting.push(directory);
        self.note(&state);
        self.wake.notify_one();
    }

    /// The next directory of a thread; `None` when all are read.
    pub(crate) fn take(&self) -> Option<OpenDirectory> {
        let mut state = self.lock();
        loop {
            if let Some(directory) = state.waiting.pop() {
                state.busy += 1;
                self.note(&state);
                return Some(directory);
            }
            if state.busy == 0 {
                self.wake.notify_all();
                return None;
            }
            state.idle += 1;
            self.note(&state);
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
            self.note(&state);
        }
    }

    /// What a thread took is read.
    pub(crate) fn done(&self) {
        let mut state = self.lock();
        state.busy = state.busy.saturating_sub(1);
        if state.busy == 0 {
            self.wake.notify_all();
        }
    }
}
