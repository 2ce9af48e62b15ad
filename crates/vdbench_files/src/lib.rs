//! Reads Vdbench parameter files into a [`plan::Plan`], and prints a plan as a parameter file.
//!
//! `source` makes lines, `scan` parameters, `statement` definitions; one file per section reads these; `to_plan` and
//! `shares` make runs of them, and this file the plan. `print` makes a parameter file of a plan, for which
//! `jobs_to_workloads` makes workloads of fio's jobs. `keys` holds every keyword, and `quick` Vdbench's built-in tests.
//!
//! Other crates import this one through `params`, whose integration program has its tests.

mod command_params;
mod commands;
mod expand;
mod expansion_input;
mod file_runs;
mod file_systems;
mod file_works;
mod flow_conflicts;
mod flows;
mod format_flags;
mod general;
mod jobs_to_workloads;
mod keys;
mod line;
mod names;
mod param;
mod print;
mod print_commands;
mod print_runs;
mod print_trees;
mod print_validation;
mod print_words;
mod quick;
mod replay;
mod replay_params;
mod run;
mod scan;
mod shared;
mod shares;
mod source;
mod statement;
mod storage;
mod to_plan;
mod validation;
mod value;
mod variables;
mod workload;

use expansion_input::ExpansionInput;
use file_systems::FileSystem;
use general::General;
use keys::Section;
use line::{COMMAND_LINE, index_u32};
use names::Names;
use param::Param;
use parameter_text::{Diagnostic, FileLoader, FormatOverride, PlanReading, ReadingContext, VdbenchOptions};
use plan::{Plan, Run, TargetSpec, TextSpan, TreeSpec, WriteContent};
use quick::quick_test;
use run::RunInput;
use source::SourceReader;
use statement::Statement;
use std::path::PathBuf;
use storage::Storage;
use validation::Validated;

pub use general::repeat;
pub use print::print_vdbench;
pub use quick::{format_override, quick};
pub use validation::validation_of_flags;
pub use value::whole_percent;

/// Keywords that are accepted without effect, as `(section, keyword, reason)`.
pub fn no_effect_flags() -> Vec<(&'static str, &'static str, &'static str)> {
    keys::without_effect()
}

/// Reads Vdbench parameter files, in this order, as one. Never panics; finds all mistakes.
pub fn read_vdbench(files: &[PathBuf], options: &VdbenchOptions, loader: &dyn FileLoader) -> PlanReading {
    let mut context = ReadingContext::default();
    let plan = read_plan(&mut context, files, options, loader);
    context.finish(plan)
}

/// What the sections define, in their order.
struct Definitions {
    groups: Vec<replay_params::Group>,
    systems: Vec<FileSystem>,
    storages: Vec<Storage>,
    works: Vec<workload::Work>,
    /// `wd=default` behind the last of them.
    default_work: workload::Work,
    file_works: file_works::FileWorks,
    runs: Vec<run::Definition>,
}

fn definitions(
    context: &mut ReadingContext,
    statements: &[Statement],
    hosts: &[String],
    (general, options, addition): (&General, &VdbenchOptions, &[Param]),
) -> Definitions {
    let of = |section: Section| statements.iter().filter(move |statement| statement.section == section);
    let per_host = |context: &mut ReadingContext, section: Section| -> Vec<Statement> {
        let mut out = Vec::new();
        for statement in of(section) {
            if context.work(hosts.len().saturating_mul(statement::weight(statement)), statement.span) {
                out.extend(statement::per_host(statement, hosts));
            }
        }
        out
    };
    let groups = replay_params::groups(context, &of(Section::Group).cloned().collect::<Vec<_>>());
    let systems = per_host(context, Section::FileSystem);
    let systems = file_systems::read(context, &systems);
    let storages = per_host(context, Section::Storage);
    let storages = storage::read(context, &storages, &general.dedup);
    let works = per_host(context, Section::Workload);
    let (works, default_work) = workload::read(context, &works);
    let file_works = per_host(context, Section::FileWorkload);
    let file_works = file_works::read(context, &file_works);
    let is_of_files = of(Section::Storage).next().is_none() && of(Section::FileSystem).next().is_some();
    let input = RunInput { addition, is_of_files, forced_format: options.format };
    let runs = run::read(context, &of(Section::Run).cloned().collect::<Vec<_>>(), input);
    Definitions { groups, systems, storages, works, default_work, file_works, runs }
}

