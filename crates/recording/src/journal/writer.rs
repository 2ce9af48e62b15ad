//! The writing end of a journal.

use super::{BATCH_BYTES_MAX, JOURNAL, OF_MANIFEST, recording_of, remove_journal};
use crate::compress::BatchCompressor;
use crate::frame::{self, FRAME_MAX, HEADER_MAX};
use crate::manifest::Changes;
use crate::packed::{self, IoNames, RawIo};
use crate::rows::Io;
use crate::sync::Syncer;
use crate::{Manifest, RecordingError, Row, RowBatch};
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use output::Folder;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// Longest batch that is written, bytes before compression; longer ones become several frames.
const BATCH_BYTES: usize = 64 << 20;
/// So many bytes of I/Os do not wait for the commit.
const LARGE_BYTES: usize = 256 * 1024;
/// How often the journal is forced to the disk.
const SYNC_EVERY: Duration = Duration::from_secs(5);

/// The writing end.
#[derive(Debug)]
pub(crate) struct JournalWriter {
    file: File,
    path: PathBuf,
    /// Frames of the commit under way.
    pending: Vec<u8>,
    compressor: BatchCompressor,
    /// Hash of the recording's identity.
    recording: u64,
    /// Number of the next frame, and of the next after the last whole commit.
    number: u64,
    whole_number: u64,
    /// What the frames say of the manifest.
    recorded: Changes,
    /// Length of the file up to the last whole commit.
    whole: u64,
    synced_ns: u64,
    /// `None` where no thread is to be had: then the writer itself waits.
    syncer: Option<Syncer>,
}

