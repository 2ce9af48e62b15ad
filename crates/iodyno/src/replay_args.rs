//! Arguments of `iodyno replay`.

use crate::output_args::AccessArgs;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `iodyno replay`.
#[derive(Debug, Args)]
#[command(
    group(clap::ArgGroup::new("pace").args(["closed", "asap", "dependencies"])),
    after_help = "Examples:\n  \
      iodyno replay prod.iodyno --map nvme0n1=/dev/sdb                     on time, original addresses\n  \
      iodyno replay prod.iodyno --map '*=/data/img' --speed 2 --fold       twice as fast, onto a smaller target\n  \
      iodyno replay trace.csv --format msr --map 0=/dev/sdb --from 10m --for 5m\n  \
      iodyno replay prod.iodyno --map sda,sdb=/dev/x,/dev/y                two devices, one after the other, on two\n  \
      iodyno replay prod.iodyno --map '*=/dev/sdb' --only reads --dry-run  what would be played; no I/O\n\n\
    Every I/O is issued at its traced time, whatever the others do; how late, and how alike the replay was to the trace,\n\
    is in the recording and its report (docs/replay.md). Best as root: it takes real-time priority and traces the targets."
)]
pub(crate) struct ReplayArgs {
    /// A recording of `iodyno trace` or `import`, or another tool's trace (`iodyno import --help` lists the formats).
    pub(crate) trace: PathBuf,
    /// Which traced device goes where: DEVICE=TARGET, `*` for any text. Several devices (a,b=…) lie one after the other,
    /// several targets (…=x,y) are one address space; TARGET@1g begins 1 GiB into it. May be given several times.
    #[arg(long = "map", value_name = "DEVICE=TARGET", required = true)]
    pub(crate) maps: Vec<String>,
    /// The trace's format, when it is not to be found out.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Traced time ÷ replayed time: 2 is twice as fast.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, conflicts_with = "rate")]
    pub(crate) speed: f64,
    /// So many I/Os per second on average, instead of a speed: of those that are played.
    #[arg(long, value_name = "IOPS")]
    pub(crate) rate: Option<f64>,
    /// Each I/O after the completion that came before it in its thread, and the thread's traced think time.
    #[arg(long)]
    pub(crate) closed: bool,
    /// Each I/O at once, as many in flight as --depth allows.
    #[arg(long)]
    pub(crate) asap: bool,
    /// At traced times, but never before the completion that came before it in its thread.
    #[arg(long)]
    pub(crate) dependencies: bool,
    /// Most I/Os in flight; when it bites, that is counted and said.
    #[arg(long, value_name = "N", default_value_t = plan::replay::DEPTH, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub(crate) depth: u32,
    /// The thread that plays runs on these CPUs only, and the rest of iodyno keeps off them (0-1,3): an idle one is best
    /// (docs/replay.md). If it is not told: of those that iodyno may
    /// use, the one that devices have interrupted least.
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// Begin so far into the trace (10m).
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Play so much of it (5m).
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Only these kinds: reads, writes, discard, flush.
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Only I/Os of these processes, by number.
    #[arg(long = "pid", value_name = "PID", value_delimiter = ',')]
    pub(crate) pids: Vec<i32>,
    /// Only I/Os of processes of this name.
    #[arg(long = "comm", value_name = "NAME")]
    pub(crate) comms: Vec<String>,
    /// Only I/Os of this file; `*` stands for any text.
    #[arg(long = "file", value_name = "PATH")]
    pub(crate) files: Vec<String>,
    /// Addresses modulo the size of the target, or this.
    #[arg(long, value_name = "SIZE", num_args = 0..=1, default_missing_value = "0", require_equals = true)]
    pub(crate) fold: Option<String>,
    /// Multiply addresses by this; sizes stay.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) scale: f64,
    /// Add this to addresses (1g, -64m).
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) shift: Option<String>,
    /// Round addresses down to a multiple of this.
    #[arg(long, value_name = "SIZE")]
    pub(crate) align: Option<String>,
    /// Use so much of each target; a file is created or extended to it.
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// Play the trace so often, one after the other.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Play it so often at the same time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) copies: u32,
    /// With --copies: each begins so much after the one before.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) stagger: String,
    /// Uncompressed ÷ compressed of the data that is written, 1 or more.
    #[arg(long, value_name = "RATIO", default_value_t = 1.0)]
    pub(crate) compress_ratio: f64,
    /// All blocks ÷ unique blocks of the data that is written, 1 or more.
    #[arg(long, value_name = "RATIO", default_value_t = 1.0)]
    pub(crate) dedup_ratio: f64,
    /// Through the page cache.
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Do not trace the targets meanwhile: nothing is compared at the device.
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Permit overwriting what is on this device or in this file; name it exactly. May be given several times.
    #[arg(long, value_name = "DEVICE|FILE")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Directory of the recording and the report; it must not exist. Default: replay-TIME.iodyno.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<std::ffi::OsString>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Length of a reporting interval.
    #[arg(short, long, value_name = "TIME", default_value = "1s")]
    pub(crate) interval: String,
    /// Exit code 5 when the replay was not faithful.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show what would be played, on what, and how long it takes; no I/O on targets.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// One JSON object per interval on standard output, and nothing else there (docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// Record of the machine only its CPUs and the devices under the targets, not the rest of its counters.
    #[arg(long)]
    pub(crate) no_counters: bool,
    /// Do not write report.html at the end.
    #[arg(long)]
    pub(crate) no_report: bool,
}
