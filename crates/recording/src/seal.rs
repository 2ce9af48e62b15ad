//! From the journal to one Parquet file per table, batch by batch. Each file has the manifest in its metadata, so that a
//! recording of which only the files are left can be recognised and read.

use crate::checksums::{ChecksummedFile, Summing};
use crate::inventory::is_copy_of;
use crate::journal::JournalReader;
use crate::manifest::{COPY, FORMAT_VERSION};
use crate::sealed::{MANIFEST_KEY, PART, host_folder, is_part_of};
use crate::time_column::add_time;
use crate::{LossName, Manifest, RecordingError, TableSchema, damage};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use output::{Folder, NewFile, OutputError, ReplacePolicy};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Rows of a row group: what is held in memory, encoded, per table.
const ROW_GROUP_ROWS: usize = 64 * 1024;

/// Columns, besides times of day, whose neighbours are close to each other or too many for a dictionary.
const DELTA_COLUMNS: [&str; 5] = ["t_ns", "queue_ns", "issue_ns", "complete_ns", "sector"];

/// The portable profile (docs/recording.md): zstd-1, dictionaries, DELTA_BINARY_PACKED for times that only grow.
pub(crate) fn properties(schema: &Schema) -> WriterProperties {
    let level = ZstdLevel::try_new(1).unwrap_or_default();
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // Kept in memory for every page to the end of the file; no reader looks rows up by number.
        .set_offset_index_disabled(true)
        .set_created_by("iodyno".to_string());
    for field in schema.fields() {
        let path = ColumnPath::from(field.name().as_str());
        let is_delta =
            matches!(field.data_type(), DataType::Timestamp(..)) || DELTA_COLUMNS.contains(&field.name().as_str());
        if is_delta {
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        } else if field.data_type() == &DataType::Binary {
            // Histograms hardly repeat; a dictionary would only cost.
            builder = builder.set_column_dictionary_enabled(path, false);
        }
    }
    builder.build()
}

/// One table under way.
struct Open {
    name: String,
    writer: ArrowWriter<Summing<NewFile>>,
    folder: Folder,
    path: PathBuf,
    rows: u64,
}

impl Open {
    fn create(
        recording: &Folder,
        manifest: &Manifest,
        name: &str,
        batch: &RecordBatch,
    ) -> Result<Self, RecordingError> {
        RecordingError::check_table_name(name, recording.path())?;
        let folder = recording.make_folder(name)?.make_folder(host_folder(&manifest.host))?;
        let path = folder.path().join(PART);
        // What a sealing that was killed has left may be there.
        if let Some(kind) = folder.kind(PART)?.filter(|_| !is_part_of(&path, manifest)) {
            return Err(OutputError::Taken { path, kind }.into());
        }
        let file = folder.begin(PART, ReplacePolicy::File)?;
        let schema = crate::catalogue::table(name).map_or_else(|| batch.schema(), TableSchema::schema_with_time);
        let properties = properties(&schema);
        let writer = ArrowWriter::try_new(Summing::new(file), schema, Some(properties)).map_err(failed(name, &path))?;
        Ok(Self { name: name.to_string(), writer, folder, path, rows: 0 })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordingError> {
        self.rows += batch.num_rows() as u64;
        self.writer.write(batch).map_err(failed(&self.name, &self.path))
    }

    /// Ends the file with what a manifest says, and makes it and its name durable.
    fn close(mut self, recording: &Folder, manifest: String) -> Result<ChecksummedFile, RecordingError> {
        self.writer.append_key_value_metadata(KeyValue::new(MANIFEST_KEY.to_string(), manifest));
        let path = self.path.strip_prefix(recording.path()).unwrap_or(&self.path).to_string_lossy().into_owned();
        let summing = self.writer.into_inner().map_err(failed(&self.name, &self.path))?;
        let (file, part) = summing.end(path, self.rows);
        file.finish()?;
        recording.subfolder(&self.name)?.sync()?;
        Ok(part)
    }
}

/// What the metadata of every file says of its recording; the texts and the hardware only in one, as they can be long.
pub(crate) fn in_metadata(manifest: &Manifest, is_first: bool) -> Result<String, RecordingError> {
    let mut copy = manifest.clone();
    copy.parts = Vec::new();
    if !is_first {
        (copy.sources, copy.hardware) = (Vec::new(), serde_json::Value::Null);
    }
    serde_json::to_string(&copy).map_err(RecordingError::format("manifest"))
}

/// For `map_err`: a disk that is full is named by its file, not by the encoding that met it.
fn failed(table: &str, path: &Path) -> impl FnOnce(ParquetError) -> RecordingError {
    move |error| match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(source) => RecordingError::io("write", path)(*source),
            Err(other) => RecordingError::format(table)(other),
        },
        other => RecordingError::format(table)(other),
    }
}

