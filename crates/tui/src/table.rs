//! Tables of the catalogue as aligned text.

use analyze::{Cells, Column, Facts, Judgement, Table};

fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// A table in at most `width` columns; what does not fit continues below with the first column repeated.
pub fn table_lines(table: &Table, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let Some((first, rest)) = table.columns.split_first() else { return lines };
    let mut rest = rest;
    loop {
        let mut used = column_width(first);
        let mut taken = 0;
        while let Some(column) = rest.get(taken) {
            let next = used + 2 + column_width(column);
            if next > width && taken > 0 {
                break;
            }
            used = next;
            taken += 1;
        }
        let (now, later) = rest.split_at(taken);
        let columns: Vec<&Column> = std::iter::once(first).chain(now).collect();
        block(&columns, table.rows(), &mut lines);
        rest = later;
        if rest.is_empty() {
            break;
        }
        lines.push(String::new());
    }
    if table.omitted > 0 {
        lines.push(format!("and {} further rows", table.omitted));
    }
    lines
}

fn heading(column: &Column) -> String {
    format!("{} {}", column.name, column.unit.heading()).trim_end().to_string()
}

fn column_width(column: &Column) -> usize {
    (0..column.cells.len()).map(|row| width_of(&column.cell(row))).max().unwrap_or(0).max(width_of(&heading(column)))
}

fn padded(text: &str, width: usize, right: bool) -> String {
    let gap = " ".repeat(width.saturating_sub(width_of(text)));
    if right { gap + text } else { format!("{text}{gap}") }
}

fn block(columns: &[&Column], rows: usize, lines: &mut Vec<String>) {
    let widths: Vec<usize> = columns.iter().map(|column| column_width(column)).collect();
    if columns.iter().any(|column| !column.group.is_empty()) {
        let mut line = String::new();
        let mut at = 0;
        while at < columns.len() {
            let end =
                (at..columns.len()).find(|next| columns[*next].group != columns[at].group).unwrap_or(columns.len());
            let width = widths[at..end].iter().sum::<usize>() + 2 * (end - at - 1);
            let group: String = columns[at].group.chars().take(width).collect();
            line.push_str(&padded(&group, width, !group.is_empty()));
            line.push_str("  ");
            at = end;
        }
        lines.push(line.trim_end().to_string());
    }
    let mut put = |cell: &dyn Fn(&Column) -> String| {
        let cells = columns
            .iter()
            .zip(&widths)
            .map(|(column, width)| padded(&cell(column), *width, matches!(column.cells, Cells::Numbers(_))));
        lines.push(cells.collect::<Vec<String>>().join("  ").trim_end().to_string());
    };
    put(&heading);
    for row in 0..rows {
        put(&|column| column.cell(row));
    }
}

/// The tables at the end of a command: all runs when there are several, else the operations of the only one.
pub fn summary_tables(facts: &Facts, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    // Repeated runs are told by their means; the report and the recording have each of them.
    let drawn = |id: &str| analyze::view(id).ok().and_then(|view| view.draw(facts, None));
    let overview = drawn("sweep.repeats").or_else(|| drawn("sweep.runs"));
    if let Some(analyze::Body::Table(table)) = overview.map(|view| view.body) {
        lines.extend(table_lines(&table, width));
        lines.push(String::new());
    }
    // Many runs' operations would scroll the overview away; the report has them.
    for run in facts.runs.iter().filter(|run| facts.runs.len() <= 4 || run.index < 0) {
        lines.push(format!("{} {}: operations", run.title, run.detail).replace(" :", ":"));
        lines.extend(table_lines(&analyze::totals_table(run), width));
        lines.push(String::new());
    }
    // Of one run they were told a few lines above; those that were all met need no table.
    let is_all_met = facts.objectives.iter().all(|verdict| verdict.judgement == Judgement::Met);
    let several = facts.runs.iter().filter(|run| run.title != "format").count() > 1;
    if several && is_all_met && !facts.objectives.is_empty() {
        lines.push(format!("objectives: all {} met", facts.objectives.len()));
    } else if let Some(analyze::Body::Table(table)) =
        drawn("recording.objectives").filter(|_| several).map(|view| view.body)
    {
        lines.push("objectives".to_string());
        lines.extend(table_lines(&table, width));
        lines.push(String::new());
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}
