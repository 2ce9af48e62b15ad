//! `ss`: sockets with their queues; what stands below a socket in `name:value` form (-i) belongs to it.

use super::parsed_file::{Cell, ParsedFile};
use super::timestamp::When;
use super::words::{command, number};
use crate::ImportError;
use crate::source::Lines;

pub(super) fn sniff(head: &str) -> bool {
    head.lines().any(is_heading)
}

fn is_heading(line: &str) -> bool {
    line.contains("Recv-Q") && line.contains("Send-Q") && line.contains("Local Address")
}

pub(super) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut socket: Option<String> = None;
    let (mut is_open, mut queues_at) = (false, 1);
    while lines.advance()? {
        let text = lines.line();
        if is_heading(&text) {
            // -a of several kinds has the kind before the state.
            queues_at = text.split_whitespace().position(|word| word == "Recv-Q").unwrap_or(1);
            (socket, is_open) = (None, true);
            for name in ["Recv-Q Send-Q", "ss"] {
                let columns: Vec<&str> = name.split(' ').collect();
                if name != "ss" {
                    let section = parsed.plain_section(&columns);
                    parsed.block(section, When::Next, true);
                }
            }
        } else if command(&text, "ss").is_some() || !is_open {
            parsed.tally("lines that are not those of ss (messages, prompts) left out");
        } else if text.starts_with([' ', '\t']) {
            if let Some(socket) = &socket {
                details(parsed, socket, &text);
            }
        } else {
            socket = row(lines, parsed, &text, queues_at)?;
        }
    }
    Ok(())
}

fn row(lines: &Lines, parsed: &mut ParsedFile, text: &str, queues_at: usize) -> Result<Option<String>, ImportError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let queues = words.get(queues_at..queues_at + 2).map(|queues| [number(queues[0]), number(queues[1])]);
    let (Some([Some(received), Some(sent)]), true) = (queues, words.len() >= queues_at + 4) else {
        if lines.may_be_cut() {
            parsed.note(&format!("line {} is cut off, and left out", lines.number()));
            return Ok(None);
        }
        return Err(lines.malformed("has no two queues and two addresses".to_string()));
    };
    let kind = words[..queues_at].join(" ");
    let name = format!("{kind} {} {}", words[queues_at + 2], words[queues_at + 3]);
    let section = parsed.plain_section(&["Recv-Q", "Send-Q"]);
    parsed.row(section, &name, &[Cell::Number(received), Cell::Number(sent)]);
    Ok(Some(name))
}

fn details(parsed: &mut ParsedFile, socket: &str, text: &str) {
    for word in text.split_whitespace() {
        let (name, cell) = match word.split_once(':') {
            Some((name, value)) => (name, number(value).map_or_else(|| Cell::Text(value.to_string()), Cell::Number)),
            None => (word, Cell::Text("yes".to_string())),
        };
        let section = parsed.plain_section(&[name]);
        if !parsed.has_no(section, socket) {
            parsed.block(section, When::Next, true);
        }
        parsed.row(section, socket, &[cell]);
    }
}
