//! What a table of the catalogue is: its columns with unit, kind and meaning, defined once together with its row type.

use crate::time_column::with_time;
use arrow_schema::{Field, Schema, SchemaRef};
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

/// When a table has a row of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOccurrence {
    /// In every sample: a subject without a row is gone.
    EverySample,
    /// When it changed since its last row: without one, its last row still holds.
    OnChange,
    /// In every interval in which it did something: the row is of that interval alone.
    PerInterval,
    /// Once: the row is one thing that happened.
    Once,
}

/// One column (a histogram stands for its statistics columns as well).
#[derive(Debug)]
pub struct ColumnSchema {
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
    /// Is it one of the columns that tell the subjects of a table apart?
    pub is_key: bool,
    /// Is it withheld from scrapers (`openmetrics`)? As a label it would make another series each time that a program is
    /// started, as a value it is of one row alone.
    pub is_unscraped: bool,
    /// One sentence.
    pub help: &'static str,
    /// Format version that first had it.
    pub since: u32,
}

/// One table.
#[derive(Debug)]
pub struct TableSchema {
    /// Name in every face.
    pub name: &'static str,
    /// What a row is.
    pub help: &'static str,
    /// What fills it: the engine, the session, or a file of the kernel.
    pub source: &'static str,
    /// Format version that first had it.
    pub since: u32,
    /// Columns in order.
    pub columns: &'static [ColumnSchema],
    /// When it has a row of a subject.
    pub occurrence: RowOccurrence,
    /// The subject of the collector that fills it, as the manifest's word about it is called; its own name if no other.
    pub collected_as: &'static str,
    /// Has every sample a row of it, of whichever subject?
    pub in_every_sample: bool,
    /// Is it withheld from scrapers (`openmetrics`)? It has names without number, or figures of one interval only.
    pub unscraped: bool,
    /// Do its subjects end without a row that says so, although it has rows only of changes?
    pub vanishing: bool,
    /// Do its counters begin at 0 with each recording of a collector?
    pub per_recording: bool,
    /// Does it keep all rows when a recording is made coarser ([`thin`](crate::thin()))?
    pub kept_whole: bool,
    /// Are its rows added up there?
    pub summed: bool,
    pub(crate) fields: fn() -> Vec<Field>,
}

impl TableSchema {
    /// One without a name and columns, for struct update.
    pub(crate) const EMPTY: Self = Self {
        name: "",
        help: "",
        source: "",
        since: 1,
        columns: &[],
        occurrence: RowOccurrence::Once,
        collected_as: "",
        in_every_sample: false,
        unscraped: false,
        vanishing: false,
        per_recording: false,
        kept_whole: false,
        summed: false,
        fields: Vec::new,
    };

    /// Does it have rows only of what changed? What has none is as it was.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.occurrence == RowOccurrence::OnChange
    }

    /// Does a row of it that comes again begin the next sample?
    #[must_use]
    pub fn marks_samples(&self) -> bool {
        self.in_every_sample || self.occurrence == RowOccurrence::EverySample
    }

    /// Does it have fewer rows when a recording is made coarser, because those that stay tell of the others? Counters do.
    #[must_use]
    pub fn is_thinned(&self) -> bool {
        let has_counters = self.is_sparse() || self.occurrence == RowOccurrence::EverySample;
        has_counters && !self.kept_whole || self.summed
    }

    /// The columns that tell its subjects apart: no two rows of a sample have the same. Empty where it has one subject, and
    /// of a table of things that happened.
    pub fn key(&self) -> impl Iterator<Item = &'static ColumnSchema> + use<> {
        self.columns.iter().filter(|column| column.is_key)
    }

    /// The Arrow schema of its batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new((self.fields)()))
    }

    /// The same with `time` (UTC) behind, as sealed tables have it when there is a `t_ns`.
    #[must_use]
    pub fn schema_with_time(&self) -> SchemaRef {
        with_time(&self.schema())
    }

    /// The columns with a row's moment on the monotonic clock, ns, the first that is not null: `t_ns`, or the end of an
    /// I/O, or its start where the end is not known.
    #[must_use]
    pub fn moment(&self) -> Vec<&'static str> {
        let has = |name: &&str| self.columns.iter().any(|column| column.name == *name);
        if has(&"t_ns") { vec!["t_ns"] } else { ["complete_ns", "queue_ns"].into_iter().filter(has).collect() }
    }
}

