//! Views, tables, summaries: recordings in, plain values out. Pure, never measures and never draws.
//!
//! [`RecordingFacts`] reads a recording once and keeps what every view needs; [`views`] is the one catalogue of views that all
//! faces draw; [`report_model`] puts a whole report together; [`IntervalLine`] is one interval as terminal and JSON show it.
//! Percentiles always come from merged histograms and are never averaged.

mod catalogue;
mod comparison;
mod comparison_model;
mod compute;
mod facts;
mod fidelity_views;
mod interval;
mod model;
mod other_load;
mod pts;
mod repeats;
mod report_model;
mod requests;
mod run_fold;
mod run_summary;
mod series;
mod steady_rounds;
mod tables;
mod traced;
mod wall_clock;

pub use catalogue::{View, ViewKind, view, views};
pub use comparison::{
    Comparison, ComparisonQuestion, Conclusion, CounterChange, FigureDifference, JudgedFigure, JudgingMethod,
    PROGRAM_PID, ROUND_S_MIN, ROUNDS_MIN, RatioIntervals, round_fault,
};
pub use comparison_model::comparison_model;
pub use compute::compute;
pub use facts::{RecordingFacts, RunFacts};
pub use interval::{IntervalLine, LineFold};
pub use model::{
    AtLeast, HardwareGroup, HistogramSummary, RecordingInfo, ReportAppendix, ReportFigure, ReportModel, ReportWarning,
    RunModel, RunSummary, SourceText, StallModel, SummaryFigure,
};
pub use report_model::{report_model, unended};
pub use requests::RequestFacts;
pub use run_fold::RunFold;
pub use run_summary::run_summary;
pub use steady_rounds::{RecordedRounds, STEADY_ROUNDS};
pub use tables::totals_table;
pub use traced::TracedFacts;
pub use wall_clock::ZONE_AHEAD_S;

/// The statistics of comparisons by themselves, for the program that calibrates them.
#[doc(hidden)]
pub mod calibration {
    pub use crate::comparison::LoadPair;
    pub use crate::comparison::per_second::{LoadRound, RoundStep};
    pub use rates::measure::{BetterDirection, MeasureKind, RateFlow, TimeKind};

    /// What is said of this figure of the second side in the first pair that all have.
    #[must_use]
    pub fn judged<'a>(comparison: &'a crate::Comparison, key: &str) -> Option<&'a crate::JudgedFigure> {
        comparison.judged(1, comparison.usual_pair(), rates::measure::measure_of(key)?)
    }
}
