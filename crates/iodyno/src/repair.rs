//! `iodyno repair`.

use crate::exit::Failure;
use crate::open::verified;
use crate::view_args::RepairArgs;
use session::SessionError;

/// Makes of a damaged recording one of what is whole; gives the exit code.
pub(crate) fn run(args: &RepairArgs) -> Result<u8, Failure> {
    let path = args.recording.display();
    let notes = recording::repair(&args.recording).map_err(SessionError::from)?;
    notes.iter().for_each(|note| outln!("{note}"));
    let (_, damaged) = verified(&args.recording)?;
    outln!(
        "{}",
        match (notes.is_empty(), damaged) {
            (true, 0) => format!("{path} is whole: nothing to repair"),
            (false, 0) => format!("{path} is repaired: all rows are there"),
            (true, _) => format!("{path} has all that could be kept"),
            (false, _) => format!("{path} is repaired: it has all that could be kept"),
        }
    );
    Ok(damaged)
}
