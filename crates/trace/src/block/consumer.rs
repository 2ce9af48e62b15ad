//! The thread that empties the ring: it copies records and does nothing else.

use crate::block::in_flight::Table;
use crate::block::records::{Entry, InFlight, Statistics};
use crate::block::{DIRTY_TRACEPOINTS, FLOOD, Options, SET, STARTS, Through, constants, ftrace, ring_bytes};
use crate::kernel_ring::KernelRing;
use crate::names::{Actor, Name, fill, fill_who};
use crate::paths::File;
use crate::program::{Callable, Loaded, Misses, State, Verdict};
use crate::{Kernel, TraceError};
use libbpf_rs::{MapCore, MapFlags, MapHandle, OpenObject};
use quantity::clock;
use recording::{IoRecord, RawIo};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Records of a full chunk: 1 MiB.
const CHUNK_RECORDS: usize = 16 * 1024;
/// Chunks that may wait to be made into rows; then the ring fills, and then losses are counted.
const CHUNKS_WAITING: usize = 64;
/// How long the last record may take to be written.
const LAST_NS: u64 = 1_000_000_000;
/// How long records may lie in the ring.
const POLL: Duration = Duration::from_millis(50);

/// Records in the order of completion, and the names that are first used among them.
#[derive(Debug, Default)]
pub struct Chunk {
    pub(crate) ios: Vec<RawIo>,
    pub(crate) actors: Vec<(u32, Actor)>,
    pub(crate) files: Vec<(u32, File)>,
    pub(crate) unknown: u64,
}

impl Chunk {
    /// Its I/Os in numbers.
    pub fn ios(&self) -> impl Iterator<Item = IoRecord> + '_ {
        self.ios.iter().map(IoRecord::of)
    }

    /// One with these records and no names.
    pub(crate) fn of_records(ios: Vec<RawIo>) -> Self {
        Self { ios, ..Self::default() }
    }

    /// I/Os in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ios.len()
    }

    /// Is nothing in it?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ios.is_empty() && self.actors.is_empty() && self.files.is_empty()
    }
}

/// What both threads see.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// CPU time of the consumer, ns.
    cpu_ns: AtomicU64,
    /// Records of I/Os that were taken out.
    taken: AtomicU64,
}

/// Makes records of I/Os that never were.
#[derive(Debug)]
pub struct Flood(Callable);

impl Flood {
    /// So many at once, of the device with this number (major << 20 | minor).
    ///
    /// # Errors
    /// The kernel is older than 5.17.
    pub fn make(&self, records: u32, device: u32) -> Result<(), TraceError> {
        self.0.call(&mut [records.to_ne_bytes(), device.to_ne_bytes()].concat())
    }
}

/// A running trace of block I/O; dropping it detaches everything.
#[derive(Debug)]
pub struct BlockTrace {
    chunks: Receiver<Chunk>,
    source: Source,
    thread: Option<JoinHandle<()>>,
    verdicts: Vec<Verdict>,
    note: Option<String>,
    ring_bytes: u32,
    started_ns: u64,
}

/// Where records come from.
#[derive(Debug)]
enum Source {
    Probe(Box<Probe>),
    Ftrace(Arc<ftrace::Shared>),
}

/// What is kept of the probe.
#[derive(Debug)]
struct Probe {
    counters: MapHandle,
    in_flight: Table,
    /// Numbers of tasks and of files.
    names: [MapHandle; 2],
    /// Counts how often they were forgotten.
    generation: MapHandle,
    /// Of the programs at an I/O's start.
    misses: Misses,
    flood: Option<Flood>,
    shared: Arc<Shared>,
}

impl BlockTrace {
    /// Loads the probe and begins.
    ///
    /// # Errors
    /// Missing capabilities or kernel features; a buffer or filter that cannot be.
    pub fn start(options: &Options) -> Result<Self, TraceError> {
        match options.through {
            Through::Bpf => Self::through_bpf(options),
            Through::Ftrace => Self::through_ftrace(options, ftrace::NOTE.to_string()),
            Through::Either => Self::through_bpf(options).or_else(|why| {
                let note = format!("BPF cannot be used here ({why}), so it is {}", ftrace::NOTE);
                // Those who may do neither are told what BPF needs.
                if why.is_privilege() { Self::through_ftrace(options, note).map_err(|_| why) } else { Err(why) }
            }),
        }
    }

