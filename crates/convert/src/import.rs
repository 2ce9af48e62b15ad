//! Other tools' results and traces into a recording: one file per tool, each with a sniffer and a reader.
//!
//! Figures that the tool did not keep are absent: response times of tools that time from submission are not recorded
//! (theirs are service times), and where a tool kept only means there are no percentiles.

mod fio;
mod fio_log;
mod text;
mod traces;
mod vdbench;

use crate::ConvertError;
use quantity::histogram::Histogram;
use quantity::zone::Zone;
use recording::rows::{Cpu, Event, Io, OpInterval, Phase, RunTotal};
use recording::{Batch, ClockAnchor, Manifest, Sink, Writer};
use serde_json::json;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Bytes at the beginning of a file by which its format is known.
const SNIFFED: usize = 64 << 10;
/// Greatest source text that is kept in the manifest.
const KEPT_SOURCE: usize = 256 << 10;

/// A format that can be imported.
#[derive(Debug)]
struct Format {
    /// Name for `--format`.
    name: &'static str,
    /// What it is.
    help: &'static str,
    /// The file to read in a directory of results.
    find: fn(&Path) -> Option<PathBuf>,
    /// Does the beginning of a file look like it?
    sniff: fn(&str) -> bool,
    /// Reads the text of the file at this path.
    read: fn(&Path, &str) -> Result<Results, ConvertError>,
}

/// All formats of results, in the order in which they are tried.
const FORMATS: [Format; 3] = [
    Format {
        name: "vdbench",
        help: "a Vdbench output folder, or its flatfile.html (with histogram.html beside it, percentiles)",
        find: |folder| Some(folder.join("flatfile.html")).filter(|file| file.exists()),
        sniff: vdbench::sniff,
        read: vdbench::read,
    },
    Format {
        name: "fio",
        help: "fio's --output-format=json or json+ (the latter with whole histograms), with its logs beside it",
        find: fio::find,
        sniff: fio::sniff,
        read: fio::read,
    },
    Format {
        name: fio_log::NAME,
        help: "fio's logs without its JSON: PREFIX_lat.1.log and all others of that prefix",
        find: fio_log::find,
        sniff: fio_log::sniff,
        read: fio_log::read,
    },
];

/// What to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Name of the format; `None`: by the content.
    pub format: Option<String>,
    /// Of a trace: only these devices, by the names that the import gives them; none: all.
    pub devices: Vec<String>,
    /// Of a trace: from so long after its beginning, ns.
    pub from_ns: u64,
    /// Of a trace: for so long, ns; `None`: to its end.
    pub for_ns: Option<u64>,
    /// Of text without dates: when it begins, ns since 1970 as clocks in `zone` show it (of text that tells the time of day,
    /// only the day counts).
    pub start_ns: Option<i64>,
    /// Of text without times: how far its samples are apart, ns.
    pub interval_ns: Option<i64>,
    /// Of text and of Vdbench's results: what times without a distance from UTC are of; `None`: they are taken for UTC.
    pub zone: Option<Zone>,
    /// Of text: it is cut out of a longer one, so that its first sample is an interval like the others, not the mean since boot.
    pub is_excerpt: bool,
    /// Of text in which only some CPUs are printed: how many there are; those that are not printed are idle.
    pub cpus: Option<u32>,
    /// Of text: only what this machine printed, by the name that the text has for it.
    pub host: Option<String>,
}

impl Options {
    /// When text without times begins, UTC ns since 1970.
    fn start_utc_ns(&self) -> Option<i64> {
        self.start_ns.map(|start_ns| self.zone.as_ref().map_or(start_ns, |zone| zone.utc_ns(start_ns, None)))
    }

