//! A run in numbers.

use crate::model::{HistogramSummary, RunSummary, StallModel};
use crate::{RecordingFacts, RunFacts};
use rates::{DataOps, OpCount, OperationTimes};
use std::collections::BTreeMap;

/// Most kinds of operations that are named.
const NAMED_KINDS: usize = 3;

/// `create`, `write, create and mkdir`, `append, fsync, readfile and other`: the kinds that did most, by operations or by bytes,
/// that with most first. `None` of a run that only reads and writes blocks or files.
fn on_files(run: &RunFacts) -> Option<String> {
    let mut done: BTreeMap<&str, OpCount> = BTreeMap::new();
    for total in run.main_totals().filter(|total| total.count.ops > 0) {
        *done.entry(&total.op).or_default() += total.count;
    }
    let is_data = |op: &&str| rates::reads_data(op) || rates::writes_data(op);
    if done.is_empty() || (done.keys().any(is_data) && !done.keys().any(|op| rates::is_of_trees(op))) {
        return None;
    }
    let of_all = |of: fn(&OpCount) -> i64| done.values().map(of).sum::<i64>().max(1) as f64;
    let (ops, bytes) = (of_all(|count| count.ops), of_all(|count| count.bytes));
    let weight = |count: &OpCount| (count.ops as f64 / ops).max(count.bytes as f64 / bytes);
    let mut kinds: Vec<(&str, f64)> = done.iter().map(|(op, count)| (*op, weight(count))).collect();
    kinds.sort_by(|(a, of_a), (b, of_b)| of_b.total_cmp(of_a).then(rates::op_place(a).cmp(&rates::op_place(b))));
    let mut words: Vec<&str> = kinds.iter().take(NAMED_KINDS).map(|(op, _)| *op).collect();
    if kinds.len() > NAMED_KINDS {
        words.push("other");
    }
    let (last, others) = words.split_last()?;
    Some(if others.is_empty() { (*last).to_string() } else { format!("{} and {last}", others.join(", ")) })
}

/// A run in numbers, over its main phase.
pub fn run_summary(facts: &RecordingFacts, run: &RunFacts) -> RunSummary {
    let (mut response, mut service) = (OperationTimes::default(), OperationTimes::default());
    let mut count = OpCount::default();
    let mut data = DataOps::default();
    for total in run.main_totals() {
        count += total.count;
        data.add(&total.op, total.count.ops);
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
        read_percent: data.read_percent(),
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
