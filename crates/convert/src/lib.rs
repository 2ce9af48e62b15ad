//! Other tools' files: Vdbench's results and fio's outputs written from a recording; Vdbench's and fio's results, and traces
//! of many tools, read into one.
//!
//! [`flatfile::write`] and [`fio_out::write`] are faces: they read a recording and nothing else, so a run that has just ended and an old
//! recording give the same files. [`import::import`] is a source: it makes a sealed recording, in which everything that
//! the other tool did not keep is absent and never invented; [`import::read_trace`] gives a trace's I/Os without one.

mod error;
pub mod fio_out;
pub mod flatfile;
pub mod import;

pub use error::ConvertError;
