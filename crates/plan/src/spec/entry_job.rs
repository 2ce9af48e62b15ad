//! What fio's engines for names do (`filecreate`, `filestat`, `filedelete` and their kin for directories).

use super::files::LayoutKind;
use crate::generate::OperationKind;
use serde::{Deserialize, Serialize};

/// A job that goes through entries of a directory one behind the other, and does one operation to each, whatever is known of it: the first
/// that fails ends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryJob {
    /// The entries are directories.
    pub are_directories: bool,
    /// Ends after so many operations, which go through all entries over and over; `None`: only its time ends it.
    pub operations: Option<u64>,
    /// Ends this long after the run's start, warm-up included, ns.
    pub elapsed_ns: Option<u64>,
    /// Each round has an order of its own, by chance; otherwise the numbers'.
    pub is_random: bool,
    /// How attributes are asked for.
    pub stat: StatCall,
    /// What is missing, or is a file that is too short, is made so before the first run; `None`: it stays so.
    pub made: Option<LayoutKind>,
    /// What was not there before the first run is removed behind the job (`unlink=1`).
    pub unlinks: bool,
    /// What fio counts each operation as.
    pub counted: CountedAs,
}

/// The call that asks for attributes (`stat_type=`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StatCall {
    /// `stat(2)`: follows links.
    #[default]
    Stat,
    /// `lstat(2)`: follows none.
    Lstat,
    /// `statx(2)`, of all that it can say.
    Statx,
}

/// What fio counts an operation as that moves no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedAs {
    /// Reads or writes (`rw=`).
    pub op: OperationKind,
    /// So many I/Os: one for each `bs` in the file.
    pub ios: u64,
    /// Of so many bytes together.
    pub bytes: u64,
}
