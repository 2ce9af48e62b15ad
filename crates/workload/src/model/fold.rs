//! I/Os in, counts out, in memory that does not grow with their number.

use super::processes::IoOwner;
use crate::model::address_distribution::{AddressModel, Parting};
use crate::model::arrivals::ArrivalModel;
use plan::generate::OperationKind;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// Streams that are followed on each device, as in the analysis of traces.
const STREAMS: usize = 32;
/// A stream of at least so many I/Os and bytes is a scan; what is shorter is a run from some place.
const SCAN_IOS: u32 = 16;
/// See [`SCAN_IOS`].
const SCAN_BYTES: u64 = 1 << 20;
/// Scan I/Os among which the different streams are counted.
const SCAN_BLOCK: u32 = 64;
/// Devices that are counted separately; all later ones count as one more.
const DEVICES: usize = 256;
/// Processes that are counted separately, of all devices together; later ones are counted by name, and beyond twice as
/// many as one more.
const CELLS: usize = 256;
/// Processes of a device that are found at once.
const RECENT: usize = 8;
/// Sizes that are counted separately, of one kind of I/O.
const SIZES: usize = 1024;

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedIo {
    /// When it was queued, ns.
    pub t_ns: i64,
    /// When it was completed, ns, if that is known.
    pub complete_ns: Option<i64>,
    /// What.
    pub op: OperationKind,
    /// First byte.
    pub offset: u64,
    /// Length; 0 for a flush.
    pub bytes: u32,
    /// Whose it is.
    pub who: IoOwner,
}

impl ObservedIo {
    /// As the table `io` has it.
    pub fn new(t_ns: i64, complete_ns: Option<i64>, op: OperationKind, sector: i64, bytes: i64) -> Self {
        let offset = u64::try_from(sector).unwrap_or(0).saturating_mul(512);
        let bytes = if op == OperationKind::Flush { 0 } else { u32::try_from(bytes).unwrap_or(u32::MAX) };
        Self { t_ns, complete_ns, op, offset, bytes, who: IoOwner::default() }
    }

    /// The same, issued by `who`.
    #[must_use]
    pub fn by(self, who: IoOwner) -> Self {
        Self { who, ..self }
    }
}

/// How an I/O lies to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// At some place, or shortly after another one there.
    Short = 0,
    /// Part of a long sequence.
    Scan = 1,
}

/// I/Os of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Total {
    pub(super) ios: u64,
    pub(super) bytes: u64,
    /// Those that continued a stream.
    pub(super) continued: u64,
    pub(super) sizes: BTreeMap<u32, u64>,
}

impl Total {
    fn add(&mut self, seen: &ObservedIo, continued: bool) {
        self.ios += 1;
        self.bytes += u64::from(seen.bytes);
        self.continued += u64::from(continued);
        let is_new = self.sizes.len() >= SIZES && !self.sizes.contains_key(&seen.bytes);
        let size = if is_new { seen.bytes.next_multiple_of(512).next_power_of_two() } else { seen.bytes };
        *self.sizes.entry(size).or_default() += 1;
    }

