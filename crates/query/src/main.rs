//! The `iodyno-query` command, which `iodyno query` hands over to.

mod args;
mod run;
mod shell;
mod statements;

use clap::Parser;
use quantity::output::{say_lines, stdout};
use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let words = error.render().to_string();
            if error.use_stderr() {
                say_lines(format_args!("{}", words.trim_end_matches('\n')));
            } else {
                let _ = stdout().write_all(words.as_bytes());
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match run::run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(6),
        Err(failure) => {
            say_lines(format_args!("iodyno query: {failure}"));
            // As in the README: 2 wrong parameters, 6 a recording that is not to be read, 7 refused to protect data, 8 not
            // permitted.
            ExitCode::from(match failure {
                query::QueryError::Output(error) if error.is_refusal() => 7,
                query::QueryError::Output(error) if error.is_privilege() => 8,
                query::QueryError::Output(error) if error.is_path() => 2,
                query::QueryError::Read(error) | query::QueryError::Recording { error, .. } if error.is_privilege() => {
                    8
                }
                failure if failure.is_parameter() => 2,
                _ => 6,
            })
        }
    }
}
