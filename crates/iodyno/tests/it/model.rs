//! `iodyno model`: three loads against the distances that docs/model.md permits, on the half that the model has not seen.
#![allow(
    clippy::unwrap_used,
    clippy::allow_attributes,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "helpers of tests"
)]

use crate::support::Scratch;
use proptest::prelude::*;
use recording::rows::Io;
use recording::{Label, Manifest, RowBatch, Sink, Writer};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use testkit::LoopDevice;

fn record(directory: &Path, rows: &[Io]) {
    let mut writer = Writer::create(directory, Manifest::new(&[])).unwrap();
    for rows in rows.chunks(20_000) {
        writer.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    writer.seal().unwrap();
}

/// What docs/model.md permits, by figure.
fn permitted() -> Vec<(String, f64)> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let cells = rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<&str>>());
    let row = |cells: Vec<&str>| match cells[..] {
        [figure, _, number] => Some((figure.to_string(), number.parse().ok()?)),
        _ => None,
    };
    cells.filter_map(row).collect()
}

/// Makes a model of the rows; the report and the file's text.
fn model(scratch: &Scratch, name: &str, rows: &[Io], more: &[&str]) -> (Value, String) {
    record(&scratch.path(&format!("{name}.iodyno")), rows);
    let (input, output) = (format!("{name}.iodyno"), format!("{name}.vdb"));
    let mut arguments = vec!["model", &input, "-o", &output, "--json"];
    arguments.extend_from_slice(more);
    let out = scratch.iodyno(&arguments).run().unwrap().expect_code(0);
    let text = std::fs::read_to_string(scratch.path(&output)).unwrap();
    (out.ndjson().remove(0), text)
}

/// Every figure within what is permitted: on what was seen, and on what was not.
fn check(name: &str, rows: &[Io]) -> (Value, String) {
    let scratch = Scratch::new();
    let (report, text) = model(&scratch, name, rows, &[]);
    println!("{text}");
    assert!(text.lines().count() <= 60, "{} lines", text.lines().count());
    for secret in ["secret", "payroll", "tenant", "4711", "nvme", "sda", "md0"] {
        assert!(!text.contains(secret), "`{secret}` is in the model of {name}");
    }
    let permitted = permitted();
    let figures = report["figures"].as_array().unwrap();
    assert_eq!(figures.len(), permitted.len(), "docs/model.md and the report have the same figures");
    let mut far = Vec::new();
    for (figure, (known, most)) in figures.iter().zip(&permitted) {
        assert_eq!(figure["figure"], known.as_str());
        assert_eq!(figure["permitted"], *most, "{known}");
        for (part, one) in [("seen", figure), ("unseen", &figure["unseen"])] {
            let distance = one["distance"].as_f64().unwrap_or(f64::INFINITY);
            println!("{name} {known} {part}: {} {} distance {distance:.4} of {most}", one["trace"], one["model"]);
            if distance > *most {
                far.push(format!("{known} ({part}): {distance}"));
            }
        }
    }
    println!("{name} correlation {}", report["iops_correlation"]);
    assert!(far.is_empty(), "{name} is farther than docs/model.md permits: {}", far.join(", "));
    // What was made is a parameter file for the command that runs it.
    let variables = text.matches("lun=$").count();
    let given: Vec<String> = match variables {
        1 => vec![format!("lun={}", scratch.path("target").display())],
        more => (1..=more).map(|n| format!("lun{n}={}", scratch.path(&format!("target{n}")).display())).collect(),
    };
    let file = format!("{name}.vdb");
    let mut arguments = vec!["run", &file, "--dry-run"];
    arguments.extend(given.iter().map(String::as_str));
    let shown = scratch.iodyno(&arguments).run().unwrap().expect_code(0);
    assert!(shown.stderr.is_empty(), "{}", shown.stderr);
    (report, text)
}

#[test]
fn an_oltp_load_has_a_model() {
    let (report, text) = check("oltp", &crate::support::loads::oltp(40));
    assert!(report["iops_correlation"].as_f64().unwrap() > 0.5, "the rate swings as the trace's does");
    assert!(text.contains("sd=sd2,"), "the log has a target of its own");
}

