//! What can be made of a recording once it is there: the report, a picture, last words for the terminal.

use crate::{Outcome, SessionError};
use recording::Reader;
use std::path::{Path, PathBuf};
use tui::Look;

/// Writes the HTML report of the recording in `directory`, by default into it; returns its path.
///
/// # Errors
/// The recording cannot be read, or the file not be written.
pub fn report_file(directory: &Path, output: Option<&Path>) -> Result<PathBuf, SessionError> {
    let reader = Reader::open(directory)?;
    let page = report::report(&reader)?;
    let path = output.map_or_else(|| directory.join("report.html"), Path::to_path_buf);
    write_whole(&path, page.as_bytes())?;
    Ok(path)
}

/// Writes a file in one step: nobody sees half of it, and a full disk leaves no stump.
///
/// # Errors
/// The file cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), SessionError> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    let written = std::fs::write(&fresh, bytes).and_then(|()| std::fs::rename(&fresh, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written.map_err(|source| SessionError::Write { path: path.to_path_buf(), source })
}

/// The summary of a finished command: tables with percentiles per operation, and where things are.
///
/// # Errors
/// The recording cannot be read.
pub fn last_words(outcome: &Outcome) -> Result<Vec<String>, SessionError> {
    let reader = Reader::open(&outcome.directory)?;
    let facts = analyze::Facts::read(&reader, &analyze::Selection::default()).map_err(report::ReportError::from)?;
    let mut lines = vec![String::new()];
    lines.extend(tui::summary_tables(&facts, Look::of_stdout().width));
    lines.push(String::new());
    lines.push(format!("recording  {}", outcome.directory.display()));
    if let Some(report) = &outcome.report {
        lines.push(format!("report     {}", report.display()));
    }
    Ok(lines)
}
