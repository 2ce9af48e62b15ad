//! A workload, and a run, that play a trace.

use super::address::AddressPattern;
use super::command::Load;
use super::content::WriteContent;
use super::op_mix::OpMix;
use super::rate::{Arrivals, OfferedRate};
use super::replay::Replay;
use super::run::Run;
use super::source::TextSpan;
use super::stop::StopCondition;
use super::transfer_size::TransferSize;
use super::workload::Workload;

impl Workload {
    /// A workload that does nothing but play a trace; its targets are to be filled in.
    #[must_use]
    pub fn replaying(replay: Replay, span: TextSpan) -> Self {
        Self {
            name: "replay".to_string(),
            targets: Vec::new(),
            share: 1.0,
            share_fixed: false,
            rate: None,
            priority: None,
            depth: None,
            mix: OpMix::read_write(1.0),
            transfer: TransferSize::Fixed(512),
            write_transfer: None,
            trim_transfer: None,
            address: AddressPattern::default(),
            content: WriteContent::default(),
            think_ns: 0,
            open: None,
            job: None,
            replay: Some(Box::new(replay)),
            load: Load::Blocks,
            span,
        }
    }
}

impl Run {
    /// A run of one workload that plays a trace to its end.
    #[must_use]
    pub fn of_replay(name: &str, workload: Workload) -> Self {
        Self {
            name: name.to_string(),
            title: name.to_string(),
            loops: Vec::new(),
            span: workload.span,
            workloads: vec![workload],
            depth: None,
            rate: OfferedRate::Max,
            simulated_rate: None,
            arrivals: Arrivals::default(),
            elapsed_ns: None,
            warmup_ns: 0,
            interval_ns: 1_000_000_000,
            pause_ns: 0,
            stop: StopCondition::default(),
            objectives: Vec::new(),
            start_commands: Vec::new(),
            end_commands: Vec::new(),
            format: false,
        }
    }
}
