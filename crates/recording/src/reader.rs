//! The reading end: sealed, open or cut short, one recording or several.

use crate::journal::{JOURNAL, JournalReader, is_alive};
use crate::manifest::{COPY, MANIFEST};
use crate::parquet_footer::{self, BATCH_ROWS};
use crate::sealed::{Builder, Sealed, SealedBatches, SealedFile};
use crate::time_column::{self, with_time};
use crate::{LossName, Manifest, RecordingError, Row, journal, regular};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// How complete a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingState {
    /// A program is writing it now.
    Open,
    /// Complete.
    Sealed,
    /// Its writer died; everything up to the last commit is there.
    CutShort,
}

impl RecordingState {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Sealed => "sealed",
            Self::CutShort => "cut short",
        }
    }
}

/// Is there a recording, perhaps a damaged one? Of a directory that holds recordings, or anything else, it is false.
#[must_use]
pub fn is_recording(directory: &Path) -> bool {
    let is_there = |name: &str| regular::open(&directory.join(name)).is_ok();
    is_there(MANIFEST) || is_there(COPY) || journal::manifest(directory).is_some()
}

/// A recording to read from.
#[derive(Debug)]
pub struct Reader {
    directory: PathBuf,
    manifest: Manifest,
    state: RecordingState,
    /// What is wrong with the manifest, which was read from elsewhere then.
    manifest_damage: Option<String>,
    /// Sealed files by table; read when they are first asked for, as the recording may be sealed by then.
    sealed: OnceLock<Sealed>,
}

impl Reader {
    /// Opens the recording in `directory`.
    ///
    /// # Errors
    /// Not a recording, or one of a newer format.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let directory = directory.as_ref().to_path_buf();
        let (manifest, manifest_damage) = Manifest::find(&directory)?;
        let mut state = if manifest.sealed { RecordingState::Sealed } else { RecordingState::CutShort };
        if state == RecordingState::CutShort && is_alive(&directory) {
            state = RecordingState::Open;
        }
        if state != RecordingState::Sealed && !journal::is_there(&directory) {
            // Sealed between the two looks?
            let (manifest, manifest_damage) = Manifest::find(&directory)?;
            if !manifest.sealed {
                return Err(RecordingError::NothingLeft(directory));
            }
            return Ok(Self {
                directory,
                manifest,
                state: RecordingState::Sealed,
                manifest_damage,
                sealed: OnceLock::new(),
            });
        }
        Ok(Self { directory, manifest, state, manifest_damage, sealed: OnceLock::new() })
    }

    /// Its manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// What is wrong with the manifest itself, when it was read from elsewhere.
    pub(crate) fn manifest_damage(&self) -> Option<&str> {
        self.manifest_damage.as_deref()
    }

    /// How complete it is.
    #[must_use]
    pub fn state(&self) -> RecordingState {
        self.state
    }

    /// Where it is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Bytes of the journal that belong to no whole commit: a torn end, damage in the middle; not those of frames that stand a
    /// second time or are of another recording. Of a recording that is
    /// being written, what its writer is writing at this moment counts as well. Sealing has put it into the manifest's
    /// losses as `journal_bytes_unreadable`, where it is found later.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn unreadable_bytes(&self) -> Result<u64, RecordingError> {
        let Some(mut journal) = self.open_journal()? else {
            return Ok(self.manifest.losses.get(LossName::JournalUnreadable.as_str()).copied().unwrap_or(0));
        };
        while journal.next_batch(None)?.is_some() {}
        Ok(journal.unreadable())
    }

    /// The journal; `None` when the recording is sealed, perhaps since it was opened.
    pub(crate) fn open_journal(&self) -> Result<Option<JournalReader>, RecordingError> {
        if self.state == RecordingState::Sealed {
            return Ok(None);
        }
        match JournalReader::open(&self.directory, &self.manifest) {
            Err(RecordingError::Io { source, .. })
                if source.kind() == ErrorKind::NotFound && Manifest::find(&self.directory)?.0.sealed =>
            {
                Ok(None)
            }
            opened => opened.map(Some),
        }
    }

    /// Names of the tables that have rows, in alphabetical order.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn tables(&self) -> Result<Vec<String>, RecordingError> {
        let Some(mut journal) = self.open_journal()? else {
            let sealed_since =
                if self.state == RecordingState::Sealed { None } else { Some(Manifest::find(&self.directory)?.0) };
            return Ok(sealed_since.as_ref().unwrap_or(&self.manifest).rows.keys().cloned().collect());
        };
        let mut names = BTreeSet::new();
        while let Some((name, _)) = journal.next_frame()? {
            names.insert(name);
        }
        Ok(names.into_iter().collect())
    }

    /// The Parquet files of a table in the order of writing, for engines that read them on their own; none while the
    /// recording is not sealed, and when it has no such table.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn sealed_files(&self, table: &str) -> Result<Vec<PathBuf>, RecordingError> {
        Ok(self.files_of(table)?.iter().map(|file| file.path().to_path_buf()).collect())
    }

    /// The sealed files of a table in the order of writing.
    pub(crate) fn files_of(&self, table: &str) -> Result<Vec<SealedFile>, RecordingError> {
        // What is no name of a table is no part of a path either.
        if output::table_name(table).is_err() || self.open_journal()?.is_some() {
            return Ok(Vec::new());
        }
        self.sealed()?.of(&self.directory, table)
    }

    /// All sealed files that the manifest has checksums of.
    pub(crate) fn parts(&self) -> Result<impl Iterator<Item = SealedFile>, RecordingError> {
        Ok(self.sealed()?.all())
    }

    fn sealed(&self) -> Result<&Sealed, RecordingError> {
        if let Some(sealed) = self.sealed.get() {
            return Ok(sealed);
        }
        let sealed = match self.state {
            RecordingState::Sealed => Sealed::new(&self.directory, &self.manifest)?,
            RecordingState::Open | RecordingState::CutShort => {
                Sealed::new(&self.directory, &Manifest::find(&self.directory)?.0)?
            }
        };
        Ok(self.sealed.get_or_init(|| sealed))
    }

    /// The columns of a table as they are in this recording, `time` included; `None` when it has no such table.
    ///
    /// # Errors
    /// A file cannot be opened, or is damaged.
    pub fn schema(&self, table: &str) -> Result<Option<SchemaRef>, RecordingError> {
        let Some((_, first)) = self.builders(table)?.into_iter().next() else {
            return Ok(self.batches(table)?.next().transpose()?.map(|batch| with_time(&batch.schema())));
        };
        Ok(Some(Arc::clone(first.schema())))
    }

    /// The same files opened and looked at, see [`crate::parts`]; their rows are compared with the manifest's number.
    pub(crate) fn builders(&self, table: &str) -> Result<Vec<(SealedFile, Builder)>, RecordingError> {
        let files = self.files_of(table)?;
        let path = files.first().map(|file| file.path().to_path_buf());
        let opened = files.into_iter().map(|file| file.builder(table).map(|builder| (file, builder)));
        let opened = opened.collect::<Result<Vec<_>, RecordingError>>()?;
        let found: u64 = opened.iter().map(|(_, file)| file.metadata().file_metadata().num_rows().unsigned_abs()).sum();
        match if opened.is_empty() { None } else { self.sealed()?.rows_of(table) } {
            Some(stated) if stated != found => {
                Err(RecordingError::Rows { table: table.to_string(), found, stated, path })
            }
            _ => Ok(opened),
        }
    }

    /// All batches of a table in the order of writing; none when the recording has no such table.
    ///
    /// # Errors
    /// A file cannot be opened.
    pub fn batches(&self, table: &str) -> Result<BatchReader, RecordingError> {
        if let Some(journal) = self.open_journal()? {
            let inner = Inner::Journal { journal, table: table.to_string(), left: None };
            return Ok(BatchReader { inner, note: parquet_footer::note(table, &self.directory.join(JOURNAL)) });
        }
        let mut files = self.builders(table)?;
        files.reverse();
        let inner = Inner::Parquet { files, current: None, table: table.to_string() };
        Ok(BatchReader { inner, note: parquet_footer::note(table, &self.directory.join(table)) })
    }

    /// The rows of a table one after the other, a batch of them in memory.
    ///
    /// # Errors
    /// A file cannot be opened.
    pub fn rows<R: Row>(&self) -> Result<RowReader<R>, RecordingError> {
        Ok(RowReader { batches: self.batches(R::TABLE.name)?, batch: Vec::new().into_iter() })
    }

    /// All rows of a table; for tables that are small.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn table<R: Row>(&self) -> Result<Vec<R>, RecordingError> {
        let mut rows = Vec::new();
        for batch in self.batches(R::TABLE.name)? {
            rows.extend(R::from_batch(&batch?)?);
        }
        Ok(rows)
    }

    /// A batch of this recording with its `time` column (sealed tables have it already).
    ///
    /// # Errors
    /// Arrow refuses; does not happen with batches of a recording.
    pub fn add_time(&self, batch: &RecordBatch, table: &str) -> Result<RecordBatch, RecordingError> {
        time_column::add_time(batch, &self.manifest, table)
    }
}

