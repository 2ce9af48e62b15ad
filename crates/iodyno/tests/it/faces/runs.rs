//! A run of a load beside the counters: Vdbench's flatfile, the report's tables, comparisons.

use super::cases::{CASES, Cell};
use super::input::{Input, Random, manifest};
use super::oracle::{self, Step};
use super::same;
use super::views::numbers;
use crate::support::Scratch;
use quantity::histogram::Histogram;
use recording::rows::{OpInterval, Phase, RunTotal};
use recording::{RowBatch, Sink as _, Writer};
use serde_json::Value;
use std::collections::BTreeMap;

/// What one kind of operations did in an interval.
#[derive(Clone, Debug, Default)]
struct Done {
    bytes: i64,
    /// Of each operation.
    response_ns: Vec<u64>,
}

/// A load of reads and writes, interval by interval.
pub struct Load {
    intervals: Vec<[Done; 2]>,
}

const OPS: [&str; 2] = ["read", "write"];

impl Load {
    /// An interval for each but the first sample; about so many operations a second.
    pub fn of_seed(input: &Input, per_s: i64, seed: u64) -> Self {
        let mut random = Random(0x1234_5678_9abc_def1 ^ (seed << 32 | seed));
        let interval = |sample: usize| {
            [4096, 16384].map(|size| {
                // One in which nothing happens.
                let most = if sample == 5 { 1 } else { per_s };
                let ops = random.below(most) + if sample == 5 { 0 } else { per_s / 4 };
                let time = |_| 100_000 + u64::try_from(random.below(5_000_000)).unwrap();
                Done { bytes: ops * size, response_ns: (0..ops).map(time).collect() }
            })
        };
        Self { intervals: (1..input.times.len()).map(interval).collect() }
    }
}

/// The times of operations.
fn histogram(times: &[u64]) -> Histogram {
    let mut all = Histogram::default();
    times.iter().for_each(|ns| all.record(*ns));
    all
}

/// Writes the counters, and the load beside them.
pub fn write(scratch: &Scratch, name: &str, input: &Input, load: &Load) {
    let mut writer = Writer::create(&scratch.path(name), manifest()).unwrap();
    let (first_ns, last_ns) = (input.times[0], input.times[input.times.len() - 1]);
    let seconds = |t_ns: i64| (t_ns - first_ns) as f64 / 1e9;
    let phase = |t_ns: i64, event: &str| Phase {
        t_ns,
        t_s: seconds(t_ns),
        run: "rd1".into(),
        phase: "measure".into(),
        event: event.into(),
        ..Phase::default()
    };
    writer.accept(&RowBatch::from_rows(&[phase(first_ns, "start")]).unwrap()).unwrap();
    for (sample, t_ns) in input.times.iter().copied().enumerate() {
        input.batches(sample).iter().for_each(|batch| writer.accept(batch).unwrap());
        if sample > 0 {
            let row = |(op, done): (usize, &Done)| OpInterval {
                t_ns,
                t_s: seconds(t_ns),
                interval_ns: t_ns - input.times[sample - 1],
                run: "rd1".into(),
                phase: "measure".into(),
                workload: "wd1".into(),
                target: "sd1".into(),
                op: OPS[op].into(),
                arrivals: Some(count(done)),
                ops: count(done),
                bytes: done.bytes,
                errors: Some(0),
                response: histogram(&done.response_ns),
                service: histogram(&done.response_ns),
                in_flight_mean: Some(1.5),
                backlog: Some(0),
                ..OpInterval::default()
            };
            let rows: Vec<OpInterval> = load.intervals[sample - 1].iter().enumerate().map(row).collect();
            writer.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        }
        writer.commit().unwrap();
    }
    let total = |op: usize| {
        let all: Vec<u64> = load.intervals.iter().flat_map(|of| of[op].response_ns.clone()).collect();
        let ops = i64::try_from(all.len()).unwrap();
        RunTotal {
            t_ns: last_ns,
            t_s: seconds(last_ns),
            start_t_ns: first_ns,
            run: "rd1".into(),
            phase: "measure".into(),
            workload: "wd1".into(),
            target: "sd1".into(),
            op: OPS[op].into(),
            arrivals: Some(ops),
            ops,
            bytes: load.intervals.iter().map(|of| of[op].bytes).sum(),
            errors: Some(0),
            response: histogram(&all),
            service: histogram(&all),
            short: Some(0),
            ..RunTotal::default()
        }
    };
    writer.accept(&RowBatch::from_rows(&[total(0), total(1)]).unwrap()).unwrap();
    writer.accept(&RowBatch::from_rows(&[phase(last_ns, "end")]).unwrap()).unwrap();
    writer.commit().unwrap();
    writer.seal_past().unwrap();
}

