//! What can be typed: the command line as clap sees it, after `vdbench_args` has put Vdbench's own forms right.

use crate::ab_args::AbArgs;
use crate::data_args::{InjectArgs, InspectArgs, VerifyArgs};
use crate::load_args::LoadArgs;
use crate::output_args::{AccessArgs, ForceArgs};
use crate::replay_args::ReplayArgs;
use crate::run_command_args::RunCommandArgs;
use crate::scan_args::ScanArgs;
use crate::speed_args::SpeedArgs;
use crate::stat_args::{StatArgs, StatClock};
use crate::top_args::TopArgs;
use crate::trace_args::TraceArgs;
use crate::validation_args::ValidationArgs;
use crate::view_args::{ChartArgs, CompareArgs, RepairArgs, ReportArgs};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// A dynamometer for storage and the servers around it.
#[derive(Debug, Parser)]
#[command(
    name = "iodyno",
    version,
    max_term_width = 100,
    after_help = "Start with `iodyno run FILE.vdb --dry-run`: it shows every run, its targets and its duration, without any I/O.\n\
                  Exit codes: 0 fine, 1 bug, 2 parameters, 3 target failed, 4 data wrong, 5 objective missed,\n\
                  6 recording or output incomplete, 7 refused to protect data, 8 privilege or kernel feature missing, 9 findings (diagnose),\n\
                  130 interrupted (results kept)."
)]
pub(crate) struct Cli {
    /// Memory limit; a command that needs more ends with exit code 6. Default: half of the free memory, at least
    /// 1 GiB; run, ab, replay and probe have no limit. record --flight, trace --until: memory for I/Os.
    #[arg(long, global = true, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a Vdbench parameter file, a fio job file, flags or a command: live lines, a recording, an HTML report.
    Run(Box<RunArgs>),
    /// Run two loads, or one on two targets, in turn (A B B A …) and say whether they differ.
    Ab(Box<AbArgs>),
    /// Convert a parameter file from Vdbench's language to fio's, or back.
    Convert(ConvertArgs),
    /// Write a completion script for a shell.
    Completions(CompletionsArgs),
    /// Trace every I/O of this machine's devices into a recording.
    Trace(Box<TraceArgs>),
    /// Replay a trace on other devices, on time, and report how faithful the replay was.
    Replay(Box<ReplayArgs>),
    /// Verify all of a target that validated loads wrote: who wrote what, when, and what is damaged.
    Verify(VerifyArgs),
    /// Show one place of a target field by field: who wrote it, whether it is right, which bits differ.
    Inspect(InspectArgs),
    /// Damage stamped blocks on purpose, to see what finds it, with a list of what was done.
    Inject(InjectArgs),
    /// (Re)write the HTML report of a recording.
    Report(ReportArgs),
    /// Compare recordings: figures with their ratios, charts on one axis, the counters that changed most.
    Compare(CompareArgs),
    /// Judge a recording by conditions: exit code 5 when a condition came true.
    Check(CheckArgs),
    /// Draw one view of a recording as SVG or PNG, or list the views.
    Chart(ChartArgs),
    /// Repair a damaged recording: keep its intact part, and say what is lost. Damaged files stay in its directory.
    Repair(RepairArgs),
    /// Write a table of a recording as CSV, JSON or Parquet, with percentiles.
    Export(ExportArgs),
    /// Read another tool's results (Vdbench, fio) or trace (blktrace, fio, MSR, …) into a recording.
    Import(ImportArgs),
    /// Make a small parameter file that behaves like a trace, and report how similar it is.
    Model(ModelArgs),
    /// Measure a directory tree, and write a Vdbench file that rebuilds one like it.
    Scan(ScanArgs),
    /// Watch this machine, a recording, or a collector: findings, resources, response times, files, processes.
    Top(TopArgs),
    /// Show counters of this machine per interval: net, disk, cpu, mem, tcp, udp, pressure, system, proc and others.
    Stat(Box<StatArgs>),
    /// Record the counters of this machine: until interrupted, for a time, or while a command runs.
    Record(RecordArgs),
    /// Find the problems of this machine or a recording, with evidence: exit code 9 when there is a finding.
    Diagnose(DiagnoseArgs),
    /// Show kernel events live: block I/O (`io`), files and page cache (`files`), CPU time by event (`cpu`),
    /// functions (`stacks`), answers of servers (`requests`).
    Probe(ProbeArgs),
    /// Query recordings with SQL (docs/query.md).
    Query(QueryArgs),
}

