//! Arguments, error rendering, exit codes; one file per subcommand; nothing else.

/// Words to standard error, see [`quantity::output::say`].
macro_rules! say {
    ($($words:tt)*) => { quantity::output::say(format_args!($($words)*)) };
}

/// The same of several lines.
macro_rules! say_lines {
    ($($words:tt)*) => { quantity::output::say_lines(format_args!($($words)*)) };
}

/// Words to standard output, see [`out`].
macro_rules! out {
    ($($words:tt)*) => { crate::out::write(format_args!($($words)*)) };
}

/// A line to standard output, whatever is named in it.
macro_rules! outln {
    ($($words:tt)*) => { crate::out::line(format_args!($($words)*)) };
}

mod ab;
mod ab_args;
mod allocator;
mod args;
mod chart;
mod check;
mod compare;
mod completions;
mod convert;
mod data_args;
mod diagnose;
mod exit;
mod export;
mod fio_flags;
mod fio_logs;
mod fio_output;
mod folded;
mod foreign_commands;
mod growth;
mod import;
mod inject;
mod inspect;
mod limits;
mod load_args;
mod load_files;
mod load_input;
mod memory;
mod model;
mod objectives;
mod open;
mod out;
mod output_args;
mod output_checks;
mod personality;
mod picture;
mod probe;
mod query;
mod record;
mod recording_dir;
mod repair;
mod replay;
mod replay_args;
mod report;
mod run;
mod run_command;
mod run_command_args;
mod run_pts;
mod scan;
mod scan_args;
mod signals;
mod speed_args;
mod stat;
mod stat_args;
mod time_args;
mod top;
mod top_args;
mod trace;
mod trace_args;
mod utilities;
mod validation_args;
mod vdbench_args;
mod verify;
mod verify_tree;
mod view_args;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use exit::Failure;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

/// The whole command line, for man pages and completion.
pub fn command() -> clap::Command {
    fio_flags::augment(args::Cli::command())
}

/// Does what `arguments` (the program's name first) ask for.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    if let Some(code) = ::command::serve_if_executor(&arguments) {
        return code;
    }
    limits::survive_them();
    if let Some(sentence) = utilities::advice(&arguments) {
        say_lines!("iodyno: {sentence}");
        return ExitCode::from(exit::PARAMETERS);
    }
    let printable: Vec<String> = arguments.iter().map(|argument| in_words(argument)).collect();
    let strange: Vec<&str> = arguments
        .iter()
        .zip(&printable)
        .filter(|(it, _)| it.to_str().is_none())
        .map(|(_, words)| words.as_str())
        .collect();
    let strange = strange.join("`, `");
    let parsed = command()
        .try_get_matches_from(vdbench_args::normalise(arguments))
        .and_then(|matches| args::Cli::from_arg_matches(&matches).map(|cli| (cli, fio_flags::given(&matches))));
    let (cli, flags) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version are no errors; anything else is a wrong parameter: exit code 2, clap's own.
            if error.use_stderr() {
                let words = error.render().to_string();
                say_lines!("{}", words.trim_end_matches('\n'));
                if error.kind() == ErrorKind::InvalidUtf8 {
                    say!("iodyno: no text (UTF-8): `{strange}`; only files and recordings may have such names");
                }
            } else {
                out!("{}", error.render());
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let ready = memory::limit(cli.memory.as_deref(), &cli.command).and_then(|()| output_checks::apply(&cli.command));
    let result = ready.and_then(|()| run_command(&cli.command, &flags, &printable));
    match result {
        Ok(0) if out::failed() => ExitCode::from(exit::RECORDING),
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            say_lines!("iodyno: {}", failure.message);
            output_checks::end_junit(&cli.command, &failure);
            ExitCode::from(failure.code)
        }
    }
}

/// An argument for recordings and messages; bytes that are no text are written `\xff`.
fn in_words(argument: &OsStr) -> String {
    argument.to_str().map_or_else(|| quantity::visible::visible_bytes(argument.as_bytes()), str::to_string)
}

/// Does one command; gives the exit code.
fn run_command(
    command: &args::Command,
    flags: &[(String, Option<String>)],
    arguments: &[String],
) -> Result<u8, Failure> {
    match command {
        args::Command::Run(run) => run::run(run, flags, arguments),
        args::Command::Ab(ab) => ab::run(ab, arguments),
        args::Command::Convert(convert) => convert::run(convert),
        args::Command::Completions(completions) => completions::run(completions),
        args::Command::Trace(trace) => trace::run(trace, arguments),
        args::Command::Replay(replay) => replay::run(replay, arguments),
        args::Command::Report(report) => report::run(report),
        args::Command::Repair(repair) => repair::run(repair),
        args::Command::Verify(verify) => verify::run(verify, arguments),
        args::Command::Inspect(inspect) => inspect::run(inspect),
        args::Command::Inject(inject) => inject::run(inject),
        args::Command::Compare(compare) => compare::run(compare),
        args::Command::Check(check) => check::run(check),
        args::Command::Chart(chart) => chart::run(chart, arguments),
        args::Command::Export(export) => export::run(export),
        args::Command::Probe(probe) => probe::run(probe, arguments),
        args::Command::Query(query) => query::run(query),
        args::Command::Import(import) => import::run(import, arguments),
        args::Command::Model(model) => model::run(model),
        args::Command::Scan(scan) => scan::run(scan),
        args::Command::Top(top) => top::run(top, arguments),
        args::Command::Stat(stat) => stat::run(stat, arguments),
        args::Command::Diagnose(diagnose) => diagnose::run(diagnose, arguments),
        args::Command::Record(record) => record::run(record, arguments),
    }
}
