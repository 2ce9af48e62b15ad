//! vmstat of Linux (also -a, -w, -t, -S, -d, -s) and of Solaris, by the words of its headings.

use super::columns::Subject;
use super::pairs;
use super::parsed_file::{Cell, ParsedFile};
use super::timestamp::{SECOND_NS, When, dates, of_day};
use super::words::{cell, command, has_flag, is_utc, number};
use super::{Passed, passed};
use crate::ImportError;
use crate::source::Lines;

/// Headings of the group of CPUs, which stands last; `sy` stands for system calls before it, on Solaris.
const OF_CPU: [&str; 6] = ["us", "sy", "id", "wa", "st", "gu"];
const OF_SYSTEM: [&str; 6] = ["r", "b", "w", "in", "sy", "cs"];
/// Columns whose unit -S sets.
const OF_UNIT: [&str; 8] = ["swpd", "free", "buff", "cache", "inact", "active", "si", "so"];
/// Headings of -d, which has two of each kind.
const OF_DISKS: [&str; 10] = [
    "reads",
    "reads merged",
    "reads sectors",
    "reads ms",
    "writes",
    "writes merged",
    "writes sectors",
    "writes ms",
    "cur",
    "sec",
];

pub(super) fn sniff(head: &str) -> bool {
    head.lines().any(|line| heading(line).is_some() || is_disks(line)) || pairs::is_vmstat_s(head)
}

fn is_disks(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words == ["total", "merged", "sectors", "ms", "total", "merged", "sectors", "ms", "cur", "sec"]
}

/// The words of the second heading line, and what stands behind them where line breaks were lost.
fn heading(line: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let from = words.windows(2).position(|pair| pair == ["r", "b"])?;
    let numbers = words[from..].iter().position(|word| number(word).is_some());
    let to = numbers.map_or(words.len(), |count| from + count);
    let names = words[from..to].to_vec();
    let is_one = ["us", "sy", "id"].iter().all(|name| names.contains(name)) && names.contains(&"free");
    is_one.then(|| (names, words[to..].to_vec()))
}

/// The columns of one group.
struct Group {
    section: usize,
    thing: &'static str,
    at: Vec<usize>,
}

struct Layout {
    width: usize,
    /// Date and time stand behind the columns.
    is_stamped: bool,
    is_utc: bool,
    groups: Vec<Group>,
    /// By column.
    is_sized: Vec<bool>,
}

impl Layout {
    fn of(names: &[&str], parsed: &mut ParsedFile) -> Self {
        let cpu_from = names.iter().position(|name| *name == "us").unwrap_or(names.len());
        let columns = names.iter().rposition(|name| OF_CPU.contains(name)).map_or(names.len(), |last| last + 1);
        let disks_from = names.iter().position(|name| *name == "sr").map_or(usize::MAX, |at| at + 1);
        let faults_from = names.iter().rposition(|name| *name == "in").unwrap_or(cpu_from);
        let group = |at: usize| match names[at] {
            _ if at >= cpu_from => 0,
            name if OF_SYSTEM.contains(&name) && (at < 3 || at >= faults_from) => 1,
            _ if (disks_from..faults_from).contains(&at) => 3,
            _ => 2,
        };
        let kinds = [Some(Subject::Cpu), Some(Subject::System), Some(Subject::Memory), None];
        let mut groups = Vec::new();
        for (number, subject) in kinds.into_iter().enumerate() {
            let at: Vec<usize> = (0..columns).filter(|at| group(*at) == number).collect();
            let of: Vec<&str> = at.iter().map(|at| names[*at]).collect();
            if !at.is_empty() {
                let thing = if number == 0 { "all" } else { "" };
                groups.push(Group { section: parsed.section(&of, subject), thing, at });
            }
        }
        let is_sized = names.iter().take(columns).map(|name| OF_UNIT.contains(name)).collect();
        // -t: the zone's name is the heading of date and time.
        let is_utc = names.get(columns).is_some_and(|zone| is_utc(zone));
        Self { width: columns, is_stamped: names.len() > columns, is_utc, groups, is_sized }
    }
}

