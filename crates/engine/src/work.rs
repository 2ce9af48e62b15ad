//! The kinds of work: what an operation is, how it is carried out, and what came of it.
//!
//! The scheduler decides when something is issued and on which lane; the work decides what that is. The hosts, a worker
//! with a ring (`uring_worker`) and a crew of threads that wait in their calls (`sync`), keep due times, stamps and statistics
//! and know no kind of work: they are compiled for each. A new kind is a [`Lanes`] and a [`Work`], and a [`RingWork`] where
//! the kernel takes its operations in a queue.

use crate::group::GroupSpec;
use crate::io_buffers::IoBuffers;
use crate::issue::Issue;
use crate::uring_queue::Entry;
use plan::generate::{HeldKinds, Operation, OperationKind};
use std::ops::ControlFlow;
use std::os::fd::RawFd;

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did what it should, and moved so many bytes.
    Done(u64),
    /// It did not: a negative errno, or how few bytes it moved.
    Failed(i32),
}

/// What the lanes of a group do next. One thread asks at a time: that of the ring, or the one that has the crew's lock.
pub(crate) trait Lanes: Send + 'static {
    /// The lane's next operation; `None`: it has ended, now and for ever.
    fn choose(&mut self, lane: usize) -> Option<Operation>;

    /// The same of a lane that is a part of a job, of none of the kinds that are held back; `anew`: its pass begins again.
    fn choose_for_job(&mut self, lane: usize, _held: HeldKinds, _anew: bool) -> Option<Operation> {
        self.choose(lane)
    }

    /// Puts into `buffer` what the operation is to have there, before its time counts.
    fn prepare(&mut self, issue: &Issue, buffer: &mut [u8]);
}

/// How the operations of a group are carried out.
pub(crate) trait Work: Send + Sync + 'static {
    /// What its lanes do next.
    type Lanes: Lanes;

    /// The kinds of operation that its lanes do, neighbours in the catalogue; statistics have room for these.
    const KINDS: &'static [OperationKind];

    /// Carries an operation out and waits for its end, in a thread of a crew; several do so at the same time.
    fn call(&self, issue: &Issue, buffer: &mut [u8]) -> Outcome;
}

/// Work whose operations are entries of a queue, one behind the other where one has several. Each slot has a place in the memory, which is
/// the operation's from `begin` to its outcome.
pub(crate) trait RingWork: Work {
    /// Called once, before everything else: the files that the ring registers (-1: none), which entries name by their numbers here.
    fn files(&mut self, group: &GroupSpec) -> Vec<RawFd>;

    /// The first entry of an operation.
    fn begin(&mut self, lanes: &mut Self::Lanes, slot: u32, issue: &Issue, memory: &mut IoBuffers) -> Entry;

    /// An entry came back: its operation has ended, or goes on with another entry.
    fn completed(
        &mut self,
        slot: u32,
        issue: &Issue,
        result: i32,
        memory: &mut IoBuffers,
    ) -> ControlFlow<Outcome, Entry>;

    /// The I/O priority of the operation that has just ended in this slot, where it had one of its own.
    fn priority(&self, slot: u32) -> Option<u16>;
}
