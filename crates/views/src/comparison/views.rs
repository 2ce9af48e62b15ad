//! The views of a comparison.

use super::words::{interval, percent, short, tone, verdict};
use super::{Comparison, JudgedFigure, JudgingMethod, Load, Side};
use crate::series::{heat_within, percentile_curve};
use quantity::histogram::Histogram;
use rates::FigureBounds;
use rates::LoadPart;
use rates::LoadSlice;
use rates::measure::{LoadMeasure, MEASURES, measure_of};
use view::Drawing;
use view::{Axis, Body, LineStyle, Point, PointLine, Scale, TableColumn, ViewTable};
use view::{Unit, Values};
use view::{axis, line};

fn low(figure: Option<FigureBounds>) -> Option<f64> {
    figure.map(|figure| figure.low)
}

/// With its unit, `≥ 1.2 s` for a lower bound.
fn shown(unit: Unit, figure: Option<FigureBounds>) -> String {
    let text = unit.format(low(figure));
    if figure.is_some_and(|figure| !figure.is_exact()) { format!("≥ {text}") } else { text }
}

fn table(columns: Vec<TableColumn>, omitted: usize) -> Drawing {
    let none = || axis("", Unit::None, Scale::Category);
    Drawing { x: none(), y: none(), body: Body::Table(ViewTable { columns, omitted }), marks: Vec::new() }
}

/// The measures that one of these loads has.
fn present(loads: &[(usize, &Side, &Load)]) -> Vec<&'static LoadMeasure> {
    let wholes: Vec<LoadPart> = loads.iter().map(|(_, _, load)| load.whole()).collect();
    MEASURES.iter().filter(|measure| wholes.iter().any(|part| (measure.value)(part).is_some())).collect()
}

pub(crate) fn figures(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    let loads: Vec<(usize, &Side, &Load)> = comparison.of(pair).collect();
    if loads.len() < 2 || loads[0].0 != 0 {
        return None;
    }
    let present = present(&loads);
    let primary = comparison.primary(pair);
    // The one that decides is marked: a verdict on each of so many would be wrong on one of them too often.
    let name = |measure: &&LoadMeasure| {
        if measure.key == primary.key { format!("{} *", measure.title) } else { measure.title.to_string() }
    };
    let mut names: Vec<String> = present.iter().map(name).collect();
    names.extend(["errors".to_string(), "measured time".to_string()]);
    // Of the whole recording: the reading at the end, which no pair has, finds most.
    let proved: Vec<[String; 2]> = loads.iter().map(|(_, side, _)| side.facts.data.proved_words()).collect();
    let has_data = loads.iter().any(|(_, side, _)| !side.facts.data.checks.is_empty());
    if has_data {
        names.extend(["damaged blocks, all runs".to_string(), "data read at the end".to_string()]);
    }
    let mut columns = vec![TableColumn::text("figure", names)];
    let seconds = |load: &Load| load.slices.iter().map(|slice| slice.length_s).sum::<f64>();
    for ((_, side, load), proved) in loads.iter().zip(proved) {
        let part = load.whole();
        let mut cells: Vec<String> =
            present.iter().map(|measure| shown(measure.unit, (measure.value)(&part))).collect();
        cells.extend([Unit::Operations.format(load.errors), Unit::Seconds.format(Some(seconds(load)))]);
        cells.extend(proved.into_iter().filter(|_| has_data));
        columns.push(TableColumn::text(&side.label, cells));
    }
    let several = loads.len() > 2;
    let measured = seconds(loads[0].2);
    for (at, side, load) in &loads[1..] {
        let mut judged: Vec<Option<&JudgedFigure>> =
            present.iter().map(|measure| comparison.judged(*at, pair, measure)).collect();
        let time = JudgedFigure::plain(seconds(load) / measured);
        judged.extend([None, (measured > 0.0).then_some(&time)]);
        judged.extend(std::iter::repeat_n(None, if has_data { 2 } else { 0 }));
        let under = if several { side.label.as_str() } else { "" };
        columns.extend([
            TableColumn::numbers("ratio", Unit::None, judged.iter().map(|judged| judged.map(|judged| judged.ratio)))
                .under(under),
            TableColumn::text("95 % interval", judged.iter().map(|judged| interval(*judged)).collect()).under(under),
            TableColumn::text("verdict", judged.iter().map(|judged| verdict(*judged)).collect())
                .under(under)
                .toned(judged.iter().map(|judged| tone(*judged)).collect()),
        ]);
    }
    Some(table(columns, 0))
}

