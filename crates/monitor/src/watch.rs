//! Samples a machine interval by interval: for `iodyno stat`, which shows, and `iodyno record`, which keeps.

use crate::block_latency;
use crate::command_row::recorded_command;
use crate::counters::{SUBJECTS, subjects};
use crate::days::local_zone;
use crate::event_cpu_time::{CpuClock, EventCpuTime, sample_both};
use crate::events::clock_step;
use crate::finding_flight::FindingFlight;
use crate::io_errors::IoErrors;
use crate::manifest_keys::CPU_CLOCK;
use crate::profile::Profiler;
use crate::{MonitorError, StopFlag};
use collect::{MachineReader, RequestedProcesses, SubjectName};
use command::InheritedMemory;
use quantity::clock;
use recording::rows::{CommandExecution, Event};
use recording::{
    ClockAnchor, EventKind, EventSeverity, Manifest, RecordingError, RecordingExit, RowBatch, Sink, Writer,
};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread::JoinHandle;
use std::time::Duration;
use views::ZONE_AHEAD_S;

/// How long a stop request may go unnoticed.
const NAP_NS: u64 = 100_000_000;

/// A last sample is not taken within this part of the interval after the one before.
const SHORT: u64 = 10;

/// What to watch, and for how long.
#[derive(Debug)]
pub struct WatchRequest {
    /// Subjects.
    pub what: Vec<SubjectName>,
    /// CPU time by event beside that of the tick.
    pub events: EventCpuTime,
    /// Look at every CPU so many times a second for what programs are at, where that can be; `None`: do not.
    pub profile_hz: Option<u32>,
    /// Follow single I/Os for the distributions of their response times, where that can be.
    pub responses: bool,
    /// Time between two samples.
    pub interval_ns: u64,
    /// What has rows in every sample, however idle it is.
    pub idle: AlwaysShown,
    /// Number of samples; `None`: until stopped.
    pub samples: Option<u64>,
    /// Longest time; `None`: until stopped.
    pub for_ns: Option<u64>,
    /// Where the recording goes; `None`: nothing is kept.
    pub directory: Option<PathBuf>,
    /// The command line, for the manifest.
    pub command_line: Vec<String>,
}

/// What was asked for by name: it has rows even when it does nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlwaysShown {
    /// Block devices, by the kernel's names.
    pub devices: Vec<String>,
    /// Processes.
    pub processes: RequestedProcesses,
}

/// Who else gets each sample.
#[derive(Default)]
pub struct SampleConsumers<'a> {
    /// Shows it.
    pub face: Option<&'a mut dyn Sink>,
    /// Judges it, and writes the I/Os around a finding.
    pub flight: Option<&'a mut FindingFlight>,
    /// Says at once what is to be said; without it, sentences are kept for the end.
    pub tell: Option<&'a mut dyn FnMut(&str)>,
}

/// A command that is recorded. It starts when the probes run and the first sample is taken, so that all it does lies between
/// two samples.
pub struct WatchedCommand<'a> {
    /// Gives it when it is to start; `None`: what is recorded has begun, and there is no command. That it cannot be started ends
    /// everything.
    pub start: &'a mut dyn FnMut() -> Option<Command>,
    /// The command, once it was started.
    pub child: Option<Child>,
    name: String,
    line: String,
    start_ns: u64,
    inherited: Option<InheritedMemory>,
    ending: Option<JoinHandle<u64>>,
    is_begun: bool,
}

impl<'a> WatchedCommand<'a> {
    /// One that is not started yet, with its name and line in the recording.
    pub fn new(start: &'a mut dyn FnMut() -> Option<Command>, name: String, line: String) -> Self {
        Self { start, child: None, name, line, start_ns: 0, inherited: None, ending: None, is_begun: false }
    }

    /// Takes the command's end, with a row of it: `None` where it has not ended, or was reaped before. With `waits`, waits for it.
    pub fn reap(&mut self, waits: bool, origin_ns: u64) -> Option<(ExitStatus, CommandExecution)> {
        let child = self.child.as_ref()?;
        let has_time = waits || self.ending.as_ref().is_none_or(JoinHandle::is_finished);
        if !has_time {
            return None;
        }
        let end_ns = self.ending.take().and_then(|ending| ending.join().ok()).unwrap_or_else(clock::now_ns);
        let reaped = command::reap_ended(child.id(), self.inherited?).ok().flatten()?;
        let row = recorded_command((&self.name, &self.line), (self.start_ns, end_ns), &reaped, origin_ns);
        Some((reaped.status, row))
    }

