//! What can be made of a recording once it is there: the report, a picture, last words for the terminal.

use crate::half_round::{half_rounds, rounds_in};
use crate::{CommandOutcome, SessionError};
use output::{EntryKind, Folder, OutputFile, OverwritePolicy, ReplacePolicy};
use recording::{PAGE, Reader, append_checksum};
use report::JunitSuite;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use tui::{PaintedLine, TerminalLook};
use views::Comparison;

/// Writes the HTML report of the recording in `directory`, by default into it; returns its path. Of a directory of `ab` it is the
/// page that holds its sides against each other. A report in the recording is
/// written anew when it is one of iodyno's; any other file only with [`OverwritePolicy::Yes`].
///
/// # Errors
/// The recording cannot be read, something else has the file's name, or the file cannot be written.
pub fn report_file(directory: &Path, output: Option<&Path>, force: OverwritePolicy) -> Result<PathBuf, SessionError> {
    let draw = || match half_rounds(directory)?.is_empty() {
        true => Ok::<_, SessionError>(report::report(&Reader::open(directory)?)?),
        false => comparison_page(&comparison(&[directory.to_path_buf()], None)?),
    };
    if let Some(path) = output {
        let file = OutputFile::create(path, force)?;
        fill(file, path, draw()?.as_bytes())?;
        return Ok(path.to_path_buf());
    }
    let folder = Folder::open(directory)?;
    let path = directory.join(PAGE);
    if force == OverwritePolicy::No && folder.kind(PAGE)? == Some(EntryKind::File) && !is_ours(folder.open_file(PAGE)?)
    {
        return Err(SessionError::ForeignReport(path));
    }
    let page = draw()?;
    folder.replace(PAGE, ReplacePolicy::File, |file| file.write_all(&append_checksum(&page)))?;
    Ok(path)
}

/// Does this file begin as a page of iodyno's does?
fn is_ours(file: File) -> bool {
    let mut beginning = Vec::new();
    let is_read = file.take(1024).read_to_end(&mut beginning).is_ok();
    let mark = report::GENERATOR.as_bytes();
    is_read && beginning.windows(mark.len()).any(|window| window == mark)
}

fn fill(mut file: OutputFile, path: &Path, bytes: &[u8]) -> Result<(), SessionError> {
    file.write_all(bytes).map_err(|source| SessionError::Write { path: path.to_path_buf(), source })?;
    Ok(file.finish()?)
}

/// Recordings side by side, each called by its directory's name, and by as much of the path as tells it from the others. A directory
/// of `ab` is two of them, its sides, each with its rounds.
///
/// # Errors
/// One of them cannot be read, or has no such run.
pub fn comparison(directories: &[PathBuf], run: Option<&str>) -> Result<Comparison, SessionError> {
    let (mut sides, mut remarks) = (Vec::new(), Vec::new());
    for (label, directory) in labels(directories).into_iter().zip(directories) {
        let Some(rounds) = rounds_in(directory)? else {
            sides.push((label, vec![Reader::open(directory)?]));
            continue;
        };
        let prefix = if directories.len() > 1 { format!("{label}/") } else { String::new() };
        remarks.extend(rounds.remarks);
        sides.extend(rounds.sides.into_iter().map(|(label, readers)| (format!("{prefix}{label}"), readers)));
    }
    let sides: Vec<(&str, Vec<&Reader>)> =
        sides.iter().map(|(label, readers)| (label.as_str(), readers.iter().collect())).collect();
    let mut comparison = Comparison::read_sides(&sides, run)?;
    remarks.into_iter().for_each(|remark| comparison.remark(remark));
    Ok(comparison)
}

/// The shortest ends of paths that differ from each other.
fn labels(directories: &[PathBuf]) -> Vec<String> {
    let parts: Vec<Vec<String>> = directories
        .iter()
        .map(|path| {
            let names = path.components().filter(|part| matches!(part, Component::Normal(_)));
            names.map(|part| part.as_os_str().to_string_lossy().to_string()).collect()
        })
        .collect();
    let longest = parts.iter().map(Vec::len).max().unwrap_or(0);
    let of = |length: usize| -> Vec<String> {
        parts.iter().map(|names| names[names.len().saturating_sub(length)..].join("/")).collect()
    };
    let different = |labels: &Vec<String>| {
        !labels.iter().enumerate().any(|(at, label)| label.is_empty() || labels[..at].contains(label))
    };
    let numbered = || (1..=directories.len()).zip(of(1)).map(|(number, name)| format!("{number} {name}")).collect();
    let found = (1..=longest).map(of).find(different).unwrap_or_else(numbered);
    let ending = common_ending(&found);
    found.into_iter().map(|label| label[..label.len() - ending].to_string()).collect()
}

/// Length of what all end with, from a mark between words on: a date tells nothing that all have in common.
fn common_ending(labels: &[String]) -> usize {
    let Some((first, others)) = labels.split_first() else { return 0 };
    let starts = first.char_indices().filter(|(at, letter)| *at > 0 && "-_.+".contains(*letter));
    let endings = starts.map(|(at, _)| &first[at..]);
    let is_common = |ending: &&str| others.iter().all(|label| label.len() > ending.len() && label.ends_with(ending));
    endings.filter(is_common).map(str::len).max().unwrap_or(0)
}

/// Writes the page of recordings side by side.
///
/// # Errors
/// The file cannot be written.
pub fn comparison_file(comparison: &Comparison, output: &Path, force: OverwritePolicy) -> Result<(), SessionError> {
    let page = comparison_page(comparison)?;
    Ok(OutputFile::write_whole(output, force, page.as_bytes())?)
}

