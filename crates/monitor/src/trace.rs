//! One `trace` command's life: the probe, its rows into a recording, a line per second, a clean end.

use crate::events::clock_step;
use crate::file_rows::row_of;
use crate::numbers::signed;
use crate::recording_names::numbered;
use crate::{MonitorError, StopFlag};
use quantity::clock;
use quantity::text::{format_bytes, format_count, format_ns};
use recording::rows::{self, Event, TraceInterval};
use recording::{ClockAnchor, EventKind, EventSeverity, LossName, Manifest, RecordingError, RowBatch, Sink, Writer};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;
use trace::block::{BlockTrace, ProbeStatistics, TraceNames, TraceOptions, TraceSums};
use trace::files::{self, FileTrace, FileTraceLosses};
use workload::traced::{
    ends::{TRACE_BEGAN, TRACE_ENDED, unfinished_words},
    sample::TRACE_SAMPLE,
};

/// How long the loop waits for records before it looks at the clock and at signals.
const NAP: Duration = Duration::from_millis(50);
/// One line, and one row of `trace_interval`.
const INTERVAL_NS: u64 = 1_000_000_000;
/// Rows are committed to the journal at least this often.
const COMMIT_ROWS: usize = 64 * 1024;

/// Everything that a `trace` command needs to know.
#[derive(Debug)]
pub struct TraceRequest {
    /// What and how to trace.
    pub options: TraceOptions,
    /// Reads and writes of files and the page cache as well (the table `file_interval`).
    pub files: Option<files::FileTraceOptions>,
    /// Where the recording goes; must not exist.
    pub directory: PathBuf,
    /// When another recording begins, with `-2`, `-3`, … behind its name.
    pub rotate: RotationLimits,
    /// How long; `None`: until a stop is requested.
    pub duration_ns: Option<u64>,
    /// The command line, for the manifest.
    pub command_line: Vec<String>,
}

/// When a recording is ended and another begun; `None`: never for that reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RotationLimits {
    /// It would take so many bytes on disk, once sealed, as the one before did per I/O.
    pub bytes: Option<u64>,
    /// It is so old, ns.
    pub age_ns: Option<u64>,
}

/// Bytes of an I/O on disk, before anything was measured.
const IO_BYTES: f64 = 12.0;

/// What happens while a trace runs.
#[derive(Debug)]
pub enum TraceNews<'a> {
    /// Everything is attached: from now on no I/O is missed. With what is to be known of this trace: what it does not know,
    /// that it is a sample.
    Started(&'a [String]),
    /// An interval has ended; its rows are in the recording. Of a sample, counts are multiplied.
    Interval(&'a TraceInterval),
}

/// What came of a trace.
#[derive(Debug)]
pub struct TraceOutcome {
    /// The recording.
    pub directory: PathBuf,
    /// Rows of `io`.
    pub ios: u64,
    /// Lost, by reason and in all.
    pub statistics: ProbeStatistics,
    /// Was it stopped before its time?
    pub interrupted: bool,
    /// Sentences for the end.
    pub messages: Vec<String>,
    /// Last words: what was traced, what it cost.
    pub words: Vec<String>,
}

impl TraceOutcome {
    /// Is every I/O that should be there in the recording?
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.statistics.lost() == 0
    }
}

struct Life<'a> {
    options: &'a TraceOptions,
    trace: BlockTrace,
    files: Option<FileTrace>,
    columns: TraceNames,
    writer: Writer,
    watch: &'a mut dyn FnMut(TraceNews<'_>),
    origin_ns: u64,
    /// End of the last interval.
    interval_ns: u64,
    seen: ProbeStatistics,
    seen_cpu_ns: u64,
    /// What this thread had used when the trace began.
    setup_cpu_ns: u64,
    uncommitted: usize,
    ios: u64,
    parts: Parts,
}

