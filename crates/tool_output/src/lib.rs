//! A recording in the words of other tools: the result files of Vdbench ([`flatfile`]) and the outputs of fio ([`fio_out`]).
//!
//! [`flatfile::write`] and [`fio_out::write`] are faces: they read a recording and nothing else, so a run that has just
//! ended and an old recording give the same files.

mod error;
pub mod fio_out;
pub mod flatfile;

pub use error::ToolOutputError;
