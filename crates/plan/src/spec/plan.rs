//! Everything that one command is going to do.

use super::objective::Objective;
use super::rounds::SteadyRounds;
use super::run::Run;
use super::settings::PlanSettings;
use super::source::{ParameterText, TextSpan};
use super::target::TargetSpec;
use super::tree::TreeSpec;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Everything that one command is going to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Texts that the plan came from; [`TextSpan::source`] indexes them.
    pub sources: Vec<ParameterText>,
    /// What is read or written, in the order of definition.
    pub targets: Vec<TargetSpec>,
    /// Directories in which trees are made and used, in the order of definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<TreeSpec>,
    /// Runs in the order of execution, loops expanded.
    pub runs: Vec<Run>,
    /// Which of them are repeated until they are steady, in the order of their places; none overlap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<SteadyRounds>,
    /// Settings of the whole plan.
    pub settings: PlanSettings,
    /// What each run must achieve, besides its own [`Run::objectives`].
    pub objectives: Vec<Objective>,
    /// What was asked for, understood, and cannot run yet: each stops the run before any I/O.
    pub unsupported: Vec<UnsupportedRequest>,
}

impl Plan {
    /// Name of what a lane of the engine works on: targets first, then trees.
    #[must_use]
    pub fn place_name(&self, place: usize) -> &str {
        let tree = || self.trees.get(place.checked_sub(self.targets.len())?).map(|tree| tree.name.as_str());
        self.targets.get(place).map(|target| target.name.as_str()).or_else(tree).unwrap_or("")
    }

    /// Path of the same.
    #[must_use]
    pub fn place_path(&self, place: usize) -> &Path {
        let tree = || self.trees.get(place.checked_sub(self.targets.len())?).map(|tree| tree.anchor.as_path());
        self.targets.get(place).map(|target| target.path.as_path()).or_else(tree).unwrap_or(Path::new(""))
    }

    /// The number of a tree among targets and trees.
    #[must_use]
    pub fn place_of_tree(&self, tree: usize) -> usize {
        self.targets.len() + tree
    }

    /// Where in the texts it was read from something stands: `load.vdb:3`; `None`: its text is not known.
    #[must_use]
    pub fn line_of(&self, span: TextSpan) -> Option<String> {
        let source = self.sources.get(usize::try_from(span.source).ok()?)?;
        let before = source.text.as_bytes().get(..usize::try_from(span.start).ok()?)?;
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Some(format!("{}:{line}", source.name))
    }
}

/// A request that the plan holds but that this version cannot execute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnsupportedRequest {
    /// One complete sentence, lower case, without a full stop: "file system workloads (fsd, fwd) are not built yet".
    pub sentence: String,
    /// Where it was asked for.
    pub span: TextSpan,
}
