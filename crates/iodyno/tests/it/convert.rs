//! Vdbench's files out of a run, and other tools' results into a recording.

use crate::support::{Scratch, sum};
use serde_json::Value;
use testkit::TestCommand;

/// How people read a flatfile: skip comments, take the line that begins with `tod` for names, split at blanks.
const PARSER: &str = r"
import json, sys
rows, names = [], None
for line in open(sys.argv[1]):
    words = line.split()
    if not words or words[0][0] in '*<': continue
    if words[0] == 'tod': names = words; continue
    assert len(words) == len(names), line
    rows.append(dict(zip(names, words)))
print(json.dumps(rows))
";

fn near(found: f64, expect: f64, digits: f64, what: &str) {
    assert!((found - expect).abs() <= digits, "{what}: {found}, not {expect}");
}

fn of(row: &Value, name: &str) -> f64 {
    row[name].as_str().unwrap().parse().unwrap_or_else(|_| panic!("{name} in {row}"))
}

#[test]
fn a_flatfile_says_what_the_recording_says_and_comes_back() {
    go_there_and_back(false);
}

#[test]
#[ignore = "times: make exam"]
fn what_comes_back_of_a_flatfile_is_what_was_run() {
    testkit::while_cpus_are_ours(|| go_there_and_back(true));
}

#[test]
fn a_sweep_comes_back_of_a_flatfile_with_its_loop_values() {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=4m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1,forxfersize=(4k,8k),forthreads=(2)\n",
        scratch.path("data").display()
    );
    scratch.run("out", &text, &["--flatfile", "--no-report"]).expect_code(0);
    let name = scratch.path("out/flatfile.html");
    scratch.iodyno(&["import", name.to_str().unwrap(), "-o", "back"]).run().unwrap().expect_code(0);
    let details = |recording: &str| -> Vec<String> {
        let rows = scratch.table(recording, "phase").into_iter();
        let starts = rows.filter(|row| row["event"] == "start" && row["phase"] == "measure" && row["run"] == "rd1");
        starts.map(|row| row["detail"].as_str().unwrap().to_string()).collect()
    };
    let original = details("out");
    assert_eq!(original.iter().collect::<std::collections::BTreeSet<_>>().len(), 2, "{original:?}");
    assert_eq!(details("back"), original);
}

#[test]
fn averages_are_over_all_intervals_also_over_those_in_which_nothing_arrived() {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=4m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=4.3,warmup=1,elapsed=2\n",
        scratch.path("data").display()
    );
    let file = scratch.write("job.vdb", &text);
    let run = ["run", file.to_str().unwrap(), "-o", "out", "--flatfile", "--no-report", "-i", "100ms"];
    let output = scratch.iodyno(&run).run().unwrap().expect_code(0);
    // Every interval has rows of the engine's workers; which phase it is of is known from where the phases begin and end.
    let phases = scratch.table("out", "phase");
    let moments = |event: &str| -> Vec<i64> {
        let is_it = |row: &&Value| row["run"] == "rd1" && row["phase"] == "measure" && row["event"] == event;
        phases.iter().filter(is_it).map(|row| row["t_ns"].as_i64().unwrap()).collect()
    };
    let spans: Vec<(i64, i64)> = moments("start").into_iter().zip(moments("end")).collect();
    let engine = scratch.table("out", "engine_interval");
    let lengths: std::collections::BTreeMap<i64, i64> = engine
        .iter()
        .filter(|row| row["run"] == "rd1")
        .map(|row| (row["t_ns"].as_i64().unwrap(), row["interval_ns"].as_i64().unwrap()))
        .filter(|(t_ns, _)| spans.iter().any(|(from, to)| from < t_ns && t_ns <= to))
        .collect();
    let seconds = lengths.values().sum::<i64>() as f64 / 1e9;
    let is_measured = |row: &Value| row["phase"] == "measure" && row["run"] == "rd1";
    let totals = scratch.table("out", "run_total");
    let rate = sum(&totals, "ops", is_measured) as f64 / seconds;

    let last = output.stdout.lines().rfind(|line| line.trim_start().starts_with("average")).expect("averages");
    let words: Vec<&str> = last.split_whitespace().collect();
    near(words[2].parse().unwrap(), rate, 0.051, last);
    near(words[1].parse().unwrap(), sum(&totals, "arrivals", is_measured) as f64 / seconds, 0.051, last);

    let flat = scratch.path("out/flatfile.html");
    let parsed = TestCommand::new("python3").args(["-c", PARSER, flat.to_str().unwrap()]).run().unwrap().expect_code(0);
    let rows: Vec<Value> = serde_json::from_str(&parsed.stdout).unwrap();
    let (averages, lines): (Vec<&Value>, Vec<&Value>) = rows
        .iter()
        .filter(|row| row["Run"] == "rd1")
        .partition(|row| row["Interval"].as_str().unwrap().starts_with("avg_"));
    let numbers: Vec<f64> = lines.iter().map(|line| of(line, "Interval")).collect();
    assert_eq!(numbers, (1..=lines.len()).map(|number| number as f64).collect::<Vec<f64>>());
    let [average] = averages[..] else { panic!("{averages:?}") };
    near(of(average, "rate"), rate, 1e-4, "rate");
    near(of(average, "MB/sec"), rate * 4096.0 / 1_048_576.0, 1e-4, "MB/sec");
    // The warm-up's lines come before, and are no part of it.
    let name = average["Interval"].as_str().unwrap();
    let (first, last) = name.trim_start_matches("avg_").split_once('-').unwrap();
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    assert!(first > 1 && last == lines.len(), "{name} of {}", lines.len());
    assert!(lines.len() >= lengths.len() + first - 1, "{name}: {} lines, {} measured", lines.len(), lengths.len());
    let summary = std::fs::read_to_string(scratch.path("out/summary.html")).unwrap();
    let of_average = |line: &&str| line.split_whitespace().any(|word| word == name);
    let line = summary.lines().find(of_average).unwrap_or_else(|| panic!("no {name} in {summary}"));
    assert!(line.contains(&format!("{rate:>11.2}")), "{line} does not say {rate}");
    assert!(summary.contains("Starting RD=rd1; I/O rate: 4; "), "a whole number, as there: {summary}");
}

