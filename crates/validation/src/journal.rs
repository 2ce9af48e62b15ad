//! A target's part of the journal of an execution.

use crate::states::{BlockState, BlockStates};
use data_journal::{Crash, Journal, JournalError, Recovered, RecoveredTarget};
use std::sync::Arc;

/// Where a target's operations are written down.
#[derive(Clone, Debug)]
pub struct TargetJournal {
    /// The journal of the execution.
    pub journal: Arc<Journal>,
    /// Which of the targets in its header.
    pub target: u16,
}

impl TargetJournal {
    /// Blocks of a write that was done, in the states that they have now.
    #[inline]
    pub(crate) fn done(&self, states: &BlockStates, blocks: (u64, u64), sequence: u64) {
        self.journal.done(self.target, blocks, sequence, |block| match states.get(block) {
            BlockState::Known(version) => Some(version),
            _ => None,
        });
    }
}

/// What a journal says of a target, and how the session before is taken to have ended.
#[derive(Clone, Copy, Debug)]
pub struct RecoveredStates<'a> {
    /// The target's part.
    pub target: &'a RecoveredTarget,
    /// Which of its promises hold.
    pub crash: Crash,
}

impl<'a> RecoveredStates<'a> {
    /// Of the target with these rules; `None`: the journal says nothing of it.
    ///
    /// # Errors
    /// The journal is about blocks of another length, which is said.
    pub fn of(
        recovered: &'a Recovered,
        crash: Crash,
        device: u64,
        block_bytes: u64,
    ) -> Result<Option<Self>, JournalError> {
        let Some(target) = recovered.target(device) else { return Ok(None) };
        if target.block_bytes != block_bytes {
            let (path, name, before) = (recovered.path().display(), &target.name, target.block_bytes);
            return Err(JournalError::Limit(format!(
                "journal {path}: it knows {name} in blocks of {before} bytes, and this load needs blocks of {block_bytes}: use transfers \
                 and alignments of which the same number is the largest common divisor, or begin a new journal"
            )));
        }
        Ok(Some(Self { target, crash }))
    }
}
