//! The same run several times: which runs are repetitions of each other.

use crate::{RunFacts, RunSummary};
use rates::samples::RepeatEstimate;

/// The repetitions of one run.
#[derive(Clone, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) runs: Vec<(&'a RunFacts, RunSummary)>,
}

/// Runs that measured something, the repetitions of each together, in the order of the first.
pub(crate) fn groups<'a>(all: Vec<(&'a RunFacts, RunSummary)>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut places: std::collections::HashMap<(String, String), usize> = std::collections::HashMap::new();
    for (run, summary) in all {
        let place = *places.entry((run.base_title().to_string(), run.detail.clone())).or_insert_with(|| {
            groups.push(Group { runs: Vec::new() });
            groups.len() - 1
        });
        groups[place].runs.push((run, summary));
    }
    groups
}

impl Group<'_> {
    /// The first of the repetitions.
    pub(crate) fn first(&self) -> &RunFacts {
        self.runs[0].0
    }

    /// Title and loop variables.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.first().base_title(), self.first().detail).trim_end().to_string()
    }

    /// A figure of each of the repetitions; `None` when one of them lacks it.
    pub(crate) fn values(&self, of: impl Fn(&RunSummary) -> Option<f64>) -> Option<Vec<f64>> {
        self.runs.iter().map(|(_, summary)| of(summary)).collect()
    }

    /// A figure over the repetitions; `None` when one of them lacks it.
    pub(crate) fn estimate(&self, of: impl Fn(&RunSummary) -> Option<f64>) -> Option<RepeatEstimate> {
        RepeatEstimate::of(&self.values(of)?)
    }
}
