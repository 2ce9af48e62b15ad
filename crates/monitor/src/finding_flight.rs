//! `record --flight`: beside a collector, every I/O stays in memory; when a finding opens, those around it are written.

use crate::archive::home::ArchiveFolder;
use crate::flight::{DumpTrigger, FlightNews, FlightRequest, ReportedTrouble, flight};
use crate::numbers::signed;
use crate::{MonitorError, StopFlag};
use findings::{Finding, IOS_ARE_IN, RuleEngine, Thresholds};
use quantity::clock;
use recording::rows::Event;
use recording::{EventClass, EventKind, EventSeverity, RecordingError, RowBatch, Sink};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use trace::block::TraceOptions;

/// So many findings are remembered; then, when none is open, judging begins anew.
const REMEMBERED: usize = 1000;

/// How much is kept in memory, and where it goes.
#[derive(Clone, Debug)]
pub struct FlightPlan {
    /// What and how to trace.
    pub options: TraceOptions,
    /// So much from before a finding opens is written.
    pub before_ns: u64,
    /// So much from after that.
    pub after_ns: u64,
    /// Bytes of records in memory, at most.
    pub memory_bytes: u64,
    /// Beginning of the recordings' names; the time is put behind it.
    pub directory: PathBuf,
    /// The command line, for the manifests.
    pub command_line: Vec<String>,
    /// The collector in whose directory it writes.
    pub collector: Option<Arc<ArchiveFolder>>,
}

/// What the recorder's thread says.
enum Said {
    Armed,
    Words(Vec<Note>),
}

/// Something for the collector's own recording.
struct Note {
    severity: EventSeverity,
    class: Option<EventClass>,
    target: Option<String>,
    message: String,
}

/// The flight recorder beside a collector. Give it each sample as a [`Sink`].
#[derive(Debug)]
pub struct FindingFlight {
    engine: RuleEngine,
    /// Findings that were looked at.
    seen: usize,
    troubles: Option<Sender<ReportedTrouble>>,
    said: Receiver<Said>,
    stop: StopFlag,
    thread: Option<JoinHandle<Result<Vec<String>, MonitorError>>>,
}

impl std::fmt::Debug for Said {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Armed => "Armed",
            Self::Words(notes) => notes.first().map_or("Words", |note| &note.message),
        })
    }
}

impl FindingFlight {
    /// Traces from now on; returns once no I/O is missed.
    ///
    /// # Errors
    /// The probe cannot be loaded, or there is no thread for it.
    pub fn start(plan: FlightPlan, thresholds: Thresholds) -> Result<Self, MonitorError> {
        let (troubles, reported) = channel();
        let (say, said) = channel();
        let stop = StopFlag::default();
        let watched = stop.clone();
        let fly = move || {
            let FlightPlan { options, before_ns, after_ns, memory_bytes, directory, command_line, collector } = plan;
            let request = FlightRequest {
                options,
                trigger: DumpTrigger::Reported(reported),
                before_ns,
                after_ns,
                memory_bytes,
                dumps: u64::MAX,
                duration_ns: None,
                directory,
                command_line,
                collector,
            };
            let outcome = flight(&request, &mut |news| tell(&say, &news, &request), &watched)?;
            Ok(outcome.messages)
        };
        let thread = std::thread::Builder::new()
            .name("flight".to_string())
            .spawn(fly)
            .map_err(|source| MonitorError::Thread { what: "keep I/Os in memory", source })?;
        let mut beside = Self {
            engine: RuleEngine::new(thresholds).of_machine(&collect::hardware(&[])),
            seen: 0,
            troubles: Some(troubles),
            said,
            stop,
            thread: Some(thread),
        };
        // Nothing comes when it could not begin: then its end says why.
        if beside.said.recv().is_err() {
            beside.join()?;
        }
        Ok(beside)
    }

