//! Tests of the SNIA's Solid State Storage Performance Test Specification (PTS) as plans: ordinary runs, and rounds of them
//! until they are steady.

use crate::{
    AddressDistribution, AddressOrder, AddressPattern, AddressRange, DataLimit, OpMix, OpenFlags, ParameterText, Plan,
    RangeBound, Run, ShellCommand, SteadyMeasure, SteadyRounds, StopCondition, TargetSpec, TextSpan, TransferSize,
    Workload,
};
use std::fmt::Write as _;
use std::path::PathBuf;

const SECOND_NS: u64 = 1_000_000_000;
/// Bytes of a write that preconditions.
const PRECONDITION_BYTES: u64 = 128 << 10;
/// The transfer that says when a test of random I/O is steady.
const TRACKED_BYTES: u64 = 4 << 10;
/// Rounds of the measurement window.
const WINDOW: usize = 5;
/// Most rounds.
const ROUNDS_MAX: u64 = 25;
/// Operations in flight where a test leaves that open.
const DEPTH: u32 = 32;
/// Longest time of the write saturation test.
const SATURATION_NS: u64 = 24 * 3600 * SECOND_NS;
/// It ends when so many times the capacity was written.
const SATURATION_TIMES: f64 = 4.0;
/// The most runs of a round.
const POINTS_MAX: usize = 4096;

/// What the reader of a result has to know, one sentence or two.
pub const CAVEAT: &str = "This is a procedure after the SNIA's SSS PTS 2.0.2, whose text was not at hand: docs/pts.md lists what is \
     taken from public summaries of it and what is iodyno's own choice. Results are neither certified nor comparable with those of \
     SNIA's testers without a look at that list.";

/// A test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtsTest {
    /// Random I/O by transfer size and share of reads.
    Iops,
    /// Sequential reads and writes of large transfers.
    Throughput,
    /// Small random I/O, one at a time.
    Latency,
    /// Random writes from a fresh device on.
    WriteSaturation,
}

impl PtsTest {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Iops, Self::Throughput, Self::Latency, Self::WriteSaturation];

    /// Its word on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::WriteSaturation => "writesat",
        }
    }

    /// The test of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|test| test.word() == word)
    }

    /// Transfer sizes, in the order of a round.
    #[must_use]
    pub fn sizes(self) -> &'static [u64] {
        match self {
            Self::Iops => &[1 << 20, 128 << 10, 64 << 10, 32 << 10, 16 << 10, 8 << 10, 4 << 10, 512],
            Self::Throughput => &[1 << 20, 128 << 10],
            Self::Latency => &[8 << 10, 4 << 10, 512],
            Self::WriteSaturation => &[4 << 10],
        }
    }

    /// Per cent of reads, in the order of a round.
    #[must_use]
    pub fn mixes(self) -> &'static [u32] {
        match self {
            Self::Iops => &[100, 95, 65, 50, 35, 5, 0],
            Self::Throughput => &[100, 0],
            Self::Latency => &[100, 65, 0],
            Self::WriteSaturation => &[0],
        }
    }
}

/// How a device is brought into a defined state before the rounds.
#[derive(Clone, Debug, PartialEq)]
pub enum Preconditioning {
    /// Sequential writes of so many times the capacity; 0: none.
    Times(f64),
    /// A command of the shell.
    Command(String),
}

/// The part of a device that is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PtsCapacity {
    /// Its first bytes; a file is made as long.
    Bytes(u64),
    /// Its first part, a fraction up to 1.
    Fraction(f64),
}

/// A test with what is to be different from the specification; `None`, or empty, is as there.
#[derive(Clone, Debug, PartialEq)]
pub struct PtsRequest {
    /// Which.
    pub test: PtsTest,
    /// The device or file. All that is used of it is overwritten.
    pub target: PathBuf,
    /// Time of a point; of write saturation, of the whole test.
    pub point_ns: Option<u64>,
    /// Most rounds.
    pub rounds_max: Option<u64>,
    /// Transfer sizes.
    pub sizes: Vec<u64>,
    /// Per cent of reads.
    pub mixes: Vec<u32>,
    /// Operations in flight.
    pub depth: Option<u32>,
    /// What is used of the target.
    pub capacity: Option<PtsCapacity>,
    /// Purges the device before each preconditioning: a command of the shell.
    pub purge: Option<String>,
    /// See [`Preconditioning`].
    pub precondition: Option<Preconditioning>,
    /// Through the page cache.
    pub is_buffered: bool,
    /// Length of a reporting interval.
    pub interval_ns: Option<u64>,
}

