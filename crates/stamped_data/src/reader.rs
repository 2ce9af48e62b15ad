//! Reads a target past the page cache, as far as that works, and goes on behind what cannot be read.

use super::error::StampedDataError;
use plan::{OpenFlags, TargetSpec};
use rustix::fd::AsFd as _;
use rustix::fs::{Advice, SeekFrom, fadvise, seek};
use rustix::io::{Errno, pread};
use std::ops::Range;
use std::path::Path;
use target::{ErrorKind, OpenTarget, TargetAccess, TargetError, TargetKind, WritePolicy, open_with};

/// Direct I/O into buffers at multiples of this works on every device.
const ALIGN: usize = 4096;
/// Parts of a file are read or left out in multiples of this.
pub(super) const GRAIN: u64 = 1 << 20;
/// Parts of a file that are told apart: beyond, all of it is read.
const RANGES_MAX: usize = 1 << 20;

/// An open target.
#[derive(Debug)]
pub(super) struct TargetReader {
    pub(super) opened: OpenTarget,
}

/// The specification of a target that a command line names.
pub(super) fn spec_of(path: &Path, open: OpenFlags) -> TargetSpec {
    TargetSpec { open, ..TargetSpec::of_path(path) }
}

/// Without the advice to make the file, which only a load does.
pub(super) fn not_there(error: TargetError) -> StampedDataError {
    let path = error.path.display();
    match error.kind {
        ErrorKind::NotFound => {
            StampedDataError::Io(format!("{path} does not exist: name the device or file that a load has written"))
        }
        ErrorKind::Empty => StampedDataError::Io(format!("{path} is empty: nothing was written there")),
        _ => StampedDataError::Target(error),
    }
}

/// A buffer for direct I/O.
#[derive(Debug)]
pub(super) struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
}

impl AlignedBuffer {
    /// Of at least so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let memory = vec![0; bytes.next_multiple_of(ALIGN) + ALIGN];
        let start = memory.as_ptr().align_offset(ALIGN).min(ALIGN);
        Self { memory, start }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        let end = self.memory.len() - (ALIGN - self.start);
        &mut self.memory[self.start..end]
    }
}

impl TargetReader {
    /// Opens a target with direct I/O, or, where its file system has none, through the page cache, which is emptied first.
    ///
    /// # Errors
    /// Those of `target::open_with`.
    pub(super) fn open(path: &Path, access: TargetAccess, policy: &WritePolicy) -> Result<Self, StampedDataError> {
        let flags = OpenFlags { direct: true, ..OpenFlags::default() };
        let open = |flags: OpenFlags| open_with(&spec_of(path, flags), &[flags], access, policy);
        let opened = match open(flags) {
            Err(TargetError { kind: ErrorKind::NoDirect { .. }, .. }) => open(OpenFlags::default()),
            opened => opened,
        };
        let opened = opened.map_err(not_there)?;
        if matches!(opened.kind, TargetKind::Zeroes | TargetKind::Nothing) {
            let message = format!("{} holds nothing that could be stamped: name a device or a file", path.display());
            return Err(StampedDataError::Parameter(message));
        }
        let reader = Self { opened };
        reader.forget_pages();
        Ok(reader)
    }

    /// Bytes of the target.
    pub(super) fn size(&self) -> u64 {
        self.opened.size_bytes
    }

    /// Is it a device?
    pub(super) fn is_device(&self) -> bool {
        matches!(self.opened.kind, TargetKind::BlockDevice { .. })
    }

    /// Does what is read come from the target itself?
    pub(super) fn is_direct(&self) -> bool {
        self.opened.direct
    }

    /// What stands in the page cache is not what is to be checked.
    pub(super) fn forget_pages(&self) {
        if !self.opened.direct {
            let _ = OpenTarget::leave_cache(self.opened.as_fd());
            let _ = fadvise(self.opened.as_fd(), 0, None, Advice::Sequential);
        }
    }

    /// The parts that hold data, in multiples of [`GRAIN`]; all of it where that cannot be known.
    pub(super) fn data_ranges(&self) -> Vec<Range<u64>> {
        let size = self.size();
        let whole = Vec::from_iter([Range { start: 0, end: size }]);
        if self.is_device() {
            return whole;
        }
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut at = 0;
        while at < size {
            let from = match seek(self.opened.as_fd(), SeekFrom::Data(at)) {
                Ok(from) => from,
                // Nothing behind.
                Err(Errno::NXIO) => break,
                Err(_) => return whole,
            };
            let Ok(end) = seek(self.opened.as_fd(), SeekFrom::Hole(from)) else { return whole };
            let (from, until) = (from / GRAIN * GRAIN, end.next_multiple_of(GRAIN).min(size));
            match ranges.last_mut() {
                Some(last) if last.end >= from => last.end = until.max(last.end),
                _ => ranges.push(from..until),
            }
            if ranges.len() > RANGES_MAX || end <= at {
                return whole;
            }
            at = until.max(end);
        }
        ranges
    }

    /// Least length of a direct read, and what all addresses are multiples of.
    pub(super) fn block(&self) -> u64 {
        u64::from(self.opened.logical_block_bytes).max(512)
    }

    /// Reads from `offset`, a multiple of 4096 (of the target's block: with direct I/O), into `buffer`, which is longer than `length` by less than
    /// 4096 at the end of a target only. Gives the parts that could not be read, in order.
    pub(super) fn read(&self, buffer: &mut [u8], offset: u64, length: usize) -> Vec<Range<u64>> {
        let mut unread = Vec::new();
        self.read_part(buffer, offset, (0, length), &mut unread);
        unread
    }

    fn read_part(&self, buffer: &mut [u8], offset: u64, (from, to): (usize, usize), unread: &mut Vec<Range<u64>>) {
        let block = usize::try_from(self.block()).unwrap_or(ALIGN);
        let mut done = from;
        while done < to {
            // A whole block is asked for where the target ends in one.
            let end = to.next_multiple_of(block).min(buffer.len());
            match pread(self.opened.as_fd(), &mut buffer[done..end], offset + done as u64) {
                Ok(0) => break,
                Ok(count) if done + count >= to => return,
                Ok(count) if count >= block => done += count / block * block,
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(_) if to - done > block => {
                    let half = done + ((to - done) / 2).next_multiple_of(block);
                    self.read_part(buffer, offset, (done, half.min(to)), unread);
                    done = half.min(to);
                }
                Err(_) => break,
            }
        }
        if done < to {
            buffer[done..to].fill(0);
            let (start, end) = (offset + done as u64, offset + to as u64);
            match unread.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => unread.push(start..end),
            }
        }
    }
}
