//! Whether threads or io_uring do the transfers of a lane in a tree, by a short trial on one of its files.
//!
//! The trial only reads, past the page cache, before the time of the run begins. What counts is the processor time of the whole process,
//! the kernel's threads of its ring among it: a busy machine changes the rate more than that.

use crate::io_buffers::IoBuffers;
use crate::tree_ring::TreeRing;
use crate::uring_queue::Ring;
use crate::{EngineChoice, EngineError};
use plan::OpenFlags;
use quantity::clock;
use rustix::time::{ClockId, clock_gettime};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tree_load::{Transfer, TransferQueue as _, TreeLane};

/// With fewer threads there is too little to hand over at a time.
const THREADS_LEAST: u32 = 4;

/// Most reads at a time in a trial.
const DEPTH_MOST: u32 = 64;

/// A turn of a trial; each way has two.
const TURN_NS: u64 = 12_000_000;

/// What does not come back for so long is left alone.
const LOST_NS: u64 = 1_000_000_000;

/// Reads of a way with which it says something.
const READS_LEAST: u64 = 64;

/// The ring is taken where it does so many times as much per second of processor time.
const GAIN: f64 = 1.1;

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

/// Reads per second of processor time by ring and by threads, or why that is not known.
type Rates = Result<(f64, f64), String>;

fn way_of(lane: &TreeLane, choice: EngineChoice, before: &mut Vec<(Subject, Rates)>) -> TreeWay {
    let what = || format!("transfers in {}", lane.tree().path().display());
    match (choice, lane.why_not_queued()) {
        (EngineChoice::Uring, None) => {
            return TreeWay { is_ring: true, note: Some(format!("{}: io_uring, as asked for", what())) };
        }
        (EngineChoice::Uring, Some(why)) if lane.moves_data() && !lane.is_format() => {
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
            let is_ring = ring >= GAIN * threads;
            let chosen = if is_ring { "io_uring" } else { "threads" };
            let [ring, threads] = [ring, threads].map(|rate| (rate / 1000.0).round());
            let note = format!(
                "{}: {chosen}; a trial did {ring} thousand reads per CPU second with io_uring, {threads} thousand with {depth} threads",
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
    /// Reads per second of processor time.
    fn rate(self) -> Option<f64> {
        (self.reads >= READS_LEAST && self.cpu_ns > 0).then(|| self.reads as f64 / self.cpu_ns as f64 * 1e9)
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
    for turn in 0..2 {
        for (sum, way) in [(&mut ring, by_ring as Way), (&mut threads, by_threads as Way)] {
            let before_ns = cpu_ns();
            let reads = way(&sample, turn).map_err(|error| format!("a trial failed: {error}"))?;
            sum.reads += reads;
            sum.cpu_ns += cpu_ns().saturating_sub(before_ns);
        }
    }
    ring.rate().zip(threads.rate()).ok_or_else(|| "a trial came to too few reads".to_string())
}

type Way = fn(&Sample, u64) -> Result<u64, EngineError>;

/// Processor time of the process, ns.
fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// Reads for a turn through a ring; returns how many. One that fails, or is lost, ends it.
fn by_ring(sample: &Sample, turn: u64) -> Result<u64, EngineError> {
    let (sample, depth) = (sample.clone(), sample.depth as usize);
    let mut queue = TreeRing::new(depth, sample.bytes as usize)?;
    let end_ns = clock::now_ns() + TURN_NS;
    let (mut free, mut came_back): (Vec<usize>, Vec<(usize, i32)>) = ((0..depth).collect(), Vec::new());
    let (mut number, mut reads) = (turn << 32, 0);
    loop {
        let now_ns = clock::now_ns();
        if now_ns < end_ns {
            for place in free.drain(..) {
                number += 1;
                let transfer = Transfer { is_write: false, offset: sample.offset(number), bytes: sample.bytes };
                queue.push(place, sample.file.as_fd(), transfer);
            }
        }
        if free.len() == depth || now_ns > end_ns + LOST_NS {
            return Ok(reads);
        }
        queue.enter(Some(LOST_NS / 10)).map_err(EngineError::system("submit to io_uring"))?;
        queue.take(&mut came_back);
        reads += came_back.iter().filter(|(_, result)| *result >= 0).count() as u64;
        if came_back.iter().any(|(_, result)| *result < 0) {
            return Ok(0);
        }
        free.extend(came_back.drain(..).map(|(place, _)| place));
    }
}

/// The same by a thread for each read under way.
fn by_threads(sample: &Sample, turn: u64) -> Result<u64, EngineError> {
    let (sender, receiver) = mpsc::channel();
    let end_ns = clock::now_ns() + TURN_NS;
    for thread in 0..sample.depth {
        let (sample, sender) = (sample.clone(), sender.clone());
        let mut memory = IoBuffers::new(1, sample.bytes as usize)?;
        let body = move || {
            let (mut number, mut reads) = (turn << 32 | u64::from(thread) << 20, 0);
            let buffer = memory.write_place(0, sample.bytes as usize);
            while clock::now_ns() < end_ns {
                number += 1;
                if rustix::io::pread(&*sample.file, &mut *buffer, sample.offset(number)).is_err() {
                    return;
                }
                reads += 1;
            }
            let _ = sender.send(reads);
        };
        let builder = std::thread::Builder::new().name("iodyno-trial".to_string()).stack_size(128 << 10);
        builder.spawn(body).map_err(EngineError::system("start a thread"))?;
    }
    drop(sender);
    let mut reads = 0;
    for _ in 0..sample.depth {
        let left_ns = (end_ns + LOST_NS).saturating_sub(clock::now_ns());
        match receiver.recv_timeout(Duration::from_nanos(left_ns)) {
            Ok(more) => reads += more,
            Err(_) => return Ok(0),
        }
    }
    Ok(reads)
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
        assert!(by_threads(&sample, 0).unwrap() > 0);
        if Ring::new(1).is_ok() {
            assert!(by_ring(&sample, 0).unwrap() > 0);
        }
        let few = Tried { reads: READS_LEAST - 1, cpu_ns: 1000 };
        assert_eq!((few.rate(), Tried { reads: 100, cpu_ns: 1_000_000 }.rate()), (None, Some(1e8)));
    }
}
