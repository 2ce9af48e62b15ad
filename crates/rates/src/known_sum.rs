//! Sums that know whether they are whole.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// A sum that is known only when every part of it is: what an import did not count is not 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownSum<T>(Option<T>);

impl<T: Copy + Default + PartialOrd> KnownSum<T> {
    /// A known value.
    pub fn of(value: T) -> Self {
        Self(Some(value))
    }

    /// The sum; `None` when a part of it is unknown.
    pub fn known(self) -> Option<T> {
        self.0
    }

    /// Surely more than nothing?
    pub fn is_positive(self) -> bool {
        self.0.is_some_and(|value| value > T::default())
    }
}

impl<T: Default> Default for KnownSum<T> {
    /// The empty sum.
    fn default() -> Self {
        Self(Some(T::default()))
    }
}

impl<T> From<Option<T>> for KnownSum<T> {
    fn from(value: Option<T>) -> Self {
        Self(value)
    }
}

impl<T: Add<Output = T>> AddAssign for KnownSum<T> {
    fn add_assign(&mut self, more: Self) {
        self.0 = self.0.take().zip(more.0).map(|(sum, more)| sum + more);
    }
}

impl<T: Add<Output = T>> AddAssign<Option<T>> for KnownSum<T> {
    fn add_assign(&mut self, more: Option<T>) {
        *self += Self(more);
    }
}

impl<T: Default + Add<Output = T>> Sum for KnownSum<T> {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        let mut sum = Self::default();
        parts.for_each(|part| sum += part);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_known_when_all_its_parts_are() {
        let sum = |parts: &[Option<i64>]| parts.iter().copied().map(KnownSum::from).sum::<KnownSum<i64>>().known();
        assert_eq!((sum(&[]), sum(&[Some(2), Some(3)])), (Some(0), Some(5)));
        assert_eq!((sum(&[None, Some(3)]), sum(&[Some(3), None])), (None, None));
        assert!(
            KnownSum::of(1).is_positive()
                && !KnownSum::of(0).is_positive()
                && !KnownSum::<i64>::from(None).is_positive()
        );
    }
}
