//! Runs in trees of files: operations that were asked for and the steps that they needed, in Vdbench's files, in the report, in
//! exports and in objectives, beside figures worked out from the same times.

use super::input::{Random, manifest};
use super::views::numbers;
use crate::support::Scratch;
use quantity::histogram::Histogram;
use recording::rows::{OpInterval, Phase, RunTotal, StepInterval, StepTotal};
use recording::{Row, RowBatch, Sink as _, Writer};
use serde_json::Value;
use std::collections::BTreeMap;

const S: i64 = 1_000_000_000;

/// Seconds of each run.
const SECONDS: usize = 7;

/// What each run is called, its phase, what it was asked for, and what that needed besides.
const RUNS: [(&str, &str, &[&str], &[&str]); 2] = [
    ("format_for_rd1", "format", &["mkdir", "create", "write"], &["open", "close"]),
    ("rd1", "measure", &["read", "write", "create", "copy", "getattr"], &["open", "close", "read", "write", "delete"]),
];

/// Kinds with columns in Vdbench's files.
const KINDS: [&str; 13] = [
    "Read", "Write", "Mkdir", "Rmdir", "Create", "Open", "Close", "Delete", "Getattr", "Setattr", "Access", "Copy",
    "Move",
];

/// One kind of operations or steps in one second of a run.
#[derive(Clone, Debug)]
struct Done {
    run: usize,
    second: usize,
    op: &'static str,
    is_step: bool,
    bytes: i64,
    /// From submission.
    service_ns: Vec<u64>,
    /// How long each waited before.
    wait_ns: u64,
}

impl Done {
    fn ops(&self) -> i64 {
        i64::try_from(self.service_ns.len()).unwrap()
    }

    /// The times that faces count with: steps have no other than from their submission.
    fn times(&self) -> Vec<u64> {
        self.service_ns.iter().map(|ns| ns + if self.is_step { 0 } else { self.wait_ns }).collect()
    }
}

fn load(seed: u64) -> Vec<Done> {
    let mut random = Random(0x0f1e_2d3c_4b5a_6978 ^ (seed << 40 | seed));
    let mut all = Vec::new();
    for (run, (_, _, asked, steps)) in RUNS.iter().enumerate() {
        for second in 0..SECONDS {
            let kinds = asked.iter().map(|op| (op, false)).chain(steps.iter().map(|op| (op, true)));
            for (op, is_step) in kinds {
                // In one second, nothing happens.
                let ops = if second == 4 { 0 } else { 1 + random.below(60) };
                let size = if ["read", "write", "copy"].contains(op) { 4096 * (1 + random.below(4)) } else { 0 };
                let service_ns = (0..ops).map(|_| u64::try_from(20_000 + random.below(3_000_000)).unwrap()).collect();
                all.push(Done { run, second, op, is_step, bytes: ops * size, service_ns, wait_ns: 700_000 });
            }
        }
    }
    all
}

fn histogram(times: &[u64]) -> Histogram {
    let mut all = Histogram::default();
    times.iter().for_each(|ns| all.record(*ns));
    all
}

/// End of a second of a run, after the recording's start; there is a second between the runs.
fn end_ns(run: usize, second: usize) -> i64 {
    i64::try_from(run * (SECONDS + 1) + second + 1).unwrap() * S
}

fn put<R: Row>(writer: &mut Writer, rows: &[R]) {
    writer.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
}

/// Writes the recording; without totals it is one that was cut short.
fn write(scratch: &Scratch, name: &str, load: &[Done], is_whole: bool) {
    let manifest = manifest();
    let began_ns = manifest.started_t_ns;
    let mut writer = Writer::create(&scratch.path(name), manifest).unwrap();
    for (run, (title, phase, ..)) in RUNS.iter().enumerate() {
        let run_index = i32::try_from(run).unwrap();
        let mark = |t_ns: i64, event: &str| Phase {
            t_ns: began_ns + t_ns,
            t_s: t_ns as f64 / 1e9,
            run: (*title).into(),
            run_index,
            phase: (*phase).into(),
            event: event.into(),
            ..Phase::default()
        };
        put(&mut writer, &[mark(end_ns(run, 0) - S, "start")]);
        for second in 0..SECONDS {
            let t_ns = end_ns(run, second);
            let of = |is_step: bool| {
                load.iter().filter(move |done| (done.run, done.second, done.is_step) == (run, second, is_step))
            };
            let op = |done: &Done| OpInterval {
                t_ns: began_ns + t_ns,
                t_s: t_ns as f64 / 1e9,
                interval_ns: S,
                run: (*title).into(),
                run_index,
                phase: (*phase).into(),
                workload: "fwd1".into(),
                target: "fsd1".into(),
                op: done.op.into(),
                arrivals: Some(done.ops()),
                ops: done.ops(),
                bytes: done.bytes,
                errors: Some(0),
                response: histogram(&done.times()),
                service: histogram(&done.service_ns),
                in_flight_mean: Some(0.5),
                backlog: Some(0),
                ..OpInterval::default()
            };
            let step = |done: &Done| StepInterval {
                t_ns: began_ns + t_ns,
                t_s: t_ns as f64 / 1e9,
                interval_ns: S,
                run: (*title).into(),
                run_index,
                phase: (*phase).into(),
                workload: "fwd1".into(),
                target: "fsd1".into(),
                op: done.op.into(),
                ops: done.ops(),
                bytes: done.bytes,
                errors: 0,
                service: histogram(&done.service_ns),
            };
            put(&mut writer, &of(false).map(op).collect::<Vec<_>>());
            put(&mut writer, &of(true).filter(|done| done.ops() > 0).map(step).collect::<Vec<_>>());
            writer.commit().unwrap();
        }
        if is_whole {
            totals(&mut writer, load, (run, began_ns));
            put(&mut writer, &[mark(end_ns(run, SECONDS - 1), "end")]);
        }
        writer.commit().unwrap();
    }
    if is_whole {
        writer.seal_past().unwrap();
    }
}