/// The recordings of a trace.
struct Parts {
    /// I/Os of those before the one under way.
    ios_before: u64,
    /// When the one under way began, ns.
    began_ns: u64,
    /// What had been counted by then, of I/Os and of files.
    began: (ProbeStatistics, FileTraceLosses),
    /// Sealed on threads of their own.
    sealing: Vec<JoinHandle<Result<PathBuf, RecordingError>>>,
    sealed: Vec<PathBuf>,
    /// Bytes of an I/O in the last one that was sealed.
    io_bytes: f64,
}

/// Traces until the time is over or a stop is requested.
///
/// # Errors
/// The probe cannot be loaded (nothing is written then), or the recording cannot be written.
pub fn trace(
    request: &TraceRequest,
    watch: &mut dyn FnMut(TraceNews<'_>),
    stop: &StopFlag,
) -> Result<TraceOutcome, MonitorError> {
    let trace = BlockTrace::start(&request.options)?;
    let began_ns = trace.started_ns();
    let files = request.files.as_ref().map(FileTrace::start).transpose()?;
    let verdicts = trace.verdicts().iter().chain(files.iter().flat_map(FileTrace::verdicts));
    let verdicts = known(&trace, verdicts);
    let writer = Writer::create(&request.directory, manifest(request, &trace, &verdicts))?;
    let origin_ns = writer.started_t_ns();
    let mut life = Life {
        options: &request.options,
        interval_ns: trace.started_ns(),
        trace,
        files,
        columns: TraceNames::default(),
        writer,
        watch,
        origin_ns,
        seen: ProbeStatistics::default(),
        seen_cpu_ns: 0,
        setup_cpu_ns: clock::thread_cpu_ns(),
        uncommitted: 0,
        ios: 0,
        parts: Parts {
            ios_before: 0,
            began_ns,
            began: Default::default(),
            sealing: Vec::new(),
            sealed: Vec::new(),
            io_bytes: IO_BYTES,
        },
    };
    let news: Vec<String> = verdicts.iter().cloned().chain(sample_news(&request.options)).collect();
    (life.watch)(TraceNews::Started(&news));
    let interrupted = life.live(request, &verdicts, stop)?;
    life.finish(request, interrupted)
}

/// What is to be known of a trace before it is read: by which way it is made, what the kernel does not offer.
pub(crate) fn known<'a>(
    trace: &BlockTrace,
    verdicts: impl IntoIterator<Item = &'a trace::ProgramSupport>,
) -> Vec<String> {
    let words = verdicts.into_iter().map(trace::ProgramSupport::words).filter(|words| !words.is_empty());
    trace.note().map(str::to_string).into_iter().chain(words).collect()
}

/// That it is a sample.
pub(crate) fn sample_news(options: &TraceOptions) -> Option<String> {
    let sample = options.filter.sample;
    (sample > 1).then(|| {
        format!("one I/O in {sample} is traced; the counts and rates shown are estimates for all of them, the rows of the table io are the sample")
    })
}

/// The row as it is shown: of a sample, what is counted is multiplied. What the kernel counts of all I/Os, and losses, are not.
pub(crate) fn shown(row: &TraceInterval, options: &TraceOptions) -> TraceInterval {
    let times = i64::from(options.filter.sample.max(1));
    TraceInterval {
        ios: row.ios.saturating_mul(times),
        reads: row.reads.saturating_mul(times),
        bytes: row.bytes.saturating_mul(times),
        errors: row.errors.saturating_mul(times),
        ..row.clone()
    }
}

/// The manifest of a recording that begins now.
fn manifest(request: &TraceRequest, trace: &BlockTrace, verdicts: &[String]) -> Manifest {
    let mut manifest = Manifest::new(&request.command_line);
    manifest.hardware = collect::hardware(&[]);
    manifest.extra.insert(TRACE_SAMPLE.into(), request.options.filter.sample.into());
    manifest.extra.insert("trace_buffer_bytes".into(), trace.ring_bytes().into());
    manifest.extra.insert("trace_verdicts".into(), verdicts.into());
    manifest
}

