//! Tables whose line breaks or blanks were lost: results of compressors beside each other, and of a load run again and again.

use crate::ImportError;
use crate::source::Lines;
use crate::text::parsed_file::{Cell, ParsedFile};
use crate::text::timestamp::When;
use crate::text::words::number;

/// Heading of a table of compressors; the first row may be glued to it.
const UTILITY: &str = "Utility Reduction (%) Elapsed (s)";
/// Heading of a load's rows, without blanks, as its rows are.
const LOAD: &str = "connectionstpsmysqld%usrmysqld%sysmysqld%cpuavg-resp95%-resp";
const LOAD_COLUMNS: [&str; 6] =
    ["tps (1/s)", "mysqld %usr", "mysqld %sys", "mysqld %cpu", "avg-resp (ms)", "95%-resp (ms)"];

pub(in crate::text) fn sniff(head: &str) -> bool {
    head.contains(UTILITY) || head.contains(LOAD)
}

pub(in crate::text) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut is_utility = false;
    while lines.advance()? {
        let text = lines.line();
        if let Some((_, rows)) = text.split_once(LOAD) {
            load(lines, parsed, rows.trim())?;
        } else if let Some((_, row)) = text.split_once(UTILITY) {
            is_utility = true;
            let section = parsed.plain_section(&["Reduction (%)", "Elapsed (s)"]);
            parsed.block(section, When::Next, true);
            utility(lines, parsed, row)?;
        } else if is_utility {
            utility(lines, parsed, &text)?;
        } else {
            parsed.tally("lines that are no rows left out");
        }
    }
    Ok(())
}

/// `pigz --fast 71.18 1.04`.
fn utility(lines: &Lines, parsed: &mut ParsedFile, row: &str) -> Result<(), ImportError> {
    let words: Vec<&str> = row.split_whitespace().collect();
    match words.as_slice() {
        [] => {}
        [name @ .., reduction, elapsed] if !name.is_empty() => {
            let (Some(reduction), Some(elapsed)) = (number(reduction), number(elapsed)) else {
                return Err(lines.malformed("is not a name and two numbers".to_string()));
            };
            let section = parsed.plain_section(&["Reduction (%)", "Elapsed (s)"]);
            parsed.row(section, &name.join(" "), &[Cell::Number(reduction), Cell::Number(elapsed)]);
        }
        _ if lines.may_be_cut() => parsed.note(&format!("line {} is cut off, and left out", lines.number())),
        _ => return Err(lines.malformed("is not a name and two numbers".to_string())),
    }
    Ok(())
}

/// Rows of a whole number and six numbers with two decimals each: a number ends behind those. How many connections there
/// were is what all rows begin with.
fn load(lines: &Lines, parsed: &mut ParsedFile, rows: &str) -> Result<(), ImportError> {
    let mut figures: Vec<&str> = Vec::new();
    let mut rest = rows;
    while let Some(point) = rest.find('.').filter(|point| rest.is_char_boundary(point + 3) && rest.len() >= point + 3) {
        let (figure, more) = rest.split_at(point + 3);
        if number(figure).is_none() {
            return Err(lines.malformed(format!("`{figure}` stands where a number with two decimals is expected")));
        }
        figures.push(figure);
        rest = more;
    }
    if !rest.is_empty() || figures.is_empty() || !figures.len().is_multiple_of(LOAD_COLUMNS.len()) {
        return Err(lines.malformed(format!("has {} figures, which are no whole rows", figures.len())));
    }
    let firsts: Vec<&str> = figures.iter().copied().step_by(LOAD_COLUMNS.len()).collect();
    let shortest = firsts.iter().map(|first| first.find('.').unwrap_or(0)).min().unwrap_or(0);
    let same = |length: &usize| firsts.iter().all(|first| first[..*length] == firsts[0][..*length]);
    let length = (1..shortest).rev().find(same).unwrap_or(0);
    let connections = &firsts[0][..length];
    parsed.note(&format!(
        "blanks were lost between its columns: `{connections}`, with which all rows begin, was taken for the connections"
    ));
    let section = parsed.plain_section(&LOAD_COLUMNS);
    for row in figures.chunks(LOAD_COLUMNS.len()) {
        parsed.block(section, When::Next, false);
        let values = row.iter().enumerate().map(|(at, figure)| if at == 0 { &figure[length..] } else { *figure });
        let cells: Vec<Cell> = values.map(|value| number(value).map_or(Cell::Missing, Cell::Number)).collect();
        parsed.row(section, &format!("{connections} connections"), &cells);
    }
    Ok(())
}