/// The general section, which comes behind the flags.
fn general_of(context: &mut ReadingContext, statement: Option<&Statement>, options: &VdbenchOptions) -> General {
    let mut general = General::default();
    general.settings.validation.clone_from(&options.validation);
    match statement {
        Some(statement) => general::read(context, statement, general),
        None => general,
    }
}

fn read_plan(
    context: &mut ReadingContext,
    files: &[PathBuf],
    options: &VdbenchOptions,
    loader: &dyn FileLoader,
) -> Plan {
    let mut reader = SourceReader::new(loader, &options.variables);
    if let Some(quick) = options.quick {
        reader.text(context, "<quick test>", &quick_test(quick));
    }
    for file in files {
        reader.file(context, file);
    }
    let params = reader.finish(context);
    let addition = addition(context, options, loader);
    let statements = statement::group(context, params);
    let of = |section: Section| statements.iter().filter(move |statement| statement.section == section);
    check_variables(context, &statements, &options.variables);

    let hosts = general::hosts(context, &of(Section::Host).collect::<Vec<_>>());
    context.hosts.clone_from(&hosts);
    let mut general = general_of(context, statements.first(), options);
    let Definitions { groups, systems, storages, works, default_work, file_works, runs: mut definitions } =
        definitions(context, &statements, &hosts, (&general, options, &addition));
    override_texts(options, &mut general.settings, &mut definitions);
    check_presence(context, &statements, &storages, &definitions);

    let contents = contents(context, &general, &storages);
    let file_content = if systems.is_empty() { WriteContent::default() } else { file_content(context, &general) };
    let storage_names = Names::new("sd", storages.iter().map(|storage| storage.name.clone()));
    let work_names = Names::new("wd", works.iter().map(|work| work.name.clone()));
    let material = ExpansionInput {
        storages: &storages,
        storage_names: &storage_names,
        works: &works,
        default_work: &default_work,
        work_names: &work_names,
        systems: &systems,
        system_names: &file_systems::names(&systems),
        file_works: &file_works,
        file_work_names: &file_works.names(),
        file_content: &file_content,
        contents: &contents,
        groups: &groups,
        seed: general.settings.seed,
    };
    let mut runs = expand::expand(context, &material, &definitions);
    works.iter().for_each(|work| storage_names.look_over(context, &work.targets));
    file_works.list.iter().for_each(|work| material.system_names.look_over(context, &work.systems));
    if runs.is_empty() && !context.failed() {
        context.push(Diagnostic::error("no-runs", TextSpan::default(), "the rd= definitions make no runs"));
    }
    let mut targets: Vec<TargetSpec> = storages.iter().map(target).collect();
    if general.settings.concatenate {
        concatenate(context, &targets, &mut runs);
    }
    grains(&mut targets, &runs);
    if options.format == Some(FormatOverride::Clean) {
        file_runs::clean_first(&systems, file_works.format, &mut runs);
    }
    // What is left out counts for windows, as in Vdbench.
    if let Some(name) = options.restart.as_deref() {
        restart(context, name, &mut runs);
    }
    let validated = Validated {
        pattern_span: general.pattern_span,
        storages: &storages,
        systems: &systems,
        definitions: &definitions,
    };
    validation::finish(context, &mut general.settings.validation, &validated);
    let trees = systems.iter().map(|system| tree(system, general.makes_parents)).collect();
    Plan { targets, trees, runs, settings: general.settings, objectives: general.objectives, ..Plan::default() }
}

/// What the command line says wins over what the files say.
fn override_texts(options: &VdbenchOptions, settings: &mut plan::PlanSettings, definitions: &mut [run::Definition]) {
    for definition in definitions {
        definition.elapsed_ns = options.elapsed_ns.unwrap_or(definition.elapsed_ns);
        definition.is_time_given |= options.elapsed_ns.is_some();
        definition.interval_ns = options.interval_ns.unwrap_or(definition.interval_ns);
        definition.warmup_ns = options.warmup_ns.unwrap_or(definition.warmup_ns);
    }
    settings.repeat = options.repeat.unwrap_or(settings.repeat);
    settings.use_seed(options.seed);
}

