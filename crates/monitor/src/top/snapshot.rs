//! `s`: what is shown, as text; and what is remembered, as a recording.

use crate::MonitorError;
use output::{FileAccess, Folder, ReplacePolicy};
use quantity::text::format_stamp;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Columns and rows of the text.
pub(crate) const SIZE: (u16, u16) = (160, 50);

/// Writes both into `directory`; gives words about it.
pub(crate) fn write(
    directory: &Path,
    wall_ns: i64,
    text: &str,
    save: impl Fn(&Path) -> Option<Result<PathBuf, MonitorError>>,
) -> String {
    let stem = format!("top-{}", format_stamp(wall_ns));
    let name = format!("{stem}.txt");
    // Never over a file that is there; names of processes are in it.
    let written = Folder::open(directory)
        .map(|folder| folder.with_access(FileAccess::of_recordings()))
        .and_then(|folder| folder.replace(&name, ReplacePolicy::Nothing, |file| file.write_all(text.as_bytes())));
    let page = match written {
        Ok(()) => format!("wrote {}", directory.join(&name).display()),
        Err(error) => return error.to_string(),
    };
    match save(&directory.join(format!("{stem}.iodyno"))) {
        None => page,
        Some(Ok(path)) => format!("{page} and the recording {}", path.display()),
        Some(Err(error)) => format!("{page}; no recording: {error}"),
    }
}
