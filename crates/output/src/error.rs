//! What can go wrong with an output, and what stands in its way.

use rustix::fs::FileType;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Longest name of a table, bytes.
pub const TABLE_NAME_MAX: usize = 64;

/// What a name in a directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, wherever it leads.
    Link,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharacterDevice,
    /// A FIFO (named pipe).
    Fifo,
    /// A socket.
    Socket,
    /// Something that this program does not know.
    Other,
}

impl EntryKind {
    /// The kind in an inode's mode.
    #[must_use]
    pub fn of_mode(mode: u32) -> Self {
        match FileType::from_raw_mode(mode) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::BlockDevice => Self::BlockDevice,
            FileType::CharacterDevice => Self::CharacterDevice,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::Unknown => Self::Other,
        }
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a regular file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::BlockDevice => "a block device",
            Self::CharacterDevice => "a character device",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Other => "no regular file",
        })
    }
}

/// A file that cannot be made, replaced or removed as asked.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// An output file's name is taken by a regular file.
    #[error("{0} exists; name another file, or add --force to replace it")]
    Exists(PathBuf),
    /// An output file's name is taken by a regular file that the command does not replace.
    #[error("{0} exists and is not such a file of iodyno's: it is not replaced; name another file, or move it away")]
    Foreign(PathBuf),
    /// An output file's name is taken by something that is never replaced.
    #[error("{path} is {kind}; an output is a regular file: name another one, or - for standard output")]
    NotAFile {
        /// What was named.
        path: PathBuf,
        /// What it is.
        kind: EntryKind,
    },
    /// An output file's name is taken by a symbolic link.
    #[error("{path} is a symbolic link to {to}; name the file itself, or another one")]
    LinkNamed {
        /// What was named.
        path: PathBuf,
        /// Where the link leads.
        to: PathBuf,
    },
    /// An output below `/dev`, where a name that is not there is a device that is not there, or among the kernel's settings.
    #[error(
        "{0} is in a directory of devices and does not exist, or among the kernel's settings; name a place elsewhere"
    )]
    AmongDevices(PathBuf),
    /// An output file that the command reads, or that would become a part of what it reads.
    #[error(
        "{path} is, or would be, a part of what this command reads ({input}), and is not written whatever the flags: name another file"
    )]
    Read {
        /// The output.
        path: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// A name in a folder is taken.
    #[error("{path} exists ({kind}); move it away, or name another place")]
    Taken {
        /// What is there.
        path: PathBuf,
        /// What it is.
        kind: EntryKind,
    },
    /// Something else stands where a file of iodyno's belongs.
    #[error("{path} is {kind}, not {expected}; it was left as it is: move it away, or name another place")]
    Unexpected {
        /// What is there.
        path: PathBuf,
        /// What it is.
        kind: EntryKind,
        /// What belongs there.
        expected: EntryKind,
    },
    /// A file that is written on has two names: it may be another's by its second one.
    #[error("{0} has a second name (hard link); it was left as it is: move it away, or name another place")]
    SecondName(PathBuf),
    /// A name that cannot be one of a file in a folder.
    #[error("`{name}` is no name of a file: {why}")]
    Name {
        /// The name, control characters escaped.
        name: String,
        /// Why not.
        why: &'static str,
    },
    /// A table's name that none can have.
    #[error("`{name}` is no name of a table: a name has 1 to {max} of the characters a-z, 0-9 and _", max = TABLE_NAME_MAX)]
    TableName {
        /// The name, control characters escaped.
        name: String,
    },
    /// `--mode` or `--group` is wrong.
    #[error("{0}")]
    Access(String),
    /// The system refuses.
    #[error("failed to {action} {path}: {}", system_words(source))]
    Io {
        /// `create`, `write`, `rename`, …
        action: &'static str,
        /// File.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl OutputError {
    /// For `map_err`.
    pub fn io<E: Into<io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source: source.into() }
    }

    /// Did the user name something impossible, rather than something having failed?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }

    /// Is something in the way that is never written over, force or not?
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Exists(_) | Self::Foreign(_) | Self::Access(_) | Self::Io { .. })
    }

    /// Does it need a permission that this process does not have?
    #[must_use]
    pub fn is_privilege(&self) -> bool {
        self.io_kind() == Some(io::ErrorKind::PermissionDenied)
    }

    /// Is it the path that was named, at which nothing can be made, rather than a disk that fails?
    #[must_use]
    pub fn is_path(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_path(source))
    }

    /// The kind of the system's error, where it is one.
    #[must_use]
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    pub(crate) fn name(name: &OsStr, why: &'static str) -> Self {
        Self::Name { name: name.to_string_lossy().escape_debug().to_string(), why }
    }
}

/// What an error of the system says, where its own words do not tell what to do.
#[must_use]
pub fn system_words(error: &io::Error) -> String {
    if error.raw_os_error() == Some(Errno::FBIG.raw_os_error()) {
        return "the file has reached the largest size that is allowed here; raise the limit (`ulimit -f`, LimitFSIZE= of a unit), \
                or write to a file system with larger files"
            .to_string();
    }
    error.to_string()
}

/// Does this error of the system say that nothing can be made at a path, rather than that a disk fails?
#[must_use]
pub fn is_path(error: &io::Error) -> bool {
    let is_loop = error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
    is_loop
        || matches!(
            error.kind(),
            io::ErrorKind::NotFound
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::IsADirectory
                | io::ErrorKind::AlreadyExists
                | io::ErrorKind::InvalidFilename
                | io::ErrorKind::InvalidInput
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::Unsupported
        )
}

/// Does the system not know this call, or not for this file system?
pub(crate) fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP | Errno::PERM)
}
