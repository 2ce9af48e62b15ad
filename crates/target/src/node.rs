//! From a path to the thing itself, held so that it cannot be exchanged.

use crate::ErrorKind;
use crate::lease::{LEASE_STEP, LEASE_WAIT};
use crate::sysfs::Number;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, Stat, accessat, fcntl_getfl, fcntl_setfl, fstat, fstatfs, major,
    minor, mkdirat, openat,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a path leads to.
#[derive(Debug)]
pub(crate) enum Place {
    /// Something is there.
    Present(Node),
    /// Nothing is there; it could be made.
    Absent(Vacancy),
}

/// A directory and a name in it that is free.
#[derive(Debug)]
pub(crate) struct Vacancy {
    /// The directory, open with `O_PATH`.
    pub(crate) parent: OwnedFd,
    /// Its path without symbolic links.
    pub(crate) parent_path: PathBuf,
    /// Directories that are to be made below it, each in the one before, until the last of them is the file's.
    pub(crate) folders: Vec<OsString>,
    /// The free name.
    pub(crate) name: OsString,
}

impl Vacancy {
    /// Where the file will be.
    pub(crate) fn path(&self) -> PathBuf {
        self.parent_path.join(self.folders.iter().collect::<PathBuf>()).join(&self.name)
    }

    /// Makes the directories that are missing, as fio does for this user alone. Links that appear meanwhile are not followed.
    pub(crate) fn with_folders(mut self) -> Result<Self, ErrorKind> {
        for name in std::mem::take(&mut self.folders) {
            let path = self.parent_path.join(&name);
            let failed = |error| ErrorKind::from_io("create", &path, error);
            match mkdirat(&self.parent, &name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.parent = openat(&self.parent, &name, flags, Mode::empty()).map_err(failed)?;
            self.parent_path = path;
        }
        Ok(self)
    }
}

/// A file, device or other thing, held by an `O_PATH` descriptor: what is learned about it and what is later opened
/// are the same, whatever happens to the path in between.
#[derive(Debug)]
pub(crate) struct Node {
    /// Path without symbolic links.
    pub(crate) path: PathBuf,
    /// State when it was found.
    pub(crate) stat: Stat,
    handle: OwnedFd,
}

impl Node {
    /// What kind of thing it is.
    pub(crate) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Number of the device that it is.
    pub(crate) fn device(&self) -> Number {
        (major(self.stat.st_rdev), minor(self.stat.st_rdev))
    }

    /// Number of the device that it lies on, and its inode.
    pub(crate) fn identity(&self) -> (u64, u64) {
        (self.stat.st_dev, self.stat.st_ino)
    }

    /// Does it lie on an overlay, where it has another identity than the file below? When that is unknown, it may.
    pub(crate) fn is_overlaid(&self) -> bool {
        fstatfs(&self.handle).map_or(true, |state| crate::loop_devices::is_overlay(state.f_type))
    }

    /// Asks whether this user may write to it, without opening it for writing.
    pub(crate) fn may_write(&self) -> Result<(), ErrorKind> {
        let path = format!("/proc/self/fd/{}", self.handle.as_raw_fd());
        accessat(CWD, path, Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|error| ErrorKind::from_io("write", &self.path, error))
    }

    /// A file that was just made.
    pub(crate) fn of(path: PathBuf, fd: &OwnedFd, stat: Stat) -> rustix::io::Result<Self> {
        Ok(Self { path, stat, handle: reopen(fd, OFlags::PATH)? })
    }

    /// Opens this very thing for I/O. A file on which another program holds a lease is waited for no longer than
    /// [`LEASE_WAIT`], which is time enough for one that gives it back when asked (Samba, an NFS server).
    ///
    /// # Errors
    /// `EWOULDBLOCK` when the lease is held on to.
    pub(crate) fn reopen(&self, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        if self.file_type() != FileType::RegularFile || flags.intersects(OFlags::PATH | OFlags::NONBLOCK) {
            return reopen(&self.handle, flags);
        }
        let mut waited = Duration::ZERO;
        let fd = loop {
            match reopen(&self.handle, flags | OFlags::NONBLOCK) {
                Err(Errno::WOULDBLOCK) if waited < LEASE_WAIT => {
                    std::thread::sleep(LEASE_STEP);
                    waited += LEASE_STEP;
                }
                opened => break opened?,
            }
        };
        // It would change how io_uring reads and writes.
        fcntl_setfl(&fd, fcntl_getfl(&fd)?.difference(OFlags::NONBLOCK))?;
        Ok(fd)
    }
}

/// Opens what a descriptor refers to once more, with other flags; no path is looked up again.
pub(crate) fn reopen(fd: &impl AsRawFd, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat(CWD, format!("/proc/self/fd/{}", fd.as_raw_fd()), flags | OFlags::CLOEXEC, Mode::empty())
}

/// Follows a path to its end.
pub(crate) fn find(path: &Path) -> Result<Place, ErrorKind> {
    find_below(path, 0)
}

/// The same; the last so many directories of the path may still have to be made.
pub(crate) fn find_below(path: &Path, folders: usize) -> Result<Place, ErrorKind> {
    match std::fs::canonicalize(path) {
        Ok(resolved) => hold(resolved).map(Place::Present),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if path.symlink_metadata().is_ok() {
                // Creating "through" it would put a file at a place that no check has seen.
                return Err(ErrorKind::NotATarget { what: "a symbolic link to nothing" });
            }
            vacancy(path, folders).map(Place::Absent)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            Err(ErrorKind::NoParent { parent: path.parent().unwrap_or(path).to_owned() })
        }
        Err(error) => Err(ErrorKind::from_io("look up", path, error)),
    }
}

/// Where a path leads: to what is there, or to a name in a directory that is there. Without symbolic links.
pub(crate) fn place_of(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok().or_else(|| {
        let parent = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?;
        Some(std::fs::canonicalize(parent).ok()?.join(path.file_name()?))
    })
}

fn hold(path: PathBuf) -> Result<Node, ErrorKind> {
    // O_PATH: opening a tape or a watchdog for real would already do something.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle =
        openat(CWD, &path, flags, Mode::empty()).map_err(|error| ErrorKind::from_io("look up", &path, error))?;
    let stat = fstat(&handle).map_err(|error| ErrorKind::from_io("look up", &path, error))?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        // Exchanged between resolving and opening.
        return Err(ErrorKind::NotATarget { what: "a symbolic link that changes" });
    }
    Ok(Node { path, stat, handle })
}

fn vacancy(path: &Path, folders: usize) -> Result<Vacancy, ErrorKind> {
    let above = |path: &Path| match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    };
    let mut parent = above(path);
    let no_parent = || ErrorKind::NoParent { parent: above(path) };
    let name = path.file_name().ok_or_else(no_parent)?.to_owned();
    let mut missing = Vec::new();
    while missing.len() < folders && is_missing(&parent) {
        missing.insert(0, parent.file_name().ok_or_else(no_parent)?.to_owned());
        parent = above(&parent);
    }
    let parent = parent.as_path();
    let parent_path = std::fs::canonicalize(parent).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => no_parent(),
        _ => ErrorKind::from_io("look up", parent, error),
    })?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = openat(CWD, &parent_path, flags, Mode::empty()).map_err(|_| no_parent())?;
    Ok(Vacancy { parent, parent_path, folders: missing, name })
}

/// Is nothing there, not even a symbolic link to nothing?
fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
