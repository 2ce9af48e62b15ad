//! `iodyno record`.

use crate::args::RecordArgs;
use crate::exit::{Failure, PARAMETERS, RECORDING, TARGET};
use crate::recording_dir;
use crate::signals::watch_signals;
use crate::stat_args::StatClock;
use crate::time_args::{INTERVAL_MIN_NS, interval, time};
use collect::SubjectName;
use findings::Thresholds;
use monitor::{
    ArchiveFolder, Endpoint, EventCpuTime, FindingFlight, FlightPlan, FolderSharing, GatheredTools, MachineClock,
    MonitorError, RetentionPolicy, RetentionTier, SampleConsumers, ServiceRequest, StopFlag, WatchRequest,
    WatchedCommand,
};
use quantity::text::{format_bytes, format_ns, parse_bytes};
use recording::rows::{CommandExecution, ProcessEvent};
use recording::{Reader, Sink};
use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use trace::block::TraceOptions;

/// Records the machine, until interrupted or while a command runs; gives the exit code, which is the command's own.
pub(crate) fn run(args: &RecordArgs, command_line: &[String]) -> Result<u8, Failure> {
    let interval_ns = interval(&args.interval, "-i", INTERVAL_MIN_NS)?;
    // First of all, so that a signal ends what was begun as it should, however early it comes.
    let stop = StopFlag::default();
    watch_signals(&stop)?;
    let gather = args.text.as_deref().map(|text| gather(text, interval_ns)).transpose()?;
    let recorded = record(args, interval_ns, command_line, &stop);
    gather.map(GatheredTools::end).into_iter().flatten().for_each(|said| say!("iodyno: {said}"));
    recorded
}

fn record(args: &RecordArgs, interval_ns: u64, command_line: &[String], stop: &StopFlag) -> Result<u8, Failure> {
    let mut endpoint = args.export.as_deref().map(|address| listen(address, &args.export_host)).transpose()?;
    if let Some(directory) = &args.directory {
        return collect_days(args, directory, interval_ns, endpoint.as_mut(), command_line, stop);
    }
    // Before the command starts: of two that want the same name, one starts none.
    let place = recording_dir::take(args.output.as_deref(), "run")?;
    let directory = place.path().to_path_buf();
    let mut name = directory.file_stem().unwrap_or_default().to_os_string();
    name.push("-flight");
    let mut flight = flight(args, directory.with_file_name(name), None, command_line)?;
    let request = WatchRequest {
        what: SubjectName::ALL.to_vec(),
        events: event_clock(args),
        profile_hz: args.profile,
        responses: false,
        interval_ns,
        idle: monitor::AlwaysShown::default(),
        samples: None,
        for_ns: time(args.length.as_deref(), "--for")?,
        directory: Some(directory.clone()),
        command_line: command_line.to_vec(),
    };
    let mut start = || {
        let Some((program, arguments)) = args.command.split_first() else {
            say!("iodyno: recording to {}; Ctrl-C ends it", directory.display());
            return None;
        };
        let mut command = Command::new(program);
        command.args(arguments);
        Some(command)
    };
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let name = args.command.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    let line = plan::CommandLine::Program(words).to_string();
    let mut watched = WatchedCommand::new(&mut start, name.to_string_lossy().into_owned(), line);
    let company = SampleConsumers {
        face: endpoint.as_mut().map(|face| face as &mut dyn Sink),
        flight: flight.as_mut(),
        tell: None,
    };
    let outcome = monitor::watch(&request, company, Some(&mut watched), stop);
    // Whatever became of the recording, the command is not left behind as a zombie.
    let (status, execution) = match &outcome {
        Ok(outcome) if outcome.status.is_some() => (outcome.status, outcome.execution.clone()),
        _ => watched.reap(true, 0).map_or((None, None), |(status, row)| (Some(status), Some(row))),
    };
    let outcome = outcome.map_err(|error| match (error, args.command.first()) {
        (MonitorError::Start(error), Some(program)) => {
            Failure::new(TARGET, format!("failed to start {}: {error}", program.display()))
        }
        (error, _) => error.into(),
    })?;
    outcome.messages.iter().for_each(|message| say!("iodyno: {message}"));
    if let (Some(row), Some(child)) = (&execution, &watched.child) {
        say_cost(row, by_event(&directory, i64::from(child.id())));
    }
    crate::diagnose::brief(&directory);
    say!("recording {} ({} samples, {} missed)", directory.display(), outcome.samples, outcome.missed);
    if status.is_none() && !args.command.is_empty() {
        // A signal came before the command began.
        return Ok(stop.signal().map_or(0, |signal| u8::try_from(128 + signal).unwrap_or(1)));
    }
    Ok(status.map_or(0, |status| {
        // The exit status shows the signal, even if the command handles it and exits with 0.
        if let Some(signal) = stop.signal() {
            return u8::try_from(128 + signal).unwrap_or(1);
        }
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        u8::try_from(code).unwrap_or(1)
    }))
}

