//! How sure the difference of two loads is that ran several times: each round is one sample (Welch's t of the logarithms).
//!
//! Nothing is assumed of what happens within a round, so slow movements do no harm, as long as the rounds of both sides alternate.

use super::length_check::ABOVE;
use super::per_second::LoadRound;
use super::two_run_test::{theta, whole, width};
use rates::measure::MeasureKind;
use rates::samples::{DifferenceEstimate, LogInterval, welch};

/// Fewest rounds of each side that are judged as rounds.
pub const FEWEST: usize = 4;
/// Shortest round that is judged as one, s.
pub const SHORTEST_S: f64 = 30.0;
/// A slip of the clock is no shorter round.
const SLIP: f64 = 0.98;

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
pub(crate) fn estimate(
    a: &[&LoadRound],
    b: &[&LoadRound],
    kind: MeasureKind,
    level: f64,
) -> Option<DifferenceEstimate> {
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
        estimate.interval = LogInterval { low: estimate.interval.low - w, high: estimate.interval.high + w };
    }
    Some(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

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
