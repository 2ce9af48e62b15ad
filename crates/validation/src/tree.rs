//! A directory tree: which files must be there, how large they are, and what their blocks must be.
//!
//! Each file is a target of its own in the stamps: the device is that of its path, addresses are those in the file. So a file says by itself
//! whose data it holds. A file that is moved keeps its data, and with it the name in its stamps.

use crate::extent::Extent;
use crate::reports::{Damage, FoundBy, Reports};
use crate::rules::TargetRules;
use crate::states::BlockState;
use crate::target::{ReadOutcome, TargetValidation, WriteHold, device_id};
use crate::times::KnownTimes;
use quantity::clock;
use stamp::{BlockFinding, DamageClass, MustBe, Version};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The files of a tree.
pub trait FileNames: Debug + Send + Sync {
    /// How many there are.
    fn files(&self) -> u32;
    /// How large a file is to be, bytes.
    fn bytes(&self, file: u32) -> u64;
    /// The path by which a file is known, from the root, without links above it.
    fn path(&self, file: u32) -> String;
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
        Self { cells, firsts, devices, files, names, swept_files: AtomicU64::new(0) }
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
        let before = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, longer);
        if let Ok(before) = before.map(FileMust::of)
            && let FileMust::There(Some(bytes)) = before
            && is_done
        {
            self.gap(&extent, bytes, place.0);
        }
        let block_bytes = self.cells.rules().block_bytes;
        if !end.is_multiple_of(block_bytes)
            && self.must_end(file) != end
            && let Some(block) = extent.block(end / block_bytes)
        {
            // The file may go on behind it, with what is not known.
            self.cells.states().set(block, BlockState::Unknown);
        }
    }

    /// What lies between the end of a file and a write behind it reads as zeroes.
    fn gap(&self, extent: &Extent, from: u64, to: u64) {
        let block_bytes = self.cells.rules().block_bytes;
        if !from.is_multiple_of(block_bytes) && from < to {
            // The end of a block that was written as far as the file went.
            if let Some(block) = extent.block(from / block_bytes) {
                self.cells.states().set(block, BlockState::Unknown);
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

/// What happens to whole files.
impl TreeValidation {
    /// What must be there of a file.
    #[must_use]
    pub fn must(&self, file: u32) -> FileMust {
        self.files.get(file as usize).map_or(FileMust::Unknown, |word| FileMust::of(word.load(Ordering::Acquire)))
    }

    /// Where a file must end; 0 where that is not known.
    #[must_use]
    pub fn must_end(&self, file: u32) -> u64 {
        match self.must(file) {
            FileMust::There(Some(bytes)) => bytes,
            _ => 0,
        }
    }

    fn set_must(&self, file: u32, must: FileMust) {
        if let Some(word) = self.files.get(file as usize) {
            word.store(must.word(), Ordering::Release);
        }
    }

    /// Nothing of a file's data is known from this byte on.
    fn forget_from(&self, file: u32, bytes: u64) {
        let extent = self.extent(file);
        let first = bytes.div_ceil(self.cells.rules().block_bytes);
        let blocks = (first..extent.blocks).filter_map(|at| extent.block(at));
        blocks.for_each(|block| self.cells.states().set(block, BlockState::Unknown));
    }

    /// Its data are of its own name from now on.
    fn own_device(&self, file: u32) {
        if let Some(device) = self.devices.get(file as usize) {
            device.store(0, Ordering::Release);
        }
    }

    /// A file is about to be made.
    pub fn making(&self, _file: u32) {}

    /// It was made, and is empty; or that failed, and nothing is known of it.
    pub fn made(&self, file: u32, is_done: bool) {
        self.forget_from(file, 0);
        self.own_device(file);
        self.set_must(file, if is_done { FileMust::There(Some(0)) } else { FileMust::Unknown });
    }

    /// A file was found to be there; its size is not known where nothing was.
    pub fn exists(&self, file: u32) {
        let there = FileMust::There(None).word();
        if let Some(word) = self.files.get(file as usize) {
            let _ = word.compare_exchange(FileMust::Unknown.word(), there, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// A file is about to be removed.
    pub fn removing(&self, _file: u32) {}

    /// It was removed; or that failed, and nothing is known of it.
    pub fn removed(&self, file: u32, is_done: bool) {
        self.forget_from(file, 0);
        self.own_device(file);
        self.set_must(file, if is_done { FileMust::Gone } else { FileMust::Unknown });
    }

    /// A file is about to be moved to the same place of another tree, where none is.
    pub fn renaming(&self, _file: u32, _to: &Self) {}

    /// It was moved, with its data; or that failed, and nothing is known of both.
    pub fn renamed(&self, file: u32, to: &Self, is_done: bool) {
        let (from, into) = (self.extent(file), to.extent(file));
        to.forget_from(file, 0);
        if is_done {
            let block_bytes = (self.cells.rules().block_bytes, to.cells.rules().block_bytes);
            let is_alike = block_bytes.0 == block_bytes.1;
            for at in 0..if is_alike { from.blocks.min(into.blocks) } else { 0 } {
                if let (Some(old), Some(new)) = (from.block(at), into.block(at)) {
                    to.cells.states().set(new, self.cells.states().get(old));
                }
            }
            if let Some(device) = to.devices.get(file as usize) {
                device.store(from.device, Ordering::Release);
            }
            to.set_must(file, self.must(file));
        } else {
            to.own_device(file);
            to.set_must(file, FileMust::Unknown);
        }
        self.removed(file, is_done);
    }

    /// A file's size was set; what was added reads as zeroes.
    pub fn resized(&self, file: u32, bytes: u64, is_done: bool) {
        let before = self.must(file);
        if !is_done {
            self.set_must(file, FileMust::There(None));
            return;
        }
        let block_bytes = self.cells.rules().block_bytes;
        if let FileMust::There(Some(old)) = before
            && old < bytes
        {
            self.gap(&self.extent(file), old, bytes.next_multiple_of(block_bytes));
        } else {
            self.forget_from(file, bytes);
        }
        self.set_must(file, FileMust::There(Some(bytes)));
    }

    /// A file is about to be made durable.
    pub fn syncing(&self, _file: u32) -> u32 {
        0
    }

    /// It is durable, or that failed.
    pub fn synced(&self, _file: u32, _epoch: u32, _is_done: bool) {}

    /// A file was found with this size. Where it has to have another one, that is reported, and the size is taken for what it has to be
    /// from now on. Gives the number of reports.
    pub fn found(&self, file: u32, bytes: u64, found_by: FoundBy) -> u64 {
        let said = format!("{bytes} bytes");
        let count = match self.must(file) {
            FileMust::There(Some(must)) if must == bytes => return 0,
            FileMust::There(Some(must)) => {
                let must = format!("{must} bytes");
                self.add(file, DamageClass::WrongSize, [must, said], found_by)
            }
            FileMust::Gone => {
                let words = ["no file: it was deleted".to_string(), format!("a file of {said}")];
                self.add(file, DamageClass::DeletedFile, words, found_by)
            }
            FileMust::Unknown | FileMust::There(None) => 0,
        };
        self.forget_from(file, bytes);
        self.set_must(file, FileMust::There(Some(bytes)));
        count
    }

    /// A file was not found. Where it has to be there, that is reported; from now on it does not have to be. Gives the number of reports.
    pub fn lacking(&self, file: u32, found_by: FoundBy) -> u64 {
        let must = self.must(file);
        self.forget_from(file, 0);
        self.set_must(file, FileMust::Gone);
        let FileMust::There(bytes) = must else { return 0 };
        let must = bytes.map_or("a file".to_string(), |bytes| format!("a file of {bytes} bytes"));
        self.add(file, DamageClass::MissingFile, [must, "no file".to_string()], found_by)
    }

    fn add(&self, file: u32, class: DamageClass, words: [String; 2], found_by: FoundBy) -> u64 {
        let (rules, version) = (self.cells.rules(), Version::Any);
        let must = MustBe { device: self.device(file), run: rules.runs.first().copied(), address: 0, version };
        self.cells.reports().add(Damage {
            t_ns: clock::now_ns(),
            target: rules.target,
            file: Some(file),
            address: 0,
            found_by,
            expected: version,
            finding: BlockFinding::of_file(class, must),
            read: Vec::new(),
            words: Some(Box::new(words)),
            known: KnownTimes::default(),
        });
        self.cells.note_damaged(1);
        1
    }

    /// A file was looked at in the pass over everything that was written.
    pub fn note_swept_file(&self) {
        self.swept_files.fetch_add(1, Ordering::Relaxed);
    }

    /// Files that were looked at in such passes.
    #[must_use]
    pub fn swept_files(&self) -> u64 {
        self.swept_files.load(Ordering::Relaxed)
    }

    /// Files of which something is known.
    #[must_use]
    pub fn known_files(&self) -> u64 {
        self.files.iter().filter(|word| word.load(Ordering::Relaxed) != 0).count() as u64
    }
}

#[cfg(test)]
mod tests;
