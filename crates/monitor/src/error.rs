//! What can end a command early.

use recording::RecordingError;
use std::path::PathBuf;

/// Why a command that watches could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// I/O cannot be traced.
    #[error(transparent)]
    Trace(#[from] trace::TraceError),
    /// The recording could not be written or read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The command that was to be recorded failed to start.
    #[error("failed to start the command: {0}")]
    Start(std::io::Error),
    /// A recording cannot be read.
    #[error(transparent)]
    Analyze(#[from] view::TableReadError),
    /// Nothing of a page is in it.
    #[error("{} is a recording without samples of a machine or I/Os: there is nothing to show of it", .0.display())]
    NoSamples(PathBuf),
    /// No collector writes in this directory.
    #[error("no collector writes in {}: start one with `iodyno record -d {}`{}", .directory.display(), .directory.display(),
        .newest.as_ref().map(|path| format!(", or look at the newest recording with `iodyno top {}`", path.display())).unwrap_or_default())]
    NotCollecting {
        /// The directory that was searched.
        directory: PathBuf,
        /// The newest recording there.
        newest: Option<PathBuf>,
    },
    /// The system has no threads left.
    #[error("failed to start a thread to {what}: {source}")]
    Thread {
        /// What it was to do.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// Two collectors on one directory would mix up each other's recordings.
    #[error("process {holder} collects in {directory} already; stop it, or name another directory")]
    Occupied {
        /// The directory.
        directory: PathBuf,
        /// Number of the process.
        holder: String,
    },
    /// A collector has a directory of its own.
    #[error(
        "{} holds what no collector made: {found}. A collector removes old recordings, so it has a directory of its own: name a new or an empty one, such as {}", .directory.display(), .directory.join("collector").display()
    )]
    NotEmpty {
        /// The directory.
        directory: PathBuf,
        /// The first names in it.
        found: String,
    },
    /// Others can write in a collector's directory.
    #[error(
        "{} is not for this user alone ({why}), and a collector removes old recordings there: take that away (`chmod go-w`, `chown`), name another directory, or add --allow-shared", .directory.display()
    )]
    Shared {
        /// The directory.
        directory: PathBuf,
        /// Who can write there.
        why: String,
    },
    /// A collector's directory is gone.
    #[error(
        "{} was removed while iodyno recorded to it: {samples} samples of the recording under way are lost, and no other one can begin there; start it again", .directory.display()
    )]
    Removed {
        /// The directory.
        directory: PathBuf,
        /// Samples in the recording that was being written.
        samples: u64,
    },
    /// One of a collector's own files is not what it should be.
    #[error("{} {why}; it was left as it is: move it away, or name another directory", .path.display())]
    Strange {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file or folder could not be made, replaced or removed, or something stands in its way.
    #[error(transparent)]
    Output(#[from] output::OutputError),
    /// A file that belongs to the results could not be written.
    #[error("failed to write {path}: {}", output::system_words(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
