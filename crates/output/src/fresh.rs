//! A file that has no name yet, or an unguessable one, and gets its name when it is complete.

use crate::directory::{kind_at, sync_directory};
use crate::error::is_unsupported;
use crate::{EntryKind, FileAccess, OutputError, unguessable};
use rustix::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a new name may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacePolicy {
    /// Nothing: the name must be free.
    Nothing,
    /// A regular file of that name, or nothing; never a link, a directory or a device.
    File,
}

/// A file under way in a `Folder`. It has its name once it is [finished](Self::finish); dropped before, it
/// is gone.
#[derive(Debug)]
pub struct NewFile {
    fresh: Fresh,
    wanted: OsString,
    over: ReplacePolicy,
}

impl NewFile {
    pub(crate) fn create(
        folder: BorrowedFd<'_>,
        path: &Path,
        wanted: &OsStr,
        over: ReplacePolicy,
        access: FileAccess,
    ) -> Result<Self, OutputError> {
        Ok(Self { fresh: Fresh::create(folder, path, wanted, access)?, wanted: wanted.to_os_string(), over })
    }

    /// The file itself.
    pub fn file(&mut self) -> &mut File {
        &mut self.fresh.file
    }

    /// Forces it to the disk and gives it its name.
    ///
    /// # Errors
    /// The disk refuses, or the name is taken by what may not be replaced.
    pub fn finish(self) -> Result<(), OutputError> {
        self.fresh.publish(&self.wanted, self.over)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.fresh.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.fresh.file.flush()
    }
}

/// The file under way. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Fresh {
    pub(crate) file: File,
    folder: OwnedFd,
    /// The folder's path, for sentences.
    path: PathBuf,
    /// `None`: the file has no name; the kernel removes it when the process dies, however it dies.
    name: Option<String>,
}

impl Fresh {
    /// Begins a file that is to be called `wanted` in `folder`.
    pub(crate) fn create(
        folder: BorrowedFd<'_>,
        path: &Path,
        wanted: &OsStr,
        access: FileAccess,
    ) -> Result<Self, OutputError> {
        let goal = path.join(wanted);
        let folder = folder.try_clone_to_owned().map_err(OutputError::io("create", &goal))?;
        let (file, name) = match nameless(&folder, access.at_creation()) {
            Some(file) => (file, None),
            None => named(&folder, wanted, access.at_creation()).map_err(OutputError::io("create", &goal))?,
        };
        let fresh = Self { file, folder, path: path.to_path_buf(), name };
        access.apply(&fresh.file, &goal)?;
        Ok(fresh)
    }

    /// Forces the contents to the disk and gives the file its name.
    pub(crate) fn publish(mut self, name: &OsStr, over: ReplacePolicy) -> Result<(), OutputError> {
        let path = self.path.join(name);
        sync(&self.file).map_err(OutputError::io("write", &path))?;
        match over {
            ReplacePolicy::Nothing => self.link_new(name, &path)?,
            ReplacePolicy::File => {
                match kind_at(self.folder.as_fd(), name).map_err(OutputError::io("read", &path))? {
                    None | Some(EntryKind::File) => {}
                    Some(kind) => return Err(OutputError::Unexpected { path, kind, expected: EntryKind::File }),
                }
                self.give_name(name).map_err(OutputError::io("create", &path))?;
                let from = self.name.as_deref().unwrap_or_default();
                renameat(&self.folder, from, &self.folder, name).map_err(OutputError::io("replace", &path))?;
            }
        }
        self.name = None;
        sync_directory(self.folder.as_fd()).map_err(OutputError::io("sync", &self.path))
    }

    /// Gives the file a name that is not taken.
    fn link_new(&mut self, name: &OsStr, path: &Path) -> Result<(), OutputError> {
        let linked = match &self.name {
            None => self.link(name),
            Some(from) => rename_new(self.folder.as_fd(), from, name),
        };
        match linked {
            Err(Errno::EXIST) => {
                let kind = kind_at(self.folder.as_fd(), name).ok().flatten().unwrap_or(EntryKind::Other);
                Err(OutputError::Taken { path: path.to_path_buf(), kind })
            }
            linked => linked.map_err(OutputError::io("create", path)),
        }
    }

