//! `iodyno completions`.

use crate::args::CompletionsArgs;
use crate::exit::Failure;

/// Writes the completion script of a shell to standard output.
pub(crate) fn run(args: &CompletionsArgs) -> Result<u8, Failure> {
    clap_complete::generate(args.shell, &mut crate::command(), "iodyno", &mut quantity::output::stdout());
    Ok(0)
}
