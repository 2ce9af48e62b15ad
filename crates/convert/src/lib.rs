//! Other tools' files: Vdbench's results written from a recording; Vdbench's and fio's results, and traces of many tools,
//! read into one.
//!
//! [`flatfile::write`] is a face: it reads a recording and nothing else, so a run that has just ended and an old
//! recording give the same files. [`import::import`] is a source: it makes a sealed recording, in which everything that
//! the other tool did not keep is absent and never invented; [`import::read_trace`] gives a trace's I/Os without one.

mod error;
pub mod flatfile;
pub mod import;

pub use error::ConvertError;
