//! What all parts of a reader share: the texts, what was found, and how much work is left.

use crate::diagnostic::{Diagnostic, DiagnosticSeverity};
use crate::loader::SourceOwner;
use crate::reading::PlanReading;
use plan::{JobTexts, ParameterText, Plan, TextSpan, UnsupportedRequest};
use std::collections::BTreeSet;

/// Findings that are shown; a file with more has one cause that is among these.
const FOUND_MAX: usize = 100;
/// Units of work (names compared, entries made) for one set of files; far above any real file, about a second.
const WORK_MAX: u64 = 20_000_000;

/// The state of reading: the texts, at most 100 findings, and the work that is left.
#[derive(Debug)]
pub struct ReadingContext {
    /// The texts so far; [`TextSpan::source`] is an index of these.
    pub sources: Vec<ParameterText>,
    /// Of those sources that are files.
    owners: Vec<(usize, SourceOwner)>,
    found: Vec<Diagnostic>,
    unsupported: Vec<UnsupportedRequest>,
    /// Labels of Vdbench's hosts, once they are known; empty for fio's jobs.
    pub hosts: Vec<String>,
    noted: BTreeSet<String>,
    hidden: u64,
    failed: bool,
    work_left: u64,
}

impl Default for ReadingContext {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            owners: Vec::new(),
            found: Vec::new(),
            unsupported: Vec::new(),
            hosts: Vec::new(),
            noted: BTreeSet::new(),
            hidden: 0,
            failed: false,
            work_left: WORK_MAX,
        }
    }
}

impl ReadingContext {
    /// A file's text as the next source; gives its index.
    pub fn add_file(&mut self, name: String, text: String, owner: Option<SourceOwner>) -> u32 {
        let at = self.sources.len();
        self.owners.extend(owner.map(|owner| (at, owner)));
        self.sources.push(ParameterText { name, text });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Adds a finding; the same kind at the same place counts once. After 100 findings further ones are only counted.
    pub fn push(&mut self, found: Diagnostic) {
        self.failed |= found.severity == DiagnosticSeverity::Error;
        if self.found.iter().any(|other| same_place(other, &found)) {
            return;
        }
        if self.found.len() >= FOUND_MAX {
            self.hidden += 1;
        } else {
            self.found.push(found);
        }
    }

    /// Adds a note once per `key`, however often it comes.
    pub fn note_once(&mut self, key: &str, found: Diagnostic) {
        if self.noted.insert(key.to_string()) {
            self.push(found);
        }
    }

    /// Remembers what cannot run yet, once per sentence.
    pub fn unsupported(&mut self, span: TextSpan, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if self.noted.insert(format!("unsupported {sentence}")) {
            self.unsupported.push(UnsupportedRequest { sentence, span });
        }
    }

    /// Are there so many findings that further ones are only counted? Then a suggestion is not worth its time.
    pub fn full(&self) -> bool {
        self.found.len() >= FOUND_MAX
    }

    /// Was there an error?
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Takes `units` of work (names compared, entries made) of the 20 million that one reading has; false, with an error
    /// once, when there are not so many left.
    pub fn work(&mut self, units: usize, span: TextSpan) -> bool {
        let units = u64::try_from(units).unwrap_or(u64::MAX);
        if let Some(left) = self.work_left.checked_sub(units) {
            self.work_left = left;
            return true;
        }
        self.work_left = 0;
        let message = "lists, counts and loops multiply to more than can be handled";
        let found = Diagnostic::error("too-much", span, message).help("use fewer targets, loop values or definitions");
        self.note_once("work", found);
        false
    }

    /// What reading gives: `plan` unless there was an error, and all findings in the order of the text, worst first at the
    /// same place. Its jobs are left empty.
    pub fn finish(mut self, plan: Plan) -> PlanReading {
        self.found.sort_by_key(|found| (found.span.source, found.span.start, found.severity));
        if self.hidden > 0 {
            let span = TextSpan::default();
            let message = format!("{} more findings are not shown; put these right first", self.hidden);
            self.found.push(Diagnostic::note("more", span, message));
        }
        let plan =
            (!self.failed).then(|| Plan { sources: self.sources.clone(), unsupported: self.unsupported, ..plan });
        PlanReading {
            plan,
            diagnostics: self.found,
            sources: self.sources,
            owners: self.owners,
            jobs: JobTexts::default(),
        }
    }
}

/// The same kind of finding at the same place; two that concern a file as a whole are never the same.
fn same_place(a: &Diagnostic, b: &Diagnostic) -> bool {
    a == b || (a.code == b.code && a.span == b.span && a.span.len > 0)
}
