//! What data writes carry.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The data that writes carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriteContent {
    /// Uncompressed ÷ compressed, ≥ 1.
    pub compress_ratio: f64,
    /// Duplication.
    pub dedup: Option<DedupContent>,
    /// A file, or a directory of files, whose bytes are written.
    pub pattern: Option<PathBuf>,
    /// These bytes are written, over and over, from the start of every transfer; empty: not.
    pub literal: Vec<u8>,
    /// Seed of the data.
    pub seed: u64,
}

impl Default for WriteContent {
    fn default() -> Self {
        Self { compress_ratio: 1.0, dedup: None, pattern: None, literal: Vec::new(), seed: 0 }
    }
}

/// Duplicate blocks in the data that is written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DedupContent {
    /// All blocks ÷ unique blocks, ≥ 1.
    pub ratio: f64,
    /// Size of the blocks that are equal.
    pub unit_bytes: u64,
    /// Number of sets of equal blocks.
    pub sets: DedupSets,
    /// Targets with the same settings have their sets in common; the ratio is that of all of them together.
    pub across: bool,
}

impl DedupContent {
    /// Can a fraction of all blocks be sets and the ratio still be reached?
    pub fn allows_sets(ratio: f64, fraction: f64) -> bool {
        fraction > 0.0 && copied_share(ratio, fraction).is_some()
    }
}

/// The share `p` of all blocks that must be in sets so that all blocks ÷ unique blocks is `ratio`, when there are `sets`
/// per block. Unique are those outside, `1 − p`, and the sets that were hit, `sets × (1 − exp(−p ÷ sets))` for blocks
/// that choose their set by chance. `None`: there are too many sets.
pub(crate) fn copied_share(ratio: f64, sets: f64) -> Option<f64> {
    let unique = |p: f64| (1.0 - p) + sets * (1.0 - (-p / sets).exp());
    let wanted = 1.0 / ratio;
    if unique(1.0) > wanted {
        return None;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if unique(middle) > wanted { low = middle } else { high = middle }
    }
    Some(high)
}

/// Which blocks are equal to each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum DedupSets {
    /// So many sets, spread over the targets: a block that is written belongs to one of them by chance. The ratio is
    /// that of a target that was written as a whole, and stays when it is written again.
    Count(u64),
    /// As `Count`, as many as this fraction of all blocks of the targets.
    Fraction(f64),
    /// A copy is one of the block that was written before it (fio's `dedupe_percentage`): the ratio holds for whatever
    /// is written, in any order.
    Previous,
    /// A copy is one of the first so many blocks that the writer, or each of several writers, writes once (fio's
    /// `dedupe_mode=working_set`).
    WorkingSet {
        /// How many.
        pages: u64,
        /// Number of this writer among those that have them in common.
        job: u32,
        /// How many these are: 1: it keeps to its own. The pages are divided between all, beginning with its own.
        jobs: u32,
    },
}
