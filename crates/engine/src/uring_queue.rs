//! One io_uring with registered files and buffers.
#![expect(unsafe_code, reason = "hands pointers to the kernel")]

use crate::EngineError;
use crate::io_buffers::IoBuffers;
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, squeue};
use std::io;
use std::os::fd::RawFd;

/// Waits for completions in `io_uring_enter`, and runs what the kernel deferred to this task.
const GETEVENTS: u32 = 1;
/// `IOSQE_FIXED_FILE`: the file is an index of those that are registered.
const FIXED_FILE: u64 = 1;

/// An entry of the submission queue (`struct io_uring_sqe`), kept as what goes into its 64-bit words: `io_uring`'s own
/// builders write bytes and read them back in other widths, which costs a tenth of the worker's time in stalls.
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
}

impl Entry {
    #[inline]
    fn words(self, tag: u64) -> squeue::Entry {
        let fixed = if self.is_fixed_file { FIXED_FILE } else { 0 };
        let words: [u64; 8] = [
            u64::from(self.code) | fixed << 8 | u64::from(self.io_priority) << 16 | u64::from(self.file) << 32,
            self.offset,
            self.address,
            u64::from(self.length) | u64::from(self.flags) << 32,
            tag,
            0,
            self.third_address,
            0,
        ];
        // SAFETY: the entry is the kernel's 64-byte struct of plain integers (little-endian), for which any bits are valid.
        unsafe { std::mem::transmute::<[u64; 8], squeue::Entry>(words) }
    }
}

/// A ring of one worker.
pub(crate) struct Ring {
    ring: IoUring,
    queued: u32,
}

impl Ring {
    /// A ring for `depth` operations, with the newest features that this kernel has.
    pub(crate) fn new(depth: u32) -> io::Result<Self> {
        let entries = depth.clamp(1, 16_384).next_power_of_two();
        let attempts: [fn(&mut io_uring::Builder); 4] = [
            |builder| {
                builder.setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun().setup_taskrun_flag();
                builder.setup_no_sqarray();
            },
            |builder| {
                builder.setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun().setup_taskrun_flag();
            },
            |builder| {
                builder.setup_single_issuer().setup_coop_taskrun().setup_taskrun_flag();
            },
            |_| {},
        ];
        let mut last = io::Error::from_raw_os_error(libc::ENOSYS);
        for attempt in attempts {
            let mut builder = IoUring::builder();
            attempt(&mut builder);
            match builder.build(entries) {
                Ok(ring) => return Ok(Self { ring, queued: 0 }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Registers files (-1: none), buffers and the ring itself; what the kernel refuses is done without.
    pub(crate) fn register(&mut self, files: &[RawFd], memory: &mut IoBuffers) -> Result<(), EngineError> {
        let submitter = self.ring.submitter();
        if files.iter().any(|file| *file >= 0) {
            submitter.register_files(files).map_err(EngineError::system("register files with io_uring"))?;
        }
        if let Some(buffer) = memory.registrable() {
            // SAFETY: the mapping outlives the ring: the worker drops the ring first, or leaks the mapping.
            let is_registered = unsafe { submitter.register_buffers(&[buffer]) }.is_ok();
            memory.note_registered(is_registered);
        }
        Ok(())
    }

    /// Registers the ring's own descriptor with this thread; saves a look-up per system call.
    pub(crate) fn register_self(&mut self) {
        let _ = self.ring.submitter().register_ring_fd();
    }

    /// Lets the kernel use as many threads as there may be operations, for those that cannot be started without waiting: it
    /// has four per CPU otherwise, and the rest waits for one. `false` before Linux 5.15.
    pub(crate) fn widen(&mut self, depth: u32) -> bool {
        self.ring.submitter().register_iowq_max_workers(&mut [depth, 0]).is_ok()
    }

    /// Number of requests that are queued and not handed over.
    #[inline]
    pub(crate) fn queued(&self) -> u32 {
        self.queued
    }

    /// Queues an entry, whose completion has the same tag. The ring has as many entries as there are slots, so there is always room.
    #[inline]
    pub(crate) fn push(&mut self, tag: u64, entry: &Entry) {
        let entry = entry.words(tag);
        // SAFETY: the buffer lies in `IoBuffers` that lives until the completion was reaped, or is leaked.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        debug_assert!(pushed.is_ok(), "a ring has an entry per slot");
        self.queued += u32::from(pushed.is_ok());
    }

    /// Hands over what is queued and waits for `want` completions, at most `timeout_ns` long; 0 does not wait.
    pub(crate) fn enter(&mut self, want: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        let result = match timeout_ns {
            Some(timeout_ns) if want > 0 => {
                let timeout = Timespec::new()
                    .sec(timeout_ns / 1_000_000_000)
                    .nsec(u32::try_from(timeout_ns % 1_000_000_000).unwrap_or(0));
                self.ring.submitter().submit_with_args(want as usize, &SubmitArgs::new().timespec(&timeout))
            }
            // SAFETY: no argument is passed; the queue's entries are valid by `push`. `submission()` published them.
            _ => unsafe { self.ring.submitter().enter::<libc::sigset_t>(self.queued, want, GETEVENTS, None) },
        };
        match result {
            Ok(_) => {}
            // ETIME: the time was up. EINTR: a signal. EBUSY, EAGAIN: reap first. What is left stays queued.
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
            Err(error) => return Err(error),
        }
        self.queued = u32::try_from(self.ring.submission().len()).unwrap_or(0);
        Ok(())
    }

    /// Hands over what is queued, and leaves completions that the kernel put off for later.
    pub(crate) fn submit_nowait(&mut self) -> io::Result<()> {
        // SAFETY: no argument is passed; the queue's entries are valid by `push`. `submission()` published them.
        match unsafe { self.ring.submitter().enter::<libc::sigset_t>(self.queued, 0, 0, None) } {
            Ok(_) => {}
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
            Err(error) => return Err(error),
        }
        self.queued = u32::try_from(self.ring.submission().len()).unwrap_or(0);
        Ok(())
    }

    /// Has the kernel put off completions until this thread comes by, or are there any?
    #[inline]
    pub(crate) fn has_deferred(&mut self) -> bool {
        self.ring.submission().taskrun() || !self.is_quiet()
    }

    /// Are there no completions to reap?
    #[inline]
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.ring.completion().is_empty()
    }

    /// Has the kernel do what it put off, without handing anything over.
    pub(crate) fn run_deferred(&mut self) -> io::Result<()> {
        // SAFETY: no argument is passed, and nothing is submitted.
        match unsafe { self.ring.submitter().enter::<libc::sigset_t>(0, 0, GETEVENTS, None) } {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes every completion that is there: `(tag, result)`; returns how many.
    #[inline]
    pub(crate) fn reap(&mut self, mut each: impl FnMut(u64, i32)) -> u32 {
        let mut count = 0;
        for completion in self.ring.completion() {
            each(completion.user_data(), completion.result());
            count += 1;
        }
        count
    }
}
