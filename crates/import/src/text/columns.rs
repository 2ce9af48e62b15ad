//! What the columns of other tools mean: which column of which table, and in what unit.
//!
//! A tool prints rates; a recording holds counters. A rate times the length of its interval is what the counter grew by.

use How::{Gauge, InQueue, PerOp, Rate, Redundant, Total, Wait};
use recording::rows;

/// A table that rows of tools go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Subject {
    Cpu,
    System,
    Memory,
    Pressure,
    Disk,
    Net,
    Tcp,
    Udp,
    Process,
}

/// How a printed figure becomes one of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum How {
    /// Printed per second, times this: a counter.
    Rate(f64),
    /// Printed per operation of that counter, times this: a counter.
    PerOp(&'static str, f64),
    /// Time of a request of any kind, ms; several such columns (waiting, being served) add up.
    Wait,
    /// Requests waiting or being served, printed so fine (half a digit, and a little for those of time and rate); several such
    /// columns add up.
    InQueue(f64),
    /// Counts up already, times this.
    Total(f64),
    /// A value of the moment, times this.
    Gauge(f64),
    /// The same as what other columns give.
    Redundant,
}

/// One column of a tool.
#[derive(Debug)]
pub(super) struct Spec {
    /// Heading.
    pub(super) header: &'static str,
    /// Column of the table.
    pub(super) key: &'static str,
    pub(super) how: How,
    /// What it says is more than the table holds: it is a figure as well.
    pub(super) keep: bool,
}

const fn spec(header: &'static str, key: &'static str, how: How) -> Spec {
    Spec { header, key, how, keep: false }
}

const fn kept(header: &'static str, key: &'static str, how: How) -> Spec {
    Spec { header, key, how, keep: true }
}

/// Per cent of the time of a CPU, in ns per second.
const SHARE: How = Rate(1e7);
const ONE: How = Rate(1.0);
const KIB: How = Rate(1024.0);
/// nicstat's Mbps are 2²⁰ bits.
const MBIT: How = Rate(131_072.0);
const SECTORS_KIB: How = Rate(2.0);
const SECTORS_MIB: How = Rate(2048.0);

/// The guests' time is in the kernel's user and nice time, and is printed apart.
const CPU: &[Spec] = &[
    spec("%usr", "user_ns", SHARE),
    spec("%user", "user_ns", SHARE),
    spec("usr", "user_ns", SHARE),
    spec("user", "user_ns", SHARE),
    spec("us", "user_ns", SHARE),
    spec("%guest", "user_ns", SHARE),
    spec("guest", "user_ns", SHARE),
    spec("gu", "user_ns", SHARE),
    spec("%nice", "nice_ns", SHARE),
    spec("nice", "nice_ns", SHARE),
    spec("%gnice", "nice_ns", SHARE),
    spec("gnice", "nice_ns", SHARE),
    spec("%sys", "system_ns", SHARE),
    spec("%system", "system_ns", SHARE),
    spec("sys", "system_ns", SHARE),
    spec("system", "system_ns", SHARE),
    spec("sy", "system_ns", SHARE),
    spec("%iowait", "iowait_ns", SHARE),
    spec("iowait", "iowait_ns", SHARE),
    spec("wa", "iowait_ns", SHARE),
    spec("wt", "iowait_ns", SHARE),
    spec("%irq", "irq_ns", SHARE),
    spec("irq", "irq_ns", SHARE),
    spec("%soft", "softirq_ns", SHARE),
    spec("soft", "softirq_ns", SHARE),
    spec("%steal", "steal_ns", SHARE),
    spec("steal", "steal_ns", SHARE),
    spec("st", "steal_ns", SHARE),
    spec("%idle", "idle_ns", SHARE),
    spec("idle", "idle_ns", SHARE),
    spec("idl", "idle_ns", SHARE),
    spec("id", "idle_ns", SHARE),
];

