//! Heat maps, matrices and tables.

use super::bodies::x_scale;
use super::canvas::{Canvas, Plot, Set, n, short, text_width};
use super::scale::Scale;
use analyze::{Cells, Table, Unit, Values, ViewData};

/// Most rows of a table in a picture.
const TABLE_ROWS: usize = 60;

fn colour((red, green, blue): (u8, u8, u8)) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

pub(crate) fn heat(canvas: &mut Canvas, view: &ViewData, x_edges: &Values, y_edges: &Values, counts: &Values) {
    let rows = y_edges.len().saturating_sub(1);
    let ends = |edges: &Values| (edges.first().copied().unwrap_or(1.0), edges.last().copied().unwrap_or(10.0));
    let ((left, right), (low, high)) = (ends(x_edges), ends(y_edges));
    let x = x_scale(&view.x, left.min(0.0), right, canvas.plot.w);
    let y = match view.y.scale {
        analyze::Scale::Log => Scale::logarithmic(low, high, view.y.unit, 6, false),
        _ => Scale::linear(low, high, view.y.unit, 6, false),
    };
    let most = counts.range().map_or(1.0, |(_, high)| high).max(1.0);
    let scale = |count: f64| if most > 1.0 { (count + 0.5).ln() / (most + 0.5).ln() } else { 1.0 };
    canvas.axes(&x, &Scale { minor: Vec::new(), ..y.clone() }, "elapsed");
    canvas.push(r#"<g shape-rendering="crispEdges">"#);
    for (column, edges) in x_edges.windows(2).enumerate() {
        let (from, to) = (canvas.px(&x, edges[0]), canvas.px(&x, edges[1]));
        for row in 0..rows {
            let Some(count) = counts.get_some(column * rows + row).filter(|count| *count > 0.0) else { continue };
            let (bottom, top) = (canvas.py(&y, y_edges[row]), canvas.py(&y, y_edges[row + 1]));
            let fill = colour(canvas.theme.heat(scale(count)));
            canvas.push(&format!(
                r#"<rect x="{}" y="{}" width="{}" height="{}" fill="{fill}"/>"#,
                n(from),
                n(top),
                n((to - from).max(0.6)),
                n(bottom - top + 0.1)
            ));
        }
    }
    canvas.push("</g>");
    canvas.marks(&view.marks, &x);
    colour_bar(canvas, most);
}

fn colour_bar(canvas: &mut Canvas, most: f64) {
    const STEPS: i32 = 48;
    let plot = canvas.plot;
    let x = plot.x + plot.w + 14.0;
    let height = plot.h / f64::from(STEPS);
    for step in 0..STEPS {
        let fill = colour(canvas.theme.heat(f64::from(step) / f64::from(STEPS - 1)));
        canvas.push(&format!(
            r#"<rect x="{}" y="{:.2}" width="10" height="{:.2}" fill="{fill}"/>"#,
            n(x),
            plot.y + plot.h - f64::from(step + 1) * height,
            height + 0.5
        ));
    }
    let top = (most + 0.5).ln();
    let (mut count, mut free) = (1.0_f64, f64::INFINITY);
    while count <= most {
        let part = if most > 1.0 { (count + 0.5).ln() / top } else { 1.0 };
        let at = plot.y + plot.h * (1.0 - part);
        if at <= free - 14.0 {
            canvas.text(x + 16.0, at + 3.8, canvas.soft(11.0), &super::scale::tick(Unit::Count, count, 1.0));
            free = at;
        }
        count *= 10.0;
    }
    canvas.text(x, plot.y - 5.0, canvas.soft(11.0), "op");
}

pub(crate) fn matrix(canvas: &mut Canvas, columns: &[String], rows: &[String], cells: &Values, unit: Unit) {
    let left = rows.iter().map(|name| text_width(&short(name, 20), 11.0)).fold(40.0, f64::max) + 30.0;
    let right = canvas.plot.x + canvas.plot.w + 76.0;
    let plot = Plot { x: left, y: canvas.plot.y + 10.0, w: right - left, h: canvas.plot.h };
    let (low, high) = cells.range().unwrap_or((0.0, 1.0));
    let (width, height) = (plot.w / columns.len().max(1) as f64, plot.h / rows.len().max(1) as f64);
    for (index, name) in columns.iter().enumerate() {
        let at = plot.x + (index as f64 + 0.5) * width;
        canvas.text(at, plot.y - 8.0, Set { anchor: "middle", ..canvas.soft(11.0) }, &short(name, 14));
    }
    for (row, name) in rows.iter().enumerate() {
        let y = plot.y + row as f64 * height;
        canvas.text(plot.x - 9.0, y + height / 2.0 + 4.0, Set { anchor: "end", ..canvas.soft(11.0) }, &short(name, 20));
        for column in 0..columns.len() {
            let value = cells.get_some(row * columns.len() + column);
            let part = value.map(|value| if high > low { 0.08 + 0.8 * (value - low) / (high - low) } else { 0.5 });
            let shade = part.map(|part| canvas.theme.heat(part));
            let fill = shade.map_or("none".to_string(), colour);
            let bright =
                shade.is_none_or(|(r, g, b)| 299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b) > 140_000);
            let ink = if value.is_none() {
                canvas.theme.soft()
            } else if bright {
                "#10151c"
            } else {
                "#ffffff"
            };
            let x = plot.x + column as f64 * width;
            let stroke = canvas.theme.grid();
            canvas.push(&format!(
                r#"<rect x="{}" y="{}" width="{}" height="{}" rx="3" fill="{fill}" stroke="{stroke}"/>"#,
                n(x + 1.0),
                n(y + 1.0),
                n((width - 2.0).max(1.0)),
                n((height - 2.0).max(1.0))
            ));
            if width > 34.0 {
                let text = value.map_or("–".to_string(), |value| super::scale::tick(unit, value, 1.0));
                let set = Set { anchor: "middle", size: 11.0, bold: false, fill: ink };
                canvas.text(x + width / 2.0, y + height / 2.0 + 4.0, set, &text);
            }
        }
    }
}

