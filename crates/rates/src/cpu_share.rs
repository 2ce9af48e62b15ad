//! Which samples of the CPUs belong to a run, the same for every face: a sample is taken just after the interval that it is
//! of has ended, so that the last interval's lies behind the run's end.

use crate::CpuPoint;

/// The samples from the one that ends an interval at `first_ns` to that of the last, at `last_ns`; `length_ns` is that of
/// an interval. A sample that comes later than the next one would is none of theirs.
pub fn of_span(points: &[CpuPoint], (first_ns, last_ns): (i64, i64), length_ns: i64) -> &[CpuPoint] {
    let from = points.partition_point(|point| point.t_ns < first_ns);
    let last = points.partition_point(|point| point.t_ns < last_ns);
    let has_last = points.get(last).is_some_and(|point| point.t_ns.saturating_sub(last_ns) < length_ns.max(1));
    let to = last + usize::from(has_last);
    &points[from.min(to)..to]
}

/// The mean of a share over intervals (end and length, ns), each with the first sample behind its end, weighted by its length; a sample that was
/// left out is covered by the next one. `None` when there is no sample of them.
pub fn mean(
    points: &[CpuPoint],
    intervals: impl IntoIterator<Item = (i64, i64)>,
    of: impl Fn(&CpuPoint) -> f64,
) -> Option<f64> {
    let (mut sum, mut length) = (0.0, 0.0);
    for (t_ns, interval_ns) in intervals {
        let at = points.partition_point(|point| point.t_ns < t_ns);
        // Half an interval late is still the next one's, where this one's was left out.
        let until_ns = t_ns.saturating_add(interval_ns + interval_ns / 2);
        if let Some(point) = points.get(at).filter(|point| point.t_ns < until_ns.max(t_ns + 1)) {
            sum += of(point) * interval_ns as f64;
            length += interval_ns as f64;
        }
    }
    (length > 0.0).then(|| sum / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn point(t_ns: i64, user: f64) -> CpuPoint {
        CpuPoint { t_ns, user, ..CpuPoint::default() }
    }

    #[test]
    fn the_last_interval_counts_and_what_follows_does_not() {
        // One sample of the warm-up, three of the run, one of the drain; each 2 ms late.
        let points: Vec<CpuPoint> = [(1, 7.0), (2, 10.0), (3, 20.0), (4, 90.0), (5, 50.0)]
            .map(|(second, user)| point(second * S + 2_000_000, user))
            .to_vec();
        let run = [(2 * S, S), (3 * S, S), (4 * S, S)];
        assert_eq!(mean(&points, run, |point| point.user), Some(40.0));
        let span = of_span(&points, (2 * S, 4 * S), S);
        assert_eq!(span.iter().map(|point| point.user).collect::<Vec<f64>>(), [10.0, 20.0, 90.0]);
        // A run of one interval has its sample as well.
        assert_eq!(mean(&points, run[..1].iter().copied(), |point| point.user), Some(10.0));
        assert_eq!(mean(&points[..1], run, |point| point.user), None);
        assert!(of_span(&points[..1], (2 * S, 4 * S), S).is_empty());
    }

    #[test]
    fn short_intervals_weigh_less_and_a_sample_that_is_missing_is_covered_by_the_next() {
        let run = [(S, S), (2 * S, S), (2 * S + S / 2, S / 2)];
        let points = [point(S, 10.0), point(2 * S, 30.0), point(2 * S + S / 2, 80.0)];
        assert_eq!(mean(&points, run, |point| point.user), Some((10.0 + 30.0 + 40.0) / 2.5));
        // The second one's sample is in the third's.
        assert_eq!(mean(&[points[0], points[2]], run, |point| point.user), Some((10.0 + 80.0 + 40.0) / 2.5));
    }
}
