//! The probe of I/Os that fail, as rows of the table `io_error`.

use crate::counters::verdict;
use crate::event_cpu_time::{event, push};
use crate::numbers::signed;
use recording::rows::{Event, IoError};
use recording::{EventClass, EventSeverity, Label, RecordingError, RowBatch};
use std::collections::HashMap;
use trace::errors::{ErrorTrace, FailedIos};

/// Name of its table.
const TABLE: &str = IoError::NAME;

/// Device, operation, error number and inode.
type Key = (String, &'static str, i32, Option<u64>);

/// The probe, if it runs.
pub(crate) struct IoErrors {
    trace: Option<ErrorTrace>,
    verdict: String,
    /// The count in the last row.
    recorded: HashMap<Key, u64>,
    /// How many before the recording began.
    before: HashMap<Key, u64>,
    lost: u64,
    /// Said with the next sample.
    said: Vec<(EventSeverity, Option<EventClass>, String)>,
}

impl IoErrors {
    /// Loads the probe where that can be. Without it the kernel's messages are all that is known, which is said.
    pub(crate) fn if_possible() -> Self {
        let started = ErrorTrace::start();
        let verdict = verdict(started.as_ref());
        let mut said = Vec::new();
        let trace = match started {
            Ok(trace) => {
                let words = trace.verdicts().iter().map(trace::ProgramSupport::words).filter(|words| !words.is_empty());
                said.extend(words.map(|words| (EventSeverity::Info, None, words)));
                Some(trace)
            }
            // Why there are no probes, the event clock says.
            Err(_) => None,
        };
        Self { trace, verdict, recorded: HashMap::new(), before: HashMap::new(), lost: 0, said }
    }

    /// For the manifest: whether failures are counted, and why not.
    pub(crate) fn verdict(&self) -> (&'static str, String) {
        (TABLE, self.verdict.clone())
    }

    /// A recording begins with the next sample: it counts from here.
    pub(crate) fn begin_anew(&mut self) {
        self.before.clone_from(&self.recorded);
    }

    /// Rows of what has failed since the last call.
    ///
    /// # Errors
    /// Does not happen with rows of the catalogue.
    pub(crate) fn sample(&mut self, origin_ns: u64) -> Result<Vec<RowBatch>, RecordingError> {
        let t_ns = quantity::clock::now_ns();
        let at = (signed(t_ns), t_ns.saturating_sub(origin_ns) as f64 / 1e9);
        let mut batches = Vec::new();
        let class = Some(EventClass::FailuresUncounted);
        match self.trace.as_ref().map(|trace| trace.read().and_then(|all| Ok((all, trace.lost()?)))) {
            Some(Ok((all, lost))) => {
                let rows: Vec<IoError> = all.into_iter().filter_map(|failed| self.row(failed, at)).collect();
                push(&mut batches, &rows)?;
                if lost > self.lost {
                    let new = lost - self.lost;
                    self.said.push((
                        EventSeverity::Error,
                        class,
                        format!("{new} I/Os that failed are in no row: the probe's table is full"),
                    ));
                    self.lost = lost;
                }
            }
            Some(Err(error)) => {
                self.trace = None;
                self.said.push((
                    EventSeverity::Error,
                    class,
                    format!("I/Os that fail are not counted any more: {error}"),
                ));
            }
            None => {}
        }
        let said = self.said.drain(..).map(|(severity, class, message)| Event {
            class: class.map(EventClass::label),
            ..event(severity, message, at)
        });
        let events: Vec<Event> = said.collect();
        push(&mut batches, &events)?;
        Ok(batches)
    }

    /// `None` when the count has not grown.
    fn row(&mut self, failed: FailedIos, (t_ns, t_s): (i64, f64)) -> Option<IoError> {
        let key = (failed.device.clone(), failed.op, failed.errno, failed.inode);
        let before = self.before.get(&key).copied().unwrap_or(0);
        if self.recorded.insert(key, failed.count) == Some(failed.count) {
            return None;
        }
        Some(IoError {
            t_ns,
            t_s,
            dev: Label::from(failed.device.as_str()),
            op: Label::from(failed.op),
            error: failed.errno,
            pid: None,
            comm: None,
            file: failed.file.as_deref().map(Label::from),
            inode: failed.inode.map(signed),
            count: signed(failed.count.saturating_sub(before)),
            first_ns: signed(failed.first_ns),
            last_ns: signed(failed.last_ns),
            sector: failed.sector.map(signed),
        })
    }
}