impl PtsRequest {
    /// The test as it is specified.
    #[must_use]
    pub fn of(test: PtsTest, target: PathBuf) -> Self {
        Self {
            test,
            target,
            point_ns: None,
            rounds_max: None,
            sizes: Vec::new(),
            mixes: Vec::new(),
            depth: None,
            capacity: None,
            purge: None,
            precondition: None,
            is_buffered: false,
            interval_ns: None,
        }
    }
}

/// A mistake in a [`PtsRequest`], with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PtsMistake {
    /// Too few for a window.
    #[error(
        "rounds={0}: a measurement window has {WINDOW} rounds, so that fewer are never steady: rounds={WINDOW} or more"
    )]
    TooFewRounds(u64),
    /// Fewer than two intervals.
    #[error("seconds=: a point lasts two reporting intervals of {} s at least: raise it, or lower -i", *.0 as f64 / 1e9)]
    TooShort(u64),
    /// A value out of its bounds.
    #[error("{0}")]
    Value(&'static str),
}

/// `512`, `4k`, `1m`.
#[must_use]
pub fn size_text(bytes: u64) -> String {
    match bytes {
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{}m", bytes >> 20),
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{}k", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

/// The plan of a test.
///
/// # Errors
/// What is wrong with the request.
pub fn pts_plan(request: &PtsRequest) -> Result<Plan, PtsMistake> {
    check(request)?;
    let mut plan = Plan { targets: vec![target(request)], ..Plan::default() };
    match request.test {
        PtsTest::WriteSaturation => plan.runs = saturation(request),
        // Each transfer size is a test of its own, on a device that was purged for it.
        PtsTest::Throughput => sizes(request).iter().for_each(|size| add_rounds(&mut plan, request, &[*size])),
        PtsTest::Iops | PtsTest::Latency => add_rounds(&mut plan, request, sizes(request)),
    }
    let text = described(request, &plan);
    plan.sources = vec![ParameterText { name: format!("pts:{}", request.test.word()), text }];
    Ok(plan)
}

fn check(request: &PtsRequest) -> Result<(), PtsMistake> {
    let (interval_ns, point_ns) = (interval(request), point(request));
    let is_fraction = |fraction: f64| fraction > 0.0 && fraction <= 1.0;
    if point_ns < interval_ns.saturating_mul(2) {
        return Err(PtsMistake::TooShort(interval_ns));
    }
    if let Some(rounds) = request.rounds_max.filter(|rounds| *rounds < WINDOW as u64) {
        return Err(PtsMistake::TooFewRounds(rounds));
    }
    let wrong = [
        (request.rounds_max > Some(10_000), "rounds=: 10000 are the most"),
        (request.sizes.contains(&0), "sizes=: a transfer has 512 bytes or more: sizes=4k,8k"),
        (request.mixes.iter().any(|mix| *mix > 100), "mixes=: per cent of reads, 0 to 100: mixes=100,65,0"),
        (
            sizes(request).len().saturating_mul(mixes(request).len()) > POINTS_MAX,
            "sizes= and mixes= make more than 4096 points: list fewer",
        ),
        (request.depth == Some(0), "depth=0: at least one operation is in flight"),
        (
            matches!(request.capacity, Some(PtsCapacity::Fraction(part)) if !is_fraction(part)),
            "capacity=: a part is more than 0 % and at most 100 %: capacity=50%, or a size: capacity=64g",
        ),
        (
            request.capacity == Some(PtsCapacity::Bytes(0)),
            "capacity=0: give a size or a part: capacity=64g, capacity=50%",
        ),
        (
            matches!(request.precondition, Some(Preconditioning::Times(times)) if !(0.0..=1000.0).contains(&times)),
            "precondition=: times of the capacity, 0 to 1000, or a command: precondition=2",
        ),
    ];
    let found = wrong.into_iter().find(|(is_wrong, _)| *is_wrong);
    found.map_or(Ok(()), |(_, message)| Err(PtsMistake::Value(message)))
}

fn sizes(request: &PtsRequest) -> &[u64] {
    if request.sizes.is_empty() { request.test.sizes() } else { &request.sizes }
}

fn mixes(request: &PtsRequest) -> &[u32] {
    if request.mixes.is_empty() { request.test.mixes() } else { &request.mixes }
}

fn point(request: &PtsRequest) -> u64 {
    request.point_ns.unwrap_or(match request.test {
        PtsTest::WriteSaturation => SATURATION_NS,
        _ => 60 * SECOND_NS,
    })
}

/// Length of an interval: write saturation is reported by the minute; of rounds the sums matter, and a thousand runs with an
/// interval per second would make a report that no browser opens.
fn interval(request: &PtsRequest) -> u64 {
    let (parts, most) = if request.test == PtsTest::WriteSaturation { (20, 60) } else { (12, 5) };
    let usual = (point(request) / parts).clamp(SECOND_NS / 100, most * SECOND_NS);
    request.interval_ns.unwrap_or(usual)
}

fn depth(request: &PtsRequest) -> u32 {
    request.depth.unwrap_or(if request.test == PtsTest::Latency { 1 } else { DEPTH })
}

fn times(request: &PtsRequest) -> f64 {
    match (&request.precondition, request.test) {
        (Some(Preconditioning::Times(times)), _) => *times,
        (Some(Preconditioning::Command(_)), _) | (None, PtsTest::WriteSaturation) => 0.0,
        (None, _) => 2.0,
    }
}

fn target(request: &PtsRequest) -> TargetSpec {
    let (size_bytes, range) = match request.capacity {
        None => (None, None),
        Some(PtsCapacity::Bytes(bytes)) => (Some(bytes), None),
        Some(PtsCapacity::Fraction(part)) => {
            (None, Some(AddressRange { low: RangeBound::Bytes(0), high: RangeBound::Fraction(part) }))
        }
    };
    TargetSpec {
        size_bytes,
        depth: depth(request),
        open: OpenFlags { direct: !request.is_buffered, ..OpenFlags::default() },
        range,
        ..TargetSpec::whole("target".to_string(), request.target.clone())
    }
}

/// So many times what is used of the target.
fn capacities(request: &PtsRequest, times: f64) -> DataLimit {
    let part = if let Some(PtsCapacity::Fraction(part)) = request.capacity { part } else { 1.0 };
    DataLimit::TargetSizes(times * part)
}

fn shell(line: &str) -> ShellCommand {
    ShellCommand { line: line.to_string(), output: "log".to_string(), abort: true, span: TextSpan::default() }
}

fn run(request: &PtsRequest, name: &str, order: AddressOrder, (bytes, read): (u64, u32)) -> Run {
    let workload = Workload {
        mix: OpMix::read_write(f64::from(read) / 100.0),
        transfer: TransferSize::Fixed(bytes),
        address: AddressPattern { order, ..AddressPattern::default() },
        ..Workload::of_blocks(name.to_string(), vec![0], TextSpan::default())
    };
    Run {
        loops: vec![("xfersize".to_string(), size_text(bytes)), ("rdpct".to_string(), read.to_string())],
        elapsed_ns: Some(point(request)),
        ..Run::new(name, vec![workload], interval(request))
    }
}

const RANDOM: AddressOrder = AddressOrder::Random(AddressDistribution::Uniform);
const SEQUENTIAL: AddressOrder = AddressOrder::Sequential { once: false, backward: false };

/// Writes without regard to the test, so that every device has been written as a whole.
fn preconditioning(request: &PtsRequest, before: &str) -> Option<Run> {
    let times = times(request);
    let run = || {
        let limit = capacities(request, times);
        Run {
            loops: vec![("before".to_string(), before.to_string())],
            elapsed_ns: None,
            interval_ns: request.interval_ns.unwrap_or(SECOND_NS),
            stop: StopCondition { written: Some(limit), ..StopCondition::default() },
            start_commands: request.purge.iter().map(|line| shell(line)).collect(),
            format: true,
            ..self::run(request, "precondition", SEQUENTIAL, (PRECONDITION_BYTES, 0))
        }
    };
    (times > 0.0).then(run)
}

/// Purge, preconditioning, and rounds of all combinations of these sizes with the mixes.
fn add_rounds(plan: &mut Plan, request: &PtsRequest, sizes: &[u64]) {
    let is_sequential = request.test == PtsTest::Throughput;
    let name = match sizes {
        [only] if is_sequential => format!("{} {}", request.test.word(), size_text(*only)),
        _ => request.test.word().to_string(),
    };
    let writes = preconditioning(request, &name);
    let mut before: Vec<ShellCommand> = Vec::new();
    if writes.is_none() {
        before.extend(request.purge.iter().map(|line| shell(line)));
    }
    if let Some(Preconditioning::Command(line)) = &request.precondition {
        before.push(shell(line));
    }
    plan.runs.extend(writes);
    let first = plan.runs.len();
    let order = if is_sequential { SEQUENTIAL } else { RANDOM };
    let points = mixes(request).iter().flat_map(|mix| sizes.iter().map(move |size| (*size, *mix)));
    let points: Vec<(u64, u32)> = points.collect();
    plan.runs.extend(points.iter().map(|point| run(request, request.test.word(), order, *point)));
    plan.rounds.push(SteadyRounds {
        name,
        first,
        count: points.len(),
        before,
        tracked: tracked(request, &points).into_iter().map(|at| first + at).collect(),
        measure: match request.test {
            PtsTest::Iops | PtsTest::WriteSaturation => SteadyMeasure::Operations,
            PtsTest::Throughput => SteadyMeasure::Bytes,
            PtsTest::Latency => SteadyMeasure::Service,
        },
        window: WINDOW,
        rounds_max: request.rounds_max.unwrap_or(ROUNDS_MAX),
        range: 0.20,
        slope: 0.10,
    });
}

/// Which points say when the rounds are steady: writes of 4 KiB, or what comes next to it; of sequential I/O all.
fn tracked(request: &PtsRequest, points: &[(u64, u32)]) -> Vec<usize> {
    if request.test == PtsTest::Throughput {
        return (0..points.len()).collect();
    }
    let distance = |(size, mix): &(u64, u32)| (*mix, size.abs_diff(TRACKED_BYTES));
    points.iter().enumerate().min_by_key(|(_, point)| distance(point)).map(|(at, _)| at).into_iter().collect()
}

/// Random writes until the device is full of them several times over.
fn saturation(request: &PtsRequest) -> Vec<Run> {
    let mut before: Vec<ShellCommand> = Vec::new();
    let mut runs: Vec<Run> = preconditioning(request, request.test.word()).into_iter().collect();
    if runs.is_empty() {
        before.extend(request.purge.iter().map(|line| shell(line)));
    }
    if let Some(Preconditioning::Command(line)) = &request.precondition {
        before.push(shell(line));
    }
    let limit = capacities(request, SATURATION_TIMES);
    let points = mixes(request).iter().flat_map(|mix| sizes(request).iter().map(move |size| (*size, *mix)));
    runs.extend(points.map(|point| Run {
        stop: StopCondition { total: Some(limit), ..StopCondition::default() },
        start_commands: std::mem::take(&mut before),
        ..run(request, request.test.word(), RANDOM, point)
    }));
    runs
}

/// What is done, for the recording and the report.
fn described(request: &PtsRequest, plan: &Plan) -> String {
    let mut text = format!("pts:{} {}\n\n{CAVEAT}\n\n", request.test.word(), request.target.display());
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name}: {value}");
    };
    line(
        "purge",
        match &request.purge {
            Some(command) => format!("before each part, {command}"),
            None => {
                "none was asked for (purge='COMMAND'): the device begins in the state in which it was found".to_string()
            }
        },
    );
    line(
        "preconditioning",
        match (&request.precondition, times(request)) {
            (Some(Preconditioning::Command(command)), _) => command.clone(),
            (_, times) if times > 0.0 => {
                format!("sequential writes of 128 KiB, {times} times what is used of the target")
            }
            _ => "none".to_string(),
        },
    );
    line(
        "used of the target",
        match request.capacity {
            None => "all".to_string(),
            Some(PtsCapacity::Bytes(bytes)) => format!("the first {bytes} bytes"),
            Some(PtsCapacity::Fraction(part)) => format!("the first {} %", part * 100.0),
        },
    );
    line("operations in flight", depth(request).to_string());
    line("page cache", if request.is_buffered { "used" } else { "passed by (O_DIRECT)" }.to_string());
    line("data of writes", "random, cannot be compressed".to_string());
    line("write cache of the device", "left as it is".to_string());
    let list = |texts: Vec<String>| texts.join(", ");
    line("transfer sizes", list(sizes(request).iter().map(|size| size_text(*size)).collect()));
    line("reads/writes", list(mixes(request).iter().map(|mix| format!("{mix}/{}", 100 - mix)).collect()));
    line("time of a point", format!("{} s", point(request) as f64 / 1e9));
    for rule in &plan.rounds {
        let tracked = rule.tracked.iter().filter_map(|place| plan.runs.get(*place));
        let named = |run: &Run| {
            run.loops.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<String>>().join(" ")
        };
        let what = match rule.measure {
            SteadyMeasure::Operations => "operations per second",
            SteadyMeasure::Bytes => "bytes per second",
            SteadyMeasure::Service => "mean time from submission to completion",
        };
        line(
            &format!("rounds of {}", rule.name),
            format!(
                "until {what} of {} stay within {} % of their average over {} rounds, and the best line through them within {} %; \
             {} rounds at most",
                tracked.map(named).collect::<Vec<String>>().join(" and of "),
                rule.range * 100.0,
                rule.window,
                rule.slope * 100.0,
                rule.rounds_max
            ),
        );
    }
    text
}

#[cfg(test)]
mod tests;
