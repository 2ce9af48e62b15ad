//! A recording that is there: opened at once, read where it is looked at; its strip and its findings come from a thread.

use super::{Source, WINDOW_SAMPLES};
use crate::SessionError;
use analyze::finding::{Finding, Thresholds, findings_until};
use analyze::page::{IoIntervals, Machine, Strip, TABLES, TRACED_EVERY_NS};
use recording::{Batch, Reader, State};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tables of which the first one that has rows tells when samples were taken.
const PACE: [&str; 9] = ["cpu", "system", "memory", "disk", "net", "tcp", "process", "io_interval", "io"];
/// Cells of the strip; a terminal is hardly wider.
const STRIP_CELLS: usize = 720;
/// So often the findings so far are shown, in samples.
const SHOW_EVERY: usize = 500;

/// What the thread has found so far.
#[derive(Default)]
struct Found {
    strip: Option<Strip>,
    findings: Vec<Finding>,
    judged_ns: Option<i64>,
    is_done: bool,
    /// What went wrong, in words.
    failed: Option<String>,
    is_news: bool,
}

/// A recording.
pub(crate) struct Recorded {
    reader: Arc<Reader>,
    facts: Machine,
    span: (i64, i64),
    interval_s: f64,
    is_trace: bool,
    missing: [Option<String>; 2],
    found: Arc<Mutex<Found>>,
    end: Arc<AtomicBool>,
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

/// First and last sample, and how far apart they are, s.
type Pace = ((i64, i64), f64);

/// When samples were taken; `None`: there are none.
pub(crate) fn pace(reader: &Reader) -> Result<Option<Pace>, SessionError> {
    for table in PACE {
        let Some(span) = reader.span(table)? else { continue };
        if table == "io" {
            return Ok(Some((span, TRACED_EVERY_NS as f64 / 1e9)));
        }
        let mut length_ns = 20_000_000_000;
        loop {
            let batches = reader.between(&[table], span.0..span.0.saturating_add(length_ns))?;
            let samples = analyze::page::sample_times(&batches);
            let mut steps: Vec<i64> = samples.windows(2).map(|pair| pair[1] - pair[0]).collect();
            if !steps.is_empty() || span.0.saturating_add(length_ns) > span.1 {
                steps.sort_unstable();
                let middle = steps.get(steps.len() / 2).copied().unwrap_or(1_000_000_000);
                return Ok(Some((span, middle.max(1_000_000) as f64 / 1e9)));
            }
            length_ns *= 8;
        }
    }
    Ok(None)
}

/// Are there rows of this table? Of a recording that is not sealed, its last minute tells.
fn has(reader: &Reader, table: &str, span: (i64, i64)) -> bool {
    match reader.state() {
        State::Sealed => reader.manifest().rows.contains_key(table),
        State::Open | State::CutShort => {
            let last = span.1.saturating_sub(60_000_000_000)..span.1.saturating_add(1);
            reader.between(&[table], last).is_ok_and(|batches| !batches.is_empty())
        }
    }
}

impl Recorded {
    pub(crate) fn open(path: &Path, thresholds: Thresholds) -> Result<Self, SessionError> {
        let reader = Arc::new(Reader::open(path)?);
        let Some((span, interval_s)) = pace(&reader)? else {
            return Err(SessionError::NoSamples(path.to_path_buf()));
        };
        let is_trace = !has(&reader, "io_interval", span) && has(&reader, "io", span);
        let unless = |is_there: bool, words: &str| (!is_there).then(|| words.to_string());
        let missing = [
            unless(is_trace || has(&reader, "io_interval", span), "single I/Os were not recorded"),
            unless(has(&reader, "file_interval", span), "files were not recorded"),
        ];
        let (found, end) = (Arc::new(Mutex::new(Found::default())), Arc::new(AtomicBool::new(false)));
        let theirs = (Arc::clone(&reader), Arc::clone(&found), Arc::clone(&end));
        std::thread::Builder::new()
            .name("judge".to_string())
            .spawn(move || look_through(&theirs.0, thresholds, (span, interval_s), &theirs.1, &theirs.2))
            .map_err(|source| SessionError::Thread { what: "judge the recording", source })?;
        Ok(Self { facts: Machine::of(reader.manifest()), reader, span, interval_s, is_trace, missing, found, end })
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The strip first, for it is quick; then the findings.
fn look_through(
    reader: &Reader,
    thresholds: Thresholds,
    (span, interval_s): Pace,
    found: &Mutex<Found>,
    end: &AtomicBool,
) {
    let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
    match Strip::read(reader, span, interval_s, STRIP_CELLS) {
        Ok(strip) => {
            let mut found = lock();
            (found.strip, found.is_news) = (Some(strip), true);
        }
        Err(error) => lock().failed = Some(error.to_string()),
    }
    let mut samples = 0;
    let judged = findings_until(reader, thresholds, &mut |engine, t_ns| {
        samples += 1;
        if samples % SHOW_EVERY == 0 {
            let mut found = lock();
            found.findings = engine.findings().to_vec();
            (found.judged_ns, found.is_news) = (Some(t_ns), true);
        }
        !end.load(Ordering::Relaxed)
    });
    let mut found = lock();
    match judged {
        Ok(engine) => (found.findings, found.is_done) = (engine.findings().to_vec(), true),
        Err(error) => (found.failed, found.is_done) = (Some(error.to_string()), true),
    }
    found.is_news = true;
}

impl Source for Recorded {
    fn machine(&self) -> &Machine {
        &self.facts
    }

    fn advance(&mut self) -> Result<Vec<Vec<Batch>>, SessionError> {
        Ok(Vec::new())
    }

    fn is_news(&mut self) -> bool {
        std::mem::take(&mut self.found().is_news)
    }

    fn due_ns(&self) -> Option<u64> {
        None
    }

    fn between(&self, range: Range<i64>) -> Result<Vec<Batch>, SessionError> {
        let mut batches = self.reader.between(&TABLES, range.clone())?;
        if self.is_trace {
            batches.extend(from_trace(&self.reader, &range, self.span.0)?);
        }
        Ok(batches)
    }

    fn span(&self) -> Option<(i64, i64)> {
        Some(self.span)
    }

    fn interval_s(&self) -> f64 {
        self.interval_s
    }

    fn wall_ns(&self, t_ns: i64) -> i64 {
        self.reader.manifest().wall_ns_at(t_ns)
    }

    fn findings(&self) -> Vec<Finding> {
        self.found().findings.clone()
    }

    fn judging(&self) -> Option<String> {
        let found = self.found();
        if let Some(failed) = &found.failed {
            return Some(format!("findings: {failed}"));
        }
        let length = (self.span.1 - self.span.0).max(1) as f64;
        let part = found.judged_ns.map_or(0.0, |t_ns| (t_ns - self.span.0) as f64 / length);
        (!found.is_done).then(|| format!("judging {:.0}%", (part * 100.0).min(99.0)))
    }

    fn is_busy(&self) -> bool {
        !self.found().is_done
    }

    fn name(&self) -> Option<String> {
        let name = self.reader.directory().file_name().map(|name| name.to_string_lossy().into_owned());
        let length = analyze::Unit::Seconds.format(Some(((self.span.1 - self.span.0) as f64 / 1e9).round()));
        Some(format!("{} {length} {}", name.unwrap_or_default(), self.reader.state().words()))
    }

    fn missing(&self) -> [Option<String>; 2] {
        self.missing.clone()
    }

    fn save(&self, _directory: &Path) -> Option<Result<PathBuf, SessionError>> {
        None
    }

    fn strip(&self) -> Option<Strip> {
        self.found().strip.clone()
    }
}

/// The I/Os of a trace, second by second. A long stretch of a busy trace is cut: the page shows so many seconds at most.
fn from_trace(reader: &Reader, range: &Range<i64>, origin_ns: i64) -> Result<Vec<Batch>, SessionError> {
    let most_ns = i64::try_from(WINDOW_SAMPLES).unwrap_or(0) * 2 * TRACED_EVERY_NS;
    let from_ns = range.start.max(range.end.saturating_sub(most_ns));
    let mut sums = IoIntervals::default();
    let mut batches = Vec::new();
    let mut end_ns: Option<i64> = None;
    for batch in reader.between(&["io"], from_ns..range.end)? {
        for (second, part) in analyze::page::by_second(&batch) {
            let this_end_ns = (second + 1) * TRACED_EVERY_NS;
            if let Some(end_ns) = end_ns.replace(this_end_ns).filter(|end_ns| *end_ns != this_end_ns) {
                batches.push(Batch::from_rows(&sums.take(end_ns - TRACED_EVERY_NS, end_ns, origin_ns))?);
            }
            sums.accept(&part)?;
        }
    }
    if let Some(end_ns) = end_ns {
        batches.push(Batch::from_rows(&sums.take(end_ns - TRACED_EVERY_NS, end_ns, origin_ns))?);
    }
    Ok(batches)
}
