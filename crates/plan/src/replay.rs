//! What of a trace is played again, where, and when: the wish ([`Replay`]), and [`ReplayMapper`], which turns traced I/Os
//! into operations on targets. No I/O.

mod chains;
mod io;
mod mapper;
mod patterns;

pub use crate::spec::replay::*;
pub use chains::ThreadChains;
pub use io::ReplayIo;
pub use mapper::{LATE_NS, ReplayChanges, ReplayMapper, TracePosition, TracedRequest, VolumeSize};
pub use patterns::{fits, matches_device};

#[cfg(test)]
mod tests;
