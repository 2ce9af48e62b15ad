//! Tables of the catalogue as aligned text.

use crate::TerminalLook;
use objectives::Judgement;
use quantity::output::LinePart;
use quantity::visible::visible;
use std::borrow::Cow;
use view::{Cells, TableColumn, Tone, ViewTable};
use views::RecordingFacts;

fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// A line of which parts may have a colour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaintedLine(Vec<(Tone, String)>);

impl PaintedLine {
    /// A line without colours.
    #[must_use]
    pub fn plain(text: String) -> Self {
        Self(vec![(Tone::Plain, text)])
    }

    /// Adds a part.
    fn put(&mut self, tone: Tone, text: &str) {
        match self.0.last_mut() {
            Some((last, known)) if *last == tone => known.push_str(text),
            _ => self.0.push((tone, text.to_string())),
        }
    }

    /// Takes spaces at its end away.
    fn trim(&mut self) {
        while let Some((_, text)) = self.0.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            self.0.pop();
        }
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// What is written of it, with its end; colours where `look` has them.
    #[must_use]
    pub fn parts(&self, look: TerminalLook) -> Vec<LinePart<'_>> {
        let of = |(tone, text): &'_ (Tone, String)| -> (&'static str, &'static str) {
            match tone {
                _ if !look.colour || text.is_empty() => ("", ""),
                Tone::Plain | Tone::Info => ("", ""),
                Tone::Good => ("\x1b[32m", "\x1b[0m"),
                Tone::Warning => ("\x1b[33m", "\x1b[0m"),
                Tone::Error => ("\x1b[31m", "\x1b[0m"),
            }
        };
        let painted = self.0.iter().flat_map(|part| {
            let (begin, end) = of(part);
            [LinePart::Own(begin), LinePart::Text(&part.1), LinePart::Own(end)]
        });
        painted.chain([LinePart::Own("\n")]).collect()
    }
}

/// A table in at most `width` columns; what does not fit continues below with the first column repeated.
pub fn table_lines(table: &ViewTable, width: usize) -> Vec<String> {
    painted_table(table, width).iter().map(PaintedLine::text).collect()
}

/// The same with the colours of its cells.
pub fn painted_table(table: &ViewTable, width: usize) -> Vec<PaintedLine> {
    let mut lines = Vec::new();
    let Some((first, rest)) = table.columns.split_first() else { return lines };
    let mut rest = rest;
    loop {
        // The first of them in any case, or this would not end.
        let fits = |taken: &usize| {
            let columns: Vec<&TableColumn> = std::iter::once(first).chain(&rest[..*taken]).collect();
            let widths = column_widths(&columns);
            widths.iter().sum::<usize>() + 2 * (widths.len() - 1) <= width
        };
        let taken = (2..=rest.len()).take_while(fits).last().unwrap_or(rest.len().min(1));
        let (now, later) = rest.split_at(taken);
        let columns: Vec<&TableColumn> = std::iter::once(first).chain(now).collect();
        block(&columns, table.rows(), &mut lines);
        rest = later;
        if rest.is_empty() {
            break;
        }
        lines.push(PaintedLine::default());
    }
    if table.omitted > 0 {
        lines.push(PaintedLine::plain(format!("and {} further rows", table.omitted)));
    }
    lines
}

fn heading(column: &TableColumn) -> String {
    format!("{} {}", visible(&column.name), column.unit.heading()).trim_end().to_string()
}

/// A cell as it is shown: names are not trusted.
fn shown(column: &TableColumn, row: usize) -> String {
    visible(&column.cell(row)).into_owned()
}

fn column_width(column: &TableColumn) -> usize {
    (0..column.cells.len()).map(|row| width_of(&shown(column, row))).max().unwrap_or(0).max(width_of(&heading(column)))
}

