//! `iodyno import`.

use crate::args::ImportArgs;
use crate::exit::Failure;
use session::SessionError;

/// Reads another tool's results into a recording; gives the exit code.
pub(crate) fn run(args: &ImportArgs, command_line: &[String]) -> Result<u8, Failure> {
    let imported = convert::import::import(&args.input, &args.output, args.format.as_deref(), command_line)
        .map_err(SessionError::from)?;
    for note in &imported.notes {
        eprintln!("iodyno: {note}");
    }
    println!("{}", imported.directory.display());
    Ok(0)
}
