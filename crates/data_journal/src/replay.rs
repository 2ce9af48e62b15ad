//! What the records of a journal add up to.

use crate::floor::Floor;
use crate::header::{Crash, SegmentHeader, SessionHeader};
use crate::record::{Kind, Record};
use crate::trees::Trees;
use std::collections::{BTreeMap, HashMap};

/// Blocks whose floors lie side by side.
const CHUNK: u64 = 256;
/// So many chunks of which all blocks are alike take the room of one whose are not.
const SAME_CHUNKS: u64 = 64;

/// What is known of a block: its last operation that was done, and the last one that is durable.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    done: Floor,
    flushed: Floor,
    done_version: u16,
    flushed_version: u16,
}

/// What is known of the blocks of a chunk: mostly nothing else of one than of the others where large parts were trimmed, or all was written.
#[derive(Clone, Debug)]
enum Cells {
    Same(Cell),
    Each(Box<[Cell]>),
}

impl Cells {
    /// One for each block.
    fn split(&mut self) -> &mut [Cell] {
        if let Self::Same(cell) = self {
            *self = Self::Each([*cell; 256].into());
        }
        self.distinct()
    }

    /// One for each block, or one for all.
    fn distinct(&mut self) -> &mut [Cell] {
        match self {
            Self::Same(cell) => std::slice::from_mut(cell),
            Self::Each(cells) => cells,
        }
    }

    fn at(&self, within: u64) -> Cell {
        match self {
            Self::Same(cell) => *cell,
            Self::Each(cells) => usize::try_from(within).ok().and_then(|at| cells.get(at)).copied().unwrap_or_default(),
        }
    }
}

/// How many chunks of cells take half of this machine's memory: a journal may say anything.
fn chunks_max() -> usize {
    let info = rustix::system::sysinfo();
    let bytes = u64::from(info.mem_unit).saturating_mul(info.totalram) / 2;
    let chunks = bytes / (CHUNK * size_of::<Cell>() as u64);
    usize::try_from(chunks).unwrap_or(usize::MAX)
}

/// Places in the order of all records of a journal.
type Place = u64;

/// The first pass: which records an acknowledged flush has made durable.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// By device.
    targets: HashMap<u64, TargetCoverage>,
    place: Place,
}

#[derive(Debug, Default)]
struct TargetCoverage {
    /// Flushes under way: epoch, and the place of their submission.
    under_way: Vec<(u64, Place)>,
    /// Everything before is covered or never will be.
    barrier: Place,
    /// In order.
    covered: Vec<(Place, Place)>,
    /// The last epoch whose flush was acknowledged, of the newest session.
    acknowledged: Option<u32>,
}

impl Coverage {
    /// Another session begins.
    pub(crate) fn session(&mut self, header: &SessionHeader) {
        for target in self.targets.values_mut() {
            target.under_way.clear();
            target.acknowledged = None;
            if header.after == Some(Crash::PowerCut) {
                target.barrier = self.place;
            }
        }
    }

    /// Records are missing here. A flush that failed may be among them.
    pub(crate) fn gap(&mut self) {
        for target in self.targets.values_mut() {
            target.under_way.clear();
            target.barrier = self.place;
        }
    }

    pub(crate) fn record(&mut self, header: &SegmentHeader, record: &Record) {
        self.place += 1;
        let Some(target) = header.session.targets.get(usize::from(record.target)) else { return };
        let place = self.place;
        let coverage = self.targets.entry(target.device).or_default();
        match record.kind {
            Kind::FlushBegun => coverage.under_way.push((record.sequence, place)),
            Kind::FlushEnded => {
                let at = coverage.under_way.iter().position(|(epoch, _)| *epoch == record.sequence);
                let begun = at.map(|at| coverage.under_way.swap_remove(at).1);
                if !record.is_ok {
                    // The system may have thrown away what it could not write: no later flush speaks for it.
                    coverage.barrier = place;
                } else if let Some(begun) = begun.filter(|begun| *begun > coverage.barrier) {
                    coverage.covered.push((coverage.barrier, begun));
                    coverage.barrier = begun;
                    let epoch = u32::try_from(record.sequence).unwrap_or(u32::MAX);
                    coverage.acknowledged = coverage.acknowledged.max(Some(epoch));
                }
            }
            _ => {}
        }
    }
}

