//! Definitions into runs: which workloads, every combination of the loops, every rate.

use crate::commands;
use crate::expansion_input::ExpansionInput;
use crate::param::Text;
use crate::run::{BurstKind, Definition, Loop, RateParam, RateValue};
use crate::shares;
use crate::storage::Storage;
use crate::value::plain;
use crate::workload::{Work, check_stride};
use parameter_text::{Diagnostic, ReadingContext};
use plan::commands::RUNS_MAX;
use plan::{
    AddressOrder, AddressPattern, AddressRange, Arrivals, BurstPattern, OfferedRate, OpMix, RangeBound, Run, TextSpan,
    TransferSize, Workload,
};

/// One workload with its targets.
#[derive(Clone, Debug)]
struct Chosen {
    work: Work,
    targets: Vec<usize>,
}

/// A run that loops turn into several: the set of targets with its addition to the title.
type Variant = (String, Vec<Chosen>);

/// The runs of a definition of blocks or commands.
pub(crate) fn expand(
    context: &mut ReadingContext,
    material: &ExpansionInput<'_>,
    definition: &Definition,
    out: &mut Vec<Run>,
) {
    let Some(chosen) = choose(context, material, definition) else { return };
    let Some(rates) = rates(context, definition) else { return };
    let variants = variants(context, material, definition, chosen);
    for (suffix, chosen) in &variants {
        loops(context, material, definition, (suffix, chosen), &rates, out);
    }
}

/// As Vdbench: a run has at least two intervals, and it and its warm-up are whole numbers of them.
pub(crate) fn check_times(context: &mut ReadingContext, definition: &Definition) {
    let seconds = |ns: u64| plain(ns as f64 / 1e9);
    let (interval, warmup) = (definition.interval_ns, warmup_of(definition));
    // A run without a greatest time has no whole number of intervals.
    let Some(elapsed) = elapsed_of(definition) else { return };
    let (what, help) = if elapsed < interval.saturating_mul(2) {
        (
            format!("elapsed={} is shorter than two intervals of {} s", seconds(elapsed), seconds(interval)),
            "raise elapsed= or lower interval=".to_string(),
        )
    } else if let Some((word, time)) =
        [("elapsed", elapsed), ("warmup", warmup)].into_iter().find(|(_, time)| !time.is_multiple_of(interval.max(1)))
    {
        let next = seconds(time.next_multiple_of(interval.max(1)));
        (
            format!("{word}={} is no multiple of the interval of {} s", seconds(time), seconds(interval)),
            format!("write {word}={next}, or another interval="),
        )
    } else {
        return;
    };
    let message = format!("rd={}: {what}", definition.name.chars().take(40).collect::<String>());
    let span = if definition.time_span.len > 0 { definition.time_span } else { definition.span };
    context.push(Diagnostic::error("elapsed", span, message).help(help));
}

/// The measured time; `None`: until the commands have been executed.
pub(crate) fn elapsed_of(definition: &Definition) -> Option<u64> {
    (definition.is_time_given || !commands::is_alone(definition)).then_some(definition.elapsed_ns)
}

/// The time of full load before; executions one behind the other have `warmups=` in place of it.
fn warmup_of(definition: &Definition) -> u64 {
    if commands::is_alone(definition) { 0 } else { definition.warmup_ns }
}

