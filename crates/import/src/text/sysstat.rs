//! The text of sysstat's tools that print a time with each line: mpstat, pidstat and sar, with all their headings.

use super::columns::{Subject, subject_of};
use super::parsed_file::{Cell, ParsedFile};
use super::timestamp::{SECOND_NS, When, of_day};
use super::words::{banner, cell, field, is_figure, number};
use crate::ImportError;
use crate::source::Lines;
use std::collections::BTreeSet;

/// Headings of first columns that name what a row is of.
const KEYS: [&str; 17] = [
    "BAT",
    "CPU",
    "NODE",
    "DEV",
    "IFACE",
    "INTR",
    "TTY",
    "BUS",
    "IN",
    "FAN",
    "TEMP",
    "FILESYSTEM",
    "MOUNTPOINT",
    "FCHOST",
    "NAME",
    "MHz",
    "SENSOR",
];

/// Headings of last columns that do: always, or with -p, -h and --pretty. The name may hold blanks.
const LAST_KEYS: [&str; 7] = ["DEV", "IFACE", "INTR", "FILESYSTEM", "MOUNTPOINT", "FCHOST", "DEVICE"];

/// Columns of text: numbers of USB devices are hexadecimal.
const TEXTS: [&str; 3] = ["idvendor", "idprod", "status"];

/// Columns whose figures may be below 0; elsewhere that is what tools print for what they may not know.
const SIGNED: [&str; 6] = ["drpm", "degC", "%temp", "inV", "%in", "cap/min"];

pub(super) fn sniff(head: &str) -> bool {
    head.lines().any(|line| {
        let Some(stamped) = Stamped::of(line) else { return false };
        let first = stamped.words.first().copied().unwrap_or_default();
        // nicstat begins lines with a time as well.
        let is_other =
            stamped.words.iter().any(|word| ["rKB/s", "RdKB", "rMbps", "RdMbps", "InKB", "InDG"].contains(word));
        stamped.is_heading()
            && !is_other
            && (KEYS.contains(&first)
                || stamped.words.last().is_some_and(|last| LAST_KEYS.contains(last))
                || ["UID", "USER", "PID"].contains(&first)
                || subject_of(&stamped.words).is_some()
                || stamped.words.iter().any(|word| word.contains("/s") || word.starts_with('%')))
    })
}

/// A line that begins with a time.
struct Stamped<'a> {
    when: When,
    words: Vec<&'a str>,
    /// The line behind the time.
    rest: &'a str,
}

impl<'a> Stamped<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let line = line.strip_prefix("# Time").map_or(line, |_| &line[2..]);
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let first = *words.first()?;
        let half = words.get(1).copied().filter(|word| ["AM", "PM"].contains(word));
        let when = if first == "Time" {
            When::Next
        } else if let Some(ns) = of_day(first, half) {
            When::OfDay(ns)
        } else if first.len() >= 9 && words.len() > 3 {
            // pidstat -h of old versions: seconds since 1970.
            When::Wall(first.parse::<i64>().ok()?.checked_mul(SECOND_NS)?)
        } else {
            return None;
        };
        words.drain(..1 + usize::from(half.is_some()));
        let skipped = line.find(first)? + first.len();
        let rest = line[skipped..].trim_start();
        let rest = half.map_or(rest, |half| rest.trim_start_matches(half).trim_start());
        Some(Self { when, words, rest })
    }

    /// No word of a heading is a figure; every row has at least one.
    fn is_heading(&self) -> bool {
        !self.words.is_empty() && !self.words.iter().any(|word| is_figure(word))
    }
}

