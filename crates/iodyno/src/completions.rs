//! `iodyno completions`.

use crate::args::CompletionsArgs;
use crate::exit::Failure;

/// Writes the completion script of a shell to standard output.
pub(crate) fn run(args: &CompletionsArgs) -> Result<u8, Failure> {
    // In memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "iodyno", &mut script);
    crate::out::file(&String::from_utf8_lossy(&script));
    Ok(0)
}
