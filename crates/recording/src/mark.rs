//! Whose a recording is: the mark of a collector, which stands in the manifest and in a file beside it.

use crate::{Manifest, RecordingError};
use output::{EntryKind, Folder, OutputError, ReplacePolicy};
use serde::{Deserialize, Serialize};
use std::io::{Read as _, Write as _};

/// Name of the file.
pub const MARK: &str = ".iodyno-mark";
/// Its name in the manifest's further facts.
const IN_MANIFEST: &str = "collector";
/// A longer mark is none.
const MARK_BYTES: u64 = 64 << 10;

/// What a collector writes into each of its recordings, to know it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorMark {
    /// Identity of the collector: 32 hexadecimal digits.
    pub collector: String,
    /// Place in the order in which the collector began its recordings, from 1.
    pub number: u64,
    /// Name of the recording's directory: one that was copied or renamed is not the collector's.
    pub name: String,
    /// When it began, on the collector's own scale of time, ns.
    pub begun_ns: i64,
}

impl CollectorMark {
    /// Notes it in a manifest.
    pub fn note(&self, manifest: &mut Manifest) {
        manifest.extra.insert(IN_MANIFEST.to_string(), serde_json::json!(self));
    }

    /// The one that a manifest has.
    #[must_use]
    pub fn of_manifest(manifest: &Manifest) -> Option<Self> {
        serde_json::from_value(manifest.extra.get(IN_MANIFEST)?.clone()).ok()
    }

    /// The one beside the manifest in a recording's folder; `None` where there is none that can be read.
    #[must_use]
    pub fn read(folder: &Folder) -> Option<Self> {
        serde_json::from_slice(&small_file(folder, MARK, MARK_BYTES)?).ok()
    }

    /// Writes it into a recording's folder.
    ///
    /// # Errors
    /// There is one, or the disk is full.
    pub fn write(&self, folder: &Folder) -> Result<(), RecordingError> {
        let mut text = serde_json::to_vec(self).map_err(RecordingError::format(MARK))?;
        text.push(b'\n');
        folder.replace(MARK, ReplacePolicy::Nothing, |file| file.write_all(&text)).map_err(of_output)
    }
}

/// The contents of a regular file of at most so many bytes, without following a link or waiting for a FIFO.
pub(crate) fn small_file(folder: &Folder, name: &str, most: u64) -> Option<Vec<u8>> {
    if folder.kind(name).ok()? != Some(EntryKind::File) {
        return None;
    }
    let mut text = Vec::new();
    folder.open_file(name).ok()?.take(most + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= most).then_some(text)
}

/// The error for a file that could not be made, as for other files of a recording.
pub(crate) fn of_output(error: OutputError) -> RecordingError {
    match error {
        OutputError::Io { action, path, source } => RecordingError::Io { action, path, source },
        other => RecordingError::Format { table: MARK.to_string(), why: other.to_string() },
    }
}
