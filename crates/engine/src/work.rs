//! The kinds of work: what an operation is, how it is carried out, and what came of it.
//!
//! The scheduler decides when something is issued and on which lane; the work decides what that is. The hosts, a worker
//! with a ring (`uring_worker`) and a crew of threads that wait in their calls (`sync`), keep due times, stamps and statistics
//! and know no kind of work: they are compiled for each. A new kind is a [`Lanes`] and a [`Work`], and a [`RingWork`] where
//! the kernel takes its operations in a queue.

use crate::group_spec::GroupSpec;
use crate::io_buffers::IoBuffers;
use crate::issue::Issue;
use crate::uring_queue::Entry;
use plan::generate::{HeldKinds, Operation, OperationKind};
use std::ops::ControlFlow;
use std::os::fd::RawFd;
use validation::WriteHold;

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did what it should, and moved so many bytes.
    Done(u64),
    /// It did not: a negative errno, or how few bytes it moved.
    Failed(i32),
}

/// What an operation under way has of its target's validation, beside its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Nothing.
    #[default]
    Nothing,
    /// Its data is stamped.
    Write(WriteHold),
    /// The epoch that ended with it.
    Flush(u32),
}

/// How an operation's own time stands to the entry that comes next in its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// It goes on, or has not begun.
    Unchanged,
    /// It begins when the entry is handed over.
    Begins,
    /// It is over.
    IsOver,
}

/// What the lanes of a group do next. One thread asks at a time: that of the ring, or the one that has the crew's lock.
pub(crate) trait Lanes: Send + 'static {
    /// The lane's next operation; `None`: it has ended, now and for ever.
    fn choose(&mut self, lane: usize) -> Option<Operation>;

    /// The same of a lane that is a part of a job, of none of the kinds that are held back; `anew`: its pass begins again.
    fn choose_for_job(&mut self, lane: usize, _held: HeldKinds, _anew: bool) -> Option<Operation> {
        self.choose(lane)
    }

    /// What the lane chose last is not issued.
    fn refused(&mut self, _lane: usize) {}

    /// Has an operation that is issued now all that it needs besides its slot? Asked once.
    fn holds(&mut self, _: &Issue) -> bool {
        true
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

    /// May an operation have steps before and behind its own time, in a thread of a crew: [`Work::ready`] and [`Work::settle`]?
    fn has_steps(&self, _: &Issue) -> bool {
        false
    }

    /// What comes before; an error is a negative errno, or how few bytes were moved, and ends the operation.
    fn ready(&self, _: &Issue, _: &mut [u8], _is_held: bool) -> Result<Hold, i32> {
        Ok(Hold::Nothing)
    }

    /// What comes behind; true: it took more I/O.
    fn settle(&self, _: &Issue, _: &mut [u8], _: Hold, outcome: Outcome) -> (Outcome, bool) {
        (outcome, false)
    }

    /// Carries an operation out and waits for its end, in a thread of a crew; several do so at the same time.
    fn call(&self, issue: &Issue, buffer: &mut [u8]) -> Outcome;
}

/// What one worker (or one set of threads) does, and how.
#[derive(Debug)]
pub(crate) struct Group<W: Work> {
    pub(crate) spec: GroupSpec,
    /// What its lanes do, in the order of those of `spec`.
    pub(crate) lanes: W::Lanes,
    pub(crate) work: W,
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

    /// How the time of the operation in this slot, which goes on, stands to its next entry.
    fn timing(&self, _slot: u32) -> Timing {
        Timing::Unchanged
    }

    /// The I/O priority of the operation that has just ended in this slot, where it had one of its own.
    fn priority(&self, slot: u32) -> Option<u16>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::engine_overhead;
    use crate::shared::{Control, Status};
    use crate::stats::{Buffer, Slot};
    use crate::uring_worker::Worker;
    use std::sync::Arc;

    const KINDS: &[OperationKind] = &[OperationKind::Trim, OperationKind::Flush];
    const OPERATIONS: u64 = 1000;
    const DEPTH: u32 = 40;

    /// Flushes without an end.
    struct Endless;

    impl Lanes for Endless {
        fn choose(&mut self, _: usize) -> Option<Operation> {
            Some(Operation { op: OperationKind::Flush, offset: 0, bytes: 0 })
        }

        fn prepare(&mut self, _: &Issue, _: &mut [u8]) {}
    }

    /// Work of three entries, each of which does nothing; of every tenth operation the last one fails.
    struct Steps {
        /// By slot.
        left: Vec<u32>,
        ended: u64,
    }

    impl Work for Steps {
        type Lanes = Endless;

        const KINDS: &'static [OperationKind] = KINDS;

        fn call(&self, _: &Issue, _: &mut [u8]) -> Outcome {
            Outcome::Done(1)
        }
    }

    impl RingWork for Steps {
        fn files(&mut self, group: &GroupSpec) -> Vec<RawFd> {
            self.left = vec![0; group.depth() as usize];
            Vec::new()
        }

        fn begin(&mut self, _: &mut Endless, slot: u32, _: &Issue, _: &mut IoBuffers) -> Entry {
            assert_eq!(std::mem::replace(&mut self.left[slot as usize], 2), 0, "the slot is free");
            Entry::default()
        }

        fn completed(&mut self, slot: u32, _: &Issue, result: i32, _: &mut IoBuffers) -> ControlFlow<Outcome, Entry> {
            assert_eq!(result, 0);
            let left = &mut self.left[slot as usize];
            if *left > 0 {
                *left -= 1;
                return ControlFlow::Continue(Entry::default());
            }
            self.ended += 1;
            let failed = self.ended.is_multiple_of(10);
            ControlFlow::Break(if failed { Outcome::Failed(-libc::EIO) } else { Outcome::Done(7) })
        }

        fn priority(&self, _: u32) -> Option<u16> {
            None
        }
    }

    #[test]
    fn an_operation_of_several_entries_is_one_with_one_end() {
        let spec = GroupSpec { lanes: vec![engine_overhead::lane()], pools: vec![DEPTH], ..GroupSpec::empty() };
        let group = Group { spec, lanes: Endless, work: Steps { left: Vec::new(), ended: 0 } };
        let (stats, budget) = (Arc::new(Slot::new(1, KINDS)), Arc::new(Budget::of_operations(OPERATIONS)));
        let shared = (Arc::clone(&stats), Arc::new(Control::default()), Arc::new(Status::default()));
        let Ok(worker) = Worker::new(group, budget, shared.0, shared.1, shared.2) else {
            // No io_uring here.
            return;
        };
        worker.run(quantity::clock::now_ns()).unwrap();
        let mut buffer = Buffer::new(1, KINDS);
        stats.exchange(&mut buffer);
        let mut seen = Vec::new();
        buffer.drain(|lane, op, stat| seen.push((lane, op, stat.submitted, stat.returned, stat.errors, stat.bytes)));
        let (errors, bytes) = (OPERATIONS / 10, 7 * (OPERATIONS - OPERATIONS / 10));
        assert_eq!(seen, [(0, OperationKind::Flush, OPERATIONS, OPERATIONS, errors, bytes)]);
    }
}
