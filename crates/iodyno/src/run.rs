//! `iodyno run`.

use crate::args::RunArgs;
use crate::exit::{Failure, PARAMETERS, REFUSED};
use crate::fio_output::FioOutputs;
use crate::foreign_commands::{self, FileOwner};
use crate::load_files::{Flags, Inputs, read_files, split_inputs};
use crate::objectives;
use crate::recording_dir;
use crate::run_command;
use crate::run_pts;
use crate::signals::watch_signals;
use crate::time_args::{INTERVAL_MIN_NS, interval, time};
use monitor::StopFlag;
use output::OverwritePolicy;
use params::{ParameterFormat, VdbenchOptions};
use plan::{CommandLine, Plan};
use recording::Reader;
use session::{CommandOutcome, RunObserver, RunRequest, SessionError};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use target::WritePolicy;

/// Targets that a message names.
const TARGETS_SHOWN: usize = 8;

/// Executes the parameter files, or shows what would happen; gives the exit code.
pub(crate) fn run(args: &RunArgs, flags: &Flags, command_line: &[String]) -> Result<u8, Failure> {
    let is_test = is_test(args);
    execute(args, flags, command_line).map_err(|failure| if is_test { run_pts::in_its_words(failure) } else { failure })
}

/// Is it one of the procedures `pts:…`?
fn is_test(args: &RunArgs) -> bool {
    let (files, _) = split_inputs(args.files.iter().chain(&args.inputs));
    run_pts::asked(&files).is_ok_and(|test| test.is_some())
}

fn execute(args: &RunArgs, flags: &Flags, command_line: &[String]) -> Result<u8, Failure> {
    let Inputs { mut plan, format, jobs, flags: as_flags, owners } = read_plan(args, flags)?;
    if format == ParameterFormat::Vdbench && (args.fio_reading.showcmd || !args.fio_reading.sections.is_empty()) {
        return Err(Failure::new(PARAMETERS, "--showcmd and --section are for fio's jobs: there are none"));
    }
    if args.fio_reading.showcmd {
        outln!("iodyno run {}", CommandLine::Program(as_flags));
        return Ok(0);
    }
    if args.fio_reading.parse_only {
        return Ok(0);
    }
    let outputs = FioOutputs::of(&args.fio, format)?;
    if args.json && outputs.as_ref().is_some_and(FioOutputs::is_standard_output) {
        let message = "--json and fio's output both want standard output: add --output=FILE, or leave one of them out";
        return Err(Failure::new(PARAMETERS, message));
    }
    let logs = crate::fio_logs::check(&jobs, &plan)?;
    let recording =
        args.output.as_deref().or_else(|| args.fio.file.as_deref().filter(|_| format == ParameterFormat::Vdbench));
    args.validation.apply(&mut plan)?;
    objectives::add(&mut plan, &args.fail_if);
    objectives::check(&plan)?;
    check_for_commands(args, outputs.is_some(), &plan)?;
    let policy = args.load.policy(plan.settings.format == Some(false));
    check_destroy(&plan, &policy)?;
    check_junit(args, &plan)?;
    check_apart((args, recording), outputs.as_ref(), &logs, &plan)?;
    if args.dry_run {
        return dry_run(args, (recording, &logs), (&plan, &owners), &policy);
    }
    foreign_commands::check(&plan, &owners, args.load.allow_commands)?;
    args.junit.as_deref().map_or(Ok(()), session::begin_junit_file)?;
    let place = recording_dir::take(recording, "run")?;
    let request = RunRequest {
        plan,
        directory: place.path().to_path_buf(),
        policy,
        engine: args.load.engine.choice(),
        workers: args.load.workers,
        command_line: command_line.to_vec(),
        counters: !args.load.no_counters,
        report: !args.no_report,
        flatfile: args.flatfile,
        jobs,
        half_round: None,
        status_ns: outputs.as_ref().and_then(FioOutputs::status_ns),
    };
    let shown = match &outputs {
        _ if args.json => Shown::Json,
        // Standard output is fio's.
        Some(outputs) if outputs.is_standard_output() => Shown::OnStandardError,
        _ => Shown::Lines,
    };
    let mut face = face_of(shown);
    if let Some(outputs) = &outputs {
        face = outputs.watching(face, &request.directory);
    }
    let (outcome, mut face) = show_run_on(&request, shown, face)?;
    let logs = if logs.is_empty() { Ok(()) } else { crate::fio_logs::write(&request.directory) };
    let written = outputs.map_or(Ok(()), |outputs| outputs.write(&request.directory)).and(logs);
    let junit = args.junit.as_deref().map_or(Ok(()), |path| write_junit(path, &request));
    let written = written.and(junit);
    tell_verdict(&outcome, shown, face.as_mut());
    // How the run itself went wrong comes first.
    match outcome.ending.exit_code() {
        0 => written.map(|()| 0),
        code => {
            written.unwrap_or_else(|failure| say!("iodyno: {}", failure.message));
            Ok(code)
        }
    }
}

