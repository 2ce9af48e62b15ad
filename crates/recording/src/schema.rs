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
    pub(crate) fields: fn() -> Vec<Field>,
}

impl TableSchema {
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
    /// Its table.
    const TABLE: &'static TableSchema;
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
            #[derive(Clone, Debug, Default, PartialEq)]
            pub struct $row {
                $( #[doc = $column_help] pub $field: $type, )*
            }

            impl $row {
                /// Name of its table.
                pub const NAME: &'static str = $name;
            }

            impl $crate::schema::Row for $row {
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
                        help: $column_help,
                        since: $crate::schema::tables!(@since $since $($column_since)?),
                    } ),*],
                    fields: || {
                        let mut fields = Vec::new();
                        $( <$type as $crate::cell::CellType>::fields(stringify!($field), &mut fields); )*
                        fields
                    },
                };

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
