//! What DTrace and bpftrace scripts print: distributions of `quantize`, and lines with date, time and figures.

use crate::ImportError;
use crate::source::Lines;
use crate::text::parsed_file::{Cell, ParsedFile};
use crate::text::timestamp::{When, month, of_day};
use crate::text::words::{number, plain};
use quantity::text::wall_ns_of;

/// Stands in the heading of each distribution.
const HEADING: &str = "- Distribution -";

pub(in crate::text) fn sniff(head: &str) -> bool {
    head.contains(HEADING) || head.lines().take(20).any(|line| stamped(line).is_some())
}

/// `2009 Jun 15 13:11:39` at the beginning of a line, and what follows.
fn stamped(line: &str) -> Option<(i64, &str)> {
    let line = line.trim_start();
    let words: Vec<&str> = line.split_whitespace().take(4).collect();
    let [year, name, day, time] = words.as_slice() else { return None };
    let (year, day): (i64, i64) = (year.parse().ok()?, day.parse().ok()?);
    let ns = of_day(time.trim_end_matches([':', ',']), None)?;
    let midnight = wall_ns_of((year, month(name)?, day), (0, 0, 0))?;
    let at = line.find(time)? + time.len();
    Some((midnight + ns, &line[at..]))
}

pub(in crate::text) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut open: Option<Distribution> = None;
    let mut title = String::new();
    let mut names: Vec<String> = Vec::new();
    while lines.advance()? {
        let text = lines.line();
        if let Some((wall_ns, rest)) = stamped(&text) {
            close(parsed, &mut open);
            figures(lines, parsed, wall_ns, rest, &names)?;
        } else if text.contains(HEADING) {
            close(parsed, &mut open);
            for (at, part) in text.split("value").enumerate() {
                // What stands before a heading is what it is of; line breaks between may be lost.
                let Some((_, values)) =
                    part.split_once("count").filter(|(dashes, _)| at > 0 && dashes.contains(HEADING))
                else {
                    title = if at == 0 && !part.trim().is_empty() { joined(part) } else { title };
                    continue;
                };
                close(parsed, &mut open);
                let mut fresh = Distribution { title: title.clone(), rows: Vec::new() };
                let rest = fresh.add(values);
                title = joined(&rest);
                open = Some(fresh);
            }
        } else if let Some(distribution) = &mut open {
            let rest = distribution.add(&text);
            if rest.split_whitespace().next().is_some() {
                if rest.contains('|') {
                    if lines.may_be_cut() {
                        parsed.note(&format!("line {} is cut off, and left out", lines.number()));
                        continue;
                    }
                    return Err(lines.malformed("is no row of a distribution (value, bar, count)".to_string()));
                }
                close(parsed, &mut open);
                title = joined(&rest);
            }
        } else if text.split_whitespace().next() == Some("Date-time") {
            names = text.split_whitespace().skip(1).map(String::from).collect();
        } else {
            title = joined(&text);
        }
    }
    close(parsed, &mut open);
    if parsed.is_empty() {
        return Err(lines.malformed("there is neither a distribution nor a line with date and time in it".to_string()));
    }
    Ok(())
}

/// Words with one blank between.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// A distribution under way.
struct Distribution {
    title: String,
    /// Lower end of the bucket as printed, and how many there are in it.
    rows: Vec<(String, f64)>,
}

impl Distribution {
    /// Takes rows `value |@@@ count`, one or several; gives what is left over.
    fn add(&mut self, text: &str) -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut at = 0;
        while at < words.len() {
            // `<` and `>=` stand before the outermost buckets of lquantize.
            let sign = usize::from(["<", "<=", ">", ">="].contains(&words[at]));
            let row = match words.get(at + sign..) {
                Some([value, bar, count, ..])
                    if bar.starts_with('|') && bar[1..].bytes().all(|byte| byte == b'@' || byte == b'|') =>
                {
                    value.parse::<i64>().ok().zip(number(count))
                }
                _ => None,
            };
            let Some((value, count)) = row else { break };
            self.rows.push((format!("{}{value}", words[at..at + sign].join("")), count));
            at += sign + 3;
        }
        words[at..].join(" ")
    }
}

fn close(parsed: &mut ParsedFile, open: &mut Option<Distribution>) {
    let Some(Distribution { title, rows }) = open.take().filter(|distribution| !distribution.rows.is_empty()) else {
        return;
    };
    let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    let section = parsed.plain_section(&names);
    if parsed.has_no(section, &title) || parsed.block(section, When::Next, true) {
        let cells: Vec<Cell> = rows.iter().map(|(_, count)| Cell::Number(*count)).collect();
        parsed.row(section, &title, &cells);
    }
}

/// `reads : 0, writes : 578`, `throughput 3 queries/sec`, or bare numbers under a heading.
fn figures(
    lines: &Lines,
    parsed: &mut ParsedFile,
    wall_ns: i64,
    rest: &str,
    names: &[String],
) -> Result<(), ImportError> {
    let rest = rest.trim_start_matches([':', ',']).trim();
    let bare: Option<Vec<Cell>> = rest.split_whitespace().map(plain).collect();
    let pairs: Vec<(String, Cell)> = match bare {
        Some(values) if !names.is_empty() && values.len() == names.len() => names.iter().cloned().zip(values).collect(),
        Some(values) if !names.is_empty() && !lines.may_be_cut() => {
            return Err(lines.malformed(format!("has {} figures under {} headings", values.len(), names.len())));
        }
        Some(values) => values.into_iter().enumerate().map(|(at, value)| (format!("{}", at + 1), value)).collect(),
        None => named(rest),
    };
    if pairs.is_empty() {
        parsed.tally("lines with date and time, but no figures, left out");
        return Ok(());
    }
    let columns: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
    let section = parsed.plain_section(&columns);
    if parsed.block(section, When::Local(wall_ns, 0), false) {
        let cells: Vec<Cell> = pairs.into_iter().map(|(_, value)| value).collect();
        parsed.row(section, "", &cells);
    }
    Ok(())
}

/// Names with the number behind each, or the word for none.
fn named(text: &str) -> Vec<(String, Cell)> {
    let mut found = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for word in text.split([' ', '\t', ',', '=']).filter(|word| !word.is_empty() && *word != ":") {
        match plain(word) {
            Some(value) if !words.is_empty() => {
                found.push((words.join(" ").trim_end_matches(':').trim().to_string(), value));
                words.clear();
            }
            Some(_) => {}
            None => words.push(word),
        }
    }
    if let (Some((name, _)), [unit]) = (found.last_mut(), words.as_slice())
        && unit.contains('/')
    {
        *name = format!("{name} {unit}");
    }
    found
}
