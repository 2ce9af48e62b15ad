//! A plan as a fio job file.

use crate::ends;
use crate::options::spread;
use crate::print_entries;
use crate::print_verify;
use crate::to_jobs::{as_jobs, without_commands};
use crate::to_plan::base_name;
use crate::words::{as_range, in_multiples, is_unaligned};
use crate::words_out::{Lines, list, percent, share_text, time};
use parameter_text::PrintedPlan;
use parameter_text::shortest::{bytes, inverse};
use plan::{
    AddressDistribution, AddressOrder, FileLength, FileUse, GapDistribution, Job, LayoutKind, OpMix, Plan,
    PriorityShare, RangeBound, ReadHint, RequestPriorities, Run, SteadyMeasure, TargetOrder, TransferSize, Workload,
};
use std::fmt::Write as _;

/// The job file, with every run a group behind a stonewall. What fio's language cannot say is listed.
pub fn print_fio(plan: &Plan) -> PrintedPlan {
    let mut unsaid = Vec::new();
    let plain = parameter_text::without_replays(plan, &mut unsaid);
    let plain = without_commands(&plain, &mut unsaid);
    let plan = &plain;
    settings(plan, &mut unsaid);
    let mut sections: Vec<(String, Lines)> = Vec::new();
    for (number, run) in plan.runs.iter().enumerate() {
        let run = as_jobs(plan, run, &mut unsaid);
        let mut group: Vec<(String, Lines)> = Vec::new();
        for (at, workload) in run.workloads.iter().enumerate() {
            let mut lines = Lines::default();
            lines.add_if(number > 0 && at == 0, "stonewall", || "1".to_string());
            section(plan, &run, at, workload, &mut lines, &mut unsaid);
            group.push((workload.name.replace([';', '#'], "_"), lines));
        }
        copies(&mut group);
        for (name, commands) in [("exec_prerun", &run.start_commands), ("exec_postrun", &run.end_commands)] {
            for (command, (_, lines)) in commands.iter().zip(&mut group) {
                lines.add(name, &command.line);
            }
            if commands.len() > group.len() {
                unsaid.push(format!("{} has more commands than jobs", run.title));
            }
        }
        sections.extend(group);
    }
    let is_verified = sections.iter().any(|(_, lines)| lines.value("verify").is_some());
    print_verify::unsaid(plan, is_verified, &mut unsaid);
    for (name, lines) in &sections {
        let cut = |option| format!("`{name}`: `;` or `#` in `{option}=`: in a job file they begin a comment");
        unsaid.extend(lines.with_comments().map(cut));
    }
    let mut global = Lines::common(sections.iter().map(|(_, lines)| lines));
    if sections.len() < 2 {
        global = Lines::default();
    }
    let mut text = String::new();
    if !global.is_empty() {
        text.push_str("[global]\n");
        global.write(&mut text);
    }
    for (name, lines) in &sections {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}[{name}]");
        lines.without(&global).write(&mut text);
    }
    unsaid.dedup();
    PrintedPlan { text, unsaid }
}

/// Jobs that are alike but for the number behind their name are copies of one.
fn copies(sections: &mut Vec<(String, Lines)>) {
    let mut out: Vec<(String, Lines)> = Vec::new();
    let mut rest = std::mem::take(sections).into_iter().peekable();
    while let Some((name, mut lines)) = rest.next() {
        let base = base_name(&name).to_string();
        let mut alike = Vec::new();
        if name == format!("{base}.0") {
            let own = lines.without_name("stonewall");
            while let Some(next) =
                rest.next_if(|(next, other)| *next == format!("{base}.{}", alike.len() + 1) && *other == own)
            {
                alike.push(next);
            }
        }
        if alike.is_empty() {
            out.push((name, lines));
        } else {
            lines.push("numjobs", &(alike.len() + 1).to_string());
            out.push((base, lines));
        }
    }
    *sections = out;
}

fn settings(plan: &Plan, unsaid: &mut Vec<String>) {
    if plan.settings.is_data_seeded {
        unsaid.push(format!("the seed of the data: use --seed {}", plan.settings.seed));
    }
    let default = plan::PlanSettings::default();
    let settings = &plan.settings;
    if settings.repeat != default.repeat {
        unsaid.push("all runs are repeated: use --repeat or -l".to_string());
    }
    if settings.format == Some(true) {
        unsaid.push(
            "every target is written once before the first run (formatsds=yes): add a job rw=write,size=100% before it"
                .to_string(),
        );
    }
    for command in settings.start_commands.iter().chain(&settings.end_commands) {
        unsaid.push(format!("the command `{}` before or after all runs", command.line));
    }
    if settings.concatenate {
        unsaid.push("all targets form one address space (concatenatesds)".to_string());
    }
    if settings.monitor.is_some() {
        unsaid.push("a file that ends runs is watched (monitor=)".to_string());
    }
    if settings.skew_tolerance.is_some() {
        unsaid.push("shares that are missed fail the run (abort_failed_skew)".to_string());
    }
    if settings.errors_command.is_some() {
        unsaid.push("the command at the number of errors that ends a run (data_errors)".to_string());
    }
}