const DISK: &[Spec] = &[
    spec("r/s", "read_ios", ONE),
    spec("w/s", "write_ios", ONE),
    spec("d/s", "discard_ios", ONE),
    spec("f/s", "flush_ios", ONE),
    spec("rsec/s", "read_sectors", ONE),
    spec("wsec/s", "write_sectors", ONE),
    spec("rd_sec/s", "read_sectors", ONE),
    spec("wr_sec/s", "write_sectors", ONE),
    spec("Blk_read/s", "read_sectors", ONE),
    spec("Blk_wrtn/s", "write_sectors", ONE),
    spec("rkB/s", "read_sectors", SECTORS_KIB),
    spec("wkB/s", "write_sectors", SECTORS_KIB),
    spec("dkB/s", "discard_sectors", SECTORS_KIB),
    spec("rkB", "read_sectors", SECTORS_KIB),
    spec("wkB", "write_sectors", SECTORS_KIB),
    spec("dkB", "discard_sectors", SECTORS_KIB),
    spec("kr/s", "read_sectors", SECTORS_KIB),
    spec("kw/s", "write_sectors", SECTORS_KIB),
    spec("Mr/s", "read_sectors", SECTORS_MIB),
    spec("Mw/s", "write_sectors", SECTORS_MIB),
    spec("kB_read/s", "read_sectors", SECTORS_KIB),
    spec("kB_wrtn/s", "write_sectors", SECTORS_KIB),
    spec("kB_dscd/s", "discard_sectors", SECTORS_KIB),
    spec("rMB/s", "read_sectors", SECTORS_MIB),
    spec("wMB/s", "write_sectors", SECTORS_MIB),
    spec("dMB/s", "discard_sectors", SECTORS_MIB),
    spec("MB_read/s", "read_sectors", SECTORS_MIB),
    spec("MB_wrtn/s", "write_sectors", SECTORS_MIB),
    spec("MB_dscd/s", "discard_sectors", SECTORS_MIB),
    spec("kB/s", "any_sectors", SECTORS_KIB),
    spec("MB/s", "any_sectors", SECTORS_MIB),
    spec("tps", "any_ios", ONE),
    spec("rrqm/s", "read_merges", ONE),
    spec("wrqm/s", "write_merges", ONE),
    spec("drqm/s", "discard_merges", ONE),
    spec("r_await", "read_ticks_ms", PerOp("read_ios", 1.0)),
    spec("w_await", "write_ticks_ms", PerOp("write_ios", 1.0)),
    spec("d_await", "discard_ticks_ms", PerOp("discard_ios", 1.0)),
    spec("f_await", "flush_ticks_ms", PerOp("flush_ios", 1.0)),
    spec("await", "weighted_ticks_ms", Wait),
    kept("wsvc_t", "weighted_ticks_ms", Wait),
    kept("asvc_t", "weighted_ticks_ms", Wait),
    spec("svc_t", "weighted_ticks_ms", Wait),
    spec("aqu-sz", "weighted_ticks_ms", InQueue(0.01)),
    spec("avgqu-sz", "weighted_ticks_ms", InQueue(0.01)),
    kept("wait", "weighted_ticks_ms", InQueue(0.05)),
    kept("actv", "weighted_ticks_ms", InQueue(0.05)),
    spec("%util", "io_ticks_ms", Rate(10.0)),
    spec("util", "io_ticks_ms", Rate(10.0)),
    spec("util-percent", "io_ticks_ms", Rate(10.0)),
    spec("%b", "io_ticks_ms", Rate(10.0)),
    spec("operations read", "read_ios", ONE),
    spec("operations write", "write_ios", ONE),
    spec("bandwidth read", "read_sectors", Rate(1.0 / 512.0)),
    spec("bandwidth write", "write_sectors", Rate(1.0 / 512.0)),
    // vmstat -d.
    spec("reads", "read_ios", Total(1.0)),
    spec("reads merged", "read_merges", Total(1.0)),
    spec("reads sectors", "read_sectors", Total(1.0)),
    spec("reads ms", "read_ticks_ms", Total(1.0)),
    spec("writes", "write_ios", Total(1.0)),
    spec("writes merged", "write_merges", Total(1.0)),
    spec("writes sectors", "write_sectors", Total(1.0)),
    spec("writes ms", "write_ticks_ms", Total(1.0)),
    spec("cur", "in_flight", Gauge(1.0)),
    spec("sec", "io_ticks_ms", Total(1000.0)),
    spec("%rrqm", "", Redundant),
    spec("%wrqm", "", Redundant),
    spec("%drqm", "", Redundant),
    spec("rrqm", "", Redundant),
    spec("wrqm", "", Redundant),
    spec("drqm", "", Redundant),
    spec("rareq-sz", "", Redundant),
    spec("wareq-sz", "", Redundant),
    spec("dareq-sz", "", Redundant),
    spec("areq-sz", "", Redundant),
    spec("avgrq-sz", "", Redundant),
    spec("kB_read", "", Redundant),
    spec("kB_wrtn", "", Redundant),
    spec("kB_dscd", "", Redundant),
    spec("MB_read", "", Redundant),
    spec("MB_wrtn", "", Redundant),
    spec("MB_dscd", "", Redundant),
    spec("Blk_read", "", Redundant),
    spec("Blk_wrtn", "", Redundant),
];

