//! What becomes one target: the processes that are counted separately there, and the places that they use.

use super::WorkloadModel;
use super::fold::{Device, Shape, Total};
use super::members::Member;
use super::processes::IoOwner;
use crate::model::address_distribution::{Counts, KINDS, LATER, MEMBERS, Used, sum};

/// A process has a region of its own when so much of what it does is there, and so much of what is done there is its.
const OWN_PART: f64 = 2.0 / 3.0;
/// I/Os that say so.
const OWN_IOS: u64 = 50;
/// What a process that scans does besides, as a part of its scans, when it is nothing but their beginnings.
const BEGINNINGS: f64 = 0.05;
/// A smaller part of what a process does is not in the region of another.
const FOREIGN: f64 = 0.02;

/// Processes that are one in a model, on one target.
pub(super) struct Class {
    /// The owner, on all devices; `None`: all others together, or no owner is known.
    pub(super) who: Option<IoOwner>,
    pub(super) totals: [[Total; 2]; 2],
    pub(super) trims: Total,
    pub(super) flushes: u64,
    /// Reading and writing scans at the same time.
    pub(super) scans: [f64; 2],
    /// Places that its reading and its writing scans use.
    pub(super) scanned: [Vec<Used>; 2],
    /// Part of these that short I/Os, or scans before it, use as well.
    pub(super) overlap: [f64; 2],
}

/// Devices that become one target.
pub(super) struct Group {
    /// How many.
    pub(super) devices: usize,
    pub(super) classes: Vec<Class>,
    pub(super) depth: usize,
    pub(super) is_aligned: bool,
    pub(super) place_bytes: u64,
    /// I/Os of the whole load.
    pub(super) ios: u64,
    pub(super) regions: Vec<Region>,
}

/// Places of short I/Os that are in one piece, apart from others.
pub(super) struct Region {
    pub(super) places: Vec<Used>,
    /// Part of all short reads and writes of each class that is there.
    pub(super) parts: [f64; KINDS],
}

/// What happened in a place, by class.
#[derive(Clone, Copy, Default)]
struct Place {
    classes: [Counts; MEMBERS],
    visits: u32,
}

impl Place {
    /// Short I/Os of a class in one half, reads and writes.
    fn short(&self, class: usize, half: usize) -> u64 {
        u64::from(self.classes[class].ios[0][half]) + u64::from(self.classes[class].ios[1][half])
    }

    /// Short I/Os become a part of scans.
    fn lengthen(&mut self, class: usize, op: usize) {
        let ios = &mut self.classes[class].ios;
        let short = std::mem::take(&mut ios[op]);
        ios[2 + op].iter_mut().zip(short).for_each(|(into, count)| *into = into.saturating_add(count));
    }

    fn scanned(&self, class: usize, op: usize) -> u64 {
        sum(self.classes[class].ios[2 + op])
    }

    fn used(&self) -> Used {
        let ios = std::array::from_fn(|kind| self.classes[kind / 2].ios[kind % 2]);
        Used { ios, visits: Some(self.visits) }
    }
}

impl Group {
    pub(super) fn of(observed: &WorkloadModel, devices: &[usize], members: &[Member]) -> Self {
        let found: Vec<&Device> = devices.iter().map(|at| &observed.devices[*at]).collect();
        let (ios, unaligned) = found.iter().fold((0, 0), |(ios, un), one| (ios + one.ios, un + one.unaligned));
        let mut class_of = vec![0; observed.cells.len()];
        for (class, member) in members.iter().enumerate() {
            member.cells.iter().for_each(|at| class_of[*at] = class);
        }
        let later = members.iter().position(|member| member.has_later).unwrap_or(members.len().saturating_sub(1));
        let mut places = Vec::new();
        for counted in observed.places.of(devices) {
            let mut place = Place::default();
            for (cell, counts) in counted {
                let class = if cell == LATER { later } else { class_of[cell] };
                place.classes[class].join(counts);
                place.visits = place.visits.saturating_add(counts.visits);
            }
            places.push(place);
        }
        let mut classes: Vec<Class> = members.iter().map(|member| Class::of(observed, devices, member)).collect();
        for (at, class) in classes.iter_mut().enumerate() {
            // Alone, a device has the beginnings of its scans among the other short I/Os.
            for op in (0..2).filter(|op| members.len() > 1 && class.lengthen(*op)) {
                places.iter_mut().for_each(|place| place.lengthen(at, op));
            }
        }
        classes.iter_mut().enumerate().for_each(|(at, class)| class.place(at, &places));
        Self {
            devices: devices.len(),
            classes,
            depth: found.iter().map(|device| device.depth).sum(),
            is_aligned: unaligned * 100 <= ios,
            place_bytes: observed.places.bytes,
            ios: observed.ios(),
            regions: regions(&places, members.len()),
        }
    }

