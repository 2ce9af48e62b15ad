//! A replay under way: the thread that reads the trace, the tracing of the targets, and the comparison at the end.

mod fidelity;
mod grains;
mod source;

use crate::SessionError;
use crate::batch_sink::Spine;
use crate::run_context::RunContext;
use engine::{CpuReservation, ReplayChunk, ReplayFeed, ReplayHindrances, RunInput, RunningRun};
use monitor::{CounterReaders, RecordingEnd, interval_row, signed};
use plan::Plan;
use plan::generate::OperationKind;
use plan::replay::{ReplayChanges, ReplayMapper, ReplayPacing};
use quantity::clock;
use recording::{EventKind, RowBatch};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;
use target::TargetKind;
use trace::BlockDevice;
use trace::block::{BlockTrace, ProbeStatistics, TraceFilter, TraceNames, TraceOptions};

pub(crate) use grains::{TracedGrain, expected_sizes, grains, mistakes};
use source::Tape;
pub(crate) use source::sizes;
pub use source::{LostIos, TraceSurvey, lost, rehearse, survey};

/// Operations of a chunk.
const CHUNK: usize = 4096;
/// Chunks that are read ahead.
const AHEAD: usize = 64;
/// How long a replay waits until so much has been read, or all.
const FIRST_WAIT: Duration = Duration::from_secs(600);

/// The tracing of the targets while a replay runs.
struct Watched {
    trace: BlockTrace,
    columns: TraceNames,
    /// Device in the trace → target, first byte of the target in the device.
    devices: HashMap<String, (u32, i64)>,
    seen: ProbeStatistics,
    seen_cpu_ns: u64,
    interval_ns: u64,
}

/// Refuses a plan with a replay of nothing, and one whose data is to be validated and cannot be. `sizes` finds those of the targets.
///
/// # Errors
/// There is no trace, nothing of it would be played, or its I/Os do not begin and end between sectors.
pub(crate) fn preflight(plan: &Plan, sizes: impl Fn() -> Vec<Option<u64>>) -> Result<(), SessionError> {
    let sizes = source::preflight(plan, sizes)?;
    match grains::mistakes(plan, |target| sizes.get(target).copied().flatten())? {
        mistakes if mistakes.is_empty() => Ok(()),
        mistakes => Err(SessionError::Validation(mistakes)),
    }
}

/// A replay under way.
pub(crate) struct Playback {
    tape: Tape,
    survey: TraceSurvey,
    /// Traced time ÷ replayed time.
    speed: f64,
    pacing: ReplayPacing,
    reading: Option<JoinHandle<Result<ReplayChanges, SessionError>>>,
    hindrances: Arc<ReplayHindrances>,
    watched: Option<Watched>,
    started_ns: u64,
    errors: u64,
    /// Where it may run; empty: anywhere.
    cpus: Vec<u32>,
    /// The rest of us keeps off the player's CPU as long as it plays.
    aside: Option<CpuReservation>,
}

/// Starts the run's replay; `None` when it has none. With it goes where the counters stood before its first I/O.
pub(crate) fn start(
    context: &RunContext<'_>,
    input: RunInput<'_>,
    spine: &mut Spine<'_>,
    counters: &mut CounterReaders,
) -> Result<Option<(RunningRun, Playback, Vec<RowBatch>)>, SessionError> {
    let Some(replay) = context.run.workloads.iter().find_map(|workload| workload.replay.as_deref()) else {
        return Ok(None);
    };
    let tape = Tape::open(replay)?;
    let survey = if tape.is_packed() { tape.survey()? } else { TraceSurvey::default() };
    let sizes = source::sizes(context.plan, context.targets);
    let speed = tape.speed(&sizes, &survey)?;
    let mapper = tape.mapper(&sizes, &survey, speed);
    let aside = CpuReservation::of(&replay.cpus);
    let watched = if replay.verify { watch(context, spine)? } else { None };
    let (send, chunks) = sync_channel::<ReplayChunk>(AHEAD);
    let (ready, is_ready) = sync_channel(1);
    let reader = tape.clone();
    let blocks = blocks(context);
    let reading = std::thread::Builder::new().name("iodyno-trace".to_string()).spawn(move || {
        let read = read((&reader, &blocks), mapper, &send, &|is_any| {
            let _ = ready.try_send(is_any);
        });
        drop((send, ready));
        read
    });
    let reading = reading.map_err(|source| SessionError::Thread { what: "read the trace", source })?;
    // Nothing is to be late because the trace has not been opened yet.
    if let Ok(false) = is_ready.recv_timeout(FIRST_WAIT) {
        let changes = reading.join().unwrap_or_else(|_| Ok(ReplayChanges::default()))?;
        return Err(source::nothing(replay, &changes));
    }
    let feed = ReplayFeed { chunks, pacing: replay.pacing, depth: replay.depth, cpus: aside.cpus().to_vec() };
    let baseline = counters.baseline(clock::now_ns(), spine.origin_ns());
    let (running, hindrances) = engine::replay(input, feed, (context.errors_max(), context.damage_max()))?;
    let started_ns = running.started_ns();
    let playback = Playback {
        tape,
        survey,
        speed,
        pacing: replay.pacing,
        reading: Some(reading),
        hindrances,
        watched,
        started_ns,
        errors: 0,
        cpus: aside.cpus().to_vec(),
        aside: Some(aside),
    };
    Ok(Some((running, playback, baseline)))
}

