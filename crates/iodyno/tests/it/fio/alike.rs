//! How far what two programs did of the same job is apart.
//!
//! What is chosen by chance is compared by tests whose bounds are those of one in a million: 500 jobs of some tests each give a
//! false alarm once in hundreds of sweeps. What they are too coarse for in a single job, all jobs together show ([`Tally`]).

use super::random::{Alike, Made};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use testkit::BlockOp;

/// An operation as the device saw it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    /// R, W, T, F: read, write, trim, flush.
    pub(crate) op: char,
    pub(crate) at: u64,
    pub(crate) bytes: u64,
    /// Had to reach the medium.
    pub(crate) is_durable: bool,
}

impl Seen {
    pub(crate) fn new(op: BlockOp, at: u64, bytes: u64, is_durable: bool) -> Self {
        let op = match op {
            BlockOp::Read => 'R',
            BlockOp::Write => 'W',
            BlockOp::Trim | BlockOp::Zeroes => 'T',
            BlockOp::Flush => 'F',
            BlockOp::Other => '?',
        };
        Self { op, at, bytes, is_durable }
    }

    fn end(&self) -> u64 {
        self.at + self.bytes
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_durable { "!" } else { "" };
        write!(f, "{}{mark} {}+{}", self.op, self.at, self.bytes)
    }
}

/// Standard deviations that count as different: one in a million.
const SIGMAS: f64 = 4.9;

/// Sums over all jobs of what each differs by, in standard deviations.
#[derive(Default)]
pub(crate) struct Tally {
    sums: BTreeMap<&'static str, (f64, u32)>,
}

impl Tally {
    fn add(&mut self, what: &'static str, z: f64) {
        let (sum, count) = self.sums.entry(what).or_default();
        *sum += z;
        *count += 1;
    }

    /// What all jobs together are apart in, though none of them is.
    pub(crate) fn apart(&self) -> Vec<String> {
        let of = |(what, (sum, count)): (&&'static str, &(f64, u32))| {
            let z = sum / f64::from(*count).sqrt();
            (z.abs() > SIGMAS).then(|| format!("{what}: {z:.1} standard deviations over {count} jobs"))
        };
        self.sums.iter().filter_map(of).collect()
    }
}

/// What is different, in words.
pub(crate) fn difference(made: &Made, fio: &[Seen], ours: &[Seen], tally: &mut Tally) -> Option<String> {
    let kept = |all: &[Seen]| -> Vec<Seen> {
        let keeps = |seen: &&Seen| seen.op != 'F' || made.has_flushes;
        all.iter().filter(keeps).copied().collect()
    };
    let (fio, ours) = (kept(fio), kept(ours));
    if fio.is_empty() != ours.is_empty() {
        return Some(format!("{} and {} operations", fio.len(), ours.len()));
    }
    match made.alike {
        Alike::Sequence => sequences("", &fio, &ours, made.is_timed),
        Alike::Bag => {
            let sorted = |mut all: Vec<Seen>| {
                all.sort_unstable();
                all
            };
            sequences("sorted, ", &sorted(fio), &sorted(ours), false)
        }
        Alike::PerKind => {
            let of = |all: &[Seen], op| all.iter().filter(|seen| seen.op == op).copied().collect::<Vec<_>>();
            let kinds = ['R', 'W', 'T'].into_iter().find_map(|op| sequences("", &of(&fio, op), &of(&ours, op), true));
            kinds.or_else(|| amounts(made, &fio, &ours)).or_else(|| shares(&fio, &ours, tally))
        }
        Alike::Chance => amounts(made, &fio, &ours)
            .or_else(|| shares(&fio, &ours, tally))
            .or_else(|| sizes(&fio, &ours, tally))
            .or_else(|| places(made, &fio, &ours, tally)),
    }
}