/// What rows under a heading are.
enum Kind {
    /// Of a process or a thread: columns up to the command, which may hold blanks.
    Task { pid: usize, tid: Option<usize>, command: usize },
    /// Of what the first column names, or the end of the line, or both.
    Named { is_first: bool },
    /// Of the whole machine, or of what the heading names.
    Whole(&'static str),
}

struct Under {
    kind: Kind,
    width: usize,
    /// The section of rows, and that of rows which no table has a place for.
    section: usize,
    other: usize,
    /// That of all interrupts together.
    interrupts: Option<usize>,
    /// Columns that are figures, with their headings.
    columns: Vec<(usize, String)>,
    /// The column that is all that stands behind the others.
    tail: Option<usize>,
}

impl Under {
    fn of(words: &[&str], parsed: &mut ParsedFile) -> Self {
        let at = |name: &str| words.iter().position(|word| *word == name);
        let pid = at("PID").or_else(|| at("TGID"));
        if let (Some(pid), Some(command)) = (pid, at("Command")) {
            return Self::of_tasks(words, pid, command, parsed);
        }
        let (first, last) = (words.first().copied().unwrap_or_default(), words.last().copied().unwrap_or_default());
        let is_first = KEYS.contains(&first);
        let tail = match last {
            "product" => at("manufact"),
            "status" => Some(words.len() - 1),
            last => (LAST_KEYS.contains(&last) && words.len() > 1).then(|| words.len() - 1),
        };
        let to = tail.map_or(words.len(), |tail| tail + usize::from(last == "status"));
        let columns: Vec<usize> = (usize::from(is_first)..to).collect();
        let names: Vec<&str> = columns.iter().map(|at| words[*at]).collect();
        let is_named = is_first || to < words.len();
        let subject = subject(first, last, &names, is_named);
        let resource = match names.iter().find_map(|name| name.strip_prefix("%s").or(name.strip_prefix("%f"))) {
            Some(name) if subject == Some(Subject::Pressure) && name.starts_with("cpu") => "cpu",
            Some(name) if subject == Some(Subject::Pressure) && name.starts_with("mem") => "memory",
            Some(_) if subject == Some(Subject::Pressure) => "io",
            _ => "",
        };
        let kind = if is_named { Kind::Named { is_first } } else { Kind::Whole(resource) };
        let key = if is_first { first } else { last };
        let section = match subject {
            Some(_) => parsed.section(&names, subject),
            None => parsed.plain_section_of(if is_named { key } else { "" }, &names),
        };
        let other =
            if subject == Some(Subject::System) && is_named { parsed.plain_section_of(key, &names) } else { section };
        let is_sum = key == "INTR" && names.first().is_some_and(|name| ["all", "intr/s"].contains(name));
        let interrupts = is_sum.then(|| parsed.section(&["intr/s"], Some(Subject::System)));
        let columns = columns.into_iter().map(|at| (at, words[at].to_string())).collect();
        Self { kind, width: words.len(), section, other, interrupts, columns, tail }
    }

    fn of_tasks(words: &[&str], pid: usize, command: usize, parsed: &mut ParsedFile) -> Self {
        let tid = words.iter().position(|word| *word == "TID");
        let columns: Vec<usize> = (0..command).filter(|at| *at != pid && Some(*at) != tid).collect();
        let names: Vec<&str> = columns.iter().map(|at| words[*at]).collect();
        parsed.leaves_out_idle = true;
        let section = parsed.section(&names, Some(Subject::Process));
        let mut of_threads = names.clone();
        of_threads.push("(threads)");
        let other = parsed.section(&of_threads, None);
        let columns = columns.into_iter().map(|at| (at, words[at].to_string())).collect();
        let kind = Kind::Task { pid, tid, command };
        Self { kind, width: words.len(), section, other, interrupts: None, columns, tail: Some(command) }
    }
}

/// What a section of sar is about; one that no table has a place for may have headings like those of another.
fn subject(first: &str, last: &str, names: &[&str], is_named: bool) -> Option<Subject> {
    let other = ["NODE", "INTR", "TTY", "BUS", "FAN", "TEMP", "IN", "BAT", "FILESYSTEM", "MOUNTPOINT", "FCHOST"];
    // Calls of NFS are sent again as well; the transfers of all devices together are those of none.
    let is_nfs = names.iter().any(|name| ["call/s", "scall/s"].contains(name));
    if other.contains(&first) || other.contains(&last) || is_nfs {
        return None;
    }
    subject_of(names).filter(|subject| is_named || *subject != Subject::Disk)
}

pub(super) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut under: Option<Under> = None;
    // Sections that had a heading since the machine was restarted; none: it was not.
    let mut since_restart: Option<BTreeSet<usize>> = None;
    while lines.advance()? {
        let text = lines.line();
        if banner(&text, parsed) || text.starts_with("Average:") || text.starts_with("Summary:") {
            continue;
        }
        let Some(stamped) = Stamped::of(&text) else {
            if text.trim_start().starts_with(|c: char| c.is_ascii_digit()) && under.is_some() && !lines.may_be_cut() {
                return Err(lines.malformed("begins with no time that sysstat writes".to_string()));
            }
            parsed.tally("lines that are not sysstat's (messages, prompts) left out");
            continue;
        };
        if stamped.words.contains(&"RESTART") {
            parsed.note("the machine was restarted in between: what happened until the next heading is not known");
            since_restart = Some(BTreeSet::new());
        } else if stamped.words.first() == Some(&"COM") {
            parsed.tally("comments left out");
        } else if stamped.is_heading() {
            let fresh = Under::of(&stamped.words, parsed);
            for section in [Some(fresh.section), Some(fresh.other), fresh.interrupts].into_iter().flatten() {
                if stamped.when != When::Next {
                    let is_restarted = since_restart.as_mut().is_some_and(|seen| seen.insert(section));
                    parsed.since(section, stamped.when, is_restarted);
                }
            }
            under = Some(fresh);
        } else if let Some(under) = &under {
            row(lines, parsed, under, &stamped)?;
        } else {
            parsed.tally("rows before the first heading left out");
        }
    }
    Ok(())
}

