//! `nfsstat -m`: mounts and their options.

use crate::ImportError;
use crate::source::Lines;
use crate::text::parsed_file::{Cell, ParsedFile};
use crate::text::timestamp::When;
use crate::text::words::number;

pub(in crate::text) fn sniff(head: &str) -> bool {
    head.lines().any(|line| mount(line).is_some()) && head.lines().any(|line| line.trim_start().starts_with("Flags:"))
}

/// `/mnt/ar from 192.168.1.7:/export/ar`.
fn mount(line: &str) -> Option<(&str, &str)> {
    let (place, server) = line.split_once(" from ")?;
    (place.starts_with('/') && server.contains(':')).then(|| (place.trim(), server.trim()))
}

pub(in crate::text) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut place: Option<String> = None;
    while lines.advance()? {
        let text = lines.line();
        if let Some((found, server)) = mount(&text) {
            add(parsed, found, "server", Cell::Text(server.to_string()));
            place = Some(found.to_string());
            continue;
        }
        let options = text.trim().split_once(':').filter(|_| text.starts_with([' ', '\t']));
        match (&place, options) {
            (Some(place), Some((_, options))) => {
                for option in options.trim().split(',').filter(|option| !option.is_empty()) {
                    let (name, value) = option.split_once('=').unwrap_or((option, "yes"));
                    let cell = number(value).map_or_else(|| Cell::Text(value.to_string()), Cell::Number);
                    add(parsed, place, name.trim(), cell);
                }
            }
            _ if lines.may_be_cut() => parsed.note(&format!("line {} is cut off, and left out", lines.number())),
            _ => parsed.tally("lines that are not nfsstat's (messages, prompts) left out"),
        }
    }
    Ok(())
}

fn add(parsed: &mut ParsedFile, place: &str, name: &str, cell: Cell) {
    let section = parsed.plain_section(&[name]);
    if !parsed.has_no(section, place) {
        parsed.block(section, When::Next, true);
    }
    parsed.row(section, place, &[cell]);
}
