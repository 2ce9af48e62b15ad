//! Devices and interfaces of a machine: what they were asked for, and how evenly.

use super::{OfDevice, busiest, clock_of, drawing, each, lines_of, within};
use crate::{RecordingFacts, RunFacts};
use rates::{DiskPoint, NetPoint, PoolPoint};
use rates::{MemoryPoint, TasksPoint, WaitPoint};
use std::collections::BTreeMap;
use view::Drawing;
use view::Unit;
use view::{Axis, Body, Line, LineStyle, RightAxis, Scale};
use view::{axis, line};

pub(crate) fn disk_reads(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let share = |point: &DiskPoint| {
        let (reads, writes) = (point.reads?, point.writes?);
        (reads + writes > 0.0).then(|| 100.0 * reads / (reads + writes))
    };
    each(
        &facts.disks,
        run,
        axis("% of reads and writes", Unit::Percent, Scale::Linear),
        DiskPoint::bytes,
        &[("", share)],
    )
}

pub(crate) fn disk_size(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("mean bytes per request", Unit::Bytes, Scale::Log);
    let read = |point: &DiskPoint| Some(point.read_bytes? / point.reads.filter(|reads| *reads > 0.0)?);
    let write = |point: &DiskPoint| Some(point.write_bytes? / point.writes.filter(|writes| *writes > 0.0)?);
    each(&facts.disks, run, y, DiskPoint::bytes, &[("read", read), ("write", write)])
}

/// Of how many devices at least there is a share to tell.
const SEVERAL: usize = 2;

/// What part each device had of all requests: ends of intervals, and per cent.
type DeviceShares = BTreeMap<String, Vec<(i64, Option<f64>)>>;

/// Of the devices that had a request. Where those of one device are not known, nothing is known of the part of any.
fn request_shares(disks: &BTreeMap<String, Vec<DiskPoint>>) -> DeviceShares {
    let mut totals: BTreeMap<i64, Option<f64>> = BTreeMap::new();
    for point in disks.values().flatten() {
        let total = totals.entry(point.t_ns).or_insert(Some(0.0));
        *total = total.zip(point.requests()).map(|(total, requests)| total + requests);
    }
    let share = |point: &DiskPoint| {
        let total = totals.get(&point.t_ns).copied().flatten().filter(|total| *total > 0.0);
        (point.t_ns, total.zip(point.requests()).map(|(total, requests)| 100.0 * requests / total))
    };
    let all = disks.iter().map(|(name, points)| (name.clone(), points.iter().map(share).collect::<Vec<_>>()));
    all.filter(|(_, shares)| shares.iter().any(|share| share.1 > Some(0.0))).collect()
}

pub(crate) fn disk_skew(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let shares = request_shares(&facts.disks);
    if shares.len() < SEVERAL {
        return None;
    }
    let y = axis("% of all requests", Unit::Percent, Scale::Linear);
    each(&shares, run, y, |share| share.1, &[("", |share: &(i64, Option<f64>)| share.1)])
}

/// Devices of a chart with two axes: the reader could not distinguish more.
const FEW: usize = 2;

