//! The flight recorder: a trace that is kept in memory and written only when there is trouble.

use crate::archive::home::ArchiveFolder;
use crate::manifest_keys::FLIGHT_CONDITION;
use crate::numbers::signed;
use crate::recording_names::numbered;
use crate::trace::{RecordingEnd, interval_row, known, lost_words, sample_news, shown};
use crate::{MonitorError, StopFlag};
use objectives::{Condition, ConditionWatch, IntervalStream};
use quantity::clock;
use quantity::histogram::HistogramRecorder;
use recording::rows::{Event, TraceInterval};
use recording::{EventKind, EventSeverity, LossName, Manifest, RecordingError, RowBatch, Sink, Writer};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use trace::block::{BlockTrace, FlightRing, ProbeStatistics, TraceChunk, TraceNames, TraceOptions, TraceSums, op_name};
use trace::device_name;
use workload::traced::sample::TRACE_SAMPLE;

/// How long the loop waits for records before it looks at the clock and at signals.
const NAP: Duration = Duration::from_millis(50);
/// The condition is judged so often.
const TICK_NS: u64 = 1_000_000_000;
/// Rows between two commits of a dump.
const COMMIT_ROWS: usize = 64 * 1024;

/// Everything that a flight recorder needs to know.
#[derive(Debug)]
pub struct FlightRequest {
    /// What and how to trace.
    pub options: TraceOptions,
    /// What trouble is.
    pub trigger: DumpTrigger,
    /// So much from before the trouble is written.
    pub before_ns: u64,
    /// So much from after it.
    pub after_ns: u64,
    /// Bytes of records in memory, at most.
    pub memory_bytes: u64,
    /// Ends after so many dumps.
    pub dumps: u64,
    /// How long; `None`: until a stop is requested.
    pub duration_ns: Option<u64>,
    /// The recording of the first dump; those of later ones have `-2`, `-3`, … behind the name. Of dumps that findings
    /// trigger, the beginning of the names, with the time behind it.
    pub directory: PathBuf,
    /// The command line, for the manifests.
    pub command_line: Vec<String>,
    /// The collector in whose directory it writes, and which keeps and removes the recordings as its own.
    pub collector: Option<Arc<ArchiveFolder>>,
}

/// What makes it write.
#[derive(Debug)]
pub enum DumpTrigger {
    /// I/Os themselves: this holds.
    Condition(Condition),
    /// A finding of the rules of `diagnose`, sent through this channel.
    Reported(Receiver<ReportedTrouble>),
}

impl DumpTrigger {
    /// In words.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Condition(condition) => condition.text(),
            Self::Reported(_) => "a finding",
        }
    }
}

/// Trouble that a finding reports.
#[derive(Clone, Debug)]
pub struct ReportedTrouble {
    /// The keys of the findings.
    pub subjects: Vec<String>,
    /// In words.
    pub reason: String,
}

impl ReportedTrouble {
    /// Has it a subject that is not among these? Trouble that the recorder itself sees has no subject.
    fn is_other_than(&self, subjects: &[String]) -> bool {
        self.subjects.iter().any(|subject| !subjects.contains(subject))
    }

    /// More trouble of the same time.
    fn join(mut self, other: Self) -> Self {
        let more = other.subjects.into_iter().filter(|subject| !self.subjects.contains(subject));
        self.subjects.extend(more.collect::<Vec<_>>());
        self.reason = format!("{}; {}", self.reason, other.reason);
        self
    }
}

