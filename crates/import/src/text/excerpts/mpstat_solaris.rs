//! mpstat of Solaris, also -a and with decimals; there is no row for all CPUs, so one is made of those that were printed.

use crate::ImportError;
use crate::source::Lines;
use crate::text::columns::Subject;
use crate::text::parsed_file::{Cell, ParsedFile};
use crate::text::timestamp::When;
use crate::text::words::{cell, command, number};
use crate::text::{Passed, passed};
use std::collections::BTreeSet;

pub(in crate::text) fn sniff(head: &str) -> bool {
    head.lines().any(|line| is_heading(&line.split_whitespace().collect::<Vec<&str>>()))
}

fn is_heading(words: &[&str]) -> bool {
    ["CPU", "CPUs", "SET"].iter().any(|name| words.first() == Some(name))
        && ["minf", "mjf", "usr", "idl"].iter().all(|name| words.contains(name))
}

/// The block under way.
struct Under {
    section: usize,
    width: usize,
    kind: String,
    /// Sums over CPUs of each column, and their number.
    sums: Vec<f64>,
    count: f64,
    /// Numbers of the CPUs that were printed.
    shown: BTreeSet<u32>,
    is_open: bool,
}

impl Under {
    /// The row of all CPUs together: of what is a share of time, the mean.
    fn close(&mut self, parsed: &mut ParsedFile) {
        if self.count > 0.0 && self.is_open {
            let shares: Vec<bool> =
                parsed.sections[self.section].columns.iter().map(|column| !column.specs.is_empty()).collect();
            self.fill(parsed);
            let cells: Vec<Cell> = self
                .sums
                .iter()
                .zip(shares)
                .map(|(sum, is_share)| if is_share { Cell::Number(sum / self.count) } else { Cell::Missing })
                .collect();
            parsed.row(self.section, "all", &cells);
            parsed.cpus = Some(parsed.cpus.unwrap_or(0.0).max(self.count));
        }
        self.sums.iter_mut().for_each(|sum| *sum = 0.0);
        self.count = 0.0;
        self.shown.clear();
    }

    /// Where the user says how many CPUs there are: those that were not printed did nothing.
    fn fill(&mut self, parsed: &mut ParsedFile) {
        let Some(all) = parsed.all_cpus else { return };
        let columns = &parsed.sections[self.section].columns;
        let idle: Vec<Cell> =
            columns.iter().map(|column| Cell::Number(if column.name == "idl" { 100.0 } else { 0.0 })).collect();
        let missing = (all as usize).saturating_sub(self.shown.len());
        let names: Vec<u32> = (0..).filter(|cpu| !self.shown.contains(cpu)).take(missing).collect();
        for cpu in names {
            parsed.row(self.section, &cpu.to_string(), &idle);
            self.count += 1.0;
            for (sum, cell) in self.sums.iter_mut().zip(&idle) {
                *sum += if let Cell::Number(value) = cell { *value } else { 0.0 };
            }
        }
    }
}

pub(in crate::text) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut under: Option<Under> = None;
    let mut is_first = true;
    let mut highest: Option<u32> = None;
    while lines.advance()? {
        let text = lines.line();
        let words: Vec<&str> = text.split_whitespace().collect();
        if command(&text, "mpstat").is_some() {
            is_first = true;
        } else if is_heading(&words) {
            if let Some(under) = &mut under {
                under.close(parsed);
            }
            let section = parsed.section(&words[1..], Some(Subject::Cpu));
            // The heading of CPUs stands before each sample; that of sets and means, once in a while.
            let is_open = words[0] == "CPU" && parsed.block(section, When::Next, is_first);
            is_first &= words[0] != "CPU";
            let sums = vec![0.0; words.len() - 1];
            under = Some(Under {
                section,
                width: words.len(),
                kind: words[0].to_string(),
                sums,
                count: 0.0,
                shown: BTreeSet::new(),
                is_open,
            });
        } else if let Some(under) = &mut under {
            if matches!(passed(lines, parsed, &words, (0, under.width))?, Passed::Over) {
                continue;
            }
            let cells: Vec<Cell> = words[1..].iter().map(|word| cell(word)).collect();
            if let Some(at) = cells.iter().position(|cell| matches!(cell, Cell::Text(_))) {
                return Err(lines.malformed(format!("`{}` stands where a number is expected", words[at + 1])));
            }
            if under.kind == "CPU" {
                parsed.row(under.section, words[0], &cells);
                for (sum, cell) in under.sums.iter_mut().zip(&cells) {
                    *sum += if let Cell::Number(value) = cell { *value } else { 0.0 };
                }
                under.count += 1.0;
                let cpu = words[0].parse().ok();
                under.shown.extend(cpu);
                highest = highest.max(cpu);
            } else if parsed.block(under.section, When::Next, is_first) {
                is_first = false;
                parsed.cpus = parsed.cpus.or(number(words[0]).filter(|cpus| under.kind == "CPUs" && *cpus >= 1.0));
                parsed.row(under.section, "all", &cells);
            }
        } else {
            parsed.tally("lines that are not mpstat's (messages, prompts) left out");
        }
    }
    if let Some(under) = &mut under {
        under.close(parsed);
        if under.kind == "CPU" {
            parsed.note("mpstat of Solaris has no row for all CPUs: it was made of those that were printed");
            if parsed.all_cpus.is_none()
                && highest.is_some_and(|highest| f64::from(highest) >= parsed.cpus.unwrap_or(0.0))
            {
                parsed.note("not all CPUs were printed: shares of all of them are of those that were (--cpus says how many there are)");
            }
        }
    }
    Ok(())
}
