//! How often which place is used, and places of equal heat put together.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// First size of a place: the regions of the analysis of traces.
const PLACE_BYTES: u64 = 1 << 20;
/// Most places; when there are more, two become one.
const PLACES: usize = 1 << 17;

/// Processes that are counted separately in one place; later ones count as [`LATER`].
const PROCESSES: usize = 16;
/// Stands for the processes that a place had no room for.
pub(super) const LATER: usize = u32::MAX as usize;
/// Processes that a model tells apart on one device.
pub(super) const MEMBERS: usize = 4;
/// What is counted of a place apart: reads and writes of each of them.
pub(super) const KINDS: usize = 2 * MEMBERS;

/// Zones whose places differ by less than this are one.
const ALIKE: f64 = 1.3;

/// Parts I/Os by chance into two halves that know nothing of each other: one to say which places are hot, the other to
/// say how hot they are. With one for both, places that were hit often by chance alone would count as hot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parting(u64);

impl Parting {
    /// 0 or 1.
    pub(super) fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::from((x ^ (x >> 31)) & 1 == 1)
    }
}

/// What happened in a place, by where I/Os began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// By kind (short reads, short writes, scanning reads, scanning writes), in two halves.
    pub(super) ios: [[u32; 2]; 4],
    /// Short I/Os that did not continue another: what is independent of each other.
    pub(super) visits: u32,
}

impl Counts {
    pub(super) fn join(&mut self, other: &Self) {
        for (into, from) in self.ios.iter_mut().flatten().zip(other.ios.iter().flatten()) {
            *into = into.saturating_add(*from);
        }
        self.visits = self.visits.saturating_add(other.visits);
    }
}

/// What zones are made of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Reads and writes of the first process, of the second, …; in two halves.
    pub(super) ios: [[u32; 2]; KINDS],
    /// Visits; `None`: each place is known.
    pub(super) visits: Option<u32>,
}

/// Sum of both halves.
pub(super) fn sum(counts: [u32; 2]) -> u64 {
    u64::from(counts[0]) + u64::from(counts[1])
}

/// Counts of all places.
#[derive(Clone, Debug)]
pub(super) struct AddressModel {
    pub(super) bytes: u64,
    most: usize,
    counts: HashMap<(u32, u64), Place>,
    /// Of each process, the I/Os that were counted as [`LATER`].
    displaced: HashMap<u32, u64>,
}

/// What is done in a place by whom: the first one there, and the others.
#[derive(Clone, Debug)]
struct Place {
    first: (u32, Counts),
    #[expect(clippy::box_collection, reason = "hardly any place has others: 8 bytes each instead of 24")]
    others: Option<Box<Vec<(u32, Counts)>>>,
}

impl Place {
    fn new(process: u32) -> Self {
        Self { first: (process, Counts::default()), others: None }
    }

    /// The counts of a process, and whether it has them; else they are those of all that came later.
    fn of(&mut self, process: u32) -> (&mut Counts, bool) {
        if self.first.0 == process {
            return (&mut self.first.1, true);
        }
        let others = self.others.get_or_insert_default();
        let mut find = |process: u32, most: usize| {
            let found = others.iter().position(|(known, _)| *known == process);
            found.or_else(|| {
                let has_room = others.len() < most;
                has_room.then(|| {
                    others.push((process, Counts::default()));
                    others.len() - 1
                })
            })
        };
        let (at, is_own) = match find(process, PROCESSES - 1) {
            Some(at) => (at, true),
            None => (find(u32::MAX, PROCESSES).unwrap_or(PROCESSES - 1), false),
        };
        (&mut others[at].1, is_own)
    }

    fn each(&self) -> impl Iterator<Item = (usize, &Counts)> {
        let all = std::iter::once(&self.first).chain(self.others.iter().flat_map(|others| others.iter()));
        all.map(|(process, counts)| (usize::try_from(*process).unwrap_or(usize::MAX), counts))
    }
}

impl AddressModel {
    pub(super) fn new(bytes: Option<u64>) -> Self {
        // What is compared with another must not become coarser than it.
        let most = if bytes.is_some() { 4 * PLACES } else { PLACES };
        Self { bytes: bytes.unwrap_or(PLACE_BYTES), most, counts: HashMap::new(), displaced: HashMap::new() }
    }

    /// Adds an I/O of a kind, of a process on a device, in one of the halves; `is_visit`: it began something there.
    pub(super) fn add(
        &mut self,
        (device, process): (usize, usize),
        offset: u64,
        kind: usize,
        half: usize,
        is_visit: bool,
    ) {
        let device = u32::try_from(device).unwrap_or(u32::MAX);
        let process = u32::try_from(process).unwrap_or(u32::MAX);
        let place = self.counts.entry((device, offset / self.bytes));
        let (counts, is_own) = place.or_insert_with(|| Place::new(process)).of(process);
        if !is_own {
            *self.displaced.entry(process).or_default() += 1;
        }
        counts.ios[kind][half] = counts.ios[kind][half].saturating_add(1);
        counts.visits = counts.visits.saturating_add(u32::from(is_visit));
        if self.counts.len() > self.most {
            self.bytes *= 2;
            for ((device, at), place) in std::mem::take(&mut self.counts) {
                match self.counts.entry((device, at / 2)) {
                    Entry::Vacant(empty) => {
                        empty.insert(place);
                    }
                    Entry::Occupied(mut other) => {
                        let others = place.others.iter().flat_map(|others| others.iter());
                        let all = std::iter::once(&place.first).chain(others);
                        for (process, counts) in all {
                            let (into, is_own) = other.get_mut().of(*process);
                            into.join(counts);
                            if !is_own && *process != u32::MAX {
                                *self.displaced.entry(*process).or_default() += counts.ios.map(sum).iter().sum::<u64>();
                            }
                        }
                    }
                }
            }
        }
    }

