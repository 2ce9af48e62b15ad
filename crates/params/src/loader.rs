//! Where parameter texts come from.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

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

/// What gives its bytes only once (pipes, standard input), by its name: a load is read more than once.
static READ_ONCE: Mutex<BTreeMap<PathBuf, Result<LoadedFile, LoadError>>> = Mutex::new(BTreeMap::new());

/// The file system, where `-` is standard input; that and pipes are read once.
#[derive(Debug, Default)]
pub struct DiskOrInput;

impl FileLoader for DiskOrInput {
    fn load(&self, path: &Path) -> Result<Vec<u8>, LoadError> {
        self.load_with_owner(path).map(|file| file.bytes)
    }

    fn load_with_owner(&self, path: &Path) -> Result<LoadedFile, LoadError> {
        let is_input = path == Path::new("-");
        let is_again = || std::fs::metadata(path).is_ok_and(|facts| !facts.file_type().is_fifo());
        let mut read_once = READ_ONCE.lock().unwrap_or_else(PoisonError::into_inner);
        match read_once.get(path) {
            Some(known) => known.clone(),
            None if !is_input && (is_again() || !path.exists()) => DiskLoader.load_with_owner(path),
            None => {
                let read = if is_input { read_input() } else { DiskLoader.load_with_owner(path) };
                read_once.insert(path.to_path_buf(), read.clone());
                read
            }
        }
    }
}

fn read_input() -> Result<LoadedFile, LoadError> {
    let mut bytes = Vec::new();
    let input = std::io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    input.map_err(|error| LoadError::Other(error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX { Err(LoadError::TooLarge) } else { Ok(LoadedFile { bytes, owner: None }) }
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
