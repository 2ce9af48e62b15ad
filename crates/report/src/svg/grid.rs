//! Heat maps, matrices and tables.

use super::bodies::time_scale;
use super::canvas::{Canvas, Plot, Set, n};
use super::scale::Scale;
use super::text::{short, text_width, wrap};
use view::{Cells, TableColumn, Unit, Values, ViewData, ViewTable};

/// Most rows of a table in a picture.
const TABLE_ROWS: usize = 60;

fn colour((red, green, blue): (u8, u8, u8)) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

pub(crate) fn heat(canvas: &mut Canvas, view: &ViewData, x_edges: &Values, y_edges: &Values, counts: &Values) {
    let rows = y_edges.len().saturating_sub(1);
    let ends = |edges: &Values| (edges.first().copied().unwrap_or(1.0), edges.last().copied().unwrap_or(10.0));
    let ((left, right), (low, high)) = (ends(x_edges), ends(y_edges));
    let (x, x_label) = time_scale(view, (left, right), canvas.plot.w);
    let y = match view.y.scale {
        view::Scale::Log => Scale::logarithmic(low, high, view.y.unit, 6, false),
        _ => Scale::linear(low, high, view.y.unit, 6, false),
    };
    let most = counts.range().map_or(1.0, |(_, high)| high).max(1.0);
    let scale = |count: f64| if most > 1.0 { (count + 0.5).ln() / (most + 0.5).ln() } else { 1.0 };
    canvas.axes(&x, &Scale { minor: Vec::new(), ..y.clone() }, &x_label);
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

/// Height of a row of one line.
const ROW: f64 = 19.0;
/// Height of each further line of a row.
const LINE: f64 = 15.0;
/// Cells are set smaller only where even their longest words do not fit.
const CELL: f64 = 12.0;
/// Least width of a column whose text is broken into lines.
const NARROW: f64 = 48.0;
/// Between two columns.
const BETWEEN: f64 = 14.0;

/// How a table is laid out in a picture of some width.
struct Layout {
    widths: Vec<f64>,
    /// Factor of the size of letters.
    letters: f64,
    headings: Vec<Vec<String>>,
    /// Row by row, column by column, line by line.
    rows: Vec<Vec<Vec<String>>>,
}

impl Layout {
    fn of(table: &ViewTable, room: f64) -> Self {
        let rows = table.rows().min(TABLE_ROWS);
        let widest = |column: &TableColumn, of: &dyn Fn(&str, f64) -> f64| {
            let cells = (0..rows).map(|row| of(&column.cell(row), CELL));
            cells.fold(of(&heading(column), 11.5), f64::max) + BETWEEN
        };
        let natural: Vec<f64> = table.columns.iter().map(|column| widest(column, &text_width)).collect();
        let word =
            |text: &str, size: f64| text.split_whitespace().map(|word| text_width(word, size)).fold(0.0, f64::max);
        // A number and its unit stay in one line.
        let unbroken = |column: &TableColumn| match column.cells {
            Cells::Numbers(_) => (0..rows).map(|row| text_width(&column.cell(row), CELL)).fold(0.0, f64::max) + BETWEEN,
            Cells::Text(_) => NARROW,
        };
        let least = table.columns.iter().map(|column| widest(column, &word).max(unbroken(column)));
        let least: Vec<f64> = least.collect();
        let least: Vec<f64> = least.iter().zip(&natural).map(|(least, natural)| least.min(*natural)).collect();
        let total = |widths: &[f64]| widths.iter().sum::<f64>();
        let (widths, letters) = if total(&natural) <= room {
            let stretch = (room / total(&natural).max(1.0)).min(1.35);
            (natural.iter().map(|width| width * stretch).collect(), 1.0)
        } else if total(&least) <= room {
            (shared(&least, &natural, room), 1.0)
        } else {
            let letters = room / total(&least);
            (least.iter().map(|width| width * letters).collect(), letters)
        };
        let broken = |text: &str, size: f64, width: f64| {
            // Their own breaks, as in a list of facts, are kept.
            let lines: Vec<String> =
                text.lines().flat_map(|line| wrap(line, size * letters, width - BETWEEN * letters + 1.0)).collect();
            if lines.is_empty() { vec![String::new()] } else { lines }
        };
        let cells = |row: usize| -> Vec<Vec<String>> {
            let cell = |(column, width): (&TableColumn, &f64)| match column.cells {
                Cells::Text(_) => broken(&column.cell(row), CELL, *width),
                Cells::Numbers(_) => vec![column.cell(row)],
            };
            table.columns.iter().zip(&widths).map(cell).collect()
        };
        Self {
            headings: table
                .columns
                .iter()
                .zip(&widths)
                .map(|(column, width)| broken(&heading(column), 11.5, *width))
                .collect(),
            rows: (0..rows).map(cells).collect(),
            letters,
            widths,
        }
    }

    /// Height of the first `rows` rows.
    fn height(&self, rows: usize) -> f64 {
        self.rows.iter().take(rows).map(|row| high(row)).sum()
    }

    /// Height of what stands above the rows.
    fn above(&self) -> f64 {
        high(&self.headings)
    }
}

/// Height of a row.
fn high(cells: &[Vec<String>]) -> f64 {
    let lines = cells.iter().map(Vec::len).max().unwrap_or(1);
    ROW + LINE * (lines.max(1) - 1) as f64
}

/// Widths between the least and the natural ones that fill the room: narrow columns have what they need, wide ones share.
fn shared(least: &[f64], natural: &[f64], room: f64) -> Vec<f64> {
    let at = |level: f64| -> Vec<f64> {
        least.iter().zip(natural).map(|(least, natural)| level.clamp(*least, natural.max(*least))).collect()
    };
    let (mut low, mut high) = (0.0, room);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if at(middle).iter().sum::<f64>() <= room { low = middle } else { high = middle }
    }
    at(low)
}

