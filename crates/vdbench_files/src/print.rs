//! A plan as a Vdbench parameter file.

use crate::jobs_to_workloads::jobs_to_workloads;
use crate::print_commands;
use crate::print_runs::{Block, blocks, is_overridden};
use crate::print_trees::{self, FormatOfRun};
use crate::print_validation;
use crate::print_words::{list, open_flags, percent, quoted, seconds, sizes};
use parameter_text::PrintedPlan;
use parameter_text::shortest::{bytes, inverse};
use plan::{
    AddressDistribution, AddressOrder, AddressRange, BurstPattern, DataLimit, DedupSets, GapDistribution, OfferedRate,
    OpenFlags, Plan, PlanSettings, RangeBound, Run, RunRepeat, ShellCommand, Workload,
};
use std::fmt::Write as _;

/// The parameter file: general parameters, `sd=`, `wd=`, `rd=`. What Vdbench's language cannot say is listed.
pub fn print_vdbench(plan: &Plan) -> PrintedPlan {
    let mut unsaid = Vec::new();
    let plan = &print_trees::without_entry_jobs(plan, &mut unsaid);
    let plan = &jobs_to_workloads(plan, &mut unsaid);
    let mut text = String::new();
    general(plan, &mut text, &mut unsaid);
    print_trees::systems(plan, &mut text, &mut unsaid);
    storages(plan, &mut text, &mut unsaid);
    let mut works = Works::default();
    print_trees::format_line(plan, &mut works.text, &mut unsaid);
    let mut runs = String::new();
    let plain = parameter_text::without_replays(plan, &mut unsaid);
    let plan = &plain;
    let (plain_runs, mut formats) = print_trees::without_formats(&plan.runs);
    for block in blocks(&plain_runs) {
        let rest = formats.split_off(block.runs.len().min(formats.len()));
        run(plan, (&block, &formats), &mut works, &mut runs, &mut unsaid);
        formats = rest;
    }
    text.push_str(&works.text);
    text.push_str(&runs);
    unsaid.dedup();
    PrintedPlan { text, unsaid }
}

fn general(plan: &Plan, out: &mut String, unsaid: &mut Vec<String>) {
    let (settings, default) = (&plan.settings, PlanSettings::default());
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "{name}={value}");
    };
    content(plan, &mut line, unsaid);
    if plan.trees.iter().any(|tree| tree.makes_parents) {
        line("create_anchors", "yes".to_string());
    }
    if let Some(command) = &settings.errors_command {
        line("data_errors", quoted(command));
    }
    // With a command the first error is one too many.
    let usual = if settings.errors_command.is_some() { 0 } else { default.errors_max };
    if settings.errors_max != usual {
        line("data_errors", settings.errors_max.to_string());
    }
    print_validation::parameters(plan, &mut line, unsaid);
    if let Some(format) = settings.format {
        line("formatsds", if format { "yes" } else { "no" }.to_string());
    }
    if settings.format_transfer_bytes != default.format_transfer_bytes {
        line("formatxfersize", bytes(settings.format_transfer_bytes));
    }
    if let Some(tolerance) = settings.skew_tolerance {
        line("abort_failed_skew", percent(tolerance));
    }
    if settings.concatenate {
        line("concatenatesds", "yes".to_string());
    }
    if let Some(path) = &settings.monitor {
        line("monitor", path.display().to_string());
    }
    match settings.repeat {
        RunRepeat::Times(1) => {}
        RunRepeat::Times(times) => line("loop", times.to_string()),
        RunRepeat::Nanoseconds(ns) if ns % 1_000_000_000 == 0 => line("loop", format!("{}s", ns / 1_000_000_000)),
        RunRepeat::Nanoseconds(_) => unsaid.push("a time to repeat all runs for that is no whole second".to_string()),
        RunRepeat::Forever => line("loop", "forever".to_string()),
    }
    for edges in &settings.histograms {
        let list: Vec<String> = edges.edges_ns.iter().map(|ns| format!("{}u", *ns as f64 / 1e3)).collect();
        let suppress = if edges.suppress { ",suppress" } else { "" };
        line("histogram", format!("({},{}{suppress})", edges.name, list.join(",")));
    }
    commands("startcmd", &settings.start_commands, &mut line, unsaid);
    commands("endcmd", &settings.end_commands, &mut line, unsaid);
    if !plan.objectives.is_empty() {
        let texts: Vec<String> = plan.objectives.iter().map(|one| format!("\"{}\"", one.text)).collect();
        line("fail_if", list(&texts));
    }
    let seeds_data =
        settings.is_data_seeded && !plan.runs.iter().flat_map(|run| &run.workloads).any(|one| one.content.seed != 0);
    if settings.seed != default.seed || seeds_data {
        unsaid.push(format!("the seed: use --seed {}", settings.seed));
    }
}

