//! What a file must hold.

use crate::floor::Floor;
use std::collections::BTreeMap;

/// Places in the order of all records of a journal.
pub(crate) type Place = u64;

/// What a file holds at least: its length, and of each block the oldest operation whose effect may be found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    pub(crate) bytes_min: u64,
    /// Of blocks that are not among the cells: as the file was made. `None`: nothing is known of them.
    rest: Option<Floor>,
    cells: BTreeMap<u64, (Floor, u16)>,
}

/// Something that was done to a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// Blocks were written, or a checkpoint has their state.
    Wrote { first: u64, count: u64, floor: Floor, version: u16 },
    /// A write failed: it may be there, or parts of it.
    Failed { first: u64, count: u64 },
    /// It is at least this long.
    Grown(u64),
    /// It may get this length.
    Resizing(u64),
    /// It has this length; what was cut off is gone. With the number that the next write has at least.
    Resized { bytes: u64, floor: Floor },
}

impl Content {
    /// Of a file that was just made.
    pub(crate) fn made(floor: Floor) -> Self {
        Self { bytes_min: 0, rest: Some(floor), cells: BTreeMap::new() }
    }

    /// What must be found in a block; `None`: nothing is known.
    pub(crate) fn get(&self, block: u64) -> Option<(Floor, u16)> {
        let rest = || self.rest.map(|floor| (floor, 0));
        self.cells.get(&block).copied().or_else(rest).filter(|(floor, _)| floor.is_some())
    }

    /// It was done, or is durable now.
    pub(crate) fn apply(&mut self, change: Change, block_bytes: u64) {
        match change {
            Change::Wrote { first, count, floor, version } => {
                for block in first..first.saturating_add(count) {
                    self.cells.insert(block, (floor, version));
                }
            }
            Change::Failed { first, count } => {
                for block in first..first.saturating_add(count) {
                    if let Some((mut floor, version)) = self.get(block) {
                        floor.is_followed();
                        self.cells.insert(block, (floor, version));
                    }
                }
            }
            Change::Grown(bytes) => self.bytes_min = self.bytes_min.max(bytes),
            Change::Resizing(bytes) => self.resizing(bytes, block_bytes),
            Change::Resized { bytes, floor } => {
                self.forget_edge(bytes, block_bytes);
                self.bytes_min = bytes;
                let behind = bytes.div_ceil(block_bytes);
                for cell in self.cells.range_mut(behind..).map(|(_, cell)| cell) {
                    *cell = (floor, 0);
                }
            }
        }
    }

    /// It may have been done, and nothing will ever say whether it was.
    pub(crate) fn loosen(&mut self, change: Change, block_bytes: u64) {
        match change {
            Change::Resizing(bytes) | Change::Resized { bytes, .. } => self.resizing(bytes, block_bytes),
            Change::Failed { .. } => self.apply(change, block_bytes),
            // What is there may always be newer.
            Change::Wrote { .. } | Change::Grown(_) => {}
        }
    }

    fn resizing(&mut self, bytes: u64, block_bytes: u64) {
        self.forget_edge(bytes, block_bytes);
        self.bytes_min = self.bytes_min.min(bytes);
        for (floor, _) in self.cells.range_mut(bytes / block_bytes..).map(|(_, cell)| cell) {
            floor.may_be_zero();
        }
    }

    /// A block of which only a part is cut off may hold any mixture.
    fn forget_edge(&mut self, bytes: u64, block_bytes: u64) {
        if !bytes.is_multiple_of(block_bytes) {
            self.cells.insert(bytes / block_bytes, (Floor::default(), 0));
        }
    }
}

