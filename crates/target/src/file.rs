//! The examination, creation and growth of regular files.

use crate::device::{Claim, ProbeMode, claim_file, claim_new, is_claimed};
use crate::node::{Node, Vacancy};
use crate::ownership::{self, OwnershipTag};
use crate::registry::Registry;
use crate::{ErrorKind, TargetAccess, WritePolicy, forbidden_dirs, in_use, verify_own_file};
use plan::{LayoutKind, TargetSpec};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FallocateFlags, Mode as Permissions, OFlags, SeekFrom, accessat, fallocate, fstat, fstatvfs,
    ftruncate, linkat, openat, seek, statat, unlinkat,
};
use rustix::io::Errno;
use std::path::Path;
use std::sync::Arc;

/// The mark of a file of which nothing was written yet.
pub(crate) const UNFILLED: OwnershipTag = OwnershipTag {
    filled_bytes: Some(0),
    patterns: Vec::new(),
    pieces: false,
    overwritten_by_consent: false,
    settled: None,
};

/// A regular file that may be used as asked.
#[derive(Debug)]
pub(crate) struct Existing {
    pub(crate) claim: Option<Arc<Claim>>,
    /// Size as it is.
    pub(crate) size_bytes: u64,
    /// Size to extend it to.
    pub(crate) grow_to: Option<u64>,
    /// Its mark, if it is ours.
    pub(crate) mark: Option<OwnershipTag>,
    /// What `--destroy` gave up.
    pub(crate) overwritten_by_consent: Option<String>,
    /// What is in it after the run is only ours when it shows.
    pub(crate) needs_verify: bool,
}

/// The size that a file must have at least.
pub(crate) fn wanted_bytes(spec: &TargetSpec) -> Option<u64> {
    spec.size_bytes.max(spec.layout.map(|layout| layout.at_least_bytes))
}

/// Bytes of the file at a path, 0 where there is none; `None`: a device, or the place of one.
#[must_use]
pub fn file_bytes(path: &Path) -> Option<u64> {
    match std::fs::metadata(path) {
        Ok(facts) => facts.is_file().then_some(facts.len()),
        Err(error) => {
            let is_device = path.starts_with("/dev") && !path.starts_with("/dev/shm");
            (error.kind() == std::io::ErrorKind::NotFound && !is_device).then_some(0)
        }
    }
}

/// The target as it is there: where it is a file, no longer than that, so that it is neither made nor extended.
#[must_use]
pub fn as_found(spec: &TargetSpec) -> TargetSpec {
    match file_bytes(&spec.path).filter(|bytes| wanted_bytes(spec).is_some_and(|wanted| wanted > *bytes)) {
        Some(bytes) => {
            TargetSpec { size_bytes: spec.size_bytes.map(|asked| asked.min(bytes)), layout: None, ..spec.clone() }
        }
        None => spec.clone(),
    }
}

/// The part of a target that a run uses.
pub(crate) fn used(spec: &TargetSpec, size_bytes: u64) -> u64 {
    spec.size_bytes.unwrap_or(size_bytes).min(size_bytes)
}

/// Examines a file that is there.
pub(crate) fn examine(
    spec: &TargetSpec,
    node: &Node,
    access: TargetAccess,
    policy: &WritePolicy,
    mode: ProbeMode,
) -> Result<Existing, ErrorKind> {
    let size_bytes = u64::try_from(node.stat.st_size).unwrap_or(0);
    let grow_to = wanted_bytes(spec).filter(|asked| *asked > size_bytes);
    if size_bytes == 0 && grow_to.is_none() {
        return Err(ErrorKind::Empty);
    }
    if let Some(bytes) = grow_to.filter(|_| policy.never_create) {
        return Err(ErrorKind::CreationOff { action: "extended", bytes });
    }
    if access == TargetAccess::Read && grow_to.is_none() {
        let fd = node.reopen(OFlags::RDONLY).map_err(|error| ErrorKind::from_io("read", &node.path, error))?;
        let mark = ownership::mark_of(fd.as_fd(), Registry::find().as_ref());
        // Our own file that was made and never filled: filling it is a write like any other, and goes on below.
        let used_bytes = used(spec, size_bytes);
        let needs_fill = mark.as_ref().is_some_and(|mark| first_unwritten(fd.as_fd(), mark, used_bytes) < used_bytes);
        if !needs_fill || policy.never_create {
            return Ok(Existing {
                claim: None,
                size_bytes,
                grow_to,
                mark,
                overwritten_by_consent: None,
                needs_verify: false,
            });
        }
    }
    forbidden_dirs::check(&node.path)?;
    in_use::check_file(Path::new("/"), node)?;
    let may_destroy = policy.may_destroy(&spec.path, &node.path);
    // Before permissions: a foreign file is refused as such to everybody who may read it.
    let mark = {
        let fd = node.reopen(OFlags::RDONLY).map_err(|error| ErrorKind::from_io("read", &node.path, error))?;
        ownership::mark_of(fd.as_fd(), Registry::find().as_ref())
    };
    if mark.is_none() && !may_destroy {
        let flag = spec.path.clone();
        return Err(match grow_to {
            Some(asked_bytes) if access == TargetAccess::Read => {
                ErrorKind::ForeignExtension { size_bytes, asked_bytes, flag }
            }
            _ => ErrorKind::ForeignFile { bytes: size_bytes, mark: ownership::XATTR, flag },
        });
    }
    if mark.is_none() {
        in_use::check_foreign_file(Path::new("/"))?;
    }
    node.may_write()?;
    // A plan may name one file twice: what it holds was proved for the first name, and only we have written since.
    let is_proved = mark.is_some() && is_claimed(node.identity());
    let claim = claim_file(node, mode)?;
    let (fd, flag) = (claim.fd(), &spec.path);
    let (overwritten_by_consent, needs_verify) = match &mark {
        // What the first name gave up stays given up.
        Some(mark) if is_proved => (
            may_destroy.then(|| verify_own_file::what_is_lost(fd, size_bytes, None, flag)).flatten(),
            mark.overwritten_by_consent,
        ),
        Some(mark) if !may_destroy => {
            verify_own_file::prove(fd, size_bytes, mark, flag)?;
            (None, false)
        }
        // The flag is not needed.
        Some(mark) if verify_own_file::is_as_left(fd, size_bytes, mark, flag) => (None, false),
        _ => (verify_own_file::what_is_lost(fd, size_bytes, mark.as_ref(), flag), true),
    };
    if let Some(bytes) = grow_to.filter(|_| takes_room(spec)) {
        check_space(claim.fd(), bytes - size_bytes, &node.path)?;
    }
    Ok(Existing { claim: Some(claim), size_bytes, grow_to, mark, overwritten_by_consent, needs_verify })
}

