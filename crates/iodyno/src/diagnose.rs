//! `iodyno diagnose`.

use crate::args::DiagnoseArgs;
use crate::exit::{FINDINGS, Failure, INTERRUPTED, PARAMETERS, RECORDING};
use crate::open::{open, over};
use crate::signals::watch_signals;
use crate::time_args::time;
use collect::SubjectName;
use findings::{Finding, FindingSeverity, IOS_ARE_IN, RuleEngine, Thresholds};
use monitor::{EventCpuTime, SampleConsumers, StopFlag, WatchRequest};
use quantity::text::format_wall;
use quantity::visible::visible;
use rates::stat::CounterSubject;
use serde_json::{Value, json};
use std::path::Path;

/// Time between two samples of a live diagnosis.
const INTERVAL_NS: u64 = 1_000_000_000;

/// What was judged.
struct Judged {
    engine: RuleEngine,
    /// What it was, in words.
    source: String,
    /// Ties the monotonic clock to the wall clock.
    wall: Box<dyn Fn(i64) -> i64>,
    interrupted: bool,
    /// The exit code when rows are missing, else 0.
    damaged: u8,
}

/// Says what a recording or this machine suffers from; gives the exit code.
pub(crate) fn run(args: &DiagnoseArgs, command_line: &[String]) -> Result<u8, Failure> {
    let mut thresholds = match &args.thresholds {
        Some(path) => read_thresholds(path)?,
        None => Thresholds::default(),
    };
    args.links.links()?.iter().for_each(|link| thresholds.set_speed(link));
    if args.print_thresholds {
        out!("{}", thresholds.to_toml());
        return Ok(0);
    }
    let judged = match (&args.recording, &args.live) {
        (Some(path), None) => recorded(path, thresholds)?,
        (None, live) => this_machine(live.as_deref().unwrap_or("30s"), thresholds, command_line)?,
        (Some(_), Some(_)) => {
            return Err(Failure::new(PARAMETERS, "a recording or --live, not both"));
        }
    };
    for link in args.links.links()?.iter().filter(|link| !judged.engine.knows_link(&link.interface)) {
        say!("iodyno: -S: {}", tui::unknown_name_message(CounterSubject::Net, &link.interface));
    }
    if args.json {
        crate::out::json(as_json(&judged));
    } else {
        out!("{}", as_text(&judged, args.explain));
    }
    let code = match judged.engine.findings().iter().any(Finding::counts) {
        true => FINDINGS,
        false if judged.interrupted => INTERRUPTED,
        false => 0,
    };
    Ok(over(code, judged.damaged))
}

/// Says on standard error what the shipped thresholds find in a recording that was just made; nothing when that is nothing.
pub(crate) fn brief(path: &Path) {
    match recorded(path, Thresholds::default()) {
        Ok(judged) => {
            for finding in judged.engine.findings().iter().filter(|finding| finding.counts()) {
                say!("finding   {} {}", finding.rule.name(), finding.sentence);
            }
        }
        // The recording is what was asked for; that it cannot be judged is worth a word.
        Err(failure) => say!("iodyno: no findings: {}", failure.message),
    }
}

pub(crate) fn read_thresholds(path: &Path) -> Result<Thresholds, Failure> {
    let failed = |reason: String| Failure::new(PARAMETERS, format!("failed to read {}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    Thresholds::parse(&text).map_err(|error| failed(error.to_string()))
}

fn recorded(path: &Path, thresholds: Thresholds) -> Result<Judged, Failure> {
    let (reader, damaged) = open(path)?;
    let engine = findings::findings(&reader, thresholds).map_err(|error| Failure::new(RECORDING, error.to_string()))?;
    let manifest = reader.manifest().clone();
    Ok(Judged {
        engine,
        source: format!("{} ({}, {})", path.display(), manifest.host, reader.state().words()),
        wall: Box::new(move |t_ns| manifest.wall_ns_at(t_ns)),
        interrupted: false,
        damaged,
    })
}

fn this_machine(length: &str, thresholds: Thresholds, command_line: &[String]) -> Result<Judged, Failure> {
    let for_ns = time(Some(length), "--live")?.unwrap_or(0);
    if for_ns < 2 * INTERVAL_NS {
        return Err(Failure::new(PARAMETERS, format!("--live {length} is too short; a finding needs 2s at least")));
    }
    let request = WatchRequest {
        what: SubjectName::ALL.to_vec(),
        events: EventCpuTime::IfPossible,
        profile_hz: None,
        responses: false,
        interval_ns: INTERVAL_NS,
        idle: monitor::AlwaysShown::default(),
        samples: None,
        for_ns: Some(for_ns),
        directory: None,
        command_line: command_line.to_vec(),
    };
    let stop = StopFlag::default();
    watch_signals(&stop)?;
    say!("iodyno: watching this machine for {length}");
    let mut engine = RuleEngine::new(thresholds).of_machine(&collect::hardware(&[]));
    let outcome = monitor::watch(
        &request,
        SampleConsumers { face: Some(&mut engine), ..SampleConsumers::default() },
        None,
        &stop,
    )?;
    outcome.messages.iter().for_each(|message| say!("iodyno: {message}"));
    Ok(Judged {
        engine,
        source: "this machine".to_string(),
        wall: monitor::live_wall(),
        interrupted: stop.is_requested(),
        damaged: 0,
    })
}

/// Top-level findings, trouble first, each with those that it explains.
fn causes(engine: &RuleEngine) -> Vec<(&Finding, Vec<&Finding>)> {
    let all = engine.findings();
    let mut causes: Vec<&Finding> = all.iter().filter(|finding| finding.explained_by.is_none()).collect();
    causes.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.id));
    let of = |cause: &Finding| all.iter().filter(|one| one.explained_by == Some(cause.id)).collect();
    causes.into_iter().map(|cause| (cause, of(cause))).collect()
}

