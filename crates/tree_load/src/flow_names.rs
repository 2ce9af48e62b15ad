//! What a flow does with the names of its file, and what it asks for by them.
//!
//! A name that the file has beside its own is made so that nothing is replaced, and only what was made is ever removed.

use super::below::{in_directory, open_below};
use super::flow_data::Place;
use super::flow_file::{FlowFile, FlowSlot};
use super::flow_kinds::Part;
use super::thread::{Failure, TreeThread};
use super::transfers::flags_of;
use super::xattrs::{self, Attributed};
use plan::FlowStep;
use plan::generate::OperationKind;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, RawDir, RenameFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;
use rustix::path::DecInt;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use tree::{LINK, MOVED, SYM, TEMP};

/// What is read of a directory at a time, bytes.
const LISTED: usize = 1 << 15;
/// Room for the value of an attribute, or for a list of them, bytes; more where that is too little.
const ANSWER: usize = 512;
/// Longer than every target of a link that is made here.
const TARGET: usize = 512;

impl TreeThread<'_> {
    /// Calls with the file's directory, its name there, and the name with `suffix` (and a zero behind it, which is no part of the slice).
    #[inline(always)]
    pub(crate) fn at_name<T>(
        &mut self,
        suffix: &'static str,
        call: impl Fn(BorrowedFd<'_>, &CStr, &CStr) -> Result<T, Errno>,
    ) -> Result<T, Failure> {
        let lane = self.lane;
        let mut second = None;
        if !suffix.is_empty() {
            self.second.clear();
            self.second.extend_from_slice(self.path.get(self.name_at..).unwrap_or_default());
            self.second.extend_from_slice(suffix.as_bytes());
            self.second.push(0);
            second = CStr::from_bytes_with_nul(&self.second).ok();
        }
        let place = (&*lane.tree, &mut self.path, self.name_at);
        let outcome = in_directory(&mut self.kept, place, |at, name| call(at, name, second.unwrap_or(name)));
        outcome.map_err(|errno| {
            // Which of its names it was.
            self.path.extend_from_slice(suffix.as_bytes());
            errno.into()
        })
    }

    /// As `at_name`, of calls that do no harm where a link stands above: without the directory where it is not worth it.
    #[inline(always)]
    fn at_path<T>(
        &mut self,
        part: &Part<'_>,
        suffix: &'static str,
        call: impl Fn(BorrowedFd<'_>, &[u8]) -> Result<T, Errno>,
    ) -> Result<T, Failure> {
        let lane = self.lane;
        let is_kept =
            self.kept.directory.as_ref().is_some_and(|kept| kept.holds(&lane.tree, (&self.path, self.name_at)));
        if suffix.is_empty() && !part.uses_directory && !is_kept {
            return Ok(call(lane.tree.anchor(), &self.path)?);
        }
        self.at_name(suffix, |at, _, name| call(at, name.to_bytes()))
    }

    /// Opens what has the file's name with `suffix`.
    pub(crate) fn open_name(
        &mut self,
        part: &Part<'_>,
        suffix: &'static str,
        (flags, mode): (OFlags, Mode),
    ) -> Result<OwnedFd, Failure> {
        self.at_path(part, suffix, |at, name| open_below(at, name, flags, mode))
    }

    /// Makes a file with the file's name and `suffix`.
    pub(crate) fn make_name(&mut self, suffix: &'static str) -> Result<OwnedFd, Failure> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NONBLOCK | flags_of(self.lane.load.open);
        self.at_name(suffix, |at, _, name| open_below(at, name.to_bytes(), flags, Mode::from_raw_mode(0o666)))
    }

    /// The steps before an operation on names.
    pub(crate) fn prepare_names(
        &mut self,
        part: &Part<'_>,
        step: &FlowStep,
        file: &mut FlowFile,
    ) -> Result<(), Failure> {
        use OperationKind as Op;
        match step.op {
            Op::Link if file.has_link => {
                file.has_link = false;
                self.remove_as_step(LINK);
            }
            Op::Symlink if file.has_sym => {
                file.has_sym = false;
                self.remove_as_step(SYM);
            }
            Op::Readlink if !file.has_sym => self.step(Op::Symlink, |this| Ok((this.link_by_name(file)?, 0)))?,
            Op::Getxattr | Op::Removexattr if !file.slot().is_marked => {
                self.prepare_xattr(part, file)?;
                let bytes = self.value_bytes(step);
                self.step(Op::Setxattr, |this| Ok((this.attribute(Op::Setxattr, file, bytes)?, 0)))?;
            }
            Op::Getxattr | Op::Setxattr | Op::Listxattr | Op::Removexattr => self.prepare_xattr(part, file)?,
            _ => {}
        }
        Ok(())
    }

    /// Where attributes are not reached by names, the file must be open.
    fn prepare_xattr(&mut self, part: &Part<'_>, file: &mut FlowFile) -> Result<(), Failure> {
        if file.slot().fd.is_some() || !xattrs::are_names_missing() {
            return Ok(());
        }
        self.step(OperationKind::Open, |this| Ok((this.open_current(part, file)?, 0)))
    }

    /// One operation on names.
    #[inline(always)]
    pub(crate) fn change_names(
        &mut self,
        part: &Part<'_>,
        op: OperationKind,
        file: &mut FlowFile,
        place: Place,
    ) -> Result<(), Failure> {
        use OperationKind as Op;
        match op {
            Op::Create => self.make_file(file),
            Op::Temp => self.make_temp(file),
            Op::Tmpfile => self.make_nameless(part, file),
            Op::Delete => self.delete_current(file),
            Op::Rename if file.has_temp => self.replace(file),
            Op::Rename => self.rename(file),
            Op::Link => self.link(file),
            Op::Symlink => self.link_by_name(file),
            Op::Readlink => self.at_name(SYM, |at, _, name| {
                let mut target = [const { MaybeUninit::<u8>::uninit() }; TARGET];
                rustix::fs::readlinkat_raw(at, name, &mut target).map(drop)
            }),
            Op::Getattr if file.is_nameless => Ok(rustix::fs::fstat(file.main.fd()?).map(|_| ())?),
            Op::Getattr => self.at_path(part, file.suffix(), |at, name| {
                rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW).map(drop)
            }),
            Op::Setattr => self.set_times(file),
            Op::Access if file.is_nameless => Err(Errno::NOENT.into()),
            Op::Access => self.at_path(part, file.suffix(), |at, name| {
                rustix::fs::accessat(at, name, Access::READ_OK, AtFlags::empty())
            }),
            Op::Readdir => self.list_directory(),
            Op::Statfs => Ok(rustix::fs::fstatfs(self.tree().anchor()).map(|_| ())?),
            Op::Getxattr | Op::Setxattr | Op::Listxattr | Op::Removexattr => self.attribute(op, file, place.bytes),
            _ => Err(Errno::NOSYS.into()),
        }
    }

    fn make_nameless(&mut self, part: &Part<'_>, file: &mut FlowFile) -> Result<(), Failure> {
        if file.exists {
            return Err(Errno::EXIST.into());
        }
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC | flags_of(self.lane.load.open);
        let mode = Mode::from_raw_mode(0o666);
        let fd = self.at_name("", |at, _, _| rustix::fs::openat(at, c".", flags, mode))?;
        file.main = FlowSlot::made(fd);
        (file.is_nameless, file.is_linked_at_end, file.next, file.tail) = (true, part.is_alone, 0, 0);
        Ok(())
    }

    /// Gives the file that has no name the one that it is to have.
    pub(crate) fn link(&mut self, file: &mut FlowFile) -> Result<(), Failure> {
        if file.is_nameless {
            let fd = file.main.fd()?;
            self.at_name("", |at, _, name| link_nameless(fd, at, name))?;
            (file.is_nameless, file.exists) = (false, true);
            return Ok(());
        }
        let suffix = file.suffix();
        self.at_name(LINK, |at, own, link| {
            with_suffix(own, suffix, |current| rustix::fs::linkat(at, current, at, link, AtFlags::empty()))
        })?;
        file.has_link = true;
        Ok(())
    }

    fn link_by_name(&mut self, file: &mut FlowFile) -> Result<(), Failure> {
        let suffix = file.suffix();
        self.at_name(SYM, |at, own, link| {
            with_suffix(own, suffix, |current| rustix::fs::symlinkat(current, at, link))
        })?;
        file.has_sym = true;
        Ok(())
    }

    /// To the other name, or back.
    #[inline(always)]
    fn rename(&mut self, file: &mut FlowFile) -> Result<(), Failure> {
        if file.is_nameless {
            return Err(Errno::NOENT.into());
        }
        let is_back = file.is_moved;
        self.at_name(MOVED, |at, own, moved| {
            let (from, to) = if is_back { (moved, own) } else { (own, moved) };
            rename_new(at, from, to)
        })?;
        file.is_moved = !is_back;
        Ok(())
    }

    /// Puts the temporary file in the place of the file.
    fn replace(&mut self, file: &mut FlowFile) -> Result<(), Failure> {
        let (exists, is_moved) = (file.exists, file.is_moved);
        self.at_name(TEMP, |at, own, temp| match (exists, is_moved) {
            (false, _) => rename_new(at, temp, own),
            (true, false) => rustix::fs::renameat(at, temp, at, own),
            (true, true) => with_suffix(own, MOVED, |moved| rustix::fs::renameat(at, temp, at, moved)),
        })?;
        let replaced = std::mem::replace(&mut file.main, std::mem::take(&mut file.temp));
        (file.orphan, file.has_temp, file.exists) = (Some(replaced), false, true);
        Ok(())
    }

    fn delete_current(&mut self, file: &mut FlowFile) -> Result<(), Failure> {
        if file.is_nameless && !file.has_temp {
            return Err(Errno::NOENT.into());
        }
        self.at_name(file.suffix(), |at, _, name| rustix::fs::unlinkat(at, name, AtFlags::empty()))?;
        if std::mem::take(&mut file.has_temp) {
            file.orphan = Some(std::mem::take(&mut file.temp));
        } else {
            (file.exists, file.is_moved, file.main.is_marked) = (false, false, false);
        }
        Ok(())
    }

    fn set_times(&mut self, file: &FlowFile) -> Result<(), Failure> {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        if file.is_nameless {
            return Ok(rustix::fs::futimens(file.main.fd()?, &times)?);
        }
        self.at_name(file.suffix(), |at, _, name| rustix::fs::utimensat(at, name, &times, AtFlags::SYMLINK_NOFOLLOW))
    }

    fn list_directory(&mut self) -> Result<(), Failure> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        self.at_name("", |at, _, _| {
            let directory = open_below(at, b".", flags, Mode::empty())?;
            let mut listed = [const { MaybeUninit::<u8>::uninit() }; LISTED];
            let mut entries = RawDir::new(&directory, &mut listed);
            while let Some(entry) = entries.next() {
                entry?;
            }
            Ok(())
        })
    }

    /// An operation on the attribute; where the file is open, by that.
    #[inline(always)]
    fn attribute(&mut self, op: OperationKind, file: &mut FlowFile, bytes: u64) -> Result<(), Failure> {
        use OperationKind as Op;
        // The kernel clears as much memory as it is offered.
        let bytes = match op {
            Op::Setxattr => usize::try_from(bytes).unwrap_or(usize::MAX),
            _ => usize::try_from(bytes).unwrap_or(usize::MAX).max(ANSWER),
        };
        match self.attribute_of(op, file, bytes) {
            Err(failure) if op != Op::Setxattr && failure.is(Errno::RANGE) => {
                self.attribute_of(op, file, usize::MAX)?
            }
            other => other?,
        }
        if matches!(op, Op::Setxattr | Op::Removexattr) {
            file.slot_mut().is_marked = op == Op::Setxattr;
        }
        Ok(())
    }

    /// The same with so many bytes of memory, or all that there are.
    #[inline(always)]
    fn attribute_of(&mut self, op: OperationKind, file: &FlowFile, bytes: usize) -> Result<(), Failure> {
        let mut memory = std::mem::take(&mut self.memory);
        let most = memory.len().min(bytes);
        let buffer = memory.get_mut(..most).unwrap_or_default();
        let cell = std::cell::RefCell::new(buffer);
        let outcome = match &file.slot().fd {
            Some(fd) => xattrs::call(op, Attributed::Open(std::os::fd::AsFd::as_fd(fd)), &mut cell.borrow_mut())
                .map_err(Failure::from),
            None => self.at_name(file.suffix(), |at, _, name| {
                xattrs::call(op, Attributed::Named(at, name), &mut cell.borrow_mut())
            }),
        };
        self.memory = memory;
        outcome
    }

    /// Removes a name that was made by this part of a flow.
    pub(crate) fn remove_as_step(&mut self, suffix: &'static str) {
        let length = self.path.len();
        let removed = self.step(OperationKind::Delete, |this| {
            this.at_name(suffix, |at, _, name| rustix::fs::unlinkat(at, name, AtFlags::empty()))?;
            Ok(((), 0))
        });
        if let Err(failure) = removed {
            self.note_failure(failure);
        }
        self.path.truncate(length);
    }

    /// Gives the file its own name again.
    pub(crate) fn rename_back(&mut self, file: &mut FlowFile) {
        if let Err(failure) = self.step(OperationKind::Rename, |this| Ok((this.rename(file)?, 0))) {
            self.note_failure(failure);
            // What has its name now, if anything, is looked at.
            file.failed.get_or_insert(failure);
        }
    }

    /// Gives a file that has no name the one that it is to have, where nothing else does.
    pub(crate) fn link_as_step(&mut self, file: &mut FlowFile) {
        if let Err(failure) = self.step(OperationKind::Link, |this| Ok((this.link(file)?, 0))) {
            self.note_failure(failure);
            file.failed.get_or_insert(failure);
        }
    }
}

