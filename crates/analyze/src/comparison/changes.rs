//! Which counters of the machine differ most between recordings, whatever their table.

use super::estimate::{Ratio, ratio};
use crate::{AnalyzeError, Unit};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use recording::{Column, ColumnKind, Reader, Table};
use std::collections::BTreeMap;

/// Tables of counters whose rows are few: those of each process, vector or thread would drown the rest.
const TABLES: [&str; 8] = ["cpu", "system", "memory", "pressure", "disk", "net", "tcp", "udp"];
/// Most stretches over which a rate is taken.
const BATCHES: usize = 10;
/// Changes that are told.
const MOST: usize = 25;
/// Below this much, a change is not worth a line.
const WORTH: f64 = 1.1;

/// Which counter: table, column, names of the row.
type Key = (&'static str, &'static str, String);

/// A counter in stretches of time.
#[derive(Clone, Debug)]
struct Rates {
    unit: Unit,
    help: &'static str,
    /// Mean over all the time.
    mean: f64,
    batches: Vec<f64>,
}

/// The counters of a recording while its load ran.
#[derive(Debug, Default)]
pub(crate) struct Samples(BTreeMap<Key, Rates>);

/// A counter that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// `disk sda`.
    pub of: String,
    /// Name of the column.
    pub column: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// Unit of the values.
    pub unit: Unit,
    /// In the first recording.
    pub was: f64,
    /// In the other.
    pub is: f64,
    /// How many times as much; `None` when one of them is 0.
    pub ratio: Option<Ratio>,
}

/// Unit of a rate or of a value, and what it is multiplied by.
fn unit_of(column: &Column) -> (Unit, f64) {
    let rate = column.kind == ColumnKind::Counter;
    match (column.unit, rate) {
        // Nanoseconds per second, as per cent of one CPU, or of the time.
        ("ns", true) => (Unit::Percent, 1e-7),
        ("ms", true) => (Unit::Percent, 0.1),
        ("ns", false) => (Unit::Nanoseconds, 1.0),
        ("ms", false) => (Unit::Nanoseconds, 1e6),
        ("sectors", true) => (Unit::BytesPerSecond, 512.0),
        ("bytes", true) => (Unit::BytesPerSecond, 1.0),
        ("bytes", false) => (Unit::Bytes, 1.0),
        (_, true) => (Unit::OpsPerSecond, 1.0),
        (_, false) => (Unit::Count, 1.0),
    }
}

fn numbers(values: &ArrayRef) -> Option<Vec<Option<f64>>> {
    if let Some(values) = values.as_primitive_opt::<Int64Type>() {
        return Some(values.iter().map(|value| value.map(|value| value as f64)).collect());
    }
    Some(values.as_primitive_opt::<Float64Type>()?.iter().collect())
}

/// Values of one counter over time.
type Series = Vec<(i64, f64)>;

impl Samples {
    /// Reads the counters of `[from, to]` ns; of everything when `span` is `None`.
    pub(crate) fn read(reader: &Reader, span: Option<(i64, i64)>) -> Result<Self, AnalyzeError> {
        // Counters are read once per interval: the sample before the load is its beginning.
        let (from_ns, to_ns) = span.map_or((i64::MIN, i64::MAX), |(from, to)| (from - 300_000_000, to + 300_000_000));
        let mut samples = Self::default();
        for table in TABLES.into_iter().filter_map(recording::table) {
            let mut series: BTreeMap<(usize, String), Series> = BTreeMap::new();
            for batch in reader.batches(table.name)? {
                collect(table, &batch?, (from_ns, to_ns), &mut series);
            }
            for ((column, names), series) in series {
                let column = &table.columns[column];
                let Some(rates) = rates(column, &series) else { continue };
                samples.0.insert((table.name, column.name, names), rates);
            }
        }
        Ok(samples)
    }

