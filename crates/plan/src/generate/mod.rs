//! Turns a workload of the plan into operations, due times and data: pure, seeded, without I/O.
//!
//! | file | concern |
//! | --- | --- |
//! | [`operations`] | the stream of operations: what, where, how large |
//! | [`arrival_schedule`] | when each operation is due |
//! | [`content`] | the bytes that writes carry |
//! | `space` | the bytes of a target that a workload may touch, and aligned places in them |
//! | `address`, `sequential` | which of these places comes next |
//! | `file_pass`, `strided` | a pass over one file in fio's order, zone by zone |
//! | `block_map` | which blocks were visited, where transfers of different sizes must not overlap |
//! | `jump`, `hot_band` | where a seek goes |
//! | `skew`, `permutation` | uneven and exact-once choices among `n` places in O(1) memory |
//! | [`TargetTurns`] | which target of a job is next, and its end |
//! | [`JoinedStream`] | several targets as one address space |
//! | `mix` | which operation and which transfer size comes next |
//! | `volume` | where data goes, and its seeds |
//! | `dedup` | which blocks of the data are copies of others |
//! | `rng` | random numbers |
//!
//! Everything follows from one seed: the same seed, names and [`GeneratorPart`] give the same stream; another workload, target
//! or part gives an independent one.

mod address;
mod address_setting;
pub mod arrival_schedule;
mod block_map;
pub mod content;
mod dedup;
mod file_pass;
mod fit;
mod hot_band;
mod joined;
mod jump;
mod mix;
mod operation;
pub mod operations;
mod permutation;
mod placed_copies;
mod rng;
mod sequential;
mod skew;
mod space;
mod strided;
mod turns;
mod volume;

#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod window_tests;

pub use crate::op::{BLOCK_KINDS, HeldKinds, OperationKind};
pub use arrival_schedule::ArrivalSchedule;
pub use content::ContentGenerator;
pub use joined::JoinedStream;
pub use operation::Operation;
pub use operations::Operations;
pub use placed_copies::PlacedCopies;
pub use turns::TargetTurns;
pub use volume::{SECTOR_BYTES, SECTOR_MAGIC, WriteVolume, data_seed_of, writer_of};

/// What an opened target looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetGeometry {
    /// Size of the device or file; the smaller of this and the plan's own size is used.
    pub size_bytes: u64,
    /// Addresses and lengths are multiples of this: the logical block with direct I/O (512 or 4096), else 1.
    pub block_bytes: u32,
}

/// One of several equal generators that divide a workload between them, one per worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorPart {
    /// Which one, below `count`.
    pub index: u32,
    /// How many there are, at least 1.
    pub count: u32,
}

impl GeneratorPart {
    /// The only part of an undivided workload.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    fn check(self) -> Result<Self, GenerateError> {
        if self.index < self.count {
            Ok(self)
        } else {
            Err(GenerateError::Part { index: self.index, count: self.count })
        }
    }
}

/// A workload that cannot be generated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// Understood, not there yet.
    #[error("{of}: {what} is not built yet")]
    NotBuilt {
        /// `workload NAME`, `schedule` or `content`.
        of: String,
        /// What is missing.
        what: &'static str,
    },
    /// No transfer fits into the range.
    #[error(
        "workload {workload}: a transfer of {transfer_bytes} bytes does not fit into the {range_bytes} bytes that it \
         may use of target {target} (size {size_bytes} bytes{}); use smaller transfers or a larger range",
        grain_bytes.map_or(String::new(), |bytes| format!(
            "; its range begins and ends at multiples of the largest transfer of all runs, {bytes} bytes, a raw device's \
             behind the first of them, and without the hit area"
        ))
    )]
    DoesNotFit {
        /// Name of the workload.
        workload: String,
        /// Name of the target.
        target: String,
        /// Size of the target.
        size_bytes: u64,
        /// Bytes of all places that may be used.
        range_bytes: u64,
        /// The largest transfer, alignment included.
        transfer_bytes: u64,
        /// The target's grain, where it has one.
        grain_bytes: Option<u64>,
    },
    /// The hit area has no room for two of the largest transfers, which is what Vdbench asks for.
    #[error(
        "workload {workload}: its hit area on target {target} has {hit_bytes} bytes in whole transfers{}, and hits need room for two \
         of the largest transfers of all runs there, 2 × {grain_bytes} bytes; use a larger hitarea= or smaller transfers",
        if *without_first { " behind the device's first" } else { "" }
    )]
    HitArea {
        /// Name of the workload.
        workload: String,
        /// Name of the target.
        target: String,
        /// What is left of the area, its ends rounded.
        hit_bytes: u64,
        /// The target's grain.
        grain_bytes: u64,
        /// Does it leave the first transfer of a raw device alone?
        without_first: bool,
    },
    /// A transfer size that cannot be issued.
    #[error(
        "workload {workload}: transfer size of {transfer_bytes} bytes on target {target}: it must be a multiple of the \
         block of {block_bytes} bytes, above 0 and at most 2147483647 bytes"
    )]
    Transfer {
        /// Name of the workload.
        workload: String,
        /// Name of the target.
        target: String,
        /// The offending size.
        transfer_bytes: u64,
        /// Block of the target.
        block_bytes: u32,
    },
    /// A range that is empty or ends beyond the target.
    #[error(
        "range from {low} to {high} bytes on target {target}: it must start below its end, and an end in bytes must not \
         be beyond the size of {size_bytes} bytes (an end above 100 % wraps around)"
    )]
    Range {
        /// Name of the target.
        target: String,
        /// Size of the target.
        size_bytes: u64,
        /// First address asked for.
        low: u64,
        /// End asked for.
        high: u64,
    },
    /// A number outside of what it may be.
    #[error("{of}: {what} is {value}; it must be {allowed}")]
    Value {
        /// `workload NAME`, `schedule` or `content`.
        of: String,
        /// What the number is.
        what: &'static str,
        /// As given.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// Two settings that exclude each other.
    #[error("workload {workload}: {what}")]
    Conflict {
        /// Name of the workload.
        workload: String,
        /// What excludes what.
        what: &'static str,
    },
    /// A pattern of the user's, and duplicates of our making.
    #[error("content: duplicate blocks cannot be made of a pattern; leave out one of them")]
    Pattern,
    /// The caller's division of work makes no sense.
    #[error("part {index} of {count} does not exist; parts count from 0")]
    Part {
        /// Asked for.
        index: u32,
        /// Number of parts.
        count: u32,
    },
}
