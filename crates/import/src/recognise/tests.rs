//! Readers against good, malformed and mutated texts.

use super::FORMATS;
use crate::results::Results;
use crate::{fio, vdbench};
use proptest::prelude::*;
use quantity::histogram::Histogram;
use recording::rows::OpInterval;
use recording::{LoadPhase, PhaseEdge};
use std::path::Path;

/// The columns of 5.04.07 in short, two runs, a comment, a repeated heading; a warm-up interval in the first.
const FLAT: &str = "<title>Vdbench output/flatfile.html</title><pre>\n*\n* Run : Name of run from RD=\n* \n\
    \x20        tod               timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp resp_max read_max write_max queue_depth cpu_used cpu_user cpu_kernel cpu_wait cpu_idle \n\
    23:59:59.042 05/10/2023-23:59:59-CST rd1 1 100 90 0.0879 1024 50 0.03 0.02 0.04 0.155 0.094 0.155 0.0027 12 10 2 0 0 \n\
    00:00:00.015 05/11/2023-00:00:00-CST rd1 2 100 102 0.0996 1024 50 0.0304 0.0182 0.0426 0.108 0.063 0.108 0.0031 12 10 2 0 0 \n\
    00:00:01.015 05/11/2023-00:00:01-CST rd1 3 100 98 0.0957 1024 50 0.02 0.01 0.03 0.111 0.044 0.111 0.002 n/a n/a n/a n/a n/a \n\
    00:00:01.033 05/11/2023-00:00:01-CST rd1 avg_2-3 100 100 0.0977 1024 50 0.0253 0.0142 0.0364 0.111 0.063 0.111 0.0025 12 10 2 0 0 \n\
    \n\
    00:00:04.015 05/11/2023-00:00:04-CST rd2 1 9999988 2000 7.8125 4096 100 0.5 0.5 0 1.5 1.5 0 1 n/a n/a n/a n/a n/a \n\
    00:00:04.033 05/11/2023-00:00:04-CST rd2 avg_1-1 9999988 2000 7.8125 4096 100 0.5 0.5 0 1.5 1.5 0 1 n/a n/a n/a n/a n/a \n";

/// fio's object in short.
const FIO: &str = r#"{
  "fio version" : "fio-3.33",
  "timestamp" : 1795232195,
  "timestamp_ms" : 1795232195232,
  "global options" : { "filename" : "/dev/loop3" },
  "jobs" : [
    { "jobname" : "mix", "groupid" : 0, "error" : 0, "job_runtime" : 2000, "job options" : { "rw" : "randrw" },
      "read" : { "io_bytes" : 16384, "total_ios" : 4, "runtime" : 2000,
        "clat_ns" : { "min" : 29994, "max" : 80000, "mean" : 50000.5, "stddev" : 1, "N" : 4, "bins" : { "30080" : 1, "42752" : 2, "79360" : 1 } } },
      "write" : { "io_bytes" : 8192, "total_ios" : 2, "runtime" : 2000,
        "clat_ns" : { "min" : 10, "max" : 30, "mean" : 20.0, "N" : 2, "percentile" : { "50.000000" : 10 } } },
      "trim" : { "total_ios" : 0 }, "sync" : { "total_ios" : 0 } }
  ]
}
"#;

fn read(format: &str, text: &str) -> Result<Results, crate::ImportError> {
    let format = FORMATS.iter().find(|found| found.name == format).expect("a format");
    (format.read)(Path::new("/nowhere/input"), text)
}

/// Everything of a run, in one line each.
fn totals(results: &Results) -> Vec<String> {
    results
        .totals
        .iter()
        .map(|row| {
            let service = &row.service;
            format!(
                "{} {} {}..{} {} ops {} B mean {:?} max {:?} p50 {:?}",
                row.run,
                row.op,
                row.start_t_ns / 1_000_000,
                row.t_ns / 1_000_000,
                row.ops,
                row.bytes,
                service.mean().map(f64::round),
                service.max(),
                service.percentile(0.5)
            )
        })
        .collect()
}

