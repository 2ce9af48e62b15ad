//! What must be read back: the state of every block, what a read may find, and what was found instead.
//!
//! The state of a target's blocks belongs to the session and outlives its runs ([`TargetValidation`], [`BlockStates`]): how a load is
//! divided over workers changes from run to run, and what was written does not. Workers of an engine take the blocks of an
//! operation, stamp what they write, check what they read, and release the blocks; a block has one operation at a time. What is
//! wrong goes to the [`Reports`], which keep the first so many and count all.

mod groups;
mod held;
mod injection;
mod journal;
mod journaled;
mod recovered;
mod reports;
mod rules;
mod states;
mod survey;
mod target;
mod words;

pub use groups::{DamageCause, DamageGroup, DamageOverview, DamageRange, JudgedDamage, RANGES_MAX};
pub use injection::{InjectedDamage, InjectionChance, damaged};
pub use journal::{RecoveredStates, TargetJournal};
pub use reports::{Damage, FoundBy, Reports};
pub use rules::TargetRules;
pub use states::{BlockState, BlockStates};
pub use survey::{
    AreaKind, DAMAGES_KEPT, PieceSurvey, RunTally, SurveyDamage, SurveyRules, SurveyUnit, TargetArea, TargetSurvey,
    look,
};
pub use target::{CheckCounts, ReadOutcome, TargetValidation, WriteHold, device_id};
pub use words::{expected_words, found_words, write_words};

use std::sync::Arc;

/// The validation of an execution.
#[derive(Debug)]
pub struct Validation {
    /// What was asked for.
    pub settings: plan::ValidationSettings,
    /// The execution's number, in the stamp of every sector that it writes.
    pub run: u64,
    /// By index in the plan; `None`: nothing of this target is validated.
    pub targets: Vec<Option<Arc<TargetValidation>>>,
    /// What was found wrong.
    pub reports: Arc<Reports>,
}

impl Validation {
    /// A target's.
    #[must_use]
    pub fn target(&self, at: usize) -> Option<&Arc<TargetValidation>> {
        self.targets.get(at)?.as_ref()
    }

    /// Each once: targets of the plan that are one file or device share theirs, which has the index of the first of them.
    pub fn each(&self) -> impl Iterator<Item = &Arc<TargetValidation>> {
        let targets = self.targets.iter().enumerate();
        targets.filter_map(|(at, target)| target.as_ref().filter(|target| target.rules().target == at))
    }
}

#[cfg(test)]
mod right_blocks;
