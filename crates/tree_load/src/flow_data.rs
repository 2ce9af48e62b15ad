//! What a flow does with the data of its file.

use super::direct::through;
use super::flow_file::FlowFile;
use super::flow_kinds::is_at_next_place;
use super::thread::{Failure, TreeThread};
use super::tickets::{below, chance};
use mapping::Mapping;
use plan::FlowStep;
use plan::generate::OperationKind;
use rustix::fs::{FallocateFlags, FlockOperation};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// What an operation is about, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Of a whole file, what is moved at a time.
    pub(crate) each: u64,
}

impl Place {
    pub(crate) fn new(offset: u64, bytes: u64) -> Self {
        Self { offset, bytes, each: bytes }
    }

    fn transfer(self) -> (u64, u32) {
        (self.offset, u32::try_from(self.bytes).unwrap_or(u32::MAX))
    }
}

/// The system copies no more at a time, so that a copy can be ended.
const COPIED: usize = 64 << 20;

impl TreeThread<'_> {
    /// Where the next operation goes, with its data in memory where it writes.
    pub(crate) fn flow_place(&mut self, step: &FlowStep, file: &FlowFile) -> Place {
        use OperationKind as Op;
        let (held, asked) = match file.found {
            Some(found) => (file.slot().bytes, self.tree().layout().asked_bytes(found.at)),
            None => (0, 0),
        };
        let place = match step.op {
            Op::Read | Op::MmapRead | Op::MmapWrite => self.next_in(step, file.next, held),
            Op::Write => self.next_in(step, file.next, held.max(asked)),
            Op::Append => Place::new(held, self.step_bytes(step.bytes)),
            Op::ReadFile => Place { offset: 0, bytes: held, each: self.step_bytes(step.bytes).max(1) },
            Op::WriteFile => Place { offset: 0, bytes: asked, each: self.step_bytes(step.bytes).max(1) },
            Op::CopyRange => Place::new(0, file.main.bytes),
            Op::Tail => Place::new(if file.tail > held { 0 } else { file.tail }, self.step_bytes(step.bytes)),
            Op::Truncate => Place::new(step.bytes.map_or(0, |bytes| self.step_bytes(Some(bytes))), 0),
            Op::Fallocate => Place::new(0, step.bytes.map_or(asked, |bytes| self.step_bytes(Some(bytes))).max(1)),
            Op::Punch => {
                let size = self.step_bytes(step.bytes).max(1);
                let at = below(chance(self.seed ^ 0x7075_6e63, self.transfers), (held / size).max(1));
                Place::new(at * size, size)
            }
            Op::Setxattr => Place::new(0, self.value_bytes(step)),
            _ => Place::new(0, 0),
        };
        if step.op.moves_data() && step.op.changes_data() && step.op != Op::CopyRange {
            let first = Place { bytes: place.bytes.min(place.each), ..place };
            self.fill(file.number(), first.transfer());
        }
        place
    }

    /// How large the value of an attribute is.
    pub(crate) fn value_bytes(&mut self, step: &FlowStep) -> u64 {
        step.bytes.map_or(32, |bytes| self.step_bytes(Some(bytes)))
    }

    /// A transfer behind the one before, from the beginning again at the end; or anywhere.
    fn next_in(&mut self, step: &FlowStep, next: u64, limit: u64) -> Place {
        let size = self.step_bytes(step.bytes).max(1);
        if limit == 0 {
            let is_write = step.op == OperationKind::Write;
            return Place::new(0, if is_write { size } else { 0 });
        }
        let offset = match self.lane.is_sequential() {
            true if next < limit => next,
            true => 0,
            false if size > limit => 0,
            false => below(chance(self.seed, self.transfers), limit / size) * size,
        };
        Place::new(offset, size.min(limit - offset))
    }

    /// Moves the data of an operation; gives the number of bytes.
    pub(crate) fn move_data(&mut self, op: OperationKind, file: &mut FlowFile, place: Place) -> Result<u64, Failure> {
        use OperationKind as Op;
        if op == Op::CopyRange {
            return self.copy_range(file, place.bytes);
        }
        if op == Op::Tail {
            return self.read_tail(file, place);
        }
        if matches!(op, Op::MmapRead | Op::MmapWrite) {
            self.map(file, op == Op::MmapWrite, place)?;
        } else {
            let fd = file.slot().fd()?;
            match op {
                Op::ReadFile => return self.read_file(fd, place),
                Op::WriteFile => drop(self.write_file(file, place)?),
                Op::Read => drop(self.read_at(fd, place.transfer())?),
                _ => drop(self.write_at(fd, place.transfer())?),
            }
        }
        let end = place.offset + place.bytes;
        if is_at_next_place(op) {
            file.next = end;
        }
        if op.changes_data() {
            let slot = file.slot_mut();
            (slot.bytes, slot.has_written) = (slot.bytes.max(end), true);
        }
        Ok(place.bytes)
    }

    fn read_tail(&mut self, file: &mut FlowFile, place: Place) -> Result<u64, Failure> {
        let (fd, is_buffered) = (file.slot().fd()?, &self.lane.is_buffered);
        let buffer = self.buffer(u32::try_from(place.bytes).unwrap_or(u32::MAX));
        let moved = through(fd, is_buffered, |fd| rustix::io::pread(fd, &mut *buffer, place.offset))? as u64;
        file.tail = place.offset + moved;
        Ok(moved)
    }

    /// An operation of many transfers ends between two of them when the run is to end at once, or is over for longer than its last
    /// operations may take to begin.
    fn check_abort(&self) -> Result<(), Failure> {
        let run = &self.all.run;
        if run.goes_on() {
            return Ok(());
        }
        let is_late = run.stopped_at_ns().is_some_and(|at_ns| self.now_ns() > at_ns + 10 * run.last_call_ns());
        if run.is_aborted() || is_late { Err(Errno::INTR.into()) } else { Ok(()) }
    }

    /// Has the system copy a file into its temporary one.
    fn copy_range(&self, file: &mut FlowFile, bytes: u64) -> Result<u64, Failure> {
        let (source, target) = (file.main.fd()?, file.temp.fd()?);
        let (mut from, mut to) = (0, 0);
        while from < bytes {
            self.check_abort()?;
            let left = usize::try_from(bytes - from).unwrap_or(usize::MAX);
            if rustix::fs::copy_file_range(source, Some(&mut from), target, Some(&mut to), left.min(COPIED))? == 0 {
                // It is shorter than was known.
                let result = i32::try_from(from).unwrap_or(i32::MAX);
                return Err(Failure { result, step: None, is_elsewhere: false });
            }
        }
        (file.temp.bytes, file.temp.has_written) = (to, true);
        Ok(to)
    }

    fn read_file(&mut self, fd: BorrowedFd<'_>, place: Place) -> Result<u64, Failure> {
        let mut done = 0;
        while done < place.bytes {
            self.check_abort()?;
            let part = Place::new(done, place.each.min(place.bytes - done));
            done += self.read_at(fd, part.transfer())?;
        }
        Ok(done)
    }

    fn write_file(&mut self, file: &FlowFile, place: Place) -> Result<u64, Failure> {
        let fd = file.slot().fd()?;
        let mut done = 0;
        while done < place.bytes {
            self.check_abort()?;
            let part = Place::new(done, place.each.min(place.bytes - done)).transfer();
            if done > 0 {
                self.fill(file.number(), part);
            }
            done += self.write_at(fd, part)?;
        }
        Ok(done)
    }

    /// One transfer through a mapping, which lasts as long as the file is open.
    fn map(&mut self, file: &mut FlowFile, writes: bool, place: Place) -> Result<(), Failure> {
        let slot = file.slot_mut();
        let end = place.offset + place.bytes;
        if end == 0 {
            return Ok(());
        }
        let mapping = match slot.mapping.take().filter(|mapping| mapping.bytes() >= end) {
            Some(mapping) => mapping,
            None => Mapping::once(slot.fd()?, slot.bytes, (true, slot.is_writable)).map_err(|error| {
                let errno = error.source.raw_os_error().unwrap_or(libc::EIO);
                Failure::from(Errno::from_raw_os_error(errno))
            })?,
        };
        let buffer = self.buffer(place.transfer().1);
        let result = match writes {
            true => mapping.write(place.offset, buffer),
            false => mapping.read(place.offset, buffer),
        };
        if result < 0 {
            return Err(Errno::from_raw_os_error(-result).into());
        }
        slot.mapping = Some(mapping);
        Ok(())
    }

    /// Operations on an open file that move no data.
    pub(crate) fn change_data(&mut self, op: OperationKind, file: &mut FlowFile, place: Place) -> Result<(), Failure> {
        use OperationKind as Op;
        if op == Op::Reflink {
            rustix::fs::ioctl_ficlone(file.temp.fd()?, file.main.fd()?)?;
            file.temp.bytes = file.main.bytes;
            return Ok(());
        }
        let slot = file.slot_mut();
        let fd = slot.fd()?;
        match op {
            Op::Fsync => rustix::fs::fsync(fd)?,
            Op::Fdatasync => rustix::fs::fdatasync(fd)?,
            Op::Flock => rustix::io::retry_on_intr(|| rustix::fs::flock(fd, FlockOperation::LockExclusive))?,
            Op::Truncate => {
                rustix::fs::ftruncate(fd, place.offset)?;
                (slot.bytes, slot.mapping) = (place.offset, None);
            }
            Op::Fallocate => {
                rustix::fs::fallocate(fd, FallocateFlags::empty(), 0, place.bytes)?;
                slot.bytes = slot.bytes.max(place.bytes);
            }
            Op::Punch => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(fd, flags, place.offset, place.bytes)?;
            }
            _ => return Err(Errno::NOSYS.into()),
        }
        slot.has_written |= op.changes_data();
        Ok(())
    }

    /// What was written is made durable where it is the turn of that.
    pub(crate) fn after_write(&mut self, op: OperationKind, file: &mut FlowFile, place: Place) {
        let writes = match op {
            OperationKind::Write | OperationKind::Append | OperationKind::MmapWrite => 1,
            OperationKind::WriteFile => place.bytes.div_ceil(place.each.max(1)),
            _ => return,
        };
        let slot = file.slot_mut();
        let mut unsynced = slot.unsynced;
        if let Some(fd) = &slot.fd {
            self.sync_after_write(None, std::os::fd::AsFd::as_fd(fd), (&mut unsynced, writes));
        }
        slot.unsynced = unsynced;
    }
}
