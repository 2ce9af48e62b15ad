//! An operation that failed, as a worker notes it.

use plan::generate::OperationKind;
use std::io;

/// One failed operation.
#[derive(Clone, Debug)]
pub(crate) struct RawFailure {
    pub(crate) t_ns: u64,
    pub(crate) lane: usize,
    pub(crate) op: OperationKind,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) result: i32,
}

/// Text of a failed result: an errno, or a transfer that was too short.
pub(crate) fn describe(result: i32) -> String {
    if result < 0 {
        io::Error::from_raw_os_error(-result).to_string()
    } else {
        format!("short transfer of {result} bytes")
    }
}
