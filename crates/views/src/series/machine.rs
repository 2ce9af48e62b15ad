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

pub(crate) fn disk_skew(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let mut totals: BTreeMap<i64, f64> = BTreeMap::new();
    for point in facts.disks.values().flatten() {
        *totals.entry(point.t_ns).or_default() += point.requests().unwrap_or(0.0);
    }
    let share = |point: &DiskPoint| {
        let total = totals.get(&point.t_ns).filter(|total| **total > 0.0)?;
        Some((point.t_ns, 100.0 * point.requests()? / total))
    };
    let shares: BTreeMap<String, Vec<(i64, f64)>> = facts
        .disks
        .iter()
        .map(|(name, points)| (name.clone(), points.iter().filter_map(share).collect::<Vec<_>>()))
        .filter(|(_, shares)| shares.iter().any(|share| share.1 > 0.0))
        .collect();
    if shares.len() < SEVERAL {
        return None;
    }
    let y = axis("% of all requests", Unit::Percent, Scale::Linear);
    each(&shares, run, y, |share| Some(share.1), &[("", |share: &(i64, f64)| Some(share.1))])
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
    let mut sums: BTreeMap<&str, BTreeMap<i64, DiskPoint>> = BTreeMap::new();
    for (device, points) in &facts.disks {
        let Some(controller) = facts.manifest.hardware["controllers"][device].as_str() else { continue };
        if facts.controllers.as_ref().is_some_and(|names| !names.admits(controller)) {
            continue;
        }
        let of = sums.entry(controller).or_default();
        for point in points {
            let sum = of.entry(point.t_ns);
            sum.and_modify(|sum| add(sum, point)).or_insert(*point);
        }
    }
    sums.into_iter().map(|(name, points)| (name.to_string(), points.into_values().collect())).collect()
}

/// Adds a device to its controller: times weighted by requests, as busy as the busiest.
fn add(sum: &mut DiskPoint, point: &DiskPoint) {
    let weighted = |point: &DiskPoint| Some((point.response_ns? * point.requests()?, point.requests()?));
    sum.response_ns = match (weighted(sum), weighted(point)) {
        (Some(a), Some(b)) if a.1 + b.1 > 0.0 => Some((a.0 + b.0) / (a.1 + b.1)),
        _ => sum.response_ns.or(point.response_ns),
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
    let lines: [OfMachine<MemoryPoint>; 4] = [
        ("used", |point| point.used),
        ("page cache", |point| point.cached),
        ("dirty", |point| point.dirty),
        ("swap", |point| point.swapped),
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
