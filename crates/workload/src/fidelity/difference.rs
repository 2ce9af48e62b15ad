//! What the difference of a measure is; the stored name of the measure says it.

/// How the name of a measure ends whose difference is a share.
const SHARE: &str = " (difference: share)";
/// How that of one ends whose difference is the distance of two distributions.
const DISTANCE: &str = " (KS distance)";

/// What the difference of a measure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FidelityDifference {
    /// A share of the trace's value.
    Share,
    /// The Kolmogorov–Smirnov distance of two distributions.
    Distance,
    /// In the unit of the measure.
    OfUnit,
}

impl FidelityDifference {
    /// That of a measure with this name.
    #[must_use]
    pub fn of(measure: &str) -> Self {
        match measure {
            share if share.ends_with(SHARE) => Self::Share,
            distance if distance.ends_with(DISTANCE) => Self::Distance,
            _ => Self::OfUnit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FidelityDifference;

    #[test]
    fn the_name_of_a_measure_says_what_its_difference_is() {
        for (measure, difference) in [
            ("length (difference: share)", FidelityDifference::Share),
            ("time between I/Os (KS distance)", FidelityDifference::Distance),
            ("issue-time error, aligned, p99", FidelityDifference::OfUnit),
        ] {
            assert_eq!(FidelityDifference::of(measure), difference, "{measure}");
        }
    }
}