/// Compression, duplication, patterns.
fn content(plan: &Plan, line: &mut impl FnMut(&str, String), unsaid: &mut Vec<String>) {
    let contents = || plan.runs.iter().flat_map(|run| run.paced_workloads().map(move |workload| (run, workload)));
    // A ratio that a loop varies is not the general one.
    let plain = contents().find(|(run, _)| !run.loops.iter().any(|(name, _)| name == "compratio"));
    let ratio = plain.map_or(1.0, |(_, workload)| workload.content.compress_ratio);
    if ratio > 1.0 {
        line("compratio", ratio.to_string());
    }
    if let Some((_, first)) = contents().next() {
        let content = &first.content;
        if contents().any(|(run, other)| {
            let looped = run.loops.iter().any(|(name, _)| name == "compratio");
            let ratio = if looped { content.compress_ratio } else { other.content.compress_ratio };
            plan::WriteContent { compress_ratio: ratio, ..other.content.clone() } != *content
        }) {
            unsaid.push("workloads with different data (compression, duplication, patterns)".to_string());
        }
        if content.seed != 0 {
            let is_fixed = plan.settings.is_data_seeded;
            line("compressionseed", if is_fixed { content.seed.to_string() } else { "tod".to_string() });
        }
        if let Some(path) = &content.pattern {
            line("pattern", path.display().to_string());
        }
        if !content.literal.is_empty() {
            unsaid.push("data given by its bytes (buffer_pattern); pattern=FILE comes near".to_string());
        }
        if let Some(dedup) = content.dedup {
            line("dedupratio", dedup.ratio.to_string());
            line("dedupunit", bytes(dedup.unit_bytes));
            match dedup.sets {
                DedupSets::Count(count) => line("dedupsets", count.to_string()),
                DedupSets::Fraction(fraction) => line("dedupsets", format!("{}%", percent(fraction))),
                DedupSets::Previous => {
                    unsaid.push("copies of what was written just before (dedupe_percentage)".to_string())
                }
                DedupSets::WorkingSet { .. } => {
                    unsaid.push("copies of what was written first (dedupe_mode=working_set)".to_string())
                }
            }
            if !dedup.across {
                line("dedupacross", "no".to_string());
            }
        }
    }
}

/// `startcmd=("…","…",cons)`.
fn commands(name: &str, commands: &[ShellCommand], line: &mut impl FnMut(&str, String), unsaid: &mut Vec<String>) {
    let Some(first) = commands.first() else { return };
    let unlike =
        |one: &ShellCommand| (&one.output, one.abort) != (&first.output, first.abort) || one.line.contains('"');
    if commands.iter().any(unlike) {
        unsaid.push(format!("{name} with quotes, or with outputs in different places"));
        return;
    }
    let mut texts: Vec<String> = commands.iter().map(|command| format!("\"{}\"", command.line)).collect();
    texts.push(first.output.clone());
    texts.extend(first.abort.then(|| "abort".to_string()));
    line(name, format!("({})", texts.join(",")));
}

fn storages(plan: &Plan, out: &mut String, unsaid: &mut Vec<String>) {
    for spec in &plan.targets {
        let mut line = format!("sd={},lun={}", spec.name, quoted(&spec.path.display().to_string()));
        let mut add = |name: &str, value: String| {
            let _ = write!(line, ",{name}={value}");
        };
        if let Some(size) = spec.size_bytes {
            add("size", bytes(size));
        }
        if spec.depth != 8 {
            add("threads", spec.depth.to_string());
        }
        if spec.hit_area_bytes != 1 << 20 {
            add("hitarea", bytes(spec.hit_area_bytes));
        }
        if spec.offset_bytes > 0 {
            add("offset", bytes(spec.offset_bytes));
        }
        if let Some(align) = spec.align_bytes {
            add("align", bytes(align));
        }
        if let Some(range) = spec.range {
            range_text(range, "range", &mut add, unsaid);
        }
        if let Some(directory) = print_validation::place_of_journal(plan.settings.validation.as_ref()) {
            add("journal", directory);
        }
        if spec.open != OpenFlags::default() {
            add("openflags", open_flags(spec.open));
        }
        let is_raw = spec.path.starts_with("/dev") && !spec.path.starts_with("/dev/shm");
        if is_raw != spec.skip_first_block {
            unsaid.push(format!("Vdbench leaves the first block of {} alone", spec.path.display()));
        }
        if spec.unlink {
            unsaid.push(format!("{} is removed at the end (unlink)", spec.path.display()));
        }
        out.push_str(&line);
        out.push('\n');
    }
}

