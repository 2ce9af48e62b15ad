//! The file of a part of a flow: what is open, and which names it has beside its own.

use super::find::Found;
use super::flow_kinds::{Part, needs_open};
use super::lane::TreeLane;
use super::thread::{Failure, TreeThread};
use super::transfers::{flags_of, is_alone};
use mapping::Mapping;
use plan::FlowStep;
use plan::generate::OperationKind;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use tree::{FileState, LINK, MOVED, SYM, TEMP};

/// A file that is or may be open.
#[derive(Debug, Default)]
pub(crate) struct FlowSlot {
    pub(crate) fd: Option<OwnedFd>,
    /// As large as it is, as far as is known.
    pub(crate) bytes: u64,
    pub(crate) is_writable: bool,
    pub(crate) has_written: bool,
    pub(crate) mapping: Option<Mapping>,
    /// Writes since the last one that was made durable.
    pub(crate) unsynced: u64,
    /// It has the attribute that is asked for.
    pub(crate) is_marked: bool,
}

impl FlowSlot {
    /// One that was just made.
    pub(crate) fn made(fd: OwnedFd) -> Self {
        Self { fd: Some(fd), is_writable: true, ..Self::default() }
    }

    pub(crate) fn fd(&self) -> Result<BorrowedFd<'_>, Failure> {
        self.fd.as_ref().map(|fd| fd.as_fd()).ok_or_else(|| Errno::BADF.into())
    }
}

/// The file of a part of a flow.
#[derive(Debug)]
pub(crate) struct FlowFile {
    pub(crate) found: Option<Found>,
    /// Of the file's own path.
    pub(crate) path_len: usize,
    /// What was known when the part began.
    before: FileState,
    /// It is there, under its own name or the other one.
    pub(crate) exists: bool,
    /// Under the other one.
    pub(crate) is_moved: bool,
    /// It is open and has no name.
    pub(crate) is_nameless: bool,
    /// And is to have one when the part ends.
    pub(crate) is_linked_at_end: bool,
    pub(crate) main: FlowSlot,
    /// There is a temporary file, and what is done is done to it.
    pub(crate) has_temp: bool,
    pub(crate) temp: FlowSlot,
    /// Open files that have no name any more.
    pub(crate) orphan: Option<FlowSlot>,
    pub(crate) has_link: bool,
    pub(crate) has_sym: bool,
    /// Where the next transfer begins, when they follow each other, and where `tail` goes on.
    pub(crate) next: u64,
    pub(crate) tail: u64,
    /// What the others fail with.
    pub(crate) failed: Option<Failure>,
}

impl FlowFile {
    /// Where there is none.
    pub(crate) fn none() -> Self {
        Self::of(None, 0, FileState { exists: false, bytes: 0 })
    }

    fn of(found: Option<Found>, path_len: usize, before: FileState) -> Self {
        Self {
            found,
            path_len,
            before,
            exists: before.exists,
            is_moved: false,
            is_nameless: false,
            is_linked_at_end: false,
            main: FlowSlot { bytes: before.bytes, ..FlowSlot::default() },
            has_temp: false,
            temp: FlowSlot::default(),
            orphan: None,
            has_link: false,
            has_sym: false,
            next: 0,
            tail: 0,
            failed: None,
        }
    }

    /// One that was found and is taken.
    pub(crate) fn new(lane: &TreeLane, found: Found, path_len: usize) -> Self {
        let at = found.at as usize;
        let mut this = Self::of(Some(found), path_len, lane.tree.state().file(found.at));
        this.next = lane.left_at.as_ref().and_then(|left| left.get(at)).map_or(0, |left| left.load(Ordering::Relaxed));
        let memory = &lane.flow;
        this.tail = memory.tails.as_ref().and_then(|all| all.get(at)).map_or(0, |tail| tail.load(Ordering::Relaxed));
        let marks = memory.marks.as_ref().and_then(|all| all.get(at));
        this.main.is_marked = marks.is_some_and(|mark| mark.load(Ordering::Relaxed));
        this
    }

