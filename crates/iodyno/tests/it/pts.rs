//! `iodyno run pts:…`: SNIA's tests from the command line to the report, decided by counts and order.

use crate::support::Scratch;
use serde_json::Value;

/// Loop variables of the executed runs of the measured phase, in order, with the number of their rounds.
fn executed(scratch: &Scratch, recording: &str) -> Vec<(String, String)> {
    let mut runs: Vec<(i64, String, String)> = scratch
        .table(recording, "phase")
        .iter()
        .filter(|row| row["event"] == "start" && (row["phase"] == "measure" || row["run"] == "precondition"))
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap().to_string();
            (row["run_index"].as_i64().unwrap(), text("run"), text("detail"))
        })
        .collect();
    runs.sort();
    runs.dedup();
    runs.into_iter().map(|(_, run, detail)| (run, detail)).collect()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"))
}

#[test]
fn iops_on_a_file_end_when_they_are_steady_or_say_that_they_are_not() {
    let scratch = Scratch::new();
    let arguments = [
        "run",
        "pts:iops",
        "data",
        "capacity=4m",
        "seconds=0.2",
        "sizes=8k,4k",
        "mixes=100,0",
        "rounds=6",
        "depth=2",
        "direct=no",
        "purge=echo purged >> purges",
        "-o",
        "out",
    ];
    let ran = scratch.iodyno(&arguments).run().unwrap();
    let code = ran.code;
    assert!(code == Some(0) || code == Some(5), "{code:?}: {}", ran.stderr);
    assert!(ran.stderr.contains("neither certified"), "{}", ran.stderr);

    // The preconditioning, then whole rounds of four points in the specification's order.
    let runs = executed(&scratch, "out");
    assert_eq!(runs[0], ("precondition".to_string(), "before=iops".to_string()));
    let points = ["xfersize=8k rdpct=100", "xfersize=4k rdpct=100", "xfersize=8k rdpct=0", "xfersize=4k rdpct=0"];
    let rounds = (runs.len() - 1) / 4;
    assert!((runs.len() - 1).is_multiple_of(4) && (5..=6).contains(&rounds), "{runs:?}");
    for (at, (run, detail)) in runs[1..].iter().enumerate() {
        let title = if at < 4 { "iops".to_string() } else { format!("iops (round {})", at / 4 + 1) };
        assert_eq!((run, detail.as_str()), (&title, points[at % 4]));
    }
    // Twice the capacity in transfers of 128 KiB.
    let totals = scratch.table("out", "run_total");
    let written: f64 = totals.iter().filter(|row| row["run"] == "precondition").map(|row| number(row, "bytes")).sum();
    assert!((8_388_608.0..9_437_184.0).contains(&written), "{written}");
    let purges = std::fs::read_to_string(scratch.path("purges")).unwrap();
    assert_eq!(purges.lines().count(), 1, "once before the preconditioning");

    // The verdict is that of the figures.
    let steady = scratch.iodyno(&["export", "out", "pts.steady", "--json"]).run().unwrap().expect_code(0).ndjson();
    let [row] = steady.as_slice() else { panic!("one tracked run: {steady:?}") };
    assert_eq!(row["tracked"], "iops xfersize=4k rdpct=0");
    assert!((number(row, "rounds_done") - rounds as f64).abs() < 0.1);
    assert_eq!(row["window_rounds"], format!("{} to {rounds}", rounds - 4));
    let is_within = |what: &str| number(row, &format!("{what}_is")) <= number(row, &format!("{what}_at_most"));
    let is_steady = is_within("range") && is_within("slope_over_the_window");
    assert_eq!(row["steady"], if is_steady { "yes" } else { "no" });
    assert_eq!(code, Some(if is_steady { 0 } else { 5 }), "{row}");
    assert!(is_steady || rounds == 6, "it gave up after {rounds} rounds");
    assert_eq!(ran.stderr.contains("iops: not steady after 6 rounds"), !is_steady, "{}", ran.stderr);
    assert_eq!(ran.stdout.contains("iops: steady in round"), is_steady, "{}", ran.stdout);
    assert!(ran.stdout.contains("steady state") && ran.stdout.contains("reads/writes"), "{}", ran.stdout);

    // A row per size, a column per mix; in the report as well, with the sentence about certificates.
    let averages = scratch.iodyno(&["export", "out", "pts.average", "--json"]).run().unwrap().expect_code(0).ndjson();
    let sizes: Vec<&str> = averages.iter().map(|row| row["transfer"].as_str().unwrap()).collect();
    assert_eq!(sizes, ["8k", "4k"]);
    for row in &averages {
        assert!(number(row, "reads_writes_100_0") > 0.0 && number(row, "reads_writes_0_100") > 0.0, "{row}");
    }
    let page = std::fs::read_to_string(scratch.path("out/report.html")).unwrap();
    let head = if is_steady { "Steady: the rounds were alike" } else { "NOT STEADY: iops after 6 rounds." };
    for text in ["pts.average", "pts.steady", "pts.convergence", "neither certified", "Steady state", head] {
        assert!(page.contains(text), "{text} is not in the report");
    }
}

