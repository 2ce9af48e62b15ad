//! Buffers of a worker: one mapping, aligned to pages, a place per slot.
//!
//! Reads do not share places although the engine discards their data: with `O_DIRECT`, file systems and devices that
//! verify checksums do so in this memory, and two reads into one place fail each other (btrfs even counts corruption).
#![expect(unsafe_code, reason = "maps memory and lends parts of it to the kernel")]

use crate::EngineError;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// More than this is not registered with the ring: registering pins every page.
const REGISTER_MAX: usize = 128 << 20;

/// The mapping.
#[derive(Debug)]
pub(crate) struct IoBuffers {
    base: *mut u8,
    length: usize,
    place: usize,
    places: usize,
    /// Does the ring know it?
    is_registered: bool,
}

// SAFETY: the mapping belongs to this value alone; the pointer is not shared.
unsafe impl Send for IoBuffers {}

impl IoBuffers {
    /// Room for `slots` operations of at most `transfer_max` bytes.
    pub(crate) fn new(slots: usize, transfer_max: usize) -> Result<Self, EngineError> {
        let place = transfer_max.next_multiple_of(4096).max(4096);
        let places = slots.max(1);
        let length = place * places;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        let base = base.map_err(|error| EngineError::system("map I/O buffers")(error.into()))?;
        Ok(Self { base: base.cast(), length, place, places, is_registered: false })
    }

    /// The whole mapping, when it is small enough to be registered.
    pub(crate) fn registrable(&self) -> Option<libc::iovec> {
        (self.length <= REGISTER_MAX).then_some(libc::iovec { iov_base: self.base.cast(), iov_len: self.length })
    }

    /// The ring was asked to know it, and does or does not.
    pub(crate) fn note_registered(&mut self, is_registered: bool) {
        self.is_registered = is_registered;
    }

    /// Does the ring know it?
    #[inline]
    pub(crate) fn is_registered(&self) -> bool {
        self.is_registered
    }

    /// Where a slot's read may put its data.
    #[inline]
    pub(crate) fn read_place(&mut self, slot: usize) -> *mut u8 {
        assert!(slot < self.places, "slot {slot} has no place");
        // SAFETY: within the mapping by the assertion.
        unsafe { self.base.add(slot * self.place) }
    }

    /// The place of a slot's write.
    #[inline]
    pub(crate) fn write_place(&mut self, slot: usize, bytes: usize) -> &mut [u8] {
        assert!(slot < self.places && bytes <= self.place, "slot {slot} with {bytes} bytes has no place");
        // SAFETY: within the mapping by the assertion; the kernel only reads it, and only while the slot is in flight,
        // when the engine does not ask for it here.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(slot * self.place), bytes) }
    }

    /// Gives the mapping up without unmapping it: operations in flight still point into it.
    pub(crate) fn leak(self) {
        std::mem::forget(self);
    }
}

impl Drop for IoBuffers {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and nothing in flight points into it any more (`leak` otherwise).
        let _ = unsafe { munmap(self.base.cast(), self.length) };
    }
}