/// The first operation that is another one; `is_open`: one of them may end earlier.
fn sequences(what: &str, fio: &[Seen], ours: &[Seen], is_open: bool) -> Option<String> {
    let common = fio.len().min(ours.len());
    let first = fio.iter().zip(ours).position(|(a, b)| a != b).unwrap_or(common);
    if first == common && (is_open || fio.len() == ours.len()) {
        return None;
    }
    let around = |all: &[Seen]| all[first.saturating_sub(2)..all.len().min(first + 3)].to_vec();
    Some(format!(
        "{what}{} and {} operations; around number {first}: fio {:?}, ours {:?}",
        fio.len(),
        ours.len(),
        around(fio),
        around(ours)
    ))
}

fn bytes(all: &[Seen]) -> u64 {
    all.iter().map(|seen| seen.bytes).sum()
}

fn amounts(made: &Made, fio: &[Seen], ours: &[Seen]) -> Option<String> {
    if made.may_end {
        // What follows the last place of the part ends a job by chance: the shorter one must have come there.
        let (short, long) = if fio.len() < ours.len() { (fio, ours) } else { (ours, fio) };
        let end = short.iter().chain(long).map(Seen::end).max();
        let came_there = short.last().map(Seen::end) == end;
        let is_short =
            if made.slack == 0 { short.len() != long.len() } else { bytes(fio).abs_diff(bytes(ours)) > made.slack };
        return (is_short && !came_there)
            .then(|| format!("{} and {} operations, and the shorter ends inside", fio.len(), ours.len()));
    }
    if made.is_counted && fio.len() != ours.len() {
        return Some(format!("{} and {} operations", fio.len(), ours.len()));
    }
    let (a, b) = (bytes(fio), bytes(ours));
    (!made.is_timed && made.slack < u64::MAX && a.abs_diff(b) > made.slack)
        .then(|| format!("{a} and {b} bytes in {} and {} operations", fio.len(), ours.len()))
}

/// How many of each kind, as two samples of one mix.
fn shares(fio: &[Seen], ours: &[Seen], tally: &mut Tally) -> Option<String> {
    let kind = |seen: &Seen| u64::from(u32::from(seen.op));
    let count = |all: &[Seen], op| all.iter().filter(|seen| seen.op == op).count();
    let (a, b) = (count(fio, 'R'), count(ours, 'R'));
    if (1..fio.len()).contains(&a) {
        tally.add("reads among all", two_shares((a, fio.len()), (b, ours.len())));
    }
    unlike(fio, ours, kind).map(|why| format!("kinds: {why}"))
}

fn sizes(fio: &[Seen], ours: &[Seen], tally: &mut Tally) -> Option<String> {
    let mean = |all: &[Seen]| moments(all.iter().map(|seen| seen.bytes as f64));
    if let Some(z) = two_means(mean(fio), mean(ours)) {
        tally.add("mean size", z);
    }
    let of = |all: &[Seen]| all.iter().map(|seen| seen.bytes).collect::<BTreeSet<_>>();
    let (a, b) = (of(fio), of(ours));
    // A size that one in forty has is seen by both.
    let is_common = |all: &[Seen], size: &u64| 40 * all.iter().filter(|seen| seen.bytes == *size).count() >= all.len();
    let unknown = |from: &BTreeSet<u64>, to: &BTreeSet<u64>, all: &[Seen]| {
        from.iter().find(|size| !to.contains(size) && all.len() >= 600 && is_common(all, size)).copied()
    };
    if let Some(size) = unknown(&a, &b, fio).or_else(|| unknown(&b, &a, ours)) {
        return Some(format!("{size} bytes are a size of one of them only"));
    }
    unlike(fio, ours, |seen| seen.bytes).map(|why| format!("sizes: {why}"))
}

