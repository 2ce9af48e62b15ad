//! What must be found of a target after a crash, block by block, as its journal says.

use crate::rules::TargetRules;
use crate::states::BlockState;
use data_journal::{Crash, Floor, RecoveredTarget};
use stamp::{BlockFinding, DamageClass, SECTOR_BYTES, SectorStamp, Version, is_intact};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks whose floors lie side by side.
const CHUNK: u64 = 256;

/// The oldest operations whose effects may be found; each is forgotten when its block is written again.
#[derive(Debug)]
pub(crate) struct Floors {
    crash: Crash,
    chunks: HashMap<u64, Box<[AtomicU64]>>,
    /// Runs of the sessions, by their number.
    sessions: Vec<u64>,
    /// Epoch of the last flush that was acknowledged to the last session.
    acknowledged: Option<u32>,
    /// One more than the newest epoch of a write of the last session that was found; 0: none.
    newest_epoch: AtomicU64,
}

impl Floors {
    /// Those of a target, and the states of its blocks, which `set` gets.
    pub(crate) fn new(
        recovered: &RecoveredTarget,
        crash: Crash,
        rules: &TargetRules,
        mut set: impl FnMut(u64, BlockState),
    ) -> Self {
        let mut chunks: HashMap<u64, Box<[AtomicU64]>> = HashMap::new();
        // What a journal says of blocks behind the end may be of any number of them.
        let blocks = rules.size_bytes / rules.block_bytes.max(1);
        for (block, floor, version) in recovered.floors(crash).take_while(|(block, ..)| *block < blocks) {
            // Where a trim leaves anything, nothing can be said of what it may have touched.
            if floor.allows_zeroes() && !rules.trims_read_zero {
                continue;
            }
            let is_exact = recovered.is_exact(floor);
            set(
                block,
                match (floor.is_trim(), is_exact) {
                    (true, _) => BlockState::Trimmed,
                    (false, true) => BlockState::Known(version),
                    (false, false) => BlockState::AtLeast(version),
                },
            );
            if !is_exact {
                let new = || (0..CHUNK).map(|_| AtomicU64::new(0)).collect();
                let chunk = chunks.entry(block / CHUNK).or_insert_with(new);
                let within = usize::try_from(block % CHUNK).unwrap_or(usize::MAX);
                if let Some(cell) = chunk.get(within) {
                    cell.store(floor.0, Ordering::Relaxed);
                }
            }
        }
        Self {
            crash,
            chunks,
            sessions: recovered.session_runs.clone(),
            acknowledged: recovered.acknowledged_epoch,
            newest_epoch: AtomicU64::new(0),
        }
    }

    fn cell(&self, block: u64) -> Option<&AtomicU64> {
        self.chunks.get(&(block / CHUNK))?.get(usize::try_from(block % CHUNK).ok()?)
    }

    /// A block's; `None`: its state says all.
    pub(crate) fn get(&self, block: u64) -> Option<Floor> {
        let floor = Floor(self.cell(block)?.load(Ordering::Relaxed));
        floor.is_some().then_some(floor)
    }

    /// A block that was written or trimmed again, or was found wrong.
    pub(crate) fn forget(&self, block: u64) {
        if let Some(cell) = self.cell(block) {
            cell.store(0, Ordering::Relaxed);
        }
    }

    /// What stands for a floor where only versions are known.
    pub(crate) fn version(floor: Floor, state: BlockState) -> Version {
        match state {
            _ if floor.is_trim() => Version::Zeroes,
            BlockState::Known(version) | BlockState::AtLeast(version) => Version::AtLeast(version),
            _ => Version::Any,
        }
    }

    /// May this block be there?
    pub(crate) fn is_right(
        &self,
        block: &[u8],
        address: u64,
        floor: Floor,
        state: BlockState,
        rules: &TargetRules,
    ) -> bool {
        let (sectors, rest) = block.as_chunks::<SECTOR_BYTES>();
        let all = sectors.iter().enumerate().all(|(place, sector)| {
            if floor.allows_zeroes() && sector.iter().all(|byte| *byte == 0) {
                return true;
            }
            let address = address.wrapping_add((place * SECTOR_BYTES) as u64);
            let Some(stamp) = stamp_here(sector, address, rules) else { return false };
            let is_allowed = self.allows(&stamp, floor, state, rules);
            if is_allowed {
                self.note(&stamp);
            }
            is_allowed
        });
        all && rest.is_empty()
    }

