//! The plan as a value: targets, runs and workloads with every default resolved and every for-loop expanded.
//!
//! All times are nanoseconds, all sizes bytes, all shares fractions of 1. Nothing in here knows which language the
//! plan was written in; [`Span`]s point back into the text so that a later conflict can still name its line.

use crate::files::{FileUse, Layout};
use crate::job::Job;
use crate::replay::Replay;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A byte range in one of the parameter texts that a plan was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// Index into [`Plan::sources`].
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

/// One parameter text, kept for messages and for the recording's manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Path as the user gave it, or a description in angle brackets (`<command line>`).
    pub name: String,
    /// The text as read.
    pub text: String,
}

/// Everything that one command is going to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Texts that the plan came from; [`Span::source`] indexes them.
    pub sources: Vec<Source>,
    /// What is read or written, in the order of definition.
    pub targets: Vec<TargetSpec>,
    /// Runs in the order of execution, loops expanded.
    pub runs: Vec<Run>,
    /// Settings of the whole plan.
    pub settings: Settings,
    /// What each run must achieve, besides its own [`Run::objectives`].
    pub objectives: Vec<Objective>,
    /// What was asked for, understood, and cannot run yet: each stops the run before any I/O.
    pub unsupported: Vec<Unsupported>,
}

/// A condition that must not come true: a run in which it does has missed its objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// The condition as written, `response_ns_p99{op=read} > 5ms` (docs/objectives.md).
    pub text: String,
    /// Where it was written: the whole text, quotes included.
    pub span: Span,
}

/// A request that the plan holds but that this version cannot execute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unsupported {
    /// One complete sentence, lower case, without a full stop: "file system workloads (fsd, fwd) are not built yet".
    pub sentence: String,
    /// Where it was asked for.
    pub span: Span,
}

/// Settings of a whole plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Write every target once before the first run (`formatsds=yes`), `Some(false)`: never create or extend a file.
    pub format: Option<bool>,
    /// Transfer size of that format run.
    pub format_transfer_bytes: u64,
    /// The run ends when more operations than this have failed.
    pub errors_max: u64,
    /// A command to execute when the error limit is reached, as Vdbench's `data_errors=command`.
    pub errors_command: Option<String>,
    /// Commands before the first and after the last run.
    pub start_commands: Vec<Command>,
    /// See `start_commands`.
    pub end_commands: Vec<Command>,
    /// The run fails when the achieved share of a workload is further than this fraction from the asked one.
    pub skew_tolerance: Option<f64>,
    /// How often, or for how long, the whole list of runs is repeated.
    pub repeat: Repeat,
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
    /// Workloads whose random choices vary from pass to pass ([`FileUse::varies`]) have a seed of each execution's own in place
    /// of `seed` (fio's `randrepeat=0` without `randseed=`).
    #[serde(default)]
    pub is_seed_fresh: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            format: None,
            format_transfer_bytes: 128 << 10,
            errors_max: 50,
            errors_command: None,
            start_commands: Vec::new(),
            end_commands: Vec::new(),
            skew_tolerance: None,
            repeat: Repeat::Times(1),
            histograms: Vec::new(),
            monitor: None,
            concatenate: false,
            seed: 0x10d7_0001,
            is_data_seeded: false,
            is_seed_fresh: false,
        }
    }
}

impl Settings {
    /// Takes the seed that a user gave, for all random choices and for the data.
    pub fn use_seed(&mut self, seed: Option<u64>) {
        if let Some(seed) = seed {
            (self.seed, self.is_data_seeded, self.is_seed_fresh) = (seed, true, false);
        }
    }
}

/// How often the list of runs is executed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Repeat {
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
pub struct Command {
    /// Command line, run by `/bin/sh -c`.
    pub line: String,
    /// Where its output goes: `log` (a file in the results folder), `cons` (also the console), `sum` (also the summary).
    pub output: String,
    /// Everything ends when the command fails (Vdbench's word `abort`).
    #[serde(default)]
    pub abort: bool,
    /// Where it was written.
    pub span: Span,
}

