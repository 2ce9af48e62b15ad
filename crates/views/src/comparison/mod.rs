//! Two or more recordings side by side: the first is what the others are held against.
//!
//! What is compared of a recording is its load, a list of slices of time: the intervals of a run, or the stretches of a
//! trace. Traces are taken when every recording has one and one has nothing else (a trace beside its replays), so that
//! both sides are what the kernel saw; runs otherwise. What is said of a difference stands in [`conclusion`].

pub(crate) mod busy;
mod changes;
pub(crate) mod commands;
pub(crate) mod conclusion;
mod difference;
pub(crate) mod failures;
mod length_check;
mod loads;
mod objectives;
pub(crate) mod per_second;
pub(crate) mod rounds;
mod traced_load;
pub(crate) mod two_run_test;
mod views;
pub(crate) mod words;

pub use busy::PROGRAM_PID;
pub use changes::CounterChange;
pub use conclusion::{ComparisonQuestion, Conclusion, JudgedFigure, JudgingMethod, LoadPair, RatioIntervals};
pub use difference::FigureDifference;
pub use loads::round_fault;
pub use rounds::{FEWEST as ROUNDS_MIN, SHORTEST_S as ROUND_S_MIN};
pub(crate) use views::{basis, cpu, figures, heat_map, iops, most_changed, percentiles, queue_depth, runs};
pub(crate) use views::{load_response, response_p50, response_p99, throughput};

use crate::other_load::Others;
use crate::series::measured;
use crate::{RecordingFacts, TracedFacts};
use ::objectives::ObjectiveVerdict;
use loads::{merged, paired};
use per_second::LoadRound;
use rates::OperationTimes;
use rates::measure::{LoadMeasure, MEASURES, MeasureKind, measure_of};
use rates::{LoadPart, LoadSlice};
use recording::Reader;
use view::{Selection, TableReadError};

/// What a run did in its measured time, or a trace saw.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// Failures, where they are counted.
    pub(crate) errors: Option<f64>,
    pub(crate) slices: Vec<LoadSlice>,
    /// Response times at full resolution; in a trace those that it saw the end of.
    pub(crate) response: OperationTimes,
    /// Service times, the same.
    pub(crate) service: OperationTimes,
    /// On the monotonic clock of its machine, ns.
    pub(crate) span_ns: (i64, i64),
    /// Did its operations arrive by a schedule? Then how many there were says nothing of the device.
    pub(crate) is_open: bool,
    /// Its repetitions, each second by second.
    pub(crate) rounds: Vec<LoadRound>,
    /// What other programs did meanwhile.
    pub(crate) others: Others,
}

impl Load {
    /// As a whole: its histograms are the exact ones.
    pub(crate) fn whole(&self) -> LoadPart {
        LoadPart { response: self.response.clone(), service: self.service.clone(), ..LoadPart::of(&self.slices) }
    }
}

/// One of the recordings, or several that belong together.
#[derive(Debug)]
pub(crate) struct Side {
    /// Short name, different from those of the others.
    pub(crate) label: String,
    /// Its load in each pair; `None` where it has nothing to hold against the first.
    pub(crate) loads: Vec<Option<Load>>,
    pub(crate) facts: RecordingFacts,
    pub(crate) samples: changes::Samples,
    /// In each pair, each of [`MEASURES`] against that of the first; empty for the first, and where one of them lacks the load.
    pub(crate) judged: Vec<Vec<Option<JudgedFigure>>>,
    /// In each pair, what must be known of how it was judged.
    pub(crate) notes: Vec<Vec<String>>,
}

/// Recordings side by side.
#[derive(Debug)]
pub struct Comparison {
    /// The first is what the others are held against.
    pub(crate) sides: Vec<Side>,
    /// Names of the pairs (runs of the same name and variables).
    pub(crate) pairs: Vec<String>,
    /// Is it traces that are compared?
    pub(crate) traced: bool,
    /// Commands that they executed.
    pub(crate) commands: Vec<commands::ComparedCommand>,
    pub(crate) question: ComparisonQuestion,
    /// What came of the conditions that were judged last.
    pub(crate) objectives: Vec<ObjectiveVerdict>,
    /// What else must be known of it, sentences with a full stop.
    pub(crate) remarks: Vec<String>,
}

impl Comparison {
    /// Reads recordings; each comes with a short name.
    ///
    /// # Errors
    /// One of them cannot be read, or `run` is in none.
    pub fn read(recordings: &[(String, Reader)], run: Option<&str>) -> Result<Self, TableReadError> {
        let sides: Vec<(&str, Vec<&Reader>)> =
            recordings.iter().map(|(label, reader)| (label.as_str(), vec![reader])).collect();
        Self::read_sides(&sides, run)
    }