    /// What a block that is right turned out to hold, where it is all of one write, or empty; `None`: parts of several.
    pub(crate) fn learned(block: &[u8]) -> Option<BlockState> {
        let (sectors, _) = block.as_chunks::<SECTOR_BYTES>();
        let first = SectorStamp::read(sectors.first()?);
        let Some(first) = first else {
            return block.iter().all(|byte| *byte == 0).then_some(BlockState::Trimmed);
        };
        let is_same = |sector: &[u8; SECTOR_BYTES]| {
            SectorStamp::read(sector).is_some_and(|stamp| {
                (stamp.run, stamp.sequence, stamp.version) == (first.run, first.sequence, first.version)
            })
        };
        sectors.iter().all(is_same).then_some(BlockState::Known(first.version))
    }

    /// May a sector of this write be there?
    fn allows(&self, stamp: &SectorStamp, floor: Floor, state: BlockState, rules: &TargetRules) -> bool {
        if rules.runs.first() == Some(&stamp.run) {
            return true;
        }
        let is_version = || match state {
            BlockState::Known(version) | BlockState::AtLeast(version) if floor.may_be_newer() => {
                Version::AtLeast(version).allows(stamp.version)
            }
            BlockState::Known(version) | BlockState::AtLeast(version) => stamp.version == version,
            _ => false,
        };
        let of_checkpoint = || floor.is_of_checkpoint() && rules.runs.contains(&stamp.run) && is_version();
        match self.sessions.iter().position(|run| *run == stamp.run) {
            Some(session) if session > floor.session() => true,
            Some(session) if session == floor.session() => floor.allows_write(stamp.sequence, is_version()),
            _ => of_checkpoint(),
        }
    }

    /// A write that was found.
    fn note(&self, stamp: &SectorStamp) {
        if self.sessions.last() == Some(&stamp.run) {
            self.newest_epoch.fetch_max(u64::from(stamp.epoch) + 1, Ordering::Relaxed);
        }
    }

    /// A block of which nothing is known: what it says tells which writes have reached the device.
    pub(crate) fn note_unknown(&self, block: &[u8], address: u64, rules: &TargetRules) {
        if let Some(stamp) = block.first_chunk().and_then(|sector| stamp_here(sector, address, rules)) {
            self.note(&stamp);
        }
    }

    /// Names what only a crash can have done. A flush that was acknowledged had to keep what is missing: the write was lost behind it;
    /// where a write that was submitted behind the last acknowledged flush was found on the same target, the order was not kept.
    pub(crate) fn refine(&self, finding: &mut BlockFinding, floor: Floor) {
        use DamageClass as Class;
        if finding.sectors.iter().all(|sector| sector.is_right) && finding.class == Class::ShortRead {
            // By its version alone it might be there; its number says that it is older.
            finding.class = Class::LostWrite;
        }
        let is_lost = matches!(finding.class, Class::LostWrite | Class::TornWrite | Class::Zeroes | Class::OlderRun);
        if self.crash == Crash::PowerCut && floor.is_flushed() && is_lost && !finding.is_transient {
            let kept = self.acknowledged.map_or(0, |epoch| u64::from(epoch) + 1);
            let is_behind = self.newest_epoch.load(Ordering::Relaxed) > kept;
            finding.class = if is_behind { Class::ReorderedAcrossFlush } else { Class::LostAfterFlush };
        }
    }
}

/// The stamp of an intact sector that was written for this place.
fn stamp_here(sector: &[u8; SECTOR_BYTES], address: u64, rules: &TargetRules) -> Option<SectorStamp> {
    let stamp = SectorStamp::read(sector)?;
    (stamp.device == rules.device && stamp.address == address && is_intact(sector)).then_some(stamp)
}