/// The second pass.
#[derive(Debug)]
pub(crate) struct Replay {
    coverage: Coverage,
    pub(crate) targets: BTreeMap<u64, TargetReplay>,
    pub(crate) trees: Trees,
    place: Place,
    /// Number of the session among those of the journal.
    session: u16,
    /// So many chunks more fit into memory.
    room: usize,
    /// There were more than fit.
    pub(crate) is_too_large: bool,
}

/// One target, known by its device.
#[derive(Debug)]
pub(crate) struct TargetReplay {
    pub(crate) name: String,
    pub(crate) size_bytes: u64,
    pub(crate) block_bytes: u64,
    /// Sessions that knew it had other blocks; what they say is not used.
    pub(crate) other_blocks: Option<u64>,
    pub(crate) is_synchronous: bool,
    cells: BTreeMap<u64, Cells>,
    /// Number of the next write when the checkpoint that is being read began.
    dump_sequence: u64,
    /// How many covered parts are over.
    covered_at: usize,
    pub(crate) acknowledged: Option<u32>,
    /// The last session that wrote or trimmed it.
    pub(crate) changed_in: Option<u16>,
}

impl TargetReplay {
    fn blocks(&self) -> u64 {
        self.size_bytes / self.block_bytes.max(1)
    }

    /// Changes the cells of blocks of which something is known, all alike. False: there is not enough room for cells of their own.
    fn known(&mut self, first: u64, count: u64, room: &mut usize, mut change: impl FnMut(&mut Cell)) -> bool {
        let end = first.saturating_add(count).min(self.blocks());
        if first >= end {
            return true;
        }
        for (chunk, cells) in self.cells.range_mut(first / CHUNK..=(end - 1) / CHUNK) {
            let start = *chunk * CHUNK;
            if first <= start && start + CHUNK <= end {
                cells.distinct().iter_mut().for_each(&mut change);
                continue;
            }
            if !take_room(cells, room) {
                return false;
            }
            let blocks = (start..).zip(cells.split().iter_mut());
            blocks.filter(|(block, _)| (first..end).contains(block)).for_each(|(_, cell)| change(cell));
        }
        true
    }

    /// Changes the cells of blocks that the target has, all alike; those that are not there yet are made where there is `room` for chunks of
    /// them. False: there is not enough.
    fn all(&mut self, first: u64, count: u64, room: &mut usize, mut change: impl FnMut(&mut Cell)) -> bool {
        let end = first.saturating_add(count).min(self.blocks());
        let (whole_first, whole_end) = (first.next_multiple_of(CHUNK), end / CHUNK * CHUNK);
        if whole_first >= whole_end {
            return self.each(first, count, room, |_, cell| change(cell));
        }
        let chunks = (whole_end - whole_first) / CHUNK;
        if chunks > *room as u64 {
            return false;
        }
        for chunk in whole_first / CHUNK..whole_end / CHUNK {
            let cells = self.cells.entry(chunk).or_insert(Cells::Same(Cell::default()));
            cells.distinct().iter_mut().for_each(&mut change);
        }
        *room -= usize::try_from(chunks / SAME_CHUNKS).unwrap_or(usize::MAX).min(*room);
        self.each(first, whole_first - first, room, |_, cell| change(cell))
            && self.each(whole_end, end - whole_end, room, |_, cell| change(cell))
    }

