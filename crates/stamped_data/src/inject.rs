//! `iodyno inject`: damages stamped blocks on purpose, and nothing else.

use super::error::StampedDataError;
use super::identity::{IdentitySource, SampledStamps, TargetIdentity};
use super::reader::{AlignedBuffer, TargetReader, not_there, spec_of};
use super::verify::{never_written, shown};
use monitor::StopFlag;
use plan::OpenFlags;
use rustix::fd::AsFd as _;
use rustix::fs::fdatasync;
use rustix::io::{Errno, pwrite};
use serde_json::{Value, json};
use stamp::{DamageClass, Expected, SECTOR_BYTES, SectorStamp, Version, is_right};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;
use target::{OpenTarget, TargetAccess, WritePolicy, inspect_with, settle};
use validation::{InjectedDamage, InjectionChance, damaged};

/// Longer blocks are not damaged in one piece.
const BLOCK_MAX: u64 = 1 << 20;
/// So many are damaged at once.
const BLOCKS_MAX: u64 = 100_000;
/// Places that are tried at random before all of the target is read: so many, and so many for each block.
const TRIES: (u64, u64) = (1024, 64);
/// Bytes that are read at once where all of the target is read.
const SWEEP_BYTES: u64 = 1 << 20;

/// Which blocks are damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InjectPlaces {
    /// Those at these addresses.
    At(Vec<u64>),
    /// So many, anywhere.
    Random(u64),
}

/// What is to be damaged, and how.
#[derive(Clone, Debug)]
pub struct InjectRequest {
    /// Device or file.
    pub path: PathBuf,
    /// Name under which it was written, where it is another one.
    pub written_as: Option<PathBuf>,
    /// The target has copies of that data, each somewhere: a block is known by its stamps, and its address is the one in them.
    pub copies: bool,
    /// How.
    pub kind: InjectedDamage,
    /// Where.
    pub places: InjectPlaces,
    /// Seed of all random choices.
    pub seed: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// What the user gives up.
    pub policy: WritePolicy,
    /// Ends it before its time.
    pub stop: StopFlag,
}

/// A block that was damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedBlock {
    /// Where, bytes.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// What happened to it.
    pub class: DamageClass,
    /// Bytes of it that are others now.
    pub changed_bytes: u64,
    /// The other block that is part of it.
    pub other: Option<u64>,
}

impl InjectedBlock {
    /// In words.
    #[must_use]
    pub fn line(&self) -> String {
        let other = match (self.class, self.other) {
            (DamageClass::WriteWentAstray, Some(other)) => format!(", its data are at {other:#x}"),
            (_, Some(other)) => format!(", the data of {other:#x}"),
            _ => String::new(),
        };
        format!(
            "{:#x}  {}: {} of {} bytes changed{other}",
            self.address,
            self.class.name(),
            self.changed_bytes,
            self.bytes
        )
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "address": self.address, "bytes": self.bytes, "kind": self.class.name(), "changed_bytes": self.changed_bytes,
            "other": self.other,
        })
    }
}

/// Damages blocks of a target. All are looked at before the first is written, and each once more right before it is: only what is
/// stamped, intact, of this target and at its place is written over. What was done stands in `done`, also where it ended early.
///
/// # Errors
/// When the target is refused, when a block is not what it must be, or when the target fails.
pub fn inject(request: &InjectRequest, done: &mut Vec<InjectedBlock>) -> Result<(), StampedDataError> {
    check(request)?;
    // What is not to be written is refused before anything is changed, the mark of a file among it.
    let flags = OpenFlags::default();
    let spec = spec_of(&request.path, flags);
    if let Some(other) = request.policy.unmatched(std::slice::from_ref(&spec)).first() {
        let message = format!("--destroy {}: names no target, which is {}", shown(other), shown(&request.path));
        return Err(StampedDataError::Parameter(message));
    }
    inspect_with(&spec, &[flags], TargetAccess::Write, &request.policy).map_err(not_there)?;
    let mut chance = InjectionChance::new(request.seed);
    let (chosen, device) = {
        let reader = TargetReader::open(&request.path, TargetAccess::Read, &never_written())?;
        let injection = Injection::new(request, &reader)?;
        (injection.choose(&mut chance)?, injection.device)
    };
    let reader = TargetReader::open(&request.path, TargetAccess::Write, &request.policy)?;
    let injection = Injection { request, reader: &reader, ranges: Vec::new(), device };
    let result = injection.all(chosen, &mut chance, done);
    // Whatever was written is to be seen by all readers, also after an error.
    let is_written = fdatasync(reader.opened.as_fd());
    let _ = OpenTarget::leave_cache(reader.opened.as_fd());
    settle([&reader.opened]);
    result?;
    is_written.map_err(|error| StampedDataError::Io(format!("failed to flush {}: {error}", shown(&request.path))))
}

