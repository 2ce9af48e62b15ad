//! What of a trace is played again, where, and when: the wish ([`Replay`]), and [`Mapper`], which turns traced I/Os
//! into operations on targets. No I/O.

mod chains;
mod io;
mod mapper;
mod patterns;

pub use crate::spec::replay::*;
pub use chains::Chains;
pub use io::ReplayIo;
pub use mapper::{Changes, LATE_NS, Mapper, Source, Traced, VolumeSize};
pub use patterns::{fits, means};

#[cfg(test)]
mod tests;
