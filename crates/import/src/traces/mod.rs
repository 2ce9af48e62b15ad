//! Other tools' traces into the table `io`: one file per format or family, each with a sniffer and a reader that
//! streams. What a format does not tell is null.

mod blk;
mod context;
mod csv;
mod fields;
mod flat;
mod iolog;
mod merge;
mod output;

use crate::ImportError;
use crate::options::{ImportOptions, ImportSummary};
use crate::provenance::{events, imported_manifest};
use crate::source;
use context::Context;
use merge::Merge;
use output::Output;
use recording::rows::Io;
use recording::{ClockAnchor, Label, Manifest, RecordingError, RecordingExit, RowBatch, Sink};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Bytes at the beginning of a file by which its format is known.
const SNIFFED: usize = 64 << 10;

/// Alibaba's table of devices beside its trace.
const CAPACITIES: &str = "device_size.csv";
/// Where a trace has none of the requested I/Os, the error lists at most so many of its devices.
const NAMES_SHOWN: usize = 20;
/// An I/O does not stand later in a trace than this.
const LATE_NS: i64 = 600_000_000_000;

/// I/Os one after the other, in memory that does not grow with their number.
trait Records {
    /// The next one, with times on the format's own clock; `None` at the end.
    fn next(&mut self, context: &mut Context) -> Result<Option<Io>, ImportError>;
}

/// What is read as one stream: a file, or the files of one device.
#[derive(Clone, Debug)]
struct Source {
    paths: Vec<PathBuf>,
}

impl Source {
    fn one(path: PathBuf) -> Self {
        Self { paths: vec![path] }
    }

    fn path(&self) -> &Path {
        self.paths.first().map_or(Path::new(""), |path| path)
    }
}

/// What the times of a format mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// UTC since 1970.
    Wall,
    /// Since the trace began: 0 stays 0.
    Trace,
    /// Since some other moment: the first row becomes 0.
    Other,
}

/// A format of traces that can be imported.
#[derive(Debug)]
pub(super) struct TraceFormat {
    /// Name for `--format`.
    pub(super) name: &'static str,
    /// What it is.
    pub(super) help: &'static str,
    sniff: fn(&[u8]) -> bool,
    open: fn(&Source) -> Result<Box<dyn Records>, ImportError>,
    clock: Clock,
    /// Its times are multiples of this.
    resolution_ns: i64,
    /// What it does not tell.
    missing: &'static str,
}

impl TraceFormat {
    /// What the recording calls time 0, on the format's clock; `None`: the first I/O's time.
    fn origin_ns(&self) -> Option<i64> {
        (self.clock == Clock::Trace).then_some(0)
    }
}

