//! The table `file_interval`: which files are read and written, and how much of that the page cache had.

use super::ROWS;
use quantity::text::{format_bytes, format_count};
use recording::rows::FileInterval;
use recording::{Label, Reader, RecordingError, Row, RowBatch};
use std::collections::BTreeMap;
use view::Drawing;
use view::axis;
use view::{Body, Scale, TableColumn, ViewTable};
use view::{TableReadError, Unit};

/// What a row of the table is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilesBy {
    /// A file.
    #[default]
    File,
    /// A process.
    Process,
    /// A mounted file system.
    Mount,
}

/// What the first rows have most of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesOrder {
    /// Reads.
    Reads,
    /// Bytes read.
    ReadBytes,
    /// Bytes written.
    WriteBytes,
}

/// Sums over rows.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    reads: i64,
    read_bytes: i64,
    direct_reads: i64,
    direct_read_bytes: i64,
    touched: i64,
    mapped: i64,
    filled: i64,
    writes: i64,
    write_bytes: i64,
}

impl Sums {
    fn add(&mut self, row: &FileInterval) {
        self.reads += row.reads + row.direct_reads;
        self.read_bytes += row.read_bytes + row.direct_read_bytes;
        self.direct_reads += row.direct_reads;
        self.direct_read_bytes += row.direct_read_bytes;
        self.touched += row.touched_bytes;
        self.mapped += row.mapped_bytes;
        self.filled += row.filled_bytes;
        self.writes += row.writes + row.direct_writes;
        self.write_bytes += row.write_bytes + row.direct_write_bytes;
    }

    /// Pages that had to be brought in ÷ pages that reads and mappings touched. More than 100 where more was read ahead
    /// than was ever looked at.
    fn miss_percent(&self) -> Option<f64> {
        let touched = self.touched + self.mapped;
        (touched > 0).then(|| 100.0 * self.filled as f64 / touched as f64)
    }

    /// What did not come from the page cache, read-ahead included.
    fn physical(&self) -> i64 {
        self.filled + self.direct_read_bytes
    }

    fn of(&self, order: FilesOrder) -> i64 {
        match order {
            FilesOrder::Reads => self.reads,
            FilesOrder::ReadBytes => self.read_bytes + self.mapped,
            FilesOrder::WriteBytes => self.write_bytes,
        }
    }
}

/// Activity of files over an interval, or over a whole recording.
#[derive(Clone, Debug, Default)]
pub struct FileFold {
    sums: BTreeMap<(FilesBy, String), Sums>,
    total: Sums,
}

impl FileFold {
    /// All of a recording; `None` when it has nothing about files.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn read(reader: &Reader) -> Result<Option<Self>, TableReadError> {
        let mut fold = Self::default();
        for rows in reader.batches(FileInterval::NAME)? {
            fold.accept(&RowBatch { table: FileInterval::TABLE, rows: rows? })?;
        }
        Ok((!fold.sums.is_empty()).then_some(fold))
    }

    /// Adds a batch; those of other tables are passed over.
    ///
    /// # Errors
    /// It has not the columns of its table.
    pub fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        for row in batch.to_rows::<FileInterval>()? {
            let known = |name: &Option<Label>, other: &str| name.as_deref().unwrap_or(other).to_string();
            let unnamed = row.inode.map_or("(unknown)".to_string(), |inode| format!("(inode {inode})"));
            let process =
                format!("{} {}", row.pid.map_or("?".to_string(), |pid| pid.to_string()), known(&row.comm, "(unknown)"));
            for (by, name) in [
                (FilesBy::File, known(&row.file, &unnamed)),
                (FilesBy::Process, process),
                (FilesBy::Mount, known(&row.mount, "(not mounted here)")),
            ] {
                self.sums.entry((by, name)).or_default().add(&row);
            }
            self.total.add(&row);
        }
        Ok(())
    }

    /// Is there nothing?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Pages that had to be brought in ÷ pages touched, per cent; `None` when none was touched.
    #[must_use]
    pub fn miss_percent(&self) -> Option<f64> {
        self.total.miss_percent()
    }

    /// All of it in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let total = &self.total;
        let bytes = |bytes: i64| format_bytes(u64::try_from(bytes).unwrap_or(0));
        let miss = match self.miss_percent() {
            Some(percent) => format!("page-cache miss rate {percent:.1} %"),
            None => "nothing read through the page cache".to_string(),
        };
        format!(
            "{} reads of {} ({} physical), {} writes of {}; {miss}",
            format_count(total.reads as f64),
            bytes(total.read_bytes),
            bytes(total.physical()),
            format_count(total.writes as f64),
            bytes(total.write_bytes),
        )
    }

    /// The first `top` in this order; those that have nothing of it are left out.
    #[must_use]
    pub fn table(&self, by: FilesBy, order: FilesOrder, top: usize) -> ViewTable {
        let mut rows: Vec<(&str, &Sums)> = self
            .sums
            .iter()
            .filter(|((kind, _), _)| *kind == by)
            .map(|((_, name), sums)| (name.as_str(), sums))
            .collect();
        rows.retain(|(_, sums)| sums.of(order) > 0);
        rows.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.of(order)));
        let omitted = rows.len().saturating_sub(top);
        rows.truncate(top);
        let heading = match by {
            FilesBy::File => "file",
            FilesBy::Process => "process",
            FilesBy::Mount => "file system",
        };
        let of = |name: &str, unit: Unit, value: fn(&Sums) -> Option<f64>| {
            TableColumn::numbers(name, unit, rows.iter().map(|(_, sums)| value(sums)))
        };
        let columns = vec![
            TableColumn::text(heading, rows.iter().map(|(name, _)| (*name).to_string()).collect()),
            of("reads", Unit::Operations, |sums| Some(sums.reads as f64)),
            of("logical", Unit::Bytes, |sums| Some(sums.read_bytes as f64)).under("read"),
            of("mapped", Unit::Bytes, |sums| Some(sums.mapped as f64)).under("read"),
            of("physical", Unit::Bytes, |sums| Some(sums.physical() as f64)).under("read"),
            of("miss rate", Unit::Percent, Sums::miss_percent),
            of("direct", Unit::Percent, |sums| {
                (sums.reads > 0).then(|| 100.0 * sums.direct_reads as f64 / sums.reads as f64)
            }),
            of("writes", Unit::Operations, |sums| Some(sums.writes as f64)),
            of("written", Unit::Bytes, |sums| Some(sums.write_bytes as f64)),
        ];
        ViewTable { columns, omitted }
    }
}

fn drawn(fold: &FileFold, by: FilesBy, order: FilesOrder) -> Option<Drawing> {
    let none = || axis("", Unit::None, Scale::Category);
    let table = fold.table(by, order, ROWS);
    (table.rows() > 0).then(|| Drawing { x: none(), y: none(), body: Body::Table(table), marks: Vec::new() })
}

/// Files by the number of reads.
pub fn by_reads(fold: &FileFold) -> Option<Drawing> {
    drawn(fold, FilesBy::File, FilesOrder::Reads)
}

/// Files by bytes read.
pub fn by_bytes(fold: &FileFold) -> Option<Drawing> {
    drawn(fold, FilesBy::File, FilesOrder::ReadBytes)
}

/// Files by bytes written.
pub fn by_written(fold: &FileFold) -> Option<Drawing> {
    drawn(fold, FilesBy::File, FilesOrder::WriteBytes)
}

/// Mounts by bytes read.
pub fn by_mount(fold: &FileFold) -> Option<Drawing> {
    drawn(fold, FilesBy::Mount, FilesOrder::ReadBytes)
}