/// Calls with a name and what is behind it.
fn with_suffix<T>(name: &CStr, suffix: &str, call: impl FnOnce(&[u8]) -> Result<T, Errno>) -> Result<T, Errno> {
    let name = name.to_bytes();
    let mut whole = [0_u8; 256];
    let length = name.len() + suffix.len();
    let Some(room) = whole.get_mut(..length) else { return Err(Errno::NAMETOOLONG) };
    let (front, back) = room.split_at_mut(name.len());
    front.copy_from_slice(name);
    back.copy_from_slice(suffix.as_bytes());
    call(room)
}

/// Renames, and replaces nothing. Some network file systems cannot be told that: there it is looked before.
#[inline(always)]
fn rename_new(at: BorrowedFd<'_>, from: &CStr, to: &CStr) -> Result<(), Errno> {
    match rustix::fs::renameat_with(at, from, at, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => look_and_rename(at, from, to),
        other => other,
    }
}

#[cold]
fn look_and_rename(at: BorrowedFd<'_>, from: &CStr, to: &CStr) -> Result<(), Errno> {
    match rustix::fs::statat(at, to, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => rustix::fs::renameat(at, from, at, to),
        Err(errno) => Err(errno),
    }
}

/// Gives an open file without a name one; without a privilege that needs Linux 6.10, or `/proc`.
fn link_nameless(fd: BorrowedFd<'_>, at: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    match rustix::fs::linkat(fd, c"", at, name, AtFlags::EMPTY_PATH) {
        Err(Errno::NOENT) => {}
        other => return other,
    }
    let number = DecInt::from_fd(fd);
    let mut path = [0_u8; 40];
    let text = [b"/proc/self/fd/".as_slice(), number.as_bytes()];
    let mut length = 0;
    for part in text {
        let Some(room) = path.get_mut(length..length + part.len()) else { return Err(Errno::NAMETOOLONG) };
        room.copy_from_slice(part);
        length += part.len();
    }
    rustix::fs::linkat(CWD, path.get(..length).unwrap_or_default(), at, name, AtFlags::SYMLINK_FOLLOW)
}
