//! The recordings that are asked, and what tables they have.

use crate::QueryError;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use recording::{ColumnKind, ColumnSchema, Reader, RecordingError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The table of the recordings themselves.
pub(crate) const RECORDINGS: &str = "recordings";

/// One recording.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its name in the column `recording`.
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
}

impl Source {
    /// Opened anew each time: what was open may be sealed by now, and has more rows at least.
    pub(crate) fn open(&self) -> Result<Reader, RecordingError> {
        Reader::open(&self.directory)
    }
}

/// All recordings of a query.
#[derive(Debug)]
pub struct QuerySources {
    pub(crate) recordings: Vec<Source>,
    /// Directories and files among the arguments that are no recordings, in words.
    pub left_out: Vec<String>,
    /// What is damaged of the recordings, in words: rows are missing from every answer.
    pub damaged: Vec<String>,
}

impl QuerySources {
    /// Opens `paths`; what is no recording is left out as long as one is there (`results/*` matches other things too).
    ///
    /// # Errors
    /// None of them is a recording, or one is of a newer format.
    pub fn open(paths: &[PathBuf]) -> Result<Self, QueryError> {
        let (mut directories, mut left_out, mut damaged) = (Vec::new(), Vec::new(), Vec::new());
        for path in paths {
            match Reader::open(path) {
                Ok(reader) => {
                    let damage = reader.damage().map_err(|error| QueryError::Recording { error, hint: None })?;
                    if damage.costs_rows() {
                        let sentences = damage.sentences(reader.manifest()).into_iter();
                        damaged.extend(sentences.map(|what| format!("{} is damaged: {what}", path.display())));
                    }
                    directories.push(path.clone());
                }
                Err(error @ (RecordingError::NotARecording { .. } | RecordingError::NothingLeft(_)))
                    if paths.len() > 1 =>
                {
                    left_out.push(error.to_string())
                }
                Err(error) => return Err(QueryError::Recording { error, hint: hint(path) }),
            }
        }
        if directories.is_empty() {
            return Err(QueryError::NoRecording(left_out));
        }
        let names = names(&directories);
        let recordings =
            names.into_iter().zip(directories).map(|(name, directory)| Source { name, directory }).collect();
        Ok(Self { recordings, left_out, damaged })
    }

    /// Names of all tables: those of the catalogue, which may be empty here, and those that only the recordings know.
    pub(crate) fn tables(&self) -> Result<BTreeSet<String>, RecordingError> {
        let mut names: BTreeSet<String> = recording::catalogue().iter().map(|table| table.name.to_string()).collect();
        for source in &self.recordings {
            names.extend(source.open()?.tables()?);
        }
        names.insert(RECORDINGS.to_string());
        Ok(names)
    }

    /// The columns of a table in all recordings together; `None` when no recording has it.
    pub(crate) fn schema(&self, table: &str) -> Result<Option<SchemaRef>, QueryError> {
        let known = recording::table(table);
        let mut fields: Vec<Field> = Vec::new();
        let mut at: BTreeMap<String, usize> = BTreeMap::new();
        let catalogue = known.map(recording::TableSchema::schema_with_time);
        let mut schemas: Vec<(Option<&Source>, SchemaRef)> =
            catalogue.into_iter().map(|schema| (None, schema)).collect();
        for source in &self.recordings {
            schemas.extend(source.open()?.schema(table)?.map(|schema| (Some(source), schema)));
        }
        for (source, schema) in &schemas {
            for field in schema.fields() {
                let data_type = engine_type(field.data_type());
                match at.get(field.name()) {
                    Some(index) if fields[*index].data_type() != &data_type => {
                        return Err(QueryError::ColumnTypes {
                            table: table.to_string(),
                            column: field.name().clone(),
                            recording: source.map_or_else(String::new, |source| source.name.clone()),
                            types: (fields[*index].data_type().to_string(), data_type.to_string()),
                        });
                    }
                    Some(_) => {}
                    None => {
                        at.insert(field.name().clone(), fields.len());
                        // An older recording may lack what a newer one must have.
                        let unit = unit(table, field.name()).filter(|unit| !unit.is_empty());
                        let metadata = unit.map(|unit| ("unit".to_string(), unit.to_string())).into_iter().collect();
                        fields.push(Field::new(field.name(), data_type, true).with_metadata(metadata));
                    }
                }
            }
        }
        Ok((!fields.is_empty()).then(|| Arc::new(Schema::new(Fields::from(fields)))))
    }
}

/// The layouts that the engine reads fastest.
fn engine_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        // Names repeat, and are stored so; the engine groups by views faster than by dictionaries.
        DataType::Dictionary(_, values) => engine_type(values),
        other => other.clone(),
    }
}

/// The catalogue's entry for a column, and for those that stand beside a histogram.
pub(crate) fn catalogue_column(table: &str, name: &str) -> Option<&'static ColumnSchema> {
    let columns = recording::table(table)?.columns;
    columns.iter().find(|column| column.name == name).or_else(|| {
        columns.iter().find(|column| {
            column.kind == ColumnKind::Histogram
                && name.strip_prefix(column.name).is_some_and(|rest| rest.starts_with("_ns_"))
        })
    })
}

/// The unit of a column.
fn unit(table: &str, name: &str) -> Option<&'static str> {
    catalogue_column(table, name).map(|column| column.unit)
}

/// What may have been meant by a path that is no recording.
fn hint(path: &Path) -> Option<String> {
    let inside = std::fs::read_dir(path).ok()?;
    let found = inside.flatten().filter(|entry| Reader::open(entry.path()).is_ok()).count();
    let path = path.display().to_string();
    (found > 0).then(|| format!("it holds {found} recording(s): iodyno query {}/*", path.trim_end_matches('/')))
}

/// The last parts of the paths, or the whole paths when those are not different.
fn names(directories: &[PathBuf]) -> Vec<String> {
    let last = |path: &PathBuf| {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        path.file_name().map(|name| name.to_string_lossy().into_owned())
    };
    let short: Vec<Option<String>> = directories.iter().map(last).collect();
    let distinct: BTreeSet<&Option<String>> = short.iter().collect();
    let is_clear = distinct.len() == short.len() && short.iter().all(Option::is_some);
    let long = directories.iter().map(|path| path.display().to_string());
    if is_clear { short.into_iter().flatten().collect() } else { long.collect() }
}

/// A column's type in the catalogue's words.
#[must_use]
pub fn type_word(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8View | DataType::Utf8 => "text".to_string(),
        DataType::BinaryView | DataType::Binary => "histogram".to_string(),
        DataType::Timestamp(..) => "timestamp".to_string(),
        other => other.to_string().to_lowercase(),
    }
}
