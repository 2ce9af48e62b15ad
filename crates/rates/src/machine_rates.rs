//! From cumulative counters of CPUs and devices to rates between successive samples.

use crate::counter::CounterStep;
use crate::cpu_time::CpuDelta;
use crate::disk::DiskDelta;
use crate::memory::{neither_free_nor_cached, swap_used, used};
use crate::net::NetDelta;
use crate::zfs::PoolRates;
use recording::rows::{Cpu, Disk, Figure, Memory, Net, Pressure, RunQueue, System, ZfsPool};
use std::collections::{BTreeMap, BTreeSet};
use view::NamePattern;

/// Use of the CPUs between two samples, per cent of all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuPoint {
    /// End, ns.
    pub t_ns: i64,
    /// Length of the interval, ns.
    pub length_ns: i64,
    /// User and nice.
    pub user: f64,
    /// System.
    pub system: f64,
    /// Interrupts and soft interrupts.
    pub irq: f64,
    /// Stolen by the hypervisor.
    pub steal: Option<f64>,
    /// Idle with I/O outstanding; `None` where the system does not count it.
    pub iowait: Option<f64>,
    /// Busy share of the busiest single CPU, stolen time included; `None` when CPUs were not sampled singly.
    pub busiest: Option<f64>,
}

impl CpuPoint {
    /// What this machine used: user, system and interrupts.
    #[must_use]
    pub fn used(&self) -> f64 {
        self.user + self.system + self.irq
    }

    /// CPU time that other programs could not use: that of [`Self::used`], and what the hypervisor took away.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.used() + self.steal.unwrap_or(0.0)
    }
}

/// A device between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskPoint {
    /// End, ns.
    pub t_ns: i64,
    /// Length of the interval, ns.
    pub length_ns: i64,
    /// Reads per second.
    pub reads: Option<f64>,
    /// Writes per second.
    pub writes: Option<f64>,
    /// Discards per second.
    pub discards: Option<f64>,
    /// Requests of all kinds per second, where the source does not split them by kind.
    pub all: Option<f64>,
    /// Bytes read per second.
    pub read_bytes: Option<f64>,
    /// Bytes written per second.
    pub write_bytes: Option<f64>,
    /// Bytes discarded per second.
    pub discard_bytes: Option<f64>,
    /// Bytes of all kinds per second, where the source does not split them by kind.
    pub all_bytes: Option<f64>,
    /// Mean time of a request in the device's queue and the device, ns; `None` when there was none.
    pub response_ns: Option<f64>,
    /// Mean number of requests in the queue and the device.
    pub queue: Option<f64>,
    /// Share of the time with at least one request, per cent; not saturation.
    pub busy: Option<f64>,
}

impl DiskPoint {
    /// Bytes per second of all kinds; `None` where none is known.
    #[must_use]
    pub fn bytes(&self) -> Option<f64> {
        sum([self.read_bytes, self.write_bytes, self.discard_bytes, self.all_bytes])
    }

    /// Requests per second of all kinds but flushes; `None` where none is known.
    #[must_use]
    pub fn requests(&self) -> Option<f64> {
        sum([self.reads, self.writes, self.discards, self.all])
    }
}

/// An interface between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetPoint {
    /// End, ns.
    pub t_ns: i64,
    /// Length of the interval, ns.
    pub length_ns: i64,
    /// Bytes received per second.
    pub rx_bytes: Option<f64>,
    /// Bytes sent per second.
    pub tx_bytes: Option<f64>,
    /// Packets received per second.
    pub rx_packets: Option<f64>,
    /// Packets sent per second.
    pub tx_packets: Option<f64>,
}

impl NetPoint {
    /// Bytes per second in both directions; `None` where one of them is not known: half of a sum would pass for the whole.
    #[must_use]
    pub fn bytes(&self) -> Option<f64> {
        Some(self.rx_bytes? + self.tx_bytes?)
    }
}

/// A pool between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoolPoint {
    /// End, ns.
    pub t_ns: i64,
    /// Bytes read per second.
    pub read_bytes: Option<f64>,
    /// Bytes written per second.
    pub write_bytes: Option<f64>,
}

impl PoolPoint {
    /// Bytes per second in both directions; `None` where neither is known.
    #[must_use]
    pub fn bytes(&self) -> Option<f64> {
        sum([self.read_bytes, self.write_bytes])
    }
}

