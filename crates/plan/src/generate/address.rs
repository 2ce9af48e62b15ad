//! Which place of a space comes next: random, exactly once, skewed or sequential.

use super::address_setting::Setting;
use super::jump::Jump;
use super::mix::value_error;
use super::permutation::Permutation;
use super::rng::{Rng, derive, threshold};
use super::sequential::{Seek, Steps, Streams, segments};
use super::space::{Grid, Space};
use super::{GenerateError, GeneratorPart, OperationKind};
use crate::floor::floor_u64;
use crate::spec::{AddressDistribution, AddressOrder, RangeBound};

/// Chooses addresses of one workload on one target, hit area aside.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    /// One transfer size, every place alike: the common case, kept short.
    Uniform(Grid),
    /// As above with several sizes, or uneven.
    Jumps {
        space: Space,
        jump: Jump,
    },
    Once(Once),
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

impl Places {
    /// No place at all, for what goes by other rules.
    pub(crate) fn nowhere() -> Self {
        Self::Uniform(Grid::default())
    }

    /// `space` must hold the largest transfer.
    pub(crate) fn new(setting: &Setting, space: Space, rng: &mut Rng) -> Result<Self, GenerateError> {
        let (workload, address) = (setting.workload, &setting.workload.address);
        let conflict = |what| Err(GenerateError::Conflict { workload: workload.name.clone(), what });
        match address.order {
            AddressOrder::Random(distribution) => {
                if address.streams.is_some() {
                    return conflict("streams need a sequential order (seekpct=0), but addresses are random");
                }
                if let Some(stride) = address.stride.filter(|_| !is_hot(setting)) {
                    return Self::skips(setting, space, stride, u64::MAX, rng);
                }
                let heads = if address.zones.is_empty() {
                    Self::random(setting, space, distribution)?
                } else {
                    Self::Zones(Zones::new(setting, &space)?)
                };
                Ok(match address.run_length {
                    0 | 1 => heads,
                    length => Self::Runs(Box::new(Runs { heads, space, length, left: 0, position: 0 })),
                })
            }
            AddressOrder::Sequential { once, backward } => {
                if space.grain() > 0 && address.stride.is_some() {
                    return conflict(
                        "a stride is for random addresses (seekpct above 0); it leads from one seek to the next",
                    );
                }
                Self::streams(setting, space, once, backward, None, rng)
            }
            AddressOrder::Mixed { seek, distribution } => {
                if space.grain() > 0 && address.streams.is_some() {
                    return conflict("streams are sequential (seekpct=0), but a part of the addresses is random");
                }
                if !(0.0..=1.0).contains(&seek) {
                    return Err(value_error(workload, "the fraction that seeks", seek, "between 0 and 1"));
                }
                match address.stride.filter(|_| space.grain() > 0 && !is_hot(setting)) {
                    Some(stride) => Self::skips(setting, space, stride, threshold(seek), rng),
                    None => {
                        let jump = Jump::new(setting, &space, distribution)?;
                        let seek = (seek > 0.0).then(|| Seek { upto: threshold(seek), jump: Some(jump) });
                        Self::streams(setting, space, false, false, seek, rng)
                    }
                }
            }
        }
    }

    /// Seeks, as many as random numbers up to `upto`, that skip from the end of the operation before.
    fn skips(
        setting: &Setting,
        space: Space,
        (min, max): (u64, u64),
        upto: u64,
        rng: &mut Rng,
    ) -> Result<Self, GenerateError> {
        if min > max || min % setting.block != 0 {
            let allowed = "a multiple of the target's block and not above the largest";
            return Err(value_error(setting.workload, "the smallest stride", min as f64, allowed));
        }
        Self::streams(setting, space, false, false, Some(Seek { upto, jump: None }), rng)
    }

    fn random(setting: &Setting, space: Space, distribution: AddressDistribution) -> Result<Self, GenerateError> {
        let max = u64::from(setting.sizes.max());
        if distribution == AddressDistribution::ExactOnce && !is_hot(setting) {
            // Blocks must not overlap, whatever the alignment.
            let unit = max.next_multiple_of(setting.align.unwrap_or(max));
            let mut grid = Grid::new(&space, max, unit);
            if grid.len() == 0 {
                // Too short for a multiple of the unit: the one aligned place that there is.
                grid = Grid::new(&space, max, setting.align.unwrap_or(max)).first_only();
            }
            return Ok(Self::Once(Once::new(grid, setting.seed, setting.part)));
        }
        Ok(match (Jump::new(setting, &space, distribution)?, setting.sizes.fixed().map(u64::from)) {
            (Jump::Uniform { align }, Some(bytes)) => Self::Uniform(Grid::new(&space, bytes, align.unwrap_or(bytes))),
            (jump, _) => Self::Jumps { space, jump },
        })
    }

