//! What the end of a Parquet file says, looked at before any of its rows is read, because the file may have been made to fill
//! the reader's memory; and batches of bounded size.

use crate::ipc;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use std::path::Path;

/// Rows of a batch that is read, at most.
pub(crate) const BATCH_ROWS: usize = 8192;
/// Bytes of text and histograms of such a batch, in the mean of a row group.
const BATCH_BYTES: u64 = 32 << 20;
/// Most rows of a row group; iodyno writes 65,536, other programs that write Parquet a million.
const GROUP_ROWS_MAX: i64 = 1 << 20;

/// What is read, for [`quantity::reading`].
pub(crate) fn note(table: &str, path: &Path) -> String {
    format!("table {table} ({})", path.display())
}

/// Are the numbers at the end of a file possible for its length, and for a recording?
pub(crate) fn check(metadata: &ParquetMetaData, length: u64) -> Result<(), String> {
    let mut rows = 0_i64;
    for (at, group) in metadata.row_groups().iter().enumerate() {
        if !(0..=GROUP_ROWS_MAX).contains(&group.num_rows()) {
            let most = GROUP_ROWS_MAX;
            return Err(format!("row group {at} says that it has {} rows; 0 to {most} are possible", group.num_rows()));
        }
        rows += group.num_rows();
        for column in group.columns() {
            let (start, bytes) = column.byte_range_checked().ok_or_else(|| format!("row group {at} has no place"))?;
            if start.checked_add(bytes).is_none_or(|end| end > length) {
                return Err(format!("row group {at} ends behind the file's {length} bytes"));
            }
        }
    }
    for pair in metadata.file_metadata().key_value_metadata().into_iter().flatten() {
        let schema = pair.value.as_deref().filter(|_| pair.key == ARROW_SCHEMA_META_KEY);
        if schema.is_some_and(|schema| ipc::check_schema(schema).is_none()) {
            return Err("its description of the columns (ARROW:schema) is damaged".to_string());
        }
    }
    let stated = metadata.file_metadata().num_rows();
    if rows == stated {
        Ok(())
    } else {
        Err(format!("it says that it has {stated} rows, and its row groups have {rows}"))
    }
}

/// Where a column chunk lies: its beginning and its length. The library's own way panics where they are negative.
trait Placed {
    fn byte_range_checked(&self) -> Option<(u64, u64)>;
}

impl Placed for parquet::file::metadata::ColumnChunkMetaData {
    fn byte_range_checked(&self) -> Option<(u64, u64)> {
        let start = self.dictionary_page_offset().filter(|at| *at > 0).unwrap_or_else(|| self.data_page_offset());
        u64::try_from(start).ok().zip(u64::try_from(self.compressed_size()).ok())
    }
}

/// So many rows that a batch has a bounded size also where text is long and stands in the file only once.
pub(crate) fn batch_rows(metadata: &ParquetMetaData) -> usize {
    let of_group = |group: &RowGroupMetaData| {
        let bytes: u64 = group
            .columns()
            .iter()
            .filter_map(|column| column.unencoded_byte_array_data_bytes())
            .fold(0, |sum, bytes| sum.saturating_add(bytes.unsigned_abs()));
        let each = bytes / u64::try_from(group.num_rows()).unwrap_or(0).max(1);
        usize::try_from(BATCH_BYTES / each.max(1)).unwrap_or(BATCH_ROWS)
    };
    metadata.row_groups().iter().map(of_group).min().unwrap_or(BATCH_ROWS).clamp(1, BATCH_ROWS)
}