#[test]
fn a_scan_with_bursts_has_a_model() {
    let (report, text) = check("scan", &crate::support::loads::scan(60));
    assert!(report["iops_correlation"].as_f64().unwrap() > 0.9, "bursts come when the trace's do");
    assert!(text.contains("streams=2"), "two scans go on at the same time: {text}");
}

#[test]
fn a_mail_server_has_a_model() {
    let (_, text) = check("mail", &crate::support::loads::mail(120));
    assert!(text.contains("flushpct=100") && text.contains("trimpct=100"));
}

/// What a process does.
#[derive(Clone, Copy, Debug, Default)]
struct Doing {
    ios: f64,
    reads: f64,
    bytes: f64,
}

impl Doing {
    fn add(&mut self, ios: f64, is_read: bool, bytes: f64) {
        self.ios += ios;
        self.reads += if is_read { ios } else { 0.0 };
        self.bytes += ios * bytes;
    }
}

/// What the workloads whose names begin so do, as the parameter file says.
fn asked(text: &str, prefix: &str) -> Doing {
    let mut doing = Doing::default();
    let whole = text.replace(",\n  ", ",");
    for line in whole.lines().filter_map(|line| line.strip_prefix("wd=")).filter(|line| line.starts_with(prefix)) {
        let value = |key: &str| Some(line.split_once(&format!(",{key}="))?.1);
        let number = |text: &str| text.split(',').next().unwrap().parse::<f64>().unwrap();
        let size = |text: &str| match text.strip_suffix('k') {
            Some(count) => count.parse::<f64>().unwrap() * 1024.0,
            None => text.parse::<f64>().unwrap(),
        };
        let sizes = value("xfersize").unwrap();
        let bytes = match sizes.strip_prefix('(') {
            None => size(sizes.split(',').next().unwrap()),
            Some(mix) => {
                let words: Vec<&str> = mix.split(')').next().unwrap().split(',').collect();
                words.chunks(2).map(|pair| size(pair[0]) * number(pair[1]) / 100.0).sum()
            }
        };
        assert!(value("rdpct").is_none_or(|percent| number(percent) == 0.0), "{line}");
        doing.add(value("skew").map_or(100.0, number), value("rdpct").is_none(), bytes);
    }
    doing
}

/// What is done as the trace says: of those I/Os that are chosen.
fn done(rows: &[Io], is_one: impl Fn(&Io) -> bool) -> Doing {
    let mut doing = Doing::default();
    rows.iter().filter(|io| is_one(io)).for_each(|io| doing.add(1.0, &*io.op == "read", io.bytes as f64));
    doing
}

/// The file says of a process what the trace says of it: its share of all I/Os, of reads, and its sizes.
fn alike(text: &str, prefix: &str, done: Doing, all: usize) {
    let asked = asked(text, prefix);
    println!("{prefix}: asked {asked:?}, done {done:?} of {all}");
    assert!((asked.ios / 100.0 - done.ios / all as f64).abs() < 0.005, "{prefix} has {} % of all I/Os", asked.ios);
    assert!((asked.reads / asked.ios - done.reads / done.ios).abs() < 0.01, "{prefix}: reads");
    assert!((asked.bytes / asked.ios / (done.bytes / done.ios) - 1.0).abs() < 0.03, "{prefix}: bytes");
}

