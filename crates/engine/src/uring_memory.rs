//! The queues of an io_uring: memory that the kernel and one thread share.
//!
//! The layout is that of `io_uring(7)`: the kernel says at which offsets heads, tails and flags lie. Each side writes one end
//! of each queue; what lies between was written before the end was moved.
#![expect(unsafe_code, reason = "reads and writes memory that the kernel shares")]

use rustix::fd::BorrowedFd;
use rustix::io_uring::{IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringSetupFlags, IoringSqFlags, io_uring_params};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// An entry of the completion queue (`struct io_uring_cqe`).
#[repr(C)]
struct Completion {
    tag: u64,
    result: i32,
    flags: u32,
}

/// A part of the ring's file in memory.
#[derive(Debug)]
struct Mapping {
    base: *mut u8,
    bytes: usize,
}

impl Mapping {
    fn new(fd: BorrowedFd<'_>, bytes: usize, offset: u64) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags, fd, offset) }?;
        let mapping = Self { base: base.cast(), bytes };
        // SAFETY: the mapping is this one; a child process has no business in it.
        unsafe { madvise(base, bytes, Advice::LinuxDontFork) }?;
        Ok(mapping)
    }

    /// A number of the kernel's in it.
    fn number(&self, offset: u32) -> *const AtomicU32 {
        // The size was computed from these very offsets; a kernel that contradicts itself stops here.
        assert!(offset as usize + size_of::<AtomicU32>() <= self.bytes && offset.is_multiple_of(4), "offset {offset}");
        // SAFETY: within the mapping by the assertion.
        unsafe { self.base.add(offset as usize).cast() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` mapped this address with this length. Pointers into it stand only in the `SharedQueues` that owns it,
        // which is dropped with it.
        let _ = unsafe { munmap(self.base.cast(), self.bytes) };
    }
}

/// Both queues. The submission queue's tail and the completion queue's head are ours, the other two are the kernel's.
#[derive(Debug)]
pub(crate) struct SharedQueues {
    submission_head: *const AtomicU32,
    submission_tail: *const AtomicU32,
    submission_flags: *const AtomicU32,
    entries: *mut [u64; 8],
    entry_count: u32,
    /// Where the next entry goes; the kernel knows of those before `submission_tail`.
    next: u32,
    completion_head: *const AtomicU32,
    completion_tail: *const AtomicU32,
    completions: *const Completion,
    completion_count: u32,
    /// The first completion that was not taken.
    taken: u32,
    _rings: Mapping,
    _entries: Mapping,
}

// SAFETY: the pointers go into mappings that belong to this value alone, and the value is used by one thread at a time.
unsafe impl Send for SharedQueues {}

impl SharedQueues {
    /// Maps the queues of a ring that was set up with these parameters, as the kernel filled them in, with `SINGLE_MMAP`.
    pub(crate) fn map(fd: BorrowedFd<'_>, params: &io_uring_params) -> io::Result<Self> {
        let (submission, completion) = (&params.sq_off, &params.cq_off);
        let array_bytes = params.sq_entries as usize * size_of::<u32>();
        let completion_bytes = params.cq_entries as usize * size_of::<Completion>();
        let bytes = (completion.cqes as usize + completion_bytes).max(submission.array as usize + array_bytes);
        let rings = Mapping::new(fd, bytes, IORING_OFF_SQ_RING)?;
        let entries = Mapping::new(fd, params.sq_entries as usize * size_of::<[u64; 8]>(), IORING_OFF_SQES)?;
        if !params.flags.contains(IoringSetupFlags::NO_SQARRAY) {
            // Which entry comes when: always the next one.
            for at in 0..params.sq_entries {
                // SAFETY: `number` is within the mapping and aligned; the kernel reads it only during a call.
                unsafe { &*rings.number(submission.array + at * 4) }.store(at, Ordering::Relaxed);
            }
        }
        // Both are powers of two, so a mask is the count less one.
        let (sq_mask, cq_mask) = (rings.number(submission.ring_mask), rings.number(completion.ring_mask));
        // SAFETY: within the mapping and aligned; constant from now on.
        let masks = unsafe { ((*sq_mask).load(Ordering::Relaxed), (*cq_mask).load(Ordering::Relaxed)) };
        if masks != (params.sq_entries - 1, params.cq_entries - 1) {
            return Err(io::Error::other("the kernel's queues have other sizes than it says"));
        }
        let _ = rings.number(completion.cqes);
        Ok(Self {
            submission_head: rings.number(submission.head),
            submission_tail: rings.number(submission.tail),
            submission_flags: rings.number(submission.flags),
            entries: entries.base.cast(),
            entry_count: params.sq_entries,
            next: 0,
            completion_head: rings.number(completion.head),
            completion_tail: rings.number(completion.tail),
            // SAFETY: `bytes` has room for them from there on.
            completions: unsafe { rings.base.add(completion.cqes as usize) }.cast(),
            completion_count: params.cq_entries,
            taken: 0,
            _rings: rings,
            _entries: entries,
        })
    }

    /// How many entries the submission queue has.
    #[inline]
    pub(crate) fn entry_count(&self) -> u32 {
        self.entry_count
    }

    /// Puts an entry at the end of the submission queue, which must not be full. The kernel does not see it yet.
    #[inline]
    pub(crate) fn put(&mut self, words: [u64; 8]) {
        let at = self.next & (self.entry_count - 1);
        // SAFETY: within the array by the mask; the kernel reads entries between its head and the published tail only.
        unsafe { self.entries.add(at as usize).write(words) };
        self.next = self.next.wrapping_add(1);
    }

    /// Shows the kernel all entries that were put.
    #[inline]
    pub(crate) fn publish(&mut self) {
        // SAFETY: in the mapping, which this owns.
        unsafe { &*self.submission_tail }.store(self.next, Ordering::Release);
    }

    /// How many entries the kernel has not taken.
    #[inline]
    pub(crate) fn unread(&self) -> u32 {
        // SAFETY: in the mapping, which this owns.
        self.next.wrapping_sub(unsafe { &*self.submission_head }.load(Ordering::Acquire))
    }

    /// Has the kernel put off work until this thread comes by?
    #[inline]
    pub(crate) fn has_put_off(&self) -> bool {
        // SAFETY: in the mapping, which this owns.
        let flags = unsafe { &*self.submission_flags }.load(Ordering::Relaxed);
        flags & IoringSqFlags::TASKRUN.bits() != 0
    }

    /// Are there no completions?
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.taken == self.reported()
    }

    #[inline]
    fn reported(&self) -> u32 {
        // SAFETY: in the mapping, which this owns.
        unsafe { &*self.completion_tail }.load(Ordering::Acquire)
    }

    /// Takes every completion that is there: `(tag, result)`; returns how many.
    #[inline]
    pub(crate) fn take(&mut self, mut each: impl FnMut(u64, i32)) -> u32 {
        let (first, end) = (self.taken, self.reported());
        let mut at = first;
        while at != end {
            let place = (at & (self.completion_count - 1)) as usize;
            // SAFETY: within the array by the mask; the kernel wrote it before it moved its end, and leaves it until ours moves.
            let (tag, result) = unsafe { ((*self.completions.add(place)).tag, (*self.completions.add(place)).result) };
            each(tag, result);
            at = at.wrapping_add(1);
        }
        if at != first {
            self.taken = at;
            // SAFETY: in the mapping, which this owns.
            unsafe { &*self.completion_head }.store(at, Ordering::Release);
        }
        at.wrapping_sub(first)
    }
}
