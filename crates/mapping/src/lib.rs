//! Files and devices as memory: what is read is copied out of a mapping, what is written into it (fio's engine `mmap`).
//!
//! A page that is not there any more, because the file became shorter or its device fails, is a signal (SIGBUS), not an
//! error. The handler puts a page of zeroes in its place, so that the copy ends, and counts it: the operation has failed, and
//! the file is mapped again.
#![expect(
    unsafe_code,
    reason = "maps files, copies between them and buffers, and handles the signal of pages that are gone"
)]

use plan::ReadHint;
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, mmap_anonymous, msync, munmap};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Mappings at the same time.
const MAPPINGS_MAX: usize = 1024;
/// Bytes of a page: what the handler replaces, and what `msync` wants its addresses to be multiples of. Set before the handler is there.
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// A mapping as the handler finds it.
struct Place {
    /// Its first address; 0: not used.
    base: AtomicUsize,
    bytes: AtomicUsize,
    /// Pages that were not there.
    lost: AtomicU64,
}

static PLACES: [Place; MAPPINGS_MAX] =
    [const { Place { base: AtomicUsize::new(0), bytes: AtomicUsize::new(0), lost: AtomicU64::new(0) } }; MAPPINGS_MAX];
/// What was done about the signal before, or that it could not be handled.
static BEFORE: OnceLock<Result<libc::sigaction, i32>> = OnceLock::new();

/// A file that cannot be mapped.
#[derive(Debug, thiserror::Error)]
#[error("failed to map a target: {source}")]
pub struct MapError {
    /// What the kernel said.
    pub source: std::io::Error,
}

impl MapError {
    fn of(errno: i32) -> Self {
        Self { source: std::io::Error::from_raw_os_error(errno) }
    }
}

/// A file from its beginning on.
#[derive(Debug)]
pub struct Mapping {
    base: *mut u8,
    bytes: usize,
    protection: ProtFlags,
    hint: ReadHint,
    /// Every operation is written out at once (`direct=1`).
    direct: bool,
    /// What is mapped again when a page was lost; `None`: nothing, the mapping is of no use then.
    file: Option<Arc<OwnedFd>>,
    /// Index into [`PLACES`].
    place: usize,
    /// Pages that are no part of the file are left in it: no operation reaches the file for sure.
    broken: AtomicBool,
}