/// A database that reads and writes pages, hot and cold, with a log by a process of the same name; a backup that reads
/// on and on; mails, which a worker of the kernel writes back for their owner; some that do next to nothing.
fn processes(seconds: u32) -> Vec<Io> {
    let mut chance = crate::support::loads::Chance::new(15);
    let sample = crate::support::loads::mail(1).remove(0);
    let mut rows = Vec::new();
    let (mut t_s, mut log, mut backup) = (0.0, 0_i64, 0_i64);
    while t_s < f64::from(seconds) {
        let rate = if t_s.rem_euclid(8.0) < 3.0 { 3000.0 } else { 1500.0 };
        t_s += chance.gap(rate);
        let mut io = sample.clone();
        io.queue_ns = (t_s * 1e9) as i64;
        io.complete_ns = Some(io.queue_ns + 300_000);
        let (draw, page) = (chance.unit(), (chance.unit().powi(3) * 131_072.0) as i64);
        let mut by = |pid: i32, comm: &str, op: &str, sector: i64, bytes: i64| {
            (io.pid, io.comm) = (Some(pid), Some(Label::from(comm)));
            (io.op, io.sector, io.bytes) = (Label::from(op), sector, bytes);
        };
        match draw {
            _ if draw < 0.5 => by(100, "secretdb", if draw < 0.4 { "read" } else { "write" }, page * 16, 8192),
            _ if draw < 0.7 => {
                log = (log + 32) % (64 * 2048);
                by(101, "secretdb", "write", (4 << 21) + log, 16384);
            }
            _ if draw < 0.85 => {
                backup += 512;
                by(300, "payroll-backup", "read", (8 << 21) + backup, 256 << 10);
            }
            _ if draw < 0.95 => {
                let place = i64::try_from(chance.below(1 << 15)).unwrap();
                by(7, "kworker/u8:3", "write", (5 << 21) + place * 8, [4096, 8192][chance.below(2) as usize]);
                (io.owner_pid, io.owner_comm) = (Some(400), Some(Label::from("secretmaild")));
            }
            _ => {
                let number = i32::try_from(chance.below(40)).unwrap();
                let place = i64::try_from(chance.below(1 << 14)).unwrap();
                by(1000 + number, &format!("tenant-{number}"), "read", (7 << 21) + place * 8, 4096);
            }
        }
        rows.push(io);
    }
    rows.retain(|io| io.queue_ns < i64::from(seconds) * 1_000_000_000);
    rows
}

#[test]
fn processes_of_a_device_have_workloads_of_their_own() {
    let rows = processes(60);
    let (by_process, text) = check("processes", &rows);
    let by_pid = |pid: i32| done(&rows, |io| io.pid == Some(pid) && io.owner_pid.is_none());
    alike(&text, "p1_", by_pid(100), rows.len());
    alike(&text, "p2_", by_pid(101), rows.len());
    alike(&text, "p3_", by_pid(300), rows.len());
    // Those that are owed to a worker of the kernel, and all small ones, are one.
    alike(&text, "rest_", done(&rows, |io| io.pid.unwrap() > 400 || io.owner_pid.is_some()), rows.len());
    assert!(text.contains("* Process 1: ") && text.contains("* All other processes: "), "{text}");
    assert!(text.contains("wd=p2_scan_write,") && text.contains("wd=p3_scan_read"), "{text}");

    // The owner of write-back counts, not the worker.
    let mails = rows.iter().filter(|io| io.pid.unwrap() <= 400 && !matches!(io.pid, Some(101 | 300))).cloned();
    let mails: Vec<Io> = mails.collect();
    let scratch = Scratch::new();
    let (_, text) = model(&scratch, "mails", &mails, &[]);
    alike(&text, "p2_", done(&mails, |io| io.owner_pid == Some(400)), mails.len());

    // By device only, and where the trace has no processes, the model has none.
    let (by_device, text) = model(&scratch, "devices", &rows, &["--by", "device"]);
    assert!(!text.contains("p1_") && !text.contains("Process"), "{text}");
    // A model by process is not farther from the trace.
    for (one, other) in by_process["figures"].as_array().unwrap().iter().zip(by_device["figures"].as_array().unwrap()) {
        for (part, process, device) in [("seen", one, other), ("unseen", &one["unseen"], &other["unseen"])] {
            let (process, device) = (process["distance"].as_f64().unwrap(), device["distance"].as_f64().unwrap());
            println!("{} {part}: by process {process:.4}, by device {device:.4}", one["figure"]);
            assert!(process <= device + 0.1 * one["permitted"].as_f64().unwrap(), "{} {part}", one["figure"]);
        }
    }
    let without_process =
        |io: &Io| Io { pid: None, tid: None, comm: None, owner_pid: None, owner_comm: None, ..io.clone() };
    let unknown: Vec<Io> = rows.iter().map(without_process).collect();
    assert_eq!(model(&scratch, "unknown", &unknown, &[]).1, text);
    // One process is what it was.
    let one: Vec<Io> =
        unknown.into_iter().map(|io| Io { pid: Some(5), comm: Some(Label::from("one")), ..io }).collect();
    assert_eq!(model(&scratch, "one", &one, &[]).1, text);
}

