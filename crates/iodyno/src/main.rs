//! The `iodyno` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    iodyno::main(std::env::args_os().collect())
}