    /// Of all classes.
    pub(super) fn total(&self, shape: Shape, op: usize) -> u64 {
        self.classes.iter().map(|class| class.totals[shape as usize][op].ios).sum()
    }

    /// What it is like, in a few words.
    pub(super) fn describe(&self) -> String {
        let of = |shape: Shape| [self.total(shape, 0), self.total(shape, 1)];
        let mix = mix(of(Shape::Short), of(Shape::Scan));
        let places: u64 = self
            .regions
            .iter()
            .flat_map(|region| &region.places)
            .map(|used| u64::from(used.ios.iter().any(|one| sum(*one) > 0)))
            .sum();
        let used = quantity::text::format_bytes(places * self.place_bytes);
        format!("{mix}, {used} otherwise used, the hottest first")
    }
}

impl Region {
    /// I/Os.
    pub(super) fn ios(&self) -> u64 {
        self.places.iter().flat_map(|used| used.ios).map(sum).sum()
    }
}

impl Class {
    fn of(observed: &WorkloadModel, devices: &[usize], member: &Member) -> Self {
        let cells = || member.cells.iter().map(|at| &observed.cells[*at]);
        let total = |shape: Shape, op: usize| {
            let mut all = Total::default();
            cells().for_each(|cell| all.join(&cell.totals[shape as usize][op]));
            all
        };
        let mut trims = Total::default();
        cells().for_each(|cell| trims.join(&cell.trims));
        let streams = |op: usize| {
            let of = |device: &usize| observed.devices[*device].scans[op].mean(|cell| member.cells.contains(&cell));
            devices.iter().map(of).sum()
        };
        Self {
            who: member.who,
            totals: [[total(Shape::Short, 0), total(Shape::Short, 1)], [total(Shape::Scan, 0), total(Shape::Scan, 1)]],
            trims,
            flushes: cells().map(|cell| cell.flushes).sum(),
            scans: [streams(0), streams(1)],
            scanned: [Vec::new(), Vec::new()],
            overlap: [0.0; 2],
        }
    }

    /// Short I/Os that are only the beginnings of scans, before they are known to be any, become a part of these; are
    /// they?
    fn lengthen(&mut self, op: usize) -> bool {
        let [short, scans] = &mut self.totals;
        let is_little = (short[op].ios as f64) < BEGINNINGS * scans[op].ios as f64;
        if is_little {
            scans[op].join(&std::mem::take(&mut short[op]));
        }
        is_little
    }

    /// The places of its scans; it is the class with this number.
    fn place(&mut self, at: usize, places: &[Place]) {
        for op in 0..2 {
            let own: Vec<&Place> = places.iter().filter(|place| place.scanned(at, op) > 0).collect();
            // A scan comes to each of its places about equally often, not by chance: no halves are needed, which would
            // be hot where the other is cold.
            let used = |place: &&Place| {
                let [a, b] = place.classes[at].ios[2 + op];
                let mut ios = [[0; 2]; KINDS];
                ios[op] = [a.saturating_add(b); 2];
                Used { ios, visits: None }
            };
            self.scanned[op] = own.iter().map(used).collect();
            let is_short = |place: &Place| (0..MEMBERS).any(|one| place.short(one, 0) + place.short(one, 1) > 0);
            let is_before = |(class, kind): (usize, usize)| class < at || (class == at && kind < op);
            let scans = || (0..MEMBERS).flat_map(|class| [(class, 0), (class, 1)]).filter(|scan| is_before(*scan));
            let is_known =
                |place: &Place| is_short(place) || scans().any(|(class, kind)| place.scanned(class, kind) > 0);
            let both = own.iter().filter(|place| is_known(place)).count();
            self.overlap[op] = if own.is_empty() { 0.0 } else { both as f64 / own.len() as f64 };
        }
    }

