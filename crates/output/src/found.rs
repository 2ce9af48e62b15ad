//! What has a name in a folder, and whether it can be taken away as other things can.

use crate::moving::mount_of;
use crate::{EntryKind, Folder, OutputError, component};
use rustix::fd::AsFd as _;
use rustix::fs::{AtFlags, Statx, StatxAttributes, StatxFlags, fstat, statx};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;

/// Why something stays, whichever command wants to remove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeepReason {
    /// It is immutable or append-only (`chattr +i`, `+a`).
    Fixed,
    /// Something is mounted on it.
    Mounted,
}

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundEntry {
    /// What it is.
    pub kind: EntryKind,
    /// Length of a file.
    pub bytes: u64,
    /// Why it could not be removed; `None` where nothing is known against it.
    pub held: Option<KeepReason>,
}

impl Folder {
    /// What has this name, without following a link or opening it; `None` when nothing has. Kernels before 4.11 do not tell
    /// what holds it.
    ///
    /// # Errors
    /// The folder cannot be searched.
    pub fn find(&self, name: impl AsRef<OsStr>) -> Result<Option<FoundEntry>, OutputError> {
        let name = component(name.as_ref())?;
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        match statx(self.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW, wanted) {
            Ok(found) => Ok(Some(FoundEntry {
                kind: EntryKind::of_mode(u32::from(found.stx_mode)),
                bytes: found.stx_size,
                held: held(&found, mount_of(self)),
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOSYS | Errno::INVAL | Errno::PERM) => {
                Ok(self.kind(name)?.map(|kind| FoundEntry { kind, bytes: self.bytes_of(name), held: None }))
            }
            Err(error) => Err(OutputError::io("read", &self.path().join(name))(error)),
        }
    }

    /// Is it immutable or append-only, so that nothing in it can be removed?
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        statx(self.as_fd(), "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).is_ok_and(|found| is_fixed(&found))
    }

    /// Has this name still the file that is open here?
    #[must_use]
    pub fn has(&self, name: impl AsRef<OsStr>, file: &File) -> bool {
        let (Ok(Some(there)), Ok(here)) = (self.stat(name.as_ref()), fstat(file)) else { return false };
        (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)
    }

    /// Has the directory no name any more?
    #[must_use]
    pub fn is_removed(&self) -> bool {
        fstat(self.as_fd()).is_ok_and(|found| found.st_nlink == 0)
    }

    fn bytes_of(&self, name: &OsStr) -> u64 {
        self.stat(name).ok().flatten().map_or(0, |found| found.st_size.unsigned_abs())
    }
}

fn held(found: &Statx, mount: Option<u64>) -> Option<KeepReason> {
    let on = (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id);
    if is_fixed(found) {
        Some(KeepReason::Fixed)
    } else {
        on.zip(mount).is_some_and(|(on, mount)| on != mount).then_some(KeepReason::Mounted)
    }
}

fn is_fixed(found: &Statx) -> bool {
    found.stx_attributes.intersects(StatxAttributes::IMMUTABLE | StatxAttributes::APPEND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReplacePolicy;
    use std::io::Write as _;

    #[test]
    fn a_name_that_went_to_another_file_or_to_none_is_known() {
        let place = tempfile::tempdir().unwrap();
        let top = Folder::open(place.path()).unwrap();
        let log = top.create_new_log("log").unwrap();
        assert!(top.has("log", &log) && !top.is_removed());
        top.replace("log", ReplacePolicy::File, |file| file.write_all(b"notes")).unwrap();
        assert!(!top.has("log", &log));
        assert_eq!(top.find("log").unwrap(), Some(FoundEntry { kind: EntryKind::File, bytes: 5, held: None }));
        top.remove_file("log").unwrap();
        assert!(!top.has("log", &log) && top.find("log").unwrap().is_none());
        let gone = top.create_folder("gone").unwrap();
        assert_eq!(top.find("gone").unwrap().map(|found| found.kind), Some(EntryKind::Directory));
        top.remove_folder("gone").unwrap();
        assert!(gone.is_removed());
    }
}
