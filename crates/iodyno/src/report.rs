//! `iodyno report`.

use crate::exit::Failure;
use crate::open::open;
use crate::output_args::tell;
use crate::view_args::ReportArgs;

/// Writes the report; gives the exit code.
pub(crate) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let (_, damaged) = open(&args.recording)?;
    let path = session::report_file(&args.recording, args.output.as_deref(), args.force.force())?;
    tell(&path);
    Ok(damaged)
}