fn count(done: &Done) -> i64 {
    i64::try_from(done.response_ns.len()).unwrap()
}

/// What stands in a line of the flatfile about intervals.
fn figures(of: &[&[Done; 2]], seconds: f64) -> BTreeMap<&'static str, Option<f64>> {
    let ops = of.iter().flat_map(|of| of.iter()).map(count).sum::<i64>() as f64;
    let bytes = of.iter().flat_map(|of| of.iter()).map(|done| done.bytes).sum::<i64>() as f64;
    let times = |ops: &[usize]| -> Vec<f64> {
        let all = of.iter().flat_map(|of| ops.iter().flat_map(|op| of[*op].response_ns.iter()));
        all.map(|ns| *ns as f64).collect()
    };
    let mean = |ops: &[usize]| {
        let times = times(ops);
        if times.is_empty() { 0.0 } else { times.iter().sum::<f64>() / times.len() as f64 }
    };
    let part = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    [
        ("rate", Some(ops / seconds)),
        ("MB/sec", Some(bytes / 1_048_576.0 / seconds)),
        // Whole bytes, as Vdbench has them.
        ("bytes/io", Some(part(bytes, ops).floor())),
        ("read%", Some(100.0 * part(times(&[0]).len() as f64, ops))),
        ("resp", Some(mean(&[0, 1]) / 1e6)),
        ("read_resp", Some(mean(&[0]) / 1e6)),
        ("write_resp", Some(mean(&[1]) / 1e6)),
        ("resp_max", Some(times(&[0, 1]).into_iter().fold(0.0, f64::max) / 1e6)),
    ]
    .into()
}

/// CPU figures of the flatfile.
fn cpu(step: Option<Step<'_>>) -> BTreeMap<&'static str, Option<f64>> {
    let of = step.map(oracle::cpu).unwrap_or_default();
    let sum = |keys: &[&str]| {
        of.get("busy_percent").copied().flatten()?;
        Some(keys.iter().filter_map(|key| of[key]).sum::<f64>())
    };
    [
        ("cpu_used", sum(&["user_percent", "nice_percent", "system_percent", "irq_percent", "softirq_percent"])),
        ("cpu_user", sum(&["user_percent", "nice_percent"])),
        ("cpu_kernel", sum(&["system_percent", "irq_percent", "softirq_percent"])),
        ("cpu_wait", sum(&[]).and(of.get("iowait_percent").copied().flatten())),
        ("cpu_idle", sum(&["idle_percent"])),
    ]
    .into()
}

/// Compares the flatfile; what differs.
pub fn flatfile(scratch: &Scratch, name: &str, input: &Input, load: &Load) -> Vec<String> {
    let folder = format!("{name}-flat");
    scratch.iodyno(&["export", name, "--flatfile", "-o", &folder]).run().unwrap().expect_code(0);
    let text = std::fs::read_to_string(scratch.path(&folder).join("flatfile.html")).unwrap();
    let lines = || text.lines().filter(|line| !line.starts_with('*')).map(|line| line.split_whitespace().collect());
    let titles: Vec<&str> = lines().find(|words: &Vec<&str>| words.contains(&"timestamp")).unwrap();
    let lines: Vec<Vec<&str>> = lines().filter(|words: &Vec<&str>| words.contains(&"rd1")).collect();
    assert_eq!(lines.len(), load.intervals.len() + 1, "{text}");
    let mut differences = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let (expected, what) = match load.intervals.get(at) {
            Some(of) => {
                let seconds = (input.times[at + 1] - input.times[at]) as f64 / 1e9;
                let mut expected = figures(&[of], seconds);
                expected.extend(cpu(input.step("cpu", 0, at + 1)));
                (expected, format!("interval {}", at + 1))
            }
            None => {
                let all: Vec<&[Done; 2]> = load.intervals.iter().collect();
                let seconds = (input.times[input.times.len() - 1] - input.times[0]) as f64 / 1e9;
                (figures(&all, seconds), "average".to_string())
            }
        };
        for (title, expected) in expected {
            let text =
                line[titles.iter().position(|one| *one == title).unwrap_or_else(|| panic!("{title}: {titles:?}"))];
            let is_same = match (text.parse::<f64>(), expected) {
                // Four digits behind the point, or none.
                (Ok(shown), Some(expected)) => {
                    (shown - expected).abs() <= if text.contains('.') { 0.000_051 } else { 0.500_001 }
                }
                (Err(_), None) => text == "n/a",
                _ => false,
            };
            if !is_same {
                differences.push(format!("flatfile {title}, {what}: {text}, not {expected:?}"));
            }
        }
    }
    differences
}

