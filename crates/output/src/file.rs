//! The file of an option like `-o`.

use crate::directory::{open_parent, stat_at};
use crate::forbidden_dirs::refuse_system;
use crate::fresh::{Fresh, ReplacePolicy};
use crate::{EntryKind, FileAccess, OutputError, inputs};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{Access as RustixAccess, AtFlags, Gid, Mode, Stat, Uid, accessat, fchmod, fchown, makedev};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// May an existing regular file be replaced?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverwritePolicy {
    /// No, there is no such flag: every name that is taken is refused.
    Never,
    /// No, but `--force` would: every name that is taken is refused.
    No,
    /// Yes (`--force`).
    Yes,
}

impl From<bool> for OverwritePolicy {
    fn from(is_forced: bool) -> Self {
        if is_forced { Self::Yes } else { Self::No }
    }
}

/// A file under way. It gets its name when it is [finished](Self::finish): one that is interrupted, or meets a full disk,
/// leaves nothing, and what it should have replaced is as it was.
///
/// It goes to a new regular file, or with [`OverwritePolicy::Yes`] in the place of an existing one, whose permissions and owner it
/// keeps. A symbolic link is refused, also with force: where it leads can change between the look and the write. `-`,
/// `/dev/stdout` and `/dev/fd/1` are standard output, `/dev/null` takes everything; no other device, FIFO, socket or directory
/// is written to, and no new file is made below `/dev` (outside `/dev/shm`), where a name that is missing is a device that is
/// missing, nor below `/proc` and `/sys`. What the command reads ([`protect_file`](crate::protect_file)) is refused with force, too.
#[derive(Debug)]
pub struct OutputFile(To);

#[derive(Debug)]
enum To {
    Standard(io::Stdout),
    Nowhere,
    File { out: BufWriter<Writing>, name: OsString, path: PathBuf, force: OverwritePolicy },
}

/// The unfinished file as something to write to.
#[derive(Debug)]
struct Writing(Fresh);

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.file.flush()
    }
}

impl OutputFile {
    /// Begins it.
    ///
    /// # Errors
    /// The name is taken by something that may not be replaced, or nothing can be made there.
    pub fn create(path: &Path, force: OverwritePolicy) -> Result<Self, OutputError> {
        if is_standard_output(path) {
            return Ok(Self(To::Standard(io::stdout())));
        }
        let Place { name, folder, parent, there } = Place::find(path, force)?;
        if there.as_ref().is_some_and(is_null) {
            return Ok(Self(To::Nowhere));
        }
        let fresh = Fresh::create(folder.as_fd(), parent, name, FileAccess::Umask)?;
        if let Some(old) = &there {
            keep_access(&fresh.file, old);
        }
        let out = BufWriter::with_capacity(1 << 16, Writing(fresh));
        Ok(Self(To::File { out, name: name.to_os_string(), path: path.to_path_buf(), force }))
    }

    /// Says whether [`create`](Self::create) would refuse, and makes nothing: for a command that works long before it writes.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn check(path: &Path, force: OverwritePolicy) -> Result<(), OutputError> {
        if is_standard_output(path) {
            return Ok(());
        }
        let place = Place::find(path, force)?;
        if place.there.as_ref().is_some_and(is_null) {
            return Ok(());
        }
        let may_write = accessat(&place.folder, ".", RustixAccess::WRITE_OK | RustixAccess::EXEC_OK, AtFlags::EACCESS);
        match may_write {
            // Not every kernel or file system can tell; the write will.
            Err(error @ (Errno::ACCESS | Errno::ROFS)) => Err(OutputError::io("create", path)(error)),
            _ => Ok(()),
        }
    }

    /// Writes a whole file.
    ///
    /// # Errors
    /// See [`create`](Self::create); a file that cannot be written.
    pub fn write_whole(path: &Path, force: OverwritePolicy, bytes: &[u8]) -> Result<(), OutputError> {
        let mut file = Self::create(path, force)?;
        file.write_all(bytes).map_err(OutputError::io("write", path))?;
        file.finish()
    }

    /// Completes it: everything is on the disk, then it gets its name.
    ///
    /// # Errors
    /// The disk refuses, or something took the name meanwhile.
    pub fn finish(self) -> Result<(), OutputError> {
        let (out, name, path, force) = match self.0 {
            To::Nowhere => return Ok(()),
            To::Standard(mut out) => {
                return match out.flush() {
                    // `| head` is not an error.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                    flushed => flushed.map_err(OutputError::io("write", Path::new("standard output"))),
                };
            }
            To::File { out, name, path, force } => (out, name, path, force),
        };
        let Writing(fresh) = out.into_inner().map_err(|error| OutputError::io("write", &path)(error.into_error()))?;
        match fresh
            .publish(&name, if force == OverwritePolicy::Yes { ReplacePolicy::File } else { ReplacePolicy::Nothing })
        {
            Err(OutputError::Taken { kind: EntryKind::File, .. }) => Err(exists(path, force)),
            Err(OutputError::Taken { kind, .. } | OutputError::Unexpected { kind, .. }) => {
                Err(OutputError::NotAFile { path, kind })
            }
            published => published,
        }
    }
}

/// Where an output goes, when nothing stands in its way.
struct Place<'a> {
    name: &'a OsStr,
    folder: OwnedFd,
    parent: &'a Path,
    there: Option<Stat>,
}

