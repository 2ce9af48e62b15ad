//! The charts of the catalogue, from facts to lines.

use crate::run_summary::run_summary;
use crate::{RecordingFacts, RunFacts};
use quantity::histogram::Histogram;
use rates::{CpuPoint, DiskPoint, IntervalFacts, KnownSum, NetPoint, OPS, PoolPoint, PressurePoint, op_name};
use recording::LoadPhase;
use std::collections::BTreeMap;
use view::{Axis, Body, Line, LineStyle, MarkKind, Scale, TimeMark};
use view::{Drawing, axis, line};
use view::{Unit, Values};

mod distribution;
mod machine;
mod sweep;

pub(crate) use distribution::{
    distribution, edges, extent, heat, heat_map, heat_within, histogram, percentile_curve, percentiles, ranks,
};
pub(crate) use machine::{
    controller_latency, controller_throughput, disk_activity, disk_latency, disk_reads, disk_size, disk_skew,
    memory_use, net_packets, net_throughput, pool_throughput, pressure, run_queue, tasks,
};
pub(crate) use sweep::{is_one_curve, knee_of, load_response, matrix, rate_by, response_by, throughput_by};

/// Most devices with a line of their own.
const DEVICES: usize = 5;

/// Places of operations: the known ones, and one for all others.
const PLACES: usize = OPS.len() + 1;

/// Most stalls that are marked in a chart; all are in the table.
const MARKED_STALLS: usize = 100;

/// Phases outside the summary, and stalls.
pub(crate) fn marks(run: &RunFacts) -> Vec<TimeMark> {
    let main = run.main_phase();
    let mut marks: Vec<TimeMark> = run
        .phases
        .iter()
        .filter(|phase| phase.phase != main && phase.to_ns > phase.from_ns.max(run.start_ns))
        .map(|phase| TimeMark {
            from: run.seconds(phase.from_ns),
            to: run.seconds(phase.to_ns),
            kind: MarkKind::Phase,
            label: if phase.phase == LoadPhase::Warmup { "warm-up".to_string() } else { phase.phase.to_string() },
        })
        .collect();
    let mut stalls = run.stalls.clone();
    stalls.sort_by_key(|stall| -stall.length_ns());
    stalls.truncate(MARKED_STALLS);
    stalls.sort_by_key(|stall| stall.from_ns);
    marks.extend(stalls.iter().map(|stall| TimeMark {
        from: run.seconds(stall.from_ns),
        to: run.seconds(stall.to_ns),
        kind: MarkKind::Stall,
        label: format!("no completion for {}", Unit::Nanoseconds.format(Some(stall.length_ns() as f64))),
    }));
    marks.extend(workload::commands::marks(&run.commands, run.start_ns));
    marks.sort_by(|a, b| a.from.total_cmp(&b.from));
    marks
}

/// Elapsed times with a missing value in every gap between points.
struct Clock {
    x: Vec<f64>,
    /// Position of each point, and `None` for a gap.
    at: Vec<Option<usize>>,
}

impl Clock {
    fn new(run: &RunFacts, ends: impl Iterator<Item = (i64, i64)>) -> Self {
        let mut clock = Self { x: Vec::new(), at: Vec::new() };
        let mut last: Option<i64> = None;
        for (index, (t_ns, length_ns)) in ends.enumerate() {
            if let Some(last) = last
                && t_ns - length_ns - last > length_ns / 2
            {
                clock.x.push(run.seconds(last + (t_ns - length_ns - last) / 2));
                clock.at.push(None);
            }
            clock.x.push(run.seconds(t_ns));
            clock.at.push(Some(index));
            last = Some(t_ns);
        }
        clock
    }

    fn values(&self, of: impl Fn(usize) -> Option<f64>) -> Values {
        self.at.iter().map(|at| at.and_then(&of)).collect()
    }
}

/// A line over intervals: name, style, value of an interval.
type OverTime<'a> = (&'a str, LineStyle, &'a dyn Fn(&IntervalFacts) -> Option<f64>);

