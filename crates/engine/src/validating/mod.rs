//! Runs whose data is proved: what is written carries stamps, and what is read is checked (`validation`).
//!
//! A lane chooses an operation of which all blocks are free, and takes them ([`LaneChecks`]); an operation whose blocks another one
//! has is put aside, and the lane's next one comes before it. What it does with its blocks, [`Checked`] knows: it is asked by the
//! crew's threads, which do one step behind the other (`crew`), and by the ring, in which a step is an entry (`ring`).
//! Lanes without validation have none of this.

mod crew;
mod lane;
mod refusals;
mod ring;
mod sweep;

pub(crate) use lane::{LaneChecks, overlap};
pub(crate) use refusals::{refuse, refuse_replay, refuse_unopened};
pub(crate) use ring::{AtSlot, NextStep};
pub(crate) use sweep::Sweep;

use crate::shared::Control;
use crate::work::Hold;
use plan::generate::{Operation, OperationKind};
use ring::SlotChecks;
use std::sync::Arc;
use validation::{FoundBy, TargetValidation};

/// How the operations of a lane are checked.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) target: Arc<TargetValidation>,
    /// In its stamps.
    pub(crate) writer: u16,
    /// The lane's own reads are these.
    pub(crate) reads: FoundBy,
    /// Blocks of which something is known are read before they are written.
    pub(crate) before: bool,
    /// … and right behind it.
    pub(crate) after: bool,
    /// What the lane reads without anything being known of it was written before.
    pub(crate) expects_unknown: bool,
    /// Reads may come from the page cache.
    pub(crate) is_buffered: bool,
}

/// How a group's operations are checked.
#[derive(Debug)]
pub(crate) struct Checks {
    /// By lane.
    lanes: Vec<Option<Checked>>,
    slots: SlotChecks,
    control: Arc<Control>,
}

impl Checks {
    /// Of these lanes, in a ring of so many slots.
    pub(crate) fn new(lanes: Vec<Option<Checked>>, depth: u32, control: Arc<Control>) -> Self {
        Self { lanes, slots: SlotChecks::new(depth), control }
    }

    /// A lane's.
    #[inline]
    pub(crate) fn lane(&self, lane: u32) -> Option<&Checked> {
        self.lanes.get(lane as usize)?.as_ref()
    }

    /// So many blocks were damaged: a run ends with the first error behind so many, and these are some.
    #[cold]
    fn damaged(&self, blocks: u64) {
        self.control.damaged(blocks);
    }
}

impl Checked {
    /// Takes the blocks of an operation; false: another one has some of them.
    #[inline]
    pub(crate) fn take(&self, operation: &Operation) -> bool {
        takes(operation.op) == 0 || self.target.take(operation.offset, u64::from(operation.bytes))
    }

    /// Gives the blocks of an operation that changed nothing back.
    #[inline]
    fn release(&self, operation: &Operation) {
        if takes(operation.op) != 0 {
            self.target.release(operation.offset, u64::from(operation.bytes));
        }
    }

    /// A flush is about to be submitted.
    fn on_flush_submitted(&self) -> Hold {
        Hold::Flush(self.target.flushing())
    }

    /// A flush came back.
    fn on_flush_done(&self, hold: Hold, is_done: bool) {
        if let Hold::Flush(epoch) = hold {
            self.target.flushed(epoch, is_done);
        }
    }

    /// A trim of taken blocks is about to be submitted.
    fn on_trim_submitted(&self, operation: &Operation) {
        self.target.trimming(operation.offset, u64::from(operation.bytes));
    }

    /// Stamps what a write of taken blocks carries.
    #[inline]
    fn stamp(&self, operation: &Operation, buffer: &mut [u8]) -> Hold {
        Hold::Write(self.target.stamp(operation.offset, buffer, self.writer))
    }

    /// A write or a trim of taken blocks came back.
    #[inline]
    fn changed(&self, operation: &Operation, hold: Hold, is_done: bool) {
        let Operation { op, offset, bytes } = *operation;
        match hold {
            Hold::Write(hold) => self.target.written(offset, u64::from(bytes), hold, is_done),
            _ if op == OperationKind::Trim => self.target.trimmed(offset, u64::from(bytes), is_done),
            _ => self.release(operation),
        }
    }

    /// Is a write's range to be read before?
    #[inline]
    fn reads_before(&self, operation: &Operation) -> bool {
        self.before && self.target.knows(operation.offset, u64::from(operation.bytes))
    }

    /// A write came back that did what it should; its blocks stay taken.
    #[inline]
    fn wrote(&self, operation: &Operation, hold: Hold) {
        if let Hold::Write(hold) = hold {
            self.target.wrote(operation.offset, u64::from(operation.bytes), hold, true);
        }
    }

    /// Blocks of the sweep were read.
    #[inline]
    fn note_swept(&self, operation: &Operation) {
        if self.reads == FoundBy::Sweep {
            self.target.note_swept(operation.offset, u64::from(operation.bytes));
        }
    }
}

/// 1 of operations that take blocks.
#[inline]
fn takes(op: OperationKind) -> u8 {
    u8::from(matches!(op, OperationKind::Read | OperationKind::Write | OperationKind::Trim))
}
