//! fio's engines for names (`filecreate`, `filestat`, `filedelete`, and their kin for directories): a job goes through entries of a
//! directory, and opens, asks for or removes each.
//!
//! fio counts one I/O for each `bs` in a file's size, and does its operation at the first of them: the others do nothing. Here each file is one
//! operation, and [`CountedAs`] says what fio's outputs make of it.

use crate::entry_engine::EntryEngine;
use crate::jobs::JobSection;
use crate::options::{Options, Pattern};
use crate::targets::{Targets, folder};
use crate::value::Amount;
use parameter_text::{Diagnostic, ReadingContext};
use plan::generate::OperationKind;
use plan::{
    CountedAs, EntryJob, FileOrder, FileSelect, GapDistribution, LayoutKind, OpenFlags, TargetOrder, TransferSize,
    TreeLoad, TreeNames, TreeShape, TreeSpec, TreeTask, TreeUse, Workload,
};
use std::path::PathBuf;

/// What is wrong: the option, a sentence, and what to do.
type Wrong = (&'static str, String, &'static str);

/// One copy of a job.
pub(crate) fn workload(
    context: &mut ReadingContext,
    section: &JobSection,
    copy: u32,
    (name, warmup_ns): (&str, u64),
    (engine, rate, targets): (EntryEngine, Option<f64>, &mut Targets),
) -> Option<Workload> {
    let options = &section.options;
    let span = |name: &str| options.spans.get(name).copied().unwrap_or(section.span);
    let mut refuse = |(option, message, help): Wrong| {
        context.push(Diagnostic::error("names", span(option), message).help(help));
    };
    let (names, anchor) = match names(section, copy) {
        Ok(names) => (names, folder(options, copy).map_or_else(|| PathBuf::from("."), PathBuf::from)),
        Err(wrong) => {
            refuse(wrong);
            return None;
        }
    };
    let found = wrong(section, engine);
    if !found.is_empty() {
        found.into_iter().for_each(refuse);
        return None;
    }
    let (asked_bytes, counted, operations) = match amounts(options, engine) {
        Ok(found) => found,
        Err(wrong) => {
            refuse(wrong);
            return None;
        }
    };
    let TreeNames::Numbered { before, after } = &names else { return None };
    let tree = targets.trees.len();
    targets.trees.push(TreeSpec {
        name: format!("{before}*{after}"),
        anchor,
        makes_parents: false,
        span: section.span,
    });
    let bytes = if engine.are_directories { 0 } else { asked_bytes };
    let shape = TreeShape { names, ..TreeShape::regular(1, 1, options.nrfiles, bytes) };
    let load = TreeLoad {
        uses: vec![TreeUse { tree, shape, is_taken_whole: false }],
        task: TreeTask::One(engine.kind),
        threads: 1,
        select: FileSelect::Sequential,
        access: FileOrder::Sequential,
        stop_after: None,
        transfer: TransferSize::Fixed(counted.bytes / counted.ios.max(1)),
        open: OpenFlags::default(),
        destination: None,
        sync_every: None,
        entries: Some(entry_job(options, engine, (operations, counted), warmup_ns)),
    };
    Some(Workload { rate, ..Workload::of_tree(name.to_string(), load, section.span) })
}

fn entry_job(
    options: &Options,
    engine: EntryEngine,
    (operations, counted): (Option<u64>, CountedAs),
    warmup_ns: u64,
) -> EntryJob {
    EntryJob {
        are_directories: engine.are_directories,
        operations,
        elapsed_ns: options.runtime_ns.map(|runtime_ns| runtime_ns.saturating_add(warmup_ns)),
        is_random: matches!(options.turn, TargetOrder::Random { .. }),
        stat: options.stat,
        made: made(options, engine),
        unlinks: options.unlink,
        counted,
    }
}

