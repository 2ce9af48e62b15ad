//! A plan with the same counts as a load.

use super::WorkloadModel;
use super::fold::{Shape, Total};
use super::group::{Class, Group, Region};
use super::members::{Member, members};
use super::processes::IoOwner;
use crate::model::address_distribution::{MEMBERS, Zone, zones};
use crate::model::arrivals::Steps;
use plan::{
    AddressDistribution, AddressOrder, AddressPattern, AddressRange, Arrivals, BurstPattern, OfferedRate, OpMix,
    OpenFlags, Plan, PlanSettings, RangeBound, Run, TargetSpec, TextSpan, TransferSize, Workload, WriteContent,
};
use std::path::PathBuf;

/// Devices that get a target of their own; the others share one more.
const TARGETS: usize = 4;
/// A device with less than this share of all I/Os is one of the others.
const SHARE_MIN: f64 = 0.01;
/// Workloads of a model.
const WORKLOADS: usize = 30;
/// Processes of a device, the others together among them, by number of targets.
const PROCESSES: [usize; TARGETS + 1] = [MEMBERS, 3, 2, 2, 2];
/// Zones by number of targets; fewer where processes would otherwise make too many workloads.
const ZONES: [usize; TARGETS + 1] = [6, 5, 4, 3, 2];
/// How near the curve of hits comes to the measured one, as a share of all I/Os: places, and scans, which come to all
/// of their places alike but for where they are when the trace ends.
const NEAR: [f64; 2] = [0.01, 0.03];
/// Shares are multiples of 1 ÷ this.
const SHARES: u32 = 10_000;
/// A smaller share of all I/Os is no workload of its own.
const NOTHING: f64 = 0.0005;
/// Sizes of one workload that stand for themselves; others are put together by octave.
const SIZES: usize = 8;
/// Largest transfer.
const TRANSFER_MAX: u64 = 64 << 20;
/// Alignment that is kept when nearly all I/Os have it.
const ALIGN_BYTES: u64 = 4096;

/// A plan that behaves like a load, and what is to be said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedModel {
    /// One run of a few workloads.
    pub plan: Plan,
    /// A comment for the line of its text that begins so.
    pub comments: Vec<(String, String)>,
}

/// A workload to be.
struct Part {
    group: usize,
    /// Which of the group's.
    class: usize,
    /// What its name begins with, and goes on with.
    prefix: String,
    word: &'static str,
    weight: f64,
    workload: Workload,
}

/// A plan that behaves like `observed`. Targets are `paths`, in the order of their I/Os, the busiest first; what has no
/// path gets a variable.
pub fn fit(observed: &WorkloadModel, paths: &[PathBuf]) -> FittedModel {
    let (groups, has_processes) = groups(observed);
    let all = observed.ios().max(1) as f64;
    let names = if has_processes { numbers(&groups) } else { Vec::new() };
    let zones = ZONES[groups.len().clamp(1, ZONES.len()) - 1];
    let (mut parts, mut sizes) = workloads(&groups, &names, zones);
    if has_processes {
        let is_much = |parts: &[Part]| parts.iter().filter(|part| part.weight >= NOTHING * all).count() > WORKLOADS;
        for zones in (1..zones).rev() {
            if is_much(&parts) {
                (parts, sizes) = workloads(&groups, &names, zones);
            }
        }
    }
    let (mut targets, mut comments) = (Vec::new(), Vec::new());
    for (at, group) in groups.iter().enumerate() {
        let path = paths.get(at).cloned().unwrap_or_else(|| {
            PathBuf::from(if groups.len() > 1 { format!("$lun{}", at + 1) } else { "$lun".to_string() })
        });
        targets.push(target(group, at, path, sizes[at]));
        let weight: f64 = parts.iter().filter(|part| part.group == at).map(|part| part.weight).sum();
        let share = weight / all * 100.0;
        let what = match group.devices {
            1 if groups.len() == 1 => "The device".to_string(),
            1 => format!("Device {}", at + 1),
            more => format!("{more} more devices as one"),
        };
        let words = group.describe();
        comments.push((format!("sd=sd{},", at + 1), format!("{what}: {share:.1} % of all I/Os; {words}")));
    }
    reduce(&mut parts);
    rename(&mut parts, &groups);
    shares(&mut parts);
    if has_processes {
        comments.extend(process_comments(&parts, &groups, &names, all));
    }
    let steps = observed.arrivals.steps();
    comments.push(("rd=".to_string(), arrival_words(&steps)));
    let run = run(observed, parts, &steps);
    let plan = Plan { targets, runs: vec![run], settings: PlanSettings::default(), ..Plan::default() };
    FittedModel { plan, comments }
}

