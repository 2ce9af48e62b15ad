//! How sure the difference of two single runs is: four slow cosines.
//!
//! Neighbouring seconds resemble each other, so the spread of a figure over a run cannot be had from the spread of its seconds.
//! What decides is how much the slowest movements weigh, those of half a period to two periods over the run: their mean
//! power is the variance of the figure (a series variance estimator with four cosine weights; Müller 2007, Lazarus et al. 2018).
//! All figures are logarithms, so that differences are ratios. Quantiles go through the distribution function: an interval of the
//! share at or below a value is turned into one of the value (Woodruff 1952), and two of these into one of their difference (MOVER:
//! Zou and Donner 2008).

use super::per_second::{LoadRound, RoundStep};
use quantity::histogram::Histogram;
use rates::OperationTimes;
use rates::measure::{MeasureKind, RateFlow, TimeKind};
use rates::samples::LogInterval;
use std::borrow::Cow;

/// Slow movements whose power is looked at.
pub(super) const COSINES: u32 = 4;
/// A bucket that holds more than this part of the smaller side of a quantile hides where in it the quantile is.
const COARSE: f64 = 0.25;
/// Empty room between values that is as wide as this (natural logarithm) may be one between two modes.
const GAP: f64 = 0.4;

/// All times, those without an end with what they had taken.
pub(super) fn whole(times: &OperationTimes) -> Cow<'_, Histogram> {
    if times.open.count() == 0 { Cow::Borrowed(&times.ended) } else { Cow::Owned(times.at_least()) }
}

fn count(flow: RateFlow) -> fn(&RoundStep) -> f64 {
    match flow {
        RateFlow::Operations => |step| step.ops,
        RateFlow::Bytes => |step| step.bytes,
    }
}

/// The logarithm of a figure; `None` where it is not known, or 0.
pub(crate) fn theta(round: &LoadRound, kind: MeasureKind) -> Option<f64> {
    let value = match kind {
        MeasureKind::Rate(flow) => {
            let all = round.steps.iter().chain([&round.over_gaps]);
            all.map(count(flow)).sum::<f64>() / (round.measured_s() + round.over_gaps.length_s)
        }
        MeasureKind::Mean(clock) => whole(round.times(clock)).mean()?,
        MeasureKind::Quantile(clock, p) => whole(round.times(clock)).quantile_within(p)?.value,
        MeasureKind::Plain => return None,
    };
    (value > 0.0 && value.is_finite()).then(|| value.ln())
}

/// How far each step pulls a figure from its mean, as a part of it (of a quantile: as a part of all operations). Sums to 0.
pub(crate) fn series(round: &LoadRound, kind: MeasureKind) -> Option<Vec<f64>> {
    let steps = &round.steps;
    let t = steps.len() as f64;
    match kind {
        MeasureKind::Rate(flow) => {
            let counts: Vec<f64> = steps.iter().map(count(flow)).collect();
            let all: f64 = counts.iter().sum();
            let (rate, mean) = (all / round.measured_s(), all / t);
            let of = |(step, count): (&RoundStep, f64)| (count - rate * step.length_s) / mean;
            (all > 0.0).then(|| steps.iter().zip(counts).map(of).collect())
        }
        MeasureKind::Mean(clock) => {
            let times = || steps.iter().map(|step| step.times(clock));
            let all: f64 = times().map(|times| times.count() as f64).sum();
            let mean = times().map(|times| times.sum() as f64).sum::<f64>() / all;
            let of = |times: &Histogram| (times.sum() as f64 - mean * times.count() as f64) / (all / t * mean);
            (all > 0.0 && mean > 0.0).then(|| times().map(of).collect())
        }
        MeasureKind::Quantile(clock, p) => {
            let above = above(round, clock, p)?;
            let counts: Vec<f64> = steps.iter().map(|step| step.times(clock).count() as f64).collect();
            let all: f64 = counts.iter().sum();
            // Centred by the share that was found: slices are coarser than the whole, so it is not quite 1 − p.
            let share = above.iter().sum::<f64>() / all;
            let of = |(above, count): (&f64, &f64)| (above - share * count) / (all / t);
            (all > 0.0).then(|| above.iter().zip(&counts).map(of).collect())
        }
        MeasureKind::Plain => None,
    }
}

/// How many operations of each step took longer than the quantile of all.
pub(super) fn above(round: &LoadRound, clock: TimeKind, p: f64) -> Option<Vec<f64>> {
    let quantile = whole(round.times(clock)).quantile_within(p)?.value;
    Some(round.steps.iter().map(|step| step.times(clock).above(quantile)).collect())
}