/// One device or file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetSpec {
    /// Name in the parameter file (`sd1`) or made from the path.
    pub name: String,
    /// Device or file.
    pub path: PathBuf,
    /// Size to use; a file that is shorter is created or extended to it. `None`: all that is there.
    pub size_bytes: Option<u64>,
    /// How a file comes to its length, when no part of it is cut off by that as `size_bytes` does.
    #[serde(default)]
    pub layout: Option<Layout>,
    /// Greatest number of operations in flight on this target (Vdbench's `threads=`), where the run has no [`Run::depth`].
    pub depth: u32,
    /// How to open it.
    pub open: OpenFlags,
    /// Part of the target that is used.
    pub range: Option<AddressRange>,
    /// Size of the area that "hits" go to.
    pub hit_area_bytes: u64,
    /// Added to every address.
    pub offset_bytes: u64,
    /// Addresses are multiples of this; `None`: of the transfer size.
    pub align_bytes: Option<u64>,
    /// Leave the first block alone, as Vdbench does on raw devices.
    pub skip_first_block: bool,
    /// Both ends of what a workload uses are rounded down to multiples of this, its addresses count from the lower end,
    /// and the first block ([`Self::skip_first_block`]) is as large: for Vdbench, the greatest transfer that any run
    /// has on this target. `None`: ends are what they are, and addresses are multiples of the transfer (fio).
    #[serde(default)]
    pub grain_bytes: Option<u64>,
    /// Remove the file at the end, if this run created it.
    pub unlink: bool,
    /// Where it was defined.
    pub span: Span,
}

/// How a target is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OpenFlags {
    /// `O_DIRECT`: past the page cache.
    pub direct: bool,
    /// `O_SYNC`: every write is durable with its metadata when it completes.
    pub sync: bool,
    /// `O_DSYNC`: every write is durable when it completes.
    pub dsync: bool,
    /// `fsync` at the end of each run.
    pub fsync_at_end: bool,
    /// Further bits for `open(2)` as the user wrote them (`openflags=0x…`).
    pub extra: u32,
}

/// A part of a target's address space, `[low, high)`; a `high` beyond the end wraps around (Vdbench).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddressRange {
    /// First address.
    pub low: Bound,
    /// First address that is not used.
    pub high: Bound,
}

/// An address or length, absolute or relative to the size of the target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Bound {
    /// Bytes.
    Bytes(u64),
    /// Fraction of the size, 1.0 = all.
    Fraction(f64),
}

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
    pub rate: Rate,
    /// The rate that Vdbench's `-s` tells of a run with a list of rates, where it is not the first of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_rate: Option<Rate>,
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
    pub stop: Stop,
    /// What this run must achieve, besides [`Plan::objectives`].
    pub objectives: Vec<Objective>,
    /// Commands before and after this run.
    pub start_commands: Vec<Command>,
    /// See `start_commands`.
    pub end_commands: Vec<Command>,
    /// This run fills the targets, sequentially, once.
    pub format: bool,
    /// Where it was defined.
    pub span: Span,
}

impl Run {
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
        let is_shared = self.workloads.iter().any(|workload| workload.rate.is_none());
        self.own_rates() + if is_shared { self.shared_rate(rate) } else { 0.0 }
    }

    /// What a run is said to offer, in operations per second, when `rate` is asked of it as a whole (`None`: nothing is); `None`
    /// when it goes as fast as it can. Where all workloads have rates of their own, no one goes at full speed.
    #[must_use]
    pub fn offered(&self, rate: Option<f64>) -> Option<f64> {
        let all_own = !self.workloads.is_empty() && self.workloads.iter().all(|workload| workload.rate.is_some());
        rate.map(|rate| self.offered_rate(rate)).or_else(|| all_own.then(|| self.own_rates()))
    }

    /// Slots on a target that are shared by all workloads of the run without slots of their own.
    #[must_use]
    pub fn depth_of(&self, target: &TargetSpec) -> u32 {
        self.depth.unwrap_or(target.depth).max(1)
    }
}

/// The offered rate of a run, in operations per second over all its workloads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Rate {
    /// Open loop at this many arrivals per second.
    PerSecond(f64),
    /// Closed loop: the next operation starts when one has completed.
    Max,
    /// As `Max`, and its result is what later `CurvePoint`s refer to. A plan's curve is this run followed by its points.
    CurveMax,
    /// A point of a curve: a fraction of what the nearest `CurveMax` before it achieved, rounded up to 100/s
    /// (to 10/s below 1,000/s, at least 10/s), as Vdbench does.
    CurvePoint {
        /// Fraction of the maximum.
        fraction: f64,
        /// The curve ends when the mean response time of a point was above this.
        stop_response_ns: Option<u64>,
    },
    /// A fraction of what the last `Max` or `CurveMax` run achieved (a negative or `%` rate in Vdbench), rounded up as a
    /// `CurvePoint` is.
    FractionOfLastMax(f64),
}

