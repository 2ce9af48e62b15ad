//! Files that were read most, by count and by bytes, logically and from the device: rfileio of the DTrace toolkit.

use crate::ImportError;
use crate::source::Lines;
use crate::text::parsed_file::{Cell, ParsedFile};
use crate::text::timestamp::When;
use crate::text::words::number;

pub(in crate::text) fn sniff(head: &str) -> bool {
    head.lines().any(|line| title(line).is_some())
}

/// `Read IOPS, top 20 (count)`.
fn title(line: &str) -> Option<(&str, &str)> {
    let (what, rest) = line.trim().split_once(", top ")?;
    let unit = rest.split_once('(')?.1.strip_suffix(')')?;
    ["Read IOPS", "Read Bandwidth", "Write IOPS", "Write Bandwidth"].contains(&what).then_some((what, unit))
}

pub(in crate::text) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut under: Option<String> = None;
    while lines.advance()? {
        let text = lines.line();
        if let Some((what, unit)) = title(&text) {
            under = Some(format!("{what} ({unit})"));
            for level in ["logical", "physical"] {
                let name = format!("{what} ({unit}), {level}");
                let section = parsed.plain_section(&[name.as_str()]);
                parsed.block(section, When::Next, true);
            }
        } else if let Some((what, percent)) = text.split_once("miss-rate:") {
            let Some(value) = number(percent.trim().trim_end_matches('%')) else {
                return Err(lines.malformed(format!("`{}` is no miss rate", percent.trim())));
            };
            let name = format!("{} miss-rate (%)", what.trim());
            let section = parsed.plain_section(&[name.as_str()]);
            parsed.block(section, When::Next, true);
            parsed.row(section, "", &[Cell::Number(value)]);
        } else if let Some(what) = under.as_ref().filter(|_| !text.trim().is_empty()) {
            // A path may hold blanks; more of them stand between the columns.
            let last = |text: &'_ str| {
                text.rsplit_once([' ', '\t']).map(|(rest, last)| (rest.trim_end().to_string(), last.to_string()))
            };
            let row = last(text.trim()).and_then(|(rest, value)| Some((last(&rest)?, number(&value))));
            match row {
                Some(((path, level), Some(value))) if ["logical", "physical"].contains(&level.as_str()) => {
                    let name = format!("{what}, {level}");
                    let section = parsed.plain_section(&[name.as_str()]);
                    parsed.row(section, path.trim(), &[Cell::Number(value)]);
                }
                _ if lines.may_be_cut() => parsed.note(&format!("line {} is cut off, and left out", lines.number())),
                _ => return Err(lines.malformed("is not a file, `logical` or `physical`, and a number".to_string())),
            }
        } else {
            parsed.tally("lines that are not rfileio's (messages, prompts) left out");
        }
    }
    Ok(())
}
