//! Names with values, one snapshot each: `vmstat -s`, `netstat -s` of Linux and Solaris, `nstat`.

use super::parsed_file::{Cell, ParsedFile};
use super::timestamp::When;
use super::words::number;

/// Is it the output of `vmstat -s`?
pub(super) fn is_vmstat_s(head: &str) -> bool {
    head.contains("K total memory") || head.contains("vmstat -s")
}

/// Takes a line of `vmstat -s`: numbers with names behind them, several where line breaks were lost.
pub(super) fn vmstat_s(line: &str, parsed: &mut ParsedFile) -> bool {
    let mut found: Vec<(String, f64)> = Vec::new();
    let mut rest = line.find(|c: char| c.is_ascii_digit()).map_or("", |at| &line[at..]);
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()) {
        let Some(value) = number(&rest[..end]) else { break };
        let names = &rest[end..];
        let next = names.find(|c: char| c.is_ascii_digit()).unwrap_or(names.len());
        found.push((names[..next].trim().to_string(), value));
        rest = &names[next..];
    }
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || " -/,()".contains(c));
    if found.is_empty() || !found.iter().all(|(name, _)| is_name(name)) {
        return false;
    }
    for (name, value) in found {
        add(parsed, &name, value);
    }
    true
}

/// One value with its name: a section of its own, for a snapshot has one row.
fn add(parsed: &mut ParsedFile, name: &str, value: f64) {
    let section = parsed.section(&[name], None);
    if parsed.block(section, When::Next, true) {
        parsed.row(section, "", &[Cell::Number(value)]);
    }
}
