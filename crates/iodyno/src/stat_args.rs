//! Arguments of `iodyno stat`.

use crate::output_args::AccessArgs;
use crate::speed_args::SpeedArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `iodyno stat`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("form").args(["parseable", "csv", "json"])),
    after_help = "Examples:\n  \
      iodyno stat net 5 4                     one line per interface, every 5 s, four times\n  \
      iodyno stat net -p -i eth0 1            as `nicstat -p`: fields with colons between them\n  \
      iodyno stat net -S eth0:200fd           the speed of the link: 200 Mbit/s, full duplex\n  \
      iodyno stat disk -x -z                  all of iostat's columns; idle devices left out\n  \
      iodyno stat disk --percentiles -i sda   with p50, p95, p99, p99.9 and the longest of reads and writes (BPF)\n  \
      iodyno stat cpu --busy                  one line per CPU that is not idle\n  \
      iodyno stat proc 10 --pid 1234          CPU of one process to four digits\n  \
      iodyno stat cpu --each --clock both     the tick's figures beside those of events (BPF)\n  \
      iodyno stat listen -z                   listeners with a queue, or that drop connection requests, and their programs\n  \
      iodyno stat irq -z                      interrupts per second, and the CPU that takes most of each\n  \
      iodyno stat disk -r monday              the same of a recording, or of an import\n\n\
    Unlike iostat, the first lines cover the first interval, not the time since boot; --since-boot puts those first. Times are UTC. `?` means not known.")]
pub(crate) struct StatArgs {
    /// Counters to show.
    #[arg(value_enum)]
    pub(crate) subject: StatSubject,
    /// Time between two lines (1s, 500ms; seconds without a unit).
    #[arg(default_value = "1s")]
    pub(crate) interval: String,
    /// Number of lines; default: until interrupted.
    pub(crate) count: Option<u64>,
    /// Only these interfaces, devices, CPUs, programs, control groups, interrupts, pools, mounts; listeners by address:port, port
    /// or program.
    #[arg(short = 'i', long = "only", value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Show every column.
    #[arg(short = 'x', long)]
    pub(crate) extended: bool,
    /// Leave out idle rows.
    #[arg(short = 'z', long)]
    pub(crate) skip_idle: bool,
    /// For programs: seconds since 1970, name, figures, with colons between (nicstat's fields for net, tcp, udp).
    #[arg(short = 'p', long)]
    pub(crate) parseable: bool,
    /// Comma-separated, every figure.
    #[arg(long)]
    pub(crate) csv: bool,
    /// One JSON object per line (docs/stat.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// Begin with the mean since boot.
    #[arg(long)]
    pub(crate) since_boot: bool,
    /// Record it as well; the directory must not exist.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Show all samples of a recording (also an imported one) instead of this machine.
    #[arg(short, long, value_name = "RECORDING", conflicts_with_all = ["output", "since_boot", "list", "interval", "count"])]
    pub(crate) recording: Option<PathBuf>,
    /// net: TCP instead of interfaces.
    #[arg(short = 't', long = "with-tcp")]
    pub(crate) tcp: bool,
    /// net: UDP instead of interfaces.
    #[arg(short = 'u', long = "with-udp")]
    pub(crate) udp: bool,
    /// net: TCP, UDP and interfaces with every column.
    #[arg(short = 'a', long)]
    pub(crate) all: bool,
    /// net: list the interfaces with speed, duplex and state, and exit.
    #[arg(short = 'l', long)]
    pub(crate) list: bool,
    /// net: only received and sent volume.
    #[arg(short = 's', long)]
    pub(crate) summary: bool,
    /// net: leave out the loopback interface.
    #[arg(short = 'n', long)]
    pub(crate) no_loopback: bool,
    /// net: volume in Mbit/s (10⁶ bit).
    #[arg(short = 'M', long)]
    pub(crate) megabits: bool,
    /// net: utilisation per direction.
    #[arg(short = 'U', long)]
    pub(crate) both_directions: bool,
    #[command(flatten)]
    pub(crate) links: SpeedArgs,
    /// cpu, proc: tick: sampled by the clock's tick (columns marked ~); both: also exact times, by events of the
    /// scheduler and of interrupts (BPF), which see work between two ticks.
    /// irq: with the time in handlers.
    #[arg(long, value_enum, default_value_t = StatClock::Tick)]
    pub(crate) clock: StatClock,
    /// cpu: one line per CPU; irq: one per vector and CPU; pool: also the parts of pools (imports).
    #[arg(long)]
    pub(crate) each: bool,
    /// cpu: one line per CPU that was not idle.
    #[arg(long)]
    pub(crate) busy: bool,
    /// disk: also percentiles of the response times of reads and writes (p50, p95, p99, p99.9, the longest; BPF).
    #[arg(long)]
    pub(crate) percentiles: bool,
    /// proc: only this process.
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<i64>,
    /// proc: CPU time in per cent of all CPUs together instead of one; for people only.
    #[arg(long, conflicts_with = "seconds")]
    pub(crate) of_system: bool,
    /// proc: CPU time in seconds of the interval; for people only.
    #[arg(long)]
    pub(crate) seconds: bool,
    /// proc, cgroup, irq: number of rows, the busiest first.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
}

/// Where CPU time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatClock {
    /// Whole ticks, charged to the task that the timer finds running.
    Tick,
    /// Both, and their difference.
    Both,
}

/// Subjects of `iodyno stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatSubject {
    /// Network interfaces, as nicstat.
    Net,
    /// TCP (`listen` has each listener).
    Tcp,
    /// UDP.
    Udp,
    /// Block devices, as iostat -x.
    Disk,
    /// CPUs, as mpstat.
    Cpu,
    /// Memory and paging, as vmstat.
    #[value(alias = "memory")]
    Mem,
    /// Pressure stall information.
    Pressure,
    /// Run queue, context switches, interrupts, input queues.
    System,
    /// Processes, as pidstat.
    #[value(alias = "process")]
    Proc,
    /// Control groups: CPU time and its limits, memory, I/O, pressure.
    Cgroup,
    /// Interrupts by vector, with the CPU that takes most of each.
    Irq,
    /// Pools of ZFS, as zpool iostat.
    Pool,
    /// Mounted file systems, as df, with the activity of their devices.
    Fs,
    /// TCP sockets that listen, as ss -ltn, with their dropped requests and their processes.
    #[value(alias = "listener")]
    Listen,
}