    fn streams(
        setting: &Setting,
        space: Space,
        once: bool,
        backward: bool,
        seek: Option<Seek>,
        rng: &mut Rng,
    ) -> Result<Self, GenerateError> {
        let (workload, address) = (setting.workload, &setting.workload.address);
        // Vdbench's own sequence: each operation where the one before ended, whatever the alignment.
        let follows = space.grain() > 0;
        let stride = address.stride.filter(|_| !follows);
        if let Some((min, max)) = stride.filter(|(min, max)| *min == 0 || min > max) {
            let what = "the smallest stride";
            return Err(value_error(workload, what, min.min(max) as f64, "above 0 and not above the largest"));
        }
        let max = u64::from(setting.sizes.max());
        let fixed = setting.sizes.fixed().map(u64::from);
        let ragged = if follows {
            // Where the grain is smaller than the transfers (a fill), ends do not lie at multiples of these.
            (setting.streams.is_none())
                .then(|| fixed.filter(|bytes| !space.grain().is_multiple_of(*bytes)).unwrap_or(1))
        } else {
            (once && setting.align.is_none() && stride.is_none()).then_some(fixed.unwrap_or(1))
        };
        let align = if follows { 1 } else { setting.align.or(fixed).unwrap_or(setting.block) };
        let steps = Steps {
            align,
            once,
            backward,
            ragged,
            stride: stride.map(|(min, max)| (min.div_ceil(align), (max / align).max(min.div_ceil(align)))),
            seek,
            skip: address.stride.filter(|_| follows).map(|stride| (stride, setting.align)),
        };
        let fits = |piece: &Space| {
            if ragged.is_some() { piece.bytes() > 0 } else { piece.holds(max, align) }
        };
        let mine = |pieces: &[Space]| {
            let (index, count) = (setting.part.index as usize, setting.part.count as usize);
            pieces.iter().copied().skip(index).step_by(count).collect()
        };
        let is_skewed = matches!(&steps.seek, Some(Seek { jump: Some(Jump::Skewed(_)), .. }));
        let segments = match setting.streams {
            Some(pieces) => mine(pieces),
            // What is hot must be the same for all parts.
            None if is_skewed => vec![space],
            None => {
                let unit = max.next_multiple_of(align);
                segments(&space, address.streams.unwrap_or(1), unit, fits, setting.part, once)
            }
        };
        let start =
            (address.random_start || (steps.seek.is_some() && !follows)).then_some(if follows { max } else { align });
        Ok(Self::Streams(Streams::new(steps, segments, start, rng)))
    }

    /// Address and length of the next transfer of (normally) `bytes`.
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng, op: OperationKind, bytes: u32) -> Option<(u64, u32)> {
        match self {
            Self::Uniform(grid) => Some((grid.at(rng.below(grid.len())), bytes)),
            Self::Jumps { space, jump } => Some((jump.next(space, rng, op, bytes), bytes)),
            Self::Once(once) => once.next().map(|at| (at, bytes)),
            Self::Streams(streams) => streams.next(rng, op, bytes),
            Self::Zones(zones) => Some((zones.next(rng, bytes), bytes)),
            Self::Runs(runs) => runs.next(rng, op, bytes),
        }
    }
}

/// Do seeks follow the curve of a hot band?
fn is_hot(setting: &Setting) -> bool {
    setting.workload.address.hot_band.is_some() && !setting.hits
}

impl Zones {
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
                RangeBound::Bytes(bytes) => bytes.min(total),
                RangeBound::Fraction(end) if end >= 1.0 => total,
                RangeBound::Fraction(end) => floor_u64(total as f64 * end),
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
    fn next(&mut self, rng: &mut Rng, op: OperationKind, bytes: u32) -> Option<(u64, u32)> {
        if self.left > 0 {
            let at = self.position;
            let end = at.saturating_add(u64::from(bytes));
            if self.space.find(at).is_some_and(|extent| end <= self.space.extents()[extent].end) {
                (self.left, self.position) = (self.left - 1, end);
                return Some((at, bytes));
            }
        }
        let (at, bytes) = self.heads.next(rng, op, bytes)?;
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
    part: GeneratorPart,
    pass: u64,
    seed: u64,
}

impl Once {
    fn new(grid: Grid, seed: u64, part: GeneratorPart) -> Self {
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