/// One job.
fn section(plan: &Plan, run: &Run, at: usize, workload: &Workload, lines: &mut Lines, unsaid: &mut Vec<String>) {
    if print_entries::section(plan, run, workload, lines) {
        return objectives(plan, run, at, workload, lines, unsaid);
    }
    let job = workload.job.clone().unwrap_or_else(|| Job::new(1));
    target(plan, workload, &job, lines, unsaid);
    pattern(workload, lines, unsaid);
    sizes(workload, lines);
    content(workload, lines, unsaid);
    print_verify::section(plan, workload, lines);
    engine(plan, workload, &job, lines);
    pace(workload, &job, lines);
    times(run, workload, &job, lines, unsaid);
    if !job.after.is_empty() {
        let mut names: Vec<&str> =
            job.after.iter().filter_map(|at| run.workloads.get(*at)).map(|other| other.name.as_str()).collect();
        let base = base_name(names[0]);
        let copies = run.workloads[..at].iter().filter(|other| base_name(&other.name) == base);
        if names.len() > 1 && copies.map(|other| other.name.as_str()).eq(names.iter().copied()) {
            names = vec![base];
        }
        if names.len() > 1 {
            unsaid.push(format!("`{}` waits for several jobs: wait_for with commas is iodyno's own", workload.name));
        }
        lines.add("wait_for", &names.join(","));
    }
    placement(&job, lines);
    if let Some(end) = &job.end {
        let group = |other: &Workload| other.job.as_ref()?.end.as_ref().map(|end| end.group);
        let before = at.checked_sub(1).and_then(|before| group(&run.workloads[before]));
        lines.add_if(before.unwrap_or(0) != end.group, "new_group", || "1".to_string());
        ends::end_options(end).into_iter().for_each(|(name, value)| lines.add(name, &value));
    }
    objectives(plan, run, at, workload, lines, unsaid);
}

fn target(plan: &Plan, workload: &Workload, job: &Job, lines: &mut Lines, unsaid: &mut Vec<String>) {
    let specs: Vec<_> = workload.targets.iter().filter_map(|at| plan.targets.get(*at)).collect();
    let names: Vec<String> = specs.iter().map(|spec| spec.path.display().to_string().replace(':', "\\:")).collect();
    lines.add("filename", &names.join(":"));
    let count = specs.len().max(1) as u64;
    let address = &workload.address;
    match address.range {
        None if address.files.is_some() => {
            let size_bytes = job.files.as_ref().and_then(|files| files.size_bytes);
            address.files.iter().for_each(|files| part(workload, files, size_bytes, lines, unsaid));
            layout(&specs, workload, lines);
        }
        None => {
            lines.add_if(address.base_bytes > 0, "offset", || bytes(address.base_bytes));
            let sized: Vec<u64> = specs.iter().filter_map(|spec| spec.size_bytes).collect();
            let ranged = plan.runs.iter().flat_map(|run| &run.workloads).any(|other| {
                other.address.range.is_some() && other.targets.iter().any(|at| workload.targets.contains(at))
            });
            match sized[..] {
                [] => {}
                [first, ref rest @ ..] if rest.iter().all(|size| *size == first) && sized.len() == specs.len() => {
                    lines.add_if(!ranged, "filesize", || bytes(first));
                }
                _ => unsaid.push(format!("the files of `{}` have different sizes", workload.name)),
            }
        }
        Some(range) => match (range.low, range.high) {
            (RangeBound::Bytes(low), RangeBound::Bytes(high)) => {
                let offset = address.base_bytes + low;
                lines.add_if(offset > 0, "offset", || bytes(offset));
                lines.add("size", &bytes(high.saturating_sub(low) * count));
            }
            (RangeBound::Fraction(low), RangeBound::Fraction(high)) if high <= 1.0 => {
                lines.add_if(low > 0.0, "offset", || percent(low));
                lines.add_if(low == 0.0 || high < 1.0, "size", || share_text(high, |part| low + part));
            }
            _ => unsaid.push(format!("the range of `{}` wraps around or mixes bytes and percent", workload.name)),
        },
    }
    if specs.iter().any(|spec| spec.skip_first_block) {
        unsaid.push(format!("`{}` leaves the first block of its devices alone", workload.name));
    }
    match job.turn {
        TargetOrder::RoundRobin { each: 1 } => {}
        TargetOrder::RoundRobin { each } => lines.add("file_service_type", &format!("roundrobin:{each}")),
        TargetOrder::Random { each: 1 } => lines.add("file_service_type", "random"),
        TargetOrder::Random { each } => lines.add("file_service_type", &format!("random:{each}")),
        TargetOrder::Sequential => lines.add("file_service_type", "sequential"),
        TargetOrder::Joined => unsaid.push(format!("the targets of `{}` form one address space", workload.name)),
    }
    lines.add_if(specs.iter().all(|spec| spec.unlink) && !specs.is_empty(), "unlink", || "1".to_string());
    lines.add_if(plan.settings.format == Some(false), "allow_file_create", || "0".to_string());
}

