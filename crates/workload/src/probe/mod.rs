//! What probes show live: folds over the batches of one interval, and of all.

mod cpu;
mod files;
mod io;
mod requests;
mod stacks;

pub use cpu::{CpuBy, CpuFold};
pub use files::{FileFold, FilesBy, FilesOrder};
pub use files::{by_bytes, by_mount, by_reads, by_written};
pub use io::{IoBy, IoFold, IoGroup, ValueCounts};
pub use requests::{PreemptedState, RequestFold, RequestGroup, ResponseOctave};
pub use stacks::{StackFold, StackGroup, StackOf, StackSamples};

/// Most rows of a table of names in reports.
const ROWS: usize = 50;
