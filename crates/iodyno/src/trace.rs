//! `iodyno trace`.

use crate::exit::{Failure, INTERRUPTED, PARAMETERS, RECORDING};
use crate::recording_dir;
use crate::signals::watch_signals;
use crate::time_args::time;
use crate::trace_args::{ThroughArg, TraceArgs};
use monitor::{
    DumpTrigger, FlightNews, FlightRequest, MonitorError, RotationLimits, StopFlag, TraceNews, TraceRequest,
};
use objectives::Condition;
use params::{Diagnostic, DiagnosticSeverity};
use plan::{ParameterText, TextSpan};
use quantity::text::{format_bytes, format_ns, parse_bytes};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trace::BlockDevice;
use trace::block::{TraceFilter, TraceOptions, TraceSource, op_numbers};
use trace::files;

/// Memory of a flight recorder, unless asked for otherwise: 512 MiB, or this part of the machine's.
const MEMORY_BYTES: u64 = 512 << 20;
const MEMORY_SHARE: u64 = 8;
/// The least that is worth a ring.
const MEMORY_BYTES_MIN: u64 = 64 << 10;

/// Bytes that a flight recorder may take, as asked for or by the machine's memory.
pub(crate) fn flight_memory(asked: Option<&str>) -> Result<u64, Failure> {
    let memory = rustix::system::sysinfo().totalram;
    let Some(text) = asked else { return Ok((memory / MEMORY_SHARE).min(MEMORY_BYTES)) };
    let asked = bytes(text, "--memory")?;
    if !(MEMORY_BYTES_MIN..=memory / 2).contains(&asked) {
        return Err(Failure::new(
            PARAMETERS,
            format!(
                "--memory {text} is not possible: between {} and half of the memory ({})",
                format_bytes(MEMORY_BYTES_MIN),
                format_bytes(memory / 2)
            ),
        ));
    }
    Ok(asked)
}

/// Refuses a length of nothing.
fn length(text: Option<&str>, flag: &str) -> Result<Option<u64>, Failure> {
    let length_ns = time(text, flag)?;
    if length_ns == Some(0) {
        return Err(Failure::new(
            PARAMETERS,
            format!("{flag} 0: nothing would be traced; write a time such as 30s, 10m"),
        ));
    }
    Ok(length_ns)
}

/// Traces; gives the exit code.
pub(crate) fn run(args: &TraceArgs, command_line: &[String]) -> Result<u8, Failure> {
    let options = TraceOptions {
        filter: TraceFilter { sample: sample(args.sample.as_deref())?, ..filter(&args.filter())? },
        ring_bytes: args.buffer.as_deref().map(|text| bytes(text, "--buffer")).transpose()?,
        files: !args.no_files,
        through: args.through.map_or(TraceSource::Either, ThroughArg::through),
        ..TraceOptions::default()
    };
    let duration_ns = length(args.duration.as_deref(), "--for")?;
    let command_line = command_line.to_vec();
    if let Some(condition) = &args.until {
        let request = FlightRequest {
            options,
            trigger: DumpTrigger::Condition(until(condition)?),
            before_ns: time(Some(&args.before), "--before")?.unwrap_or(0),
            after_ns: time(Some(&args.after), "--after")?.unwrap_or(0),
            memory_bytes: flight_memory(args.memory.as_deref())?,
            dumps: args.repeat,
            duration_ns,
            directory: flight_name(args)?,
            command_line,
            collector: None,
        };
        return fly(args, &request);
    }
    let files = if args.files {
        if options.through == TraceSource::Ftrace {
            let why = "--files asks for what ftrace does not know; leave one of --files and --through ftrace out";
            return Err(Failure::new(PARAMETERS, why));
        }
        let cgroups = cgroups(&args.cgroups)?;
        Some(files::FileTraceOptions { pids: args.pids.clone(), comms: args.comms.clone(), cgroups })
    } else {
        None
    };
    let rotate = rotate(&args.rotate)?;
    let place = recording_dir::take(args.output.as_deref(), "trace")?;
    let directory = place.path().to_path_buf();
    let request = TraceRequest { options, files, directory, rotate, duration_ns, command_line };
    record(args, &request)
}

