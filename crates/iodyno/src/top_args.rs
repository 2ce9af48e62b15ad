//! Arguments of `iodyno top`.

use crate::output_args::AccessArgs;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `iodyno top`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno top                        this machine, second by second; ? shows the keys\n  \
      iodyno top --interval 5s          the same every five seconds\n  \
      iodyno top /var/lib/iodyno/2026-11-20      a recording: ← → g n N go through it, b B set and find bookmarks, D compares two minutes\n  \
      iodyno top --attach /var/lib/iodyno        the recording that the collector there is writing\n  \
      iodyno top --attach db7:/var/lib/iodyno    the same on another host, through ssh\n  \
      iodyno top --once --size 160x50   the page once as text\n\n\
    As root the kernel's probes add response times of single I/Os, files, and the processes that wait for them; without root\n\
    the page says what is missing. A terminal of 80×24 is enough; top respects NO_COLOR. Without a terminal, use `iodyno stat`\n\
    or `iodyno diagnose`. docs/top.md explains every part of the page.")]
pub(crate) struct TopArgs {
    /// A recording to show, with a cursor in its time.
    #[arg(value_name = "RECORDING", conflicts_with = "attach")]
    pub(crate) recording: Option<PathBuf>,
    /// Show the current recording of a collector (`iodyno record -d DIR`); with HOST:DIR on another host, through
    /// ssh.
    #[arg(long, value_name = "[HOST:]DIR")]
    pub(crate) attach: Option<String>,
    /// Time between samples.
    #[arg(short, long, default_value = "1s", value_name = "TIME", conflicts_with = "attach")]
    pub(crate) interval: String,
    /// Print the page once as plain text, and exit.
    #[arg(long)]
    pub(crate) once: bool,
    /// Columns and rows of the text of --once.
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "80x24", requires = "once")]
    pub(crate) size: String,
    /// Do not load the kernel's probes.
    #[arg(long, conflicts_with = "attach")]
    pub(crate) no_probes: bool,
    /// Thresholds of findings, a TOML file (`iodyno diagnose --print-thresholds`).
    #[arg(long, value_name = "FILE")]
    pub(crate) thresholds: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
