//! Executes programs: their time, usage, output and end, with nothing of them left behind.
//!
//! [`execute`] starts a [`plan::CommandLine`] in a process group of its own and returns when it has ended, or was ended because
//! its run was over. Its end is noticed through a descriptor of the process (`pidfd`), so its real time ends with it; what it
//! used is read while it is a zombie. Processes that it left behind are ended with it: those of its group, and those that left
//! the group, which become children of this process because it is a *subreaper* meanwhile (`PR_SET_CHILD_SUBREAPER`).
//!
//! A [`CommandExecutor`] has that done by a small process of its own: a program's memory is known from a few megabytes on, and
//! what it started is ended even where iodyno is killed.

mod descendants;
mod execution;
mod executor;
mod executor_messages;
mod kept_output;
mod memory;
mod reaping;
mod serving;
mod starting;
mod usage;

#[cfg(test)]
mod tests;

pub use execution::{CommandEnd, ExecutedCommand, StopOrder, execute};
pub use executor::CommandExecutor;
pub use kept_output::{KEPT_BYTES, KeptOutput};
pub use memory::{InheritedMemory, fork_for};
pub use reaping::{ReapedChild, reap_ended};
pub use serving::serve_if_executor;
pub use usage::{CommandIo, CommandUsage};
