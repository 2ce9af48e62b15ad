//! `iodyno run -- PROGRAM`: a command of the command line as a plan.

use crate::args::RunArgs;
use crate::exit::{Failure, PARAMETERS};
use crate::load_files::{Flags, Inputs};
use crate::time_args::{INTERVAL_MIN_NS, interval, time};
use params::ParameterFormat;
use plan::JobTexts;
use plan::commands::{CommandRequest, command_plan};
use quantity::visible::visible_bytes;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

const SECOND_NS: u64 = 1_000_000_000;

fn wrong(message: impl Into<String>) -> Failure {
    Failure::new(PARAMETERS, message)
}

/// How often all runs are repeated, where that is given.
pub(crate) fn repeat(args: &RunArgs) -> Result<Option<plan::RunRepeat>, Failure> {
    match args.rounds {
        Some(rounds) => Ok(Some(plan::RunRepeat::Times(rounds))),
        None => args.repeat.as_deref().map(params::repeat).transpose().map_err(|why| Failure::new(PARAMETERS, why)),
    }
}

/// Is there a command behind `--`? Its flags without it are a mistake.
pub(crate) fn is_asked(args: &RunArgs) -> Result<bool, Failure> {
    let own = &args.command;
    if !own.command.is_empty() {
        return Ok(true);
    }
    let given = [
        (own.times.is_some(), "--times", "times=N belongs to the cmd= of an rd="),
        (own.warmups.is_some(), "--warmups", "warmups=N belongs to the cmd= of an rd="),
        (own.prepare.is_some(), "--prepare", "prepare=\"LINE\" belongs to the cmd= of an rd="),
        (own.setup.is_some(), "--setup", "startcmd=(\"LINE\",abort) belongs to an rd="),
        (own.ignore_failure, "--ignore-failure", "`cmd=\"LINE || true\"` ends with 0"),
        (!own.vary.is_empty(), "--vary", "vary=(NAME,V1,V2) belongs to the cmd= of an rd="),
    ];
    match given.into_iter().find(|(is_given, ..)| *is_given) {
        None => Ok(false),
        Some((_, flag, word)) => Err(wrong(format!(
            "{flag} is for a command, and there is none: write it behind `--`, iodyno run {flag} … -- PROGRAM ARGUMENT…; \
             in a parameter file, {word}"
        ))),
    }
}

/// What does not go with a command: all that says what load is to be made.
fn check_alone(args: &RunArgs, flags: &Flags) -> Result<(), Failure> {
    let is_file = !args.inputs.is_empty() || !args.files.is_empty();
    let reading = &args.fio_reading;
    let given = [
        (is_file, "a parameter file"),
        (args.quick.is_some(), "-t"),
        (args.addition.is_some(), "+ (--add)"),
        (args.restart.is_some(), "-r"),
        (!args.validate.is_empty() || !args.journal.is_empty(), "-v or -j"),
        (args.flatfile, "--flatfile"),
        (reading.showcmd || reading.parse_only || !reading.sections.is_empty(), "--showcmd, --parse-only or --section"),
    ];
    if let Some((_, what)) = given.into_iter().find(|(is_given, _)| *is_given) {
        let help = "give either files or a command; a file can hold both: cmd=\"…\" in an rd= (docs/commands.md)";
        return Err(wrong(format!("{what} beside a command behind `--`: {help}")));
    }
    if args.warmup.is_some() {
        return Err(wrong("-w is a time of load: a command has --warmups N, executions that do not count"));
    }
    match flags.iter().find(|(name, _)| name != "name") {
        Some((name, _)) => {
            Err(wrong(format!("--{} is an option of fio's: give either a load or a command", name.replace('_', "-"))))
        }
        None => Ok(()),
    }
}

/// The plan that executes the command.
pub(crate) fn read(args: &RunArgs, flags: &Flags) -> Result<Inputs, Failure> {
    check_alone(args, flags)?;
    let own = &args.command;
    let interval_ns = args.interval.as_deref().map(|text| interval(text, "-i", INTERVAL_MIN_NS)).transpose()?;
    let elapsed_ns = time(args.elapsed.as_deref(), "-e")?;
    // A limit of less than two seconds has shorter intervals.
    let usual_ns = elapsed_ns.map_or(SECOND_NS, |elapsed_ns| (elapsed_ns / 2).clamp(INTERVAL_MIN_NS, SECOND_NS));
    let request = CommandRequest {
        name: flags.last().and_then(|(_, value)| value.clone()).filter(|name| !name.is_empty()),
        words: own.command.iter().map(text_of).collect::<Result<Vec<String>, Failure>>()?,
        setup: own.setup.clone().filter(|line| !line.trim().is_empty()),
        prepare: own.prepare.clone().filter(|line| !line.trim().is_empty()),
        ignores_failure: own.ignore_failure,
        times: own.times.unwrap_or(1),
        warmups: own.warmups.unwrap_or(0),
        variables: own.vary.iter().map(|text| variable(text)).collect::<Result<Vec<_>, Failure>>()?,
        elapsed_ns,
        interval_ns: interval_ns.unwrap_or(usual_ns),
    };
    let mut plan = command_plan(&request).map_err(|mistake| wrong(mistake.to_string()))?;
    plan.settings.repeat = repeat(args)?.unwrap_or(plan.settings.repeat);
    plan.settings.use_seed(args.seed);
    Ok(Inputs {
        plan,
        format: ParameterFormat::Vdbench,
        jobs: JobTexts::default(),
        flags: Vec::new(),
        owners: Vec::new(),
    })
}

/// A word of the command, which the recording keeps as text.
fn text_of(word: &OsString) -> Result<String, Failure> {
    word.to_str().map(str::to_string).ok_or_else(|| {
        wrong(format!(
            "the word `{}` of the command is no text (UTF-8), and a recording keeps commands as text: let a shell make it, \
             -- sh -c 'PROGRAM \"$(printf \"\\377\")\"', or put the command into a script",
            visible_bytes(word.as_bytes())
        ))
    })
}

/// `NAME=V1,V2`.
fn variable(text: &str) -> Result<(String, Vec<String>), Failure> {
    let Some((name, values)) = text.split_once('=') else {
        return Err(wrong(format!("--vary {text}: no values; write --vary {text}=1,2,4")));
    };
    if name.is_empty() {
        return Err(wrong(format!("--vary {text}: the variable has no name; write --vary NAME{text}")));
    }
    if values.is_empty() {
        return Err(wrong(format!("--vary {text}: no values; write --vary {name}=1,2,4")));
    }
    Ok((name.to_string(), values.split(',').map(str::to_string).collect()))
}

/// Was the `--` before a command forgotten? Then the first file is none, and a program of that name is there.
pub(crate) fn forgotten_dashes(files: &[PathBuf]) -> Option<String> {
    let first = files.first()?;
    if first.exists() || first.components().count() != 1 {
        return None;
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).find(|folder| folder.join(first).is_file())?;
    let words: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    Some(format!(
        "there is no parameter file {}; to measure the program of this name: iodyno run -- {} …",
        first.display(),
        words.join(" ")
    ))
}
