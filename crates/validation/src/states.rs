//! The state of every block of a target, in two bytes each.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Blocks whose states lie side by side; memory is taken when the first of them is written.
const CHUNK: usize = 1 << 15;
/// An operation has the block.
const BUSY: u16 = 1 << 15;
/// Its last write, or one behind it, also parts of several.
const UNSURE: u16 = 1 << 14;
/// The rest is a version, or one of these.
const UNKNOWN: u16 = 0;
const TRIMMED: u16 = 1;
const DAMAGED: u16 = 2;
/// The first version, and the end of all.
const FIRST: u16 = 4;
const END: u16 = UNSURE;

/// What is known of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// Nothing: no write of this session is known.
    Unknown,
    /// It was trimmed.
    Trimmed,
    /// What was found was wrong and has been reported; a write makes it right again.
    Damaged,
    /// It has this version.
    Known(u16),
    /// It has this version or one behind it, also parts of several: a write failed or did not come back, or the machine failed.
    AtLeast(u16),
}

impl BlockState {
    fn of(bits: u16) -> Self {
        match bits & !(BUSY | UNSURE) {
            UNKNOWN | 3 => Self::Unknown,
            TRIMMED => Self::Trimmed,
            DAMAGED => Self::Damaged,
            version if bits & UNSURE != 0 => Self::AtLeast(version),
            version => Self::Known(version),
        }
    }

    fn bits(self) -> u16 {
        match self {
            Self::Unknown => UNKNOWN,
            Self::Trimmed => TRIMMED,
            Self::Damaged => DAMAGED,
            Self::Known(version) => version.clamp(FIRST, END - 1),
            Self::AtLeast(version) => version.clamp(FIRST, END - 1) | UNSURE,
        }
    }

    /// The version that a block had before it had this one.
    #[must_use]
    pub fn version_before(version: u16) -> u16 {
        if version <= FIRST || version >= END { END - 1 } else { version - 1 }
    }

    /// The version of the next write, whose number among all writes to the target is `sequence`. Where the last one is known, the one
    /// behind it: an earlier write passes for the last one only when 16,380 in a row were lost. Otherwise one that follows from
    /// the number, so that what an earlier attempt left is not taken for it.
    #[must_use]
    pub fn next(self, sequence: u64) -> u16 {
        let all = END - FIRST;
        match self {
            Self::Known(version) => FIRST + (version - FIRST + 1) % all,
            Self::AtLeast(version) => FIRST + (version - FIRST + 1 + (sequence % 4095) as u16) % all,
            #[expect(clippy::cast_possible_truncation, reason = "below 16,380")]
            Self::Unknown | Self::Trimmed | Self::Damaged => FIRST + (sequence % u64::from(all)) as u16,
        }
    }
}

/// The blocks of one target.
#[derive(Debug)]
pub struct BlockStates {
    blocks: u64,
    chunks: Vec<OnceLock<Box<[AtomicU16]>>>,
}

impl BlockStates {
    /// So many blocks, all unknown.
    #[must_use]
    pub fn new(blocks: u64) -> Self {
        let chunks = usize::try_from(blocks.div_ceil(CHUNK as u64)).unwrap_or(usize::MAX);
        Self { blocks, chunks: (0..chunks).map(|_| OnceLock::new()).collect() }
    }

    /// How many there are.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    #[inline]
    fn cell(&self, block: u64) -> Option<&AtomicU16> {
        if block >= self.blocks {
            return None;
        }
        let at = usize::try_from(block).ok()?;
        let chunk = self.chunks.get(at / CHUNK)?;
        let cells = chunk.get_or_init(|| (0..CHUNK).map(|_| AtomicU16::new(UNKNOWN)).collect());
        cells.get(at % CHUNK)
    }

    /// What is known of a block, busy or not.
    #[must_use]
    pub fn get(&self, block: u64) -> BlockState {
        let is_known = usize::try_from(block).ok().and_then(|at| self.chunks.get(at / CHUNK)?.get()).is_some();
        let cell = if is_known { self.cell(block) } else { None };
        cell.map_or(BlockState::Unknown, |cell| BlockState::of(cell.load(Ordering::Acquire)))
    }

    /// Takes `count` blocks from `first` on for an operation; false: one of them is busy, and none was taken. Blocks outside of the
    /// target are never busy.
    #[must_use]
    pub fn take(&self, first: u64, count: u64) -> bool {
        for block in first..first.saturating_add(count) {
            let Some(cell) = self.cell(block) else { break };
            if cell.fetch_or(BUSY, Ordering::AcqRel) & BUSY != 0 {
                self.release(first, block - first);
                return false;
            }
        }
        true
    }

    /// Gives taken blocks back as they are.
    pub fn release(&self, first: u64, count: u64) {
        for block in first..first.saturating_add(count) {
            let Some(cell) = self.cell(block) else { break };
            cell.fetch_and(!BUSY, Ordering::AcqRel);
        }
    }

    /// Changes the state of a block that the caller has taken, or that no operation can have.
    pub fn set(&self, block: u64, state: BlockState) {
        if let Some(cell) = self.cell(block) {
            let is_busy = cell.load(Ordering::Acquire) & BUSY;
            cell.store(state.bits() | is_busy, Ordering::Release);
        }
    }

