//! Run definitions of file workloads into runs: which trees with which shape, which operations, and how trees are made before.

use crate::commands;
use crate::expansion_input::ExpansionInput;
use crate::file_systems::{FileSystem, shown};
use crate::file_works::{FileWork, FormatWork, check_mix, needs_target};
use crate::flow_conflicts;
use crate::flows;
use crate::run::{Definition, Loop, RateParam, RateValue};
use crate::shares::{SharePart, divide};
use crate::to_plan::{Rates, entries_of_loops, has_room, loop_texts, pick, run_of, threads};
use crate::value::to_u64;
use parameter_text::{Diagnostic, ReadingContext};
use plan::commands::unique_name;
use plan::generate::OperationKind;
use plan::{
    Arrivals, DataLimit, FileOrder, FileSelect, FileSizes, FormatTask, Load, OfferedRate, OpenFlags, Run,
    StopCondition, TextSpan, TransferSize, TreeLoad, TreeShape, TreeTask, TreeUse, Workload,
};
use std::collections::{BTreeMap, BTreeSet};
use tree::TreeLayout;

/// The most files whose sizes are added up one by one.
const FILES_ADDED: u32 = 1_000_000;

/// Loop values of one run.
type Values<'a> = [(&'a Loop, usize)];

/// One file workload of a run with the trees that it uses.
struct Chosen {
    work: FileWork,
    systems: Vec<usize>,
    target: Option<usize>,
}

/// Expands one definition.
pub(crate) fn expand(
    context: &mut ReadingContext,
    material: &ExpansionInput<'_>,
    definition: &Definition,
    out: &mut Vec<Run>,
) {
    if !check(context, definition) {
        return;
    }
    let Some(chosen) = choose(context, material, definition) else { return };
    let Some(rates) = rates(context, definition) else { return };
    let entries: usize = chosen
        .iter()
        .map(|one| (one.systems.len() * 12 + one.work.weight() + 48) * definition.operations.len().max(1))
        .sum::<usize>()
        + entries_of_loops(definition);
    let rooms = rates.0.len() + usize::from(definition.format.requested);
    let Some(combinations) = has_room(context, definition, rooms, entries, out.len()) else { return };
    for combination in 0..combinations {
        let values = pick(&definition.loops, combination);
        let Some(workloads) = workloads(context, material, definition, &chosen, &values) else { return };
        if !check_trees(context, material, definition, &workloads) {
            return;
        }
        if definition.format.requested && !(definition.format.once && combination > 0) {
            out.push(format(material, definition, &workloads, &values));
        }
        if !definition.format.only && !runs(context, definition, &workloads, &values, &rates, out) {
            return;
        }
    }
}

/// What Vdbench refuses, and what files do not have.
fn check(context: &mut ReadingContext, definition: &Definition) -> bool {
    let name = shown(&definition.name);
    let found = if !definition.works.is_empty() {
        Diagnostic::error("conflict", definition.span, format!("rd={name} has wd= and fwd="))
            .help("a run has either raw or file workloads")
    } else if definition.burst.is_some() {
        let message = format!("rd={name}: distribution=variable and spike are for sd=, not for files");
        Diagnostic::error("burst", definition.span, message).help("leave variable and spike out")
    } else if [definition.stop.total, definition.stop.read, definition.stop.written]
        .iter()
        .any(|limit| matches!(limit, Some(DataLimit::TargetSizes(_))))
    {
        let message = format!("rd={name}: maxdata= below 100, which is multiples of the size, is for sd= only");
        Diagnostic::error("maxdata", definition.span, message).help("write bytes: maxdata=10g")
    } else if definition.format.once && definition.format.requested && definition.loops.is_empty() {
        Diagnostic::error("format", definition.format.span, "format=once is for an rd= with lists of values")
            .help("as in Vdbench: without such a list every format is done once; take `once` out")
    } else {
        return true;
    };
    context.push(found);
    false
}

