//! One pass of a job over one file or device in the order that fio takes: see [`FileUse`](crate::FileUse).
//!
//! fio chooses a place before a size, looks then whether it is still inside of the part, and gives the file up for this pass
//! when it is not. So a pass has an end even where places come by chance, and what is left over at the end of a part is
//! not reached or reached in full, as fio has it.

mod choice;
mod way;

use super::mix::{OpChoice, Sizes, value_error};
use super::operation::Operation;
use super::rng::{Rng, threshold};
use super::strided::Strided;
use super::{GenerateError, HeldKinds, OperationKind};
use crate::spec::{AddressOrder, FilePart, FileUse, Workload};
use choice::{Choice, Follow};
use way::Way;

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

#[derive(Clone, Debug)]
enum FileOrder {
    Sequential,
    Random { choice: Choice, follow: Follow },
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
            AddressOrder::Sequential { .. } => FileOrder::Sequential,
            AddressOrder::Mixed { seek, distribution } => {
                let choice = Choice::new(workload, files, (seed, distribution), &ways, (room, rest))?;
                FileOrder::Random { choice, follow: follow(seek) }
            }
            AddressOrder::Random(distribution) => {
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
        (ops, held): (&mut OpChoice, HeldKinds),
        sizes: &Sizes,
    ) -> Option<Operation> {
        if self.strided.is_some() {
            self.enter_zone(rng);
        }
        let op = match if self.pairs { self.pair() } else { ops.next(rng) } {
            op if held[op.index()] => ops.other(op),
            op => op,
        };
        if op == OperationKind::Flush {
            return Some(Operation { op, offset: 0, bytes: 0 });
        }
        let is_random = matches!(self.order, FileOrder::Random { .. });
        let trimmed = self.ways[OperationKind::Trim.index()].last.filter(|_| self.pairs && op == OperationKind::Write);
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
        self.owes_write = self.pairs && op == OperationKind::Trim;
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
    fn pair(&self) -> OperationKind {
        let start = |op: OperationKind| self.ways[op.index()].last.map(|(start, _)| start);
        match &self.order {
            FileOrder::Sequential if start(OperationKind::Trim) == start(OperationKind::Write) => OperationKind::Trim,
            FileOrder::Sequential => OperationKind::Write,
            FileOrder::Random { .. } if self.owes_write => OperationKind::Write,
            FileOrder::Random { .. } => OperationKind::Trim,
        }
    }

    /// A place that is inside of the part and the file, and whether it was chosen by chance.
    #[inline]
    fn place(&mut self, rng: &mut Rng, op: OperationKind) -> Option<(u64, bool)> {
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
    fn size(&self, rng: &mut Rng, sizes: &Sizes, op: OperationKind, at: u64) -> Option<u32> {
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

#[cfg(test)]
mod tests;