/// Rows of one table.
#[derive(Debug)]
pub struct RowReader<R> {
    batches: BatchReader,
    batch: std::vec::IntoIter<R>,
}

impl<R: Row> Iterator for RowReader<R> {
    type Item = Result<R, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.batch.next() {
                return Some(Ok(row));
            }
            match self.batches.next()?.and_then(|batch| R::from_batch(&batch)) {
                Ok(rows) => self.batch = rows.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Batches of one table.
#[derive(Debug)]
pub struct BatchReader {
    inner: Inner,
    /// What is read: for a last sentence, should there be no memory for the next batch.
    note: String,
}

#[derive(Debug)]
enum Inner {
    Journal {
        journal: JournalReader,
        table: String,
        /// Rows of the frame that was read last which are still to come.
        left: Option<RecordBatch>,
    },
    Parquet {
        files: Vec<(SealedFile, Builder)>,
        current: Option<SealedBatches>,
        table: String,
    },
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        quantity::oom_context::note(&[&self.note]);
        match &mut self.inner {
            Inner::Journal { journal, table, left } => {
                let batch = match left.take() {
                    Some(batch) => batch,
                    None => match journal.next_batch(Some(table)) {
                        Ok(found) => found?.1,
                        Err(error) => return Some(Err(error)),
                    },
                };
                let rows = batch.num_rows().min(BATCH_ROWS);
                *left = (rows < batch.num_rows()).then(|| batch.slice(rows, batch.num_rows() - rows));
                Some(Ok(batch.slice(0, rows)))
            }
            Inner::Parquet { files, current, table } => loop {
                if let Some(batch) = current.as_mut().and_then(Iterator::next) {
                    return Some(batch);
                }
                let (file, builder) = files.pop()?;
                match file.read(table, builder) {
                    Ok(reader) => *current = Some(reader),
                    Err(error) => return Some(Err(error)),
                }
            },
        }
    }
}
