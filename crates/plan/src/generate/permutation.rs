//! A keyed permutation of `0..n` without a table.
//!
//! Steps that are each reversible modulo a power of two (add, multiply by an odd number, exclusive-or with the upper
//! bits) are chained; a result that falls outside of `0..n` is permuted again until it falls inside, which stays a
//! permutation ("cycle walking") and takes less than two rounds on average because the power of two is below 2n.

use super::rng::Rng;

#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    n: u64,
    mask: u64,
    shift: u32,
    add: [u64; ROUNDS],
    multiply: [u64; ROUNDS],
}

const ROUNDS: usize = 4;

impl Permutation {
    /// Of `0..n`, `n` at least 1.
    pub(crate) fn new(n: u64, key: u64) -> Self {
        debug_assert!(n > 0);
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let mut rng = Rng::new(key);
        Self {
            n,
            mask: u64::MAX.checked_shr(64 - bits).unwrap_or(0),
            shift: bits.div_ceil(2).max(1),
            add: std::array::from_fn(|_| rng.next_u64()),
            multiply: std::array::from_fn(|_| rng.next_u64() | 1),
        }
    }

    /// Where `i` (below n) goes.
    #[inline]
    pub(crate) fn apply(&self, i: u64) -> u64 {
        debug_assert!(i < self.n);
        let mut x = i;
        loop {
            for round in 0..ROUNDS {
                x = x.wrapping_add(self.add[round]).wrapping_mul(self.multiply[round]) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_permutation_for_every_small_n_and_key() {
        for n in (1..70).chain([255, 256, 257, 1000, 4095, 65_537]) {
            for key in 0..5 {
                let permutation = Permutation::new(n, key);
                let mut seen = vec![false; usize::try_from(n).unwrap()];
                for i in 0..n {
                    let at = usize::try_from(permutation.apply(i)).unwrap();
                    assert!(!std::mem::replace(&mut seen[at], true), "n {n} key {key}: {at} twice");
                }
            }
        }
    }

    #[test]
    fn looks_random() {
        let n = 1 << 20;
        let permutation = Permutation::new(n, 99);
        let mut last = permutation.apply(0);
        let (mut ascending, mut distance) = (0_u32, 0.0);
        let mut first_quarter = [0_u32; 64];
        for i in 1..n {
            let at = permutation.apply(i);
            ascending += u32::from(at > last);
            distance += at.abs_diff(last) as f64 / n as f64;
            if i < n / 4 {
                first_quarter[usize::try_from(at * 64 / n).unwrap()] += 1;
            }
            last = at;
        }
        let n = n as f64;
        assert!((f64::from(ascending) / n - 0.5).abs() < 0.01, "{ascending} steps go up");
        assert!((distance / n - 1.0 / 3.0).abs() < 0.01, "mean distance {}", distance / n);
        for count in first_quarter {
            assert!((f64::from(count) - 4096.0).abs() < 400.0, "{first_quarter:?}");
        }
    }

    #[test]
    fn the_largest_domain_works() {
        let permutation = Permutation::new(u64::MAX, 3);
        assert_ne!(permutation.apply(0), permutation.apply(1));
    }
}
