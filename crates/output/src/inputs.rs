//! What a command reads is not what it writes over, whatever its flags say.
//!
//! Kept for the whole process: a command notes what it reads before it makes anything.

use crate::OutputError;
use crate::directory::stat_at;
use rustix::fd::AsFd as _;
use rustix::fs::{CWD, Stat};
use std::ffi::OsStr;
use std::fmt;
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Does this name in an input's directory belong to the input? (`report.html` does not.)
pub type IsPart = Box<dyn Fn(&OsStr) -> bool + Send>;

/// So many names of an input's directory are compared at most.
const NAMES_MAX: usize = 1 << 20;

static INPUTS: Mutex<Vec<Input>> = Mutex::new(Vec::new());

/// A file or a directory that the command reads.
struct Input {
    path: PathBuf,
    /// Number of its device, and of its inode.
    inode: (u64, u64),
    /// For a directory: which names in it are read.
    is_part: Option<IsPart>,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Notes a file that the command reads. One that cannot be found is no input.
pub fn protect_file(path: &Path) {
    if let Ok(found) = std::fs::metadata(path) {
        inputs().push(Input { path: path.to_path_buf(), inode: inode(&found), is_part: None });
    }
}

/// Notes a directory that the command reads, with all that is below the names of which `is_part` is true.
pub fn protect_folder(path: &Path, is_part: IsPart) {
    if let Ok(found) = std::fs::metadata(path) {
        inputs().push(Input { path: path.to_path_buf(), inode: inode(&found), is_part: Some(is_part) });
    }
}

/// Refuses to make or replace `path`, which is `there` or not, when it is an input or a part of one.
pub(crate) fn refuse(path: &Path, there: Option<&Stat>) -> Result<(), OutputError> {
    let inputs = inputs();
    let is_read = |input: &&Input| {
        let is_same = there.is_some_and(|there| input.has_inode(&(there.st_dev, there.st_ino)));
        is_same || input.would_hold(path)
    };
    match inputs.iter().find(is_read) {
        Some(input) => Err(OutputError::Read { path: path.to_path_buf(), input: input.path.clone() }),
        None => Ok(()),
    }
}

/// The same for a directory in which files are to be made.
pub(crate) fn refuse_folder(path: &Path) -> Result<(), OutputError> {
    let there = stat_at(CWD.as_fd(), path.as_os_str()).ok().flatten();
    let inputs = inputs();
    let found = inputs.iter().find(|input| there.is_some() && input.would_hold(&path.join("x")));
    found.map_or(Ok(()), |input| Err(OutputError::Read { path: path.to_path_buf(), input: input.path.clone() }))
}

impl Input {
    /// Is it this inode, or is one of its files?
    fn has_inode(&self, wanted: &(u64, u64)) -> bool {
        let Some(is_part) = &self.is_part else { return self.inode == *wanted };
        let mut left = NAMES_MAX;
        let parts = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        parts.filter(|entry| is_part(&entry.file_name())).any(|entry| holds(&entry, wanted, &mut left))
    }

    /// Would a file of this path be read as a part of it?
    fn would_hold(&self, path: &Path) -> bool {
        let Some(is_part) = &self.is_part else { return false };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (Ok(parent), Ok(own)) = (parent.canonicalize(), self.path.canonicalize()) else { return false };
        let Ok(below) = parent.strip_prefix(own) else { return false };
        let first = below.components().next().map(|first| first.as_os_str().to_os_string());
        first.or_else(|| path.file_name().map(OsStr::to_os_string)).is_some_and(|name| is_part(&name))
    }
}

/// Is it the file with this inode, or a directory with it in it? Links are not followed.
fn holds(entry: &DirEntry, wanted: &(u64, u64), left: &mut usize) -> bool {
    let Some(now) = left.checked_sub(1) else { return false };
    *left = now;
    if entry.ino() == wanted.1 && entry.metadata().is_ok_and(|found| inode(&found) == *wanted) {
        return true;
    }
    let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
    is_folder && std::fs::read_dir(entry.path()).into_iter().flatten().flatten().any(|one| holds(&one, wanted, left))
}

fn inode(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn inputs() -> MutexGuard<'static, Vec<Input>> {
    INPUTS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileAccess, Folder, OutputFile, OverwritePolicy};

    #[test]
    fn an_input_is_never_replaced_and_a_recording_gets_no_new_parts() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir_all(at("r/disk/host=a")).unwrap();
        std::fs::create_dir(at("r/notes")).unwrap();
        for name in ["r/manifest.json", "r/disk/host=a/1.parquet", "r/report.html", "job.fio", "other.fio"] {
            std::fs::write(at(name), name).unwrap();
        }
        std::fs::hard_link(at("r/disk/host=a/1.parquet"), at("second-name")).unwrap();
        std::os::unix::fs::symlink("r", at("link")).unwrap();
        protect_folder(&at("link"), Box::new(|name| name == "manifest.json" || name == "disk"));
        protect_file(&at("job.fio"));
        for name in [
            "r/manifest.json",
            "r/disk/host=a/1.parquet",
            "r/disk/host=a/2.parquet",
            "r/disk/new",
            "link/disk/../manifest.json",
            "second-name",
            "job.fio",
        ] {
            let refused = OutputFile::write_whole(&at(name), OverwritePolicy::Yes, b"new").unwrap_err();
            assert!(refused.is_refusal() && refused.to_string().contains("reads"), "{name}: {refused}");
        }
        assert!(Folder::open_or_create(&at("r/disk"), FileAccess::Umask).unwrap_err().is_refusal());
        for name in ["r/report.html", "r/compare.html", "r/notes/disk", "other.fio", "disk"] {
            OutputFile::write_whole(&at(name), OverwritePolicy::Yes, b"new").unwrap();
        }
        for name in ["r/manifest.json", "r/disk/host=a/1.parquet", "job.fio"] {
            assert_eq!(std::fs::read_to_string(at(name)).unwrap(), name);
        }
        assert_eq!(std::fs::read_dir(at("r/disk/host=a")).unwrap().count(), 1);
    }
}
