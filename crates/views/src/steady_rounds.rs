//! Rounds of runs that were to become steady, as a recording holds them.

use plan::SteadyRounds;
use rates::steady::{SteadyLimits, SteadyWindow};
use recording::Manifest;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// In the manifest: which runs are repeated until they are steady, and what the rounds have shown; a list of
/// [`RecordedRounds`].
pub const STEADY_ROUNDS: &str = "steady_rounds";

/// A rule, and the figures of its tracked runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRounds {
    /// The rule; its places are those of the runs in the manifest's list of what was requested.
    #[serde(flatten)]
    pub rule: SteadyRounds,
    /// For each tracked run in the order of the rule a figure per whole round, in its measure's unit (op/s, bytes/s, ns); `None`
    /// where the run did nothing.
    pub values: Vec<Vec<Option<f64>>>,
}

impl RecordedRounds {
    /// No round is over.
    #[must_use]
    pub fn of(rule: &SteadyRounds) -> Self {
        Self { rule: rule.clone(), values: vec![Vec::new(); rule.tracked.len()] }
    }

    /// All of a recording; none in one without.
    #[must_use]
    pub fn all(manifest: &Manifest) -> Vec<Self> {
        let value = manifest.extra.get(STEADY_ROUNDS).cloned();
        value.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }

    /// Takes in what the run at a place of the plan did in the next round; other runs than the tracked ones have no part in it.
    pub fn add(&mut self, place: usize, value: Option<f64>) {
        let both = self.rule.tracked.iter().zip(&mut self.values);
        both.filter(|(tracked, _)| **tracked == place).for_each(|(_, values)| values.push(value));
    }

    /// How many rounds are over.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.values.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// The rounds of the measurement window, counted from 0: the last ones.
    #[must_use]
    pub fn window_rounds(&self) -> Range<usize> {
        self.rounds().saturating_sub(self.rule.window)..self.rounds()
    }

    /// The window of the tracked run with this number; `None` where there are not enough rounds yet, or one of them did nothing.
    #[must_use]
    pub fn window(&self, tracked: usize) -> Option<SteadyWindow> {
        let values = self.values.get(tracked)?.get(self.window_rounds())?;
        let values: Vec<f64> = values.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        SteadyWindow::of(&values).filter(|window| window.count >= self.rule.window)
    }

    /// What a steady window may do at most.
    #[must_use]
    pub fn limits(&self) -> SteadyLimits {
        SteadyLimits { range: self.rule.range, slope: self.rule.slope }
    }

    /// Are the last rounds of every tracked run alike?
    #[must_use]
    pub fn is_steady(&self) -> bool {
        let is_alike = |tracked| self.window(tracked).is_some_and(|window| window.is_steady(self.limits()));
        !self.values.is_empty() && (0..self.values.len()).all(is_alike)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::SteadyMeasure;

    fn rounds(of: &[[f64; 2]]) -> RecordedRounds {
        let rule = SteadyRounds {
            name: "iops".to_string(),
            first: 1,
            count: 3,
            before: Vec::new(),
            tracked: vec![1, 3],
            measure: SteadyMeasure::Operations,
            window: 3,
            rounds_max: 9,
            range: 0.2,
            slope: 0.1,
        };
        let mut found = RecordedRounds::of(&rule);
        for [first, third] in of {
            [(1, *first), (2, 1e9), (3, *third)].into_iter().for_each(|(place, value)| found.add(place, Some(value)));
        }
        found
    }

    #[test]
    fn all_tracked_runs_must_be_steady_over_the_last_rounds() {
        let quiet = [100.0, 50.0];
        assert!(!rounds(&[quiet, quiet]).is_steady(), "two rounds are no window");
        assert!(rounds(&[[900.0, 1.0], quiet, quiet, quiet]).is_steady(), "what was before does not count");
        assert!(!rounds(&[quiet, quiet, [100.0, 61.0]]).is_steady(), "the second tracked run swings");
        let mut silent = rounds(&[quiet, quiet]);
        [(1, None), (3, Some(50.0))].into_iter().for_each(|(place, value)| silent.add(place, value));
        assert!(!silent.is_steady() && silent.rounds() == 3 && silent.window(0).is_none());
    }

    #[test]
    fn it_is_the_same_from_a_manifest() {
        let found = rounds(&[[100.0, 0.375], [0.25, 7.0]]);
        let text = serde_json::to_string(&vec![&found]).expect("JSON");
        let again: Vec<RecordedRounds> = serde_json::from_str(&text).expect("rounds");
        assert_eq!(again, [found]);
    }
}
