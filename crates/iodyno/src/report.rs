//! `iodyno report`.

use crate::exit::Failure;
use crate::view_args::ReportArgs;

/// Writes the report; gives the exit code.
pub(crate) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let path = session::report_file(&args.recording, args.output.as_deref())?;
    outln!("{}", path.display());
    Ok(0)
}
