//! What goes wrong.

use plan::generate::GenerateError;
use std::io;

/// A run's lanes in trees cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TreeLoadError {
    /// The plan asks for something impossible.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The tree with this number among targets and trees was not opened.
    #[error("tree number {0} of the plan is not open; this is a bug")]
    NotOpen(usize),
}

/// Text of a failed result: a negative errno, or how few bytes a transfer moved.
#[must_use]
pub fn describe(result: i32) -> String {
    if result < 0 {
        io::Error::from_raw_os_error(-result).to_string()
    } else {
        format!("short transfer of {result} bytes")
    }
}