/// The part of its files that a job uses.
fn part(workload: &Workload, files: &FileUse, size_bytes: Option<u64>, lines: &mut Lines, unsaid: &mut Vec<String>) {
    if files.offset_bytes > 0 && files.offset_fraction > 0.0 {
        unsaid.push(format!("the offset of `{}` mixes bytes and percent", workload.name));
    }
    lines.add_if(files.offset_bytes > 0, "offset", || bytes(files.offset_bytes));
    lines.add_if(files.offset_fraction > 0.0, "offset", || percent(files.offset_fraction));
    match files.lengths.first() {
        Some(FileLength::Whole { low, high, .. }) if low == high => lines.add("filesize", &bytes(*low)),
        Some(FileLength::Whole { low, high, .. }) => {
            lines.add("filesize", &format!("{}-{}", bytes(*low), bytes(*high)));
        }
        _ => {}
    }
    if let Some(zones) = files.strided {
        lines.add_if(true, "zonemode", || "strided".to_string());
        lines.add_if(true, "zonesize", || bytes(zones.bytes));
        lines.add_if(zones.range_bytes != zones.bytes, "zonerange", || bytes(zones.range_bytes));
        lines.add_if(zones.skip_bytes > 0, "zoneskip", || bytes(zones.skip_bytes));
    }
    lines.add_if(files.pre_read_bytes.is_some(), "pre_read", || "1".to_string());
    lines.add_if(!files.drops_cache && files.pre_read_bytes.is_none(), "invalidate", || "0".to_string());
    lines.add_if(files.varies, "randrepeat", || "0".to_string());
    let usual = match workload.address.order {
        AddressOrder::Sequential { .. } => ReadHint::Sequential,
        AddressOrder::Random(_) | AddressOrder::Mixed { .. } => ReadHint::Random,
    };
    match files.hint {
        hint if hint == usual => {}
        ReadHint::Unset => lines.add("fadvise_hint", "0"),
        ReadHint::Random => lines.add("fadvise_hint", "random"),
        ReadHint::Sequential => lines.add("fadvise_hint", "sequential"),
    }
    lines.add_if(size_bytes.is_some(), "size", || bytes(size_bytes.unwrap_or(0)));
    lines.add_if(files.fraction < 1.0, "size", || percent(files.fraction));
}

/// How files get their length, where that makes a difference to this job.
fn layout(specs: &[&plan::TargetSpec], workload: &Workload, lines: &mut Lines) {
    let all = || specs.iter().filter_map(|spec| spec.layout).map(|layout| layout.how);
    // A file that another job reads is filled for that one.
    let how = all().find(|how| *how != LayoutKind::Filled).or_else(|| all().next());
    let reads = workload.mix.read > 0.0 || (workload.address.per_op && !workload.mix.trim_then_write);
    let end = workload.job.as_ref().and_then(|job| job.end.as_ref());
    let fills = end.is_some_and(|end| end.fills_device);
    match how {
        // What is mapped is written before anyway.
        Some(LayoutKind::Filled) if workload.job.as_ref().is_some_and(|job| job.mapped) => {}
        // It is another one that reads.
        Some(LayoutKind::Filled) if fills => {}
        Some(LayoutKind::Filled) if !reads => lines.add("overwrite", "1"),
        Some(LayoutKind::Kept) if !reads => lines.add("fallocate", "keep"),
        Some(LayoutKind::Sparse) if !reads => lines.add("fallocate", "truncate"),
        Some(LayoutKind::Untouched) if !reads => lines.add("fallocate", "none"),
        _ => {}
    }
}

fn pattern(workload: &Workload, lines: &mut Lines, unsaid: &mut Vec<String>) {
    let (mix, address) = (&workload.mix, &workload.address);
    let random = !matches!(address.order, AddressOrder::Sequential { .. });
    let files = address.files.as_deref();
    let two_ways = address.per_op || workload.write_transfer.is_some();
    let word = match mix {
        OpMix { trim_then_write: true, .. } if random => "randtrimwrite",
        OpMix { trim_then_write: true, .. } => "trimwrite",
        OpMix { trim, read, write, .. } if *trim > 0.0 => {
            if read + write > 0.0 {
                unsaid.push(format!("`{}` mixes trims with reads or writes", workload.name));
            }
            if random { "randtrim" } else { "trim" }
        }
        OpMix { write, .. } if *write == 0.0 && !two_ways => {
            if random {
                "randread"
            } else {
                "read"
            }
        }
        OpMix { read, .. } if *read == 0.0 && !two_ways => {
            if random {
                "randwrite"
            } else {
                "write"
            }
        }
        _ => {
            if random {
                "randrw"
            } else {
                "rw"
            }
        }
    };
    let step = match (address.order, address.stride) {
        (AddressOrder::Random(_), _) if address.run_length > 1 => format!(":{}", address.run_length),
        (AddressOrder::Sequential { .. }, _) if files.is_some() => match files.map_or(0, |files| files.gap_bytes) {
            0 => String::new(),
            gap => format!(":{}{}", if gap < 0 { "-" } else { "" }, bytes(gap.unsigned_abs())),
        },
        (AddressOrder::Sequential { backward, .. }, stride) => gap(workload, backward, stride, unsaid),
        _ => String::new(),
    };
    lines.add("rw", &format!("{word}{step}"));
    let one_sided = mix.read == 0.0 || mix.read == 1.0;
    if word.ends_with("rw") && (workload.rate.is_none() || one_sided) {
        lines.add_if(mix.read != 0.5, "rwmixread", || percent(mix.read).trim_end_matches('%').to_string());
    }
    if mix.flush > 0.0 {
        unsaid.push(format!("`{}` has flushes as a part of its mix; fsync=N comes near", workload.name));
    }
    if address.read_hit > 0.0 || address.write_hit > 0.0 {
        unsaid.push(format!("`{}` has a hit area (rhpct, whpct)", workload.name));
    }
    if address.hot_band.is_some() {
        unsaid.push(format!("`{}` has a hot band; random_distribution=zoned comes near", workload.name));
    }
    if address.streams.is_some_and(|streams| streams > 1) {
        unsaid.push(format!("`{}` has sequential streams; numjobs with offset_increment comes near", workload.name));
    }
    lines.add_if(mix.fsync_every.is_some(), "fsync", || mix.fsync_every.unwrap_or(0).to_string());
    lines.add_if(mix.fdatasync_every.is_some(), "fdatasync", || mix.fdatasync_every.unwrap_or(0).to_string());
    distribution(workload, lines, unsaid);
}

