//! The text of sysstat's tools that print a time with each line: mpstat, pidstat and sar, with all their headings.

use super::columns::{Subject, subject_of};
use super::source::Lines;
use super::told::{Cell, Told};
use super::when::{SECOND_NS, When, of_day};
use super::words::{banner, cell, number};
use crate::ConvertError;

/// Headings of columns that name what a row is of.
const KEYS: [&str; 16] = [
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

    /// No word of a heading is a number; every row has at least one.
    fn is_heading(&self) -> bool {
        !self.words.is_empty() && self.words.iter().all(|word| number(word).is_none())
    }
}

/// What rows under a heading are.
enum Kind {
    /// Of a process or a thread: columns up to the command, which may hold blanks.
    Task { pid: usize, tid: Option<usize>, command: usize },
    /// Of what the first column names.
    Named,
    /// Of the whole machine, or of what the heading names.
    Whole(&'static str),
}

struct Under {
    kind: Kind,
    width: usize,
    /// The section of rows, and that of rows which no table has a place for.
    section: usize,
    other: usize,
    /// Columns that are figures.
    columns: Vec<usize>,
}

impl Under {
    fn of(words: &[&str], told: &mut Told) -> Self {
        let at = |name: &str| words.iter().position(|word| *word == name);
        let pid = at("PID").or_else(|| at("TGID"));
        if let (Some(pid), Some(command)) = (pid, at("Command")) {
            let columns: Vec<usize> = (0..command).filter(|at| ![pid, at_of(words, "TID")].contains(at)).collect();
            let names: Vec<&str> = columns.iter().map(|at| words[*at]).collect();
            let kind = Kind::Task { pid, tid: at("TID"), command };
            told.leaves_out_idle = true;
            let section = told.section(&names, Some(Subject::Process));
            let mut of_threads = names.clone();
            of_threads.push("(threads)");
            return Self { kind, width: words.len(), section, other: told.section(&of_threads, None), columns };
        }
        let first = words.first().copied().unwrap_or_default();
        let is_named = KEYS.contains(&first);
        let columns: Vec<usize> = (usize::from(is_named)..words.len()).collect();
        let names: Vec<&str> = columns.iter().map(|at| words[*at]).collect();
        let subject = match first {
            "NODE" | "INTR" | "TTY" | "BUS" | "FAN" | "TEMP" | "IN" | "FILESYSTEM" | "MOUNTPOINT" | "FCHOST" => None,
            _ => subject_of(&names),
        };
        let resource = match names.iter().find_map(|name| name.strip_prefix("%s").or(name.strip_prefix("%f"))) {
            Some(name) if subject == Some(Subject::Pressure) && name.starts_with("cpu") => "cpu",
            Some(name) if subject == Some(Subject::Pressure) && name.starts_with("mem") => "memory",
            Some(_) if subject == Some(Subject::Pressure) => "io",
            _ => "",
        };
        let kind = if is_named { Kind::Named } else { Kind::Whole(resource) };
        let mut of_others = vec![first];
        of_others.extend(&names);
        let section = match subject {
            Some(_) => told.section(&names, subject),
            None => told.plain_section(&of_others[usize::from(!is_named)..]),
        };
        let other = if subject == Some(Subject::System) && is_named { told.plain_section(&names) } else { section };
        Self { kind, width: words.len(), section, other, columns }
    }
}

fn at_of(words: &[&str], name: &str) -> usize {
    words.iter().position(|word| *word == name).unwrap_or(usize::MAX)
}

pub(super) fn read(lines: &mut Lines, told: &mut Told) -> Result<(), ConvertError> {
    let mut under: Option<Under> = None;
    while lines.advance()? {
        let text = lines.line();
        if banner(&text, told) || text.starts_with("Average:") || text.starts_with("Summary:") {
            continue;
        }
        let Some(stamped) = Stamped::of(&text) else {
            if text.trim_start().starts_with(|c: char| c.is_ascii_digit()) && under.is_some() && !lines.may_be_cut() {
                return Err(lines.malformed("begins with no time that sysstat writes".to_string()));
            }
            told.tally("lines that are not sysstat's (messages, prompts) left out");
            continue;
        };
        if stamped.words.contains(&"RESTART") {
            told.note("the machine was restarted in between: counters go on from where they were");
        } else if stamped.is_heading() {
            let fresh = Under::of(&stamped.words, told);
            for section in [fresh.section, fresh.other] {
                if stamped.when != When::Next {
                    told.since(section, stamped.when);
                }
            }
            under = Some(fresh);
        } else if let Some(under) = &under {
            row(lines, told, under, &stamped)?;
        } else {
            told.tally("rows before the first heading left out");
        }
    }
    Ok(())
}

fn row(lines: &Lines, told: &mut Told, under: &Under, stamped: &Stamped<'_>) -> Result<(), ConvertError> {
    let words = &stamped.words;
    let is_task = matches!(under.kind, Kind::Task { .. });
    if words.len() < under.width || (words.len() > under.width && !is_task) {
        if lines.may_be_cut() {
            told.note(&format!("line {} is cut off, and left out", lines.number()));
            return Ok(());
        }
        return Err(lines.malformed(format!("has {} fields under {} headings", words.len(), under.width)));
    }
    let (section, thing) = match &under.kind {
        Kind::Task { pid, tid, command } => {
            let name = name_of(stamped.rest, *command);
            match (words[*pid], tid.map(|tid| words[tid])) {
                (pid, None | Some("-")) => (under.section, format!("{pid} {name}")),
                (_, Some(tid)) => (under.other, format!("{tid} {name}")),
            }
        }
        Kind::Named if under.other != under.section && !["all", "sum"].contains(&words[0]) => {
            (under.other, words[0].to_string())
        }
        Kind::Named if under.other != under.section => (under.section, String::new()),
        Kind::Named => (under.section, words[0].to_string()),
        Kind::Whole(resource) => (under.section, (*resource).to_string()),
    };
    let mut cells = Vec::with_capacity(under.columns.len());
    for at in &under.columns {
        match cell(words[*at]) {
            // Names of policies, and of users with -U.
            Cell::Text(text) if !is_task => {
                return Err(lines.malformed(format!("`{text}` stands where a number is expected")));
            }
            cell => cells.push(cell),
        }
    }
    if told.continued(section, stamped.when, false) {
        told.row(section, &thing, &cells);
    }
    Ok(())
}

/// The command: all that stands behind the other columns.
fn name_of(rest: &str, columns: usize) -> &str {
    let mut rest = rest.trim();
    for _ in 0..columns {
        rest = rest.find(char::is_whitespace).map_or("", |at| rest[at..].trim_start());
    }
    rest.trim_start_matches("|__")
}