/// A file, whatever its names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inode {
    /// As a sync has left it.
    pub(crate) durable: Content,
    /// As it is while its machine runs.
    pub(crate) now: Content,
    /// What was done since, in order.
    pending: Vec<(Place, Change)>,
    /// The file itself was synced since it was made.
    pub(crate) is_synced: bool,
    /// A session, and one more than the highest number of its writes to the file.
    next_sequence: (usize, u64),
    /// The device in its stamps; `None`: that of the name under which it was made or found.
    pub(crate) device: Option<u64>,
    /// A sync of it failed: what is found of it while its machine runs may not be on the device, and no sync brings it there.
    has_lost: bool,
}

impl Inode {
    /// Of a file that was just made.
    pub(crate) fn made(floor: Floor) -> Self {
        let next_sequence = (floor.session(), floor.sequence());
        Self { durable: Content::made(floor), now: Content::made(floor), next_sequence, ..Self::default() }
    }

    /// Of a file of which nothing is known but its stamps.
    pub(crate) fn unknown(device: Option<u64>) -> Self {
        Self { device, ..Self::default() }
    }

    /// Nothing is known of it any more.
    pub(crate) fn forget(&mut self) {
        (self.durable, self.now) = (Content::default(), Content::default());
        self.pending.clear();
    }

    /// Its blocks have another length from now on.
    pub(crate) fn forget_blocks(&mut self) {
        for content in [&mut self.durable, &mut self.now] {
            *content = Content { bytes_min: content.bytes_min, ..Content::default() };
        }
        self.pending.retain(|(_, change)| !matches!(change, Change::Wrote { .. } | Change::Failed { .. }));
    }

    /// A write was done to it.
    pub(crate) fn wrote(&mut self, floor: Floor) {
        // That of a checkpoint is the number of the next one.
        let next = (floor.session(), floor.sequence() + u64::from(!floor.is_of_checkpoint()));
        self.next_sequence = self.next_sequence.max(next);
    }

    /// The number that the next write of a session to it has at least.
    pub(crate) fn next_sequence(&self, session: usize) -> u64 {
        if self.next_sequence.0 == session { self.next_sequence.1 } else { 0 }
    }

    pub(crate) fn change(&mut self, place: Place, change: Change, block_bytes: u64, is_durable: bool) {
        self.now.apply(change, block_bytes);
        match is_durable && self.pending.is_empty() {
            true => self.durable.apply(change, block_bytes),
            false => self.pending.push((place, change)),
        }
    }

    /// A sync that was submitted at this place was acknowledged.
    pub(crate) fn cover(&mut self, submitted: Place, block_bytes: u64) {
        let covered = self.pending.partition_point(|(place, _)| *place < submitted);
        for (_, change) in self.pending.drain(..covered) {
            self.durable.apply(change, block_bytes);
        }
        self.is_synced = true;
    }

    /// It was found so long; `is_on_device`: behind a power cut.
    pub(crate) fn found(&mut self, place: Place, bytes: u64, block_bytes: u64, is_on_device: bool) {
        self.has_lost &= !is_on_device;
        match self.has_lost {
            true => self.now.apply(Change::Grown(bytes), block_bytes),
            false => self.change(place, Change::Grown(bytes), block_bytes, is_on_device),
        }
    }

    /// A sync failed: no later one speaks for what was done up to now.
    pub(crate) fn sync_failed(&mut self, block_bytes: u64) {
        self.has_lost = true;
        self.loosen(block_bytes);
    }

    fn loosen(&mut self, block_bytes: u64) {
        for (_, change) in std::mem::take(&mut self.pending) {
            self.durable.loosen(change, block_bytes);
        }
    }

    /// After a power cut: what must be there, and whether nothing behind it may be.
    pub(crate) fn after_power_cut(&self, block_bytes: u64) -> (Content, bool) {
        let mut content = self.durable.clone();
        self.pending.iter().for_each(|(_, change)| content.loosen(*change, block_bytes));
        (content, self.pending.is_empty())
    }

    /// The machine was started again.
    pub(crate) fn power_cut(&mut self, block_bytes: u64) {
        self.loosen(block_bytes);
        self.now = self.durable.clone();
    }
}
