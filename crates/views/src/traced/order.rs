//! What depends on the order of I/Os: sequential or random, arrivals, depth, and what went on around the slowest.

use quantity::histogram::HistogramMerger;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use workload::traced::rows::NumberedIo;
use workload::traced::streams::SequentialStreams;

/// Processes whose last address is remembered; all are forgotten when there are more.
const PROCESSES: usize = 1 << 16;
/// The slowest I/Os that are kept.
const SLOWEST: usize = 100;
/// Windows in which arrivals are counted, ns.
pub(super) const WINDOWS_NS: [i64; 3] = [10_000_000, 100_000_000, 1_000_000_000];

/// One device.
#[derive(Debug, Default)]
struct Device {
    /// Where its last I/O with data ended.
    end: i64,
    streams: SequentialStreams,
    /// Completions of those in flight; of those that were to the end of the trace, the greatest number.
    flying: BinaryHeap<Reverse<i64>>,
}

/// One of the slowest I/Os.
#[derive(Clone, Debug)]
pub(super) struct Slow {
    pub(super) row: NumberedIo,
    /// In flight on its device when it was queued.
    pub(super) depth: usize,
    /// I/Os of its device that were queued while it was in flight.
    pub(super) during: u64,
    /// Their bytes.
    pub(super) during_bytes: u64,
    /// Those of them that completed before it.
    pub(super) overtaken_by: u64,
    /// Flushes, discards and the like among them.
    pub(super) during_other: u64,
}

/// How evenly I/Os arrive, by counts in windows of one length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Windows {
    current: i64,
    count: f64,
    /// Windows that are over.
    pub(super) windows: f64,
    sum: f64,
    squares: f64,
    /// Greatest count.
    pub(super) peak: f64,
}

impl Windows {
    fn add(&mut self, window: i64) {
        if window > self.current {
            self.close();
            // Windows without any.
            self.windows += (window - self.current - 1) as f64;
            self.current = window;
        }
        self.count += 1.0;
    }

    /// Closes the last window, and those after it in which nothing came, of the `whole` that lie in the traced time.
    fn finish(&mut self, whole: i64) {
        self.close();
        self.windows += whole.saturating_sub(self.current).saturating_sub(1).max(0) as f64;
    }

    fn close(&mut self) {
        self.windows += 1.0;
        self.sum += self.count;
        self.squares += self.count * self.count;
        self.peak = self.peak.max(self.count);
        self.count = 0.0;
    }

    /// Mean count of a window.
    pub(super) fn mean(&self) -> f64 {
        self.sum / self.windows
    }

    /// Variance ÷ mean of the counts: 1 for arrivals that know nothing of each other, 0 for a clock's.
    pub(super) fn dispersion(&self) -> Option<f64> {
        let mean = self.mean();
        (self.windows >= 2.0 && mean > 0.0).then(|| (self.squares / self.windows - mean * mean) / mean)
    }
}

/// The fold.
#[derive(Debug, Default)]
pub(super) struct Order {
    devices: HashMap<usize, Device, ahash::RandomState>,
    processes: HashMap<(usize, i32), i64, ahash::RandomState>,
    /// Time between successive I/Os, all devices together.
    pub(super) gaps: HistogramMerger,
    /// Sum of the squares of these times, ns².
    pub(super) gap_squares: f64,
    last_ns: Option<i64>,
    /// From and to when is known to have been traced.
    span_ns: (i64, i64),
    pub(super) windows: [Windows; 3],
    /// When the trace ended.
    ended_ns: i64,
    /// How long it took or is on its way, had it no end, its number.
    slowest: BinaryHeap<Reverse<(u64, bool, u64)>>,
    slow: HashMap<u64, Slow, ahash::RandomState>,
    /// Candidates that are still in flight: end, number.
    watched: Vec<(i64, u64)>,
    number: u64,
}

/// Until when it was in flight: its end, or for ever. `None` where it had an end that was not seen.
fn gone_ns(row: &NumberedIo) -> Option<i64> {
    row.complete_ns.or(row.is_unfinished.then_some(i64::MAX))
}

impl Order {
    /// Of a trace that saw what came in `span_ns`, and ended then; `None`: not recorded.
    pub(super) fn new(span_ns: (i64, i64), ended_ns: Option<i64>) -> Self {
        Self { span_ns, ended_ns: ended_ns.unwrap_or(i64::MAX), ..Self::default() }
    }

