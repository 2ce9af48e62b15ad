//! prstat of Solaris, and pstime: processes by name. Line breaks that were lost behind headings and before totals are put back.

use crate::ImportError;
use crate::source::Lines;
use crate::text::columns::Subject;
use crate::text::parsed_file::{Cell, ParsedFile};
use crate::text::timestamp::{SECOND_NS, When, of_day};
use crate::text::words::{cell, number, scaled};

/// Headings of the default view; -m and -L have others with the same ends.
const LAST: [&str; 2] = ["PROCESS/NLWP", "PROCESS/LWPID"];

/// Heading of pstime.
const PSTIME: &str = "UID PID %USR %SYS COMMAND";

pub(in crate::text) fn sniff(head: &str) -> bool {
    head.contains("USERNAME") && LAST.iter().any(|last| head.contains(last)) || is_pstime(head)
}

fn is_pstime(head: &str) -> bool {
    head.split_whitespace().collect::<Vec<&str>>().join(" ").contains(PSTIME)
}

pub(in crate::text) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut headings: Option<Vec<String>> = None;
    parsed.leaves_out_idle = true;
    while lines.advance()? {
        let mut text = lines.line();
        for last in LAST {
            text = text.replace(last, &format!("{last}\n"));
        }
        text = text.replace("Total:", "\nTotal:").replace("PID USERNAME", "\nPID USERNAME");
        text = text.replace(PSTIME, &format!("\n{PSTIME}\n"));
        for part in text.lines().map(str::trim).filter(|part| !part.is_empty()) {
            let words: Vec<&str> = part.split_whitespace().collect();
            let is_heading = LAST.iter().any(|last| words.last() == Some(last))
                || words == ["UID", "PID", "%USR", "%SYS", "COMMAND"];
            if is_heading && words.contains(&"PID") {
                headings = Some(words.into_iter().map(String::from).collect());
                let names = headings.clone().unwrap_or_default();
                let section = section(parsed, &names);
                parsed.block(section, When::Next, false);
            } else if words[0] == "Total:" {
                total(parsed, &words);
            } else if let Some(names) = &headings {
                rows(lines, parsed, names, &words)?;
            } else {
                parsed.tally("lines that are not prstat's (messages, prompts) left out");
            }
        }
    }
    Ok(())
}

/// Columns of a row that are figures.
fn figures(names: &[String]) -> Vec<usize> {
    let at = |name: &&str| names.iter().position(|found| found == name);
    let other: Vec<usize> = ["PID", "COMMAND"].iter().filter_map(at).collect();
    (0..names.len()).filter(|index| !other.contains(index)).collect()
}

fn section(parsed: &mut ParsedFile, names: &[String]) -> usize {
    let columns: Vec<&str> = figures(names)
        .into_iter()
        .map(|at| if LAST.contains(&names[at].as_str()) { "NLWP" } else { names[at].as_str() })
        .collect();
    let subject = if names.iter().any(|name| name == "PROCESS/LWPID") { None } else { Some(Subject::Process) };
    match subject {
        Some(_) => parsed.section(&columns, subject),
        None => parsed.plain_section(&columns),
    }
}

/// `Total: 1 processes, 45 lwps, load averages: 0.63, 0.33, 0.18`.
fn total(parsed: &mut ParsedFile, words: &[&str]) {
    let numbers: Vec<f64> = words.iter().filter_map(|word| number(word.trim_end_matches(','))).collect();
    if let [processes, threads, load, load_5m, load_15m] = numbers.as_slice() {
        let section = parsed.section(&["processes", "lwps", "ldavg-1", "ldavg-5", "ldavg-15"], Some(Subject::System));
        if parsed.block(section, When::Next, false) {
            let cells = [processes, threads, load, load_5m, load_15m].map(|value| Cell::Number(*value));
            parsed.row(section, "", &cells);
        }
    } else {
        parsed.tally("totals without the five figures of prstat left out");
    }
}

