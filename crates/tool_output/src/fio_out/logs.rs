//! fio's logs: `write_bw_log`, `write_lat_log`, `write_iops_log`, `write_hist_log`.
//!
//! Names, columns and units are those of fio 3.33 (`iolog.c`, `stat.c`). Averages and histograms come from the intervals that a run
//! records for them, lines of each I/O from the rows of each I/O.

use super::model::{Document, Job, Key, is_counted};
use crate::ToolOutputError;
use output::{OutputFile, OverwritePolicy};
use plan::{JobLogs, JobTexts, is_fio_log};
use quantity::histogram::Histogram;
use recording::rows::{Event, LogInterval, LogIo, OpInterval};
use recording::{EventKind, Reader};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Bins of fio's histograms: 29 groups of 64.
const BINS: usize = 29 << PLAT_BITS;
/// Sub-buckets per octave, as a power of two.
const PLAT_BITS: u32 = 6;
/// A rate is written of an interval that lacks no more than this of its length (`LOG_MSEC_SLACK`).
const SLACK_NS: i64 = 10_000_000;
/// A real-time priority has this class.
const REAL_TIME: u32 = 1;
/// As much of a file's beginning as tells a log.
const SNIFFED: u64 = 4096;

/// What was written.
#[derive(Debug, Default)]
pub struct LogsWritten {
    /// The files, in their order.
    pub files: Vec<PathBuf>,
    /// What is not in them, in sentences.
    pub notes: Vec<String>,
}

/// Kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Total,
    Submission,
    Completion,
    Histogram,
    Bandwidth,
    Iops,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Total, Self::Submission, Self::Completion, Self::Histogram, Self::Bandwidth, Self::Iops];

    fn word(self) -> &'static str {
        match self {
            Self::Total => "lat",
            Self::Submission => "slat",
            Self::Completion => "clat",
            Self::Histogram => "clat_hist",
            Self::Bandwidth => "bw",
            Self::Iops => "iops",
        }
    }

    /// Beginning of the name and length of an interval, ms; `None`: it is not asked for.
    fn asked(self, logs: &JobLogs) -> Option<(&str, u64)> {
        let (prefix, ms) = match self {
            Self::Total | Self::Submission | Self::Completion => (&logs.latency, logs.average_ms),
            Self::Histogram => (&logs.histogram, logs.histogram_ms),
            Self::Bandwidth => (&logs.bandwidth, logs.bandwidth_ms),
            Self::Iops => (&logs.iops, logs.iops_ms),
        };
        let part = [Self::Total, Self::Submission, Self::Completion].iter().position(|kind| *kind == self);
        let is_on = part.is_none_or(|part| logs.has_times[part]);
        prefix.as_deref().filter(|_| is_on).map(|prefix| (prefix, ms))
    }
}

