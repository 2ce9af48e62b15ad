//! Views of devices and interfaces that were asked for by the classic charts of gathered counters.

use super::{View, ViewKind, run};
use crate::series;

pub(super) static MACHINE: [View; 14] = [
    run(
        "disk.read_share",
        "Share of reads by device",
        ViewKind::TimeSeries,
        series::disk_reads,
        "Reads ÷ (reads + writes) that devices completed; no value where there were none.",
    ),
    run(
        "disk.transfer_size",
        "Transfer size by device",
        ViewKind::TimeSeries,
        series::disk_size,
        "Mean bytes per request, after the kernel merged and split them. Logarithmic axis.",
    ),
    run(
        "disk.skew",
        "Skew of devices",
        ViewKind::TimeSeries,
        series::disk_skew,
        "Part of all devices' requests that each of them had; even lines are an even load. A partition or a volume counts beside what it lies on.",
    ),
    run(
        "disk.activity",
        "Device throughput and utilization",
        ViewKind::TimeSeries,
        series::disk_activity,
        "Bytes per second of the two busiest devices (left), and the part of the time with at least one request in flight (right, dotted).",
    ),
    run(
        "disk.latency",
        "Device response time and queue",
        ViewKind::TimeSeries,
        series::disk_latency,
        "Mean time of a request (left), and requests in queue and device (right, dotted), of the two busiest devices. Both axes are logarithmic.",
    ),
    run(
        "controller.activity",
        "Controller throughput and utilization",
        ViewKind::TimeSeries,
        series::controller_throughput,
        "Bytes per second of all devices behind a controller (left), and how busy the busiest of them was (right, dotted).",
    ),
    run(
        "controller.latency",
        "Controller response time and queue",
        ViewKind::TimeSeries,
        series::controller_latency,
        "Mean time of a request of all devices behind a controller (left), and their requests in queue and device (right, dotted). Both axes are logarithmic.",
    ),
    run(
        "net.throughput",
        "Network throughput",
        ViewKind::TimeSeries,
        series::net_throughput,
        "Bytes per second that interfaces received and sent.",
    ),
    run(
        "net.packets",
        "Network packets",
        ViewKind::TimeSeries,
        series::net_packets,
        "Packets per second that interfaces received and sent.",
    ),
    run(
        "pool.throughput",
        "Pool throughput",
        ViewKind::TimeSeries,
        series::pool_throughput,
        "Bytes per second read from and written to pools of ZFS: by the module's counters, or from `zpool iostat`.",
    ),
    run(
        "memory.use",
        "Memory",
        ViewKind::TimeSeries,
        series::memory_use,
        "Used: all that is not available to new programs; what is neither free nor page cache stands for it where the source does not tell what is available. The page cache is given back when programs need it; dirty is not on a disk yet.",
    ),
    run(
        "system.tasks",
        "Tasks that run, could run, or are blocked",
        ViewKind::TimeSeries,
        series::tasks,
        "At the moment of each sample: more runnable tasks than CPUs wait for one; blocked ones wait for I/O and cannot be interrupted.",
    ),
    run(
        "cpu.run_queue",
        "Waits for a CPU",
        ViewKind::TimeSeries,
        series::run_queue,
        "Percentiles of how long tasks were ready before they ran, of all CPUs together; a time is that of the end of its bucket, of which there are 4 to an octave. Logarithmic axis.",
    ),
    run(
        "pressure.waiting",
        "Time lost to waiting",
        ViewKind::TimeSeries,
        series::pressure,
        "Part of the time in which at least one task (some), or all that were not idle (full), waited for CPU, memory or I/O, as the kernel counts it (PSI).",
    ),
];
