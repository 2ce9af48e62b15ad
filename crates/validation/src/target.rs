//! One target: its blocks, the numbers of its writes, what its reads must find.

use crate::copies::is_of_any;
use crate::extent::Extent;
use crate::journal::{RecoveredStates, TargetJournal};
use crate::recovered::Floors;
use crate::reports::{Damage, FoundBy, Reports};
use crate::rules::TargetRules;
use crate::states::{BlockState, BlockStates};
use crate::times::{BlockTimes, KnownTimes};
use data_journal::{Crash, Floor, RecoveredTree};
use quantity::clock;
use stamp::{
    BlockFinding, BlockWriter, DamageClass, Expected, Reading, SectorFault, SectorFinding, Version, WriteStamp,
    examine, is_right,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The number by which a target is known in stamps: of its name, as it was given or as it is found (FNV-1a, scattered).
#[must_use]
pub fn device_id(name: &str) -> u64 {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    stamp::payload::scatter(name.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
}

/// A write under way, on blocks that it has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteHold {
    /// Its number among the writes to its target.
    pub sequence: u64,
}

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// All blocks are what they must be, as far as that is known.
    Right,
    /// One is not: read it again, past all caches, and call [`TargetValidation::report`].
    Suspect,
}

/// What was checked of a target; all of these only grow, but for what is of a single pass.
#[derive(Debug, Default)]
pub struct CheckCounts {
    /// Bytes that were read and had to be something.
    pub checked_bytes: AtomicU64,
    /// Bytes that were read and of which nothing was known.
    pub unknown_bytes: AtomicU64,
    /// Bytes that were stamped and written.
    pub written_bytes: AtomicU64,
    /// Damaged blocks.
    pub damaged_blocks: AtomicU64,
    /// Reads before and behind writes.
    pub extra_reads: AtomicU64,
    /// Operations that waited for a busy block.
    pub deferred: AtomicU64,
    /// Blocks that were read in the last pass over everything that was written.
    pub swept_blocks: AtomicU64,
}

/// The validation of one target. All methods may be called by many threads; the blocks of an operation are its caller's between
/// [`take`](Self::take) and the release by [`written`](Self::written), [`trimmed`](Self::trimmed) or [`release`](Self::release).
#[derive(Debug)]
pub struct TargetValidation {
    rules: TargetRules,
    writer: BlockWriter,
    states: BlockStates,
    sequence: AtomicU64,
    epoch: AtomicU32,
    /// Seconds since 1970 at 0 of the clock.
    wall_base_s: u64,
    /// What an unknown execution wrote later than this second since 1970 is of no earlier one.
    known_since_s: u64,
    reports: Arc<Reports>,
    counts: CheckCounts,
    journal: Option<TargetJournal>,
    /// What a journal says of an earlier session.
    floors: Option<Floors>,
    /// Blocks that an earlier session wrote, and of which its journal promises nothing.
    unpromised: Option<u64>,
    /// When blocks were right, where that is asked for.
    times: Option<BlockTimes>,
    gave_up: AtomicBool,
}

impl TargetValidation {
    /// Of a target of which nothing is known yet.
    #[must_use]
    pub fn new(rules: TargetRules, reports: Arc<Reports>) -> Self {
        let wall_s = u64::try_from(clock::wall_ns() / 1_000_000_000).unwrap_or(0);
        let wall_base_s = wall_s.saturating_sub(clock::now_ns() / 1_000_000_000);
        let blocks = rules.size_bytes / rules.block_bytes.max(1);
        Self {
            writer: BlockWriter::new(rules.compress_ratio),
            states: BlockStates::new(blocks),
            sequence: AtomicU64::new(0),
            epoch: AtomicU32::new(0),
            wall_base_s,
            known_since_s: u64::MAX,
            reports,
            counts: CheckCounts::default(),
            journal: None,
            floors: None,
            unpromised: None,
            times: None,
            gave_up: AtomicBool::new(false),
            rules,
        }
    }

    /// The same, whose operations are written down from now on.
    #[must_use]
    pub fn with_journal(self, journal: TargetJournal) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// The same; what an execution that it does not know wrote later than this (ns since 1970) is of no earlier execution.
    #[must_use]
    pub fn known_since(self, wall_ns: i64) -> Self {
        let known_since_s = u64::try_from(wall_ns / 1_000_000_000).unwrap_or(0);
        Self { known_since_s, ..self }
    }

