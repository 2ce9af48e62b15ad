//! Views of what was followed in the kernel: the I/Os of a trace, reads and writes of files, answers of servers.

use super::{Compute, View, ViewKind};
use crate::{TracedFacts, requests, traced};
use view::Drawing;
use workload::probe::{self, FileFold};

const fn traced(
    id: &'static str,
    title: &'static str,
    kind: ViewKind,
    compute: fn(&TracedFacts, Option<&str>) -> Option<Drawing>,
    explanation: &'static str,
) -> View {
    View { id, title, explanation, kind, compute: Compute::Trace(compute) }
}

const fn files(
    id: &'static str,
    title: &'static str,
    compute: fn(&FileFold) -> Option<Drawing>,
    explanation: &'static str,
) -> View {
    View { id, title, explanation, kind: ViewKind::Table, compute: Compute::Files(compute) }
}

const fn requests(
    id: &'static str,
    title: &'static str,
    kind: ViewKind,
    compute: Compute,
    explanation: &'static str,
) -> View {
    View { id, title, explanation, kind, compute }
}

pub(super) static FOLLOWED: [View; 35] = [
    traced("trace.iops", "I/Os per second", ViewKind::TimeSeries, traced::iops, "Completions of traced I/Os by time."),
    traced(
        "trace.throughput",
        "Throughput",
        ViewKind::TimeSeries,
        traced::throughput,
        "Bytes moved per second, M = 1,000,000.",
    ),
    traced(
        "trace.response",
        "Response time",
        ViewKind::TimeSeries,
        traced::response,
        "From queueing to completion, percentiles of each stretch of time, logarithmic axis.",
    ),
    traced(
        "trace.response_heatmap",
        "Response times of all I/Os",
        ViewKind::HeatMap,
        traced::response_heatmap,
        "Every I/O: the darker (on dark pages, the brighter), the more I/Os took this long. Logarithmic colours.",
    ),
    traced(
        "trace.wait",
        "Wait time",
        ViewKind::TimeSeries,
        traced::wait,
        "From queueing to issue: waiting for a free request and in the scheduler.",
    ),
    traced(
        "trace.device",
        "Device time",
        ViewKind::TimeSeries,
        traced::device,
        "From issue to completion: the driver and the device.",
    ),
    traced(
        "trace.histogram",
        "Histogram of response times",
        ViewKind::Histogram,
        traced::histogram,
        "All I/Os by response time; both axes logarithmic.",
    ),
    traced(
        "trace.percentiles",
        "Percentile curve",
        ViewKind::PercentileCurve,
        traced::percentiles,
        "So many per cent of the I/Os took this long or less; the horizontal axis gives each nine the same room.",
    ),
    traced(
        "trace.queue_depth",
        "I/Os in flight",
        ViewKind::TimeSeries,
        traced::in_flight,
        "Mean number queued or at the device, and of these at the device, of all devices together.",
    ),
    traced("trace.reads", "Share of reads", ViewKind::TimeSeries, traced::shares, "Reads ÷ (reads + writes)."),
    traced(
        "trace.sequential",
        "Sequential I/O",
        ViewKind::TimeSeries,
        traced::sequential,
        "I/Os that start where one of their device's last 32 streams, the device's last I/O, or the process's last I/O ended.",
    ),
    traced(
        "trace.sizes",
        "Sizes",
        ViewKind::Histogram,
        traced::sizes,
        "Reads and writes by size, in octaves: each bar holds the size at its right end.",
    ),
    traced(
        "trace.addresses",
        "Addresses",
        ViewKind::HeatMap,
        traced::addresses,
        "Where on the device I/Os started: a line that rises is a sequential stream, a band a hot spot.",
    ),
    traced(
        "trace.hot_spots",
        "Hot spots",
        ViewKind::TimeSeries,
        traced::hot_spots,
        "So many per cent of the I/Os went to so many per cent of the regions that were used, the hottest first.",
    ),
    traced(
        "trace.working_set",
        "Working set",
        ViewKind::TimeSeries,
        traced::working_set,
        "Bytes that are used, on average, within a window of this length: a cache as large keeps a block for about as long.",
    ),
    traced(
        "trace.rereference",
        "Time until used again",
        ViewKind::Histogram,
        traced::rereference,
        "Uses of a 4 KiB block by the time since its last use; first uses are not in it.",
    ),
    traced(
        "trace.inter_arrival",
        "Time between I/Os",
        ViewKind::Histogram,
        traced::inter_arrival,
        "Time from the queueing of one I/O to that of the next, all devices together; both axes logarithmic.",
    ),
    traced(
        "trace.bursts",
        "Bursts",
        ViewKind::Table,
        traced::bursts,
        "Arrivals counted in windows. Dispersion is variance ÷ mean of the counts: 1 when arrivals are independent, 0 for a clock's, more in bursts.",
    ),
    traced("trace.devices", "Devices", ViewKind::Table, traced::devices, "How unevenly the devices are used."),
    traced(
        "trace.kinds",
        "Operations and flags",
        ViewKind::Table,
        traced::kinds,
        "What I/Os were marked with: `sync` means that a task waits; reads always are.",
    ),
    traced("trace.size_table", "Sizes one by one", ViewKind::Table, traced::by_size, "The sizes that occur most."),
    traced(
        "trace.processes",
        "Processes",
        ViewKind::Table,
        traced::processes,
        "Who issued the I/O; of write-back, who changed the file's cached data last.",
    ),
    traced("trace.files", "Files", ViewKind::Table, traced::files, "Whose data was moved."),
    traced("trace.cgroups", "Control groups", ViewKind::Table, traced::cgroups, "Of the thread that issued the I/O."),
    traced("trace.hot_regions", "Hottest regions", ViewKind::Table, traced::hot_regions, "Where most I/Os started."),
    traced(
        "trace.slowest",
        "The slowest I/Os",
        ViewKind::Table,
        traced::slowest,
        "The 100 of greatest response time, and what the same device did around them.",
    ),
    files(
        "files.reads",
        "Files by reads",
        probe::by_reads,
        "Logical is what programs asked for; physical what the page cache did not have, read-ahead and direct reads included. Miss rate: pages brought in ÷ pages touched.",
    ),
    files("files.bytes", "Files by bytes read", probe::by_bytes, "The same, the most bytes read or mapped first."),
    files("files.written", "Files by bytes written", probe::by_written, "The same, the most bytes written first."),
    files("files.mounts", "File systems", probe::by_mount, "The same by mounted file system."),
    requests(
        "requests.servers",
        "Servers",
        ViewKind::Table,
        Compute::Requests(requests::servers),
        "How long programs took for answers: from reading a request to writing the answer, by whether the thread had to wait for a CPU meanwhile. Rates are of the time in which the port was watched.",
    ),
    requests(
        "requests.rate",
        "Answers per second",
        ViewKind::TimeSeries,
        Compute::Requests(requests::rate),
        "Of the servers with most answers; nothing is drawn while a port was not watched.",
    ),
    requests(
        "requests.response",
        "Response time of a server",
        ViewKind::TimeSeries,
        Compute::Server(requests::response),
        "From reading a request to writing the answer, percentiles of each interval, logarithmic axis.",
    ),
    requests(
        "requests.response_heatmap",
        "All answers of a server",
        ViewKind::HeatMap,
        Compute::Server(requests::response_heatmap),
        "Every answer: the darker (on dark pages, the brighter), the more answers took this long. Logarithmic colours.",
    ),
    requests(
        "requests.histogram",
        "Response times of a server",
        ViewKind::Histogram,
        Compute::Server(requests::histogram),
        "Answers by response time: those whose thread had a CPU all the time beside those whose thread waited for one. Both axes logarithmic.",
    ),
];
