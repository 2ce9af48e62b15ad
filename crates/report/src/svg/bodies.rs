//! Lines, histograms and points.

use super::canvas::{Canvas, Set, n};
use super::scale::Scale;
use std::fmt::Write as _;
use view::{Axis, Knee, Line, LineStyle, Point, PointLine, Scale as Kind, Unit, Values, ViewData};

pub(crate) fn count(length: f64, every: f64) -> usize {
    (1..40)
        .rfind(|ticks| f64::from(*ticks) * every <= length)
        .and_then(|ticks| usize::try_from(ticks).ok())
        .unwrap_or(1)
        .max(2)
}

pub(crate) fn x_scale(axis: &Axis, low: f64, high: f64, width: f64) -> Scale {
    match (axis.unit, axis.scale) {
        (Unit::Nines, _) => Scale::nines(high),
        (unit, Kind::Log) => Scale::logarithmic(low, high, unit, count(width, 90.0), false),
        (unit, _) => Scale::linear(low, high, unit, count(width, 90.0), false),
    }
}

/// The horizontal axis of a view over time, and what stands at its end.
pub(crate) fn time_scale(view: &ViewData, (first, last): (f64, f64), width: f64) -> (Scale, String) {
    let (low, high) = view.shown.unwrap_or((first.min(0.0), last));
    match view.clock {
        Some(clock) => (Scale::time_of_day(clock, low, high, count(width, 90.0)), clock.zone()),
        None => (x_scale(&view.x, low, high, width), "elapsed".to_string()),
    }
}

pub(crate) fn y_scale(axis: &Axis, low: f64, high: f64, height: f64) -> Scale {
    match axis.scale {
        Kind::Log => Scale::logarithmic(low, high, axis.unit, count(height, 34.0), true),
        _ => Scale::linear(low.min(0.0), high, axis.unit, count(height, 34.0), true),
    }
}

/// Smallest and greatest of all values; only positive ones for a logarithmic axis.
fn range<'a>(values: impl Iterator<Item = &'a f64>, log: bool) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite() && (!log || **value > 0.0))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    if low <= high {
        (low, high)
    } else if log {
        (1.0, 10.0)
    } else {
        (0.0, 1.0)
    }
}

/// The same of owned values.
pub(crate) fn point_range(values: impl Iterator<Item = f64>, log: bool) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    range(values.iter(), log)
}

