//! How a command ended, in terms of its documented exit codes.

use recording::RecordingExit;
use std::path::PathBuf;

/// How a command ended, worst first when several things happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandEnding {
    /// All that was asked for was done.
    Fine,
    /// An objective of the parameter file was missed.
    ObjectiveMissed,
    /// The run was interrupted by the user; its results were kept.
    Interrupted,
    /// A target failed too often, or went away.
    TargetFailed,
    /// The recording could not be written completely.
    RecordingIncomplete,
    /// Data that was read is not what was written.
    DataWrong,
}

impl CommandEnding {
    /// The process's exit code (README).
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::TargetFailed => 3,
            Self::DataWrong => 4,
            Self::ObjectiveMissed => 5,
            Self::RecordingIncomplete => 6,
            Self::Interrupted => 130,
        }
    }

    /// What the manifest says of it.
    pub fn exit(self) -> RecordingExit {
        match self {
            Self::Fine => RecordingExit::Complete,
            Self::TargetFailed => RecordingExit::TargetFailed,
            Self::DataWrong => RecordingExit::DataWrong,
            Self::ObjectiveMissed => RecordingExit::ObjectiveMissed,
            Self::RecordingIncomplete => RecordingExit::RecordingIncomplete,
            Self::Interrupted => RecordingExit::Interrupted,
        }
    }
}

/// What a command leaves behind.
#[derive(Clone, Debug)]
pub struct CommandOutcome {
    /// How it ended.
    pub ending: CommandEnding,
    /// The recording.
    pub directory: PathBuf,
    /// The report, when one was written.
    pub report: Option<PathBuf>,
    /// Sentences for the user, in order of importance.
    pub messages: Vec<String>,
    /// What came of the data where it was validated: said behind everything else, the verdict as the very last.
    pub verdict: Vec<String>,
    /// False when a replay was not like its trace.
    pub is_faithful: bool,
}