/// The workloads of a run with their targets; empty for commands.
fn choose(context: &mut ReadingContext, material: &ExpansionInput<'_>, definition: &Definition) -> Option<Vec<Chosen>> {
    if commands::is_alone(definition) {
        return Some(Vec::new());
    }
    let shown: String = definition.name.chars().take(40).collect();
    let set = set_word(&definition.targets);
    let named: Vec<usize> = match set {
        None => material.storage_names.select(context, &definition.targets),
        Some(_) => (0..material.storages.len()).collect(),
    };
    let given = !definition.targets.is_empty();
    if given && named.is_empty() {
        return None;
    }
    if definition.works.is_empty() {
        if !given {
            let found = Diagnostic::error("no-workload", definition.span, format!("rd={shown} has no workload"));
            context.push(found.help("add wd=NAME, or sd=NAME to make the workload here"));
            return None;
        }
        // As it stands behind the last wd=.
        let work = Work { name: definition.name.clone(), span: definition.span, ..material.default_work.clone() };
        crate::workload::check(context, &work);
        return Some(vec![Chosen { work, targets: named }]);
    }
    let indices = material.work_names.select(context, &definition.works);
    let mut out = Vec::with_capacity(indices.len());
    for work in indices.into_iter().map(|at| &material.works[at]) {
        // sd= of the run takes the place of the workload's, which then may be whatever it is.
        let targets = if given { named.clone() } else { material.storage_names.select(context, &work.targets) };
        if work.targets.is_empty() && !given {
            let message =
                format!("wd={} has no sd=, and rd={shown} gives none", work.name.chars().take(40).collect::<String>());
            context.push(Diagnostic::error("no-targets", work.span, message).help("add sd=NAME to the wd="));
            continue;
        }
        if !context.work(targets.len(), definition.span) {
            return None;
        }
        out.push(Chosen { work: work.clone(), targets });
    }
    (!out.is_empty() && out.iter().all(|chosen| !chosen.targets.is_empty())).then_some(out)
}

/// `sd=range`, `sd=setsofN`; `single` is a set of one.
enum SetWord {
    Range,
    Sets(usize),
}

fn set_word(targets: &[Text]) -> Option<SetWord> {
    let [only] = targets else { return None };
    match only.text.as_str() {
        "single" => Some(SetWord::Sets(1)),
        "range" => Some(SetWord::Range),
        other => other.strip_prefix("setsof")?.parse().ok().filter(|size| *size > 0).map(SetWord::Sets),
    }
}

/// Splits a run by `sd=single|range|setsofN`.
fn variants(
    context: &mut ReadingContext,
    material: &ExpansionInput<'_>,
    definition: &Definition,
    chosen: Vec<Chosen>,
) -> Vec<Variant> {
    let Some(word) = set_word(&definition.targets) else { return vec![(String::new(), chosen)] };
    // All of the file, whatever the workloads name.
    let mut all: Vec<usize> = (0..material.storages.len()).collect();
    let is_range = matches!(word, SetWord::Range);
    let sets: Vec<Vec<usize>> = match word {
        SetWord::Sets(1) => all.iter().map(|at| vec![*at]).collect(),
        SetWord::Range => {
            if !context.work(all.len().saturating_mul(all.len()), definition.targets_span) {
                return Vec::new();
            }
            (1..=all.len()).map(|end| all[..end].to_vec()).collect()
        }
        SetWord::Sets(size) => {
            shuffle(&mut all, material.seed);
            all.chunks(size).map(<[usize]>::to_vec).collect()
        }
    };
    let mut out = Vec::with_capacity(sets.len());
    for set in sets {
        if !context.work(chosen.len().saturating_mul(set.len() + 16), definition.targets_span) {
            return Vec::new();
        }
        let names: Vec<&str> = set.iter().map(|at| material.storages[*at].name.as_str()).collect();
        let suffix = match names.as_slice() {
            [] => continue,
            [first, .., last] if is_range => format!("_{first}-{last}"),
            [only] if is_range => format!("_{only}-{only}"),
            names => format!("_{}", names.join("_")),
        };
        let some = chosen.iter().map(|one| Chosen { work: one.work.clone(), targets: set.clone() }).collect();
        out.push((suffix, some));
    }
    out
}

/// A shuffle that a seed decides.
fn shuffle(list: &mut [usize], seed: u64) {
    let mut state = seed | 1;
    for at in (1..list.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from(state >> 33).unwrap_or(0) % (at + 1);
        list.swap(at, other);
    }
}

/// A rate, what it adds to the title, and its loop value.
pub(crate) type RateStep = (OfferedRate, String, Option<String>);

/// The rates of a definition with their arrivals.
pub(crate) type Rates = (Vec<RateStep>, Arrivals);

