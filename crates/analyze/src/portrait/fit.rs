//! A plan with the same counts as a load.

use super::Portrait;
use super::fold::{Device, Shape, Total};
use super::places::{Used, Zone, sum, zones};
use super::rhythm::Steps;
use plan::{
    Address, AddressRange, Arrivals, Bound, Burst, Content, Distribution, OpMix, OpenFlags, Order, Plan, Rate, Run,
    Settings, Span, Stop, TargetSpec, TransferSize, Workload,
};
use std::path::PathBuf;

/// Devices that get a target of their own; the others share one more.
const TARGETS: usize = 4;
/// A device with less than this share of all I/Os is one of the others.
const SHARE_MIN: f64 = 0.01;
/// Workloads of a model.
const WORKLOADS: usize = 30;
/// Zones by number of targets.
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
pub struct Model {
    /// One run of a few workloads.
    pub plan: Plan,
    /// A comment for the line of its text that begins so.
    pub comments: Vec<(String, String)>,
}

/// A workload to be.
struct Part {
    group: usize,
    name: String,
    weight: f64,
    workload: Workload,
}

/// A plan that behaves like `portrait`. Targets are `paths`, in the order of their I/Os, the busiest first; what has no
/// path gets a variable.
pub fn fit(portrait: &Portrait, paths: &[PathBuf]) -> Model {
    let groups = groups(portrait);
    let (mut parts, mut targets, mut comments) = (Vec::new(), Vec::new(), Vec::new());
    let all = portrait.ios().max(1) as f64;
    for (at, devices) in groups.iter().enumerate() {
        let prefix = if groups.len() > 1 { format!("d{}_", at + 1) } else { String::new() };
        let first = parts.len();
        let group = Group::of(portrait, devices);
        let size_bytes = group.parts(at, &prefix, ZONES[groups.len().clamp(1, ZONES.len()) - 1], &mut parts);
        let path = paths.get(at).cloned().unwrap_or_else(|| {
            PathBuf::from(if groups.len() > 1 { format!("$lun{}", at + 1) } else { "$lun".to_string() })
        });
        targets.push(target(&group, at, path, size_bytes));
        let share = parts[first..].iter().map(|part| part.weight).sum::<f64>() / all * 100.0;
        let what = match devices.len() {
            1 if groups.len() == 1 => "The device".to_string(),
            1 => format!("Device {}", at + 1),
            more => format!("{more} more devices as one"),
        };
        let zones = group.describe();
        comments.push((format!("sd=sd{},", at + 1), format!("{what}: {share:.1} % of all I/Os; {zones}")));
    }
    reduce(&mut parts);
    shares(&mut parts);
    let steps = portrait.rhythm.steps();
    comments.push(("rd=".to_string(), rhythm_words(&steps)));
    let run = run(portrait, parts, &steps);
    let plan = Plan { targets, runs: vec![run], settings: Settings::default(), ..Plan::default() };
    Model { plan, comments }
}

/// Devices by what they become: each of the busiest alone, then all others together.
fn groups(portrait: &Portrait) -> Vec<Vec<usize>> {
    let mut devices: Vec<usize> = (0..portrait.devices.len()).filter(|at| portrait.devices[*at].ios() > 0).collect();
    devices.sort_by_key(|at| std::cmp::Reverse(portrait.devices[*at].ios()));
    let all = portrait.ios() as f64;
    let own = |(at, device): (usize, &usize)| {
        at < TARGETS && (at == 0 || portrait.devices[*device].ios() as f64 >= SHARE_MIN * all)
    };
    let alone = devices.iter().enumerate().take_while(|(at, device)| own((*at, device))).count();
    let mut groups: Vec<Vec<usize>> = devices[..alone].iter().map(|device| vec![*device]).collect();
    if devices.len() > alone {
        groups.push(devices[alone..].to_vec());
    }
    groups
}

/// Devices that become one target.
struct Group {
    totals: [[Total; 2]; 2],
    trims: Total,
    flushes: u64,
    scans: [f64; 2],
    depth: usize,
    is_aligned: bool,
    place_bytes: u64,
    /// I/Os of the whole load.
    ios: u64,
    short: Vec<Used>,
    scanned: [Vec<Used>; 2],
    /// Part of the scanned places that short I/Os use as well.
    overlap: [f64; 2],
}