/// All of one kind in a run.
fn all_of<'a>(load: &'a [Done], run: usize, op: &'a str, is_step: bool) -> impl Iterator<Item = &'a Done> {
    load.iter().filter(move |done| (done.run, done.op, done.is_step) == (run, op, is_step))
}

fn totals(writer: &mut Writer, load: &[Done], (run, began_ns): (usize, i64)) {
    let (title, phase, asked, steps) = RUNS[run];
    let (run_index, t_ns) = (i32::try_from(run).unwrap(), end_ns(run, SECONDS - 1));
    let start_t_ns = began_ns + end_ns(run, 0) - S;
    let sums = |op: &str, is_step| {
        let times: Vec<u64> = all_of(load, run, op, is_step).flat_map(Done::times).collect();
        let service: Vec<u64> = all_of(load, run, op, is_step).flat_map(|done| done.service_ns.clone()).collect();
        let bytes = all_of(load, run, op, is_step).map(|done| done.bytes).sum::<i64>();
        (i64::try_from(times.len()).unwrap(), bytes, histogram(&times), histogram(&service))
    };
    let step = |op: &&str| {
        let (ops, bytes, _, service) = sums(op, true);
        StepTotal {
            t_ns: began_ns + t_ns,
            t_s: t_ns as f64 / 1e9,
            start_t_ns,
            run: title.into(),
            run_index,
            phase: phase.into(),
            workload: "fwd1".into(),
            target: "fsd1".into(),
            op: (*op).into(),
            ops,
            bytes,
            errors: 0,
            service,
        }
    };
    let total = |op: &&str| {
        let (ops, bytes, response, service) = sums(op, false);
        RunTotal {
            t_ns: began_ns + t_ns,
            t_s: t_ns as f64 / 1e9,
            start_t_ns,
            run: title.into(),
            run_index,
            phase: phase.into(),
            workload: "fwd1".into(),
            target: "fsd1".into(),
            op: (*op).into(),
            arrivals: Some(ops),
            ops,
            bytes,
            errors: Some(0),
            response,
            service,
            short: Some(0),
            ..RunTotal::default()
        }
    };
    put(writer, &steps.iter().map(step).collect::<Vec<_>>());
    put(writer, &asked.iter().map(total).collect::<Vec<_>>());
}

/// What stands in a line of the flatfile about these.
fn figures(of: &[&Done], seconds: f64, title: &str) -> BTreeMap<String, f64> {
    let sum = |keep: &dyn Fn(&Done) -> bool| {
        let kept: Vec<&&Done> = of.iter().filter(|done| keep(done)).collect();
        let times: Vec<f64> = kept.iter().flat_map(|done| done.times()).map(|ns| ns as f64 / 1e6).collect();
        let mean = if times.is_empty() { 0.0 } else { times.iter().sum::<f64>() / times.len() as f64 };
        (times.len() as f64, mean, kept.iter().map(|done| done.bytes).sum::<i64>() as f64)
    };
    let mut all = BTreeMap::new();
    for kind in KINDS {
        let (ops, mean, _) = sum(&|done| done.op == kind.to_lowercase());
        all.insert(format!("{kind}_rate"), ops / seconds);
        all.insert(format!("{kind}_resp"), mean);
    }
    // Of a format, writes are what was asked for.
    let (ops, mean, _) = sum(&|done| !done.is_step && (!title.starts_with("format") || done.op == "write"));
    let (reads, _, read) = sum(&|done| done.op == "read");
    let (writes, _, written) = sum(&|done| done.op == "write");
    let size = if reads + writes > 0.0 { ((read + written) / (reads + writes)).floor() } else { 0.0 };
    let mib = 1_048_576.0 * seconds;
    let others = [
        ("rate", ops / seconds),
        ("resp", mean),
        ("MB_read", read / mib),
        ("MB_write", written / mib),
        ("MB/sec", (read + written) / mib),
        ("Xfersize", size),
    ];
    all.extend(others.map(|(name, value)| (name.to_string(), value)));
    all
}

