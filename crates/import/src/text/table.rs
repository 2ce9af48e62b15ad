//! Any table: a heading without numbers, and rows of as many words. Never chosen by itself.

use super::parsed_file::{Cell, ParsedFile};
use super::timestamp::When;
use super::words::plain;
use crate::ImportError;
use crate::source::Lines;

pub(super) fn sniff(_: &str) -> bool {
    false
}

/// A number of either sign, also with an exponent, or a word for none.
fn figure(word: &str) -> Option<Cell> {
    let begins = word.trim_start_matches(['-', '+', '.']).starts_with(|letter: char| letter.is_ascii_digit());
    let with_exponent = || word.parse().ok().filter(|value: &f64| begins && value.is_finite()).map(Cell::Number);
    plain(word).or_else(with_exponent)
}

pub(super) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut headings: Vec<String> = Vec::new();
    while lines.advance()? {
        let text = lines.line();
        let words: Vec<&str> = text.split_whitespace().collect();
        let numbers = words.iter().filter(|word| figure(word).is_some()).count();
        if numbers == 0 && words.len() > 1 && words.len() != headings.len() {
            headings = words.into_iter().map(String::from).collect();
        } else if numbers > 0 && words.len() == headings.len() {
            // Words that are no numbers name the row.
            let name: Vec<&str> = words.iter().copied().filter(|word| figure(word).is_none()).collect();
            let columns: Vec<(&str, Cell)> = headings
                .iter()
                .zip(&words)
                .filter_map(|(heading, word)| Some((heading.as_str(), figure(word)?)))
                .collect();
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            let section = parsed.plain_section(&names);
            let name = name.join(" ");
            if !parsed.has_no(section, &name) {
                parsed.block(section, When::Next, true);
            }
            let cells: Vec<Cell> = columns.into_iter().map(|(_, cell)| cell).collect();
            parsed.row(section, &name, &cells);
        } else if numbers > 1 && !headings.is_empty() && !lines.may_be_cut() {
            return Err(lines.malformed(format!("has {} fields under {} headings", words.len(), headings.len())));
        } else {
            parsed.tally("lines that are neither headings nor rows left out");
        }
    }
    Ok(())
}