/// Writes every table of the journal, and the manifest with what was written and what was not to be read. What was begun is
/// removed when it fails: the journal has it all, and the disk may be full.
///
/// Not done during a run, part by part, though that would save two thirds of the disk space: encoding takes a core for
/// seconds at a time, which the load would feel, and the report would show as the target's.
pub(crate) fn seal(folder: &Folder, manifest: &mut Manifest) -> Result<(), RecordingError> {
    if let Some(kind) = folder.kind(COPY)?.filter(|_| !is_copy_of(folder, manifest)) {
        return Err(OutputError::Taken { path: folder.path().join(COPY), kind }.into());
    }
    let mut begun = BTreeMap::new();
    let encoded = encode(folder, manifest, &mut begun);
    let names: Vec<String> = begun.keys().cloned().collect();
    let mut written = Vec::new();
    let mut sealed = manifest.clone();
    let finished = encoded.and_then(|journal| {
        sealed.rows = begun.iter().map(|(name, table): (&String, &Open)| (name.clone(), table.rows)).collect();
        sealed.format_version = FORMAT_VERSION;
        sealed.sealed = true;
        if journal.unreadable() > 0 {
            sealed.losses.insert(LossName::JournalUnreadable.to_string(), journal.unreadable());
        }
        if journal.skipped > journal.torn || journal.order.missing() > 0 {
            damage::inspect(JournalReader::open(folder.path(), manifest)?)?.keep(&mut sealed);
        }
        let texts = [in_metadata(&sealed, true)?, in_metadata(&sealed, false)?];
        sealed.parts.clear();
        for (at, table) in begun.into_values().enumerate() {
            let of_table = table.folder.try_clone()?;
            sealed.parts.push(table.close(folder, texts[at.min(1)].clone())?);
            written.push(of_table);
        }
        folder.sync()?;
        sealed.write_sealed(folder)
    });
    match finished {
        Ok(()) => *manifest = sealed,
        // Perhaps the disk refused only to say that the manifest is there for good: then it names these files.
        Err(_) if Manifest::read(folder.path()).is_ok_and(|there| there.sealed) => {}
        Err(_) => unseal(folder, &names, &written, &manifest.host),
    }
    finished
}

/// Removes what was begun.
fn unseal(folder: &Folder, names: &[String], written: &[Folder], host: &str) {
    for of_table in written {
        let _ = of_table.remove_file(PART);
    }
    for name in names {
        // Folders that are empty now.
        let _ = folder.subfolder(name).and_then(|table| table.remove_folder(host_folder(host)));
        let _ = folder.remove_folder(name);
    }
}

/// The pass over the journal: one row group per table is held in memory.
fn encode(
    folder: &Folder,
    manifest: &Manifest,
    open: &mut BTreeMap<String, Open>,
) -> Result<JournalReader, RecordingError> {
    let mut journal = JournalReader::open(folder.path(), manifest)?;
    while let Some((name, batch)) = journal.next_batch(None)? {
        let batch = add_time(&batch, manifest, &name)?;
        if !open.contains_key(&name) {
            open.insert(name.clone(), Open::create(folder, manifest, &name, &batch)?);
        }
        if let Some(table) = open.get_mut(&name) {
            table.write(&batch)?;
        }
    }
    Ok(journal)
}
