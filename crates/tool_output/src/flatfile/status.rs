//! `status.html`: the machine's view of what happened when, tab-delimited.

use super::facts::Facts;
use super::{escaped, timestamp};
use recording::RecordingExit;
use std::fmt::Write as _;

/// The file.
pub(super) fn page(facts: &Facts) -> String {
    let mut page = String::from("* Vdbench status\n\n* The values below are all tab-delimited.\n\n");
    let start = timestamp(facts.manifest.started_wall_ns);
    for words in [
        "Starting slaves",
        "Slaves connected",
        "Query host configuration started",
        "Query host configuration completed",
    ] {
        let _ = writeln!(page, "{start} \t{words}");
    }
    let mut last_ns = None;
    for run in &facts.runs {
        let at = |t_ns: i64| timestamp(facts.manifest.wall_ns_at(t_ns));
        let first_ns = run.lines.first().map_or(run.start_ns, |line| line.t_ns);
        for (t_ns, words) in [
            (run.start_ns, "Starting"),
            (run.warm_ns.unwrap_or(first_ns), "Warmup done"),
            (run.end_ns, "Workload done"),
            (run.end_ns, "Slaves done"),
        ] {
            let _ = writeln!(
                page,
                "{} \t{words}\trd={}\tFor loops: {}",
                at(t_ns),
                escaped(&run.name),
                escaped(&run.loops())
            );
        }
        last_ns = Some(run.end_ns);
    }
    if let Some(exit) = &facts.manifest.exit {
        let end = last_ns.map_or(start, |t_ns| timestamp(facts.manifest.wall_ns_at(t_ns)));
        let words = if *exit == RecordingExit::Complete {
            "Vdbench complete".to_string()
        } else {
            format!("Vdbench terminated: {}", escaped(exit.as_str()))
        };
        let _ = writeln!(page, "{end} \tShutting down slaves\n{end} \t{words}");
    }
    page
}