/// Arguments of `iodyno completions`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  iodyno completions bash > /etc/bash_completion.d/iodyno")]
pub(crate) struct CompletionsArgs {
    /// Which shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Arguments of `iodyno convert`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno convert nightly.fio -o nightly.vdb     the same plan in Vdbench's language\n  \
      iodyno convert oltp.vdb --to fio              in fio's, on standard output\n  \
      iodyno convert personality:varmail -o mail.vdb    a load that iodyno brings along, to be changed\n\n\
    Parts that the other language cannot express are listed on standard error and in the file (docs/fio.md).")]
pub(crate) struct ConvertArgs {
    /// Parameter files (read in order, as one file), and name=value for their variables.
    #[arg(required = true, value_name = "FILE|NAME=VALUE")]
    pub(crate) inputs: Vec<OsString>,
    /// Output file; its ending (.vdb, .fio) selects the language. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Language of the output; default: the other one.
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub(crate) to: Option<LanguageArg>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
}

/// A parameter language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LanguageArg {
    /// `sd=`, `wd=`, `rd=`.
    Vdbench,
    /// `[job]` sections.
    Fio,
}

/// Arguments of `iodyno run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno run oltp.vdb                               an existing parameter file, unchanged\n  \
      iodyno run nightly.fio                            an existing fio job file, unchanged\n  \
      iodyno run --name mix --filename /data/test --size 8g --rw randrw --bs 8k\n  \
                                                        fio's options as flags; --help lists all of them\n  \
      iodyno run oltp.vdb lun=/dev/nvme0n1 -e 60 -i 1   fill in $lun, 60 s per run, a line per second\n  \
      iodyno run oltp.vdb --dry-run                     show the plan; no I/O\n  \
      iodyno run oltp.vdb --dry-run --json | jq .plan.runs  the same plan for programs\n  \
      iodyno run oltp.vdb --json | jq .response_ns.p99  one object per interval\n  \
      iodyno run oltp.vdb --fail-if 'response_ns_p99 > 5ms'  an objective: exit code 5 when a run misses it\n  \
      iodyno run oltp.vdb --verify                      prove that what is written comes back: exit code 4 when not\n  \
      iodyno run personality:varmail anchor=/mnt/test   a mail server's work on a file system; 11 more: `iodyno run personality:`\n  \
      iodyno run -t                                     Vdbench's quick test on a 40 MB scratch file\n  \
      iodyno run oltp.vdb --repeat 5                    all runs five times, means with confidence intervals\n  \
      iodyno run oltp.vdb + iorate=max,elapsed=10       add to every rd=\n  \
      iodyno run pts:iops /dev/nvme1n1 --dry-run        SNIA's tests of SSDs: iops, throughput, latency, writesat (docs/pts.md)\n  \
      iodyno run --times 5 -- sort big.txt              a command, five times: time, CPU, memory and I/O (docs/commands.md)\n  \
      iodyno run --times 5 --vary threads=1,2,4 -- openssl speed -multi {threads} rsa2048    a run for each value\n\n\
    Vdbench's flags -f -o -e -i -w -r -s -l -t -t1 -t2 -tf and `+` work as in Vdbench; see docs/vdbench.md.\n\
    fio's options are in docs/fio.md.")]
