//! `iodyno compare`.

use crate::exit::Failure;
use crate::open::say_of;
use crate::output_args::tell;
use crate::view_args::CompareArgs;
use std::path::PathBuf;

/// Holds recordings against each other; gives the exit code.
pub(crate) fn run(args: &CompareArgs) -> Result<u8, Failure> {
    let directories: Vec<PathBuf> = std::iter::once(&args.first).chain(&args.others).cloned().collect();
    let damaged = say_of(directories.iter().map(PathBuf::as_path))?;
    let comparison = session::comparison(&directories, args.run.as_deref())?;
    session::comparison_lines(&comparison, session::terminal_width()).iter().for_each(|line| outln!("{line}"));
    if let Some(path) = &args.output {
        session::comparison_file(&comparison, path, args.force.force())?;
        outln!("");
        tell(path);
    }
    Ok(damaged)
}