/// Examines a place where a file would be made; returns its size.
pub(crate) fn examine_vacancy(spec: &TargetSpec, vacancy: &Vacancy, policy: &WritePolicy) -> Result<u64, ErrorKind> {
    let bytes = wanted_bytes(spec).filter(|bytes| *bytes > 0).ok_or(ErrorKind::NotFound)?;
    let path = vacancy.path();
    if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
        return Err(ErrorKind::NoDevice);
    }
    // What is there decides: directories that will be made have no place in a file system yet.
    forbidden_dirs::check(&vacancy.parent_path.join(&vacancy.name))?;
    if policy.never_create {
        return Err(ErrorKind::CreationOff { action: "created", bytes });
    }
    let writable = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    accessat(&vacancy.parent, ".", writable, AtFlags::EACCESS)
        .map_err(|error| ErrorKind::from_io("create", &path, error))?;
    if takes_room(spec) {
        check_space(vacancy.parent.as_fd(), bytes, &path)?;
    }
    Ok(bytes)
}

/// Does the file take its room before the load begins? What only its writes allocate may be far less than its size.
fn takes_room(spec: &TargetSpec) -> bool {
    match spec.layout.map(|layout| layout.how) {
        None | Some(LayoutKind::Filled | LayoutKind::Allocated | LayoutKind::Kept) => true,
        Some(LayoutKind::Sparse | LayoutKind::Untouched | LayoutKind::Unbounded) => false,
    }
}

/// Refuses what would not fit.
fn check_space(fd: BorrowedFd<'_>, needed_bytes: u64, path: &Path) -> Result<(), ErrorKind> {
    match available(fd, path)? {
        Some(available_bytes) if needed_bytes > available_bytes => {
            Err(ErrorKind::NoSpace { needed_bytes, available_bytes })
        }
        _ => Ok(()),
    }
}

/// Bytes that this user may still fill; `None` where the file system does not tell (ramfs, some of FUSE): it says that it
/// has no blocks at all.
fn available(fd: BorrowedFd<'_>, path: &Path) -> Result<Option<u64>, ErrorKind> {
    let state = fstatvfs(fd).map_err(|error| ErrorKind::from_io("measure the space for", path, error))?;
    let blocks = if rustix::process::geteuid().is_root() { state.f_bfree } else { state.f_bavail };
    Ok((state.f_blocks > 0).then(|| blocks.saturating_mul(state.f_frsize)))
}

/// A file that was just made, marked and sized, and removed again when something goes wrong before it is kept.
#[derive(Debug)]
pub(crate) struct Created<'a> {
    pub(crate) node: Node,
    pub(crate) claim: Arc<Claim>,
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

