//! Jobs become runs: what stands between two stonewalls runs at the same time, every copy of a job is a workload.

use crate::jobs::JobSection;
use crate::options::{Options, Pattern};
use crate::replay;
use crate::targets::{Targets, Use, label};
use crate::to_entries;
use crate::value::{Amount, PerOp};
use crate::words::{in_multiples, narrow};
use parameter_text::{Diagnostic, ReadingContext};
use plan::{
    AddressDistribution, AddressOrder, AddressPattern, Arrivals, DedupContent, DedupSets, ErrorRule, FilePasses,
    FileUse, Job, JobFlow, JobPlacement, LatencyGoal, LayoutKind, Objective, OfferedRate, OpMix, OpenFlags,
    PriorityShare, RangeBound, ReadHint, Replay, RequestPriorities, Run, ShellCommand, SteadyRule, StopCondition,
    StridedZones, ThinkTime, TransferSize, Workload, WriteContent,
};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Workloads of all runs together, far above any real file.
const WORKLOADS_MAX: usize = 20_000;

/// All runs; `interval_ns` is the length of their intervals.
pub(crate) fn runs(
    context: &mut ReadingContext,
    jobs: &[JobSection],
    targets: &mut Targets,
    interval_ns: u64,
) -> Vec<Run> {
    let mut groups: Vec<Vec<&JobSection>> = Vec::new();
    let mut workloads = 0_usize;
    for job in jobs {
        workloads = workloads.saturating_add(job.options.copies as usize);
        if workloads > WORKLOADS_MAX {
            let message = format!("more than {WORKLOADS_MAX} jobs with all their copies");
            context.push(Diagnostic::error("too-much", job.span, message).help("use a smaller numjobs"));
            return Vec::new();
        }
        match groups.last_mut() {
            Some(group) if !job.options.stonewall => group.push(job),
            _ => groups.push(vec![job]),
        }
    }
    let mut runs: Vec<Run> = Vec::new();
    for group in groups {
        let mut run = one_run(context, &group, targets, interval_ns);
        let taken = |title: &str| runs.iter().any(|other| other.title == title);
        if taken(&run.title) {
            let number = (2..).find(|number| !taken(&format!("{}.{number}", run.name))).unwrap_or(2);
            run.title = format!("{}.{number}", run.name);
        }
        runs.push(run);
    }
    number_jobs(&mut runs);
    runs
}

/// Numbers the jobs that have blocks of duplicates in common.
fn number_jobs(runs: &mut [Run]) {
    let all = runs.iter().map(|run| run.workloads.len()).sum::<usize>();
    for (number, workload) in runs.iter_mut().flat_map(|run| &mut run.workloads).enumerate() {
        if let Some(DedupContent { sets: DedupSets::WorkingSet { job, jobs, .. }, .. }) = &mut workload.content.dedup
            && *jobs == 0
        {
            (*job, *jobs) = (u32::try_from(number).unwrap_or(0), u32::try_from(all).unwrap_or(1));
        }
    }
}

/// What runs at the same time.
fn one_run(context: &mut ReadingContext, group: &[&JobSection], targets: &mut Targets, interval_ns: u64) -> Run {
    targets.next_run();
    if group.iter().any(|job| job.options.replay.iolog.is_some()) {
        let name = run_name(group);
        let run = replay::run(context, group, targets, (&name, interval_ns));
        // A replay that could not be set up was reported, and then there is no plan.
        return commands(group, run.unwrap_or_else(|| Run::of_replay(&name, nothing(group))));
    }
    let first = &group[0].options;
    let warmup_ns = first.ramp_ns;
    if let Some(other) = group.iter().find(|job| job.options.ramp_ns != warmup_ns) {
        context.push(unlike_ramps(group[0], other));
    }
    let mut run = Run {
        name: run_name(group),
        title: run_name(group),
        loops: Vec::new(),
        workloads: Vec::new(),
        depth: None,
        rate: OfferedRate::Max,
        simulated_rate: None,
        arrivals: Arrivals::default(),
        elapsed_ns: None,
        warmup_ns,
        interval_ns,
        pause_ns: 0,
        // Each job has its own rule for them.
        stop: StopCondition { steady: steady(first), errors: Some(ErrorRule::Never), ..StopCondition::default() },
        objectives: Vec::new(),
        start_commands: Vec::new(),
        end_commands: Vec::new(),
        format: false,
        span: group[0].span,
    };
    let mut first_of: Vec<(String, usize, usize)> = Vec::new();
    for job in group {
        let begin = run.workloads.len();
        for copy in 0..job.options.copies {
            let name = workload_name(&run.workloads, job, copy);
            if let Some(workload) = workload(context, job, copy, (&name, warmup_ns), targets) {
                objectives(context, job, &workload, &mut run.objectives);
                run.workloads.push(workload);
            }
        }
        first_of.push((job.name.clone(), begin, run.workloads.len()));
    }
    if group.iter().any(|job| job.options.entries.is_some()) {
        to_entries::check_group(context, group, &run.workloads, &targets.trees);
    }
    let mut run = commands(group, run);
    waits(context, group, &first_of, &mut run);
    let all = run.workloads.len().max(1) as f64;
    run.workloads.iter_mut().for_each(|workload| workload.share = 1.0 / all);
    times(group, &mut run);
    run
}

