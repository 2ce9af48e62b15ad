//! Views over all runs: the load–response curve with its knee, and a figure by two variables.

use super::{axis, summaries};
use crate::catalogue::Drawing;
use crate::view::{Axis, Body, Knee, LineStyle, Point, PointLine, Scale};
use crate::{Facts, RunFacts, RunSummary, Unit, Values};

/// Most curves in one chart.
const CURVES: usize = 6;

/// Loop variables of a run.
fn variables(run: &RunFacts) -> Vec<(&str, &str)> {
    run.detail.split_whitespace().filter_map(|pair| pair.split_once('=')).collect()
}

/// What runs on one curve have in common: everything but the rate and `free`.
fn curve_of(run: &RunFacts, free: Option<&str>) -> String {
    let name = run.title.split("_(").next().unwrap_or(&run.title);
    let rest: Vec<String> = variables(run)
        .iter()
        .filter(|(name, _)| !matches!(*name, "iorate" | "rate" | "curve") && Some(*name) != free)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if rest.is_empty() { name.to_string() } else { rest.join(" ") }
}

/// Runs by curve: those that differ in their rate only; when there are none, those that differ in one variable, which is
/// the number of threads or the innermost.
fn curves<'a>(all: &[(&'a RunFacts, RunSummary)]) -> Vec<(String, Vec<(&'a RunFacts, RunSummary)>)> {
    let names: Vec<&str> =
        all.first().map(|(run, _)| variables(run).iter().map(|pair| pair.0).collect()).unwrap_or_default();
    let free = names.iter().find(|name| **name == "threads").or(names.last()).copied();
    for free in [None, free] {
        let mut curves: Vec<(String, Vec<(&RunFacts, RunSummary)>)> = Vec::new();
        for (run, summary) in all {
            let name = curve_of(run, free);
            match curves.iter_mut().find(|curve| curve.0 == name) {
                Some(curve) => curve.1.push((run, summary.clone())),
                None => curves.push((name, vec![(run, summary.clone())])),
            }
        }
        curves.retain(|curve| curve.1.len() > 1);
        if !curves.is_empty() {
            curves.sort_by_key(|curve| curve.1.first().map(|(run, _)| run.index));
            return curves;
        }
    }
    Vec::new()
}

/// The run of greatest rate ÷ mean response time.
pub(crate) fn knee<'a>(points: &'a [(&'a RunFacts, RunSummary)]) -> Option<&'a (&'a RunFacts, RunSummary)> {
    let power = |summary: &RunSummary| summary.iops.zip(summary.response.mean).map(|(rate, mean)| rate / mean.max(1.0));
    if points.len() < 3 {
        return None;
    }
    points.iter().max_by(|a, b| power(&a.1).unwrap_or(0.0).total_cmp(&power(&b.1).unwrap_or(0.0)))
}

fn point_line(
    name: &str,
    style: LineStyle,
    points: &[(&RunFacts, RunSummary)],
    of: fn(&RunSummary) -> Option<f64>,
) -> PointLine {
    let points = points
        .iter()
        .filter_map(|(run, summary)| {
            let label = run.name();
            Some(Point { x: summary.iops?, y: of(summary)?, label })
        })
        .collect();
    PointLine { name: name.to_string(), style, points }
}

pub(crate) fn load_response(facts: &Facts) -> Option<Drawing> {
    let mut all = summaries(facts);
    if all.len() < 2 {
        return None;
    }
    all.sort_by(|a, b| a.1.iops.unwrap_or(0.0).total_cmp(&b.1.iops.unwrap_or(0.0)));
    let curves = curves(&all);
    // Of many curves some, evenly chosen; the table has all runs.
    let every = curves.len().div_ceil(CURVES).max(1);
    let knee = knee(&all).map(|(run, summary)| Knee {
        x: summary.iops.unwrap_or(0.0),
        y: summary.response.mean.unwrap_or(0.0),
        label: format!(
            "knee: {} at {}, {}",
            Unit::OpsPerSecond.format(summary.iops),
            Unit::Nanoseconds.format(summary.response.mean),
            run.name()
        ),
    });
    let lines = match curves.as_slice() {
        [] | [_] => {
            let points = curves.first().map_or(&all, |curve| &curve.1);
            vec![
                point_line("p50", LineStyle::Rank0, points, |summary| summary.response.p50),
                point_line("mean", LineStyle::Asked, points, |summary| summary.response.mean),
                point_line("p99", LineStyle::Rank2, points, |summary| summary.response.p99),
                point_line("p99.9", LineStyle::Rank3, points, |summary| summary.response.p999),
            ]
        }
        several => several
            .iter()
            .step_by(every)
            .enumerate()
            .map(|(index, (name, points))| {
                point_line(name, LineStyle::category(index), points, |summary| summary.response.mean)
            })
            .collect(),
    };
    let label = if curves.len() > 1 { "mean response time" } else { "response time" };
    Some(Drawing {
        x: axis("achieved operations per second", Unit::OpsPerSecond, Scale::Linear),
        y: axis(label, Unit::Nanoseconds, Scale::Log),
        body: Body::Points { lines, knee },
        marks: Vec::new(),
    })
}

pub(crate) fn matrix(facts: &Facts) -> Option<Drawing> {
    let all = summaries(facts);
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in all.iter().flat_map(|(run, _)| variables(run)) {
        match names.iter_mut().find(|known| known.0 == name) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => names.push((name, vec![value])),
        }
    }
    names.retain(|(_, values)| values.len() > 1);
    names.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
    let ((across, columns), (down, rows)) = (names.first()?, names.get(1)?);
    let mut cells = vec![f64::NAN; columns.len() * rows.len()];
    for (run, summary) in &all {
        let variables = variables(run);
        let place = |name: &str, values: &[&str]| {
            let value = variables.iter().find(|variable| variable.0 == name)?.1;
            values.iter().position(|known| *known == value)
        };
        if let (Some(column), Some(row)) = (place(across, columns), place(down, rows)) {
            let cell = &mut cells[row * columns.len() + column];
            *cell = summary.iops.unwrap_or(f64::NAN).max(*cell);
        }
    }
    let named = |name: &str, values: &[&str]| values.iter().map(|value| format!("{name}={value}")).collect();
    let none = |label: &str| Axis { label: label.to_string(), unit: Unit::None, scale: Scale::Category };
    Some(Drawing {
        x: none(across),
        y: Axis { label: "op/s".to_string(), ..none(down) },
        body: Body::Matrix {
            columns: named(across, columns),
            rows: named(down, rows),
            cells: Values(cells),
            unit: Unit::OpsPerSecond,
        },
        marks: Vec::new(),
    })
}