/// Width for a table in a picture of this width.
fn table_room(width: f64) -> f64 {
    width - 40.0
}

/// The height below the heading that a table needs whose cells are broken into lines; 0 where none are.
pub(crate) fn table_needs(table: &ViewTable, width: f64) -> f64 {
    let layout = Layout::of(table, table_room(width));
    let is_broken = layout.rows.iter().any(|row| high(row) > ROW);
    if is_broken { layout.above() + layout.height(layout.rows.len()) + 2.0 * ROW } else { 0.0 }
}

/// A table as a picture: as many rows as fit.
pub(crate) fn table(canvas: &mut Canvas, table: &ViewTable) {
    let layout = Layout::of(table, table_room(canvas.width()));
    let grouped = table.columns.iter().any(|column| !column.group.is_empty());
    let top = canvas.plot.y + if grouped { 20.0 } else { 6.0 };
    let first = top + layout.above() - ROW;
    let bottom = canvas.plot.y + canvas.plot.h + 24.0;
    let fit = (0..=layout.rows.len()).rfind(|rows| {
        let note = if rows < &(table.rows() + table.omitted) { ROW } else { 0.0 };
        first + layout.height(*rows) + note <= bottom
    });
    let rows = fit.unwrap_or(0);
    let (mut x, letters) = (20.0, layout.letters);
    let (theme, soft, grid) = (canvas.theme, canvas.theme.soft(), canvas.theme.grid());
    let mut group = "";
    for (index, (column, width)) in table.columns.iter().zip(&layout.widths).enumerate() {
        let number = matches!(column.cells, Cells::Numbers(_));
        let (anchor, at) = if number { ("end", x + width - 4.0) } else { ("start", x) };
        if column.group != group {
            group = &column.group;
            let set = Set { anchor: "start", size: 11.0 * letters, bold: true, fill: soft };
            canvas.text(x + BETWEEN * letters, top - ROW + 3.0, set, &column.group);
        }
        let mut put = |y: f64, size: f64, bold: bool, fill: &str, lines: &[String]| {
            for (line, text) in lines.iter().enumerate() {
                canvas.text(at, y + LINE * line as f64, Set { anchor, size: size * letters, bold, fill }, text);
            }
        };
        put(top, 11.0, true, soft, &layout.headings[index]);
        let mut y = first;
        for (row, cells) in layout.rows[..rows].iter().enumerate() {
            put(y + ROW, CELL, false, theme.tone(column.tone(row)), &cells[index]);
            y += high(cells);
        }
        x += width;
    }
    let mut y = first;
    canvas.rule((20.0, y + 5.5), (x, y + 5.5), grid, "");
    for cells in &layout.rows[..rows] {
        y += high(cells);
        canvas.rule((20.0, y + 5.5), (x, y + 5.5), grid, "");
    }
    if rows < table.rows() + table.omitted {
        let text =
            format!("and {} further rows; `iodyno export` writes all of them", table.rows() + table.omitted - rows);
        canvas.text(20.0, y + ROW, canvas.soft(11.0), &text);
    }
}

fn heading(column: &TableColumn) -> String {
    format!("{} {}", column.name, column.unit.heading()).trim_end().to_string()
}