/// Jobs that run together are measured from the same moment on: what one of them did in the warm-up of another would be in no figure.
fn unlike_ramps(one: &JobSection, other: &JobSection) -> Diagnostic {
    let span = [other, one].iter().find_map(|job| job.options.spans.get("ramp_time").copied()).unwrap_or(other.span);
    let ramp = |job: &JobSection| match job.options.ramp_ns {
        0 => format!("`{}` has no ramp_time", job.name),
        ns => format!("`{}` has ramp_time={}", job.name, seconds(ns)),
    };
    let message = format!("{}, {}, and both run at the same time", ramp(one), ramp(other));
    let help = "give all jobs of a group the same ramp_time= (in [global]), or put `stonewall` into the second one";
    Diagnostic::error("ramp-time", span, message).help(help)
}

/// A replay of nothing.
fn nothing(group: &[&JobSection]) -> Workload {
    Workload::replaying(Replay::new(PathBuf::new()), group[0].span)
}

/// The run with what is to be done before and after its jobs.
fn commands(group: &[&JobSection], mut run: Run) -> Run {
    for job in group {
        let command = |line: &Option<String>| {
            line.iter()
                .map(|line| ShellCommand {
                    line: line.clone(),
                    output: "log".to_string(),
                    abort: false,
                    span: job.span,
                })
                .collect::<Vec<_>>()
        };
        run.start_commands.extend(command(&job.options.prerun));
        run.end_commands.extend(command(&job.options.postrun));
    }
    run
}

/// `wait_for=` by index.
fn waits(context: &mut ReadingContext, group: &[&JobSection], first_of: &[(String, usize, usize)], run: &mut Run) {
    for (at, job) in group.iter().enumerate() {
        let Some(wanted) = &job.options.wait_for else { continue };
        let span = job.options.spans.get("wait_for").copied().unwrap_or(job.span);
        let mut after = Vec::new();
        for wanted in wanted.split(',').map(str::trim) {
            let of_name = first_of[..at].iter().rev().find(|(name, ..)| name == wanted);
            let found: Vec<usize> = match of_name {
                Some((_, from, to)) => (*from..*to).collect(),
                // A single copy, or all sections that are copies.
                None => (0..first_of[at].1)
                    .filter(|at| run.workloads[*at].name == wanted || base_name(&run.workloads[*at].name) == wanted)
                    .collect(),
            };
            if found.is_empty() {
                let message = format!("`wait_for`: no job `{wanted}` stands before this one in its group");
                let help = "name a job above that runs at the same time; stonewall waits for all jobs before";
                context.push(Diagnostic::error("wait-for", span, message).help(help));
            }
            after.extend(found);
        }
        let (begin, end) = (first_of[at].1, first_of[at].2);
        for workload in &mut run.workloads[begin..end] {
            if let Some(job) = &mut workload.job {
                job.after.clone_from(&after);
            }
        }
    }
}