    /// The same where a side is several recordings: rounds, each of them a repetition of its runs.
    ///
    /// # Errors
    /// One of them cannot be read, or `run` is in none.
    pub fn read_sides(recordings: &[(&str, Vec<&Reader>)], run: Option<&str>) -> Result<Self, TableReadError> {
        let mut all = Vec::new();
        for (label, readers) in recordings {
            let mut facts = Vec::new();
            for reader in readers {
                let mut of_one = facts_of(reader, run, recordings.len() > 1)?;
                busy::look(reader, &mut of_one.runs, &of_one.cpu)?;
                facts.push(of_one);
            }
            let Some(facts) = merged(facts) else { continue };
            all.push(((*label).to_string(), facts, readers));
        }
        if let Some(run) = run.filter(|_| all.iter().all(|(_, facts, _)| facts.runs.is_empty())) {
            return Err(TableReadError::RunOfNone { run: run.to_string(), known: known_runs(recordings, run)? });
        }
        let is_bare = |facts: &RecordingFacts| measured(facts).is_empty();
        let is_traced = all.iter().any(|(_, facts, _)| is_bare(facts)) && all.iter().all(|side| side.2.len() == 1);
        let traced = match is_traced {
            true => all
                .iter()
                .flat_map(|(_, _, readers)| readers.iter().map(|reader| TracedFacts::read(reader)))
                .collect::<Result<Option<Vec<_>>, _>>()?,
            false => None,
        };
        let (pairs, loads) = match &traced {
            Some(traces) => {
                (vec!["the trace".to_string()], traces.iter().map(|trace| vec![Some(trace.load())]).collect())
            }
            None => paired(&all.iter().map(|(_, facts, _)| facts).collect::<Vec<_>>()),
        };
        let loads: Vec<Vec<Option<Load>>> = loads;
        let mut sides = Vec::new();
        for ((label, facts, readers), loads) in all.into_iter().zip(loads) {
            let spans = loads.iter().flatten().map(|load| load.span_ns);
            let span = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            let samples = changes::Samples::read(readers, span)?;
            sides.push(Side { label, loads, samples, facts, judged: Vec::new(), notes: Vec::new() });
        }
        let (question, objectives, remarks) = (ComparisonQuestion::default(), Vec::new(), Vec::new());
        let commands = Vec::new();
        let mut comparison = Self { sides, pairs, traced: traced.is_some(), commands, question, objectives, remarks };
        comparison.ask(question);
        Ok(comparison)
    }

    /// Adds what must be known of it, a sentence with a full stop: what was left out before it was read.
    pub fn remark(&mut self, sentence: String) {
        self.remarks.push(sentence);
    }

    /// Judges everything by another question.
    pub fn ask(&mut self, question: ComparisonQuestion) {
        self.question = question;
        let executed: Vec<_> = self.sides.iter().map(|side| side.facts.executed()).collect();
        let has_some = executed.iter().any(|commands| !commands.is_empty());
        let pairs = if has_some { workload::commands::paired(&executed) } else { Vec::new() };
        self.commands = pairs.into_iter().map(|pair| commands::ComparedCommand::new(pair, question)).collect();
        let Some((first, others)) = self.sides.split_first_mut() else { return };
        for side in others {
            let is_replay = self.traced && is_replay_of(first, side);
            let pairs = first.loads.iter().zip(&side.loads).map(|loads| match loads {
                (Some(base), Some(load)) => judge(base, load, question, is_replay),
                _ => (Vec::new(), Vec::new()),
            });
            (side.judged, side.notes) = pairs.unzip();
        }
    }

    /// The first pair that all recordings have, or else the first at all.
    pub(crate) fn usual_pair(&self) -> usize {
        let whole = |pair: &usize| self.sides.iter().all(|side| side.loads.get(*pair).is_some_and(Option::is_some));
        (0..self.pairs.len()).find(whole).unwrap_or(0)
    }

    /// The figure that decides in a pair: the one that was named; else of a load that arrives by a schedule its mean time (how many
    /// there are was asked for), and of any other how many operations it did.
    pub(crate) fn primary(&self, pair: usize) -> &'static LoadMeasure {
        let all: Vec<&Load> = self.of(pair).map(|(_, _, load)| load).collect();
        // Where nothing succeeded there are no times, and the rate says it.
        let loads: Vec<&Load> = all.iter().copied().filter(|load| load.succeeded() > 0.0).collect();
        let is_open = loads.len() == all.len() && loads.iter().all(|load| load.is_open);
        let usual = if is_open { "response_ns_mean" } else { "iops" };
        let measure = self.question.primary.or_else(|| measure_of(usual)).unwrap_or(&MEASURES[0]);
        if !loads.iter().any(|load| load.response.ended.count() == 0) {
            return measure;
        }
        // Imports know the service time only; of what was named and is not known by either clock, that is said.
        let other = measure.by_service();
        let is_known = || loads.iter().all(|load| (other.value)(&load.whole()).is_some());
        if self.question.primary.is_none() || is_known() { other } else { measure }
    }

    /// What is said of a figure of a side in a pair.
    pub(crate) fn judged(&self, side: usize, pair: usize, measure: &LoadMeasure) -> Option<&JudgedFigure> {
        let place = MEASURES.iter().position(|known| known.key == measure.key)?;
        self.sides.get(side)?.judged.get(pair)?.get(place)?.as_ref()
    }

    /// Short name of a recording.
    pub(crate) fn label(&self, side: usize) -> &str {
        self.sides.get(side).map_or("", |side| &side.label)
    }

    /// Name of a pair.
    pub(crate) fn pair_name(&self, pair: usize) -> &str {
        self.pairs.get(pair).map_or("", String::as_str)
    }

    /// How many recordings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sides.len()
    }

    /// Are there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }

    /// The loads of a pair with their sides.
    pub(crate) fn of(&self, pair: usize) -> impl Iterator<Item = (usize, &Side, &Load)> {
        self.sides.iter().enumerate().filter_map(move |(at, side)| Some((at, side, side.loads.get(pair)?.as_ref()?)))
    }
}