    /// What was said about times that this source tells by itself, or has not.
    fn note_of_unused(&self, uses_zone: bool) -> Option<String> {
        let said = [
            (self.start_ns.is_some(), "--start"),
            (self.interval_ns.is_some(), "--interval"),
            (self.zone.is_some() && !uses_zone, "--zone"),
            (self.host.is_some(), "--host"),
        ];
        let unused: Vec<&str> = said.iter().filter(|(unused, _)| *unused).map(|(_, name)| *name).collect();
        (!unused.is_empty())
            .then(|| format!("{}: not used, the times are taken as the source tells them", unused.join(", ")))
    }

    fn is_selective(&self) -> bool {
        !self.devices.is_empty() || self.from_ns > 0 || self.for_ns.is_some()
    }
}

/// What an import made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The recording.
    pub directory: PathBuf,
    /// Name of the format.
    pub format: &'static str,
    /// What was passed over or is not in the source, in words.
    pub notes: Vec<String>,
}

/// What a reader gives: rows with times in ns since the first run's start.
#[derive(Debug, Default)]
struct Results {
    /// Tool and version.
    program: String,
    /// Start, UTC ns since 1970.
    started_wall_ns: i64,
    /// That is what clocks showed in a zone that is not told.
    is_local: bool,
    intervals: Vec<OpInterval>,
    totals: Vec<RunTotal>,
    phases: Vec<Phase>,
    cpu: Vec<Cpu>,
    /// What it could not take over.
    notes: Vec<String>,
}

/// Name (for `--format`) and meaning of everything that can be imported.
pub fn formats() -> impl Iterator<Item = (&'static str, &'static str)> {
    let traces = traces::FORMATS.iter().map(|format| (format.name, format.help));
    let texts = text::FORMATS.iter().map(|format| (format.name, format.help));
    FORMATS.iter().map(|format| (format.name, format.help)).chain(texts).chain(traces)
}

fn names() -> String {
    formats().map(|(name, _)| name).collect::<Vec<&str>>().join(", ")
}

/// Reads the results or the trace at `path` (a file, or a folder of them) into a new recording in `directory`.
///
/// # Errors
/// Nobody knows the content, it is damaged (file and line are named; nothing is left in `directory` then), or the
/// recording cannot be written.
pub fn import(
    path: &Path,
    directory: &Path,
    options: &Options,
    command_line: &[String],
) -> Result<Imported, ConvertError> {
    let format = options.format.as_deref();
    let is_folder = path.is_dir();
    let has_results =
        if is_folder { FORMATS.iter().any(|format| (format.find)(path).is_some()) } else { fio_log::is_log(path) };
    let is_text = format.is_none_or(|name| text::FORMATS.iter().any(|format| format.name == name));
    if !has_results
        && is_text
        && path.metadata().is_ok_and(|found| found.is_file() || found.is_dir())
        && let Some(texts) = text::recognise(path, format)?
    {
        if options.is_selective() {
            return Err(ConvertError::NotATrace { path: path.to_path_buf(), format: "other tools' text" });
        }
        return text::import(&texts, directory, options, command_line);
    }
    if !(format.is_none() && has_results)
        && let Some(trace) = traces::recognise(path, format)?
    {
        let mut imported = traces::import(&trace, directory, options, command_line)?;
        imported.notes.extend(options.note_of_unused(false));
        return Ok(imported);
    }
    let format = match format {
        Some(name) => Some(
            FORMATS
                .iter()
                .find(|format| format.name == name)
                .ok_or_else(|| ConvertError::UnknownFormat { name: name.to_string(), known: names() })?,
        ),
        None => None,
    };
    let candidates: Vec<&Format> = format.map_or_else(|| FORMATS.iter().collect(), |format| vec![format]);
    for candidate in candidates {
        let file = match (is_folder, (candidate.find)(path)) {
            (true, Some(file)) => file,
            (true, None) => continue,
            (false, _) => path.to_path_buf(),
        };
        if format.is_some() || (candidate.sniff)(&head(&file)?) {
            if options.is_selective() {
                return Err(ConvertError::NotATrace { path: file, format: candidate.name });
            }
            // Logs have a line per I/O: they are read as they go by.
            let text = if candidate.name == fio_log::NAME {
                Vec::new()
            } else {
                std::fs::read(&file).map_err(ConvertError::io("read", &file))?
            };
            let text = String::from_utf8_lossy(&text).into_owned();
            let mut results = (candidate.read)(&file, &text)?;
            results.notes.extend(options.note_of_unused(results.is_local));
            if let Some(zone) = options.zone.as_ref().filter(|_| results.is_local) {
                results.started_wall_ns = zone.utc_ns(results.started_wall_ns, None);
            }
            return write(results, candidate, &file, &text, directory, command_line);
        }
    }
    Err(unknown(path))
}

