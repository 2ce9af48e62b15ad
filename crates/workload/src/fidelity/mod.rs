//! How faithful a replay was: what should have been issued, and when, against what the kernel saw.
//!
//! The k-th occurrence of an operation (target, kind, address, length) in the trace is held against the k-th in the
//! replay. Memory grows with what was not found, not with the length of the trace.

mod difference;
mod distance;
mod verdict;

pub use difference::FidelityDifference;
pub use distance::{correlation, distance};
pub use verdict::{FidelityMeasure, FidelityVerdict, ReplayCircumstances};

use quantity::histogram::HistogramMerger;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

/// Errors that are kept to take percentiles from; of more, a sample.
const KEPT: usize = 1 << 20;
/// Width of the bins in which I/Os are counted, ns.
pub const BIN_NS: u64 = 100_000_000;
/// Bins of a second.
const SECOND_BINS: usize = 10;
/// Sub-buckets per octave, as a power of two.
const FINE: u32 = 7;

/// An operation, without its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperationKey {
    /// Number of its target.
    pub target: u32,
    /// 0 read, 1 write, 2 discard, 3 flush, 4 write of zeroes.
    pub op: u8,
    /// First byte.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
}

/// What is counted of one side.
#[derive(Debug)]
pub struct FidelitySide {
    /// I/Os by kind.
    pub ops: [u64; 5],
    /// Bytes.
    pub bytes: u64,
    /// Time of the first and of the last, ns.
    pub first_ns: Option<i64>,
    /// See `first_ns`.
    pub last_ns: i64,
    /// I/Os per bin of [`BIN_NS`].
    pub bins: Vec<u32>,
    /// Times between one and the next.
    pub gaps: HistogramMerger,
    /// Response times.
    pub response: HistogramMerger,
    /// I/Os whose end is not known: they count like any other, and have no response time.
    pub unended: u64,
    /// In flight when one was queued.
    pub depth: HistogramMerger,
    flying: BinaryHeap<Reverse<i64>>,
}

impl Default for FidelitySide {
    fn default() -> Self {
        let fine = || HistogramMerger::with_sub_bits(FINE);
        Self {
            ops: [0; 5],
            bytes: 0,
            first_ns: None,
            last_ns: 0,
            bins: Vec::new(),
            gaps: fine(),
            response: fine(),
            unended: 0,
            depth: fine(),
            flying: BinaryHeap::new(),
        }
    }
}

impl FidelitySide {
    /// I/Os.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ops.iter().sum()
    }

    /// From the first to the last, ns.
    #[must_use]
    pub fn length_ns(&self) -> i64 {
        self.first_ns.map_or(0, |first| self.last_ns - first)
    }

    fn add(&mut self, key: &OperationKey, t_ns: i64, response_ns: Option<u64>) {
        self.ops[usize::from(key.op.min(4))] += 1;
        self.bytes += u64::from(key.bytes);
        if self.first_ns.is_some() {
            self.gaps.record(u64::try_from(t_ns - self.last_ns).unwrap_or(0));
        }
        self.first_ns = Some(self.first_ns.map_or(t_ns, |first| first.min(t_ns)));
        self.last_ns = self.last_ns.max(t_ns);
        let bin = usize::try_from(t_ns.max(0).unsigned_abs() / BIN_NS).unwrap_or(usize::MAX).min(1 << 26);
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.unended += u64::from(response_ns.is_none());
        if let Some(response_ns) = response_ns {
            while self.flying.peek().is_some_and(|Reverse(end_ns)| *end_ns <= t_ns) {
                self.flying.pop();
            }
            self.depth.record(self.flying.len() as u64);
            self.flying.push(Reverse(t_ns.saturating_add_unsigned(response_ns)));
            self.response.record(response_ns);
        }
    }
}

/// One second of both sides.
#[derive(Debug)]
pub struct FidelitySecond {
    /// Issue-time errors of I/Os due in it, ns: those issued too early count as on time.
    pub late: HistogramMerger,
    /// Response times of the trace.
    pub source_response: HistogramMerger,
    /// Response times of the replay.
    pub response: HistogramMerger,
    /// Bytes of the trace, and of the replay.
    pub bytes: [u64; 2],
    /// I/Os of the trace, and of the replay.
    pub ios: [u64; 2],
}

impl Default for FidelitySecond {
    fn default() -> Self {
        let (late, source_response, response) =
            (HistogramMerger::default(), HistogramMerger::default(), HistogramMerger::default());
        Self { late, source_response, response, bytes: [0; 2], ios: [0; 2] }
    }
}

