//! Which place of a space comes next: random, exactly once, skewed or sequential.

use super::mix::{Sizes, value_error};
use super::permutation::Permutation;
use super::rng::{Rng, derive, threshold};
use super::sequential::{Steps, Streams, segments};
use super::skew::Skew;
use super::space::{Grid, Space};
use super::{GenerateError, Part, floor_u64};
use crate::spec::{Bound, Distribution, Order, Workload};

/// Chooses addresses of one workload on one target, hit area aside.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    /// One transfer size, every place alike: the common case, kept short.
    Uniform(Grid),
    /// As above with several sizes.
    Varied {
        space: Space,
        align: Option<u64>,
    },
    Once(Once),
    Skewed {
        skew: Skew,
        fit: Fit,
    },
    Streams(Streams),
    Zones(Zones),
    Runs(Box<Runs>),
}

/// Zones with a share of the operations each; all places of a zone are alike.
#[derive(Clone, Debug)]
pub(crate) struct Zones {
    /// Random numbers up to this go to the zone.
    zones: Vec<(u64, Space)>,
    align: Option<u64>,
}

/// From every place that `heads` gives, so many operations follow each other.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    heads: Places,
    space: Space,
    length: u32,
    left: u32,
    position: u64,
}

/// The curve of a hot band: so much of the band, from its beginning, gets so much of the operations. The hottest
/// hundredth gets a fifth, the hottest fifth three quarters; in each step places are alike.
pub const HOT_BAND: [(f64, f64); 6] =
    [(0.01, 0.20), (0.05, 0.45), (0.10, 0.60), (0.20, 0.75), (0.50, 0.93), (1.0, 1.0)];

/// What is needed to choose places.
pub(crate) struct Setting<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) sizes: &'a Sizes,
    pub(crate) align: Option<u64>,
    pub(crate) block: u64,
    pub(crate) part: Part,
    /// The same for all parts.
    pub(crate) seed: u64,
}

impl Places {
    /// `space` must hold the largest transfer.
    pub(crate) fn new(setting: &Setting, space: Space, rng: &mut Rng) -> Result<Self, GenerateError> {
        let address = &setting.workload.address;
        let hot = address.hot_band.is_some();
        if hot && (address.order != Order::Random(Distribution::Uniform) || !address.zones.is_empty()) {
            let what = "a hot band needs random addresses (seekpct=100) without another distribution";
            return Err(GenerateError::Conflict { workload: setting.workload.name.clone(), what });
        }
        match address.order {
            Order::Random(distribution) => {
                if address.stride.is_some() || address.streams.is_some() {
                    let what = "stride and streams need a sequential order (seekpct=0), but addresses are random";
                    return Err(GenerateError::Conflict { workload: setting.workload.name.clone(), what });
                }
                let heads = if hot {
                    Self::Zones(Zones::hot(setting, &space))
                } else if address.zones.is_empty() {
                    Self::random(setting, space, distribution)?
                } else {
                    Self::Zones(Zones::new(setting, &space)?)
                };
                Ok(match address.run_length {
                    0 | 1 => heads,
                    length => Self::Runs(Box::new(Runs { heads, space, length, left: 0, position: 0 })),
                })
            }
            Order::Sequential { once, backward } => Self::streams(setting, space, once, backward, None, rng),
            Order::Mixed { seek, .. } => Self::streams(setting, space, false, false, Some(seek), rng),
        }
    }

    fn random(setting: &Setting, space: Space, distribution: Distribution) -> Result<Self, GenerateError> {
        let (min, max) = (u64::from(setting.sizes.min()), u64::from(setting.sizes.max()));
        match distribution {
            Distribution::Uniform => Ok(match setting.sizes.fixed() {
                Some(bytes) => {
                    Self::Uniform(Grid::new(&space, u64::from(bytes), setting.align.unwrap_or(u64::from(bytes))))
                }
                None => Self::Varied { space, align: setting.align },
            }),
            Distribution::ExactOnce => {
                // Blocks must not overlap, whatever the alignment.
                let unit = max.next_multiple_of(setting.align.unwrap_or(max));
                let mut grid = Grid::new(&space, max, unit);
                if grid.len() == 0 {
                    // Too short for a multiple of the unit: the one aligned place that there is.
                    grid = Grid::new(&space, max, setting.align.unwrap_or(max)).first_only();
                }
                Ok(Self::Once(Once::new(grid, setting.seed, setting.part)))
            }
            skewed => {
                let grid = space.places(min, setting.align);
                let fit = Fit { grid, space, align: setting.align, plain: setting.sizes.fixed().is_some() };
                match Skew::new(setting.workload, skewed, grid.len(), derive(setting.seed, 0))? {
                    Some(skew) => Ok(Self::Skewed { skew, fit }),
                    None => Ok(Self::Varied { space, align: setting.align }),
                }
            }
        }
    }

