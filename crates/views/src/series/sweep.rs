//! Views over all runs: the load–response curve with its knee, and figures by the parameters that were swept.

use super::summaries;
use crate::repeats::{Group, groups};
use crate::{RecordingFacts, RunFacts, RunSummary};
use rates::samples::RepeatEstimate;
use rates::variables;
use view::Drawing;
use view::axis;
use view::{Axis, Body, Knee, LineStyle, Panel, Point, PointLine, Scale};
use view::{Unit, Values};

/// Most lines in one chart; more are drawn as small charts.
const CURVES: usize = 6;

/// Most small charts of one view; further ones are counted.
const PANELS: usize = 48;

/// What a point shows.
type Figure = fn(&RunSummary) -> Option<f64>;

/// A line of a chart: name, style, figure.
type Drawn<'a> = (&'a str, LineStyle, Figure);

/// Runs that differ in their load only.
#[derive(Clone)]
struct Curve<'a, 'b> {
    name: String,
    /// Points on the line: all of them with a rate that was asked for, or all at full speed (with rising threads).
    points: Vec<&'b Group<'a>>,
    /// What ran at full speed where the others had a rate: the end of what can be had, and no point of the line, for its
    /// response times are those of a closed loop.
    at_full_speed: Vec<&'b Group<'a>>,
}

impl<'a, 'b> Curve<'a, 'b> {
    /// `None` when there are not two points of one kind.
    fn of(name: String, all: Vec<&'b Group<'a>>) -> Option<Self> {
        let (asked, at_full_speed): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|group| group.first().offered.is_some());
        match (asked.len(), at_full_speed.len()) {
            (0, 2..) => Some(Self { name, points: at_full_speed, at_full_speed: Vec::new() }),
            (2.., _) => Some(Self { name, points: asked, at_full_speed }),
            _ => None,
        }
    }

    fn knee(&self) -> Option<&'b Group<'a>> {
        knee(self.points.iter().copied())
    }
}

/// Percentiles and mean of the response time.
const TIMES: [Drawn<'static>; 4] = [
    ("p50", LineStyle::Rank0, |summary| summary.response.p50),
    ("mean", LineStyle::Asked, |summary| summary.response.mean),
    ("p99", LineStyle::Rank2, |summary| summary.response.p99),
    ("p99.9", LineStyle::Rank3, |summary| summary.response.p999),
];

/// Is it the rate itself that this variable sets?
fn is_rate(name: &str) -> bool {
    matches!(name, "iorate" | "fwdrate" | "rate" | "curve")
}

/// What runs on one curve have in common: everything but the rate and `free`.
fn curve_of(run: &RunFacts, free: Option<&str>) -> String {
    let name = run.title.split("_(").next().unwrap_or(&run.title);
    let rest: Vec<String> = variables::of(&run.detail)
        .iter()
        .filter(|(name, _)| !is_rate(name) && Some(*name) != free)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if rest.is_empty() { rates::base_title(name).to_string() } else { rest.join(" ") }
}

/// Runs by curve: those that differ in their rate only; when there are none, those that differ in the number of threads.
fn curves<'a, 'b>(all: &'b [Group<'a>]) -> Vec<Curve<'a, 'b>> {
    for free in [None, Some("threads")] {
        let mut named: Vec<(String, Vec<&Group<'_>>)> = Vec::new();
        for group in all {
            let name = curve_of(group.first(), free);
            match named.iter_mut().find(|curve| curve.0 == name) {
                Some(curve) => curve.1.push(group),
                None => named.push((name, vec![group])),
            }
        }
        let mut curves: Vec<Curve<'_, '_>> = named.into_iter().filter_map(|(name, all)| Curve::of(name, all)).collect();
        if !curves.is_empty() {
            curves.sort_by_key(|curve| curve.points.iter().map(|group| group.first().index).min());
            return curves;
        }
    }
    Vec::new()
}

/// The knee of the only curve that these runs make; `None` when they make several, or none.
pub(crate) fn knee_of<'a, 'b>(all: &'b [Group<'a>]) -> Option<&'b Group<'a>> {
    match curves(all).as_slice() {
        [only] => only.knee(),
        _ => None,
    }
}

/// Do all runs of a recording lie on one curve?
pub(crate) fn is_one_curve(facts: &RecordingFacts) -> bool {
    let all = groups(summaries(facts));
    matches!(curves(&all).as_slice(), [only] if only.points.len() + only.at_full_speed.len() == all.len())
}