/// The number behind `rw=` of a sequential pattern.
fn gap(workload: &Workload, backward: bool, stride: Option<(u64, u64)>, unsaid: &mut Vec<String>) -> String {
    let size = workload.transfer.max_bytes();
    match stride {
        None if backward => format!(":-{}", bytes(size * 2)),
        None => String::new(),
        Some((min, max)) if min == max && !backward && min > size => format!(":{}", bytes(min - size)),
        Some((min, max)) if min == max && !backward => format!(":-{}", bytes(size - min)),
        Some((min, max)) if min == max => format!(":-{}", bytes(size + min)),
        Some(_) => {
            unsaid.push(format!("`{}` skips ahead by chance", workload.name));
            String::new()
        }
    }
}

fn distribution(workload: &Workload, lines: &mut Lines, unsaid: &mut Vec<String>) {
    let address = &workload.address;
    let varied = workload.transfers().iter().any(|size| size.min_bytes() != size.max_bytes());
    if let Some(files) = address.files.as_deref().filter(|_| !matches!(address.order, AddressOrder::Sequential { .. }))
    {
        let is_mixed = varied || workload.write_transfer.is_some() || workload.trim_transfer.is_some();
        let has_align = files.align_bytes != [0; 3];
        lines.add_if(has_align, "blockalign", || files.align_bytes.map(bytes).join(","));
        let is_once = !files.repeats && !files.cuts && is_mixed && !has_align && address.zones.is_empty();
        lines.add_if(is_once, "random_generator", || "lfsr".to_string());
        let is_even = match address.order {
            AddressOrder::Random(distribution) | AddressOrder::Mixed { distribution, .. } => distribution.is_uniform(),
            AddressOrder::Sequential { .. } => false,
        };
        let is_free = files.repeats && is_even && !has_align && address.zones.is_empty();
        lines.add_if(is_free, "norandommap", || "1".to_string());
    }
    match address.order {
        AddressOrder::Sequential { .. } => {}
        AddressOrder::Mixed { seek, distribution } => {
            lines.add("percentage_random", percent(seek).trim_end_matches('%'));
            let is_free = address.files.is_none() && distribution.is_uniform();
            lines.add_if(is_free, "norandommap", || "1".to_string());
            if !address.zones.is_empty() {
                zones(workload, lines, unsaid);
            }
            if matches!(distribution, AddressDistribution::Poisson(_)) {
                unsaid.push(format!("the seeks of `{}` are spread as Vdbench's poisson", workload.name));
            }
        }
        AddressOrder::Random(AddressDistribution::ExactOnce) => {}
        AddressOrder::Random(AddressDistribution::Uniform) if !address.zones.is_empty() => {
            zones(workload, lines, unsaid)
        }
        AddressOrder::Random(AddressDistribution::Uniform) => {
            let is_plain = address.files.is_none() && address.run_length <= 1;
            lines.add_if(is_plain, "norandommap", || "1".to_string());
        }
        AddressOrder::Random(AddressDistribution::Zipf(theta)) => {
            lines.add("random_distribution", &format!("zipf:{theta}"))
        }
        AddressOrder::Random(AddressDistribution::Pareto(h)) => {
            lines.add("random_distribution", &format!("pareto:{h}"))
        }
        AddressOrder::Random(AddressDistribution::Normal(deviation)) => {
            let text = asked_for(deviation, workload, unsaid);
            lines.add("random_distribution", &format!("normal:{text}"));
        }
        AddressOrder::Random(AddressDistribution::Poisson(_)) => {
            unsaid.push(format!("`{}` is spread as Vdbench's poisson", workload.name));
        }
    }
    let sizes = workload.transfers();
    let unaligned = sizes.iter().find_map(|size| match size {
        TransferSize::Uniform { min, align, .. } if align != min || in_multiples(size) != **size => Some(*align),
        _ => None,
    });
    lines
        .add_if(unaligned.is_some() || sizes.iter().any(|size| is_unaligned(size)), "bs_unaligned", || "1".to_string());
    if address.files.is_some() {
        return;
    }
    // What varies is aligned to the smallest, or not at all, anyway.
    let smallest = sizes.iter().map(|size| size.min_bytes()).min();
    let usual = unaligned.or(smallest.filter(|_| varied));
    let alike = sizes.iter().all(|size| Some(size.min_bytes()) == smallest);
    let would_differ =
        address.align_bytes != usual || (varied && !alike && unaligned.is_none() && address.align_by_op.is_none());
    if let Some(align) = address.align_bytes.filter(|_| would_differ) {
        lines.add("blockalign", &bytes(align));
    }
}

