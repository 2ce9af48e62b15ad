//! A whole recording in one strip: a few figures over all of its time, with the gaps.

use super::strip_cells::{Cells, StripLine};
use super::strip_heat::StripHeat;
use super::strip_trace;
use arrow_array::Array as _;
use quantity::figures::{short, short_time};
use rates::BatchColumns;
use rates::cpu_time::{CpuColumns, CpuCounters, CpuDelta};
use rates::disk::{DiskColumns, DiskCounters, DiskDelta};
use recording::{Reader, rows};
use std::collections::HashMap;
use view::TableReadError;

/// I/Os in an interval of which a mean response is made.
const IOS_LEAST: f64 = 5.0;

/// Figures over the whole time of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeStrip {
    /// First moment.
    pub from_ns: i64,
    /// Last moment.
    pub to_ns: i64,
    /// How far samples are apart, in at most seven letters: `1s raw`; `10s max` when it was made coarser, and of each stretch
    /// the busiest interval was kept.
    pub resolution: String,
    /// From the top.
    pub lines: Vec<StripLine>,
    /// Response times of single operations below them, where those were recorded.
    pub heat: Option<StripHeat>,
}

impl TimeStrip {
    /// Of a whole recording in so many cells: only the columns that it needs are read. `interval_s` is the time between
    /// samples.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn read(reader: &Reader, span: (i64, i64), interval_s: f64, count: usize) -> Result<Self, TableReadError> {
        let cells = || Cells::new(span, interval_s, count);
        let percent = |value: f64| format!("{:.0}%", value / 1e7);
        let mut lines = vec![
            cpu(reader, cells())?.line("cpu", Some(1e9), percent),
            pressure(reader, cells())?.line("psi io", Some(1e9), percent),
        ];
        let (mut rates, mut heat) = (ios(reader, cells())?, StripHeat::read(reader, &cells())?);
        if rates.is_empty()
            && heat.is_none()
            && let Some(traced) = strip_trace::read(reader, cells())?
        {
            (rates, heat) = traced;
        }
        lines.push(rates.line("iops", None, |value| format!("{}/s", short(value))));
        // Means of devices tell less than the distribution.
        let (response, least_ns) = responses(reader, cells())?;
        if heat.is_none() && !response.is_empty() {
            lines.push(response.logarithmic("resp", least_ns, short_time));
        }
        let resolution = resolution(recording::thinned_to_ns(reader.manifest()), interval_s);
        Ok(Self { from_ns: span.0, to_ns: span.1, resolution, lines, heat })
    }
}

/// `1s raw`, `10s max`.
fn resolution(thinned_to_ns: Option<i64>, interval_s: f64) -> String {
    let seconds = thinned_to_ns.map_or(interval_s, |ns| ns as f64 / 1e9);
    let step = match seconds {
        seconds if seconds >= 60.0 => format!("{:.0}m", seconds / 60.0),
        seconds if seconds >= 0.95 => format!("{seconds:.0}s"),
        // `.5s`: there is room for no more.
        seconds => format!("{seconds:.1}s").trim_start_matches('0').to_string(),
    };
    if thinned_to_ns.is_some() { format!("{step} max") } else { format!("{step} raw") }
}

/// Busy time of all CPUs, ns per second and CPU.
fn cpu(reader: &Reader, mut cells: Cells) -> Result<Cells, TableReadError> {
    let mut before: Option<CpuCounters> = None;
    let columns: Vec<&str> = ["t_ns", "cpu"].into_iter().chain(CpuColumns::TIMES).collect();
    for batch in reader.columns(rows::Cpu::NAME, &columns)? {
        let batch = batch?;
        let counters = CpuColumns::of(&batch);
        let Some(names) = rates::column_texts(&batch, "cpu") else { continue };
        for row in (0..batch.num_rows()).filter(|row| names[*row] == "all") {
            let now = counters.at(row);
            let Some(was) = before.replace(now) else { continue };
            let passed_ns = now.t_ns - was.t_ns;
            let delta = CpuDelta::over(&now, Some(&was));
            if let Some(percent) = delta.percent(delta.busy()).filter(|_| passed_ns > 0 && passed_ns <= cells.gap_ns) {
                cells.put(now.t_ns, percent * 1e7);
            }
        }
    }
    Ok(cells)
}