/// The facts of a recording; without runs where it has none of that name and others may.
fn facts_of(reader: &Reader, run: Option<&str>, has_others: bool) -> Result<RecordingFacts, TableReadError> {
    let facts = RecordingFacts::read(reader, &Selection { run: run.map(String::from), ..Selection::default() });
    // A trace beside a run of that name is no mistake; that no recording has it is found later.
    match facts {
        Err(TableReadError::UnknownRun { .. }) if has_others => {
            let mut facts = RecordingFacts::read(reader, &Selection::default())?;
            facts.runs.clear();
            facts.commands.clear();
            Ok(facts)
        }
        other => other,
    }
}

/// Titles of all runs that there are, where none of the recordings has this one.
fn known_runs(recordings: &[(&str, Vec<&Reader>)], run: &str) -> Result<String, TableReadError> {
    let mut all: Vec<String> = Vec::new();
    for reader in recordings.iter().flat_map(|(_, readers)| readers) {
        let facts = RecordingFacts::read(reader, &Selection::default())?;
        let titles = facts.runs.iter().filter(|of| !of.is_format()).map(crate::RunFacts::full_title);
        let new: Vec<String> = titles.filter(|title| title != run && !all.contains(title)).collect();
        all.extend(new);
    }
    Ok(if all.is_empty() { "none".to_string() } else { all.join(", ") })
}

/// A trace without a run, and what was played of it?
fn is_replay_of(first: &Side, side: &Side) -> bool {
    first.facts.runs.is_empty() && side.facts.runs.iter().any(|run| run.is_replay())
}

/// Two loads, ready to be judged.
fn pair_of<'a>(base: &'a Load, load: &'a Load, question: ComparisonQuestion, is_replay: bool) -> LoadPair<'a> {
    match (&base.rounds[..], &load.rounds[..]) {
        ([one], [other]) if is_replay => LoadPair::paired(one, other, question),
        (one, other) => LoadPair::new(one, other, question),
    }
}

/// One figure of a load against that of the first.
fn figure(
    pair: &LoadPair<'_>,
    (base, load): (&Load, &Load),
    wholes: (&LoadPart, &LoadPart),
    measure: &LoadMeasure,
) -> Option<JudgedFigure> {
    failures::rate_of_nothing(base, load, measure).or_else(|| figure_of(pair, wholes, measure))
}

/// The same where something succeeded in both, which as wholes did so.
fn figure_of(pair: &LoadPair<'_>, (was, is): (&LoadPart, &LoadPart), measure: &LoadMeasure) -> Option<JudgedFigure> {
    let (was, is) = ((measure.value)(was)?, (measure.value)(is)?);
    let is_exact = was.is_exact() && is.is_exact();
    match measure.kind {
        // Of lower bounds there is no ratio.
        MeasureKind::Plain => {
            let is_known = is_exact && was.low > 0.0 && is.low > 0.0;
            is_known.then(|| JudgedFigure::plain(is.low / was.low))
        }
        kind => pair.judge(kind, measure.better, is_exact),
    }
}

/// All figures of a load against those of the first, and what must be known of how they were judged.
fn judge(
    base: &Load,
    load: &Load,
    question: ComparisonQuestion,
    is_replay: bool,
) -> (Vec<Option<JudgedFigure>>, Vec<String>) {
    let pair = pair_of(base, load, question, is_replay);
    let (was, is) = (base.whole(), load.whole());
    let mut notes = Vec::new();
    if let Some((count, fault)) = &pair.left_out {
        notes.push(format!("{count} rounds of each side are left out, because of: {fault}"));
    }
    match pair.alternates() {
        Some(false) => notes.push(
            "its rounds ran after all those of the other (or before): what drifted meanwhile counts as a difference"
                .to_string(),
        ),
        Some(true) => {}
        None if is_replay => {}
        None => notes.push(
            "single runs: a difference says that these recordings differ, not that a change is the cause; four rounds or more \
             of each (iodyno ab, run --repeat) say more"
                .to_string(),
        ),
    }
    (MEASURES.iter().map(|measure| figure(&pair, (base, load), (&was, &is), measure)).collect(), notes)
}