/// What to ask fio for a normal distribution of this deviation.
fn asked_for(deviation: f64, workload: &Workload, unsaid: &mut Vec<String>) -> String {
    let asked = (12.0 * deviation.powi(2) - 1.0 / 12.0).max(0.0).sqrt().min(0.5);
    let [least, most] = [0.0, 1.0].map(spread);
    if !(least..=most).contains(&deviation) {
        let (least, most) = (least * 100.0, most * 100.0);
        unsaid.push(format!(
            "`{}` is normal with a deviation of {} of the range; in fio it is between {least:.1} and {most:.1} %",
            workload.name,
            percent(deviation)
        ));
    }
    share_text_of(asked, deviation, spread)
}

fn zones(workload: &Workload, lines: &mut Lines, unsaid: &mut Vec<String>) {
    let mut parts = Vec::new();
    let (mut upto, mut before, mut absolute) = (0.0, 0, false);
    for (share, end) in &workload.address.zones {
        let share = percent(*share);
        let share = share.trim_end_matches('%');
        match end {
            RangeBound::Fraction(end) => {
                let part = share_text(*end, |part| ((upto + part) * 1e9).round() / 1e9);
                let part = part.trim_end_matches('%').to_string();
                upto += part.parse::<f64>().unwrap_or(0.0) / 100.0;
                parts.push(format!("{share}/{part}"));
            }
            RangeBound::Bytes(end) => {
                absolute = true;
                parts.push(format!("{share}/{}", bytes(end.saturating_sub(before))));
                before = *end;
            }
        }
    }
    if absolute && upto > 0.0 {
        unsaid.push(format!("the zones of `{}` mix bytes and percent", workload.name));
    }
    let kind = if absolute { "zoned_abs" } else { "zoned" };
    lines.add("random_distribution", &format!("{kind}:{}", parts.join(":")));
}

fn sizes(workload: &Workload, lines: &mut Lines) {
    let [read, write, trim] = workload.transfers();
    let word = |size: &TransferSize| match size {
        TransferSize::Fixed(size) => ("bs", bytes(*size)),
        TransferSize::Uniform { min, max, .. } => ("bsrange", format!("{}-{}", bytes(*min), bytes(*max))),
        TransferSize::Mix(_) if as_range(size).is_some() => {
            let (min, max) = as_range(size).unwrap_or_default();
            ("bsrange", format!("{}-{}", bytes(min), bytes(max)))
        }
        TransferSize::Mix(mix) => {
            let parts: Vec<String> = mix
                .iter()
                .map(|(size, share)| format!("{}/{}", bytes(*size), percent(*share).trim_end_matches('%')))
                .collect();
            ("bssplit", parts.join(":"))
        }
    };
    let unused = unused_sizes(workload);
    if read == write && read == trim && unused.is_none() {
        let (name, text) = word(read);
        return lines.add(name, &text);
    }
    let mut sizes = [read, write, trim].map(word);
    if let Some((at, low, high)) = unused {
        sizes[at] = ("bsrange", format!("{}-{}", bytes(low), bytes(high)));
    }
    for ((name, text), (left, right)) in sizes.into_iter().zip([("", ",,"), (",", ","), (",,", "")]) {
        lines.push(name, &format!("{left}{text}{right}"));
    }
}

/// A kind of operation that never comes, and its smallest and largest size, where a part or a pass is reckoned with them.
fn unused_sizes(workload: &Workload) -> Option<(usize, u64, u64)> {
    let files = workload.address.files.as_ref()?;
    let largest = workload.job.as_ref().and_then(|job| job.files.as_ref()).map(|files| files.largest_bytes);
    let mix = &workload.mix;
    let shares = [mix.read, mix.write, mix.trim];
    let used = |at: &usize| shares[*at] > 0.0;
    let sizes = workload.transfers();
    let min = (0..3).filter(used).map(|at| sizes[at].min_bytes()).min()?;
    let max = (0..3).filter(used).map(|at| sizes[at].max_bytes()).max()?;
    let (low, high) = (files.smallest_bytes.min(min), largest.unwrap_or(max).max(max));
    // Those of all kinds may say it already.
    let all = (sizes.iter().map(|size| size.min_bytes()).min()?, sizes.iter().map(|size| size.max_bytes()).max()?);
    // A read and written pattern keeps the sizes of both, whatever its mix; copies are as large as writes.
    [2, 0, 1].into_iter().find(|at| !used(at)).filter(|_| (low, high) != all).map(|at| (at, low, high))
}