impl Life<'_> {
    /// Until the end; true when it came before its time.
    fn live(&mut self, request: &TraceRequest, verdicts: &[String], stop: &StopFlag) -> Result<bool, MonitorError> {
        let end_ns = request.duration_ns.map(|duration| self.trace.started_ns().saturating_add(duration));
        let mut tick_ns = self.interval_ns + INTERVAL_NS;
        loop {
            let now_ns = clock::now_ns();
            if stop.is_requested() {
                return Ok(end_ns.is_some_and(|end_ns| now_ns < end_ns));
            }
            if end_ns.is_some_and(|end_ns| now_ns >= end_ns) {
                return Ok(false);
            }
            if now_ns >= tick_ns {
                self.interval(now_ns)?;
                self.rotate(request, verdicts, now_ns)?;
                tick_ns += (now_ns - tick_ns) / INTERVAL_NS * INTERVAL_NS + INTERVAL_NS;
            }
            let next_ns = end_ns.map_or(tick_ns, |end_ns| end_ns.min(tick_ns)).saturating_sub(now_ns);
            if let Some(chunk) = self.trace.next(NAP.min(Duration::from_nanos(next_ns))) {
                self.accept(&chunk)?;
            }
        }
    }

    /// Begins another recording when it is time; the old one is sealed meanwhile.
    fn rotate(&mut self, request: &TraceRequest, verdicts: &[String], now_ns: u64) -> Result<(), MonitorError> {
        self.collect_sealed(false)?;
        let ios = self.ios - self.parts.ios_before;
        let is_large = request.rotate.bytes.is_some_and(|limit| ios as f64 * self.parts.io_bytes >= limit as f64);
        let is_old = request.rotate.age_ns.is_some_and(|limit| now_ns - self.parts.began_ns >= limit);
        if !is_large && !is_old {
            return Ok(());
        }
        let number = self.parts.sealed.len() + self.parts.sealing.len() + 2;
        let fresh = Writer::create(&numbered(&request.directory, number), manifest(request, &self.trace, verdicts))?;
        self.origin_ns = fresh.started_t_ns();
        let mut full = std::mem::replace(&mut self.writer, fresh);
        // What is in flight is in the next one, with its end.
        let unseen = self.unseen()?;
        let part = self.seen.since(&self.parts.began.0);
        let losses = part.losses_of_a_part();
        let (began_ns, exit) = (Some(self.parts.began_ns), Some("fine"));
        let end = RecordingEnd { columns: &self.columns, statistics: &part, began_ns, ended_ns: Some(now_ns), exit };
        full.update_manifest(|manifest| end.note(manifest, losses.chain(file_losses(&unseen, &self.parts.began.1))))?;
        self.parts.began = (self.seen, unseen);
        let seal = move || full.seal();
        let thread = std::thread::Builder::new().name("seal".to_string()).spawn(seal);
        self.parts.sealing.push(thread.map_err(|source| RecordingError::Io {
            action: "start a thread to seal",
            path: request.directory.clone(),
            source,
        })?);
        (self.parts.ios_before, self.parts.began_ns) = (self.ios, now_ns);
        Ok(())
    }

    /// Takes note of what has been sealed; of everything with `all`.
    fn collect_sealed(&mut self, all: bool) -> Result<(), MonitorError> {
        let (done, under_way): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.parts.sealing).into_iter().partition(|thread| all || thread.is_finished());
        self.parts.sealing = under_way;
        for thread in done {
            let Ok(sealed) = thread.join() else { continue };
            let directory = sealed?;
            let rows = recording::Reader::open(&directory)?.manifest().rows.get(rows::Io::NAME).copied().unwrap_or(0);
            if rows > 0 {
                self.parts.io_bytes = size_of(&directory) as f64 / rows as f64;
            }
            self.parts.sealed.push(directory);
        }
        Ok(())
    }

    fn accept(&mut self, chunk: &trace::block::TraceChunk) -> Result<(), MonitorError> {
        let packed = self.columns.pack(chunk);
        self.ios += chunk.len() as u64;
        self.uncommitted += chunk.len();
        self.writer.accept_ios(&packed.names, packed.records)?;
        if self.uncommitted >= COMMIT_ROWS {
            self.commit()?;
        }
        self.trace.bound_names(&mut self.columns);
        Ok(())
    }

    /// What of files could not be counted so far.
    fn unseen(&self) -> Result<FileTraceLosses, MonitorError> {
        Ok(self.files.as_ref().map(FileTrace::losses).transpose()?.unwrap_or_default())
    }

    fn commit(&mut self) -> Result<(), MonitorError> {
        self.uncommitted = 0;
        Ok(self.writer.commit()?)
    }

    /// Ends an interval: its row, its line.
    fn interval(&mut self, t_ns: u64) -> Result<(), MonitorError> {
        let statistics = self.trace.statistics()?;
        self.interval_of(t_ns, statistics)
    }

    fn interval_of(&mut self, t_ns: u64, statistics: ProbeStatistics) -> Result<(), MonitorError> {
        let part = statistics.since(&self.seen);
        let cpu_ns = self.trace.consumer_cpu_ns() + clock::thread_cpu_ns().saturating_sub(self.setup_cpu_ns);
        let summary = self.columns.take_summary();
        let row = interval_row((self.interval_ns, t_ns, self.origin_ns), &part, &summary, cpu_ns - self.seen_cpu_ns);
        if part.lost() > 0 {
            self.lost(t_ns, &part)?;
        }
        if let Some(files) = &mut self.files {
            let rows: Vec<_> =
                files.read()?.iter().map(|file| row_of(file, t_ns, self.interval_ns, self.origin_ns)).collect();
            self.writer.accept(&RowBatch::from_rows(&rows)?)?;
        }
        self.writer.accept(&RowBatch::from_rows(std::slice::from_ref(&row))?)?;
        self.commit()?;
        if let Some(step_ns) = self.writer.follow_clock(ClockAnchor::now())? {
            self.writer.accept(&RowBatch::from_rows(&[clock_step(step_ns, self.origin_ns)])?)?;
            self.commit()?;
        }
        (self.seen, self.seen_cpu_ns, self.interval_ns) = (statistics, cpu_ns, t_ns);
        (self.watch)(TraceNews::Interval(&shown(&row, self.options)));
        Ok(())
    }

    /// Losses as an event of the interval.
    fn lost(&mut self, t_ns: u64, part: &ProbeStatistics) -> Result<(), MonitorError> {
        let row = Event {
            t_ns: signed(t_ns),
            t_s: t_ns.saturating_sub(self.origin_ns) as f64 / 1e9,
            severity: EventSeverity::Error,
            kind: EventKind::TraceLost,
            class: None,
            run: None,
            target: None,
            message: lost_words(part),
            count: signed(part.lost()),
        };
        Ok(self.writer.accept(&RowBatch::from_rows(&[row])?)?)
    }

    /// Takes what is still in the ring, says what was lost, seals.
    fn finish(mut self, request: &TraceRequest, interrupted: bool) -> Result<TraceOutcome, MonitorError> {
        let directory = &request.directory;
        self.trace.stop();
        while let Some(chunk) = self.trace.rest() {
            self.accept(&chunk)?;
        }
        let statistics = self.trace.final_statistics()?;
        self.interval_of(clock::now_ns(), statistics)?;
        let unseen = self.unseen()?;
        let part = statistics.since(&self.parts.began.0);
        // That every I/O is accounted for is known only of all parts together.
        let losses = part.losses_of_a_part().chain(statistics.losses_unaccounted());
        let losses = losses.chain(file_losses(&unseen, &self.parts.began.1));
        let exit = Some(if interrupted { "interrupted" } else { "fine" });
        let (began_ns, ended_ns) = (Some(self.parts.began_ns), self.trace.ended_ns());
        let end = RecordingEnd { columns: &self.columns, statistics: &part, began_ns, ended_ns, exit };
        self.writer.update_manifest(|manifest| end.note(manifest, losses))?;
        let mut messages = Vec::new();
        if unseen.lost() > 0 {
            messages.push(format!("{} reads, writes or pages of files could not be counted", unseen.lost()));
        }
        if statistics.lost() > 0 {
            messages.push(format!("the trace is not complete: {}", lost_words(&statistics)));
        } else if statistics.lost_end > 0 {
            messages.push(lost_words(&statistics));
        }
        let traced_ns = ended_ns.unwrap_or(self.interval_ns).saturating_sub(self.trace.started_ns());
        let (ios, cpu_ns) = (self.ios, self.seen_cpu_ns);
        self.collect_sealed(true)?;
        drop(self.trace);
        self.writer.seal()?;
        let parts = self.parts.sealed.len() + 1;
        let directories: Vec<PathBuf> = (1..=parts).map(|number| numbered(directory, number)).collect();
        let mut words = words(&directories, ios, traced_ns, cpu_ns, &statistics);
        let sample = request.options.filter.sample;
        if sample > 1 {
            let all = format_count(ios.saturating_mul(u64::from(sample)) as f64);
            words.insert(1, format!("sample     one I/O in {sample}: an estimated {all} in all"));
        }
        Ok(TraceOutcome { directory: directory.clone(), ios, statistics, interrupted, messages, words })
    }
}