/// The length of the run, when all its jobs have one; those that last as long need none of their own.
fn times(group: &[&JobSection], run: &mut Run) {
    let endless = group.iter().any(|job| job.options.runtime_ns.is_none() || job.options.wait_for.is_some());
    let end = |workload: &Workload| {
        let job = workload.job.as_ref()?;
        Some(job.start_ns.saturating_add(job.elapsed_ns?))
    };
    if endless {
        return;
    }
    let Some(last) = run.workloads.iter().filter_map(end).max() else { return };
    run.elapsed_ns = Some(last.saturating_sub(run.warmup_ns));
    for workload in &mut run.workloads {
        if end(workload) == Some(last)
            && let Some(job) = &mut workload.job
        {
            job.elapsed_ns = None;
        }
    }
}

/// The names of the jobs, copies (`job.0`, `job.1`) taken together.
fn run_name(group: &[&JobSection]) -> String {
    let mut names: Vec<&str> = group.iter().map(|job| base_name(&job.name)).collect();
    names.dedup();
    match names[..] {
        [only] => only.to_string(),
        [first, second] => format!("{first}+{second}"),
        [first, second, third] => format!("{first}+{second}+{third}"),
        [first, ..] => format!("{first}+{}_more", names.len() - 1),
        [] => String::new(),
    }
}

/// A name without the number of a copy.
pub(crate) fn base_name(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((base, number)) if !base.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    }
}

/// The job's name, with a number when it has copies or namesakes.
fn workload_name(before: &[Workload], job: &JobSection, copy: u32) -> String {
    let base = if job.options.copies > 1 { format!("{}.{copy}", job.name) } else { job.name.clone() };
    let taken = |name: &str| before.iter().any(|other| other.name == name);
    if !taken(&base) {
        return base;
    }
    (2..).map(|number| format!("{base}-{number}")).find(|name| !taken(name)).unwrap_or(base)
}

fn steady(options: &Options) -> Option<SteadyRule> {
    let (measure, slope, limit, is_fraction) = options.steady?;
    Some(SteadyRule {
        measure,
        slope,
        fraction: is_fraction.then_some(limit),
        absolute: (!is_fraction).then_some(limit),
        window_ns: options.steady_ns.max(1_000_000_000),
        ramp_ns: options.steady_ramp_ns,
    })
}

/// One copy of a job.
fn workload(
    context: &mut ReadingContext,
    section: &JobSection,
    copy: u32,
    (name, warmup_ns): (&str, u64),
    targets: &mut Targets,
) -> Option<Workload> {
    let options = &section.options;
    check(context, section)?;
    if let Some(engine) = options.entries {
        let rate = rate(options, &mix(options)).map(|(rate, _)| rate);
        return to_entries::workload(context, section, copy, (name, warmup_ns), (engine, rate, targets));
    }
    let used = options.pattern.ops();
    let sizes: Vec<&TransferSize> =
        options.sizes.iter().zip(used).filter(|(_, used)| *used).map(|(size, _)| size).collect();
    let smallest = sizes.iter().map(|size| size.min_bytes()).min().unwrap_or(4096);
    let open = OpenFlags {
        direct: options.direct,
        sync: options.sync,
        dsync: options.dsync,
        fsync_at_end: options.end_fsync,
        extra: 0,
    };
    let depth = if options.one_at_a_time { 1 } else { options.depth };
    let place = targets.place(context, section, copy, Use { open, depth, smallest })?;
    let mix = mix(options);
    let rate = rate(options, &mix);
    let own_rates = Some(rates(options, &mix)).filter(|rates| rate.is_none() && rates.iter().any(Option::is_some));
    let mix = rate.as_ref().map_or(mix, |(_, mix)| *mix);
    let transfer = sizes.first().map_or(TransferSize::Fixed(4096), |size| drawn(options, size));
    let own = |at: usize| Some(drawn(options, &options.sizes[at])).filter(|size| used[at] && *size != transfer);
    let address = address(section, place.files, &sizes);
    Some(Workload {
        name: name.to_string(),
        targets: place.targets,
        share: 1.0,
        share_fixed: false,
        rate: rate.map(|(rate, _)| rate),
        priority: None,
        depth: None,
        mix,
        write_transfer: own(1),
        trim_transfer: own(2),
        transfer,
        address,
        content: content(options),
        think_ns: 0,
        open: Some(open),
        job: Some(Job { rates: own_rates, ..job(section, copy, depth, (warmup_ns, place.size_bytes)) }),
        replay: None,
        load: plan::Load::Blocks,
        span: section.span,
    })
}

