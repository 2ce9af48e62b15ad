//! I/Os of a trace that have no end, found without reading the others: they stand behind the I/Os that were completed
//! while they were in flight, where a range read does not look.

use crate::journal::JournalReader;
use crate::rows::Io;
use crate::sealed::{Builder, SealedFile};
use crate::{Reader, RecordingError, Row, packed};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BooleanArray, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter};
use parquet::file::metadata::RowGroupMetaData;

const COMPLETE: &str = "complete_ns";

impl Reader {
    /// The rows of the table `io` without `complete_ns`, in the order of writing; `None` when there are more than `most`, as
    /// in an import that does not tell when I/Os ended.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn unended(&self, most: usize) -> Result<Option<Vec<RecordBatch>>, RecordingError> {
        let mut found = Found { batches: Vec::new(), left: most };
        if let Some(mut journal) = self.open_journal()? {
            while let Some((name, stream)) = journal.next_frame()? {
                let fits = name != Io::TABLE.name || found.take_frame(&mut journal, &stream);
                if !fits {
                    return Ok(None);
                }
            }
            return Ok(Some(found.batches));
        }
        for (file, builder) in self.builders(Io::TABLE.name)? {
            if !from_parquet(&file, builder, &mut found)? {
                return Ok(None);
            }
        }
        Ok(Some(found.batches))
    }
}

struct Found {
    batches: Vec<RecordBatch>,
    /// So many more may come.
    left: usize,
}

impl Found {
    /// False when it is too much.
    fn take(&mut self, batch: RecordBatch) -> bool {
        let Some(left) = self.left.checked_sub(batch.num_rows()) else { return false };
        self.left = left;
        if batch.num_rows() > 0 {
            self.batches.push(batch);
        }
        true
    }

    /// What a frame of the journal has of them; nothing of a damaged one.
    fn take_frame(&mut self, journal: &mut JournalReader, stream: &[u8]) -> bool {
        if packed::is_packed(stream) {
            return packed::unpack_unended(stream).is_none_or(|batch| self.take(batch));
        }
        let Some(batch) = journal.batch_of(stream) else { return true };
        let ends = batch.column_by_name(COMPLETE).and_then(|column| column.as_primitive_opt::<Int64Type>());
        let Some(ends) = ends else { return true };
        let mut from = 0;
        while let Some(first) = (from..ends.len()).find(|row| ends.is_null(*row)) {
            from = (first..ends.len()).find(|row| ends.is_valid(*row)).unwrap_or(ends.len());
            if !self.take(batch.slice(first, from - first)) {
                return false;
            }
        }
        true
    }
}

/// Rows of a row group without an end; `None` where it does not tell.
fn nulls(group: &RowGroupMetaData) -> Option<u64> {
    let column = group.columns().iter().find(|column| column.column_path().string() == COMPLETE)?;
    column.statistics()?.null_count_opt()
}

/// False when it is too much.
fn from_parquet(file: &SealedFile, builder: Builder, found: &mut Found) -> Result<bool, RecordingError> {
    let groups = builder.metadata().row_groups();
    let known: u64 = groups.iter().filter_map(nulls).sum();
    if known > found.left as u64 {
        return Ok(false);
    }
    let wanted: Vec<usize> = (0..groups.len()).filter(|at| nulls(&groups[*at]) != Some(0)).collect();
    if wanted.is_empty() {
        return Ok(true);
    }
    let mask = ProjectionMask::columns(builder.parquet_schema(), [COMPLETE]);
    let has_none = ArrowPredicateFn::new(mask, |batch: RecordBatch| {
        let column = batch.column(0);
        Ok((0..column.len()).map(|row| Some(column.is_null(row))).collect::<BooleanArray>())
    });
    let builder = builder.with_row_groups(wanted).with_row_filter(RowFilter::new(vec![Box::new(has_none)]));
    for batch in file.read(Io::TABLE.name, builder)? {
        if !found.take(batch?) {
            return Ok(false);
        }
    }
    Ok(true)
}
