//! Rows as OpenMetrics text: names, units and meanings come from the schema catalogue.

use crate::Batch;
use crate::catalogue::{Column, ColumnKind, Table};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::array_value_to_string;
use std::fmt::Write as _;

/// The type of the text, for HTTP.
pub const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A column as a metric: base units, as Prometheus has them.
struct Family {
    name: String,
    unit: &'static str,
    scale: f64,
}

impl Family {
    fn of(table: &Table, column: &Column) -> Self {
        let (ending, unit, scale) = match column.unit {
            "ns" => ("_ns", "seconds", 1e-9),
            "ms" => ("_ms", "seconds", 1e-3),
            "sectors" => ("_sectors", "bytes", 512.0),
            "bytes" => ("_bytes", "bytes", 1.0),
            _ => ("", "", 1.0),
        };
        let stem = column.name.strip_suffix(ending).unwrap_or(column.name);
        let name = match unit {
            "" => format!("iodyno_{}_{stem}", table.name),
            unit => format!("iodyno_{}_{stem}_{unit}", table.name),
        };
        Self { name, unit, scale }
    }
}

/// The newest rows of some tables as one page. A value that is not known has no line; processes and events are left out,
/// for their names are without number.
#[must_use]
pub fn open_metrics(batches: &[Batch]) -> String {
    let mut page = String::new();
    for batch in batches.iter().filter(|batch| {
        !["process", "process_event", "preempted_by", "profile", "stolen", "event"].contains(&batch.table.name)
    }) {
        let labels = labels(batch);
        for column in batch.table.columns {
            let is_metric = matches!(column.kind, ColumnKind::Counter | ColumnKind::Gauge);
            let values = batch.rows.column_by_name(column.name).filter(|_| is_metric);
            if let Some(values) = values.map(numbers) {
                family(batch.table, column, &labels, &values, &mut page);
            }
        }
    }
    page.push_str("# EOF\n");
    page
}

fn family(table: &Table, column: &Column, labels: &[String], values: &[Option<f64>], page: &mut String) {
    if values.iter().all(Option::is_none) {
        return;
    }
    let Family { name, unit, scale } = Family::of(table, column);
    let (kind, ending) = if column.kind == ColumnKind::Counter { ("counter", "_total") } else { ("gauge", "") };
    let _ = writeln!(page, "# TYPE {name} {kind}");
    if !unit.is_empty() {
        let _ = writeln!(page, "# UNIT {name} {unit}");
    }
    let _ = writeln!(page, "# HELP {name} {}", escaped(column.help.trim()));
    for (labels, value) in labels.iter().zip(values) {
        if let Some(value) = value {
            let _ = writeln!(page, "{name}{ending}{labels} {}", value * scale);
        }
    }
}

/// The names in each row, as labels; empty ones are left out.
fn labels(batch: &Batch) -> Vec<String> {
    let names: Vec<(&str, &ArrayRef)> = batch
        .table
        .columns
        .iter()
        .filter(|column| column.kind == ColumnKind::Name)
        .filter_map(|column| Some((column.name, batch.rows.column_by_name(column.name)?)))
        .collect();
    (0..batch.rows.num_rows())
        .map(|row| {
            let of_row = names.iter().filter_map(|(name, values)| {
                let text = values.is_valid(row).then(|| array_value_to_string(values, row).ok()).flatten()?;
                (!text.is_empty()).then(|| format!("{name}=\"{}\"", escaped(&text)))
            });
            let of_row: Vec<String> = of_row.collect();
            if of_row.is_empty() { String::new() } else { format!("{{{}}}", of_row.join(",")) }
        })
        .collect()
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

/// Backslash, quote and line end as the format wants them.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Cpu, Pressure};

    #[test]
    fn base_units_and_nothing_for_what_is_not_known() {
        let cpu = Cpu {
            t_ns: 5,
            t_s: 0.0,
            cpu: "0".to_string(),
            user_ns: 1_500_000_000,
            nice_ns: None,
            system_ns: 0,
            idle_ns: 7,
            iowait_ns: None,
            irq_ns: None,
            softirq_ns: None,
            steal_ns: None,
            clock: "ti\"ck".to_string(),
        };
        let io =
            Pressure { t_ns: 5, t_s: 0.0, resource: "io".to_string(), some_ns: Some(2_000_000_000), full_ns: None };
        let batches = [Batch::from_rows(&[cpu]).expect("a batch"), Batch::from_rows(&[io]).expect("a batch")];
        let page = open_metrics(&batches);
        assert!(
            page.contains("# TYPE iodyno_cpu_user_seconds counter\n# UNIT iodyno_cpu_user_seconds seconds\n"),
            "{page}"
        );
        assert!(page.contains("iodyno_cpu_user_seconds_total{cpu=\"0\",clock=\"ti\\\"ck\"} 1.5\n"), "{page}");
        assert!(page.contains("iodyno_pressure_some_seconds_total{resource=\"io\"} 2\n"), "{page}");
        assert!(!page.contains("cpu_nice") && !page.contains("pressure_full") && !page.contains("t_ns"), "{page}");
        assert!(page.ends_with("# EOF\n"));
        assert_eq!(open_metrics(&[]), "# EOF\n");
    }
}