impl Rate {
    /// As fast as it goes?
    pub fn is_max(self) -> bool {
        matches!(self, Self::Max | Self::CurveMax)
    }
}

/// How arrivals are spread in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Distribution of the gaps.
    pub gaps: Gaps,
    /// The rate changes in the course of the run.
    pub burst: Option<Burst>,
}

/// Distribution of the gaps between arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gaps {
    /// Poisson process: exponential gaps.
    #[default]
    Exponential,
    /// Gaps uniform in `[0, 2 × mean]`.
    Uniform,
    /// Equal gaps.
    Deterministic,
}

/// Rates that change while a run lasts (`distribution=(…,variable|spike)`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// `(rate per second, nanoseconds)`, repeated from the start when it ends.
    pub steps: Vec<(f64, u64)>,
    /// All arrivals of a second come at its beginning.
    pub spike: bool,
}

/// What ends a run before its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// Bytes read and written together.
    pub total: Option<DataLimit>,
    /// Bytes read.
    pub read: Option<DataLimit>,
    /// Bytes written.
    pub written: Option<DataLimit>,
    /// Operations, over all workloads; exact.
    pub operations: Option<u64>,
    /// What was measured has become steady.
    pub steady: Option<Steady>,
    /// Which failed operation ends it; `None`: the one behind [`Settings::errors_max`], over all runs.
    #[serde(default)]
    pub errors: Option<ErrorRule>,
}

/// Which failed operation ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorRule {
    /// The first.
    First,
    /// None: they end their jobs ([`crate::JobEnd`]), or nothing.
    Never,
}

/// When a run is steady: the seconds of the last `window_ns` are alike.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// What is looked at.
    pub measure: SteadyMeasure,
    /// Least-squares slope per second instead of the greatest deviation from the mean.
    pub slope: bool,
    /// Greatest slope or deviation that is steady, as a fraction of the mean.
    pub fraction: Option<f64>,
    /// The same in the measure's own unit (op/s, bytes/s, ns).
    pub absolute: Option<f64>,
    /// Length of the stretch that is looked at.
    pub window_ns: u64,
    /// Left out at the beginning.
    pub ramp_ns: u64,
}

/// What must be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SteadyMeasure {
    /// Operations per second.
    Operations,
    /// Bytes per second.
    Bytes,
    /// Mean service time.
    Service,
}

/// An amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum DataLimit {
    /// Bytes.
    Bytes(u64),
    /// Multiples of the size of all targets of the run together.
    TargetSizes(f64),
}

/// One stream of operations of one kind of shape on one or more targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name as defined (`wd1`).
    pub name: String,
    /// Indices into [`Plan::targets`]; the workload's share is spread evenly over them.
    pub targets: Vec<usize>,
    /// Part of all operations of the run; the workloads' shares sum to 1.
    pub share: f64,
    /// True when `share` was asked for (`skew=`): it must then hold at maximum rate as well. When no workload of a
    /// run is marked, targets run free of each other at maximum rate.
    pub share_fixed: bool,
    /// A rate of its own (`iorate=` in the workload), served by `priority`. It is part of the run's rate, and the others share
    /// what it leaves ([`Run::shared_rate`]).
    pub rate: Option<f64>,
    /// 1 is served first; only with `rate`.
    pub priority: Option<u32>,
    /// Slots of its own on each of its targets, however many the other workloads there use; `None`: it shares those of
    /// the run ([`Run::depth`]) or the target.
    pub depth: Option<u32>,
    /// What it does.
    pub mix: OpMix,
    /// How large.
    pub transfer: TransferSize,
    /// How large writes are, when that is something else.
    pub write_transfer: Option<TransferSize>,
    /// How large trims are, when that is something else.
    pub trim_transfer: Option<TransferSize>,
    /// Where.
    pub address: Address,
    /// With what data.
    pub content: Content,
    /// Pause between a completion and the next arrival of the same slot, closed loop only; outside response time.
    pub think_ns: u64,
    /// Overrides the target's flags.
    pub open: Option<OpenFlags>,
    /// Keeps to itself, with slots of its own.
    pub job: Option<Job>,
    /// It plays a trace: operations, addresses, sizes and times are the trace's.
    pub replay: Option<Box<Replay>>,
    /// Where it was defined.
    pub span: Span,
}