/// The names of the logs that the jobs ask for in so many rounds: those of later rounds have numbers behind those of the first.
///
/// # Errors
/// A sentence about an option's value.
pub fn log_names(texts: &JobTexts, rounds: usize) -> Result<Vec<PathBuf>, String> {
    let mut names = Vec::new();
    for (text, place) in texts.jobs.iter().zip(1..) {
        let logs = texts.logs(text)?;
        for number in (0..rounds).map(|round| round * texts.jobs.len() + place) {
            let asked = Kind::ALL.iter().filter_map(|kind| Some((kind, kind.asked(&logs)?.0)));
            names.extend(asked.map(|(kind, prefix)| name(prefix, *kind, number, logs.is_per_job)));
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn name(prefix: &str, kind: Kind, number: usize, is_per_job: bool) -> PathBuf {
    let word = kind.word();
    PathBuf::from(if is_per_job { format!("{prefix}_{word}.{number}.log") } else { format!("{prefix}_{word}.log") })
}

/// May this be replaced without being asked to? Only a log, or nothing: what is there is a regular file that begins as one, or is empty.
#[must_use]
pub fn replaces_log(path: &Path) -> OverwritePolicy {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let mut start = String::new();
    let is_read =
        is_file && std::fs::File::open(path).is_ok_and(|file| file.take(SNIFFED).read_to_string(&mut start).is_ok());
    OverwritePolicy::from(is_read && (start.is_empty() || is_fio_log(&start)))
}

/// Writes the logs that the jobs of the recording ask for; `folder`: there instead of where their names lead, and where none asks for
/// any all but the histograms, of the recording's own intervals.
///
/// # Errors
/// A recording that cannot be read; a file that stands in the way or cannot be written.
pub fn write_logs(
    reader: &Reader,
    folder: Option<&Path>,
    force: OverwritePolicy,
) -> Result<LogsWritten, ToolOutputError> {
    let document = Document::read_apart(reader)?;
    let mut written = LogsWritten::default();
    let mut sheets = Sheets { folder, force, files: BTreeMap::new() };
    let mut jobs = jobs_of(&document, folder.is_some(), &mut written)?;
    for job in jobs.values_mut() {
        job.open(&mut sheets)?;
    }
    slices(reader, &mut jobs, &mut sheets, &mut written)?;
    for batch in reader.rows::<LogIo>()? {
        let row = batch?;
        if let Some(job) = jobs.get_mut(&(row.run_index, row.workload.to_string())) {
            job.each(&row, &mut sheets)?;
        }
    }
    for job in jobs.values_mut() {
        job.finish(&mut sheets)?;
        written.notes.extend(job.notes(reader.manifest().program.as_str()));
    }
    let lost = reader.rows::<Event>()?.filter_map(Result::ok).filter(|event| event.kind == EventKind::LogLost);
    written.notes.extend(lost.map(|event| event.message));
    written.files = sheets.finish()?;
    Ok(written)
}

/// The files under way, by their names.
struct Sheets<'a> {
    folder: Option<&'a Path>,
    force: OverwritePolicy,
    files: BTreeMap<PathBuf, OutputFile>,
}

impl Sheets<'_> {
    fn open(&mut self, name: PathBuf) -> Result<PathBuf, ToolOutputError> {
        let path = match self.folder {
            Some(folder) => folder.join(name.file_name().unwrap_or(name.as_os_str())),
            None => name,
        };
        if !self.files.contains_key(&path) {
            let force = if self.force == OverwritePolicy::Yes { OverwritePolicy::Yes } else { replaces_log(&path) };
            self.files.insert(path.clone(), OutputFile::create(&path, force)?);
        }
        Ok(path)
    }

    fn line(&mut self, path: &Path, line: &str) -> Result<(), ToolOutputError> {
        let Some(file) = self.files.get_mut(path) else { return Ok(()) };
        file.write_all(line.as_bytes()).map_err(ToolOutputError::write(path))
    }

    fn finish(self) -> Result<Vec<PathBuf>, ToolOutputError> {
        let mut paths = Vec::new();
        for (path, file) in self.files {
            file.finish()?;
            paths.push(path);
        }
        Ok(paths)
    }
}

/// What a line of averages is made of, of one operation.
#[derive(Debug, Default)]
struct Cell {
    index: i64,
    /// Begin of the first and end of the last slice, since the job's start.
    from_ns: i64,
    to_ns: i64,
    ops: u64,
    bytes: u64,
    times: Histogram,
}

/// One file of one job.
#[derive(Debug)]
struct Track {
    kind: Kind,
    path: PathBuf,
    name: PathBuf,
    /// 0: a line of each I/O.
    period_ns: i64,
    cells: [Option<Cell>; 3],
    lines: u64,
}

/// The logs of one job.
#[derive(Debug)]
struct JobLog {
    name: String,
    logs: JobLogs,
    tracks: Vec<Track>,
    /// Of the load's clock: where its times begin.
    start_ns: i64,
    /// Where they begin, when it is known better than by whole intervals: where the job itself began.
    epoch_ns: Option<i64>,
    /// Added to them, ms.
    wall_ns: i64,
    /// Has it slices of its own?
    has_slices: bool,
    ops: u64,
    /// Times from due to submission are not in the recording.
    lacks_submission: bool,
}

/// One interval of one operation of a job.
struct Slice<'a> {
    side: usize,
    t_ns: i64,
    interval_ns: i64,
    ops: i64,
    bytes: i64,
    response: &'a Histogram,
    service: &'a Histogram,
    wait: Option<&'a Histogram>,
}

