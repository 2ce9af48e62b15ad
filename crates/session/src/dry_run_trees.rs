//! Directory trees of a dry run: what is in them, and what would be done there.

use crate::dry_run_text::{folded, share};
use crate::non_defaults::departures;
use crate::trees::Trees;
use plan::generate::OperationKind;
use plan::{
    FileOrder, FileSelect, FileSizes, FlowStep, FormatTask, Plan, StopAfter, TransferSize, TreeLoad, TreeNames,
    TreeShape, TreeSpec, TreeTask, TreeUse,
};
use quantity::figures::grouped;
use quantity::text::format_bytes;
use target::WritePolicy;
use tree::TreeLayout;

/// The most files whose sizes are added up one by one.
const FILES_ADDED: u64 = 10_000_000;

/// What a look at all trees finds.
#[derive(Debug, Default)]
pub(crate) struct TreeFinding {
    pub(crate) lines: Vec<String>,
    /// Would something be refused to protect data?
    pub(crate) is_refused: bool,
    /// What else stands in the way.
    pub(crate) obstacle: Option<String>,
}

/// Looks at every tree. What is only not there yet, or has no room now, stands in no plan's way: another command may change it before.
pub(crate) fn inspect(plan: &Plan, policy: &WritePolicy) -> TreeFinding {
    let found = Trees::inspect(plan, None);
    let found = found.and_then(|trees| trees.check(plan, policy));
    let threads = many_threads(plan).into_iter().flat_map(|sentence| folded(&format!("trees: {sentence}")));
    let mut lines: Vec<String> = threads.collect();
    match found {
        Ok(()) => TreeFinding { lines, ..TreeFinding::default() },
        Err(error) if error.is_refusal() => {
            lines.push(format!("trees: WOULD BE REFUSED: {error}"));
            TreeFinding { lines, is_refused: true, obstacle: None }
        }
        Err(error) if error.is_of_now() => {
            lines.push(format!("trees: as things are now, it would not begin: {error}"));
            TreeFinding { lines, ..TreeFinding::default() }
        }
        Err(error) => TreeFinding { lines, is_refused: false, obstacle: Some(error.to_string()) },
    }
}

/// So many threads for each processor wait for each other more than for anything else.
const THREADS_EACH: u64 = 64;

/// Says that a run has very many threads in trees, of the run that has most.
pub(crate) fn many_threads(plan: &Plan) -> Option<String> {
    let of = |run: &plan::Run| {
        let loads = run.workloads.iter().filter_map(|workload| workload.load.tree());
        loads.map(|load| u64::from(load.threads) * load.uses.len() as u64).sum::<u64>()
    };
    let (threads, run) = plan.runs.iter().map(|run| (of(run), run)).max_by_key(|(threads, _)| *threads)?;
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    (threads > THREADS_EACH * processors).then(|| {
        format!(
            "run {} has {} threads in trees on {processors} processors: they wait for a processor, and that is in all response times",
            run.title,
            grouped(threads as f64)
        )
    })
}

/// One line: name and anchor.
pub(crate) fn describe_tree(tree: &TreeSpec) -> String {
    let parents = if tree.makes_parents { ", made with the directories above it" } else { "" };
    format!("  {}  {}{parents}", tree.name, tree.anchor.display())
}

fn name_of(plan: &Plan, tree: usize) -> &str {
    plan.trees.get(tree).map_or("", |tree| tree.name.as_str())
}

/// One line: directories, files and bytes of a tree in one run.
pub(crate) fn describe_use(plan: &Plan, one: &TreeUse) -> String {
    let shape = &one.shape;
    if let TreeNames::Numbered { before, after } = &shape.names {
        let (last, bytes) = (shape.files.saturating_sub(1), sizes(&shape.sizes));
        let name = name_of(plan, one.tree);
        return format!("    entries of {name}: {before}0{after} to {before}{last}{after}, {bytes} if they are files");
    }
    if shape.is_listed() {
        let found = listed(shape).unwrap_or_else(|why| why.to_string());
        return format!("    tree {}: {found}", name_of(plan, one.tree));
    }
    let form = format!("depth {}, width {}, {} files in each directory", shape.depth, shape.width, shape.files);
    let found = match contents(shape) {
        Ok(found) => found,
        Err(why) => why.to_string(),
    };
    let whole = if one.is_taken_whole { "; taken for whole without a look, unless it is changed" } else { "" };
    format!("    tree {} ({form}): {found}{whole}", name_of(plan, one.tree))
}