#[test]
#[ignore = "times: make exam"]
fn two_real_processes_have_workloads_of_their_own() {
    testkit::while_cpus_are_ours(once_two_real_processes_have_workloads_of_their_own);
}

fn once_two_real_processes_have_workloads_of_their_own() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(256 << 20).unwrap();
    let path = device.path().to_str().unwrap();
    let scratch = Scratch::new();
    let arguments = ["trace", "-d", path, "-o", "two.iodyno", "--size", "4k-64k"];
    let mut tracing = scratch.iodyno(&arguments).spawn().unwrap();
    if !tracing.wait_for_stdout("tracing", Duration::from_secs(60)) {
        panic!("no trace: {:?}", tracing.wait());
    }
    // One reads by chance, the other writes on and on: two processes of one name.
    let disk = format!("sd=sd1,lun={path},openflags=o_direct,threads=4\n");
    scratch.write("read.vdb", &format!("{disk}wd=wd1,sd=sd1,xfersize=8k\nrd=rd1,wd=wd1,iorate=1500,elapsed=3\n"));
    let order = "wd=wd1,sd=sd1,xfersize=(16k,50,32k,50),rdpct=0,seekpct=0\nrd=rd1,wd=wd1,iorate=600,elapsed=3\n";
    scratch.write("write.vdb", &format!("{disk}{order}"));
    let writing =
        scratch.iodyno(&["run", "write.vdb", "-o", "write", "--no-report", "--json", "--destroy", path]).spawn();
    let reading = scratch.iodyno(&["run", "read.vdb", "-o", "read", "--no-report", "--json"]).run();
    writing.unwrap().wait().unwrap().expect_code(0);
    reading.unwrap().expect_code(0);
    tracing.signal(rustix::process::Signal::INT);
    let traced = tracing.wait().unwrap();
    assert!(matches!(traced.code, Some(0 | 6)), "{traced:?}");
    let out = scratch.iodyno(&["model", "two.iodyno"]).run().unwrap().expect_code(0);
    println!("{}{}", out.stdout, out.stderr);
    let rows = scratch.table("two.iodyno", "io");
    let last =
        |op: &str| rows.iter().rfind(|row| row["op"] == op && row["comm"] != Value::Null).unwrap()["pid"].clone();
    for (prefix, op, least) in [("p1_", "read", 4000.0), ("p2_", "write", 1500.0)] {
        let (pid, mut doing) = (last(op), Doing::default());
        for row in rows.iter().filter(|row| row["pid"] == pid) {
            doing.add(1.0, row["op"] == "read", row["bytes"].as_f64().unwrap());
        }
        assert!(doing.ios > least, "{pid} {doing:?}");
        alike(&out.stdout, prefix, doing, rows.len());
    }
    // In one zone or in several (`p2_scan_write1`, …): a writer that was held up skips places of its scan.
    assert!(out.stdout.contains("wd=p2_scan_write") && !out.stdout.contains("wd=p1_scan"), "{}", out.stdout);
}