    /// What is behind the file's name in the name that is worked on.
    pub(crate) fn suffix(&self) -> &'static str {
        match (self.has_temp, self.is_moved) {
            (true, _) => TEMP,
            (false, true) => MOVED,
            (false, false) => "",
        }
    }

    /// What is worked on.
    pub(crate) fn slot(&self) -> &FlowSlot {
        if self.has_temp { &self.temp } else { &self.main }
    }

    pub(crate) fn slot_mut(&mut self) -> &mut FlowSlot {
        if self.has_temp { &mut self.temp } else { &mut self.main }
    }

    /// Number in the tree.
    pub(crate) fn number(&self) -> u32 {
        self.found.map_or(0, |found| found.at)
    }
}

impl TreeThread<'_> {
    /// The steps that an operation needs before it.
    pub(crate) fn prepare(&mut self, part: &Part<'_>, step: &FlowStep, file: &mut FlowFile) -> Result<(), Failure> {
        use OperationKind as Op;
        let op = step.op;
        match op {
            Op::Open if file.slot().fd.is_some() => self.close_as_step(file),
            Op::Create | Op::Tmpfile if file.main.fd.is_some() => {
                let slot = std::mem::take(&mut file.main);
                self.close_slot(slot);
                file.is_nameless = false;
            }
            Op::Temp if file.has_temp => self.drop_temp(file),
            Op::Close if file.main.fd.is_some() => {}
            Op::CopyRange | Op::Reflink => {
                let on_temp = std::mem::replace(&mut file.has_temp, false);
                let opened = if file.main.fd.is_none() { self.open_as_step(part, file, false) } else { Ok(()) };
                file.has_temp = on_temp;
                opened?;
                if !file.has_temp {
                    self.step(Op::Temp, |this| Ok((this.make_temp(file)?, 0)))?;
                } else if file.temp.fd.is_none() {
                    self.open_as_step(part, file, true)?;
                }
            }
            _ if needs_open(op) && file.slot().fd.is_none() => {
                let writes = part.writes || file.has_temp;
                if op == Op::WriteFile && !file.exists && !file.has_temp {
                    self.step(Op::Create, |this| Ok((this.make_file(file)?, 0)))?;
                } else {
                    self.open_as_step(part, file, writes)?;
                }
            }
            _ => {}
        }
        match op {
            // What is mapped must have bytes.
            Op::MmapWrite if file.slot().bytes == 0 => {
                let asked = self.tree().layout().asked_bytes(file.number()).max(1);
                self.step(Op::Truncate, |_| {
                    rustix::fs::ftruncate(file.slot().fd()?, asked)?;
                    Ok(((), 0))
                })?;
                file.slot_mut().bytes = asked;
                Ok(())
            }
            _ => self.prepare_names(part, step, file),
        }
    }

    fn open_as_step(&mut self, part: &Part<'_>, file: &mut FlowFile, writes: bool) -> Result<(), Failure> {
        self.step(OperationKind::Open, |this| Ok((this.open_slot((part, writes), file)?, 0)))
    }

    /// Opens what is worked on.
    pub(crate) fn open_current(&mut self, part: &Part<'_>, file: &mut FlowFile) -> Result<(), Failure> {
        let writes = part.writes || file.has_temp;
        self.open_slot((part, writes), file)
    }

    /// What is to be written must be a file that has no name but ours.
    fn open_slot(&mut self, (part, writes): (&Part<'_>, bool), file: &mut FlowFile) -> Result<(), Failure> {
        let access = if writes { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = access | flags_of(self.lane.load.open) | OFlags::NONBLOCK;
        let fd = self.open_name(part, file.suffix(), (flags, Mode::empty()))?;
        let stat = rustix::fs::fstat(&fd)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Errno::NOTSUP.into());
        }
        if writes {
            let most = if file.has_link { 2 } else { 1 };
            self.at_name(file.suffix(), |at, _, name| is_alone((at, name), &stat, most))?;
        }
        let slot = file.slot_mut();
        (slot.fd, slot.bytes) = (Some(fd), u64::try_from(stat.st_size).unwrap_or(0));
        (slot.is_writable, slot.has_written, slot.unsynced) = (writes, false, 0);
        Ok(())
    }

    /// Makes the file, and leaves it open.
    pub(crate) fn make_file(&mut self, file: &mut FlowFile) -> Result<(), Failure> {
        if file.is_moved {
            return Err(Errno::EXIST.into());
        }
        let fd = self.make_name("")?;
        file.main = FlowSlot::made(fd);
        (file.exists, file.next, file.tail) = (true, 0, 0);
        Ok(())
    }

    /// Makes the temporary file, and leaves it open.
    pub(crate) fn make_temp(&mut self, file: &mut FlowFile) -> Result<(), Failure> {
        let fd = self.make_name(TEMP)?;
        file.temp = FlowSlot::made(fd);
        file.has_temp = true;
        Ok(())
    }

    /// The `close` of a flow.
    pub(crate) fn close_now(&mut self, file: &mut FlowFile) -> Result<(), Failure> {
        let is_temp = file.has_temp && file.temp.fd.is_some();
        let slot = if is_temp { &mut file.temp } else { &mut file.main };
        slot.mapping = None;
        let Some(fd) = slot.fd.take() else { return Err(Errno::BADF.into()) };
        let syncs = std::mem::take(&mut slot.has_written) && self.lane.load.open.fsync_at_end;
        let synced = if syncs { rustix::fs::fsync(&fd) } else { Ok(()) };
        drop(fd);
        if !is_temp {
            file.is_nameless = false;
        }
        Ok(synced?)
    }

    fn close_as_step(&mut self, file: &mut FlowFile) {
        if let Err(failure) = self.step(OperationKind::Close, |this| Ok((this.close_now(file)?, 0))) {
            self.note_failure(failure);
        }
    }

    /// Closes a file that is not worked on any more.
    pub(crate) fn close_slot(&mut self, slot: FlowSlot) {
        drop(slot.mapping);
        if let Some(fd) = slot.fd
            && let Err(failure) = self.close_step(fd, slot.has_written)
        {
            self.note_failure(failure);
        }
    }

    /// Closes the temporary file and removes it.
    fn drop_temp(&mut self, file: &mut FlowFile) {
        let slot = std::mem::take(&mut file.temp);
        self.close_slot(slot);
        if std::mem::take(&mut file.has_temp) {
            self.remove_as_step(TEMP);
        }
    }

    /// Leaves everything as it was but for what the operations did, and gives the file back.
    pub(crate) fn end_part(&mut self, mut file: FlowFile) {
        self.path.truncate(file.path_len);
        file.orphan.take().into_iter().for_each(|slot| self.close_slot(slot));
        self.drop_temp(&mut file);
        if file.is_nameless && file.is_linked_at_end {
            self.link_as_step(&mut file);
        }
        let main = FlowSlot { bytes: file.main.bytes, is_marked: file.main.is_marked, ..FlowSlot::default() };
        let open = std::mem::replace(&mut file.main, main);
        self.close_slot(open);
        if file.has_link {
            self.remove_as_step(LINK);
        }
        if file.has_sym {
            self.remove_as_step(SYM);
        }
        if file.is_moved {
            self.rename_back(&mut file);
        }
        self.path.truncate(file.path_len);
        let Some(found) = file.found else { return };
        self.remember(&file, found.at);
        if let Some(failure) = file.failed {
            self.correct(found.at, failure);
        }
        self.release(&found);
    }

    /// Notes what became of the file.
    fn remember(&mut self, file: &FlowFile, at: u32) {
        let (lane, index) = (self.lane, at as usize);
        let now = FileState { exists: file.exists, bytes: if file.exists { file.main.bytes } else { 0 } };
        if now != file.before {
            self.remember_size(at, file.before, now);
        }
        if let Some(left) = lane.left_at.as_ref().and_then(|left| left.get(index)) {
            left.store(file.next, Ordering::Relaxed);
        }
        if let Some(tail) = lane.flow.tails.as_ref().and_then(|all| all.get(index)) {
            tail.store(file.tail, Ordering::Relaxed);
        }
        if let Some(mark) = lane.flow.marks.as_ref().and_then(|all| all.get(index)) {
            mark.store(file.main.is_marked && file.exists && file.failed.is_none(), Ordering::Relaxed);
        }
    }

    fn remember_size(&mut self, at: u32, before: FileState, now: FileState) {
        let (state, layout) = (self.tree().state(), self.tree().layout());
        // Of what several threads know that share it, the larger size holds.
        let is_shared = self.lane.shared.is_some();
        if !is_shared || now.bytes > state.file(at).bytes {
            state.set_file(layout, at, now);
        }
        if now.exists != before.exists {
            self.recent.note(at, now.exists);
            self.changed();
        }
    }
}