fn contents(shape: &TreeShape) -> Result<String, tree::TreeError> {
    let counted = TreeLayout::new(&TreeShape { sizes: FileSizes::Fixed(1), ..shape.clone() })?;
    let files = u64::from(counted.files());
    let total = match &shape.sizes {
        FileSizes::Fixed(bytes) => format_bytes(bytes.saturating_mul(files)),
        _ if files <= FILES_ADDED => format_bytes(TreeLayout::new(shape)?.total_bytes()),
        sizes => format!("about {}", format_bytes(whole(mean_bytes(sizes) * files as f64))),
    };
    let mut said = vec![format!(
        "{} directories, {} files of {}, {total} in all",
        counted.directories(),
        files,
        sizes(&shape.sizes)
    )];
    said.extend(parts(shape));
    Ok(said.join(", "))
}

/// A tree as its shape file has it.
fn listed(shape: &TreeShape) -> Result<String, tree::TreeError> {
    let layout = TreeLayout::new(shape)?;
    let mut said = vec![format!(
        "{}, {} directories in {} levels, {} files, {} in all",
        sizes(&shape.sizes),
        layout.directories(),
        layout.levels(),
        layout.files(),
        format_bytes(layout.total_bytes())
    )];
    said.extend(parts(shape));
    Ok(said.join(", "))
}

fn parts(shape: &TreeShape) -> impl Iterator<Item = String> {
    let made = shape.total_bytes.map(|bytes| format!("only {} of them are made", format_bytes(bytes)));
    let used = shape.working_set_bytes.map(|bytes| format!("only {} of them are used", format_bytes(bytes)));
    made.into_iter().chain(used)
}

