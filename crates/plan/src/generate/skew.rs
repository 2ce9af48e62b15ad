//! Uneven choices among `n` places in constant time and memory.

use super::GenerateError;
use super::permutation::Permutation;
use super::rng::Rng;
use crate::floor::floor_u64;
use crate::spec::{AddressDistribution, Workload};

/// Chooses places `0..n`.
#[derive(Clone, Debug)]
pub(crate) enum Skew {
    /// Hot places scattered.
    Zipf(Zipf, Permutation),
    /// `n × u^power`, scattered.
    Pareto { n: u64, power: f64, scatter: Permutation },
    /// Around the middle, cut off at both ends.
    Normal { n: u64, deviation: f64 },
}

impl Skew {
    /// `None` for distributions that are not skewed.
    pub(crate) fn new(
        workload: &Workload,
        distribution: AddressDistribution,
        n: u64,
        key: u64,
    ) -> Result<Option<Self>, GenerateError> {
        let check = |value: f64, good: bool, what, allowed| {
            if good { Ok(()) } else { Err(super::mix::value_error(workload, what, value, allowed)) }
        };
        let scatter = || Permutation::new(n, key);
        Ok(match distribution {
            // Those of Vdbench depend on the transfer: `jump`.
            AddressDistribution::Uniform | AddressDistribution::ExactOnce | AddressDistribution::Poisson(_) => None,
            AddressDistribution::Zipf(theta) => {
                let good = theta > 0.0 && theta <= 100.0;
                check(theta, good, "the exponent of the zipf distribution", "above 0 and at most 100")?;
                Some(Self::Zipf(Zipf::new(n, theta), scatter()))
            }
            AddressDistribution::Pareto(h) => {
                check(h, h > 0.0 && h < 1.0, "the power of the pareto distribution", "above 0 and below 1")?;
                Some(Self::Pareto { n, power: h.ln() / (1.0 - h).ln(), scatter: scatter() })
            }
            AddressDistribution::Normal(deviation) => {
                let good = deviation > 0.0 && deviation <= 1.0;
                check(deviation, good, "the deviation of the normal distribution", "above 0 and at most 1 (100 %)")?;
                Some(Self::Normal { n, deviation })
            }
        })
    }

    #[inline]
    pub(crate) fn next(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Zipf(zipf, scatter) => scatter.apply(zipf.next(rng) - 1),
            Self::Pareto { n, power, scatter } => scatter.apply(place(rng.unit().powf(*power), *n)),
            Self::Normal { n, deviation } => loop {
                let x = 0.5 + deviation * normal(rng);
                if (0.0..1.0).contains(&x) {
                    return place(x, *n);
                }
            },
        }
    }
}

/// Place at a fraction of `n`.
#[inline]
fn place(fraction: f64, n: u64) -> u64 {
    floor_u64(fraction * n as f64).min(n - 1)
}

/// Standard normal (Marsaglia's polar method, one of its two values).
#[inline]
fn normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * rng.unit() - 1.0, 2.0 * rng.unit() - 1.0);
        let s = x * x + y * y;
        if s < 1.0 && s > 0.0 {
            return x * (-2.0 * s.ln() / s).sqrt();
        }
    }
}

/// Ranks `1..=n` with probability ∝ 1 ÷ rank^theta, exactly, by rejection-inversion (Hörmann and Derflinger 1996).
///
/// With q = 1 − theta, H(x) = (x^q − 1) ÷ q (ln x for q = 0) is the integral of x^−theta; a uniform number between its
/// values at both ends is inverted to `x` and rounded to a rank, which is rarely rejected. For q ≠ 0 the number is drawn
/// as x^q itself.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    n: f64,
    theta: f64,
    logarithmic: bool,
    q_inverse: f64,
    q: f64,
    /// Drawn values start here and extend this far.
    from: f64,
    span: f64,
    /// A rank at most this far above its `x` is accepted without looking closer.
    quick: f64,
}

impl Zipf {
    fn new(n: u64, theta: f64) -> Self {
        let q = 1.0 - theta;
        let (n, logarithmic) = (n as f64, q.abs() < 1e-7);
        let mut zipf = Self { n, theta, logarithmic, q_inverse: 1.0 / q, q, from: 0.0, span: 0.0, quick: 0.0 };
        zipf.from = zipf.drawn(n + 0.5);
        zipf.span = zipf.minus_h(zipf.drawn(1.5), 1.0) - zipf.from;
        zipf.quick = 2.0 - zipf.invert(zipf.minus_h(zipf.drawn(2.5), 2.0));
        zipf
    }

