//! The schema catalogue: every table and column, with unit, kind and meaning, defined once.

use crate::cell::suffixes;
use arrow_schema::{Field, Schema, SchemaRef};
use std::fmt::Write as _;
use std::sync::Arc;

/// What a column's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A point in time or a length of time that orders the rows.
    Time,
    /// Counts up; rates come from differences.
    Counter,
    /// A value of that moment or interval.
    Gauge,
    /// A mergeable histogram (docs/histogram-v1.md), with its statistics as plain columns beside it.
    Histogram,
    /// A name.
    Name,
    /// A number that names a thing: a process, a port, a CPU.
    Number,
    /// A sentence.
    Text,
}

impl ColumnKind {
    /// Lower-case word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Name => "name",
            Self::Number => "number",
            Self::Text => "text",
        }
    }
}

/// One column (a histogram stands for its statistics columns as well).
#[derive(Debug)]
pub struct Column {
    /// Name in every face.
    pub name: &'static str,
    /// `int64`, `float64`, `text`, `boolean`, `histogram`.
    pub type_name: &'static str,
    /// May it be missing?
    pub nullable: bool,
    /// `ns`, `bytes`, `op`, …; empty without one.
    pub unit: &'static str,
    /// What its values are.
    pub kind: ColumnKind,
    /// One sentence.
    pub help: &'static str,
    /// Format version that first had it.
    pub since: u32,
}

/// One table.
#[derive(Debug)]
pub struct Table {
    /// Name in every face.
    pub name: &'static str,
    /// What a row is.
    pub help: &'static str,
    /// What fills it: the engine, the session, or a file of the kernel.
    pub source: &'static str,
    /// Format version that first had it.
    pub since: u32,
    /// Columns in order.
    pub columns: &'static [Column],
    pub(crate) fields: fn() -> Vec<Field>,
}

impl Table {
    /// The Arrow schema of its batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new((self.fields)()))
    }

    /// The same with `time` (UTC) behind, as sealed tables have it when there is a `t_ns`.
    #[must_use]
    pub fn schema_with_time(&self) -> SchemaRef {
        crate::seal::with_time(&self.schema())
    }

    /// The columns with a row's moment on the monotonic clock, ns, the first that is not null: `t_ns`, or the end of an
    /// I/O, or where that was not told its start.
    #[must_use]
    pub fn moment(&self) -> Vec<&'static str> {
        let has = |name: &&str| self.columns.iter().any(|column| column.name == *name);
        if has(&"t_ns") { vec!["t_ns"] } else { ["complete_ns", "queue_ns"].into_iter().filter(has).collect() }
    }
}

/// A row type of the catalogue.
pub trait Row: Sized {
    /// Its table.
    const TABLE: &'static Table;
    /// Rows as a batch.
    ///
    /// # Errors
    /// Arrow refuses; does not happen with rows of this catalogue.
    fn to_batch(rows: &[Self]) -> Result<arrow_array::RecordBatch, crate::RecordingError>;
    /// A batch as rows; columns that an older recording lacks get their default.
    ///
    /// # Errors
    /// A column of another type, a damaged histogram.
    fn from_batch(batch: &arrow_array::RecordBatch) -> Result<Vec<Self>, crate::RecordingError>;
}