    /// Nothing was recorded of the machine.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The counters that differ most from those of `base`, for certain and by at least a tenth; and how many more there are.
    pub(crate) fn changes(&self, base: &Self) -> (Vec<Change>, usize) {
        let mut changes: Vec<(f64, Change)> = base
            .0
            .iter()
            .filter_map(|(key, was)| {
                let is = self.0.get(key)?;
                let ratio = ratio((was.mean, is.mean), &was.batches, &is.batches);
                let score = match ratio {
                    Some(ratio) => ratio.differs().unwrap_or(false).then(|| ratio.ratio.ln().abs())?,
                    // From or to nothing; what hardly ever happened is left out.
                    None if (was.mean == 0.0) != (is.mean == 0.0) => is.steady().or(was.steady())?,
                    None => return None,
                };
                let of = format!("{} {}", key.0, key.2).trim_end().to_string();
                let (column, help, unit) = (key.1, is.help, is.unit);
                let change = Change { of, column, help, unit, was: was.mean, is: is.mean, ratio };
                (score >= WORTH.ln()).then_some((score, change))
            })
            .collect();
        changes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let more = changes.len().saturating_sub(MOST);
        changes.truncate(MOST);
        (changes.into_iter().map(|change| change.1).collect(), more)
    }
}

impl Rates {
    /// A score when it was above 0 in every stretch.
    fn steady(&self) -> Option<f64> {
        (self.batches.len() >= 4 && self.batches.iter().all(|value| *value > 0.0)).then_some(f64::MAX)
    }
}

fn collect(
    table: &Table,
    batch: &RecordBatch,
    (from_ns, to_ns): (i64, i64),
    series: &mut BTreeMap<(usize, String), Series>,
) {
    let Some(times) = batch.column_by_name("t_ns").and_then(numbers) else { return };
    let names: Vec<&ArrayRef> = table
        .columns
        .iter()
        .filter(|column| column.kind == ColumnKind::Name && !["clock", "target"].contains(&column.name))
        .filter_map(|column| batch.column_by_name(column.name))
        .collect();
    let labels: Vec<String> = (0..batch.num_rows())
        .map(|row| {
            let words = names.iter().filter(|names| names.is_valid(row));
            let words = words.filter_map(|names| Some(names.as_string_opt::<i32>()?.value(row)));
            words.filter(|word| !word.is_empty()).collect::<Vec<&str>>().join(" ")
        })
        .collect();
    for (place, column) in table.columns.iter().enumerate() {
        if !matches!(column.kind, ColumnKind::Counter | ColumnKind::Gauge) {
            continue;
        }
        let Some(values) = batch.column_by_name(column.name).and_then(numbers) else { continue };
        for ((value, t_ns), label) in values.iter().zip(&times).zip(&labels) {
            let (Some(value), Some(t_ns)) = (value, t_ns) else { continue };
            #[expect(clippy::cast_possible_truncation, reason = "it was an integer of that size")]
            let t_ns = *t_ns as i64;
            // Of the CPUs one by one there are too many; `all` stands for them.
            if (from_ns..=to_ns).contains(&t_ns) && (table.name != "cpu" || label == "all") {
                series.entry((place, label.clone())).or_default().push((t_ns, *value));
            }
        }
    }
}

/// Means of a gauge, or rates of a counter, over equal numbers of samples. `None` with fewer than two, or when a counter fell.
fn rates(column: &Column, series: &[(i64, f64)]) -> Option<Rates> {
    let (unit, scale) = unit_of(column);
    let steps = series.len().checked_sub(1).filter(|steps| *steps > 0)?;
    let count = steps.min(BATCHES);
    let of = |from: usize, to: usize| -> Option<f64> {
        if column.kind == ColumnKind::Gauge {
            let part = &series[from + 1..=to];
            return Some(scale * part.iter().map(|sample| sample.1).sum::<f64>() / part.len() as f64);
        }
        let seconds = (series[to].0 - series[from].0) as f64 / 1e9;
        (seconds > 0.0 && series[from..=to].windows(2).all(|pair| pair[1].1 >= pair[0].1))
            .then(|| scale * (series[to].1 - series[from].1) / seconds)
    };
    let batches: Option<Vec<f64>> = (0..count).map(|at| of(at * steps / count, (at + 1) * steps / count)).collect();
    Some(Rates { unit, help: column.help.trim(), mean: of(0, steps)?, batches: batches? })
}
