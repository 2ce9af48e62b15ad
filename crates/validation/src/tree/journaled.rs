//! A tree and the journal of an execution: what is written down of its files, and what one of an earlier session says of them.

use super::{FileMust, PENDING, TreeValidation, USED};
use crate::extent::Extent;
use crate::files::FilePromise;
use crate::journal::TargetJournal;
use crate::reports::FoundBy;
use crate::states::BlockState;
use crate::target::WriteHold;
use data_journal::{
    Crash, Existence, FileIntent, FileSource, FileThere, JournalTarget, JournalTree, NameRule, Recovered,
};
use stamp::DamageClass;
use std::collections::HashMap;
use std::sync::PoisonError;

impl TreeValidation {
    /// The same, whose operations are written down from now on.
    #[must_use]
    pub fn with_journal(self, journal: TargetJournal) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// Where its operations are written down.
    #[must_use]
    pub fn journal(&self) -> Option<&TargetJournal> {
        self.journal.as_ref()
    }

    /// What the header of a journal says of it. `name`: as the user knows it.
    #[must_use]
    pub fn journal_target(&self, name: &str) -> JournalTarget {
        let rules = self.cells.rules();
        JournalTarget {
            name: name.to_string(),
            device: rules.device,
            size_bytes: rules.size_bytes,
            block_bytes: rules.block_bytes,
            runs: rules.runs.iter().skip(1).copied().collect(),
            is_synchronous: false,
            is_trimmed: false,
            tree: Some(JournalTree {
                files: self.file_count(),
                file_blocks: self.firsts.longest().max(1),
                names: if self.names.syncs_names() { NameRule::File } else { NameRule::Directory },
                layout: self.names.layout(),
            }),
        }
    }

    /// The same, after a crash: its files have to be what the journal says.
    ///
    /// # Errors
    /// The journal is about other files or blocks below this anchor, which is said.
    pub fn with_recovered(mut self, recovered: &Recovered, crash: Crash) -> Result<Self, String> {
        let (device, block_bytes) = (self.cells.rules().device, self.cells.rules().block_bytes);
        let Some(tree) = recovered.tree(device) else { return Ok(self) };
        let (path, name) = (recovered.path().display(), &tree.target.name);
        let known = tree.target.tree.as_ref().map(|tree| (tree.files, tree.layout.as_str()));
        if known != Some((self.file_count(), self.names.layout().as_str())) {
            return Err(format!(
                "journal {path}: it knows {name} with other directories, files or sizes: give it the ones that it had, or begin a new \
                 journal"
            ));
        }
        if tree.target.block_bytes != block_bytes {
            let before = tree.target.block_bytes;
            return Err(format!(
                "journal {path}: it knows {name} in blocks of {before} bytes, and this load needs blocks of {block_bytes}: use transfers \
                 of which the same number is the largest common divisor, or begin a new journal"
            ));
        }
        let mut promises = HashMap::new();
        for number in tree.files() {
            let file = tree.file(number, crash);
            promises.insert(number, FilePromise::of(&file));
            if let Some((device, known)) = file.device.zip(self.devices.get_mut(number as usize)) {
                *known.get_mut() = device;
            }
        }
        let firsts = &self.firsts;
        let floors = tree.files().flat_map(|number| {
            let (file, (first, blocks)) = (tree.file(number, crash), firsts.of(number));
            (0..blocks).filter_map(move |block| {
                let (floor, version) = file.floor(block)?;
                Some((first + block, floor, version))
            })
        });
        if let Some(cells) = std::sync::Arc::get_mut(&mut self.cells) {
            cells.recover_files(tree, crash, floors);
        }
        *self.promises.get_mut().unwrap_or_else(PoisonError::into_inner) = Some((crash, promises));
        Ok(self)
    }

    /// Does the journal of an earlier session promise anything of its files?
    #[must_use]
    pub fn has_promises(&self) -> bool {
        let promises = self.promises.lock().unwrap_or_else(PoisonError::into_inner);
        let is_one = |promise: &FilePromise| promise.existence != Existence::May;
        promises.as_ref().is_some_and(|(_, files)| files.values().any(is_one)) || self.cells.states().written() > 0
    }

    /// Looks at every file, before anything is done to one: what a journal of an earlier session says must be there and is not is reported,
    /// once; from then on it has to stay as it was found. What cannot be looked at is left to who opens it.
    pub fn look(&self) {
        let promises = self.promises.lock().unwrap_or_else(PoisonError::into_inner).take();
        for file in 0..self.file_count() {
            let promise = promises.as_ref().and_then(|(crash, files)| Some((*crash, *files.get(&file)?)));
            match self.names.look(file) {
                Ok(found) => self.looked_at(file, found, promise),
                Err(_) if promise.is_some_and(|(_, promise)| promise.existence == Existence::Must) => {
                    self.set_must(file, FileMust::There(None));
                }
                Err(_) => {}
            }
        }
    }

    fn looked_at(&self, file: u32, found: Option<u64>, promise: Option<(Crash, FilePromise)>) {
        if let Some(finding) = promise.and_then(|(crash, promise)| promise.check(crash, found)) {
            self.add(file, finding.damage.class(), finding.words(), FoundBy::Sweep);
            if finding.damage.class() == DamageClass::DeletedFile {
                self.forget_from(file, 0);
            }
        }
        match found {
            Some(bytes) => {
                self.forget_from(file, bytes);
                self.set_must(file, FileMust::There(Some(bytes)));
            }
            None => {
                self.forget_from(file, 0);
                self.own_device(file);
                if promise.is_some() || self.word(file) & USED != 0 {
                    self.set_must(file, FileMust::Gone);
                }
            }
        }
    }

