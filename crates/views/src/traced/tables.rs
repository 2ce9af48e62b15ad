//! The tables of a trace, and what the report says of it first.

use super::TracedFacts;
use super::groups::Total;
use super::order::WINDOWS_NS;
use crate::TracedFacts as Facts;
use crate::model::{HistogramSummary, ReportFigure};
use quantity::text::format_bytes;
use view::Drawing;
use view::Tone;
use view::Unit;
use view::axis;
use view::{Body, Scale, TableColumn, ViewTable};

/// Most rows of a table.
const ROWS: usize = 50;

fn drawn(table: ViewTable) -> Option<Drawing> {
    let none = || axis("", Unit::None, Scale::Category);
    (table.rows() > 0).then(|| Drawing { x: none(), y: none(), body: Body::Table(table), marks: Vec::new() })
}

fn part(of: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| 100.0 * of as f64 / all as f64)
}

fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

/// A row per name.
fn totals(facts: &Facts, heading: &str, named: &[(String, Total)]) -> Option<Drawing> {
    let all: u64 = facts.ios().iter().sum();
    let length_s = facts.length_s();
    let shown = &named[..named.len().min(ROWS)];
    let folds: Vec<Option<HistogramSummary>> = shown
        .iter()
        .map(|(_, total)| total.clone().response().map(|histogram| HistogramSummary::of(&histogram)))
        .collect();
    let of = |name: &str, unit: Unit, value: &dyn Fn(&Total) -> Option<f64>| {
        TableColumn::numbers(name, unit, shown.iter().map(|(_, total)| value(total)))
    };
    let fold = |name: &str, value: fn(&HistogramSummary) -> Option<f64>| {
        TableColumn::numbers(name, Unit::Nanoseconds, folds.iter().map(|fold| fold.as_ref().and_then(value)))
            .under("response")
    };
    let columns = vec![
        TableColumn::text(heading, shown.iter().map(|(name, _)| name.clone()).collect()),
        of("I/Os", Unit::Operations, &|total| Some(total.ios() as f64)),
        of("share", Unit::Percent, &|total| part(total.ios(), all)),
        of("rate", Unit::OpsPerSecond, &|total| (length_s > 0.0).then(|| total.ios() as f64 / length_s)),
        of("bytes", Unit::Bytes, &|total| Some(total.bytes as f64)),
        of("reads", Unit::Percent, &|total| part(total.reads, total.reads + total.writes)),
        of("sequential", Unit::Percent, &|total| {
            part(total.sequential, total.with_data).filter(|_| !facts.is_sample())
        }),
        of("mean", Unit::Nanoseconds, &|total| mean(total.response_ns, total.timed)).under("response"),
        fold("p50", |fold| fold.p50),
        fold("p99", |fold| fold.p99),
        of("max", Unit::Nanoseconds, &|total| (total.timed > 0).then_some(total.longest_ns as f64)).under("response"),
        of("mean wait", Unit::Nanoseconds, &|total| mean(total.wait_ns, total.issued)),
        of("mean device", Unit::Nanoseconds, &|total| mean(total.device_ns, total.issued)),
        of("in flight", Unit::Count, &|total| {
            (length_s > 0.0 && total.timed > 0).then(|| total.response_ns / 1e9 / length_s)
        }),
        of("failed", Unit::Operations, &|total| Some(total.failed as f64)),
    ];
    drawn(ViewTable { columns, omitted: named.len() - shown.len() })
}

pub(crate) fn devices(facts: &Facts, _: Option<&str>) -> Option<Drawing> {
    totals(facts, "device", &facts.devices)
}

pub(crate) fn processes(facts: &Facts, _: Option<&str>) -> Option<Drawing> {
    totals(facts, "process", &facts.processes)
}

pub(crate) fn files(facts: &Facts, _: Option<&str>) -> Option<Drawing> {
    totals(facts, "file", &facts.files)
}

/// Nothing to see where all are in one.
pub(crate) fn cgroups(facts: &Facts, _: Option<&str>) -> Option<Drawing> {
    totals(facts, "control group", &facts.cgroups).filter(|_| facts.cgroups.len() > 1)
}