/// What a flight recorder's recordings are called; there may be none, so nothing is made yet.
fn flight_name(args: &TraceArgs) -> Result<PathBuf, Failure> {
    let asked = args.output.as_deref();
    if let Some(path) = asked.map(Path::new).filter(|path| path.exists()) {
        return Err(recording_dir::exists(path));
    }
    let name = recording_dir::name(asked, "trace")?;
    output::check_place(&name)?;
    Ok(name)
}

/// `1g` is a size and `1h` a time; `30m` could be both.
fn rotate(texts: &[String]) -> Result<RotationLimits, Failure> {
    let mut rotate = RotationLimits::default();
    for text in texts {
        if text.ends_with('m') {
            let number = text.trim_end_matches('m');
            let why = format!("--rotate {text} is minutes or MiB; write {number}min or {number}mib");
            return Err(Failure::new(PARAMETERS, why));
        }
        let is_time = ["s", "min", "h", "d"].iter().any(|unit| text.ends_with(unit));
        if is_time {
            rotate.age_ns = time(Some(text), "--rotate")?;
        } else {
            rotate.bytes = Some(bytes(text, "--rotate")?);
        }
    }
    if rotate.age_ns.is_some_and(|ns| ns < 1_000_000_000) || rotate.bytes.is_some_and(|bytes| bytes < 1 << 20) {
        return Err(Failure::new(PARAMETERS, "--rotate: a second and 1 MiB are the least"));
    }
    Ok(rotate)
}

/// `--until`, with the place of a mistake.
fn until(text: &str) -> Result<Condition, Failure> {
    Condition::parse_traced(text).map_err(|error| {
        let source = ParameterText { name: "<--until>".to_string(), text: text.to_string() };
        let start = u32::try_from(error.start).unwrap_or(0);
        let span = TextSpan { source: 0, start, len: u32::try_from(error.len).unwrap_or(1) };
        let mut found = Diagnostic::new(DiagnosticSeverity::Error, "until", span, error.message);
        found.help = error.help;
        Failure::new(PARAMETERS, format!("--until cannot be read\n{}", params::render(&found, &[source])))
    })
}

/// On standard error, before anything is traced that would be read without it.
fn said(notes: &[String]) -> std::io::Result<()> {
    notes.iter().for_each(|note| say!("iodyno: {note}"));
    Ok(())
}

/// A row for programs; of a sample with what its counts were multiplied by.
fn json(row: &recording::rows::TraceInterval, options: &TraceOptions) -> serde_json::Value {
    let mut object = tui::trace_json(row);
    if options.filter.sample > 1 {
        object["sample"] = options.filter.sample.into();
    }
    object
}

impl ThroughArg {
    fn through(self) -> TraceSource {
        match self {
            Self::Bpf => TraceSource::Bpf,
            Self::Ftrace => TraceSource::Ftrace,
        }
    }
}

fn what(args: &TraceArgs) -> String {
    if args.all || args.devices.is_empty() { "all devices".to_string() } else { args.devices.join(", ") }
}

/// Waits for trouble; gives the exit code.
fn fly(args: &TraceArgs, request: &FlightRequest) -> Result<u8, Failure> {
    let stop = StopFlag::default();
    watch_signals(&stop)?;
    let (what, condition) = (what(args), request.trigger.text());
    let mut lines = 0_u64;
    let mut news = |news: FlightNews<'_>| {
        let mut out = crate::out::lines(args.json);
        // A reader that has gone away does not end the watch.
        let _ = match news {
            FlightNews::Armed(note) if args.json => said(note),
            FlightNews::Armed(note) => {
                let _ = said(note);
                writeln!(out, "watching {what} until {condition}; nothing is written before; Ctrl-C ends it")
            }
            FlightNews::Interval(row, kept) if args.json => {
                let mut object = json(row, &request.options);
                object["kept"] = kept.into();
                writeln!(out, "{object}")
            }
            FlightNews::Interval(row, kept) => {
                lines += 1;
                let heading = if lines % 20 == 1 { tui::trace_header() + "\n" } else { String::new() };
                writeln!(out, "{heading}{}  {kept} I/Os in memory", tui::trace_line(row))
            }
            FlightNews::Trouble(reason) if args.json => writeln!(out, "{}", serde_json::json!({ "trouble": reason })),
            FlightNews::Trouble(reason) => {
                let after = format_ns(request.after_ns);
                writeln!(out, "trouble: {reason}; to be written in {after}")
            }
            FlightNews::Dumped(dump) if args.json => writeln!(
                out,
                "{}",
                serde_json::json!({ "dump": dump.directory.display().to_string(), "reason": dump.reason, "ios": dump.ios, "lost": dump.lost })
            ),
            FlightNews::Dumped(dump) => writeln!(out, "written: {} ({} I/Os)", dump.directory.display(), dump.ios),
            FlightNews::Failed(why) => {
                say!("iodyno: not written: {why}");
                Ok(())
            }
        };
    };
    let outcome = monitor::flight(request, &mut news, &stop)?;
    outcome.messages.iter().for_each(|message| say!("iodyno: {message}"));
    if outcome.dumps.is_empty() && outcome.failed == 0 && !args.json {
        outln!("no trouble was seen; nothing was written");
    }
    let is_incomplete = outcome.failed > 0 || outcome.lost > 0 || outcome.dumps.iter().any(|dump| dump.lost > 0);
    Ok(match (is_incomplete, outcome.interrupted) {
        (true, _) => RECORDING,
        (false, true) => INTERRUPTED,
        (false, false) => 0,
    })
}