/// Workloads of all targets, with at most so many zones of a region, and the sizes that the targets must have.
fn workloads(groups: &[Group], names: &[IoOwner], zones: usize) -> (Vec<Part>, Vec<u64>) {
    let (mut parts, mut sizes) = (Vec::new(), Vec::new());
    for (at, group) in groups.iter().enumerate() {
        let device = if groups.len() > 1 { format!("d{}_", at + 1) } else { String::new() };
        let prefix = |class: &Class| format!("{device}{}", prefix(group, class, names));
        let prefixes: Vec<String> = group.classes.iter().map(prefix).collect();
        sizes.push(group.parts(at, &prefixes, zones, &mut parts));
    }
    (parts, sizes)
}

/// Devices by what they become: each of the busiest alone, by process, then all others together. Does the model have
/// more than one process?
fn groups(observed: &WorkloadModel) -> (Vec<Group>, bool) {
    let mut devices: Vec<usize> = (0..observed.devices.len()).filter(|at| observed.devices[*at].ios > 0).collect();
    devices.sort_by_key(|at| std::cmp::Reverse(observed.devices[*at].ios));
    let all = observed.ios() as f64;
    let own = |(at, device): (usize, &usize)| {
        at < TARGETS && (at == 0 || observed.devices[*device].ios as f64 >= SHARE_MIN * all)
    };
    let alone = devices.iter().enumerate().take_while(|(at, device)| own((*at, device))).count();
    let count = alone + usize::from(devices.len() > alone);
    let most = PROCESSES[count.clamp(1, PROCESSES.len()) - 1];
    let one = |device: &usize| Group::of(observed, &[*device], &members(observed, *device, most));
    let mut groups: Vec<Group> = devices[..alone].iter().map(one).collect();
    if devices.len() > alone {
        let is_other = |at: &usize| devices[alone..].contains(&observed.cells[*at].device);
        let cells = (0..observed.cells.len()).filter(is_other).collect();
        let others = Member { who: None, cells, has_later: true };
        groups.push(Group::of(observed, &devices[alone..], &[others]));
    }
    let mut owners = groups.iter().flat_map(|group| &group.classes).filter_map(|class| class.who);
    let first = owners.next();
    let has_processes = groups.iter().any(|group| group.classes.len() > 1) || owners.any(|who| Some(who) != first);
    (groups, has_processes)
}

/// Processes with workloads of their own, the busiest first: their positions are their numbers.
fn numbers(groups: &[Group]) -> Vec<IoOwner> {
    let mut known: Vec<(IoOwner, u64)> = Vec::new();
    for class in groups.iter().flat_map(|group| &group.classes) {
        let Some(who) = class.who else { continue };
        match known.iter_mut().find(|(other, _)| *other == who) {
            Some((_, ios)) => *ios += class.ios(),
            None => known.push((who, class.ios())),
        }
    }
    known.sort_by_key(|(_, ios)| std::cmp::Reverse(*ios));
    known.into_iter().map(|(who, _)| who).collect()
}

/// What the names of a process's workloads begin with.
fn prefix(group: &Group, class: &Class, names: &[IoOwner]) -> String {
    match class.who.and_then(|who| names.iter().position(|one| *one == who)) {
        Some(at) => format!("p{}_", at + 1),
        None if group.classes.len() > 1 => "rest_".to_string(),
        None => String::new(),
    }
}