/// A run, its flatfile, and the recording that is made of it. On a machine that is `quiet` an interval has one second, and totals come back.
fn go_there_and_back(quiet: bool) {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=16m,threads=4\nwd=wd1,sd=sd1,xfersize=4k,rdpct=70\nrd=rd1,wd=wd1,iorate=500,elapsed=3,interval=1,warmup=1\n",
        scratch.path("data").display()
    );
    scratch.run("out", &text, &["--flatfile", "--no-report"]).expect_code(0);
    let again = scratch.iodyno(&["export", "out", "--flatfile", "-o", "again"]).run().unwrap().expect_code(0);
    assert_eq!(again.stdout.lines().count(), 5);
    for name in ["flatfile", "totals", "summary", "histogram", "status"] {
        let file = |folder: &str| std::fs::read_to_string(scratch.path(&format!("{folder}/{name}.html"))).unwrap();
        assert_eq!(file("out"), file("again"), "{name}: one code path");
    }
    let flat = scratch.path("out/flatfile.html");
    let parsed = TestCommand::new("python3").args(["-c", PARSER, flat.to_str().unwrap()]).run().unwrap().expect_code(0);
    let rows: Vec<Value> = serde_json::from_str(&parsed.stdout).unwrap();
    let totals = scratch.table("out", "run_total");
    let average = rows.iter().find(|row| row["Run"] == "rd1" && row["Interval"] == "avg_2-4").expect("an average");
    let is_measured = |row: &Value| row["phase"] == "measure";
    let intervals = scratch.table("out", "op_interval");
    let mut lengths: Vec<(i64, i64)> = intervals
        .iter()
        .filter(|row| is_measured(row))
        .map(|row| (row["t_ns"].as_i64().unwrap(), row["interval_ns"].as_i64().unwrap()))
        .collect();
    lengths.dedup();
    let seconds = lengths.iter().map(|length| length.1).sum::<i64>() as f64 / 1e9;
    let ops = sum(&totals, "ops", is_measured) as f64;
    near(of(average, "rate"), ops / seconds, 1e-4, "rate");
    near(of(average, "MB/sec"), ops * 4096.0 / seconds / 1_048_576.0, 1e-4, "MB/sec");
    let reads = sum(&totals, "ops", |row| is_measured(row) && row["op"] == "read") as f64;
    near(of(average, "read%"), 100.0 * reads / ops, 1e-4, "read%");
    for (op, column) in [("read", "read_resp"), ("write", "write_resp")] {
        // What was due in the measured phase counts, also what came back just after it.
        let counts = |row: &&Value| matches!(row["phase"].as_str(), Some("measure" | "drain")) && row["op"] == op;
        let (ops, ns) = totals.iter().filter(counts).fold((0.0, 0.0), |(ops, ns), row| {
            let count = row["ops"].as_f64().unwrap();
            (ops + count, ns + count * row["response_ns_mean"].as_f64().unwrap())
        });
        near(of(average, column), ns / ops / 1e6, 1e-4, column);
    }
    for (column, asked) in
        [("reqrate", 500.0), ("xfersize", 4096.0), ("threads", 4.0), ("rdpct", 70.0), ("seekpct", 100.0)]
    {
        near(of(average, column), asked, 0.0, column);
    }
    assert!(rows.iter().any(|row| row["Run"] == "SD_format"), "the new file was filled");
    let summary = std::fs::read_to_string(scratch.path("out/summary.html")).unwrap();
    assert!(summary.ends_with("Vdbench execution completed successfully\n"), "{summary}");

    // And back, from the copy, where nothing but Vdbench's files is.
    scratch.iodyno(&["import", "again", "-o", "back"]).run().unwrap().expect_code(0);
    let back = scratch.table("back", "run_total");
    for op in ["read", "write"] {
        let is_it = |row: &&Value| is_measured(row) && row["op"] == op && row["run"] == "rd1";
        let (old, new) = (totals.iter().find(is_it).unwrap(), back.iter().find(is_it).unwrap());
        let (new_ops, new_mean) = (new["ops"].as_f64().unwrap(), new["service_ns_mean"].as_f64().unwrap());
        // The flatfile has rates over measured lengths, Vdbench's readers take whole seconds.
        let of_op = intervals.iter().filter(|row| is_measured(row) && row["op"] == op);
        let (old_ops, old_ns) = of_op.fold((0.0, 0.0), |(ops, ns), row| {
            let per_second = row["ops"].as_f64().unwrap() * 1e9 / row["interval_ns"].as_f64().unwrap();
            (ops + per_second, ns + per_second * row["response_ns_mean"].as_f64().unwrap())
        });
        near(new_ops, old_ops, old_ops * 0.02 + 2.0, op);
        near(new_mean, old_ns / old_ops, old_ns / old_ops * 0.02 + 200.0, op);
        if quiet {
            let (ops, mean) = (old["ops"].as_f64().unwrap(), old["response_ns_mean"].as_f64().unwrap());
            near(new_ops, ops, ops * 0.02 + 2.0, op);
            near(new_mean, mean, mean * 0.02 + 200.0, op);
        }
        assert!(new["response_ns_p99"].is_null(), "response times were never measured by Vdbench: {new}");
        // A histogram that has not as many as the rates of intervals that were not one second is of no use.
        let (p99, p50) = (&new["service_ns_p99"], old["response_ns_p50"].as_i64());
        assert!((!quiet && p99.is_null()) || p99.as_i64() >= p50, "upper ends of buckets: {new}");
    }
    scratch.iodyno(&["report", "back"]).run().unwrap().expect_code(0);
}

