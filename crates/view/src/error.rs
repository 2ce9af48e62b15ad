//! Why something could not be worked out of a recording.

use quantity::suggest::question;
use recording::RecordingError;

/// Why something could not be worked out of a recording.
#[derive(Debug, thiserror::Error)]
pub enum TableReadError {
    /// The recording could not be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A table does not have the shape that this version knows.
    #[error(
        "the recording's table {table} has no column {column} of type {expected}; it was written by another version"
    )]
    Column {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// What was expected.
        expected: &'static str,
    },
    /// A stored histogram cannot be decoded.
    #[error("a histogram in column {column} of table {table} is damaged: {reason}")]
    Histogram {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// Why.
        reason: String,
    },
    /// What is to be read as one is of several machines.
    #[error("the recordings are of {count} machines ({known}): --host NAME takes those of one of them")]
    Hosts {
        /// How many there are.
        count: usize,
        /// The first of them.
        known: String,
    },
    /// No recording is of the machine that was asked for.
    #[error("no recording is of the machine {host}; there are those of {known}")]
    NoHost {
        /// What was asked for.
        host: String,
        /// What there is.
        known: String,
    },
    /// No such view.
    #[error("there is no view `{id}`; {} `--list` shows all of them", question(nearest))]
    UnknownView {
        /// What was asked for.
        id: String,
        /// The catalogue's nearest.
        nearest: String,
    },
    /// No such run in any of several recordings.
    #[error("no recording has a run `{run}`; there are: {known}")]
    RunOfNone {
        /// What was asked for.
        run: String,
        /// Titles of those that exist.
        known: String,
    },
    /// No such run.
    #[error("the recording has no run `{run}`; it has {known}")]
    UnknownRun {
        /// What was asked for.
        run: String,
        /// Titles of those that exist.
        known: String,
    },
    /// What was asked for does not choose anything of the view.
    #[error("view `{id}`: {reason}")]
    Unfit {
        /// The view.
        id: String,
        /// Why.
        reason: String,
    },
    /// The view has nothing to show for this selection.
    #[error("the view `{id}` has nothing to show here: {reason}")]
    Empty {
        /// The view.
        id: String,
        /// Why.
        reason: String,
    },
}

impl TableReadError {
    /// Does the request name something that does not exist?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        matches!(
            self,
            Self::UnknownView { .. }
                | Self::UnknownRun { .. }
                | Self::RunOfNone { .. }
                | Self::Unfit { .. }
                | Self::Empty { .. }
                | Self::Hosts { .. }
                | Self::NoHost { .. }
        )
    }
}