/// Rows in which anything may happen.
fn anything(choices: &[(usize, i64, i64, i64)]) -> Vec<Io> {
    let mut rows = crate::support::loads::mail(2);
    rows.truncate(choices.len());
    let mut t_ns = 0;
    for (io, (kind, gap, place, bytes)) in rows.iter_mut().zip(choices) {
        t_ns += gap;
        let ops = ["read", "write", "discard", "flush", "zone_append", "write_zeroes"];
        io.op = Label::from(ops[kind % 6]);
        io.dev = Label::from(format!("disk{}", kind / 6).as_str());
        (io.queue_ns, io.issue_ns, io.complete_ns) = (t_ns, None, None);
        (io.sector, io.bytes) = (*place, if kind % 6 == 3 { 0 } else { *bytes });
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_trace_has_a_small_valid_model(
        choices in prop::collection::vec((0_usize..60, 0_i64..3_000_000_000, 0_i64..1 << 45, 0_i64..1 << 33), 1..400)
    ) {
        let scratch = Scratch::new();
        let rows = anything(&choices);
        record(&scratch.path("any.iodyno"), &rows);
        let out = scratch.iodyno(&["model", "any.iodyno", "-o", "any.vdb", "--json"]).run().unwrap();
        let can_be_driven = |io: &Io| &*io.op != "zone_append" && (&*io.op == "flush" || &*io.op == "write" || io.bytes > 0);
        if !rows.iter().any(can_be_driven) {
            prop_assert_eq!(out.code, Some(2), "{}", out.stderr);
            return Ok(());
        }
        let report = out.expect_code(0).ndjson().remove(0);
        let text = std::fs::read_to_string(scratch.path("any.vdb")).unwrap();
        prop_assert!(text.lines().count() <= 60, "{}", text);
        let driven = rows.iter().filter(|io| can_be_driven(io)).count();
        prop_assert_eq!(report["ios"].as_u64(), Some(driven as u64));
    }
}

/// A small load for a small device, 200 MiB of it.
fn small(seconds: u32) -> Vec<Io> {
    let mut chance = crate::support::loads::Chance::new(14);
    let mut rows = crate::support::loads::mail(1);
    let sample = rows.remove(0);
    rows.clear();
    let (mut t_s, mut log) = (0.0, 0_i64);
    while t_s < f64::from(seconds) {
        let rate = if t_s.rem_euclid(2.0) < 1.0 { 900.0 } else { 300.0 };
        t_s += chance.gap(rate);
        let mut io = sample.clone();
        io.queue_ns = (t_s * 1e9) as i64;
        io.complete_ns = Some(io.queue_ns + 200_000);
        let draw = chance.unit();
        let place = (chance.unit().powi(3) * 180.0) as i64 * 2048 + i64::try_from(chance.below(128)).unwrap() * 16;
        (io.op, io.sector, io.bytes) = match draw {
            _ if draw < 0.6 => (Label::from("read"), place, 8192),
            _ if draw < 0.8 => (Label::from("write"), place, 4096),
            _ => {
                log = (log + 32) % (16 * 2048);
                (Label::from("write"), 184 * 2048 + log, 16384)
            }
        };
        rows.push(io);
    }
    rows
}

#[test]
#[ignore = "times: make exam"]
fn trace_replay_and_a_run_of_the_model_are_alike_on_a_real_device() {
    testkit::while_cpus_are_ours(once_trace_replay_and_a_run_of_the_model_are_alike_on_a_real_device);
}

fn once_trace_replay_and_a_run_of_the_model_are_alike_on_a_real_device() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(256 << 20).unwrap();
    let path = device.path().to_str().unwrap();
    let scratch = Scratch::new();
    let (_, text) = model(&scratch, "small", &small(6), &["-t", path]);
    assert!(text.contains(&format!("lun={path}")), "{text}");
    // Only the workers: the main thread's reads see whose data is on the device.
    let arguments = ["trace", "-d", path, "-o", "run.iodyno", "--comm", "iodyno-0", "--comm", "iodyno-1"];
    let mut tracing = scratch.iodyno(&arguments).spawn().unwrap();
    if !tracing.wait_for_stdout("tracing", Duration::from_secs(60)) {
        panic!("no trace: {:?}", tracing.wait());
    }
    let run = ["run", "small.vdb", "-o", "run", "--no-report", "--json", "--destroy", path];
    scratch.iodyno(&run).run().unwrap().expect_code(0);
    tracing.signal(rustix::process::Signal::INT);
    // A lost event or two among thousands (exit code 6) changes no figure.
    let traced = tracing.wait().unwrap();
    assert!(matches!(traced.code, Some(0 | 6)), "{traced:?}");
    let map = format!("md0={path}");
    let replay = ["replay", "small.iodyno", "--map", &map, "-o", "replay.iodyno", "--no-report", "--destroy", path];
    let replayed = scratch.iodyno(&replay).run().unwrap();
    assert!(matches!(replayed.code, Some(0 | 6)), "{replayed:?}");
    let compare = ["--compare", "replay.iodyno", "--compare", "run.iodyno", "--json"];
    let arguments = [&["model", "small.iodyno", "-o", "again.vdb"], &compare[..]].concat();
    let report = scratch.iodyno(&arguments).run().unwrap().expect_code(0).ndjson().remove(0);
    let shown = scratch.iodyno(&[&["model", "small.iodyno"], &compare[..4]].concat()).run().unwrap().expect_code(0);
    println!("{}", shown.stderr);
    assert!(shown.stderr.lines().next().unwrap().ends_with("replay.iodyno    run.iodyno"), "{}", shown.stderr);
    for (other, name) in report["others"].as_array().unwrap().iter().zip(["replay.iodyno", "run.iodyno"]) {
        assert_eq!(other["name"], name);
        for figure in other["figures"].as_array().unwrap() {
            println!("{name} {figure}");
            // The machine may be busy, and a late I/O comes in another 100 ms; all else is the plan's.
            let what = figure["figure"].as_str().unwrap();
            let most = figure["permitted"].as_f64().unwrap();
            let distance = figure["distance"].as_f64().unwrap();
            assert!(distance <= most || what == "burstiness", "{name}, {what}: {distance}, permitted {most}");
        }
    }
}

