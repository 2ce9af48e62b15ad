//! Counts of the operations of a load, by kind.

use crate::KnownSum;
use std::ops::AddAssign;

/// The operations in the order of [`IntervalFacts::ops`](crate::IntervalFacts::ops): those on blocks, then those in trees of files.
pub const OPS: [&str; 15] = [
    "read", "write", "trim", "flush", "mkdir", "rmdir", "create", "delete", "copy", "move", "getattr", "setattr",
    "access", "open", "close",
];

/// How many of them, the first, blocks have.
const BLOCK_OPS: usize = 4;

/// Counts by kind, in the order of [`OPS`].
pub type OpCounts = [OpCount; OPS.len()];

/// Counts of one operation in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OpCount {
    /// Arrivals.
    pub arrivals: KnownSum<i64>,
    /// Completions.
    pub ops: i64,
    /// Bytes moved.
    pub bytes: i64,
    /// Failures.
    pub errors: KnownSum<i64>,
}

impl AddAssign for OpCount {
    fn add_assign(&mut self, more: Self) {
        self.arrivals += more.arrivals;
        self.ops += more.ops;
        self.bytes += more.bytes;
        self.errors += more.errors;
    }
}

/// Is this kind done to directories and files only? Then the run works in a tree.
#[must_use]
pub fn is_of_trees(op: &str) -> bool {
    OPS.iter().position(|known| *known == op).is_some_and(|at| at >= BLOCK_OPS)
}

/// All operations together.
pub fn sum_of(ops: &[OpCount]) -> OpCount {
    ops.iter().fold(OpCount::default(), |mut sum, count| {
        sum += *count;
        sum
    })
}
