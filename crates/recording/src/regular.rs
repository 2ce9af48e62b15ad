//! Opens files of a recording for reading: regular files only, because others may have made the recording. A FIFO would stop the
//! reader, a device would never end, a link would lead out of the recording.

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::{Component, Path};

/// For reading, without following a link or waiting.
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Opens a regular file without waiting.
///
/// # Errors
/// It is not there, is something else, or cannot be opened.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    regular(openat(CWD, path, FLAGS, Mode::empty())?.into())
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Opens a regular file by its path below a recording's directory, name by name: none on the way may be a link, or lead up.
/// The directory itself may be reached through links: the user named it.
///
/// # Errors
/// See [`open`]; a folder on the way is a link, or the path leads elsewhere.
pub(crate) fn open_below(directory: &Path, path: &Path) -> io::Result<File> {
    let mut names = Vec::new();
    for part in path.components() {
        let Component::Normal(name) = part else { return Err(io::Error::other("its path leads out of the recording")) };
        names.push(name);
    }
    let Some((file, folders)) = names.split_last() else { return Err(io::Error::other("its path names no file")) };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, directory, flags, Mode::empty())?;
    for name in folders {
        folder = openat(&folder, *name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP => {
                io::Error::other(format!("its folder {} is a link or no folder", name.to_string_lossy().escape_debug()))
            }
            other => other.into(),
        })?;
    }
    regular(openat(&folder, *file, FLAGS, Mode::empty())?.into())
}

/// Reads a whole regular file of at most `most` bytes.
///
/// # Errors
/// See [`open`]; it is longer.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= most {
        Ok(bytes)
    } else {
        Err(io::Error::other(format!("it is longer than {most} bytes")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FileType, mknodat};

    #[test]
    fn only_regular_files_are_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("endless")).unwrap();
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert_eq!(read(&at("file"), 4).unwrap(), b"text");
        assert!(read(&at("file"), 3).is_err());
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/b/file"), "text").unwrap();
        std::os::unix::fs::symlink("a", at("other")).unwrap();
        std::os::unix::fs::symlink("b", at("a/other")).unwrap();
        std::os::unix::fs::symlink(folder.path(), at("whole")).unwrap();
        let below = |path: &str| open_below(&at("whole"), Path::new(path)).map(drop);
        assert!(below("a/b/file").is_ok(), "the directory itself may be named by a link");
        for path in ["other/b/file", "a/other/file", "a/../a/b/file", "/a/b/file", "a/b/missing", "a/b", "fifo", ""] {
            assert!(below(path).is_err(), "{path}");
        }
        for name in ["link", "endless", "fifo", "missing", "."] {
            assert!(open(&at(name)).is_err(), "{name}");
        }
    }
}