pub(crate) fn kinds(facts: &Facts, _: Option<&str>) -> Option<Drawing> {
    totals(facts, "operation and flags", &facts.kinds)
}

pub(crate) fn by_size(facts: &Facts, _: Option<&str>) -> Option<Drawing> {
    let named: Vec<(String, Total)> = facts
        .sizes
        .iter()
        .map(|(name, total)| {
            let text = name.map_or("(all others)".to_string(), |(class, bytes)| {
                format!("{} {}", ["read", "write"][class.min(1)], format_bytes(bytes.unsigned_abs()))
            });
            (text, total.clone())
        })
        .collect();
    totals(facts, "size", &named)
}

pub(crate) fn hot_regions(facts: &Facts, _: Option<&str>) -> Option<Drawing> {
    let all: u64 = facts.regions.iter().map(|region| region.2.ios()).sum();
    let shown = &facts.regions[..facts.regions.len().min(20)];
    let mut sum = 0;
    let running: Vec<Option<f64>> = shown
        .iter()
        .map(|region| {
            sum += region.2.ios();
            part(sum, all)
        })
        .collect();
    let size = format_bytes(facts.region_bytes.unsigned_abs());
    let columns = vec![
        TableColumn::text("device", shown.iter().map(|region| region.0.clone()).collect()),
        TableColumn::text(
            &format!("region of {size} at"),
            shown.iter().map(|region| format_bytes(region.1.unsigned_abs())).collect(),
        ),
        TableColumn::numbers("I/Os", Unit::Operations, shown.iter().map(|region| Some(region.2.ios() as f64))),
        TableColumn::numbers("share", Unit::Percent, shown.iter().map(|region| part(region.2.ios(), all))),
        TableColumn::numbers("share so far", Unit::Percent, running),
        TableColumn::numbers("reads", Unit::Percent, shown.iter().map(|region| part(region.2.reads, region.2.ios()))),
        TableColumn::numbers("bytes", Unit::Bytes, shown.iter().map(|region| Some(region.2.bytes as f64))),
    ];
    drawn(ViewTable { columns, omitted: facts.regions.len() - shown.len() })
}

/// Square of the coefficient of variation of the times between I/Os.
fn variation(facts: &Facts) -> Option<f64> {
    let mean = facts.gaps.mean().filter(|mean| *mean > 0.0 && !facts.is_sample())?;
    let count = facts.gaps.count() as f64;
    Some((facts.gap_squares / count - mean * mean).max(0.0) / (mean * mean))
}

pub(crate) fn bursts(facts: &Facts, _: Option<&str>) -> Option<Drawing> {
    if facts.is_sample() {
        return None;
    }
    let windows: Vec<_> = facts.windows.iter().zip(WINDOWS_NS).filter(|(windows, _)| windows.windows >= 2.0).collect();
    let of = |name: &str, unit: Unit, value: &dyn Fn(&super::Windows, f64) -> Option<f64>| {
        TableColumn::numbers(name, unit, windows.iter().map(|(windows, length)| value(windows, *length as f64 / 1e9)))
    };
    let columns = vec![
        TableColumn::text(
            "windows of",
            windows.iter().map(|(_, ns)| Unit::Nanoseconds.format(Some(*ns as f64))).collect(),
        ),
        of("mean rate", Unit::OpsPerSecond, &|windows, s| Some(windows.mean() / s)),
        of("greatest rate", Unit::OpsPerSecond, &|windows, s| Some(windows.peak / s)),
        of("greatest ÷ mean", Unit::Count, &|windows, _| Some(windows.peak / windows.mean())),
        of("dispersion", Unit::Count, &|windows, _| windows.dispersion()),
    ];
    drawn(ViewTable { columns, omitted: 0 })
}

