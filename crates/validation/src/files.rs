//! Files after a crash: are they there, and how long are they?

use data_journal::{Crash, Existence, RecoveredFile};
use std::fmt;

/// What is wrong with a file as such, whatever its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileDamage {
    /// It is not there, and must be.
    Missing,
    /// It is there, and was removed or got another name for certain.
    Back,
    /// It is shorter than it must be at least.
    Short,
}

impl FileDamage {
    /// The name in recordings: it says what kept the promise, which is a sync where power was cut.
    #[must_use]
    pub fn name(self, crash: Crash) -> &'static str {
        match (self, crash) {
            (Self::Missing, Crash::PowerCut) => "missing_after_sync",
            (Self::Missing, Crash::ProcessDied) => "missing_file",
            (Self::Back, _) => "back_after_unlink",
            (Self::Short, Crash::PowerCut) => "shorter_than_synced",
            (Self::Short, Crash::ProcessDied) => "shorter_than_written",
        }
    }
}

/// A file that is not as it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFinding {
    /// What is wrong.
    pub damage: FileDamage,
    /// What was found: its length, or nothing.
    pub found: Option<u64>,
    /// It must have at least so many bytes.
    pub bytes_min: u64,
    /// How the session is taken to have ended.
    pub crash: Crash,
}

impl fmt::Display for FileFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { damage, found, bytes_min, crash } = *self;
        let by = if crash == Crash::PowerCut { "a sync has made durable" } else { "was written before the program died" };
        match damage {
            FileDamage::Missing => write!(f, "the file is not there; {by} that it is there, with at least {bytes_min} bytes"),
            FileDamage::Back => {
                let bytes = found.unwrap_or(0);
                let gone = if crash == Crash::PowerCut { ", and a sync has made that durable" } else { "" };
                write!(f, "the file is there, with {bytes} bytes; it was removed, or got another name{gone}")
            }
            FileDamage::Short => {
                let bytes = found.unwrap_or(0);
                let lost = bytes_min - bytes;
                write!(f, "the file has {bytes} bytes; {by} that it has at least {bytes_min}: {lost} are missing")
            }
        }
    }
}

/// Judges a file after a crash of this kind by what was found of it: its length, or `None`: it is not there. Gives `None` where that is
/// right, or nothing is promised.
#[must_use]
pub fn check_file(must: &RecoveredFile, crash: Crash, found: Option<u64>) -> Option<FileFinding> {
    let damage = match (found, must.existence) {
        (None, Existence::Must) => FileDamage::Missing,
        (Some(_), Existence::MustNot) => FileDamage::Back,
        (Some(bytes), _) if bytes < must.bytes_min => FileDamage::Short,
        _ => return None,
    };
    Some(FileFinding { damage, found, bytes_min: must.bytes_min, crash })
}
