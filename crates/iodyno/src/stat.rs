//! `iodyno stat`.

use crate::exit::{Failure, PARAMETERS, PRIVILEGE, RECORDING};
use crate::open::open;
use crate::signals::watch_signals;
use crate::stat_args::{StatArgs, StatClock, StatSubject};
use crate::time_args::{INTERVAL_MIN_NS, interval};
use collect::{CPU_IRQ, RequestedProcesses, SubjectName};
use monitor::{AlwaysShown, EventCpuTime, MonitorError, SampleConsumers, StopFlag, WatchRequest};
use quantity::output::stdout;
use rates::Availability;
use rates::stat::{CounterSubject, LinkDuplex, SpeedOverride, StatFold, StatOptions, feed_recording};
use recording::{AvailabilityKind, Reader, rows};
use std::path::Path;
use tui::{CpuUnit, StatForm, StatLines, StatLook, unknown_name_message};
use view::TableReadError;

/// Shows counters interval by interval; gives the exit code.
pub(crate) fn run(args: &StatArgs, command_line: &[String]) -> Result<u8, Failure> {
    let is_net = args.subject == StatSubject::Net;
    refuse_misplaced(args, is_net)?;
    let speeds = args.links.links()?;
    if args.list {
        return list(&args.only, &speeds);
    }
    let subjects = subjects(args);
    if args.csv && subjects.len() > 1 {
        return Err(Failure::new(PARAMETERS, "--csv shows one subject at a time; leave out -a, or use --json"));
    }
    let interval_ns = interval(&args.interval, "interval", INTERVAL_MIN_NS)?;
    let options = StatOptions { since_boot: args.since_boot, speeds, joins: false };
    let look = look(args)?;
    if let Some(path) = &args.recording {
        return of_recording(path, &subjects, &options, look);
    }
    // A subject that this machine does not provide never has rows: do not wait for it.
    let verdicts = Availability::new(collect::verdicts(Path::new("/")));
    let missing = subjects.iter().copied().filter(|subject| verdicts.of_subject(*subject).is_some()).collect();
    let subjects = absent(missing, &verdicts, subjects.len(), "").map(|missing| {
        subjects.iter().copied().filter(|subject| !missing.contains(subject)).collect::<Vec<CounterSubject>>()
    })?;
    let request = WatchRequest {
        what: subjects.iter().flat_map(|subject| what(*subject)).copied().collect(),
        events: if args.clock == StatClock::Both { EventCpuTime::Needed } else { EventCpuTime::Off },
        profile_hz: None,
        responses: args.percentiles,
        interval_ns,
        idle: idle(args),
        // Every interval has two ends.
        samples: args.count.map(|count| count + u64::from(!args.since_boot)),
        for_ns: None,
        directory: args.output.clone(),
        command_line: command_line.to_vec(),
    };
    let stop = StopFlag::default();
    watch_signals(&stop)?;
    let mut lines = StatLines::new(stdout(), StatFold::new(&subjects, &options), look, monitor::live_wall());
    lines.complain_to(Box::new(|words| say!("iodyno: {words}")));
    if subjects.contains(&CounterSubject::Cpu)
        && let Some(words) = collect::verdicts(Path::new("/"))
            .get(CPU_IRQ)
            .filter(|words| AvailabilityKind::of(words) != AvailabilityKind::Works)
    {
        say!("iodyno: %irq is ?: {words}");
    }
    let mut tell = |message: &str| say!("iodyno: {message}");
    let company = SampleConsumers { face: Some(&mut lines), flight: None, tell: Some(&mut tell) };
    let outcome = monitor::watch(&request, company, None, &stop)?;
    subjects.last().into_iter().for_each(|subject| lines.complain_of_strangers(*subject));
    outcome.messages.iter().for_each(|message| say!("iodyno: {message}"));
    // Being stopped is no failure; a full standard output is.
    Ok(if outcome.is_cut { RECORDING } else { 0 })
}