/// A size as it is drawn.
fn drawn(options: &Options, size: &TransferSize) -> TransferSize {
    match size {
        TransferSize::Uniform { min, max, .. } if options.unaligned => {
            TransferSize::Uniform { min: *min, max: *max, align: if options.direct { 512 } else { 1 } }
        }
        other if options.unaligned => other.clone(),
        other => in_multiples(other),
    }
}

/// What cannot be meant.
fn check(context: &mut ReadingContext, section: &JobSection) -> Option<()> {
    let options = &section.options;
    let span = |name: &str| options.spans.get(name).copied().unwrap_or(section.span);
    let mut fine = true;
    let mut error = |code, name: &str, message: String, help: &str| {
        context.push(Diagnostic::error(code, span(name), message).help(help.to_string()));
        fine = false;
    };
    if options.readonly && options.pattern != Pattern::Read {
        let message = format!("job `{}` writes or trims, and `readonly` forbids it", section.name);
        error("readonly", "rw", message, "leave out readonly, or use rw=read or randread");
    }
    let plain = options.distribution.is_none() && options.zones.is_empty();
    if options.random && options.random_percent < 100.0 && !plain {
        let message = "`percentage_random` goes with random_distribution=random only".to_string();
        error("percentage", "percentage_random", message, "leave one of the two out");
    }
    let random_runs = options.random && options.step.is_some();
    if random_runs && options.random_percent < 100.0 {
        let message = "`percentage_random` and a number behind rw= say the same in two ways".to_string();
        error("percentage", "percentage_random", message, "leave one of the two out");
    }
    let rated = |values: &PerOp<Option<u64>>| values.iter().any(Option::is_some);
    if rated(&options.rate) && rated(&options.rate_iops) {
        error("rate", "rate_iops", "`rate` and `rate_iops` exclude each other".to_string(), "leave one of the two out");
    }
    for (code, name, message, help) in conflicts(options) {
        error(code, name, message, help);
    }
    if options.latency_target_ns.is_some() && options.latency_window_ns.is_none() {
        error(
            "latency",
            "latency_target",
            "`latency_target` needs a latency_window".to_string(),
            "add latency_window=5s",
        );
    }
    if options.ends.fills_device && options.layout() == LayoutKind::Filled {
        let message = "`fill_device` is for jobs that only write: what is read would be written before".to_string();
        error("fill-device", "fill_device", message, "fill with a job rw=write, and read with one behind it");
    }
    if options.ends.fills_device && options.random && options.size.is_none() {
        let message = "random places need a `size`, with `fill_device` as well".to_string();
        error("fill-device", "fill_device", message, "add size=, or use rw=write");
    }
    let minimum = options.sizes.each_ref().map(TransferSize::min_bytes);
    let is_aligned = (0..3).any(|at| options.align[at] != 0 && options.align[at] != minimum[at]);
    if options.random && options.map && is_aligned {
        let message = "`blockalign` turns the random map off: places may come again before all have been visited";
        let found = Diagnostic::warning("blockalign", span("blockalign"), message);
        context.push(found.help("add norandommap, which says the same"));
    }
    if options.time_based && options.runtime_ns.is_none() {
        let found =
            Diagnostic::warning("time-based", span("time_based"), "`time_based` without a runtime does nothing");
        context.push(found.help("add runtime=60"));
    }
    fine.then_some(())
}