/// Lines of a page about a run, split into words.
fn lines_of<'a>(text: &'a str, run: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().filter(|line| !line.starts_with('*') && !line.contains('<'));
    lines.map(|line| line.split_whitespace().collect::<Vec<&str>>()).filter(|words| words.contains(&run)).collect()
}

fn assert_flatfile(folder: &std::path::Path, load: &[Done]) {
    let text = std::fs::read_to_string(folder.join("flatfile.html")).unwrap();
    let titles = lines_of(&text, "timestamp").remove(0);
    assert_eq!(titles[..6], ["tod", "timestamp", "Run", "Interval", "reqrate", "rate"], "{text}");
    assert_eq!(titles[6..8], ["resp", "MB/sec"], "{text}");
    assert_eq!(titles[titles.len() - 7..titles.len() - 5], ["compratio", "dedupratio"], "{text}");
    for (run, (title, ..)) in RUNS.iter().enumerate() {
        let lines = lines_of(&text, title);
        assert_eq!(lines.len(), SECONDS + 1, "{text}");
        for (at, line) in lines.iter().enumerate() {
            assert_eq!(line.len(), titles.len(), "{line:?}");
            let is_of = |done: &&Done| done.run == run && (at == SECONDS || done.second == at);
            let of: Vec<&Done> = load.iter().filter(is_of).collect();
            let seconds = if at == SECONDS { SECONDS as f64 } else { 1.0 };
            for (column, expected) in figures(&of, seconds, title) {
                let shown = line[titles.iter().position(|one| *one == column).unwrap()];
                let number: f64 = shown.parse().unwrap_or_else(|_| panic!("{column}: {shown}"));
                let half = if shown.contains('.') { 0.000_051 } else { 0.500_001 };
                assert!((number - expected).abs() <= half, "{title} {at} {column}: {shown}, not {expected}");
            }
        }
    }
}

/// The summary's lines have the columns of its heading, each under its name.
fn assert_summary(folder: &std::path::Path, load: &[Done]) {
    let text = std::fs::read_to_string(folder.join("summary.html")).unwrap();
    let names = text.lines().position(|line| line.contains(".ReqstdOps...")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[names].contains("...mkdir....") && lines[names].contains("..getattr..."), "{text}");
    assert!(!lines[names].contains("setattr") && !lines[names].contains("move"), "{text}");
    let (heading, first) = (lines[names + 1], lines[names + 2]);
    assert_eq!((lines[names].len(), heading.len()), (first.len(), first.len()), "{text}");
    let of: Vec<&Done> = load.iter().filter(|done| (done.run, done.second) == (0, 0)).collect();
    let expected = figures(&of, 1.0, RUNS[0].0);
    let words: Vec<f64> = first.split_whitespace().skip(2).map(|word| word.parse().unwrap()).collect();
    for (at, column) in [(0, "rate"), (1, "resp"), (7, "Write_rate"), (13, "Mkdir_rate"), (14, "Mkdir_resp")] {
        assert!((words[at] - expected[column]).abs() <= 0.051, "{column}: {first}");
    }
    assert!(text.contains("Starting RD=format_for_rd1<"), "{text}");
    assert!(text.contains("Starting RD=rd1; fwdrate=max. For loops: None"), "{text}");
}

