//! A directory tree: which files must be there, how large they are, and what their blocks must be.
//!
//! Each file is a target of its own in the stamps: the device is that of its path, addresses are those in the file. So a file says by itself
//! whose data it holds. A file that is moved keeps its data, and with it the name in its stamps.

use crate::extent::Extent;
use crate::files::FilePromise;
use crate::journal::TargetJournal;
use crate::reports::{FoundBy, Reports};
use crate::rules::TargetRules;
use crate::states::BlockState;
use crate::target::{ReadOutcome, TargetValidation, WriteHold, device_id};
use data_journal::Crash;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The files of a tree.
pub trait FileNames: Debug + Send + Sync {
    /// How many there are.
    fn files(&self) -> u32;
    /// How large a file is to be, bytes.
    fn bytes(&self, file: u32) -> u64;
    /// The path by which a file is known, from the root, without links above it.
    fn path(&self, file: u32) -> String;
    /// The number of the directory in which it is, or would be.
    fn directory(&self, file: u32) -> u32;
    /// What its files and directories are, so that two trees that are alike have the same.
    fn layout(&self) -> String;
    /// Looks at a file: its length; `None`: it is not there.
    ///
    /// # Errors
    /// That cannot be found out, or no regular file stands there.
    fn look(&self, file: u32) -> std::io::Result<Option<u64>>;
    /// Makes everything durable that the file system has of the tree.
    ///
    /// # Errors
    /// Something may not be; `Unsupported`: the system cannot tell whether it is.
    fn sync_all(&self) -> std::io::Result<()>;
    /// Is it a file system that makes the name of a file durable, and the directories above it, when the file is synced?
    fn syncs_names(&self) -> bool;
}

/// What must be there of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMust {
    /// Nothing is known of it.
    Unknown,
    /// It does not exist.
    Gone,
    /// It exists and has so many bytes; `None`: its size is not known.
    There(Option<u64>),
}

const GONE: u64 = 1 << 62;
const THERE: u64 = 1 << 63;
const SIZED: u64 = 1 << 61;
/// A journal has something of its name.
const USED: u64 = 1 << 60;
/// Something is about to be done to its name or length.
const PENDING: u64 = 1 << 59;
const BYTES: u64 = (1 << 48) - 1;

impl FileMust {
    fn of(word: u64) -> Self {
        match word {
            word if word & THERE != 0 => Self::There((word & SIZED != 0).then_some(word & BYTES)),
            word if word & GONE != 0 => Self::Gone,
            _ => Self::Unknown,
        }
    }

    fn word(self) -> u64 {
        match self {
            Self::Unknown => 0,
            Self::Gone => GONE,
            Self::There(None) => THERE,
            Self::There(Some(bytes)) => THERE | SIZED | (bytes & BYTES),
        }
    }
}

/// Number of the first block of each file.
#[derive(Debug)]
enum Firsts {
    /// All files have so many.
    Alike(u64),
    /// … and the end of the last one.
    Each(Box<[u64]>),
}

impl Firsts {
    fn new(names: &dyn FileNames, block_bytes: u64) -> Self {
        let blocks = |file| names.bytes(file).div_ceil(block_bytes);
        let first = blocks(0);
        if (0..names.files()).all(|file| blocks(file) == first) {
            return Self::Alike(first);
        }
        let mut sum = 0_u64;
        let starts = (0..names.files()).map(|file| {
            let start = sum;
            sum += blocks(file);
            start
        });
        let mut all: Vec<u64> = starts.collect();
        all.push(sum);
        Self::Each(all.into())
    }

    /// First block and number of blocks of a file.
    #[inline]
    fn of(&self, file: u32) -> (u64, u64) {
        match self {
            Self::Alike(each) => (u64::from(file) * each, *each),
            Self::Each(starts) => {
                let at = |at: usize| starts.get(at).copied().unwrap_or(0);
                let first = at(file as usize);
                (first, at(file as usize + 1).saturating_sub(first))
            }
        }
    }
}

