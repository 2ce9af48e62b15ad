//! `iodyno report`.

use crate::compare::recordings;
use crate::exit::Failure;
use crate::open::say_of;
use crate::output_args::tell;
use crate::view_args::ReportArgs;
use std::path::PathBuf;

/// Writes the report; gives the exit code.
pub(crate) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let parts = recordings(std::slice::from_ref(&args.recording))?;
    let damaged = say_of(parts.iter().map(PathBuf::as_path))?;
    let path = session::report_file(&args.recording, args.output.as_deref(), args.force.force())?;
    tell(&path);
    Ok(damaged)
}