/// Shows the samples of a recording.
fn of_recording(
    path: &Path,
    subjects: &[CounterSubject],
    options: &StatOptions,
    look: StatLook,
) -> Result<u8, Failure> {
    let (reader, damaged) = open(path)?;
    let manifest = reader.manifest().clone();
    let verdicts = Availability::of(&manifest);
    let wall = Box::new(move |t_ns| manifest.wall_ns_at(t_ns));
    let mut lines = StatLines::new(stdout(), StatFold::new(subjects, options), look, wall);
    let fed = match feed_recording(&reader, subjects, &mut lines) {
        Ok(()) if !subjects.iter().any(|subject| lines.has_seen(*subject)) => {
            single_sample(&reader, subjects, options, &mut lines)
        }
        other => other,
    };
    match fed {
        // The reader closed the output pipe.
        Err(TableReadError::Recording(error)) if tui::is_closed(&error) => Ok(0),
        Err(error) => Err(Failure::new(RECORDING, error.to_string())),
        Ok(()) => {
            let (seen, missing): (Vec<CounterSubject>, _) =
                subjects.iter().copied().partition(|subject| lines.has_seen(*subject));
            let strange = lines.strangers().iter().map(|name| unknown_name_message(subjects[subjects.len() - 1], name));
            strange.for_each(|words| say!("iodyno: {words}"));
            for (subject, words) in seen.iter().filter_map(|one| Some((one, verdicts.of_subject(*one)?))) {
                say!("iodyno: not all figures of {}: {words}", subject.name());
            }
            if seen.contains(&CounterSubject::DiskPercentiles)
                && let Some(words) = without_percentiles(&reader, &verdicts)?
            {
                say!("iodyno: percentiles are ?: {words}");
            }
            absent(missing, &verdicts, subjects.len(), "the recording has none").map(|_| damaged)
        }
    }
}

/// Where a recording has one sample only, which no interval ends: shows that one as the mean since the machine booted, and
/// says so. What was imported has counters that do not begin with a boot, and shows nothing.
fn single_sample(
    reader: &Reader,
    subjects: &[CounterSubject],
    options: &StatOptions,
    lines: &mut StatLines<impl std::io::Write>,
) -> Result<(), TableReadError> {
    let since_boot = StatOptions { since_boot: true, ..options.clone() };
    if reader.manifest().extra.contains_key("imported") {
        return Ok(());
    }
    lines.begin_anew(StatFold::new(subjects, &since_boot));
    feed_recording(reader, subjects, lines)?;
    if subjects.iter().any(|subject| lines.has_seen(*subject)) {
        say!(
            "iodyno: the recording has one sample of this: rates need two, so these figures are means since the machine booted (`boot`); \
             record for longer than one interval (-i)"
        );
    }
    Ok(())
}

/// Why a recording has no distributions of response times; `None` when it has some.
fn without_percentiles(reader: &Reader, verdicts: &Availability) -> Result<Option<String>, Failure> {
    let table = rows::IoInterval::NAME;
    let has_some = reader.tables().map_err(MonitorError::from)?.iter().any(|name| name == table);
    // One that watched disks on which nothing was done has none either, and misses nothing.
    let was_watched = Availability::works(reader.manifest(), table);
    let otherwise = "the recording has no table io_interval (stat disk --percentiles -o and top make it)";
    let words = verdicts.of_table(table).unwrap_or(otherwise);
    Ok((!has_some && !was_watched).then(|| words.to_string()))
}

/// What has rows though it is idle: it was asked for by name.
fn idle(args: &StatArgs) -> AlwaysShown {
    let of = |subject: StatSubject| if args.subject == subject { args.only.clone() } else { Vec::new() };
    let processes = RequestedProcesses { pids: args.pid.into_iter().collect(), names: of(StatSubject::Proc) };
    AlwaysShown { devices: of(StatSubject::Disk), processes }
}

/// Says of which subjects there are no figures, and why; a failure when that is all that was asked for.
fn absent(
    missing: Vec<CounterSubject>,
    verdicts: &Availability,
    asked: usize,
    otherwise: &str,
) -> Result<Vec<CounterSubject>, Failure> {
    let words = |subject: &CounterSubject| {
        let why = verdicts.of_subject(*subject).unwrap_or(otherwise);
        format!("no figures of {}: {why}", subject.name())
    };
    if let Some(first) = missing.first().filter(|_| missing.len() == asked) {
        // Two cases: the machine does not provide the subject, or the user did not record it.
        let code = if verdicts.of_subject(*first).is_some() { PRIVILEGE } else { PARAMETERS };
        let all: Vec<String> = missing.iter().map(words).collect();
        return Err(Failure::new(code, all.join("; ")));
    }
    missing.iter().for_each(|subject| say!("iodyno: {}", words(subject)));
    Ok(missing)
}