    /// Starts it, once; the command, when that was now.
    fn begin(&mut self) -> Result<Option<&Child>, MonitorError> {
        if std::mem::replace(&mut self.is_begun, true) {
            return Ok(None);
        }
        let Some(mut command) = (self.start)() else { return Ok(None) };
        self.inherited = Some(command::fork_for(&mut command));
        self.start_ns = clock::now_ns();
        self.child = Some(command.spawn().map_err(MonitorError::Start)?);
        self.ending = self.child.as_ref().and_then(end_of);
        Ok(self.child.as_ref())
    }
}

/// Waits for the moment at which the command ends: its time is its own, without what is still done about the recording.
fn end_of(child: &Child) -> Option<JoinHandle<u64>> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    let wait = move || {
        // It stays a zombie here, so that its number remains its own, and its usage can be read.
        let ways = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), ways), Err(Errno::INTR)) {}
        clock::now_ns()
    };
    std::thread::Builder::new().name("command".to_string()).spawn(wait).ok()
}

impl std::fmt::Debug for WatchedCommand<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Watched").field("child", &self.child).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for SampleConsumers<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Company").field("flight", &self.flight).finish_non_exhaustive()
    }
}

/// What came of it.
#[derive(Debug)]
pub struct WatchOutcome {
    /// Samples taken.
    pub samples: u64,
    /// Samples that were due while the machine slept or the collector could not run.
    pub missed: u64,
    /// How the command that was watched ended.
    pub status: Option<ExitStatus>,
    /// Its row in the recording.
    pub execution: Option<CommandExecution>,
    /// Did standard output fail, other than by a reader that went away?
    pub is_cut: bool,
    /// Sentences for the user.
    pub messages: Vec<String>,
}

/// Watches until the count or time is up, the command has ended, or a stop is requested.
///
/// # Errors
/// The recording can not be written; what was recorded before stays readable. The command cannot be started; nothing is left of
/// the recording then.
pub fn watch(
    request: &WatchRequest,
    company: SampleConsumers<'_>,
    watched: Option<&mut WatchedCommand<'_>>,
    stop: &StopFlag,
) -> Result<WatchOutcome, MonitorError> {
    let cpu_clock = CpuClock::start(request.events)?;
    let io_errors = (request.events != EventCpuTime::Off).then(IoErrors::if_possible);
    let profiler = request.profile_hz.map(Profiler::if_possible);
    let responses = request.responses.then(block_latency::Asked::if_possible);
    let mut writer = None;
    if let Some(directory) = &request.directory {
        let mut manifest = Manifest::new(&request.command_line);
        if let Some(clock) = &cpu_clock {
            manifest.extra.insert(CPU_CLOCK.into(), clock.word().into());
        }
        manifest.hardware = collect::hardware(&[]);
        let probes = cpu_clock.iter().flat_map(CpuClock::verdicts);
        let probes = probes.chain(io_errors.iter().map(IoErrors::verdict));
        let probes = probes.chain(profiler.iter().map(Profiler::verdict));
        let probes = probes.chain(responses.iter().map(block_latency::Asked::verdict));
        let wall_s = manifest.started_wall_ns.div_euclid(1_000_000_000);
        manifest.extra.insert(ZONE_AHEAD_S.into(), local_zone().offset_s(wall_s).into());
        manifest.extra.insert(SUBJECTS.into(), subjects(probes));
        writer = Some(Writer::create(directory, manifest)?);
    }
    let start_ns = clock::now_ns();
    let mut machine = MachineReader::new(&request.what);
    machine.tell_of(&request.idle.devices, &request.idle.processes);
    let mut watch = Watch {
        machine,
        cpu_clock,
        io_errors,
        profiler,
        responses,
        origin_ns: writer.as_ref().map_or(start_ns, Writer::started_t_ns),
        writer,
        company,
        outcome: WatchOutcome {
            samples: 0,
            missed: 0,
            status: None,
            execution: None,
            is_cut: false,
            messages: Vec::new(),
        },
        is_signalled: false,
    };
    let lived = watch.live(request, start_ns, watched, stop);
    watch.finish(lived, stop)
}

struct Watch<'a> {
    machine: MachineReader,
    cpu_clock: Option<CpuClock>,
    io_errors: Option<IoErrors>,
    profiler: Option<Profiler>,
    responses: Option<block_latency::Asked>,
    writer: Option<Writer>,
    company: SampleConsumers<'a>,
    origin_ns: u64,
    outcome: WatchOutcome,
    /// Was the signal to end passed on to the command?
    is_signalled: bool,
}

/// Sends the command the signal that was meant to end it. Ctrl-C at a terminal reached it as well: it is not to get it twice.
fn pass_on(signal: i32, child: &Child) {
    if signal == Signal::INT.as_raw() && is_in_the_foreground() {
        return;
    }
    send(signal, child);
}

