//! One io_uring with registered files and buffers.
#![expect(unsafe_code, reason = "hands pointers to the kernel")]

use crate::EngineError;
use crate::io_buffers::IoBuffers;
use crate::uring_memory::SharedQueues;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::io_uring::{
    IoringEnterFlags, IoringFeatureFlags, IoringOp, IoringRegisterOp, IoringSetupFlags, io_uring_enter,
    io_uring_enter_arg, io_uring_getevents_arg, io_uring_params, io_uring_ptr, io_uring_register, io_uring_rsrc_update,
    io_uring_setup,
};
use rustix::time::Timespec;
use std::ffi::c_void;
use std::io;
use std::os::fd::RawFd;

/// `IOSQE_FIXED_FILE`: the file is an index of those that are registered.
const FIXED_FILE: u64 = 1;
/// `IOSQE_ASYNC`: a thread of the kernel's begins it, which may wait.
const BY_THREAD: u64 = 1 << 4;
/// What a ring cannot do without, both since Linux 5.11: one mapping of both queues, and a time limit with the call that waits.
const NEEDED: IoringFeatureFlags = IoringFeatureFlags::SINGLE_MMAP.union(IoringFeatureFlags::EXT_ARG);
/// One thread uses the ring, and completions wait until it comes by.
const ONE_THREAD: IoringSetupFlags =
    IoringSetupFlags::SINGLE_ISSUER.union(IoringSetupFlags::COOP_TASKRUN).union(IoringSetupFlags::TASKRUN_FLAG);

/// An entry of the submission queue (`struct io_uring_sqe`), kept as what goes into its 64-bit words: bytes that are
/// written and read back in other widths cost a tenth of the worker's time in stalls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) code: u8,
    pub(crate) is_fixed_file: bool,
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) length: u32,
    pub(crate) flags: u32,
    pub(crate) io_priority: u16,
    pub(crate) third_address: u64,
    /// The kernel begins it in a thread that may wait.
    pub(crate) is_by_thread: bool,
}

/// What [`Entry::pause`] waits, seconds and nanoseconds.
static PAUSE: [i64; 2] = [0, 20_000];

impl Entry {
    /// One that comes back by itself after a moment.
    pub(crate) fn pause() -> Self {
        Self { code: IoringOp::Timeout as u8, address: (&raw const PAUSE) as u64, length: 1, ..Self::default() }
    }

    /// The kernel's 64 bytes (little-endian).
    #[inline]
    fn words(self, tag: u64) -> [u64; 8] {
        let fixed = if self.is_fixed_file { FIXED_FILE } else { 0 };
        let flags = fixed | if self.is_by_thread { BY_THREAD } else { 0 };
        [
            u64::from(self.code) | flags << 8 | u64::from(self.io_priority) << 16 | u64::from(self.file) << 32,
            self.offset,
            self.address,
            u64::from(self.length) | u64::from(self.flags) << 32,
            tag,
            0,
            self.third_address,
            0,
        ]
    }
}

/// A ring of one worker.
#[derive(Debug)]
pub(crate) struct Ring {
    queues: SharedQueues,
    fd: OwnedFd,
    /// Its number among the rings that this thread registered; that takes the place of the descriptor.
    registered: Option<RawFd>,
    queued: u32,
}

impl Ring {
    /// A ring for `depth` operations, with the newest features that this kernel has.
    pub(crate) fn new(depth: u32) -> io::Result<Self> {
        let entries = depth.clamp(1, 16_384).next_power_of_two();
        let attempts = [
            ONE_THREAD | IoringSetupFlags::DEFER_TASKRUN | IoringSetupFlags::NO_SQARRAY,
            ONE_THREAD | IoringSetupFlags::DEFER_TASKRUN,
            ONE_THREAD,
            IoringSetupFlags::empty(),
        ];
        let mut last = Errno::NOSYS;
        for flags in attempts {
            let mut params = io_uring_params::default();
            params.flags = flags;
            // SAFETY: the parameters name no memory.
            let fd = match unsafe { io_uring_setup(entries, &mut params) } {
                Ok(fd) => fd,
                Err(error) => {
                    last = error;
                    continue;
                }
            };
            if !params.features.contains(NEEDED) {
                return Err(Errno::NOSYS.into());
            }
            let queues = SharedQueues::map(fd.as_fd(), &params)?;
            return Ok(Self { queues, fd, registered: None, queued: 0 });
        }
        Err(last.into())
    }

