//! iostat of Linux (sysstat: -x, -d, -s, -t, -N, -p, -k, -m, old and new columns) and of Solaris (-x, -n, -c, -z), by headings.

use super::columns::Subject;
use super::parsed_file::{Cell, ParsedFile};
use super::timestamp::{self, SECOND_NS, When, dates, month, of_day};
use super::words::{banner, command, field, has_flag, is_utc, number};
use super::{Passed, passed};
use crate::ImportError;
use crate::source::Lines;
use quantity::text::wall_ns_of;

pub(super) fn sniff(head: &str) -> bool {
    head.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        is_devices(&words) || words.first() == Some(&"avg-cpu:")
    })
}

/// The heading of devices, whose name stands first or last.
fn is_devices(words: &[&str]) -> bool {
    let name = |word: Option<&&str>| word.is_some_and(|word| ["Device", "Device:", "device"].contains(word));
    // -h prints a part of the columns at a time.
    let known = ["r/s", "w/s", "d/s", "f/s", "tps", "kB/s", "%util", "Blk_read/s"];
    let rates = words.iter().any(|word| known.contains(word));
    rates && (name(words.first()) || name(words.last()))
}

/// What the rows under the last heading are.
#[derive(Clone)]
enum Under {
    Nothing,
    Cpu { section: usize, width: usize },
    Devices { section: usize, width: usize, is_last: bool },
}

#[derive(Default)]
struct State {
    /// Sections that have begun since the last command.
    begun: Vec<usize>,
    /// -y: there is no mean since boot.
    is_plain: bool,
    now: Option<When>,
}

pub(super) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut state = State::default();
    let mut under = Under::Nothing;
    while lines.advance()? {
        let text = lines.line();
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some(command) = command(&text, "iostat") {
            state = State { is_plain: has_flag(&command, 'y'), ..State::default() };
            under = Under::Nothing;
        } else if banner(&text, parsed) {
            (state.begun, state.now) = (Vec::new(), None);
        } else if is_devices(&words) {
            let is_last = words.last() == Some(&"device") || words.last() == Some(&"Device");
            let columns = if is_last { &words[..words.len() - 1] } else { &words[1..] };
            let section = parsed.section(columns, Some(Subject::Disk));
            under = Under::Devices { section, width: words.len(), is_last };
            begin(parsed, section, &mut state);
        } else if words.first() == Some(&"avg-cpu:") || words == ["us", "sy", "wt", "id"] {
            let columns = if words[0] == "us" { &words[..] } else { &words[1..] };
            let section = parsed.section(columns, Some(Subject::Cpu));
            under = Under::Cpu { section, width: columns.len() };
            begin(parsed, section, &mut state);
        } else if words == ["cpu"] || text.trim_start().starts_with("extended device statistics") {
            // Headings over headings.
        } else if let Some(when) = stamp(&words, parsed) {
            state.now = Some(when);
        } else {
            let parted = parted(&words, &under);
            let words = parted.as_ref().map_or(&words, |parted| parted);
            row(lines, parsed, &under, words)?;
            if matches!(under, Under::Cpu { .. }) {
                under = Under::Nothing;
            }
        }
    }
    Ok(())
}

/// Solaris' columns have no blank between when figures are wide; each has one decimal, behind which it ends. `None`: the
/// row needs no parting, or that does not help.
fn parted<'a>(words: &[&'a str], under: &Under) -> Option<Vec<&'a str>> {
    let Under::Devices { width, is_last: true, .. } = under else { return None };
    let mut found: Vec<&str> = Vec::new();
    for word in words {
        let mut rest = *word;
        let is_row = rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        while is_row && rest.matches('.').count() > 1 {
            let (figure, more) = rest.split_at_checked(rest.find('.')? + 2)?;
            found.push(figure);
            rest = more;
        }
        found.push(rest);
    }
    (words.len() < *width && found.len() == *width).then_some(found)
}

fn begin(parsed: &mut ParsedFile, section: usize, state: &mut State) {
    let is_first = !state.begun.contains(&section);
    if is_first {
        state.begun.push(section);
    }
    parsed.block(section, state.now.unwrap_or(When::Next), is_first && !state.is_plain);
}

fn row(lines: &Lines, parsed: &mut ParsedFile, under: &Under, words: &[&str]) -> Result<(), ImportError> {
    let (section, thing, figures) = match under {
        Under::Nothing => {
            parsed.tally("lines that are not iostat's (messages, prompts) left out");
            return Ok(());
        }
        Under::Cpu { section, width } => match passed(lines, parsed, words, (0, *width))? {
            Passed::Row => (*section, "all", words),
            Passed::Over => return Ok(()),
        },
        Under::Devices { section, width, is_last } => {
            match passed(lines, parsed, words, (usize::from(!is_last), *width))? {
                Passed::Row if *is_last => (*section, words[words.len() - 1], &words[..words.len() - 1]),
                Passed::Row => (*section, words[0], &words[1..]),
                Passed::Over => return Ok(()),
            }
        }
    };
    let mut cells = Vec::with_capacity(figures.len());
    for (at, word) in figures.iter().enumerate() {
        match field(&parsed.sections[section].columns[at].name, word) {
            Cell::Text(text) => return Err(lines.malformed(format!("`{text}` stands where a number is expected"))),
            cell => cells.push(cell),
        }
    }
    parsed.row(section, thing.trim_end_matches(':'), &cells);
    Ok(())
}

/// A line with the time of what follows: of sysstat's -t (`11/20/26 10:27:20 PM`, ISO 8601), of Solaris' -T d and -T u.
pub(super) fn stamp(words: &[&str], parsed: &mut ParsedFile) -> Option<When> {
    match words {
        // -t of sysstat before 9: the time of day; the day stands in the first line.
        ["Time:", time] => Some(When::OfDay(of_day(time, None)?)),
        ["Time:", time, half @ ("AM" | "PM")] => Some(When::OfDay(of_day(time, Some(half))?)),
        [date, time] | [date, time, _] if date.contains(['/', '-', '.']) => {
            let ns = of_day(time, words.get(2).copied())?;
            match dates(date).as_slice() {
                [] => None,
                [day] => Some(When::Local(day + ns, 0)),
                several => {
                    if parsed.dates.is_empty() && parsed.date_ns.is_none() {
                        parsed.dates = several.to_vec();
                    }
                    Some(When::OfDay(ns))
                }
            }
        }
        [iso] if iso.contains('T') && iso.len() >= 19 => {
            let (date, time) = iso.split_once('T')?;
            timestamp::at(*dates(date).first()?, time)
        }
        [seconds] if seconds.len() >= 9 => Some(When::Wall(seconds.parse::<i64>().ok()?.checked_mul(SECOND_NS)?)),
        // Fri Nov 20 10:27:20 UTC 2026
        [_, name, day, time, zone @ .., year] => {
            let day = (month(name)?, number(day)?);
            #[expect(clippy::cast_possible_truncation, reason = "days of a month")]
            let midnight = wall_ns_of((year.parse().ok()?, day.0, day.1 as i64), (0, 0, 0))?;
            let at = midnight + of_day(time, None)?;
            Some(if zone.first().is_some_and(|zone| is_utc(zone)) { When::Wall(at) } else { When::Local(at, 0) })
        }
        _ => None,
    }
}
