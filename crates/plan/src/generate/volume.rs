//! Where data goes: sectors, targets, and the seeds of what is written there.

use super::rng::derive;
pub use stamp::{SECTOR_BYTES, SECTOR_MAGIC};

/// Where data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteVolume {
    /// Differs from target to target, or their data will be duplicates of each other.
    pub seed: u64,
    /// Bytes of the target.
    pub bytes: u64,
    /// The same for all targets that share duplicates.
    pub all_seed: u64,
    /// Bytes of all those targets.
    pub all_bytes: u64,
    /// Who writes: differs between all that may write to the target in the course of an execution. What is common to
    /// them, the data of sets of duplicates, does not depend on it.
    pub writer: u64,
    /// Writes to the target may carry parts of blocks of duplicates: the place then decides which are copies of what.
    pub splits_blocks: bool,
}

impl WriteVolume {
    /// A target that shares nothing, and its only writer.
    pub fn alone(seed: u64, bytes: u64) -> Self {
        Self { seed, bytes, all_seed: seed, all_bytes: bytes, writer: 0, splits_blocks: false }
    }
}

/// The [`WriteVolume::writer`] of one part of a workload on one target, in a run with this seed.
#[must_use]
pub fn writer_of(run_seed: u64, workload: usize, target: usize, part: u32) -> u64 {
    derive(derive(derive(run_seed, workload as u64), target as u64), u64::from(part))
}

/// The seed of all data that an execution with this seed of the user's writes.
#[must_use]
pub fn data_seed_of(seed: u64) -> u64 {
    derive(seed, 0x6461_7461)
}