fn check(request: &InjectRequest) -> Result<(), StampedDataError> {
    let refuse = |message: String| Err(StampedDataError::Parameter(message));
    let block = request.block_bytes;
    if request.copies && request.written_as.is_none() {
        return refuse("--copies: name whose copies are to be damaged (--as NAME)".to_string());
    }
    if !block.is_multiple_of(SECTOR_BYTES as u64) || !(1..=BLOCK_MAX).contains(&block) {
        return refuse(format!("--block {block}: a multiple of 512, at most {BLOCK_MAX}"));
    }
    if request.kind.needs_sectors() && block < 2 * SECTOR_BYTES as u64 {
        let kind = request.kind.class().name();
        return refuse(format!("--block {block}: {kind} is about a block of several sectors; give 1024 or more"));
    }
    match &request.places {
        InjectPlaces::Random(count) if !(1..=BLOCKS_MAX).contains(count) => {
            refuse(format!("--random {count}: 1 to {BLOCKS_MAX} blocks"))
        }
        InjectPlaces::At(places) => match places.iter().find(|at| !at.is_multiple_of(block)) {
            Some(at) => refuse(format!("--at {at:#x}: no multiple of {block}, the bytes of a block (--block)")),
            None => Ok(()),
        },
        InjectPlaces::Random(_) => Ok(()),
    }
}

/// Addresses of blocks that are to be damaged, and of those whose data they get.
type ChosenBlocks = (Vec<u64>, Vec<u64>);

struct Injection<'a> {
    request: &'a InjectRequest,
    reader: &'a TargetReader,
    ranges: Vec<Range<u64>>,
    device: u64,
}

impl<'a> Injection<'a> {
    fn new(request: &'a InjectRequest, reader: &'a TargetReader) -> Result<Self, StampedDataError> {
        let path = shown(&request.path);
        let least = if reader.is_direct() { reader.block() } else { SECTOR_BYTES as u64 };
        if !request.block_bytes.is_multiple_of(least) {
            let block = request.block_bytes;
            let message = format!("--block {block}: {path} is written in multiples of {least} bytes");
            return Err(StampedDataError::Parameter(message));
        }
        let ranges = reader.data_ranges();
        let sampled = SampledStamps::of(reader, &ranges, &request.stop);
        let asked = request.written_as.as_deref();
        let identity = match asked.filter(|_| request.copies) {
            // Its data are anywhere.
            Some(_) => TargetIdentity::of(&request.path, asked, &BTreeMap::new()),
            None => TargetIdentity::of(&request.path, asked, &sampled.devices),
        };
        if identity.source == IdentitySource::Misnamed {
            let why = identity.misnamed_words();
            return Err(StampedDataError::Refused(format!("refused to damage {path}: it has stamped sectors{why}")));
        }
        let device = match identity.device {
            Some(device) => device,
            None => Self::device_of_all(reader, &ranges).ok_or_else(|| {
                StampedDataError::Refused(format!("refused to damage {path}: nothing on it has a stamp of iodyno's"))
            })?,
        };
        Ok(Self { request, reader, ranges, device })
    }

    /// The device of the first stamped sector that is where it says.
    fn device_of_all(reader: &TargetReader, ranges: &[Range<u64>]) -> Option<u64> {
        let rules = validation::SurveyRules {
            device: None,
            unit: validation::SurveyUnit::Exactly(SECTOR_BYTES as u64),
            holds_files: reader.is_device(),
        };
        let mut buffer = AlignedBuffer::new(usize::try_from(SWEEP_BYTES).unwrap_or(usize::MAX));
        pieces(ranges).find_map(|(at, length)| {
            let unread = reader.read(buffer.bytes(), at, length);
            let piece = validation::look(&buffer.bytes()[..length], at, &unread, &rules);
            piece.devices.keys().next().copied()
        })
    }

