//! One pass of a job over one file or device in the order that fio takes: see [`FileUse`](crate::FileUse).
//!
//! fio chooses a place before a size, looks then whether it is still inside of the part, and gives the file up for this pass
//! when it is not. So a pass has an end even where places come by chance, and what is left over at the end of a part is
//! not reached or reached in full, as fio has it.

use super::block_map::BlockMap;
use super::mix::{OpChoice, Sizes, value_error};
use super::permutation::Permutation;
use super::rng::{Rng, derive, threshold};
use super::skew::Skew;
use super::strided::Strided;
use super::{GenerateError, Op, Operation, floor_u64};
use crate::files::{FilePart, FileUse};
use crate::spec::{Bound, Distribution, Order, Workload};

/// How often a size is drawn before the smallest is taken: only where nearly none fits.
const DRAWS_MAX: u32 = 1000;

/// Places of reads, writes and trims in one file.
#[derive(Clone, Debug)]
pub(crate) struct FilePass {
    part: FilePart,
    /// First byte behind the file.
    real: u64,
    strided: Option<Strided>,
    order: FileOrder,
    gap: i64,
    rewinds: bool,
    /// Are the random choices of each pass its own?
    varies: bool,
    /// Trims and writes take turns at the same places.
    pairs: bool,
    /// Writes of such pairs have sizes of their own.
    own_sizes: bool,
    /// The last trim of a random pair still lacks its write.
    owes_write: bool,
    ways: [Way; 3],
    rewound: bool,
    /// Restored at the start of a pass: each has the same choices.
    rng: Rng,
}

/// Where operations of one kind are.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Smallest and largest transfer.
    min: u64,
    max: u64,
    /// Random places are multiples of this.
    align: u64,
    /// Number of random places.
    places: u64,
    /// Start and length of the last transfer.
    last: Option<(u64, u32)>,
    /// Where the next one in order follows.
    position: u64,
}

#[derive(Clone, Debug)]
enum FileOrder {
    Sequential,
    Random { choice: Choice, follow: Follow },
}

/// Which operations of a random order follow the one before.
#[derive(Clone, Debug)]
enum Follow {
    /// None.
    Never,
    /// All but every so many-th; how many are still to come.
    Runs { length: u32, left: u32 },
    /// Random numbers above this.
    Above(u64),
}

/// Random places.
#[derive(Clone, Debug)]
enum Choice {
    /// Any.
    Free,
    /// Each once: the orders, and which of them an operation of each kind takes. Kinds that have the same places share them.
    Once { orders: Vec<OnceOrder>, of: [usize; 3] },
    /// Any that was not visited yet, whatever the sizes of transfers.
    Mapped(Box<BlockMap>),
    /// By kind of operation: places of different sizes are not as many.
    Skewed(Box<[Skew; 3]>),
    /// Random numbers up to the first go to the places from the second to the third, as fractions or bytes.
    Zones(Vec<(u64, Bound, Bound)>),
}

/// Places in an order without a repetition.
#[derive(Clone, Debug)]
struct OnceOrder {
    order: Permutation,
    next: u64,
    places: u64,
}

