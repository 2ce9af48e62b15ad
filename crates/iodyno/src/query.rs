//! `iodyno query`: hands over to `iodyno-query`, a program of its own (docs/building.md says why).

use crate::args::QueryArgs;
use crate::exit::{Failure, PARAMETERS};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

/// Name of the program.
const PROGRAM: &str = "iodyno-query";

/// Becomes `iodyno-query`; comes back only when that is not possible.
pub(crate) fn run(args: &QueryArgs) -> Result<u8, Failure> {
    // Beside this program first: those two were built together.
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(PROGRAM)));
    for program in beside.into_iter().filter(|program| program.exists()).chain([PathBuf::from(PROGRAM)]) {
        let error = Command::new(&program).args(&args.arguments).exec();
        if error.kind() != ErrorKind::NotFound {
            return Err(Failure::new(PARAMETERS, format!("failed to start {}: {error}", program.display())));
        }
    }
    Err(Failure::new(
        PARAMETERS,
        format!(
            "{PROGRAM} is neither beside iodyno nor in PATH; it is built apart, with its SQL engine:\n  \
             make query\n\
             and then lies in target/release beside iodyno. Without it: `iodyno export`, or any engine that reads Parquet"
        ),
    ))
}