/// The rates of a definition, innermost loop.
fn rates(context: &mut ReadingContext, definition: &Definition) -> Option<Rates> {
    let mut arrivals = Arrivals { gaps: definition.gaps, burst: None };
    if commands::is_alone(definition) {
        return Some((vec![(OfferedRate::Max, String::new(), None)], Arrivals::default()));
    }
    let Some((rate, span)) = &definition.rate else {
        if definition.rate_wrong {
            return None;
        }
        let shown: String = definition.name.chars().take(40).collect();
        let found = Diagnostic::error("no-iorate", definition.span, format!("rd={shown} has no iorate="));
        context.push(found.help("add iorate=1000, iorate=max or iorate=curve"));
        return None;
    };
    let (own, list) = match rate {
        RateParam::Curve if definition.burst.is_some() => {
            let found = Diagnostic::error(
                "burst",
                *span,
                "distribution=variable and spike change a rate, and a curve has none yet",
            );
            context.push(found.help("write iorate=(RATE,SECONDS,RATE,SECONDS), or leave variable and spike out"));
            return None;
        }
        RateParam::Curve => return Some((curve(definition), arrivals)),
        RateParam::List { values, list } => (values, *list),
    };
    let (values, list) = match &definition.rate_list {
        Some(values) if !definition.file_rate => (values, true),
        _ => (own, list),
    };
    if let Some(kind) = definition.burst {
        let (rate, burst) = burst(context, values, kind, *span)?;
        arrivals.burst = Some(burst);
        return Some((vec![(rate, String::new(), None)], arrivals));
    }
    // Vdbench names a run after the percentage that it begins with, whatever its list goes on with.
    let title = match own.first() {
        Some(RateValue::Relative(fraction)) => format!("_({}%)", crate::value::whole_percent(*fraction)),
        _ => String::new(),
    };
    let steps = values
        .iter()
        .map(|value| {
            let (rate, text) = rate_of(*value);
            (rate, title.clone(), list.then_some(text))
        })
        .collect();
    if values.iter().chain(own).any(|value| *value == RateValue::Number(0.0)) {
        let found = Diagnostic::error("out-of-range", *span, "`iorate` is 0");
        context.push(found.help("allowed: above 0, or max"));
        return None;
    }
    Some((steps, arrivals))
}

/// A rate, and its text in the title.
pub(crate) fn rate_of(value: RateValue) -> (OfferedRate, String) {
    match value {
        RateValue::Number(number) => (OfferedRate::PerSecond(number), plain(number)),
        RateValue::Max => (OfferedRate::Max, "max".to_string()),
        RateValue::Relative(fraction) => {
            (OfferedRate::FractionOfLastMax(fraction), format!("{}%", plain(fraction * 100.0)))
        }
    }
}

/// The single rate of a definition that runs an inherited list: `-s` prints it.
fn simulated_rate(definition: &Definition) -> Option<OfferedRate> {
    definition.rate_list.as_ref()?;
    match definition.rate.as_ref()? {
        (RateParam::List { values, list: false }, _) => values.first().map(|value| rate_of(*value).0),
        _ => None,
    }
}

pub(crate) fn curve(definition: &Definition) -> Vec<RateStep> {
    let mut steps = vec![(OfferedRate::CurveMax, String::new(), None)];
    for (percent, negative) in &definition.curve {
        let sign = if *negative { "-" } else { "" };
        let rate = OfferedRate::CurvePoint { fraction: percent / 100.0, stop_response_ns: definition.stop_response_ns };
        steps.push((rate, format!("_({sign}{}%)", percent.trunc()), None));
    }
    steps
}