/// A line over a device's points: what it adds to the device's name, value of a point.
type OfDevice<'a, P> = (&'a str, fn(&P) -> Option<f64>);

/// A point that ends at a time.
trait Ends {
    fn t_ns(&self) -> i64;
}

impl Ends for DiskPoint {
    fn t_ns(&self) -> i64 {
        self.t_ns
    }
}

impl Ends for NetPoint {
    fn t_ns(&self) -> i64 {
        self.t_ns
    }
}

impl Ends for PoolPoint {
    fn t_ns(&self) -> i64 {
        self.t_ns
    }
}

impl Ends for PressurePoint {
    fn t_ns(&self) -> i64 {
        self.t_ns
    }
}

/// A time and a value.
impl Ends for (i64, Option<f64>) {
    fn t_ns(&self) -> i64 {
        self.0
    }
}

/// Lines over the intervals of a run.
fn over_time(run: &RunFacts, y: Axis, lines: &[OverTime<'_>]) -> Option<Drawing> {
    if run.intervals.is_empty() || lines.is_empty() {
        return None;
    }
    let clock = Clock::new(run, run.intervals.iter().map(|interval| (interval.t_ns, interval.interval_ns)));
    let lines: Vec<Line> = lines
        .iter()
        .map(|(name, style, of)| line(name, *style, clock.values(|index| of(&run.intervals[index]))))
        .collect();
    drawing(run, clock.x, y, lines)
}

fn drawing(run: &RunFacts, x: Vec<f64>, y: Axis, lines: Vec<Line>) -> Option<Drawing> {
    if !lines.iter().any(|line| line.values.range().is_some()) {
        return None;
    }
    let x_axis = axis("elapsed time", Unit::Seconds, Scale::Time);
    Some(Drawing { x: x_axis, y, body: Body::Lines { x: x.into(), lines, right: None }, marks: marks(run) })
}

/// Operations that occur in the run.
fn present(run: &RunFacts) -> Vec<usize> {
    (0..PLACES)
        .filter(|op| {
            let counts = run.intervals.iter().map(|interval| interval.ops.at(*op));
            counts.into_iter().any(|count| count.ops > 0 || count.arrivals.is_positive())
        })
        .collect()
}

/// Style of one of the operations of a chart: those on blocks have their own, the others by position.
fn style_of(ops: &[usize], op: usize) -> LineStyle {
    let own = |op: usize| Some(LineStyle::of_op(op_name(op))).filter(|style| *style != LineStyle::Total);
    if let Some(style) = own(op) {
        return style;
    }
    if let [_] = ops {
        return LineStyle::Total;
    }
    // The first two colours are those of reads and writes.
    let first = if ops.iter().any(|other| own(*other).is_some()) { 2 } else { 0 };
    LineStyle::category(first + ops.iter().filter(|other| **other < op && own(**other).is_none()).count())
}

pub(crate) fn iops(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let total = |interval: &IntervalFacts| Some(interval.per_second(interval.completed()));
    let asked = |interval: &IntervalFacts| {
        let arrivals: KnownSum<i64> = interval.ops.iter().map(|count| count.arrivals).sum();
        arrivals.known().filter(|_| interval.phase != LoadPhase::Drain).map(|arrivals| interval.per_second(arrivals))
    };
    let by_op: Vec<_> = (0..PLACES)
        .map(|op| move |interval: &IntervalFacts| Some(interval.per_second(interval.ops.at(op).ops)))
        .collect();
    let mut lines: Vec<OverTime<'_>> = Vec::new();
    if run.offered.is_some() {
        lines.push(("offered", LineStyle::Asked, &asked));
    }
    let ops = present(run);
    match ops.as_slice() {
        [op] => lines.push((op_name(*op), style_of(&ops, *op), &by_op[*op])),
        several => {
            lines.push(("all", LineStyle::Total, &total));
            lines.extend(several.iter().map(|op| {
                let of: &dyn Fn(&IntervalFacts) -> Option<f64> = &by_op[*op];
                (op_name(*op), style_of(&ops, *op), of)
            }));
        }
    }
    over_time(run, axis("op/s", Unit::OpsPerSecond, Scale::Linear), &lines)
}

pub(crate) fn throughput(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let total =
        |interval: &IntervalFacts| Some(interval.per_second(interval.ops.iter().map(|count| count.bytes).sum()));
    let by_op: Vec<_> = (0..PLACES)
        .map(|op| move |interval: &IntervalFacts| Some(interval.per_second(interval.ops.at(op).bytes)))
        .collect();
    let has_bytes = |op: usize| run.intervals.iter().any(|interval| interval.ops.at(op).bytes > 0);
    // Of an operation that is not known only its bytes tell that it moves data.
    let moves = |op: &usize| rates::moves_data(op_name(*op)) || (*op == OPS.len() && has_bytes(*op));
    let moving: Vec<usize> = present(run).into_iter().filter(moves).collect();
    let mut lines: Vec<OverTime<'_>> = Vec::new();
    if let [op] = moving.as_slice() {
        lines.push((op_name(*op), style_of(&moving, *op), &by_op[*op]));
    } else {
        lines.push(("all", LineStyle::Total, &total));
        for op in &moving {
            lines.push((op_name(*op), style_of(&moving, *op), &by_op[*op]));
        }
    }
    over_time(run, axis("bytes per second", Unit::BytesPerSecond, Scale::Linear), &lines)
}

/// p50 … maximum of a histogram of each interval.
fn ranks_of(run: &RunFacts, label: &str, of: fn(&IntervalFacts) -> &Histogram) -> Option<Drawing> {
    let clock = Clock::new(run, run.intervals.iter().map(|interval| (interval.t_ns, interval.interval_ns)));
    let histograms: Vec<_> = clock.at.iter().map(|at| at.map(|index| of(&run.intervals[index]))).collect();
    drawing(run, clock.x, axis(label, Unit::Nanoseconds, Scale::Log), ranks(&histograms))
}

pub(crate) fn response(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    ranks_of(run, "response time", |interval| &interval.response)
}

pub(crate) fn service(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    ranks_of(run, "service time", |interval| &interval.service)
}

pub(crate) fn wait(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    ranks_of(run, "submission lag", |interval| &interval.wait)
}

pub(crate) fn queue_depth(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    over_time(
        run,
        axis("operations in flight", Unit::Count, Scale::Linear),
        &[("in flight", LineStyle::Total, &|interval| interval.in_flight.known())],
    )
}

pub(crate) fn backlog(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    run.offered?;
    over_time(
        run,
        axis("operations waiting", Unit::Count, Scale::Linear),
        &[("backlog", LineStyle::Write, &|interval| interval.backlog.known().map(|backlog| backlog as f64))],
    )
}

pub(crate) fn generator(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let share = |interval: &IntervalFacts, ns: i64| {
        (interval.workers > 0 && interval.interval_ns > 0).then(|| 100.0 * ns as f64 / interval.interval_ns as f64)
    };
    let all = |interval: &IntervalFacts| share(interval, interval.engine_user_ns + interval.engine_system_ns);
    let user = |interval: &IntervalFacts| share(interval, interval.engine_user_ns);
    let busiest = |interval: &IntervalFacts| share(interval, interval.engine_busiest_ns);
    let mut lines: Vec<OverTime<'_>> =
        vec![("all workers", LineStyle::Total, &all), ("of it user", LineStyle::Trim, &user)];
    if run.intervals.iter().any(|interval| interval.workers > 1) {
        lines.push(("busiest", LineStyle::Write, &busiest));
    }
    over_time(run, axis("% of one CPU", Unit::Percent, Scale::Linear), &lines)
}

/// Points of a run's time, with a margin of one interval.
fn within<'a, T>(run: &RunFacts, points: &'a [T], t_ns: fn(&T) -> i64) -> &'a [T] {
    let margin = run.intervals.first().map_or(0, |interval| interval.interval_ns) / 4;
    let from = points.partition_point(|point| t_ns(point) <= run.start_ns);
    let to = points.partition_point(|point| t_ns(point) <= run.end_ns() + margin);
    &points[from.min(to)..to]
}