/// The jobs that have logs; where none asks for any and they are exported, all of them.
fn jobs_of(
    document: &Document,
    is_export: bool,
    written: &mut LogsWritten,
) -> Result<BTreeMap<Key, JobLog>, ToolOutputError> {
    let mut jobs = BTreeMap::new();
    for (job, at) in document.jobs.iter().zip(1..) {
        let logs = match job.logs.clone() {
            Some(logs) => logs.map_err(ToolOutputError::Logs)?,
            None => JobLogs::default(),
        };
        if logs.is_any() {
            jobs.insert(job.key.clone(), JobLog::new(job, logs, job.number.unwrap_or(at), document.wall_ns));
        }
    }
    if jobs.is_empty() && is_export {
        written.notes.push("no job asks for logs: these are averages of the recording's own intervals".to_string());
        for (job, at) in document.jobs.iter().zip(1..) {
            let prefix = Some(job.name.replace('/', "_"));
            let logs = JobLogs {
                bandwidth: prefix.clone(),
                latency: prefix.clone(),
                iops: prefix,
                has_times: [true; 3],
                average_ms: job.interval_ms,
                bandwidth_ms: job.interval_ms,
                iops_ms: job.interval_ms,
                is_per_job: true,
                ..JobLogs::default()
            };
            jobs.insert(job.key.clone(), JobLog::new(job, logs, job.number.unwrap_or(at), document.wall_ns));
        }
    }
    Ok(jobs)
}

/// Gives all jobs their intervals: those that were recorded for them, else the recording's own.
fn slices(
    reader: &Reader,
    jobs: &mut BTreeMap<Key, JobLog>,
    sheets: &mut Sheets<'_>,
    written: &mut LogsWritten,
) -> Result<(), ToolOutputError> {
    for row in reader.rows::<LogInterval>()? {
        let row = row?;
        let Some(job) = jobs.get_mut(&(row.run_index, row.workload.clone())) else { continue };
        job.has_slices = true;
        let Some(side) = side_of(&row.op) else { continue };
        let (response, service, wait) = (&row.response, &row.service, Some(&row.wait));
        let LogInterval { t_ns, interval_ns, ops, bytes, .. } = row;
        job.slice(&Slice { side, t_ns, interval_ns, ops, bytes, response, service, wait }, sheets)?;
    }
    let mut coarse: BTreeSet<String> = BTreeSet::new();
    for row in reader.rows::<OpInterval>()? {
        let row = row?;
        let Some(job) = jobs.get_mut(&(row.run_index, row.workload.clone())) else { continue };
        let Some(side) = side_of(&row.op).filter(|_| is_counted(&row.phase) && !job.has_slices) else { continue };
        if job.tracks.iter().any(|track| track.period_ns > 0 && track.period_ns < row.interval_ns - SLACK_NS) {
            coarse.insert(job.name.clone());
        }
        let (response, service, wait) = (&row.response, &row.service, row.wait.as_ref());
        let OpInterval { t_ns, interval_ns, ops, bytes, .. } = row;
        job.slice(&Slice { side, t_ns, interval_ns, ops, bytes, response, service, wait }, sheets)?;
    }
    let note = |name: String| {
        format!(
            "job {name}: the recording has no intervals as short as its logs ask for; they are of its own intervals"
        )
    };
    written.notes.extend(coarse.into_iter().map(note));
    Ok(())
}

