//! Recordings whose writer was killed: their journal holds everything, and can be sealed by somebody else.

use crate::journal::{JOURNAL, UNREADABLE};
use crate::{Manifest, RecordingError, seal};
use rustix::fs::{FlockOperation, flock};
use std::fs::OpenOptions;
use std::path::Path;

/// What a recording that was sealed by somebody else says of its end.
const KILLED: &str = "killed";

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
        let (rows, skipped) = seal::seal(directory, &manifest)?;
        manifest.rows = rows;
        if skipped > 0 {
            manifest.losses.insert(UNREADABLE.to_string(), skipped);
        }
        manifest.exit = Some(manifest.exit.take().unwrap_or_else(|| KILLED.to_string()));
        manifest.sealed = true;
        manifest.write(directory)?;
    }
    // Killed between the manifest and this: the tables are whole.
    std::fs::remove_file(&journal).map_err(RecordingError::io("remove", &journal))?;
    Ok(true)
}
