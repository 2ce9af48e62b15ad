//! A picture of `chart`: its file, and the command that draws it again.

use crate::exit::{Failure, PARAMETERS};
use crate::view_args::ChartArgs;
use output::{OutputFile, OverwritePolicy};
use report::{PictureSize, Theme};
use session::SessionError;
use std::path::Path;
use view::{NamePattern, ViewData};

/// Writes a picture; its name's ending decides what it is.
pub(crate) fn write(view: &ViewData, args: &ChartArgs, path: &Path) -> Result<(), Failure> {
    let theme = if args.dark { Theme::Dark } else { Theme::Light };
    let svg = report::svg(view, theme, PictureSize { width: args.width, height: args.height });
    let bytes = match ending(path).as_deref() {
        Some("svg") => svg.into_bytes(),
        None if output::is_standard_output(path) => svg.into_bytes(),
        Some("png") => report::png(&svg).map_err(SessionError::from)?,
        _ => return Err(Failure::new(PARAMETERS, format!("{}: the name must end in .svg or .png", path.display()))),
    };
    Ok(OutputFile::write_whole(path, args.force.force(), &bytes)?)
}

/// The command that draws the same picture again, quoted for a shell.
pub(crate) fn again(command_line: &[String], args: &ChartArgs, path: &Path) -> String {
    let quoted = |word: &String| {
        let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=:,+@%".contains(c));
        if plain { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    let mut line: Vec<String> = command_line.iter().map(quoted).collect();
    if args.output.is_none() {
        line.push(format!("-o {}", quoted(&path.display().to_string())));
    }
    if args.force.force() == OverwritePolicy::No {
        // The picture is there now.
        line.push("--force".to_string());
    }
    line.join(" ")
}

/// Which names were asked for.
pub(crate) fn pattern(text: &str) -> Result<NamePattern, Failure> {
    NamePattern::parse(text).map_err(|why| {
        Failure::new(PARAMETERS, format!("--select {text}: {why}; it must be a regular expression such as sda or sd.*"))
    })
}

/// The name's ending in lower case.
fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_lowercase())
}
