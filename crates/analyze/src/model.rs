//! The report as plain values: what the HTML page is given, and all that it knows.

use crate::ViewData;
use quantity::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// A whole report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportModel {
    /// `iodyno.report/1`.
    pub schema: String,
    /// Name of the parameter file or of the recording.
    pub title: String,
    /// What was tested, on what, with what result.
    pub sentence: String,
    /// The figures that matter most.
    pub figures: Vec<Figure>,
    /// The recording.
    pub recording: RecordingInfo,
    /// What the reader must know before believing a number.
    pub warnings: Vec<Warning>,
    /// Views over all runs.
    pub overview: Vec<ViewData>,
    /// One per run, in the order of execution.
    pub runs: Vec<RunModel>,
    /// Hardware, parameters, engine.
    pub appendix: Appendix,
}

/// One figure with its label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is.
    pub label: String,
    /// Number with unit.
    pub value: String,
    /// A second line, e.g. what it is made of.
    pub detail: String,
    /// Is it good, bad or neither?
    pub tone: Tone,
}

/// How a figure or warning is coloured; the words say it as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// Worth knowing.
    Info,
    /// Casts doubt on the figures.
    Warning,
    /// Something failed.
    Error,
}

/// Where the figures come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingInfo {
    /// Identity.
    pub id: String,
    /// Host name.
    pub host: String,
    /// Kernel.
    pub kernel: String,
    /// Start in UTC, `2026-11-20 10:44:07 UTC`.
    pub started: String,
    /// `sealed`, `cut short` or `open`.
    pub state: String,
    /// How the command ended; empty when unknown.
    pub exit: String,
    /// Command line.
    pub command_line: String,
    /// What was lost, in words.
    pub losses: Vec<String>,
}

/// Something that the reader must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// How bad.
    pub tone: Tone,
    /// In words.
    pub text: String,
    /// Position of the run in [`ReportModel::runs`]; `None` for all.
    pub run: Option<usize>,
}

/// Percentiles of one histogram, ns; all `None` when it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// Mean.
    pub mean: Option<f64>,
    /// Smallest.
    pub min: Option<f64>,
    /// Half of the operations took this long or less.
    pub p50: Option<f64>,
    /// 90 %.
    pub p90: Option<f64>,
    /// 99 %.
    pub p99: Option<f64>,
    /// 99.9 %.
    pub p999: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
}

impl Fold {
    /// Reads the percentiles off `histogram`.
    pub fn of(histogram: &Histogram) -> Self {
        let at = |q: f64| histogram.percentile(q).map(|ns| ns as f64);
        Self {
            mean: histogram.mean(),
            min: histogram.min().map(|ns| ns as f64),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max().map(|ns| ns as f64),
        }
    }
}

/// The longest time without a completion although something was waiting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StallModel {
    /// Start, seconds since the run's start.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
}

/// A run in numbers; times in ns, rates per second, over its measured phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Length of the measured phase, s.
    pub measured_s: f64,
    /// Arrivals per second that were asked for; `None` at full speed.
    pub offered: Option<f64>,
    /// Arrivals; `None` when an import did not count them.
    pub arrivals: Option<f64>,
    /// Operations completed.
    pub ops: f64,
    /// Bytes moved.
    pub bytes: f64,
    /// Operations that failed; `None` when an import did not count them.
    pub errors: Option<f64>,
    /// Operations per second.
    pub iops: Option<f64>,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Reads ÷ operations, per cent.
    pub read_percent: Option<f64>,
    /// Response time.
    pub response: Fold,
    /// Service time.
    pub service: Fold,
    /// Mean number in flight.
    pub queue_depth: Option<f64>,
    /// CPU of the host, user, per cent.
    pub cpu_user: Option<f64>,
    /// CPU of the host, system, per cent.
    pub cpu_system: Option<f64>,
    /// Intervals of the run (any phase).
    pub intervals: usize,
    /// Intervals without a completion although something was waiting.
    pub stalled_intervals: usize,
    /// The longest of them in a row.
    pub longest_stall: Option<StallModel>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunModel {
    /// Position in the order of execution, as in the tables.
    pub index: i32,
    /// Title.
    pub title: String,
    /// Loop variables, `name=value name=value`.
    pub detail: String,
    /// One line in words: load, result.
    pub sentence: String,
    /// The figures that matter most.
    pub figures: Vec<Figure>,
    /// In numbers.
    pub summary: RunSummary,
    /// Views of this run.
    pub views: Vec<ViewData>,
}

/// What stands at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appendix {
    /// The machine.
    pub hardware: Vec<HardwareGroup>,
    /// Parameter texts.
    pub sources: Vec<Source>,
    /// How the engine worked and what it cost.
    pub engine: Vec<String>,
    /// What happened, one line each.
    pub events: Vec<String>,
}

/// Facts about one part of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardwareGroup {
    /// Which part.
    pub title: String,
    /// Name and value.
    pub rows: Vec<(String, String)>,
}

/// A parameter text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// File name.
    pub name: String,
    /// Text.
    pub text: String,
}
