//! What passes between sources and sinks.

use crate::{RecordingError, Row, TableSchema};
use arrow_array::RecordBatch;

/// Rows of one table.
#[derive(Clone, Debug)]
pub struct RowBatch {
    /// The table.
    pub table: &'static TableSchema,
    /// Its rows, in the table's schema.
    pub rows: RecordBatch,
}

impl RowBatch {
    /// A batch of `rows`.
    ///
    /// # Errors
    /// Arrow refuses; does not happen with rows of the catalogue.
    pub fn from_rows<R: Row>(rows: &[R]) -> Result<Self, RecordingError> {
        Ok(Self { table: R::TABLE, rows: R::to_batch(rows)? })
    }

    /// The rows, when they are of this type.
    ///
    /// # Errors
    /// A column of another type, a damaged histogram.
    pub fn to_rows<R: Row>(&self) -> Result<Vec<R>, RecordingError> {
        if self.table.name == R::TABLE.name { R::from_batch(&self.rows) } else { Ok(Vec::new()) }
    }
}

/// Takes batches.
pub trait Sink {
    /// One batch of the interval under way.
    ///
    /// # Errors
    /// It could not be taken.
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError>;

    /// The interval is complete.
    ///
    /// # Errors
    /// It could not be written.
    fn commit(&mut self) -> Result<(), RecordingError>;
}
