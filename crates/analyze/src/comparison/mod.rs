//! Two or more recordings side by side: the first is what the others are held against.
//!
//! What is compared of a recording is its load, a list of slices of time: the intervals of a run, or the stretches of a
//! trace. Traces are taken when every recording has one and one has nothing else (a trace beside its replays), so that
//! both sides are what the kernel saw; runs otherwise.

mod changes;
mod estimate;
mod page;
mod views;

pub use changes::Change;
pub use estimate::Ratio;
pub use page::comparison_model;
pub(crate) use views::{cpu, figures, heat_map, iops, most_changed, percentiles, queue_depth, runs};
pub(crate) use views::{load_response, response_p50, response_p99, throughput};

use crate::repeats::{Group, groups};
use crate::series::summaries;
use crate::{AnalyzeError, Facts, Selection, Times, TracedFacts, ViewData};
use quantity::histogram::Histogram;
use recording::Reader;

/// What happened in a stretch of time.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    /// Since the load's start.
    pub(crate) from_s: f64,
    pub(crate) length_s: f64,
    pub(crate) ops: f64,
    pub(crate) reads: f64,
    pub(crate) bytes: f64,
    /// Mean number in flight.
    pub(crate) in_flight: Option<f64>,
    pub(crate) response: Histogram,
}

/// What a run did in its measured time, or a trace saw.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// Failures, where they are counted.
    pub(crate) errors: Option<f64>,
    pub(crate) slices: Vec<Slice>,
    /// Response times at full resolution; in a trace those that it saw the end of.
    pub(crate) response: Times,
    /// On the monotonic clock of its machine, ns.
    pub(crate) span_ns: (i64, i64),
}

/// One of the recordings.
#[derive(Debug)]
pub(crate) struct Side {
    /// Short name, different from those of the others.
    pub(crate) label: String,
    /// Its load in each pair; `None` where it has nothing to hold against the first.
    pub(crate) loads: Vec<Option<Load>>,
    pub(crate) facts: Facts,
    pub(crate) samples: changes::Samples,
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
}

impl Comparison {
    /// Reads recordings; each comes with a short name.
    ///
    /// # Errors
    /// One of them cannot be read, or `run` is in none.
    pub fn read(recordings: &[(String, Reader)], run: Option<&str>) -> Result<Self, AnalyzeError> {
        let mut all = Vec::new();
        for (label, reader) in recordings {
            let facts = Facts::read(reader, &Selection { run: run.map(String::from), ..Selection::default() });
            // A trace beside a run of that name is no mistake; that no recording has it is found below.
            let facts = match facts {
                Err(AnalyzeError::UnknownRun { .. }) if recordings.len() > 1 => {
                    let mut facts = Facts::read(reader, &Selection::default())?;
                    facts.runs.clear();
                    facts
                }
                other => other?,
            };
            all.push((label.clone(), facts, reader));
        }
        if let Some(run) = run.filter(|_| all.iter().all(|(_, facts, _)| facts.runs.is_empty())) {
            return Err(AnalyzeError::UnknownRun { run: run.to_string(), known: "no recording has it".to_string() });
        }
        let is_bare = |facts: &Facts| summaries(facts).is_empty();
        let traced = match all.iter().any(|(_, facts, _)| is_bare(facts)) {
            true => {
                all.iter().map(|(_, _, reader)| TracedFacts::read(reader)).collect::<Result<Option<Vec<_>>, _>>()?
            }
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
        for ((label, facts, reader), loads) in all.into_iter().zip(loads) {
            let spans = loads.iter().flatten().map(|load| load.span_ns);
            let span = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            sides.push(Side { label, loads, samples: changes::Samples::read(reader, span)?, facts });
        }
        Ok(Self { sides, pairs, traced: traced.is_some() })
    }

    /// The first pair that all recordings have, or else the first at all.
    pub(crate) fn usual_pair(&self) -> usize {
        let whole = |pair: &usize| self.sides.iter().all(|side| side.loads.get(*pair).is_some_and(Option::is_some));
        (0..self.pairs.len()).find(whole).unwrap_or(0)
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

    /// The views with this name over a pair (the first that all recordings have).
    ///
    /// # Errors
    /// No such view, or it has nothing to show.
    pub fn draw(&self, id: &str) -> Result<Vec<ViewData>, AnalyzeError> {
        let drawn = crate::view(id)?.draw_comparison(self, self.usual_pair());
        let reason = "the recordings have nothing of it to hold against each other".to_string();
        if drawn.is_empty() { Err(AnalyzeError::Empty { id: id.to_string(), reason }) } else { Ok(drawn) }
    }

    /// The loads of a pair with their sides.
    pub(crate) fn of(&self, pair: usize) -> impl Iterator<Item = (usize, &Side, &Load)> {
        self.sides.iter().enumerate().filter_map(move |(at, side)| Some((at, side, side.loads.get(pair)?.as_ref()?)))
    }
}

/// Runs of the same name and variables; where each recording has one run only, these, whatever their names.
fn paired(facts: &[&Facts]) -> (Vec<String>, Vec<Vec<Option<Load>>>) {
    let sides: Vec<Vec<Group<'_>>> = facts.iter().map(|facts| groups(summaries(facts))).collect();
    if sides.iter().all(|groups| groups.len() == 1) {
        let mut names: Vec<String> = sides.iter().map(|groups| groups[0].name()).collect();
        names.dedup();
        let loads = sides.iter().map(|groups| vec![Some(load(&groups[0]))]).collect();
        return (vec![names.join(" / ")], loads);
    }
    let mut pairs: Vec<String> = Vec::new();
    for group in sides.iter().flatten() {
        if !pairs.contains(&group.name()) {
            pairs.push(group.name());
        }
    }
    let of = |groups: &Vec<Group<'_>>| {
        let named = |name: &String| groups.iter().find(|group| group.name() == *name);
        pairs.iter().map(|name| named(name).map(load)).collect()
    };
    let loads = sides.iter().map(of).collect();
    (pairs, loads)
}

/// The measured phase of a run, its repetitions one after the other.
fn load(group: &Group<'_>) -> Load {
    let mut response = Times::default();
    let (mut slices, mut errors, mut at_s) = (Vec::new(), Some(0.0), 0.0);
    for (run, summary) in &group.runs {
        run.main_totals().for_each(|total| response.merge(&total.response));
        errors = errors.zip(summary.errors).map(|(sum, errors)| sum + errors);
        for interval in run.main_intervals() {
            let length_s = interval.interval_ns as f64 / 1e9;
            slices.push(Slice {
                from_s: at_s,
                length_s,
                ops: interval.completed() as f64,
                reads: interval.ops[0].ops as f64,
                bytes: interval.ops.iter().map(|count| count.bytes as f64).sum(),
                in_flight: interval.in_flight.known(),
                response: interval.response.clone(),
            });
            at_s += length_s;
        }
    }
    let starts = group.runs.iter().flat_map(|(run, _)| run.main_intervals().map(|i| i.t_ns - i.interval_ns).min());
    let span_ns = (starts.min().unwrap_or(0), group.runs.iter().map(|(run, _)| run.end_ns()).max().unwrap_or(0));
    Load { errors, slices, response, span_ns }
}