impl Firsts {
    /// Blocks of the longest file.
    fn longest(&self) -> u64 {
        match self {
            Self::Alike(each) => *each,
            Self::Each(starts) => starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0),
        }
    }

    /// The file that has a block, and the block's number in it.
    fn place(&self, block: u64) -> (u32, u64) {
        let file = match self {
            Self::Alike(each) => block / (*each).max(1),
            Self::Each(starts) => starts.partition_point(|start| *start <= block).saturating_sub(1) as u64,
        };
        let file = u32::try_from(file).unwrap_or(u32::MAX);
        (file, block.saturating_sub(self.of(file).0))
    }
}

/// The validation of a tree; files are known by their numbers. The blocks of an operation are its caller's from [`take`](Self::take) to
/// [`written`](Self::written) or [`release`](Self::release). What happens to a whole file happens in one thread at a time.
#[derive(Debug)]
pub struct TreeValidation {
    cells: Arc<TargetValidation>,
    names: Box<dyn FileNames>,
    firsts: Firsts,
    /// By file: the device in the stamps of its data; 0: that of its own path, which was not asked for yet.
    devices: Box<[AtomicU64]>,
    /// By file: what must be there.
    files: Box<[AtomicU64]>,
    swept_files: AtomicU64,
    /// Where what is done is written down.
    journal: Option<TargetJournal>,
    /// What a journal says of an earlier session, until it was looked at.
    promises: Mutex<Option<(Crash, HashMap<u32, FilePromise>)>>,
}

/// Bytes that a file needs besides those of its blocks.
pub const FILE_STATE_BYTES: u64 = 16;

impl TreeValidation {
    /// Of a tree of which nothing is known yet. Device and size of the rules say nothing.
    #[must_use]
    pub fn new(rules: TargetRules, names: Box<dyn FileNames>, reports: Arc<Reports>) -> Self {
        let firsts = Firsts::new(&*names, rules.block_bytes);
        let (last, blocks) = names.files().checked_sub(1).map_or((0, 0), |last| firsts.of(last));
        let rules = TargetRules { size_bytes: (last + blocks).saturating_mul(rules.block_bytes), ..rules };
        let zeroes = || (0..names.files()).map(|_| AtomicU64::new(0)).collect();
        let (devices, files) = (zeroes(), zeroes());
        let cells = Arc::new(TargetValidation::new(rules, reports));
        let swept_files = AtomicU64::new(0);
        Self { cells, firsts, devices, files, names, swept_files, journal: None, promises: Mutex::new(None) }
    }

    /// All its blocks, file behind file.
    #[must_use]
    pub fn cells(&self) -> &Arc<TargetValidation> {
        &self.cells
    }

    /// How many files it has.
    #[must_use]
    pub fn file_count(&self) -> u32 {
        self.names.files()
    }

    /// The path of a file.
    #[must_use]
    pub fn path(&self, file: u32) -> String {
        self.names.path(file)
    }

    /// The device in the stamps of a file's data.
    #[must_use]
    #[inline]
    pub fn device(&self, file: u32) -> u64 {
        let Some(known) = self.devices.get(file as usize) else { return 0 };
        match known.load(Ordering::Acquire) {
            0 => {
                let device = device_id(&self.path(file));
                known.store(device, Ordering::Release);
                device
            }
            device => device,
        }
    }

    #[inline]
    fn extent(&self, file: u32) -> Extent {
        let (first, blocks) = self.firsts.of(file);
        Extent { file: Some(file), device: self.device(file), first, blocks }
    }

    /// Takes the blocks of an operation; false: one of them is another operation's.
    #[must_use]
    #[inline]
    pub fn take(&self, file: u32, (offset, bytes): (u64, u64)) -> bool {
        self.cells.take_in(&self.extent(file), offset, bytes)
    }

    /// Gives the blocks of a read, or of an operation that was not begun, back.
    #[inline]
    pub fn release(&self, file: u32, (offset, bytes): (u64, u64)) {
        self.cells.release_in(&self.extent(file), offset, bytes);
    }

    /// Fills the buffer of a write to taken blocks.
    #[inline]
    pub fn stamp(&self, file: u32, offset: u64, buffer: &mut [u8], writer: u16) -> WriteHold {
        self.cells.stamp_in(&self.extent(file), offset, buffer, writer)
    }

