//! What a worker is to do next.

use plan::generate::{Operation, OperationKind};

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Issue this.
    Issue(Issue),
    /// Nothing before this time of the run.
    At(u64),
    /// Nothing before something comes back.
    Blocked,
    /// Nothing ever more.
    Ended,
}

/// An operation with its lane and due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) lane: u32,
    pub(crate) operation: Operation,
    pub(crate) due_ns: u64,
}

impl Issue {
    /// What stands in a slot that was never used.
    pub(crate) const IDLE: Self =
        Self { lane: 0, operation: Operation { op: OperationKind::Read, offset: 0, bytes: 0 }, due_ns: 0 };
}
