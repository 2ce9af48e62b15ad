//! What each run was asked to do, for faces that repeat it in every line (`--flatfile`).

use plan::{AddressOrder, OfferedRate, Plan, Run, TransferSize, Workload};
use target::OpenTarget;
use tool_output::flatfile::RequestedLoad;

/// One entry per run of the plan; the run that fills new targets has none.
pub(crate) fn requested(plan: &Plan, targets: &[Option<OpenTarget>]) -> Vec<RequestedLoad> {
    plan.runs.iter().map(|run| of_run(run, plan, targets)).collect()
}

fn of_run(run: &Run, plan: &Plan, targets: &[Option<OpenTarget>]) -> RequestedLoad {
    let mut used: Vec<usize> = run.workloads.iter().flat_map(|workload| workload.targets.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    let depths = run.workloads.iter().flat_map(|workload| {
        let own = workload.depth;
        workload.targets.iter().map(move |index| own.unwrap_or_else(|| run.depth_of(&plan.targets[*index])))
    });
    let common = |of: fn(&Workload) -> f64| same(run.workloads.iter().map(of));
    let seek = |workload: &Workload| match workload.address.order {
        AddressOrder::Random(_) => 100.0,
        AddressOrder::Sequential { .. } => 0.0,
        AddressOrder::Mixed { seek, .. } => seek * 100.0,
    };
    RequestedLoad {
        run: run.title.clone(),
        detail: crate::batch_sink::loops_text(run),
        transfer_bytes: same(run.workloads.iter().map(|workload| match workload.transfer {
            TransferSize::Fixed(bytes) => Some(bytes),
            TransferSize::Mix(_) | TransferSize::Uniform { .. } => None,
        }))
        .flatten(),
        threads: same(depths),
        read_percent: common(|workload| workload.mix.read * 100.0),
        read_hit_percent: common(|workload| workload.address.read_hit * 100.0),
        write_hit_percent: common(|workload| workload.address.write_hit * 100.0),
        seek_percent: common(seek),
        target_bytes: used.iter().map(|index| targets.get(*index)?.as_ref().map(|target| target.size_bytes)).sum(),
        compress_ratio: common(|workload| workload.content.compress_ratio),
        dedup_ratio: same(run.workloads.iter().map(|workload| workload.content.dedup.map(|dedup| dedup.ratio)))
            .flatten(),
        controlled: run.is_controlled(),
        max: run.rate.is_max() && run.workloads.iter().all(|workload| workload.job.is_none()),
        curve: run.rate == OfferedRate::CurveMax,
        elapsed_s: run.elapsed_ns.map(|ns| ns as f64 / 1e9),
        warmup_s: run.warmup_ns as f64 / 1e9,
    }
}

/// The value that all have; `None` when they differ.
fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}