pub(crate) fn cpu(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let points = match (run.intervals.first(), run.intervals.last()) {
        (Some(first), Some(last)) => {
            rates::cpu_share::of_span(&facts.cpu, (first.t_ns, last.t_ns), last.interval_ns.max(first.interval_ns))
        }
        // A machine that was watched has no intervals.
        _ => within(run, &facts.cpu, |point| point.t_ns),
    };
    let clock = clock_of(run, points.iter().map(|point| point.t_ns).collect());
    let of = |name: &str, style, value: fn(&CpuPoint) -> Option<f64>| {
        line(name, style, clock.values(|index| value(&points[index])))
    };
    let mut lines = vec![
        of("user", LineStyle::Category0, |point| Some(point.user)),
        of("system", LineStyle::Category1, |point| Some(point.system)),
        of("interrupts", LineStyle::Category2, |point| Some(point.irq)),
        of("waiting for I/O", LineStyle::Category5, |point| point.iowait),
        of("stolen", LineStyle::Category3, |point| point.steal),
        of("busiest CPU", LineStyle::Asked, |point| point.busiest),
    ];
    let is_seen = |line: &Line| line.values.range().is_some_and(|(_, high)| high >= 0.05);
    if lines.iter().any(is_seen) {
        lines.retain(is_seen);
    } else {
        // An idle machine was measured all the same.
        lines.truncate(1);
    }
    drawing(run, clock.x, axis("% of all CPUs", Unit::Percent, Scale::Linear), lines)
}