/// `rKb/s` of old versions of nicstat are KiB: bytes per packet × packets say so.
const NET: &[Spec] = &[
    spec("rKB/s", "rx_bytes", KIB),
    spec("wKB/s", "tx_bytes", KIB),
    spec("rKb/s", "rx_bytes", KIB),
    spec("wKb/s", "tx_bytes", KIB),
    spec("RdKB", "rx_bytes", KIB),
    spec("WrKB", "tx_bytes", KIB),
    spec("rMbps", "rx_bytes", MBIT),
    spec("wMbps", "tx_bytes", MBIT),
    spec("RdMbps", "rx_bytes", MBIT),
    spec("WrMbps", "tx_bytes", MBIT),
    spec("rPk/s", "rx_packets", ONE),
    spec("wPk/s", "tx_packets", ONE),
    spec("RdPkt", "rx_packets", ONE),
    spec("WrPkt", "tx_packets", ONE),
    spec("IErr", "rx_errors", ONE),
    spec("OErr", "tx_errors", ONE),
    spec("Coll", "tx_collisions", ONE),
    spec("rAvs", "", Redundant),
    spec("wAvs", "", Redundant),
    spec("rxkB/s", "rx_bytes", KIB),
    spec("txkB/s", "tx_bytes", KIB),
    spec("rxpck/s", "rx_packets", ONE),
    spec("txpck/s", "tx_packets", ONE),
    spec("rxmcst/s", "rx_multicast", ONE),
    spec("rxerr/s", "rx_errors", ONE),
    spec("txerr/s", "tx_errors", ONE),
    spec("coll/s", "tx_collisions", ONE),
    spec("rxdrop/s", "rx_drops", ONE),
    spec("txdrop/s", "tx_drops", ONE),
    spec("txcarr/s", "tx_carrier", ONE),
    spec("rxfram/s", "rx_frame", ONE),
    spec("rxfifo/s", "rx_fifo", ONE),
    spec("txfifo/s", "tx_fifo", ONE),
    spec("rxkB", "rx_bytes", KIB),
    spec("txkB", "tx_bytes", KIB),
    spec("rxpck", "rx_packets", ONE),
    spec("txpck", "tx_packets", ONE),
    spec("rxmcst", "rx_multicast", ONE),
    spec("rxerr", "rx_errors", ONE),
    spec("txerr", "tx_errors", ONE),
    spec("coll", "tx_collisions", ONE),
    spec("rxdrop", "rx_drops", ONE),
    spec("txdrop", "tx_drops", ONE),
    spec("txcarr", "tx_carrier", ONE),
    spec("rxfram", "rx_frame", ONE),
    spec("rxfifo", "rx_fifo", ONE),
    spec("txfifo", "tx_fifo", ONE),
];