/// Leaves out the runs before the first whose title begins with `name` (`-r`).
fn restart(context: &mut ReadingContext, name: &str, runs: &mut Vec<Run>) {
    let span = TextSpan::default();
    match runs.iter().position(|run| run.title.starts_with(name)) {
        Some(first) => {
            runs.drain(..first);
            let message = format!("-r {name}: {first} of the runs are left out, {} is the first", runs[0].title);
            context.note_once("restart", Diagnostic::note("restart", span, message));
        }
        None if context.failed() => {}
        None => {
            let shown: Vec<&str> = runs.iter().take(5).map(|run| run.title.as_str()).collect();
            let found = Diagnostic::error("restart", span, format!("-r {name}: no run has a name that begins so"));
            context.push(found.help(format!("there is {}", shown.join(", "))));
        }
    }
}

/// The words of a command line as one line without blanks outside quotes, which would begin a comment. The shell has
/// split what belongs together (`a=1, b=2`), and a word after a closing quote is one more parameter, or a mistake.
fn without_blanks(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut is_quoted = false;
    for c in text.trim().chars() {
        is_quoted ^= c == '"';
        match c {
            _ if is_quoted || !c.is_whitespace() => line.push(c),
            _ if line.ends_with(',') => {}
            _ => line.push(','),
        }
    }
    line
}

/// The parameters behind `+`.
fn addition(context: &mut ReadingContext, options: &VdbenchOptions, loader: &dyn FileLoader) -> Vec<Param> {
    let Some(text) = options.run_addition.as_deref().filter(|text| !text.trim().is_empty()) else { return Vec::new() };
    let mut reader = SourceReader::new(loader, &[]);
    let text = without_blanks(text);
    if source::is_no_parameter(&text) {
        let span = TextSpan { source: index_u32(context.sources.len()), start: 0, len: 1 };
        let found = Diagnostic::error("addition", span, "`+` is followed by a comment or by `eof`");
        context.push(found.help("everything after `+` is parameters: keyword=value"));
    }
    reader.text(context, COMMAND_LINE, &text);
    let params = reader.finish(context);
    if let Some(param) = params.iter().find(|param| param.key == "rd") {
        let found = Diagnostic::error("addition", param.key_span, "`+` adds to every rd= and cannot begin one");
        context.push(found.help("write + iorate=max,elapsed=60"));
    }
    params
}

fn check_variables(context: &mut ReadingContext, statements: &[Statement], names: &[(String, String)]) {
    for statement in statements {
        let host_allowed = !matches!(statement.section, Section::Run | Section::General);
        let name = Param { key: "name".to_string(), values: statement.names.clone(), ..Param::default() };
        source::check_variables(context, std::slice::from_ref(&name), names, host_allowed);
        source::check_variables(context, &statement.params, names, host_allowed);
    }
}

/// What must be there at all.
fn check_presence(
    context: &mut ReadingContext,
    statements: &[Statement],
    storages: &[Storage],
    definitions: &[run::Definition],
) {
    if context.failed() && definitions.is_empty() {
        // What is missing may be what could not be read.
        return;
    }
    let has = |section: Section| statements.iter().any(|statement| statement.section == section);
    let span = TextSpan::default();
    if definitions.is_empty() {
        let found = Diagnostic::error("no-runs", span, "there is no rd=: nothing would run");
        context.push(found.help("add rd=run1,wd=…,iorate=max,elapsed=60; see docs/vdbench.md"));
    }
    // Where a command was forgotten, that is said.
    let needs_targets = !definitions.iter().all(|one| commands::is_alone(one) || one.commands.given.is_some());
    if storages.is_empty() && needs_targets && !has(Section::FileSystem) && !context.failed() {
        let found = Diagnostic::error("no-targets", span, "there is no sd=: nothing to run on");
        context.push(found.help("add sd=sd1,lun=/path/of/a/file,size=1g"));
    }
    if has(Section::FileSystem) && has(Section::Storage) {
        let second = statements.iter().find(|statement| statement.section == Section::Storage);
        let message = "sd= and fsd= cannot be used together";
        let found = Diagnostic::error("conflict", second.map_or(span, |statement| statement.span), message);
        context.push(found.help("use two parameter files"));
    }
}

