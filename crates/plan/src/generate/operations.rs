//! The stream of operations of one workload on one target.

use super::address::Places;
use super::address_setting::Setting;
use super::file_pass::FilePass;
use super::mix::{OpChoice, Sizes, value_error};
use super::operation::Operation;
use super::rng::{Rng, derive, derive_name, threshold};
use super::space::{Space, Window};
use super::{BLOCK_KINDS, GenerateError, GeneratorPart, HeldKinds, OperationKind, TargetGeometry};
use crate::spec::{AddressDistribution, AddressOrder, FileUse, TargetSpec, Workload};

/// Yields the operations of one workload on one target, or of one part of it; see [`Operations::next`].
#[derive(Clone, Debug)]
pub struct Operations {
    rng: Rng,
    ops: OpChoice,
    sizes: Sizes,
    places: Places,
    /// Goes by fio's rules instead of by `places`.
    pass: Option<Box<FilePass>>,
    /// Places of writes and of trims, when each kind of operation goes its own way.
    own_places: Option<Box<[Places; 2]>>,
    hits: Option<Box<Hits>>,
    offset_bytes: u64,
    range_bytes: u64,
    flushes: Option<Flushes>,
    ended: bool,
}

/// Operations that go to the hit area.
#[derive(Clone, Debug)]
struct Hits {
    places: Places,
    /// Random numbers below this hit, by [`OperationKind::index`].
    below: [u64; BLOCK_KINDS],
    always: [bool; BLOCK_KINDS],
}

/// A flush after every so many writes.
#[derive(Clone, Copy, Debug)]
struct Flushes {
    every: [u32; 2],
    writes: [u32; 2],
    /// All writes so far.
    written: u64,
    due: u32,
    /// Each write has a trim before it, behind which there is nothing new to flush.
    pairs: bool,
}

impl Operations {
    /// The stream of `workload` on `target`.
    ///
    /// Random orders give each part independent choices over the whole range; once-only and sequential orders give
    /// each part a share of its own. One sequential stream therefore wants [`GeneratorPart::WHOLE`] (see
    /// [`Operations::parts_max`]).
    ///
    /// # Errors
    /// When nothing can be issued as asked: the error says what, where, and what would be allowed.
    pub fn new(
        workload: &Workload,
        target: &TargetSpec,
        geometry: TargetGeometry,
        seed: u64,
        part: GeneratorPart,
    ) -> Result<Self, GenerateError> {
        Self::of_member(workload, (target, 0), geometry, seed, part)
    }

    /// As [`Operations::new`] on the target that is number `member` of the workload: where it goes by fio's rules, its files
    /// may have different lengths.
    ///
    /// # Errors
    /// As [`Operations::new`].
    pub fn of_member(
        workload: &Workload,
        (target, member): (&TargetSpec, usize),
        geometry: TargetGeometry,
        seed: u64,
        part: GeneratorPart,
    ) -> Result<Self, GenerateError> {
        let part = part.check()?;
        if let Some(files) = &workload.address.files {
            return Self::of_file(workload, files, (target, member), geometry, seed);
        }
        let shared = derive_name(derive_name(seed, &workload.name), &target.name);
        let mut rng = Rng::new(derive(shared, 2 + u64::from(part.index)));
        let block = u64::from(geometry.block_bytes.max(1));
        let align = alignment(workload, target, block)?;
        let ops = OpChoice::new(workload)?;
        let sizes = Sizes::new(workload, target, geometry)?;
        let window = Window::of(workload, target, geometry)?;
        let fits = |space: &Space| fits(workload, target, geometry, space, u64::from(sizes.max()), align);
        let streams = match workload.address.streams.filter(|_| window.misses.grain() > 0) {
            Some(streams) => Some(Space::pieces(workload, target, geometry, streams)?),
            None => None,
        };
        fits(&window.misses)?;
        for space in streams.iter().flatten().chain(&window.hits) {
            fits(space)?;
        }
        let place = |op: Option<OperationKind>, space: Space, rng: &mut Rng| {
            let by_op = workload.address.align_by_op.zip(op).and_then(|(aligns, op)| aligns.get(op.index()).copied());
            let setting = Setting {
                workload,
                sizes: &sizes,
                align: by_op.filter(|align| *align > 0).or(align),
                block,
                part,
                seed: derive(shared, 1),
                hits: op.is_none(),
                streams: streams.as_deref(),
            };
            Places::new(&setting, space, rng)
        };
        let places = place(Some(OperationKind::Read), window.misses, &mut rng)?;
        let own_places = if workload.address.per_op || workload.address.align_by_op.is_some() {
            let own = [
                place(Some(OperationKind::Write), window.misses, &mut rng)?,
                place(Some(OperationKind::Trim), window.misses, &mut rng)?,
            ];
            Some(Box::new(own))
        } else {
            None
        };
        let hits = match window.hits {
            Some(space) => Hits::new(workload, place(None, space, &mut rng)?)?,
            None => None,
        };
        // What is left over at the end of a range is not reached.
        let whole = window.misses.bytes() + window.hits.map_or(0, |hits| hits.bytes());
        let range_bytes = whole - whole % u64::from(sizes.min());
        let flushes = Flushes::new(workload)?;
        let offset_bytes = window.shift;
        let pass = None;
        Ok(Self { rng, ops, sizes, places, pass, own_places, hits, offset_bytes, range_bytes, flushes, ended: false })
    }

