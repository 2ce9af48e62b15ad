//! Conditions over what was measured: `response_ns_p99{op=read} > 5ms for 10s`.
//!
//! Pure: [`Condition::parse`] reads one, a [`ConditionJudge`] is fed with rows of a live run or of a recording and gives, for each
//! run, a [`ObjectiveVerdict`] with what was measured, where, when, and a sentence. The language is described in
//! docs/objectives.md.

mod compared;
mod dimension;
mod judge;
mod names;
mod parse;
mod plan_progress;
mod recorded;
mod samples;
mod sentence;
mod syntax;
mod token;
mod watch;

pub use compared::{ComparedCondition, ComparedDemand};
pub use judge::{ConditionJudge, OBJECTIVES, names as names_of, objectives, verdicts};
pub use parse::ConditionError;
pub use plan_progress::{CUT_SHORT, PendingRun, PlanProgress, ROUNDS, RunHalt};
pub use watch::{ConditionWatch, IntervalStream};

use quantity::suggest::{by_distance, question};
use serde::{Deserialize, Serialize};
use syntax::{Measured, Number, Selector, Truth, fits};

/// A condition that was read and can be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    truth: Truth,
    selectors: Vec<Selector>,
    runs: Vec<String>,
    named: Vec<(&'static str, String, usize, usize)>,
}

/// What a condition's labels may name.
#[derive(Clone, Debug, Default)]
pub struct SelectableNames {
    /// Workloads.
    pub workloads: Vec<String>,
    /// Targets.
    pub targets: Vec<String>,
    /// Titles of runs.
    pub runs: Vec<String>,
}

/// What came of a condition in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// It did not come true.
    Met,
    /// What it asks for was not measured.
    Unknown,
    /// It depends on the times of operations that had no end, or on what a run would have done that was cut short or never
    /// began: it was not met, and not surely missed.
    Undecided,
    /// It came true: the objective was missed.
    Missed,
}

impl Judgement {
    /// Does it fail the run? What cannot be decided was not met.
    #[must_use]
    pub fn fails(self) -> bool {
        matches!(self, Self::Missed | Self::Undecided)
    }

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Unknown => "not judged",
            Self::Undecided => "undecided",
            Self::Missed => "missed",
        }
    }
}

/// One figure that a verdict rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictEvidence {
    /// As written in the condition.
    pub measure: String,
    /// In base units: ns, operations, bytes, per second; shares as fractions. `None`: not measured.
    pub value: Option<f64>,
    /// Is the value only a lower bound, because operations had no end?
    #[serde(default)]
    pub at_least: bool,
    /// With its unit.
    pub text: String,
}

/// A condition judged over one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveVerdict {
    /// The condition as written.
    pub condition: String,
    /// Title of the run.
    pub run: String,
    /// Position of the run in the order of execution.
    pub run_index: i32,
    /// Loop variables of the run, `name=value name=value`.
    pub detail: String,
    /// What came of it.
    pub judgement: Judgement,
    /// What was measured, in a sentence without a full stop.
    pub sentence: String,
    /// The figures.
    pub evidence: Vec<VerdictEvidence>,
    /// For a condition with `for`: the longest time that it held, seconds since the run's start.
    pub held_s: Option<(f64, f64)>,
    /// For a condition on a comparison: which recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<ComparedRecordings>,
}

/// Which recordings a verdict is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedRecordings {
    /// The recording that was judged.
    pub recording: String,
    /// The one that it was held against.
    pub against: String,
}

