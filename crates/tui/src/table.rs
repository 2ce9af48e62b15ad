//! Tables of the catalogue as aligned text.

use analyze::{Cells, Column, Facts, Judgement, Table};
use quantity::visible::visible;
use std::borrow::Cow;

fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// A table in at most `width` columns; what does not fit continues below with the first column repeated.
pub fn table_lines(table: &Table, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let Some((first, rest)) = table.columns.split_first() else { return lines };
    let mut rest = rest;
    loop {
        // The first of them in any case, or this would not end.
        let fits = |taken: &usize| {
            let columns: Vec<&Column> = std::iter::once(first).chain(&rest[..*taken]).collect();
            let widths = column_widths(&columns);
            widths.iter().sum::<usize>() + 2 * (widths.len() - 1) <= width
        };
        let taken = (2..=rest.len()).take_while(fits).last().unwrap_or(rest.len().min(1));
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
    format!("{} {}", visible(&column.name), column.unit.heading()).trim_end().to_string()
}

/// A cell as it is shown: names are not trusted.
fn shown(column: &Column, row: usize) -> String {
    visible(&column.cell(row)).into_owned()
}

fn column_width(column: &Column) -> usize {
    (0..column.cells.len()).map(|row| width_of(&shown(column, row))).max().unwrap_or(0).max(width_of(&heading(column)))
}

/// Of the columns that stand beside each other with the same group.
fn grouped<'a>(columns: &'a [&'a Column]) -> impl Iterator<Item = &'a [&'a Column]> {
    columns.chunk_by(|one, next| one.group == next.group)
}

/// As wide as each needs; the last of a group has the room that the group's name needs beyond that.
fn column_widths(columns: &[&Column]) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::with_capacity(columns.len());
    for group in grouped(columns) {
        widths.extend(group.iter().map(|column| column_width(column)));
        let own = &mut widths[..];
        let from = own.len() - group.len();
        let used = own[from..].iter().sum::<usize>() + 2 * (group.len() - 1);
        let named = group.first().map_or(0, |column| width_of(&visible(&column.group)));
        if let Some(last) = own.last_mut() {
            *last += named.saturating_sub(used);
        }
    }
    widths
}

fn padded(text: &str, width: usize, right: bool) -> String {
    let gap = " ".repeat(width.saturating_sub(width_of(text)));
    if right { gap + text } else { format!("{text}{gap}") }
}

fn block(columns: &[&Column], rows: usize, lines: &mut Vec<String>) {
    let widths = column_widths(columns);
    if columns.iter().any(|column| !column.group.is_empty()) {
        let mut line = String::new();
        let mut at = 0;
        for group in grouped(columns) {
            let own = &widths[at..at + group.len()];
            let name = group.first().map_or(Cow::Borrowed(""), |column| visible(&column.group));
            line.push_str(&padded(&name, own.iter().sum::<usize>() + 2 * (group.len() - 1), !name.is_empty()));
            line.push_str("  ");
            at += group.len();
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
        put(&|column| shown(column, row));
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

#[cfg(test)]
mod tests {
    use super::*;
    use analyze::Unit;

    #[test]
    fn a_groups_name_is_never_cut() {
        let number = |name: &str, value: f64| Column::numbers(name, Unit::Percent, [Some(value)]);
        let columns = vec![
            Column::text("program", vec!["httpd".to_string()]),
            number("share", 25.0).under("of all that were not pre-empted"),
            number("p50", 1.0).under("of all that were not pre-empted"),
            number("p50", 2.0).under("else"),
        ];
        let table = Table { columns, omitted: 0 };
        let lines = table_lines(&table, 80);
        assert!(lines[0].contains("of all that were not pre-empted") && lines[0].ends_with("else"), "{lines:?}");
        assert_eq!(lines[0].chars().count(), lines[1].chars().count(), "{lines:?}");
        // Where there is no room for both groups, the second is below.
        let narrow = table_lines(&table, 44);
        assert!(narrow.iter().all(|line| line.chars().count() <= 44), "{narrow:?}");
        assert!(narrow.iter().any(|line| line.trim() == "else"), "{narrow:?}");
    }
}
