//! Findings: sentences about causes, with the figures that they rest on, computed from counters, live or recorded.
//!
//! One [`RuleEngine`] takes batches as they come and judges at the end of each sample. A rule is a file of `rules`: it looks at a
//! window of `moment::Moment`s and says what holds now (`Symptom`); the engine makes findings of that, which open,
//! last and close, one per rule and subject. Rules never read counters themselves, so that old recordings and the machine
//! at hand are judged by the same code; what a recording does not hold, no rule speaks of.

mod by_event;
mod engine;
mod failures;
mod from_recording;
mod groups;
mod interval_sample;
mod interval_samples;
mod listen_drops;
mod rules;
mod rules_doc;
mod samples;
#[cfg(test)]
mod testing;
mod thresholds;
mod trace_errors;
mod window;

pub use engine::RuleEngine;
pub use from_recording::{findings, findings_between, findings_until};
pub use recording::IOS_ARE_IN;
pub use rules_doc::rules_markdown;
pub use rules_doc::table;
pub use thresholds::{Threshold, Thresholds, ThresholdsError};

use interval_sample::IntervalSample;
use serde::Serialize;
use view::Unit;
use window::Window;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RuleId {
    /// One CPU or thread is the limit.
    R1,
    /// A listener refuses connections.
    R2,
    /// A network link is near its limit.
    R3,
    /// Interrupts, or a CPU stuck in the kernel.
    R4,
    /// A block device is the limit.
    R5,
    /// The page cache became full.
    R6,
    /// A device answers nothing, or lost a path.
    R7,
    /// Other work preempts it, or interrupts take its time.
    R8,
    /// Programs that live too briefly to be seen use the CPUs.
    R9,
    /// The tick and events disagree about how busy a CPU is.
    R10,
    /// Small frames on a link for large ones.
    R11,
    /// A check sum was wrong.
    R12,
    /// I/Os of a device fail.
    R13,
    /// The kernel's messages tell of trouble.
    R14,
}

impl RuleId {
    /// All rules.
    pub const ALL: [Self; 14] = [
        Self::R1,
        Self::R2,
        Self::R3,
        Self::R4,
        Self::R5,
        Self::R6,
        Self::R7,
        Self::R8,
        Self::R9,
        Self::R10,
        Self::R11,
        Self::R12,
        Self::R13,
        Self::R14,
    ];

    /// Is what it notes another state of its subject than that which it finds, each with its own begin and end? A device that is
    /// busy is not the limit; other notes are findings that do not matter much yet.
    pub(crate) fn tells_states(self) -> bool {
        self == Self::R5
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::R1 => "R1",
            Self::R2 => "R2",
            Self::R3 => "R3",
            Self::R4 => "R4",
            Self::R5 => "R5",
            Self::R6 => "R6",
            Self::R7 => "R7",
            Self::R8 => "R8",
            Self::R9 => "R9",
            Self::R10 => "R10",
            Self::R11 => "R11",
            Self::R12 => "R12",
            Self::R13 => "R13",
            Self::R14 => "R14",
        }
    }

    /// What it looks for, in a few words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::R1 => "one thread is the limit",
            Self::R2 => "listener refuses connections",
            Self::R3 => "network link near its limit",
            Self::R4 => "interrupts or kernel take a CPU",
            Self::R5 => "device is the limit",
            Self::R6 => "cache fills",
            Self::R7 => "device stalls or loses a path",
            Self::R8 => "work is preempted",
            Self::R9 => "short-lived programs use the CPUs",
            Self::R10 => "the clocks disagree",
            Self::R12 => "check sums are wrong",
            Self::R13 => "I/Os fail",
            Self::R14 => "the kernel tells of trouble",
            Self::R11 => "small frames on a jumbo link",
        }
    }

    /// Its section of the thresholds.
    #[must_use]
    pub fn section(self) -> &'static str {
        match self {
            Self::R1 => "one_cpu",
            Self::R2 => "listen_queue",
            Self::R3 => "network",
            Self::R4 => "kernel_cpu",
            Self::R5 => "device",
            Self::R6 => "cache",
            Self::R7 => "stall",
            Self::R8 => "preempted",
            Self::R9 => "short_lived",
            Self::R10 => "clocks",
            Self::R11 => "frames",
            Self::R12 => "checksum",
            Self::R13 => "io_errors",
            Self::R14 => "told",
        }
    }
}

/// Is it trouble?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// Good to know; the exit code of `diagnose` does not count it.
    Note,
    /// Work on this machine suffers.
    Finding,
}

/// How sure the rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleConfidence {
    /// One input is missing or could have another cause.
    Likely,
    /// All inputs agree.
    Certain,
}

