//! The one catalogue of views: every face draws these and no others.

mod commands;
mod compared;
mod followed;
mod machine;
mod rounds;

use crate::comparison::Comparison;
use crate::fidelity_views;
use crate::{RecordingFacts, RequestFacts, RunFacts, TracedFacts, series, tables};
use findings::RuleEngine;
use quantity::suggest::by_distance;
use rates::Availability;
use recording::{AvailabilityKind, ExecutionEnding};
use std::sync::LazyLock;
use view::Drawing;
use view::{Axis, Body, Scale, TableColumn, ViewData, ViewTable};
use view::{TableReadError, Unit};
use workload::probe::FileFold;
use workload::validated;

/// What kind of picture a view is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewKind {
    /// Lines over elapsed time.
    TimeSeries,
    /// Counts over elapsed time and response time.
    HeatMap,
    /// Counts over response time.
    Histogram,
    /// Response time over percentiles.
    PercentileCurve,
    /// Response time over rate.
    LoadResponse,
    /// Small charts with the same axes, over a swept parameter.
    SmallMultiples,
    /// One figure by two variables.
    Matrix,
    /// A table.
    Table,
}

/// How a view is computed; `None` when there is nothing to show.
#[derive(Clone, Copy)]
enum Compute {
    Run(fn(&RecordingFacts, &RunFacts) -> Option<Drawing>),
    All(fn(&RecordingFacts) -> Option<Drawing>),
    /// The second argument names a device, for views that show one.
    Trace(fn(&TracedFacts, Option<&str>) -> Option<Drawing>),
    Files(fn(&FileFold) -> Option<Drawing>),
    Requests(fn(&RequestFacts) -> Option<Drawing>),
    /// The second argument names a server.
    Server(fn(&RequestFacts, &str) -> Option<Drawing>),
    /// The second argument is where elapsed time begins, ns.
    Findings(fn(&RuleEngine, i64) -> Option<Drawing>),
    /// The second argument is the number of the pair.
    Pair(fn(&Comparison, usize) -> Option<Drawing>),
    /// The third argument is the number of the recording.
    Side(fn(&Comparison, usize, usize) -> Option<Drawing>),
}

/// One entry of the catalogue.
#[derive(Clone, Copy)]
pub struct View {
    /// Name that commands and documents use.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// One sentence that explains what is seen.
    pub explanation: &'static str,
    /// Kind of picture.
    pub kind: ViewKind,
    compute: Compute,
}

impl View {
    /// Is it about one run (rather than all of a recording)?
    pub fn is_of_a_run(&self) -> bool {
        matches!(self.compute, Compute::Run(_))
    }

    /// What stands in the place of the view when its subject did not let itself be measured: the verdict's words.
    pub fn missing(&self, verdicts: &Availability) -> Option<ViewData> {
        // A machine without ZFS lacks no pools: its views of pools are left out.
        let is_missed = |words: &&str| {
            !(self.id.starts_with("pool.") && AvailabilityKind::of(words) == AvailabilityKind::NotApplicable)
        };
        let words = verdicts.of_view(self.id).filter(is_missed)?;
        let table = ViewTable { columns: vec![TableColumn::text("not measured", vec![words.to_string()])], omitted: 0 };
        let none = || Axis { label: String::new(), unit: Unit::None, scale: Scale::Category };
        let drawing = Drawing { x: none(), y: none(), body: Body::Table(table), marks: Vec::new() };
        Some(self.data(drawing, String::new()))
    }

    /// Is it about the I/Os of a trace?
    pub fn is_of_a_trace(&self) -> bool {
        matches!(self.compute, Compute::Trace(_))
    }

    /// The view over a trace, of one device where it shows only one; `None` when there is nothing to show, and for views
    /// of something else.
    pub fn draw_trace(&self, traced: &TracedFacts, device: Option<&str>) -> Option<ViewData> {
        let Compute::Trace(compute) = self.compute else { return None };
        Some(self.data(compute(traced, device)?, device.unwrap_or_default().to_string()))
    }

    /// Is it about reads and writes of files?
    pub fn is_of_files(&self) -> bool {
        matches!(self.compute, Compute::Files(_))
    }

    /// The view over the activity of files; `None` when there is nothing to show, and for views of something else.
    pub fn draw_files(&self, files: &FileFold) -> Option<ViewData> {
        let Compute::Files(compute) = self.compute else { return None };
        Some(self.data(compute(files)?, String::new()))
    }

    /// Is it about how long servers take for answers?
    pub fn is_of_requests(&self) -> bool {
        matches!(self.compute, Compute::Requests(_) | Compute::Server(_))
    }