/// `iorate=(rate,seconds,rate,seconds)` with `distribution=variable|spike`.
fn burst(
    context: &mut ReadingContext,
    values: &[RateValue],
    kind: BurstKind,
    span: TextSpan,
) -> Option<(OfferedRate, BurstPattern)> {
    let numbers: Option<Vec<f64>> = values
        .iter()
        .map(|value| match value {
            RateValue::Number(number) => Some(*number),
            _ => None,
        })
        .collect();
    let spike = kind == BurstKind::Spike;
    let found = match numbers.as_deref() {
        // One rate for all the time.
        Some([rate]) if *rate > 0.0 => {
            return Some((OfferedRate::PerSecond(*rate), BurstPattern { steps: Vec::new(), spike }));
        }
        Some(numbers) if numbers.len() % 2 == 0 => {
            let steps: Vec<(f64, u64)> =
                numbers.chunks_exact(2).map(|pair| (pair[0], crate::value::to_u64(pair[1] * 1e9))).collect();
            let seconds: f64 = numbers.chunks_exact(2).map(|pair| pair[1]).sum();
            let arrivals: f64 = numbers.chunks_exact(2).map(|pair| pair[0] * pair[1]).sum();
            if arrivals > 0.0 && numbers.chunks_exact(2).all(|pair| pair[1] > 0.0) && seconds <= 1e9 {
                return Some((OfferedRate::PerSecond(arrivals / seconds), BurstPattern { steps, spike }));
            }
            "the steps of a burst have no arrivals or no time"
        }
        _ => "distribution=variable and spike want pairs of rate and seconds",
    };
    context.push(Diagnostic::error("burst", span, found).help("write iorate=(RATE,SECONDS,RATE,SECONDS)"));
    None
}

/// The number of combinations of a definition's loops, each of which makes so many runs of so many units of work; `None`, with an
/// error, when that is too much.
pub(crate) fn has_room(
    context: &mut ReadingContext,
    definition: &Definition,
    runs: usize,
    entries: usize,
    so_far: usize,
) -> Option<usize> {
    let combinations = definition.loops.iter().try_fold(1_usize, |count, one| count.checked_mul(one.values.len()));
    let total = combinations.and_then(|count| count.checked_mul(runs)).unwrap_or(usize::MAX);
    if total > RUNS_MAX.saturating_sub(so_far) {
        let message = format!(
            "rd={} makes too many runs: more than {RUNS_MAX} in all",
            definition.name.chars().take(40).collect::<String>()
        );
        let lengths: Vec<String> =
            definition.loops.iter().map(|one| format!("{} × {}", one.values.len(), one.name)).collect();
        let help = format!("shorten its lists ({}, {runs} rates)", lengths.join(", "));
        context.push(Diagnostic::error("too-much", definition.span, message).help(help));
        return None;
    }
    combinations.filter(|_| context.work(total.saturating_mul(entries), definition.span))
}

/// What the loops and commands of a definition cost in each run.
pub(crate) fn entries_of_loops(definition: &Definition) -> usize {
    let texts = |one: &Loop| {
        let longest = one.values.iter().map(|(_, text)| text.len()).max();
        if one.is_text { longest.unwrap_or(0) / 8 } else { 0 }
    };
    definition.loops.iter().map(|one| 4 + texts(one)).sum::<usize>()
        + definition.commands.weight()
        + definition.commands_weight()
        + 48
}

/// Names and values of loops, the outermost first.
pub(crate) fn loop_texts(values: &[(&Loop, usize)]) -> Vec<(String, String)> {
    values.iter().map(|(one, at)| (one.name.to_string(), one.values[*at].1.clone())).collect()
}

/// Every combination of the loop values, first loop outermost, with every rate.
fn loops(
    context: &mut ReadingContext,
    material: &ExpansionInput<'_>,
    definition: &Definition,
    (suffix, chosen): (&str, &[Chosen]),
    (rates, arrivals): &(Vec<RateStep>, Arrivals),
    out: &mut Vec<Run>,
) {
    let pattern =
        material.contents.first().and_then(|content| content.pattern.as_ref()).map_or(0, |path| path.as_os_str().len());
    let entries: usize =
        chosen.iter().map(|one| one.targets.len() + one.work.weight() + 48 + pattern / 16).sum::<usize>()
            + entries_of_loops(definition);
    let Some(combinations) = has_room(context, definition, rates.len(), entries, out.len()) else { return };
    for combination in 0..combinations {
        let values = pick(&definition.loops, combination);
        let workloads = workloads(context, material, definition, chosen, &values);
        let Some(workloads) = workloads else { return };
        let depth = threads(&values).filter(|_| !commands::is_alone(definition));
        for (rate, title, loop_value) in rates {
            let mut loops = loop_texts(&values);
            if let Some(value) = loop_value {
                loops.push((if definition.file_rate { "fwdrate" } else { "iorate" }.to_string(), value.clone()));
            }
            let executed = commands::workloads(context, definition, &loops, &workloads);
            let Some(executed) = executed else { return };
            out.push(Run {
                depth,
                simulated_rate: simulated_rate(definition),
                arrivals: arrivals.clone(),
                ..run_of(
                    definition,
                    format!("{}{suffix}{title}", definition.name),
                    loops,
                    workloads.iter().cloned().chain(executed).collect(),
                    *rate,
                )
            });
        }
    }
}

