//! The examination, creation and growth of regular files.

use crate::content::{self, Foreign};
use crate::device::{Claim, Mode, claim_file, claim_new};
use crate::node::{Node, Vacancy};
use crate::ours::{self, Mark};
use crate::{Access, ErrorKind, Policy, in_use, place};
use plan::TargetSpec;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{
    AtFlags, FallocateFlags, Mode as Permissions, OFlags, SeekFrom, accessat, fallocate, fstat, fstatvfs, ftruncate,
    openat, seek, statat, unlinkat,
};
use rustix::io::Errno;
use std::path::Path;
use std::sync::Arc;

/// A regular file that may be used as asked.
#[derive(Debug)]
pub(crate) struct Existing {
    pub(crate) claim: Option<Arc<Claim>>,
    /// Size as it is.
    pub(crate) size_bytes: u64,
    /// Size to extend it to.
    pub(crate) grow_to: Option<u64>,
    /// Its mark, if it is ours.
    pub(crate) mark: Option<Mark>,
    /// What `--destroy` gave up.
    pub(crate) given_up: Option<Foreign>,
}

/// Examines a file that is there.
pub(crate) fn examine(
    spec: &TargetSpec,
    node: &Node,
    access: Access,
    policy: &Policy,
    mode: Mode,
) -> Result<Existing, ErrorKind> {
    let size_bytes = u64::try_from(node.stat.st_size).unwrap_or(0);
    let grow_to = spec.size_bytes.filter(|asked| *asked > size_bytes);
    if size_bytes == 0 && grow_to.is_none() {
        return Err(ErrorKind::Empty);
    }
    if let Some(bytes) = grow_to.filter(|_| policy.never_create) {
        return Err(ErrorKind::CreationOff { action: "extended", bytes });
    }
    if access == Access::Read && grow_to.is_none() {
        let fd = node.reopen(OFlags::RDONLY).map_err(|error| ErrorKind::from_io("read", &node.path, error))?;
        let mark = ours::mark_of(fd.as_fd(), ours::registry_path().as_deref());
        // Our own file that was made and never filled: filling it is a write like any other, and goes on below.
        let needs_fill = mark.is_some_and(|mark| first_unwritten(fd.as_fd(), mark, size_bytes) < size_bytes);
        if !needs_fill || policy.never_create {
            return Ok(Existing { claim: None, size_bytes, grow_to, mark, given_up: None });
        }
    }
    place::check(&node.path)?;
    in_use::check_file(Path::new("/"), node)?;
    let may_destroy = policy.may_destroy(&spec.path, &node.path);
    // Before permissions: a foreign file is refused as such to everybody who may read it.
    let mark = {
        let fd = node.reopen(OFlags::RDONLY).map_err(|error| ErrorKind::from_io("read", &node.path, error))?;
        ours::mark_of(fd.as_fd(), ours::registry_path().as_deref())
    };
    if mark.is_none() && !may_destroy {
        let flag = spec.path.clone();
        return Err(ErrorKind::ForeignFile { bytes: size_bytes, mark: ours::XATTR, flag });
    }
    node.may_write()?;
    let claim = claim_file(node, mode)?;
    let given_up = foreign_content(claim.fd(), size_bytes, mark, may_destroy, &spec.path)?;
    if let Some(bytes) = grow_to {
        check_space(claim.fd(), bytes - size_bytes, &node.path)?;
    }
    Ok(Existing { claim: Some(claim), size_bytes, grow_to, mark, given_up })
}

/// What stands in the file that is not ours, refused unless a flag allows to lose it.
fn foreign_content(
    fd: BorrowedFd<'_>,
    size_bytes: u64,
    mark: Option<Mark>,
    may_destroy: bool,
    flag: &Path,
) -> Result<Option<Foreign>, ErrorKind> {
    let edges = match content::look(fd, size_bytes, flag) {
        Ok(edges) => edges,
        Err(_) if may_destroy => return Ok(None),
        Err(error) => return Err(error),
    };
    if may_destroy {
        return Ok(edges.foreign);
    }
    let mark = mark.unwrap_or_default();
    // Our file, but somebody may have put something else into it since: a file system, or a copy of another file over
    // it (which keeps the mark). Writes at odd offsets leave pieces of our data without our magic, so a file that still
    // has sectors of ours is ours; and a user's pattern cannot be told from anything.
    let replaced = edges.signature || edges.own_sectors == 0;
    match edges.foreign {
        Some(foreign) if replaced && !mark.pattern => Err(ours::foreign_error(foreign, flag)),
        _ => Ok(None),
    }
}

