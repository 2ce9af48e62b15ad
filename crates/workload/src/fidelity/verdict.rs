//! From a comparison to figures with limits, and one sentence.

use super::{FidelityComparison, FidelitySide, correlation, distance};
use quantity::histogram::Histogram;
use quantity::text::format_ns;

/// Caused lateness (due → handed over, by the player's own clock) of 99 and of 99.9 in 100, ns.
const CAUSED_P99_NS: f64 = 50_000.0;
/// See [`CAUSED_P99_NS`].
const CAUSED_P999_NS: f64 = 250_000.0;
/// Issue-time error (kernel's queueing − due, its median taken off) of 99 in 100, ns.
const ISSUE_P99_NS: f64 = 75_000.0;
/// Length of the replay against that of the trace.
const LENGTH_SHARE: f64 = 0.0001;
/// Correlation of the rates, by 100 ms.
const CORRELATION: f64 = 0.9995;

/// What is known besides the comparison.
#[derive(Clone, Debug, Default)]
pub struct ReplayCircumstances {
    /// Handed over − due, by the player's own clock.
    pub caused: Histogram,
    /// Operations that waited because as many as allowed were in flight.
    pub capped: u64,
    /// Times that the trace could not be read fast enough.
    pub starved: u64,
    /// Operations that waited for others that had their blocks, where data is proved and times are to be kept.
    pub deferred: Option<u64>,
    /// Operations that failed.
    pub errors: u64,
    /// I/Os of the trace that could not be played.
    pub left_out: u64,
    /// I/Os that the trace itself has lost, at least.
    pub source_losses: u64,
    /// Is the trace's recording damaged? Then more may be missing.
    pub is_source_damaged: bool,
    /// I/Os that the tracing of the replay has lost.
    pub losses: u64,
    /// Was it to be on time? Otherwise times are shown and not judged.
    pub on_time: bool,
    /// Was it stopped before the end?
    pub is_cut: bool,
    /// The system refused real-time priority.
    pub is_ordinary: bool,
    /// Part of the time of the CPUs on which it played that a hypervisor gave to others, 0 … 1; `None` when that is not known.
    pub stolen: Option<f64>,
}

/// One line of the fidelity report.
#[derive(Clone, Debug, PartialEq)]
pub struct FidelityMeasure {
    /// What.
    pub name: &'static str,
    /// Unit of the figures.
    pub unit: &'static str,
    /// In the trace.
    pub source: Option<f64>,
    /// In the replay.
    pub replay: Option<f64>,
    /// The difference, distance or error that is judged.
    pub error: Option<f64>,
    /// It may be so large (a correlation: so small).
    pub limit: Option<f64>,
    /// Was it? `None`: not judged.
    pub is_kept: Option<bool>,
}

/// The fidelity report.
#[derive(Clone, Debug, PartialEq)]
pub struct FidelityVerdict {
    /// Its lines.
    pub measures: Vec<FidelityMeasure>,
    /// Was the replay faithful?
    pub is_faithful: bool,
    /// One sentence.
    pub sentence: String,
}

/// The value below which the share `q` of sorted values lies.
fn quantile(sorted: &[i64], q: f64) -> Option<f64> {
    place(sorted, q).map(|value| value as f64)
}