fn send(signal: i32, child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // A command that has just ended gets no signal; it is not reaped yet, so no other process has its number.
    if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Is this program in the process group that a terminal's keys reach? Fields 5 and 8 of `/proc/self/stat`.
fn is_in_the_foreground() -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name before may have spaces and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    matches!((fields.get(2), fields.get(5)), (Some(group), Some(terminals)) if group == terminals)
}

impl Watch<'_> {
    fn live(
        &mut self,
        request: &WatchRequest,
        start_ns: u64,
        mut watched: Option<&mut WatchedCommand<'_>>,
        stop: &StopFlag,
    ) -> Result<(), MonitorError> {
        let interval_ns = request.interval_ns.max(1);
        let end_ns = request.for_ns.map(|length_ns| start_ns.saturating_add(length_ns));
        let mut due_ns = start_ns;
        loop {
            let sampled_ns = clock::now_ns();
            self.sample(due_ns)?;
            // If a stop was requested before the command began, it does not begin.
            if let Some(watched) = watched.as_deref_mut().filter(|_| !stop.is_requested()) {
                // A key that was pressed while it was being started may have come before it was there.
                if let (Some(child), Some(signal)) = (watched.begin()?, stop.signal()) {
                    self.is_signalled = true;
                    send(signal, child);
                }
            }
            if request.samples.is_some_and(|samples| self.outcome.samples >= samples) {
                return Ok(());
            }
            due_ns += interval_ns;
            // After a suspend the samples in between are gone; the next one keeps its place in the raster.
            let late = clock::now_ns().saturating_sub(due_ns) / interval_ns;
            if late > 0 {
                due_ns += late * interval_ns;
                self.outcome.missed += late;
                self.event(EventKind::Gap, &format!("{late} samples were due while the collector could not run"))?;
            }
            let due_or_end_ns = end_ns.map_or(due_ns, |end_ns| due_ns.min(end_ns));
            let ended = self.sleep(due_or_end_ns, watched.as_deref_mut(), stop)?;
            if ended || end_ns.is_some_and(|end_ns| clock::now_ns() >= end_ns && due_ns > end_ns) {
                // The interval under way counts as well where it is kept; of a small part of one no rate can be made. What was
                // asked for (`--for`) is over then, and a command's end is always recorded.
                let now_ns = clock::now_ns();
                let is_short = now_ns.saturating_sub(sampled_ns) < interval_ns / SHORT;
                let is_wanted = self.writer.is_some() && (!is_short || self.outcome.status.is_some());
                return if is_wanted { self.sample(now_ns) } else { Ok(()) };
            }
            if self.company.face.is_none() && self.writer.is_none() {
                return Ok(());
            }
        }
    }

    /// Sleeps until `until_ns`; true when it is time to end.
    fn sleep(
        &mut self,
        until_ns: u64,
        watched: Option<&mut WatchedCommand<'_>>,
        stop: &StopFlag,
    ) -> Result<bool, MonitorError> {
        let mut watched = watched.filter(|watched| watched.child.is_some());
        loop {
            self.responses.as_mut().map_or(Ok(()), block_latency::Asked::drain)?;
            if let Some(watched) = watched.as_deref_mut() {
                if let Some((status, row)) = watched.reap(false, self.origin_ns) {
                    self.outcome.status = Some(status);
                    self.publish(&[RowBatch::from_rows(std::slice::from_ref(&row))?])?;
                    self.outcome.execution = Some(row);
                    return Ok(true);
                }
                let Some(child) = watched.child.as_mut() else { continue };
                if stop.is_urgent() {
                    let _ = child.kill();
                } else if let Some(signal) = stop.signal().filter(|_| !self.is_signalled) {
                    self.is_signalled = true;
                    pass_on(signal, child);
                }
            } else if stop.is_requested() {
                return Ok(true);
            }
            let now_ns = clock::now_ns();
            if now_ns >= until_ns {
                return Ok(false);
            }
            // A command's end is to be seen at once, for its time is printed.
            let nap_ns = if watched.is_some() { NAP_NS / 10 } else { NAP_NS };
            std::thread::sleep(Duration::from_nanos((until_ns - now_ns).min(nap_ns)));
        }
    }

    fn sample(&mut self, due_ns: u64) -> Result<(), MonitorError> {
        let (mut batches, events) = sample_both(&mut self.machine, self.cpu_clock.as_mut(), due_ns, self.origin_ns);
        batches.extend(events?);
        if let Some(io_errors) = &mut self.io_errors {
            batches.extend(io_errors.sample(self.origin_ns)?);
        }
        if let Some(profiler) = &mut self.profiler {
            batches.extend(profiler.sample(self.origin_ns)?);
        }
        if let Some(responses) = &mut self.responses {
            batches.extend(responses.sample(self.origin_ns)?);
        }
        self.outcome.samples += 1;
        self.publish(&batches)?;
        if let Some(flight) = self.company.flight.as_mut() {
            batches.iter().try_for_each(|batch| flight.accept(batch)).and_then(|()| flight.commit())?;
            let news = flight.news(self.origin_ns);
            self.note(&news)?;
        }
        if let Some(writer) = &mut self.writer
            && let Some(step_ns) = writer.follow_clock(ClockAnchor::now())?
        {
            self.publish(&[RowBatch::from_rows(&[clock_step(step_ns, self.origin_ns)])?])?;
        }
        Ok(())
    }

    /// Journals what the flight recorder says.
    fn note(&mut self, news: &[Event]) -> Result<(), MonitorError> {
        if news.is_empty() { Ok(()) } else { self.publish(&[RowBatch::from_rows(news)?]) }
    }

    /// Journals batches, and shows them only after that.
    fn publish(&mut self, batches: &[RowBatch]) -> Result<(), MonitorError> {
        if let Some(writer) = &mut self.writer {
            batches.iter().try_for_each(|batch| writer.accept(batch))?;
            writer.commit()?;
        }
        self.warn(batches)?;
        let Some(face) = self.company.face.as_mut() else { return Ok(()) };
        let shown: Result<(), RecordingError> =
            batches.iter().try_for_each(|batch| face.accept(batch)).and_then(|()| face.commit());
        if let Err(error) = shown {
            self.outcome.is_cut = !tui::is_closed(&error);
            if self.outcome.is_cut || self.writer.is_some() {
                self.outcome.messages.push(format!("standard output was given up ({error})"));
            }
            self.company.face = None;
        }
        Ok(())
    }

    /// What could not be read is said on standard error, too; the kernel's own messages are not ours to repeat.
    fn warn(&mut self, batches: &[RowBatch]) -> Result<(), MonitorError> {
        for batch in batches {
            for event in batch.to_rows::<Event>()?.into_iter().filter(|event| event.kind != EventKind::Kernel) {
                match &mut self.company.tell {
                    Some(tell) => tell(&event.message),
                    None => self.outcome.messages.push(event.message),
                }
            }
        }
        Ok(())
    }

    fn event(&mut self, kind: EventKind, message: &str) -> Result<(), MonitorError> {
        let t_ns = clock::now_ns();
        let row = Event {
            t_ns: i64::try_from(t_ns).unwrap_or(i64::MAX),
            t_s: t_ns.saturating_sub(self.origin_ns) as f64 / 1e9,
            severity: EventSeverity::Warning,
            kind,
            class: None,
            run: None,
            target: None,
            message: message.to_string(),
            count: 1,
        };
        self.publish(&[RowBatch::from_rows(&[row])?])
    }

    fn finish(mut self, lived: Result<(), MonitorError>, stop: &StopFlag) -> Result<WatchOutcome, MonitorError> {
        let news = self.company.flight.take().map(|flight| flight.end(self.origin_ns)).unwrap_or_default();
        if let Err(MonitorError::Start(_)) = &lived {
            // There was nothing to record.
            self.writer.take().map_or(Ok(()), Writer::discard)?;
            return lived.map(|()| self.outcome);
        }
        // Where the recording broke off, they are said at least.
        let noted = self.note(&news);
        lived?;
        noted?;
        // A recording that broke off is left as it is: its journal holds everything, and sealing would need room.
        if let Some(mut writer) = self.writer {
            let word = if stop.is_requested() { RecordingExit::Interrupted } else { RecordingExit::Fine };
            let losses = self.cpu_clock.iter().map(CpuClock::losses);
            let losses = losses.chain(self.profiler.iter().flat_map(Profiler::losses));
            let losses =
                losses.chain(self.responses.iter().map(block_latency::Asked::losses)).filter(|(_, lost)| *lost > 0);
            writer.update_manifest(|manifest| {
                manifest.losses.extend(losses.map(|(name, lost)| (name.to_string(), lost)));
                manifest.exit = Some(word);
            })?;
            writer.seal()?;
        }
        Ok(self.outcome)
    }
}

/// Ties a monotonic time of now to the wall clock.
#[must_use]
pub fn live_wall() -> tui::WallAnchor {
    Box::new(|t_ns| clock::wall_ns() - (i64::try_from(clock::now_ns()).unwrap_or(i64::MAX) - t_ns))
}
