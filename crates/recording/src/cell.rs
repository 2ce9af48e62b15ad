//! How one field of a row becomes columns, and back.

use crate::RecordingError;
use arrow_array::builder::{BinaryBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
use quantity::histogram::Histogram;
use std::sync::Arc;

/// The percentile columns beside a histogram column `NAME`: `NAME_ns_<suffix>`, with the quantile of the pNN.
pub const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

/// A field's type.
pub trait CellType: Sized {
    /// Text form of the type, for the catalogue.
    const TYPE: &'static str;
    /// May it be missing?
    const NULLABLE: bool = false;
    /// Columns of a field with this name.
    fn fields(name: &str, out: &mut Vec<Field>);
    /// Arrays of these columns.
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>)
    where
        Self: 'a;
    /// Values of the column; defaults when an older recording does not have it.
    fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError>;
}

pub(crate) fn mismatch(table: &'static str, name: &str, expected: &'static str) -> RecordingError {
    RecordingError::Column { table, column: name.to_string(), expected }
}

macro_rules! number {
    ($type:ty, $text:literal, $arrow:expr, $builder:ty, $primitive:ty) => {
        impl CellType for $type {
            const TYPE: &'static str = $text;
            fn fields(name: &str, out: &mut Vec<Field>) {
                out.push(Field::new(name, $arrow, false));
            }
            fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
                let mut builder = <$builder>::new();
                values.for_each(|value| builder.append_value(*value));
                out.push(Arc::new(builder.finish()));
            }
            fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
                Ok(<Option<$type> as CellType>::read(batch, table, name)?
                    .into_iter()
                    .map(Option::unwrap_or_default)
                    .collect())
            }
        }
        impl CellType for Option<$type> {
            const TYPE: &'static str = $text;
            const NULLABLE: bool = true;
            fn fields(name: &str, out: &mut Vec<Field>) {
                out.push(Field::new(name, $arrow, true));
            }
            fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
                let mut builder = <$builder>::new();
                values.for_each(|value| builder.append_option(*value));
                out.push(Arc::new(builder.finish()));
            }
            fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
                let Some(column) = batch.column_by_name(name) else { return Ok(vec![None; batch.num_rows()]) };
                let column = column.as_primitive_opt::<$primitive>().ok_or_else(|| mismatch(table, name, $text))?;
                Ok(column.iter().collect())
            }
        }
    };
}

number!(i64, "int64", DataType::Int64, Int64Builder, Int64Type);
number!(i32, "int32", DataType::Int32, Int32Builder, Int32Type);
number!(f64, "float64", DataType::Float64, Float64Builder, Float64Type);

impl CellType for bool {
    const TYPE: &'static str = "boolean";
    fn fields(name: &str, out: &mut Vec<Field>) {
        out.push(Field::new(name, DataType::Boolean, false));
    }
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
        let mut builder = BooleanBuilder::new();
        values.for_each(|value| builder.append_value(*value));
        out.push(Arc::new(builder.finish()));
    }
    fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
        Ok(<Option<bool> as CellType>::read(batch, table, name)?.into_iter().map(Option::unwrap_or_default).collect())
    }
}

impl CellType for Option<bool> {
    const TYPE: &'static str = "boolean";
    const NULLABLE: bool = true;
    fn fields(name: &str, out: &mut Vec<Field>) {
        out.push(Field::new(name, DataType::Boolean, true));
    }
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
        let mut builder = BooleanBuilder::new();
        values.for_each(|value| builder.append_option(*value));
        out.push(Arc::new(builder.finish()));
    }
    fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
        let Some(column) = batch.column_by_name(name) else { return Ok(vec![None; batch.num_rows()]) };
        let column = column.as_boolean_opt().ok_or_else(|| mismatch(table, name, "boolean"))?;
        Ok(column.iter().collect())
    }
}

impl CellType for Option<String> {
    const TYPE: &'static str = "text";
    const NULLABLE: bool = true;
    fn fields(name: &str, out: &mut Vec<Field>) {
        out.push(Field::new(name, DataType::Utf8, true));
    }
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
        let mut builder = StringBuilder::new();
        values.for_each(|value| builder.append_option(value.as_deref().map(cut)));
        out.push(Arc::new(builder.finish()));
    }
    fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
        let Some(column) = batch.column_by_name(name) else { return Ok(vec![None; batch.num_rows()]) };
        let column = column.as_string_opt::<i32>().ok_or_else(|| mismatch(table, name, "text"))?;
        Ok(column.iter().map(|value| value.map(String::from)).collect())
    }
}

