//! The reading of all that must be there of a tree: that each file exists that must, has its size and its data, and that those that were
//! deleted are gone.

use super::below::open_entry;
use super::checks::TreeChecks;
use super::direct::through;
use super::thread::{Failure, Performed, TreeThread};
use super::tickets::Ticket;
use super::transfers::{flags_of, whole};
use plan::generate::OperationKind;
use rustix::fs::{Advice, AtFlags, FileType, Mode, OFlags, fadvise};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use validation::{FileMust, FoundBy};

/// Transfers past the page cache are multiples of this.
const DIRECT_BYTES: u32 = 4096;

impl TreeThread<'_> {
    /// A thread's part of reading all that must be there.
    pub(crate) fn run_sweep(&mut self, checks: &TreeChecks) {
        while self.may_go_on()
            && let Ok(file) = u32::try_from(self.lane.phases.piece())
            && file < checks.tree.file_count()
        {
            let goes_on = match checks.tree.must(file) {
                FileMust::Unknown => true,
                FileMust::Gone => self.sweep_gone(checks, file),
                FileMust::There(_) => self.sweep_file(checks, file),
            };
            if !goes_on {
                break;
            }
        }
    }

    /// Of a file that was deleted. False: the run is over.
    fn sweep_gone(&mut self, checks: &TreeChecks, file: u32) -> bool {
        self.tree_path(file);
        let tree = &*self.lane.tree;
        let mut there = None;
        let looked = self.format_step(OperationKind::Getattr, (0, 0), |this| {
            match this.in_directory(tree, |at, name| rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)) {
                // Something else that has its name is not the file.
                Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => {
                    there = Some(u64::try_from(stat.st_size).unwrap_or(0));
                }
                Ok(_) => {}
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
            Ok(0)
        });
        if let Some(bytes) = there {
            self.damaged(checks.tree.found(file, bytes, FoundBy::Sweep));
        }
        if let Some(Ok(_)) = looked {
            checks.tree.note_swept_file();
        }
        looked.is_some()
    }

    /// Of a file that must be there and is not, or something else is. The run goes on.
    fn sweep_lacking(&self, checks: &TreeChecks, file: u32) -> bool {
        self.damaged(checks.tree.lacking(file, FoundBy::Sweep));
        checks.tree.note_swept_file();
        true
    }

    /// Of a file that must be there. False: the run is over.
    fn sweep_file(&mut self, checks: &TreeChecks, file: u32) -> bool {
        self.tree_path(file);
        let fd = match self.step(OperationKind::Open, |this| Ok((this.open_to_sweep()?, 0))) {
            Ok(fd) => fd,
            // A link, a socket or a part of the path that is no directory: what is there is not the file.
            Err(failure)
                if [Errno::NOENT, Errno::LOOP, Errno::NOTDIR, Errno::NXIO].iter().any(|one| failure.is(*one)) =>
            {
                return self.sweep_lacking(checks, file);
            }
            Err(failure) => {
                let ticket = Ticket { kind: OperationKind::Read, due_ns: self.free_ns };
                return !matches!(self.perform(ticket, (0, 0), |_| Err(failure)), Performed::Refused);
            }
        };
        let stat = rustix::fs::fstat(&fd);
        if stat.is_ok_and(|stat| !FileType::from_raw_mode(stat.st_mode).is_file()) {
            let _ = self.close_step(fd, false);
            return self.sweep_lacking(checks, file);
        }
        let bytes = stat.map(|stat| u64::try_from(stat.st_size).unwrap_or(0));
        if let Ok(bytes) = bytes {
            self.damaged(checks.tree.found(file, bytes, FoundBy::Sweep));
            checks.tree.note_swept_file();
        }
        let (bytes, most) = (bytes.unwrap_or(0), self.transfer_size());
        let mut offset = 0;
        let mut goes_on = true;
        while offset < bytes && goes_on {
            let length = u32::try_from(most.min(bytes - offset)).unwrap_or(u32::MAX);
            goes_on = self.sweep_part(checks, (file, fd.as_fd()), (offset, length)) && self.may_go_on();
            offset += u64::from(length);
        }
        let _ = self.close_step(fd, false);
        goes_on
    }

    /// Reads a part of a file of which something is known. False: the run is over.
    fn sweep_part(&mut self, checks: &TreeChecks, (file, fd): (u32, BorrowedFd<'_>), place: (u64, u32)) -> bool {
        let range = (place.0, u64::from(place.1));
        if !checks.tree.knows(file, range) || !checks.tree.take(file, range) {
            return true;
        }
        stamp::poison(self.buffer(place.1));
        let lane = self.lane;
        let read = self.format_step(OperationKind::Read, place, |this| {
            // The end of a file may be no multiple of what the device reads.
            let asked = place.1.next_multiple_of(DIRECT_BYTES);
            let buffer = this.buffer(asked);
            let moved = through(fd, &lane.is_buffered, |fd| rustix::io::pread(fd, &mut *buffer, place.0))?;
            whole(moved.min(place.1 as usize), place.1)
        });
        if let Some(Ok(_)) = read {
            let of = (file, place.0);
            let damaged = checks.check(of, (fd, &lane.is_buffered), self.buffer(place.1), FoundBy::Sweep);
            self.damaged(damaged);
            checks.tree.note_swept(file, range);
        }
        checks.tree.release(file, range);
        read.is_some()
    }

    /// Opens a file past the page cache; where that cannot be, what the cache has of it is written out and dropped.
    fn open_to_sweep(&mut self) -> Result<OwnedFd, Failure> {
        let lane = self.lane;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let open =
            |flags: OFlags| move |at: BorrowedFd<'_>, name: &std::ffi::CStr| open_entry(at, name, flags, Mode::empty());
        let direct = flags | flags_of(lane.load.open);
        match self.in_directory(&lane.tree, open(direct)) {
            // Some cannot be opened past the page cache, and directories never.
            Err(Errno::INVAL) => {}
            opened => return Ok(opened?),
        }
        let fd = self.in_directory(&lane.tree, open(flags))?;
        rustix::fs::fdatasync(&fd)?;
        let _ = fadvise(&fd, 0, None, Advice::DontNeed);
        Ok(fd)
    }
}