    /// The same, after a crash: its blocks have to be what the journal says. The executions whose data may be there are added to
    /// the rules.
    #[must_use]
    pub fn with_recovered(mut self, states: &RecoveredStates<'_>) -> Self {
        self.accept(states.target.runs.iter().copied());
        let blocks = &self.states;
        let floors = Floors::new(states.target, states.crash, &self.rules, |block, state| blocks.set(block, state));
        let unpromised = Some(states.target.unpromised(states.crash));
        Self { floors: Some(floors), unpromised, ..self }.known_since(states.target.last_change_ns)
    }

    /// The same of a tree: of these blocks.
    pub(crate) fn recover_files(
        &mut self,
        tree: RecoveredTree<'_>,
        crash: Crash,
        floors: impl Iterator<Item = (u64, Floor, u16)>,
    ) {
        self.accept(tree.session_runs().iter().rev().chain(tree.target.runs.iter()).copied());
        let blocks = &self.states;
        self.floors = Some(Floors::of_files(tree, crash, floors, |block, state| blocks.set(block, state)));
        self.known_since_s = u64::try_from(tree.last_change_ns() / 1_000_000_000).unwrap_or(0);
    }

    /// Executions whose data may be there, too.
    fn accept(&mut self, runs: impl Iterator<Item = u64>) {
        for run in runs {
            if !self.rules.runs.contains(&run) {
                self.rules.runs.push(run);
            }
        }
    }

    /// The same, which keeps when each block was written last, and read and right: 8 bytes more per block.
    #[must_use]
    pub fn with_times(self) -> Self {
        Self { times: Some(BlockTimes::new(self.states.blocks())), ..self }
    }

    /// Blocks that an earlier session wrote, and of which its journal promises nothing, because no flush covered them before a power
    /// cut; `None`: there is no such journal.
    #[must_use]
    pub fn unpromised(&self) -> Option<u64> {
        self.unpromised
    }

    /// Where its operations are written down.
    #[must_use]
    pub fn journal(&self) -> Option<&TargetJournal> {
        self.journal.as_ref()
    }