/// Memory at a sample, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryPoint {
    /// When, ns.
    pub t_ns: i64,
    /// What programs and the kernel have and would not give back: all but what is available.
    pub used: Option<f64>,
    /// The same as well as it can be said where the source does not tell what is available: all but what is free, and the page cache.
    pub neither_free_nor_cached: Option<f64>,
    /// Page cache.
    pub cached: Option<f64>,
    /// Changed and not on the disk yet.
    pub dirty: Option<f64>,
    /// Swap in use.
    pub swapped: Option<f64>,
}

/// Tasks at a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TasksPoint {
    /// When, ns.
    pub t_ns: i64,
    /// Those that ran or could have run.
    pub runnable: Option<f64>,
    /// Those that waited for I/O without being interruptible.
    pub blocked: Option<f64>,
}

/// How long tasks waited for a CPU in an interval, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WaitPoint {
    /// End, ns.
    pub t_ns: i64,
    /// Half of them no longer.
    pub p50: Option<f64>,
    /// 99 % of them no longer.
    pub p99: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
}

/// Pressure of a resource between two samples, per cent of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PressurePoint {
    /// End, ns.
    pub t_ns: i64,
    /// At least one task waited for it.
    pub some: Option<f64>,
    /// All tasks that were not idle did.
    pub full: Option<f64>,
}

/// Of what is known; `None` where nothing is.
fn sum<const N: usize>(parts: [Option<f64>; N]) -> Option<f64> {
    parts.into_iter().flatten().reduce(|sum, part| sum + part)
}

/// A sample so soon after the one before says nothing of its own where the step before was ten times as long, ns: five
/// ticks of a clock of 100 Hz.
const AT_ONCE_NS: i64 = 50_000_000;

/// Rows of a sample are read within so much time, ns.
const SAMPLE_NS: i64 = 100_000_000;

/// The samples before, by name: rows are read one after the other, and only the last two of each thing are kept.
struct Before<R> {
    last: BTreeMap<String, Last<R>>,
    name: fn(&R) -> &str,
    t_ns: fn(&R) -> i64,
    /// Number and begin of the newest sample.
    sample: (usize, i64),
    /// The row taken last is of something that was not in the sample before, but in an earlier one.
    is_back: bool,
}

/// What was seen last of a thing.
struct Last<R> {
    row: R,
    before: Option<R>,
    step_ns: i64,
    sample: usize,
}

impl<R> Before<R> {
    fn new(name: fn(&R) -> &str, t_ns: fn(&R) -> i64) -> Self {
        Self { last: BTreeMap::new(), name, t_ns, sample: (0, i64::MIN), is_back: false }
    }

    /// The sample that a row belongs to: what comes again, or much later than the first, begins the next one.
    fn sample_of(&mut self, row: &R) -> usize {
        let t_ns = (self.t_ns)(row);
        let (newest, began_ns) = self.sample;
        if t_ns < began_ns {
            // What is new has a row of the sample before in the same commit.
            return newest.saturating_sub(1);
        }
        let is_again = self.last.get((self.name)(row)).is_some_and(|last| last.sample == newest);
        if is_again || t_ns.saturating_sub(began_ns) >= SAMPLE_NS {
            self.sample = (newest + 1, t_ns);
        }
        self.sample.0
    }

    /// This sample and the one before it. One that follows at once, as the last of a recording may, is left to the next: a rate
    /// over so little is chance. After a gap, and between the samples that thinning keeps around a peak, a short step is
    /// an interval like any other. A thing that was missing in between has no interval: it may
    /// be another one, and when it did what it counted is not known.
    fn of(&mut self, row: R) -> Option<(&R, &R)> {
        let sample = self.sample_of(&row);
        self.is_back = false;
        if !self.last.contains_key((self.name)(&row)) {
            self.last.insert((self.name)(&row).to_string(), Last { row, before: None, step_ns: 0, sample });
            return None;
        }
        let last = self.last.get_mut((self.name)(&row))?;
        let new_ns = (self.t_ns)(&row) - (self.t_ns)(&last.row);
        self.is_back = std::mem::replace(&mut last.sample, sample) + 1 < sample;
        if self.is_back {
            *last = Last { row, before: None, step_ns: 0, sample };
            return None;
        }
        if (0..=AT_ONCE_NS.min(last.step_ns / 10)).contains(&new_ns) {
            return None;
        }
        last.step_ns = new_ns.max(0);
        let before = last.before.insert(std::mem::replace(&mut last.row, row));
        (new_ns > 0).then_some((&last.row, &*before))
    }
}

