//! `t_s` and `time` of tables whose rows do not store them: worked out from the row's monotonic time when asked for.
//!
//! A row per I/O would carry 16 bytes more for what follows from the recording's start and its clock anchors.

use crate::source::QuerySources;
use crate::table::{RECORDING, RecordedTable};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, TimestampNanosecondArray};
use datafusion::arrow::datatypes::{DataType, Int64Type, TimeUnit};
use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::common::metadata::FieldMetadata;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlanBuilder, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, col,
};
use recording::{Manifest, RecordingError};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// UTC as sealed tables have it.
const UTC: &str = "+00:00";

/// What stands beside a row's moment in every other table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TimeColumn {
    /// Seconds since the recording's start.
    Seconds,
    /// UTC.
    Time,
}

impl TimeColumn {
    const ALL: [Self; 2] = [Self::Seconds, Self::Time];

    fn column(self) -> &'static str {
        match self {
            Self::Seconds => "t_s",
            Self::Time => "time",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Seconds => "The row's time since the recording's start.",
            Self::Time => "The row's time in UTC.",
        }
    }

    fn unit(self) -> Option<&'static str> {
        (self == Self::Seconds).then_some("s")
    }
}

/// What a column means that this file adds, and `time` of the others; `None` for any other column.
pub(crate) fn help(column: &str) -> Option<&'static str> {
    TimeColumn::ALL.iter().find(|moment| moment.column() == column).map(|moment| moment.help())
}

/// The table with the columns that are missing, or as it is when none is.
pub(crate) fn complete(table: RecordedTable, sources: &QuerySources) -> Result<Arc<dyn TableProvider>> {
    let schema = table.schema();
    let moment: Vec<Expr> = recording::table(table.name())
        .map_or_else(Vec::new, recording::TableSchema::moment)
        .into_iter()
        .filter(|name| schema.field_with_name(name).is_ok())
        .map(|name| col(quoted(name)))
        .collect();
    let missing: Vec<TimeColumn> =
        TimeColumn::ALL.into_iter().filter(|moment| schema.field_with_name(moment.column()).is_err()).collect();
    if missing.is_empty() || moment.is_empty() {
        return Ok(Arc::new(table));
    }
    let clocks = Clocks::of(sources).map_err(|error| datafusion::common::DataFusionError::External(error.into()))?;
    let clocks = Arc::new(clocks);
    let mut columns: Vec<Expr> = schema.fields().iter().map(|field| col(quoted(field.name()))).collect();
    for wanted in missing {
        let function = ScalarUDF::new_from_impl(Since::new(wanted, Arc::clone(&clocks)));
        let unit = wanted.unit().map(|unit| BTreeMap::from([("unit".to_string(), unit.to_string())]));
        let value = function.call(vec![col(RECORDING), coalesce(moment.clone())]);
        // Before the recording's name, which is the last column of every table.
        let at = columns.len() - 1;
        columns.insert(at, value.alias_with_metadata(wanted.column(), unit.map(FieldMetadata::from)));
    }
    let name = table.name().to_string();
    let plan = LogicalPlanBuilder::scan(name, provider_as_source(Arc::new(table)), None)?.project(columns)?.build()?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

/// A column's name as an identifier that keeps its letters.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// How each recording's monotonic times become others.
#[derive(Debug)]
struct Clocks(BTreeMap<String, Manifest>);

impl Clocks {
    fn of(sources: &QuerySources) -> std::result::Result<Self, RecordingError> {
        let manifests = sources.recordings.iter().map(|source| {
            let reader = source.open()?;
            Ok((source.name.clone(), reader.manifest().clone()))
        });
        manifests.collect::<std::result::Result<_, _>>().map(Self)
    }
}

/// The function behind such a column, of the recording's name and the monotonic time.
#[derive(Debug)]
struct Since {
    moment: TimeColumn,
    clocks: Arc<Clocks>,
    signature: Signature,
}

impl Since {
    fn new(moment: TimeColumn, clocks: Arc<Clocks>) -> Self {
        let signature = Signature::exact(vec![DataType::Utf8View, DataType::Int64], Volatility::Immutable);
        Self { moment, clocks, signature }
    }

    /// A value per row; rows of one recording follow each other.
    fn values(&self, names: &ArrayRef, times: &Int64Array, of: impl Fn(&Manifest, i64) -> i64) -> Vec<Option<i64>> {
        let names = names.as_string_view();
        let mut last: Option<(&str, &Manifest)> = None;
        let rows = 0..times.len();
        rows.map(|row| {
            let name = names.value(row);
            if last.is_none_or(|(known, _)| known != name) {
                last = self.clocks.0.get(name).map(|manifest| (name, manifest));
            }
            let (_, manifest) = last.filter(|_| times.is_valid(row))?;
            Some(of(manifest, times.value(row)))
        })
        .collect()
    }
}

impl PartialEq for Since {
    fn eq(&self, other: &Self) -> bool {
        self.moment == other.moment && Arc::ptr_eq(&self.clocks, &other.clocks)
    }
}
impl Eq for Since {}
impl Hash for Since {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.moment.hash(state);
        Arc::as_ptr(&self.clocks).hash(state);
    }
}

impl ScalarUDFImpl for Since {
    fn name(&self) -> &str {
        self.moment.column()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.moment {
            TimeColumn::Seconds => DataType::Float64,
            TimeColumn::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let times = arrays[1].as_primitive::<Int64Type>();
        Ok(ColumnarValue::Array(match self.moment {
            TimeColumn::Seconds => {
                let ns = self.values(&arrays[0], times, |manifest, t_ns| t_ns.saturating_sub(manifest.started_t_ns));
                Arc::new(ns.into_iter().map(|ns| ns.map(|ns| ns as f64 / 1e9)).collect::<Float64Array>())
            }
            TimeColumn::Time => {
                let ns = self.values(&arrays[0], times, Manifest::wall_ns_at);
                Arc::new(TimestampNanosecondArray::from(ns).with_timezone(UTC))
            }
        }))
    }
}
