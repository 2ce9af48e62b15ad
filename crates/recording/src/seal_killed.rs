//! Recordings whose writer was killed: their journal holds everything, and another process can seal it.

use crate::inventory::is_journal_of;
use crate::journal::{JOURNAL, remove_journal};
use crate::{Manifest, RecordingError, RecordingExit, seal};
use output::Folder;
use rustix::fs::{FlockOperation, flock};
use std::path::Path;

/// Seals the recording in `directory` when its writer is gone; false when it is sealed, or being written.
///
/// # Errors
/// It is no recording, its journal is another's file, or a table could not be written; the journal stays then.
pub fn seal_unfinished(directory: &Path) -> Result<bool, RecordingError> {
    let mut manifest = Manifest::read_own(directory)?;
    if !directory.join(JOURNAL).exists() {
        return Ok(false);
    }
    let folder = Folder::open(directory)?;
    let file = folder.open_to_append(JOURNAL)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    if !is_journal_of(&folder, &manifest) {
        return Err(RecordingError::ForeignJournal(directory.join(JOURNAL)));
    }
    if !manifest.sealed {
        manifest.exit = Some(manifest.exit.take().unwrap_or(RecordingExit::Killed));
        seal::seal(&folder, &mut manifest)?;
    }
    // Killed between the manifest and this: the tables are whole.
    remove_journal(&folder, &file)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Event;
    use crate::{EventSeverity, Reader, Row, RowBatch, Sink, TableSchema, Writer};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;

    /// A recording whose writer was killed, with a row in a table of this name.
    fn killed(place: &Path, table: &'static str) -> PathBuf {
        let event = Event {
            t_ns: 1,
            t_s: 0.0,
            severity: EventSeverity::Info,
            kind: "test".into(),
            message: "x".into(),
            count: 1,
            ..Event::default()
        };
        let named = TableSchema { name: table, fields: Event::TABLE.fields, ..TableSchema::EMPTY };
        let batch = RowBatch { table: Box::leak(Box::new(named)), rows: Event::to_batch(&[event]).unwrap() };
        let directory = place.join("days/recording");
        let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
        writer.accept(&batch).unwrap();
        writer.commit().unwrap();
        directory
    }

    /// Every path below a folder, in order.
    fn everything(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            found.push(entry.path().display().to_string());
            if entry.file_type().unwrap().is_dir() {
                found.extend(everything(&entry.path()));
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_table_named_like_a_path_is_refused_and_written_nowhere() {
        for name in ["../../x", "/tmp/iodyno-escaped", "..", "a/b", ""] {
            let place = tempfile::tempdir().unwrap();
            let directory = killed(place.path(), name);
            let before = everything(place.path());
            let said = seal_unfinished(&directory).unwrap_err().to_string();
            assert!(said.contains("is no name of a table") && said.contains("journal"), "{said}");
            assert!(Reader::open(&directory).unwrap().tables().is_err(), "{name}");
            assert_eq!(everything(place.path()), before, "{name}");
        }
        assert!(!Path::new("/tmp/iodyno-escaped").exists());
        // The same with a name that a table of a later version may have.
        let place = tempfile::tempdir().unwrap();
        let directory = killed(place.path(), "of_a_later_version");
        assert!(seal_unfinished(&directory).unwrap());
        assert_eq!(Reader::open(&directory).unwrap().tables().unwrap(), ["of_a_later_version"]);
    }

    #[test]
    fn a_file_of_others_called_journal_is_left_alone() {
        for is_sealed in [true, false] {
            let place = tempfile::tempdir().unwrap();
            let directory = killed(place.path(), "event");
            let journal = directory.join(JOURNAL);
            let ours = std::fs::read(&journal).unwrap();
            if is_sealed {
                assert!(seal_unfinished(&directory).unwrap());
            }
            let other = killed(&place.path().join("other"), "event");
            for notes in [b"my lab notes".to_vec(), b"notes ".repeat(50), std::fs::read(other.join(JOURNAL)).unwrap()] {
                std::fs::write(&journal, &notes).unwrap();
                let said = seal_unfinished(&directory).unwrap_err().to_string();
                // The journal of another recording also lets the manifest be in doubt.
                let is_foreign =
                    said.contains("is not the journal of this recording") || said.contains("another recording's");
                assert!(is_foreign, "{said}");
                assert_eq!(std::fs::read(&journal).unwrap(), notes);
            }
            // One that was left between sealing and its removal goes.
            std::fs::write(&journal, &ours).unwrap();
            assert!(seal_unfinished(&directory).unwrap() && !journal.exists());
        }
    }

    #[test]
    fn sealing_replaces_nothing_of_others() {
        let place = tempfile::tempdir().unwrap();
        let directory = killed(place.path(), "event");
        let copy = directory.join("manifest.json.copy");
        std::fs::write(&copy, "mine").unwrap();
        assert!(seal_unfinished(&directory).unwrap_err().to_string().contains("manifest.json.copy exists"));
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "mine");
        std::fs::remove_file(&copy).unwrap();
        let manifest = Manifest::read(&directory).unwrap();
        let host = directory.join("event").join(crate::sealed::host_folder(&manifest.host));
        std::fs::create_dir_all(&host).unwrap();
        let part = host.join("000001.parquet");
        std::fs::write(&part, "mine").unwrap();
        assert!(seal_unfinished(&directory).unwrap_err().to_string().contains("000001.parquet exists"));
        assert_eq!(std::fs::read_to_string(&part).unwrap(), "mine");
    }

    #[test]
    fn a_manifest_that_names_a_path_as_a_table_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let directory = killed(place.path(), "event");
        assert!(seal_unfinished(&directory).unwrap());
        let manifest = directory.join("manifest.json");
        // Of format 1, which has no checksum that would tell of the change first.
        let text = std::fs::read_to_string(&manifest).unwrap();
        let mut made: serde_json::Value = serde_json::from_str(&text).unwrap();
        made["format_version"] = 1.into();
        made["rows"] = serde_json::json!({ "../../event": 1 });
        for name in ["parts", "checksum"] {
            made.as_object_mut().unwrap().remove(name);
        }
        std::fs::write(&manifest, made.to_string()).unwrap();
        std::fs::remove_file(directory.join("manifest.json.copy")).unwrap();
        let said = Reader::open(&directory).unwrap_err().to_string();
        assert!(said.contains("`../../event` is no name of a table"), "{said}");
    }

    #[test]
    fn links_in_a_recording_lead_no_write_out_of_it() {
        let place = tempfile::tempdir().unwrap();
        let directory = killed(place.path(), "event");
        let outside = place.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("victim"), "precious").unwrap();
        symlink(outside.join("victim"), directory.join("manifest.json.new")).unwrap();
        symlink(&outside, directory.join("event")).unwrap();
        let said = seal_unfinished(&directory).unwrap_err().to_string();
        assert!(said.contains("event is a symbolic link, not a directory"), "{said}");
        std::fs::remove_file(directory.join("event")).unwrap();
        assert!(seal_unfinished(&directory).unwrap());
        assert_eq!(everything(&outside).len(), 1);
        assert_eq!(std::fs::read_to_string(outside.join("victim")).unwrap(), "precious");
    }

    #[test]
    fn all_of_a_recording_is_for_its_owner_only() {
        let place = tempfile::tempdir().unwrap();
        let directory = killed(place.path(), "event");
        assert!(seal_unfinished(&directory).unwrap());
        for path in everything(&directory).into_iter().map(PathBuf::from).chain([directory.clone()]) {
            let metadata = std::fs::metadata(&path).unwrap();
            let wanted = if metadata.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(metadata.permissions().mode() & 0o777, wanted, "{}", path.display());
        }
    }
}
