//! The bytes of a target that a workload may touch, and the aligned places in them.

use super::{GenerateError, TargetGeometry};
use crate::floor::floor_u64;
use crate::spec::{AddressOrder, AddressRange, RangeBound, TargetSpec, Workload};

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

/// A range that wraps around is two.
const EXTENTS_MAX: usize = 2;

/// One or two extents in the order in which a sequential workload walks them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Space {
    extents: [Extent; EXTENTS_MAX],
    len: usize,
    block: u64,
    /// Ends are multiples of it, and places count from the beginning of each extent; 0: places are multiples of the
    /// transfer or of an alignment.
    grain: u64,
}

/// What a workload may use of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Where everything goes that does not hit.
    pub(crate) misses: Space,
    /// The hit area, where there is one.
    pub(crate) hits: Option<Space>,
    /// Added to every address.
    pub(crate) shift: u64,
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
        let mut slice = Self { block: self.block, grain: self.grain, ..Self::default() };
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

    /// The grain of a target of Vdbench's; 0: addresses are fio's.
    #[inline]
    pub(crate) fn grain(&self) -> u64 {
        self.grain
    }

    /// The block-aligned part of a target that `workload` may use, addresses counted from the target's offset and the
    /// workload's base: the range of one of the two.
    fn plain(workload: &Workload, target: &TargetSpec, size: u64, block: u64) -> Result<Self, GenerateError> {
        let whole = Extent { start: if target.skip_first_block { block.max(512) } else { 0 }, end: size };
        let mut space = Self { block, ..Self::default() };
        for arc in arcs(range_of(workload, target), target, size, block)? {
            let both = arc.intersect(whole);
            space.push(Extent { start: both.start.next_multiple_of(block), end: both.end - both.end % block });
        }
        Ok(space)
    }

    /// The pieces of `streams` sequential streams in a target with a grain: `n` equal ones, and each leaves its first grain
    /// alone where the target's is. Without a range they divide the whole target.
    pub(crate) fn pieces(
        workload: &Workload,
        target: &TargetSpec,
        geometry: TargetGeometry,
        streams: u32,
    ) -> Result<Vec<Self>, GenerateError> {
        let Frame { block, size, grain } = Frame::of(target, geometry);
        let (low, high) = bounds(range_of(workload, target), target, size)?;
        if high > size {
            let what = "streams= cannot divide a range that wraps around the end";
            return Err(GenerateError::Conflict { workload: workload.name.clone(), what });
        }
        let low = low - low % grain;
        let bytes = (high - low) / u64::from(streams.max(1));
        let bytes = bytes - bytes % grain;
        let skip = if target.skip_first_block { grain } else { 0 };
        let pieces = (0..u64::from(streams.max(1))).map(|i| {
            let mut piece = Self { block, grain, ..Self::default() };
            piece.push(Extent { start: (low + i * bytes + skip).max(target.offset_bytes), end: low + (i + 1) * bytes });
            piece
        });
        Ok(pieces.collect())
    }
}

/// Measures of a target with a grain.
struct Frame {
    block: u64,
    size: u64,
    grain: u64,
}

impl Frame {
    fn of(target: &TargetSpec, geometry: TargetGeometry) -> Self {
        let block = u64::from(geometry.block_bytes.max(1));
        let size = geometry.size_bytes.min(target.size_bytes.unwrap_or(u64::MAX));
        Self { block, size, grain: target.grain_bytes.unwrap_or(block).max(1).next_multiple_of(block) }
    }
}

impl Window {
    /// What `workload` may use of a target.
    pub(crate) fn of(
        workload: &Workload,
        target: &TargetSpec,
        geometry: TargetGeometry,
    ) -> Result<Self, GenerateError> {
        if target.grain_bytes.is_some() {
            return Self::grained(workload, target, geometry);
        }
        let block = u64::from(geometry.block_bytes.max(1));
        let shift = target.offset_bytes.saturating_add(workload.address.base_bytes);
        let size = geometry.size_bytes.min(target.size_bytes.unwrap_or(u64::MAX)).saturating_sub(shift);
        let space = Space::plain(workload, target, size, block)?;
        let Some(area) = hit_area(workload, target) else { return Ok(Self { misses: space, hits: None, shift }) };
        let area = area / block * block;
        let misses = if has_misses(workload) { space.slice(area, u64::MAX) } else { space };
        Ok(Self { misses, hits: Some(space.slice(0, area)), shift })
    }

