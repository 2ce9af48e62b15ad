//! What a workload does.

use serde::{Deserialize, Serialize};

/// Weights of the operations; they sum to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpMix {
    /// Reads.
    pub read: f64,
    /// Writes.
    pub write: f64,
    /// Trims (discards).
    pub trim: f64,
    /// Flushes as operations of the mix.
    pub flush: f64,
    /// An `fsync` after every this many writes, counted as a flush.
    pub fsync_every: Option<u32>,
    /// As `fsync_every` with `fdatasync`.
    pub fdatasync_every: Option<u32>,
    /// Trims and writes alternate, each place is trimmed and then written (fio's `trimwrite`).
    pub trim_then_write: bool,
}

impl OpMix {
    /// Reads with the rest writes.
    pub fn read_write(read: f64) -> Self {
        Self {
            read,
            write: 1.0 - read,
            trim: 0.0,
            flush: 0.0,
            fsync_every: None,
            fdatasync_every: None,
            trim_then_write: false,
        }
    }

    /// Does anything in the mix change what is on the target?
    pub fn changes_data(&self) -> bool {
        self.write > 0.0 || self.trim > 0.0
    }
}