    /// A nameless file gets an unguessable name, which can be renamed.
    fn give_name(&mut self, wanted: &OsStr) -> Result<(), Errno> {
        if self.name.is_none() {
            let name = unguessable(&wanted.to_string_lossy());
            self.link(OsStr::new(&name))?;
            self.name = Some(name);
        }
        Ok(())
    }

    fn link(&self, name: &OsStr) -> Result<(), Errno> {
        linkat(CWD, through_proc(&self.file), &self.folder, name, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(&self.folder, name.as_str(), AtFlags::empty());
        }
    }
}

fn through_proc(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// A file without a name, where the file system has such and `/proc` is there to name it later.
fn nameless(folder: &OwnedFd, mode: Mode) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(openat(folder, ".", flags, mode).ok()?);
    std::fs::symlink_metadata(through_proc(&file)).ok()?;
    Some(file)
}

/// A file with an unguessable name.
fn named(folder: &OwnedFd, wanted: &OsStr, mode: Mode) -> Result<(File, Option<String>), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
    let mut tries = 0;
    loop {
        let name = unguessable(&wanted.to_string_lossy());
        match openat(folder, name.as_str(), flags, mode) {
            Err(Errno::EXIST) if tries < 8 => tries += 1,
            opened => return Ok((File::from(opened?), Some(name))),
        }
    }
}

/// Renames only where nothing has the new name.
pub(crate) fn rename_new(folder: BorrowedFd<'_>, from: impl AsRef<OsStr>, to: &OsStr) -> Result<(), Errno> {
    let from = from.as_ref();
    match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        Err(error) if is_unsupported(error) => {
            // The name is taken with an empty file of ours first, and that is what the rename replaces.
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
            drop(openat(folder, to, flags, Mode::RUSR | Mode::WUSR)?);
            renameat(folder, from, folder, to).inspect_err(|_| {
                let _ = unlinkat(folder, to, AtFlags::empty());
            })
        }
        renamed => renamed,
    }
}

/// Some network and FUSE file systems cannot sync, and promise nothing.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Both ways, whatever the file system of the test has.
    fn fresh(folder: &Path, is_named: bool) -> Fresh {
        let fd: OwnedFd = File::open(folder).unwrap().into();
        if !is_named {
            return Fresh::create(fd.as_fd(), folder, OsStr::new("x"), FileAccess::PRIVATE).unwrap();
        }
        let (file, name) = named(&fd, OsStr::new("x"), FileAccess::PRIVATE.at_creation()).unwrap();
        Fresh { file, folder: fd, path: folder.to_path_buf(), name }
    }

    #[test]
    fn a_file_has_its_name_only_when_it_is_complete() {
        for is_named in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let mut begun = fresh(folder.path(), is_named);
            begun.file.write_all(b"half").unwrap();
            drop(begun);
            assert!(names(folder.path()).is_empty(), "what was given up is gone");
            for (text, over) in [("one", ReplacePolicy::Nothing), ("two", ReplacePolicy::File)] {
                let mut begun = fresh(folder.path(), is_named);
                begun.file.write_all(text.as_bytes()).unwrap();
                begun.publish(OsStr::new("x"), over).unwrap();
                assert_eq!(names(folder.path()), ["x"]);
                assert_eq!(std::fs::read_to_string(folder.path().join("x")).unwrap(), text);
            }
            let refused = fresh(folder.path(), is_named).publish(OsStr::new("x"), ReplacePolicy::Nothing);
            assert!(matches!(refused, Err(OutputError::Taken { kind: EntryKind::File, .. })), "{refused:?}");
            assert_eq!((names(folder.path()).len(), std::fs::read(folder.path().join("x")).unwrap().len()), (1, 3));
        }
    }

    #[test]
    fn nothing_but_a_file_is_replaced() {
        for is_named in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let victim = folder.path().join("victim");
            std::fs::write(&victim, "precious").unwrap();
            std::os::unix::fs::symlink("victim", folder.path().join("link")).unwrap();
            std::fs::create_dir(folder.path().join("directory")).unwrap();
            for (name, kind) in [("link", EntryKind::Link), ("directory", EntryKind::Directory)] {
                let refused = fresh(folder.path(), is_named).publish(OsStr::new(name), ReplacePolicy::File);
                assert!(matches!(&refused, Err(OutputError::Unexpected { kind: found, .. }) if *found == kind));
            }
            assert_eq!(names(folder.path()), ["directory", "link", "victim"]);
            assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        }
    }
}
