//! From two samples of a block device to what happened between them. Knows rows, record batches and counters, and nothing else
//! of this crate.
//!
//! Of `/proc/diskstats` ([kernel.org iostats](https://docs.kernel.org/admin-guide/iostats.html)): *operations* are reads, writes and discards, *bytes* are those of the same requests. Flushes move no data and count apart. Tools that
//! print one figure for all kinds (`tps` of `iostat -d`) have it in `any_ios`, which counts where no kind is known.

use crate::counter::{CounterStep, delta_of_32_bits, delta_opt, ratio};
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{Array as _, Int64Array, RecordBatch};
use recording::rows::Disk;

/// Bytes of a sector in `/proc/diskstats`, whatever those of the device are.
const SECTOR: f64 = 512.0;
/// The kernel prints times in whole milliseconds: a sum of them grew by up to so much more or less than it says.
const TICK_MS: f64 = 1.0;
/// Tools print the mean time of a request to a hundredth of a millisecond: it may be off by half of that.
const PRINTED_MS: f64 = 0.005;

/// Counters of the requests of one kind, of any unit; what a source does not count is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    ios: Option<i64>,
    merges: Option<i64>,
    sectors: Option<i64>,
    ticks_ms: Option<i64>,
}

/// Counters of one block device at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskCounters {
    /// When they were read, ns.
    pub t_ns: i64,
    read: Counts,
    write: Counts,
    discard: Counts,
    flush: Counts,
    any: Counts,
    io_ticks_ms: Option<i64>,
    weighted_ticks_ms: Option<i64>,
    in_flight: Option<i64>,
}

impl From<&Disk> for DiskCounters {
    fn from(row: &Disk) -> Self {
        let counts = |ios, merges, sectors, ticks_ms| Counts { ios, merges, sectors, ticks_ms };
        Self {
            t_ns: row.t_ns,
            read: counts(row.read_ios, row.read_merges, row.read_sectors, row.read_ticks_ms),
            write: counts(row.write_ios, row.write_merges, row.write_sectors, row.write_ticks_ms),
            discard: counts(row.discard_ios, row.discard_merges, row.discard_sectors, row.discard_ticks_ms),
            flush: counts(row.flush_ios, None, None, row.flush_ticks_ms),
            any: counts(row.any_ios, None, row.any_sectors, None),
            io_ticks_ms: row.io_ticks_ms,
            weighted_ticks_ms: row.weighted_ticks_ms,
            in_flight: row.in_flight,
        }
    }
}

/// Columns of a batch of `disk`, for those that read a few of them over a long time. A column that was not read is as if the
/// source did not count it.
pub struct DiskColumns<'a> {
    t_ns: Option<&'a Int64Array>,
    /// In the order of [`DiskColumns::OPS`], [`DiskColumns::BYTES`] and [`DiskColumns::TIMES`].
    counters: Vec<Option<&'a Int64Array>>,
}