/// What of files could not be counted since `before`, by the names of losses.
fn file_losses(now: &FileTraceLosses, before: &FileTraceLosses) -> impl Iterator<Item = (LossName, u64)> + use<> {
    let losses = [
        (LossName::ProbeTableFull, now.table.saturating_sub(before.table)),
        (LossName::ProbeOperations, now.operations.saturating_sub(before.operations)),
    ];
    losses.into_iter().filter(|(_, count)| *count > 0)
}

/// What the end of a recording with I/Os needs to know, be it a trace, a rotated part, a flight dump or a probe.
pub struct RecordingEnd<'a> {
    /// Devices and names.
    pub columns: &'a TraceNames,
    /// Of this recording.
    pub statistics: &'a ProbeStatistics,
    /// From when on every I/O is in it; `None`: its time is that of its I/Os.
    pub began_ns: Option<u64>,
    /// Until when; `None`: as above.
    pub ended_ns: Option<u64>,
    /// How the command ended, where that is known.
    pub exit: Option<&'a str>,
}

impl RecordingEnd<'_> {
    /// Puts it into the manifest: the devices, when it began and ended, which I/Os have no end, which are missing.
    pub fn note(&self, manifest: &mut Manifest, losses: impl Iterator<Item = (LossName, u64)>) {
        let Self { columns, statistics, began_ns, ended_ns, exit } = self;
        manifest.extra.insert("trace_devices".into(), columns.device_numbers());
        manifest.extra.insert("trace_unfinished".into(), statistics.unfinished.into());
        manifest.extra.insert("trace_end_unseen".into(), statistics.lost_end.into());
        manifest.extra.insert("trace_end_misses".into(), statistics.missed_ends.into());
        manifest.extra.extend(began_ns.map(|began_ns| (TRACE_BEGAN.to_string(), began_ns.into())));
        manifest.extra.extend(ended_ns.map(|ended_ns| (TRACE_ENDED.to_string(), ended_ns.into())));
        manifest.exit = exit.map(str::to_string).or_else(|| manifest.exit.take());
        for (name, count) in losses.filter(|(_, count)| *count > 0) {
            *manifest.losses.entry(name.to_string()).or_default() += count;
        }
    }
}