/// KiB of vmstat's unit, by the letter behind -S.
fn unit(command: &[&str]) -> Option<f64> {
    let letter = command.iter().enumerate().find_map(|(at, word)| {
        let rest = word.strip_prefix('-')?.split_once('S')?.1;
        if rest.is_empty() { command.get(at + 1).copied() } else { Some(rest) }
    })?;
    match letter {
        "k" => Some(1000.0 / 1024.0),
        "K" => Some(1.0),
        "m" => Some(1e6 / 1024.0),
        "M" => Some(1024.0),
        _ => None,
    }
}

pub(super) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut layout: Option<Layout> = None;
    let (mut kib, mut is_first, mut in_disks) = (None, true, false);
    while lines.advance()? {
        let text = lines.line();
        if let Some(command) = command(&text, "vmstat") {
            (is_first, kib) = (!has_flag(&command, 'y'), unit(&command));
            if pairs::vmstat_s(&text, parsed) {
                continue;
            }
        } else if is_disks(&text) {
            in_disks = true;
            let section = parsed.section(&OF_DISKS, Some(Subject::Disk));
            parsed.block(section, When::Next, true);
        } else if let Some((names, rest)) = heading(&text) {
            in_disks = false;
            let fresh = Layout::of(&names, parsed);
            let width = fresh.width + 2 * usize::from(fresh.is_stamped);
            if rest.len() % width != 0 {
                let what = format!("has {} numbers behind its {width} headings: line breaks were lost", rest.len());
                return Err(lines.malformed(what));
            }
            for row in rest.chunks(width) {
                add(lines, parsed, &fresh, row, kib, &mut is_first)?;
            }
            layout = Some(fresh);
        } else {
            let words: Vec<&str> = text.split_whitespace().collect();
            if in_disks && words.len() == 11 && words[1..].iter().all(|word| number(word).is_some()) {
                let cells: Vec<Cell> = words[1..].iter().map(|word| cell(word)).collect();
                let section = parsed.section(&OF_DISKS, Some(Subject::Disk));
                parsed.row(section, words[0], &cells);
                continue;
            }
            let is_title =
                words.iter().any(|word| ["memory", "procs", "kthr", "disk-"].contains(word) || word.starts_with("--"));
            // Names of -s have the words of titles in them.
            if pairs::vmstat_s(&text, parsed) || is_title {
                continue;
            }
            let width = layout.as_ref().map_or(0, |layout| layout.width + 2 * usize::from(layout.is_stamped));
            match passed(lines, parsed, &words, (0, width))? {
                Passed::Over => {}
                Passed::Row => {
                    if let Some(layout) = &layout {
                        add(lines, parsed, layout, &words, kib, &mut is_first)?;
                    }
                }
            }
        }
    }
    if kib.is_none() && layout.is_some() {
        parsed.note(
            "vmstat: memory is taken to be in KiB, which is its default (-S changes it, and the heading does not tell)",
        );
    }
    Ok(())
}

fn add(
    lines: &Lines,
    parsed: &mut ParsedFile,
    layout: &Layout,
    words: &[&str],
    kib: Option<f64>,
    is_first: &mut bool,
) -> Result<(), ImportError> {
    let mut cells = Vec::with_capacity(layout.width);
    for (word, is_sized) in words.iter().zip(&layout.is_sized) {
        let value = number(word).ok_or_else(|| lines.malformed(format!("`{word}` is not a number")))?;
        let value = if *is_sized { value * kib.unwrap_or(1.0) } else { value };
        // Nothing that vmstat prints can be below 0: it is what an overflow leaves.
        cells.push(if value < 0.0 { Cell::Missing } else { Cell::Number(value) });
    }
    let when = if layout.is_stamped {
        let stamp = match words {
            [.., date, time] => of_day(time, None).zip(dates(date).first().copied()),
            _ => None,
        };
        let (ns, day) = stamp.ok_or_else(|| lines.malformed("ends without date and time".to_string()))?;
        let at = day + ns / SECOND_NS * SECOND_NS;
        if layout.is_utc { When::Wall(at) } else { When::Local(at, 0) }
    } else {
        When::Next
    };
    for group in &layout.groups {
        if parsed.block(group.section, when, *is_first) {
            let of: Vec<Cell> = group.at.iter().map(|at| cells.get(*at).cloned().unwrap_or(Cell::Missing)).collect();
            parsed.row(group.section, group.thing, &of);
        }
    }
    *is_first = false;
    Ok(())
}
