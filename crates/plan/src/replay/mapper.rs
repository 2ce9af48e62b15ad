//! Traced I/Os become operations on targets.

use super::chains::ThreadChains;
use super::io::ReplayIo;
use super::patterns::{fits, matches_device};
use crate::op::OperationKind;
use crate::spec::replay::{AddressRules, Replay, ReplayFilter, ReplayOp, ReplayPacing, ReplayVolume};
use std::collections::{BTreeMap, HashMap};

/// Targets of a volume begin at multiples of this.
const EXTENT_ALIGN: u64 = 1 << 20;
/// Larger I/Os are cut: buffers have this size.
const BYTES_MAX: u64 = 4 << 20;
/// An I/O does not stand so much later in a trace than those that were queued after it.
pub const LATE_NS: u64 = 1_000_000_000;
/// Bytes at the beginning of a device that Vdbench leaves alone.
const FIRST_BLOCK: u64 = 4096;

/// An I/O of a trace.
#[derive(Clone, Copy, Debug)]
pub struct TracedRequest<'a> {
    /// When it was queued, on the trace's clock, ns.
    pub queue_ns: i64,
    /// When it was completed, if that is known.
    pub complete_ns: Option<i64>,
    /// Its device.
    pub device: &'a str,
    /// `read`, `write`, `flush`, `discard`, …
    pub op: &'a str,
    /// As in the table `io`.
    pub flags: &'a str,
    /// First byte.
    pub offset: u64,
    /// Length.
    pub bytes: u64,
    /// Its process, and its thread; negative: not known.
    pub pid: i32,
    /// See `pid`.
    pub tid: i32,
    /// Name of the process.
    pub comm: &'a str,
    /// Its file.
    pub file: &'a str,
}

/// A target, as its volume needs it.
#[derive(Clone, Copy, Debug)]
pub struct VolumeSize {
    /// Index in the plan.
    pub target: usize,
    /// Bytes.
    pub bytes: u64,
    /// Addresses and sizes are multiples of this.
    pub block_bytes: u64,
}

/// Where in the trace an operation came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePosition {
    /// When it was queued, after the first that is played, ns of the trace.
    pub since_ns: u64,
    /// Traced completion − queueing, if that is known.
    pub response_ns: Option<u64>,
}

/// What is not played as it was traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayChanges {
    /// Operations.
    pub played: u64,
    /// I/Os of devices that nothing is mapped to.
    pub unmapped: u64,
    /// I/Os that lie outside the stretch that was asked for.
    pub outside: u64,
    /// I/Os that a filter left out.
    pub filtered: u64,
    /// I/Os beyond the end of their volume, or before its beginning.
    pub beyond: u64,
    /// I/Os whose address was folded into the volume.
    pub folded: u64,
    /// I/Os that were cut in pieces, at the end of a target or because of their size.
    pub cut: u64,
    /// I/Os whose address or size was rounded to the target's blocks.
    pub rounded: u64,
    /// I/Os that stood in the trace after later ones, so much that they are played late.
    pub late: u64,
    /// I/Os of kinds that cannot be played, by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Bytes at 4 KiB instead of 0 (Vdbench's rule).
    pub moved: u64,
    /// I/Os that write zeroes.
    pub zeroed: u64,
}

impl ReplayChanges {
    /// What of it is worth saying.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = [
            (
                self.beyond,
                "I/Os beyond the end of the target, or before its beginning, were left out (--fold brings them inside)",
            ),
            (self.folded, "I/Os were folded into the target"),
            (self.cut, "I/Os were cut in pieces"),
            (self.rounded, "I/Os were rounded to whole blocks of the target"),
            (self.late, "I/Os stand in the trace after later ones and were played late"),
            (self.moved, "I/Os of the first 4 KiB went to the second"),
            (self.zeroed, "I/Os that write zeroes were played as such, and are counted with the discards"),
            (self.unmapped, "I/Os of devices that are not mapped were left out"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
        words.extend(self.kinds.iter().map(|(kind, count)| format!("{count} I/Os of kind {kind} cannot be played")));
        words
    }

