//! What was handed over and has not come back, slot by slot: so that the coordinator can tell the age of each operation
//! that is still in flight at the end, even when the worker hangs in the kernel.

use plan::generate::OperationKind;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PendingOp {
    /// Lane of the group.
    pub(crate) lane: usize,
    pub(crate) op: OperationKind,
    /// Times of the run, ns.
    pub(crate) due_ns: u64,
    pub(crate) submitted_ns: u64,
}

/// The operations of one worker by their slots. It grows to the worker's depth once and then stays.
#[derive(Debug, Default)]
pub(crate) struct Pending(Vec<Option<PendingOp>>);

impl Pending {
    /// `slot` was handed over.
    #[inline]
    pub(crate) fn begin(&mut self, slot: usize, operation: PendingOp) {
        if slot >= self.0.len() {
            self.grow(slot);
        }
        self.0[slot] = Some(operation);
    }

    #[cold]
    fn grow(&mut self, slot: usize) {
        self.0.resize((slot + 1).next_power_of_two().max(32), None);
    }

    /// `slot` came back.
    #[inline]
    pub(crate) fn end(&mut self, slot: usize) {
        if let Some(place) = self.0.get_mut(slot) {
            *place = None;
        }
    }

    /// What is in flight.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &PendingOp> {
        self.0.iter().flatten()
    }
}
