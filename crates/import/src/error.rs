//! What can go wrong with an import.

use recording::RecordingError;
use std::io;
use std::path::{Path, PathBuf};

/// A file that cannot be imported as asked.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The recording could not be read or written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A file could not be read or written.
    #[error("failed to {action} {path}: {source}")]
    Io {
        /// `read`, `write` or `create`.
        action: &'static str,
        /// File.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not what it should be.
    #[error("{path}:{line}: {what}")]
    Malformed {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong and what was expected.
        what: String,
    },
    /// A binary file is not what it should be.
    #[error("{path}: the record at byte {offset}: {what}")]
    MalformedRecord {
        /// File.
        path: PathBuf,
        /// Where the record begins (of a compressed file, in what is compressed).
        offset: u64,
        /// What is wrong and what was expected.
        what: String,
    },
    /// A part was asked for of something that has no parts.
    #[error("{path} holds results ({format}), which are imported whole: --device, --from and --for are for traces")]
    NotATrace {
        /// File.
        path: PathBuf,
        /// Its format.
        format: &'static str,
    },
    /// The trace has I/Os, but none of those that were asked for.
    #[error("{path} has no I/O of the part that was asked for; {what}")]
    NothingSelected {
        /// File or directory.
        path: PathBuf,
        /// What there is.
        what: String,
    },
    /// What is to be imported is of several machines.
    #[error("{path} tells of several machines ({hosts}): --host NAME imports one of them")]
    Hosts {
        /// File or folder.
        path: PathBuf,
        /// Their names, each with the file that it is in.
        hosts: String,
    },
    /// No file names the machine that was asked for.
    #[error("{path}: nothing in it is of the machine {host}; {known}")]
    NoHost {
        /// File or folder.
        path: PathBuf,
        /// What was asked for.
        host: String,
        /// What there is.
        known: String,
    },
    /// A folder with more than one trace.
    #[error("{path} holds traces of several formats ({}, {} …): --format NAME chooses one", formats[0], formats[1])]
    Several {
        /// Folder.
        path: PathBuf,
        /// The first two that were found.
        formats: [&'static str; 2],
    },
    /// A pipe can be read once only.
    #[error("{0} is no regular file: say what it is with --format NAME")]
    Pipe(PathBuf),
    /// No import format fits this content.
    #[error("{path}{place} none of the formats that can be imported ({known}); --format NAME forces one")]
    Unknown {
        /// File or directory.
        path: PathBuf,
        /// Of a text: its first line that is not blank, with its number; else ` is`.
        place: String,
        /// Formats.
        known: String,
    },
    /// `--format` with a name that there is not.
    #[error("there is no import format `{name}`; there are: {known}")]
    UnknownFormat {
        /// What was asked for.
        name: String,
        /// Formats.
        known: String,
    },
}

impl ImportError {
    /// Did the user ask for something impossible, rather than something having failed?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        match self {
            Self::Recording(error) => error.is_parameter(),
            Self::Io { action, .. } => *action == "read",
            Self::Malformed { .. }
            | Self::MalformedRecord { .. }
            | Self::NotATrace { .. }
            | Self::NothingSelected { .. }
            | Self::Several { .. }
            | Self::Hosts { .. }
            | Self::NoHost { .. }
            | Self::Pipe(_)
            | Self::Unknown { .. }
            | Self::UnknownFormat { .. } => true,
        }
    }

    /// For `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}
