//! `iodyno run`.

use crate::args::RunArgs;
use crate::exit::{Failure, PARAMETERS, REFUSED};
use crate::fio_output::FioOutputs;
use crate::objectives;
use crate::place;
use output::Force;
use params::{Diagnostic, DiskOrInput, Format, JobSource, Loader, Options, Severity};
use plan::{JobTexts, Plan, Source};
use recording::Reader;
use session::{Face, Outcome, Request, SessionError, StopFlag};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use target::Policy;

/// Targets that a message names.
const TARGETS_TOLD: usize = 8;

/// Options of fio's that were given as flags.
type Flags = [(String, Option<String>)];

/// Executes the parameter files, or shows what would happen; gives the exit code.
pub(crate) fn run(args: &RunArgs, flags: &Flags, command_line: &[String]) -> Result<u8, Failure> {
    let Inputs { mut plan, format, jobs, flags: as_flags } = read_plan(args, flags)?;
    if format == Format::Vdbench && (args.fio_reading.showcmd || !args.fio_reading.sections.is_empty()) {
        return Err(Failure::new(PARAMETERS, "--showcmd and --section are for fio's jobs: there are none"));
    }
    if args.fio_reading.showcmd {
        let words: Vec<String> = as_flags.iter().map(|flag| quoted(flag)).collect();
        outln!("iodyno run {}", words.join(" "));
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
    let recording = args.output.as_deref().or_else(|| args.fio.file.as_deref().filter(|_| format == Format::Vdbench));
    objectives::add(&mut plan, &args.fail_if);
    objectives::check(&plan)?;
    let policy = Policy { destroy: args.load.destroy.clone(), never_create: plan.settings.format == Some(false) };
    check_destroy(&plan, &policy)?;
    check_junit(args, &plan)?;
    check_apart((args, recording), outputs.as_ref(), &logs, &plan)?;
    if args.dry_run {
        return dry_run(args, (recording, &logs), &plan, &policy);
    }
    args.junit.as_deref().map_or(Ok(()), session::begin_junit_file)?;
    let place = place::take(recording, "run")?;
    let request = Request {
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
    let outcome = show_run_on(&request, shown, face)?;
    let logs = if logs.is_empty() { Ok(()) } else { crate::fio_logs::write(&request.directory) };
    let written = outputs.map_or(Ok(()), |outputs| outputs.write(&request.directory)).and(logs);
    let junit = args.junit.as_deref().map_or(Ok(()), |path| write_junit(path, &request));
    let written = written.and(junit);
    // How the run itself went wrong comes first.
    match outcome.ending.exit_code() {
        0 => written.map(|()| 0),
        code => {
            written.unwrap_or_else(|failure| say!("iodyno: {}", failure.message));
            Ok(code)
        }
    }
}

/// A JUnit file that could not be written, or would be empty, is a mistake before any I/O.
fn check_junit(args: &RunArgs, plan: &Plan) -> Result<(), Failure> {
    let Some(path) = &args.junit else { return Ok(()) };
    if objectives::texts(plan).is_empty() {
        let help = "--junit writes what came of objectives, and there is none: give --fail-if 'response_ns_p99 > 5ms'";
        return Err(Failure::new(PARAMETERS, help));
    }
    Ok(session::check_junit_file(path, Force::Never)?)
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
fn write_junit(path: &Path, request: &Request) -> Result<(), Failure> {
    let reader = Reader::open(&request.directory).map_err(SessionError::from)?;
    let verdicts = ::objectives::objectives(&reader).map_err(SessionError::from)?;
    let silent = objectives::never_judged(&verdicts, &objectives::texts(&request.plan));
    let suite = session::Suite::new(&request.directory.display().to_string(), &verdicts, &silent);
    Ok(session::junit_file(&[suite], path, Force::No)?)
}

/// Refuses a `--destroy` that names none of the targets.
pub(crate) fn check_destroy(plan: &Plan, policy: &Policy) -> Result<(), Failure> {
    let unmatched: Vec<String> =
        policy.unmatched(&plan.targets).iter().map(|path| format!("--destroy {}", path.display())).collect();
    if unmatched.is_empty() {
        return Ok(());
    }
    let name = |spec: &plan::TargetSpec| spec.path.display().to_string();
    let mut targets: Vec<String> = plan.targets.iter().take(TARGETS_TOLD).map(name).collect();
    let more = plan.targets.len() - targets.len();
    targets.extend((more > 0).then(|| format!("{more} more")));
    let message = format!(
        "{}: no target has this name; the targets are {}. Nothing was done: name one of them, or leave the flag out",
        unmatched.join(", "),
        targets.join(", ")
    );
    Err(Failure::new(PARAMETERS, message))
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

/// Executes, with a line per interval; gives the exit code and what was said at the end.
pub(crate) fn show_run(request: &Request, shown: Shown) -> Result<Outcome, Failure> {
    show_run_on(request, shown, face_of(shown))
}

fn face_of(shown: Shown) -> Box<dyn Face> {
    match shown {
        Shown::Lines => Box::new(session::terminal_face()),
        Shown::OnStandardError => Box::new(session::error_face()),
        Shown::Json => Box::new(session::json_face()),
    }
}

fn show_run_on(request: &Request, shown: Shown, mut face: Box<dyn Face>) -> Result<Outcome, Failure> {
    let stop = StopFlag::default();
    watch_signals(&stop)?;
    let outcome = session::execute(request, face.as_mut(), &stop)?;
    // A reader that has gone away has nothing more to be told, so failures of the face do not matter here.
    let _ = face.finish(&[]);
    for message in &outcome.messages {
        say!("iodyno: {message}");
    }
    if shown != Shown::Json {
        let _ = face.finish(&session::last_words(&outcome)?);
    }
    Ok(outcome)
}

/// How long the clean end may take after the second request; the process is gone within a second.
const LAST_PATIENCE: Duration = Duration::from_millis(700);
/// How long the last words may take: standard error may be a pipe that is read by nothing.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Ends the process shortly, whatever hangs: a device, the recording's disk, an output that is read by nothing. What was
/// journaled stays as it is.
fn end_soon() {
    let wait = || {
        std::thread::sleep(LAST_PATIENCE);
        let tell =
            || say!("iodyno: asked twice to stop: ended at once; what was recorded so far is kept and can be read");
        let _ = std::thread::Builder::new().spawn(tell);
        std::thread::sleep(LAST_WORDS);
        signal_hook::low_level::exit(crate::exit::INTERRUPTED.into());
    };
    if std::thread::Builder::new().name("end".to_string()).spawn(wait).is_err() {
        signal_hook::low_level::exit(crate::exit::INTERRUPTED.into());
    }
}

/// Ctrl-C, a hang-up and a polite kill end the run with its results; a second one stops waiting for the target, and ends
/// the process within a second even where something hangs.
pub(crate) fn watch_signals(stop: &StopFlag) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(1, format!("failed to watch signals: {error}"));
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
    let stop = stop.clone();
    std::thread::Builder::new()
        .name("signals".to_string())
        .spawn(move || {
            for signal in signals.forever() {
                stop.request_by(signal);
                if stop.is_urgent() {
                    end_soon();
                }
            }
        })
        .map_err(failed)?;
    Ok(())
}

/// Parameter files, and `name=value` for the variables in them.
pub(crate) fn split_inputs<'a>(
    inputs: impl IntoIterator<Item = &'a OsString>,
) -> (Vec<PathBuf>, Vec<(String, String)>) {
    let (mut files, mut variables) = (Vec::new(), Vec::new());
    for input in inputs {
        match input.to_str().and_then(|text| text.split_once('=')) {
            Some((name, value)) if is_name(name) => variables.push((name.to_string(), value.to_string())),
            _ => files.push(PathBuf::from(input)),
        }
    }
    (files, variables)
}

/// What was read.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) plan: Plan,
    pub(crate) format: Format,
    /// fio's jobs as they were given.
    pub(crate) jobs: JobTexts,
    /// The same as flags.
    pub(crate) flags: Vec<String>,
}

/// Reads files of either language; prints every diagnostic; an error among them ends the command.
pub(crate) fn read_files(
    files: &[PathBuf],
    flags: &Flags,
    options: &Options,
    are_warnings_fatal: bool,
) -> Result<Inputs, Failure> {
    read_files_with(files, flags, options, are_warnings_fatal, false)
}

/// The same; may the variables of `options` be those of job files, too, where they go before the environment?
pub(crate) fn read_files_with(
    files: &[PathBuf],
    flags: &Flags,
    options: &Options,
    are_warnings_fatal: bool,
    are_for_jobs: bool,
) -> Result<Inputs, Failure> {
    let loader = DiskOrInput::default();
    let is_fio = |file: &PathBuf| {
        file.extension().is_some_and(|ending| ending == "fio")
            || loader.load(file).is_ok_and(|bytes| params::sniff(&String::from_utf8_lossy(&bytes)) == Format::Fio)
    };
    let format = if files.iter().any(is_fio) || !flags.is_empty() { Format::Fio } else { Format::Vdbench };
    let mut as_flags = Vec::new();
    let reading = if format == Format::Fio {
        if let Some(other) = files.iter().find(|file| (file.exists() || is_input(file)) && !is_fio(file)) {
            let message = format!(
                "{} is no fio job file: job files and fio's flags do not go together with Vdbench's files",
                other.display()
            );
            return Err(Failure::new(PARAMETERS, message));
        }
        if let Some((name, value)) = options.variables.first().filter(|_| !are_for_jobs) {
            let message = format!(
                "{name}={value}: job files have their variables from the environment: {name}={value} iodyno run …"
            );
            return Err(Failure::new(PARAMETERS, message));
        }
        if let Some(name) = &options.restart {
            let message = format!(
                "-r {name}: it is for Vdbench's files; of a job file --section NAME takes a job, as often as given"
            );
            return Err(Failure::new(PARAMETERS, message));
        }
        let mut sources: Vec<JobSource> = files.iter().cloned().map(JobSource::File).collect();
        let (text, has_name) = params::flags_text(flags);
        let name = "<command line>".to_string();
        if has_name {
            sources.push(JobSource::Flags(name, text));
        } else if files.is_empty() {
            sources.push(JobSource::Flags(name, format!("[run]\n{text}")));
        } else if !flags.is_empty() {
            sources.push(JobSource::Addition(name, text));
        }
        let used = RefCell::new(BTreeSet::new());
        let variable = |name: &str| {
            used.borrow_mut().insert(name.to_string());
            let given = options.variables.iter().rev().find(|(known, _)| known == name);
            given.map(|(_, value)| value.clone()).or_else(|| std::env::var(name).ok())
        };
        as_flags = params::fio_flags_of(&sources, options, &loader, &variable);
        let reading = params::read_fio(&sources, options, &loader, &variable);
        if let Some((name, _)) = options.variables.iter().find(|(name, _)| !used.borrow().contains(name)) {
            let message =
                format!("the variable `{name}` is used by no job file: write ${{{name}}} where its value belongs");
            return Err(Failure::new(PARAMETERS, message));
        }
        reading
    } else {
        params::read_vdbench(files, options, &loader)
    };
    show(&reading.diagnostics, &reading.sources);
    let errors = reading.errors();
    let plan = reading
        .plan
        .ok_or_else(|| Failure::new(PARAMETERS, format!("{errors} mistake(s) in the parameters; nothing was run")))?;
    let warnings = reading.diagnostics.iter().filter(|found| found.severity == Severity::Warning).count();
    if are_warnings_fatal && warnings > 0 {
        let message = format!("{warnings} warning(s) about the parameters, and --warnings-fatal; nothing was run");
        return Err(Failure::new(PARAMETERS, message));
    }
    Ok(Inputs { plan, format, jobs: reading.jobs, flags: as_flags })
}

/// Is it standard input's name?
fn is_input(file: &Path) -> bool {
    file == Path::new("-")
}

/// A word of a command line as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:,=%+@".contains(&byte);
    if word.bytes().all(is_plain) { word.to_string() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Flags of Vdbench's that mean nothing here, each in one sentence.
fn say_without_effect(args: &RunArgs) {
    let java = "it belongs to Vdbench's Java machines";
    let debug = args.debug.iter().map(|value| (format!("-d {value}"), java));
    let jvms = args.jvms.iter().map(|number| (format!("-m {number}"), java));
    let port = args.port.iter().map(|number| (format!("-p {number}"), "there is one host, this one"));
    let kstat = args.kstat.then(|| ("-k".to_string(), "it belongs to Solaris"));
    let decimal = args.decimal.then(|| ("-mb".to_string(), "sizes and rates are shown with their units"));
    let clean = args.clean.iter().map(|word| (format!("-c{word}"), "it is about files of fsd=, not about sd="));
    for (flag, why) in debug.chain(jvms).chain(port).chain(kstat).chain(decimal).chain(clean) {
        say!("iodyno: {flag} has no effect here ({why})");
    }
}

/// Reads all inputs into a plan.
fn read_plan(args: &RunArgs, flags: &Flags) -> Result<Inputs, Failure> {
    let (files, variables) = split_inputs(args.files.iter().chain(&args.inputs));
    if let Some(message) = crate::fio_flags::swallowed(flags) {
        return Err(Failure::new(PARAMETERS, message));
    }
    say_without_effect(args);
    if args.validate.is_some() || args.journal.is_some() {
        return Err(Failure::new(PARAMETERS, "data validation (-v, -j) is not built yet; run without it"));
    }
    let options = Options {
        variables,
        elapsed_ns: time(args.elapsed.as_deref(), "-e")?,
        interval_ns: args.interval.as_deref().map(|text| interval(text, "-i", INTERVAL_MIN_NS)).transpose()?,
        warmup_ns: time(args.warmup.as_deref(), "-w")?,
        run_addition: args.addition.clone(),
        repeat: match args.rounds {
            Some(rounds) => Some(plan::Repeat::Times(rounds)),
            None => {
                args.repeat.as_deref().map(params::repeat).transpose().map_err(|why| Failure::new(PARAMETERS, why))?
            }
        },
        quick: args.quick.as_deref().map(params::quick).transpose().map_err(|why| Failure::new(PARAMETERS, why))?,
        seed: args.seed,
        restart: args.restart.clone(),
        sections: args.fio_reading.sections.clone(),
    };
    if options.sections.iter().any(|section| section == "global") {
        let message = "--section global: it says what is common to the others; name one of them".to_string();
        return Err(Failure::new(PARAMETERS, message));
    }
    if files.is_empty() && options.quick.is_none() && flags.is_empty() {
        return Err(Failure::new(
            PARAMETERS,
            "no parameter file given; try `iodyno run FILE --dry-run`, `iodyno run --name a --filename FILE --size 1g` or \
             `iodyno run -t`",
        ));
    }
    read_files(&files, flags, &options, args.fio_reading.warnings_fatal)
}

/// `name=value` on the command line, not a path with an equals sign in it.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Seconds, or a time with its unit.
pub(crate) fn time(text: Option<&str>, flag: &str) -> Result<Option<u64>, Failure> {
    text.map(|text| {
        quantity::text::parse_duration_s(text).map_err(|why| {
            Failure::new(PARAMETERS, format!("{flag} {text}: {why}; write seconds, or a unit: 30s, 10m, 2h"))
        })
    })
    .transpose()
}

/// The least length of an interval, ns, as of `interval=` in files.
pub(crate) const INTERVAL_MIN_NS: u64 = 10_000_000;
/// The same of the pages and lines that people watch.
pub(crate) const WATCHED_MIN_NS: u64 = 100_000_000;

/// The length of an interval of one second or what `text` says, which is the value of `flag`; `least_ns` is the least.
pub(crate) fn interval(text: &str, flag: &str, least_ns: u64) -> Result<u64, Failure> {
    let interval_ns = time(Some(text), flag)?.unwrap_or(1_000_000_000);
    if interval_ns < least_ns {
        let least_ms = least_ns / 1_000_000;
        return Err(Failure::new(PARAMETERS, format!("{flag} {text} is too short; {least_ms}ms is the least")));
    }
    Ok(interval_ns)
}

fn show(diagnostics: &[Diagnostic], sources: &[Source]) {
    for found in diagnostics {
        say_lines!("{}", params::render(found, sources));
    }
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
    plan: &Plan,
    policy: &Policy,
) -> Result<u8, Failure> {
    let future = session::dry_run(plan, policy);
    let code = dry_run_code(&future);
    if args.json {
        let line = future
            .json(plan)
            .map_err(|why| Failure::new(PARAMETERS, format!("the plan has no JSON form: {why}; leave out --json")))?;
        crate::out::json(line);
        return Ok(code);
    }
    for line in params::simulate(plan) {
        outln!("{line}");
    }
    for line in &future.lines {
        outln!("{line}");
    }
    if let Some(output) = recording {
        outln!("results: {}", place::name(Some(output), "run")?.display());
    }
    for log in logs {
        let there = if log.exists() { ", in the place of the one that is there" } else { "" };
        outln!("log: {}{there}", log.display());
    }
    outln!("nothing was written or read; leave out --dry-run to run it");
    Ok(code)
}