    /// Adds another's.
    pub(super) fn join(&mut self, other: &Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.continued += other.continued;
        for (size, ios) in &other.sizes {
            *self.sizes.entry(*size).or_default() += ios;
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    end: u64,
    ios: u32,
    bytes: u64,
    number: u64,
    /// Of the two halves of the counts of places, the one that it counts for: what belongs together is in one.
    half: usize,
}

/// How many scans go on at the same time.
#[derive(Clone, Debug, Default)]
pub(super) struct Scans {
    /// Streams, and whose they are.
    block: Vec<(u64, usize)>,
    ios: u32,
    blocks: u64,
    /// By process: its different streams, and the blocks in which it had any.
    processes: BTreeMap<usize, (u64, u64)>,
}

impl Scans {
    fn add(&mut self, number: u64, process: usize) {
        if !self.block.iter().any(|(known, _)| *known == number) {
            self.block.push((number, process));
        }
        self.ios += 1;
        if self.ios >= SCAN_BLOCK {
            self.blocks += 1;
            self.block.sort_unstable_by_key(|(_, process)| *process);
            for streams in self.block.chunk_by(|(_, a), (_, b)| a == b) {
                let counts = self.processes.entry(streams[0].1).or_default();
                counts.0 += streams.len() as u64;
                counts.1 += 1;
            }
            self.block.clear();
            self.ios = 0;
        }
    }

    /// Mean number of these processes while they scan, at least 1 when little is known.
    pub(super) fn mean(&self, is_one: impl Fn(usize) -> bool) -> f64 {
        if self.blocks == 0 {
            return self.block.iter().filter(|(_, process)| is_one(*process)).count().max(1) as f64;
        }
        let own = self.processes.iter().filter(|(process, _)| is_one(**process));
        let (different, present) = own.fold((0, 0), |(a, b), (_, counts)| (a + counts.0, b + counts.1));
        different as f64 / present.clamp(1, self.blocks) as f64
    }
}

/// One device.
#[derive(Clone, Debug, Default)]
pub(super) struct Device {
    streams: Vec<Stream>,
    /// Who did something lately, and where it is counted.
    recent: Vec<(IoOwner, usize)>,
    flying: BinaryHeap<Reverse<i64>>,
    /// Most in flight; 0: not known.
    pub(super) depth: usize,
    /// I/Os of all kinds.
    pub(super) ios: u64,
    pub(super) scans: [Scans; 2],
    /// I/Os that are no multiples of 4 KiB.
    pub(super) unaligned: u64,
    /// Where its last byte was.
    pub(super) end: u64,
}

impl Device {
    /// The stream that an I/O with data continues, or begins; did it continue one?
    fn stream(&mut self, seen: &ObservedIo, number: u64, half: usize) -> (Stream, bool) {
        let fresh = Stream { end: 0, ios: 0, bytes: 0, number, half };
        let found = self.streams.iter().position(|stream| stream.end == seen.offset);
        match found {
            Some(at) => self.streams[..=at].rotate_right(1),
            None if self.streams.len() < STREAMS => self.streams.insert(0, fresh),
            None => self.streams.rotate_right(1),
        }
        let stream = &mut self.streams[0];
        if found.is_none() {
            *stream = fresh;
        }
        stream.end = seen.offset.saturating_add(u64::from(seen.bytes));
        stream.ios = stream.ios.saturating_add(1);
        stream.bytes += u64::from(seen.bytes);
        (*stream, found.is_some())
    }

    fn fly(&mut self, seen: &ObservedIo) {
        let Some(complete_ns) = seen.complete_ns else { return };
        while self.flying.peek().is_some_and(|Reverse(end_ns)| *end_ns <= seen.t_ns) {
            self.flying.pop();
        }
        self.flying.push(Reverse(complete_ns));
        self.depth = self.depth.max(self.flying.len());
    }
}

/// What a process does to a device.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub(super) device: usize,
    pub(super) who: IoOwner,
    /// Reads and writes by [`Shape`].
    pub(super) totals: [[Total; 2]; 2],
    pub(super) trims: Total,
    pub(super) flushes: u64,
}

impl Cell {
    /// I/Os of all kinds.
    pub(super) fn ios(&self) -> u64 {
        self.totals.iter().flatten().map(|total| total.ios).sum::<u64>() + self.trims.ios + self.flushes
    }
}

/// What is kept of a load: a fold over its I/Os.
#[derive(Clone, Debug)]
pub struct WorkloadModel {
    names: HashMap<String, usize>,
    /// In the order of appearance.
    pub(super) devices: Vec<Device>,
    /// Processes of devices, in the order of appearance.
    pub(super) cells: Vec<Cell>,
    /// Where they are.
    known: HashMap<(usize, IoOwner), usize>,
    pub(super) places: AddressModel,
    pub(super) arrivals: ArrivalModel,
    parting: Parting,
    /// Streams begun.
    number: u64,
    /// Reads and writes that continued a stream, and trims.
    pub(super) sequential: u64,
}

impl WorkloadModel {
    /// Of nothing yet; time is counted from `begin_ns`. To be compared, two need places of the same size: give that of
    /// the first ([`WorkloadModel::place_bytes`]) to the second.
    pub fn new(begin_ns: i64, place_bytes: Option<u64>) -> Self {
        Self {
            names: HashMap::new(),
            devices: Vec::new(),
            cells: Vec::new(),
            known: HashMap::new(),
            places: AddressModel::new(place_bytes),
            arrivals: ArrivalModel::new(begin_ns),
            parting: Parting::default(),
            number: 0,
            sequential: 0,
        }
    }