fn contents(context: &mut ReadingContext, general: &General, storages: &[Storage]) -> Vec<WriteContent> {
    let content = |context: &mut ReadingContext, dedup: &shared::DedupParams| WriteContent {
        compress_ratio: general.compress_ratio,
        dedup: dedup.complete(context),
        pattern: general.pattern.clone(),
        literal: Vec::new(),
        seed: general.content_seed,
    };
    if storages.is_empty() {
        let _ = content(context, &general.dedup);
    }
    let doubled =
        storages.iter().map(|storage| &storage.dedup).find(|dedup| dedup.ratio.is_some_and(|ratio| ratio > 1.0));
    if let (Some(_), Some(span)) = (&general.pattern, doubled.and_then(|dedup| dedup.span)) {
        let found = Diagnostic::error("conflict", span, "dedupratio= and pattern= exclude each other");
        context.push(found.help("duplicates are made of generated data; take one of them out"));
    }
    storages.iter().map(|storage| content(context, &storage.dedup)).collect()
}

/// What is written to files.
fn file_content(context: &mut ReadingContext, general: &General) -> WriteContent {
    WriteContent {
        compress_ratio: general.compress_ratio,
        dedup: general.dedup.complete(context),
        pattern: general.pattern.clone(),
        literal: Vec::new(),
        seed: general.content_seed,
    }
}

fn tree(system: &FileSystem, makes_parents: bool) -> TreeSpec {
    TreeSpec { name: system.name.clone(), anchor: system.anchor().to_path_buf(), makes_parents, span: system.span }
}

fn target(storage: &Storage) -> TargetSpec {
    TargetSpec {
        name: storage.name.clone(),
        path: PathBuf::from(storage.lun.as_ref().map(|lun| lun.text.clone()).unwrap_or_default()),
        size_bytes: storage.size_bytes,
        layout: None,
        depth: storage.threads,
        open: storage.open.unwrap_or_default(),
        range: storage.range,
        hit_area_bytes: storage.hit_area_bytes,
        offset_bytes: storage.offset_bytes,
        align_bytes: storage.align_bytes,
        skip_first_block: storage.raw(),
        grain_bytes: None,
        unlink: false,
        span: storage.span,
    }
}

/// Windows begin and end at multiples of the greatest transfer that any run has on a target.
fn grains(targets: &mut [TargetSpec], runs: &[plan::Run]) {
    for workload in runs.iter().flat_map(|run| &run.workloads).filter(|workload| workload.replay.is_none()) {
        let sizes = workload.transfers().map(plan::TransferSize::max_bytes);
        let largest = sizes.into_iter().max().unwrap_or(0);
        for at in &workload.targets {
            if let Some(target) = targets.get_mut(*at) {
                target.grain_bytes = target.grain_bytes.max(Some(largest));
            }
        }
    }
}

/// `concatenatesds=yes`: the targets of a workload are one address space with slots of its own, its `threads=` or those
/// of all its targets together.
fn concatenate(context: &mut ReadingContext, targets: &[TargetSpec], runs: &mut [Run]) {
    for run in runs.iter_mut() {
        let in_step = run.workloads.iter().any(|workload| workload.share_fixed) && run.rate.is_max();
        for workload in run.workloads.iter_mut().filter(|workload| workload.load.is_blocks()) {
            if !context.work(workload.targets.len(), run.span) {
                return;
            }
            if workload.think_ns > 0 || workload.priority.is_some() {
                let sentence = "thinktime= and priority= together with concatenatesds= are not built yet";
                context.unsupported(workload.span, sentence);
            }
            let own = workload.targets.iter().map(|at| targets[*at].depth).fold(0, u32::saturating_add);
            let mut job = plan::Job::new(run.depth.or(workload.depth).unwrap_or(own).clamp(1, 65_536));
            job.turn = plan::TargetOrder::Joined;
            job.gaps = run.arrivals.gaps;
            job.flow = in_step.then_some(plan::JobFlow { id: 0, weight: workload.share });
            (workload.job, workload.depth) = (Some(job), None);
        }
        run.depth = None;
    }
}
