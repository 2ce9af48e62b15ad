//! Opens files of a recording for reading: regular files only, because others may have made the recording. A FIFO would stop the
//! reader, a device would never end, a link would lead out of the recording.

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a regular file without waiting.
///
/// # Errors
/// It is not there, is something else, or cannot be opened.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
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
        for name in ["link", "endless", "fifo", "missing", "."] {
            assert!(open(&at(name)).is_err(), "{name}");
        }
    }
}
