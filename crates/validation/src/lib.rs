//! What must be read back: the state of every block, what a read may find, and what was found instead.
//!
//! The state of a target's blocks belongs to the session and outlives its runs ([`TargetValidation`], [`BlockStates`]): how a load is
//! divided over workers changes from run to run, and what was written does not. Workers of an engine take the blocks of an
//! operation, stamp what they write, check what they read, and release the blocks; a block has one operation at a time. What is
//! wrong goes to the [`Reports`], which keep the first so many and count all.

mod copies;
mod extent;
mod files;
mod found;
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
mod times;
mod tree;
mod tree_loads;
mod words;

pub use files::{FileDamage, FileFinding, check_file};
pub use found::FoundFiles;
pub use groups::{DamageCause, DamageGroup, DamageOverview, DamagePlace, DamageRange, JudgedDamage, RANGES_MAX};
pub use injection::{InjectedDamage, InjectionChance, damaged};
pub use journal::{RecoveredStates, TargetJournal};
pub use reports::{Damage, FoundBy, Reports};
pub use rules::{TargetCopies, TargetRules};
pub use states::{BlockState, BlockStates};
pub use survey::{
    AreaKind, AreaSpan, DAMAGES_KEPT, PieceSurvey, RunTally, SurveyDamage, SurveyRules, SurveyUnit, TargetArea,
    TargetSurvey, examine_of_file, look,
};
pub use target::{CheckCounts, ReadOutcome, TargetValidation, WriteHold, device_id};
pub use times::KnownTimes;
pub use tree::{FILE_STATE_BYTES, FileMust, FileNames, TreeValidation};
pub use tree_loads::{tree_block_bytes, tree_load_mistake, tree_loads, tree_sweeps, tree_uses};
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
    /// The same of trees, by index in the plan.
    pub trees: Vec<Option<Arc<TreeValidation>>>,
    /// What was found wrong.
    pub reports: Arc<Reports>,
}

impl Validation {
    /// A target's.
    #[must_use]
    pub fn target(&self, at: usize) -> Option<&Arc<TargetValidation>> {
        self.targets.get(at)?.as_ref()
    }

    /// A tree's, by its number among targets and trees.
    #[must_use]
    pub fn tree_at(&self, place: usize) -> Option<&Arc<TreeValidation>> {
        self.trees.get(place.checked_sub(self.targets.len())?)?.as_ref()
    }

    /// What is known of the blocks of a target or tree, by its number among both.
    #[must_use]
    pub fn cells(&self, place: usize) -> Option<&TargetValidation> {
        self.target(place).map(|target| &**target).or_else(|| self.tree_at(place).map(|tree| &**tree.cells()))
    }

    /// The blocks of all targets and trees, each once.
    pub fn all_cells(&self) -> impl Iterator<Item = &TargetValidation> {
        self.each().map(|target| &**target).chain(self.trees.iter().flatten().map(|tree| &**tree.cells()))
    }

    /// Each target once: those of the plan that are one file or device share theirs, which has the index of the first of them.
    pub fn each(&self) -> impl Iterator<Item = &Arc<TargetValidation>> {
        let targets = self.targets.iter().enumerate();
        targets.filter_map(|(at, target)| target.as_ref().filter(|target| target.rules().target == at))
    }
}

#[cfg(test)]
mod right_blocks;