/// Compares the figures of `compare --json`; what differs.
pub fn compare(scratch: &Scratch, sides: [(&str, &Input, &Load); 2]) -> Vec<String> {
    let arguments = ["compare", sides[0].0, sides[1].0, "--json"];
    let rows = scratch.iodyno(&arguments).run().unwrap().expect_code(0).ndjson();
    let expected = sides.map(|(_, input, load)| {
        let all: Vec<&[Done; 2]> = load.intervals.iter().collect();
        let seconds = (input.times[input.times.len() - 1] - input.times[0]) as f64 / 1e9;
        let of = figures(&all, seconds);
        BTreeMap::from([
            ("iops", of["rate"].unwrap()),
            ("bytes_per_s", of["MB/sec"].unwrap() * 1_048_576.0),
            ("response_ns_mean", of["resp"].unwrap() * 1e6),
            ("service_ns_mean", of["resp"].unwrap() * 1e6),
            ("response_ns_max", of["resp_max"].unwrap() * 1e6),
        ])
    });
    let mut differences = Vec::new();
    let mut seen = 0;
    for row in &rows {
        let measure = row["measure"].as_str().unwrap();
        let Some(was) = expected[0].get(measure) else { continue };
        let is = expected[1][measure];
        seen += 1;
        for (key, value) in [("was", *was), ("is", is), ("ratio", is / was)] {
            if !same(row[key].as_f64(), Some(value), 1e-9) {
                differences.push(format!("compare {measure} {key}: {}, not {value}", row[key]));
            }
        }
    }
    assert!(seen >= 4, "{rows:?}");
    differences
}