/// How many units of something a second, to the nearest: an interval is never to the nanosecond as long as was asked, and 20 in
/// 200 ms are 100 a second.
fn per_second(count: u64, unit: u128, spent_ns: u128) -> u128 {
    let divisor = spent_ns.max(1) * unit;
    (u128::from(count) * 1_000_000_000 + divisor / 2) / divisor
}

fn side_of(op: &str) -> Option<usize> {
    super::model::SIDES.iter().position(|side| *side == op)
}

impl JobLog {
    fn new(job: &Job, logs: JobLogs, number: usize, wall_ns: i64) -> Self {
        let track = |kind: &Kind| {
            let (prefix, ms) = kind.asked(&logs)?;
            Some(Track {
                kind: *kind,
                path: PathBuf::new(),
                name: name(prefix, *kind, number, logs.is_per_job),
                period_ns: i64::try_from(ms.saturating_mul(1_000_000)).unwrap_or(i64::MAX),
                cells: [None, None, None],
                lines: 0,
            })
        };
        let tracks = Kind::ALL.iter().filter_map(track).collect();
        let wall_ns = if logs.is_wall_clock { wall_ns } else { 0 };
        let ops = job.sides.iter().map(|side| side.ops).sum();
        let (name, start_ns, epoch_ns) = (job.name.clone(), job.start_ns, job.began_ns);
        Self { name, logs, tracks, start_ns, epoch_ns, wall_ns, has_slices: false, ops, lacks_submission: false }
    }

    fn open(&mut self, sheets: &mut Sheets<'_>) -> Result<(), ToolOutputError> {
        for track in &mut self.tracks {
            track.path = sheets.open(std::mem::take(&mut track.name))?;
        }
        Ok(())
    }

    /// ms as the lines have them, of ns since the job's start.
    fn ms(&self, since_ns: i64) -> i64 {
        // The wall clock is added to the job's start, which is that of the load's clock.
        let wall_ns = if self.wall_ns > 0 { self.wall_ns + self.epoch_ns.unwrap_or(self.start_ns) } else { 0 };
        (since_ns.max(0) + wall_ns) / 1_000_000
    }

    /// Takes an interval in, and writes what is complete then.
    fn slice(&mut self, slice: &Slice<'_>, sheets: &mut Sheets<'_>) -> Result<(), ToolOutputError> {
        if slice.ops <= 0 && slice.wait.is_none_or(|wait| wait.count() == 0) {
            return Ok(());
        }
        let from_ns = slice.t_ns - slice.interval_ns;
        let epoch_ns = *self.epoch_ns.get_or_insert(from_ns.max(self.start_ns));
        // The interval in which a job begins may have begun before it.
        let (from_ns, to_ns) = ((from_ns - epoch_ns).max(0), (slice.t_ns - epoch_ns).max(0));
        let unsigned = |count: i64| u64::try_from(count).unwrap_or(0);
        for at in 0..self.tracks.len() {
            let (kind, period_ns) = (self.tracks[at].kind, self.tracks[at].period_ns);
            if period_ns <= 0 {
                continue;
            }
            let index = i64::midpoint(from_ns, to_ns).max(0) / period_ns;
            self.flush(at, Some(index), sheets)?;
            let cell = self.tracks[at].cells[slice.side].get_or_insert_with(|| Cell {
                index,
                from_ns,
                times: Histogram::default(),
                ..Cell::default()
            });
            cell.to_ns = to_ns;
            cell.ops += unsigned(slice.ops);
            cell.bytes += unsigned(slice.bytes);
            match kind {
                Kind::Total => cell.times.merge(slice.response),
                Kind::Submission => slice.wait.into_iter().for_each(|wait| cell.times.merge(wait)),
                _ => cell.times.merge(slice.service),
            }
            self.lacks_submission |= kind == Kind::Submission && slice.wait.is_none();
        }
        Ok(())
    }