impl<'a> Place<'a> {
    fn find(path: &'a Path, force: OverwritePolicy) -> Result<Self, OutputError> {
        let name = path.file_name().filter(|_| !path.as_os_str().as_bytes().ends_with(b"/"));
        let Some(name) = name else {
            return Err(OutputError::NotAFile { path: path.to_path_buf(), kind: EntryKind::Directory });
        };
        let (folder, parent) = open_parent(path)?;
        let there = stat_at(folder.as_fd(), name).map_err(OutputError::io("read", path))?;
        if !there.as_ref().is_some_and(is_null) {
            may_replace(there.as_ref(), path, force)?;
            if there.is_none() {
                refuse_system(parent, path)?;
            }
            inputs::refuse(path, there.as_ref())?;
        }
        Ok(Self { name, folder, parent, there })
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            To::Standard(out) => out.write(bytes),
            To::Nowhere => Ok(bytes.len()),
            To::File { out, .. } => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            To::Standard(out) => out.flush(),
            To::Nowhere => Ok(()),
            To::File { out, .. } => out.flush(),
        }
    }
}

/// Does this path name standard output?
#[must_use]
pub fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path.as_os_str() == *name)
}

/// `/dev/null`, by whatever path.
fn is_null(stat: &Stat) -> bool {
    EntryKind::of_mode(stat.st_mode) == EntryKind::CharacterDevice && stat.st_rdev == makedev(1, 3)
}

fn may_replace(there: Option<&Stat>, path: &Path, force: OverwritePolicy) -> Result<(), OutputError> {
    let path = path.to_path_buf();
    match there.map(|stat| EntryKind::of_mode(stat.st_mode)) {
        None => Ok(()),
        Some(EntryKind::File) if force == OverwritePolicy::Yes => Ok(()),
        Some(EntryKind::File) => Err(exists(path, force)),
        Some(EntryKind::Link) => {
            let to = std::fs::read_link(&path).unwrap_or_else(|_| PathBuf::from("?"));
            Err(OutputError::LinkNamed { path, to })
        }
        Some(kind) => Err(OutputError::NotAFile { path, kind }),
    }
}

fn exists(path: PathBuf, force: OverwritePolicy) -> OutputError {
    if force == OverwritePolicy::Never { OutputError::Foreign(path) } else { OutputError::Exists(path) }
}

/// The owner, as far as this process may, and the permission bits of the file that is replaced.
fn keep_access(file: &File, old: &Stat) {
    let owner = (Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)));
    // The bits of a group are not for another group.
    let kept = if fchown(file, owner.0, owner.1).is_ok() { 0o777 } else { 0o707 };
    let _ = fchmod(file, Mode::from_raw_mode(old.st_mode & kept));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn said(path: &Path, force: OverwritePolicy) -> String {
        OutputFile::write_whole(path, force, b"new").unwrap_err().to_string()
    }

    #[test]
    fn an_existing_file_is_replaced_only_with_force_and_keeps_its_permissions() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x.csv");
        OutputFile::write_whole(&path, OverwritePolicy::No, b"first").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(
            said(&path, OverwritePolicy::No).ends_with("x.csv exists; name another file, or add --force to replace it")
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
        OutputFile::write_whole(&path, OverwritePolicy::Yes, b"second").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        // One that is given up leaves the old one, and nothing beside it.
        let mut given_up = OutputFile::create(&path, OverwritePolicy::Yes).unwrap();
        given_up.write_all(b"half").unwrap();
        drop(given_up);
        assert_eq!((names(place.path()), std::fs::read(&path).unwrap()), (vec!["x.csv".into()], b"second".to_vec()));
    }

    #[test]
    fn links_directories_devices_and_fifos_are_refused_with_force_too() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::write(at("victim"), "precious").unwrap();
        symlink("victim", at("link")).unwrap();
        symlink("nothing", at("dangling")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for force in [OverwritePolicy::No, OverwritePolicy::Yes] {
            for (name, words) in [
                ("link", "is a symbolic link to victim"),
                ("dangling", "is a symbolic link to nothing"),
                ("folder", "is a directory"),
                ("new/", "is a directory"),
                ("fifo", "is a FIFO"),
            ] {
                let sentence = said(&at(name), force);
                assert!(sentence.contains(words), "{sentence}");
            }
            assert!(said(Path::new("/dev/zero"), force).contains("is a character device"));
            assert!(said(Path::new("/dev/no-such-disk"), force).contains("directory of devices"));
            assert!(said(&at("missing/x"), force).contains("failed to open the directory"));
        }
        assert_eq!(names(place.path()), ["dangling", "fifo", "folder", "link", "victim"]);
        assert_eq!(std::fs::read_to_string(at("victim")).unwrap(), "precious");
    }

    #[test]
    fn what_comes_into_the_way_meanwhile_is_not_replaced() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x");
        let begun = OutputFile::create(&path, OverwritePolicy::No).unwrap();
        std::fs::write(&path, "theirs").unwrap();
        assert!(matches!(begun.finish(), Err(OutputError::Exists(_))));
        std::fs::remove_file(&path).unwrap();
        let begun = OutputFile::create(&path, OverwritePolicy::Yes).unwrap();
        symlink("elsewhere", &path).unwrap();
        assert!(matches!(begun.finish(), Err(OutputError::NotAFile { kind: EntryKind::Link, .. })));
        assert_eq!(names(place.path()), ["x"]);
    }

    #[test]
    fn the_null_device_and_standard_output_stay_possible() {
        OutputFile::write_whole(Path::new("/dev/null"), OverwritePolicy::No, b"x").unwrap();
        let metadata = std::fs::symlink_metadata("/dev/null").unwrap();
        assert_eq!(EntryKind::of_mode(metadata.mode()), EntryKind::CharacterDevice);
        for name in ["-", "/dev/stdout"] {
            OutputFile::create(Path::new(name), OverwritePolicy::No).unwrap();
        }
    }
}
