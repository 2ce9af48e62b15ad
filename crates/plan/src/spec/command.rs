//! Kinds of load, and commands as load: programs that are started, timed and judged like operations.

use super::tree::TreeLoad;
use quantity::text::shell_word;
use serde::{Deserialize, Serialize};

/// What kind of work a workload does. Where it is [`Load::Blocks`], the fields of [`Workload`](crate::Workload) say what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Load {
    /// Reads, writes, trims and flushes at offsets of its targets.
    #[default]
    Blocks,
    /// Executions of a program. Such a workload has no targets: nothing is opened or protected for it.
    Command(Box<CommandLoad>),
    /// Operations on directories and files. Such a workload has no targets but trees.
    Tree(Box<TreeLoad>),
}

impl Load {
    /// Is it I/O at offsets? Also the word for serde: such a workload is written as it always was.
    #[must_use]
    pub fn is_blocks(&self) -> bool {
        *self == Self::Blocks
    }

    /// The commands, where it is these.
    #[must_use]
    pub fn command(&self) -> Option<&CommandLoad> {
        match self {
            Self::Command(load) => Some(load),
            Self::Blocks | Self::Tree(_) => None,
        }
    }

    /// What is done in trees, where it is that.
    #[must_use]
    pub fn tree(&self) -> Option<&TreeLoad> {
        match self {
            Self::Tree(load) => Some(load),
            Self::Blocks | Self::Command(_) => None,
        }
    }

    /// Does it have a part in the run's rate? Commands have none.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        self.command().is_none()
    }
}

/// A program and when it is executed. Executions of one workload never overlap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLoad {
    /// What is executed; variables of loops are in their places.
    pub line: CommandLine,
    /// Executed before each execution, outside of its time (drops caches, removes what the last one made); its failure is
    /// one of the execution.
    pub prepare: Option<CommandLine>,
    /// Executions at the beginning that no figure counts.
    pub warmups: u32,
    /// Executions that count, one behind the other, where `at_ns` is empty; `None`: as many as the run has time for.
    pub executions: Option<u64>,
    /// Moments since the measured time began (behind the warm-up) at which it is started, ns, ascending; one that comes while the execution before
    /// is still under way waits for its end, which is part of its response time. Empty: one behind the other.
    pub at_ns: Vec<u64>,
    /// An execution that ends with another exit code than 0 counts like any other, and is no failure.
    #[serde(default)]
    pub ignores_failure: bool,
    /// Executions before the load of the run begins, one behind the other, on the idle machine: what those at the
    /// moments of `at_ns` are compared with.
    pub baselines: u32,
}

/// How a program is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandLine {
    /// By `/bin/sh -c`.
    Shell(String),
    /// Directly: the program, looked up in `PATH` where it has no slash, and its arguments.
    Program(Vec<String>),
}

impl std::fmt::Display for CommandLine {
    /// As a shell would read it.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shell(line) => out.write_str(line),
            Self::Program(words) => {
                out.write_str(&words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "))
            }
        }
    }
}