/// A comment before the first workload of each process.
fn process_comments(parts: &[Part], groups: &[Group], names: &[IoOwner], all: f64) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        for (number, class) in group.classes.iter().enumerate() {
            let Some(part) = parts.iter().find(|part| (part.group, part.class) == (at, number)) else { continue };
            let what = match class.who.and_then(|who| names.iter().position(|one| *one == who)) {
                Some(at) => format!("Process {}", at + 1),
                None if group.classes.len() > 1 => "All other processes".to_string(),
                None => continue,
            };
            let share = class.ios() as f64 / all * 100.0;
            out.push((
                format!("wd={},", part.workload.name),
                format!("{what}: {share:.1} % of all I/Os; {}", class.describe()),
            ));
        }
    }
    out
}

impl Group {
    /// Adds its workloads, whose names begin with the prefix of their class; gives the size that its target must have.
    fn parts(&self, group: usize, prefixes: &[String], most: usize, out: &mut Vec<Part>) -> u64 {
        let least = self.largest().div_ceil(self.place_bytes).max(1) * 2;
        // Places from, to, by workload; ranges follow when all are known.
        let mut placed: Vec<(Part, u64, u64)> = Vec::new();
        let mut end = self.zoned(group, prefixes, (most, least), &mut placed);
        for (at, class) in self.classes.iter().enumerate() {
            let of = Naming { group, class: at, prefix: &prefixes[at] };
            for (op, word) in [(0, "scan_read"), (1, "scan_write")] {
                let near =
                    self.near(Shape::Scan, class.totals[Shape::Scan as usize].iter().map(|total| total.ios).sum());
                let scans_most = if most >= 4 { 2 } else { 1 };
                let found: Vec<Zone> = zones(&class.scanned[op], scans_most, near);
                let total = &class.totals[Shape::Scan as usize][op];
                let places: u64 = found.iter().map(|zone| zone.places.max(least)).sum();
                let mut from = end.saturating_sub(part_of(places, class.overlap[op]));
                for (number, zone) in found.iter().enumerate() {
                    let to = from + zone.places.max(least);
                    let order = AddressOrder::Sequential { once: false, backward: false };
                    let streams = rounded(class.scans[op] * zone.shares[op]);
                    let part = of.part((word, number, found.len()), total, zone.shares[op], order, op, streams);
                    placed.push((part, from, to));
                    from = to;
                }
                end = end.max(from);
            }
        }
        end = end.max(least);
        for (at, class) in self.classes.iter().enumerate() {
            let of = Naming { group, class: at, prefix: &prefixes[at] };
            placed.push((of.part(("trim", 0, 1), &class.trims, 1.0, seeks(&class.trims), 2, 1), 0, end));
            let flushes = Total { ios: class.flushes, ..Total::default() };
            let any = AddressOrder::Random(AddressDistribution::Uniform);
            placed.push((of.part(("flush", 0, 1), &flushes, 1.0, any, 3, 1), 0, end));
        }
        placed.sort_by_key(|(part, ..)| part.class);
        for (mut part, from, to) in placed {
            if part.weight > 0.0 {
                part.workload.address.range = range(from, to, end);
                out.push(part);
            }
        }
        end * self.place_bytes
    }

    /// Adds the workloads of short I/Os: at most so many zones of a region, of at least so many places; gives where they end.
    fn zoned(
        &self,
        group: usize,
        prefixes: &[String],
        (most, least): (usize, u64),
        placed: &mut Vec<(Part, u64, u64)>,
    ) -> u64 {
        let (mut end, mut number) = (0, 0);
        let zones_of = |region: &Region| zones(&region.places, most, self.near(Shape::Short, region.ios()));
        let found: Vec<Vec<Zone>> = self.regions.iter().map(zones_of).collect();
        let count = found.iter().map(Vec::len).sum();
        for (region, zones) in self.regions.iter().zip(&found) {
            for zone in zones {
                let to = end + zone.places.max(least);
                for (at, class) in self.classes.iter().enumerate() {
                    let of = Naming { group, class: at, prefix: &prefixes[at] };
                    for (op, word) in [(0, "read"), (1, "write")] {
                        let total = &class.totals[Shape::Short as usize][op];
                        let share = region.parts[2 * at + op] * zone.shares[2 * at + op];
                        placed.push((of.part((word, number, count), total, share, seeks(total), op, 1), end, to));
                    }
                }
                (end, number) = (to, number + 1);
            }
        }
        end
    }