/// The variance of a figure, from how far each step pulled it.
pub(crate) fn variance(series: &[f64]) -> f64 {
    let t = series.len() as f64;
    let power = |j: u32| {
        let angle = std::f64::consts::PI * f64::from(j) / t;
        let sum: f64 = series.iter().enumerate().map(|(at, y)| y * (angle * (at as f64 + 0.5)).cos()).sum();
        2.0 / t * sum * sum
    };
    let variance = (1..=COSINES).map(power).sum::<f64>() / f64::from(COSINES) / t;
    // Rounding of a series that is 0.
    if variance < 1e-24 || !variance.is_finite() { 0.0 } else { variance }
}

/// Degrees of freedom of the sum of two variances with four each (Welch–Satterthwaite).
pub(super) fn freedom((a, b): (f64, f64)) -> f64 {
    let four = f64::from(COSINES);
    if a + b == 0.0 { 2.0 * four } else { (a + b).powi(2) / ((a * a + b * b) / four) }
}

/// The interval of the difference of a figure with these variances, `factor` standard errors to each side.
///
/// `None` where the figure is not known on one side.
pub(crate) fn interval(
    (a, b): (&LoadRound, &LoadRound),
    kind: MeasureKind,
    variances: (f64, f64),
    factor: f64,
) -> Option<LogInterval> {
    let (was, is) = (theta(a, kind)?, theta(b, kind)?);
    let d = is - was;
    let MeasureKind::Quantile(clock, p) = kind else {
        let half = factor * (variances.0 + variances.1).sqrt();
        return Some(LogInterval { low: d - half, high: d + half });
    };
    let (low_a, high_a) = woodruff(&whole(a.times(clock)), p, variances.0, factor)?;
    let (low_b, high_b) = woodruff(&whole(b.times(clock)), p, variances.1, factor)?;
    let w = width(a, clock, p).max(width(b, clock, p));
    Some(LogInterval { low: d - (is - low_b).hypot(high_a - was) - w, high: d + (high_b - is).hypot(was - low_a) + w })
}

/// The interval of a quantile (logarithms), from the variance of the share at or below it.
pub(super) fn woodruff(times: &Histogram, p: f64, variance: f64, factor: f64) -> Option<(f64, f64)> {
    let logit = (p / (1.0 - p)).ln();
    let step = factor * variance.sqrt() / (p * (1.0 - p));
    let at = |logit: f64| {
        let share = 1.0 / (1.0 + (-logit).exp());
        times.quantile_within(share).map(|quantile| quantile.value.max(f64::MIN_POSITIVE).ln())
    };
    Some((at(logit - step)?, at(logit + step)?))
}

/// How much the buckets hide of where a quantile is (natural logarithm): the width of its bucket where that holds much, at the
/// resolution of the whole and at that of the steps; 0 elsewhere.
pub(super) fn width(round: &LoadRound, clock: TimeKind, p: f64) -> f64 {
    let times = whole(round.times(clock));
    let bits = round.steps.iter().map(|step| step.times(clock)).filter(|times| times.count() > 0);
    let bits = bits.map(Histogram::sub_bits).min().unwrap_or(times.sub_bits());
    let of = |times: &Histogram| {
        let quantile = times.quantile_within(p)?;
        let is_coarse = quantile.share > COARSE * p.min(1.0 - p);
        is_coarse.then(|| (quantile.high / quantile.low.max(1.0)).ln())
    };
    let coarse = if bits < times.sub_bits() { of(&times.collapse(bits)) } else { None };
    of(&times).unwrap_or(0.0).max(coarse.unwrap_or(0.0))
}

