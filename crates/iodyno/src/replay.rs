//! `iodyno replay`.

use crate::exit::{Failure, OBJECTIVE, PARAMETERS};
use crate::open::over;
use crate::recording_dir;
use crate::replay_args::ReplayArgs;
use crate::run::{Shown, check_destroy, dry_run_code, show_run};
use crate::time_args::{INTERVAL_MIN_NS, interval, time};
use plan::replay::{
    AddressRules, DeviceMapping, Replay, ReplayFilter, ReplayOp, ReplayPacing, ReplaySpeed, ReplayVolume, VolumeSize,
    matches_device,
};
use plan::{
    DedupContent, DedupSets, OpMix, OpenFlags, ParameterText, Plan, PlanSettings, Run, TargetSpec, TextSpan, Workload,
    WriteContent,
};
use quantity::numbers::parse_list;
use quantity::text::{format_bytes, format_count, format_ns, parse_bytes};
use session::{RunRequest, TraceSurvey};
use std::path::PathBuf;
use target::WritePolicy;

/// Plays a trace; gives the exit code.
pub(crate) fn run(args: &ReplayArgs, command_line: &[String]) -> Result<u8, Failure> {
    let mut targets = Vec::new();
    let replay = replay(args, &mut targets)?;
    let survey = session::survey(&replay)?;
    let damaged = say_incomplete(&args.trace)?;
    check(args, &replay, &survey)?;
    let mut plan = plan(args, &replay, &targets, &survey, command_line)?;
    args.stamp.apply(&mut plan)?;
    let policy = WritePolicy { destroy: args.destroy.clone(), ..WritePolicy::default() };
    check_destroy(&plan, &policy)?;
    if args.dry_run {
        return Ok(over(dry_run(&plan, &policy, &survey)?, damaged));
    }
    let place = recording_dir::take(args.output.as_deref(), "replay")?;
    let request = RunRequest {
        plan,
        directory: place.path().to_path_buf(),
        policy,
        engine: session::EngineChoice::Auto,
        workers: None,
        command_line: command_line.to_vec(),
        counters: !args.no_counters,
        report: !args.no_report,
        flatfile: false,
        jobs: plan::JobTexts::default(),
        half_round: None,
        status_ns: None,
    };
    let outcome = show_run(&request, if args.json { Shown::Json } else { Shown::Lines }).map_err(in_our_words)?;
    let code = outcome.ending.exit_code();
    let judged = if args.strict && code == 0 && !outcome.is_faithful { OBJECTIVE } else { code };
    // How the replay itself went wrong comes first.
    Ok(if code == 0 { over(judged, damaged) } else { code })
}

/// Says what a trace lacks; gives the exit code that a damaged one asks for. One that is not a recording tells nothing of it.
fn say_incomplete(trace: &std::path::Path) -> Result<u8, Failure> {
    if !recording::is_recording(trace) {
        return Ok(0);
    }
    let (reader, damaged) = crate::open::open(trace)?;
    crate::trace::say_incomplete(reader.manifest());
    Ok(damaged)
}

/// What targets advise is said in the language of parameter files.
fn in_our_words(failure: Failure) -> Failure {
    let message = failure.message.replace("`size=`", "`--size`");
    Failure { message: message.replace("leave out `openflags=o_direct`", "give `--buffered`"), ..failure }
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::new(PARAMETERS, message)
}

fn bytes(text: &str, flag: &str) -> Result<u64, Failure> {
    parse_bytes(text).map_err(|why| wrong(format!("{flag} {text}: {why}; write bytes, or a unit: 4k, 64m, 10g")))
}