/// Rates between successive samples of all CPUs, or the mean of those that have such a name (`cpu0`, or only `0`).
pub fn cpu(rows: impl Iterator<Item = Cpu>, names: Option<&NamePattern>) -> Vec<CpuPoint> {
    let Some(names) = names else { return all_cpus(rows) };
    let mut last = Before::new(|row: &Cpu| &row.cpu, |row| row.t_ns);
    let mut sums: BTreeMap<i64, (CpuPoint, f64)> = BTreeMap::new();
    let is_one = |row: &Cpu| row.cpu != "all" && (names.admits(&row.cpu) || names.admits(&format!("cpu{}", row.cpu)));
    for row in rows.filter(is_one) {
        let Some((row, before)) = last.of(row) else { continue };
        let Some(of) = shares(row, before) else { continue };
        let (sum, count) = sums.entry(row.t_ns).or_default();
        *count += 1.0;
        sum.length_ns = of.length_ns;
        sum.user += of.user;
        sum.system += of.system;
        sum.irq += of.irq;
        sum.iowait = of.iowait.map(|iowait| sum.iowait.unwrap_or(0.0) + iowait).or(sum.iowait);
        sum.steal = of.steal.map(|steal| sum.steal.unwrap_or(0.0) + steal).or(sum.steal);
        sum.busiest = Some(sum.busiest.unwrap_or(0.0).max(of.busy()));
    }
    let mean = |(t_ns, (sum, count)): (i64, (CpuPoint, f64))| CpuPoint {
        t_ns,
        length_ns: sum.length_ns,
        user: sum.user / count,
        system: sum.system / count,
        irq: sum.irq / count,
        iowait: sum.iowait.map(|iowait| iowait / count),
        steal: sum.steal.map(|steal| steal / count),
        busiest: sum.busiest,
    };
    sums.into_iter().map(mean).collect()
}

fn all_cpus(rows: impl Iterator<Item = Cpu>) -> Vec<CpuPoint> {
    let mut last = Before::new(|row: &Cpu| &row.cpu, |row| row.t_ns);
    let mut points: Vec<CpuPoint> = Vec::new();
    let mut busiest: BTreeMap<i64, f64> = BTreeMap::new();
    for row in rows {
        let Some((row, before)) = last.of(row) else { continue };
        let Some(shares) = shares(row, before) else { continue };
        if row.cpu == "all" {
            points.push(shares);
        } else {
            let most = busiest.entry(row.t_ns).or_insert(0.0_f64);
            *most = most.max(shares.busy());
        }
    }
    for point in &mut points {
        point.busiest = busiest.get(&point.t_ns).copied();
    }
    points
}

/// Shares of the time between two samples of one CPU (or of all). `None` where a time ran backwards other than idle and
/// iowait, which do so by themselves: the CPU began anew.
pub fn shares(row: &Cpu, before: &Cpu) -> Option<CpuPoint> {
    let delta = CpuDelta::of(row, before);
    let percent = |part: f64| delta.percent(part);
    Some(CpuPoint {
        t_ns: row.t_ns,
        length_ns: row.t_ns - before.t_ns,
        user: percent(delta.all_user())?,
        system: percent(delta.system.unwrap_or(0.0))?,
        irq: percent(delta.all_irq())?,
        steal: delta.steal.and_then(percent),
        iowait: delta.iowait.and_then(percent),
        busiest: None,
    })
}

/// Rates between successive samples of every device.
pub fn disks(rows: impl Iterator<Item = Disk>) -> BTreeMap<String, Vec<DiskPoint>> {
    let mut last = Before::new(|row: &Disk| &row.device, |row| row.t_ns);
    let mut points: BTreeMap<String, Vec<DiskPoint>> = BTreeMap::new();
    for row in rows {
        let unknown = DiskPoint { t_ns: row.t_ns, ..DiskPoint::default() };
        let device = row.device.clone();
        let point = last.of(row).map(|(row, before)| disk(row, before));
        // Of what came back it is not known what it did, and so neither what its controller did.
        if let Some(point) = point.or(last.is_back.then_some(unknown)) {
            points.entry(device).or_default().push(point);
        }
    }
    points
}

