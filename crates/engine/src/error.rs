//! Why a run cannot start or go on.

use plan::generate::GenerateError;
use std::io;

/// An engine that cannot do what the run asks.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan asks for something impossible on this target.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// io_uring was demanded and cannot be had.
    #[error(
        "io_uring was asked for, but {0}; use --engine sync, or allow io_uring (kernel.io_uring_disabled, container seccomp)"
    )]
    NoUring(String),
    /// Something that only io_uring gives.
    #[error(
        "{0} need io_uring: leave --engine sync out, or allow io_uring (kernel.io_uring_disabled, container seccomp)"
    )]
    OnlyUring(&'static str),
    /// What only threads can do, with many operations in flight.
    #[error(
        "{why}; a run has a thread then for each of its {depth} operations in flight, more than {most}: lower the depth (iodepth=, threads=), or add stonewall"
    )]
    TooManyThreads {
        /// What needs threads.
        why: String,
        /// Operations in flight.
        depth: u32,
        /// The most.
        most: u32,
    },
    /// A target cannot be mapped into memory.
    #[error(transparent)]
    Mapping(#[from] mapping::MapError),
    /// A system call of the set-up failed.
    #[error("failed to {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The CPUs or NUMA nodes that the plan binds a thread to are not there, or switched off.
    #[error("a thread is to run on {what} {} (--cpus, cpus_allowed, numa_cpu_nodes), which is not there, or off; on are {}",
        words(.asked), words(.there))]
    NotThere {
        /// `cpu` or `node`.
        what: &'static str,
        /// Their numbers.
        asked: Vec<u32>,
        /// Those that are on.
        there: Vec<u32>,
    },
    /// The data of this cannot be proved.
    #[error("{what} cannot be validated: {why}")]
    NotValidated {
        /// A workload, or a run.
        what: String,
        /// Why not, and what to do.
        why: String,
    },
    /// A target of the run was not opened.
    #[error("target number {0} of the plan is not open; this is a bug")]
    NotOpen(usize),
    /// The file with the data to write.
    #[error("failed to read the pattern {path}: {source}")]
    Pattern {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl EngineError {
    /// Is a privilege or a kernel feature missing?
    #[must_use]
    pub fn is_privilege(&self) -> bool {
        matches!(self, Self::NoUring(_) | Self::OnlyUring(_))
    }

    /// Are the parameters wrong?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        matches!(self, Self::Generate(_) | Self::NotThere { .. } | Self::Pattern { .. } | Self::NotValidated { .. })
    }

    pub(crate) fn system(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action, source }
    }
}

fn words(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}
