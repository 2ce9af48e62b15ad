//! Transfers of any size at places of the smallest.

use super::space::{Grid, Space};

/// Makes a transfer of any size out of a place on the grid of the smallest size.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    grid: Grid,
    space: Space,
    align: Option<u64>,
    /// All transfers have the size of the grid.
    plain: bool,
}

impl Fit {
    /// Places of `grid`, which belong to the smallest transfer, in `space`; `plain`: to all.
    pub(crate) fn new(grid: Grid, space: Space, align: Option<u64>, plain: bool) -> Self {
        Self { grid, space, align, plain }
    }

    #[inline]
    pub(crate) fn at(&self, place: u64, bytes: u64) -> u64 {
        let at = self.grid.at(place);
        if self.plain { at } else { self.around(at, bytes) }
    }

    /// The aligned place for `bytes` that covers `at`, or the nearest in its extent, or any.
    fn around(&self, at: u64, bytes: u64) -> u64 {
        let align = self.align.unwrap_or(bytes);
        let fitting = || {
            let extent = self.space.extents()[self.space.find(at)?];
            // Where places count from.
            let origin = if self.space.grain() > 0 { extent.start } else { 0 };
            let floor = |at: u64| at - (at - origin) % align;
            let first = origin + (extent.start - origin).next_multiple_of(align);
            let last = floor(extent.end.checked_sub(bytes).filter(|last| *last >= origin)?);
            (first <= last).then(|| floor(at).clamp(first, last))
        };
        fitting().unwrap_or_else(|| self.space.places(bytes, self.align).at(0))
    }
}
