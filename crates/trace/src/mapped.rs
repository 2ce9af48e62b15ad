//! Memory of a map that is looked at where it lies.
#![expect(unsafe_code, reason = "memory shared with the kernel")]

use crate::TraceError;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::AsFd;
use std::ptr::NonNull;

/// A mapping of a part of a map; goes when it is dropped.
#[derive(Debug)]
pub(crate) struct Mapped {
    at: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is an address and a length; what is done with the memory is for its user to answer for.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps so many bytes from `offset` on.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn new(map: impl AsFd, offset: usize, bytes: usize, rights: ProtFlags) -> Result<Self, TraceError> {
        // SAFETY: a new mapping at a place that the kernel chooses; it overlaps nothing.
        let at = unsafe { mmap(std::ptr::null_mut(), bytes, rights, MapFlags::SHARED, map, offset as u64) };
        let at = at.map_err(|why| TraceError::Consumer(format!("cannot look at the probe's memory: {why}")))?;
        let at = NonNull::new(at.cast()).ok_or_else(|| TraceError::Consumer("was given memory at 0".to_string()))?;
        Ok(Self { at, bytes })
    }

    /// Where it begins: valid for its bytes, as long as it lives.
    #[inline]
    pub(crate) fn start(&self) -> *mut u8 {
        self.at.as_ptr()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length; every reader of it held a borrow of `self`.
        let _ = unsafe { munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}
