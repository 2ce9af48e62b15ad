//! Rows as metrics for a scraper: names, units and meanings come from the schema catalogue.
//!
//! Many tables have rows only of what changed. A scraper that comes every few seconds must find all of them all the same, so
//! that the newest row of each thing is kept, and the distributions of all intervals are summed.

mod protobuf;
mod text;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::array_value_to_string;
use quantity::histogram::Histogram;
use recording::{CellType, ColumnKind, ColumnSchema, RowBatch, TableSchema, rows};
use std::collections::{BTreeMap, BTreeSet};

/// The type of [`Metrics::text`], for HTTP.
pub const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The type of [`Metrics::protobuf`], for HTTP.
pub const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Subjects of a table that end without a row (control groups): what did nothing for an hour is left out until it does something.
const FORGET_NS: i64 = 3_600_000_000_000;
/// So many things of a table at most.
const KNOWN: usize = 10_000;

/// Names of a row, with what they are called.
type Labels = Vec<(&'static str, String)>;

/// The newest values of a machine's counters.
#[derive(Debug, Default)]
pub struct Metrics {
    tables: BTreeMap<&'static str, Newest>,
}

/// Of one table.
#[derive(Debug)]
struct Newest {
    table: &'static TableSchema,
    /// By what tells its rows apart ([`identity`]).
    rows: BTreeMap<Labels, LastValues>,
    /// Of one that counts from 0 in each recording: the values when the recording began, and when that was, s.
    before: BTreeMap<Labels, Vec<Option<f64>>>,
    began_s: Option<f64>,
    /// Sums of all intervals so far, by column.
    sums: BTreeMap<(&'static str, Labels), Histogram>,
}

/// The last values of one set of labels.
#[derive(Debug)]
struct LastValues {
    t_ns: i64,
    /// Its names for a scraper, where they are others.
    shown: Option<Labels>,
    /// One for each counter and gauge of the table.
    values: Vec<Option<f64>>,
}

/// A metric as scrapers know it, in base units.
struct Family<'a> {
    name: String,
    /// Empty without one.
    unit: &'static str,
    help: &'static str,
    points: Points<'a>,
}

enum Points<'a> {
    Counters(Vec<(&'a Labels, f64)>),
    Gauges(Vec<(&'a Labels, f64)>),
    /// Of nanoseconds.
    Histograms(Vec<(&'a Labels, &'a Histogram)>),
}

impl Metrics {
    /// Takes in rows of any table.
    pub fn accept(&mut self, batch: &RowBatch) {
        if batch.rows.num_rows() == 0 || batch.table.unscraped {
            return;
        }
        let newest = self.tables.entry(batch.table.name).or_insert_with(|| Newest {
            table: batch.table,
            rows: BTreeMap::new(),
            before: BTreeMap::new(),
            began_s: None,
            sums: BTreeMap::new(),
        });
        newest.accept(batch);
    }

    /// All of it as OpenMetrics text ([`OPEN_METRICS`]). What is not known has no line.
    #[must_use]
    pub fn text(&self) -> String {
        text::page(&self.families())
    }

    /// The same as length-delimited messages of Prometheus ([`PROTOBUF`]), which can carry native histograms.
    #[must_use]
    pub fn protobuf(&self) -> Vec<u8> {
        protobuf::messages(&self.families())
    }

    fn families(&self) -> Vec<Family<'_>> {
        self.tables.values().flat_map(Newest::families).collect()
    }
}

impl Newest {
    fn accept(&mut self, batch: &RowBatch) {
        let labels = labels(batch);
        let column = |name: &str| batch.rows.column_by_name(name).map(numbers);
        let values: Vec<Vec<Option<f64>>> =
            scalars(self.table).map(|one| column(one.name).unwrap_or_else(|| vec![None; labels.len()])).collect();
        let times = batch.rows.column_by_name("t_ns").and_then(|times| times.as_primitive_opt::<Int64Type>());
        let t_ns = |row: usize| times.map_or(0, |times| times.value(row));
        let gone = batch.rows.column_by_name(GONE).and_then(|gone| gone.as_boolean_opt());
        let is_gone = |row: usize| gone.is_some_and(|gone| gone.is_valid(row) && gone.value(row));
        for one in self.table.columns.iter().filter(|column| column.kind == ColumnKind::Histogram) {
            let Ok(all) = <Histogram as CellType>::read(&batch.rows, self.table.name, one.name) else { continue };
            for (labels, histogram) in labels.iter().zip(&all) {
                let sum = self.sums.entry((one.name, labels.clone()));
                sum.or_insert_with(|| Histogram::new(histogram.sub_bits())).merge(histogram);
            }
        }
        if !self.table.is_sparse() {
            self.rows.clear();
        }
        if self.table.per_recording {
            self.follow_recordings(batch, t_ns(0));
        }
        for (row, labels) in labels.into_iter().enumerate() {
            let identity = identity(self.table, &labels);
            if is_gone(row) {
                self.rows.remove(&identity);
                continue;
            }
            let before = self.before.get(&identity);
            let before = |at: usize| before.and_then(|values| values[at]).unwrap_or(0.0);
            let values = values.iter().enumerate().map(|(at, all)| Some(all[row]? + before(at))).collect();
            let shown = Some(shown(self.table, labels)).filter(|shown| *shown != identity);
            self.rows.insert(identity, LastValues { t_ns: t_ns(row), shown, values });
        }
        self.forget((0..batch.rows.num_rows()).map(t_ns).max().unwrap_or(0));
    }

    /// Another recording counts from 0: the last values are added to its own, as counters must not fall.
    fn follow_recordings(&mut self, batch: &RowBatch, t_ns: i64) {
        let since_s = batch.rows.column_by_name("t_s").map(numbers).and_then(|all| all.first().copied().flatten());
        let began_s = t_ns as f64 / 1e9 - since_s.unwrap_or(0.0);
        // Not to the last digit: one is a float.
        if self.began_s.is_some_and(|known_s| (began_s - known_s).abs() > 0.01) {
            self.before = self.rows.iter().map(|(identity, last)| (identity.clone(), last.values.clone())).collect();
        }
        self.began_s = Some(began_s);
    }

    fn forget(&mut self, now_ns: i64) {
        if self.table.vanishing {
            self.rows.retain(|_, last| now_ns - last.t_ns < FORGET_NS);
        }
        if self.rows.len() > KNOWN {
            let mut times: Vec<i64> = self.rows.values().map(|last| last.t_ns).collect();
            let first = times.len() - KNOWN / 2;
            let (_, since_ns, _) = times.select_nth_unstable(first);
            let since_ns = *since_ns;
            self.rows.retain(|_, last| last.t_ns >= since_ns);
        }
    }

    /// Its rows without those that count once more what others count, so that a sum over all of them is right: all CPUs
    /// together where there is each, and partitions where there is their disk.
    fn without_parts(&self) -> Vec<(&Labels, &LastValues)> {
        const ALL: (&str, &str) = ("cpu", "all");
        let is =
            |labels: &Labels, (name, value): (&str, &str)| labels.iter().any(|(key, of)| *key == name && of == value);
        let named = || self.rows.iter().map(|(identity, last)| (last.shown.as_ref().unwrap_or(identity), last));
        let has_each = named().any(|(labels, _)| labels.iter().any(|(name, of)| *name == ALL.0 && of != ALL.1));
        let device =
            |labels: &Labels| labels.iter().find(|(name, _)| *name == "device").map(|(_, device)| device.clone());
        let disks: BTreeSet<String> = if self.table.name == rows::Disk::NAME {
            named().filter_map(|(labels, _)| device(labels)).collect()
        } else {
            BTreeSet::new()
        };
        let is_part = |labels: &Labels| {
            let of = device(labels).filter(|_| !disks.is_empty());
            of.is_some_and(|device| disk_of(&device).is_some_and(|disk| disks.contains(disk)))
        };
        named().filter(|(labels, _)| !(is_part(labels) || has_each && is(labels, ALL))).collect()
    }

    fn families(&self) -> Vec<Family<'_>> {
        let mut families = Vec::new();
        let rows = self.without_parts();
        for (at, column) in scalars(self.table).enumerate() {
            let (name, unit, scale) = named(self.table, column);
            // What has one name for a scraper is one: sockets of one service at one address.
            let mut sums: BTreeMap<&Labels, f64> = BTreeMap::new();
            for (labels, last) in &rows {
                if let Some(value) = last.values[at] {
                    *sums.entry(*labels).or_default() += value * scale;
                }
            }
            let known: Vec<(&Labels, f64)> = sums.into_iter().collect();
            if !known.is_empty() {
                let is_counter = column.kind == ColumnKind::Counter;
                let points = if is_counter { Points::Counters(known) } else { Points::Gauges(known) };
                families.push(Family { name, unit, help: column.help.trim(), points });
            }
        }
        for column in self.table.columns.iter().filter(|column| column.kind == ColumnKind::Histogram) {
            let of_column = self.sums.iter().filter(|((name, _), _)| *name == column.name);
            let known: Vec<_> = of_column.map(|((_, labels), sum)| (labels, sum)).collect();
            if !known.is_empty() && column.unit == "ns" {
                let (name, unit, _) = named(self.table, column);
                let points = Points::Histograms(known);
                families.push(Family { name, unit, help: column.help.trim(), points });
            }
        }
        families
    }
}

/// The names that tell a row from others: of a table with rows of what changed its key, for what else is known of a subject
/// may become known later (who holds a socket); of other tables all names.
fn identity(table: &TableSchema, labels: &Labels) -> Labels {
    let is_part = |name: &str| !table.is_sparse() || table.key().any(|column| column.name == name);
    labels.iter().filter(|(name, _)| is_part(name)).cloned().collect()
}

/// The names that a scraper gets.
fn shown(table: &TableSchema, labels: Labels) -> Labels {
    let is_hidden = |name: &str| table.columns.iter().any(|column| column.name == name && column.is_unscraped);
    labels.into_iter().filter(|(name, _)| !is_hidden(name)).collect()
}

/// The disk that a partition is of, by its name: `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`; `None` when the name is of no
/// partition.
fn disk_of(device: &str) -> Option<&str> {
    let disk = device.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if disk.len() == device.len() {
        return None;
    }
    match disk.strip_suffix('p').filter(|disk| disk.ends_with(|letter: char| letter.is_ascii_digit())) {
        Some(disk) => Some(disk),
        None => (!disk.is_empty()).then_some(disk),
    }
}

/// The column that marks the last row of a subject.
const GONE: &str = "gone";

/// The columns that are one number a row.
fn scalars(table: &'static TableSchema) -> impl Iterator<Item = &'static ColumnSchema> {
    let is_number = |column: &&ColumnSchema| matches!(column.kind, ColumnKind::Counter | ColumnKind::Gauge);
    table.columns.iter().filter(is_number).filter(|column| !column.is_unscraped)
}

/// Name and unit of a column as a metric, and what its values are multiplied by.
fn named(table: &TableSchema, column: &ColumnSchema) -> (String, &'static str, f64) {
    let (ending, unit, scale) = match column.unit {
        "ns" => ("_ns", "seconds", 1e-9),
        "ms" => ("_ms", "seconds", 1e-3),
        "sectors" => ("_sectors", "bytes", 512.0),
        "bytes" => ("_bytes", "bytes", 1.0),
        _ => ("", "", 1.0),
    };
    let stem = column.name.strip_suffix(ending).unwrap_or(column.name);
    // A column that is called as its unit: `irq_time.ns`.
    let words = ["iodyno", table.name, if stem == "ns" { "" } else { stem }, unit];
    let name = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    (name, unit, scale)
}

/// What names each row; empty names are left out.
fn labels(batch: &RowBatch) -> Vec<Labels> {
    let names: Vec<(&'static str, &ArrayRef)> = batch
        .table
        .columns
        .iter()
        .filter(|column| {
            // What tells rows apart and is no metric: the inode of a file.
            let is_name = matches!(column.kind, ColumnKind::Name | ColumnKind::Number);
            is_name || column.is_key && column.is_unscraped
        })
        .filter_map(|column| Some((column.name, batch.rows.column_by_name(column.name)?)))
        .collect();
    let of_row = |row: usize| {
        let words = names.iter().filter_map(|(name, values)| {
            let text = values.is_valid(row).then(|| array_value_to_string(values, row).ok()).flatten()?;
            (!text.is_empty()).then_some((*name, text))
        });
        words.collect()
    };
    (0..batch.rows.num_rows()).map(of_row).collect()
}

fn numbers(values: &ArrayRef) -> Vec<Option<f64>> {
    if let Some(values) = values.as_primitive_opt::<Int64Type>() {
        return values.iter().map(|value| value.map(|value| value as f64)).collect();
    }
    if let Some(values) = values.as_primitive_opt::<Int32Type>() {
        return values.iter().map(|value| value.map(f64::from)).collect();
    }
    if let Some(values) = values.as_primitive_opt::<Float64Type>() {
        return values.iter().collect();
    }
    match values.as_boolean_opt() {
        Some(values) => values.iter().map(|value| value.map(|value| f64::from(u8::from(value)))).collect(),
        None => vec![None; values.len()],
    }
}

#[cfg(test)]
mod tests;
