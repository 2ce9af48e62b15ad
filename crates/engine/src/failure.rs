//! An operation that failed, as a worker notes it.

use plan::generate::OperationKind;
pub(crate) use tree_load::describe;

/// Where an operation in a tree failed.
#[derive(Clone, Debug)]
pub(crate) struct FailedAt {
    /// Of the file or directory.
    pub(crate) path: String,
    /// The step that failed, where it was not the operation itself.
    pub(crate) step: Option<OperationKind>,
}

/// One failed operation.
#[derive(Clone, Debug)]
pub(crate) struct RawFailure {
    pub(crate) t_ns: u64,
    pub(crate) lane: usize,
    pub(crate) op: OperationKind,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) result: i32,
    /// Of an operation in a tree.
    pub(crate) at: Option<Box<FailedAt>>,
}