/// What the command cost in all, from its row.
fn say_cost(row: &CommandExecution, by_event_ns: Option<u64>) {
    let unknown = || "?".to_string();
    let known = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok());
    let (wall_ns, user_ns, system_ns) = (known(row.real_ns), known(row.user_ns), known(row.sys_ns));
    let cpu_ns = user_ns.zip(system_ns).map_or(0, |(user_ns, system_ns)| user_ns + system_ns);
    say_lines!(
        "\ntime      {}\nCPU       {} user, {} system by tick ({:.0} % of one CPU); {} by event\nI/O       {} read, {} written (devices)",
        wall_ns.map_or_else(unknown, format_ns),
        user_ns.map_or_else(unknown, format_ns),
        system_ns.map_or_else(unknown, format_ns),
        cpu_ns as f64 * 100.0 / wall_ns.unwrap_or(0).max(1) as f64,
        by_event_ns.map_or_else(unknown, format_ns),
        known(row.read_bytes).map_or_else(unknown, format_bytes),
        known(row.write_bytes).map_or_else(unknown, format_bytes),
    );
}

/// Run time of a process and of all that came from it, as the event clock recorded it; `None` where it did not run.
fn by_event(recording: &Path, pid: i64) -> Option<u64> {
    let rows = Reader::open(recording).ok()?.table::<ProcessEvent>().ok()?;
    let parents: HashMap<i64, i64> = rows.iter().map(|row| (row.pid, row.parent)).collect();
    let is_mine = |mut of: i64| {
        // A chain of parents has an end; numbers that were used again could make it a ring.
        for _ in 0..parents.len() {
            if of == pid {
                return true;
            }
            let Some(parent) = parents.get(&of) else { return false };
            of = *parent;
        }
        false
    };
    // Counters: the last row of each says it all.
    let last: HashMap<(i64, i64), i64> = rows.iter().map(|row| ((row.pid, row.start_ns), row.run_ns)).collect();
    let mine: Vec<i64> = last.into_iter().filter(|((of, _), _)| is_mine(*of)).map(|(_, run_ns)| run_ns).collect();
    (!mine.is_empty()).then(|| u64::try_from(mine.iter().sum::<i64>()).unwrap_or(0))
}

/// Starts the classic tools; what they cannot tell is said.
fn gather(directory: &Path, interval_ns: u64) -> Result<GatheredTools, Failure> {
    // They know whole seconds only.
    let seconds = interval_ns.div_ceil(1_000_000_000).max(1);
    let (gather, said) = GatheredTools::start(directory, seconds).map_err(|error| {
        let failure = Failure::from(error);
        let message = format!("--text {}: failed to begin there: {}", directory.display(), failure.message);
        Failure { message, ..failure }
    })?;
    said.iter().for_each(|said| say!("iodyno: {said}"));
    Ok(gather)
}

/// Opens the endpoint, and says where it is: the port may have been left to the kernel.
fn listen(address: &str, hosts: &[String]) -> Result<Endpoint, Failure> {
    let endpoint = Endpoint::listen(address, hosts)
        .map_err(|error| Failure::new(PARAMETERS, format!("--export {address}: failed to listen there: {error}")))?;
    say!("iodyno: metrics at http://{}/metrics", endpoint.address());
    Ok(endpoint)
}