/// Reads the trace into chunks; tells `ready` when as many are there as may be read ahead, or
/// all, and whether there are any.
fn read(
    (tape, blocks): (&Tape, &[u64]),
    mapper: ReplayMapper,
    send: &std::sync::mpsc::SyncSender<ReplayChunk>,
    ready: &dyn Fn(bool),
) -> Result<ReplayChanges, SessionError> {
    let mut chunk = Vec::with_capacity(CHUNK);
    let mut chunks = 0;
    let mut odd = None;
    let changes = tape.play(mapper, &mut |io, _| {
        let block = blocks.get(io.target as usize).copied().unwrap_or(1);
        if io.op != OperationKind::Flush
            && !(io.offset.is_multiple_of(block) && u64::from(io.bytes).is_multiple_of(block))
        {
            odd = Some((io.offset, io.bytes));
            return ControlFlow::Break(());
        }
        chunk.push(io);
        if chunk.len() < CHUNK {
            return ControlFlow::Continue(());
        }
        let sent = send.send(ReplayChunk::from(chunk.as_slice()));
        chunk.clear();
        chunks += 1;
        if chunks == AHEAD {
            ready(true);
        }
        if sent.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    if !chunk.is_empty() {
        let _ = send.send(chunk.into());
    }
    ready(changes.played > 0);
    match odd {
        None => Ok(changes),
        Some((offset, bytes)) => Err(SessionError::Validation(vec![format!(
            "the trace has changed since it was looked through: an I/O of {bytes} bytes at {offset} does not begin and end between blocks"
        )])),
    }
}

/// By target, of what all that is played there is a multiple: blocks where data is validated, else bytes.
fn blocks(context: &RunContext<'_>) -> Vec<u64> {
    let of = |target| context.validation.and_then(|validation| validation.target(target));
    (0..context.plan.targets.len()).map(|target| of(target).map_or(1, |target| target.rules().block_bytes)).collect()
}

/// First byte of a partition in its device; 0 of a whole device.
fn partition_start(path: &Path) -> i64 {
    let name = std::fs::canonicalize(path).ok().and_then(|path| Some(path.file_name()?.to_os_string()));
    let start =
        name.and_then(|name| std::fs::read_to_string(Path::new("/sys/class/block").join(name).join("start")).ok());
    start.and_then(|text| text.trim().parse::<i64>().ok()).unwrap_or(0) * 512
}

/// Traces the targets, if all are devices and the system lets us; says so if not.
fn watch(context: &RunContext<'_>, spine: &mut Spine<'_>) -> Result<Option<Watched>, SessionError> {
    let mut devices = HashMap::new();
    let mut filter = TraceFilter { pids: vec![std::process::id()], ..TraceFilter::default() };
    for target in context.run.workloads.iter().flat_map(|workload| &workload.targets) {
        let opened = context.targets.get(*target).and_then(Option::as_ref);
        let device = opened.filter(|opened| matches!(opened.kind, TargetKind::BlockDevice { .. })).and_then(|opened| {
            BlockDevice::find(&opened.path.display().to_string()).ok().map(|device| (opened, device))
        });
        let Some((opened, device)) = device else {
            let why = "the replay is not compared with its trace at the device: a target is no block device";
            spine.note(EventKind::Fidelity, why)?;
            return Ok(None);
        };
        let place = (u32::try_from(*target).unwrap_or(u32::MAX), partition_start(&opened.path));
        devices.insert(whole_device(&opened.path).unwrap_or_else(|| device.name.clone()), place);
        filter.devices.push(device);
    }
    match BlockTrace::start(&TraceOptions { filter, files: false, ..TraceOptions::default() }) {
        Ok(trace) => {
            let interval_ns = trace.started_ns();
            let (columns, seen) = (TraceNames::default(), ProbeStatistics::default());
            Ok(Some(Watched { trace, columns, devices, seen, seen_cpu_ns: 0, interval_ns }))
        }
        Err(error) => {
            spine.note(
                EventKind::Fidelity,
                &format!("the replay is not compared with its trace at the device: {error}"),
            )?;
            Ok(None)
        }
    }
}

/// Name of the device that a partition is on.
fn whole_device(path: &Path) -> Option<String> {
    let name = std::fs::canonicalize(path).ok()?.file_name()?.to_string_lossy().into_owned();
    let entry = std::fs::canonicalize(Path::new("/sys/class/block").join(&name)).ok()?;
    if !entry.join("partition").exists() {
        return Some(name);
    }
    Some(entry.parent()?.file_name()?.to_string_lossy().into_owned())
}

impl Playback {
    /// Sleeps, and takes what the tracing has meanwhile.
    pub(crate) fn nap(&mut self, time: Duration, spine: &mut Spine<'_>) -> Result<(), SessionError> {
        let Some(watched) = &mut self.watched else {
            std::thread::sleep(time);
            return Ok(());
        };
        if let Some(chunk) = watched.trace.next(time) {
            spine.traced_ios(&watched.columns.pack(&chunk))?;
        }
        Ok(())
    }

    /// An interval has ended: what was lost in it.
    pub(crate) fn interval(&mut self, spine: &mut Spine<'_>, errors: u64) -> Result<(), SessionError> {
        self.errors += errors;
        let Some(watched) = &mut self.watched else { return Ok(()) };
        let statistics = watched.trace.statistics()?;
        watched.row(&statistics, spine)
    }

    /// The run is over: takes the rest, compares, and says how faithful it was.
    pub(crate) fn finish(
        mut self,
        context: &RunContext<'_>,
        spine: &mut Spine<'_>,
        is_cut: bool,
    ) -> Result<(), SessionError> {
        drop(self.aside.take());
        let losses = match &mut self.watched {
            Some(watched) => watched.finish(spine)?,
            None => 0,
        };
        let changes = match self.reading.take() {
            // A stopped replay does not need the rest of the trace; the thread ends, as its receiver is dropped.
            Some(reading) if !is_cut => reading.join().unwrap_or_else(|_| Ok(ReplayChanges::default()))?,
            _ => ReplayChanges::default(),
        };
        for words in changes.words() {
            spine.note(EventKind::Replay, &words)?;
        }
        let deferred = self.hindrances.deferred();
        if deferred > 0 {
            let words =
                "I/Os waited for others that had their blocks: where data is validated, a block has one I/O at a time";
            spine.note(EventKind::Replay, &format!("{deferred} {words}"))?;
        }
        let around = fidelity::Around { changes, losses, is_cut };
        fidelity::report(&self, context, spine, &around)
    }
}

impl Watched {
    fn row(&mut self, statistics: &ProbeStatistics, spine: &mut Spine<'_>) -> Result<(), SessionError> {
        let t_ns = clock::now_ns();
        let part = statistics.since(&self.seen);
        let cpu_ns = self.trace.consumer_cpu_ns();
        let summary = self.columns.take_summary();
        let times = (self.interval_ns, t_ns, spine.origin_ns());
        let row = interval_row(times, &part, &summary, cpu_ns - self.seen_cpu_ns);
        (self.seen, self.seen_cpu_ns, self.interval_ns) = (*statistics, cpu_ns, t_ns);
        spine.traced(&RowBatch::from_rows(&[row])?)
    }

    /// Ends the tracing; gives what it lost.
    fn finish(&mut self, spine: &mut Spine<'_>) -> Result<u64, SessionError> {
        self.trace.stop();
        while let Some(chunk) = self.trace.rest() {
            spine.traced_ios(&self.columns.pack(&chunk))?;
        }
        let statistics = self.trace.final_statistics()?;
        self.row(&statistics, spine)?;
        // The session records how the run itself ended.
        // A replay begins with its first I/O, whatever was done before that.
        let ended_ns = self.trace.ended_ns();
        let end =
            RecordingEnd { columns: &self.columns, statistics: &statistics, began_ns: None, ended_ns, exit: None };
        spine.manifest(|manifest| end.note(manifest, statistics.losses()))?;
        Ok(statistics.lost())
    }
}

/// Rows' time of a moment of the run.
fn at(started_ns: u64, since_ns: u64) -> i64 {
    signed(started_ns.saturating_add(since_ns))
}