/// Examines a place where a file would be made; returns its size.
pub(crate) fn examine_vacancy(spec: &TargetSpec, vacancy: &Vacancy, policy: &Policy) -> Result<u64, ErrorKind> {
    let bytes = spec.size_bytes.filter(|bytes| *bytes > 0).ok_or(ErrorKind::NotFound)?;
    let path = vacancy.parent_path.join(&vacancy.name);
    place::check(&path)?;
    if policy.never_create {
        return Err(ErrorKind::CreationOff { action: "created", bytes });
    }
    let writable = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    accessat(&vacancy.parent, ".", writable, AtFlags::EACCESS)
        .map_err(|error| ErrorKind::from_io("create", &path, error))?;
    check_space(vacancy.parent.as_fd(), bytes, &path)?;
    Ok(bytes)
}

/// Refuses what would not fit.
fn check_space(fd: BorrowedFd<'_>, needed_bytes: u64, path: &Path) -> Result<(), ErrorKind> {
    let available_bytes = available(fd, path)?;
    if needed_bytes > available_bytes {
        return Err(ErrorKind::NoSpace { needed_bytes, available_bytes });
    }
    Ok(())
}

/// Bytes that this user may still fill.
fn available(fd: BorrowedFd<'_>, path: &Path) -> Result<u64, ErrorKind> {
    let state = fstatvfs(fd).map_err(|error| ErrorKind::from_io("measure the space for", path, error))?;
    let blocks = if rustix::process::geteuid().is_root() { state.f_bfree } else { state.f_bavail };
    Ok(blocks.saturating_mul(state.f_frsize))
}

/// A file that was just made, marked and sized, and removed again when something goes wrong before it is kept.
#[derive(Debug)]
pub(crate) struct Created<'a> {
    pub(crate) node: Node,
    pub(crate) claim: Arc<Claim>,
    pub(crate) mark: Mark,
    /// Why the mark could not be set.
    pub(crate) unmarked: Option<String>,
    vacancy: &'a Vacancy,
    keep: bool,
}

impl Created<'_> {
    /// The file stays.
    pub(crate) fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for Created<'_> {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        // Only if the name still leads to the file that was made here.
        let (parent, name) = (&self.vacancy.parent, &self.vacancy.name);
        let same = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == self.node.identity());
        if same {
            let _ = unlinkat(parent, name, AtFlags::empty());
        }
    }
}

/// Makes a file of `bytes`; `O_EXCL` makes sure that nothing was there.
pub(crate) fn create(vacancy: &Vacancy, bytes: u64) -> Result<Created<'_>, ErrorKind> {
    let path = vacancy.parent_path.join(&vacancy.name);
    let failed = |error: Errno| ErrorKind::from_io("create", &path, error);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(&vacancy.parent, &vacancy.name, flags, Permissions::from_raw_mode(0o644)).map_err(failed)?;
    let stat = fstat(&fd).map_err(failed)?;
    let node = Node::of(path.clone(), &fd, stat).map_err(failed)?;
    let claim = claim_new(fd, node.identity())?;
    let mut created = Created { node, claim, mark: Mark::default(), unmarked: None, vacancy, keep: false };
    grow(created.claim.fd(), 0, bytes, &path)?;
    if first_hole(created.claim.fd(), bytes) >= bytes {
        // The file system does not tell what was never written; the mark will.
        created.mark.filled_bytes = Some(0);
    }
    created.unmarked = ours::set_mark(created.claim.fd(), created.mark, ours::registry_path().as_deref()).err();
    Ok(created)
}

/// Extends a file, with its space allocated where the file system can, so that a run does not meet a full disk.
pub(crate) fn grow(fd: BorrowedFd<'_>, from: u64, to: u64, path: &Path) -> Result<(), ErrorKind> {
    let no_space = |_| match available(fd, path) {
        Ok(available_bytes) => ErrorKind::NoSpace { needed_bytes: to - from, available_bytes },
        Err(error) => error,
    };
    match fallocate(fd, FallocateFlags::empty(), from, to - from) {
        Ok(()) => Ok(()),
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => {
            // Give back what a part of the allocation took.
            let _ = ftruncate(fd, from);
            Err(no_space(error))
        }
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            ftruncate(fd, to).map_err(|error| ErrorKind::from_io("extend", path, error))
        }
        Err(error) => Err(ErrorKind::from_io("extend", path, error)),
    }
}

/// The first byte of our own file that was never written; `size_bytes` when there is none.
pub(crate) fn first_unwritten(fd: BorrowedFd<'_>, mark: Mark, size_bytes: u64) -> u64 {
    mark.filled_bytes.unwrap_or(u64::MAX).min(first_hole(fd, size_bytes)).min(size_bytes)
}

/// Where the first hole begins, or what was allocated and never written; `size_bytes` when there is none or the file
/// system does not tell.
pub(crate) fn first_hole(fd: BorrowedFd<'_>, size_bytes: u64) -> u64 {
    seek(fd, SeekFrom::Hole(0)).unwrap_or(size_bytes).min(size_bytes)
}