/// What the verdicts of a pair rest on.
pub(crate) fn basis(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    let loads: Vec<(usize, &Side, &Load)> = comparison.of(pair).collect();
    let base = loads.first().filter(|(at, _, _)| *at == 0)?.2;
    let several = loads.len() > 2;
    let mut rows: Vec<(String, &JudgedFigure, f64)> = Vec::new();
    for (at, side, load) in &loads[1..] {
        let missing = |load: &Load| load.rounds.iter().map(|round| round.missing_s).sum::<f64>();
        for measure in &MEASURES {
            let Some(judged) =
                comparison.judged(*at, pair, measure).filter(|judged| judged.method != JudgingMethod::None)
            else {
                continue;
            };
            let name = if several { format!("{} of {}", measure.title, side.label) } else { measure.title.to_string() };
            rows.push((name, judged, missing(base).max(missing(load))));
        }
    }
    let text = |name: &str, of: fn(&JudgedFigure) -> String| {
        TableColumn::text(name, rows.iter().map(|(_, judged, _)| of(judged)).collect())
    };
    let columns = vec![
        TableColumn::text("figure", rows.iter().map(|row| row.0.clone()).collect()),
        text("judged by", |judged| match judged.method {
            JudgingMethod::None => String::new(),
            JudgingMethod::Single => "seconds of single runs".to_string(),
            JudgingMethod::Rounds(count) => format!("{count} rounds of each side"),
            JudgingMethod::Paired => "seconds of both together".to_string(),
        }),
        TableColumn::numbers("independent stretches", Unit::None, rows.iter().map(|row| row.1.independent)),
        TableColumn::numbers("time missing", Unit::Seconds, rows.iter().map(|row| Some(row.2))),
        text("seconds of the tail", |judged| judged.tail_s.map_or(String::new(), |tail| format!("{tail:.0}"))),
        text("smallest change", |judged| {
            judged.resolvable().map_or(String::new(), |part| format!("± {}", percent(part)))
        }),
        text("why not", |judged| match &judged.conclusion {
            super::Conclusion::NotResolved { why, .. } if why.is_empty() => "the interval is too wide".to_string(),
            super::Conclusion::NotResolved { why, .. } | super::Conclusion::NotJudged { why } => why.clone(),
            _ => String::new(),
        }),
    ];
    (!rows.is_empty()).then(|| table(columns, 0))
}

/// The measures of the table of runs.
const OF_RUNS: [&str; 3] = ["iops", "response_ns_p50", "response_ns_p99"];

