//! The steps of an operation in a ring, each of which is an entry.

use super::{Checked, Checks};
use crate::work::{Hold, Outcome, Timing};
use plan::generate::{Operation, OperationKind};
use std::os::fd::BorrowedFd;
use validation::{FoundBy, ReadOutcome};

/// What an entry of a slot is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    /// It waits for its blocks.
    Waits,
    /// The operation itself.
    #[default]
    Own,
    /// A read before or behind a write.
    Extra(FoundBy),
    /// The second read of blocks that were not right.
    Again(FoundBy),
}

/// What comes next in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// The operation waits a moment for its blocks.
    Wait,
    /// The operation itself.
    Own,
    /// Its blocks are read.
    Read,
    /// It has ended.
    End(Outcome),
}

#[derive(Clone, Debug, Default)]
struct SlotCheck {
    step: Step,
    hold: Hold,
    /// What was read first of blocks that were not right.
    first: Vec<u8>,
}

/// By slot of a ring.
#[derive(Debug)]
pub(super) struct SlotChecks(Vec<SlotCheck>);

impl SlotChecks {
    pub(super) fn new(depth: u32) -> Self {
        Self(vec![SlotCheck::default(); depth.max(1) as usize])
    }
}

/// A slot with its operation, and the memory that it has.
pub(crate) struct AtSlot<'a> {
    pub(crate) slot: u32,
    pub(crate) lane: u32,
    pub(crate) operation: &'a Operation,
    pub(crate) file: BorrowedFd<'a>,
    pub(crate) buffer: &'a mut [u8],
}

impl Checks {
    /// The first step of an operation, which holds its blocks or does not.
    #[inline]
    pub(crate) fn begin(&mut self, at: &mut AtSlot<'_>, is_held: bool) -> NextStep {
        let Some(Some(checked)) = self.lanes.get(at.lane as usize) else { return NextStep::Own };
        let slot = &mut self.slots.0[at.slot as usize];
        if !is_held {
            slot.step = Step::Waits;
            return NextStep::Wait;
        }
        slot.begin(checked, at)
    }

    /// An entry came back.
    #[inline]
    pub(crate) fn completed(&mut self, at: &mut AtSlot<'_>, result: i32) -> NextStep {
        let Some(Some(checked)) = self.lanes.get(at.lane as usize) else { return NextStep::End(outcome(at, result)) };
        let slot = &mut self.slots.0[at.slot as usize];
        match slot.step {
            Step::Own => slot.own_is_back(checked, at, result),
            Step::Waits if checked.take(at.operation) => slot.begin(checked, at),
            Step::Waits => NextStep::Wait,
            Step::Extra(found_by) => match outcome(at, result) {
                Outcome::Done(_) => match slot.check(checked, at, found_by) {
                    Some(again) => again,
                    None => slot.go_on(checked, at, found_by),
                },
                failed @ Outcome::Failed(_) => slot.end(checked, at, failed),
            },
            Step::Again(found_by) => {
                let is_read = matches!(outcome(at, result), Outcome::Done(_));
                let again = is_read.then_some(&*at.buffer);
                let read = (&slot.first[..], again);
                let damaged = checked.target.report_as(at.operation.offset, read, found_by, checked.expects_unknown);
                slot.first = Vec::new();
                let next = slot.go_on(checked, at, found_by);
                self.control.damaged(damaged);
                next
            }
        }
    }

    /// How the time of the operation in this slot stands to the entry that comes next.
    #[cold]
    pub(crate) fn timing(&self, slot: u32) -> Timing {
        match self.slots.0[slot as usize].step {
            Step::Own => Timing::Begins,
            Step::Extra(FoundBy::AfterWrite) | Step::Again(FoundBy::Read | FoundBy::Sweep) => Timing::IsOver,
            Step::Waits | Step::Extra(_) | Step::Again(_) => Timing::Unchanged,
        }
    }
}