impl RuleConfidence {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// A figure that a finding rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindingEvidence {
    /// What it is.
    pub name: String,
    /// Its value; `None` is not known.
    pub value: Option<f64>,
    /// `ns`, `%`, `op/s`, `B/s`, `B`, `s`, …; empty for a plain number.
    pub unit: &'static str,
}

impl FindingEvidence {
    pub(crate) fn new(name: impl Into<String>, value: impl Into<Option<f64>>, unit: &'static str) -> Self {
        Self { name: name.into(), value: value.into().filter(|value: &f64| value.is_finite()), unit }
    }

    /// The figure as people read it.
    #[must_use]
    pub fn text(&self) -> String {
        figure(self.value, self.unit)
    }
}

/// A value with its unit as people read it; `?` when it is not known.
fn figure(value: Option<f64>, unit: &str) -> String {
    let value = value.filter(|value| value.is_finite());
    match unit {
        "ns" => Unit::Nanoseconds.format(value),
        "s" => Unit::Seconds.format(value),
        "%" => Unit::Percent.format(value),
        "op/s" => Unit::OpsPerSecond.format(value),
        "B/s" => Unit::BytesPerSecond.format(value),
        "B" => Unit::Bytes.format(value),
        _ => format!("{} {unit}", Unit::Count.format(value.map(|value| (value * 100.0).round() / 100.0)))
            .trim_end()
            .to_string(),
    }
}

/// What a rule says of one subject at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Symptom {
    pub(crate) rule: RuleId,
    /// CPU, thread, listener, interface, device.
    pub(crate) subject: String,
    pub(crate) severity: FindingSeverity,
    pub(crate) confidence: RuleConfidence,
    /// Since when it has held, ns.
    pub(crate) since_ns: i64,
    /// `{for}` stands for how long it has lasted.
    pub(crate) sentence: String,
    pub(crate) evidence: Vec<FindingEvidence>,
    pub(crate) next: String,
    /// What it is the cause of: findings of this rule, of this subject; `None`: of any.
    pub(crate) explains: Vec<(RuleId, Option<String>)>,
    /// It closes after so long without it; `None`: the general time; [`ENDED`]: at once.
    pub(crate) clear_s: Option<f64>,
}

/// What holds now has ended now: its last word, after which it is not open any more.
pub(crate) const ENDED: f64 = -1.0;

/// A sentence about a cause, with what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Number in the order of opening, from 1.
    pub id: usize,
    /// By which rule.
    pub rule: RuleId,
    /// CPU, thread, listener, interface, device.
    pub subject: String,
    /// Is it trouble?
    pub severity: FindingSeverity,
    /// How sure the rule is.
    pub confidence: RuleConfidence,
    /// When it began, `CLOCK_MONOTONIC`, ns.
    pub start_ns: i64,
    /// When it had last held, once it is closed.
    pub end_ns: Option<i64>,
    /// When it last held.
    pub last_ns: i64,
    /// In words, as it was when it last held.
    pub sentence: String,
    /// Figures, as they were when it last held.
    pub evidence: Vec<FindingEvidence>,
    /// What to do next.
    pub next: String,
    /// The finding that explains this one.
    pub explained_by: Option<usize>,
    /// The recording of the I/Os around its opening, when a flight recorder ran beside (`record --flight`), and how many.
    pub ios: Option<String>,
}

impl Finding {
    /// How long it has lasted, s.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        (self.last_ns - self.start_ns) as f64 / 1e9
    }

    /// Rule and subject: what it is called while it is open.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{} {}", self.rule.name(), self.subject)
    }

    /// Does it count: trouble that no other finding explains?
    #[must_use]
    pub fn counts(&self) -> bool {
        self.severity == FindingSeverity::Finding && self.explained_by.is_none()
    }
}

/// Says what holds at the last moment of a window.
pub(crate) trait Rule {
    /// Called once per moment, in order.
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom>;

    /// Samples were lost: what was remembered of the time before does not join with what comes.
    fn lost(&mut self) {}
}

/// The mean of what `of` gives, weighted by the length of each moment; `None` when it gives nothing for one of them.
pub(crate) fn mean<'a>(
    moments: impl Iterator<Item = &'a IntervalSample>,
    of: impl Fn(&IntervalSample) -> Option<f64>,
) -> Option<f64> {
    let (mut sum, mut seconds) = (0.0, 0.0);
    for moment in moments {
        sum += of(moment)? * moment.seconds;
        seconds += moment.seconds;
    }
    (seconds > 0.0).then(|| sum / seconds)
}
