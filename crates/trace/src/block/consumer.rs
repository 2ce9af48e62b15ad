//! The thread that empties the ring: it copies records and does nothing else.

use crate::block::chunk::TraceChunk;
use crate::block::columns::TraceNames;
use crate::block::idle::Idle;
use crate::block::in_flight::Table;
use crate::block::records::{Entry, InFlightIo, ProbeStatistics};
use crate::block::{
    DIRTY_TRACEPOINTS, FLOOD, LAST_ENDS, LAST_ENDS_BEFORE, SET, STARTS, TraceOptions, TraceSource, constants, ftrace,
    ring_bytes,
};
use crate::kernel_ring::KernelRing;
use crate::names::{Name, fill, fill_who};
use crate::program::{Callable, Loaded, Misses, ProgramState, ProgramSupport};
use crate::{Kernel, TraceError};
use libbpf_rs::{MapCore, MapFlags, MapHandle, OpenObject};
use quantity::clock;
use recording::IoRecord;
use rustix::thread::{MembarrierCommand, membarrier};
use std::ops::RangeInclusive;
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
/// How long programs may take to end, where the kernel does not tell when they have.
const QUIET: Duration = Duration::from_millis(50);
/// Who has been on its way for longer may have ended unseen: its device is asked.
const LONG_NS: u64 = 10_000_000;
/// What is younger may be about to be entered in the table of those in flight.
const SETTLED_NS: u64 = 1_000_000;
/// How long records may lie in the ring.
const POLL: Duration = Duration::from_millis(50);

/// What both threads see.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// CPU time of the consumer, ns.
    cpu_ns: AtomicU64,
    /// Records of I/Os that were taken out.
    taken: AtomicU64,
    /// Entries of the ring that were not understood.
    unknown: AtomicU64,
    /// When it was detached; 0: not yet.
    ended_ns: AtomicU64,
    /// I/Os of which no end had been seen then.
    unfinished: AtomicU64,
    /// Rows of I/Os that had ended without that the probe saw it, made at the end.
    ended_unseen: AtomicU64,
    /// Those of them whose size is not wanted.
    passed_over: AtomicU64,
}

/// Makes records of I/Os that never were.
#[derive(Debug)]
pub struct SyntheticFlood(Callable);

impl SyntheticFlood {
    /// So many at once, of the device with this number (major << 20 | minor).
    ///
    /// # Errors
    /// The kernel is older than 5.17.
    pub fn make(&self, records: u32, device: u32) -> Result<(), TraceError> {
        self.0.call(&mut [records.to_ne_bytes(), device.to_ne_bytes()].concat())
    }
}

/// Names of one generation; then the kernel sends them anew, and the oldest are forgotten.
const NAMES_MAX: usize = 100_000;

/// A running trace of block I/O; dropping it detaches everything.
#[derive(Debug)]
pub struct BlockTrace {
    chunks: Receiver<TraceChunk>,
    source: Source,
    thread: Option<JoinHandle<()>>,
    verdicts: Vec<ProgramSupport>,
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
    in_flight: Arc<Table>,
    /// Numbers of tasks and of files.
    names: [MapHandle; 2],
    /// Counts how often they were forgotten.
    generation: MapHandle,
    /// Of the programs at an I/O's start, and of the last ones at its end.
    misses: [Misses; 2],
    flood: Option<SyntheticFlood>,
    /// That are wanted, bytes.
    sizes: RangeInclusive<u32>,
    shared: Arc<Shared>,
}

impl Probe {
    /// I/Os in flight, but for those that have ended without that the probe saw it: where one has been on its way for long,
    /// its device is asked whether it has anything to do.
    fn on_their_way(&self, now_ns: u64) -> Vec<IoRecord> {
        let mut ios: Vec<IoRecord> = self.in_flight.ios().collect();
        let long_ns = now_ns.saturating_sub(LONG_NS);
        let idle = Idle::look(ios.iter().filter(|io| io.queue_ns < long_ns).copied());
        ios.retain(|io| !idle.has_ended(io));
        ios
    }
}

