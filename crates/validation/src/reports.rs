//! What was found wrong.

use stamp::{BlockFinding, DamageClass};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// At most so many are kept with what was read; the others are counted.
const KEPT_MAX: usize = 10_000;

/// Which read found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// One of the load's own.
    Read,
    /// The one before a write.
    BeforeWrite,
    /// The one behind a write.
    AfterWrite,
    /// The one of everything at the end.
    Sweep,
}

impl FoundBy {
    /// The name in recordings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::BeforeWrite => "before_write",
            Self::AfterWrite => "after_write",
            Self::Sweep => "sweep",
        }
    }
}

/// A block that is not what it must be.
#[derive(Clone, Debug)]
pub struct Damage {
    /// When it was found, `CLOCK_MONOTONIC`, ns.
    pub t_ns: u64,
    /// Index of the target in the plan.
    pub target: usize,
    /// Where, bytes.
    pub address: u64,
    /// Which read found it.
    pub found_by: FoundBy,
    /// What must be there.
    pub expected: stamp::Version,
    /// What is wrong.
    pub finding: BlockFinding,
    /// What was read, the whole block.
    pub read: Vec<u8>,
}

/// All that was found wrong in an execution.
#[derive(Debug, Default)]
pub struct Reports {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What was not taken yet.
    new: Vec<Damage>,
    kept: usize,
    counts: BTreeMap<DamageClass, u64>,
}

impl Reports {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one.
    pub fn add(&self, damage: Damage) {
        let mut state = self.lock();
        *state.counts.entry(damage.finding.class).or_default() += 1;
        if state.kept < KEPT_MAX {
            state.kept += 1;
            state.new.push(damage);
        }
    }

    /// What was added since this was last asked, in the order in which it was found.
    pub fn take(&self) -> Vec<Damage> {
        std::mem::take(&mut self.lock().new)
    }

    /// Damaged blocks of each class, those that were not kept too.
    pub fn counts(&self) -> BTreeMap<DamageClass, u64> {
        self.lock().counts.clone()
    }

    /// All damaged blocks.
    pub fn count(&self) -> u64 {
        self.lock().counts.values().sum()
    }
}
