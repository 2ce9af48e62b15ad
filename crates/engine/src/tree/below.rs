//! Reaching files and directories below an anchor: no link and no other file system on the way, also where one appears
//! while the load runs.

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
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
}

impl KeptDirectory {
    /// Is it the directory that holds this path of this tree?
    pub(crate) fn holds(&self, tree: &Tree, path: &[u8]) -> bool {
        let above = path.iter().rposition(|byte| *byte == b'/').map_or(&b""[..], |at| &path[..at]);
        self.tree == std::ptr::from_ref(tree).addr() && self.path == above
    }
}

/// Opens below an anchor. On kernels before 5.6 only the last name must be no link.
///
/// # Errors
/// `ELOOP`: there is a link on the way; `EXDEV`: another file system begins there; and those of `openat2(2)`.
pub(crate) fn open_below(anchor: BorrowedFd<'_>, path: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    static IS_MISSING: AtomicBool = AtomicBool::new(false);
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    if !IS_MISSING.load(Ordering::Relaxed) {
        match rustix::fs::openat2(anchor, path, flags, mode, resolve) {
            Err(Errno::NOSYS) => IS_MISSING.store(true, Ordering::Relaxed),
            other => return other,
        }
    }
    rustix::fs::openat(anchor, path, flags, mode)
}

/// Calls with the directory that holds `path`, and with the name there. The directory is kept open for the next call.
///
/// # Errors
/// Those of [`open_below`] and of the call.
pub(crate) fn in_directory<T>(
    kept: &mut Option<KeptDirectory>,
    (tree, path): (&Tree, &[u8]),
    call: impl Fn(BorrowedFd<'_>, &[u8]) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let Some(at) = path.iter().rposition(|byte| *byte == b'/') else { return call(tree.anchor(), path) };
    let (above, name) = (&path[..at], &path[at + 1..]);
    let address = std::ptr::from_ref(tree).addr();
    if let Some(kept) = kept.as_ref().filter(|kept| kept.tree == address && kept.path == above) {
        match call(kept.fd.as_fd(), name) {
            // It may have been removed and made anew.
            Err(Errno::NOENT) => {}
            other => return other,
        }
    }
    let fd = open_below(tree.anchor(), above, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
    let outcome = call(fd.as_fd(), name);
    let mut path = kept.take().map(|kept| kept.path).unwrap_or_default();
    path.clear();
    path.extend_from_slice(above);
    *kept = Some(KeptDirectory { tree: address, path, fd });
    outcome
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