/// A run of a definition.
pub(crate) fn run_of(
    definition: &Definition,
    title: String,
    loops: Vec<(String, String)>,
    workloads: Vec<Workload>,
    rate: OfferedRate,
) -> Run {
    Run {
        name: definition.name.clone(),
        title,
        loops,
        workloads,
        depth: None,
        rate,
        simulated_rate: None,
        arrivals: Arrivals::default(),
        elapsed_ns: elapsed_of(definition),
        warmup_ns: warmup_of(definition),
        interval_ns: definition.interval_ns,
        pause_ns: definition.pause_ns,
        stop: definition.stop,
        start_commands: definition.start_commands.clone(),
        end_commands: definition.end_commands.clone(),
        objectives: definition.objectives.clone(),
        format: false,
        span: definition.span,
    }
}

/// The loop values of the combination with this number, the last loop fastest.
pub(crate) fn pick(loops: &[Loop], mut combination: usize) -> Vec<(&Loop, usize)> {
    let mut out: Vec<(&Loop, usize)> = Vec::with_capacity(loops.len());
    for one in loops.iter().rev() {
        out.push((one, combination % one.values.len()));
        combination /= one.values.len();
    }
    out.reverse();
    out
}

/// Threads of the run, on each target and shared by all its workloads.
pub(crate) fn threads(values: &[(&Loop, usize)]) -> Option<u32> {
    let (one, at) = values.iter().find(|(one, _)| one.name == "threads")?;
    u32::try_from(crate::value::to_u64(one.values[*at].0)).ok()
}

/// What a combination of loop values changes in every workload of the run, besides the workload itself.
#[derive(Debug, Default)]
struct Overrides {
    compress_ratio: Option<f64>,
    hit_area_bytes: Option<u64>,
}

fn override_work(work: &mut Work, values: &[(&Loop, usize)]) -> Overrides {
    let mut out = Overrides::default();
    for (one, at) in values {
        let value = one.values[*at].0;
        match one.name.as_ref() {
            "xfersize" => {
                (work.transfer, work.transfer_span) = (TransferSize::Fixed(crate::value::to_u64(value)), one.span)
            }
            "rdpct" => work.read = value,
            "rhpct" => work.read_hit = value,
            "whpct" => work.write_hit = value,
            // The rest of what seekpct= of the workload says stays: half of poisson's seeks, half sequential.
            "seekpct" => (work.seek.percent, work.order_span) = (value, one.span),
            "hitarea" => out.hit_area_bytes = Some(crate::value::to_u64(value)),
            "compratio" => out.compress_ratio = Some(value),
            // threads belong to the run (threads()), the rest to file systems.
            _ => {}
        }
    }
    out
}