    /// Adds an I/O. Did it continue a stream, its device's last, its process's last; and how many were in flight?
    pub(super) fn add(&mut self, row: &NumberedIo) -> ([bool; 3], usize) {
        self.arrive(row.queue_ns);
        let device = self.devices.entry(row.dev).or_default();
        while device.flying.peek().is_some_and(|Reverse(end_ns)| *end_ns <= row.queue_ns) {
            device.flying.pop();
        }
        let depth = device.flying.len();
        device.flying.extend(gone_ns(row).map(Reverse));
        let mut sequential = [false; 3];
        if row.bytes > 0 {
            sequential[1] = device.end == row.sector;
            device.end = row.end();
            sequential[0] = device.streams.continues(row);
            if self.processes.len() >= PROCESSES {
                self.processes.clear();
            }
            let before = self.processes.insert((row.dev, row.pid), row.end());
            sequential[2] = before == Some(row.sector);
        }
        self.watch(row, depth);
        (sequential, depth)
    }

    fn arrive(&mut self, queue_ns: i64) {
        if let Some(last_ns) = self.last_ns {
            let gap_ns = u64::try_from(queue_ns.saturating_sub(last_ns)).unwrap_or(0);
            self.gaps.record(gap_ns);
            self.gap_squares += gap_ns as f64 * gap_ns as f64;
        }
        // One that comes late must not make the time to the next one long.
        self.last_ns = self.last_ns.max(Some(queue_ns));
        for (windows, length_ns) in self.windows.iter_mut().zip(WINDOWS_NS) {
            windows.add(queue_ns.saturating_sub(self.span_ns.0) / length_ns);
        }
    }

    fn watch(&mut self, row: &NumberedIo, depth: usize) {
        self.number += 1;
        if !self.watched.is_empty() {
            self.watched.retain(|(end_ns, _)| *end_ns > row.queue_ns);
            for (end_ns, number) in &self.watched {
                if let Some(slow) = self.slow.get_mut(number).filter(|slow| slow.row.dev == row.dev) {
                    slow.during += 1;
                    slow.during_bytes += u64::try_from(row.bytes).unwrap_or(0);
                    slow.overtaken_by += u64::from(row.complete_ns.is_some_and(|complete_ns| complete_ns < *end_ns));
                    slow.during_other += u64::from(row.class == 2);
                }
            }
        }
        let Some(gone_ns) = gone_ns(row) else { return };
        let length_ns = self.length_ns(row);
        let is_faster = |Reverse((least, is_unfinished, _)): &Reverse<_>| {
            (length_ns, row.is_unfinished) <= (*least, *is_unfinished)
        };
        if self.slowest.len() >= SLOWEST && self.slowest.peek().is_some_and(is_faster) {
            return;
        }
        if self.slowest.len() >= SLOWEST
            && let Some(Reverse((_, _, number))) = self.slowest.pop()
        {
            self.slow.remove(&number);
            self.watched.retain(|watched| watched.1 != number);
        }
        self.slowest.push(Reverse((length_ns, row.is_unfinished, self.number)));
        self.watched.push((gone_ns, self.number));
        let slow = Slow { row: *row, depth, during: 0, during_bytes: 0, overtaken_by: 0, during_other: 0 };
        self.slow.insert(self.number, slow);
    }

    /// How long it took; of one that had no end, how long it was in flight when the trace ended, for ever where that
    /// time is not known.
    fn length_ns(&self, row: &NumberedIo) -> u64 {
        let end_ns = row.complete_ns.unwrap_or(self.ended_ns);
        u64::try_from(end_ns.saturating_sub(row.queue_ns)).unwrap_or(0)
    }

    /// The slowest first; ends the counting.
    pub(super) fn finish(&mut self) -> Vec<Slow> {
        let (from_ns, to_ns) = self.span_ns;
        for (windows, length_ns) in self.windows.iter_mut().zip(WINDOWS_NS) {
            windows.finish(to_ns.saturating_sub(from_ns) / length_ns);
        }
        let mut slow: Vec<Slow> = std::mem::take(&mut self.slow).into_values().collect();
        let key = |slow: &Slow| (self.length_ns(&slow.row), slow.row.is_unfinished);
        slow.sort_by_key(|slow| (Reverse(key(slow)), slow.row.queue_ns));
        slow
    }
}
