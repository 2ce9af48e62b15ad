//! A stream of operations.

use super::address::AddressPattern;
use super::command::{CommandLine, CommandLoad, Load};
use super::content::WriteContent;
use super::job::Job;
use super::op_mix::OpMix;
use super::range::RangeBound;
use super::replay::Replay;
use super::source::TextSpan;
use super::target::{OpenFlags, TargetSpec};
use super::transfer_size::TransferSize;
use super::tree::TreeLoad;
use serde::{Deserialize, Serialize};

/// One stream of operations of one kind of shape on one or more targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name as defined (`wd1`).
    pub name: String,
    /// Indices into [`Plan::targets`](crate::Plan::targets); the workload's share is spread evenly over them.
    pub targets: Vec<usize>,
    /// Part of all operations of the run; the workloads' shares sum to 1.
    pub share: f64,
    /// True when `share` was asked for (`skew=`): it must then hold at maximum rate as well. When no workload of a
    /// run is marked, targets run free of each other at maximum rate.
    pub share_fixed: bool,
    /// A rate of its own (`iorate=` in the workload), served by `priority`. It is part of the run's rate, and the others share
    /// what it leaves ([`Run::shared_rate`](crate::Run::shared_rate)).
    pub rate: Option<f64>,
    /// 1 is served first; only with `rate`.
    pub priority: Option<u32>,
    /// Slots of its own on each of its targets, however many the other workloads there use; `None`: it shares those of
    /// the run ([`Run::depth`](crate::Run::depth)) or the target.
    pub depth: Option<u32>,
    /// What kind of work it is. The fields from `mix` to `replay` are those of blocks: other kinds leave them as
    /// [`Workload::of_commands`] has them.
    #[serde(default, skip_serializing_if = "Load::is_blocks")]
    pub load: Load,
    /// What it does.
    pub mix: OpMix,
    /// How large.
    pub transfer: TransferSize,
    /// How large writes are, when that is something else.
    pub write_transfer: Option<TransferSize>,
    /// How large trims are, when that is something else.
    pub trim_transfer: Option<TransferSize>,
    /// Where.
    pub address: AddressPattern,
    /// With what data.
    pub content: WriteContent,
    /// Pause between a completion and the next arrival of the same slot, closed loop only; outside response time.
    pub think_ns: u64,
    /// Overrides the target's flags.
    pub open: Option<OpenFlags>,
    /// Keeps to itself, with slots of its own.
    pub job: Option<Job>,
    /// It plays a trace: operations, addresses, sizes and times are the trace's.
    pub replay: Option<Box<Replay>>,
    /// Where it was defined.
    pub span: TextSpan,
}

/// In the place of a load that another one takes.
fn no_command() -> CommandLoad {
    CommandLoad {
        line: CommandLine::Program(Vec::new()),
        prepare: None,
        warmups: 0,
        executions: None,
        at_ns: Vec::new(),
        ignores_failure: false,
        baselines: 0,
    }
}

impl Workload {
    /// Executions of a command, which have no targets and no part in the run's rate.
    #[must_use]
    pub fn of_commands(name: String, load: CommandLoad, span: TextSpan) -> Self {
        Self {
            name,
            targets: Vec::new(),
            share: 0.0,
            share_fixed: false,
            rate: None,
            priority: None,
            depth: None,
            load: Load::Command(Box::new(load)),
            mix: OpMix { write: 0.0, ..OpMix::read_write(0.0) },
            transfer: TransferSize::Fixed(512),
            write_transfer: None,
            trim_transfer: None,
            address: AddressPattern::default(),
            content: WriteContent::default(),
            think_ns: 0,
            open: None,
            job: None,
            replay: None,
            span,
        }
    }

    /// Reads and writes at offsets of these targets, which have all of the run's rate.
    #[must_use]
    pub fn of_blocks(name: String, targets: Vec<usize>, span: TextSpan) -> Self {
        Self {
            targets,
            share: 1.0,
            load: Load::Blocks,
            mix: OpMix::read_write(1.0),
            ..Self::of_commands(name, no_command(), span)
        }
    }

    /// Operations in trees, which are no targets.
    #[must_use]
    pub fn of_tree(name: String, load: TreeLoad, span: TextSpan) -> Self {
        Self { share: 1.0, load: Load::Tree(Box::new(load)), ..Self::of_commands(name, no_command(), span) }
    }

    /// The transfer sizes that its operations have: of reads (and of everything without sizes of its own), writes, trims.
    pub fn transfers(&self) -> [&TransferSize; 3] {
        [
            &self.transfer,
            self.write_transfer.as_ref().unwrap_or(&self.transfer),
            self.trim_transfer.as_ref().unwrap_or(&self.transfer),
        ]
    }

    /// The largest transfer that can come.
    pub fn transfer_max_bytes(&self) -> u64 {
        let used = [self.mix.read, self.mix.write, self.mix.trim];
        let sizes = self.transfers().into_iter().zip(used).filter(|(_, share)| *share > 0.0);
        sizes.map(|(size, _)| size.max_bytes()).max().unwrap_or(0)
    }

    /// May its writes or trims begin or end inside of a sector of 512 bytes, on a target that allows it? Where that is not
    /// certain: yes. A replay's never do.
    pub fn splits_sectors(&self, target: &TargetSpec) -> bool {
        self.replay.is_none() && self.splits_blocks(target, 512)
    }

    /// May its writes or trims begin or end inside of a block of so many bytes? Where that is not certain: yes.
    pub fn splits_blocks(&self, target: &TargetSpec, block_bytes: u64) -> bool {
        let is_whole = |bytes: u64| bytes.is_multiple_of(block_bytes);
        let address = &self.address;
        let ranges = [address.range, address.hot_band, target.range];
        let bounds = ranges.into_iter().flatten().flat_map(|range| [range.low, range.high]);
        let are_bounds_whole = bounds.into_iter().all(|bound| match bound {
            RangeBound::Bytes(bytes) => is_whole(target.grain_bytes.unwrap_or(bytes)),
            RangeBound::Fraction(_) => true,
        });
        let steps = [address.align_bytes, target.align_bytes, Some(address.base_bytes), Some(target.offset_bytes)];
        let files = address.files.as_deref();
        let of_files = files.into_iter().flat_map(|files| {
            let align = files.align_bytes;
            [files.offset_bytes, files.gap_bytes.unsigned_abs(), files.smallest_bytes, align[0], align[1], align[2]]
        });
        let by_op = address.align_by_op.into_iter().flatten().chain(of_files);
        let strides = address.stride.into_iter().flat_map(|(low, high)| [low, high]);
        let are_steps_whole = steps.into_iter().flatten().chain(by_op).chain(strides).all(is_whole);
        let are_sizes_whole = self.transfers().into_iter().all(|size| size.is_in_steps_of(block_bytes));
        self.mix.changes_data() && (self.replay.is_some() || !(are_bounds_whole && are_steps_whole && are_sizes_whole))
    }

    /// Mean bytes per operation, flushes left out.
    pub fn transfer_mean_bytes(&self) -> f64 {
        let shares = [self.mix.read, self.mix.write, self.mix.trim];
        let sum: f64 = shares.iter().sum();
        let bytes: f64 = self.transfers().iter().zip(shares).map(|(size, share)| size.mean_bytes() * share).sum();
        if sum > 0.0 { bytes / sum } else { 0.0 }
    }
}
