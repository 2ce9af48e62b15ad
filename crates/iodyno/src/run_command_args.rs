//! Arguments of `iodyno run -- PROGRAM`.

use clap::Args;
use std::ffi::OsString;

/// How a command is executed that stands behind `--`.
#[derive(Debug, Args)]
pub(crate) struct RunCommandArgs {
    /// Execute this program and measure it: real, user and system time, memory and I/O of each execution. `{name}` in its
    /// words stands for the value of a variable (--vary).
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
    /// With a command: executions that count (default 1).
    #[arg(long, value_name = "N", value_parser = times)]
    pub(crate) times: Option<u64>,
    /// With a command: executions before those that count.
    #[arg(long, value_name = "N", value_parser = warmups)]
    pub(crate) warmups: Option<u32>,
    /// With a command: a line for the shell once before the executions of each run, outside of their times; where it fails,
    /// the command ends.
    #[arg(long, value_name = "LINE")]
    pub(crate) setup: Option<String>,
    /// With a command: executions that end with another exit code than 0 count like the others.
    #[arg(long)]
    pub(crate) ignore_failure: bool,
    /// With a command: a line for the shell before each execution, outside of its time.
    #[arg(long, value_name = "LINE")]
    pub(crate) prepare: Option<String>,
    /// With a command: a variable and its values, threads=1,2,4; a run for each value, or combination of values. May be given
    /// several times.
    #[arg(long, value_name = "NAME=V1,V2,…")]
    pub(crate) vary: Vec<String>,
}

/// Most executions of a kind.
const EXECUTIONS_MAX: u32 = 1_000_000;

/// `--times`.
fn times(text: &str) -> Result<u64, String> {
    let help = "as many as fit are of parameter files: times=max beside elapsed=";
    let count = text.parse::<u32>().ok().filter(|count| (1..=EXECUTIONS_MAX).contains(count));
    count.map(u64::from).ok_or_else(|| format!("write a whole number from 1 to {EXECUTIONS_MAX}; {help}"))
}

/// `--warmups`.
fn warmups(text: &str) -> Result<u32, String> {
    let count = text.parse::<u32>().ok().filter(|count| *count <= EXECUTIONS_MAX);
    count.ok_or_else(|| format!("write a whole number from 0 to {EXECUTIONS_MAX}"))
}