    /// Blocks that are to be damaged, and for each the one whose data it gets, where it needs one.
    fn choose(&self, chance: &mut InjectionChance) -> Result<ChosenBlocks, StampedDataError> {
        let wants_others = self.request.kind.needs_another();
        match &self.request.places {
            InjectPlaces::At(places) => {
                let places: BTreeSet<u64> =
                    if self.request.copies { self.copies_of(places)? } else { places.iter().copied().collect() };
                for at in &places {
                    self.read_right(*at)?;
                }
                let wanted = if wants_others { places.len() } else { 0 };
                let others = self.random(wanted, &places, chance)?;
                Ok((places.into_iter().collect(), others))
            }
            InjectPlaces::Random(count) => {
                let count = usize::try_from(*count).unwrap_or(usize::MAX);
                let wanted = if wants_others { count.saturating_mul(2) } else { count };
                let mut places = self.random(wanted, &BTreeSet::new(), chance)?;
                let others = places.split_off(count.min(places.len()));
                Ok((places, others))
            }
        }
    }

    fn all(
        &self,
        (places, others): ChosenBlocks,
        chance: &mut InjectionChance,
        done: &mut Vec<InjectedBlock>,
    ) -> Result<(), StampedDataError> {
        let mut others = others.into_iter();
        for at in places {
            if self.request.stop.is_requested() {
                break;
            }
            let other = others.next();
            self.one(at, other, chance, done)?;
        }
        Ok(())
    }

    /// So many blocks that may be damaged, each once, none of those in `taken`.
    fn random(
        &self,
        count: usize,
        taken: &BTreeSet<u64>,
        chance: &mut InjectionChance,
    ) -> Result<Vec<u64>, StampedDataError> {
        let block = self.request.block_bytes;
        let (mut found, mut seen) = (Vec::new(), taken.clone());
        let all: u64 = self.ranges.iter().map(|range| (range.end - range.start) / block).sum();
        let tries = TRIES.0 + TRIES.1 * count as u64;
        for _ in 0..tries {
            if found.len() >= count {
                return Ok(found);
            }
            let at = self.block_at(chance.below(all));
            if seen.insert(at) && self.read_right(at).is_ok() {
                found.push(at);
            }
        }
        // Few of the target's blocks are stamped: all of them are known now, and some are taken.
        let mut right: Vec<u64> = self.right_blocks().into_iter().filter(|at| !taken.contains(at)).collect();
        if right.len() < count {
            return Err(StampedDataError::Refused(format!(
                "refused to damage {}: {count} whole blocks of {block} bytes are needed that are stamped and right, and it has {}",
                shown(&self.request.path),
                right.len()
            )));
        }
        for at in 0..count {
            let from = at + usize::try_from(chance.below((right.len() - at) as u64)).unwrap_or(0);
            right.swap(at, from);
        }
        right.truncate(count);
        Ok(right)
    }

    /// The address of a block by its number among those of the parts with data.
    fn block_at(&self, number: u64) -> u64 {
        let block = self.request.block_bytes;
        let mut left = number;
        for range in &self.ranges {
            let here = (range.end - range.start) / block;
            if left < here {
                return range.start.next_multiple_of(block) + left * block;
            }
            left -= here;
        }
        0
    }

    /// All blocks that may be damaged.
    fn right_blocks(&self) -> Vec<u64> {
        let block = self.request.block_bytes;
        let mut buffer = AlignedBuffer::new(usize::try_from(SWEEP_BYTES.max(block)).unwrap_or(usize::MAX));
        let mut right = Vec::new();
        for range in &self.ranges {
            let mut at = range.start.next_multiple_of(block);
            let whole = (SWEEP_BYTES / block).max(1) * block;
            while at + block <= range.end {
                let length = usize::try_from(whole.min((range.end - at) / block * block)).unwrap_or(0);
                let unread = self.reader.read(buffer.bytes(), at, length);
                let blocks = buffer.bytes()[..length].chunks(usize::try_from(block).unwrap_or(usize::MAX));
                for (address, bytes) in (at..).step_by(usize::try_from(block).unwrap_or(usize::MAX)).zip(blocks) {
                    if unread.is_empty() && self.is_right(address, bytes) {
                        right.push(address);
                    }
                }
                at += length as u64;
            }
        }
        right
    }

    /// Where blocks lie that have these addresses in their stamps.
    fn copies_of(&self, places: &[u64]) -> Result<BTreeSet<u64>, StampedDataError> {
        let path = shown(&self.request.path);
        let found: Vec<(u64, u64)> = (self.right_blocks().into_iter())
            .filter_map(|at| Some((stamped_address(&self.read_right(at).ok()?)?, at)))
            .collect();
        match places.iter().find(|place| !found.iter().any(|(address, _)| address == *place)) {
            Some(place) => Err(StampedDataError::Refused(format!(
                "refused to damage {path}: it has no intact copy of a block that was written to {place:#x}"
            ))),
            None => Ok(found.into_iter().filter(|(address, _)| places.contains(address)).map(|(_, at)| at).collect()),
        }
    }