#[test]
fn a_dry_run_says_what_is_written_and_how_long_it_takes_at_most() {
    let scratch = Scratch::new();
    let line = ["run", "pts:iops", "data", "capacity=8m", "--dry-run"];
    let said = scratch.iodyno(&line).run().unwrap().expect_code(0).stdout;
    for text in [
        "runs (57):",
        "2 × the targets' size (16 MiB) written",
        "runs 2 to 57 of the list again and again, 25 times at most",
        "the rounds take 23 h 20 min at most",
        "read and written: creates a file of 8 MiB",
    ] {
        assert!(said.contains(text), "{text} is missing: {said}");
    }
    let purge = ["run", "pts:throughput", "data", "capacity=8m", "purge=true it", "precondition=0", "--dry-run"];
    let said = scratch.iodyno(&purge).run().unwrap().expect_code(0).stdout;
    assert!(said.contains("command before the first round, with your rights: true it"), "{said}");
    assert!(said.contains("time: 1 h 40 min at most"), "{said}");
    assert!(!scratch.path("data").exists());
}

#[test]
fn a_file_of_others_is_refused_before_anything_is_purged() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("letters"), vec![b'a'; 1 << 20]).unwrap();
    let line = ["run", "pts:latency", "letters", "direct=no", "purge=echo > purged", "-o", "out"];
    let refused = scratch.iodyno(&line).run().unwrap().expect_code(7);
    assert!(refused.stderr.contains("letters"), "{}", refused.stderr);
    assert!(!scratch.path("purged").exists() && !scratch.path("out").exists());
    assert_eq!(std::fs::read(scratch.path("letters")).unwrap(), vec![b'a'; 1 << 20]);
}

#[test]
fn a_capacity_that_is_not_there_is_named_as_it_was_given() {
    let scratch = Scratch::new();
    let line = ["run", "pts:latency", "data", "capacity=900t", "-o", "out"];
    let refused = scratch.iodyno(&line).run().unwrap();
    assert!(refused.code != Some(0) && refused.stderr.contains("ask for a smaller `capacity=`"), "{}", refused.stderr);
    let dry = scratch.iodyno(&["run", "pts:latency", "data", "capacity=900t", "--dry-run"]).run().unwrap();
    assert!(dry.stdout.contains("`capacity=`") && !dry.stdout.contains("`size=`"), "{}", dry.stdout);
    let wide: Vec<&str> = dry.stdout.lines().filter(|line| line.chars().count() > 100).collect();
    assert!(wide.iter().all(|line| line.starts_with("  target") || line.starts_with("cannot")), "{wide:?}");
}

#[test]
fn a_purge_that_fails_ends_the_test() {
    let scratch = Scratch::new();
    let line = ["run", "pts:writesat", "data", "capacity=1m", "seconds=1", "direct=no", "purge=exit 3", "-o", "out"];
    let ended = scratch.iodyno(&line).run().unwrap();
    assert!(ended.code != Some(0) && ended.stderr.contains("exit 3"), "{:?}: {}", ended.code, ended.stderr);
    assert!(ended.stderr.contains("commands.log") && !ended.stderr.contains("abort"), "{}", ended.stderr);
    let totals = scratch.table("out", "run_total");
    assert!(!totals.iter().any(|row| row["run"] == "writesat"), "{totals:?}");
}

#[test]
fn write_saturation_ends_with_its_data() {
    let scratch = Scratch::new();
    let line = ["run", "pts:writesat", "data", "capacity=2m", "seconds=300", "direct=no", "-o", "out"];
    scratch.iodyno(&line).run().unwrap().expect_code(0);
    let totals = scratch.table("out", "run_total");
    let written: f64 = totals.iter().filter(|row| row["run"] == "writesat").map(|row| number(row, "bytes")).sum();
    assert!((8_388_608.0..8_388_608.0 + 64.0 * 4096.0).contains(&written), "four times the capacity: {written}");
}

#[test]
fn mistakes_say_what_to_do() {
    let scratch = Scratch::new();
    for (line, says) in [
        (vec!["pts:iopz", "data"], "did you mean `iops`?"),
        (vec!["pts:iops"], "needs the device or file"),
        (vec!["pts:iops", "data"], "capacity=1g"),
        (vec!["pts:iops", "data", "other", "capacity=1m"], "one device or file at a time"),
        (vec!["pts:iops", "data", "capacity=1m", "second=3"], "did you mean `seconds`?"),
        (vec!["pts:iops", "data", "capacity=1m", "rounds=4"], "rounds=5 or more"),
        (vec!["pts:iops", "data", "capacity=1m", "-e", "3"], "seconds="),
        (vec!["pts:iops", "data", "capacity=1m", "--repeat", "3"], "rounds="),
        (vec!["pts:iops", "data", "capacity=1m", "sizes=x"], "sizes=x"),
        (vec!["pts:iops", "data", "capacity=0%"], "capacity"),
    ] {
        let arguments: Vec<&str> = std::iter::once("run").chain(line).collect();
        let ran = scratch.iodyno(&arguments).run().unwrap().expect_code(2);
        assert!(ran.stderr.contains(says), "{arguments:?}: {}", ran.stderr);
        assert!(!scratch.path("data").exists());
    }
}