    /// Where everything went when nothing was played: one reason per place.
    #[must_use]
    pub fn whereabouts(&self) -> Vec<String> {
        let mut words: Vec<String> = [
            (self.outside, "outside the stretch that was asked for (--from, --for)"),
            (self.filtered, "left out by a filter (--only, --pid, --comm, --file)"),
            (self.unmapped, "of devices that nothing is mapped to (--map)"),
            (self.beyond, "beyond the end of the target or before its beginning (--fold brings them inside)"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
        words.extend(self.kinds.iter().map(|(kind, count)| format!("{count} of kind {kind}, which cannot be played")));
        words
    }

    /// I/Os that should have been played and were not.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.beyond + self.kinds.values().sum::<u64>()
    }
}

#[derive(Clone, Debug)]
struct Extent {
    target: u32,
    start: u64,
    bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct Volume {
    extents: Vec<Extent>,
    bytes: u64,
    block: u64,
}

/// Where a device lies.
#[derive(Clone, Debug)]
struct Map {
    device: String,
    volume: usize,
    /// First byte of its region in the volume; nothing of it comes before.
    base: u64,
    /// Added to its addresses, within the region.
    ahead: u64,
}

/// Turns traced I/Os into operations, one after the other.
#[derive(Debug)]
pub struct ReplayMapper {
    maps: Vec<Map>,
    volumes: Vec<Volume>,
    rules: AddressRules,
    filter: ReplayFilter,
    pacing: ReplayPacing,
    speed: f64,
    from_ns: u64,
    until_ns: u64,
    /// Device → maps.
    known: HashMap<String, Vec<usize>>,
    duplicate: bool,
    stagger_ns: u64,
    /// Time 0 of the trace: its first I/O.
    origin_ns: Option<i64>,
    /// Time of the first that is played, after that.
    first_ns: Option<u64>,
    chains: ThreadChains,
    last_due_ns: u64,
    /// Added to due times: repetitions before, or the stagger of a copy.
    pub shift_ns: u64,
    /// What was changed so far.
    pub changes: ReplayChanges,
}

impl ReplayMapper {
    /// For a wish with known sizes. `reach` gives how far a device's addresses go in the trace (for packed devices),
    /// `speed` is the resolved factor.
    #[must_use]
    pub fn new(replay: &Replay, sizes: &[VolumeSize], reach: impl Fn(&str) -> u64, speed: f64) -> Self {
        let volume = |volume: &ReplayVolume| {
            let mut made = Volume { block: 1, ..Volume::default() };
            for size in volume.targets.iter().filter_map(|at| sizes.iter().find(|size| size.target == *at)) {
                let single = volume.targets.len() == 1;
                let bytes = if single { size.bytes } else { size.bytes / EXTENT_ALIGN * EXTENT_ALIGN };
                let target = u32::try_from(size.target).unwrap_or(u32::MAX);
                made.extents.push(Extent { target, start: made.bytes, bytes });
                made.bytes += bytes;
                made.block = made.block.max(size.block_bytes);
            }
            made
        };
        let mut packed: HashMap<usize, u64> = HashMap::new();
        let maps = replay.maps.iter().map(|map| {
            let ahead = if map.packed {
                let next = packed.entry(map.volume).or_default();
                let ahead = *next;
                *next = ahead.saturating_add(reach(&map.device)).div_ceil(EXTENT_ALIGN).saturating_mul(EXTENT_ALIGN);
                ahead
            } else {
                0
            };
            Map { device: map.device.clone(), volume: map.volume, base: map.base_bytes, ahead }
        });
        Self {
            maps: maps.collect(),
            volumes: replay.volumes.iter().map(volume).collect(),
            rules: replay.addresses.clone(),
            filter: replay.filter.clone(),
            pacing: replay.pacing,
            speed,
            from_ns: replay.from_ns,
            until_ns: replay.for_ns.map_or(u64::MAX, |length| replay.from_ns.saturating_add(length)),
            known: HashMap::new(),
            duplicate: replay.duplicate,
            stagger_ns: replay.stagger_ns,
            origin_ns: None,
            first_ns: None,
            chains: ThreadChains::default(),
            last_due_ns: 0,
            shift_ns: 0,
            changes: ReplayChanges::default(),
        }
    }

    /// Begins anew with the same trace, `shift_ns` later.
    pub fn again(&mut self, shift_ns: u64) {
        self.shift_ns = shift_ns;
        self.chains = ThreadChains::default();
        self.last_due_ns = self.last_due_ns.max(shift_ns);
    }

    /// When the last operation was due.
    #[must_use]
    pub fn last_due_ns(&self) -> u64 {
        self.last_due_ns
    }