fn content(workload: &Workload, lines: &mut Lines, unsaid: &mut Vec<String>) {
    let content = &workload.content;
    let ratio = |part: f64| 1.0 / (1.0 - part);
    let saved = |of: f64| share_text_of(1.0 - 1.0 / of, of, ratio);
    lines.add_if(content.compress_ratio > 1.0, "buffer_compress_percentage", || saved(content.compress_ratio));
    if let Some(dedup) = content.dedup.filter(|dedup| dedup.ratio > 1.0) {
        lines.add("dedupe_percentage", &saved(dedup.ratio));
        match dedup.sets {
            plan::DedupSets::Previous => {}
            plan::DedupSets::WorkingSet { pages, jobs, .. } => {
                let size_bytes =
                    workload.job.as_ref().and_then(|job| job.files.as_ref()).and_then(|files| files.size_bytes);
                let is_meant = |percent: &u64| {
                    size_bytes.is_some_and(|size| (size * percent / 100 / dedup.unit_bytes.max(1)).max(1) == pages)
                };
                lines.add("dedupe_mode", "working_set");
                lines.add_if(jobs > 1, "dedupe_global", || "1".to_string());
                match (0..=100).find(is_meant) {
                    Some(percent) => lines.add("dedupe_working_set_percentage", &percent.to_string()),
                    None => unsaid.push(format!("`{}` has a working set of {pages} blocks", workload.name)),
                }
            }
            plan::DedupSets::Count(_) | plan::DedupSets::Fraction(_) => unsaid.push(format!(
                "`{}` has copies of blocks anywhere, chosen by place; in fio they repeat the block written before",
                workload.name
            )),
        }
        if workload.transfers()[1].min_bytes() != dedup.unit_bytes {
            unsaid.push(format!(
                "`{}` has copies of {} bytes; in fio they are transfers",
                workload.name, dedup.unit_bytes
            ));
        }
    }
    if let Some(path) = &content.pattern {
        unsaid.push(format!("`{}` writes the bytes of {}", workload.name, path.display()));
    }
    match &content.literal[..] {
        [] => {}
        [0] => lines.add("zero_buffers", "1"),
        literal => {
            let hex: String = literal.iter().map(|byte| format!("{byte:02x}")).collect();
            lines.add("buffer_pattern", &format!("0x{hex}"));
        }
    }
}

/// A percentage without its sign, of which `forward` (of a fraction) makes `target` again.
fn share_text_of(guess: f64, target: f64, forward: impl Fn(f64) -> f64) -> String {
    inverse(guess * 100.0, |percent| forward(percent / 100.0).to_bits() == target.to_bits())
}

fn engine(plan: &Plan, workload: &Workload, job: &Job, lines: &mut Lines) {
    // Priorities of requests are nothing for the engines that have one at a time.
    let is_queued =
        job.depth > 1 || job.priorities.is_some() || job.files.as_ref().is_some_and(|files| files.ends_by_bytes);
    lines.add_if(is_queued && !job.mapped, "ioengine", || "io_uring".to_string());
    lines.add_if(job.mapped, "ioengine", || "mmap".to_string());
    lines.add_if(job.depth > 1 || job.priorities.is_some(), "iodepth", || job.depth.to_string());
    lines.add_if(job.depth_low + 1 < job.depth, "iodepth_low", || job.depth_low.to_string());
    let open =
        workload.open.or_else(|| workload.targets.first().and_then(|at| plan.targets.get(*at)).map(|spec| spec.open));
    let open = open.unwrap_or_default();
    lines.add_if(open.direct, "direct", || "1".to_string());
    lines.add_if(open.sync, "sync", || "sync".to_string());
    lines.add_if(open.dsync, "sync", || "dsync".to_string());
    lines.add_if(open.fsync_at_end, "end_fsync", || "1".to_string());
    let seed = plan.settings.seed;
    // What varies has a seed of each execution's own where none is given.
    let varies = workload.address.files.as_ref().is_some_and(|files| files.varies);
    let is_given = seed != plan::PlanSettings::default().seed || (varies && !plan.settings.is_seed_fresh);
    lines.add_if(is_given, "randseed", || seed.to_string());
}

