//! Counts of the operations of a load, by kind.

use crate::KnownSum;
use plan::generate::OperationKind;
use std::ops::AddAssign;

/// How many kinds of operations rows of intervals have: all of the catalogue but executions of programs, which have tables of
/// their own.
const KINDS: usize = OperationKind::ALL.len() - OperationKind::COMMANDS.len();

/// Names of the operations, in the catalogue's order: those on blocks, then those in trees of files.
pub const OPS: [&str; KINDS] = {
    let mut names = [""; KINDS];
    let (mut from, mut to) = (0, 0);
    while from < OperationKind::ALL.len() {
        let kind = OperationKind::ALL[from];
        if !matches!(kind, OperationKind::Command) {
            names[to] = kind.name();
            to += 1;
        }
        from += 1;
    }
    names
};

/// How many of them, the first, blocks have.
const BLOCK_OPS: usize = OperationKind::BLOCKS.len();

/// Name of what [`OPS`] does not know: operations of a later version or another tool.
const OTHER: &str = "other";

/// Place of an operation in [`OpCounts`]; all that [`OPS`] does not know have the one behind its last.
#[must_use]
pub fn op_place(op: &str) -> usize {
    OPS.iter().position(|known| *known == op).unwrap_or(OPS.len())
}

/// Name of the operation at a place; `other` behind the last of [`OPS`].
#[must_use]
pub fn op_name(place: usize) -> &'static str {
    OPS.get(place).copied().unwrap_or(OTHER)
}

/// Counts by the place of the operation ([`op_place`]); only those that occurred take room.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpCounts {
    /// In the order of places.
    counts: Vec<(usize, OpCount)>,
}

impl OpCounts {
    /// Counts of the operation at this place; zeros where it did not occur.
    #[must_use]
    pub fn at(&self, place: usize) -> OpCount {
        let found = self.counts.binary_search_by_key(&place, |(place, _)| *place);
        found.ok().and_then(|at| self.counts.get(at)).map_or_else(OpCount::default, |(_, count)| *count)
    }

    /// Counts of the operation of this name; of one that is not in [`OPS`] those of all such.
    #[must_use]
    pub fn of(&self, op: &str) -> OpCount {
        self.at(op_place(op))
    }

    /// Adds to the operation at this place.
    pub fn add(&mut self, place: usize, more: OpCount) {
        match self.counts.binary_search_by_key(&place, |(place, _)| *place) {
            Ok(at) => self.counts[at].1 += more,
            Err(at) => self.counts.insert(at, (place, more)),
        }
    }

    /// Adds all of another interval or lane.
    pub fn merge(&mut self, more: &Self) {
        more.counts.iter().for_each(|(place, count)| self.add(*place, *count));
    }

    /// Counts of the operations that have rows, in the order of places.
    pub fn iter(&self) -> impl Iterator<Item = &OpCount> {
        self.counts.iter().map(|(_, count)| count)
    }

    /// The same with the names of the operations.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &OpCount)> {
        self.counts.iter().map(|(place, count)| (op_name(*place), count))
    }

    /// All operations together.
    #[must_use]
    pub fn sum(&self) -> OpCount {
        let mut sum = OpCount::default();
        self.iter().for_each(|count| sum += *count);
        sum
    }

    /// What of them read and wrote data.
    #[must_use]
    pub fn data(&self) -> DataOps {
        let mut data = DataOps::default();
        self.named().for_each(|(op, count)| data.add(op, count.ops));
        data
    }
}

/// Does this kind read data, and write none?
#[must_use]
pub fn reads_data(op: &str) -> bool {
    matches!(op, "read" | "readfile" | "mmapread")
}

/// Does this kind write data, and read none? `zone_append` is the write of a trace of a block device.
#[must_use]
pub fn writes_data(op: &str) -> bool {
    matches!(op, "write" | "append" | "writefile" | "mmapwrite" | "zone_append")
}

/// Does it carry bytes between memory and its place, or from file to file?
#[must_use]
pub fn moves_data(op: &str) -> bool {
    OperationKind::of_name(op).is_some_and(OperationKind::moves_data)
}

/// How many operations read data and how many wrote data; all others are neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataOps {
    /// Completed operations that read ([`reads_data`]).
    pub reads: i64,
    /// Completed operations that wrote ([`writes_data`]).
    pub writes: i64,
}

impl DataOps {
    /// Counts so many operations of this kind, where it reads or writes data.
    pub fn add(&mut self, op: &str, ops: i64) {
        if reads_data(op) {
            self.reads += ops;
        } else if writes_data(op) {
            self.writes += ops;
        }
    }

    /// Reads ÷ (reads + writes), 0 to 1; `None` where neither occurred.
    #[must_use]
    pub fn read_share(self) -> Option<f64> {
        let both = self.reads + self.writes;
        (both > 0).then(|| self.reads as f64 / both as f64)
    }

    /// The same, per cent.
    #[must_use]
    pub fn read_percent(self) -> Option<f64> {
        self.read_share().map(|share| 100.0 * share)
    }
}

impl AddAssign for DataOps {
    fn add_assign(&mut self, more: Self) {
        self.reads += more.reads;
        self.writes += more.writes;
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_catalogue_but_commands_has_its_place() {
        let names: Vec<&str> =
            OperationKind::ALL.iter().map(|kind| kind.name()).filter(|op| *op != "command").collect();
        assert_eq!(OPS.as_slice(), names.as_slice());
        assert!(OPS.iter().enumerate().all(|(place, op)| op_place(op) == place && op_name(place) == *op));
        assert_eq!((op_place("command"), op_name(OPS.len())), (OPS.len(), "other"));
        assert!(OPS.iter().all(|op| is_of_trees(op) != ["read", "write", "trim", "flush"].contains(op)));
    }

    #[test]
    fn what_reads_or_writes_moves_data_and_copies_are_neither() {
        let neither: Vec<&str> =
            OPS.into_iter().filter(|op| moves_data(op) && !reads_data(op) && !writes_data(op)).collect();
        assert_eq!(neither, ["copy", "copyrange"]);
        assert!(OPS.iter().filter(|op| reads_data(op) || writes_data(op)).all(|op| moves_data(op)));
        assert!(!OPS.iter().any(|op| reads_data(op) && writes_data(op)));
    }

    #[test]
    fn counts_stay_with_their_operation_whatever_the_order() {
        let count = |ops| OpCount { ops, bytes: ops * 10, ..OpCount::default() };
        let mut counts = OpCounts::default();
        for (op, ops) in [("mmapread", 3), ("append", 4), ("later_kind", 5), ("copyrange", 9), ("append", 1)] {
            counts.add(op_place(op), count(ops));
        }
        let named: Vec<_> = counts.named().map(|(op, count)| (op, count.ops)).collect();
        assert_eq!(named, [("append", 5), ("mmapread", 3), ("copyrange", 9), ("other", 5)]);
        assert_eq!((counts.of("read"), counts.sum().bytes), (OpCount::default(), 220));
        assert_eq!((counts.data(), counts.data().read_percent()), (DataOps { reads: 3, writes: 5 }, Some(37.5)));
        assert_eq!(DataOps::default().read_percent(), None);
    }
}
