//! Whether threads or io_uring do the transfers of a lane in a tree, by a short trial on one of its files.
//!
//! The trial only reads, past the page cache, before the time of the run begins. What counts is the processor time of the whole process,
//! the kernel's threads of its ring among it; but a way that does less in the same time is no gain.

use crate::io_buffers::IoBuffers;
use crate::shared::Gate;
use crate::tree_ring::TreeRing;
use crate::uring_queue::Ring;
use crate::{EngineChoice, EngineError};
use plan::OpenFlags;
use quantity::clock;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tree_load::{Transfer, TransferQueue as _, TreeLane};

/// With fewer threads there is too little to hand over at a time.
const THREADS_LEAST: u32 = 4;

/// A lane with so many threads, or more, for each of several rings has these.
const THREADS_OF_A_RING: usize = 8;

/// Most reads at a time in a trial.
const DEPTH_MOST: u32 = 64;

/// A turn of a trial; each way has two.
const TURN_NS: u64 = 12_000_000;

/// What does not come back for so long is left alone.
const LOST_NS: u64 = 1_000_000_000;

/// Reads of a way with which it says something.
const READS_LEAST: u64 = 256;

/// The ring is taken where it does so many times as much per second of processor time, and as much in the same time but for this part.
const GAIN: f64 = 1.2;
const RATE_LEAST: f64 = 0.9;

/// File systems (`statfs(2)`) that start direct transfers without waiting; the last one only reads.
const STARTS_AT_ONCE: [i64; 3] = [0xef53, 0x5846_5342, 0x9123_683e];

/// How the transfers of a lane are done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeWay {
    pub(crate) is_ring: bool,
    /// What the user is to know of it.
    pub(crate) note: Option<String>,
}

impl TreeWay {
    fn threads(note: Option<String>) -> Self {
        Self { is_ring: false, note }
    }
}

/// How the transfers of each lane are to be done; may try it out, once for lanes that are alike.
pub(crate) fn ways_of(lanes: &[TreeLane], choice: EngineChoice) -> Vec<TreeWay> {
    let mut tried = Vec::new();
    lanes.iter().map(|lane| way_of(lane, choice, &mut tried)).collect()
}

/// What a trial is about: its tree, size of transfers, depth and flags.
type Subject = (usize, u64, u32, OpenFlags);

/// What ring and threads did, or why that is not known.
type Rates = Result<(Tried, Tried), String>;

fn way_of(lane: &TreeLane, choice: EngineChoice, before: &mut Vec<(Subject, Rates)>) -> TreeWay {
    let what = || format!("transfers in {}", lane.tree().path().display());
    match (choice, lane.why_not_queued()) {
        (EngineChoice::Uring, None) => {
            return TreeWay { is_ring: true, note: Some(format!("{}: io_uring, as asked for", what())) };
        }
        (EngineChoice::Uring, Some(why)) if !lane.is_format() => {
            return TreeWay::threads(Some(format!("{}: threads, though io_uring was asked for: {why}", what())));
        }
        (EngineChoice::Auto, None) if may_gain(lane) => {}
        _ => return TreeWay::threads(None),
    }
    let depth = depth_of(lane);
    let subject = (lane.place().1, lane.load().transfer.max_bytes(), depth, lane.load().open);
    let rates = match before.iter().find(|(known, _)| *known == subject) {
        Some((_, rates)) => rates.clone(),
        None => {
            let rates = tried(lane);
            before.push((subject, rates.clone()));
            rates
        }
    };
    match rates {
        Ok((ring, threads)) => {
            let is_cheaper = ring.per_cpu_second() >= GAIN * threads.per_cpu_second();
            let part = ring.reads as f64 / threads.reads as f64;
            let (is_ring, chosen, but) = match (is_cheaper, part >= RATE_LEAST) {
                (true, true) => (true, "io_uring", String::new()),
                (true, false) => (false, "threads", format!(", but in the same time {part:.2} times as many")),
                (false, _) => (false, "threads", String::new()),
            };
            let [ring, threads] = [ring, threads].map(|tried| (tried.per_cpu_second() / 1000.0).round());
            let note = format!(
                "{}: {chosen}; a trial did {threads} thousand reads per CPU second with {depth} threads, {ring} thousand with io_uring{but}",
                what()
            );
            TreeWay { is_ring, note: Some(note) }
        }
        Err(why) => TreeWay::threads(Some(format!("{}: threads; {why}", what()))),
    }
}

