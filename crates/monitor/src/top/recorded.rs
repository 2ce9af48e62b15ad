//! A recording that is there: opened at once, read where it is looked at; its strip and its findings come from threads.

use super::{Source, WINDOW_SAMPLES};
use crate::MonitorError;
use crate::numbers::signed;
use findings::{Finding, Thresholds, findings_between, findings_until};
use recording::{LossName, Reader, RecordingState, RowBatch, rows};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use top_page::{IoAggregator, MachineFacts, ServerFacts, TRACED_EVERY_NS, TimeStrip};

/// Tables of which the first one that has rows tells when samples were taken.
const PACE: [&str; 10] = [
    rows::Cpu::NAME,
    rows::System::NAME,
    rows::Memory::NAME,
    rows::Disk::NAME,
    rows::Net::NAME,
    rows::Tcp::NAME,
    rows::Process::NAME,
    rows::IoInterval::NAME,
    rows::RequestInterval::NAME,
    rows::Io::NAME,
];
/// Cells of the strip; a terminal is hardly wider.
const STRIP_CELLS: usize = 720;
/// So often the findings so far are shown, in samples.
const SHOW_EVERY: usize = 500;
/// So much before the end is judged first, for that is what the page shows when it opens: what closed in the last ten
/// minutes, and what rules look back on. A day takes a minute to judge, this a fraction of a second.
const LATE_NS: i64 = 13 * 60_000_000_000;

/// What the threads have found so far.
#[derive(Default)]
struct Found {
    strip: Option<TimeStrip>,
    /// From the beginning on, as far as it is judged.
    findings: Vec<Finding>,
    /// Of the end alone, until all is judged.
    late: Option<Vec<Finding>>,
    judged_ns: Option<i64>,
    has_strip: bool,
    is_done: bool,
    /// What went wrong, in words.
    failed: Option<String>,
    is_news: bool,
}

