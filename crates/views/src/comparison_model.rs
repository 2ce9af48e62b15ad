//! The page of a comparison: the report's own shape, so that the same face draws it.

use crate::catalogue::{view, views};
use crate::comparison::words::{change, interval, sentence, tone, verdict};
use crate::comparison::{Comparison, Side, busy, commands, failures};
use crate::model::RunSummary;
use crate::model::{RecordingInfo, ReportAppendix, ReportFigure, ReportModel, ReportWarning, RunModel, SourceText};
use crate::repeats::groups;
use crate::series::measured;
use crate::{
    report_model::{recording_info, sources_and_hardware},
    run_summary::run_summary,
};
use objectives::Judgement;
use rates::measure::measure_of;
use recording::EventKind;
use view::Tone;
use view::{TableReadError, ViewData};
use workload::traced::sample::sample_words;

impl Comparison {
    /// The views with this name over a pair (the first that all recordings have).
    ///
    /// # Errors
    /// No such view, or it has nothing to show.
    pub fn draw(&self, id: &str) -> Result<Vec<ViewData>, TableReadError> {
        let drawn = view(id)?.draw_comparison(self, self.usual_pair());
        let reason = "the recordings have nothing of it to compare".to_string();
        if drawn.is_empty() { Err(TableReadError::Empty { id: id.to_string(), reason }) } else { Ok(drawn) }
    }
}

/// Version of the model's shape.
const SCHEMA: &str = "iodyno.report/1";

/// The page of recordings side by side.
#[must_use]
pub fn comparison_model(comparison: &Comparison) -> ReportModel {
    let sides = &comparison.sides;
    let names: Vec<&str> = sides.iter().map(|side| side.label.as_str()).collect();
    let usual = comparison.usual_pair();
    let of_a_pair = |pair: usize| -> Vec<ViewData> {
        let shown = views().iter().filter(|view| view.is_of_a_comparison() && !is_of_all(view.id));
        shown.flat_map(|view| view.draw_comparison(comparison, pair)).collect()
    };
    let runs = (0..comparison.pairs.len()).map(|pair| RunModel {
        index: i32::try_from(pair).unwrap_or(i32::MAX),
        title: comparison.pairs[pair].clone(),
        detail: String::new(),
        sentence: sentence(comparison, pair),
        figures: figures(comparison, pair),
        is_of_commands: false,
        summary: summary(comparison, pair),
        views: of_a_pair(pair),
    });
    let overview = views().iter().filter(|view| view.is_of_a_comparison() && is_of_all(view.id));
    ReportModel {
        schema: SCHEMA.to_string(),
        title: names.join(" | "),
        sentence: commands::headline(comparison),
        figures: figures(comparison, usual),
        recording: information(sides),
        warnings: wrong_data(sides).chain(warnings(comparison)).collect(),
        overview: overview.flat_map(|view| view.draw_comparison(comparison, usual)).collect(),
        runs: runs.collect(),
        appendix: appendix(sides),
    }
}

/// Is a view about all pairs rather than about one?
fn is_of_all(id: &str) -> bool {
    ["compare.commands", "compare.runs", "compare.load_response", "compare.counters"].contains(&id)
}

fn figures(comparison: &Comparison, pair: usize) -> Vec<ReportFigure> {
    let mut figures = Vec::new();
    let primary = comparison.primary(pair);
    let tail = measure_of("response_ns_p99").map(|tail| {
        // Where nothing succeeded there is neither.
        let mut loads = comparison.of(pair).filter(|(_, _, load)| load.succeeded() > 0.0);
        let has_response = loads.all(|(_, _, load)| load.response.ended.count() > 0);
        if has_response { tail } else { tail.by_service() }
    });
    let several = comparison.pairs.len() > 1;
    for (at, side, _) in comparison.of(pair).filter(|(at, _, _)| *at > 0) {
        for measure in std::iter::once(primary).chain(tail) {
            let judged = comparison.judged(at, pair, measure);
            let run = if several { format!(", {}", comparison.pair_name(pair)) } else { String::new() };
            let within = interval(judged);
            let within = if within.is_empty() { within } else { format!(" (95 %: {within})") };
            figures.push(ReportFigure {
                label: format!("{} of {}{run}", measure.title, side.label),
                value: judged.map_or("?".to_string(), |judged| match judged.ratio.is_finite() {
                    true => format!("{:.2} ×", judged.ratio),
                    false => change(judged.ratio),
                }),
                detail: format!("{}{within}", verdict(judged)),
                tone: tone(judged),
            });
        }
    }
    figures
}