    /// Writes what is of an interval before `index`; `None`: everything, at the end.
    fn flush(&mut self, at: usize, index: Option<i64>, sheets: &mut Sheets<'_>) -> Result<(), ToolOutputError> {
        for side in 0..3 {
            let is_over = |cell: &&mut Cell| index.is_none_or(|index| cell.index < index);
            if self.tracks[at].cells[side].as_mut().filter(is_over).is_none() {
                continue;
            }
            let Some(cell) = self.tracks[at].cells[side].take() else { continue };
            if let Some(line) = self.line(at, side, &cell, index.is_none()) {
                self.tracks[at].lines += 1;
                sheets.line(&self.tracks[at].path, &line)?;
            }
        }
        Ok(())
    }

    /// The line of an interval; `None` where fio writes none: rates of what the job did not fill at its end.
    fn line(&self, at: usize, side: usize, cell: &Cell, is_last: bool) -> Option<String> {
        let Track { kind, period_ns, .. } = self.tracks[at];
        // Where nothing was done at the interval's begin or end, it lasted all the same.
        let (begin_ns, end_ns) = (cell.index * period_ns, (cell.index + 1) * period_ns);
        let from_ns = if cell.from_ns - begin_ns < period_ns / 10 { cell.from_ns } else { begin_ns };
        let to_ns = if is_last || end_ns - cell.to_ns < period_ns / 10 { cell.to_ns } else { end_ns };
        let spent_ns = (to_ns - from_ns).max(1);
        let spent = u128::from(spent_ns.unsigned_abs());
        let is_whole = spent_ns >= period_ns - SLACK_NS.min(period_ns / 2);
        // Intervals are counted from when a job is to begin, a little before it does: what ends so little early is whole.
        let early_ns = if is_last { 1_000_000 } else { SLACK_NS.min(period_ns / 2) };
        let t_ms = self.ms(if to_ns < end_ns && end_ns - to_ns < early_ns { end_ns } else { to_ns });
        let count = u128::from(cell.times.count());
        let value = match kind {
            Kind::Bandwidth | Kind::Iops if cell.ops == 0 => return None,
            _ if !matches!(kind, Kind::Bandwidth | Kind::Iops) && count == 0 => return None,
            Kind::Histogram => return Some(self.bins(side, cell, t_ms)),
            Kind::Bandwidth | Kind::Iops if !is_whole => return None,
            Kind::Bandwidth => per_second(cell.bytes, 1024, spent),
            Kind::Iops => per_second(cell.ops, 1, spent),
            _ if self.logs.is_max => u128::from(cell.times.max().unwrap_or(0)),
            _ => (cell.times.sum() + count / 2) / count,
        };
        Some(self.text((t_ms, value, side), (0, 0), 0))
    }

    /// `time, value, direction, size[, offset], priority`.
    fn text(&self, (t_ms, value, side): (i64, u128, usize), (bytes, offset): (i64, i64), priority: u32) -> String {
        let mut line = format!("{t_ms}, {value}, {side}, {bytes}, ");
        if self.logs.has_offset {
            let _ = write!(line, "{offset}, ");
        }
        let _ = if self.logs.has_priority {
            writeln!(line, "0x{priority:04x}")
        } else {
            writeln!(line, "{}", u32::from(priority >> 13 == REAL_TIME))
        };
        line
    }

    /// `time, direction, size, bins…`.
    fn bins(&self, side: usize, cell: &Cell, t_ms: i64) -> String {
        let stride = 1_usize << self.logs.coarseness;
        let mut bins = vec![0_u64; BINS / stride];
        for (low, _, count) in cell.times.collapse(PLAT_BITS).buckets() {
            bins[bin_of(low) / stride] += count;
        }
        let mut line = format!("{t_ms}, {side}, {}", cell.bytes / cell.ops.max(1));
        bins.iter().for_each(|count| {
            let _ = write!(line, ", {count}");
        });
        line.push('\n');
        line
    }