/// Options that exclude each other: code, the option's name, what is wrong and what to do.
fn conflicts(options: &Options) -> Vec<(&'static str, &'static str, String, &'static str)> {
    let mut out = Vec::new();
    let is_split = options.sizes.iter().any(|size| size.min_bytes() % 4096 != 0);
    if options.mapped && is_split && (options.direct || options.fsync.is_some() || options.fdatasync.is_some()) {
        let message =
            "`ioengine=mmap` with direct, fsync or fdatasync writes pages: a transfer has 4096 bytes at least";
        out.push((
            "mmap",
            "ioengine",
            message.to_string(),
            "use a bs of 4k or more, also for directions that do not come",
        ));
    }
    // Where the content is asked for, fio fills each buffer anew.
    let is_own = !options.literal.is_empty() || options.compress_percent > 0.0 || options.dedupe_percent > 0.0;
    if options.pattern.ops()[1] && !options.scrambles && !options.refills && !is_own {
        let message =
            "`scramble_buffers=0` writes the same random data over and over; here every write has data of its own";
        let help = "leave it out, add refill_buffers, or say with buffer_pattern= what is to be written";
        out.push(("content", "scramble_buffers", message.to_string(), help));
    }
    let has_percent = options.cmdprio_percent.iter().flatten().any(|percent| *percent > 0);
    let has_split = options.cmdprio_split.iter().flatten().any(|split| !split.is_empty());
    if has_percent && has_split {
        let message = "`cmdprio_percentage` and `cmdprio_bssplit` exclude each other".to_string();
        out.push(("priority", "cmdprio_bssplit", message, "leave one of the two out"));
    }
    if (has_percent || has_split) && options.one_at_a_time {
        let name = if has_split { "cmdprio_bssplit" } else { "cmdprio_percentage" };
        let message = format!("`{name}` is for the engines io_uring and libaio only");
        out.push(("priority", name, message, "add ioengine=io_uring, or use prio= and prioclass="));
    }
    if options.dedupe_percent > 0.0 && options.has_working_set {
        let files = if options.filename.is_empty() { options.nrfiles } else { options.filename.len() as u64 };
        let why = match options.size {
            Some(Amount::Bytes(_)) if files != 1 => "has a single file per job",
            Some(Amount::Bytes(_)) if options.working_set_percent + options.dedupe_percent > 100.0 => {
                "and dedupe_percentage are more than 100 % together, and what is in the set is no copy"
            }
            Some(Amount::Bytes(_)) => "",
            _ => "needs a size in bytes, of which the set is a part",
        };
        if !why.is_empty() {
            out.push((
                "dedupe",
                "dedupe_mode",
                format!("`dedupe_mode=working_set` {why}"),
                "see fio(1), dedupe_working_set_percentage",
            ));
        }
    }
    let zones_end = zones(options).into_iter().filter(|(share, _)| *share > 0.0).map(|(_, end)| end).next_back();
    let is_plain = options.random && options.filesize.is_none();
    if let (Some(RangeBound::Bytes(end)), Some(Amount::Bytes(size)), true) = (zones_end, &options.size, is_plain)
        && end > *size
    {
        let message = format!("the zones of `zoned_abs` end at {end} bytes, behind the {size} of `size`");
        let help = "make size= as large as its zones together, or these smaller";
        out.push(("zones", "random_distribution", message, help));
    }
    if options.zone_mode == Some(true) && options.zone_bytes == 0 {
        out.push(("zones", "zonemode", "`zonemode=strided` needs a zonesize".to_string(), "add zonesize=256k"));
    }
    if options.zone_mode.is_none() && options.zone_bytes > 0 {
        let message = "`zonesize` without zones: zonemode is none, fio's default".to_string();
        out.push(("zones", "zonesize", message, "add zonemode=strided, or leave it out"));
    }
    out
}

fn mix(options: &Options) -> OpMix {
    let flushes = |mix: OpMix| OpMix { fsync_every: options.fsync, fdatasync_every: options.fdatasync, ..mix };
    flushes(match options.pattern {
        Pattern::Read => OpMix::read_write(1.0),
        Pattern::Write => OpMix::read_write(0.0),
        Pattern::Trim => OpMix { write: 0.0, trim: 1.0, ..OpMix::read_write(0.0) },
        Pattern::ReadWrite => OpMix::read_write(options.read_percent / 100.0),
        Pattern::TrimWrite => OpMix { write: 0.5, trim: 0.5, trim_then_write: true, ..OpMix::read_write(0.0) },
    })
}

