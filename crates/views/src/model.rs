//! The report as plain values: what the HTML page is given, and all that it knows.

use quantity::histogram::Histogram;
use rates::OperationTimes;
use serde::{Deserialize, Serialize};
use view::Tone;
use view::{Unit, ViewData};

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
    pub figures: Vec<ReportFigure>,
    /// The recording.
    pub recording: RecordingInfo,
    /// What the reader must know before believing a number.
    pub warnings: Vec<ReportWarning>,
    /// Views over all runs.
    pub overview: Vec<ViewData>,
    /// One per run, in the order of execution.
    pub runs: Vec<RunModel>,
    /// Hardware, parameters, engine.
    pub appendix: ReportAppendix,
}

/// One figure with its label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportFigure {
    /// What it is.
    pub label: String,
    /// Number with unit.
    pub value: String,
    /// A second line, e.g. what it is made of.
    pub detail: String,
    /// Is it good, bad or neither?
    pub tone: Tone,
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
pub struct ReportWarning {
    /// How bad.
    pub tone: Tone,
    /// In words.
    pub text: String,
    /// Position of the run in [`ReportModel::runs`]; `None` for all.
    pub run: Option<usize>,
}

/// Percentiles of one histogram, ns; all `None` when it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistogramSummary {
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
    /// Which of them are only known to be not less, because operations had no end.
    #[serde(default, skip_serializing_if = "AtLeast::is_none")]
    pub at_least: AtLeast,
}

/// Which figures of a [`HistogramSummary`] are lower bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AtLeast(u8);

impl AtLeast {
    /// None of them.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0 == 0
    }
}

/// One figure of a [`HistogramSummary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryFigure {
    /// The mean.
    Mean,
    /// The smallest.
    Min,
    /// Percentiles.
    P50,
    /// 90 %.
    P90,
    /// 99 %.
    P99,
    /// 99.9 %.
    P999,
    /// The greatest.
    Max,
}

impl SummaryFigure {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Mean, Self::Min, Self::P50, Self::P90, Self::P99, Self::P999, Self::Max];

    /// As in headings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Min => "min",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::Max => "max",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl HistogramSummary {
    /// Reads the percentiles off times of which some may have no end.
    #[must_use]
    pub fn of_times(times: &OperationTimes) -> Self {
        let figures = SummaryFigure::ALL.map(|part| match part {
            SummaryFigure::Mean => times.mean(),
            SummaryFigure::Min => times.min(),
            SummaryFigure::P50 => times.percentile(0.5),
            SummaryFigure::P90 => times.percentile(0.9),
            SummaryFigure::P99 => times.percentile(0.99),
            SummaryFigure::P999 => times.percentile(0.999),
            SummaryFigure::Max => times.max(),
        });
        let open = SummaryFigure::ALL
            .iter()
            .zip(&figures)
            .filter(|(_, figure)| figure.is_some_and(|figure| !figure.is_exact()));
        let at_least = AtLeast(open.fold(0, |bits, (part, _)| bits | part.bit()));
        let [mean, min, p50, p90, p99, p999, max] = figures.map(|figure| figure.map(|figure| figure.low));
        Self { mean, min, p50, p90, p99, p999, max, at_least }
    }

    /// One of its figures.
    #[must_use]
    pub fn value(&self, part: SummaryFigure) -> Option<f64> {
        match part {
            SummaryFigure::Mean => self.mean,
            SummaryFigure::Min => self.min,
            SummaryFigure::P50 => self.p50,
            SummaryFigure::P90 => self.p90,
            SummaryFigure::P99 => self.p99,
            SummaryFigure::P999 => self.p999,
            SummaryFigure::Max => self.max,
        }
    }

    /// Is this figure only known to be not less?
    #[must_use]
    pub fn is_at_least(&self, part: SummaryFigure) -> bool {
        self.at_least.0 & part.bit() != 0
    }

    /// One of its figures, where it is known and no lower bound.
    #[must_use]
    pub fn known(&self, part: SummaryFigure) -> Option<f64> {
        self.value(part).filter(|_| !self.is_at_least(part))
    }

    /// One of its figures with its unit, `≥ 1.2 s` where it is a lower bound.
    #[must_use]
    pub fn text(&self, part: SummaryFigure) -> String {
        let text = Unit::Nanoseconds.format(self.value(part));
        if self.is_at_least(part) { format!("≥ {text}") } else { text }
    }

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
            at_least: AtLeast::default(),
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
    /// Operations that read data ÷ those that read or write data, per cent; `None` where there are neither.
    pub read_percent: Option<f64>,
    /// Kinds of operations, in words, of a run that does more to files than read and write them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_files: Option<String>,
    /// Response time.
    pub response: HistogramSummary,
    /// Service time.
    pub service: HistogramSummary,
    /// Operations that had no end when the run was given up: their times count as lower bounds. `None` when that was not
    /// recorded.
    #[serde(default)]
    pub unfinished: Option<f64>,
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
    pub figures: Vec<ReportFigure>,
    /// Did it execute commands, and no I/O of its own? Then it is in no table of runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_commands: bool,
    /// In numbers.
    pub summary: RunSummary,
    /// Views of this run.
    pub views: Vec<ViewData>,
}

/// What stands at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportAppendix {
    /// The machine.
    pub hardware: Vec<HardwareGroup>,
    /// Parameter texts.
    pub sources: Vec<SourceText>,
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
pub struct SourceText {
    /// File name.
    pub name: String,
    /// Text.
    pub text: String,
}
