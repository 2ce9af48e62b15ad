//! Arguments of `iodyno replay`.

use crate::exit::Failure;
use crate::output_args::AccessArgs;
use crate::validation_args::ValidationArgs;
use clap::Args;
use plan::Plan;
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
      iodyno replay prod.iodyno --map '*=/dev/sdb' --only reads --dry-run  show the plan; no I/O\n  \
      iodyno replay prod.iodyno --map nvme0n1=/dev/sdb --stamp             prove that what is written comes back\n\n\
    replay issues every I/O at its traced time, whatever the others do. The recording and its report say how late I/Os were\n\
    and how close the replay is to the trace (docs/replay.md). Best as root: it takes real-time priority and traces the targets."
)]
pub(crate) struct ReplayArgs {
    /// A recording of `iodyno trace` or `import`, or another tool's trace (`iodyno import --help` lists the formats).
    pub(crate) trace: PathBuf,
    /// Target of a traced device: DEVICE=TARGET, `*` for any text. Several devices (a,b=…) are placed one after the
    /// other, several targets (…=x,y) are one address space; TARGET@1g begins 1 GiB into it. May be given several
    /// times.
    #[arg(long = "map", value_name = "DEVICE=TARGET", required = true)]
    pub(crate) maps: Vec<String>,
    /// Format of the trace, instead of detecting it.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Traced time ÷ replayed time: 2 is twice as fast.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, conflicts_with = "rate")]
    pub(crate) speed: f64,
    /// Average rate of the I/Os that are played, instead of a speed.
    #[arg(long, value_name = "IOPS")]
    pub(crate) rate: Option<f64>,
    /// Issue each I/O after the previous completion in its thread and the thread's traced think time.
    #[arg(long)]
    pub(crate) closed: bool,
    /// Issue each I/O at once, as many in flight as --depth allows.
    #[arg(long)]
    pub(crate) asap: bool,
    /// Issue I/Os at traced times, but never before the previous completion in their thread.
    #[arg(long)]
    pub(crate) dependencies: bool,
    /// Maximum number of I/Os in flight; I/Os that wait for it are counted and reported.
    #[arg(long, value_name = "N", default_value_t = plan::replay::DEPTH, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub(crate) depth: u32,
    /// CPUs of the thread that plays, which the rest of iodyno avoids (0-1,3); idle ones are best (docs/replay.md).
    /// Default: the CPU with the fewest device interrupts of those that iodyno may use.
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// Begin at this time of the trace (10m).
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Play this length of time (5m).
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
    /// Take addresses modulo the size of the target, or this size.
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
    /// Used size of each target; a file is created or extended to it.
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// Play the trace N times, one after the other.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Play N copies at the same time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) copies: u32,
    /// With --copies: time between the beginnings of two copies.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) stagger: String,
    /// Uncompressed ÷ compressed of the data that is written, 1 or more.
    #[arg(long, value_name = "RATIO", default_value_t = 1.0)]
    pub(crate) compress_ratio: f64,
    /// All blocks ÷ unique blocks of the data that is written, 1 or more.
    #[arg(long, value_name = "RATIO", default_value_t = 1.0)]
    pub(crate) dedup_ratio: f64,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
    /// Use the page cache.
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Do not trace the targets: the replay is not compared with the trace at the device.
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
    /// Show the I/Os to play, their targets and the duration; no I/O on targets.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object per interval, and nothing else, on standard output (docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// Record only CPUs and the devices under the targets, not the other counters of the machine.
    #[arg(long)]
    pub(crate) no_counters: bool,
    /// Do not write report.html at the end.
    #[arg(long)]
    pub(crate) no_report: bool,
}

/// What is to be proved of the data: the flags of `iodyno run`. Its `--verify` is `--stamp` here, because `--no-verify` is about times.
#[derive(Debug, Args)]
pub(crate) struct StampArgs {
    /// Prove that what is written comes back (docs/validation.md): it is stamped, what is read of it is checked, and everything
    /// written is read once more at the end (sweep, the default), or not (reads). Exit code 4: data is wrong.
    #[arg(long, value_name = "sweep|reads", num_args = 0..=1, require_equals = true, default_missing_value = "sweep", value_parser = ["sweep", "reads"])]
    pub(crate) stamp: Option<String>,
    /// The same, and each block is read and checked before it is written.
    #[arg(long)]
    pub(crate) verify_before_write: bool,
    /// The same, and each block is read and checked right behind its write.
    #[arg(long)]
    pub(crate) verify_after_write: bool,
    /// With --stamp: keep a journal of what is written in DIR, on another device, which survives a crash (docs/journal.md).
    #[arg(long, value_name = "DIR", requires = "stamp")]
    pub(crate) journal: Option<PathBuf>,
    /// Go on with the journal that is there: what it says must be there is read first, then the trace is played.
    #[arg(long, requires = "journal")]
    pub(crate) recover: bool,
    /// Only read what the journal says must be there, and play nothing.
    #[arg(long, requires = "journal")]
    pub(crate) recover_only: bool,
    /// Power was cut, although this machine was not started again: what was not flushed may be lost.
    #[arg(long, requires = "journal")]
    pub(crate) after_crash: bool,
    /// The journal may lie on the device that it is about.
    #[arg(long, requires = "journal")]
    pub(crate) journal_same_device: bool,
}

impl StampArgs {
    /// Puts what was asked for into the plan.
    ///
    /// # Errors
    /// See [`ValidationArgs::apply`].
    pub(crate) fn apply(&self, plan: &mut Plan) -> Result<(), Failure> {
        let asked = ValidationArgs {
            verify: self.stamp.iter().cloned().collect(),
            verify_before_write: self.verify_before_write,
            verify_after_write: self.verify_after_write,
            verify_times: false,
            data_journal: self.journal.clone(),
            recover: self.recover,
            recover_only: self.recover_only,
            after_crash: self.after_crash,
            journal_same_device: self.journal_same_device,
        };
        asked.apply(plan)
    }
}