const TCP: &[Spec] = &[
    spec("InSeg", "in_segments", ONE),
    spec("OutSeg", "out_segments", ONE),
    spec("AttF", "attempt_fails", ONE),
    spec("InConn", "passive_opens", ONE),
    spec("OutCon", "active_opens", ONE),
    spec("active/s", "active_opens", ONE),
    spec("passive/s", "passive_opens", ONE),
    spec("iseg/s", "in_segments", ONE),
    spec("oseg/s", "out_segments", ONE),
    spec("atmptf/s", "attempt_fails", ONE),
    spec("estres/s", "established_resets", ONE),
    spec("retrans/s", "retransmits", ONE),
    spec("isegerr/s", "in_errors", ONE),
    spec("orsts/s", "resets_sent", ONE),
    spec("active", "active_opens", ONE),
    spec("passive", "passive_opens", ONE),
    spec("iseg", "in_segments", ONE),
    spec("oseg", "out_segments", ONE),
    spec("atmptf", "attempt_fails", ONE),
    spec("estres", "established_resets", ONE),
    spec("retrans", "retransmits", ONE),
    spec("isegerr", "in_errors", ONE),
    spec("orsts", "resets_sent", ONE),
    // Names of the kernel, of `netstat -s` and of Solaris.
    spec("TcpInSegs", "in_segments", Total(1.0)),
    spec("TcpOutSegs", "out_segments", Total(1.0)),
    spec("TcpRetransSegs", "retransmits", Total(1.0)),
    spec("TcpInErrs", "in_errors", Total(1.0)),
    spec("TcpActiveOpens", "active_opens", Total(1.0)),
    spec("TcpPassiveOpens", "passive_opens", Total(1.0)),
    spec("TcpAttemptFails", "attempt_fails", Total(1.0)),
    spec("TcpEstabResets", "established_resets", Total(1.0)),
    spec("TcpOutRsts", "resets_sent", Total(1.0)),
    spec("TcpCurrEstab", "established", Gauge(1.0)),
    spec("TcpExtListenOverflows", "listen_overflows", Total(1.0)),
    spec("TcpExtListenDrops", "listen_drops", Total(1.0)),
    spec("TcpExtTCPTimeouts", "timeouts", Total(1.0)),
    spec("TcpExtTCPSynRetrans", "syn_retransmits", Total(1.0)),
    spec("tcpInSegs", "in_segments", Total(1.0)),
    spec("tcpOutSegs", "out_segments", Total(1.0)),
    spec("tcpRetransSegs", "retransmits", Total(1.0)),
    spec("tcpInErrs", "in_errors", Total(1.0)),
    spec("tcpActiveOpens", "active_opens", Total(1.0)),
    spec("tcpPassiveOpens", "passive_opens", Total(1.0)),
    spec("tcpAttemptFails", "attempt_fails", Total(1.0)),
    spec("tcpEstabResets", "established_resets", Total(1.0)),
    spec("tcpOutRsts", "resets_sent", Total(1.0)),
    spec("tcpCurrEstab", "established", Gauge(1.0)),
    spec("TcpExtTCPReqQFullDrop", "request_queue_drops", Total(1.0)),
    spec("TcpExtTCPReqQFullDoCookies", "request_queue_cookies", Total(1.0)),
    spec("tcpListenDrop", "listen_drops", Total(1.0)),
    spec("tcpListenDropQ0", "request_queue_drops", Total(1.0)),
];

const UDP: &[Spec] = &[
    spec("InDG", "in_datagrams", ONE),
    spec("OutDG", "out_datagrams", ONE),
    spec("InErr", "in_errors", ONE),
    spec("OutErr", "send_buffer_errors", ONE),
    spec("idgm/s", "in_datagrams", ONE),
    spec("odgm/s", "out_datagrams", ONE),
    spec("noport/s", "no_ports", ONE),
    spec("idgmerr/s", "in_errors", ONE),
    spec("idgm", "in_datagrams", ONE),
    spec("odgm", "out_datagrams", ONE),
    spec("noport", "no_ports", ONE),
    spec("idgmerr", "in_errors", ONE),
    spec("UdpInDatagrams", "in_datagrams", Total(1.0)),
    spec("UdpOutDatagrams", "out_datagrams", Total(1.0)),
    spec("UdpNoPorts", "no_ports", Total(1.0)),
    spec("UdpInErrors", "in_errors", Total(1.0)),
    spec("UdpRcvbufErrors", "receive_buffer_errors", Total(1.0)),
    spec("UdpSndbufErrors", "send_buffer_errors", Total(1.0)),
    spec("udpInDatagrams", "in_datagrams", Total(1.0)),
    spec("udpOutDatagrams", "out_datagrams", Total(1.0)),
    spec("udpInErrors", "in_errors", Total(1.0)),
];