    /// The view over the answers of servers, one for each of these where it shows only one; none when there is nothing to
    /// show, and for views of something else.
    pub fn draw_requests(&self, requests: &RequestFacts, servers: &[String]) -> Vec<ViewData> {
        match self.compute {
            Compute::Requests(compute) => {
                compute(requests).map(|drawing| self.data(drawing, String::new())).into_iter().collect()
            }
            Compute::Server(compute) => {
                let of = |server: &String| Some(self.data(compute(requests, server)?, server.clone()));
                servers.iter().filter_map(of).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Is it about findings?
    pub fn is_of_findings(&self) -> bool {
        matches!(self.compute, Compute::Findings(_))
    }

    /// The view over the findings of a recording; `None` when there are none, and for views of something else.
    pub fn draw_findings(&self, engine: &RuleEngine, started_ns: i64) -> Option<ViewData> {
        let Compute::Findings(compute) = self.compute else { return None };
        Some(self.data(compute(engine, started_ns)?, String::new()))
    }

    /// Is it about recordings side by side?
    pub fn is_of_a_comparison(&self) -> bool {
        matches!(self.compute, Compute::Pair(_) | Compute::Side(_))
    }

    /// The view over a pair of a comparison, one for each recording where it shows only one; none when there is nothing to
    /// show, and for views of something else.
    pub fn draw_comparison(&self, comparison: &Comparison, pair: usize) -> Vec<ViewData> {
        let named = |drawing, side: usize| {
            let mut data = self.data(drawing, comparison.pair_name(pair).to_string());
            data.title = format!("{}: {}", self.title, comparison.label(side));
            data
        };
        match self.compute {
            Compute::Pair(compute) => compute(comparison, pair)
                .map(|drawing| self.data(drawing, comparison.pair_name(pair).to_string()))
                .into_iter()
                .collect(),
            Compute::Side(compute) => {
                (0..comparison.len()).filter_map(|side| Some(named(compute(comparison, pair, side)?, side))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The view over `run`, or over all runs; `None` when there is nothing to show.
    pub fn draw(&self, facts: &RecordingFacts, run: Option<&RunFacts>) -> Option<ViewData> {
        let (drawing, subject) = match self.compute {
            Compute::All(compute) => (compute(facts)?, String::new()),
            Compute::Run(compute) => {
                let run = run.or_else(|| self.run_of(facts))?;
                let mut data = self.data(compute(facts, run)?, run.name());
                data.clock = (facts.is_without_runs() && data.is_over_time())
                    .then(|| crate::wall_clock::wall_clock(&facts.manifest, run.start_ns));
                return Some(data);
            }
            _ => return None,
        };
        let mut data = self.data(drawing, subject);
        if self.id == commands::SUMMARY && facts.commands.iter().any(|row| row.ending == ExecutionEnding::Accepted) {
            data.explanation = data.explanation.replacen(commands::COUNTED, commands::COUNTED_ALL, 1);
        }
        Some(data)
    }

    /// The run that is shown where none is named: the first that is not a filling run.
    pub(crate) fn run_of<'a>(&self, facts: &'a RecordingFacts) -> Option<&'a RunFacts> {
        facts.runs.iter().find(|run| !run.is_format()).or(facts.runs.first())
    }

    fn data(&self, drawing: Drawing, subject: String) -> ViewData {
        ViewData {
            id: self.id.to_string(),
            title: self.title.to_string(),
            subject,
            explanation: self.explanation.to_string(),
            x: drawing.x,
            y: drawing.y,
            body: drawing.body,
            marks: drawing.marks,
            clock: None,
            shown: None,
        }
    }
}

const fn run(
    id: &'static str,
    title: &'static str,
    kind: ViewKind,
    compute: fn(&RecordingFacts, &RunFacts) -> Option<Drawing>,
    explanation: &'static str,
) -> View {
    View { id, title, explanation, kind, compute: Compute::Run(compute) }
}

const fn all(
    id: &'static str,
    title: &'static str,
    kind: ViewKind,
    compute: fn(&RecordingFacts) -> Option<Drawing>,
    explanation: &'static str,
) -> View {
    View { id, title, explanation, kind, compute: Compute::All(compute) }
}

static VIEWS: [View; 42] = [
    all(
        "sweep.load_response",
        "Load and response time",
        ViewKind::LoadResponse,
        series::load_response,
        "Each point is a run. The knee is the point of greatest rate ÷ mean response time: beyond it, more load mostly buys waiting.",
    ),
    all(
        "sweep.rate_by",
        "Rate by parameter",
        ViewKind::SmallMultiples,
        series::rate_by,
        "Achieved operations per second over the values of a swept parameter, in equal steps; a second parameter makes charts with the same axes. Bars: 95 % confidence.",
    ),
    all(
        "sweep.response_by",
        "Response time by parameter",
        ViewKind::SmallMultiples,
        series::response_by,
        "Response times over the values of a swept parameter, in equal steps, logarithmic axis. The knee is the point of greatest rate ÷ mean response time.",
    ),
    all(
        "sweep.throughput_by",
        "Throughput by parameter",
        ViewKind::SmallMultiples,
        series::throughput_by,
        "Bytes moved per second over the values of a swept parameter, in equal steps.",
    ),
    all(
        "sweep.repeats",
        "Repetitions",
        ViewKind::Table,
        tables::repeats,
        "Means over the repetitions of each run; ± is half of the 95 % confidence interval (Student's t). A row differs from the one above by Welch's t-test of the logarithms (95 %, four rounds or more); everything else is not resolved.",
    ),
    all(
        "sweep.matrix",
        "Rate by two variables",
        ViewKind::Matrix,
        series::matrix,
        "Achieved operations per second, the best of all runs with these two values.",
    ),
    all(
        "sweep.runs",
        "Runs",
        ViewKind::Table,
        tables::runs,
        "Each run over its measured phase, warm-up excluded. Choose a run to see it in detail.",
    ),
    run(
        "replay.fidelity",
        "How faithful the replay was",
        ViewKind::Table,
        fidelity_views::table,
        "The trace beside what the kernel saw of the replay; lateness by the player's own clock. A distance is 0 for the same and 1 for quite different distributions (docs/replay.md).",
    ),
    run(
        "replay.rate",
        "I/Os per second of trace and replay",
        ViewKind::TimeSeries,
        fidelity_views::rate,
        "The trace at the replay's speed, and what the kernel saw of the replay.",
    ),
    run(
        "replay.late",
        "Lateness of the replay",
        ViewKind::TimeSeries,
        fidelity_views::late,
        "When the kernel queued I/Os, after they were due; a line that rises is drift.",
    ),
    run(
        "replay.response",
        "Response times of trace and replay",
        ViewKind::TimeSeries,
        fidelity_views::response,
        "Percentiles of each second, from queueing to completion, on the traced machine and here.",
    ),
    run(
        "replay.source_heatmap",
        "Response times of the trace",
        ViewKind::HeatMap,
        fidelity_views::source_heat,
        "Every I/O of the trace that was to be played; beside it, those of the replay.",
    ),
    run(
        "replay.heatmap",
        "Response times of the replay",
        ViewKind::HeatMap,
        fidelity_views::replay_heat,
        "Every I/O that the kernel saw of the replay.",
    ),
    run(
        "run.operations",
        "Operations",
        ViewKind::Table,
        tables::operations,
        "Totals of the measured phase. Response time counts from when an operation was due, service time from when it was submitted. A step is what operations on files needed besides (docs/files.md): it is in no sum, and has a service time only.",
    ),
    run(
        "run.iops",
        "Operations per second",
        ViewKind::TimeSeries,
        series::iops,
        "Completions by interval; dashed: arrivals, what was asked for.",
    ),
    run(
        "run.response",
        "Response time",
        ViewKind::TimeSeries,
        series::response,
        "From due time to completion, percentiles of each interval, logarithmic axis.",
    ),
    run(
        "run.response_heatmap",
        "Response times of all operations",
        ViewKind::HeatMap,
        series::heat_map,
        "Every operation of every interval: the darker (on dark pages, the brighter), the more operations took this long. Logarithmic colours.",
    ),
    run(
        "run.throughput",
        "Throughput",
        ViewKind::TimeSeries,
        series::throughput,
        "Bytes moved per second, M = 1,000,000.",
    ),
    run(
        "run.service",
        "Service time",
        ViewKind::TimeSeries,
        series::service,
        "From submission to completion: what the storage took, without waiting before it. Logarithmic axis.",
    ),
    run(
        "run.histogram",
        "Histogram of response times",
        ViewKind::Histogram,
        series::histogram,
        "Operations of the measured phase by response time; both axes logarithmic.",
    ),
    run(
        "run.percentiles",
        "Percentile curve",
        ViewKind::PercentileCurve,
        series::percentiles,
        "So many per cent of the operations took this long or less; the horizontal axis gives each nine the same room.",
    ),
    run(
        "run.queue_depth",
        "Queue depth",
        ViewKind::TimeSeries,
        series::queue_depth,
        "Mean number of operations in flight by interval.",
    ),
    run(
        "run.backlog",
        "Backlog",
        ViewKind::TimeSeries,
        series::backlog,
        "Operations that were due and not submitted at the end of each interval; 0 where the storage kept up.",
    ),
    run(
        "run.wait",
        "Submission lag",
        ViewKind::TimeSeries,
        series::wait,
        "From due time to submission: waiting for a free slot, or the load generator's own delay. Logarithmic axis.",
    ),
    run(
        "run.generator",
        "CPU of the load generator",
        ViewKind::TimeSeries,
        series::generator,
        "Per cent of one CPU, all workers together, and the busiest worker: at 100 % the generator is the limit.",
    ),
    run(
        "run.cpu",
        "CPU of the host",
        ViewKind::TimeSeries,
        series::cpu,
        "Per cent of all CPUs, and of the busiest single one; tick-sampled by the kernel.",
    ),
    run(
        "disk.rate",
        "Device rate",
        ViewKind::TimeSeries,
        series::disk_rate,
        "Requests per second that devices completed, as the kernel counts them.",
    ),
    run(
        "disk.throughput",
        "Device throughput",
        ViewKind::TimeSeries,
        series::disk_throughput,
        "Bytes per second that devices moved.",
    ),
    run(
        "disk.response",
        "Device response time",
        ViewKind::TimeSeries,
        series::disk_response,
        "Mean time of a request in the device's queue and the device. Logarithmic axis.",
    ),
    run(
        "disk.queue",
        "Device queue",
        ViewKind::TimeSeries,
        series::disk_queue,
        "Mean number of requests in the device's queue and the device.",
    ),
    run(
        "disk.busy",
        "Device utilization",
        ViewKind::TimeSeries,
        series::disk_busy,
        "Part of the time with at least one request in flight; 100 % is not saturation where a device serves many at once.",
    ),
    run("run.summary", "Summary", ViewKind::Table, tables::summary, "The run in figures, over its measured phase."),
    run("run.workloads", "Workloads", ViewKind::Table, tables::workloads, "Totals of the measured phase by workload."),
    run(
        "run.targets",
        "Targets",
        ViewKind::Table,
        tables::targets,
        "Totals of the measured phase by target, with the longest time that each went without a completion although something was waiting.",
    ),
    run(
        "run.phases",
        "Phases",
        ViewKind::Table,
        tables::phases,
        "What was recorded when; summaries are about the measured phase only.",
    ),
    run(
        "run.stalls",
        "Stalls",
        ViewKind::Table,
        tables::stalls,
        "Times in which no operation completed although operations were due or in flight.",
    ),
    all(
        "recording.objectives",
        "Objectives",
        ViewKind::Table,
        tables::objectives,
        "What each run had to achieve: a condition that came true is an objective missed.",
    ),
    all(
        "recording.data_check",
        "Data validation",
        ViewKind::Table,
        |facts| tables::drawing(validated::checks(&facts.data)),
        "What was proved of each target's data (docs/validation.md): bytes that were stamped and written, bytes that were read and compared, and how many of the blocks that are known were read once more at the end.",
    ),
    all(
        "recording.damage",
        "Damage by class",
        ViewKind::Table,
        |facts| tables::drawing(validated::damage(&facts.data)),
        "Blocks that were not what was written, by what happened to them (docs/validation.md).",
    ),
    all(
        "recording.damage_places",
        "Damaged blocks",
        ViewKind::Table,
        |facts| tables::drawing(validated::places(&facts.data)?),
        "The first damaged blocks in the order in which they were found, each with what had to be there and what was there. iodyno inspect shows one; docs/validation.md says what to do.",
    ),
    View {
        id: "recording.findings",
        title: "Findings",
        explanation: "What the counters of the machine say about causes, with what to do next (docs/findings.md). Trouble comes first; notes are good to know.",
        kind: ViewKind::Table,
        compute: Compute::Findings(tables::findings),
    },
    all("recording.events", "Events", ViewKind::Table, tables::events, "What happened that belongs to no interval."),
];

/// All views.
pub fn views() -> &'static [View] {
    static ALL: LazyLock<Vec<View>> = LazyLock::new(|| {
        [
            &commands::COMMANDS,
            rounds::ROUNDS.as_slice(),
            VIEWS.as_slice(),
            &followed::FOLLOWED,
            &machine::MACHINE,
            &compared::COMPARED,
        ]
        .concat()
    });
    &ALL
}

/// The view with this name.
///
/// # Errors
/// None has it; the error names the nearest.
pub fn view(id: &str) -> Result<&'static View, TableReadError> {
    views().iter().find(|view| view.id == id).ok_or_else(|| {
        let near = by_distance(id, views().iter().map(|view| view.id));
        TableReadError::UnknownView {
            id: id.to_string(),
            nearest: near.first().copied().unwrap_or_default().to_string(),
        }
    })
}