    /// A session begins: writes down which files are there, and makes that durable. To be called behind [`look`](Self::look), before anything
    /// is done.
    ///
    /// # Errors
    /// What is there may not be durable.
    pub fn begin_session(&self) -> std::io::Result<()> {
        let Some(TargetJournal { journal, target }) = &self.journal else { return Ok(()) };
        for file in 0..self.file_count() {
            match self.must(file) {
                FileMust::There(Some(bytes)) => journal.file_found(*target, self.name(file), Some(bytes)),
                FileMust::Gone => journal.file_found(*target, self.name(file), None),
                FileMust::There(None) | FileMust::Unknown => {}
            }
        }
        self.flush_all()
    }

    /// Makes all of the tree durable.
    ///
    /// # Errors
    /// Something may not be.
    pub fn flush_all(&self) -> std::io::Result<()> {
        let epoch = self.cells.next_epoch();
        let Some(TargetJournal { journal, target }) = &self.journal else { return self.names.sync_all() };
        journal.flush_begun(*target, epoch);
        match self.names.sync_all() {
            // It did what it could, which promises nothing.
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => Ok(()),
            synced => {
                journal.flush_ended(*target, epoch, synced.is_ok());
                synced
            }
        }
    }

    /// A file and its directory.
    pub(super) fn name(&self, file: u32) -> (u32, u32) {
        (file, self.names.directory(file))
    }

    /// Waits until it is durable in the journal that these are about to be done.
    pub(super) fn announce(&self, all: &[(&Self, u32, FileIntent)]) {
        let Some(TargetJournal { journal, .. }) = &self.journal else { return };
        let of = |(tree, file, intent): &(&Self, u32, FileIntent)| {
            tree.set_pending(*file, true);
            Some((tree.journal.as_ref()?.target, *file, *intent))
        };
        journal.announce(&all.iter().filter_map(of).collect::<Vec<_>>());
    }

    /// A write that came back.
    #[inline]
    pub(super) fn write_down(
        &self,
        (file, extent): (u32, &Extent),
        (offset, bytes): (u64, u64),
        hold: WriteHold,
        (is_done, grown): (bool, Option<u64>),
    ) {
        let Some(TargetJournal { journal, target }) = &self.journal else { return };
        let (first, count) = extent.blocks_of(self.cells.rules().block_bytes, offset, bytes);
        let blocks = (first - extent.first, count);
        if !is_done {
            return journal.file_failed((*target, file), blocks);
        }
        let loose = self.loose_end(file);
        journal.file_written((*target, file), blocks, hold.sequence, grown, |block| {
            match self.cells.states().get(extent.first + block) {
                BlockState::Known(version) if loose != Some(block) => Some(version),
                _ => None,
            }
        });
    }

    /// The block in which a file ends before it is as long as asked for: when it is made longer, what lies behind its end in this block
    /// reads as zeroes, and nothing says so before.
    fn loose_end(&self, file: u32) -> Option<u64> {
        let (end, block_bytes) = (self.must_end(file), self.cells.rules().block_bytes);
        let is_loose = !end.is_multiple_of(block_bytes) && end != self.names.bytes(file);
        is_loose.then_some(end / block_bytes)
    }

    /// Its blocks that may be newer than is known are said to be: the journal ends.
    pub(crate) fn tell_unsure(&self) {
        let Some(TargetJournal { journal, target }) = &self.journal else { return };
        self.cells.states().each_unsure(|block| {
            let (file, within) = self.firsts.place(block);
            journal.file_failed((*target, file), (within, 1));
        });
    }
}

/// A tree's files, for a checkpoint.
pub(crate) struct TreeSource<'a> {
    pub(crate) target: u16,
    pub(crate) tree: &'a TreeValidation,
}

impl FileSource for TreeSource<'_> {
    fn target(&self) -> u16 {
        self.target
    }

    fn sequence(&self) -> u64 {
        self.tree.cells.next_sequence()
    }

    fn files(&self) -> u32 {
        self.tree.file_count()
    }

    fn file(&self, file: u32) -> Option<FileThere> {
        let (tree, word) = (self.tree, self.tree.word(file));
        let directory = tree.names.directory(file);
        match FileMust::of(word) {
            _ if word & PENDING != 0 => None,
            FileMust::Gone => Some(FileThere { directory, bytes: None, blocks: 0, device: None }),
            FileMust::There(Some(bytes)) => {
                let extent = tree.extent(file);
                let is_own = extent.device == crate::target::device_id(&tree.path(file));
                let device = (!is_own).then_some(extent.device);
                Some(FileThere { directory, bytes: Some(bytes), blocks: extent.blocks, device })
            }
            FileMust::There(None) | FileMust::Unknown => None,
        }
    }

    fn states(&self, file: u32, first: u64, count: usize, states: &mut Vec<u16>) {
        let (tree, (start, _)) = (self.tree, self.tree.firsts.of(file));
        tree.cells.states().codes(start + first, count, states);
        let loose = tree.loose_end(file);
        for (state, block) in states.iter_mut().zip(first..) {
            // What a session before has left can only be said by its own records, unless it is a write.
            let floor = tree.cells.floor(start + block);
            if floor.is_some_and(|floor| floor.allows_zeroes()) || loose == Some(block) {
                *state = 0;
            }
        }
    }
}