/// The row of an interval, given its start and end and the recording's start.
pub fn interval_row(
    (from_ns, t_ns, origin_ns): (u64, u64, u64),
    part: &ProbeStatistics,
    summary: &TraceSums,
    cpu_ns: u64,
) -> TraceInterval {
    TraceInterval {
        t_ns: signed(t_ns),
        t_s: t_ns.saturating_sub(origin_ns) as f64 / 1e9,
        interval_ns: signed(t_ns.saturating_sub(from_ns)),
        ios: signed(summary.ios),
        reads: signed(summary.reads),
        bytes: signed(summary.bytes),
        errors: signed(summary.errors),
        started: signed(part.started),
        // Of what was not understood no more is known than of what found no room.
        lost_buffer: signed(part.lost_ring + part.lost_unknown),
        lost_table: signed(part.lost_table),
        lost_end: signed(part.lost_end),
        lost_start: signed(part.lost_start),
        lost_names: signed(part.lost_names),
        merges: signed(part.merged),
        splits: signed(part.splits),
        response: summary.response.snapshot(),
        consumer_cpu_ns: signed(cpu_ns),
    }
}

/// What was lost and what helps.
pub(crate) fn lost_words(part: &ProbeStatistics) -> String {
    let mut words = Vec::new();
    if part.lost_ring > 0 {
        words.push(format!(
            "{} I/Os lost because the buffer was full (--buffer makes it larger, --sample 1/N takes less)",
            part.lost_ring
        ));
    }
    if part.lost_table > 0 {
        words.push(format!("{} I/Os lost because the table of those in flight (65536) was full", part.lost_table));
    }
    if part.lost_unknown > 0 {
        words.push(format!("at most {} I/Os lost because what the probe wrote was not understood", part.lost_unknown));
    }
    if part.lost_end > 0 {
        words.push(format!(
            "{} I/Os have no time of completion, because the kernel left the probe at their end out (docs/trace.md)",
            part.lost_end
        ));
    }
    if part.lost_start > 0 {
        words.push(format!(
            "at most {} I/Os lost because the kernel left the probe at their start out",
            part.lost_start
        ));
    }
    words.join("; ")
}