fn mean(group: &Group<'_>, of: Figure) -> Option<f64> {
    group.estimate(of).map(|estimate| estimate.mean)
}

/// Rate ÷ mean response time.
fn power(group: &Group<'_>) -> Option<f64> {
    Some(mean(group, |summary| summary.iops)? / mean(group, |summary| summary.response.mean)?.max(1.0))
}

/// The run of greatest rate ÷ mean response time on a line of three points or more.
fn knee<'a, 'b>(points: impl IntoIterator<Item = &'b Group<'a>>) -> Option<&'b Group<'a>>
where
    'a: 'b,
{
    let points: Vec<&Group<'_>> = points.into_iter().collect();
    if points.len() < 3 {
        return None;
    }
    points.into_iter().max_by(|a, b| power(a).unwrap_or(0.0).total_cmp(&power(b).unwrap_or(0.0)))
}

fn knee_words(group: &Group<'_>) -> String {
    format!(
        "knee: {} at {}, {}",
        Unit::OpsPerSecond.format(mean(group, |summary| summary.iops)),
        Unit::Nanoseconds.format(mean(group, |summary| summary.response.mean)),
        group.name()
    )
}

fn point(x: f64, estimate: RepeatEstimate, label: String) -> Point {
    Point { x, y: estimate.mean, label, within: estimate.bounds() }
}

fn curve_line((name, style, of): Drawn<'_>, groups: &[&Group<'_>]) -> PointLine {
    let place = |group: &&Group<'_>| mean(group, |summary| summary.iops).unwrap_or(0.0);
    let mut sorted: Vec<&Group<'_>> = groups.to_vec();
    sorted.sort_by(|a, b| place(a).total_cmp(&place(b)));
    let points =
        sorted.iter().filter_map(|group| Some(point(place(group), group.estimate(of)?, group.name()))).collect();
    PointLine { name: name.to_string(), style, points }
}

/// A curve's mean response times, and each run at full speed as a point by itself.
fn curve_lines(curve: &Curve<'_, '_>, style: LineStyle, is_named: bool) -> Vec<PointLine> {
    let mean_of: Figure = |summary| summary.response.mean;
    let name = if is_named { format!("{} at full speed", curve.name) } else { "mean at full speed".to_string() };
    let marks = curve.at_full_speed.iter().map(|group| curve_line((&name, style, mean_of), &[*group]));
    std::iter::once(curve_line((&curve.name, style, mean_of), &curve.points)).chain(marks).collect()
}

pub(crate) fn load_response(facts: &RecordingFacts) -> Option<Drawing> {
    let all = groups(summaries(facts));
    if all.len() < 2 {
        return None;
    }
    let curves = curves(&all);
    let several = curves.len() > 1;
    let mean_of: Figure = |summary| summary.response.mean;
    let body = if curves.len() > CURVES {
        let panels = load_panels(&curves);
        let omitted = panels.len().saturating_sub(PANELS);
        Body::Panels { ticks: Vec::new(), panels: panels.into_iter().take(PANELS).collect(), omitted }
    } else if several {
        let named = curves.iter().enumerate();
        let lines = named.flat_map(|(index, curve)| curve_lines(curve, LineStyle::category(index), true)).collect();
        Body::Points { lines, knee: None }
    } else if let [only] = curves.as_slice() {
        let mut lines: Vec<PointLine> = TIMES.iter().map(|drawn| curve_line(*drawn, &only.points)).collect();
        lines.extend(curve_lines(only, LineStyle::category(4), false).into_iter().skip(1));
        let knee = only.knee().map(|group| Knee {
            x: mean(group, |summary| summary.iops).unwrap_or(0.0),
            y: mean(group, mean_of).unwrap_or(0.0),
            label: knee_words(group),
        });
        Body::Points { lines, knee }
    } else {
        // Runs that have nothing to do with each other: points, and no line through them.
        if all.len() > CURVES {
            return None;
        }
        let alone = |(index, group): (usize, &Group<'_>)| {
            curve_line((&group.name(), LineStyle::category(index), mean_of), &[group])
        };
        Body::Points { lines: all.iter().enumerate().map(alone).collect(), knee: None }
    };
    let label = if curves.len() == 1 { "response time" } else { "mean response time" };
    Some(Drawing {
        x: axis("achieved operations per second", Unit::OpsPerSecond, Scale::Linear),
        y: axis(label, Unit::Nanoseconds, Scale::Log),
        body,
        marks: Vec::new(),
    })
}

