//! Other tools' result files: Vdbench's written from a recording, Vdbench's and fio's read into one.
//!
//! [`flatfile::write`] is a face: it reads a recording and nothing else, so a run that has just ended and an old
//! recording give the same files. [`import::import`] is a source: it makes a sealed recording, in which everything that
//! the other tool did not keep is absent and never invented.

mod error;
pub mod flatfile;
pub mod import;

pub use error::ConvertError;