    /// The drawn value that inverts to `x`.
    fn drawn(&self, x: f64) -> f64 {
        if self.logarithmic { x.ln() } else { x.powf(self.q) }
    }

    /// The drawn value whose integral is less by the weight of rank `k`.
    fn minus_h(&self, drawn: f64, k: f64) -> f64 {
        let weight = k.powf(-self.theta);
        drawn - if self.logarithmic { weight } else { self.q * weight }
    }

    #[inline]
    fn invert(&self, drawn: f64) -> f64 {
        if self.logarithmic { drawn.exp() } else { (drawn.ln() * self.q_inverse).exp() }
    }

    #[inline]
    fn next(&self, rng: &mut Rng) -> u64 {
        loop {
            let drawn = self.from + rng.unit() * self.span;
            let x = self.invert(drawn);
            let rank = floor_u64((x + 0.5).clamp(1.0, self.n));
            let k = rank as f64;
            if k - x <= self.quick || self.accept(drawn, k) {
                return rank;
            }
        }
    }

    #[cold]
    fn accept(&self, drawn: f64, k: f64) -> bool {
        let least = self.minus_h(self.drawn(k + 0.5), k);
        // x^q falls with x when q is negative, and so does the direction of the comparison.
        if self.q < 0.0 && !self.logarithmic { drawn <= least } else { drawn >= least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_frequencies_match_the_theory() {
        for theta in [0.5, 0.99, 1.0, 1.2, 2.5] {
            let (n, draws) = (1000_u32, 2_000_000_u32);
            let zipf = Zipf::new(u64::from(n), theta);
            let mut rng = Rng::new(5);
            let mut counts = vec![0_u32; 1000];
            for _ in 0..draws {
                counts[usize::try_from(zipf.next(&mut rng)).unwrap() - 1] += 1;
            }
            let weights: Vec<f64> = (1..=n).map(|k| f64::from(k).powf(-theta)).collect();
            let sum: f64 = weights.iter().sum();
            let (mut chi2, mut degrees) = (0.0, 0.0);
            for (count, weight) in counts.iter().zip(&weights) {
                let expected = weight / sum * f64::from(draws);
                if expected > 20.0 {
                    chi2 += (f64::from(*count) - expected).powi(2) / expected;
                    degrees += 1.0;
                }
            }
            let limit = degrees + 5.0 * f64::sqrt(2.0 * degrees);
            assert!(chi2 < limit, "theta {theta}: chi-square {chi2} with {degrees} degrees of freedom");
        }
    }

    #[test]
    fn zipf_of_one_or_very_many_places_stays_inside() {
        let mut rng = Rng::new(1);
        for n in [1, 2, 3, 1 << 20, 1 << 52] {
            for theta in [0.01, 1.0, 1.0 + 1e-10, 1.1, 50.0] {
                let zipf = Zipf::new(n, theta);
                for _ in 0..1000 {
                    assert!((1..=n).contains(&zipf.next(&mut rng)));
                }
            }
        }
    }

    #[test]
    fn normal_has_the_asked_deviation() {
        let (mut rng, n) = (Rng::new(3), 1_000_000);
        let skew = Skew::Normal { n, deviation: 0.05 };
        let draws: Vec<f64> = (0..200_000).map(|_| skew.next(&mut rng) as f64 / n as f64).collect();
        let mean = draws.iter().sum::<f64>() / 200_000.0;
        let deviation = (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 200_000.0).sqrt();
        assert!((mean - 0.5).abs() < 0.001 && (deviation - 0.05).abs() < 0.0005, "{mean} {deviation}");
    }

    #[test]
    fn pareto_gives_the_hottest_fifth_four_fifths() {
        let (mut rng, n) = (Rng::new(3), 1_000_u64);
        let skew = Skew::Pareto { n, power: 0.2_f64.ln() / 0.8_f64.ln(), scatter: Permutation::new(n, 1) };
        let mut counts = vec![0_u32; 1000];
        for _ in 0..1_000_000 {
            counts[usize::try_from(skew.next(&mut rng)).unwrap()] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hot: u32 = counts[..200].iter().sum();
        assert!((f64::from(hot) / 1e6 - 0.8).abs() < 0.005, "{hot}");
    }
}