/// In numbers: the last recording's.
fn summary(comparison: &Comparison, pair: usize) -> RunSummary {
    let name = &comparison.pairs[pair];
    let last = comparison.sides.last();
    let found = last.and_then(|side| {
        let all = groups(measured(&side.facts));
        // The only run of each is a pair whatever their names.
        let is_only = all.len() == 1 && comparison.pairs.len() == 1;
        let named = all.into_iter().find(|group| is_only || group.name() == *name)?;
        named.runs.into_iter().next()
    });
    found.map_or_else(|| run_summary_of_nothing(last), |(_, summary)| summary)
}

fn run_summary_of_nothing(side: Option<&Side>) -> RunSummary {
    let nothing = crate::RunFacts::default();
    match side {
        Some(side) => run_summary(&side.facts, &nothing),
        None => RunSummary::default(),
    }
}

/// What all have in common, or each one's.
fn joined(sides: &[Side], of: impl Fn(&RecordingInfo) -> String) -> String {
    let mut texts: Vec<String> = sides.iter().map(|side| of(&recording_info(&side.facts))).collect();
    texts.dedup();
    texts.join(" | ")
}

fn information(sides: &[Side]) -> RecordingInfo {
    let losses = |side: &Side| {
        let losses = recording_info(&side.facts).losses.into_iter();
        losses.map(|loss| format!("{}: {loss}", side.label)).collect::<Vec<String>>()
    };
    RecordingInfo {
        id: joined(sides, |info| info.id.clone()),
        host: joined(sides, |info| info.host.clone()),
        kernel: joined(sides, |info| info.kernel.clone()),
        started: joined(sides, |info| info.started.clone()),
        state: joined(sides, |info| info.state.clone()),
        exit: joined(sides, |info| info.exit.clone()),
        command_line: sides
            .iter()
            .map(|side| format!("{}: {}", side.label, recording_info(&side.facts).command_line))
            .collect::<Vec<String>>()
            .join("\n"),
        losses: sides.iter().flat_map(losses).collect(),
    }
}

/// Recordings whose data was not what had been written.
fn wrong_data(sides: &[Side]) -> impl Iterator<Item = ReportWarning> {
    sides.iter().filter_map(|side| {
        let text = format!("{}: data was wrong: {}.", side.label, side.facts.data.damage_words()?);
        Some(ReportWarning { tone: Tone::Error, text, run: None })
    })
}