/// All of them, in the order in which they are tried.
pub(super) const FORMATS: [TraceFormat; 10] = [
    TraceFormat {
        name: "blktrace",
        help: "blktrace's binary records, version 7 or 8: DEVICE.blktrace.CPU (all CPUs together), or one merged stream",
        sniff: blk::sniff_binary,
        open: blk::open_binary,
        clock: Clock::Other,
        resolution_ns: 1,
        missing: "process numbers (there are threads), control groups, files, owners of write-back",
    },
    TraceFormat {
        name: "blkparse",
        help: "blkparse's default text",
        sniff: blk::sniff_text,
        open: blk::open_text,
        clock: Clock::Trace,
        resolution_ns: 1,
        missing: "process numbers (there are threads), control groups, files, owners of write-back, time of day",
    },
    TraceFormat {
        name: "fio-iolog",
        help: "fio's iolog, version 2 (`wait` as fio plays it: until so many ms) or 3",
        sniff: iolog::sniff,
        open: iolog::open,
        clock: Clock::Trace,
        resolution_ns: 1000,
        missing: "completions, processes, flags, time of day",
    },
    TraceFormat {
        name: "fio-iolog-waits",
        help: "the same, with `wait` as fio's manual has it: so many µs since the line before",
        sniff: iolog::sniff_never,
        open: iolog::open_waits,
        clock: Clock::Trace,
        resolution_ns: 1000,
        missing: "completions, processes, flags, time of day",
    },
    TraceFormat {
        name: "vdbench-flat",
        help: "the flatfile that Vdbench replays and Swat wrote (`flatfile.bin`)",
        sniff: flat::sniff,
        open: flat::open,
        clock: Clock::Other,
        resolution_ns: 1000,
        missing: "names of devices and processes, flags, time of day",
    },
    TraceFormat {
        name: "msr",
        help: "MSR Cambridge: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
        sniff: csv::sniff_msr,
        open: csv::open_msr,
        clock: Clock::Wall,
        resolution_ns: 100,
        missing: "processes, flags",
    },
    TraceFormat {
        name: "alibaba",
        help: "Alibaba block traces 2020: device_id,opcode,offset,length,timestamp",
        sniff: csv::sniff_alibaba,
        open: csv::open_alibaba,
        clock: Clock::Wall,
        resolution_ns: 1000,
        missing: "completions, processes, flags",
    },
    TraceFormat {
        name: "tencent",
        help: "Tencent CBS: Timestamp,Offset,Size,IOType,VolumeID",
        sniff: csv::sniff_tencent,
        open: csv::open_tencent,
        clock: Clock::Wall,
        resolution_ns: 1_000_000_000,
        missing: "completions, processes, flags; times are whole seconds, so what happened within one is not known",
    },
    TraceFormat {
        name: "systor17",
        help: "SNIA SYSTOR'17: Timestamp,Response,IOType,LUN,Offset,Size",
        sniff: csv::sniff_systor,
        open: csv::open_systor,
        clock: Clock::Wall,
        resolution_ns: 1000,
        missing: "processes, flags",
    },
    TraceFormat {
        name: "fiu",
        help: "FIU: time pid process lba size type major minor md5",
        sniff: csv::sniff_fiu,
        open: csv::open_fiu,
        clock: Clock::Other,
        resolution_ns: 1,
        missing: "completions, flags, time of day; hashes of the content have no column and were left out",
    },
];

/// The trace at `path`: its format and its files; `None` when it is none.
///
/// # Errors
/// The file or directory cannot be read.
pub(super) fn recognise(path: &Path, name: Option<&str>) -> Result<Option<Trace>, ImportError> {
    let forced = name.map(|name| FORMATS.iter().find(|format| format.name == name));
    if forced.is_some_and(|forced| forced.is_none()) {
        return Ok(None);
    }
    let paths = files(path)?;
    let mut notes = Vec::new();
    let mut found = forced.flatten();
    let mut taken = Vec::new();
    if let (Some(format), [file]) = (found, paths.as_slice()) {
        // Not looked into: it may be a pipe.
        let sources = vec![Source::one(file.clone())];
        return Ok(Some(Trace { format, path: path.to_path_buf(), sources, notes, others: Vec::new() }));
    }
    if let [file] = paths.as_slice()
        && file.exists()
        && !file.is_file()
    {
        return Err(ImportError::Pipe(file.clone()));
    }
    let mut others = Vec::new();
    for file in &paths {
        let head = source::head(file, SNIFFED)?;
        if head.get(257..262) == Some(b"ustar") {
            let what = "this is a tar archive: unpack it, and import the folder".to_string();
            return Err(ImportError::Malformed { path: file.clone(), line: 1, what });
        }
        let known = |format: &&TraceFormat| (format.sniff)(&head);
        found = found.or_else(|| FORMATS.iter().find(known));
        if found.is_some_and(|format| (format.sniff)(&head)) {
            taken.push(file.clone());
            continue;
        }
        if let (Some(one), Some(other), None) = (found, FORMATS.iter().find(known), name) {
            let (path, formats) = (path.to_path_buf(), [one.name, other.name]);
            return Err(ImportError::Several { path, formats });
        }
        others.push(file.clone());
    }
    let Some(format) = found.filter(|_| !taken.is_empty()) else { return Ok(None) };
    let sources =
        if format.name == "blktrace" { blk::together(&taken) } else { taken.into_iter().map(Source::one).collect() };
    let is_table = |file: &PathBuf| format.name == "alibaba" && file.file_name().is_some_and(|name| name == CAPACITIES);
    // Empty is the file of a CPU, or of an hour, in which nothing happened.
    let is_empty = |file: &Path| std::fs::metadata(file).is_ok_and(|file| file.len() == 0);
    let rest = others.iter().filter(|file| !is_table(file) && !is_empty(file));
    notes.extend(rest.map(|file| format!("{} is not of this format and was left out", file.display())));
    others.retain(is_table);
    Ok(Some(Trace { format, path: path.to_path_buf(), sources, notes, others }))
}

