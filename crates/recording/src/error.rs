//! What can go wrong with a recording.

use output::OutputError;
use std::io;
use std::path::{Path, PathBuf};

/// A recording that cannot be written or read as asked.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The directory is there already.
    #[error("{0} exists; a recording never goes into an existing directory, name another one")]
    Exists(PathBuf),
    /// Not a recording.
    #[error("{path} is not a recording: {why}")]
    NotARecording {
        /// Directory.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A recording that this user may not read.
    #[error(
        "{path} cannot be read{}: its owner makes it readable for a group with `chgrp -R GROUP {path}` and `chmod -R g+rX {path}`, or from the start with `--mode 0640 --group GROUP` when it is recorded ({file}: permission denied)",
        owner.as_ref().map_or(String::new(), |owner| format!(", it belongs to {owner}"))
    )]
    Denied {
        /// Directory.
        path: PathBuf,
        /// What was refused.
        file: String,
        /// User who has it, where that can be seen.
        owner: Option<String>,
    },
    /// A recording of which a part is damaged, as far as one must know it to read the rest.
    #[error("{path} is damaged: {why}; `iodyno repair RECORDING` keeps what is whole")]
    Damaged {
        /// Directory, or the file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// Its writer was killed, and what that wrote is gone.
    #[error(
        "{0} is damaged: it was never sealed and its journal is gone, so that no rows are left; put the journal back, or remove the folder"
    )]
    NothingLeft(PathBuf),
    /// Its writer lives.
    #[error("{0} is being written; it can be repaired when its writer has ended")]
    BeingWritten(PathBuf),
    /// Others took away the journal that was being written.
    #[error("{0} was removed while it was being written: what it held is lost")]
    Removed(PathBuf),
    /// Something else has the journal's name.
    #[error("{0} is not the journal of this recording, and was left as it is; move it away")]
    ForeignJournal(PathBuf),
    /// Written by a newer version.
    #[error("{path} has recording format {found}, this program reads up to {known}; use a newer iodyno")]
    Newer {
        /// Directory.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that is understood.
        known: u32,
    },
    /// A file could not be read or written.
    #[error("failed to {action} {path}: {}", output::system_words(source))]
    Io {
        /// `write`, `read`, `create`, …
        action: &'static str,
        /// File.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No such table.
    #[error("there is no table `{name}` here; there are: {known}")]
    UnknownTable {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A sealed table has other rows than the manifest says.
    #[error(
        "table {table} has {found} rows in its files, and manifest.json says {stated}: they were exchanged, or one is missing{}",
        path.as_ref().map_or(String::new(), |path| format!(" ({})", path.display()))
    )]
    Rows {
        /// Table.
        table: String,
        /// Rows in its files.
        found: u64,
        /// Rows that the manifest states.
        stated: u64,
        /// Its first file; `None` where there is none.
        path: Option<PathBuf>,
    },
    /// A table's name in the recording that could lead out of it.
    #[error("{path} is refused: {source}; it is damaged, or was made to do harm")]
    TableName {
        /// The file with the name.
        path: PathBuf,
        /// The name.
        source: OutputError,
    },
    /// Something else stands where a file of the recording belongs.
    #[error(transparent)]
    Output(OutputError),
    /// Arrow or Parquet refused.
    #[error("failed to encode or decode table {table}: {why}")]
    Format {
        /// Table.
        table: String,
        /// Why.
        why: String,
    },
    /// A column has another type than the catalogue says.
    #[error("column {column} of table {table} is not {expected}")]
    Column {
        /// Table.
        table: &'static str,
        /// Column.
        column: String,
        /// Type.
        expected: &'static str,
    },
    /// A face could not be written to.
    #[error("failed to write to {face}: {}", output::system_words(source))]
    Face {
        /// `standard output`.
        face: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl RecordingError {
    /// Did the user ask for something impossible, rather than something having failed?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        matches!(
            self,
            Self::Exists(_)
                | Self::BeingWritten(_)
                | Self::UnknownTable { .. }
                | Self::NotARecording { .. }
                | Self::Output(_)
        )
    }

    /// Does it need a permission that this process does not have?
    #[must_use]
    pub fn is_privilege(&self) -> bool {
        match self {
            Self::Denied { .. } => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }

    /// For `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// Checks a table's name that was read from `path`, before it becomes part of a path.
    pub(crate) fn check_table_name(name: &str, path: &Path) -> Result<(), Self> {
        match output::table_name(name) {
            Ok(_) => Ok(()),
            Err(source) => Err(Self::TableName { path: path.to_path_buf(), source }),
        }
    }

    /// What is wrong, where what to do about it is said elsewhere.
    pub(crate) fn what(&self) -> String {
        match self {
            Self::Damaged { path, why } => format!("{} is damaged: {why}", path.display()),
            other => other.to_string(),
        }
    }

    /// For `map_err` over Arrow and Parquet.
    pub(crate) fn format<E: std::fmt::Display>(table: &str) -> impl FnOnce(E) -> Self {
        let table = table.to_string();
        move |why| Self::Format { table, why: why.to_string() }
    }
}

impl From<OutputError> for RecordingError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Io { action, path, source } => Self::Io { action, path, source },
            other => Self::Output(other),
        }
    }
}
