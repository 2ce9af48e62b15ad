//! Pages behind the first one, and the tables on it.

use super::canvas::{Area, Canvas, Ink};
use super::parts::{map_of, mark_line};
use super::state::{TopPage, TopState};
use top_page::{DrillTarget, Grid, GridRow, MapOf, PageSheet};

/// A name gets so many columns at least.
const NAME_LEAST: usize = 16;

/// From so many columns on, all maps of a device stand side by side.
pub(super) const MAPS_LEAST: u16 = 150;

/// How a grid's columns lie in a width: that of the name, and those of the others that fit.
struct Columns {
    name: usize,
    others: Vec<usize>,
}

/// The rows that the filter lets through.
fn filtered<'a>(state: &TopState, grid: &'a Grid) -> Vec<&'a GridRow> {
    let wanted = state.filter.to_lowercase();
    let is_wanted =
        |row: &&GridRow| wanted.is_empty() || row.cells.iter().any(|cell| cell.to_lowercase().contains(&wanted));
    grid.rows.iter().filter(is_wanted).collect()
}

fn columns(grid: &Grid, rows: &[&GridRow], width: usize) -> Columns {
    let cell = |row: &GridRow, at: usize| row.cells.get(at).map_or(0, |cell| cell.chars().count());
    let width_of = |at: usize| {
        let heading = grid.columns.get(at).map_or(0, |heading| heading.chars().count());
        rows.iter().map(|row| cell(row, at)).max().unwrap_or(0).max(heading)
    };
    let wanted = width_of(0).max(1);
    let mut left = width.saturating_sub(wanted.min(NAME_LEAST.max(width / 3)) + 1);
    let mut others = Vec::new();
    for at in 1..grid.columns.len() {
        let needed = width_of(at).max(4);
        // Sentences take what is left.
        let is_last = at + 1 == grid.columns.len();
        let given = if is_last && needed > left.saturating_sub(1) && left > 24 { left - 1 } else { needed };
        if given + 1 > left {
            break;
        }
        left -= given + 1;
        others.push(given);
    }
    let used: usize = others.iter().map(|width| width + 1).sum();
    Columns { name: width.saturating_sub(used + 1).min(wanted.max(10)), others }
}

fn heading(canvas: &mut Canvas<'_>, area: Area, y: u16, texts: &[String], columns: &Columns) {
    row(canvas, area, y, texts, columns, Ink::Title);
}

fn row(canvas: &mut Canvas<'_>, area: Area, y: u16, cells: &[String], columns: &Columns, ink: Ink) {
    let Some(first) = cells.first() else { return };
    let narrow = |width: usize| u16::try_from(width).unwrap_or(u16::MAX);
    canvas.text(area.left(1 + narrow(columns.name)), (1, y), first, ink);
    let mut x = 1 + narrow(columns.name);
    for (cell, width) in cells.iter().skip(1).zip(&columns.others) {
        // Sentences begin where their column does.
        if cell.chars().count() > 24 || *width > 30 {
            canvas.text(area.left(x + 1 + narrow(*width)), (x + 1, y), cell, ink);
        } else {
            canvas.text_right(area, (x + 1, y), narrow(*width), cell, ink);
        }
        x += 1 + narrow(*width);
    }
}

/// A table on the first page: as many rows as fit.
pub(super) fn grid_part(state: &mut TopState, canvas: &mut Canvas<'_>, area: Area, grid: &Grid) {
    if area.height == 0 {
        return;
    }
    let rows: Vec<GridRow> = filtered(state, grid).into_iter().take(usize::from(area.height) - 1).cloned().collect();
    let shown: Vec<&GridRow> = rows.iter().collect();
    let columns = columns(grid, &shown, usize::from(area.width));
    let mut headings = grid.columns.clone();
    if let Some(first) = headings.first_mut() {
        *first = grid.title.clone();
    }
    heading(canvas, area, 0, &headings, &columns);
    for (at, one) in rows.iter().enumerate() {
        let y = 1 + u16::try_from(at).unwrap_or(0);
        row(canvas, area, y, &one.cells, &columns, Ink::Plain);
        let chosen = state.line(one.drill.clone());
        mark_line(canvas, area, y, chosen);
    }
    if rows.is_empty() {
        let words = match (&grid.note, state.filter.is_empty()) {
            (Some(note), _) => note.as_str(),
            (None, true) => "none in this interval",
            (None, false) => "none that the filter lets through",
        };
        canvas.text(area, (1, 1), words, Ink::Faint);
    }
}

