//! Arguments of the commands that show recordings: `report`, `repair`, `compare`, `chart`.

use crate::output_args::ForceArgs;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `iodyno report`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  iodyno report results/monday          writes results/monday/report.html")]
pub(crate) struct ReportArgs {
    /// A recording.
    pub(crate) recording: PathBuf,
    /// Where to write it; default: report.html in the recording, which is written anew.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
}

/// Arguments of `iodyno repair`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  iodyno repair results/monday\n\n\
    What is damaged gets the name NAME.damaged-N and stays; docs/recording.md says what is kept.\n\
    Exit code 0: all rows are there, 6: rows are lost.")]
pub(crate) struct RepairArgs {
    /// A recording without a writer.
    pub(crate) recording: PathBuf,
}

/// Arguments of `iodyno compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno compare results/monday results/tuesday                 tables on the terminal\n  \
      iodyno compare results/monday results/tuesday -o page.html    the page as well, charts on one axis\n  \
      iodyno compare prod.iodyno replay-1 replay-2 -o page.html     a trace and its replays, as the kernel saw them\n  \
      iodyno compare a b --run rd3                                  one of several runs\n  \
      iodyno compare a b --fail-if 'iops worse than 5%' --junit r.xml   for CI: exit code 5 when it surely is\n  \
      iodyno compare ab-2026-11-26                                  both sides of what `iodyno ab` has run\n  \
      iodyno chart a compare.response_p99 --with b -o p99.png       one picture of it\n\n\
    Ratios are other \u{f7} first. Verdicts: \u{25b2} better, \u{25bc} worse, = the same within a bound, ? not resolved (with how long that would take).\n\
    Where both sides have four rounds or more (iodyno ab, run --repeat), these are the samples; else the seconds of the\n\
    runs, of which at least 120 are needed (docs/compare.md).\n\
    Exit code 0: shown, all conditions met; 5: one was missed, or is not decided; 6: rows are missing, nothing was judged.")]
pub(crate) struct CompareArgs {
    /// The recording that the others are held against.
    pub(crate) first: PathBuf,
    /// The others. None where the first is a directory of `iodyno ab`, which has both sides.
    #[arg(value_name = "OTHER")]
    pub(crate) others: Vec<PathBuf>,
    /// Write a page of it too.
    #[arg(short, long, value_name = "FILE.html")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    /// Only this run: its title, its number counted from 0, `first` or `last`.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

/// What a comparison must not show, and where it is said for programs.
#[derive(Debug, Default, Args)]
pub(crate) struct JudgeArgs {
    /// Fail with exit code 5 when this comes true: 'response_ns_p99 worse', 'iops worse than 5%', 'iops{run=rd1} changed',
    /// 'response_ns_mean not same within 5%' (docs/objectives.md). May be given several times.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// One JSON object per figure and per condition on standard output, and nothing else (docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// Write what came of the conditions as JUnit XML, for CI.
    #[arg(long, value_name = "FILE.xml", requires = "fail_if")]
    pub(crate) junit: Option<PathBuf>,
}

/// What is asked of a comparison.
#[derive(Debug, Args)]
pub(crate) struct QuestionArgs {
    /// Up to which difference two figures are the same: 5%.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) within: String,
    /// The figure that decides: iops, bytes_per_s, response_ns_mean, response_ns_p99, service_ns_p50, …; name it before you look. Default: the
    /// mean response time of what arrives by a schedule, else iops.
    #[arg(long, value_name = "MEASURE")]
    pub(crate) primary: Option<String>,
}

/// Arguments of `iodyno chart`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno chart results/monday --list                                    every view with what it shows\n  \
      iodyno chart results/monday run.response -o response.png\n  \
      iodyno chart results/monday disk.rate --run rd1 --dark -o rate.svg\n  \
      iodyno chart /var/lib/iodyno/2026-11-20 disk.response --select 'sd.*' --last 5m -o sd.png\n  \
      iodyno chart /var/lib/iodyno/2026-11-20 net.throughput --from 14:00 --to 14:30 -o net.png\n  \
      iodyno chart results/monday compare.iops --with results/tuesday -o iops.png\n  \
      iodyno chart /var/lib/iodyno disk.throughput --trend --limit 500MB/s -o growth.png\n  \
      iodyno chart --batch pictures.txt                                     many: a file of such commands, as they are printed")]
pub(crate) struct ChartArgs {
    /// A recording.
    #[arg(required_unless_present_any = ["batch", "trend"])]
    pub(crate) recording: Option<PathBuf>,
    /// Name of a view; see --list.
    #[arg(required_unless_present_any = ["list", "batch"])]
    pub(crate) view: Option<String>,
    /// Draw many: each line of FILE is a chart command as it is printed with every picture; `#` begins a remark.
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub(crate) batch: Option<PathBuf>,
    /// List the views.
    #[arg(long)]
    pub(crate) list: bool,
    /// Where to write it; the ending decides: .svg or .png. Default: VIEW.svg here.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    /// Whether a figure grows from day to day, and when it reaches its limit: RECORDING is a directory of daily recordings
    /// (or one of several, with --with), VIEW one of `iodyno chart --trend --list`. A picture with -o.
    #[arg(long, conflicts_with_all = ["run", "workload", "target"])]
    pub(crate) trend: bool,
    /// Only devices, interfaces, controllers, CPUs, pools or servers whose whole name matches this regular expression
    /// (`sda`, `sd.*`, `sda|sdb`); with --trend, the busiest of them.
    #[arg(long, value_name = "REGEX")]
    pub(crate) select: Option<String>,
    /// Only so much at the end: 90s, 5m, 2h; with --to, before that.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["from", "trend"])]
    pub(crate) last: Option<String>,
    /// Only from here: a time since the beginning (90s, 2h), a time of day (14:30), or a date and time (2026-11-20T14:30).
    #[arg(long, value_name = "TIME", conflicts_with = "trend")]
    pub(crate) from: Option<String>,
    /// Only to here.
    #[arg(long, value_name = "TIME", conflicts_with = "trend")]
    pub(crate) to: Option<String>,
    /// With --trend: what is not to be exceeded (80%, 500MB/s, 20k, 48GB); default: 100 %, all memory, the link's speed.
    #[arg(long, value_name = "VALUE", requires = "trend")]
    pub(crate) limit: Option<String>,
    /// With --trend: only recordings of this machine.
    #[arg(long, value_name = "NAME", requires = "trend")]
    pub(crate) host: Option<String>,
    /// With --trend: as JSON.
    #[arg(long, requires = "trend")]
    pub(crate) json: bool,
    /// For views named compare.*: another recording, held against the first; may be given several times.
    #[arg(long, value_name = "RECORDING")]
    pub(crate) with: Vec<PathBuf>,
    /// Only this run: its title, its number counted from 0, `first` or `last`.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Of views of runs, only this workload.
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Option<String>,
    /// Of views of runs, only this target; of servers, this one (`80 httpd`).
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,
    /// Width in pixels.
    #[arg(long, default_value_t = 960, value_parser = clap::value_parser!(u32).range(240..=8000))]
    pub(crate) width: u32,
    /// Height in pixels.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(160..=8000))]
    pub(crate) height: u32,
    /// Light on dark.
    #[arg(long)]
    pub(crate) dark: bool,
}
