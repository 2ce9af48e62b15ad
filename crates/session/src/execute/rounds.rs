//! The list of runs in order; those of the plan that are repeated until they are steady, round after round.

use super::{Life, rounds_of};
use crate::SessionError;
use crate::dry_run::duration_of;
use crate::outcome::CommandEnding;
use crate::run_loop::RunResult;
use plan::{Plan, Run, SteadyMeasure, SteadyRounds};
use recording::{EventKind, EventSeverity};
use std::ops::Range;
use views::{RecordedRounds, STEADY_ROUNDS};

/// How many runs a plan executes at most, repetitions too.
pub(super) fn runs_at_most(plan: &Plan) -> usize {
    let again = |rule: &SteadyRounds| {
        let rounds = usize::try_from(rule.rounds_max.saturating_sub(1)).unwrap_or(usize::MAX);
        rule.places().len().saturating_mul(rounds)
    };
    let all = plan.rounds.iter().map(again).fold(plan.runs.len(), usize::saturating_add);
    all.saturating_mul(rounds_of(plan))
}

/// How long the runs at these places take at most, all their rounds from the place in front on; `None` when one ends by itself.
pub(crate) fn duration_at_most(plan: &Plan, places: Range<usize>) -> Option<u64> {
    let of = |place: usize, run: &Run| {
        let rule = plan.rounds.iter().find(|rule| rule.places().contains(&place));
        Some(duration_of(run)?.saturating_mul(rule.map_or(1, |rule| rule.rounds_max)))
    };
    let runs = plan.runs.iter().enumerate().filter(|(place, _)| places.contains(place));
    runs.map(|(place, run)| of(place, run)).try_fold(0_u64, |sum, run| Some(sum.saturating_add(run?)))
}

/// What the manifest says of the plan's rounds before the first of them.
pub(super) fn for_manifest(plan: &Plan) -> serde_json::Value {
    plan.rounds.iter().map(|rule| serde_json::json!(RecordedRounds::of(rule))).collect()
}

/// What a tracked run did, by the measure of its rule; `None` when nothing came back.
fn figure(measure: SteadyMeasure, result: &RunResult) -> Option<f64> {
    let sum = &result.measured;
    let seconds = result.measured_ns as f64 / 1e9;
    let is_measured = sum.ops > 0 && seconds > 0.0;
    is_measured.then(|| match measure {
        SteadyMeasure::Operations => sum.ops as f64 / seconds,
        SteadyMeasure::Bytes => (sum.bytes_read + sum.bytes_written) as f64 / seconds,
        SteadyMeasure::Service => sum.service_sum_ns as f64 / sum.ops as f64,
    })
}

impl Life<'_, '_> {
    /// Every run of the plan; `round` counts the repetitions of the whole list from 0.
    pub(super) fn list(&mut self, round: u64) -> Result<(), SessionError> {
        let plan = self.plan;
        let mut place = 0;
        while let Some(run) = plan.runs.get(place).filter(|_| !self.is_over()) {
            match plan.rounds.iter().find(|rule| rule.first == place) {
                Some(rule) => {
                    self.rounds(rule)?;
                    place = rule.places().end;
                }
                None => {
                    self.set_remaining(place, round, None);
                    self.one(run, round)?;
                    place += 1;
                }
            }
        }
        Ok(())
    }

    /// The time that is left when the run at a place begins, in a round of its own or of the whole list.
    fn set_remaining(&mut self, place: usize, round: u64, own: Option<(&SteadyRounds, u64)>) {
        let plan = self.plan;
        let later = u64::try_from(rounds_of(plan)).unwrap_or(1).saturating_sub(round + 1);
        // Runs that are over need no known length, as that of a format is not.
        let again = || duration_at_most(plan, 0..plan.runs.len()).map(|all| all.saturating_mul(later));
        let all_later = if later == 0 { Some(0) } else { again() };
        let single = |places: Range<usize>| {
            let runs = plan.runs.iter().take(places.end).skip(places.start);
            runs.map(duration_of).try_fold(0_u64, |sum, run| Some(sum.saturating_add(run?)))
        };
        let now = match own {
            None => duration_at_most(plan, place..plan.runs.len()),
            Some((rule, round)) => {
                let places = rule.places();
                let left = rule.rounds_max.saturating_sub(round + 1);
                let rounds = single(places.clone()).map(|one| one.saturating_mul(left));
                let parts = [single(place..places.end), rounds, duration_at_most(plan, places.end..plan.runs.len())];
                parts.into_iter().try_fold(0_u64, |sum, part| Some(sum.saturating_add(part?)))
            }
        };
        let left = now.zip(all_later).map(|(now, all_later)| now.saturating_add(all_later));
        self.spine.set_remaining_ns(left);
    }

    /// The runs of a rule, round after round, until they are steady or there were enough of them.
    fn rounds(&mut self, rule: &SteadyRounds) -> Result<(), SessionError> {
        let plan = self.plan;
        let mut found = RecordedRounds::of(rule);
        self.commands(&rule.before, None)?;
        for round in 0..rule.rounds_max {
            for (place, run) in plan.runs.iter().enumerate().filter(|(place, _)| rule.places().contains(place)) {
                if self.is_over() {
                    return Ok(());
                }
                self.set_remaining(place, 0, Some((rule, round)));
                let result = self.one(run, round)?;
                found.add(place, result.as_ref().and_then(|result| figure(rule.measure, result)));
            }
            if self.is_over() {
                // Its last run may have been cut short: nothing follows from it.
                return Ok(());
            }
            self.record(&found)?;
            if found.is_steady() {
                let (name, window) = (&rule.name, found.window_rounds());
                let (first, last) = (window.start + 1, window.end);
                let sentence =
                    format!("{name}: steady in round {last}; the measurement window is rounds {first} to {last}");
                return self.spine.note(EventKind::Steady, &sentence);
            }
        }
        let times = if rule.rounds_max == 1 { "1 round".to_string() } else { format!("{} rounds", rule.rounds_max) };
        let sentence = format!("{}: not steady after {times}", rule.name);
        self.spine.event(EventSeverity::Error, EventKind::Steady, None, None, &sentence)?;
        self.spine.messages.push(sentence);
        self.ending = self.ending.max(CommandEnding::ObjectiveMissed);
        Ok(())
    }

    /// Keeps what the rounds of a rule have shown so far, by which views judge them as this run does.
    fn record(&mut self, found: &RecordedRounds) -> Result<(), SessionError> {
        let value = serde_json::json!(found);
        let place = self.plan.rounds.iter().position(|rule| *rule == found.rule).unwrap_or(0);
        self.spine.manifest(|manifest| {
            if let Some(slot) = manifest.extra.get_mut(STEADY_ROUNDS).and_then(|all| all.get_mut(place)) {
                *slot = value;
            }
        })
    }
}
