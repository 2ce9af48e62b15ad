//! The functions that SQL has here beyond the engine's own, over histogram columns and over plain whole numbers.

mod aggregate;
mod scalar;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, plan_err};
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use recording::RecordingError;

/// The functions that fold many rows.
pub(crate) fn aggregates() -> Vec<AggregateUDF> {
    aggregate::all()
}

/// The functions of one value.
pub(crate) fn scalars() -> Vec<ScalarUDF> {
    scalar::all()
}

/// A column of histograms in either of the layouts that the engine uses.
enum Histograms<'a> {
    Offsets(&'a datafusion::arrow::array::BinaryArray),
    Views(&'a datafusion::arrow::array::BinaryViewArray),
}

impl<'a> Histograms<'a> {
    fn of(array: &'a ArrayRef) -> Result<Self> {
        match array.data_type() {
            DataType::Binary => Ok(Self::Offsets(array.as_binary::<i32>())),
            DataType::BinaryView => Ok(Self::Views(array.as_binary_view())),
            other => Err(exec_datafusion_err!("expected a histogram, got {other}")),
        }
    }

    /// The bytes of a row; `None` when it is null.
    #[inline]
    fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Offsets(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Views(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }
}

/// Is this how a histogram is stored?
fn is_histogram(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::BinaryView)
}

/// The type that a function's histogram argument is brought to.
fn histogram_type(function: &str, given: &DataType) -> Result<DataType> {
    match given {
        DataType::Binary | DataType::BinaryView => Ok(given.clone()),
        DataType::LargeBinary | DataType::Null => Ok(DataType::BinaryView),
        other => plan_err!(
            "{function} takes a histogram column such as `response` or `service`, not a column of type {other}"
        ),
    }
}

/// Damaged bytes in a histogram column.
fn damaged(error: quantity::histogram::DecodeError) -> DataFusionError {
    let damage = RecordingError::Format { table: "with a histogram column".to_string(), why: error.to_string() };
    DataFusionError::External(Box::new(damage))
}

/// Whole nanoseconds as SQL has them.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