/// Workload definitions that were printed.
#[derive(Default)]
struct Works {
    text: String,
    /// What is printed under each name: without what loops override.
    known: Vec<(String, Workload)>,
    /// Names of run definitions, each of which must be its own.
    runs: std::collections::BTreeSet<String>,
}

impl Works {
    /// The name of a run definition: with the targets of its set, and a number where the name is taken.
    fn run_name(&mut self, first: &Run, unsaid: &mut Vec<String>) -> String {
        let stem = first.title.split("_(").next().unwrap_or(&first.name);
        let number = |number: usize| if number == 1 { stem.to_string() } else { format!("{stem}_{number}") };
        let name = (1..).map(number).find(|name| !self.runs.contains(name)).unwrap_or_default();
        self.runs.insert(name.clone());
        if name != first.name {
            unsaid.push(format!("rd={} makes several kinds of runs: also as rd={name}", first.name));
        }
        name
    }

    /// The name under which a workload is defined, which it is now if it was not.
    fn name(&mut self, plan: &Plan, run: &Run, workload: &Workload, unsaid: &mut Vec<String>) -> String {
        let base = is_overridden(run, workload);
        let number = |number: usize| match number {
            1 => workload.name.clone(),
            more => format!("{}_{more}", workload.name),
        };
        let is_tree = workload.load.tree().is_some();
        for name in (1..).map(number).filter(|name| !(is_tree && crate::file_works::is_reserved(name))) {
            match self.known.iter().find(|(known, _)| *known == name) {
                Some((_, known)) if same(known, &base) => return name,
                Some(_) => {}
                None => {
                    if name != workload.name {
                        let word = if is_tree { "fwd" } else { "wd" };
                        let own = &workload.name;
                        unsaid.push(format!("{word}={own} is not the same in all runs: also as {word}={name}"));
                    }
                    self.text.push_str(&match workload.load.tree() {
                        Some(load) => print_trees::work_line(plan, run, (&name, workload, load), unsaid),
                        None => work_line(plan, run, &name, workload, unsaid),
                    });
                    self.known.push((name.clone(), base));
                    return name;
                }
            }
            if self.known.len() > 100_000 {
                break;
            }
        }
        workload.name.clone()
    }
}

/// Places in the text aside.
fn same(a: &Workload, b: &Workload) -> bool {
    let bare = |one: &Workload| Workload { span: plan::TextSpan::default(), ..one.clone() };
    bare(a) == bare(b)
}