fn mean_bytes(sizes: &FileSizes) -> f64 {
    match sizes {
        FileSizes::Fixed(bytes) | FileSizes::Around(bytes) => *bytes as f64,
        FileSizes::Mix(mix) => mix.iter().map(|(bytes, percent)| *bytes as f64 * percent / 100.0).sum(),
        FileSizes::Listed(_) => 0.0,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sum of sizes is not negative")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

fn sizes(sizes: &FileSizes) -> String {
    match sizes {
        FileSizes::Fixed(bytes) => format_bytes(*bytes),
        FileSizes::Around(mean) => format!("half of {0} to one and a half of {0}", format_bytes(*mean)),
        FileSizes::Mix(mix) => {
            let parts: Vec<String> =
                mix.iter().map(|(bytes, percent)| format!("{} ({percent} %)", format_bytes(*bytes))).collect();
            parts.join(", ")
        }
        FileSizes::Listed(file) => format!("as the shape file {} lists it", file.display()),
    }
}

/// What is done: `read`, `70 % read, 4 KiB`, `makes the tree`.
pub(crate) fn task(load: &TreeLoad) -> String {
    let transfer = || match &load.transfer {
        TransferSize::Fixed(bytes) => format_bytes(*bytes),
        other => format!("{} on average", format_bytes(whole(other.mean_bytes()))),
    };
    match &load.task {
        TreeTask::One(kind) if kind.moves_data() => format!("{}, {}", kind.name(), transfer()),
        TreeTask::One(kind) => kind.name().to_string(),
        TreeTask::Mixed { read } => format!("{} read, {}", share(*read), transfer()),
        TreeTask::Flow(steps) => flow(steps, &transfer()),
        TreeTask::Format(FormatTask { only_deletes: true, .. }) => "deletes the tree".to_string(),
        TreeTask::Format(FormatTask { only_directories, deletes, .. }) => {
            let before = if *deletes { ", after deleting what is there of it" } else { ", what is missing of it" };
            let what = if *only_directories { "makes its directories" } else { "makes the tree" };
            format!("{what}{before}")
        }
    }
}

/// `flow of 4 operations: create, append 16 KiB; on another file: readfile by 4 KiB, delete`.
fn flow(steps: &[FlowStep], transfer: &str) -> String {
    let words = |step: &FlowStep| {
        let size = match step.bytes {
            Some((from, to)) if from == to => format_bytes(from),
            Some((from, to)) => format!("{} to {}", format_bytes(from), format_bytes(to)),
            None if takes_transfer(step.op) => transfer.to_string(),
            None => return step.op.name().to_string(),
        };
        let by = match step.op {
            OperationKind::ReadFile | OperationKind::WriteFile => "by ",
            OperationKind::Truncate => "to ",
            _ => "",
        };
        format!("{} {by}{size}", step.op.name())
    };
    let files = steps.chunk_by(|_, step| !step.is_next);
    let parts: Vec<String> = files.map(|part| part.iter().map(words).collect::<Vec<_>>().join(", ")).collect();
    let said = parts.join("; on another file: ");
    if steps.len() == 1 { said } else { format!("flow of {} operations: {said}", steps.len()) }
}

/// Has it the workload's transfer size where a flow says none?
fn takes_transfer(kind: OperationKind) -> bool {
    kind == OperationKind::Tail
        || kind == OperationKind::Punch
        || (kind.moves_data() && kind != OperationKind::CopyRange)
}

/// One line: trees, threads, and how files are chosen and used.
pub(crate) fn describe_load(plan: &Plan, name: &str, load: &TreeLoad) -> String {
    let names: Vec<&str> = load.uses.iter().map(|one| name_of(plan, one.tree)).collect();
    let mut said = vec![format!("{} thread(s) on each", load.threads)];
    if let Some(job) = &load.entries {
        let order = if job.is_random { "by chance" } else { "in order" };
        let count = job.operations.map_or("until its time is over".to_string(), |count| format!("{count} operations"));
        said.extend([format!("entries {order}, over and over"), count]);
        said.extend(job.made.map(|_| "what is missing of them is made before the first run".to_string()));
        said.extend(job.unlinks.then(|| "what was not there before is removed behind it".to_string()));
    } else if !matches!(load.task, TreeTask::Format(_)) {
        said.push(select(load.select));
        said.push(access(load.access).to_string());
    }
    said.extend(load.stop_after.map(|stop| match stop {
        StopAfter::Transfers(count) => format!("another file after {count} transfers"),
        StopAfter::Fraction(part) => format!("another file after {} of one", share(part)),
    }));
    said.extend(load.sync_every.map(|sync| {
        let word = if sync.data_only { "fdatasync" } else { "fsync" };
        format!("{word} after every {} write(s) to a file", sync.writes)
    }));
    said.extend(load.destination.as_ref().map(|one| format!("to tree {}", name_of(plan, one.tree))));
    let open = departures(&load.open, &[]);
    said.extend((!open.is_empty()).then_some(open));
    format!("    {name} on {}: {}", names.join(", "), said.join("; "))
}

fn select(select: FileSelect) -> String {
    match select {
        FileSelect::Sequential => "files in order".to_string(),
        FileSelect::Random => "files by chance".to_string(),
        FileSelect::Once => "each file once".to_string(),
        FileSelect::Poisson { midpoint } | FileSelect::Skewed { midpoint } => {
            let midpoint = midpoint.map_or(String::new(), |midpoint| format!(" (midpoint {midpoint})"));
            format!("the first files more often{midpoint}")
        }
    }
}

fn access(access: FileOrder) -> &'static str {
    match access {
        FileOrder::Sequential => "from the beginning to the end",
        FileOrder::SequentialDelete => "from the beginning to the end, deleted before they are written",
        FileOrder::Random => "at random places",
        FileOrder::RandomShared => "at random places, several threads in one file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{OpenFlags, SyncEvery};

    #[test]
    fn a_flow_is_said_in_words() {
        let step = |op, bytes, is_next| FlowStep { op, bytes, is_next };
        let mut load = TreeLoad {
            uses: Vec::new(),
            task: TreeTask::Flow(vec![
                step(OperationKind::Create, None, false),
                step(OperationKind::Append, Some((4096, 65_536)), false),
                step(OperationKind::Fsync, None, false),
                step(OperationKind::Open, None, true),
                step(OperationKind::ReadFile, None, false),
                step(OperationKind::Truncate, Some((0, 0)), false),
                step(OperationKind::Delete, None, true),
            ]),
            threads: 4,
            select: FileSelect::Sequential,
            access: FileOrder::Sequential,
            stop_after: None,
            transfer: TransferSize::Fixed(16_384),
            open: OpenFlags::default(),
            destination: None,
            sync_every: Some(SyncEvery { writes: 10, data_only: true }),
            entries: None,
        };
        assert_eq!(
            task(&load),
            "flow of 7 operations: create, append 4 KiB to 64 KiB, fsync; on another file: open, readfile by 16 KiB, \
             truncate to 0 B; on another file: delete"
        );
        assert!(describe_load(&Plan::default(), "fwd1", &load).contains("fdatasync after every 10 write(s) to a file"));
        load.task = TreeTask::Flow(vec![step(OperationKind::MmapRead, None, false)]);
        assert_eq!(task(&load), "mmapread 16 KiB");
    }
}