/// Operations per second of each direction that is used and has a rate.
fn rates(options: &Options, mix: &OpMix) -> PerOp<Option<f64>> {
    let shares = [mix.read, mix.write, mix.trim];
    let mut rates = [None; 3];
    for (at, slot) in rates.iter_mut().enumerate().filter(|(at, _)| shares[*at] > 0.0) {
        let size = drawn(options, &options.sizes[at]);
        let by_bytes = options.rate[at].map(|bytes| bytes as f64 / size.mean_bytes().max(1.0));
        *slot = by_bytes.or(options.rate_iops[at].map(|rate| rate as f64)).filter(|rate| *rate > 0.0);
    }
    if mix.trim_then_write {
        // They take turns: both are as fast as the slower one.
        let slower = rates[1].into_iter().chain(rates[2]).min_by(f64::total_cmp);
        rates = [None, slower, slower];
    }
    rates
}

/// Operations per second of all directions together, and the mix that their rates make: as in fio each direction has a
/// rate of its own. `None` where one of them has none.
fn rate(options: &Options, mix: &OpMix) -> Option<(f64, OpMix)> {
    let rates = rates(options, mix);
    let wanted = [mix.read, mix.write, mix.trim].iter().filter(|share| **share > 0.0).count();
    if rates.iter().flatten().count() < wanted {
        return None;
    }
    let [read, write, trim] = rates.map(Option::unwrap_or_default);
    let sum = read + write + trim;
    let mixed = if mix.trim_then_write {
        *mix
    } else {
        OpMix { read: read / sum, write: write / sum, trim: trim / sum, ..*mix }
    };
    Some((sum, mixed))
}

fn address(section: &JobSection, files: FileUse, sizes: &[&TransferSize]) -> AddressPattern {
    let options = &section.options;
    let rewinds = options.time_based && options.runtime_ns.is_some();
    let usual = if options.random { ReadHint::Random } else { ReadHint::Sequential };
    let hint = options.hint.unwrap_or(usual);
    let varies = !options.repeats_choices;
    let strided = strided(options).filter(|_| files.file_bytes.len() == 1);
    let mut files = FileUse { rewinds, varies, drops_cache: options.invalidate, hint, strided, ..files };
    if options.ends.pre_reads {
        // What was read is to be there.
        files.drops_cache = false;
        files.pre_read_bytes = sizes.first().map(|size| size.max_bytes());
    }
    // Two directions that go their own ways, each from the beginning.
    let per_op = matches!(options.pattern, Pattern::ReadWrite | Pattern::TrimWrite);
    if !options.random {
        // Several files begin anew together.
        files.rewinds &= files.file_bytes.len() == 1;
        files.gap_bytes = options.step.unwrap_or(0);
        let order = AddressOrder::Sequential { once: false, backward: files.gap_bytes < 0 };
        return AddressPattern { order, per_op, files: Some(Box::new(files)), ..AddressPattern::default() };
    }
    let own = |at: usize| options.sizes[at].min_bytes();
    let used = options.pattern.ops();
    let is_usual = |at: usize| options.align[at] == 0 || options.align[at] == own(at);
    files.align_bytes = [0, 1, 2].map(|at| if !used[at] || is_usual(at) { 0 } else { options.align[at] });
    let zones = zones(options);
    let is_alike = sizes.iter().all(|size| *size == sizes[0] && size.min_bytes() == size.max_bytes());
    // Zones and skewed places know no map, whatever the generator; nor does an alignment, even of what never comes.
    let is_even = options.distribution.is_none() && zones.is_empty() && (0..3).all(is_usual);
    let is_free = !is_even || !(options.lfsr || options.map);
    files.repeats = is_free;
    // The generator that visits every place once knows of no sizes, the map does.
    files.cuts = is_even && options.map && !options.lfsr && !is_alike;
    let order = match (options.distribution, options.random_percent < 100.0) {
        (_, true) => AddressOrder::Mixed {
            seek: options.random_percent / 100.0,
            distribution: if is_free { AddressDistribution::Uniform } else { AddressDistribution::ExactOnce },
        },
        (Some(distribution), _) => AddressOrder::Random(distribution),
        (None, _) if is_free => AddressOrder::Random(AddressDistribution::Uniform),
        (None, _) => AddressOrder::Random(AddressDistribution::ExactOnce),
    };
    let run_length = options.step.map_or(1, |step| u32::try_from(step).unwrap_or(u32::MAX));
    AddressPattern { order, run_length, zones, per_op, files: Some(Box::new(files)), ..AddressPattern::default() }
}

