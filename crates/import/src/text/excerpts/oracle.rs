//! The waits that a database spent most time in: "Top 5 Timed Events" of Oracle's reports. Line breaks may be lost.

use crate::ImportError;
use crate::source::Lines;
use crate::text::parsed_file::{Cell, ParsedFile};
use crate::text::timestamp::When;
use crate::text::words::number;

const HEADING: &str = "Top 5 Timed Events";

pub(in crate::text) fn sniff(head: &str) -> bool {
    head.contains(HEADING)
}

/// `57,970,653`, `.4`; not a number where the column was too narrow for it, which Oracle fills with `#`.
fn value(word: &str) -> Option<f64> {
    if word.len() > 1 && word.bytes().all(|byte| byte == b'#') {
        return Some(f64::NAN);
    }
    number(&word.replace(',', ""))
}

/// Words, and what is glued to a figure (`39.9gc`) apart.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for word in text.split_whitespace() {
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(word.len());
        if end > 0 && word[..end].contains('.') && word[end..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            found.extend([&word[..end], &word[end..]]);
        } else {
            found.push(word);
        }
    }
    found
}

pub(in crate::text) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut text = String::new();
    while lines.advance()? {
        text.push_str(&lines.line());
        text.push('\n');
    }
    let section = parsed.plain_section(&["Waits", "Time (s)", "Avg wait (ms)", "%Total Call Time"]);
    let mut parts = text.split(HEADING);
    // What stands before a heading says whose waits they are.
    let mut title = name(parts.next().unwrap_or_default());
    parsed.block(section, When::Next, true);
    for part in parts {
        let body = part.rsplit_once("------").map_or(part, |(_, rest)| rest);
        let (rows, rest) = rows(&words(body));
        if rows.is_empty() {
            return Err(lines.malformed("ends without an event with its waits and times under the heading".to_string()));
        }
        // What is left is the title of the next table: figures beside each other are an event's.
        let is_figure = |word: &String| value(word).is_some();
        let left: Vec<String> = rest.split_whitespace().map(String::from).collect();
        if left.windows(2).any(|pair| pair.iter().all(is_figure)) {
            let last = lines.number().saturating_sub(1);
            return Err(lines.malformed_at(last, format!("has an event without its four figures, or two: `{rest}`")));
        }
        for (event, cells) in rows {
            let whose = if title.is_empty() { event } else { format!("{title}: {event}") };
            parsed.row(section, &whose, &cells);
        }
        title = name(&rest);
    }
    Ok(())
}

/// Events with waits, time, mean and share; those that are no waits (CPU time) have time and share only. And what is left.
fn rows(words: &[&str]) -> (Vec<(String, Vec<Cell>)>, String) {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let names = words[at..].iter().take_while(|word| value(word).is_none()).count();
        let figures: Vec<f64> = words[at + names..].iter().map_while(|word| value(word)).collect();
        let cells = match figures[..] {
            [waits, time, mean, share] => vec![waits, time, mean, share].into_iter().map(Cell::Number).collect(),
            [time, share] => vec![Cell::Missing, Cell::Number(time), Cell::Missing, Cell::Number(share)],
            _ => break,
        };
        found.push((words[at..at + names].join(" "), cells));
        at += names + figures.len();
    }
    (found, words[at..].join(" "))
}

/// `Local Clients – 240 Client run, 97,555 blocks/second`: up to the dash.
fn name(text: &str) -> String {
    text.split(['–', '-']).next().unwrap_or_default().trim().to_string()
}
