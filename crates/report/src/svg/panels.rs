//! Small charts side by side, all with the same axes.

use super::bodies::{count, error_bar, point_range, y_scale};
use super::canvas::{Canvas, Plot, Set, n};
use super::scale::{Scale, Tick};
use super::text::{short, text_width};
use super::theme::Theme;
use view::{Panel, Point, ViewData};

/// Least width of a small chart with its margins.
const WIDTH: f64 = 220.0;
/// Height of a row of small charts.
const ROW: f64 = 178.0;
const LEFT: f64 = 58.0;
/// Beside a label of the vertical axis, on both of its sides.
const LABEL_GAPS: f64 = 16.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 30.0;

/// Charts beside each other in a picture of this width.
fn columns(width: f64, panels: usize) -> usize {
    let most = (1..12_u32).rfind(|columns| f64::from(*columns) * WIDTH <= width).unwrap_or(1);
    // Four are two and two rather than three and one.
    let most = usize::try_from(most).unwrap_or(1).min(panels.max(1));
    let rows = panels.max(1).div_ceil(most);
    panels.max(1).div_ceil(rows)
}

/// The height that so many charts need below the heading.
pub(crate) fn needed(width: f64, panels: usize) -> f64 {
    if panels < 2 { 0.0 } else { panels.div_ceil(columns(width, panels)) as f64 * ROW + 30.0 }
}

fn x_scale(view: &ViewData, ticks: &[String], all: &[&Point], width: f64) -> Scale {
    if ticks.is_empty() {
        let (_, right) = point_range(all.iter().map(|point| point.x), false);
        return Scale::linear(0.0, right * 1.04, view.x.unit, count(width, 70.0), false);
    }
    let widest = ticks.iter().map(|tick| text_width(tick, 11.0)).fold(0.0, f64::max) + 8.0;
    let every = (1..=ticks.len()).find(|every| width / ticks.len() as f64 * *every as f64 >= widest).unwrap_or(1);
    Scale {
        low: -0.4,
        high: ticks.len() as f64 - 0.6,
        log: false,
        ticks: (0..ticks.len())
            .step_by(every)
            .map(|index| Tick { at: index as f64, label: ticks[index].clone() })
            .collect(),
        minor: Vec::new(),
    }
}

pub(crate) fn panels(canvas: &mut Canvas, view: &ViewData, ticks: &[String], panels: &[Panel], omitted: usize) {
    let whole = canvas.plot;
    let all: Vec<&Point> = panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points).collect();
    let ends = all.iter().flat_map(|point| [point.y, point.within.map_or(point.y, |within| within.1)]);
    let log = view.y.scale == view::Scale::Log;
    let (low, high) = point_range(ends, log);
    let suffix = if ticks.is_empty() { "op/s" } else { view.x.label.as_str() };
    if let [only] = panels {
        let x = x_scale(view, ticks, &all, whole.w);
        let y = y_scale(&view.y, low, high, whole.h);
        canvas.axes(&x, &y, suffix);
        draw(canvas, only, (&x, &y), (true, !ticks.is_empty()));
        return;
    }
    legend(canvas, view, panels);
    let columns = columns(whole.w + 96.0, panels.len());
    let rows = panels.len().div_ceil(columns).max(1);
    let (width, height) = ((whole.w + 120.0) / columns as f64, (whole.h + 6.0 - TOP) / rows as f64);
    let plot_height = (height - TOP - BOTTOM).max(30.0);
    let y = y_scale(&view.y, low, high, plot_height);
    // `300 MB/s` is wider than `40 k`, and nothing may be cut off at the picture's edge.
    let left = y.ticks.iter().map(|tick| text_width(&tick.label, 11.0) + LABEL_GAPS).fold(LEFT, f64::max);
    let inner = Plot { x: 0.0, y: 0.0, w: (width - left).max(40.0), h: plot_height };
    let x = x_scale(view, ticks, &all, inner.w);
    for (index, panel) in panels.iter().enumerate() {
        let (column, row) = (index % columns, index / columns);
        canvas.plot =
            Plot { x: left + 6.0 + column as f64 * width, y: whole.y + TOP + 4.0 + row as f64 * height, ..inner };
        let set = Set { anchor: "start", size: 11.5, bold: true, fill: canvas.theme.ink() };
        canvas.text(canvas.plot.x, canvas.plot.y - 7.0, set, &short(&panel.title, 34));
        canvas.axes(&x, &y, "");
        draw(canvas, panel, (&x, &y), (false, !ticks.is_empty()));
    }
    canvas.plot = whole;
    if omitted > 0 {
        let text = format!("and {omitted} further charts; the table of runs has all of them");
        canvas.text(20.0, whole.y + whole.h + 28.0, canvas.soft(11.0), &text);
    }
}

