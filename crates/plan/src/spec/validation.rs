//! What is to be proved of the data.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Data validation of a plan: everything that is written is stamped, and everything that is read is checked against what was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidationSettings {
    /// A block is read and checked before it is written (Vdbench, unless `-vw`).
    pub reads_before_write: bool,
    /// … and right behind its write (`-vr`).
    pub reads_after_write: bool,
    /// At the end, everything that was written is read once.
    pub sweeps: bool,
    /// Times of the last write and the last good read of each block are kept (`-vt`): 8 bytes more per block.
    pub keeps_times: bool,
    /// Blocks of which nothing is known must be what their stamps say (fio's reads with `verify=`): those that jobs with
    /// [`crate::Job::checks_unknown`] read, and workloads that are no jobs.
    pub checks_unknown: bool,
    /// Trimmed blocks read as zeroes; `None`: of files and loop devices, as their file systems promise, and of no others.
    pub trims_read_zero: Option<bool>,
    /// The journal that outlives a crash; `None`: there is none.
    pub journal: Option<JournalSettings>,
}

impl Default for ValidationSettings {
    /// Reads are checked, and all that was written is read at the end.
    fn default() -> Self {
        Self {
            reads_before_write: false,
            reads_after_write: false,
            sweeps: true,
            keeps_times: false,
            checks_unknown: false,
            trims_read_zero: None,
            journal: None,
        }
    }
}

/// A journal of what was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalSettings {
    /// Where it lies; `None`: beside the recording.
    pub directory: Option<PathBuf>,
    /// It is there already: what it says is checked before the first run (`-jr`).
    pub recovers: bool,
    /// … and nothing else is done (`-jro`).
    pub recovers_only: bool,
    /// Power was cut, although the machine was not started again.
    pub after_crash: bool,
    /// It may lie on the device whose data it is about.
    pub allows_same_device: bool,
    /// A checkpoint is made after so many bytes; `None`: 64 MiB.
    pub checkpoint_bytes: Option<u64>,
}
