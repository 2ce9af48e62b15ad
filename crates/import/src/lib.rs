//! Other tools' files into a recording: Vdbench's and fio's results, traces of many tools, and text that tools printed for
//! people.
//!
//! [`import()`] is a source: it makes a sealed recording, in which everything that the other tool did not keep is absent and
//! never invented; [`read_trace`] gives a trace's I/Os without one. Response times of tools that time from submission are
//! not recorded (theirs are service times), and where a tool kept only means there are no percentiles.

mod error;
mod fio;
mod fio_log;
mod options;
mod printed;
mod provenance;
mod recognise;
mod results;
mod source;
mod text;
mod traces;
mod vdbench;

pub use error::ImportError;
pub use options::{ImportOptions, ImportSummary};
pub use recognise::{formats, import, read_trace, read_trace_until};