impl JournalWriter {
    /// Creates the journal and locks it for the writer's life: a reader can tell a living writer from a dead one.
    pub(crate) fn create(folder: &Folder, manifest: &Manifest) -> Result<Self, RecordingError> {
        let path = folder.path().join(JOURNAL);
        let file = folder.create_new_log(JOURNAL)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // Without locks (some network file systems) a recording under way looks cut short; it is whole all the same.
            Ok(()) | Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(RecordingError::io("lock", &path)(error.into())),
        }
        // A descriptor of its own: a duplicate would keep the writer's lock.
        let syncer = folder.open_file(JOURNAL).ok().and_then(|file| Syncer::start(file).ok());
        let mut journal = Self {
            file,
            path,
            pending: Vec::new(),
            compressor: BatchCompressor::default(),
            recording: recording_of(manifest),
            number: 0,
            whole_number: 0,
            recorded: Changes::default(),
            whole: 0,
            synced_ns: quantity::clock::now_ns(),
            syncer,
        };
        journal.tell(manifest)?;
        journal.commit()?;
        Ok(journal)
    }

    /// Is it still the file of its name in the recording's folder?
    pub(crate) fn has_its_name(&self, folder: &Folder) -> bool {
        folder.has(JOURNAL, &self.file)
    }

    /// Removes it, sealed as it is.
    pub(crate) fn remove(&self, folder: &Folder) -> Result<(), RecordingError> {
        remove_journal(folder, &self.file)
    }

    /// Adds to the commit under way what has changed of the manifest.
    pub(crate) fn tell(&mut self, manifest: &Manifest) -> Result<(), RecordingError> {
        let changes = self.recorded.of(manifest)?;
        if changes.is_empty() {
            return Ok(());
        }
        let fits = self.add_compressed(OF_MANIFEST, BATCH_BYTES_MAX, |plain| {
            serde_json::to_writer(plain, &changes).map_err(|error| ArrowError::JsonError(error.to_string()))
        })?;
        if fits { Ok(()) } else { Err(RecordingError::format(OF_MANIFEST)("more than 256 MiB")) }
    }

    /// Adds a batch to the commit under way; nothing is written yet.
    pub(crate) fn add(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.add_rows(batch.table.name, &batch.rows, BATCH_BYTES)
    }

    /// Adds rows as frames of at most `most` bytes before compression.
    pub(super) fn add_rows(&mut self, name: &str, rows: &RecordBatch, most: usize) -> Result<(), RecordingError> {
        let fits = self.add_compressed(name, most, |plain| {
            StreamWriter::try_new(plain, &rows.schema())
                .and_then(|mut writer| writer.write(rows).and_then(|()| writer.finish()))
        })?;
        if fits {
            return Ok(());
        }
        let half = rows.num_rows() / 2;
        if half == 0 {
            return Err(RecordingError::format(name)(format!("one row of more than {most} bytes")));
        }
        self.add_rows(name, &rows.slice(0, half), most)?;
        self.add_rows(name, &rows.slice(half, rows.num_rows() - half), most)
    }

    /// Adds a frame of what `write` gives; adds nothing and is false where that is longer than `most` bytes.
    fn add_compressed(
        &mut self,
        name: &str,
        most: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), ArrowError>,
    ) -> Result<bool, RecordingError> {
        let (before, number) = (self.pending.len(), self.number);
        let mut compressor = std::mem::take(&mut self.compressor);
        let mut fits = true;
        let added = self.add_frame(name, |pending| {
            fits = compressor.compress(pending, most, write).map_err(RecordingError::format(name))?;
            Ok(())
        });
        self.compressor = compressor;
        added?;
        if !fits {
            self.pending.truncate(before);
            self.number = number;
        }
        Ok(fits)
    }

    /// Adds I/Os packed; a reader gets them as rows. Many go out at once.
    pub(crate) fn add_ios(&mut self, names: &IoNames, records: &[RawIo]) -> Result<(), RecordingError> {
        self.add_frame(Io::TABLE.name, |pending| packed::pack(names, records, pending))?;
        if self.pending.len() < LARGE_BYTES { Ok(()) } else { self.commit() }
    }

    fn add_frame(
        &mut self,
        name: &str,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), RecordingError>,
    ) -> Result<(), RecordingError> {
        let start = self.pending.len();
        self.pending.extend_from_slice(&begin_frame(name));
        let (number, recording) = (self.number, self.recording);
        let ended =
            encode(&mut self.pending).and_then(|()| end_frame(name, &mut self.pending[start..], number, recording));
        match ended {
            Ok(()) => self.number += 1,
            Err(_) => self.pending.truncate(start),
        }
        ended
    }

    /// Writes the commit with one call, and syncs when the last time was long ago.
    pub(crate) fn commit(&mut self) -> Result<(), RecordingError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut pending = std::mem::take(&mut self.pending);
        let written = self.write(&pending);
        pending.clear();
        self.pending = pending;
        written
    }

    /// Writes whole frames.
    fn write(&mut self, frames: &[u8]) -> Result<(), RecordingError> {
        if let Err(error) = self.file.write_all(frames) {
            // The frames may have held changes of the manifest: the next commit writes all of them again.
            self.recorded = Changes::default();
            // What arrived of it must not stand before later frames. Its writer hears of it: later frames take its numbers.
            if self.file.set_len(self.whole).is_ok() {
                self.number = self.whole_number;
            } else {
                // Then it stays, and a reader steps over it. Nothing before it may ever be cut off for it.
                self.whole = self.file.metadata().map_or(u64::MAX, |file| file.len());
            }
            return Err(RecordingError::io("write", &self.path)(error));
        }
        self.whole = self.whole.saturating_add(frames.len() as u64);
        self.whole_number = self.number;
        let now_ns = quantity::clock::now_ns();
        if u128::from(now_ns.saturating_sub(self.synced_ns)) < SYNC_EVERY.as_nanos() {
            return Ok(());
        }
        let Some(syncer) = &self.syncer else { return self.sync() };
        self.synced_ns = now_ns;
        syncer.ask().map_err(RecordingError::io("sync", &self.path))
    }

    /// Forces everything to the disk, and waits for it.
    pub(crate) fn sync(&mut self) -> Result<(), RecordingError> {
        self.synced_ns = quantity::clock::now_ns();
        self.file.sync_data().map_err(RecordingError::io("sync", &self.path))
    }
}

/// Room for a frame's header, and the table's name.
fn begin_frame(name: &str) -> Vec<u8> {
    let mut frame = vec![0; HEADER_MAX];
    frame.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    frame.extend_from_slice(name.as_bytes());
    frame
}

/// Writes the header of a frame.
fn end_frame(name: &str, frame: &mut [u8], number: u64, recording: u64) -> Result<(), RecordingError> {
    let (header, payload) = frame.split_at_mut(HEADER_MAX);
    let length = u32::try_from(payload.len()).ok().filter(|length| *length <= FRAME_MAX);
    let length = length.ok_or_else(|| RecordingError::format(name)("a batch of more than 1 GiB"))?;
    header.copy_from_slice(&frame::header(length, payload, number, recording));
    Ok(())
}
