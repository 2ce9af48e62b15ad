//! A directory held open, and what is done in it.

use crate::directory::{self, kind_at, make, open_directory, open_parent, stat_at, sync_directory, taken};
use crate::forbidden_dirs::refuse_system;
use crate::fresh::{NewFile, ReplacePolicy, rename_new};
use crate::{EntryKind, FileAccess, OutputError, component, inputs, reserved};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, Stat, fstat, open, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// A directory held open by a descriptor: it stays the same one when its path comes to mean another.
///
/// Names are single components ([`component`]); symbolic links in it are never followed.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
    access: FileAccess,
}

impl Folder {
    /// Opens a directory that is there. Files made in it can be read by those who may read the directory.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn open(path: &Path) -> Result<Self, OutputError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(OutputError::io("open", path))?;
        let access = FileAccess::like_folder(fd.as_fd());
        Ok(Self { fd, path: path.to_path_buf(), access })
    }

    /// A directory that is held open already; `path` is for sentences. Files made in it can be read by those who may read it.
    #[must_use]
    pub fn of_descriptor(fd: OwnedFd, path: &Path) -> Self {
        let access = FileAccess::like_folder(fd.as_fd());
        Self { fd, path: path.to_path_buf(), access }
    }

    /// Makes a new directory, and the directories above it that are missing (these as the umask says); not those of a path
    /// with `..`, which would lead out of them again. One that this process has [reserved](crate::ReservedFolder) is taken over.
    ///
    /// # Errors
    /// Something has that name ([`OutputError::Taken`]), it is among devices or settings of the kernel, or the directory
    /// cannot be made.
    pub fn create(path: &Path, access: FileAccess) -> Result<Self, OutputError> {
        match directory::create(path, access) {
            Err(OutputError::Taken { path: taken, kind: EntryKind::Directory }) => {
                let (above, _) = open_parent(path)?;
                let name = component(path.file_name().unwrap_or_default())?;
                if !reserved::take(above.as_fd(), name) {
                    return Err(OutputError::Taken { path: taken, kind: EntryKind::Directory });
                }
                Ok(Self { fd: open_directory(above.as_fd(), name, path)?, path: path.to_path_buf(), access })
            }
            made => Ok(Self { fd: made?, path: path.to_path_buf(), access }),
        }
    }

    /// Opens a directory, made before where it is missing. One that was there keeps its permissions.
    ///
    /// # Errors
    /// It is no directory, or cannot be made.
    pub fn open_or_create(path: &Path, access: FileAccess) -> Result<Self, OutputError> {
        match Self::open(path) {
            Err(error) if error.io_kind() == Some(ErrorKind::NotFound) => match Self::create(path, access) {
                // Made by another program in between.
                Err(OutputError::Taken { .. }) => Self::open(path),
                made => made,
            },
            opened => {
                let folder = opened?.with_access(access);
                refuse_system(path, path)?;
                inputs::refuse_folder(path)?;
                Ok(folder)
            }
        }
    }

    /// The same folder; files and folders made in it get this access.
    #[must_use]
    pub fn with_access(self, access: FileAccess) -> Self {
        Self { access, ..self }
    }

    /// The path that it was opened by, for sentences.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A second handle of the same directory.
    ///
    /// # Errors
    /// There are too many descriptors.
    pub fn try_clone(&self) -> Result<Self, OutputError> {
        let fd = self.fd.try_clone().map_err(OutputError::io("open", &self.path))?;
        Ok(Self { fd, path: self.path.clone(), access: self.access })
    }

    /// Opens a folder in it.
    ///
    /// # Errors
    /// There is none of that name, or it is something else, a link for instance.
    pub fn subfolder(&self, name: impl AsRef<OsStr>) -> Result<Self, OutputError> {
        let name = component(name.as_ref())?;
        let path = self.path.join(name);
        let fd = open_directory(self.fd.as_fd(), name, &path)?;
        Ok(Self { fd, path, access: self.access })
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// Something has that name ([`OutputError::Taken`]), or it cannot be made.
    pub fn create_folder(&self, name: impl AsRef<OsStr>) -> Result<Self, OutputError> {
        let name = component(name.as_ref())?;
        let path = self.path.join(name);
        let fd = make(self.fd.as_fd(), name, &path, self.access)?;
        Ok(Self { fd, path, access: self.access })
    }

    /// Opens a folder in it, made before where it is missing.
    ///
    /// # Errors
    /// Something else has that name, or it cannot be made.
    pub fn make_folder(&self, name: impl AsRef<OsStr>) -> Result<Self, OutputError> {
        match self.create_folder(&name) {
            Err(OutputError::Taken { .. }) => self.subfolder(name),
            made => made,
        }
    }

    /// Makes a new, empty file, open for reading and writing.
    ///
    /// # Errors
    /// Something has that name ([`OutputError::Taken`]), or it cannot be made.
    pub fn create_new(&self, name: impl AsRef<OsStr>) -> Result<File, OutputError> {
        self.create_with(name.as_ref(), OFlags::empty())
    }

    /// Makes a new, empty file, open for reading and for writing at its end.
    ///
    /// # Errors
    /// See [`create_new`](Self::create_new).
    pub fn create_new_log(&self, name: impl AsRef<OsStr>) -> Result<File, OutputError> {
        self.create_with(name.as_ref(), OFlags::APPEND)
    }

    /// Opens a file for reading and for writing at its end, made before where it is missing.
    ///
    /// # Errors
    /// It is no regular file, has a second name, or cannot be opened.
    pub fn append(&self, name: impl AsRef<OsStr>) -> Result<File, OutputError> {
        let name = name.as_ref();
        match self.create_new_log(name) {
            Err(OutputError::Taken { .. }) => self.open_to_append(name),
            made => made,
        }
    }

    /// Opens a file that is there for reading and for writing at its end.
    ///
    /// # Errors
    /// There is none of that name, it is no regular file, has a second name, or cannot be opened.
    pub fn open_to_append(&self, name: impl AsRef<OsStr>) -> Result<File, OutputError> {
        self.open_with(name.as_ref(), OFlags::RDWR | OFlags::APPEND)
    }

    /// Opens a regular file for reading. A FIFO or a device is refused without waiting.
    ///
    /// # Errors
    /// There is none of that name, it is something else, or it cannot be opened.
    pub fn open_file(&self, name: impl AsRef<OsStr>) -> Result<File, OutputError> {
        self.open_with(name.as_ref(), OFlags::RDONLY)
    }

    /// Writes a file in one step: a reader sees the old one, none, or the whole new one, which is on the disk then.
    ///
    /// # Errors
    /// The name is taken by what `over` does not allow, or `write` fails; what was there is as it was.
    pub fn replace(
        &self,
        name: impl AsRef<OsStr>,
        over: ReplacePolicy,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let mut fresh = self.begin(&name, over)?;
        write(fresh.file()).map_err(OutputError::io("write", &self.path.join(name.as_ref())))?;
        fresh.finish()
    }

    /// Begins a file that gets its name when it is finished.
    ///
    /// # Errors
    /// Nothing can be made here.
    pub fn begin(&self, name: impl AsRef<OsStr>, over: ReplacePolicy) -> Result<NewFile, OutputError> {
        NewFile::create(self.fd.as_fd(), &self.path, component(name.as_ref())?, over, self.access)
    }

    /// Removes a regular file.
    ///
    /// # Errors
    /// There is none of that name, it is something else, or it cannot be removed.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> Result<(), OutputError> {
        let name = component(name.as_ref())?;
        let path = self.path.join(name);
        match self.kind(name)? {
            None | Some(EntryKind::File) => {}
            Some(kind) => return Err(OutputError::Unexpected { path, kind, expected: EntryKind::File }),
        }
        unlinkat(&self.fd, name, AtFlags::empty()).map_err(OutputError::io("remove", &path))
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// There is none of that name, it is not empty, or it cannot be removed.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> Result<(), OutputError> {
        let name = component(name.as_ref())?;
        unlinkat(&self.fd, name, AtFlags::REMOVEDIR).map_err(OutputError::io("remove", &self.path.join(name)))
    }

    /// Gives something in it another name in it.
    ///
    /// # Errors
    /// The new name is taken by what `over` does not allow, or the system refuses.
    pub fn rename(
        &self,
        from: impl AsRef<OsStr>,
        to: impl AsRef<OsStr>,
        over: ReplacePolicy,
    ) -> Result<(), OutputError> {
        let (from, to) = (component(from.as_ref())?, component(to.as_ref())?);
        let path = self.path.join(to);
        let taken = self.kind(to)?;
        match (over, taken) {
            (_, None) | (ReplacePolicy::File, Some(EntryKind::File)) => {}
            (_, Some(kind)) => return Err(OutputError::Taken { path, kind }),
        }
        let renamed = match over {
            ReplacePolicy::Nothing => rename_new(self.fd.as_fd(), from, to),
            ReplacePolicy::File => renameat(&self.fd, from, &self.fd, to),
        };
        renamed.map_err(OutputError::io("rename something to", &path))
    }

    /// What has this name; `None` when nothing has.
    ///
    /// # Errors
    /// The folder cannot be searched.
    pub fn kind(&self, name: impl AsRef<OsStr>) -> Result<Option<EntryKind>, OutputError> {
        let name = component(name.as_ref())?;
        kind_at(self.fd.as_fd(), name).map_err(OutputError::io("read", &self.path.join(name)))
    }

    pub(crate) fn stat(&self, name: &OsStr) -> Result<Option<Stat>, OutputError> {
        let name = component(name)?;
        stat_at(self.fd.as_fd(), name).map_err(OutputError::io("read", &self.path.join(name)))
    }

    /// All names in it, sorted.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn names(&self) -> Result<Vec<OsString>, OutputError> {
        let failed = || OutputError::io("read", &self.path);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd).map_err(failed())? {
            let name = entry.map_err(failed())?.file_name().to_bytes().to_vec();
            if !matches!(name.as_slice(), b"." | b"..") {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort();
        Ok(names)
    }

    /// Makes the names in it as durable as the files that they name.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn sync(&self) -> Result<(), OutputError> {
        sync_directory(self.fd.as_fd()).map_err(OutputError::io("sync", &self.path))
    }

    fn create_with(&self, name: &OsStr, more: OFlags) -> Result<File, OutputError> {
        let name = component(name)?;
        let path = self.path.join(name);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC | more;
        match openat(&self.fd, name, flags, self.access.at_creation()) {
            Ok(file) => {
                self.access.apply(&file, &path)?;
                Ok(File::from(file))
            }
            Err(Errno::EXIST) => Err(taken(self.fd.as_fd(), name, path)),
            Err(error) => Err(OutputError::io("create", &path)(error)),
        }
    }

    fn open_with(&self, name: &OsStr, how: OFlags) -> Result<File, OutputError> {
        let name = component(name)?;
        let path = self.path.join(name);
        let failed = || OutputError::io("open", &path);
        // Looked at before it is opened: to open a device may already do something.
        match self.kind(name)? {
            None | Some(EntryKind::File) => {}
            Some(kind) => return Err(OutputError::Unexpected { path, kind, expected: EntryKind::File }),
        }
        let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty()).map_err(failed())?;
        let stat = fstat(&fd).map_err(failed())?;
        let kind = EntryKind::of_mode(stat.st_mode);
        if kind != EntryKind::File {
            return Err(OutputError::Unexpected { path, kind, expected: EntryKind::File });
        }
        if how.contains(OFlags::RDWR) && stat.st_nlink > 1 {
            return Err(OutputError::SecondName(path));
        }
        Ok(File::from(fd))
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    fn mode(path: &Path) -> u32 {
        std::fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_recording_is_private_unless_the_user_says_otherwise() {
        let place = tempfile::tempdir().unwrap();
        let shared = FileAccess::Exactly { mode: 0o644, group: None };
        for (name, access, file_mode, folder_mode) in
            [("private", FileAccess::PRIVATE, 0o600, 0o700), ("shared", shared, 0o644, 0o755)]
        {
            let path = place.path().join("missing").join(name);
            let folder = Folder::create(&path, access).unwrap();
            folder.create_folder("sub").unwrap().create_new("part").unwrap();
            folder.create_new_log("log").unwrap();
            folder.replace("whole", ReplacePolicy::Nothing, |file| file.write_all(b"x")).unwrap();
            for folder in ["", "sub"] {
                assert_eq!(mode(&path.join(folder)), folder_mode, "{name}/{folder}");
            }
            for file in ["sub/part", "log", "whole"] {
                assert_eq!(mode(&path.join(file)), file_mode, "{name}/{file}");
            }
            // What is added later can be read by the same people.
            Folder::open(&path).unwrap().replace("whole", ReplacePolicy::File, |file| file.write_all(b"y")).unwrap();
            Folder::open(&path).unwrap().create_new("later").unwrap();
            assert_eq!((mode(&path.join("whole")), mode(&path.join("later"))), (file_mode, file_mode));
        }
    }

    #[test]
    fn nothing_is_done_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("victim"), "precious").unwrap();
        let folder = Folder::create(&place.path().join("folder"), FileAccess::PRIVATE).unwrap();
        symlink(outside.join("victim"), folder.path().join("file")).unwrap();
        symlink(outside.join("new"), folder.path().join("dangling")).unwrap();
        symlink(&outside, folder.path().join("sub")).unwrap();
        for name in ["file", "dangling"] {
            assert!(folder.create_new(name).is_err() && folder.create_new_log(name).is_err());
            assert!(folder.append(name).is_err() && folder.open_file(name).is_err());
            assert!(folder.replace(name, ReplacePolicy::File, |file| file.write_all(b"x")).is_err());
            assert!(folder.remove_file(name).is_err() && folder.rename("sub", name, ReplacePolicy::File).is_err());
        }
        assert!(folder.subfolder("sub").is_err() && folder.make_folder("sub").is_err());
        assert!(folder.remove_folder("sub").is_err());
        for name in ["../outside/victim", "..", ".", "", "/etc/passwd", "sub/victim"] {
            assert!(folder.create_new(name).is_err() && folder.open_file(name).is_err(), "{name}");
            assert!(folder.remove_file(name).is_err() && folder.subfolder(name).is_err(), "{name}");
        }
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(std::fs::read_to_string(outside.join("victim")).unwrap(), "precious");
        assert_eq!(folder.names().unwrap(), ["dangling", "file", "sub"]);
    }

    #[test]
    fn a_file_with_a_second_name_is_not_written_on() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("victim"), "precious").unwrap();
        std::fs::hard_link(place.path().join("victim"), place.path().join("log")).unwrap();
        let folder = Folder::open(place.path()).unwrap();
        assert!(matches!(folder.append("log"), Err(OutputError::SecondName(_))));
        // What is replaced gets a new inode, so the other name keeps its contents.
        folder.replace("log", ReplacePolicy::File, |file| file.write_all(b"x")).unwrap();
        assert_eq!(std::fs::read_to_string(place.path().join("victim")).unwrap(), "precious");
        folder.append("log").unwrap().write_all(b"y").unwrap();
        assert_eq!(std::fs::read_to_string(place.path().join("log")).unwrap(), "xy");
    }

    #[test]
    fn a_fifo_does_not_make_a_reader_wait() {
        let place = tempfile::tempdir().unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, place.path().join("fifo"), fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let folder = Folder::open(place.path()).unwrap();
        for refused in [folder.open_file("fifo"), folder.append("fifo")] {
            assert!(matches!(refused, Err(OutputError::Unexpected { kind: EntryKind::Fifo, .. })), "{refused:?}");
        }
    }

    #[test]
    fn renames_take_no_name_that_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        for name in ["a", "b"] {
            folder.replace(name, ReplacePolicy::Nothing, |file| file.write_all(name.as_bytes())).unwrap();
        }
        assert!(matches!(
            folder.rename("a", "b", ReplacePolicy::Nothing),
            Err(OutputError::Taken { kind: EntryKind::File, .. })
        ));
        folder.rename("a", "c", ReplacePolicy::Nothing).unwrap();
        folder.rename("c", "b", ReplacePolicy::File).unwrap();
        assert_eq!(folder.names().unwrap(), ["b"]);
        assert_eq!(std::fs::read_to_string(place.path().join("b")).unwrap(), "a");
        folder.create_folder("d").unwrap();
        assert!(folder.rename("b", "d", ReplacePolicy::File).is_err() && folder.remove_file("d").is_err());
        folder.remove_folder("d").unwrap();
        folder.remove_file("b").unwrap();
        assert!(folder.names().unwrap().is_empty());
    }
}
