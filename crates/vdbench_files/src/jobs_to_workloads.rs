//! Jobs as workloads of shared targets, so that a plan of fio's can be said in Vdbench's words.

use plan::{DataLimit, GapDistribution, LayoutKind, OfferedRate, Plan, Run, TransferSize, Workload};

/// The plan with no job in it; what that loses is listed. A plan without jobs comes back as it is.
pub(crate) fn jobs_to_workloads(plan: &Plan, unsaid: &mut Vec<String>) -> Plan {
    let mut out = plan.clone();
    if !plan.runs.iter().flat_map(|run| &run.workloads).any(|workload| workload.job.is_some()) {
        return out;
    }
    if plan.settings.concatenate {
        // These jobs are Vdbench's own: slots over all targets of a workload.
        for workload in out.runs.iter_mut().flat_map(|run| &mut run.workloads) {
            workload.depth = workload.job.take().map(|job| job.depth);
        }
        return out;
    }
    for (number, spec) in out.targets.iter_mut().enumerate() {
        spec.name = format!("sd{}", number + 1);
        // A file is as long as its jobs need it; that nothing else may be used of a longer one is Vdbench's way.
        spec.size_bytes = spec.size_bytes.max(
            spec.layout.take().filter(|layout| layout.how != LayoutKind::Unbounded).map(|layout| layout.at_least_bytes),
        );
    }
    for run in &mut out.runs {
        one_run(run, unsaid);
    }
    let base = out.runs.iter().flat_map(|run| &run.workloads).next().map_or(0, |first| first.address.base_bytes);
    // An offset that all have is that of the targets.
    if out.runs.iter().flat_map(|run| &run.workloads).all(|workload| workload.address.base_bytes == base) {
        out.targets.iter_mut().for_each(|spec| spec.offset_bytes = base);
        out.runs.iter_mut().flat_map(|run| &mut run.workloads).for_each(|workload| workload.address.base_bytes = 0);
    }
    out
}

fn one_run(run: &mut Run, unsaid: &mut Vec<String>) {
    let title = run.title.clone();
    run.name = safe(&run.name);
    run.title.clone_from(&run.name);
    let mut jobs: Vec<_> = run.workloads.iter().filter_map(|workload| workload.job.clone()).collect();
    for (workload, job) in run.workloads.iter_mut().zip(&mut jobs) {
        without_files(workload, job, unsaid);
    }
    if jobs.iter().any(|job| job.start_ns > 0 || !job.after.is_empty()) {
        unsaid.push(format!("{title}: jobs that begin later than others"));
    }
    if jobs.iter().any(|job| job.elapsed_ns.is_some()) && run.elapsed_ns.is_some() {
        unsaid.push(format!("{title}: jobs that end before others"));
    }
    if run.elapsed_ns.is_none() {
        run.elapsed_ns = jobs.iter().filter_map(|job| job.elapsed_ns).max().map(|ns| ns.saturating_sub(run.warmup_ns));
    }
    if jobs.iter().any(|job| job.flow.is_some() || job.latency.is_some()) {
        unsaid.push(format!("{title}: flow= and latency_target="));
    }
    if jobs.iter().any(|job| job.placement != plan::JobPlacement::default()) {
        unsaid.push(format!("{title}: CPUs and priorities of jobs"));
    }
    if jobs.iter().any(|job| job.mapped || job.priorities.is_some() || job.keeps_apart || job.operations == Some(0)) {
        unsaid.push(format!("{title}: ioengine=mmap, cmdprio_…=, serialize_overlap= or create_only="));
    }
    jobs.iter_mut().for_each(|job| job.operations = job.operations.filter(|operations| *operations > 0));
    run.stop.errors = None;
    let has_rule = |end: &plan::JobEnd| *end != plan::JobEnd { group: end.group, ..plan::JobEnd::default() };
    if jobs.iter().filter_map(|job| job.end.as_ref()).any(has_rule) {
        unsaid.push(format!(
            "{title}: jobs that end with others, or by rules (exitall=, max_latency=, continue_on_error=)"
        ));
    }
    if jobs.iter().any(|job| job.depth_low + 1 < job.depth) {
        unsaid.push(format!("{title}: iodepth_low="));
    }
    if run.workloads.iter().any(|workload| workload.targets.len() > 1) {
        unsaid.push(format!("{title}: the depth is over all files of a job; in Vdbench it is per target"));
    }
    limits(run, &jobs, &title, unsaid);
    rates(run, &jobs, &title, unsaid);
    for (workload, job) in run.workloads.iter_mut().zip(&jobs) {
        workload.name = safe(&workload.name);
        let [read, write, trim] =
            [Some(&workload.transfer), workload.write_transfer.as_ref(), workload.trim_transfer.as_ref()]
                .map(|size| size.map(in_sectors));
        if read.as_ref() != Some(&workload.transfer)
            || write != workload.write_transfer
            || trim != workload.trim_transfer
        {
            unsaid.push(format!("{title}: transfer sizes that are no multiples of 512 bytes are rounded up"));
        }
        workload.transfer = read.unwrap_or(TransferSize::Fixed(4096));
        (workload.write_transfer, workload.trim_transfer) = (write, trim);
        workload.depth = Some(job.depth.div_ceil(u32::try_from(workload.targets.len()).unwrap_or(1).max(1)).max(1));
        workload.job = None;
        if let Some(think) = job.think {
            workload.think_ns = think.ns;
            if think.every != Some(1) || think.busy_ns.is_some() || job.depth > 1 {
                unsaid
                    .push(format!("{title}: pauses of a whole job; in Vdbench each slot pauses after each operation"));
            }
        }
    }
}