/// The file workloads of a run, each with its trees.
fn choose(context: &mut ReadingContext, material: &ExpansionInput<'_>, definition: &Definition) -> Option<Vec<Chosen>> {
    let name = shown(&definition.name);
    // As it stands behind the last fwd=.
    let mut own = material.file_works.default.clone();
    own.name.clone_from(&definition.name);
    let works: Vec<&FileWork> = if definition.file_works.is_empty() {
        if definition.systems.is_empty() {
            let found = Diagnostic::error("no-workload", definition.span, format!("rd={name} has no workload"));
            context.push(found.help("add fwd=NAME, or fsd=NAME to make the workload of fwd=default"));
            return None;
        }
        vec![&own]
    } else {
        let indices = material.file_work_names.select(context, &definition.file_works);
        indices.into_iter().filter_map(|at| material.file_works.list.get(at)).collect()
    };
    let mut out = Vec::with_capacity(works.len());
    for work in works {
        let wanted = if definition.systems.is_empty() { &work.systems } else { &definition.systems };
        if wanted.is_empty() {
            let message = format!("fwd={} has no fsd=, and rd={name} gives none", shown(&work.name));
            context.push(Diagnostic::error("no-fsd", work.span, message).help("add fsd=NAME to the fwd="));
            return None;
        }
        let systems = material.system_names.select(context, wanted);
        if systems.is_empty()
            || !check_mix(context, work)
            || !check_operations(context, definition, work)
            || !flow_conflicts::check_run(context, definition, work)
        {
            return None;
        }
        let target = match &work.target {
            Some(target) => Some(*material.system_names.select(context, std::slice::from_ref(target)).first()?),
            None => None,
        };
        if !context.work(systems.len() * 4, definition.span) {
            return None;
        }
        out.push(Chosen { work: work.clone(), systems, target });
    }
    (!out.is_empty()).then_some(out)
}

/// `rdpct=` beside `operations=` of the run.
fn check_operations(context: &mut ReadingContext, definition: &Definition, work: &FileWork) -> bool {
    let is_read_or_write = |kind: &OperationKind| matches!(kind, OperationKind::Read | OperationKind::Write);
    let operations = &definition.operations;
    if work.read.is_none() || (operations.len() <= 1 && operations.iter().all(is_read_or_write)) {
        return true;
    }
    let message = format!("rd={} has operations=, and fwd={} has rdpct=", shown(&definition.name), shown(&work.name));
    let found = Diagnostic::error("conflict", definition.span, message);
    context.push(found.help("as in Vdbench: beside rdpct= there may be one of them, read or write"));
    false
}

/// The rates of a definition; a list of them is one of the loops.
fn rates(context: &mut ReadingContext, definition: &Definition) -> Option<Rates> {
    let arrivals = Arrivals { gaps: definition.gaps, burst: None };
    let Some((rate, span)) = definition.rate.as_ref().filter(|_| definition.file_rate) else {
        if !definition.rate_wrong {
            let message = format!("rd={} has no fwdrate=", shown(&definition.name));
            let found = Diagnostic::error("no-fwdrate", definition.span, message);
            context.push(found.help("add fwdrate=1000, fwdrate=max or fwdrate=curve"));
        }
        return None;
    };
    let one = match rate {
        RateParam::Curve => return Some((crate::to_plan::curve(definition), arrivals)),
        RateParam::List { values, .. } => values.first()?,
    };
    if *one == RateValue::Number(0.0) {
        context.push(Diagnostic::error("out-of-range", *span, "`fwdrate` is 0").help("allowed: above 0, or max"));
        return None;
    }
    Some((vec![(crate::to_plan::rate_of(*one).0, String::new(), None)], arrivals))
}

/// The rate that the loops say.
fn looped_rate(values: &Values<'_>) -> Option<OfferedRate> {
    let (one, at) = values.iter().find(|(one, _)| one.name == "fwdrate")?;
    Some(match one.values[*at].0 {
        rate if rate == f64::INFINITY => OfferedRate::Max,
        rate if rate < 0.0 => OfferedRate::FractionOfLastMax(-rate),
        rate => OfferedRate::PerSecond(rate),
    })
}

