//! `personality:NAME` where a parameter file is named: one that the program brings along.

use crate::exit::{Failure, PARAMETERS};
use params::{LoadedFile, PERSONALITIES, Personality, personality};
use quantity::suggest::did_you_mean;
use std::path::{Path, PathBuf};

/// What such a name begins with; a file of this name is reached as `./personality:…`.
const PREFIX: &str = "personality:";

/// The name behind the prefix.
fn name_of(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix(PREFIX)
}

/// The personality that a path names, if it names one that exists.
pub(crate) fn named(path: &Path) -> Option<&'static Personality> {
    personality(name_of(path)?)
}

/// The text of a personality in place of a file; the program's own words, with no file behind them.
pub(crate) fn load(path: &Path) -> Option<LoadedFile> {
    Some(LoadedFile { bytes: named(path)?.text.as_bytes().to_vec(), owner: None })
}

/// Refuses names of personalities that do not exist, with a list of those that do.
pub(crate) fn check(files: &[PathBuf]) -> Result<(), Failure> {
    let unknown = files.iter().filter_map(|path| name_of(path)).find(|name| personality(name).is_none());
    let Some(name) = unknown else { return Ok(()) };
    let known = || PERSONALITIES.iter().map(|one| one.name);
    let first = match (name.is_empty(), did_you_mean(name, known())) {
        (true, _) => format!("{PREFIX} needs a name."),
        (false, Some(question)) => format!("there is no personality {name}; {question}"),
        (false, None) => format!("there is no personality {name}."),
    };
    let width = known().map(str::len).max().unwrap_or(0);
    let list: Vec<String> = PERSONALITIES.iter().map(|one| format!("  {:width$}  {}", one.name, one.about())).collect();
    let message = format!(
        "{first} These are there (docs/personalities.md):\n{}\nFor example: iodyno run {PREFIX}varmail anchor=/mnt/test",
        list.join("\n")
    );
    Err(Failure::new(PARAMETERS, message))
}
