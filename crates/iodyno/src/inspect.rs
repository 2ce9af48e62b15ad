//! `iodyno inspect`.

use crate::data_args::{InspectArgs, byte_count};
use crate::exit::{DATA, Failure, TARGET};
use crate::folded;
use stamped_data::{InspectRequest, inspect_place};

/// Shows one place of a target; gives the exit code.
pub(crate) fn run(args: &InspectArgs) -> Result<u8, Failure> {
    let request = InspectRequest {
        path: args.target.clone(),
        written_as: args.written_as.clone(),
        address: byte_count(&args.at, "--at")?,
        bytes: args.bytes.as_deref().map(|text| byte_count(text, "--bytes")).transpose()?,
        block_bytes: args.block.as_deref().map(|text| byte_count(text, "--block")).transpose()?,
    };
    let place = inspect_place(&request)?;
    if args.json {
        crate::out::json(place.json());
    } else {
        // Bytes stand below those that they are compared with.
        let print = |line: &String| if args.hex { outln!("{line}") } else { folded::print(line) };
        place.lines(args.hex).iter().for_each(print);
    }
    Ok(match (place.damaged(), place.is_unreadable()) {
        (1.., _) => DATA,
        (0, true) => TARGET,
        (0, false) => 0,
    })
}