/// Makes a file of `bytes`, as far as `how` makes it as long; never in the place of one that was there.
pub(crate) fn create(vacancy: &Vacancy, bytes: u64, how: LayoutKind) -> Result<Created<'_>, ErrorKind> {
    let path = vacancy.parent_path.join(&vacancy.name);
    let failed = |error: Errno| ErrorKind::from_io("create", &path, error);
    if let Some(fd) = unnamed(&vacancy.parent).map_err(failed)? {
        let created = furnish(vacancy, fd, bytes, how)?;
        // The name is the last thing that it gets: a run that is killed before leaves nothing.
        let from = format!("/proc/self/fd/{}", created.claim.fd().as_raw_fd());
        match linkat(CWD, from, &vacancy.parent, &vacancy.name, AtFlags::SYMLINK_FOLLOW) {
            Ok(()) => return Ok(created),
            Err(Errno::EXIST) => return Err(failed(Errno::EXIST)),
            // A file system that can do the one and not the other.
            Err(_) => {}
        }
    }
    furnish(vacancy, named(vacancy).map_err(failed)?, bytes, how)
}

/// Marks a file that was just made, and gives it its size.
fn furnish(vacancy: &Vacancy, fd: OwnedFd, bytes: u64, how: LayoutKind) -> Result<Created<'_>, ErrorKind> {
    let path = vacancy.parent_path.join(&vacancy.name);
    let failed = |error: Errno| ErrorKind::from_io("create", &path, error);
    let stat = fstat(&fd).map_err(failed)?;
    let node = Node::of(path.clone(), &fd, stat).map_err(failed)?;
    let claim = claim_new(fd, node.identity())?;
    let mut created = Created { node, claim, unmarked: None, vacancy, keep: false };
    let registry = Registry::find();
    // Before anything else, so that a file that is left half-made is known.
    let filled_bytes = UNFILLED.filled_bytes.filter(|_| how == LayoutKind::Filled);
    created.unmarked =
        ownership::set_mark(created.claim.fd(), &OwnershipTag { filled_bytes, ..UNFILLED }, registry.as_ref()).err();
    grow(created.claim.fd(), (0, bytes), how, &path)?;
    Ok(created)
}

/// Makes a file that has no name yet, and goes with this process; `None` where the file system cannot.
fn unnamed(parent: &OwnedFd) -> rustix::io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    match openat(parent, ".", flags, Permissions::from_raw_mode(0o644)) {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT | Errno::NOSYS) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a file under its name; `O_EXCL` makes sure that nothing was there.
fn named(vacancy: &Vacancy) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(&vacancy.parent, &vacancy.name, flags, Permissions::from_raw_mode(0o644))
}

/// Extends a file: unless `how` says otherwise with its space allocated where the file system can, so that a run does not
/// meet a full disk.
pub(crate) fn grow(fd: BorrowedFd<'_>, (from, to): (u64, u64), how: LayoutKind, path: &Path) -> Result<(), ErrorKind> {
    let sparse = || ftruncate(fd, to).map_err(|error| ErrorKind::from_io("extend", path, error));
    let flags = match how {
        LayoutKind::Untouched | LayoutKind::Unbounded => return Ok(()),
        LayoutKind::Sparse => return sparse(),
        LayoutKind::Kept => FallocateFlags::KEEP_SIZE,
        LayoutKind::Filled | LayoutKind::Allocated => FallocateFlags::empty(),
    };
    let no_space = |error| match available(fd, path) {
        Ok(Some(available_bytes)) => ErrorKind::NoSpace { needed_bytes: to - from, available_bytes },
        Ok(None) => ErrorKind::from_io("extend", path, error),
        Err(error) => error,
    };
    match fallocate(fd, flags, from, to - from) {
        Ok(()) => Ok(()),
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => {
            // Give back what a part of the allocation took.
            let _ = ftruncate(fd, from);
            Err(no_space(error))
        }
        Err(Errno::OPNOTSUPP | Errno::NOSYS) if how == LayoutKind::Kept => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => sparse(),
        Err(error) => Err(ErrorKind::from_io("extend", path, error)),
    }
}

/// The first byte of our own file that was never written; `size_bytes` when there is none.
///
/// The mark decides and not the file system, for which a part that was allocated and read is written, and which has holes
/// where a load has trimmed.
pub(crate) fn first_unwritten(fd: BorrowedFd<'_>, mark: &OwnershipTag, size_bytes: u64) -> u64 {
    mark.filled_bytes.unwrap_or_else(|| first_hole(fd, size_bytes)).min(size_bytes)
}

impl Existing {
    /// How far the file was written, as it was found; `size_bytes` when all of it was.
    pub(crate) fn filled_bytes(&self, fd: BorrowedFd<'_>) -> u64 {
        match &self.mark {
            Some(mark) if self.overwritten_by_consent.is_none() => first_unwritten(fd, mark, self.size_bytes),
            // What another program has made of it the mark does not know.
            Some(mark) => first_unwritten(fd, mark, self.size_bytes).min(first_hole(fd, self.size_bytes)),
            None => first_hole(fd, self.size_bytes),
        }
    }
}

/// Where the first hole begins, or what was allocated and never written; `size_bytes` when there is none or the file
/// system does not tell.
pub(crate) fn first_hole(fd: BorrowedFd<'_>, size_bytes: u64) -> u64 {
    seek(fd, SeekFrom::Hole(0)).unwrap_or(size_bytes).min(size_bytes)
}