    /// The stream of a workload that goes through its targets by fio's rules.
    fn of_file(
        workload: &Workload,
        files: &FileUse,
        (target, member): (&TargetSpec, usize),
        geometry: TargetGeometry,
        seed: u64,
    ) -> Result<Self, GenerateError> {
        let shared = derive_name(derive_name(seed, &workload.name), &target.name);
        let rng = Rng::new(derive(shared, 2));
        let block = u64::from(geometry.block_bytes.max(1));
        let sizes = Sizes::new(workload, target, geometry)?;
        let real_bytes = geometry.size_bytes;
        let too_small = |range_bytes| GenerateError::DoesNotFit {
            workload: workload.name.clone(),
            target: target.name.clone(),
            size_bytes: real_bytes,
            range_bytes,
            transfer_bytes: u64::from(sizes.min()),
            grain_bytes: None,
        };
        let part = files.part(member, real_bytes).ok_or_else(|| too_small(0))?;
        let room = part.bytes.min(real_bytes.saturating_sub(part.start));
        if room < u64::from(sizes.min()) {
            return Err(too_small(room));
        }
        for (what, value) in [("the offset in bytes", part.start), ("the alignment in bytes", files.align_bytes[0])]
            .into_iter()
            .chain(files.align_bytes[1..].iter().map(|align| ("the alignment in bytes", *align)))
        {
            if value % block != 0 {
                return Err(value_error(workload, what, value as f64, "a multiple of the target's block"));
            }
        }
        let pass =
            Some(Box::new(FilePass::new(workload, files, (part, real_bytes), (block, derive(shared, 1)), &rng)?));
        let (ops, flushes) = (OpChoice::new(workload)?, Flushes::new(workload)?);
        let places = Places::nowhere();
        let range_bytes = part.bytes;
        Ok(Self {
            rng,
            ops,
            sizes,
            places,
            pass,
            own_places: None,
            hits: None,
            offset_bytes: 0,
            range_bytes,
            flushes,
            ended: false,
        })
    }

    /// Did the last operation begin anew with the target by itself? To be asked once.
    #[inline]
    pub fn has_rewound(&mut self) -> bool {
        self.pass.as_mut().is_some_and(|pass| pass.has_rewound())
    }

    /// Begins another pass over the target, in the same order; what does not go by fio's rules goes on.
    pub fn begin_anew(&mut self) {
        if let Some(pass) = &mut self.pass {
            pass.begin_anew(&mut self.rng);
            self.ended = false;
            self.flushes.iter_mut().for_each(Flushes::begin_anew);
        }
    }