/// What judges or shows I/O only does not go with a plan of commands alone.
fn check_for_commands(args: &RunArgs, is_fio: bool, plan: &Plan) -> Result<(), Failure> {
    let mut all = plan.runs.iter().flat_map(|run| &run.workloads);
    if all.clone().next().is_none() || all.any(|workload| workload.load.command().is_none()) {
        return Ok(());
    }
    let given = [
        (!objectives::texts(plan).is_empty(), objectives::OF_COMMANDS),
        (
            plan.settings.validation.is_some(),
            "--verify, --journal, -v and -j are of I/O, and there are commands only: what a command writes has no stamps",
        ),
        (
            is_fio,
            "fio's outputs (--output-format, --minimal, --output) are of I/O, and there are commands only: see --json",
        ),
        (
            args.flatfile,
            "--flatfile is of I/O, and there are commands only: see --json, and `iodyno export REC command`",
        ),
    ];
    let wrong = given.into_iter().find(|(is_given, _)| *is_given);
    wrong.map_or(Ok(()), |(_, message)| Err(Failure::new(PARAMETERS, message)))
}

/// A JUnit file that could not be written, or would be empty, is a mistake before any I/O.
fn check_junit(args: &RunArgs, plan: &Plan) -> Result<(), Failure> {
    let Some(path) = &args.junit else { return Ok(()) };
    if objectives::texts(plan).is_empty() {
        let help = "--junit writes what came of objectives, and there is none: give --fail-if 'response_ns_p99 > 5ms'";
        return Err(Failure::new(PARAMETERS, help));
    }
    Ok(session::check_junit_file(path, OverwritePolicy::Never)?)
}

