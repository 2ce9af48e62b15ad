//! Where the text of a load comes from: files, pipes, standard input, and what the program brings along.

use crate::personality;
use params::{DiskLoader, FILE_BYTES_MAX, FileLoader, LoadError, LoadedFile};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What gives its bytes only once (pipes, standard input), by its name: a load is read more than once.
static READ_ONCE: Mutex<BTreeMap<PathBuf, Result<LoadedFile, LoadError>>> = Mutex::new(BTreeMap::new());

/// The file system, where `-` is standard input; that and pipes are read once.
#[derive(Debug, Default)]
pub(crate) struct DiskOrInput;

impl FileLoader for DiskOrInput {
    fn load(&self, path: &Path) -> Result<Vec<u8>, LoadError> {
        self.load_with_owner(path).map(|file| file.bytes)
    }

    fn load_with_owner(&self, path: &Path) -> Result<LoadedFile, LoadError> {
        if let Some(file) = personality::load(path) {
            return Ok(file);
        }
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