impl Workload {
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
            Bound::Bytes(bytes) => is_whole(target.grain_bytes.unwrap_or(bytes)),
            Bound::Fraction(_) => true,
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

/// Weights of the operations; they sum to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpMix {
    /// Reads.
    pub read: f64,
    /// Writes.
    pub write: f64,
    /// Trims (discards).
    pub trim: f64,
    /// Flushes as operations of the mix.
    pub flush: f64,
    /// An `fsync` after every this many writes, counted as a flush.
    pub fsync_every: Option<u32>,
    /// As `fsync_every` with `fdatasync`.
    pub fdatasync_every: Option<u32>,
    /// Trims and writes alternate, each place is trimmed and then written (fio's `trimwrite`).
    pub trim_then_write: bool,
}

impl OpMix {
    /// Reads with the rest writes.
    pub fn read_write(read: f64) -> Self {
        Self {
            read,
            write: 1.0 - read,
            trim: 0.0,
            flush: 0.0,
            fsync_every: None,
            fdatasync_every: None,
            trim_then_write: false,
        }
    }

    /// Does anything in the mix change what is on the target?
    pub fn changes_data(&self) -> bool {
        self.write > 0.0 || self.trim > 0.0
    }
}

/// Bytes of one operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TransferSize {
    /// Always the same.
    Fixed(u64),
    /// `(bytes, weight)`; weights sum to 1.
    Mix(Vec<(u64, f64)>),
    /// `min`, `min + align`, … up to `max`, all alike.
    Uniform {
        /// Smallest.
        min: u64,
        /// Largest: included if the steps reach it.
        max: u64,
        /// Step.
        align: u64,
    },
}

impl TransferSize {
    /// The largest transfer that can come.
    pub fn max_bytes(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Mix(mix) => mix.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0),
            Self::Uniform { max, .. } => *max,
        }
    }

    /// Is every transfer that can come a multiple of this?
    pub fn is_in_steps_of(&self, bytes: u64) -> bool {
        match self {
            Self::Fixed(size) => size.is_multiple_of(bytes),
            Self::Mix(mix) => mix.iter().all(|(size, _)| size.is_multiple_of(bytes)),
            Self::Uniform { min, align, .. } => min.is_multiple_of(bytes) && align.is_multiple_of(bytes),
        }
    }

    /// The smallest transfer that can come.
    pub fn min_bytes(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Mix(mix) => mix.iter().map(|(bytes, _)| *bytes).min().unwrap_or(0),
            Self::Uniform { min, .. } => *min,
        }
    }

    /// Mean bytes per operation.
    pub fn mean_bytes(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => *bytes as f64,
            Self::Mix(mix) => mix.iter().map(|(bytes, weight)| *bytes as f64 * weight).sum(),
            Self::Uniform { min, max, align } => {
                let last = *max - (*max).saturating_sub(*min) % (*align).max(1);
                (*min as f64 + last as f64) / 2.0
            }
        }
    }
}

/// Where operations go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Address {
    /// Order of addresses.
    pub order: Order,
    /// Part of the target that is used, instead of the target's own range.
    pub range: Option<AddressRange>,
    /// Fraction of reads that go to the hit area.
    pub read_hit: f64,
    /// Fraction of writes that go to the hit area.
    pub write_hit: f64,
    /// Size of the hit area, which misses then leave alone even if nothing is to hit (`forhitarea=`). `None`: the
    /// target's, and only if something is to hit.
    #[serde(default)]
    pub hit_area_bytes: Option<u64>,
    /// Skips of `[min, max]` bytes. Sequential order: from start to start. Where operations seek (`Random`, `Mixed`): a
    /// seek goes this far on from the end of the operation before, or back to the beginning when that is past the end.
    pub stride: Option<(u64, u64)>,
    /// Independent sequential streams that divide the range between them.
    pub streams: Option<u32>,
    /// Sequential order: begin at a random place, not at the beginning (`seekpct=seqnz`). Each stream for itself.
    #[serde(default)]
    pub random_start: bool,
    /// The part of the target that is used, instead of both ranges. Seeks prefer its beginning by Vdbench's curve, whatever
    /// the order's own distribution.
    pub hot_band: Option<AddressRange>,
    /// Addresses that operations are multiples of; `None`: target's, else the transfer size.
    pub align_bytes: Option<u64>,
    /// The same for reads, writes and trims, when they differ.
    pub align_by_op: Option<[u64; 3]>,
    /// Reads, writes and trims go their sequential ways independently, each from the beginning.
    pub per_op: bool,
    /// Random order: this many operations follow each other from every random place; 1 is plain random.
    pub run_length: u32,
    /// Random order: `(share of the operations, end in the range)`, ascending; places inside of a zone are all alike.
    /// Empty: no zones.
    pub zones: Vec<(f64, Bound)>,
    /// Where the workload's address 0 lies in the target: added to every address, its range counts from here.
    pub base_bytes: u64,
    /// Goes through its targets by fio's rules, instead of by `range`, `stride`, `streams`, `align_bytes` and `base_bytes`.
    #[serde(default)]
    pub files: Option<Box<FileUse>>,
}