fn places(made: &Made, fio: &[Seen], ours: &[Seen], tally: &mut Tally) -> Option<String> {
    let starts = |all: &[Seen]| all.iter().map(|seen| seen.at).collect::<BTreeSet<_>>();
    let (a, b) = (starts(fio), starts(ours));
    let grain = |all: &BTreeSet<u64>| all.iter().fold(0, |divisor, at| gcd(divisor, *at));
    let enough = a.len().min(b.len()) >= 40;
    if enough && grain(&a) != grain(&b) {
        return Some(format!("places are multiples of {} and {}", grain(&a), grain(&b)));
    }
    for (who, all) in [("fio", fio), ("we", ours)] {
        let mut visits: BTreeMap<u64, usize> = BTreeMap::new();
        all.iter().for_each(|seen| *visits.entry(seen.at).or_default() += 1);
        let most = visits.values().max().copied().unwrap_or(0);
        if made.most_visits.is_some_and(|allowed| most > allowed) {
            return Some(format!("{who} come {most} times to one place"));
        }
    }
    let follows = |all: &[Seen]| all.windows(2).filter(|pair| pair[0].end() == pair[1].at).count();
    let (n, m) = (fio.len(), ours.len());
    if made.may_end && n.min(m) >= 40 {
        let z = two_shares((follows(fio), n), (follows(ours), m));
        // Runs end where their length says: less by chance than this, never more.
        tally.add("operations that follow another", z);
        if z.abs() > SIGMAS {
            return Some(format!("{} of {n} and {} of {m} follow the one before", follows(fio), follows(ours)));
        }
        return None;
    }
    if made.is_scattered {
        // Where is chance, how often is not: fio's are a little hotter, because several fall together (docs/fio.md).
        let few = a.len().min(b.len()) as f64 / a.len().max(b.len()) as f64;
        let is_known = made.falls_together && a.len() < b.len();
        let is_apart = few < 0.6 && !is_known && n.min(m) >= 40 && a.len().abs_diff(b.len()) > 8;
        return is_apart.then(|| format!("{} and {} different places in {n} and {m} operations", a.len(), b.len()));
    }
    let all = |all: &[Seen]| moments(all.iter().map(|seen| seen.at as f64));
    if let Some(z) = two_means(all(fio), all(ours)) {
        tally.add("mean place", z);
    }
    let far = distance(fio, ours);
    let allowed = 2.7 * ((n + m) as f64 / (n as f64 * m as f64)).sqrt();
    (far > allowed).then(|| format!("places are spread otherwise (KS {far:.3}, allowed {allowed:.3})"))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Greatest distance between the distributions of places.
fn distance(fio: &[Seen], ours: &[Seen]) -> f64 {
    let sorted = |all: &[Seen]| {
        let mut starts: Vec<u64> = all.iter().map(|seen| seen.at).collect();
        starts.sort_unstable();
        starts
    };
    let (a, b) = (sorted(fio), sorted(ours));
    let upto = |all: &[u64], at: u64| all.partition_point(|start| *start <= at) as f64 / all.len() as f64;
    a.iter().chain(&b).map(|at| (upto(&a, *at) - upto(&b, *at)).abs()).fold(0.0, f64::max)
}

/// Count, mean, variance.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n.max(1.0);
    (n, mean, values.map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0))
}

/// The difference of two means in standard deviations; `None`: too few, or nothing varies.
fn two_means(a: (f64, f64, f64), b: (f64, f64, f64)) -> Option<f64> {
    let error = (a.2 / a.0.max(1.0) + b.2 / b.0.max(1.0)).sqrt();
    (a.0.min(b.0) >= 30.0 && error > 0.0).then(|| (a.1 - b.1) / error)
}

/// The difference of two shares in standard deviations.
fn two_shares(a: (usize, usize), b: (usize, usize)) -> f64 {
    let (x, n, y, m) = (a.0 as f64, a.1 as f64, b.0 as f64, b.1 as f64);
    let p = (x + y) / (n + m).max(1.0);
    let error = (p * (1.0 - p) * (1.0 / n.max(1.0) + 1.0 / m.max(1.0))).sqrt();
    if error > 0.0 { (x / n - y / m) / error } else { 0.0 }
}

