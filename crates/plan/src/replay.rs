//! What of a trace is played again, where, and when: the wish ([`Replay`]), and [`Mapper`], which turns traced I/Os
//! into operations on targets. No I/O.

mod chains;
mod mapper;

pub use chains::Chains;
pub use mapper::{Changes, LATE_NS, Mapper, Source, Traced, VolumeSize};

use crate::generate::Op;
use crate::{Address, Arrivals, Content, OpMix, Rate, Run, Span, Stop, TransferSize, Workload};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A trace, played again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// A recording with a trace, or a trace of another tool.
    pub trace: PathBuf,
    /// Its format, when it is not to be found out.
    pub format: Option<String>,
    /// Address spaces that traced devices go to, by number.
    pub volumes: Vec<ReplayVolume>,
    /// Which device goes where; the first that fits a device counts, devices that fit none are left out.
    pub maps: Vec<DeviceMap>,
    /// When operations are due.
    pub pacing: Pacing,
    /// Traced time ÷ replayed time.
    pub speed: Speed,
    /// Most operations in flight.
    pub depth: u32,
    /// CPUs that the thread which plays may run on; empty: any.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Leave out what was queued before this time of the trace.
    pub from_ns: u64,
    /// Leave out what was queued so long after that.
    pub for_ns: Option<u64>,
    /// Which I/Os.
    pub filter: ReplayFilter,
    /// What happens to addresses.
    pub addresses: AddressRules,
    /// How often the trace is played, one after the other.
    pub repeat: u32,
    /// So many at the same time, each beginning `stagger_ns` after the one before.
    pub copies: u32,
    /// See `copies`.
    pub stagger_ns: u64,
    /// A device that several maps fit is played on each of them, each `stagger_ns` after the one before.
    pub duplicate: bool,
    /// Trace the targets meanwhile, and compare.
    pub verify: bool,
}

impl Replay {
    /// Everything of a trace, on time, with its own addresses; no targets yet.
    #[must_use]
    pub fn new(trace: PathBuf) -> Self {
        Self {
            trace,
            format: None,
            volumes: Vec::new(),
            maps: Vec::new(),
            pacing: Pacing::OnTime,
            speed: Speed::Factor(1.0),
            depth: DEPTH,
            cpus: Vec::new(),
            from_ns: 0,
            for_ns: None,
            filter: ReplayFilter::default(),
            addresses: AddressRules::default(),
            repeat: 1,
            copies: 1,
            stagger_ns: 0,
            duplicate: false,
            verify: true,
        }
    }

    /// May it change the targets?
    #[must_use]
    pub fn writes(&self) -> bool {
        [Op::Write, Op::Trim].into_iter().any(|op| self.filter.takes_op(op))
    }
}

impl Workload {
    /// A workload that does nothing but play a trace; its targets are to be filled in.
    #[must_use]
    pub fn replaying(replay: Replay, span: Span) -> Self {
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
            address: Address::default(),
            content: Content::default(),
            think_ns: 0,
            open: None,
            job: None,
            replay: Some(Box::new(replay)),
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
            rate: Rate::Max,
            told_rate: None,
            arrivals: Arrivals::default(),
            elapsed_ns: None,
            warmup_ns: 0,
            interval_ns: 1_000_000_000,
            pause_ns: 0,
            stop: Stop::default(),
            objectives: Vec::new(),
            start_commands: Vec::new(),
            end_commands: Vec::new(),
            format: false,
        }
    }
}

/// Operations in flight at most, unless asked for otherwise.
pub const DEPTH: u32 = 1024;

/// Targets as one address space, each beginning at a whole MiB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayVolume {
    /// Indices into [`Plan::targets`](crate::Plan::targets).
    pub targets: Vec<usize>,
}

/// Where a traced device goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceMap {
    /// Its name in the trace; `*` stands for any text.
    pub device: String,
    /// Index into [`Replay::volumes`].
    pub volume: usize,
    /// Where its region of the volume begins: added to its addresses, and nothing of it comes before.
    pub base_bytes: u64,
    /// It is one of several that lie one after the other in the volume, in the order of the maps, each as long as its
    /// addresses reach in the trace.
    pub packed: bool,
}

/// When operations are due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pacing {
    /// At their traced times, whatever the others do.
    #[default]
    OnTime,
    /// After the completion that came before them in their thread, and the time that the thread took then.
    Closed,
    /// At once, in the order of the trace.
    Asap,
    /// At their traced times, but never before the completion that came before them in their thread.
    Dependencies,
}

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Speed {
    /// 2.0: twice as fast.
    Factor(f64),
    /// So many I/Os per second on average.
    PerSecond(f64),
}

/// Which I/Os of a trace are taken; an empty list takes all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayFilter {
    /// Kinds.
    pub ops: Vec<ReplayOp>,
    /// Processes by number.
    pub pids: Vec<i32>,
    /// Processes by name.
    pub comms: Vec<String>,
    /// Files, `*` stands for any text.
    pub files: Vec<String>,
}

impl ReplayFilter {
    /// Is this kind taken?
    #[must_use]
    pub fn takes_op(&self, op: Op) -> bool {
        self.ops.is_empty() || self.ops.iter().any(|one| one.op() == op)
    }
}

/// [`Op`], as it stands in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplayOp {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Discards.
    Trim,
    /// Flushes.
    Flush,
}

impl ReplayOp {
    /// The kind.
    #[must_use]
    pub fn op(self) -> Op {
        match self {
            Self::Read => Op::Read,
            Self::Write => Op::Write,
            Self::Trim => Op::Trim,
            Self::Flush => Op::Flush,
        }
    }
}

/// What happens to traced addresses, in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddressRules {
    /// Addresses are multiplied by this; sizes stay.
    pub scale: f64,
    /// Added after that.
    pub shift_bytes: i64,
    /// Rounded down to a multiple of this; the target's block anyway.
    pub align_bytes: Option<u64>,
    /// Modulo this; `Some(0)`: modulo the size of the volume from the beginning of the device's region on.
    pub fold_bytes: Option<u64>,
    /// What lies in the first 4 KiB goes to the second (Vdbench leaves the first block alone).
    pub skip_first_block: bool,
}

impl Default for AddressRules {
    fn default() -> Self {
        Self { scale: 1.0, shift_bytes: 0, align_bytes: None, fold_bytes: None, skip_first_block: false }
    }
}

/// One operation of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayIo {
    /// When it is due, ns after the start of the run.
    pub due_ns: u64,
    /// Byte in the target.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
    /// Index into [`Plan::targets`](crate::Plan::targets).
    pub target: u32,
    /// What.
    pub op: Op,
    /// A write that must be durable when it completes.
    pub durable: bool,
    /// A trim that writes zeroes instead of giving blocks back.
    pub zeroes: bool,
    /// Number, from 1, of the operation whose completion it waits for; 0: of none.
    pub after: u64,
    /// It begins so long after that completion ([`Pacing::Closed`]), ns.
    pub think_ns: u64,
}

/// Does a map's pattern mean this device? Either its whole name, or, of traces with a number per host (`usr_0`), the
/// number.
#[must_use]
pub fn means(pattern: &str, device: &str) -> bool {
    fits(pattern, device) || device.rsplit_once('_').is_some_and(|(_, number)| number == pattern)
}

/// Does `text` fit a pattern in which `*` stands for any text?
#[must_use]
pub fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(head) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests;