impl Default for Address {
    fn default() -> Self {
        Self {
            order: Order::Random(Distribution::Uniform),
            range: None,
            read_hit: 0.0,
            write_hit: 0.0,
            hit_area_bytes: None,
            stride: None,
            streams: None,
            random_start: false,
            hot_band: None,
            align_bytes: None,
            align_by_op: None,
            per_op: false,
            run_length: 1,
            zones: Vec::new(),
            base_bytes: 0,
            files: None,
        }
    }
}

/// Order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Every operation at a random place.
    Random(Distribution),
    /// One after the other; wraps at the end, or ends the workload there.
    Sequential {
        /// Stop at the end of the range (`seekpct=eof`).
        once: bool,
        /// From the end towards the beginning.
        backward: bool,
    },
    /// This fraction of operations seeks to a random place, the others follow the one before.
    Mixed {
        /// Fraction that seeks.
        seek: f64,
        /// How seeks are spread. Not [`Distribution::ExactOnce`].
        #[serde(default, skip_serializing_if = "Distribution::is_uniform")]
        distribution: Distribution,
    },
}

/// How random addresses are spread over the range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Distribution {
    /// Every block alike.
    #[default]
    Uniform,
    /// Every block exactly once before any comes again; a permutation, no bitmap.
    ExactOnce,
    /// Zipf with this exponent, hot blocks scattered over the range (fio's `zipf:theta`).
    Zipf(f64),
    /// Pareto with this power (fio's `pareto:h`).
    Pareto(f64),
    /// Normal around the middle with this standard deviation as a fraction of the range.
    Normal(f64),
    /// Vdbench's `seekpct=(poisson,midpoint)`: exponential from the beginning on with a mean of the range's length divided by
    /// this midpoint, and begun anew behind its end.
    Poisson(f64),
}

impl Distribution {
    /// Is every block alike?
    pub fn is_uniform(&self) -> bool {
        *self == Self::Uniform
    }
}

/// The data that writes carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// Uncompressed ÷ compressed, ≥ 1.
    pub compress_ratio: f64,
    /// Duplication.
    pub dedup: Option<Dedup>,
    /// A file, or a directory of files, whose bytes are written.
    pub pattern: Option<PathBuf>,
    /// These bytes are written, over and over, from the start of every transfer; empty: not.
    pub literal: Vec<u8>,
    /// Seed of the data.
    pub seed: u64,
}

impl Default for Content {
    fn default() -> Self {
        Self { compress_ratio: 1.0, dedup: None, pattern: None, literal: Vec::new(), seed: 0 }
    }
}

/// Duplicate blocks in the data that is written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dedup {
    /// All blocks ÷ unique blocks, ≥ 1.
    pub ratio: f64,
    /// Size of the blocks that are equal.
    pub unit_bytes: u64,
    /// Number of sets of equal blocks.
    pub sets: DedupSets,
    /// Targets with the same settings have their sets in common; the ratio is that of all of them together.
    pub across: bool,
}

impl Dedup {
    /// Can a fraction of all blocks be sets and the ratio still be reached?
    pub fn allows_sets(ratio: f64, fraction: f64) -> bool {
        fraction > 0.0 && crate::generate::allows_sets(ratio, fraction)
    }
}

/// Which blocks are equal to each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum DedupSets {
    /// So many sets, spread over the targets: a block that is written belongs to one of them by chance. The ratio is
    /// that of a target that was written as a whole, and stays when it is written again.
    Count(u64),
    /// As `Count`, as many as this fraction of all blocks of the targets.
    Fraction(f64),
    /// A copy is one of the block that was written before it (fio's `dedupe_percentage`): the ratio holds for whatever
    /// is written, in any order.
    Previous,
    /// A copy is one of the first so many blocks that the writer, or each of several writers, writes once (fio's
    /// `dedupe_mode=working_set`).
    WorkingSet {
        /// How many.
        pages: u64,
        /// Number of this writer among those that have them in common.
        job: u32,
        /// How many these are: 1: it keeps to its own. The pages are divided between all, beginning with its own.
        jobs: u32,
    },
}
