//! Claims that are held while a target is written to, and the examination of block devices.

use crate::content;
use crate::footprint::Sibling;
use crate::foreign::Foreign;
use crate::node::Node;
use crate::sysfs::{self, Number};
use crate::{ErrorKind, TargetAccess, in_use, ownership};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FlockOperation, Mode as Permissions, OFlags, SeekFrom, fcntl_lock, flock, openat, seek};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Whether an examination may take what the run needs, or only look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeMode {
    /// Read-only descriptors, claims given back at once.
    ReadOnly,
    /// For the run.
    Claim,
}

/// While this lives, no other program may write to the target, mount it, …: `O_EXCL` on a device, a lock on a file.
#[derive(Debug)]
pub(crate) struct Claim {
    fd: OwnedFd,
    /// Other devices over the same bytes.
    _beside: Vec<Arc<Claim>>,
}

impl Claim {
    /// A descriptor of the target, for looking at it; without direct I/O.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Device(Number),
    File((u64, u64)),
}

/// The claims of this process: a plan may name one device under several names, and they share one claim.
static CLAIMS: Mutex<BTreeMap<Subject, Weak<Claim>>> = Mutex::new(BTreeMap::new());

/// Returns the claim on a subject, made by `make` when this process has none.
fn claim(
    subject: Subject,
    mode: ProbeMode,
    make: impl FnOnce() -> Result<Claim, ErrorKind>,
) -> Result<Arc<Claim>, ErrorKind> {
    let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(held) = claims.get(&subject).and_then(Weak::upgrade) {
        return Ok(held);
    }
    let held = Arc::new(make()?);
    if mode == ProbeMode::Claim {
        claims.retain(|_, claim| claim.strong_count() > 0);
        claims.insert(subject, Arc::downgrade(&held));
    }
    Ok(held)
}

/// Does this process hold the file for a run already?
pub(crate) fn is_claimed(identity: (u64, u64)) -> bool {
    let claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    claims.get(&Subject::File(identity)).is_some_and(|claim| claim.strong_count() > 0)
}

/// Claims a block device with `O_EXCL`, and with it the devices over the same bytes.
fn claim_device(node: &Node, mode: ProbeMode) -> Result<Arc<Claim>, ErrorKind> {
    let root = Path::new("/");
    let mut beside = Vec::new();
    for sibling in in_use::beside(root, node.device()) {
        beside.extend(claim_beside(root, &sibling, mode)?);
    }
    let direction = if mode == ProbeMode::Claim { OFlags::RDWR } else { OFlags::RDONLY };
    claim(Subject::Device(node.device()), mode, || {
        let taken = patiently(|| node.reopen(direction | OFlags::EXCL), |result| !matches!(result, Err(Errno::BUSY)));
        let fd = taken.map_err(|error| match error {
            Errno::BUSY => in_use::exclusive(root, node.device()),
            _ => ErrorKind::from_io("write", &node.path, error),
        })?;
        Ok(Claim { fd, _beside: beside })
    })
}

/// Claims a device over the same bytes; `None` when it is gone.
fn claim_beside(root: &Path, sibling: &Sibling, mode: ProbeMode) -> Result<Option<Arc<Claim>>, ErrorKind> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let open = || openat(CWD, &sibling.node, flags, Permissions::empty());
    let mut is_gone = false;
    let claimed = claim(Subject::Device(sibling.number), mode, || {
        let taken = patiently(open, |result| !matches!(result, Err(Errno::BUSY)));
        let fd = taken.map_err(|error| match error {
            Errno::BUSY => in_use::exclusive_beside(root, sibling),
            _ => {
                is_gone = matches!(error, Errno::NXIO | Errno::NODEV);
                ErrorKind::from_io("claim", &sibling.node, error)
            }
        })?;
        Ok(Claim { fd, _beside: Vec::new() })
    });
    if is_gone { Ok(None) } else { claimed.map(Some) }
}

/// Claims a file with a lock that other iodynos respect, after seeing that no process holds a record lock (as qemu does
/// on disk images). File systems without locks are let pass.
pub(crate) fn claim_file(node: &Node, mode: ProbeMode) -> Result<Arc<Claim>, ErrorKind> {
    let direction = if mode == ProbeMode::Claim { OFlags::RDWR } else { OFlags::RDONLY };
    claim(Subject::File(node.identity()), mode, || {
        let fd = node.reopen(direction).map_err(|error| ErrorKind::from_io("write", &node.path, error))?;
        lock(&fd, mode)?;
        Ok(Claim { fd, _beside: Vec::new() })
    })
}

