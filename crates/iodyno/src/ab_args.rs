//! Arguments of `iodyno ab`.

use crate::load_args::LoadArgs;
use crate::output_args::AccessArgs;
use crate::view_args::{JudgeArgs, QuestionArgs};
use clap::Args;
use std::ffi::OsString;

/// Arguments of `iodyno ab`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno ab old.vdb new.vdb                                     two parameter files, six rounds of 30 s each\n  \
      iodyno ab oltp.vdb --a lun=/dev/nvme0n1 --b lun=/dev/nvme1n1  one file on two devices ($lun in it)\n  \
      iodyno ab oltp.vdb --a sched=none --b sched=kyber             one device set up in two ways: in the file\n  \
                                                                    startcmd=\"echo $sched > /sys/block/sdb/queue/scheduler\"\n  \
      iodyno ab nightly.fio --a DISK=/dev/sdb --b DISK=/dev/sdc     the same of a job file (${DISK} in it)\n  \
      iodyno ab old.vdb new.vdb --dry-run                           show the order, all targets and the time; no I/O\n  \
      iodyno ab oltp.vdb oltp.vdb                                   how much equal loads differ here; expect = or ?\n  \
      iodyno ab old.vdb new.vdb --fail-if 'iops worse' --junit r.xml   for CI: exit code 5 when B is certainly worse\n  \
      iodyno compare ab-2026-11-26T14-00-00.iodyno -o page.html     later: the same comparison again\n\n\
    One run of each is not enough: a drift between them looks like a difference. So the loads take turns, A B B A A B …, and the\n\
    rounds are the samples: 6 rounds of 30 s detect 5 % in nine of ten cases where figures move within seconds, and call equal\n\
    loads different in one of twenty (docs/compare.md). More rounds find smaller differences, longer rounds slower movements.\n\
    Each half of a round is a recording of its own, DIR/01-a, DIR/02-b, …, for every other command. Ctrl-C keeps the recordings\n\
    and compares the complete rounds. A round with a fault is left out with its partner, and another one is run (two at most).\n\n\
    Exit codes: 0 compared, whatever the result; 2 parameters; 3 a target failed, so that rounds are missing; 5 an objective was\n\
    missed; 6 a recording is incomplete; 7 refused to protect data; 8 privilege missing; 130 interrupted (results kept).")]
pub(crate) struct AbArgs {
    /// Files of A and of B, Vdbench's or fio's, or one for both; and name=value for variables of both. Where some stand
    /// between the two files, each side has those behind its own: A.vdb lun=/dev/sda B.vdb lun=/dev/sdb.
    #[arg(required = true, value_name = "A [B] [NAME=VALUE]")]
    pub(crate) inputs: Vec<OsString>,
    /// Variables of A only (of a job file, ${NAME}).
    #[arg(long, value_name = "NAME=VALUE", num_args = 1..)]
    pub(crate) a: Vec<OsString>,
    /// Variables of B only.
    #[arg(long, value_name = "NAME=VALUE", num_args = 1..)]
    pub(crate) b: Vec<OsString>,
    /// Number of rounds, each with both loads: at least 4; 6 to 8 detect 5 %.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(4..=1000))]
    pub(crate) rounds: u32,
    /// Measured time of every run in each half of a round: seconds, or with a unit; overrides the files. Below 30s
    /// there is no verdict.
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    pub(crate) elapsed: String,
    /// Override the reporting interval (1s, 100ms).
    #[arg(short, long, value_name = "TIME")]
    pub(crate) interval: Option<String>,
    /// Override the warm-up before each measured time.
    #[arg(short, long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// Directory of the recordings and the page; it must not exist. `NAME+` counts up, `NAME.tod` adds the time.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<OsString>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Show both loads, their targets, their order and their duration; no I/O.
    #[arg(short = 's', long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// Seed of every random choice of both loads. Each half of a round makes other choices, so no cache has them yet.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Do not write the page DIR/report.html at the end (`iodyno report DIR` writes it later).
    #[arg(long)]
    pub(crate) no_report: bool,
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}