// SAFETY: the mapping belongs to this value alone, and no reference to its bytes ever exists.
unsafe impl Send for Mapping {}
// SAFETY: as above; what is copied at the same time may be torn, as it may be by any other process.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `bytes` of a file, again and again when pages are lost.
    ///
    /// # Errors
    /// Those of `mmap(2)`; `EMFILE`: there are too many mappings.
    pub fn new(
        file: &Arc<OwnedFd>,
        bytes: u64,
        uses: (bool, bool),
        (hint, direct): (ReadHint, bool),
    ) -> Result<Self, MapError> {
        let mut this = Self::once(file.as_fd(), bytes, uses)?;
        (this.hint, this.direct, this.file) = (hint, direct, Some(Arc::clone(file)));
        this.advise();
        Ok(this)
    }

    /// Maps the first `bytes` of a file to be read, written or both. After the first page that was lost, nothing more can be done with it.
    ///
    /// # Errors
    /// As [`Mapping::new`].
    pub fn once(file: BorrowedFd<'_>, bytes: u64, (reads, writes): (bool, bool)) -> Result<Self, MapError> {
        BEFORE.get_or_init(handle_signal).as_ref().map_err(|errno| MapError::of(*errno))?;
        let bytes = usize::try_from(bytes).map_err(|_| MapError::of(libc::ENOMEM))?;
        let mut protection = ProtFlags::empty();
        protection.set(ProtFlags::READ, reads || !writes);
        protection.set(ProtFlags::WRITE, writes);
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes.max(1), protection, MapFlags::SHARED, file, 0) };
        let base = base.map_err(|error| MapError::of(error.raw_os_error()))?.cast::<u8>();
        let take = |place: &Place| {
            place.base.load(Ordering::Relaxed) == 0
                && place.base.compare_exchange(0, base as usize, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let Some(place) = PLACES.iter().position(take) else {
            // SAFETY: just mapped, and used by nothing.
            let _ = unsafe { munmap(base.cast(), bytes.max(1)) };
            return Err(MapError::of(libc::EMFILE));
        };
        PLACES[place].bytes.store(bytes, Ordering::Release);
        let (hint, direct, file, broken) = (ReadHint::Unset, false, None, AtomicBool::new(false));
        Ok(Self { base, bytes, protection, hint, direct, file, place, broken })
    }

    /// How much of the file it is, bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Tells the kernel how it will be read.
    fn advise(&self) {
        let advice = match self.hint {
            ReadHint::Unset => return,
            ReadHint::Random => Advice::Random,
            ReadHint::Sequential => Advice::Sequential,
        };
        // SAFETY: neither advice changes what is in the mapping.
        let _ = unsafe { madvise(self.base.cast(), self.bytes, advice) };
    }

    /// Does what only needs an address: bytes moved, or a negative errno.
    fn copy(&self, offset: u64, bytes: usize, copy: impl FnOnce(*mut u8)) -> i32 {
        let Some(at) =
            usize::try_from(offset).ok().filter(|at| at.checked_add(bytes).is_some_and(|end| end <= self.bytes))
        else {
            return -libc::EFAULT;
        };
        if self.broken.load(Ordering::Acquire) {
            return -libc::EIO;
        }
        let lost = &PLACES[self.place].lost;
        let before = lost.load(Ordering::Acquire);
        // SAFETY: within the mapping by the check above.
        copy(unsafe { self.base.add(at) });
        if lost.load(Ordering::Acquire) != before {
            self.renew();
            return -libc::EIO;
        }
        if self.direct
            && let Err(errno) = self.sync_range(at, bytes)
        {
            return errno;
        }
        i32::try_from(bytes).unwrap_or(i32::MAX)
    }

    /// Copies out: bytes moved, or a negative errno.
    #[must_use]
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> i32 {
        // SAFETY: `copy` gives an address with room for the buffer, which is no part of the mapping.
        self.copy(offset, buffer.len(), |from| unsafe {
            from.copy_to_nonoverlapping(buffer.as_mut_ptr(), buffer.len())
        })
    }

    /// Copies in: bytes moved, or a negative errno.
    #[must_use]
    pub fn write(&self, offset: u64, buffer: &[u8]) -> i32 {
        // SAFETY: as in `read`.
        self.copy(offset, buffer.len(), |to| unsafe { to.copy_from_nonoverlapping(buffer.as_ptr(), buffer.len()) })
    }

    /// Writes out what is dirty: 0, or a negative errno.
    #[must_use]
    pub fn sync(&self) -> i32 {
        if self.broken.load(Ordering::Acquire) {
            return -libc::EIO;
        }
        self.sync_range(0, self.bytes).err().unwrap_or(0)
    }

    fn sync_range(&self, at: usize, bytes: usize) -> Result<(), i32> {
        let start = at - at % PAGE.load(Ordering::Relaxed);
        // SAFETY: within the mapping, whose bytes it does not change.
        let result = unsafe { msync(self.base.add(start).cast(), at + bytes - start, MsyncFlags::SYNC) };
        result.map_err(|error| -error.raw_os_error())
    }

    /// Maps the file again over pages that the handler has put in the place of lost ones.
    fn renew(&self) {
        let Some(file) = &self.file else { return self.broken.store(true, Ordering::Release) };
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: exactly over this value's own mapping, into which nothing points.
        let renewed = unsafe { mmap(self.base.cast(), self.bytes.max(1), self.protection, flags, file.as_fd(), 0) };
        self.broken.store(renewed.is_err(), Ordering::Release);
        self.advise();
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        PLACES[self.place].bytes.store(0, Ordering::Release);
        PLACES[self.place].base.store(0, Ordering::Release);
        // SAFETY: mapped by `new`, and nothing points into it.
        let _ = unsafe { munmap(self.base.cast(), self.bytes.max(1)) };
    }
}

