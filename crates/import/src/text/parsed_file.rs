//! What one file tells: sections with a heading each, their blocks in time, and figures of things in them.

use super::columns::{How, Spec, Subject, subject_of};
use super::timestamp::{Timeline, When};
use quantity::zone::LocalZone;
use recording::rows::Event;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// What times of events are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LogEpoch {
    /// 1970, UTC.
    #[default]
    Wall,
    /// The same, but the messages have no year.
    Yearless,
    /// Start of the machine.
    Boot,
}

/// One printed field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    /// The tool printed no value.
    Missing,
    Number(f64),
    Text(String),
}

impl Cell {
    /// The number, NaN when it is none.
    fn number(&self) -> f64 {
        match self {
            Self::Number(value) if value.is_finite() => *value,
            _ => f64::NAN,
        }
    }
}

/// A column of a section.
#[derive(Debug)]
pub(super) struct Column {
    /// As printed.
    pub(super) name: String,
    /// What it means for the table of the section's subject; none: it is a figure only.
    pub(super) specs: Vec<&'static Spec>,
}

impl Column {
    /// Is what it says in the table, all of it?
    pub(super) fn is_figure(&self) -> bool {
        self.specs.is_empty() || self.specs.iter().any(|spec| spec.keep)
    }
}

/// All rows of a section at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// When, on the section's timeline, ns (or numbers of samples).
    pub(super) at: i64,
    /// What it says is of no interval that is known: the mean since boot.
    pub(super) is_start: bool,
}

/// The values of one thing, row by row.
#[derive(Debug, Default)]
pub(super) struct Series {
    /// Number of the block of each row.
    pub(super) blocks: Vec<u32>,
    /// The figures of each row, one after the other; NaN where the tool printed none.
    pub(super) cells: Vec<f64>,
}

/// Rows under one heading.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) subject: Option<Subject>,
    pub(super) columns: Vec<Column>,
    pub(super) timeline: Timeline,
    pub(super) blocks: Vec<Block>,
    pub(super) series: BTreeMap<String, Series>,
    /// Text of fields that are no numbers: block, thing, column.
    pub(super) texts: Vec<(u32, String, usize, String)>,
    /// Was there a row in which nothing happened?
    has_idle_rows: bool,
    /// Has the block under way rows yet?
    has_rows: bool,
}

impl Section {
    /// Things that do nothing are left out of blocks: their absence is zero. Known of some tools; of others it shows in
    /// that the rows vary from block to block, and none of them is idle.
    pub(super) fn leaves_out_idle(&self) -> bool {
        let blocks = self.blocks.len();
        let varies = self.series.values().any(|series| series.blocks.len() < blocks);
        varies && !self.has_idle_rows
    }

    /// Has it figures that are of an interval?
    pub(super) fn has_rates(&self) -> bool {
        let is_rate = |spec: &&'static Spec| spec.how.fills() && !matches!(spec.how, How::Gauge(_) | How::Total(_));
        !self.series.is_empty() && self.columns.iter().any(|column| column.specs.iter().any(is_rate))
    }

    /// The usual distance of its blocks, in the timeline's unit.
    pub(super) fn usual_step(&self) -> Option<i64> {
        let pairs = self.blocks.windows(2).filter(|pair| !pair[1].is_start || self.blocks.len() == 2);
        let mut steps: Vec<i64> = pairs.map(|pair| pair[1].at - pair[0].at).filter(|step| *step > 0).collect();
        steps.sort_unstable();
        steps.get(steps.len() / 2).copied()
    }
}