/// A table as a picture: as many rows as fit.
pub(crate) fn table(canvas: &mut Canvas, table: &Table) {
    const LINE: f64 = 19.0;
    let mut room = 0;
    while f64::from(room + 2) * LINE < canvas.plot.h + 24.0 {
        room += 1;
    }
    let rows = table.rows().min(TABLE_ROWS).min(usize::try_from(room).unwrap_or(0));
    let widths: Vec<f64> = table
        .columns
        .iter()
        .map(|column| {
            let heading = text_width(&heading(column), 11.5);
            (0..rows).map(|row| text_width(&column.cell(row), 12.0)).fold(heading, f64::max) + 14.0
        })
        .collect();
    let total: f64 = widths.iter().sum();
    let room = canvas.plot.x + canvas.plot.w + 76.0 - 20.0;
    let stretch = (room / total.max(1.0)).min(1.35);
    // Many columns are set smaller rather than over each other.
    let letters = stretch.min(1.0);
    let grouped = table.columns.iter().any(|column| !column.group.is_empty());
    let (mut x, top) = (20.0, canvas.plot.y + if grouped { 20.0 } else { 6.0 });
    let (ink, soft, grid) = (canvas.theme.ink(), canvas.theme.soft(), canvas.theme.grid());
    let mut group = "";
    for (column, width) in table.columns.iter().zip(&widths) {
        let width = width * stretch;
        let number = matches!(column.cells, Cells::Numbers(_));
        let (anchor, at) = if number { ("end", x + width - 4.0) } else { ("start", x) };
        if column.group != group {
            group = &column.group;
            let set = Set { anchor: "start", size: 11.0 * letters, bold: true, fill: soft };
            canvas.text(x + 14.0 * stretch, top - LINE + 3.0, set, &column.group);
        }
        canvas.text(at, top, Set { anchor, size: 11.0 * letters, bold: true, fill: soft }, &heading(column));
        for row in 0..rows {
            let y = top + (row as f64 + 1.0) * LINE;
            canvas.text(at, y, Set { anchor, size: 12.0 * letters, bold: false, fill: ink }, &column.cell(row));
        }
        x += width;
    }
    for row in 0..=rows {
        let y = top + row as f64 * LINE + 5.5;
        canvas.rule((20.0, y), (x, y), grid, "");
    }
    if rows < table.rows() + table.omitted {
        let y = top + (rows as f64 + 1.0) * LINE;
        let text =
            format!("and {} further rows; `iodyno export` writes all of them", table.rows() + table.omitted - rows);
        canvas.text(20.0, y, canvas.soft(11.0), &text);
    }
}

fn heading(column: &analyze::Column) -> String {
    format!("{} {}", column.name, column.unit.heading()).trim_end().to_string()
}
