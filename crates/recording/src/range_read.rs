//! A stretch of a recording's time, without reading the rest of it: by the statistics of sealed row groups, by halving an
//! open journal. And a journal's growth, batch by batch.

use crate::journal::JournalReader;
use crate::sealed::{Builder, SealedFile};
use crate::{Manifest, Reader, RecordingError, RowBatch, catalogue};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array as _, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Commits may stand in the journal a little out of the order of their rows' times.
const SLACK_NS: i64 = 2_000_000_000;

impl Reader {
    /// The rows of some tables whose `t_ns` (of the table `io`: completion) lies in `range`, in the order of writing. Of a
    /// sealed recording only those row groups are read that may hold some; of a journal only that stretch.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn between(&self, tables: &[&str], range: Range<i64>) -> Result<Vec<RowBatch>, RecordingError> {
        if let Some(journal) = self.open_journal()? {
            return from_journal(journal, tables, &range);
        }
        let mut found = Vec::new();
        for table in tables {
            let Some(known) = catalogue::table(table) else { continue };
            for (file, builder) in self.builders(table)? {
                let rows = from_parquet(&file, builder, table, &range)?;
                found.extend(rows.into_iter().map(|rows| RowBatch { table: known, rows }));
            }
        }
        Ok(found)
    }

    /// All batches of a table with some of its columns; of a journal, with all of them.
    ///
    /// # Errors
    /// A file cannot be opened, or is damaged.
    pub fn columns(
        &self,
        table: &str,
        columns: &[&str],
    ) -> Result<Box<dyn Iterator<Item = Result<RecordBatch, RecordingError>> + Send>, RecordingError> {
        if self.open_journal()?.is_some() {
            return Ok(Box::new(self.batches(table)?));
        }
        let mut readers = Vec::new();
        for (file, builder) in self.builders(table)? {
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
            readers.push(file.read(table, builder.with_projection(mask))?);
        }
        Ok(Box::new(readers.into_iter().flatten()))
    }

    /// First and last `t_ns` of a table; `None` when it has no rows.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn span(&self, table: &str) -> Result<Option<(i64, i64)>, RecordingError> {
        if let Some(mut journal) = self.open_journal()? {
            return journal_span(&mut journal, table);
        }
        let mut span: Option<(i64, i64)> = None;
        for (_, builder) in self.builders(table)? {
            for group in builder.metadata().row_groups() {
                let Some((low, high)) = times(group) else { continue };
                span = Some(span.map_or((low, high), |(first, last)| (first.min(low), last.max(high))));
            }
        }
        Ok(span)
    }
}

/// Least and greatest time of a row group, as far as it tells.
fn times(group: &RowGroupMetaData) -> Option<(i64, i64)> {
    let column = group
        .columns()
        .iter()
        .find(|column| ["t_ns", "complete_ns"].contains(&column.column_path().string().as_str()))?;
    match column.statistics()? {
        Statistics::Int64(statistics) => Some((*statistics.min_opt()?, *statistics.max_opt()?)),
        _ => None,
    }
}

fn from_parquet(
    file: &SealedFile,
    builder: Builder,
    table: &str,
    range: &Range<i64>,
) -> Result<Vec<RecordBatch>, RecordingError> {
    let wanted: Vec<usize> = builder
        .metadata()
        .row_groups()
        .iter()
        .enumerate()
        .filter(|(_, group)| times(group).is_none_or(|(low, high)| low < range.end && high >= range.start))
        .map(|(at, _)| at)
        .collect();
    let mut found = Vec::new();
    for batch in file.read(table, builder.with_row_groups(wanted))? {
        found.extend(cut(&batch?, range));
    }
    Ok(found)
}

/// When each row of a batch was, as far as it tells.
pub(crate) fn row_times(batch: &RecordBatch) -> Option<&arrow_array::PrimitiveArray<Int64Type>> {
    batch.column_by_name("t_ns").or_else(|| batch.column_by_name("complete_ns"))?.as_primitive_opt::<Int64Type>()
}

/// When a batch is: at its first row whose time is known. I/Os whose end was not seen have none, and their beginnings are
/// no help, because they are older than what stands around them.
fn first_time(batch: &RecordBatch) -> Option<i64> {
    row_times(batch)?.iter().flatten().next()
}

/// The part of a batch that holds all of its rows of a range; rows are in the order of time but for a little.
fn cut(batch: &RecordBatch, range: &Range<i64>) -> Option<RecordBatch> {
    let times = row_times(batch)?;
    let is_in = |row: &usize| times.is_valid(*row) && range.contains(&times.value(*row));
    let first = (0..times.len()).find(is_in)?;
    let last = (first..times.len()).rfind(is_in)?;
    Some(batch.slice(first, last + 1 - first))
}

