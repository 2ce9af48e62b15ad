//! What can go wrong with an output in another tool's words.

use output::OutputError;
use recording::RecordingError;
use std::io;
use std::path::{Path, PathBuf};

/// A file that cannot be written as asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolOutputError {
    /// The recording could not be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// An output stands in the way of another file, or cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A file could not be written.
    #[error("failed to write {path}: {source}")]
    Write {
        /// File.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The logs that a job asks for cannot be had.
    #[error("{0}")]
    Logs(String),
}

impl ToolOutputError {
    /// Did the user ask for something impossible, rather than something having failed?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        match self {
            Self::Recording(error) => error.is_parameter(),
            Self::Output(error) => error.is_parameter(),
            Self::Write { .. } => false,
            Self::Logs(_) => true,
        }
    }

    /// For `map_err`.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Write { path, source }
    }
}