impl<'a> DiskColumns<'a> {
    /// What operations are counted in.
    pub const OPS: [&'static str; 4] = ["read_ios", "write_ios", "discard_ios", "any_ios"];
    /// What bytes are counted in.
    pub const BYTES: [&'static str; 4] = ["read_sectors", "write_sectors", "discard_sectors", "any_sectors"];
    /// What times are counted in.
    pub const TIMES: [&'static str; 5] =
        ["read_ticks_ms", "write_ticks_ms", "discard_ticks_ms", "io_ticks_ms", "weighted_ticks_ms"];

    /// Those of a batch.
    pub fn of(batch: &'a RecordBatch) -> Self {
        let column = |name: &str| batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
        let names = Self::OPS.iter().chain(&Self::BYTES).chain(&Self::TIMES);
        Self { t_ns: column("t_ns"), counters: names.map(|name| column(name)).collect() }
    }

    /// Counters of a row.
    pub fn at(&self, row: usize) -> DiskCounters {
        let value =
            |column: Option<&Int64Array>| column.filter(|column| column.is_valid(row)).map(|column| column.value(row));
        let at = |place: usize| self.counters.get(place).copied().flatten().and_then(|column| value(Some(column)));
        let counts = |kind: usize, ticks: Option<usize>| Counts {
            ios: at(kind),
            merges: None,
            sectors: at(4 + kind),
            ticks_ms: ticks.and_then(at),
        };
        DiskCounters {
            t_ns: value(self.t_ns).unwrap_or(0),
            read: counts(0, Some(8)),
            write: counts(1, Some(9)),
            discard: counts(2, Some(10)),
            any: counts(3, None),
            io_ticks_ms: at(11),
            weighted_ticks_ms: at(12),
            ..DiskCounters::default()
        }
    }
}

/// Requests of one kind between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KindDelta {
    /// Completed.
    pub ios: Option<f64>,
    /// Merged into others before they were issued.
    pub merges: Option<f64>,
    /// Bytes moved, or discarded.
    pub bytes: Option<f64>,
    /// Time that all of them took together, from queue to completion.
    pub ticks_ms: Option<f64>,
}

/// A block device between two samples. What its source does not count is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskDelta {
    /// Length of the interval.
    pub seconds: f64,
    /// Reads.
    pub read: KindDelta,
    /// Writes.
    pub write: KindDelta,
    /// Discards.
    pub discard: KindDelta,
    /// Flushes.
    pub flush: KindDelta,
    /// Of all kinds, where the source does not tell them apart.
    any: KindDelta,
    io_ms: Option<f64>,
    weighted_ms: Option<f64>,
    /// Another tool's printed figures, to its digits.
    is_printed: bool,
}

impl DiskDelta {
    /// From one sample to the next. `None` where no time passed, and where a counter of requests or sectors fell or is
    /// in one of the two samples only: the device began anew, and what it did in between is not known.
    pub fn of(now: &Disk, before: &Disk) -> Option<Self> {
        Self::between(&now.into(), &before.into())
    }

    /// The same, of a step.
    pub fn of_step(step: &CounterStep<'_, Disk>) -> Option<Self> {
        Self::over(step.seconds, &step.now.into(), step.before.map(Into::into).as_ref())
    }

    /// The same, of counters.
    pub fn between(now: &DiskCounters, before: &DiskCounters) -> Option<Self> {
        Self::over((now.t_ns - before.t_ns) as f64 / 1e9, now, Some(before))
    }

    /// Over so many seconds; `before` is `None` for the mean since boot, when all counters were 0.
    pub fn over(seconds: f64, now: &DiskCounters, before: Option<&DiskCounters>) -> Option<Self> {
        (seconds > 0.0).then_some(())?;
        let kind = |of: fn(&DiskCounters) -> Counts| {
            let (now, before) = (of(now), before.map(of));
            let count = |of: fn(Counts) -> Option<i64>| match (of(now), before.map_or(of(now).map(|_| 0), of)) {
                (None, None) => Some(None),
                (now, was) => delta_opt(now, was).map(Some),
            };
            // `/proc/diskstats` prints times in 32 bits of ms, which 50 days of one request in flight go round.
            let ticks_ms = delta_of_32_bits(now.ticks_ms, before.map_or(Some(0), |before| before.ticks_ms));
            Some(KindDelta {
                ios: count(|counts| counts.ios)?,
                merges: count(|counts| counts.merges).flatten(),
                bytes: count(|counts| counts.sectors)?.map(|sectors| sectors * SECTOR),
                ticks_ms,
            })
        };
        let time = |of: fn(&DiskCounters) -> Option<i64>| delta_of_32_bits(of(now), before.map_or(Some(0), of));
        Some(Self {
            seconds,
            read: kind(|counters| counters.read)?,
            write: kind(|counters| counters.write)?,
            discard: kind(|counters| counters.discard)?,
            flush: kind(|counters| counters.flush)?,
            any: kind(|counters| counters.any)?,
            io_ms: time(|counters| counters.io_ticks_ms),
            weighted_ms: time(|counters| counters.weighted_ticks_ms),
            // The kernel tells how many are in flight wherever it tells anything.
            is_printed: now.in_flight.is_none(),
        })
    }