fn row(lines: &Lines, parsed: &mut ParsedFile, under: &Under, stamped: &Stamped<'_>) -> Result<(), ImportError> {
    let words = &stamped.words;
    let is_task = matches!(under.kind, Kind::Task { .. });
    let is_short = match under.tail {
        // Makers of USB devices need not name them.
        Some(tail) if tail + 1 < under.width => words.len() < tail,
        _ => words.len() < under.width,
    };
    if is_short || (words.len() > under.width && under.tail.is_none()) {
        if lines.may_be_cut() {
            parsed.note(&format!("line {} is cut off, and left out", lines.number()));
            return Ok(());
        }
        return Err(lines.malformed(format!("has {} fields under {} headings", words.len(), under.width)));
    }
    let (section, thing) = thing_of(under, stamped);
    let mut cells = Vec::with_capacity(under.columns.len());
    for (at, heading) in &under.columns {
        let cell = match under.tail {
            Some(tail) if tail == *at => Cell::Text(name_of(stamped.rest, tail).to_string()),
            _ if TEXTS.contains(&heading.as_str()) => Cell::Text(words[*at].to_string()),
            _ if SIGNED.contains(&heading.as_str()) => {
                number(words[*at]).map_or_else(|| cell(words[*at]), Cell::Number)
            }
            _ => field(heading, words[*at]),
        };
        match cell {
            // Names of policies, and of users with -U.
            Cell::Text(text) if !is_task && !TEXTS.contains(&heading.as_str()) => {
                return Err(lines.malformed(format!("`{text}` stands where a number is expected")));
            }
            cell => cells.push(cell),
        }
    }
    if let Some(interrupts) = under.interrupts.filter(|_| thing == "sum")
        && parsed.continued(interrupts, stamped.when, false)
    {
        parsed.row(interrupts, "", &cells[..1]);
    }
    if parsed.continued(section, stamped.when, false) {
        parsed.row(section, &thing, &cells);
    }
    Ok(())
}

/// The section that a row belongs to, and what it is of.
fn thing_of(under: &Under, stamped: &Stamped<'_>) -> (usize, String) {
    let words = &stamped.words;
    match &under.kind {
        Kind::Task { pid, tid, command } => {
            let name = name_of(stamped.rest, *command);
            match (words[*pid], tid.map(|tid| words[tid])) {
                (pid, None | Some("-")) => (under.section, format!("{pid} {name}")),
                (_, Some(tid)) => (under.other, format!("{tid} {name}")),
            }
        }
        Kind::Named { .. } if under.other != under.section && !["all", "sum"].contains(&words[0]) => {
            (under.other, words[0].to_string())
        }
        Kind::Named { .. } if under.other != under.section => (under.section, String::new()),
        Kind::Named { is_first } => {
            let is_column = |tail: &usize| under.columns.iter().any(|(at, _)| at == tail);
            let tail = under.tail.filter(|tail| !is_column(tail)).map_or("", |tail| name_of(stamped.rest, tail));
            let name = if *is_first { format!("{} {tail}", words[0]) } else { tail.to_string() };
            (under.section, name.trim().to_string())
        }
        Kind::Whole(resource) => (under.section, (*resource).to_string()),
    }
}

/// The command: all that stands behind the other columns.
fn name_of(rest: &str, columns: usize) -> &str {
    let mut rest = rest.trim();
    for _ in 0..columns {
        rest = rest.find(char::is_whitespace).map_or("", |at| rest[at..].trim_start());
    }
    rest.trim_start_matches("|__")
}
