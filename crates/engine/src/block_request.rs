//! Reads, writes, trims and flushes as entries of the submission queue.

use crate::discard::URING_DISCARD;
use crate::uring_queue::Entry;
use plan::generate::{Operation, OperationKind};
use rustix::io_uring::IoringOp;

/// `fallocate` flags of a trim of a file: give the blocks back, keep the size.
const PUNCH_HOLE: u32 = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as u32;
/// `fallocate` flags of a device's range that is to read as zeroes, by the device's command for it where it has one.
const ZERO_RANGE: u32 = (libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE) as u32;

/// `RWF_DSYNC`.
const RWF_DSYNC: u32 = 2;
/// `IORING_FSYNC_DATASYNC`.
const DATASYNC: u32 = 1;

/// One request, ready to be queued.
pub(crate) struct BlockRequest {
    pub(crate) operation: Operation,
    pub(crate) file: u32,
    pub(crate) address: *mut u8,
    /// The address lies in memory that the ring knows.
    pub(crate) is_registered: bool,
    pub(crate) datasync: bool,
    /// A write that is durable when it completes: `RWF_DSYNC`, on a device a write with FUA.
    pub(crate) durable: bool,
    /// A trim is a discard of a device, not a hole in a file.
    pub(crate) discards: bool,
    /// A trim writes zeroes.
    pub(crate) zeroes: bool,
    /// Do nothing.
    pub(crate) nothing: bool,
    /// Of reads and writes; 0: the thread's own.
    pub(crate) io_priority: u16,
}

impl BlockRequest {
    /// The entry.
    #[inline]
    pub(crate) fn entry(&self) -> Entry {
        let Operation { op, offset, bytes } = self.operation;
        let words = Entry { is_fixed_file: true, file: self.file, ..Entry::default() };
        if self.nothing {
            return Entry { code: IoringOp::Nop as u8, is_fixed_file: false, ..words };
        }
        let code = match (op, self.is_registered) {
            (OperationKind::Read, true) => IoringOp::ReadFixed as u8,
            (OperationKind::Read, false) => IoringOp::Read as u8,
            (OperationKind::Write, true) => IoringOp::WriteFixed as u8,
            (OperationKind::Write, false) => IoringOp::Write as u8,
            (OperationKind::Trim, _) if self.discards && !self.zeroes => IoringOp::UringCmd as u8,
            (OperationKind::Trim, _) => IoringOp::Fallocate as u8,
            (OperationKind::Flush, _) => IoringOp::Fsync as u8,
            // No operation on blocks.
            _ => IoringOp::Nop as u8,
        };
        match op {
            OperationKind::Read | OperationKind::Write => Entry {
                code,
                offset,
                address: self.address as u64,
                length: bytes,
                flags: if self.durable { RWF_DSYNC } else { 0 },
                io_priority: self.io_priority,
                ..words
            },
            OperationKind::Trim if self.zeroes && self.discards => {
                Entry { code, offset, address: u64::from(bytes), length: ZERO_RANGE, ..words }
            }
            // Where a device has no room for a request that must not wait, Linux 6.18 reads the range once more, from where another
            // one's may be by then (`blk_cmd_complete` in `block/ioctl.c`): it fails, or another range is discarded. A thread waits.
            OperationKind::Trim if self.discards => Entry {
                code,
                offset: URING_DISCARD,
                address: offset,
                third_address: u64::from(bytes),
                is_by_thread: true,
                ..words
            },
            OperationKind::Trim => Entry { code, offset, address: u64::from(bytes), length: PUNCH_HOLE, ..words },
            OperationKind::Flush => Entry { code, flags: if self.datasync { DATASYNC } else { 0 }, ..words },
            _ => Entry { code, is_fixed_file: false, ..words },
        }
    }
}