fn disk(row: &Disk, before: &Disk) -> DiskPoint {
    let nothing = DiskPoint { t_ns: row.t_ns, length_ns: row.t_ns - before.t_ns, ..DiskPoint::default() };
    let Some(delta) = DiskDelta::of(row, before) else { return nothing };
    DiskPoint {
        reads: delta.per_s(delta.read.ios),
        writes: delta.per_s(delta.write.ios),
        discards: delta.per_s(delta.discard.ios),
        all: delta.per_s(delta.ops()).filter(|_| delta.is_of_any_kind()),
        read_bytes: delta.per_s(delta.read.bytes),
        write_bytes: delta.per_s(delta.write.bytes),
        discard_bytes: delta.per_s(delta.discard.bytes),
        all_bytes: delta.per_s(delta.bytes_of_any_kind()),
        response_ns: delta.mean_await_ns(),
        queue: delta.mean_queue_depth(),
        busy: delta.busy_percent(),
        ..nothing
    }
}

/// Is it a machine's way to itself? That has no wire, and what goes over it loads no link.
pub fn is_loopback(interface: &str) -> bool {
    // Linux, and Solaris and BSD in imports.
    matches!(interface, "lo" | "lo0")
}

/// Rates between successive samples of every interface.
pub fn nets(rows: impl Iterator<Item = Net>) -> BTreeMap<String, Vec<NetPoint>> {
    let mut last = Before::new(|row: &Net| &row.interface, |row| row.t_ns);
    let mut points: BTreeMap<String, Vec<NetPoint>> = BTreeMap::new();
    for row in rows {
        let Some((row, before)) = last.of(row) else { continue };
        let delta = NetDelta::of(row, before);
        points.entry(row.interface.clone()).or_default().push(NetPoint {
            t_ns: row.t_ns,
            length_ns: row.t_ns - before.t_ns,
            rx_bytes: delta.per_s(delta.rx.bytes),
            tx_bytes: delta.per_s(delta.tx.bytes),
            rx_packets: delta.per_s(delta.rx.packets),
            tx_packets: delta.per_s(delta.tx.packets),
        });
    }
    points
}

/// The format whose devices are pools and their parts, `pool/mirror/disk`.
const ZPOOL: &str = "zpool-iostat";

/// The devices that are pools in the output of `zpool iostat`.
pub fn printed_pools(figures: impl Iterator<Item = Figure>) -> BTreeSet<String> {
    let pools = figures.filter(|figure| &*figure.tool == ZPOOL && !figure.thing.contains('/'));
    pools.map(|figure| figure.thing.to_string()).collect()
}

/// Rates between successive samples of every pool: from the module's counters, and from the output of `zpool iostat`,
/// whose devices are `printed`.
pub fn pools(
    rows: impl Iterator<Item = ZfsPool>,
    disks: &BTreeMap<String, Vec<DiskPoint>>,
    printed: &BTreeSet<String>,
) -> BTreeMap<String, Vec<PoolPoint>> {
    let mut last = Before::new(|row: &ZfsPool| &row.pool, |row| row.t_ns);
    let mut points: BTreeMap<String, Vec<PoolPoint>> = BTreeMap::new();
    for row in rows {
        let Some((row, before)) = last.of(row) else { continue };
        let rates = PoolRates::of_step(&CounterStep::between(row, before, |row| row.t_ns));
        points.entry(row.pool.clone()).or_default().push(PoolPoint {
            t_ns: row.t_ns,
            read_bytes: rates.read_bytes,
            write_bytes: rates.write_bytes,
        });
    }
    let point = |of: &DiskPoint| PoolPoint { t_ns: of.t_ns, read_bytes: of.read_bytes, write_bytes: of.write_bytes };
    for (device, of) in disks.iter().filter(|(device, _)| printed.contains(*device)) {
        points.entry(device.clone()).or_default().extend(of.iter().map(point));
    }
    points
}

/// Samples of memory.
pub fn memory(rows: impl Iterator<Item = Memory>) -> Vec<MemoryPoint> {
    let point = |row: Memory| MemoryPoint {
        t_ns: row.t_ns,
        used: used(&row).map(|bytes| bytes as f64),
        neither_free_nor_cached: neither_free_nor_cached(&row).map(|bytes| bytes as f64),
        cached: row.cached_bytes.map(|bytes| bytes as f64),
        dirty: row.dirty_bytes.map(|bytes| (bytes + row.writeback_bytes.unwrap_or(0)) as f64),
        swapped: swap_used(&row).map(|bytes| bytes as f64),
    };
    rows.map(point).collect()
}

