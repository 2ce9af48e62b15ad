//! An answer on paper: aligned for people, CSV, JSON or Parquet for programs.

use crate::{QueryAnswer, QueryError};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Schema, SchemaRef};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::DataFusionError;
use futures_util::StreamExt as _;
use quantity::figures::without_zeros;
use quantity::histogram::Histogram;
use quantity::text::format_ns;
use quantity::visible::visible;
use recording::{BatchWriter, ExportFormat, RecordingError};
use std::io::Write;
use std::sync::Arc;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFormat {
    /// Columns aligned, units in a second line.
    Table,
    /// For programs.
    Export(ExportFormat),
}

/// Writes an answer; gives the number of rows.
///
/// # Errors
/// The engine fails underway, or `out` refuses.
pub async fn write(
    mut answer: QueryAnswer,
    format: AnswerFormat,
    out: &mut (dyn Write + Send),
) -> Result<usize, QueryError> {
    let face = |source| QueryError::Read(RecordingError::Face { face: "standard output", source });
    match format {
        AnswerFormat::Table => {
            let mut batches = Vec::new();
            while let Some(batch) = answer.rows.next().await {
                batches.push(batch?);
            }
            let rows = batches.iter().map(RecordBatch::num_rows).sum();
            out.write_all(table(&answer.schema, &answer.units, &batches)?.as_bytes()).map_err(face)?;
            out.flush().map_err(face)?;
            Ok(rows)
        }
        AnswerFormat::Export(format) => {
            let schema = portable(&answer.schema, &answer.units);
            let mut writer = BatchWriter::new(format, "the answer", out);
            writer.write(&RecordBatch::new_empty(Arc::clone(&schema)))?;
            let mut rows = 0;
            while let Some(batch) = answer.rows.next().await {
                let batch = batch?;
                rows += batch.num_rows();
                let columns = batch.columns().iter().zip(schema.fields());
                let columns = columns.map(|(column, field)| cast(column, field.data_type()));
                let columns = columns.collect::<Result<Vec<_>, _>>().map_err(DataFusionError::from)?;
                let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(DataFusionError::from)?;
                writer.write(&batch)?;
            }
            writer.finish()?;
            Ok(rows)
        }
    }
}

/// The schema in types that every reader knows, with the units as metadata.
fn portable(schema: &SchemaRef, units: &[Option<String>]) -> SchemaRef {
    let fields = schema.fields().iter().zip(units).map(|(field, unit)| {
        let data_type = match field.data_type() {
            DataType::Utf8View => DataType::Utf8,
            DataType::BinaryView => DataType::Binary,
            other => other.clone(),
        };
        let metadata = unit.iter().map(|unit| ("unit".to_string(), unit.clone())).collect();
        Field::new(field.name(), data_type, true).with_metadata(metadata)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The whole answer, aligned: names, units, rows.
fn table(schema: &SchemaRef, units: &[Option<String>], batches: &[RecordBatch]) -> Result<String, QueryError> {
    let has_units = units.iter().any(Option::is_some);
    let mut columns: Vec<Vec<String>> = Vec::new();
    for (at, field) in schema.fields().iter().enumerate() {
        let mut cells = vec![visible(field.name()).into_owned()];
        if has_units {
            cells.push(units.get(at).cloned().flatten().unwrap_or_default());
        }
        for batch in batches {
            cells.extend(texts(batch.column(at))?);
        }
        columns.push(cells);
    }
    let widths: Vec<usize> =
        columns.iter().map(|cells| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0)).collect();
    let is_number: Vec<bool> = schema.fields().iter().map(|field| field.data_type().is_numeric()).collect();
    let heads = 1 + usize::from(has_units);
    let mut page = String::new();
    for row in 0..columns.first().map_or(0, Vec::len) {
        if row == heads {
            let rules: Vec<String> = widths.iter().map(|width| "─".repeat((*width).max(1))).collect();
            page.push_str(&rules.join("  "));
            page.push('\n');
        }
        let mut line = String::new();
        for (at, cells) in columns.iter().enumerate() {
            let pad = " ".repeat(widths[at] - cells[row].chars().count());
            let (left, right) = if is_number[at] { (pad.as_str(), "") } else { ("", pad.as_str()) };
            line.push_str(if at > 0 { "  " } else { "" });
            line.push_str(left);
            line.push_str(&cells[row]);
            line.push_str(right);
        }
        page.push_str(line.trim_end());
        page.push('\n');
    }
    Ok(page)
}

/// The cells of a column.
fn texts(array: &ArrayRef) -> Result<Vec<String>, QueryError> {
    let null = || "?".to_string();
    let rows = 0..array.len();
    Ok(match array.data_type() {
        DataType::Float64 => {
            let array = array.as_primitive::<Float64Type>();
            rows.map(|row| if array.is_null(row) { null() } else { decimal(array.value(row)) }).collect()
        }
        DataType::Float32 => {
            let array = array.as_primitive::<Float32Type>();
            rows.map(|row| if array.is_null(row) { null() } else { decimal(f64::from(array.value(row))) }).collect()
        }
        DataType::Binary | DataType::BinaryView => {
            let array = cast(array, &DataType::Binary).map_err(DataFusionError::from)?;
            let array = array.as_binary::<i32>();
            rows.map(|row| if array.is_null(row) { null() } else { histogram(array.value(row)) }).collect()
        }
        _ => {
            let options = FormatOptions::default().with_null("?");
            let formatter = ArrayFormatter::try_new(array, &options).map_err(DataFusionError::from)?;
            // A line break in a cell would break the table.
            let cell = |row| formatter.value(row).to_string().replace('\n', "⏎");
            rows.map(|row| visible(&cell(row)).into_owned()).collect()
        }
    })
}

/// Six digits are more than any measurement here has.
fn decimal(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let exponent = value.abs().log10().floor();
    if !(-5.0..15.0).contains(&exponent) {
        return format!("{value:.5e}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10")]
    let places = (5.0 - exponent).clamp(0.0, 10.0) as usize;
    let text = format!("{value:.places$}");
    without_zeros(&text).to_string()
}

/// A histogram in a cell: how many values, and where they are.
fn histogram(bytes: &[u8]) -> String {
    match Histogram::decode(bytes) {
        Ok(histogram) => match (histogram.percentile(0.5), histogram.percentile(0.99), histogram.max()) {
            (Some(p50), Some(p99), Some(max)) => format!(
                "{} values, p50 {}, p99 {}, max {}",
                histogram.count(),
                format_ns(p50),
                format_ns(p99),
                format_ns(max)
            ),
            _ => "0 values".to_string(),
        },
        Err(_) => format!("{} bytes", bytes.len()),
    }
}