#[test]
fn a_flatfile_gives_what_it_holds_and_nothing_else() {
    let results = read("vdbench", FLAT).expect("it is good");
    assert_eq!(
        totals(&results),
        [
            "rd1 read 1000..3000 100 ops 102400 B mean Some(14182.0) max Some(63000) p50 None",
            "rd1 write 1000..3000 100 ops 102400 B mean Some(36426.0) max Some(111000) p50 None",
            "rd2 read 4973..5973 2000 ops 8192000 B mean Some(500000.0) max Some(1500000) p50 None",
        ]
    );
    // 23:59:58 of that day.
    assert_eq!(quantity::text::format_wall(results.started_wall_ns), "2023-05-10 23:59:58 UTC");
    assert!(results.intervals.iter().all(|row| row.response == Histogram::default()), "from due: never measured");
    assert!(results.intervals.iter().filter(|row| row.phase == LoadPhase::Warmup).map(|row| row.ops).eq([45, 45]));
    let counted = |row: &OpInterval| row.arrivals.or(row.errors).or(row.backlog);
    assert!(results.intervals.iter().all(|row| counted(row).is_none()), "Vdbench counts neither: null, not 0");
    assert!(results.totals.iter().all(|row| (row.arrivals, row.errors) == (None, None)));
    assert!(results.intervals.iter().all(|row| row.in_flight_mean.is_some()), "it has queue_depth");
    assert_eq!(results.phases.iter().filter(|row| row.offered_rate == Some(100.0)).count(), 4);
    let user: Vec<i64> = results.cpu.iter().map(|row| row.user_ns).collect();
    assert_eq!(user, [0, 100_000_000, 200_000_000], "10 % of a second; n/a is no sample");
    let idle = results.cpu.last().map(|row| row.idle_ns);
    assert_eq!(idle, Some(1_760_000_000), "Vdbench prints 0 for idle on Linux");
}

#[test]
fn old_columns_without_a_date_go_over_midnight() {
    let text = "tod Run Interval reqrate rate MB/sec bytes/io read% resp resp_max resp_std\n\
        23:59:58.106 rd1 1 999988.0 10.0 0.0391 4096 100.0 2.0 3.0 0.1\n\
        00:00:00.106 rd1 2 999988.0 20.0 0.0781 4096 100.0 2.0 5.0 0.1\n\
        00:00:02.106 rd1 3 999988.0 30.0 0.1172 4096 100.0 2.0 4.0 0.1\n\
        00:00:02.107 rd1 avg_2-3 999988.0 25.0 0.0977 4096 100.0 2.0 5.0 0.1\n";
    let results = read("vdbench", text).expect("it is good");
    assert_eq!(
        totals(&results),
        ["rd1 read 2000..6000 100 ops 409600 B mean Some(2000000.0) max Some(5000000) p50 None"]
    );
    assert!(results.notes.iter().any(|note| note.contains("1970-01-01")), "{:?}", results.notes);
    assert!(results.phases.iter().all(|row| row.offered_rate.is_none()), "999,988 asks for full speed");
}

#[test]
fn a_cut_off_line_is_left_out_and_said() {
    let cut = FLAT.find("rd2 avg").expect("it is there") + 20;
    let results = read("vdbench", &FLAT[..cut]).expect("the rest is good");
    assert_eq!(results.totals.len(), 3);
    assert!(results.notes.iter().any(|note| note.starts_with("line 12 is cut off")), "{:?}", results.notes);
}

#[test]
fn histogram_html_gives_percentiles_that_are_upper_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flatfile.html");
    let page = "<pre>\n<a name=\"_1\"></a><i><b>21:16:10.008 Starting RD=rd1; I/O rate: 100; elapsed=3</b></i>\n\n\
        Reads and writes:\n  min(ms) <     max(ms)         count       %%    cum%%  '+': Individual%\n\n\
        \x20   0.000 <       0.020           100  50.0  50.0  +++\n\n\
        Reads:\n  min(ms) <     max(ms)         count       %%    cum%%  '+': Individual%\n\n\
        \x20   0.000 <       0.020            60  60.0  60.0  +++\n    0.020 <       0.040            30  30.0  90.0  +\n\
        \x20   0.040 <         max            10  10.0 100.0  +\n\n\
        Writes:\n  min(ms) <     max(ms)         count       %%    cum%%  '+': Individual%\n\n    0.020 <       0.040             7  1.0 1.0 +\n";
    std::fs::write(path.with_file_name("histogram.html"), page).expect("written");
    let results = vdbench::read(&path, FLAT).expect("it is good");
    let found = totals(&results);
    // 20 µs less 1 ns, up to its bucket's end; the mean is the flatfile's.
    assert_eq!(found[0], "rd1 read 1000..3000 100 ops 102400 B mean Some(14182.0) max Some(63000) p50 Some(20095)");
    assert!(found[1].ends_with("p50 None"), "7 of 100 writes are another run's: {}", found[1]);
    assert_eq!(results.totals[0].service.percentile(1.0), Some(63_000));
}

/// Four runs of one name: two sizes, each with two numbers of threads; the columns that are given.
fn sweep(columns: &str, values: [&str; 4]) -> String {
    let mut text = format!("tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp {columns}\n");
    for (at, values) in values.iter().enumerate() {
        for (interval, second) in [("1", 1), ("2", 2), ("avg_2-2", 2)] {
            let second = at * 3 + second;
            text.push_str(&format!(
                "10:00:{second:02}.015 05/11/2023-10:00:{second:02}-UTC rd1 {interval} 9999988 100 0.4 4096 100 1.0 {values}\n"
            ));
        }
    }
    text
}