    /// Places of these devices, by address: the counts of each process there.
    pub(super) fn of(&self, devices: &[usize]) -> Vec<impl Iterator<Item = (usize, &Counts)>> {
        let is_one = |device: u32| devices.iter().any(|one| u32::try_from(*one) == Ok(device));
        let mut found: Vec<_> = self.counts.iter().filter(|((device, _), _)| is_one(*device)).collect();
        found.sort_unstable_by_key(|(place, _)| **place);
        found.into_iter().map(|(_, place)| place.each()).collect()
    }

    /// I/Os of a process that were counted as [`LATER`] where they were.
    pub(super) fn displaced(&self, process: usize) -> u64 {
        u32::try_from(process).ok().and_then(|process| self.displaced.get(&process)).copied().unwrap_or(0)
    }

    /// I/Os of every place, the hottest first.
    pub(super) fn heat(&self) -> Vec<u64> {
        let ios = |place: &Place| place.each().flat_map(|(_, counts)| counts.ios).map(sum).sum();
        let mut heat: Vec<u64> = self.counts.values().map(ios).collect();
        heat.sort_unstable_by(|a, b| b.cmp(a));
        heat
    }
}

/// A number of places that are about equally hot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Zone {
    /// How many, those included that were not used yet but will be.
    pub(super) places: u64,
    /// Shares of all reads and of all writes that are in question, of each process.
    pub(super) shares: [f64; KINDS],
    /// Share of all together.
    pub(super) heat: f64,
}

impl Zone {
    /// Share of a place.
    fn density(&self) -> f64 {
        self.heat / self.places.max(1) as f64
    }

    fn join(&mut self, other: &Self) {
        self.places += other.places;
        self.heat += other.heat;
        for (into, from) in self.shares.iter_mut().zip(other.shares) {
            *into += from;
        }
    }
}

/// At most `most` zones that stand for places with these counts of reads and writes, the hottest first; no more than it
/// takes to come as `near` to the measured curve of hits.
pub(super) fn zones(places: &[Used], most: usize, near: f64) -> Vec<Zone> {
    let is_used = |used: &&Used| used.ios.iter().flatten().any(|count| *count > 0);
    let mut places: Vec<&Used> = places.iter().filter(is_used).collect();
    if places.is_empty() {
        return Vec::new();
    }
    // By address among equals: the second half has no part in the order.
    places.sort_by_key(|used| std::cmp::Reverse(used.ios.iter().map(|halves| u64::from(halves[0])).sum::<u64>()));
    let counted = |places: &[&Used]| {
        let mut counts = [0_u64; KINDS];
        for used in places {
            counts.iter_mut().zip(used.ios).for_each(|(count, halves)| *count += u64::from(halves[1]));
        }
        counts
    };
    let total = counted(&places);
    let all = total.iter().sum::<u64>().max(1) as f64;
    let mut upto = Vec::with_capacity(places.len() + 1);
    let mut ios = 0;
    upto.push(0.0);
    for used in &places {
        ios += used.ios.iter().map(|halves| u64::from(halves[1])).sum::<u64>();
        upto.push(ios as f64 / all);
    }
    let hits = |at: usize| upto[at];
    let share = |from: usize, to: usize| {
        let counts = counted(&places[from..to]);
        let part = |kind: usize| match total[kind] {
            0 => (to - from) as f64 / places.len() as f64,
            total => counts[kind] as f64 / total as f64,
        };
        std::array::from_fn(part)
    };
    let mut zones: Vec<Zone> = knots(places.len(), most, near, hits)
        .windows(2)
        .map(|pair| {
            let (from, to) = (pair[0], pair[1]);
            Zone { places: (to - from) as u64, shares: share(from, to), heat: hits(to) - hits(from) }
        })
        .collect();
    if let Some(last) = zones.last_mut() {
        last.places += unseen(&places);
    }
    // Places in which everything fell into the half that counts were ranked as cold.
    zones.sort_by(|a, b| b.density().total_cmp(&a.density()));
    let mut joined: Vec<Zone> = Vec::with_capacity(zones.len());
    for zone in zones {
        match joined.last_mut().filter(|last| last.density() < ALIKE * zone.density()) {
            Some(last) => last.join(&zone),
            None => joined.push(zone),
        }
    }
    joined
}

/// Where the curve of hits over `count` places is to be bent so that straight lines between come near to it.
fn knots(count: usize, most: usize, near: f64, hits: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut knots = vec![0, count];
    while knots.len() <= most {
        let farthest = knots.windows(2).filter_map(|pair| {
            let (from, to) = (pair[0], pair[1]);
            let slope = (hits(to) - hits(from)) / (to - from) as f64;
            let above = |at: usize| (hits(at) - hits(from) - slope * (at - from) as f64).abs();
            (from + 1..to).map(|at| (above(at), at)).max_by(|a, b| a.0.total_cmp(&b.0))
        });
        match farthest.max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((distance, at)) if distance > near => knots.push(at),
            _ => break,
        }
        knots.sort_unstable();
    }
    knots
}

/// Places that were not used but would be if it went on: Chao's estimate from those that were visited once and twice
/// (*Nonparametric estimation of the number of classes in a population*, 1984), at most as many as were used.
fn unseen(places: &[&Used]) -> u64 {
    let visited = |times: u32| places.iter().filter(|used| used.visits == Some(times)).count() as u64;
    let (once, twice) = (visited(1), visited(2));
    (once * once.saturating_sub(1) / (2 * (twice + 1))).min(places.len() as u64)
}