    /// Changes the cells of blocks that the target has, each in its own way, as [`Self::all`].
    fn each(&mut self, first: u64, count: u64, room: &mut usize, mut change: impl FnMut(u64, &mut Cell)) -> bool {
        let end = first.saturating_add(count).min(self.blocks());
        if end.saturating_sub(first) / CHUNK > *room as u64 {
            return false;
        }
        let mut block = first;
        while block < end {
            let chunk = block / CHUNK;
            let of_chunk = end.min((chunk + 1) * CHUNK);
            let cells = self.cells.entry(chunk).or_insert(Cells::Same(Cell::default()));
            if !take_room(cells, room) {
                return false;
            }
            let cells = cells.split();
            for block in block..of_chunk {
                let within = usize::try_from(block % CHUNK).unwrap_or(usize::MAX);
                if let Some(cell) = cells.get_mut(within) {
                    change(block, cell);
                }
            }
            block = of_chunk;
        }
        true
    }
}

/// Takes the room that cells of their own need; false: there is none.
fn take_room(cells: &Cells, room: &mut usize) -> bool {
    let needs = usize::from(matches!(cells, Cells::Same(_)));
    let is_there = *room >= needs;
    *room -= needs.min(*room);
    is_there
}

impl Replay {
    pub(crate) fn new(coverage: Coverage) -> Self {
        Self {
            coverage,
            targets: BTreeMap::new(),
            trees: Trees::default(),
            place: 0,
            session: 0,
            room: chunks_max(),
            is_too_large: false,
        }
    }

    /// Another session begins, after the ones before ended as its header says.
    pub(crate) fn session(&mut self, number: u16, header: &SessionHeader) {
        if header.after == Some(Crash::PowerCut) {
            self.power_cut();
        }
        self.session = number;
        self.trees.session(number, header);
        for target in header.targets.iter().filter(|target| target.tree.is_none()) {
            let new = || TargetReplay {
                name: target.name.clone(),
                size_bytes: target.size_bytes,
                block_bytes: target.block_bytes,
                other_blocks: None,
                is_synchronous: false,
                cells: BTreeMap::new(),
                dump_sequence: 0,
                covered_at: 0,
                acknowledged: None,
                changed_in: None,
            };
            let known = self.targets.entry(target.device).or_insert_with(new);
            if known.block_bytes != target.block_bytes {
                known.other_blocks = Some(known.block_bytes);
                known.cells.clear();
            }
            known.size_bytes = target.size_bytes;
            known.block_bytes = target.block_bytes;
            known.is_synchronous = target.is_synchronous;
        }
    }

    /// What was not flushed is not promised any more.
    fn power_cut(&mut self) {
        for target in self.targets.values_mut() {
            for cell in target.cells.values_mut().flat_map(Cells::distinct) {
                cell.done = cell.flushed;
                cell.done_version = cell.flushed_version;
            }
        }
    }

    /// Nothing is known any more: a session wrote of which nothing is known.
    pub(crate) fn forget(&mut self) {
        self.trees.forget();
        self.targets.values_mut().for_each(|target| target.cells.clear());
    }

    /// Records are missing: blocks may have been trimmed in between.
    pub(crate) fn gap(&mut self, header: &SessionHeader) {
        self.trees.gap(header);
        for target in header.targets.iter().filter(|target| target.is_trimmed) {
            let Some(known) = self.targets.get_mut(&target.device) else { continue };
            for cell in known.cells.values_mut().flat_map(Cells::distinct) {
                cell.done.may_be_zero();
                cell.flushed.may_be_zero();
            }
        }
    }

