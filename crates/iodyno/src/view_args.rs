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
    /// Output file; default: report.html in the recording, which is replaced.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
}

/// Arguments of `iodyno repair`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  iodyno repair results/monday\n\n\
    Damaged files stay, with the name NAME.damaged-N; docs/recording.md says what is kept.\n\
    Exit code 0: all rows are there, 6: rows are lost.")]
pub(crate) struct RepairArgs {
    /// A recording that is not being written.
    pub(crate) recording: PathBuf,
}

/// Arguments of `iodyno compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno compare results/monday results/tuesday                 tables on the terminal\n  \
      iodyno compare results/monday results/tuesday -o page.html    the page as well, charts on one axis\n  \
      iodyno compare prod.iodyno replay-1 replay-2 -o page.html     a trace and its replays, as seen by the kernel\n  \
      iodyno compare a b --run rd3                                  one of several runs\n  \
      iodyno compare a b --fail-if 'iops worse than 5%' --junit r.xml   for CI: exit code 5 when it is certainly worse\n  \
      iodyno compare ab-2026-11-26                                  both sides of a result of `iodyno ab`\n  \
      iodyno chart a compare.response_p99 --with b -o p99.png       one picture of it\n\n\
    Ratios are other \u{f7} first. Verdicts: \u{25b2} better, \u{25bc} worse, \u{2260} different, = the same within a bound, ? not resolved (with the\n\
    time that would resolve it), \u{2013} not judged (with the reason).\n\
    Where both sides have four rounds of 30 s or more (iodyno ab, run --repeat), rounds are compared; otherwise seconds, and each\n\
    run must have measured at least 120 of them (docs/compare.md).\n\
    Exit code 0: shown, all conditions met; 5: one was missed, is undecided or was never judged; 6: rows are missing, nothing was judged.")]
pub(crate) struct CompareArgs {
    /// The reference recording.
    pub(crate) first: PathBuf,
    /// The other recordings. None if the first is a directory of `iodyno ab`, which has both sides.
    #[arg(value_name = "OTHER")]
    pub(crate) others: Vec<PathBuf>,
    /// Also write the comparison as a page.
    #[arg(short, long, value_name = "FILE.html")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    /// Only this run: its title (`sort`, or with variables `sort threads=4`), its number counted from 0, `first` or `last`.
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
    /// Print one JSON object per figure and per condition, and nothing else, on standard output (docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the results of the conditions as JUnit XML, for CI.
    #[arg(long, value_name = "FILE.xml", requires = "fail_if")]
    pub(crate) junit: Option<PathBuf>,
}

/// What is asked of a comparison.
#[derive(Debug, Args)]
pub(crate) struct QuestionArgs {
    /// Two figures are the same up to this difference: 5%.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub(crate) within: String,
    /// The figure that decides: iops, bytes_per_s, response_ns_mean, response_ns_p99, service_ns_p50, …; choose it
    /// before you see the result. Default: the mean response time where operations arrive by a schedule, else iops.
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
      iodyno chart --batch pictures.txt                                     many: a file of such commands")]
pub(crate) struct ChartArgs {
    /// A recording.
    #[arg(required_unless_present_any = ["batch", "trend"])]
    pub(crate) recording: Option<PathBuf>,
    /// Name of a view; see --list.
    #[arg(required_unless_present_any = ["list", "batch"])]
    pub(crate) view: Option<String>,
    /// Draw many: each line of FILE is a chart command as printed with every picture; `#` begins a comment.
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub(crate) batch: Option<PathBuf>,
    /// List the views.
    #[arg(long)]
    pub(crate) list: bool,
    /// Output file; its ending selects the format: .svg or .png. Default: VIEW.svg in the current directory.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    /// Show whether a figure grows from day to day, and when it reaches its limit: RECORDING is a directory of daily
    /// recordings (or one of several, with --with), VIEW one of `iodyno chart --trend --list`. -o draws a picture.
    #[arg(long, conflicts_with_all = ["run", "workload", "target"])]
    pub(crate) trend: bool,
    /// Only devices, interfaces, controllers, CPUs, pools or servers whose whole name matches this regular expression
    /// (`sda`, `sd.*`, `sda|sdb`); with --trend, the busiest of them.
    #[arg(long, value_name = "REGEX")]
    pub(crate) select: Option<String>,
    /// Only this time at the end: 90s, 5m, 2h; with --to, before that.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["from", "trend"])]
    pub(crate) last: Option<String>,
    /// Only from this time: a time since the beginning (90s, 2h), a time of day (14:30), or a date and time
    /// (2026-11-20T14:30).
    #[arg(long, value_name = "TIME", conflicts_with = "trend")]
    pub(crate) from: Option<String>,
    /// Only to this time.
    #[arg(long, value_name = "TIME", conflicts_with = "trend")]
    pub(crate) to: Option<String>,
    /// With --trend: limit of the figure (80%, 500MB/s, 20k, 48GB); default: 100 %, all memory, the link's speed.
    #[arg(long, value_name = "VALUE", requires = "trend")]
    pub(crate) limit: Option<String>,
    /// With --trend: only recordings of this machine.
    #[arg(long, value_name = "NAME", requires = "trend")]
    pub(crate) host: Option<String>,
    /// With --trend: as JSON.
    #[arg(long, requires = "trend")]
    pub(crate) json: bool,
    /// For views named compare.*: another recording to compare with the first; may be given several times.
    #[arg(long, value_name = "RECORDING")]
    pub(crate) with: Vec<PathBuf>,
    /// Only this run: its title (`sort`, or with variables `sort threads=4`), its number counted from 0, `first` or `last`.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Views of runs: only this workload.
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Option<String>,
    /// Views of runs: only this target; of servers: this one (`80 httpd`).
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