/// The names of a copy's entries.
fn names(section: &JobSection, copy: u32) -> Result<TreeNames, Wrong> {
    let options = &section.options;
    if !options.filename.is_empty() {
        let message = "`filename` with an engine for names".to_string();
        return Err(("filename", message, "use directory=, nrfiles= and filename_format= with $filenum"));
    }
    let format = options
        .filename_format
        .replace("$jobname", &section.name)
        .replace("$clientuid", "localhost")
        .replace("$jobnum", &copy.to_string());
    let mut parts = format.split("$filenum");
    match (parts.next(), parts.next(), parts.next()) {
        _ if format.contains(['/', '\0']) => {
            let message = format!("`{format}` has a directory in it, and engines for names work in one directory");
            Err(("filename_format", message, "name the directory with directory=, and give the job another name"))
        }
        (Some(before), Some(after), None) => {
            Ok(TreeNames::Numbered { before: before.to_string(), after: after.to_string() })
        }
        _ => {
            let message = format!("`filename_format`: `{format}` does not have $filenum once");
            Err(("filename_format", message, "the number of the file tells the names apart: $jobname.$jobnum.$filenum"))
        }
    }
}

/// What such a job cannot have.
fn wrong(section: &JobSection, engine: EntryEngine) -> Vec<Wrong> {
    let options = &section.options;
    let mut out: Vec<Wrong> = Vec::new();
    let name = engine.name;
    let is_given = |option: &str| options.spans.contains_key(option);
    let absent = [
        (options.delay_ns != (0, 0), "startdelay"),
        (options.wait_for.is_some(), "wait_for"),
        (options.think_ns > 0, "thinktime"),
        (options.latency_target_ns.is_some(), "latency_target"),
        (options.flow.is_some(), "flow"),
        (section.exits_all, "exitall"),
        (is_given("exitall_on_error"), "exitall_on_error"),
        (options.ends.creates_only, "create_only"),
        (options.ends.fills_device, "fill_device"),
        (is_given("max_latency"), "max_latency"),
        (options.rate_min.iter().any(Option::is_some), "rate_min"),
        (options.rate_iops_min.iter().any(Option::is_some), "rate_iops_min"),
        (options.gaps != GapDistribution::Deterministic, "rate_process"),
        (options.steady.is_some(), "steadystate"),
        (!options.cpus.is_empty(), "cpus_allowed"),
        (!options.nodes.is_empty(), "numa_cpu_nodes"),
        (options.prio.is_some(), "prio"),
        (options.prio_class > 0, "prioclass"),
        (options.nice != 0, "nice"),
    ];
    for (_, option) in absent.into_iter().filter(|(is_asked, _)| *is_asked) {
        out.push((
            option,
            format!("`{option}` with `ioengine={name}`"),
            "leave it out: it is for jobs that read and write",
        ));
    }
    for option in ["continue_on_error", "ignore_error"].into_iter().filter(|option| is_given(option)) {
        let message = format!("`{option}` with `ioengine={name}`, where the first operation that fails ends the job");
        out.push((option, message, "leave it out: fio, too, ends the job"));
    }
    if !matches!(options.pattern, Pattern::Read | Pattern::Write) {
        let message = format!("`ioengine={name}` is counted as reads or as writes");
        out.push(("rw", message, "use rw=read or rw=write: it says only as what fio counts"));
    }
    if options.readonly && engine.kind != OperationKind::Getattr {
        let message = format!("`ioengine={name}` changes a directory, and `readonly` forbids it");
        out.push(("readonly", message, "leave out readonly"));
    }
    out
}

