//! Which operation of a lane comes next, where blocks have one operation at a time.

use super::sweep::Sweep;
use super::{Checked, takes};
use plan::generate::{HeldKinds, Operation};
use std::collections::VecDeque;
use std::sync::Arc;

/// So many operations of a lane are put aside at most.
const ASIDE_MAX: usize = 64;

/// The operation that a lane chose last and that was not issued yet.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    operation: Operation,
    /// Its blocks are taken.
    is_taken: bool,
}

/// What a lane whose data is proved has beside its operations.
#[derive(Debug)]
pub(crate) struct LaneChecks {
    checked: Checked,
    /// In the order in which they came; their blocks were another operation's.
    aside: VecDeque<Operation>,
    chosen: Option<Chosen>,
    /// In place of the lane's own operations.
    sweep: Option<Arc<Sweep>>,
}

impl LaneChecks {
    pub(crate) fn new(checked: Checked, sweep: Option<Arc<Sweep>>) -> Self {
        Self { checked, aside: VecDeque::new(), chosen: None, sweep }
    }

    /// The next operation, of none of the kinds that are held back as long as there is another: the first one that was put aside and
    /// whose blocks are free, or the first of those that `next` gives. Where as many as may be are aside, and at the end, one
    /// whose blocks are not free.
    #[inline]
    pub(crate) fn choose(&mut self, held: HeldKinds, mut next: impl FnMut() -> Option<Operation>) -> Option<Operation> {
        if let Some(operation) = self.next_aside(held) {
            return Some(operation);
        }
        loop {
            if self.aside.len() >= ASIDE_MAX {
                return self.untaken(held);
            }
            let operation = match &self.sweep {
                Some(sweep) => sweep.next(),
                None => next(),
            };
            let Some(operation) = operation else { return self.untaken(held) };
            let is_free = !self.aside.iter().any(|before| overlap(before, &operation));
            if is_free && self.checked.take(&operation) {
                return self.taken(operation);
            }
            self.checked.target.note_deferred();
            self.aside.push_back(operation);
        }
    }

    /// One that was put aside and whose blocks are free now. Those of the same blocks keep their order.
    #[inline]
    fn next_aside(&mut self, held: HeldKinds) -> Option<Operation> {
        for at in 0..self.aside.len() {
            let operation = self.aside[at];
            let may_come =
                !held[operation.op.index()] && !self.aside.iter().take(at).any(|before| overlap(before, &operation));
            if may_come && self.checked.take(&operation) {
                self.aside.remove(at);
                return self.taken(operation);
            }
        }
        None
    }

    fn taken(&mut self, operation: Operation) -> Option<Operation> {
        self.chosen = Some(Chosen { operation, is_taken: true });
        Some(operation)
    }

    /// The first that was put aside, which waits for its blocks where it is carried out.
    #[cold]
    fn untaken(&mut self, held: HeldKinds) -> Option<Operation> {
        let at = self.aside.iter().position(|operation| !held[operation.op.index()]).unwrap_or(0);
        let operation = self.aside.remove(at)?;
        self.chosen = Some(Chosen { operation, is_taken: false });
        Some(operation)
    }

    /// Has an operation that is issued now its blocks? Those that no lane chose try to take them here.
    #[inline]
    pub(crate) fn holds(&mut self, operation: &Operation) -> bool {
        match self.chosen.take_if(|chosen| chosen.operation == *operation) {
            Some(chosen) => chosen.is_taken,
            None => {
                let is_taken = self.checked.take(operation);
                if !is_taken {
                    self.checked.target.note_deferred();
                }
                is_taken
            }
        }
    }

    /// The operation that was chosen last is not issued.
    #[cold]
    pub(crate) fn give_back(&mut self) {
        if let Some(Chosen { operation, is_taken: true }) = self.chosen.take() {
            self.checked.release(&operation);
        }
    }
}

impl Drop for LaneChecks {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Have two operations bytes in common?
pub(crate) fn overlap(one: &Operation, other: &Operation) -> bool {
    let end = |operation: &Operation| operation.offset.saturating_add(u64::from(operation.bytes));
    takes(one.op) & takes(other.op) != 0 && one.offset < end(other) && other.offset < end(one)
}
