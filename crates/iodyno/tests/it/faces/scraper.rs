//! The metrics for a scraper: the counters themselves, whose `rate()` by Prometheus' rules is the figure.

use super::cases::{CASES, Cell};
use super::input::{Input, Row, SAMPLES};
use super::same;
use openmetrics::Metrics;
use recording::ColumnKind;
use std::collections::BTreeMap;

/// Tables that have no metrics, because their things have numbers and no names.
const LEFT_OUT: [&str; 5] = ["process", "process_event", "thread", "preempted_by", "stolen"];

/// Does a scraper see the counters of a table?
pub fn is_shown(table: &str) -> bool {
    !LEFT_OUT.contains(&table)
}

/// Compares the page of each sample, and the rates between two of them; what differs.
pub fn check(input: &Input) -> Vec<String> {
    let mut metrics = Metrics::default();
    let mut differences = Vec::new();
    let mut before: BTreeMap<String, f64> = BTreeMap::new();
    for sample in 0..SAMPLES {
        input.batches(sample).iter().for_each(|batch| metrics.accept(batch));
        let page = series(&metrics.text());
        for case in CASES {
            if !is_shown(case.table) {
                continue;
            }
            for thing in 0..case.things.len() {
                of_thing(input, case.table, thing, sample, (&page, &before), &mut differences);
            }
        }
        before = page;
    }
    differences
}

fn of_thing(
    input: &Input,
    table: &str,
    thing: usize,
    sample: usize,
    (page, before): (&BTreeMap<String, f64>, &BTreeMap<String, f64>),
    differences: &mut Vec<String>,
) {
    // All CPUs together are the sum of them.
    let fixed = input.rows[table][thing][0].as_ref().unwrap();
    let is_sum = fixed.get("cpu") == Some(&Cell::Text("all"));
    let counters = recording::table(table).unwrap().columns.iter();
    for column in counters.filter(|column| column.kind == ColumnKind::Counter && !is_sum) {
        let (name, scale) = metric(table, column.name, column.unit);
        let place = format!("metrics {name} of {table} {thing}, sample {sample}");
        let find = |page: &BTreeMap<String, f64>| {
            let is_of =
                |key: &&String| key.split_once('{').unwrap_or((key, "")).0 == name && has_labels(key, table, fixed);
            page.iter().find(|(key, _)| is_of(key)).map(|(_, value)| *value)
        };
        // A table with rows of what changed keeps the last; elsewhere what has no row is not there.
        let is_sparse = CASES.iter().any(|case| case.table == table && case.is_sparse);
        let rows = &input.rows[table][thing];
        let row = if is_sparse { rows[..=sample].iter().rev().flatten().next() } else { rows[sample].as_ref() };
        let value = row.and_then(|row| match row.get(column.name) {
            Some(Cell::Int(value)) => Some(*value as f64 * scale),
            _ => None,
        });
        let shown = find(page);
        if !same(shown, value, 1e-12) {
            differences.push(format!("{place}: {shown:?}, not {value:?}"));
        }
        let (Some(now), Some(was), Some(step)) = (shown, find(before), input.step(table, thing, sample)) else {
            continue;
        };
        // Prometheus takes a counter that fell for one that began anew at 0.
        let seconds = (input.times[sample] - input.times[sample - 1]) as f64 / 1e9;
        let rate = (if now >= was { now - was } else { now }) / seconds;
        match step.grown(column.name).map(|grown| grown / seconds) {
            Some(figure) if !same(Some(rate), Some(figure * scale), 1e-6) => {
                differences.push(format!("{place}: a rate of {rate}, not {}", figure * scale));
            }
            Some(_) => {}
            None => {
                let most = 2.0 * 300_000_000.0_f64.max(20_000.0 * 512.0) * scale.min(1.0) * 2.0;
                if rate < 0.0 || rate > most.max(40_000_000.0) {
                    differences.push(format!("{place}: a rate of {rate} after it began anew"));
                }
            }
        }
    }
}

/// The samples of a page by name and labels.
fn series(page: &str) -> BTreeMap<String, f64> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_string(), value.parse().unwrap()))
        .collect()
}

/// Name of a counter for a scraper, and what it is multiplied by (docs/record.md).
fn metric(table: &str, column: &str, unit: &str) -> (String, f64) {
    let (stem, unit, scale) = match unit {
        "ns" => (column.trim_end_matches("ns").trim_end_matches('_'), "_seconds", 1e-9),
        "ms" => (column.trim_end_matches("_ms"), "_seconds", 1e-3),
        "sectors" => (column.trim_end_matches("_sectors"), "_bytes", 512.0),
        "bytes" => (column.trim_end_matches("_bytes"), "_bytes", 1.0),
        _ => (column, "", 1.0),
    };
    let stem = if stem.is_empty() { String::new() } else { format!("_{stem}") };
    (format!("iodyno_{table}{stem}{unit}_total"), scale)
}

/// Do the labels of a series name this thing?
fn has_labels(key: &str, table: &str, fixed: &Row) -> bool {
    let is_name = |name: &str| {
        let columns = recording::table(table).unwrap().columns;
        let kind = columns.iter().find(|column| column.name == name).map(|column| column.kind);
        matches!(kind, Some(ColumnKind::Name | ColumnKind::Number)) && !["inode", "pid", "state"].contains(&name)
    };
    fixed.iter().filter(|(name, _)| is_name(name)).all(|(name, cell)| {
        let value = match cell {
            Cell::Text(text) => (*text).to_string(),
            Cell::Int(number) => number.to_string(),
            other => panic!("{other:?}"),
        };
        key.contains(&format!("{name}=\"{value}\""))
    })
}
