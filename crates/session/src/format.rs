//! The runs that fill targets before anything is measured on them.
//!
//! Reading a file that was never written measures the file system's way of making zeroes, so what a run creates or
//! extends is written first, once, in order.

use crate::sync::{access_of, all_flags_of};
use plan::{
    AddressOrder, AddressPattern, AddressRange, OfferedRate, OpMix, OpenFlags, Plan, RangeBound, Run, StopCondition,
    TargetSpec, TransferSize, Workload, WriteContent,
};
use std::ops::Range;
use target::{OpenTarget, TargetAccess};

/// What is written to a target before anything is measured on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    /// Index of the target.
    pub(crate) target: usize,
    /// The bytes, from the target's start; never empty.
    pub(crate) range: Range<u64>,
    /// These were never written: the file is filled from one end to the other, whatever part of it the plan uses.
    pub(crate) is_unwritten: bool,
}

impl Fill {
    /// What has to be written to an open target; `all`: also what was written before (`formatsds=yes`), of the part that
    /// the plan uses.
    pub(crate) fn of(plan: &Plan, index: usize, target: &OpenTarget, all: bool) -> Option<Self> {
        if !target.writable {
            return None;
        }
        let spec = plan.targets.get(index)?;
        let everything =
            (all && access_of(plan, index) == TargetAccess::Write).then_some(spec.offset_bytes..target.size_bytes);
        let (range, is_unwritten) = match (everything, target.fill.clone()) {
            (Some(used), Some(fill)) => (used.start.min(fill.start)..fill.end, true),
            (Some(used), None) => (used, false),
            (None, fill) => (fill?, true),
        };
        (!range.is_empty()).then_some(Self { target: index, range, is_unwritten })
    }

    /// The part of the target that the addresses of the fill count from.
    fn base(&self, spec: &TargetSpec) -> u64 {
        if self.is_unwritten { 0 } else { spec.offset_bytes }
    }
}

/// A run that writes each of `fills` once, sequentially, with the plan that it belongs to; `None` when there is nothing
/// to write. In that plan, targets that are filled have neither an offset nor a range of their own; of the others, what
/// their own range leaves is written.
pub(crate) fn format_run(plan: &Plan, fills: &[Fill]) -> Option<(Plan, Run)> {
    let run = run_of(plan, fills)?;
    let mut plan = plan.clone();
    for fill in fills.iter().filter(|fill| fill.is_unwritten) {
        if let Some(spec) = plan.targets.get_mut(fill.target) {
            (spec.offset_bytes, spec.range, spec.align_bytes, spec.skip_first_block) = (0, None, None, false);
            spec.grain_bytes = None;
        }
    }
    Some((plan, run))
}

fn run_of(plan: &Plan, fills: &[Fill]) -> Option<Run> {
    let template = plan.runs.first()?;
    let workloads: Vec<Workload> = fills
        .iter()
        .filter_map(|fill| Some((fill, plan.targets.get(fill.target)?)))
        .map(|(fill, spec)| (fill, fill.range.start - fill.base(spec)..fill.range.end - fill.base(spec), spec))
        .map(|(fill, range, spec)| Workload {
            name: "format".to_string(),
            targets: vec![fill.target],
            share: 1.0 / fills.len() as f64,
            share_fixed: false,
            rate: None,
            priority: None,
            depth: None,
            mix: OpMix::read_write(0.0),
            transfer: TransferSize::Fixed(transfer_bytes(plan.settings.format_transfer_bytes, &range)),
            write_transfer: None,
            trim_transfer: None,
            address: AddressPattern {
                order: AddressOrder::Sequential { once: true, backward: false },
                // A range of the workload's would win over the target's.
                range: fill.is_unwritten.then_some(AddressRange {
                    low: RangeBound::Bytes(range.start),
                    high: RangeBound::Bytes(range.end),
                }),
                ..AddressPattern::default()
            },
            content: content_for(plan, fill.target),
            think_ns: 0,
            open: open_for(plan, fill.target),
            job: None,
            replay: None,
            load: plan::Load::Blocks,
            span: spec.span,
        })
        .collect();
    (!workloads.is_empty()).then(|| Run {
        name: "format".to_string(),
        title: "format".to_string(),
        loops: Vec::new(),
        workloads,
        depth: None,
        rate: OfferedRate::Max,
        simulated_rate: None,
        arrivals: plan::Arrivals::default(),
        elapsed_ns: None,
        warmup_ns: 0,
        interval_ns: template.interval_ns,
        pause_ns: 0,
        stop: StopCondition::default(),
        start_commands: Vec::new(),
        objectives: Vec::new(),
        end_commands: Vec::new(),
        format: true,
        span: template.span,
    })
}

/// The asked transfer size, or the largest power of two that divides a range which is no multiple of it.
pub(crate) fn transfer_bytes(asked: u64, range: &Range<u64>) -> u64 {
    let mut bytes = asked.max(512);
    while bytes > 512 && !(range.start.is_multiple_of(bytes) && range.end.is_multiple_of(bytes)) {
        bytes /= 2;
    }
    bytes
}

/// As the first workload that uses the target opens it.
fn open_for(plan: &Plan, index: usize) -> Option<OpenFlags> {
    all_flags_of(plan, index).first().copied()
}

/// The data of the first workload that uses the target, so that reads find what its writes would have left.
pub(crate) fn content_for(plan: &Plan, index: usize) -> WriteContent {
    plan.runs
        .iter()
        .flat_map(|run| &run.workloads)
        .find(|workload| workload.targets.contains(&index))
        .map(|workload| workload.content.clone())
        .unwrap_or_default()
}