    pub(crate) fn record(&mut self, header: &SegmentHeader, record: &Record, states: &[u8]) {
        self.place += 1;
        let (place, session) = (self.place, self.session);
        let Some(of_header) = header.session.targets.get(usize::from(record.target)) else { return };
        if of_header.tree.is_some() {
            self.trees.record(header, record, states);
            return;
        }
        let coverage = self.coverage.targets.get(&of_header.device);
        let Some(target) = self.targets.get_mut(&of_header.device) else { return };
        let covered = coverage.map_or(&[][..], |coverage| &coverage.covered);
        while covered.get(target.covered_at).is_some_and(|(_, to)| *to < place) {
            target.covered_at += 1;
        }
        let is_covered = target.is_synchronous
            || covered.get(target.covered_at).is_some_and(|(from, to)| *from < place && place < *to);
        if record.kind.changes() {
            target.changed_in = Some(session);
        }
        let (first, count) = (record.first, u64::from(record.count));
        let set = |cell: &mut Cell, floor: Floor, version: u16| {
            (cell.done, cell.done_version) = (floor, version);
            if is_covered {
                (cell.flushed, cell.flushed_version) = (floor, version);
            }
        };
        let room = &mut self.room;
        let fits = match record.kind {
            Kind::Done => {
                let floor = Floor::write(session, record.sequence);
                target.all(first, count, room, |cell| set(cell, floor, record.version))
            }
            Kind::Failed => target.known(first, count, room, |cell| {
                cell.done.is_followed();
                cell.flushed.is_followed();
            }),
            Kind::TrimBegun => target.known(first, count, room, |cell| {
                cell.done.may_be_zero();
                cell.flushed.may_be_zero();
            }),
            Kind::Trimmed if record.is_ok => {
                let floor = Floor::trim(session, record.sequence);
                target.all(first, count, room, |cell| set(cell, floor, 0))
            }
            Kind::Same => {
                target.dump_sequence = record.sequence;
                Floor::of_state(record.version, session, record.sequence)
                    .is_none_or(|(floor, version)| target.all(first, count, room, |cell| set(cell, floor, version)))
            }
            Kind::Packed => {
                let (states, _) = states.as_chunks::<2>();
                let sequence = target.dump_sequence;
                target.each(first, count, room, |block, cell| {
                    let at = usize::try_from(block - first).unwrap_or(usize::MAX);
                    let state = states.get(at).map_or(0, |state| u16::from_le_bytes(*state));
                    if let Some((floor, version)) = Floor::of_state(state, session, sequence) {
                        set(cell, floor, version);
                    }
                })
            }
            _ => true,
        };
        self.is_too_large |= !fits;
    }

    /// All is read.
    pub(crate) fn finish(&mut self) {
        for (device, target) in &mut self.targets {
            target.acknowledged = self.coverage.targets.get(device).and_then(|coverage| coverage.acknowledged);
        }
    }
}

impl TargetReplay {
    /// One behind the last block of which something is known.
    pub(crate) fn end(&self) -> u64 {
        let is_known = |cell: &Cell| cell.done.is_some() || cell.flushed.is_some();
        let within = |cells: &Cells| (0..CHUNK).rev().find(|within| is_known(&cells.at(*within)));
        let last = self.cells.iter().rev().find_map(|(chunk, cells)| Some(chunk * CHUNK + within(cells)? + 1));
        last.unwrap_or(0)
    }

    /// Blocks that were written and of which nothing must be there after a crash of this kind: no flush covered them.
    pub(crate) fn unpromised(&self, crash: Crash) -> u64 {
        if crash != Crash::PowerCut {
            return 0;
        }
        let is_lost = |cell: &Cell| cell.done.is_some() && !cell.flushed.is_some();
        let lost = |cells: &Cells| (0..CHUNK).filter(|within| is_lost(&cells.at(*within))).count() as u64;
        self.cells.values().map(lost).sum()
    }

    /// Every block of which something is known after a crash of this kind, with what must be found there.
    pub(crate) fn floors(&self, crash: Crash) -> impl Iterator<Item = (u64, Floor, u16)> {
        let cells = self.cells.iter().flat_map(|(chunk, cells)| {
            let start = chunk * CHUNK;
            (0..CHUNK).map(move |within| (start + within, cells.at(within)))
        });
        cells.filter_map(move |(block, cell)| {
            let is_flushed = cell.done.is_same_operation(cell.flushed);
            let (mut floor, version) = match crash {
                Crash::ProcessDied => (cell.done, cell.done_version),
                Crash::PowerCut => (cell.flushed, cell.flushed_version),
            };
            if !floor.is_some() {
                return None;
            }
            if is_flushed || crash == Crash::PowerCut {
                floor.set_flushed();
            }
            if !is_flushed && crash == Crash::PowerCut {
                // What was done behind it may be there.
                floor.is_followed();
            }
            Some((block, floor, version))
        })
    }
}
