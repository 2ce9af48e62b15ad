//! Where the operations of a random order go.

use super::way::Way;
use crate::generate::GenerateError;
use crate::generate::block_map::BlockMap;
use crate::generate::mix::value_error;
use crate::generate::permutation::Permutation;
use crate::generate::rng::{Rng, derive, threshold};
use crate::generate::skew::Skew;
use crate::spec::{AddressDistribution, FileUse, RangeBound, Workload};

/// Which operations of a random order follow the one before.
#[derive(Clone, Debug)]
pub(super) enum Follow {
    /// None.
    Never,
    /// All but every so many-th; how many are still to come.
    Runs { length: u32, left: u32 },
    /// Random numbers above this.
    Above(u64),
}

/// Random places.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// Any.
    Free,
    /// Each once: the orders, and which of them an operation of each kind takes. Kinds that have the same places share them.
    Once { orders: Vec<OnceOrder>, of: [usize; 3] },
    /// Any that was not visited yet, whatever the sizes of transfers.
    Mapped(Box<BlockMap>),
    /// By kind of operation: places of different sizes are not as many.
    Skewed(Box<[Skew; 3]>),
    /// Random numbers up to the first go to the places from the second to the third, as fractions or bytes.
    Zones(Vec<(u64, RangeBound, RangeBound)>),
}

/// Places in an order without a repetition.
#[derive(Clone, Debug)]
pub(super) struct OnceOrder {
    order: Permutation,
    next: u64,
    places: u64,
}

impl Follow {
    #[inline]
    pub(super) fn is_random(&mut self, rng: &mut Rng) -> bool {
        match self {
            Self::Never => true,
            Self::Above(seek) => rng.next_u64() <= *seek,
            Self::Runs { length, left } => {
                *left -= 1;
                let is_head = *left == 0;
                if is_head {
                    *left = *length;
                }
                is_head
            }
        }
    }
}

impl Choice {
    /// `room`: bytes of the part, as far as there are any; `rest`: from its start to the file's end.
    pub(super) fn new(
        workload: &Workload,
        files: &FileUse,
        (seed, distribution): (u64, AddressDistribution),
        ways: &[Way; 3],
        (room, rest): (u64, u64),
    ) -> Result<Self, GenerateError> {
        if !workload.address.zones.is_empty() {
            return Self::zones(workload, ways, room);
        }
        match distribution {
            AddressDistribution::Uniform => Ok(Self::Free),
            AddressDistribution::ExactOnce if files.cuts => {
                let smallest = ways.iter().map(|way| way.min).min().unwrap_or(1).min(files.smallest_bytes.max(1));
                Ok(Self::Mapped(Box::new(BlockMap::new(room / smallest))))
            }
            AddressDistribution::ExactOnce => Ok(Self::once(ways, seed)),
            skewed => {
                let mut skews = Vec::with_capacity(ways.len());
                for way in ways {
                    // The last place counts, though it reaches beyond the part, where it does not reach beyond the file.
                    let (places, largest) = (way.places.max(1), way.align.max(way.max));
                    let has_last = places * largest < room && (places + 1) * largest <= rest;
                    skews.extend(Skew::new(workload, skewed, places + u64::from(has_last), derive(seed, 0))?);
                }
                Ok(<[Skew; 3]>::try_from(skews).map_or(Self::Free, |skews| Self::Skewed(Box::new(skews))))
            }
        }
    }

    fn once(ways: &[Way; 3], seed: u64) -> Self {
        let of_way = |way: &Way| (way.align, way.places.max(1));
        let (mut orders, mut of) = (Vec::new(), [0; 3]);
        for kind in 0..ways.len() {
            if let Some(same) = (0..kind).find(|before| of_way(&ways[*before]) == of_way(&ways[kind])) {
                of[kind] = of[same];
                continue;
            }
            of[kind] = orders.len();
            let places = ways[kind].places.max(1);
            orders.push(OnceOrder { order: Permutation::new(places, derive(seed, 1)), next: 0, places });
        }
        Self::Once { orders, of }
    }

    fn zones(workload: &Workload, ways: &[Way; 3], room: u64) -> Result<Self, GenerateError> {
        let zones = &workload.address.zones;
        let sum: f64 = zones.iter().map(|(share, _)| share).sum();
        let (mut from, mut upto, mut out) = (RangeBound::Bytes(0), 0.0, Vec::with_capacity(zones.len()));
        for &(share, to) in zones {
            if !(share >= 0.0 && sum > 0.0) {
                let what = "the share of a zone";
                return Err(value_error(workload, what, share, "0 or more, and more in one of them"));
            }
            upto += share / sum;
            let is_beyond = matches!(to, RangeBound::Bytes(bytes) if bytes > room);
            let is_short = ways.iter().any(|way| way.zone(from, to).1 == 0);
            if share > 0.0 && (is_beyond || is_short) {
                let what =
                    if is_beyond { "a zone ends beyond the end of the part" } else { "a zone holds no transfer" };
                return Err(GenerateError::Conflict { workload: workload.name.clone(), what });
            }
            if share > 0.0 {
                out.push((threshold(upto), from, to));
            }
            from = to;
        }
        if let Some(last) = out.last_mut() {
            last.0 = u64::MAX;
        }
        Ok(Self::Zones(out))
    }

    /// Other places, or the same ones in another order.
    pub(super) fn vary(&mut self, rng: &mut Rng) {
        if let Self::Once { orders, .. } = self {
            orders.iter_mut().for_each(|one| one.order = Permutation::new(one.places, rng.next_u64()));
        }
    }

    pub(super) fn begin_anew(&mut self) {
        match self {
            Self::Once { orders, .. } => orders.iter_mut().for_each(|one| one.next = 0),
            Self::Mapped(map) => map.clear(),
            _ => {}
        }
    }

    /// So many bytes of a transfer to place number `block` as reach into nothing that was visited; these are, from now on.
    #[inline]
    pub(super) fn cut(&mut self, block: u64, bytes: u32, smallest: u64) -> u32 {
        let Self::Mapped(map) = self else { return bytes };
        let free = map.take(block, u64::from(bytes).div_ceil(smallest)).saturating_mul(smallest);
        u32::try_from(free).map_or(bytes, |free| bytes.min(free))
    }

    /// Number of the next place; `None` when all were visited.
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Rng, (kind, way): (usize, &Way)) -> Option<u64> {
        match self {
            Self::Free => (way.places > 0).then(|| rng.below(way.places)),
            Self::Once { orders, of } => {
                let one = &mut orders[of[kind]];
                let at = one.next;
                one.next += 1;
                (at < one.places).then(|| one.order.apply(at))
            }
            Self::Mapped(map) if way.places > 0 => map.free_from(rng.below(way.places)),
            Self::Mapped(_) => None,
            Self::Skewed(skews) => Some(skews[kind].next(rng)),
            Self::Zones(zones) => {
                let x = rng.next_u64();
                let (_, from, to) = zones.iter().find(|(upto, ..)| x <= *upto)?;
                let (first, count) = way.zone(*from, *to);
                (count > 0).then(|| first + rng.below(count))
            }
        }
    }
}
