//! `iodyno probe`.

use crate::args::{ProbeArgs, ProbeBy, ProbeSubject};
use crate::exit::{Failure, PARAMETERS, RECORDING};
use crate::signals::watch_signals;
use crate::time_args::{WATCHED_MIN_NS, interval};
use crate::trace::{Chosen, cgroups, filter};
use monitor::{ProbeOf, ProbeOutcome, ProbeRequest, StopFlag};
use quantity::output::stdout;
use recording::RecordingError;
use std::path::Path;
use trace::requests::PORTS_MAX;
use trace::{block, files};
use tui::{CpuLines, FileLines, IoLines, ProbeLook, RequestLines, StackLines};
use workload::probe::{CpuBy, FilesBy, IoBy};

/// Shows what the kernel does interval by interval; gives the exit code.
pub(crate) fn run(args: &ProbeArgs, command_line: &[String]) -> Result<u8, Failure> {
    let interval_ns = interval(&args.interval, "interval", WATCHED_MIN_NS)?;
    check_place(args.output.as_deref())?;
    let request = |of: ProbeOf| ProbeRequest {
        of,
        interval_ns,
        count: args.count,
        directory: args.output.clone(),
        command_line: command_line.to_vec(),
    };
    let look = ProbeLook { json: args.json, top: args.top };
    refuse_elsewhere(args)?;
    let stop = StopFlag::default();
    match args.subject {
        ProbeSubject::Io => {
            let by = match args.by.unwrap_or(ProbeBy::Device) {
                ProbeBy::Device => IoBy::Device,
                ProbeBy::Process => IoBy::Process,
                ProbeBy::File => IoBy::File,
                ProbeBy::Op => IoBy::Operation,
                ProbeBy::Fs => return Err(misplaced("--by fs", "files")),
                ProbeBy::Cpu | ProbeBy::Irq | ProbeBy::Preempt => return Err(misplaced("that --by", "cpu")),
            };
            let chosen = Chosen {
                devices: &args.devices,
                ops: &args.ops,
                size: args.size.as_deref(),
                pids: &args.pids,
                comms: &args.comms,
                cgroups: &args.cgroups,
            };
            let options = block::TraceOptions { filter: filter(&chosen)?, ..block::TraceOptions::default() };
            watch_signals(&stop)?;
            let mut lines = IoLines::new(stdout(), look, by);
            let outcome = monitor::probe(&request(ProbeOf::Io(options)), &mut lines, &stop)?;
            end(lines.finish(), &outcome)
        }
        ProbeSubject::Files => {
            let by = match args.by.unwrap_or(ProbeBy::File) {
                ProbeBy::File => FilesBy::File,
                ProbeBy::Process => FilesBy::Process,
                ProbeBy::Fs => FilesBy::Mount,
                ProbeBy::Device => return Err(misplaced("--by device", "io")),
                ProbeBy::Op => return Err(misplaced("--by op", "io")),
                ProbeBy::Cpu | ProbeBy::Irq | ProbeBy::Preempt => return Err(misplaced("that --by", "cpu")),
            };
            refuse_io_only(args)?;
            let options = files::FileTraceOptions {
                pids: args.pids.clone(),
                comms: args.comms.clone(),
                cgroups: cgroups(&args.cgroups)?,
            };
            watch_signals(&stop)?;
            let mut lines = FileLines::new(stdout(), look, by);
            let outcome = monitor::probe(&request(ProbeOf::Files(options)), &mut lines, &stop)?;
            end(lines.finish(), &outcome)
        }
        ProbeSubject::Cpu => {
            let by = cpu_tables(args)?;
            watch_signals(&stop)?;
            let mut lines = CpuLines::new(stdout(), look, by);
            let outcome = monitor::probe(&request(ProbeOf::Cpu { cost: args.cost }), &mut lines, &stop)?;
            end(lines.finish(), &outcome)
        }
        ProbeSubject::Stacks => stacks(args, &request(ProbeOf::Stacks { hz: args.hz, cost: args.cost }), look, &stop),
        ProbeSubject::Requests => {
            requests(&request(ProbeOf::Requests { ports: ports(args)?, cost: args.cost }), look, &stop)
        }
    }
}

/// A recording goes into a directory that is there, under a name that is not.
fn check_place(output: Option<&Path>) -> Result<(), Failure> {
    let Some(output) = output else { return Ok(()) };
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let why = format!("-o {}: there is no directory {}", output.display(), folder.display());
        return Err(Failure::new(PARAMETERS, why));
    }
    if output.exists() {
        let why =
            format!("{} exists; a recording never goes into an existing directory: name another", output.display());
        return Err(Failure::new(PARAMETERS, why));
    }
    Ok(())
}