fn as_text(judged: &Judged, explain: bool) -> String {
    let engine = &judged.engine;
    let mut text = String::new();
    for (cause, dependants) in causes(engine) {
        let mark = if cause.severity == FindingSeverity::Finding { "!" } else { "·" };
        text.push_str(&format!("{mark} {} {}  {}\n", cause.rule.name(), visible(&cause.sentence), when(cause, judged)));
        if explain {
            text.push_str(&evidence(cause, engine));
        }
        text.push_str(&format!("     → {}\n", visible(&cause.next)));
        if let Some(ios) = &cause.ios {
            text.push_str(&format!("     {IOS_ARE_IN}{}\n", visible(ios)));
        }
        for dependant in dependants {
            text.push_str(&format!("     explains {} {}\n", dependant.rule.name(), visible(&dependant.sentence)));
        }
    }
    let count = engine.findings().iter().filter(|finding| finding.counts()).count();
    let findings = match count {
        0 => "no finding".to_string(),
        1 => "1 finding".to_string(),
        count => format!("{count} findings"),
    };
    let lost = match engine.gaps() {
        0 => String::new(),
        gaps => format!(", samples lost {gaps}×"),
    };
    let judged_for = view::Unit::Seconds.format(Some(engine.judged_s().round()));
    text.push_str(&format!("{findings} in {judged_for} of {}{lost}\n", visible(&judged.source)));
    if engine.left_out() > 0 {
        text.push_str("further things of the same kind were left out\n");
    }
    text
}

/// "[certain, since 2026-11-20 10:44:07 UTC, open]".
fn when(finding: &Finding, judged: &Judged) -> String {
    let wall = |t_ns: i64| format_wall((judged.wall)(t_ns));
    let lasted = if finding.end_ns.is_some() { format!("until {}", wall(finding.last_ns)) } else { "open".to_string() };
    format!("[{}, since {}, {lasted}]", finding.confidence.word(), wall(finding.start_ns))
}

fn evidence(finding: &Finding, engine: &RuleEngine) -> String {
    let mut text = String::new();
    let width = finding.evidence.iter().map(|one| one.name.chars().count()).max().unwrap_or(0);
    for one in &finding.evidence {
        text.push_str(&format!("     {:<width$}  {}\n", visible(&one.name), visible(&one.text())));
    }
    let section = finding.rule.section();
    let thresholds: Vec<String> = engine
        .thresholds()
        .section(section)
        .iter()
        .map(|threshold| format!("{} = {}", threshold.name, threshold.value))
        .collect();
    text.push_str(&format!("     thresholds [{section}]: {}\n", thresholds.join(", ")));
    text
}

fn as_json(judged: &Judged) -> Value {
    let engine = &judged.engine;
    let wall = |t_ns: i64| format_wall((judged.wall)(t_ns));
    let findings: Vec<Value> = engine
        .findings()
        .iter()
        .map(|finding| {
            let mut value = json!(finding);
            value["title"] = json!(finding.rule.title());
            value["start"] = json!(wall(finding.start_ns));
            value["end"] = json!(finding.end_ns.map(wall));
            value["seconds"] = json!(finding.seconds());
            value["counts"] = json!(finding.counts());
            value["thresholds"] = engine
                .thresholds()
                .section(finding.rule.section())
                .iter()
                .map(|threshold| (threshold.name.to_string(), json!(threshold.value)))
                .collect::<serde_json::Map<_, _>>()
                .into();
            value
        })
        .collect();
    json!({
        "schema": "iodyno.findings/1",
        "source": judged.source,
        "judged_s": engine.judged_s(),
        "gaps": engine.gaps(),
        "left_out": engine.left_out(),
        "findings": findings,
    })
}