    fn streams(
        setting: &Setting,
        space: Space,
        once: bool,
        backward: bool,
        seek: Option<f64>,
        rng: &mut Rng,
    ) -> Result<Self, GenerateError> {
        let (workload, address) = (setting.workload, &setting.workload.address);
        if let Some(seek) = seek.filter(|seek| !(0.0..=1.0).contains(seek)) {
            return Err(value_error(workload, "the fraction that seeks", seek, "between 0 and 1"));
        }
        if let Some((min, max)) = address.stride.filter(|(min, max)| *min == 0 || min > max) {
            let what = "the smallest stride";
            return Err(value_error(workload, what, min.min(max) as f64, "above 0 and not above the largest"));
        }
        let max = u64::from(setting.sizes.max());
        let fixed = setting.sizes.fixed().map(u64::from);
        let ragged = (once && setting.align.is_none() && address.stride.is_none()).then_some(fixed.unwrap_or(1));
        let align = setting.align.or(fixed).unwrap_or(setting.block);
        let steps = Steps {
            align,
            seek_align: setting.align,
            once,
            backward,
            ragged,
            stride: address.stride.map(|(min, max)| (min.div_ceil(align), (max / align).max(min.div_ceil(align)))),
            seek: seek.filter(|seek| *seek > 0.0).map(threshold),
        };
        let fits = |piece: &Space| {
            if ragged.is_some() { piece.bytes() > 0 } else { piece.holds(max, align) }
        };
        let unit = max.next_multiple_of(align);
        let segments = segments(&space, address.streams.unwrap_or(1), unit, fits, setting.part, once);
        Ok(Self::Streams(Streams::new(steps, segments, rng)))
    }

    /// Address and length of the next transfer of (normally) `bytes`.
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng, bytes: u32) -> Option<(u64, u32)> {
        match self {
            Self::Uniform(grid) => Some((grid.at(rng.below(grid.len())), bytes)),
            Self::Varied { space, align } => {
                let grid = space.places(u64::from(bytes), *align);
                Some((grid.at(rng.below(grid.len())), bytes))
            }
            Self::Once(once) => once.next().map(|at| (at, bytes)),
            Self::Skewed { skew, fit } => Some((fit.at(skew.next(rng), u64::from(bytes)), bytes)),
            Self::Streams(streams) => streams.next(rng, bytes),
            Self::Zones(zones) => Some((zones.next(rng, bytes), bytes)),
            Self::Runs(runs) => runs.next(rng, bytes),
        }
    }
}

impl Zones {
    /// The steps of [`HOT_BAND`]; those too small for a transfer are one with the next.
    fn hot(setting: &Setting, space: &Space) -> Self {
        let (max, total) = (u64::from(setting.sizes.max()), space.bytes());
        let holds = |from: u64, to: u64| space.slice(from, to).holds(max, setting.align.unwrap_or(max));
        let (mut from, mut zones) = (0, Vec::with_capacity(HOT_BAND.len()));
        for (part, upto) in HOT_BAND {
            let mut to = floor_u64(total as f64 * part);
            to -= to % setting.align.unwrap_or(max).max(1);
            // What would be left over behind it must hold a transfer as well.
            if part >= 1.0 || !holds(to, total) {
                to = total;
            }
            if to == total || holds(from, to) {
                zones.push((if to == total { u64::MAX } else { threshold(upto) }, space.slice(from, to)));
                from = to;
            }
            if to == total {
                break;
            }
        }
        Self { zones, align: setting.align }
    }