pub(crate) fn slowest(facts: &Facts, _: Option<&str>) -> Option<Drawing> {
    let rows = &facts.slowest;
    let text = |name: &str, at: usize| TableColumn::text(name, rows.iter().map(|slow| slow.1[at].clone()).collect());
    let number = |name: &str, unit: Unit, value: &dyn Fn(&super::Slow) -> Option<f64>| {
        TableColumn::numbers(name, unit, rows.iter().map(|slow| value(&slow.0)))
    };
    let around = |name: &str, unit: Unit, value: &dyn Fn(&super::Slow) -> f64| {
        number(name, unit, &|slow| (!facts.is_sample()).then(|| value(slow))).under("around it")
    };
    let origin_ns = facts.origin_ns;
    let ns = |value: Option<u64>| value.map(|ns| ns as f64);
    let at = |slow: &super::Slow| format!("{:.6} s", slow.row.queue_ns.saturating_sub(origin_ns) as f64 / 1e9);
    let open = |slow: &super::Slow| match facts.ended_ns.filter(|_| slow.row.is_unfinished) {
        Some(ended_ns) => {
            let ns = ended_ns.saturating_sub(slow.row.queue_ns).max(0);
            format!("no end seen, at least {}", Unit::Nanoseconds.format(Some(ns as f64)))
        }
        None if slow.row.is_unfinished => "no end seen".to_string(),
        None => String::new(),
    };
    let mut columns = vec![
        TableColumn::text("queued at", rows.iter().map(|slow| at(&slow.0)).collect()),
        number("response", Unit::Nanoseconds, &|slow| ns(slow.row.response_ns())),
        number("wait", Unit::Nanoseconds, &|slow| ns(slow.row.wait_ns())),
        number("device", Unit::Nanoseconds, &|slow| ns(slow.row.device_ns())),
        text("on", 0),
        text("what", 1),
        text("flags", 2),
        TableColumn::text("size", rows.iter().map(|slow| format_bytes(slow.0.row.bytes.unsigned_abs())).collect()),
        TableColumn::text("sector", rows.iter().map(|slow| slow.0.row.sector.to_string()).collect()),
        around("in flight before", Unit::Count, &|slow| slow.depth as f64),
        around("queued meanwhile", Unit::Count, &|slow| slow.during as f64),
        around("of them faster", Unit::Count, &|slow| slow.overtaken_by as f64),
        around("flushes etc.", Unit::Count, &|slow| slow.during_other as f64),
        around("bytes", Unit::Bytes, &|slow| slow.during_bytes as f64),
        text("process", 3),
        text("file", 4),
    ];
    if rows.iter().any(|slow| slow.0.row.is_unfinished) {
        columns.insert(1, TableColumn::text("end", rows.iter().map(|slow| open(&slow.0)).collect()));
    }
    drawn(ViewTable { columns, omitted: 0 })
}

fn figure(label: &str, value: String, detail: String) -> ReportFigure {
    ReportFigure { label: label.to_string(), value, detail, tone: Tone::Plain }
}

/// Per cent of the I/Os with data that continued a stream, the device's last, the process's last.
fn sequential(facts: &Facts) -> [Option<f64>; 3] {
    let with_data: u64 = facts.bins.iter().map(|bin| bin.with_data).sum();
    [0, 1, 2]
        .map(|at| part(facts.bins.iter().map(|bin| bin.sequential[at]).sum(), with_data).filter(|_| !facts.is_sample()))
}