/// Installs the handler; gives what was there before, or an errno.
fn handle_signal() -> Result<libc::sigaction, i32> {
    PAGE.store(rustix::param::page_size(), Ordering::Relaxed);
    // SAFETY: plain structs of integers, filled in below or by the kernel.
    let (mut action, mut before) =
        unsafe { (std::mem::zeroed::<libc::sigaction>(), std::mem::zeroed::<libc::sigaction>()) };
    action.sa_sigaction = on_lost_page as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler only uses atomics and system calls.
    if unsafe { libc::sigaction(libc::SIGBUS, &raw const action, &raw mut before) } == 0 {
        Ok(before)
    } else {
        Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL))
    }
}

/// A page was not there: zeroes instead, if it is one of ours; otherwise what would have happened before.
extern "C" fn on_lost_page(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t`, with an address for this signal.
    let address = unsafe { (*info).si_addr() } as usize;
    let is_inside = |place: &&Place| {
        let base = place.base.load(Ordering::Acquire);
        base != 0 && (base..base + place.bytes.load(Ordering::Acquire)).contains(&address)
    };
    if let Some(place) = PLACES.iter().find(is_inside) {
        let flags = MapFlags::PRIVATE | MapFlags::FIXED;
        let bytes = PAGE.load(Ordering::Relaxed);
        let page = address - address % bytes;
        // SAFETY: a page of a mapping of ours, to which only the copy that is interrupted here has an address.
        let put = unsafe { mmap_anonymous(page as *mut _, bytes, ProtFlags::READ | ProtFlags::WRITE, flags) };
        if put.is_ok() {
            place.lost.fetch_add(1, Ordering::AcqRel);
            return;
        }
    }
    if let Some(Ok(before)) = BEFORE.get() {
        // SAFETY: what was installed before us; the access that failed is tried again and comes to it.
        let _ = unsafe { libc::sigaction(libc::SIGBUS, before, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_page_that_is_gone_is_an_error_and_comes_back() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(65_536).unwrap();
        let control: File = file.try_clone().unwrap();
        let fd = Arc::new(OwnedFd::from(file));
        let mapping = Mapping::new(&fd, 65_536, (true, true), (ReadHint::Random, false)).unwrap();
        let mut buffer = vec![1_u8; 8192];
        assert_eq!(mapping.write(12_288, &buffer), 8192);
        assert_eq!(mapping.sync(), 0);
        buffer.fill(0);
        assert_eq!((mapping.read(12_288, &mut buffer), buffer[0], buffer[8191]), (8192, 1, 1));
        assert_eq!(mapping.read(61_440, &mut buffer), -libc::EFAULT);
        control.set_len(4096).unwrap();
        for _ in 0..2 {
            assert_eq!(mapping.read(12_288, &mut buffer), -libc::EIO);
            assert_eq!(mapping.write(32_768, &buffer), -libc::EIO);
        }
        assert_eq!(mapping.read(0, &mut buffer[..4096]), 4096);
        control.set_len(65_536).unwrap();
        assert_eq!((mapping.read(12_288, &mut buffer), buffer[0]), (8192, 0));
    }

    #[test]
    fn a_mapping_for_once_is_of_no_use_after_a_page_was_lost() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(65_536).unwrap();
        let mapping = Mapping::once(file.as_fd(), 65_536, (true, true)).unwrap();
        let mut buffer = vec![0_u8; 4096];
        assert_eq!((mapping.bytes(), mapping.write(8192, &buffer)), (65_536, 4096));
        file.set_len(4096).unwrap();
        assert_eq!(mapping.read(8192, &mut buffer), -libc::EIO);
        file.set_len(65_536).unwrap();
        assert_eq!(mapping.read(0, &mut buffer), -libc::EIO);
    }

    #[test]
    fn a_mapping_that_cannot_be_renewed_fails_every_operation() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let mapping =
            Mapping::new(&Arc::new(OwnedFd::from(file)), 8192, (true, true), (ReadHint::Random, false)).unwrap();
        mapping.broken.store(true, Ordering::Release);
        let mut buffer = [0; 4096];
        let operations = [mapping.write(0, &buffer), mapping.read(0, &mut buffer), mapping.sync()];
        assert_eq!(operations, [-libc::EIO; 3]);
    }
}