    /// Number of the next write.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence.load(Ordering::Acquire)
    }

    /// What a session before has left of a block.
    #[inline]
    pub(crate) fn floor(&self, block: u64) -> Option<Floor> {
        self.floors.as_ref()?.get(block)
    }

    /// What operations still have is given up: they did not come back, and what they did may have taken effect or not.
    pub fn give_up(&self) {
        self.gave_up.store(true, Ordering::Release);
        self.states.give_up();
    }

    /// Were there any?
    pub(crate) fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Acquire)
    }

    /// Its rules.
    #[must_use]
    pub fn rules(&self) -> &TargetRules {
        &self.rules
    }

    /// Its blocks.
    #[must_use]
    pub fn states(&self) -> &BlockStates {
        &self.states
    }

    /// What was checked.
    #[must_use]
    pub fn counts(&self) -> &CheckCounts {
        &self.counts
    }

    /// All of it.
    fn whole(&self) -> Extent {
        Extent::of_target(self.rules.device)
    }

    /// First block and number of blocks of a range.
    fn blocks_of(&self, offset: u64, bytes: u64) -> (u64, u64) {
        self.whole().blocks_of(self.rules.block_bytes, offset, bytes)
    }

    /// Takes the blocks of an operation; false: one of them is another operation's.
    #[must_use]
    #[inline]
    pub fn take(&self, offset: u64, bytes: u64) -> bool {
        self.take_in(&self.whole(), offset, bytes)
    }

    #[must_use]
    #[inline]
    pub(crate) fn take_in(&self, extent: &Extent, offset: u64, bytes: u64) -> bool {
        let (first, count) = extent.blocks_of(self.rules.block_bytes, offset, bytes);
        self.states.take(first, count)
    }

    /// Gives the blocks of a read, or of an operation that was not submitted, back.
    #[inline]
    pub fn release(&self, offset: u64, bytes: u64) {
        self.release_in(&self.whole(), offset, bytes);
    }

    #[inline]
    pub(crate) fn release_in(&self, extent: &Extent, offset: u64, bytes: u64) {
        let (first, count) = extent.blocks_of(self.rules.block_bytes, offset, bytes);
        self.states.release(first, count);
    }

    /// What is known of the block with this address.
    #[inline]
    fn state_in(&self, extent: &Extent, address: u64) -> BlockState {
        extent.block(address / self.rules.block_bytes).map_or(BlockState::Unknown, |block| self.states.get(block))
    }

    /// Fills the buffer of a write to taken blocks.
    #[inline]
    pub fn stamp(&self, offset: u64, buffer: &mut [u8], writer: u16) -> WriteHold {
        self.stamp_in(&self.whole(), offset, buffer, writer)
    }

    #[inline]
    pub(crate) fn stamp_in(&self, extent: &Extent, offset: u64, buffer: &mut [u8], writer: u16) -> WriteHold {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        let seconds = self.wall_base_s + clock::now_ns() / 1_000_000_000;
        let write = WriteStamp {
            flags: self.rules.flags,
            run: self.rules.runs.first().copied().unwrap_or(0),
            device: extent.device,
            sequence,
            writer,
            epoch: self.epoch.load(Ordering::Acquire),
            written_s: u32::try_from(seconds).unwrap_or(u32::MAX),
        };
        let block_bytes = self.rules.block_bytes;
        self.writer
            .fill(buffer, (offset, block_bytes), &write, |address| self.state_in(extent, address).next(sequence));
        if let Some(copies) = &self.rules.copies {
            let blocks = buffer.chunks_exact_mut(usize::try_from(block_bytes).unwrap_or(usize::MAX));
            for (block, address) in blocks.zip((offset..).step_by(usize::try_from(block_bytes).unwrap_or(1))) {
                let version = self.state_in(extent, address).next(sequence);
                copies.fill(&self.writer, block, (address, version), &self.rules);
            }
        }
        WriteHold { sequence }
    }

    /// A write came back; releases its blocks. Where it failed, what was there before, its own data, or parts of both may be found.
    #[inline]
    pub fn written(&self, offset: u64, bytes: u64, hold: WriteHold, is_done: bool) {
        self.wrote(offset, bytes, hold, is_done);
        self.release(offset, bytes);
    }

    /// The same, and its blocks stay taken: they are read before they are released.
    #[inline]
    pub fn wrote(&self, offset: u64, bytes: u64, hold: WriteHold, is_done: bool) {
        self.wrote_in(&self.whole(), (offset, bytes), hold, is_done);
    }

    #[inline]
    pub(crate) fn wrote_in(&self, extent: &Extent, (offset, bytes): (u64, u64), hold: WriteHold, is_done: bool) {
        let (first, count) = extent.blocks_of(self.rules.block_bytes, offset, bytes);
        if is_done {
            self.counts.written_bytes.fetch_add(bytes, Ordering::Relaxed);
            if let Some(times) = &self.times {
                times.written(first..first.saturating_add(count));
            }
        }
        for block in first..first.saturating_add(count) {
            let after = match (is_done, self.states.get(block)) {
                (true, before) => BlockState::Known(before.next(hold.sequence)),
                // Parts of it may be there, and nothing says which.
                (false, BlockState::Known(before) | BlockState::AtLeast(before)) => BlockState::AtLeast(before),
                (false, _) => BlockState::Unknown,
            };
            self.states.set(block, after);
        }
        self.forget((first, count), is_done);
        if let Some(journal) = &self.journal {
            // Before the blocks are released, so that records of one block have the order of its writes.
            match is_done {
                true => journal.done(&self.states, (first, count), hold.sequence),
                false => journal.journal.failed(journal.target, (first, count)),
            }
        }
    }

    /// What a session before has left of blocks is over when they are written or trimmed.
    #[inline]
    pub(crate) fn forget(&self, (first, count): (u64, u64), is_done: bool) {
        if let Some(floors) = self.floors.as_ref().filter(|_| is_done) {
            (first..first.saturating_add(count)).for_each(|block| floors.forget(block));
        }
    }

    /// Is anything known of one of these blocks?
    #[must_use]
    pub fn knows(&self, offset: u64, bytes: u64) -> bool {
        let (first, count) = self.blocks_of(offset, bytes);
        (first..first.saturating_add(count)).any(|block| self.states.get(block) != BlockState::Unknown)
    }

    /// A pass over everything that was written is about to begin.
    pub fn begin_sweep(&self) {
        self.counts.swept_blocks.store(0, Ordering::Relaxed);
    }

    /// Blocks were read in the pass over everything that was written.
    #[inline]
    pub fn note_swept(&self, offset: u64, bytes: u64) {
        let (_, count) = self.blocks_of(offset, bytes);
        self.note_swept_blocks(count);
    }

    pub(crate) fn note_swept_blocks(&self, count: u64) {
        self.counts.swept_blocks.fetch_add(count, Ordering::Relaxed);
    }

    /// Checks what was read of taken blocks.
    #[inline]
    #[must_use]
    pub fn check(&self, offset: u64, buffer: &[u8]) -> ReadOutcome {
        self.check_as(offset, buffer, true)
    }

    /// The same of a reader who may expect nothing of blocks of which nothing is known (`expects_unknown`), whatever the rules say.
    #[inline]
    #[must_use]
    pub fn check_as(&self, offset: u64, buffer: &[u8], expects_unknown: bool) -> ReadOutcome {
        self.check_in(&self.whole(), offset, buffer, expects_unknown)
    }

    #[inline]
    pub(crate) fn check_in(&self, extent: &Extent, offset: u64, buffer: &[u8], expects_unknown: bool) -> ReadOutcome {
        let (mut checked, mut unknown, mut outcome) = (0, 0, ReadOutcome::Right);
        for (address, block) in self.each(offset, buffer) {
            if let Some((floors, at)) = self.floors.as_ref().zip(extent.block(address / self.rules.block_bytes)) {
                if let Some(floor) = floors.get(at) {
                    checked += block.len() as u64;
                    if !floors.is_right(block, address, floor, self.states.get(at), (extent.device, &self.rules)) {
                        outcome = ReadOutcome::Suspect;
                    } else if let Some(learned) = Floors::learned(block) {
                        self.states.set(at, learned);
                        floors.forget(at);
                    }
                    continue;
                }
                floors.note_unknown(block, address, extent.device);
            }
            match self.expected(self.state_in(extent, address), expects_unknown) {
                None => unknown += block.len() as u64,
                Some(expected) => {
                    checked += block.len() as u64;
                    if !self.holds(block, &self.of(extent, address, expected)) {
                        outcome = ReadOutcome::Suspect;
                    }
                }
            }
        }
        if let Some(times) = self.times.as_ref().filter(|_| outcome == ReadOutcome::Right && checked > 0) {
            let (first, count) = extent.blocks_of(self.rules.block_bytes, offset, buffer.len() as u64);
            times.good(first..first.saturating_add(count));
        }
        self.counts.checked_bytes.fetch_add(checked, Ordering::Relaxed);
        self.counts.unknown_bytes.fetch_add(unknown, Ordering::Relaxed);
        outcome
    }

    /// Reports every damaged block of taken ones, of which `first` was read first and `again` when they were read again. Gives how many
    /// there are. A block that was right when it was read again stays known.
    #[cold]
    pub fn report(&self, offset: u64, first: &[u8], again: Option<&[u8]>, found_by: FoundBy) -> u64 {
        self.report_as(offset, (first, again), found_by, true)
    }

    /// The same of a reader as in [`Self::check_as`].
    #[cold]
    pub fn report_as(
        &self,
        offset: u64,
        readings: (&[u8], Option<&[u8]>),
        found_by: FoundBy,
        expects_unknown: bool,
    ) -> u64 {
        self.report_in(&self.whole(), offset, readings, (found_by, expects_unknown))
    }

    #[cold]
    pub(crate) fn report_in(
        &self,
        extent: &Extent,
        offset: u64,
        (first, again): (&[u8], Option<&[u8]>),
        (found_by, expects_unknown): (FoundBy, bool),
    ) -> u64 {
        let mut damaged = 0;
        for (address, block) in self.each(offset, first) {
            let Some(at) = extent.block(address / self.rules.block_bytes) else { continue };
            let floor = self.floors.as_ref().zip(self.floor(at));
            let version = floor.map(|(_, floor)| Floors::version(floor, self.states.get(at)));
            let Some(version) = version.or_else(|| self.expected(self.states.get(at), expects_unknown)) else {
                continue;
            };
            let expected = self.of(extent, address, version);
            let is_right = |block: &[u8]| match floor {
                Some((floors, floor)) => {
                    floors.is_right(block, address, floor, self.states.get(at), (extent.device, &self.rules))
                }
                None => self.holds(block, &expected),
            };
            if is_right(block) {
                self.times.iter().for_each(|times| times.good(std::iter::once(at)));
                continue;
            }
            damaged += 1;
            let within = usize::try_from(address - offset).unwrap_or(usize::MAX);
            let again = again.and_then(|again| again.get(within..within + block.len()));
            let reading = Reading { first: block, again };
            let mut finding = match &self.rules.copies {
                Some(copies) => copies.examine(&reading, &expected, &self.rules),
                None => examine(&reading, &expected),
            };
            self.name_later(&mut finding);
            if let Some((floors, floor)) = floor {
                finding.is_transient = again.is_some_and(is_right);
                floors.refine(&mut finding, floor);
            }
            if !finding.is_transient {
                self.forget((at, 1), true);
                self.states.set(at, BlockState::Damaged);
            }
            let judged = again.filter(|_| finding.is_of_again).unwrap_or(block);
            let (t_ns, target, read) = (clock::now_ns(), self.rules.target, judged.to_vec());
            let file = extent.file;
            let known = self.times.as_ref().map_or(KnownTimes::default(), |times| times.get(at));
            self.reports.add(Damage {
                t_ns,
                target,
                file,
                address,
                found_by,
                expected: version,
                finding,
                read,
                words: None,
                known,
            });
        }
        self.note_damaged(damaged);
        damaged
    }

    pub(crate) fn note_damaged(&self, blocks: u64) {
        self.counts.damaged_blocks.fetch_add(blocks, Ordering::Relaxed);
    }

    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    /// Tells what a later execution wrote from what an earlier one left there.
    fn name_later(&self, finding: &mut BlockFinding) {
        let is_of_other = |sector: &&SectorFinding| sector.fault == Some(SectorFault::Run);
        let mut others = finding.sectors.iter().filter(is_of_other).filter_map(|sector| sector.origin);
        if finding.class == DamageClass::OlderRun && others.any(|stamp| u64::from(stamp.written_s) > self.known_since_s)
        {
            finding.class = DamageClass::OtherRun;
        }
    }

    /// The blocks of a buffer with their addresses.
    fn each<'a>(&self, offset: u64, buffer: &'a [u8]) -> impl Iterator<Item = (u64, &'a [u8])> {
        let block_bytes = self.rules.block_bytes;
        let whole = usize::try_from(block_bytes).unwrap_or(usize::MAX);
        buffer.chunks(whole).enumerate().map(move |(at, block)| (offset + at as u64 * block_bytes, block))
    }

    /// May this block be there?
    #[inline]
    fn holds(&self, block: &[u8], expected: &Expected<'_>) -> bool {
        match &self.rules.copies {
            Some(copies) => copies.is_right(block, expected, &self.rules),
            None => is_right(block, expected) || expected.version == Version::Any && is_of_any(block, expected),
        }
    }

    fn of(&self, extent: &Extent, address: u64, version: Version) -> Expected<'_> {
        let runs = if version == Version::Any { &[][..] } else { &self.rules.runs };
        Expected { device: extent.device, runs, address, version }
    }

    /// What a block must be; `None`: that is not known.
    #[inline]
    fn expected(&self, state: BlockState, expects_unknown: bool) -> Option<Version> {
        match state {
            BlockState::Known(version) => Some(Version::Is(version)),
            BlockState::AtLeast(version) => Some(Version::AtLeast(version)),
            BlockState::Trimmed => self.rules.trims_read_zero.then_some(Version::Zeroes),
            BlockState::Damaged => None,
            BlockState::Unknown => (self.rules.checks_unknown && expects_unknown).then_some(Version::Any),
        }
    }

    /// A trim came back; releases its blocks.
    pub fn trimmed(&self, offset: u64, bytes: u64, is_done: bool) {
        let (first, count) = self.blocks_of(offset, bytes);
        let after = if is_done { BlockState::Trimmed } else { BlockState::Unknown };
        (first..first.saturating_add(count)).for_each(|block| self.states.set(block, after));
        if let Some(times) = self.times.as_ref().filter(|_| is_done) {
            times.written(first..first.saturating_add(count));
        }
        self.forget((first, count), is_done);
        if let Some(journal) = &self.journal {
            journal.journal.trimmed(journal.target, (first, count), self.next_sequence(), is_done);
        }
        self.states.release(first, count);
    }

    /// A trim of taken blocks is about to be submitted. Waits for the journal, where there is one: after a crash nothing else says that
    /// the blocks may be empty.
    pub fn trimming(&self, offset: u64, bytes: u64) {
        if let Some(journal) = &self.journal {
            journal.journal.trim_begun(journal.target, self.blocks_of(offset, bytes), self.next_sequence());
        }
    }

    /// A flush is about to be submitted: what is written from here on belongs to the next epoch.
    pub fn flushing(&self) -> u32 {
        let epoch = self.next_epoch();
        if let Some(journal) = &self.journal {
            journal.journal.flush_begun(journal.target, epoch);
        }
        epoch
    }

    /// What is written from here on belongs to the next epoch; gives the one that ends.
    pub(crate) fn next_epoch(&self) -> u32 {
        self.epoch.fetch_add(1, Ordering::AcqRel)
    }

    /// It came back.
    pub fn flushed(&self, epoch: u32, is_done: bool) {
        if let Some(journal) = &self.journal {
            journal.journal.flush_ended(journal.target, epoch, is_done);
        }
    }

    /// So many reads before or behind writes.
    pub fn note_extra_read(&self) {
        self.counts.extra_reads.fetch_add(1, Ordering::Relaxed);
    }

    /// An operation had to wait for a busy block.
    pub fn note_deferred(&self) {
        self.counts.deferred.fetch_add(1, Ordering::Relaxed);
    }
}
