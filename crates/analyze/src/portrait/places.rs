//! How often which place is used, and places of equal heat put together.

use std::collections::HashMap;

/// First size of a place: the regions of the analysis of traces.
const PLACE_BYTES: u64 = 1 << 20;
/// Most places; when there are more, two become one.
const PLACES: usize = 1 << 17;

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
    fn join(&mut self, other: &Self) {
        for (into, from) in self.ios.iter_mut().flatten().zip(other.ios.iter().flatten()) {
            *into = into.saturating_add(*from);
        }
        self.visits = self.visits.saturating_add(other.visits);
    }
}

/// What zones are made of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Reads and writes, in two halves.
    pub(super) ios: [[u32; 2]; 2],
    /// Visits; `None`: each place is known.
    pub(super) visits: Option<u32>,
}

/// Sum of both halves.
pub(super) fn sum(counts: [u32; 2]) -> u64 {
    u64::from(counts[0]) + u64::from(counts[1])
}

/// Counts of all places.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) bytes: u64,
    most: usize,
    counts: HashMap<(u32, u64), Counts>,
}

impl Places {
    pub(super) fn new(bytes: Option<u64>) -> Self {
        // What is compared with another must not become coarser than it.
        let most = if bytes.is_some() { 4 * PLACES } else { PLACES };
        Self { bytes: bytes.unwrap_or(PLACE_BYTES), most, counts: HashMap::new() }
    }

    /// Adds an I/O of a kind, in one of the halves; `is_visit`: it began something there.
    pub(super) fn add(&mut self, device: usize, offset: u64, kind: usize, half: usize, is_visit: bool) {
        let device = u32::try_from(device).unwrap_or(u32::MAX);
        let counts = self.counts.entry((device, offset / self.bytes)).or_default();
        counts.ios[kind][half] = counts.ios[kind][half].saturating_add(1);
        counts.visits = counts.visits.saturating_add(u32::from(is_visit));
        if self.counts.len() > self.most {
            self.bytes *= 2;
            for ((device, at), counts) in std::mem::take(&mut self.counts) {
                self.counts.entry((device, at / 2)).or_default().join(&counts);
            }
        }
    }

    /// Places of these devices, by address.
    pub(super) fn of(&self, devices: &[usize]) -> Vec<&Counts> {
        let is_one = |device: u32| devices.iter().any(|one| u32::try_from(*one) == Ok(device));
        let mut found: Vec<_> = self.counts.iter().filter(|((device, _), _)| is_one(*device)).collect();
        found.sort_unstable_by_key(|(place, _)| **place);
        found.into_iter().map(|(_, counts)| counts).collect()
    }

    /// I/Os of every place, the hottest first.
    pub(super) fn heat(&self) -> Vec<u64> {
        let mut heat: Vec<u64> =
            self.counts.values().map(|counts| counts.ios.iter().map(|count| sum(*count)).sum()).collect();
        heat.sort_unstable_by(|a, b| b.cmp(a));
        heat
    }
}

/// A number of places that are about equally hot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Zone {
    /// How many, those included that were not used yet but will be.
    pub(super) places: u64,
    /// Shares of all reads and of all writes that are in question.
    pub(super) shares: [f64; 2],
    /// Share of both together.
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
        self.shares = [self.shares[0] + other.shares[0], self.shares[1] + other.shares[1]];
    }
}

/// At most `most` zones that stand for places with these counts of reads and writes, the hottest first; no more than it
/// takes to come as `near` to the measured curve of hits.
pub(super) fn zones(mut places: Vec<Used>, most: usize, near: f64) -> Vec<Zone> {
    places.retain(|used| used.ios.iter().flatten().any(|count| *count > 0));
    if places.is_empty() {
        return Vec::new();
    }
    // By address among equals: the second half has no part in the order.
    places.sort_by_key(|used| std::cmp::Reverse(u64::from(used.ios[0][0]) + u64::from(used.ios[1][0])));
    let mut upto = Vec::with_capacity(places.len() + 1);
    let mut at = [0_u64; 2];
    upto.push(at);
    for used in &places {
        at[0] += u64::from(used.ios[0][1]);
        at[1] += u64::from(used.ios[1][1]);
        upto.push(at);
    }
    let total = at;
    let all = (total[0] + total[1]).max(1) as f64;
    let hits = |at: usize| (upto[at][0] + upto[at][1]) as f64 / all;
    let share = |from: usize, to: usize| {
        let part = |op: usize| match total[op] {
            0 => (to - from) as f64 / places.len() as f64,
            total => (upto[to][op] - upto[from][op]) as f64 / total as f64,
        };
        [part(0), part(1)]
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
fn unseen(places: &[Used]) -> u64 {
    let visited = |times: u32| places.iter().filter(|used| used.visits == Some(times)).count() as u64;
    let (once, twice) = (visited(1), visited(2));
    (once * once.saturating_sub(1) / (2 * (twice + 1))).min(places.len() as u64)
}
