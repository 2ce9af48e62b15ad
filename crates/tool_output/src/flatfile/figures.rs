//! Figures of an interval or of a whole run, as Vdbench prints them.

use quantity::histogram::Histogram;
use rates::cpu_time::CpuDelta;
use rates::{CpuPoint, cpu_share};
use recording::LoadPhase;
use recording::rows::Cpu;

/// Response times of one kind of operation, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    count: u64,
    sum: f64,
    /// Sum of squares, from the histogram's buckets; `None` when there is no distribution.
    squares: Option<f64>,
    max: Option<f64>,
}

impl Times {
    pub(super) fn of(histogram: &Histogram) -> Self {
        let squares = |(low, high, count): (u64, u64, u64)| {
            let middle = f64::midpoint(low as f64, high as f64 - 1.0);
            middle * middle * count as f64
        };
        Self {
            count: histogram.count(),
            sum: histogram.sum() as f64,
            squares: (!histogram.is_summary()).then(|| histogram.buckets().map(squares).sum()),
            max: histogram.max().map(|max| max as f64),
        }
    }

    fn and(self, other: Self) -> Self {
        let max = match (self.max, other.max) {
            (Some(a), Some(b)) => Some(a.max(b)),
            // One without a maximum says nothing only when it has operations.
            (a, b) if self.count == 0 || other.count == 0 => a.or(b),
            _ => None,
        };
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            squares: self.squares.zip(other.squares).map(|(a, b)| a + b),
            max,
        }
    }

    /// Mean in ms, 0 without operations as Vdbench prints it.
    pub(super) fn mean_ms(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 / 1e6 }
    }

    /// Maximum in ms; 0 without operations, `None` when it is not known.
    pub(super) fn max_ms(&self) -> Option<f64> {
        if self.count == 0 { Some(0.0) } else { self.max.map(|max| max / 1e6) }
    }

    /// Standard deviation in ms, of a sample as Vdbench's; `None` when it is not known.
    pub(super) fn deviation_ms(&self) -> Option<f64> {
        if self.count < 2 {
            return Some(0.0);
        }
        let count = self.count as f64;
        let variance = (self.squares? - self.sum * self.sum / count) / (count - 1.0);
        Some(variance.max(0.0).sqrt() / 1e6)
    }
}

/// Use of the CPUs, per cent of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuShare {
    pub(super) user: f64,
    pub(super) kernel: f64,
    /// `None`: the system does not count it.
    pub(super) wait: Option<f64>,
    pub(super) idle: f64,
}

impl CpuShare {
    /// Between two samples; interrupts are kernel time, nice is user time, idle is neither busy nor waiting. `None` where a
    /// time ran backwards other than idle and iowait, which do so by themselves: the CPUs began anew.
    pub(super) fn between(before: &Cpu, after: &Cpu) -> Option<Self> {
        let delta = CpuDelta::of(after, before);
        let percent = |part: f64| delta.percent(part);
        Some(Self {
            user: percent(delta.all_user())?,
            kernel: percent(delta.system.unwrap_or(0.0) + delta.all_irq())?,
            wait: delta.iowait.and_then(percent),
            idle: percent(delta.idle.unwrap_or(0.0))?,
        })
    }

    /// The mean over intervals (end and length, ns), that of the report: what is not known of one leaves its time out.
    pub(super) fn mean(points: &[CpuPoint], intervals: &[(i64, i64)]) -> Option<Self> {
        let mean = |of: fn(&CpuPoint) -> f64| cpu_share::mean(points, intervals.iter().copied(), of);
        Some(Self {
            user: mean(|point| point.user)?,
            kernel: mean(|point| point.system + point.irq)?,
            wait: mean(|point| point.iowait.unwrap_or(0.0))
                .filter(|_| points.iter().any(|point| point.iowait.is_some())),
            idle: mean(|point| (100.0 - point.busy() - point.iowait.unwrap_or(0.0)).max(0.0))?,
        })
    }

    /// User and kernel.
    pub(super) fn used(&self) -> f64 {
        self.user + self.kernel
    }
}

/// One kind of operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    pub(super) ops: i64,
    pub(super) bytes: i64,
    pub(super) times: Times,
}

/// One line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub(super) seconds: f64,
    pub(super) read: Side,
    pub(super) write: Side,
    /// Mean number in flight.
    pub(super) depth: Option<f64>,
    pub(super) cpu: Option<CpuShare>,
}

impl Figures {
    /// Of the length of the line; 0 where it has none.
    pub(super) fn per_second(&self, value: f64) -> f64 {
        if self.seconds > 0.0 { value / self.seconds } else { 0.0 }
    }

    fn ops(&self) -> f64 {
        (self.read.ops + self.write.ops) as f64
    }

    fn bytes(&self) -> f64 {
        (self.read.bytes + self.write.bytes) as f64
    }

    /// Reads and writes per second.
    pub(super) fn rate(&self) -> f64 {
        self.per_second(self.ops())
    }

    /// MiB per second.
    pub(super) fn mib_per_second(&self) -> f64 {
        self.per_second(self.bytes()) / 1_048_576.0
    }

    /// Mean bytes of an operation, cut to whole ones as Vdbench does.
    pub(super) fn bytes_per_op(&self) -> f64 {
        if self.ops() > 0.0 { (self.bytes() / self.ops()).floor() } else { 0.0 }
    }

    /// Reads, per cent.
    pub(super) fn read_percent(&self) -> f64 {
        if self.ops() > 0.0 { 100.0 * self.read.ops as f64 / self.ops() } else { 0.0 }
    }

    /// Reads and writes together.
    pub(super) fn times(&self) -> Times {
        self.read.times.and(self.write.times)
    }
}

/// Response times, or service times where only these were recorded (imports).
pub(super) fn known<'a>(response: &'a Histogram, service: &'a Histogram) -> &'a Histogram {
    if response.count() == 0 { service } else { response }
}

/// Does this phase count in averages?
pub(super) fn is_measured(phase: &LoadPhase) -> bool {
    matches!(phase, LoadPhase::Measure | LoadPhase::Format)
}
