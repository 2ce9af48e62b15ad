//! `zpool iostat`, also -v, -y, -l, -q, -T, -p and (when it is said) -H: pools and their parts are devices, `pool/mirror/disk`.

use super::columns::Subject;
use super::iostat::stamp;
use super::parsed_file::{Cell, ParsedFile};
use super::timestamp::When;
use super::words::{command, has_flag, scaled};
use crate::ImportError;
use crate::source::Lines;

/// Columns of -H, which prints no headings.
const PLAIN: [&str; 6] =
    ["capacity alloc", "capacity free", "operations read", "operations write", "bandwidth read", "bandwidth write"];

pub(super) fn sniff(head: &str) -> bool {
    head.lines().any(|line| groups(line).is_some())
}

/// The first heading line: groups of two columns each, some of one.
fn groups(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.starts_with(&["capacity", "operations", "bandwidth"]).then_some(words)
}

/// The headings of both lines together.
fn headings(groups: &[String], names: &[&str]) -> Vec<String> {
    let mut names = names.iter().skip(1);
    let mut found = Vec::new();
    for group in groups {
        let count = if ["scrub", "trim", "rebuild"].contains(&group.as_str()) { 1 } else { 2 };
        found.extend(names.by_ref().take(count).map(|name| format!("{group} {name}")));
    }
    found
}

/// A figure: sizes and counts with letters for powers of 1024, times with units (to seconds; a question mark stands behind
/// thousands of them). With -p, a time is a number of ns.
fn figure(heading: &str, word: &str) -> Option<Cell> {
    if word == "-" {
        return Some(Cell::Missing);
    }
    for (unit, seconds) in [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("?", 1e3)] {
        if let Some(value) = word.strip_suffix(unit).and_then(super::words::number) {
            return Some(Cell::Number(value * seconds));
        }
    }
    let unit =
        if heading.contains("wait") && !heading.contains(" pend") && !heading.contains(" activ") { 1e-9 } else { 1.0 };
    scaled(word).filter(|value| *value >= 0.0).map(|value| Cell::Number(value * unit))
}

struct State {
    groups: Vec<String>,
    columns: Vec<String>,
    /// The parts that the row under way is in, by depth.
    path: Vec<String>,
    is_first: bool,
    now: Option<When>,
    is_new: bool,
    /// Below the heading of another command (`zpool list`).
    is_other: bool,
}

pub(super) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let columns = PLAIN.map(String::from).to_vec();
    let mut state = State {
        groups: Vec::new(),
        columns,
        path: Vec::new(),
        is_first: true,
        now: None,
        is_new: true,
        is_other: false,
    };
    while lines.advance()? {
        let text = lines.line();
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some(command) = command(&text, "zpool") {
            (state.is_first, state.is_new) = (!has_flag(&command, 'y'), true);
        } else if words.first() == Some(&"NAME") {
            state.is_other = true;
            parsed.tally("lines that are not zpool's (messages, prompts) left out");
        } else if let Some(found) = groups(&text) {
            state.is_other = false;
            state.groups = found.into_iter().map(String::from).collect();
        } else if words.first() == Some(&"pool") && words.contains(&"read") {
            if words.contains(&"used") {
                // Old versions print `used` and `avail` instead of `alloc` and `free`.
                state.groups = ["capacity", "operations", "bandwidth"].map(String::from).to_vec();
            }
            state.columns = headings(&state.groups, &words);
        } else if words.iter().all(|word| word.bytes().all(|byte| byte == b'-')) && words.len() > 1 {
            // A rule.
        } else if let Some(when) = stamp(&words, parsed) {
            (state.now, state.is_new) = (Some(when), true);
        } else {
            row(lines, parsed, &mut state, &text)?;
        }
    }
    Ok(())
}

fn row(lines: &Lines, parsed: &mut ParsedFile, state: &mut State, text: &str) -> Result<(), ImportError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let heading = |at: usize| state.columns.get(at).map_or("", String::as_str);
    let cells: Vec<Option<Cell>> =
        words.iter().skip(1).enumerate().map(|(at, word)| figure(heading(at), word)).collect();
    let good = cells.iter().filter(|cell| cell.is_some()).count();
    if words.len() != state.columns.len() + 1 || good < cells.len() {
        if lines.may_be_cut() {
            parsed.note(&format!("line {} is cut off, and left out", lines.number()));
        } else if !state.is_other
            && (cells.iter().take_while(|cell| cell.is_some()).count() >= 2
                || (good * 2 > words.len() && words.len() > 3))
        {
            let what = format!("has {} fields that are figures under {} headings", good, state.columns.len());
            return Err(lines.malformed(what));
        } else {
            parsed.tally("lines that are not zpool's (messages, prompts) left out");
        }
        return Ok(());
    }
    let depth = (text.len() - text.trim_start().len()) / 2;
    state.path.truncate(depth);
    state.path.push(words[0].trim_start_matches('/').to_string());
    let thing = state.path.join("/");
    let columns: Vec<&str> = state.columns.iter().map(String::as_str).collect();
    let section = parsed.section(&columns, Some(Subject::Disk));
    // A pool that comes again begins the next sample.
    if std::mem::take(&mut state.is_new) || !parsed.has_no(section, &thing) {
        parsed.block(section, state.now.take().unwrap_or(When::Next), std::mem::take(&mut state.is_first));
    }
    let cells: Vec<Cell> = cells.into_iter().flatten().collect();
    parsed.row(section, &thing, &cells);
    Ok(())
}
