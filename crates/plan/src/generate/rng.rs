//! Random numbers: xoshiro256++ seeded by SplitMix64 (both published by Blackman and Vigna, public domain).

pub(crate) use stamp::payload::scatter;

/// The golden ratio as a 64-bit fraction: SplitMix64's increment.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A seed that depends on `seed` and `salt`, unrelated to those of other salts.
#[inline]
pub(crate) fn derive(seed: u64, salt: u64) -> u64 {
    scatter(scatter(seed.wrapping_add(GOLDEN)).wrapping_add(salt.wrapping_mul(GOLDEN)).wrapping_add(GOLDEN))
}

/// A seed from a name (FNV-1a, scattered).
pub(crate) fn derive_name(seed: u64, name: &str) -> u64 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    derive(seed, hash)
}

/// Generator of independent 64-bit numbers, period 2^256 − 1.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    s: [u64; 4],
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        let mut x = seed;
        let s = std::array::from_fn(|_| {
            x = x.wrapping_add(GOLDEN);
            scatter(x)
        });
        Self { s }
    }

    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        let s = &mut self.s;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `0..n` (0 for `n` = 0). The bias is below n ÷ 2^64, not measurable.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        scale(self.next_u64(), n)
    }

    /// Uniform in `[0, 1)` in steps of 2^-53.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Uniform in `(0, 1]`: the logarithm is finite.
    #[inline]
    pub(crate) fn unit_above_zero(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Exponential with mean 1.
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit_above_zero().ln()
    }
}

/// `n × x ÷ 2^64` for a random `x`.
#[inline]
fn scale(x: u64, n: u64) -> u64 {
    ((u128::from(x) * u128::from(n)) >> 64) as u64
}

/// A fraction of 1 as a threshold on 64-bit random numbers.
pub(crate) fn threshold(fraction: f64) -> u64 {
    crate::floor::floor_u64(fraction * 18_446_744_073_709_551_616.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_uniform_by_chi_square() {
        let mut rng = Rng::new(7);
        let mut counts = [0_u32; 100];
        for _ in 0..1_000_000 {
            counts[usize::try_from(rng.below(100)).unwrap()] += 1;
        }
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 10_000.0).powi(2) / 10_000.0).sum();
        // 99 degrees of freedom: mean 99, standard deviation 14.
        assert!((50.0..170.0).contains(&chi2), "chi-square {chi2}");
    }

    #[test]
    fn seeds_and_names_give_unrelated_streams() {
        let first = |seed| Rng::new(seed).next_u64();
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
        assert_ne!(derive_name(1, "wd1"), derive_name(1, "wd2"));
        assert_ne!(derive(1, 2), derive(2, 1));
    }
}