/// vmstat's memory columns are in KiB here; its reader puts other units right.
const MEMORY: &[Spec] = &[
    spec("free", "free_bytes", Gauge(1024.0)),
    spec("buff", "cached_bytes", Gauge(1024.0)),
    spec("cache", "cached_bytes", Gauge(1024.0)),
    spec("bi", "page_in_bytes", KIB),
    spec("bo", "page_out_bytes", KIB),
    spec("pi", "page_in_bytes", KIB),
    spec("po", "page_out_bytes", KIB),
    spec("mf", "faults", ONE),
    // Pages of 4 KiB.
    spec("si", "swap_in_pages", Rate(0.25)),
    spec("so", "swap_out_pages", Rate(0.25)),
    spec("kbmemfree", "free_bytes", Gauge(1024.0)),
    spec("kbavail", "available_bytes", Gauge(1024.0)),
    spec("kbbuffers", "cached_bytes", Gauge(1024.0)),
    spec("kbcached", "cached_bytes", Gauge(1024.0)),
    spec("kbdirty", "dirty_bytes", Gauge(1024.0)),
    spec("kbanonpg", "anonymous_bytes", Gauge(1024.0)),
    spec("kbslab", "slab_bytes", Gauge(1024.0)),
    spec("kbswpfree", "swap_free_bytes", Gauge(1024.0)),
    spec("kbswpfree", "swap_total_bytes", Gauge(1024.0)),
    spec("kbswpused", "swap_total_bytes", Gauge(1024.0)),
    spec("memfree", "free_bytes", Gauge(1024.0)),
    spec("avail", "available_bytes", Gauge(1024.0)),
    spec("buffers", "cached_bytes", Gauge(1024.0)),
    spec("cached", "cached_bytes", Gauge(1024.0)),
    spec("dirty", "dirty_bytes", Gauge(1024.0)),
    spec("anonpg", "anonymous_bytes", Gauge(1024.0)),
    spec("slab", "slab_bytes", Gauge(1024.0)),
    spec("swpfree", "swap_free_bytes", Gauge(1024.0)),
    spec("swpfree", "swap_total_bytes", Gauge(1024.0)),
    spec("swpused", "swap_total_bytes", Gauge(1024.0)),
    spec("pgpgin/s", "page_in_bytes", KIB),
    spec("pgpgout/s", "page_out_bytes", KIB),
    spec("fault/s", "faults", ONE),
    spec("majflt/s", "major_faults", ONE),
    spec("pswpin/s", "swap_in_pages", ONE),
    spec("pswpout/s", "swap_out_pages", ONE),
    spec("pgpgin", "page_in_bytes", KIB),
    spec("pgpgout", "page_out_bytes", KIB),
    spec("fault", "faults", ONE),
    spec("majflt", "major_faults", ONE),
    spec("pswpin", "swap_in_pages", ONE),
    spec("pswpout", "swap_out_pages", ONE),
    // vmstat -s.
    spec("K total memory", "total_bytes", Gauge(1024.0)),
    spec("K free memory", "free_bytes", Gauge(1024.0)),
    spec("K buffer memory", "cached_bytes", Gauge(1024.0)),
    // So it is called by procps 3 and 4; it is the page cache.
    spec("K swap cache", "cached_bytes", Gauge(1024.0)),
    spec("K total swap", "swap_total_bytes", Gauge(1024.0)),
    spec("K free swap", "swap_free_bytes", Gauge(1024.0)),
    spec("K paged in", "page_in_bytes", Total(1024.0)),
    spec("K paged out", "page_out_bytes", Total(1024.0)),
    spec("pages swapped in", "swap_in_pages", Total(1.0)),
    spec("pages swapped out", "swap_out_pages", Total(1.0)),
];

const SYSTEM: &[Spec] = &[
    spec("r", "runnable", Gauge(1.0)),
    spec("b", "blocked", Gauge(1.0)),
    spec("in", "interrupts", ONE),
    spec("cs", "context_switches", ONE),
    spec("proc/s", "forks", ONE),
    spec("cswch/s", "context_switches", ONE),
    spec("intr/s", "interrupts", ONE),
    spec("runq-sz", "runnable", Gauge(1.0)),
    spec("blocked", "blocked", Gauge(1.0)),
    spec("ldavg-1", "load_1m", Gauge(1.0)),
    spec("dropd/s", "softnet_drops", ONE),
    spec("squeezd/s", "softnet_squeezed", ONE),
    spec("proc", "forks", ONE),
    spec("cswch", "context_switches", ONE),
    spec("intr", "interrupts", ONE),
    spec("dropd", "softnet_drops", ONE),
    spec("squeezd", "softnet_squeezed", ONE),
    spec("interrupts", "interrupts", Total(1.0)),
    spec("CPU context switches", "context_switches", Total(1.0)),
    spec("forks", "forks", Total(1.0)),
];

