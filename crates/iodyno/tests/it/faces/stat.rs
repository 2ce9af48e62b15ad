//! `iodyno stat -r RECORDING SUBJECT --json`: every figure of every subject.

use super::cases::CASES;
use super::input::{Input, Row, SAMPLES};
use super::oracle::{self, Figures, Step};
use super::same;
use crate::support::Scratch;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A subject as `stat` is asked for it, and how JSON calls it.
const SUBJECTS: [(&[&str], &str); 17] = [
    (&["cpu", "--each"], "cpu"),
    (&["system"], "system"),
    (&["mem"], "mem"),
    (&["pressure"], "pressure"),
    (&["disk"], "disk"),
    (&["disk", "--percentiles"], "disk_percentiles"),
    (&["net"], "net"),
    (&["tcp"], "tcp"),
    (&["udp"], "udp"),
    (&["proc", "--top", "100"], "proc"),
    (&["cpu", "--each", "--clock", "both"], "cpu_clock"),
    (&["proc", "--top", "100", "--clock", "both"], "proc_clock"),
    (&["cgroup", "--top", "100"], "cgroup"),
    (&["irq", "--top", "100"], "irq"),
    (&["irq", "--each", "--top", "100"], "irq_cpu"),
    (&["pool"], "pool"),
    (&["listen"], "listen"),
];

/// What is in every object, and words.
const NO_FIGURES: [&str; 12] = [
    "schema",
    "subject",
    "name",
    "t_ns",
    "time_unix_s",
    "interval_s",
    "since_boot",
    "rate_error_percent",
    "kind",
    "state",
    "comm",
    "device",
];

/// Tables whose counters are in a figure of `stat`; of the others `stat` shows nothing.
pub const SHOWN: [&str; 20] = [
    "cpu",
    "system",
    "memory",
    "pressure",
    "disk",
    "net",
    "tcp",
    "udp",
    "process",
    "cpu_event",
    "process_event",
    "stolen",
    "cgroup",
    "interrupt",
    "irq_time",
    "zfs_pool",
    "zfs_arc",
    "nfs_mount",
    "btrfs_device",
    "listener",
];

/// Compares all of it; what differs.
pub fn check(scratch: &Scratch, recording: &str, input: &Input) -> Vec<String> {
    let mut differences = Vec::new();
    let mut subjects = SUBJECTS.to_vec();
    subjects.push((&["fs"], "fs"));
    for (words, subject) in subjects {
        let arguments: Vec<&str> =
            ["stat"].into_iter().chain(words.iter().copied()).chain(["-r", recording, "--json"]).collect();
        let rows = scratch.iodyno(&arguments).run().unwrap().expect_code(0).ndjson();
        let mut seen = BTreeSet::new();
        for row in &rows {
            let t_ns = row["t_ns"].as_i64().unwrap();
            let sample = input.times.iter().position(|time| *time == t_ns).unwrap_or_else(|| panic!("{row}"));
            let name = name_of(subject, row);
            assert!(seen.insert((sample, name.clone())), "twice: {row}");
            let place = format!("stat {subject} {name}, sample {sample}");
            match figures(input, subject, sample).get(&name) {
                Some(expected) => compare(row, expected, &place, &mut differences),
                None => differences.push(format!("{place}: has no interval: {row}")),
            }
        }
        for sample in 1..SAMPLES {
            for name in figures(input, subject, sample).into_keys() {
                if !seen.contains(&(sample, name.clone())) {
                    differences.push(format!("stat {subject} {name}, sample {sample}: no row"));
                }
            }
        }
    }
    differences
}

/// Interrupts of one name are distinguished by their CPU.
fn name_of(subject: &str, row: &Value) -> String {
    let name = row["name"].as_str().unwrap().to_string();
    if subject == "irq_cpu" { format!("{name} {}", row["cpu"].as_f64().unwrap()) } else { name }
}

fn compare(row: &Value, expected: &Figures, place: &str, differences: &mut Vec<String>) {
    let shown: BTreeMap<&String, &Value> =
        row.as_object().unwrap().iter().filter(|(key, _)| !NO_FIGURES.contains(&key.as_str())).collect();
    for (key, value) in shown {
        let formula = expected.get(key.as_str()).unwrap_or_else(|| panic!("{key} has no formula here: {row}"));
        if !same(value.as_f64(), *formula, 1e-9) {
            differences.push(format!("{place}: {key} is {value}, not {formula:?}"));
        }
    }
    for key in expected.keys() {
        assert!(row.get(*key).is_some(), "{place}: no {key} in {row}");
    }
}

