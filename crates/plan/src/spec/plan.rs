//! Everything that one command is going to do.

use super::objective::Objective;
use super::run::Run;
use super::settings::PlanSettings;
use super::source::{ParameterText, TextSpan};
use super::target::TargetSpec;
use serde::{Deserialize, Serialize};

/// Everything that one command is going to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Texts that the plan came from; [`TextSpan::source`] indexes them.
    pub sources: Vec<ParameterText>,
    /// What is read or written, in the order of definition.
    pub targets: Vec<TargetSpec>,
    /// Runs in the order of execution, loops expanded.
    pub runs: Vec<Run>,
    /// Settings of the whole plan.
    pub settings: PlanSettings,
    /// What each run must achieve, besides its own [`Run::objectives`].
    pub objectives: Vec<Objective>,
    /// What was asked for, understood, and cannot run yet: each stops the run before any I/O.
    pub unsupported: Vec<UnsupportedRequest>,
}

/// A request that the plan holds but that this version cannot execute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnsupportedRequest {
    /// One complete sentence, lower case, without a full stop: "file system workloads (fsd, fwd) are not built yet".
    pub sentence: String,
    /// Where it was asked for.
    pub span: TextSpan,
}
