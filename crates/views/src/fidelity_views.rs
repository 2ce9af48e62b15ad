//! The views of a replay beside its trace.

use crate::series::{heat, marks};
use crate::{RecordingFacts, RunFacts};
use quantity::histogram::Histogram;
use quantity::text::{format_bytes, format_count, format_ns};
use recording::rows::{Fidelity, FidelityInterval};
use view::Drawing;
use view::{Body, Line, LineStyle, Scale, TableColumn, ViewTable};
use view::{Unit, Values};
use view::{axis, line};
use workload::fidelity::FidelityDifference;

/// A figure in its unit.
fn figure(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return String::new() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "figures of a report")]
    let whole = value.abs().round() as u64;
    let sign = if value < 0.0 && whole > 0 { "−" } else { "" };
    match unit {
        "ns" => format!("{sign}{}", format_ns(whole)),
        "B" => format_bytes(whole),
        "I/Os" if whole < 1_000_000 => whole.to_string(),
        "I/Os" => format_count(value),
        "r" => format!("{value:.5}"),
        "share" => format!("{:.4} %", value * 100.0),
        _ => format!("{value:.3}"),
    }
}

/// Unit of a line's difference.
fn error_unit(row: &Fidelity) -> &str {
    match FidelityDifference::of(&row.measure) {
        FidelityDifference::Share => "share",
        FidelityDifference::Distance => "distance",
        FidelityDifference::OfUnit => &row.unit,
    }
}

pub(crate) fn table(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let text = |name: &str, cell: &dyn Fn(&Fidelity) -> String| {
        TableColumn::text(name, run.fidelity.iter().map(cell).collect())
    };
    let verdict = |row: &Fidelity| match row.kept {
        Some(true) => "kept",
        Some(false) => "MISSED",
        None => "",
    };
    let columns = vec![
        text("measure", &|row| row.measure.clone()),
        text("trace", &|row| figure(row.source, &row.unit)),
        text("replay", &|row| figure(row.replay, &row.unit)),
        text("difference", &|row| figure(row.error, error_unit(row))),
        text("limit", &|row| figure(row.limit, error_unit(row))),
        text("verdict", &|row| verdict(row).to_string()),
    ];
    let none = || axis("", Unit::None, Scale::Category);
    let body = Body::Table(ViewTable { columns, omitted: 0 });
    (!run.fidelity.is_empty()).then(|| Drawing { x: none(), y: none(), body, marks: Vec::new() })
}

/// Lines over the seconds of the replay.
fn over_time(run: &RunFacts, y: view::Axis, lines: Vec<Line>) -> Option<Drawing> {
    let x: Vec<f64> =
        run.seconds.iter().map(|second| run.seconds(second.t_ns) - second.interval_ns as f64 / 2e9).collect();
    (x.len() > 1).then(|| Drawing {
        x: axis("elapsed time", Unit::Seconds, Scale::Time),
        y,
        body: Body::Lines { x: x.into(), lines, right: None },
        marks: marks(run),
    })
}

fn along(run: &RunFacts, of: impl Fn(&FidelityInterval) -> Option<f64>) -> Values {
    run.seconds.iter().map(of).collect()
}

fn percentile(histogram: &Histogram, quantile: f64) -> Option<f64> {
    histogram.percentile(quantile).map(|value| value as f64)
}

pub(crate) fn rate(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let per_second = |ios: i64, row: &FidelityInterval| Some(ios as f64 * 1e9 / row.interval_ns.max(1) as f64);
    let lines = vec![
        line("trace", LineStyle::Asked, along(run, |row| per_second(row.source_ios, row))),
        line("replay", LineStyle::Total, along(run, |row| per_second(row.replay_ios, row))),
    ];
    over_time(run, axis("I/Os per second", Unit::OpsPerSecond, Scale::Linear), lines)
}

pub(crate) fn late(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let of = |quantile: f64| along(run, move |row| percentile(&row.late, quantile).map(|ns| ns.max(1.0)));
    let lines = vec![
        line("p50", LineStyle::Rank0, of(0.5)),
        line("p99", LineStyle::Rank2, of(0.99)),
        line("p99.9", LineStyle::Rank3, of(0.999)),
        line("max", LineStyle::Rank4, along(run, |row| row.late.max().map(|ns| ns.max(1) as f64))),
    ];
    over_time(run, axis("queued − due", Unit::Nanoseconds, Scale::Log), lines)
}

pub(crate) fn response(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let of = |quantile: f64, pick: fn(&FidelityInterval) -> &Histogram| {
        along(run, move |row| percentile(pick(row), quantile))
    };
    let lines = vec![
        line("trace p50", LineStyle::Asked, of(0.5, |row| &row.source_response)),
        line("replay p50", LineStyle::Category0, of(0.5, |row| &row.replay_response)),
        line("trace p99", LineStyle::Category2, of(0.99, |row| &row.source_response)),
        line("replay p99", LineStyle::Category1, of(0.99, |row| &row.replay_response)),
    ];
    over_time(run, axis("response time", Unit::Nanoseconds, Scale::Log), lines)
}

fn heat_of(run: &RunFacts, pick: fn(&FidelityInterval) -> &Histogram) -> Option<Drawing> {
    let columns = run
        .seconds
        .iter()
        .map(|row| (run.seconds(row.t_ns - row.interval_ns), run.seconds(row.t_ns), pick(row).clone()));
    heat(columns.collect(), marks(run))
}

pub(crate) fn source_heat(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    heat_of(run, |row| &row.source_response)
}

pub(crate) fn replay_heat(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    heat_of(run, |row| &row.replay_response)
}