/// Bytes of each file (0: not known), what fio counts it as, and how many operations the job does; `None`: as many as its time allows.
fn amounts(options: &Options, engine: EntryEngine) -> Result<(u64, CountedAs, Option<u64>), Wrong> {
    let (op, size) = match options.pattern {
        Pattern::Write => (OperationKind::Write, &options.sizes[1]),
        _ => (OperationKind::Read, &options.sizes[0]),
    };
    let TransferSize::Fixed(bs) = *size else {
        let message = format!("`ioengine={}` moves nothing, of no size", engine.name);
        return Err(("bs", message, "use one bs=: it says only as how many bytes fio counts an operation"));
    };
    let files = options.nrfiles;
    let size = match options.size {
        None => None,
        Some(Amount::Bytes(bytes)) => Some(bytes),
        Some(Amount::Part(_)) => {
            return Err(("size", "`size` in percent of nothing".to_string(), "use filesize= in bytes"));
        }
    };
    let asked_bytes = match options.filesize {
        Some((low, high)) if low != high => {
            let message = "`filesize` with a range, for an engine for names".to_string();
            return Err(("filesize", message, "give all files the same size"));
        }
        Some((bytes, _)) => bytes,
        None => size.map_or(0, |bytes| bytes / files),
    };
    // Without any size, fio goes by what it finds.
    let ios = if asked_bytes == 0 && size.is_none() { 1 } else { asked_bytes / bs };
    if ios == 0 {
        let message = format!("a file of {asked_bytes} bytes has less than one bs of {bs}: fio would do nothing");
        return Err(("filesize", message, "use filesize= of one bs or more"));
    }
    let counted = CountedAs { op, ios, bytes: ios * bs };
    let whole = files.saturating_mul(ios);
    let io_size = match options.io_size {
        Some(Amount::Bytes(bytes)) if bytes > 0 => Some(bytes),
        Some(Amount::Part(part)) if part > 0.0 => {
            return Err(("io_size", "`io_size` in percent of nothing".to_string(), "use number_ios="));
        }
        _ => None,
    };
    // In fio's I/Os.
    let part = size.map_or(whole, |bytes| (bytes / bs).min(whole));
    let all = total((part, io_size.map(|bytes| bytes / bs)), options);
    if all == 0 {
        let message = format!("less than one bs of {bs} is to be done: fio would do nothing");
        return Err(("size", message, "use a larger size= or io_size="));
    }
    let is_paced = options.rate.iter().chain(&options.rate_iops).any(Option::is_some);
    if ios > 1 && (all != whole.saturating_mul(options.loops) || is_paced) {
        let message = format!(
            "fio counts {ios} I/Os for each file of {asked_bytes} bytes, of which one does something: a rate or a part of them means \
             something else here"
        );
        return Err(("bs", message, "make bs= as large as filesize="));
    }
    let endless = options.time_based && options.runtime_ns.is_some();
    Ok((asked_bytes, counted, (!endless).then_some(all / ios)))
}

/// So many I/Os fio does: `part` in each of its loops, or what `io_size` allows; and where all loops have done less than `io_size`, more
/// of them, but no more than `io_size` for each loop that was asked for.
fn total((part, io_size): (u64, Option<u64>), options: &Options) -> u64 {
    let part = io_size.map_or(part, |io_size| part.min(io_size));
    let mut all = part.saturating_mul(options.loops);
    if let Some(io_size) = io_size.filter(|io_size| all < *io_size && part > 0) {
        let more = (io_size - all).div_ceil(part).saturating_mul(part);
        all = all.saturating_add(more).min(io_size.saturating_mul(options.loops));
    }
    options.number_ios.map_or(all, |count| all.min(count.saturating_mul(options.loops)))
}

/// How fio makes what a job is to find.
fn made(options: &Options, engine: EntryEngine) -> Option<LayoutKind> {
    if engine.makes() {
        return None;
    }
    if engine.are_directories {
        return Some(LayoutKind::Filled);
    }
    let has_size = options.size.is_some() || options.filesize.is_some();
    (options.allow_create && !options.create_on_open && has_size).then(|| options.layout())
}

/// Says where jobs of a group use the same entries, or are of other engines.
pub(crate) fn check_group(
    context: &mut ReadingContext,
    group: &[&JobSection],
    workloads: &[Workload],
    trees: &[TreeSpec],
) {
    let of_names = |job: &&&JobSection| job.options.entries.is_some();
    let (Some(first), Some(other)) =
        (group.iter().find(of_names), group.iter().find(|job| job.options.entries.is_none()))
    else {
        return same_names(context, workloads, trees);
    };
    let message = format!("`{}` is of an engine for names, and runs at the same time as `{}`", first.name, other.name);
    let found = Diagnostic::error("names", first.span, message);
    context
        .push(found.help("put `stonewall` into the second one: jobs on names and jobs on data are runs of their own"));
}

fn same_names(context: &mut ReadingContext, workloads: &[Workload], trees: &[TreeSpec]) {
    let mut seen: Vec<(&TreeSpec, &str)> = Vec::new();
    for workload in workloads {
        let uses = workload.load.tree().map_or(&[][..], |load| &load.uses);
        let Some(spec) = uses.first().and_then(|one| trees.get(one.tree)) else { continue };
        if let Some((_, other)) = seen.iter().find(|(one, _)| (&one.name, &one.anchor) == (&spec.name, &spec.anchor)) {
            let message = format!("jobs `{other}` and `{}` use the same names at the same time", workload.name);
            let found = Diagnostic::error("names", workload.span, message);
            context.push(found.help("put $jobname and $jobnum into filename_format=, or give them a directory= each"));
            return;
        }
        seen.push((spec, &workload.name));
    }
}