/// What colours mean, once for all charts; and what the horizontal axis is.
fn legend(canvas: &mut Canvas, view: &ViewData, panels: &[Panel]) {
    let (plot, theme): (Plot, Theme) = (canvas.plot, canvas.theme);
    let mut x = LEFT + 6.0;
    let mut seen: Vec<&str> = Vec::new();
    for line in panels.iter().flat_map(|panel| &panel.lines) {
        if seen.contains(&line.name.as_str()) {
            continue;
        }
        seen.push(&line.name);
        let stroke = theme.line(line.style);
        canvas.rule((x, plot.y - 1.0), (x + 16.0, plot.y - 1.0), stroke, r#" stroke-width="2.4""#);
        canvas.text(x + 21.0, plot.y + 3.0, Set { anchor: "start", size: 11.0, bold: true, fill: stroke }, &line.name);
        x += 21.0 + text_width(&line.name, 11.0) + 22.0;
    }
    let text = format!("across: {}", view.x.label);
    canvas.text(x, plot.y + 3.0, canvas.soft(11.0), &text);
}

fn draw(canvas: &mut Canvas, panel: &Panel, (x, y): (&Scale, &Scale), (single, is_stepped): (bool, bool)) {
    let mut over = None;
    if let Some(knee) = &panel.knee {
        let (at, plot, ink) = (canvas.px(x, knee.x), canvas.plot, canvas.theme.soft());
        canvas.rule((at, plot.y), (at, plot.y + plot.h), ink, r#" stroke-dasharray="2 3""#);
        let right = at > plot.x + plot.w * 0.6;
        let (anchor, by) = if right { ("end", -5.0) } else { ("start", 5.0) };
        let size = if single { 11.0 } else { 9.5 };
        over = Some((at + by, plot.y + 9.0, Set { anchor, size, bold: single, fill: ink }, &knee.label));
    }
    let mut ends = Vec::new();
    for line in &panel.lines {
        let (stroke, card) = (canvas.theme.line(line.style), canvas.theme.card());
        let places: Vec<(f64, f64)> =
            line.points.iter().map(|point| (canvas.px(x, point.x), canvas.py(y, point.y))).collect();
        let path: String = places
            .iter()
            .enumerate()
            .map(|(index, at)| {
                // A value without a point is a gap.
                let is_next = index > 0 && !(is_stepped && line.points[index].x - line.points[index - 1].x > 1.5);
                format!("{}{} {}", if is_next { "L" } else { "M" }, n(at.0), n(at.1))
            })
            .collect();
        canvas.push(&format!(
            r#"<path d="{path}" fill="none" stroke="{stroke}" stroke-width="1.6" stroke-linejoin="round"/>"#
        ));
        for (point, at) in line.points.iter().zip(&places) {
            error_bar(canvas, y, point, at.0, stroke);
            let radius = if single { 3.0 } else { 2.2 };
            canvas.push(&format!(
                r#"<circle cx="{}" cy="{}" r="{radius}" fill="{card}" stroke="{stroke}" stroke-width="1.6"/>"#,
                n(at.0),
                n(at.1)
            ));
        }
        ends.extend(places.last().map(|end| (end.1, line.name.clone(), line.style)));
    }
    if let Some((x, y, set, label)) = over {
        canvas.text_over(x, y, set, label);
    }
    if single {
        canvas.labels(ends);
    }
}