    /// Takes one I/O in: a line in each file that has one of each.
    fn each(&mut self, row: &LogIo, sheets: &mut Sheets<'_>) -> Result<(), ToolOutputError> {
        let Some(side) = side_of(&row.op) else { return Ok(()) };
        // In a closed loop the first is due at the job's start.
        let due_ns = row.t_ns - row.response_ns;
        let epoch_ns = *self.epoch_ns.get_or_insert(due_ns.max(self.start_ns));
        let t_ms = self.ms(row.t_ns - epoch_ns);
        let unsigned = |value: i64| u128::from(u64::try_from(value).unwrap_or(0));
        let (total, completion) = (unsigned(row.response_ns), unsigned(row.service_ns));
        for at in 0..self.tracks.len() {
            if self.tracks[at].period_ns > 0 {
                continue;
            }
            let value = match self.tracks[at].kind {
                Kind::Histogram => continue,
                Kind::Total => total,
                Kind::Completion => completion,
                Kind::Submission => total.saturating_sub(completion),
                // Kilobytes of 1,000 per second, as fio has it where a line is of one I/O.
                Kind::Bandwidth => (unsigned(row.bytes) * 1_000_000).checked_div(completion).unwrap_or(0),
                Kind::Iops => 1,
            };
            let own = row.priority.and_then(|own| u32::try_from(own).ok());
            let line = self.text((t_ms, value, side), (row.bytes, row.offset), own.unwrap_or(self.logs.priority));
            self.tracks[at].lines += 1;
            sheets.line(&self.tracks[at].path, &line)?;
        }
        Ok(())
    }

    fn finish(&mut self, sheets: &mut Sheets<'_>) -> Result<(), ToolOutputError> {
        (0..self.tracks.len()).try_for_each(|at| self.flush(at, None, sheets))
    }

    /// What is not in the files.
    fn notes(&self, program: &str) -> Vec<String> {
        let mut notes = Vec::new();
        let lacks_each = |track: &Track| track.period_ns == 0 && track.kind != Kind::Histogram && track.lines == 0;
        if self.ops > 0 && self.tracks.iter().any(lacks_each) {
            notes.push(format!(
                "job {}: without log_avg_msec its logs have a line of each I/O, which this recording (of {program}) does not have: \
                 they are empty",
                self.name
            ));
        }
        if self.tracks.iter().any(|track| track.kind == Kind::Histogram && track.period_ns == 0) {
            notes.push(format!("job {}: without log_hist_msec its histogram log is empty, as fio's", self.name));
        }
        if self.lacks_submission {
            notes.push(format!("job {}: the recording does not have the times until submission: no slat", self.name));
        }
        notes
    }
}

/// fio's number of the bin of a value (`plat_val_to_idx`); all that are too great are in the last.
fn bin_of(value: u64) -> usize {
    let top = 63_u32.saturating_sub(value.leading_zeros());
    if top <= PLAT_BITS {
        return usize::try_from(value).unwrap_or(0);
    }
    let bits = top - PLAT_BITS;
    let base = (bits as usize + 1) << PLAT_BITS;
    let offset = usize::try_from((value >> bits) & 63).unwrap_or(0);
    (base + offset).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From fio's own output: 41,728 is the middle of bin 2's …, and so on.
    #[test]
    fn bins_are_numbered_as_fio_does() {
        let expect =
            [(0, 0), (63, 63), (64, 64), (127, 127), (128, 128), (129, 128), (255, 191), (256, 192), (u64::MAX, 1855)];
        for (value, bin) in expect {
            assert_eq!(bin_of(value), bin, "{value}");
        }
    }

    #[test]
    fn twenty_operations_in_200_ms_are_100_a_second() {
        for spent_ns in [199_600_000, 200_000_000, 200_300_000] {
            assert_eq!(per_second(20, 1, spent_ns), 100, "{spent_ns}");
            assert_eq!(
                per_second(20 * 4096, 1024, spent_ns).abs_diff(400),
                u128::from(spent_ns != 200_000_000),
                "{spent_ns}"
            );
        }
        assert_eq!(per_second(3, 1, 2_000_000_000), 2, "to the nearest, halves up");
        assert_eq!(per_second(0, 1, 0), 0);
    }
}
