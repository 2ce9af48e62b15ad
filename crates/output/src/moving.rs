//! Moves between two folders: one step, and nothing replaced.

use crate::error::is_unsupported;
use crate::{Folder, OutputError, component};
use rustix::fd::AsFd as _;
use rustix::fs::{AtFlags, RenameFlags, StatxFlags, fstat, renameat_with, statx};
use std::ffi::OsStr;

impl Folder {
    /// Moves something in it to another folder of the same file system, where its new name must be free.
    ///
    /// # Errors
    /// The name is taken, or the system refuses.
    pub fn move_to(&self, from: impl AsRef<OsStr>, into: &Self, to: impl AsRef<OsStr>) -> Result<(), OutputError> {
        let (from, to) = (component(from.as_ref())?, component(to.as_ref())?);
        let path = into.path().join(to);
        if let Some(kind) = into.kind(to)? {
            return Err(OutputError::Taken { path, kind });
        }
        let moved = match renameat_with(self, from, into, to, RenameFlags::NOREPLACE) {
            // A directory replaces nothing but an empty one.
            Err(error) if is_unsupported(error) => rustix::fs::renameat(self, from, into, to),
            moved => moved,
        };
        moved.map_err(OutputError::io("move something to", &path))
    }

    /// Exchanges two names in two folders of one file system in one step; false where the file system cannot.
    ///
    /// # Errors
    /// One of the names is not there, or the system refuses.
    pub fn exchange(
        &self,
        name: impl AsRef<OsStr>,
        with: &Self,
        other: impl AsRef<OsStr>,
    ) -> Result<bool, OutputError> {
        let (name, other) = (component(name.as_ref())?, component(other.as_ref())?);
        match renameat_with(self, name, with, other, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(error) if is_unsupported(error) => Ok(false),
            Err(error) => Err(OutputError::io("exchange something for", &self.path().join(name))(error)),
        }
    }

    /// Is this the same directory, on the same mount?
    ///
    /// # Errors
    /// The system does not say.
    pub fn is_same(&self, other: &Self) -> Result<bool, OutputError> {
        let failed = || OutputError::io("read", self.path());
        let (one, two) = (fstat(self.as_fd()).map_err(failed())?, fstat(other.as_fd()).map_err(failed())?);
        Ok((one.st_dev, one.st_ino) == (two.st_dev, two.st_ino) && self.is_on_mount_of(other)?)
    }

    /// Are both on one mount? Where the kernel does not number its mounts (before 5.8), on one file system.
    ///
    /// # Errors
    /// The system does not say.
    pub fn is_on_mount_of(&self, other: &Self) -> Result<bool, OutputError> {
        let failed = || OutputError::io("read", self.path());
        let (one, two) = (fstat(self.as_fd()).map_err(failed())?, fstat(other.as_fd()).map_err(failed())?);
        Ok(one.st_dev == two.st_dev && mount_of(self) == mount_of(other))
    }
}

/// Number of the mount that a folder is on, where the kernel numbers them.
pub(crate) fn mount_of(folder: &Folder) -> Option<u64> {
    let found = statx(folder.as_fd(), "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileAccess;

    #[test]
    fn moves_replace_nothing() {
        let place = tempfile::tempdir().unwrap();
        let top = Folder::open(place.path()).unwrap().with_access(FileAccess::PRIVATE);
        let (one, two) = (top.create_folder("one").unwrap(), top.create_folder("two").unwrap());
        std::fs::write(one.path().join("a"), "a").unwrap();
        std::fs::write(two.path().join("b"), "b").unwrap();
        one.create_folder("empty").unwrap();
        two.create_folder("also").unwrap();
        assert!(matches!(one.move_to("a", &two, "b"), Err(OutputError::Taken { .. })));
        assert!(matches!(one.move_to("empty", &two, "also"), Err(OutputError::Taken { .. })));
        one.move_to("a", &two, "c").unwrap();
        assert_eq!(std::fs::read_to_string(two.path().join("c")).unwrap(), "a");
        assert!(one.exchange("empty", &two, "b").unwrap());
        assert_eq!(std::fs::read_to_string(one.path().join("empty")).unwrap(), "b");
        assert!(one.exchange("missing", &two, "b").is_err());
        assert!(one.move_to("../two/c", &one, "x").is_err());
    }

    #[test]
    fn a_directory_equals_itself_only() {
        let place = tempfile::tempdir().unwrap();
        let top = Folder::open(place.path()).unwrap().with_access(FileAccess::PRIVATE);
        let one = top.create_folder("one").unwrap();
        assert!(one.is_same(&top.subfolder("one").unwrap()).unwrap());
        assert!(!one.is_same(&top).unwrap() && one.is_on_mount_of(&top).unwrap());
        let proc = Folder::open(std::path::Path::new("/proc")).unwrap();
        assert!(!proc.is_on_mount_of(&top).unwrap());
    }
}