    /// Is everything from here on after the part that was asked for? I/Os may stand [`LATE_NS`] too late in a trace.
    #[must_use]
    pub fn is_over(&self, queue_ns: i64) -> bool {
        let since = |origin| u64::try_from(queue_ns.saturating_sub(origin));
        let until_ns = self.until_ns.saturating_add(LATE_NS);
        self.origin_ns.is_some_and(|origin| since(origin).is_ok_and(|since| since >= until_ns))
    }

    /// Makes sure that it is known where a device goes.
    fn look_up(&mut self, device: &str) {
        if !self.known.contains_key(device) {
            let fitting = (0..self.maps.len()).filter(|at| matches_device(&self.maps[*at].device, device));
            let places = fitting.take(if self.duplicate { usize::MAX } else { 1 }).collect();
            self.known.insert(device.to_string(), places);
        }
    }

    /// Gives the operations of a traced I/O to `take`; mostly one.
    pub fn map(&mut self, io: &TracedRequest<'_>, take: &mut dyn FnMut(ReplayIo, TracePosition)) {
        let origin_ns = *self.origin_ns.get_or_insert(io.queue_ns);
        let since_ns = u64::try_from(io.queue_ns.saturating_sub(origin_ns)).unwrap_or(0);
        if !(self.from_ns..self.until_ns).contains(&since_ns) {
            self.changes.outside += 1;
            return;
        }
        self.look_up(io.device);
        let Some(places) = self.known.get(io.device).filter(|places| !places.is_empty()) else {
            self.changes.unmapped += 1;
            return;
        };
        let zeroes = io.op == "write_zeroes";
        let Some(op) = op_of(io.op) else {
            *self.changes.kinds.entry(io.op.to_string()).or_default() += 1;
            return;
        };
        if !takes(&self.filter, io, op) {
            self.changes.filtered += 1;
            return;
        }
        // A read or write of nothing moves nothing, and an empty discard frees nothing.
        if op != OperationKind::Flush && io.bytes == 0 {
            *self.changes.kinds.entry(format!("{} of 0 bytes", io.op)).or_default() += 1;
            return;
        }
        let since_first = since_ns - (*self.first_ns.get_or_insert(since_ns)).min(since_ns);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a trace")]
        let scaled = if self.speed == 1.0 { since_first } else { (since_first as f64 / self.speed).round() as u64 };
        let due_ns = self.shift_ns.saturating_add(scaled);
        if due_ns < self.last_due_ns {
            self.changes.late += u64::from(self.last_due_ns - due_ns > 1_000);
        }
        self.last_due_ns = self.last_due_ns.max(due_ns);
        let source = TracePosition {
            since_ns: since_first,
            response_ns: io.complete_ns.and_then(|end| u64::try_from(end.saturating_sub(io.queue_ns)).ok()),
        };
        let durable = op == OperationKind::Write && (io.flags.contains("fua") || io.flags.contains("preflush"));
        let due_ns = self.last_due_ns;
        let one = ReplayIo { due_ns, offset: 0, bytes: 0, target: 0, op, durable, zeroes, after: 0, think_ns: 0 };
        let thread = if io.tid >= 0 { u64::from(io.tid.unsigned_abs()) } else { u64::MAX - places[0] as u64 };
        let chained = matches!(self.pacing, ReplayPacing::Closed | ReplayPacing::Dependencies);
        let before = if chained { self.chains.before(thread, since_ns) } else { None };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a trace")]
        let (after, think_ns) = before.map_or((0, 0), |(number, gap)| (number, (gap as f64 / self.speed) as u64));
        let played = self.changes.played;
        for (nth, map) in places.iter().enumerate() {
            let map = &self.maps[*map];
            let pieces = place(&self.volumes[map.volume], &self.rules, (op, map), io, &mut self.changes);
            let due_ns = one.due_ns.saturating_add((nth as u64).saturating_mul(self.stagger_ns));
            for (target, offset, bytes) in pieces.unwrap_or_default() {
                self.changes.played += 1;
                take(ReplayIo { due_ns, target, offset, bytes, after, think_ns, ..one }, source);
            }
        }
        if self.changes.played == played {
            return;
        }
        self.changes.zeroed += u64::from(zeroes);
        // No later operation is known to have waited for one without an end.
        if let (true, Some(response_ns)) = (chained, source.response_ns) {
            self.chains.add(thread, self.changes.played, since_ns.saturating_add(response_ns));
        }
    }
}

fn takes(filter: &ReplayFilter, io: &TracedRequest<'_>, op: OperationKind) -> bool {
    filter.takes_op(op)
        && (filter.pids.is_empty() || filter.pids.contains(&io.pid))
        && (filter.comms.is_empty() || filter.comms.iter().any(|comm| comm == io.comm))
        && (filter.files.is_empty() || filter.files.iter().any(|file| fits(file, io.file)))
}

/// The kind of operation that a traced one is played as.
fn op_of(name: &str) -> Option<OperationKind> {
    match name {
        "read" => Some(OperationKind::Read),
        "write" => Some(OperationKind::Write),
        "flush" => Some(OperationKind::Flush),
        "discard" | "secure_erase" | "write_zeroes" => Some(OperationKind::Trim),
        _ => None,
    }
}

impl ReplayOp {
    /// By the word of the user: `read`, `write`, `discard` or `trim`, `flush`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "read" | "reads" => Some(Self::Read),
            "write" | "writes" => Some(Self::Write),
            "trim" | "discard" => Some(Self::Trim),
            "flush" => Some(Self::Flush),
            _ => None,
        }
    }
}