    /// How many parts `workload` can be divided into without changing what it is: as many as there are sequential
    /// streams, any number when addresses are random and none follows from another. Every place once is one part: workers
    /// are not equally fast, and the faster one would begin the next pass before the other has finished this one.
    pub fn parts_max(workload: &Workload) -> u32 {
        match workload.address.order {
            AddressOrder::Random(AddressDistribution::ExactOnce) => 1,
            AddressOrder::Random(_) if workload.address.stride.is_none() => u32::MAX,
            AddressOrder::Random(_) => 1,
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
        self.next_but(HeldKinds::default())
    }

    /// As [`Operations::next`], of another kind than those that are held back ([`OperationKind::index`]), when it goes by fio's rules and
    /// its mix has another.
    #[inline]
    pub fn next_but(&mut self, held: HeldKinds) -> Option<Operation> {
        if let Some(flushes) = &mut self.flushes
            && flushes.due > 0
        {
            flushes.due -= 1;
            return Some(Operation { op: OperationKind::Flush, offset: 0, bytes: 0 });
        }
        if self.ended {
            return None;
        }
        if let Some(pass) = &mut self.pass {
            let next = pass.next(&mut self.rng, (&mut self.ops, held), &self.sizes);
            self.ended = next.is_none();
            if let (Some(flushes), Some(next)) = (&mut self.flushes, next) {
                flushes.follow(next.op);
            }
            return next;
        }
        let op = self.ops.next(&mut self.rng);
        if op == OperationKind::Flush {
            return Some(Operation { op, offset: 0, bytes: 0 });
        }
        let bytes = self.sizes.next(&mut self.rng, op);
        let places = match (&mut self.hits, &mut self.own_places, op) {
            (Some(hits), _, _) if hits.is_hit(&mut self.rng, op) => &mut hits.places,
            (_, Some(own), OperationKind::Write) => &mut own[0],
            (_, Some(own), OperationKind::Trim) => &mut own[1],
            _ => &mut self.places,
        };
        let Some((at, bytes)) = places.next(&mut self.rng, op, bytes) else {
            self.ended = true;
            return None;
        };
        if let Some(flushes) = &mut self.flushes
            && op == OperationKind::Write
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
    /// Hits at `places`; `None` when nothing is to hit.
    fn new(workload: &Workload, places: Places) -> Result<Option<Box<Self>>, GenerateError> {
        let (read, write) = (workload.address.read_hit, workload.address.write_hit);
        for (what, value) in [("the hit fraction of reads", read), ("the hit fraction of writes", write)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(value_error(workload, what, value, "between 0 and 1"));
            }
        }
        if read == 0.0 && write == 0.0 {
            return Ok(None);
        }
        let share = [read, write, 0.0, 0.0];
        Ok(Some(Box::new(Self { places, below: share.map(threshold), always: share.map(|share| share >= 1.0) })))
    }

    #[inline]
    fn is_hit(&self, rng: &mut Rng, op: OperationKind) -> bool {
        rng.next_u64() < self.below[op.index()] || self.always[op.index()]
    }
}

/// Does the largest transfer fit into what the workload may use?
fn fits(
    workload: &Workload,
    target: &TargetSpec,
    geometry: TargetGeometry,
    space: &Space,
    bytes: u64,
    align: Option<u64>,
) -> Result<(), GenerateError> {
    // A fill's transfers are larger than the grain; its only one may be short.
    let is_fill = (1..bytes).contains(&space.grain())
        && matches!(workload.address.order, AddressOrder::Sequential { once: true, .. })
        && space.bytes() > 0;
    if is_fill || space.holds(bytes, align.unwrap_or(bytes)) {
        return Ok(());
    }
    Err(GenerateError::DoesNotFit {
        workload: workload.name.clone(),
        target: target.name.clone(),
        size_bytes: geometry.size_bytes.min(target.size_bytes.unwrap_or(u64::MAX)),
        range_bytes: space.bytes(),
        transfer_bytes: bytes,
        grain_bytes: target.grain_bytes,
    })
}

impl Flushes {
    /// As fio counts: one flush before whatever comes next, as long as the number of writes is such a multiple.
    #[inline]
    fn follow(&mut self, op: OperationKind) {
        self.written = self.written.wrapping_add(u64::from(op == OperationKind::Write));
        if op == OperationKind::Write || !self.pairs {
            self.due = self.due_now();
        }
    }

    fn due_now(&self) -> u32 {
        let is_due = |every: u32| every > 0 && self.written > 0 && self.written.is_multiple_of(u64::from(every));
        u32::from(self.every.into_iter().any(is_due))
    }

    /// A pass begins with a flush where the one before ended at such a number of writes, though that had its own already: fio
    /// forgets with each pass that the last call was a flush (`reset_io_counters()`).
    #[inline]
    fn begin_anew(&mut self) {
        if !self.pairs {
            self.due = self.due_now();
        }
    }

    fn new(workload: &Workload) -> Result<Option<Self>, GenerateError> {
        let mix = &workload.mix;
        if mix.fsync_every == Some(0) || mix.fdatasync_every == Some(0) {
            return Err(value_error(workload, "the number of writes between flushes", 0.0, "1 or more"));
        }
        let every = [mix.fsync_every.unwrap_or(0), mix.fdatasync_every.unwrap_or(0)];
        Ok((every != [0, 0]).then_some(Self { every, writes: [0, 0], written: 0, due: 0, pairs: mix.trim_then_write }))
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
