//! netperf's stream tests: sizes, time and throughput, in bit/s whatever unit was asked for.

use crate::ImportError;
use crate::source::Lines;
use crate::text::parsed_file::{Cell, ParsedFile};
use crate::text::timestamp::When;
use crate::text::words::number;

/// Stands in the line before each result.
const TEST: &str = "TEST from ";

const COLUMNS: [&str; 5] =
    ["receive socket (bytes)", "send socket (bytes)", "message (bytes)", "elapsed (s)", "throughput (bit/s)"];

pub(in crate::text) fn sniff(head: &str) -> bool {
    head.contains(TEST) && head.contains("STREAM") && head.contains("Throughput")
}

/// Bits in netperf's units of throughput (-f).
fn unit(word: &str) -> Option<f64> {
    Some(match word {
        "10^3bits/sec" => 1e3,
        "10^6bits/sec" => 1e6,
        "10^9bits/sec" => 1e9,
        "KBytes/sec" => 8.0 * 1024.0,
        "MBytes/sec" => 8.0 * 1_048_576.0,
        "GBytes/sec" => 8.0 * 1_073_741_824.0,
        _ => return None,
    })
}

pub(in crate::text) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let (mut test, mut scale) = (String::new(), None);
    while lines.advance()? {
        // Blanks that do not break come from pages of the web.
        let text = lines.line().replace('\u{a0}', " ");
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some((before, behind)) = text.split_once(TEST) {
            let kind: Vec<&str> = before.split_whitespace().rev().take(2).collect();
            let to = behind.split_once(" to ").and_then(|(_, to)| to.split_whitespace().next()).unwrap_or("?");
            test = format!("{} TEST to {to}", kind.into_iter().rev().collect::<Vec<&str>>().join(" "));
            scale = None;
        } else if let Some(found) = words.last().and_then(|word| unit(word)) {
            scale = Some(found);
        } else if let Some(scale) = scale.filter(|_| !words.is_empty()) {
            let values: Vec<f64> = words.iter().filter_map(|word| number(word)).collect();
            if values.len() != COLUMNS.len() || words.len() != COLUMNS.len() {
                if words.iter().all(|word| number(word).is_none()) || lines.may_be_cut() {
                    parsed.tally("lines that are not netperf's (messages, prompts) left out");
                    continue;
                }
                return Err(lines.malformed("is not three sizes, a time and a throughput".to_string()));
            }
            let section = parsed.plain_section(&COLUMNS);
            parsed.block(section, When::Next, true);
            let cells: Vec<Cell> = values.iter().take(4).map(|value| Cell::Number(*value)).collect();
            parsed.row(section, &test, &[cells, vec![Cell::Number(values[4] * scale)]].concat());
        }
    }
    Ok(())
}
