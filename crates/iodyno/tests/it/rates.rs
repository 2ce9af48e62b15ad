//! Rates that change in the course of a run, interval by interval.

use crate::support::{Scratch, sum};

/// `(seconds from the start of the run to the end of the interval, arrivals)` of a run.
fn arrivals(run: &str) -> Vec<(f64, f64)> {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=8m,threads=8\nwd=wd1,sd=sd1,xfersize=4k\nrd=rd1,wd=wd1,{run}\n",
        scratch.path("data").display()
    );
    scratch.run("out", &text, &["--no-report"]).expect_code(0);
    let rows: Vec<_> =
        scratch.table("out", "op_interval").into_iter().filter(|row| row["phase"] == "measure").collect();
    let first = &rows[0];
    let start_ns = first["t_ns"].as_f64().unwrap() - first["interval_ns"].as_f64().unwrap();
    let (due, done) = (sum(&rows, "arrivals", |_| true), sum(&rows, "ops", |_| true));
    assert!((due - done).abs() < 300, "{done} done of {due}");
    rows.iter()
        .map(|row| ((row["t_ns"].as_f64().unwrap() - start_ns) / 1e9, row["arrivals"].as_f64().unwrap()))
        .collect()
}

#[test]
#[ignore = "times: make exam"]
fn a_variable_rate_follows_its_steps() {
    testkit::while_cpus_are_ours(once_a_variable_rate_follows_its_steps);
}

fn once_a_variable_rate_follows_its_steps() {
    for gaps in ["deterministic", "exponential"] {
        let run = format!("iorate=(400,1,2400,2),elapsed=6,interval=0.5,distribution=({gaps},variable)");
        let mut before = 0.0;
        for (end, found) in arrivals(&run) {
            // What the step function has in this interval, as it was cut in reality.
            let upto = |t: f64| {
                let (cycles, within) = ((t / 3.0).floor(), t % 3.0);
                cycles * 5200.0 + within.min(1.0) * 400.0 + (within - 1.0).max(0.0) * 2400.0
            };
            let expected = upto(end) - upto(before);
            // Within a step an exponential count varies by its square root; 2 ms of jitter at an edge are 5 arrivals.
            let sigma = if gaps == "exponential" { expected.sqrt() } else { 0.0 };
            assert!(
                (found - expected).abs() < 5.0 * sigma + 8.0,
                "{gaps} up to {end:.3} s: {found}, not {expected:.0}"
            );
            before = end;
        }
        assert!(before > 5.9, "{before}");
    }
}

#[test]
#[ignore = "times: make exam"]
fn a_spike_comes_at_the_beginning_of_each_second() {
    testkit::while_cpus_are_ours(once_a_spike_comes_at_the_beginning_of_each_second);
}

fn once_a_spike_comes_at_the_beginning_of_each_second() {
    for (gaps, run) in
        [("deterministic", "iorate=200"), ("exponential", "iorate=200"), ("deterministic", "iorate=(200,2,50,1)")]
    {
        let found = arrivals(&format!("{run},elapsed=4,interval=0.25,distribution=({gaps},spike)"));
        let spikes: Vec<(f64, f64)> = found.into_iter().filter(|(_, arrivals)| *arrivals > 0.0).collect();
        println!("{gaps} {run}: {spikes:?}");
        // Each is of the interval that begins with the full second; of the one before only where that ended late.
        let expected: &[f64] = if run.contains('(') { &[200.0, 200.0, 50.0, 200.0] } else { &[200.0; 4] };
        assert!((4..=5).contains(&spikes.len()), "{spikes:?}");
        for (number, ((end, arrivals), expected)) in spikes.iter().zip(expected).enumerate() {
            assert!((arrivals - expected).abs() <= 1.0, "{gaps} {run}: {spikes:?}");
            let second = number as f64;
            assert!((second..second + 0.3).contains(end), "{gaps} {run}: {spikes:?}");
        }
    }
}