    /// I/Os of all kinds.
    pub(super) fn ios(&self) -> u64 {
        self.totals.iter().flatten().chain([&self.trims]).map(|total| total.ios).sum::<u64>() + self.flushes
    }

    /// What it is like, in a few words.
    pub(super) fn describe(&self) -> String {
        let of = |shape: Shape| self.totals[shape as usize].each_ref().map(|total| total.ios);
        let mix = mix(of(Shape::Short), of(Shape::Scan));
        let moved = || self.totals.iter().flatten();
        let (ios, bytes) = moved().fold((0, 0), |(ios, bytes), total| (ios + total.ios, bytes + total.bytes));
        let mean = bytes as f64 / ios.max(1) as f64 / 1024.0;
        format!("{mix}, {mean:.1} KiB on average")
    }
}

/// "75 % reads, 10 % in long scans".
fn mix([reads, writes]: [u64; 2], [scanned, streamed]: [u64; 2]) -> String {
    let all = (reads + writes + scanned + streamed).max(1) as f64;
    let reading = (reads + scanned) as f64 / all * 100.0;
    let scanning = (scanned + streamed) as f64 / all * 100.0;
    format!("{reading:.0} % reads, {scanning:.0} % in long scans")
}

/// Whose each place is: of the class with most short I/Os there in one half; where that has none, whose the place before
/// it is.
fn owners(places: &[Place], classes: usize) -> Vec<usize> {
    let most = |place: &Place, half: usize| {
        let best = (0..classes).rev().max_by_key(|class| place.short(*class, half));
        best.filter(|class| place.short(*class, half) > 0)
    };
    let mut last = places.iter().find_map(|place| most(place, 0)).unwrap_or(0);
    let owner = |place: &Place| {
        last = most(place, 0).unwrap_or(last);
        last
    };
    places.iter().map(owner).collect()
}

/// Short I/Os by where they are: processes that keep to themselves have a region each, all others one together; the
/// largest is the last, where scans begin.
fn regions(places: &[Place], classes: usize) -> Vec<Region> {
    let owners = if classes > 1 { owners(places, classes) } else { vec![0; places.len()] };
    // The other half says how much of what each does is in its own places, and what is there besides.
    let (mut own, mut all, mut there) = ([0; MEMBERS], [0; MEMBERS], [0; MEMBERS]);
    for (place, owner) in places.iter().zip(&owners) {
        for class in 0..classes {
            let ios = place.short(class, 1);
            all[class] += ios;
            there[*owner] += ios;
            own[class] += if class == *owner { ios } else { 0 };
        }
    }
    let is_apart = |class: usize| {
        let part = |whole: u64| own[class] as f64 >= OWN_PART * whole as f64;
        classes > 1 && all[class] >= OWN_IOS && part(all[class]) && part(there[class])
    };
    // The common one comes after those of the classes.
    let mut found: Vec<Vec<Used>> = vec![Vec::new(); classes + 1];
    for (place, owner) in places.iter().zip(&owners) {
        let used = place.used();
        if used.ios.iter().any(|one| sum(*one) > 0) {
            found[if is_apart(*owner) { *owner } else { classes }].push(used);
        }
    }
    found.retain(|places| !places.is_empty());
    found.sort_by_key(Vec::len);
    let counts = |places: &[Used]| -> [u64; KINDS] {
        std::array::from_fn(|kind| places.iter().map(|used| sum(used.ios[kind])).sum())
    };
    let counted: Vec<[u64; KINDS]> = found.iter().map(|places| counts(places)).collect();
    let whole: [u64; KINDS] = std::array::from_fn(|kind| counted.iter().map(|counts| counts[kind]).sum());
    // Strays stay at home.
    let kept = |counts: u64, kind: usize| if (counts as f64) < FOREIGN * whole[kind] as f64 { 0 } else { counts };
    let part = |counts: &[u64; KINDS], kind: usize| {
        let all: u64 = counted.iter().map(|counts| kept(counts[kind], kind)).sum();
        if all == 0 { 0.0 } else { kept(counts[kind], kind) as f64 / all as f64 }
    };
    let parts = counted.iter().map(|counts| std::array::from_fn(|kind| part(counts, kind)));
    let parts: Vec<[f64; KINDS]> = parts.collect();
    found.into_iter().zip(parts).map(|(places, parts)| Region { places, parts }).collect()
}
