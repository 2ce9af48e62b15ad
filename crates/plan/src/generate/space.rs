//! The bytes of a target that a workload may touch, and the aligned places in them.

use super::{GenerateError, Geometry, floor_u64};
use crate::spec::{AddressRange, Bound, TargetSpec, Workload};

/// `[start, end)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Extent {
    pub(crate) fn bytes(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    fn intersect(self, other: Self) -> Self {
        Self { start: self.start.max(other.start), end: self.end.min(other.end) }
    }
}

/// More cannot come out of three ranges that all wrap around, and one cut.
const EXTENTS_MAX: usize = 5;

/// Up to five extents in the order in which a sequential workload walks them. Offsets still lack the target's
/// `offset_bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Space {
    extents: [Extent; EXTENTS_MAX],
    len: usize,
    block: u64,
}

impl Space {
    fn push(&mut self, extent: Extent) {
        if extent.bytes() > 0 && self.len < EXTENTS_MAX {
            self.extents[self.len] = extent;
            self.len += 1;
        }
    }

    pub(crate) fn extents(&self) -> &[Extent] {
        &self.extents[..self.len]
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.extents().iter().map(|extent| extent.bytes()).sum()
    }

    /// The part between two positions counted from the beginning of the first extent through all of them.
    pub(crate) fn slice(&self, from: u64, to: u64) -> Self {
        let mut slice = Self { block: self.block, ..Self::default() };
        let mut before = 0;
        for extent in self.extents() {
            let at = |position: u64| extent.start + position.saturating_sub(before).min(extent.bytes());
            slice.push(Extent { start: at(from), end: at(to) });
            before += extent.bytes();
        }
        slice
    }

    /// The extent that an address lies in.
    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        self.extents().iter().position(|extent| (extent.start..extent.end).contains(&address))
    }

    /// Does a transfer of `bytes` at a multiple of `align` fit anywhere?
    pub(crate) fn holds(&self, bytes: u64, align: u64) -> bool {
        Grid::new(self, bytes, align).len() > 0
    }

    /// The places for `bytes` at multiples of `align`, or of `bytes` when nothing else was asked for. In a space that
    /// holds a larger transfer, no multiple of a smaller size may happen to fit: any block does then.
    #[inline]
    pub(crate) fn places(&self, bytes: u64, align: Option<u64>) -> Grid {
        let grid = Grid::new(self, bytes, align.unwrap_or(bytes));
        if grid.len() > 0 || align.is_some() { grid } else { Grid::new(self, bytes, self.block) }
    }

    /// What `workload` may use of a target: the target's range and the workload's, block-aligned.
    pub(crate) fn of(workload: &Workload, target: &TargetSpec, geometry: Geometry) -> Result<Self, GenerateError> {
        let block = u64::from(geometry.block_bytes.max(1));
        let size = geometry
            .size_bytes
            .min(target.size_bytes.unwrap_or(u64::MAX))
            .saturating_sub(target.offset_bytes.saturating_add(workload.address.base_bytes));
        let whole = Extent { start: if target.skip_first_block { block.max(512) } else { 0 }, end: size };
        let arcs = |range: Option<AddressRange>| arcs(range, target, size, block);
        let mut space = Self { block, ..Self::default() };
        for ours in arcs(workload.address.range)? {
            for theirs in arcs(target.range)? {
                for hot in arcs(workload.address.hot_band)? {
                    let both = ours.intersect(theirs).intersect(hot).intersect(whole);
                    space.push(Extent { start: both.start.next_multiple_of(block), end: both.end - both.end % block });
                }
            }
        }
        Ok(space)
    }
}

/// A range as one or two extents.
fn arcs(range: Option<AddressRange>, target: &TargetSpec, size: u64, block: u64) -> Result<Vec<Extent>, GenerateError> {
    let Some(range) = range else { return Ok(vec![Extent { start: 0, end: size }]) };
    let grain = block.max(512);
    let resolve = |bound| match bound {
        Bound::Bytes(bytes) => bytes,
        Bound::Fraction(1.0) => size,
        Bound::Fraction(fraction) => {
            let bytes = floor_u64(size as f64 * fraction);
            bytes - bytes % grain
        }
    };
    let (low, high) = (resolve(range.low), resolve(range.high));
    let beyond = matches!(range.high, Bound::Bytes(bytes) if bytes > size);
    if low >= high || low >= size || beyond {
        return Err(GenerateError::Range { target: target.name.clone(), size_bytes: size, low, high });
    }
    if high <= size {
        return Ok(vec![Extent { start: low, end: high }]);
    }
    Ok(vec![Extent { start: low, end: size }, Extent { start: 0, end: (high - size).min(low) }])
}

/// All places at multiples of `step` where a transfer lies inside one extent, numbered from 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grid {
    first: [u64; EXTENTS_MAX],
    /// Places up to and including this extent.
    upto: [u64; EXTENTS_MAX],
    len: usize,
    step: u64,
}

impl Grid {
    #[inline]
    pub(crate) fn new(space: &Space, bytes: u64, step: u64) -> Self {
        let step = step.max(1);
        let mut grid = Self { step, ..Self::default() };
        let mut total = 0;
        for extent in space.extents() {
            let first = extent.start.next_multiple_of(step);
            if let Some(room) = extent.end.checked_sub(bytes).and_then(|last| last.checked_sub(first)) {
                total += room / step + 1;
                grid.first[grid.len] = first;
                grid.upto[grid.len] = total;
                grid.len += 1;
            }
        }
        grid
    }

    /// The first place alone.
    pub(crate) fn first_only(self) -> Self {
        let len = self.len.min(1);
        Self { len, upto: [1; EXTENTS_MAX], ..self }
    }

    /// Number of places.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        if self.len == 0 { 0 } else { self.upto[self.len - 1] }
    }

    /// Address of place `i`, which must be below [`Self::len`].
    #[inline]
    pub(crate) fn at(&self, i: u64) -> u64 {
        debug_assert!(i < self.len());
        if i < self.upto[0] {
            return self.first[0] + i * self.step;
        }
        let mut k = 1;
        while k + 1 < self.len && i >= self.upto[k] {
            k += 1;
        }
        self.first[k] + (i - self.upto[k - 1]) * self.step
    }
}
