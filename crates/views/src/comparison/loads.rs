//! The loads of recordings: which runs belong together, and what each did.

use super::Load;
use super::per_second::{LoadRound, MOST_STEPS, RoundStep, steps};
use crate::other_load::Others;
use crate::repeats::{Group, groups};
use crate::series::measured;
use crate::{RecordingFacts, RunFacts, RunSummary};
use rates::LoadSlice;
use rates::{IntervalFacts, OperationTimes};
use recording::{LoadPhase, Reader};
use view::{Selection, TableReadError, Unit};
use workload::commands::{MeasuredCommand, executions_words, has_failed};

/// Several recordings as one whose runs are repetitions of each other; `None` of none.
pub(super) fn merged(all: Vec<RecordingFacts>) -> Option<RecordingFacts> {
    let is_several = all.len() > 1;
    let mut round = 0;
    let mut parts = all.into_iter().map(|mut facts| {
        round += 1;
        let manifest = facts.manifest.clone();
        for run in &mut facts.runs {
            run.began_ns = manifest.wall_ns_at(run.start_ns);
            if is_several && !run.is_format() {
                run.title = format!("{} (round {round})", run.base_title());
            }
        }
        facts
    });
    let mut first = parts.next()?;
    for mut facts in parts {
        let next = first.runs.iter().map(|run| run.index + 1).max().unwrap_or(0);
        facts.runs.iter_mut().for_each(|run| run.index += next);
        facts.commands.iter_mut().for_each(|row| row.run_index += next);
        first.commands.append(&mut facts.commands);
        first.runs.append(&mut facts.runs);
        first.cpu.append(&mut facts.cpu);
        first.damage.append(&mut facts.damage);
        first.events.append(&mut facts.events);
        if facts.state != recording::RecordingState::Sealed {
            first.state = facts.state;
        }
    }
    Some(first)
}

/// Runs of the same name and variables; where each recording has one run only, these, whatever their names.
pub(super) fn paired(facts: &[&RecordingFacts]) -> (Vec<String>, Vec<Vec<Option<Load>>>) {
    let sides: Vec<Vec<Group<'_>>> = facts.iter().map(|facts| groups(measured(facts))).collect();
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
    let (mut response, mut service) = (OperationTimes::default(), OperationTimes::default());
    let (mut slices, mut errors, mut at_s) = (Vec::new(), Some(0.0), 0.0);
    for (run, summary) in &group.runs {
        run.main_totals().for_each(|total| {
            response.merge(&total.response);
            service.merge(&total.service);
        });
        errors = errors.zip(summary.errors).map(|(sum, errors)| sum + errors);
        for interval in run.main_intervals() {
            let length_s = interval.interval_ns as f64 / 1e9;
            slices.push(LoadSlice {
                from_s: at_s,
                length_s,
                ops: interval.completed() as f64,
                data: interval.ops.data(),
                bytes: interval.ops.iter().map(|count| count.bytes as f64).sum(),
                in_flight: interval.in_flight.known(),
                response: interval.response.clone(),
            });
            at_s += length_s;
        }
    }
    let starts = group.runs.iter().flat_map(|(run, _)| run.main_intervals().map(|i| i.t_ns - i.interval_ns).min());
    let span_ns = (starts.min().unwrap_or(0), group.runs.iter().map(|(run, _)| run.end_ns()).max().unwrap_or(0));
    Load {
        errors,
        slices,
        response,
        service,
        span_ns,
        is_open: group.runs.iter().all(|(run, _)| run.offered.is_some() || run.is_replay()),
        rounds: group.runs.iter().map(|(run, summary)| round(run, summary)).collect(),
        others: group.runs.iter().filter_map(|(run, _)| run.others.as_ref()).fold(
            Others::default(),
            |mut all, more| {
                all.add(more);
                all
            },
        ),
    }
}

/// One execution, second by second.
fn round(run: &RunFacts, summary: &RunSummary) -> LoadRound {
    let mut round = LoadRound { began_ns: run.began_ns, fault: fault(run, summary), ..LoadRound::default() };
    run.main_totals().for_each(|total| {
        round.response.merge(&total.response);
        round.service.merge(&total.service);
    });
    let intervals: Vec<&IntervalFacts> = run.main_intervals().collect();
    let gap_s = |pair: &[&IntervalFacts]| {
        let gap_ns = pair[1].t_ns - pair[1].interval_ns - pair[0].t_ns;
        // What is less than half an interval is a clock's slip.
        if gap_ns > pair[1].interval_ns / 2 { gap_ns as f64 / 1e9 } else { 0.0 }
    };
    round.missing_s = intervals.windows(2).map(gap_s).sum();
    let step = |interval: &&IntervalFacts| RoundStep {
        length_s: interval.interval_ns as f64 / 1e9,
        ops: interval.completed() as f64,
        bytes: interval.ops.iter().map(|count| count.bytes as f64).sum(),
        response: interval.response.clone(),
        service: interval.service.clone(),
    };
    round.steps = steps(&intervals.iter().map(step).collect::<Vec<_>>(), MOST_STEPS);
    round
}

/// Why what a recording holds is not worth a comparison as a round: failed operations, a pause of iodyno itself, an early end.
/// `None` where nothing is wrong.
///
/// # Errors
/// It cannot be read.
pub fn round_fault(reader: &Reader) -> Result<Option<String>, TableReadError> {
    let facts = RecordingFacts::read(reader, &Selection::default())?;
    let (all, commands) = (measured(&facts), facts.executed());
    if all.is_empty() && commands.is_empty() {
        return Ok(Some("no run measured anything".to_string()));
    }
    let of_loads = all.iter().find_map(|(run, summary)| fault(run, summary));
    Ok(of_loads.or_else(|| commands.iter().find_map(command_fault)))
}

/// Why a command's executions in a round are not worth a comparison.
fn command_fault(command: &MeasuredCommand) -> Option<String> {
    let name = command.full_name();
    match command.executions.iter().filter(|row| has_failed(row)).count() {
        0 if command.counted().next().is_none() => Some(format!("{name}: no execution counts")),
        0 => None,
        failed => Some(format!("{name}: {} failed", executions_words(failed))),
    }
}

/// Why a round is not worth a comparison.
fn fault(run: &RunFacts, summary: &RunSummary) -> Option<String> {
    let name = run.name();
    if let Some(errors) = summary.errors.filter(|errors| *errors > 0.0) {
        return Some(format!("{name}: {} operations failed", Unit::Operations.format(Some(errors))));
    }
    // What only waited for submission is an overload, which is what may be looked for; what did not come back is a fault.
    let lost = run.unfinished.filter(|unfinished| unfinished.in_flight > 0);
    if let Some(words) = lost.and_then(|unfinished| unfinished.words()) {
        return Some(format!("{name}: {words}"));
    }
    if run.intervals.iter().any(|interval| interval.phase == LoadPhase::Paused) {
        return Some(format!("{name}: iodyno itself did not run for a while"));
    }
    if !run.complete {
        return Some(format!("{name}: it was cut short"));
    }
    (summary.ops == 0.0).then(|| format!("{name}: no operation completed"))
}
