//! Where BPF is not to be had: the same records by way of the kernel's own tracer, through an instance of tracefs.
//!
//! Binary pages of each CPU ([`pages`]) give events whose fields lie where their `format` files say ([`format`],
//! [`event`]); [`merge`] puts those of all CPUs in order, and [`pairs`] makes records of them.

mod devices;
mod event;
mod format;
mod instance;
mod match_issue_complete;
mod merge;
mod pages;
mod tasks;

use crate::TraceError;
use crate::block::chunk::TraceChunk;
use crate::block::records::ProbeStatistics;
use crate::block::{TraceOptions, ring_bytes};
use crate::program::{ProgramState, ProgramSupport};
use devices::Devices;
use event::Kind;
use instance::Instance;
use match_issue_complete::Pairs;
use merge::Merge;
use quantity::clock;
use recording::IoRecord;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tasks::Tasks;

/// What is not known of an I/O that is seen this way.
pub(crate) const NOTE: &str = "traced through ftrace: the file of an I/O, the control group of its task and who wrote what is written back are not known; names, sizes, operations and sampling are chosen here and not in the kernel; an event that finds no room in the buffer counts as one lost I/O, though an I/O has about five";

/// Chunks that may wait to be made into rows.
const CHUNKS_WAITING: usize = 64;
/// How long events may lie in the buffers.
const POLL: Duration = Duration::from_millis(20);
/// How often the kernel is asked for losses.
const LOSSES_NS: u64 = 200_000_000;

/// What both threads see.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) stop: AtomicBool,
    pub(crate) forget: AtomicBool,
    pub(crate) cpu_ns: AtomicU64,
    /// When it was ended; 0: not yet.
    pub(crate) ended_ns: AtomicU64,
    seen: Mutex<Seen>,
}

/// How it stands: events come out some time after they happened.
#[derive(Clone, Debug, Default)]
struct Seen {
    statistics: ProbeStatistics,
    in_flight: Vec<IoRecord>,
    /// When those were in flight: all events before it have been taken.
    until_ns: u64,
}

impl Shared {
    pub(crate) fn statistics(&self) -> ProbeStatistics {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).statistics
    }

    /// When it was, and what was in flight then.
    pub(crate) fn in_flight(&self) -> (u64, Vec<IoRecord>) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        (seen.until_ns, seen.in_flight.clone())
    }
}

/// What has been started.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) chunks: Receiver<TraceChunk>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) thread: JoinHandle<()>,
    pub(crate) verdicts: Vec<ProgramSupport>,
    pub(crate) ring_bytes: u32,
}

/// Makes the instance and begins.
///
/// # Errors
/// There is no tracefs, this process may not, or something is asked for that this way does not offer.
pub(crate) fn start(options: &TraceOptions) -> Result<Started, TraceError> {
    if !options.filter.cgroups.is_empty() {
        let why = "I/Os cannot be chosen by control group through ftrace: its events do not have it (docs/trace.md)";
        return Err(TraceError::Parameter(why.to_string()));
    }
    let ring_bytes = ring_bytes(options)?;
    let devices = Devices::of(&options.filter);
    let instance = Instance::create(u64::from(ring_bytes), devices.kernel_filter().as_deref())?;
    let verdict = |(tracepoint, loss): &(&'static str, Option<&'static str>)| ProgramSupport {
        tracepoint,
        state: ProgramState::Missing,
        loss: *loss,
    };
    let verdicts = instance.missing.iter().map(verdict).collect();
    let has_start = instance.decoders.iter().any(|decoder| decoder.kind() == Kind::Start);
    let pairs = Pairs::new(&options.filter, devices, Tasks::new(instance::saved_processes()), has_start);
    instance.start()?;
    let shared = Arc::new(Shared::default());
    let (sender, chunks) = sync_channel(CHUNKS_WAITING);
    let theirs = Arc::clone(&shared);
    let thread = std::thread::Builder::new()
        .name("trace".to_string())
        .spawn(move || consume(instance, pairs, &sender, &theirs))
        .map_err(|why| TraceError::Consumer(format!("could not be started: {why}")))?;
    Ok(Started { chunks, shared, thread, verdicts, ring_bytes })
}