fn work_line(plan: &Plan, run: &Run, name: &str, workload: &Workload, unsaid: &mut Vec<String>) -> String {
    let names: Vec<&str> =
        workload.targets.iter().filter_map(|at| plan.targets.get(*at)).map(|spec| spec.name.as_str()).collect();
    let mut line = format!("wd={name},sd={}", list(&names));
    let mut add = |name: &str, value: String| {
        let _ = write!(line, ",{name}={value}");
    };
    let looped = |name: &str| run.loops.iter().any(|(other, _)| other == name);
    if !looped("xfersize") {
        add("xfersize", sizes(&workload.transfer));
    }
    if workload.write_transfer.is_some() || workload.trim_transfer.is_some() {
        unsaid.push(format!("`{name}` has transfer sizes of their own for writes or trims"));
    }
    mix(workload, &looped, &mut add);
    order(workload, name, &looped, &mut add, unsaid);
    let address = &workload.address;
    if let Some(range) = address.range {
        range_text(range, "range", &mut add, unsaid);
    }
    if let Some(band) = address.hot_band {
        range_text(band, "hotband", &mut add, unsaid);
    }
    if let Some((min, max)) = address.stride {
        // From start to start in sequential order of other languages, from end to start in Vdbench's.
        let length =
            if matches!(address.order, AddressOrder::Sequential { .. }) { workload.transfer.max_bytes() } else { 0 };
        add("stride", format!("({},{})", min.saturating_sub(length), max.saturating_sub(length)));
    }
    if let Some(streams) = address.streams {
        add("streams", streams.to_string());
    }
    if workload.share_fixed {
        add("skew", percent(workload.share));
    }
    if let Some(rate) = workload.rate {
        add("iorate", rate.to_string());
    }
    if let Some(priority) = workload.priority {
        add("priority", priority.to_string());
    }
    if let Some(threads) = workload.depth.filter(|_| !looped("threads")) {
        add("threads", threads.to_string());
    }
    if workload.think_ns > 0 {
        add("thinktime", seconds(workload.think_ns));
    }
    if let Some(open) = workload.open {
        if open == OpenFlags::default() {
            unsaid.push(format!("`{name}` opens its targets without the flags that they have"));
        } else {
            add("openflags", open_flags(open));
        }
    }
    if address.align_bytes.is_some() || address.align_by_op.is_some() || address.base_bytes > 0 {
        unsaid.push(format!("`{name}` has an alignment or an offset of its own; in Vdbench they are its targets'"));
    }
    line.push('\n');
    line
}

fn mix(workload: &Workload, looped: &impl Fn(&str) -> bool, add: &mut impl FnMut(&str, String)) {
    let mix = &workload.mix;
    let rest = (1.0 - mix.trim - mix.flush).max(0.0);
    if !looped("rdpct") && (mix.read, mix.write) != (rest, 0.0) {
        let fits = |percent: f64| {
            let read = percent / 100.0;
            (read * rest).to_bits() == mix.read.to_bits() && ((1.0 - read) * rest).to_bits() == mix.write.to_bits()
        };
        let guess = if rest > 0.0 { mix.read / rest * 100.0 } else { 0.0 };
        add("rdpct", inverse(guess, fits));
    }
    if mix.trim > 0.0 {
        add("trimpct", percent(mix.trim));
    }
    if mix.flush > 0.0 {
        add("flushpct", percent(mix.flush));
    }
    if let Some(every) = mix.fsync_every {
        add("fsync_every", every.to_string());
    }
    if let Some(every) = mix.fdatasync_every {
        add("fdatasync_every", every.to_string());
    }
}