pub(crate) struct RunArgs {
    /// Vdbench parameter files (read in order, as one file) or fio job files (- is standard input), or personality:NAME for
    /// a load that iodyno brings along (docs/personalities.md), and name=value for variables.
    #[arg(value_name = "FILE|NAME=VALUE")]
    pub(crate) inputs: Vec<OsString>,
    /// Parameter file; the same as naming it without -f.
    #[arg(short = 'f', long = "file", value_name = "FILE", num_args = 1..)]
    pub(crate) files: Vec<OsString>,
    /// Directory of the recording and the report; it must not exist. `NAME+` counts up, `NAME.tod` adds the time.
    #[arg(short, long = "recording", value_name = "DIR")]
    pub(crate) output: Option<OsString>,
    #[command(flatten)]
    pub(crate) fio: FioOutputArgs,
    #[command(flatten)]
    pub(crate) fio_reading: FioReadingArgs,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Override every run's measured time: seconds, or with a unit (30s, 10m, 2h).
    #[arg(short, long, value_name = "TIME")]
    pub(crate) elapsed: Option<String>,
    /// Override the reporting interval (1s, 100ms).
    #[arg(short, long, value_name = "TIME")]
    pub(crate) interval: Option<String>,
    /// Override the warm-up before the measured time.
    #[arg(short, long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// Show every run, its targets and its duration; no I/O. With --json the whole plan as one object (docs/json.md).
    #[arg(short = 's', long, visible_alias = "simulate")]
    pub(crate) dry_run: bool,
    /// Repeat all runs: N times, or for a time (-l 5, -l 30m), or until interrupted (-l alone).
    #[arg(short = 'l', long = "loop", value_name = "N|TIME", num_args = 0..=1, default_missing_value = "forever", require_equals = true)]
    pub(crate) repeat: Option<String>,
    /// Execute the whole list of runs N times, one round after the other, and report means with 95 % confidence
    /// intervals.
    #[arg(long = "repeat", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000), conflicts_with = "repeat")]
    pub(crate) rounds: Option<u64>,
    /// Vdbench's quick tests: -t 1k 50/50 at 100/s, -t1 the same with O_SYNC, -t2 writes at full speed, -tf file system.
    #[arg(short = 't', long = "quick", value_name = "1|2|d|f", num_args = 0..=1, default_missing_value = "", require_equals = true)]
    pub(crate) quick: Option<String>,
    /// Begin with the first run whose name begins with NAME; skip the runs before it.
    #[arg(short = 'r', long = "restart", value_name = "NAME")]
    pub(crate) restart: Option<String>,
    /// Text added to every rd= (Vdbench's `+ text`).
    #[arg(long = "add", value_name = "TEXT")]
    pub(crate) addition: Option<String>,
    /// Fail with exit code 5 when this comes true in a run: 'response_ns_p99{op=read} > 5ms for 10s',
    /// 'achieved < 0.99 * offered', 'errors > 0' (docs/objectives.md). May be given several times.
    #[arg(long, alias = "fail_if", value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Write the results of the objectives as JUnit XML, for CI. Replaces a file that iodyno wrote, and no other.
    #[arg(long, value_name = "FILE.xml")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) command: RunCommandArgs,
    #[command(flatten)]
    pub(crate) validation: ValidationArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// Print one JSON object per interval, and nothing else, on standard output (docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// Seed of every random choice: the same seed gives the same operations with the same data.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Write Vdbench's flatfile.html, totals.html, summary.html, histogram.html and status.html too (docs/flatfile.md).
    #[arg(long)]
    pub(crate) flatfile: bool,
    /// Do not write report.html at the end (`iodyno report DIR` writes it later).
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Flags of Vdbench that have no meaning here: accepted, reported once.
    #[arg(short = 'm', long = "jvms", value_name = "N", value_parser = digits, hide = true)]
    pub(crate) jvms: Option<String>,
    /// See `jvms`.
    #[arg(short = 'k', hide = true)]
    pub(crate) kstat: bool,
    /// See `jvms`.
    #[arg(short = 'p', value_name = "PORT", value_parser = digits, hide = true)]
    pub(crate) port: Option<String>,
    /// See `jvms`.
    #[arg(short = 'd', value_name = "N", value_parser = digits, hide = true)]
    pub(crate) debug: Vec<String>,
    /// See `jvms`.
    #[arg(long = "decimal", hide = true)]
    pub(crate) decimal: bool,
    /// Files of fsd=: -c deletes old ones first, -cy makes them before every run, -co does nothing else, -cn makes none
    /// (in place of format=).
    #[arg(short = 'c', value_name = "o|y|n", num_args = 0..=1, default_missing_value = "", require_equals = true)]
    pub(crate) clean: Option<String>,
    /// Data validation, as Vdbench's -v: everything that is written is stamped, what is read is checked, also before it is
    /// written again; a final run reads all that was written. -vr reads behind each write, -vw not before it, -vt keeps
    /// the times of each block. `validate=` in a file does the same (docs/vdbench.md).
    #[arg(short = 'v', value_name = "r|w|t", num_args = 0..=1, default_missing_value = "", require_equals = true)]
    pub(crate) validate: Vec<String>,
    /// The same with a journal, which outlives a crash: -j begins one, -jr goes on with that of an earlier run after
    /// checking all that it knows, -jro does nothing else. `journal=DIR` of an sd= is its place.
    #[arg(short = 'j', value_name = "r|ro", num_args = 0..=1, default_missing_value = "", require_equals = true)]
    pub(crate) journal: Vec<String>,
}