/// The figures that matter most.
pub(crate) fn figures(facts: &Facts) -> Vec<ReportFigure> {
    let [reads, writes, others] = facts.ios();
    let all = reads + writes + others;
    let length_s = facts.length_s();
    let per_second = |value: f64| (length_s > 0.0).then(|| value / length_s);
    let bytes: u64 = facts.devices.iter().map(|device| device.1.bytes).sum();
    let response = HistogramSummary::of(&facts.responses());
    let time = |value: Option<f64>| Unit::Nanoseconds.format(value);
    let depth: f64 = facts.bins.iter().map(|bin| bin.in_flight_ns).sum();
    let [stream, device, _] = sequential(facts);
    let percent = |value: Option<f64>| Unit::Percent.format(value);
    let failed: u64 = facts.devices.iter().map(|device| device.1.failed).sum();
    let mean_bytes = bytes.checked_div(reads + writes).unwrap_or(0);
    let all_seen = !facts.is_sample();
    let first = all_seen.then_some(facts.first_uses * workload::traced::reuse::BLOCK_BYTES as f64);
    let met = facts.depth.percentile(0.99).filter(|_| all_seen);
    vec![
        figure(
            "I/Os",
            Unit::Operations.format(Some(all as f64)),
            match facts.unended() {
                unended if unended > 0 && facts.has_times() => {
                    format!("in {}; {unended} without an end", Unit::Seconds.format(Some(length_s)))
                }
                _ => format!("in {}", Unit::Seconds.format(Some(length_s))),
            },
        ),
        figure(
            "IOPS",
            Unit::OpsPerSecond.format(per_second(all as f64)),
            format!("{} reads", percent(part(reads, reads + writes))),
        ),
        figure(
            "Throughput",
            Unit::BytesPerSecond.format(per_second(bytes as f64)),
            format!("{} on average", format_bytes(mean_bytes)),
        ),
        figure("Response p50", time(response.p50), format!("device {}", time(HistogramSummary::of(&facts.device).p50))),
        figure("Response p99", time(response.p99), format!("device {}", time(HistogramSummary::of(&facts.device).p99))),
        figure("Response max", time(response.max), format!("wait {}", time(HistogramSummary::of(&facts.wait).max))),
        figure(
            "In flight",
            Unit::Count.format(per_second(depth / 1e9).filter(|_| facts.has_times())),
            format!("99 % of I/Os met {} or fewer", Unit::Count.format(met.map(|n| n as f64))),
        ),
        figure("Sequential", percent(stream), format!("{} after the device's last", percent(device))),
        figure(
            "Working set",
            Unit::Bytes.format(first),
            format!(
                "each block used {} times",
                Unit::Count.format((all_seen && facts.first_uses > 0.0).then(|| facts.uses / facts.first_uses))
            ),
        ),
        figure(
            "Burstiness",
            Unit::Count.format(variation(facts)),
            "variation² between arrivals; random: 1".to_string(),
        ),
        ReportFigure {
            label: "Errors".to_string(),
            value: Unit::Operations.format(Some(failed as f64)),
            detail: format!("{} flushes, discards and others", Unit::Operations.format(Some(others as f64))),
            tone: if failed > 0 { Tone::Error } else { Tone::Plain },
        },
    ]
}

/// What was traced, in a sentence.
pub(crate) fn sentence(facts: &Facts) -> String {
    let all: u64 = facts.ios().iter().sum();
    let response = HistogramSummary::of(&facts.responses());
    let busiest = facts.devices.first();
    let device = match (facts.devices.len(), busiest) {
        (1, Some((name, _))) => format!("on {name}"),
        (many, Some((name, total))) => {
            format!("on {many} devices, {} of them on {name}", Unit::Percent.format(part(total.ios(), all)))
        }
        _ => String::new(),
    };
    let who = facts
        .processes
        .first()
        .map_or(String::new(), |(name, total)| format!("; {} by {name}", Unit::Percent.format(part(total.ios(), all))));
    let times = match (response.p50, response.p99) {
        (None, None) => "when they were completed is not known".to_string(),
        (p50, p99) => {
            let unended = match facts.unended() {
                0 => String::new(),
                unended => format!(" (without {unended} whose end is not known)"),
            };
            format!(
                "half of them within {}, 99 % within {}{unended}",
                Unit::Nanoseconds.format(p50),
                Unit::Nanoseconds.format(p99)
            )
        }
    };
    format!(
        "{} I/Os {} in {} {device}: {}, {times}{who}.",
        Unit::Operations.format(Some(all as f64)),
        if facts.is_sample() { format!("(estimated from one in {})", facts.sample) } else { "traced".to_string() },
        Unit::Seconds.format(Some(facts.length_s())),
        Unit::OpsPerSecond.format((facts.length_s() > 0.0).then(|| all as f64 / facts.length_s())),
    )
}

impl TracedFacts {
    /// Estimate where blocks were sampled: one in so many.
    pub(crate) fn sampling_note(&self) -> Option<String> {
        (self.sampling > 1.0 && !self.is_sample())
            .then(|| format!("Working set and re-use are estimated from one block in {:.0}.", self.sampling))
    }
}