    fn through_ftrace(options: &Options, note: String) -> Result<Self, TraceError> {
        let ftrace::Started { chunks, shared, thread, verdicts, ring_bytes } = ftrace::start(options)?;
        Ok(Self {
            chunks,
            source: Source::Ftrace(shared),
            thread: Some(thread),
            verdicts,
            note: Some(note),
            ring_bytes,
            started_ns: clock::now_ns(),
        })
    }

    fn through_bpf(options: &Options) -> Result<Self, TraceError> {
        let kernel = Kernel::running()?;
        let mut verdicts = SET.verdicts(&kernel)?;
        if !options.files {
            // Nobody asks whose cached data are written.
            let names = DIRTY_TRACEPOINTS;
            verdicts.iter_mut().filter(|verdict| names.contains(&verdict.tracepoint)).for_each(|verdict| {
                (verdict.state, verdict.loss) = (State::NotNeeded, None);
            });
        }
        let ring_bytes = ring_bytes(options)?;
        let constants = constants(&kernel, options, ring_bytes);
        let prepare = |open: &mut OpenObject| {
            if options.flood {
                open.progs_mut()
                    .filter(|program| program.name() == FLOOD)
                    .for_each(|mut program| program.set_autoload(true));
            }
            open.maps_mut().find(|map| map.name() == "ring").map_or(Ok(()), |mut ring| ring.set_max_entries(ring_bytes))
        };
        let mut loaded = SET.load_judged(&kernel, verdicts.clone(), &constants, prepare)?;
        fill_filters(&loaded, options)?;
        let counters = loaded.map("counters")?;
        let in_flight = Table::of(&loaded)?;
        let generation = loaded.map("generation")?;
        let names = [loaded.map("actors")?, loaded.map("files")?];
        let misses = Misses::of(&loaded, &STARTS);
        let ring = KernelRing::new(&loaded.map("ring")?)?;
        let flood = if options.flood { Some(Flood(Callable::of(&loaded, FLOOD)?)) } else { None };
        loaded.attach()?;
        let started_ns = clock::now_ns();
        let shared = Arc::new(Shared::default());
        let (sender, chunks) = sync_channel(CHUNKS_WAITING);
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("trace".to_string())
            .spawn(move || consume(loaded, ring, &sender, &theirs))
            .map_err(|why| TraceError::Consumer(format!("could not be started: {why}")))?;
        Ok(Self {
            chunks,
            source: Source::Probe(Box::new(Probe { counters, in_flight, names, generation, misses, flood, shared })),
            thread: Some(thread),
            verdicts,
            note: None,
            ring_bytes,
            started_ns,
        })
    }

    /// The next chunk within `limit`; `None` when there was none, or when the trace has ended.
    #[must_use]
    pub fn next(&self, limit: Duration) -> Option<Chunk> {
        self.chunks.recv_timeout(limit).ok()
    }

    /// Detaches the probe; what is still in the ring follows, and then [`Self::next`] has no more.
    pub fn stop(&self) {
        match &self.source {
            Source::Probe(probe) => probe.shared.stop.store(true, Ordering::Relaxed),
            Source::Ftrace(shared) => shared.stop.store(true, Ordering::Relaxed),
        }
    }

