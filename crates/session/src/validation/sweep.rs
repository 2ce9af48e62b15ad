//! The last run: it reads everything that was written once, past the page cache where that can be had.

use plan::{AddressOrder, AddressPattern, OpMix, OpenFlags, Plan, Run, TextSpan, TransferSize, Workload};
use target::{OpenTarget, TargetKind};
use validation::{BlockState, TargetValidation, Validation, tree_sweeps};

/// Its title.
pub(super) const TITLE: &str = "verify";
/// The largest transfer, and how many are under way on a target.
const TRANSFER_MAX: u64 = 1 << 20;
const DEPTH: u32 = 32;

/// How a target is opened to be read past the page cache.
const DIRECT: OpenFlags = OpenFlags { direct: true, sync: false, dsync: false, fsync_at_end: false, extra: 0 };

/// Whole blocks, at most 1 MiB of them, and no more than there are.
fn transfer_bytes(block_bytes: u64, size_bytes: u64) -> u64 {
    (TRANSFER_MAX.min(size_bytes) / block_bytes).max(1) * block_bytes
}

/// The run that reads what was written to each validated target; `None`: nothing was written.
pub(crate) fn sweep_run(plan: &Plan, validation: &Validation, targets: &[Option<OpenTarget>]) -> Option<Run> {
    let written = validation.each().filter(|target| target.states().written() > 0);
    let written: Vec<&TargetValidation> = written.map(|target| &**target).collect();
    let of_trees = tree_sweeps(plan, validation, (TITLE, TRANSFER_MAX));
    let share = 1.0 / (written.len() + of_trees.len()).max(1) as f64;
    let mut workloads: Vec<Workload> = written
        .iter()
        .map(|target| {
            let rules = target.rules();
            let opened = targets.get(rules.target).and_then(Option::as_ref);
            let is_direct = opened.is_some_and(|opened| {
                let view = opened.view(DIRECT);
                view.direct && rules.block_bytes.is_multiple_of(u64::from(view.logical_block_bytes))
            });
            Workload {
                share,
                mix: OpMix::read_write(1.0),
                transfer: TransferSize::Fixed(transfer_bytes(rules.block_bytes, rules.size_bytes)),
                address: AddressPattern {
                    order: AddressOrder::Sequential { once: true, backward: false },
                    ..AddressPattern::default()
                },
                open: is_direct.then_some(DIRECT),
                ..Workload::of_blocks(TITLE.to_string(), vec![rules.target], TextSpan::default())
            }
        })
        .collect();
    workloads.extend(of_trees.into_iter().map(|workload| Workload { share, ..workload }));
    let template = plan.runs.first()?;
    let run = Run { depth: Some(DEPTH), ..Run::new(TITLE, workloads, template.interval_ns) };
    (!run.workloads.is_empty()).then_some(run)
}

/// What sweeps before have read is not counted again.
pub(crate) fn begin_sweep(validation: &Validation) {
    validation.each().for_each(|target| target.begin_sweep());
    validation.trees.iter().flatten().for_each(|tree| tree.begin_sweep());
}

/// Nothing is known of blocks behind the end of a file: a trim there leaves nothing that could be read.
pub(crate) fn leave_out_ends(validation: &Validation, targets: &[Option<OpenTarget>]) {
    for target in validation.each() {
        let rules = target.rules();
        let opened = targets.get(rules.target).and_then(Option::as_ref);
        let file = opened.filter(|opened| matches!(opened.kind, TargetKind::File { .. }));
        let Some(Ok(stat)) = file.map(|file| rustix::fs::fstat(rustix::fd::AsFd::as_fd(file))) else { continue };
        let states = target.states();
        let mut from = u64::try_from(stat.st_size).unwrap_or(0).div_ceil(rules.block_bytes);
        while let Some((first, count)) = states.next_written(from, u64::from(u16::MAX)) {
            let trimmed = (first..first + count).filter(|block| states.get(*block) == BlockState::Trimmed);
            trimmed.for_each(|block| states.set(block, BlockState::Unknown));
            from = first + count;
        }
    }
}

/// Writes out what the page cache holds of the validated targets and drops it, so that the sweep reads what the targets have. Gives
/// what went wrong, in sentences.
pub(crate) fn leave_caches(validation: &Validation, targets: &[Option<OpenTarget>]) -> Vec<String> {
    let opened = validation.each().filter_map(|target| targets.get(target.rules().target)?.as_ref());
    let left = opened.map(|target| (target, OpenTarget::leave_cache(rustix::fd::AsFd::as_fd(target))));
    left.filter_map(|(target, result)| {
        let error = result.err()?;
        Some(format!("{}: what the page cache held could not be written: {error}", target.name))
    })
    .collect()
}

/// With how a sweep opens a target; `None`: nothing more, or there is no sweep.
pub(crate) fn further_flags(plan: &Plan, sets: &[OpenFlags]) -> Option<Vec<OpenFlags>> {
    let is_wanted = plan.settings.validation.as_ref().is_some_and(|settings| settings.sweeps)
        || crate::recovering::settings(plan).is_some();
    (is_wanted && !sets.contains(&DIRECT)).then(|| sets.iter().copied().chain([DIRECT]).collect())
}