#[test]
fn a_trace_of_another_tool_has_the_same_model_without_a_recording() {
    let scratch = Scratch::new();
    let (ours, _) = model(&scratch, "mail", &crate::support::loads::mail(20), &[]);
    let export = ["export", "mail.iodyno", "io", "--format", "fio-iolog", "-o", "mail.log"];
    scratch.iodyno(&export).run().unwrap().expect_code(0);
    let out = scratch.iodyno(&["model", "mail.log", "-o", "log.vdb", "--json"]).run().unwrap().expect_code(0);
    let theirs = out.ndjson().remove(0);
    assert_eq!(ours["ios"], theirs["ios"]);
    for (a, b) in ours["figures"].as_array().unwrap().iter().zip(theirs["figures"].as_array().unwrap()) {
        let (x, y) = (a["trace"].as_f64().unwrap(), b["trace"].as_f64().unwrap());
        // Times are whole µs there.
        assert!((x / y - 1.0).abs() < 0.01, "{}: {x} and {y}", a["figure"]);
    }

    // Parts, the standard output, and what is refused.
    let part = ["model", "mail.iodyno", "--from", "5s", "--for", "5s", "-d", "md0", "-t", "/data/img"];
    let shown = scratch.iodyno(&part).run().unwrap().expect_code(0);
    assert!(shown.stdout.contains("lun=/data/img,") && shown.stdout.contains(" on one device"), "{}", shown.stdout);
    assert!(shown.stderr.contains("unseen half"), "{}", shown.stderr);
    let ios: u64 = shown.stdout.split(' ').nth(6).unwrap().parse().unwrap();
    let all = ours["ios"].as_u64().unwrap();
    assert!((all / 6..all / 3).contains(&ios), "{ios} of {all} I/Os are in a quarter of the time");
    for (arguments, code, words) in [
        (vec!["model", "mail.iodyno", "-d", "md7"], 2, "mail.iodyno has no I/O"),
        (vec!["model", "mail.iodyno", "-o", "mail.vdb"], 2, "--force"),
        (vec!["model", "mail.vdb"], 2, "mail.vdb"),
    ] {
        let refused = scratch.iodyno(&arguments).run().unwrap();
        assert_eq!(refused.code, Some(code), "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
}

#[test]
fn an_impossible_time_is_refused_with_its_reason() {
    let scratch = Scratch::new();
    let good = crate::support::loads::oltp(2);
    for (number, strange_ns) in [i64::MIN, 1_000_000_000_000_000_000, i64::MAX].into_iter().enumerate() {
        for place in [0, good.len() / 2] {
            let mut rows = good.clone();
            rows[place].queue_ns = strange_ns;
            let name = format!("r{number}-{place}");
            record(&scratch.path(&name), &rows);
            let stderr = scratch.iodyno(&["model", &name, "-o", "m.vdb"]).run().unwrap().expect_code(6).stderr;
            assert!(stderr.contains("more than 10 years apart") && !stderr.contains("bug"), "{stderr}");
            assert!(!scratch.path("m.vdb").exists());
        }
    }
}