    /// Both ends rounded down to the grain after the hit area was set aside at the beginning; no address below the grain
    /// where the first block is to be left alone; the target's offset moves the lower end only.
    fn grained(workload: &Workload, target: &TargetSpec, geometry: TargetGeometry) -> Result<Self, GenerateError> {
        let Frame { block, size, grain } = Frame::of(target, geometry);
        let (low, high) = bounds(range_of(workload, target), target, size)?;
        let once = matches!(workload.address.order, AddressOrder::Sequential { once: true, .. });
        // A single pass has an end: it does not go round.
        let high = if once { high.min(size) } else { high };
        let floor = |bytes: u64| bytes - bytes % grain;
        let first = if target.skip_first_block { grain } else { 0 };
        let (end, offset) = (floor(size), target.offset_bytes);
        let space = |low: u64, high: u64| {
            let mut space = Space { block, grain, ..Space::default() };
            let (low, high) = (floor(low), floor(high));
            space.push(Extent { start: low.max(first) + offset, end: high.min(end) });
            if high > end {
                space.push(Extent { start: low.saturating_sub(end).max(first), end: high - end });
            }
            space
        };
        // Streams know no hits.
        let area = hit_area(workload, target).filter(|_| workload.address.streams.is_none());
        let aside = area.unwrap_or(0);
        let misses = space(low.saturating_add(if has_misses(workload) { aside } else { 0 }), high);
        if let Some(area) = area {
            let without_first = low == 0 && target.skip_first_block;
            let begin = floor(if without_first { grain } else { low }).saturating_add(offset);
            let hit_bytes = floor(low.saturating_add(area)).saturating_sub(begin);
            if hit_bytes < grain.saturating_mul(2) {
                let (workload, target) = (workload.name.clone(), target.name.clone());
                return Err(GenerateError::HitArea { workload, target, hit_bytes, grain_bytes: grain, without_first });
            }
        }
        let hits = area.map(|area| space(low, low.saturating_add(area).min(high)));
        Ok(Self { misses, hits, shift: workload.address.base_bytes })
    }
}

/// The one range that counts: a hot band is a range, and the workload's wins over the target's.
fn range_of(workload: &Workload, target: &TargetSpec) -> Option<AddressRange> {
    workload.address.hot_band.or(workload.address.range).or(target.range)
}

/// The size of the hit area that is to be set aside.
fn hit_area(workload: &Workload, target: &TargetSpec) -> Option<u64> {
    let address = &workload.address;
    let is_hit = address.read_hit > 0.0 || address.write_hit > 0.0;
    let area = address.hit_area_bytes.filter(|area| is_hit || *area > 0);
    area.or(is_hit.then_some(target.hit_area_bytes))
}

/// Can an operation miss the hit area?
fn has_misses(workload: &Workload) -> bool {
    let (mix, address) = (&workload.mix, &workload.address);
    mix.trim > 0.0 || (mix.read > 0.0 && address.read_hit < 1.0) || (mix.write > 0.0 && address.write_hit < 1.0)
}

/// Both ends of a range in bytes, not rounded but for whole bytes; an end above `size` wraps around.
fn bounds(range: Option<AddressRange>, target: &TargetSpec, size: u64) -> Result<(u64, u64), GenerateError> {
    let Some(range) = range else { return Ok((0, size)) };
    let resolve = |bound| match bound {
        RangeBound::Bytes(bytes) => bytes,
        RangeBound::Fraction(1.0) => size,
        // 29 % of 100 MiB are whole blocks, though 0.29 is a little less than that.
        RangeBound::Fraction(fraction) => floor_u64(size as f64 * fraction * (1.0 + 4.0 * f64::EPSILON)),
    };
    let (low, high) = (resolve(range.low), resolve(range.high));
    let is_beyond = matches!(range.high, RangeBound::Bytes(bytes) if bytes > size);
    if low >= high || is_beyond || high - low > size || high > size.saturating_mul(2) {
        return Err(GenerateError::Range { target: target.name.clone(), size_bytes: size, low, high });
    }
    Ok((low, high))
}

/// A range as one or two extents whose ends, where they are parts of the size, are multiples of a block.
fn arcs(range: Option<AddressRange>, target: &TargetSpec, size: u64, block: u64) -> Result<Vec<Extent>, GenerateError> {
    let Some(range) = range else { return Ok(vec![Extent { start: 0, end: size }]) };
    let grain = block.max(512);
    let resolve = |bound| match bound {
        RangeBound::Bytes(bytes) => bytes,
        RangeBound::Fraction(1.0) => size,
        RangeBound::Fraction(fraction) => {
            let bytes = floor_u64(size as f64 * fraction);
            bytes - bytes % grain
        }
    };
    let (low, high) = (resolve(range.low), resolve(range.high));
    let beyond = matches!(range.high, RangeBound::Bytes(bytes) if bytes > size);
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
            let first = if space.grain > 0 { extent.start } else { extent.start.next_multiple_of(step) };
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
