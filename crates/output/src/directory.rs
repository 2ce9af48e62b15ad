//! What is done in a directory by its descriptor: names are found, made and made durable in it, and no link is followed.

use crate::forbidden_dirs::refuse_system;
use crate::{EntryKind, FileAccess, OutputError};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, mkdirat, openat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Makes a new directory, and the directories above it that are missing (these as the umask says); not those of a path with
/// `..`, which would lead out of them again.
pub(crate) fn create(path: &Path, access: FileAccess) -> Result<OwnedFd, OutputError> {
    let Some(name) = path.file_name() else {
        return Err(OutputError::name(path.as_os_str(), "it names no new directory"));
    };
    let parent = path.parent().unwrap_or(Path::new(""));
    refuse_system(parent, path)?;
    let goes_back = parent.components().any(|part| part == Component::ParentDir);
    if !parent.as_os_str().is_empty() && !goes_back {
        std::fs::create_dir_all(parent).map_err(OutputError::io("create", parent))?;
    }
    let (above, _) = open_parent(path)?;
    let made = make(above.as_fd(), name, path, access)?;
    // A parent that may be written to but not read cannot be synced; the directory is there all the same.
    let _ = sync_directory(above.as_fd());
    Ok(made)
}

/// Makes a directory and opens it.
pub(crate) fn make(
    above: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
    access: FileAccess,
) -> Result<OwnedFd, OutputError> {
    match mkdirat(above, name, access.of_folder_at_creation()) {
        Err(Errno::EXIST) => return Err(taken(above, name, path.to_path_buf())),
        made => made.map_err(OutputError::io("create", path))?,
    }
    let fd = open_directory(above, name, path)?;
    access.apply_to_folder(&fd, path)?;
    Ok(fd)
}

pub(crate) fn open_directory(above: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Result<OwnedFd, OutputError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(above, name, flags, Mode::empty()).map_err(|error| match kind_at(above, name) {
        Ok(Some(kind)) if kind != EntryKind::Directory => {
            OutputError::Unexpected { path: path.to_path_buf(), kind, expected: EntryKind::Directory }
        }
        _ => OutputError::io("open", path)(error),
    })
}

pub(crate) fn taken(above: BorrowedFd<'_>, name: &OsStr, path: PathBuf) -> OutputError {
    let kind = kind_at(above, name).ok().flatten().unwrap_or(EntryKind::Other);
    OutputError::Taken { path, kind }
}

/// What has this name in a directory, without following a link.
pub(crate) fn kind_at(folder: BorrowedFd<'_>, name: &OsStr) -> Result<Option<EntryKind>, Errno> {
    Ok(stat_at(folder, name)?.map(|stat| EntryKind::of_mode(stat.st_mode)))
}

/// The inode of this name in a directory, without following a link; `None` when nothing has it.
pub(crate) fn stat_at(folder: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(None),
        stat => stat.map(Some),
    }
}

/// Makes the names in a directory durable, where that can be asked for.
pub(crate) fn sync_directory(folder: BorrowedFd<'_>) -> io::Result<()> {
    // The descriptor may be one that only finds names.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = match openat(folder, ".", flags, Mode::empty()) {
        // A directory that may be written to but not read.
        Err(Errno::ACCESS) => return Ok(()),
        opened => opened?,
    };
    match rustix::fs::fsync(&readable) {
        // Some network and FUSE file systems cannot, and promise nothing about names.
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        synced => Ok(synced?),
    }
}

/// The directory that a path is in, opened to find names in it.
pub(crate) fn open_parent(path: &Path) -> Result<(OwnedFd, &Path), OutputError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat(CWD, parent, flags, Mode::empty()).map_err(OutputError::io("open the directory", parent))?;
    Ok((fd, parent))
}
