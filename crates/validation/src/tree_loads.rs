//! What the runs of a plan do in directory trees, as far as validation is concerned.

use plan::{Plan, TransferSize, TreeLoad, TreeUse, Workload};

/// No block is larger: what is said of a damaged one is said of so many bytes at most.
const BLOCK_MAX: u64 = 1 << 20;

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
