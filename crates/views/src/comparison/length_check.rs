//! Whether a run is long enough for its own slowness: four cosines know nothing of movements that are slower than the run.

use super::per_second::LoadRound;
use super::two_run_test::{above, series};
use rates::measure::{MeasureKind, RateFlow, TimeKind};

/// Lengths of the batches that are looked at, steps.
const LENGTHS: [usize; 8] = [1, 2, 3, 5, 8, 12, 20, 30];
/// Fewest batches that tell how much neighbours resemble each other.
const BATCHES: usize = 20;
/// Fewest batches for the spread by an autoregression.
const AR_BATCHES: usize = 12;
/// Fewest independent stretches of both runs for a verdict of equality, or of a difference by the interval alone.
pub(super) const INDEPENDENT: f64 = 6.0;
/// Fewest operations above a quantile.
pub(super) const ABOVE: f64 = 20.0;
/// Fewest seconds, as if of equal weight, from which the operations above a quantile come.
pub(super) const TAIL_S: f64 = 6.0;

/// Means of `length` steps each; what is left at the end is left out.
fn batches(series: &[f64], length: usize) -> Vec<f64> {
    series.chunks_exact(length).map(|part| part.iter().sum::<f64>() / length as f64).collect()
}

/// How much neighbours resemble each other; 0 of what does not move.
fn lag_1(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if squares < 1e-18 {
        return 0.0;
    }
    values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / squares
}

/// Corrected for the bias that a correlation of `count` values has (Marriott and Pope 1954).
fn unbiased(correlation: f64, count: usize) -> f64 {
    (correlation + (1.0 + 4.0 * correlation) / count as f64).clamp(0.0, 0.99)
}

/// The figures whose slowness counts for all of them.
pub(super) fn gate_figures(clock: TimeKind) -> [MeasureKind; 4] {
    [
        MeasureKind::Rate(RateFlow::Operations),
        MeasureKind::Mean(clock),
        MeasureKind::Quantile(clock, 0.5),
        MeasureKind::Quantile(clock, 0.9),
    ]
}

/// How many independent stretches two runs are worth, by the slowest of their figures: rate, mean, p50 and p90.
/// 0 where they have too few steps to know.
pub(crate) fn independent(a: &LoadRound, b: &LoadRound, clock: TimeKind) -> f64 {
    let known = gate_figures(clock).into_iter().filter_map(|kind| Some((series(a, kind)?, series(b, kind)?)));
    known.map(|(a, b)| independent_of(&a, &b)).reduce(f64::min).unwrap_or(0.0)
}

/// The same of one figure.
pub(crate) fn independent_of(a: &[f64], b: &[f64]) -> f64 {
    let of = |length: &usize| {
        let (a, b) = (batches(a, *length), batches(b, *length));
        let count = a.len().min(b.len());
        (count >= BATCHES).then(|| {
            let r = unbiased(0.5 * (lag_1(&a) + lag_1(&b)), count);
            count as f64 * (1.0 - r) / (1.0 + r)
        })
    };
    LENGTHS.iter().filter_map(of).reduce(f64::min).unwrap_or(0.0)
}

/// The variance of a figure by an autoregression of its batches, the greatest over their lengths, and its degrees of freedom.
/// It knows slow movements worse than the cosines, and fast ones better: taken where the gate says that the cosines may not do.
pub(super) fn autoregression(series: &[f64]) -> (f64, f64) {
    let of = |length: &usize| {
        let values = batches(series, *length);
        let count = values.len() as f64;
        (values.len() >= AR_BATCHES).then(|| {
            let mean = values.iter().sum::<f64>() / count;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
            let r = unbiased(lag_1(&values), values.len());
            (variance / count * (1.0 + r) / (1.0 - r), (count * (1.0 - r) / (1.0 + r) - 1.0).max(1.0))
        })
    };
    LENGTHS.iter().filter_map(of).reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap_or((0.0, 1.0))
}

/// Degrees of freedom of the sum of two such variances (Welch–Satterthwaite).
pub(super) fn autoregression_freedom((a, b): ((f64, f64), (f64, f64))) -> f64 {
    let both = a.0 + b.0;
    if both == 0.0 { a.1 + b.1 } else { both.powi(2) / (a.0.powi(2) / a.1 + b.0.powi(2) / b.1) }
}

/// How many operations took longer than a quantile, and from how many seconds they come as if these had equal weight.
pub(super) fn tail(round: &LoadRound, clock: TimeKind, p: f64) -> (f64, f64) {
    let all: f64 = round.steps.iter().map(|step| step.times(clock).count() as f64).sum();
    let above = above(round, clock, p).unwrap_or_default();
    let (sum, squares) = above.iter().fold((0.0, 0.0), |(sum, squares), e| (sum + e, squares + e * e));
    let length_s = round.measured_s() / round.steps.len().max(1) as f64;
    (all * (1.0 - p), if squares > 0.0 { length_s.max(1.0) * sum * sum / squares } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_correlation_of_known_series() {
        // 1, −1, 1, −1: neighbours are opposite.
        let there_and_back: Vec<f64> = (0..40).map(|at| if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!((lag_1(&there_and_back) + 39.0 / 40.0).abs() < 1e-12);
        // 0, 1, 2, 3: mean 1.5; (−1.5·−0.5 + −0.5·0.5 + 0.5·1.5) ÷ 5 = 0.25.
        assert!((lag_1(&[0.0, 1.0, 2.0, 3.0]) - 0.25).abs() < 1e-12);
        assert_eq!(lag_1(&[7.0; 9]), 0.0);
        assert!((unbiased(0.5, 30) - 0.6).abs() < 1e-12);
        assert_eq!((unbiased(-0.9, 30), unbiased(0.98, 20)), (0.0, 0.99));
    }

    #[test]
    fn what_moves_fast_is_worth_all_its_seconds_and_what_drifts_few() {
        let there_and_back: Vec<f64> = (0..300).map(|at| if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
        // The fewest batches of 12 steps are 25; 20 need 15 batches more than there are.
        assert!((independent_of(&there_and_back, &there_and_back) - 25.0 * 0.96 / 1.04).abs() < 1e-9);
        let drift: Vec<f64> = (0..300).map(f64::from).collect();
        assert!(independent_of(&drift, &drift) < INDEPENDENT);
        assert_eq!(independent_of(&drift[..19], &drift), 0.0, "nineteen steps tell nothing");
        let (steady, _) = autoregression(&there_and_back);
        let (drifting, freedom) = autoregression(&drift);
        assert!(drifting > 100.0 * steady && freedom >= 1.0, "{drifting} {steady} {freedom}");
    }
}