pub(crate) fn runs(comparison: &Comparison, _: usize) -> Option<Drawing> {
    if comparison.pairs.len() < 2 {
        return None;
    }
    let mut columns = vec![TableColumn::text("run", comparison.pairs.clone())];
    for (at, side) in comparison.sides.iter().enumerate().skip(1) {
        let judged: Vec<(Option<&JudgedFigure>, &LoadMeasure)> = (0..comparison.pairs.len())
            .map(|pair| (comparison.primary(pair), pair))
            .map(|(measure, pair)| (comparison.judged(at, pair, measure), measure))
            .collect();
        let words = |(judged, measure): &(Option<&JudgedFigure>, &LoadMeasure)| match judged {
            Some(judged) => format!("{}: {}", verdict(Some(judged)), measure.title),
            None => "?".to_string(),
        };
        let group = if comparison.sides.len() > 2 { format!("verdict on {}", side.label) } else { String::new() };
        columns.push(
            TableColumn::text("verdict", judged.iter().map(words).collect())
                .under(&group)
                .toned(judged.iter().map(|(judged, _)| tone(*judged)).collect()),
        );
    }
    let loads = || comparison.sides.iter().flat_map(|side| side.loads.iter().flatten());
    let has_response = loads().any(|load| load.response.ended.count() > 0);
    for measure in OF_RUNS.into_iter().filter_map(measure_of) {
        let measure = if has_response { measure } else { measure.by_service() };
        let value = |load: &Load| (measure.value)(&load.whole());
        for side in &comparison.sides {
            let cells: Vec<Option<FigureBounds>> = side.loads.iter().map(|load| value(load.as_ref()?)).collect();
            let is_known = cells.iter().flatten().all(|figure| figure.is_exact());
            let column = match is_known {
                true => TableColumn::numbers(&side.label, measure.unit, cells.into_iter().map(low)),
                false => {
                    TableColumn::text(&side.label, cells.into_iter().map(|cell| shown(measure.unit, cell)).collect())
                }
            };
            columns.push(column.under(measure.title));
        }
        for (at, side) in comparison.sides.iter().enumerate().skip(1) {
            let judged: Vec<Option<&JudgedFigure>> =
                (0..comparison.pairs.len()).map(|pair| comparison.judged(at, pair, measure)).collect();
            let name = if comparison.sides.len() > 2 {
                format!("difference of {}", side.label)
            } else {
                "difference".to_string()
            };
            columns.push(
                TableColumn::text(&name, judged.iter().map(|judged| short(*judged)).collect())
                    .under(measure.title)
                    .toned(judged.iter().map(|judged| tone(*judged)).collect()),
            );
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
            let part = load.whole();
            let time = part.response.mean().or_else(|| part.service.mean());
            let Some((x, y)) = low(part.per_second(part.ops)).zip(low(time)) else { continue };
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
fn over_time(
    comparison: &Comparison,
    pair: usize,
    y: Axis,
    of: fn(&LoadPart) -> Option<FigureBounds>,
) -> Option<Drawing> {
    let step_s = comparison.of(pair).map(|(_, _, load)| usual_s(&load.slices)).fold(0.0, f64::max);
    if step_s <= 0.0 {
        return None;
    }
    let steps: Vec<Vec<Vec<LoadSlice>>> =
        comparison.of(pair).map(|(_, _, load)| stepped(&load.slices, step_s)).collect();
    let longest = steps.iter().map(Vec::len).max()?;
    let x: Vec<f64> = (0..longest).map(|at| (at as f64 + 0.5) * step_s).collect();
    let lines = comparison.of(pair).zip(&steps).map(|((at, side, _), steps)| {
        // What fills less than half of its step, as where a recording begins, makes rates that mean little.
        let value =
            |step: usize| low(of(&LoadPart::of(steps.get(step).filter(|slices| length_s(slices) >= step_s / 2.0)?)));
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
fn usual_s(slices: &[LoadSlice]) -> f64 {
    let mut lengths: Vec<f64> = slices.iter().map(|slice| slice.length_s).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.get(lengths.len() / 2).copied().unwrap_or(0.0)
}

/// How much time slices have together.
fn length_s(slices: &[LoadSlice]) -> f64 {
    slices.iter().map(|slice| slice.length_s).sum()
}

/// Slices by the step in which they begin, the last one of less than half a step left out: its rates mean little.
fn stepped(slices: &[LoadSlice], step_s: f64) -> Vec<Vec<LoadSlice>> {
    let mut steps: Vec<Vec<LoadSlice>> = Vec::new();
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
    over_time(comparison, pair, axis("op/s", Unit::OpsPerSecond, Scale::Linear), |part| part.per_second(part.ops))
}

pub(crate) fn throughput(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    over_time(comparison, pair, axis("bytes per second", Unit::BytesPerSecond, Scale::Linear), |part| {
        part.per_second(part.bytes)
    })
}

pub(crate) fn response_p50(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    over_time(comparison, pair, axis("response time p50", Unit::Nanoseconds, Scale::Log), |part| {
        part.response.percentile(0.5).map(|ns| FigureBounds::exact(ns.low.max(1.0)))
    })
}

pub(crate) fn response_p99(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    over_time(comparison, pair, axis("response time p99", Unit::Nanoseconds, Scale::Log), |part| {
        part.response.percentile(0.99).map(|ns| FigureBounds::exact(ns.low.max(1.0)))
    })
}

pub(crate) fn queue_depth(comparison: &Comparison, pair: usize) -> Option<Drawing> {
    over_time(comparison, pair, axis("operations in flight", Unit::Count, Scale::Linear), |part| {
        part.per_second(part.in_flight_s?)
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
        let points = rates::cpu_share::of_span(&side.facts.cpu, (from_ns + step_ns, to_ns), step_ns);
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
    let found = other.samples.changes(&base.samples);
    let changes = &found.changes;
    if changes.is_empty() {
        return None;
    }
    let text =
        |name: &str, of: fn(&super::CounterChange) -> String| TableColumn::text(name, changes.iter().map(of).collect());
    let columns = vec![
        text("counter", |change| format!("{} {}", change.of, change.column)),
        TableColumn::text(&base.label, changes.iter().map(|change| rate(change.unit, change.was)).collect()),
        TableColumn::text(&other.label, changes.iter().map(|change| rate(change.unit, change.is)).collect()),
        TableColumn::numbers("ratio", Unit::None, changes.iter().map(|change| Some(change.judged.as_ref()?.ratio))),
        text("interval", |change| interval(change.judged.as_ref())),
        text("meaning", |change| change.help.to_string()),
    ];
    Some(table(columns, found.more))
}

/// A rate of events has no unit of its own.
fn rate(unit: Unit, value: f64) -> String {
    let text = unit.format(Some(value));
    if unit == Unit::OpsPerSecond { text.replace("op/s", "/s") } else { text }
}