fn place(sorted: &[i64], q: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a slice")]
    let place = ((sorted.len() as f64 * q).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(place).copied()
}

struct Lines(Vec<FidelityMeasure>);

impl Lines {
    fn shown(&mut self, name: &'static str, unit: &'static str, pair: [Option<f64>; 2], error: Option<f64>) {
        let [source, replay] = pair;
        self.0.push(FidelityMeasure { name, unit, source, replay, error, limit: None, is_kept: None });
    }

    fn judged(
        &mut self,
        name: &'static str,
        unit: &'static str,
        pair: [Option<f64>; 2],
        (error, limit): (Option<f64>, f64),
    ) {
        let [source, replay] = pair;
        let is_kept = error.map(|error| if unit == "r" { error >= limit } else { error <= limit });
        self.0.push(FidelityMeasure { name, unit, source, replay, error, limit: Some(limit), is_kept });
    }
}

/// Counts, kinds, sizes, addresses, order.
fn sameness(lines: &mut Lines, comparison: &FidelityComparison) {
    let (source, replay) = (&comparison.source, &comparison.replay);
    for (at, name) in ["reads", "writes", "discards", "flushes", "writes of zeroes"].into_iter().enumerate() {
        let (one, other) = (source.ops[at], replay.ops[at]);
        if one + other > 0 {
            lines.judged(name, "I/Os", [Some(one as f64), Some(other as f64)], (Some(one.abs_diff(other) as f64), 0.0));
        }
    }
    let bytes = [source.bytes, replay.bytes].map(|bytes| Some(bytes as f64));
    lines.judged("bytes", "B", bytes, (Some(source.bytes.abs_diff(replay.bytes) as f64), 0.0));
    let (missing, extra) = (comparison.missing() as f64, comparison.extra() as f64);
    lines.judged("missing in the replay", "I/Os", [None, None], (Some(missing), 0.0));
    lines.judged("only in the replay", "I/Os", [None, None], (Some(extra), 0.0));
    lines.judged("out of order", "I/Os", [None, None], (Some(comparison.inversions as f64), 0.0));
}

/// When things happened.
fn timing(lines: &mut Lines, comparison: &FidelityComparison, on_time: bool) {
    let (source, replay) = (&comparison.source, &comparison.replay);
    let length = [source, replay].map(|side: &FidelitySide| Some(side.length_ns() as f64));
    let share = length[0].filter(|ns| *ns > 0.0).zip(length[1]).map(|(one, other)| (other - one).abs() / one);
    let errors = comparison.errors();
    let middle = place(&errors, 0.5).unwrap_or(0);
    let mut aligned: Vec<i64> = errors.iter().map(|error| (error - middle).abs()).collect();
    aligned.sort_unstable();
    let rates = [true, false].map(|seconds| {
        let (one, other) = comparison.rates(seconds);
        correlation(&one, &other)
    });
    if on_time {
        lines.judged("length (difference: share)", "ns", length, (share, LENGTH_SHARE));
        lines.shown("issue time − due, median", "ns", [None, None], quantile(&errors, 0.5));
        lines.shown("issue-time error, aligned, p50", "ns", [None, None], quantile(&aligned, 0.5));
        lines.judged("issue-time error, aligned, p99", "ns", [None, None], (quantile(&aligned, 0.99), ISSUE_P99_NS));
        lines.shown("issue-time error, aligned, p99.9", "ns", [None, None], quantile(&aligned, 0.999));
        lines.shown("issue-time error, aligned, max", "ns", [None, None], quantile(&aligned, 1.0));
        lines.shown("I/Os per second, correlation", "r", [None, None], rates[0]);
        lines.judged("I/Os per 100 ms, correlation", "r", [None, None], (rates[1], CORRELATION));
    } else {
        lines.shown("length (difference: share)", "ns", length, share);
        lines.shown("I/Os per second, correlation", "r", [None, None], rates[0]);
    }
}

/// How the device took it: shown, since that is what a replay is to find out.
fn behaviour(lines: &mut Lines, comparison: &FidelityComparison) {
    let pairs = [
        ("time between I/Os (KS distance)", "ns", &comparison.source.gaps, &comparison.replay.gaps),
        ("response time, median (KS distance)", "ns", &comparison.source.response, &comparison.replay.response),
        ("in flight, median (KS distance)", "", &comparison.source.depth, &comparison.replay.depth),
    ];
    for (name, unit, one, other) in pairs {
        let (one, other) = (one.clone().take(), other.clone().take());
        let median = |histogram: &Histogram| histogram.percentile(0.5).map(|value| value as f64);
        lines.shown(name, unit, [median(&one), median(&other)], distance(&one, &other));
    }
    let [one, other] = [&comparison.source, &comparison.replay].map(|side| side.response.clone().take());
    let p99 = |histogram: &Histogram| histogram.percentile(0.99).map(|value| value as f64);
    lines.shown("response time, p99", "ns", [p99(&one), p99(&other)], None);
    let unended = [&comparison.source, &comparison.replay].map(|side| side.unended);
    if unended != [0, 0] {
        let unended = unended.map(|count| Some(count as f64));
        lines.shown("without an end, in no response time", "I/Os", unended, None);
    }
}

/// What the player itself did.
fn player(lines: &mut Lines, around: &ReplayCircumstances) {
    let caused = |q: f64| around.caused.percentile(q).map(|value| value as f64);
    let none = [None, None];
    if around.on_time {
        lines.shown("caused lateness, p50", "ns", none, caused(0.5));
        lines.judged("caused lateness, p99", "ns", none, (caused(0.99), CAUSED_P99_NS));
        lines.judged("caused lateness, p99.9", "ns", none, (caused(0.999), CAUSED_P999_NS));
        lines.shown("caused lateness, max", "ns", none, around.caused.max().map(|value| value as f64));
    }
    let counts = [
        ("held up by the cap on I/Os in flight", around.capped),
        ("waits for the reading of the trace", around.starved),
        ("failed", around.errors),
        ("left out", around.left_out),
        ("lost by the trace", around.source_losses),
        ("lost by the tracing of the replay", around.losses),
    ];
    let deferred = around.deferred.map(|count| ("waited for others on their blocks", count));
    for (name, count) in counts.into_iter().chain(deferred) {
        lines.judged(name, "I/Os", none, (Some(count as f64), 0.0));
    }
}

impl FidelityVerdict {
    /// Judges. `comparison` is `None` where the kernel could not be watched: then only the player's own figures count.
    #[must_use]
    pub fn of(comparison: Option<&FidelityComparison>, around: &ReplayCircumstances) -> Self {
        let mut lines = Lines(Vec::new());
        if let Some(comparison) = comparison {
            sameness(&mut lines, comparison);
            timing(&mut lines, comparison, around.on_time);
            behaviour(&mut lines, comparison);
        }
        player(&mut lines, around);
        let measures = lines.0;
        let reasons = reasons(&measures, comparison, around);
        let is_faithful = reasons.is_empty() && measures.iter().all(|measure| measure.is_kept != Some(false));
        let caused = around.caused.percentile(0.99).map_or("?".to_string(), format_ns);
        let seen = if comparison.is_some() { "" } else { " (by the player's own account: the device was not traced)" };
        let sentence = if is_faithful && around.on_time {
            format!("faithful{seen}: the same I/Os at the same times, lateness p99 {caused}")
        } else if is_faithful {
            format!("faithful{seen}: the same I/Os; their times were not to be kept")
        } else {
            format!("NOT faithful{seen}: {}", reasons.join("; "))
        };
        Self { measures, is_faithful, sentence }
    }
}

/// Why it was not faithful, the cause before its effects.
fn reasons(
    measures: &[FidelityMeasure],
    comparison: Option<&FidelityComparison>,
    around: &ReplayCircumstances,
) -> Vec<String> {
    let broken = |name: &str| measures.iter().any(|one| one.name.starts_with(name) && one.is_kept == Some(false));
    let mut reasons = Vec::new();
    let mut say = |is_so: bool, sentence: String| {
        if is_so {
            reasons.push(sentence);
        }
    };
    say(around.is_cut, "it was stopped before its end".to_string());
    let share = |count: u64| {
        let all = around.caused.count().max(1) as f64;
        format!("{count} I/Os ({:.2} %)", count as f64 * 100.0 / all)
    };
    let slow = "the target was too slow, or the cap (--depth) too small";
    say(around.capped > 0, format!("{} waited for the cap on I/Os in flight: {slow}", share(around.capped)));
    let deferred = around.deferred.unwrap_or(0);
    let why = "which has one I/O at a time where data is validated, and had several in the trace";
    say(deferred > 0, format!("{} waited for another one's end on the same block, {why}", share(deferred)));
    say(around.errors > 0, format!("{} failed", share(around.errors)));
    say(around.left_out > 0, format!("{} I/Os of the trace were left out", around.left_out));
    let lost = around.source_losses;
    say(around.is_source_damaged, format!("the trace is damaged: at least {lost} I/Os are missing in it"));
    say(!around.is_source_damaged && lost > 0, format!("the trace itself has lost {lost} I/Os"));
    say(around.losses > 0, format!("the tracing of the replay has lost {} I/Os", around.losses));
    say(around.starved > 0, "the trace could not be read fast enough".to_string());
    let late = broken("caused lateness") && around.capped == 0 && deferred == 0;
    let mut causes = Vec::new();
    if around.is_ordinary {
        causes.push("it had no real-time priority (CAP_SYS_NICE)".to_string());
    }
    // An idle host takes less than a thousandth.
    if let Some(stolen) = around.stolen.filter(|stolen| *stolen >= 0.003) {
        causes.push(format!("the hypervisor took {:.1} % of its CPU", stolen * 100.0));
    }
    let cause = if causes.is_empty() { "its core was not idle".to_string() } else { causes.join(", and ") };
    let p99 = around.caused.percentile(0.99).map_or("?".to_string(), format_ns);
    say(late, format!("I/Os were handed over late (p99 {p99}): {cause}"));
    let Some(comparison) = comparison else { return reasons };
    let different = comparison.missing() + comparison.extra();
    let explained = around.is_cut || around.losses > 0 || around.errors > 0;
    say(
        different > 0 && !explained,
        format!(
            "{} I/Os of the trace were not seen at the device and {} others were: the device splits or merges otherwise",
            comparison.missing(),
            comparison.extra()
        ),
    );
    let by_target = (broken("issue-time error") || broken("I/Os per 100 ms") || broken("length")) && !late;
    let where_from = "they were handed over in time and came to the device late: the target has no free requests";
    say(by_target && around.capped == 0 && deferred == 0 && !around.is_cut, where_from.to_string());
    say(broken("out of order"), format!("{} I/Os came out of order", comparison.inversions));
    reasons
}
