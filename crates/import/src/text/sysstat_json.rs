//! JSON of sysstat: `sadf -j`, `iostat -o JSON`, `mpstat -o JSON`.

use super::columns::Subject;
use super::parsed_file::{Cell, ParsedFile};
use super::timestamp::{self, SECOND_NS, When, dates, of_day};
use super::words;
use crate::ImportError;
use crate::source::Lines;
use serde_json::{Map, Value};

pub(super) fn sniff(head: &str) -> bool {
    head.trim_start().starts_with('{') && head.contains("\"sysstat\"") && head.contains("\"hosts\"")
}

/// What the parts of a sample are about; others are figures.
fn subject(part: &str) -> Option<Subject> {
    Some(match part {
        "avg-cpu" | "cpu-load" | "cpu-load-all" => Subject::Cpu,
        "disk" => Subject::Disk,
        "net-dev" | "net-edev" => Subject::Net,
        "net-tcp" | "net-etcp" => Subject::Tcp,
        "net-udp" => Subject::Udp,
        "memory" | "paging" | "swap-pages" => Subject::Memory,
        "queue" | "process-and-context-switch" | "sum-interrupts" | "interrupts" => Subject::System,
        "psi-cpu" | "psi-io" | "psi-mem" => Subject::Pressure,
        _ => return None,
    })
}

/// What a part without a name of its own is of.
fn thing(part: &str) -> &'static str {
    match part {
        "avg-cpu" => "all",
        "psi-cpu" => "cpu",
        "psi-io" => "io",
        "psi-mem" => "memory",
        _ => "",
    }
}

/// What sysstat 12.6 prints of a disk under an old name and a new one.
const TWO_NAMES: [(&str, &str); 2] = [("avgqu-sz", "aqu-sz"), ("avgrq-sz", "areq-sz")];

/// One sample's time.
struct Sample {
    when: When,
    /// Start of its interval, where the file states it.
    since: Option<When>,
    /// The mean since boot.
    is_start: bool,
}

pub(super) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut text = String::new();
    let mut line = 1;
    while lines.advance()? {
        // Blank lines were passed over; the parser counts them.
        text.extend(std::iter::repeat_n('\n', lines.number().saturating_sub(line)));
        line = lines.number();
        text.push_str(&lines.line());
    }
    let json: Value = serde_json::from_str(&text).map_err(|error| {
        let what =
            if error.is_eof() { "the JSON is cut off: its tool did not end it".to_string() } else { error.to_string() };
        lines.malformed_at(error.line(), what)
    })?;
    let missing = |what: &str| lines.malformed_at(1, format!("this is no output of sysstat: {what}"));
    let hosts = json["sysstat"]["hosts"].as_array().ok_or_else(|| missing("it has no sysstat.hosts"))?;
    for host in hosts {
        parsed.of_host(host["nodename"].as_str().unwrap_or_default());
        if parsed.is_of_other() {
            parsed.tally("other machines left out");
            continue;
        }
        let release = host["release"]
            .as_str()
            .map(|release| format!("{} {release}", host["sysname"].as_str().unwrap_or("Linux")));
        parsed.system = release.or(parsed.system.take());
        parsed.cpus = host["number-of-cpus"].as_f64().filter(|cpus| *cpus >= 1.0).or(parsed.cpus);
        if let Some(date) = host["date"].as_str().or(host["file-date"].as_str()) {
            words::date(date, parsed);
        }
        let samples = host["statistics"].as_array().ok_or_else(|| missing("a host has no statistics"))?;
        let is_iostat = samples
            .iter()
            .any(|sample| sample["disk"][0].get("disk_device").is_some() || sample.get("avg-cpu").is_some());
        for (at, sample) in samples.iter().enumerate() {
            let Some(parts) = sample.as_object() else { return Err(missing("a sample is no object")) };
            let (when, since) = stamp(&sample["timestamp"]);
            let time = Sample { when, since, is_start: is_iostat && at == 0 };
            for (part, value) in parts.iter().filter(|(part, _)| *part != "timestamp") {
                walk(part, value, &time, parsed);
            }
        }
    }
    Ok(())
}