/// A clock over points that carry only their ends.
fn clock_of(run: &RunFacts, ends: Vec<i64>) -> Clock {
    let mut steps: Vec<i64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable();
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(1_000_000_000);
    Clock::new(run, ends.into_iter().map(move |end| (end, usual)))
}

/// A line per device; where there are many, of those that did most.
fn each<P: Ends>(
    all: &BTreeMap<String, Vec<P>>,
    run: &RunFacts,
    y: Axis,
    weight: fn(&P) -> Option<f64>,
    lines: &[OfDevice<'_, P>],
) -> Option<Drawing> {
    let (ticks, devices) = busiest(all, run, weight, DEVICES)?;
    let lines = lines_of(&ticks, &devices, lines);
    drawing(run, ticks.clock.x, y, lines)
}

/// A device's points within the run.
type OfRun<'a, P> = (&'a String, &'a [P]);

/// The devices that did most, and their times.
fn busiest<'a, P: Ends>(
    all: &'a BTreeMap<String, Vec<P>>,
    run: &RunFacts,
    weight: fn(&P) -> Option<f64>,
    most: usize,
) -> Option<(Ticks, Vec<OfRun<'a, P>>)> {
    let mut active: Vec<(&String, &[P], f64)> = all
        .iter()
        .map(|(name, points)| (name, within(run, points, P::t_ns)))
        .map(|(name, points)| (name, points, points.iter().filter_map(weight).sum()))
        .filter(|(_, points, _)| !points.is_empty())
        .collect();
    active.sort_by(|a, b| b.2.total_cmp(&a.2));
    active.truncate(most);
    let longest = active.iter().max_by_key(|(_, points, _)| points.len())?;
    let ends: Vec<i64> = longest.1.iter().map(P::t_ns).collect();
    let clock = clock_of(run, ends.clone());
    Some((Ticks { clock, ends }, active.into_iter().map(|(name, points, _)| (name, points)).collect()))
}

/// The times of lines over devices.
struct Ticks {
    clock: Clock,
    ends: Vec<i64>,
}