/// Things of a table that have an interval in a sample, by the text in this column.
fn each<'a>(input: &'a Input, table: &str, name: &str, sample: usize) -> Vec<(String, usize, Step<'a>)> {
    let things = 0..input.rows[table].len();
    let of = |thing: usize| {
        let name = if name.is_empty() { table.to_string() } else { input.name(table, thing, name).to_string() };
        Some((name, thing, input.step(table, thing, sample)?))
    };
    things.filter_map(of).collect()
}

fn plain(steps: Vec<(String, usize, Step<'_>)>, of: fn(Step<'_>) -> Figures) -> BTreeMap<String, Figures> {
    steps.into_iter().map(|(name, _, step)| (name, of(step))).collect()
}

/// What a sample shows, by name.
pub fn figures(input: &Input, subject: &str, sample: usize) -> BTreeMap<String, Figures> {
    let of = |table: &str, name: &str| each(input, table, name, sample);
    let one = |name: &str, table: &str, of: fn(Step<'_>) -> Figures| {
        input.step(table, 0, sample).map(|step| (name.to_string(), of(step))).into_iter().collect()
    };
    match subject {
        "cpu" => plain(of("cpu", "cpu"), oracle::cpu),
        "system" => one("system", "system", oracle::system),
        "mem" => one("memory", "memory", oracle::memory),
        "pressure" => plain(of("pressure", "resource"), oracle::pressure),
        "disk" => plain(of("disk", "device"), oracle::disk),
        "disk_percentiles" => plain(of("disk", "device"), |step| {
            let mut figures = oracle::disk(step);
            // No I/O was seen singly.
            figures.extend(PERCENTILES.map(|key| (key, None)));
            figures
        }),
        "net" => {
            let softnet = input.step("system", 0, sample).and_then(|step| step.per_s("softnet_drops"));
            of("net", "interface").into_iter().map(|(name, _, step)| (name, oracle::net(step, softnet))).collect()
        }
        "tcp" => one("TCP", "tcp", oracle::tcp),
        "udp" => one("UDP", "udp", oracle::udp),
        "proc" => plain(of("process", "comm"), oracle::process),
        "cpu_clock" => {
            let clock = |(name, thing, _): (String, usize, Step<'_>)| {
                (name, oracle::cpu_clock(input.step("cpu", thing, sample), input.step("cpu_event", thing, sample)))
            };
            of("cpu_event", "cpu").into_iter().map(clock).collect()
        }
        "proc_clock" => {
            let clock = |(name, thing, event): (String, usize, Step<'_>)| {
                let step = |table| input.step(table, thing, sample).unwrap();
                (name, oracle::process_clock(step("process"), event, step("stolen")))
            };
            of("process_event", "comm").into_iter().map(clock).collect()
        }
        "cgroup" => plain(of("cgroup", "path"), oracle::cgroup),
        "irq" | "irq_cpu" => vectors(input, subject, sample),
        "pool" => {
            let arc = input.step("zfs_arc", 0, sample);
            of("zfs_pool", "pool").into_iter().map(|(name, _, step)| (name, oracle::pool(step, arc))).collect()
        }
        "fs" => file_systems(input, sample),
        "listen" => listeners(input, sample),
        other => panic!("{other}"),
    }
}

const PERCENTILES: [&str; 10] = [
    "read_p50_ms",
    "read_p95_ms",
    "read_p99_ms",
    "read_p999_ms",
    "read_max_ms",
    "write_p50_ms",
    "write_p95_ms",
    "write_p99_ms",
    "write_p999_ms",
    "write_max_ms",
];

/// A CPU, the vector's figures on it, and how often its handlers were timed per second.
type OnCpu = (f64, [Option<f64>; 3], f64);

