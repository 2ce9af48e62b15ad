//! What probes show live: folds over the batches of one interval, and of all.

mod cpu;
mod files;
mod io;
mod requests;
mod stacks;

pub use cpu::{CpuBy, CpuFold};
pub use files::{FileFold, FilesBy, FilesOrder};
pub use files::{by_bytes, by_mount, by_reads, by_written};
pub use io::{Distribution, IoBy, IoFold, IoGroup};
pub use requests::{Octave, Preempted, RequestFold, RequestGroup};
pub use stacks::{Seen, StackFold, StackGroup, StackOf};

/// Most rows of a table of names in reports.
const ROWS: usize = 50;
