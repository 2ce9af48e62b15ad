//! What a run needs.

use engine::{EngineOptions, ResolvedRate};
use monitor::StopFlag;
use plan::{ErrorRule, JobTexts, Plan, Run};
use std::path::Path;
use std::sync::Arc;
use target::OpenTarget;
use tree::Tree;
use validation::Validation;

/// A run under way: its plan, its targets, how it is executed.
pub(crate) struct RunContext<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) run: &'a Run,
    pub(crate) title: &'a str,
    pub(crate) run_index: i32,
    pub(crate) pace: ResolvedRate,
    pub(crate) targets: &'a [Option<OpenTarget>],
    pub(crate) trees: &'a [Option<Arc<Tree>>],
    pub(crate) options: &'a EngineOptions,
    pub(crate) seed: u64,
    /// Of workloads whose choices vary.
    pub(crate) varying_seed: u64,
    pub(crate) data_seed: u64,
    /// What is proved of the data.
    pub(crate) validation: Option<&'a Validation>,
    /// It reads what was written.
    pub(crate) sweeps: bool,
    /// The recording.
    pub(crate) directory: &'a Path,
    pub(crate) stop: &'a StopFlag,
    /// Operations that failed in the runs before, and damaged blocks that were found there.
    pub(crate) errors_before: u64,
    /// fio's jobs, and how often their outputs are printed.
    pub(crate) logs: (&'a JobTexts, Option<u64>),
}

impl RunContext<'_> {
    /// The run ends with the first failed operation behind so many; `None`: by none.
    pub(crate) fn errors_max(&self) -> Option<u64> {
        match self.run.stop.errors {
            // It changes nothing, and what is wrong is to be known.
            _ if self.sweeps => None,
            Some(ErrorRule::First) => Some(0),
            Some(ErrorRule::Never) => None,
            None => Some(self.plan.settings.errors_max.saturating_sub(self.errors_before)),
        }
    }

    /// How the engine executes it.
    pub(crate) fn engine_options(&self) -> EngineOptions {
        EngineOptions { errors_max: self.errors_max(), damage_max: self.damage_max(), ..*self.options }
    }

    /// The run ends with the first damaged block behind so many; `None`: by none. Jobs of fio's have rules of their own for
    /// operations that fail, and the plan's for data (`verify_fatal`).
    pub(crate) fn damage_max(&self) -> Option<u64> {
        let own = self.run.stop.errors.map(|_| self.plan.settings.errors_max.saturating_sub(self.errors_before));
        own.or_else(|| self.errors_max()).filter(|_| !self.sweeps)
    }
}