/// Does the interval of a quantile span a wide gap without values? Then a little more on one side of it moves the quantile over
/// the gap, and its ratio says nothing of how fast either mode is.
pub(super) fn is_between_modes(times: &Histogram, (low, high): (f64, f64)) -> bool {
    let edges: Vec<(f64, f64)> = times.buckets().map(|(low, high, _)| (low.max(1) as f64, high as f64)).collect();
    edges.windows(2).any(|pair| {
        let (from, to) = (pair[0].1.ln(), pair[1].0.ln());
        to - from > GAP && from >= low - GAP && from < high && to > low && to - from > 0.5 * (high - low)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cosine of the basis over `t` steps.
    fn cosine(j: u32, t: usize) -> Vec<f64> {
        (1..=t).map(|at| (std::f64::consts::PI * f64::from(j) * (at as f64 - 0.5) / t as f64).cos()).collect()
    }

    #[test]
    fn a_cosine_has_all_its_power_in_its_own_place() {
        for t in [60, 61, 300] {
            for j in 1..=6 {
                // L_j = √(2/T)·T/2 = √(T/2), all others 0; v = L²/4/T = 1/8 for j up to 4, and 0 beyond.
                let expected = if j <= 4 { 1.0 / 8.0 } else { 0.0 };
                assert!((variance(&cosine(j, t)) - expected).abs() < 1e-12, "{j} of {t}");
            }
        }
        assert_eq!(variance(&[1e-17; 60]), 0.0);
    }

    #[test]
    fn white_noise_gives_the_variance_of_the_mean() {
        let mut state = 3_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        let mean = (0..4000).map(|_| variance(&(0..100).map(|_| draw()).collect::<Vec<_>>())).sum::<f64>() / 4000.0;
        let truth = 1.0 / 12.0 / 100.0;
        assert!((mean / truth - 1.0).abs() < 0.05, "{mean} for {truth}");
    }

    #[test]
    fn degrees_of_freedom_are_between_four_and_eight() {
        assert_eq!(freedom((1.0, 1.0)), 8.0);
        assert_eq!(freedom((0.0, 3.0)), 4.0);
        assert!((freedom((1.0, 3.0)) - 16.0 / 2.5).abs() < 1e-12);
        assert_eq!(freedom((0.0, 0.0)), 8.0);
    }

    /// Ten equal seconds: half of the operations in [1024, 1056), half in [2048, 2112).
    fn two_buckets() -> LoadRound {
        let mut times = Histogram::new(5);
        (0..50).for_each(|_| times.record(1030));
        (0..50).for_each(|_| times.record(2050));
        let step = RoundStep { length_s: 1.0, ops: 100.0, response: times, ..RoundStep::default() };
        let mut round = LoadRound { steps: vec![step; 10], ..LoadRound::default() };
        round.steps.iter().for_each(|step| round.response.ended.merge(&step.response));
        round
    }

    #[test]
    fn an_interval_of_two_buckets_is_what_the_formulas_say() {
        let round = two_buckets();
        let times = whole(&round.response);
        // p = ¼ is in the middle of the first bucket: 1040. A share of 0.25 ± is logit ∓ step.
        let kind = MeasureKind::Quantile(TimeKind::Response, 0.25);
        assert_eq!(theta(&round, kind), Some(1040.0_f64.ln()));
        let (variance, factor) = (0.0004, 2.0);
        let step = 2.0 * 0.02 / (0.25 * 0.75);
        let share = |sign: f64| 1.0 / (1.0 + (-((1.0_f64 / 3.0).ln() + sign * step)).exp());
        let at = |share: f64| (1024.0 + 32.0 * share / 0.5).ln();
        let (low, high) = woodruff(&times, 0.25, variance, factor).unwrap();
        assert!((low - at(share(-1.0))).abs() < 1e-12 && (high - at(share(1.0))).abs() < 1e-12, "{low} {high}");
        // Both sides are the same: d = 0, and the bucket, which holds half of all, hides where in it the quantile is.
        let both = interval((&round, &round), kind, (variance, variance), factor).unwrap();
        let (middle, w) = (1040.0_f64.ln(), (1056.0_f64 / 1024.0).ln());
        let mover = (middle - low).hypot(high - middle) + w;
        assert!((both.low + mover).abs() < 1e-12 && (both.high - mover).abs() < 1e-12, "{both:?} {mover}");
        // Every second had the same share above: no variance.
        assert_eq!(series(&round, kind).unwrap(), vec![0.0; 10]);
        assert!(is_between_modes(&times, (1050.0_f64.ln(), 2060.0_f64.ln())));
        assert!(!is_between_modes(&times, (low, high)));
    }

    #[test]
    fn a_short_last_step_pulls_no_rate() {
        let mut round = two_buckets();
        round.steps.push(RoundStep { length_s: 0.5, ops: 50.0, ..RoundStep::default() });
        let series = series(&round, MeasureKind::Rate(RateFlow::Operations)).unwrap();
        assert!(series.iter().all(|y| y.abs() < 1e-12), "{series:?}");
        assert_eq!(theta(&round, MeasureKind::Rate(RateFlow::Operations)), Some(100.0_f64.ln()));
    }
}
