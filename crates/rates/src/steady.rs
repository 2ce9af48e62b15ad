//! Are values that follow each other alike? Of fio's `steadystate` and of rounds of runs.

/// What a steady window may do at most, as fractions of its average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyLimits {
    /// Greatest minus smallest value.
    pub range: f64,
    /// What the best line rises or falls from the first value to the last.
    pub slope: f64,
}

/// Values that follow each other in equal steps, and the straight line of least squares through them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyWindow {
    /// How many.
    pub count: usize,
    /// Their average.
    pub average: f64,
    /// The smallest.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// What the line rises per step.
    pub slope: f64,
}

impl SteadyWindow {
    /// Of values in their order; `None` when there are fewer than two, or one is no number.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        Some(Self {
            count: values.len(),
            average: values.iter().sum::<f64>() / values.len() as f64,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            slope: slope(values.iter().copied()),
        })
    }

    /// Greatest minus smallest value.
    #[must_use]
    pub fn range(&self) -> f64 {
        self.max - self.min
    }

    /// What the line rises or falls from the first value to the last, 0 or more.
    #[must_use]
    pub fn excursion(&self) -> f64 {
        self.slope.abs() * self.count.saturating_sub(1) as f64
    }

    /// The line at the step `at`, counted from 0. It goes through the average in the middle.
    #[must_use]
    pub fn line_at(&self, at: f64) -> f64 {
        self.average + self.slope * (at - self.count.saturating_sub(1) as f64 / 2.0)
    }

    /// The line at the step 0.
    #[must_use]
    pub fn intercept(&self) -> f64 {
        self.line_at(0.0)
    }

    /// Is it within the limits? What is at a limit is. Values whose average is not above 0 are nothing that was measured.
    #[must_use]
    pub fn is_steady(&self, limits: SteadyLimits) -> bool {
        self.average > 0.0
            && self.range() <= limits.range * self.average
            && self.excursion() <= limits.slope * self.average
    }
}

/// Slope per step of the straight line of least squares through values that follow each other; 0 of fewer than two.
#[must_use]
pub fn slope(values: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let n = values.len() as f64;
    let (middle, mean) = ((n - 1.0) / 2.0, values.clone().sum::<f64>() / n);
    let (mut sum_xy, mut sum_xx) = (0.0, 0.0);
    for (at, y) in values.enumerate() {
        let x = at as f64 - middle;
        sum_xy += x * (y - mean);
        sum_xx += x * x;
    }
    if sum_xx == 0.0 { 0.0 } else { sum_xy / sum_xx }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: SteadyLimits = SteadyLimits { range: 0.2, slope: 0.1 };

    fn window(values: &[f64]) -> SteadyWindow {
        SteadyWindow::of(values).unwrap_or_else(|| panic!("{values:?} are no window"))
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * (1.0 + a.abs() + b.abs())
    }

    #[test]
    fn a_window_by_hand() {
        // Deviations from 1000: 40, −20, 0, −40, 20; x from −2 to 2: Σxy = −80 + 20 − 40 + 40 = −60, Σxx = 10.
        let five = window(&[1040.0, 980.0, 1000.0, 960.0, 1020.0]);
        assert!(near(five.average, 1000.0) && near(five.range(), 80.0));
        assert!(near(five.slope, -6.0) && near(five.excursion(), 24.0));
        assert!(near(five.intercept(), 1012.0) && near(five.line_at(4.0), 988.0));
        assert!(five.is_steady(LIMITS));
    }

    #[test]
    fn each_limit_alone_is_one() {
        // A swing of 22 % without a slope, and a slope of 12 % in a range of 12 %.
        let swings = window(&[1000.0, 1110.0, 1000.0, 890.0, 1000.0]);
        assert!(swings.range() > 200.0 && !swings.is_steady(LIMITS), "{swings:?}");
        let rises = window(&[940.0, 970.0, 1000.0, 1030.0, 1060.0]);
        assert!(near(rises.excursion(), 120.0) && rises.range() < 200.0 && !rises.is_steady(LIMITS));
        // At the limits: range 20 %, slope 10 %.
        assert!(window(&[900.0, 1000.0, 1100.0, 1000.0, 1000.0]).is_steady(SteadyLimits { range: 0.2, slope: 1.0 }));
        assert!(window(&[950.0, 975.0, 1000.0, 1025.0, 1050.0]).is_steady(LIMITS));
    }

    #[test]
    fn what_was_not_measured_is_not_steady() {
        assert_eq!(SteadyWindow::of(&[1.0]), None);
        assert_eq!(SteadyWindow::of(&[1.0, f64::NAN, 1.0]), None);
        assert!(!window(&[0.0; 5]).is_steady(LIMITS));
        assert!(near(slope([7.0].into_iter()), 0.0));
    }

    proptest! {
        #[test]
        fn a_line_is_found_exactly(a in -1e3..1e3_f64, b in 1.0..1e6_f64, count in 2..40_usize) {
            let values: Vec<f64> = (0..count).map(|x| a * x as f64 + b).collect();
            let window = window(&values);
            prop_assert!((window.slope - a).abs() < 1e-6 && (window.intercept() - b).abs() < 1e-4);
            prop_assert!((window.excursion() - window.range()).abs() < 1e-4);
        }

        #[test]
        fn neither_unit_nor_direction_matters(values in prop::collection::vec(100.0..200.0_f64, 2..12), unit in 0.001..1e6_f64) {
            let of = |values: Vec<f64>| window(&values);
            let (there, back) = (of(values.clone()), of(values.iter().rev().copied().collect()));
            let scaled = of(values.iter().map(|value| value * unit).collect());
            prop_assert!(near(there.slope, -back.slope) && near(there.excursion(), back.excursion()));
            prop_assert!(near(scaled.range() / scaled.average, there.range() / there.average));
            prop_assert!(near(scaled.excursion() / scaled.average, there.excursion() / there.average));
            // No line through values rises more than half as much again as they do.
            prop_assert!(there.excursion() <= 1.5 * there.range() + 1e-9);
            prop_assert!((there.line_at((values.len() - 1) as f64 / 2.0) - there.average).abs() < 1e-9);
        }

        #[test]
        fn wider_limits_keep_what_is_steady(values in prop::collection::vec(1.0..1e5_f64, 2..8), more in 0.0..1.0_f64) {
            let wider = SteadyLimits { range: LIMITS.range + more, slope: LIMITS.slope + more };
            prop_assert!(!window(&values).is_steady(LIMITS) || window(&values).is_steady(wider));
        }
    }
}
