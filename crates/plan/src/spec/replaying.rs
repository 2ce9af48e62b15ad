//! A workload, and a run, that play a trace.

use super::address::AddressPattern;
use super::command::Load;
use super::content::WriteContent;
use super::op_mix::OpMix;
use super::replay::Replay;
use super::run::Run;
use super::source::TextSpan;
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
        let span = workload.span;
        Self { span, ..Self::new(name, vec![workload], 1_000_000_000) }
    }
}
