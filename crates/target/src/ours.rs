//! How iodyno knows its own files again: a mark in an extended attribute, or a line in a registry where there are none.

use crate::ErrorKind;
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, OFlags, Statx, StatxFlags, XattrFlags, fgetxattr, fsetxattr, statx};
use rustix::io::Errno;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The extended attribute that iodyno's own files carry.
pub(crate) const XATTR: &str = "user.iodyno";

/// What the mark says about a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The file was written once from its start up to here; reads beyond make no sense yet. `None`: the file system
    /// tells by itself which parts were never written (`SEEK_HOLE`).
    pub(crate) filled_bytes: Option<u64>,
    /// It may hold a user's pattern, which cannot be told from foreign data.
    pub(crate) pattern: bool,
}

impl Mark {
    /// `1 pattern=0 filled=4096`: version, then words that later versions may add to.
    fn encode(self) -> String {
        let filled = self.filled_bytes.map(|bytes| format!(" filled={bytes}")).unwrap_or_default();
        format!("1 pattern={}{filled}", u8::from(self.pattern))
    }

    /// `None` when this is not a mark of a version that this program knows.
    fn decode(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        if words.next() != Some("1") {
            return None;
        }
        let mut mark = Self::default();
        for word in words {
            match word.split_once('=')? {
                ("filled", bytes) => mark.filled_bytes = Some(bytes.parse().ok()?),
                ("pattern", flag) => mark.pattern = flag == "1",
                _ => {}
            }
        }
        Some(mark)
    }
}

/// The mark of a file; `None` when iodyno did not make it.
pub(crate) fn mark_of(fd: BorrowedFd<'_>, registry: Option<&Path>) -> Option<Mark> {
    let mut value = [0_u8; 256];
    match fgetxattr(fd, XATTR, &mut value) {
        Ok(len) => Mark::decode(std::str::from_utf8(value.get(..len)?).ok()?),
        Err(_) => registered(fd, registry?),
    }
}

/// Marks a file as made by iodyno.
///
/// # Errors
/// A sentence when neither the attribute nor the registry can be written: the file will not be known again.
pub(crate) fn set_mark(fd: BorrowedFd<'_>, mark: Mark, registry: Option<&Path>) -> Result<(), String> {
    match fsetxattr(fd, XATTR, mark.encode().as_bytes(), XattrFlags::empty()) {
        Ok(()) => Ok(()),
        Err(Errno::NOTSUP | Errno::PERM | Errno::NOSPC | Errno::DQUOT | Errno::NOSYS) => register(fd, mark, registry),
        Err(error) => Err(format!("failed to set the extended attribute {XATTR}: {error}")),
    }
}

/// The registry of files on file systems without extended attributes: `/var/lib/iodyno/files` for root, otherwise
/// `${XDG_STATE_HOME:-~/.local/state}/iodyno/files`. `None` when there is no home.
pub(crate) fn registry_path() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = if rustix::process::geteuid().is_root() {
        PathBuf::from("/var/lib")
    } else {
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?
    };
    Some(state.join("iodyno/files"))
}

/// A file's name in the registry: device, inode and time of birth, since inodes are used again. `None` when the file
/// system does not tell the time of birth: then nothing proves that the file is still the one that was registered.
fn identity(fd: BorrowedFd<'_>) -> Option<String> {
    let stat: Statx = statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::BTIME).ok()?;
    if stat.stx_mask & StatxFlags::BTIME.bits() == 0 {
        return None;
    }
    let (birth, device) = (stat.stx_btime, (stat.stx_dev_major, stat.stx_dev_minor));
    Some(format!("{}:{} {} {}.{:09}", device.0, device.1, stat.stx_ino, birth.tv_sec, birth.tv_nsec))
}

fn registered(fd: BorrowedFd<'_>, registry: &Path) -> Option<Mark> {
    let identity = identity(fd)?;
    let text = std::fs::read_to_string(registry).ok()?;
    // The last line about a file counts; a torn one decodes to nothing.
    let line = text.lines().rev().find_map(|line| line.strip_prefix(&identity)?.strip_prefix(" | "))?;
    Mark::decode(line)
}

fn register(fd: BorrowedFd<'_>, mark: Mark, registry: Option<&Path>) -> Result<(), String> {
    let unknown = "the file system keeps neither extended attributes nor times of birth";
    let identity = identity(fd).ok_or(unknown)?;
    let registry = registry.ok_or("the file system has no extended attributes and there is no home for a registry")?;
    let written = registry.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| {
        let nofollow = OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).custom_flags(nofollow).open(registry)?;
        // One write, so that two programs' lines do not mix.
        file.write_all(format!("{identity} | {}\n", mark.encode()).as_bytes())
    });
    written.map_err(|error| format!("failed to write the registry {}: {error}", registry.display()))
}

/// Refuses content that is not ours.
pub(crate) fn foreign_error(foreign: crate::content::Foreign, flag: &Path) -> ErrorKind {
    ErrorKind::ForeignContent { what: foreign.what, offset: foreign.offset, flag: flag.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;

    #[test]
    fn marks_survive_a_round_trip() {
        for filled_bytes in [None, Some(0), Some(u64::MAX)] {
            for pattern in [false, true] {
                let mark = Mark { filled_bytes, pattern };
                assert_eq!(Mark::decode(&mark.encode()), Some(mark));
            }
        }
        for other in ["", "2 pattern=0", "1 filled=x", "iodyno", "1 pattern"] {
            assert_eq!(Mark::decode(other), None, "{other}");
        }
        assert!(Mark::decode("1 pattern=0 later=7").is_some());
    }

    #[test]
    fn registry_knows_a_file_and_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let registry = scratch.path().join("state/iodyno/files");
        let open = |name: &str| std::fs::File::create(scratch.path().join(name)).unwrap();
        let (own, other) = (open("own"), open("other"));
        assert_eq!(registered(own.as_fd(), &registry), None);
        for filled in [Some(0), Some(4096)] {
            let mark = Mark { filled_bytes: filled, pattern: false };
            register(own.as_fd(), mark, Some(&registry)).unwrap();
            assert_eq!(registered(own.as_fd(), &registry), Some(mark), "the last line counts");
        }
        assert_eq!(registered(other.as_fd(), &registry), None);
        // The same inode, born again, is another file.
        let text = std::fs::read_to_string(&registry).unwrap();
        let reborn: String = text.lines().map(|line| line.replacen('.', ".9", 1) + "\n").collect();
        std::fs::write(&registry, reborn).unwrap();
        assert_eq!(registered(own.as_fd(), &registry), None);
        assert!(register(own.as_fd(), Mark::default(), None).unwrap_err().contains("no home"));
    }
}