impl FilePass {
    /// `real_bytes`: size of the file, in which `part` begins; `block_bytes`: of its device.
    pub(crate) fn new(
        workload: &Workload,
        files: &FileUse,
        (part, real_bytes): (FilePart, u64),
        (block_bytes, seed): (u64, u64),
        rng: &Rng,
    ) -> Result<Self, GenerateError> {
        let rest = real_bytes.saturating_sub(part.start);
        let strided = files.strided.map(|zones| Strided::new(zones, part, real_bytes));
        let room = match &strided {
            // As fio has it, whatever the part is.
            Some(strided) => strided.range_bytes(),
            None => part.bytes.min(rest),
        };
        let transfers = workload.transfers();
        let way = |at: usize| {
            let min = transfers[at].min_bytes().max(1);
            let align = if files.align_bytes[at] == 0 { min } else { files.align_bytes[at] };
            let places = room.saturating_sub(min.saturating_sub(align)) / align;
            Way { min, max: transfers[at].max_bytes(), align, places, last: None, position: part.start }
        };
        let mut ways = [way(0), way(1), way(2)];
        let shares = [workload.mix.read, workload.mix.write, workload.mix.trim];
        // What never comes has no say in how fine the places are.
        if let Some(used) = (0..3).find(|at| shares[*at] > 0.0) {
            (0..3).filter(|at| shares[*at] <= 0.0).for_each(|at| ways[at] = ways[used]);
        }
        if !files.gap_bytes.unsigned_abs().is_multiple_of(block_bytes) {
            let what = "the gap between sequential transfers (behind the colon of rw=)";
            let allowed = "a multiple of the target's block: direct I/O cannot go to other places";
            return Err(value_error(workload, what, files.gap_bytes as f64, allowed));
        }
        let follow = |seek: f64| if seek < 1.0 { Follow::Above(threshold(seek)) } else { Follow::Never };
        let order = match workload.address.order {
            Order::Sequential { .. } => FileOrder::Sequential,
            Order::Mixed { seek, distribution } => {
                let choice = Choice::new(workload, files, (seed, distribution), &ways, (room, rest))?;
                FileOrder::Random { choice, follow: follow(seek) }
            }
            Order::Random(distribution) => {
                let choice = Choice::new(workload, files, (seed, distribution), &ways, (room, rest))?;
                let length = workload.address.run_length;
                let follow = if length > 1 { Follow::Runs { length, left: 1 } } else { Follow::Never };
                FileOrder::Random { choice, follow }
            }
        };
        let has_no_place = ways.iter().all(|way| way.places == 0);
        if has_no_place && matches!(order, FileOrder::Random { choice: Choice::Free | Choice::Mapped(_), .. }) {
            let what = "no random place holds a transfer: the part, or zone, of the file is smaller than blockalign";
            return Err(GenerateError::Conflict { workload: workload.name.clone(), what });
        }
        let own_sizes = transfers[1] != transfers[2];
        let (pairs, rewinds) = (workload.mix.trim_then_write, files.rewinds);
        Ok(Self {
            part,
            real: real_bytes,
            strided,
            order,
            gap: files.gap_bytes,
            rewinds,
            varies: files.varies,
            pairs,
            own_sizes,
            owes_write: false,
            rewound: false,
            ways,
            rng: rng.clone(),
        })
    }

    /// Another pass: from the beginning, with the same random choices, unless they vary.
    pub(crate) fn begin_anew(&mut self, rng: &mut Rng) {
        if !self.varies {
            rng.clone_from(&self.rng);
        }
        self.owes_write = false;
        self.strided.iter_mut().for_each(Strided::begin_anew);
        self.ways.iter_mut().for_each(|way| (way.last, way.position) = (None, self.part.start));
        if let FileOrder::Random { choice, .. } = &mut self.order {
            choice.begin_anew();
            if self.varies {
                choice.vary(rng);
            }
        }
    }

    /// Has it begun anew by itself since this was asked?
    #[inline]
    pub(crate) fn has_rewound(&mut self) -> bool {
        std::mem::take(&mut self.rewound)
    }

    /// The next operation; `None`: this pass is through with the file.
    #[inline]
    pub(crate) fn next(
        &mut self,
        rng: &mut Rng,
        (ops, held): (&mut OpChoice, [bool; 4]),
        sizes: &Sizes,
    ) -> Option<Operation> {
        if self.strided.is_some() {
            self.enter_zone(rng);
        }
        let op = match if self.pairs { self.pair() } else { ops.next(rng) } {
            op if held[op.index()] => ops.other(op),
            op => op,
        };
        if op == Op::Flush {
            return Some(Operation { op, offset: 0, bytes: 0 });
        }
        let is_random = matches!(self.order, FileOrder::Random { .. });
        let trimmed = self.ways[Op::Trim.index()].last.filter(|_| self.pairs && op == Op::Write);
        let mut chosen = None;
        let (at, mut bytes) = match trimmed {
            // A random pair is one place; a sequential one finds its place by itself.
            Some(trimmed) if is_random => trimmed,
            Some((_, bytes)) if !self.own_sizes => (self.place(rng, op)?.0, bytes),
            _ => {
                let (at, is_chosen) = self.place(rng, op)?;
                chosen = is_chosen.then_some(at);
                (at, self.size(rng, sizes, op, at)?)
            }
        };
        if at.checked_add(u64::from(bytes))? > self.real {
            return None;
        }
        let base = self.base();
        if let (Some(at), FileOrder::Random { choice, .. }) = (chosen, &mut self.order) {
            let smallest = self.ways[op.index()].min;
            bytes = choice.cut((at - base) / smallest, bytes, smallest);
        }
        self.owes_write = self.pairs && op == Op::Trim;
        self.strided.iter_mut().for_each(|strided| strided.count(bytes));
        let way = &mut self.ways[op.index()];
        (way.last, way.position) = (Some((at, bytes)), at + u64::from(bytes));
        Some(Operation { op, offset: at, bytes })
    }