fn order(
    workload: &Workload,
    name: &str,
    looped: &impl Fn(&str) -> bool,
    add: &mut impl FnMut(&str, String),
    unsaid: &mut Vec<String>,
) {
    let address = &workload.address;
    for (word, share) in [("rhpct", address.read_hit), ("whpct", address.write_hit)] {
        if share > 0.0 && !looped(word) {
            add(word, percent(share));
        }
    }
    let is_skipping = address.stride.is_some() && matches!(address.order, AddressOrder::Sequential { .. });
    if is_skipping {
        unsaid.push(format!("`{name}` skips from start to start; in Vdbench a stride is for operations that seek"));
    }
    let start = if address.random_start { "seqnz," } else { "" };
    let mut seek = |value: String| {
        if !looped("seekpct") {
            add("seekpct", if start.is_empty() { value } else { format!("({start}{value})") });
        } else if address.random_start {
            add("seekpct", "seqnz".to_string());
        }
    };
    match address.order {
        _ if is_skipping => {}
        AddressOrder::Sequential { once: true, .. } => seek("eof".to_string()),
        AddressOrder::Sequential { once: false, .. } => seek("0".to_string()),
        AddressOrder::Mixed { seek: share, distribution: AddressDistribution::Uniform } => seek(percent(share)),
        AddressOrder::Mixed { seek: share, .. } => {
            unsaid.push(format!(
                "`{name}` prefers some places where it seeks; only forseekpct= says that beside {}",
                percent(share)
            ));
            seek(percent(share));
        }
        AddressOrder::Random(AddressDistribution::Poisson(midpoint)) if looped("seekpct") || address.random_start => {
            add("seekpct", format!("({start}poisson,{midpoint})"));
        }
        AddressOrder::Random(AddressDistribution::Poisson(midpoint)) => add("seekpct", format!("(poisson,{midpoint})")),
        AddressOrder::Random(AddressDistribution::Uniform) if address.random_start => seek("random".to_string()),
        AddressOrder::Random(AddressDistribution::Uniform) => {}
        AddressOrder::Random(AddressDistribution::ExactOnce) => add("coverage", "exact".to_string()),
        AddressOrder::Random(AddressDistribution::Zipf(theta)) => add("random_distribution", format!("zipf:{theta}")),
        AddressOrder::Random(AddressDistribution::Pareto(h)) => add("random_distribution", format!("pareto:{h}")),
        AddressOrder::Random(AddressDistribution::Normal(deviation)) => {
            add("random_distribution", format!("normal:{}", percent(deviation)));
        }
    }
    if matches!(address.order, AddressOrder::Sequential { backward: true, .. }) {
        unsaid.push(format!("`{name}` goes backwards"));
    }
    if !address.zones.is_empty() {
        unsaid.push(format!("`{name}` has zones; range= in several wd= with skew= comes near"));
    }
    if address.run_length > 1 {
        let length = address.run_length;
        unsaid.push(format!(
            "`{name}` does {length} operations from every random place; seekpct={} comes near",
            100 / length
        ));
    }
    if address.per_op {
        unsaid.push(format!("`{name}`: reads and writes go their sequential ways apart; here they share one"));
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `elapsed=`, `interval=`, `warmup=` and `pause=`.
fn times(first: &Run, add: &mut impl FnMut(&str, String), unsaid: &mut Vec<String>) {
    if let Some(elapsed) = first.elapsed_ns {
        add("elapsed", seconds(elapsed));
    } else if !first.is_of_commands() {
        add("elapsed", "24h".to_string());
        unsaid.push(format!("{} has no greatest time: elapsed=24h", first.title));
    }
    // A run has at least two intervals, and it and its warm-up are whole numbers of them: a second of fio's becomes two of
    // half a second.
    let mut interval_ns =
        first.elapsed_ns.map_or(first.interval_ns, |elapsed_ns| first.interval_ns.min(elapsed_ns / 2));
    for time in [first.elapsed_ns.unwrap_or(0), first.warmup_ns] {
        interval_ns = common_divisor(interval_ns, time);
    }
    if interval_ns < 10_000_000 {
        unsaid.push(format!("the times of {} are no multiples of an interval of 10 ms or more", first.title));
        interval_ns = first.interval_ns;
    }
    if interval_ns != 1_000_000_000 {
        add("interval", seconds(interval_ns));
    }
    if first.warmup_ns > 0 {
        add("warmup", seconds(first.warmup_ns));
    }
    if first.pause_ns > 0 {
        add("pause", seconds(first.pause_ns));
    }
}

/// One `rd=` for all runs of a block.
fn run(
    plan: &Plan,
    (block, formats): (&Block<'_>, &[Option<FormatOfRun>]),
    works: &mut Works,
    out: &mut String,
    unsaid: &mut Vec<String>,
) {
    let first = block.first;
    let is_of_trees = first.is_of_trees();
    let names: Vec<String> =
        first.paced_workloads().map(|workload| works.name(plan, first, workload, unsaid)).collect();
    let mut line = format!("rd={}", works.run_name(first, unsaid));
    let mut add = |name: &str, value: String| {
        let _ = write!(line, ",{name}={value}");
    };
    if !names.is_empty() {
        add(if is_of_trees { "fwd" } else { "wd" }, list(&names));
        if !block.loops.iter().any(|(name, _)| name == "fwdrate") {
            rates(block, if is_of_trees { "fwdrate" } else { "iorate" }, &mut add);
        }
        print_trees::check_threads(block, unsaid);
        print_trees::check_rates(block, unsaid);
        if let Some(words) = print_trees::format_words(block, formats, unsaid) {
            add("format", words);
        }
    }
    times(first, &mut add, unsaid);
    if let Some(threads) = first.depth.filter(|_| block.loops.iter().all(|(name, _)| name != "threads")) {
        add("threads", threads.to_string());
    }
    if !names.is_empty() {
        distribution(first, &mut add);
    }
    for (name, limit) in
        [("maxdata", first.stop.total), ("maxdataread", first.stop.read), ("maxdatawritten", first.stop.written)]
    {
        match limit {
            None => {}
            Some(DataLimit::Bytes(limit)) => add(name, limit.to_string()),
            Some(DataLimit::TargetSizes(times)) => add(name, times.to_string()),
        }
    }
    if let Some(operations) = first.stop.operations {
        add("maxops", operations.to_string());
    }
    if first.stop.steady.is_some() {
        unsaid.push(format!("{} ends when it is steady (steadystate)", first.title));
    }
    print_commands::print(block.runs, &mut add, unsaid);
    for (name, values) in &block.loops {
        if let Some(values) = print_commands::vary(name, values) {
            add("vary", values);
            continue;
        }
        let for_name = match name.as_str() {
            "fwdrate" => "fwdrate".to_string(),
            // A loop over the compression in percent has the ratio's name and the percentages' text.
            "compratio" if !is_ratio(first) => "forcompression".to_string(),
            _ => format!("for{name}"),
        };
        add(&for_name, list(values));
    }
    commands("startcmd", &first.start_commands, &mut add, unsaid);
    commands("endcmd", &first.end_commands, &mut add, unsaid);
    if !first.objectives.is_empty() {
        let texts: Vec<String> = first.objectives.iter().map(|one| format!("\"{}\"", one.text)).collect();
        add("fail_if", list(&texts));
    }
    out.push_str(&line);
    out.push('\n');
}

/// Is the text of a loop over `compratio` the ratio itself?
fn is_ratio(run: &Run) -> bool {
    let text = run.loops.iter().find(|(name, _)| name == "compratio").and_then(|(_, text)| text.parse::<f64>().ok());
    let ratio = run.workloads.first().map(|workload| workload.content.compress_ratio);
    text.zip(ratio).is_none_or(|(text, ratio)| (text - ratio).abs() < 1e-5)
}

fn rates(block: &Block<'_>, name: &str, add: &mut impl FnMut(&str, String)) {
    if let Some(BurstPattern { steps, .. }) =
        block.first.arrivals.burst.as_ref().filter(|burst| !burst.steps.is_empty())
    {
        let pairs: Vec<String> =
            steps.iter().flat_map(|(rate, ns)| [rate.to_string(), (*ns as f64 / 1e9).to_string()]).collect();
        return add(name, list(&pairs));
    }
    let rate = |rate: &OfferedRate| match rate {
        OfferedRate::PerSecond(rate) => rate.to_string(),
        OfferedRate::FractionOfLastMax(fraction) => format!("{}%", percent(*fraction)),
        OfferedRate::Max | OfferedRate::CurveMax | OfferedRate::CurvePoint { .. } => "max".to_string(),
    };
    if block.rates.first() != Some(&OfferedRate::CurveMax) {
        let values: Vec<String> = block.rates.iter().map(rate).collect();
        return add(name, list(&values));
    }
    add(name, "curve".to_string());
    let points: Vec<String> = block
        .rates
        .iter()
        .zip(&block.titles)
        .filter_map(|(rate, title)| match rate {
            OfferedRate::CurvePoint { fraction, .. } => {
                let sign = if title.contains("_(-") { "%" } else { "" };
                Some(format!("{}{sign}", percent(*fraction)))
            }
            _ => None,
        })
        .collect();
    if !points.is_empty() {
        add("curve", list(&points));
    }
    let stop = block.rates.iter().find_map(|rate| match rate {
        OfferedRate::CurvePoint { stop_response_ns, .. } => *stop_response_ns,
        _ => None,
    });
    if let Some(ns) = stop {
        add("stopcurve", (ns as f64 / 1e6).to_string());
    }
}

fn distribution(run: &Run, add: &mut impl FnMut(&str, String)) {
    let mut words = Vec::new();
    match run.arrivals.gaps {
        GapDistribution::Exponential => {}
        GapDistribution::Uniform => words.push("uniform"),
        GapDistribution::Deterministic => words.push("deterministic"),
    }
    if let Some(burst) = &run.arrivals.burst {
        words.push(if burst.spike { "spike" } else { "variable" });
    }
    if !words.is_empty() {
        add("distribution", list(&words));
    }
}

fn range_text(range: AddressRange, name: &str, add: &mut impl FnMut(&str, String), unsaid: &mut Vec<String>) {
    match (range.low, range.high) {
        (RangeBound::Fraction(low), RangeBound::Fraction(high)) => {
            add(name, format!("({},{})", percent(low), percent(high)))
        }
        (RangeBound::Bytes(low), RangeBound::Bytes(high)) if high > 200 => add(name, format!("({low},{high})")),
        _ => unsaid.push(format!("a {name} in bytes and percent")),
    }
}