/// Is there something to gain that a trial can tell?
fn may_gain(lane: &TreeLane) -> bool {
    let Ok(found) = rustix::fs::fstatfs(lane.tree().anchor()) else { return false };
    let known = if lane.writes_data() { &STARTS_AT_ONCE[..2] } else { &STARTS_AT_ONCE[..] };
    #[expect(clippy::useless_conversion, reason = "its width depends on the architecture")]
    let is_known = known.contains(&i64::from(found.f_type));
    is_known && lane.load().threads >= THREADS_LEAST && lane.may_gain_by_queue()
}

fn depth_of(lane: &TreeLane) -> u32 {
    lane.load().threads.min(DEPTH_MOST)
}

/// Reads of one way in a trial, and their processor time.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    reads: u64,
    cpu_ns: u64,
}

impl Tried {
    fn per_cpu_second(self) -> f64 {
        self.reads as f64 / self.cpu_ns.max(1) as f64 * 1e9
    }
}

/// The file of a trial, and how it is read.
#[derive(Clone, Debug)]
struct Sample {
    file: Arc<OwnedFd>,
    /// Places in it, and their size.
    places: u64,
    bytes: u32,
    depth: u32,
}

impl Sample {
    fn offset(&self, number: u64) -> u64 {
        // Neighbours lie apart.
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % self.places * u64::from(self.bytes)
    }
}

/// Tries both ways.
fn tried(lane: &TreeLane) -> Rates {
    if let Err(error) = Ring::new(1) {
        return Err(format!("io_uring cannot be had here ({error})"));
    }
    let (file, size) = lane.open_sample().ok_or("it has no file that a trial could read")?;
    let bytes = u32::try_from(lane.load().transfer.max_bytes()).map_err(|_| "transfers are too large for a trial")?;
    let places = (size / u64::from(bytes.max(1))).max(1);
    let sample = Sample { file: Arc::new(file), places, bytes, depth: depth_of(lane) };
    let (mut ring, mut threads) = (Tried::default(), Tried::default());
    for _ in 0..2 {
        for (sum, is_ring) in [(&mut ring, true), (&mut threads, false)] {
            let one = turn(&sample, is_ring).map_err(|error| format!("a trial failed: {error}"))?;
            sum.reads += one.reads;
            sum.cpu_ns += one.cpu_ns;
        }
    }
    let are_many = ring.reads.min(threads.reads) >= READS_LEAST;
    are_many.then_some((ring, threads)).ok_or_else(|| {
        let (ring, threads) = (ring.reads, threads.reads);
        let times = format!("{} ms", 2 * TURN_NS / 1_000_000);
        format!(
            "a trial came to {threads} reads with threads and {ring} with io_uring in {times} each, too few to tell (--engine io_uring asks for it)"
        )
    })
}

/// Processor time of the process, ns.
fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// A turn of one way. What does not come to an end in time counts nothing, and is left alone.
fn turn(sample: &Sample, is_ring: bool) -> Result<Tried, EngineError> {
    let depth = sample.depth as usize;
    let workers = if is_ring { rings_of(depth) } else { depth };
    let (gate, (sender, receiver)) = (Arc::new(Gate::default()), mpsc::channel());
    for worker in 0..workers {
        let (sample, at_gate, sender) = (sample.clone(), Arc::clone(&gate), sender.clone());
        let places = (worker..depth).step_by(workers).count();
        let body = move || {
            let first = clock::now_ns() ^ (worker as u64) << 48;
            let made = match is_ring {
                true => TreeRing::new(places, sample.bytes as usize).map(Reader::Ring),
                false => IoBuffers::new(1, sample.bytes as usize).map(Reader::Waits),
            };
            let _ = sender.send(Ok(0));
            let outcome = made.and_then(|mut reader| match at_gate.wait() {
                Some(start_ns) => reader.reads(&sample, (places, first), start_ns + TURN_NS),
                None => Ok(0),
            });
            let _ = sender.send(outcome);
        };
        let builder = std::thread::Builder::new().name("iodyno-trial".to_string()).stack_size(128 << 10);
        if let Err(error) = builder.spawn(body) {
            gate.open(None);
            return Err(EngineError::system("start a thread")(error));
        }
    }
    // First all are ready, so that what it costs to make them does not count.
    let end = |until_ns: u64| receiver.recv_timeout(Duration::from_nanos(until_ns.saturating_sub(clock::now_ns())));
    let (mut tried, mut before_ns) = (Tried::default(), 0);
    let mut until_ns = clock::now_ns() + LOST_NS;
    for at in 0..2 * workers {
        if at == workers {
            before_ns = cpu_ns();
            until_ns = clock::now_ns() + TURN_NS + LOST_NS;
            gate.open(Some(clock::now_ns()));
        }
        match end(until_ns) {
            Ok(reads) => tried.reads += reads?,
            Err(_) => {
                gate.open(None);
                return Ok(Tried::default());
            }
        }
    }
    tried.cpu_ns = cpu_ns().saturating_sub(before_ns);
    Ok(tried)
}