    /// Goes on to the next zone where that is due.
    fn enter_zone(&mut self, rng: &mut Rng) {
        let Some(strided) = &mut self.strided else { return };
        // A pair is one place, in one zone.
        let begins = !self.owes_write && strided.enter();
        let (base, end) = (strided.base(), strided.base().saturating_add(strided.range_bytes()));
        for way in self.ways.iter_mut().filter(|way| begins || way.position >= end) {
            way.position = base;
            way.last = way.last.filter(|_| !begins);
        }
        if let FileOrder::Random { choice, .. } = &mut self.order
            && begins
        {
            choice.begin_anew();
            choice.vary(rng);
        }
    }

    /// Where places count from.
    fn base(&self) -> u64 {
        self.strided.map_or(self.part.start, |strided| strided.base())
    }

    /// What comes next of a pair: a write until its start is that of the last trim.
    fn pair(&self) -> Op {
        let start = |op: Op| self.ways[op.index()].last.map(|(start, _)| start);
        match &self.order {
            FileOrder::Sequential if start(Op::Trim) == start(Op::Write) => Op::Trim,
            FileOrder::Sequential => Op::Write,
            FileOrder::Random { .. } if self.owes_write => Op::Write,
            FileOrder::Random { .. } => Op::Trim,
        }
    }

    /// A place that is inside of the part and the file, and whether it was chosen by chance.
    #[inline]
    fn place(&mut self, rng: &mut Rng, op: Op) -> Option<(u64, bool)> {
        let k = op.index();
        let is_random = match &mut self.order {
            FileOrder::Sequential => false,
            FileOrder::Random { follow, .. } => follow.is_random(rng),
        };
        let followed = if is_random { None } else { self.follow(k) };
        // What follows the operation before takes no place from those that are chosen.
        let is_chosen = is_random && matches!(self.order, FileOrder::Random { .. });
        let relative = match (followed, &mut self.order) {
            (Some(at), _) => at,
            (None, FileOrder::Sequential) => return None,
            (None, FileOrder::Random { choice, .. }) => {
                let way = &self.ways[k];
                let block = match choice.next(rng, (k, way)) {
                    None if self.rewinds || self.strided.is_some() => {
                        self.rewound = true;
                        choice.begin_anew();
                        // The random numbers go on: another order.
                        choice.vary(rng);
                        choice.next(rng, (k, way))
                    }
                    block => block,
                };
                block? * way.align
            }
        };
        let at = self.base().checked_add(relative)?;
        (relative < self.part.bytes && at < self.real).then_some((at, is_chosen))
    }

    /// The place behind the last transfer, as bytes from the start of the part; `None` behind the file's end.
    #[inline]
    fn follow(&mut self, k: usize) -> Option<u64> {
        let end = self.part.start.saturating_add(self.part.bytes);
        let base = self.base();
        let room = end.min(self.real).saturating_sub(base);
        let way = &mut self.ways[k];
        // A step back that is shorter than a transfer goes forward all the same.
        if self.gap.saturating_add_unsigned(way.min) < 0 {
            // The last place first, and again when there is none before.
            let last = room.checked_sub(way.min)?;
            return Some(match way.last {
                None => last,
                Some(_) => way.position.saturating_sub(base).checked_add_signed(self.gap).unwrap_or(last),
            });
        }
        if self.rewinds && way.position >= end {
            way.position = base;
            self.rewound = true;
        }
        if way.position >= self.real {
            return None;
        }
        match way.position.saturating_sub(base) {
            0 => Some(0),
            // A gap at the file's end leads back to the beginning.
            position => match position.saturating_add_signed(self.gap) {
                next if self.gap > 0 && next >= self.real => Some(0),
                next => Some(next),
            },
        }
    }

