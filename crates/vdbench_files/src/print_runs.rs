//! Finds the loops again that runs were made of.

use crate::print_commands;
use plan::generate::OperationKind;
use plan::{AddressOrder, FileSizes, Load, OfferedRate, OpMix, Run, TransferSize, TreeShape, TreeTask, Workload};

/// Runs that one `rd=` makes.
pub(crate) struct Block<'a> {
    pub(crate) first: &'a Run,
    /// All of them.
    pub(crate) runs: &'a [Run],
    /// The innermost loop: rates, or a curve.
    pub(crate) rates: Vec<OfferedRate>,
    /// Titles of the runs of the innermost loop.
    pub(crate) titles: Vec<&'a str>,
    /// Other loops, the outermost first, with their values.
    pub(crate) loops: Vec<(String, Vec<String>)>,
}

/// A workload without what the run's loops say of it.
pub(crate) fn is_overridden(run: &Run, workload: &Workload) -> Workload {
    let mut base = workload.clone();
    if !run.loops.is_empty() {
        print_commands::blank(&mut base);
        blank_tree(&mut base.load, &run.loops);
    }
    for (name, _) in &run.loops {
        match name.as_str() {
            "xfersize" => base.transfer = TransferSize::Fixed(0),
            "threads" => base.depth = None,
            "rdpct" => base.mix = OpMix { read: 0.0, write: 0.0, ..base.mix },
            "rhpct" => base.address.read_hit = 0.0,
            "whpct" => base.address.write_hit = 0.0,
            "seekpct" => {
                let distribution = match base.address.order {
                    AddressOrder::Mixed { distribution, .. } | AddressOrder::Random(distribution) => distribution,
                    AddressOrder::Sequential { .. } => plan::AddressDistribution::Uniform,
                };
                base.address.order = AddressOrder::Mixed { seek: 0.0, distribution };
            }
            "hitarea" => base.address.hit_area_bytes = None,
            "compratio" => base.content.compress_ratio = 1.0,
            _ => {}
        }
    }
    base.span = plan::TextSpan::default();
    base
}

/// The runs of one combination of the outer loops.
struct Unit<'a> {
    runs: &'a [Run],
    /// Without the rate's own loop.
    loops: Vec<(&'a str, &'a str)>,
}

fn outer(run: &Run) -> Vec<(&str, &str)> {
    let loops = run.loops.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    loops.filter(|(name, _)| *name != "iorate").collect()
}

/// Everything but loops with what they change, rates, titles and workloads.
fn frame(run: &Run) -> Run {
    let is_looped = run.loops.iter().any(|(name, _)| name == "threads");
    Run {
        depth: run.depth.filter(|_| !is_looped),
        title: String::new(),
        loops: Vec::new(),
        workloads: Vec::new(),
        rate: OfferedRate::Max,
        span: plan::TextSpan::default(),
        objectives: run
            .objectives
            .iter()
            .map(|one| plan::Objective { span: plan::TextSpan::default(), ..one.clone() })
            .collect(),
        ..run.clone()
    }
}

/// Its workloads, commands without what variables say of them.
fn bare(run: &Run) -> Vec<Workload> {
    let mut workloads = run.workloads.clone();
    workloads.iter_mut().for_each(print_commands::blank);
    workloads
}

fn bases(run: &Run) -> Vec<Workload> {
    run.workloads.iter().map(|workload| is_overridden(run, workload)).collect()
}

/// Divides runs into blocks that one definition each can make.
pub(crate) fn blocks(runs: &[Run]) -> Vec<Block<'_>> {
    let units = units(runs);
    let mut out = Vec::new();
    let (mut at, mut start) = (0, 0);
    while at < units.len() {
        let all = |count: usize| {
            let len = units[at..at + count].iter().map(|unit| unit.runs.len()).sum::<usize>();
            &runs[start..start + len]
        };
        let are_one = |count: &usize| is_product(&units[at..at + *count]) && has_templates(all(*count));
        let count = (1..=units.len() - at).rev().find(are_one).unwrap_or(1);
        let these = &units[at..at + count];
        let first = &these[0].runs[0];
        let loops = these[0].loops.iter().enumerate().map(|(k, (name, _))| ((*name).to_string(), values(these, k)));
        let of_block = all(count);
        out.push(Block {
            first,
            runs: of_block,
            rates: these[0].runs.iter().map(|run| run.rate).collect(),
            titles: these[0].runs.iter().map(|run| run.title.as_str()).collect(),
            loops: loops.collect(),
        });
        at += count;
        start += of_block.len();
    }
    out
}