type Pieces = Vec<(u32, u64, u32)>;

/// Where an I/O goes: target, byte, length of its pieces. `None`: nowhere.
fn place(
    volume: &Volume,
    rules: &AddressRules,
    (op, map): (OperationKind, &Map),
    io: &TracedRequest<'_>,
    changes: &mut ReplayChanges,
) -> Option<Pieces> {
    if op == OperationKind::Flush {
        // What was written before it may lie on any of them.
        let mut targets: Vec<u32> = volume.extents.iter().map(|extent| extent.target).collect();
        targets.sort_unstable();
        targets.dedup();
        return Some(targets.into_iter().map(|target| (target, 0, 0)).collect());
    }
    let block = volume.block.max(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 2^63")]
    let scaled = if rules.scale == 1.0 { io.offset } else { (io.offset as f64 * rules.scale).clamp(0.0, 9e18) as u64 };
    let align = rules.align_bytes.unwrap_or(1).max(1).next_multiple_of(block);
    let wide = i128::from(align);
    // The region of the device is [base, end of the volume); addresses count from its beginning.
    let base = map.base.div_ceil(align).saturating_mul(align);
    let shifted = i128::from(scaled) + i128::from(map.ahead) + i128::from(rules.shift_bytes);
    let mut inside = shifted.div_euclid(wide) * wide;
    let mut bytes = io.bytes.next_multiple_of(block).max(block);
    let is_rounded = (rules.scale == 1.0 && inside != shifted) || base != map.base || bytes != io.bytes;
    if let Some(fold) = rules.fold_bytes {
        let space = volume.bytes.saturating_sub(base);
        let size = if fold == 0 { space } else { fold.min(space) } / align * align;
        let is_inside = inside >= 0 && inside.saturating_add(i128::from(bytes)) <= i128::from(size);
        if size > 0 && !is_inside {
            changes.folded += 1;
            bytes = bytes.min(size);
            inside = inside.rem_euclid(i128::from(size)).min(i128::from((size - bytes) / align * align));
        }
    }
    let Some(mut offset) = u64::try_from(inside).ok().and_then(|inside| inside.checked_add(base)) else {
        changes.beyond += 1;
        return None;
    };
    if rules.skip_first_block && offset < FIRST_BLOCK {
        (offset, bytes) = (FIRST_BLOCK, FIRST_BLOCK);
        changes.moved += 1;
    }
    if offset.saturating_add(bytes) > volume.bytes {
        changes.beyond += 1;
        return None;
    }
    changes.rounded += u64::from(is_rounded);
    let largest = if op == OperationKind::Trim { u64::from(u32::MAX) / block * block } else { BYTES_MAX };
    let mut pieces = Vec::with_capacity(1);
    let end = offset + bytes;
    while offset < end {
        let extent = volume.extents.iter().rfind(|extent| extent.start <= offset)?;
        let length = (end - offset).min(extent.start + extent.bytes - offset).min(largest);
        pieces.push((extent.target, offset - extent.start, u32::try_from(length).ok()?));
        offset += length;
    }
    changes.cut += u64::from(pieces.len() > 1);
    Some(pieces)
}
