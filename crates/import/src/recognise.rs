//! Which format a file or a folder has, and who reads it: one file per tool, each with a sniffer and a reader.

use crate::error::ImportError;
use crate::options::{ImportOptions, ImportSummary};
use crate::results::{self, Results};
use crate::{fio, fio_log, text, traces, vdbench};
use recording::rows::Io;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Bytes at the beginning of a file by which its format is known.
const SNIFFED: usize = 64 << 10;

/// A format that can be imported.
#[derive(Debug)]
struct Format {
    /// Name for `--format`.
    name: &'static str,
    /// What it is.
    help: &'static str,
    /// The file to read in a directory of results.
    find: fn(&Path) -> Option<PathBuf>,
    /// Does the beginning of a file look like it?
    sniff: fn(&str) -> bool,
    /// Reads the text of the file at this path.
    read: fn(&Path, &str) -> Result<Results, ImportError>,
}

/// All formats of results, in the order in which they are tried.
const FORMATS: [Format; 3] = [
    Format {
        name: "vdbench",
        help: "a Vdbench output folder, or its flatfile.html (with histogram.html beside it, percentiles)",
        find: |folder| Some(folder.join("flatfile.html")).filter(|file| file.exists()),
        sniff: vdbench::sniff,
        read: vdbench::read,
    },
    Format {
        name: "fio",
        help: "fio's --output-format=json or json+ (the latter with whole histograms), with its logs beside it",
        find: fio::find,
        sniff: fio::sniff,
        read: fio::read,
    },
    Format {
        name: fio_log::NAME,
        help: "fio's logs without its JSON: PREFIX_lat.1.log and all others of that prefix",
        find: fio_log::find,
        sniff: plan::is_fio_log,
        read: fio_log::read,
    },
];

/// Name (for `--format`) and meaning of everything that can be imported.
pub fn formats() -> impl Iterator<Item = (&'static str, &'static str)> {
    let traces = traces::FORMATS.iter().map(|format| (format.name, format.help));
    let texts = text::FORMATS.iter().map(|format| (format.name, format.help));
    FORMATS.iter().map(|format| (format.name, format.help)).chain(texts).chain(traces)
}

fn names() -> String {
    formats().map(|(name, _)| name).collect::<Vec<&str>>().join(", ")
}

/// Reads the results or the trace at `path` (a file, or a folder of them) into a new recording in `directory`.
///
/// # Errors
/// No format fits the content, the content is damaged (the error names file and line; nothing is left in `directory`),
/// or the recording cannot be written.
pub fn import(
    path: &Path,
    directory: &Path,
    options: &ImportOptions,
    command_line: &[String],
) -> Result<ImportSummary, ImportError> {
    let format = options.format.as_deref();
    let is_folder = path.is_dir();
    let has_results =
        if is_folder { FORMATS.iter().any(|format| (format.find)(path).is_some()) } else { fio_log::is_log(path) };
    let is_text = format.is_none_or(|name| text::FORMATS.iter().any(|format| format.name == name));
    if !has_results
        && is_text
        && path.metadata().is_ok_and(|found| found.is_file() || found.is_dir())
        && let Some(texts) = text::recognise(path, format)?
    {
        if options.is_selective() {
            return Err(ImportError::NotATrace { path: path.to_path_buf(), format: "other tools' text" });
        }
        return text::import(&texts, directory, options, command_line);
    }
    if !(format.is_none() && has_results)
        && let Some(trace) = traces::recognise(path, format)?
    {
        let mut imported = traces::import(&trace, directory, options, command_line)?;
        imported.notes.extend(options.note_of_unused(false));
        return Ok(imported);
    }
    let format = match format {
        Some(name) => Some(
            FORMATS
                .iter()
                .find(|format| format.name == name)
                .ok_or_else(|| ImportError::UnknownFormat { name: name.to_string(), known: names() })?,
        ),
        None => None,
    };
    let candidates: Vec<&Format> = format.map_or_else(|| FORMATS.iter().collect(), |format| vec![format]);
    for candidate in candidates {
        let file = match (is_folder, (candidate.find)(path)) {
            (true, Some(file)) => file,
            (true, None) => continue,
            (false, _) => path.to_path_buf(),
        };
        if format.is_some() || (candidate.sniff)(&head(&file)?) {
            if options.is_selective() {
                return Err(ImportError::NotATrace { path: file, format: candidate.name });
            }
            // Logs have a line per I/O: they are read as they go by.
            let text = if candidate.name == fio_log::NAME {
                Vec::new()
            } else {
                std::fs::read(&file).map_err(ImportError::io("read", &file))?
            };
            let text = String::from_utf8_lossy(&text).into_owned();
            let mut results = (candidate.read)(&file, &text)?;
            results.notes.extend(options.note_of_unused(results.is_local));
            if let Some(zone) = options.zone.as_ref().filter(|_| results.is_local) {
                results.started_wall_ns = zone.utc_ns(results.started_wall_ns, None);
            }
            return results::write(results, candidate.name, &file, &text, directory, command_line);
        }
    }
    Err(unknown(path))
}

/// Gives the I/Os of the trace at `path` to `take`, one after the other, in memory that does not grow with their number,
/// without making a recording. Times are on the trace's own clock, in ns; several files are merged in the order of
/// queueing. Gives what was passed over, in words.
///
/// # Errors
/// No format fits the content, or the content is malformed: `take` may already have had the I/Os before that place.
pub fn read_trace(path: &Path, options: &ImportOptions, take: &mut dyn FnMut(Io)) -> Result<Vec<String>, ImportError> {
    read_trace_until(path, options, &mut |io| {
        take(io);
        ControlFlow::Continue(())
    })
}

/// [`read_trace`], until `take` has enough: what comes after that is not read.
///
/// # Errors
/// See [`read_trace`].
pub fn read_trace_until(
    path: &Path,
    options: &ImportOptions,
    take: &mut dyn FnMut(Io) -> ControlFlow<()>,
) -> Result<Vec<String>, ImportError> {
    if let Some(name) = options.format.as_ref().filter(|name| !traces::FORMATS.iter().any(|one| one.name == **name)) {
        let known = traces::FORMATS.map(|format| format.name).join(", ");
        return Err(ImportError::UnknownFormat { name: name.clone(), known });
    }
    match traces::recognise(path, options.format.as_deref())? {
        Some(trace) => traces::read(&trace, options, take),
        None => Err(unknown(path)),
    }
}

/// The error for content that no format fits; of a text, it shows the first line that is not blank.
fn unknown(path: &Path) -> ImportError {
    let text = if path.is_file() { head(path).unwrap_or_default() } else { String::new() };
    let first = text.lines().enumerate().find(|(_, line)| !line.trim().is_empty());
    let is_text =
        |line: &str| !line.contains(|letter: char| (letter.is_control() && letter != '\t') || letter == '\u{fffd}');
    let place = match first.filter(|(_, line)| is_text(line)) {
        Some((at, line)) => {
            let short: String = line.trim().chars().take(60).collect();
            let more = if short.len() < line.trim().len() { "…" } else { "" };
            format!(":{}: `{short}{more}` begins", at + 1)
        }
        None => " is".to_string(),
    };
    ImportError::Unknown { path: path.to_path_buf(), place, known: names() }
}

/// The beginning of a file.
fn head(file: &Path) -> Result<String, ImportError> {
    let failed = || ImportError::io("read", file);
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(failed())?;
    opened.take(SNIFFED as u64).read_to_end(&mut bytes).map_err(failed())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod extreme_tests;
#[cfg(test)]
mod tests;