/// The time of a sample, and that at which it began.
fn stamp(value: &Value) -> (When, Option<When>) {
    if let Some(text) = value.as_str() {
        let words: Vec<&str> = text.split([' ', 'T']).collect();
        let (day, time) = match words.as_slice() {
            [time] => (None, *time),
            [day, time, ..] => (dates(day).first().copied(), *time),
            [] => return (When::Next, None),
        };
        let half = words.last().copied().filter(|half| ["AM", "PM"].contains(half));
        if let (Some(day), None) = (day, half) {
            return (timestamp::at(day, time).unwrap_or(When::Next), None);
        }
        let Some(ns) = of_day(time, half) else { return (When::Next, None) };
        return (day.map_or(When::OfDay(ns), |day| When::Local(day + ns, 0)), None);
    }
    let part = |name: &str| value[name].as_str();
    let day = part("date").and_then(|date| dates(date).first().copied());
    let Some(at) = day.zip(part("time").and_then(|time| of_day(time, None))).map(|(day, ns)| day + ns) else {
        return (When::Next, None);
    };
    let interval = value["interval"].as_i64().filter(|seconds| *seconds > 0);
    let interval_ns = interval.map(|seconds| seconds.saturating_mul(SECOND_NS));
    // sadf tells UTC unless it was asked for local time.
    if value["utc"].as_i64() == Some(1) {
        return (When::Wall(at), interval_ns.map(|ns| When::Wall(at.saturating_sub(ns))));
    }
    (When::Local(at, 0), interval_ns.map(|ns| When::Local(at, ns)))
}

/// Takes a part: a list of things, one thing, or parts of its own.
fn walk(part: &str, value: &Value, time: &Sample, parsed: &mut ParsedFile) {
    match value {
        Value::Array(rows) => rows.iter().for_each(|row| walk(part, row, time, parsed)),
        Value::Object(fields) => {
            row(part, fields, time, parsed);
            let is_named = fields.values().any(Value::is_string);
            for (name, inner) in fields.iter().filter(|(_, inner)| inner.is_array() || inner.is_object()) {
                if is_named {
                    // The interrupts of one CPU: name and value each.
                    named(part, fields, inner, time, parsed);
                } else {
                    walk(name, inner, time, parsed);
                }
            }
        }
        Value::Number(_) | Value::String(_) | Value::Bool(_) | Value::Null => {}
    }
}

/// The first text of an object names what it is of.
fn name(fields: &Map<String, Value>) -> Option<&str> {
    fields.values().find_map(Value::as_str)
}

fn row(part: &str, fields: &Map<String, Value>, time: &Sample, parsed: &mut ParsedFile) {
    // Some versions print a figure under its old name too: the same once more, not more of it.
    let is_twice = |name: &str| TWO_NAMES.iter().any(|(old, new)| name == *old && fields.contains_key(*new));
    let numbers: Vec<(&str, f64)> = fields
        .iter()
        .filter(|(name, _)| !is_twice(name))
        .filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?)))
        .collect();
    if numbers.is_empty() {
        return;
    }
    let subject = subject(part);
    let mut of = name(fields).unwrap_or(thing(part)).to_string();
    let is_sum = of == "all" || of == "sum";
    // Interrupts of single CPUs have no table.
    let subject = subject.filter(|subject| *subject != Subject::System || of.is_empty() || is_sum);
    if subject == Some(Subject::System) {
        of.clear();
    }
    let headers: Vec<String> = numbers
        .iter()
        .map(|(name, _)| match subject {
            Some(Subject::System) if *name == "value" => "intr".to_string(),
            Some(_) => (*name).to_string(),
            None => format!("{part} {name}"),
        })
        .collect();
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let cells: Vec<Cell> =
        numbers.iter().map(|(_, value)| if *value < 0.0 { Cell::Missing } else { Cell::Number(*value) }).collect();
    add(&headers, subject, &of, &cells, time, parsed);
}

/// Rows of name and value inside a named thing.
fn named(part: &str, outer: &Map<String, Value>, inner: &Value, time: &Sample, parsed: &mut ParsedFile) {
    let pairs: Vec<(String, f64)> = inner
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|pair| Some((format!("{part} {}", pair["name"].as_str()?), pair["value"].as_f64()?)))
        .collect();
    let headers: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
    let cells: Vec<Cell> = pairs.iter().map(|(_, value)| Cell::Number(*value)).collect();
    if !headers.is_empty() {
        add(&headers, None, name(outer).unwrap_or_default(), &cells, time, parsed);
    }
}

fn add(
    headers: &[&str],
    subject: Option<Subject>,
    thing: &str,
    cells: &[Cell],
    time: &Sample,
    parsed: &mut ParsedFile,
) {
    let section = match subject {
        Some(_) => parsed.section(headers, subject),
        None => parsed.plain_section(headers),
    };
    if let Some(since) = time.since {
        parsed.since(section, since, false);
    }
    let is_open = match time.when {
        // Without times, a thing that comes again begins the next sample.
        When::Next => parsed.has_no(section, thing) || parsed.block(section, When::Next, time.is_start),
        when => parsed.continued(section, when, time.is_start),
    };
    if is_open {
        parsed.row(section, thing, cells);
    }
}