/// The shape of a tree in one run; `None`, with an error, when it cannot be.
fn shape(
    context: &mut ReadingContext,
    material: &ExpansionInput<'_>,
    definition: &Definition,
    system: usize,
    values: &Values<'_>,
) -> Option<TreeShape> {
    let system = &material.systems[system];
    let mut shape = system.shape.clone();
    for (one, at) in values {
        let is_form = matches!(one.name.as_ref(), "depth" | "width" | "files" | "sizes");
        if is_form && shape.is_listed() {
            let message = format!("a loop over {} of fsd={}, which has shape=", one.name, shown(&system.name));
            context.push(Diagnostic::error("shape", one.span, message).help("use another fsd= without shape= for it"));
            return None;
        }
        let value = one.values[*at].0;
        let count = |value: f64| u32::try_from(to_u64(value)).unwrap_or(u32::MAX);
        match one.name.as_ref() {
            "depth" => shape.depth = count(value),
            "width" => shape.width = count(value),
            "files" => shape.files = to_u64(value),
            "sizes" => shape.sizes = FileSizes::Fixed(to_u64(value)),
            "wss" => shape.working_set_bytes = Some(to_u64(value)).filter(|bytes| *bytes > 0),
            // 0 is what the definition says.
            "totalsize" if value > 0.0 => shape.total_bytes = Some(to_u64(value)),
            "totalsize" if value < 0.0 => {
                let Some(bytes) = system.shape.total_bytes else {
                    let message = format!("totalsize={}% of fsd={}, which has none", -value, shown(&system.name));
                    context.push(Diagnostic::error("totalsize", one.span, message).help("add totalsize= to the fsd="));
                    return None;
                };
                shape.total_bytes = Some(cut(bytes as f64 * -value / 100.0).max(1));
            }
            _ => {}
        }
    }
    let name = format!("rd={}, fsd={}", shown(&definition.name), shown(&system.name));
    match whole_bytes(context, definition, &shape) {
        Ok(Some(bytes)) => check_parts(context, system, &name, &shape, bytes).then_some(shape),
        Ok(None) => None,
        Err(error) => {
            context.push(Diagnostic::error("too-large", system.span, format!("{name}: {error}")));
            None
        }
    }
}

/// Bytes of all files of a tree, about so many where they are very many; `None` when they are too many to be added up. Sizes play no
/// part in what is to be numbered, and choosing those of all files takes long: it is done where a part of them is asked for.
fn whole_bytes(
    context: &mut ReadingContext,
    definition: &Definition,
    shape: &TreeShape,
) -> Result<Option<u64>, tree::TreeError> {
    // Shape files are read when the run is prepared.
    if shape.is_listed() {
        return Ok(Some(u64::MAX));
    }
    let files = TreeLayout::new(&TreeShape { sizes: FileSizes::Fixed(1), ..shape.clone() })?.files();
    let has_parts = shape.total_bytes.is_some() || shape.working_set_bytes.is_some();
    let about = |mean: f64| Ok(Some(to_u64(mean * f64::from(files) * 1.01)));
    match &shape.sizes {
        FileSizes::Fixed(bytes) => Ok(Some(bytes.saturating_mul(u64::from(files)))),
        _ if !has_parts => Ok(Some(u64::MAX)),
        FileSizes::Around(mean) if files > FILES_ADDED => about(*mean as f64),
        FileSizes::Mix(mix) if files > FILES_ADDED => {
            about(mix.iter().map(|(bytes, percent)| *bytes as f64 * percent / 100.0).sum())
        }
        _ if !context.work(files as usize / 16, definition.span) => Ok(None),
        _ => Ok(Some(TreeLayout::new(shape)?.total_bytes())),
    }
}

/// `totalsize=` and `wss=` are parts of what there is.
fn check_parts(
    context: &mut ReadingContext,
    system: &FileSystem,
    name: &str,
    shape: &TreeShape,
    whole_bytes: u64,
) -> bool {
    let total = shape.total_bytes;
    let wrong = match (total, shape.working_set_bytes) {
        (Some(total), _) if total > whole_bytes => {
            format!("totalsize={total} is more than the {whole_bytes} bytes of its files")
        }
        (_, Some(set)) if set > whole_bytes => format!("wss={set} is more than the {whole_bytes} bytes of its files"),
        (Some(total), Some(set)) if set > total => format!("wss={set} is more than totalsize={total}"),
        _ => return true,
    };
    let found = Diagnostic::error("too-large", system.span, format!("{name}: {wrong}"));
    context.push(found.help("as in Vdbench: lower it, or raise files=, width=, depth= or sizes="));
    false
}

/// Cut to a whole number, as Vdbench does.
fn cut(value: f64) -> u64 {
    to_u64(value.floor())
}

