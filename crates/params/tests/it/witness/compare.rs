//! The plan that iodyno makes, in the same words, and the verdict.

use super::grammar::{self, Statement};
use super::naive::{self, Rule};
use crate::same::placeless;
use crate::support::mutate::Random;
use params::{DiagnosticSeverity, MemoryLoader, PlanReading, VdbenchOptions, read_vdbench, simulate};
use plan::generate::{GeneratorPart, Operations, TargetGeometry};
use plan::{
    AddressDistribution, AddressOrder, AddressRange, GapDistribution, OfferedRate, Plan, RangeBound, Run, TargetSpec,
    TransferSize, Workload,
};
use std::path::PathBuf;

/// How iodyno and the witness stand to each other.
pub(crate) enum Outcome {
    Equal,
    BothRefuse,
    /// A difference that the documentation lists.
    Listed(&'static str),
    Different(String),
}

fn read(text: &str) -> PlanReading {
    read_vdbench(&[PathBuf::from("job.vdb")], &VdbenchOptions::default(), &MemoryLoader::one("job.vdb", text))
}

/// What iodyno refuses and Vdbench does not: code, part of the message, id of the documentation.
const REFUSED_HERE: &[(&str, &str, &str)] = &[
    ("conflict", "stride= is for operations that seek", "stride-sequential"),
    ("conflict", "behind a list of rates", "curve-behind-list"),
    ("conflict", "hotband= has its own distribution", "hotband-streams"),
    ("skew", "leaves nothing for the others", "skew-rest"),
    ("range", "is empty or more than all", "range-from-the-end"),
    ("too-large", "does not fit into the hit area", "window"),
    ("too-large", "has no room beside its hit area", "window"),
    ("too-large", "does not fit into sd=", "window"),
    ("out-of-range", "the midpoint of poisson", "poisson-inherited"),
    ("percentages", "the percentages of xfersize", "unused"),
];

/// Compares what both make of a file.
pub(crate) fn judge(file: &[Statement], random: &mut Random, flipped: Option<Rule>) -> Outcome {
    let text = grammar::render(file, random);
    let reading = read(&text);
    let expected = naive::expand(file, flipped);
    let errors = || reading.diagnostics.iter().filter(|found| found.severity == DiagnosticSeverity::Error);
    match (&reading.plan, expected) {
        (None, Err(_)) => Outcome::BothRefuse,
        (None, Ok(expected)) => {
            let listed = |found: &params::Diagnostic| {
                let mut listed = REFUSED_HERE.iter();
                listed.find(|(code, part, _)| found.code == *code && found.message.contains(part)).map(|(_, _, id)| *id)
            };
            let ids: Option<Vec<&'static str>> = errors().map(listed).collect();
            match ids.as_deref() {
                _ if !expected.there.is_empty() => Outcome::BothRefuse,
                Some([id, ..]) => Outcome::Listed(id),
                _ => {
                    let shown: Vec<String> = errors().map(|found| params::render(found, &reading.sources)).collect();
                    Outcome::Different(format!("{text}\nrefused here only:\n{}", shown.join("\n")))
                }
            }
        }
        (Some(_), Err(id)) => Outcome::Different(format!("{text}\nrefused there only: {id}")),
        (Some(plan), Ok(expected)) => {
            let ours = lines(plan);
            // Where a window cannot be, what is known of it says nothing.
            let blind = expected.there.contains("window");
            let bare = |line: &String| match line.split_once(" miss=") {
                Some((head, _)) if blind => head.to_string(),
                _ => line.to_string(),
            };
            let (ours, theirs): (Vec<String>, Vec<String>) =
                (ours.iter().map(bare).collect(), expected.lines.iter().map(bare).collect());
            if ours != theirs {
                let first = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
                let (here, there) = first.map_or(("(more lines)", "(fewer lines)"), |(here, there)| (here, there));
                return Outcome::Different(format!("{text}\nhere:  {here}\nthere: {there}"));
            }
            if !blind && let Err(why) = addresses(plan) {
                return Outcome::Different(format!("{text}\n{why}"));
            }
            expected.there.first().map_or(Outcome::Equal, |id| Outcome::Listed(id))
        }
    }
}

fn lines(plan: &Plan) -> Vec<String> {
    let mut out = simulate(plan);
    for run in &plan.runs {
        out.push(run_line(run));
        let mut works = Vec::new();
        for workload in &run.workloads {
            for at in &workload.targets {
                works.push(work_line(run, workload, &plan.targets[*at]));
            }
        }
        works.sort();
        out.extend(works);
    }
    out
}

fn run_line(run: &Run) -> String {
    let is_asked = |one: &Workload| one.share_fixed || one.rate.is_some() || one.priority.is_some();
    let waiter = run.workloads.iter().any(is_asked) || !run.rate.is_max();
    // To the digit that it was written with.
    let digits = |value: f64| (value * 1e6).round() / 1e6;
    let rate = match run.rate {
        OfferedRate::PerSecond(rate) => rate,
        OfferedRate::Max => 9_999_988.0,
        OfferedRate::CurveMax => 9_999_977.0,
        OfferedRate::CurvePoint { fraction, .. } | OfferedRate::FractionOfLastMax(fraction) => {
            -digits(fraction * 100.0)
        }
    };
    let gaps = match run.arrivals.gaps {
        GapDistribution::Exponential => "exponential",
        GapDistribution::Uniform => "uniform",
        GapDistribution::Deterministic => "deterministic",
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    format!(
        "RUN rate={rate} waiter={waiter} warmup={} elapsed={} interval={} pause={} gaps={gaps} title={}",
        seconds(run.warmup_ns),
        seconds(run.elapsed_ns.unwrap_or(0)),
        seconds(run.interval_ns),
        seconds(run.pause_ns),
        run.title
    )
}

fn work_line(run: &Run, workload: &Workload, target: &TargetSpec) -> String {
    let many = workload.targets.len() as f64;
    let address = &workload.address;
    let digits = |value: f64| (value * 1e9).round() / 1e9;
    let midpoint = |distribution: AddressDistribution| match distribution {
        AddressDistribution::Poisson(midpoint) => midpoint,
        _ => 0.0,
    };
    let (seek, poisson) = match address.order {
        AddressOrder::Random(distribution) => (100.0, midpoint(distribution)),
        AddressOrder::Mixed { seek, distribution } => (digits(seek * 100.0), midpoint(distribution)),
        AddressOrder::Sequential { once, .. } => (if once { -1.0 } else { 0.0 }, 0.0),
    };
    let stride = address.stride.map_or("-1,-1".to_string(), |(min, max)| format!("{min},{max}"));
    let sizes: Vec<f64> = match &workload.transfer {
        TransferSize::Fixed(bytes) => vec![*bytes as f64],
        TransferSize::Mix(mix) => mix.iter().flat_map(|(bytes, weight)| [*bytes as f64, weight * 100.0]).collect(),
        TransferSize::Uniform { min, max, align } => [min, max, align].map(|bytes| *bytes as f64).to_vec(),
    };
    let sizes: Vec<String> = sizes.iter().map(|size| format!("{size:.6}")).collect();
    format!(
        " {} {} skew={:.4} fixed={} rate={:.6} prio={} rd={:.6} seek={seek} start0={} poisson={poisson} hotband={} hit={:.6},{:.6} stride={stride} \
         streams={} xf={} {} comp={} threads={}",
        workload.name,
        target.name,
        workload.share * 100.0 / many,
        workload.share_fixed,
        workload.rate.unwrap_or(0.0) / many,
        workload.priority.unwrap_or(0),
        workload.mix.read * 100.0,
        !address.random_start,
        address.hot_band.is_some(),
        address.read_hit * 100.0,
        address.write_hit * 100.0,
        address.streams.unwrap_or(0),
        sizes.join("+"),
        window(workload, target),
        workload.content.compress_ratio,
        workload.depth.unwrap_or_else(|| run.depth_of(target)),
    )
}

/// What the plan says of the window, by its documentation.
fn window(workload: &Workload, target: &TargetSpec) -> String {
    let (address, size) = (&workload.address, target.size_bytes.unwrap_or(0));
    let grain = target.grain_bytes.unwrap_or(1);
    let floor = |bytes: u64| bytes - bytes % grain;
    let has_hits = address.read_hit + address.write_hit > 0.0;
    let area = address.hit_area_bytes.or(has_hits.then_some(target.hit_area_bytes)).unwrap_or(0);
    let all = AddressRange { low: RangeBound::Fraction(0.0), high: RangeBound::Fraction(1.0) };
    let range = address.hot_band.or(address.range).or(target.range).unwrap_or(all);
    let once = matches!(address.order, AddressOrder::Sequential { once: true, .. });
    let wraps = !once && matches!(range.high, RangeBound::Fraction(high) if high > 1.0);
    let bytes = |bound: RangeBound| match bound {
        RangeBound::Bytes(bytes) => bytes,
        RangeBound::Fraction(part) => {
            let exact = size as f64 * part;
            let near = exact.round();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of a test")]
            let bytes = (if (exact - near).abs() < 1e-3 { near } else { exact.floor() }) as u64;
            bytes
        }
    };
    let high = if once { bytes(range.high).min(size) } else { bytes(range.high) };
    let (start, first) = (bytes(range.low), if target.skip_first_block { grain } else { 0 });
    let at = |bytes: u64| floor(if bytes == 0 { first } else { bytes }) + target.offset_bytes;
    let hits = if area > 0 { format!("{},{}", at(start), floor(start + area)) } else { "-".to_string() };
    format!("miss={},{}{} hits={hits}", at(start + area), floor(high), if wraps { "wrap" } else { "" })
}

/// Draws operations of the first runs: all must lie inside of their window or hit area.
fn addresses(plan: &Plan) -> Result<(), String> {
    for run in plan.runs.iter().take(4) {
        // Streams divide the whole target, as there.
        for workload in run.workloads.iter().filter(|workload| workload.address.streams.is_none()) {
            for target in workload.targets.iter().take(2).map(|at| &plan.targets[*at]) {
                drawn(workload, target)
                    .map_err(|why| format!("{} {} {}: {why}", run.title, workload.name, target.name))?;
            }
        }
    }
    Ok(())
}

fn drawn(workload: &Workload, target: &TargetSpec) -> Result<(), String> {
    let size = target.size_bytes.unwrap_or(0);
    let geometry = TargetGeometry { size_bytes: size, block_bytes: 512 };
    let mut operations =
        Operations::new(workload, target, geometry, 1, GeneratorPart::WHOLE).map_err(|error| error.to_string())?;
    let window = window(workload, target);
    let pair = |text: &str| -> Option<(u64, u64)> {
        let (low, high) = text.trim_end_matches("wrap").split_once(',')?;
        Some((low.parse().ok()?, high.parse().ok()?))
    };
    let (miss, hits) = window.split_once(" hits=").unwrap_or_default();
    let (low, high) = pair(miss.trim_start_matches("miss=")).ok_or("no window")?;
    let grain = target.grain_bytes.unwrap_or(1);
    let end = size - size % grain;
    let mut parts = vec![(low, high.min(end))];
    if miss.ends_with("wrap") && high > end {
        let first = if target.skip_first_block { grain } else { 0 };
        parts.push((first.min(target.offset_bytes.max(first)), high - end));
    }
    parts.extend(pair(hits));
    for _ in 0..64 {
        let Some(operation) = operations.next() else { break };
        let (from, to) = (operation.offset, operation.offset + u64::from(operation.bytes));
        if !parts.iter().any(|(low, high)| from >= *low && to <= *high) {
            return Err(format!("[{from}, {to}) lies outside of {window}"));
        }
    }
    Ok(())
}

/// The plan, or the reasons against it, of a small file with one parameter.
pub(crate) fn sample(section: &str, key: &str, value: &str) -> String {
    let param = |this: &str| if this == section { format!(",{key}={value}") } else { String::new() };
    let general = if section == "general" { format!("{key}={value}\n") } else { String::new() };
    let lun = if section == "sd" && "lun".starts_with(key) { "" } else { ",lun=/tmp/x" };
    let size = if section == "sd" && "size".starts_with(key) { "" } else { ",size=1g" };
    let text = format!(
        "{general}sd=sd1{lun}{size}{}\nsd=sd2,lun=/tmp/y,size=1g\nwd=wd1,sd=sd1{}\nrd=rd1,wd=wd1,iorate=curve{}\n",
        param("sd"),
        param("wd"),
        param("rd")
    );
    let reading = read(&text);
    let codes: Vec<String> = reading.diagnostics.iter().map(|found| found.code.to_string()).collect();
    format!("{codes:?} {:?}", reading.plan.map(placeless))
}