/// Curves by what their names have in common but the last variable; a chart for each where even these are too many.
fn load_panels<'a, 'b>(curves: &[Curve<'a, 'b>]) -> Vec<Panel> {
    let split =
        |name: &str| name.rsplit_once(' ').map_or((String::new(), name.to_string()), |(a, b)| (a.into(), b.into()));
    let mut panels: Vec<(String, Vec<Curve<'a, 'b>>)> = Vec::new();
    for curve in curves {
        let (panel, line) = split(&curve.name);
        let curve = Curve { name: line, ..curve.clone() };
        match panels.iter_mut().find(|known| known.0 == panel) {
            Some(known) => known.1.push(curve),
            None => panels.push((panel, vec![curve])),
        }
    }
    if panels.iter().any(|panel| panel.1.len() > CURVES) {
        let alone =
            |curve: &Curve<'a, 'b>| (curve.name.clone(), vec![Curve { name: "mean".to_string(), ..curve.clone() }]);
        panels = curves.iter().map(alone).collect();
    }
    let mean_of: Figure = |summary| summary.response.mean;
    panels
        .into_iter()
        .map(|(title, curves)| {
            let knee = if let [only] = curves.as_slice() { only.knee() } else { None };
            let knee = knee.map(|group| Knee {
                x: mean(group, |summary| summary.iops).unwrap_or(0.0),
                y: mean(group, mean_of).unwrap_or(0.0),
                label: "knee".to_string(),
            });
            let named = curves.iter().enumerate();
            let lines = named.flat_map(|(index, curve)| curve_lines(curve, LineStyle::category(index), true)).collect();
            Panel { title, lines, knee }
        })
        .collect()
}

/// Variables with more than one value, in the order of nesting, each with its values in rising order.
fn swept<'a>(all: &'a [Group<'_>]) -> Vec<(&'a str, Vec<&'a str>)> {
    variables::swept(all.iter().map(|group| group.first().detail.as_str()))
}

fn value_of<'a>(group: &'a Group<'_>, name: &str) -> Option<&'a str> {
    variables::value_of(&group.first().detail, name)
}

