//! The sealed files of a recording, read with their checksums.

use crate::checksums::{CheckedFile, ChecksummedFile, Expected, Tail};
use crate::{Manifest, RecordingError, parquet_footer, regular};
use arrow_array::RecordBatch;
use output::{Folder, OutputError};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::reader::Length as _;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Under this name a file's metadata have the manifest.
pub(crate) const MANIFEST_KEY: &str = "iodyno.manifest";

/// The one part of a sealed table.
pub(crate) const PART: &str = "000001.parquet";

/// Opens a Parquet file for its rows.
pub(crate) type Builder = ParquetRecordBatchReaderBuilder<CheckedFile>;

/// The sealed files of a recording.
#[derive(Debug)]
pub(crate) struct Sealed {
    /// With checksums, by table; `None` in recordings of format 1.
    parts: Option<BTreeMap<String, Vec<Arc<Expected>>>>,
    /// The same as the manifest has them.
    all: Vec<Arc<Expected>>,
    /// Rows by table, as the manifest has them.
    rows: BTreeMap<String, u64>,
    /// The machine that the manifest is of.
    host: String,
}

impl Sealed {
    /// As the manifest has them.
    ///
    /// # Errors
    /// It names what is no file of a recording.
    pub(crate) fn new(directory: &Path, manifest: &Manifest) -> Result<Self, RecordingError> {
        if manifest.format_version < 2 {
            return Ok(Self { parts: None, all: Vec::new(), rows: manifest.rows.clone(), host: manifest.host.clone() });
        }
        let mut parts: BTreeMap<String, Vec<Arc<Expected>>> = BTreeMap::new();
        let mut all = Vec::new();
        for part in &manifest.parts {
            let expected = Arc::new(Expected::new(directory, part)?);
            all.push(Arc::clone(&expected));
            parts.entry(part.table().unwrap_or_default().to_string()).or_default().push(expected);
        }
        Ok(Self { parts: Some(parts), all, rows: manifest.rows.clone(), host: manifest.host.clone() })
    }

    /// The files of a table, in the order of writing.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub(crate) fn of(&self, directory: &Path, table: &str) -> Result<Vec<SealedFile>, RecordingError> {
        let Some(parts) = &self.parts else { return found(directory, table, &self.host) };
        Ok(parts.get(table).into_iter().flatten().map(SealedFile::of).collect())
    }

    /// Rows of a table, as far as the manifest tells.
    pub(crate) fn rows_of(&self, table: &str) -> Option<u64> {
        self.rows.get(table).copied()
    }

    /// All files with checksums, in the manifest's order.
    pub(crate) fn all(&self) -> impl Iterator<Item = SealedFile> {
        self.all.iter().map(SealedFile::of)
    }
}

/// The files of a table of a recording of format 1, of which no list was kept. It was made on one machine: with the rows of a
/// second one in it, both would be read as one that did what both did.
fn found(directory: &Path, table: &str, host: &str) -> Result<Vec<SealedFile>, RecordingError> {
    let folder = Folder::open(directory)?;
    if folder.kind(table)?.is_none() {
        return Ok(Vec::new());
    }
    let hosts = folder.subfolder(table)?;
    let mut files = Vec::new();
    let names = hosts.names()?;
    let is_other = |name: &&OsString| name.as_encoded_bytes().starts_with(b"host=") && ***name != *host_folder(host);
    if let Some(other) = names.iter().find(is_other) {
        let why = format!(
            "{table}/{} has rows of another machine than {host}, whose manifest it is; move those folders out of it",
            other.to_string_lossy()
        );
        return Err(RecordingError::NotARecording { path: directory.to_path_buf(), why });
    }
    for host in names {
        for part in hosts.subfolder(&host)?.names()? {
            let path = Path::new(table).join(&host).join(part);
            files.extend(path.to_str().filter(|path| path.ends_with(".parquet")).map(ToString::to_string));
        }
    }
    Ok(files.into_iter().map(|path| SealedFile::unknown(directory, path)).collect())
}

/// One sealed file.
#[derive(Clone, Debug)]
pub(crate) struct SealedFile {
    directory: PathBuf,
    /// Below it.
    below: String,
    /// Both, for sentences.
    path: PathBuf,
    expected: Option<Arc<Expected>>,
    tail: Tail,
}

impl SealedFile {
    fn of(expected: &Arc<Expected>) -> Self {
        let (directory, below) = expected.place();
        Self { expected: Some(Arc::clone(expected)), ..Self::unknown(directory, below.to_string()) }
    }