/// Flags that mean nothing for the subject are mistakes: silence would be taken for an answer.
fn refuse_misplaced(args: &StatArgs, is_net: bool) -> Result<(), Failure> {
    let net = [
        (args.tcp, "-t"),
        (args.udp, "-u"),
        (args.all, "-a"),
        (args.list, "-l"),
        (args.summary, "-s"),
        (args.no_loopback, "-n"),
        (args.megabits, "-M"),
        (args.both_directions, "-U"),
        (!args.links.speeds.is_empty(), "-S"),
    ];
    let has_parts = [StatSubject::Cpu, StatSubject::Irq, StatSubject::Pool].contains(&args.subject);
    let wrong = |flags: &[(bool, &'static str)], belongs: bool| {
        flags.iter().find(|(given, _)| *given && !belongs).map(|(_, flag)| *flag)
    };
    let misplaced = wrong(&net, is_net)
        .map(|flag| (flag, "net"))
        .or(wrong(&[(args.busy, "--busy")], args.subject == StatSubject::Cpu).map(|flag| (flag, "cpu")))
        .or(wrong(&[(args.each, "--each")], has_parts).map(|flag| (flag, "cpu`, `irq` and `pool")))
        .or(wrong(&[(args.percentiles, "--percentiles")], args.subject == StatSubject::Disk).map(|flag| (flag, "disk")))
        .or(wrong(&[(args.pid.is_some(), "--pid")], args.subject == StatSubject::Proc).map(|flag| (flag, "proc")));
    let has_clocks = [StatSubject::Cpu, StatSubject::Proc, StatSubject::Irq].contains(&args.subject);
    if args.clock == StatClock::Both && !has_clocks {
        return Err(Failure::new(PARAMETERS, "--clock belongs to `iodyno stat cpu`, `proc` and `irq`"));
    }
    if args.clock == StatClock::Both && args.since_boot && args.subject != StatSubject::Irq {
        return Err(Failure::new(PARAMETERS, "--clock both counts from now on: it has no mean since boot"));
    }
    refuse_senseless(args)?;
    match misplaced {
        Some((flag, subject)) => Err(Failure::new(PARAMETERS, format!("{flag} belongs to `iodyno stat {subject}`"))),
        None => Ok(()),
    }
}

/// What cannot be meant: nothing would be shown, or one flag would be ignored for another.
fn refuse_senseless(args: &StatArgs) -> Result<(), Failure> {
    let is_for_programs = args.json || args.csv || args.parseable;
    let has_one_row =
        [StatSubject::Mem, StatSubject::Tcp, StatSubject::Udp, StatSubject::System].contains(&args.subject);
    let in_unit = args.of_system || args.seconds;
    let wrong = [
        (args.count == Some(0), "0 lines are none; leave the number out to go on until interrupted"),
        (args.top == 0, "--top 0 shows nothing; 1 is the least"),
        (has_one_row && !args.only.is_empty(), "-i chooses rows, and this subject has only one"),
        (args.list && is_for_programs, "-l is a list for people: it has no --json, --csv or -p"),
        (args.summary && (args.extended || args.all), "-s shows less and -x and -a show more: choose one"),
        (args.summary && args.both_directions, "-s shows no utilisation, which -U divides"),
        (args.megabits && (args.json || args.csv), "-M is for people; --json and --csv are in KiB/s, as -p is"),
        (in_unit && args.subject != StatSubject::Proc, "--of-system and --seconds belong to `iodyno stat proc`"),
        (
            in_unit && is_for_programs,
            "--of-system and --seconds are for people: cpu_percent ÷ 100 × interval_s are seconds",
        ),
    ];
    match wrong.iter().find(|(is_so, _)| *is_so) {
        Some((_, words)) => Err(Failure::new(PARAMETERS, *words)),
        None => Ok(()),
    }
}

fn subjects(args: &StatArgs) -> Vec<CounterSubject> {
    match args.subject {
        StatSubject::Net if args.all => vec![CounterSubject::Tcp, CounterSubject::Udp, CounterSubject::Net],
        StatSubject::Net if args.tcp || args.udp => {
            let asked = [
                (args.tcp, CounterSubject::Tcp),
                (args.udp, CounterSubject::Udp),
                (args.extended, CounterSubject::Net),
            ];
            asked.into_iter().filter(|(asked, _)| *asked).map(|(_, subject)| subject).collect()
        }
        StatSubject::Net => vec![CounterSubject::Net],
        StatSubject::Tcp => vec![CounterSubject::Tcp],
        StatSubject::Udp => vec![CounterSubject::Udp],
        StatSubject::Disk if args.percentiles => vec![CounterSubject::DiskPercentiles],
        StatSubject::Disk => vec![CounterSubject::Disk],
        StatSubject::Cpu if args.clock == StatClock::Both => vec![CounterSubject::CpuClock],
        StatSubject::Proc if args.clock == StatClock::Both => vec![CounterSubject::ProcessClock],
        StatSubject::Cpu => vec![CounterSubject::Cpu],
        StatSubject::Mem => vec![CounterSubject::Memory],
        StatSubject::Pressure => vec![CounterSubject::Pressure],
        StatSubject::System => vec![CounterSubject::System],
        StatSubject::Proc => vec![CounterSubject::Process],
        StatSubject::Cgroup => vec![CounterSubject::Cgroup],
        StatSubject::Irq => vec![if args.each { CounterSubject::IrqCpu } else { CounterSubject::Irq }],
        StatSubject::Pool => vec![CounterSubject::Pool],
        StatSubject::Fs => vec![CounterSubject::Fs],
        StatSubject::Listen => vec![CounterSubject::Listen],
    }
}

fn what(subject: CounterSubject) -> &'static [SubjectName] {
    match subject {
        CounterSubject::Cpu | CounterSubject::CpuClock => &[SubjectName::Cpu],
        CounterSubject::System => &[SubjectName::System],
        CounterSubject::Memory => &[SubjectName::Memory],
        CounterSubject::Pressure => &[SubjectName::Pressure],
        CounterSubject::Disk | CounterSubject::DiskPercentiles => &[SubjectName::Disk],
        // Input queues drop what an interface has received, and that is counted there.
        CounterSubject::Net => &[SubjectName::Net, SubjectName::System],
        CounterSubject::Tcp | CounterSubject::Udp => &[SubjectName::Protocols],
        CounterSubject::Process | CounterSubject::ProcessClock => &[SubjectName::Process],
        CounterSubject::Cgroup => &[SubjectName::Cgroup],
        CounterSubject::Irq | CounterSubject::IrqCpu => &[SubjectName::Interrupts],
        CounterSubject::Pool => &[SubjectName::Zfs],
        CounterSubject::Fs => {
            &[SubjectName::FileSystems, SubjectName::NfsMounts, SubjectName::Btrfs, SubjectName::Disk]
        }
        CounterSubject::Listen => &[SubjectName::Listeners],
    }
}

