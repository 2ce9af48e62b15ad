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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) times: Option<u64>,
    /// With a command: executions before those that count.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) warmups: Option<u32>,
    /// With a command: a line for the shell before each execution, outside of its time.
    #[arg(long, value_name = "LINE")]
    pub(crate) prepare: Option<String>,
    /// With a command: a variable and its values, threads=1,2,4; a run for each value, or combination of values. May be given
    /// several times.
    #[arg(long, value_name = "NAME=V1,V2,…")]
    pub(crate) vary: Vec<String>,
}
