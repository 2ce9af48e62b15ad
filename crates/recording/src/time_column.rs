//! The column `time` (UTC), which sealed tables have behind the others.

use crate::{Manifest, RecordingError};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{RecordBatch, TimestampNanosecondArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::sync::Arc;

/// UTC as an offset: readers without a time-zone database know it as well.
const UTC: &str = "+00:00";

/// The schema with `time` (UTC) behind the other columns, when there is a `t_ns` that it can be made of.
pub(crate) fn with_time(schema: &Schema) -> SchemaRef {
    let mut fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
    if schema.field_with_name("time").is_err() && schema.field_with_name("t_ns").is_ok() {
        fields.push(Field::new("time", DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())), false));
    }
    Arc::new(Schema::new(fields))
}

/// A batch with its `time` column.
pub(crate) fn add_time(batch: &RecordBatch, manifest: &Manifest, table: &str) -> Result<RecordBatch, RecordingError> {
    if batch.column_by_name("time").is_some() {
        return Ok(batch.clone());
    }
    let t_ns = batch.column_by_name("t_ns").and_then(|column| column.as_primitive_opt::<Int64Type>());
    let Some(t_ns) = t_ns else { return Ok(batch.clone()) };
    let time: Vec<i64> = t_ns.values().iter().map(|t_ns| manifest.wall_ns_at(*t_ns)).collect();
    let time = TimestampNanosecondArray::from(time).with_timezone(UTC);
    let mut columns = batch.columns().to_vec();
    columns.push(Arc::new(time));
    RecordBatch::try_new(with_time(&batch.schema()), columns).map_err(RecordingError::format(table))
}
