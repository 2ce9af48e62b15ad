//! How sure the difference of two loads is that ran several times: each round is one sample (Welch's t of the logarithms).
//!
//! Nothing is assumed of what happens within a round, so slow movements do no harm, as long as the rounds of both sides alternate.

use super::length_check::ABOVE;
use super::per_second::LoadRound;
use super::two_run_test::{Interval, theta, whole, width};
use crate::student::student;
use rates::measure::MeasureKind;

/// Fewest rounds of each side that are judged as rounds.
pub const FEWEST: usize = 4;
/// Shortest round that is judged as one, s.
pub const SHORTEST_S: f64 = 30.0;
/// A slip of the clock is no shorter round.
const SLIP: f64 = 0.98;

/// What rounds say of a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// Difference of the means of the logarithms.
    pub(crate) d: f64,
    /// Its 95 % interval.
    pub(crate) interval: Interval,
}

/// Mean of values, and the variance of that mean.
fn mean_of(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (count - 1.0) / count)
}

/// Welch's interval of the difference of two samples' means, two or more values each; it ends at the quantile `level` of Student's
/// t: 0.975 for 95 %.
pub(crate) fn welch(a: &[f64], b: &[f64], level: f64) -> Estimate {
    let ((mean_a, part_a), (mean_b, part_b)) = (mean_of(a), mean_of(b));
    let (d, both) = (mean_b - mean_a, part_a + part_b);
    let less_one = |values: &[f64]| values.len() as f64 - 1.0;
    // Welch–Satterthwaite. Below rounding there is no spread.
    let half = if both < 1e-24 {
        0.0
    } else {
        let freedom = both.powi(2) / (part_a.powi(2) / less_one(a) + part_b.powi(2) / less_one(b));
        student(level, freedom) * both.sqrt()
    };
    Estimate { d, interval: Interval { low: d - half, high: d + half } }
}

/// The rounds of both sides that are worth a comparison: of a faulty one its partner is left out too.
pub(crate) fn sound<'a>(a: &'a [LoadRound], b: &'a [LoadRound]) -> (Vec<&'a LoadRound>, Vec<&'a LoadRound>) {
    let good = |round: &&LoadRound| round.fault.is_none();
    if a.len() == b.len() {
        return a.iter().zip(b).filter(|(a, b)| good(a) && good(b)).unzip();
    }
    (a.iter().filter(good).collect(), b.iter().filter(good).collect())
}

/// Are all of them long enough?
pub(super) fn are_long(rounds: &[&LoadRound]) -> bool {
    rounds.iter().all(|round| round.measured_s() >= SLIP * SHORTEST_S)
}

/// Do rounds of both sides alternate, so that what drifts does so on both? Some of one begin before some of the other, and after.
pub(crate) fn alternate(a: &[&LoadRound], b: &[&LoadRound]) -> bool {
    let ends = |rounds: &[&LoadRound]| {
        let times = rounds.iter().map(|round| round.began_ns);
        (times.clone().min(), times.max())
    };
    let ((first_a, last_a), (first_b, last_b)) = (ends(a), ends(b));
    first_a < last_b && first_b < last_a
}

/// A figure over rounds. `None` where a round does not have it, or where too few operations lie above a quantile.
pub(crate) fn estimate(a: &[&LoadRound], b: &[&LoadRound], kind: MeasureKind, level: f64) -> Option<Estimate> {
    let logs = |rounds: &[&LoadRound]| rounds.iter().map(|round| theta(round, kind)).collect::<Option<Vec<f64>>>();
    let mut estimate = welch(&logs(a)?, &logs(b)?, level);
    if let MeasureKind::Quantile(clock, p) = kind {
        let all = |rounds: &[&LoadRound]| LoadRound::joined(rounds);
        let (a, b) = (all(a), all(b));
        let above = |round: &LoadRound| whole(round.times(clock)).count() as f64 * (1.0 - p);
        if above(&a) < ABOVE || above(&b) < ABOVE {
            return None;
        }
        let w = width(&a, clock, p).max(width(&b, clock, p));
        estimate.interval = Interval { low: estimate.interval.low - w, high: estimate.interval.high + w };
    }
    Some(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn welch_of_known_samples() {
        // Means 2 and 5, variances 1 and 4, five values each: se² = 1, Welch's df = 25·4/(1+16) … = 5.882.
        let a = [1.0, 1.0, 2.0, 3.0, 3.0];
        let b = [3.0, 3.0, 5.0, 7.0, 7.0];
        let found = welch(&a, &b, 0.975);
        let half = student(0.975, 1.0 / (0.04 / 4.0 + 0.64 / 4.0));
        assert!((found.d - 3.0).abs() < 1e-12 && (found.interval.high - 3.0 - half).abs() < 1e-12, "{found:?}");
        let equal = welch(&[2.0; 4], &[2.0; 4], 0.975);
        assert_eq!((equal.d, equal.interval), (0.0, Interval { low: 0.0, high: 0.0 }));
    }

    fn round(began_ns: i64, fault: Option<&str>) -> LoadRound {
        LoadRound { began_ns, fault: fault.map(String::from), ..LoadRound::default() }
    }

    #[test]
    fn a_faulty_round_is_left_out_with_its_partner() {
        let a = [round(0, None), round(3, Some("3 errors")), round(4, None), round(7, None)];
        let b = [round(1, None), round(2, None), round(5, None), round(6, Some("paused"))];
        let (good_a, good_b) = sound(&a, &b);
        assert_eq!(good_a.iter().map(|round| round.began_ns).collect::<Vec<_>>(), [0, 4]);
        assert_eq!(good_b.iter().map(|round| round.began_ns).collect::<Vec<_>>(), [1, 5]);
        assert!(alternate(&good_a, &good_b));
        let (a, b): (Vec<LoadRound>, Vec<LoadRound>) = (0..4).map(|at| (round(at, None), round(at + 4, None))).unzip();
        let (a, b) = sound(&a, &b);
        assert!(!alternate(&a, &b), "A A A A B B B B");
    }
}
