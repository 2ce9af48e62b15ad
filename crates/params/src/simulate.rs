//! The lines that Vdbench prints for each run when it only simulates (`-s`).

use plan::{Plan, Rate, Run};
use std::collections::HashMap;

/// One line per run, word for word as Vdbench's `-s` has them. Where a run has a list of rates, Vdbench names the first
/// of the list in all of them and the real one under `For loops`; a curve is simulated with a maximum of 10,000/s.
pub fn simulate(plan: &Plan) -> Vec<String> {
    let mut first_rates: HashMap<&str, &str> = HashMap::new();
    for run in &plan.runs {
        if let Some(rate) = listed_rate(run) {
            first_rates.entry(run.name.as_str()).or_insert(rate);
        }
    }
    plan.runs
        .iter()
        .map(|run| {
            let rate = match first_rates.get(run.name.as_str()) {
                Some(first) if listed_rate(run).is_some() => capital_max(first, run),
                _ => rate_text(run),
            };
            let time = match run.elapsed_ns {
                Some(ns) if run.warmup_ns > 0 => {
                    format!("elapsed={} warmup={}; ", seconds(ns), seconds(run.warmup_ns))
                }
                Some(ns) => format!("elapsed={}; ", seconds(ns)),
                None => String::new(),
            };
            format!("Simulating RD={}; I/O rate: {rate}; {time}For loops: {}", run.title, loops(run))
        })
        .collect()
}

fn listed_rate(run: &Run) -> Option<&str> {
    run.loops.iter().find(|(name, _)| name == "iorate" || name == "fwdrate").map(|(_, value)| value.as_str())
}

fn loops(run: &Run) -> String {
    if run.loops.is_empty() {
        return "None".to_string();
    }
    run.loops.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Shares that must hold, or rates of single workloads, need a controlled rate also at full speed.
fn controlled(run: &Run) -> &'static str {
    let fixed = run.workloads.iter().any(|workload| workload.share_fixed || workload.rate.is_some());
    if fixed { "Controlled" } else { "Uncontrolled" }
}

fn capital_max(first: &str, run: &Run) -> String {
    if first == "max" { format!("{} MAX", controlled(run)) } else { first.to_string() }
}

fn rate_text(run: &Run) -> String {
    match run.rate {
        Rate::Max => format!("{} MAX", controlled(run)),
        Rate::CurveMax => format!("{} curve", controlled(run)),
        // A point written with a percent sign is negative to Vdbench, which then prints the bare number.
        Rate::CurvePoint { fraction, .. } if run.title.contains("_(-") => plain(fraction * 100.0),
        Rate::CurvePoint { fraction, .. } => plain(fraction * 10_000.0),
        Rate::FractionOfLastMax(fraction) => format!("{}% of the last maximum", plain(fraction * 100.0)),
        Rate::PerSecond(rate) => plain(rate),
    }
}

/// A number without digits that say nothing.
fn plain(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    format!("{rounded}")
}

fn seconds(ns: u64) -> String {
    plain(ns as f64 / 1e9)
}
