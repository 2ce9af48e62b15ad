//! The random numbers of Java, by which Vdbench chooses sizes and subsets of files: with the same seed, a tree of one is a tree of
//! the other.

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const MASK: u64 = (1 << 48) - 1;

/// `java.util.Random`: a linear congruential generator of 48 bits, as its documentation defines it.
#[derive(Clone, Debug)]
pub struct JavaRandom(u64);

impl JavaRandom {
    /// With this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self((seed ^ MULTIPLIER) & MASK)
    }

    fn next(&mut self, bits: u32) -> u32 {
        self.0 = self.0.wrapping_mul(MULTIPLIER).wrapping_add(0xB) & MASK;
        u32::try_from(self.0 >> (48 - bits)).unwrap_or(0)
    }

    /// `nextInt(bound)`: 0 to bound − 1, for a bound from 1 to 2³¹ − 1.
    pub fn below(&mut self, bound: u32) -> u32 {
        let bound = bound.clamp(1, (1 << 31) - 1);
        if bound.is_power_of_two() {
            return u32::try_from((u64::from(bound) * u64::from(self.next(31))) >> 31).unwrap_or(0);
        }
        loop {
            let bits = self.next(31);
            let value = bits % bound;
            // In Java this overflows to a negative number.
            if bits - value + (bound - 1) < 1 << 31 {
                return value;
            }
        }
    }

    /// `nextDouble()`: 0 to 1, 1 excluded.
    pub fn unit(&mut self) -> f64 {
        let (high, low) = (u64::from(self.next(26)), u64::from(self.next(27)));
        ((high << 27) + low) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_gives_the_numbers_that_java_gives() {
        // Of `new Random(0)`: nextInt(100) five times; of `new Random(42)`: nextInt(10) five times, then nextDouble().
        let mut random = JavaRandom::new(0);
        assert_eq!([(); 5].map(|()| random.below(100)), [60, 48, 29, 47, 15]);
        let mut random = JavaRandom::new(42);
        assert_eq!([(); 5].map(|()| random.below(10)), [0, 3, 8, 4, 0]);
    }
}
