//! What is written down of files and trees.

use super::{Inner, Journal, PART_BLOCKS};
use crate::file_source::{FileIntent, FileSource};
use crate::record::{Kind, Record};

impl Journal {
    /// These are about to be submitted, each for a file of a tree (target, file); returns when that is durable.
    pub fn announce(&self, all: &[(u16, u32, FileIntent)]) {
        let mut inner = self.shared.lock();
        for (target, file, intent) in all {
            let (kind, sequence) = match intent {
                FileIntent::Make => (Kind::FileMaking, 0),
                FileIntent::Remove => (Kind::FileRemoving, 0),
                FileIntent::Resize(bytes) => (Kind::FileResizing, *bytes),
            };
            let record = Record { first: u64::from(*file), sequence, ..Record::of(kind, *target) };
            inner.append(&record);
            inner.announced.push(record);
        }
        self.until_durable(inner);
    }

    fn add(&self, record: &Record) {
        let mut inner = self.shared.lock();
        inner.append(record);
        self.shared.write_if_full(&mut inner);
    }

    /// The result of what was announced.
    fn result(&self, announced: &[Kind], record: &Record) {
        let mut inner = self.shared.lock();
        inner.came_back(announced, record);
        inner.append(record);
        self.shared.write_if_full(&mut inner);
    }

    /// A file was newly made in this directory ([`ANCHOR`](crate::ANCHOR): the anchor), empty. `sequence`: the number of the next write.
    pub fn file_made(&self, target: u16, (file, directory): (u32, u32), sequence: u64, is_done: bool) {
        let record = Record { sequence, ..of_name(Kind::FileMade, target, (file, directory), is_done) };
        self.result(&[Kind::FileMaking], &record);
    }

    /// A file was removed.
    pub fn file_removed(&self, target: u16, name: (u32, u32), is_done: bool) {
        self.result(&[Kind::FileRemoving], &of_name(Kind::FileRemoved, target, name, is_done));
    }

    /// A file got another name, each with its tree, number and directory. What had the new name before has none now. `device`: the one in
    /// its stamps.
    pub fn file_renamed(&self, from: (u16, u32, u32), to: (u16, u32, u32), device: u64, is_done: bool) {
        let from = of_name(Kind::FileRenamedFrom, from.0, (from.1, from.2), is_done);
        let to = Record { sequence: device, ..of_name(Kind::FileRenamedTo, to.0, (to.1, to.2), is_done) };
        let mut inner = self.shared.lock();
        inner.came_back(&[Kind::FileRemoving], &from);
        inner.came_back(&[Kind::FileMaking], &to);
        inner.append(&from);
        inner.append(&to);
        self.shared.write_if_full(&mut inner);
    }

    /// A write to blocks of a file was done; as [`done`](Self::done). `grown`: the file is at least so long by it.
    pub fn file_written(
        &self,
        (target, file): (u16, u32),
        (first, count): (u64, u64),
        sequence: u64,
        grown: Option<u64>,
        mut version: impl FnMut(u64) -> Option<u16>,
    ) {
        let start = self.file_start(target, file);
        self.done(target, (start + first, count), sequence, |block| version(block - start));
        if let Some(bytes) = grown {
            let first = u64::from(file);
            self.add(&Record { first, sequence: bytes, ..Record::of(Kind::FileGrown, target) });
        }
    }

    /// A write to blocks of a file failed.
    pub fn file_failed(&self, (target, file): (u16, u32), (first, count): (u64, u64)) {
        let start = self.file_start(target, file);
        self.failed(target, (start + first, count));
    }

    /// A file was cut or extended to so many bytes.
    pub fn file_resized(&self, (target, file): (u16, u32), bytes: u64, is_done: bool) {
        let record = Record { first: u64::from(file), sequence: bytes, ..Record::of(Kind::FileResized, target) };
        self.result(&[Kind::FileResizing], &Record { is_ok: is_done, ..record });
    }

    /// A file was looked at behind a crash, before this session does anything to it: its length, or `None`: it is not there.
    pub fn file_found(&self, target: u16, name: (u32, u32), bytes: Option<u64>) {
        self.add(&looked_at(Kind::FileFound, target, name, bytes));
    }