/// Defines row types with their catalogue entries. A column that came later than its table says `since VERSION` before
/// its semicolon.
macro_rules! tables {
    (@since $table:literal) => { $table };
    (@since $table:literal $column:literal) => { $column };
    ($( #[doc = $help:literal] $row:ident = $name:literal from $source:literal since $since:literal {
        $( #[doc = $column_help:literal] $field:ident: $type:ty, $unit:literal, $kind:ident
            $(since $column_since:literal)?; )*
    } )*) => {
        $(
            #[doc = $help]
            #[derive(Clone, Debug, PartialEq)]
            pub struct $row {
                $( #[doc = $column_help] pub $field: $type, )*
            }

            impl $crate::catalogue::Row for $row {
                const TABLE: &'static $crate::catalogue::Table = &$crate::catalogue::Table {
                    name: $name,
                    help: $help,
                    source: $source,
                    since: $since,
                    columns: &[$( $crate::catalogue::Column {
                        name: stringify!($field),
                        type_name: <$type as $crate::cell::Cell>::TYPE,
                        nullable: <$type as $crate::cell::Cell>::NULLABLE,
                        unit: $unit,
                        kind: $crate::catalogue::ColumnKind::$kind,
                        help: $column_help,
                        since: $crate::catalogue::tables!(@since $since $($column_since)?),
                    } ),*],
                    fields: || {
                        let mut fields = Vec::new();
                        $( <$type as $crate::cell::Cell>::fields(stringify!($field), &mut fields); )*
                        fields
                    },
                };

                fn to_batch(rows: &[Self]) -> Result<arrow_array::RecordBatch, $crate::RecordingError> {
                    let mut arrays = Vec::new();
                    $( <$type as $crate::cell::Cell>::arrays(rows.iter().map(|row| &row.$field), &mut arrays); )*
                    arrow_array::RecordBatch::try_new(Self::TABLE.schema(), arrays)
                        .map_err($crate::RecordingError::format($name))
                }

                fn from_batch(batch: &arrow_array::RecordBatch) -> Result<Vec<Self>, $crate::RecordingError> {
                    $( let mut $field = <$type as $crate::cell::Cell>::read(batch, $name, stringify!($field))?.into_iter(); )*
                    let mut rows = Vec::with_capacity(batch.num_rows());
                    for _ in 0..batch.num_rows() {
                        // Every column has as many values as the batch has rows.
                        let ($( Some($field), )*) = ($( $field.next(), )*) else { break };
                        rows.push(Self { $( $field, )* });
                    }
                    Ok(rows)
                }
            }
        )*

        /// All tables of this file.
        pub(super) const ALL: &[&$crate::catalogue::Table] = &[$( <$row as $crate::catalogue::Row>::TABLE ),*];
    };
}
pub(crate) use tables;

/// All tables of this version.
#[must_use]
pub fn catalogue() -> &'static [&'static Table] {
    &crate::rows::ALL
}

/// The table with this name.
#[must_use]
pub fn table(name: &str) -> Option<&'static Table> {
    catalogue().iter().copied().find(|table| table.name == name)
}

/// Columns of the prose of a page.
const PAGE_WIDTH: usize = 100;

/// A paragraph in lines of at most [`PAGE_WIDTH`] columns.
fn wrapped(paragraph: &str) -> String {
    let (mut lines, mut width) = (String::new(), 0);
    for word in paragraph.split_whitespace() {
        let more = word.chars().count();
        if width == 0 {
            width = more;
        } else if width + 1 + more > PAGE_WIDTH {
            lines.push('\n');
            width = more;
        } else {
            lines.push(' ');
            width += 1 + more;
        }
        lines.push_str(word);
    }
    lines.push('\n');
    lines
}

/// The catalogue as a page of the documentation (docs/tables.md).
#[must_use]
pub fn catalogue_markdown() -> String {
    let mut page = String::from(
        "# Tables of a recording\n\nGenerated from the schema catalogue by `make docs`; do not edit.\n\n\
         `t_ns` is the host's `CLOCK_MONOTONIC`, `t_s` the seconds since the recording's start; sealed tables\n\
         also carry `time` (UTC).\n",
    );
    let names: Vec<String> = suffixes().map(|suffix| format!("`NAME_ns_{suffix}`")).collect();
    let histograms = format!(
        "A column of type *histogram* holds the bytes of [histogram-v1](histogram-v1.md); beside it are, as plain `int64` columns \
         in ns, {}; a histogram of sizes, in bytes or operations, has none. Missing values are null, never 0.",
        names.join(", ")
    );
    page.push_str(&wrapped(&histograms));
    for table in catalogue() {
        let about = format!("{} Source: {}. Since format {}.", table.help.trim(), table.source, table.since);
        let _ = writeln!(
            page,
            "\n## {}\n\n{}\n| column | type | unit | kind | meaning |\n| --- | --- | --- | --- | --- |",
            table.name,
            wrapped(&about)
        );
        for column in table.columns {
            let optional = if column.nullable { ", may be null" } else { "" };
            let since = match column.since {
                later if later > table.since => format!(" (since format {later})"),
                _ => String::new(),
            };
            let _ = writeln!(
                page,
                "| `{}` | {}{optional} | {} | {} | {}{since} |",
                column.name,
                column.type_name,
                column.unit,
                column.kind.word(),
                column.help.trim()
            );
        }
    }
    page
}