impl Group {
    fn of(portrait: &Portrait, devices: &[usize]) -> Self {
        let members: Vec<&Device> = devices.iter().map(|at| &portrait.devices[*at]).collect();
        let total = |shape: Shape, op: usize| {
            let mut all = Total::default();
            members.iter().for_each(|device| all.join(&device.totals[shape as usize][op]));
            all
        };
        let mut trims = Total::default();
        members.iter().for_each(|device| trims.join(&device.trims));
        let (ios, unaligned) = members.iter().fold((0, 0), |(ios, un), one| (ios + one.ios(), un + one.unaligned));
        let places = portrait.places.of(devices);
        // A scan comes to each of its places about equally often, not by chance: no halves are needed, which would be
        // hot where the other is cold.
        let scanned = |op: usize| {
            let both = places.iter().map(|counts| counts.ios[2 + op]).filter(|count| sum(*count) > 0);
            let used = both.map(|[a, b]| {
                let mut ios = [[0; 2]; 2];
                ios[op] = [a.saturating_add(b); 2];
                Used { ios, visits: None }
            });
            used.collect()
        };
        let overlap = |op: usize| {
            let used = places.iter().map(|counts| counts.ios).filter(|ios| sum(ios[2 + op]) > 0);
            let (all, both) = used.fold((0.0, 0.0), |(all, both), ios| {
                let other = sum(ios[0]) + sum(ios[1]) + if op == 1 { sum(ios[2]) } else { 0 };
                (all + 1.0, both + f64::from(u8::from(other > 0)))
            });
            if all > 0.0 { both / all } else { 0.0 }
        };
        Self {
            totals: [[total(Shape::Short, 0), total(Shape::Short, 1)], [total(Shape::Scan, 0), total(Shape::Scan, 1)]],
            trims,
            flushes: members.iter().map(|device| device.flushes).sum(),
            scans: [0, 1].map(|op| members.iter().map(|device| device.scans[op].mean()).sum()),
            depth: members.iter().map(|device| device.depth).sum(),
            is_aligned: unaligned * 100 <= ios,
            place_bytes: portrait.places.bytes,
            ios: portrait.ios(),
            short: places
                .iter()
                .map(|counts| Used { ios: [counts.ios[0], counts.ios[1]], visits: Some(counts.visits) })
                .collect(),
            scanned: [scanned(0), scanned(1)],
            overlap: [overlap(0), overlap(1)],
        }
    }

    /// Adds its workloads; gives the size that its target must have.
    fn parts(&self, group: usize, prefix: &str, most: usize, out: &mut Vec<Part>) -> u64 {
        let scans_most = if most >= 4 { 2 } else { 1 };
        let least = self.largest().div_ceil(self.place_bytes).max(1) * 2;
        // Places from, to, by workload; ranges follow when all are known.
        let (mut placed, mut end): (Vec<(Part, u64, u64)>, u64) = (Vec::new(), 0);
        let short = zones(self.short.clone(), most, self.near(Shape::Short));
        for (number, zone) in short.iter().enumerate() {
            let to = end + zone.places.max(least);
            for (op, word) in [(0, "read"), (1, "write")] {
                let total = &self.totals[Shape::Short as usize][op];
                let name = named(prefix, word, number, short.len());
                let order = seeks(total);
                placed.push((self.part(group, name, total, zone.shares[op], order, op, 1), end, to));
            }
            end = to;
        }
        for (op, word) in [(0, "scan_read"), (1, "scan_write")] {
            let total = &self.totals[Shape::Scan as usize][op];
            let found: Vec<Zone> = zones(self.scanned[op].clone(), scans_most, self.near(Shape::Scan));
            let places: u64 = found.iter().map(|zone| zone.places.max(least)).sum();
            let mut from = end.saturating_sub(part_of(places, self.overlap[op]));
            for (number, zone) in found.iter().enumerate() {
                let to = from + zone.places.max(least);
                let order = Order::Sequential { once: false, backward: false };
                let name = named(prefix, word, number, found.len());
                let streams = rounded(self.scans[op] * zone.shares[op]);
                placed.push((self.part(group, name, total, zone.shares[op], order, op, streams), from, to));
                from = to;
            }
            end = end.max(from);
        }
        end = end.max(least);
        let trims = seeks(&self.trims);
        placed.push((self.part(group, format!("{prefix}trim"), &self.trims, 1.0, trims, 2, 1), 0, end));
        let flushes = Total { ios: self.flushes, ..Total::default() };
        let any = Order::Random(Distribution::Uniform);
        placed.push((self.part(group, format!("{prefix}flush"), &flushes, 1.0, any, 3, 1), 0, end));
        for (mut part, from, to) in placed {
            if part.weight > 0.0 {
                part.workload.address.range = range(from, to, end);
                out.push(part);
            }
        }
        end * self.place_bytes
    }

    /// How near the curve of hits of such I/Os must be measured: what are few matters little.
    fn near(&self, shape: Shape) -> f64 {
        let ios: u64 = self.totals[shape as usize].iter().map(|total| total.ios).sum();
        NEAR[shape as usize] * self.ios as f64 / ios.max(1) as f64
    }

    /// The largest transfer.
    fn largest(&self) -> u64 {
        let totals = self.totals.iter().flatten().chain([&self.trims]);
        let largest = totals.filter_map(|total| total.sizes.keys().next_back()).max();
        largest.map_or(4096, |bytes| transfer_bytes(u64::from(*bytes)))
    }