/// The zones that a single file is gone through in.
fn strided(options: &Options) -> Option<StridedZones> {
    let is_on = options.zone_mode == Some(true);
    let or_size = |bytes: u64| if bytes == 0 { options.zone_bytes } else { bytes };
    (is_on && options.zone_bytes > 0).then(|| StridedZones {
        bytes: options.zone_bytes,
        range_bytes: or_size(options.zone_range_bytes),
        skip_bytes: options.zone_skip_bytes,
    })
}

/// Ends of the zones, counted from the start of the part.
fn zones(options: &Options) -> Vec<(f64, RangeBound)> {
    let mut upto = (0.0, 0_u64);
    let end = |part: &Amount, upto: &mut (f64, u64)| match part {
        Amount::Part(part) => {
            upto.0 += part;
            RangeBound::Fraction((upto.0 * 1e9).round() / 1e9)
        }
        Amount::Bytes(bytes) => {
            upto.1 = upto.1.saturating_add(*bytes);
            RangeBound::Bytes(upto.1)
        }
    };
    options.zones.iter().map(|(share, part)| (*share, end(part, &mut upto))).collect()
}

fn content(options: &Options) -> WriteContent {
    let ratio = |percent: f64| 1.0 / (1.0 - percent / 100.0);
    let unit_bytes = options.sizes[1].min_bytes();
    let sets = match options.size {
        Some(Amount::Bytes(size)) if options.has_working_set => {
            let pages = floor(size as f64 * options.working_set_percent / 100.0) / unit_bytes.max(1);
            // Which of all jobs it is, is known when all are.
            DedupSets::WorkingSet { pages: pages.max(1), job: 0, jobs: u32::from(!options.is_dedupe_global) }
        }
        _ => DedupSets::Previous,
    };
    WriteContent {
        compress_ratio: ratio(options.compress_percent),
        dedup: (options.dedupe_percent > 0.0).then(|| DedupContent {
            ratio: ratio(options.dedupe_percent),
            unit_bytes,
            sets,
            across: false,
        }),
        literal: options.literal.clone(),
        ..WriteContent::default()
    }
}