    /// The next chunk after [`Self::stop`]; `None` when that was all.
    #[must_use]
    pub fn rest(&self) -> Option<Chunk> {
        loop {
            match self.chunks.recv_timeout(POLL) {
                Ok(chunk) => return Some(chunk),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// What the probe has counted so far.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn statistics(&self) -> Result<Statistics, TraceError> {
        let probe = match &self.source {
            Source::Probe(probe) => probe,
            Source::Ftrace(shared) => return Ok(shared.statistics()),
        };
        let cpus = probe
            .counters
            .lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(|why| TraceError::Consumer(format!("cannot read the probe's counters: {why}")))?;
        let mut sum = Statistics::sum(&cpus.unwrap_or_default());
        sum.lost_start = probe.misses.count();
        Ok(sum)
    }

    /// What the probe has counted in all; right once [`Self::rest`] has given everything.
    ///
    /// # Errors
    /// A map cannot be read.
    pub fn final_statistics(&self) -> Result<Statistics, TraceError> {
        let mut sum = self.statistics()?;
        let Source::Probe(probe) = &self.source else { return Ok(sum) };
        sum.unfinished = probe.in_flight.ios().count() as u64;
        // What was written and never came out: behind a record that was not finished in time.
        let missing = sum.emitted.saturating_sub(probe.shared.taken.load(Ordering::Relaxed));
        (sum.emitted, sum.lost_ring) = (sum.emitted - missing, sum.lost_ring + missing);
        Ok(sum)
    }

    /// Lets the kernel send every name again when it is used next, so that old ones can be forgotten here.
    pub fn forget_names(&self) {
        let probe = match &self.source {
            Source::Probe(probe) => probe,
            Source::Ftrace(shared) => return shared.forget.store(true, Ordering::Relaxed),
        };
        for map in &probe.names {
            let keys: Vec<Vec<u8>> = map.keys().collect();
            keys.iter().for_each(|key| drop(map.delete(key)));
        }
        // Only now: a task that asked before would remember its old number.
        let key = 0_u32.to_ne_bytes();
        let before = probe.generation.lookup(&key, MapFlags::ANY).ok().flatten();
        let before = before.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes);
        let _ = probe.generation.update(&key, &before.wrapping_add(1).to_ne_bytes(), MapFlags::ANY);
    }

    /// The I/Os that are in flight now, in no order.
    #[must_use]
    pub fn in_flight(&self) -> Vec<InFlight> {
        match &self.source {
            Source::Probe(probe) => probe.in_flight.ios().collect(),
            Source::Ftrace(shared) => shared.in_flight(),
        }
    }

    /// For benches, once: what makes records up, if [`Options::flood`] was set.
    #[must_use]
    pub fn take_flood(&mut self) -> Option<Flood> {
        match &mut self.source {
            Source::Probe(probe) => probe.flood.take(),
            Source::Ftrace(_) => None,
        }
    }

    /// CPU time of the consumer so far, ns.
    #[must_use]
    pub fn consumer_cpu_ns(&self) -> u64 {
        match &self.source {
            Source::Probe(probe) => probe.shared.cpu_ns.load(Ordering::Relaxed),
            Source::Ftrace(shared) => shared.cpu_ns.load(Ordering::Relaxed),
        }
    }

    /// What the kernel offers, program by program.
    #[must_use]
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// When it is not traced through BPF: that, why, and what is not known for it.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Size of the ring, bytes.
    #[must_use]
    pub fn ring_bytes(&self) -> u32 {
        self.ring_bytes
    }

    /// When everything was attached, `CLOCK_MONOTONIC`, ns.
    #[must_use]
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }
}

impl Drop for BlockTrace {
    fn drop(&mut self) {
        self.stop();
        // The consumer may be waiting for room.
        while self.rest().is_some() {}
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Writes the sets that the probe compares with.
fn fill_filters(loaded: &Loaded, options: &Options) -> Result<(), TraceError> {
    let filter = &options.filter;
    fill(loaded, "devices", filter.devices.iter().map(|device| device.number.to_ne_bytes().to_vec()))?;
    fill_who(loaded, &filter.pids, &filter.comms, &filter.cgroups)
}

/// Takes records out until it is told to stop, then takes the rest.
fn consume(mut loaded: Loaded, mut ring: KernelRing, sender: &SyncSender<Chunk>, shared: &Shared) {
    let mut chunk = Chunk::default();
    let send = |chunk: &mut Chunk| {
        let full = std::mem::take(chunk);
        chunk.ios.reserve(CHUNK_RECORDS);
        // Nobody listens any more only when the trace is being dropped.
        let _ = sender.send(full);
    };
    let mut empty = |ring: &mut KernelRing| {
        let mut ios = 0;
        ring.consume(|bytes| {
            match Entry::of(bytes) {
                Entry::Io(raw) => {
                    chunk.ios.push(*raw);
                    ios += 1;
                }
                Entry::Name(Name::Actor(id, actor)) => chunk.actors.push((id, actor)),
                Entry::Name(Name::File(id, file)) => chunk.files.push((id, file)),
                Entry::Unknown => chunk.unknown += 1,
            }
            if chunk.ios.len() >= CHUNK_RECORDS {
                send(&mut chunk);
            }
        });
        if !chunk.is_empty() {
            send(&mut chunk);
        }
        shared.taken.fetch_add(ios, Ordering::Relaxed);
        shared.cpu_ns.store(clock::thread_cpu_ns(), Ordering::Relaxed);
    };
    while !shared.stop.load(Ordering::Relaxed) {
        // A wait that timed out: the probe wakes only when the ring is a quarter full.
        ring.wait(POLL);
        empty(&mut ring);
    }
    loaded.detach();
    // A program that ran while it was detached may still be writing its record, and keeps those behind it waiting.
    let until_ns = clock::now_ns() + LAST_NS;
    loop {
        std::thread::sleep(Duration::from_millis(1));
        empty(&mut ring);
        if ring.is_empty() || clock::now_ns() > until_ns {
            return;
        }
    }
}