    #[expect(clippy::too_many_arguments, reason = "what a workload is made of")]
    fn part(
        &self,
        group: usize,
        name: String,
        total: &Total,
        share: f64,
        order: Order,
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
            name: name.clone(),
            targets: vec![group],
            share: 1.0,
            share_fixed: false,
            rate: None,
            priority: None,
            depth: None,
            mix,
            transfer: transfer(total),
            write_transfer: None,
            trim_transfer: None,
            address: Address { order, streams: (streams > 1).then_some(streams), ..Address::default() },
            content: Content::default(),
            think_ns: 0,
            open: None,
            job: None,
            replay: None,
            span: Span::default(),
        };
        Part { group, name, weight: total.ios as f64 * share, workload }
    }

    /// What it is like, in a few words.
    fn describe(&self) -> String {
        let of = |shape: Shape| self.totals[shape as usize].each_ref().map(|total| total.ios);
        let ([reads, writes], [scanned, streamed]) = (of(Shape::Short), of(Shape::Scan));
        let all = (reads + writes + scanned + streamed).max(1) as f64;
        let reading = (reads + scanned) as f64 / all * 100.0;
        let scanning = (scanned + streamed) as f64 / all * 100.0;
        let places = self.short.iter().filter(|used| used.ios.iter().any(|one| sum(*one) > 0)).count();
        let used = quantity::text::format_bytes(places as u64 * self.place_bytes);
        format!("{reading:.0} % reads, {scanning:.0} % in long scans, {used} otherwise used, the hottest first")
    }
}

fn target(group: &Group, at: usize, path: PathBuf, size_bytes: u64) -> TargetSpec {
    let asked = u32::try_from(group.depth.saturating_mul(2).next_power_of_two()).unwrap_or(u32::MAX);
    let is_raw = path.starts_with("/dev") && !path.starts_with("/dev/shm");
    TargetSpec {
        name: format!("sd{}", at + 1),
        path,
        size_bytes: Some(size_bytes),
        depth: if group.depth == 0 { 64 } else { asked.clamp(32, 1024) },
        open: OpenFlags { direct: true, ..OpenFlags::default() },
        range: None,
        hit_area_bytes: 1 << 20,
        offset_bytes: 0,
        align_bytes: group.is_aligned.then_some(ALIGN_BYTES),
        skip_first_block: is_raw,
        unlink: false,
        span: Span::default(),
    }
}

/// `read`, or `read1` where there are several, the hottest first.
fn named(prefix: &str, word: &str, number: usize, count: usize) -> String {
    if count > 1 { format!("{prefix}{word}{}", number + 1) } else { format!("{prefix}{word}") }
}

/// A run goes on where the I/O before it ended as often as in the trace.
fn seeks(total: &Total) -> Order {
    let seek = 1.0 - total.continued as f64 / total.ios.max(1) as f64;
    let seek = (seek * 1000.0).round() / 10.0 / 100.0;
    if seek >= 0.99 { Order::Random(Distribution::Uniform) } else { Order::Mixed { seek: seek.max(0.001) } }
}

/// Places `from..to` of `all`; `None`: all.
fn range(from: u64, to: u64, all: u64) -> Option<AddressRange> {
    let part = |at: u64| (at as f64 / all as f64 * 1e6).round() / 1e4 / 100.0;
    (from > 0 || to < all).then(|| {
        let (low, high) = (part(from), part(to));
        AddressRange { low: Bound::Fraction(low), high: Bound::Fraction(high.max(low + 1e-6)) }
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

/// No more workloads than may be; the smallest are given to the largest of the same kind on their target, or of any.
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
        let into = heaviest(&|other| other.group == part.group && other.workload.mix == part.workload.mix)
            .or_else(|| heaviest(&|other| other.group == part.group))
            .or_else(|| heaviest(&|_| true));
        if let Some(into) = into {
            parts[into].weight += part.weight;
        }
    }
}

fn shares(parts: &mut [Part]) {
    let weights: Vec<f64> = parts.iter().map(|part| part.weight).collect();
    let is_alone = parts.len() == 1;
    for (part, units) in parts.iter_mut().zip(whole_shares(&weights)) {
        part.workload.share = share_of(units);
        part.workload.share_fixed = !is_alone;
        debug_assert_eq!(part.name, part.workload.name);
    }
}

fn run(portrait: &Portrait, parts: Vec<Part>, steps: &Steps) -> Run {
    let rates: Vec<(f64, u64)> = merged(steps);
    let burst = (rates.len() > 1).then(|| Burst { steps: rates.clone(), spike: false });
    let (ios, time_ns) =
        rates.iter().fold((0.0, 0.0), |(ios, time), (rate, ns)| (ios + rate * *ns as f64, time + *ns as f64));
    Run {
        name: "model".to_string(),
        title: "model".to_string(),
        loops: Vec::new(),
        workloads: parts.into_iter().map(|part| part.workload).collect(),
        rate: Rate::PerSecond(if time_ns > 0.0 { ios / time_ns } else { portrait.rhythm.rate() }),
        arrivals: Arrivals { gaps: steps.gaps, burst },
        elapsed_ns: Some(portrait.length_ns().div_ceil(1_000_000_000).max(1) * 1_000_000_000),
        warmup_ns: 0,
        interval_ns: 1_000_000_000,
        pause_ns: 0,
        stop: Stop::default(),
        objectives: Vec::new(),
        start_commands: Vec::new(),
        end_commands: Vec::new(),
        format: false,
        span: Span::default(),
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
        _ => (value * 100.0).round() / 100.0,
    }
}

fn rhythm_words(steps: &Steps) -> String {
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
