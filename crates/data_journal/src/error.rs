//! What can go wrong with a journal.

use std::io;
use std::path::{Path, PathBuf};

/// A journal that cannot be made, written or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// There is one already.
    #[error(
        "{0} has a journal; check what it says before anything is written (--recover, or -jr), or name another directory (--journal)"
    )]
    Exists(PathBuf),
    /// There is none.
    #[error("{0} has no journal: no file of a name like 00000001.journal is there")]
    Missing(PathBuf),
    /// A session is still writing it.
    #[error("{path} is being written by process {pid}; wait for its end, or end it")]
    InUse {
        /// The journal.
        path: PathBuf,
        /// Who writes.
        pid: u32,
    },
    /// Its file system refuses.
    #[error("cannot {action} the journal {path}: {source}; what follows would not be in it, so the run ends here")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The segment or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be made or opened.
    #[error(transparent)]
    Output(#[from] output::OutputError),
    /// More than the format holds.
    #[error("{0}")]
    Limit(String),
}

impl JournalError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}
