//! Trees, their workloads and how they are made as `fsd=`, `fwd=` and `format=`.

use crate::print_runs::Block;
use crate::print_words::{list, open_flags, percent, quoted, sizes};
use crate::value::{self, Unit};
use parameter_text::shortest::bytes;
use plan::generate::OperationKind;
use plan::{
    FileOrder, FilePlace, FileSelect, FileSizes, FlowStep, FormatTask, OfferedRate, OpenFlags, Plan, Run, StopAfter,
    TransferSize, TreeLoad, TreeShape, TreeTask, Workload,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How the trees of a run are made before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FormatOfRun {
    task: FormatTask,
    /// The run itself is not in the plan.
    only: bool,
}

/// The runs that are no formats, each with the format before it. A format without a run becomes one that nothing else is said of.
pub(crate) fn without_formats(runs: &[Run]) -> (Vec<Run>, Vec<Option<FormatOfRun>>) {
    let (mut out, mut formats) = (Vec::with_capacity(runs.len()), Vec::with_capacity(runs.len()));
    let mut before = None;
    for (at, run) in runs.iter().enumerate() {
        let Some(task) = task_of(run) else {
            out.push(run.clone());
            formats.push(before.take());
            continue;
        };
        if runs.get(at + 1).is_some_and(|next| belongs(run, task, next)) {
            before = Some(FormatOfRun { task, only: false });
        } else {
            out.push(stand_in(run));
            formats.push(Some(FormatOfRun { task, only: true }));
        }
    }
    (out, formats)
}

fn loads(run: &Run) -> impl Iterator<Item = &TreeLoad> {
    run.workloads.iter().filter_map(|workload| workload.load.tree())
}

fn task_of(run: &Run) -> Option<FormatTask> {
    loads(run).find_map(|load| match load.task {
        TreeTask::Format(task) if run.format => Some(task),
        _ => None,
    })
}

/// Is this the format of the run behind it?
fn belongs(format: &Run, task: FormatTask, next: &Run) -> bool {
    let trees = |run: &Run| {
        let mut trees: Vec<usize> = loads(run).flat_map(|load| load.uses.iter().map(|one| one.tree)).collect();
        trees.sort_unstable();
        trees.dedup();
        trees
    };
    !task.only_deletes
        && !task.limited
        && task_of(next).is_none()
        && format.title == format!("format_for_{}", next.name)
        && format.loops == next.loops
        && format.interval_ns == next.interval_ns
        && trees(format) == trees(next)
}

/// The plan without fio's jobs on names, which Vdbench's language does not have.
pub(crate) fn without_entry_jobs(plan: &Plan, unsaid: &mut Vec<String>) -> Plan {
    let is_one = |workload: &Workload| workload.load.tree().is_some_and(|load| load.entries.is_some());
    let mut plain = plan.clone();
    plain.runs.retain(|run| {
        let has_one = run.workloads.iter().any(is_one);
        if has_one {
            unsaid.push(format!("{} works on names in a directory, as fio's filestat and its kin do", run.title));
        }
        !has_one
    });
    if plain.runs.len() < plan.runs.len() {
        plain.trees.clear();
    }
    plain
}

/// A run that would have been after a format, had it not been left out.
fn stand_in(format: &Run) -> Run {
    let name = format.name.strip_prefix("format_for_").unwrap_or(&format.name).to_string();
    let load = TreeLoad {
        uses: loads(format).flat_map(|load| load.uses.clone()).collect(),
        task: TreeTask::One(OperationKind::Read),
        threads: 1,
        select: FileSelect::Sequential,
        access: FileOrder::Sequential,
        stop_after: None,
        transfer: TransferSize::Fixed(4096),
        open: OpenFlags::default(),
        destination: None,
        sync_every: None,
        entries: None,
    };
    let content = format.workloads.first().map(|workload| workload.content.clone()).unwrap_or_default();
    let workload = Workload { content, ..Workload::of_tree(format!("{name}_trees"), load, format.span) };
    Run {
        title: name.clone(),
        name,
        workloads: vec![workload],
        elapsed_ns: format.elapsed_ns.or(Some(format.interval_ns.saturating_mul(2))),
        format: false,
        rate: OfferedRate::Max,
        ..format.clone()
    }
}

/// `format=` for a block of runs, of whose runs `formats` says how their trees are made.
pub(crate) fn format_words(
    block: &Block<'_>,
    formats: &[Option<FormatOfRun>],
    unsaid: &mut Vec<String>,
) -> Option<String> {
    let unit = block.rates.len().max(1);
    let firsts: Vec<Option<FormatOfRun>> = formats.iter().step_by(unit).copied().collect();
    let first = firsts.first().copied().flatten();
    let is_all = firsts.iter().all(|one| *one == first);
    let is_once = firsts.len() > 1 && firsts.iter().skip(1).all(Option::is_none);
    let is_inner = formats.iter().enumerate().any(|(at, one)| at % unit > 0 && one.is_some());
    if is_inner || !(is_all || is_once) {
        unsaid.push(format!("rd={} makes its trees before some of its runs only", block.first.name));
    }
    let mut uses = loads(block.first).flat_map(|load| &load.uses);
    if first.is_none() && uses.any(|one| one.is_taken_whole) {
        return Some(list(&["no", "complete"]));
    }
    let FormatOfRun { task, only } = first?;
    let words = [
        (task.only_deletes, "clean"),
        (!task.deletes, "restart"),
        (task.only_directories, "directories"),
        (task.limited, "limited"),
        (only && !task.only_deletes, "only"),
        (!is_all && is_once, "once"),
    ];
    let words: Vec<&str> = words.iter().filter(|(is_said, _)| *is_said).map(|(_, word)| *word).collect();
    Some(if words.is_empty() { "yes".to_string() } else { list(&words) })
}

/// Says where a loop over rates has one of them only: in the file that is no loop.
pub(crate) fn check_rates(block: &Block<'_>, unsaid: &mut Vec<String>) {
    if block.loops.iter().any(|(name, values)| name == "fwdrate" && values.len() == 1) {
        unsaid.push(format!("rd={} has a list of rates (fwdrate=), and only one of them is run", block.first.name));
    }
}

/// Says where threads that a loop gives to a run are divided otherwise than among the trees of each workload.
pub(crate) fn check_threads(block: &Block<'_>, unsaid: &mut Vec<String>) {
    let is_as_printed = |run: &Run| {
        let Some(text) = run.loops.iter().find(|(name, _)| name == "threads").map(|(_, text)| text) else {
            return true;
        };
        let Ok(threads) = text.parse::<usize>() else { return true };
        loads(run).all(|load| load.threads as usize == (threads / load.uses.len().max(1)).max(1))
    };
    if block.first.is_of_trees() && !block.runs.iter().all(is_as_printed) {
        let name = &block.first.name;
        unsaid
            .push(format!("rd={name}: its threads are divided among operations, or ways to open files (operations=)"));
    }
}

/// The lines of `fsd=`, and of `fwd=format`.
pub(crate) fn systems(plan: &Plan, out: &mut String, unsaid: &mut Vec<String>) {
    let opens = format_opens(plan, unsaid);
    for (at, tree) in plan.trees.iter().enumerate() {
        let shape = base_shape(plan, at, unsaid);
        let mut line = format!("fsd={},anchor={}", tree.name, quoted(&tree.anchor.display().to_string()));
        let mut add = |name: &str, value: String| {
            let _ = write!(line, ",{name}={value}");
        };
        if !shape.is_listed() {
            add("depth", shape.depth.to_string());
            add("width", shape.width.to_string());
            add("files", shape.files.to_string());
        }
        match &shape.sizes {
            FileSizes::Fixed(size) => add("sizes", bytes(*size)),
            FileSizes::Around(mean) => add("sizes", format!("({},0)", bytes(*mean))),
            FileSizes::Listed(file) => add("shape", quoted(&file.display().to_string())),
            FileSizes::Mix(mix) => {
                let parts: Vec<String> =
                    mix.iter().flat_map(|(size, percent)| [bytes(*size), percent.to_string()]).collect();
                add("sizes", format!("({})", parts.join(",")));
            }
        }
        if shape.place == FilePlace::All {
            add("distribution", "all".to_string());
        }
        if let Some(total) = shape.total_bytes {
            add("totalsize", bytes(total));
        }
        if let Some(set) = shape.working_set_bytes {
            add("wss", bytes(set));
        }
        if shape.shared {
            add("shared", "yes".to_string());
        }
        if let Some(open) = opens.get(&at).filter(|open| **open != OpenFlags::default()) {
            add("openflags", open_flags(*open));
        }
        // Otherwise an `sd=` says it.
        let journal = crate::print_validation::place_of_journal(plan.settings.validation.as_ref());
        if let Some(directory) = journal.filter(|_| plan.targets.is_empty()) {
            let _ = write!(line, ",journal={directory}");
        }
        out.push_str(&line);
        out.push('\n');
    }
}

/// `fwd=format`, where it is not as Vdbench's own.
pub(crate) fn format_line(plan: &Plan, out: &mut String, unsaid: &mut Vec<String>) {
    let mut found = formats(plan).map(|load| (load.threads, load.transfer.max_bytes()));
    let Some((threads, transfer)) = found.next() else { return };
    if found.any(|other| other != (threads, transfer)) {
        unsaid.push("trees that are made with different threads or transfer sizes".to_string());
    }
    if (threads, transfer) != (8, 128 << 10) {
        let _ = writeln!(out, "fwd=format,threads={threads},xfersize={}", bytes(transfer));
    }
}

fn formats(plan: &Plan) -> impl Iterator<Item = &TreeLoad> {
    plan.runs.iter().flat_map(loads).filter(|load| matches!(load.task, TreeTask::Format(_)))
}

/// How each tree is opened when it is made.
fn format_opens(plan: &Plan, unsaid: &mut Vec<String>) -> BTreeMap<usize, OpenFlags> {
    let mut opens = BTreeMap::new();
    for load in formats(plan) {
        for one in &load.uses {
            if *opens.entry(one.tree).or_insert(load.open) != load.open {
                unsaid.push(format!("fsd={} is not always opened alike when it is made", name_of(plan, one.tree)));
            }
        }
    }
    opens
}

fn name_of(plan: &Plan, tree: usize) -> &str {
    plan.trees.get(tree).map_or("", |tree| tree.name.as_str())
}

/// The shape of a tree without what the loops of runs make of it.
fn base_shape(plan: &Plan, tree: usize, unsaid: &mut Vec<String>) -> TreeShape {
    let uses = || {
        let all = |run| loads(run).flat_map(|load: &TreeLoad| load.uses.iter().chain(&load.destination));
        plan.runs.iter().flat_map(move |run| {
            all(run).filter(move |one| one.tree == tree).map(move |one| (run.loops.as_slice(), &one.shape))
        })
    };
    let Some((_, first)) = uses().next() else { return unused() };
    let of = |name: &str| {
        let is_free = |loops: &[(String, String)]| !loops.iter().any(|(other, _)| other == name);
        uses().find(|(loops, _)| is_free(loops)).map_or(first, |(_, shape)| shape)
    };
    let mut base = TreeShape {
        depth: of("depth").depth,
        width: of("width").width,
        files: of("files").files,
        sizes: of("sizes").sizes.clone(),
        working_set_bytes: of("wss").working_set_bytes,
        total_bytes: of("totalsize").total_bytes,
        ..first.clone()
    };
    // Where all runs loop over it, only parts of a whole tell what that is.
    let part = uses().find_map(|(loops, shape)| {
        let part = totalsize_of(loops).filter(|part| part.1 || part.0 == 0.0)?;
        let whole = shape.total_bytes? as f64 * if part.1 { 100.0 / part.0 } else { 1.0 };
        Some(value::to_u64(whole.ceil()))
    });
    if uses().all(|(loops, _)| totalsize_of(loops).is_some()) {
        base.total_bytes = part;
    }
    if uses().any(|(loops, shape)| looped(&base, loops) != *shape) {
        unsaid.push(format!("fsd={} has shapes that do not come from the loops of its runs", name_of(plan, tree)));
    }
    base
}

/// Of a tree that no run uses.
fn unused() -> TreeShape {
    crate::file_systems::FileSystem::default().shape
}

/// A number, and whether it is a percentage.
fn totalsize_of(loops: &[(String, String)]) -> Option<(f64, bool)> {
    loops.iter().find(|(name, _)| name == "totalsize").and_then(|(_, text)| value::parse(text, Unit::Plain))
}

/// A shape as these loops make it.
fn looped(base: &TreeShape, loops: &[(String, String)]) -> TreeShape {
    let mut shape = base.clone();
    for (name, text) in loops {
        let Some((number, is_percent)) = value::parse(text, Unit::Plain) else { continue };
        let whole = value::to_u64(number);
        match name.as_str() {
            "depth" => shape.depth = u32::try_from(whole).unwrap_or(u32::MAX),
            "width" => shape.width = u32::try_from(whole).unwrap_or(u32::MAX),
            "files" => shape.files = whole,
            "sizes" => shape.sizes = FileSizes::Fixed(whole),
            "wss" => shape.working_set_bytes = Some(whole).filter(|bytes| *bytes > 0),
            "totalsize" if is_percent => {
                let part = |bytes: u64| value::to_u64((bytes as f64 * number / 100.0).floor()).max(1);
                shape.total_bytes = base.total_bytes.map(part);
            }
            "totalsize" if whole > 0 => shape.total_bytes = Some(whole),
            _ => {}
        }
    }
    shape
}

/// The line of `fwd=`.
pub(crate) fn work_line(
    plan: &Plan,
    run: &Run,
    (name, workload, load): (&str, &Workload, &TreeLoad),
    unsaid: &mut Vec<String>,
) -> String {
    let names: Vec<&str> = load.uses.iter().map(|one| name_of(plan, one.tree)).collect();
    let mut line = format!("fwd={name},fsd={}", list(&names));
    let mut add = |name: &str, value: String| {
        let _ = write!(line, ",{name}={value}");
    };
    let is_looped = |name: &str| run.loops.iter().any(|(other, _)| other == name);
    match &load.task {
        TreeTask::One(kind) if load.destination.is_some() || !is_looped("operations") => {
            add("operation", kind.name().to_string());
        }
        TreeTask::Mixed { read } if !is_looped("rdpct") => add("rdpct", percent(*read)),
        TreeTask::Flow(steps) if !is_looped("operations") => add("flow", flow(steps)),
        _ => {}
    }
    match load.select {
        FileSelect::Sequential => {}
        FileSelect::Random => add("fileselect", "random".to_string()),
        FileSelect::Once => add("fileselect", "once".to_string()),
        FileSelect::Poisson { midpoint: None } | FileSelect::Skewed { midpoint: None } => {
            add("fileselect", "poisson".to_string());
        }
        FileSelect::Poisson { midpoint: Some(midpoint) } | FileSelect::Skewed { midpoint: Some(midpoint) } => {
            add("fileselect", format!("(poisson,{midpoint})"));
        }
    }
    match load.access {
        FileOrder::Sequential => {}
        FileOrder::SequentialDelete => add("fileio", "(sequential,delete)".to_string()),
        FileOrder::Random => add("fileio", "random".to_string()),
        FileOrder::RandomShared => add("fileio", "(random,shared)".to_string()),
    }
    match load.stop_after {
        Some(StopAfter::Transfers(count)) => add("stopafter", count.to_string()),
        Some(StopAfter::Fraction(part)) => add("stopafter", format!("{}%", percent(part))),
        None => {}
    }
    if let Some(sync) = load.sync_every {
        add(if sync.data_only { "fdatasync" } else { "fsync" }, sync.writes.to_string());
    }
    if !is_looped("xfersize") {
        add("xfersize", sizes(&load.transfer));
    }
    if !is_looped("threads") {
        // They are divided among the trees.
        let trees = u32::try_from(load.uses.len()).unwrap_or(u32::MAX);
        add("threads", load.threads.saturating_mul(trees).to_string());
    }
    if workload.share_fixed {
        add("skew", percent(workload.share));
    }
    if let Some(target) = &load.destination {
        add("target", name_of(plan, target.tree).to_string());
    }
    let opens = format_opens(plan, &mut Vec::new());
    let own = |tree: usize| opens.get(&tree).copied().unwrap_or_default();
    if load.open != OpenFlags::default() {
        add("openflags", open_flags(load.open));
    } else if load.uses.iter().any(|one| own(one.tree) != load.open) && !is_stand_in(run, name) {
        unsaid.push(format!("`{name}` opens its trees without the flags that they are made with"));
    }
    line.push('\n');
    line
}

/// The operations of a flow.
fn flow(steps: &[FlowStep]) -> String {
    let mut words = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        if step.is_next && at > 0 {
            words.push("next".to_string());
        }
        let name = step.op.name();
        words.push(match step.bytes {
            None => name.to_string(),
            Some((from, to)) if from == to => format!("{name}:{}", bytes(from)),
            Some((from, to)) => format!("{name}:{}-{}", bytes(from), bytes(to)),
        });
    }
    list(&words)
}

/// Of a run that is not in the plan nothing matters but its trees.
fn is_stand_in(run: &Run, name: &str) -> bool {
    name == format!("{}_trees", run.name)
}
