//! Puts a whole report together.

mod commands;
mod machine;
mod warnings;

use crate::run_summary;

use crate::model::{
    HardwareGroup, RecordingInfo, ReportAppendix, ReportFigure, ReportModel, ReportWarning, RunModel, RunSummary,
    SourceText, SummaryFigure,
};
use crate::{RecordingFacts, RequestFacts, RunFacts, TracedFacts, View, tables, traced, views};
use objectives::Judgement;
use quantity::text::{format_bytes, format_wall};
use rates::Availability;
use recording::{EventKind, LoadPhase, Reader, RecordingExit, rows};
use serde_json::Value;
use view::Tone;
use view::thin::thinned;
use view::{Selection, TableReadError, Unit, ViewData};
use workload::probe::FileFold;
use workload::validated;

pub use warnings::unended;

/// Version of the model's shape.
const SCHEMA: &str = "iodyno.report/1";
/// Most devices of a trace with a map of their addresses in the report.
const MAPS: usize = 4;
/// Most servers whose answers the report shows one by one.
const SERVERS: usize = 3;

/// The report of a recording.
///
/// # Errors
/// A recording that cannot be read.
pub fn report_model(reader: &Reader) -> Result<ReportModel, TableReadError> {
    let mut facts = RecordingFacts::read(reader, &Selection::default())?;
    let mut runs: Vec<RunModel> = facts.runs.iter().map(|run| run_model(&facts, run)).collect();
    let shown = |view: &&View| {
        ["recording.objectives", "recording.data_check", "recording.damage", "recording.damage_places"]
            .contains(&view.id)
            || ["pts.", "sweep.", "command."].iter().any(|family| view.id.starts_with(family))
    };
    let mut of_all: Vec<&View> = views().iter().filter(|view| !view.is_of_a_run()).filter(shown).collect();
    of_all.sort_by_key(|view| !view.id.starts_with("recording."));
    let of_all: Vec<ViewData> = of_all.into_iter().filter_map(|view| view.draw(&facts, None)).collect();
    let traced = TracedFacts::read(reader)?;
    // Of a replay the trace is a witness: what it says of the replay comes first.
    let mut trace_views = traced.as_ref().map_or_else(Vec::new, trace_views);
    if let Some((run, _)) = runs.iter_mut().zip(&facts.runs).rfind(|(_, run)| run.is_replay()) {
        run.views.append(&mut trace_views);
    }
    let files = FileFold::read(reader)?;
    let requests = RequestFacts::read(reader)?;
    let findings = findings::findings(reader, findings::Thresholds::default())?;
    let title = title(&facts);
    // A trace beside runs is about their I/O; alone it is what the recording is about, and counters are when nothing else is.
    let mut machine_views = Vec::new();
    let is_watched = facts.has_counters_only();
    if is_watched {
        facts.without_runs();
        machine_views = machine::drawn(&facts);
    }
    let (sentence, figures) = match (&traced, &requests, &files) {
        _ if commands::are_alone(&facts) => commands::head(&facts, is_watched),
        _ if !runs.is_empty() => head(&facts, &runs),
        (Some(traced), ..) => (traced::sentence(traced), traced::figures(traced)),
        (_, Some(requests), _) => (requests.sentence(), Vec::new()),
        (_, _, Some(files)) => (files.sentence() + ".", Vec::new()),
        _ if is_watched => (machine::sentence(&facts), machine::figures(&facts)),
        _ if !facts.data.checks.is_empty() => (read_data(&facts), data_figure(&facts).into_iter().collect()),
        _ => (nothing_shown(&reader.tables()?), Vec::new()),
    };
    Ok(ReportModel {
        schema: SCHEMA.to_string(),
        title,
        sentence,
        figures,
        recording: recording_info(&facts),
        warnings: warnings::warnings(&facts, &runs)
            .into_iter()
            .chain(
                traced
                    .as_ref()
                    .and_then(TracedFacts::sampling_note)
                    .into_iter()
                    .chain(no_finding(&findings))
                    .map(|text| ReportWarning { tone: Tone::Info, text, run: None }),
            )
            .chain(traced.as_ref().and_then(TracedFacts::sample_note).map(|text| ReportWarning {
                tone: Tone::Warning,
                text,
                run: None,
            }))
            .collect(),
        overview: views()
            .iter()
            .filter_map(|view| view.draw_findings(&findings, facts.manifest.started_t_ns))
            .chain(of_all)
            .chain(trace_views)
            .chain(files.iter().flat_map(|files| views().iter().filter_map(|view| view.draw_files(files))))
            .chain(requests.iter().flat_map(request_views))
            .chain(machine_views)
            .map(thinned)
            .collect(),
        appendix: appendix(&facts),
        runs,
    })
}