fn comparison_page(comparison: &Comparison) -> Result<String, SessionError> {
    Ok(report::html(&views::comparison_model(comparison))?)
}

/// May this name be given to a JUnit file? One of ours is written anew, any other file only with [`OverwritePolicy::Yes`].
///
/// # Errors
/// It may not, or nothing can be made there.
pub fn check_junit_file(output: &Path, force: OverwritePolicy) -> Result<(), SessionError> {
    Ok(OutputFile::check(output, junit_force(output, force))?)
}

/// Writes what came of objectives as JUnit XML; see [`check_junit_file`].
///
/// # Errors
/// The file cannot be written.
pub fn junit_file(suites: &[JunitSuite], output: &Path, force: OverwritePolicy) -> Result<(), SessionError> {
    Ok(OutputFile::write_whole(output, junit_force(output, force), report::junit(suites).as_bytes())?)
}

/// Makes the file, or replaces what an earlier command left in it, when work begins: it is [`JunitSuite::not_ended`] then. What another
/// program left is replaced at the end.
///
/// # Errors
/// The file cannot be written.
pub fn begin_junit_file(output: &Path) -> Result<(), SessionError> {
    let is_new = !output::is_standard_output(output) && !is_there(output);
    if is_new || is_junit_of_ours(output) {
        junit_file(&[JunitSuite::not_ended()], output, OverwritePolicy::No)
    } else {
        Ok(())
    }
}

/// Says in the file that the command ended with this error. A file that was not begun is not made: its name may be that of
/// something else.
///
/// # Errors
/// The file cannot be written.
pub fn end_junit_file(output: &Path, force: OverwritePolicy, error: &str) -> Result<(), SessionError> {
    if is_there(output) { junit_file(&[JunitSuite::ended_with(error)], output, force) } else { Ok(()) }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// CI writes the same name again and again: what begins as ours do may be replaced.
fn junit_force(output: &Path, force: OverwritePolicy) -> OverwritePolicy {
    if is_junit_of_ours(output) { OverwritePolicy::Yes } else { force }
}

fn is_junit_of_ours(output: &Path) -> bool {
    let is_file = output.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let begins = |file: File| {
        let mut beginning = Vec::new();
        let is_read = file.take(report::JUNIT_BEGINNING.len() as u64).read_to_end(&mut beginning).is_ok();
        is_read && beginning == report::JUNIT_BEGINNING.as_bytes()
    };
    is_file && File::open(output).is_ok_and(begins)
}

/// What standard output can do.
#[must_use]
pub fn terminal_look() -> TerminalLook {
    TerminalLook::of_stdout()
}

/// Pairs whose sentences are shown.
const SENTENCES: usize = 20;

/// The tables of a comparison as lines for a terminal of `width` columns.
#[must_use]
pub fn comparison_lines(comparison: &Comparison, width: usize) -> Vec<PaintedLine> {
    let model = views::comparison_model(comparison);
    let mut lines = vec![PaintedLine::plain(model.sentence.clone())];
    let is_one = model.runs.len() == 1;
    if !is_one {
        lines.extend(model.runs.iter().take(SENTENCES).map(|run| PaintedLine::plain(run.sentence.clone())));
        let more = model.runs.len().saturating_sub(SENTENCES);
        lines.extend((more > 0).then(|| PaintedLine::plain(format!("{more} more runs are in the table."))));
    }
    lines.extend(model.warnings.iter().map(|warning| PaintedLine::plain(warning.text.clone())));
    let usual = model.runs.iter().take(1).flat_map(|run| &run.views).filter(|_| is_one);
    for view in usual.chain(&model.overview) {
        if let view::Body::Table(table) = &view.body {
            lines.extend([PaintedLine::default(), PaintedLine::plain(view.title.clone())]);
            // What a counter means stands in docs/tables.md; a terminal has no room for it.
            let mut table = table.clone();
            table.columns.retain(|column| column.name != "meaning");
            lines.extend(tui::painted_table(&table, width));
        }
    }
    lines
}

/// The summary of a finished command: tables with percentiles per operation, and where things are.
///
/// # Errors
/// The recording cannot be read.
pub fn last_words(outcome: &CommandOutcome) -> Result<Vec<String>, SessionError> {
    let reader = Reader::open(&outcome.directory)?;
    let facts = views::RecordingFacts::read(&reader, &view::Selection::default()).map_err(report::ReportError::from)?;
    let mut lines = vec![String::new()];
    lines.extend(tui::summary_tables(&facts, TerminalLook::of_stdout().width));
    lines.push(String::new());
    lines.push(format!("recording  {}", outcome.directory.display()));
    let log = outcome.directory.join(crate::commands::LOG);
    if std::fs::symlink_metadata(&log).is_ok_and(|log| log.len() > 0) {
        lines.push(format!("output     {}", log.display()));
    }
    if let Some(report) = &outcome.report {
        lines.push(format!("report     {}", report.display()));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::labels;
    use std::path::PathBuf;

    fn check(paths: &[&str], expect: &[&str]) {
        assert_eq!(labels(&paths.iter().map(PathBuf::from).collect::<Vec<_>>()), expect);
    }

    #[test]
    fn recordings_are_called_by_what_tells_them_apart() {
        check(&["results/monday", "results/tuesday/"], &["monday", "tuesday"]);
        check(&["a/x/run", "a/y/run"], &["x/run", "y/run"]);
        check(&["run", "run"], &["1 run", "2 run"]);
        check(&["trace-2026-11-22", "replay-1-2026-11-22"], &["trace", "replay-1"]);
        check(&["a.iodyno", "b.iodyno"], &["a", "b"]);
    }
}