/// A row type of the catalogue.
pub trait Row: Sized {
    /// The values of the columns that tell subjects apart ([`TableSchema::key`]).
    type Key: Clone + std::fmt::Debug + Eq + std::hash::Hash + Ord;
    /// Its table.
    const TABLE: &'static TableSchema;
    /// What it is about.
    fn key(&self) -> Self::Key;
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

/// Defines row types with their catalogue entries.
///
/// A table says after its version how its rows come (a [`RowOccurrence`]), `of` which subject of the collector it is where
/// that has another name, and `with` which of the marks of [`TableSchema`]. A column says after its kind whether it is
/// `in key`, whether it is `not scraped`, and `since` which version there is if it came later than its table.
macro_rules! tables {
    (@since $table:literal) => { $table };
    (@since $table:literal $column:literal) => { $column };
    (@or $first:expr) => { $first };
    (@or $first:expr, $second:expr) => { $second };
    (@is) => { false };
    (@is $mark:ident) => { true };
    (@type key $type:ty) => { $type };
    (@value key $value:expr) => { Clone::clone(&$value) };
    ($( #[doc = $help:literal] $row:ident = $name:literal from $source:literal since $since:literal
        rows $occurrence:ident $(of $subject:literal)? $(with $($mark:ident),+)? {
        $( #[doc = $column_help:literal] $field:ident: $type:ty, $unit:literal, $kind:ident
            $(in $key:ident)? $(not $scraped:ident)? $(since $column_since:literal)?; )*
    } )*) => {
        $(
            #[doc = $help]
            #[derive(Clone, Debug, Default, PartialEq)]
            pub struct $row {
                $( #[doc = $column_help] pub $field: $type, )*
            }

            impl $row {
                /// Name of its table.
                pub const NAME: &'static str = $name;
            }

            impl $crate::schema::Row for $row {
                type Key = ( $( $( $crate::schema::tables!(@type $key $type), )? )* );

                const TABLE: &'static $crate::schema::TableSchema = &$crate::schema::TableSchema {
                    name: Self::NAME,
                    help: $help,
                    source: $source,
                    since: $since,
                    columns: &[$( $crate::schema::ColumnSchema {
                        name: stringify!($field),
                        type_name: <$type as $crate::cell::CellType>::TYPE,
                        nullable: <$type as $crate::cell::CellType>::NULLABLE,
                        unit: $unit,
                        kind: $crate::schema::ColumnKind::$kind,
                        is_key: $crate::schema::tables!(@is $($key)?),
                        is_unscraped: $crate::schema::tables!(@is $($scraped)?),
                        help: $column_help,
                        since: $crate::schema::tables!(@since $since $($column_since)?),
                    } ),*],
                    occurrence: $crate::schema::RowOccurrence::$occurrence,
                    collected_as: $crate::schema::tables!(@or $name $(, $subject)?),
                    $( $( $mark: true, )+ )?
                    fields: || {
                        let mut fields = Vec::new();
                        $( <$type as $crate::cell::CellType>::fields(stringify!($field), &mut fields); )*
                        fields
                    },
                    ..$crate::schema::TableSchema::EMPTY
                };

                fn key(&self) -> Self::Key {
                    // A table without a key has `()`, which may not stand here by itself.
                    std::convert::identity(( $( $( $crate::schema::tables!(@value $key self.$field), )? )* ))
                }

                fn to_batch(rows: &[Self]) -> Result<arrow_array::RecordBatch, $crate::RecordingError> {
                    let mut arrays = Vec::new();
                    $( <$type as $crate::cell::CellType>::arrays(rows.iter().map(|row| &row.$field), &mut arrays); )*
                    arrow_array::RecordBatch::try_new(Self::TABLE.schema(), arrays)
                        .map_err($crate::RecordingError::format($name))
                }

                fn from_batch(batch: &arrow_array::RecordBatch) -> Result<Vec<Self>, $crate::RecordingError> {
                    $( let mut $field = <$type as $crate::cell::CellType>::read(batch, $name, stringify!($field))?.into_iter(); )*
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
        pub(super) const ALL: &[&$crate::schema::TableSchema] = &[$( <$row as $crate::schema::Row>::TABLE ),*];
    };
}
pub(crate) use tables;