/// The content of one file.
#[derive(Debug, Default)]
pub(super) struct ParsedFile {
    /// Name of the format.
    pub(super) tool: &'static str,
    /// What local times are of; `None`: they are taken for UTC.
    pub(super) zone: Option<Rc<LocalZone>>,
    pub(super) sections: Vec<Section>,
    /// By heading.
    known: HashMap<String, usize>,
    /// Things that happened, with the time on this clock.
    pub(super) events: Vec<(i64, Event)>,
    pub(super) event_clock: LogEpoch,
    pub(super) notes: BTreeSet<String>,
    /// How often something was passed over.
    pub(super) tallies: BTreeMap<String, u64>,
    /// CPUs of the machine.
    pub(super) cpus: Option<f64>,
    /// Day of the first time, UTC midnight in ns.
    pub(super) date_ns: Option<i64>,
    /// Candidates of a date that can be read in two ways.
    pub(super) dates: Vec<i64>,
    pub(super) host: Option<String>,
    /// All machines that it names.
    pub(super) hosts: BTreeSet<String>,
    /// The user says of which of them it is to be read.
    pub(super) wanted_host: Option<String>,
    /// What comes now is of another one.
    is_of_other: bool,
    pub(super) system: Option<String>,
    /// Things that are not printed do nothing.
    pub(super) leaves_out_idle: bool,
    /// The user says that its first sample is an interval like the others.
    pub(super) is_excerpt: bool,
    /// The user says how many CPUs there are.
    pub(super) all_cpus: Option<u32>,
}

/// Why a row or a message was left out.
pub(super) const OF_OTHERS: &str = "rows and messages of other machines left out";

/// Are these names of one machine: equal, or one of them with a domain behind it?
pub(super) fn is_same_host(a: &str, b: &str) -> bool {
    let begins = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
    a == b || begins(a, b) || begins(b, a)
}

impl ParsedFile {
    pub(super) fn new(tool: &'static str) -> Self {
        Self { tool, ..Self::default() }
    }

    /// What comes now is of this machine.
    pub(super) fn of_host(&mut self, name: &str) {
        // What a machine is called before it has a name.
        if ["", "localhost", "(none)", "-"].contains(&name) {
            return;
        }
        // With and without its domain it is the same one.
        let known = self.hosts.iter().find(|known| is_same_host(known, name)).cloned();
        let known = known.unwrap_or_else(|| name.to_string());
        self.is_of_other = self.wanted_host.as_ref().is_some_and(|wanted| !is_same_host(wanted, name));
        if !self.is_of_other {
            self.host = Some(known.clone());
        }
        self.hosts.insert(known);
    }

    /// Is what comes now of a machine that was not asked for?
    pub(super) fn is_of_other(&self) -> bool {
        self.is_of_other
    }

    /// The section of these headings; what it is about follows from them, unless `subject` says.
    pub(super) fn section(&mut self, headers: &[&str], subject: Option<Subject>) -> usize {
        self.section_of("", headers, subject.or_else(|| subject_of(headers)))
    }

    /// The section of these headings, which no table has a place for.
    pub(super) fn plain_section(&mut self, headers: &[&str]) -> usize {
        self.section_of("", headers, None)
    }

    /// The same, where `key` heads the names of what rows are of: other things have their own times.
    pub(super) fn plain_section_of(&mut self, key: &str, headers: &[&str]) -> usize {
        self.section_of(key, headers, None)
    }

    fn section_of(&mut self, key: &str, headers: &[&str], subject: Option<Subject>) -> usize {
        let key = format!("{subject:?} {key} {}", headers.join(" "));
        if let Some(index) = self.known.get(&key) {
            return *index;
        }
        let of = |header: &str| subject.map(|subject| subject.of(header)).unwrap_or_default();
        let filled = |key: &&str| headers.iter().any(|header| of(header).iter().any(|spec| spec.key == *key));
        let subject = subject.filter(|subject| subject.may_span_sections() || subject.required().iter().all(filled));
        let columns = headers
            .iter()
            .map(|header| Column {
                name: (*header).to_string(),
                specs: subject.map(|subject| subject.of(header)).unwrap_or_default(),
            })
            .collect();
        self.sections.push(Section {
            subject,
            columns,
            timeline: Timeline::of_zone(self.zone.as_ref()),
            blocks: Vec::new(),
            series: BTreeMap::new(),
            texts: Vec::new(),
            has_idle_rows: false,
            has_rows: false,
        });
        self.known.insert(key, self.sections.len() - 1);
        self.sections.len() - 1
    }