impl CellType for String {
    const TYPE: &'static str = "text";
    fn fields(name: &str, out: &mut Vec<Field>) {
        out.push(Field::new(name, DataType::Utf8, false));
    }
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
        let mut builder = StringBuilder::new();
        values.for_each(|value| builder.append_value(cut(value)));
        out.push(Arc::new(builder.finish()));
    }
    fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
        Ok(<Option<String> as CellType>::read(batch, table, name)?.into_iter().map(Option::unwrap_or_default).collect())
    }
}

/// Longest text that is written into a cell: paths have 4 kB at most, names of tasks 15 bytes.
const TEXT_BYTES: usize = 64 << 10;
/// Longest text or histogram that is read.
pub(crate) const CELL_BYTES_MAX: i64 = 1 << 20;

/// As much of a text as a cell takes.
pub(crate) fn cut(text: &str) -> &str {
    let end = (0..=text.len().min(TEXT_BYTES)).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// A statistic that stands beside a histogram.
fn statistic(histogram: &Histogram, suffix: &str) -> Option<i64> {
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    match suffix {
        "min" => histogram.min().map(signed),
        #[expect(clippy::cast_possible_truncation, reason = "rounded to whole ns; below 2^63")]
        "mean" => histogram.mean().map(|mean| mean.round() as i64),
        "max" => histogram.max().map(signed),
        _ => {
            PERCENTILES.iter().find(|(name, _)| *name == suffix).and_then(|(_, q)| histogram.percentile(*q)).map(signed)
        }
    }
}

/// Suffixes of the statistics columns, in their order.
pub(crate) fn suffixes() -> impl Iterator<Item = &'static str> {
    ["min", "mean"].into_iter().chain(PERCENTILES.iter().map(|(name, _)| *name)).chain(["max"])
}

/// A histogram of bytes or of operations instead of nanoseconds. It stands alone: of sizes, the whole distribution is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeHistogram(pub Histogram);

impl CellType for SizeHistogram {
    const TYPE: &'static str = "histogram";
    fn fields(name: &str, out: &mut Vec<Field>) {
        out.push(Field::new(name, DataType::Binary, false));
    }
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
        let mut builder = BinaryBuilder::new();
        values.for_each(|value| builder.append_value(value.0.encode()));
        out.push(Arc::new(builder.finish()));
    }
    fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
        Ok(<Histogram as CellType>::read(batch, table, name)?.into_iter().map(Self).collect())
    }
}

impl CellType for Option<Histogram> {
    const TYPE: &'static str = "histogram";
    const NULLABLE: bool = true;
    fn fields(name: &str, out: &mut Vec<Field>) {
        out.push(Field::new(name, DataType::Binary, true));
        out.extend(suffixes().map(|suffix| Field::new(format!("{name}_ns_{suffix}"), DataType::Int64, true)));
    }
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
        let mut builder = BinaryBuilder::new();
        values.clone().for_each(|value| builder.append_option(value.as_ref().map(Histogram::encode)));
        out.push(Arc::new(builder.finish()));
        for suffix in suffixes() {
            let mut builder = Int64Builder::new();
            let of = |value: &'a Self| value.as_ref().and_then(|value| statistic(value, suffix));
            values.clone().for_each(|value| builder.append_option(of(value)));
            out.push(Arc::new(builder.finish()));
        }
    }
    fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
        let Some(column) = batch.column_by_name(name) else { return Ok(vec![None; batch.num_rows()]) };
        let column = column.as_binary_opt::<i32>().ok_or_else(|| mismatch(table, name, "histogram"))?;
        let decoded = |bytes: Option<&[u8]>| bytes.map(Histogram::decode).transpose();
        column.iter().map(|bytes| decoded(bytes).map_err(RecordingError::format(table))).collect()
    }
}

impl CellType for Histogram {
    const TYPE: &'static str = "histogram";
    fn fields(name: &str, out: &mut Vec<Field>) {
        out.push(Field::new(name, DataType::Binary, false));
        out.extend(suffixes().map(|suffix| Field::new(format!("{name}_ns_{suffix}"), DataType::Int64, true)));
    }
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
        let mut builder = BinaryBuilder::new();
        values.clone().for_each(|value| builder.append_value(value.encode()));
        out.push(Arc::new(builder.finish()));
        for suffix in suffixes() {
            let mut builder = Int64Builder::new();
            values.clone().for_each(|value| builder.append_option(statistic(value, suffix)));
            out.push(Arc::new(builder.finish()));
        }
    }
    fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
        let Some(column) = batch.column_by_name(name) else { return Ok(vec![Self::default(); batch.num_rows()]) };
        let column = column.as_binary_opt::<i32>().ok_or_else(|| mismatch(table, name, "histogram"))?;
        (0..column.len())
            .map(|row| Histogram::decode(column.value(row)).map_err(RecordingError::format(table)))
            .collect()
    }
}