/// A thread of a trial.
enum Reader {
    Ring(TreeRing),
    Waits(IoBuffers),
}

impl Reader {
    /// Reads until this time; returns how often. A read that fails ends it.
    fn reads(&mut self, sample: &Sample, (places, first): (usize, u64), end_ns: u64) -> Result<u64, EngineError> {
        match self {
            Self::Ring(queue) => ring_reads(queue, sample, (places, first), end_ns),
            Self::Waits(memory) => {
                let buffer = memory.write_place(0, sample.bytes as usize);
                let mut reads = 0;
                while clock::now_ns() < end_ns {
                    rustix::io::pread(&*sample.file, &mut *buffer, sample.offset(first + reads))
                        .map_err(|error| EngineError::system("read")(error.into()))?;
                    reads += 1;
                }
                Ok(reads)
            }
        }
    }
}

fn ring_reads(
    queue: &mut TreeRing,
    sample: &Sample,
    (places, first): (usize, u64),
    end_ns: u64,
) -> Result<u64, EngineError> {
    let (mut free, mut came_back): (Vec<usize>, Vec<(usize, i32)>) = ((0..places).collect(), Vec::new());
    let (mut number, mut reads) = (first, 0);
    loop {
        let now_ns = clock::now_ns();
        if now_ns < end_ns {
            for place in free.drain(..) {
                number = number.wrapping_add(1);
                let transfer = Transfer { is_write: false, offset: sample.offset(number), bytes: sample.bytes };
                queue.push(place, sample.file.as_fd(), transfer);
            }
        }
        if free.len() == places || now_ns > end_ns + LOST_NS {
            return Ok(reads);
        }
        queue.enter(Some(LOST_NS / 10)).map_err(EngineError::system("submit to io_uring"))?;
        queue.take(&mut came_back);
        for (place, result) in came_back.drain(..) {
            if result < 0 {
                return Err(EngineError::system("read")(io::Error::from_raw_os_error(-result)));
            }
            reads += 1;
            free.push(place);
        }
    }
}

/// How many rings share so many threads of a lane.
pub(crate) fn rings_of(threads: usize) -> usize {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (threads / THREADS_OF_A_RING).clamp(1, cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_reads_by_both_ways() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 256 << 10]).unwrap();
        let file = Arc::new(OwnedFd::from(std::fs::File::open(&path).unwrap()));
        let sample = Sample { file, places: 64, bytes: 4096, depth: 8 };
        assert!((0..1000).all(|number| sample.offset(number) + 4096 <= 256 << 10));
        let ways = if Ring::new(1).is_ok() { &[false, true][..] } else { &[false][..] };
        for is_ring in ways {
            // None comes back in time where the machine does something else.
            assert!((0..20).any(|_| turn(&sample, *is_ring).unwrap().reads > 0), "{is_ring}");
        }
        let none = Sample { file: Arc::new(OwnedFd::from(std::fs::File::open(folder.path()).unwrap())), ..sample };
        for is_ring in ways {
            // As above: what does not come back in time says nothing, and nothing is ever read of a directory.
            let is_refused = |_| {
                turn(&none, *is_ring).map_or(true, |tried| {
                    assert_eq!(tried.reads, 0, "a directory was read: {is_ring}");
                    false
                })
            };
            assert!((0..20).any(is_refused), "a directory cannot be read: {is_ring}");
        }
        assert!((Tried { reads: 100, cpu_ns: 1_000_000 }.per_cpu_second() - 1e5).abs() < 1.0);
    }
}
