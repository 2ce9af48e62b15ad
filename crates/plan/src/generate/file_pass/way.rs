//! Places of one kind of operation.

use crate::floor::floor_u64;
use crate::spec::RangeBound;

/// Where operations of one kind are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Smallest and largest transfer.
    pub(super) min: u64,
    pub(super) max: u64,
    /// Random places are multiples of this.
    pub(super) align: u64,
    /// Number of random places.
    pub(super) places: u64,
    /// Start and length of the last transfer.
    pub(super) last: Option<(u64, u32)>,
    /// Where the next one in order follows.
    pub(super) position: u64,
}

impl Way {
    /// First place of a zone, and how many it has: percents of the places, or whole places of the bytes.
    pub(super) fn zone(&self, from: RangeBound, to: RangeBound) -> (u64, u64) {
        let part = |part: f64| floor_u64(self.places as f64 * part + 1e-6);
        match (from, to) {
            (RangeBound::Bytes(from), RangeBound::Bytes(to)) => {
                let first = from / self.align;
                (first, (to / self.align).min(self.places).saturating_sub(first))
            }
            // Its length is reckoned by itself, not from its end.
            (RangeBound::Fraction(from), RangeBound::Fraction(to)) => (part(from), part(to - from)),
            (RangeBound::Bytes(_), RangeBound::Fraction(to)) => (0, part(to)),
            (RangeBound::Fraction(from), RangeBound::Bytes(to)) => {
                (part(from), (to / self.align).min(self.places).saturating_sub(part(from)))
            }
        }
    }
}