    /// Reads, writes and discards, in this order.
    fn moving(&self) -> [&KindDelta; 3] {
        [&self.read, &self.write, &self.discard]
    }

    /// Operations completed: reads, writes and discards; of all kinds where none is known.
    pub fn ops(&self) -> Option<f64> {
        sum(self.moving().map(|kind| kind.ios)).or(self.any.ios)
    }

    /// Does the source count all kinds of operations together?
    pub fn is_of_any_kind(&self) -> bool {
        self.moving().iter().all(|kind| kind.ios.is_none())
    }

    /// Requests completed, flushes too.
    pub fn completions(&self) -> Option<f64> {
        Some(self.ops()? + self.flush.ios.unwrap_or(0.0))
    }

    /// Bytes of these operations.
    pub fn bytes(&self) -> Option<f64> {
        sum(self.moving().map(|kind| kind.bytes)).or(self.any.bytes)
    }

    /// Bytes, where the source does not tell of which kind.
    pub fn bytes_of_any_kind(&self) -> Option<f64> {
        self.any.bytes.filter(|_| self.moving().iter().all(|kind| kind.bytes.is_none()))
    }

    /// `value` per second.
    pub fn per_s(&self, value: Option<f64>) -> Option<f64> {
        value.map(|value| value / self.seconds)
    }

    /// Bytes of an operation.
    pub fn mean_bytes(&self) -> Option<f64> {
        ratio(self.bytes()?, self.ops()?)
    }

    /// Time that all operations took together; `None` where that of one kind is not known.
    pub fn total_latency_ms(&self) -> Option<f64> {
        // By Little's law, where the source has only the queue, as iostat of Solaris.
        self.latency_by_kind_ms().or(self.weighted_ms)
    }

    fn latency_by_kind_ms(&self) -> Option<f64> {
        let is_known = |kind: &&KindDelta| kind.ticks_ms.is_some() || kind.ios.unwrap_or(0.0) == 0.0;
        sum(self.moving().map(|kind| kind.ticks_ms)).filter(|_| self.moving().iter().all(is_known))
    }

    /// Mean time of an operation in queue and device; `None` when none completed.
    pub fn mean_await_ns(&self) -> Option<f64> {
        ratio(self.total_latency_ms()? * 1e6, self.ops()?)
    }

    /// By so much [`Self::total_latency_ms`] may be off because times are counted in steps; what one interval has too little, the next
    /// has too much.
    pub fn tick_error_ms(&self) -> f64 {
        TICK_MS * self.moving().iter().filter(|kind| kind.ios.unwrap_or(0.0) > 0.0).count().max(1) as f64
    }

    /// By so much it may be off because another tool printed so few digits, in each interval.
    pub fn rounding_error_ms(&self) -> f64 {
        if self.is_printed { PRINTED_MS * self.ops().unwrap_or(0.0) } else { 0.0 }
    }

    /// Mean number of requests in queue and device; `None` where the time of one kind is not known, nor that of all.
    pub fn mean_queue_depth(&self) -> Option<f64> {
        self.weighted_ms.or_else(|| self.latency_by_kind_ms()).map(|ms| ms / 1e3 / self.seconds)
    }

    /// Part of the time with a request in flight, per cent; not saturation.
    pub fn busy_percent(&self) -> Option<f64> {
        self.io_ms.map(|ms| (ms / 10.0 / self.seconds).min(100.0))
    }
}

/// Of what is known; `None` where nothing is.
fn sum<const N: usize>(parts: [Option<f64>; N]) -> Option<f64> {
    parts.into_iter().flatten().reduce(|sum, part| sum + part)
}

/// `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`.
pub fn is_partition(device: &str, whole: &str) -> bool {
    let Some(rest) = device.strip_prefix(whole) else { return false };
    let digits = if whole.ends_with(|last: char| last.is_ascii_digit()) { rest.strip_prefix('p') } else { Some(rest) };
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
