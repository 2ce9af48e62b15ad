//! Transfers past the page cache.

use rustix::fs::OFlags;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Past the page cache, a transfer must be a multiple of the device's block. One that is not, as the last one of many files, goes
/// through it.
pub(crate) fn through<T>(
    fd: BorrowedFd<'_>,
    is_buffered: &AtomicBool,
    mut call: impl FnMut(BorrowedFd<'_>) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let first = call(fd);
    if !matches!(first, Err(Errno::INVAL)) {
        return first;
    }
    let flags = rustix::fs::fcntl_getfl(fd)?;
    if !flags.contains(OFlags::DIRECT) {
        return first;
    }
    is_buffered.store(true, Ordering::Relaxed);
    rustix::fs::fcntl_setfl(fd, flags - OFlags::DIRECT)?;
    let second = call(fd);
    rustix::fs::fcntl_setfl(fd, flags)?;
    second
}