/// A recording.
pub(crate) struct Recorded {
    reader: Arc<Reader>,
    facts: MachineFacts,
    span: (i64, i64),
    interval_s: f64,
    is_trace: bool,
    /// Are rows missing, because it is damaged?
    is_damaged: bool,
    missing: [Option<String>; 3],
    has_requests: bool,
    found: Arc<Mutex<Found>>,
    end: Arc<AtomicBool>,
    /// The page is wanted once: what takes long is not looked through.
    once: bool,
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

/// First and last sample, and how far apart they are, s.
type Pace = ((i64, i64), f64);

/// When samples were taken; `None`: there are none.
pub(crate) fn pace(reader: &Reader) -> Result<Option<Pace>, MonitorError> {
    for table in PACE {
        let Some(span) = reader.span(table)? else { continue };
        if table == rows::Io::NAME {
            return Ok(Some((span, TRACED_EVERY_NS as f64 / 1e9)));
        }
        let mut length_ns = 20_000_000_000;
        loop {
            let batches = reader.between(&[table], span.0..span.0.saturating_add(length_ns))?;
            let samples = top_page::sample_times(&batches);
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
        RecordingState::Sealed => reader.manifest().rows.contains_key(table),
        RecordingState::Open | RecordingState::CutShort => {
            let last = span.1.saturating_sub(60_000_000_000)..span.1.saturating_add(1);
            reader.between(&[table], last).is_ok_and(|batches| !batches.is_empty())
        }
    }
}

impl Recorded {
    /// Opens it. `once`: of a long one only the end is judged.
    pub(crate) fn open(path: &Path, thresholds: Thresholds, once: bool) -> Result<Self, MonitorError> {
        let reader = Arc::new(Reader::open(path)?);
        let Some((span, interval_s)) = pace(&reader)? else {
            return Err(MonitorError::NoSamples(path.to_path_buf()));
        };
        let is_trace = !has(&reader, rows::IoInterval::NAME, span) && has(&reader, rows::Io::NAME, span);
        let unless = |is_there: bool, words: &str| (!is_there).then(|| words.to_string());
        let missing = [
            unless(is_trace || has(&reader, rows::IoInterval::NAME, span), "single I/Os were not recorded"),
            unless(has(&reader, rows::FileInterval::NAME, span), "files were not recorded"),
            unless(
                has(&reader, rows::Profile::NAME, span),
                "what programs are at was not recorded (iodyno record --profile)",
            ),
        ];
        let is_damaged = reader.damage()?.costs_rows();
        let has_requests = has(&reader, rows::RequestInterval::NAME, span);
        let (found, end) = (Arc::new(Mutex::new(Found::default())), Arc::new(AtomicBool::new(false)));
        let spawn = |what: &'static str, work: Box<dyn FnOnce() + Send>| {
            let thread = std::thread::Builder::new().name(what.to_string()).spawn(work);
            thread.map(|_| ()).map_err(|source| MonitorError::Thread { what, source })
        };
        let (theirs, to) = (Arc::clone(&reader), Arc::clone(&found));
        spawn("strip of the recording", Box::new(move || draw_strip(&theirs, (span, interval_s), &to)))?;
        let (theirs, to, until) = (Arc::clone(&reader), Arc::clone(&found), Arc::clone(&end));
        spawn("judge the recording", Box::new(move || judge(&theirs, &thresholds, span, once, &to, &until)))?;
        Ok(Self {
            facts: MachineFacts::of(reader.manifest()),
            reader,
            span,
            interval_s,
            is_trace,
            is_damaged,
            missing,
            has_requests,
            found,
            end,
            once,
        })
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        lock(&self.found)
    }
}

fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All of its time, from few columns.
fn draw_strip(reader: &Reader, (span, interval_s): Pace, found: &Mutex<Found>) {
    let strip = TimeStrip::read(reader, span, interval_s, STRIP_CELLS);
    let mut found = lock(found);
    match strip {
        Ok(strip) => found.strip = Some(strip),
        Err(error) => found.failed = Some(error.to_string()),
    }
    (found.has_strip, found.is_news) = (true, true);
}

/// The end first, when that is but a part; then all of it, unless the page is wanted only once.
fn judge(
    reader: &Reader,
    thresholds: &Thresholds,
    span: (i64, i64),
    once: bool,
    found: &Mutex<Found>,
    end: &AtomicBool,
) {
    let from_ns = span.1.saturating_sub(LATE_NS);
    if span.0 < from_ns.saturating_sub(LATE_NS) {
        let to_end = from_ns..span.1.saturating_add(LATE_NS);
        let late = findings_between(reader, thresholds.clone(), to_end, &mut |_, _| !end.load(Ordering::Relaxed));
        let mut found = lock(found);
        match late {
            Ok(engine) => found.late = Some(engine.findings().to_vec()),
            Err(error) => found.failed = Some(error.to_string()),
        }
        (found.is_news, found.is_done) = (true, once);
        if once {
            return;
        }
    }
    let mut samples = 0;
    let judged = findings_until(reader, thresholds.clone(), &mut |engine, t_ns| {
        samples += 1;
        if samples % SHOW_EVERY == 0 {
            let mut found = lock(found);
            found.findings = engine.findings().to_vec();
            (found.judged_ns, found.is_news) = (Some(t_ns), true);
        }
        !end.load(Ordering::Relaxed)
    });
    let mut found = lock(found);
    match judged {
        Ok(engine) => (found.findings, found.late, found.is_done) = (engine.findings().to_vec(), None, true),
        Err(error) => (found.failed, found.is_done) = (Some(error.to_string()), true),
    }
    found.is_news = true;
}

/// What is known so far: from the beginning on, and at the end, numbered on.
fn together(found: &Found) -> Vec<Finding> {
    let mut all = found.findings.clone();
    if !found.is_done {
        // Whether they held on after the time that is judged is not known.
        all.iter_mut().for_each(|finding| finding.end_ns = finding.end_ns.or(Some(finding.last_ns)));
    }
    let before = all.len();
    for mut finding in found.late.iter().flatten().cloned() {
        let is_known = |one: &Finding| {
            (one.rule, &one.subject) == (finding.rule, &finding.subject) && one.last_ns >= finding.start_ns
        };
        if !all[..before].iter().any(is_known) {
            finding.id += before;
            finding.explained_by = finding.explained_by.map(|id| id + before);
            all.push(finding);
        }
    }
    all
}

impl Source for Recorded {
    fn machine(&self) -> &MachineFacts {
        &self.facts
    }

    fn advance(&mut self) -> Result<Vec<Vec<RowBatch>>, MonitorError> {
        Ok(Vec::new())
    }

    fn is_news(&mut self) -> bool {
        std::mem::take(&mut self.found().is_news)
    }

    fn due_ns(&self) -> Option<u64> {
        None
    }

