//! What threads in trees need of the run that they belong to. All times are of the run, ns.

use plan::generate::{Operation, OperationKind};
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};

/// A run: how much of it is left.
pub trait TreeRun: Debug + Send + Sync {
    /// Takes the right to do an operation that is due then; false: the run has no room for it (`maxdata=`, its end).
    fn take(&self, operation: &Operation, due_ns: u64) -> bool;
    /// What is due from here on does not belong to the run; `None`: it ends by itself.
    fn end_ns(&self) -> Option<u64>;
    /// Is there more that limits it than its end?
    fn is_limited(&self) -> bool;
    /// Was it told to end, or to end at once? Threads look at it before each operation.
    fn is_ending(&self) -> &AtomicBool;
    /// So many blocks or files are not what they must be: each is one more error.
    fn damaged(&self, count: u64);
    /// Was it told neither to end nor to end at once?
    fn goes_on(&self) -> bool {
        !self.is_ending().load(Ordering::Relaxed)
    }
    /// Was it told to end? What was due before may still be done.
    fn is_stopped(&self) -> bool;
    /// Was it told to end at once?
    fn is_aborted(&self) -> bool;
    /// When it was told to end.
    fn stopped_at_ns(&self) -> Option<u64>;
    /// For so long after it was told to end, what was due before may still begin.
    fn last_call_ns(&self) -> u64;
}

/// An operation that begins.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// Number of the lane ([`TreeLanes::lanes`](crate::TreeLanes::lanes)).
    pub lane: usize,
    /// What it is.
    pub op: OperationKind,
    /// When it was due.
    pub due_ns: u64,
    /// When it began.
    pub submitted_ns: u64,
}

/// An operation that was done.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// What began.
    pub begun: Begun,
    /// When it ended.
    pub t_ns: u64,
    /// Where in the file it began.
    pub offset: u64,
    /// Bytes that it was to move, where it is a transfer.
    pub asked: u32,
    /// Bytes that it moved.
    pub moved: u64,
}

/// An operation that failed.
#[derive(Clone, Debug)]
pub struct Failed {
    /// What began.
    pub begun: Begun,
    /// When it ended.
    pub t_ns: u64,
    /// Where in the file it began.
    pub offset: u64,
    /// Bytes that it was to move, where it is a transfer.
    pub asked: u32,
    /// Negative errno, or how few bytes it moved.
    pub result: i32,
    /// Of the file or directory.
    pub path: String,
    /// The step that failed, where it was not the operation itself.
    pub step: Option<OperationKind>,
}

/// Statistics to which threads add what their logs hold. `slot` is a thread's place among those that share them.
pub trait TreeStats: Send + Sync {
    /// The thread's log is full: adds what is in it.
    fn take(&self, slot: usize);
    /// An operation failed, the one that was begun last.
    fn failed(&self, slot: usize, failed: Failed);
}
