//! Runs of shared targets as runs of jobs, so that a Vdbench plan can be said in fio's words.

use crate::print_entries::entry_job;
use plan::{
    AddressOrder, AddressRange, Arrivals, DataLimit, GapDistribution, Job, JobFlow, OfferedRate, Plan, RangeBound, Run,
    ThinkTime, Workload,
};

/// The run with every workload a job; what that loses is listed. A run of jobs comes back as it is.
pub(crate) fn as_jobs(plan: &Plan, run: &Run, unsaid: &mut Vec<String>) -> Run {
    if run.workloads.iter().any(|workload| workload.job.is_some() || entry_job(workload).is_some()) {
        return run.clone();
    }
    let mut out = run.clone();
    let total = match run.rate {
        OfferedRate::PerSecond(rate) => Some(rate),
        OfferedRate::Max => None,
        OfferedRate::CurveMax | OfferedRate::CurvePoint { .. } | OfferedRate::FractionOfLastMax(_) => {
            unsaid.push(format!("{}: a rate that follows from what another run achieved", run.title));
            None
        }
    };
    if run.arrivals.burst.is_some() {
        unsaid.push(format!("{}: a rate that changes in the course of the run", run.title));
    }
    if !run.loops.is_empty() {
        let loops: Vec<String> = run.loops.iter().map(|(name, value)| format!("{name}={value}")).collect();
        unsaid.push(format!(
            "{} is one step of a loop ({}); each step is a group of its own",
            run.title,
            loops.join(" ")
        ));
    }
    if run.pause_ns > 0 {
        unsaid.push(format!("{}: the rest after the run", run.title));
    }
    let unlimited = plan::StopCondition::default();
    let alone = run.workloads.len() == 1;
    if run.stop != unlimited && !alone {
        unsaid.push(format!("{}: a limit over several workloads together", run.title));
    }
    if run.stop.read.is_some() || run.stop.written.is_some() {
        unsaid.push(format!("{}: a limit of bytes read or bytes written", run.title));
    }
    for workload in &mut out.workloads {
        let job = job(plan, run, workload, alone, unsaid);
        workload.rate = workload.rate.or(total.map(|rate| rate * workload.share));
        if workload.share_fixed && total.is_none() {
            // Shares that must hold at full speed are what fio's flow is for.
            let weight = (workload.share * 1e6).round() / 1e6;
            workload.job = Some(Job { flow: Some(JobFlow { id: 1, weight }), ..job });
        } else {
            workload.job = Some(job);
        }
        if workload.priority.is_some() {
            unsaid.push(format!("`{}` is served before the others (priority)", workload.name));
        }
        workload.name = format!("{}_{}", run.name, workload.name).replace([' ', '*', ';', '#'], "_");
        range(plan, workload, unsaid);
        workload.think_ns = 0;
    }
    out.arrivals = Arrivals::default();
    out.rate = OfferedRate::Max;
    let mut seen: Vec<String> = Vec::new();
    for workload in &mut out.workloads {
        let base = workload.name.clone();
        let mut number = 2;
        while seen.contains(&workload.name) {
            workload.name = format!("{base}-{number}");
            number += 1;
        }
        seen.push(workload.name.clone());
    }
    out
}

fn job(plan: &Plan, run: &Run, workload: &Workload, alone: bool, unsaid: &mut Vec<String>) -> Job {
    let shares = |other: &&Workload, target: &usize| other.depth.is_none() && other.targets.contains(target);
    let users = |target: &usize| run.workloads.iter().filter(|other| shares(other, target)).count().max(1);
    let depth: u64 = workload
        .targets
        .iter()
        .map(|target| {
            let of_run = plan.targets.get(*target).map_or(1, |spec| u64::from(run.depth_of(spec)));
            workload.depth.map_or_else(|| of_run.div_ceil(users(target) as u64), u64::from).max(1)
        })
        .sum();
    if workload.targets.len() > 1 {
        unsaid.push(format!("`{}`: the depth is per target; in fio it is over all its files", workload.name));
    }
    let depth = u32::try_from(depth).unwrap_or(u32::MAX);
    let once = matches!(workload.address.order, AddressOrder::Sequential { once: true, .. });
    let (mut bytes, mut passes) = (None, once.then_some(1.0));
    match run.stop.total.filter(|_| alone) {
        Some(DataLimit::Bytes(limit)) => bytes = Some(limit),
        Some(DataLimit::TargetSizes(times)) => passes = Some(times),
        None => {}
    }
    if run.arrivals.gaps == GapDistribution::Uniform {
        unsaid.push(format!("{}: uniform gaps between arrivals; poisson comes near", run.title));
    }
    if workload.think_ns > 0 && depth > 1 {
        unsaid.push(format!("`{}`: each slot thinks for itself; in fio the whole job pauses", workload.name));
    }
    Job {
        gaps: if run.arrivals.gaps == GapDistribution::Deterministic {
            GapDistribution::Deterministic
        } else {
            GapDistribution::Exponential
        },
        bytes,
        passes,
        operations: run.stop.operations.filter(|_| alone),
        think: (workload.think_ns > 0).then_some(ThinkTime { ns: workload.think_ns, every: Some(1), busy_ns: None }),
        ..Job::new(depth)
    }
}

/// The workload's part of its targets' own range, which fio has no word for.
fn range(plan: &Plan, workload: &mut Workload, unsaid: &mut Vec<String>) {
    let specs: Vec<_> = workload.targets.iter().filter_map(|at| plan.targets.get(*at)).collect();
    let offset = specs.first().map_or(0, |spec| spec.offset_bytes);
    if specs.iter().any(|spec| spec.offset_bytes != offset) {
        unsaid.push(format!("the targets of `{}` have different offsets", workload.name));
    }
    workload.address.base_bytes = offset;
    workload.address.align_bytes = workload.address.align_bytes.or(specs.first().and_then(|spec| spec.align_bytes));
    let own = specs.first().and_then(|spec| spec.range);
    if specs.iter().any(|spec| spec.range != own) {
        unsaid.push(format!("the targets of `{}` have different ranges", workload.name));
    }
    let inside = workload.address.range;
    workload.address.range = match (own, inside) {
        (None, inside) => inside,
        (own, None) => own,
        (Some(_), Some(_)) => {
            unsaid.push(format!("`{}` has a range inside of its targets' range", workload.name));
            inside
        }
    };
    // In fio an end in percent counts from the offset.
    if let (Some(AddressRange { low: RangeBound::Fraction(_), .. }), true) = (workload.address.range, offset > 0) {
        unsaid.push(format!("`{}` has an offset in bytes and a range in percent", workload.name));
    }
}

/// The plan without commands as load, which fio's language does not have.
pub(crate) fn without_commands(plan: &Plan, unsaid: &mut Vec<String>) -> Plan {
    let mut plain = plan.clone();
    plain.runs.retain_mut(|run| {
        let workloads = run.workloads.clone();
        let count = workloads.len();
        run.workloads.retain(|workload| workload.load.is_blocks() || entry_job(workload).is_some());
        if workloads.iter().any(|workload| workload.load.command().is_some()) {
            unsaid.push(format!("{} executes commands (cmd=)", run.title));
        }
        if workloads.iter().any(|workload| workload.load.tree().is_some() && entry_job(workload).is_none()) {
            unsaid.push(format!("{} works in trees of files (fsd=, fwd=)", run.title));
        }
        count == 0 || !run.workloads.is_empty()
    });
    plain
}
