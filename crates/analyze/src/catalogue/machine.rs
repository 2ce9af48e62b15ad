//! Views of devices and interfaces that were asked for by the classic charts of gathered counters.

use super::{Kind, View, run};
use crate::series;

pub(super) static MACHINE: [View; 5] = [
    run(
        "disk.read_share",
        "Share of reads by device",
        Kind::TimeSeries,
        series::disk_reads,
        "Reads ÷ (reads + writes) that devices completed; no value where there were none.",
    ),
    run(
        "disk.transfer_size",
        "Transfer size by device",
        Kind::TimeSeries,
        series::disk_size,
        "Mean bytes per request, after the kernel merged and split them. Logarithmic axis.",
    ),
    run(
        "disk.skew",
        "Skew of devices",
        Kind::TimeSeries,
        series::disk_skew,
        "Part of all devices' requests that each of them had; even lines are an even load. A partition or a volume counts beside what it lies on.",
    ),
    run(
        "net.throughput",
        "Network throughput",
        Kind::TimeSeries,
        series::net_throughput,
        "Bytes per second that interfaces received and sent.",
    ),
    run(
        "net.packets",
        "Network packets",
        Kind::TimeSeries,
        series::net_packets,
        "Packets per second that interfaces received and sent.",
    ),
];