/// Time in which some task waited for I/O, ns per second.
fn pressure(reader: &Reader, mut cells: Cells) -> Result<Cells, TableReadError> {
    let mut before = HashMap::new();
    for batch in reader.columns(rows::Pressure::NAME, &["t_ns", "resource", "some_ns"])? {
        let batch = batch?;
        let columns = BatchColumns { table: rows::Pressure::NAME, batch: &batch };
        let (t_ns, some) = (columns.longs("t_ns")?, columns.longs("some_ns")?);
        let Some(names) = rates::column_texts(&batch, "resource") else { continue };
        for row in (0..batch.num_rows()).filter(|row| names[*row] == "io" && some.is_valid(*row)) {
            cells.rate(&mut before, "io", (t_ns.value(row), some.value(row)));
        }
    }
    Ok(cells)
}

/// What each device did from one row to the next; none over a gap.
fn disks(
    reader: &Reader,
    columns: &[&'static [&'static str]],
    gap_ns: i64,
    mut each: impl FnMut(i64, DiskDelta),
) -> Result<(), TableReadError> {
    let mut before: HashMap<String, DiskCounters> = HashMap::new();
    let columns: Vec<&str> = ["t_ns", "device"].into_iter().chain(columns.concat()).collect();
    for batch in reader.columns(rows::Disk::NAME, &columns)? {
        let batch = batch?;
        let counters = DiskColumns::of(&batch);
        let Some(names) = rates::column_texts(&batch, "device") else { continue };
        for (row, name) in names.into_iter().enumerate() {
            let now = counters.at(row);
            let Some(was) = before.get_mut(name).map(|was| std::mem::replace(was, now)) else {
                before.insert(name.to_string(), now);
                continue;
            };
            if now.t_ns - was.t_ns <= gap_ns
                && let Some(delta) = DiskDelta::between(&now, &was)
            {
                each(now.t_ns, delta);
            }
        }
    }
    Ok(())
}

/// Mean response of the slowest device of each moment, ns, and the least one in a cell. A few I/Os tell nothing of a device.
fn responses(reader: &Reader, mut cells: Cells) -> Result<(Cells, f64), TableReadError> {
    disks(reader, &[&DiskColumns::OPS, &DiskColumns::TIMES], cells.gap_ns, |t_ns, delta| {
        let response_ns = delta.mean_await_ns().filter(|_| delta.ops().is_some_and(|ops| ops >= IOS_LEAST));
        response_ns.into_iter().for_each(|ns| cells.put(t_ns, ns));
    })?;
    let least = cells.values.iter().flatten().copied().filter(|ns| *ns > 0.0).reduce(f64::min);
    Ok((cells, least.unwrap_or(1.0)))
}

/// Operations per second of the busiest device of each moment.
fn ios(reader: &Reader, mut cells: Cells) -> Result<Cells, TableReadError> {
    disks(reader, &[&DiskColumns::OPS], cells.gap_ns, |t_ns, delta| {
        delta.per_s(delta.ops()).into_iter().for_each(|ops| cells.put(t_ns, ops));
    })?;
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_samples_are_apart_has_room_before_the_axis() {
        let check = |thinned_ns: Option<i64>, interval_s: f64, expect: &str| {
            assert_eq!(resolution(thinned_ns, interval_s), expect);
            assert!(expect.len() <= 7);
        };
        check(None, 1.0, "1s raw");
        check(None, 0.5, ".5s raw");
        check(None, 60.0, "1m raw");
        check(Some(10_000_000_000), 4.0, "10s max");
        check(Some(300_000_000_000), 1.0, "5m max");
    }

    #[test]
    fn responses_stand_on_a_logarithmic_scale() {
        let mut cells = Cells::new((0, 3_000_000_000), 1.0, 3);
        for (second, ns) in [(1, 1e6), (2, 1e7), (3, 1e8)] {
            cells.put(second * 1_000_000_000, ns);
        }
        let line = cells.logarithmic("resp", 1e6, short_time);
        let shares: Vec<String> = line.cells.iter().map(|cell| format!("{:.2}", cell.unwrap_or(9.0))).collect();
        assert_eq!((shares.join(" "), line.greatest.as_str()), ("0.00 0.50 1.00".to_string(), "100ms"));
    }
}
