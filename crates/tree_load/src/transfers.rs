//! Reads and writes in files that are opened before and closed after them.

use super::below::open_entry;
use super::direct::through;
use super::find::Found;
use super::thread::{Failure, Performed, TreeThread};
use super::tickets::{Ticket, below, chance, unit};
use plan::generate::OperationKind;
use plan::{FileOrder, OpenFlags, StopAfter, TransferSize, TreeTask};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, StatxFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use tree::{FileState, Tree};

/// A file that is open.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) found: Found,
    pub(crate) fd: OwnedFd,
    /// Where the next transfer begins, when they follow each other.
    next: u64,
    /// Transfers lie below this.
    limit: u64,
    /// As large as it is, as far as is known.
    bytes: u64,
    /// Transfers and bytes that are left to do in it.
    transfers_left: u64,
    bytes_left: u64,
    has_written: bool,
    /// Writes since the last one that was made durable.
    unsynced: u64,
}

impl TreeThread<'_> {
    /// Reads and writes until the lane or the run is over.
    pub(crate) fn run_transfers(&mut self) {
        let mut open: Option<OpenFile> = None;
        while self.goes_on() {
            let place = open.as_ref().and_then(|file| self.next_place(file));
            let Some(place) = place else {
                open.take().into_iter().for_each(|file| self.close(file));
                match self.open_next() {
                    ControlFlow::Continue(file) => open = file,
                    ControlFlow::Break(()) => break,
                }
                continue;
            };
            let Some(mut ticket) = self.ticket() else { break };
            let Some(file) = open.as_mut() else { break };
            let Some(place) = self.own_place(file, place) else { break };
            if self.ready((ticket.kind, file.found.at, place), file.fd.as_fd()) && self.lane.is_closed() {
                // There was a read before it.
                ticket.due_ns = self.now_ns();
            }
            if !self.wait_until(ticket.due_ns) {
                self.give_back(file.found.at, place);
                break;
            }
            if !self.transfer(file, ticket, place) {
                break;
            }
        }
        open.take().into_iter().for_each(|file| self.close(file));
    }

    /// Does one transfer in an open file. False: the run has no room for it.
    fn transfer(&mut self, file: &mut OpenFile, ticket: Ticket, place: (u64, u32)) -> bool {
        self.transfers += 1;
        let fd = file.fd.as_fd();
        let performed = match ticket.kind {
            OperationKind::Read => self.perform(ticket, place, |this| this.read_at(fd, place)),
            _ => self.perform(ticket, place, |this| this.write_at(fd, place)),
        };
        let of = (ticket.kind, file.found.at, place);
        match performed {
            Performed::Refused => self.give_back(file.found.at, place),
            _ => self.settle(of, fd, None, matches!(performed, Performed::Done(_))),
        }
        self.transferred(file, ticket.kind, place, performed)
    }

    /// Notes in an open file what a transfer did to it. False: the run had no room for it.
    #[inline]
    pub(crate) fn transferred(
        &mut self,
        file: &mut OpenFile,
        kind: OperationKind,
        (offset, bytes): (u64, u32),
        performed: Performed,
    ) -> bool {
        file.transfers_left = file.transfers_left.saturating_sub(1);
        file.bytes_left = file.bytes_left.saturating_sub(u64::from(bytes));
        file.next = offset + u64::from(bytes);
        let is_write = kind == OperationKind::Write;
        file.has_written |= is_write;
        if is_write && matches!(performed, Performed::Done(_)) {
            self.sync_after_write(Some(file.found.at), file.fd.as_fd(), (&mut file.unsynced, 1));
        }
        match performed {
            Performed::Refused => return false,
            Performed::Done(moved) if is_write => file.bytes = file.bytes.max(offset + moved),
            Performed::Done(_) => {}
            Performed::Failed(failure) => {
                let moved = u64::try_from(failure.result).ok();
                match moved {
                    Some(moved) if is_write => file.bytes = file.bytes.max(offset + moved),
                    // It is shorter than was known.
                    Some(moved) => file.bytes = offset + moved,
                    None => {}
                }
                if is_write || moved.is_some() {
                    // The next file.
                    file.transfers_left = 0;
                }
            }
        }
        true
    }

    /// Offset and size of the next transfer; `None`: the file is done.
    pub(crate) fn next_place(&self, file: &OpenFile) -> Option<(u64, u32)> {
        if file.transfers_left == 0 || file.bytes_left == 0 {
            return None;
        }
        let size = self.transfer_size();
        let offset = match self.lane.is_sequential() {
            true => file.next,
            false if size > file.limit => 0,
            false => below(chance(self.seed, self.transfers), file.limit / size) * size,
        };
        let bytes = size.min(file.limit.saturating_sub(offset));
        (bytes > 0).then(|| (offset, u32::try_from(bytes).unwrap_or(u32::MAX)))
    }

    /// How large the next transfer is, if the file has room for it.
    pub(crate) fn transfer_size(&self) -> u64 {
        let chance = chance(self.seed ^ 0x7472_616e, self.transfers);
        match &self.lane.load.transfer {
            TransferSize::Fixed(bytes) => *bytes,
            TransferSize::Mix(mix) => {
                let mut left = unit(chance);
                let found = mix.iter().find(|(_, weight)| {
                    left -= weight;
                    left <= 0.0
                });
                found.or(mix.last()).map_or(1, |(bytes, _)| *bytes)
            }
            TransferSize::Uniform { min, max, align } => {
                let align = (*align).max(1);
                min + below(chance, (max.saturating_sub(*min)) / align + 1) * align
            }
        }
        .max(1)
    }

    /// Looks for the next file and opens it. Where that fails, an operation has failed that was to be done in it.
    fn open_next(&mut self) -> ControlFlow<(), Option<OpenFile>> {
        let Some(found) = self.find(None) else { return ControlFlow::Break(()) };
        self.tree_path(found.at);
        match self.open_found(found) {
            Ok(file) => ControlFlow::Continue(Some(file)),
            Err(failure) => {
                self.correct(found.at, failure);
                self.release(&found);
                let Some(ticket) = self.ticket() else { return ControlFlow::Break(()) };
                if !self.wait_until(ticket.due_ns) {
                    return ControlFlow::Break(());
                }
                match self.perform(ticket, (0, 0), |_| Err(failure)) {
                    Performed::Refused => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(None),
                }
            }
        }
    }

    pub(crate) fn open_found(&mut self, found: Found) -> Result<OpenFile, Failure> {
        let (lane, at) = (self.lane, found.at);
        let asked = self.tree().layout().asked_bytes(at);
        let mut known = self.tree().state().file(at);
        let is_read = matches!(lane.load.task, TreeTask::One(OperationKind::Read));
        let is_new_each_time = lane.load.access == FileOrder::SequentialDelete && !is_read;
        if is_new_each_time && known.exists && (lane.load.stop_after.is_none() || known.bytes == asked) {
            self.delete_step(&lane.tree, at)?;
            known = FileState { exists: false, bytes: 0 };
        }
        let how = match (is_read, known.exists) {
            (true, _) => How::Read,
            (false, true) => How::Write,
            (false, false) => How::Make,
        };
        let fd = self.open_step(&lane.tree, at, how)?;
        self.release_parents(&found);
        let found = Found { parent: None, target_parent: None, ..found };
        let is_mixed = matches!(lane.load.task, TreeTask::Mixed { .. });
        let limit = if is_read || is_mixed { known.bytes } else { asked };
        let (transfers_left, bytes_left) = self.amount(limit);
        let next = lane.left_at.as_ref().map_or(0, |left| {
            let left = left.get(at as usize).map_or(0, |left| left.load(Ordering::Relaxed));
            match known.bytes < asked && !is_read {
                true => self.block_before(known.bytes),
                false if left >= limit => 0,
                false => left,
            }
        });
        Ok(OpenFile {
            found,
            fd,
            next,
            limit,
            bytes: known.bytes,
            transfers_left,
            bytes_left,
            has_written: false,
            unsynced: 0,
        })
    }

    /// How many transfers and bytes are done in a file before the next one.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a size; saturates")]
    fn amount(&self, limit: u64) -> (u64, u64) {
        match self.lane.load.stop_after {
            Some(StopAfter::Transfers(count)) => (count.max(1), u64::MAX),
            Some(StopAfter::Fraction(part)) => (u64::MAX, ((limit as f64 * part) as u64).max(1)),
            None if self.lane.is_sequential() => (u64::MAX, u64::MAX),
            None => (u64::MAX, limit.max(1)),
        }
    }

    /// Closes a file and gives it back.
    pub(crate) fn close(&mut self, file: OpenFile) {
        let OpenFile { found, fd, next, bytes, has_written, .. } = file;
        let lane = self.lane;
        if let Err(failure) = self.close_written(&lane.tree, found.at, fd, has_written) {
            self.note_failure(failure);
        }
        if let Some(left) = self.lane.left_at.as_ref().and_then(|left| left.get(found.at as usize)) {
            left.store(next, Ordering::Relaxed);
        }
        self.set_size(found.at, bytes, has_written);
        self.release(&found);
    }

    fn set_size(&self, file: u32, bytes: u64, has_written: bool) {
        let tree = self.tree();
        let known = tree.state().file(file);
        let is_grown = has_written && bytes > known.bytes;
        // Several threads may have it open: of what they know, the larger size holds.
        let is_shorter = !has_written && bytes < known.bytes && self.lane.shared.is_none();
        if known.exists && (is_grown || is_shorter) {
            tree.state().set_file(tree.layout(), file, FileState { exists: true, bytes });
        }
    }

    pub(crate) fn buffer(&mut self, bytes: u32) -> &mut [u8] {
        let shift = self.shift;
        self.memory.get_mut(shift..shift + bytes as usize).unwrap_or_default()
    }

    /// Puts what a write is to carry into the memory.
    pub(crate) fn fill(&mut self, file: u32, (offset, bytes): (u64, u32)) {
        let Some(mut content) = self.content.take() else { return };
        let address = self.address(file, offset);
        content.fill(self.buffer(bytes), address);
        self.content = Some(content);
    }

    /// Of a file's data among all of the tree.
    pub(crate) fn address(&self, file: u32, offset: u64) -> u64 {
        u64::from(file).wrapping_mul(self.lane.file_stride).wrapping_add(offset)
    }

    pub(crate) fn read_at(&mut self, fd: BorrowedFd<'_>, (offset, bytes): (u64, u32)) -> Result<u64, Failure> {
        let is_buffered = &self.lane.is_buffered;
        let buffer = self.buffer(bytes);
        let moved = through(fd, is_buffered, |fd| rustix::io::pread(fd, &mut *buffer, offset))?;
        whole(moved, bytes)
    }

    pub(crate) fn write_at(&mut self, fd: BorrowedFd<'_>, (offset, bytes): (u64, u32)) -> Result<u64, Failure> {
        let is_buffered = &self.lane.is_buffered;
        let buffer = self.buffer(bytes);
        let moved = through(fd, is_buffered, |fd| rustix::io::pwrite(fd, &*buffer, offset))?;
        whole(moved, bytes)
    }

    /// Opens a file whose path is known, as a step.
    pub(crate) fn open_step(&mut self, tree: &Tree, file: u32, how: How) -> Result<OwnedFd, Failure> {
        if how == How::Make {
            self.proved(tree).iter().for_each(|proved| proved.making(file));
        }
        let begun_ns = self.now_ns();
        let opened = self.step(OperationKind::Open, |this| Ok((this.open_now(tree, how)?, 0)));
        match (&opened, how) {
            (_, How::Make) => self.note_made(tree, file, opened.as_ref().err().copied()),
            (Ok(fd), _) => self.note_opened(tree, file, fd.as_fd()),
            (Err(_), _) => {}
        }
        if how == How::Make && opened.is_ok() {
            // As Vdbench: it was also a create, where that is not what was asked for.
            if self.lane.load.task != TreeTask::One(OperationKind::Create) {
                if self.log.steps_left() == 0 {
                    self.stats.take(self.slot);
                }
                self.log_step(OperationKind::Create, Ok(0), begun_ns);
            }
            tree.state().set_file(tree.layout(), file, FileState { exists: true, bytes: 0 });
            self.changed();
        }
        opened
    }

    /// Opens a file whose path is known. What is to be written must be a file that has no other name.
    #[inline(always)]
    pub(crate) fn open_now(&mut self, tree: &Tree, how: How) -> Result<OwnedFd, Failure> {
        let access = match how {
            How::Read => OFlags::RDONLY,
            How::Write => OFlags::RDWR,
            How::Make => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        };
        let flags = access | flags_of(self.lane.load.open) | OFlags::NONBLOCK;
        let mode = if how == How::Make { Mode::from_raw_mode(0o666) } else { Mode::empty() };
        let fd = self.in_directory(tree, |at, name| open_entry(at, name, flags, mode))?;
        if how != How::Make {
            let stat = rustix::fs::fstat(&fd)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Err(Errno::NOTSUP.into());
            }
            if how == How::Write {
                self.in_directory(tree, |at, name| is_alone((at, name), &stat, 1))?;
            }
        }
        Ok(fd)
    }

    /// Closes a file, as a step; what was written is made durable before where that is asked.
    pub(crate) fn close_step(&mut self, fd: OwnedFd, has_written: bool) -> Result<(), Failure> {
        let syncs = has_written && self.lane.load.open.fsync_at_end;
        self.step(OperationKind::Close, |_| {
            let synced = if syncs { rustix::fs::fsync(&fd) } else { Ok(()) };
            drop(fd);
            Ok(synced.map(|()| ((), 0))?)
        })
    }

    /// The same, of a file of a tree that may have been written.
    pub(crate) fn close_written(
        &mut self,
        tree: &Tree,
        file: u32,
        fd: OwnedFd,
        has_written: bool,
    ) -> Result<(), Failure> {
        let is_synced = has_written && self.lane.load.open.fsync_at_end;
        let epoch = self.proved(tree).filter(|_| is_synced).map(|proved| proved.syncing(file, false));
        let closed = self.close_step(fd, has_written);
        if let Some((proved, epoch)) = self.proved(tree).zip(epoch) {
            proved.synced(file, epoch, closed.is_ok());
        }
        closed
    }

    /// Where data is proved, transfers begin between two blocks.
    fn block_before(&self, offset: u64) -> u64 {
        match &self.lane.checks {
            Some(checks) => offset - offset % checks.tree.cells().rules().block_bytes,
            None => offset,
        }
    }

    /// After every so many writes, makes them durable, as a step (`fsync=`, `fdatasync=`).
    pub(crate) fn sync_after_write(
        &mut self,
        file: Option<u32>,
        fd: BorrowedFd<'_>,
        (unsynced, writes): (&mut u64, u64),
    ) {
        let Some(every) = self.lane.load.sync_every else { return };
        *unsynced += writes;
        if *unsynced < every.writes {
            return;
        }
        *unsynced = 0;
        let lane = self.lane;
        let proved = lane.checks.as_ref().zip(file).map(|(checks, file)| (&checks.tree, file));
        let epoch = proved.map(|(tree, file)| tree.syncing(file, every.data_only));
        let synced = match every.data_only {
            true => self.step(OperationKind::Fdatasync, |_| Ok(((), rustix::fs::fdatasync(fd).map(|()| 0)?))),
            false => self.step(OperationKind::Fsync, |_| Ok(((), rustix::fs::fsync(fd).map(|()| 0)?))),
        };
        if let Some(((tree, file), epoch)) = proved.zip(epoch) {
            tree.synced(file, epoch, synced.is_ok());
        }
        if let Err(failure) = synced {
            self.note_failure(failure);
        }
    }

    /// Removes a file whose path is known, as a step.
    pub(crate) fn delete_step(&mut self, tree: &Tree, file: u32) -> Result<(), Failure> {
        self.proved(tree).iter().for_each(|proved| proved.removing(file));
        let deleted = self.step(OperationKind::Delete, |this| {
            this.in_directory(tree, |at, name| rustix::fs::unlinkat(at, name, AtFlags::empty()))?;
            Ok(((), 0))
        });
        self.note_removed(tree, file, deleted.as_ref().err().copied());
        if deleted.is_ok() {
            tree.state().set_file(tree.layout(), file, FileState { exists: false, bytes: 0 });
            self.changed();
        }
        deleted
    }
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Read,
    /// It exists.
    Write,
    /// It does not.
    Make,
}