fn stacks(args: &ProbeArgs, request: &ProbeRequest, look: ProbeLook, stop: &StopFlag) -> Result<u8, Failure> {
    refuse_io_only(args)?;
    refuse_whose(args)?;
    if args.by.is_some() {
        return Err(Failure::new(PARAMETERS, "--by has no meaning for `iodyno probe stacks`".to_string()));
    }
    watch_signals(stop)?;
    let mut lines = StackLines::new(stdout(), look, args.folded);
    let outcome = monitor::probe(request, &mut lines, stop)?;
    end(lines.finish(), &outcome)
}

fn requests(request: &ProbeRequest, look: ProbeLook, stop: &StopFlag) -> Result<u8, Failure> {
    watch_signals(stop)?;
    let mut lines = RequestLines::new(stdout(), look);
    let outcome = monitor::probe(request, &mut lines, stop)?;
    end(lines.finish(), &outcome)
}

/// The ports of `probe requests`, for which nothing else is chosen.
fn ports(args: &ProbeArgs) -> Result<Vec<u16>, Failure> {
    refuse_io_only(args)?;
    refuse_whose(args)?;
    if args.by.is_some() {
        return Err(Failure::new(PARAMETERS, "--by has no meaning for `iodyno probe requests`".to_string()));
    }
    if args.ports.is_empty() {
        let words = "which server? name its TCP port: `iodyno probe requests --port 5432` (`iodyno stat listen` lists those of this machine, and so does the page r of `iodyno top`)";
        return Err(Failure::new(PARAMETERS, words.to_string()));
    }
    if args.ports.len() > PORTS_MAX {
        return Err(Failure::new(
            PARAMETERS,
            format!("{} ports are too many; {PORTS_MAX} is the most", args.ports.len()),
        ));
    }
    Ok(args.ports.clone())
}

/// What only some subjects know.
fn refuse_elsewhere(args: &ProbeArgs) -> Result<(), Failure> {
    let is_stacks = args.subject == ProbeSubject::Stacks;
    if args.cost && matches!(args.subject, ProbeSubject::Io | ProbeSubject::Files) {
        return Err(misplaced("--cost", "cpu`, `iodyno probe stacks` and `iodyno probe requests"));
    }
    if !args.ports.is_empty() && args.subject != ProbeSubject::Requests {
        return Err(misplaced("--port", "requests"));
    }
    if !is_stacks && (args.folded || args.hz != trace::profile::HZ) {
        return Err(misplaced(if args.folded { "--folded" } else { "--hz" }, "stacks"));
    }
    Ok(())
}

fn refuse_io_only(args: &ProbeArgs) -> Result<(), Failure> {
    let io_only = [(!args.devices.is_empty(), "-d"), (!args.ops.is_empty(), "--op"), (args.size.is_some(), "--size")];
    io_only.iter().find(|(given, _)| *given).map_or(Ok(()), |(_, flag)| Err(misplaced(flag, "io")))
}

/// The tables that are wanted; none: all.
fn cpu_tables(args: &ProbeArgs) -> Result<&'static [CpuBy], Failure> {
    refuse_io_only(args)?;
    refuse_whose(args)?;
    Ok(match args.by {
        None => &[],
        Some(ProbeBy::Process) => &[CpuBy::Process],
        Some(ProbeBy::Cpu) => &[CpuBy::Cpu],
        Some(ProbeBy::Irq) => &[CpuBy::Interrupt, CpuBy::Taken],
        Some(ProbeBy::Preempt) => &[CpuBy::Preempted],
        Some(ProbeBy::Device | ProbeBy::Op) => return Err(misplaced("that --by", "io")),
        Some(ProbeBy::File | ProbeBy::Fs) => return Err(misplaced("that --by", "files")),
    })
}

/// These count everybody's.
fn refuse_whose(args: &ProbeArgs) -> Result<(), Failure> {
    let whose =
        [(!args.pids.is_empty(), "--pid"), (!args.comms.is_empty(), "--comm"), (!args.cgroups.is_empty(), "--cgroup")];
    if let Some((_, flag)) = whose.iter().find(|(given, _)| *given) {
        return Err(misplaced(flag, "io` and `iodyno probe files"));
    }
    Ok(())
}

fn misplaced(flag: &str, subject: &str) -> Failure {
    Failure::new(PARAMETERS, format!("{flag} belongs to `iodyno probe {subject}`"))
}

/// Last words; the exit code.
fn end(shown: Result<(), RecordingError>, outcome: &ProbeOutcome) -> Result<u8, Failure> {
    if let Err(error) = shown
        && !tui::is_closed(&error)
    {
        return Err(Failure::new(RECORDING, format!("failed to write the summary: {error}")));
    }
    outcome.messages.iter().for_each(|message| say!("iodyno: {message}"));
    Ok(if outcome.lost > 0 || outcome.is_cut { RECORDING } else { 0 })
}
