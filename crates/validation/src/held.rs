//! What a block is known to hold, once everything was read.

use crate::Validation;
use crate::groups::DamagePlace;
use crate::states::BlockState;
use crate::target::TargetValidation;

impl TargetValidation {
    /// The version that a block has, where nothing wrong was found in it.
    #[must_use]
    pub fn right_version(&self, address: u64) -> Option<u16> {
        self.right_version_of(address / self.rules().block_bytes.max(1))
    }

    /// The same of a block by its number.
    pub(crate) fn right_version_of(&self, block: u64) -> Option<u16> {
        match self.states().get(block) {
            BlockState::Known(version) => Some(version),
            _ => None,
        }
    }
}

impl Validation {
    /// The version that a block of a target or file has, where nothing wrong was found in it: what [`crate::Reports::judge`] asks for.
    #[must_use]
    pub fn right_version(&self, place: DamagePlace, address: u64) -> Option<u16> {
        match place {
            (target, None) => self.target(target)?.right_version(address),
            (tree, Some(file)) => self.tree_at(tree)?.right_version(file, address),
        }
    }
}
