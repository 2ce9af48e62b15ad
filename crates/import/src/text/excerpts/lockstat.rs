//! What the kernel did, function by function: lockstatI's table of the profiling interrupt of Solaris' lockstat.

use crate::ImportError;
use crate::source::Lines;
use crate::text::parsed_file::{Cell, ParsedFile};
use crate::text::timestamp::When;
use crate::text::words::number;

const HEADING: &str = "Profiling interrupt:";

pub(in crate::text) fn sniff(head: &str) -> bool {
    // A script that looks for it has no number there.
    head.split(HEADING).skip(1).any(|rest| rest.split_whitespace().next().and_then(number).is_some())
}

pub(in crate::text) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let section = parsed.plain_section(&["Count", "%", "cuml%"]);
    let mut has_heading = false;
    while lines.advance()? {
        let text = lines.line();
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some(at) = text.find(HEADING) {
            // Profiling interrupt: 4217985 events in 60.639 seconds (69559 events/sec)
            let figures: Vec<f64> =
                text[at..].split_whitespace().filter_map(|word| number(word.trim_matches(['(', ')']))).collect();
            let [events, seconds, per_s] = figures[..] else {
                return Err(lines.malformed("tells no events, seconds and events per second".to_string()));
            };
            let whole = parsed.plain_section(&["events", "seconds", "events/sec"]);
            parsed.block(whole, When::Next, true);
            parsed.row(whole, "profiling interrupt", &[events, seconds, per_s].map(Cell::Number));
            has_heading = parsed.block(section, When::Next, true);
        } else if let ([count, percent, sum, rest @ ..], true) = (words.as_slice(), has_heading)
            && !rest.is_empty()
        {
            let cells: Option<Vec<Cell>> =
                [count, percent, sum].iter().map(|word| Some(Cell::Number(number(word)?))).collect();
            match cells {
                Some(cells) => parsed.row(section, &rest.join(" "), &cells),
                None if lines.may_be_cut() => parsed.note(&format!("line {} is cut off, and left out", lines.number())),
                None => {
                    return Err(lines.malformed("is not a count, two shares and a function".to_string()));
                }
            }
        } else {
            parsed.tally("lines that are not lockstat's (messages, prompts) left out");
        }
    }
    Ok(())
}
