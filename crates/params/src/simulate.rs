//! The lines that Vdbench prints for each run when it only simulates (`-s`), and its way to write loops.

use plan::{Plan, Rate, Run};
use std::collections::HashMap;

/// What Vdbench takes for the last maximum as long as there is none, operations per second.
const ASSUMED_MAX: f64 = 10_000.0;

/// One line per run, word for word as Vdbench's `-s` has them. Where a run has a list of rates, Vdbench names the first
/// of the list in all of them and the real one under `For loops`; a curve is simulated with a maximum of 10,000/s.
pub fn simulate(plan: &Plan) -> Vec<String> {
    let mut first_rates: HashMap<&str, Rate> = HashMap::new();
    plan.runs
        .iter()
        .map(|run| {
            let rate = if run.loops.iter().any(|(name, _)| name == "iorate" || name == "fwdrate") {
                *first_rates.entry(run.name.as_str()).or_insert(run.rate)
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
            let rate = rate_text(run, rate);
            format!("Simulating RD={}; I/O rate: {rate}; {time}For loops: {}", simulated_title(run), loops(run))
        })
        .collect()
}

/// Only when it runs does Vdbench add the percentage to the name of a run at a part of the last maximum.
fn simulated_title(run: &Run) -> &str {
    let stem = run.title.strip_suffix("%)").and_then(|title| title.rsplit_once("_(")).map(|(stem, _)| stem);
    match run.rate {
        Rate::CurvePoint { .. } => &run.title,
        _ => stem.unwrap_or(&run.title),
    }
}

fn loops(run: &Run) -> String {
    if run.loops.is_empty() {
        return "None".to_string();
    }
    run.loops.iter().map(|(name, value)| vdbench_loop(name, value)).collect::<Vec<_>>().join(" ")
}

/// A loop and its value as Vdbench writes them, for scripts that know its titles: `threads=1.500k`, `rdpct=33`, `comp=2`.
/// The plan's own text ([`Run::loops`]) has all digits.
pub fn vdbench_loop(name: &str, value: &str) -> String {
    let label = if name == "compratio" { "comp" } else { name };
    let text = match crate::vdbench::number(value) {
        // Percents of a rate or size, and eof, which is -1: both are negative there.
        Some((number, percent)) if percent || number < 0.0 => format!("{}%", number.abs().trunc()),
        Some((number, _)) if name.ends_with("rate") => format!("{}", number.trunc()),
        Some((number, _)) => size_text(number),
        None => value.to_string(),
    };
    format!("{label}={text}")
}

/// Below 1,024 a whole number; above three digits behind the point with k, m, g, t or p, or none when they are zeros.
fn size_text(value: f64) -> String {
    const UNITS: [(f64, &str); 5] = [
        (1_125_899_906_842_624.0, "p"),
        (1_099_511_627_776.0, "t"),
        (1_073_741_824.0, "g"),
        (1_048_576.0, "m"),
        (1024.0, "k"),
    ];
    match UNITS.into_iter().find(|(unit, _)| value >= *unit) {
        Some((unit, suffix)) => format!("{:.3}{suffix}", value / unit).replace(".000", ""),
        None => format!("{}", value.trunc()),
    }
}

/// Shares that must hold, rates and priorities of single workloads need a controlled rate also at full speed.
fn controlled(run: &Run) -> &'static str {
    let fixed = run
        .workloads
        .iter()
        .any(|workload| workload.share_fixed || workload.rate.is_some() || workload.priority.is_some());
    if fixed { "Controlled" } else { "Uncontrolled" }
}

fn rate_text(run: &Run, rate: Rate) -> String {
    match rate {
        _ if run.arrivals.burst.as_ref().is_some_and(|burst| !burst.steps.is_empty()) => "Variable".to_string(),
        Rate::Max => format!("{} MAX", controlled(run)),
        Rate::CurveMax => format!("{} curve", controlled(run)),
        // A point written with a percent sign is negative to Vdbench, which then prints the bare number.
        Rate::CurvePoint { fraction, .. } if run.title.contains("_(-") => format!("{}", (fraction * 100.0).trunc()),
        Rate::CurvePoint { fraction, .. } | Rate::FractionOfLastMax(fraction) => {
            let rate = (fraction * 100.0).trunc() * ASSUMED_MAX / 100.0;
            format!("{rate}")
        }
        Rate::PerSecond(rate) => format!("{}", rate.trunc()),
    }
}

fn seconds(ns: u64) -> String {
    let seconds = (ns as f64 / 1e9 * 1e6).round() / 1e6;
    format!("{seconds}")
}