    /// One of which nothing is known but its path below the recording's directory.
    pub(crate) fn unknown(directory: &Path, below: String) -> Self {
        let path = directory.join(&below);
        Self { directory: directory.to_path_buf(), path, below, expected: None, tail: Tail::IsDamage }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The table that it holds rows of.
    fn table(&self) -> &str {
        self.below.split('/').next().unwrap_or_default()
    }

    /// The same without the bytes that stand behind the end that it had, and how many these are; `None` where there are none.
    pub(crate) fn without_tail(&self) -> Option<(Self, u64)> {
        let end = self.expected.as_ref()?.bytes();
        let found = regular::open_below(&self.directory, Path::new(&self.below)).ok()?.metadata().ok()?.len();
        let tail = found.checked_sub(end).filter(|bytes| *bytes > 0)?;
        Some((Self { tail: Tail::IsLeftOut, ..self.clone() }, tail))
    }

    /// Opens it.
    ///
    /// # Errors
    /// It is not there, or not as long as it was.
    pub(crate) fn open(&self) -> Result<CheckedFile, RecordingError> {
        CheckedFile::open(&self.directory, &self.below, self.expected.clone(), self.tail)
    }

    /// Reads all of it for its checksums, and looks at what it says of its rows and columns.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub(crate) fn check(&self) -> Result<(), RecordingError> {
        self.open()?.check_all(&self.path)?;
        self.builder(self.table()).map(drop)
    }

    /// Opens it for its rows.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub(crate) fn builder(&self, table: &str) -> Result<Builder, RecordingError> {
        let shown = self.path.to_string_lossy();
        quantity::oom_context::note(&[&parquet_footer::note(table, &self.path)]);
        let file = self.open()?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
        let metadata = metadata.map_err(|error| self.failed(&file, table, &error))?;
        parquet_footer::check(&metadata, file.len())
            .map_err(|why| self.failed(&file, table, &format!("{shown}: {why}")))?;
        let metadata = ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new());
        let metadata = metadata.map_err(|error| self.failed(&file, table, &error))?;
        let rows = parquet_footer::batch_rows(metadata.metadata());
        Ok(Builder::new_with_metadata(file, metadata).with_batch_size(rows))
    }

    /// The rows that a builder is to read.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub(crate) fn read(&self, table: &str, builder: Builder) -> Result<SealedBatches, RecordingError> {
        let file = self.open()?;
        let reader = builder.build().map_err(|error| self.failed(&file, table, &error))?;
        Ok(SealedBatches { file: self.clone(), opened: file, reader, table: table.to_string() })
    }

    fn failed(&self, file: &CheckedFile, table: &str, error: &dyn std::fmt::Display) -> RecordingError {
        file.why(&self.path).unwrap_or_else(|| RecordingError::format(table)(error))
    }
}

/// Batches of one sealed file.
#[derive(Debug)]
pub(crate) struct SealedBatches {
    file: SealedFile,
    opened: CheckedFile,
    reader: ParquetRecordBatchReader,
    table: String,
}

impl Iterator for SealedBatches {
    type Item = Result<RecordBatch, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        Some(batch.map_err(|error| self.file.failed(&self.opened, &self.table, &error)))
    }
}

/// Name of the folder of a host's rows in a table's folder.
pub(crate) fn host_folder(host: &str) -> String {
    let host: String = host.chars().map(|c| if c.is_alphanumeric() || "-._".contains(c) { c } else { '_' }).collect();
    format!("host={host}")
}

/// What a sealed file says of its recording.
pub(crate) fn manifest_of(builder: &Builder) -> Option<Manifest> {
    let pairs = builder.metadata().file_metadata().key_value_metadata()?;
    let text = pairs.iter().find(|pair| pair.key == MANIFEST_KEY)?.value.as_deref()?;
    serde_json::from_str(text).ok()
}

/// Has a sealing of the recording with this manifest, which was killed, left this file? They get their name when they are whole.
pub(crate) fn is_part_of(path: &Path, manifest: &Manifest) -> bool {
    let Some((directory, name)) = path.parent().zip(path.file_name()) else { return false };
    let file = SealedFile::unknown(directory, name.to_string_lossy().into_owned());
    let Ok(builder) = file.builder("") else { return false };
    manifest_of(&builder).is_some_and(|said| said.id == manifest.id)
}

/// Are sealed files in `directory` of the recording of this identity? One is enough; `None` where none tells.
pub(crate) fn files_are_of(directory: &Path, id: &str) -> Option<bool> {
    let mut is_same = None;
    for path in files_below(directory).ok()? {
        let Ok(builder) = SealedFile::unknown(directory, path).builder("") else { continue };
        match manifest_of(&builder) {
            Some(said) if said.id == id => return Some(true),
            said => is_same = is_same.or(said.map(|_| false)),
        }
    }
    is_same
}

/// Paths of all files `TABLE/host=HOST/NAME.parquet`, in order; nothing is followed that is a link.
pub(crate) fn files_below(directory: &Path) -> Result<Vec<String>, OutputError> {
    let mut files = Vec::new();
    let folder = Folder::open(directory)?;
    let text = |name: &OsStr| name.to_str().map(ToString::to_string);
    for table in folder.names()? {
        let (Some(name), Ok(table)) = (text(&table), folder.subfolder(&table)) else { continue };
        for host in table.names()? {
            let (Some(host_name), Ok(host)) = (text(&host), table.subfolder(&host)) else { continue };
            for file in host.names()? {
                let is_file = host.open_file(&file).is_ok();
                let path = text(&file).filter(|_| is_file).map(|file| format!("{name}/{host_name}/{file}"));
                files.extend(path.filter(|path| ChecksummedFile::is_path(path)));
            }
        }
    }
    Ok(files)
}