/// A number behind a flag of Vdbench's that means nothing here; anything else is another flag, misspelt.
fn digits(text: &str) -> Result<String, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        Ok(text.to_string())
    } else {
        Err("a number is needed; flags of several letters have two dashes".to_string())
    }
}

/// Arguments of `iodyno check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno check results/monday                                          with the objectives of the run\n  \
      iodyno check results/monday --fail-if 'response_ns_p99{op=read} > 5ms for 10s'\n  \
      iodyno check results/* --fail-if 'achieved < 0.99 * offered' --fail-if 'errors > 0'\n\n\
    Language of conditions: docs/objectives.md. Exit code 0: no condition came true, 5: one did (its objective is\n\
    missed), is undecided, or was judged in no run, 6: rows are missing, not judged.")]
pub(crate) struct CheckArgs {
    /// Recordings.
    #[arg(required = true, value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// A condition that must not come true in any run; may be given several times. Default: the objectives of the
    /// recording.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// One JSON object per run and condition on standard output (docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the results of the conditions as JUnit XML, for CI. Replaces a file that iodyno wrote, and no other.
    #[arg(long, value_name = "FILE.xml")]
    pub(crate) junit: Option<PathBuf>,
}

/// fio's flags that say what it prints, and where (docs/fio-output.md).
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FioOutputArgs {
    /// With fio's jobs: print the results as fio does into this file, at the end (a Vdbench file's --output is -o).
    #[arg(long = "output", value_name = "FILE", hide_short_help = true)]
    pub(crate) file: Option<OsString>,
    /// Print the results as fio does: normal, terse, json, json+, several with commas; without --output on standard
    /// output.
    #[arg(long, alias = "output_format", value_name = "FORMAT", hide_short_help = true)]
    pub(crate) output_format: Option<String>,
    /// fio's short form of --output-format terse.
    #[arg(long, hide_short_help = true)]
    pub(crate) minimal: bool,
    /// Add terse output after the other formats.
    #[arg(long, alias = "append_terse", hide_short_help = true)]
    pub(crate) append_terse: bool,
    /// Print the results during the run at this interval, each time with everything since the start, and again at the
    /// end.
    #[arg(long, alias = "status_interval", value_name = "TIME", hide_short_help = true)]
    pub(crate) status_interval: Option<String>,
    /// Version of terse, 2 to 5.
    #[arg(long, alias = "terse_version", value_name = "N", default_value = "3", hide_short_help = true)]
    pub(crate) terse_version: u8,
}

/// fio's flags that say what is read of job files (docs/fio.md).
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FioReadingArgs {
    /// Read only this section of the job files, and [global]; may be given several times.
    #[arg(long = "section", value_name = "NAME", hide_short_help = true)]
    pub(crate) sections: Vec<String>,
    /// Read the job files and exit: exit code 2 if they contain an error.
    #[arg(long, alias = "parse_only", hide_short_help = true)]
    pub(crate) parse_only: bool,
    /// Print the job files as a command line, and exit.
    #[arg(long, hide_short_help = true)]
    pub(crate) showcmd: bool,
    /// Treat warnings about job files as errors.
    #[arg(long, alias = "warnings_fatal", hide_short_help = true)]
    pub(crate) warnings_fatal: bool,
}

/// Arguments of `iodyno export`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("format").args(["csv", "json", "parquet", "flatfile"])),
    after_help = "Examples:\n  \
      iodyno export results/monday op_interval --csv > op_interval.csv\n  \
      iodyno export results/monday run_total --json | jq .response_ns_p99\n  \
      iodyno export results/monday sweep.repeats --csv       a table view: means with confidence intervals\n  \
      iodyno export results/monday disk --parquet -o disk.parquet\n  \
      iodyno export results/monday --flatfile -o monday-vdbench/    Vdbench's files, for scripts that parse them\n  \
      iodyno export results/monday --format fio-json -o monday.json      what fio would have printed, for scripts that parse it\n  \
      iodyno export prod.iodyno io --format blktrace -o t.blktrace.0     a trace for blkparse and btt\n\n\
    Tables and columns: docs/tables.md")]
pub(crate) struct ExportArgs {
    /// A recording.
    pub(crate) recording: PathBuf,
    /// Name of a table, or of a view that is a table; without it, list the tables.
    pub(crate) table: Option<String>,
    /// Comma-separated values with a header line (the default).
    #[arg(long)]
    pub(crate) csv: bool,
    /// One JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Parquet; needs -o.
    #[arg(long, requires = "output")]
    pub(crate) parquet: bool,
    /// Vdbench's flatfile.html, totals.html, summary.html, histogram.html and status.html into the folder named by -o
    /// (docs/flatfile.md).
    #[arg(long, requires = "output", conflicts_with = "table")]
    pub(crate) flatfile: bool,
    /// For another tool: a trace (table io) as blktrace (blkparse, btt), blkparse (its text), fio-iolog (fio --read_iolog);
    /// results as fio prints them: fio-json, fio-json+, fio-terse, fio-normal, fio-logs (into a directory, docs/fio-output.md).
    #[arg(long = "format", value_enum, value_name = "FORMAT", conflicts_with = "format")]
    pub(crate) other_format: Option<OtherFormat>,
    /// Output file; default: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
}

/// A format that other tools, or scripts made for them, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OtherFormat {
    /// blktrace's binary stream, version 7.
    Blktrace,
    /// blkparse's default text.
    Blkparse,
    /// fio's iolog, version 3.
    FioIolog,
    /// fio's `--output-format=json`.
    FioJson,
    /// fio's `--output-format=json+`: with all buckets.
    #[value(name = "fio-json+")]
    FioJsonPlus,
    /// fio's `--output-format=terse`, version 3.
    FioTerse,
    /// fio's `--output-format=normal`.
    FioNormal,
    /// fio's logs (`write_bw_log` and its kin), into the directory of -o.
    FioLogs,
}

/// Arguments of `iodyno record`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno record -o monday --for 1h          every counter of the machine, every second, for an hour\n  \
      iodyno record -- make -j8                 while a command runs; prints its cost\n  \
      iodyno record -d /var/lib/iodyno          for months: a recording a day, old ones thinned and removed (docs/record.md)\n  \
      iodyno record -d /var/lib/iodyno --flight     and the I/Os around each finding\n  \
      iodyno export monday net --csv            any table of it (docs/tables.md)")]
pub(crate) struct RecordArgs {
    /// Directory of the recording; it must not exist. Default: named by the time.
    #[arg(short, long, value_name = "DIR", conflicts_with = "directory")]
    pub(crate) output: Option<OsString>,
    /// Collect for months: one recording per day in this directory, switched at local midnight. The directory must be
    /// new, empty, or from an earlier run of the collector.
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) directory: Option<PathBuf>,
    /// With -d: accept a directory in which other users can write. The collector leaves files of others alone, which it
    /// knows by name, length and checksum, but those users can remove or replace recordings.
    #[arg(long, requires = "directory", conflicts_with_all = ["output", "command"])]
    pub(crate) allow_shared: bool,
    /// With -d: remove recordings that ended longer ago than this; 0 for never.
    #[arg(long, value_name = "TIME", default_value = "90d", requires = "directory", conflicts_with_all = ["output", "command"])]
    pub(crate) keep: String,
    /// With -d: keep the newest recordings that cover this time (never more than --keep), whatever the clock shows,
    /// --max-size demands and other files use. Only --min-free goes further, where the recordings themselves fill the
    /// disk.
    #[arg(long, value_name = "TIME", default_value = "7d", requires = "directory", conflicts_with_all = ["output", "command"])]
    pub(crate) keep_at_least: String,
    /// With -d: remove the oldest recordings until all together take no more than this, but none that --keep-at-least
    /// keeps; 0 for no limit.
    #[arg(long, value_name = "SIZE", default_value = "0", requires = "directory", conflicts_with_all = ["output", "command"])]
    pub(crate) max_size: String,
    /// With -d: remove the oldest recordings until this much is free on the disk; 0 for no limit. Where recordings
    /// take more of the disk than everything else, all but the newest complete one may be removed.
    #[arg(long, value_name = "SIZE", default_value = "1g", requires = "directory", conflicts_with_all = ["output", "command"])]
    pub(crate) min_free: String,
    /// With -d: thin recordings older than AGE to one sample per STEP; sums and maxima are kept. May be given several
    /// times; `none` for never.
    #[arg(long, value_name = "STEP:AGE", default_values = ["10s:2d", "5m:14d"], requires = "directory", conflicts_with_all = ["output", "command"])]
    pub(crate) thin: Vec<String>,
    /// Time between two samples.
    #[arg(short, long, value_name = "TIME", default_value = "1s")]
    pub(crate) interval: String,
    /// Sample every CPU 99 times a second (or HZ times) and record the functions that run: the table `profile`.
    #[arg(long, value_name = "HZ", num_args = 0..=1, require_equals = true, default_missing_value = "99", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) profile: Option<u32>,
    /// Also record the text of vmstat, iostat, mpstat, pidstat, nicstat and zpool iostat (those installed) in this
    /// directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) text: Option<PathBuf>,
    /// Serve the newest sample at http://ADDRESS/metrics as OpenMetrics, for Prometheus. :PORT accepts connections
    /// from this machine only; 0.0.0.0:PORT or [::]:PORT also from others: there is no password.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) export: Option<String>,
    /// With --export: also accept this name in the Host header of requests; may be given several times. Without it the
    /// loopback accepts only localhost, 127.0.0.1 and [::1], and any other address accepts every name.
    #[arg(long, value_name = "NAME", requires = "export")]
    pub(crate) export_host: Vec<String>,
    /// CPU time by the kernel's tick alone, or also by event, where the kernel permits it (docs/stat.md).
    #[arg(long, value_enum, default_value_t = StatClock::Both)]
    pub(crate) clock: StatClock,
    /// Also keep every I/O in memory, and write those around each finding to a recording of its own, beside the
    /// recording or in the directory of -d. Needs the privileges of `iodyno trace`.
    #[arg(long)]
    pub(crate) flight: bool,
    /// With --flight: time to write from before a finding opens; most findings open when their cause has lasted for
    /// 10 s.
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "flight")]
    pub(crate) before: String,
    /// With --flight: time to write from after it opens.
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "flight")]
    pub(crate) after: String,
    /// With --flight: maximum memory for I/Os (64 bytes each); default 512 MiB or 1/8 of the memory.
    #[arg(long, value_name = "SIZE", requires = "flight")]
    pub(crate) memory: Option<String>,
    /// Stop after this time.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) length: Option<String>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Run this command, and record while it runs.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Arguments of `iodyno diagnose`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno diagnose                            watches this machine for 30 s\n  \
      iodyno diagnose --live 5m --explain        longer, with every figure and threshold\n  \
      iodyno diagnose results/monday --json      a recording, for programs (docs/findings.md)\n  \
      iodyno diagnose -S eth0:200,wlan0:54hd     speeds of these links: 200 Mbit/s, and 54 Mbit/s half duplex\n  \
      iodyno diagnose --print-thresholds > mine.toml; iodyno diagnose --thresholds mine.toml\n\n\
    Exit code 0: no finding, 9: at least one (notes, and findings explained by another finding, do not count). A rule whose counters\n\
    were not recorded is silent. Rules and thresholds: docs/findings.md")]
pub(crate) struct DiagnoseArgs {
    /// A recording; default: this machine.
    pub(crate) recording: Option<PathBuf>,
    /// Watch this machine for this time.
    #[arg(long, value_name = "TIME", conflicts_with = "recording")]
    pub(crate) live: Option<String>,
    /// Show the figures and thresholds behind each finding.
    #[arg(short = 'x', long)]
    pub(crate) explain: bool,
    /// One JSON object with everything (docs/findings.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// A TOML file of thresholds; those missing from it keep their shipped values.
    #[arg(long, value_name = "FILE")]
    pub(crate) thresholds: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) links: SpeedArgs,
    /// Print the thresholds as a file for --thresholds, each explained, and exit.
    #[arg(long)]
    pub(crate) print_thresholds: bool,
}

/// Arguments of `iodyno query`, which are those of `iodyno-query`.
#[derive(Debug, Args)]
#[command(
    // Help comes from the program that is handed over to.
    disable_help_flag = true,
    after_help = "Examples:\n  \
      iodyno query results/monday \"select workload, sum(ops), percentile(response, 0.999) from op_interval group by 1\"\n  \
      iodyno query results/*                    a shell with completion\n\n\
    Runs the program iodyno-query (`make query` builds it); see its --help, and docs/query.md."
)]
pub(crate) struct QueryArgs {
    /// Recordings, the statement, and options of iodyno-query.
    #[arg(value_name = "RECORDING... [SQL]", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<std::ffi::OsString>,
}

/// Arguments of `iodyno import`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno import output/ -o old-monday             a Vdbench output folder\n  \
      iodyno import fio.json -o fio-monday            fio's --output-format=json or json+\n  \
      iodyno import mix_lat.1.log -o mix              fio's logs without it: all of that prefix\n  \
      iodyno import nvme0n1.blktrace.0 -o prod        a trace: blktrace's files of all CPUs\n  \
      iodyno import msr/ -o msr                       a folder of MSR's prxy_0.csv.gz …: one trace\n  \
      iodyno import io_traces.csv -o d -d 419 -d 725 --for 1h    an hour of two devices\n  \
      iodyno import gather/ -o old --start 2026-11-20 --interval 5s    vmstat, iostat, nicstat … of one machine\n  \
      iodyno import gather/ -o old --zone Europe/Berlin    its times are those of Berlin\n  \
      iodyno report old-monday\n\n\
    Results: vdbench, fio, fio-log. Text of other tools (counters, as `record` keeps them): nicstat, iostat, vmstat, mpstat-solaris,\n\
    sysstat (mpstat, pidstat, sar), sysstat-json (sadf -j), zpool-iostat, prstat, netstat, syslog, dtrace, ss, nfsstat, table. Traces (rows of the table io): blktrace, blkparse, fio-iolog, fio-iolog-waits, vdbench-flat, msr, alibaba, tencent,\n\
    systor17, fiu; larger than memory, and compressed with gzip as well.\n\n\
    Figures that the other tool did not record stay absent; the import and the report list them (docs/import.md).")]
pub(crate) struct ImportArgs {
    /// A file, or a folder of results, of the files of one trace, or of other tools' text.
    pub(crate) input: PathBuf,
    /// Directory of the recording; it must not exist.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Read the input as this format, instead of detecting it.
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,
    /// Traces: only this device, by its name in the import; may be given several times.
    #[arg(short, long = "device", value_name = "NAME")]
    pub(crate) devices: Vec<String>,
    /// Traces: begin this long after the beginning of the trace.
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Traces: import this length of time.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Text without a date: the day of its beginning; text without times: also the time of day (UTC, or in --zone).
    /// Default: worked out from the time of the file's last change.
    #[arg(long, value_name = "DAY[THH:MM:SS]")]
    pub(crate) start: Option<String>,
    /// Text without times: time between samples. Default: 1 s.
    #[arg(long, value_name = "TIME")]
    pub(crate) interval: Option<String>,
    /// Text and Vdbench's results: time zone of times that have no UTC offset: an offset (+02:00), a name
    /// (Europe/Berlin), `local` (this machine's) or Z. Default: Z.
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub(crate) zone: Option<String>,
    /// The text is part of a longer one: its first sample is an interval like the others, not the mean since boot.
    #[arg(long)]
    pub(crate) excerpt: bool,
    /// mpstat of Solaris with some CPUs only: number of CPUs of the machine. CPUs that are not printed are idle.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) cpus: Option<u32>,
    /// Text of several machines (a folder, a central log, sadf's JSON): import only this machine.
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
}

/// Arguments of `iodyno model`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno model prod.iodyno -o prod.vdb                      a recording of `iodyno trace`, or of `iodyno import`\n  \
      iodyno run prod.vdb lun=/dev/sdb --destroy /dev/sdb       on a device of the lab\n  \
      iodyno model msr/prxy_0.csv.gz -o prxy.vdb -t /data/img   any trace that `iodyno import` reads; a file as the target\n  \
      iodyno model prod.iodyno -d nvme0n1 --from 10m --for 5m   five minutes of one device, on standard output\n  \
      iodyno model prod.iodyno -o prod.vdb --json | jq '.figures[] | {figure, distance}'\n  \
      iodyno model prod.iodyno --compare replay.iodyno --compare run.iodyno >/dev/null\n  \
                                                                compare with the traces of a replay and of a run of the model\n\n\
    The file has at most 60 lines, no names of files or processes and no data: sizes, shares, ranges and rates only. Where the\n\
    trace has the process of each I/O, the busiest processes of a device have workloads of their own (p1_read, p2_write …).\n\
    The table at the end has the distance of the model from the trace and, as `unseen half`, how far a model fitted to the\n\
    first half alone is from the second half; `!` marks a distance above the limit in docs/model.md.")]
pub(crate) struct ModelArgs {
    /// A recording with a trace, or a trace that can be imported.
    pub(crate) input: PathBuf,
    /// Parameter file to write. Default: standard output, with the table on standard error.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Target device or file of the model; several for several devices, the busiest first. Default: variables ($lun,
    /// or $lun1 …), which `iodyno run FILE lun=/dev/sdb` sets.
    #[arg(short, long = "target", value_name = "PATH")]
    pub(crate) targets: Vec<PathBuf>,
    /// Only this device of the trace; may be given several times.
    #[arg(short, long = "device", value_name = "NAME")]
    pub(crate) devices: Vec<String>,
    /// Begin this long after the beginning of the trace.
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Use this length of time.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Separate workloads by device only, or also by process.
    #[arg(long, value_enum, default_value_t = ModelBy::Process)]
    pub(crate) by: ModelBy,
    /// Another trace to compare in the same table: of a replay, or of a run of the model; may be given several times.
    #[arg(long, value_name = "TRACE")]
    pub(crate) compare: Vec<PathBuf>,
    /// Read the trace as this format (of `iodyno import`), instead of detecting it.
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    /// Print one JSON object on standard output in place of the table; needs --output (docs/model.md).
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}

/// What separates the workloads of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ModelBy {
    /// The busiest processes of each device, the others together.
    Process,
    /// Devices.
    Device,
}

/// What `probe` looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProbeSubject {
    /// Block I/O: rates, asynchronous writes, sizes, response times, addresses.
    Io,
    /// Files by reads and by bytes, logical and physical, with the page cache's miss rate.
    Files,
    /// CPU time by event: running tasks, waiting tasks and the tasks that they wait for, time that interrupts take from
    /// tasks.
    Cpu,
    /// Functions, of programs and of the kernel, in which CPU time is spent.
    Stacks,
    /// How long the servers on TCP ports (--port) take for an answer, preempted meanwhile and not.
    Requests,
}

/// What rows of a probe are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProbeBy {
    /// Devices (io).
    Device,
    /// Processes.
    Process,
    /// Files.
    File,
    /// Mounted file systems (files).
    Fs,
    /// Operations (io).
    Op,
    /// CPUs (cpu).
    Cpu,
    /// Interrupts: time in each vector, and the processes from which it was taken (cpu).
    Irq,
    /// Preempted processes, and the processes that preempted them (cpu).
    Preempt,
}

/// Arguments of `probe`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  iodyno probe io                       rates of every device each second; Ctrl-C shows distributions\n  iodyno probe io 5s 12 --by process    the processes that do I/O, for a minute\n  iodyno probe files 10s 1              top files of ten seconds, and the miss rate\n  iodyno probe files --by fs --json     reads and writes per file system, for programs\n  iodyno probe cpu 5s --by irq          time in each interrupt, and from which process it was taken\n  iodyno probe cpu 10s 1 --cost         run times, waiting, preemption; and the cost of the probes themselves\n  iodyno probe stacks 10s 1             the functions in which programs spend their CPU time\n  iodyno probe stacks 30s 1 --folded > stacks.txt    for tools that draw flame graphs\n  iodyno probe requests --port 5432     how long that server takes from reading a request to writing the answer"
)]
pub(crate) struct ProbeArgs {
    /// Subject of the probe.
    #[arg(value_enum)]
    pub(crate) subject: ProbeSubject,
    /// Length of an interval (1s, 500ms; seconds without a unit).
    #[arg(default_value = "1s")]
    pub(crate) interval: String,
    /// Number of intervals; default: until interrupted.
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Subject of a row; default: device (io), file (files), every table (cpu).
    #[arg(long, value_enum)]
    pub(crate) by: Option<ProbeBy>,
    /// Number of rows, the busiest first.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
    /// stacks: samples per second of each CPU.
    #[arg(long, value_name = "N", default_value_t = trace::profile::HZ, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) hz: u32,
    /// stacks: print only one line `name;outermost;…;innermost count` per stack, at the end.
    #[arg(long, conflicts_with = "json")]
    pub(crate) folded: bool,
    /// requests: TCP ports of the servers to watch, at most 256.
    #[arg(long = "port", value_name = "PORT", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) ports: Vec<u16>,
    /// cpu, stacks, requests: measure the cost of the probes in the kernel, and print it at the end (this costs some
    /// CPU time).
    #[arg(long)]
    pub(crate) cost: bool,
    /// io: only this device or partition. May be given several times; default: all.
    #[arg(short, long = "device", value_name = "DEVICE")]
    pub(crate) devices: Vec<String>,
    /// io: only these operations: read, write, flush, discard, …. May be given several times.
    #[arg(long = "op", value_name = "OP", value_delimiter = ',')]
    pub(crate) ops: Vec<String>,
    /// io: only I/Os of this size (4k), or from one size to another (4k-64k, 1m-).
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
    /// Record it as well; the directory must not exist.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Print one JSON object per interval and one at the end, and nothing else, on standard output (docs/probe.md).
    #[arg(long)]
    pub(crate) json: bool,
}