    /// The time before a section's first block, or its first since the machine was restarted, which some tools print with
    /// the heading.
    pub(super) fn since(&mut self, section: usize, when: When, is_restarted: bool) {
        if self.is_of_other {
            return;
        }
        let section = &mut self.sections[section];
        if !section.blocks.is_empty() && !is_restarted {
            return;
        }
        let at = section.timeline.at(when);
        if section.blocks.last().is_none_or(|last| at > last.at) {
            section.blocks.push(Block { at, is_start: true });
            section.has_rows = false;
        }
    }

    /// A block begins. `is_start`: its figures are of no interval that is known. Gives false, and the block is left out
    /// and counted, when it is no later than the one before.
    pub(super) fn block(&mut self, section: usize, when: When, is_start: bool) -> bool {
        if self.is_of_other {
            return false;
        }
        let section = &mut self.sections[section];
        let at = section.timeline.at(when);
        if section.blocks.last().is_some_and(|last| at <= last.at) {
            self.tally("blocks left out, because the one before has the same time or a later one");
            return false;
        }
        let is_start = is_start && !(self.is_excerpt && section.blocks.is_empty());
        section.blocks.push(Block { at, is_start });
        section.has_rows = false;
        true
    }

    /// A row at this time: its block begins, unless it is the one under way.
    pub(super) fn continued(&mut self, section: usize, when: When, is_start: bool) -> bool {
        let mine = &mut self.sections[section];
        let mut probe = mine.timeline.clone();
        let at = probe.at(when);
        let is_same = mine.blocks.last().is_some_and(|last| at == last.at) && mine.has_rows;
        is_same || self.block(section, when, is_start)
    }

    /// Is there a block under way, in which this thing has no row yet?
    pub(super) fn has_no(&self, section: usize, thing: &str) -> bool {
        let section = &self.sections[section];
        let last = section.blocks.len().checked_sub(1).and_then(|last| u32::try_from(last).ok());
        last.is_some() && section.series.get(thing).is_none_or(|series| series.blocks.last().copied() != last)
    }

    /// A row of the block under way; only the first one of a thing counts.
    pub(super) fn row(&mut self, section: usize, thing: &str, cells: &[Cell]) {
        if self.is_of_other {
            self.tally(OF_OTHERS);
            return;
        }
        let section = &mut self.sections[section];
        let Some(block) = section.blocks.len().checked_sub(1).and_then(|last| u32::try_from(last).ok()) else { return };
        let series = match section.series.get_mut(thing) {
            Some(series) => series,
            None => section.series.entry(thing.to_string()).or_default(),
        };
        if series.blocks.last() == Some(&block) {
            self.tally("rows left out, because the same thing had one at the same time");
            return;
        }
        series.blocks.push(block);
        section.has_rows = true;
        let mut is_idle = true;
        for at in 0..section.columns.len() {
            let cell = cells.get(at).unwrap_or(&Cell::Missing);
            let number = cell.number();
            is_idle &= number.is_nan() || number == 0.0;
            series.cells.push(number);
            if let Cell::Text(text) = cell {
                section.texts.push((block, thing.to_string(), at, text.clone()));
            }
        }
        section.has_idle_rows |= is_idle;
    }

    /// Counts one case of something passed over.
    pub(super) fn tally(&mut self, what: &str) {
        match self.tallies.get_mut(what) {
            Some(count) => *count += 1,
            None => {
                self.tallies.insert(what.to_string(), 1);
            }
        }
    }

    /// Says something once.
    pub(super) fn note(&mut self, note: &str) {
        if !self.notes.contains(note) {
            self.notes.insert(note.to_string());
        }
    }

    /// Has it not even a heading?
    pub(super) fn is_empty(&self) -> bool {
        self.sections.is_empty() && self.events.is_empty()
    }

    /// Are there headings and nothing below?
    pub(super) fn is_bare(&self) -> bool {
        self.sections.iter().all(|section| section.series.is_empty()) && self.events.is_empty()
    }
}
