//! `--repeat`: rounds one after the other, means with intervals in terminal, report and export.

use crate::support::Scratch;

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
    // A machine that keeps its schedule has the same rate in every round; its responses differ.
    let one_thread = |figure: &dyn Fn(&serde_json::Value) -> f64| -> Vec<f64> {
        let rounds =
            totals.iter().filter(|row| row["phase"] == "measure" && row["run_index"].as_i64().unwrap() % 2 == 1);
        rounds.map(figure).collect()
    };
    // Over what was measured: on a busy machine the last interval ends later.
    let intervals = scratch.table("out", "op_interval");
    let measured_s = |row: &serde_json::Value| {
        let is_it = |one: &&serde_json::Value| one["run_index"] == row["run_index"] && one["phase"] == "measure";
        let length = |one: &serde_json::Value| (one["t_ns"].as_i64(), one["interval_ns"].as_i64());
        let lengths: std::collections::BTreeSet<_> = intervals.iter().filter(is_it).map(length).collect();
        lengths.iter().map(|(_, ns)| ns.unwrap()).sum::<i64>() as f64 / 1e9
    };
    let (rate, rate_half) = mean_and_half(&one_thread(&|row| row["ops"].as_f64().unwrap() / measured_s(row)));
    assert_is(&rows[0], "rate", rate, rate_half);
    assert!(rate > 0.0 && rate < 250.0, "{rate}");
    // What was due in the measured time and came back after it counts with its time.
    let mean_of_all = |row: &serde_json::Value| {
        let is_of_run = |other: &&serde_json::Value| {
            other["run_index"] == row["run_index"] && ["measure", "drain"].contains(&other["phase"].as_str().unwrap())
        };
        let of_run: Vec<(f64, f64)> = totals
            .iter()
            .filter(is_of_run)
            .filter_map(|row| Some((row["ops"].as_f64()?, row["response_ns_mean"].as_f64()?)))
            .collect();
        of_run.iter().map(|(ops, mean)| ops * mean).sum::<f64>() / of_run.iter().map(|(ops, _)| ops).sum::<f64>()
    };
    let (response, response_half) = mean_and_half(&one_thread(&mean_of_all));
    assert_is(&rows[0], "response_mean", response, response_half);
    assert!(response_half > 0.0, "{response} ± {response_half}");
    let wrong = scratch.iodyno(&["export", "out", "run.iops"]).run().unwrap().expect_code(2);
    assert!(wrong.stderr.contains("is a picture"), "{}", wrong.stderr);
    let both = scratch.iodyno(&["run", "a.vdb", "--repeat", "2", "-l", "3"]).run().unwrap().expect_code(2);
    assert!(both.stderr.contains("--repeat"), "{}", both.stderr);
}

/// Mean of three values and half of its 95 % confidence interval: Student's t with two degrees of freedom.
fn mean_and_half(values: &[f64]) -> (f64, f64) {
    assert_eq!(values.len(), 3);
    let mean = values.iter().sum::<f64>() / 3.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 2.0;
    (mean, 4.303 * (variance / 3.0).sqrt())
}

/// The columns of a figure; a table of the recording has it rounded.
fn assert_is(row: &serde_json::Value, figure: &str, mean: f64, half: f64) {
    for (part, expected) in [("mean", mean), ("half_ci95", half)] {
        let found = row[format!("{figure}_{part}")].as_f64().unwrap();
        assert!((found - expected).abs() <= 0.002 * mean, "{figure}_{part}: {found}, expected {expected}");
    }
}