/// Rows, several behind each other where line breaks were lost.
fn rows(lines: &Lines, parsed: &mut ParsedFile, names: &[String], words: &[&str]) -> Result<(), ImportError> {
    let at = |name: &str| names.iter().position(|found| found == name);
    let (pid, command) = (at("PID").unwrap_or(0), at("COMMAND"));
    let width = names.len();
    let mut words: Vec<&str> = words.to_vec();
    if command.is_some() {
        unglue(parsed, &mut words, pid);
    }
    let mut rest = &words[..];
    while rest.len() >= width && number(rest[pid]).is_some() {
        // A command may hold blanks; it ends where the next process begins.
        let length = match command {
            Some(_) => (width..rest.len()).find(|at| begins(&rest[*at..], pid)).unwrap_or(rest.len()),
            None => width,
        };
        let (row, more) = rest.split_at(length);
        rest = more;
        let mut cells = Vec::with_capacity(width);
        for at in figures(names) {
            cells.push(if row[at] == LOST { Cell::Missing } else { field(&names[at], row[at]) });
        }
        let name = match command {
            Some(command) => row[command..].join(" "),
            None => row[width - 1].rsplit_once('/').map_or(row[width - 1], |(name, _)| name).to_string(),
        };
        let section = section(parsed, names);
        parsed.row(section, &format!("{} {name}", row[pid]), &cells);
    }
    if rest.is_empty() {
        return Ok(());
    }
    if lines.may_be_cut() {
        parsed.note(&format!("line {} is cut off, and left out", lines.number()));
    } else if rest.len() > 1 && number(rest[pid.min(rest.len() - 1)]).is_some() {
        return Err(lines.malformed(format!("has {} fields under {width} headings", rest.len())));
    } else {
        parsed.tally("lines that are not prstat's (messages, prompts) left out");
    }
    Ok(())
}

/// Stands for a user whose name is not known.
const LOST: &str = "\u{fffd}";

/// Where a line break was lost, the user of the next row is glued to the end of the command before, which is cut off: it is
/// known only where it is one that stood by itself.
fn unglue<'a>(parsed: &mut ParsedFile, words: &mut Vec<&'a str>, pid: usize) {
    let users: Vec<&'a str> =
        if begins(words, pid) { words.first().copied().into_iter().collect() } else { Vec::new() };
    let mut at = words.len();
    while at > 1 {
        at -= 1;
        if !begins(&words[at..], pid) {
            continue;
        }
        let glued = words[at];
        let user = users.iter().copied().find(|user| glued.ends_with(user));
        if user.is_none() {
            parsed.note(
                "line breaks were lost before users' names, which are glued to the command before: those are not known",
            );
        }
        words[at] = user.unwrap_or(LOST);
        let rest = &glued[..glued.len() - user.map_or(0, str::len)];
        if !rest.is_empty() {
            words.insert(at, rest);
        }
    }
}

/// Do these words begin a row of pstime: user, number, two shares?
fn begins(words: &[&str], pid: usize) -> bool {
    pid == 1 && words.len() >= 5 && words[1..4].iter().all(|word| number(word).is_some()) && number(words[0]).is_none()
}

/// `HH:MM:SS`, of as many hours as a process has used.
fn hours(word: &str) -> Option<f64> {
    let (hours, rest) = word.split_once(':')?;
    let hours: u32 = hours.parse().ok()?;
    let below_ns = of_day(&format!("0:{rest}"), None)?;
    Some(f64::from(hours) * 3600.0 + below_ns as f64 / SECOND_NS as f64)
}

/// prstat's counts in three letters: `999`, `12K` cut to thousands, and from 100,000 on `.3M`, which is three hundred
/// thousands (`.12M`, twelve of them).
fn count(word: &str) -> Option<f64> {
    if let Some(hundreds) = word.strip_prefix('.').and_then(|word| word.strip_suffix('M')) {
        return number(hundreds).map(|hundreds| hundreds * 1e5);
    }
    word.strip_suffix('K').map_or_else(|| number(word), |thousands| number(thousands).map(|thousands| thousands * 1e3))
}

/// A field in the unit of its heading: sizes in KiB, times in seconds, shares in per cent.
fn field(name: &str, word: &str) -> Cell {
    let value = match name {
        "SIZE" | "RSS" => scaled(word).map(|bytes| bytes / 1024.0),
        "TIME" => hours(word),
        "CPU" => word.strip_suffix('%').and_then(number),
        "VCX" | "ICX" | "SCL" | "SIG" => count(word),
        _ if LAST.contains(&name) => word.rsplit_once('/').and_then(|(_, threads)| number(threads)),
        _ => return cell(word),
    };
    value.map_or_else(|| Cell::Text(word.to_string()), Cell::Number)
}
