//! The reads of everything that was written.

use plan::generate::{Operation, OperationKind};
use std::sync::{Arc, Mutex, PoisonError};
use validation::{BlockState, TargetValidation};

/// A pass over the written blocks of a target, in which all its lanes have a part.
#[derive(Debug)]
pub(crate) struct Sweep {
    target: Arc<TargetValidation>,
    /// Most blocks of a read.
    blocks_max: u64,
    /// The first block that was not looked at.
    next: Mutex<u64>,
}

impl Sweep {
    /// From the start, in reads of at most so many bytes.
    pub(crate) fn new(target: &Arc<TargetValidation>, transfer_max: u64) -> Self {
        let blocks_max = (transfer_max / target.rules().block_bytes.max(1)).max(1);
        Self { target: Arc::clone(target), blocks_max, next: Mutex::new(0) }
    }

    /// The next read; `None` at the end, and from then on.
    pub(super) fn next(&self) -> Option<Operation> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let rules = self.target.rules();
        let states = self.target.states();
        // Nothing can be asked of trimmed blocks that may read as anything.
        let is_read = |block: u64| rules.trims_read_zero || states.get(block) != BlockState::Trimmed;
        loop {
            let (first, count) = states.next_written(*next, self.blocks_max)?;
            let skipped = (first..first + count).take_while(|block| !is_read(*block)).count() as u64;
            if skipped > 0 {
                *next = first + skipped;
                continue;
            }
            let count = (first..first + count).take_while(|block| is_read(*block)).count() as u64;
            *next = first + count;
            let bytes = u32::try_from(count * rules.block_bytes).unwrap_or(u32::MAX);
            return Some(Operation { op: OperationKind::Read, offset: first * rules.block_bytes, bytes });
        }
    }
}