    /// A sync of a file is about to be submitted: what was done to it before is durable when it is acknowledged. `is_data_only`: nothing
    /// is promised of its name (`fdatasync`).
    pub fn file_sync_begun(&self, (target, file): (u16, u32), epoch: u32, is_data_only: bool) {
        let (first, sequence) = (u64::from(file), u64::from(epoch));
        let version = u16::from(is_data_only);
        self.add(&Record { first, sequence, version, ..Record::of(Kind::FileSyncBegun, target) });
    }

    /// It came back.
    pub fn file_sync_ended(&self, (target, file): (u16, u32), epoch: u32, is_done: bool) {
        self.sync_ended(Kind::FileSyncEnded, (target, file), epoch, is_done);
    }

    /// A sync of a directory is about to be submitted.
    pub fn directory_sync_begun(&self, (target, directory): (u16, u32), epoch: u32) {
        let (first, sequence) = (u64::from(directory), u64::from(epoch));
        self.add(&Record { first, sequence, ..Record::of(Kind::DirectorySyncBegun, target) });
    }

    /// It came back.
    pub fn directory_sync_ended(&self, (target, directory): (u16, u32), epoch: u32, is_done: bool) {
        self.sync_ended(Kind::DirectorySyncEnded, (target, directory), epoch, is_done);
    }

    fn sync_ended(&self, kind: Kind, (target, first): (u16, u32), epoch: u32, is_done: bool) {
        let mut inner = self.shared.lock();
        let (first, sequence) = (u64::from(first), u64::from(epoch));
        inner.append(&Record { first, sequence, is_ok: is_done, ..Record::of(kind, target) });
        inner.write();
        inner.wants_sync = true;
        inner.keeps_all |= !is_done;
        self.shared.wake.notify_one();
    }

    /// A directory was made in another one.
    pub fn directory_made(&self, target: u16, directory: (u32, u32), is_done: bool) {
        self.add(&of_name(Kind::DirectoryMade, target, directory, is_done));
    }

    /// A directory was removed from another one.
    pub fn directory_removed(&self, target: u16, directory: (u32, u32), is_done: bool) {
        self.add(&of_name(Kind::DirectoryRemoved, target, directory, is_done));
    }

    /// The number of a file's first block among those of its tree.
    fn file_start(&self, target: u16, file: u32) -> u64 {
        let file_blocks = self.shared.file_blocks.get(usize::from(target)).copied().unwrap_or(0);
        u64::from(file) * file_blocks
    }

    /// The files of one tree. Each is looked at while nothing can be appended: what is done later stands behind it.
    pub(super) fn dump_files(&self, source: &dyn FileSource) {
        let (target, sequence) = (source.target(), source.sequence());
        let mut states = Vec::with_capacity(PART_BLOCKS);
        for file in 0..source.files() {
            let start = self.file_start(target, file);
            let mut inner = self.shared.lock();
            let Some(there) = source.file(file) else { continue };
            inner.append(&looked_at(Kind::FileIs, target, (file, there.directory), there.bytes));
            if let Some(device) = there.device.filter(|_| there.bytes.is_some()) {
                let first = u64::from(file);
                inner.append(&Record { first, sequence: device, ..Record::of(Kind::FileDevice, target) });
            }
            let mut first = 0;
            while there.bytes.is_some() && first < there.blocks {
                states.clear();
                let count = usize::try_from(there.blocks - first).unwrap_or(PART_BLOCKS).min(PART_BLOCKS);
                source.states(file, first, count, &mut states);
                inner.append_states(target, start + first, sequence, &states);
                first += PART_BLOCKS as u64;
            }
            self.shared.write_if_full(&mut inner);
        }
    }
}

impl Inner {
    /// What was announced came back.
    fn came_back(&mut self, kinds: &[Kind], record: &Record) {
        let is_it = |of: &Record| kinds.contains(&of.kind) && (of.target, of.first) == (record.target, record.first);
        if let Some(at) = self.announced.iter().position(is_it) {
            self.announced.swap_remove(at);
        }
    }
}

fn of_name(kind: Kind, target: u16, (first, parent): (u32, u32), is_ok: bool) -> Record {
    Record { first: u64::from(first), count: parent, is_ok, ..Record::of(kind, target) }
}

fn looked_at(kind: Kind, target: u16, name: (u32, u32), bytes: Option<u64>) -> Record {
    let (version, sequence) = (u16::from(bytes.is_some()), bytes.unwrap_or(0));
    Record { version, sequence, ..of_name(kind, target, name, true) }
}
