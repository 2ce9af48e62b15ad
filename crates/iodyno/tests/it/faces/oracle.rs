//! What the documented formulas (docs/stat-columns.md, docs/terms.md) make of rows, written without the program's code.
//!
//! The rule about counters: a figure comes from two known values of a counter, of which the second is not below the first.
//! Everything else is unknown: a counter that ran backwards, that one of the two samples lacks, and what a thing did in the
//! interval in which it came. There are these exceptions, each with its reason:
//!
//! * A device of which a count of requests or sectors ran backwards began anew: nothing of its interval is known.
//! * The kernel's idle time and iowait run backwards by themselves: they are 0 then. Where another time of a CPU does, the
//!   whole is not known, and no share of it.
//! * The counters of queueing disciplines are 32 bits wide: they may go round.
//! * Processes, control groups and interrupts without a row did nothing, so that their last row is the one before.

use super::cases::{CASES, Cell};
use super::input::{Input, Row};
use std::collections::BTreeMap;

/// Figures by their keys.
pub type Figures = BTreeMap<&'static str, Option<f64>>;

/// Two rows of a thing.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    pub now: &'a Row,
    pub before: &'a Row,
    pub seconds: f64,
}

fn number(row: &Row, column: &str) -> Option<f64> {
    match row.get(column)? {
        Cell::Int(value) => Some(*value as f64),
        Cell::Float(value) => Some(*value),
        other => panic!("{column}: {other:?}"),
    }
}

impl Step<'_> {
    /// A gauge.
    pub fn now(&self, column: &str) -> Option<f64> {
        number(self.now, column)
    }

    pub fn grown(&self, column: &str) -> Option<f64> {
        let (now, before) = (number(self.now, column)?, number(self.before, column)?);
        (now >= before).then_some(now - before)
    }

    pub fn per_s(&self, column: &str) -> Option<f64> {
        Some(self.grown(column)? / self.seconds)
    }

    /// Of a counter of 32 bits: only one that was in the last sixteenth of them can have gone round.
    fn wide(&self, column: &str) -> Option<f64> {
        let (now, before) = (number(self.now, column)?, number(self.before, column)?);
        let grown = if now >= before { now - before } else { now - before + 4_294_967_296.0 };
        (now >= before || grown < 268_435_456.0).then_some(grown)
    }

    fn wide_per_s(&self, column: &str) -> Option<f64> {
        Some(self.wide(column)? / self.seconds)
    }

    /// Nanoseconds of a second, per cent.
    fn share(&self, column: &str) -> Option<f64> {
        Some(self.grown(column)? / 1e9 / self.seconds * 100.0)
    }

    /// The same of something that cannot be more than all of the time.
    fn part(&self, column: &str) -> Option<f64> {
        Some(self.share(column)?.min(100.0))
    }

    fn kib_per_s(&self, column: &str) -> Option<f64> {
        Some(self.per_s(column)? / 1024.0)
    }

    fn mib(&self, column: &str) -> Option<f64> {
        Some(self.now(column)? / 1_048_576.0)
    }
}

/// `part ÷ whole`; nothing of nothing is 0, as in iostat.
fn quotient(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    match (part?, whole?) {
        (part, whole) if whole > 0.0 => Some(part / whole),
        (0.0, _) => Some(0.0),
        _ => None,
    }
}

fn hundred(value: Option<f64>) -> Option<f64> {
    Some(value? * 100.0)
}