/// Lines on two axes.
fn both(
    disks: &BTreeMap<String, Vec<DiskPoint>>,
    run: &RunFacts,
    (y, left): (Axis, &[OfDevice<'_, DiskPoint>]),
    (right_y, right): (Axis, &[OfDevice<'_, DiskPoint>]),
) -> Option<Drawing> {
    let (ticks, mut few) = busiest(disks, run, DiskPoint::bytes, FEW)?;
    // One that did nothing would only have a line at 0, in the colour of another.
    few.retain(|(_, points)| points.iter().filter_map(DiskPoint::bytes).any(|bytes| bytes > 0.0));
    let (left, right) = (lines_of(&ticks, &few, left), lines_of(&ticks, &few, right));
    let mut drawing = drawing(run, ticks.clock.x, y, left)?;
    if let Body::Lines { right: place, .. } = &mut drawing.body
        && right.iter().any(|line| line.values.range().is_some())
    {
        *place = Some(RightAxis { y: right_y, lines: right });
    }
    Some(drawing)
}

fn activity(disks: &BTreeMap<String, Vec<DiskPoint>>, run: &RunFacts) -> Option<Drawing> {
    let bytes = axis("bytes per second", Unit::BytesPerSecond, Scale::Linear);
    let left: [OfDevice<'_, DiskPoint>; 4] = [
        ("read", |point| point.read_bytes),
        ("write", |point| point.write_bytes),
        ("discard", |point| point.discard_bytes),
        ("all", |point| point.all_bytes),
    ];
    let busy = axis("% of the time busy", Unit::Percent, Scale::Linear);
    both(disks, run, (bytes, &left), (busy, &[("busy", |point| point.busy)]))
}

fn latency(disks: &BTreeMap<String, Vec<DiskPoint>>, run: &RunFacts) -> Option<Drawing> {
    let time = axis("mean response time", Unit::Nanoseconds, Scale::Log);
    let queue = axis("requests in queue and device", Unit::Count, Scale::Log);
    // Below a thousandth there was hardly a request, and a logarithmic axis would be full of it.
    let right: [OfDevice<'_, DiskPoint>; 1] = [("queue", |point| point.queue.filter(|queue| *queue >= 0.001))];
    both(disks, run, (time, &[("time", |point| point.response_ns.filter(|ns| *ns > 0.0))]), (queue, &right))
}

pub(crate) fn disk_activity(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    activity(&facts.disks, run)
}

pub(crate) fn disk_latency(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    latency(&facts.disks, run)
}

pub(crate) fn controller_throughput(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    activity(&controllers(facts), run)
}

pub(crate) fn controller_latency(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    latency(&controllers(facts), run)
}

/// What the devices of each controller did together. Partitions and volumes have none: they would count twice.
fn controllers(facts: &RecordingFacts) -> BTreeMap<String, Vec<DiskPoint>> {
    let of = |device: &str| {
        let controller = facts.manifest.hardware["controllers"][device].as_str()?;
        let is_chosen = facts.controllers.as_ref().is_none_or(|names| names.admits(controller));
        is_chosen.then(|| controller.to_string())
    };
    controller_sums(&facts.disks, of)
}

/// The points of devices that have a controller, added up.
fn controller_sums(
    disks: &BTreeMap<String, Vec<DiskPoint>>,
    controller: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, Vec<DiskPoint>> {
    let mut sums: BTreeMap<String, BTreeMap<i64, DiskPoint>> = BTreeMap::new();
    for (device, points) in disks {
        let Some(controller) = controller(device) else { continue };
        let of = sums.entry(controller).or_default();
        for point in points {
            let sum = of.entry(point.t_ns);
            sum.and_modify(|sum| add(sum, point)).or_insert(*point);
        }
    }
    sums.into_iter().map(|(name, points)| (name, points.into_values().collect())).collect()
}

/// Adds a device to its controller: times weighted by requests, as busy as the busiest. What is not known of one device is not known
/// of both.
fn add(sum: &mut DiskPoint, point: &DiskPoint) {
    // A device without a request has no time of one, and changes nothing.
    let weighted = |point: &DiskPoint| match point.requests()? {
        0.0 => Some((0.0, 0.0)),
        requests => Some((point.response_ns? * requests, requests)),
    };
    sum.response_ns = match (weighted(sum), weighted(point)) {
        (Some(a), Some(b)) if a.1 + b.1 > 0.0 => Some((a.0 + b.0) / (a.1 + b.1)),
        _ => None,
    };
    let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
    sum.reads = both(sum.reads, point.reads);
    sum.writes = both(sum.writes, point.writes);
    sum.discards = both(sum.discards, point.discards);
    sum.all = both(sum.all, point.all);
    sum.read_bytes = both(sum.read_bytes, point.read_bytes);
    sum.write_bytes = both(sum.write_bytes, point.write_bytes);
    sum.discard_bytes = both(sum.discard_bytes, point.discard_bytes);
    sum.all_bytes = both(sum.all_bytes, point.all_bytes);
    sum.queue = both(sum.queue, point.queue);
    sum.busy = sum.busy.zip(point.busy).map(|(a, b)| a.max(b));
}

pub(crate) fn net_throughput(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("bytes per second", Unit::BytesPerSecond, Scale::Linear);
    each(
        &facts.nets,
        run,
        y,
        NetPoint::bytes,
        &[("received", |point| point.rx_bytes), ("sent", |point| point.tx_bytes)],
    )
}

pub(crate) fn net_packets(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("packets per second", Unit::OpsPerSecond, Scale::Linear);
    each(
        &facts.nets,
        run,
        y,
        NetPoint::bytes,
        &[("received", |point| point.rx_packets), ("sent", |point| point.tx_packets)],
    )
}

pub(crate) fn pool_throughput(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("bytes per second", Unit::BytesPerSecond, Scale::Linear);
    let lines: [OfDevice<'_, PoolPoint>; 2] =
        [("read", |point| point.read_bytes), ("write", |point| point.write_bytes)];
    each(&facts.pools, run, y, PoolPoint::bytes, &lines)
}

/// What a line shows of a sample of the whole machine.
type OfMachine<P> = (&'static str, fn(&P) -> Option<f64>);

/// Lines over samples of the whole machine, those that were ever more than 0; all that are known where none was.
fn over_samples<P>(
    run: &RunFacts,
    points: &[P],
    t_ns: fn(&P) -> i64,
    y: Axis,
    lines: &[OfMachine<P>],
) -> Option<Drawing> {
    let points = within(run, points, t_ns);
    let clock = clock_of(run, points.iter().map(t_ns).collect());
    let of = |(at, (name, of)): (usize, &OfMachine<P>)| {
        line(name, LineStyle::category(at), clock.values(|index| of(&points[index])))
    };
    let mut drawn: Vec<_> = lines.iter().enumerate().map(of).collect();
    let is_more = |line: &Line| line.values.range().is_some_and(|(_, high)| high > 0.0);
    if drawn.iter().any(is_more) {
        drawn.retain(is_more);
    } else {
        drawn.retain(|line| line.values.range().is_some());
    }
    drawing(run, clock.x, y, drawn)
}

pub(crate) fn memory_use(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let lines: [OfMachine<MemoryPoint>; 5] = [
        ("used", |point| point.used),
        ("page cache", |point| point.cached),
        ("dirty", |point| point.dirty),
        ("swap", |point| point.swapped),
        ("not free/cache", |point| point.neither_free_nor_cached),
    ];
    over_samples(run, &facts.memory, |point| point.t_ns, axis("bytes", Unit::Bytes, Scale::Linear), &lines)
}

pub(crate) fn tasks(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let lines: [OfMachine<TasksPoint>; 2] =
        [("runnable", |point| point.runnable), ("blocked by I/O", |point| point.blocked)];
    over_samples(run, &facts.tasks, |point| point.t_ns, axis("tasks", Unit::Count, Scale::Linear), &lines)
}

pub(crate) fn run_queue(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    const LINES: [(LineStyle, OfMachine<WaitPoint>); 3] = [
        (LineStyle::Rank0, ("p50", |point| point.p50)),
        (LineStyle::Rank2, ("p99", |point| point.p99)),
        (LineStyle::Rank4, ("max", |point| point.max)),
    ];
    let points = within(run, &facts.waits, |point| point.t_ns);
    let clock = clock_of(run, points.iter().map(|point| point.t_ns).collect());
    let of = |(style, (name, of)): (LineStyle, OfMachine<WaitPoint>)| {
        line(name, style, clock.values(|index| of(&points[index])))
    };
    let lines = LINES.into_iter().map(of).collect();
    drawing(run, clock.x, axis("wait for a CPU", Unit::Nanoseconds, Scale::Log), lines)
}

pub(crate) fn pressure(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("% of the time", Unit::Percent, Scale::Linear);
    each(&facts.pressure, run, y, |point| point.some, &[("some", |point| point.some), ("full", |point| point.full)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::rows::Disk;

    const SECOND_NS: i64 = 1_000_000_000;

    /// Samples a second apart, with the counts of reads at each, which take `read_ms` each and move nothing.
    fn disk(device: &str, read_ms: i64, reads: [i64; 4]) -> impl Iterator<Item = Disk> {
        (0..).zip(reads).map(move |(second, reads)| Disk {
            t_ns: second * SECOND_NS,
            device: device.to_string(),
            read_ios: Some(reads),
            read_ticks_ms: Some(read_ms * reads),
            ..Disk::default()
        })
    }

    /// Two devices of one controller; the counters of the second begin anew in the second second.
    fn reset() -> BTreeMap<String, Vec<DiskPoint>> {
        let rows = disk("sda", 1, [0, 30, 60, 90]).chain(disk("sdb", 5, [1000, 1010, 3, 13]));
        let mut rows: Vec<Disk> = rows.collect();
        rows.sort_by_key(|row| row.t_ns);
        rates::disks(rows.into_iter())
    }

    #[test]
    fn a_device_has_not_all_requests_because_those_of_another_are_not_known() {
        let shares = request_shares(&reset());
        let of = |name: &str| shares[name].iter().map(|share| share.1).collect::<Vec<_>>();
        assert_eq!(of("sda"), [Some(75.0), None, Some(75.0)]);
        assert_eq!(of("sdb"), [Some(25.0), None, Some(25.0)]);
    }

    #[test]
    fn the_response_time_of_a_controller_is_not_that_of_the_one_device_that_is_known() {
        let sums = controller_sums(&reset(), |_| Some("0000:00:02.0".to_string()));
        let ms: Vec<_> = sums["0000:00:02.0"].iter().map(|point| point.response_ns.map(|ns| ns / 1e6)).collect();
        // 30 reads of 1 ms and 10 of 5 ms.
        assert_eq!(ms, [Some(2.0), None, Some(2.0)]);
        // A device that had nothing to do changes nothing.
        let rows = disk("sda", 1, [0, 30, 60, 90]).chain(disk("sdb", 5, [7, 7, 7, 7]));
        let sums = controller_sums(&rates::disks(rows), |_| Some("c".to_string()));
        assert!(sums["c"].iter().all(|point| point.response_ns == Some(1e6)), "{sums:?}");
    }
}