    fn new(setting: &Setting, space: &Space) -> Result<Self, GenerateError> {
        let zones = &setting.workload.address.zones;
        let sum: f64 = zones.iter().map(|(share, _)| share).sum();
        let (max, total) = (u64::from(setting.sizes.max()), space.bytes());
        let (mut from, mut upto, mut out) = (0, 0.0, Vec::with_capacity(zones.len()));
        for &(share, end) in zones {
            if !(share >= 0.0 && sum > 0.0) {
                let what = "the share of a zone";
                return Err(value_error(setting.workload, what, share, "0 or more, and more in one of them"));
            }
            let to = match end {
                Bound::Bytes(bytes) => bytes.min(total),
                Bound::Fraction(end) if end >= 1.0 => total,
                Bound::Fraction(end) => floor_u64(total as f64 * end),
            };
            let zone = space.slice(from, to);
            upto += share / sum;
            if share > 0.0 {
                if !zone.holds(max, setting.align.unwrap_or(setting.block)) {
                    let what = "a zone is smaller than the largest transfer";
                    return Err(GenerateError::Conflict { workload: setting.workload.name.clone(), what });
                }
                out.push((threshold(upto), zone));
            }
            from = to;
        }
        if let Some(last) = out.last_mut() {
            last.0 = u64::MAX;
        }
        Ok(Self { zones: out, align: setting.align })
    }

    #[inline]
    fn next(&self, rng: &mut Rng, bytes: u32) -> u64 {
        let x = rng.next_u64();
        let zone = self.zones.iter().find(|(upto, _)| x <= *upto).map_or(&self.zones[0].1, |(_, zone)| zone);
        let grid = zone.places(u64::from(bytes), self.align);
        grid.at(rng.below(grid.len()))
    }
}

impl Runs {
    #[inline]
    fn next(&mut self, rng: &mut Rng, bytes: u32) -> Option<(u64, u32)> {
        if self.left > 0 {
            let at = self.position;
            let end = at.saturating_add(u64::from(bytes));
            if self.space.find(at).is_some_and(|extent| end <= self.space.extents()[extent].end) {
                (self.left, self.position) = (self.left - 1, end);
                return Some((at, bytes));
            }
        }
        let (at, bytes) = self.heads.next(rng, bytes)?;
        (self.left, self.position) = (self.length - 1, at + u64::from(bytes));
        Some((at, bytes))
    }
}

/// Every block once, in an order that changes from pass to pass; part `i` of `c` takes every `c`-th.
#[derive(Clone, Debug)]
pub(crate) struct Once {
    grid: Grid,
    order: Permutation,
    next: u64,
    part: Part,
    pass: u64,
    seed: u64,
}

impl Once {
    fn new(grid: Grid, seed: u64, part: Part) -> Self {
        let order = Permutation::new(grid.len(), derive(seed, 1));
        Self { grid, order, next: u64::from(part.index), part, pass: 1, seed }
    }

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.next >= self.grid.len() {
            if u64::from(self.part.index) >= self.grid.len() {
                return None;
            }
            self.pass += 1;
            self.order = Permutation::new(self.grid.len(), derive(self.seed, self.pass));
            self.next = u64::from(self.part.index);
        }
        let at = self.grid.at(self.order.apply(self.next));
        self.next += u64::from(self.part.count);
        Some(at)
    }
}

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
    #[inline]
    fn at(&self, place: u64, bytes: u64) -> u64 {
        let at = self.grid.at(place);
        if self.plain { at } else { self.around(at, bytes) }
    }

    /// The aligned place for `bytes` that covers `at`, or the nearest in its extent, or any.
    fn around(&self, at: u64, bytes: u64) -> u64 {
        let align = self.align.unwrap_or(bytes);
        let fitting = || {
            let extent = self.space.extents()[self.space.find(at)?];
            let first = extent.start.next_multiple_of(align);
            let last = extent.end.checked_sub(bytes)?;
            let last = last - last % align;
            (first <= last).then(|| (at - at % align).clamp(first, last))
        };
        fitting().unwrap_or_else(|| self.space.places(bytes, self.align).at(0))
    }
}
