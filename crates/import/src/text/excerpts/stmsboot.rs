//! Names of devices without and with multipathing: `stmsboot -L` of Solaris.

use crate::ImportError;
use crate::source::Lines;
use crate::text::parsed_file::{Cell, ParsedFile};
use crate::text::timestamp::When;

const HEADING: &str = "STMS device name";

pub(in crate::text) fn sniff(head: &str) -> bool {
    head.contains("non-STMS device name") && head.contains(HEADING)
}

pub(in crate::text) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let section = parsed.plain_section(&[HEADING]);
    let mut has_heading = false;
    while lines.advance()? {
        let text = lines.line();
        let words: Vec<&str> = text.split_whitespace().collect();
        if text.contains(HEADING) {
            has_heading = parsed.block(section, When::Next, true);
        } else if has_heading && words.first().is_some_and(|word| word.starts_with('/')) {
            match words.as_slice() {
                [path, name] => parsed.row(section, path, &[Cell::Text((*name).to_string())]),
                _ if lines.may_be_cut() => parsed.note(&format!("line {} is cut off, and left out", lines.number())),
                _ => return Err(lines.malformed("is not two names of devices".to_string())),
            }
        }
    }
    Ok(())
}