/// Of those that are known.
fn sum(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

/// Of all; unknown where one is.
fn total(values: &[Option<f64>]) -> Option<f64> {
    values.iter().copied().sum()
}

impl Input {
    /// The rows of a thing in a sample and before; `None` where there is no interval of it.
    pub fn step(&self, table: &str, thing: usize, sample: usize) -> Option<Step<'_>> {
        let rows = &self.rows[table][thing];
        let is_sparse = CASES.iter().any(|case| case.table == table && case.is_sparse);
        let last = (0..sample).rev().find(|before| rows[*before].is_some())?;
        if !is_sparse && last + 1 != sample {
            return None;
        }
        // A rate of processes and groups is over the time since the last sample; of interrupts, since their last row.
        let from = if ["interrupt", "irq_time"].contains(&table) { last } else { sample - 1 };
        let seconds = (self.times[sample] - self.times[from]) as f64 / 1e9;
        Some(Step { now: rows[sample].as_ref()?, before: rows[last].as_ref()?, seconds })
    }

    /// A text of a thing.
    pub fn name(&self, table: &str, thing: usize, column: &str) -> &'static str {
        match self.rows[table][thing][0].as_ref().unwrap()[column] {
            Cell::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

/// A block device.
pub fn disk(step: Step<'_>) -> Figures {
    let mut figures = Figures::from([("in_flight", step.now("in_flight"))]);
    let kinds = ["read", "write", "discard", "flush", "any"];
    let counts = kinds.iter().flat_map(|kind| [format!("{kind}_ios"), format!("{kind}_sectors")]);
    let is_broken = |column: &String| {
        let ends = [step.now(column), number(step.before, column)];
        ends.iter().any(Option::is_some) && step.grown(column).is_none()
    };
    if counts.clone().any(|column| is_broken(&column)) {
        figures.extend(DISK_KEYS.iter().map(|key| (*key, None)));
        return figures;
    }
    let kib = |kind: &str| Some(step.grown(&format!("{kind}_sectors"))? * 512.0 / 1024.0);
    let per_s = |value: Option<f64>| Some(value? / step.seconds);
    for (kind, keys) in [("read", 0), ("write", 6), ("discard", 12)] {
        let (ios, merges) = (step.grown(&format!("{kind}_ios")), step.grown(&format!("{kind}_merges")));
        let values = [
            per_s(ios),
            per_s(kib(kind)),
            per_s(merges),
            hundred(quotient(merges, total(&[ios, merges]))),
            quotient(step.wide(&format!("{kind}_ticks_ms")), ios),
            quotient(kib(kind), ios),
        ];
        figures.extend(DISK_KEYS[keys..].iter().copied().zip(values));
    }
    figures.insert("flush_per_s", step.per_s("flush_ios"));
    figures.insert("flush_await_ms", quotient(step.wide("flush_ticks_ms"), step.grown("flush_ios")));
    let moving = ["read", "write", "discard"];
    let ticks = moving.map(|kind| step.wide(&format!("{kind}_ticks_ms")));
    let done = moving.map(|kind| step.grown(&format!("{kind}_ios")));
    let weighted = step.wide("weighted_ticks_ms");
    let ops = sum(&done).or(step.grown("any_ios"));
    let bytes = sum(&moving.map(kib)).or(kib("any"));
    let is_timed = ticks.iter().zip(done).all(|(ticks, done)| ticks.is_some() || done.unwrap_or(0.0) == 0.0);
    let time = sum(&ticks).filter(|_| is_timed).or(weighted);
    figures.insert("queue_size", per_s(weighted.or(sum(&ticks).filter(|_| is_timed))).map(|ms| ms / 1000.0));
    figures.insert("util_percent", step.wide_per_s("io_ticks_ms").map(|ms| (ms / 10.0).min(100.0)));
    figures.insert("ops_per_s", per_s(ops));
    figures.insert("kib_per_s", per_s(bytes));
    figures.insert("await_ms", quotient(time, ops));
    figures.insert("size_kib", quotient(bytes, ops));
    figures
}

const DISK_KEYS: [&str; 26] = [
    "read_per_s",
    "read_kib_per_s",
    "read_merges_per_s",
    "read_merged_percent",
    "read_await_ms",
    "read_size_kib",
    "write_per_s",
    "write_kib_per_s",
    "write_merges_per_s",
    "write_merged_percent",
    "write_await_ms",
    "write_size_kib",
    "discard_per_s",
    "discard_kib_per_s",
    "discard_merges_per_s",
    "discard_merged_percent",
    "discard_await_ms",
    "discard_size_kib",
    "flush_per_s",
    "flush_await_ms",
    "queue_size",
    "util_percent",
    "ops_per_s",
    "kib_per_s",
    "await_ms",
    "size_kib",
];

/// A CPU by the tick.
pub fn cpu(step: Step<'_>) -> Figures {
    let keys = ["user", "nice", "system", "irq", "softirq", "steal", "iowait", "idle"];
    let names = [
        "user_percent",
        "nice_percent",
        "system_percent",
        "irq_percent",
        "softirq_percent",
        "steal_percent",
        "iowait_percent",
        "idle_percent",
    ];
    let is_counted = |column: &str| step.now(column).is_some() && number(step.before, column).is_some();
    let parts = keys.map(|key| {
        let column = format!("{key}_ns");
        let grown = step.grown(&column);
        // Other times do not run backwards by themselves.
        if ["iowait", "idle"].contains(&key) && is_counted(&column) { grown.or(Some(0.0)) } else { grown }
    });
    let is_broken = keys.iter().zip(parts).any(|(key, part)| is_counted(&format!("{key}_ns")) && part.is_none());
    let whole = sum(&parts).filter(|whole| !is_broken && *whole > 0.0);
    let share = |part: Option<f64>| Some(100.0 * part? / whole?);
    let mut figures: Figures = names.into_iter().zip(parts.map(share)).collect();
    figures.insert("busy_percent", share(sum(&parts[..6])));
    figures
}

pub fn system(step: Step<'_>) -> Figures {
    [
        ("runnable", step.now("runnable")),
        ("blocked", step.now("blocked")),
        ("load_1m", step.now("load_1m")),
        ("context_switches_per_s", step.per_s("context_switches")),
        ("interrupts_per_s", step.per_s("interrupts")),
        ("forks_per_s", step.per_s("forks")),
        ("softnet_drops_per_s", step.per_s("softnet_drops")),
        ("softnet_squeezed_per_s", step.per_s("softnet_squeezed")),
    ]
    .into()
}

pub fn memory(step: Step<'_>) -> Figures {
    let swap = step.mib("swap_total_bytes").zip(step.mib("swap_free_bytes")).map(|(all, free)| all - free);
    [
        ("available_mib", step.mib("available_bytes")),
        ("free_mib", step.mib("free_bytes")),
        ("cached_mib", step.mib("cached_bytes")),
        ("anonymous_mib", step.mib("anonymous_bytes")),
        ("slab_mib", step.mib("slab_bytes")),
        ("dirty_mib", step.mib("dirty_bytes")),
        ("writeback_mib", step.mib("writeback_bytes")),
        ("swap_used_mib", swap),
        ("page_in_kib_per_s", step.kib_per_s("page_in_bytes")),
        ("page_out_kib_per_s", step.kib_per_s("page_out_bytes")),
        ("swap_in_per_s", step.per_s("swap_in_pages")),
        ("swap_out_per_s", step.per_s("swap_out_pages")),
        ("faults_per_s", step.per_s("faults")),
        ("major_faults_per_s", step.per_s("major_faults")),
        ("file_refaults_per_s", step.per_s("file_refaults")),
        ("direct_reclaimed_per_s", step.per_s("direct_reclaimed")),
    ]
    .into()
}

pub fn pressure(step: Step<'_>) -> Figures {
    [("some_percent", step.part("some_ns")), ("full_percent", step.part("full_ns"))].into()
}

/// An interface; `softnet`: packets that input queues of CPUs dropped, per second.
pub fn net(step: Step<'_>, softnet: Option<f64>) -> Figures {
    let (rx, tx) = (step.per_s("rx_bytes"), step.per_s("tx_bytes"));
    let speed = step.now("speed_bits_per_s");
    let used = |bytes: Option<f64>| Some((bytes? * 8.0 / speed? * 100.0).min(100.0));
    let is_half = step.now.get("full_duplex") == Some(&Cell::Flag(false));
    let busier = rx.zip(tx).map(|(rx, tx)| rx.max(tx));
    let own = ["rx_errors", "rx_drops", "tx_errors", "tx_drops", "tx_fifo", "tx_collisions", "tx_carrier"];
    let discipline = match step.now("qdisc_drops") {
        Some(_) => total(&["qdisc_drops", "qdisc_requeues", "qdisc_overlimits"].map(|column| step.wide_per_s(column))),
        None => Some(0.0),
    };
    let queues = if rx.is_some_and(|rx| rx > 0.0) { softnet } else { Some(0.0) };
    let size = |bytes: &str, packets: &str| quotient(step.grown(bytes), step.grown(packets));
    [
        ("rx_kib_per_s", step.kib_per_s("rx_bytes")),
        ("tx_kib_per_s", step.kib_per_s("tx_bytes")),
        ("rx_packets_per_s", step.per_s("rx_packets")),
        ("tx_packets_per_s", step.per_s("tx_packets")),
        ("rx_packet_bytes", size("rx_bytes", "rx_packets")),
        ("tx_packet_bytes", size("tx_bytes", "tx_packets")),
        ("util_percent", used(if is_half { total(&[rx, tx]) } else { busier })),
        ("saturation_per_s", total(&[total(&own.map(|column| step.per_s(column))), discipline, queues])),
        ("rx_util_percent", used(rx)),
        ("tx_util_percent", used(tx)),
        ("rx_errors_per_s", step.per_s("rx_errors")),
        ("tx_errors_per_s", step.per_s("tx_errors")),
        ("collisions_per_s", step.per_s("tx_collisions")),
        ("rx_drops_per_s", step.per_s("rx_drops")),
        ("tx_drops_per_s", step.per_s("tx_drops")),
        ("qdisc_drops_per_s", step.wide_per_s("qdisc_drops")),
        ("qdisc_overlimits_per_s", step.wide_per_s("qdisc_overlimits")),
        ("qdisc_backlog_kib", step.now("qdisc_backlog_bytes").map(|bytes| bytes / 1024.0)),
        ("speed_mbit_per_s", speed.map(|bits| bits / 1e6)),
        ("softnet_drops_per_s", softnet),
    ]
    .into()
}

pub fn tcp(step: Step<'_>) -> Figures {
    let sent = total(&[step.grown("out_segments"), step.grown("retransmits")]);
    [
        ("in_segments_per_s", step.per_s("in_segments")),
        ("out_segments_per_s", step.per_s("out_segments")),
        ("resets_per_s", total(&[step.per_s("established_resets"), step.per_s("resets_sent")])),
        ("attempt_fails_per_s", step.per_s("attempt_fails")),
        ("retransmit_percent", hundred(quotient(step.grown("retransmits"), sent))),
        ("passive_opens_per_s", step.per_s("passive_opens")),
        ("active_opens_per_s", step.per_s("active_opens")),
        ("listen_drops_per_s", step.per_s("listen_drops")),
        ("listen_overflows_per_s", step.per_s("listen_overflows")),
        ("timeouts_per_s", step.per_s("timeouts")),
        ("syn_retransmits_per_s", step.per_s("syn_retransmits")),
        ("established", step.now("established")),
    ]
    .into()
}

pub fn udp(step: Step<'_>) -> Figures {
    [
        ("in_datagrams_per_s", step.per_s("in_datagrams")),
        ("out_datagrams_per_s", step.per_s("out_datagrams")),
        ("in_errors_per_s", step.per_s("in_errors")),
        ("send_buffer_errors_per_s", step.per_s("send_buffer_errors")),
        ("no_ports_per_s", step.per_s("no_ports")),
        ("receive_buffer_errors_per_s", step.per_s("receive_buffer_errors")),
    ]
    .into()
}

pub fn process(step: Step<'_>) -> Figures {
    [
        ("pid", step.now("pid")),
        ("user_percent", step.share("user_ns")),
        ("system_percent", step.share("system_ns")),
        ("cpu_percent", total(&[step.share("user_ns"), step.share("system_ns")])),
        ("threads", step.now("threads")),
        ("resident_mib", step.mib("resident_bytes")),
        ("read_kib_per_s", step.kib_per_s("read_bytes")),
        ("write_kib_per_s", step.kib_per_s("write_bytes")),
        ("major_faults_per_s", step.per_s("major_faults")),
        ("io_delay_percent", step.share("io_delay_ns")),
        ("minor_faults_per_s", step.per_s("minor_faults")),
    ]
    .into()
}

pub fn cgroup(step: Step<'_>) -> Figures {
    [
        ("cpu_percent", step.share("usage_ns")),
        ("user_percent", step.share("user_ns")),
        ("system_percent", step.share("system_ns")),
        ("cpu_limit_percent", hundred(step.now("cpu_limit"))),
        ("throttled_percent", hundred(quotient(step.grown("throttled_periods"), step.grown("periods")))),
        ("throttled_ms_per_s", step.per_s("throttled_ns").map(|ns| ns / 1e6)),
        ("memory_mib", step.mib("memory_bytes")),
        ("memory_limit_mib", step.mib("memory_max_bytes")),
        ("anonymous_mib", step.mib("anonymous_bytes")),
        ("file_mib", step.mib("file_bytes")),
        ("memory_high_per_s", step.per_s("memory_high_events")),
        ("memory_max_per_s", step.per_s("memory_max_events")),
        ("oom_kills", step.grown("oom_kills")),
        ("read_per_s", step.per_s("read_ios")),
        ("read_kib_per_s", step.kib_per_s("read_bytes")),
        ("write_per_s", step.per_s("write_ios")),
        ("write_kib_per_s", step.kib_per_s("write_bytes")),
        ("tasks", step.now("tasks")),
        ("cpu_some_percent", step.part("cpu_some_ns")),
        ("cpu_full_percent", step.part("cpu_full_ns")),
        ("memory_some_percent", step.part("memory_some_ns")),
        ("memory_full_percent", step.part("memory_full_ns")),
        ("io_some_percent", step.part("io_some_ns")),
        ("io_full_percent", step.part("io_full_ns")),
    ]
    .into()
}

/// A CPU by both clocks.
pub fn cpu_clock(tick: Option<Step<'_>>, event: Option<Step<'_>>) -> Figures {
    let busy = tick.and_then(|step| cpu(step)["busy_percent"]);
    let of = |part: &dyn Fn(Step<'_>) -> Option<f64>| {
        let step = event?;
        let whole = total(&[step.grown("run_ns"), step.grown("idle_ns")]).filter(|whole| *whole > 0.0)?;
        Some(100.0 * part(step)? / whole)
    };
    let is_known = of(&|step| step.grown("run_ns")).is_some();
    let rate = |column: &str| event?.per_s(column).filter(|_| is_known);
    let by_event = of(&|step| total(&[step.grown("run_ns"), step.grown("idle_irq_ns")]));
    [
        ("tick_busy_percent", busy),
        ("event_busy_percent", by_event),
        ("difference_points", by_event.zip(busy).map(|(event, tick)| event - tick)),
        ("run_percent", of(&|step| step.grown("run_ns"))),
        ("irq_percent", of(&|step| step.grown("irq_ns"))),
        ("softirq_percent", of(&|step| step.grown("softirq_ns"))),
        ("stolen_percent", of(&|step| step.grown("stolen_ns"))),
        ("wait_percent", of(&|step| step.grown("wait_ns"))),
        ("switches_per_s", rate("switches")),
        ("preemptions_per_s", rate("preemptions")),
    ]
    .into()
}

/// A process by both clocks.
pub fn process_clock(tick: Step<'_>, event: Step<'_>, stolen: Step<'_>) -> Figures {
    let (proc, run) = (process(tick)["cpu_percent"], event.share("run_ns"));
    [
        ("pid", event.now("pid")),
        ("proc_percent", proc),
        ("event_percent", run),
        ("difference_points", run.zip(proc).map(|(run, proc)| run - proc)),
        ("wait_percent", event.share("wait_ns")),
        ("stolen_percent", taken_share(stolen)),
        ("switches_per_s", event.per_s("switches")),
        ("preemptions_per_s", event.per_s("preemptions")),
    ]
    .into()
}

/// What interrupts took from a process: a count that fell is that of another process of its number, which began at 0.
fn taken_share(step: Step<'_>) -> Option<f64> {
    let grown = step.grown("count").and(step.grown("ns")).or_else(|| {
        step.now("count").and(number(step.before, "count")).and(number(step.before, "ns")).and(step.now("ns"))
    });
    Some(grown? / 1e9 / step.seconds * 100.0)
}

/// A vector on one CPU: how often, ms in its handlers per second, µs each.
pub fn vector(count: Step<'_>, time: Step<'_>) -> [Option<f64>; 3] {
    let each = time.grown("ns").zip(time.grown("count")).filter(|(_, count)| *count > 0.0);
    [count.per_s("count"), time.per_s("ns").map(|ns| ns / 1e6), each.map(|(ns, count)| ns / 1e3 / count)]
}

/// A pool; `arc`: the cache of all of them.
pub fn pool(step: Step<'_>, arc: Option<Step<'_>>) -> Figures {
    // What a version counts: for the pool, or through the cache and past it.
    let either = |name: &str| {
        step.per_s(name).or(total(&[step.per_s(&format!("arc_{name}")), step.per_s(&format!("direct_{name}"))]))
    };
    let kib = |name: &str| Some(either(name)? / 1024.0);
    let queue = total(&[step.per_s("weighted_wait_ns"), step.per_s("weighted_run_ns")]);
    let hits = arc.and_then(|arc| Some((arc.grown("hits")?, arc.grown("misses")?)));
    let space = total(&[step.now("allocated_bytes"), step.now("free_bytes")]);
    [
        ("read_per_s", either("read_ios")),
        ("write_per_s", either("write_ios")),
        ("read_kib_per_s", kib("read_bytes")),
        ("write_kib_per_s", kib("write_bytes")),
        ("read_size_kib", quotient(kib("read_bytes"), either("read_ios"))),
        ("write_size_kib", quotient(kib("write_bytes"), either("write_ios"))),
        ("busy_percent", step.part("run_ns")),
        ("queue_size", queue.map(|ns| ns / 1e9)),
        ("allocated_mib", step.mib("allocated_bytes")),
        ("free_mib", step.mib("free_bytes")),
        ("allocated_percent", hundred(quotient(step.now("allocated_bytes"), space))),
        ("arc_hit_percent", hits.filter(|(hits, misses)| hits + misses > 0.0).map(|(a, b)| 100.0 * a / (a + b))),
    ]
    .into()
}

/// What a device or a server does for a file system: reads and writes per second, and KiB of both.
pub fn file_system_rates(device: Option<Step<'_>>, server: Option<Step<'_>>) -> [Option<f64>; 4] {
    match (device, server) {
        (_, Some(step)) => [
            step.per_s("read_ops"),
            step.per_s("write_ops"),
            step.kib_per_s("read_bytes"),
            step.kib_per_s("write_bytes"),
        ],
        (Some(step), _) => {
            let figures = disk(step);
            ["read_per_s", "write_per_s", "read_kib_per_s", "write_kib_per_s"].map(|key| figures[key])
        }
        _ => [None; 4],
    }
}