/// The model of a report's page.
fn model(scratch: &Scratch, name: &str) -> Value {
    scratch.iodyno(&["report", name, "-o", "run.html", "--force"]).run().unwrap().expect_code(0);
    let page = std::fs::read_to_string(scratch.path("run.html")).unwrap();
    let model = page.split_once(r#"<script type="application/json" id="model">"#).unwrap().1;
    serde_json::from_str(model.split_once("</script>").unwrap().0).unwrap()
}

/// The report's table of operations: what was asked for, their sum, then the steps.
fn assert_report(scratch: &Scratch, name: &str, load: &[Done]) {
    let model = model(scratch, name);
    for (run, (title, ..)) in RUNS.iter().enumerate() {
        let shown = model["runs"].as_array().unwrap().iter().find(|one| one["title"] == *title).unwrap();
        let view = |id: &str| shown["views"].as_array().unwrap().iter().find(|view| view["id"] == id).unwrap();
        let columns = view("run.operations")["body"]["columns"].as_array().unwrap();
        let column = |name: &str, group: &str| {
            let is_it = |one: &&Value| one["name"] == name && one["group"].as_str().unwrap_or("") == group;
            &columns.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {columns:?}"))["cells"]["of"]
        };
        let names: Vec<&str> =
            column("operation", "").as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let (asked, steps) = names.split_at(names.iter().position(|name| *name == "all").unwrap() + 1);
        let (ops, service) = (numbers(column("operations", "")), numbers(column("mean", "service time")));
        // Text beside steps, which have none.
        let shares: Vec<bool> = match column("share", "").as_array() {
            Some(cells) => cells.iter().map(|cell| cell.as_str().unwrap().ends_with('%')).collect(),
            None => numbers(column("share", "")).iter().map(Option::is_some).collect(),
        };
        let done = |is_step| load.iter().filter(move |done| done.run == run && done.is_step == is_step);
        assert_eq!(ops[asked.len() - 1], Some(done(false).map(Done::ops).sum::<i64>() as f64), "{names:?}");
        for (at, shown) in asked[..asked.len() - 1].iter().chain(steps).enumerate() {
            let is_step = shown.starts_with("step: ");
            let at = at + usize::from(is_step);
            let op = shown.trim_start_matches("step: ");
            let of: Vec<&Done> = done(is_step).filter(|done| done.op == op).collect();
            let times: Vec<u64> = of.iter().flat_map(|done| done.service_ns.clone()).collect();
            assert_eq!(ops[at], Some(times.len() as f64), "{title} {shown}");
            let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
            assert!((service[at].unwrap() - mean).abs() < 1e-3, "{title} {shown}: {:?}, not {mean}", service[at]);
            assert_eq!(shares[at], !is_step, "{title} {shown}");
        }
        assert_eq!(asked.len() - 1, RUNS[run].2.len(), "{names:?}");
        assert_eq!(steps.len(), RUNS[run].3.len(), "{names:?}");
        let lines = view("run.iops")["body"]["lines"].as_array().unwrap();
        let drawn: Vec<&str> = lines.iter().map(|line| line["name"].as_str().unwrap()).collect();
        assert!(RUNS[run].2.iter().all(|op| drawn.contains(op)) && !drawn.contains(&"open"), "{drawn:?}");
        let styles: std::collections::BTreeSet<String> = lines.iter().map(|line| line["style"].to_string()).collect();
        assert_eq!(styles.len(), lines.len(), "each line has its own colour: {lines:?}");
        // Of many kinds the three that did most are named.
        let words = shown["sentence"].as_str().unwrap().to_lowercase();
        let words = words.split(" operations on").next().unwrap();
        let named = words.split([' ', ',']).filter(|word| RUNS[run].2.contains(word)).count();
        assert_eq!(named, RUNS[run].2.len().min(3), "{words}");
        assert_eq!(words.ends_with("other"), RUNS[run].2.len() > 3, "{words}");
    }
}

fn assert_objectives(scratch: &Scratch, name: &str) {
    for (limit, verdict) in [("1h", "met"), ("1ns", "missed")] {
        let condition = format!("response_ns_max{{op=create, target=fsd1}} > {limit}");
        let out = scratch.iodyno(&["check", name, "--fail-if", &condition, "--json"]).run().unwrap();
        let rows = out.ndjson();
        let row = rows.iter().find(|row| row["run"] == "rd1").unwrap_or_else(|| panic!("{}", out.stdout));
        assert_eq!(row["verdict"], verdict, "{row}");
    }
    let out = scratch.iodyno(&["check", name, "--fail-if", "response_ns_max{op=creat} > 1s"]).run().unwrap();
    assert!(out.stderr.contains("there is no operation `creat`") && out.stderr.contains("create"), "{}", out.stderr);
}

#[test]
fn operations_and_steps_of_trees_are_the_same_in_every_face() {
    let scratch = Scratch::new();
    for seed in [1, 2, 3] {
        let load = load(seed);
        let (whole, cut) = (format!("whole{seed}"), format!("cut{seed}"));
        write(&scratch, &whole, &load, true);
        write(&scratch, &cut, &load, false);
        for name in [&whole, &cut] {
            let folder = format!("{name}-flat");
            scratch.iodyno(&["export", name, "--flatfile", "-o", &folder]).run().unwrap().expect_code(0);
            assert_flatfile(&scratch.path(&folder), &load);
            assert_summary(&scratch.path(&folder), &load);
            assert_report(&scratch, name, &load);
        }
        assert_objectives(&scratch, &whole);
        let steps: i64 = scratch.table(&whole, "step_total").iter().map(|row| row["ops"].as_i64().unwrap()).sum();
        let each: i64 = scratch.table(&whole, "step_interval").iter().map(|row| row["ops"].as_i64().unwrap()).sum();
        let expected: i64 = load.iter().filter(|done| done.is_step).map(Done::ops).sum();
        assert_eq!((steps, each), (expected, expected));
    }
}
