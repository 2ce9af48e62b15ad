//! What happens to whole files of a tree.

use super::{FileMust, PENDING, TreeValidation, USED};
use crate::journal::TargetJournal;
use crate::reports::{Damage, FoundBy};
use crate::states::BlockState;
use crate::times::KnownTimes;
use data_journal::FileIntent;
use quantity::clock;
use stamp::{BlockFinding, DamageClass, MustBe, Version};
use std::sync::atomic::{AtomicU64, Ordering};

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

    pub(super) fn set_must(&self, file: u32, must: FileMust) {
        if let Some(word) = self.files.get(file as usize) {
            let with = |word: u64| Some(must.word() | USED | (word & PENDING));
            let _ = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, with);
        }
    }

    pub(super) fn word(&self, file: u32) -> u64 {
        self.files.get(file as usize).map_or(0, |word| word.load(Ordering::Acquire))
    }

    pub(super) fn set_pending(&self, file: u32, is_pending: bool) {
        if let Some(word) = self.files.get(file as usize) {
            match is_pending {
                true => word.fetch_or(PENDING, Ordering::AcqRel),
                false => word.fetch_and(!PENDING, Ordering::AcqRel),
            };
        }
    }

    /// Nothing of a file's data is known from this byte on.
    pub(super) fn forget_from(&self, file: u32, bytes: u64) {
        let extent = self.extent(file);
        let first = bytes.div_ceil(self.cells.rules().block_bytes);
        let blocks = (first..extent.blocks).filter_map(|at| extent.block(at));
        blocks.for_each(|block| self.cells.states().set(block, BlockState::Unknown));
        if first < extent.blocks {
            self.cells.forget((extent.first + first, extent.blocks - first), true);
        }
    }

    /// Its data are of its own name from now on.
    pub(super) fn own_device(&self, file: u32) {
        if let Some(device) = self.devices.get(file as usize) {
            device.store(0, Ordering::Release);
        }
    }

    /// A file is about to be made. Waits for the journal where its name was used before.
    pub fn making(&self, file: u32) {
        if self.word(file) & USED != 0 {
            self.announce(&[(self, file, FileIntent::Make)]);
        }
    }

    /// It was made, and is empty; or that failed, and nothing is known of it.
    pub fn made(&self, file: u32, is_done: bool) {
        let sequence = self.cells.next_sequence();
        self.forget_from(file, 0);
        self.own_device(file);
        self.set_must(file, if is_done { FileMust::There(Some(0)) } else { FileMust::Unknown });
        if let Some(TargetJournal { journal, target }) = &self.journal {
            journal.file_made(*target, self.name(file), sequence, is_done);
        }
        self.set_pending(file, false);
    }

    /// It was not made, because there is one, or because nothing was tried.
    pub fn not_made(&self, file: u32) {
        if let Some(TargetJournal { journal, target }) = &self.journal {
            journal.file_made(*target, self.name(file), self.cells.next_sequence(), false);
        }
        self.set_pending(file, false);
    }

    /// A file was found to be there; its size is not known where nothing was.
    pub fn exists(&self, file: u32) {
        let there = FileMust::There(None).word();
        if let Some(word) = self.files.get(file as usize) {
            let of_unknown = |word: u64| (FileMust::of(word) == FileMust::Unknown).then_some(word | there);
            let _ = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, of_unknown);
        }
    }

    /// A file is about to be removed. Waits for the journal.
    pub fn removing(&self, file: u32) {
        self.announce(&[(self, file, FileIntent::Remove)]);
    }

    /// It was removed; or that failed, and nothing is known of it.
    pub fn removed(&self, file: u32, is_done: bool) {
        self.is_gone(file, is_done);
        self.not_there(file, is_done);
    }

    /// It was not removed, because there was none, or because nothing was tried.
    pub fn not_removed(&self, file: u32) {
        self.not_there(file, false);
    }

    fn not_there(&self, file: u32, is_done: bool) {
        if let Some(TargetJournal { journal, target }) = &self.journal {
            journal.file_removed(*target, self.name(file), is_done);
        }
        self.set_pending(file, false);
    }

    fn is_gone(&self, file: u32, is_done: bool) {
        self.forget_from(file, 0);
        if is_done {
            // What may still be there has the stamps that it had.
            self.own_device(file);
        }
        self.set_must(file, if is_done { FileMust::Gone } else { FileMust::Unknown });
    }

    /// A file is about to be moved to the same place of another tree, where none is. Waits for the journal.
    pub fn renaming(&self, file: u32, to: &Self) {
        self.announce(&[(self, file, FileIntent::Remove), (to, file, FileIntent::Make)]);
    }

    /// It was not moved: nothing happened.
    pub fn not_renamed(&self, file: u32, to: &Self) {
        self.not_removed(file);
        to.not_made(file);
    }

    /// It was moved, with its data; or that failed, and nothing is known of both.
    pub fn renamed(&self, file: u32, to: &Self, is_done: bool) {
        let (from, into) = (self.extent(file), to.extent(file));
        to.forget_from(file, 0);
        if is_done {
            let block_bytes = (self.cells.rules().block_bytes, to.cells.rules().block_bytes);
            let is_alike = block_bytes.0 == block_bytes.1;
            for at in 0..if is_alike { from.blocks.min(into.blocks) } else { 0 } {
                if let (Some(old), Some(new)) = (from.block(at), into.block(at)) {
                    // What a session before has left, and no read has checked, may be more than a state says.
                    let is_of_before = self.cells.floor(old).is_some();
                    let state = if is_of_before { BlockState::Unknown } else { self.cells.states().get(old) };
                    to.cells.states().set(new, state);
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
        self.is_gone(file, is_done);
        if let Some((from_journal, to_journal)) = self.journal.as_ref().zip(to.journal.as_ref()) {
            let place = |of: &TargetJournal, tree: &Self| (of.target, file, tree.names.directory(file));
            let (before, now) = (place(from_journal, self), place(to_journal, to));
            from_journal.journal.file_renamed(before, now, from.device, is_done);
        }
        self.set_pending(file, false);
        to.set_pending(file, false);
    }

    /// A file is about to be made durable; `is_data_only`: nothing is asked for its name (`fdatasync`).
    pub fn syncing(&self, file: u32, is_data_only: bool) -> u32 {
        let epoch = self.cells.next_epoch();
        if let Some(TargetJournal { journal, target }) = &self.journal {
            journal.file_sync_begun((*target, file), epoch, is_data_only);
        }
        epoch
    }

    /// It is durable, or that failed.
    pub fn synced(&self, file: u32, epoch: u32, is_done: bool) {
        if let Some(TargetJournal { journal, target }) = &self.journal {
            journal.file_sync_ended((*target, file), epoch, is_done);
        }
    }

    /// A directory was made (`is_made`) in another one (`None`: the anchor), or removed; or that failed.
    pub fn directory_changed(&self, (directory, parent): (u32, Option<u32>), is_made: bool, is_done: bool) {
        let Some(TargetJournal { journal, target }) = &self.journal else { return };
        let name = (directory, parent.unwrap_or(data_journal::ANCHOR));
        match is_made {
            true => journal.directory_made(*target, name, is_done),
            false => journal.directory_removed(*target, name, is_done),
        }
    }

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

    pub(super) fn add(&self, file: u32, class: DamageClass, words: [String; 2], found_by: FoundBy) -> u64 {
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
        let is_known = |word: &&AtomicU64| FileMust::of(word.load(Ordering::Relaxed)) != FileMust::Unknown;
        self.files.iter().filter(is_known).count() as u64
    }

    /// Is one of them there, as far as is known?
    #[must_use]
    pub fn has_files(&self) -> bool {
        let is_there = |word: &AtomicU64| matches!(FileMust::of(word.load(Ordering::Relaxed)), FileMust::There(_));
        self.files.iter().any(is_there)
    }

    /// A pass over everything that was written is about to begin.
    pub fn begin_sweep(&self) {
        self.cells.begin_sweep();
        self.swept_files.store(0, Ordering::Relaxed);
    }
}