/// Do the commands of these runs, where there are any, come from the same lines?
fn has_templates(runs: &[Run]) -> bool {
    let has_commands = runs.iter().flat_map(|run| &run.workloads).any(|workload| workload.load.command().is_some());
    !has_commands || print_commands::templates(runs).is_some()
}

/// Runs that differ in their rate only, and curves, belong together.
fn units(runs: &[Run]) -> Vec<Unit<'_>> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < runs.len() {
        let first = &runs[at];
        let listed = first.loops.iter().any(|(name, _)| name == "iorate");
        let goes_on = |run: &Run| {
            let inner = match (first.rate, run.rate) {
                (OfferedRate::CurveMax, OfferedRate::CurvePoint { .. }) => true,
                _ => listed && run.loops.iter().any(|(name, _)| name == "iorate"),
            };
            inner && outer(run) == outer(first) && frame(run) == frame(first) && bare(run) == bare(first)
        };
        let count = 1 + runs[at + 1..].iter().take_while(|run| goes_on(run)).count();
        out.push(Unit { runs: &runs[at..at + count], loops: outer(first) });
        at += count;
    }
    out
}

/// Values of loop `k` in the order of their first appearance.
fn values(units: &[Unit<'_>], k: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for unit in units {
        let value = unit.loops[k].1;
        if !out.iter().any(|other| other == value) {
            out.push(value.to_string());
        }
    }
    out
}

/// Are these units all combinations of their loops' values, in order, and alike otherwise?
fn is_product(units: &[Unit<'_>]) -> bool {
    let [first, rest @ ..] = units else { return false };
    if rest.is_empty() {
        return true;
    }
    let keys = |unit: &Unit<'_>| unit.loops.iter().map(|(name, _)| (*name).to_string()).collect::<Vec<_>>();
    // A loop over the rate of files stands among the others.
    let is_rate_looped = first.loops.iter().any(|(name, _)| *name == "fwdrate");
    let rates = |unit: &Unit<'_>| match is_rate_looped {
        true => Vec::new(),
        false => unit.runs.iter().map(|run| run.rate).collect::<Vec<_>>(),
    };
    let (frame_of, bases_of) = (frame(&first.runs[0]), bases(&first.runs[0]));
    if first.loops.is_empty()
        || rest.iter().any(|unit| {
            keys(unit) != keys(first)
                || rates(unit) != rates(first)
                || frame(&unit.runs[0]) != frame_of
                || bases(&unit.runs[0]) != bases_of
        })
    {
        return false;
    }
    let lists: Vec<Vec<String>> = (0..first.loops.len()).map(|k| values(units, k)).collect();
    if lists.iter().map(Vec::len).product::<usize>() != units.len() {
        return false;
    }
    units.iter().enumerate().all(|(number, unit)| {
        let mut left = number;
        lists.iter().enumerate().rev().all(|(k, list)| {
            let is = list[left % list.len()] == unit.loops[k].1;
            left /= list.len();
            is
        })
    })
}

/// A workload without what the run's loops say of it.
fn blank_tree(load: &mut Load, loops: &[(String, String)]) {
    let Load::Tree(load) = load else { return };
    for (name, _) in loops {
        let mut each = |change: fn(&mut TreeShape)| {
            load.uses.iter_mut().chain(&mut load.destination).for_each(|one| change(&mut one.shape));
        };
        match name.as_str() {
            "xfersize" => load.transfer = TransferSize::Fixed(0),
            "threads" => load.threads = 1,
            "rdpct" => load.task = TreeTask::One(OperationKind::Read),
            "operations" if matches!(load.task, TreeTask::One(_) | TreeTask::Flow(_)) => {
                load.task = TreeTask::One(OperationKind::Read);
            }
            "depth" => each(|shape| shape.depth = 1),
            "width" => each(|shape| shape.width = 1),
            "files" => each(|shape| shape.files = 1),
            "sizes" => each(|shape| shape.sizes = FileSizes::Fixed(1)),
            "totalsize" => each(|shape| shape.total_bytes = None),
            "wss" => each(|shape| shape.working_set_bytes = None),
            _ => {}
        }
    }
}