/// The name of what was asked for, or else of what ran.
fn title(facts: &RecordingFacts) -> String {
    match facts.manifest.sources.first() {
        Some((name, _)) => name.rsplit('/').next().unwrap_or(name).to_string(),
        None if commands::are_alone(facts) => commands::title(&facts.executed()),
        None => facts.manifest.id.clone(),
    }
}

/// That the rules looked and found nothing; `None` where they had nothing to look at, or found something.
fn no_finding(findings: &findings::RuleEngine) -> Option<String> {
    let judged_s = findings.judged_s();
    (judged_s >= 1.0 && findings.findings().is_empty()).then(|| {
        let judged = Unit::Seconds.format(Some(judged_s.round()));
        format!("No finding: the machine's counters of {judged} were judged by all rules (docs/findings.md).")
    })
}

/// Of a recording of which no view shows anything.
fn nothing_shown(tables: &[String]) -> String {
    let kept: Vec<&str> = tables.iter().map(String::as_str).filter(|table| *table != rows::Event::NAME).collect();
    match kept.as_slice() {
        [] => "Nothing was measured.".to_string(),
        kept => format!(
            "Nothing was measured that a view shows; `iodyno export` writes what there is: {}.",
            kept.join(", ")
        ),
    }
}

/// The views of servers' answers; those of one server are there for each of the busiest.
fn request_views(requests: &RequestFacts) -> Vec<ViewData> {
    let busiest: Vec<String> = requests.names().take(SERVERS).collect();
    views().iter().flat_map(|view| view.draw_requests(requests, &busiest)).collect()
}

/// The views of a trace; those of one device are there for each of the busiest.
fn trace_views(traced: &TracedFacts) -> Vec<ViewData> {
    let mut drawn = Vec::new();
    for view in views().iter().filter(|view| view.is_of_a_trace()) {
        if view.id == "trace.addresses" {
            drawn.extend(traced.device_names().take(MAPS).filter_map(|name| view.draw_trace(traced, Some(name))));
        } else {
            drawn.extend(view.draw_trace(traced, None));
        }
    }
    drawn
}

fn figure(label: &str, value: String, detail: String) -> ReportFigure {
    ReportFigure { label: label.to_string(), value, detail, tone: Tone::Plain }
}

fn time(value: Option<f64>) -> String {
    Unit::Nanoseconds.format(value)
}

/// Counts with the right form of the noun.
pub(crate) fn several(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", Unit::Operations.format(Some(count as f64))) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of sizes is positive and small")]
fn mean_size(summary: &RunSummary) -> Option<String> {
    (summary.ops > 0.0 && summary.bytes > 0.0).then(|| format_bytes((summary.bytes / summary.ops).round() as u64))
}

/// "8 KiB operations, 70 % reads", "mkdir and create operations", "append, fsync, readfile and other operations".
fn load(summary: &RunSummary) -> String {
    if let Some(kinds) = &summary.on_files {
        return format!("{kinds} operations");
    }
    let size = mean_size(summary).map_or(String::new(), |size| format!("{size} "));
    match summary.read_percent {
        Some(reads) if reads >= 99.95 => format!("{size}reads"),
        Some(reads) if reads <= 0.05 => format!("{size}writes"),
        Some(reads) => format!("{size}operations, {reads:.0} % reads"),
        None if summary.ops > 0.0 => format!("{size}operations"),
        None => "no operations".to_string(),
    }
}

