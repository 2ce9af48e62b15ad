//! Files of a load, Vdbench's or fio's, as they are named on the command line.

use crate::exit::{Failure, PARAMETERS};
use crate::foreign_commands::FileOwner;
use crate::load_input::DiskOrInput;
use crate::personality;
use params::{
    Diagnostic, DiagnosticSeverity, FileLoader, JobSource, ParameterFormat, PlanReading, SourceOwner, VdbenchOptions,
};
use plan::{JobTexts, ParameterText, Plan};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Options of fio's that were given as flags.
pub(crate) type Flags = [(String, Option<String>)];

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
    pub(crate) format: ParameterFormat,
    /// fio's jobs as they were given.
    pub(crate) jobs: JobTexts,
    /// The same as flags.
    pub(crate) flags: Vec<String>,
    /// The files that were read, includes too, and whose they are.
    pub(crate) owners: Vec<FileOwner>,
}

/// Reads files of either language; prints every diagnostic; an error among them ends the command.
pub(crate) fn read_files(
    files: &[PathBuf],
    flags: &Flags,
    options: &VdbenchOptions,
    are_warnings_fatal: bool,
) -> Result<Inputs, Failure> {
    read_files_with(files, flags, options, are_warnings_fatal, false)
}

fn no_directory(files: &[PathBuf]) -> Result<(), Failure> {
    let Some(directory) = files.iter().find(|file| file.is_dir()) else { return Ok(()) };
    let message = format!(
        "{0} is a directory, and no parameter file; the directory of a journal is named by --journal {0}",
        directory.display()
    );
    Err(Failure::new(PARAMETERS, message))
}

/// Why a file does not go together with job files or flags of fio's.
fn no_job_file(file: &Path, flags: &Flags) -> Failure {
    let is_verify = flags.iter().any(|(name, _)| name == "verify");
    let instead = if is_verify { "; to prove the data of those: --verify without a method, or -v" } else { "" };
    let message = format!(
        "{} is no fio job file: job files and fio's flags do not go together with Vdbench's files{instead}",
        file.display()
    );
    Failure::new(PARAMETERS, message)
}

/// The same; may the variables of `options` be those of job files, too, where they go before the environment?
pub(crate) fn read_files_with(
    files: &[PathBuf],
    flags: &Flags,
    options: &VdbenchOptions,
    are_warnings_fatal: bool,
    are_for_jobs: bool,
) -> Result<Inputs, Failure> {
    personality::check(files)?;
    let loader = DiskOrInput;
    let is_fio = |file: &PathBuf| {
        file.extension().is_some_and(|ending| ending == "fio")
            || loader
                .load(file)
                .is_ok_and(|bytes| params::sniff(&String::from_utf8_lossy(&bytes)) == ParameterFormat::Fio)
    };
    let format =
        if files.iter().any(is_fio) || !flags.is_empty() { ParameterFormat::Fio } else { ParameterFormat::Vdbench };
    no_directory(files)?;
    let mut as_flags = Vec::new();
    let reading = if format == ParameterFormat::Fio {
        if let Some(other) = files.iter().find(|file| (file.exists() || is_input(file)) && !is_fio(file)) {
            return Err(no_job_file(other, flags));
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
    let owners = owners_of(&reading);
    let errors = reading.errors();
    let plan = reading
        .plan
        .ok_or_else(|| Failure::new(PARAMETERS, format!("{errors} mistake(s) in the parameters; nothing was run")))?;
    let warnings = reading.diagnostics.iter().filter(|found| found.severity == DiagnosticSeverity::Warning).count();
    if are_warnings_fatal && warnings > 0 {
        let message = format!("{warnings} warning(s) about the parameters, and --warnings-fatal; nothing was run");
        return Err(Failure::new(PARAMETERS, message));
    }
    Ok(Inputs { plan, format, jobs: reading.jobs, flags: as_flags, owners })
}

/// The files that were read, by their names.
fn owners_of(reading: &PlanReading) -> Vec<FileOwner> {
    let named = |(at, owner): &(usize, SourceOwner)| Some((reading.sources.get(*at)?.name.clone(), *owner));
    reading.owners.iter().filter_map(named).collect()
}

/// Is it standard input's name?
fn is_input(file: &Path) -> bool {
    file == Path::new("-")
}

/// `name=value` on the command line, not a path with an equals sign in it.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn show(diagnostics: &[Diagnostic], sources: &[ParameterText]) {
    for found in diagnostics {
        say_lines!("{}", params::render(found, sources));
    }
}