/// Samples of runnable and blocked tasks.
pub fn tasks(rows: impl Iterator<Item = System>) -> Vec<TasksPoint> {
    let count = |count: Option<i64>| count.map(|count| count as f64);
    let point = |row: System| TasksPoint { t_ns: row.t_ns, runnable: count(row.runnable), blocked: count(row.blocked) };
    rows.map(point).collect()
}

/// How long tasks waited for a CPU, interval by interval.
pub fn waits(rows: impl Iterator<Item = RunQueue>) -> Vec<WaitPoint> {
    let point = |row: RunQueue| {
        let ns = |quantile: f64| row.wait.percentile(quantile).map(|ns| ns as f64);
        WaitPoint { t_ns: row.t_ns, p50: ns(0.5), p99: ns(0.99), max: row.wait.max().map(|ns| ns as f64) }
    };
    rows.map(point).collect()
}

/// Shares of the time between successive samples, by resource; all of a sample end at the same time.
pub fn pressure(rows: impl Iterator<Item = Pressure>) -> BTreeMap<String, Vec<PressurePoint>> {
    let mut last = Before::new(|row: &Pressure| &row.resource, |row| row.t_ns);
    let mut points: BTreeMap<String, Vec<PressurePoint>> = BTreeMap::new();
    // A sample reads one file after the other; the next begins with a resource that this one has, or much later than this one.
    let (mut sample_ns, mut in_sample) = (0, BTreeSet::new());
    for row in rows {
        let is_later = row.t_ns.saturating_sub(sample_ns) >= SAMPLE_NS;
        if is_later || in_sample.is_empty() || in_sample.contains(&row.resource) {
            sample_ns = row.t_ns;
            in_sample.clear();
        }
        in_sample.insert(row.resource.clone());
        let Some((row, before)) = last.of(row) else { continue };
        let step = CounterStep::between(row, before, |row| row.t_ns);
        let share = |of: fn(&Pressure) -> Option<i64>| step.share_percent(of).map(|percent| percent.min(100.0));
        points.entry(row.resource.clone()).or_default().push(PressurePoint {
            t_ns: sample_ns,
            some: share(|row| row.some_ns),
            full: share(|row| row.full_ns),
        });
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second.
    const S: i64 = 1_000_000_000;

    #[test]
    fn peaks_behind_a_gap_and_in_thinned_recordings_are_kept() {
        // A gap of 300 s; then steps of 300 s, of 1 s at a peak and of 10 s; then the last sample at once.
        let times = [0, S, 301 * S, 302 * S, 602 * S, 902 * S, 903 * S, 913 * S, 913 * S + 9];
        let mut before = Before::new(|_: &i64| "sda", |t_ns| *t_ns);
        let steps: Vec<i64> =
            times.into_iter().filter_map(|t_ns| before.of(t_ns).map(|(now, was)| now - was)).collect();
        assert_eq!(steps, [S, 300 * S, S, 300 * S, 300 * S, S, 10 * S]);
    }

    #[test]
    fn what_comes_back_has_no_interval_yet() {
        // `b` is missing in the third sample; `c` is new in the fourth, with a row of the sample before; the last but one is too
        // short for a rate.
        let rows = [
            ("a", 0),
            ("b", 5),
            ("a", S),
            ("b", S + 5),
            ("a", 2 * S),
            ("a", 3 * S),
            ("c", 2 * S),
            ("c", 3 * S),
            ("b", 3 * S + 5),
            ("a", 4 * S),
            ("b", 4 * S),
            ("a", 4 * S + 9),
            ("b", 4 * S + 9),
            ("a", 5 * S),
            ("b", 5 * S),
        ];
        let mut before = Before::new(|row: &(&str, i64)| row.0, |row| row.1);
        let mut of = |row| before.of(row).map(|(_, before)| before.1);
        let seen: Vec<Option<i64>> = rows.into_iter().map(&mut of).collect();
        let (a, b) = (|s: i64| Some(s * S), |s: i64| Some(s * S + 5));
        let expected = [None, None, a(0), b(0), a(1), a(2), None, a(2), None, a(3), b(3), None, None, a(4), a(4)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_a_system_does_not_count_of_its_cpus_is_not_known_and_never_0() {
        let row = |t_ns: i64, cpu: &str, iowait_ns: Option<i64>| Cpu {
            t_ns,
            cpu: cpu.into(),
            user_ns: t_ns / 4,
            idle_ns: t_ns / 4 * 3 - iowait_ns.unwrap_or(0),
            iowait_ns,
            ..Cpu::default()
        };
        for (names, cpu_name) in [(None, "all"), (NamePattern::parse("0").ok(), "0")] {
            let points = |iowait: &dyn Fn(i64) -> Option<i64>| {
                cpu([0, S].map(|t_ns| row(t_ns, cpu_name, iowait(t_ns))).into_iter(), names.as_ref())
            };
            let known = |points: &[CpuPoint]| points.iter().map(|point| (point.user, point.iowait)).collect::<Vec<_>>();
            assert_eq!(known(&points(&|_| None)), [(25.0, None)]);
            assert_eq!(known(&points(&|t_ns| Some(t_ns / 2))), [(25.0, Some(50.0))]);
        }
    }

    #[test]
    fn pressure_is_a_share_of_the_time_between_samples() {
        let row = |t_ns: i64, resource: &str, some_ns, full_ns| Pressure {
            t_ns,
            t_s: 0.0,
            resource: resource.to_string(),
            some_ns,
            full_ns,
        };
        let rows = [
            row(0, "cpu", Some(0), None),
            row(7_000, "io", Some(5), Some(0)),
            row(S, "cpu", Some(S + 9), None),
            // Who reads was held up between the two files.
            row(S + 30_007_000, "io", Some(257_500_005), Some(103_000_000)),
            row(3 * S, "cpu", Some(S + 9), None),
            row(3 * S + 7_000, "io", Some(257_500_005), None),
        ];
        let points = pressure(rows.into_iter());
        let io: Vec<_> = points["io"].iter().map(|point| (point.t_ns, point.some, point.full)).collect();
        assert_eq!(io, [(S, Some(25.0), Some(10.0)), (3 * S, Some(0.0), None)]);
        let cpu: Vec<_> = points["cpu"].iter().map(|point| (point.t_ns, point.some, point.full)).collect();
        assert_eq!(cpu, [(S, Some(100.0), None), (3 * S, Some(0.0), None)], "never more than all of the time");
    }

    #[test]
    fn a_resource_that_one_sample_lacks_moves_no_point_of_pressure_to_another_time() {
        let row = |t_ns: i64, resource: &str| Pressure {
            t_ns,
            t_s: 0.0,
            resource: resource.to_string(),
            some_ns: Some(t_ns / 10),
            full_ns: None,
        };
        let all = (0..6).flat_map(|second| [("cpu", 0), ("io", 7_000)].map(|(name, late)| (second * S, name, late)));
        let rows = all.filter(|(t_ns, name, _)| (*t_ns, *name) != (3 * S, "cpu")).map(|of| row(of.0 + of.2, of.1));
        let points = pressure(rows);
        let times = |name: &str| points[name].iter().map(|point| point.t_ns).collect::<Vec<i64>>();
        assert_eq!(times("io"), [S, 2 * S, 3 * S + 7_000, 4 * S, 5 * S], "the third begins with this one");
        // What was missing has no interval when it is back.
        assert_eq!(times("cpu"), [S, 2 * S, 5 * S]);
    }

    #[test]
    fn a_step_too_short_for_a_rate_is_left_to_the_next() {
        // Seconds, the last of the recording at once after the one before, and one on time after such a one.
        let rows = [0_i64, 1000, 2000, 2003, 3000, 3000, 3001];
        let mut before = Before::new(|row: &(&str, i64)| row.0, |row| row.1);
        let mut of = |name, t_ns: i64| before.of((name, t_ns)).map(|(_, before)| before.1);
        let seen: Vec<Option<i64>> = rows.iter().map(|row| of("a", *row)).collect();
        assert_eq!(seen, [None, Some(0), Some(1000), None, Some(2000), None, None]);
        // Another device has steps of its own, and a clock that goes back begins anew.
        let other = [5_i64, 6, 1, 2];
        let seen: Vec<Option<i64>> = other.iter().map(|row| of("b", *row)).collect();
        assert_eq!(seen, [None, Some(5), None, Some(1)]);
    }
}