fn pace(workload: &Workload, job: &Job, lines: &mut Lines) {
    if let Some(rate) = workload.rate {
        let mix = &workload.mix;
        let shares = if mix.trim_then_write { [0.0, 0.5, 0.5] } else { [mix.read, mix.write, mix.trim] };
        let rates = shares.map(|share| rate * share);
        let sizes = workload.transfers().map(TransferSize::mean_bytes);
        let whole = rates.iter().all(|rate| (rate - rate.round()).abs() < 1e-9);
        let used: Vec<String> = rates
            .iter()
            .zip(sizes)
            .map(|(rate, size)| if whole { format!("{}", rate.round()) } else { format!("{}", (rate * size).round()) })
            .collect();
        let name = if whole { "rate_iops" } else { "rate" };
        let text = match shares {
            [read, write, trim] if write == 0.0 && trim == 0.0 && read > 0.0 => used[0].clone(),
            [read, write, _] if read == 0.0 && write == 0.0 => used[2].clone(),
            [read, _, trim] if read == 0.0 && trim == 0.0 => used[1].clone(),
            _ => used.join(","),
        };
        lines.add(name, &text);
    }
    if let Some(rates) = job.rates {
        let sizes = workload.transfers().map(TransferSize::mean_bytes);
        let whole = rates.iter().flatten().all(|rate| (rate - rate.round()).abs() < 1e-9);
        let text = |at: usize| {
            let value = |rate: f64| if whole { rate.round() } else { (rate * sizes[at]).round() };
            rates[at].map_or(String::new(), |rate| value(rate).to_string())
        };
        lines.add(if whole { "rate_iops" } else { "rate" }, &format!("{},{}", text(0), text(1)));
    }
    lines.add_if(job.gaps == GapDistribution::Exponential, "rate_process", || "poisson".to_string());
    if let Some(think) = job.think {
        lines.add("thinktime", &time(think.ns));
        lines.add_if(think.every.is_some_and(|every| every > 1 || think.busy_ns.is_some()), "thinktime_blocks", || {
            think.every.unwrap_or(1).to_string()
        });
        lines.add_if(think.busy_ns.is_some(), "thinktime_iotime", || time(think.busy_ns.unwrap_or(0)));
    }
    if let Some(goal) = job.latency {
        lines.add("latency_target", &time(goal.target_ns));
        lines.add("latency_window", &time(goal.window_ns));
        lines.add("latency_percentile", percent(goal.fraction).trim_end_matches('%'));
        lines.add_if(goal.run_on, "latency_run", || "1".to_string());
    }
    if let Some(priorities) = &job.priorities {
        request_priorities(workload, priorities, lines);
    }
    if let Some(flow) = job.flow {
        lines.add("flow", &flow.weight.to_string());
        lines.add("flow_id", &flow.id.to_string());
    }
}

/// Priorities of single requests: of one share for all sizes, or by size.
fn request_priorities(workload: &Workload, priorities: &RequestPriorities, lines: &mut Lines) {
    let both = [&priorities.reads, &priorities.writes];
    let used = [workload.mix.read > 0.0, workload.mix.write > 0.0];
    let of = |text: &dyn Fn(&[PriorityShare]) -> String| {
        let texts: Vec<String> = both.iter().zip(used).filter(|(_, used)| *used).map(|(all, _)| text(all)).collect();
        texts.join(",")
    };
    let all = || both.into_iter().flatten();
    if all().all(|share| share.bytes.is_none()) {
        let first = |all: &[PriorityShare]| all.first().copied();
        lines.add("cmdprio_percentage", &of(&|all| first(all).map_or(0, |share| share.percent).to_string()));
        lines.add("cmdprio_class", &of(&|all| first(all).map_or(1, |share| share.io_priority >> 13).to_string()));
        lines.add("cmdprio", &of(&|all| first(all).map_or(0, |share| share.io_priority & 7).to_string()));
        return;
    }
    let one = |share: &PriorityShare| {
        let (class, level) = (share.io_priority >> 13, share.io_priority & 7);
        format!("{}/{}/{class}/{level}", bytes(share.bytes.unwrap_or(0)), share.percent)
    };
    lines.add("cmdprio_bssplit", &of(&|all| all.iter().map(one).collect::<Vec<_>>().join(":")));
}