/// Gives the I/Os of the trace at `path` to `take`, one after the other, in memory that does not grow with their number,
/// without making a recording. Times are on the trace's own clock, in ns; several files are merged in the order of
/// queueing. Gives what was passed over, in words.
///
/// # Errors
/// Nobody knows the content, or it is malformed: `take` may have had I/Os from before the place.
pub fn read_trace(path: &Path, options: &Options, take: &mut dyn FnMut(Io)) -> Result<Vec<String>, ConvertError> {
    read_trace_until(path, options, &mut |io| {
        take(io);
        ControlFlow::Continue(())
    })
}

/// [`read_trace`], until `take` has enough: what comes after that is not read.
///
/// # Errors
/// See [`read_trace`].
pub fn read_trace_until(
    path: &Path,
    options: &Options,
    take: &mut dyn FnMut(Io) -> ControlFlow<()>,
) -> Result<Vec<String>, ConvertError> {
    if let Some(name) = options.format.as_ref().filter(|name| !traces::FORMATS.iter().any(|one| one.name == **name)) {
        let known = traces::FORMATS.map(|format| format.name).join(", ");
        return Err(ConvertError::UnknownFormat { name: name.clone(), known });
    }
    match traces::recognise(path, options.format.as_deref())? {
        Some(trace) => traces::read(&trace, options, take),
        None => Err(unknown(path)),
    }
}

/// Nobody knows it; a text is shown where it begins.
fn unknown(path: &Path) -> ConvertError {
    let text = if path.is_file() { head(path).unwrap_or_default() } else { String::new() };
    let first = text.lines().enumerate().find(|(_, line)| !line.trim().is_empty());
    let is_text =
        |line: &str| !line.contains(|letter: char| (letter.is_control() && letter != '\t') || letter == '\u{fffd}');
    let place = match first.filter(|(_, line)| is_text(line)) {
        Some((at, line)) => {
            let short: String = line.trim().chars().take(60).collect();
            let more = if short.len() < line.trim().len() { "…" } else { "" };
            format!(":{}: `{short}{more}` begins", at + 1)
        }
        None => " is".to_string(),
    };
    ConvertError::Unknown { path: path.to_path_buf(), place, known: names() }
}