/// What is asked for; adds the targets that it names.
fn replay(args: &ReplayArgs, targets: &mut Vec<PathBuf>) -> Result<Replay, Failure> {
    for (flag, factor) in [("--speed", args.speed), ("--scale", args.scale), ("--rate", args.rate.unwrap_or(1.0))] {
        if !(factor.is_finite() && factor > 0.0) {
            return Err(wrong(format!("{flag} {factor}: more than 0 is needed")));
        }
    }
    for (flag, ratio) in [("--compress-ratio", args.compress_ratio), ("--dedup-ratio", args.dedup_ratio)] {
        if !(ratio.is_finite() && ratio >= 1.0) {
            return Err(wrong(format!("{flag} {ratio}: 1 or more is needed (1: the data do not shrink)")));
        }
    }
    let pacing = match (args.closed, args.asap, args.dependencies) {
        (true, ..) => ReplayPacing::Closed,
        (_, true, _) => ReplayPacing::Asap,
        (.., true) => ReplayPacing::Dependencies,
        _ => ReplayPacing::OnTime,
    };
    if args.copies > 1 && matches!(pacing, ReplayPacing::Closed | ReplayPacing::Dependencies) {
        return Err(wrong(
            "--copies goes with traced times and with --asap: copies of a thread do not wait for each other",
        ));
    }
    let kind = |word: &String| {
        ReplayOp::parse(word).ok_or_else(|| wrong(format!("--only {word}: there are reads, writes, discard and flush")))
    };
    let shift = args.shift.as_deref().map(|text| match text.strip_prefix('-') {
        Some(size) => bytes(size, "--shift").map(|size| -size.cast_signed()),
        None => bytes(text, "--shift").map(u64::cast_signed),
    });
    let size = |text: &Option<String>, flag| text.as_deref().map(|text| bytes(text, flag)).transpose();
    let mut made = Replay {
        format: args.format.clone(),
        pacing,
        speed: args.rate.map_or(ReplaySpeed::Factor(args.speed), ReplaySpeed::PerSecond),
        depth: args.depth,
        cpus: parse_list(args.cpus.as_deref().unwrap_or_default()).map_err(|why| wrong(format!("--cpus: {why}")))?,
        from_ns: time(args.from.as_deref(), "--from")?.unwrap_or(0),
        for_ns: time(args.duration.as_deref(), "--for")?,
        filter: ReplayFilter {
            ops: args.only.iter().map(kind).collect::<Result<_, _>>()?,
            pids: args.pids.clone(),
            comms: args.comms.clone(),
            files: args.files.clone(),
        },
        addresses: AddressRules {
            scale: args.scale,
            shift_bytes: shift.transpose()?.unwrap_or(0),
            align_bytes: size(&args.align, "--align")?.filter(|size| *size > 0),
            fold_bytes: size(&args.fold, "--fold")?,
            skip_first_block: false,
        },
        repeat: args.repeat,
        copies: args.copies,
        stagger_ns: time(Some(&args.stagger), "--stagger")?.unwrap_or(0),
        verify: !args.no_verify,
        ..Replay::new(args.trace.clone())
    };
    for map in &args.maps {
        add_map(map, &mut made, targets)?;
    }
    Ok(made)
}

/// `DEVICE[,DEVICE…]=TARGET[,TARGET…][@OFFSET]`
fn add_map(text: &str, replay: &mut Replay, targets: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let form = || wrong(format!("--map {text}: write DEVICE=TARGET, like sda=/dev/sdb or '*=/data/img'"));
    let (devices, places) = text.split_once('=').ok_or_else(form)?;
    let (places, base) = match places.rsplit_once('@') {
        Some((places, base)) if base.starts_with(|c: char| c.is_ascii_digit()) => (places, bytes(base, "--map … @")?),
        _ => (places, 0),
    };
    let mut volume = ReplayVolume::default();
    for place in places.split(',') {
        if place.is_empty() {
            return Err(form());
        }
        let path = PathBuf::from(place);
        let at = targets.iter().position(|known| *known == path).unwrap_or_else(|| {
            targets.push(path);
            targets.len() - 1
        });
        volume.targets.push(at);
    }
    let number = replay.volumes.iter().position(|known| *known == volume).unwrap_or_else(|| {
        replay.volumes.push(volume);
        replay.volumes.len() - 1
    });
    let names: Vec<&str> = devices.split(',').collect();
    for name in &names {
        if name.is_empty() || (names.len() > 1 && name.contains('*')) {
            return Err(form());
        }
        let device = name.strip_prefix("/dev/").unwrap_or(name).to_string();
        replay.maps.push(DeviceMapping { device, volume: number, base_bytes: base, packed: names.len() > 1 });
    }
    Ok(())
}

/// Does the trace have what is asked of it?
fn check(args: &ReplayArgs, replay: &Replay, survey: &TraceSurvey) -> Result<(), Failure> {
    let known: Vec<&str> = survey.devices.keys().take(20).map(String::as_str).collect();
    if survey.ios == 0 {
        return Err(wrong(format!("there is no I/O in {}", args.trace.display())));
    }
    for map in &replay.maps {
        if !survey.devices.keys().any(|device| matches_device(&map.device, device)) {
            let message = format!("--map {}=…: the trace has no such device; it has {}", map.device, known.join(", "));
            return Err(wrong(message));
        }
    }
    if !survey.has_ends && matches!(replay.pacing, ReplayPacing::Closed | ReplayPacing::Dependencies) {
        return Err(wrong(
            "this trace does not tell when I/Os were completed: --closed and --dependencies cannot be had",
        ));
    }
    Ok(())
}