fn stall_figure(summary: &RunSummary) -> ReportFigure {
    match &summary.longest_stall {
        Some(stall) => ReportFigure {
            label: "Longest stall".to_string(),
            value: Unit::Seconds.format(Some(stall.to_s - stall.from_s)),
            detail: format!(
                "at {}, {}",
                Unit::Seconds.format(Some(stall.from_s)),
                several(summary.stalled_intervals, "silent interval")
            ),
            tone: Tone::Warning,
        },
        // What an import does not know.
        None if summary.ops == 0.0
            && summary.arrivals.is_none()
            && summary.errors.is_none_or(|errors| errors == 0.0) =>
        {
            let detail = "nothing completed, and what waited was not recorded";
            figure("Longest stall", "?".to_string(), detail.to_string())
        }
        None => {
            let failed = if summary.errors.is_some_and(|errors| errors > 0.0) { ", well or failed" } else { "" };
            let detail = format!("in no interval did operations wait while none came back{failed}");
            figure("Longest stall", "none".to_string(), detail)
        }
    }
}

fn error_figure(errors: Option<f64>, ops: f64) -> ReportFigure {
    let counted = match errors {
        None => " operations, failures were not counted",
        Some(errors) if errors > 0.0 => " other operations succeeded",
        Some(_) => " operations",
    };
    ReportFigure {
        label: "Errors".to_string(),
        value: Unit::Operations.format(errors),
        detail: format!("{}{counted}", Unit::Operations.format(Some(ops))),
        tone: if errors.is_some_and(|errors| errors > 0.0) { Tone::Error } else { Tone::Plain },
    }
}

/// How many objectives were met; `None` when there were none.
fn objectives_figure(facts: &RecordingFacts) -> Option<ReportFigure> {
    let of = |judgement: Judgement| facts.objectives.iter().filter(|verdict| verdict.judgement == judgement).count();
    let (missed, unknown, all) = (of(Judgement::Missed), of(Judgement::Unknown), facts.objectives.len());
    if all == 0 {
        return None;
    }
    let undecided = of(Judgement::Undecided);
    let (value, tone) = match (missed, undecided, unknown) {
        (0, 0, 0) => ("all met".to_string(), Tone::Plain),
        (0, 1.., _) => (format!("{undecided} undecided"), Tone::Error),
        (0, _, unknown) => (format!("{unknown} not judged"), Tone::Warning),
        (missed, ..) => (format!("{missed} missed"), Tone::Error),
    };
    Some(ReportFigure { label: "Objectives".to_string(), value, detail: format!("of {all}"), tone })
}

fn run_figures(run: &RunFacts, summary: &RunSummary) -> Vec<ReportFigure> {
    let offered = match run.offered {
        Some(rate) => format!("offered {}", Unit::OpsPerSecond.format(Some(rate))),
        None => run.pace().to_string(),
    };
    let max = run
        .main_intervals()
        .filter(|interval| interval.response.max().map(|ns| ns as f64) == summary.response.max)
        .map(|interval| format!("at {}", Unit::Seconds.format(Some(run.seconds(interval.t_ns)))))
        .next();
    let service = |part: SummaryFigure| format!("service {}", summary.service.text(part));
    vec![
        figure("IOPS", Unit::OpsPerSecond.format(summary.iops), offered),
        figure("Throughput", Unit::BytesPerSecond.format(summary.bytes_per_s), load(summary)),
        figure("Response p50", summary.response.text(SummaryFigure::P50), service(SummaryFigure::P50)),
        figure("Response p99", summary.response.text(SummaryFigure::P99), service(SummaryFigure::P99)),
        figure("Response p99.9", summary.response.text(SummaryFigure::P999), service(SummaryFigure::P999)),
        figure("Response max", summary.response.text(SummaryFigure::Max), max.unwrap_or_default()),
        stall_figure(summary),
        error_figure(summary.errors, summary.ops),
    ]
}