/// Of the columns that stand beside each other with the same group.
fn grouped<'a>(columns: &'a [&'a TableColumn]) -> impl Iterator<Item = &'a [&'a TableColumn]> {
    columns.chunk_by(|one, next| one.group == next.group)
}

/// As wide as each needs; the last of a group has the room that the group's name needs beyond that.
fn column_widths(columns: &[&TableColumn]) -> Vec<usize> {
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

fn block(columns: &[&TableColumn], rows: usize, lines: &mut Vec<PaintedLine>) {
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
        lines.push(PaintedLine::plain(line.trim_end().to_string()));
    }
    let mut put = |cell: &dyn Fn(&TableColumn) -> (Tone, String)| {
        let mut line = PaintedLine::default();
        for (column, width) in columns.iter().zip(&widths) {
            let (tone, text) = cell(column);
            // Of the padding nothing has a colour.
            let text = padded(&text, *width, matches!(column.cells, Cells::Numbers(_)));
            let (begin, end) = text.split_at(text.trim_end().len());
            line.put(tone, begin);
            line.put(Tone::Plain, end);
            line.put(Tone::Plain, "  ");
        }
        line.trim();
        lines.push(line);
    };
    put(&|column| (Tone::Plain, heading(column)));
    for row in 0..rows {
        put(&|column| (column.tone(row), shown(column, row)));
    }
}

/// The tables at the end of a command: all runs when there are several, else the operations of the only one.
pub fn summary_tables(facts: &RecordingFacts, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    // Repeated runs are shown by their means; the report and the recording have each of them.
    let drawn = |id: &str| views::view(id).ok().and_then(|view| view.draw(facts, None));
    let overview = drawn("pts.average").or_else(|| drawn("sweep.repeats")).or_else(|| drawn("sweep.runs"));
    if let Some(view::Body::Table(table)) = overview.map(|view| view.body) {
        lines.extend(table_lines(&table, width));
        lines.push(String::new());
    }
    if let Some(view::Body::Table(table)) = drawn("pts.steady").map(|view| view.body) {
        lines.push("steady state".to_string());
        lines.extend(table_lines(&table, width));
        lines.push(String::new());
    }
    // Many runs' operations would scroll the overview away; the report has them.
    let driven = facts.runs.iter().filter(|run| !run.is_of_commands());
    for run in driven.filter(|run| facts.runs.len() <= 4 || run.index < 0) {
        lines.push(format!("{} {}: operations", run.title, run.detail).replace(" :", ":"));
        lines.extend(table_lines(&views::totals_table(run), width));
        lines.push(String::new());
    }
    for run in &facts.runs {
        let moments = views::view("command.moments").ok().and_then(|view| view.draw(facts, Some(run)));
        if let Some(view::Body::Table(table)) = moments.map(|view| view.body) {
            lines.push(format!("{}: commands under load", run.name()));
            lines.extend(table_lines(&table, width));
            lines.push(String::new());
        }
    }
    let commands = facts.executed();
    if !commands.is_empty() {
        lines.extend(workload::commands::summary_lines(&commands));
        lines.push(String::new());
    }
    // A single run's objectives were printed a few lines above; if all are met, no table is needed.
    let is_all_met = facts.objectives.iter().all(|verdict| verdict.judgement == Judgement::Met);
    let several = facts.runs.iter().filter(|run| !run.is_format()).count() > 1;
    if several && is_all_met && !facts.objectives.is_empty() {
        lines.push(format!("objectives: all {} met", facts.objectives.len()));
    } else if let Some(view::Body::Table(table)) =
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
    use view::Unit;

    #[test]
    fn a_colour_is_around_the_words_of_its_cell_only() {
        let columns = vec![
            TableColumn::text("figure", vec!["IOPS".to_string(), "p99".to_string()]),
            TableColumn::text("verdict", vec!["\u{25b2} better".to_string(), "= same".to_string()])
                .toned(vec![Tone::Good, Tone::Plain]),
            TableColumn::text("more", vec!["x".to_string(), "\x1b[31my".to_string()]),
        ];
        let lines = painted_table(&ViewTable { columns, omitted: 0 }, 80);
        let written = |colour: bool| {
            let look = TerminalLook { width: 80, live: true, colour };
            let mut out = quantity::output::VisibleOutput::new(Vec::new());
            lines.iter().for_each(|line| out.parts(&line.parts(look)).unwrap());
            String::from_utf8(out.get_ref().clone()).unwrap()
        };
        assert!(written(true).contains("IOPS    \x1b[32m\u{25b2} better\x1b[0m  x\n"), "{:?}", written(true));
        assert!(
            !written(false).contains('\x1b') && written(false).contains("\u{25b2} better  x"),
            "{:?}",
            written(false)
        );
        assert_eq!(written(true).matches('\x1b').count(), 2, "the colour of a name is no colour");
    }

    #[test]
    fn a_groups_name_is_never_cut() {
        let number = |name: &str, value: f64| TableColumn::numbers(name, Unit::Percent, [Some(value)]);
        let columns = vec![
            TableColumn::text("program", vec!["httpd".to_string()]),
            number("share", 25.0).under("of all that were not preempted"),
            number("p50", 1.0).under("of all that were not preempted"),
            number("p50", 2.0).under("else"),
        ];
        let table = ViewTable { columns, omitted: 0 };
        let lines = table_lines(&table, 80);
        assert!(lines[0].contains("of all that were not preempted") && lines[0].ends_with("else"), "{lines:?}");
        assert_eq!(lines[0].chars().count(), lines[1].chars().count(), "{lines:?}");
        // Where there is no room for both groups, the second is below.
        let narrow = table_lines(&table, 44);
        assert!(narrow.iter().all(|line| line.chars().count() <= 44), "{narrow:?}");
        assert!(narrow.iter().any(|line| line.trim() == "else"), "{narrow:?}");
    }
}