fn warnings(comparison: &Comparison) -> Vec<ReportWarning> {
    let sides = &comparison.sides;
    let mut warnings = Vec::new();
    let mut say = |tone, text: String| warnings.push(ReportWarning { tone, text, run: None });
    let differs = |of: fn(&RecordingInfo) -> &String| {
        sides.windows(2).any(|pair| of(&recording_info(&pair[0].facts)) != of(&recording_info(&pair[1].facts)))
    };
    if differs(|info| &info.host) || differs(|info| &info.kernel) {
        let where_from = joined(sides, |info| format!("{}, {}", info.host, info.kernel));
        say(Tone::Info, format!("Host or kernel differ: {where_from}."));
    }
    if comparison.traced {
        let text = "Compared is what the kernel saw (traces): response time runs from queueing to completion.";
        say(Tone::Info, text.to_string());
    }
    for sentence in &comparison.remarks {
        say(Tone::Warning, sentence.clone());
    }
    commands::notes(comparison).into_iter().for_each(|sentence| say(Tone::Info, sentence));
    for side in sides {
        for sentence in &side.facts.damage {
            say(Tone::Error, format!("{} is damaged: {sentence}.", side.label));
        }
        if side.facts.state != recording::RecordingState::Sealed {
            say(Tone::Warning, format!("{} is {}.", side.label, side.facts.state.words()));
        }
        for loss in recording_info(&side.facts).losses {
            say(Tone::Warning, format!("{}: {loss}.", side.label));
        }
        for run in &side.facts.runs {
            if let Some(words) = run.unfinished.and_then(|unfinished| unfinished.words()) {
                say(Tone::Warning, format!("{}: {}: {words}: figures with ≥ are lower bounds.", side.label, run.title));
            }
        }
        for event in side.facts.events.iter().filter(|event| event.kind == EventKind::Paused) {
            say(Tone::Warning, format!("{}: {}.", side.label, event.message));
        }
        if let Some(words) = sample_words(&side.facts.manifest) {
            say(Tone::Warning, format!("{}: {words}; counts and rates are estimates for all.", side.label));
        }
        if side.samples.is_empty() {
            say(Tone::Info, format!("{} has no counters of its machine.", side.label));
        }
    }
    for verdict in &comparison.objectives {
        let tone = match verdict.judgement {
            Judgement::Met => Tone::Good,
            Judgement::Missed => Tone::Error,
            Judgement::Unknown | Judgement::Undecided => Tone::Warning,
        };
        let text = format!("{}.", verdict.summary());
        warnings.push(ReportWarning { tone, text, run: usize::try_from(verdict.run_index).ok() });
    }
    for pair in 0..comparison.pairs.len() {
        let failed = failures::caution(comparison, pair).map(|text| (Tone::Warning, text));
        for (tone, text) in failed.into_iter().chain(busy::warnings(comparison, pair)) {
            warnings.push(ReportWarning { tone, text, run: Some(pair) });
        }
    }
    for (text, pair) in notes(comparison) {
        warnings.push(ReportWarning { tone: Tone::Info, text, run: pair });
    }
    let mut say = |tone, text: String| warnings.push(ReportWarning { tone, text, run: None });
    for side in sides.iter().skip(1) {
        let found = side.samples.changes(&sides[0].samples);
        if let Some(words) = found.words() {
            say(Tone::Info, format!("{}: {words}", side.label));
        }
    }
    lonely(comparison).take(8).for_each(|text| say(Tone::Info, text));
    warnings
}

/// Runs that a side has not.
fn lonely(comparison: &Comparison) -> impl Iterator<Item = String> {
    comparison.sides.iter().flat_map(|side| {
        let names = side.loads.iter().zip(&comparison.pairs);
        names.filter(|(load, _)| load.is_none()).map(|(_, name)| format!("{} has no run {name}.", side.label))
    })
}

/// How pairs were judged; what holds of all of them is said once.
fn notes(comparison: &Comparison) -> Vec<(String, Option<usize>)> {
    let mut notes: Vec<(String, Option<usize>)> = Vec::new();
    for side in comparison.sides.iter().skip(1) {
        let all: Vec<(usize, &String)> = side
            .notes
            .iter()
            .enumerate()
            .flat_map(|(pair, notes)| notes.iter().map(move |note| (pair, note)))
            .collect();
        let compared = side.notes.iter().zip(&side.judged).filter(|(_, judged)| !judged.is_empty()).count();
        for (pair, note) in &all {
            let is_of_all = all.iter().filter(|(_, other)| other == note).count() == compared;
            let text = match is_of_all {
                true => format!("{} against {}: {note}.", side.label, comparison.label(0)),
                false => format!("{}, {}: {note}.", comparison.pair_name(*pair), side.label),
            };
            if !notes.iter().any(|(known, _)| *known == text) {
                notes.push((text, (!is_of_all).then_some(*pair)));
            }
        }
    }
    notes
}

fn appendix(sides: &[Side]) -> ReportAppendix {
    let mut appendix = ReportAppendix::default();
    for side in sides {
        let (sources, hardware) = sources_and_hardware(&side.facts);
        appendix.sources.extend(
            sources.into_iter().map(|source| SourceText { name: format!("{}: {}", side.label, source.name), ..source }),
        );
        appendix.hardware.extend(hardware.into_iter().map(|mut group| {
            group.title = format!("{}: {}", side.label, group.title);
            group
        }));
    }
    appendix
}