    /// A size that fits into the part behind `at`; one alone need only fit into the file.
    #[inline]
    fn size(&self, rng: &mut Rng, sizes: &Sizes, op: Op, at: u64) -> Option<u32> {
        let way = &self.ways[op.index()];
        let first = sizes.next(rng, op);
        if way.min == way.max {
            return Some(first);
        }
        let room = self.part.start.saturating_add(self.part.bytes).saturating_sub(at);
        if way.min > room {
            return None;
        }
        let mut bytes = first;
        for _ in 0..DRAWS_MAX {
            if u64::from(bytes) <= room {
                return Some(bytes);
            }
            bytes = sizes.next(rng, op);
        }
        u32::try_from(way.min).ok()
    }
}

impl Follow {
    #[inline]
    fn is_random(&mut self, rng: &mut Rng) -> bool {
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
    fn new(
        workload: &Workload,
        files: &FileUse,
        (seed, distribution): (u64, Distribution),
        ways: &[Way; 3],
        (room, rest): (u64, u64),
    ) -> Result<Self, GenerateError> {
        if !workload.address.zones.is_empty() {
            return Self::zones(workload, ways, room);
        }
        match distribution {
            Distribution::Uniform => Ok(Self::Free),
            Distribution::ExactOnce if files.cuts => {
                let smallest = ways.iter().map(|way| way.min).min().unwrap_or(1).min(files.smallest_bytes.max(1));
                Ok(Self::Mapped(Box::new(BlockMap::new(room / smallest))))
            }
            Distribution::ExactOnce => Ok(Self::once(ways, seed)),
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
        let (mut from, mut upto, mut out) = (Bound::Bytes(0), 0.0, Vec::with_capacity(zones.len()));
        for &(share, to) in zones {
            if !(share >= 0.0 && sum > 0.0) {
                let what = "the share of a zone";
                return Err(value_error(workload, what, share, "0 or more, and more in one of them"));
            }
            upto += share / sum;
            let is_beyond = matches!(to, Bound::Bytes(bytes) if bytes > room);
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
    fn vary(&mut self, rng: &mut Rng) {
        if let Self::Once { orders, .. } = self {
            orders.iter_mut().for_each(|one| one.order = Permutation::new(one.places, rng.next_u64()));
        }
    }

    fn begin_anew(&mut self) {
        match self {
            Self::Once { orders, .. } => orders.iter_mut().for_each(|one| one.next = 0),
            Self::Mapped(map) => map.clear(),
            _ => {}
        }
    }

    /// So many bytes of a transfer to place number `block` as reach into nothing that was visited; these are, from now on.
    #[inline]
    fn cut(&mut self, block: u64, bytes: u32, smallest: u64) -> u32 {
        let Self::Mapped(map) = self else { return bytes };
        let free = map.take(block, u64::from(bytes).div_ceil(smallest)).saturating_mul(smallest);
        u32::try_from(free).map_or(bytes, |free| bytes.min(free))
    }

    /// Number of the next place; `None` when all were visited.
    #[inline]
    fn next(&mut self, rng: &mut Rng, (kind, way): (usize, &Way)) -> Option<u64> {
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

impl Way {
    /// First place of a zone, and how many it has: percents of the places, or whole places of the bytes.
    fn zone(&self, from: Bound, to: Bound) -> (u64, u64) {
        let part = |part: f64| floor_u64(self.places as f64 * part + 1e-6);
        match (from, to) {
            (Bound::Bytes(from), Bound::Bytes(to)) => {
                let first = from / self.align;
                (first, (to / self.align).min(self.places).saturating_sub(first))
            }
            // Its length is reckoned by itself, not from its end.
            (Bound::Fraction(from), Bound::Fraction(to)) => (part(from), part(to - from)),
            (Bound::Bytes(_), Bound::Fraction(to)) => (0, part(to)),
            (Bound::Fraction(from), Bound::Bytes(to)) => {
                (part(from), (to / self.align).min(self.places).saturating_sub(part(from)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{target, workload};
    use super::super::{Geometry, Operations, Part, Turns};
    use super::*;
    use crate::files::{FileLength, FilePasses, StridedZones};
    use crate::job::Job;
    use crate::spec::{OpMix, TransferSize};

    const KIB: u64 = 1024;
    const MIB: u64 = 1 << 20;

    fn of(order: Order, bytes: u64, files: FileUse) -> Workload {
        let mut workload = workload();
        workload.transfer = TransferSize::Fixed(bytes);
        workload.address.order = order;
        workload.address.files = Some(Box::new(files));
        workload
    }

    /// All operations of a job on one device.
    fn all(workload: &Workload, passes: FilePasses, real_bytes: u64) -> Vec<Operation> {
        let geometry = Geometry { size_bytes: real_bytes, block_bytes: 512 };
        let mut operations = Operations::new(workload, &target(), geometry, 1, Part::WHOLE).unwrap();
        let job = Job { files: Some(passes), ..Job::new(1) };
        let mut turns = Turns::of(workload, &job, vec![operations.range_bytes()], 1);
        std::iter::from_fn(|| {
            turns.next(|_, anew| {
                if anew {
                    operations.begin_anew();
                }
                operations.next()
            })
        })
        .map(|(_, operation)| operation)
        .take(100_000)
        .collect()
    }

    fn once() -> FilePasses {
        FilePasses {
            size_bytes: None,
            io_size: None,
            loops: 1,
            endless: false,
            largest_bytes: 4096,
            ends_by_bytes: true,
        }
    }

    const SEQUENTIAL: Order = Order::Sequential { once: false, backward: false };
    const EXACT: Order = Order::Random(Distribution::ExactOnce);
    const FREE: Order = Order::Random(Distribution::Uniform);

    fn starts(operations: &[Operation]) -> Vec<u64> {
        operations.iter().map(|operation| operation.offset).collect()
    }

    /// fio's own test t0007: 128 MiB, gaps of 512 KiB, 1 MiB each.
    #[test]
    fn a_job_with_gaps_ends_where_the_file_does() {
        let files = FileUse { gap_bytes: 512 * 1024, ..FileUse::default() };
        let found = all(&of(SEQUENTIAL, MIB, files), FilePasses { largest_bytes: MIB, ..once() }, 128 * MIB);
        assert_eq!(found.len(), 85);
        assert_eq!(found.last().unwrap().offset, 84 * 3 * MIB / 2);
    }

    #[test]
    fn a_gap_counts_from_end_to_start_whatever_the_size() {
        let files = FileUse { gap_bytes: 12 * 1024, lengths: vec![FileLength::Bytes(100 * KIB)], ..FileUse::default() };
        let found = all(&of(SEQUENTIAL, 8 * KIB, files), once(), MIB);
        assert_eq!(starts(&found), [0, 20, 40, 60, 80].map(|at| at * KIB));
        let back = FileUse { gap_bytes: -12 * 1024, lengths: vec![FileLength::Bytes(16 * KIB)], ..FileUse::default() };
        let found = all(&of(SEQUENTIAL, 4 * KIB, back), once(), MIB);
        assert_eq!(starts(&found), [12, 4, 12, 4].map(|at| at * KIB), "from the end, as often as it takes");
    }

    #[test]
    fn the_last_place_is_reached_when_it_begins_inside() {
        let files = FileUse { lengths: vec![FileLength::Bytes(10_000)], ..FileUse::default() };
        assert_eq!(starts(&all(&of(SEQUENTIAL, 4096, files.clone()), once(), MIB)), [0, 4096, 8192]);
        // Not when it would end behind the file.
        assert_eq!(starts(&all(&of(SEQUENTIAL, 4096, files.clone()), once(), 11_000)), [0, 4096]);
        let mut random = starts(&all(&of(EXACT, 4096, files), once(), MIB));
        random.sort_unstable();
        assert_eq!(random, [0, 4096]);
    }

    #[test]
    fn filesize_is_where_and_size_how_much() {
        let whole = FileLength::Whole { low: 64 * MIB, high: 64 * MIB, bytes: 64 * MIB };
        let files = FileUse { lengths: vec![whole], ..FileUse::default() };
        let found = all(&of(EXACT, 4096, files), FilePasses { size_bytes: Some(MIB), ..once() }, 64 * MIB);
        assert_eq!(found.len(), 256);
        assert!(found.iter().filter(|operation| operation.offset >= 32 * MIB).count() > 90);
    }

    #[test]
    fn passes_repeat_as_fios_do() {
        let files = || FileUse { lengths: vec![FileLength::Bytes(MIB)], ..FileUse::default() };
        let count = |passes: FilePasses| all(&of(SEQUENTIAL, 4096, files()), passes, 8 * MIB).len();
        let io = |bytes| Some(Bound::Bytes(bytes));
        assert_eq!(count(FilePasses { loops: 3, ..once() }), 3 * 256);
        // More than its size: passes go on until it is done, whatever the loops say.
        assert_eq!(count(FilePasses { io_size: io(5 * MIB / 2), ..once() }), 640);
        assert_eq!(count(FilePasses { io_size: io(4 * MIB), loops: 2, ..once() }), 1024);
        // Less: so often as the loops say.
        assert_eq!(count(FilePasses { io_size: io(MIB / 4), loops: 3, ..once() }), 192);
        assert_eq!(count(FilePasses { io_size: Some(Bound::Fraction(0.5)), ..once() }), 128);
        let varied = FileUse { varies: true, ..files() };
        let found = all(&of(EXACT, 4096, varied), FilePasses { loops: 2, ..once() }, 8 * MIB);
        let (mut first, mut second) = (starts(&found[..256]), starts(&found[256..]));
        assert_ne!(first, second, "randrepeat=0: another order");
        first.sort_unstable();
        second.sort_unstable();
        assert_eq!(first, second, "of the same places");
        let found = all(&of(EXACT, 4096, files()), FilePasses { loops: 2, ..once() }, 8 * MIB);
        assert_eq!(found[..256], found[256..], "each pass has the same order");
    }

    /// fio's synchronous engines count nothing towards a pass: the next one goes on where this one was, in a larger file.
    #[test]
    fn a_pass_of_a_synchronous_engine_ends_with_its_files_only() {
        let whole = FileLength::Whole { low: 4 * MIB, high: 4 * MIB, bytes: 4 * MIB };
        let files = FileUse { lengths: vec![whole], ..FileUse::default() };
        let of = |ends_by_bytes| {
            let passes = FilePasses { size_bytes: Some(MIB), loops: 3, ends_by_bytes, ..once() };
            starts(&all(&of(SEQUENTIAL, 4096, files.clone()), passes, 8 * MIB))
        };
        let (queued, synchronous) = (of(true), of(false));
        assert_eq!((queued.len(), synchronous.len()), (768, 768));
        assert_eq!((queued[256], synchronous[256], synchronous[767]), (0, MIB, 3 * MIB - 4096));
    }

    #[test]
    fn a_pass_begins_with_the_flush_that_the_one_before_ended_with() {
        let files = FileUse { lengths: vec![FileLength::Bytes(16 * KIB)], ..FileUse::default() };
        let mut workload = of(SEQUENTIAL, 4096, files);
        workload.mix = OpMix { fsync_every: Some(4), ..OpMix::read_write(0.0) };
        let found = all(&workload, FilePasses { loops: 2, ends_by_bytes: false, ..once() }, MIB);
        let kinds: Vec<Op> = found.iter().map(|one| one.op).collect();
        let (write, flush) = ([Op::Write; 4], [Op::Flush; 1]);
        assert_eq!(kinds, [&write[..], &flush, &flush, &write].concat());
    }

    #[test]
    fn a_trimwrite_flushes_once_per_so_many_writes() {
        for order in [SEQUENTIAL, EXACT] {
            let mut workload = of(order, 4096, FileUse { lengths: vec![FileLength::Bytes(MIB)], ..FileUse::default() });
            let trim_write = OpMix { write: 0.5, trim: 0.5, trim_then_write: true, ..OpMix::read_write(0.0) };
            workload.mix = OpMix { fsync_every: Some(8), ..trim_write };
            let found = all(&workload, FilePasses { loops: 2, ..once() }, 8 * MIB);
            let (mut writes, mut flushes) = (0, 0);
            for (at, one) in found.iter().enumerate() {
                writes += usize::from(one.op == Op::Write);
                flushes += usize::from(one.op == Op::Flush);
                let follows = at > 0 && found[at - 1].op == Op::Write && writes % 8 == 0;
                assert_eq!(one.op == Op::Flush, follows, "operation {at} behind {writes} writes");
            }
            // The job is over with its last write.
            assert_eq!((writes, flushes), (512, 63), "{order:?}");
        }
    }

    /// fio's map: what is left of a place that a larger transfer is to begin at.
    #[test]
    fn a_map_cuts_transfers_so_that_every_block_is_visited_once() {
        let lengths = vec![FileLength::Bytes(MIB)];
        let files = FileUse { smallest_bytes: 4096, cuts: true, lengths, ..FileUse::default() };
        let mut workload = of(EXACT, 4096, files);
        workload.transfer = TransferSize::Uniform { min: 4096, max: 65_536, align: 4096 };
        let found = all(&workload, FilePasses { loops: 2, largest_bytes: 65_536, ..once() }, 8 * MIB);
        let mut visits = vec![0; 256];
        for one in &found {
            let first = usize::try_from(one.offset / 4096).unwrap();
            visits[first..first + usize::try_from(one.bytes / 4096).unwrap()].iter_mut().for_each(|count| *count += 1);
        }
        assert!(visits.iter().all(|count| *count == 2), "{visits:?}");
        assert!(found.iter().any(|one| one.bytes > 32_768));
    }

    #[test]
    fn blockalign_is_where_random_places_begin() {
        let files = FileUse {
            align_bytes: [512; 3],
            repeats: true,
            lengths: vec![FileLength::Bytes(MIB)],
            ..FileUse::default()
        };
        let found = all(&of(FREE, 4096, files), once(), MIB);
        assert_eq!(found.len(), 256);
        let aligned = found.iter().filter(|operation| operation.offset % 4096 == 0).count();
        assert!(
            found.iter().all(|one| one.offset % 512 == 0 && one.offset + 4096 <= MIB) && (8..64).contains(&aligned)
        );
    }

    #[test]
    fn every_write_of_a_trimwrite_lies_where_was_trimmed() {
        for order in [SEQUENTIAL, EXACT] {
            let mut workload = of(order, 4096, FileUse { lengths: vec![FileLength::Bytes(MIB)], ..FileUse::default() });
            workload.mix = OpMix { write: 0.5, trim: 0.5, trim_then_write: true, ..OpMix::read_write(0.0) };
            workload.transfer = TransferSize::Mix(vec![(4096, 0.3), (8192, 0.3), (16_384, 0.4)]);
            let found = all(&workload, FilePasses { largest_bytes: 16_384, ..once() }, 4 * MIB);
            assert!(found.len() > 150);
            for pair in found.chunks(2) {
                assert_eq!(pair.iter().map(|one| one.op).collect::<Vec<_>>(), [Op::Trim, Op::Write][..pair.len()]);
                assert!(pair.len() == 1 || (pair[0].offset, pair[0].bytes) == (pair[1].offset, pair[1].bytes));
            }
            let written: u64 = found.iter().filter(|one| one.op == Op::Write).map(|one| u64::from(one.bytes)).sum();
            assert!((MIB - 16_384..=MIB + 16_384).contains(&written), "{written}");
        }
        // Smaller writes catch up with each trim.
        let mut workload =
            of(SEQUENTIAL, 4096, FileUse { lengths: vec![FileLength::Bytes(MIB)], ..FileUse::default() });
        workload.mix = OpMix { write: 0.5, trim: 0.5, trim_then_write: true, ..OpMix::read_write(0.0) };
        (workload.write_transfer, workload.trim_transfer) =
            (Some(TransferSize::Fixed(4096)), Some(TransferSize::Fixed(8192)));
        let found = all(&workload, once(), 4 * MIB);
        let seen: Vec<_> = found.iter().take(7).map(|one| (one.op, one.offset)).collect();
        let (trim, write) = (Op::Trim, Op::Write);
        let expect =
            [(trim, 0), (write, 0), (trim, 8192), (write, 4096), (write, 8192), (trim, 16_384), (write, 12_288)];
        assert_eq!(seen, expect);
    }

    #[test]
    fn zones_are_gone_through_one_after_the_other() {
        let zones = |bytes, range_bytes, skip_bytes| Some(StridedZones { bytes, range_bytes, skip_bytes });
        let files = FileUse { strided: zones(16 * KIB, 32 * KIB, 32 * KIB), ..FileUse::default() };
        let found = starts(&all(&of(SEQUENTIAL, 4096, files.clone()), once(), MIB));
        assert_eq!(found.len(), 256, "as much as the part has");
        let expect = |number: u64| number / 4 % 16 * 64 * KIB + number % 4 * 4 * KIB;
        assert_eq!(found, (0..256).map(expect).collect::<Vec<_>>());
        let random = starts(&all(&of(EXACT, 4096, files), once(), MIB));
        assert_eq!(random.len(), 256);
        for (number, zone) in random.chunks(4).enumerate() {
            let base = number as u64 % 16 * 64 * KIB;
            assert!(zone.iter().all(|at| (base..base + 32 * KIB).contains(at)), "{number}: {zone:?}");
            assert_eq!(zone.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        }
        // A zone that is smaller than what is done in it is gone through again, each place once in between.
        let files = FileUse { strided: zones(64 * KIB, 16 * KIB, 0), ..FileUse::default() };
        let found = starts(&all(&of(SEQUENTIAL, 4096, files.clone()), once(), MIB));
        assert_eq!(
            found[..20],
            [0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 16, 20, 24, 28].map(|kib| kib * KIB)
        );
        for round in starts(&all(&of(EXACT, 4096, files), once(), MIB)).chunks(4) {
            let places: std::collections::BTreeSet<u64> = round.iter().map(|at| at % (16 * KIB)).collect();
            assert_eq!(places.len(), 4, "{round:?}");
        }
    }

    #[test]
    fn runs_of_a_random_order_follow_a_random_place_each() {
        let files = FileUse { lengths: vec![FileLength::Bytes(MIB)], ..FileUse::default() };
        let mut workload = of(EXACT, 4096, files);
        workload.address.run_length = 4;
        let found = starts(&all(&workload, once(), 4 * MIB));
        assert!(found.len() >= 8 && found[4] != found[3] + 4096, "{found:?}");
        for run in found.chunks(4) {
            assert!(run.windows(2).all(|pair| pair[1] == pair[0] + 4096), "{run:?}");
        }
    }

    /// Of a device, of a part of it, and as fast as may be for a time: reads and writes both come, to the job's end.
    #[test]
    fn a_mix_with_two_sizes_and_skewed_places_is_done_to_its_end() {
        let skews = [Distribution::Normal(0.1), Distribution::Zipf(1.2), Distribution::Pareto(0.3)];
        let both = [(4 * KIB, 8 * KIB), (8 * KIB, 4 * KIB), (4 * KIB, 16 * KIB)];
        for distribution in skews.into_iter().chain([Distribution::ExactOnce]) {
            for ((read, write), length) in
                both.into_iter().zip([FileLength::Bytes(4 * MIB), FileLength::Rest, FileLength::Rest])
            {
                let files = FileUse { repeats: true, lengths: vec![length], ..FileUse::default() };
                let mut workload = of(Order::Random(distribution), read, files);
                workload.mix = OpMix::read_write(0.5);
                workload.write_transfer = Some(TransferSize::Fixed(write));
                let found = all(&workload, once(), 16 * MIB);
                let seen = format!("{distribution:?}, reads of {read}, writes of {write}");
                let end = if length == FileLength::Rest { 16 * MIB } else { 4 * MIB };
                let bytes: u64 = found.iter().map(|one| u64::from(one.bytes)).sum();
                assert!((end..end + 16 * KIB).contains(&bytes), "{seen}: {bytes} bytes of {end}");
                let writes = found.iter().filter(|one| one.op == Op::Write).count();
                assert!(
                    writes * 3 > found.len() && writes * 3 < found.len() * 2,
                    "{seen}: {writes} of {}",
                    found.len()
                );
                assert!(found.iter().all(|one| one.offset + u64::from(one.bytes) <= end), "{seen}");
                // Writes go to all of it, not to that part alone which lies where the places of reads end.
                let behind = |op: Op| found.iter().filter(|one| one.op == op && one.offset >= end / 2).count();
                assert!(behind(Op::Write) > 20 && behind(Op::Read) > 20, "{seen}");
            }
        }
    }

    #[test]
    fn a_job_without_a_single_place_is_refused() {
        let files = FileUse {
            align_bytes: [2 * MIB; 3],
            repeats: true,
            lengths: vec![FileLength::Bytes(MIB)],
            ..FileUse::default()
        };
        let geometry = Geometry { size_bytes: 8 * MIB, block_bytes: 512 };
        let found = Operations::new(&of(FREE, 4096, files), &target(), geometry, 1, Part::WHOLE);
        assert!(found.map(drop).unwrap_err().to_string().contains("no random place holds a transfer"));
    }

    #[test]
    fn a_range_of_sizes_stays_inside_of_its_part() {
        let files = FileUse { repeats: true, lengths: vec![FileLength::Bytes(64 * KIB)], ..FileUse::default() };
        let mut workload = of(FREE, 4096, files);
        workload.transfer = TransferSize::Uniform { min: 4096, max: 32_768, align: 4096 };
        let found = all(&workload, FilePasses { io_size: Some(Bound::Bytes(4 * MIB)), ..once() }, MIB);
        assert!(found.len() > 100 && found.iter().all(|one| one.offset + u64::from(one.bytes) <= 64 * KIB));
        assert!(found.iter().any(|one| one.offset == 60 * KIB));
    }
}