/// The comparison under way.
#[derive(Debug, Default)]
pub struct FidelityComparison {
    /// What should have happened.
    pub source: FidelitySide,
    /// What happened.
    pub replay: FidelitySide,
    /// By second of the run.
    pub seconds: BTreeMap<u64, FidelitySecond>,
    /// Found in both.
    pub matched: u64,
    /// Pairs of neighbours in the replay that stand the other way round in the trace.
    pub inversions: u64,
    missing: HashMap<OperationKey, VecDeque<(u64, u64)>>,
    extra: HashMap<OperationKey, VecDeque<i64>>,
    errors: Vec<i64>,
    sampled: u64,
    number: u64,
    last: u64,
}

impl FidelityComparison {
    fn second(&mut self, t_ns: i64) -> &mut FidelitySecond {
        self.seconds.entry(t_ns.max(0).unsigned_abs() / 1_000_000_000).or_default()
    }

    /// An operation of the trace, due `due_ns` after the run's start.
    pub fn expect(&mut self, key: OperationKey, due_ns: u64, response_ns: Option<u64>) {
        let t_ns = due_ns.cast_signed();
        self.source.add(&key, t_ns, response_ns);
        let second = self.second(t_ns);
        second.ios[0] += 1;
        second.bytes[0] += u64::from(key.bytes);
        if let Some(response_ns) = response_ns {
            second.source_response.record(response_ns);
        }
        self.number += 1;
        let number = self.number;
        let waiting = self.extra.get_mut(&key);
        let found = waiting.and_then(|waiting| Some((waiting.pop_front()?, waiting.is_empty())));
        match found {
            Some((t_ns, is_last)) => {
                if is_last {
                    self.extra.remove(&key);
                }
                self.pair(number, due_ns, t_ns);
            }
            None => self.missing.entry(key).or_default().push_back((number, due_ns)),
        }
    }

    /// An operation that the kernel saw `t_ns` after the run's start; give them in the order of queueing.
    pub fn observe(&mut self, key: OperationKey, t_ns: i64, response_ns: Option<u64>) {
        self.replay.add(&key, t_ns, response_ns);
        let second = self.second(t_ns);
        second.ios[1] += 1;
        second.bytes[1] += u64::from(key.bytes);
        if let Some(response_ns) = response_ns {
            second.response.record(response_ns);
        }
        let waiting = self.missing.get_mut(&key);
        let found = waiting.and_then(|waiting| Some((waiting.pop_front()?, waiting.is_empty())));
        match found {
            Some(((number, due_ns), is_last)) => {
                if is_last {
                    self.missing.remove(&key);
                }
                self.pair(number, due_ns, t_ns);
            }
            None => self.extra.entry(key).or_default().push_back(t_ns),
        }
    }

    fn pair(&mut self, number: u64, due_ns: u64, t_ns: i64) {
        self.matched += 1;
        self.inversions += u64::from(number < self.last);
        self.last = number;
        let error = t_ns - due_ns.cast_signed();
        self.second(due_ns.cast_signed()).late.record(u64::try_from(error).unwrap_or(0));
        if self.errors.len() < KEPT {
            self.errors.push(error);
            return;
        }
        // Each of all so far is kept with the same chance; the multiplication scatters the numbers.
        self.sampled += 1;
        let all = KEPT as u64 + self.sampled;
        let dice = self.sampled.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let place = usize::try_from((u128::from(dice) * u128::from(all)) >> 64).unwrap_or(usize::MAX);
        if let Some(kept) = self.errors.get_mut(place) {
            *kept = error;
        }
    }

    /// In the trace and not in the replay.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.missing.values().map(|waiting| waiting.len() as u64).sum()
    }

    /// In the replay and not in the trace.
    #[must_use]
    pub fn extra(&self) -> u64 {
        self.extra.values().map(|waiting| waiting.len() as u64).sum()
    }

    /// Issue-time errors (the kernel's queueing − due), sorted, ns; of more than a million a sample.
    #[must_use]
    pub fn errors(&self) -> Vec<i64> {
        let mut errors = self.errors.clone();
        errors.sort_unstable();
        errors
    }

    /// I/Os per second (`seconds`) or per [`BIN_NS`] of trace and replay, without the last, which is not whole.
    #[must_use]
    pub fn rates(&self, seconds: bool) -> (Vec<f64>, Vec<f64>) {
        let step = if seconds { SECOND_BINS } else { 1 };
        let bins = self.source.bins.len().max(self.replay.bins.len());
        let sum = |side: &FidelitySide| -> Vec<f64> {
            (0..bins / step)
                .map(|at| side.bins.iter().skip(at * step).take(step).map(|count| f64::from(*count)).sum())
                .collect()
        };
        (sum(&self.source), sum(&self.replay))
    }
}

#[cfg(test)]
mod tests;
