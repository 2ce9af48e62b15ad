//! I/Os that failed: which errors are none, and how many are new.

use crate::counter::delta_i64;
use recording::rows::IoError;

/// "Not supported", of operations that a device need not have.
pub const EOPNOTSUPP: i32 = 95;
/// Operations that every device must be able to do, which its counters count.
pub const MUST: [&str; 3] = ["read", "write", "flush"];

/// Is it that a device has no such operation, and not that one went wrong?
pub fn is_lacking(op: &str, errno: Option<i32>) -> bool {
    !MUST.contains(&op) && errno == Some(EOPNOTSUPP)
}

/// I/Os of a row's kind that failed since the row before, whose count is `before`; `None` where none did, or it is not known.
/// A kind without such a row is new, unless the reader joined a recording that runs (`joins`) and the first of them failed
/// before its first sample (`began_ns`): that was at another time.
#[must_use]
pub fn failed_since(row: &IoError, before: Option<i64>, joins: bool, began_ns: Option<i64>) -> Option<i64> {
    let is_new = !joins || began_ns.is_some_and(|began_ns| row.first_ns > began_ns);
    let before = before.or(is_new.then_some(0))?;
    delta_i64(row.count, before).filter(|count| *count > 0)
}