fn details(results: &Results) -> Vec<&str> {
    let starts = results.phases.iter().filter(|row| row.event == PhaseEdge::Start && row.phase == LoadPhase::Measure);
    starts.map(|row| row.detail.as_str()).collect()
}

#[test]
fn runs_of_one_name_have_the_loop_values_that_summary_html_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flatfile.html");
    let starting = |values: &str| {
        format!(
            "<a name=\"_1\"></a><i><b>10:00:00.008 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=2; For loops: {values}</b></i>\n"
        )
    };
    let all = ["xfersize=4k threads=1", "xfersize=4k threads=8", "xfersize=8k threads=1", "xfersize=8k threads=8"];
    let links = "Link to Run Definitions: <A HREF=\"#_1\">rd1 For loops: xfersize=4k threads=1</A>\n";
    let page = |values: &[&str]| format!("{links}{}", values.iter().map(|values| starting(values)).collect::<String>());
    let text = sweep("", [""; 4]);
    let read = |summary: &str, text: &str| {
        std::fs::write(path.with_file_name("summary.html"), summary).expect("written");
        vdbench::read(&path, text).expect("it is good")
    };
    assert_eq!(details(&read(&page(&all), &text)), all);
    let plain = page(&["None", "None", "None", "None"]);
    assert_eq!(details(&read(&plain, &text)), [""; 4], "the same definition four times: repetitions");
    // A page of another number of runs tells nothing; the columns do.
    let columns = sweep("xfersize threads rdpct", ["4096 1 100", "4096 8 100", "8192 1 100", "8192 8 100"]);
    assert_eq!(details(&read(&page(&all[..2]), &columns)), all);
    // Neither page nor columns: the runs get numbers.
    std::fs::remove_file(path.with_file_name("summary.html")).expect("removed");
    let lost = vdbench::read(&path, &text).expect("it is good");
    assert_eq!(details(&lost), ["run=1", "run=2", "run=3", "run=4"]);
    assert!(lost.notes.iter().any(|note| note.starts_with("rd1 ran several times")), "{:?}", lost.notes);
    let once = vdbench::read(&path, FLAT).expect("it is good");
    assert_eq!(details(&once), ["", ""]);
}

#[test]
fn fio_gives_totals_and_whole_histograms_where_there_are_bins() {
    let text = format!("fio: some warning\n\n{FIO}");
    let results = read("fio", &text).expect("it is good");
    assert_eq!(
        totals(&results),
        [
            "mix read 0..2000 4 ops 16384 B mean Some(50001.0) max Some(80000) p50 Some(43007)",
            "mix write 0..2000 2 ops 8192 B mean Some(20.0) max Some(30) p50 None",
        ]
    );
    assert_eq!(results.started_wall_ns, (1_795_232_195_232 - 2000) * 1_000_000);
    assert!(results.totals.iter().all(|row| (row.arrivals, row.errors) == (None, None)), "fio counts neither");
    let untimed = FIO.replace("clat_ns", "no_ns");
    let blank = read("fio", &untimed).expect("it is good");
    assert!(blank.intervals.iter().all(|row| row.in_flight_mean.is_none()), "nothing tells how many were in flight");
    assert!(results.totals.iter().all(|row| row.target == "/dev/loop3"));
    assert!(results.notes[0].starts_with("2 lines before"), "{:?}", results.notes);
}

#[test]
fn fio_2_has_kib_and_microseconds() {
    let old = FIO
        .replace("fio-3.33", "fio-2.16")
        .replace("16384", "16")
        .replace("8192", "8")
        .replace("clat_ns", "clat")
        .replace("\"N\" : 4, ", "\"percentile\" : { \"50.00\" : 30 }, ")
        .replace("\"N\" : 2, ", "");
    let results = read("fio", &old).expect("it is good");
    assert_eq!(
        totals(&results),
        [
            "mix read 0..2000 4 ops 16384 B mean Some(50000500.0) max Some(80000000) p50 None",
            "mix write 0..2000 2 ops 8192 B mean Some(20000.0) max Some(30000) p50 None",
        ]
    );
    assert!(results.notes.iter().any(|note| note.contains("KiB and µs")), "{:?}", results.notes);
    for (version, key) in [("fio-1.59", "clat"), ("fio-2.99", "clat_ns")] {
        let error = read("fio", &FIO.replace("fio-3.33", version).replace("clat_ns", key)).expect_err("refused");
        assert!(error.to_string().contains("are not known"), "{error}");
    }
}

