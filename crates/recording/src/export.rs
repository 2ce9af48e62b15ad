//! A table in other people's formats.

use crate::{Reader, RecordingError, seal};
use arrow_array::RecordBatch;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use std::io::{self, Write};

/// A format to export to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// With a header line; histograms are left out, their statistics are plain columns.
    Csv,
    /// One object per line; histograms likewise left out.
    Json,
    /// As sealed, histograms included.
    Parquet,
}

/// Writes all rows of `table` to `out`.
///
/// # Errors
/// No such table, damage, or `out` refuses.
pub fn export(
    reader: &Reader,
    table: &str,
    format: ExportFormat,
    out: &mut (dyn Write + Send),
) -> Result<(), RecordingError> {
    let known = crate::catalogue::table(table);
    let mut batches = reader.batches(table)?.peekable();
    if batches.peek().is_none() && known.is_none() {
        return Err(RecordingError::UnknownTable { name: table.to_string(), known: reader.tables()?.join(", ") });
    }
    let mut sink = BatchWriter::new(format, table, out);
    if batches.peek().is_none()
        && let Some(known) = known
    {
        sink.write(&RecordBatch::new_empty(known.schema_with_time()))?;
    }
    for batch in batches {
        sink.write(&reader.add_time(&batch?, table)?)?;
    }
    sink.finish()
}

/// A batch without its histogram bytes.
fn without_histograms(batch: &RecordBatch, table: &str) -> Result<RecordBatch, RecordingError> {
    let schema = batch.schema();
    let keep: Vec<usize> = (0..schema.fields().len())
        .filter(|at| !matches!(schema.field(*at).data_type(), DataType::Binary | DataType::BinaryView))
        .collect();
    batch.project(&keep).map_err(RecordingError::format(table))
}

/// Writes batches of one schema in a format.
pub struct BatchWriter<'a> {
    inner: Inner<'a>,
    /// What is written, for errors.
    subject: String,
}

enum Inner<'a> {
    Csv(Box<arrow_csv::Writer<&'a mut (dyn Write + Send)>>),
    Json(arrow_json::Writer<&'a mut (dyn Write + Send), arrow_json::writer::LineDelimited>),
    Parquet { writer: Option<Box<ArrowWriter<&'a mut (dyn Write + Send)>>>, out: Option<&'a mut (dyn Write + Send)> },
}

impl std::fmt::Debug for BatchWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchWriter").field("subject", &self.subject).finish_non_exhaustive()
    }
}

impl<'a> BatchWriter<'a> {
    /// A writer to `out`; `subject` names in errors what is written.
    pub fn new(format: ExportFormat, subject: &str, out: &'a mut (dyn Write + Send)) -> Self {
        let inner = match format {
            ExportFormat::Csv => Inner::Csv(Box::new(arrow_csv::WriterBuilder::new().with_header(true).build(out))),
            ExportFormat::Json => Inner::Json(arrow_json::WriterBuilder::new().with_explicit_nulls(true).build(out)),
            ExportFormat::Parquet => Inner::Parquet { writer: None, out: Some(out) },
        };
        Self { inner, subject: subject.to_string() }
    }

    /// Writes a batch; an empty first one gives the header of CSV and the schema of Parquet.
    ///
    /// # Errors
    /// A type that the format cannot hold, or `out` refuses.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordingError> {
        let subject = &self.subject;
        match &mut self.inner {
            Inner::Csv(writer) => {
                writer.write(&without_histograms(batch, subject)?).map_err(|error| face(&error, subject))
            }
            Inner::Json(writer) => {
                writer.write(&without_histograms(batch, subject)?).map_err(|error| face(&error, subject))
            }
            Inner::Parquet { writer, out } => {
                if let Some(out) = out.take() {
                    let properties = seal::properties(&batch.schema());
                    let made = ArrowWriter::try_new(out, batch.schema(), Some(properties));
                    *writer = Some(Box::new(made.map_err(RecordingError::format(subject))?));
                }
                writer.as_mut().map_or(Ok(()), |writer| writer.write(batch)).map_err(RecordingError::format(subject))
            }
        }
    }

    /// Writes what is to come at the end.
    ///
    /// # Errors
    /// `out` refuses.
    pub fn finish(self) -> Result<(), RecordingError> {
        let subject = self.subject;
        match self.inner {
            Inner::Csv(writer) => {
                writer.into_inner().flush().map_err(|source| RecordingError::Face { face: "the export", source })
            }
            Inner::Json(mut writer) => writer.finish().map_err(|error| face(&error, &subject)),
            Inner::Parquet { writer, .. } => {
                writer.map_or(Ok(()), |writer| writer.close().map(|_| ())).map_err(RecordingError::format(&subject))
            }
        }
    }
}

/// Arrow hides the I/O error of a closed pipe in a text.
fn face(error: &arrow_schema::ArrowError, table: &str) -> RecordingError {
    if error.to_string().contains("Broken pipe") {
        return RecordingError::Face { face: "the export", source: io::ErrorKind::BrokenPipe.into() };
    }
    RecordingError::format(table)(error)
}