    /// A write came back, which may have made its file longer; its blocks stay taken. Where it failed, the file's size is not known.
    #[inline]
    pub fn wrote(&self, file: u32, place: (u64, u64), hold: WriteHold, is_done: bool) {
        let extent = self.extent(file);
        self.cells.wrote_in(&extent, place, hold, is_done);
        let Some(word) = self.files.get(file as usize) else { return };
        let end = place.0.saturating_add(place.1);
        let longer = |word: u64| match FileMust::of(word) {
            FileMust::There(Some(bytes)) if is_done => (end > bytes).then(|| FileMust::There(Some(end)).word()),
            FileMust::There(Some(bytes)) => (end > bytes).then(|| FileMust::There(None).word()),
            _ => None,
        };
        let longer = |word: u64| longer(word).map(|longer| longer | (word & (USED | PENDING)));
        let before = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, longer);
        if let Ok(before) = before.map(FileMust::of)
            && let FileMust::There(Some(bytes)) = before
            && is_done
        {
            self.gap(&extent, bytes, place.0);
        }
        let (Ok(before) | Err(before)) = before;
        let is_grown = is_done && !matches!(FileMust::of(before), FileMust::There(Some(bytes)) if bytes >= end);
        let block_bytes = self.cells.rules().block_bytes;
        if !end.is_multiple_of(block_bytes)
            && self.must_end(file) != end
            && let Some(block) = extent.block(end / block_bytes)
        {
            // The file may go on behind it, with what is not known.
            self.cells.states().set(block, BlockState::Unknown);
        }
        // Before the blocks are released, so that records of one block have the order of its writes.
        self.write_down((file, &extent), place, hold, (is_done, is_grown.then_some(end)));
    }

    /// What lies between the end of a file and a write behind it reads as zeroes.
    fn gap(&self, extent: &Extent, from: u64, to: u64) {
        let block_bytes = self.cells.rules().block_bytes;
        if !from.is_multiple_of(block_bytes) && from < to {
            // The end of a block that was written as far as the file went.
            if let Some(block) = extent.block(from / block_bytes) {
                self.cells.states().set(block, BlockState::Unknown);
                self.cells.forget((block, 1), true);
            }
        }
        let first = from.div_ceil(block_bytes);
        for at in first..(to / block_bytes).min(extent.blocks).max(first) {
            if let Some(block) = extent.block(at) {
                self.cells.states().set_if_unknown(block, BlockState::Trimmed);
            }
        }
    }

    /// As [`wrote`](Self::wrote), and its blocks are released.
    #[inline]
    pub fn written(&self, file: u32, place: (u64, u64), hold: WriteHold, is_done: bool) {
        self.wrote(file, place, hold, is_done);
        self.release(file, place);
    }

    /// Is anything known of one of these blocks?
    #[must_use]
    pub fn knows(&self, file: u32, (offset, bytes): (u64, u64)) -> bool {
        let (first, count) = self.extent(file).blocks_of(self.cells.rules().block_bytes, offset, bytes);
        (first..first + count).any(|block| self.cells.states().get(block) != BlockState::Unknown)
    }

    /// Checks what was read of taken blocks.
    #[must_use]
    #[inline]
    pub fn check(&self, file: u32, offset: u64, buffer: &[u8]) -> ReadOutcome {
        self.cells.check_in(&self.extent(file), offset, buffer, true)
    }

    /// Reports every damaged block of taken ones, of which `first` was read first and `again` when they were read again. Gives how many
    /// there are.
    #[cold]
    pub fn report(&self, file: u32, offset: u64, (first, again): (&[u8], Option<&[u8]>), found_by: FoundBy) -> u64 {
        self.cells.report_in(&self.extent(file), offset, (first, again), (found_by, true))
    }

    /// Blocks were read in the pass over everything that was written.
    pub fn note_swept(&self, file: u32, (offset, bytes): (u64, u64)) {
        let (first, count) = self.extent(file).blocks_of(self.cells.rules().block_bytes, offset, bytes);
        let is_known = |block: &u64| self.cells.states().get(*block) != BlockState::Unknown;
        self.cells.note_swept_blocks((first..first + count).filter(is_known).count() as u64);
    }

    /// The version that a block has, where nothing wrong was found in it.
    pub(crate) fn right_version(&self, file: u32, address: u64) -> Option<u16> {
        let block = self.extent(file).block(address / self.cells.rules().block_bytes)?;
        self.cells.right_version_of(block)
    }
}

mod journaled;
mod whole;
pub(crate) use journaled::TreeSource;
#[cfg(test)]
mod tests;
