//! How a target is validated.

use plan::generate::PlacedCopies;
use stamp::StampFlags;

/// How a target is validated.
#[derive(Clone, Debug)]
pub struct TargetRules {
    /// Index in the plan.
    pub target: usize,
    /// [`device_id`] of its name.
    pub device: u64,
    /// Executions whose data may be there; this one first.
    pub runs: Vec<u64>,
    /// Bytes of the target.
    pub size_bytes: u64,
    /// Bytes of a block: a multiple of 512 of which all transfers and their addresses are multiples.
    pub block_bytes: u64,
    /// Ratio by which its data are to compress.
    pub compress_ratio: f64,
    /// Blocks that are equal to others; `None`: all are different.
    pub copies: Option<TargetCopies>,
    /// What is in the stamps of all its writes.
    pub flags: StampFlags,
    /// Trimmed blocks read as zeroes; otherwise anything may be found there.
    pub trims_read_zero: bool,
    /// Blocks of which nothing is known must be what their stamps say; otherwise they are only counted.
    pub checks_unknown: bool,
}

/// The copies of a target.
#[derive(Clone, Debug)]
pub struct TargetCopies {
    /// Which blocks are copies.
    pub placed: PlacedCopies,
    /// In place of the target in the stamps of copies; targets that share their sets have the same.
    pub domain: u64,
}