/// Is a file that was opened by this name still what has it, and has it no more names than `most`? Asked of the name, because what
/// stood there when it was opened may have been exchanged since: then the file may have lost the name that tells it apart.
///
/// # Errors
/// `EMLINK`: it has more names; `EAGAIN`: something else stands there now.
pub(crate) fn is_alone(at: (BorrowedFd<'_>, &CStr), opened: &Stat, most: u32) -> Result<(), Errno> {
    let now = rustix::fs::statx(at.0, at.1, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::INO | StatxFlags::NLINK)?;
    if now.stx_ino != opened.st_ino {
        return Err(Errno::AGAIN);
    }
    if now.stx_nlink > most { Err(Errno::MLINK) } else { Ok(()) }
}

/// A transfer that moved fewer bytes than it should has failed.
pub(crate) fn whole(moved: usize, asked: u32) -> Result<u64, Failure> {
    if moved == asked as usize {
        return Ok(u64::from(asked));
    }
    Err(Failure { result: i32::try_from(moved).unwrap_or(i32::MAX), step: None, is_elsewhere: false })
}

pub(crate) fn flags_of(open: OpenFlags) -> OFlags {
    let mut flags = OFlags::from_bits_retain(open.extra);
    flags.set(OFlags::DIRECT, flags.contains(OFlags::DIRECT) || open.direct);
    if open.sync {
        flags |= OFlags::SYNC;
    }
    if open.dsync {
        flags |= OFlags::DSYNC;
    }
    flags
}