    /// How near the curve of hits of so many I/Os must be measured: what are few matters little.
    fn near(&self, shape: Shape, ios: u64) -> f64 {
        NEAR[shape as usize] * self.ios as f64 / ios.max(1) as f64
    }

    /// The largest transfer.
    fn largest(&self) -> u64 {
        let totals = self.classes.iter().flat_map(|class| class.totals.iter().flatten().chain([&class.trims]));
        let largest = totals.filter_map(|total| total.sizes.keys().next_back()).max();
        largest.map_or(4096, |bytes| transfer_bytes(u64::from(*bytes)))
    }
}

/// Whose workloads are made, and what their names begin with.
struct Naming<'a> {
    group: usize,
    class: usize,
    prefix: &'a str,
}

impl Naming<'_> {
    fn part(
        &self,
        (word, number, count): (&'static str, usize, usize),
        total: &Total,
        share: f64,
        order: AddressOrder,
        op: usize,
        streams: u32,
    ) -> Part {
        let mix = OpMix { read: 0.0, write: 0.0, ..OpMix::read_write(0.0) };
        let mix = match op {
            0 => OpMix { read: 1.0, ..mix },
            1 => OpMix { write: 1.0, ..mix },
            2 => OpMix { trim: 1.0, ..mix },
            _ => OpMix { flush: 1.0, ..mix },
        };
        let workload = Workload {
            name: named(self.prefix, word, number, count),
            targets: vec![self.group],
            share: 1.0,
            share_fixed: false,
            rate: None,
            priority: None,
            depth: None,
            mix,
            transfer: transfer(total),
            write_transfer: None,
            trim_transfer: None,
            address: AddressPattern { order, streams: (streams > 1).then_some(streams), ..AddressPattern::default() },
            content: WriteContent::default(),
            think_ns: 0,
            open: None,
            job: None,
            replay: None,
            load: plan::Load::Blocks,
            span: TextSpan::default(),
        };
        Part {
            group: self.group,
            class: self.class,
            prefix: self.prefix.to_string(),
            word,
            weight: total.ios as f64 * share,
            workload,
        }
    }
}

fn target(group: &Group, at: usize, path: PathBuf, size_bytes: u64) -> TargetSpec {
    let asked = u32::try_from(group.depth.saturating_mul(2).next_power_of_two()).unwrap_or(u32::MAX);
    let is_raw = path.starts_with("/dev") && !path.starts_with("/dev/shm");
    TargetSpec {
        name: format!("sd{}", at + 1),
        path,
        size_bytes: Some(size_bytes),
        layout: None,
        depth: if group.depth == 0 { 64 } else { asked.clamp(32, 1024) },
        open: OpenFlags { direct: true, ..OpenFlags::default() },
        range: None,
        hit_area_bytes: 1 << 20,
        offset_bytes: 0,
        align_bytes: group.is_aligned.then_some(ALIGN_BYTES),
        skip_first_block: is_raw,
        grain_bytes: None,
        unlink: false,
        span: TextSpan::default(),
    }
}

/// `read`, or `read1` where there are several, the hottest first.
fn named(prefix: &str, word: &str, number: usize, count: usize) -> String {
    if count > 1 { format!("{prefix}{word}{}", number + 1) } else { format!("{prefix}{word}") }
}

/// A run goes on where the I/O before it ended as often as in the trace.
fn seeks(total: &Total) -> AddressOrder {
    let seek = 1.0 - total.continued as f64 / total.ios.max(1) as f64;
    let seek = (seek * 1000.0).round() / 10.0 / 100.0;
    if seek >= 0.99 {
        AddressOrder::Random(AddressDistribution::Uniform)
    } else {
        AddressOrder::Mixed { seek: seek.max(0.001), distribution: AddressDistribution::Uniform }
    }
}

