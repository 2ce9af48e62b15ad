//! Settings of a whole plan.

use super::source::TextSpan;
use super::validation::ValidationSettings;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Settings of a whole plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanSettings {
    /// Write every target once before the first run (`formatsds=yes`), `Some(false)`: never create or extend a file.
    pub format: Option<bool>,
    /// Transfer size of that format run.
    pub format_transfer_bytes: u64,
    /// The run ends when more operations than this have failed.
    pub errors_max: u64,
    /// A command to execute when the error limit is reached, as Vdbench's `data_errors=command`.
    pub errors_command: Option<String>,
    /// Commands before the first and after the last run.
    pub start_commands: Vec<ShellCommand>,
    /// See `start_commands`.
    pub end_commands: Vec<ShellCommand>,
    /// The run fails when the achieved share of a workload is further than this fraction from the asked one.
    pub skew_tolerance: Option<f64>,
    /// How often, or for how long, the whole list of runs is repeated.
    pub repeat: RunRepeat,
    /// Vdbench's `histogram=` bucket edges in nanoseconds by name; used for compatible output only.
    pub histograms: Vec<HistogramEdges>,
    /// A file polled once per interval whose first line ends a run (`monitor=`).
    pub monitor: Option<PathBuf>,
    /// All targets form one logical volume (`concatenatesds=yes`).
    pub concatenate: bool,
    /// Seed from which every random choice of the plan derives.
    pub seed: u64,
    /// The data of writes derives from `seed` too (`--seed`, `compressionseed=`), so that another execution writes the same
    /// bytes; otherwise each execution writes data of its own.
    #[serde(default)]
    pub is_data_seeded: bool,
    /// Workloads whose random choices vary from pass to pass ([`FileUse::varies`](crate::FileUse::varies)) have a seed of each execution's own in place
    /// of `seed` (fio's `randrepeat=0` without `randseed=`).
    #[serde(default)]
    pub is_seed_fresh: bool,
    /// What is to be proved of the data; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<ValidationSettings>,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self {
            format: None,
            format_transfer_bytes: 128 << 10,
            errors_max: 50,
            errors_command: None,
            start_commands: Vec::new(),
            end_commands: Vec::new(),
            skew_tolerance: None,
            repeat: RunRepeat::Times(1),
            histograms: Vec::new(),
            monitor: None,
            concatenate: false,
            seed: 0x10d7_0001,
            is_data_seeded: false,
            is_seed_fresh: false,
            validation: None,
        }
    }
}

impl PlanSettings {
    /// Takes the seed that a user gave, for all random choices and for the data.
    pub fn use_seed(&mut self, seed: Option<u64>) {
        if let Some(seed) = seed {
            (self.seed, self.is_data_seeded, self.is_seed_fresh) = (seed, true, false);
        }
    }
}

/// How often the list of runs is executed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum RunRepeat {
    /// This many times; 1 is the default.
    Times(u64),
    /// Again and again until this much time has passed, checked between runs.
    Nanoseconds(u64),
    /// Until interrupted.
    Forever,
}

/// Bucket edges under a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistogramEdges {
    /// `default`, `read`, `write`, …
    pub name: String,
    /// Upper edges in nanoseconds, ascending.
    pub edges_ns: Vec<u64>,
    /// Leave out empty buckets when printing.
    pub suppress: bool,
}

/// A shell command that the parameter file asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShellCommand {
    /// Command line, run by `/bin/sh -c`.
    pub line: String,
    /// Where its output goes: `log` (a file in the results folder), `cons` (also the console), `sum` (also the summary).
    pub output: String,
    /// Everything ends when the command fails (Vdbench's word `abort`).
    #[serde(default)]
    pub abort: bool,
    /// Where it was written.
    pub span: TextSpan,
}
