//! What of a trace is played again, where, and when: the wish.

use crate::op::OperationKind;
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
    pub maps: Vec<DeviceMapping>,
    /// When operations are due.
    pub pacing: ReplayPacing,
    /// Traced time ÷ replayed time.
    pub speed: ReplaySpeed,
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
    /// The default replay: every I/O at its traced time and address. Targets are still to be set.
    #[must_use]
    pub fn new(trace: PathBuf) -> Self {
        Self {
            trace,
            format: None,
            volumes: Vec::new(),
            maps: Vec::new(),
            pacing: ReplayPacing::OnTime,
            speed: ReplaySpeed::Factor(1.0),
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
        OperationKind::BLOCKS.into_iter().any(|op| op.changes_data() && self.filter.takes_op(op))
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
pub struct DeviceMapping {
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
pub enum ReplayPacing {
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
pub enum ReplaySpeed {
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
    pub fn takes_op(&self, op: OperationKind) -> bool {
        self.ops.is_empty() || self.ops.iter().any(|one| one.op() == op)
    }
}

/// [`OperationKind`], as it stands in a plan.
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
    pub fn op(self) -> OperationKind {
        match self {
            Self::Read => OperationKind::Read,
            Self::Write => OperationKind::Write,
            Self::Trim => OperationKind::Trim,
            Self::Flush => OperationKind::Flush,
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