fn times(run: &Run, workload: &Workload, job: &Job, lines: &mut Lines, unsaid: &mut Vec<String>) {
    let runtime = match (job.elapsed_ns, run.elapsed_ns) {
        (Some(own), _) => Some(own.saturating_sub(run.warmup_ns)),
        (None, Some(all)) => Some(all.saturating_sub(job.start_ns)),
        (None, None) => None,
    };
    lines.add_if(runtime.is_some(), "runtime", || time(runtime.unwrap_or(0)));
    lines.add_if(run.warmup_ns > 0, "ramp_time", || time(run.warmup_ns));
    lines.add_if(job.start_ns > 0, "startdelay", || time(job.start_ns));
    if let Some(files) = &job.files {
        lines.add_if(files.endless, "time_based", || "1".to_string());
        lines.add_if(files.loops > 1, "loops", || files.loops.to_string());
        match files.io_size {
            None => {}
            Some(RangeBound::Bytes(limit)) => lines.add("io_size", &bytes(limit)),
            Some(RangeBound::Fraction(part)) => lines.add("io_size", &percent(part)),
        }
    }
    let loops = job.files.as_ref().map_or(1, |files| files.loops.max(1));
    let twice = if job.files.is_some() && workload.mix.trim_then_write { 2 } else { 1 };
    match (job.bytes, job.passes) {
        _ if job.files.is_some() => {}
        // With `time_based` they would end nothing: as many passes as they take.
        (None, None) if job.operations.is_some_and(|count| count > 0) => {
            let most = job.operations.unwrap_or(0).saturating_mul(workload.transfer_max_bytes());
            lines.add("io_size", &bytes(most));
        }
        (None, None) if runtime.is_some() => lines.add("time_based", "1"),
        (None, None) => unsaid.push(format!("`{}` has no end", workload.name)),
        (Some(limit), _) if workload.mix.trim_then_write => lines.add("io_size", &bytes(limit / 2)),
        (Some(limit), _) => lines.add("io_size", &bytes(limit)),
        (None, Some(passes)) => {
            let passes = if workload.mix.trim_then_write { passes / 2.0 } else { passes };
            let loops = passes.ceil().max(1.0);
            lines.add_if(loops > 1.0, "loops", || loops.to_string());
            lines.add_if(passes < loops, "io_size", || share_text(passes, |part| part * loops));
        }
    }
    lines.add_if(job.operations == Some(0), "create_only", || "1".to_string());
    lines.add_if(job.keeps_apart, "serialize_overlap", || "1".to_string());
    lines.add_if(job.operations.is_some_and(|count| count > 0), "number_ios", || {
        (job.operations.unwrap_or(0) / loops / twice).to_string()
    });
    if let Some(steady) = run.stop.steady {
        let what = match steady.measure {
            SteadyMeasure::Operations => "iops",
            SteadyMeasure::Bytes => "bw",
            SteadyMeasure::Service => "lat",
        };
        let slope = if steady.slope { "_slope" } else { "" };
        let limit = match (steady.fraction, steady.absolute) {
            (Some(fraction), _) => percent(fraction),
            (None, Some(ns)) if steady.measure == SteadyMeasure::Service => format!("{ns}ns"),
            (None, other) => other.unwrap_or(0.0).to_string(),
        };
        lines.add("steadystate", &format!("{what}{slope}:{limit}"));
        lines.add("steadystate_duration", &time(steady.window_ns));
        lines.add_if(steady.ramp_ns > 0, "steadystate_ramp_time", || time(steady.ramp_ns));
    }
}

fn placement(job: &Job, lines: &mut Lines) {
    let place = &job.placement;
    lines.add_if(!place.cpus.is_empty(), "cpus_allowed", || list(&place.cpus));
    lines.add_if(!place.nodes.is_empty(), "numa_cpu_nodes", || list(&place.nodes));
    lines.add_if(place.nice != 0, "nice", || place.nice.to_string());
    if place.io_priority != 0 {
        lines.add("prioclass", &(place.io_priority >> 13).to_string());
        lines.add("prio", &(place.io_priority & 7).to_string());
    }
}

/// Conditions: those that options of fio's make stand with their job, all others in the first one.
fn objectives(plan: &Plan, run: &Run, at: usize, workload: &Workload, lines: &mut Lines, unsaid: &mut Vec<String>) {
    let own = crate::targets::label(&workload.name);
    let mut floors = [("rate_min", [None; 3]), ("rate_iops_min", [None; 3])];
    for objective in &run.objectives {
        match said(&objective.text, &own) {
            Some(Said::Floor(which, op, value)) => floors[which].1[op] = Some(value),
            Some(Said::MaxLatency(..)) | None => {}
        }
    }
    for (name, values) in floors.into_iter().filter(|(_, values)| values.iter().any(Option::is_some)) {
        let texts = values.map(|value: Option<u64>| value.map_or(String::new(), |value| value.to_string()));
        lines.add(name, &texts.join(","));
    }
    if at > 0 {
        return;
    }
    // A longest service time ends its job as well: only what does is an option.
    let is_said = |text: &str, other: &Workload| match said(text, &crate::targets::label(&other.name)) {
        Some(Said::MaxLatency(op, ns)) => {
            let end = other.job.as_ref().and_then(|job| job.end.as_ref());
            end.is_some_and(|end| end.slowest_ns[op] == Some(ns))
        }
        said => said.is_some(),
    };
    for objective in plan.objectives.iter().chain(&run.objectives) {
        if !run.workloads.iter().any(|other| is_said(&objective.text, other)) {
            lines.push("fail_if", &objective.text);
            unsaid.push(format!("the objective `{}`: fail_if is iodyno's own", objective.text));
        }
    }
}

/// A condition that an option of fio's makes.
enum Said {
    /// Of which operation, how long.
    MaxLatency(usize, u64),
    /// `rate_min` or `rate_iops_min`, of which operation, how much.
    Floor(usize, usize, u64),
}

/// The option that makes this condition for the workload with this label.
fn said(text: &str, label: &str) -> Option<Said> {
    let (measure, rest) = text.split_once("{workload=")?;
    let (op, rest) = rest.strip_prefix(label)?.strip_prefix(", op=")?.split_once("} ")?;
    let op = ["read", "write", "trim"].iter().position(|name| *name == op)?;
    if measure == "service_ns_max" {
        let number = rest.strip_prefix("> ")?.strip_suffix("ns")?.parse().ok()?;
        return Some(Said::MaxLatency(op, number));
    }
    let rest = rest.strip_prefix("< ")?;
    let (which, number) = match measure {
        "bytes_per_s" => (0, rest.strip_suffix(" B/s")?),
        "achieved" => (1, rest.strip_suffix("/s")?),
        _ => return None,
    };
    number.parse().ok().map(|value| Said::Floor(which, op, value))
}