fn vectors(input: &Input, subject: &str, sample: usize) -> BTreeMap<String, Figures> {
    let mut by_name: BTreeMap<String, Vec<OnCpu>> = BTreeMap::new();
    for (name, thing, step) in each(input, "interrupt", "vector", sample) {
        let time = input.step("irq_time", thing, sample).unwrap();
        let handled = time.grown("count").unwrap_or(0.0) / time.seconds;
        by_name.entry(name).or_default().push((step.now("cpu").unwrap(), oracle::vector(step, time), handled));
    }
    let mut found = BTreeMap::new();
    for (name, on) in by_name {
        let all: Option<f64> = on.iter().map(|(_, [per_s, ..], _)| *per_s).sum();
        if subject == "irq_cpu" {
            for (cpu, [per_s, ms_per_s, each], _) in &on {
                let share = per_s.zip(all).map(|(own, all)| if all > 0.0 { 100.0 * own / all } else { 0.0 });
                let figures = [
                    ("cpu", Some(*cpu)),
                    ("per_s", *per_s),
                    ("share_percent", share),
                    ("ms_per_s", *ms_per_s),
                    ("us_each", *each),
                ];
                found.insert(format!("{name} {cpu}"), figures.into());
            }
            continue;
        }
        let took: Vec<(f64, f64)> =
            on.iter().filter_map(|(cpu, [per_s, ..], _)| Some((*cpu, per_s.filter(|rate| *rate > 0.0)?))).collect();
        let most = took.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| all.is_some());
        // Of the CPUs whose handlers were timed.
        let known: Vec<f64> = on.iter().filter_map(|(_, [_, ms, _], _)| *ms).collect();
        let ms = (!known.is_empty()).then(|| known.iter().sum::<f64>());
        let handled: f64 =
            on.iter().filter(|(_, [_, ms, each], _)| ms.is_some() && each.is_some()).map(|one| one.2).sum();
        let figures = [
            ("per_s", all),
            ("most_cpu", most.map(|most| most.0)),
            ("most_percent", most.zip(all).map(|(most, all)| 100.0 * most.1 / all)),
            ("cpus", all.map(|_| took.len() as f64)),
            ("ms_per_s", ms),
            ("us_each", ms.filter(|_| handled > 0.0).map(|ms| ms * 1e3 / handled)),
        ];
        found.insert(name, figures.into());
    }
    found
}

fn file_systems(input: &Input, sample: usize) -> BTreeMap<String, Figures> {
    let errors = ["read_errors", "write_errors", "flush_errors", "corruption_errors", "generation_errors"];
    // As its last row says.
    let newest = |rows: &Vec<Option<Row>>| rows[..=sample].iter().rev().flatten().next().cloned().unwrap();
    let devices = input.rows["btrfs_device"].iter().map(newest);
    let step_of = |now: &Row| -> Option<f64> {
        errors.iter().map(|column| Step { now, before: now, seconds: 1.0 }.now(column)).sum()
    };
    let device_errors: Option<f64> = devices.map(|row| step_of(&row)).sum();
    let data = oracle::file_system_rates(input.step("disk", 0, sample), None);
    let home = oracle::file_system_rates(None, input.step("nfs_mount", 0, sample));
    let gib = |count: f64| Some(count * 1024.0);
    let sizes = [
        ("/data", data, gib(100.0), gib(60.0), gib(35.0), Some(6000.0 / 95.0), Some(1000.0), Some(10.0), device_errors),
        ("/home", home, None, None, None, None, None, None, None),
    ];
    let row = |(name, [reads, writes, read, written], size, used, available, percent, inodes, part, errors): (
        &str,
        [Option<f64>; 4],
        _,
        _,
        _,
        _,
        _,
        _,
        _,
    )| {
        let figures: Figures = [
            ("size_mib", size),
            ("used_mib", used),
            ("available_mib", available),
            ("used_percent", percent),
            ("inodes", inodes),
            ("inodes_used_percent", part),
            ("read_per_s", reads),
            ("write_per_s", writes),
            ("read_kib_per_s", read),
            ("write_kib_per_s", written),
            ("device_errors", errors),
        ]
        .into();
        (name.to_string(), figures)
    };
    let is_there = |name: &str| name == "/data" || input.rows["file_system"][1][sample].is_some();
    sizes.into_iter().map(row).filter(|(name, _)| is_there(name)).collect()
}

fn listeners(input: &Input, sample: usize) -> BTreeMap<String, Figures> {
    let rows = &input.rows["listener"];
    let case = CASES.iter().find(|case| case.table == "listener").unwrap();
    let of = |thing: usize| {
        let last = rows[thing][..=sample].iter().rev().flatten().next().unwrap();
        let is_here = rows[thing][sample].is_some();
        let now = Step { now: last, before: last, seconds: 1.0 };
        let queue = if is_here { now.now("queue") } else { Some(0.0) };
        // Without a row it dropped nothing.
        let none = now.now("drops").map(|_| 0.0);
        let dropped = input.step("listener", thing, sample).map_or(none, |step| step.per_s("drops"));
        let figures: Figures = [
            ("queue", queue),
            ("backlog", now.now("backlog")),
            ("full_percent", queue.zip(now.now("backlog")).map(|(queue, backlog)| 100.0 * queue / backlog)),
            ("drops_per_s", dropped),
            ("drops", now.now("drops")),
            ("limit", None),
            ("pid", None),
        ]
        .into();
        (format!("{}:{}", input.name("listener", thing, "address"), now.now("port").unwrap()), figures)
    };
    (0..case.things.len()).map(of).collect()
}
