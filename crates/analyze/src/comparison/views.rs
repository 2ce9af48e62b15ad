//! The views of a comparison.

use super::estimate::{Part, Ratio, batches, exact_ratio, ratio};
use super::{Comparison, Load, Side, Slice};
use crate::catalogue::Drawing;
use crate::series::{axis, heat_within, line, percentile_curve};
use crate::view::{Axis, Body, Cells, Column, LineStyle, Point, PointLine, Scale, Table};
use crate::{Bounds, Unit, Values};
use quantity::histogram::Histogram;

/// One figure of a load: name, unit, value of a part of it.
type Measure = (&'static str, Unit, fn(&Part) -> Option<Bounds>);

fn per_second(value: f64, part: &Part) -> Option<f64> {
    (part.seconds > 0.0).then(|| value / part.seconds)
}

fn rate_of(value: f64, part: &Part) -> Option<Bounds> {
    per_second(value, part).map(Bounds::exact)
}

fn low(figure: Option<Bounds>) -> Option<f64> {
    figure.map(|figure| figure.low)
}

/// With its unit, `≥ 1.2 s` for a lower bound.
fn shown(unit: Unit, figure: Option<Bounds>) -> String {
    let text = unit.format(low(figure));
    if figure.is_some_and(|figure| !figure.is_exact()) { format!("≥ {text}") } else { text }
}

pub(super) const IOPS: Measure = ("IOPS", Unit::OpsPerSecond, |part| rate_of(part.ops, part));
pub(super) const P50: Measure = ("response p50", Unit::Nanoseconds, |part| part.response.percentile(0.5));
pub(super) const P99: Measure = ("response p99", Unit::Nanoseconds, |part| part.response.percentile(0.99));

const MEASURES: [Measure; 11] = [
    IOPS,
    ("throughput", Unit::BytesPerSecond, |part| rate_of(part.bytes, part)),
    ("bytes per operation", Unit::Bytes, |part| (part.ops > 0.0).then(|| Bounds::exact(part.bytes / part.ops))),
    ("share of reads", Unit::Percent, |part| (part.ops > 0.0).then(|| Bounds::exact(100.0 * part.reads / part.ops))),
    ("mean response", Unit::Nanoseconds, |part| part.response.mean()),
    P50,
    ("response p90", Unit::Nanoseconds, |part| part.response.percentile(0.9)),
    P99,
    ("response p99.9", Unit::Nanoseconds, |part| part.response.percentile(0.999)),
    ("response max", Unit::Nanoseconds, |part| part.response.max()),
    ("in flight", Unit::Count, |part| rate_of(part.in_flight_s?, part)),
];

/// A load as a whole: its histogram is the exact one.
fn whole(load: &Load) -> Part {
    Part { response: load.response.clone(), ..Part::of(&load.slices) }
}

/// How many times as much of a figure `other` has as `base`.
pub(super) fn ratio_of((_, _, of): &Measure, base: &Load, other: &Load) -> Option<Ratio> {
    let value = |part: &Part| low(of(part));
    let stretches = |load: &Load| batches(load).iter().map(value).collect::<Option<Vec<f64>>>().unwrap_or_default();
    exact_ratio((of(&whole(base))?, of(&whole(other))?), &stretches(base), &stretches(other))
}

/// `12 % more`, `3.1 times`, `within the noise`.
pub(super) fn words(ratio: Option<Ratio>, more: &str, less: &str) -> String {
    let Some(ratio) = ratio else { return "?".to_string() };
    let size = match ratio.ratio {
        much if much >= 2.0 => format!("{much:.2} times"),
        little if little <= 0.5 => format!("1 ÷ {:.2}", 1.0 / little),
        near if near >= 1.0 => format!("{:.1} % {more}", (near - 1.0) * 100.0),
        near => format!("{:.1} % {less}", (1.0 - near) * 100.0),
    };
    match ratio.differs() {
        Some(true) => size,
        Some(false) => "within the noise".to_string(),
        None => format!("{size} (too short to be sure)"),
    }
}

fn within(ratio: Option<Ratio>) -> String {
    ratio.and_then(|ratio| ratio.within).map_or("?".to_string(), |(low, high)| format!("{low:.3} – {high:.3}"))
}

fn table(columns: Vec<Column>, omitted: usize) -> Drawing {
    let none = || axis("", Unit::None, Scale::Category);
    Drawing { x: none(), y: none(), body: Body::Table(Table { columns, omitted }), marks: Vec::new() }
}

pub(crate) fn figures(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    let loads: Vec<(usize, &Side, &Load)> = comparison.of(pair).collect();
    let (_, _, base) = *loads.first()?;
    if loads.len() < 2 {
        return None;
    }
    let wholes: Vec<Part> = loads.iter().map(|(_, _, load)| whole(load)).collect();
    let present: Vec<&Measure> =
        MEASURES.iter().filter(|(_, _, of)| wholes.iter().any(|part| of(part).is_some())).collect();
    let mut names: Vec<String> = present.iter().map(|(name, _, _)| (*name).to_string()).collect();
    names.extend(["errors".to_string(), "measured time".to_string()]);
    let mut columns = vec![Column::text("figure", names)];
    for ((_, side, load), part) in loads.iter().zip(&wholes) {
        let mut cells: Vec<String> = present.iter().map(|(_, unit, of)| shown(*unit, of(part))).collect();
        cells.extend([Unit::Operations.format(load.errors), Unit::Seconds.format(Some(part.seconds))]);
        columns.push(Column::text(&side.label, cells));
    }
    let several = loads.len() > 2;
    for (_, side, load) in &loads[1..] {
        let mut ratios: Vec<Option<Ratio>> = present.iter().map(|measure| ratio_of(measure, base, load)).collect();
        let whole = |load: &Load| load.slices.iter().map(|slice| slice.length_s).sum::<f64>();
        ratios.extend([None, ratio((whole(base), whole(load)), &[], &[])]);
        let under = if several { side.label.as_str() } else { "" };
        columns.extend([
            Column::numbers("ratio", Unit::None, ratios.iter().map(|ratio| ratio.map(|ratio| ratio.ratio)))
                .under(under),
            Column::text("95 % interval", ratios.iter().map(|ratio| within(*ratio)).collect()).under(under),
            Column::text("difference", ratios.iter().map(|ratio| words(*ratio, "more", "less")).collect()).under(under),
        ]);
        // Of the length and of failures there is no spread to tell.
        for column in columns.iter_mut().rev().take(2) {
            if let Cells::Text(cells) = &mut column.cells {
                cells[present.len()..].fill(String::new());
            }
        }
    }
    Some(table(columns, 0))
}

pub(crate) fn runs(comparison: &Comparison, _: usize) -> Option<Drawing> {
    if comparison.pairs.len() < 2 {
        return None;
    }
    let mut columns = vec![Column::text("run", comparison.pairs.clone())];
    for (group, measure) in [("IOPS", IOPS), ("response p50", P50), ("response p99", P99)] {
        let value = |load: &Load| measure.2(&whole(load));
        for side in &comparison.sides {
            let cells: Vec<Option<Bounds>> = side.loads.iter().map(|load| value(load.as_ref()?)).collect();
            let is_known = cells.iter().flatten().all(|figure| figure.is_exact());
            let column = match is_known {
                true => Column::numbers(&side.label, measure.1, cells.into_iter().map(low)),
                false => Column::text(&side.label, cells.into_iter().map(|cell| shown(measure.1, cell)).collect()),
            };
            columns.push(column.under(group));
        }
        let base = &comparison.sides.first()?.loads;
        for side in &comparison.sides[1..] {
            let cells = base.iter().zip(&side.loads).map(|(base, load)| {
                let both = base.as_ref().zip(load.as_ref());
                both.map_or("?".to_string(), |(base, load)| words(ratio_of(&measure, base, load), "more", "less"))
            });
            let name = if comparison.sides.len() > 2 {
                format!("difference of {}", side.label)
            } else {
                "difference".to_string()
            };
            columns.push(Column::text(&name, cells.collect()).under(group));
        }
    }
    Some(table(columns, 0))
}

/// Curves of sides whose runs all lie on one; what ran at full speed beside runs with a rate is a point by itself.
pub(crate) fn load_response(comparison: &Comparison, _: usize) -> Option<Drawing> {
    if !comparison.sides.iter().all(|side| crate::series::is_one_curve(&side.facts)) {
        return None;
    }
    let of = |(at, side): (usize, &Side)| {
        let is_asked = |pair: &str| {
            let mut asked = side.facts.runs.iter().filter(|run| run.offered.is_some());
            asked.any(|run| format!("{} {}", run.base_title(), run.detail).trim_end() == pair)
        };
        let loads = side.loads.iter().zip(&comparison.pairs).filter_map(|(load, name)| Some((load.as_ref()?, name)));
        let (mut points, mut at_full_speed) = (Vec::new(), Vec::new());
        for (load, name) in loads {
            let part = whole(load);
            let Some((x, y)) = low(IOPS.2(&part)).zip(low(part.response.mean())) else { continue };
            let group = if is_asked(name) { &mut points } else { &mut at_full_speed };
            group.push(Point { x, y, label: name.clone(), within: None });
        }
        if points.is_empty() {
            points = std::mem::take(&mut at_full_speed);
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let style = LineStyle::category(at);
        let alone = at_full_speed.into_iter().map(|point| PointLine {
            name: format!("{} at full speed", side.label),
            style,
            points: vec![point],
        });
        std::iter::once(PointLine { name: side.label.clone(), style, points }).chain(alone.collect::<Vec<_>>())
    };
    let lines: Vec<PointLine> = comparison.sides.iter().enumerate().flat_map(of).collect();
    lines.iter().any(|line| line.points.len() > 1).then(|| Drawing {
        x: axis("achieved operations per second", Unit::OpsPerSecond, Scale::Linear),
        y: axis("mean response time", Unit::Nanoseconds, Scale::Log),
        body: Body::Points { lines, knee: None },
        marks: Vec::new(),
    })
}

/// A line per side, on common steps of time: the longest that any of them has.
fn over_time(comparison: &Comparison, pair: usize, y: Axis, of: fn(&Part) -> Option<Bounds>) -> Option<Drawing> {
    let step_s = comparison.of(pair).map(|(_, _, load)| usual_s(&load.slices)).fold(0.0, f64::max);
    if step_s <= 0.0 {
        return None;
    }
    let steps: Vec<Vec<Vec<Slice>>> = comparison.of(pair).map(|(_, _, load)| stepped(&load.slices, step_s)).collect();
    let longest = steps.iter().map(Vec::len).max()?;
    let x: Vec<f64> = (0..longest).map(|at| (at as f64 + 0.5) * step_s).collect();
    let lines = comparison.of(pair).zip(&steps).map(|((at, side, _), steps)| {
        // What fills less than half of its step, as where a recording begins, makes rates that mean little.
        let value =
            |step: usize| low(of(&Part::of(steps.get(step).filter(|slices| length_s(slices) >= step_s / 2.0)?)));
        let values: Values = (0..longest).map(value).collect();
        line(&side.label, LineStyle::category(at), values)
    });
    let lines: Vec<_> = lines.collect();
    lines.iter().any(|line| line.values.range().is_some()).then(|| Drawing {
        x: axis("elapsed time", Unit::Seconds, Scale::Time),
        y,
        body: Body::Lines { x: x.into(), lines, right: None },
        marks: Vec::new(),
    })
}

/// The length that most slices have, s.
fn usual_s(slices: &[Slice]) -> f64 {
    let mut lengths: Vec<f64> = slices.iter().map(|slice| slice.length_s).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.get(lengths.len() / 2).copied().unwrap_or(0.0)
}

/// How much time slices have together.
fn length_s(slices: &[Slice]) -> f64 {
    slices.iter().map(|slice| slice.length_s).sum()
}

/// Slices by the step in which they begin, the last one of less than half a step left out: its rates mean little.
fn stepped(slices: &[Slice], step_s: f64) -> Vec<Vec<Slice>> {
    let mut steps: Vec<Vec<Slice>> = Vec::new();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small, positive number of steps")]
    for slice in slices {
        // A slice of just this length that begins a little early belongs to the step that it fills.
        let place = ((slice.from_s + 0.5 * slice.length_s) / step_s) as usize;
        if steps.len() <= place {
            steps.resize_with(place + 1, Vec::new);
        }
        steps[place].push(slice.clone());
    }
    if steps.len() > 1 && steps.last().is_some_and(|step| length_s(step) < step_s / 2.0) {
        steps.pop();
    }
    steps
}

pub(crate) fn iops(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    over_time(comparison, pair, axis("op/s", Unit::OpsPerSecond, Scale::Linear), IOPS.2)
}

pub(crate) fn throughput(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    over_time(comparison, pair, axis("bytes per second", Unit::BytesPerSecond, Scale::Linear), MEASURES[1].2)
}

pub(crate) fn response_p50(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    over_time(comparison, pair, axis("response time p50", Unit::Nanoseconds, Scale::Log), |part| {
        part.response.percentile(0.5).map(|ns| Bounds::exact(ns.low.max(1.0)))
    })
}

pub(crate) fn response_p99(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    over_time(comparison, pair, axis("response time p99", Unit::Nanoseconds, Scale::Log), |part| {
        part.response.percentile(0.99).map(|ns| Bounds::exact(ns.low.max(1.0)))
    })
}

pub(crate) fn queue_depth(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    over_time(comparison, pair, axis("operations in flight", Unit::Count, Scale::Linear), |part| {
        rate_of(part.in_flight_s?, part)
    })
}

pub(crate) fn percentiles(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    let all: Vec<_> = comparison.of(pair).map(|(at, side, load)| (at, side, load.response.at_least())).collect();
    let lines: Vec<_> = all
        .iter()
        .filter(|(_, _, response)| response.count() > 0)
        .map(|(at, side, response)| (side.label.clone(), LineStyle::category(*at), response))
        .collect();
    percentile_curve(&lines)
}

/// Response times of one side.
pub(crate) fn heat_map(comparison: &Comparison, pair: usize, side: usize) -> Option<Drawing> {
    let load = comparison.sides.get(side)?.loads.get(pair)?.as_ref()?;
    let columns = load.slices.iter().map(|slice| (slice.from_s, slice.from_s + slice.length_s, slice.response.clone()));
    let mut all = Histogram::default();
    comparison.of(pair).flat_map(|(_, _, load)| &load.slices).for_each(|slice| all.merge(&slice.response));
    heat_within(columns.collect(), Vec::new(), Some(&all))
}

pub(crate) fn cpu(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    let mut lines = Vec::new();
    let mut x: Vec<f64> = Vec::new();
    for (at, side, load) in comparison.of(pair) {
        let (from_ns, to_ns) = load.span_ns;
        #[expect(clippy::cast_possible_truncation, reason = "seconds of an interval")]
        let step_ns = (usual_s(&load.slices) * 1e9) as i64;
        let points = crate::cpu_share::of_span(&side.facts.cpu, (from_ns + step_ns, to_ns), step_ns);
        let busy: Vec<(f64, f64)> =
            points.iter().map(|point| ((point.t_ns - from_ns) as f64 / 1e9, point.busy())).collect();
        if busy.len() > x.len() {
            x = busy.iter().map(|point| point.0).collect();
        }
        lines.push((side.label.clone(), LineStyle::category(at), busy));
    }
    if x.is_empty() {
        return None;
    }
    let lines = lines.into_iter().map(|(name, style, busy)| {
        // The nearest sample, not further away than half a step.
        let near = |seconds: f64| {
            let found = busy.iter().min_by(|a, b| (a.0 - seconds).abs().total_cmp(&(b.0 - seconds).abs()))?;
            let step =
                x.last().zip(x.first()).map_or(1.0, |(last, first)| (last - first) / (x.len().max(2) - 1) as f64);
            ((found.0 - seconds).abs() <= 0.6 * step.max(0.01)).then_some(found.1)
        };
        line(&name, style, x.iter().map(|seconds| near(*seconds)).collect())
    });
    let lines = lines.collect();
    Some(Drawing {
        x: axis("elapsed time", Unit::Seconds, Scale::Time),
        y: axis("% of all CPUs", Unit::Percent, Scale::Linear),
        body: Body::Lines { x: x.into(), lines, right: None },
        marks: Vec::new(),
    })
}

/// The counters of one side that differ most from those of the first.
pub(crate) fn most_changed(comparison: &Comparison, _: usize, side: usize) -> Option<Drawing> {
    let (base, other) = (comparison.sides.first()?, comparison.sides.get(side).filter(|_| side > 0)?);
    let (changes, omitted) = other.samples.changes(&base.samples);
    if changes.is_empty() {
        return None;
    }
    let text = |name: &str, of: fn(&super::Change) -> String| Column::text(name, changes.iter().map(of).collect());
    let columns = vec![
        text("counter", |change| format!("{} {}", change.of, change.column)),
        Column::text(&base.label, changes.iter().map(|change| rate(change.unit, change.was)).collect()),
        Column::text(&other.label, changes.iter().map(|change| rate(change.unit, change.is)).collect()),
        Column::numbers("ratio", Unit::None, changes.iter().map(|change| change.ratio.map(|ratio| ratio.ratio))),
        text("95 % interval", |change| within(change.ratio)),
        text("meaning", |change| change.help.to_string()),
    ];
    Some(table(columns, omitted))
}

/// A rate of events has no unit of its own.
fn rate(unit: Unit, value: f64) -> String {
    let text = unit.format(Some(value));
    if unit == Unit::OpsPerSecond { text.replace("op/s", "/s") } else { text }
}
