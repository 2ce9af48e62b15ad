//! What a thread does besides in a tree whose data is proved: around its transfers, and with whole files.

use super::thread::{Failure, TreeThread};
use super::transfers::OpenFile;
use plan::generate::OperationKind;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use tree::Tree;
use validation::{FoundBy, TreeValidation};

/// So many places are looked at for one whose blocks no other thread has.
const PLACES: u32 = 64;

/// What an operation was and where: its kind, its file, offset and bytes.
pub(crate) type CheckedPlace = (OperationKind, u32, (u64, u32));

fn range((offset, bytes): (u64, u32)) -> (u64, u64) {
    (offset, u64::from(bytes))
}

impl TreeThread<'_> {
    /// What is proved of this tree.
    pub(crate) fn proved(&self, tree: &Tree) -> Option<&TreeValidation> {
        let checks = self.lane.checks.as_ref()?;
        match std::ptr::eq(tree, &raw const *self.lane.tree) {
            true => Some(&checks.tree),
            false => checks.destination.as_deref(),
        }
    }

    /// Takes the blocks of a transfer, or of another one in the same file where another thread has them. `None`: none of those that were
    /// looked at is free.
    pub(crate) fn own_place_now(&mut self, file: &OpenFile, place: (u64, u32)) -> Option<(u64, u32)> {
        let Some(checks) = &self.lane.checks else { return Some(place) };
        let mut place = place;
        for _ in 0..PLACES {
            if checks.tree.take(file.found.at, range(place)) {
                return Some(place);
            }
            checks.tree.cells().note_deferred();
            self.transfers += 1;
            place = self.next_place(file)?;
        }
        None
    }

    /// The same, and waits for one; `None`: the run is over.
    pub(crate) fn own_place(&mut self, file: &OpenFile, place: (u64, u32)) -> Option<(u64, u32)> {
        loop {
            if let Some(place) = self.own_place_now(file, place) {
                return Some(place);
            }
            if !self.pause() {
                return None;
            }
        }
    }

    /// Gives the blocks of a transfer back that does not take place.
    pub(crate) fn give_back(&self, file: u32, place: (u64, u32)) {
        self.lane.checks.iter().for_each(|checks| checks.tree.release(file, range(place)));
    }

    /// Puts what a write is to carry into the thread's memory, and marks that of a read. True: it took I/O.
    pub(crate) fn ready(&mut self, (kind, file, place): CheckedPlace, fd: BorrowedFd<'_>) -> bool {
        let lane = self.lane;
        let Some(checks) = &lane.checks else {
            if kind == OperationKind::Write {
                self.fill(file, place);
            }
            return false;
        };
        if kind != OperationKind::Write {
            stamp::poison(self.buffer(place.1));
            return false;
        }
        let is_read = checks.before && checks.tree.knows(file, range(place));
        if is_read {
            self.extra_read((file, place), fd, FoundBy::BeforeWrite);
        }
        let hold = checks.stamp(&checks.tree, file, place.0, self.buffer(place.1));
        self.hold = Some(hold);
        is_read
    }

    /// A read before or behind a write. What cannot be read is no damage.
    fn extra_read(&mut self, (file, place): (u32, (u64, u32)), fd: BorrowedFd<'_>, found_by: FoundBy) {
        let lane = self.lane;
        let Some(checks) = &lane.checks else { return };
        checks.tree.cells().note_extra_read();
        stamp::poison(self.buffer(place.1));
        let block_bytes = checks.tree.cells().rules().block_bytes;
        let whole = match self.read_at(fd, place) {
            Ok(_) => place.1,
            // The file ends there, and a write makes it longer.
            Err(Failure { result: 0.., .. }) if found_by == FoundBy::BeforeWrite => {
                let left = checks.tree.must_end(file).saturating_sub(place.0).min(u64::from(place.1));
                u32::try_from(left - left % block_bytes).unwrap_or(0)
            }
            Err(failure) => return self.note_failure(failure.of_step(OperationKind::Read)),
        };
        let damaged = checks.check((file, place.0), (fd, &lane.is_buffered), self.buffer(whole), found_by);
        self.damaged(damaged);
    }

    /// Behind a transfer's own time: what it read is checked, what it wrote is known, and its blocks are free again. `memory`: what it
    /// moved, where that is not the thread's own.
    pub(crate) fn settle(
        &mut self,
        (kind, file, place): CheckedPlace,
        fd: BorrowedFd<'_>,
        memory: Option<&mut [u8]>,
        is_done: bool,
    ) {
        let lane = self.lane;
        let Some(checks) = &lane.checks else { return };
        if self.all.run.is_aborted() {
            // What it has was given up.
            return;
        }
        if kind == OperationKind::Write {
            if let Some(hold) = self.hold.take() {
                checks.tree.wrote(file, range(place), hold, is_done);
            }
            if is_done && checks.after {
                self.extra_read((file, place), fd, FoundBy::AfterWrite);
            }
        } else if is_done {
            let buffer = match memory {
                Some(memory) => memory,
                None => self.buffer(place.1),
            };
            let damaged = checks.check((file, place.0), (fd, &lane.is_buffered), buffer, FoundBy::Read);
            self.damaged(damaged);
        }
        checks.tree.release(file, range(place));
        self.free_ns = self.now_ns();
    }

    /// A part of a file was read that is copied: it is checked, and gets the stamps of the file that it goes to.
    pub(crate) fn copied(&mut self, file: u32, place: (u64, u32), from: BorrowedFd<'_>, is_read: bool) {
        let lane = self.lane;
        let Some((checks, target)) =
            lane.checks.as_ref().and_then(|checks| Some((checks, checks.destination.as_ref()?)))
        else {
            return;
        };
        if is_read {
            let damaged = checks.check((file, place.0), (from, &lane.is_buffered), self.buffer(place.1), FoundBy::Read);
            self.damaged(damaged);
            let hold = checks.stamp(target, file, place.0, self.buffer(place.1));
            self.hold = Some(hold);
        }
    }

    /// It was written, or was not.
    pub(crate) fn copy_written(&mut self, file: u32, place: (u64, u32), is_done: bool) {
        let lane = self.lane;
        let target = lane.checks.as_ref().and_then(|checks| checks.destination.as_ref());
        if let Some((target, hold)) = target.zip(self.hold.take()) {
            target.wrote(file, range(place), hold, is_done);
        }
    }

    /// So many blocks or files are not what they must be: each is one more error.
    pub(crate) fn damaged(&self, count: u64) {
        if count > 0 {
            self.all.run.damaged(count);
        }
    }

    /// A file was opened: is it as large as it must be?
    pub(crate) fn note_opened(&self, tree: &Tree, file: u32, fd: BorrowedFd<'_>) {
        let Some(proved) = self.proved(tree) else { return };
        if self.lane.shared.is_some() {
            // Other threads may be making it longer.
            return proved.exists(file);
        }
        if let Ok(stat) = rustix::fs::fstat(fd) {
            self.damaged(proved.found(file, u64::try_from(stat.st_size).unwrap_or(0), FoundBy::Read));
        }
    }

    /// A file was made, or was not.
    pub(crate) fn note_made(&self, tree: &Tree, file: u32, failure: Option<Failure>) {
        let Some(proved) = self.proved(tree) else { return };
        match failure.is_none_or(|failure| !failure.is(Errno::EXIST)) {
            true => proved.made(file, failure.is_none()),
            false => proved.not_made(file),
        }
    }

    /// A file was removed, or was not.
    pub(crate) fn note_removed(&self, tree: &Tree, file: u32, failure: Option<Failure>) {
        let Some(proved) = self.proved(tree) else { return };
        match failure.is_none_or(|failure| !failure.is(Errno::NOENT)) {
            true => proved.removed(file, failure.is_none()),
            false => proved.not_removed(file),
        }
    }

    /// Says in the journal what is about to be done to the name of a file. True: that may have taken time.
    pub(crate) fn announce(&self, kind: OperationKind, file: u32) -> bool {
        let Some(checks) = self.lane.checks.as_ref().filter(|checks| checks.tree.journal().is_some()) else {
            return false;
        };
        match kind {
            OperationKind::Create => checks.tree.making(file),
            OperationKind::Delete => checks.tree.removing(file),
            OperationKind::Move => checks.destination.iter().for_each(|to| checks.tree.renaming(file, to)),
            _ => return false,
        }
        true
    }

    /// A directory was made (`is_made`), or removed; or that failed.
    pub(crate) fn note_directory(&self, tree: &Tree, directory: u32, is_made: bool, failure: Option<Errno>) {
        if failure.is_none_or(|failure| !matches!(failure, Errno::EXIST | Errno::NOENT | Errno::NOTEMPTY))
            && let Some(proved) = self.proved(tree)
        {
            let place = (directory, tree.layout().parent(directory));
            proved.directory_changed(place, is_made, failure.is_none());
        }
    }

    /// What a file is, or that it is not there, was asked after something failed.
    pub(crate) fn note_looked(&self, tree: &Tree, file: u32, found: Option<u64>) {
        let Some(proved) = self.proved(tree).filter(|_| self.lane.shared.is_none()) else { return };
        self.damaged(match found {
            Some(bytes) => proved.found(file, bytes, FoundBy::Read),
            None => proved.lacking(file, FoundBy::Read),
        });
    }
}