/// Lines of each device; of several, those that are more than 0. Where all that is known is 0, those of the first device:
/// that nothing happened is not to say that nothing was measured.
fn lines_of<P: Ends>(ticks: &Ticks, devices: &[OfRun<'_, P>], lines: &[OfDevice<'_, P>]) -> Vec<Line> {
    let mut drawn: Vec<Line> = Vec::new();
    let mut of_zero: Vec<Line> = Vec::new();
    for (name, points) in devices {
        let is_first = of_zero.is_empty();
        let by_end: BTreeMap<i64, &P> = points.iter().map(|point| (point.t_ns(), point)).collect();
        for (what, of) in lines {
            let full = if what.is_empty() { (*name).clone() } else { format!("{name} {what}") };
            let values = ticks.clock.values(|index| by_end.get(&ticks.ends[index]).and_then(|point| of(point)));
            if lines.len() == 1 || values.range().is_some_and(|(_, high)| high > 0.0) {
                drawn.push(line(&full, LineStyle::category(drawn.len()), values));
            } else if is_first && values.range().is_some() {
                of_zero.push(line(&full, LineStyle::category(of_zero.len()), values));
            }
        }
    }
    if drawn.is_empty() { of_zero } else { drawn }
}

fn devices(
    facts: &RecordingFacts,
    run: &RunFacts,
    y: Axis,
    weight: fn(&DiskPoint) -> Option<f64>,
    lines: &[OfDevice<'_, DiskPoint>],
) -> Option<Drawing> {
    each(&facts.disks, run, y, weight, lines)
}

pub(crate) fn disk_rate(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("requests per second", Unit::OpsPerSecond, Scale::Linear);
    devices(
        facts,
        run,
        y,
        DiskPoint::bytes,
        &[
            ("read", |point| point.reads),
            ("write", |point| point.writes),
            ("discard", |point| point.discards),
            ("all", |point| point.all),
        ],
    )
}

pub(crate) fn disk_throughput(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("bytes per second", Unit::BytesPerSecond, Scale::Linear);
    devices(
        facts,
        run,
        y,
        DiskPoint::bytes,
        &[
            ("read", |point| point.read_bytes),
            ("write", |point| point.write_bytes),
            ("discard", |point| point.discard_bytes),
            ("all", |point| point.all_bytes),
        ],
    )
}

pub(crate) fn disk_response(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("mean response time", Unit::Nanoseconds, Scale::Log);
    devices(facts, run, y, DiskPoint::bytes, &[("", |point| point.response_ns.filter(|ns| *ns > 0.0))])
}

pub(crate) fn disk_queue(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("requests", Unit::Count, Scale::Linear);
    devices(facts, run, y, DiskPoint::bytes, &[("", |point| point.queue)])
}

pub(crate) fn disk_busy(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let y = axis("% of the time", Unit::Percent, Scale::Linear);
    devices(facts, run, y, DiskPoint::bytes, &[("", |point| point.busy)])
}

/// Achieved rate and response time of the runs that measured something.
pub(crate) fn summaries(facts: &RecordingFacts) -> Vec<(&RunFacts, crate::RunSummary)> {
    measured(facts).into_iter().filter(|(_, summary)| summary.ops > 0.0).collect()
}

/// The same with runs that were measured and in which no operation succeeded.
pub(crate) fn measured(facts: &RecordingFacts) -> Vec<(&RunFacts, crate::RunSummary)> {
    facts
        .runs
        .iter()
        .map(|run| (run, run_summary(facts, run)))
        .filter(|(run, summary)| was_measured(run, summary))
        .collect()
}

/// Was this run measured? Not one that filled the targets, or ended before anything was.
pub(crate) fn was_measured(run: &RunFacts, summary: &crate::RunSummary) -> bool {
    match run.main_phase() {
        _ if run.is_of_commands() => false,
        LoadPhase::Format | LoadPhase::Verify => false,
        LoadPhase::Measure => summary.iops.is_some(),
        _ => summary.iops.is_some() && summary.ops > 0.0,
    }
}