/// What was traced and what it cost.
fn words(directories: &[PathBuf], ios: u64, traced_ns: u64, cpu_ns: u64, statistics: &ProbeStatistics) -> Vec<String> {
    let disk = directories.iter().map(|directory| size_of(directory)).sum();
    let first = directories.first().map(|directory| directory.display().to_string()).unwrap_or_default();
    let name = match directories {
        [_, .., last] => format!("{first} … {}, {} of them", last.display(), directories.len()),
        _ => first,
    };
    let per = |total: u64| if ios == 0 { "?".to_string() } else { format!("{:.1}", total as f64 / ios as f64) };
    let lost = if statistics.lost() > 0 { format!(", {} LOST", statistics.lost()) } else { ", none lost".to_string() };
    let mut words = vec![
        format!("traced     {} I/Os in {}{lost}", format_count(ios as f64), format_ns(traced_ns)),
        format!("cost       taken out and written in {} ns per I/O, {} bytes per I/O on disk", per(cpu_ns), per(disk)),
        format!("recording  {name} ({})", format_bytes(disk)),
    ];
    if statistics.started > statistics.emitted + statistics.unfinished + statistics.lost() {
        words.insert(
            1,
            format!("began      {} I/Os (before sampling and size filters)", format_count(statistics.started as f64)),
        );
    }
    if statistics.unfinished > 0 {
        // An I/O whose end the probe missed looks like one that hangs.
        let doubt = if statistics.missed_ends > 0 { ", or their end was not seen" } else { "" };
        let unfinished = unfinished_words(statistics.unfinished);
        words.insert(1, format!("unfinished {unfinished}{doubt} (rows without an end)"));
    }
    words
}

/// Bytes of all files below a directory.
fn size_of(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => size_of(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}
