//! The stream of operations of one workload on one target.

use super::address::{Places, Setting};
use super::mix::{OpChoice, Sizes, value_error};
use super::rng::{Rng, derive, derive_name, threshold};
use super::space::Space;
use super::{GenerateError, Geometry, Op, Part};
use crate::spec::{TargetSpec, Workload};

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What.
    pub op: Op,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// Length in bytes; 0 for a flush.
    pub bytes: u32,
}

/// Yields the operations of one workload on one target, or of one part of it; see [`Operations::next`].
#[derive(Clone, Debug)]
pub struct Operations {
    rng: Rng,
    ops: OpChoice,
    sizes: Sizes,
    places: Places,
    /// Places of writes and of trims, when each kind of operation goes its own way.
    own_places: Option<Box<[Places; 2]>>,
    hits: Option<Hits>,
    offset_bytes: u64,
    range_bytes: u64,
    flushes: Option<Flushes>,
    ended: bool,
}

/// Operations that go to the hit area.
#[derive(Clone, Copy, Debug)]
struct Hits {
    space: Space,
    align: Option<u64>,
    /// Random numbers below this hit, by [`Op::index`].
    below: [u64; 4],
    always: [bool; 4],
}

/// A flush after every so many writes.
#[derive(Clone, Copy, Debug)]
struct Flushes {
    every: [u32; 2],
    writes: [u32; 2],
    due: u32,
}

impl Operations {
    /// The stream of `workload` on `target`.
    ///
    /// Random orders give each part independent choices over the whole range; once-only and sequential orders give
    /// each part a share of its own. One sequential stream therefore wants [`Part::WHOLE`] (see
    /// [`Operations::parts_max`]).
    ///
    /// # Errors
    /// When nothing can be issued as asked: the error says what, where, and what would be allowed.
    pub fn new(
        workload: &Workload,
        target: &TargetSpec,
        geometry: Geometry,
        seed: u64,
        part: Part,
    ) -> Result<Self, GenerateError> {
        let part = part.check()?;
        let shared = derive_name(derive_name(seed, &workload.name), &target.name);
        let mut rng = Rng::new(derive(shared, 2 + u64::from(part.index)));
        let block = u64::from(geometry.block_bytes.max(1));
        let align = alignment(workload, target, block)?;
        let ops = OpChoice::new(workload)?;
        let sizes = Sizes::new(workload, target, geometry)?;
        let space = Space::of(workload, target, geometry)?;
        let must_hold = |space: &Space| {
            let bytes = u64::from(sizes.max());
            if space.holds(bytes, align.unwrap_or(bytes)) {
                return Ok(());
            }
            Err(GenerateError::DoesNotFit {
                workload: workload.name.clone(),
                target: target.name.clone(),
                size_bytes: geometry.size_bytes,
                range_bytes: space.bytes(),
                transfer_bytes: bytes,
            })
        };
        must_hold(&space)?;
        // What is left over at the end of a range is not reached.
        let range_bytes = space.bytes() - space.bytes() % u64::from(sizes.min());
        let (hits, space) = Hits::split(workload, target.hit_area_bytes / block * block, space, align)?;
        must_hold(&space)?;
        if let Some(hits) = &hits {
            must_hold(&hits.space)?;
        }
        let place = |op: Op, rng: &mut Rng| {
            let by_op = workload.address.align_by_op.and_then(|aligns| aligns.get(op.index()).copied());
            let align = by_op.filter(|align| *align > 0).or(align);
            Places::new(&Setting { workload, sizes: &sizes, align, block, part, seed: derive(shared, 1) }, space, rng)
        };
        let places = place(Op::Read, &mut rng)?;
        let own_places = if workload.address.per_op || workload.address.align_by_op.is_some() {
            Some(Box::new([place(Op::Write, &mut rng)?, place(Op::Trim, &mut rng)?]))
        } else {
            None
        };
        let flushes = Flushes::new(workload)?;
        let offset_bytes = target.offset_bytes + workload.address.base_bytes;
        Ok(Self { rng, ops, sizes, places, own_places, hits, offset_bytes, range_bytes, flushes, ended: false })
    }

    /// How many parts `workload` can be divided into without changing what it is: as many as there are sequential
    /// streams, any number when addresses are random. Every place once is one part: workers are not equally fast, and the
    /// faster one would begin the next pass before the other has finished this one.
    pub fn parts_max(workload: &Workload) -> u32 {
        match workload.address.order {
            crate::spec::Order::Random(crate::spec::Distribution::ExactOnce) => 1,
            crate::spec::Order::Random(_) => u32::MAX,
            _ => workload.address.streams.unwrap_or(1).max(1),
        }
    }