    /// Adds an I/O; they come in the order of queueing.
    pub fn add(&mut self, device: &str, seen: &ObservedIo) {
        let at = match self.names.get(device) {
            Some(at) => *at,
            None => {
                let at = self.devices.len().min(DEVICES);
                if self.devices.len() <= at {
                    self.devices.push(Device::default());
                }
                if self.names.len() < 64 * DEVICES {
                    self.names.insert(device.to_string(), at);
                }
                at
            }
        };
        self.add_at(at, seen);
    }

    /// Adds an I/O of a device by number.
    pub(super) fn add_at(&mut self, at: usize, seen: &ObservedIo) {
        if self.devices.len() <= at {
            self.devices.resize_with(at + 1, Device::default);
        }
        self.arrivals.add(seen.t_ns, seen.op, seen.bytes);
        let recent = self.devices[at].recent.iter().find(|(who, _)| *who == seen.who);
        let number = match recent {
            Some((_, number)) => *number,
            None => {
                let number = self.cell(at, seen.who);
                self.devices[at].recent.insert(0, (seen.who, number));
                self.devices[at].recent.truncate(RECENT);
                number
            }
        };
        let (device, cell) = (&mut self.devices[at], &mut self.cells[number]);
        device.ios += 1;
        device.fly(seen);
        if seen.op == OperationKind::Flush {
            cell.flushes += 1;
            return;
        }
        self.number += 1;
        let (stream, continued) = device.stream(seen, self.number, self.parting.next());
        self.sequential += u64::from(continued);
        device.end = device.end.max(stream.end);
        if seen.op == OperationKind::Trim {
            return cell.trims.add(seen, continued);
        }
        device.unaligned += u64::from(!seen.offset.is_multiple_of(4096) || !seen.bytes.is_multiple_of(4096));
        let op = seen.op.index();
        let shape = if stream.ios >= SCAN_IOS && stream.bytes >= SCAN_BYTES { Shape::Scan } else { Shape::Short };
        if shape == Shape::Scan {
            device.scans[op].add(stream.number, number);
        }
        cell.totals[shape as usize][op].add(seen, continued);
        let is_visit = shape == Shape::Short && !continued;
        self.places.add((at, number), seen.offset, shape as usize * 2 + op, stream.half, is_visit);
    }

    /// Where an I/O of `who` on a device is counted.
    fn cell(&mut self, device: usize, who: IoOwner) -> usize {
        let keys = who.keys();
        for (rank, key) in keys.into_iter().enumerate() {
            if let Some(at) = self.known.get(&(device, key)) {
                return *at;
            }
            // Processes first, then names, then everybody else: there is always room for that.
            if self.cells.len() < (rank + 1) * CELLS || key == IoOwner::default() {
                self.known.insert((device, key), self.cells.len());
                self.cells.push(Cell { device, who: who.counted_as(key), ..Cell::default() });
                return self.cells.len() - 1;
            }
        }
        0
    }

    /// Ends the fold at this time: what came after the last I/O was quiet.
    pub fn finish(&mut self, end_ns: i64) {
        self.arrivals.finish(end_ns);
    }

    /// I/Os.
    pub fn ios(&self) -> u64 {
        self.arrivals.ios()
    }

    /// Length, ns.
    pub fn length_ns(&self) -> u64 {
        self.arrivals.length_ns()
    }

    /// Beginning and end, ns.
    pub fn span_ns(&self) -> (i64, i64) {
        let begin_ns = self.arrivals.begin_ns();
        (begin_ns, begin_ns.saturating_add(i64::try_from(self.length_ns()).unwrap_or(i64::MAX)))
    }

    /// Size of a place, bytes.
    pub fn place_bytes(&self) -> u64 {
        self.places.bytes
    }

    /// Number of devices.
    pub fn devices(&self) -> usize {
        self.devices.len()
    }

    /// Reads and writes: I/Os, bytes, and how many by octave of their size; trims are the third.
    pub(super) fn kinds(&self) -> [Total; 3] {
        let mut out = [Total::default(), Total::default(), Total::default()];
        for cell in &self.cells {
            for totals in &cell.totals {
                out[0].join(&totals[0]);
                out[1].join(&totals[1]);
            }
            out[2].join(&cell.trims);
        }
        out
    }
}
