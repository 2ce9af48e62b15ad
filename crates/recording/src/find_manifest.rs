//! Which manifest is a recording's: the one in its folder, its copy, or what the journal has of it.

use crate::manifest::{COPY, MANIFEST};
use crate::sealed::files_are_of;
use crate::{Manifest, RecordingError, journal};
use std::path::Path;

impl Manifest {
    /// Reads the manifest in `directory`, or where that is damaged, older than its copy, or another recording's, what else
    /// has it; and then why.
    pub(crate) fn find(directory: &Path) -> Result<(Self, Option<String>), RecordingError> {
        let error = match Self::read(directory) {
            Ok(manifest) if manifest.belongs(directory, Some(COPY)) => return manifest.or_its_copy(directory),
            Ok(manifest) => RecordingError::Damaged {
                path: directory.to_path_buf(),
                why: format!("{MANIFEST} is another recording's (id {:?})", manifest.id),
            },
            Err(
                error @ (RecordingError::Damaged { .. }
                | RecordingError::NotARecording { .. }
                | RecordingError::Denied { .. }),
            ) => error,
            Err(error) => return Err(error),
        };
        let why = match &error {
            RecordingError::Damaged { why, .. } | RecordingError::NotARecording { why, .. } => why.clone(),
            other => other.to_string(),
        };
        let copy = Self::read_file(directory, COPY).ok().filter(|copy| copy.belongs(directory, None));
        let found = copy.map(|manifest| (manifest, COPY));
        let found = found.or_else(|| Some((journal::manifest(directory)?, journal::JOURNAL)));
        let Some((manifest, from)) = found else { return Err(error) };
        Ok((manifest, Some(format!("{why}; what it said is read from {from}"))))
    }

    /// Does what else stands in `directory` have this identity? One that has it is enough, and where nothing tells of another
    /// it is believed.
    fn belongs(&self, directory: &Path, other: Option<&str>) -> bool {
        if self.format_version < 2 {
            // Nothing else tells.
            return true;
        }
        let of_journal = journal::belongs_to(directory, self);
        let has_same = |name: &str| Self::read_file(directory, name).is_ok_and(|other| other.id == self.id);
        if of_journal == Some(true) || other.is_some_and(has_same) {
            return true;
        }
        match files_are_of(directory, &self.id) {
            Some(of_files) => of_files,
            None => of_journal.is_none(),
        }
    }

    /// Its copy where that was written later: the recording is sealed, and this is from before.
    fn or_its_copy(self, directory: &Path) -> Result<(Self, Option<String>), RecordingError> {
        if self.sealed || journal::is_there(directory) {
            return Ok((self, None));
        }
        // Sealed between the two looks?
        let again = Self::read(directory)?;
        let copy = Self::read_file(directory, COPY).ok().filter(|copy| copy.sealed && copy.id == again.id);
        match copy.filter(|_| !again.sealed) {
            Some(copy) => {
                let why = format!("{MANIFEST} is from before it was sealed; what it said then is read from {COPY}");
                Ok((copy, Some(why)))
            }
            None => Ok((again, None)),
        }
    }

    /// Reads the one in `directory`, which must be of this recording.
    pub(crate) fn read_own(directory: &Path) -> Result<Self, RecordingError> {
        match Self::find(directory)? {
            (manifest, None) => Ok(manifest),
            (_, Some(why)) => Err(RecordingError::Damaged { path: directory.to_path_buf(), why }),
        }
    }
}