fn job(section: &JobSection, copy: u32, depth: u32, (warmup_ns, size_bytes): (u64, Option<u64>)) -> Job {
    let options = &section.options;
    let (low, high) = options.delay_ns;
    // Copies begin at different times in the range, the same ones in every execution.
    let part = (u64::from(copy).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as f64 / 4_294_967_296.0;
    let start_ns = low + floor((high - low) as f64 * part);
    let endless = options.time_based && options.runtime_ns.is_some();
    let io_size = options.io_size.and_then(|size| match size {
        Amount::Bytes(bytes) => Some(RangeBound::Bytes(bytes)).filter(|_| bytes > 0),
        Amount::Part(part) => (part > 0.0 && part < 1.0).then_some(RangeBound::Fraction(part)),
    });
    // Of what never comes as well.
    let largest_bytes = options.sizes.iter().map(TransferSize::max_bytes).max().unwrap_or(0);
    let ends_by_bytes = !(options.one_at_a_time || options.null && depth == 1);
    let files = Some(FilePasses { size_bytes, io_size, loops: options.loops, endless, largest_bytes, ends_by_bytes });
    // Each place of a trimwrite is trimmed and then written: twice the operations.
    let twice = if options.pattern == Pattern::TrimWrite { 2 } else { 1 };
    let changes = options.pattern != Pattern::Read;
    // What goes by time ends by time alone.
    let wanted = options.number_ios.filter(|_| !endless);
    let wanted = wanted.map(|count| count.saturating_mul(options.loops).saturating_mul(twice));
    let cpus = match &options.cpus[..] {
        all if options.cpus_split && !all.is_empty() => vec![all[copy as usize % all.len()]],
        all => all.to_vec(),
    };
    let class = if options.prio.is_some() && options.prio_class == 0 { 2 } else { options.prio_class };
    let think = (options.think_ns > 0).then_some(ThinkTime {
        ns: options.think_ns,
        every: match (options.think_every, options.think_busy_ns) {
            (None, None) => Some(1),
            (every, _) => every,
        },
        busy_ns: options.think_busy_ns,
    });
    Job {
        depth_low: options.depth_low.map_or(depth - 1, |low| low.min(depth - 1)),
        gaps: options.gaps,
        start_ns,
        elapsed_ns: options.runtime_ns.map(|runtime| runtime.saturating_add(warmup_ns)),
        files,
        operations: if options.ends.creates_only { Some(0) } else { wanted },
        think,
        turn: options.turn,
        flow: options.flow.map(|weight| JobFlow { id: options.flow_id, weight }),
        latency: options.latency_target_ns.map(|target_ns| LatencyGoal {
            target_ns,
            window_ns: options.latency_window_ns.unwrap_or(1_000_000_000),
            fraction: options.latency_percent / 100.0,
            run_on: options.latency_run,
        }),
        placement: JobPlacement {
            cpus,
            nodes: options.nodes.clone(),
            nice: options.nice,
            io_priority: class << 13 | options.prio.unwrap_or(0),
        },
        mapped: options.mapped,
        priorities: priorities(options),
        // One at a time cannot overlap, nor do reads that do.
        keeps_apart: options.ends.keeps_apart && changes && depth > 1,
        checks_unknown: options.is_of_earlier(),
        end: Some(options.ends.job_end(section.group, section.exits_all)),
        ..Job::new(depth)
    }
}

/// Priorities of single requests.
fn priorities(options: &Options) -> Option<RequestPriorities> {
    let used = options.pattern.ops();
    let of = |at: usize| {
        // Without a class it is real time.
        let class = options.cmdprio_class[at].unwrap_or(1);
        let usual = u16::try_from(class << 13 | options.cmdprio[at].unwrap_or(0)).unwrap_or(0);
        let by_size = options.cmdprio_split[at].iter().flatten();
        let by_size = by_size.map(|(bytes, percent, own)| (Some(*bytes), *percent, own.unwrap_or(usual)));
        let plain = options.cmdprio_percent[at].map(|percent| (None, narrow(percent), usual));
        by_size
            .chain(plain)
            .filter(|(_, percent, _)| used[at] && *percent > 0)
            .map(|(bytes, percent, io_priority)| PriorityShare { bytes, percent, io_priority })
            .collect::<Vec<_>>()
    };
    let all = RequestPriorities { reads: of(0), writes: of(1) };
    (all != RequestPriorities::default()).then_some(all)
}

/// `rate_min`, `rate_iops_min` and `max_latency` as conditions.
fn objectives(context: &mut ReadingContext, section: &JobSection, workload: &Workload, out: &mut Vec<Objective>) {
    let options = &section.options;
    let span = |name: &str| options.spans.get(name).copied().unwrap_or(section.span);
    let label = label(&workload.name);
    let ops = ["read", "write", "trim"];
    // What never comes cannot be too slow.
    let shares = [workload.mix.read, workload.mix.write, workload.mix.trim];
    for (at, _) in shares.into_iter().enumerate().filter(|(_, share)| *share > 0.0) {
        let mut add = |measure: &str, value: Option<u64>, unit: &str, name: &str| {
            if let Some(value) = value.filter(|value| *value > 0) {
                let text = format!("{measure}{{workload={label}, op={}}} < {value}{unit}", ops[at]);
                out.push(Objective { text, span: span(name) });
            }
        };
        add("bytes_per_s", options.rate_min[at], " B/s", "rate_min");
        add("achieved", options.rate_iops_min[at], "/s", "rate_iops_min");
        if let Some(ns) = options.ends.slowest_ns[at] {
            let text = format!("service_ns_max{{workload={label}, op={}}} > {ns}ns", ops[at]);
            out.push(Objective { text, span: span("max_latency") });
        }
    }
    for (text, span) in &options.fail_if {
        if !out.iter().any(|other| other.text == *text) {
            out.push(Objective { text: text.clone(), span: *span });
        }
    }
    if workload.name.contains('"') {
        let message = "a job with an objective must not have a quote in its name".to_string();
        context.push(Diagnostic::error("name", section.span, message));
    }
}

fn seconds(ns: u64) -> String {
    let mut out = String::new();
    let _ = write!(out, "{}", ns as f64 / 1e9);
    out
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a u64")]
fn floor(value: f64) -> u64 {
    value as u64
}