    /// Bytes that the workload may touch of this target.
    pub fn range_bytes(&self) -> u64 {
        self.range_bytes
    }

    /// The next operation; `None` at the end of a once-only order, and from then on.
    #[expect(clippy::should_implement_trait, reason = "an iterator would invite adapters into the hot loop")]
    #[inline]
    pub fn next(&mut self) -> Option<Operation> {
        if let Some(flushes) = &mut self.flushes
            && flushes.due > 0
        {
            flushes.due -= 1;
            return Some(Operation { op: Op::Flush, offset: 0, bytes: 0 });
        }
        if self.ended {
            return None;
        }
        let op = self.ops.next(&mut self.rng);
        if op == Op::Flush {
            return Some(Operation { op, offset: 0, bytes: 0 });
        }
        let bytes = self.sizes.next(&mut self.rng, op);
        let hit = match &self.hits {
            None => None,
            Some(hits) => hits.next(&mut self.rng, op, bytes),
        };
        let place = match hit {
            Some(at) => Some((at, bytes)),
            None => {
                let places = match (&mut self.own_places, op) {
                    (Some(own), Op::Write) => &mut own[0],
                    (Some(own), Op::Trim) => &mut own[1],
                    _ => &mut self.places,
                };
                places.next(&mut self.rng, bytes)
            }
        };
        let Some((at, bytes)) = place else {
            self.ended = true;
            return None;
        };
        if let Some(flushes) = &mut self.flushes
            && op == Op::Write
        {
            flushes.written();
        }
        Some(Operation { op, offset: at + self.offset_bytes, bytes })
    }
}

/// The alignment that was asked for; it and the target's offset must suit the block.
fn alignment(workload: &Workload, target: &TargetSpec, block: u64) -> Result<Option<u64>, GenerateError> {
    let align = workload.address.align_bytes.or(target.align_bytes).filter(|align| *align > 0);
    let by_op = workload.address.align_by_op.into_iter().flatten();
    if let Some(align) = align.into_iter().chain(by_op).find(|align| align % block != 0) {
        return Err(value_error(workload, "the alignment in bytes", align as f64, "a multiple of the target's block"));
    }
    let offset = target.offset_bytes.saturating_add(workload.address.base_bytes);
    if !offset.is_multiple_of(block) {
        let (what, value) = ("the offset in bytes", offset as f64);
        return Err(value_error(workload, what, value, "a multiple of the target's block"));
    }
    Ok(align)
}

impl Hits {
    /// The hit area (the first bytes of the range) and what is left for misses.
    fn split(
        workload: &Workload,
        area_bytes: u64,
        space: Space,
        align: Option<u64>,
    ) -> Result<(Option<Self>, Space), GenerateError> {
        let (read, write) = (workload.address.read_hit, workload.address.write_hit);
        for (what, value) in [("the hit fraction of reads", read), ("the hit fraction of writes", write)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(value_error(workload, what, value, "between 0 and 1"));
            }
        }
        if read == 0.0 && write == 0.0 {
            return Ok((None, space));
        }
        let share = [read, write, 0.0, 0.0];
        let hits = Self {
            space: space.slice(0, area_bytes),
            align,
            below: share.map(threshold),
            always: share.map(|share| share >= 1.0),
        };
        let missing = workload.mix.trim > 0.0
            || (workload.mix.read > 0.0 && read < 1.0)
            || (workload.mix.write > 0.0 && write < 1.0);
        let misses = if missing { space.slice(area_bytes, u64::MAX) } else { space };
        Ok((Some(hits), misses))
    }

    #[inline]
    fn next(&self, rng: &mut Rng, op: Op, bytes: u32) -> Option<u64> {
        if rng.next_u64() >= self.below[op.index()] && !self.always[op.index()] {
            return None;
        }
        let grid = self.space.places(u64::from(bytes), self.align);
        Some(grid.at(rng.below(grid.len())))
    }
}

impl Flushes {
    fn new(workload: &Workload) -> Result<Option<Self>, GenerateError> {
        let mix = &workload.mix;
        if mix.fsync_every == Some(0) || mix.fdatasync_every == Some(0) {
            return Err(value_error(workload, "the number of writes between flushes", 0.0, "1 or more"));
        }
        let every = [mix.fsync_every.unwrap_or(0), mix.fdatasync_every.unwrap_or(0)];
        Ok((every != [0, 0]).then_some(Self { every, writes: [0, 0], due: 0 }))
    }

    #[inline]
    fn written(&mut self) {
        for k in 0..2 {
            self.writes[k] += 1;
            if self.writes[k] == self.every[k] {
                self.writes[k] = 0;
                self.due += 1;
            } else if self.every[k] == 0 {
                self.writes[k] = 0;
            }
        }
    }
}
