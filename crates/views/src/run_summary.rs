//! A run in numbers.

use crate::model::{HistogramSummary, RunSummary, StallModel};
use crate::{RecordingFacts, RunFacts};
use rates::{OpCount, OperationTimes};

/// `create`, `mkdir, create and write`; `None` of a run without operations on files as a whole.
fn on_files(run: &RunFacts) -> Option<String> {
    let was_done = |op: &&str| run.main_totals().any(|total| total.op == **op && total.count.ops > 0);
    let kinds: Vec<&str> = rates::OPS.iter().copied().filter(|op| was_done(op)).collect();
    let is_whole = kinds.iter().any(|op| rates::is_of_trees(op));
    let (last, others) = kinds.split_last().filter(|_| is_whole)?;
    Some(if others.is_empty() { (*last).to_string() } else { format!("{} and {last}", others.join(", ")) })
}

/// A run in numbers, over its main phase.
pub fn run_summary(facts: &RecordingFacts, run: &RunFacts) -> RunSummary {
    let (mut response, mut service) = (OperationTimes::default(), OperationTimes::default());
    let mut count = OpCount::default();
    let mut reads = 0;
    for total in run.main_totals() {
        count += total.count;
        reads += if total.op == "read" { total.count.ops } else { 0 };
        response.merge(&total.response);
        service.merge(&total.service);
    }
    let OpCount { arrivals, ops, bytes, errors } = count;
    let measured_s = run.measured_s();
    let rate = |value: i64| (measured_s > 0.0).then(|| value as f64 / measured_s);
    let lengths: f64 = run.main_intervals().map(|interval| interval.interval_ns as f64).sum();
    let depth: Option<f64> =
        run.main_intervals().map(|interval| Some(interval.in_flight.known()? * interval.interval_ns as f64)).sum();
    let spans = || run.main_intervals().map(|interval| (interval.t_ns, interval.interval_ns));
    let mean = |of: fn(&rates::CpuPoint) -> f64| rates::cpu_share::mean(&facts.cpu, spans(), of);
    RunSummary {
        measured_s,
        offered: run.offered,
        arrivals: arrivals.known().map(|arrivals| arrivals as f64),
        ops: ops as f64,
        bytes: bytes as f64,
        errors: errors.known().map(|errors| errors as f64),
        iops: rate(ops),
        bytes_per_s: rate(bytes),
        read_percent: (ops > 0).then(|| 100.0 * reads as f64 / ops as f64),
        on_files: on_files(run),
        response: HistogramSummary::of_times(&response),
        service: HistogramSummary::of_times(&service),
        unfinished: run.unfinished.map(|unfinished| unfinished.count() as f64),
        queue_depth: depth.filter(|_| lengths > 0.0).map(|depth| depth / lengths),
        cpu_user: mean(|point| point.user),
        cpu_system: mean(|point| point.system + point.irq),
        intervals: run.intervals.len(),
        stalled_intervals: run.intervals.iter().filter(|interval| interval.is_stalled()).count(),
        longest_stall: run
            .longest_stall()
            .map(|stall| StallModel { from_s: run.seconds(stall.from_ns), to_s: run.seconds(stall.to_ns) }),
    }
}
