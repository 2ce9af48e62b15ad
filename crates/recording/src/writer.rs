//! The writing end of a recording.

use crate::journal::JournalWriter;
use crate::packed::{IoNames, RawIo};
use crate::{ClockAnchor, CollectorMark, FORMAT_VERSION, Manifest, RecordingError, RowBatch, Sink, discard, seal};
use output::{FileAccess, Folder, OutputError};
use std::path::{Path, PathBuf};

/// A wall-clock anchor is written at least so often.
const ANCHOR_EVERY_NS: i64 = 60_000_000_000;
/// A difference from the last anchor that no slewing of a minute makes (500 ppm are 30 ms): the clock was set, or the
/// machine slept.
const STEP_NS: i64 = 100_000_000;

/// Writes one recording: into the journal while it is open, into Parquet when it is sealed.
#[derive(Debug)]
pub struct Writer {
    folder: Folder,
    manifest: Manifest,
    journal: JournalWriter,
}

impl Writer {
    /// Creates the directory and begins.
    ///
    /// # Errors
    /// The directory exists, or cannot be made.
    pub fn create(directory: &Path, manifest: Manifest) -> Result<Self, RecordingError> {
        Self::begin(Self::new_folder(directory)?, manifest)
    }

    /// Creates the directory and begins a recording of a collector, with its mark in the manifest and beside it.
    ///
    /// # Errors
    /// See [`create`](Self::create); nothing is left of it then.
    pub fn create_marked(directory: &Path, manifest: Manifest, mark: &CollectorMark) -> Result<Self, RecordingError> {
        let folder = Self::new_folder(directory)?;
        let begun = mark.write(&folder).and_then(|()| Self::begin_marked(folder, manifest, mark));
        if begun.is_err() {
            discard(directory);
        }
        begun
    }

    /// Begins a recording of a collector in a folder that was made for it, and has nothing in it but the mark.
    ///
    /// # Errors
    /// A file cannot be made; nothing is left of the folder then.
    pub fn begin_marked(folder: Folder, mut manifest: Manifest, mark: &CollectorMark) -> Result<Self, RecordingError> {
        mark.note(&mut manifest);
        Self::begin(folder, manifest)
    }

    fn new_folder(directory: &Path) -> Result<Folder, RecordingError> {
        match Folder::create(directory, FileAccess::of_recordings()) {
            Err(OutputError::Taken { path, .. }) => Err(RecordingError::Exists(path)),
            // `Output`: the named folder itself cannot be made; other errors are of files in it.
            made => made.map_err(RecordingError::Output),
        }
    }

    /// Begins in a folder that was just made, and has nothing of others.
    fn begin(folder: Folder, mut manifest: Manifest) -> Result<Self, RecordingError> {
        // It may be that of an older recording, which is written again.
        manifest.format_version = FORMAT_VERSION;
        manifest.parts.clear();
        // The journal first: a directory with a manifest always has one, or is sealed.
        let journal =
            JournalWriter::create(&folder, &manifest).and_then(|journal| manifest.write(&folder).map(|()| journal));
        match journal {
            Ok(journal) => Ok(Self { folder, manifest, journal }),
            Err(error) => {
                discard(folder.path());
                Err(error)
            }
        }
    }

    /// Where the recording is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.folder.path()
    }

    /// `CLOCK_MONOTONIC` at the recording's start, ns.
    #[must_use]
    pub fn started_t_ns(&self) -> u64 {
        self.manifest.started_t_ns.unsigned_abs()
    }

    /// Has the journal still its name? Others may have removed the recording, or have put something in its place.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.journal.has_its_name(&self.folder)
    }

    /// Changes the manifest and writes it.
    ///
    /// # Errors
    /// It could not be written; the old one is still there.
    pub fn update_manifest(&mut self, change: impl FnOnce(&mut Manifest)) -> Result<(), RecordingError> {
        change(&mut self.manifest);
        self.journal.tell(&self.manifest)?;
        self.manifest.write(&self.folder)
    }

    /// Keeps the wall clock's anchors: one a minute, and one at once when the wall clock was set. Returns how far a set
    /// clock went, in ns. `now` is the present moment on both clocks.
    ///
    /// # Errors
    /// The manifest could not be written.
    pub fn follow_clock(&mut self, now: ClockAnchor) -> Result<Option<i64>, RecordingError> {
        let started = ClockAnchor { t_ns: self.manifest.started_t_ns, wall_ns: self.manifest.started_wall_ns };
        let last = self.manifest.clock_anchors.last().copied().unwrap_or(started);
        let passed_ns = now.t_ns.saturating_sub(last.t_ns);
        let step_ns = now.wall_ns.saturating_sub(last.wall_ns).saturating_sub(passed_ns);
        let is_step = step_ns.saturating_abs() >= STEP_NS;
        if is_step || passed_ns >= ANCHOR_EVERY_NS {
            self.update_manifest(|manifest| manifest.clock_anchors.push(now))?;
        }
        Ok(is_step.then_some(step_ns))
    }

    /// I/Os of the interval under way as the probe's records: a reader gets rows of `io`, at a fraction of their cost.
    ///
    /// # Errors
    /// They could not be taken.
    pub fn accept_ios(&mut self, names: &IoNames, records: &[RawIo]) -> Result<(), RecordingError> {
        if records.is_empty() {
            return Ok(());
        }
        self.journal.add_ios(names, records)
    }

    /// Forces the journal to the disk and waits for it, as at phase ends; without waiting it is done every 5 s.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn sync(&mut self) -> Result<(), RecordingError> {
        self.journal.sync()
    }

    /// Removes the recording under way: what was to be recorded did not begin. What others have put there stays.
    ///
    /// # Errors
    /// It is not there any more, or cannot be removed.
    pub fn discard(self) -> Result<(), RecordingError> {
        self.journal.remove(&self.folder)?;
        discard(self.folder.path());
        Ok(())
    }

    /// Turns the journal into Parquet and removes it.
    ///
    /// # Errors
    /// A table could not be written; the journal stays, and the recording can be read from it.
    pub fn seal(mut self) -> Result<PathBuf, RecordingError> {
        self.manifest.clock_anchors.push(ClockAnchor::now());
        self.journal.tell(&self.manifest)?;
        self.seal_past()
    }

    /// Seals without an anchor of this moment: for a recording of what happened at another time (an import).
    ///
    /// # Errors
    /// See [`seal`](Self::seal).
    pub fn seal_past(mut self) -> Result<PathBuf, RecordingError> {
        self.journal.commit()?;
        self.journal.sync()?;
        // Sealing reads it by its name.
        if !self.is_there() {
            return Err(RecordingError::Removed(self.folder.path().to_path_buf()));
        }
        seal::seal(&self.folder, &mut self.manifest)?;
        self.journal.remove(&self.folder)?;
        Ok(self.folder.path().to_path_buf())
    }
}

impl Sink for Writer {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        if batch.rows.num_rows() == 0 {
            return Ok(());
        }
        self.journal.add(batch)
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        self.journal.commit()
    }
}
