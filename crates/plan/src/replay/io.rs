//! An operation of a replay.

use crate::op::OperationKind;

/// One operation of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayIo {
    /// When it is due, ns after the start of the run.
    pub due_ns: u64,
    /// Byte in the target.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
    /// Index into [`Plan::targets`](crate::Plan::targets).
    pub target: u32,
    /// What.
    pub op: OperationKind,
    /// A write that must be durable when it completes.
    pub durable: bool,
    /// A trim that writes zeroes instead of giving blocks back.
    pub zeroes: bool,
    /// Number, from 1, of the operation whose completion it waits for; 0: of none.
    pub after: u64,
    /// It begins so long after that completion ([`Pacing::Closed`](super::ReplayPacing::Closed)), ns.
    pub think_ns: u64,
}
