//! Reads fio's job files and flags into a [`plan::Plan`], and prints a plan as a job file.
//!
//! `source` makes sections of the text, `options` types what they say, `jobs` gathers the options of each job, `to_plan`
//! makes runs of the jobs and `targets` the files. `print` makes a job file of a plan, for which `to_jobs` makes jobs of
//! what is none. `catalogue` holds every option that is known, and `unsupported` those that are not here.
//!
//! Other crates import this one through `params`, whose integration program has its tests.

mod arithmetic;
mod catalogue;
mod ends;
mod entry_engine;
mod jobs;
mod options;
mod print;
mod print_entries;
mod print_verify;
mod replay;
mod replay_options;
mod source;
mod targets;
mod to_entries;
mod to_jobs;
mod to_plan;
mod unsupported;
mod value;
mod verify;
mod verify_options;
mod words;
mod words_out;

use parameter_text::{Diagnostic, FileLoader, PlanReading, ReadingContext, VdbenchOptions};
use plan::{JobText, JobTexts, Plan, PlanSettings, Run, TextSpan};
use source::Reader;
use std::path::{Path, PathBuf};
use targets::Targets;

pub use catalogue::{
    FioOption, OPTIONS as FIO_OPTIONS, OptionEffect, OptionTask, absent_names as fio_absent_names,
    options_markdown as fio_options_markdown,
};
pub use print::print_fio;

/// A job file, or a text that stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobSource {
    /// To be read.
    File(PathBuf),
    /// A name in angle brackets, and the text.
    Text(String, String),
    /// A name in angle brackets, and flags as a text ([`flags_text`]): nothing in it is a comment.
    Flags(String, String),
    /// The same without a section, for all jobs.
    Addition(String, String),
}

/// Options of the command line as a job file: `--name=a` begins a job, what stands before the first one is for all.
/// Without any name it is what a job file is to be changed by ([`JobSource::Addition`]), or a job of its own.
pub fn flags_text(flags: &[(String, Option<String>)]) -> (String, bool) {
    let has_name = flags.iter().any(|(name, _)| name == "name");
    let mut text = String::new();
    if has_name && flags.first().is_some_and(|(name, _)| name != "name") {
        text.push_str("[global]\n");
    }
    for (name, value) in flags {
        let line = match value {
            Some(value) if name == "name" => format!("[{value}]"),
            Some(value) => format!("{name}={value}"),
            None => name.clone(),
        };
        // A line break would begin another option.
        text.push_str(&line.replace(['\n', '\r'], " "));
        text.push('\n');
    }
    (text, has_name)
}

/// Reads fio job files, in this order; each waits for the one before. Never panics; finds all mistakes.
///
/// A [`JobSource::Addition`] says something about every job of the others, as if it stood at their ends.
/// `environment` resolves `${NAME}`. Of the options `elapsed_ns`, `warmup_ns`, `interval_ns`, `repeat` and `seed` apply.
pub fn read_fio(
    sources: &[JobSource],
    options: &VdbenchOptions,
    loader: &dyn FileLoader,
    environment: &dyn Fn(&str) -> Option<String>,
) -> PlanReading {
    let mut context = ReadingContext::default();
    let mut reader = Reader::new(loader, environment, &options.sections);
    read(&mut reader, &mut context, sources);
    // What is not read could be a flag that must not be overlooked, such as --dry-run.
    if options.run_addition.as_deref().is_some_and(|text| !text.trim().is_empty()) {
        let found = Diagnostic::error("addition", TextSpan::default(), "`+` adds to rd=, which fio's jobs do not have");
        context.push(found.help("give fio's options as flags: --runtime 60"));
    }
    let (mut sections, skipped) = (reader.sections, reader.skipped);
    patterns(&mut context, &mut sections, loader);
    if !skipped.is_empty() && sections.iter().all(source::Section::is_global) {
        let message = format!("no section is called {}", options.sections.join(" or "));
        let found = Diagnostic::error("no-section", TextSpan::default(), message);
        context.push(found.help(format!("the sections are {}", skipped.join(", "))));
    }
    let plan = plan(&mut context, &sections, options);
    let reading = context.finish(plan);
    let jobs = reading.plan.as_ref().map(|plan| job_texts(&sections, &plan.runs)).unwrap_or_default();
    PlanReading { jobs, ..reading }
}

/// Takes the files in that patterns name.
fn patterns(context: &mut ReadingContext, sections: &mut [source::Section], loader: &dyn FileLoader) {
    let lines = sections.iter_mut().flat_map(|section| &mut section.lines);
    for line in lines.filter(|line| line.key == "buffer_pattern") {
        let Some(text) = line.value.as_ref().filter(|text| text.contains('\'')) else { continue };
        let read = |name: &str| loader.load(Path::new(name)).map_err(|why| format!("failed to read `{name}`: {why}"));
        match words::with_files(text, read) {
            Ok(text) => line.value = Some(text),
            Err(why) => context.push(Diagnostic::error("value", line.span, format!("`buffer_pattern`: {why}"))),
        }
    }
}

