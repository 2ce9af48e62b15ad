//! Numbers of a recording.

/// All numbers of a recording are signed; none of ours comes near the limit.
pub fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
