//! Times of operations of which some had no end: for those only how long they had taken so far is known.
//!
//! They count with that as a lower bound (right-censored), so that a figure over them is a lower bound as well wherever
//! their true times could change it.

use quantity::histogram::Histogram;

/// A figure that is known exactly (`low == high`) or within bounds; `high` is infinite where nothing is known above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureBounds {
    /// It is not less.
    pub low: f64,
    /// It is not more.
    pub high: f64,
}

impl FigureBounds {
    /// Known.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// Known?
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.low.total_cmp(&self.high).is_eq()
    }

    /// What `of` makes of any value of each; monotonous in each of them, so that the ends decide.
    fn corners(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        let ends = [(self.low, other.low), (self.low, other.high), (self.high, other.low), (self.high, other.high)];
        // Nothing times no matter how much is nothing.
        let values = ends.map(|(a, b)| Some(of(a, b)).filter(|value| !value.is_nan()).unwrap_or(0.0));
        Self {
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// The product.
    pub fn times(self, other: Self) -> Self {
        self.corners(other, |a, b| a * b)
    }

    /// The quotient; `None` where the divisor is 0.
    pub fn divided_by(self, other: Self) -> Option<Self> {
        match other {
            Self { low, high } if low == 0.0 && high == 0.0 => None,
            Self { low, high } if low <= 0.0 && high >= 0.0 => {
                Some(Self { low: f64::NEG_INFINITY, high: f64::INFINITY })
            }
            other => Some(self.corners(other, |a, b| a / b)),
        }
    }
}

impl std::ops::Neg for FigureBounds {
    type Output = Self;

    fn neg(self) -> Self {
        Self { low: -self.high, high: -self.low }
    }
}

impl std::ops::Add for FigureBounds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }
}

impl std::ops::Sub for FigureBounds {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

/// Times of operations, ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationTimes {
    /// Of those that ended.
    pub ended: Histogram,
    /// Of those that did not: how long they had taken when the run was given up.
    pub open: Histogram,
}

impl OperationTimes {
    /// All of them ended.
    #[must_use]
    pub fn ended(ended: Histogram) -> Self {
        Self { ended, open: Histogram::default() }
    }

    /// Adds others.
    pub fn merge(&mut self, more: &Self) {
        self.ended.merge(&more.ended);
        self.open.merge(&more.open);
    }

    /// All with what is known at least.
    #[must_use]
    pub fn at_least(&self) -> Histogram {
        let mut all = self.ended.clone();
        all.merge(&self.open);
        all
    }

    fn bounds(&self, low: Option<f64>, high: Option<f64>) -> Option<FigureBounds> {
        let low = low?;
        // Buckets are rounded up, a maximum is not.
        Some(FigureBounds { low, high: high.unwrap_or(f64::INFINITY).max(low) })
    }

    fn is_all_ended(&self) -> bool {
        self.open.count() == 0
    }

    /// The smallest.
    #[must_use]
    pub fn min(&self) -> Option<FigureBounds> {
        let (ended, open) = (self.ended.min(), self.open.min());
        let low = ended.into_iter().chain(open).min();
        self.bounds(low.map(ns), ended.map(ns))
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> Option<FigureBounds> {
        if self.is_all_ended() {
            return self.ended.mean().map(FigureBounds::exact);
        }
        self.bounds(self.at_least().mean(), None)
    }

    /// The greatest.
    #[must_use]
    pub fn max(&self) -> Option<FigureBounds> {
        if self.is_all_ended() {
            return self.ended.max().map(|max| FigureBounds::exact(ns(max)));
        }
        self.bounds(self.ended.max().max(self.open.max()).map(ns), None)
    }

    /// The percentile at `quantile`, 0 to 1: the least that it can be, and what it is when all that did not end take for ever.
    #[must_use]
    pub fn percentile(&self, quantile: f64) -> Option<FigureBounds> {
        if self.is_all_ended() {
            return self.ended.percentile(quantile).map(|value| FigureBounds::exact(ns(value)));
        }
        let (ended, all) = (self.ended.count() as f64, (self.ended.count() + self.open.count()) as f64);
        let rank = (quantile.clamp(0.0, 1.0) * all * (1.0 - 4.0 * f64::EPSILON)).ceil().max(1.0);
        let high = if rank <= ended { self.ended.percentile(rank / ended).map(ns) } else { None };
        self.bounds(self.at_least().percentile(quantile).map(ns), high)
    }
}

fn ns(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    fn times(ended: impl IntoIterator<Item = u64>, open: impl IntoIterator<Item = u64>) -> OperationTimes {
        OperationTimes { ended: histogram(ended), open: histogram(open) }
    }

    #[test]
    fn what_all_ended_is_exact() {
        let times = times((1..=100).map(|n| n * MS), []);
        for figure in [times.min(), times.mean(), times.max(), times.percentile(0.5), times.percentile(0.999)] {
            assert!(figure.unwrap().is_exact(), "{figure:?}");
        }
        assert_eq!(OperationTimes::default().max(), None);
    }

    #[test]
    fn few_without_an_end_leave_the_middle_as_it_is_and_the_tail_open() {
        let times = times((0..1000).map(|_| MS), [2_000 * MS; 5]);
        for quantile in [0.5, 0.9, 0.99] {
            let figure = times.percentile(quantile).unwrap();
            assert!(figure.is_exact() && figure.low < 1.01 * 1e6, "{quantile}: {figure:?}");
        }
        for figure in [times.percentile(0.999), times.max()] {
            let FigureBounds { low, high } = figure.unwrap();
            assert!((1.99e9..=2.01e9).contains(&low) && high.is_infinite(), "{figure:?}");
        }
        assert!(times.mean().unwrap().low > 1e6 && times.mean().unwrap().high.is_infinite());
    }

    #[test]
    fn an_age_below_a_figure_makes_it_a_lower_bound() {
        // A fifth of all had waited for less than the others took.
        let times = times((0..800).map(|_| 10 * MS), (0..200).map(|n| n * MS / 100));
        let FigureBounds { low, high } = times.percentile(0.5).unwrap();
        assert!(low > 9.9e6 && (high - low).abs() < 1.0, "half of them took 10 ms or more anyway: {low} {high}");
        let FigureBounds { low, high } = times.percentile(0.9).unwrap();
        assert!(low > 9.9e6 && high.is_infinite(), "{low} {high}");
        assert_eq!(times.min().unwrap().low, 0.0);
    }

    #[test]
    fn only_what_never_ended_is_a_lower_bound() {
        let times = times([], [3_000 * MS, 1_000 * MS]);
        let figure = times.percentile(0.5).unwrap();
        assert!(figure.low > 0.99e9 && figure.high.is_infinite(), "{figure:?}");
    }

    #[test]
    fn numbers_that_are_not_known_are_counted_with_as_such() {
        let open = FigureBounds { low: 2.0, high: f64::INFINITY };
        assert_eq!(open + FigureBounds::exact(1.0), FigureBounds { low: 3.0, high: f64::INFINITY });
        assert_eq!(FigureBounds::exact(1.0) - open, FigureBounds { low: f64::NEG_INFINITY, high: -1.0 });
        assert_eq!(open.times(FigureBounds::exact(10.0)), FigureBounds { low: 20.0, high: f64::INFINITY });
        assert_eq!(open.times(FigureBounds::exact(0.0)), FigureBounds::exact(0.0));
        assert_eq!(FigureBounds::exact(8.0).divided_by(open), Some(FigureBounds { low: 0.0, high: 4.0 }));
        assert_eq!(open.divided_by(FigureBounds::exact(0.0)), None);
    }
}
