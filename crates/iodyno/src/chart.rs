//! `iodyno chart`.

use crate::args::ChartArgs;
use crate::exit::{Failure, PARAMETERS, RECORDING};
use analyze::{AnalyzeError, Selection};
use recording::Reader;
use report::{ReportError, Size, Theme};
use session::SessionError;
use std::path::{Path, PathBuf};

/// Draws a view, or lists the views; gives the exit code.
pub(crate) fn run(args: &ChartArgs, command_line: &[String]) -> Result<u8, Failure> {
    let reader = Reader::open(&args.recording).map_err(SessionError::from)?;
    if args.list {
        for view in analyze::views() {
            println!("{:<24} {}: {}", view.id, view.title, view.explanation);
        }
        return Ok(0);
    }
    let id = args.view.as_deref().unwrap_or_default();
    let selection = Selection { run: args.run.clone(), workload: args.workload.clone(), target: args.target.clone() };
    let view =
        analyze::compute(&reader, id, &selection).map_err(|error| Failure::new(code_of(&error), error.to_string()))?;
    let theme = if args.dark { Theme::Dark } else { Theme::Light };
    let svg = report::svg(&view, theme, Size { width: args.width, height: args.height });
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{id}.svg")));
    let bytes = match ending(&path).as_deref() {
        Some("svg") => svg.into_bytes(),
        Some("png") => report::png(&svg).map_err(SessionError::from)?,
        _ => return Err(Failure::new(PARAMETERS, format!("{}: the name must end in .svg or .png", path.display()))),
    };
    session::write_whole(&path, &bytes)?;
    println!("{}", path.display());
    println!("{}", again(command_line, args, &path));
    Ok(0)
}

/// The name's ending in lower case.
fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_lowercase())
}

/// A wrong name is a wrong parameter; anything else is the recording's fault.
fn code_of(error: &AnalyzeError) -> u8 {
    match error {
        AnalyzeError::UnknownView { .. } | AnalyzeError::UnknownRun { .. } | AnalyzeError::Empty { .. } => PARAMETERS,
        _ => RECORDING,
    }
}

/// The command that draws the same picture again, quoted for a shell.
fn again(command_line: &[String], args: &ChartArgs, path: &Path) -> String {
    let quoted = |word: &String| {
        let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=:,+@%".contains(c));
        if plain { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    let mut line: Vec<String> = command_line.iter().map(quoted).collect();
    if args.output.is_none() {
        line.push(format!("-o {}", quoted(&path.display().to_string())));
    }
    line.join(" ")
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        Self::from(SessionError::from(error))
    }
}
