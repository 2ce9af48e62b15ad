//! What the runs of a plan do in directory trees, as far as validation is concerned.

use crate::Validation;
use crate::tree::TreeValidation;
use plan::generate::OperationKind;
use plan::{FileOrder, FileSelect, OpenFlags, Plan, TextSpan, TransferSize, TreeLoad, TreeTask, TreeUse, Workload};
use std::sync::Arc;

/// No block is larger: what is said of a damaged one is said of so many bytes at most.
const BLOCK_MAX: u64 = 1 << 20;
/// Transfers past the page cache are multiples of this.
const DIRECT_BYTES: u64 = 4096;
/// Threads that read a tree at the end.
const THREADS: u32 = 8;

/// What runs do in the plan's trees, with the workload of each.
pub fn tree_loads(plan: &Plan) -> impl Iterator<Item = (&Workload, &TreeLoad)> {
    let workloads = plan.runs.iter().flat_map(|run| &run.workloads);
    workloads.filter_map(|workload| Some((workload, workload.load.tree()?)))
}

/// Each use of a tree.
pub fn tree_uses(plan: &Plan) -> impl Iterator<Item = &TreeUse> {
    tree_loads(plan).flat_map(|(_, load)| load.uses.iter().chain(&load.destination))
}

/// The largest number of bytes, at most 1 MiB, of which all transfers in trees are multiples; `None`: they are no multiples of sectors.
#[must_use]
pub fn tree_block_bytes(plan: &Plan) -> Option<u64> {
    let lengths = |transfer: &TransferSize| match transfer {
        TransferSize::Fixed(bytes) => vec![*bytes],
        TransferSize::Mix(mix) => mix.iter().map(|(bytes, _)| *bytes).collect(),
        TransferSize::Uniform { min, align, .. } => vec![*min, *align],
    };
    let common = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let block = tree_loads(plan).flat_map(|(_, load)| lengths(&load.transfer)).fold(BLOCK_MAX, common);
    (block > 0 && block.is_multiple_of(stamp::SECTOR_BYTES as u64)).then_some(block)
}

/// Why what a workload does in a tree cannot be proved, a sentence; `None`: it can.
#[must_use]
pub fn tree_load_mistake(workload: &Workload, load: &TreeLoad) -> Option<String> {
    let (name, content) = (&workload.name, &workload.content);
    if load.entries.is_some() {
        return Some(format!("{name}: numbered files of a job in a directory cannot be validated: give it a filename"));
    }
    if let TreeTask::Flow(steps) = &load.task {
        let step = steps.first().map_or("flow", |step| step.op.name());
        return Some(format!(
            "{name}: operations that Vdbench does not have, and flows of them ({step} …), cannot be validated yet: use reads, writes, \
             creates, deletes, copies and moves"
        ));
    }
    if !load.changes() {
        return None;
    }
    if content.pattern.is_some() || !content.literal.is_empty() {
        return Some(format!("{name}: a pattern has no room for the stamps of data validation: leave the pattern out"));
    }
    if content.dedup.is_some_and(|dedup| dedup.ratio > 1.0) {
        return Some(format!(
            "{name}: stamped blocks are all different, so they cannot be duplicates: leave dedup out"
        ));
    }
    None
}

/// The workloads with this title that read all that must be there of the trees, at most so many bytes at a time.
#[must_use]
pub fn tree_sweeps(plan: &Plan, validation: &Validation, (title, transfer_max): (&str, u64)) -> Vec<Workload> {
    let mut found = Vec::new();
    // Where nothing is made there may be no anchor either, and all files were looked at.
    let journal = plan.settings.validation.as_ref().and_then(|settings| settings.journal.as_ref());
    let only_recovers = journal.is_some_and(|journal| journal.recovers_only);
    let is_one = |tree: &&Arc<TreeValidation>| tree.known_files() > 0 && (!only_recovers || tree.has_files());
    for (at, tree) in validation.trees.iter().enumerate() {
        let Some(tree) = tree.as_ref().filter(is_one) else { continue };
        let Some(one) = tree_uses(plan).find(|one| one.tree == at) else { continue };
        let block_bytes = tree.cells().rules().block_bytes;
        let unit = if block_bytes.is_multiple_of(DIRECT_BYTES) {
            block_bytes
        } else {
            block_bytes * (DIRECT_BYTES / stamp::SECTOR_BYTES as u64)
        };
        let load = TreeLoad {
            uses: vec![TreeUse { is_taken_whole: true, ..one.clone() }],
            task: TreeTask::One(OperationKind::Read),
            threads: THREADS.min(tree.file_count()).max(1),
            select: FileSelect::Once,
            access: FileOrder::Sequential,
            stop_after: None,
            transfer: TransferSize::Fixed((transfer_max / unit).max(1) * unit),
            open: OpenFlags { direct: true, sync: false, dsync: false, fsync_at_end: false, extra: 0 },
            destination: None,
            sync_every: None,
            entries: None,
        };
        found.push(Workload::of_tree(title.to_string(), load, TextSpan::default()));
    }
    found
}