/// Takes events out until the order to stop, then takes the rest. The instance is gone before the sender is.
fn consume(instance: Instance, mut pairs: Pairs, sender: &SyncSender<TraceChunk>, shared: &Shared) {
    let mut merge = Merge::of(&instance);
    let (mut lost, mut asked_ns) = (0, 0);
    loop {
        let is_last = shared.stop.load(Ordering::Relaxed);
        if is_last && shared.ended_ns.load(Ordering::Relaxed) == 0 {
            shared.ended_ns.store(clock::now_ns(), Ordering::Relaxed);
            instance.stop();
        }
        if shared.forget.swap(false, Ordering::Relaxed) {
            pairs.forget_names();
        }
        let now_ns = clock::now_ns();
        let is_behind = merge.fill(&instance, now_ns, is_last);
        let missed = merge.missed();
        if is_last || missed > lost || now_ns.saturating_sub(asked_ns) > LOSSES_NS {
            let counted = instance.lost().max(missed);
            if counted > lost {
                pairs.lost(clock::now_ns());
            }
            (lost, asked_ns) = (lost.max(counted), now_ns);
        }
        merge.take(|event| {
            pairs.take(event);
        });
        if is_last && !is_behind {
            pairs.end();
        }
        // At the end all of them are taken, those until now.
        let until_ns = merge.taken_until_ns().min(now_ns);
        publish(&mut pairs, (until_ns, merge.unknown(), lost), sender, shared);
        if is_last && !is_behind {
            return;
        }
        if !is_behind {
            std::thread::sleep(POLL);
        }
    }
}

/// Shows how it stands after the events until some time, given how many were not understood since the last time and how
/// many are lost in all; then hands over what has ended.
fn publish(
    pairs: &mut Pairs,
    (until_ns, unknown, lost): (u64, u64, u64),
    sender: &SyncSender<TraceChunk>,
    shared: &Shared,
) {
    pairs.counts.lost_unknown += unknown;
    let mut statistics = pairs.counts;
    let missing = lost + statistics.lost_unknown;
    // What was lost was to be there.
    (statistics.lost_ring, statistics.taken, statistics.started) =
        (lost, statistics.taken + missing, statistics.started + missing);
    let in_flight = pairs.in_flight();
    let mut seen = shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
    // A buffer that is behind takes the time back, but not the events that were taken.
    *seen = Seen { statistics, in_flight, until_ns: until_ns.max(seen.until_ns) };
    drop(seen);
    shared.cpu_ns.store(clock::thread_cpu_ns(), Ordering::Relaxed);
    let chunk = std::mem::take(&mut pairs.chunk);
    if !chunk.is_empty() {
        // The receiver is gone only when the trace is being dropped.
        let _ = sender.send(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::TraceFilter;
    use event::Event;

    #[test]
    fn what_is_in_flight_has_the_time_until_which_events_were_taken() {
        let mut pairs = Pairs::new(&TraceFilter::default(), Devices::default(), Tasks::new("/nowhere".into()), true);
        let (sender, chunks) = sync_channel(8);
        let shared = Shared::default();
        let (dev, comm) = (4000 << 20, [0; 16]);
        let event = Event {
            ns: 10,
            kind: Kind::BioQueue,
            tid: 1,
            comm,
            dev,
            sector: 8,
            sectors: 8,
            rest_sector: 0,
            error: 0,
            op: 1,
            flags: 1,
        };
        pairs.take(&event);
        publish(&mut pairs, (15, 0, 0), &sender, &shared);
        let (as_of_ns, ios) = shared.in_flight();
        assert_eq!((as_of_ns, ios.iter().map(|io| io.queue_ns).collect::<Vec<_>>()), (15, vec![10]));
        pairs.take(&Event { ns: 20, kind: Kind::BioComplete, ..event });
        publish(&mut pairs, (25, 0, 0), &sender, &shared);
        assert_eq!(shared.in_flight(), (25, vec![]));
        // A buffer that is behind.
        publish(&mut pairs, (12, 0, 0), &sender, &shared);
        assert_eq!(shared.in_flight(), (25, vec![]), "it is so late all the same");
        drop(sender);
        let ended: Vec<IoRecord> = chunks.iter().flat_map(|chunk| chunk.ios().collect::<Vec<_>>()).collect();
        assert_eq!(ended.iter().map(|io| (io.queue_ns, io.complete_ns)).collect::<Vec<_>>(), [(10, 20)]);
    }
}