/// A limit of bytes or operations.
fn limits(run: &mut Run, jobs: &[plan::Job], title: &str, unsaid: &mut Vec<String>) {
    if let [job] = jobs {
        run.stop.operations = job.operations;
        run.stop.total = match (job.bytes, job.passes, run.elapsed_ns) {
            (Some(bytes), ..) => Some(DataLimit::Bytes(bytes)),
            (None, Some(passes), _) if passes < 100.0 => Some(DataLimit::TargetSizes(passes)),
            _ => None,
        };
    } else if jobs.iter().any(|job| job.bytes.is_some() || job.passes.is_some() || job.operations.is_some()) {
        unsaid.push(format!("{title}: how much each of several jobs does"));
    }
}

/// Rates of their own become shares of a common one, as far as all have one.
fn rates(run: &mut Run, jobs: &[plan::Job], title: &str, unsaid: &mut Vec<String>) {
    let rated = |workload: &Workload| workload.rate.is_some();
    if run.workloads.iter().all(rated) {
        let sum: f64 = run.workloads.iter().filter_map(|workload| workload.rate).sum();
        let several = run.workloads.len() > 1;
        for workload in &mut run.workloads {
            workload.share = workload.rate.unwrap_or(0.0) / sum;
            workload.share_fixed = several;
            workload.rate = None;
        }
        run.rate = OfferedRate::PerSecond(sum);
        let gaps = jobs.first().map_or(GapDistribution::Deterministic, |job| job.gaps);
        if jobs.iter().any(|job| job.gaps != gaps) {
            unsaid.push(format!("{title}: jobs with different rate_process="));
        }
        run.arrivals.gaps = gaps;
        return;
    }
    if run.workloads.iter().any(rated) {
        for (number, workload) in run.workloads.iter_mut().enumerate() {
            workload.priority = Some(u32::try_from(number + 1).unwrap_or(u32::MAX));
        }
    }
}

/// Transfer sizes as multiples of 512 bytes.
fn in_sectors(size: &TransferSize) -> TransferSize {
    let up = |bytes: u64| bytes.next_multiple_of(512);
    match size {
        TransferSize::Fixed(bytes) => TransferSize::Fixed(up(*bytes)),
        TransferSize::Mix(mix) => TransferSize::Mix(mix.iter().map(|(bytes, share)| (up(*bytes), *share)).collect()),
        TransferSize::Uniform { min, max, align } => {
            let (min, align) = (up(*min), up(*align));
            // Reached from the smallest in whole steps.
            let align = if min.is_multiple_of(align) { align } else { min };
            let max = min + (up(*max).saturating_sub(min)) / align * align;
            TransferSize::Uniform { min, max, align }
        }
    }
}

/// A name without the characters that the language needs for itself.
fn safe(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    name.chars().map(plain).collect()
}

/// What goes through its files by fio's rules, in the words of a range, an alignment and a stride.
fn without_files(workload: &mut Workload, job: &mut plan::Job, unsaid: &mut Vec<String>) {
    let Some(files) = workload.address.files.take() else { return };
    let name = &workload.name;
    if files.pre_read_bytes.is_some() || files.strided.is_some() {
        unsaid.push(format!("`{name}`: pre_read= or zonemode="));
    }
    match files.as_range() {
        Some((base_bytes, range)) => (workload.address.base_bytes, workload.address.range) = (base_bytes, range),
        None => unsaid
            .push(format!("`{name}`: a part of its files that mixes bytes and percent, or files of different lengths")),
    }
    // How far it comes is not known.
    if job.end.as_ref().is_some_and(|end| end.fills_device) {
        workload.address.range = None;
    }
    let sizes = workload.transfers();
    let (min, max) = (sizes.iter().map(|size| size.min_bytes()).min(), sizes.iter().map(|size| size.max_bytes()).max());
    let (min, max) = (min.unwrap_or(4096), i64::try_from(max.unwrap_or(4096)).unwrap_or(i64::MAX));
    let [align, ..] = files.align_bytes;
    let is_varied = sizes.iter().any(|size| size.min_bytes() != size.max_bytes());
    workload.address.align_bytes = Some(align).filter(|align| *align > 0).or(is_varied.then_some(min));
    if files.gap_bytes != 0 {
        // Vdbench counts from start to start.
        let step = max.saturating_add(files.gap_bytes);
        match step {
            0 => unsaid.push(format!("`{name}`: the same place over and over")),
            // That it goes backwards is said where it is printed.
            back if back < 0 => {}
            step => workload.address.stride = Some((step.unsigned_abs(), step.unsigned_abs())),
        }
    }
    let Some(passes) = job.files.take().filter(|passes| !passes.endless) else { return };
    let twice = if workload.mix.trim_then_write { 2.0 } else { 1.0 };
    match passes.io_size {
        Some(plan::RangeBound::Bytes(bytes)) => job.bytes = Some(bytes.saturating_mul(passes.loops)),
        Some(plan::RangeBound::Fraction(part)) => job.passes = Some(part * passes.loops as f64 * twice),
        None => job.passes = Some(passes.loops as f64 * twice),
    }
}