/// Places `from..to` of `all`; `None`: all.
fn range(from: u64, to: u64, all: u64) -> Option<AddressRange> {
    let part = |at: u64| (at as f64 / all as f64 * 1e6).round() / 1e4 / 100.0;
    (from > 0 || to < all).then(|| {
        let (low, high) = (part(from), part(to));
        AddressRange { low: RangeBound::Fraction(low), high: RangeBound::Fraction(high.max(low + 1e-6)) }
    })
}

/// A size that can be issued.
fn transfer_bytes(bytes: u64) -> u64 {
    bytes.clamp(512, TRANSFER_MAX).next_multiple_of(512)
}

/// The sizes of I/Os: the most frequent as they are, the others by octave.
fn transfer(total: &Total) -> TransferSize {
    let mut sizes: Vec<(u64, u64)> = Vec::new();
    for (bytes, ios) in &total.sizes {
        let bytes = transfer_bytes(u64::from(*bytes));
        match sizes.last_mut().filter(|last| last.0 == bytes) {
            Some(last) => last.1 += ios,
            None => sizes.push((bytes, *ios)),
        }
    }
    sizes.sort_by_key(|(bytes, ios)| (std::cmp::Reverse(*ios), *bytes));
    let rest = if sizes.len() > SIZES { sizes.split_off(SIZES) } else { Vec::new() };
    let mut octaves: std::collections::BTreeMap<u32, (u64, u64)> = std::collections::BTreeMap::new();
    for (bytes, ios) in rest {
        let octave = octaves.entry(bytes.ilog2()).or_default();
        octave.0 += ios;
        octave.1 += ios * bytes;
    }
    for (ios, bytes) in octaves.into_values() {
        let mean = bytes / ios.max(1);
        let unit = if mean >= 8192 { 4096 } else { 512 };
        let mean = transfer_bytes((mean + unit / 2) / unit * unit);
        match sizes.iter_mut().find(|one| one.0 == mean) {
            Some(one) => one.1 += ios,
            None => sizes.push((mean, ios)),
        }
    }
    let weights: Vec<f64> = sizes.iter().map(|(_, ios)| *ios as f64).collect();
    let mut mix: Vec<(u64, f64)> = Vec::new();
    for ((bytes, _), units) in sizes.iter().zip(whole_shares(&weights)) {
        if units > 0 {
            mix.push((*bytes, share_of(units)));
        }
    }
    match mix.as_slice() {
        [] => TransferSize::Fixed(4096),
        [(bytes, _)] => TransferSize::Fixed(*bytes),
        _ => TransferSize::Mix(mix),
    }
}

/// Weights as parts of [`SHARES`], whose sum they have exactly: what rounding leaves goes to the largest.
fn whole_shares(weights: &[f64]) -> Vec<u32> {
    let all: f64 = weights.iter().sum();
    let mut units: Vec<u32> = weights.iter().map(|weight| rounded(weight / all * f64::from(SHARES))).collect();
    if let Some(largest) = (0..units.len()).max_by(|a, b| weights[*a].total_cmp(&weights[*b])) {
        let others: u32 = units.iter().sum::<u32>() - units[largest];
        units[largest] = SHARES.saturating_sub(others);
    }
    units
}

/// So many parts of [`SHARES`], as the percentage reads back.
fn share_of(units: u32) -> f64 {
    f64::from(units) / 100.0 / 100.0
}

/// No more workloads than may be; the smallest are given to the largest of the same kind of their process, of their target,
/// or of any.
fn reduce(parts: &mut Vec<Part>) {
    let all: f64 = parts.iter().map(|part| part.weight).sum();
    loop {
        let Some(least) = (0..parts.len()).min_by(|a, b| parts[*a].weight.total_cmp(&parts[*b].weight)) else { return };
        let is_nothing = parts[least].weight < NOTHING * all;
        if parts.len() <= 1 || (parts.len() <= WORKLOADS && !is_nothing) {
            return;
        }
        let part = parts.remove(least);
        let heaviest = |is_like: &dyn Fn(&Part) -> bool| {
            let like = (0..parts.len()).filter(|at| is_like(&parts[*at]));
            like.max_by(|a, b| parts[*a].weight.total_cmp(&parts[*b].weight))
        };
        let is_alike = |other: &Part| other.group == part.group && other.workload.mix == part.workload.mix;
        let into = heaviest(&|other| is_alike(other) && other.class == part.class)
            .or_else(|| heaviest(&is_alike))
            .or_else(|| heaviest(&|other| other.group == part.group))
            .or_else(|| heaviest(&|_| true));
        if let Some(into) = into {
            parts[into].weight += part.weight;
        }
    }
}

