//! `iodyno inspect`.

use crate::data_args::{InspectArgs, byte_count};
use crate::exit::{DATA, Failure, TARGET};
use stamped_data::{InspectRequest, inspect_place};

/// Shows one place of a target; gives the exit code.
pub(crate) fn run(args: &InspectArgs) -> Result<u8, Failure> {
    let request = InspectRequest {
        path: args.target.clone(),
        written_as: args.written_as.clone(),
        address: byte_count(&args.at, "--at")?,
        bytes: byte_count(&args.bytes, "--bytes")?,
    };
    let place = inspect_place(&request)?;
    if args.json {
        crate::out::json(place.json());
    } else {
        place.lines(args.hex).iter().for_each(|line| outln!("{line}"));
    }
    Ok(match (place.damaged(), place.is_unreadable()) {
        (1.., _) => DATA,
        (0, true) => TARGET,
        (0, false) => 0,
    })
}