impl BlockTrace {
    /// Loads the probe and begins.
    ///
    /// # Errors
    /// Missing capabilities or kernel features; a buffer or filter that cannot be.
    pub fn start(options: &TraceOptions) -> Result<Self, TraceError> {
        match options.through {
            TraceSource::Bpf => Self::through_bpf(options),
            TraceSource::Ftrace => Self::through_ftrace(options, ftrace::NOTE.to_string()),
            TraceSource::Either => Self::through_bpf(options).or_else(|why| {
                let note = format!("BPF cannot be used here ({why}), so it is {}", ftrace::NOTE);
                // A user who may do neither gets the message about what BPF needs.
                if why.is_privilege() { Self::through_ftrace(options, note).map_err(|_| why) } else { Err(why) }
            }),
        }
    }

    fn through_ftrace(options: &TraceOptions, note: String) -> Result<Self, TraceError> {
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

    fn through_bpf(options: &TraceOptions) -> Result<Self, TraceError> {
        let kernel = Kernel::running()?;
        let mut verdicts = SET.verdicts(&kernel)?;
        if !options.files {
            // The caller does not ask whose cached data are written.
            let names = DIRTY_TRACEPOINTS;
            verdicts.iter_mut().filter(|verdict| names.contains(&verdict.tracepoint)).for_each(|verdict| {
                (verdict.state, verdict.loss) = (ProgramState::NotNeeded, None);
            });
        }
        let ring_bytes = ring_bytes(options)?;
        let constants = constants(&kernel, options, ring_bytes, &mut verdicts);
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
        let in_flight = Arc::new(Table::of(&loaded)?);
        let generation = loaded.map("generation")?;
        let names = [loaded.map("actors")?, loaded.map("files")?];
        let last_ends = if kernel.has_tracepoint("block_io_done") { LAST_ENDS } else { LAST_ENDS_BEFORE };
        let misses = [&STARTS[..], &last_ends].map(|names| Misses::of(&loaded, names));
        let ring = KernelRing::new(&loaded.map("ring")?)?;
        let flood = if options.flood { Some(SyntheticFlood(Callable::of(&loaded, FLOOD)?)) } else { None };
        loaded.attach()?;
        let started_ns = clock::now_ns();
        let shared = Arc::new(Shared::default());
        let (sender, chunks) = sync_channel(CHUNKS_WAITING);
        let consumer = Consumer {
            sender,
            shared: Arc::clone(&shared),
            in_flight: Arc::clone(&in_flight),
            sizes: options.filter.bytes_min..=options.filter.bytes_max,
            chunk: TraceChunk::default(),
        };
        let thread = std::thread::Builder::new()
            .name("trace".to_string())
            .spawn(move || consumer.consume(loaded, ring))
            .map_err(|why| TraceError::Consumer(format!("could not be started: {why}")))?;
        Ok(Self {
            chunks,
            source: Source::Probe(Box::new(Probe {
                counters,
                in_flight,
                names,
                generation,
                misses,
                flood,
                sizes: options.filter.bytes_min..=options.filter.bytes_max,
                shared,
            })),
            thread: Some(thread),
            verdicts,
            note: None,
            ring_bytes,
            started_ns,
        })
    }

    /// The next chunk within `limit`; `None` when there was none, or when the trace has ended.
    #[must_use]
    pub fn next(&self, limit: Duration) -> Option<TraceChunk> {
        self.chunks.recv_timeout(limit).ok()
    }

    /// Detaches the probe; what is still in the ring follows, then what is in flight, as records without an end, and then
    /// [`Self::next`] has no more.
    pub fn stop(&self) {
        match &self.source {
            Source::Probe(probe) => probe.shared.stop.store(true, Ordering::Relaxed),
            Source::Ftrace(shared) => shared.stop.store(true, Ordering::Relaxed),
        }
    }

    /// The next chunk after [`Self::stop`]; `None` when that was all.
    #[must_use]
    pub fn rest(&self) -> Option<TraceChunk> {
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
    pub fn statistics(&self) -> Result<ProbeStatistics, TraceError> {
        let probe = match &self.source {
            Source::Probe(probe) => probe,
            Source::Ftrace(shared) => return Ok(shared.statistics()),
        };
        let cpus = probe
            .counters
            .lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(|why| TraceError::Consumer(format!("cannot read the probe's counters: {why}")))?;
        let mut sum = ProbeStatistics::sum(&cpus.unwrap_or_default());
        let [starts, ends] = &probe.misses;
        (sum.lost_start, sum.missed_ends) = (starts.count(), ends.count());
        sum.lost_unknown = probe.shared.unknown.load(Ordering::Relaxed);
        Ok(sum)
    }

    /// What the probe has counted in all; right once [`Self::rest`] has given everything.
    ///
    /// # Errors
    /// A map cannot be read.
    pub fn final_statistics(&self) -> Result<ProbeStatistics, TraceError> {
        let mut sum = self.statistics()?;
        let Source::Probe(probe) = &self.source else { return Ok(sum) };
        sum.unfinished = probe.shared.unfinished.load(Ordering::Relaxed);
        sum.passed_over += probe.shared.passed_over.load(Ordering::Relaxed);
        // What was written and never came out: behind a record that was not finished in time.
        let missing = sum.emitted.saturating_sub(probe.shared.taken.load(Ordering::Relaxed));
        sum.emitted -= missing;
        // Those that came out and were not understood are counted already.
        sum.lost_ring += missing.saturating_sub(sum.lost_unknown);
        let ended = probe.shared.ended_unseen.load(Ordering::Relaxed);
        (sum.emitted, sum.lost_end) = (sum.emitted + ended, sum.lost_end + ended);
        Ok(sum)
    }

    /// Forgets the oldest of the names that `columns` knows when there are very many, so that memory does not grow with the
    /// number of tasks and files. For every loop that takes chunks, once a chunk's rows are made.
    pub fn bound_names(&self, columns: &mut TraceNames) {
        if columns.names() > NAMES_MAX {
            self.forget_names();
            columns.begin_generation();
        }
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

    /// I/Os in flight, in no order, behind the time when they were, as in [`Self::unfinished`]; those that have ended unseen
    /// are left out as far as their device tells.
    #[must_use]
    pub fn in_flight(&self) -> (u64, Vec<InFlightIo>) {
        match &self.source {
            Source::Probe(probe) => {
                let now_ns = clock::now_ns();
                (now_ns, probe.on_their_way(now_ns).iter().map(InFlightIo::of).collect())
            }
            Source::Ftrace(shared) => {
                let (as_of_ns, ios) = shared.in_flight();
                (as_of_ns, ios.iter().map(InFlightIo::of).collect())
            }
        }
    }

    /// Records of I/Os without an end, in the order of queueing, behind the time, `CLOCK_MONOTONIC`, ns, when they were in
    /// flight: now, or where events come out later than they happen (ftrace), shortly before. Those of the millisecond
    /// before that time are left out.
    #[must_use]
    pub fn unfinished(&self) -> (u64, TraceChunk) {
        let (as_of_ns, mut ios): (u64, Vec<IoRecord>) = match &self.source {
            // The time first: what ends while the table is looked at was in flight then.
            Source::Probe(probe) => {
                let now_ns = clock::now_ns();
                let mut ios = probe.on_their_way(now_ns);
                ios.retain(|io| probe.sizes.contains(&io.bytes));
                (now_ns, ios)
            }
            Source::Ftrace(shared) => shared.in_flight(),
        };
        let as_of_ns = as_of_ns.max(self.started_ns);
        ios.retain(|io| io.queue_ns < as_of_ns.saturating_sub(SETTLED_NS));
        ios.sort_by_key(|io| io.queue_ns);
        (as_of_ns, TraceChunk::of_records(ios.into_iter().map(|io| io.unfinished().to_raw()).collect()))
    }

    /// When the trace was ended by [`Self::stop`], `CLOCK_MONOTONIC`, ns; known once [`Self::rest`] has given everything.
    #[must_use]
    pub fn ended_ns(&self) -> Option<u64> {
        let ended_ns = match &self.source {
            Source::Probe(probe) => &probe.shared.ended_ns,
            Source::Ftrace(shared) => &shared.ended_ns,
        };
        Some(ended_ns.load(Ordering::Relaxed)).filter(|ns| *ns > 0)
    }

    /// For benches, once: what makes records up, if [`TraceOptions::flood`] was set.
    #[must_use]
    pub fn take_flood(&mut self) -> Option<SyntheticFlood> {
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
    pub fn verdicts(&self) -> &[ProgramSupport] {
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
fn fill_filters(loaded: &Loaded, options: &TraceOptions) -> Result<(), TraceError> {
    let filter = &options.filter;
    fill(loaded, "devices", filter.devices.iter().map(|device| device.number.to_ne_bytes().to_vec()))?;
    fill_who(loaded, &filter.pids, &filter.comms, &filter.cgroups)
}

/// What the thread has.
struct Consumer {
    sender: SyncSender<TraceChunk>,
    shared: Arc<Shared>,
    in_flight: Arc<Table>,
    /// That are wanted, bytes.
    sizes: RangeInclusive<u32>,
    chunk: TraceChunk,
}

impl Consumer {
    /// Takes records out until the order to stop, then takes the rest and what is in flight.
    fn consume(mut self, mut loaded: Loaded, mut ring: KernelRing) {
        while !self.shared.stop.load(Ordering::Relaxed) {
            // A wait that timed out: the probe wakes only when the ring is a quarter full.
            ring.wait(POLL);
            self.empty(&mut ring);
        }
        // While ends are seen: what stays in the table although its device has nothing to do had an end that was not.
        let idle = Idle::look(self.in_flight.ios());
        // Before it: what is in the table afterwards had no end then.
        self.shared.ended_ns.store(clock::now_ns(), Ordering::Relaxed);
        loaded.detach();
        quiesce();
        // A record that was not finished keeps those behind it waiting.
        let until_ns = clock::now_ns() + LAST_NS;
        loop {
            self.empty(&mut ring);
            if ring.is_empty() || clock::now_ns() > until_ns {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.tell_unfinished(&idle);
    }

    fn send(&mut self) {
        let full = std::mem::take(&mut self.chunk);
        self.chunk.ios.reserve(CHUNK_RECORDS);
        // The receiver is gone only when the trace is being dropped.
        let _ = self.sender.send(full);
    }

    fn empty(&mut self, ring: &mut KernelRing) {
        let (mut ios, mut unknown) = (0, 0);
        ring.consume(|bytes| {
            match Entry::of(bytes) {
                Entry::Io(raw) => {
                    self.chunk.ios.push(*raw);
                    ios += 1;
                }
                Entry::Name(Name::Actor(id, actor)) => self.chunk.actors.push((id, actor)),
                Entry::Name(Name::File(id, file)) => self.chunk.files.push((id, file)),
                Entry::Unknown => unknown += 1,
            }
            if self.chunk.ios.len() >= CHUNK_RECORDS {
                self.send();
            }
        });
        if !self.chunk.is_empty() {
            self.send();
        }
        self.shared.taken.fetch_add(ios, Ordering::Relaxed);
        self.shared.unknown.fetch_add(unknown, Ordering::Relaxed);
        self.shared.cpu_ns.store(clock::thread_cpu_ns(), Ordering::Relaxed);
    }

    /// Tells what the table still has, once no program runs any more: I/Os of which no end was seen, as unfinished, but for
    /// those that had ended.
    fn tell_unfinished(&mut self, idle: &Idle) {
        let (mut ios, others): (Vec<IoRecord>, Vec<IoRecord>) =
            self.in_flight.ios().partition(|io| self.sizes.contains(&io.bytes));
        ios.sort_by_key(|io| io.queue_ns);
        let ended = ios.iter().filter(|io| idle.has_ended(io)).count() as u64;
        self.shared.unfinished.store(ios.len() as u64 - ended, Ordering::Relaxed);
        self.shared.ended_unseen.store(ended, Ordering::Relaxed);
        self.shared.passed_over.store(others.len() as u64, Ordering::Relaxed);
        let marked = |io: &IoRecord| if idle.has_ended(io) { *io } else { io.unfinished() };
        for part in ios.chunks(CHUNK_RECORDS) {
            self.chunk.ios.extend(part.iter().map(|io| marked(io).to_raw()));
            self.send();
        }
    }
}

/// Waits until no program that was detached runs any more: one on a CPU that was stopped would end an I/O that has been
/// reported as unfinished. The barrier is a grace period of the kernel's RCU, and programs run inside one.
fn quiesce() {
    if membarrier(MembarrierCommand::Global).is_err() {
        // Refused where some CPUs have no tick (`nohz_full`).
        std::thread::sleep(QUIET);
    }
}
