//! Executes programs: their time, usage, output and end, with nothing of them left behind.
//!
//! [`execute`] starts a [`plan::CommandLine`] in a process group of its own and returns when it has ended, or was ended because
//! its run was over. A program is started by `posix_spawn`, so the memory of this process is not copied for it. Its end is
//! noticed through a descriptor of the process (`pidfd`), so its real time ends with it; what it used is read while it is
//! a zombie. Processes that it left behind are ended with it: those of its group, and those that left the group, which become
//! children of this process because it is a *subreaper* meanwhile (`PR_SET_CHILD_SUBREAPER`).

mod descendants;
mod execution;
mod kept_output;
mod reaping;
mod starting;
mod usage;

#[cfg(test)]
mod tests;

pub use execution::{CommandEnd, ExecutedCommand, StopOrder, execute};
pub use kept_output::{KEPT_BYTES, KeptOutput};
pub use reaping::{ReapedChild, reap_ended};
pub use usage::{CommandIo, CommandUsage};