/// Traces into a recording; gives the exit code.
fn record(args: &TraceArgs, request: &TraceRequest) -> Result<u8, Failure> {
    let stop = StopFlag::default();
    watch_signals(&stop)?;
    let what = what(args);
    let until = if args.duration.is_some() { "" } else { "; Ctrl-C ends it" };
    let mut lines = 0_u64;
    let mut has_begun = false;
    let mut watch = |news: TraceNews<'_>| {
        has_begun = true;
        let mut out = crate::out::lines(args.json);
        // A reader that has gone away does not end the trace.
        let _ = match news {
            TraceNews::Started(note) if args.json => said(note),
            TraceNews::Started(note) => {
                let _ = said(note);
                writeln!(out, "tracing {what} into {}{until}", request.directory.display())
            }
            TraceNews::Interval(row) if args.json => writeln!(out, "{}", json(row, &request.options)),
            TraceNews::Interval(row) => {
                lines += 1;
                let heading = if lines % 20 == 1 { tui::trace_header() + "\n" } else { String::new() };
                writeln!(out, "{heading}{}", tui::trace_line(row))
            }
        };
    };
    let outcome = monitor::trace(request, &mut watch, &stop).map_err(|error| {
        let failure = Failure::from(error);
        if !has_begun {
            return failure;
        }
        // As on a full disk: everything up to the last commit is in the journal.
        let kept = request.directory.display();
        let message =
            format!("{}\nwhat was traced until then is kept and can be read: iodyno report {kept}", failure.message);
        Failure { message, ..failure }
    })?;
    for message in &outcome.messages {
        say!("iodyno: {message}");
    }
    if !args.json {
        let mut out = crate::out::lines(false);
        let _ = out.line("");
        for line in &outcome.words {
            let _ = out.line(line);
        }
    }
    crate::diagnose::brief(&request.directory);
    Ok(match (outcome.is_complete(), outcome.interrupted) {
        (false, _) => RECORDING,
        (true, true) => INTERRUPTED,
        (true, false) => 0,
    })
}

/// Says on standard error why a recording's trace has not every I/O that there was: losses, a sample.
pub(crate) fn say_incomplete(recording: &recording::Manifest) {
    workload::traced::sample::incomplete(recording).iter().for_each(|words| say!("iodyno: {words}"));
}

/// Flags by which I/Os are chosen, of `trace` and `probe`.
pub(crate) struct Chosen<'a> {
    pub(crate) devices: &'a [String],
    pub(crate) ops: &'a [String],
    pub(crate) size: Option<&'a str>,
    pub(crate) pids: &'a [u32],
    pub(crate) comms: &'a [String],
    pub(crate) cgroups: &'a [PathBuf],
}

impl TraceArgs {
    fn filter(&self) -> Chosen<'_> {
        Chosen {
            devices: &self.devices,
            ops: &self.ops,
            size: self.size.as_deref(),
            pids: &self.pids,
            comms: &self.comms,
            cgroups: &self.cgroups,
        }
    }
}

