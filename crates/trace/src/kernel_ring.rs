//! The reading end of the kernel's ring buffer (`BPF_MAP_TYPE_RINGBUF`), in batches.
//!
//! libbpf's own gives every record back to the kernel by itself: a store for each, and a cache line that the writing CPUs
//! look at and lose each time. Here a stretch goes back at once.
//!
//! The layout is the kernel's interface to programs (kernel/bpf/ringbuf.c, include/uapi/linux/bpf.h): a page with the
//! consumer's position, a page with the producers', then the data, mapped twice in a row so that no record is torn. A
//! record is a header of 8 bytes, whose first four are its length and two flags, and its bytes, rounded up to 8.
#![expect(unsafe_code, reason = "the ring lies in memory shared with the kernel")]

use crate::TraceError;
use crate::mapped::Mapped;
use crate::prefetch::fetch;
use libbpf_rs::{MapCore as _, MapHandle};
use rustix::event::{Timespec, epoll};
use rustix::mm::ProtFlags;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// Of a record that is still being written.
const BUSY: u32 = 1 << 31;
/// Of a record that its writer gave up.
const DISCARD: u32 = 1 << 30;
const HEADER: u64 = 8;
/// So much is given back at once, and the rest of what there is.
const GIVE_BACK_BYTES: u64 = 64 * 1024;

/// So far ahead of the record that is being read the next ones are asked for.
const AHEAD_BYTES: u64 = 1024;

/// The reading end; there may be only one.
#[derive(Debug)]
pub(crate) struct KernelRing {
    wakes: OwnedFd,
    /// A page: the reader's position.
    consumer: Mapped,
    /// A page with the writers' position, and the data twice.
    producer: Mapped,
    page: usize,
    data_bytes: usize,
    at: u64,
}

impl KernelRing {
    /// Maps the ring.
    ///
    /// # Errors
    /// The kernel refuses to map it.
    pub(crate) fn new(map: &MapHandle) -> Result<Self, TraceError> {
        let failed = |why| TraceError::Consumer(format!("cannot wait for the ring buffer: {why}"));
        // Edges only: a ring that is never empty for long would be ready always, and be emptied a few records at a time.
        let wakes = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&wakes, map.as_fd(), epoll::EventData::new_u64(0), edges).map_err(failed)?;
        let (page, data_bytes) = (rustix::param::page_size(), map.max_entries() as usize);
        let consumer = Mapped::new(map.as_fd(), 0, page, ProtFlags::READ | ProtFlags::WRITE)?;
        let producer = Mapped::new(map.as_fd(), page, page + 2 * data_bytes, ProtFlags::READ)?;
        let mut ring = Self { wakes, consumer, producer, page, data_bytes, at: 0 };
        ring.at = ring.consumer().load(Ordering::Relaxed);
        Ok(ring)
    }

    /// Waits until the probe wakes, at most so long.
    pub(crate) fn wait(&self, limit: Duration) {
        let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
        // A signal ends it early, which does no harm.
        let mut events = [MaybeUninit::uninit()];
        let _ = epoll::wait(&self.wakes, &mut events, Some(&limit));
    }

    /// Passes on what was there when it was called, in the order of writing. Not what comes meanwhile: a reader that is
    /// slower than the writers would never return to check whether it is to end.
    pub(crate) fn consume(&mut self, mut take: impl FnMut(&[u8])) {
        let mut given_back = self.at;
        // A small ring is given back in small parts: its writers wait for none.
        let stretch = GIVE_BACK_BYTES.min(self.data_bytes as u64 / 8);
        let end = self.written();
        while self.at < end {
            // One that is still being written keeps those behind it waiting.
            let Some((length, is_discarded)) = self.record() else { break };
            fetch(self.data(self.at + AHEAD_BYTES));
            if !is_discarded {
                // SAFETY: `record` found it whole and within the data, which is mapped twice; the kernel writes there
                // again only when the position behind it was stored, below.
                take(unsafe { std::slice::from_raw_parts(self.data(self.at + HEADER), length) });
            }
            self.at += (length as u64 + HEADER).next_multiple_of(HEADER);
            if self.at - given_back >= stretch {
                self.consumer().store(self.at, Ordering::Release);
                given_back = self.at;
            }
        }
        self.consumer().store(self.at, Ordering::Release);
    }

    /// Has everything been taken that was ever begun to be written?
    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.written()
    }

    /// Length of the next record, and whether it was given up; `None` while it is being written.
    #[inline]
    fn record(&self) -> Option<(usize, bool)> {
        // SAFETY: positions are multiples of 8, so is the place; the kernel keeps a header there.
        let header = unsafe { AtomicU32::from_ptr(self.data(self.at).cast_mut().cast()) }.load(Ordering::Relaxed);
        // Memory that may not be written is promised to know relaxed loads only.
        fence(Ordering::Acquire);
        let length = (header & !(BUSY | DISCARD)) as usize;
        // A length that cannot be would lead out of the mapping: nothing is taken any more, and losses are counted.
        (header & BUSY == 0 && length <= self.data_bytes).then_some((length, header & DISCARD != 0))
    }

    #[inline]
    fn data(&self, at: u64) -> *const u8 {
        // The size is a power of two.
        let place = usize::try_from(at).unwrap_or(0) & (self.data_bytes - 1);
        // SAFETY: the data begin one page behind and are mapped twice as long as `place` can be.
        unsafe { self.producer.start().add(self.page + place) }
    }

    #[inline]
    fn consumer(&self) -> &AtomicU64 {
        // SAFETY: the page's first eight bytes are the position; it stays mapped as long as `self`.
        unsafe { AtomicU64::from_ptr(self.consumer.start().cast()) }
    }

    /// How far the writers are.
    #[inline]
    fn written(&self) -> u64 {
        // SAFETY: the page's first eight bytes are the position; it stays mapped as long as `self`, and is only read.
        let written = unsafe { AtomicU64::from_ptr(self.producer.start().cast()) }.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        written
    }
}
