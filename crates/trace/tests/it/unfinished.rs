//! A trace that ends in the middle of a load: reports every I/O once, with its end or without.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::{LoopDevice, ScratchPlace, direct};
use trace::BlockDevice;
use trace::block::{BlockTrace, IoRecord, TraceFilter, TraceOptions, TraceSource};

/// Threads that read.
const THREADS: u64 = 8;
/// Sectors of a read.
const SECTORS: u64 = 8;
/// Traces, at least.
const TURNS: usize = 12;

/// Ends threads that run until this flag is set, also where an assertion fails: the scope would wait for them for ever.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Traces one after the other while 8 threads read; gives the number of I/Os reported without an end.
fn under_load(device: &Path, through: TraceSource) -> u64 {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = Ends(&stop);
        for thread in 0..THREADS {
            let stop = &stop;
            scope.spawn(move || {
                let file = direct::open(device).unwrap();
                let mut at = thread;
                while !stop.load(Ordering::Relaxed) {
                    direct::read(&file, at % 4096 * 4096, 4096).unwrap();
                    at += THREADS;
                }
            });
        }
        let mut turns: Vec<Ended> = Vec::new();
        for turn in 0..TURNS * 20 {
            // Where the threads had no processor at the end of each turn, nothing was in flight: then there are more.
            if turn >= TURNS && turns.iter().any(|ended| ended.unfinished > 0) {
                break;
            }
            turns.extend(once(device, through));
        }
        assert!(!turns.is_empty(), "each turn lost some");
        let unfinished: u64 = turns.iter().map(|ended| ended.unfinished).sum();
        // Those whose end the kernel let no probe see (docs/trace.md) are few, over all turns.
        let most = turns.iter().map(|ended| THREADS + 2 + ended.ios / 200).sum();
        assert!(unfinished <= most, "no more than were in flight: {unfinished} of {most}");
        unfinished
    })
}

/// I/Os of a trace.
struct Ended {
    ios: u64,
    /// Of those, reported without an end.
    unfinished: u64,
}

/// One trace; none where some I/Os were lost, as a stopped CPU may make it.
fn once(device: &Path, through: TraceSource) -> Option<Ended> {
    let devices = vec![BlockDevice::find(device.to_str().unwrap()).unwrap()];
    let filter = TraceFilter { devices, ..TraceFilter::default() };
    let trace = BlockTrace::start(&TraceOptions { filter, through, ..TraceOptions::default() }).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    trace.stop();
    let mut ios = Vec::new();
    while let Some(chunk) = trace.rest() {
        ios.extend(chunk.ios());
    }
    let counted = trace.final_statistics().unwrap();
    let ended_ns = trace.ended_ns().unwrap();
    assert_eq!(counted.unaccounted(), 0, "{counted:?}");
    if counted.lost() > 0 {
        return None;
    }
    assert_eq!(ios.len() as u64, counted.emitted + counted.unfinished, "{counted:?}");
    // A thread has one in flight, so two of a time and a place are one that was reported twice.
    let different: HashSet<_> = ios.iter().map(|io| (io.queue_ns, io.sector, io.issuer)).collect();
    assert_eq!(different.len(), ios.len(), "reported twice");
    let open: Vec<_> = ios.iter().filter(|io| io.complete_ns == 0).collect();
    assert_eq!(open.len() as u64, counted.unfinished + counted.lost_end);
    // A thread has one in flight: its last. What it began before that had ended, and the kernel let no probe see it (docs/trace.md).
    // Each of those is in the table by its request, whose next I/O takes its place.
    let thread = |io: &IoRecord| io.sector / SECTORS % THREADS;
    let is_last = |io: &IoRecord| !ios.iter().any(|other| thread(other) == thread(io) && other.queue_ns > io.queue_ns);
    let last = open.iter().filter(|io| is_last(io)).count() as u64;
    assert!(last <= THREADS, "{last} threads have one in flight");
    let requests = requests(device);
    assert!(counted.unfinished <= requests, "{} unfinished on {requests} requests", counted.unfinished);
    assert!(open.iter().all(|io| io.queue_ns < ended_ns + 1_000_000_000 && io.bytes == 4096), "{open:?}");
    Some(Ended { ios: ios.len() as u64, unfinished: counted.unfinished })
}

/// So many I/Os a device can have at a time.
fn requests(device: &Path) -> u64 {
    let name = device.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(format!("/sys/block/{name}/queue/nr_requests")).unwrap();
    text.trim().parse().unwrap()
}

#[test]
fn an_io_in_flight_at_the_end_is_reported_once() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new_in(64 << 20, ScratchPlace::Memory).unwrap();
    assert!(under_load(device.path(), TraceSource::Bpf) > 0, "never anything in flight");
}

#[test]
fn and_through_ftrace() {
    if !testkit::require_root_or_skip() {
        return;
    }
    if !Path::new("/sys/kernel/tracing/instances").is_dir() {
        testkit::lacks("tracefs at /sys/kernel/tracing");
        return;
    }
    let device = LoopDevice::new_in(64 << 20, ScratchPlace::Memory).unwrap();
    assert!(under_load(device.path(), TraceSource::Ftrace) > 0, "never anything in flight");
}
