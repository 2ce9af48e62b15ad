//! Recordings whose writer was killed: their journal holds everything, and can be sealed by somebody else.

use crate::journal::JOURNAL;
use crate::{Manifest, RecordingError, seal};
use rustix::fs::{FlockOperation, flock};
use std::fs::OpenOptions;
use std::path::Path;

/// What a recording that was sealed by somebody else says of its end.
pub(crate) const KILLED: &str = "killed";

/// Seals the recording in `directory` when nobody writes it any more; false when it is sealed, or being written.
///
/// # Errors
/// It is no recording, or a table could not be written; the journal stays then.
pub fn seal_abandoned(directory: &Path) -> Result<bool, RecordingError> {
    let mut manifest = Manifest::read(directory)?;
    let journal = directory.join(JOURNAL);
    if !journal.exists() {
        return Ok(false);
    }
    let file =
        OpenOptions::new().read(true).append(true).open(&journal).map_err(RecordingError::io("open", &journal))?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    if !manifest.sealed {
        manifest.exit = Some(manifest.exit.take().unwrap_or_else(|| KILLED.to_string()));
        seal::seal(directory, &mut manifest)?;
    }
    // Killed between the manifest and this: the tables are whole.
    std::fs::remove_file(&journal).map_err(RecordingError::io("remove", &journal))?;
    Ok(true)
}
