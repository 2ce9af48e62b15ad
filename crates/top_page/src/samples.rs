//! Batches of a stretch of time, sample by sample.

use super::TRACED_EVERY_NS;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array as _, PrimitiveArray, RecordBatch};
use recording::{RowBatch, rows};

/// Tables that are read once per sample; the first of them that is there sets the pace.
const PACE: [&str; 10] = [
    rows::Cpu::NAME,
    rows::System::NAME,
    rows::Memory::NAME,
    rows::Disk::NAME,
    rows::Net::NAME,
    rows::Tcp::NAME,
    rows::Pressure::NAME,
    rows::Process::NAME,
    rows::IoInterval::NAME,
    rows::RequestInterval::NAME,
];

fn times(rows: &RecordBatch) -> Option<&PrimitiveArray<Int64Type>> {
    rows.column_by_name("t_ns").and_then(|column| column.as_primitive_opt::<Int64Type>())
}

/// The time of the last row.
pub(crate) fn last_ns(rows: &RecordBatch) -> Option<i64> {
    times(rows)?.iter().flatten().last()
}

/// When samples were taken.
#[must_use]
pub fn sample_times(batches: &[RowBatch]) -> Vec<i64> {
    let Some(pace) = PACE.into_iter().find(|name| batches.iter().any(|batch| batch.table.name == *name)) else {
        return Vec::new();
    };
    let mut begins: Vec<i64> = Vec::new();
    for batch in batches.iter().filter(|batch| batch.table.name == pace) {
        begins.extend(times(&batch.rows).into_iter().flat_map(|times| times.values().iter().copied()));
    }
    begins.sort_unstable();
    begins.dedup();
    if pace == "pressure" {
        // Each of its files has a time of its own.
        begins.dedup_by(|later, first| *later - *first < 100_000_000);
    }
    begins
}

/// The rows of a batch of the table `io` in pieces that were completed within one second each; those whose completion is
/// not known are left out.
#[must_use]
pub fn by_second(batch: &RowBatch) -> Vec<(i64, RowBatch)> {
    let ends = batch.rows.column_by_name("complete_ns").and_then(|column| column.as_primitive_opt::<Int64Type>());
    let Some(ends) = ends else { return Vec::new() };
    let second = |row: usize| ends.is_valid(row).then(|| ends.value(row).div_euclid(TRACED_EVERY_NS));
    let mut pieces = Vec::new();
    let mut from = 0;
    while from < ends.len() {
        let this = second(from);
        let to = (from + 1..ends.len()).find(|row| second(*row) != this).unwrap_or(ends.len());
        if let Some(this) = this {
            pieces.push((this, RowBatch { table: batch.table, rows: batch.rows.slice(from, to - from) }));
        }
        from = to;
    }
    pieces
}

/// Groups rows into samples, in the order of time: a sample begins with the rows of the table that is read first, and has
/// all rows of other tables up to the next one.
#[must_use]
pub fn samples(batches: &[RowBatch]) -> Vec<Vec<RowBatch>> {
    let begins = sample_times(batches);
    let mut samples: Vec<Vec<RowBatch>> = vec![Vec::new(); begins.len()];
    for batch in batches {
        let Some(times) = times(&batch.rows) else { continue };
        let mut from = 0;
        while from < times.len() {
            let at = begins.partition_point(|begin| *begin <= times.value(from));
            let end_ns = begins.get(at).copied().unwrap_or(i64::MAX);
            let begin_ns = at.checked_sub(1).and_then(|at| begins.get(at)).copied().unwrap_or(i64::MIN);
            let belongs = |row: &usize| (begin_ns..end_ns).contains(&times.value(*row));
            let to = (from + 1..times.len()).find(|row| !belongs(row)).unwrap_or(times.len());
            // What comes before the first sample belongs to one that is not here.
            if let Some(sample) = at.checked_sub(1).and_then(|at| samples.get_mut(at)) {
                sample.push(RowBatch { table: batch.table, rows: batch.rows.slice(from, to - from) });
            }
            from = to;
        }
    }
    samples
}
