//! Why a directory was not measured at all.

use std::io;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// It is a link.
    #[error("{0}: a symbolic link, which is not followed: write {0}/ for the directory that it leads to")]
    Link(String),
    /// It could not be opened.
    #[error("failed to open {path}: {}", output::system_words(.error))]
    Open {
        /// Which.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// Its exact shape is none that a tree can have.
    #[error("the exact shape cannot be kept: {0}; leave out --exact, or measure a directory below it")]
    Shape(String),
    /// No thread could be started.
    #[error("failed to start a thread: {}", output::system_words(.0))]
    Thread(io::Error),
}

impl ScanError {
    /// May this user not read it?
    #[must_use]
    pub fn is_privilege(&self) -> bool {
        matches!(self, Self::Open { error, .. } if error.kind() == io::ErrorKind::PermissionDenied)
    }
}