    /// Tells the kernel something about this ring.
    ///
    /// # Safety
    /// `arg` points to `count` items of what `what` takes, and what those point to lives as long as the ring or is leaked.
    unsafe fn tell(&self, what: IoringRegisterOp, arg: *const c_void, count: usize) -> io::Result<u32> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        // SAFETY: the caller's.
        Ok(unsafe { io_uring_register(&self.fd, what, arg, count) }?)
    }

    /// Registers files (-1: none) and buffers; buffers that the kernel refuses are done without.
    pub(crate) fn register(&mut self, files: &[RawFd], memory: &mut IoBuffers) -> Result<(), EngineError> {
        if files.iter().any(|file| *file >= 0) {
            // SAFETY: descriptors, which the kernel copies.
            unsafe { self.tell(IoringRegisterOp::RegisterFiles, files.as_ptr().cast(), files.len()) }
                .map_err(EngineError::system("register files with io_uring"))?;
        }
        if let Some(buffer) = memory.registrable() {
            // SAFETY: the mapping outlives the ring: the worker drops the ring first, or leaks the mapping.
            let done = unsafe { self.tell(IoringRegisterOp::RegisterBuffers, (&raw const buffer).cast(), 1) };
            memory.note_registered(done.is_ok());
        }
        Ok(())
    }

    /// Registers the ring's own descriptor with this thread, which is the one that uses it; saves a look-up per system call.
    pub(crate) fn register_self(&mut self) {
        let mut update = io_uring_rsrc_update::default();
        update.offset = u32::MAX;
        update.data = io_uring_ptr::new(std::ptr::without_provenance_mut(self.fd.as_raw_fd().unsigned_abs() as usize));
        // SAFETY: one structure, into which the kernel writes the number.
        let done = unsafe { self.tell(IoringRegisterOp::RegisterRingFds, (&raw mut update).cast(), 1) };
        if done.is_ok_and(|count| count == 1) {
            self.registered = RawFd::try_from(update.offset).ok();
        }
    }

    /// Lets the kernel use as many threads as there may be operations, for those that cannot be started without waiting: it
    /// has four per CPU otherwise, and the rest waits for one. `false` before Linux 5.15.
    pub(crate) fn widen(&mut self, depth: u32) -> bool {
        let mut most = [depth, 0];
        // SAFETY: two numbers, in whose place the kernel writes what they were.
        unsafe { self.tell(IoringRegisterOp::RegisterIowqMaxWorkers, (&raw mut most).cast(), 2) }.is_ok()
    }

    /// Number of requests that are queued and not handed over.
    #[inline]
    pub(crate) fn queued(&self) -> u32 {
        self.queued
    }

    /// Queues an entry, whose completion has the same tag. The ring has as many entries as there are slots, so there is always room.
    #[inline]
    pub(crate) fn push(&mut self, tag: u64, entry: &Entry) {
        assert!(self.queued < self.queues.entry_count(), "a ring has an entry per slot");
        // The buffer lies in `IoBuffers` that lives until the completion was reaped, or is leaked.
        self.queues.put(entry.words(tag));
        self.queued += 1;
    }

    /// The descriptor or its registered number, and the flag that says which.
    #[inline]
    fn descriptor(&self) -> (BorrowedFd<'_>, IoringEnterFlags) {
        match self.registered {
            // SAFETY: with the flag it is a number that this thread registered, and no descriptor.
            Some(number) => (unsafe { BorrowedFd::borrow_raw(number) }, IoringEnterFlags::REGISTERED_RING),
            None => (self.fd.as_fd(), IoringEnterFlags::empty()),
        }
    }

    /// Hands over what is queued, with what `flags` ask for besides, and waits for `want` completions.
    fn call(&mut self, want: u32, flags: IoringEnterFlags, timeout_ns: Option<u64>) -> Result<(), Errno> {
        self.queues.publish();
        let (fd, how) = self.descriptor();
        let result = match timeout_ns {
            Some(timeout_ns) => {
                let mut time = Timespec {
                    tv_sec: i64::try_from(timeout_ns / 1_000_000_000).unwrap_or(i64::MAX),
                    tv_nsec: i64::try_from(timeout_ns % 1_000_000_000).unwrap_or(0),
                };
                let ts = io_uring_ptr::new((&raw mut time).cast());
                let limit = io_uring_getevents_arg { ts, ..Default::default() };
                // SAFETY: the time lives until the call has ended; the queue's entries are valid by `push`.
                unsafe {
                    io_uring_enter_arg(fd, self.queued, want, flags | how | IoringEnterFlags::EXT_ARG, Some(&limit))
                }
            }
            // SAFETY: no argument is passed; the queue's entries are valid by `push`.
            None => unsafe { io_uring_enter(fd, self.queued, want, flags | how) },
        };
        self.queued = self.queues.unread();
        result.map(|_| ())
    }

    /// Hands over what is queued and waits for `want` completions, at most `timeout_ns` long; 0 does not wait.
    pub(crate) fn enter(&mut self, want: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        let timeout_ns = timeout_ns.filter(|_| want > 0);
        match self.call(want, IoringEnterFlags::GETEVENTS, timeout_ns) {
            // TIME: the time was up. INTR: a signal. BUSY, AGAIN: reap first. What is left stays queued.
            Ok(()) | Err(Errno::TIME | Errno::INTR | Errno::BUSY | Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands over what is queued, and leaves completions that the kernel put off for later.
    pub(crate) fn submit_nowait(&mut self) -> io::Result<()> {
        match self.call(0, IoringEnterFlags::empty(), None) {
            Ok(()) | Err(Errno::INTR | Errno::BUSY | Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Has the kernel put off completions until this thread comes by, or are there any?
    #[inline]
    pub(crate) fn has_deferred(&mut self) -> bool {
        self.queues.has_put_off() || !self.is_quiet()
    }

    /// Are there no completions to reap?
    #[inline]
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.queues.is_empty()
    }

    /// Has the kernel do what it put off, without handing anything over.
    pub(crate) fn run_deferred(&mut self) -> io::Result<()> {
        let (fd, how) = self.descriptor();
        // SAFETY: no argument is passed, and nothing is submitted.
        match unsafe { io_uring_enter(fd, 0, 0, how | IoringEnterFlags::GETEVENTS) } {
            Ok(_) | Err(Errno::INTR | Errno::BUSY | Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes every completion that is there: `(tag, result)`; returns how many.
    #[inline]
    pub(crate) fn reap(&mut self, each: impl FnMut(u64, i32)) -> u32 {
        self.queues.take(each)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let Some(number) = self.registered else { return };
        let mut update = io_uring_rsrc_update::default();
        update.offset = u32::try_from(number).unwrap_or(u32::MAX);
        // A thread holds few of them. In another thread it is nothing, and ends with the one that has it.
        // SAFETY: one structure.
        let _ = unsafe { self.tell(IoringRegisterOp::UnregisterRingFds, (&raw mut update).cast(), 1) };
    }
}
