//! Why a run cannot start or go on.

use plan::generate::GenerateError;
use std::io;

/// An engine that cannot do what the run asks.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan asks for something impossible on this target.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// io_uring was demanded and cannot be had.
    #[error(
        "io_uring was asked for, but {0}; use --engine sync, or allow io_uring (kernel.io_uring_disabled, container seccomp)"
    )]
    NoUring(String),
    /// A system call of the set-up failed.
    #[error("failed to {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A target of the run was not opened.
    #[error("target number {0} of the plan is not open; this is a bug")]
    NotOpen(usize),
    /// The file with the data to write.
    #[error("failed to read the pattern {path}: {source}")]
    Pattern {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl EngineError {
    /// Is a privilege or a kernel feature missing?
    #[must_use]
    pub fn is_privilege(&self) -> bool {
        matches!(self, Self::NoUring(_))
    }

    /// Are the parameters wrong?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        matches!(self, Self::Generate(_) | Self::Pattern { .. })
    }

    pub(crate) fn system(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action, source }
    }
}
