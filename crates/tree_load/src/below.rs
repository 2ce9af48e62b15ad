//! Reaching files and directories below an anchor: no link and no other file system on the way, also where one appears
//! while the load runs.

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use tree::Tree;

/// A directory that a thread holds open because it worked in it last.
#[derive(Debug)]
pub(crate) struct KeptDirectory {
    /// Address of its tree, for comparison.
    tree: usize,
    path: Vec<u8>,
    fd: OwnedFd,
    /// So often it was used since it is held.
    uses: u32,
    /// It is the thread's working directory.
    is_entered: bool,
}

/// So often a directory is used and it is entered, where the thread has a working directory of its own.
const ENTERED: u32 = 16;

impl KeptDirectory {
    /// For a call in it. By the working directory the kernel finds it with less work than by a descriptor, which all threads share.
    #[inline(always)]
    fn place(&mut self, may_enter: bool) -> BorrowedFd<'_> {
        if self.is_entered {
            return CWD;
        }
        self.uses += 1;
        if may_enter && self.uses == ENTERED {
            self.enter();
        }
        self.fd.as_fd()
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self) {
        self.is_entered = rustix::process::fchdir(&self.fd).is_ok();
    }

    /// Is it the directory that holds this path of this tree?
    pub(crate) fn holds(&self, tree: &Tree, (path, name_at): (&[u8], usize)) -> bool {
        let above = path.get(..name_at.saturating_sub(1)).unwrap_or_default();
        self.tree == std::ptr::from_ref(tree).addr() && self.path == above
    }
}

/// The directory that a thread keeps.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) directory: Option<KeptDirectory>,
    /// The thread has a working directory of its own.
    pub(crate) may_enter: bool,
}

/// The kernel has no `openat2`.
static IS_MISSING: AtomicBool = AtomicBool::new(false);

/// Opens below an anchor. On kernels before 5.6 only the last name must be no link.
///
/// # Errors
/// `ELOOP`: there is a link on the way; `EXDEV`: another file system begins there; and those of `openat2(2)`.
pub(crate) fn open_below(anchor: BorrowedFd<'_>, path: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    // Without `O_NOFOLLOW`, which hides that it is a link where a directory is asked for.
    let flags = flags | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    if !IS_MISSING.load(Ordering::Relaxed) {
        match rustix::fs::openat2(anchor, path, flags, mode, resolve) {
            Err(Errno::NOSYS) => IS_MISSING.store(true, Ordering::Relaxed),
            other => return other,
        }
    }
    rustix::fs::openat(anchor, path, flags | OFlags::NOFOLLOW, mode)
}

/// Opens an entry of a directory that was opened by [`open_below`], or makes it.
///
/// # Errors
/// As [`open_below`].
#[inline(always)]
pub(crate) fn open_entry(directory: BorrowedFd<'_>, name: &CStr, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if flags.contains(OFlags::EXCL) {
        // What is made is neither a link nor a mount.
        return rustix::fs::openat(directory, name, flags, mode);
    }
    if !IS_MISSING.load(Ordering::Relaxed) {
        match rustix::fs::openat2(directory, name, flags, mode, ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV) {
            Err(Errno::NOSYS) => IS_MISSING.store(true, Ordering::Relaxed),
            other => return other,
        }
    }
    rustix::fs::openat(directory, name, flags, mode)
}

/// Calls with the directory that holds `path`, and with the name there, which begins at `name_at`. The directory is kept open for the
/// next call. The path is as it was afterwards.
///
/// # Errors
/// Those of [`open_below`] and of the call.
#[inline(always)]
pub(crate) fn in_directory<T>(
    kept: &mut Kept,
    (tree, path, name_at): (&Tree, &mut Vec<u8>, usize),
    call: impl Fn(BorrowedFd<'_>, &CStr) -> Result<T, Errno>,
) -> Result<T, Errno> {
    // A name that ends with a zero is handed to the kernel as it is: nothing to copy, and a call small enough to stand in the loop.
    path.push(0);
    let outcome = in_directory_of(kept, (tree, path, name_at), call);
    path.pop();
    outcome
}

/// The same with a path that ends with a zero.
#[inline(always)]
fn in_directory_of<T>(
    Kept { directory: kept, may_enter }: &mut Kept,
    (tree, path, name_at): (&Tree, &[u8], usize),
    call: impl Fn(BorrowedFd<'_>, &CStr) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let above = path.get(..name_at.saturating_sub(1)).unwrap_or_default();
    let name = path.get(name_at..).unwrap_or_default();
    debug_assert!(!name.contains(&b'/'), "a name has no slash");
    let Ok(name) = CStr::from_bytes_with_nul(name) else { return Err(Errno::INVAL) };
    let address = std::ptr::from_ref(tree).addr();
    let mut is_new = false;
    loop {
        let directory = match kept {
            _ if above.is_empty() => tree.anchor(),
            Some(kept) if kept.tree == address && kept.path == above => kept.place(*may_enter),
            _ => {
                is_new = true;
                keep(kept, tree, above)?
            }
        };
        // One place for the call, so that it stands in the thread's loop (`TreeThread::perform`).
        let outcome = call(directory, name);
        if !matches!(outcome, Err(Errno::NOENT)) || is_new || above.is_empty() {
            return outcome;
        }
        // The directory may have been removed and made anew.
        is_new = true;
        *kept = None;
    }
}

/// Opens a directory for the calls to come.
#[cold]
#[inline(never)]
fn keep<'a>(kept: &'a mut Option<KeptDirectory>, tree: &Tree, above: &[u8]) -> Result<BorrowedFd<'a>, Errno> {
    let fd = open_below(tree.anchor(), above, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
    let mut path = kept.take().map(|kept| kept.path).unwrap_or_default();
    path.clear();
    path.extend_from_slice(above);
    Ok(kept
        .insert(KeptDirectory { tree: std::ptr::from_ref(tree).addr(), path, fd, uses: 0, is_entered: false })
        .fd
        .as_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("real/deep")).unwrap();
        std::fs::write(folder.path().join("real/deep/file"), "x").unwrap();
        std::os::unix::fs::symlink("real", folder.path().join("link")).unwrap();
        let anchor = std::fs::File::open(folder.path()).unwrap();
        let open = |path: &str| open_below(anchor.as_fd(), path.as_bytes(), OFlags::RDONLY, Mode::empty()).map(|_| ());
        assert_eq!(open("real/deep/file"), Ok(()));
        assert_eq!(open("link/deep/file"), Err(Errno::LOOP));
        assert!(open("../x").is_err());
    }
}
