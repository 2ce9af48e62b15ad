//! The runs that fill targets before anything is measured on them.
//!
//! Reading a file that was never written measures the file system's way of making zeroes, so what a run creates or
//! extends is written first, once, in order.

use plan::{Address, AddressRange, Bound, Content, OpMix, Order, Plan, Rate, Run, Stop, TransferSize, Workload};
use std::ops::Range;

/// A run that writes `ranges` (target index, bytes) once, sequentially; `None` when there is nothing to write.
pub(crate) fn format_run(plan: &Plan, ranges: &[(usize, Range<u64>)]) -> Option<Run> {
    let template = plan.runs.first()?;
    let workloads: Vec<Workload> = ranges
        .iter()
        .filter(|(_, range)| !range.is_empty())
        .map(|(index, range)| Workload {
            name: "format".to_string(),
            targets: vec![*index],
            share: 1.0 / ranges.len() as f64,
            share_fixed: false,
            rate: None,
            priority: None,
            depth: None,
            mix: OpMix::read_write(0.0),
            transfer: TransferSize::Fixed(transfer_bytes(plan.settings.format_transfer_bytes, range)),
            write_transfer: None,
            trim_transfer: None,
            address: Address {
                order: Order::Sequential { once: true, backward: false },
                range: Some(AddressRange { low: Bound::Bytes(range.start), high: Bound::Bytes(range.end) }),
                ..Address::default()
            },
            content: content_for(plan, *index),
            think_ns: 0,
            open: None,
            job: None,
            replay: None,
            span: plan.targets[*index].span,
        })
        .collect();
    (!workloads.is_empty()).then(|| Run {
        name: "format".to_string(),
        title: "format".to_string(),
        loops: Vec::new(),
        workloads,
        rate: Rate::Max,
        arrivals: plan::Arrivals::default(),
        elapsed_ns: None,
        warmup_ns: 0,
        interval_ns: template.interval_ns,
        pause_ns: 0,
        stop: Stop::default(),
        start_commands: Vec::new(),
        objectives: Vec::new(),
        end_commands: Vec::new(),
        format: true,
        span: template.span,
    })
}

/// The asked transfer size, or the largest power of two that divides a range which is no multiple of it.
fn transfer_bytes(asked: u64, range: &Range<u64>) -> u64 {
    let mut bytes = asked.max(512);
    while bytes > 512 && !(range.start.is_multiple_of(bytes) && range.end.is_multiple_of(bytes)) {
        bytes /= 2;
    }
    bytes
}

/// The data of the first workload that uses the target, so that reads find what its writes would have left.
fn content_for(plan: &Plan, index: usize) -> Content {
    plan.runs
        .iter()
        .flat_map(|run| &run.workloads)
        .find(|workload| workload.targets.contains(&index))
        .map(|workload| workload.content.clone())
        .unwrap_or_default()
}