/// The file, or the files of a directory, by name.
fn files(path: &Path) -> Result<Vec<PathBuf>, ImportError> {
    if !path.is_dir() {
        return Ok(blk::of_all_cpus(path).unwrap_or_else(|| vec![path.to_path_buf()]));
    }
    let failed = || ImportError::io("read", path);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed())? {
        let entry = entry.map_err(failed())?.path();
        let is_hidden = entry.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        if entry.is_file() && !is_hidden {
            files.push(entry);
        }
    }
    files.sort();
    Ok(files)
}

/// Files of one format.
#[derive(Debug)]
pub(super) struct Trace {
    format: &'static TraceFormat,
    path: PathBuf,
    sources: Vec<Source>,
    notes: Vec<String>,
    /// Files that say something besides I/Os.
    others: Vec<PathBuf>,
}

/// Makes the recording; nothing is left of it when the trace turns out to be malformed.
///
/// # Errors
/// The trace is malformed (file and line, or place, are named), or the recording cannot be written.
pub(super) fn import(
    trace: &Trace,
    directory: &Path,
    options: &ImportOptions,
    command_line: &[String],
) -> Result<ImportSummary, ImportError> {
    if directory.exists() {
        // Before hours are spent on reading.
        return Err(RecordingError::Exists(directory.to_path_buf()).into());
    }
    let mut context = Context::default();
    context.notes.clone_from(&trace.notes);
    // The recording has no exit status until it is sealed.
    let manifest = Manifest { exit: None, ..imported_manifest(command_line) };
    let mut output = Output::new(directory, manifest, trace.format.origin_ns());
    trace.others.iter().try_for_each(|file| csv::capacities(file, &mut context))?;
    let filled =
        fill(trace, options, &mut context, &mut |io, begin_ns| output.push(io, begin_ns).map(ControlFlow::Continue));
    let imported = filled.and_then(|()| finish(trace, &mut context, &mut output));
    if imported.is_err() && output.writer.take().is_some() {
        recording::discard(directory);
    }
    imported
}

/// Which part of a trace was asked for, and what there is.
struct Part<'a> {
    devices: &'a [String],
    from_ns: i64,
    until_ns: i64,
    count: u64,
    taken: u64,
    names: BTreeSet<Label>,
    span_ns: i64,
}

impl<'a> Part<'a> {
    fn of(options: &'a ImportOptions) -> Self {
        let whole = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let from_ns = whole(options.from_ns);
        let until_ns = options.for_ns.map_or(i64::MAX, |ns| from_ns.saturating_add(whole(ns)));
        Self { devices: &options.devices, from_ns, until_ns, count: 0, taken: 0, names: BTreeSet::new(), span_ns: 0 }
    }

    /// Is this I/O, so long after the trace's beginning, in it?
    fn takes(&mut self, io: &Io, since_ns: i64) -> bool {
        self.count += 1;
        self.span_ns = self.span_ns.max(since_ns);
        if self.names.len() < NAMES_SHOWN {
            self.names.insert(io.dev.clone());
        }
        let is_wanted = self.devices.is_empty() || self.devices.iter().any(|name| **name == *io.dev);
        let is_taken = is_wanted && (self.from_ns..self.until_ns).contains(&since_ns);
        self.taken += u64::from(is_taken);
        is_taken
    }

    fn is_over(&self, since_ns: i64) -> bool {
        since_ns >= self.until_ns.saturating_add(LATE_NS)
    }

    /// What to say where nothing of it was found.
    fn nothing(&self) -> Option<String> {
        let names: Vec<&str> = self.names.iter().map(|name| &**name).collect();
        let more = if names.len() < NAMES_SHOWN { "" } else { " and perhaps more" };
        let length = quantity::text::format_ns(self.span_ns.unsigned_abs());
        let is_empty = self.taken == 0 && self.count > 0;
        is_empty
            .then(|| format!("in {length} there are {} I/Os, of the devices {}{more}", self.count, names.join(", ")))
    }
}

