//! Every table with counters, and what has rows in it.

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    Int(i64),
    Float(f64),
    Text(&'static str),
    Flag(bool),
}
use Cell::{Flag, Float, Int, Text};

/// A table with counters, and what has rows in it.
pub struct Case {
    pub table: &'static str,
    /// Names, numbers and gauges of each thing.
    pub things: &'static [&'static [(&'static str, Cell)]],
    /// It has rows only of what did something.
    pub is_sparse: bool,
}

const fn dense(table: &'static str, things: &'static [&'static [(&'static str, Cell)]]) -> Case {
    Case { table, things, is_sparse: false }
}

const fn sparse(table: &'static str, things: &'static [&'static [(&'static str, Cell)]]) -> Case {
    Case { table, things, is_sparse: true }
}

/// Processes that began long before the recording.
const OLD_NS: i64 = 5_000_000_000;

/// Every table with counters.
pub const CASES: &[Case] = &[
    dense("cpu", &[&[("cpu", Text("all"))], &[("cpu", Text("0"))], &[("cpu", Text("1"))]]),
    dense(
        "memory",
        &[&[
            ("total_bytes", Int(8 << 30)),
            ("free_bytes", Int(1 << 30)),
            ("available_bytes", Int(4 << 30)),
            ("cached_bytes", Int(3 << 30)),
            ("dirty_bytes", Int(5 << 20)),
            ("writeback_bytes", Int(1 << 20)),
            ("swap_total_bytes", Int(2 << 30)),
            ("swap_free_bytes", Int(1 << 30)),
        ]],
    ),
    dense("pressure", &[&[("resource", Text("cpu"))], &[("resource", Text("io"))]]),
    dense("system", &[&[("runnable", Int(3)), ("blocked", Int(1)), ("load_1m", Float(1.5))]]),
    dense(
        "disk",
        &[
            &[("device", Text("sda")), ("in_flight", Int(2))],
            &[("device", Text("nvme0n1")), ("in_flight", Int(0))],
            // As an import that does not tell the kinds apart.
            &[("device", Text("tape"))],
        ],
    ),
    sparse(
        "btrfs_device",
        &[&[("file_system", Text("vol")), ("device", Int(1))], &[("file_system", Text("vol")), ("device", Int(2))]],
    ),
    dense("zfs_arc", &[&[("size_bytes", Int(1 << 30)), ("max_bytes", Int(2 << 30))]]),
    dense(
        "zfs_pool",
        &[
            &[
                ("pool", Text("tank")),
                ("state", Text("ONLINE")),
                ("allocated_bytes", Int(3 << 30)),
                ("free_bytes", Int(1 << 30)),
            ],
            &[("pool", Text("pond")), ("state", Text("DEGRADED"))],
        ],
    ),
    sparse(
        "zfs_dataset",
        &[
            &[("pool", Text("tank")), ("dataset", Text("tank/a"))],
            &[("pool", Text("tank")), ("dataset", Text("tank/b"))],
        ],
    ),
    dense("nfs_mount", &[&[("mount", Text("/home"))], &[("mount", Text("/scratch"))]]),
    dense(
        "net",
        &[
            &[
                ("interface", Text("eth0")),
                ("speed_bits_per_s", Int(1_000_000_000)),
                ("full_duplex", Flag(true)),
                ("qdisc", Text("fq_codel")),
                ("qdisc_backlog_bytes", Int(4096)),
            ],
            &[("interface", Text("wlan0")), ("speed_bits_per_s", Int(300_000_000)), ("full_duplex", Flag(false))],
            &[("interface", Text("tun0"))],
        ],
    ),
    dense("tcp", &[&[("established", Int(12))]]),
    dense("udp", &[&[]]),
    dense("softnet", &[&[("cpu", Int(0))], &[("cpu", Int(1))]]),
    sparse(
        "nic_counter",
        &[
            &[("interface", Text("eth0")), ("name", Text("rx_missed"))],
            &[("interface", Text("eth0")), ("name", Text("tx_busy"))],
        ],
    ),
    sparse(
        "listener",
        &[
            &[
                ("address", Text("0.0.0.0")),
                ("port", Int(80)),
                ("inode", Int(7)),
                ("queue", Int(3)),
                ("backlog", Int(5)),
                ("gone", Flag(false)),
            ],
            &[
                ("address", Text("[::]")),
                ("port", Int(443)),
                ("inode", Int(8)),
                ("queue", Int(0)),
                ("backlog", Int(128)),
                ("gone", Flag(false)),
            ],
        ],
    ),
    sparse(
        "process",
        &[
            &[
                ("pid", Int(1001)),
                ("start_ns", Int(OLD_NS)),
                ("comm", Text("alpha")),
                ("threads", Int(4)),
                ("resident_bytes", Int(64 << 20)),
            ],
            &[
                ("pid", Int(1002)),
                ("start_ns", Int(OLD_NS + 1)),
                ("comm", Text("beta")),
                ("threads", Int(1)),
                ("resident_bytes", Int(3 << 20)),
            ],
        ],
    ),
    sparse(
        "thread",
        &[
            &[("pid", Int(1001)), ("tid", Int(1001)), ("start_ns", Int(OLD_NS)), ("comm", Text("alpha"))],
            &[("pid", Int(1001)), ("tid", Int(1011)), ("start_ns", Int(OLD_NS)), ("comm", Text("worker"))],
        ],
    ),
    sparse(
        "cgroup",
        &[
            &[("path", Text("/")), ("tasks", Int(9))],
            &[
                ("path", Text("/db")),
                ("cpu_limit", Float(1.5)),
                ("memory_bytes", Int(1 << 28)),
                ("memory_max_bytes", Int(1 << 30)),
                ("anonymous_bytes", Int(1 << 27)),
                ("file_bytes", Int(1 << 26)),
                ("tasks", Int(5)),
            ],
        ],
    ),
    sparse(
        "cgroup_io",
        &[&[("path", Text("/db")), ("device", Text("sda"))], &[("path", Text("/db")), ("device", Text("nvme0n1"))]],
    ),
    sparse(
        "interrupt",
        &[
            &[("kind", Text("irq")), ("vector", Text("24 nvme0q1")), ("cpu", Int(0))],
            &[("kind", Text("irq")), ("vector", Text("24 nvme0q1")), ("cpu", Int(1))],
            &[("kind", Text("softirq")), ("vector", Text("NET_RX")), ("cpu", Int(1))],
        ],
    ),
    sparse(
        "irq_time",
        &[
            &[("kind", Text("irq")), ("vector", Text("24 nvme0q1")), ("cpu", Int(0))],
            &[("kind", Text("irq")), ("vector", Text("24 nvme0q1")), ("cpu", Int(1))],
            &[("kind", Text("softirq")), ("vector", Text("NET_RX")), ("cpu", Int(1))],
        ],
    ),
    dense("cpu_event", &[&[("cpu", Text("all"))], &[("cpu", Text("0"))], &[("cpu", Text("1"))]]),
    sparse(
        "process_event",
        &[
            &[("pid", Int(1001)), ("start_ns", Int(OLD_NS)), ("parent", Int(1)), ("comm", Text("alpha"))],
            &[("pid", Int(1002)), ("start_ns", Int(OLD_NS + 1)), ("parent", Int(1)), ("comm", Text("beta"))],
        ],
    ),
    sparse(
        "preempted_by",
        &[&[("pid", Int(1001)), ("by_pid", Int(1002))], &[("pid", Int(1002)), ("by_pid", Int(1001))]],
    ),
    sparse(
        "stolen",
        &[
            &[("pid", Int(1001)), ("comm", Text("alpha")), ("kind", Text("irq")), ("vector", Text("24 nvme0q1"))],
            &[("pid", Int(1002)), ("comm", Text("beta")), ("kind", Text("softirq")), ("vector", Text("NET_RX"))],
        ],
    ),
    sparse(
        "io_error",
        &[
            &[("dev", Text("sda")), ("op", Text("read")), ("error", Int(5))],
            &[("dev", Text("nvme0n1")), ("op", Text("write")), ("error", Int(28))],
        ],
    ),
];

/// What has no counters, and stands beside those that have.
pub const BESIDE: &[Case] = &[
    dense("sample", &[&[("slowest", Text("disk"))]]),
    dense(
        "file_system",
        &[
            &[
                ("mount", Text("/data")),
                ("source", Text("/dev/sda")),
                ("kind", Text("btrfs")),
                ("device", Text("sda")),
                ("volume", Text("vol")),
                ("total_bytes", Int(100 << 30)),
                ("free_bytes", Int(40 << 30)),
                ("available_bytes", Int(35 << 30)),
                ("inodes", Int(1000)),
                ("inodes_free", Int(900)),
            ],
            &[("mount", Text("/home")), ("source", Text("server:/home")), ("kind", Text("nfs4"))],
        ],
    ),
];
