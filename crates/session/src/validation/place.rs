//! Where a journal lies, what it calls a target, and what is wrong with it.

use super::known_name;
use crate::SessionError;
use data_journal::JournalError;
use plan::{JournalSettings, Plan};
use std::path::{Path, PathBuf};

/// Of a recording at this path: a directory beside it.
pub(super) fn directory(settings: &JournalSettings, recording: &Path) -> PathBuf {
    settings.directory.clone().unwrap_or_else(|| recording.with_extension("journal"))
}

pub(super) fn wrong(error: &JournalError) -> SessionError {
    SessionError::Validation(vec![error.to_string()])
}

/// What a journal calls a target: its name, and by which path it is known.
pub(super) fn name_and_path(plan: &Plan, index: usize) -> String {
    let (name, path) = (plan.place_name(index), known_name(plan.place_path(index)));
    if name == path { path } else { format!("{name} ({path})") }
}