/// Where processes share a target, the zones of each are numbered by themselves.
fn rename(parts: &mut [Part], groups: &[Group]) {
    for at in 0..parts.len() {
        let part = &parts[at];
        let is_like = |other: &Part| (other.group, other.class, other.word) == (part.group, part.class, part.word);
        if groups[part.group].classes.len() > 1 {
            let (number, count) = (
                parts[..at].iter().filter(|one| is_like(one)).count(),
                parts.iter().filter(|one| is_like(one)).count(),
            );
            parts[at].workload.name = named(&part.prefix, part.word, number, count);
        }
    }
}

fn shares(parts: &mut [Part]) {
    let weights: Vec<f64> = parts.iter().map(|part| part.weight).collect();
    let is_alone = parts.len() == 1;
    for (part, units) in parts.iter_mut().zip(whole_shares(&weights)) {
        part.workload.share = share_of(units);
        part.workload.share_fixed = !is_alone;
    }
}

fn run(observed: &WorkloadModel, parts: Vec<Part>, steps: &Steps) -> Run {
    let rates: Vec<(f64, u64)> = merged(steps);
    let burst = (rates.len() > 1).then(|| BurstPattern { steps: rates.clone(), spike: false });
    let (ios, time_ns) =
        rates.iter().fold((0.0, 0.0), |(ios, time), (rate, ns)| (ios + rate * *ns as f64, time + *ns as f64));
    let workloads = parts.into_iter().map(|part| part.workload).collect();
    Run {
        rate: OfferedRate::PerSecond(if time_ns > 0.0 { ios / time_ns } else { observed.arrivals.rate() }),
        arrivals: Arrivals { gaps: steps.gaps, burst },
        // No run is shorter than two of its intervals, however short the trace was.
        elapsed_ns: Some(observed.length_ns().div_ceil(1_000_000_000).max(2) * 1_000_000_000),
        ..Run::new("model", workloads, 1_000_000_000)
    }
}

/// Steps with short rates; neighbours of the same rate are one.
fn merged(steps: &Steps) -> Vec<(f64, u64)> {
    let mut out: Vec<(f64, u64)> = Vec::new();
    for (rate, ns) in &steps.steps {
        let rate = digits(*rate);
        match out.last_mut().filter(|last| last.0.to_bits() == rate.to_bits()) {
            Some(last) => last.1 += ns,
            None => out.push((rate, *ns)),
        }
    }
    out
}

/// As many digits of a rate as matter.
fn digits(value: f64) -> f64 {
    match value {
        _ if value >= 300.0 => value.round(),
        _ if value >= 10.0 => (value * 10.0).round() / 10.0,
        _ if value >= 0.1 || value <= 0.0 => (value * 100.0).round() / 100.0,
        // Two I/Os in an hour are not none.
        _ => {
            let scale = 10_f64.powf(2.0 - value.log10().floor());
            (value * scale).round() / scale
        }
    }
}

fn arrival_words(steps: &Steps) -> String {
    let seconds = steps.steps.iter().map(|(_, ns)| *ns as f64).sum::<f64>() / 1e9;
    let count = steps.steps.len();
    match (count, steps.digest) {
        (1, _) => "One rate all the time.".to_string(),
        (_, false) => format!("{count} rates follow the trace's in time: (I/Os per second, seconds, …)."),
        (_, true) => format!(
            "{seconds:.0} s, over and over, with the trace's distribution of rates: (I/Os per second, seconds, …)."
        ),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and never below 0")]
fn rounded(value: f64) -> u32 {
    value.round() as u32
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and never below 0")]
fn part_of(count: u64, share: f64) -> u64 {
    (count as f64 * share).round() as u64
}