fn run_sentence(run: &RunFacts, summary: &RunSummary) -> String {
    let asked = match run.offered {
        Some(rate) => format!(
            "offered {}, achieved {}",
            Unit::OpsPerSecond.format(Some(rate)),
            Unit::OpsPerSecond.format(summary.iops)
        ),
        None => format!("{} {}", Unit::OpsPerSecond.format(summary.iops), run.pace()),
    };
    let mut targets: Vec<&str> = run.main_totals().map(|total| total.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let place = match targets.as_slice() {
        [only] => format!("on {only}"),
        many => format!("on {}", several(many.len(), "target")),
    };
    format!(
        "{} {place}, {}: {asked}, {}; {} operations in flight on average.",
        load(summary),
        Unit::Seconds.format(Some(summary.measured_s)),
        Unit::BytesPerSecond.format(summary.bytes_per_s),
        Unit::Count.format(summary.queue_depth),
    )
}

fn run_model(facts: &RecordingFacts, run: &RunFacts) -> RunModel {
    let summary = run_summary(facts, run);
    let verdicts = Availability::of(&facts.manifest);
    let is_of_commands = run.is_of_commands();
    let (sentence, figures) = match is_of_commands {
        true => commands::of_run(run),
        false => (run_sentence(run, &summary), run_figures(run, &summary)),
    };
    RunModel {
        is_of_commands,
        index: run.index,
        title: run.title.clone(),
        detail: run.detail.clone(),
        sentence,
        figures,
        views: views()
            .iter()
            .filter(|view| view.is_of_a_run() && view.id != "run.summary")
            .filter(|view| !is_of_commands || commands::is_shown(view.id))
            .filter_map(|view| view.draw(facts, Some(run)).or_else(|| view.missing(&verdicts)))
            .map(thinned)
            .collect(),
        summary,
    }
}

/// Names of the targets, or how many, and the devices below them.
fn place(facts: &RecordingFacts) -> String {
    let mut targets: Vec<&str> =
        facts.runs.iter().flat_map(|run| &run.totals).map(|total| total.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let named = match targets.as_slice() {
        [] => "no target".to_string(),
        few if few.len() <= 3 => few.join(", "),
        many => several(many.len(), "target"),
    };
    let devices: Vec<&str> = facts.disks.keys().map(String::as_str).collect();
    match devices.as_slice() {
        [] => named,
        few if few.len() <= 3 => format!("{named} ({})", few.join(", ")),
        many => format!("{named} ({})", several(many.len(), "device")),
    }
}

/// The measured runs: all but the filling ones and the one that reads all at the end; one in which every operation failed is one of them.
fn measured<'a>(facts: &'a RecordingFacts, runs: &'a [RunModel]) -> impl Iterator<Item = &'a RunModel> {
    facts
        .runs
        .iter()
        .zip(runs)
        .filter(|(run, model)| {
            let has_failed = model.summary.errors.is_some_and(|errors| errors > 0.0);
            !matches!(run.main_phase(), LoadPhase::Format | LoadPhase::Verify)
                && (model.summary.ops > 0.0 || has_failed)
        })
        .map(|pair| pair.1)
}

/// How many runs only filled the targets, read all at the end, or did nothing, when there are any.
fn beside(facts: &RecordingFacts, runs: &[RunModel]) -> Option<String> {
    let others = runs.iter().filter(|run| !run.is_of_commands).count() - measured(facts, runs).count();
    (others > 0).then(|| several(others, "run") + " that filled or verified the targets, or did nothing")
}

fn fastest<'a>(facts: &'a RecordingFacts, runs: &'a [RunModel]) -> Option<&'a RunModel> {
    measured(facts, runs).max_by(|a, b| a.summary.iops.unwrap_or(0.0).total_cmp(&b.summary.iops.unwrap_or(0.0)))
}

fn sentence(facts: &RecordingFacts, runs: &[RunModel]) -> String {
    let count = measured(facts, runs).count();
    let Some(best) = fastest(facts, runs) else {
        return format!("Nothing was measured on {}{}.", place(facts), validated::words(&facts.data));
    };
    let rate = Unit::OpsPerSecond.format(best.summary.iops);
    let throughput = Unit::BytesPerSecond.format(best.summary.bytes_per_s);
    let failed = match all_errors(runs) {
        Some(errors) if errors > 0.0 => format!(", {} errors", Unit::Operations.format(Some(errors))),
        Some(_) => ", no errors".to_string(),
        None => ", errors not counted".to_string(),
    };
    let failed = failed + &validated::words(&facts.data);
    if best.summary.ops == 0.0 {
        return format!("No operation succeeded on {}{failed}.", place(facts));
    }
    if count == 1 {
        return format!(
            "{} on {} for {}: {rate}, {throughput}, {}{failed}.",
            capital(&load(&best.summary)),
            place(facts),
            Unit::Seconds.format(Some(best.summary.measured_s)),
            times(&best.summary),
        );
    }
    let slowest = measured(facts, runs).filter_map(|run| run.summary.iops).fold(f64::INFINITY, f64::min);
    let knee = tables::knee_run(facts).map_or(String::new(), |(title, summary)| {
        format!("; the knee lies at {} ({title})", Unit::OpsPerSecond.format(summary.iops))
    });
    format!(
        "{} on {}: from {} to {rate}, at most {throughput} with {}{knee}{failed}.",
        several(count, if beside(facts, runs).is_some() { "measured run" } else { "run" }),
        place(facts),
        Unit::OpsPerSecond.format(Some(slowest)),
        most(&best.summary),
    )
}

/// Half of the operations and nearly all of them, by the best clock that there is.
fn times(summary: &RunSummary) -> String {
    match (summary.response.p50, summary.service.p50) {
        (None, Some(_)) => {
            format!(
                "half of the operations served within {}, {}",
                summary.service.text(SummaryFigure::P50),
                most(summary)
            )
        }
        (None, None) => most(summary),
        _ => format!("half of the operations within {}, {}", summary.response.text(SummaryFigure::P50), most(summary)),
    }
}

/// Nearly all operations; what an import did not have is said.
fn most(summary: &RunSummary) -> String {
    match (summary.response.p99, summary.service.p99, summary.service.mean) {
        (None, Some(p99), _) => {
            format!("99 % within {} of submission (response times were not recorded)", time(Some(p99)))
        }
        (None, None, Some(mean)) => {
            format!(
                "{} from submission on average (neither response times nor percentiles were recorded)",
                time(Some(mean))
            )
        }
        _ => format!("99 % within {}", summary.response.text(SummaryFigure::P99)),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Sentence and figures of runs; whether rounds of them became steady comes first.
fn head(facts: &RecordingFacts, runs: &[RunModel]) -> (String, Vec<ReportFigure>) {
    let steady = crate::pts::steady_state(facts);
    let words = steady.as_ref().map_or(String::new(), |(words, _)| format!("{words} "));
    let figures = steady.map(|(_, figure)| figure).into_iter().chain(headline(facts, runs));
    let figures = figures.chain(objectives_figure(facts)).chain(data_figure(facts));
    (words + &sentence(facts, runs), figures.collect())
}

/// What came of the data.
fn data_figure(facts: &RecordingFacts) -> Option<ReportFigure> {
    let (value, detail, tone) = validated::figure(&facts.data)?;
    Some(ReportFigure { label: "Data".to_string(), value, detail, tone })
}

/// Of a recording of stamped data that was read without a load (`iodyno verify -o`).
fn read_data(facts: &RecordingFacts) -> String {
    let targets: Vec<&str> = facts.data.checks.iter().map(|row| &*row.target).collect();
    let verdict = facts.events.iter().rfind(|event| event.kind == EventKind::Data);
    let verdict = verdict.map_or(String::new(), |event| format!(": {}", event.message));
    format!("{} was read{verdict}.", targets.join(", "))
}

/// Figures of the whole recording: those of the only run, or of the fastest.
fn headline(facts: &RecordingFacts, runs: &[RunModel]) -> Vec<ReportFigure> {
    let Some(best) = fastest(facts, runs) else { return Vec::new() };
    if measured(facts, runs).count() == 1 {
        let mut figures = best.figures.clone();
        // The sentence counts the errors of all runs, those that fill the targets as well.
        if let (Some(tile), Some(errors)) = (figures.last_mut(), all_errors(runs))
            && best.summary.errors != Some(errors)
        {
            *tile = error_figure(Some(errors), all_operations(runs));
        }
        return figures;
    }
    let summary = &best.summary;
    let service = |part: SummaryFigure| format!("service {}", summary.service.text(part));
    let at = |text: &str| format!("{text} {} {}", best.title, best.detail).trim_end().to_string();
    let mut figures = vec![
        figure(
            "Measured runs",
            measured(facts, runs).count().to_string(),
            format!(
                "{} all in all{}",
                Unit::Seconds.format(Some(measured(facts, runs).map(|run| run.summary.measured_s).sum())),
                beside(facts, runs).map_or(String::new(), |others| format!(", beside {others}"))
            ),
        ),
        figure("Greatest rate", Unit::OpsPerSecond.format(summary.iops), at("in")),
        figure("Throughput there", Unit::BytesPerSecond.format(summary.bytes_per_s), load(summary)),
        figure("Response p50 there", summary.response.text(SummaryFigure::P50), service(SummaryFigure::P50)),
        figure("Response p99 there", summary.response.text(SummaryFigure::P99), service(SummaryFigure::P99)),
    ];
    if let Some((name, rate)) = tables::best_repeated(facts) {
        let half = rate.half.map_or(String::new(), |half| format!(" ± {}", Unit::OpsPerSecond.format(Some(half))));
        let value = Unit::OpsPerSecond.format(Some(rate.mean));
        figures.insert(
            1,
            figure(&format!("Mean of {}", rate.count), value, format!("{half} (95 %), {name}").trim().into()),
        );
    }
    if let Some((title, knee)) = tables::knee_run(facts) {
        figures.push(figure(
            "Knee",
            Unit::OpsPerSecond.format(knee.iops),
            format!("mean {}, {title}", time(knee.response.mean)),
        ));
    }
    let length = |run: &&RunModel| run.summary.longest_stall.as_ref().map_or(0.0, |stall| stall.to_s - stall.from_s);
    if let Some(run) = runs.iter().max_by(|a, b| length(a).total_cmp(&length(b))) {
        let mut stall = stall_figure(&run.summary);
        if run.summary.longest_stall.is_some() {
            stall.detail = format!("{}, {}", run.title, stall.detail);
        }
        figures.push(stall);
    }
    figures.push(error_figure(all_errors(runs), all_operations(runs)));
    figures
}

/// Failures of all runs; `None` where one of them did not count them.
fn all_errors(runs: &[RunModel]) -> Option<f64> {
    runs.iter().map(|run| run.summary.errors).sum()
}

fn all_operations(runs: &[RunModel]) -> f64 {
    runs.iter().map(|run| run.summary.ops).sum()
}

pub(crate) fn recording_info(facts: &RecordingFacts) -> RecordingInfo {
    let manifest = &facts.manifest;
    let is_unproved = facts.data.figures().is_some_and(|all| all.is_unproved());
    let exit = manifest.exit.clone().unwrap_or_default();
    RecordingInfo {
        id: manifest.id.clone(),
        host: manifest.host.clone(),
        kernel: format!("Linux {}", manifest.kernel.split_whitespace().next().unwrap_or("?")),
        started: format_wall(manifest.started_wall_ns),
        state: facts.state.words().to_string(),
        exit: match exit {
            RecordingExit::Complete if is_unproved => "no data was proved".to_string(),
            exit => exit.to_string(),
        },
        command_line: manifest.command_line.join(" "),
        losses: manifest
            .losses
            .iter()
            .filter(|loss| *loss.1 > 0)
            .map(|(name, count)| format!("{count} lost: {name}"))
            .collect(),
    }
}

/// What was asked for, in its own words, and of which machine.
pub(crate) fn sources_and_hardware(facts: &RecordingFacts) -> (Vec<SourceText>, Vec<HardwareGroup>) {
    let manifest = &facts.manifest;
    let sources = manifest.sources.iter().map(|(name, text)| SourceText { name: name.clone(), text: text.clone() });
    (sources.collect(), hardware(&manifest.hardware, &manifest.kernel))
}

fn appendix(facts: &RecordingFacts) -> ReportAppendix {
    let manifest = &facts.manifest;
    let engine =
        facts.events.iter().filter(|event| matches!(event.kind, EventKind::Engine | EventKind::EngineOverhead));
    let mut lines: Vec<String> = Vec::new();
    for event in engine {
        let line = event.message.clone();
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.extend(manifest.extra.iter().map(|(name, value)| format!("{}: {}", name.replace('_', " "), plain(value))));
    let (sources, hardware) = sources_and_hardware(facts);
    ReportAppendix {
        hardware,
        sources,
        engine: lines,
        events: facts
            .events
            .iter()
            .take(2_000)
            .map(|event| {
                let run = event.run.as_deref().map_or(String::new(), |run| format!(" {run}:"));
                let kind = match event.class.as_deref() {
                    Some(class) if event.kind == EventKind::Kernel && class != kernel_message::OTHER => {
                        format!("{} {class}", event.kind)
                    }
                    _ => event.kind.to_string(),
                };
                let count = if event.count > 1 { format!(" (×{})", event.count) } else { String::new() };
                format!("{:>10.3} s  {:<7} {kind:<14}{run} {}{count}", event.t_s, event.severity, event.message)
            })
            .collect(),
    }
}

/// A value without quotes and braces.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "?".to_string(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<String>>().join(", "),
        Value::Object(fields) => {
            // What a path carries is said in words beside the number.
            let fields = fields.iter().filter(|(name, _)| !name.ends_with("_bytes_per_s"));
            fields.map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<String>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// The inventory, one group per part: it comes as nested JSON, whatever the machine had to tell.
fn hardware(inventory: &Value, kernel: &str) -> Vec<HardwareGroup> {
    let mut machine =
        HardwareGroup { title: "Machine".to_string(), rows: vec![("kernel".to_string(), kernel.to_string())] };
    let mut groups = Vec::new();
    for (name, value) in inventory.as_object().into_iter().flatten() {
        let label = name.replace('_', " ");
        match value {
            Value::Object(fields) => groups.push(group(&label, fields)),
            Value::Array(parts) if parts.iter().all(Value::is_object) => {
                groups.extend(parts.iter().filter_map(Value::as_object).map(|fields| {
                    let named =
                        ["name", "device", "target", "path", "mount"].iter().find_map(|key| fields.get(*key)?.as_str());
                    group(&format!("{} {}", label.trim_end_matches('s'), named.unwrap_or("")), fields)
                }));
            }
            other if is_nothing(other) || name == "kernel" => {}
            other => machine.rows.push(described(name, other)),
        }
    }
    groups.insert(0, machine);
    groups
}

fn group(title: &str, fields: &serde_json::Map<String, Value>) -> HardwareGroup {
    let rows = fields.iter().filter(|field| !is_nothing(field.1)).map(|(name, value)| described(name, value)).collect();
    HardwareGroup { title: capital(title.trim()), rows }
}

/// Not there, or there and empty: says nothing about a part.
fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// A name without its unit and a value with it.
fn described(name: &str, value: &Value) -> (String, String) {
    match (name.strip_suffix("_bytes"), value.as_u64()) {
        (Some(name), Some(bytes)) => (name.replace('_', " "), format_bytes(bytes)),
        _ => (name.replace('_', " "), plain(value)),
    }
}
