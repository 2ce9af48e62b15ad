//! Questions to known recordings, through the program as users have it.

use crate::support::{Left, SECONDS, answer, exact, query, record, responses, results, write_open};
use datafusion::arrow::array::{AsArray as _, RecordBatch};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use quantity::histogram::Histogram;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

const ISSUE: &str =
    "select workload, sum(ops), percentile(response, 0.999) from op_interval where t_s between 60 and 120 group by 1";

/// The rows of an answer as JSON.
fn rows(directory: &Path, arguments: &[&str]) -> Vec<Value> {
    let text = answer(directory, &[arguments, &["--json"]].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_second_minute_by_workload_is_what_was_recorded() {
    let (_keep, at) = results();
    for (recording, place) in [("results/monday", "sealed"), ("results/tuesday", "killed")] {
        let found = rows(&at, &[recording, ISSUE]);
        assert_eq!(found.len(), 2, "{place}");
        for (workload, name) in ["oltp", "scan"].iter().enumerate() {
            let row = found.iter().find(|row| row["workload"] == *name).unwrap();
            assert_eq!(row["sum(op_interval.ops)"], 61 * 2 * 100, "{place}: {row}");
            let values =
                (60..=120).flat_map(|second| (0..2).flat_map(move |target| responses(second, workload, target)));
            let expect = exact(values.collect(), 999);
            let p999 = row
                .as_object()
                .unwrap()
                .iter()
                .find(|cell| cell.0.starts_with("percentile"))
                .unwrap()
                .1
                .as_f64()
                .unwrap();
            assert!(p999 >= expect && p999 <= expect * 1.032, "{place}: {p999} for {expect}");
        }
    }
}

#[test]
fn rows_name_their_recording_and_an_open_one_grows() {
    let (_keep, at) = results();
    let writer = write_open(&at.join("results/wednesday"));
    let count = "select recording, count(*) as n, min(time) as first from op_interval group by 1 order by 1";
    let all = ["results/monday", "results/tuesday", "results/wednesday"];
    let found = rows(&at, &[&all[..], &[count]].concat());
    let names: Vec<&str> = found.iter().map(|row| row["recording"].as_str().unwrap()).collect();
    assert_eq!(names, ["monday", "tuesday", "wednesday"]);
    for row in &found {
        assert_eq!(row["n"], 4 * SECONDS);
        assert!(row["first"].as_str().unwrap().starts_with("2023-11-14T22:13:21"), "{row}");
    }
    let states = "select recording, state from recordings order by 1";
    let found = rows(&at, &[&all[..], &[states]].concat());
    let states: Vec<&str> = found.iter().map(|row| row["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["sealed", "cut short", "open"]);
    drop(writer.seal().unwrap());
    let found =
        rows(&at, &[&all[..], &["select count(distinct recording) as n, sum(ops) as ops from op_interval"]].concat());
    assert_eq!((found[0]["n"].clone(), found[0]["ops"].clone()), (3.into(), (3 * 400 * SECONDS).into()));
}

#[test]
fn histograms_merge_filter_and_bin_as_their_values_do() {
    let (_keep, at) = results();
    let one = |sql: &str| rows(&at, &["results/monday", sql]).remove(0);
    let all = |filter: &dyn Fn(i64, usize, usize) -> bool| -> Vec<u64> {
        let every = (1..=SECONDS).flat_map(|second| (0..4).map(move |at| (second, at / 2, at % 2)));
        every.filter(|(s, w, t)| filter(*s, *w, *t)).flat_map(|(s, w, t)| responses(s, w, t)).collect()
    };
    let row = one(
        "select percentile(response, 0.5) filter (where target = 'sd2') as p50, percentile(response, 0) as least, \
                   hist_max(hist_merge(response)) as greatest, hist_count(hist_merge(response)) as n, \
                   hist_mean(hist_merge(response)) as mean, hist_sum(hist_merge(service)) as sum, \
                   hist_percentile(hist_merge(response), 0.99) = percentile(response, 0.99) as same from op_interval",
    );
    let values = all(&|_, _, _| true);
    let p50 = exact(all(&|_, _, target| target == 1), 500);
    assert!((p50..=p50 * 1.032).contains(&row["p50"].as_f64().unwrap()), "{row} for {p50}");
    assert_eq!(row["greatest"], *values.iter().max().unwrap());
    assert_eq!(row["n"], values.len());
    assert_eq!(row["sum"], values.iter().sum::<u64>());
    assert!((row["mean"].as_f64().unwrap() - values.iter().sum::<u64>() as f64 / values.len() as f64).abs() < 0.01);
    assert_eq!(row["same"], true);

    let bins = rows(
        &at,
        &[
            "results/monday",
            "select b['from_ns'] as low, b['to_ns'] as high, b['count'] as n from \
                                             (select unnest(hist_bins(hist_merge(response), 1)) as b from op_interval) order by 1",
        ],
    );
    for bin in &bins {
        let (low, high) = (bin["low"].as_u64().unwrap(), bin["high"].as_u64().unwrap());
        assert_eq!(high, low * 2, "an octave");
        assert_eq!(bin["n"], values.iter().filter(|value| (low..high).contains(value)).count(), "{bin}");
    }
    assert_eq!(bins.iter().map(|bin| bin["n"].as_u64().unwrap()).sum::<u64>(), values.len() as u64);
    // Totals keep their finer resolution, and an empty set has no percentile.
    let row = one("select percentile(response, 0.99) as p99 from run_total");
    let expect = exact(all(&|second, workload, target| second > 10 && workload == 0 && target == 0), 990);
    assert!((expect..=expect * 1.0079).contains(&row["p99"].as_f64().unwrap()), "{row} for {expect}");
    let row = one(
        "select percentile(response, 0.99) as p99, hist_merge(response) is null as none from op_interval where ops < 0",
    );
    assert_eq!((row["p99"].clone(), row["none"].clone()), (Value::Null, true.into()));
}

#[test]
fn percentiles_of_plain_numbers_are_within_the_fine_bound() {
    let (_keep, at) = results();
    let sql = "select percentile(backlog * 1000, 0.9) as p90, percentile(read_ios, 1) as most from op_interval \
               left join (select read_ios, t_ns from disk) using (t_ns)";
    let row = rows(&at, &["results/monday", sql]).remove(0);
    let expect = exact((1..=150).flat_map(|second| [second * 1000; 4]).collect(), 900);
    assert!((expect..=expect * 1.0079).contains(&row["p90"].as_f64().unwrap()), "{row} for {expect}");
    assert_eq!(row["most"], 200 * SECONDS);
}

#[test]
fn a_table_is_aligned_and_has_units_and_parquet_comes_back() {
    let (_keep, at) = results();
    let sql = "select workload, sum(ops) as ops, max(response_ns_max) as worst, sum(bytes) / 1e6 as mb, null as none \
               from op_interval group by workload order by 1";
    assert_eq!(
        answer(&at, &["results/monday", sql]),
        "workload    ops   worst      mb  none\n             op      ns\n────────  ─────  ──────  ──────  ────\n\
         oltp      30000  612637  245.76  ?\nscan      30000  975274  245.76  ?\n"
    );
    let out = answer(&at, &["results/monday", "--parquet", "-o", "copy.parquet", "select * from op_interval"]);
    assert_eq!(out, "");
    let file = std::fs::File::open(at.join("copy.parquet")).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let unit = builder.schema().field_with_name("response_ns_p99").unwrap().metadata().get("unit").cloned();
    assert_eq!(unit.as_deref(), Some("ns"));
    let batches: Vec<_> = builder.build().unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), usize::try_from(4 * SECONDS).unwrap());
    let first = batches[0].column_by_name("response").unwrap().as_binary::<i32>().value(0).to_vec();
    assert_eq!(Histogram::decode(&first).unwrap().count(), 100, "histograms included");
    let csv =
        answer(&at, &["results/monday", "--csv", "select t_s, response, op from op_interval order by t_s limit 1"]);
    assert_eq!(csv, "t_s,op\n1.0,read\n");
}

#[test]
fn statements_come_from_standard_input_too() {
    let (_keep, at) = results();
    std::fs::write(at.join("q.sql"), "select 1 as a; -- ';'\nselect ';' as b;").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_iodyno-query"))
        .args(["results/monday", "--csv"])
        .current_dir(&at)
        .stdin(Stdio::from(std::fs::File::open(at.join("q.sql")).unwrap()))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a\n1\nb\n;\n");
}

/// Every mistake is said so that it can be put right.
#[test]
fn mistakes_point_at_their_cause() {
    let (_keep, at) = results();
    std::fs::create_dir(at.join("empty")).unwrap();
    let cases: &[(&[&str], &str)] = &[
        (
            &["results/monday", "select ops from op_intervl"],
            "there is no table `op_intervl`\n  select ops from op_intervl\n                  ^^^^^^^^^^\ndid you mean `op_interval`?",
        ),
        (
            &["results/monday", "select workload,\n  sum(opps) from op_interval group by 1"],
            "there is no column `opps`\n    sum(opps) from op_interval group by 1\n        ^^^^\ndid you mean `ops`?",
        ),
        (
            &["results/monday", "select percentil(response, 0.5) from op_interval"],
            "there is no function `percentil`\n  select percentil(response, 0.5) from op_interval\n         ^^^^^^^^^\ndid you mean `percentile`?",
        ),
        (
            &["results/monday", "select ops form op_interval where"],
            "syntax: expected end of statement, found `op_interval`\n  select ops form op_interval where\n                  ^^^^^^^^^^^",
        ),
        (
            &["results/monday", "select ops from op_interval where"],
            "syntax: the statement ends where an expression should follow\n  select ops from op_interval where\n                                   ^",
        ),
        (
            &["results/monday", "select percentile(response, 99) from op_interval"],
            "a quantile lies between 0 and 1, not 99; write 0.99 for p99",
        ),
        (
            &["results/monday", "select percentile(response, backlog) from op_interval"],
            "the second argument of percentile must be a constant, such as 0.99",
        ),
        (
            &["results/monday", "select percentile(response) from op_interval"],
            "percentile takes 2 argument(s), 1 given; see `.help percentile`",
        ),
        (
            &["results/monday", "select percentile(t_s, 0.5) from op_interval"],
            "percentile takes a histogram or whole numbers (ns, bytes, counts), not Float64; approx_percentile_cont(x, q) takes fractions",
        ),
        (
            &["results/monday", "select hist_count(ops) from op_interval"],
            "hist_count takes a histogram column such as `response` or `service`, not a column of type Int64",
        ),
        (
            &["results/monday", "select percentile(ops - 1000, 0.5) from op_interval"],
            "percentile and hist_merge take values from 0 on, not -900; leave those out with WHERE",
        ),
        (
            &["results/monday", "drop table op_interval"],
            "recordings are only read here: SELECT, WITH, VALUES, EXPLAIN, DESCRIBE and SHOW work",
        ),
        (
            &["results/monday", "copy op_interval to 'x.csv'"],
            "recordings are only read here: SELECT, WITH, VALUES, EXPLAIN, DESCRIBE and SHOW work",
        ),
        (
            &["results", "select 1"],
            "results is not a recording: manifest.json: No such file or directory (os error 2)\nit holds 2 recording(s): iodyno query results/*",
        ),
        (&["empty", "select 1"], "empty is not a recording: manifest.json: No such file or directory (os error 2)"),
        (&["select 1"], "name a recording before the statement: iodyno query results/monday \"select ...\""),
    ];
    let mut wrong = String::new();
    for (arguments, expect) in cases {
        let output = query(&at, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        let is_right = said.trim_end() == format!("iodyno query: {expect}")
            && output.status.code() == Some(2)
            && output.stdout.is_empty();
        if !is_right {
            wrong.push_str(&format!("{arguments:?} ({:?})\n{said}\ninstead of\n{expect}\n\n", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_is_no_recording_among_several_is_left_out_and_named() {
    let (_keep, at) = results();
    std::fs::write(at.join("results/report.html"), "").unwrap();
    let output = query(&at, &["results/monday", "results/report.html", "--csv", "select 1 as a"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a\n1\n");
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .starts_with("iodyno query: left out: results/report.html is not a recording")
    );
}

#[test]
fn a_trace_has_seconds_and_times_as_every_other_table() {
    let (_keep, at) = results();
    for recording in ["results/monday", "results/tuesday"] {
        let sql = "select t_s, time, complete_ns - queue_ns as ns, recording from io where t_s between 60 and 60.0025 order by t_s";
        let found = rows(&at, &[recording, sql]);
        let expect: Vec<(f64, &str, i64)> =
            vec![(60.001, "2023-11-14T22:14:20.001Z", 100_600), (60.002, "2023-11-14T22:14:20.002Z", 200_600)];
        let found: Vec<(f64, &str, i64)> = found
            .iter()
            .map(|row| (row["t_s"].as_f64().unwrap(), row["time"].as_str().unwrap(), row["ns"].as_i64().unwrap()))
            .collect();
        assert_eq!(found, expect, "{recording}");
    }
    // Each recording by its own start, the row beside that of the interval.
    let all = ["results/monday", "results/tuesday"];
    let sql = "select recording, floor(io.t_s) as second, count(*) as n, sum(io.bytes) = max(i.bytes) as same, \
               max(abs(arrow_cast(io.time, 'Int64') - arrow_cast(i.time, 'Int64'))) as apart \
               from io join trace_interval i using (recording) where floor(io.t_s) = i.t_s group by 1, 2 order by 1, 2";
    let found = rows(&at, &[&all[..], &[sql]].concat());
    assert_eq!(found.len(), usize::try_from(2 * SECONDS).unwrap());
    for row in &found {
        assert_eq!(
            (row["n"].clone(), row["same"].clone(), row["apart"].clone()),
            (3.into(), true.into(), 3_000_000.into())
        );
    }
    let table = answer(&at, &["results/monday", "select t_s, complete_ns - queue_ns as wait, file from io limit 1"]);
    let head: Vec<&str> = table.lines().take(2).collect();
    assert_eq!(head, ["  t_s    wait  file", "    s      ns"], "{table}");
    let described = answer(&at, &["results/monday", "--csv", "describe io"]);
    assert!(described.contains("t_s,Float64") && described.contains("time,"), "{described}");
}

#[test]
fn every_table_can_be_asked_with_its_time() {
    // Those that this recording has no rows for as well.
    let at = tempfile::tempdir().unwrap();
    record(&at.path().join("r"), Left::Sealed);
    for table in recording::catalogue() {
        let sql = format!("select count(t_s) + count(time) as n from {} where t_s >= 0", table.name);
        assert!(rows(at.path(), &["r", &sql])[0]["n"].is_u64(), "{}", table.name);
    }
}

#[test]
fn a_recording_beside_the_working_directory_can_be_asked() {
    let (_keep, at) = results();
    let within = at.join("elsewhere");
    std::fs::create_dir(&within).unwrap();
    for path in ["../results/monday", "./../results/../results/monday", "../results/tuesday"] {
        let found = rows(&within, &[path, "select count(*) as n from op_interval"]);
        assert_eq!(found[0]["n"], SECONDS * 4, "{path}");
    }
}

#[test]
fn names_in_an_answer_are_made_visible() {
    let (_keep, at) = results();
    let sql = "select '\x1b]0;OWNED\x07\u{202e}' as \"a\u{9b}b\" from op_interval limit 1";
    let table = answer(&at, &["results/monday", sql]);
    assert!(table.starts_with("a\\u{9b}b") && table.contains("\\x1b]0;OWNED\\x07\\u{202e}"), "{table:?}");
    let json = answer(&at, &["results/monday", "--json", sql]);
    assert!(json.is_ascii() && !json.contains('\x1b'), "{json:?}");
    assert_eq!(rows(&at, &["results/monday", sql])[0]["a\u{9b}b"], "\x1b]0;OWNED\x07\u{202e}");
}