    fn between(&self, tables: &[&str], range: Range<i64>) -> Result<Vec<RowBatch>, MonitorError> {
        let mut batches = self.reader.between(tables, range.clone())?;
        if self.is_trace && tables.contains(&rows::IoInterval::NAME) {
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
        together(&self.found())
    }

    fn judging(&self) -> Option<String> {
        let found = self.found();
        if let Some(failed) = &found.failed {
            return Some(format!("findings: {failed}"));
        }
        if self.once && found.late.is_some() {
            return Some(format!("judged: last {} min", LATE_NS / 60_000_000_000));
        }
        let length = (self.span.1 - self.span.0).max(1) as f64;
        let part = found.judged_ns.map_or(0.0, |t_ns| (t_ns - self.span.0) as f64 / length);
        (!found.is_done).then(|| format!("judging {:.0}%", (part * 100.0).min(99.0)))
    }

    fn is_busy(&self) -> bool {
        let found = self.found();
        !(found.is_done && found.has_strip)
    }

    fn name(&self) -> Option<String> {
        let name = self.reader.directory().file_name().map(|name| name.to_string_lossy().into_owned());
        let length = view::Unit::Seconds.format(Some(((self.span.1 - self.span.0) as f64 / 1e9).round()));
        let mut words = format!("{} {length} {}", name.unwrap_or_default(), self.reader.state().words());
        if self.is_trace && self.lost() > 0 {
            words.push_str(", NOT COMPLETE");
        }
        if self.is_damaged {
            words.push_str(", DAMAGED: rows are missing");
        }
        let sample = workload::traced::sample::sample(self.reader.manifest());
        if self.is_trace && sample > 1 {
            words.push_str(&format!(", a SAMPLE of one I/O in {sample}"));
        }
        Some(words)
    }

    fn lost(&self) -> i64 {
        let losses = self.reader.manifest().losses.iter();
        let of_trace = losses.filter(|(name, _)| LossName::from(name.as_str()).is_of_trace());
        if self.is_trace { signed(of_trace.map(|(_, count)| *count).sum()) } else { 0 }
    }

    fn missing(&self) -> [Option<String>; 3] {
        self.missing.clone()
    }

    fn servers(&self) -> ServerFacts<'_> {
        let words = "requests were not recorded (iodyno probe requests -o, or s in a live page of them)";
        ServerFacts { listening: None, missing: (!self.has_requests).then_some(words) }
    }

    fn save(&self, _directory: &Path) -> Option<Result<PathBuf, MonitorError>> {
        None
    }

    fn strip(&self) -> Option<TimeStrip> {
        self.found().strip.clone()
    }
}

/// The I/Os of a trace, second by second. A long stretch of a busy trace is cut: the page shows so many seconds at most.
fn from_trace(reader: &Reader, range: &Range<i64>, origin_ns: i64) -> Result<Vec<RowBatch>, MonitorError> {
    let most_ns = i64::try_from(WINDOW_SAMPLES).unwrap_or(0) * 2 * TRACED_EVERY_NS;
    let from_ns = range.start.max(range.end.saturating_sub(most_ns));
    let devices = reader.manifest().hardware["devices"].clone();
    let mut sums = IoAggregator::with_capacities(move |device| devices[device]["size_bytes"].as_u64())
        .of_one_in(workload::traced::sample::sample(reader.manifest()));
    let mut batches = Vec::new();
    let mut end_ns: Option<i64> = None;
    for batch in reader.between(&[rows::Io::NAME], from_ns..range.end)? {
        for (second, part) in top_page::by_second(&batch) {
            let this_end_ns = (second + 1) * TRACED_EVERY_NS;
            if let Some(end_ns) = end_ns.replace(this_end_ns).filter(|end_ns| *end_ns != this_end_ns) {
                batches.extend(of_second(&mut sums, end_ns, origin_ns)?);
            }
            sums.accept(&part)?;
        }
    }
    if let Some(end_ns) = end_ns {
        batches.extend(of_second(&mut sums, end_ns, origin_ns)?);
    }
    Ok(batches)
}

/// The rows of the second that ends at `end_ns`.
fn of_second(sums: &mut IoAggregator, end_ns: i64, origin_ns: i64) -> Result<[RowBatch; 2], MonitorError> {
    let (rows, places) = sums.take(end_ns - TRACED_EVERY_NS, end_ns, origin_ns);
    Ok([RowBatch::from_rows(&rows)?, RowBatch::from_rows(&places)?])
}