/// One workload for each file workload, operation of the run, and way in which its trees are opened.
fn workloads(
    context: &mut ReadingContext,
    material: &ExpansionInput<'_>,
    definition: &Definition,
    chosen: &[Chosen],
    values: &Values<'_>,
) -> Option<Vec<Workload>> {
    let mut shapes: BTreeMap<usize, TreeShape> = BTreeMap::new();
    for at in chosen.iter().flat_map(|one| one.systems.iter().chain(&one.target)) {
        if !shapes.contains_key(at) {
            shapes.insert(*at, shape(context, material, definition, *at, values)?);
        }
    }
    let is_taken_whole = definition.format.complete;
    let use_of = |tree| shapes.get(&tree).map(|shape| TreeUse { tree, shape: shape.clone(), is_taken_whole });
    let mut content = material.file_content.clone();
    let ratio = values.iter().find(|(one, _)| one.name == "compratio");
    content.compress_ratio = ratio.map_or(content.compress_ratio, |(one, at)| one.values[*at].0);
    let (mut out, mut parts, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for one in chosen {
        let own = [one.work.operation];
        let operations = if definition.operations.is_empty() { own.as_slice() } else { &definition.operations };
        let groups = by_flags(material, definition, one);
        for operation in operations {
            for (open, systems) in &groups {
                let mut stem = one.work.name.clone();
                if operations.len() > 1 {
                    stem = format!("{stem}_{}", operation.name());
                }
                if let Some(first) = systems.first().filter(|_| groups.len() > 1) {
                    stem = format!("{stem}_{}", material.systems[*first].name);
                }
                let mut load = load(&one.work, *operation, *open, values);
                load.threads = (load.threads / divisor(operations.len(), one.systems.len())).max(1);
                load.uses = systems.iter().filter_map(|at| use_of(*at)).collect();
                load.destination = destination(context, material, one, &load, use_of)?;
                let part = systems.len() as f64 / one.systems.len() as f64;
                let asked = one.work.skew.map(|(share, span)| (share * part, span));
                parts.push(SharePart { asked, units: systems.len() as f64 });
                let workload = Workload::of_tree(unique_name(&stem, &mut names), load, one.work.span);
                out.push(Workload { content: content.clone(), ..workload });
            }
        }
        note_of_threads(context, one, operations.len(), values);
        if !values.iter().any(|(one, _)| one.name == "operations") {
            note_of_sync(context, one, &out);
        }
    }
    let shares = divide(context, definition.span, &parts)?;
    for (workload, share) in out.iter_mut().zip(shares) {
        (workload.share, workload.share_fixed) = (share.share, share.fixed);
    }
    Some(out)
}

/// Threads are divided among operations, and then among trees.
fn divisor(operations: usize, systems: usize) -> u32 {
    u32::try_from(operations.saturating_mul(systems)).unwrap_or(u32::MAX).max(1)
}

fn note_of_threads(context: &mut ReadingContext, one: &Chosen, operations: usize, values: &Values<'_>) {
    let asked = threads(values).unwrap_or(one.work.threads);
    let divisor = divisor(operations, one.systems.len());
    let each = (asked / divisor).max(1);
    if u64::from(each) * u64::from(divisor) == u64::from(asked) {
        return;
    }
    let message = format!(
        "fwd={}: {asked} threads for {} trees and {operations} operations are {each} for each, as in Vdbench",
        shown(&one.work.name),
        one.systems.len()
    );
    context.note_once(&format!("threads {}", one.work.name), Diagnostic::note("threads", one.work.span, message));
}

/// Says where `fsync=` or `fdatasync=` of a file workload do nothing.
fn note_of_sync(context: &mut ReadingContext, one: &Chosen, workloads: &[Workload]) {
    let Some(span) = one.work.sync_span() else { return };
    let mut loads =
        workloads.iter().filter(|workload| workload.span == one.work.span).filter_map(|one| one.load.tree());
    let writes = |load: &TreeLoad| match &load.task {
        TreeTask::Flow(steps) => steps.iter().any(|step| step.op.moves_data() && step.op.changes_data()),
        TreeTask::One(kind) => *kind == OperationKind::Write,
        TreeTask::Mixed { .. } => true,
        TreeTask::Format(_) => false,
    };
    if !loads.any(writes) {
        let message = format!("fwd={} writes nothing that fsync= or fdatasync= could be for", shown(&one.work.name));
        let found = Diagnostic::note("no-effect", span, message);
        context.note_once(
            &format!("sync {}", one.work.name),
            found.help("they are for writes: operation=write, rdpct=, append and others in flows"),
        );
    }
}

/// Trees that are opened alike, the first of each in order.
fn by_flags(material: &ExpansionInput<'_>, definition: &Definition, one: &Chosen) -> Vec<(OpenFlags, Vec<usize>)> {
    let mut groups: Vec<(OpenFlags, Vec<usize>)> = Vec::new();
    for at in &one.systems {
        let open = definition.open.or(one.work.open).unwrap_or(material.systems[*at].open);
        match groups.iter_mut().find(|(other, _)| *other == open) {
            Some((_, systems)) => systems.push(*at),
            None => groups.push((open, vec![*at])),
        }
    }
    groups
}

fn load(work: &FileWork, operation: OperationKind, open: OpenFlags, values: &Values<'_>) -> TreeLoad {
    let mut task = work.flow.clone().map_or_else(|| flows::task(operation), TreeTask::Flow);
    let (mut read, mut transfer) = (work.read, work.transfer.clone());
    for (one, at) in values {
        let (value, text) = &one.values[*at];
        match one.name.as_ref() {
            "xfersize" => transfer = TransferSize::Fixed(to_u64(*value)),
            "rdpct" => read = Some(*value),
            "operations" => task = OperationKind::of_name(text).map_or(task, flows::task),
            _ => {}
        }
    }
    // To Vdbench rdpct= wins over the operation.
    let task = read.map_or(task, |read| TreeTask::Mixed { read });
    // A flow says itself when another file is next.
    let is_flow = matches!(task, TreeTask::Flow(_));
    TreeLoad {
        uses: Vec::new(),
        task,
        threads: threads(values).unwrap_or(work.threads),
        select: work.selection(),
        access: work.access,
        stop_after: work.stop_after.filter(|_| !is_flow),
        transfer,
        open,
        destination: None,
        sync_every: work.sync,
        entries: None,
    }
}

/// Where copies go: the outer `None` is an error.
fn destination(
    context: &mut ReadingContext,
    material: &ExpansionInput<'_>,
    one: &Chosen,
    load: &TreeLoad,
    use_of: impl Fn(usize) -> Option<TreeUse>,
) -> Option<Option<TreeUse>> {
    let TreeTask::One(operation) = load.task else { return Some(None) };
    if !needs_target(operation) {
        return Some(None);
    }
    let name = shown(&one.work.name);
    let Some(target) = one.target.and_then(use_of) else {
        let message = format!("fwd={name}: operation={} has no target=", operation.name());
        context.push(Diagnostic::error("no-target", one.work.span, message).help("add target=NAME, another fsd="));
        return None;
    };
    for source in &load.uses {
        let form = |shape: &TreeShape| (shape.depth, shape.width, shape.files, shape.place, shape.sizes.clone());
        let (from, to) = (&material.systems[source.tree], &material.systems[target.tree]);
        if from.anchor() == to.anchor() {
            let message = format!("fwd={name}: target= is the tree of fsd={} itself", shown(&from.name));
            context.push(Diagnostic::error("target", one.work.span, message).help("name another fsd="));
            return None;
        }
        if form(&source.shape) != form(&target.shape) {
            let message =
                format!("fwd={name}: fsd={} and its target fsd={} differ", shown(&from.name), shown(&to.name));
            let help = "depth=, width=, files=, sizes= and distribution= of both must be the same";
            context.push(Diagnostic::error("target", one.work.span, message).help(help));
            return None;
        }
    }
    Some(Some(target))
}

/// In one run no directory is the anchor of two trees.
fn check_trees(
    context: &mut ReadingContext,
    material: &ExpansionInput<'_>,
    definition: &Definition,
    workloads: &[Workload],
) -> bool {
    let mut anchors = BTreeMap::new();
    let uses = workloads.iter().filter_map(|workload| workload.load.tree());
    for at in uses.flat_map(|load| load.uses.iter().chain(&load.destination)).map(|one| one.tree) {
        let system = &material.systems[at];
        let other = *anchors.entry(system.anchor()).or_insert(at);
        if other != at {
            let message = format!(
                "rd={} uses fsd={} and fsd={}, which have the same anchor",
                shown(&definition.name),
                shown(&material.systems[other].name),
                shown(&system.name)
            );
            context.push(Diagnostic::error("anchor", system.span, message).help("use one of them in each rd="));
            return false;
        }
        if system.shape.shared && !definition.format.suits_shared() {
            let message =
                format!("format= of rd={} and shared=yes of fsd={}", shown(&definition.name), shown(&system.name));
            let help = "as in Vdbench: an rd= with format=(clean,only), and then one with format=(restart,only)";
            context.push(Diagnostic::error("conflict", definition.format.span, message).help(help));
            return false;
        }
    }
    true
}

/// The run that makes the trees of a run.
fn format(material: &ExpansionInput<'_>, definition: &Definition, workloads: &[Workload], values: &Values<'_>) -> Run {
    let format = FormatWork { open: definition.open.or(material.file_works.format.open), ..material.file_works.format };
    let mut seen = BTreeSet::new();
    let uses = workloads.iter().filter_map(|workload| workload.load.tree()).flat_map(|load| &load.uses);
    let uses: Vec<&TreeUse> = uses.filter(|one| seen.insert(one.tree)).collect();
    let content = workloads.first().map(|workload| workload.content.clone()).unwrap_or_default();
    let made = makers(material.systems, format, definition.format.task(), &uses, definition.span);
    let title = format!("format_for_{}", definition.name);
    let made = made.into_iter().map(|workload| Workload { content: content.clone(), ..workload }).collect();
    Run {
        name: title.clone(),
        elapsed_ns: definition.format.limited.then_some(definition.elapsed_ns),
        warmup_ns: 0,
        pause_ns: 0,
        stop: StopCondition::default(),
        objectives: Vec::new(),
        format: true,
        ..run_of(definition, title, loop_texts(values), made, OfferedRate::Max)
    }
}

/// A workload for each tree that is made.
fn makers(
    systems: &[FileSystem],
    format: FormatWork,
    task: FormatTask,
    uses: &[&TreeUse],
    span: TextSpan,
) -> Vec<Workload> {
    let workload = |one: &&TreeUse| {
        let load = TreeLoad {
            uses: vec![(*one).clone()],
            task: TreeTask::Format(task),
            threads: format.threads,
            select: FileSelect::Sequential,
            access: FileOrder::Sequential,
            stop_after: None,
            transfer: TransferSize::Fixed(format.transfer_bytes),
            open: format.open.unwrap_or(systems[one.tree].open),
            destination: None,
            sync_every: None,
            entries: None,
        };
        let name = if uses.len() == 1 { "format".to_string() } else { format!("format_{}", systems[one.tree].name) };
        Workload { share: 1.0 / uses.len() as f64, ..Workload::of_tree(name, load, span) }
    };
    uses.iter().map(workload).collect()
}

/// `-c`: what is in an anchor is deleted before the first run that uses it.
pub(crate) fn clean_first(systems: &[FileSystem], format: FormatWork, runs: &mut Vec<Run>) {
    let mut seen = BTreeSet::new();
    let mut out = Vec::with_capacity(runs.len());
    for mut run in runs.drain(..) {
        let uses = run.workloads.iter().filter_map(|workload| workload.load.tree()).flat_map(|load| &load.uses);
        let new: Vec<TreeUse> = uses.filter(|one| seen.insert(systems[one.tree].anchor())).cloned().collect();
        if run.format {
            for workload in &mut run.workloads {
                if let Load::Tree(load) = &mut workload.load
                    && let TreeTask::Format(task) = &mut load.task
                {
                    task.deletes |= load.uses.iter().any(|one| new.contains(one));
                }
            }
        } else if !new.is_empty() {
            let task = FormatTask { deletes: true, only_deletes: true, ..FormatTask::default() };
            let title = format!("format_for_{}", run.name);
            out.push(Run {
                name: title.clone(),
                title,
                loops: Vec::new(),
                workloads: makers(systems, format, task, &new.iter().collect::<Vec<_>>(), run.span),
                rate: OfferedRate::Max,
                simulated_rate: None,
                arrivals: Arrivals::default(),
                elapsed_ns: None,
                warmup_ns: 0,
                pause_ns: 0,
                stop: StopCondition::default(),
                start_commands: Vec::new(),
                end_commands: Vec::new(),
                objectives: Vec::new(),
                format: true,
                ..run.clone()
            });
        }
        out.push(run);
    }
    *runs = out;
}

/// The runs of one combination of the loops; false when that is too much.
fn runs(
    context: &mut ReadingContext,
    definition: &Definition,
    workloads: &[Workload],
    values: &Values<'_>,
    (rates, arrivals): &Rates,
    out: &mut Vec<Run>,
) -> bool {
    for (rate, title, _) in rates {
        let loops = loop_texts(values);
        let Some(executed) = commands::workloads(context, definition, &loops, workloads) else { return false };
        let executed = workloads.iter().cloned().chain(executed).collect();
        let rate = looped_rate(values).unwrap_or(*rate);
        let title = format!("{}{title}", definition.name);
        out.push(Run { arrivals: arrivals.clone(), ..run_of(definition, title, loops, executed, rate) });
    }
    true
}
