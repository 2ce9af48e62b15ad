//! Giving blocks back: a discard on a device, a hole in a file; and what a device has in memory.
//!
//! `fallocate` on a block device writes zeroes, which is another command with another cost; what a file system sends
//! for deleted files is a discard.
#![expect(unsafe_code, reason = "a system call that no library of ours has")]

use plan::generate::Operation;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};
use target::{OpenTarget, TargetKind};

/// `BLOCK_URING_CMD_DISCARD`, since Linux 6.12.
pub(crate) const URING_DISCARD: u64 = 0x1200;
/// `BLKDISCARD`: start and length.
const DISCARD: libc::Ioctl = 0x1277;
/// `BLKFLSBUF`: no argument; for root only.
const FLUSH_BUFFERS: libc::Ioctl = 0x1261;

/// Is this a device that takes discards, rather than a file that gets holes?
pub(crate) fn is_device(opened: &OpenTarget) -> bool {
    matches!(opened.kind, TargetKind::BlockDevice { .. })
}

/// Does io_uring take discards here?
pub(crate) fn has_uring() -> bool {
    knows_uring(&rustix::system::uname().release().to_string_lossy())
}

fn knows_uring(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 12)
}

/// Does it and waits.
pub(crate) fn wait(file: BorrowedFd<'_>, is_device: bool, operation: Operation) -> Result<(), Errno> {
    let Operation { offset, bytes, .. } = operation;
    if !is_device {
        return fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, u64::from(bytes));
    }
    let range = [offset, u64::from(bytes)];
    // SAFETY: the request reads two 64-bit numbers from a place that lives through the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), DISCARD, range.as_ptr()) };
    if result == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

/// Writes what is dirty in a device's page cache and drops all of it.
pub(crate) fn drop_buffers(device: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: the request takes a number, and no memory.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), FLUSH_BUFFERS, 0) };
    if result == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_release_distinguishes_kernels() {
        for (release, expect) in
            [("6.18.44-fc", true), ("6.12", true), ("6.11.9", false), ("5.15.0-generic", false), ("7.0-rc1", true)]
        {
            assert_eq!(super::knows_uring(release), expect, "{release}");
        }
    }
}