#[test]
fn what_fio_does_not_tell_is_not_0() {
    let error = read("fio", &FIO.replace("\"io_bytes\" : 8192, ", "")).expect_err("refused");
    assert!(error.to_string().contains("job mix: its write has total_ios and no io_bytes"), "{error}");
    let results = read("fio", &FIO.replace("\"total_ios\" : 2", "\"total_ios\" : -5")).expect("the rest is good");
    assert_eq!(results.totals.len(), 1);
    assert!(results.notes.iter().any(|note| note.contains("total_ios of write is -5")), "{:?}", results.notes);
}

#[test]
fn operations_that_failed_under_continue_on_error_are_errors() {
    let failing = FIO.replace("\"error\" : 0,", "\"error\" : 0, \"total_err\" : 1, \"first_error\" : 5,");
    let mixed = read("fio", &failing).expect("it is good");
    assert!(mixed.totals.iter().all(|row| row.errors.is_none()), "nothing says of which kind");
    assert!(
        mixed.notes.iter().any(|note| note.contains("job mix: 1 of its operations failed (the first with error 5)"))
    );
    let reads = failing.replace("randrw", "randread").replace("\"total_ios\" : 2", "\"total_ios\" : 0");
    let results = read("fio", &reads).expect("it is good");
    let [total] = results.totals.as_slice() else { panic!("one row") };
    assert_eq!((total.ops, total.errors, total.first_error), (3, Some(1), Some(5)));
    assert_eq!((results.intervals[0].ops, results.intervals[0].errors), (3, Some(1)));
    let none = read("fio", &failing.replace("\"total_err\" : 1", "\"total_err\" : 0")).expect("it is good");
    assert!(none.totals.iter().all(|row| row.errors == Some(0)), "none is a number");
}

#[test]
fn the_error_names_the_line_of_malformed_results() {
    let swapped = FLAT.replace("00:00:00.015", "noon");
    let cases = [
        ("vdbench", "empty", String::new()),
        ("vdbench", "another file", "avg_1 2 3\nx\n".to_string()),
        ("vdbench", "header only", FLAT.lines().take(5).collect::<Vec<&str>>().join("\n")),
        ("vdbench", "a word for a number", FLAT.replace("0.0996", "lots")),
        ("vdbench", "a time that is none", swapped),
        ("vdbench", "a date that is none", FLAT.replace("05/11/2023", "02/30/2023")),
        ("vdbench", "a range that is none", FLAT.replace("avg_2-3", "avg_x")),
        ("vdbench", "an interval that is none", FLAT.replace("rd1 2 ", "rd1 -2 ")),
        ("vdbench", "a column too many", FLAT.replace("0.0031", "0.0031 7")),
        ("vdbench", "infinite", FLAT.replace("0.0996", "inf")),
        ("fio", "empty", String::new()),
        ("fio", "no object", "hello\nworld\n".to_string()),
        ("fio", "cut off", FIO[..400].to_string()),
        ("fio", "another JSON", "{\"a\": 1}".to_string()),
        ("fio", "no jobs", "{\"fio version\": \"fio-3.33\",\n \"jobs\": []}".to_string()),
        ("fio", "idle jobs", "{\"fio version\": \"fio-3.33\",\n \"jobs\": [{\"jobname\": 7}]}".to_string()),
    ];
    let said: Vec<String> = cases
        .iter()
        .map(|(format, what, text)| match read(format, text) {
            Err(error) => format!("{format}, {what}: {error}"),
            Ok(_) => format!("{format}, {what}: accepted"),
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn mutations_never_panic(
        is_fio in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec!["", "-", "9", "99999999999999999999", "\n", "\0", "e9", "n/a", "avg_0-9", "{", "é", " "]), 0_usize..6), 1..12),
    ) {
        let mut text = if is_fio { FIO.to_string() } else { FLAT.to_string() };
        for (at, new, skip) in changes {
            let mut at = at.index(text.len());
            while !text.is_char_boundary(at) { at -= 1; }
            let mut end = (at + skip).min(text.len());
            while !text.is_char_boundary(end) { end += 1; }
            text.replace_range(at..end, new);
            if text.is_empty() { text.push(' '); }
        }
        if let Ok(results) = if is_fio { fio::read(Path::new("x"), &text) } else { vdbench::read(Path::new("/nowhere/x"), &text) } {
            for row in &results.totals {
                prop_assert!(row.ops >= 0 && row.bytes >= 0 && row.t_ns >= row.start_t_ns);
                let decoded = Histogram::decode(&row.service.encode());
                prop_assert_eq!(decoded.as_ref(), Ok(&row.service));
            }
            prop_assert!(results.intervals.iter().all(|row| row.in_flight_mean.is_none_or(f64::is_finite)));
        }
    }
}
