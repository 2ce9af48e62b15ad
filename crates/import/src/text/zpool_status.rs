//! Errors of each device of a pool: the table of `zpool status`. Line breaks may be lost.

use super::parsed_file::{Cell, ParsedFile};
use super::timestamp::When;
use super::words::{number, scaled};
use crate::ImportError;
use crate::source::Lines;

const HEADING: [&str; 5] = ["NAME", "STATE", "READ", "WRITE", "CKSUM"];
const STATES: [&str; 9] =
    ["ONLINE", "DEGRADED", "FAULTED", "OFFLINE", "UNAVAIL", "REMOVED", "AVAIL", "INUSE", "SUSPENDED"];

pub(super) fn sniff(head: &str) -> bool {
    head.split_whitespace().collect::<Vec<&str>>().join(" ").contains(&HEADING.join(" "))
}

/// A count; text that lost its line break may be glued to it.
fn count(word: &str) -> Option<(f64, bool)> {
    if let Some(value) = scaled(word) {
        return Some((value, true));
    }
    let end = word.find(|c: char| !c.is_ascii_digit())?;
    Some((number(&word[..end])?, false))
}

/// Is it a state that is not known here, before three counts?
fn is_row(state: &str, counts: [&str; 3]) -> bool {
    state.len() > 2
        && state.bytes().all(|letter| letter.is_ascii_uppercase() || letter == b'_')
        && counts.iter().all(|word| count(word).is_some())
}

pub(super) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let section = parsed.plain_section(&HEADING[1..]);
    let mut is_under = false;
    while lines.advance()? {
        let text = lines.line();
        let mut rest: &[&str] = &text.split_whitespace().collect::<Vec<&str>>();
        while !rest.is_empty() {
            if rest.starts_with(&HEADING) {
                is_under = parsed.block(section, When::Next, true);
                rest = &rest[HEADING.len()..];
                continue;
            }
            match rest {
                [name, state, read, write, sums, more @ ..]
                    if is_under && (STATES.contains(state) || is_row(state, [read, write, sums])) =>
                {
                    let counts = [count(read), count(write), count(sums)];
                    let [Some((read, true)), Some((write, true)), Some((sums, is_whole))] = counts else {
                        return Err(lines.malformed(format!("has no three counts behind {name} {state}")));
                    };
                    let figures = [read, write, sums].map(Cell::Number);
                    parsed.row(section, name, &[&[Cell::Text((*state).to_string())][..], &figures].concat());
                    is_under = is_whole;
                    rest = more;
                }
                [_, more @ ..] => rest = more,
                [] => {}
            }
        }
    }
    Ok(())
}