    fn is_right(&self, address: u64, bytes: &[u8]) -> bool {
        let address = if self.request.copies { stamped_address(bytes).unwrap_or(address) } else { address };
        let expected = Expected { device: self.device, runs: &[], address, version: Version::Any };
        !bytes.is_empty() && is_right(bytes, &expected)
    }

    /// A block that may be damaged, as it is now.
    fn read_right(&self, address: u64) -> Result<Vec<u8>, StampedDataError> {
        let path = shown(&self.request.path);
        let block = self.request.block_bytes;
        let end = address.checked_add(block).filter(|end| *end <= self.reader.size());
        let Some(_) = end else {
            let message = format!("--at {address:#x}: {path} has no whole block of {block} bytes there");
            return Err(StampedDataError::Parameter(message));
        };
        let length = usize::try_from(block).unwrap_or(usize::MAX);
        let mut buffer = AlignedBuffer::new(length);
        let unread = self.reader.read(buffer.bytes(), address, length);
        let bytes = &buffer.bytes()[..length];
        if !unread.is_empty() {
            return Err(StampedDataError::Io(format!("{path} cannot be read at {address:#x}; it was not damaged")));
        }
        if !self.is_right(address, bytes) {
            return Err(StampedDataError::Refused(format!(
                "refused to damage {path} at {address:#x}: only blocks are damaged that iodyno stamped, that are intact and that belong \
                 there, and this one is not (iodyno inspect {path} --at {address:#x} --bytes {block})"
            )));
        }
        Ok(bytes.to_vec())
    }

    fn one(
        &self,
        at: u64,
        other: Option<u64>,
        chance: &mut InjectionChance,
        done: &mut Vec<InjectedBlock>,
    ) -> Result<(), StampedDataError> {
        let kind = self.request.kind;
        let from = other.map(|other| self.read_right(other)).transpose()?;
        let before = self.read_right(at)?;
        let after = damaged(kind, &before, from.as_deref().unwrap_or_default(), chance);
        done.push(self.write(at, &before, &after, (kind.class(), other))?);
        // A write that went astray is missed where it belongs.
        if let (InjectedDamage::MisdirectedWrite, Some(other)) = (kind, other) {
            let before = self.read_right(other)?;
            let after = damaged(InjectedDamage::LostWrite, &before, &[], chance);
            done.push(self.write(other, &before, &after, (DamageClass::WriteWentAstray, Some(at)))?);
        }
        Ok(())
    }

    fn write(
        &self,
        address: u64,
        before: &[u8],
        after: &[u8],
        (class, other): (DamageClass, Option<u64>),
    ) -> Result<InjectedBlock, StampedDataError> {
        let path = shown(&self.request.path);
        let mut buffer = AlignedBuffer::new(after.len());
        buffer.bytes()[..after.len()].copy_from_slice(after);
        let bytes = &buffer.bytes()[..after.len()];
        let mut written = 0;
        while written < bytes.len() {
            match pwrite(self.reader.opened.as_fd(), &bytes[written..], address + written as u64) {
                Ok(0) => return Err(StampedDataError::Io(format!("{path} takes no bytes at {address:#x}"))),
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(error) => {
                    return Err(StampedDataError::Io(format!("failed to write {path} at {address:#x}: {error}")));
                }
            }
        }
        let changed = before.iter().zip(after).filter(|(before, after)| before != after).count();
        Ok(InjectedBlock { address, bytes: after.len() as u64, class, changed_bytes: changed as u64, other })
    }
}

/// The address in the stamp of a block's first sector.
fn stamped_address(block: &[u8]) -> Option<u64> {
    SectorStamp::read(block.first_chunk::<SECTOR_BYTES>()?).map(|stamp| stamp.address)
}

/// Parts of ranges that are read at once.
fn pieces(ranges: &[Range<u64>]) -> impl Iterator<Item = (u64, usize)> {
    ranges.iter().flat_map(|range| {
        let step = usize::try_from(SWEEP_BYTES).unwrap_or(usize::MAX);
        let end = range.end;
        (range.start..end).step_by(step).map(move |at| (at, usize::try_from((end - at).min(SWEEP_BYTES)).unwrap_or(0)))
    })
}