/// Claims a file that was just made.
pub(crate) fn claim_new(fd: OwnedFd, identity: (u64, u64)) -> Result<Arc<Claim>, ErrorKind> {
    claim(Subject::File(identity), ProbeMode::Claim, || {
        lock(&fd, ProbeMode::Claim)?;
        Ok(Claim { fd, _beside: Vec::new() })
    })
}

/// Tries for a fifth of a second: udev looks at a device for a moment after each change, and a child process that was
/// just forked holds what its parent had until it starts its program.
fn patiently<T>(mut attempt: impl FnMut() -> T, is_done: impl Fn(&T) -> bool) -> T {
    for _ in 0..20 {
        let result = attempt();
        if is_done(&result) {
            return result;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    attempt()
}

fn lock(fd: &OwnedFd, mode: ProbeMode) -> Result<(), ErrorKind> {
    let held = |result| matches!(result, Err(Errno::WOULDBLOCK | Errno::ACCESS));
    // A record lock for writing needs a descriptor for writing.
    let probe = match mode {
        ProbeMode::Claim => FlockOperation::NonBlockingLockExclusive,
        ProbeMode::ReadOnly => FlockOperation::NonBlockingLockShared,
    };
    let attempt = || held(flock(fd, FlockOperation::NonBlockingLockExclusive)) || held(fcntl_lock(fd, probe));
    if patiently(attempt, |held| !held) { Err(ErrorKind::Locked) } else { Ok(()) }
}

/// A block device that may be used as asked.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) claim: Option<Arc<Claim>>,
    pub(crate) size_bytes: u64,
    /// What `--destroy` gave up.
    pub(crate) overwritten_by_consent: Option<Foreign>,
}

/// Examines a block device: in use? ours or empty? `may_destroy` says that a flag names it, `flag` how to name it.
pub(crate) fn examine(
    node: &Node,
    access: TargetAccess,
    mode: ProbeMode,
    may_destroy: bool,
    flag: &Path,
) -> Result<Device, ErrorKind> {
    if access == TargetAccess::Read {
        let fd = node.reopen(OFlags::RDONLY).map_err(|error| ErrorKind::from_io("read", &node.path, error))?;
        return Ok(Device { claim: None, size_bytes: size_of(fd.as_fd(), &node.path)?, overwritten_by_consent: None });
    }
    in_use::check_device(Path::new("/"), node.device())?;
    if sysfs::is_read_only(Path::new("/"), node.device()) {
        return Err(ErrorKind::ReadOnly);
    }
    node.may_write()?;
    let claim = claim_device(node, mode)?;
    // A program that used it between the first check and the claim is gone or visible now.
    in_use::check_device(Path::new("/"), node.device())?;
    let size_bytes = size_of(claim.fd(), &node.path)?;
    let known = ownership::known_on_device(node.device());
    let medium = sysfs::medium(Path::new("/"), node.device());
    // Not every driver has direct I/O.
    let direct = node.reopen(OFlags::RDONLY | OFlags::DIRECT).ok();
    let fd = direct.as_ref().map_or(claim.fd(), |direct| direct.as_fd());
    let remembered = ownership::ForeignPlaces::of(node.device());
    let overwritten_by_consent = match content::scan_device(fd, size_bytes, medium, flag, &known, remembered.places()) {
        Ok(scan) => {
            // Also of a dry run, and also of what a flag gives up: it may not overwrite all of it.
            remembered.replace(&scan.places);
            scan.foreign
        }
        Err(_) if may_destroy => None,
        Err(error) => return Err(error),
    };
    match overwritten_by_consent {
        Some(foreign) if !may_destroy => Err(ownership::foreign_error(foreign, flag)),
        overwritten_by_consent => Ok(Device { claim: Some(claim), size_bytes, overwritten_by_consent }),
    }
}

/// Size of a block device.
fn size_of(fd: BorrowedFd<'_>, path: &Path) -> Result<u64, ErrorKind> {
    match seek(fd, SeekFrom::End(0)) {
        Ok(0) => Err(ErrorKind::Empty),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(ErrorKind::from_io("measure", path, error)),
    }
}