/// What happens while it runs.
#[derive(Debug)]
pub enum FlightNews<'a> {
    /// Everything is attached. With what is to be known of this trace.
    Armed(&'a [String]),
    /// A second has gone by; so many I/Os are in memory. Of a sample, counts are multiplied.
    Interval(&'a TraceInterval, usize),
    /// There is trouble: why.
    Trouble(&'a str),
    /// A dump is complete.
    Dumped(&'a FlightDump),
    /// A dump could not be written: where, and why. The watch goes on.
    Failed(&'a str),
}

/// One dump.
#[derive(Clone, Debug)]
pub struct FlightDump {
    /// The recording.
    pub directory: PathBuf,
    /// The keys of the findings that triggered it; empty if a condition did.
    pub subjects: Vec<String>,
    /// Why it was written.
    pub reason: String,
    /// Rows of `io`.
    pub ios: u64,
    /// I/Os that should be in it and are not.
    pub lost: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct FlightOutcome {
    /// In order.
    pub dumps: Vec<FlightDump>,
    /// Troubles of which nothing, or not all, could be written.
    pub failed: u64,
    /// I/Os that the whole watch did not see: trouble among them is not known.
    pub lost: u64,
    /// Was it stopped before its time?
    pub interrupted: bool,
    /// Sentences for the end.
    pub messages: Vec<String>,
}

/// Where it stands.
#[derive(Debug)]
enum State {
    Armed,
    /// Trouble began in the second that began at `from_ns`; written at `until_ns`.
    Waiting {
        from_ns: u64,
        until_ns: u64,
        trouble: ReportedTrouble,
    },
    /// Written; armed again when the condition has not held since `quiet_ns` for as long as is written after trouble.
    /// Trouble of another subject than these is another.
    Cooling {
        quiet_ns: u64,
        subjects: Vec<String>,
    },
}

/// What one operation did on one device in the second under way.
#[derive(Default)]
struct Sums {
    lane: IntervalStream,
    response: HistogramRecorder,
    service: HistogramRecorder,
    wait: HistogramRecorder,
}

struct Life<'a> {
    request: &'a FlightRequest,
    trace: BlockTrace,
    columns: TraceNames,
    ring: FlightRing,
    lanes: HashMap<(u32, u8), Sums>,
    summary: TraceSums,
    rows: VecDeque<TraceInterval>,
    /// I/Os that the ring let go although they were recent enough: how many, and the last of their times.
    let_go: (u64, u64),
    /// Follows the condition, where there is one.
    watch: Option<ConditionWatch>,
    state: State,
    tick_ns: u64,
    seen: ProbeStatistics,
    seen_cpu_ns: u64,
    news: &'a mut dyn FnMut(FlightNews<'_>),
    outcome: FlightOutcome,
}

/// Waits for trouble until there were as many dumps as asked for, the time is over or a stop is requested.
///
/// # Errors
/// The probe cannot be loaded, or not be read any more. A dump that cannot be written is reported as
/// [`FlightNews::Failed`], and the watch goes on.
pub fn flight(
    request: &FlightRequest,
    news: &mut dyn FnMut(FlightNews<'_>),
    stop: &StopFlag,
) -> Result<FlightOutcome, MonitorError> {
    let trace = BlockTrace::start(&request.options)?;
    let started_ns = trace.started_ns();
    let notes: Vec<String> = known(&trace, trace.verdicts()).into_iter().chain(sample_news(&request.options)).collect();
    let mut life = Life {
        request,
        columns: TraceNames::default(),
        ring: FlightRing::new(request.memory_bytes),
        lanes: HashMap::new(),
        summary: TraceSums::default(),
        rows: VecDeque::new(),
        let_go: (0, 0),
        watch: match &request.trigger {
            DumpTrigger::Condition(condition) => Some(ConditionWatch::new(condition.clone(), signed(started_ns))),
            DumpTrigger::Reported(_) => None,
        },
        state: State::Armed,
        tick_ns: started_ns,
        seen: ProbeStatistics::default(),
        seen_cpu_ns: 0,
        trace,
        news,
        outcome: FlightOutcome::default(),
    };
    (life.news)(FlightNews::Armed(&notes));
    life.outcome.interrupted = life.live(started_ns, stop)?;
    // A dump that is under way is written, shorter than asked.
    if matches!(life.state, State::Waiting { .. }) {
        life.tick(clock::now_ns())?;
    }
    if let State::Waiting { from_ns, trouble, .. } = std::mem::replace(&mut life.state, State::Armed) {
        life.dump(from_ns, trouble);
    }
    let statistics = life.trace.statistics()?;
    life.outcome.lost = statistics.lost();
    if life.outcome.lost > 0 {
        let words = format!("the watch did not see every I/O: {}", lost_words(&statistics));
        life.outcome.messages.push(words);
    }
    Ok(life.outcome)
}

impl Life<'_> {
    /// Until the end; true when it came before its time.
    fn live(&mut self, started_ns: u64, stop: &StopFlag) -> Result<bool, MonitorError> {
        let end_ns = self.request.duration_ns.map(|duration| started_ns.saturating_add(duration));
        let mut due_ns = started_ns + TICK_NS;
        while (self.outcome.dumps.len() as u64) < self.request.dumps {
            let now_ns = clock::now_ns();
            if stop.is_requested() {
                return Ok(true);
            }
            if end_ns.is_some_and(|end_ns| now_ns >= end_ns) {
                return Ok(false);
            }
            if now_ns >= due_ns {
                self.tick(now_ns)?;
                due_ns += (now_ns - due_ns) / TICK_NS * TICK_NS + TICK_NS;
                continue;
            }
            if let Some(chunk) = self.trace.next(NAP.min(Duration::from_nanos(due_ns - now_ns))) {
                self.take(&chunk);
            }
        }
        Ok(false)
    }

    fn take(&mut self, chunk: &TraceChunk) {
        self.columns.learn(chunk);
        // Of a sample, each stands for so many.
        let weight = i64::from(self.weight());
        for io in chunk.ios() {
            let sums = self.lanes.entry((io.dev, io.op)).or_default();
            sums.lane.ops += weight;
            sums.lane.bytes += weight * i64::from(io.bytes);
            sums.lane.errors += weight * i64::from(io.failed());
            if let Some(response_ns) = io.response_ns() {
                sums.response.record(response_ns);
                self.summary.response.record(response_ns);
            }
            if io.issue_ns > 0 {
                if io.complete_ns > 0 {
                    sums.service.record(io.complete_ns.saturating_sub(io.issue_ns));
                }
                sums.wait.record(io.issue_ns.saturating_sub(io.queue_ns));
            }
            self.summary.ios += 1;
            self.summary.reads += u64::from(io.op == 0);
            self.summary.bytes += u64::from(io.bytes);
            self.summary.errors += u64::from(io.failed());
        }
        let (gone, gone_ns) = self.ring.push(chunk);
        self.let_go = (self.let_go.0 + gone, self.let_go.1.max(gone_ns));
        self.trace.bound_names(&mut self.columns);
    }

    /// I/Os for which one that was traced stands.
    fn weight(&self) -> u32 {
        self.request.options.filter.sample.max(1)
    }

    /// Ends a second: its row, the condition, and what follows from it.
    fn tick(&mut self, now_ns: u64) -> Result<(), MonitorError> {
        let statistics = self.trace.statistics()?;
        let cpu_ns = self.trace.consumer_cpu_ns();
        let part = statistics.since(&self.seen);
        let summary = std::mem::take(&mut self.summary);
        let from_ns = self.tick_ns;
        // Of a dump `t_s` begins elsewhere.
        let row = interval_row((from_ns, now_ns, self.trace.started_ns()), &part, &summary, cpu_ns - self.seen_cpu_ns);
        (self.seen, self.seen_cpu_ns, self.tick_ns) = (statistics, cpu_ns, now_ns);
        (self.news)(FlightNews::Interval(&shown(&row, &self.request.options), self.ring.len()));
        self.rows.push_back(row);
        let seen = self.trouble(from_ns, now_ns);
        let after_ns = self.request.after_ns;
        self.state = match (std::mem::replace(&mut self.state, State::Armed), seen) {
            (State::Armed, Some(trouble)) => self.wait_for_more(from_ns, now_ns, trouble),
            (State::Cooling { subjects, .. }, Some(trouble)) if trouble.is_other_than(&subjects) => {
                self.wait_for_more(from_ns, now_ns, trouble)
            }
            // What comes meanwhile has the same I/Os around it. A condition that goes on to hold is still the same trouble.
            (State::Waiting { from_ns, until_ns, trouble }, more) => {
                let more = more.filter(|more| more.is_other_than(&trouble.subjects));
                let trouble = more.into_iter().fold(trouble, ReportedTrouble::join);
                if now_ns < until_ns {
                    State::Waiting { from_ns, until_ns, trouble }
                } else {
                    let subjects = trouble.subjects.clone();
                    self.dump(from_ns, trouble);
                    State::Cooling { quiet_ns: now_ns, subjects }
                }
            }
            (State::Cooling { subjects, .. }, Some(_)) => State::Cooling { quiet_ns: now_ns, subjects },
            (State::Cooling { quiet_ns, subjects }, None) if now_ns - quiet_ns < after_ns => {
                State::Cooling { quiet_ns, subjects }
            }
            (State::Cooling { .. } | State::Armed, None) => State::Armed,
        };
        if !matches!(self.state, State::Waiting { .. }) {
            self.forget(now_ns);
        }
        Ok(())
    }

    /// There is trouble since the second that began at `from_ns`: it is written once it is known what followed.
    fn wait_for_more(&mut self, from_ns: u64, now_ns: u64, trouble: ReportedTrouble) -> State {
        (self.news)(FlightNews::Trouble(&trouble.reason));
        State::Waiting { from_ns, until_ns: now_ns + self.request.after_ns, trouble }
    }

    /// Is there trouble in the second that ends?
    fn trouble(&mut self, from_ns: u64, now_ns: u64) -> Option<ReportedTrouble> {
        let lanes = self.take_lanes();
        if let Some(watch) = &mut self.watch {
            let is_trouble = watch.accept(signed(from_ns), signed(now_ns), &lanes);
            return is_trouble.then(|| ReportedTrouble { subjects: Vec::new(), reason: watch.reason() });
        }
        let DumpTrigger::Reported(reported) = &self.request.trigger else { return None };
        reported.try_iter().reduce(ReportedTrouble::join)
    }

    /// Drops records older than any dump can need: trouble may have begun in the second that is under way.
    fn forget(&mut self, now_ns: u64) {
        let kept_ns = now_ns.saturating_sub(self.request.before_ns + TICK_NS);
        self.ring.forget_before(kept_ns);
        while self.rows.front().is_some_and(|row| row.t_ns < signed(kept_ns)) {
            self.rows.pop_front();
        }
    }

    /// The lanes of the second, with what is in flight at its end.
    fn take_lanes(&mut self) -> Vec<IntervalStream> {
        let (as_of_ns, in_flight) = self.trace.in_flight();
        let weight = f64::from(self.weight());
        for io in in_flight {
            let lane = &mut self.lanes.entry((io.dev, io.op)).or_default().lane;
            lane.in_flight += weight;
            lane.oldest_ns = lane.oldest_ns.max(as_of_ns.saturating_sub(io.queue_ns));
        }
        let lane = |((dev, op), sums): ((u32, u8), Sums)| IntervalStream {
            target: device_name(dev),
            op: op_name(op).to_string(),
            response: sums.response.snapshot(),
            service: sums.service.snapshot(),
            wait: sums.wait.snapshot(),
            ..sums.lane
        };
        std::mem::take(&mut self.lanes).into_iter().map(lane).collect()
    }

    /// Writes what is in memory as a recording. A disk that is full now may have room when the next trouble comes.
    fn dump(&mut self, from_ns: u64, trouble: ReportedTrouble) {
        let directory = self.free_name();
        let mut has_rows = false;
        match self.write(directory.clone(), from_ns, trouble, &mut has_rows) {
            Ok(dump) => {
                (self.news)(FlightNews::Dumped(&dump));
                self.outcome.dumps.push(dump);
            }
            Err(error) => {
                self.outcome.failed += 1;
                self.let_go = (0, 0);
                let _ = self.columns.take_summary();
                // What could be written stays; a piece without a row is only in the way.
                let is_taken = matches!(&error, MonitorError::Recording(RecordingError::Exists(_)));
                if !has_rows && !is_taken {
                    recording::discard(&directory);
                }
                (self.news)(FlightNews::Failed(&format!("{}: {error}", directory.display())));
            }
        }
    }

    /// `has_rows` is set once some I/Os are on the disk.
    fn write(
        &mut self,
        directory: PathBuf,
        trouble_ns: u64,
        trouble: ReportedTrouble,
        has_rows: &mut bool,
    ) -> Result<FlightDump, MonitorError> {
        let from_ns = trouble_ns.saturating_sub(self.request.before_ns).max(self.trace.started_ns());
        let ReportedTrouble { subjects, reason } = trouble;
        let manifest = self.manifest(from_ns, trouble_ns, &reason);
        let mut writer = match &self.request.collector {
            Some(home) => {
                let name = directory.file_name().unwrap_or_default().to_string_lossy();
                home.begin(&name, manifest)?.0
            }
            None => Writer::create(&directory, manifest)?,
        };
        let (ios, unfinished, ended_ns) = self.write_ios(&mut writer, from_ns, has_rows)?;
        // They were counted when they came.
        let _ = self.columns.take_summary();
        let seconds = |t_ns: i64| (t_ns - signed(from_ns)) as f64 / 1e9;
        let rows: Vec<TraceInterval> = self.rows.iter().filter(|row| row.t_ns > signed(from_ns)).cloned().collect();
        let rows: Vec<TraceInterval> =
            rows.into_iter().map(|row| TraceInterval { t_s: seconds(row.t_ns), ..row }).collect();
        writer.accept(&RowBatch::from_rows(&rows)?)?;
        let event = Event {
            t_ns: signed(trouble_ns),
            t_s: seconds(signed(trouble_ns)),
            severity: EventSeverity::Warning,
            kind: EventKind::Trouble,
            class: None,
            run: None,
            target: None,
            message: reason.clone(),
            count: 1,
        };
        writer.accept(&RowBatch::from_rows(&[event])?)?;
        writer.commit()?;
        let sum = |of: fn(&TraceInterval) -> i64| rows.iter().map(of).sum::<i64>().unsigned_abs();
        let ring_full = if self.let_go.1 >= from_ns { self.let_go.0 } else { 0 };
        let part = ProbeStatistics {
            lost_ring: sum(|row| row.lost_buffer),
            lost_table: sum(|row| row.lost_table),
            lost_start: sum(|row| row.lost_start),
            lost_names: sum(|row| row.lost_names),
            lost_end: sum(|row| row.lost_end),
            missed_ends: self.seen.missed_ends,
            ..unfinished
        };
        self.let_go = (0, 0);
        let lost = part.lost() + ring_full;
        // What memory could not hold was let go from the beginning on.
        let (began_ns, exit) = (Some(from_ns).filter(|_| ring_full == 0), Some("fine"));
        let end = RecordingEnd { columns: &self.columns, statistics: &part, began_ns, ended_ns: Some(ended_ns), exit };
        let memory_full = [(LossName::FlightMemoryFull, ring_full)];
        writer.update_manifest(|manifest| end.note(manifest, part.losses_of_a_part().chain(memory_full)))?;
        if let Err(error) = writer.seal() {
            let words = format!("{} is whole, but not sealed: {error}", directory.display());
            self.outcome.messages.push(words);
        }
        if ring_full > 0 {
            self.outcome
                .messages
                .push(format!("{} has fewer seconds than asked for: --memory was too small", directory.display()));
        }
        if lost > ring_full {
            self.outcome.messages.push(format!("{}: {}", directory.display(), lost_words(&part)));
        }
        Ok(FlightDump { directory, subjects, reason, ios, lost })
    }

    /// Writes what is in memory from `from_ns` on, and what is in flight: how many, these, and when they were so.
    fn write_ios(
        &mut self,
        writer: &mut Writer,
        from_ns: u64,
        has_rows: &mut bool,
    ) -> Result<(u64, ProbeStatistics, u64), MonitorError> {
        let mut ios = 0;
        let mut uncommitted = 0;
        // What hangs is in no ring, and may be the trouble itself.
        let (ended_ns, mut open) = self.trace.unfinished();
        for chunk in self.ring.chunks_from(from_ns) {
            open.remove(&chunk);
            ios += chunk.len() as u64;
            uncommitted += chunk.len();
            let packed = self.columns.pack(&chunk);
            writer.accept_ios(&packed.names, packed.records)?;
            if uncommitted >= COMMIT_ROWS {
                uncommitted = 0;
                writer.commit()?;
                *has_rows = true;
            }
        }
        let unfinished = ProbeStatistics { unfinished: open.len() as u64, ..ProbeStatistics::default() };
        let packed = self.columns.pack(&open);
        writer.accept_ios(&packed.names, packed.records)?;
        Ok((ios + unfinished.unfinished, unfinished, ended_ns))
    }

    /// The name of the next dump; what is there stays there.
    fn free_name(&self) -> PathBuf {
        let base = match &self.request.trigger {
            DumpTrigger::Condition(_) => self.request.directory.clone(),
            DumpTrigger::Reported(_) => {
                let mut name = self.request.directory.file_name().unwrap_or_default().to_os_string();
                name.push(format!("-{}.iodyno", quantity::text::format_stamp(clock::wall_ns())));
                self.request.directory.with_file_name(name)
            }
        };
        let mut names = (1..).map(|number| numbered(&base, number));
        names.find(|name| !name.exists()).unwrap_or(base)
    }

    /// The manifest of a recording that began at `from_ns`.
    fn manifest(&self, from_ns: u64, trouble_ns: u64, reason: &str) -> Manifest {
        let mut manifest = Manifest::new(&self.request.command_line);
        let back_ns = manifest.started_t_ns - signed(from_ns);
        manifest.started_t_ns -= back_ns;
        manifest.started_wall_ns -= back_ns;
        manifest.clock_anchors.clear();
        manifest.hardware = collect::hardware(&[]);
        manifest.extra.insert(TRACE_SAMPLE.into(), self.request.options.filter.sample.into());
        manifest.extra.insert("trace_buffer_bytes".into(), self.trace.ring_bytes().into());
        manifest.extra.insert("trace_verdicts".into(), known(&self.trace, self.trace.verdicts()).into());
        manifest.extra.insert(FLIGHT_CONDITION.into(), self.request.trigger.text().into());
        manifest.extra.insert("flight_reason".into(), reason.into());
        manifest.extra.insert("flight_trouble_t_ns".into(), trouble_ns.into());
        manifest
    }
}

#[cfg(test)]
mod tests {
    use super::ReportedTrouble;

    #[test]
    fn joined_troubles_name_each_subject_once() {
        let trouble = |subjects: &[&str], reason: &str| ReportedTrouble {
            subjects: subjects.iter().map(ToString::to_string).collect(),
            reason: reason.to_string(),
        };
        let both = trouble(&["R7 sda"], "R7 sda stalled").join(trouble(&["R5 sda", "R7 sda"], "R5 sda is full"));
        assert_eq!(both.subjects, ["R7 sda", "R5 sda"]);
        assert_eq!(both.reason, "R7 sda stalled; R5 sda is full");
        assert!(!trouble(&["R5 sda"], "").is_other_than(&both.subjects));
        assert!(trouble(&["R5 sda", "R1 cpu1"], "").is_other_than(&both.subjects));
        assert!(
            !trouble(&[], "response > 1s").is_other_than(&[]),
            "a condition that goes on to hold is no other trouble"
        );
    }
}