fn workloads(
    context: &mut ReadingContext,
    material: &ExpansionInput<'_>,
    definition: &Definition,
    chosen: &[Chosen],
    values: &[(&Loop, usize)],
) -> Option<Vec<Workload>> {
    let works: Vec<&Work> = chosen.iter().map(|one| &one.work).collect();
    let shares = shares::shares(context, definition.span, &works)?;
    let mut out = Vec::with_capacity(chosen.len());
    for (one, share) in chosen.iter().zip(shares) {
        let mut work = one.work.clone();
        let overrides = override_work(&mut work, values);
        check_stride(context, &work);
        check_sizes(context, material, &work, &one.targets, overrides.hit_area_bytes);
        let mut content = material.contents[one.targets[0]].clone();
        content.compress_ratio = overrides.compress_ratio.unwrap_or(content.compress_ratio);
        if one.targets.iter().any(|at| material.contents[*at].dedup != material.contents[one.targets[0]].dedup) {
            context.unsupported(work.span, "targets with different dedup settings in one workload are not built yet");
        }
        out.push(Workload {
            name: work.name.clone(),
            targets: one.targets.clone(),
            share: share.share,
            share_fixed: share.fixed,
            rate: work.rate,
            priority: work.priority.map(|(number, _)| number),
            // Threads of the run win over those of the workload, which win over those of the targets.
            depth: work.threads.filter(|_| threads(values).is_none()),
            mix: mix(&work),
            transfer: work.transfer.clone(),
            write_transfer: None,
            trim_transfer: None,
            address: AddressPattern { hit_area_bytes: overrides.hit_area_bytes, ..address(&work) },
            content,
            think_ns: work.think_ns,
            open: definition.open.or(work.open),
            job: None,
            replay: None,
            load: plan::Load::Blocks,
            span: work.span,
        });
    }
    Some(out)
}

fn mix(work: &Work) -> OpMix {
    let rest = (1.0 - work.trim - work.flush).max(0.0);
    OpMix {
        read: work.read * rest,
        write: (1.0 - work.read) * rest,
        trim: work.trim,
        flush: work.flush,
        fsync_every: work.fsync_every,
        fdatasync_every: work.fdatasync_every,
        trim_then_write: false,
    }
}

fn address(work: &Work) -> AddressPattern {
    let order = match work.seek.order(work.spread.map(|(spread, _)| spread)) {
        // Streams are sequential, whatever seekpct= says.
        AddressOrder::Random(_) | AddressOrder::Mixed { .. } if work.streams.is_some() => {
            AddressOrder::Sequential { once: false, backward: false }
        }
        order => order,
    };
    // One pass does not go on at the beginning: a range beyond the end is cut there.
    let is_once = matches!(order, AddressOrder::Sequential { once: true, .. });
    let cut = |range: AddressRange| match range.high {
        RangeBound::Fraction(high) if is_once => AddressRange { high: RangeBound::Fraction(high.min(1.0)), ..range },
        _ => range,
    };
    AddressPattern {
        order,
        range: work.range.map(cut),
        random_start: work.seek.random_start,
        read_hit: work.read_hit,
        write_hit: work.write_hit,
        stride: work.stride,
        streams: work.streams,
        hot_band: work.hot_band.map(cut),
        ..AddressPattern::default()
    }
}

/// What a target has must be two transfers, as there, and hits must fit into their area.
fn check_sizes(
    context: &mut ReadingContext,
    material: &ExpansionInput<'_>,
    work: &Work,
    targets: &[usize],
    hit_area_bytes: Option<u64>,
) {
    let largest = work.transfer.max_bytes();
    let hits = work.read_hit > 0.0 || work.write_hit > 0.0;
    let area = |storage: &Storage| hit_area_bytes.or(hits.then_some(storage.hit_area_bytes)).unwrap_or(0);
    for storage in targets.iter().map(|at| &material.storages[*at]) {
        let Some(size) = storage.size_bytes else { continue };
        let span = if work.transfer_span.len > 0 { work.transfer_span } else { work.span };
        if largest > size {
            let message =
                format!("a transfer of {largest} bytes does not fit into sd={} of {size} bytes", storage.name);
            context.push(Diagnostic::error("too-large", span, message).help("lower xfersize= or raise size="));
            return;
        }
        let area = area(storage);
        if area > 0 && area + largest > size {
            let message = format!("sd={} of {size} bytes has no room beside its hit area of {area}", storage.name);
            context.push(
                Diagnostic::error("too-large", storage.hit_area_span.unwrap_or(storage.span), message)
                    .help("lower hitarea= or raise size="),
            );
            return;
        }
    }
    let Some(storage) = targets.first().map(|at| &material.storages[*at]) else { return };
    if hits && largest > area(storage) {
        let message = format!("a transfer of {largest} bytes does not fit into the hit area of {}", area(storage));
        let span = if work.transfer_span.len > 0 { work.transfer_span } else { work.span };
        context.push(Diagnostic::error("too-large", span, message).help("raise hitarea= of the sd="));
    }
}
