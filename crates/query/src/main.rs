//! The `iodyno-query` command, which `iodyno query` hands over to.
#![expect(clippy::print_stderr, reason = "here text meets the user")]

mod args;
mod run;
mod shell;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match run::run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(6),
        Err(failure) => {
            eprintln!("iodyno query: {failure}");
            // As in the README: 2 wrong parameters, 6 a recording that is not to be read, 7 refused to protect data.
            ExitCode::from(match failure {
                query::QueryError::Output(error) if error.is_refusal() => 7,
                failure if failure.is_parameter() => 2,
                _ => 6,
            })
        }
    }
}
