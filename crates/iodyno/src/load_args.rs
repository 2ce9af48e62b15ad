//! How a load is carried out: options that `run` and `ab` share.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use target::WritePolicy;

/// How a load is carried out, whatever it is.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Permit overwriting what is on this device or in this file; name it exactly. May be given several times.
    #[arg(long, value_name = "DEVICE|FILE")]
    pub(crate) destroy: Vec<PathBuf>,
    /// How I/O is issued; auto chooses per run and says why.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) engine: EngineArg,
    /// Worker threads of the engine; default: one per core.
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<usize>,
    /// Record of the machine only its CPUs and the devices under the targets, not the rest of its counters.
    #[arg(long)]
    pub(crate) no_counters: bool,
    /// Run the commands of a parameter file (cmd=, startcmd=, exec_prerun=, …) although it belongs to another user, or every user
    /// can write to it. --dry-run lists them.
    #[arg(long)]
    pub(crate) allow_commands: bool,
    /// Make a tree (format=) although its file system has less room than it needs: where data is compressed, or to see what happens
    /// when it is full.
    #[arg(long)]
    pub(crate) allow_full: bool,
}

impl LoadArgs {
    /// What the user allows; `never_create`: the plan makes no files.
    pub(crate) fn policy(&self, never_create: bool) -> WritePolicy {
        WritePolicy { destroy: self.destroy.clone(), never_create, may_overfill: self.allow_full }
    }
}

/// Choice of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// io_uring where the target and the kernel support it well, threads otherwise.
    Auto,
    /// io_uring.
    #[value(name = "io_uring", alias = "uring")]
    IoUring,
    /// One thread per queue slot with pread/pwrite.
    Sync,
}

impl EngineArg {
    /// As the session takes it.
    pub(crate) fn choice(self) -> session::EngineChoice {
        match self {
            Self::Auto => session::EngineChoice::Auto,
            Self::IoUring => session::EngineChoice::Uring,
            Self::Sync => session::EngineChoice::Sync,
        }
    }
}
