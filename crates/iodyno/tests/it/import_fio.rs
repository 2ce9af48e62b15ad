//! `iodyno import` of what a real fio left behind: its JSON and its logs beside new runs.

use crate::support::Scratch;
use recording::Reader;
use recording::rows::{OpInterval, RunTotal};
use std::path::PathBuf;
use std::process::Command;

/// Runs fio with this job file in the scratch folder; `None` without fio.
fn fio(scratch: &Scratch, job: &str) -> Option<()> {
    Command::new("fio").arg("--version").output().ok()?;
    let file = scratch.write("job.fio", job);
    let folder = file.parent().unwrap();
    let mut command = Command::new("fio");
    command.arg(&file).args(["--output-format=json", "--output=fio.json"]).current_dir(folder);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

/// What two jobs that follow each other do, and where.
fn job(scratch: &Scratch, logs: &str) -> String {
    format!(
        "[global]\nfilename={}\nsize=8m\nioengine=psync\nruntime=3\ntime_based\nrw=randrw\nrate_iops=200\n{logs}\n\
         [small]\nbs=4k\n[large]\nstonewall\nbs=8k\n",
        scratch.path("data").display()
    )
}

fn import(scratch: &Scratch, input: &str, output: &str) -> (Reader, PathBuf, String) {
    let (input, path) = (scratch.path(input), scratch.path(output));
    let said = scratch
        .iodyno(&["import", input.to_str().unwrap(), "-o", path.to_str().unwrap()])
        .run()
        .unwrap()
        .expect_code(0)
        .stderr;
    (Reader::open(&path).unwrap(), path, said)
}

#[test]
fn what_is_said_of_times_and_not_used_is_named() {
    let scratch = Scratch::new();
    if fio(&scratch, &job(&scratch, "")).is_none() {
        testkit::lacks("fio");
        return;
    }
    let said = |more: &[&str], output: &str| {
        scratch.iodyno(&["import", "fio.json", "-o", output]).args(more).run().unwrap().expect_code(0).stderr
    };
    assert!(said(&["--interval", "5s", "--zone", "+01:00"], "one").contains("--interval, --zone: not used"));
    assert!(!said(&[], "two").contains("not used"));
}

#[test]
fn what_fio_did_not_count_is_named_and_not_zero() {
    let scratch = Scratch::new();
    if fio(&scratch, &job(&scratch, "")).is_none() {
        testkit::lacks("fio");
        return;
    }
    let (reader, path, said) = import(&scratch, "fio.json", "old");
    assert!(said.contains("fio does not keep arrivals") && said.contains("what it does not keep is null"), "{said}");
    let totals = reader.table::<RunTotal>().unwrap();
    assert_eq!(totals.len(), 4, "two jobs, reads and writes");
    assert!(totals.iter().all(|row| row.arrivals.is_none() && row.errors.is_none() && row.ops > 0));
    let intervals = reader.table::<OpInterval>().unwrap();
    assert!(intervals.iter().all(|row| row.backlog.is_none() && row.errors.is_none()));
    let page = std::fs::read_to_string(path.join("report.html")).unwrap_or_else(|_| {
        scratch.iodyno(&["report", path.to_str().unwrap()]).run().unwrap().expect_code(0);
        std::fs::read_to_string(path.join("report.html")).unwrap()
    });
    assert!(page.contains("errors not counted"), "the sentence says so");
    assert!(page.contains("failures were not counted"), "so does the figure");
    assert!(!page.contains("no errors"), "the page claims that there were none");
    // An objective about what is unknown is not judged, which is neither met nor missed.
    let check = scratch.iodyno(&["check", path.to_str().unwrap(), "--fail-if", "errors > 0"]).run().unwrap();
    assert!(check.stdout.contains("not judged"), "{} {}", check.stdout, check.stderr);
}

#[test]
fn of_several_documents_the_last_whole_one_counts_and_their_differences_are_intervals() {
    let scratch = Scratch::new();
    let file = scratch.path("data").display().to_string();
    let options = ["--rw=randrw", "--bs=4k", "--size=1m", "--runtime=6s", "--time_based", "--rate_iops=200"];
    let mut command = testkit::TestCommand::new("fio");
    command = command.args(["--name=mix", "--ioengine=psync", &format!("--filename={file}")]).args(options);
    command = command.args(["--status-interval=500ms", "--output-format=json+", "--output=fio.json"]);
    let Ok(done) = command.dir(scratch.path("")).run() else {
        testkit::lacks("fio");
        return;
    };
    done.expect_code(0);
    let text = std::fs::read_to_string(scratch.path("fio.json")).unwrap();
    let ends: Vec<usize> = text.match_indices("\n}").map(|(at, _)| at + 3).collect();
    assert!(ends.len() >= 3, "{} documents", ends.len());
    let values: Vec<serde_json::Value> =
        serde_json::Deserializer::from_str(&text).into_iter().collect::<Result<_, _>>().unwrap();
    let reads = |at: usize| values[at]["jobs"][0]["read"]["total_ios"].as_i64().unwrap();
    let last = values.len() - 1;
    let of_reads = |reader: &Reader| {
        let totals = reader.table::<RunTotal>().unwrap();
        let rows = reader.table::<OpInterval>().unwrap();
        let total = totals.iter().find(|row| row.op == "read").unwrap().clone();
        (total, rows.into_iter().filter(|row| row.op == "read").collect::<Vec<OpInterval>>())
    };

    let (reader, _, said) = import(&scratch, "fio.json", "all");
    assert!(said.contains("(--status-interval): the last has the totals"), "{said}");
    let (total, rows) = of_reads(&reader);
    assert_eq!((total.ops, rows.iter().map(|row| row.ops).sum::<i64>()), (reads(last), reads(last)));
    assert!(reads(0) < reads(last) && rows.len() >= 3, "{rows:?}");
    // Each document ends an interval; one in which nothing came back has no row.
    let counts: Vec<i64> = std::iter::once(0).chain((0..=last).map(reads)).collect();
    let steps: Vec<i64> = counts.windows(2).map(|two| two[1] - two[0]).filter(|step| *step > 0).collect();
    assert_eq!(rows.iter().map(|row| row.ops).filter(|ops| *ops > 0).collect::<Vec<_>>(), steps);
    // Intervals follow one another, and together hold all times.
    assert!(rows.windows(2).all(|two| two[1].t_ns - two[1].interval_ns == two[0].t_ns), "{rows:?}");
    assert_eq!(rows.iter().map(|row| row.service.count()).sum::<u64>(), total.service.count());

    // fio was killed while it printed.
    let cut = ends[last - 1] + (text.len() - ends[last - 1]) / 2;
    scratch.write("cut.json", &text[..cut]);
    let (reader, _, said) = import(&scratch, "cut.json", "cut");
    let (total, rows) = of_reads(&reader);
    assert_eq!((total.ops, rows.iter().map(|row| row.ops).sum::<i64>()), (reads(last - 1), reads(last - 1)));
    // Also where the cut comes right behind a line.
    let line = text[..cut].matches('\n').count() + 1;
    assert!(
        said.contains(&format!("the last document breaks off on line {line}: the one before it was read")),
        "{said}"
    );
}

/// Operations and bytes of the intervals of each job and operation beside those of its total.
fn beside(reader: &Reader) -> Vec<(String, i64, i64, f64)> {
    let intervals = reader.table::<OpInterval>().unwrap();
    let totals = reader.table::<RunTotal>().unwrap();
    let lanes = totals.iter().map(|total| {
        let rows = intervals.iter().filter(|row| (&row.workload, &row.op) == (&total.workload, &total.op));
        let rows: Vec<&OpInterval> = rows.collect();
        assert!(rows.iter().all(|row| row.t_ns > total.start_t_ns && row.t_ns <= total.t_ns + 500_000_000));
        let (ops, bytes) = (rows.iter().map(|row| row.ops).sum::<i64>(), rows.iter().map(|row| row.bytes).sum::<i64>());
        (format!("{} {}", total.workload, total.op), ops - total.ops, total.ops, bytes as f64 / ops as f64)
    });
    lanes.collect()
}

#[test]
fn a_log_of_each_io_gives_intervals_with_whole_distributions() {
    import_each_io(false);
}

#[test]
#[ignore = "times: make exam"]
fn a_log_of_each_io_gives_an_interval_for_each_second() {
    testkit::while_cpus_are_ours(|| import_each_io(true));
}

/// A log with a line for each I/O; on a machine that is `quiet` fio ends in time.
fn import_each_io(quiet: bool) {
    let scratch = Scratch::new();
    let logs = "write_lat_log=mix\nwrite_bw_log=mix\nwrite_iops_log=mix";
    if fio(&scratch, &job(&scratch, logs)).is_none() {
        testkit::lacks("fio");
        return;
    }
    let (reader, path, said) = import(&scratch, "fio.json", "old");
    assert!(!said.contains("no intervals"), "{said}");
    for (lane, apart, ops, size) in beside(&reader) {
        assert_eq!(apart, 0, "{lane}: a line for each of {ops}");
        assert_eq!(size, if lane.starts_with("small") { 4096.0 } else { 8192.0 }, "{lane}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(scratch.path("fio.json")).unwrap()).unwrap();
    let theirs = json["jobs"][0]["read"]["clat_ns"]["percentile"]["99.000000"].as_f64().unwrap();
    let rows = reader.table::<OpInterval>().unwrap();
    let mut all = quantity::histogram::Histogram::default();
    rows.iter().filter(|row| row.workload == "small" && row.op == "read").for_each(|row| all.merge(&row.service));
    let ours = all.percentile(0.99).unwrap() as f64;
    assert!((ours - theirs).abs() <= theirs * 0.05, "p99 {ours} for fio's {theirs}");
    let ends: std::collections::BTreeSet<(i32, i64)> = rows.iter().map(|row| (row.run_index, row.t_ns)).collect();
    assert!(ends.len() >= 6 && (!quiet || ends.len() <= 8), "two runs of three seconds each: {ends:?}");
    scratch.iodyno(&["report", path.to_str().unwrap()]).run().unwrap().expect_code(0);
}

#[test]
#[ignore = "times: make exam"]
fn averaged_logs_and_histograms_are_imported_with_the_json_and_alone() {
    testkit::while_cpus_are_ours(once_averaged_logs_and_histograms_are_imported_with_the_json_and_alone);
}

fn once_averaged_logs_and_histograms_are_imported_with_the_json_and_alone() {
    let scratch = Scratch::new();
    let logs = "log_avg_msec=500\nwrite_lat_log=mix\nwrite_bw_log=mix\nwrite_iops_log=mix";
    if fio(&scratch, &job(&scratch, logs)).is_none() {
        testkit::lacks("fio");
        return;
    }
    let (reader, ..) = import(&scratch, "fio.json", "averaged");
    let close = |(lane, apart, ops, size): (String, i64, i64, f64), part: f64| {
        assert!(apart.unsigned_abs() as f64 <= ops as f64 * part, "{lane}: {apart} of {ops}");
        let expect = if lane.starts_with("small") { 4096.0 } else { 8192.0 };
        assert!((size - expect).abs() <= expect * part, "{lane}: {size} for {expect}");
    };
    beside(&reader).into_iter().for_each(|lane| close(lane, 0.2));
    let rows = reader.table::<OpInterval>().unwrap();
    assert!(rows.iter().all(|row| row.service.is_summary()), "averages have no distribution, and none is made up");
    assert!(rows.iter().filter(|row| row.interval_ns == 500_000_000).count() > rows.len() / 2);

    // Without the averages: fio's histograms, a whole distribution for each period, and alone, without the JSON.
    let logs = "write_hist_log=hist\nlog_hist_msec=500\nlog_hist_coarseness=2";
    fio(&scratch, &job(&scratch, logs)).unwrap();
    let (reader, ..) = import(&scratch, "fio.json", "histograms");
    // fio writes no line for what is left at the end.
    beside(&reader).into_iter().for_each(|lane| close(lane, 0.3));
    assert!(reader.table::<OpInterval>().unwrap().iter().all(|row| row.service.percentile(0.5).is_some()));
    let (alone, _, said) = import(&scratch, "hist_clat_hist.1.log", "alone");
    assert!(said.contains("name neither jobs nor targets"), "{said}");
    let names: std::collections::BTreeSet<String> =
        alone.table::<RunTotal>().unwrap().into_iter().map(|row| row.workload).collect();
    assert_eq!(names.into_iter().collect::<Vec<String>>(), ["hist.1", "hist.2"]);
}

#[test]
fn a_file_that_is_no_complete_log_is_refused_with_its_place() {
    let scratch = Scratch::new();
    scratch.write("bad_lat.1.log", "1, 5, 0, 4096\n2, many, 0, 4096\n");
    let bad = scratch.path("bad_lat.1.log");
    let output = scratch.iodyno(&["import", bad.to_str().unwrap(), "-o", "bad"]).run().unwrap().expect_code(2);
    assert!(output.stderr.contains("bad_lat.1.log:2: `many` is not a value"), "{}", output.stderr);
    scratch.write("only_lat.1.log", "500, 5, 0, 0\n1000, 7, 0, 0\n");
    let output = scratch.iodyno(&["import", "only_lat.1.log", "-o", "bad"]).run().unwrap().expect_code(2);
    assert!(output.stderr.contains("write_iops_log= or write_hist_log= does"), "{}", output.stderr);
}