/// When the first frame at or behind `at` is; frames without a time are passed over.
pub(crate) fn time_behind(journal: &mut JournalReader, at: u64) -> Result<Option<i64>, RecordingError> {
    journal.go_to(at)?;
    while let Some((_, batch)) = journal.next_batch(None)? {
        if let Some(t_ns) = first_time(&batch) {
            return Ok(Some(t_ns));
        }
    }
    Ok(None)
}

/// The last time that the frame here tells; `None` where it tells none.
pub(crate) fn last_time(journal: &mut JournalReader, at: u64) -> Result<Option<i64>, RecordingError> {
    journal.go_to(at)?;
    let batch = journal.next_batch(None)?;
    Ok(batch.and_then(|(_, batch)| row_times(&batch)?.iter().flatten().max()))
}

/// A place in the journal at or before the first frame of `t_ns`.
fn place_of(journal: &mut JournalReader, t_ns: i64) -> Result<u64, RecordingError> {
    let (mut low, mut high) = (0, journal.end());
    // Below a few commits, reading is as quick.
    while high - low > 1 << 14 {
        let middle = low + (high - low) / 2;
        match time_behind(journal, middle)? {
            Some(found_ns) if found_ns < t_ns => low = middle,
            _ => high = middle,
        }
    }
    Ok(low)
}

fn from_journal(
    mut journal: JournalReader,
    tables: &[&str],
    range: &Range<i64>,
) -> Result<Vec<RowBatch>, RecordingError> {
    let place = place_of(&mut journal, range.start.saturating_sub(SLACK_NS))?;
    journal.go_to(place)?;
    let mut found = Vec::new();
    while let Some((name, batch)) = journal.next_batch(None)? {
        if first_time(&batch).is_some_and(|t_ns| t_ns > range.end.saturating_add(SLACK_NS)) {
            break;
        }
        if let Some(table) = catalogue::table(&name).filter(|_| tables.contains(&name.as_str())) {
            found.extend(cut(&batch, range).map(|rows| RowBatch { table, rows }));
        }
    }
    Ok(found)
}

fn journal_span(journal: &mut JournalReader, table: &str) -> Result<Option<(i64, i64)>, RecordingError> {
    let first = loop {
        let Some((_, batch)) = journal.next_batch(Some(table))? else { return Ok(None) };
        if let Some(first) = first_time(&batch) {
            break first;
        }
    };
    // The last one is near the end; how near is not known.
    let (end, mut back) = (journal.end(), 1 << 18);
    loop {
        let start = end.saturating_sub(back);
        journal.go_to(start)?;
        let mut last = None;
        while let Some((_, batch)) = journal.next_batch(Some(table))? {
            last = row_times(&batch).and_then(|times| times.iter().flatten().last()).or(last);
        }
        if last.is_some() || start == 0 {
            return Ok(Some((first, last.unwrap_or(first))));
        }
        back *= 4;
    }
}

/// Follows a recording that is being written.
#[derive(Debug)]
pub struct RecordingFollower {
    directory: PathBuf,
    journal: JournalReader,
}

impl RecordingFollower {
    /// Begins with the first batches whose time is `from_ns` or later.
    ///
    /// # Errors
    /// There is no journal: the recording is sealed, or none.
    pub fn open(directory: &Path, from_ns: i64) -> Result<Self, RecordingError> {
        let mut journal = JournalReader::open(directory, &Manifest::find(directory)?.0)?;
        let place = place_of(&mut journal, from_ns)?;
        journal.go_to(place)?;
        journal.waits = true;
        let mut follower = Self { directory: directory.to_path_buf(), journal };
        // To the first frame that is late enough.
        loop {
            let at = follower.journal.at();
            let Some((_, batch)) = follower.journal.next_batch(None)? else { break };
            if first_time(&batch).is_some_and(|t_ns| t_ns >= from_ns) {
                follower.journal.go_to(at)?;
                break;
            }
        }
        Ok(follower)
    }

    /// What was written since the last call. A frame that is not whole yet comes with a later call.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn fresh(&mut self) -> Result<Vec<RowBatch>, RecordingError> {
        self.journal.look_again()?;
        let mut found = Vec::new();
        while self.journal.is_whole()? {
            let Some((name, rows)) = self.journal.next_batch(None)? else { break };
            found.extend(catalogue::table(&name).map(|table| RowBatch { table, rows }));
        }
        Ok(found)
    }

    /// Has its writer sealed it?
    #[must_use]
    pub fn is_over(&self) -> bool {
        Manifest::find(&self.directory).is_ok_and(|(manifest, _)| manifest.sealed)
    }
}