/// Two outputs with one name, or one that is a target, would be found out when the run is over.
fn check_apart(
    (args, recording): (&RunArgs, Option<&OsStr>),
    outputs: Option<&FioOutputs>,
    logs: &[PathBuf],
    plan: &Plan,
) -> Result<(), Failure> {
    let recording = recording.map(|path| ("the recording", Path::new(path)));
    let output = outputs.and_then(FioOutputs::file).map(|path| ("--output", path));
    let junit = args.junit.as_deref().map(|path| ("--junit", path));
    let logs = logs.iter().map(|path| ("a log of a job", path.as_path()));
    let targets = plan.targets.iter().map(|spec| ("a target", spec.path.as_path()));
    let mut seen: BTreeMap<PathBuf, &str> = BTreeMap::new();
    for (what, path) in targets.chain(recording).chain(output).chain(junit).chain(logs) {
        let place = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        match seen.insert(place, what) {
            Some(other) if what != "a target" => {
                let message = format!("{} is {other} and {what}: give one of them another name", path.display());
                return Err(Failure::new(PARAMETERS, message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes what came of the objectives, by the recording.
fn write_junit(path: &Path, request: &RunRequest) -> Result<(), Failure> {
    let reader = Reader::open(&request.directory).map_err(SessionError::from)?;
    let verdicts = ::objectives::objectives(&reader).map_err(SessionError::from)?;
    let silent = objectives::never_judged(&verdicts, &objectives::texts(&request.plan));
    let suite = session::JunitSuite::new(&request.directory.display().to_string(), &verdicts, &silent);
    Ok(session::junit_file(&[suite], path, OverwritePolicy::No)?)
}

/// Refuses a `--destroy` that names none of the targets.
pub(crate) fn check_destroy(plan: &Plan, policy: &WritePolicy) -> Result<(), Failure> {
    // Jobs on names lose files of a directory.
    let is_tree = |path: &Path| {
        let one = WritePolicy { destroy: vec![path.to_owned()], ..WritePolicy::default() };
        plan.trees.iter().any(|tree| one.may_lose(&tree.anchor))
    };
    let unmatched = policy.unmatched(&plan.targets).into_iter().filter(|path| !is_tree(path));
    let unmatched: Vec<String> = unmatched.map(|path| format!("--destroy {}", path.display())).collect();
    if unmatched.is_empty() {
        return Ok(());
    }
    let paths = |tree: &plan::TreeSpec| tree.anchor.display().to_string();
    let mut names: Vec<String> = plan.targets.iter().map(|spec| spec.path.display().to_string()).collect();
    let word = if names.is_empty() { "directory" } else { "target" };
    if names.is_empty() {
        names.extend(plan.trees.iter().map(paths));
        names.dedup();
    }
    let more = names.len().saturating_sub(TARGETS_SHOWN);
    names.truncate(TARGETS_SHOWN);
    names.extend((more > 0).then(|| format!("{more} more")));
    let are = match (names.is_empty(), word) {
        (true, _) => "there are none. Nothing was done: leave the flag out".to_string(),
        (false, "target") => {
            format!("the targets are {}. Nothing was done: name one of them, or leave the flag out", names.join(", "))
        }
        (false, _) => {
            format!("the load works in {}. Nothing was done: name that, or leave the flag out", names.join(", "))
        }
    };
    Err(Failure::new(PARAMETERS, format!("{}: no {word} has this name; {are}", unmatched.join(", "))))
}

/// What is shown while a load runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Lines for people.
    Lines,
    /// The same on standard error.
    OnStandardError,
    /// One JSON object per interval.
    Json,
}

/// Executes, with a line per interval, and says how it went; gives the exit code and what was said at the end.
pub(crate) fn show_run(request: &RunRequest, shown: Shown) -> Result<CommandOutcome, Failure> {
    let (outcome, mut face) = show_run_on(request, shown, face_of(shown))?;
    tell_verdict(&outcome, shown, face.as_mut());
    Ok(outcome)
}

/// What came of the data is the last that is said: on standard error, and on standard output where the closing tables are, once where
/// both are the same.
fn tell_verdict(outcome: &CommandOutcome, shown: Shown, face: &mut dyn RunObserver) {
    let is_shown = shown == Shown::Lines && !outcome.verdict.is_empty();
    if is_shown {
        let lines: Vec<String> = std::iter::once(String::new()).chain(outcome.verdict.iter().cloned()).collect();
        let _ = face.finish(&lines);
    }
    if !(is_shown && quantity::output::is_one()) {
        outcome.verdict.iter().for_each(|sentence| say!("{sentence}"));
    }
}

fn face_of(shown: Shown) -> Box<dyn RunObserver> {
    match shown {
        Shown::Lines => Box::new(session::terminal_face()),
        Shown::OnStandardError => Box::new(session::error_face()),
        Shown::Json => Box::new(session::json_face()),
    }
}

fn show_run_on(
    request: &RunRequest,
    shown: Shown,
    mut face: Box<dyn RunObserver>,
) -> Result<(CommandOutcome, Box<dyn RunObserver>), Failure> {
    let stop = StopFlag::default();
    watch_signals(&stop)?;
    let outcome = session::execute(request, face.as_mut(), &stop)?;
    // The face fails only if its reader is gone, and then there is no output to write: ignore it.
    let _ = face.finish(&[]);
    for message in &outcome.messages {
        say!("iodyno: {message}");
    }
    if shown != Shown::Json {
        let _ = face.finish(&session::last_words(&outcome)?);
    }
    Ok((outcome, face))
}

/// Flags of Vdbench's that mean nothing here, each in one sentence.
fn say_without_effect(args: &RunArgs) {
    let java = "it belongs to Vdbench's Java machines";
    let debug = args.debug.iter().map(|value| (format!("-d {value}"), java));
    let jvms = args.jvms.iter().map(|number| (format!("-m {number}"), java));
    let port = args.port.iter().map(|number| (format!("-p {number}"), "there is one host, this one"));
    let kstat = args.kstat.then(|| ("-k".to_string(), "it belongs to Solaris"));
    let decimal = args.decimal.then(|| ("-mb".to_string(), "sizes and rates are shown with their units"));
    for (flag, why) in debug.chain(jvms).chain(port).chain(kstat).chain(decimal) {
        say!("iodyno: {flag} has no effect here ({why})");
    }
}

/// What `-v` and `-j` ask for; says which of their letters mean nothing here.
fn validation_of_vdbench_flags(args: &RunArgs) -> Result<Option<plan::ValidationSettings>, Failure> {
    // `-v -vr` is `-vr`, as Vdbench has it.
    let letters = |given: &[String]| (!given.is_empty()).then(|| given.concat());
    let (validate, journal) = (letters(&args.validate), letters(&args.journal));
    let (settings, notes) = params::validation_of_flags(validate.as_deref(), journal.as_deref())
        .map_err(|why| Failure::new(PARAMETERS, why))?;
    for note in notes {
        say!("iodyno: {note}");
    }
    Ok(settings)
}

/// Reads all inputs into a plan.
fn read_plan(args: &RunArgs, flags: &Flags) -> Result<Inputs, Failure> {
    if run_command::is_asked(args)? {
        return run_command::read(args, flags);
    }
    let (files, variables) = split_inputs(args.files.iter().chain(&args.inputs));
    if let Some(test) = run_pts::asked(&files)? {
        return run_pts::read(args, flags, test, (&files, &variables));
    }
    if let Some(message) = run_command::forgotten_dashes(&files) {
        return Err(Failure::new(PARAMETERS, message));
    }
    if let Some(message) = crate::fio_flags::swallowed(flags) {
        return Err(Failure::new(PARAMETERS, message));
    }
    say_without_effect(args);
    let options = VdbenchOptions {
        variables,
        elapsed_ns: time(args.elapsed.as_deref(), "-e")?,
        interval_ns: args.interval.as_deref().map(|text| interval(text, "-i", INTERVAL_MIN_NS)).transpose()?,
        warmup_ns: time(args.warmup.as_deref(), "-w")?,
        run_addition: args.addition.clone(),
        repeat: run_command::repeat(args)?,
        quick: args.quick.as_deref().map(params::quick).transpose().map_err(|why| Failure::new(PARAMETERS, why))?,
        seed: args.seed,
        restart: args.restart.clone(),
        format: args
            .clean
            .as_deref()
            .map(params::format_override)
            .transpose()
            .map_err(|why| Failure::new(PARAMETERS, why))?,
        sections: args.fio_reading.sections.clone(),
        validation: validation_of_vdbench_flags(args)?,
    };
    if options.sections.iter().any(|section| section == "global") {
        let message = "--section global: it says what is common to the others; name one of them".to_string();
        return Err(Failure::new(PARAMETERS, message));
    }
    if files.is_empty() && options.quick.is_none() && flags.is_empty() {
        return Err(Failure::new(
            PARAMETERS,
            "no parameter file given; try `iodyno run FILE --dry-run`, `iodyno run --name a --filename FILE --size 1g`, \
             `iodyno run -- PROGRAM` or `iodyno run -t`",
        ));
    }
    let inputs = read_files(&files, flags, &options, args.fio_reading.warnings_fatal)?;
    if let Some(word) = args.clean.as_ref().filter(|_| inputs.plan.trees.is_empty()) {
        say!("iodyno: -c{word} has no effect here (it is about files of fsd=, not about sd=)");
    }
    Ok(inputs)
}

/// The exit code that the run would have.
pub(crate) fn dry_run_code(future: &session::DryRun) -> u8 {
    match (future.refused, future.obstacles.is_empty()) {
        (true, _) => REFUSED,
        (false, true) => 0,
        (false, false) => PARAMETERS,
    }
}

fn dry_run(
    args: &RunArgs,
    (recording, logs): (Option<&OsStr>, &[PathBuf]),
    (plan, owners): (&Plan, &[FileOwner]),
    policy: &WritePolicy,
) -> Result<u8, Failure> {
    let mut future = session::dry_run(plan, policy);
    foreign_commands::foresee(&mut future, plan, owners, args.load.allow_commands);
    let code = dry_run_code(&future);
    if args.json {
        let line = future
            .json(plan)
            .map_err(|why| Failure::new(PARAMETERS, format!("the plan has no JSON form: {why}; leave out --json")))?;
        crate::out::json(line);
        return Ok(code);
    }
    let only_recovers = |journal: &plan::JournalSettings| journal.recovers_only;
    let is_load =
        plan.settings.validation.as_ref().and_then(|one| one.journal.as_ref()).is_none_or(|one| !only_recovers(one));
    for line in params::simulate(plan).into_iter().filter(|_| is_load) {
        outln!("{line}");
    }
    let is_test = is_test(args);
    for line in &future.lines {
        let line = if is_test { run_pts::test_words(line) } else { line.clone() };
        outln!("{line}");
    }
    if let Some(output) = recording {
        outln!("results: {}", recording_dir::name(Some(output), "run")?.display());
    }
    for log in logs {
        let there = if log.exists() { ", in the place of the one that is there" } else { "" };
        outln!("log: {}{there}", log.display());
    }
    outln!("nothing was written or read; leave out --dry-run to run it");
    Ok(code)
}