/// The beginning of a file.
fn head(file: &Path) -> Result<String, ConvertError> {
    let failed = || ConvertError::io("read", file);
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(failed())?;
    opened.take(SNIFFED as u64).read_to_end(&mut bytes).map_err(failed())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Makes the recording.
fn write(
    results: Results,
    format: &Format,
    file: &Path,
    text: &str,
    directory: &Path,
    command_line: &[String],
) -> Result<Imported, ConvertError> {
    let mut manifest = imported_manifest(command_line);
    let end = results.intervals.iter().map(|row| row.t_ns).max().unwrap_or(0);
    manifest.started_wall_ns = results.started_wall_ns;
    manifest.clock_anchors = vec![ClockAnchor { t_ns: 0, wall_ns: results.started_wall_ns }];
    if (1..=KEPT_SOURCE).contains(&text.len()) {
        manifest.sources.push((file.display().to_string(), text.to_string()));
    }
    manifest.extra.insert(
        "imported".to_string(),
        json!({"format": format.name, "program": results.program, "path": file.display().to_string(), "notes": results.notes}),
    );
    let first = format!("imported from {} ({})", file.display(), results.program);
    let events = events(end, first, &results.notes);
    let mut writer = Writer::create(directory, manifest)?;
    for batch in [
        Batch::from_rows(&results.phases)?,
        Batch::from_rows(&results.intervals)?,
        Batch::from_rows(&results.totals)?,
        Batch::from_rows(&results.cpu)?,
        Batch::from_rows(&events)?,
    ] {
        writer.accept(&batch)?;
    }
    writer.commit()?;
    let directory = writer.seal_past()?;
    Ok(Imported { directory, format: format.name, notes: results.notes })
}

/// The manifest of what happened elsewhere, at another time.
fn imported_manifest(command_line: &[String]) -> Manifest {
    let mut manifest = Manifest::new(command_line);
    manifest.host = "imported".to_string();
    manifest.kernel = String::new();
    (manifest.started_t_ns, manifest.started_wall_ns) = (0, 0);
    manifest.clock_anchors = vec![ClockAnchor { t_ns: 0, wall_ns: 0 }];
    manifest.exit = Some("imported".to_string());
    manifest
}

/// Where it came from, and what was not taken over.
fn events(t_ns: i64, first: String, notes: &[String]) -> Vec<Event> {
    let event = |severity: &str, kind: &str, message: String| Event {
        t_ns,
        t_s: seconds(t_ns),
        severity: severity.to_string(),
        kind: kind.to_string(),
        class: None,
        run: None,
        target: None,
        message,
        count: 1,
    };
    let notes = notes.iter().map(|note| event("warning", "import", note.clone()));
    std::iter::once(event("info", "imported", first)).chain(notes).collect()
}

/// Seconds of ns.
fn seconds(t_ns: i64) -> f64 {
    t_ns as f64 / 1e9
}

/// A whole number out of a figure that was printed with digits: never negative, never beyond what a table holds. Above 2^53
/// it has a step of up to 1,024: of 9 EB, that is nothing.
#[expect(clippy::cast_possible_truncation, reason = "held within 2^63 just before")]
fn whole(value: f64) -> i64 {
    if value.is_finite() { value.round().clamp(0.0, 9.0e18) as i64 } else { 0 }
}

/// The same without a sign.
fn count(value: f64) -> u64 {
    whole(value).unsigned_abs()
}

/// Start and end of a phase of a run: its title, number, and loop values.
fn phase_rows(
    (run, run_index, detail): (&str, i32, &str),
    phase: &str,
    (from_ns, to_ns): (i64, i64),
    offered: Option<f64>,
) -> [Phase; 2] {
    [("start", from_ns), ("end", to_ns)].map(|(event, t_ns)| Phase {
        t_ns,
        t_s: seconds(t_ns),
        run: run.to_string(),
        run_index,
        phase: phase.to_string(),
        event: event.to_string(),
        offered_rate: offered,
        detail: detail.to_string(),
    })
}

/// The sum of `n` values with this mean. A product would be cut where it is beyond 2^63 ns, which a depth of 256 has after
/// a year; and a mean has fractions, which are many ns of many operations.
fn sum_of(mean: f64, n: u64) -> u128 {
    u128::from(count(mean.floor())) * u128::from(n) + u128::from(count((mean - mean.floor()) * n as f64))
}

/// A mean over `ops` operations and, if known, their maximum, ns; no distribution.
fn summary(ops: i64, mean_ns: Option<f64>, max_ns: Option<f64>) -> Histogram {
    match mean_ns.filter(|mean| mean.is_finite() && *mean >= 0.0) {
        Some(mean) if ops > 0 => {
            let sum = sum_of(mean, ops.unsigned_abs());
            Histogram::of_summary(ops.unsigned_abs(), sum, None, max_ns.map(count))
        }
        _ => Histogram::default(),
    }
}

#[cfg(test)]
mod extreme_tests;
#[cfg(test)]
mod tests;
