//! A recording that was begun and is not wanted.

use crate::RecordingError;
use crate::journal::JOURNAL;
use crate::manifest::MANIFEST;
use output::Folder;
use std::path::Path;

/// Removes a recording that this process began and did not seal: its journal, its manifest, and its directory when nothing
/// else is in it. What others put there stays, and with it the directory.
///
/// # Errors
/// Something cannot be removed.
pub fn discard(directory: &Path) -> Result<(), RecordingError> {
    let folder = Folder::open(directory)?;
    for name in [MANIFEST, JOURNAL] {
        if folder.kind(name)?.is_some() {
            folder.remove_file(name)?;
        }
    }
    drop(folder);
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = directory.file_name().unwrap_or_default();
    Ok(Folder::open(parent)?.remove_folder(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Manifest, Writer};

    #[test]
    fn a_recording_that_is_given_up_takes_nothing_of_others_with_it() {
        let place = tempfile::tempdir().unwrap();
        for name in ["alone", "shared"] {
            let directory = place.path().join(name);
            drop(Writer::create(&directory, Manifest::new(&[])).unwrap());
            if name == "shared" {
                std::fs::write(directory.join("NOTES.txt"), "mine").unwrap();
            }
            assert_eq!(discard(&directory).is_ok(), name == "alone");
        }
        assert!(!place.path().join("alone").exists());
        let left: Vec<_> = std::fs::read_dir(place.path().join("shared")).unwrap().flatten().collect();
        assert_eq!((left.len(), left[0].file_name()), (1, "NOTES.txt".into()));
    }
}