    /// Changes the state of a block of which nothing is known and that no operation has.
    pub(crate) fn set_if_unknown(&self, block: u64, state: BlockState) {
        if let Some(cell) = self.cell(block) {
            let _ = cell.compare_exchange(UNKNOWN, state.bits(), Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// Adds the states of `count` blocks from `first` on to `codes`, as numbers of two bytes that do not change from version to version:
    /// 0 unknown, 1 trimmed, 2 damaged, otherwise a version, with bit 14 where newer ones may be there too: an operation that has the
    /// block may be a write. Nothing where all are unknown.
    pub fn codes(&self, first: u64, count: usize, codes: &mut Vec<u16>) {
        let end = first.saturating_add(count as u64).min(self.blocks);
        let is_there = |block: u64| {
            let at = usize::try_from(block).ok()? / CHUNK;
            self.chunks.get(at)?.get()
        };
        if (first..end).step_by(CHUNK).chain(end.checked_sub(1)).all(|block| is_there(block).is_none()) {
            return;
        }
        codes.extend((first..end).map(|block| match self.cell(block).map_or(0, |cell| cell.load(Ordering::Acquire)) {
            bits if bits & BUSY == 0 => bits,
            bits => match BlockState::of(bits) {
                BlockState::Known(version) | BlockState::AtLeast(version) => BlockState::AtLeast(version).bits(),
                _ => UNKNOWN,
            },
        }));
    }

    /// Calls `act` with each block that may be newer than is known.
    pub fn each_unsure(&self, mut act: impl FnMut(u64)) {
        for (chunk, cells) in self.chunks.iter().enumerate() {
            for (at, cell) in cells.get().into_iter().flatten().enumerate() {
                if matches!(BlockState::of(cell.load(Ordering::Acquire)), BlockState::AtLeast(_)) {
                    act((chunk * CHUNK + at) as u64);
                }
            }
        }
    }

    /// What operations still have is given up: they did not come back, and what they wrote may be there or not. Only for the end of a run.
    pub fn give_up(&self) {
        for cell in self.chunks.iter().filter_map(OnceLock::get).flatten() {
            let bits = cell.load(Ordering::Acquire);
            if bits & BUSY != 0 {
                let after = match BlockState::of(bits) {
                    BlockState::Known(before) | BlockState::AtLeast(before) => BlockState::AtLeast(before),
                    _ => BlockState::Unknown,
                };
                cell.store(after.bits(), Ordering::Release);
            }
        }
    }

    /// The next block from `from` on of which something is known to have been written, with the number of such blocks in a row, at
    /// most `count`.
    #[must_use]
    pub fn next_written(&self, from: u64, count: u64) -> Option<(u64, u64)> {
        let is_written = |block| !matches!(self.get(block), BlockState::Unknown);
        let mut block = from;
        while block < self.blocks {
            let chunk = usize::try_from(block).ok()? / CHUNK;
            if self.chunks.get(chunk)?.get().is_none() {
                block = (chunk as u64 + 1) * CHUNK as u64;
                continue;
            }
            if is_written(block) {
                let end = block.saturating_add(count).min(self.blocks);
                let length = (block..end).take_while(|block| is_written(*block)).count() as u64;
                return Some((block, length));
            }
            block += 1;
        }
        None
    }

    /// Blocks of which something is known to have been written.
    #[must_use]
    pub fn written(&self) -> u64 {
        let chunks = self.chunks.iter().filter_map(OnceLock::get);
        let known = |cell: &&AtomicU16| BlockState::of(cell.load(Ordering::Relaxed)) != BlockState::Unknown;
        chunks.map(|cells| cells.iter().filter(known).count() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_have_one_operation_at_a_time() {
        let states = BlockStates::new(100_000);
        assert!(states.take(10, 4) && !states.take(13, 1) && !states.take(8, 3), "block 10 is busy");
        assert!(states.take(8, 2), "what could not be taken whole was given back");
        states.set(12, BlockState::Known(7));
        states.release(10, 4);
        assert_eq!(states.get(12), BlockState::Known(7));
        assert!(states.take(99_999, 5), "the end of a target");
    }

    #[test]
    fn what_was_written_is_found_in_order() {
        let states = BlockStates::new(1 << 20);
        for block in [5, 6, 7, 70_000, 1_000_000, 1_000_001] {
            states.set(block, BlockState::Known(9));
        }
        let mut found = Vec::new();
        let mut at = 0;
        while let Some((block, count)) = states.next_written(at, 2) {
            found.push((block, count));
            at = block + count;
        }
        assert_eq!(found, [(5, 2), (7, 1), (70_000, 1), (1_000_000, 2)]);
        assert_eq!(states.written(), 6);
    }

    proptest! {
        #[test]
        fn states_are_kept_as_they_are(version in FIRST..END, sequence: u64) {
            let all = [BlockState::Unknown, BlockState::Trimmed, BlockState::Damaged, BlockState::Known(version), BlockState::AtLeast(version)];
            for state in all {
                prop_assert_eq!(BlockState::of(state.bits()), state);
                let next = state.next(sequence);
                prop_assert!((FIRST..END).contains(&next));
                prop_assert!(!matches!(state, BlockState::Known(own) | BlockState::AtLeast(own) if own == next));
            }
        }
    }
}