/// Gives everything that was asked for to `take`, with the time at which the trace began where that matters.
fn fill(
    trace: &Trace,
    options: &ImportOptions,
    context: &mut Context,
    take: &mut dyn FnMut(Io, Option<i64>) -> Result<ControlFlow<()>, ImportError>,
) -> Result<(), ImportError> {
    let mut merge = Merge::new(trace.format, &trace.sources)?;
    let mut part = Part::of(options);
    let mut begin_ns = trace.format.origin_ns();
    while let Some(io) = merge.next(context)? {
        if options.is_selective() {
            let since_ns = io.queue_ns.saturating_sub(*begin_ns.get_or_insert(io.queue_ns));
            if part.is_over(since_ns) {
                break;
            }
            if !part.takes(&io, since_ns) {
                continue;
            }
        }
        if take(io, begin_ns)?.is_break() {
            return Ok(());
        }
    }
    match part.nothing() {
        Some(what) => Err(ImportError::NothingSelected { path: trace.path.clone(), what }),
        None => Ok(()),
    }
}

/// Reads a trace without making a recording of it; gives what is to be said of it.
///
/// # Errors
/// See [`import`].
pub(super) fn read(
    trace: &Trace,
    options: &ImportOptions,
    take: &mut dyn FnMut(Io) -> ControlFlow<()>,
) -> Result<Vec<String>, ImportError> {
    let mut context = Context::default();
    fill(trace, options, &mut context, &mut |io, _| Ok(take(io)))?;
    Ok(context.words())
}

/// Writes what is known besides the rows, and seals.
fn finish(trace: &Trace, context: &mut Context, output: &mut Output<'_>) -> Result<ImportSummary, ImportError> {
    let origin_ns = output.finish()?;
    let format = trace.format;
    let Some(mut writer) = output.writer.take() else {
        let what = format!("there is no I/O in it ({} was expected)", format.help);
        return Err(ImportError::Malformed { path: trace.path.clone(), line: 1, what });
    };
    let wall = match format.clock {
        Clock::Wall => Some((0, 0)),
        Clock::Trace | Clock::Other => context.wall,
    };
    let wall_ns = wall.map(|(t_ns, wall_ns)| wall_ns.saturating_add(origin_ns.saturating_sub(t_ns)));
    if output.late > 0 {
        context.notes.push(format!("I/Os so late in the file that they are out of order here: {}", output.late));
    }
    let mut notes = vec![format!("{} does not record: {}", format.name, format.missing)];
    notes.extend(context.words());
    if context.unfinished > 0 {
        notes.push(format!("I/Os that had not been completed when the trace ended (no rows): {}", context.unfinished));
    }
    let shown = trace.path.display().to_string();
    writer.update_manifest(|manifest| {
        let extra = &mut manifest.extra;
        let facts = serde_json::json!({"format": format.name, "program": format.help, "path": shown, "notes": notes});
        extra.insert("imported".to_string(), facts);
        extra.insert("trace_resolution_ns".to_string(), format.resolution_ns.into());
        extra.insert("trace_unfinished".to_string(), context.unfinished.into());
        extra.insert("trace_devices".to_string(), serde_json::json!(context.devices));
        if !context.capacities.is_empty() {
            extra.insert("trace_device_bytes".to_string(), serde_json::json!(context.capacities));
        }
        manifest.exit = Some(RecordingExit::Imported);
        manifest.started_wall_ns = wall_ns.unwrap_or(0);
        manifest.clock_anchors = vec![ClockAnchor { t_ns: 0, wall_ns: wall_ns.unwrap_or(0) }];
    })?;
    let first = format!("imported from {shown} ({})", format.help);
    writer.accept(&RowBatch::from_rows(&events(output.end_ns, first, &notes))?)?;
    writer.commit()?;
    // What cannot be sealed stays: the journal has it all.
    let directory = writer.seal_past()?;
    Ok(ImportSummary { directory, format: format.name, notes })
}

#[cfg(test)]
mod tests;