#[test]
fn fio_itself_and_the_import_of_its_json_agree() {
    let scratch = Scratch::new();
    let fio = |format: &str, output: &str| {
        TestCommand::new("fio")
            .args(["--name=mix", "--filename=data", "--size=8m", "--rw=randrw", "--rwmixread=70", "--bs=4k"])
            .args([format!("--output-format={format}").as_str(), format!("--output={output}").as_str()])
            .dir(scratch.path(""))
            .run()
    };
    if let Err(error) = fio("json+", "plus.json") {
        testkit::lacks(&format!("fio ({error})"));
        return;
    }
    scratch.iodyno(&["import", "plus.json", "-o", "plus"]).run().unwrap().expect_code(0);
    let json: Value = serde_json::from_str(&std::fs::read_to_string(scratch.path("plus.json")).unwrap()).unwrap();
    let rows = scratch.table("plus", "run_total");
    for op in ["read", "write"] {
        let theirs = &json["jobs"][0][op];
        let ours = rows.iter().find(|row| row["op"] == op).unwrap();
        assert_eq!((&ours["ops"], &ours["bytes"]), (&theirs["total_ios"], &theirs["io_bytes"]));
        assert_eq!(ours["service_ns_max"], theirs["clat_ns"]["max"]);
        near(ours["service_ns_mean"].as_f64().unwrap(), theirs["clat_ns"]["mean"].as_f64().unwrap(), 1.0, "mean");
        for (column, percentile) in
            [("p50", "50.000000"), ("p90", "90.000000"), ("p99", "99.000000"), ("p999", "99.900000")]
        {
            let expect = theirs["clat_ns"]["percentile"][percentile].as_f64().unwrap();
            near(ours[format!("service_ns_{column}")].as_f64().unwrap(), expect, expect * 0.016 + 1.0, column);
        }
    }
    fio("json", "plain.json").unwrap();
    let output = scratch.iodyno(&["import", "plain.json", "-o", "plain"]).run().unwrap().expect_code(0);
    assert!(output.stderr.contains("percentiles are not recorded"), "{}", output.stderr);
    assert!(scratch.table("plain", "run_total").iter().all(|row| row["service_ns_p99"].is_null()));
    scratch.iodyno(&["report", "plain"]).run().unwrap().expect_code(0);
}

#[test]
fn what_is_no_result_is_refused_and_nothing_is_made() {
    let scratch = Scratch::new();
    scratch.write("x.txt", "hello\n");
    let output = scratch.iodyno(&["import", "x.txt", "-o", "rec"]).run().unwrap().expect_code(2);
    assert!(output.stderr.contains("none of the formats"), "{}", output.stderr);
    let output = scratch.iodyno(&["import", "x.txt", "-o", "rec", "--format", "vdbench"]).run().unwrap().expect_code(2);
    assert!(output.stderr.contains("x.txt:1:"), "{}", output.stderr);
    assert!(!scratch.path("rec").exists());
}