/// A line of a page that may be longer than the terminal.
enum Line {
    Blank,
    Title(String),
    Heading(usize),
    Row(usize, GridRow, usize),
    Note(String),
}

/// A page: its tables one below the other.
pub(super) fn draw(state: &mut TopState, page: &TopPage<'_>, canvas: &mut Canvas<'_>, area: Area, sheet: &PageSheet) {
    let mut area = area;
    let device = match sheet {
        PageSheet::Disk(device) => Some(device.clone()),
        PageSheet::Disks => page.scene.worst_disk(),
        _ => None,
    };
    if let Some(device) = device {
        let rows = (area.height / 2).min(12);
        maps(state, page, canvas, area.top(rows), &device);
        area = area.below(rows);
    }
    let grids = match sheet {
        PageSheet::Compared => page.compared.cloned().into_iter().collect(),
        sheet => page.scene.sheet(sheet),
    };
    let mut lines = Vec::new();
    let mut widths = Vec::new();
    for (at, grid) in grids.iter().enumerate() {
        let rows = filtered(state, grid);
        widths.push(columns(grid, &rows, usize::from(area.width)));
        if at > 0 {
            lines.push(Line::Blank);
        }
        lines.push(Line::Title(grid.title.clone()));
        lines.push(Line::Heading(at));
        for one in &rows {
            let number = state.lines.len();
            state.line(one.drill.clone());
            lines.push(Line::Row(number, (*one).clone(), at));
        }
        if rows.is_empty() || grid.note.is_some() {
            let none = if grid.rows.is_empty() { "none" } else { "none that the filter lets through" };
            lines.push(Line::Note(grid.note.clone().unwrap_or_else(|| none.to_string())));
        }
    }
    if std::mem::take(&mut state.is_fresh) && matches!(sheet, PageSheet::Disk(_) | PageSheet::OneCpu(_)) {
        // Not where that would scroll what stands above it away.
        let leads = |line: &&Line| matches!(line, Line::Row(_, row, _) if row.drill != DrillTarget::Nothing);
        let first = lines.iter().take(usize::from(area.height)).find(leads);
        state.selected = if let Some(Line::Row(number, ..)) = first { *number } else { 0 };
    }
    state.selected = state.selected.min(state.lines.len().saturating_sub(1));
    scroll(state, &lines, usize::from(area.height));
    for (y, line) in (0..area.height).zip(lines.iter().skip(state.scroll)) {
        match line {
            Line::Blank => {}
            Line::Title(title) => drop(canvas.text(area, (0, y), title, Ink::Title)),
            Line::Heading(at) => {
                row(canvas, area, y, &grids[*at].columns, &widths[*at], Ink::Faint);
            }
            Line::Row(number, one, at) => {
                row(canvas, area, y, &one.cells, &widths[*at], Ink::Plain);
                mark_line(canvas, area, y, *number == state.selected);
            }
            Line::Note(note) => drop(canvas.text(area, (1, y), note, Ink::Faint)),
        }
    }
}

/// All maps of a device side by side, or where there is no room for that the one that is chosen.
fn maps(state: &TopState, page: &TopPage<'_>, canvas: &mut Canvas<'_>, area: Area, device: &str) {
    if area.width < MAPS_LEAST {
        let more = format!("   Tab: {}", state.map.next().word());
        return map_of(page, canvas, area, (device, state.map), &more);
    }
    let width = area.width / 3;
    for (at, of) in (0..).zip(MapOf::ALL) {
        map_of(page, canvas, area.right_of(at * width).left(width - 1), (device, of), "");
    }
}

/// Keeps the chosen line on the terminal.
fn scroll(state: &mut TopState, lines: &[Line], height: usize) {
    let chosen = lines.iter().position(|line| matches!(line, Line::Row(number, ..) if *number == state.selected));
    let chosen = chosen.unwrap_or(0);
    // The first row brings its heading along.
    let top = if state.selected == 0 { 0 } else { chosen };
    state.scroll = state.scroll.min(top).max((chosen + 1).saturating_sub(height));
    if state.selected == 0 {
        state.scroll = 0;
    }
}
