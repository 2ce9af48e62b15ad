//! Operations on whole files and directories.

use super::below::open_below;
use super::find::Found;
use super::need::Need;
use super::thread::{Failure, Performed, TreeThread};
use super::transfers::{How, flags_of};
use plan::generate::OperationKind;
use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use tree::{FileState, Tree};

impl TreeThread<'_> {
    /// Does one operation after the other until the lane or the run is over.
    pub(crate) fn run_entries(&mut self, kind: OperationKind) {
        while self.goes_on() {
            let Some(ticket) = self.ticket() else { return };
            if !self.wait_until(ticket.due_ns) {
                return;
            }
            let due_ns = (!self.lane.is_closed()).then_some(ticket.due_ns);
            let waited_from_ns = self.free_ns;
            let Some(found) = self.find(due_ns) else { return };
            self.path_of_found(found);
            let mut ticket = ticket;
            if self.lane.is_closed() && self.free_ns != waited_from_ns {
                // There was nothing to do it to.
                ticket.due_ns = self.free_ns;
            }
            if !self.grant(ticket.kind, (0, 0), ticket.due_ns) {
                self.release(&found);
                return;
            }
            // Only where there is room for the operation: nothing is removed that it does not replace.
            let granted_ns = self.free_ns;
            let is_ready = kind != OperationKind::Copy && kind != OperationKind::Move || self.clear_target(&found);
            if self.lane.is_closed() && self.free_ns != granted_ns {
                // There was a step before it.
                ticket.due_ns = self.free_ns;
            }
            if is_ready && self.announce(kind, found.at) && self.lane.is_closed() {
                // What the journal took is no part of it.
                ticket.due_ns = self.now_ns();
            }
            let mut opened = None;
            let performed = self.perform_granted(ticket, (0, 0), |this| match (is_ready, kind) {
                (false, _) => Err(Failure::from(Errno::EXIST).of_step(OperationKind::Delete).elsewhere()),
                (true, OperationKind::Open) => {
                    opened = Some(this.open_plainly()?);
                    Ok(0)
                }
                (true, _) => this.entry(kind, &found),
            });
            if let Some(fd) = opened {
                self.stamp_ns = Some(self.free_ns);
                let _ = self.step_at_once(OperationKind::Close, |_| {
                    drop(fd);
                    Ok(((), 0))
                });
            }
            if let Performed::Failed(failure) = performed {
                self.correct_found(&found, failure);
            }
            self.release(&found);
        }
    }

    fn is_of_directories(&self) -> bool {
        matches!(self.need, Need::NewDirectory | Need::EmptyDirectory)
    }

    fn path_of_found(&mut self, found: Found) {
        match self.is_of_directories() {
            true => self.path_of_directory(found.at),
            false => self.tree_path(found.at),
        }
    }

    /// Opens a file in which nothing is read or written.
    #[inline(always)]
    fn open_plainly(&mut self) -> Result<OwnedFd, Failure> {
        let lane = self.lane;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | flags_of(lane.load.open);
        // Neither read nor written: a name is looked up as by the operations on names, and no link is followed.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(self.in_directory(&lane.tree, |at, name| rustix::fs::openat(at, name, flags, Mode::empty()))?)
    }

    /// One operation; the path is known.
    #[inline(always)]
    fn entry(&mut self, kind: OperationKind, found: &Found) -> Result<u64, Failure> {
        let lane = self.lane;
        let tree = &*lane.tree;
        match kind {
            OperationKind::Mkdir => self.make_directory(found.at)?,
            OperationKind::Rmdir => {
                let removed = self.in_directory(tree, |at, name| rustix::fs::unlinkat(at, name, AtFlags::REMOVEDIR));
                self.note_directory(tree, found.at, false, removed.err());
                removed?;
                tree.state().set_directory(tree.layout(), found.at, false);
                self.changed();
            }
            OperationKind::Create => {
                let made = self.step_at_once(OperationKind::Open, |this| Ok((this.open_now(tree, How::Make)?, 0)));
                self.note_made(tree, found.at, made.as_ref().err().copied());
                let fd = made?;
                tree.state().set_file(tree.layout(), found.at, FileState { exists: true, bytes: 0 });
                self.changed();
                self.step_at_once(OperationKind::Close, |_| {
                    drop(fd);
                    Ok(((), 0))
                })?;
            }
            OperationKind::Delete => {
                let removed = self.in_directory(tree, |at, name| rustix::fs::unlinkat(at, name, AtFlags::empty()));
                self.note_removed(tree, found.at, removed.err().map(Failure::from));
                removed?;
                tree.state().set_file(tree.layout(), found.at, FileState { exists: false, bytes: 0 });
                self.changed();
            }
            OperationKind::Copy => return self.copy(found.at),
            OperationKind::Move => self.move_file(found.at)?,
            OperationKind::Getattr => {
                self.in_directory(tree, |at, name| rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW))?;
            }
            OperationKind::Setattr => {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let times = Timestamps { last_access: now, last_modification: now };
                self.in_directory(tree, |at, name| rustix::fs::utimensat(at, name, &times, AtFlags::SYMLINK_NOFOLLOW))?;
            }
            OperationKind::Access => {
                self.in_directory(tree, |at, name| rustix::fs::accessat(at, name, Access::READ_OK, AtFlags::empty()))?;
            }
            _ => return Err(Errno::NOSYS.into()),
        }
        Ok(0)
    }

    pub(crate) fn make_directory(&mut self, directory: u32) -> Result<(), Failure> {
        let lane = self.lane;
        let tree = &*lane.tree;
        let made = self.in_directory(tree, |at, name| rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o777)));
        self.note_directory(tree, directory, true, made.err());
        made?;
        tree.state().set_directory(tree.layout(), directory, true);
        self.changed();
        Ok(())
    }

    /// Closes files one after the other; the open before is a step.
    pub(crate) fn run_closes(&mut self) {
        while self.goes_on() {
            let Some(found) = self.find(None) else { return };
            self.path_of_found(found);
            let opened = self.open_step(&self.lane.tree, found.at, How::Read);
            let ticket = self.ticket().filter(|ticket| self.wait_until(ticket.due_ns));
            let performed = match ticket {
                Some(ticket) => self.perform(ticket, (0, 0), |_| opened.map(drop).map(|()| 0)),
                None => Performed::Refused,
            };
            if let Performed::Failed(failure) = performed {
                self.correct(found.at, failure);
            }
            self.release(&found);
            if matches!(performed, Performed::Refused) {
                return;
            }
        }
    }

    /// Removes what stands where a file is to be copied or moved to, as a step before the operation. False: it is still there.
    fn clear_target(&mut self, found: &Found) -> bool {
        let Some(target) = self.lane.destination.as_deref() else { return true };
        if !target.state().file(found.at).exists {
            return true;
        }
        match self.delete_step(target, found.at) {
            Ok(()) => true,
            Err(failure) if failure.is(Errno::NOENT) => {
                target.state().set_file(target.layout(), found.at, FileState { exists: false, bytes: 0 });
                true
            }
            Err(_) => false,
        }
    }

    /// Reads a file and writes it to the same place of the other tree, transfer by transfer.
    fn copy(&mut self, file: u32) -> Result<u64, Failure> {
        let lane = self.lane;
        let Some(target) = lane.destination.as_deref() else { return Err(Errno::INVAL.into()) };
        let bytes = lane.tree.state().file(file).bytes;
        let from = self.open_step(&lane.tree, file, How::Read)?;
        let to = match self.open_step(target, file, How::Make) {
            Ok(to) => to,
            Err(failure) => {
                let _ = self.close_step(from, false);
                return Err(failure.elsewhere());
            }
        };
        let mut copied = 0;
        let mut outcome = Ok(());
        while copied < bytes && outcome.is_ok() {
            self.transfers += 1;
            let size = u32::try_from(self.transfer_size().min(bytes - copied)).unwrap_or(u32::MAX);
            let place = (copied, size);
            let read = self.step(OperationKind::Read, |this| {
                let moved = this.read_at(std::os::fd::AsFd::as_fd(&from), place)?;
                Ok(((), moved))
            });
            self.copied(file, place, std::os::fd::AsFd::as_fd(&from), read.is_ok());
            outcome = read.and_then(|()| {
                let to = std::os::fd::AsFd::as_fd(&to);
                let written = self.step(OperationKind::Write, |this| Ok(((), this.write_at(to, place)?)));
                written.map_err(Failure::elsewhere)
            });
            self.copy_written(file, place, outcome.is_ok());
            if outcome.is_ok() {
                copied += u64::from(size);
            }
        }
        let closed = self.close_step(from, false);
        let closed = closed.and(self.close_written(target, file, to, true).map_err(Failure::elsewhere));
        target.state().set_file(target.layout(), file, FileState { exists: true, bytes: copied });
        outcome.and(closed).map(|()| copied)
    }

    fn move_file(&mut self, file: u32) -> Result<(), Failure> {
        let lane = self.lane;
        let source = &*lane.tree;
        let Some(target) = lane.destination.as_deref() else { return Err(Errno::INVAL.into()) };
        let above = self.path.iter().rposition(|byte| *byte == b'/').map_or(&b"."[..], |at| &self.path[..at]);
        let proved = lane.checks.as_ref().and_then(|checks| Some((&checks.tree, checks.destination.as_ref()?)));
        let to = open_below(target.anchor(), above, OFlags::PATH | OFlags::DIRECTORY, Mode::empty());
        let to = to.map_err(|errno| {
            proved.iter().for_each(|(from, to)| from.not_renamed(file, to));
            Failure::from(errno).elsewhere()
        })?;
        let renamed = self.in_directory(source, |at, name| rustix::fs::renameat(at, name, &to, name));
        match renamed {
            Err(Errno::XDEV | Errno::NOENT) => proved.iter().for_each(|(from, to)| from.not_renamed(file, to)),
            _ => proved.iter().for_each(|(from, to)| from.renamed(file, to, renamed.is_ok())),
        }
        if renamed == Err(Errno::XDEV) {
            // On another file system it is what Vdbench makes of it: a copy, and the source is deleted.
            self.copy(file)?;
            return self.delete_step(source, file);
        }
        renamed?;
        let moved = source.state().file(file);
        target.state().set_file(target.layout(), file, moved);
        source.state().set_file(source.layout(), file, FileState { exists: false, bytes: 0 });
        self.changed();
        Ok(())
    }

    fn correct_found(&mut self, found: &Found, failure: Failure) {
        if !self.is_of_directories() {
            return self.correct(found.at, failure);
        }
        let (state, layout) = (self.lane.tree.state(), self.lane.tree.layout());
        let exists = match self.need {
            Need::NewDirectory => failure.is(Errno::EXIST),
            _ => !failure.is(Errno::NOENT),
        };
        state.set_directory(layout, found.at, exists);
        if self.need == Need::NewDirectory && failure.is(Errno::NOENT) {
            layout.parent(found.at).into_iter().for_each(|above| state.set_directory(layout, above, false));
        }
        self.changed();
    }

    /// Something failed that was done to a file: what is known of it is looked at again.
    pub(crate) fn correct(&mut self, file: u32, failure: Failure) {
        let lane = self.lane;
        self.tree_path(file);
        let found = look_again(&lane.tree, file, &self.path);
        found.iter().for_each(|found| self.note_looked(&lane.tree, file, *found));
        if let Some(target) = lane.destination.as_deref().filter(|_| failure.is_elsewhere) {
            let found = look_again(target, file, &self.path);
            found.iter().for_each(|found| self.note_looked(target, file, *found));
        }
        self.changed();
    }
}

/// Asks the system what a file is, and whether its directory is there. Gives its size, or that it is not there, where that is known.
fn look_again(tree: &Tree, file: u32, path: &[u8]) -> Option<Option<u64>> {
    let (state, layout) = (tree.state(), tree.layout());
    let found = rustix::fs::statat(tree.anchor(), path, AtFlags::SYMLINK_NOFOLLOW);
    match found {
        Ok(stat) => {
            let bytes = u64::try_from(stat.st_size).unwrap_or(0);
            state.set_file(layout, file, FileState { exists: true, bytes });
            // Something else that has its name is not the file.
            Some(FileType::from_raw_mode(stat.st_mode).is_file().then_some(bytes))
        }
        Err(Errno::NOENT) => {
            state.set_file(layout, file, FileState { exists: false, bytes: 0 });
            let directory = path.iter().rposition(|byte| *byte == b'/').map_or(&b"."[..], |at| &path[..at]);
            let above = rustix::fs::statat(tree.anchor(), directory, AtFlags::SYMLINK_NOFOLLOW);
            if above.err() == Some(Errno::NOENT) {
                state.set_directory(layout, layout.directory_of(file), false);
            }
            Some(None)
        }
        Err(_) => None,
    }
}