fn look(args: &StatArgs) -> Result<StatLook, Failure> {
    let cpu_unit = match (args.of_system, args.seconds) {
        (true, _) => CpuUnit::System(cpus(args.recording.as_deref())?),
        (_, true) => CpuUnit::Seconds,
        _ => CpuUnit::OneCpu,
    };
    let expected = args.links.speeds.iter().filter_map(|text| Some(text.rsplit_once(':')?.0.to_string())).collect();
    Ok(StatLook {
        form: if args.json {
            StatForm::Json
        } else if args.csv {
            StatForm::Csv
        } else if args.parseable {
            StatForm::Parseable
        } else {
            StatForm::Columns
        },
        extended: args.extended || args.all,
        summary: args.summary,
        both_directions: args.both_directions,
        megabits: args.megabits,
        only: args.only.clone(),
        skip_idle: args.skip_idle,
        skip_loopback: args.no_loopback,
        each: args.each,
        busy_cpus: args.busy,
        top: Some(args.top),
        pid: args.pid,
        cpu_unit,
        expected,
    })
}

/// How many CPUs this machine has, or the one that was recorded had.
fn cpus(recording: Option<&Path>) -> Result<u32, Failure> {
    let hardware = match recording {
        Some(path) => Reader::open(path).map_err(MonitorError::from)?.manifest().hardware.clone(),
        None => collect::hardware(&[]),
    };
    let cpus = hardware["cpu"]["online"].as_u64().and_then(|cpus| u32::try_from(cpus).ok());
    cpus.ok_or_else(|| Failure::new(PARAMETERS, "--of-system: the number of CPUs is unknown"))
}

/// `nicstat -l`: what is known of the links.
fn list(only: &[String], speeds: &[SpeedOverride]) -> Result<u8, Failure> {
    let mut strangers: Vec<&String> = only.iter().chain(speeds.iter().map(|speed| &speed.interface)).collect();
    outln!("{:<12} {:>8} {:>8} {:>6} {:>5}", "Int", "Loopback", "Mbit/s", "Duplex", "State");
    let batches = collect::MachineReader::new(&[SubjectName::Net]).sample(0, 0);
    for batch in &batches {
        let rows = batch.to_rows::<recording::rows::Net>().map_err(MonitorError::from)?;
        for row in rows {
            strangers.retain(|name| **name != row.interface);
            if !only.is_empty() && !only.contains(&row.interface) {
                continue;
            }
            let known = speeds.iter().find(|known| known.interface == row.interface);
            let bits = known.map(|known| known.bits_per_s).or(row.speed_bits_per_s.map(|bits| bits as f64));
            let is_full = known.map(|known| known.duplex == LinkDuplex::Full).or(row.full_duplex);
            outln!(
                "{:<12} {:>8} {:>8} {:>6} {:>5}",
                row.interface,
                if row.interface == "lo" { "yes" } else { "no" },
                bits.map_or("?".to_string(), |bits| format!("{:.0}", bits / 1e6)),
                is_full.map_or("?", |full| if full { "full" } else { "half" }),
                row.up.map_or("?", |up| if up { "up" } else { "down" }),
            );
        }
    }
    strangers.iter().for_each(|name| say!("iodyno: {}", unknown_name_message(CounterSubject::Net, name)));
    Ok(0)
}
