//! Views, tables, summaries: recordings in, plain values out. Pure, never measures and never draws.
//!
//! [`Facts`] reads a recording once and keeps what every view needs; [`views`] is the one catalogue of views that all
//! faces draw; [`report_model`] puts a whole report together; [`IntervalLine`] is one interval as terminal and JSON show it.
//! Percentiles always come from merged histograms and are never averaged.

mod catalogue;
mod comparison;
mod compute;
mod condition;
mod cpu_share;
mod facts;
pub mod fidelity;
pub mod finding;
mod interval;
mod model;
pub mod page;
pub mod portrait;
mod probe;
mod rates;
mod repeats;
mod report_model;
mod requests;
mod run_fold;
mod selection;
mod series;
pub mod stat;
mod tables;
mod thin;
mod times;
mod traced;
pub mod trend;
mod unit;
mod values;
mod verdict;
mod view;

pub use catalogue::{Kind, View, view, views};
pub use comparison::{
    Change, Comparison, Conclusion, Difference, Grounds, Judged, Measure, Method, PROGRAM_PID, Question, ROUND_S_MIN,
    ROUNDS_MIN, comparison_model, measure_of, round_fault,
};
pub use compute::{ZONE_AHEAD_S, compute};
pub use condition::{
    CUT_SHORT, Compared, ComparedCondition, Condition, ConditionError, Evidence, Halt, Judge, Judgement, Lane, Names,
    OBJECTIVES, PendingRun, PlanProgress, ROUNDS, Verdict, Watch, measures_markdown, names_of, objectives, verdicts,
};
pub use facts::{
    CpuPoint, DiskPoint, Facts, IntervalFacts, MemoryPoint, NetPoint, OpCount, PhaseSpan, PoolPoint, PressurePoint,
    RunFacts, Stall, Tally, TasksPoint, TotalFacts, Unfinished, WaitPoint,
};
pub use interval::{IntervalLine, LineFold};
pub use model::{
    Appendix, AtLeast, Figure, Fold, HardwareGroup, Part, RecordingInfo, ReportModel, RunModel, RunSummary, Source,
    StallModel, Tone, Warning,
};
pub use probe::{
    CpuBy, CpuFold, Distribution, FileFold, FilesBy, FilesOrder, IoBy, IoFold, IoGroup, Octave, Preempted, RequestFold,
    RequestGroup,
};
pub use probe::{Seen, StackFold, StackGroup, StackOf};
pub use repeats::Estimate;
pub use report_model::{report_model, run_summary, unended};
pub use requests::RequestFacts;
pub use run_fold::RunFold;
pub use selection::{Moment, NamePattern, Selection, Window};
pub use tables::totals_table;
pub use times::{Bounds, Times};
pub use traced::TracedFacts;
pub use traced::ends::{TRACE_BEGAN, TRACE_ENDED, traced_span_ns, unfinished_words};
pub use traced::rows::{TracedIo, each_traced, each_traced_until};
pub use traced::sample::{TRACE_SAMPLE, incomplete, sample, sample_words};
pub use unit::Unit;
pub use values::Values;
pub use verdict::{SUBJECTS, Verdicts, WORKS};
pub use view::{
    Axis, Body, Cells, Column, Knee, Line, LineStyle, Mark, MarkKind, Panel, Point, PointLine, Right, Scale, Table,
    ViewData, WallClock,
};

/// The statistics of comparisons by themselves, for the program that calibrates them.
#[doc(hidden)]
pub mod calibration {
    pub use crate::comparison::Pair;
    pub use crate::comparison::measure::{Better, Clock, Flow, Kind};
    pub use crate::comparison::second::{Round, Step};

    /// What is said of this figure of the second side in the first pair that all have.
    #[must_use]
    pub fn judged<'a>(comparison: &'a crate::Comparison, key: &str) -> Option<&'a crate::Judged> {
        comparison.judged(1, comparison.usual_pair(), crate::measure_of(key)?)
    }
}

use quantity::suggest::question;
use recording::RecordingError;

/// Why something could not be worked out of a recording.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    /// The recording could not be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A table does not have the shape that this version knows.
    #[error(
        "the recording's table {table} has no column {column} of type {expected}; it was written by another version"
    )]
    Column {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// What was expected.
        expected: &'static str,
    },
    /// A stored histogram cannot be decoded.
    #[error("a histogram in column {column} of table {table} is damaged: {reason}")]
    Histogram {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// Why.
        reason: String,
    },
    /// What is to be read as one is of several machines.
    #[error("the recordings are of {count} machines ({known}): --host NAME takes those of one of them")]
    Hosts {
        /// How many there are.
        count: usize,
        /// The first of them.
        known: String,
    },
    /// No recording is of the machine that was asked for.
    #[error("no recording is of the machine {host}; there are those of {known}")]
    NoHost {
        /// What was asked for.
        host: String,
        /// What there is.
        known: String,
    },
    /// No such view.
    #[error("there is no view `{id}`; {} `--list` shows all of them", question(nearest))]
    UnknownView {
        /// What was asked for.
        id: String,
        /// The catalogue's nearest.
        nearest: String,
    },
    /// No such run in any of several recordings.
    #[error("no recording has a run `{run}`; there are: {known}")]
    RunOfNone {
        /// What was asked for.
        run: String,
        /// Titles of those that exist.
        known: String,
    },
    /// No such run.
    #[error("the recording has no run `{run}`; it has {known}")]
    UnknownRun {
        /// What was asked for.
        run: String,
        /// Titles of those that exist.
        known: String,
    },
    /// What was asked for does not choose anything of the view.
    #[error("view `{id}`: {reason}")]
    Unfit {
        /// The view.
        id: String,
        /// Why.
        reason: String,
    },
    /// The view has nothing to show for this selection.
    #[error("the view `{id}` has nothing to show here: {reason}")]
    Empty {
        /// The view.
        id: String,
        /// Why.
        reason: String,
    },
}

impl AnalyzeError {
    /// Did somebody ask for what there is not?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        matches!(
            self,
            Self::UnknownView { .. }
                | Self::UnknownRun { .. }
                | Self::RunOfNone { .. }
                | Self::Unfit { .. }
                | Self::Empty { .. }
                | Self::Hosts { .. }
                | Self::NoHost { .. }
        )
    }
}