impl SlotCheck {
    /// The first step of an operation that has its blocks.
    #[inline]
    fn begin(&mut self, checked: &Checked, at: &mut AtSlot<'_>) -> NextStep {
        if at.operation.op == OperationKind::Write && checked.reads_before(at.operation) {
            return self.extra(checked, at, FoundBy::BeforeWrite);
        }
        self.own(checked, at)
    }

    /// The operation itself.
    #[inline]
    fn own(&mut self, checked: &Checked, at: &mut AtSlot<'_>) -> NextStep {
        self.step = Step::Own;
        self.hold = match at.operation.op {
            OperationKind::Read => {
                stamp::poison(at.buffer);
                Hold::Nothing
            }
            OperationKind::Write => checked.stamp(at.operation, at.buffer),
            OperationKind::Flush => checked.on_flush_submitted(),
            OperationKind::Trim => {
                checked.on_trim_submitted(at.operation);
                Hold::Nothing
            }
            _ => Hold::Nothing,
        };
        NextStep::Own
    }

    /// A read before or behind a write.
    fn extra(&mut self, checked: &Checked, at: &mut AtSlot<'_>, found_by: FoundBy) -> NextStep {
        checked.target.note_extra_read();
        stamp::poison(at.buffer);
        self.step = Step::Extra(found_by);
        NextStep::Read
    }

    /// The operation itself came back.
    #[inline]
    fn own_is_back(&mut self, checked: &Checked, at: &mut AtSlot<'_>, result: i32) -> NextStep {
        let outcome = outcome(at, result);
        let is_done = matches!(outcome, Outcome::Done(_));
        match at.operation.op {
            OperationKind::Read if is_done => match self.check(checked, at, checked.reads) {
                Some(again) => again,
                None => self.go_on(checked, at, checked.reads),
            },
            OperationKind::Read => self.end(checked, at, outcome),
            OperationKind::Write if is_done && checked.after => {
                checked.wrote(at.operation, self.hold);
                self.extra(checked, at, FoundBy::AfterWrite)
            }
            OperationKind::Flush => {
                checked.on_flush_done(self.hold, is_done);
                NextStep::End(outcome)
            }
            _ => {
                checked.changed(at.operation, self.hold, is_done);
                NextStep::End(outcome)
            }
        }
    }

    /// Checks what was read; `None`: it is right.
    #[inline]
    fn check(&mut self, checked: &Checked, at: &mut AtSlot<'_>, found_by: FoundBy) -> Option<NextStep> {
        if checked.target.check_as(at.operation.offset, at.buffer, checked.expects_unknown) == ReadOutcome::Right {
            return None;
        }
        self.first = at.buffer.to_vec();
        checked.forget(at.file, at.operation);
        stamp::poison(at.buffer);
        self.step = Step::Again(found_by);
        Some(NextStep::Read)
    }

    /// What was read was checked.
    #[inline]
    fn go_on(&mut self, checked: &Checked, at: &mut AtSlot<'_>, found_by: FoundBy) -> NextStep {
        match found_by {
            FoundBy::BeforeWrite => self.own(checked, at),
            FoundBy::Read | FoundBy::AfterWrite | FoundBy::Sweep => {
                let done = Outcome::Done(u64::from(at.operation.bytes));
                if at.operation.op == OperationKind::Read {
                    checked.note_swept(at.operation);
                }
                self.end(checked, at, done)
            }
        }
    }

    fn end(&mut self, checked: &Checked, at: &AtSlot<'_>, outcome: Outcome) -> NextStep {
        checked.release(at.operation);
        NextStep::End(outcome)
    }
}

/// Of a result: bytes moved, or a negative errno.
#[inline]
fn outcome(at: &AtSlot<'_>, result: i32) -> Outcome {
    let Operation { op, bytes, .. } = *at.operation;
    if result < 0 || (result.unsigned_abs() != bytes && op.moves_data()) {
        Outcome::Failed(result)
    } else {
        Outcome::Done(u64::from(bytes))
    }
}