    /// Rows for the collector's recording that began at `origin_ns`: what was written since the last call.
    pub(crate) fn news(&mut self, origin_ns: u64) -> Vec<Event> {
        // A recorder that has ended early, as on a full disk, is reported at once: no later message would say so.
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            return self.end(origin_ns);
        }
        self.said(origin_ns)
    }

    fn said(&self, origin_ns: u64) -> Vec<Event> {
        let words = self.said.try_iter().flat_map(|said| match said {
            Said::Armed => Vec::new(),
            Said::Words(notes) => notes,
        });
        words.map(|note| event(note, origin_ns)).collect()
    }

    /// Ends it; a dump that is waited for is written, shorter than asked.
    pub(crate) fn end(&mut self, origin_ns: u64) -> Vec<Event> {
        let ended = self.join();
        let mut rows = self.said(origin_ns);
        let words = ended.unwrap_or_else(|error| {
            vec![format!("the flight recorder has ended, and writes nothing any more: {error}")]
        });
        rows.extend(words.into_iter().map(|message| {
            event(Note { severity: EventSeverity::Warning, class: None, target: None, message }, origin_ns)
        }));
        rows
    }

    fn join(&mut self) -> Result<Vec<String>, MonitorError> {
        self.stop.request();
        self.troubles = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            _ => Ok(Vec::new()),
        }
    }

    /// Tells the recorder of findings that are new.
    fn look(&mut self) {
        let findings = self.engine.findings();
        let fresh: Vec<&Finding> = findings.iter().skip(self.seen).filter(|finding| finding.counts()).collect();
        for finding in fresh {
            let trouble = ReportedTrouble {
                subjects: vec![finding.key()],
                reason: format!("{} {}", finding.rule.name(), finding.sentence),
            };
            // Fails only if the recorder has ended; `end` then reports its last message.
            let _ = self.troubles.as_ref().map(|troubles| troubles.send(trouble));
        }
        self.seen = findings.len();
        if self.seen > REMEMBERED && findings.iter().all(|finding| finding.end_ns.is_some()) {
            self.engine = self.engine.anew();
            self.seen = 0;
        }
    }
}

impl Sink for FindingFlight {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.engine.accept(batch)
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        self.engine.commit()?;
        self.look();
        Ok(())
    }
}

/// Sends the recorder's news to the collector's recording.
fn tell(say: &Sender<Said>, news: &FlightNews<'_>, request: &FlightRequest) {
    let said = match news {
        FlightNews::Armed(words) => {
            let notes = words.iter().map(|words| Note {
                severity: EventSeverity::Warning,
                class: None,
                target: None,
                message: words.clone(),
            });
            let _ = say.send(Said::Armed);
            Said::Words(notes.collect())
        }
        FlightNews::Dumped(dump) => {
            let lost = if dump.lost > 0 { format!(", {} lost", dump.lost) } else { String::new() };
            let message = format!(
                "{IOS_ARE_IN}{}: {} from {:.0} s before to {:.0} s after it opened{lost}",
                dump.directory.display(),
                dump.ios,
                request.before_ns as f64 / 1e9,
                request.after_ns as f64 / 1e9
            );
            let severity = if dump.lost > 0 { EventSeverity::Warning } else { EventSeverity::Info };
            let note = |subject: &String| Note {
                severity: severity.clone(),
                class: Some(EventClass::FlightDump),
                target: Some(subject.clone()),
                message: message.clone(),
            };
            Said::Words(dump.subjects.iter().map(note).collect())
        }
        FlightNews::Failed(why) => {
            let message = format!("the I/Os around a finding could not be written: {why}");
            Said::Words(vec![Note { severity: EventSeverity::Warning, class: None, target: None, message }])
        }
        FlightNews::Interval(..) | FlightNews::Trouble(_) => return,
    };
    // The collector has ended.
    let _ = say.send(said);
}

fn event(note: Note, origin_ns: u64) -> Event {
    let t_ns = clock::now_ns();
    Event {
        t_ns: signed(t_ns),
        t_s: t_ns.saturating_sub(origin_ns) as f64 / 1e9,
        severity: note.severity,
        kind: EventKind::Flight,
        class: note.class.map(EventClass::label),
        run: None,
        target: note.target,
        message: note.message,
        count: 1,
    }
}