fn read(reader: &mut Reader, context: &mut ReadingContext, sources: &[JobSource]) {
    for source in sources {
        reader.is_file = matches!(source, JobSource::File(_));
        reader.has_comments = matches!(source, JobSource::File(_) | JobSource::Text(..));
        match source {
            JobSource::File(path) => reader.file(context, path),
            JobSource::Text(name, text) | JobSource::Flags(name, text) => {
                reader.text(context, name, Path::new(""), text.clone());
            }
            JobSource::Addition(name, text) => reader.addition(context, name, text.clone()),
        }
    }
}

/// Job files as flags (`--name=a`, `--rw=read`, …) with variables resolved and includes taken in; what of them can be read.
/// Parameters are those of [`read_fio`].
pub fn fio_flags_of(
    sources: &[JobSource],
    options: &VdbenchOptions,
    loader: &dyn FileLoader,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut reader = Reader::new(loader, environment, &options.sections);
    read(&mut reader, &mut ReadingContext::default(), sources);
    let mut flags = Vec::new();
    for (at, section) in reader.sections.iter().enumerate() {
        // What stands before the first job is for all anyway.
        if at > 0 || !section.is_global() {
            flags.push(format!("--name={}", section.name));
        }
        flags.extend(section.first_of_file.then(|| "--stonewall".to_string()));
        flags.extend(section.lines.iter().map(|line| match &line.value {
            Some(value) => format!("--{}={value}", line.key),
            None => format!("--{}", line.key),
        }));
    }
    flags
}

/// What was said of every workload.
fn job_texts(sections: &[source::Section], runs: &[Run]) -> JobTexts {
    let options = |section: &source::Section| -> Vec<(String, String)> {
        section.lines.iter().map(|line| (line.key.clone(), line.value.clone().unwrap_or_default())).collect()
    };
    let globals = sections.iter().filter(|section| section.is_global());
    let workloads = runs
        .iter()
        .enumerate()
        .flat_map(|(number, run)| run.workloads.iter().map(move |workload| (number, run, workload)));
    let (mut group, mut before) = (0, None);
    let text = |(number, run, workload): (usize, &Run, &plan::Workload)| {
        let of_run = workload.job.as_ref().and_then(|job| job.end.as_ref()).map_or(0, |end| end.group);
        group += usize::from(before.is_some_and(|before| before != (number, of_run)));
        before = Some((number, of_run));
        let at = sections.iter().position(|section| !section.is_global() && section.span == workload.span)?;
        let section = &sections[at];
        let named = section.lines.iter().rev().find(|line| line.key == "name").and_then(|line| line.value.clone());
        Some(JobText {
            run: run.title.clone(),
            workload: workload.name.clone(),
            name: named.unwrap_or_else(|| section.name.clone()),
            options: options(section),
            // What stands behind it is of the jobs behind it.
            globals: Some(
                sections[..at].iter().filter(|section| section.is_global()).map(|section| section.lines.len()).sum(),
            ),
            group: Some(group),
            counted: print_entries::entry_job(workload).map(|(_, job)| job.counted),
        })
    };
    JobTexts { global: globals.flat_map(options).collect(), jobs: workloads.filter_map(text).collect() }
}

fn plan(context: &mut ReadingContext, sections: &[source::Section], options: &VdbenchOptions) -> Plan {
    let mut jobs = jobs::jobs(context, sections);
    verify::read_only(context, &mut jobs);
    if jobs.is_empty() && !context.failed() {
        let span = sections.last().map_or(TextSpan::default(), |section| section.span);
        let found = Diagnostic::error("no-jobs", span, "there is no job: nothing would run");
        context.push(found.help("add a section [name] with filename=, rw=, bs=, size= or runtime="));
    }
    let mut targets = Targets::default();
    let interval_ns = options.interval_ns.unwrap_or(1_000_000_000);
    let mut runs = to_plan::runs(context, &jobs, &mut targets, interval_ns);
    for run in &mut runs {
        run.warmup_ns = options.warmup_ns.unwrap_or(run.warmup_ns);
        if let Some(elapsed_ns) = options.elapsed_ns {
            run.elapsed_ns = Some(elapsed_ns);
        }
    }
    let mut settings = PlanSettings { format: targets.never_create.then_some(false), ..PlanSettings::default() };
    settings.repeat = options.repeat.unwrap_or(settings.repeat);
    let seed = jobs.iter().find_map(|job| job.options.seed);
    // `randseed=` decides fio's places only: its data is scrambled with the time of each I/O all the same.
    settings.seed = seed.unwrap_or(settings.seed);
    settings.is_seed_fresh = seed.is_none() && jobs.iter().any(|job| !job.options.repeats_choices);
    settings.use_seed(options.seed);
    verify::settings(context, &jobs, options.validation.as_ref(), &mut settings);
    Plan { targets: targets.specs, trees: targets.trees, runs, settings, ..Plan::default() }
}
