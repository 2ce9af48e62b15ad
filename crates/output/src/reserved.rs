//! A directory that is taken before anything is in it: of two commands that want the same name only one goes on.

use crate::directory::{self, open_parent, stat_at};
use crate::{FileAccess, OutputError};
use rustix::fd::{AsFd as _, BorrowedFd};
use rustix::fs::{AtFlags, unlinkat};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Devices and inodes of directories that this process has taken and not begun yet.
static TAKEN: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// A new, empty directory. `Folder::create` of this path takes it over; dropped before that, it is removed.
#[derive(Debug)]
pub struct ReservedFolder {
    path: PathBuf,
    inode: (u64, u64),
}

impl ReservedFolder {
    /// Makes the directory.
    ///
    /// # Errors
    /// See `Folder::create`.
    pub fn create(path: &Path, access: FileAccess) -> Result<Self, OutputError> {
        let folder = directory::create(path, access)?;
        let stat = rustix::fs::fstat(&folder).map_err(OutputError::io("read", path))?;
        let inode = (stat.st_dev, stat.st_ino);
        list().push(inode);
        Ok(Self { path: path.to_path_buf(), inode })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ReservedFolder {
    fn drop(&mut self) {
        if !forget(self.inode) {
            return;
        }
        // It was never begun. One that holds something stays: the system removes only an empty directory.
        if let (Ok((above, _)), Some(name)) = (open_parent(&self.path), self.path.file_name())
            && stat_at(above.as_fd(), name)
                .is_ok_and(|found| found.is_some_and(|it| (it.st_dev, it.st_ino) == self.inode))
        {
            let _ = unlinkat(&above, name, AtFlags::REMOVEDIR);
        }
    }
}

/// Was this directory reserved by this process? It is not any more then.
pub(crate) fn take(above: BorrowedFd<'_>, name: &OsStr) -> bool {
    stat_at(above, name).is_ok_and(|found| found.is_some_and(|it| forget((it.st_dev, it.st_ino))))
}

fn forget(inode: (u64, u64)) -> bool {
    let mut list = list();
    let at = list.iter().position(|known| *known == inode);
    at.map(|at| list.swap_remove(at)).is_some()
}

fn list() -> MutexGuard<'static, Vec<(u64, u64)>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folder;

    #[test]
    fn one_of_two_takes_a_name_and_what_is_not_begun_goes() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("r");
        let first = ReservedFolder::create(&path, FileAccess::PRIVATE).unwrap();
        assert!(matches!(ReservedFolder::create(&path, FileAccess::PRIVATE), Err(OutputError::Taken { .. })));
        let folder = Folder::create(&path, FileAccess::PRIVATE).unwrap();
        assert!(matches!(Folder::create(&path, FileAccess::PRIVATE), Err(OutputError::Taken { .. })));
        folder.create_new("x").unwrap();
        drop(first);
        assert!(path.join("x").exists());
        let unused = place.path().join("unused");
        drop(ReservedFolder::create(&unused, FileAccess::PRIVATE).unwrap());
        assert!(!unused.exists());
        // Another directory that has got the name meanwhile is not ours to remove.
        let swapped = ReservedFolder::create(&unused, FileAccess::PRIVATE).unwrap();
        std::fs::rename(&unused, place.path().join("moved")).unwrap();
        std::fs::create_dir(&unused).unwrap();
        assert!(matches!(Folder::create(&unused, FileAccess::PRIVATE), Err(OutputError::Taken { .. })));
        drop(swapped);
        assert!(unused.exists());
    }
}
