//! What was found wrong.

use crate::groups::{DamageOverview, DamagePlace, Indexed, group, judge};
use crate::times::KnownTimes;
use crate::words;
use stamp::{BlockFinding, DamageClass, hex_view};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// At most so many are kept with what was read; the others are counted.
const KEPT_MAX: usize = 10_000;
/// … and at most so many bytes of them at a time, until they are taken.
const KEPT_BYTES_MAX: usize = 64 << 20;
/// So many are judged together at the end; about 100 bytes each.
const INDEX_MAX: usize = 200_000;

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
    /// Number of the file, where the target is a tree.
    pub file: Option<u32>,
    /// Where on the target or in the file, bytes.
    pub address: u64,
    /// Which read found it.
    pub found_by: FoundBy,
    /// What must be there.
    pub expected: stamp::Version,
    /// What is wrong.
    pub finding: BlockFinding,
    /// What was read, the whole block; where the finding is about the second reading, that.
    pub read: Vec<u8>,
    /// Of a whole file that is not what it must be: what had to be there, and what was found.
    pub words: Option<Box<[String; 2]>>,
    /// When it was right, as far as that was kept.
    pub known: KnownTimes,
}

impl Damage {
    /// What had to be there, in words.
    #[must_use]
    pub fn expected_words(&self) -> String {
        if let Some(words) = &self.words {
            return words[0].clone();
        }
        words::expected_words(&self.finding)
    }

    /// What was found, in words.
    #[must_use]
    pub fn found_words(&self) -> String {
        if let Some(words) = &self.words {
            return words[1].clone();
        }
        words::found_words(&self.finding)
    }

    /// The device in the stamps of data that were written to another one.
    #[must_use]
    pub fn found_device(&self) -> Option<u64> {
        let is_other = |sector: &&stamp::SectorFinding| sector.fault == Some(stamp::SectorFault::Device);
        Some(self.finding.sectors.iter().find(is_other)?.origin?.device)
    }

    /// Since when it can be wrong, in words; `None`: that was not kept.
    #[must_use]
    pub fn since_words(&self) -> Option<String> {
        let ago = |at: u64| quantity::text::format_ns(self.t_ns.saturating_sub(at));
        let done = if self.expected == stamp::Version::Zeroes { "trimmed" } else { "written" };
        match (self.known.good_ns, self.known.written_ns) {
            (None, None) => None,
            (Some(good), Some(written)) if good >= written => {
                let (good, written) = (ago(good), ago(written));
                Some(format!("it was read and right {good} before, and {done} {written} before"))
            }
            (Some(good), None) => Some(format!("it was read and right {} before", ago(good))),
            (_, Some(written)) => Some(format!("it was {done} {} before, and not read since", ago(written))),
        }
    }

    /// The first bytes that differ, below them what they must be: at most [`stamp::VIEW_LINES`] lines.
    #[must_use]
    pub fn hex_view(&self) -> String {
        hex_view(&self.read, &self.finding)
    }
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
    /// Bytes that were read of those.
    new_bytes: usize,
    counts: BTreeMap<DamageClass, u64>,
    index: Vec<Indexed>,
    /// Those that the index has no room for.
    beyond: BTreeMap<DamageClass, u64>,
}

impl Reports {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one.
    pub fn add(&self, damage: Damage) {
        let mut state = self.lock();
        *state.counts.entry(damage.finding.class).or_default() += 1;
        if state.index.len() < INDEX_MAX {
            state.index.push(Indexed::of(
                ((damage.target, damage.file), damage.t_ns),
                damage.read.len(),
                &damage.finding,
            ));
        } else {
            *state.beyond.entry(damage.finding.class).or_default() += 1;
        }
        if state.kept < KEPT_MAX && state.new_bytes < KEPT_BYTES_MAX {
            state.kept += 1;
            state.new_bytes += damage.read.len();
            state.new.push(damage);
        }
    }

    /// Counts damaged blocks of which nothing more is kept, because more were found than are judged.
    pub fn count_beyond(&self, class: DamageClass, count: u64) {
        if count > 0 {
            let mut state = self.lock();
            *state.counts.entry(class).or_default() += count;
            *state.beyond.entry(class).or_default() += count;
        }
    }

    /// Is so much known already that further damage is only counted?
    pub fn is_full(&self) -> bool {
        self.lock().index.len() >= INDEX_MAX
    }

    /// What was added since this was last asked, in the order in which it was found.
    pub fn take(&self) -> Vec<Damage> {
        let mut state = self.lock();
        state.new_bytes = 0;
        std::mem::take(&mut state.new)
    }

    /// Judges all that was found together, once everything was read: links the two ends of writes that went astray, and groups what
    /// happened to many blocks. `held` says of a block of a target, or of a file of a tree, by its address, which version it has, where it was
    /// read and right ([`crate::Validation::right_version`]).
    pub fn judge(&self, held: impl Fn(DamagePlace, u64) -> Option<u16>) -> DamageOverview {
        let (index, beyond) = {
            let state = self.lock();
            (state.index.clone(), state.beyond.clone())
        };
        let damages = judge(&index, held);
        DamageOverview { groups: group(&damages), damages, beyond }
    }

    /// Damaged blocks of each class as it seemed when each was found, those that were not kept too.
    pub fn counts(&self) -> BTreeMap<DamageClass, u64> {
        self.lock().counts.clone()
    }

    /// All damaged blocks.
    pub fn count(&self) -> u64 {
        self.lock().counts.values().sum()
    }
}