/// The confidence interval of a point.
pub(crate) fn error_bar(canvas: &mut Canvas, y: &Scale, point: &Point, at: f64, stroke: &str) {
    let Some((low, high)) = point.within else { return };
    let (bottom, top) = (canvas.py(y, low), canvas.py(y, high));
    canvas.rule((at, bottom), (at, top), stroke, r#" stroke-width="1.2""#);
    for end in [bottom, top] {
        canvas.rule((at - 3.5, end), (at + 3.5, end), stroke, r#" stroke-width="1.2""#);
    }
}

pub(crate) fn lines(
    canvas: &mut Canvas,
    view: &ViewData,
    xs: &Values,
    (lines, right): (&[Line], Option<&view::RightAxis>),
) {
    let time = view.x.scale == Kind::Time;
    let (first, last) = (xs.first().copied().unwrap_or(0.0), xs.last().copied().unwrap_or(1.0));
    let right = right.map(|right| (right_scale(right, canvas.plot.h), right.lines.as_slice()));
    if let Some((y, _)) = &right {
        canvas.make_room(y);
    }
    let (x, x_label) = if time {
        time_scale(view, (first, last), canvas.plot.w)
    } else {
        (x_scale(&view.x, first, last, canvas.plot.w), String::new())
    };
    let (low, high) = range(lines.iter().flat_map(|line| line.values.iter()), view.y.scale == Kind::Log);
    let y = y_scale(&view.y, low, high, canvas.plot.h);
    canvas.marks(&view.marks, &x);
    canvas.axes(&x, &y, &x_label);
    let mut ends = Vec::new();
    if let Some((y, lines)) = &right {
        canvas.right_axis(y);
        lines
            .iter()
            .for_each(|line| ends.extend(draw_line(canvas, (&x, xs), y, line, r#" stroke-dasharray="1.5 3.5""#)));
    }
    for line in lines {
        let dash = if line.style == LineStyle::Asked { r#" stroke-dasharray="5 4""# } else { "" };
        ends.extend(draw_line(canvas, (&x, xs), &y, line, dash));
    }
    canvas.labels(ends);
}

/// Of shares, all there can be; of others, as on the left.
fn right_scale(right: &view::RightAxis, height: f64) -> Scale {
    let (low, high) = range(right.lines.iter().flat_map(|line| line.values.iter()), right.y.scale == Kind::Log);
    let high = if right.y.unit == Unit::Percent && high > 10.0 { high.max(100.0) } else { high };
    y_scale(&right.y, low, high, height)
}

/// Draws a line; gives where its name belongs.
fn draw_line(
    canvas: &mut Canvas,
    x: (&Scale, &Values),
    y: &Scale,
    line: &Line,
    dash: &str,
) -> Option<(f64, String, LineStyle)> {
    let path = path(canvas, x, (y, &line.values));
    let stroke = canvas.theme.line(line.style);
    canvas.push(&format!(
        r#"<path d="{path}" fill="none" stroke="{stroke}" stroke-width="1.6" stroke-linejoin="round" stroke-linecap="round"{dash}/>"#
    ));
    let value = line.values.iter().rfind(|value| !value.is_nan())?;
    Some((canvas.py(y, *value), line.name.clone(), line.style))
}

/// A path broken at gaps, with at most a smallest and a greatest value per pixel column.
fn path(canvas: &Canvas, (x, xs): (&Scale, &Values), (y, values): (&Scale, &Values)) -> String {
    let mut text = String::new();
    let dense = xs.len() > 1500;
    let mut pen = false;
    let put = |text: &mut String, pen: &mut bool, at: f64, value: f64| {
        let _ = write!(text, "{}{} {}", if *pen { "L" } else { "M" }, n(at), n(canvas.py(y, value)));
        *pen = true;
    };
    // The pixel column under way: its place, its smallest and greatest value, and which came first.
    let mut column: Option<(f64, f64, f64, bool)> = None;
    for (at, value) in xs.iter().zip(values.iter()) {
        let place = canvas.px(x, *at);
        let here = if dense { place.round() } else { place };
        if let Some((place, low, high, rising)) = column
            && (value.is_nan() || !dense || here != place)
        {
            put(&mut text, &mut pen, place, if rising { low } else { high });
            if low != high {
                put(&mut text, &mut pen, place, if rising { high } else { low });
            }
            column = None;
        }
        if value.is_nan() {
            dot(&mut text);
            pen = false;
            continue;
        }
        column = Some(match column {
            Some((place, low, high, rising)) => {
                let rising = if *value > high {
                    true
                } else if *value < low {
                    false
                } else {
                    rising
                };
                (place, low.min(*value), high.max(*value), rising)
            }
            None => (here, *value, *value, true),
        });
    }
    if let Some((place, low, high, rising)) = column {
        put(&mut text, &mut pen, place, if rising { low } else { high });
        if low != high {
            put(&mut text, &mut pen, place, if rising { high } else { low });
        }
    }
    dot(&mut text);
    text
}

/// A point between two gaps has no line: it becomes a ring, which the stroke fills.
fn dot(path: &mut String) {
    let begun = path.rfind('M').unwrap_or(path.len());
    if path.len() > begun && !path[begun..].contains(['L', 'a']) {
        path.push_str("m-1.2 0a1.2 1.2 0 1 0 2.4 0a1.2 1.2 0 1 0 -2.4 0");
    }
}

pub(crate) fn histogram(canvas: &mut Canvas, view: &ViewData, edges: &Values, lines: &[Line]) {
    let (first, last) = (edges.first().copied().unwrap_or(1.0), edges.last().copied().unwrap_or(10.0));
    let x = x_scale(&view.x, first, last, canvas.plot.w);
    let (_, high) = range(lines.iter().flat_map(|line| line.values.iter()), false);
    let y = y_scale(&view.y, if view.y.scale == Kind::Log { 1.0 } else { 0.0 }, high, canvas.plot.h);
    canvas.axes(&x, &y, "");
    let floor = canvas.plot.y + canvas.plot.h;
    let mut ends = Vec::new();
    for line in lines {
        let mut outline = format!("M{} {}", n(canvas.px(&x, first)), n(floor));
        for (value, edge) in line.values.iter().zip(edges.iter().skip(1)) {
            let top = if *value > 0.0 { canvas.py(&y, *value) } else { floor };
            let _ = write!(outline, "V{}H{}", n(top), n(canvas.px(&x, *edge)));
        }
        let _ = write!(outline, "V{}", n(floor));
        let colour = canvas.theme.line(line.style);
        canvas.push(&format!(
            r#"<path d="{outline}Z" fill="{colour}" fill-opacity="0.14" stroke="{colour}" stroke-width="1.4" stroke-linejoin="round"/>"#
        ));
        if let Some(value) = line.values.iter().rfind(|value| **value > 0.0) {
            ends.push((canvas.py(&y, *value), line.name.clone(), line.style));
        }
    }
    canvas.labels(ends);
}

pub(crate) fn points(canvas: &mut Canvas, view: &ViewData, lines: &[PointLine], knee: Option<&Knee>) {
    let all = || lines.iter().flat_map(|line| &line.points);
    let xs: Vec<f64> = all().map(|point| point.x).collect();
    let ys: Vec<f64> = all().flat_map(|point| [point.y, point.within.map_or(point.y, |within| within.1)]).collect();
    let (left, right) = range(xs.iter(), false);
    let x = match view.x.scale {
        Kind::Linear => Scale::linear(0.0, right * 1.04, view.x.unit, count(canvas.plot.w, 90.0), false),
        _ => x_scale(&view.x, left, right, canvas.plot.w),
    };
    let (low, high) = range(ys.iter(), true);
    let y = y_scale(&view.y, low, high, canvas.plot.h);
    canvas.axes(&x, &y, "op/s");
    let mut over = None;
    if let Some(knee) = knee {
        let (at, plot) = (canvas.px(&x, knee.x), canvas.plot);
        let ink = canvas.theme.ink();
        canvas.rule((at, plot.y), (at, plot.y + plot.h), ink, r#" stroke-dasharray="2 3""#);
        let right = at > plot.x + plot.w * 0.6;
        let (anchor, by) = if right { ("end", -7.0) } else { ("start", 7.0) };
        over = Some((at + by, plot.y + 12.0, Set { anchor, size: 11.0, bold: true, fill: ink }, &knee.label));
    }
    let mut ends = Vec::new();
    for line in lines {
        let (stroke, card) = (canvas.theme.line(line.style), canvas.theme.card());
        let places: Vec<(f64, f64)> =
            line.points.iter().map(|point| (canvas.px(&x, point.x), canvas.py(&y, point.y))).collect();
        let path: String = places
            .iter()
            .enumerate()
            .map(|(index, at)| format!("{}{} {}", if index > 0 { "L" } else { "M" }, n(at.0), n(at.1)))
            .collect();
        canvas.push(&format!(
            r#"<path d="{path}" fill="none" stroke="{stroke}" stroke-width="1.6" stroke-linejoin="round"/>"#
        ));
        for (point, at) in line.points.iter().zip(&places) {
            error_bar(canvas, &y, point, at.0, stroke);
            canvas.push(&format!(
                r#"<circle cx="{}" cy="{}" r="3" fill="{card}" stroke="{stroke}" stroke-width="1.8"/>"#,
                n(at.0),
                n(at.1)
            ));
        }
        if let Some(end) = places.iter().max_by(|a, b| a.0.total_cmp(&b.0)) {
            ends.push((end.1, line.name.clone(), line.style));
        }
    }
    if let Some((x, y, set, label)) = over {
        canvas.text_over(x, y, set, label);
    }
    canvas.labels(ends);
}
