//! `--repeat`: rounds one after the other, means with intervals in terminal, report and export.
#![allow(clippy::unwrap_used, clippy::allow_attributes, clippy::print_stdout, reason = "helpers of tests")]

mod support;

use support::Scratch;

#[test]
fn rounds_are_interleaved_and_become_means_with_intervals() {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=8m\nwd=wd1,sd=sd1,xfersize=4k\n\
         rd=rd1,wd=wd1,iorate=200,elapsed=2,interval=1,forthreads=(1,2)\n",
        scratch.path("data").display()
    );
    let file = scratch.write("a.vdb", &text);
    let arguments = ["run", file.to_str().unwrap(), "-o", "out", "--repeat", "3"];
    let output = scratch.iodyno(&arguments).run().unwrap().expect_code(0);
    assert!(output.stdout.contains("against the row above"), "{}", output.stdout);
    let totals = scratch.table("out", "run_total");
    let mut order: Vec<(i64, String)> = totals
        .iter()
        .filter(|row| row["phase"] == "measure")
        .map(|row| (row["run_index"].as_i64().unwrap(), row["run"].as_str().unwrap().to_string()))
        .collect();
    order.sort();
    order.dedup();
    let titles: Vec<&str> = order.iter().map(|run| run.1.as_str()).collect();
    assert_eq!(titles, ["rd1", "rd1", "rd1 (round 2)", "rd1 (round 2)", "rd1 (round 3)", "rd1 (round 3)"]);

    let csv = scratch.iodyno(&["export", "out", "sweep.repeats"]).run().unwrap().expect_code(0).stdout;
    let mut lines = csv.lines();
    let heading: Vec<&str> = lines.next().unwrap().split(',').collect();
    for name in ["run", "parameters", "times", "rate_mean", "rate_half_ci95", "response_p99_9_half_ci95"] {
        assert!(heading.contains(&name), "{name} in {heading:?}");
    }
    assert_eq!(lines.clone().count(), 2, "{csv}");
    let rows = scratch.iodyno(&["export", "out", "sweep.repeats", "--json"]).run().unwrap().expect_code(0).ndjson();
    assert_eq!((rows[0]["parameters"].as_str(), rows[0]["times"].as_f64()), (Some("threads=1"), Some(3.0)));
    let (mean, half) = (rows[0]["rate_mean"].as_f64().unwrap(), rows[0]["rate_half_ci95"].as_f64().unwrap());
    assert!((150.0..250.0).contains(&mean) && half > 0.0, "{mean} ± {half}");
    let wrong = scratch.iodyno(&["export", "out", "run.iops"]).run().unwrap().expect_code(2);
    assert!(wrong.stderr.contains("is a picture"), "{}", wrong.stderr);
    let both = scratch.iodyno(&["run", "a.vdb", "--repeat", "2", "-l", "3"]).run().unwrap().expect_code(2);
    assert!(both.stderr.contains("--repeat"), "{}", both.stderr);
}