/// What is behind the resource's letter is the share of this interval; -10, -60 and -300 are means.
const PRESSURE: &[Spec] = &[
    spec("%scpu", "some_ns", SHARE),
    spec("%sio", "some_ns", SHARE),
    spec("%smem", "some_ns", SHARE),
    spec("%fio", "full_ns", SHARE),
    spec("%fmem", "full_ns", SHARE),
    spec("some_avg", "some_ns", SHARE),
    spec("full_avg", "full_ns", SHARE),
];

/// Per cent of one CPU. As for CPUs, the kernel's user time has the guests' in it.
const PROCESS: &[Spec] = &[
    spec("%usr", "user_ns", SHARE),
    spec("%USR", "user_ns", SHARE),
    spec("%guest", "user_ns", SHARE),
    spec("%system", "system_ns", SHARE),
    spec("%SYS", "system_ns", SHARE),
    spec("%CPU", "", Redundant),
    spec("RSS", "resident_bytes", Gauge(1024.0)),
    spec("majflt/s", "major_faults", ONE),
    spec("kB_rd/s", "read_bytes", KIB),
    spec("kB_wr/s", "write_bytes", KIB),
    spec("threads", "threads", Gauge(1.0)),
    spec("NLWP", "threads", Gauge(1.0)),
];

impl Subject {
    /// All of them, those first whose headings are not to be mistaken.
    pub(super) const ALL: [Self; 9] = [
        Self::Process,
        Self::Disk,
        Self::Net,
        Self::Cpu,
        Self::Pressure,
        Self::Tcp,
        Self::Udp,
        Self::Memory,
        Self::System,
    ];

    /// Its columns in other tools.
    fn specs(self) -> &'static [Spec] {
        match self {
            Self::Cpu => CPU,
            Self::System => SYSTEM,
            Self::Memory => MEMORY,
            Self::Pressure => PRESSURE,
            Self::Disk => DISK,
            Self::Net => NET,
            Self::Tcp => TCP,
            Self::Udp => UDP,
            Self::Process => PROCESS,
        }
    }

    /// What a heading means.
    pub(super) fn of(self, header: &str) -> Vec<&'static Spec> {
        self.specs().iter().filter(|spec| spec.header == header).collect()
    }

    /// Columns without which there is no row.
    pub(super) fn required(self) -> &'static [&'static str] {
        match self {
            Self::Cpu => &["user_ns", "system_ns", "idle_ns"],
            Self::Net => &["rx_bytes", "tx_bytes"],
            _ => &[],
        }
    }

    /// May a row take its columns from several sections of a file? sar prints the traffic of a link and its errors
    /// (`-n EDEV`) under separate headings.
    pub(super) fn may_span_sections(self) -> bool {
        self == Self::Net
    }

    /// Name of the table.
    pub(super) fn table(self) -> &'static str {
        match self {
            Self::Cpu => rows::Cpu::NAME,
            Self::System => rows::System::NAME,
            Self::Memory => rows::Memory::NAME,
            Self::Pressure => rows::Pressure::NAME,
            Self::Disk => rows::Disk::NAME,
            Self::Net => rows::Net::NAME,
            Self::Tcp => rows::Tcp::NAME,
            Self::Udp => rows::Udp::NAME,
            Self::Process => rows::Process::NAME,
        }
    }
}

/// The subject that most of these headings belong to.
pub(super) fn subject_of(headers: &[&str]) -> Option<Subject> {
    let hits = |subject: &Subject| headers.iter().filter(|header| !subject.of(header).is_empty()).count();
    let best = Subject::ALL.into_iter().rev().max_by_key(hits)?;
    (hits(&best) > 0).then_some(best)
}

impl How {
    /// Does it fill a column of the table?
    pub(super) fn fills(self) -> bool {
        !matches!(self, Redundant)
    }
}
