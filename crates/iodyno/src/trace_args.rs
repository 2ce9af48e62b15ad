//! Arguments of `iodyno trace`.

use crate::output_args::AccessArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `iodyno trace`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno trace -d nvme0n1 -o prod.iodyno --for 30m          every I/O of one disk\n  \
      iodyno trace --all --for 10s                              of all disks\n  \
      iodyno trace -d sda -d sdb --op write --comm postgres     the writes of one program\n  \
      iodyno trace --all --sample 1/64                          one I/O in 64, chosen by a hash\n  \
      iodyno export prod.iodyno io --csv                        the rows\n\n\
    Every I/O is one row of the table `io` (docs/trace.md). It needs root, or CAP_BPF and CAP_PERFMON, and\n\
    CAP_SYSLOG for the files of direct I/O;\n\
    without BPF, root traces through ftrace, which records less.")]
pub(crate) struct TraceArgs {
    /// Device or partition: a kernel name or a path. May be given several times.
    #[arg(short, long = "device", value_name = "DEVICE", required_unless_present_any = ["all", "until"], conflicts_with = "all")]
    pub(crate) devices: Vec<String>,
    /// All devices; the default of --until.
    #[arg(long)]
    pub(crate) all: bool,
    /// Directory of the recording; it must not exist. Default: trace-TIME.iodyno.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<std::ffi::OsString>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// How long (30s, 10m, 2h); default: until Ctrl-C.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Only these operations: read, write, flush, discard, write_zeroes, …. May be given several times.
    #[arg(long = "op", value_name = "OP", value_delimiter = ',')]
    pub(crate) ops: Vec<String>,
    /// Only I/Os of this size (4k), or from one size to another (4k-64k, 1m-).
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// Only processes with this id. May be given several times.
    #[arg(long = "pid", value_name = "PID", value_delimiter = ',')]
    pub(crate) pids: Vec<u32>,
    /// Only threads of this name (15 characters). May be given several times.
    #[arg(long = "comm", value_name = "NAME")]
    pub(crate) comms: Vec<String>,
    /// Only threads in this control group: its directory, or its path below /sys/fs/cgroup.
    #[arg(long = "cgroup", value_name = "PATH")]
    pub(crate) cgroups: Vec<PathBuf>,
    /// Trace one I/O in N, chosen by a hash; counts and rates are estimates for all I/Os (docs/trace.md).
    #[arg(long, value_name = "1/N")]
    pub(crate) sample: Option<String>,
    /// Also record reads and writes of files, per second, file and process, with misses of the page cache.
    #[arg(long)]
    pub(crate) files: bool,
    /// Do not look up the file of each I/O and the owner of write-back; costs less.
    #[arg(long, conflicts_with = "files")]
    pub(crate) no_files: bool,
    /// Buffer between kernel and consumer (16m, 1g); default by the devices (64 MiB for one that does not rotate), at
    /// most 1/64 of the memory.
    #[arg(long, value_name = "SIZE")]
    pub(crate) buffer: Option<String>,
    /// Interface of the kernel; default: bpf, or ftrace where BPF is not available. ftrace records neither files nor
    /// control groups (docs/trace.md).
    #[arg(long, value_enum, value_name = "WAY")]
    pub(crate) through: Option<ThroughArg>,
    /// Begin another recording (DIR-2, DIR-3, …) at this size (1g, 500mib) or age (1h, 30min). Both may be given.
    #[arg(long, value_name = "SIZE|TIME", conflicts_with = "until")]
    pub(crate) rotate: Vec<String>,
    /// Flight recorder: keep the trace in memory and write it only when this condition comes true, like 'response >
    /// 100ms' or 'rate{target=sda} < 50 for 5s' (docs/trace.md).
    #[arg(long, value_name = "CONDITION", conflicts_with = "files")]
    pub(crate) until: Option<String>,
    /// With --until: time to write from before the condition came true.
    #[arg(long, value_name = "TIME", default_value = "30s", requires = "until")]
    pub(crate) before: String,
    /// With --until: time to write from after it.
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "until")]
    pub(crate) after: String,
    /// With --until: end after N dumps; later ones are named DIR-2, DIR-3, ….
    #[arg(long, value_name = "N", default_value_t = 1, requires = "until", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) repeat: u64,
    /// With --until: maximum memory for records (64 bytes each); default 512 MiB or 1/8 of the memory; at most half
    /// of it.
    #[arg(long, value_name = "SIZE", requires = "until")]
    pub(crate) memory: Option<String>,
    /// Print one JSON object per second, and nothing else, on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The kernel interface that traces block I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThroughArg {
    /// BPF programs.
    Bpf,
    /// An instance of ftrace.
    Ftrace,
}