/// The model of a report's page.
fn model(scratch: &Scratch, name: &str) -> Value {
    scratch.iodyno(&["report", name, "-o", "run.html", "--force"]).run().unwrap().expect_code(0);
    let page = std::fs::read_to_string(scratch.path("run.html")).unwrap();
    let model = page.split_once(r#"<script type="application/json" id="model">"#).unwrap().1;
    serde_json::from_str(model.split_once("</script>").unwrap().0).unwrap()
}

/// Compares the figures of the report's run; what differs.
pub fn report(scratch: &Scratch, name: &str, input: &Input, load: &Load) -> Vec<String> {
    let model = model(scratch, name);
    let (run, mut differences) = (&model["runs"][0], Vec::new());
    let all: Vec<&[Done; 2]> = load.intervals.iter().collect();
    let length_s = (input.times[input.times.len() - 1] - input.times[0]) as f64 / 1e9;
    let of = figures(&all, length_s);
    let summary = &run["summary"];
    let mib = |value: Option<f64>| value.map(|mib| mib * 1_048_576.0);
    let ns = |value: Option<f64>| value.map(|ms| ms * 1e6);
    for (key, shown, expected) in [
        ("iops", &summary["iops"], of["rate"]),
        ("bytes_per_s", &summary["bytes_per_s"], mib(of["MB/sec"])),
        ("read_percent", &summary["read_percent"], of["read%"]),
        ("response mean", &summary["response"]["mean"], ns(of["resp"])),
        ("response max", &summary["response"]["max"], ns(of["resp_max"])),
        ("service mean", &summary["service"]["mean"], ns(of["resp"])),
        ("queue_depth", &summary["queue_depth"], Some(3.0)),
        ("measured_s", &summary["measured_s"], Some(length_s)),
    ] {
        if !same(shown.as_f64(), expected, 1e-9) {
            differences.push(format!("report {key}: {shown}, not {expected:?}"));
        }
    }
    let views = run["views"].as_array().unwrap();
    for (id, key, scale) in [("run.iops", "rate", 1.0), ("run.throughput", "MB/sec", 1_048_576.0)] {
        let body = &views.iter().find(|view| view["id"] == id).unwrap_or_else(|| panic!("no {id}"))["body"];
        for line in body["lines"].as_array().unwrap() {
            let (name, shown) = (line["name"].as_str().unwrap(), numbers(&line["values"]));
            for (at, t_ns) in input.times.iter().enumerate().skip(1) {
                let x = (t_ns - input.times[0]) as f64 / 1e9;
                let place = numbers(&body["x"]).iter().position(|one| one.is_some_and(|one| (one - x).abs() < 1e-6));
                let shown = place.and_then(|place| shown[place]);
                let mut done = load.intervals[at - 1].clone();
                if let Some(op) = OPS.iter().position(|op| *op == name) {
                    done[1 - op] = Done::default();
                }
                let expected =
                    figures(&[&done], (t_ns - input.times[at - 1]) as f64 / 1e9)[key].map(|value| value * scale);
                if !same(shown, expected, 1e-9) {
                    differences.push(format!("report {id} {name}, interval {at}: {shown:?}, not {expected:?}"));
                }
            }
        }
    }
    differences
}

/// Compares the means of the CPUs over a run without events; what differs.
pub fn report_cpu(scratch: &Scratch, name: &str, input: &Input) -> Vec<String> {
    let summary = &model(scratch, name)["runs"][0]["summary"];
    let mean = |keys: &[&str]| {
        let share = |sample: usize| -> f64 {
            let of = oracle::cpu(input.step("cpu", 0, sample).unwrap());
            keys.iter().map(|key| of[key].unwrap()).sum()
        };
        (1..input.times.len()).map(share).sum::<f64>() / (input.times.len() - 1) as f64
    };
    let user = mean(&["user_percent", "nice_percent"]);
    let system = mean(&["system_percent", "irq_percent", "softirq_percent"]);
    let pairs = [("cpu_user", user), ("cpu_system", system)];
    let wrong = pairs.into_iter().filter(|(key, expected)| !same(summary[key].as_f64(), Some(*expected), 1e-9));
    wrong.map(|(key, expected)| format!("report {key}: {}, not {expected}", summary[key])).collect()
}

/// Tables whose counters `compare` looks at.
pub const COMPARED: [&str; 8] = ["cpu", "system", "memory", "pressure", "disk", "net", "tcp", "udp"];

/// Compares the counters that changed between two recordings; what differs.
pub fn changes(scratch: &Scratch, table: &str, sides: [(&str, &Input); 2]) -> Vec<String> {
    let text = scratch.iodyno(&["compare", sides[0].0, sides[1].0]).run().unwrap().expect_code(0).stdout;
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.starts_with("Counters that changed most"))
        .skip(2)
        .filter(|line| line.starts_with(table))
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert!(rows.len() >= 4, "{text}");
    let mut differences = Vec::new();
    for row in rows {
        let words: Vec<&str> = row[0].split(' ').collect();
        let column = words[words.len() - 1];
        let case = CASES.iter().find(|case| case.table == table).unwrap();
        let is_it = |names: &&[(&str, Cell)]| match names.first() {
            Some((_, Cell::Text(name))) => words[1..].contains(name),
            _ => true,
        };
        let thing = case.things.iter().position(is_it).unwrap();
        let unit = recording::table(table).unwrap().columns.iter().find(|one| one.name == column).unwrap().unit;
        let scale = match unit {
            "ns" => 1e-7,
            "ms" => 0.1,
            "sectors" => 512.0,
            _ => 1.0,
        };
        for (side, shown) in sides.iter().zip(&row[1..3]) {
            let rows = &side.1.rows[table][thing];
            let seconds = (rows.len() - 1) as f64;
            let (now, before) = (rows[rows.len() - 1].as_ref().unwrap(), rows[0].as_ref().unwrap());
            let expected = Step { now, before, seconds }.per_s(column).unwrap() * scale;
            let digits = shown.find(' ').unwrap_or(shown.len());
            let number: f64 = shown[..digits].parse().unwrap_or_else(|_| panic!("{shown}"));
            let prefix = match shown[digits..].trim().chars().next() {
                Some('k') => 1e3,
                Some('M') => 1e6,
                Some('G') => 1e9,
                _ => 1.0,
            };
            let decimals = shown[..digits].split_once('.').map_or(0, |(_, decimals)| decimals.len());
            let half = 0.5 / 10_f64.powi(i32::try_from(decimals).unwrap());
            if (number - expected / prefix).abs() > half * 1.000_001 {
                differences.push(format!("compare {}: {shown}, not {expected}", row[0]));
            }
        }
    }
    differences
}
