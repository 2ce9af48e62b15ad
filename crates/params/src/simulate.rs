//! The lines that Vdbench prints for each run when it only simulates (`-s`).

use plan::{OfferedRate, Plan, Run};
use quantity::loop_elements::{vdbench_loop, vdbench_rate};
use std::collections::HashMap;
use vdbench_files::whole_percent;

/// What Vdbench takes for the last maximum as long as there is none, operations per second.
const ASSUMED_MAX: f64 = 10_000.0;

/// One line per run, word for word as Vdbench's `-s` has them. Where a run has a list of rates, Vdbench names the first
/// of the list in all of them and the real one under `For loops`; a curve is simulated with a maximum of 10,000/s.
pub fn simulate(plan: &Plan) -> Vec<String> {
    let mut first_rates: HashMap<&str, OfferedRate> = HashMap::new();
    plan.runs
        .iter()
        .map(|run| {
            let rate = if run.loops.iter().any(|(name, _)| name == "iorate" || name == "fwdrate") {
                run.simulated_rate.unwrap_or(*first_rates.entry(run.name.as_str()).or_insert(run.rate))
            } else {
                run.rate
            };
            let time = match run.elapsed_ns {
                Some(ns) if run.warmup_ns > 0 => {
                    format!("elapsed={} warmup={}; ", seconds(ns), seconds(run.warmup_ns))
                }
                Some(ns) => format!("elapsed={}; ", seconds(ns)),
                None => "elapsed=(none); ".to_string(),
            };
            if run.is_of_trees() {
                return of_trees(run, &time);
            }
            let rate = rate_text(run, rate);
            format!("Simulating RD={}; I/O rate: {rate}; {time}For loops: {}", simulated_title(run), loops(run))
        })
        .collect()
}

/// Of trees Vdbench says less, and of what makes them nothing.
fn of_trees(run: &Run, time: &str) -> String {
    let rate = match run.rate {
        _ if run.format => return format!("Simulating RD={}", run.title),
        OfferedRate::Max => "max. ".to_string(),
        OfferedRate::CurveMax | OfferedRate::CurvePoint { .. } => "curve. ".to_string(),
        OfferedRate::FractionOfLastMax(fraction) => format!("-{}; ", whole_percent(fraction)),
        OfferedRate::PerSecond(rate) => format!("{}; ", rate.trunc()),
    };
    format!("Simulating RD={}; {time}fwdrate={rate}For loops: {}", run.title, loops(run))
}

/// Only when it runs does Vdbench add the percentage to the name of a run at a part of the last maximum.
fn simulated_title(run: &Run) -> &str {
    let stem = run.title.strip_suffix("%)").and_then(|title| title.rsplit_once("_(")).map(|(stem, _)| stem);
    match run.rate {
        OfferedRate::CurvePoint { .. } => &run.title,
        _ => stem.unwrap_or(&run.title),
    }
}

fn loops(run: &Run) -> String {
    if run.loops.is_empty() {
        return "None".to_string();
    }
    run.loops.iter().map(|(name, value)| vdbench_loop(name, value)).collect::<Vec<_>>().join(" ")
}

/// Shares that must hold, rates and priorities of single workloads need a controlled rate also at full speed; and so
/// does a run at another rate of a list, whose title states that rate.
fn controlled(run: &Run) -> &'static str {
    if run.is_controlled() || !run.rate.is_max() { "Controlled" } else { "Uncontrolled" }
}

fn rate_text(run: &Run, rate: OfferedRate) -> String {
    match rate {
        // Not Vdbench's.
        _ if run.is_of_commands() => "none".to_string(),
        _ if run.arrivals.burst.as_ref().is_some_and(|burst| !burst.steps.is_empty()) => "Variable".to_string(),
        OfferedRate::Max => match run.offered(None) {
            // To Vdbench, a run of `max` is one whatever rates its workloads have.
            Some(rate) if run.block_workloads().all(|workload| workload.job.is_some()) => format!("{}", rate.round()),
            _ => format!("{} MAX", controlled(run)),
        },
        OfferedRate::CurveMax => format!("{} curve", controlled(run)),
        // A point written with a percent sign is negative to Vdbench, which then prints the bare number.
        OfferedRate::CurvePoint { fraction, .. } if run.title.contains("_(-") => format!("{}", whole_percent(fraction)),
        OfferedRate::CurvePoint { fraction, .. } | OfferedRate::FractionOfLastMax(fraction) => {
            let rate = whole_percent(fraction) * ASSUMED_MAX / 100.0;
            format!("{rate}")
        }
        OfferedRate::PerSecond(rate) => vdbench_rate(rate),
    }
}

fn seconds(ns: u64) -> String {
    let seconds = (ns as f64 / 1e9 * 1e6).round() / 1e6;
    format!("{seconds}")
}
