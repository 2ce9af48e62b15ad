//! What a block is known to hold, once everything was read.

use crate::states::BlockState;
use crate::target::TargetValidation;

impl TargetValidation {
    /// The version that a block has, where nothing wrong was found in it: what [`crate::Reports::judge`] asks for.
    #[must_use]
    pub fn right_version(&self, address: u64) -> Option<u16> {
        match self.states().get(address / self.rules().block_bytes.max(1)) {
            BlockState::Known(version) => Some(version),
            _ => None,
        }
    }
}