/// The plan: targets, and a run with one workload.
fn plan(
    args: &ReplayArgs,
    replay: &Replay,
    targets: &[PathBuf],
    survey: &TraceSurvey,
    command_line: &[String],
) -> Result<Plan, Failure> {
    let size_bytes = args.size.as_deref().map(|text| bytes(text, "--size")).transpose()?;
    let text = command_line.iter().skip(1).cloned().collect::<Vec<_>>().join(" ");
    let span = TextSpan::default();
    let spec = |path: &PathBuf| TargetSpec {
        size_bytes,
        depth: replay.depth,
        open: OpenFlags { direct: !args.buffered, ..OpenFlags::default() },
        ..TargetSpec::of_path(path)
    };
    let writes = survey.changing > 0 && replay.writes();
    let dedup = (args.dedup_ratio > 1.0).then_some(DedupContent {
        ratio: args.dedup_ratio,
        unit_bytes: 4096,
        sets: DedupSets::Previous,
        across: false,
    });
    let content = WriteContent { compress_ratio: args.compress_ratio, dedup, ..WriteContent::default() };
    let workload = Workload {
        name: "replay".to_string(),
        targets: (0..targets.len()).collect(),
        depth: Some(replay.depth),
        mix: OpMix::read_write(if writes { 0.5 } else { 1.0 }),
        content,
        ..Workload::replaying(replay.clone(), span)
    };
    let file = args.trace.file_name().unwrap_or(args.trace.as_os_str()).to_string_lossy().into_owned();
    let mut loops = vec![("trace".to_string(), file)];
    if args.speed != 1.0 {
        loops.push(("speed".to_string(), args.speed.to_string()));
    }
    let interval_ns = interval(&args.interval, "-i", INTERVAL_MIN_NS)?;
    Ok(Plan {
        sources: vec![ParameterText { name: format!("replay of {}", args.trace.display()), text }],
        targets: targets.iter().map(spec).collect(),
        runs: vec![Run { interval_ns, loops, ..Run::of_replay("replay", workload) }],
        settings: PlanSettings { errors_max: u64::MAX, ..PlanSettings::default() },
        ..Plan::default()
    })
}

/// What would be played, and what not.
fn dry_run(plan: &Plan, policy: &WritePolicy, survey: &TraceSurvey) -> Result<u8, Failure> {
    let future = session::dry_run(plan, policy);
    outln!(
        "trace: {} I/Os in {}, {} of them change data",
        format_count(survey.ios as f64),
        format_ns(survey.span_ns),
        format_count(survey.changing as f64)
    );
    for (name, (ios, reach)) in &survey.devices {
        outln!("  {name}: {} I/Os, addresses up to {}", format_count(*ios as f64), format_bytes(*reach));
    }
    future.lines.iter().for_each(|line| outln!("{}", line.replace("`size=`", "`--size`")));
    let sizes: Vec<VolumeSize> = future
        .targets
        .iter()
        .enumerate()
        .filter_map(|(target, found)| Some(VolumeSize { target, bytes: found.size_bytes?, block_bytes: 512 }))
        .collect();
    let replay = plan.runs.iter().flat_map(|run| &run.workloads).find_map(|workload| workload.replay.as_deref());
    if let (Some(replay), true) = (replay, sizes.len() == plan.targets.len()) {
        let (changes, last_ns) = session::rehearse(replay, survey, &sizes)?;
        outln!("would play: {} I/Os in {}", format_count(changes.played as f64), format_ns(last_ns));
        changes.words().iter().for_each(|words| outln!("  {words}"));
        let lost = session::lost(replay)?;
        if lost.is_damaged {
            let most = "lost by the trace: at least";
            outln!("  {most} {} I/Os: it is damaged, and no replay of it is faithful", format_count(lost.ios as f64));
        } else if lost.ios > 0 {
            outln!("  lost by the trace: {} I/Os", format_count(lost.ios as f64));
        }
        if changes.played == 0 {
            let why = changes.whereabouts().join("; ");
            return Err(wrong(format!("nothing of {} would be played: {why}", replay.trace.display())));
        }
    }
    if future.obstacles.is_empty() {
        outln!("nothing was written or read; leave out --dry-run to play it");
    }
    Ok(dry_run_code(&future))
}
