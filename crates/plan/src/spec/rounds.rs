//! Runs that are repeated, round after round, until what they do is steady.

use super::settings::ShellCommand;
use super::stop::SteadyMeasure;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Neighbouring runs of a plan that are executed again, round after round, until a figure of some of them is steady over the
/// last rounds. Behind them the plan goes on with the next run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyRounds {
    /// What is repeated, for sentences: `iops`.
    pub name: String,
    /// Place in [`Plan::runs`](crate::Plan::runs) of the first of them.
    pub first: usize,
    /// How many they are, at least 1.
    pub count: usize,
    /// Commands before the first round.
    pub before: Vec<ShellCommand>,
    /// Places in [`Plan::runs`](crate::Plan::runs) of those that are looked at: every one must be steady. None: they are never.
    pub tracked: Vec<usize>,
    /// What is looked at, of each tracked run as a whole.
    pub measure: SteadyMeasure,
    /// The measurement window: so many last rounds must be alike; at least 2.
    pub window: usize,
    /// Most rounds; at least `window`, or they are never steady.
    pub rounds_max: u64,
    /// Greatest minus smallest value of a steady window, at most, as a fraction of its average.
    pub range: f64,
    /// What the best line through a steady window rises or falls over it, at most, as a fraction of its average.
    pub slope: f64,
}

impl SteadyRounds {
    /// The places of the runs.
    #[must_use]
    pub fn places(&self) -> Range<usize> {
        self.first..self.first.saturating_add(self.count.max(1))
    }
}
