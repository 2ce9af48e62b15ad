//! `iodyno import`.

use crate::args::ImportArgs;
use crate::exit::Failure;
use crate::run::time;
use convert::import::Options;
use session::SessionError;

/// Reads another tool's results into a recording; gives the exit code.
pub(crate) fn run(args: &ImportArgs, command_line: &[String]) -> Result<u8, Failure> {
    let options = Options {
        format: args.format.clone(),
        devices: args.devices.clone(),
        from_ns: time(args.from.as_deref(), "--from")?.unwrap_or(0),
        for_ns: time(args.duration.as_deref(), "--for")?,
    };
    let imported =
        convert::import::import(&args.input, &args.output, &options, command_line).map_err(SessionError::from)?;
    for note in &imported.notes {
        eprintln!("iodyno: {note}");
    }
    println!("{}", imported.directory.display());
    Ok(0)
}
