//! Where parameter texts come from.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Largest parameter file that is read.
pub const FILE_BYTES_MAX: u64 = 64 << 20;

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// It is not there.
    #[error("no such file")]
    Missing,
    /// A directory.
    #[error("is a directory, not a parameter file")]
    Directory,
    /// More than [`FILE_BYTES_MAX`].
    #[error("is larger than {} MiB; no parameter file is that large", FILE_BYTES_MAX >> 20)]
    TooLarge,
    /// Anything else, in the words of the system.
    #[error("{0}")]
    Other(String),
}

/// Whose file it is that was read: of the open file itself, so that what takes its place later changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceOwner {
    /// Its user.
    pub uid: u32,
    /// Its permissions let every user write to it.
    pub is_open_to_all: bool,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whose it is; `None`: the user's own, such as standard input.
    pub owner: Option<SourceOwner>,
}

/// Reads files; a test or a fuzzer needs no disk.
pub trait FileLoader {
    /// The bytes of `path`.
    ///
    /// # Errors
    /// When it cannot be read or is larger than [`FILE_BYTES_MAX`].
    fn load(&self, path: &Path) -> Result<Vec<u8>, LoadError>;

    /// The same, and whose file it is.
    ///
    /// # Errors
    /// As [`FileLoader::load`].
    fn load_with_owner(&self, path: &Path) -> Result<LoadedFile, LoadError> {
        self.load(path).map(|bytes| LoadedFile { bytes, owner: None })
    }
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskLoader;

impl FileLoader for DiskLoader {
    fn load(&self, path: &Path) -> Result<Vec<u8>, LoadError> {
        self.load_with_owner(path).map(|file| file.bytes)
    }

    fn load_with_owner(&self, path: &Path) -> Result<LoadedFile, LoadError> {
        let other = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => LoadError::Missing,
            _ => LoadError::Other(error.to_string()),
        };
        let file = std::fs::File::open(path).map_err(other)?;
        let facts = file.metadata().map_err(other)?;
        if facts.is_dir() {
            return Err(LoadError::Directory);
        }
        if facts.len() > FILE_BYTES_MAX {
            return Err(LoadError::TooLarge);
        }
        let mut bytes = Vec::new();
        // A pipe or a device has no length: stop one byte after the limit.
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(other)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(LoadError::TooLarge);
        }
        let owner = SourceOwner { uid: facts.uid(), is_open_to_all: facts.mode() & 0o002 != 0 };
        Ok(LoadedFile { bytes, owner: Some(owner) })
    }
}

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryLoader(pub BTreeMap<PathBuf, Vec<u8>>);

impl MemoryLoader {
    /// With one file.
    pub fn one(path: impl Into<PathBuf>, bytes: impl Into<Vec<u8>>) -> Self {
        Self(BTreeMap::from([(path.into(), bytes.into())]))
    }
}

impl FileLoader for MemoryLoader {
    fn load(&self, path: &Path) -> Result<Vec<u8>, LoadError> {
        let bytes = self.0.get(path).ok_or(LoadError::Missing)?;
        if bytes.len() as u64 > FILE_BYTES_MAX { Err(LoadError::TooLarge) } else { Ok(bytes.clone()) }
    }
}
