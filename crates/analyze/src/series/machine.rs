//! Devices and interfaces of a machine: what they were asked for, and how evenly.

use super::{axis, each, moved};
use crate::catalogue::Drawing;
use crate::view::Scale;
use crate::{DiskPoint, Facts, NetPoint, RunFacts, Unit};
use std::collections::BTreeMap;

/// Requests per second of all kinds that move data.
fn requests(point: &DiskPoint) -> Option<f64> {
    let parts = [point.reads, point.writes, point.all];
    parts.into_iter().flatten().reduce(|a, b| a + b)
}

pub(crate) fn disk_reads(facts: &Facts, run: &RunFacts) -> Option<Drawing> {
    let share = |point: &DiskPoint| {
        let (reads, writes) = (point.reads?, point.writes?);
        (reads + writes > 0.0).then(|| 100.0 * reads / (reads + writes))
    };
    each(&facts.disks, run, axis("% of reads and writes", Unit::Percent, Scale::Linear), moved, &[("", share)])
}

pub(crate) fn disk_size(facts: &Facts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("mean bytes per request", Unit::Bytes, Scale::Log);
    let read = |point: &DiskPoint| Some(point.read_bytes? / point.reads.filter(|reads| *reads > 0.0)?);
    let write = |point: &DiskPoint| Some(point.write_bytes? / point.writes.filter(|writes| *writes > 0.0)?);
    each(&facts.disks, run, y, moved, &[("read", read), ("write", write)])
}

/// Of how many devices at least there is a share to tell.
const SEVERAL: usize = 2;

pub(crate) fn disk_skew(facts: &Facts, run: &RunFacts) -> Option<Drawing> {
    let mut totals: BTreeMap<i64, f64> = BTreeMap::new();
    for point in facts.disks.values().flatten() {
        *totals.entry(point.t_ns).or_default() += requests(point).unwrap_or(0.0);
    }
    let share = |point: &DiskPoint| {
        let total = totals.get(&point.t_ns).filter(|total| **total > 0.0)?;
        Some((point.t_ns, 100.0 * requests(point)? / total))
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

fn carried(point: &NetPoint) -> Option<f64> {
    Some(point.rx_bytes? + point.tx_bytes?)
}

pub(crate) fn net_throughput(facts: &Facts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("bytes per second", Unit::BytesPerSecond, Scale::Linear);
    each(&facts.nets, run, y, carried, &[("received", |point| point.rx_bytes), ("sent", |point| point.tx_bytes)])
}

pub(crate) fn net_packets(facts: &Facts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("packets per second", Unit::OpsPerSecond, Scale::Linear);
    each(&facts.nets, run, y, carried, &[("received", |point| point.rx_packets), ("sent", |point| point.tx_packets)])
}
