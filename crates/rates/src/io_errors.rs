//! Which errors of an I/O are none.

/// "Not supported", of operations that a device need not have.
pub const EOPNOTSUPP: i32 = 95;
/// Operations that every device must be able to do, which its counters count.
pub const MUST: [&str; 3] = ["read", "write", "flush"];

/// Is it that a device has no such operation, and not that one went wrong?
pub fn is_lacking(op: &str, errno: Option<i32>) -> bool {
    !MUST.contains(&op) && errno == Some(EOPNOTSUPP)
}
