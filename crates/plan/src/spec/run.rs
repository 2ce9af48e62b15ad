//! One execution of a set of workloads.

use super::objective::Objective;
use super::rate::{Arrivals, OfferedRate};
use super::settings::ShellCommand;
use super::source::TextSpan;
use super::stop::StopCondition;
use super::target::TargetSpec;
use super::tree::TreeUse;
use super::workload::Workload;
use serde::{Deserialize, Serialize};

/// One execution of a set of workloads under one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Name as defined (`rd1`).
    pub name: String,
    /// Name with what the rate adds, as Vdbench prints it (`rd2_(50%)`); equal to `name` otherwise.
    pub title: String,
    /// Loop variables in the order of nesting, outermost first: `("xfersize", "8k")`.
    pub loops: Vec<(String, String)>,
    /// What runs at the same time.
    pub workloads: Vec<Workload>,
    /// Slots on each target, shared by all workloads there that have none of their own ([`Workload::depth`]); `None`:
    /// the target's own ([`TargetSpec::depth`]).
    #[serde(default)]
    pub depth: Option<u32>,
    /// How fast.
    pub rate: OfferedRate,
    /// The rate that Vdbench's `-s` prints for a run with a list of rates, where it is not the first of the list.
    #[serde(rename = "told_rate", default, skip_serializing_if = "Option::is_none")]
    pub simulated_rate: Option<OfferedRate>,
    /// How arrivals are spread in time when the rate is a number.
    pub arrivals: Arrivals,
    /// Measured time after the warm-up; `None`: until the work ends by itself (format, one pass to the end).
    pub elapsed_ns: Option<u64>,
    /// Full load before that, recorded, excluded from summaries.
    pub warmup_ns: u64,
    /// Length of a reporting interval.
    pub interval_ns: u64,
    /// Rest after the run.
    pub pause_ns: u64,
    /// Ends the run early.
    pub stop: StopCondition,
    /// What this run must achieve, besides [`Plan::objectives`](crate::Plan::objectives).
    pub objectives: Vec<Objective>,
    /// Commands before and after this run.
    pub start_commands: Vec<ShellCommand>,
    /// See `start_commands`.
    pub end_commands: Vec<ShellCommand>,
    /// This run fills the targets, sequentially, once.
    pub format: bool,
    /// Where it was defined.
    pub span: TextSpan,
}

impl Run {
    /// At full speed until its work ends by itself, with nothing before or behind it.
    #[must_use]
    pub fn new(name: &str, workloads: Vec<Workload>, interval_ns: u64) -> Self {
        Self {
            name: name.to_string(),
            title: name.to_string(),
            loops: Vec::new(),
            workloads,
            depth: None,
            rate: OfferedRate::Max,
            simulated_rate: None,
            arrivals: Arrivals::default(),
            elapsed_ns: None,
            warmup_ns: 0,
            interval_ns,
            pause_ns: 0,
            stop: StopCondition::default(),
            objectives: Vec::new(),
            start_commands: Vec::new(),
            end_commands: Vec::new(),
            format: false,
            span: TextSpan::default(),
        }
    }

    /// The workloads that do I/O at offsets.
    pub fn block_workloads(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.iter().filter(|workload| workload.load.is_blocks())
    }

    /// The workloads among which the run's rate is divided: all but commands.
    pub fn paced_workloads(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.iter().filter(|workload| workload.load.is_paced())
    }

    /// Does it execute commands and nothing else? Such a run has no rate.
    #[must_use]
    pub fn is_of_commands(&self) -> bool {
        !self.workloads.is_empty() && self.paced_workloads().next().is_none()
    }

    /// Does it work in trees?
    #[must_use]
    pub fn is_of_trees(&self) -> bool {
        self.workloads.iter().any(|workload| workload.load.tree().is_some())
    }

    /// The trees that it uses, each once, in the order of the workloads; destinations of copies too.
    #[must_use]
    pub fn tree_uses(&self) -> Vec<&TreeUse> {
        let mut found: Vec<&TreeUse> = Vec::new();
        for load in self.workloads.iter().filter_map(|workload| workload.load.tree()) {
            for one in load.uses.iter().chain(&load.destination) {
                if !found.iter().any(|known| known.tree == one.tree) {
                    found.push(one);
                }
            }
        }
        found
    }

    /// What the workloads with a rate of their own ask for together, in operations per second.
    pub fn own_rates(&self) -> f64 {
        self.workloads.iter().filter_map(|workload| workload.rate).sum()
    }

    /// Must shares, rates or priorities of its workloads hold also at full speed? Vdbench calls such a run controlled.
    #[must_use]
    pub fn is_controlled(&self) -> bool {
        let holds =
            |workload: &Workload| workload.share_fixed || workload.rate.is_some() || workload.priority.is_some();
        self.workloads.iter().any(holds)
    }

    /// What a run of `rate` operations per second leaves to the workloads without a rate of their own: they divide it by
    /// their [`Workload::share`]. 0 when the others take it all.
    pub fn shared_rate(&self, rate: f64) -> f64 {
        (rate - self.own_rates()).max(0.0)
    }

    /// What a run of `rate` operations per second offers in all. It is more than `rate` when the workloads' own rates are,
    /// or when no workload shares the rest.
    pub fn offered_rate(&self, rate: f64) -> f64 {
        let is_shared = self.paced_workloads().any(|workload| workload.rate.is_none());
        self.own_rates() + if is_shared { self.shared_rate(rate) } else { 0.0 }
    }

    /// What a run is said to offer, in operations per second, when `rate` is asked of it as a whole (`None`: nothing is); `None`
    /// when it goes as fast as it can. Where all workloads have rates of their own, no one goes at full speed.
    #[must_use]
    pub fn offered(&self, rate: Option<f64>) -> Option<f64> {
        let has_paced = self.paced_workloads().next().is_some();
        let all_own = has_paced && self.paced_workloads().all(|workload| workload.rate.is_some());
        rate.map(|rate| self.offered_rate(rate)).or_else(|| all_own.then(|| self.own_rates()))
    }

    /// Slots on a target that are shared by all workloads of the run without slots of their own.
    #[must_use]
    pub fn depth_of(&self, target: &TargetSpec) -> u32 {
        self.depth.unwrap_or(target.depth).max(1)
    }
}