/// One chart per value of the parameters that are not on the axis; `drawn` are the lines where no further parameter
/// makes lines of its own.
fn by_parameter(facts: &RecordingFacts, y: Axis, drawn: &[Drawn<'_>], only: Figure) -> Option<Drawing> {
    let all = groups(summaries(facts));
    let names = swept(&all);
    // A sweep of nothing but rates is what the load–response curve shows.
    let candidates: Vec<&(&str, Vec<&str>)> = names.iter().filter(|(name, _)| !is_rate(name)).collect();
    let across = candidates
        .iter()
        .find(|(name, _)| *name == "threads")
        .or_else(|| candidates.iter().max_by_key(|(_, values)| values.len()))?;
    let rest: Vec<&(&str, Vec<&str>)> = names.iter().filter(|(name, _)| *name != across.0).collect();
    // Of three parameters one is on the axis, one makes charts, one makes lines.
    let by_line = rest.iter().skip(1).rev().find(|(_, values)| values.len() <= CURVES).copied();
    let titles: std::collections::BTreeSet<&str> = all.iter().map(|group| group.first().base_title()).collect();
    let title_of = |group: &Group<'_>| {
        let mut parts: Vec<String> = rest
            .iter()
            .filter(|(name, _)| by_line.is_none_or(|line| line.0 != *name))
            .filter_map(|(name, _)| Some(format!("{name}={}", value_of(group, name)?)))
            .collect();
        if titles.len() > 1 {
            parts.insert(0, group.first().base_title().to_string());
        }
        parts.join(" ")
    };
    let mut panels: Vec<(String, Vec<&Group<'_>>)> = Vec::new();
    for group in all.iter().filter(|group| value_of(group, across.0).is_some()) {
        let title = title_of(group);
        match panels.iter_mut().find(|known| known.0 == title) {
            Some(known) => known.1.push(group),
            None => panels.push((title, vec![group])),
        }
    }
    panels.retain(|panel| panel.1.len() > 1);
    if panels.is_empty() {
        return None;
    }
    sort_panels(&mut panels, &rest);
    let omitted = panels.len().saturating_sub(PANELS);
    let single = panels.len() == 1;
    let panels = panels
        .into_iter()
        .take(PANELS)
        .map(|(title, groups)| swept_panel(title, &groups, across, by_line, (drawn, only), single))
        .collect();
    let ticks = across.1.iter().map(ToString::to_string).collect();
    let x = axis(across.0, Unit::None, Scale::Category);
    Some(Drawing { x, y, body: Body::Panels { ticks, panels, omitted }, marks: Vec::new() })
}

/// Charts in the order of their parameters' values.
fn sort_panels(panels: &mut [(String, Vec<&Group<'_>>)], rest: &[&(&str, Vec<&str>)]) {
    let place = |groups: &[&Group<'_>]| {
        let of = |name: &str, values: &[&str]| {
            let value = groups.first().and_then(|group| value_of(group, name));
            values.iter().position(|known| Some(*known) == value)
        };
        rest.iter().map(|(name, values)| of(name, values)).collect::<Vec<_>>()
    };
    panels.sort_by_key(|panel| place(&panel.1));
}

fn swept_panel(
    title: String,
    groups: &[&Group<'_>],
    (across, values): &(&str, Vec<&str>),
    by_line: Option<&(&str, Vec<&str>)>,
    (drawn, only): (&[Drawn<'_>], Figure),
    single: bool,
) -> Panel {
    let place = |group: &Group<'_>| {
        let value = value_of(group, across)?;
        values.iter().position(|known| *known == value).map(|index| index as f64)
    };
    let line = |(name, style, of): Drawn<'_>, groups: &[&Group<'_>]| {
        let mut points: Vec<Point> =
            groups.iter().filter_map(|group| Some(point(place(group)?, group.estimate(of)?, group.name()))).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        PointLine { name: name.to_string(), style, points }
    };
    let lines = match by_line {
        None => drawn.iter().map(|drawn| line(*drawn, groups)).collect(),
        Some((name, values)) => {
            let of = |value: &str| -> Vec<&Group<'_>> {
                groups.iter().filter(|group| value_of(group, name) == Some(value)).copied().collect()
            };
            let named = values.iter().enumerate();
            named
                .map(|(index, value)| line((&format!("{name}={value}"), LineStyle::category(index), only), &of(value)))
                .filter(|line| !line.points.is_empty())
                .collect()
        }
    };
    // Only more threads are more load, and only runs of one kind are of one line.
    let is_asked = |group: &&&Group<'_>| group.first().offered.is_some();
    let is_curve = *across == "threads"
        && by_line.is_none()
        && [0, groups.len()].contains(&groups.iter().filter(is_asked).count());
    let knee = knee(groups.iter().copied().filter(|_| is_curve)).and_then(|group| {
        Some(Knee {
            x: place(group)?,
            y: mean(group, only)?,
            label: if single { knee_words(group) } else { "knee".to_string() },
        })
    });
    Panel { title, lines, knee }
}

pub(crate) fn rate_by(facts: &RecordingFacts) -> Option<Drawing> {
    let of: Figure = |summary| summary.iops;
    by_parameter(facts, axis("op/s", Unit::OpsPerSecond, Scale::Linear), &[("rate", LineStyle::Total, of)], of)
}

pub(crate) fn throughput_by(facts: &RecordingFacts) -> Option<Drawing> {
    let of: Figure = |summary| summary.bytes_per_s;
    let y = axis("bytes per second", Unit::BytesPerSecond, Scale::Linear);
    by_parameter(facts, y, &[("throughput", LineStyle::Total, of)], of)
}

pub(crate) fn response_by(facts: &RecordingFacts) -> Option<Drawing> {
    let y = axis("response time", Unit::Nanoseconds, Scale::Log);
    by_parameter(facts, y, &TIMES, |summary| summary.response.mean)
}

pub(crate) fn matrix(facts: &RecordingFacts) -> Option<Drawing> {
    let all = groups(summaries(facts));
    let mut names = swept(&all);
    names.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
    let ((across, columns), (down, rows)) = (names.first()?, names.get(1)?);
    let mut cells = vec![f64::NAN; columns.len() * rows.len()];
    for group in &all {
        let place = |name: &str, values: &[&str]| {
            let value = value_of(group, name)?;
            values.iter().position(|known| *known == value)
        };
        if let (Some(column), Some(row)) = (place(across, columns), place(down, rows)) {
            let cell = &mut cells[row * columns.len() + column];
            *cell = mean(group, |summary| summary.iops).unwrap_or(f64::NAN).max(*cell);
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
