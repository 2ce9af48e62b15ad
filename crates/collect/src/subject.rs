//! What all subjects share: a file that is read over and over, its verdicts, and the time of a row.

use crate::text::Source;
use recording::rows::Event;
use recording::{EventClass, EventKind, EventSeverity, RowBatch};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// When a sample was taken, `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTimes {
    /// Before the first counter was read.
    pub begin_ns: u64,
    /// After the last one was.
    pub end_ns: u64,
    /// Of the subjects, the one that took longest to read, and how long, ns; none when nothing was read.
    pub slowest: Option<(&'static str, u64)>,
}

impl SampleTimes {
    /// A subject was read from where the one before ended until now.
    pub(crate) fn took(&mut self, subject: &'static str) {
        let now_ns = quantity::clock::now_ns();
        let ns = now_ns.saturating_sub(std::mem::replace(&mut self.end_ns, now_ns));
        if self.slowest.is_none_or(|(_, most_ns)| ns > most_ns) {
            self.slowest = Some((subject, ns));
        }
    }
}

/// One file and whether it can be read.
#[derive(Debug)]
pub(crate) struct Subject {
    path: PathBuf,
    source: Option<Source>,
    failed: bool,
    needed: bool,
}

/// Something to say about counters.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) severity: EventSeverity,
    pub(crate) class: Option<EventClass>,
    pub(crate) target: Option<String>,
    pub(crate) message: String,
}

impl Subject {
    /// A file; `needed` false: it is never read.
    pub(crate) fn new(path: PathBuf, needed: bool) -> Self {
        Self { path, source: None, failed: false, needed }
    }

    /// Reads the file; what changed since the last time goes to `verdicts`.
    pub(crate) fn read<'a>(&mut self, buffer: &'a mut Vec<u8>, verdicts: &mut Vec<Verdict>) -> Option<&'a [u8]> {
        if !self.needed {
            return None;
        }
        let source = match self.source.take() {
            Some(source) => Ok(source),
            None => Source::open(self.path.clone()),
        };
        let result = source.and_then(|source| {
            let text = source.read(buffer)?;
            self.source = Some(source);
            Ok(text)
        });
        if result.is_err() != self.failed {
            self.failed = result.is_err();
            let message = match &result {
                Err(reason) => format!("no counters: {reason}"),
                Ok(_) => format!("counters are back: {}", self.path.display()),
            };
            let severity = if self.failed { EventSeverity::Warning } else { EventSeverity::Info };
            verdicts.push(Verdict { severity, class: None, target: None, message });
        }
        result.ok()
    }
}

/// Says when a device's counters go or come.
pub(crate) fn note_absence(
    absent: &mut BTreeSet<String>,
    verdicts: &mut Vec<Verdict>,
    what: &str,
    targets: Option<&String>,
    missing: bool,
) {
    if missing == absent.contains(what) {
        return;
    }
    let (severity, message) = if missing {
        absent.insert(what.to_string());
        (EventSeverity::Warning, format!("no counters of {what}: the kernel does not list it"))
    } else {
        absent.remove(what);
        (EventSeverity::Info, format!("counters of {what} are back"))
    };
    verdicts.push(Verdict { severity, class: None, target: targets.cloned(), message });
}

/// Time of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub(crate) t_ns: i64,
    pub(crate) t_s: f64,
}

impl Stamp {
    /// In the middle of a read, or at the end of the interval if that is later (as under a clock of tests).
    pub(crate) fn between(begin_ns: u64, end_ns: u64, t_ns: u64, t0_ns: u64) -> Self {
        Self::at((begin_ns + end_ns.saturating_sub(begin_ns) / 2).max(t_ns), t0_ns)
    }

    /// At a moment; `t0_ns` is the recording's start.
    pub(crate) fn at(t_ns: u64, t0_ns: u64) -> Self {
        let since_start = i128::from(t_ns) - i128::from(t0_ns);
        Self { t_ns: i64::try_from(t_ns).unwrap_or(i64::MAX), t_s: since_start as f64 / 1e9 }
    }
}

impl Verdict {
    /// As a row of `event`.
    pub(crate) fn row(self, stamp: Stamp) -> Event {
        Event {
            t_ns: stamp.t_ns,
            t_s: stamp.t_s,
            severity: self.severity,
            kind: EventKind::Counters,
            class: self.class.map(EventClass::label),
            target: self.target,
            message: self.message,
            count: 1,
            ..Event::default()
        }
    }
}

/// Adds the rows of one table, if there are any.
pub(crate) fn push<R: recording::Row>(batches: &mut Vec<RowBatch>, rows: &[R]) {
    if rows.is_empty() {
        return;
    }
    // Rows of the catalogue always make a batch; should they not, the rows are missing and nothing else breaks.
    batches.extend(RowBatch::from_rows(rows));
}