impl ObjectiveVerdict {
    /// The verdict in one line: the run, the reason and the condition.
    pub fn summary(&self) -> String {
        let run = format!("{} {}", self.run, self.detail);
        let of = self.compared.as_ref().map_or(String::new(), |compared| format!(" of {}", compared.recording));
        let run = format!("{}{of}", run.trim_end());
        match self.judgement {
            Judgement::Undecided => {
                format!("objective undecided in {run}, so not met: {} (fail if {})", self.sentence, self.condition)
            }
            Judgement::Missed => format!("objective missed in {run}: {} (fail if {})", self.sentence, self.condition),
            Judgement::Met => format!("objective met in {run}: {} (fail if {})", self.sentence, self.condition),
            Judgement::Unknown => {
                format!("objective not judged in {run}: {} (fail if {})", self.sentence, self.condition)
            }
        }
    }
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// The first mistake, with its place and what to do.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        Self::of(text, parse::parse(text, parse::Over::Run)?)
    }

    /// Reads a condition on a trace that goes on: `response` is the longest response time, what is still in flight
    /// included.
    ///
    /// # Errors
    /// The first mistake, with its place and what to do.
    pub fn parse_traced(text: &str) -> Result<Self, ConditionError> {
        Self::of(text, parse::parse(text, parse::Over::Trace)?)
    }

    fn of(text: &str, tree: parse::Tree) -> Result<Self, ConditionError> {
        Ok(Self {
            text: text.trim().to_string(),
            truth: tree.truth,
            selectors: tree.selectors,
            runs: tree.runs,
            named: tree.named,
        })
    }

    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Is it about the run with this title and position?
    pub fn is_about(&self, title: &str, index: i32) -> bool {
        // The repetitions of a run are that run.
        let name = rates::base_title(title);
        self.runs.iter().all(|wanted| {
            fits(wanted, title) || fits(wanted, name) || wanted.parse::<i32>().is_ok_and(|number| number == index)
        })
    }

    /// Does it ask for what data validation found? Then the reading at the end is judged by it, too.
    #[must_use]
    pub fn asks_of_data(&self) -> bool {
        self.measures().iter().any(|measured| measured.quantity == names::Quantity::DamagedBlocks)
    }

    /// Looks for labels that name nothing.
    ///
    /// # Errors
    /// The first of them, with its place and the nearest name that there is.
    pub fn check_names(&self, known: &SelectableNames) -> Result<(), ConditionError> {
        for (label, value, start, len) in &self.named {
            let names = match *label {
                "workload" => &known.workloads,
                "target" => &known.targets,
                "run" => &known.runs,
                _ => continue,
            };
            let number = *label == "run" && value.parse::<usize>().is_ok_and(|number| number <= names.len());
            if number || names.iter().any(|name| fits(value, name)) {
                continue;
            }
            let near = by_distance(value, names.iter().map(String::as_str));
            return Err(ConditionError {
                start: *start,
                len: (*len).max(1),
                message: format!("there is no {label} `{value}`"),
                help: near.first().map(|name| format!("{} a name may end in `*`", question(name))),
            });
        }
        Ok(())
    }

    /// The figures that it needs, in order.
    fn measures(&self) -> Vec<&Measured> {
        fn numbers<'a>(number: &'a Number, out: &mut Vec<&'a Measured>) {
            match number {
                Number::Constant(_) => {}
                Number::Measured(measured) => out.push(measured),
                Number::Negated(inner) => numbers(inner, out),
                Number::Sum(a, b) | Number::Difference(a, b) | Number::Product(a, b, _) | Number::Quotient(a, b, _) => {
                    numbers(a, out);
                    numbers(b, out);
                }
            }
        }
        fn truths<'a>(truth: &'a Truth, out: &mut Vec<&'a Measured>) {
            match truth {
                Truth::Compare(_, left, right) => {
                    numbers(&left.number, out);
                    numbers(&right.number, out);
                }
                Truth::And(a, b) | Truth::Or(a, b) => {
                    truths(a, out);
                    truths(b, out);
                }
                Truth::Not(inner) | Truth::For(inner, ..) => truths(inner, out),
            }
        }
        let mut out = Vec::new();
        truths(&self.truth, &mut out);
        out
    }
}

/// The measures that conditions know, as a table in Markdown.
pub fn measures_markdown() -> String {
    names::markdown()
}

#[cfg(test)]
mod tests;