/// Two samples of one distribution over classes? By chi-square; classes of few members count as one.
fn unlike(fio: &[Seen], ours: &[Seen], class: impl Fn(&Seen) -> u64) -> Option<String> {
    let mut counts: BTreeMap<u64, [f64; 2]> = BTreeMap::new();
    for (at, all) in [fio, ours].into_iter().enumerate() {
        all.iter().for_each(|seen| counts.entry(class(seen)).or_default()[at] += 1.0);
    }
    let (rare, mut cells): (Vec<_>, Vec<_>) = counts.into_values().partition(|[a, b]| a + b < 12.0);
    cells.extend((!rare.is_empty()).then(|| rare.iter().fold([0.0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]])));
    let (n, m) = (fio.len() as f64, ours.len() as f64);
    let free = cells.len() as f64 - 1.0;
    if free < 1.0 {
        return None;
    }
    let (to, from) = ((m / n).sqrt(), (n / m).sqrt());
    let chi2: f64 = cells.iter().map(|[a, b]| (to * a - from * b).powi(2) / (a + b)).sum();
    // Wilson and Hilferty: the cube root is nearly normal.
    let spread = 2.0 / (9.0 * free);
    let z = ((chi2 / free).cbrt() - (1.0 - spread)) / spread.sqrt();
    (z > SIGMAS).then(|| format!("{cells:?}, chi-square {chi2:.1} of {free} degrees of freedom"))
}

#[cfg(test)]
mod tests {
    use super::super::random::{Dice, Made};
    use super::*;

    fn job() -> Made {
        Made { sections: Vec::new(), alike: Alike::Chance, ..Made::default() }
    }

    /// Reads among writes, sizes and places by chance.
    fn sample(dice: &mut Dice, reads: u64, large: u64, low: u64) -> Vec<Seen> {
        let one = |dice: &mut Dice| {
            let op = if dice.roll(100) < reads { BlockOp::Read } else { BlockOp::Write };
            let bytes = if dice.roll(100) < large { 8192 } else { 4096 };
            let half = dice.roll(500) + if dice.roll(100) < low { 0 } else { 500 };
            Seen::new(op, half * 4096, bytes, false)
        };
        (0..200).map(|_| one(dice)).collect()
    }

    #[test]
    fn samples_of_one_job_are_alike_and_those_of_another_are_not() {
        let mut dice = Dice(5);
        let mut tally = Tally::default();
        let mut count = |other: [u64; 3]| {
            let is_apart = |dice: &mut Dice, tally: &mut Tally| {
                let (a, b) = (sample(dice, 50, 30, 50), sample(dice, other[0], other[1], other[2]));
                let (bytes, slack) = (bytes(&a).abs_diff(bytes(&b)), 1 << 30);
                assert!(bytes < slack);
                difference(&Made { slack, ..job() }, &a, &b, tally).is_some()
            };
            (0..400).filter(|_| is_apart(&mut dice, &mut tally)).count()
        };
        assert_eq!(count([50, 30, 50]), 0, "of one law");
        // So large a difference is found in 200 operations with nine in ten, where equal ones are taken for unequal once in a million.
        for other in [[86, 30, 50], [50, 68, 50], [50, 30, 90]] {
            assert!(count(other) > 360, "{other:?}: {}", count(other));
        }
        // What no single job shows, all of them do.
        let (mut same, mut apart) = (Tally::default(), Tally::default());
        for _ in 0..300 {
            let a = sample(&mut dice, 50, 30, 50);
            let made = Made { slack: 1 << 30, ..job() };
            assert_eq!(difference(&made, &a, &sample(&mut dice, 50, 30, 50), &mut same), None);
            difference(&made, &a, &sample(&mut dice, 54, 30, 50), &mut apart);
        }
        assert!(same.apart().is_empty() && apart.apart().len() == 1, "{:?} {:?}", same.apart(), apart.apart());
    }

    #[test]
    fn a_sequence_differs_by_one_operation() {
        let all: Vec<Seen> = (0..9).map(|at| Seen::new(BlockOp::Read, at * 512, 512, false)).collect();
        let exact = Made { alike: Alike::Sequence, ..job() };
        let mut tally = Tally::default();
        assert!(difference(&exact, &all, &all[..8], &mut tally).is_some());
        assert!(difference(&Made { is_timed: true, ..exact }, &all, &all[..8], &mut tally).is_none());
        let mut other = all.clone();
        other.swap(3, 5);
        let bag = Made { alike: Alike::Bag, ..job() };
        assert!(difference(&bag, &all, &other, &mut tally).is_none());
        other[1].is_durable = true;
        assert!(difference(&bag, &all, &other, &mut tally).is_some());
    }
}