fn event_clock(args: &RecordArgs) -> EventCpuTime {
    if args.clock == StatClock::Both { EventCpuTime::IfPossible } else { EventCpuTime::Off }
}

/// The flight recorder beside the collector, when it was asked for; recordings are named after `directory`.
fn flight(
    args: &RecordArgs,
    directory: PathBuf,
    collector: Option<&Arc<ArchiveFolder>>,
    command_line: &[String],
) -> Result<Option<FindingFlight>, Failure> {
    if !args.flight {
        return Ok(None);
    }
    let plan = FlightPlan {
        options: TraceOptions::default(),
        before_ns: time(Some(&args.before), "--before")?.unwrap_or(0),
        after_ns: time(Some(&args.after), "--after")?.unwrap_or(0),
        memory_bytes: crate::trace::flight_memory(args.memory.as_deref())?,
        directory,
        command_line: command_line.to_vec(),
        collector: collector.map(Arc::clone),
    };
    let flight = FindingFlight::start(plan, Thresholds::default())?;
    say!("iodyno: I/Os of the last {} are in memory; those around a finding are written", args.before);
    Ok(Some(flight))
}

/// A recording a day, until interrupted.
fn collect_days(
    args: &RecordArgs,
    directory: &Path,
    interval_ns: u64,
    endpoint: Option<&mut Endpoint>,
    command_line: &[String],
    stop: &StopFlag,
) -> Result<u8, Failure> {
    let request = ServiceRequest {
        interval_ns,
        events: event_clock(args),
        profile_hz: args.profile,
        retention: retention(args)?,
        zone: monitor::local_zone(),
        for_ns: time(args.length.as_deref(), "--for")?,
        command_line: command_line.to_vec(),
    };
    let sharing = if args.allow_shared { FolderSharing::Allowed } else { FolderSharing::Refused };
    let home = Arc::new(ArchiveFolder::open_as(directory, &MachineClock, sharing)?);
    let mut flight = flight(args, directory.join("flight"), Some(&home), command_line)?;
    let company =
        SampleConsumers { face: endpoint.map(|face| face as &mut dyn Sink), flight: flight.as_mut(), tell: None };
    let outcome = monitor::serve(&home, &request, &MachineClock, company, &mut |said| say!("iodyno: {said}"), stop)?;
    say!(
        "{} samples in {} recordings, {} missed, {} without room on the disk",
        outcome.samples,
        outcome.recordings,
        outcome.missed,
        outcome.unwritten
    );
    let failures = outcome.failures();
    failures.iter().for_each(|failure| say!("iodyno: {failure}"));
    Ok(if failures.is_empty() { 0 } else { RECORDING })
}

/// What is kept; 0 is no limit.
fn retention(args: &RecordArgs) -> Result<RetentionPolicy, Failure> {
    let bytes = |text: &str, flag: &str| {
        let parsed = parse_bytes(text).map_err(|why| Failure::new(PARAMETERS, format!("{flag} {text}: {why}")))?;
        Ok::<_, Failure>((parsed > 0).then_some(parsed))
    };
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let keep_ns = time(Some(&args.keep), "--keep")?.map(signed).filter(|ns| *ns > 0);
    let mut tiers = Vec::new();
    for text in args.thin.iter().filter(|text| *text != "none") {
        let wrong = || Failure::new(PARAMETERS, format!("--thin {text}: write STEP:AGE, like 10s:2d, or none"));
        let (step, after) = text.split_once(':').ok_or_else(wrong)?;
        let step_ns = time(Some(step), "--thin")?.map(signed).filter(|ns| *ns > 0).ok_or_else(wrong)?;
        let after_ns = time(Some(after), "--thin")?.map(signed).ok_or_else(wrong)?;
        tiers.push(RetentionTier { after_ns, step_ns });
    }
    Ok(RetentionPolicy {
        keep_ns,
        keep_at_least_ns: time(Some(&args.keep_at_least), "--keep-at-least")?.map_or(0, signed),
        max_bytes: bytes(&args.max_size, "--max-size")?,
        min_free_bytes: bytes(&args.min_free, "--min-free")?,
        tiers,
    })
}
