//! What `time` says of a command: real, user and sys, in seconds. The command stands before it, behind a prompt.

use crate::ImportError;
use crate::source::Lines;
use crate::text::parsed_file::{Cell, ParsedFile};
use crate::text::timestamp::When;
use crate::text::words::number;

const NAMES: [&str; 3] = ["real", "user", "sys"];

/// `1m5.420s`, `2:33.7`, `1:02:03`, `4.071`, in seconds.
fn seconds(word: &str) -> Option<f64> {
    let word = word.strip_suffix('s').unwrap_or(word);
    let (minutes, rest) = match word.split_once(['m', ':']) {
        Some((minutes, rest)) => (number(minutes)?, rest),
        None => (0.0, word),
    };
    match rest.split_once(':') {
        Some((more, rest)) => Some((minutes * 60.0 + number(more)?) * 60.0 + number(rest)?),
        None => Some(minutes * 60.0 + number(rest)?),
    }
}

/// One of the three lines: which, and what it says.
fn row(line: &str) -> Option<(usize, &str)> {
    let mut words = line.split_whitespace();
    let (name, value, rest) = (words.next()?, words.next()?, words.next());
    let at = NAMES.iter().position(|known| *known == name)?;
    (rest.is_none() && value.starts_with(|c: char| c.is_ascii_digit())).then_some((at, value))
}

pub(in crate::text) fn sniff(head: &str) -> bool {
    let has = |wanted: usize| head.lines().filter_map(row).any(|(at, value)| at == wanted && seconds(value).is_some());
    (0..NAMES.len()).all(has)
}

pub(in crate::text) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let section = parsed.plain_section(&["real (s)", "user (s)", "sys (s)"]);
    let (mut title, mut command) = (String::new(), String::new());
    let mut cells = vec![Cell::Missing; NAMES.len()];
    while lines.advance()? {
        let text = lines.line();
        let line = text.trim();
        if let Some((at, value)) = row(line) {
            let Some(value) = seconds(value) else {
                return Err(lines.malformed(format!("`{value}` is no time")));
            };
            cells[at] = Cell::Number(value);
            if !cells.contains(&Cell::Missing) {
                let thing = if title.is_empty() { command.clone() } else { format!("{title}: {command}") };
                parsed.block(section, When::Next, true);
                parsed.row(section, &thing, &cells);
                cells = vec![Cell::Missing; NAMES.len()];
            }
        } else if let Some((_, behind)) = line.split_once("time ").filter(|(before, _)| before.trim().len() <= 1) {
            command = behind.trim().to_string();
        } else if !line.is_empty() {
            // What it was measured on stands over several commands.
            title = line.to_string();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_of_shells() {
        for (word, expect) in [("1m5.420s", 65.42), ("2:33.7", 153.7), ("1:02:03", 3723.0), ("4.071", 4.071)] {
            assert!((seconds(word).unwrap() - expect).abs() < 1e-9, "{word}");
        }
        assert_eq!((seconds("soon"), seconds("1m")), (None, None));
    }
}