/// What the flags ask for.
pub(crate) fn filter(chosen: &Chosen<'_>) -> Result<TraceFilter, Failure> {
    let devices = chosen.devices.iter().map(|name| BlockDevice::find(name).map_err(MonitorError::from));
    let mut filter = TraceFilter { devices: devices.collect::<Result<_, _>>()?, ..TraceFilter::default() };
    if !chosen.ops.is_empty() {
        filter.ops = 0;
        for name in chosen.ops {
            let bits = op_numbers(name);
            if bits == 0 {
                let help = "read, write, flush, discard, secure_erase, write_zeroes, zone_append, zone_reset, zone_open, zone_close, zone_finish";
                return Err(Failure::new(PARAMETERS, format!("--op {name}: no such operation; there are: {help}")));
            }
            filter.ops |= bits;
        }
    }
    if let Some(size) = chosen.size {
        (filter.bytes_min, filter.bytes_max) = sizes(size)?;
    }
    filter.pids = chosen.pids.to_vec();
    filter.comms = chosen.comms.to_vec();
    filter.cgroups = cgroups(chosen.cgroups)?;
    Ok(filter)
}

/// `1/64`, or `64`.
fn sample(text: Option<&str>) -> Result<u32, Failure> {
    let Some(text) = text else { return Ok(1) };
    let number = text.strip_prefix("1/").unwrap_or(text).parse().ok().filter(|n| (1..=1 << 20).contains(n));
    number.ok_or_else(|| {
        Failure::new(PARAMETERS, format!("--sample {text}: write 1/N with N from 1 to 1048576, like 1/64"))
    })
}

/// Control groups by the inodes of their directories.
pub(crate) fn cgroups(paths: &[PathBuf]) -> Result<Vec<u64>, Failure> {
    paths.iter().map(|path| cgroup(path)).collect()
}

fn bytes(text: &str, flag: &str) -> Result<u64, Failure> {
    parse_bytes(text).map_err(|why| Failure::new(PARAMETERS, format!("{flag} {text}: {why}")))
}

/// `4k`, `4k-64k`, `1m-`, `-8k`.
fn sizes(text: &str) -> Result<(u32, u32), Failure> {
    let one = |part: &str, default: u32| -> Result<u32, Failure> {
        if part.is_empty() {
            return Ok(default);
        }
        Ok(u32::try_from(bytes(part, "--size")?).unwrap_or(u32::MAX))
    };
    let range = match text.split_once('-') {
        Some((from, to)) => (one(from, 0)?, one(to, u32::MAX)?),
        None => (one(text, 0)?, one(text, 0)?),
    };
    if range.0 > range.1 || text.is_empty() || text == "-" {
        return Err(Failure::new(PARAMETERS, format!("--size {text}: write SIZE, FROM-TO, FROM- or -TO, like 4k-64k")));
    }
    Ok(range)
}

/// The inode of a control group's directory.
fn cgroup(path: &Path) -> Result<u64, Failure> {
    let below = trace::cgroup_root().join(path.strip_prefix("/").unwrap_or(path));
    let found = if path.join("cgroup.procs").exists() { path.to_path_buf() } else { below };
    std::fs::metadata(&found).map(|meta| meta.ino()).map_err(|why| {
        Failure::new(PARAMETERS, format!("--cgroup {}: failed to look at {}: {why}", path.display(), found.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::{flight_memory, rotate, sizes};

    #[test]
    fn the_rotate_option_reads_ages_and_sizes() {
        let check = |text: &str| rotate(&[text.to_string()]).ok().map(|rotate| (rotate.bytes, rotate.age_ns));
        assert_eq!(check("1g"), Some((Some(1 << 30), None)));
        assert_eq!(check("30mib"), Some((Some(30 << 20), None)));
        assert_eq!(check("30min"), Some((None, Some(1_800_000_000_000))));
        assert_eq!(check("1h"), Some((None, Some(3_600_000_000_000))));
        assert_eq!(check("30m"), None, "minutes, or MiB?");
    }

    #[test]
    fn more_memory_than_there_is_is_refused() {
        assert_eq!(flight_memory(Some("1m")).ok(), Some(1 << 20));
        for wrong in ["900t", "0", "1k"] {
            assert!(flight_memory(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_and_ranges() {
        let check = |text: &str| sizes(text).ok();
        assert_eq!(check("4k"), Some((4096, 4096)));
        assert_eq!(check("4k-64k"), Some((4096, 65536)));
        assert_eq!(check("1m-"), Some((1 << 20, u32::MAX)));
        assert_eq!(check("-8k"), Some((0, 8192)));
        for wrong in ["", "-", "64k-4k", "x", "4k-y"] {
            assert_eq!(check(wrong), None, "{wrong}");
        }
    }
}
